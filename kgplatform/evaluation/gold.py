"""Questions with the answers that are right, from a JSON Lines file; what is wrong with a line is told.

A line is an object with ``id``, ``question`` and either ``answers`` (a list of scalars or rows) or ``gold_sparql``
(run against the graph for the answers). Optional: ``lang``, ``type``, ``answer_labels`` and ``alt_answers`` (other
answers that are right), ``answer_mode`` ("some": any part of the answers will do; "all", as without it).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from kgplatform.json_lines import id_of, read_json_lines
from kgplatform.text import language_of

_MODES: Final = (None, "all", "some")


@dataclass(frozen=True, slots=True)
class GoldQuestion:
    """A question and what is right: each of ``answers`` is a whole right answer; none: ask the graph ``query``."""

    id: str
    text: str
    language: str
    kind: str
    answers: tuple[tuple[object, ...], ...]
    query: str = ""
    any_will_do: bool = False


@dataclass(frozen=True, slots=True)
class GoldSet:
    """The usable questions of a file, and a sentence for each line that is not."""

    questions: tuple[GoldQuestion, ...]
    problems: tuple[str, ...] = ()


def read_gold(path: Path) -> GoldSet:
    """The gold questions of a file.

    Raises:
        ReadError: the file cannot be read, or none of its lines can be used; the message says why of the first.
    """
    seen: set[str] = set()

    def parse(line: str, _number: int) -> GoldQuestion:
        question = _question(line)
        if question.id in seen:
            raise ValueError(f"the id {question.id!r} occurs twice")
        seen.add(question.id)
        return question

    found, problems = read_json_lines(path, parse, what="question")
    return GoldSet(tuple(found), tuple(problems))


def _question(line: str) -> GoldQuestion:
    try:
        item = json.loads(line)
    except (json.JSONDecodeError, RecursionError) as error:
        raise ValueError(f"is not JSON: {getattr(error, 'msg', 'too deep')}") from error
    if not isinstance(item, dict):
        raise ValueError("is not an object")
    text, query = item.get("question"), item.get("gold_sparql") or item.get("query") or ""
    if not isinstance(text, str) or not text.strip():
        raise ValueError("has no question")
    if not isinstance(query, str):
        raise ValueError("its query is not text")
    identity = id_of(item)
    for name in ("lang", "type", "answer_mode"):
        if item.get(name) is not None and not isinstance(item[name], str):
            raise ValueError(f"its {name} is not text")
    if item.get("answer_mode") not in _MODES:
        raise ValueError(f"its answer_mode {item['answer_mode']!r} is neither 'some' nor 'all'")
    answers = _answers(item)
    if not answers and not query:
        raise ValueError("has neither answers nor gold_sparql")
    return GoldQuestion(
        id=identity,
        text=text,
        language=item.get("lang") or language_of(text),
        kind=str(item.get("type") or "other"),
        answers=answers,
        query=query,
        any_will_do=item.get("answer_mode") == "some",
    )


def _answers(item: Mapping[str, object]) -> tuple[tuple[object, ...], ...]:
    found: list[tuple[object, ...]] = []
    for key in ("answers", "answer_labels"):
        if item.get(key) is not None:
            found.append(_list(item[key], key))
    others = item.get("alt_answers")
    if others is not None:
        found.extend(_list(other, "alt_answers") for other in _list(others, "alt_answers"))
    return tuple(found)


def _list(value: object, key: str) -> tuple[object, ...]:
    if not isinstance(value, list):
        raise ValueError(f"{key} is not a list")
    wrong = next((v for v in value if not isinstance(v, str | int | float | bool | list | dict | None)), None)
    if wrong is not None:
        raise ValueError(f"{key} holds {wrong!r}")
    return tuple(value)
