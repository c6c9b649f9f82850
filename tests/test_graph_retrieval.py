"""Retrieval by things and relations: each rule on a graph small enough to be worked out by hand."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyoxigraph import NamedNode

from benchmarks.studies.left_out import STUDIED, StatedGraph
from kgplatform.errors import ModelUnavailableError
from kgplatform.models.stubs import HashEmbedder, ScriptedModel
from kgplatform.retrieval import entity_graph as eg
from kgplatform.retrieval import entity_retrieval as dual
from kgplatform.retrieval import pagerank
from kgplatform.retrieval.entity_retrieval import CommunityRetriever, GreedyRetriever, SeededRetriever
from kgplatform.retrieval.fusion import RouterRetriever, character
from kgplatform.retrieval.index import ChunkIndex
from kgplatform.retrieval.methods import retriever
from kgplatform.retrieval.similarity import SourceText
from kgplatform.retrieval.sources import Corpus, Rows
from kgplatform.types import Chunk


def things(*names, **passages):
    return tuple(eg.Thing(f"urn:{name}", name, (name,), passages=tuple(passages.get(name, ()))) for name in names)


class English(HashEmbedder):
    languages = frozenset({"en"})


def graph_of(edges, *, names="abcdefgh", weights=()):
    """A graph of one-letter things; an edge ``ab`` says that a meets b and was read in passage ``urn:p:ab``."""
    heavy = dict(weights)
    relations = tuple(
        eg.GraphRelation(
            f"urn:{one}", f"urn:{other}", f"{one} meets {other}", heavy.get(one + other, 1.0), (f"urn:p:{one}{other}",)
        )
        for one, other in edges
    )
    return eg.EntityGraph(eg.Knowledge(things(*names), relations))


def edges_of(graph, found):
    return {"".join(graph.thing(end).label for end in graph.ends[number]) for number in found.relations}


def test_targets_are_tied_by_the_shortest_paths_and_dead_ends_are_left_out():
    # a - b - c, a - d - e - c, c - f: the way over b is the shorter one, f leads nowhere
    graph = graph_of(["ab", "bc", "ad", "de", "ec", "cf"])
    found = eg.tied(graph, (0, 2))
    assert edges_of(graph, found) == {"ab", "bc"}
    assert found.things[:2] == (0, 2)


@pytest.mark.parametrize(("longest", "reached"), [(4, True), (3, False), (1, False)])
def test_no_path_is_longer_than_allowed(longest, reached):
    graph = graph_of(["ab", "bc", "cd", "de"])  # a to e in four
    found = eg.tied(graph, (0, 4), longest=longest)
    assert (len(found.relations) == 4) is reached
    assert {0, 4} <= set(found.things)


@given(st.sets(st.sampled_from([a + b for a in "abcdefgh" for b in "abcdefgh" if a < b])), st.integers(2, 4))
def test_what_ties_targets_is_a_forest_within_the_graph(edges, targets):
    graph = graph_of(sorted(edges))
    found = eg.tied(graph, tuple(range(targets)), longest=8)
    assert len(found.relations) < max(len(found.things), 1)
    ends = {end for number in found.relations for end in graph.ends[number]}
    assert ends <= set(found.things)


def test_vectors_are_made_once_and_kept_over_processes(tmp_path):
    class Counting(HashEmbedder):
        made = 0

        def embed(self, texts):
            Counting.made += len(texts)
            return super().embed(texts)

    first = eg.EmbeddedTexts(Counting(16), tmp_path / "texts.npz")
    first.of(["one", "two"])
    first.keep(["one", "two"])
    again = eg.EmbeddedTexts(Counting(16), tmp_path / "texts.npz")
    assert np.allclose(again.of(["two", "three"])[0], HashEmbedder(16).embed(["two"])[0], atol=1e-2)
    assert Counting.made == 3
    again.keep(["two", "three"])
    eg.EmbeddedTexts(Counting(16), tmp_path / "texts.npz").of(["two", "three"])
    assert Counting.made == 3
    again.of(["four"])
    again.keep(["two", "three", "four"])
    eg.EmbeddedTexts(Counting(16), tmp_path / "texts.npz").of(["four"])
    assert Counting.made == 4
    again.keep(["three"])
    (tmp_path / "texts.npz").write_bytes(b"junk")
    assert eg.EmbeddedTexts(Counting(16), tmp_path / "texts.npz").of(["one"]).any()


NAMED = eg.EntityGraph(eg.Knowledge(things("Hank Snow", "Nashville", "乌镇")))


def test_names_that_the_graph_knows_come_first_and_weights_sum_to_one():
    found = dual.asked_entities("Did Hank Snow ever see CS101 in Nashville?", NAMED)
    assert {item.text for item in found.entities} == {"hank snow", "nashville", "cs101"}
    assert sum(item.weight for item in found.entities) == pytest.approx(1)
    assert found.by == "built-in"
    assert dual.asked_entities("乌镇有什么酒店？", NAMED).entities[0].text == "乌镇"
    assert dual.asked_entities("", NAMED).entities == ()


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
    found = dual.asked_entities("Where is Nashville?", NAMED, ScriptedModel(reply))
    assert [item.text for item in found.entities] == ["nashville"]
    assert found.note


def test_keywords_of_both_levels_with_clues():
    found = dual.asked_keywords("Who sang in Nashville?", NAMED, ("Hank Snow", "country music"))
    assert (found.low, found.high) == (("nashville", "Hank Snow"), ("Who sang in Nashville?", "country music"))
    reply = json.dumps({"high_level_keywords": ["singing", 3], "low_level_keywords": [" Nashville ", ""]})
    model = dual.asked_keywords("Who sang in Nashville?", NAMED, (), ScriptedModel(reply))
    assert (model.high, model.low) == (("singing",), ("Nashville",))


TIED = eg.Knowledge(
    (
        eg.Thing("urn:a", "Alpha", ("Alpha",), passages=("urn:p:1",)),
        eg.Thing("urn:b", "Beta", ("Beta",), passages=("urn:p:1", "urn:p:2")),
        eg.Thing("urn:c", "Gamma", ("Gamma",), passages=("urn:p:2",)),
        eg.Thing("urn:d", "Delta", ("Delta",), passages=("urn:p:4",)),
    ),
    (
        eg.GraphRelation("urn:a", "urn:b", "Alpha paints Beta", 1.0, ("urn:p:1",)),
        eg.GraphRelation("urn:b", "urn:c", "Beta paints Gamma", 2.0, ("urn:p:1", "urn:p:2")),
        eg.GraphRelation("urn:b", "urn:c", "zzz qqq", 1.0, ("urn:p:3",)),
    ),
)


def test_relations_of_the_path_that_are_not_relevant_are_pruned():
    graph = eg.EntityGraph(TIED)
    options = dual.DualOptions(relation=0.3)
    found = dual.by_paths("What does Alpha paint, and who paints Gamma?", ["Alpha", "Gamma"], graph, options)
    assert found.targets == (0, 2)
    assert set(found.kept) == {0, 1}
    strict = dual.by_paths("What does Alpha paint?", ["Alpha", "Gamma"], graph, dual.DualOptions(relation=0.99))
    assert strict.kept == ()
    assert set(strict.pruned) == {0, 1}


def test_passages_count_the_kept_relations_read_in_them_and_isolated_targets_keep_theirs():
    graph = eg.EntityGraph(TIED)
    found = dual.by_paths(
        "Alpha paints Beta paints Gamma", ["Alpha", "Gamma", "Delta"], graph, dual.DualOptions(relation=0.1)
    )
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
    kept = dual.by_paths(question, ["a", "c"], graph, dual.DualOptions(relation=0.05))
    assert set(kept.context[:2]) == set(kept.kept)
    assert len(kept.context) == len(edges)
    short = dual.by_paths(question, ["a", "c"], graph, dual.DualOptions(relation=0.05, tokens=7))
    assert set(short.context) == set(kept.kept)


def test_relations_are_ranked_by_relevance_degree_and_weight():
    # equal words, so that degree and weight alone decide
    knowledge = eg.Knowledge(
        things("a", "b", "c", "d"),
        (
            eg.GraphRelation("urn:c", "urn:d", "one paints other", 1.0, ("urn:p:cd",)),
            eg.GraphRelation("urn:a", "urn:b", "one paints other", 3.0, ("urn:p:ab",)),
            eg.GraphRelation("urn:a", "urn:b", "one paints other", 1.0, ("urn:p:ba",)),
        ),
    )
    found = dual.by_relations(["paints"], eg.EntityGraph(knowledge), dual.DualOptions(relation=0.1))
    assert found.relations == (1, 2, 0)
    like = float(eg.EntityGraph(knowledge).near_relations.similarities("paints")[0])
    assert found.scores[0] == pytest.approx(like * 1.2)  # the greatest rank (4) and weight (3)
    assert found.scores[2] == pytest.approx(
        like * (1 + 0.1 * math.log(3) / math.log(5) + 0.1 * math.log(2) / math.log(4))
    )
    assert [iri for iri, _ in found.passages] == ["urn:p:ab", "urn:p:ba", "urn:p:cd"]


TEXTS = {
    "urn:p:1": ("Hank Snow", "Hank Snow sang Hello Love and died in Madison."),
    "urn:p:2": ("Madison", "Madison is a suburb of Nashville."),
    "urn:p:3": ("Nashville", "Nashville is a city in Tennessee."),
    "urn:p:4": ("乌镇", "乌镇在桐乡市，西栅景区很大。"),
    "urn:p:5": ("Boats", "Boats float on canals."),
}
KNOWN = eg.Knowledge(
    (
        eg.Thing("urn:hank", "Hank Snow", ("Hank Snow", "Clarence Snow"), "a singer", "person", (), ("urn:p:1",)),
        eg.Thing("urn:madison", "Madison", ("Madison",), "", "suburb", ("Nashville",), ("urn:p:1", "urn:p:2")),
        eg.Thing("urn:nashville", "Nashville", ("Nashville",), "", "city", (), ("urn:p:2", "urn:p:3")),
        eg.Thing("urn:wuzhen", "Wuzhen", ("Wuzhen", "乌镇"), "", "town", (), ("urn:p:4",)),
    ),
    (
        eg.GraphRelation("urn:hank", "urn:madison", "Hank Snow died in Madison", 1.0, ("urn:p:1",)),
        eg.GraphRelation("urn:madison", "urn:nashville", "Madison part of Nashville", 2.0, ("urn:p:2",)),
    ),
    (eg.Keyword("Madison", ("urn:p:1", "urn:p:2")), eg.Keyword("country music", ("urn:p:1",))),
    (
        eg.Report(
            "urn:c:1",
            "Nashville, Madison",
            "Singers died near Nashville.",
            frozenset({"urn:hank", "urn:madison"}),
            0,
            9.0,
        ),
        eg.Report("urn:c:1", "纳什维尔", "歌手在纳什维尔附近去世。", frozenset({"urn:hank", "urn:madison"}), 0, 9.0),
        eg.Report("urn:c:2", "Wuzhen", "A water town.", frozenset({"urn:wuzhen"}), 1, 2.0),
    ),
)


def sources(*, knowledge=KNOWN, model=None, rows=None, folder=None, embedder=None):
    index = ChunkIndex(folder / "chunks" if folder else None, embedder or HashEmbedder(256))
    index.sync((Chunk(NamedNode(i), NamedNode(i), 0, 0, len(text), text), title) for i, (title, text) in TEXTS.items())
    passages = [pagerank.GraphPassage(i, title, text) for i, (title, text) in TEXTS.items()]
    return Corpus(index, passages=lambda: passages, knowledge=lambda: knowledge, model=model, rows=rows, folder=folder)


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


def test_dual_level_ties_what_the_question_names():
    hits, trace = dual.DualLevelRetriever(sources()).explain("What ties Hank Snow to Nashville?", 4)
    assert {"urn:p:1", "urn:p:2"} <= set(iris(hits)[:3])
    assert set(trace.local.targets) >= {0, 2}
    assert set(trace.local.subgraph.relations) == {0, 1}
    assert trace.blocks.relations
    assert [hit.rank for hit in hits] == list(range(1, len(hits) + 1))


def test_clues_can_be_left_out():
    _, with_clues = dual.DualLevelRetriever(sources(), options=dual.DualOptions(clue=0.1)).explain(
        "country music in Madison", 3
    )
    _, without = STUDIED["dual-level-no-clues"](sources()).explain("country music in Madison", 3)
    assert "country music" in with_clues.clues
    assert without.clues == ()


@pytest.mark.parametrize("name", ["greedy", "dual-level", "dual-level-published", "pagerank-stated", "communities"])
def test_without_a_graph_or_an_embedder_nothing_breaks(name):
    assert STUDIED[name](sources(knowledge=eg.Knowledge())).retrieve("Where is Nashville?", 3) is not None
    index = ChunkIndex(None, None)
    bare = Corpus(index, knowledge=lambda: KNOWN)
    assert STUDIED[name](bare).retrieve("Where is Nashville?", 3) is not None


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


def test_the_published_seeds_are_those_of_the_formula():
    passages = [
        pagerank.GraphPassage("urn:1", "", "", ("ann", "bob")),
        pagerank.GraphPassage("urn:2", "", "", ("bob",)),
        pagerank.GraphPassage("urn:3", "", ""),
    ]
    graph = StatedGraph.of(passages, [pagerank.PassageFact("ann", "ann knows bob", "bob")])
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


def test_statements_are_used_where_there_are_any_and_followed_when_they_change(tmp_path):
    made = sources(folder=tmp_path)
    hits, trace = retriever("pagerank", made).explain("Where did Hank Snow die?", 3)
    assert trace.statements[0][0] == "Hank Snow died in Madison"
    assert iris(hits)[0] == "urn:p:1"
    _, plain = retriever("pagerank-shared", made).explain("Where did Hank Snow die?", 3)
    assert plain.statements == ()
    stamp = (tmp_path / "statements.npz").stat().st_mtime_ns
    retriever("pagerank", sources(folder=tmp_path)).retrieve("Hank Snow", 2)
    assert (tmp_path / "statements.npz").stat().st_mtime_ns == stamp
    fewer = eg.Knowledge(KNOWN.things, KNOWN.relations[:1])
    retriever("pagerank", sources(folder=tmp_path, knowledge=fewer)).retrieve("Hank Snow", 2)
    assert (tmp_path / "statements.npz").stat().st_mtime_ns != stamp


def routed(texts, question, embedder=None):
    index = ChunkIndex(None, embedder or HashEmbedder(64))
    passages = [pagerank.GraphPassage(f"urn:{n}", title, text) for n, (title, text) in enumerate(texts)]
    index.sync((Chunk(NamedNode(p.iri), NamedNode(p.iri), 0, 0, len(p.text), p.text), p.title) for p in passages)
    return RouterRetriever(Corpus(index, passages=lambda: passages))


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
    assert character([]) == character([pagerank.GraphPassage("urn:1", "t", "x")])


def test_a_language_that_the_model_does_not_know_goes_to_words():
    assert routed(PLAIN, "", English(16)).route("乌镇在哪里？").retriever == "lexical"


def test_a_chinese_question_is_compared_with_what_a_relation_says_in_chinese():
    relations = (
        eg.GraphRelation("urn:a", "urn:b", "Alila near Xizha", chinese="阿丽拉附近西栅"),
        eg.GraphRelation("urn:a", "urn:b", "Alila offers pool", chinese="阿丽拉提供泳池"),
    )
    graph = eg.EntityGraph(eg.Knowledge(things("a", "b"), relations), eg.EmbeddedTexts(English(64)))
    assert [item.place for item in graph.relation_near("哪里提供泳池？", 1)] == [1]
    assert graph.relation_near("哪里提供泳池？", 1)[0].similarity > 0.3
    assert [item.place for item in graph.relation_near("Alila near Xizha", 1)] == [0]


def test_names_are_runs_of_capitalised_words_years_and_chinese_words():
    found = pagerank.phrases("In 1998 she left the University of Oslo for Xi'an Jiaotong. The Hague was cold.")
    assert {"1998", "university of oslo", "xi an jiaotong", "hague"} <= found
    assert "in" not in found
    assert "the hague" not in found
    assert {"乌 镇", "红 楼 梦"} <= pagerank.phrases("《红楼梦》的作者没有到过乌镇。")


def test_a_name_inside_a_longer_one_does_not_count():
    find = pagerank.NamesInText(["new york", "new york city", "york", "西 湖"])
    assert find("She moved to New York City and saw 西湖.") == {"new york city", "西 湖"}
    assert find("Newyork") == frozenset()


LINKED = [
    pagerank.GraphPassage("urn:p:0", "Hank Snow", "Hank Snow sang Hello Love and died in Madison."),
    pagerank.GraphPassage("urn:p:1", "Madison", "Madison is a suburb of Nashville in Tennessee."),
    pagerank.GraphPassage("urn:p:2", "Tennessee", "Tennessee borders eight states."),
    pagerank.GraphPassage("urn:p:3", "Boats", "Boats float."),
    pagerank.GraphPassage("urn:p:4", "乌镇", "乌镇在桐乡市,西栅景区很大。"),
    pagerank.GraphPassage("urn:p:5", "桐乡市", "桐乡市属于嘉兴。"),
]


def test_what_a_passage_names_is_reached_from_it_in_both_languages():
    graph = pagerank.PassageGraph.of(LINKED)
    shares = graph.rank("Where did the singer of Hello Love die?", {0: 0.9})
    assert shares[0] > shares[1] > shares[2] > shares[3] == 0
    assert shares[4] == 0
    chinese = graph.rank("西栅在哪个地级市?", {4: 0.9})
    assert chinese[5] > 0 == chinese[0]


def test_a_name_inside_a_passages_own_title_is_not_hidden_by_it():
    passages = [
        pagerank.GraphPassage("urn:a", "Hanover, New York", "Hanover, New York is a small place."),
        pagerank.GraphPassage("urn:b", "New York", "A state with many towns."),
        pagerank.GraphPassage("urn:c", "乌镇西栅", "有很多客栈。"),
        pagerank.GraphPassage("urn:d", "乌镇", "在桐乡市。"),
        pagerank.GraphPassage("urn:e", "York", "An old city."),
    ]
    graph = pagerank.PassageGraph.of(passages)
    _, state, _, _, city = graph.rank("?", {0: 0.9})
    assert state > city
    assert graph.rank("?", {2: 0.9})[3] > 0


def test_statements_tie_the_names_of_their_ends():
    passages = [
        pagerank.GraphPassage("urn:a", "One", "x", names=("Ann",)),
        pagerank.GraphPassage("urn:b", "Two", "y", names=("Bob",)),
        pagerank.GraphPassage("urn:c", "Three", "z", names=("Cy",)),
    ]
    graph = pagerank.PassageGraph.of(passages, [pagerank.PassageFact("Ann", "Ann knows Bob", "Bob")])
    shares = graph.rank("who?", {0: 0.5})
    assert shares[1] > 0 == shares[2]
    assert graph.rank("who?", {}, {0: 0.8})[1] > 0


@given(st.dictionaries(st.integers(0, 5), st.floats(-1, 1), max_size=6), st.sampled_from([0.1, 0.5, 0.9]))
def test_shares_are_never_negative_and_never_more_than_all(near, damping):
    graph = pagerank.PassageGraph.of(LINKED)
    shares = graph.rank("Hank Snow", near, weights=pagerank.WalkWeights(damping=damping))
    assert (shares >= 0).all()
    assert shares.sum() <= 1 + 1e-9


def test_a_graph_read_back_ranks_alike(tmp_path):
    graph = pagerank.PassageGraph.of(
        LINKED, [pagerank.PassageFact("Nashville", "Nashville is in Tennessee", "Tennessee")]
    )
    graph.save(tmp_path / "graph.npz", "these")
    again = pagerank.PassageGraph.load(tmp_path / "graph.npz", "these")
    assert np.allclose(again.rank("Tennessee", {0: 0.4}), graph.rank("Tennessee", {0: 0.4}))
    assert pagerank.PassageGraph.load(tmp_path / "graph.npz", "others") is None
    (tmp_path / "graph.npz").write_bytes(b"junk")
    assert pagerank.PassageGraph.load(tmp_path / "graph.npz", "these") is None


def linked(folder=None, passages=LINKED):
    index = ChunkIndex(folder / "chunks" if folder else None, HashEmbedder(256))
    index.sync((Chunk(NamedNode(p.iri), NamedNode(p.iri), 0, 0, len(p.text), p.text), p.title) for p in passages)
    documents = [SourceText(p.iri, p.title, p.text) for p in passages]
    return Corpus(index, passages=lambda: passages, documents=lambda: documents, folder=folder)


def test_sentences_are_known_by_their_place_in_the_document():
    (hit,) = retriever("sentences", linked()).retrieve("Boats float", 1)
    assert (hit.iri, hit.text) == (NamedNode("urn:p:3#char=0,12"), "Boats float.")


def test_graphs_are_kept_in_the_folder_and_made_anew_when_a_passage_changes(tmp_path):
    made = linked(tmp_path)
    retriever("tied-sentences", made).retrieve("Hank Snow", 2)
    files = {path.name: path.stat().st_mtime_ns for path in tmp_path.glob("*.npz")}
    assert set(files) == {"passages.npz", "similarity.npz"}
    retriever("tied-sentences", linked(tmp_path)).retrieve("Hank Snow", 2)
    assert {path.name: path.stat().st_mtime_ns for path in tmp_path.glob("*.npz")} == files
    more = [*LINKED, pagerank.GraphPassage("urn:p:6", "Zebra", "Zebras are striped.")]
    assert retriever("sentences", linked(tmp_path, more)).retrieve("Zebras are striped", 1)[0].text.startswith("Zebra")
