"""A workspace's graphs as retrievers see them: things, relations, keywords, and the similarity graph that grows."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgplatform.cli.main import main
from kgplatform.graph import KnowledgeGraph
from kgplatform.models.stubs import HashEmbedder
from kgplatform.retrieval.entity_graph import Knowledge, Thing
from kgplatform.retrieval.similarity import (
    PUBLISHED,
    GraphOptions,
    SimilarityGraph,
    SourceText,
    similarity_graph,
    themes,
)
from kgplatform.workspace.search import kept
from tests.workspaces import new_workspace

WEST = "Xizha is an attraction in Wuzhen. The Riverside Hotel is near Xizha. #canal\n"
EAST = "Dongzha is an attraction in Wuzhen. The Dongzha Teahouse is near Dongzha. #canal\n"
CHINESE = "西栅位于乌镇。枕水酒店位于西栅附近，适合家庭。\n"


def filled(folder):
    for name, text in {"west.txt": WEST, "east.md": EAST, "zh.txt": CHINESE}.items():
        (folder / name).write_text(text, encoding="utf-8")
    graph = KnowledgeGraph.open(new_workspace(folder / "workspace"))
    graph.workspace.__dict__["embedder"] = HashEmbedder(128)
    list(graph.add(*sorted(folder.glob("*.*"))))
    return graph


@pytest.fixture(scope="module")
def kg(tmp_path_factory):
    with filled(tmp_path_factory.mktemp("read")) as graph:
        graph.find_communities()
        yield graph


def test_a_keyword_keeps_its_passages_and_loses_those_removed_and_search_draws_what_it_did(tmp_path, capsys):
    def canal(kg):
        (found,) = [k.passages for k in kg.sources.knowledge().keywords if k.text.casefold() == "canal"]
        return found

    with filled(tmp_path) as kg:
        kg.search("What is near Xizha?", 3, retriever="dual-level", plot=tmp_path / "answer.svg")
        assert len(canal(kg)) == 2
        before = kg.sources.knowledge()
        list(kg.add(tmp_path / "west.txt"))
        assert kg.sources.knowledge().state == before.state
        gone = {c.iri.value for c in kg.registry.chunks(kg.registry.find("west.txt").document.iri)}
        kg.remove("west.txt")
        assert len(canal(kg)) == 1
        known = kg.sources.knowledge()
        assert not gone & {passage for item in (*known.things, *known.relations) for passage in item.passages}
    assert (tmp_path / "answer.svg").stat().st_size > 1_000
    search = ["search", "西栅", "-w", str(tmp_path / "workspace"), "--retriever", "lexical", "--plot"]
    assert main([*search, str(tmp_path / "x.bmp")]) == 2
    assert "not a picture format" in capsys.readouterr().err


def test_things_have_their_names_class_place_and_passages(kg):
    known = kg.sources.knowledge()
    xizha = next(thing for thing in known.things if "Xizha" in thing.names)
    assert xizha.kind
    assert xizha.passages
    assert set(xizha.passages) <= {passage.iri for passage in kg.sources.passages()}
    assert any("Wuzhen" in above or "乌镇" in above for above in xizha.above)
    assert [relation for relation in known.relations if "Xizha" in relation.text and relation.passages]
    assert {relation.subject for relation in known.relations} <= {thing.iri for thing in known.things}
    assert not {"hotel", "Hotel", "located in"} & {thing.label for thing in known.things}  # the ontology's terms


@pytest.mark.parametrize("name", ["greedy", "dual-level", "pagerank", "pagerank-shared", "router", "planning"])
def test_a_workspace_is_searched_by_its_graph(kg, name):
    for question in ("What is near Xizha?", "西栅附近有什么酒店？"):
        found = kg.search(question, 3, retriever=name)
        assert any("Xizha" in evidence.quote or "西栅" in evidence.quote for evidence in found)


def test_answers_lead_to_passages_and_reports_are_evidence_of_their_own(kg):
    question = "Which attractions are in Wuzhen?"
    assert kg.ask(question).values
    found = {evidence.source.rpartition("/")[2] for evidence in kg.search(question, 5, retriever="sparql")}
    assert set() < found <= {"west.txt", "east.md", "zh.txt"}
    reports = kg.search("Wuzhen", 3, retriever="communities")
    assert {evidence.source for evidence in reports} == {"communities"}
    assert all(evidence.quote.startswith(evidence.title) for evidence in reports)


def test_the_graph_is_gathered_once_for_a_version_and_is_the_same_object_while_it_is_the_same():
    version, made = [1], []

    def make():
        made.append(version[0])
        return Knowledge((Thing("urn:a", "a"),))

    given = kept(lambda: version[0], make)
    first = given()
    assert given() is first
    version[0] = 2
    assert given() is first
    assert made == [1, 2]


WORDS = ("boat", "inn", "old", "Wuzhen", "ticket", "乌镇", "客栈", "bridge")
SENTENCES = st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=4).map(" ".join), min_size=0, max_size=7)
DOCUMENTS = st.dictionaries(st.integers(0, 12), SENTENCES.map(lambda said: "".join(f"{one}. " for one in said)))
NEAR = GraphOptions(within=2, across=3, least_within=0.1, least_across=0.05)


class Counted(HashEmbedder):
    """An embedder that counts the texts that it is given."""

    def __init__(self, dimensions=16):
        super().__init__(dimensions)
        self.texts = 0

    def embed(self, texts):
        self.texts += len(texts)
        return super().embed(texts)


def sources(texts):
    return [SourceText(f"urn:{number}", f"Note {number % 3}", texts[number]) for number in sorted(texts)]


def assert_same(one, other):
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
def test_growing_gives_what_building_from_nothing_gives(states, options):
    embedder = Counted()
    graph: SimilarityGraph | None = None
    for texts in states:
        graph = similarity_graph(sources(texts), embedder, options, before=graph)
        assert_same(graph, similarity_graph(sources(texts), embedder, options))


def test_only_new_texts_are_embedded_and_another_order_is_built_anew():
    embedder = Counted()
    texts = {number: f"Inn {number} is old. Boats go at nine. Tea is sold." for number in range(40)}
    graph = similarity_graph(sources(texts), embedder)
    embedder.texts = 0
    grown = similarity_graph(sources({**texts, 50: "One new note. It is short. Really."}), embedder, before=graph)
    similarity_graph(sources(texts), embedder, before=grown)
    assert embedder.texts == 4
    turned = sources(texts)[::-1]
    assert_same(similarity_graph(turned, Counted(), before=graph), similarity_graph(turned, Counted()))


def test_a_graph_from_a_file_grows_like_the_one_that_was_saved(tmp_path):
    texts = {number: f"Inn {number} is old. Boats go at nine. Tea is sold. Bye." for number in range(12)}
    graph = replace(similarity_graph(sources(texts), Counted()), state="now")
    graph.save(tmp_path / "graph.npz", "kind")
    again = SimilarityGraph.load(tmp_path / "graph.npz", "kind")
    assert again.state == "now"
    assert_same(again, graph)
    del texts[3]
    assert_same(similarity_graph(sources(texts), Counted(), before=again), similarity_graph(sources(texts), Counted()))


def test_a_document_has_five_themes_which_its_windows_inherit():
    said = ["Wuzhen", "tea", "Wuzhen", "boats", "old Wuzhen", "tea", "inns", "silk", "bridges"]
    assert themes(said) == ("Wuzhen", "tea", "boats", "inns", "silk")
    assert themes([]) == ()
    given = [SourceText("urn:a", "", "One. Two. Three. Four.", keywords=lambda: said), SourceText("urn:b", "", "Five.")]
    graph = similarity_graph(given, Counted())
    assert [document.themes for document in graph.documents] == [("Wuzhen", "tea", "boats", "inns", "silk"), ()]


def note(folder, number):
    path = folder / f"note{number}.txt"
    path.write_text(f"Inn {number} is in Wuzhen. Boats go at nine. Tea costs {number} yuan. Bye.", encoding="utf-8")
    return path


def test_build_keeps_the_sentence_graph_in_line_where_one_is_used_and_tells_how_far_it_is(tmp_path):
    told = []
    with KnowledgeGraph.open(new_workspace(tmp_path / "kg", settings='[retrieval]\nretriever = "sentences"')) as kg:
        kg.workspace.__dict__["embedder"] = embedder = Counted(32)
        list(kg.add(*(note(tmp_path, number) for number in range(3)), build=False))
        kg.build(only="index", progress=lambda *done: told.append(done))
        assert [done for done in told if done[2] == "sentences"] == [(n, 3, "sentences") for n in (1, 2, 3)]
        embedder.texts = 0
        assert kg.search("Boats go at nine", 1)[0].quote.startswith("Boats go at nine")
        assert embedder.texts == 1
    with KnowledgeGraph.open(new_workspace(tmp_path / "plain")) as kg:
        kg.workspace.__dict__["embedder"] = Counted(32)
        list(kg.add(note(tmp_path, 4)))
        file = kg.folder / "chunks" / "graphs" / "similarity.npz"
        assert not file.exists()
        kg.search("Boats", retriever="sentences")
        before = file.read_bytes()
        list(kg.add(note(tmp_path, 5)))
        assert file.read_bytes() != before


def test_adding_and_removing_one_touches_the_kept_graph_by_what_changed(tmp_path):
    embedder = Counted(32)
    with KnowledgeGraph.open(new_workspace(tmp_path / "kg")) as kg:
        kg.workspace.__dict__["embedder"] = embedder
        list(kg.add(*(note(tmp_path, number) for number in range(6)), build=False))
        kg.build(only="index")
        first = kg.sources.similarity_graph()
        assert len(first.documents) == 6
        assert all(document.themes for document in first.documents)
        list(kg.add(note(tmp_path, 9), build=False))
        embedder.texts = 0
        kg.remove("note2.txt")
        grown = kg.sources.similarity_graph()
        assert embedder.texts == 1 + 2 + 4  # the passage, its windows, its sentences
        assert kg.sources.similarity_graph() is grown
        file = kg.folder / "chunks" / "graphs" / "similarity.npz"
        for spoilt in (b"", file.read_bytes()[:-200]):
            file.write_bytes(spoilt) if spoilt else file.unlink()
            kg.workspace.__dict__.pop("sources")
            assert_same(kg.sources.similarity_graph(), grown)
