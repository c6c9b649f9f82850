"""What pages of large graphs are made with: counting by the store gives what going through the statements gives."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest
from atlas_study import country, geo, thing, travel
from hypothesis import given, settings
from hypothesis import strategies as st
from pyoxigraph import Literal, NamedNode, Quad, Triple

from kgplatform.describing import Labels, Told, Turned, describe
from kgplatform.graph import KnowledgeGraph
from kgplatform.store import DEFAULT_GRAPH, Store
from kgplatform.vocab import CORE, LABEL, TYPE, XSD_DECIMAL
from kgplatform.web import completing
from kgplatform.web.atlas import atlas, texts
from kgplatform.web.located import Spot, Ways, spot_of
from kgplatform.web.neighbours import Relation, Surroundings
from kgplatform.web.overview import Lately
from kgplatform.web.profiles import Members

HUB, MANY = thing("hub"), 2_300


@pytest.fixture(scope="module")
def kg(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeGraph]:
    """A country with a hub that many things are near to, one of them both ways, and a tie without a name."""
    with country(tmp_path_factory.mktemp("large")) as made:
        said = [Triple(HUB, LABEL, Literal("Hub", language="en"))]
        for number in range(MANY):
            said.append(Triple(thing(f"near-{number}"), geo("near"), HUB))
            said.append(Triple(thing(f"near-{number}"), TYPE, travel("Hotel")))
        said.append(Triple(HUB, geo("near"), thing("near-7")))
        link = NamedNode(f"{made.base}link/4f2a9c01d3")
        said += [
            Triple(link, NamedNode(f"{CORE}linkFrom"), thing("wuzhen")),
            Triple(link, NamedNode(f"{CORE}linkTo"), HUB),
        ]
        made.dataset.state(said)
        yield made


def _by_hand(kg: KnowledgeGraph, iri: NamedNode) -> Counter[NamedNode]:
    """Who refers to a thing, one statement after the other, as it was told before there was a count."""
    found: Counter[NamedNode] = Counter()
    dataset = kg.dataset
    for quad in kg.store.quads(None, None, iri, DEFAULT_GRAPH):
        term = kg.ontology.properties.get(quad.predicate)
        names = [term.inverse, term.iri if term.symmetric else None] if term else []
        turned = [Triple(iri, name, quad.subject) for name in names if name]
        said = next((triple for triple in turned if kg.store.has(triple)), None)
        if said is None or not (dataset.is_stated(said) or not dataset.is_stated(quad.triple)):
            found[quad.predicate] += 1
    return found


@pytest.mark.parametrize("name", ["hub", "wuzhen", "zhejiang", "asia", "hotel-3"])
def test_who_refers_to_a_thing_is_counted_as_by_hand(kg: KnowledgeGraph, name: str) -> None:
    told = Told(thing(name), kg.dataset, kg.ontology)
    assert told.counted("") == dict(_by_hand(kg, thing(name)))
    for predicate, number in told.counted("").items():
        assert sum(1 for _ in told.referring(predicate)) == number


def test_the_pages_of_a_hub_hold_each_thing_once(kg: KnowledgeGraph) -> None:
    near, seen = geo("near"), []
    for page in (0, 1, 91, 10_000):
        view = describe(
            HUB,
            dataset=kg.dataset,
            ontology=kg.ontology,
            find_evidence=kg.evidence_finder.find,
            turned=Turned(near, True, page),
        )
        group = next(item for item in view.incoming if item.predicate.iri == near)
        assert group.total == MANY - 1  # one of them the hub itself says
        seen += [subject.iri for subject in group.subjects] if page < 10_000 else []
    assert len(seen) == len(set(seen)) == 25 + 25 + 24


def test_the_number_of_things_that_a_hub_is_tied_to_is_that_of_its_relations(kg: KnowledgeGraph) -> None:
    surroundings = Surroundings(kg.dataset, kg.ontology, Labels(kg.dataset, kg.ontology, "en"))
    counted = surroundings.relations(HUB)
    assert counted[Relation(geo("near"), inward=True)] == MANY - 1
    everything = {other for relation in counted for other in surroundings.others(HUB, relation, most=MANY)}
    assert surroundings.number_of_others(HUB, counted) == len(everything)


def test_a_tie_without_a_name_is_called_by_its_ends(kg: KnowledgeGraph) -> None:
    link = NamedNode(f"{kg.base}link/4f2a9c01d3")
    assert Labels(kg.dataset, kg.ontology, "en").of(link).text == "Wuzhen – Hub"


def test_members_of_several_classes_count_once(kg: KnowledgeGraph) -> None:
    kg.dataset.state([Triple(thing("near-1"), TYPE, travel("Accommodation"))])
    members = Members(kg.store, kg.ontology, travel("Accommodation"))
    assert members.total == len(set(members)) == len(list(members))
    assert thing("near-1") in set(members)


def test_names_are_found_in_either_language_and_by_what_they_begin_with(kg: KnowledgeGraph) -> None:
    lately = Lately(kg)
    assert lately.called("乌镇", 3)[0] == thing("wuzhen")
    assert lately.called("hub", 3)[0] == HUB
    assert lately.called("  ", 3) == []
    assert lately.overview().classes[travel("Hotel")] == len(set(Members(kg.store, kg.ontology, travel("Hotel"))))


def test_completion_tells_the_share_of_a_large_class(kg: KnowledgeGraph) -> None:
    record = completing.schema(kg, Lately(kg).overview())
    assert isinstance(record["classes"], list)
    hotel = next(item for item in record["classes"] if item["name"] == "travel:Hotel")
    assert isinstance(record["properties"], list)
    names = {record["properties"][at]["name"]: number for at, number in hotel["properties"]}
    assert hotel["count"] >= MANY
    assert 0 < names["geo:near"] <= hotel["count"]


@settings(max_examples=60, deadline=None)
@given(st.text(st.characters(exclude_categories=("Cs",)), max_size=40), st.sampled_from(["", "en", "zh-Hans"]))
def test_texts_are_read_as_they_are(text: str, language: str) -> None:
    store = Store.open()
    literal = Literal(text, language=language) if language else Literal(text)
    store.apply(added=[Quad(thing("a"), LABEL, literal, DEFAULT_GRAPH), Quad(thing("b"), LABEL, HUB, DEFAULT_GRAPH)])
    assert texts(store, LABEL) == [(thing("a").value, text)]


@pytest.mark.parametrize(
    "value",
    [
        Literal("30.5", datatype=XSD_DECIMAL),
        Literal(-12),
        Literal(1.5e1),
        Literal("30.25"),
        Literal("30.25", language="en"),
        Literal("30.25 N"),
        Literal("1_0"),
        Literal("nan"),
        Literal("91"),
        HUB,
    ],
)
def test_a_position_is_read_alike_for_one_thing_and_for_all(value: Literal | NamedNode) -> None:
    store, by = Store.open(), Ways((), ())
    pairs = ((geo("latitude"), value), (geo("longitude"), Literal("120.5", datatype=XSD_DECIMAL)))
    store.apply(added=[Quad(thing("a"), name, term, DEFAULT_GRAPH) for name, term in pairs])
    expected = spot_of(store, thing("a"))
    if value == Literal("1_0"):  # Python would read it as ten
        expected = None
    assert atlas(store, by).spots.get(thing("a").value) == expected
    assert expected is None or isinstance(expected, Spot)


def test_the_number_that_tells_things_apart_is_no_part_of_a_name(kg: KnowledgeGraph) -> None:
    labels = Labels(kg.dataset, kg.ontology, "en")
    assert labels.of(thing("乌镇-4a75adc2")).text == "乌镇"
    assert labels.of(NamedNode("https://elsewhere.example/report-20240101")).text.endswith("20240101")
