"""The question sets of ``tests/data/questions``: whole, of one form, and with answers that their gold queries give."""

from __future__ import annotations

import json
import re
import tomllib
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest
from pyoxigraph import Literal, NamedNode, QueryBoolean, RdfFormat, Store
from rdflib import FOAF, RDFS, SKOS

from kgplatform.evaluation.metrics import score_rows
from kgplatform.questions.forms.intent import OPERATIONS

FOLDER = Path(__file__).parent / "data" / "questions"
SCHEMAS = sorted((FOLDER.parent / "intents").glob("*.json"))
SETS = sorted(path.parent for path in FOLDER.glob("*/*/questions.jsonl"))
TYPES = {
    *("lookup", "list", "two-step", "three-step", "count", "superlative"),
    *("comparison", "date", "group", "yesno", "negation", "unanswerable"),
}
RARER = {"difference", "share", "same"}


def questions(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "questions.jsonl").read_text(encoding="utf-8").splitlines()]


def name(folder: Path) -> str:
    return f"{folder.parent.name}/{folder.name}"


def test_graphs_are_split_for_learning_choosing_and_measuring() -> None:
    assert {folder.parent.name for folder in SETS} == {"train", "choose", "frozen"}
    assert len({folder.name for folder in SETS}) == len(SETS)


@pytest.mark.parametrize("folder", SETS, ids=name)
def test_a_set_is_whole(folder: Path) -> None:
    found = questions(folder)
    about = tomllib.loads((folder / "about.toml").read_text(encoding="utf-8"))
    assert about["questions"] == len(found) >= (60 if folder.parent.name == "train" else 100)
    assert len({item["id"] for item in found}) == len({item["question"] for item in found}) == len(found)
    languages = Counter(item["lang"] for item in found)
    assert languages.keys() == {"en", "zh"}
    assert languages["zh"] >= len(found) // 4
    assert {item["type"] for item in found} in (TYPES, TYPES | RARER)
    for item in found:
        assert bool(item["gold_sparql"]) == (item["type"] != "unanswerable"), item["id"]
        assert item["gold_sparql"] or not item["answers"], item["id"]


@pytest.mark.slow
@pytest.mark.parametrize("folder", SETS, ids=name)
def test_the_answers_are_those_of_the_gold_queries(folder: Path) -> None:
    store = Store()
    for file in ("ontology.ttl", "graph.ttl"):
        store.bulk_load(path=str(folder / file), format=RdfFormat.TURTLE)
    things = defaultdict(set)
    for property_ in (RDFS.label, SKOS.prefLabel, FOAF.name):
        for quad in store.quads_for_pattern(None, NamedNode(property_), None):
            things[quad.object.value].add(quad.subject)
    for item in questions(folder):
        if not item["gold_sparql"]:
            continue
        listed = {str(value) for row in item["answers"] for value in (row if isinstance(row, list) else [row])}
        names = Counter(thing for value in listed for thing in things[value])
        assert all(count == 1 for count in names.values()), f"{item['id']} lists a thing by more than one name"
        found = store.query(item["gold_sparql"])
        rows: list[object] = (
            [bool(found)]
            if isinstance(found, QueryBoolean)
            else [[term.value if isinstance(term, Literal) else str(term) for term in row if term] for row in found]
        )
        assert score_rows(item["answers"], rows).exact, item["id"]


def test_schemas_with_questions_name_only_what_they_have() -> None:
    known_operations = set(OPERATIONS)
    for path in SCHEMAS:
        schema = json.loads(path.read_text(encoding="utf-8"))
        classes = {item["id"] for item in schema["classes"]}
        known = classes | {item["id"] for item in schema["properties"]}
        assert len(known) == len(schema["classes"]) + len(schema["properties"]), path.name
        for item in schema["properties"]:
            assert classes.issuperset(item["of"]), (path.name, item)
            assert item["to"] in (None, *classes), (path.name, item)
            assert item["to"] is None or not item.get("values"), (path.name, item)
        for item in schema["questions"]:
            named = set(re.findall(r"\{([^:{}]+):", item["q"]))
            assert named <= classes, (path.name, item)
            assert known.issuperset(item["terms"]), (path.name, item)
            assert known_operations.issuperset(item["ops"]), (path.name, item)
            assert ("none" in item["ops"]) == (not item["terms"]), (path.name, item)
