"""What `check` finds, where it leads and what `--fix` mends; what becomes of a document that violates shapes."""

import json
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest
from pyoxigraph import DefaultGraph, Literal, NamedNode, Quad, RdfFormat, Triple, parse

from kgplatform.cli.main import main
from kgplatform.documents.records import State
from kgplatform.errors import ConfigError, NotFoundError, OntologyError
from kgplatform.graph import KnowledgeGraph
from kgplatform.models.stubs import HashEmbedder
from kgplatform.reasoning.checks import as_json, as_turtle
from kgplatform.reasoning.conformance import is_of, is_well_formed, value_of
from kgplatform.reasoning.scope import Fault, Severity
from kgplatform.reasoning.shapes import read_shapes
from kgplatform.vocab import LABEL, SH, XSD
from tests.workspaces import new_workspace

PREFIXES = (
    "@prefix travel: <https://w3id.org/kgplatform/travel#> . @prefix geo: <https://w3id.org/kgplatform/geo#> .\n"
    "@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . @prefix owl: <http://www.w3.org/2002/07/owl#> .\n"
    "@prefix xsd: <http://www.w3.org/2001/XMLSchema#> . @prefix sh: <http://www.w3.org/ns/shacl#> .\n"
    "@prefix core: <https://w3id.org/kgplatform/core#> . @prefix : <https://example.org/kg/entity/> .\n"
    "@prefix dcterms: <http://purl.org/dc/terms/> .\n"
)
TOWN = ':wuzhen a geo:Township ; rdfs:label "Wuzhen"@en, "乌镇"@zh ; geo:locatedIn :tongxiang .\n' + (
    ':tongxiang a geo:County ; rdfs:label "Tongxiang"@en ; geo:locatedIn :zj .\n'
    ':zj a geo:Province ; rdfs:label "Zhejiang"@en .\n'
)
INN = ':inn a travel:Hotel ; rdfs:label "枕水酒店"@zh ; geo:locatedIn :wuzhen '
NOTE = "Xizha is an attraction in Wuzhen. Tickets for Xizha cost 150 CNY. The Riverside Hotel is near Xizha.\n"


@contextmanager
def opened(folder):
    with KnowledgeGraph.open(new_workspace(folder)) as graph:
        graph.workspace.__dict__["embedder"] = HashEmbedder()
        yield graph


@pytest.fixture
def kg(tmp_path):
    with opened(tmp_path / "workspace") as graph:
        yield graph


def state(kg, turtle):
    kg.dataset.state(quad.triple for quad in parse((PREFIXES + turtle).encode(), format=RdfFormat.TURTLE))


def found(report, *kinds):
    return [finding for finding in report.findings if finding.kind in kinds]


def test_well_described_things_have_no_violation(kg):
    state(kg, TOWN + INN + "; travel:starRating 4 ; travel:pricePerNight 480.0 ; travel:offers travel:wifi .")
    report = kg.check()
    assert (report.violations, report.checked) == (0, 4)
    state(kg, ':inn travel:pricePerNight "480"^^xsd:integer ; rdfs:seeAlso <http://example.com/page> .')
    assert found(kg.check(), Fault.FUNCTIONAL, Fault.UNKNOWN_PROPERTY) == []  # one amount; a vocabulary that is known


def test_a_statement_that_breaks_the_ontology_is_a_violation(kg):
    inn = 'a travel:Hotel ; rdfs:label "{}"@en ; geo:locatedIn :wuzhen '
    faults = (
        ("a geo:Township ; travel:starRating 4", Fault.DOMAIN, "'star rating' is said of"),
        (inn + "; travel:offers :wuzhen", Fault.RANGE, "or a facility, but wuzhen is a township"),
        (inn + '; travel:offers "wifi"', Fault.RANGE, "not to the text 'wifi'"),
        (inn + "; travel:starRating 4, 5", Fault.FUNCTIONAL, "has one value, and here are 2: '4', '5'"),
        ("a geo:Township, geo:Country", Fault.DISJOINT, "nothing can be both"),
        (inn + "; a travel:Hotle", Fault.UNKNOWN_CLASS, "did you mean https://w3id.org/kgplatform/travel#Hotel?"),
        (inn + "; travel:starRatng 4", Fault.UNKNOWN_PROPERTY, "travel#starRating?"),
        (inn + '; travel:pricePerNight "480 元"', Fault.DATATYPE, "takes decimal, and '480 元' is string"),
        (inn + '; travel:starRating "vier"^^xsd:integer', Fault.DATATYPE, "'vier' is not written as integer is"),
        (inn + "; travel:phone :wuzhen", Fault.DATATYPE, "takes a value, not a thing"),
        (inn + '; travel:openingHours "in the morning"', Fault.PATTERN, "is not written as values of"),
    )
    state(kg, TOWN + "".join(f":x{n} {fact} .\n".replace("{}", f"Inn {n}") for n, (fact, _, _) in enumerate(faults)))
    report = kg.check()
    for number, (fact, kind, words) in enumerate(faults):
        (finding,) = [item for item in found(report, kind) if item.focus.value.endswith(f"/x{number}")]
        assert finding.severity is Severity.VIOLATION
        assert words in finding.message, fact
        assert finding.statements
        assert (finding.evidence[0].method, finding.evidence[0].graph) == ("asserted", kg.dataset.asserted)
    (price,) = [
        item for item in found(report, Fault.DATATYPE) if item.path and item.path.value.endswith("pricePerNight")
    ]
    # a fault that ontology and shape both see is told once
    assert price.shape == "https://w3id.org/kgplatform/travel/shapes#AccommodationShape"
    assert price.constraint == "Datatype"


def test_what_may_be_right_is_a_warning(kg):
    state(kg, TOWN + INN + "; <http://example.com/x#likes> :wuzhen ; geo:near :nowhere .")
    state(kg, ':it a core:Entity ; rdfs:label "it"@en ; travel:starRating 4 .')  # of a class above
    report = kg.check()
    findings = found(report, Fault.DOMAIN, Fault.UNKNOWN_PROPERTY, Fault.UNREACHABLE)
    assert {(f.kind, f.severity) for f in findings} == {
        (kind, Severity.WARNING) for kind in (Fault.DOMAIN, Fault.UNKNOWN_PROPERTY, Fault.UNREACHABLE)
    }
    assert [f.path for f in found(report, Fault.UNKNOWN_PROPERTY)] == [NamedNode("http://example.com/x#likes")]
    assert [f.value for f in found(report, Fault.UNREACHABLE)] == [NamedNode("https://example.org/kg/entity/nowhere")]


def test_what_linking_notes_of_itself_is_no_thing_of_an_ontology_that_does_not_speak_of_it(tmp_path):
    (tmp_path / "towns.ttl").write_text(f'{PREFIXES}:Town a owl:Class ; rdfs:label "town"@en .', encoding="utf-8")
    with KnowledgeGraph.create(tmp_path / "ws", ontology=[str(tmp_path / "towns.ttl")]) as graph:
        state(graph, ':a a :Town ; rdfs:label "Alder"@en .\n:b dcterms:isReplacedBy :a .\n:c rdfs:label "Cedar"@en .')
        state(graph, ":link a core:Link ; core:linkFrom :b ; core:linkTo :a .")
        report = graph.check()
    assert {finding.focus.value[-1] for finding in report.findings} == {"c"}


def test_duplicates_that_are_not_linked_are_found_and_told_apart(kg):
    hotels = "".join(
        f':{name} a travel:Hotel ; rdfs:label "{label}"@en ; geo:locatedIn :wuzhen ; travel:starRating {stars} .\n'
        for name, label, stars in (("a", "Sea Inn", 4), ("b", "sea  inn", 4), ("c", "Sea Inn", 5))
    )
    river = ':d a geo:River ; rdfs:label "Sea Inn"@en ; geo:locatedIn :wuzhen .'
    state(kg, TOWN + hotels + river)
    clashes = found(kg.check(), Fault.LABEL_CLASH)
    assert [(f.focus.value[-1], f.value.value[-1]) for f in clashes] == [("a", "b")]
    state(kg, ":a owl:sameAs :b .")
    assert found(kg.check(), Fault.LABEL_CLASH) == []


def test_a_document_is_checked_by_its_things_and_findings_lead_to_passages(kg, tmp_path):
    state(kg, TOWN + INN + "; travel:starRating 4, 5 .")
    (tmp_path / "note.txt").write_text(NOTE, encoding="utf-8")
    list(kg.add(tmp_path / "note.txt"))
    whole, one = kg.check(), kg.check("note.txt")
    assert 0 < one.checked < whole.checked
    assert not found(one, Fault.FUNCTIONAL)
    about = {finding.focus for finding in one.findings}
    assert {f for f in found(whole, Fault.SHAPE) if f.focus in about} == set(found(one, Fault.SHAPE))
    supports = [s for finding in one.findings for s in finding.evidence if s.passage is not None]
    assert {support.method for support in supports} == {"built-in"}
    for support in supports:
        assert NOTE[support.passage.start : support.passage.end] == support.passage.quote
    with pytest.raises(NotFoundError):
        kg.check("other.txt")


def test_unions_are_checked_through_shapes_in_a_document_too(kg, tmp_path):
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


def test_restrictions_of_the_ontology_become_shapes(tmp_path):
    ontology = tmp_path / "rocks.ttl"
    prefixes = PREFIXES.replace("https://example.org/kg/entity/", "https://example.org/rocks#")
    ontology.write_text(
        f"{prefixes}<https://example.org/rocks> a owl:Ontology .\n"
        ':Rock a owl:Class ; rdfs:label "rock"@en ; rdfs:subClassOf [ a owl:Restriction ; owl:onProperty :part ;'
        ' owl:maxCardinality "2"^^xsd:nonNegativeInteger ], [ a owl:Restriction ; owl:onProperty :part ;'
        " owl:someValuesFrom :Mineral ] .\n"
        ':Mineral a owl:Class ; rdfs:label "mineral"@en .\n'
        ':part a owl:ObjectProperty ; rdfs:label "part"@en ; rdfs:domain :Rock .\n',
        encoding="utf-8",
    )
    data = "".join(f'<urn:m{n}> a :Mineral ; rdfs:label "m{n}"@en .\n' for n in range(3))
    data += '<urn:r> a :Rock ; rdfs:label "r"@en ; :part <urn:m0>, <urn:m1>, <urn:m2> .\n'
    data += '<urn:s> a :Rock ; rdfs:label "s"@en .'
    with KnowledgeGraph.create(tmp_path / "rocks", ontology=str(ontology)) as kg:
        kg.dataset.state(quad.triple for quad in parse((prefixes + data).encode(), format=RdfFormat.TURTLE))
        results = {(f.focus.value[-1], f.constraint, f.severity) for f in found(kg.check(), Fault.SHAPE)}
    assert results == {("r", "MaxCount", Severity.VIOLATION), ("s", "QualifiedMinCount", Severity.WARNING)}


def test_fix_restores_the_law_of_evidence_and_drops_what_dangles(kg, tmp_path):
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
    assert {f.kind for f in before.findings if f.fixable} == {
        Fault.NO_EVIDENCE,
        Fault.NOT_HELD,
        Fault.DANGLING_GRAPH,
    }
    after = kg.check(fix=True)
    assert len(after.repaired) == 3
    assert not [f for f in after.findings if f.fixable]
    assert kg.store.has(read)
    assert kg.store.has(stray, kg.dataset.asserted)
    assert not kg.store.has(left)
    assert kg.dataset.violations() == (frozenset(), frozenset())
    assert kg.check(fix=True).repaired == ()


def test_evidence_of_loaded_data_is_never_taken_for_a_leftover(kg, tmp_path):
    (tmp_path / "note.txt").write_text(NOTE, encoding="utf-8")
    list(kg.add(tmp_path / "note.txt"))
    kg.dump(tmp_path / "dump.nq")
    with opened(tmp_path / "other") as other:
        other.load(tmp_path / "dump.nq")
        size = len(other.store)
        report = other.check(fix=True)
        assert len(other.store) >= size
        assert {f.severity for f in found(report, Fault.DANGLING_GRAPH)} == {Severity.WARNING}


def test_the_report_is_a_shacl_validation_report(kg):
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


SHAPE = f"{PREFIXES}:S a sh:NodeShape ; sh:targetClass travel:Hotel ; "


def test_shapes_that_cannot_be_used_give_one_line(kg, tmp_path):
    state(kg, TOWN + INN + ".")
    for name, content, words in (
        ("s.txt", "", "has the suffix .txt"),
        ("s.ttl", "", "holds no SHACL shape"),
        ("s.ttl", "this is no Turtle", "line 1"),
        ("s.ttl", SHAPE + "sh:property [ sh:minCount 1 ] .", "S is not well formed: sh:path: Less than 1 values$"),
        (
            "s.ttl",
            SHAPE + 'sh:sparql [ sh:select "SELECT $this { SERVICE <http://x/> {} }" ] .',
            "reaches another server",
        ),
        ("s.ttl", SHAPE + 'sh:sparql [ sh:select "SELECT $this { $this <urn:p> }" ] .', "S.* cannot be used: line"),
        ("s.ttl", SHAPE + 'sh:sparql [ sh:select "ASK { $this <urn:p> 1 }" ] .', "S.* is no SELECT"),
    ):
        (tmp_path / name).write_text(content)
        with pytest.raises(OntologyError, match=words) as caught:
            kg.check(shapes=[tmp_path / name])
        assert "\n" not in str(caught.value)
    (tmp_path / "bom.ttl").write_text(f"\ufeff{SHAPE} sh:nodeKind sh:IRI .")
    assert read_shapes(tmp_path / "bom.ttl")


def typed(text, name):
    return Literal(text, datatype=NamedNode(XSD + name))


@pytest.mark.parametrize(
    ("text", "datatype", "range_", "fits"),
    [
        ("4", "integer", "decimal", True), ("4.0", "decimal", "integer", False),
        ("4", "integer", "nonNegativeInteger", True), ("2024-02-30T25:00:00", "dateTime", "dateTime", True),
        ("x", "string", "date", False),
    ],
)  # fmt: skip
def test_datatypes_are_taken_as_xml_schema_derives_them(text, datatype, range_, fits):
    assert is_of(typed(text, datatype), [NamedNode(XSD + range_)]) is fits
    assert not is_well_formed(typed("2024-13-01", "date"))
    assert is_well_formed(typed("1.5e3", "double"))
    assert value_of(typed("4", "integer")) == value_of(typed("4.0", "decimal"))


def test_the_verb_prints_each_format(kg, capfdbinary):
    state(kg, TOWN + INN + "; travel:starRating 4, 5 .")
    folder = str(kg.folder)
    kg.close()
    for format_, sign in (("table", "violation"), ("json", '"violations"'), ("turtle", "sh:ValidationReport")):
        assert main(["check", "-w", folder, "--format", format_]) == 1
        sys.stdout.flush()
        assert sign in capfdbinary.readouterr().out.decode()
    assert main(["check", "-w", folder, "--shapes", "missing.ttl"]) == 1
    assert b"missing.ttl: cannot be read" in capfdbinary.readouterr().err
    kg.__init__(Path(folder))


GOOD = "name,town,price_per_night,star_rating\nRiver Inn,Wuzhen,480,4\n"
BAD = "name,town,price_per_night,star_rating\nRiver Inn,Wuzhen,480,9\nLake Inn,Wuzhen,300,3\n"
BAD_CHINESE = "名称,位于,每晚价格,星级\n枕水酒店,乌镇,480,9\n"
ONTOLOGY = (
    "@prefix owl: <http://www.w3.org/2002/07/owl#> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .\n"
    "@prefix travel: <https://w3id.org/kgplatform/travel#> . @prefix : <https://example.org/mine#> .\n"
    "<https://example.org/mine> a owl:Ontology ; owl:imports <https://w3id.org/kgplatform/travel> .\n"
    ':Teahouse a owl:Class ; rdfs:subClassOf travel:FoodEstablishment ; rdfs:label "teahouse"@en, "茶馆"@zh .\n'
)
OWN_SHAPES = (
    "@prefix sh: <http://www.w3.org/ns/shacl#> . @prefix travel: <https://w3id.org/kgplatform/travel#> .\n"
    "@prefix xsd: <http://www.w3.org/2001/XMLSchema#> . @prefix : <https://example.org/mine/shapes#> .\n"
    ":Cheap a sh:NodeShape ; sh:targetClass travel:Attraction ; sh:property [ sh:path travel:ticketPrice ;\n"
    '  sh:maxInclusive 100.0 ; sh:message "Tickets cost at most 100 yuan."@en, "门票最多100元。"@zh ] .\n'
    ":Twice a sh:NodeShape ; sh:targetClass travel:Hotel ; sh:sparql [\n"
    '  sh:message "Priced as {?other} is."@en, "与{?other}同价。"@zh ;\n'
    '  sh:prefixes :P ; sh:select "SELECT $this ?other { $this t:pricePerNight ?p . ?other t:pricePerNight ?p .'
    ' FILTER (?other != $this) }" ] .\n'
    ':P sh:declare [ sh:prefix "t" ; sh:namespace "https://w3id.org/kgplatform/travel#"^^xsd:anyURI ] .\n'
)


def table(folder, text, name="hotels.csv"):
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def only(added):
    (item,) = added
    return item


def assert_lawful(kg):
    assert kg.dataset.violations() == (frozenset(), frozenset())


def quarantine_graphs(kg):
    return sorted(
        graph.value
        for graph in kg.store.graphs()
        if "/quarantine/" in graph.value and next(iter(kg.store.quads(graph=graph)), None)
    )


@pytest.mark.parametrize("text", [BAD, pytest.param(BAD_CHINESE, marks=pytest.mark.slow)])
def test_a_document_is_refused_or_accepted_and_its_violations_told(kg, tmp_path, text):
    before = kg.dump()
    refused = only(kg.add(table(tmp_path, text), policy="refuse"))
    assert (refused.outcome, len(refused.findings)) == ("failed", 1)
    assert (refused.error or "").startswith("refused, 1 violation of shapes: ")
    assert "starRating" in (refused.error or "")
    assert kg.dump() == before
    (record,) = kg.documents()
    assert (record.state, record.error) == (State.FAILED, refused.error)
    assert kg.registry.chunks(record.document.iri) == []
    added = only(kg.add(table(tmp_path, text)))
    assert added.outcome == "added"
    assert [(f.constraint, f.path.value[-10:]) for f in added.findings if f.path] == [("MaxInclusive", "starRating")]
    assert {message.language for message in added.findings[0].messages} == {"en", "zh"}
    assert added.accepted
    assert_lawful(kg)


@pytest.mark.parametrize("policy", ["accept", "quarantine", "refuse"])
def test_a_good_document_is_added_by_every_policy(kg, tmp_path, policy):
    added = only(kg.add(table(tmp_path, GOOD), policy=policy, build=False))
    assert (added.outcome, added.findings, quarantine_graphs(kg)) == ("added", (), [])


def test_what_lies_in_quarantine_does_not_hold_is_listed_and_released(kg, tmp_path):
    path, before = table(tmp_path, BAD), kg.dump()
    with opened(tmp_path / "other") as other:
        list(other.add(path))
        accepted = other.dump()
    added = only(kg.add(path, policy="quarantine"))
    assert (added.outcome, added.accepted, len(added.findings)) == ("quarantined", (), 1)
    assert kg.documents()[0].state is State.QUARANTINED
    assert quarantine_graphs(kg) == ["https://example.org/kg/graph/quarantine/table/hotels"]
    assert not kg.query("ASK { ?s a travel:Hotel }").boolean
    assert_lawful(kg)
    assert len([f for f in kg.check().findings if f.kind is Fault.QUARANTINED]) == 1
    assert [f.constraint for f in kg.check("hotels.csv").findings if f.constraint == "MaxInclusive"]
    kg.release("hotels.csv")
    assert (kg.dump(), kg.documents()[0].state) == (accepted, State.PROCESSED)
    assert_lawful(kg)
    with pytest.raises(NotFoundError, match="not in quarantine"):
        kg.release("hotels.csv")
    kg.remove("hotels.csv")
    list(kg.add(path, policy="quarantine"))
    kg.remove("hotels.csv")
    assert (kg.dump(), kg.documents()) == (before, [])


def test_a_mended_file_leaves_quarantine_and_a_refused_one_the_old(kg, tmp_path):
    list(kg.add(table(tmp_path, BAD), policy="quarantine"))
    path = table(tmp_path, GOOD)
    assert only(kg.add(path, policy="quarantine")).outcome == "replaced"
    assert not quarantine_graphs(kg)
    assert kg.query("ASK { ?s travel:starRating 4 }").boolean
    before = kg.dump()
    assert only(kg.add(table(tmp_path, BAD), policy="refuse")).outcome == "failed"
    assert kg.dump() == before
    assert_lawful(kg)


def test_quarantine_survives_adding_again_building_and_other_documents(kg, tmp_path):
    path = table(tmp_path, BAD)
    list(kg.add(path, policy="quarantine"))
    apart = quarantine_graphs(kg)
    list(kg.add(table(tmp_path, "The River Inn is near Xizha. 枕水酒店位于乌镇。\n", "note.txt")))
    assert only(kg.add(path)).outcome == "unchanged"
    kg.build()
    assert quarantine_graphs(kg) == apart
    assert kg.documents(State.QUARANTINED)
    assert not kg.query("ASK { ?s travel:starRating ?o }").boolean
    assert_lawful(kg)


def test_old_faults_are_not_held_against_a_document_but_a_second_value_is(kg, tmp_path):
    list(kg.add(table(tmp_path, BAD)))
    note = table(tmp_path, "The River Inn is a hotel in Wuzhen. The River Inn is near Xizha.\n", "note.txt")
    added = only(kg.add(note, policy="refuse"))
    assert (added.outcome, added.findings) == ("added", ())
    added = only(kg.add(table(tmp_path, GOOD, "again.csv"), policy="refuse"))  # four stars, not nine
    assert added.outcome == "failed"
    assert "MaxCount" in {finding.constraint for finding in added.findings}


@pytest.mark.slow
def test_a_kill_leaves_a_quarantined_document_in_quarantine(tmp_path):
    with opened(tmp_path / "workspace") as kg:
        list(kg.add(table(tmp_path, BAD), policy="quarantine", build=False))
        (record,) = kg.documents()
        kg.registry.mark(record.document.iri, State.PROCESSING)  # as between graphs and registry
    with KnowledgeGraph.open(kg.folder) as again:
        assert again.documents()[0].state is State.QUARANTINED
        assert not again.query("ASK { ?s a travel:Hotel }").boolean
        assert_lawful(again)


@pytest.fixture
def own(tmp_path):
    (tmp_path / "mine.ttl").write_text(ONTOLOGY, encoding="utf-8")
    (tmp_path / "mine.shapes.ttl").write_text(OWN_SHAPES, encoding="utf-8")
    return tmp_path / "mine.ttl"


def test_shapes_beside_ones_own_ontology_go_with_it_and_are_held(own, tmp_path):
    with KnowledgeGraph.create(tmp_path / "workspace", ontology=str(own)) as kg:
        kg.workspace.__dict__["embedder"] = HashEmbedder()
        own.unlink()
        own.with_name("mine.shapes.ttl").unlink()
        assert (kg.folder / "ontology" / "mine.shapes.ttl").is_file()
        note = table(tmp_path, "Xizha is an attraction in Wuzhen. Tickets for Xizha cost 150 CNY.\n", "note.txt")
        chinese = table(tmp_path, "南浔古镇是湖州的景点。南浔古镇的门票是180元。\n", "zh.txt")
        added = list(kg.add(note, chinese, policy="refuse"))
        assert [item.outcome for item in added] == ["failed", "failed"]
        assert {f.told("zh") for item in added for f in item.findings} == {"门票最多100元。"}
        assert {f.told("en") for item in added for f in item.findings} == {"Tickets cost at most 100 yuan."}
        list(kg.add(table(tmp_path, "name,town,price_per_night\nRiver Inn,Wuzhen,480\n枕水酒店,乌镇,480\n")))
        found = [finding for finding in kg.check().findings if finding.constraint == "SPARQL"]
        assert len(found) == 2  # a constraint in SPARQL looks anywhere and fills its messages
        assert all(f.message.startswith("Priced as https://example.org/kg/entity/") for f in found)
        assert all(f.told("zh").endswith("同价。") for f in found)


@pytest.mark.parametrize(("severity", "outcome"), [("sh:Warning", "added"), ("sh:Violation", "failed")])
def test_a_shape_that_only_warns_refuses_no_document(own, tmp_path, severity, outcome):
    shapes = OWN_SHAPES.partition(":Twice")[0].replace("sh:property [", f"sh:property [ sh:severity {severity} ;")
    shapes = shapes.replace("travel:Attraction", "travel:Hotel").replace("travel:ticketPrice", "travel:pricePerNight")
    own.with_name("mine.shapes.ttl").write_text(shapes, encoding="utf-8")
    with KnowledgeGraph.create(tmp_path / "workspace", ontology=str(own)) as kg:
        assert only(kg.add(table(tmp_path, GOOD), policy="refuse", build=False)).outcome == outcome


def test_broken_shapes_stop_create_with_one_line_and_nothing_is_made(own, tmp_path):
    for shapes, words in (
        ("this is no Turtle", "line 1"),
        (SHAPE + 'sh:property [ sh:path :p ; sh:minCount "one" ] .', "S is not well formed: sh:minCount"),
        ("", "holds no SHACL shape"),
    ):
        own.with_name("mine.shapes.ttl").write_text(shapes, encoding="utf-8")
        with pytest.raises(OntologyError, match=words) as caught:
            KnowledgeGraph.create(tmp_path / "workspace", ontology=str(own))
        assert "\n" not in str(caught.value)
        assert not (tmp_path / "workspace").exists()


def test_the_policy_of_the_settings_holds_unless_another_is_given(tmp_path):
    folder = new_workspace(tmp_path / "workspace")
    settings = folder / "kgplatform.toml"
    written = settings.read_text(encoding="utf-8")
    settings.write_text(f'{written}\n[checks]\npolicy = "refuse"\n', encoding="utf-8")
    with KnowledgeGraph.open(folder) as kg:
        assert only(kg.add(table(tmp_path, BAD), build=False)).outcome == "failed"
        assert only(kg.add(table(tmp_path, BAD), build=False, policy="accept")).outcome == "added"
        with pytest.raises(ConfigError, match="did you mean quarantine"):
            list(kg.add(table(tmp_path, GOOD), policy="quarantene"))
    settings.write_text(f'{written}\n[checks]\npolicy = "refused"\n', encoding="utf-8")
    with pytest.raises(ConfigError, match="did you mean refuse"):
        KnowledgeGraph.open(folder)


def test_the_verbs_tell_and_release(tmp_path, capfd):
    folder = str(new_workspace(tmp_path / "workspace"))
    path = str(table(tmp_path, BAD_CHINESE))

    def told(status, *arguments):
        assert main([*arguments, "-w", folder]) == status
        return "".join(capfd.readouterr())

    out = told(1, "add", path, "--no-build", "--policy", "quarantine")
    assert all(part in out for part in ("quarantined", "violates 枕水酒店", "1 quarantined"))
    assert "1 in quarantine" in told(0, "documents")
    assert "no document fits 'nothing'" in told(1, "documents", "release", "nothing")
    assert "did you mean refuse?" in told(2, "add", path, "--policy", "refused")
    assert main(["check", "-w", folder, "--document", "hotels.csv", "--format", "json"]) == 1
    (finding,) = [f for f in json.loads(capfd.readouterr().out)["findings"] if f["severity"] == "violation"]
    assert finding["messages"].keys() == {"en", "zh"}


@pytest.mark.parametrize(("policy", "outcome"), [("accept", "added"), ("refuse", "failed"), ("quarantine", "failed")])
def test_a_table_that_is_read_in_batches_is_judged_when_it_is_in(kg, tmp_path, monkeypatch, policy, outcome):
    monkeypatch.setattr("kgplatform.workspace.table_stage.TableParts.is_large", lambda _parts, _path: True)
    before = kg.dump()
    added = only(kg.add(table(tmp_path, BAD), policy=policy, build=False))
    assert added.outcome == outcome
    assert bool(added.findings) == (kg.dump() == before) == (outcome == "failed")
    assert_lawful(kg)
