"""The rules that every shipped ontology and every shapes file keeps."""

import re
import shutil
from collections import Counter
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

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
HOTEL_COLUMNS = (
    "town", "address", "near", "star_rating", "price_per_night", "rating", "room_count", "facilities",
    "suitable_for", "opened", "phone", "latitude", "longitude",
)  # fmt: skip

each_ontology = pytest.mark.parametrize("path", ONTOLOGIES, ids=lambda p: p.name)
each_shapes = pytest.mark.parametrize("path", SHAPES, ids=lambda p: p.name)


@cache
def store(*paths: Path) -> ox.Store:
    """The statements of the files, read into one store."""
    merged = ox.Store()
    for path in paths:
        merged.extend(
            ox.Quad(q.subject, q.predicate, q.object)
            for q in ox.parse(path=path, format=ox.RdfFormat.TURTLE, rename_blank_nodes=True)
        )
    return merged


def everything() -> ox.Store:
    return store(*ONTOLOGIES)


def values(graph: ox.Store, subject: Any, predicate: str) -> list[Any]:
    return [q.object for q in graph.quads_for_pattern(subject, ox.NamedNode(predicate), None)]


def subjects(graph: ox.Store, predicate: str, value: str) -> set[Any]:
    return {q.subject for q in graph.quads_for_pattern(None, ox.NamedNode(predicate), ox.NamedNode(value))}


def iris(graph: ox.Store) -> set[str]:
    terms = (t for q in graph for t in (q.subject, q.predicate, q.object))
    return {t.value for t in terms if isinstance(t, ox.NamedNode)}


def of_kind(graph: ox.Store, *kinds: str) -> list[Any]:
    found = {s for kind in kinds for s in subjects(graph, RDF_TYPE, OWL + kind)}
    return sorted((s for s in found if isinstance(s, ox.NamedNode) and s.value.startswith(HOUSE)), key=str)


def properties(graph: ox.Store) -> list[Any]:
    return of_kind(graph, "ObjectProperty", "DatatypeProperty")


def terms(graph: ox.Store) -> list[Any]:
    return of_kind(graph, "Class", "ObjectProperty", "DatatypeProperty", "AnnotationProperty")


def in_language(literals: Iterable[Any], language: str) -> list[str]:
    return [x.value for x in literals if x.language == language]


def members(graph: ox.Store, node: Any) -> set[str]:
    """The IRIs that a domain or range names: the class itself, or those of its union."""
    if isinstance(node, ox.NamedNode):
        return {node.value}
    found: set[str] = set()
    rest = values(graph, node, OWL + "unionOf")
    while rest and rest[0].value != RDF + "nil":
        found |= {x.value for x in values(graph, rest[0], RDF + "first")}
        rest = values(graph, rest[0], RDF + "rest")
    return found


def ancestors(graph: ox.Store, node: Any) -> set[str]:
    """The class itself and all above it."""
    return {node.value}.union(*(ancestors(graph, c) for c in values(graph, node, RDFS + "subClassOf")))


def ends(graph: ox.Store, prop: Any, end: str) -> set[str]:
    return {m for node in values(graph, prop, RDFS + end) for m in members(graph, node)}


def short(node: Any) -> str:
    return str(node.value).removeprefix(HOUSE)


def test_every_ontology_has_a_file_to_be_checked() -> None:
    names = {p.name for p in ONTOLOGIES}
    assert {"core.ttl", "geo.ttl", "travel.ttl"} <= names


@each_ontology
def test_ontology_says_what_it_is_in_both_languages(path: Path) -> None:
    graph = store(path)
    ontology = ox.NamedNode(HOUSE + path.stem)
    assert subjects(graph, RDF_TYPE, OWL + "Ontology") == {ontology}
    for predicate in (DCTERMS + "title", DCTERMS + "description"):
        assert {x.language for x in values(graph, ontology, predicate)} == set(LANGUAGES)
    assert [x.value for x in values(graph, ontology, OWL + "versionInfo")] == ["1.0.0"]
    assert len(values(graph, ontology, DCTERMS + "license")) == 1


@each_ontology
def test_ontology_imports_what_it_builds_on(path: Path) -> None:
    graph = store(path)
    imported = {x.value for x in values(graph, ox.NamedNode(HOUSE + path.stem), OWL + "imports")}
    used = {HOUSE + iri.removeprefix(HOUSE).split("#")[0] for iri in iris(graph) if iri.startswith(HOUSE)}
    assert used - {HOUSE + path.stem} <= imported
    assert imported <= {HOUSE + p.stem for p in ONTOLOGIES}


@each_ontology
@pytest.mark.parametrize("language", LANGUAGES)
def test_every_term_has_one_label_and_one_comment(path: Path, language: str) -> None:
    graph = store(path)
    faulty = [
        (short(t), name)
        for t in terms(graph)
        for name in ("label", "comment")
        if len(in_language(values(graph, t, RDFS + name), language)) != 1
    ]
    assert faulty == []


@each_ontology
@pytest.mark.parametrize("language", LANGUAGES)
def test_every_term_has_three_to_twelve_other_words_for_it(path: Path, language: str) -> None:
    graph = store(path)
    counts = {short(t): len(in_language(values(graph, t, SKOS + "altLabel"), language)) for t in terms(graph)}
    assert {term: n for term, n in counts.items() if not 3 <= n <= 12} == {}


@each_ontology
def test_words_are_trimmed_and_tagged(path: Path) -> None:
    graph = store(path)
    texts = [x for t in terms(graph) for p in (RDFS + "label", SKOS + "altLabel") for x in values(graph, t, p)]
    assert [x.value for x in texts if x.value != x.value.strip() or not x.value] == []
    assert [x.value for x in texts if x.language not in LANGUAGES] == []


@each_ontology
def test_every_property_has_a_domain_and_a_range(path: Path) -> None:
    graph = store(path)
    faulty = [
        (short(p), end)
        for p in properties(graph)
        for end in ("domain", "range")
        if len(values(graph, p, RDFS + end)) != 1 or not ends(graph, p, end)
    ]
    assert faulty == []


@each_ontology
def test_domains_and_object_ranges_are_declared_classes(path: Path) -> None:
    graph = store(path)
    classes = {c.value for c in subjects(everything(), RDF_TYPE, OWL + "Class")}
    used = {c for p in properties(graph) for c in ends(graph, p, "domain")}
    used |= {c for p in of_kind(graph, "ObjectProperty") for c in ends(graph, p, "range")}
    assert used - classes == set()


@each_ontology
def test_datatype_ranges_are_those_the_store_keeps_as_written(path: Path) -> None:
    graph = store(path)
    ranges = {short(p): ends(graph, p, "range") for p in of_kind(graph, "DatatypeProperty")}
    assert {p: r for p, r in ranges.items() if len(r) != 1 or not r <= DATATYPES} == {}
    literals = {q.object.datatype.value for q in graph if isinstance(q.object, ox.Literal)}
    assert literals <= DATATYPES


@each_ontology
def test_patterns_compile_without_anchors_and_fit_their_own_examples(path: Path) -> None:
    graph = store(path)
    for prop in of_kind(graph, "DatatypeProperty"):
        for pattern in (x.value for x in values(graph, prop, CORE + "pattern")):
            assert not pattern.startswith("^"), short(prop)
            assert not pattern.endswith("$"), short(prop)
            examples = [x.value for x in values(graph, prop, SKOS + "example")]
            assert [x for x in examples if not re.fullmatch(pattern, x)] == [], short(prop)


@each_ontology
def test_steering_annotations_have_known_values(path: Path) -> None:
    graph = store(path)
    for term in terms(graph):
        assert {x.value for x in values(graph, term, CORE + "changeRate")} <= CHANGE_RATES, short(term)
        assert {x.datatype.value for x in values(graph, term, CORE + "displayOrder")} <= {XSD + "integer"}, short(term)
        assert {x.value for x in values(graph, term, CORE + "internal")} <= {"true", "false"}, short(term)
        for name in ("pattern", "unit", "changeRate", "displayOrder", "internal"):
            assert len(values(graph, term, CORE + name)) <= 1, (short(term), name)


@each_ontology
def test_no_term_of_the_house_is_used_without_being_declared(path: Path) -> None:
    declared = {q.subject.value for q in everything().quads_for_pattern(None, ox.NamedNode(RDF_TYPE), None)
                if isinstance(q.subject, ox.NamedNode)}  # fmt: skip
    used = {iri for iri in iris(store(path)) if iri.startswith(HOUSE)}
    assert used - declared == set()


@each_ontology
def test_external_terms_are_declared_and_never_defined(path: Path) -> None:
    defined = {
        (q.subject.value, q.predicate.value)
        for q in store(path)
        if isinstance(q.subject, ox.NamedNode) and not q.subject.value.startswith(HOUSE)
        if q.predicate.value != RDF_TYPE
    }
    assert defined == set()


def test_no_property_is_both_of_things_and_of_values() -> None:
    kinds = [subjects(everything(), RDF_TYPE, OWL + f"{k}Property") for k in ("Object", "Datatype", "Annotation")]
    counted = Counter(p for kind in kinds for p in kind)
    assert [p for p, n in counted.items() if n > 1] == []


@each_ontology
def test_transitive_properties_are_not_functional(path: Path) -> None:
    graph = store(path)
    assert not set(of_kind(graph, "TransitiveProperty")) & set(
        of_kind(graph, "FunctionalProperty", "InverseFunctionalProperty")
    )


@each_ontology
def test_inverse_properties_mirror_domain_and_range(path: Path) -> None:
    graph = everything()
    for prop in properties(store(path)):
        for inverse in values(graph, prop, OWL + "inverseOf"):
            assert ends(graph, prop, "domain") == ends(graph, inverse, "range"), short(prop)
            assert ends(graph, prop, "range") == ends(graph, inverse, "domain"), short(prop)


@each_ontology
def test_listed_values_are_named_in_both_languages_within_a_scheme(path: Path) -> None:
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


@pytest.mark.parametrize("column", HOTEL_COLUMNS)
def test_hotel_table_columns_name_a_property_that_hotels_have(column: str) -> None:
    graph = everything()
    above = ancestors(graph, ox.NamedNode(HOUSE + "travel#Hotel"))
    words = column.replace("_", " ")
    named = [
        p
        for p in properties(graph)
        if ends(graph, p, "domain") & above
        and words in in_language(values(graph, p, RDFS + "label") + values(graph, p, SKOS + "altLabel"), "en")
    ]
    assert len(named) == 1, [short(p) for p in named]


@each_shapes
def test_shapes_speak_only_of_terms_that_exist(path: Path) -> None:
    graph = store(path)
    own = {s.value for kind in ("NodeShape", "PropertyShape") for s in subjects(graph, RDF_TYPE, SH + kind)
           if isinstance(s, ox.NamedNode)}  # fmt: skip
    own |= {s.value for s in subjects(graph, RDF_TYPE, OWL + "Ontology")}
    used = {iri for iri in iris(graph) if iri.startswith(HOUSE)}
    assert used - own - iris(everything()) == set()


@each_shapes
def test_every_property_shape_has_messages_in_both_languages_and_a_severity(path: Path) -> None:
    graph = store(path)
    reporting = {q.object for q in graph.quads_for_pattern(None, ox.NamedNode(SH + "property"), None)
                 if values(graph, q.subject, SH + "targetClass")}  # fmt: skip
    assert reporting
    for shape in reporting:
        where = [str(x) for x in values(graph, shape, SH + "path")]
        assert {x.language for x in values(graph, shape, SH + "message")} == set(LANGUAGES), where
        assert len(values(graph, shape, SH + "severity")) == 1, where


@each_shapes
def test_shape_datatypes_and_patterns_agree_with_the_ontology(path: Path) -> None:
    graph = store(path)
    for shape in {q.subject for q in graph}:
        for prop in values(graph, shape, SH + "path"):
            for datatype in values(graph, shape, SH + "datatype"):
                if isinstance(prop, ox.NamedNode) and prop.value.startswith(HOUSE):
                    assert ends(everything(), prop, "range") == {datatype.value}, short(prop)
        for pattern in values(graph, shape, SH + "pattern"):
            re.compile(pattern.value)


def reason(folder: Path, extra: str = "") -> set[str]:
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


needs_java = pytest.mark.skipif(shutil.which("java") is None, reason="HermiT needs java on the PATH")


@needs_java
def test_all_ontologies_together_are_consistent_and_every_class_can_have_members(tmp_path: Path) -> None:
    assert reason(tmp_path) == set()


@needs_java
def test_a_town_may_be_an_attraction_and_lie_in_a_county(tmp_path: Path) -> None:
    facts = """:wuzhen a geo:Township, travel:WaterTown ; geo:locatedIn :tongxiang . :tongxiang a geo:County .
        :lake a travel:LakeAttraction ; travel:partOf :wuzhen . :inn a travel:Hotel ; geo:near :lake ;
        travel:offers travel:wifi ; travel:suitableFor travel:families ; travel:starRating 4 .
        :note a travel:TravelNote ; travel:author :somebody ; travel:recommends :inn ."""
    assert reason(tmp_path, facts) == set()


@needs_java
def test_the_reasoner_finds_a_class_that_cannot_have_members(tmp_path: Path) -> None:
    assert reason(tmp_path, ":Odd a owl:Class ; rdfs:subClassOf geo:Country, geo:City .") == {"https://example.org/Odd"}


@needs_java
@pytest.mark.parametrize(
    "facts",
    [":x a geo:Country, geo:City .", ":x travel:serves :y . :y a geo:Place .", ":h travel:starRating 3, 4 ."],
    ids=["disjoint", "range", "functional"],
)
def test_the_reasoner_finds_contradicting_facts(tmp_path: Path, facts: str) -> None:
    with pytest.raises(owlready2.OwlReadyInconsistentOntologyError):
        reason(tmp_path, facts)


@pytest.mark.parametrize("path", SCHEMES, ids=lambda p: p.name)
def test_schemes_of_questions_speak_only_of_terms_that_exist(path: Path) -> None:
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
