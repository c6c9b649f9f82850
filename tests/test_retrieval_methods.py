"""The retrievers that weigh terms, learn spaces, fuse scores and go in stages; how they keep up with the passages."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from pyoxigraph import NamedNode

from kgplatform.errors import ConfigError, ModelUnavailableError, WorkspaceError
from kgplatform.models.reranking import CrossEncoderReranker, LateInteraction
from kgplatform.retrieval import retriever, termspace
from kgplatform.retrieval.hybrid import added
from kgplatform.retrieval.index import ChunkIndex, IndexOptions, Synced
from kgplatform.retrieval.latent_retrieval import marginal_relevance
from kgplatform.retrieval.multistage import MultiStageRetriever, Stages, WebPage, search_pages
from kgplatform.retrieval.sources import Sources
from kgplatform.retrieval.termspace import best, terms
from kgplatform.testing import HashEmbedder
from kgplatform.types import Chunk, Hit

TEXTS = {
    "ticket": ("Wuzhen", "A ticket for the West Scenic Zone costs 150 yuan. The zone stays open until 22:00."),
    "museum": ("Wuzhen", "The Hundred Beds Museum shows beds of six dynasties; the museum opens at 7:00."),
    "hotel": ("Sleep", "The resort has 345 rooms inside the gates and suits families with small children."),
    "inn": ("Sleep", "The inn by the canal has nine rooms for families and a boat for children."),
    "noodles": ("Eating", "Lamb noodles at the noodle house fed all four of us for 60 yuan."),
    "zh-ticket": ("乌镇攻略", "西栅门票150元,东栅门票110元,开放时间是9:00到22:00。"),
    "zh-hotel": ("住宿", "枕水度假酒店在西栅景区里面,适合一家人住。"),
}
TERM_METHODS = ("tfidf", "lsi", "word-vectors")


def chunk(name: str, title: str, text: str) -> tuple[Chunk, str]:
    return Chunk(NamedNode(f"urn:{name}"), NamedNode("urn:document"), 0, 0, len(text), text), title


def chunks(*names: str) -> list[tuple[Chunk, str]]:
    return [chunk(name, *TEXTS[name]) for name in names or TEXTS]


def sources(folder: Path | None = None, *names: str) -> Sources:
    index = ChunkIndex(folder / "chunks" if folder else None, HashEmbedder(256))
    index.sync(chunks(*names))
    return Sources(index, folder=folder / "graphs" if folder else None)


def found(made: Sources, name: str, question: str, k: int = 3) -> list[str]:
    return [hit.iri.value.removeprefix("urn:") for hit in retriever(name, made).retrieve(question, k)]


@pytest.mark.parametrize("name", ["tfidf", "lsi", "hybrid-9-1", "hybrid-5-5", "hybrid-1-9", "multi-stage"])
@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("noodle houses", "noodles"),
        ("beds of dynasties", "museum"),
        ("东栅门票", "zh-ticket"),
        ("西栅的酒店", "zh-hotel"),
    ],
)
def test_a_method_finds_the_passage_in_both_languages(name: str, question: str, expected: str) -> None:
    assert found(sources(), name, question)[0] == expected


def test_the_cosine_of_tfidf_is_that_of_scikit_learn() -> None:
    from sklearn.feature_extraction.text import TfidfVectorizer

    texts = {name: f"{title}\n{text}" for name, (title, text) in TEXTS.items()}
    peer = TfidfVectorizer(analyzer=terms)
    matrix = peer.fit_transform(texts.values())
    question = "a ticket to the museum for families 门票"
    expected = dict(zip(texts, (matrix @ peer.transform([question]).T).toarray().ravel(), strict=True))
    hits = retriever("tfidf", sources()).retrieve(question, 10)
    assert {hit.iri.value.removeprefix("urn:"): pytest.approx(hit.score, abs=1e-5) for hit in hits} == {
        name: value for name, value in expected.items() if value > 0
    }


def test_the_euclidean_distance_is_that_of_the_vectors_at_full_length() -> None:
    made = sources()
    space = made.term_space()
    weighted = space.matrix().toarray() * space.idfs()
    weights = space.weights("families with children")
    asked = np.zeros(len(space.vocabulary))
    asked[list(weights)] = list(weights.values())
    expected = 1 / (1 + np.linalg.norm(weighted - asked, axis=1))
    hits = retriever("tfidf-euclidean", made).retrieve("families with children", 10)
    assert [hit.score for hit in hits] == pytest.approx(sorted(expected, reverse=True), abs=1e-4)


def test_words_that_stand_alike_are_alike() -> None:
    made = ChunkIndex(None, None)
    beds = [
        f"the {animal} ate the {food} in the garden {n}"
        for n in range(8)
        for animal in ("cat", "dog")
        for food in ("fish", "meat")
    ]
    ships = [
        f"a {ship} sailed over the {water} to port {n}"
        for n in range(8)
        for ship in ("boat", "ship")
        for water in ("sea", "lake")
    ]
    made.sync([chunk(f"{n}", "", text) for n, text in enumerate((*beds, *ships))])
    space = Sources(made).word_space()
    cat, dog, ship = (space.vector(word) for word in ("cat", "dog", "ship"))
    assert cat is not None
    assert dog is not None
    assert ship is not None
    assert float(cat @ dog) > float(cat @ ship) + 0.2
    assert space.vector("zebra") is None


def test_marginal_relevance_puts_what_repeats_behind() -> None:
    vectors = np.array([[1, 0], [0.999, 0.045], [0.6, 0.8]], dtype=np.float32)
    question = np.array([0.95, 0.312], dtype=np.float32)
    chosen = marginal_relevance(vectors @ question, vectors, 3)
    assert [place for place, _ in chosen] == [1, 2, 0]
    assert [value for _, value in chosen] == sorted((value for _, value in chosen), reverse=True)


@pytest.mark.parametrize("name", TERM_METHODS)
def test_what_was_learnt_is_read_again_and_follows_the_passages(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = sources(tmp_path)
    before = found(made, name, "rooms for families")
    assert before
    cut: list[str] = []

    def counting(text: str) -> list[str]:
        cut.append(text)
        return terms(text)

    monkeypatch.setattr(termspace, "terms", counting)
    again = Sources(ChunkIndex(tmp_path / "chunks", HashEmbedder(256)), folder=tmp_path / "graphs")
    assert found(again, name, "rooms for families") == before
    assert cut == ["rooms for families"]
    again.index.add([chunk("hostel", "Sleep", "The hostel has forty rooms for families, and a kitchen.")])
    again.index.remove(["urn:hotel"])
    assert "hotel" not in found(again, name, "rooms for families", 10)
    if name == "tfidf":
        assert "hostel" in found(again, name, "rooms for families")
        assert [text for text in cut if "hostel" in text] == [cut[1]]
        assert len([text for text in cut if "\n" in text]) == 1


@pytest.mark.parametrize("name", TERM_METHODS)
@pytest.mark.parametrize("damage", [b"", b"\x00garbled"])
def test_damaged_files_are_made_anew(name: str, damage: bytes, tmp_path: Path) -> None:
    before = found(sources(tmp_path), name, "lamb noodles")
    for file in (tmp_path / "graphs").rglob("*.*"):
        if file.is_file():
            file.write_bytes(damage)
    again = Sources(ChunkIndex(tmp_path / "chunks", HashEmbedder(256)), folder=tmp_path / "graphs")
    assert found(again, name, "lamb noodles") == before


def test_best_takes_the_largest_in_a_stable_order() -> None:
    assert best(np.array([1.0, 3.0, 3.0, 2.0]), 3) == [1, 2, 3]
    assert best(np.array([1.0]), 10**6) == [0]
    assert best(np.zeros(0), 3) == best(np.ones(3), 0) == []


def test_scores_are_weighed_between_the_first_and_the_last_of_a_ranking() -> None:
    def ranking(**scores: float) -> list[Hit]:
        return [Hit(NamedNode(f"urn:{n}"), n, score, rank, "x") for rank, (n, score) in enumerate(scores.items(), 1)]

    hits = added([(0.9, ranking(a=8.0, b=6.0, c=4.0)), (0.1, ranking(c=0.9, b=0.8, d=0.1))], 3, "both")
    assert [(hit.text, round(hit.score, 4)) for hit in hits] == [("a", 0.9), ("b", 0.5375), ("c", 0.1)]


# stages


class Shouting:
    """A judge that likes long passages, and keeps what it was shown."""

    name = "shouting"

    def __init__(self) -> None:
        self.shown: list[str] = []

    def rate(self, question: str, passages: Sequence[str]) -> np.ndarray:
        self.shown += passages
        return np.array([len(passage) for passage in passages], dtype=np.float32)


def test_the_stages_let_fewer_through_and_the_judge_reads_the_title_with_the_passage() -> None:
    made, judge = sources(), Shouting()
    made.reranker = judge
    finder = MultiStageRetriever(made, Stages(sparse=4, by_words=1, by_meaning=2))
    hits, trace = finder.traced("families with children in rooms by the canal for 150 yuan", 4)
    assert [stage.name for stage in trace] == ["words", "best by words", "by meaning", "judged"]
    assert [len(stage.passages) for stage in trace[:3]] == [4, 1, 2]
    assert 2 <= len(judge.shown) <= 3
    assert all(text.partition("\n")[0] in {"Wuzhen", "Sleep", "Eating"} for text in judge.shown)
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    assert len(hits) == 4


def test_pages_are_cut_and_their_snippets_count() -> None:
    long = "\n\n".join(f"Paragraph {n} is about the water towns of the delta and their bridges." for n in range(120))
    pages = [
        WebPage(
            "https://example.org/a", "Water towns", f"{long}\n\nThe night ferry leaves at 21:40.", "Ferries and bridges"
        ),
        WebPage("https://example.org/b", "乌镇", "西栅门票150元。", "门票与开放时间"),
    ]
    first = search_pages("When does the night ferry leave?", pages, 3, embedder=HashEmbedder(256))[0]
    assert "21:40" in first.text
    assert len(first.text) < len(long) / 2
    assert first.iri.value.startswith("https://example.org/a#char=")
    assert search_pages("门票", pages, 3)[0].iri.value.startswith("https://example.org/b#")
    assert search_pages("anything", [], 3) == []
    assert search_pages("ferry", pages, 0) == []


def test_late_interaction_prefers_the_passage_that_has_each_word() -> None:
    judge = LateInteraction(HashEmbedder(256))
    ratings = judge.rate("boat for children", ["a boat for small children", "a house of noodles", ""])
    assert ratings[0] > ratings[1] >= ratings[2] == 0.0
    assert judge.rate("", ["a"]).tolist() == [0.0]


def test_a_reranker_that_is_not_there_is_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailableError, match="re-ranker 'no/such-model' is not on this machine"):
        CrossEncoderReranker("no/such-model").rate("q", ["a"])
    with pytest.raises(ModelUnavailableError, match="does not hold a usable model"):
        CrossEncoderReranker(str(tmp_path)).rate("q", ["a"])
    assert len(CrossEncoderReranker("no/such-model").rate("q", [])) == 0


@pytest.mark.embedding
def test_the_default_models_tokens_judge_and_a_cross_encoder_of_a_folder_is_used(tmp_path: Path) -> None:
    from transformers import AutoTokenizer, BertConfig, BertForSequenceClassification

    from kgplatform.models.embedding import SentenceTransformersEmbedder, carried_path

    judge = LateInteraction(SentenceTransformersEmbedder())
    ratings = judge.rate("how much is admission?", ["Tickets cost 150 yuan.", "The boat has nine seats."])
    assert ratings[0] > ratings[1]
    size = BertConfig(hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32, num_labels=1)
    BertForSequenceClassification(size).save_pretrained(tmp_path)
    AutoTokenizer.from_pretrained(carried_path()).save_pretrained(tmp_path)
    assert CrossEncoderReranker(str(tmp_path)).rate("q", ["one", "two words", "three"]).shape == (3,)


# what the index does when things change


def test_passages_can_be_added_and_removed_one_by_one(tmp_path: Path) -> None:
    index = ChunkIndex(tmp_path, HashEmbedder(256))
    assert index.add(chunks("ticket", "hotel")) == Synced(2, 0)
    assert index.add(chunks("ticket")) == Synced(0, 0)
    assert index.add([chunk("ticket", "Wuzhen", "It is free now.")]) == Synced(0, 0)
    assert (index.remove(["urn:hotel", "urn:nowhere"]), len(index), index.stale) == (1, 1, False)
    again = ChunkIndex(tmp_path, HashEmbedder(256))
    assert [passage.text for passage in again.passages()] == ["It is free now."]
    assert found(Sources(again), "dense", "It is free now") == ["ticket"]
    assert again.sync(chunks("ticket")) == Synced(0, 0)
    assert again.texts(["urn:ticket"]) == {"urn:ticket": TEXTS["ticket"][1]}


def test_the_state_changes_with_the_passages_and_comes_back_with_them() -> None:
    index = sources().index
    before = index.state
    index.add([chunk("new", "", "New.")])
    assert index.state != before
    index.remove(["urn:new"])
    assert index.state == before


def test_vectors_of_another_model_are_not_used_and_the_way_out_is_said(tmp_path: Path) -> None:
    ChunkIndex(tmp_path, HashEmbedder(256)).sync(chunks())
    again = ChunkIndex(tmp_path, HashEmbedder(64))
    made = Sources(again)
    for act in (lambda: retriever("dense", made).retrieve("rooms", 3), lambda: again.add(chunks("inn"))):
        with pytest.raises(WorkspaceError, match=r"256 dimensions.*\(64\); `kgplatform build --only index`"):
            act()
    assert found(made, "hybrid", "lamb noodles") == found(made, "lexical", "lamb noodles")
    assert found(made, "hybrid-1-9", "lamb noodles")[0] == "noodles"
    again.sync(chunks())
    assert (again.misfit, found(made, "dense", TEXTS["hotel"][1])[0]) == ("", "hotel")


def test_a_reader_sees_what_another_process_has_saved_after_reloading(tmp_path: Path) -> None:
    reader, writer = (ChunkIndex(tmp_path, HashEmbedder(256)) for _ in range(2))
    writer.sync(chunks())
    reader.reload()
    assert len(reader) == len(TEXTS)
    assert found(Sources(reader), "dense", TEXTS["inn"][1])[0] == "inn"


def test_an_unknown_storage_is_one_clear_line() -> None:
    with pytest.raises(ConfigError, match=r"retrieval\.storage is 'i4'; it must be one of auto, f32"):
        IndexOptions(storage="i4")
    with pytest.raises(ConfigError, match=r"retrieval\.search is 'fast'"):
        IndexOptions(search="fast")


def test_a_date_is_found_however_the_cell_goes_on() -> None:
    index = ChunkIndex(None, None)
    days = [chunk(f"d{day}", "", f"KL1228 on blocks 2025-03-{day}T07:25:00") for day in (10, 11, 12)]
    index.sync(days)
    assert found(Sources(index), "lexical", "KL1228 on 2025-03-11")[0] == "d11"
