"""Personalised PageRank over passages: what ties them, what a question reaches, and what is kept on disk."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyoxigraph import NamedNode

from kgplatform.errors import ConfigError
from kgplatform.retrieval import RETRIEVERS, retriever
from kgplatform.retrieval.index import ChunkIndex
from kgplatform.retrieval.pagerank import Fact, Passage, PassageGraph, WalkWeights
from kgplatform.retrieval.phrases import NameFinder, name_key, phrases, shared, title_keys
from kgplatform.retrieval.similarity import SourceText
from kgplatform.retrieval.sources import Sources
from kgplatform.testing import HashEmbedder
from kgplatform.types import Chunk

# names


def test_names_are_runs_of_capitalised_words_years_and_chinese_words():
    found = phrases("In 1998 she left the University of Oslo for Xi'an Jiaotong. The Hague was cold.")
    assert {"1998", "university of oslo", "xi an jiaotong", "hague"} <= found
    assert "in" not in found
    assert "the hague" not in found
    assert {"乌 镇", "红 楼 梦"} <= phrases("《红楼梦》的作者没有到过乌镇。")


def test_a_title_goes_by_its_name_without_the_bracket_too():
    assert title_keys("Carnival (film)") == ("carnival film", "carnival")
    assert title_keys("西湖（杭州）") == ("西 湖 杭 州", "西 湖")
    assert title_keys("") == ()


def test_a_name_inside_a_longer_one_does_not_count():
    find = NameFinder(["new york", "new york city", "york", "西 湖"])
    assert find("She moved to New York City and saw 西湖.") == {"new york city", "西 湖"}
    assert find("Newyork") == frozenset()


@given(st.text(max_size=60))
def test_any_text_has_phrases_and_keys(text):
    assert all(key == name_key(key) for key in phrases(text))


def test_phrases_that_one_or_too_many_passages_have_tie_nothing():
    held = {0: {"a", "b"}, 1: {"a", "c"}, 2: {"c"}, 3: {"c"}}
    assert shared(held, least=2, most=2) == {"a": [0, 1]}


# the graph

PASSAGES = [
    Passage("urn:p:0", "Hank Snow", "Hank Snow sang Hello Love and died in Madison."),
    Passage("urn:p:1", "Madison", "Madison is a suburb of Nashville in Tennessee."),
    Passage("urn:p:2", "Tennessee", "Tennessee borders eight states."),
    Passage("urn:p:3", "Boats", "Boats float."),
    Passage("urn:p:4", "乌镇", "乌镇在桐乡市,西栅景区很大。"),
    Passage("urn:p:5", "桐乡市", "桐乡市属于嘉兴。"),
]


def reached(graph, question, near, **options):
    return graph.rank(question, near, weights=WalkWeights(**options) if options else None)


def test_what_a_passage_names_is_reached_from_it_in_both_languages():
    graph = PassageGraph.of(PASSAGES)
    shares = reached(graph, "Where did the singer of Hello Love die?", {0: 0.9})
    assert shares[0] > shares[1] > shares[2] > shares[3] == 0
    assert shares[4] == 0
    chinese = reached(graph, "西栅在哪个地级市?", {4: 0.9})
    assert chinese[5] > 0 == chinese[0]


def test_a_title_in_the_question_gives_weight_to_its_passages():
    graph = PassageGraph.of(PASSAGES)
    shares = reached(graph, "What borders Tennessee?", {3: 0.9}, title=1.0)
    assert shares[2] > 0.1


def test_statements_tie_the_names_of_their_ends():
    passages = [
        Passage("urn:a", "One", "x", names=("Ann",)),
        Passage("urn:b", "Two", "y", names=("Bob",)),
        Passage("urn:c", "Three", "z", names=("Cy",)),
    ]
    graph = PassageGraph.of(passages, [Fact("Ann", "Ann knows Bob", "Bob")])
    shares = graph.rank("who?", {0: 0.5})
    assert shares[1] > 0 == shares[2]
    assert graph.rank("who?", {}, {0: 0.8})[1] > 0


@given(st.dictionaries(st.integers(0, 5), st.floats(-1, 1), max_size=6), st.sampled_from([0.1, 0.5, 0.9]))
def test_shares_are_never_negative_and_never_more_than_all(near, damping):
    graph = PassageGraph.of(PASSAGES)
    shares = reached(graph, "Hank Snow", near, damping=damping)
    assert (shares >= 0).all()
    assert shares.sum() <= 1 + 1e-9


def test_without_anything_near_nothing_is_reached():
    assert not PassageGraph.of(PASSAGES).rank("?", {}).any()
    assert len(PassageGraph.of([]).rank("?", {})) == 0


def test_a_graph_read_back_ranks_alike(tmp_path):
    graph = PassageGraph.of(PASSAGES, [Fact("Nashville", "Nashville is in Tennessee", "Tennessee")])
    graph.save(tmp_path / "graph.npz", "these")
    again = PassageGraph.load(tmp_path / "graph.npz", "these")
    assert again is not None
    assert np.allclose(again.rank("Tennessee", {0: 0.4}), graph.rank("Tennessee", {0: 0.4}))
    assert PassageGraph.load(tmp_path / "graph.npz", "others") is None
    (tmp_path / "graph.npz").write_bytes(b"junk")
    assert PassageGraph.load(tmp_path / "graph.npz", "these") is None


# the retrievers


def sources(folder=None, passages=PASSAGES):
    index = ChunkIndex(folder / "chunks" if folder else None, HashEmbedder(256))
    index.sync((Chunk(NamedNode(p.iri), NamedNode(p.iri), 0, 0, len(p.text), p.text), p.title) for p in passages)
    documents = [SourceText(p.iri, p.title, p.text) for p in passages]
    return Sources(index, passages=lambda: passages, documents=lambda: documents, folder=folder)


@pytest.mark.parametrize("name", RETRIEVERS)
@pytest.mark.parametrize("question", ["Where did Hank Snow die?", "西栅在哪里?", "", "?" * 3000])
def test_every_retriever_ranks_from_one_without_repeating_itself(name, question):
    made = sources()
    found = retriever(name, made).retrieve(question, 4)
    assert [hit.rank for hit in found] == list(range(1, len(found) + 1))
    assert len({hit.iri for hit in found}) == len(found) <= 4
    assert all(hit.text and hit.retriever == retriever(name, made).name for hit in found)
    assert retriever(name, made).retrieve(question, 0) == []


@pytest.mark.parametrize("name", RETRIEVERS)
def test_every_retriever_bears_an_empty_index_and_a_huge_k(name):
    assert retriever(name, sources(passages=[])).retrieve("Hank Snow", 5) == []
    assert len(retriever(name, sources()).retrieve("Hank Snow", 10**6)) <= 20


def test_pagerank_finds_the_second_hop_that_likeness_misses():
    made = sources()
    hits = retriever("pagerank", made).retrieve("Where did Hank Snow die?", 3)
    assert [hit.iri.value for hit in hits][:2] == ["urn:p:0", "urn:p:1"]
    assert "urn:p:2" in {hit.iri.value for hit in hits}


def test_sentences_are_known_by_their_place_in_the_document():
    (hit,) = retriever("sentences", sources()).retrieve("Boats float", 1)
    assert hit.iri == NamedNode("urn:p:3#char=0,12")
    assert hit.text == "Boats float."


def test_graphs_are_kept_in_the_folder_and_made_anew_when_a_passage_changes(tmp_path):
    made = sources(tmp_path)
    retriever("tied-sentences", made).retrieve("Hank Snow", 2)
    files = {path.name: path.stat().st_mtime_ns for path in tmp_path.glob("*.npz")}
    assert set(files) == {"passages.npz", "similarity.npz"}
    retriever("tied-sentences", sources(tmp_path)).retrieve("Hank Snow", 2)
    assert {path.name: path.stat().st_mtime_ns for path in tmp_path.glob("*.npz")} == files
    more = [*PASSAGES, Passage("urn:p:6", "Zebra", "Zebras are striped.")]
    assert retriever("sentences", sources(tmp_path, more)).retrieve("Zebras are striped", 1)[0].text.startswith("Zebra")


def test_an_unknown_retriever_is_told_with_the_nearest_name():
    with pytest.raises(ConfigError, match="pagerank"):
        retriever("pagerang", sources())
