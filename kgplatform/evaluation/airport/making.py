"""The question sets of the study in one file of gold questions, the same for the same flights and seed."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Final

from kgplatform.errors import ReadError
from kgplatform.evaluation.airport.ambiguous import ambiguous
from kgplatform.evaluation.airport.asking import Asked
from kgplatform.evaluation.airport.reasoning import reasoning
from kgplatform.evaluation.airport.rows import FlightTable
from kgplatform.evaluation.airport.straightforward import straightforward
from kgplatform.json_lines import read_json_lines


@dataclass(frozen=True, slots=True)
class Sizes:
    """How many questions of each set."""

    straightforward: int = 1_350
    ambiguous: int = 220
    reasoning: int = 36


@dataclass(frozen=True, slots=True)
class StudyQuestion:
    """A question of the study with its id and the moment as of which it is asked."""

    id: str
    asked: Asked
    now: str


def make(table: FlightTable, *, seed: int = 7, sizes: Sizes | None = None) -> list[StudyQuestion]:
    """The questions of the three sets; the same for the same table and seed."""
    wanted = sizes or Sizes()
    now = table.snapshot.isoformat()
    sets = (
        straightforward(table, wanted.straightforward, Random(f"{seed} straightforward")),
        ambiguous(table, wanted.ambiguous, Random(f"{seed} ambiguous")),
        reasoning(table, wanted.reasoning, Random(f"{seed} reasoning")),
    )
    return [
        StudyQuestion(f"{asked.set}-{number:04}", asked, now)
        for questions in sets
        for number, asked in enumerate(questions, 1)
    ]


_TEXTS: Final = ("id", "question", "lang", "type", "kind", "now")
_SAID: Final = ("id", "question")
_LISTS: Final = ("answers", "alt_answers", "options")


def write(questions: Iterable[StudyQuestion], path: Path) -> None:
    """Writes the questions as JSON Lines that `evaluate questions` reads too.

    Raises:
        ReadError: the file cannot be written.
    """
    lines = (json.dumps(_record(item), ensure_ascii=False) for item in questions)
    part = path.with_name(path.name + ".part")
    try:
        part.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        part.replace(path)
    except OSError as error:
        raise ReadError(f"cannot be written: {error.strerror or error}", path=path) from error


def read(path: Path) -> tuple[list[StudyQuestion], list[str]]:
    """The questions of a file that `write` made, and a sentence for each line that is none.

    Raises:
        ReadError: the file cannot be read, or holds none.
    """
    seen: set[str] = set()

    def parse(line: str, _number: int) -> StudyQuestion:
        question = _question(line)
        if question.id in seen:
            raise ValueError(f"the id {question.id!r} occurs twice")
        seen.add(question.id)
        return question

    return read_json_lines(path, parse, what="question")


def _record(item: StudyQuestion) -> dict[str, object]:
    asked = item.asked
    first, *others = [list(answer) for answer in asked.answers] or [[]]
    return {
        "id": item.id,
        "question": asked.text,
        "lang": asked.language,
        "type": asked.set,
        "kind": asked.kind,
        "class": asked.label,
        "now": item.now,
        "answers": first,
        "alt_answers": others,
        "options": list(asked.options),
        "sql": asked.sql,
        "gold_sparql": asked.query,
    }


def _question(line: str) -> StudyQuestion:
    try:
        item = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise ValueError("is not JSON") from error
    if not isinstance(item, dict):
        raise ValueError("is not an object")
    missing = [name for name in (*_TEXTS, *_LISTS) if name not in item]
    if missing:
        raise ValueError(f"is no question of the study: it lacks {', '.join(missing)}")
    wrong = [name for name in _TEXTS if not isinstance(item[name], str) or (name in _SAID and not item[name].strip())]
    wrong += [name for name in _LISTS if not isinstance(item[name], list)]
    if wrong or not all(isinstance(answer, list) for answer in item["alt_answers"]):
        raise ValueError(f"is no question of the study: {wrong[0] if wrong else 'alt_answers'} is of the wrong type")
    answers = [item["answers"], *item["alt_answers"]]
    asked = Asked(
        set=item["type"],
        kind=item["kind"],
        language=item["lang"],
        text=item["question"],
        answers=tuple(tuple(map(str, answer)) for answer in answers if answer),
        label=str(item.get("class", "")),
        options=tuple(map(str, item["options"])),
        sql=str(item.get("sql", "")),
        query=str(item.get("gold_sparql", "")),
    )
    return StudyQuestion(item["id"], asked, item["now"])
