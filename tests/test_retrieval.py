"""Retrieval: what each method finds, in both languages, and what the index does when things go wrong."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from pyoxigraph import NamedNode

from kgplatform.errors import ConfigError, ModelUnavailableError, WorkspaceError
from kgplatform.retrieval import RETRIEVERS, retriever
from kgplatform.retrieval.hybrid import fused
from kgplatform.retrieval.index import ChunkIndex, Synced
from kgplatform.retrieval.sources import Sources
from kgplatform.testing import HashEmbedder
from kgplatform.types import Chunk, Hit

PASSAGES = {
    "xizha": ("Wuzhen in two days", "A ticket for the West Scenic Zone costs 150 yuan. It stays open until 22:00."),
    "dongzha": ("Wuzhen in two days", "The Hundred Beds Museum is in Dongzha; the zone opens at 7:00."),
    "hotel": ("Where to sleep", "The resort has 345 rooms inside the gates and suits families with small children."),
    "noodles": ("Eating out", "Lamb noodles at the noodle house fed all four of us."),
    "zh-ticket": ("乌镇攻略", "西栅门票150元,东栅门票110元,开放时间是9:00到22:00。"),
    "zh-hotel": ("住宿", "枕水度假酒店在西栅景区里面,适合一家人住。"),
    "zh-food": ("吃在绍兴", "咸亨酒店的茴香豆和黄酒很有名。"),
}


def chunks(*names: str) -> list[tuple[Chunk, str]]:
    return [
        (Chunk(NamedNode(f"urn:{name}"), NamedNode("urn:document"), number, 0, len(text), text), title)
        for number, name in enumerate(names or PASSAGES)
        for title, text in [PASSAGES[name]]
    ]


def built(folder: Path | None = None, embedder: HashEmbedder | None = None) -> ChunkIndex:
    index = ChunkIndex(folder, embedder or HashEmbedder(256))
    index.sync(chunks())
    return index


def first(index: ChunkIndex, name: str, question: str) -> str:
    return retriever(name, Sources(index)).retrieve(question, 1)[0].iri.value.removeprefix("urn:")


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Which hotels have rooms for a family?", "hotel"),
        ("What is the price of a ticket to the west scenic zone?", "xizha"),
        ("noodle houses", "noodles"),
        ("DONGZHA museums", "dongzha"),
        ("西栅的门票多少钱?", "zh-ticket"),
        ("哪些酒店适合一家人", "zh-hotel"),
        ("绍兴有什么好吃的", "zh-food"),
        ("枕水度假 hotel", "zh-hotel"),
    ],
)
@pytest.mark.parametrize("name", ["lexical", "hybrid"])
def test_words_find_the_passage_in_both_languages(name: str, question: str, expected: str) -> None:
    assert first(built(), name, question) == expected


def test_dense_finds_what_is_spelt_alike() -> None:
    assert first(built(), "dense", "noodel hous lamb") == "noodles"


@pytest.mark.parametrize("name", list(RETRIEVERS))
def test_hits_are_ranked_from_one_with_falling_scores_and_their_text(name: str) -> None:
    found = retriever(name, Sources(built())).retrieve("family rooms and a ticket for the zone", 4)
    assert [hit.rank for hit in found] == list(range(1, len(found) + 1))
    assert [hit.score for hit in found] == sorted((hit.score for hit in found), reverse=True)
    assert all(hit.text == PASSAGES[hit.iri.value.removeprefix("urn:")][1] and hit.retriever == name for hit in found)


@pytest.mark.parametrize("name", list(RETRIEVERS))
@pytest.mark.parametrize("k", [0, -1, 10**6])
def test_any_k_is_fine_on_a_full_and_on_an_empty_index(name: str, k: int) -> None:
    assert len(retriever(name, Sources(built())).retrieve("tickets for Xizha 西栅", k)) <= max(0, min(k, len(PASSAGES)))
    assert retriever(name, Sources(ChunkIndex(None, HashEmbedder()))).retrieve("tickets", k) == []


@pytest.mark.parametrize("question", ["", "   ", "?!", 'AND OR "(', "iri:*", "\x00", "😀", "the of"])
@pytest.mark.parametrize("name", list(RETRIEVERS))
def test_a_question_of_odd_characters_is_no_error(name: str, question: str) -> None:
    assert len(retriever(name, Sources(built())).retrieve(question, 3)) <= 3


FOREIGN = (
    "Wo liegt das Hotel für Familien?",
    "ホテルはどこですか？",
    "где находится отель?",
    "أين يقع الفندق؟",
    "ห้องพักครอบครัว",
)


@pytest.fixture(scope="module")
def shared() -> Sources:
    return Sources(built())


@pytest.mark.parametrize("name", list(RETRIEVERS))
def test_a_question_in_another_language_is_no_error(name: str, shared: Sources) -> None:
    for question in FOREIGN:
        found = retriever(name, shared).retrieve(question, 3)
        assert [hit.rank for hit in found] == list(range(1, len(found) + 1))


def test_words_of_a_third_language_still_find_what_is_written_alike() -> None:
    assert first(built(), "hybrid", "Wo ist das Museum in Dongzha?") == "dongzha"


def test_a_word_in_the_title_finds_the_passage() -> None:
    assert first(built(), "lexical", "sleep") == "hotel"
    assert first(built(), "lexical", "住宿") == "zh-hotel"


def test_an_unknown_retriever_is_answered_with_the_nearest() -> None:
    with pytest.raises(ConfigError, match="'lexical'"):
        retriever("lexicl", Sources(built()))
    with pytest.raises(ConfigError, match="dense, hybrid"):
        retriever("xyz", Sources(built()))


class EnglishEmbedder(HashEmbedder):
    languages = frozenset({"en"})

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        assert not any("吗" in text for text in texts)
        return super().embed(texts)


def test_hybrid_leaves_an_english_model_out_of_a_chinese_question() -> None:
    index = built(embedder=EnglishEmbedder(256))
    found = retriever("hybrid", Sources(index)).retrieve("西栅有酒店吗", 5)
    assert [hit.iri for hit in found] == [
        hit.iri for hit in retriever("lexical", Sources(index)).retrieve("西栅有酒店吗", 5)
    ]
    assert len(retriever("hybrid", Sources(index)).retrieve("hotel", 5)) == 4  # the Chinese passage has no vector


def test_fusion_adds_reciprocal_ranks() -> None:
    def ranking(*names: str) -> list[Hit]:
        return [Hit(NamedNode(f"urn:{n}"), n, 9.0, rank, "x") for rank, n in enumerate(names, 1)]

    found = fused([(1.0, ranking("a", "b", "c")), (2.0, ranking("c", "b"))], 2, "both")
    assert [(hit.text, hit.rank) for hit in found] == [("c", 1), ("b", 2)]
    assert found[0].score == pytest.approx(1 / 63 + 2 / 61)


def test_without_an_embedder_words_still_find() -> None:
    index = ChunkIndex(None, None)
    index.sync(chunks())
    assert first(index, "hybrid", "noodles") == "noodles"
    assert retriever("dense", Sources(index)).retrieve("noodles", 3) == []


def test_sync_follows_what_is_there(tmp_path: Path) -> None:
    index = ChunkIndex(tmp_path, HashEmbedder())
    assert index.sync(chunks("xizha", "hotel")) == Synced(2, 0)
    assert index.sync(chunks("xizha", "hotel")) == Synced(0, 0)
    assert index.sync(chunks("hotel", "noodles")) == Synced(1, 1)
    assert len(index) == 2
    assert NamedNode("urn:xizha").value not in index
    assert not retriever("lexical", Sources(index)).retrieve("ticket", 3)
    assert len(retriever("dense", Sources(index)).retrieve("ticket", 3)) == 2


def test_a_changed_text_under_the_same_iri_is_indexed_anew() -> None:
    index = built()
    (chunk, title), *rest = chunks()
    changed = Chunk(chunk.iri, chunk.document, 0, 0, 20, "Bamboo on Moganshan.")
    index.sync([(changed, title), *rest])
    assert len(index) == len(PASSAGES)
    assert first(index, "lexical", "bamboo") == first(index, "dense", "Bamboo on Moganshan") == "xizha"
    assert retriever("lexical", Sources(index)).retrieve("ticket", 3) == []


def test_an_index_is_found_again_by_another_process(tmp_path: Path) -> None:
    built(tmp_path)
    again = ChunkIndex(tmp_path, HashEmbedder(256))
    assert not again.stale
    assert again.sync(chunks()) == Synced(0, 0)
    assert first(again, "hybrid", "lamb noodles") == "noodles"


@pytest.mark.parametrize("side", ["lexical", "vectors"])
@pytest.mark.parametrize("damage", ["missing", "empty", "garbled"])
def test_a_damaged_side_is_built_again_by_the_next_sync(tmp_path: Path, side: str, damage: str) -> None:
    built(tmp_path)
    for file in (tmp_path / side).iterdir():
        if damage == "missing":
            file.unlink()
        else:
            file.write_bytes(b"" if damage == "empty" else b"\x00not what it was" * 20)
    again = ChunkIndex(tmp_path, HashEmbedder(256))
    assert again.stale
    again.sync(chunks())
    assert not again.stale
    assert first(again, "hybrid", "西栅门票") == "zh-ticket"
    assert first(again, "dense", PASSAGES["noodles"][1]) == "noodles"


def test_another_embedding_model_is_noticed_and_its_vectors_made(tmp_path: Path) -> None:
    built(tmp_path)
    again = ChunkIndex(tmp_path, HashEmbedder(64))
    assert again.stale
    again.sync(chunks())
    assert not again.stale
    assert first(again, "dense", PASSAGES["hotel"][1]) == "hotel"


class BrokenEmbedder(HashEmbedder):
    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        raise ModelUnavailableError("down", model=self.name)


def test_a_sync_that_fails_is_completed_by_the_next(tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailableError):
        ChunkIndex(tmp_path, BrokenEmbedder(256)).sync(chunks())
    assert built(tmp_path).sync(chunks()) == Synced(0, 0)


def test_a_second_writer_is_told_that_the_index_is_in_use(tmp_path: Path) -> None:
    index = built(tmp_path)
    program = textwrap.dedent(
        """
        import sys, tantivy
        writer = tantivy.Index.open(sys.argv[1]).writer()
        print("locked", flush=True)
        sys.stdin.read()
        """
    )
    command = [sys.executable, "-c", program, str(tmp_path / "lexical")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        assert process.stdout.readline() == "locked\n"
        with pytest.raises(WorkspaceError, match="another process"):
            index.sync(chunks("hotel"))
        assert first(ChunkIndex(tmp_path, HashEmbedder(256)), "lexical", "noodles") == "noodles"
        process.communicate("")
    assert index.sync(chunks("hotel")) == Synced(0, len(PASSAGES) - 1)


def test_a_folder_that_cannot_be_made_is_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(WorkspaceError, match="word index"):
        ChunkIndex(tmp_path / "file", None)


@pytest.mark.embedding
def test_the_default_model_finds_by_meaning() -> None:
    from kgplatform.models.embedding import SentenceTransformersEmbedder

    index = ChunkIndex(None, SentenceTransformersEmbedder())
    index.sync(chunks())
    assert first(index, "dense", "accommodation for parents and toddlers") == "hotel"
    assert first(index, "hybrid", "how much is admission to Xizha") == "xizha"
    assert first(index, "hybrid", "东栅的门票") == "zh-ticket"
