"""Raw tables through a mapping give what a ready graph of the same data holds, and answer alike."""

from __future__ import annotations

import csv
import json
import re
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import count
from pathlib import Path
from urllib.parse import quote, unquote

import pytest
from pyoxigraph import Literal, NamedNode, RdfFormat, Triple, parse, serialize

from kgplatform.building.mappings import Keeping
from kgplatform.graph import KnowledgeGraph
from kgplatform.store import as_stored
from kgplatform.types import Verdict
from kgplatform.vocab import LABEL, TYPE

DATA = Path(__file__).parent / "data"
UNIT = "https://example.org/unit/"
THING = "https://example.org/flights/"
SAMPLED = 20
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


def questions(folder: Path, number: int) -> list[str]:
    lines = (folder / "questions.dev.jsonl").read_text(encoding="utf-8").splitlines()
    found = [json.loads(line)["question"] for line in lines]
    return found[:: max(1, len(found) // number)][:number]


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


def cleaned(raw: Path, target: Path, accepts: Callable[[list[str]], bool] = lambda row: True) -> Path:
    """The headerless file without the signs for no value and what is no part of a value, its rows numbered."""
    with raw.open(encoding="utf-8", newline="") as lines, target.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        for number, row in enumerate(csv.reader(lines), start=1):
            cells = ["" if cell in NONE else cell.replace("\\", "").strip() for cell in row]
            if raw.stem == "routes":
                cells[6] = "true" if cells[6] == "Y" else ""
            elif raw.stem == "airlines":
                cells[7] = cells[7].upper()
            if accepts(cells):
                writer.writerow([*cells, number])
    return target


def test_flights_from_raw_tables_are_those_of_the_ready_graph_and_answer_alike(test_data: Path, tmp_path: Path) -> None:
    """Compared are airports, airlines and cities with all that is said of them, cities and countries by their names.

    Routes are compared by what they say, since the ready graph numbers them in its own way. It drops those without a
    known airline or airport, and so does the test; of the others, each twentieth is taken on both sides, for time.
    """
    source, raw = test_data / "flights", test_data / "corpora" / "openflights"
    if not (source / "kg.ttl").is_file() or not raw.is_dir():
        pytest.skip("the flights are not there")
    columns = json.loads((raw / "COLUMNS.json").read_text(encoding="utf-8"))
    accepts = route_filter(raw)
    tables = [
        cleaned(raw / "airports.dat", tmp_path / "airports.dat"),
        cleaned(raw / "airlines.dat", tmp_path / "airlines.dat", lambda row: bool(row[0]) and row[0] != "-1"),
        cleaned(raw / "routes.dat", tmp_path / "routes.dat", accepts),
    ]
    named = [Path(f"{path}#columns={','.join([*columns[path.stem], 'number'])}") for path in tables]
    mapping = Path(shutil.copy(DATA / "flights.mapping.yml", tmp_path / "flights.yml"))
    asked = questions(source, 8)
    sample = sampled(source, tmp_path / "sample")
    theirs = list(ready(sample))
    names = _names(theirs)
    with mapped(tmp_path / "mapped", source / "ontology.ttl", named, mapping) as kg:
        found = list(stated(kg))
        ours = [answers(kg, question) for question in asked]
    wanted = list(renamed(theirs, lambda iri: names.get(iri, iri)))
    for part in (things, routes):
        missing, extra = part(wanted) - part(found), part(found) - part(wanted)
        assert (sorted(missing)[:5], sorted(extra)[:5]) == ([], [])
    with loaded(tmp_path / "loaded", sample) as kg:
        assert [answers(kg, question) for question in asked] == ours
    assert sum(bool(values) for _, values in ours) >= len(asked) // 2


def route_filter(raw: Path) -> Callable[[list[str]], bool]:
    """Whether a route has an airline and two airports that are known, and is in the sample."""
    known = {}
    for name in ("airports", "airlines"):
        with (raw / f"{name}.dat").open(encoding="utf-8", newline="") as lines:
            known[name] = {row[0] for row in csv.reader(lines)}
    seen = count(1)

    def accepts(row: list[str]) -> bool:
        is_known = row[1] in known["airlines"] and row[3] in known["airports"] and row[5] in known["airports"]
        return is_known and next(seen) % SAMPLED == 1

    return accepts


def sampled(source: Path, target: Path) -> Path:
    """The ready graph with the routes of the sample only."""
    target.mkdir()
    shutil.copy(source / "ontology.ttl", target / "ontology.ttl")
    kept = [
        t for t in ready(source) if not is_route(t) or int(str(t.subject).rstrip(">").rpartition("_")[2]) % SAMPLED == 1
    ]
    serialize(kept, output=str(target / "kg.ttl"), format=RdfFormat.TURTLE)
    return target


def is_route(triple: Triple) -> bool:
    assert isinstance(triple.subject, NamedNode)
    return re.search(r"/route[_/]\d+$", triple.subject.value) is not None


def things(triples: Iterable[Triple]) -> Counter[str]:
    """All that is no route, each statement once: both tables say what the countries are."""
    return Counter({str(triple) for triple in triples if not is_route(triple)})


def routes(triples: Iterable[Triple]) -> Counter[str]:
    """Each route as all that it says."""
    said: dict[str, list[str]] = {}
    for triple in filter(is_route, triples):
        said.setdefault(str(triple.subject), []).append(f"{triple.predicate} {triple.object}")
    return Counter("; ".join(sorted(parts)) for parts in said.values())


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
