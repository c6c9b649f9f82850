"""Questions from a table by template: placeholders are filled with the values of a row, the gold read off the table."""

from __future__ import annotations

import csv
import json
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from kgplatform.errors import ReadError
from kgplatform.evaluation.making.made import MadeQuestion, Source
from kgplatform.json_lines import read_json_lines
from kgplatform.text import language_of

_PLACE = re.compile(r"\{([^{}]+)\}")
_TRIES: Final = 20


@dataclass(frozen=True, slots=True)
class Template:
    """A question with ``{columns}`` in braces, and the column that answers it; ``kind`` is for reports."""

    text: str
    answer: str
    kind: str

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that the question names."""
        return tuple(_PLACE.findall(self.text))


def read_templates(path: Path) -> tuple[list[Template], list[str]]:
    """The templates of a file of JSON Lines (``template``, ``answer``, optionally ``type``), and what was wrong.

    Raises:
        ReadError: the file cannot be read, or no line can be used.
    """
    return read_json_lines(path, _template, what='template ({"template": "… {column} …", "answer": "column"})')


def _template(line: str, _number: int) -> Template:
    try:
        item = json.loads(line)
    except json.JSONDecodeError as error:
        raise ValueError(f"no JSON: {error.msg}") from error
    text = item.get("template") if isinstance(item, dict) else None
    answer = item.get("answer") if isinstance(item, dict) else None
    if not isinstance(text, str) or not isinstance(answer, str):
        raise ValueError("template and answer are needed, both texts")
    made = Template(text, answer, str(item.get("type", "template")))
    if not made.columns:
        raise ValueError(f"the template names no column in braces: {text!r}")
    if answer in made.columns:
        raise ValueError(f"the template gives its answer away: {answer!r} is in the question")
    return made


def read_rows(path: Path) -> list[dict[str, str]]:
    """The rows of a CSV file with a header, as texts by column.

    Raises:
        ReadError: the file cannot be read, is no UTF-8, or has no rows.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = [{k: (v or "").strip() for k, v in row.items() if k is not None} for row in csv.DictReader(file)]
    except OSError as error:
        raise ReadError(f"cannot be read: {error.strerror or error}", path=path) from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise ReadError(f"cannot be read as a table: {error}", path=path) from error
    if not rows:
        raise ReadError("holds no rows below its header", path=path)
    return rows


def from_table(
    rows: Sequence[Mapping[str, str]], templates: Sequence[Template], *, count: int, source: str = "", seed: int = 0
) -> Iterator[MadeQuestion]:
    """Up to ``count`` questions, the templates in turn; the answers are those of all rows that fit the question.

    Raises:
        ReadError: a template names a column that the table does not have.
    """
    _check(rows, templates, source)
    chance = random.Random(seed)
    given = 0
    misses = 0
    while given < count and misses < _TRIES * len(templates):
        question = _filled(templates[(given + misses) % len(templates)], chance.choice(rows), rows, source)
        if question is None:
            misses += 1
            continue
        given += 1
        yield question


def _check(rows: Sequence[Mapping[str, str]], templates: Sequence[Template], source: str) -> None:
    known = rows[0].keys()
    for template in templates:
        unknown = [name for name in (*template.columns, template.answer) if name not in known]
        if unknown:
            has = ", ".join(known)
            raise ReadError(f"has no column {unknown[0]!r}, which a template names; it has {has}", path=Path(source))


def _filled(
    template: Template, row: Mapping[str, str], rows: Sequence[Mapping[str, str]], source: str
) -> MadeQuestion | None:
    wanted = {name: row[name] for name in template.columns}
    if not all(wanted.values()):
        return None
    fitting = [r for r in rows if all(r[name] == value for name, value in wanted.items())]
    answers = tuple(dict.fromkeys(r[template.answer] for r in fitting if r[template.answer]))
    if not answers:
        return None
    text = _PLACE.sub(lambda match: wanted[match.group(1)], template.text)
    quotes = tuple(Source(source, ", ".join(value for value in r.values() if value)) for r in fitting[:1] if source)
    names = tuple(wanted.values())
    return MadeQuestion(text, language_of(text), template.kind, answers, sources=quotes, names=names)
