"""The laws of inference: what follows is what an exhaustive search finds, whatever came and went, by either way."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from pyoxigraph import Literal, NamedNode, Triple
from test_inference import AXIOMS, CHUNKS, e, inference, inferred, new_dataset, o

from kgplatform.dataset import Change, EvidenceDataset
from kgplatform.errors import StoreError
from kgplatform.inference import RuleSet, rules_of
from kgplatform.inference.scratch import concluded
from kgplatform.inference.view import Admission, bound, relation_of, stated
from kgplatform.store import DEFAULT_GRAPH, Store
from kgplatform.streams import streamed
from kgplatform.types import Term
from kgplatform.vocab import SAME_AS, TYPE

THINGS = tuple(e(name) for name in ("a", "b", "c", "乌镇"))
PROPERTIES = ("in", "holds", "part", "piece", "near", "chained", "grand", "ofKind", "self")
things = st.sampled_from(THINGS)
links = st.builds(Triple, things, st.sampled_from(PROPERTIES).map(o), things)
types = st.builds(Triple, things, st.just(TYPE), st.sampled_from(("Hotel", "Old", "Place", "OldHotel", "Event")).map(o))
values = st.builds(Triple, things, st.sampled_from(("code", "near", "in")).map(o), st.sampled_from("1二").map(Literal))
sames = st.builds(Triple, things, st.just(SAME_AS), things | st.just(NamedNode("https://elsewhere.example/a")))
some_facts = st.lists(st.one_of(links, links, links, types, values, sames), min_size=1, max_size=5)


def naively(dataset: EvidenceDataset, rules: RuleSet) -> set[Triple]:
    """What follows, by trying every rule on every combination of statements until nothing is new."""
    admission = Admission(dataset, rules.terms)
    held = {q.triple for q in dataset.store.quads(graph=DEFAULT_GRAPH)}
    held = {t for t in held if admission.as_premise(t) and dataset.is_stated(t)}
    found: set[Triple] = set()
    while True:
        new: set[Triple] = set()
        for applied in rules.applied(same=True):
            bindings: list[dict[str, Term]] = [{}]
            for atom in applied.body:
                fitting = [t for t in held | found if relation_of(t) == atom.relation]
                parts = [part for t in fitting if (part := bound(atom, t)) is not None]
                bindings = [
                    b | part for b in bindings for part in parts if all(b.get(k, v) == v for k, v in part.items())
                ]
            conclusions = (stated(applied.head, binding) for binding in bindings)
            new |= {c for c in conclusions if c and admission.as_conclusion(c) and c not in held | found}
        if not new:
            return found
        found |= new


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
        assert found == naively(self.dataset, self.inference.rules)
        assert not any(self.dataset.is_stated(triple) for triple in found)
        assert self.inference.run().total == len(found)

    @invariant()
    def nothing_is_lost(self) -> None:
        assert self.dataset.violations() == (frozenset(), frozenset())


ComingAndGoing.TestCase.settings = settings(
    max_examples=120, stateful_step_count=12, deadline=None, suppress_health_check=list(HealthCheck)
)
TestComingAndGoing = ComingAndGoing.TestCase


@settings(max_examples=30, deadline=None)
@given(
    stated_facts=st.lists(st.one_of(links, links, links, types, values, sames), min_size=1, max_size=8),
    struck=some_facts,
    left_over=some_facts,
    restated=st.booleans(),
)
def test_from_scratch_follows_what_follows_and_nothing_else(
    stated_facts: list[Triple], struck: list[Triple], left_over: list[Triple], restated: bool
) -> None:
    dataset = new_dataset()
    dataset.commit(Change(added={CHUNKS[0]: stated_facts, dataset.rejected: struck}))
    new = [t for t in dict.fromkeys(left_over) if not dataset.store.has(t) and t not in struck]
    dataset.conclude(new, ())  # as a process that ended early, or another ontology, may have left them
    if restated:
        dataset.commit(Change(added={CHUNKS[1]: new[:1]}))
    rules = rules_of(AXIOMS, domain_range=True)
    result = concluded(dataset, rules.applied(same=True), Admission(dataset, rules.terms), most=100_000)
    assert result.triples() == naively(dataset, rules)
    assert {*result.lost()} == inferred(dataset) - result.triples()
    assert result.gained == len(result.triples() - inferred(dataset))
    dataset.conclude((), result.lost())
    dataset.conclude_lines(result.batches(), count=result.gained)
    assert inferred(dataset) == result.triples()
    assert dataset.violations() == (frozenset(), frozenset())


@given(parts=st.lists(st.binary(max_size=40)), size=st.integers(1, 50))
def test_a_streamed_file_reads_as_its_parts_in_a_row(parts: list[bytes], size: int) -> None:
    file = streamed(parts)
    assert b"".join(iter(lambda: file.read(size), b"")) == b"".join(parts)


def test_a_stream_that_breaks_off_leaves_the_store_as_it_was() -> None:
    store = Store.open()
    for many in (False, True):
        with pytest.raises(StoreError, match="was not changed"):
            store.add([b"<urn:a> <urn:p> <urn:b> .\n", b"<urn:a> <urn:p"], many=many)
    assert len(store) == 0
