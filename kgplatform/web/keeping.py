"""Answers that are kept: ``/ask/<id>`` brings one back as it was, with its query, rows and passages.

They lie in the workspace, a file ``answers/<id>.json`` each; the id comes from the answer, so that keeping one twice
keeps it once. ``feedback.jsonl`` beside them has what people said of answers.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyoxigraph import BlankNode, Literal, NamedNode

from kgplatform.errors import NotFoundError, StoreError
from kgplatform.types import (
    Answer,
    Attempt,
    Clarification,
    Evidence,
    Issue,
    IssueKind,
    Linked,
    Query,
    Question,
    QuestionKind,
    Solutions,
    Term,
    Usage,
    Verdict,
)

FOLDER, FEEDBACK = "answers", "feedback.jsonl"
_ID = re.compile(r"[0-9a-f]{16}")
_LONGEST_REASON = 2000


@dataclass(frozen=True, slots=True)
class KeptAnswer:
    """An answer with the moment at which it was given (ISO 8601)."""

    id: str
    answer: Answer
    moment: str


class KeptAnswers:
    """The answers that are kept in a workspace."""

    def __init__(self, workspace: Path) -> None:
        self._folder = workspace / FOLDER

    def keep(self, answer: Answer, moment: str) -> str:
        """Writes the answer, whole or not at all; its id.

        Raises:
            StoreError: the disk refuses.
        """
        record, name = recorded(answer), self.id_of(answer)
        path = self._folder / f"{name}.json"
        if path.exists():
            return name
        part = path.with_suffix(f".{os.getpid()}.part")
        try:
            self._folder.mkdir(exist_ok=True)
            part.write_text(json.dumps({"moment": moment, **record}, ensure_ascii=False), encoding="utf-8")
            part.replace(path)
        except OSError as error:
            raise StoreError(f"the disk refuses to keep the answer: {error.strerror}") from error
        return name

    @staticmethod
    def id_of(answer: Answer) -> str:
        """The id of an answer: the same for the same answer, however long it took."""
        told = {key: value for key, value in recorded(answer).items() if key != "usage"}
        return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()[:16]

    def find(self, name: str) -> KeptAnswer:
        """The answer of that id.

        Raises:
            NotFoundError: there is none, or it cannot be read.
        """
        try:
            if not _ID.fullmatch(name):
                raise ValueError(name)
            record = json.loads((self._folder / f"{name}.json").read_text(encoding="utf-8"))
            return KeptAnswer(name, answer_of(record), str(record["moment"]))
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise NotFoundError(f"no answer is kept as {name[:40]!r}", name=name) from error


def recorded(answer: Answer) -> dict[str, Any]:
    """The answer as JSON values, from which `answer_of` makes it again."""
    question, query, found, back = answer.question, answer.query, answer.solutions, answer.clarification
    return {
        "question": [question.text, question.language, question.kind.value],
        "linked": [[o.text, o.iri.value, o.label, o.score, o.kind, o.start, o.end] for o in question.linked],
        "text": answer.text,
        "verdict": answer.verdict.value,
        "confidence": answer.confidence,
        "using": answer.using,
        "model": answer.model,
        "query": None if query is None else [query.text, query.reading, [_draft(item) for item in query.attempts]],
        "variables": list(found.variables),
        "rows": [[_written(term) for term in row] for row in found.rows],
        "boolean": found.boolean,
        "truncated": found.truncated,
        "values": list(answer.values),
        "evidence": [_passage(item) for item in answer.evidence],
        "clarification": None if back is None else [back.question, list(back.options)],
        "trace": list(answer.trace),
        "question_class": answer.question_class,
        "usage": [getattr(answer.usage, name) for name in ("calls", "prompt_tokens", "completion_tokens", "seconds")],
    }


def _draft(attempt: Attempt) -> list[object]:
    return [attempt.query, [[issue.kind.value, issue.message] for issue in attempt.issues]]


def answer_of(record: Mapping[str, Any]) -> Answer:
    """The answer that was recorded.

    Raises:
        KeyError, TypeError, ValueError: it is no such record.
    """
    text, language, kind = record["question"]
    linked = tuple(Linked(t, NamedNode(i), name, s, k, a, b) for t, i, name, s, k, a, b in record["linked"])
    back = record["clarification"]
    return Answer(
        text=record["text"],
        question=Question(text, language, QuestionKind(kind), linked),
        verdict=Verdict(record["verdict"]),
        confidence=float(record["confidence"]),
        using=record["using"],
        query=_query(record["query"]),
        solutions=Solutions(
            tuple(record["variables"]),
            tuple(tuple(_term(item) for item in row) for row in record["rows"]),
            record["boolean"],
            record["truncated"],
        ),
        values=tuple(record["values"]),
        evidence=tuple(
            Evidence(NamedNode(chunk), NamedNode(document), *rest) for chunk, document, *rest in record["evidence"]
        ),
        clarification=None if back is None else Clarification(back[0], tuple(back[1])),
        model=record["model"],
        usage=Usage(*record["usage"]),
        trace=tuple(record["trace"]),
        question_class=record["question_class"],
    )


def _query(record: Any) -> Query | None:
    if record is None:
        return None
    text, reading, attempts = record
    tried = (
        Attempt(draft, tuple(Issue(IssueKind(kind), message) for kind, message in issues)) for draft, issues in attempts
    )
    return Query(text, reading, tuple(tried))


def _passage(item: Evidence) -> list[object]:
    return [
        *(item.chunk.value, item.document.value, item.title, item.source, item.quote, item.start, item.end, item.score)
    ]


def _written(term: Term | None) -> list[str] | None:
    if term is None:
        return None
    if isinstance(term, NamedNode):
        return ["thing", term.value]
    if isinstance(term, Literal):
        return ["value", term.value, term.datatype.value, term.language or ""]
    return ["node", str(term).removeprefix("_:")]


def _term(record: list[str] | None) -> Term | None:
    if record is None:
        return None
    kind, text, *rest = record
    if kind == "thing":
        return NamedNode(text)
    if kind == "value":
        return Literal(text, language=rest[1]) if rest[1] else Literal(text, datatype=NamedNode(rest[0]))
    return BlankNode(text) if text.isalnum() else Literal(text)


def note_feedback(workspace: Path, record: Mapping[str, object]) -> None:
    """Adds what a person said of an answer to ``feedback.jsonl``; a reason is cut at 2,000 characters.

    Raises:
        StoreError: the disk refuses.
    """
    kept = {**record, "reason": str(record.get("reason", ""))[:_LONGEST_REASON]}
    try:
        with (workspace / FEEDBACK).open("a", encoding="utf-8") as file:
            file.write(json.dumps(kept, ensure_ascii=False) + "\n")
    except OSError as error:
        raise StoreError(f"the disk refuses to keep what was said: {error.strerror}") from error
