"""The graph as a chat model, asked by the client that chat programs use; with the transcript of docs/chat.md."""

import html
import json
import re
import threading
import time
from http.client import HTTPConnection
from pathlib import Path
from urllib.request import urlopen

import httpx
import pytest
from interfaces import asked_workspace, served
from local_server import local_server
from openai import APIError, AuthenticationError, BadRequestError, NotFoundError, OpenAI
from openai.types import ErrorObject, Model
from openai.types.chat import ChatCompletion, ChatCompletionChunk
from pydantic import BaseModel
from test_mcp import NEVER, start, stop
from test_models import cut, fails, misbehaving, says

from kgplatform.server.access import Token

ROOMS = "How many rooms does Lakeside Inn have?"
PAGE = Path(__file__).resolve().parents[1] / "docs" / "chat.md"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with served(tmp_path_factory.mktemp("asked") / "kg") as address:
        yield address


@pytest.fixture
def client(server):
    with OpenAI(base_url=f"{server}/v1", api_key="any", max_retries=0) as made:
        yield made


def user(*texts):
    return [{"role": "user", "content": text} for text in texts]


def ask(client, *texts, model="kgplatform"):
    return client.chat.completions.create(model=model, messages=user(*texts)).choices[0].message


def test_the_models_are_listed_and_found(client):
    names = [model.id for model in client.models.list()]
    assert names == ["kgplatform", "kgplatform:graph", "kgplatform:passages"]
    assert client.models.retrieve("kgplatform").id == "kgplatform"


@pytest.mark.parametrize(("question", "number"), [(ROOMS, "24"), ("通安客栈有多少间客房？", "80")])
def test_an_answer_cites_the_passages_that_say_it(client, question, number):
    message = ask(client, question)
    assert number in message.content
    cited = message.annotations[0].url_citation
    assert message.content[cited.start_index : cited.end_index] == "[1]"
    with urlopen(cited.url) as page:
        assert number in page.read().decode()


def test_a_streamed_answer_is_the_same_with_its_citations_and_its_usage(client):
    whole = ask(client, ROOMS)
    text, annotations, usage, ends = "", [], None, []
    options = {"include_usage": True}
    for chunk in client.chat.completions.create(
        model="kgplatform", messages=user(ROOMS), stream=True, stream_options=options
    ):
        usage = chunk.usage or usage
        for choice in chunk.choices:
            text += choice.delta.content or ""
            annotations += getattr(choice.delta, "annotations", None) or []
            ends += filter(None, [choice.finish_reason])
    assert (text, ends, usage.total_tokens) == (whole.content, ["stop"], 0)
    assert [one["url_citation"]["url"] for one in annotations] == [one.url_citation.url for one in whole.annotations]


def test_every_answer_is_what_the_types_of_the_client_say(client, server):
    """The client builds its types without looking; here each part is held against them, and none may be unknown."""

    def held(type_, record, known=frozenset()):
        made = type_.model_validate(record, strict=True)
        assert strange(made) <= known, record
        return made

    def strange(made):
        inner = [item for value in dict(made).values() for item in (value if isinstance(value, list) else [value])]
        own = set(made.model_extra or {})
        return own.union(*(strange(item) for item in inner if isinstance(item, BaseModel)))

    def posted(**more):
        body = {"model": "kgplatform", "messages": user(ROOMS), **more}
        return httpx.post(f"{server}/v1/chat/completions", json=body, timeout=60)

    with httpx.Client(base_url=f"{server}/v1", timeout=60) as http:
        listed = http.get("/models").json()
        assert [held(Model, item).id for item in listed["data"]] == [model.id for model in client.models.list()]
        held(Model, http.get("/models/kgplatform").json())
    whole = held(ChatCompletion, posted().json())
    assert whole.choices[0].message.annotations
    stream = posted(stream=True, stream_options={"include_usage": True}).text
    lines = [line.removeprefix("data: ") for line in stream.split("\n\n") if line]
    assert lines.pop() == "[DONE]"
    chunks = [held(ChatCompletionChunk, json.loads(line), frozenset({"annotations"})) for line in lines]
    assert len({chunk.id for chunk in chunks}) == 1
    assert chunks[-1].usage is not None
    for refused in (posted(model="other"), posted(messages=[])):
        held(ErrorObject, refused.json()["error"])


def test_the_messages_before_are_the_turns_of_a_conversation(client, server):
    turns = [*user(ROOMS), {"role": "assistant", "content": "24"}, *user("And 通安客栈?")]
    found = client.chat.completions.create(model="kgplatform", messages=turns).choices[0].message
    assert "80" in found.content
    again = ask(client, ROOMS, "And 通安客栈?")
    assert again.content == found.content
    parts = [{"role": "user", "content": [{"type": "text", "text": ROOMS}]}]
    assert "24" in client.chat.completions.create(model="kgplatform", messages=parts).choices[0].message.content


def test_one_source_alone_can_be_asked(client):
    assert "24" in ask(client, ROOMS, model="kgplatform:graph").content


def test_what_cannot_be_answered_is_refused_with_the_reason(client):
    with pytest.raises(NotFoundError, match="/v1/models lists them"):
        ask(client, ROOMS, model="other")
    for messages in ([], user("a" * 1001), [{"role": "system", "content": "x"}], ["x"]):
        with pytest.raises(BadRequestError):
            client.chat.completions.create(model="kgplatform", messages=messages)


def test_streams_that_nobody_reads_to_the_end_leave_the_server_free(client):
    def leave():
        with client.chat.completions.create(model="kgplatform", messages=user(ROOMS), stream=True) as stream:
            next(iter(stream))

    threads = [threading.Thread(target=leave) for _ in range(30)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert "24" in ask(client, ROOMS).content


def test_a_model_that_fails_in_mid_stream_is_told_of_in_one_line_and_the_next_question_is_answered(tmp_path):
    """The first chunk is sent before the model is asked; the page of the question hears steps before."""
    painter, lost = "Who painted the Mona Lisa?", "\\ud83d"
    failures = {
        "does not answer (connection broken off); start the server or remove [model]": cut,
        "fails (HTTP 500: no); try again later": fails(500),
        "is not JSON ('not a model'); is the address right?": lambda handler: handler.send(200, b"not a model"),
        "answers without a completion (null)": lambda handler: handler.send(200, b'{"error": null, "choices": 1}'),
    }
    folder = asked_workspace(tmp_path / "kg")
    with misbehaving() as model:
        with (folder / "kgplatform.toml").open("a", encoding="utf-8") as file:
            file.write(f'\n[model]\nname = "m"\nurl = "{model.url}"\nretries = 0\n')
        process, address = start(folder)

        def streamed(*texts, name="kgplatform"):
            body = {"model": name, "messages": user(*texts), "stream": True}
            reply = httpx.post(f"{address}/v1/chat/completions", json=body, timeout=300)
            lines = [line.removeprefix("data: ") for line in reply.text.split("\n\n") if line]
            assert (reply.status_code, lines.pop()) == (200, "[DONE]")
            return [json.loads(line) for line in lines]

        def completed(client, stream):
            return client.chat.completions.create(model="kgplatform", messages=user(painter), stream=stream)

        def text(chunks):
            return "".join(chunk["choices"][0]["delta"].get("content", "") for chunk in chunks)

        try:
            with OpenAI(base_url=f"{address}/v1", api_key="any", max_retries=0) as client:
                for reason, reply in failures.items():
                    model.replies[:] = [reply]
                    first, told = streamed(painter)
                    assert first["choices"][0]["delta"] == {"role": "assistant", "content": ""}
                    assert (told.keys(), told["error"]["type"]) == ({"error"}, "server_error")
                    assert reason in told["error"]["message"]
                    assert "\n" not in told["error"]["message"]
                    for stream in (True, False):
                        with pytest.raises(APIError, match="the model did not help"):
                            list(completed(client, stream))
                    assert "24" in text(streamed(painter, ROOMS))  # which the graph answers without a model
                    asked = {"question": painter, "name": "0123456789abcdef"}
                    page = httpx.get(f"{address}/api/ask/events", params=asked, timeout=300).text.split("\n\n")[-2]
                    assert page.startswith("event: page\n")
                    assert reason in html.unescape(json.loads(page.split("\ndata: ")[1])["html"])
                sentence = {"sentence": f"Lakeside Inn has 24 rooms {lost}.", "passages": [1, 2]}
                said = {"answer": [sentence], "short": lost, "confidence": "high", "premise": False}
                half = json.dumps(said).replace("\\\\", "\\")  # of a pair of surrogates, which no text holds
                model.replies[:] = [says(half)]
                assert "24 rooms ?" in text(streamed(ROOMS, name="kgplatform:passages"))
                assert "24" in text(streamed(ROOMS))
        finally:
            stop(process)


@pytest.mark.slow
def test_a_question_whose_client_leaves_ends_with_its_query_streamed_or_not(tmp_path):
    """The model writes a query that never ends; whoever mends queries would ask it for another."""
    folder, asked = asked_workspace(tmp_path / "kg"), []

    def reply(_path, sent):
        asked.append(sent)
        usage = {"prompt_tokens": 1, "completion_tokens": 1}
        return {"choices": [{"message": {"content": NEVER}}], "usage": usage}

    def wait(address, number):
        deadline = time.monotonic() + 60
        while True:
            with urlopen(f"{address}/api/queries") as response:
                if len(json.load(response)["queries"]) == number:
                    return
            assert time.monotonic() < deadline, asked
            time.sleep(0.1)

    with local_server(reply) as model:
        with (folder / "kgplatform.toml").open("a", encoding="utf-8") as file:
            file.write(f'\n[model]\nname = "m"\nurl = "{model}/v1"\nretries = 0\n[questions]\ntimeout_seconds = 600')
        process, address = start(folder)
        try:
            for number, stream in enumerate((True, False), start=1):
                body = json.dumps({"messages": user(f"{ROOMS} {number}"), "stream": stream})
                connection = HTTPConnection(address.removeprefix("http://"), timeout=60)
                connection.request("POST", "/v1/chat/completions", body, {"Content-Type": "application/json"})
                while len(asked) < number:  # a query before it is none of the model's
                    time.sleep(0.05)
                wait(address, 1)
                connection.close()
                wait(address, 0)
            time.sleep(0.5)
            assert len(asked) == 2
        finally:
            stop(process)


def test_with_tokens_a_wrong_key_is_refused_and_a_right_one_reads(tmp_path):
    secret, line = Token.make("ann", "read")
    settings = f'[server]\ntokens = ["{line}"]\npublic_reads = false'
    with served(tmp_path / "kg", settings=settings) as address:
        wrong, right = (OpenAI(base_url=f"{address}/v1", api_key=key, max_retries=0) for key in ("any", secret))
        with wrong, pytest.raises(AuthenticationError, match="the token is not known here"):
            ask(wrong, ROOMS)
        with right:
            assert "24" in ask(right, ROOMS).content


def test_the_transcript_of_the_documentation_runs(server, capsys):
    code, printed = re.findall(r"^```(?:python|text)\n(.*?)^```$", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    exec(compile(code.replace("http://localhost:8000", server), str(PAGE), "exec"), {})
    shown = capsys.readouterr().out.replace(server, "http://localhost:8000")
    assert re.sub(r"/documents/\w+\S*", "/documents/…", shown) == printed
