"""Retrieval in a workspace: other embedding models, damaged files, the comparison with its pairs and its picture."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from pyoxigraph import NamedNode

from kgplatform.cli.main import main
from kgplatform.errors import ConfigError, ModelUnavailableError
from kgplatform.evaluation.airport.passages import Jargon, Style, first_hits, row_set
from kgplatform.evaluation.pairing import holm, pairs
from kgplatform.evaluation.retrieval import GoldPassages, compare_retrievers, score_hits
from kgplatform.graph import KnowledgeGraph
from kgplatform.retrieval.hybrid import HybridRetriever
from kgplatform.retrieval.index import ChunkIndex
from kgplatform.retrieval.routing import RouterRetriever
from kgplatform.testing import HashEmbedder
from kgplatform.types import Chunk, Evidence
from kgplatform.web.app import create_app

AIRPORT = Path(__file__).parents[1] / "examples" / "airport"


class _Embeddings(BaseHTTPRequestHandler):
    """An OpenAI-compatible server of embeddings; the model's name says of how many dimensions."""

    def log_message(self, *_: object) -> None:
        pass

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        vectors = HashEmbedder(int(body["model"].rpartition("-")[2])).embed(body["input"]).tolist()
        payload = json.dumps({"data": [{"embedding": vector} for vector in vectors]}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(payload)))
        self.end_headers()
        self.wfile.write(payload)


@pytest.fixture
def url() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Embeddings) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/v1"
        server.shutdown()


@pytest.fixture
def workspace(tmp_path: Path, url: str) -> Path:
    """A workspace whose embedding model is on a server."""
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "wuzhen.md").write_text("# Wuzhen\n\nThe West Zone opens at nine. A ticket costs 150 yuan.", "utf-8")
    (notes / "hotels.md").write_text("# Hotels\n\nThe Canal House suits families. It has 20 rooms.", "utf-8")
    (notes / "shaoxing.md").write_text("# 绍兴\n\n咸亨酒店的茴香豆和黄酒很有名。", "utf-8")
    KnowledgeGraph.create(tmp_path / "kg", ontology=["travel"]).close()
    use(tmp_path / "kg", url, "hash-64")
    with KnowledgeGraph.open(tmp_path / "kg") as kg:
        list(kg.add(notes))
    return tmp_path / "kg"


def use(folder: Path, url: str, model: str, more: str = "") -> None:
    file = folder / "kgplatform.toml"
    kept = file.read_text("utf-8").partition("\n[embedding]")[0]
    file.write_text(f'{kept}\n[embedding]\nname = "{model}"\nurl = "{url}"\n{more}', "utf-8")


def test_passages_are_found_with_a_model_behind_a_server(workspace: Path) -> None:
    with KnowledgeGraph.open(workspace) as kg:
        assert kg.search("rooms for families", retriever="dense")[0].title == "Hotels"
        assert kg.search("黄酒", retriever="multi-stage")[0].title == "绍兴"


def test_another_model_says_what_to_do_and_doing_it_helps(
    workspace: Path, url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    use(workspace, url, "hash-32")
    assert main(["search", "rooms for families", "-w", str(workspace)]) == 0
    shown = capsys.readouterr()
    assert "Hotels" in shown.out
    assert (
        "found by words only: the vectors were made by model 'hash-64' (64 dimensions), not by 'hash-32' (32)"
        in shown.err
    )
    assert "kgplatform build --only index" in shown.err
    assert main(["search", "rooms", "-w", str(workspace), "--retriever", "dense"]) != 0
    assert "kgplatform build --only index" in capsys.readouterr().err
    assert main(["build", "--only", "index", "-w", str(workspace)]) == 0
    assert main(["search", "rooms for families", "-w", str(workspace), "--retriever", "dense"]) == 0
    assert "words only" not in capsys.readouterr().err


def test_a_server_that_is_down_leaves_the_words_and_it_is_said(
    workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    use(workspace, "http://127.0.0.1:9/v1", "hash-64")
    away = "model 'hash-64' at http://127.0.0.1:9/v1 does not answer"
    assert main(["search", "rooms for families", "-w", str(workspace)]) == 0
    shown = capsys.readouterr()
    assert "Hotels" in shown.out
    assert f"found by words only: {away}" in shown.err
    assert "[embedding]" in shown.err
    assert main(["search", "rooms for families", "-w", str(workspace), "--retriever", "dense"]) != 0
    told = capsys.readouterr().err
    assert away in told
    assert told.count("\n") == 1
    with KnowledgeGraph.open(workspace) as kg:
        for name in ("pagerank", "planning", "multi-stage"):
            with pytest.raises(ModelUnavailableError, match="does not answer"):
                kg.search("rooms for families", retriever=name)
        assert kg.search("rooms for families", 1, retriever="hybrid-1-9")[0].title == "Hotels"
        hits, route = RouterRetriever(kg.sources).explain("rooms for families", 2)
        assert hits[0].text.startswith("# Hotels")
        assert route.retriever == "lexical"
        assert "cannot be asked" in route.reason
        assert kg.ask("When does the West Zone open?").text
        client = create_app(kg).test_client()
        for address in ("/search?q=rooms+for+families", "/retrieval?question=rooms+for+families"):
            shown_page = client.get(address).text
            assert "Hotels" in shown_page
            assert "found by words only" in shown_page
        assert away in client.get("/api/search?q=rooms").get_json()["words_only"]


def test_meaning_has_its_say_as_soon_as_the_server_is_there(tmp_path: Path) -> None:
    iri, text = NamedNode("urn:a"), "The Canal House suits families."
    sleeper = Sleeper()
    index = ChunkIndex(tmp_path / "chunks", sleeper)
    with pytest.raises(ModelUnavailableError, match="nobody listens"):
        index.add([(Chunk(iri, iri, 0, 0, len(text), text), "Hotels")])
    sleeper.awake = True
    index.add([(Chunk(iri, iri, 0, 0, len(text), text), "Hotels")])
    sleeper.awake = False
    for again in (index, ChunkIndex(tmp_path / "chunks", sleeper)):
        for awake in (False, True):
            sleeper.awake = awake
            assert [hit.iri for hit in HybridRetriever(again).retrieve("Canal House", 1)] == [iri]
            assert again.away == ("" if awake else "nobody listens")
        assert [found.iri for found in again.by_meaning("where families sleep", 1)] == [iri.value]
        sleeper.awake = False


class Sleeper:
    """An embedding model whose server is down until it is awake."""

    name = "hash-64"
    awake = False

    @property
    def dimensions(self) -> int:
        return self.embed(["."]).shape[1]

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if not self.awake:
            raise ModelUnavailableError("nobody listens", model=self.name)
        return HashEmbedder(64).embed(texts)


@pytest.mark.parametrize("side", ["lexical", "vectors"])
def test_damaged_index_files_are_made_anew_when_the_workspace_is_opened(workspace: Path, side: str) -> None:
    for file in (workspace / "chunks" / side).iterdir():
        file.write_bytes(b"not what it was")
    with KnowledgeGraph.open(workspace) as kg:
        assert kg.search("rooms for families", retriever="hybrid")[0].title == "Hotels"
        assert kg.search("茴香豆", retriever="lexical")[0].title == "绍兴"
        assert not kg.chunks.stale


def test_an_unknown_storage_in_the_settings_is_one_clear_line(workspace: Path, url: str) -> None:
    use(workspace, url, "hash-64", '\n[retrieval]\nstorage = "tiny"\n')
    with KnowledgeGraph.open(workspace) as kg, pytest.raises(ConfigError, match="one of auto, f32, f16, bf16, i8"):
        kg.search("rooms")


# the comparison


def evidence(title: str, quote: str) -> Evidence:
    iri = NamedNode(f"urn:{title}")
    return Evidence(iri, iri, title, f"{title}.md", quote, 0, len(quote))


@pytest.mark.parametrize("ending", ["svg", "png"])
def test_the_comparison_has_pairs_and_a_picture(
    workspace: Path, tmp_path: Path, ending: str, capsys: pytest.CaptureFixture[str]
) -> None:
    gold = tmp_path / "gold.jsonl"
    lines = (
        {"question": "When does the West Zone open?", "quotes": ["opens at nine"]},
        {"question": "Which hotel suits families?", "documents": ["hotels.md"]},
        {"question": "绍兴什么有名?", "documents": ["shaoxing.md"]},
    )
    gold.write_text("\n".join(json.dumps(line) for line in lines), "utf-8")
    plot = tmp_path / f"plot.{ending}"
    names = [part for name in ("lexical", "dense", "tfidf") for part in ("--retriever", name)]
    command = ["benchmark", "retrieval", str(gold), "-w", str(workspace), "-k", "1", *names]
    assert main([*command, "--pairs", "--plot", str(plot)]) == 0
    shown = capsys.readouterr().out
    assert "p (Holm)" in shown
    assert "context" in shown
    assert plot.read_bytes()[:4] in (b"\x89PNG", b"<?xm")
    assert main([*command, "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert sum(len(item["against"]) for item in found) == 3
    assert main([*command, "--plot", str(tmp_path / "plot.txt")]) != 0
    assert ".svg, .png, .pdf" in capsys.readouterr().err


def test_pairs_compare_every_two_and_allow_for_their_number() -> None:
    questions = [GoldPassages(str(n), str(n), (f"d{n}",), ()) for n in range(16)]

    def search(text: str, k: int, name: str) -> list[Evidence]:
        right = name == "good" or (name == "fair" and int(text) % 2)
        return [evidence(f"d{text}" if right else "other", "text")]

    compared = pairs(compare_retrievers(questions, ["bad", "good", "fair"], search, k=1))
    assert [(pair.first, pair.second) for pair in compared] == [("good", "fair"), ("good", "bad"), ("fair", "bad")]
    assert [pair.comparison.difference for pair in compared] == [-0.5, -1.0, -0.5]
    assert all(pair.comparison.p <= pair.p < 0.05 for pair in compared)
    assert holm([]) == []
    assert holm([0.9, 0.8]) == [1.0, 1.0]


def test_context_recall_counts_a_quote_that_lies_across_two_passages() -> None:
    gold = GoldPassages("1", "?", (), ("The zone opens at nine. Tickets cost 150 yuan.", "It is closed on Mondays."))
    hits = [evidence("a", "The zone opens at nine."), evidence("b", "Tickets cost 150 yuan. There is a ferry.")]
    scores = score_hits(gold, hits, 10)
    assert (scores.context_recall, scores.complete) == (0.5, 0.0)
    assert score_hits(GoldPassages("2", "?", ("a", "c"), ()), hits, 10).context_recall == 0.5


# the rows of the flight table


def test_rows_become_passages_with_one_question_each() -> None:
    made = row_set(AIRPORT / "flights.csv", AIRPORT / "airports.csv", rows=50)
    assert len(made.passages) == len(made.questions) == 50
    assert [gold.documents[0] for gold in made.questions] == [passage.id for passage in made.passages]
    assert made == row_set(AIRPORT / "flights.csv", AIRPORT / "airports.csv", rows=50)
    assert all(
        passage.id.split("-")[1] in gold.text for passage, gold in zip(made.passages, made.questions, strict=True)
    )


def test_jargon_says_a_question_in_the_terms_of_the_table() -> None:
    said = Jargon.of(AIRPORT / "airlines.csv", AIRPORT / "airports.csv", year=2025)
    assert said("What was the stand for KLM 1228 from Paris on Wednesday 12 March?") == (
        "What was the ramp for KL1228 arrival from CDG on Wednesday 2025-03-12?"
    )
    assert said("status for SPEEDBIRD 0432 to London").startswith("flight state for BA432 departure to LHR")
    assert said("AC0833 on February 30") == "AC833 on February 30"
    assert said("哪个机位?") == "哪个机位?"


def test_jargon_restates_every_spoken_question_by_flight_and_day() -> None:
    said = Jargon.of(AIRPORT / "airlines.csv", AIRPORT / "airports.csv", year=2025)
    made = row_set(AIRPORT / "flights.csv", AIRPORT / "airports.csv", rows=400, style=Style.SPOKEN)
    for gold in made.questions:
        day, flight, _ = gold.id.split("-")
        text = said(gold.text)
        assert f"{day[:4]}-{day[4:6]}-{day[6:]}" in text
        assert f" {flight} " in text


def test_first_hits_are_counted() -> None:
    assert first_hits([("a", ["a", "b"]), ("b", ["a", "b"]), ("c", [])]) == (1 / 3, 2 / 3)
    assert first_hits([]) == (0.0, 0.0)
