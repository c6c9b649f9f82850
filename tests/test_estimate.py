"""The estimate before documents are added, and the tokens that are counted when they are."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

import pytest

from kgplatform.cli.main import main
from kgplatform.graph import KnowledgeGraph

NOTE = "Wuzhen lies in Tongxiang. Entry costs 150 yuan.\n\nIt suits families and photographers.\n"
REPLY = {
    "mentions": [
        {"text": "Wuzhen", "class": "WaterTown", "name": "Wuzhen", "aliases": []},
        {"text": "Tongxiang", "class": "City", "name": "Tongxiang", "aliases": []},
    ],
    "statements": [
        {
            "subject": "Wuzhen",
            "property": "locatedIn",
            "object": "Tongxiang",
            "quote": "Wuzhen lies in Tongxiang",
            "confidence": 0.9,
        }
    ],
    "keywords": ["water town"],
}


class Answering(BaseHTTPRequestHandler):
    """A model server that always says the same and counts its requests."""

    asked = 0
    prompts: ClassVar[list[str]] = []

    def do_POST(self) -> None:
        type(self).asked += 1
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        type(self).prompts.append(body["messages"][0]["content"])
        message = {"role": "assistant", "content": json.dumps(REPLY)}
        answer = {
            "choices": [{"message": message, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 1000, "completion_tokens": 100},
        }
        data = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *args: object) -> None:
        """Stays silent."""


@pytest.fixture
def server() -> Iterator[str]:
    Answering.asked = 0
    Answering.prompts.clear()
    with ThreadingHTTPServer(("127.0.0.1", 0), Answering) as http:
        thread = threading.Thread(target=http.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{http.server_port}/v1"
        http.shutdown()
        thread.join()


@pytest.fixture
def note(tmp_path: Path) -> Path:
    path = tmp_path / "notes" / "wuzhen.txt"
    path.parent.mkdir()
    path.write_text(NOTE, encoding="utf-8")
    (path.parent / "hotels.csv").write_text("name,city\nInn,Wuzhen\n", encoding="utf-8")
    return path


def workspace(folder: Path, server: str = "", extra: str = "") -> Path:
    KnowledgeGraph.create(folder, ontology=["travel"]).close()
    if server:
        settings = folder / "kgplatform.toml"
        text = settings.read_text(encoding="utf-8")
        settings.write_text(f'{text}\n[model]\nname = "m"\nurl = "{server}"\n{extra}', encoding="utf-8")
    return folder


def run(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> tuple[int, str]:
    status = main([str(argument) for argument in arguments])
    return status, capsys.readouterr().out


def test_an_estimate_asks_nothing_and_adds_nothing(
    tmp_path: Path, server: str, note: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = workspace(tmp_path / "w", server)
    status, out = run(capsys, "add", note.parent, "-w", folder, "--estimate", "--format", "json")
    found = json.loads(out)
    assert (status, Answering.asked) == (0, 0)
    assert [document["source"] for document in found["documents"]] == [note.as_posix()]
    assert (found["calls"], found["tables"]) == (2, 1)
    assert found["prompt_tokens"] > 2 * 2000
    assert 0 < found["completion_tokens"] < found["prompt_tokens"]
    with KnowledgeGraph.open(folder) as kg:
        assert kg.documents() == []


def test_an_estimate_follows_the_settings(tmp_path: Path, server: str, note: Path) -> None:
    with KnowledgeGraph.open(workspace(tmp_path / "w", server, "[extraction]\ngleaning = 0\n")) as kg:
        once = kg.estimate(note).usage
    with KnowledgeGraph.open(workspace(tmp_path / "v", server, "[extraction]\ngleaning = 2\n")) as kg:
        often = kg.estimate(note).usage
    assert (once.calls, often.calls) == (1, 3)
    assert often.prompt_tokens > 3 * once.prompt_tokens


def test_without_a_model_the_estimate_says_so(tmp_path: Path, note: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out = run(capsys, "add", note, "-w", workspace(tmp_path / "w"), "--estimate")
    assert status == 0
    assert "1 documents, 1 chunks" in out
    assert "no model is set" in out


def test_the_tokens_of_a_document_are_counted_and_kept(
    tmp_path: Path, server: str, note: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = workspace(tmp_path / "w", server)
    status, out = run(capsys, "add", note, "-w", folder, "--no-build")
    assert status == 0
    assert "2 calls, 2,000 + 200 tokens" in out
    assert Answering.asked == 2
    _, out = run(capsys, "documents", "show", "wuzhen.txt", "-w", folder)
    assert "2 calls, 2,000 + 200 tokens" in out
    _, out = run(capsys, "documents", "show", "wuzhen.txt", "-w", folder, "--format", "json")
    assert json.loads(out)["usage"] == {"calls": 2, "prompt_tokens": 2000, "completion_tokens": 200}
    _, out = run(capsys, "add", note, "-w", folder, "--estimate", "--format", "json")
    assert json.loads(out)["unchanged"] == 1


def test_a_senseless_setting_stops_with_its_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = workspace(tmp_path / "w", "http://127.0.0.1:9/v1", "[extraction]\ngleaning = -1\n")
    assert main(["documents", "-w", str(folder)]) == 2
    assert "extraction.gleaning must be at least 0" in capsys.readouterr().err


def test_the_examples_of_a_workspace_are_shown_to_the_model(tmp_path: Path, server: str, note: Path) -> None:
    folder = workspace(tmp_path / "w", server)
    example = {"text": "Xitang lies in Jiashan.", "triples": [["Xitang", "locatedIn", "Jiashan"]]}
    (folder / "examples.jsonl").write_text(json.dumps(example), encoding="utf-8")
    with KnowledgeGraph.open(folder) as kg:
        (added,) = kg.add(note, build=False)
    assert added.usage.calls == 2
    assert "Text: Xitang lies in Jiashan.\n- Xitang | locatedIn | Jiashan" in Answering.prompts[0]


def test_examples_that_are_named_and_not_there_stop_with_the_file(
    tmp_path: Path, note: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = workspace(tmp_path / "w", "http://127.0.0.1:9/v1", '[extraction]\nexamples = "gold.jsonl"\n')
    assert main(["add", str(note), "-w", str(folder), "--no-build"]) == 2
    assert f"there is no file {folder / 'gold.jsonl'}" in capsys.readouterr().err
    assert main(["documents", "-w", str(folder)]) == 0
