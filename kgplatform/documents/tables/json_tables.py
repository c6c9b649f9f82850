"""Arrays of objects in JSON, and JSON lines, as tables: a field is a column, a field of a field has a dotted name.

Objects in a list inside a record are a table of their own, with a column that leads back to the record. JSON is read
value by value (`JsonStream`), so an array of any length passes through a small buffer (RFC 8259, RFC 6901).
"""

from __future__ import annotations

import json
import re
from collections.abc import Container, Generator, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Final, TextIO, TypeAlias

from kgplatform.documents.parts import clean, one_line
from kgplatform.documents.tables.cells import (
    BETWEEN_VALUES,
    MAX_COLUMNS,
    OpenedTable,
    ProblemLog,
    SourceRow,
    column_names,
    row_of,
    value_text,
)
from kgplatform.documents.tables.delimited import encoding_of_file, opened_text, text_lines
from kgplatform.errors import ReadError
from kgplatform.lexicon import LexiconSection
from kgplatform.text import singular, words_of_identifier

Json: TypeAlias = "dict[str, Json] | list[Json] | str | bool | None"
"""A value; numbers are kept as they are written."""

_CHUNK = 1 << 18
LARGEST_VALUE: Final = 16 << 20
_DEEPEST_WALK = 6
_MOST_ARRAYS = 1000
_FEWEST_ALIKE = 3
_CONSTANTS = {"NaN": None, "Infinity": "INF", "-Infinity": "-INF"}
DECODER: Final = json.JSONDecoder(parse_int=str, parse_float=str, parse_constant=_CONSTANTS.get, strict=False)


class JsonStream:
    """A JSON text, of which a part at a time is in memory.

    Each method reads on from where the last one stopped, and raises `ReadError` with the line where the text is
    not JSON or one value of it is larger than 16 million characters.
    """

    def __init__(self, handle: TextIO, path: Path) -> None:
        self._handle = handle
        self._path = path
        self._buffer = ""
        self._at = 0
        self._ended = False
        self._lines = 1

    def peek(self) -> str:
        """The next character that is not blank; empty at the end."""
        while True:
            while self._at < len(self._buffer):
                if self._buffer[self._at] not in " \t\r\n\ufeff":
                    return self._buffer[self._at]
                self._at += 1
            if self._ended:
                return ""
            self._more()

    def value(self) -> Json:
        """The next value, whole."""
        self.peek()
        while True:
            try:
                found, end = DECODER.raw_decode(self._buffer, self._at)
            except json.JSONDecodeError as error:
                if self._ended or not self._may_be_cut(error):
                    raise self._wrong(error.msg, error.pos) from error
            except RecursionError as error:
                raise self._wrong("is nested too deeply") from error
            else:
                if end < len(self._buffer) or self._ended:
                    self._at = end
                    value: Json = found
                    return value
            self._more()

    def keys(self) -> Iterator[str]:
        """The names in the object that comes next; the caller reads the value of each before asking for another."""
        self._take("{")
        if self.peek() == "}":
            self._take("}")
            return
        while True:
            if self.peek() != '"':
                raise self._wrong("a name in quotation marks is expected")
            key = self.value()
            self._take(":")
            yield str(key)
            if self._take(",", "}") == "}":
                return

    def items(self) -> Iterator[None]:
        """A step for each value in the array that comes next; the caller reads it before asking for another."""
        self._take("[")
        if self.peek() == "]":
            self._take("]")
            return
        while True:
            yield None
            if self._take(",", "]") == "]":
                return

    def skip(self, depth: int = 0) -> None:
        """Passes over the next value."""
        sign = self.peek()
        if depth < _DEEPEST_WALK and sign == "[":
            for _ in self.items():
                self.value()
        elif depth < _DEEPEST_WALK and sign == "{":
            for _ in self.keys():
                self.skip(depth + 1)
        else:
            self.value()

    def seek(self, steps: Sequence[str]) -> bool:
        """Goes to the value that the steps of a JSON Pointer lead to; whether there is one."""
        if not steps:
            return bool(self.peek())
        sign = self.peek()
        if sign == "{":
            for key in self.keys():
                if key == steps[0]:
                    return self.seek(steps[1:])
                self.skip()
        elif sign == "[" and steps[0].isdecimal():
            for place, _ in enumerate(self.items()):
                if place == int(steps[0]):
                    return self.seek(steps[1:])
                self.skip()
        return False

    def walk(self, found: list[str], pointer: str = "") -> frozenset[str] | None:
        """The fields of the next value, if it is an object; notes the pointers of arrays that begin with an object.

        Looked for is in objects only. An object is as good as an array if three or more objects are all that it holds
        and they are alike: they have a field in common, and half of all their fields on average.
        """
        sign, depth = self.peek(), pointer.count("/")
        if sign == "[":
            for place, _ in enumerate(self.items()):
                if place == 0 and self.peek() == "{":
                    found.append(pointer)
                self.value()
        elif sign == "{" and depth < _DEEPEST_WALK:
            fields, inner, before = set[str](), list[frozenset[str] | None](), len(found)
            for key in self.keys():
                fields.add(key)
                if len(inner) < _MOST_ARRAYS:
                    inner.append(self.walk(found, f"{pointer}/{_escaped(key)}"))
                else:
                    self.skip()
            if _are_alike(inner):
                found[before:] = [pointer]
            return frozenset(fields)
        else:
            self.skip()
        return None

    def finish(self) -> None:
        """Makes sure that nothing follows."""
        if self.peek():
            raise self._wrong("more text follows where the JSON should end")

    def _take(self, *signs: str) -> str:
        sign = self.peek()
        if sign not in signs:
            raise self._wrong(f"{' or '.join(signs)} is expected" + ("" if sign else ", but the text ends"))
        self._at += 1
        return sign

    def _may_be_cut(self, error: json.JSONDecodeError) -> bool:
        """Whether more text could mend the error: it is in an open string or at the end of what has been read."""
        return error.msg.startswith("Unterminated string") or error.pos >= len(self._buffer) - 16

    def _more(self) -> None:
        kept = len(self._buffer) - self._at
        if kept > LARGEST_VALUE:
            raise self._wrong("a value is larger than 16 million characters; split it or use JSON lines")
        self._lines += self._buffer.count("\n", 0, self._at)
        read = self._handle.read(max(_CHUNK, kept))
        self._buffer = self._buffer[self._at :] + read
        self._at = 0
        self._ended = not read

    def _wrong(self, message: str, position: int | None = None) -> ReadError:
        line = self._lines + self._buffer.count("\n", 0, self._at if position is None else position)
        return ReadError(f"line {line}: {message[0].lower()}{message[1:]}", path=self._path)


def _are_alike(objects: Sequence[frozenset[str] | None]) -> bool:
    """Whether all are objects, by their fields, one of which all have and half of which each has on average."""
    fields = [found for found in objects if found]
    if len(fields) < max(_FEWEST_ALIKE, len(objects)) or not frozenset.intersection(*fields):
        return False
    return sum(map(len, fields)) * 2 >= len(fields) * len(frozenset.union(*fields))


def _escaped(step: str) -> str:
    return step.replace("~", "~0").replace("/", "~1")


def steps_of(pointer: str, *, path: Path) -> tuple[str, ...]:
    """The steps of a JSON Pointer (RFC 6901): ``/a~1b/0`` is ``("a/b", "0")``; a missing first slash is let pass."""
    if len(pointer) > 2000:
        raise ReadError("the path behind # is too long", path=path)
    if pointer in ("", "/"):
        return ()
    parts = pointer.removeprefix("/").split("/")
    return tuple(part.replace("~1", "/").replace("~0", "~") for part in parts)


JSON_TYPE: Final = "application/json"
LINES_TYPE: Final = "application/jsonl"
_KEYED: Final = "id"
"""The field with the key of a record that stands under one, unless it has such a field."""
EACH: Final = "[]"
"""The step of a pointer to each of the records of an array: ``/lines/[]/stops`` are the stops of all lines."""
_LEXICON: Final = LexiconSection("documents", "json_tables")
_WRAPPERS: Final = _LEXICON.words("wrappers")
_KEY: Final = _LEXICON.pattern("key", re.IGNORECASE)
_COLUMN_RECORDS = 200_000
_INNER_RECORDS = 1_000
_DEEPEST = 50
_Numbered = Iterator[tuple[int, Json]]
_Object = dict[str, Json]
_Steps = tuple[str, ...]


@dataclass(frozen=True)
class _Inner:
    """The lists at ``steps`` inside records, whose objects are a table that leads to the records by their ``key``.

    ``back``: what the column of these keys is called; ``outer``: what the table of the records is called.
    """

    steps: _Steps
    key: str
    back: str
    outer: str

    def objects(self, record: _Object) -> Iterator[_Object]:
        """The objects in the list of a record, each with the key of the record."""
        found: Json = record
        for step in self.steps:
            found = found.get(step) if isinstance(found, dict) else None
        key = {self.back: record.get(self.key)}
        yield from ({**key, **item} for item in (found if isinstance(found, list) else ()) if isinstance(item, dict))


def _inner_tables(records: Sequence[_Object], name: str) -> dict[_Inner, list[_Object]]:
    """The lists that are tables inside records called ``name``, with their objects.

    A list is one if a record has several objects in it and one of these several fields, which would not be known to
    belong together; and if a field tells the records apart, as each object needs it.
    """
    lists, key = dict[_Steps, list[list[_Object]]](), _key_of(records)
    for record in records if key else ():
        _gather(record, (), lists)
    found = {}
    for steps, several in lists.items():
        objects = [item for one in several for item in one]
        if any(len(one) > 1 for one in several) and any(len(item) > 1 for item in objects):
            found[_Inner(steps, key, _back(name, objects), name)] = objects
    return found


def _gather(value: _Object, steps: _Steps, found: dict[_Steps, list[list[_Object]]]) -> None:
    for name, inner in value.items():
        if isinstance(inner, dict) and len(steps) < _DEEPEST_WALK:
            _gather(inner, (*steps, name), found)
        elif isinstance(inner, list) and (objects := [item for item in inner if isinstance(item, dict)]):
            found.setdefault((*steps, name), []).append(objects)


def _key_of(records: Sequence[_Object]) -> str:
    """The field that tells the records apart, best one that says so; empty if there is none."""
    found = []
    for name in records[0] if records else ():
        texts = ["" if isinstance(value := record.get(name), dict | list) else value_text(value) for record in records]
        if all(texts) and len(set(texts)) == len(texts):
            found.append(name)
    return next((name for name in found if _KEY.search(words_of_identifier(name))), next(iter(found), ""))


def _back(name: str, objects: Sequence[_Object]) -> str:
    """What the column that leads to the outer record is called: *line*, or *of line* where that is a field already."""
    back = singular(words_of_identifier(name)) or name
    while any(back in item for item in objects):
        back = f"of {back}"
    return back


class _JsonFile:
    """A file of JSON, with the place in it that the records are read from."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.encoding = encoding_of_file(path)
        self.is_lines = self._has_lines()
        self.steps: _Steps = ()
        self.within: tuple[_Inner, ...] = ()
        self.apart = frozenset[str]()

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
            found = list[str]()
            stream.walk(found)
            stream.finish()
            return tuple(found)

    def records(self, log: ProblemLog) -> _Numbered:
        """The records with their numbers, from 1; of lines, the numbers of the lines."""
        outer = self._line_records(log) if self.is_lines else self._stream_records()
        return enumerate(self._inside(outer), start=1) if self.within else outer

    def _inside(self, outer: _Numbered) -> Iterator[Json]:
        for _, record in outer:
            found = [record] if isinstance(record, dict) else []
            for inner in self.within:
                found = [item for one in found for item in inner.objects(one)]
            yield from found

    def called(self) -> str:
        """What the outermost records are called: by the field they are in, unless it says nothing, or by the file."""
        last = self.steps[-1] if self.steps else ""
        says = last.casefold() not in _WRAPPERS or (not self.is_lines and len(self.arrays()) > 1)
        return last if last and says and not last.isdecimal() else self.path.stem

    def inner(self) -> dict[_Steps, tuple[_Inner, ...]]:
        """The tables inside the records, by what leads to them from there, outer ones first."""
        records = islice(self.records(ProblemLog()), _INNER_RECORDS)
        return dict(_below([record for _, record in records if isinstance(record, dict)], self.called(), (), ()))

    def enter(self, steps: _Steps) -> None:
        """Goes to the table at the steps of a pointer; what is in tables inside its records is none of its columns."""
        place = steps.index(EACH) if EACH in steps else len(steps)
        self.steps, way = steps[:place], steps[place + 1 :]
        inner = self.inner()
        if way and way not in inner:
            known = ", ".join(f"#{found}" for found in json_tables(self.path)[:10])
            raise ReadError(f"there is no list of objects at /{'/'.join(steps)}; tables are at {known}", path=self.path)
        self.within = inner.get(way, ())
        below = (one for one in inner.values() if one[:-1] == self.within)
        self.apart = frozenset(".".join(map(_field, one[-1].steps)) for one in below)

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
            elif self._is_keyed():
                for number, key in enumerate(stream.keys(), start=1):
                    record = stream.value()
                    yield number, {_KEYED: key, **record} if isinstance(record, dict) else record
            else:
                yield 1, stream.value()
            if not self.steps:
                stream.finish()

    def _is_keyed(self) -> bool:
        """Whether the object there holds a record under each of its keys."""
        found = list[str]()
        with opened_text(self.path, self.encoding) as handle:
            stream = JsonStream(handle, self.path)
            if stream.seek(self.steps):
                stream.walk(found)
        return found == [""]

    def _nothing_there(self) -> str:
        known = ", ".join(pointer or "the whole file" for pointer in self.arrays()[:10]) or "nowhere"
        return f"there is nothing at /{'/'.join(self.steps)}; arrays of objects are at: {known}"


def _below(
    records: Sequence[_Object], name: str, way: _Steps, above: tuple[_Inner, ...]
) -> Iterator[tuple[_Steps, tuple[_Inner, ...]]]:
    for inner, objects in _inner_tables(records, name).items():
        here, within = (*way, *(EACH for _ in above[:1]), *inner.steps), (*above, inner)
        yield here, within
        if len(within) < _DEEPEST_WALK:
            yield from _below(objects, inner.steps[-1], here, within)


def _field(name: str) -> str:
    return one_line(clean(name))


def json_tables(path: Path) -> tuple[str, ...]:
    """The places of all tables in a file: of its arrays, and of the lists of objects in their records.

    Raises:
        ReadError: the file is not JSON.
    """
    found = list[str]()
    for pointer in json_arrays(path):
        file = _JsonFile(path)
        file.steps = steps_of(pointer, path=path)
        ways = [f"{pointer}/{EACH}/{'/'.join(map(_escaped, way))}" for way in file.inner()]
        found += [pointer or (EACH if ways else ""), *ways]
    return tuple(found)


def json_arrays(path: Path) -> tuple[str, ...]:
    """The JSON Pointers of the arrays of objects in a file, as far as they lie in objects only; "" is the whole file.

    JSON lines are one array.

    Raises:
        ReadError: the file is not JSON.
    """
    file = _JsonFile(path)
    return ("",) if file.is_lines else file.arrays()


def open_json(path: Path, *, name: str, pointer: str | None = None) -> OpenedTable:
    """The table of an array of objects: the whole file, the only such array in it, or the one at a JSON Pointer.

    An object without any array of objects is a table of one row. Of lists in a field, the values stand in one cell. The
    field that the array is in names the table, but for one that says nothing (*data*, *rows*), in place of ``name``.

    Raises:
        ReadError: the file is not JSON, has several arrays, or nothing is at the pointer.
    """
    file = _JsonFile(path)
    if pointer is not None and (steps := steps_of(pointer, path=path)):
        file.enter(steps)
    elif pointer is None and not file.is_lines:
        arrays = file.arrays()
        if len(arrays) > 1:
            places = ", ".join(f"#{found}" for found in arrays[:10])
            raise ReadError(f"has {len(arrays)} arrays of objects; name one of {places}", path=path)
        file.steps = steps_of(arrays[0], path=path) if arrays else ()
    fields = _fields(file)
    columns, problems = column_names(fields, 0)
    media_type = LINES_TYPE if file.is_lines else JSON_TYPE
    if file.within:
        name = file.within[-1].steps[-1]
    elif file.steps:
        name = file.called()
    led = {inner.back: inner.outer for inner in file.within[-1:]}
    return OpenedTable(name, columns, media_type, partial(_rows, file, fields, columns), problems, led)


def _fields(file: _JsonFile) -> dict[str, int]:
    """The names of all fields in the first records, with their places."""
    fields: dict[str, int] = {}
    log = ProblemLog()
    has_records = False
    for _, record in islice(file.records(log), _COLUMN_RECORDS):
        has_records = True
        if isinstance(record, dict):
            for field in _flat(record, file.apart):
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
        for field, text in _flat(record, file.apart).items():
            place = fields.get(field)
            if place is not None:
                texts[place] = text
            elif text:
                log.add(number, field, f"is a field that none of the first {_COLUMN_RECORDS} records has, left out")
        row = row_of(number, texts, columns, log)
        if row is not None:
            yield row


def _flat(record: _Object, apart: Container[str] = ()) -> dict[str, str]:
    """The fields by dotted names, several values of one joined; without the lists that are set ``apart``."""
    found: dict[str, list[str]] = {}
    for key, value in record.items():
        _flatten(_field(key), value, found, apart, 0)
    return {name: texts[0] if len(texts) == 1 else BETWEEN_VALUES.join(texts) for name, texts in found.items()}


def _flatten(name: str, value: Json, found: dict[str, list[str]], apart: Container[str], depth: int) -> None:
    if isinstance(value, list) and name in apart:  # what is no object there stays
        value = [item for item in value if not isinstance(item, dict)]
        if not value:
            return
    if isinstance(value, dict) and value and depth < _DEEPEST:
        for key, inner in value.items():
            _flatten(f"{name}.{_field(key)}", inner, found, apart, depth + 1)
    elif isinstance(value, list) and value and depth < _DEEPEST:
        for item in value:
            if isinstance(item, list) and not any(isinstance(inner, dict | list) for inner in item):
                found.setdefault(name, []).append(", ".join(text for inner in item if (text := _scalar(inner))))
            else:
                _flatten(name, item, found, apart, depth + 1)
    else:
        text = _scalar(value)
        texts = found.setdefault(name, [])
        if text.strip():
            texts.append(text)


def _scalar(value: Json) -> str:
    if isinstance(value, dict | list):
        return json.dumps(value, ensure_ascii=False) if value else ""
    return value_text(value)
