"""Inference: what follows from the axioms, kept in line as statements come and go, and why."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import owlrl
import pytest
import rdflib
from pyoxigraph import NamedNode, RdfFormat, Triple

from kgplatform.building.inferring import Inference
from kgplatform.config import InferenceSettings
from kgplatform.dataset import Change, EvidenceDataset
from kgplatform.errors import NotFoundError
from kgplatform.inference import Explanation, RuleKind, rules_of, why
from kgplatform.inference.scratch import strata
from kgplatform.ontology import read_ontology
from kgplatform.store import Store, numbered, parse, skolemised
from kgplatform.vocab import SAME_AS, TYPE

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


def inference(dataset: EvidenceDataset, axioms: Iterable[Triple] = AXIOMS, **options: Any) -> Inference:
    listed = list(axioms)
    chosen = InferenceSettings(enabled=True, **options)
    return Inference(dataset, ontology=read_ontology(listed), triples=listed, settings=chosen)


def inferred(dataset: EvidenceDataset) -> set[Triple]:
    return {quad.triple for quad in dataset.store.quads(graph=dataset.inferred)}


def followed(turtle: str, axioms: str = ONTOLOGY, **options: object) -> set[Triple]:
    listed = triples_of(PREFIXES + axioms)
    dataset = new_dataset(listed)
    dataset.commit(Change(added={CHUNKS[0]: facts(turtle)}))
    inference(dataset, listed, **options).run()
    assert dataset.violations() == (frozenset(), frozenset())
    return inferred(dataset)


def test_each_kind_of_axiom_concludes_what_owl_says() -> None:
    found = followed(
        "e:a :in e:b . e:b :in e:c . e:d :part e:a ; :near e:x . e:x :in e:c . e:c :near e:y . e:h a :OldHotel ."
    )
    expected = facts(
        "e:a :in e:c . e:b :holds e:a . e:c :holds e:a, e:b, e:d, e:x . e:a :holds e:d . e:d :in e:a, e:b, e:c ; "
        ":piece e:a . e:b :holds e:d . e:x :near e:d . e:y :near e:c . e:d :chained e:y . e:x :chained e:y . "
        "e:h a :Hotel, :Old, :Place, :Site, :Thing ."
    )
    assert found == set(expected)


def test_conclusions_are_those_of_owlrl() -> None:
    turtle = (
        "e:a :in e:b . e:b :in e:c . e:c :in e:a . e:d :part e:a ; :near e:a . e:h a :Hotel, :Old . "
        "e:a :grand e:b . e:b :grand e:c ."
    )
    graph = rdflib.Graph()
    for triple in [*AXIOMS, *facts(turtle)]:
        graph.parse(data=f"{triple} .", format="nt")
    owlrl.DeductiveClosure(owlrl.OWLRL_Semantics).expand(graph)
    entity = rdflib.URIRef(e("").value)
    ours = f"{rdflib.URIRef('https://example.org/o#')}"
    theirs = {
        (str(s), str(p), str(x))
        for s, p, x in graph
        if str(s).startswith(entity) and (str(p).startswith(ours) or str(x).startswith(ours))
    }
    stated = {(t.subject.value, t.predicate.value, t.object.value) for t in facts(turtle)}  # type: ignore[union-attr]
    found = {(t.subject.value, t.predicate.value, t.object.value) for t in followed(turtle, domain_range=True)}  # type: ignore[union-attr]
    assert found == theirs - stated


def test_classes_from_domain_and_range_only_where_asked() -> None:
    assert Triple(e("a"), TYPE, o("Place")) not in followed("e:a :in e:b .")
    assert Triple(e("a"), TYPE, o("Place")) in followed("e:a :in e:b .", domain_range=True)
    assert not followed('e:a :code "1" .', domain_range=True) - set(facts('e:a :mark "1" .'))


def test_literals_things_without_iri_and_terms_of_the_ontology_are_left_aside() -> None:
    assert followed('e:a :in "Wuzhen", "乌镇"@zh ; :near "1" ; :self e:b .') == set()
    assert followed("_:b :in e:c . e:c :in e:d . :Hotel :near e:a .") == set(facts("e:d :holds e:c ."))


def test_circles_end() -> None:
    found = followed("e:a :in e:b . e:b :in e:c . e:c :in e:a . e:h a :Thing .")
    assert {t for t in found if t.predicate == o("in")} == {
        Triple(s, o("in"), x) for s in map(e, "abc") for x in map(e, "abc")
    } - set(facts("e:a :in e:b . e:b :in e:c . e:c :in e:a ."))
    assert Triple(e("h"), TYPE, o("Place")) in found


def test_what_is_said_of_one_name_holds_of_the_other_but_labels_stay() -> None:
    found = followed('e:a owl:sameAs e:b ; rdfs:label "A" ; :code "1" ; a :Old . e:c :near e:b .')
    expected = facts(
        'e:b owl:sameAs e:a ; :code "1" ; :mark "1" ; a :Old ; :near e:c . e:a :mark "1" ; :near e:c . e:c :near e:a .'
    )
    assert found == set(expected)


def test_a_link_makes_two_names_one_thing_until_it_is_taken_back() -> None:
    dataset = new_dataset()
    dataset.state(facts('e:a :in e:c ; :code "1" . e:d :near e:b . e:b a :Old .'))
    made = inference(dataset)
    made.run()
    before = inferred(dataset)
    dataset.commit(Change(added={dataset.links: facts("e:a owl:sameAs e:b . e:b owl:sameAs e:x .")}))
    assert made.run().incremental
    found = inferred(dataset)
    for name in "abx":
        for expected in facts(f'e:{name} :in e:c ; :code "1" ; a :Old . e:d :near e:{name} .'):
            assert dataset.store.has(expected)
    told = explained(dataset, "e:x :in e:c .")
    assert told.rule is not None
    assert told.rule.kind is RuleKind.SAME
    assert {origin for leaf in told.leaves for origin in leaf.origins} == {"asserted", "links"}
    dataset.commit(Change(dropped=(dataset.links,)))
    report = made.run()
    assert (report.incremental, report.lost) == (True, len(found - before))
    assert inferred(dataset) == before


def test_a_chain_that_begins_with_an_inverse_and_ends_with_itself() -> None:
    axioms = (
        ":p a owl:ObjectProperty . :q a owl:ObjectProperty . "
        ":r a owl:ObjectProperty ; owl:propertyChainAxiom ([ owl:inverseOf :p ] :q), (:r :q) ."
    )
    assert followed("e:b :p e:a ; :q e:c . e:c :q e:d . e:d :q e:f .", axioms) == set(facts("e:a :r e:c, e:d, e:f ."))


def test_an_identity_elsewhere_does_not_double_the_graph() -> None:
    assert followed("e:a owl:sameAs <https://elsewhere.example/a> ; a :Old .") == set()


def test_rules_that_lead_to_too_much_are_left_out_and_reported() -> None:
    dataset = new_dataset()
    chain = [Triple(e(f"n{i}"), o("in"), e(f"n{i + 1}")) for i in range(10_000)]
    dataset.commit(Change(added={CHUNKS[0]: chain}))
    made = inference(dataset, max_statements=25_000)
    report = made.run()
    assert ("limit", o("in")) in {(finding.kind, finding.subject) for finding in report.findings}
    assert 0 < report.total <= 25_000
    dataset.commit(Change(added={CHUNKS[1]: facts("e:a :near e:b .")}))
    more = made.run()
    assert (more.total, more.incremental) == (report.total + 1, True)
    assert {(finding.kind, finding.subject) for finding in more.findings} == {("limit", o("in"))}
    dataset.commit(Change(dropped=(CHUNKS[0],)))
    again = made.run()
    assert (again.total, again.incremental, again.findings) == (1, False, ())


def test_a_change_that_leads_to_too_much_falls_back_to_the_limit() -> None:
    dataset = new_dataset()
    made = inference(dataset, max_statements=200)
    made.run()
    dataset.commit(Change(added={CHUNKS[0]: [Triple(e(f"n{i}"), o("in"), e(f"n{i + 1}")) for i in range(60)]}))
    report = made.run()
    assert not report.incremental
    assert {finding.kind for finding in report.findings} == {"limit"}


def test_contradictions_are_reported_and_nothing_is_concluded_from_them() -> None:
    dataset = new_dataset()
    dataset.commit(
        Change(added={CHUNKS[0]: facts('e:a a :Hotel, :Event ; :code "1", "2" . e:b :near e:b ; :code "1" .')})
    )
    report = inference(dataset).run()
    assert [(f.kind, f.subject) for f in report.findings] == [
        ("disjoint", e("a")),
        ("functional", e("a")),
        ("irreflexive", e("b")),
    ]
    assert not any(t.predicate == SAME_AS for t in inferred(dataset))


def test_what_one_change_brought_is_found_whatever_was_before() -> None:
    axioms = (
        ":A a owl:Class ; owl:disjointWith :B . :B a owl:Class . :AA a owl:Class ; owl:equivalentClass :A . "
        ":key a owl:ObjectProperty, owl:InverseFunctionalProperty . :p a owl:ObjectProperty, owl:AsymmetricProperty . "
        ":q a owl:ObjectProperty ; rdfs:subPropertyOf :p ."
    )
    listed = triples_of(PREFIXES + axioms)
    dataset = new_dataset(listed)
    dataset.state(facts("e:a a :B . e:k :key e:v . e:x :p e:y ."))
    made = inference(dataset, listed)
    assert made.run().findings == ()
    dataset.state(facts("e:a a :AA . e:l :key e:v . e:y :q e:x ."))
    report = made.run()
    assert report.incremental
    assert {(f.kind, f.subject) for f in report.findings} >= {
        ("disjoint", e("a")),
        ("inverse functional", e("v")),
        ("asymmetric", e("y")),
    }
    assert set(report.findings) <= set(made.findings())
    dataset.state(facts("e:k owl:sameAs e:l . e:z a :B ."))
    assert not [f for f in made.run().findings if f.kind == "inverse functional"]


def test_a_later_run_reports_what_the_change_brought() -> None:
    dataset = new_dataset()
    made = inference(dataset)
    assert made.run().findings == ()
    dataset.state(facts("e:a a :Hotel ."))
    assert made.run().findings == ()
    dataset.state(facts("e:a a :Event ."))
    assert [f.kind for f in made.run().findings] == ["disjoint"]


def test_foreign_vocabularies_only_where_asked() -> None:
    axioms = (
        ':Inn a owl:Class ; rdfs:label "inn" ; rdfs:subClassOf <https://schema.org/Hotel> . '
        '<https://schema.org/Hotel> a owl:Class ; rdfs:subClassOf :House . :House a owl:Class ; rdfs:label "house" . '
        ':at a owl:ObjectProperty ; rdfs:label "at" ; rdfs:subPropertyOf <https://schema.org/place> .'
    )
    inn = "e:a a :Inn ; :at e:b ."
    assert followed(inn, axioms) == set(facts("e:a a :House, <https://schema.org/Hotel> ."))
    assert facts("e:a <https://schema.org/place> e:b .")[0] in followed(inn, axioms, alignments=True)


def test_cyclic_lists_and_classes_do_not_hang() -> None:
    axioms = (
        ":A a owl:Class ; rdfs:subClassOf :B, :A . :B a owl:Class ; rdfs:subClassOf :A ; owl:equivalentClass :A . "
        "@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> . "
        ":p a owl:ObjectProperty ; owl:propertyChainAxiom <urn:l> . <urn:l> rdf:first :p ; rdf:rest <urn:l> . "
        ":p rdfs:subPropertyOf :p, :q . :q a owl:ObjectProperty ; rdfs:subPropertyOf :p ."
    )
    assert followed("e:a a :A ; :q e:b .", axioms) == set(facts("e:a a :B ; :p e:b ."))


def explained(dataset: EvidenceDataset, turtle: str) -> Explanation:
    return why(facts(turtle)[0], dataset=dataset, rules=rules_of(AXIOMS), find_evidence=lambda triple, graph: None)


def test_why_gives_the_shortest_way_from_stated_premises() -> None:
    dataset = new_dataset()
    dataset.state(facts("e:a :part e:b . e:b :in e:c . e:c :in e:d . e:a :in e:c . e:d :in e:a ."))
    inference(dataset).run()
    found = explained(dataset, "e:a :in e:d .")
    assert found.rule is not None
    assert found.rule.kind is RuleKind.TRANSITIVE
    assert [leaf.statement for leaf in found.leaves] == facts("e:a :in e:c . e:c :in e:d .")
    assert {leaf.origins for leaf in found.leaves} == {("asserted",)}
    assert found.steps == 1
    turned = explained(dataset, "e:d :holds e:a .")
    assert turned.steps == 2


def test_every_conclusion_can_be_explained_without_circles() -> None:
    dataset = new_dataset()
    dataset.state(
        facts("e:a :in e:b . e:b :in e:a ; :near e:c . e:c :piece e:a . e:a a :OldHotel . e:c owl:sameAs e:d .")
    )
    inference(dataset).run()
    stated = {quad.triple for quad in dataset.store.quads(graph=dataset.asserted)}
    for triple in inferred(dataset):
        found = why(triple, dataset=dataset, rules=rules_of(AXIOMS), find_evidence=lambda triple, graph: None)
        assert found.rule is not None
        assert {leaf.statement for leaf in found.leaves} <= stated


def test_why_of_what_does_not_hold_says_so() -> None:
    dataset = new_dataset()
    dataset.reject(facts("e:a :in e:b ."))
    with pytest.raises(NotFoundError, match="struck out by hand"):
        explained(dataset, "e:a :in e:b .")
    with pytest.raises(NotFoundError, match="does not hold"):
        explained(dataset, "e:b :in e:a .")


def test_a_new_process_takes_up_where_the_last_one_ended(tmp_path: Path) -> None:
    file = tmp_path / "inference.json"

    def opened() -> tuple[EvidenceDataset, Inference]:
        dataset = EvidenceDataset(Store.open(tmp_path / "store"), BASE)
        made = Inference(
            dataset, ontology=read_ontology(AXIOMS), triples=AXIOMS, settings=InferenceSettings(enabled=True), file=file
        )
        return dataset, made

    dataset, made = opened()
    dataset.state(facts("e:a :in e:b ."))
    assert not made.run().incremental
    dataset.store.close()
    dataset, made = opened()
    dataset.state(facts("e:b :in e:c ."))
    assert not file.exists()
    report = made.run()
    assert (report.incremental, report.total) == (True, 4)
    dataset.state(facts("e:c :in e:d ."))  # and the process ends without inference
    dataset.store.close()
    dataset, made = opened()
    report = made.run()
    assert (report.incremental, report.total) == (False, 9)
    file.write_text("{", encoding="utf-8")
    dataset.store.close()
    dataset, made = opened()
    assert (made.run().incremental, made.run().incremental) == (False, True)
    dataset.store.close()


def test_switched_off_the_graph_is_emptied() -> None:
    dataset = new_dataset()
    dataset.state(facts("e:a :in e:b ."))
    inference(dataset).run()
    assert inferred(dataset)
    off = Inference(dataset, ontology=read_ontology(AXIOMS), triples=AXIOMS, settings=InferenceSettings(enabled=False))
    assert off.run().total == 0
    assert not inferred(dataset)


def test_an_update_from_outside_is_seen() -> None:
    dataset = new_dataset()
    made = inference(dataset)
    made.run()
    dataset.store.update(f"INSERT DATA {{ {e('a')} {o('in')} {e('b')} }}")
    dataset.reconcile()
    report = made.run()
    assert (report.incremental, report.total) == (False, 1)


def test_the_same_in_whatever_order_rules_come() -> None:
    rules = rules_of(AXIOMS)
    again = rules_of(reversed(AXIOMS))
    assert rules.digest == again.digest
    assert [r for group in strata(rules.rules) for r in group] == [
        r for group in strata(reversed(again.rules)) for r in group
    ]
