"""The drafted mapping of a table: columns, rows, cells that are refused, entities that meet across tables."""

import csv
import json
import re
import shutil
from collections import Counter
from itertools import count
from pathlib import Path
from urllib.parse import quote

import pytest
from pyoxigraph import Literal, NamedNode, RdfFormat, Triple, parse, serialize

from kgplatform import resources
from kgplatform.documents.tables.cells import SourceRow
from kgplatform.documents.tables.delimited import read_table, table_of
from kgplatform.documents.tables.table_source import open_table
from kgplatform.errors import ReadError
from kgplatform.extraction.table_draft import EntityIndex, map_table
from kgplatform.graph import KnowledgeGraph
from kgplatform.mapping.cell_functions import Functions
from kgplatform.mapping.execution import TableRun, statements
from kgplatform.mapping.rml import rules_of
from kgplatform.mapping.yarrrml_draft import drafted
from kgplatform.ontology.schema import read_ontology
from kgplatform.store.oxigraph import as_stored
from kgplatform.vocab import ALT_LABEL, LABEL, TYPE, entity_iri
from kgplatform.workspace.table_stage import Keeping, Mappings
from tests.turtle import NAMES, ontology_of, shipped

BASE = "http://example.org/"
TERMS = """
:Place a owl:Class ; rdfs:label "place"@en, "地点"@zh .
:Town a owl:Class ; rdfs:subClassOf :Place ; rdfs:label "town"@en, "镇"@zh .
:Mine a owl:Class ; rdfs:subClassOf :Place ; rdfs:label "mine"@en, "矿"@zh .
:Mineral a owl:Class ; rdfs:label "mineral"@en, "矿物"@zh .
:Sample a owl:Class ; rdfs:label "sample"@en, "样品"@zh ; owl:hasKey ( :sampleNumber ) .
:Lustre a owl:Class ; rdfs:label "lustre"@en .
:metallic a :Lustre ; rdfs:label "metallic"@en, "金属光泽"@zh ; skos:altLabel "shiny"@en .
:locatedIn a owl:ObjectProperty ; rdfs:domain :Place ; rdfs:range :Place ; rdfs:label "located in"@en ;
  skos:altLabel "town"@en .
:foundAt a owl:ObjectProperty ; rdfs:domain :Sample ; rdfs:range :Mine ; rdfs:label "found at"@en ;
  skos:altLabel "mine"@en, "产地"@zh .
:consistsOf a owl:ObjectProperty ; rdfs:domain :Sample ; rdfs:range :Mineral ; rdfs:label "consists of"@en ;
  skos:altLabel "minerals"@en .
:lustre a owl:ObjectProperty ; rdfs:domain :Sample ; rdfs:range :Lustre ; rdfs:label "lustre"@en .
:splitFrom a owl:ObjectProperty ; rdfs:domain :Sample ; rdfs:range :Sample ; rdfs:label "split from"@en .
:sampleNumber a owl:DatatypeProperty, owl:FunctionalProperty ; rdfs:domain :Sample ; rdfs:range xsd:string ;
  core:pattern "S-\\\\d+" ; rdfs:label "sample number"@en, "样品编号"@zh .
:weight a owl:DatatypeProperty ; rdfs:domain :Sample ; rdfs:range xsd:decimal ; core:unit "g" ;
  rdfs:label "weight"@en, "重量"@zh .
:foundOn a owl:DatatypeProperty ; rdfs:domain :Sample ; rdfs:range xsd:date ; rdfs:label "found on"@en .
:depth a owl:DatatypeProperty ; rdfs:domain :Mine ; rdfs:range xsd:integer ; core:unit "m" ;
  rdfs:label "mine depth"@en .
"""
SAMPLES = """sample_number,weight,found_on,mine,mine_depth,minerals,lustre,split_from,remark
S-1,12.5,2024-05-03,Falu Mine,600,quartz;pyrite,shiny,,lost
S-2,1.2 kg,3 May 2024,Falu Mine,600,Quartz,,S-1,
S-3,heavy,soon,,,,velvety,,
,5,,,,,,,
"""


@pytest.fixture(scope="module")
def ontology():
    return ontology_of(TERMS)


def term(name):
    return NamedNode(f"{NAMES}{name}")


def rows(text, ontology, *, name="samples", index=None):
    table = table_of(Path(f"{name}.csv"), text.encode())
    draft = drafted(map_table(table, ontology, BASE), ontology, f"{name}.csv")
    functions = Functions(ontology, index or EntityIndex(ontology, BASE))
    rules = rules_of(draft, Path(f"{name}.mapping.yml"))
    run = TableRun(rules, f"{name}.csv", table.columns, functions, opener=no_other)
    return list(statements(run, (SourceRow(row.line, row.cells[: len(table.columns)]) for row in table.rows)))


def no_other(location):
    raise ReadError("is not read here", path=Path(location))


def test_columns_are_matched_with_properties_and_the_table_with_a_class(ontology):
    mapping = map_table(table_of(Path("samples.csv"), SAMPLES.encode()), ontology, BASE)
    assert (mapping.type, mapping.key) == (term("Sample"), 0)
    names = ("sampleNumber", "weight", "foundOn", "foundAt", "depth", "consistsOf", "lustre", "splitFrom")
    assert [item.term.iri if item.term else None for item in mapping.columns] == [*map(term, names), None]
    assert mapping.columns[4].via == 3
    lines = mapping.describe(ontology).splitlines()
    assert lines[:2] == ["samples: each row is a sample", "  sample_number -> sample number (key)"]
    assert "  mine_depth -> mine depth of its mine" in lines
    assert "  remark -> ignored" in lines


@pytest.mark.parametrize(
    ("columns", "class_name", "read"),
    [
        ("hotel,city,price per night", "hotel", "hotel -> name (key); city -> located in, a city"),
        ("city,hotel,price per night", "hotel", "city -> located in, a city; hotel -> name (key)"),
        ("酒店名称,城市,每晚价格", "hotel", "酒店名称 -> name (key); 城市 -> located in, a city"),
        ("Museum,Town,Closed on", "museum", "Museum -> name (key); Town -> located in, a township"),
        ("place,city,ticket price", "attraction", "place -> name (key); city -> located in, a city"),
        ("country,capital,population", "country", "country -> name (key); capital -> capital"),
    ],
)
def test_a_column_called_what_the_rows_are_holds_their_names(columns, class_name, read):
    ontology = shipped("core", "geo", "travel")
    lines = map_table(table_of(Path("sheet.csv"), columns.encode()), ontology, BASE).describe(ontology).splitlines()
    assert lines[0] == f"sheet: each row is {'an' if class_name[0] in 'aeiou' else 'a'} {class_name}"
    assert "; ".join(line.strip() for line in lines[1:]).startswith(read)


def test_rows_of_no_known_kind_are_named_by_the_first_column_if_it_holds_texts(tmp_path):
    mappings = Mappings(shipped("core", "geo", "travel"), BASE)
    for first, key in (("Sunset Bay", "Beach -> name (key)"), ("1", "ticket -> ticket price (key)")):
        place = tmp_path / f"{first}.csv"
        place.write_text(f"Beach,city,ticket\n{first},Piran,0\n2{first},Koper,3\n")
        assert key in mappings.draft(place.as_posix(), open_table(place.as_posix())).described


def test_a_row_becomes_typed_statements_in_the_units_of_the_ontology(ontology):
    first, second, *_ = rows(SAMPLES, ontology)
    subject, mine = entity_iri(BASE, term("Sample"), "S-1"), entity_iri(BASE, term("Mine"), "Falu Mine")
    decimal, date = (NamedNode(f"http://www.w3.org/2001/XMLSchema#{name}") for name in ("decimal", "date"))
    assert (first.subject, first.line, first.refused) == (subject, 2, [])
    assert {
        Triple(subject, TYPE, term("Sample")),
        Triple(subject, LABEL, Literal("S-1")),
        Triple(subject, term("weight"), Literal("12.5", datatype=decimal)),
        Triple(subject, term("foundOn"), Literal("2024-05-03", datatype=date)),
        Triple(subject, term("foundAt"), mine),
        Triple(mine, TYPE, term("Mine")),
        Triple(mine, LABEL, Literal("Falu Mine", language="en")),
        Triple(mine, term("depth"), Literal(600)),
        Triple(subject, term("lustre"), term("metallic")),
    } <= set(first.triples)
    assert {
        Triple(second.subject, term("splitFrom"), subject),
        Triple(second.subject, term("weight"), Literal("1200", datatype=decimal)),
        Triple(second.subject, term("foundOn"), Literal("2024-05-03", datatype=date)),
    } <= set(second.triples)
    of = [[t.object for t in row.triples if t.predicate == term("consistsOf")] for row in (first, second)]
    assert (len(of[0]), of[1]) == (2, of[0][:1])  # one thing has one IRI whatever row names it


def test_bad_cells_are_refused_with_line_and_column_and_the_row_counts(ontology):
    third, fourth = rows(SAMPLES, ontology)[2:]
    assert third.subject is not None
    assert [item.reason for item in third.refused] == [
        "line 4, column 'weight': 'heavy' is not a number",
        "line 4, column 'found_on': 'soon' is not a date",
        "line 4, column 'lustre': 'velvety' is not one of the values of 'lustre'",
    ]
    assert (fourth.subject, fourth.triples) == (None, [])
    assert fourth.refused[0].reason == "line 5, column 'sample_number': nothing names the row"


def test_names_in_several_languages_label_one_entity(ontology):
    (row,) = rows("name,name_zh,aliases,town\nFalu Mine,法伦矿,Great Mine;Kopparberg,Falun\n", ontology, name="mines")
    labels = {triple.object for triple in row.triples if triple.subject == row.subject and triple.predicate == LABEL}
    assert labels == {Literal("Falu Mine", language="en"), Literal("法伦矿", language="zh")}
    assert sum(triple.predicate == ALT_LABEL for triple in row.triples) == 2
    assert Triple(entity_iri(BASE, term("Town"), "Falun"), TYPE, term("Town")) in row.triples
    (row,) = rows("样品编号,重量,产地\nS-7,3克,法伦矿\n", ontology, name="样品")
    assert row.subject == entity_iri(BASE, term("Sample"), "S-7")
    assert (len(row.triples), row.refused) == (7, [])


def test_a_name_has_the_class_that_is_known_or_given_and_tables_share_entities(ontology):
    index = EntityIndex(ontology, BASE, known={"Falun": term("Mine")})
    (row,) = rows("name,located in\nStora Stöten,Falun\n", ontology, name="places", index=index)
    assert Triple(entity_iri(BASE, term("Mine"), "Falun"), TYPE, term("Mine")) in row.triples
    table = table_of(Path("things.csv"), b"name,town\nFalu,Falun\n")
    assert map_table(table, ontology, BASE, class_hint=term("Mine")).type == term("Mine")
    shared = EntityIndex(ontology, BASE)
    (sample,) = rows("sample_number,mine\nS-1,Falu Mine\n", ontology, index=shared)
    (mine,) = rows("name,town\nFalu Mine,Falun\n", ontology, name="mines", index=shared)
    assert Triple(sample.subject, term("foundAt"), mine.subject) in sample.triples


def test_a_table_or_ontology_of_no_use_is_one_clear_line(ontology):
    for text in ("colour,price\nred,3\n", "x\n1\n"):
        with pytest.raises(ReadError, match="no column can be used") as caught:
            map_table(table_of(Path("things.csv"), text.encode()), ontology, BASE)
        assert "\n" not in str(caught.value)
    with pytest.raises(ReadError, match="no classes"):
        map_table(table_of(Path("a.csv"), b"name\nx\n"), read_ontology([]), BASE)


@pytest.mark.parametrize(
    ("packs", "file", "class_name"),
    [
        (("core", "geo", "travel"), "travel/hotels.csv", "travel#Hotel"),
        (("core", "geo", "airport"), "airport/flights.csv", "airport#Flight"),
        (("core", "geo", "airport"), "airport/airports.csv", "airport#Airport"),
        (("core", "geo", "airport"), "airport/airlines.csv", "airport#Airline"),
    ],
)
def test_the_sample_tables_are_mapped_as_a_whole(packs, file, class_name):
    examples = resources.examples()
    assert examples is not None
    ontology = shipped(*packs)
    mapping = map_table(read_table(examples / file), ontology, BASE)
    assert mapping.type == NamedNode(f"https://w3id.org/kgplatform/{class_name}")
    assert [item.column for item in mapping.columns if item.role == "ignored"] == []


def test_each_column_of_the_sample_hotels_has_its_property_without_any_settings():
    mapping = map_table(
        read_table(resources.examples() / "travel" / "hotels.csv"), shipped("core", "geo", "travel"), BASE
    )
    terms = {item.column: item.term.iri.value.rpartition("/")[2] for item in mapping.columns if item.role == "property"}
    own = ("address", "phone", "rating", "star_rating", "price_per_night", "room_count", "suitable_for")
    assert terms == {
        **{name: "travel#" + re.sub(r"_(.)", lambda letter: letter[1].upper(), name) for name in own},
        **{"town": "geo#locatedIn", "facilities": "travel#offers", "opened": "travel#openedIn"},
        **{name: f"geo#{name}" for name in ("near", "latitude", "longitude")},
    }


DATA = Path(__file__).parent / "data"
UNIT, THING = "https://example.org/unit/", "https://example.org/flights/"


def ready(folder):
    """The statements of a ready graph, with values as the store writes them."""
    for quad in parse(path=str(folder / "kg.ttl")):
        value = as_stored(quad.object) if isinstance(quad.object, Literal) else quad.object
        yield Triple(quad.subject, quad.predicate, value)


def questions(folder, number):
    lines = (folder / "questions.dev.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line)["question"] for line in lines[:: max(1, len(lines) // number)][:number]]


def answers(kg, asked):
    """What answers tell a reader: their verdicts and their values, entities by their labels."""
    for question in asked:
        found = kg.ask(question)
        rows = found.solutions.rows if found.solutions is not None else ()
        yield found.verdict, sorted(" ".join(kg.label(term, "zh") for term in row) for row in rows)


def mapped(folder, source, tables, mapping, asked):
    """What tables say through a mapping, and the answers; the same answers come from the ready graph in a folder."""
    ontology = [str(source / "ontology.ttl")]
    keeping = Keeping(Path(shutil.copy(DATA / mapping, folder / mapping)))
    with KnowledgeGraph.create(folder / "mapped", ontology=ontology) as kg:
        outcomes = [item.outcome for item in kg.add(*tables, build=False, policy="accept", mapping=keeping)]
        assert outcomes == ["added"] * len(tables)
        kg.build("infer")
        graphs = [NamedNode(graph) for graph in kg.registry.table_graphs()]
        found = [quad.triple for graph in graphs for quad in kg.store.quads(graph=graph)]
        ours = list(answers(kg, asked))
    with KnowledgeGraph.create(folder / "loaded", ontology=ontology) as kg:
        kg.load(source / "kg.ttl")
        assert list(answers(kg, asked)) == ours
    return found, ours


@pytest.mark.slow
def test_divisions_from_raw_tables_are_those_of_the_ready_graph_and_answer_alike(test_data, tmp_path):
    source, raw = test_data / "divisions", test_data / "corpora" / "china-divisions"
    if not (source / "kg.ttl").is_file() or not raw.is_dir():
        pytest.skip("the divisions are not there")
    names = ("provinces", "cities", "areas", "streets")
    tables = [Path(shutil.copy(raw / f"{name}.csv", tmp_path / f"{name}.csv")) for name in names]
    found, ours = mapped(tmp_path, source, tables, "divisions.mapping.yml", questions(source, 3))
    theirs = (str(triple).replace("http://example.org/divisions/d_", UNIT) for triple in ready(source))
    assert sorted(map(str, found)) == sorted(theirs)
    assert any(values for _, values in ours)


def cleaned(raw, target, accepts=lambda row: True):
    """The headerless file without the signs for no value and what is no part of a value, its rows numbered."""
    with raw.open(encoding="utf-8", newline="") as lines, target.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        for number, row in enumerate(csv.reader(lines), start=1):
            cells = ["" if cell in ("\\N", "-", "N/A", "") else cell.replace("\\", "").strip() for cell in row]
            if raw.stem == "routes":
                cells[6] = "true" if cells[6] == "Y" else ""
            elif raw.stem == "airlines":
                cells[7] = cells[7].upper()
            if accepts(cells):
                writer.writerow([*cells, number])
    return target


@pytest.mark.slow
def test_flights_from_raw_tables_are_those_of_the_ready_graph_and_answer_alike(test_data, tmp_path):
    """Cities and countries are compared by their names, and routes by what they say: the ready graph numbers them.

    The ready graph drops routes without a known airline or airport, and so does the test; of the others, each twentieth
    is taken on both sides, for time.
    """
    source, raw = test_data / "flights", test_data / "corpora" / "openflights"
    if not (source / "kg.ttl").is_file() or not raw.is_dir():
        pytest.skip("the flights are not there")
    known, seen = {}, count(1)
    for name in ("airports", "airlines"):
        with (raw / f"{name}.dat").open(encoding="utf-8", newline="") as lines:
            known[name] = {row[0] for row in csv.reader(lines)}

    def in_sample(row):
        is_known = row[1] in known["airlines"] and row[3] in known["airports"] and row[5] in known["airports"]
        return is_known and next(seen) % 20 == 1

    accepts = {"airports": lambda row: True, "airlines": lambda row: row[0] not in ("", "-1"), "routes": in_sample}
    columns = json.loads((raw / "COLUMNS.json").read_text(encoding="utf-8"))
    tables = []
    for name, accepted in accepts.items():
        table = cleaned(raw / f"{name}.dat", tmp_path / f"{name}.dat", accepted)
        tables.append(Path(f"{table}#columns={','.join([*columns[name], 'number'])}"))
    sample = tmp_path / "sample"
    sample.mkdir()
    shutil.copy(source / "ontology.ttl", sample / "ontology.ttl")
    routes = re.compile(r"/route_(\d+)$")
    theirs = [t for t in ready(source) if not (m := routes.search(t.subject.value)) or int(m[1]) % 20 == 1]
    serialize(theirs, output=str(sample / "kg.ttl"), format=RdfFormat.TURTLE)
    found, ours = mapped(tmp_path, sample, tables, "flights.mapping.yml", questions(source, 8))
    names = names_of(theirs)
    renamed = [Triple(names.get(t.subject, t.subject), t.predicate, names.get(t.object, t.object)) for t in theirs]
    for wanted, said in zip(things_and_routes(renamed), things_and_routes(found), strict=True):
        assert (sorted(map(str, wanted - said))[:5], sorted(map(str, said - wanted))[:5]) == ([], [])
    assert sum(bool(values) for _, values in ours) >= len(ours) // 2


def names_of(triples):
    """Our IRIs for those of the ready graph: airports and airlines by number, countries and cities by name."""
    labels = {t.subject: t.object.value for t in triples if t.predicate == LABEL}
    countries = {t.subject: t.object for t in triples if t.predicate.value.endswith("#inCountry")}
    found = {}
    for subject, label in labels.items():
        kind, _, rest = subject.value.rpartition("/")[2].partition("_")
        name = quote(label, safe="")
        if kind == "city":
            name = f"{name}/{quote(labels[countries[subject]], safe='')}"
        found[subject] = NamedNode(f"{THING}{kind}/{rest if kind in ('airport', 'airline') else name}")
    return found


def things_and_routes(triples):
    """The statements of all that is no route, each once, and how often a route says what."""
    things, routes = set(), {}
    for triple in triples:
        if re.search(r"/route[_/]\d+$", triple.subject.value):
            routes.setdefault(triple.subject, set()).add((triple.predicate, triple.object))
        else:
            things.add(triple)
    return Counter(things), Counter(map(frozenset, routes.values()))
