"""Inference: what follows from the axioms, in line as statements and documents come and go, and why."""

from __future__ import annotations

import json

import owlrl
import pytest
import rdflib
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from laws import machine_in_two_lengths
from pyoxigraph import Literal, NamedNode, RdfFormat, Triple
from workspaces import new_workspace

from kgplatform.cli.main import main
from kgplatform.errors import NotFoundError
from kgplatform.graph import DEFAULT_BASE as BASE
from kgplatform.graph import KnowledgeGraph
from kgplatform.models.stubs import HashEmbedder
from kgplatform.ontology.schema import read_ontology
from kgplatform.reasoning.inference import Inference, why
from kgplatform.reasoning.materialization import Admission, bound, concluded, relation_of, stated
from kgplatform.reasoning.owl_rl import RuleKind, rules_of
from kgplatform.settings import InferenceSettings
from kgplatform.store.dataset import Change, EvidenceDataset
from kgplatform.store.oxigraph import DEFAULT_GRAPH, Store, numbered, parse, skolemised
from kgplatform.vocab import PREFIXES as NAMESPACES
from kgplatform.vocab import SAME_AS, TYPE

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


def o(name):
    return NamedNode(f"https://example.org/o#{name}")


def e(name):
    return NamedNode(f"{BASE}entity/{name}")


def triples_of(turtle):
    quads = numbered(parse(turtle.encode(), RdfFormat.TURTLE))
    return list(skolemised((quad.triple for quad in quads), "urn:kgplatform:node:t:"))


AXIOMS = triples_of(ONTOLOGY)
PREFIXES = (
    "@prefix : <https://example.org/o#> . @prefix e: <https://example.org/kg/entity/> . "
    "@prefix owl: <http://www.w3.org/2002/07/owl#> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . "
)


def facts(turtle):
    return [quad.triple for quad in parse((PREFIXES + turtle).encode(), RdfFormat.TURTLE)]


def new_dataset(axioms=AXIOMS, store=None):
    dataset = EvidenceDataset(store or Store.open(), BASE)
    dataset.commit(Change(added={dataset.ontology: list(axioms)}))
    return dataset


def inference(dataset, axioms=AXIOMS, **options):
    listed = list(axioms)
    chosen = InferenceSettings(enabled=True, **options)
    return Inference(dataset, ontology=read_ontology(listed), triples=listed, settings=chosen)


def inferred(dataset):
    return {quad.triple for quad in dataset.store.quads(graph=dataset.inferred)}


def followed(turtle, axioms=ONTOLOGY, **options):
    listed = triples_of(PREFIXES + axioms)
    dataset = new_dataset(listed)
    dataset.commit(Change(added={CHUNKS[0]: facts(turtle)}))
    inference(dataset, listed, **options).run()
    assert dataset.violations() == (frozenset(), frozenset())
    return inferred(dataset)


FOREIGN = (
    ':Inn a owl:Class ; rdfs:label "inn" ; rdfs:subClassOf <https://schema.org/Hotel> . '
    '<https://schema.org/Hotel> a owl:Class ; rdfs:subClassOf :House . :House a owl:Class ; rdfs:label "house" . '
    ':at a owl:ObjectProperty ; rdfs:label "at" ; rdfs:subPropertyOf <https://schema.org/place> .'
)
CYCLIC = (
    ":A a owl:Class ; rdfs:subClassOf :B, :A . :B a owl:Class ; rdfs:subClassOf :A ; owl:equivalentClass :A . "
    "@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> . "
    ":p a owl:ObjectProperty ; owl:propertyChainAxiom <urn:l> . <urn:l> rdf:first :p ; rdf:rest <urn:l> . "
    ":p rdfs:subPropertyOf :p, :q . :q a owl:ObjectProperty ; rdfs:subPropertyOf :p ."
)
CHAIN = (
    ":p a owl:ObjectProperty . :q a owl:ObjectProperty . "
    ":r a owl:ObjectProperty ; owl:propertyChainAxiom ([ owl:inverseOf :p ] :q), (:r :q) ."
)


@pytest.mark.parametrize(
    ("said", "expected", "axioms"),
    [
        (
            "e:a :in e:b . e:b :in e:c . e:d :part e:a ; :near e:x . e:x :in e:c . e:c :near e:y . e:h a :OldHotel .",
            "e:a :in e:c . e:b :holds e:a . e:c :holds e:a, e:b, e:d, e:x . e:a :holds e:d . e:d :in e:a, e:b, e:c ; "
            ":piece e:a . e:b :holds e:d . e:x :near e:d . e:y :near e:c . e:d :chained e:y . e:x :chained e:y . "
            "e:h a :Hotel, :Old, :Place, :Site, :Thing .",
            ONTOLOGY,
        ),
        (
            'e:a owl:sameAs e:b ; rdfs:label "A" ; :code "1" ; a :Old . e:c :near e:b .',
            'e:b owl:sameAs e:a ; :code "1" ; :mark "1" ; a :Old ; :near e:c . '
            'e:a :mark "1" ; :near e:c . e:c :near e:a .',
            ONTOLOGY,
        ),
        ('e:a :in "Wuzhen", "乌镇"@zh ; :near "1" ; :self e:b .', "", ONTOLOGY),
        ("_:b :in e:c . e:c :in e:d . :Hotel :near e:a .", "e:d :holds e:c .", ONTOLOGY),
        ("e:a owl:sameAs <https://elsewhere.example/a> ; a :Old .", "", ONTOLOGY),
        ("e:b :p e:a ; :q e:c . e:c :q e:d . e:d :q e:f .", "e:a :r e:c, e:d, e:f .", CHAIN),
        ("e:a a :A ; :q e:b .", "e:a a :B ; :p e:b .", CYCLIC),
        ("e:a a :Inn ; :at e:b .", "e:a a :House, <https://schema.org/Hotel> .", FOREIGN),
    ],
    ids=["each axiom", "same", "literals", "no IRI", "same elsewhere", "chain", "cycles", "foreign"],
)
def test_what_follows_is_what_owl_says(said, expected, axioms):
    assert followed(said, axioms) == set(facts(expected))


def test_foreign_vocabularies_and_domains_only_where_asked():
    assert facts("e:a <https://schema.org/place> e:b .")[0] in followed("e:a :at e:b .", FOREIGN, alignments=True)
    assert Triple(e("a"), TYPE, o("Place")) not in followed("e:a :in e:b .")
    assert Triple(e("a"), TYPE, o("Place")) in followed("e:a :in e:b .", domain_range=True)
    assert not followed('e:a :code "1" .', domain_range=True) - set(facts('e:a :mark "1" .'))


def test_conclusions_are_those_of_owlrl():
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
    stated = {(t.subject.value, t.predicate.value, t.object.value) for t in facts(turtle)}
    found = {(t.subject.value, t.predicate.value, t.object.value) for t in followed(turtle, domain_range=True)}
    assert found == theirs - stated


def test_a_link_makes_two_names_one_thing_until_it_is_taken_back():
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
    assert told.rule.kind is RuleKind.SAME
    assert {origin for leaf in told.leaves for origin in leaf.origins} == {"asserted", "links"}
    dataset.commit(Change(dropped=(dataset.links,)))
    report = made.run()
    assert (report.incremental, report.lost) == (True, len(found - before))
    assert inferred(dataset) == before


def test_rules_that_lead_to_too_much_are_left_out_and_reported():
    dataset = new_dataset()
    chain = [Triple(e(f"n{i}"), o("in"), e(f"n{i + 1}")) for i in range(3_000)]
    dataset.commit(Change(added={CHUNKS[0]: chain}))
    made = inference(dataset, max_statements=8_000)
    report = made.run()
    assert ("limit", o("in")) in {(finding.kind, finding.subject) for finding in report.findings}
    assert 0 < report.total <= 8_000
    dataset.commit(Change(added={CHUNKS[1]: facts("e:a :near e:b .")}))
    more = made.run()
    assert (more.total, more.incremental) == (report.total + 1, True)
    assert {(finding.kind, finding.subject) for finding in more.findings} == {("limit", o("in"))}
    dataset.commit(Change(dropped=(CHUNKS[0],)))
    again = made.run()
    assert (again.total, again.incremental, again.findings) == (1, False, ())


def test_contradictions_are_reported_and_nothing_is_concluded_from_them():
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


def test_what_one_change_brought_is_found_whatever_was_before():
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


def explained(dataset, turtle):
    return why(facts(turtle)[0], dataset=dataset, rules=rules_of(AXIOMS), find_evidence=lambda triple, graph: None)


def test_why_gives_the_shortest_way_from_stated_premises():
    dataset = new_dataset()
    dataset.state(facts("e:a :part e:b . e:b :in e:c . e:c :in e:d . e:a :in e:c . e:d :in e:a ."))
    inference(dataset).run()
    found = explained(dataset, "e:a :in e:d .")
    assert found.rule.kind is RuleKind.TRANSITIVE
    assert [leaf.statement for leaf in found.leaves] == facts("e:a :in e:c . e:c :in e:d .")
    assert {leaf.origins for leaf in found.leaves} == {("asserted",)}
    assert found.steps == 1
    turned = explained(dataset, "e:d :holds e:a .")
    assert turned.steps == 2


def test_every_conclusion_can_be_explained_without_circles():
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


def test_why_of_what_does_not_hold_says_so():
    dataset = new_dataset()
    dataset.reject(facts("e:a :in e:b ."))
    with pytest.raises(NotFoundError, match="rejected by hand"):
        explained(dataset, "e:a :in e:b .")
    with pytest.raises(NotFoundError, match="does not hold"):
        explained(dataset, "e:b :in e:a .")


def test_a_new_process_takes_up_where_the_last_one_ended(tmp_path):
    file = tmp_path / "inference.json"

    def opened():
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


def test_an_update_from_outside_is_seen_and_switched_off_the_graph_is_emptied():
    dataset = new_dataset()
    made = inference(dataset)
    made.run()
    dataset.store.update(f"INSERT DATA {{ {e('a')} {o('in')} {e('b')} }}")
    dataset.reconcile()
    report = made.run()
    assert (report.incremental, report.total) == (False, 1)
    off = Inference(dataset, ontology=read_ontology(AXIOMS), triples=AXIOMS, settings=InferenceSettings(enabled=False))
    assert (off.run().total, inferred(dataset)) == (0, set())


THINGS = tuple(e(name) for name in ("a", "b", "c", "乌镇"))
PROPERTIES = ("in", "holds", "part", "piece", "near", "chained", "grand", "ofKind", "self")
things = st.sampled_from(THINGS)
links = st.builds(Triple, things, st.sampled_from(PROPERTIES).map(o), things)
types = st.builds(Triple, things, st.just(TYPE), st.sampled_from(("Hotel", "Old", "Place", "OldHotel", "Event")).map(o))
values = st.builds(Triple, things, st.sampled_from(("code", "near", "in")).map(o), st.sampled_from("1二").map(Literal))
sames = st.builds(Triple, things, st.just(SAME_AS), things | st.just(NamedNode("https://elsewhere.example/a")))
some_facts = st.lists(st.one_of(links, links, links, types, values, sames), min_size=1, max_size=5)


def naively(dataset, rules):
    """What follows, by trying every rule on every combination of statements until nothing is new."""
    admission = Admission(dataset, rules.terms)
    held = {q.triple for q in dataset.store.quads(graph=DEFAULT_GRAPH)}
    held = {t for t in held if admission.as_premise(t) and dataset.is_stated(t)}
    found = set()
    while True:
        new = set()
        for applied in rules.applied(same=True):
            bindings = [{}]
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

    def __init__(self):
        super().__init__()
        self.dataset = new_dataset()
        self.inference = inference(self.dataset, domain_range=True)
        self.inference.run()

    @rule(graph=st.sampled_from(CHUNKS), added=some_facts, replaced=st.booleans())
    def commit(self, graph, added, replaced):
        self.dataset.commit(Change(dropped=(graph,) if replaced else (), added={graph: added}))

    @rule(graph=st.sampled_from(CHUNKS))
    def drop(self, graph):
        self.dataset.commit(Change(dropped=(graph,)))

    @rule(stated=some_facts)
    def state(self, stated):
        self.dataset.state(stated)

    @rule(struck=some_facts)
    def reject(self, struck):
        self.dataset.reject(struck)

    @rule(data=st.data())
    def reject_a_conclusion(self, data):
        held = sorted(inferred(self.dataset), key=str)
        if held:
            self.dataset.reject([data.draw(st.sampled_from(held))])

    @rule()
    def forgive(self):
        self.dataset.commit(Change(dropped=(self.dataset.rejected,)))

    @rule()
    def run(self):
        assert self.inference.run().incremental
        found = inferred(self.dataset)
        assert found == naively(self.dataset, self.inference.rules)
        assert not any(self.dataset.is_stated(triple) for triple in found)
        assert self.inference.run().total == len(found)

    @invariant()
    def nothing_is_lost(self):
        assert self.dataset.violations() == (frozenset(), frozenset())


TestComingAndGoing, TestComingAndGoingAtLength = machine_in_two_lengths(ComingAndGoing, steps=12, examples=120)


@settings(max_examples=30, deadline=None)
@given(
    stated_facts=st.lists(st.one_of(links, links, links, types, values, sames), min_size=1, max_size=8),
    struck=some_facts,
    left_over=some_facts,
    restated=st.booleans(),
)
def test_from_scratch_follows_what_follows_and_nothing_else(stated_facts, struck, left_over, restated):
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


WEST = "Xizha is an attraction in Wuzhen. The Riverside Hotel is near Xizha.\n"
EAST = "Dongzha is an attraction in Wuzhen. Wuzhen is located in Tongxiang.\n"


@pytest.fixture
def workspace(tmp_path):
    for name, text in {"west.txt": WEST, "east.txt": EAST}.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    return new_workspace(tmp_path / "workspace", settings="[inference]\nenabled = true")


def test_a_removed_document_takes_its_conclusions_along(workspace, tmp_path):
    with KnowledgeGraph.open(workspace) as kg:
        kg.workspace.__dict__["embedder"] = HashEmbedder()
        list(kg.add(tmp_path / "west.txt"))
        before = kg.dump()
        assert list(kg.store.quads(graph=kg.dataset.inferred))
        list(kg.add(tmp_path / "east.txt"))
        assert kg.dump() != before
        kg.remove("east.txt")
        assert kg.dump() == before
        assert kg.dataset.violations() == (frozenset(), frozenset())


def test_why_shows_the_passages_behind_a_conclusion(workspace, tmp_path, capsys):
    with KnowledgeGraph.open(workspace) as kg:
        kg.workspace.__dict__["embedder"] = HashEmbedder()
        list(kg.add(tmp_path / "west.txt"))
        kg.load(_written(tmp_path / "mine.ttl", "kg:x a travel:Hotel ; rdfs:label '水边客栈'@zh ; geo:near kg:y ."))
        origins = {
            v.origins for fact in kg.show("Xizha").facts for v in fact.values if v.value.label == "Riverside Hotel"
        }
        assert origins == {("inferred",)}
    assert main(["why", "Xizha", "near", "Riverside Hotel", "-w", str(workspace)]) == 0
    shown = capsys.readouterr().out
    assert all(part in shown for part in ("because (symmetric: near)", "The Riverside Hotel is near Xizha."))
    assert main(["why", f"{BASE}y", "geo:near", "水边客栈", "-w", str(workspace), "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["rule"], found["premises"][0]["origins"]) == ("symmetric", ["asserted"])
    assert main(["why", "Xizha", "locatedIn", "nothing at all", "-w", str(workspace)]) == 1
    assert "no property" not in capsys.readouterr().err  # it is called as `documents show` writes it
    assert main(["why", "Xizha", "nearr", "Wuzhen", "-w", str(workspace)]) == 1
    assert "did you mean 'near'?" in capsys.readouterr().err
    assert main(["build", "--only", "infer", "-w", str(workspace)]) == 0
    assert "conclusions, 0 new, 0 gone" in capsys.readouterr().out


TOWNS = """
@prefix : <https://example.org/t#> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
<https://example.org/t> a owl:Ontology .
:Area a owl:Class ; rdfs:label "area"@en, "地区"@zh .
:Town a owl:Class ; rdfs:subClassOf :Area ; rdfs:label "town"@en, "镇"@zh .
:in a owl:ObjectProperty, owl:TransitiveProperty ; rdfs:label "located in"@en, "位于"@zh ;
  rdfs:domain :Area ; rdfs:range :Area .
:holds a owl:ObjectProperty ; rdfs:label "contains"@en, "包含"@zh ; owl:inverseOf :in .
:up a owl:ObjectProperty ; rdfs:label "within reach of"@en, "通达"@zh ; owl:propertyChainAxiom (:in :in) .
"""


def test_why_follows_tables_and_texts_in_the_language_it_is_asked_in(tmp_path, capsys):
    folder, ontology = tmp_path / "workspace", tmp_path / "towns-ontology.ttl"
    ontology.write_text(TOWNS, encoding="utf-8")
    KnowledgeGraph.create(folder, ontology=str(ontology)).close()
    with (folder / "kgplatform.toml").open("a", encoding="utf-8") as file:
        file.write("\n[inference]\nenabled = true\n")
    (tmp_path / "towns.csv").write_text("name,located in\n乌镇,桐乡\n", encoding="utf-8")
    (tmp_path / "note.txt").write_text("桐乡位于嘉兴。\n", encoding="utf-8")
    with KnowledgeGraph.open(folder) as kg:
        kg.workspace.__dict__["embedder"] = HashEmbedder()
        list(kg.add(tmp_path / "towns.csv"))
        list(kg.add(tmp_path / "note.txt"))
    capsys.readouterr()
    assert main(["why", "乌镇", "位于", "嘉兴", "-w", str(folder)]) == 0
    lines = [line.strip() for line in capsys.readouterr().out.splitlines()]
    assert lines == [
        "乌镇 · 位于 · 嘉兴",
        "因为 (传递属性: 位于)",
        "乌镇 · 位于 · 桐乡",
        "“乌镇,桐乡” — towns",
        "桐乡 · 位于 · 嘉兴",
        "“桐乡位于嘉兴。” — 桐乡位于嘉兴。",
    ]
    assert main(["why", "嘉兴", "包含", "乌镇", "-w", str(folder)]) == 0
    assert "因为 (逆属性: 包含 · 互逆于 · 位于)" in capsys.readouterr().out
    town, city = (kg_iri(folder, name) for name in ("乌镇", "嘉兴"))
    assert main(["why", town, "within reach of", city, "-w", str(folder)]) == 0
    assert (
        "because (chain: within reach of · property chain axiom · located in ∘ located in)" in capsys.readouterr().out
    )
    assert main(["why", town, "located in", city, "-w", str(folder), "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [part["evidence"][0]["quote"] for part in found["premises"]] == ["乌镇,桐乡", "桐乡位于嘉兴。"]


def kg_iri(folder, name):
    """The IRI of what is called so."""
    with KnowledgeGraph.open(folder) as kg:
        return kg.show(name).iri.value


def _written(path, turtle):
    prefixes = "".join(f"@prefix {name}: <{iri}> .\n" for name, iri in {**NAMESPACES, "kg": BASE}.items())
    path.write_text(prefixes + turtle, encoding="utf-8")
    return path
