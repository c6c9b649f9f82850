"""Arrays of objects in JSON, and JSON lines, as tables: a field is a column, a field of a field has a dotted name."""

from __future__ import annotations

import json
from collections.abc import Generator, Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Final

from kgplatform.documents.parts import clean, one_line
from kgplatform.documents.tabular.cells import (
    BETWEEN_VALUES,
    MAX_COLUMNS,
    OpenedTable,
    ProblemLog,
    column_names,
    row_of,
    value_text,
)
from kgplatform.documents.tabular.json_stream import DECODER, LARGEST_VALUE, Json, JsonStream, steps_of
from kgplatform.documents.tabular.source import SourceRow
from kgplatform.documents.tabular.text_file import encoding_of_file, opened_text, text_lines
from kgplatform.errors import ReadError

JSON_TYPE: Final = "application/json"
LINES_TYPE: Final = "application/jsonl"
_COLUMN_RECORDS = 200_000
_DEEPEST = 50
_Numbered = Iterator[tuple[int, Json]]


class _JsonFile:
    """A file of JSON, with the place in it that the records are read from."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.encoding = encoding_of_file(path)
        self.is_lines = self._has_lines()
        self.steps: tuple[str, ...] = ()

    def _has_lines(self) -> bool:
        """Whether every line is a value of its own: the first is an object, and another follows or the name says so."""
        with text_lines(self.path, self.encoding) as lines:
            first, second = [*islice((line.strip() for line in lines if line.strip()), 2), "", ""][:2]
        named = self.path.suffix.lower() in (".jsonl", ".ndjson")
        if not named and not second.startswith("{"):
            return False
        if len(first) > LARGEST_VALUE:
            return named and not first.startswith("[")
        try:
            return isinstance(DECODER.decode(first), dict)
        except (json.JSONDecodeError, RecursionError):
            return named and not first.startswith("[")

    def arrays(self) -> tuple[str, ...]:
        """The pointers of the arrays of objects."""
        with opened_text(self.path, self.encoding) as handle:
            stream = JsonStream(handle, self.path)
            if stream.peek() == "[":  # all of it will be read for its columns
                return ("",)
            found = tuple(stream.arrays())
            stream.finish()
            return found

    def records(self, log: ProblemLog) -> _Numbered:
        """The records with their numbers, from 1; of lines, the numbers of the lines."""
        return self._line_records(log) if self.is_lines else self._stream_records()

    def _line_records(self, log: ProblemLog) -> _Numbered:
        with text_lines(self.path, self.encoding, longest=LARGEST_VALUE) as lines:
            for number, line in enumerate(lines, start=1):
                if not line.strip(" \t\r\n\ufeff"):
                    continue
                try:
                    yield number, DECODER.decode(line.strip(" \t\r\n\ufeff"))
                except json.JSONDecodeError as error:
                    log.add(number, "", f"is not JSON (column {error.colno}: {error.msg}), left out")
                except RecursionError:
                    log.add(number, "", "is nested too deeply, left out")

    def _stream_records(self) -> _Numbered:
        with opened_text(self.path, self.encoding) as handle:
            stream = JsonStream(handle, self.path)
            if not stream.seek(self.steps):
                raise ReadError(self._nothing_there(), path=self.path)
            if stream.peek() == "[":
                for number, _ in enumerate(stream.items(), start=1):
                    yield number, stream.value()
            else:
                yield 1, stream.value()
            if not self.steps:
                stream.finish()

    def _nothing_there(self) -> str:
        known = ", ".join(pointer or "the whole file" for pointer in self.arrays()[:10]) or "nowhere"
        return f"there is nothing at /{'/'.join(self.steps)}; arrays of objects are at: {known}"


def open_json(path: Path, *, name: str, pointer: str | None = None) -> OpenedTable:
    """The table of an array of objects: the whole file, the only such array in it, or the one at a JSON Pointer.

    An object without any array of objects is a table of one row. Of lists in a field, the values stand in one cell.

    Raises:
        ReadError: the file is not JSON, has several arrays, or nothing is at the pointer.
    """
    file = _JsonFile(path)
    if pointer is not None and not file.is_lines:
        file.steps = steps_of(pointer, path=path)
    elif not file.is_lines:
        arrays = file.arrays()
        if len(arrays) > 1:
            places = ", ".join(f"#{found}" for found in arrays[:10])
            raise ReadError(f"has {len(arrays)} arrays of objects; name one of {places}", path=path)
        file.steps = steps_of(arrays[0], path=path) if arrays else ()
    fields = _fields(file)
    columns, problems = column_names(fields, 0)
    media_type = LINES_TYPE if file.is_lines else JSON_TYPE
    if file.steps and not file.steps[-1].isdecimal() and pointer is not None:
        name = file.steps[-1]
    return OpenedTable(name, columns, media_type, partial(_rows, file, fields, columns), problems)


def json_tables(path: Path) -> tuple[str | None, ...]:
    """The pointers of the tables in the file; None stands for the file as a whole."""
    file = _JsonFile(path)
    arrays = () if file.is_lines else file.arrays()
    return arrays if len(arrays) > 1 else (None,)


def _fields(file: _JsonFile) -> dict[str, int]:
    """The names of all fields in the first records, with their places."""
    fields: dict[str, int] = {}
    log = ProblemLog()
    has_records = False
    for _, record in islice(file.records(log), _COLUMN_RECORDS):
        has_records = True
        if isinstance(record, dict):
            for field in _flat(record):
                fields.setdefault(field, len(fields))
        if len(fields) > MAX_COLUMNS:
            reason = f"has more than {MAX_COLUMNS} columns: its records have few fields in common"
            raise ReadError(reason, path=file.path)
    if not fields:
        bad = next((f": line {problem.number} {problem.reason}" for problem in log.seen()), "")
        held = "no JSON objects" if has_records or bad else "no rows"
        raise ReadError(f"holds {held}, which a table is read from{bad}", path=file.path)
    return fields


def _rows(file: _JsonFile, fields: dict[str, int], columns: tuple[str, ...], log: ProblemLog) -> Generator[SourceRow]:
    for number, record in file.records(log):
        if not isinstance(record, dict):
            log.add(number, "", "is not an object, left out")
            continue
        texts = [""] * len(columns)
        for field, text in _flat(record).items():
            place = fields.get(field)
            if place is not None:
                texts[place] = text
            elif text:
                log.add(number, field, f"is a field that none of the first {_COLUMN_RECORDS} records has, left out")
        row = row_of(number, texts, columns, log)
        if row is not None:
            yield row


def _flat(record: dict[str, Json]) -> dict[str, str]:
    """The fields by dotted names, several values of one joined."""
    found: dict[str, list[str]] = {}
    for key, value in record.items():
        _flatten(one_line(clean(key)), value, found, 0)
    return {name: texts[0] if len(texts) == 1 else BETWEEN_VALUES.join(texts) for name, texts in found.items()}


def _flatten(name: str, value: Json, found: dict[str, list[str]], depth: int) -> None:
    if isinstance(value, dict) and value and depth < _DEEPEST:
        for key, inner in value.items():
            _flatten(f"{name}.{one_line(clean(key))}", inner, found, depth + 1)
    elif isinstance(value, list) and value and depth < _DEEPEST:
        for item in value:
            if isinstance(item, list) and not any(isinstance(inner, dict | list) for inner in item):
                found.setdefault(name, []).append(", ".join(text for inner in item if (text := _scalar(inner))))
            else:
                _flatten(name, item, found, depth + 1)
    else:
        text = _scalar(value)
        texts = found.setdefault(name, [])
        if text.strip():
            texts.append(text)


def _scalar(value: Json) -> str:
    if isinstance(value, dict | list):
        return json.dumps(value, ensure_ascii=False) if value else ""
    return value_text(value)
