"""The rules that every shipped ontology and every shapes file keeps."""

import re
import shutil
from collections import Counter
from functools import cache
from pathlib import Path

import owlready2
import pyoxigraph as ox
import pytest

from kgplatform.questions.dialogue.scheme import read_schemes

FOLDER = Path(__file__).resolve().parents[1] / "ontology"
SHAPES = sorted(FOLDER.glob("*.shapes.ttl"))
SCHEMES = sorted(FOLDER.glob("*.questions.ttl"))
ONTOLOGIES = sorted(set(FOLDER.glob("*.ttl")) - set(SHAPES) - set(SCHEMES))
LANGUAGES = ("en", "zh")
HOUSE = "https://w3id.org/kgplatform/"
CORE = HOUSE + "core#"
OWL = "http://www.w3.org/2002/07/owl#"
RDFS = "http://www.w3.org/2000/01/rdf-schema#"
SH = "http://www.w3.org/ns/shacl#"
SKOS = "http://www.w3.org/2004/02/skos/core#"
XSD = "http://www.w3.org/2001/XMLSchema#"
DCTERMS = "http://purl.org/dc/terms/"
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
RDF_TYPE = RDF + "type"
LANG_STRING = RDF + "langString"
DATATYPES = {XSD + n for n in ("string", "integer", "decimal", "double", "boolean", "date", "dateTime", "gYear")} | {
    LANG_STRING
}
CHANGE_RATES = {"static", "slow", "fast", "real-time"}
each_ontology = pytest.mark.parametrize("path", ONTOLOGIES, ids=lambda p: p.name)
each_shapes = pytest.mark.parametrize("path", SHAPES, ids=lambda p: p.name)
both = pytest.mark.parametrize("language", LANGUAGES)


@cache
def store(*paths):
    """The statements of the files, read into one store."""
    merged = ox.Store()
    for path in paths:
        merged.extend(
            ox.Quad(q.subject, q.predicate, q.object)
            for q in ox.parse(path=path, format=ox.RdfFormat.TURTLE, rename_blank_nodes=True)
        )
    return merged


def everything():
    return store(*ONTOLOGIES)


def values(graph, subject, predicate):
    return [q.object for q in graph.quads_for_pattern(subject, ox.NamedNode(predicate), None)]


def subjects(graph, predicate, value):
    return {q.subject for q in graph.quads_for_pattern(None, ox.NamedNode(predicate), ox.NamedNode(value))}


def iris(graph):
    terms = (t for q in graph for t in (q.subject, q.predicate, q.object))
    return {t.value for t in terms if isinstance(t, ox.NamedNode)}


def of_kind(graph, *kinds):
    found = {s for kind in kinds for s in subjects(graph, RDF_TYPE, OWL + kind)}
    return sorted((s for s in found if isinstance(s, ox.NamedNode) and s.value.startswith(HOUSE)), key=str)


def properties(graph):
    return of_kind(graph, "ObjectProperty", "DatatypeProperty")


def terms(graph):
    return of_kind(graph, "Class", "ObjectProperty", "DatatypeProperty", "AnnotationProperty")


def in_language(literals, language):
    return [x.value for x in literals if x.language == language]


def members(graph, node):
    """The IRIs that a domain or range names: the class itself, or those of its union."""
    if isinstance(node, ox.NamedNode):
        return {node.value}
    found: set[str] = set()
    rest = values(graph, node, OWL + "unionOf")
    while rest and rest[0].value != RDF + "nil":
        found |= {x.value for x in values(graph, rest[0], RDF + "first")}
        rest = values(graph, rest[0], RDF + "rest")
    return found


def ends(graph, prop, end):
    return {m for node in values(graph, prop, RDFS + end) for m in members(graph, node)}


def short(node):
    return str(node.value).removeprefix(HOUSE)


@each_ontology
def test_ontology_says_what_it_is_in_both_languages_and_imports_what_it_builds_on(path):
    graph, ontology = store(path), ox.NamedNode(HOUSE + path.stem)
    assert subjects(graph, RDF_TYPE, OWL + "Ontology") == {ontology}
    for predicate in (DCTERMS + "title", DCTERMS + "description"):
        assert {x.language for x in values(graph, ontology, predicate)} == set(LANGUAGES)
    assert [x.value for x in values(graph, ontology, OWL + "versionInfo")] == ["1.0.0"]
    assert len(values(graph, ontology, DCTERMS + "license")) == 1
    imported = {x.value for x in values(graph, ontology, OWL + "imports")}
    used = {HOUSE + iri.removeprefix(HOUSE).split("#")[0] for iri in iris(graph) if iri.startswith(HOUSE)}
    assert used - {ontology.value} <= imported <= {HOUSE + p.stem for p in ONTOLOGIES}


@each_ontology
@both
def test_every_term_has_one_label_one_comment_and_three_to_twelve_other_words(path, language):
    graph = store(path)
    for term in terms(graph):
        said = {name: values(graph, term, RDFS + name) for name in ("label", "comment")}
        assert [len(in_language(texts, language)) for texts in said.values()] == [1, 1], short(term)
        words = values(graph, term, SKOS + "altLabel")
        assert 3 <= len(in_language(words, language)) <= 12, short(term)
        for word in (*said["label"], *words):
            assert word.value == word.value.strip() != "", short(term)
            assert word.language in LANGUAGES, short(term)


@each_ontology
def test_every_property_leads_from_declared_classes_to_classes_or_to_one_datatype(path):
    graph = store(path)
    classes = {c.value for c in subjects(everything(), RDF_TYPE, OWL + "Class")}
    for prop in properties(graph):
        for end in ("domain", "range"):
            assert len(values(graph, prop, RDFS + end)) == 1, (short(prop), end)
        domain, range_ = ends(graph, prop, "domain"), ends(graph, prop, "range")
        assert domain
        assert domain <= classes, short(prop)
        if prop in of_kind(graph, "ObjectProperty"):
            assert range_
            assert range_ <= classes, short(prop)
        else:
            assert len(range_) == 1
            assert range_ <= DATATYPES, short(prop)
        for inverse in values(everything(), prop, OWL + "inverseOf"):
            assert (domain, range_) == (ends(everything(), inverse, "range"), ends(everything(), inverse, "domain"))
    literals = {q.object.datatype.value for q in graph if isinstance(q.object, ox.Literal)}
    assert literals <= DATATYPES
    functional = of_kind(graph, "FunctionalProperty", "InverseFunctionalProperty")
    assert not set(of_kind(graph, "TransitiveProperty")) & set(functional)
    kinds = [subjects(everything(), RDF_TYPE, OWL + f"{k}Property") for k in ("Object", "Datatype", "Annotation")]
    assert max(Counter(p for kind in kinds for p in kind).values()) == 1


@each_ontology
def test_steering_annotations_have_known_values_and_patterns_fit_their_examples(path):
    graph = store(path)
    for term in terms(graph):
        assert {x.value for x in values(graph, term, CORE + "changeRate")} <= CHANGE_RATES, short(term)
        assert {x.datatype.value for x in values(graph, term, CORE + "displayOrder")} <= {XSD + "integer"}, short(term)
        assert {x.value for x in values(graph, term, CORE + "internal")} <= {"true", "false"}, short(term)
        for name in ("pattern", "unit", "changeRate", "displayOrder", "internal"):
            assert len(values(graph, term, CORE + name)) <= 1, (short(term), name)
        for pattern in (x.value for x in values(graph, term, CORE + "pattern")):
            assert pattern == pattern.removeprefix("^").removesuffix("$"), short(term)
            examples = [x.value for x in values(graph, term, SKOS + "example")]
            assert [x for x in examples if not re.fullmatch(pattern, x)] == [], short(term)


@each_ontology
def test_terms_of_the_house_are_declared_and_those_of_others_never_defined(path):
    said = [q for q in everything() if isinstance(q.subject, ox.NamedNode)]
    declared = {q.subject.value for q in said if q.predicate.value == RDF_TYPE}
    assert {iri for iri in iris(store(path)) if iri.startswith(HOUSE)} - declared == set()
    others = [q for q in store(path) if isinstance(q.subject, ox.NamedNode) and not q.subject.value.startswith(HOUSE)]
    assert [str(q) for q in others if q.predicate.value != RDF_TYPE] == []


@each_ontology
def test_listed_values_are_named_in_both_languages_within_a_scheme(path):
    graph = store(path)
    lists = subjects(graph, RDFS + "subClassOf", SKOS + "Concept")
    for kind in lists:
        individuals = subjects(graph, RDF_TYPE, kind.value)
        assert individuals, short(kind)
        for one in individuals:
            schemes = values(graph, one, SKOS + "inScheme")
            assert len(schemes) == 1, short(one)
            assert schemes[0] in subjects(graph, RDF_TYPE, SKOS + "ConceptScheme"), short(one)
            for language in LANGUAGES:
                assert len(in_language(values(graph, one, RDFS + "label"), language)) == 1, short(one)
                assert in_language(values(graph, one, SKOS + "altLabel"), language), short(one)


def reason(folder, extra=""):
    """The unsatisfiable classes by HermiT; raises when the whole is inconsistent."""
    prefixes = "".join(f"@prefix {p.stem}: <{HOUSE}{p.stem}#> .\n" for p in ONTOLOGIES)
    prefixes += f"@prefix rdfs: <{RDFS}> .\n@prefix owl: <{OWL}> .\n@prefix : <https://example.org/> .\n"
    added = [q.triple for q in ox.parse(prefixes + extra, format=ox.RdfFormat.TURTLE)]
    # The imports are all in the same file, and owlready2 would try to fetch them.
    merged = [q.triple for q in everything() if q.predicate.value != OWL + "imports"] + added
    file = folder / "merged.nt"
    file.write_bytes(ox.serialize(merged, format=ox.RdfFormat.N_TRIPLES) or b"")
    world = owlready2.World()
    try:
        world.get_ontology(file.as_uri()).load()
        # xsd:date and xsd:gYear are outside the OWL 2 datatype map; HermiT skips the axioms that use them.
        owlready2.sync_reasoner_hermit(world, debug=0, ignore_unsupported_datatypes=True)
        return {c.iri for c in world.inconsistent_classes()} - {OWL + "Nothing"}
    finally:
        world.close()


@each_shapes
def test_shapes_speak_of_terms_that_exist_and_tell_a_fault_in_both_languages(path):
    graph = store(path)
    own = {s.value for kind in ("NodeShape", "PropertyShape") for s in subjects(graph, RDF_TYPE, SH + kind)}
    own |= {s.value for s in subjects(graph, RDF_TYPE, OWL + "Ontology")}
    used = {iri for iri in iris(graph) if iri.startswith(HOUSE)}
    assert used - own - iris(everything()) == set()
    targets = {q.subject for q in graph if q.predicate.value == SH + "targetClass"}
    reporting = {shape for target in targets for shape in values(graph, target, SH + "property")}
    assert reporting
    for shape in reporting:
        where = [str(x) for x in values(graph, shape, SH + "path")]
        assert {x.language for x in values(graph, shape, SH + "message")} == set(LANGUAGES), where
        assert len(values(graph, shape, SH + "severity")) == 1, where
    for shape in {q.subject for q in graph}:
        for prop in values(graph, shape, SH + "path"):
            for datatype in values(graph, shape, SH + "datatype"):
                if isinstance(prop, ox.NamedNode) and prop.value.startswith(HOUSE):
                    assert ends(everything(), prop, "range") == {datatype.value}, short(prop)
        for pattern in values(graph, shape, SH + "pattern"):
            re.compile(pattern.value)


needs_java = pytest.mark.skipif(shutil.which("java") is None, reason="HermiT needs java on the PATH")


@needs_java
def test_all_ontologies_together_are_consistent_and_every_class_can_have_members(tmp_path):
    facts = """:wuzhen a geo:Township, travel:WaterTown ; geo:locatedIn :tongxiang . :tongxiang a geo:County .
        :lake a travel:LakeAttraction ; travel:partOf :wuzhen . :inn a travel:Hotel ; geo:near :lake ;
        travel:offers travel:wifi ; travel:suitableFor travel:families ; travel:starRating 4 .
        :note a travel:TravelNote ; travel:author :somebody ; travel:recommends :inn ."""
    odd = ":Odd a owl:Class ; rdfs:subClassOf geo:Country, geo:City ."
    assert reason(tmp_path, facts + odd) == {"https://example.org/Odd"}


@needs_java
@pytest.mark.slow
@pytest.mark.parametrize(
    "facts",
    [":x a geo:Country, geo:City .", ":x travel:serves :y . :y a geo:Place .", ":h travel:starRating 3, 4 ."],
    ids=["disjoint", "range", "functional"],
)
def test_the_reasoner_finds_contradicting_facts(tmp_path, facts):
    with pytest.raises(owlready2.OwlReadyInconsistentOntologyError):
        reason(tmp_path, facts)


@pytest.mark.parametrize("path", SCHEMES, ids=lambda p: p.name)
def test_schemes_of_questions_speak_only_of_terms_that_exist(path):
    graph, beside = store(path), FOLDER / f"{path.name.removesuffix('.questions.ttl')}.ttl"
    declared = {str(quad.subject.value) for quad in store(beside) if hasattr(quad.subject, "value")}
    own = {quad.subject.value for quad in graph if hasattr(quad.subject, "value")}
    used = {
        term.value
        for quad in graph
        for term in (quad.predicate, quad.object)
        if isinstance(term, ox.NamedNode) and term.value.startswith(f"{HOUSE}{beside.stem}#")
    }
    assert used <= declared | own
    assert read_schemes([beside])
