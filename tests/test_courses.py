"""Courses: chains, cycles, paths, gaps and what is taught twice; the verb and the pages."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyoxigraph import Literal, NamedNode, Triple
from studies import BASE, Campus, course, iri, thing, university

from kgplatform.academic.courses import Catalogue, layered
from kgplatform.academic.goals import reach
from kgplatform.academic.syllabi import GapKind, gaps, overlaps
from kgplatform.academic.terms import term
from kgplatform.cli.main import main
from kgplatform.errors import NotFoundError
from kgplatform.graph import KnowledgeGraph
from kgplatform.testing import HashEmbedder
from kgplatform.vocab import LABEL
from kgplatform.web.app import create_app


def catalogue(*more: Triple, language: str = "en", embedder: bool = False) -> Catalogue:
    campus = Campus(HashEmbedder() if embedder else None)
    campus.state([*university(), *more])
    return Catalogue(campus.parts, language)


def codes(found: Catalogue, iris) -> list[str]:
    return [found.courses[item].code for item in iris]


def test_a_chain_has_what_comes_before_in_layers_of_the_longest_path():
    found = catalogue(Triple(iri("dd3001"), term("hasPrerequisite"), iri("aa1001")))
    chain = found.chain(found.find("DD3001").iri)
    assert [codes(found, layer) for layer in chain.layers] == [["AA1001", "BB1001"], ["CC2001"], ["DD3001"]]
    assert len(chain.steps) == 4
    assert chain.cycles == ()


def test_a_prerequisite_stated_the_other_way_round_counts_the_same():
    found = catalogue(Triple(iri("ee3001"), term("prerequisiteOf"), iri("ff3001")))
    assert codes(found, found.needs(found.find("FF3001").iri)) == ["EE3001"]


def test_courses_that_ask_for_one_another_are_told_as_a_cycle_in_one_layer():
    found = catalogue(Triple(iri("aa1001"), term("hasPrerequisite"), iri("cc2001")))
    chain = found.chain(found.find("DD3001").iri)
    assert [sorted(codes(found, cycle)) for cycle in chain.cycles] == [["AA1001", "CC2001"]]
    assert codes(found, chain.layers[1]) == ["AA1001", "CC2001"]
    assert found.plan(found.find("DD3001").iri).cycles == chain.cycles


numbers = st.integers(0, 9)


@settings(max_examples=60, deadline=None)
@given(st.dictionaries(numbers, st.frozensets(numbers, max_size=4), max_size=10))
def test_a_course_stands_above_all_it_asks_for_unless_they_are_a_cycle(edges):
    nodes = {number: NamedNode(f"{BASE}{number}") for number in range(10)}
    needs = {nodes[n]: frozenset(nodes[m] for m in edges.get(n, ())) for n in range(10)}
    layers = layered(needs)
    place = {course: n for n, layer in enumerate(layers) for group in layer for course in group}
    group_of = {course: id(group) for layer in layers for group in layer for course in group}
    assert set(place) == set(needs)
    for one, others in needs.items():
        for other in others:
            assert place[one] > place[other] or group_of[one] == group_of[other]
    assert all(layer for layer in layers)


def test_a_path_leaves_out_what_is_known_and_what_the_known_courses_needed():
    found = catalogue()
    goal, known = found.find("DD3001").iri, [found.find("CC2001").iri]
    plan = found.plan(goal, known)
    assert [codes(found, group) for group in plan.rounds] == [["DD3001"]]
    assert codes(found, plan.spared) == ["AA1001", "BB1001"]
    assert plan.credits == 6
    whole = found.plan(goal)
    assert [codes(found, group) for group in whole.rounds] == [["AA1001", "BB1001"], ["CC2001"], ["DD3001"]]
    assert found.plan(goal, [goal]).remaining == ()


def test_what_is_advised_is_told_apart_from_what_is_demanded():
    found = catalogue(Triple(iri("dd3001"), term("recommendedBackground"), iri("ff3001")))
    plan = found.plan(found.find("DD3001").iri)
    assert codes(found, plan.advised) == ["FF3001"]
    assert "FF3001" not in codes(found, plan.remaining)


def test_a_concept_leads_to_the_nearest_course_that_teaches_it_with_the_others_as_choices():
    found = catalogue()
    plan = reach(found, "room acoustics")
    assert found.courses[plan.goal].code == "EE3001"
    assert [(found.courses[course].code, count) for course, count in plan.choices] == [("DD3001", 4)]


@pytest.mark.parametrize(("asked", "said"), [("Sounds", "did you mean"), ("", "no course"), ("ZZ9999", "no course")])
def test_a_goal_that_is_nothing_says_so(asked, said):
    with pytest.raises(NotFoundError, match=said):
        reach(catalogue(), asked)


def test_a_concept_that_no_course_teaches_is_no_goal():
    with pytest.raises(NotFoundError, match="no course in the graph teaches"):
        reach(catalogue(*thing("tensors", "KnowledgeConcept", "tensors")), "tensors")


def test_nodes_of_one_code_are_one_course_named_in_the_language():
    again = [
        *thing("xx", "Course", "声学", language="zh"),
        Triple(iri("xx"), term("courseCode"), Literal("DD3001")),
        Triple(iri("xx"), term("hasPrerequisite"), iri("ff3001")),
    ]
    found = catalogue(*again, language="zh")
    sound = found.find("声学")
    assert sound.name == "DD3001 声学"
    assert found.find("DD3001") == sound
    assert {"CC2001", "FF3001"} == set(codes(found, found.needs(sound.iri)))
    assert len(found) == 6


def test_gaps_are_missing_syllabi_and_concepts_taught_nowhere_before():
    more = [
        *thing("gg1001", "Course", "GG1001"),
        Triple(iri("ee3001"), term("hasPrerequisite"), iri("gg1001")),
        *thing("psychology", "KnowledgeConcept", "psychology"),
        Triple(iri("ee3001"), term("learningOutcome"), Literal("apply psychology to rooms")),
    ]
    found = catalogue(*more)
    told = {(gap.kind, found.courses[gap.course].code, gap.missing) for gap in gaps(found)}
    assert (GapKind.NO_SYLLABUS, "EE3001", iri("gg1001")) in told
    assert (GapKind.NOT_TAUGHT, "EE3001", iri("psychology")) in told
    assert (GapKind.NOT_BEFORE, "EE3001", iri("interference")) in told
    assert (GapKind.NOT_BEFORE, "DD3001", iri("digital-filters")) in told
    assert not [gap for gap in told if gap[1] == "DD3001" and gap[2] == iri("interference")], "CC2001 comes before"


def test_chinese_outcomes_name_concepts_too():
    more = [
        *thing("傅里叶变换", "KnowledgeConcept", "傅里叶变换", language="zh"),
        Triple(iri("ff3001"), term("learningOutcome"), Literal("能够用傅里叶变换分析信号")),
    ]
    found = catalogue(*more)
    assert [gap.missing for gap in gaps(found) if gap.because.startswith("能够")] == [iri("傅里叶变换")]


def test_two_syllabi_share_what_is_worded_alike():
    found = catalogue()
    (pair,) = overlaps(found, similarity=0.8)
    assert {found.courses[pair.first].code, found.courses[pair.second].code} == {"DD3001", "EE3001"}
    assert [match.first for match in pair.concepts] == ["room acoustics"]
    assert [match.similarity for match in pair.outcomes] == [1.0]
    assert pair.share == pytest.approx(1.0)
    assert not pair.ordered


def test_what_is_near_in_meaning_is_shared_from_the_threshold_on():
    more = course("HH1001", "Noise", covers=["rooms acoustics"])
    near = catalogue(*more, embedder=True)
    alike = {near.courses[item.second].code for item in overlaps(near, similarity=0.7)}
    assert "HH1001" in alike
    assert "HH1001" not in {near.courses[item.second].code for item in overlaps(near, similarity=0.999)}


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    with KnowledgeGraph.create(tmp_path / "studies", ontology="academic") as kg:
        kg.dataset.state(university())
        kg.dataset.state([Triple(iri("cc2001"), LABEL, Literal("波动学", language="zh"))])
    return tmp_path / "studies"


def test_the_verb_tells_chain_and_path(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["courses", "DD3001", "--known", "AA1001", "-w", str(workspace)]) == 0
    out = capsys.readouterr().out
    assert "3 remain, 18 credits" in out
    assert main(["courses", "-w", str(workspace), "--format", "json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert len(told["courses"]) == 6
    assert {gap["kind"] for gap in told["gaps"]} == {"not-before"}
    assert main(["courses", "Sond", "-w", str(workspace)]) == 1
    assert "did you mean 'Sound'" in capsys.readouterr().err


@pytest.mark.parametrize(("language", "words"), [("en", "What has to come before"), ("zh", "之前需修的课程")])
def test_the_page_of_a_course_shows_its_chain_query_and_tables(workspace: Path, language: str, words: str) -> None:
    with KnowledgeGraph.open(workspace) as kg:
        client = create_app(kg).test_client()
        text = client.get(f"/courses/DD3001?known=AA1001&lang={language}").get_data(as_text=True)
        assert words in text
        assert "hasPrerequisite*" in text
        for code in ("AA1001", "BB1001", "CC2001"):
            assert code in text
        if language == "zh":
            assert "波动学" in text
        rows = client.get("/courses/DD3001?format=csv&table=prerequisites").get_data(as_text=True).splitlines()
        assert len(rows) == 4
        assert client.get("/courses/DD3001?format=csv&table=nonsense").status_code == 404


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_list_of_courses_leads_to_goals(workspace: Path, language: str) -> None:
    with KnowledgeGraph.open(workspace) as kg:
        client = create_app(kg).test_client()
        assert client.get(f"/courses?lang={language}").status_code == 200
        moved = client.get("/courses?goal=room+acoustics&known=AA1001")
        assert moved.headers["Location"] == "/courses/EE3001?known=AA1001&towards=room+acoustics"
        there = client.get(moved.headers["Location"]).get_data(as_text=True)
        assert "/courses/DD3001" in there, "the other course that teaches it is offered"
        assert client.get("/courses?goal=nothing+such").status_code == 404


def test_without_courses_the_page_says_how_to_get_some(tmp_path: Path) -> None:
    with KnowledgeGraph.create(tmp_path / "empty", ontology="academic") as kg:
        client = create_app(kg).test_client()
        assert "kgplatform add" in client.get("/courses").get_data(as_text=True)
        assert "kgplatform add" in client.get("/literature").get_data(as_text=True)
        assert "kgplatform communities --refresh" in client.get("/communities").get_data(as_text=True)
