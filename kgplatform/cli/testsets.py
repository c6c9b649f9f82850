"""``testset``: gold questions made from the graph, from documents, from a table by template, or for imagined users."""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Iterable, Sequence
from pathlib import Path

from kgplatform.cli import output
from kgplatform.cli.evaluations import opened
from kgplatform.errors import ConfigError
from kgplatform.evaluation.making.by_model import Passage, for_users, from_passages, paraphrased
from kgplatform.evaluation.making.documents import with_sources
from kgplatform.evaluation.making.made import MadeQuestion, divided, sifted
from kgplatform.evaluation.making.reverse import ReverseQuestions
from kgplatform.evaluation.making.templates import from_table, read_rows, read_templates
from kgplatform.graph import KnowledgeGraph
from kgplatform.protocols import ChatModel
from kgplatform.questions.support import supporting
from kgplatform.types import Evidence

KINDS = ("graph", "documents", "table", "users")
_TOGETHER = 4
"""Passages shown to a model at once."""


def run(given: argparse.Namespace) -> int:
    """Makes the questions, sifts them, and writes them as JSON Lines."""
    if given.of == "table":
        return _written(given, _from_table(given), None)
    with KnowledgeGraph.open(given.workspace) as kg:
        if given.of == "users":
            return _for_users(given, kg)
        made = _from_graph(given, kg) if given.of == "graph" else _from_documents(given, kg)
        return _written(given, made, kg.model)


def _from_table(given: argparse.Namespace) -> list[MadeQuestion]:
    if not given.table or not given.templates:
        raise ConfigError("a set from a table needs --table FILE.csv and --templates FILE.jsonl", setting="table")
    templates, problems = read_templates(given.templates)
    for problem in problems:
        output.note(f"{given.templates}: {problem}; left out")
    rows = read_rows(given.table)
    return list(from_table(rows, templates, count=given.count, source=str(given.table), seed=given.seed))


def _from_graph(given: argparse.Namespace, kg: KnowledgeGraph) -> list[MadeQuestion]:
    known = kg.knowledge
    made: list[MadeQuestion] = []
    languages = given.language or ["en"]
    for language in languages:
        reverse = ReverseQuestions(
            known.names.facts,
            known.schema,
            run=lambda query: kg.query(query, max_rows=1000),
            label=kg.label,
            language=language,
            seed=given.seed,
        )
        made += reverse.make(given.count // len(languages)).kept
    return made


def _from_documents(given: argparse.Namespace, kg: KnowledgeGraph) -> list[MadeQuestion]:
    if not given.model:
        made = _from_graph(argparse.Namespace(**{**vars(given), "count": given.count * 2}), kg)
        found = with_sources(made, lambda query: _supporting(kg, query))
        return list(found)[: given.count]
    model = _model(kg)
    made = []
    passages = [Passage(item.title, item.text) for item in kg.sources.passages()]
    random.Random(given.seed).shuffle(passages)
    for start in range(0, len(passages), _TOGETHER):
        if len(made) >= given.count:
            break
        for language in given.language or ["en"]:
            taken, refused = from_passages(passages[start : start + _TOGETHER], model, language=language)
            made += taken
            for item in refused:
                output.note(f"refused: {item.text[:80]} ({item.reason})")
    return made[: given.count]


def _supporting(kg: KnowledgeGraph, query: str) -> Sequence[Evidence]:
    return supporting(query, kg.dataset, run=kg.query, find=kg.evidence_finder.find, why=kg.inference.why)


def _for_users(given: argparse.Namespace, kg: KnowledgeGraph) -> int:
    model = _model(kg)
    titles = [record.document.title for record in kg.documents()][:40]
    classes = [kg.label(item.iri) for item in sorted(kg.schema.classes.values(), key=lambda c: -c.count)[:20]]
    description = f"Documents: {'; '.join(titles)}\nWhat they are about: {', '.join(classes)}"
    lines: list[dict[str, object]] = [
        {
            "id": f"u{number}",
            "question": q.text,
            "lang": q.language,
            "user": q.user,
            "task": q.task,
            "made_by": q.made_by,
        }
        for language in given.language or ["en"]
        for number, q in enumerate(for_users(description, model, language=language), 1)
    ]
    _put(given.out, lines)
    output.note(f"{given.out}: {len(lines)} questions")
    return 0


def _model(kg: KnowledgeGraph) -> ChatModel:
    if kg.model is None:
        raise ConfigError("these questions are made by a model, and none is configured", setting="model.name")
    return kg.model


def _written(given: argparse.Namespace, made: Sequence[MadeQuestion], model: ChatModel | None) -> int:
    if given.paraphrase:
        if model is None:
            raise ConfigError("questions are paraphrased by a model, and none is configured", setting="model.name")
        made, refused = paraphrased(made, model)
        for item in refused:
            output.note(f"not paraphrased: {item.reason}")
    found = sifted(made)
    for reason, number in found.dropped.items():
        output.note(f"dropped {number}: {reason}")
    if given.test is None:
        _put(given.out, (item.line() for item in found.kept))
        output.note(f"{given.out}: {len(found.kept)} questions")
        return 0
    dev, test = divided(found.kept, given.test)
    for path, side in ((given.out.with_suffix(".dev.jsonl"), dev), (given.out.with_suffix(".test.jsonl"), test)):
        _put(path, (item.line() for item in side))
        output.note(f"{path}: {len(side)} questions")
    return 0


def _put(path: Path, lines: Iterable[dict[str, object]]) -> None:
    with opened(path) as file:
        if file:
            file.writelines(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
