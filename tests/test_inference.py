"""Inference: what follows from the axioms, kept in line as statements come and go, and why."""

from __future__ import annotations

import io
from collections.abc import Iterable
from pathlib import Path

import owlrl
import pytest
import rdflib
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from pyoxigraph import BlankNode, Literal, NamedNode, Quad, RdfFormat, Triple, serialize

from kgplatform.building.inferring import Inference
from kgplatform.dataset import Change, EvidenceDataset
from kgplatform.errors import NotFoundError
from kgplatform.inference import Explanation, RuleKind, rules_of, why
from kgplatform.inference.scratch import concluded, strata
from kgplatform.inference.view import Admission
from kgplatform.ontology import read_ontology
from kgplatform.store import DEFAULT_GRAPH, Store, numbered, parse, skolemised
from kgplatform.vocab import LABEL, SAME_AS, TYPE

BASE = "https://example.org/kg/"
CHUNKS = tuple(NamedNode(f"{BASE}document/{'a' * 16}/chunk/{n}") for n in range(2))
ONTOLOGY = """
@prefix : <https://example.org/o#> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:Hotel a owl:Class ; rdfs:subClassOf :Place . :Place a owl:Class ; rdfs:subClassOf :Thing .
:Thing a owl:Class ; rdfs:subClassOf :Place .
:Site a owl:Class ; owl:equivalentClass :Place .
:Old a owl:Class . :OldHotel a owl:Class ; owl:equivalentClass [ owl:intersectionOf (:Hotel :Old) ] .
:Event a owl:Class ; owl:disjointWith :Place .
:in a owl:ObjectProperty, owl:TransitiveProperty ; owl:inverseOf :holds ; rdfs:domain :Place .
:holds a owl:ObjectProperty, owl:TransitiveProperty .
:part a owl:ObjectProperty ; rdfs:subPropertyOf :in .
:piece a owl:ObjectProperty ; owl:equivalentProperty :part .
:near a owl:ObjectProperty, owl:SymmetricProperty, owl:IrreflexiveProperty ; owl:inverseOf :near .
:chained a owl:ObjectProperty ; owl:propertyChainAxiom (:near :in :near) .
:grand a owl:ObjectProperty ; owl:propertyChainAxiom (:grand :grand) .
:ofKind a owl:ObjectProperty ; rdfs:subPropertyOf [ owl:inverseOf :near ] .
:self a owl:ObjectProperty, owl:ReflexiveProperty .
:code a owl:DatatypeProperty, owl:FunctionalProperty ; rdfs:subPropertyOf :mark ; rdfs:range rdfs:Literal .
:mark a owl:DatatypeProperty .
"""


def o(name: str) -> NamedNode:
    return NamedNode(f"https://example.org/o#{name}")


def e(name: str) -> NamedNode:
    return NamedNode(f"{BASE}entity/{name}")


def triples_of(turtle: str) -> list[Triple]:
    quads = numbered(parse(turtle.encode(), RdfFormat.TURTLE))
    return list(skolemised((quad.triple for quad in quads), "urn:kgplatform:node:t:"))


AXIOMS = triples_of(ONTOLOGY)
PREFIXES = (
    "@prefix : <https://example.org/o#> . @prefix e: <https://example.org/kg/entity/> . "
    "@prefix owl: <http://www.w3.org/2002/07/owl#> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . "
)


def facts(turtle: str) -> list[Triple]:
    return [quad.triple for quad in parse((PREFIXES + turtle).encode(), RdfFormat.TURTLE)]


def new_dataset(axioms: Iterable[Triple] = AXIOMS, store: Store | None = None) -> EvidenceDataset:
    dataset = EvidenceDataset(store or Store.open(), BASE)
    dataset.commit(Change(added={dataset.ontology: list(axioms)}))
    return dataset


def inference(dataset: EvidenceDataset, axioms: Iterable[Triple] = AXIOMS, **options: object) -> Inference:
    listed = list(axioms)
    return Inference(dataset, ontology=read_ontology(listed), triples=listed, **options)  # type: ignore[arg-type]


def inferred(dataset: EvidenceDataset) -> set[Triple]:
    return {quad.triple for quad in dataset.store.quads(graph=dataset.inferred)}


def followed(turtle: str, axioms: str = ONTOLOGY, **options: object) -> set[Triple]:
    listed = triples_of(PREFIXES + axioms)
    dataset = new_dataset(listed)
    dataset.commit(Change(added={CHUNKS[0]: facts(turtle)}))
    inference(dataset, listed, **options).run()
    assert dataset.violations() == (frozenset(), frozenset())
    return inferred(dataset)


THINGS = tuple(e(name) for name in ("a", "b", "c", "乌镇"))
PROPERTIES = ("in", "holds", "part", "piece", "near", "chained", "grand", "ofKind", "self")
things = st.sampled_from(THINGS)
links = st.builds(Triple, things, st.sampled_from(PROPERTIES).map(o), things)
types = st.builds(Triple, things, st.just(TYPE), st.sampled_from(("Hotel", "Old", "Place", "OldHotel", "Event")).map(o))
values = st.builds(Triple, things, st.sampled_from(("code", "near", "in")).map(o), st.sampled_from("1二").map(Literal))
sames = st.builds(Triple, things, st.just(SAME_AS), things | st.just(NamedNode("https://elsewhere.example/a")))
some_facts = st.lists(st.one_of(links, links, links, types, values, sames), min_size=1, max_size=5)


class ComingAndGoing(RuleBasedStateMachine):
    """Whatever comes and goes, the conclusions are those that a fresh start draws."""

    def __init__(self) -> None:
        super().__init__()
        self.dataset = new_dataset()
        self.inference = inference(self.dataset, domain_range=True)
        self.inference.run()

    @rule(graph=st.sampled_from(CHUNKS), added=some_facts, replaced=st.booleans())
    def commit(self, graph: NamedNode, added: list[Triple], replaced: bool) -> None:
        self.dataset.commit(Change(dropped=(graph,) if replaced else (), added={graph: added}))

    @rule(graph=st.sampled_from(CHUNKS))
    def drop(self, graph: NamedNode) -> None:
        self.dataset.commit(Change(dropped=(graph,)))

    @rule(stated=some_facts)
    def state(self, stated: list[Triple]) -> None:
        self.dataset.state(stated)

    @rule(struck=some_facts)
    def reject(self, struck: list[Triple]) -> None:
        self.dataset.reject(struck)

    @rule(data=st.data())
    def reject_a_conclusion(self, data: st.DataObject) -> None:
        held = sorted(inferred(self.dataset), key=str)
        if held:
            self.dataset.reject([data.draw(st.sampled_from(held))])

    @rule()
    def forgive(self) -> None:
        self.dataset.commit(Change(dropped=(self.dataset.rejected,)))

    @rule()
    def run(self) -> None:
        assert self.inference.run().incremental
        found = inferred(self.dataset)
        rules = self.inference.rules
        admission = Admission(self.dataset, rules.terms)
        anew = concluded(self.dataset, rules.applied(same=True), admission, most=100_000)
        assert found == anew.triples
        assert not any(self.dataset.is_stated(triple) for triple in found)
        assert self.inference.run().total == len(found)

    @invariant()
    def nothing_is_lost(self) -> None:
        assert self.dataset.violations() == (frozenset(), frozenset())


ComingAndGoing.TestCase.settings = settings(
    max_examples=60, stateful_step_count=12, deadline=None, suppress_health_check=list(HealthCheck)
)
TestComingAndGoing = ComingAndGoing.TestCase
