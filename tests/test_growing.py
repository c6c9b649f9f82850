"""The similarity graph is kept and grows with its documents: by what changed, to what building from nothing gives."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from kgplatform.graph import KnowledgeGraph
from kgplatform.retrieval.growing import similarity_graph, themes
from kgplatform.retrieval.similarity import PUBLISHED, GraphOptions, SimilarityGraph, SourceText
from kgplatform.testing import HashEmbedder

WORDS = ("boat", "inn", "old", "Wuzhen", "ticket", "乌镇", "客栈", "bridge")
SENTENCES = st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=4).map(" ".join), min_size=0, max_size=7)
DOCUMENTS = st.dictionaries(st.integers(0, 12), SENTENCES.map(lambda said: "".join(f"{one}. " for one in said)))
NEAR = GraphOptions(within=2, across=3, least_within=0.1, least_across=0.05)


class Counted(HashEmbedder):
    """An embedder that counts the texts that it is given."""

    def __init__(self, dimensions: int = 16) -> None:
        super().__init__(dimensions)
        self.texts = 0

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.texts += len(texts)
        return super().embed(texts)


def sources(texts: dict[int, str]) -> list[SourceText]:
    return [SourceText(f"urn:{number}", f"Note {number % 3}", texts[number]) for number in sorted(texts)]


def assert_same(one: SimilarityGraph, other: SimilarityGraph) -> None:
    assert (one.windows, one.sentences, one.edges, one.documents) == (
        other.windows,
        other.sentences,
        other.edges,
        other.documents,
    )
    assert np.array_equal(one.window_vectors, other.window_vectors)
    assert np.array_equal(one.sentence_vectors, other.sentence_vectors)
    assert np.array_equal(one.moments.products, other.moments.products)


@settings(max_examples=25, deadline=None)
@given(st.lists(DOCUMENTS, min_size=2, max_size=4), st.sampled_from([NEAR, PUBLISHED, GraphOptions(across=0)]))
def test_growing_gives_what_building_from_nothing_gives(states: list[dict[int, str]], options: GraphOptions) -> None:
    embedder = Counted()
    graph: SimilarityGraph | None = None
    for texts in states:
        graph = similarity_graph(sources(texts), embedder, options, before=graph)
        assert_same(graph, similarity_graph(sources(texts), embedder, options))


def test_documents_that_stay_in_another_order_are_built_anew() -> None:
    given = sources({number: f"The inn number {number} is old. A boat goes. Tea." for number in range(4)})
    before = similarity_graph(given, Counted(), NEAR)
    turned = given[::-1]
    assert_same(similarity_graph(turned, Counted(), NEAR, before=before), similarity_graph(turned, Counted(), NEAR))


def test_only_new_texts_are_embedded() -> None:
    embedder = Counted()
    texts = {number: f"Inn {number} is old. Boats go at nine. Tea is sold." for number in range(40)}
    graph = similarity_graph(sources(texts), embedder)
    embedder.texts = 0
    grown = similarity_graph(sources({**texts, 50: "One new note. It is short. Really."}), embedder, before=graph)
    assert embedder.texts == 4
    similarity_graph(sources(texts), embedder, before=grown)
    assert embedder.texts == 4


def test_a_graph_from_a_file_grows_like_the_one_that_was_saved(tmp_path: Path) -> None:
    texts = {number: f"Inn {number} is old. Boats go at nine. Tea is sold. Bye." for number in range(12)}
    graph = replace(similarity_graph(sources(texts), Counted()), state="now")
    graph.save(tmp_path / "graph.npz", "kind")
    again = SimilarityGraph.load(tmp_path / "graph.npz", "kind")
    assert again is not None
    assert again.state == "now"
    assert_same(again, graph)
    del texts[3]
    assert_same(similarity_graph(sources(texts), Counted(), before=again), similarity_graph(sources(texts), Counted()))


def test_a_document_has_five_themes_which_its_windows_inherit() -> None:
    said = ["Wuzhen", "tea", "Wuzhen", "boats", "old Wuzhen", "tea", "inns", "silk", "bridges"]
    assert themes(said) == ("Wuzhen", "tea", "boats", "inns", "silk")
    assert themes([]) == ()
    given = [SourceText("urn:a", "", "One. Two. Three. Four.", keywords=lambda: said), SourceText("urn:b", "", "Five.")]
    graph = similarity_graph(given, Counted())
    assert graph.themes_of(1) == ("Wuzhen", "tea", "boats", "inns", "silk")
    assert graph.themes_of(2) == ()


# --- in a workspace


@pytest.fixture
def kg(tmp_path: Path) -> Iterator[KnowledgeGraph]:
    with KnowledgeGraph.create(tmp_path / "kg", ontology="travel") as made:
        made.__dict__["embedder"] = Counted(32)
        yield made


def note(folder: Path, number: int) -> Path:
    path = folder / f"note{number}.txt"
    path.write_text(f"Inn {number} is in Wuzhen. Boats go at nine. Tea costs {number} yuan. Bye.", encoding="utf-8")
    return path


def test_adding_and_removing_one_touches_the_kept_graph_by_what_changed(kg: KnowledgeGraph, tmp_path: Path) -> None:
    list(kg.add(*(note(tmp_path, number) for number in range(6)), build=False))
    kg.build(only="index")
    first = kg.sources.similarity_graph()
    assert len(first.documents) == 6
    assert all(first.themes_of(window) for window in range(len(first.windows)))
    file = kg.folder / "chunks" / "graphs" / "similarity.npz"
    assert file.exists()
    list(kg.add(note(tmp_path, 9), build=False))
    kg.remove("note2.txt")
    embedder = kg.embedder
    assert isinstance(embedder, Counted)
    embedder.texts = 0
    grown = kg.sources.similarity_graph()
    assert embedder.texts == 2 + 4
    assert kg.sources.similarity_graph() is grown
    file.unlink()
    kg.__dict__.pop("sources")
    assert_same(kg.sources.similarity_graph(), grown)
    file.write_bytes(file.read_bytes()[:-200])
    kg.__dict__.pop("sources")
    assert_same(kg.sources.similarity_graph(), grown)
