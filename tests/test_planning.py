"""Looking ahead over the similarity graph, the main directions of points, and pictures of what a retrieval did."""

import numpy as np
import pytest
from pyoxigraph import NamedNode

from kgplatform.errors import ConfigError, WorkspaceError
from kgplatform.models.stubs import HashEmbedder
from kgplatform.retrieval import picture as drawing
from kgplatform.retrieval.entity_graph import GraphRelation, Knowledge, Thing
from kgplatform.retrieval.index import ChunkIndex
from kgplatform.retrieval.methods import retriever
from kgplatform.retrieval.pagerank import GraphPassage
from kgplatform.retrieval.picture import draw, heat_map
from kgplatform.retrieval.similarity import Edge, Moments, SentenceNode, SimilarityGraph, SourceText
from kgplatform.retrieval.sources import Corpus
from kgplatform.retrieval.traversal import PlanOptions, plan
from kgplatform.types import Chunk

# planning


def graph_of(vectors, edges):
    """One sentence a window, with the window's vector; edges by place."""
    points = np.array(vectors, dtype=np.float32)
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    nodes = tuple(SentenceNode(f"urn:{n}", 0, 1, f"sentence {n}", (n,)) for n in range(len(points)))
    ties = tuple(tuple(Edge(to, float(points[n] @ points[to])) for to in edges.get(n, ())) for n in range(len(points)))
    return SimilarityGraph(tuple((n,) for n in range(len(points))), nodes, points, points, ties, Moments.of(points))


ASKED = np.array([1, 1, 0], dtype=np.float32) / np.sqrt(2, dtype=np.float32)


def test_two_windows_that_cover_the_question_together_beat_a_nearer_one_alone():
    # 0 and 1 cover half of the question each (cosine .71), 2 is nearer (.8) but leads to nothing that helps
    graph = graph_of([[1, 0, 0], [0, 1, 0], [0.8, 0.33, 0.6], [0, 0, 1]], {0: (1,), 1: (0,), 2: (3,)})
    found = plan(graph, ASKED, 2)
    assert set(found.chosen.windows) == set(found.sentences) == {0, 1}
    assert found.chosen.worth == pytest.approx(1.0, abs=1e-6)
    assert found.scores[0] == pytest.approx(np.sqrt(0.5) + 0.5, abs=1e-6)
    shallow = plan(graph, ASKED, 1, PlanOptions(depth=1))
    assert (shallow.sentences, shallow.weighed) == ((2,), 4)


def test_windows_are_weighed_once_whatever_their_order_and_nothing_gives_an_empty_plan():
    graph = graph_of([[1, 0, 0], [0, 1, 0], [1, 1, 0]], {0: (1, 2), 1: (0, 2), 2: (0, 1)})
    found = plan(graph, ASKED, 5, PlanOptions(depth=5))
    assert found.weighed == 3 + 3 + 1
    assert sorted(found.sentences) == [0, 1, 2]
    none = np.zeros((0, 3), np.float32)
    assert plan(SimilarityGraph((), (), none, none, (), Moments.of(ASKED[None])), ASKED, 5).sentences == ()
    assert plan(graph_of([[1, 0, 0]], {}), ASKED, 0).sentences == ()


@pytest.mark.parametrize(("size", "count"), [(40, 200), (8, 30), (8, 4), (3, 1)])
def test_the_main_directions_with_one_point_more_are_those_found_anew(size, count):
    random = np.random.default_rng(size)
    moments = Moments.of((random.normal(size=(count, size)) * np.linspace(2, 0.2, size)).astype(np.float32))
    for _ in range(3):
        point = random.normal(size=size).astype(np.float32)
        found = moments.main_directions(point, 3)
        anew = np.linalg.eigh(moments.with_point(point))
        spread = [float(column @ moments.with_point(point) @ column) for column in found.T]
        assert np.allclose(spread, anew[0][::-1][:3], atol=1e-6)
        assert np.allclose(found.T @ found, np.eye(3), atol=1e-6)


# pictures

TEXTS = [
    ("Wuzhen", "乌镇在桐乡市。西栅景区很大。Wuzhen is a water town. It has canals. Boats go at night."),
    ("Xizha", "Xizha is a part of Wuzhen. Hotels stand by the canal. 西栅的酒店很多。Costs $5 or $6. 🚄 Trains stop."),
]
KNOWN = Knowledge(
    (
        Thing("urn:w", "Wuzhen", ("Wuzhen", "乌镇"), passages=("urn:d:0",)),
        Thing("urn:x", "西栅 Xizha", ("西栅 Xizha", "Xizha"), passages=("urn:d:1",)),
    ),
    (GraphRelation("urn:x", "urn:w", "西栅 Xizha part of Wuzhen", 1.0, ("urn:d:1",)),),
)


def sources():
    index = ChunkIndex(None, HashEmbedder(64))
    passages = [GraphPassage(f"urn:d:{n}", title, text) for n, (title, text) in enumerate(TEXTS)]
    index.sync((Chunk(NamedNode(p.iri), NamedNode(p.iri), 0, 0, len(p.text), p.text), p.title) for p in passages)
    documents = [SourceText(p.iri, p.title, p.text) for p in passages]
    return Corpus(index, passages=lambda: passages, documents=lambda: documents, knowledge=lambda: KNOWN)


LONG = [pytest.param(name, marks=pytest.mark.slow) for name in ("query", "kg", "planning", "communities")]


@pytest.mark.parametrize("name", ["dual-level", "lexical", *LONG])
def test_every_kind_of_retrieval_can_be_drawn_without_a_warning(name, tmp_path, recwarn):
    made = sources()
    for question in ("西栅 Xizha 有哪些酒店？$x$ 🚄", "Zyxwvut", ""):
        hits = draw(made, retriever(name, made), question, 4, tmp_path / "picture.png")
        assert hits == retriever(name, made).retrieve(question, 4)
        assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")
    assert not [str(warning.message) for warning in recwarn]


def test_the_same_picture_is_the_same_file(tmp_path):
    made = sources()
    for name in ("one.svg", "two.svg"):
        draw(made, retriever("dual-level", made), "What is Xizha a part of?", 3, tmp_path / name)
    one, two = ((tmp_path / name).read_bytes() for name in ("one.svg", "two.svg"))
    assert one == two
    assert one.lstrip().startswith(b"<?xml")


def test_a_file_that_is_no_picture_or_has_no_folder_is_told_before_anything_is_asked(tmp_path):
    made = sources()
    for name, said in (
        ("x.gif", "'.gif' is not a picture format"),
        ("x", "without a suffix"),
        ("none/x.png", "no folder"),
    ):
        with pytest.raises(ConfigError, match=said):
            draw(made, retriever("lexical", made), "Xizha", 3, tmp_path / name)
    (tmp_path / "held.png").mkdir()
    with pytest.raises(WorkspaceError, match="cannot be written"):
        draw(made, retriever("lexical", made), "Xizha", 3, tmp_path / "held.png")


def test_chinese_is_written_as_pinyin_where_no_font_has_it(monkeypatch):
    monkeypatch.setattr(drawing, "han_font", lambda: None)
    assert drawing.shown("西栅 hotel") == "xi zha hotel"
    assert drawing.shown("a\n b  c" + "d" * 60, 10) == "a b cdddd…"
    assert drawing.shown("costs $5") == r"costs \$5"
    assert "?" in drawing.shown("\u0e01")
    with drawing.pen():
        figure = heat_map(np.eye(2, dtype=np.float32), ["?", "1 西栅"], title="西栅")
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()] == ["?", "1 xi zha"]


def test_chinese_stays_where_a_font_has_it():
    if drawing.han_font() is None:
        pytest.skip("no Chinese font is installed")
    assert drawing.shown("西栅的酒店") == "西栅的酒店"
    assert drawing.shown("西栅的酒店", 6) == "西栅…"
