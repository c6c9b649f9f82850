"""Raw tables through a mapping give what a ready graph of the same data holds, and answer alike."""

from __future__ import annotations

import csv
import json
import re
import shutil
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from urllib.parse import quote, unquote

import pytest
from pyoxigraph import Literal, NamedNode, Triple, parse

from kgplatform.building.mappings import Keeping
from kgplatform.graph import KnowledgeGraph
from kgplatform.store import as_stored
from kgplatform.types import Verdict
from kgplatform.vocab import LABEL, TYPE

DATA = Path(__file__).parent / "data"
UNIT = "https://example.org/unit/"
THING = "https://example.org/flights/"
NONE = ("\\N", "-", "N/A", "")


def in_order(triples: Iterable[Triple]) -> list[str]:
    return sorted(str(triple) for triple in triples)


def ready(folder: Path) -> Iterator[Triple]:
    for quad in parse(path=str(folder / "kg.ttl")):
        object_ = quad.object
        yield Triple(quad.subject, quad.predicate, as_stored(object_) if isinstance(object_, Literal) else object_)


def renamed(triples: Iterable[Triple], name: Callable[[str], str]) -> Iterator[Triple]:
    for triple in triples:
        object_ = triple.object
        if isinstance(object_, NamedNode) and triple.predicate != TYPE:
            object_ = NamedNode(name(object_.value))
        assert isinstance(triple.subject, NamedNode)
        yield Triple(NamedNode(name(triple.subject.value)), triple.predicate, object_)


def stated(kg: KnowledgeGraph) -> Iterator[Triple]:
    for graph in kg.registry.table_graphs():
        yield from (quad.triple for quad in kg.store.quads(graph=NamedNode(graph)))


def mapped(folder: Path, ontology: Path, tables: Iterable[Path], mapping: Path) -> KnowledgeGraph:
    kg = KnowledgeGraph.create(folder, ontology=[str(ontology)])
    outcomes = [item.outcome for item in kg.add(*tables, build=False, policy="accept", mapping=Keeping(mapping))]
    assert outcomes == ["added"] * len(outcomes)
    kg.build("infer")
    return kg


def loaded(folder: Path, source: Path) -> KnowledgeGraph:
    kg = KnowledgeGraph.create(folder, ontology=[str(source / "ontology.ttl")])
    kg.load(source / "kg.ttl")
    return kg


def answers(kg: KnowledgeGraph, question: str) -> tuple[Verdict, list[str]]:
    """What an answer tells a reader: its verdict and its values, entities by their labels."""
    found = kg.ask(question)
    rows = found.solutions.rows if found.solutions is not None else ()
    return found.verdict, sorted(" ".join(kg.label(term, "zh") for term in row) for row in rows)


def questions(folder: Path, count: int) -> list[str]:
    lines = (folder / "questions.dev.jsonl").read_text(encoding="utf-8").splitlines()
    found = [json.loads(line)["question"] for line in lines]
    return found[:: max(1, len(found) // count)][:count]


def test_divisions_from_raw_tables_are_those_of_the_ready_graph(test_data: Path, tmp_path: Path) -> None:
    source, raw = test_data / "divisions", test_data / "corpora" / "china-divisions"
    if not (source / "kg.ttl").is_file() or not raw.is_dir():
        pytest.skip("the divisions are not there")
    for name in ("provinces", "cities", "areas", "streets"):
        shutil.copy(raw / f"{name}.csv", tmp_path / f"{name}.csv")
    mapping = Path(shutil.copy(DATA / "divisions.mapping.yml", tmp_path / "divisions.yml"))
    tables = [tmp_path / f"{name}.csv" for name in ("provinces", "cities", "areas", "streets")]
    with mapped(tmp_path / "mapped", source / "ontology.ttl", tables, mapping) as kg:
        theirs = renamed(ready(source), lambda iri: re.sub(r"^http://example.org/divisions/d_", UNIT, iri))
        assert in_order(stated(kg)) == in_order(theirs)
        asked = questions(source, 3)
        ours = [answers(kg, question) for question in asked]
    with loaded(tmp_path / "loaded", source) as kg:
        assert [answers(kg, question) for question in asked] == ours
    assert any(values for _, values in ours)


def as_csv(raw: Path, name: str, target: Path, columns: list[str]) -> Path:
    """The headerless file as a table with a header, the signs for no value left out, and the rows numbered."""
    with (raw / f"{name}.dat").open(encoding="utf-8", newline="") as lines, target.open("w", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow([*columns, "number"])
        for number, row in enumerate(csv.reader(lines), start=1):
            cells = ["" if cell in NONE else cell.replace("\\", "").strip() for cell in row]
            if name == "routes":
                cells[6] = "true" if cells[6] == "Y" else ""
            elif name == "airlines":
                cells[7] = cells[7].upper()
                if cells[0].startswith("-"):  # stands for no airline
                    continue
            writer.writerow([*cells, number])
    return target


def test_airports_and_airlines_from_raw_tables_are_those_of_the_ready_graph(test_data: Path, tmp_path: Path) -> None:
    """Compared are airports, airlines and cities with all that is said of them, cities and countries by their names.

    Routes are left out: the ready graph numbers them in its own way, and drops those of unknown airports.
    """
    source, raw = test_data / "flights", test_data / "corpora" / "openflights"
    if not (source / "kg.ttl").is_file() or not raw.is_dir():
        pytest.skip("the flights are not there")
    columns = json.loads((raw / "COLUMNS.json").read_text(encoding="utf-8"))
    tables = [as_csv(raw, name, tmp_path / f"{name}.csv", columns[name]) for name in ("airports", "airlines")]
    mapping = Path(shutil.copy(DATA / "flights.mapping.yml", tmp_path / "flights.yml"))
    theirs = list(ready(source))
    names = _names(theirs)
    with mapped(tmp_path / "mapped", source / "ontology.ttl", tables, mapping) as kg:
        found = in_order(stated(kg))
    wanted = in_order(t for t in renamed(theirs, lambda iri: names.get(iri, iri)) if "/route_" not in t.subject.value)
    missing, extra = sorted(set(wanted) - set(found)), sorted(set(found) - set(wanted))
    assert (missing[:5], extra[:5]) == ([], [])


def _names(triples: list[Triple]) -> dict[str, str]:
    """Our IRIs for those of the ready graph: airports and airlines by number, countries and cities by name."""
    labels = {t.subject: t.object.value for t in triples if t.predicate == LABEL and isinstance(t.object, Literal)}
    countries = {t.subject: t.object for t in triples if t.predicate.value.endswith("#inCountry")}
    found = {}
    for subject, label in labels.items():
        assert isinstance(subject, NamedNode)
        kind, _, rest = subject.value.rpartition("/")[2].partition("_")
        name = quote(label, safe="")
        if kind == "city":
            name = f"{name}/{quote(labels[countries[subject]], safe='')}"
        found[subject.value] = f"{THING}{kind}/{rest if kind in ('airport', 'airline') else name}"
    return {iri: name if unquote(name) else iri for iri, name in found.items()}
