"""Retrieval in a workspace: other embedding models, damaged files, the comparison with its pairs and its picture."""

from __future__ import annotations

import json
import shutil
from functools import partial

import pytest
from local_server import local_server
from pyoxigraph import NamedNode

from kgplatform.cli.main import main
from kgplatform.errors import ConfigError, ModelUnavailableError
from kgplatform.evaluation.retrievers import GoldPassages, compare_retrievers, holm, pairs, score_hits
from kgplatform.graph import KnowledgeGraph
from kgplatform.models.embed import OpenAIEmbedder
from kgplatform.models.stubs import HashEmbedder
from kgplatform.retrieval.fusion import HybridRetriever, RouterRetriever
from kgplatform.retrieval.index import ChunkIndex
from kgplatform.retrieval.methods import RETRIEVERS
from kgplatform.server.app import create_app
from kgplatform.types import Chunk, Evidence
from kgplatform.workspace import search

NOTES = {
    "wuzhen.md": "# Wuzhen\n\nThe West Zone opens at nine. A ticket costs 150 yuan.",
    "hotels.md": "# Hotels\n\nThe Canal House suits families. It has 20 rooms.",
    "shaoxing.md": "# 绍兴\n\n咸亨酒店的茴香豆和黄酒很有名。",
}
GOLD = (
    {"question": "When does the West Zone open?", "quotes": ["opens at nine"]},
    {"question": "Which hotel suits families?", "documents": ["hotels.md"]},
    {"question": "绍兴什么有名?", "documents": ["shaoxing.md"]},
    {"question": "What?", "documents": "hotels.md"},
)


@pytest.fixture(scope="module")
def url():
    """An OpenAI-compatible server of embeddings; the model's name says of how many dimensions."""

    def reply(_, body):
        vectors = HashEmbedder(int(body["model"].rpartition("-")[2])).embed(body["input"]).tolist()
        return {"data": [{"embedding": vector} for vector in vectors]}

    with local_server(reply) as address:
        yield f"{address}/v1"


@pytest.fixture(scope="module")
def made(tmp_path_factory, url):
    folder = tmp_path_factory.mktemp("retrieval")
    (folder / "notes").mkdir()
    for name, text in NOTES.items():
        (folder / "notes" / name).write_text(text, "utf-8")
    KnowledgeGraph.create(folder / "kg", ontology=["travel"]).close()
    use(folder / "kg", url, "hash-64")
    with KnowledgeGraph.open(folder / "kg") as kg:
        list(kg.add(folder / "notes"))
    return folder / "kg"


@pytest.fixture
def workspace(made, tmp_path):
    """A workspace whose embedding model is on a server."""
    return shutil.copytree(made, tmp_path / "kg")


def use(folder, url, model, more=""):
    file = folder / "kgplatform.toml"
    kept = file.read_text("utf-8").partition("\n[embedding]")[0]
    file.write_text(f'{kept}\n[embedding]\nname = "{model}"\nurl = "{url}"\n{more}', "utf-8")


def test_passages_are_found_with_a_model_behind_a_server(workspace):
    with KnowledgeGraph.open(workspace) as kg:
        assert kg.search("rooms for families", retriever="dense")[0].title == "Hotels"
        assert kg.search("黄酒", retriever="multi-stage")[0].title == "绍兴"


def test_the_settings_say_how_passages_are_found_and_a_removed_way_is_answered_in_one_line(workspace, capsys):
    file = workspace / "kgplatform.toml"
    before = file.read_text("utf-8")
    search_it = ["search", "rooms for families", "-w", str(workspace)]
    file.write_text(f'{before}\n[retrieval]\nretriever = "communities"\n', "utf-8")
    assert main(["search", "客房", "-w", str(workspace)]) in (0, 1)
    assert "还没有社群" in capsys.readouterr().err
    file.write_text(f'{before}\n[retrieval]\nretriever = "hybrid-9-1"\n', "utf-8")
    assert main(search_it) == 2
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert all(part in told for part in ("'hybrid-9-1'", "'hybrid' instead", "retrieval.retriever"))
    with KnowledgeGraph.open(workspace) as kg:
        client = create_app(kg).test_client()
        assert client.get("/api/search?q=rooms").status_code == 400
        assert client.get("/api/search?q=rooms&retriever=lexical&per_document=0").get_json()["passages"]
    file.write_text(f"{before}\n[retrieval]\nper_document = -1\n", "utf-8")
    assert main(search_it) == 2
    assert "retrieval.per_document must be at least 0" in capsys.readouterr().err


def test_another_model_says_what_to_do_and_doing_it_helps(workspace, url, capsys):
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


def test_a_server_that_is_down_leaves_the_words_and_it_is_said(workspace, capsys, monkeypatch):
    monkeypatch.setattr(search, "OpenAIEmbedder", partial(OpenAIEmbedder, sleep=lambda _: None))
    use(workspace, "http://127.0.0.1:9/v1", "hash-64")
    away = "model 'hash-64' at http://127.0.0.1:9/v1 does not answer"
    assert main(["search", "rooms for families", "-w", str(workspace)]) == 0
    shown = capsys.readouterr()
    assert "Hotels" in shown.out
    assert all(part in shown.err for part in (f"found by words only: {away}", "[embedding]"))
    assert main(["search", "rooms for families", "-w", str(workspace), "--retriever", "dense"]) != 0
    told = capsys.readouterr().err
    assert away in told
    assert told.count("\n") == 1
    with KnowledgeGraph.open(workspace) as kg:
        for name in ("pagerank", "planning", "multi-stage"):
            with pytest.raises(ModelUnavailableError, match="does not answer"):
                kg.search("rooms for families", retriever=name)
        assert kg.search("rooms for families", 1, retriever="pagerank-shared")[0].title == "Hotels"
        hits, route = RouterRetriever(kg.sources).explain("rooms for families", 2)
        assert hits[0].text.startswith("# Hotels")
        assert route.retriever == "lexical"
        assert "cannot be asked" in route.reason
        assert kg.ask("When does the West Zone open?").text
        client = create_app(kg).test_client()
        for address in ("/search?q=rooms+for+families", "/retrieval?question=rooms+for+families"):
            shown_page = client.get(address).text
            assert all(part in shown_page for part in ("Hotels", "searched by words only"))
        assert away in client.get("/api/search?q=rooms").get_json()["words_only"]


def test_meaning_has_its_say_as_soon_as_the_server_is_there(tmp_path):
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
    def dimensions(self):
        return self.embed(["."]).shape[1]

    def embed(self, texts):
        if not self.awake:
            raise ModelUnavailableError("nobody listens", model=self.name)
        return HashEmbedder(64).embed(texts)


@pytest.mark.parametrize("side", ["lexical", "vectors"])
def test_damaged_index_files_are_made_anew_when_the_workspace_is_opened(workspace, side):
    for file in (workspace / "chunks" / side).iterdir():
        file.write_bytes(b"not what it was")
    with KnowledgeGraph.open(workspace) as kg:
        assert kg.search("rooms for families", retriever="hybrid")[0].title == "Hotels"
        assert kg.search("茴香豆", retriever="lexical")[0].title == "绍兴"
        assert not kg.chunks.stale


def test_an_unknown_storage_in_the_settings_is_one_clear_line(workspace, url):
    use(workspace, url, "hash-64", '\n[retrieval]\nstorage = "tiny"\n')
    with KnowledgeGraph.open(workspace) as kg, pytest.raises(ConfigError, match="one of auto, f32, f16, bf16, i8"):
        kg.search("rooms")


def evidence(title, quote):
    iri = NamedNode(f"urn:{title}")
    return Evidence(iri, iri, title, f"{title}.md", quote, 0, len(quote))


@pytest.fixture
def command(made, tmp_path):
    (tmp_path / "gold.jsonl").write_text("\n".join(json.dumps(line) for line in GOLD), "utf-8")
    return ["benchmark", "retrieval", str(tmp_path / "gold.jsonl"), "-w", str(made), "-k", "1"]


def test_the_comparison_has_pairs_and_a_picture(command, tmp_path, capsys):
    command += [part for name in ("lexical", "dense", "hybrid") for part in ("--retriever", name)]
    assert main([*command, "--pairs", "--plot", str(tmp_path / "plot.svg")]) == 0
    shown = capsys.readouterr().out
    assert all(part in shown for part in ("p (Holm)", "context", "recall@1"))
    assert (tmp_path / "plot.svg").read_bytes()[:4] == b"<?xm"
    assert main([*command, "--format", "json"]) == 0
    printed = capsys.readouterr()
    found = {item["retriever"]: item for item in json.loads(printed.out)}
    assert sum(len(item["against"]) for item in found.values()) == 3
    assert found["lexical"]["recall"]["value"] == 1
    assert "line 4: documents is not a list of texts" in printed.err
    assert main([*command, "--plot", str(tmp_path / "plot.txt")]) != 0
    assert ".svg, .png, .pdf" in capsys.readouterr().err
    assert main([*command, "--retriever", "nope"]) != 0


@pytest.mark.slow
def test_every_retriever_is_compared_where_none_is_named(command, capsys):
    assert main([*command, "--format", "json"]) == 0
    assert {item["retriever"] for item in json.loads(capsys.readouterr().out)} == set(RETRIEVERS)


def test_pairs_compare_every_two_and_allow_for_their_number():
    questions = [GoldPassages(str(n), str(n), (f"d{n}",), ()) for n in range(16)]

    def search(text, k, name):
        right = name == "good" or (name == "fair" and int(text) % 2)
        return [evidence(f"d{text}" if right else "other", "text")]

    compared = pairs(compare_retrievers(questions, ["bad", "good", "fair"], search, k=1))
    assert [(pair.first, pair.second) for pair in compared] == [("good", "fair"), ("good", "bad"), ("fair", "bad")]
    assert [pair.comparison.difference for pair in compared] == [-0.5, -1.0, -0.5]
    assert all(pair.comparison.p <= pair.p < 0.05 for pair in compared)
    assert holm([]) == []
    assert holm([0.9, 0.8]) == [1.0, 1.0]


def test_context_recall_counts_a_quote_that_lies_across_two_passages():
    gold = GoldPassages("1", "?", (), ("The zone opens at nine. Tickets cost 150 yuan.", "It is closed on Mondays."))
    hits = [evidence("a", "The zone opens at nine."), evidence("b", "Tickets cost 150 yuan. There is a ferry.")]
    scores = score_hits(gold, hits, 10)
    assert (scores.context_recall, scores.complete) == (0.5, 0.0)
    assert score_hits(GoldPassages("2", "?", ("a", "c"), ()), hits, 10).context_recall == 0.5
