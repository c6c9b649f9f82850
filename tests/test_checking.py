"""What `check` finds in a graph, where it leads, what it costs, and what `--fix` mends."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyoxigraph import DefaultGraph, Literal, NamedNode, Quad, RdfFormat, Triple, parse

from kgplatform.checking.findings import CheckReport, Finding, Kind, Severity
from kgplatform.checking.literals import is_of, is_well_formed, value_of
from kgplatform.checking.report import as_json, as_turtle
from kgplatform.checking.shapes import Shapes, read_shapes
from kgplatform.cli.main import main
from kgplatform.errors import NotFoundError, OntologyError
from kgplatform.graph import KnowledgeGraph
from kgplatform.testing import HashEmbedder
from kgplatform.vocab import LABEL, SH, XSD

PREFIXES = (
    "@prefix travel: <https://w3id.org/kgplatform/travel#> . @prefix geo: <https://w3id.org/kgplatform/geo#> .\n"
    "@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . @prefix owl: <http://www.w3.org/2002/07/owl#> .\n"
    "@prefix xsd: <http://www.w3.org/2001/XMLSchema#> . @prefix sh: <http://www.w3.org/ns/shacl#> .\n"
    "@prefix core: <https://w3id.org/kgplatform/core#> . @prefix : <https://example.org/kg/entity/> .\n"
)
TOWN = ':wuzhen a geo:Township ; rdfs:label "Wuzhen"@en, "乌镇"@zh ; geo:locatedIn :tongxiang .\n' + (
    ':tongxiang a geo:County ; rdfs:label "Tongxiang"@en ; geo:locatedIn :zj .\n'
    ':zj a geo:Province ; rdfs:label "Zhejiang"@en .\n'
)
INN = ':inn a travel:Hotel ; rdfs:label "枕水酒店"@zh ; geo:locatedIn :wuzhen '
NOTE = "Xizha is an attraction in Wuzhen. Tickets for Xizha cost 150 CNY. The Riverside Hotel is near Xizha.\n"


@pytest.fixture
def kg(tmp_path: Path) -> Iterator[KnowledgeGraph]:
    with KnowledgeGraph.create(tmp_path / "workspace", ontology="travel") as graph:
        graph.__dict__["embedder"] = HashEmbedder()
        yield graph


def state(kg: KnowledgeGraph, turtle: str) -> None:
    kg.dataset.state(quad.triple for quad in parse((PREFIXES + turtle).encode(), format=RdfFormat.TURTLE))


def found(report: CheckReport, *kinds: Kind) -> list[Finding]:
    return [finding for finding in report.findings if finding.kind in kinds]


def test_well_described_things_have_no_violation(kg: KnowledgeGraph) -> None:
    state(kg, TOWN + INN + "; travel:starRating 4 ; travel:pricePerNight 480.0 ; travel:offers travel:wifi .")
    report = kg.check()
    assert report.violations == 0
    assert report.checked == 4


@pytest.mark.parametrize(
    ("fact", "kind", "words"),
    [
        (":wuzhen travel:starRating 4 .", Kind.DOMAIN, "'star rating' is said of"),
        (INN + "; travel:offers :wuzhen .", Kind.RANGE, "or a facility, but wuzhen is a township"),
        (INN + '; travel:offers "wifi" .', Kind.RANGE, "not to the text 'wifi'"),
        (INN + "; travel:starRating 4, 5 .", Kind.FUNCTIONAL, "has one value, and here are 2: '4', '5'"),
        (":wuzhen a geo:Country .", Kind.DISJOINT, "nothing can be both"),
        (INN + "; a travel:Hotle .", Kind.UNKNOWN_CLASS, "did you mean https://w3id.org/kgplatform/travel#Hotel?"),
        (INN + "; travel:starRatng 4 .", Kind.UNKNOWN_PROPERTY, "travel#starRating?"),
        (INN + '; travel:pricePerNight "480 元" .', Kind.DATATYPE, "takes decimal, and '480 元' is string"),
        (INN + '; travel:starRating "vier"^^xsd:integer .', Kind.DATATYPE, "'vier' is not written as integer is"),
        (INN + "; travel:phone :wuzhen .", Kind.DATATYPE, "takes a value, not a thing"),
        (INN + '; travel:openingHours "in the morning" .', Kind.PATTERN, "is not written as values of"),
    ],
)
def test_a_statement_that_breaks_the_ontology_is_a_violation(
    kg: KnowledgeGraph, fact: str, kind: Kind, words: str
) -> None:
    state(kg, TOWN + fact)
    (finding,) = found(kg.check(), kind)
    assert finding.severity is Severity.VIOLATION
    assert words in finding.message
    assert finding.statements
    assert (finding.evidence[0].method, finding.evidence[0].graph) == ("asserted", kg.dataset.asserted)


def test_a_fault_that_ontology_and_shape_both_see_is_told_once(kg: KnowledgeGraph) -> None:
    state(kg, TOWN + INN + '; travel:pricePerNight "480 元" .')
    price = [f for f in kg.check().findings if f.path and f.path.value.endswith("pricePerNight") and f.value]
    datatype = [f for f in price if f.kind is Kind.DATATYPE]
    assert len(datatype) == 1
    assert datatype[0].shape == "https://w3id.org/kgplatform/travel/shapes#AccommodationShape"
    assert datatype[0].constraint == "Datatype"


def test_a_thing_only_known_to_be_of_a_class_above_is_a_warning(kg: KnowledgeGraph) -> None:
    state(kg, TOWN + ':it a core:Entity ; rdfs:label "it"@en ; travel:starRating 4 .')
    (finding,) = found(kg.check(), Kind.DOMAIN)
    assert finding.severity is Severity.WARNING


def test_numbers_of_one_amount_and_linked_things_are_one_value(kg: KnowledgeGraph) -> None:
    state(kg, TOWN + INN + '; travel:pricePerNight 480.0, "480"^^xsd:integer .')
    assert found(kg.check(), Kind.FUNCTIONAL) == []


def test_foreign_terms_are_a_warning_and_known_vocabularies_none(kg: KnowledgeGraph) -> None:
    state(kg, TOWN + INN + "; <http://example.com/x#likes> :wuzhen ; rdfs:seeAlso <http://example.com/page> .")
    findings = found(kg.check(), Kind.UNKNOWN_PROPERTY)
    assert [(f.severity, f.path) for f in findings] == [(Severity.WARNING, NamedNode("http://example.com/x#likes"))]


def test_duplicates_that_are_not_linked_are_found_and_told_apart(kg: KnowledgeGraph) -> None:
    hotels = "".join(
        f':{name} a travel:Hotel ; rdfs:label "{label}"@en ; geo:locatedIn :wuzhen ; travel:starRating {stars} .\n'
        for name, label, stars in (("a", "Sea Inn", 4), ("b", "sea  inn", 4), ("c", "Sea Inn", 5))
    )
    river = ':d a geo:River ; rdfs:label "Sea Inn"@en ; geo:locatedIn :wuzhen .'
    state(kg, TOWN + hotels + river)
    clashes = found(kg.check(), Kind.LABEL_CLASH)
    assert [(f.focus.value[-1], f.value.value[-1]) for f in clashes] == [("a", "b")]  # type: ignore[union-attr]
    state(kg, ":a owl:sameAs :b .")
    assert found(kg.check(), Kind.LABEL_CLASH) == []


def test_what_is_referred_to_and_never_described_is_found(kg: KnowledgeGraph) -> None:
    state(kg, TOWN + INN + "; geo:near :nowhere .")
    (finding,) = found(kg.check(), Kind.UNREACHABLE)
    assert finding.value == NamedNode("https://example.org/kg/entity/nowhere")
    assert finding.severity is Severity.WARNING


def test_a_finding_leads_to_its_passage_and_method(kg: KnowledgeGraph, tmp_path: Path) -> None:
    (tmp_path / "note.txt").write_text(NOTE, encoding="utf-8")
    list(kg.add(tmp_path / "note.txt"))
    state(kg, "@prefix owl: <http://www.w3.org/2002/07/owl#> .")
    report = kg.check("note.txt")
    supports = [s for finding in report.findings for s in finding.evidence if s.passage is not None]
    assert supports
    assert {support.method for support in supports} == {"built-in"}
    for support in supports:
        assert support.passage is not None
        assert NOTE[support.passage.start : support.passage.end] == support.passage.quote


def test_a_document_is_checked_by_its_own_things(kg: KnowledgeGraph, tmp_path: Path) -> None:
    state(kg, TOWN + INN + "; travel:starRating 4, 5 .")
    (tmp_path / "note.txt").write_text(NOTE, encoding="utf-8")
    list(kg.add(tmp_path / "note.txt"))
    whole, one = kg.check(), kg.check("note.txt")
    assert 0 < one.checked < whole.checked
    assert not found(one, Kind.FUNCTIONAL)
    about = {finding.focus for finding in one.findings}
    assert {f for f in found(whole, Kind.SHAPE) if f.focus in about} == set(found(one, Kind.SHAPE))
    with pytest.raises(NotFoundError):
        kg.check("other.txt")


def test_unions_are_checked_through_shapes_in_a_document_too(kg: KnowledgeGraph, tmp_path: Path) -> None:
    table = tmp_path / "hotels.csv"
    table.write_text("name,town,price_per_night\nRiver Inn,Wuzhen,480\n", encoding="utf-8")
    list(kg.add(table))
    shapes = tmp_path / "mine.ttl"
    shapes.write_text(
        PREFIXES + ":S a sh:NodeShape ; sh:targetClass travel:Hotel ; sh:property [ sh:path geo:locatedIn ;"
        " sh:or ( [ sh:class travel:Dish ] [ sh:class travel:Facility ] ) ; sh:message 'no dish'@en ] .",
        encoding="utf-8",
    )
    messages = [finding.message for finding in kg.check("hotels.csv", shapes=[shapes]).findings]
    assert "no dish" in messages


def test_restrictions_of_the_ontology_become_shapes(tmp_path: Path) -> None:
    ontology = tmp_path / "rocks.ttl"
    ontology.write_text(
        PREFIXES.replace("https://example.org/kg/entity/", "https://example.org/rocks#")
        + "<https://example.org/rocks> a owl:Ontology .\n"
        ':Rock a owl:Class ; rdfs:label "rock"@en ; rdfs:subClassOf [ a owl:Restriction ; owl:onProperty :part ;'
        ' owl:maxCardinality "2"^^xsd:nonNegativeInteger ], [ a owl:Restriction ; owl:onProperty :part ;'
        " owl:someValuesFrom :Mineral ] .\n"
        ':Mineral a owl:Class ; rdfs:label "mineral"@en .\n'
        ':part a owl:ObjectProperty ; rdfs:label "part"@en ; rdfs:domain :Rock .\n',
        encoding="utf-8",
    )
    with KnowledgeGraph.create(tmp_path / "rocks", ontology=str(ontology)) as kg:
        entities = "".join(f':m{n} a <https://example.org/rocks#Mineral> ; rdfs:label "m{n}"@en .\n' for n in range(3))
        part = "<https://example.org/rocks#part>"
        state(kg, entities + f':r a <https://example.org/rocks#Rock> ; rdfs:label "r"@en ; {part} :m0, :m1, :m2 .\n'
                             ':s a <https://example.org/rocks#Rock> ; rdfs:label "s"@en .')  # fmt: skip
        results = {(f.focus.value[-1], f.constraint, f.severity) for f in found(kg.check(), Kind.SHAPE)}  # type: ignore[union-attr]
    assert results == {
        ("r", "MaxCount", Severity.VIOLATION),
        ("s", "QualifiedMinCount", Severity.WARNING),
    }


def test_fix_restores_the_law_of_evidence_and_drops_what_dangles(kg: KnowledgeGraph, tmp_path: Path) -> None:
    (tmp_path / "note.txt").write_text(NOTE, encoding="utf-8")
    list(kg.add(tmp_path / "note.txt"))
    record = kg.registry.find("note.txt")
    chunk = kg.registry.chunks(record.document.iri)[0].iri
    (read, *_) = [item.triple for item in kg.store.quads(graph=chunk)]
    stray = Triple(NamedNode("https://example.org/kg/entity/x"), LABEL, Literal("stray", language="en"))
    left = Triple(NamedNode("https://example.org/kg/entity/y"), LABEL, Literal("left over", language="en"))
    gone = NamedNode("https://example.org/kg/document/0123456789abcdef/chunk/0")
    default = DefaultGraph()
    kg.store.apply(
        removed=[Quad(read.subject, read.predicate, read.object, default)],
        added=[Quad(t.subject, t.predicate, t.object, g) for t, g in ((stray, default), (left, default), (left, gone))],
    )
    before = kg.check()
    assert {f.kind for f in before.findings if f.fixable} == {Kind.NO_EVIDENCE, Kind.NOT_HELD, Kind.DANGLING_GRAPH}
    after = kg.check(fix=True)
    assert len(after.repaired) == 3
    assert not [f for f in after.findings if f.fixable]
    assert kg.store.has(read)
    assert kg.store.has(stray, kg.dataset.asserted)
    assert not kg.store.has(left)
    assert kg.dataset.violations() == (frozenset(), frozenset())
    assert kg.check(fix=True).repaired == ()


def test_evidence_of_loaded_data_is_never_taken_for_a_leftover(kg: KnowledgeGraph, tmp_path: Path) -> None:
    (tmp_path / "note.txt").write_text(NOTE, encoding="utf-8")
    list(kg.add(tmp_path / "note.txt"))
    kg.dump(tmp_path / "dump.nq")
    with KnowledgeGraph.create(tmp_path / "other", ontology="travel") as other:
        other.load(tmp_path / "dump.nq")
        size = len(other.store)
        report = other.check(fix=True)
        assert len(other.store) >= size
        assert {f.severity for f in found(report, Kind.DANGLING_GRAPH)} == {Severity.WARNING}


def test_the_report_is_a_shacl_validation_report(kg: KnowledgeGraph) -> None:
    state(kg, TOWN + INN + "; travel:starRating 4, 5 .")
    report = kg.check()
    triples = [item.triple for item in parse(as_turtle(report), format=RdfFormat.TURTLE)]
    results = [t.subject for t in triples if t.object == NamedNode(f"{SH}ValidationResult")]
    assert len(results) == len(report.findings) > 0
    for name in ("focusNode", "resultSeverity", "sourceConstraintComponent"):
        assert sorted(str(t.subject) for t in triples if t.predicate.value == f"{SH}{name}") == sorted(
            map(str, results)
        )
    values = as_json(report)
    assert values["violations"] == report.violations > 0
    assert json.loads(json.dumps(values)) == values


def test_shapes_without_use_are_left_out_and_the_rest_kept(tmp_path: Path) -> None:
    file = tmp_path / "s.ttl"
    file.write_text(
        PREFIXES + ":S a sh:NodeShape ; sh:targetClass travel:Hotel ;"
        " sh:property [ sh:path travel:a ; sh:maxCount 1 ], [ sh:path travel:b ; sh:minCount 1 ],"
        " [ sh:path travel:c ; sh:hasValue 3 ], [ sh:path [ sh:inversePath travel:d ] ; sh:maxCount 1 ] .",
        encoding="utf-8",
    )
    shapes = Shapes(read_shapes(file))
    kept = Shapes(shapes.used_in([]).triples)
    paths = {t.object.value[-1] for t in kept.triples if t.predicate.value == f"{SH}path"}  # type: ignore[union-attr]
    assert "a" not in paths
    assert {"b", "c"} <= paths
    assert [iri.value[-1] for iri in shapes.reach.backward] == ["d"]


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("s.txt", b"", "has the suffix .txt"),
        ("s.ttl", b"", "holds no SHACL shape"),
        ("s.ttl", b"this is no Turtle", "line 1"),
        (
            "s.ttl",
            PREFIXES.encode() + b":S a sh:NodeShape ; sh:targetClass travel:Hotel ; sh:property [ sh:minCount 1 ] .",
            "S is not well formed: sh:path: Less than 1 values$",
        ),
        (
            "s.ttl",
            PREFIXES.encode()
            + b':S a sh:NodeShape ; sh:sparql [ sh:select "SELECT $this { SERVICE <http://x/> {} }" ] .',
            "reaches another server",
        ),
    ],
)
def test_shapes_that_cannot_be_used_give_one_line(
    kg: KnowledgeGraph, tmp_path: Path, name: str, content: bytes, words: str
) -> None:
    state(kg, TOWN + INN + ".")
    (tmp_path / name).write_bytes(content)
    with pytest.raises(OntologyError, match=words) as caught:
        kg.check(shapes=[tmp_path / name])
    assert "\n" not in str(caught.value)


def test_a_byte_order_mark_before_shapes_is_read_over(tmp_path: Path) -> None:
    (tmp_path / "s.ttl").write_bytes(b"\xef\xbb\xbf" + PREFIXES.encode() + b":S a sh:NodeShape ; sh:targetClass :C .")
    assert read_shapes(tmp_path / "s.ttl")


@pytest.mark.parametrize(
    ("text", "datatype", "ranges", "fits"),
    [
        ("4", "integer", ("decimal",), True),
        ("4.0", "decimal", ("integer",), False),
        ("4", "integer", ("nonNegativeInteger",), True),
        ("2024-02-30T25:00:00", "dateTime", ("dateTime",), True),
        ("x", "string", ("date",), False),
    ],
)
def test_datatypes_are_taken_as_xml_schema_derives_them(
    text: str, datatype: str, ranges: tuple[str, ...], fits: bool
) -> None:
    value = Literal(text, datatype=NamedNode(XSD + datatype))
    assert is_of(value, [NamedNode(XSD + name) for name in ranges]) is fits


def test_forms_and_values_of_literals() -> None:
    def typed(text: str, name: str) -> Literal:
        return Literal(text, datatype=NamedNode(XSD + name))

    assert not is_well_formed(typed("2024-13-01", "date"))
    assert is_well_formed(typed("1.5e3", "double"))
    assert value_of(typed("4", "integer")) == value_of(typed("4.0", "decimal"))
    assert value_of(typed("INF", "double")) == "INF"


def test_the_verb_prints_each_format_and_its_status(
    kg: KnowledgeGraph, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    state(kg, TOWN + INN + "; travel:starRating 4, 5 .")
    folder = str(kg.folder)
    kg.close()
    for format_, sign in (("table", "violation"), ("json", '"violations"'), ("turtle", "sh:ValidationReport")):
        assert main(["check", "-w", folder, "--format", format_]) == 1
        sys.stdout.flush()
        assert sign in capfdbinary.readouterr().out.decode()
    assert main(["check", "-w", folder, "--shapes", "missing.ttl"]) == 1
    assert b"missing.ttl: cannot be read" in capfdbinary.readouterr().err
    kg.__init__(Path(folder))  # type: ignore[misc]
