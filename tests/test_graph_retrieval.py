"""Retrieval by things and relations: each rule on a graph small enough to be worked out by hand."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyoxigraph import NamedNode

from kgplatform.errors import ModelUnavailableError
from kgplatform.retrieval import retriever
from kgplatform.retrieval.asking import asked_entities, asked_keywords
from kgplatform.retrieval.context import ContextBlocks, within
from kgplatform.retrieval.dual_global import by_relations
from kgplatform.retrieval.dual_level import PUBLISHED, DualLevelRetriever
from kgplatform.retrieval.dual_local import by_paths
from kgplatform.retrieval.dual_options import DualOptions
from kgplatform.retrieval.entity_graph import EntityGraph
from kgplatform.retrieval.greedy import GreedyRetriever
from kgplatform.retrieval.index import ChunkIndex
from kgplatform.retrieval.knowledge import Keyword, Knowledge, Relation, Report, Thing
from kgplatform.retrieval.nearness import NearTexts, TextVectors
from kgplatform.retrieval.pagerank import Fact, Passage, PassageGraph, Ties
from kgplatform.retrieval.routing import RouterRetriever, character
from kgplatform.retrieval.seeded import CommunityRetriever, SeededRetriever
from kgplatform.retrieval.sources import Rows, Sources
from kgplatform.retrieval.subgraphs import between_all, tied
from kgplatform.testing import HashEmbedder, ScriptedModel
from kgplatform.types import Chunk


def things(*names, **passages):
    return tuple(Thing(f"urn:{name}", name, (name,), passages=tuple(passages.get(name, ()))) for name in names)


def graph_of(edges, *, names="abcdefgh", weights=()):
    """A graph of one-letter things; an edge ``ab`` says that a meets b and was read in passage ``urn:p:ab``."""
    heavy = dict(weights)
    relations = tuple(
        Relation(
            f"urn:{one}", f"urn:{other}", f"{one} meets {other}", heavy.get(one + other, 1.0), (f"urn:p:{one}{other}",)
        )
        for one, other in edges
    )
    return EntityGraph(Knowledge(things(*names), relations))


# subgraphs


def edges_of(graph, found):
    return {"".join(graph.thing(end).label for end in graph.ends[number]) for number in found.relations}


def test_targets_are_tied_by_the_shortest_paths_and_dead_ends_are_left_out():
    # a - b - c, a - d - e - c, c - f: the way over b is the shorter one, f leads nowhere
    graph = graph_of(["ab", "bc", "ad", "de", "ec", "cf"])
    found = tied(graph, (0, 2))
    assert edges_of(graph, found) == {"ab", "bc"}
    assert found.things[:2] == (0, 2)


def test_three_targets_become_one_tree():
    graph = graph_of(["ab", "bc", "bd", "ac"])
    found = tied(graph, (0, 2, 3))
    # a - c at once, then d over b: two relations from d to the tree
    assert "ac" in edges_of(graph, found)
    assert "bd" in edges_of(graph, found)
    assert len(found.relations) == 3


@pytest.mark.parametrize(("longest", "reached"), [(4, True), (3, False), (1, False)])
def test_no_path_is_longer_than_allowed(longest, reached):
    graph = graph_of(["ab", "bc", "cd", "de"])  # a to e in four
    found = tied(graph, (0, 4), longest=longest)
    assert (len(found.relations) == 4) is reached
    assert {0, 4} <= set(found.things)


def test_the_public_codes_subgraph_has_no_bound_and_takes_every_pair():
    graph = graph_of(["ab", "bc", "cd", "de", "ef", "fa"])
    assert len(between_all(graph, (0, 3)).relations) in (3, 6)  # either half of the ring, or one half each way
    assert len(between_all(graph_of(["ab", "bc", "cd", "de", "ef", "fg"]), (0, 6)).relations) == 6
    assert between_all(graph, ()).relations == ()


@given(st.sets(st.sampled_from([a + b for a in "abcdefgh" for b in "abcdefgh" if a < b])), st.integers(2, 4))
def test_what_ties_targets_is_a_forest_within_the_graph(edges, targets):
    graph = graph_of(sorted(edges))
    found = tied(graph, tuple(range(targets)), longest=8)
    assert len(found.relations) < max(len(found.things), 1)
    ends = {end for number in found.relations for end in graph.ends[number]}
    assert ends <= set(found.things)


# likeness by words and by vectors


def test_likeness_is_by_words_where_the_model_does_not_know_the_language():
    class English(HashEmbedder):
        languages = frozenset({"en"})

    near = NearTexts(["乌镇西栅的酒店", "boats on the canal", "桐乡市"], TextVectors(English(64)))
    assert near.near("西栅有什么", 3)[0].place == 0
    assert [item.place for item in near.near("桐乡市", 1)] == [2]
    assert near.similarities("boats on the canal")[1] == pytest.approx(1.0, abs=1e-3)
    assert near.similarities("")[0] == 0
    assert NearTexts([], None).near("x", 3) == []


def test_the_tf_idf_cosine_is_the_one_worked_out_by_hand():
    near = NearTexts(["red boat", "red house"], None)
    # df(red) = 2: idf = ln(3/3) + 1 = 1; df(boat) = 1: idf = ln(3/2) + 1
    boat = math.log(1.5) + 1
    assert near.similarities("boat")[0] == pytest.approx(boat / math.sqrt(1 + boat**2), abs=1e-6)
    assert near.similarities("boat")[1] == 0


def test_vectors_are_made_once_and_kept_over_processes(tmp_path):
    class Counting(HashEmbedder):
        made = 0

        def embed(self, texts):
            Counting.made += len(texts)
            return super().embed(texts)

    first = TextVectors(Counting(16), tmp_path / "texts.npz")
    first.of(["one", "two"])
    first.keep(["one", "two"])
    again = TextVectors(Counting(16), tmp_path / "texts.npz")
    assert np.allclose(again.of(["two", "three"])[0], HashEmbedder(16).embed(["two"])[0], atol=1e-2)
    assert Counting.made == 3
    again.keep(["three"])
    (tmp_path / "texts.npz").write_bytes(b"junk")
    assert TextVectors(Counting(16), tmp_path / "texts.npz").of(["one"]).any()


# what is asked


NAMED = EntityGraph(Knowledge(things("Hank Snow", "Nashville", "乌镇")))


def test_names_that_the_graph_knows_come_first_and_weights_sum_to_one():
    found = asked_entities("Did Hank Snow ever see CS101 in Nashville?", NAMED)
    assert {item.text for item in found.entities} == {"hank snow", "nashville", "cs101"}
    assert sum(item.weight for item in found.entities) == pytest.approx(1)
    assert found.by == "built-in"
    assert asked_entities("乌镇有什么酒店？", NAMED).entities[0].text == "乌镇"
    assert asked_entities("", NAMED).entities == ()


def test_a_model_weighs_the_names():
    reply = json.dumps({"entities": [{"name": "Nashville", "weight": 1}, {"name": "Hank Snow", "weight": 3}]})
    found = asked_entities("?", NAMED, ScriptedModel(reply))
    assert [(item.text, item.weight) for item in found.entities] == [("Hank Snow", 0.75), ("Nashville", 0.25)]


@pytest.mark.parametrize(
    "reply",
    [
        '{"entities": []}',
        '{"entities": [{"name": "", "weight": 1}]}',
        '{"entities": [{"name": "x", "weight": -1}]}',
        '{"entities": [3]}',
        ModelUnavailableError("no route", model="m"),
    ],
)
def test_a_reply_that_is_no_use_gives_way_to_the_built_in_reading(reply):
    found = asked_entities("Where is Nashville?", NAMED, ScriptedModel(reply))
    assert [item.text for item in found.entities] == ["nashville"]
    assert found.note


def test_keywords_of_both_levels_with_clues():
    found = asked_keywords("Who sang in Nashville?", NAMED, ("Hank Snow", "country music"))
    assert found.low == ("nashville", "Hank Snow")
    assert found.high == ("Who sang in Nashville?", "country music")
    reply = json.dumps({"high_level_keywords": ["singing", 3], "low_level_keywords": [" Nashville ", ""]})
    model = asked_keywords("Who sang in Nashville?", NAMED, (), ScriptedModel(reply))
    assert (model.high, model.low) == (("singing",), ("Nashville",))


# the local way


TIED = Knowledge(
    (
        Thing("urn:a", "Alpha", ("Alpha",), passages=("urn:p:1",)),
        Thing("urn:b", "Beta", ("Beta",), passages=("urn:p:1", "urn:p:2")),
        Thing("urn:c", "Gamma", ("Gamma",), passages=("urn:p:2",)),
        Thing("urn:d", "Delta", ("Delta",), passages=("urn:p:4",)),
    ),
    (
        Relation("urn:a", "urn:b", "Alpha paints Beta", 1.0, ("urn:p:1",)),
        Relation("urn:b", "urn:c", "Beta paints Gamma", 2.0, ("urn:p:1", "urn:p:2")),
        Relation("urn:b", "urn:c", "zzz qqq", 1.0, ("urn:p:3",)),
    ),
)


def test_relations_of_the_path_that_are_not_relevant_are_pruned():
    graph = EntityGraph(TIED)
    options = DualOptions(relation=0.3)
    found = by_paths("What does Alpha paint, and who paints Gamma?", ["Alpha", "Gamma"], graph, options)
    assert found.targets == (0, 2)
    assert set(found.kept) == {0, 1}
    strict = by_paths("What does Alpha paint?", ["Alpha", "Gamma"], graph, DualOptions(relation=0.99))
    assert strict.kept == ()
    assert set(strict.pruned) == {0, 1}


def test_passages_count_the_kept_relations_read_in_them_and_isolated_targets_keep_theirs():
    graph = EntityGraph(TIED)
    found = by_paths("Alpha paints Beta paints Gamma", ["Alpha", "Gamma", "Delta"], graph, DualOptions(relation=0.1))
    like = graph.near_relations.similarities("Alpha paints Beta paints Gamma")
    scores = dict(found.passages)
    assert scores["urn:p:1"] == pytest.approx(float(like[0] + like[1]))
    assert scores["urn:p:2"] == pytest.approx(float(like[1]))
    assert scores["urn:p:4"] == 0.0  # Delta is tied to nothing
    assert [iri for iri, _ in found.passages] == ["urn:p:1", "urn:p:2", "urn:p:4"]


def test_the_paths_own_relations_come_before_those_around_however_few_tokens_there_are():
    # the hub h has many relations that are as like the question as the path
    edges = ["ab", "bc", *(f"b{x}" for x in "defgh")]
    graph = graph_of(edges)
    question = "a meets b meets c"
    kept = by_paths(question, ["a", "c"], graph, DualOptions(relation=0.05))
    assert set(kept.context[:2]) == set(kept.kept)
    assert len(kept.context) == len(edges)
    short = by_paths(question, ["a", "c"], graph, DualOptions(relation=0.05, tokens=7))
    assert set(short.context) == set(kept.kept)


def test_the_ablation_takes_what_is_next_to_the_targets():
    graph = graph_of(["ab", "bc", "cd", "de"])
    found = by_paths("a meets b", ["a", "e"], graph, DualOptions(subgraph=False))
    assert edges_of(graph, found.subgraph) == {"ab", "de"}


def test_the_compatibility_switch_keeps_every_relation_where_none_is_relevant_and_gives_isolated_targets_no_text():
    graph = EntityGraph(TIED)
    ours = by_paths("xyzzy", ["Alpha", "Gamma", "Delta"], graph, DualOptions(relation=0.9))
    assert ours.kept == ()
    code = by_paths("xyzzy", ["Alpha", "Gamma", "Delta"], graph, PUBLISHED)
    assert code.targets == (0, 2, 3)
    strict = by_paths("xyzzy", ["Alpha", "Gamma"], graph, DualOptions(compatible=True, thing=0.2, relation=0.999))
    assert set(strict.kept) == set(strict.subgraph.relations) != set()
    assert "urn:p:4" not in dict(code.passages)
    # passage 1: its relations at the ends of a kept one, counted as the code does: all three touch Alpha, Beta or Gamma
    assert dict(strict.passages)["urn:p:1"] == 3.0


# the global way


def test_relations_are_ranked_by_relevance_degree_and_weight():
    # equal words, so that degree and weight alone decide
    knowledge = Knowledge(
        things("a", "b", "c", "d"),
        (
            Relation("urn:c", "urn:d", "one paints other", 1.0, ("urn:p:cd",)),
            Relation("urn:a", "urn:b", "one paints other", 3.0, ("urn:p:ab",)),
            Relation("urn:a", "urn:b", "one paints other", 1.0, ("urn:p:ba",)),
        ),
    )
    found = by_relations(["paints"], EntityGraph(knowledge), DualOptions(relation=0.1))
    assert found.relations == (1, 2, 0)
    like = float(EntityGraph(knowledge).near_relations.similarities("paints")[0])
    assert found.scores[0] == pytest.approx(like * 1.2)  # the greatest rank (4) and weight (3)
    assert found.scores[2] == pytest.approx(
        like * (1 + 0.1 * math.log(3) / math.log(5) + 0.1 * math.log(2) / math.log(4))
    )
    assert [iri for iri, _ in found.passages] == ["urn:p:ab", "urn:p:ba", "urn:p:cd"]


def test_the_public_codes_global_order_forgets_relevance():
    edges = ["ab", "ac", "ad", "ef"]
    graph = graph_of(edges, weights=[("ac", 5.0)])
    ours = by_relations(["e meets f"], graph, DualOptions(relation=0.01))
    code = by_relations(["e meets f"], graph, DualOptions(relation=0.01, compatible=True))
    assert edges[ours.relations[0]] == "ef"
    assert edges[code.relations[0]] == "ac"
    assert by_relations([], graph, DualOptions()).passages == ()


# the retrievers


TEXTS = {
    "urn:p:1": ("Hank Snow", "Hank Snow sang Hello Love and died in Madison."),
    "urn:p:2": ("Madison", "Madison is a suburb of Nashville."),
    "urn:p:3": ("Nashville", "Nashville is a city in Tennessee."),
    "urn:p:4": ("乌镇", "乌镇在桐乡市，西栅景区很大。"),
    "urn:p:5": ("Boats", "Boats float on canals."),
}
KNOWN = Knowledge(
    (
        Thing("urn:hank", "Hank Snow", ("Hank Snow", "Clarence Snow"), "a singer", "person", (), ("urn:p:1",)),
        Thing("urn:madison", "Madison", ("Madison",), "", "suburb", ("Nashville",), ("urn:p:1", "urn:p:2")),
        Thing("urn:nashville", "Nashville", ("Nashville",), "", "city", (), ("urn:p:2", "urn:p:3")),
        Thing("urn:wuzhen", "Wuzhen", ("Wuzhen", "乌镇"), "", "town", (), ("urn:p:4",)),
    ),
    (
        Relation("urn:hank", "urn:madison", "Hank Snow died in Madison", 1.0, ("urn:p:1",)),
        Relation("urn:madison", "urn:nashville", "Madison part of Nashville", 2.0, ("urn:p:2",)),
    ),
    (Keyword("Madison", ("urn:p:1", "urn:p:2")), Keyword("country music", ("urn:p:1",))),
    (
        Report(
            "urn:c:1",
            "Nashville, Madison",
            "Singers died near Nashville.",
            frozenset({"urn:hank", "urn:madison"}),
            0,
            9.0,
        ),
        Report("urn:c:1", "纳什维尔", "歌手在纳什维尔附近去世。", frozenset({"urn:hank", "urn:madison"}), 0, 9.0),
        Report("urn:c:2", "Wuzhen", "A water town.", frozenset({"urn:wuzhen"}), 1, 2.0),
    ),
)


def sources(*, knowledge=KNOWN, model=None, rows=None, folder=None, embedder=None):
    index = ChunkIndex(folder / "chunks" if folder else None, embedder or HashEmbedder(256))
    index.sync((Chunk(NamedNode(i), NamedNode(i), 0, 0, len(text), text), title) for i, (title, text) in TEXTS.items())
    passages = [Passage(i, title, text) for i, (title, text) in TEXTS.items()]
    return Sources(index, passages=lambda: passages, knowledge=lambda: knowledge, model=model, rows=rows, folder=folder)


def iris(hits):
    return [hit.iri.value for hit in hits]


def test_greedy_scores_are_weight_times_likeness_and_their_sum_is_the_total():
    reply = json.dumps({"entities": [{"name": "Clarence Snow", "weight": 3}, {"name": "Nashville", "weight": 1}]})
    hits, trace = GreedyRetriever(sources(model=ScriptedModel(reply))).explain("Where did he die?", 5)
    assert [(item.thing, item.score) for item in trace.matched] == [("urn:hank", 0.75), ("urn:nashville", 0.25)]
    assert trace.total == pytest.approx(1.0)
    assert iris(hits)[0] == "urn:p:1"
    assert trace.blocks.things[0] == "Hank Snow (person): a singer"
    assert "Hank Snow died in Madison" in trace.blocks.relations
    assert trace.blocks.reports == ("Nashville, Madison\nSingers died near Nashville.",)
    assert trace.blocks.passages[0] == TEXTS["urn:p:1"][1]
    assert trace.blocks.text.startswith("Things\nHank Snow")


def test_greedy_says_what_it_did_not_find_and_reads_chinese():
    hits, trace = GreedyRetriever(sources()).explain("乌镇在哪里？", 3)
    assert iris(hits)[0] == "urn:p:4"
    assert trace.matched[0].text == "乌镇"
    lost, trace = GreedyRetriever(sources()).explain("Zyxwvut?", 3)
    assert lost == []
    assert trace.missed == ("zyxwvut",)


def test_a_thing_that_lies_in_another_is_told_with_it():
    _, trace = GreedyRetriever(sources()).explain("What is Madison?", 2)
    assert "Madison (suburb) < Nashville" in trace.blocks.things


def test_dual_level_ties_what_the_question_names():
    hits, trace = DualLevelRetriever(sources()).explain("What ties Hank Snow to Nashville?", 4)
    assert {"urn:p:1", "urn:p:2"} <= set(iris(hits)[:3])
    assert set(trace.local.targets) >= {0, 2}
    assert set(trace.local.subgraph.relations) == {0, 1}
    assert trace.blocks.relations
    assert [hit.rank for hit in hits] == list(range(1, len(hits) + 1))


def test_clues_can_be_left_out():
    _, with_clues = DualLevelRetriever(sources(), options=DualOptions(clue=0.1)).explain("country music in Madison", 3)
    _, without = retriever("dual-level-no-clues", sources()).explain("country music in Madison", 3)
    assert "country music" in with_clues.clues
    assert without.clues == ()


@pytest.mark.parametrize("name", ["greedy", "dual-level", "dual-level-published", "pagerank-stated", "communities"])
def test_without_a_graph_or_an_embedder_nothing_breaks(name):
    assert retriever(name, sources(knowledge=Knowledge())).retrieve("Where is Nashville?", 3) is not None
    index = ChunkIndex(None, None)
    bare = Sources(index, knowledge=lambda: KNOWN)
    assert retriever(name, bare).retrieve("Where is Nashville?", 3) is not None


def test_reports_are_found_once_in_the_language_of_the_question():
    hits = CommunityRetriever(sources()).retrieve("Which singers died near Nashville?", 5)
    assert iris(hits)[0] == "urn:c:1"
    assert len(set(iris(hits))) == len(hits) == 2
    assert CommunityRetriever(sources()).retrieve("歌手在哪里去世？", 1)[0].text.startswith("纳什维尔")
    general = CommunityRetriever(sources()).retrieve("???", 2)
    assert iris(general) == ["urn:c:1", "urn:c:2"]  # the coarsest first where nothing is asked for


def test_rows_of_a_query_lead_to_their_passages():
    asked = []

    def rows(question):
        asked.append(question)
        return Rows("SELECT …", ("urn:wuzhen", "urn:nowhere", "urn:nashville"))

    hits, trace = SeededRetriever(sources(rows=rows)).explain("Which towns?", 5)
    # Wuzhen: 1 / 1 passage; Nashville in the third row with two passages: 1/3 / 2 each
    assert iris(hits) == ["urn:p:4", "urn:p:2", "urn:p:3"]
    assert hits[1].score == pytest.approx(1 / 6)
    assert trace.unread == ("urn:nowhere",)
    assert asked == ["Which towns?"]
    assert SeededRetriever(sources()).retrieve("Which towns?", 5) == []
    assert SeededRetriever(sources(rows=lambda _: Rows(None))).retrieve("Which towns?", 5) == []


# PageRank over statements


def test_the_published_seeds_are_those_of_the_formula():
    passages = [Passage("urn:1", "", "", ("ann", "bob")), Passage("urn:2", "", "", ("bob",)), Passage("urn:3", "", "")]
    graph = PassageGraph.of(passages, [Fact("ann", "ann knows bob", "bob")], ties=Ties.STATED)
    reached = graph.rank_stated({0: 0.2, 1: 0.6, 2: 0.4}, {0: 0.8})
    # seeds: ann .8/1, bob .8/2, passages 0, .05, .025; from them half walks on at each step
    seeds = np.array([0.0, 0.05, 0.025, 0.8, 0.4])
    # ann and bob are tied to each other and to their passages, weight 1 each; the third passage to nothing
    ties = np.zeros((5, 5))
    for one, other in ((0, 3), (0, 4), (1, 4), (3, 4)):
        ties[one, other] = ties[other, one] = 1.0
    leaving = ties.sum(axis=0)
    moves = ties / np.where(leaving, leaving, 1)
    start = seeds / seeds.sum()
    exact = np.linalg.solve(np.eye(5) - 0.5 * moves, 0.5 * start)
    assert np.allclose(reached, exact[:3], atol=1e-6)
    assert reached[0] > reached[1] > reached[2] > 0


def test_statements_are_used_where_there_are_any():
    made = sources()
    hits, trace = retriever("pagerank", made).explain("Where did Hank Snow die?", 3)
    assert trace.statements[0][0] == "Hank Snow died in Madison"
    assert iris(hits)[0] == "urn:p:1"
    _, plain = retriever("pagerank-shared", made).explain("Where did Hank Snow die?", 3)
    assert plain.statements == ()


def test_graphs_with_statements_are_made_anew_when_a_statement_changes(tmp_path):
    retriever("pagerank", sources(folder=tmp_path)).retrieve("Hank Snow", 2)
    stamp = (tmp_path / "statements.npz").stat().st_mtime_ns
    retriever("pagerank", sources(folder=tmp_path)).retrieve("Hank Snow", 2)
    assert (tmp_path / "statements.npz").stat().st_mtime_ns == stamp
    fewer = Knowledge(KNOWN.things, KNOWN.relations[:1])
    retriever("pagerank", sources(folder=tmp_path, knowledge=fewer)).retrieve("Hank Snow", 2)
    assert (tmp_path / "statements.npz").stat().st_mtime_ns != stamp


# the router


def routed(texts, question, embedder=None):
    index = ChunkIndex(None, embedder or HashEmbedder(64))
    passages = [Passage(f"urn:{n}", title, text) for n, (title, text) in enumerate(texts)]
    index.sync((Chunk(NamedNode(p.iri), NamedNode(p.iri), 0, 0, len(p.text), p.text), p.title) for p in passages)
    return RouterRetriever(Sources(index, passages=lambda: passages))


CHAT = [("chat", f"Ann: are you coming on day {n}?\nBob: I will ask.\nAnn: fine") for n in range(6)]
PLAIN = [(f"note {n}", f"the weather of week {n} was like that of any other week") for n in range(6)]


def test_words_weigh_more_in_talk_and_for_what_is_written_one_way_only():
    assert routed(CHAT, "").route("when does she come?").lexical == 3.0
    assert routed(PLAIN, "").route("where is gate B12?").reason == "B12 is a code"
    assert routed(PLAIN, "").route('who said "any other week"?').lexical == 3.0
    assert routed(PLAIN, "").route("how was the weather?") == routed(PLAIN, "").route("and the week?")
    rare = routed([*PLAIN, ("x", "we met Zebulon there")], "").route("who met Zebulon?")
    assert rare.reason == "zebulon is a rare name"


def test_passages_that_name_each_others_titles_go_to_pagerank_alone():
    texts = [("Madison", "a suburb of Nashville"), ("Nashville", "a city in Tennessee"), ("Tennessee", "a state")]
    assert routed(texts, "").route("Where is Madison?").retriever == "pagerank"
    assert character([]) == character([Passage("urn:1", "t", "x")])


def test_a_language_that_the_model_does_not_know_goes_to_words():
    class English(HashEmbedder):
        languages = frozenset({"en"})

    assert routed(PLAIN, "", English(16)).route("乌镇在哪里？").retriever == "lexical"


# context


def test_a_block_ends_before_the_line_that_is_too_much():
    assert within(["aaaa", "bbbb", "cccc"], 2) == ("aaaa", "bbbb")
    assert within(["a" * 100, "b"], 3) == ()
    assert ContextBlocks().text == ""


def test_a_chinese_question_is_compared_with_what_a_relation_says_in_chinese():
    class English(HashEmbedder):
        languages = frozenset({"en"})

    relations = (
        Relation("urn:a", "urn:b", "Alila near Xizha", chinese="阿丽拉附近西栅"),
        Relation("urn:a", "urn:b", "Alila offers pool", chinese="阿丽拉提供泳池"),
    )
    graph = EntityGraph(Knowledge(things("a", "b"), relations), TextVectors(English(64)))
    assert [item.place for item in graph.relation_near("哪里提供泳池？", 1)] == [1]
    assert graph.relation_near("哪里提供泳池？", 1)[0].similarity > 0.3
    assert [item.place for item in graph.relation_near("Alila near Xizha", 1)] == [0]
