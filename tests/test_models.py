"""Models against a real server on this machine that misbehaves in the ways that servers do."""

from __future__ import annotations

import json
import os
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgplatform.errors import ModelError, ModelReplyError, ModelUnavailableError, ReadError, StoreError
from kgplatform.models.cache import CachedModel, forget
from kgplatform.models.chat import OpenAIModel
from kgplatform.models.parallel import CountingModel, complete_all
from kgplatform.models.recording import RecordingModel, ReplayModel
from kgplatform.models.structured import instructed, is_closed, json_of, mismatch
from kgplatform.protocols import ChatModel, Completion, Message
from kgplatform.testing import ScriptedModel
from kgplatform.types import Usage

KEY = "sk-secret-7f3a9c"
ASK = [Message("system", "You read travel notes."), Message("user", "乌镇在哪里？\nAnswer briefly.")]
SCHEMA: dict[str, object] = {
    "type": "object",
    "properties": {"town": {"type": "string"}, "gates": {"type": "array", "items": {"type": "integer"}}},
    "required": ["town", "gates"],
    "additionalProperties": False,
}
GOOD = '{"town": "乌镇", "gates": [1, 2]}'

Reply = Callable[["Handler"], None]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Server

    def log_message(self, *_: object) -> None:
        pass

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with self.server.lock:
            self.server.bodies.append(body)
            self.server.headers.append({name.lower(): value for name, value in self.headers.items()})
            replies = self.server.replies
            reply = replies.pop(0) if len(replies) > 1 else replies[0]
        reply(self)

    def send(self, status: int, payload: bytes, headers: Mapping[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", **(headers or {})}.items():
            self.send_header(name, value)
        if "Content-Length" not in (headers or {}):
            self.send_header("Content-Length", str(len(payload)))
        self.end_headers()
        self.wfile.write(payload)


class Server(ThreadingHTTPServer):
    """Gives its replies in order, the last one for ever."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.replies: list[Reply] = []
        self.bodies: list[dict[str, object]] = []
        self.headers: list[dict[str, str]] = []
        self.lock = threading.Lock()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        yield running
        running.shutdown()
        thread.join()


def says(text: str | None, *, finish: str = "stop", **more: object) -> Reply:
    message = {"role": "assistant", "content": text}
    answer = {"choices": [{"index": 0, "message": message, "finish_reason": finish}], **more}
    return lambda handler: handler.send(200, json.dumps(answer).encode())


def fails(status: int, message: str = "no", headers: Mapping[str, str] | None = None, code: str | None = None) -> Reply:
    payload = json.dumps({"error": {"message": message, "code": code}}).encode()
    return lambda handler: handler.send(status, payload, headers)


def cut(handler: Handler) -> None:
    handler.send(200, b'{"choices": [{"mess', {"Content-Length": "500"})
    handler.close_connection = True


def model_of(server: Server, waits: list[float] | None = None, **options: object) -> OpenAIModel:
    sleep = (lambda _: None) if waits is None else waits.append
    settings: dict[str, object] = {"url": server.url, "key": KEY, "timeout_seconds": 5.0, "sleep": sleep, **options}
    return OpenAIModel("qwen3", **settings)  # type: ignore[arg-type]


def test_complete_returns_the_reply_and_the_tokens_the_server_counted(server: Server) -> None:
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


def test_complete_estimates_tokens_where_the_server_counts_none(server: Server) -> None:
    server.replies = [says("乌镇 in Zhejiang")]
    usage = model_of(server).complete(ASK).usage
    assert usage.prompt_tokens > 10
    assert usage.completion_tokens == 2 + 3


def test_complete_leaves_out_what_a_reasoning_model_thought(server: Server) -> None:
    server.replies = [says("<think>\nIs it {Suzhou}?\n</think>\n\n乌镇"), says("hm, so…</think>乌镇")]
    model = model_of(server)
    assert model.complete(ASK).text == "乌镇"
    assert model.complete(ASK).text == "乌镇"


def test_no_environment_variable_of_the_client_reaches_the_server(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-someone-else")
    monkeypatch.setenv("OPENAI_ORG_ID", "org-of-someone-else")
    server.replies = [says("yes")]
    model_of(server, key=None).complete(ASK)
    assert "someone-else" not in str(server.headers)


def test_rate_limit_is_waited_out_as_long_as_the_server_says(server: Server) -> None:
    waits: list[float] = []
    server.replies = [fails(429, headers={"Retry-After": "7"}), says("at last")]
    assert model_of(server, waits).complete(ASK).text == "at last"
    assert len(waits) == 1
    assert 7 <= waits[0] <= 7.7


def test_retry_after_may_be_a_date(server: Server) -> None:
    waits: list[float] = []
    date = format_datetime(datetime.now(UTC) + timedelta(seconds=20), usegmt=True)
    server.replies = [fails(503, headers={"Retry-After": date}), says("at last")]
    assert model_of(server, waits).complete(ASK).text == "at last"
    assert 15 <= waits[0] <= 22


def test_retry_after_of_an_hour_is_not_waited_out_but_told(server: Server) -> None:
    waits: list[float] = []
    server.replies = [fails(429, "slow down", headers={"Retry-After": "3600"})]
    with pytest.raises(ModelUnavailableError, match="asked too often") as caught:
        model_of(server, waits).complete(ASK)
    assert caught.value.retry_after == 3600
    assert waits == []


def test_server_errors_are_retried_with_growing_waits(server: Server) -> None:
    waits: list[float] = []
    server.replies = [fails(500), fails(500), says("fine")]
    completion = model_of(server, waits).complete(ASK)
    assert completion.text == "fine"
    assert completion.usage.calls == 1
    assert 0.5 <= waits[0] < waits[1] <= 1.25


def test_retries_end(server: Server) -> None:
    server.replies = [fails(502, "bad gateway")]
    with pytest.raises(ModelUnavailableError, match="HTTP 502: bad gateway") as caught:
        model_of(server, retries=2).complete(ASK)
    assert len(server.bodies) == 3
    assert caught.value.model == "qwen3"


def test_spent_quota_is_not_retried(server: Server) -> None:
    server.replies = [fails(429, "You exceeded your quota", code="insufficient_quota")]
    with pytest.raises(ModelUnavailableError, match="no quota left"):
        model_of(server).complete(ASK)
    assert len(server.bodies) == 1


def test_connection_cut_in_the_middle_of_the_body_is_retried(server: Server) -> None:
    server.replies = [cut, cut, says("whole")]
    assert model_of(server).complete(ASK).text == "whole"
    assert len(server.bodies) == 3


def test_connection_that_is_always_cut_is_unavailable(server: Server) -> None:
    server.replies = [cut]
    with pytest.raises(ModelUnavailableError, match="connection broken off"):
        model_of(server, retries=1).complete(ASK)


def test_body_that_is_not_json_is_a_reply_error_that_asks_about_the_address(server: Server) -> None:
    server.replies = [lambda handler: handler.send(200, b"<html>Sign in</html>", {"Content-Type": "text/html"})]
    with pytest.raises(ModelReplyError, match=r"not JSON.*Sign in.*address") as caught:
        model_of(server).complete(ASK)
    assert caught.value.reply == "<html>Sign in</html>"


@pytest.mark.parametrize("payload", [b"{}", b'{"choices": []}', b'{"choices": [{}]}', b'{"error": {"message": "x"}}'])
def test_json_without_a_completion_is_a_reply_error(server: Server, payload: bytes) -> None:
    server.replies = [lambda handler: handler.send(200, payload)]
    with pytest.raises(ModelReplyError, match="without a completion"):
        model_of(server).complete(ASK)


@pytest.mark.parametrize("nothing", ["", "  \n", None])
def test_empty_reply_is_asked_for_once_more(server: Server, nothing: str | None) -> None:
    server.replies = [says(nothing), says("now")]
    completion = model_of(server).complete(ASK)
    assert completion.text == "now"
    assert completion.usage.calls == 2


def test_second_empty_reply_is_an_error(server: Server) -> None:
    server.replies = [says("")]
    with pytest.raises(ModelReplyError, match="empty reply") as caught:
        model_of(server).complete(ASK)
    assert caught.value.reply == ""
    assert len(server.bodies) == 2


def test_refusal_of_the_model_is_a_reply_error(server: Server) -> None:
    message = {"role": "assistant", "content": None, "refusal": "I cannot help with that."}
    answer = json.dumps({"choices": [{"message": message}]}).encode()
    server.replies = [lambda handler: handler.send(200, answer)]
    with pytest.raises(ModelReplyError, match="declines: I cannot help"):
        model_of(server).complete(ASK, schema=SCHEMA)


def test_slow_server_is_given_up_after_the_timeout_and_one_more_try(server: Server) -> None:
    def slow(handler: Handler) -> None:
        time.sleep(0.6)
        handler.close_connection = True

    server.replies = [slow]
    with pytest.raises(ModelUnavailableError, match=r"within 0\.2 s"):
        model_of(server, timeout_seconds=0.2).complete(ASK)
    assert len(server.bodies) == 2


def test_server_that_is_not_there_is_named_with_the_way_out() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    waits: list[float] = []
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
def test_address_that_is_none_is_told_at_once(url: str) -> None:
    with pytest.raises(ModelUnavailableError, match="must look like http"):
        OpenAIModel("qwen3", url=url).complete(ASK)


@pytest.mark.parametrize("key", ["schlüssel", "a\nb", "two words"])
def test_key_that_cannot_be_one_is_told_without_showing_it(key: str) -> None:
    with pytest.raises(ModelUnavailableError, match="no key has") as caught:
        OpenAIModel("qwen3", url="http://localhost:1/v1", key=key).complete(ASK)
    assert key not in str(caught.value)


@pytest.mark.parametrize("status", [400, 401, 403, 404, 418, 429, 500])
def test_no_message_holds_the_key_or_a_line_break(server: Server, status: int) -> None:
    server.replies = [fails(status, f"wrong\nkey: {KEY}", code=f"bad {KEY}")]
    model = model_of(server)
    with pytest.raises(ModelUnavailableError) as caught:
        model.complete(ASK)
    assert KEY not in str(caught.value)
    assert KEY not in repr(vars(model))
    assert "\n" not in str(caught.value)


def test_wrong_key_is_not_retried(server: Server) -> None:
    server.replies = [fails(401)]
    with pytest.raises(ModelUnavailableError, match="refuses the key"):
        model_of(server).complete(ASK)
    with pytest.raises(ModelUnavailableError, match="wants a key"):
        model_of(server, key="none").complete(ASK)
    assert len(server.bodies) == 2


def test_schema_is_sent_as_response_format_and_the_json_comes_back(server: Server) -> None:
    server.replies = [says(GOOD)]
    completion = model_of(server).complete(ASK, schema=SCHEMA)
    assert json.loads(completion.text) == {"town": "乌镇", "gates": [1, 2]}
    form = server.bodies[0]["response_format"]
    assert form == {"type": "json_schema", "json_schema": {"name": "reply", "schema": SCHEMA, "strict": True}}


@pytest.mark.parametrize("status", [400, 422, 501])
def test_server_that_rejects_response_format_is_asked_in_words_and_this_is_remembered(
    server: Server, status: int
) -> None:
    server.replies = [fails(status, "response_format is not supported"), says(f"```json\n{GOOD}\n```")]
    model = model_of(server)
    assert json.loads(model.complete(ASK, schema=SCHEMA).text)["town"] == "乌镇"
    assert json.loads(model.complete(ASK, schema=SCHEMA).text)["gates"] == [1, 2]
    assert ["response_format" in body for body in server.bodies] == [True, False, False]
    assert server.bodies[1]["messages"] == [
        {"role": message.role, "content": message.content} for message in instructed(ASK, SCHEMA)
    ]


def test_request_refused_for_another_reason_does_not_give_up_response_format(server: Server) -> None:
    server.replies = [fails(400, "maximum context length is 4096 tokens"), fails(400, "the same"), says(GOOD)]
    model = model_of(server)
    with pytest.raises(ModelUnavailableError, match="does not accept the request"):
        model.complete(ASK, schema=SCHEMA)
    model.complete(ASK, schema=SCHEMA)
    assert "response_format" in server.bodies[-1]


def test_server_that_ignores_response_format_is_understood(server: Server) -> None:
    server.replies = [says(f"好的，结果如下：\n```json\n{GOOD}\n```\n希望有帮助。")]
    completion = model_of(server).complete(ASK, schema=SCHEMA)
    assert json.loads(completion.text) == {"town": "乌镇", "gates": [1, 2]}
    assert completion.usage.calls == 1


def test_server_that_ignores_response_format_and_writes_prose_is_asked_in_words(server: Server) -> None:
    server.replies = [says("Wuzhen has two gates."), says(GOOD)]
    model = model_of(server)
    completion = model.complete(ASK, schema=SCHEMA)
    assert json.loads(completion.text)["town"] == "乌镇"
    assert completion.usage.calls == 2
    model.complete(ASK, schema=SCHEMA)
    assert "response_format" not in server.bodies[-1]


def test_json_of_the_wrong_shape_is_corrected_once(server: Server) -> None:
    server.replies = [says('{"town": 1}'), says('{"town": "乌镇"}'), says(GOOD)]
    completion = model_of(server).complete(ASK, schema=SCHEMA)
    assert json.loads(completion.text)["gates"] == [1, 2]
    messages = server.bodies[2]["messages"]
    assert isinstance(messages, list)
    assert messages[-2] == {"role": "assistant", "content": '{"town": "乌镇"}'}
    assert "lacks 'gates'" in messages[-1]["content"]


def test_reply_that_stays_wrong_is_an_error_with_the_reply(server: Server) -> None:
    server.replies = [says("I would rather not say.")]
    with pytest.raises(ModelReplyError, match="did not reply with a JSON object") as caught:
        model_of(server).complete(ASK, schema=SCHEMA)
    assert caught.value.reply == "I would rather not say."
    assert len(server.bodies) == 3


def test_json_cut_off_by_max_tokens_is_an_error_that_says_so(server: Server) -> None:
    server.replies = [says(GOOD[:-3], finish="length")]
    with pytest.raises(ModelReplyError, match="raise max_tokens"):
        model_of(server).complete(ASK, schema=SCHEMA)
    assert len(server.bodies) == 1


def test_parameters_that_a_server_does_not_know_are_left_out_from_then_on(server: Server) -> None:
    server.replies = [
        fails(400, "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."),
        fails(400, "Unsupported value: 'temperature' does not support 0.0 with this model."),
        says(GOOD),
    ]
    model = model_of(server, max_tokens=99)
    model.complete(ASK, schema=SCHEMA)
    model.complete(ASK, schema=SCHEMA)
    assert len(server.bodies) == 4
    last = server.bodies[-1]
    assert last["max_completion_tokens"] == 99
    assert "max_tokens" not in last
    assert "temperature" not in last
    assert "response_format" in last


def test_nothing_is_imported_or_connected_before_complete() -> None:
    code = (
        "import sys; from kgplatform.models.chat import OpenAIModel; from kgplatform.models.embedding import *;"
        "OpenAIModel('m', url='http://localhost:1/v1'); SentenceTransformersEmbedder().dimensions;"
        "sys.exit(bool({'openai', 'torch', 'sentence_transformers'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# --- JSON in replies


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": 1}', {"a": 1}),
        ('```json\n{"a": 1}\n```', {"a": 1}),
        ('Sure!\n```\n{"a": [1, 2,],}\n```\nDone.', {"a": [1, 2]}),
        ('The set {x} of [1] gives {"a": "}"} as asked.', {"a": "}"}),
        ('{"a": ",}"}', {"a": ",}"}),
        ('结果：{"名称": "乌镇", "别名": [],}。', {"名称": "乌镇", "别名": []}),
        ('{"a": "two\nlines"}', {"a": "two\nlines"}),
        ('Draft {"a": 1}, final {"a": 1, "b": 2}', {"a": 1, "b": 2}),
        ('<think>{"a": 0}</think>{"a": 1}', {"a": 1}),
        ('{"a": NaN}', {"a": None}),
        ("{}", {}),
        ("{'a': 1}", {"a": 1}),
        ("判断如下：\n{“found”：[true，false]，“why”：“西栅，如此”}", {"found": [True, False], "why": "西栅，如此"}),
        ('```json\n{"found": [True, False], // both\n"why": None}\n```', {"found": [True, False], "why": None}),
        ('{"claim": "乌镇是"江南"水乡", "supported": true}', {"claim": '乌镇是"江南"水乡', "supported": True}),
    ],
)
def test_json_of_finds_the_object(text: str, value: object) -> None:
    assert json_of(text) == value


@pytest.mark.parametrize(
    "text",
    ["", "no", "[1, 2]", '[{"a": 1}]', '"a"', "null", '{"a": [{"b": 1}, {"b"', "{'a': 1", "[" * 5000, '{"a":' * 5000],
)
def test_json_of_refuses_what_holds_no_whole_object(text: str) -> None:
    with pytest.raises(ModelReplyError) as caught:
        json_of(text, model="m")
    assert caught.value.reply == text


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(), _VALUES, max_size=4), st.booleans())
def test_json_of_reads_any_object_whatever_stands_around_it(value: dict[str, object], fenced: bool) -> None:
    text = json.dumps(value, ensure_ascii=False)
    if "think" in text:
        return
    around = f"好的：\n```json\n{text}\n```\nThat is all." if fenced else f"The reply is {text} as asked."
    assert json_of(text) == value
    assert json_of(around) == value


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ({"town": "x", "gates": [1]}, None),
        ({"town": "x", "gates": [1], "more": True}, None),
        ({"town": "x"}, "the reply lacks 'gates'"),
        ({"town": 3, "gates": []}, "the reply.town is not of type string"),
        ({"town": "x", "gates": [1, "2"]}, "the reply.gates[1] is not of type integer"),
        ({"town": "x", "gates": [True]}, "the reply.gates[0] is not of type integer"),
        ([], "the reply is not of type object"),
    ],
)
def test_mismatch_names_the_first_difference(value: object, reason: str | None) -> None:
    assert mismatch(value, SCHEMA) == reason


def test_mismatch_knows_enumerations_and_alternatives_of_type() -> None:
    schema = {"type": ["string", "null"], "enum": ["a", None]}
    assert mismatch("a", schema) is None
    assert mismatch(None, schema) is None
    assert mismatch("b", schema) == "the reply is none of a, None"
    assert mismatch(1, schema) == "the reply is not of type string or null"


def test_only_closed_schemas_are_strict() -> None:
    assert is_closed(SCHEMA)
    assert not is_closed({**SCHEMA, "required": ["town"]})
    assert not is_closed({"type": "array", "items": {"type": "object", "properties": {}}})


def test_instruction_is_in_the_language_of_the_request() -> None:
    assert "只回复一个 JSON" in instructed([Message("user", "乌镇在哪里？")], SCHEMA)[0].content
    assert "Reply with one JSON" in instructed([Message("user", "Where?")], SCHEMA)[0].content


# --- wrappers


def test_wrappers_are_chat_models(tmp_path: Path) -> None:
    inner = OpenAIModel("qwen3", url="http://localhost:1/v1", temperature=0.3)
    wrapped = CountingModel(RecordingModel(CachedModel(inner, tmp_path / "c"), tmp_path / "r"))
    assert isinstance(wrapped, ChatModel)
    assert wrapped.name == "qwen3"
    assert wrapped.parameters == {"temperature": 0.3, "max_tokens": None}


def test_cached_reply_costs_no_call(tmp_path: Path) -> None:
    inner = ScriptedModel("first", "second", GOOD)
    model = CachedModel(inner, tmp_path / "deep" / "cache.sqlite")
    made = model.complete(ASK)
    kept = CachedModel(inner, tmp_path / "deep" / "cache.sqlite").complete(ASK)
    assert (made.text, kept.text) == ("first", "first")
    assert made.usage.calls == 1
    assert kept.usage.calls == 0
    assert kept.usage.completion_tokens == made.usage.completion_tokens
    assert model.complete(ASK[1:]).text == "second"
    assert model.complete(ASK, schema=SCHEMA).text == GOOD


def test_cache_tells_parameters_and_models_apart(tmp_path: Path) -> None:
    class Warm(ScriptedModel):
        parameters: Mapping[str, object] = {"temperature": 1.0}

    path = tmp_path / "cache.sqlite"
    other = ScriptedModel("of another")
    other.name = "another"
    assert CachedModel(ScriptedModel("cold"), path).complete(ASK).text == "cold"
    assert CachedModel(Warm("warm"), path).complete(ASK).text == "warm"
    assert CachedModel(other, path).complete(ASK).text == "of another"


def test_replies_about_a_document_can_be_forgotten_and_the_others_stay(tmp_path: Path) -> None:
    inner = ScriptedModel("about a", "about b", "about a again")
    model = CachedModel(inner, tmp_path / "cache.sqlite")
    model.about("a").complete([Message("user", "first")])
    model.about("b").complete([Message("user", "second")])
    forget(tmp_path / "cache.sqlite", "a")
    assert not _kept(tmp_path / "cache.sqlite", "about a")
    assert model.complete([Message("user", "second")]).text == "about b"
    assert model.complete([Message("user", "first")]).text == "about a again"
    forget(tmp_path / "none.sqlite", "a")
    assert not (tmp_path / "none.sqlite").exists()


def _kept(path: Path, text: str) -> bool:
    with closing(sqlite3.connect(path)) as connection:
        return bool(connection.execute("SELECT 1 FROM completion WHERE text = ?", (text,)).fetchone())


def test_cache_does_not_keep_failures(tmp_path: Path) -> None:
    model = CachedModel(ScriptedModel(ModelUnavailableError("away", model="m"), "back"), tmp_path / "c.sqlite")
    with pytest.raises(ModelUnavailableError):
        model.complete(ASK)
    assert model.complete(ASK).text == "back"


def test_cache_in_a_file_that_is_none_is_a_store_error(tmp_path: Path) -> None:
    path = tmp_path / "cache.sqlite"
    path.write_bytes(b"this is not a database, whatever its name says" * 40)
    with pytest.raises(StoreError, match="cannot be used"):
        CachedModel(ScriptedModel("x"), path).complete(ASK)


def test_cache_is_shared_by_two_processes_and_their_threads(tmp_path: Path) -> None:
    code = """
import sys
from kgplatform.models.cache import CachedModel
from kgplatform.models.parallel import complete_all
from kgplatform.protocols import Message
from kgplatform.testing import ScriptedModel
inner = ScriptedModel(otherwise=lambda messages: f"{messages[0].content} by {sys.argv[2]}")
sys.stdin.readline()
asked = [[Message("user", f"问 {number % 40}")] for number in range(80)]
print("\\n".join(reply.text for reply in complete_all(CachedModel(inner, sys.argv[1]), asked)))
"""
    path = str(tmp_path / "cache.sqlite")
    started = [
        subprocess.Popen(
            [sys.executable, "-c", code, path, who],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8",
            env={**os.environ, "PYTHONIOENCODING": "utf-8"},
        )
        for who in ("a", "b")
    ]  # fmt: skip
    for process in started:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    first, second = (process.communicate(timeout=60)[0].splitlines() for process in started)
    assert [process.returncode for process in started] == [0, 0]
    assert len(first) == 80
    assert first == second, "both processes got the replies that were stored first"
    assert first[:40] == first[40:]


def test_what_was_recorded_is_replayed(tmp_path: Path) -> None:
    path = tmp_path / "recording.jsonl"
    model = RecordingModel(ScriptedModel("乌镇在浙江。", GOOD), path)
    made = [model.complete(ASK), model.complete(ASK, schema=SCHEMA)]
    replay = ReplayModel(path)
    assert replay.name == "scripted"
    replayed = [replay.complete(ASK), replay.complete(ASK, schema=SCHEMA)]
    assert [reply.text for reply in replayed] == [reply.text for reply in made]
    assert [reply.usage.calls for reply in replayed] == [0, 0]
    assert replayed[0].usage.prompt_tokens == made[0].usage.prompt_tokens
    assert json.loads(path.read_text(encoding="utf-8").splitlines()[0])["messages"][1]["role"] == "user"


def test_later_recording_counts(tmp_path: Path) -> None:
    path = tmp_path / "recording.jsonl"
    model = RecordingModel(ScriptedModel("old", "new"), path)
    model.complete(ASK)
    model.complete(ASK)
    assert ReplayModel(path).complete(ASK).text == "new"


def test_replay_names_the_prompt_that_was_not_recorded(tmp_path: Path) -> None:
    path = tmp_path / "recording.jsonl"
    RecordingModel(ScriptedModel("x"), path).complete(ASK)
    with pytest.raises(ModelUnavailableError, match="has no reply to '乌镇在哪里？'") as caught:
        ReplayModel(path).complete(ASK[1:])
    assert "\n" not in str(caught.value)


def test_requests_kept_by_a_server_are_replayed(server: Server, tmp_path: Path) -> None:
    server.replies = [says(GOOD), says("plain")]
    model = model_of(server)
    model.complete(ASK, schema=SCHEMA)
    model.complete(ASK)
    lines = [
        json.dumps({"id": "0f3c", "request": body, "completion": reply})
        for body, reply in zip(server.bodies, [f"```json\n{GOOD}\n```", "plain"], strict=True)
    ]
    path = tmp_path / "recorded.jsonl"
    path.write_text("\n".join(lines), encoding="utf-8")
    replay = ReplayModel(path)
    assert replay.name == "qwen3"
    assert json.loads(replay.complete(ASK, schema=SCHEMA).text)["town"] == "乌镇"
    assert replay.complete(ASK).text == "plain"


def test_request_that_a_server_got_in_words_is_replayed(server: Server, tmp_path: Path) -> None:
    server.replies = [says("prose"), says(GOOD)]
    model_of(server).complete(ASK, schema=SCHEMA)
    path = tmp_path / "recorded.jsonl"
    rows = zip(server.bodies, ["prose", GOOD], strict=True)
    path.write_text("".join(json.dumps({"request": body, "completion": text}) + "\n" for body, text in rows))
    assert json.loads(ReplayModel(path).complete(ASK, schema=SCHEMA).text)["gates"] == [1, 2]


def test_recording_goes_on_after_a_line_that_a_crash_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "recording.jsonl"
    path.write_text('{"half', encoding="utf-8")
    RecordingModel(ScriptedModel("x"), path).complete(ASK)
    with pytest.raises(ReadError, match="line 1 is not a recorded completion"):
        ReplayModel(path)
    path.write_text(path.read_text(encoding="utf-8").split("\n", 1)[1], encoding="utf-8")
    assert ReplayModel(path).complete(ASK).text == "x"


@pytest.mark.parametrize("line", ["[]", '"x"', "{}", '{"messages": 3}', '{"messages": [], "completion": null}'])
def test_replay_of_a_file_that_is_no_recording_names_the_line(tmp_path: Path, line: str) -> None:
    path = tmp_path / "recording.jsonl"
    path.write_text(f"\n{line}\n", encoding="utf-8")
    with pytest.raises(ReadError, match="line 2"):
        ReplayModel(path)


def test_replay_of_a_missing_file_is_a_read_error(tmp_path: Path) -> None:
    with pytest.raises(ReadError, match="No such file"):
        ReplayModel(tmp_path / "nowhere.jsonl")


def test_recording_from_threads_keeps_lines_whole(tmp_path: Path) -> None:
    path = tmp_path / "recording.jsonl"
    model = RecordingModel(ScriptedModel(otherwise=lambda messages: messages[0].content * 200), path)
    asked = [[Message("user", f"问{number}")] for number in range(60)]
    complete_all(model, asked)
    replay = ReplayModel(path)
    assert [replay.complete(messages).text for messages in asked] == [f"问{number}" * 200 for number in range(60)]


def test_complete_all_keeps_the_order_and_puts_errors_in_their_places() -> None:
    def reply(messages: object) -> str | ModelError:
        number = int(str(messages[0].content))  # type: ignore[index]
        time.sleep(0.02 * (number % 3))
        return ModelUnavailableError("busy", model="m") if number == 5 else f"reply {number}"

    model = CountingModel(ScriptedModel(otherwise=reply))
    replies = complete_all(model, [[Message("user", str(number))] for number in range(12)], workers=4)
    texts = [reply.text if isinstance(reply, Completion) else type(reply).__name__ for reply in replies]
    expected = [f"reply {number}" for number in range(12)]
    expected[5] = "ModelUnavailableError"
    assert texts == expected
    assert model.usage.calls == 11


def test_complete_all_asks_in_parallel_and_nothing_of_nothing(server: Server) -> None:
    def slow(handler: Handler) -> None:
        time.sleep(0.1)
        says("ok")(handler)

    server.replies = [slow]
    model = model_of(server)
    model.complete(ASK)
    started = time.perf_counter()
    replies = complete_all(model, [ASK] * 16, workers=8)
    assert time.perf_counter() - started < 1.55  # one after the other they would take 1.6
    assert all(isinstance(reply, Completion) for reply in replies)
    assert complete_all(model, []) == []


def test_complete_all_raises_what_is_not_the_models_fault(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("x" * 5000)
    with pytest.raises(StoreError):
        complete_all(CachedModel(ScriptedModel("x"), path), [ASK, ASK])


def test_scripted_model_keeps_what_it_was_sent_and_runs_out() -> None:
    model = ScriptedModel("a")
    model.enqueue("not JSON")
    assert model.complete(ASK) == Completion("a", Usage(1, 16, 1))
    with pytest.raises(ModelReplyError):
        model.complete(ASK, schema=SCHEMA)
    with pytest.raises(ModelUnavailableError, match="乌镇在哪里"):
        model.complete(ASK)
    assert model.conversations == [tuple(ASK)] * 3
    assert model.schemas == [None, SCHEMA, None]
