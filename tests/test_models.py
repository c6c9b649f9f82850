"""Models: a server on this machine that misbehaves as servers do, JSON in replies, caches, recordings, prompts."""

from __future__ import annotations

import hashlib
import json
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgplatform import resources
from kgplatform.errors import ConfigError, ModelReplyError, ModelUnavailableError, NotFoundError, StoreError
from kgplatform.models import prompts
from kgplatform.models.chat import OpenAIModel
from kgplatform.models.json_replies import instructed, is_closed, json_of, mismatch
from kgplatform.models.reply_cache import CachedModel, forget
from kgplatform.models.stubs import ScriptedModel
from kgplatform.types import Message

KEY = "sk-secret-7f3a9c"
ASK = [Message("system", "You read travel notes."), Message("user", "乌镇在哪里？\nAnswer briefly.")]
SCHEMA = {
    "type": "object",
    "properties": {"town": {"type": "string"}, "gates": {"type": "array", "items": {"type": "integer"}}},
    "required": ["town", "gates"],
    "additionalProperties": False,
}
GOOD = '{"town": "乌镇", "gates": [1, 2]}'


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        """Nothing on the terminal."""

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with self.server.lock:
            self.server.bodies.append(body)
            self.server.headers.append({name.lower(): value for name, value in self.headers.items()})
            replies = self.server.replies
            reply = replies.pop(0) if len(replies) > 1 else replies[0]
        reply(self)

    def send(self, status, payload, headers=None):
        self.send_response(status)
        given = {"Content-Type": "application/json", "Content-Length": str(len(payload)), **(headers or {})}
        for name, value in given.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(payload)


@contextmanager
def misbehaving():
    """A server that gives its replies in order, the last one for ever."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        running.daemon_threads, running.lock = True, threading.Lock()
        running.replies, running.bodies, running.headers = [], [], []
        running.url = f"http://127.0.0.1:{running.server_port}/v1"
        threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        yield running
        running.shutdown()


@pytest.fixture
def server():
    with misbehaving() as running:
        yield running


def says(text, *, finish="stop", **more):
    message = {"role": "assistant", "content": text}
    answer = {"choices": [{"index": 0, "message": message, "finish_reason": finish}], **more}
    return lambda handler: handler.send(200, json.dumps(answer).encode())


def fails(status, message="no", headers=None, code=None):
    payload = json.dumps({"error": {"message": message, "code": code}}).encode()
    return lambda handler: handler.send(status, payload, headers)


def cut(handler):
    handler.send(200, b'{"choices": [{"mess', {"Content-Length": "500"})
    handler.close_connection = True


def model_of(server, waits=None, **options):
    sleep = (lambda _: None) if waits is None else waits.append
    settings = {"url": server.url, "key": KEY, "timeout_seconds": 5.0, "sleep": sleep, **options}
    return OpenAIModel("qwen3", **settings)


def test_complete_returns_the_reply_and_the_tokens_the_server_counted(server):
    server.replies = [says("In Zhejiang.", usage={"prompt_tokens": 21, "completion_tokens": 4})]
    completion = model_of(server, max_tokens=50).complete(ASK)
    assert completion.text == "In Zhejiang."
    usage = completion.usage
    assert (usage.calls, usage.prompt_tokens, usage.completion_tokens) == (1, 21, 4)
    assert usage.seconds > 0
    assert server.bodies == [
        {
            "model": "qwen3",
            "messages": [{"role": message.role, "content": message.content} for message in ASK],
            "temperature": 0.0,
            "max_tokens": 50,
        }
    ]
    assert server.headers[0]["authorization"] == f"Bearer {KEY}"


def test_tokens_are_estimated_where_the_server_counts_none_and_thoughts_left_out(server):
    server.replies = [
        says("<think>\nIs it {Suzhou}?\n</think>\n\n乌镇"),
        says("hm, so…</think>乌镇"),
        says("乌镇 in Zhejiang"),
    ]
    model = model_of(server)
    assert [model.complete(ASK).text for _ in range(2)] == ["乌镇", "乌镇"]
    usage = model.complete(ASK).usage
    assert usage.prompt_tokens > 10
    assert usage.completion_tokens == 2 + 3


def test_no_environment_variable_of_the_client_reaches_the_server(server, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-someone-else")
    monkeypatch.setenv("OPENAI_ORG_ID", "org-of-someone-else")
    server.replies = [says("yes")]
    model_of(server, key=None).complete(ASK)
    assert "someone-else" not in str(server.headers)


def in_20_seconds():
    return format_datetime(datetime.now(UTC) + timedelta(seconds=20), usegmt=True)


@pytest.mark.parametrize(
    ("replies", "low", "high"),
    [
        ([lambda: fails(429, headers={"Retry-After": "7"})], [7], [7.7]),
        ([lambda: fails(503, headers={"Retry-After": in_20_seconds()})], [15], [22]),
        ([lambda: fails(500), lambda: fails(500)], [0.5, 0.51], [1.25, 1.25]),
        ([lambda: cut, lambda: cut], [0, 0], [9, 9]),
    ],
    ids=["seconds", "date", "growing", "cut in the middle of the body"],
)
def test_what_may_pass_is_waited_out(server, replies, low, high):
    waits = []
    server.replies = [*(reply() for reply in replies), says("at last")]
    completion = model_of(server, waits).complete(ASK)
    assert (completion.text, completion.usage.calls, len(waits)) == ("at last", 1, len(low))
    assert all(least <= wait <= most for least, wait, most in zip(low, waits, high, strict=True))


def fixed(payload):
    return lambda handler: handler.send(200, payload)


REFUSAL = {"choices": [{"message": {"role": "assistant", "content": None, "refusal": "I cannot help with that."}}]}


@pytest.mark.parametrize(
    ("reply", "options", "error", "told", "requests"),
    [
        (fails(429, "slow down", headers={"Retry-After": "3600"}), {}, ModelUnavailableError, "asked too often", 1),
        (fails(502, "bad gateway"), {"retries": 2}, ModelUnavailableError, "HTTP 502: bad gateway", 3),
        (fails(429, "spent", code="insufficient_quota"), {}, ModelUnavailableError, "no quota left", 1),
        (fails(401), {}, ModelUnavailableError, "refuses the key", 1),
        (fails(401), {"key": "none"}, ModelUnavailableError, "wants a key", 1),
        (cut, {"retries": 1}, ModelUnavailableError, "connection broken off", 2),
        (fixed(b"<html>Sign in</html>"), {}, ModelReplyError, r"not JSON.*Sign in.*address", 1),
        *(
            (fixed(payload), {}, ModelReplyError, "without a completion", 1)
            for payload in (b"{}", b'{"choices": []}', b'{"choices": [{}]}', b'{"error": {"message": "x"}}')
        ),
        (says(""), {}, ModelReplyError, "empty reply", 2),
        (fixed(json.dumps(REFUSAL).encode()), {}, ModelReplyError, "declines: I cannot help", 1),
    ],
)
def test_what_will_not_pass_is_told_and_not_asked_for_ever(server, reply, options, error, told, requests):
    server.replies = [reply]
    with pytest.raises(error, match=told) as caught:
        model_of(server, **options).complete(ASK)
    assert len(server.bodies) == requests
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("nothing", ["", "  \n", None])
def test_empty_reply_is_asked_for_once_more(server, nothing):
    server.replies = [says(nothing), says("now")]
    completion = model_of(server).complete(ASK)
    assert (completion.text, completion.usage.calls) == ("now", 2)


def test_slow_server_is_given_up_after_the_timeout_and_one_more_try(server):
    def slow(handler):
        time.sleep(0.6)
        handler.close_connection = True

    server.replies = [slow]
    with pytest.raises(ModelUnavailableError, match=r"within 0\.2 s"):
        model_of(server, timeout_seconds=0.2).complete(ASK)
    assert len(server.bodies) == 2


def test_server_that_is_not_there_is_named_with_the_way_out():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    waits = []
    model = OpenAIModel("qwen3", url=f"http://u:pw@127.0.0.1:{port}/v1?token=t", key=KEY, sleep=waits.append)
    with pytest.raises(ModelUnavailableError) as caught:
        model.complete(ASK)
    assert str(caught.value) == (
        f"model 'qwen3' at http://127.0.0.1:{port}/v1 does not answer (connection refused); "
        "start the server or remove [model] from kgplatform.toml"
    )
    assert len(waits) == 1, "a server that never answered is tried only once more"


@pytest.mark.parametrize(
    "url", ["", "localhost:8000/v1", "ftp://host/v1", "http://", "http://a b/v1", "http://[::x/v1"]
)
def test_address_that_is_none_is_told_at_once(url):
    with pytest.raises(ModelUnavailableError, match="must look like http"):
        OpenAIModel("qwen3", url=url).complete(ASK)


@pytest.mark.parametrize("key", ["schlüssel", "a\nb", "two words"])
def test_key_that_cannot_be_one_is_told_without_showing_it(key):
    with pytest.raises(ModelUnavailableError, match="no key has") as caught:
        OpenAIModel("qwen3", url="http://localhost:1/v1", key=key).complete(ASK)
    assert key not in str(caught.value)


@pytest.mark.parametrize("status", [400, 401, 403, 404, 418, 429, 500])
def test_no_message_holds_the_key_or_a_line_break(server, status):
    server.replies = [fails(status, f"wrong\nkey: {KEY}", code=f"bad {KEY}")]
    model = model_of(server)
    with pytest.raises(ModelUnavailableError) as caught:
        model.complete(ASK)
    assert KEY not in str(caught.value)
    assert KEY not in repr(vars(model))
    assert "\n" not in str(caught.value)


def test_schema_is_sent_as_response_format_and_the_json_comes_back(server):
    server.replies = [says(GOOD)]
    completion = model_of(server).complete(ASK, schema=SCHEMA)
    assert json.loads(completion.text) == {"town": "乌镇", "gates": [1, 2]}
    form = server.bodies[0]["response_format"]
    assert form == {"type": "json_schema", "json_schema": {"name": "reply", "schema": SCHEMA, "strict": True}}


@pytest.mark.parametrize("status", [400, 422, 501])
def test_server_that_rejects_response_format_is_asked_in_words_and_this_is_remembered(server, status):
    server.replies = [fails(status, "response_format is not supported"), says(f"```json\n{GOOD}\n```")]
    model = model_of(server)
    assert json.loads(model.complete(ASK, schema=SCHEMA).text)["town"] == "乌镇"
    assert json.loads(model.complete(ASK, schema=SCHEMA).text)["gates"] == [1, 2]
    assert ["response_format" in body for body in server.bodies] == [True, False, False]
    assert server.bodies[1]["messages"] == [
        {"role": message.role, "content": message.content} for message in instructed(ASK, SCHEMA)
    ]


def test_request_refused_for_another_reason_does_not_give_up_response_format(server):
    server.replies = [fails(400, "maximum context length is 4096 tokens"), fails(400, "the same"), says(GOOD)]
    model = model_of(server)
    with pytest.raises(ModelUnavailableError, match="does not accept the request"):
        model.complete(ASK, schema=SCHEMA)
    model.complete(ASK, schema=SCHEMA)
    assert "response_format" in server.bodies[-1]


def test_server_that_ignores_response_format_is_understood_or_asked_in_words(server):
    server.replies = [
        says(f"好的，结果如下：\n```json\n{GOOD}\n```\n希望有帮助。"),
        says("Wuzhen has two gates."),
        says(GOOD),
    ]
    model = model_of(server)
    for calls in (1, 2):
        completion = model.complete(ASK, schema=SCHEMA)
        assert (json.loads(completion.text), completion.usage.calls) == ({"town": "乌镇", "gates": [1, 2]}, calls)
    model.complete(ASK, schema=SCHEMA)
    assert "response_format" not in server.bodies[-1]


def test_json_of_the_wrong_shape_is_corrected_once(server):
    server.replies = [says('{"town": 1}'), says('{"town": "乌镇"}'), says(GOOD)]
    completion = model_of(server).complete(ASK, schema=SCHEMA)
    assert json.loads(completion.text)["gates"] == [1, 2]
    messages = server.bodies[2]["messages"]
    assert messages[-2] == {"role": "assistant", "content": '{"town": "乌镇"}'}
    assert "lacks 'gates'" in messages[-1]["content"]


@pytest.mark.parametrize(
    ("reply", "told", "requests"),
    [
        (says("I would rather not say."), "did not reply with a JSON object", 3),
        (says(GOOD[:-3], finish="length"), "raise max_tokens", 1),
    ],
)
def test_reply_that_stays_wrong_or_is_cut_off_is_an_error(server, reply, told, requests):
    server.replies = [reply]
    with pytest.raises(ModelReplyError, match=told):
        model_of(server).complete(ASK, schema=SCHEMA)
    assert len(server.bodies) == requests


def test_parameters_that_a_server_does_not_know_are_left_out_from_then_on(server):
    server.replies = [
        fails(400, "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."),
        fails(400, "Unsupported value: 'temperature' does not support 0.0 with this model."),
        says(GOOD),
    ]
    model = model_of(server, max_tokens=99)
    model.complete(ASK, schema=SCHEMA)
    model.complete(ASK, schema=SCHEMA)
    assert len(server.bodies) == 4
    assert set(server.bodies[-1]) == {"model", "messages", "max_completion_tokens", "response_format"}


def test_nothing_is_imported_or_connected_before_complete():
    code = (
        "import sys; from kgplatform.models.chat import OpenAIModel; from kgplatform.models.embed import *;"
        "OpenAIModel('m', url='http://localhost:1/v1'); SentenceTransformersEmbedder().dimensions;"
        "sys.exit(bool({'openai', 'torch', 'sentence_transformers'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": 1}', {"a": 1}),
        ('```json\n{"a": 1}\n```', {"a": 1}),
        ('Sure!\n```\n{"a": [1, 2,],}\n```\nDone.', {"a": [1, 2]}),
        ('The set {x} of [1] gives {"a": "}"} as asked.', {"a": "}"}),
        ('{"a": "two\nlines"}', {"a": "two\nlines"}),
        ('Draft {"a": 1}, final {"a": 1, "b": 2}', {"a": 1, "b": 2}),
        ('<think>{"a": 0}</think>{"a": 1}', {"a": 1}),
        ('{"a": NaN}', {"a": None}),
        ("{'a': 1}", {"a": 1}),
        ("判断如下：\n{“found”：[true，false]，“why”：“西栅，如此”}", {"found": [True, False], "why": "西栅，如此"}),
        ('```json\n{"found": [True, False], // both\n"why": None}\n```', {"found": [True, False], "why": None}),
        ('{"claim": "乌镇是"江南"水乡", "supported": true}', {"claim": '乌镇是"江南"水乡', "supported": True}),
    ],
)
def test_json_of_finds_the_object(text, value):
    assert json_of(text) == value


@pytest.mark.parametrize(
    "text",
    ["", "no", "[1, 2]", '[{"a": 1}]', '"a"', "null", '{"a": [{"b": 1}, {"b"', "{'a': 1", "[" * 5000, '{"a":' * 5000],
)
def test_json_of_refuses_what_holds_no_whole_object(text):
    with pytest.raises(ModelReplyError) as caught:
        json_of(text, model="m")
    assert caught.value.reply == text


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(), _VALUES, max_size=4), st.booleans())
def test_json_of_reads_any_object_whatever_stands_around_it(value, fenced):
    text = json.dumps(value, ensure_ascii=False)
    if "think" in text:
        return
    around = f"好的：\n```json\n{text}\n```\nThat is all." if fenced else f"The reply is {text} as asked."
    assert json_of(text) == value
    assert json_of(around) == value


def test_schemas_with_alternatives_and_open_ones_are_known_and_instructions_follow_the_language():
    schema = {"type": ["string", "null"], "enum": ["a", None]}
    assert [mismatch(value, schema) for value in ("a", None)] == [None, None]
    assert mismatch({"town": "x", "gates": [1, "2"]}, SCHEMA) == "the reply.gates[1] is not of type integer"
    assert mismatch("b", schema) == "the reply is none of a, None"
    assert mismatch(1, schema) == "the reply is not of type string or null"
    assert is_closed(SCHEMA)
    assert not is_closed({**SCHEMA, "required": ["town"]})
    assert not is_closed({"type": "array", "items": {"type": "object", "properties": {}}})
    assert "只回复一个 JSON" in instructed([Message("user", "乌镇在哪里？")], SCHEMA)[0].content
    assert "Reply with one JSON" in instructed([Message("user", "Where?")], SCHEMA)[0].content


def test_cached_reply_costs_no_call_and_parameters_and_models_are_told_apart(tmp_path):
    inner, path = ScriptedModel("first", "second", GOOD), tmp_path / "deep" / "cache.sqlite"
    model = CachedModel(inner, path)
    made, kept = model.complete(ASK), CachedModel(inner, path).complete(ASK)
    assert (made.text, made.usage.calls, kept.text, kept.usage.calls) == ("first", 1, "first", 0)
    assert kept.usage.completion_tokens == made.usage.completion_tokens
    assert [model.complete(ASK[1:]).text, model.complete(ASK, schema=SCHEMA).text] == ["second", GOOD]
    warm, other = ScriptedModel("warm"), ScriptedModel("of another")
    warm.parameters, other.name = {"temperature": 1.0}, "another"
    assert [CachedModel(apart, path).complete(ASK).text for apart in (warm, other)] == ["warm", "of another"]


def test_replies_about_a_document_can_be_forgotten_and_the_others_stay(tmp_path):
    path = tmp_path / "cache.sqlite"
    model = CachedModel(ScriptedModel("about a", "about b", "about a again"), path)
    model.about("a").complete([Message("user", "first")])
    model.about("b").complete([Message("user", "second")])
    forget(path, "a")
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT text FROM completion").fetchall() == [("about b",)]
    assert model.complete([Message("user", "second")]).text == "about b"
    assert model.complete([Message("user", "first")]).text == "about a again"
    forget(tmp_path / "none.sqlite", "a")
    assert not (tmp_path / "none.sqlite").exists()


def test_cache_keeps_no_failures_and_names_a_file_that_is_none(tmp_path):
    model = CachedModel(ScriptedModel(ModelUnavailableError("away", model="m"), "back"), tmp_path / "c.sqlite")
    with pytest.raises(ModelUnavailableError):
        model.complete(ASK)
    assert model.complete(ASK).text == "back"
    (tmp_path / "cache.sqlite").write_bytes(b"this is not a database, whatever its name says" * 40)
    broken = CachedModel(ScriptedModel("x"), tmp_path / "cache.sqlite")
    with pytest.raises(StoreError, match="cannot be used"):
        broken.complete(ASK)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "greet.j2").write_text(
        "{# variables: place, notes #}\nYou greet guests of {{ place }}.\n---\n"
        "{% for note in notes %}\n- {{ note }}\n{% endfor %}\n",
        encoding="utf-8",
    )
    return tmp_path


@pytest.mark.parametrize("name", prompts.names())
def test_shipped_prompt_lists_exactly_the_variables_it_uses_and_wants_each(name):
    wanted = prompts.variables(name)  # which checks the list, over includes too
    if not wanted:
        assert prompts.render(name).text
    for variable in wanted:
        with pytest.raises(ConfigError, match=f"lacks {variable};"):
            prompts.render(name, **dict.fromkeys(wanted - {variable}, "some value"))


def test_render_fills_in_and_hashes_the_template(folder):
    prompt = prompts.render("greet", folder=folder, place="乌镇", notes=["quiet", "安静"])
    assert prompt.text == "You greet guests of 乌镇.\n\n- quiet\n- 安静"
    other = prompts.render("greet", folder=folder, place="Wuzhen", notes=[])
    assert prompt.sha256 == other.sha256 == hashlib.sha256((folder / "greet.j2").read_bytes()).hexdigest()


def test_render_messages_parts_system_from_user_and_no_value_can_forge_the_line(folder):
    messages, sha256 = prompts.render_messages("greet", folder=folder, place="x\n---\ny", notes=["a\n---\nb"])
    assert messages == [Message("system", "You greet guests of x\n---\ny."), Message("user", "- a\n---\nb")]
    assert len(sha256) == 64
    (folder / "ask.j2").write_text("{# variables: x #}\nWhat is <b> & {{ x }}?\n", encoding="utf-8")
    messages, _ = prompts.render_messages("ask", folder=folder, x="{{ 7 * 7 }}")
    assert messages == [Message("user", "What is <b> & {{ 7 * 7 }}?")]


def test_missing_and_unknown_variables_and_prompts_are_named(folder):
    with pytest.raises(ConfigError) as caught:
        prompts.render("greet", folder=folder, place="x", note="y")
    assert str(caught.value) == "prompt 'greet' lacks notes and does not know note; its variables are: notes, place"
    with pytest.raises(NotFoundError, match="no prompt 'great'; did you mean 'greet'"):
        prompts.render("great", folder=folder)
    with pytest.raises(NotFoundError, match="no prompt"):
        prompts.render("../greet", folder=folder / "inner")


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ("Hello {{ name }}", "does not begin with a line"),
        ("{# variables: name #}\nHello", r"lists the variables name but uses \(none\)"),
        ("{# variables: #}\nHello {{ name }}", r"lists the variables \(none\) but uses name"),
        ("{# variables: name #}\n{{ name }}\n---\nb\n---\nc", "more than one line"),
        ("{# variables: name #}\n{% if name %}", "line 2: Unexpected end of template"),
        ("{# variables: name #}\n{{ name.nothing }}", "has no attribute 'nothing'"),
        ("{# variables: name #}\n{{ name.__class__.__mro__ }}", "unsafe"),
        ("{# variables: name #}\n{{ name }}{% include '_none.j2' %}", "includes '_none.j2', which is not there"),
    ],
)
def test_faulty_template_is_told_in_one_line(tmp_path, template, message):
    (tmp_path / "bad.j2").write_text(template, encoding="utf-8")
    with pytest.raises(ConfigError, match=message) as caught:
        prompts.render("bad", folder=tmp_path, name="x")
    assert "'bad'" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_included_part_counts_in_variables_and_hash_but_is_no_prompt(tmp_path):
    (tmp_path / "_part.j2").write_text("{# shared #}\nin {{ language }}", encoding="utf-8")
    (tmp_path / "whole.j2").write_text("{# variables: language #}\nReply {% include '_part.j2' %}.", encoding="utf-8")
    before = prompts.render("whole", folder=tmp_path, language="中文")
    assert before.text == "Reply in 中文."
    (tmp_path / "_part.j2").write_text("{# shared #}\nonly in {{ language }}", encoding="utf-8")
    after = prompts.render("whole", folder=tmp_path, language="中文")
    assert after.text == "Reply only in 中文."
    assert after.sha256 != before.sha256
    assert "whole" in prompts.names(folder=tmp_path)
    assert "_part" not in prompts.names(folder=tmp_path)


def test_own_folder_overrides_the_shipped_prompt(tmp_path, monkeypatch):
    shipped, own = tmp_path / "templates", tmp_path / "own"
    for place, text in ((shipped / "prompts", "shipped"), (own, "own")):
        place.mkdir(parents=True)
        (place / "say.j2").write_text(f"{{# variables: #}}\n{text}", encoding="utf-8")
    (shipped / "prompts" / "other.j2").write_text("{# variables: #}\nother", encoding="utf-8")
    monkeypatch.setattr(resources, "folder", lambda name: tmp_path / name)
    prompts._environment.cache_clear()
    try:
        assert prompts.render("say").text == "shipped"
        assert prompts.render("say", folder=own).text == "own"
        assert prompts.render("other", folder=own).text == "other"
        assert prompts.names(folder=own) == ["other", "say"]
    finally:
        prompts._environment.cache_clear()


def test_cache_is_shared_by_two_processes_and_their_threads(tmp_path):
    code = (
        "import sys; from concurrent.futures import ThreadPoolExecutor\n"
        "from kgplatform.models.reply_cache import *; from kgplatform.models.stubs import ScriptedModel\n"
        "inner = ScriptedModel(otherwise=lambda messages: f'{messages[0].content} by {sys.argv[2]}')\n"
        "input(); asked = [[Message('user', f'{number % 40}')] for number in range(80)]\n"
        "replies = ThreadPoolExecutor(8).map(CachedModel(inner, sys.argv[1]).complete, asked)\n"
        "print(*(reply.text for reply in replies), sep=chr(10))"
    )
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    command = [sys.executable, "-c", code, str(tmp_path / "cache.sqlite")]
    started = [subprocess.Popen([*command, who], **pipes) for who in ("a", "b")]
    for process in started:
        process.stdin.write("go\n")
        process.stdin.flush()
    first, second = (process.communicate(timeout=60)[0].splitlines() for process in started)
    assert [process.returncode for process in started] == [0, 0]
    assert len(first) == 80
    assert first == second, "both processes got the replies that were stored first"
    assert first[:40] == first[40:]
