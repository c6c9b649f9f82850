"""Tables in CSV, TSV and their kin (RFC 4180, as loosely as it is written): dialect, quotes that never close, encoding.

`open_delimited` reads line by line; `read_table` gives each row with the place in the text that it was read from.
"""

from __future__ import annotations

import codecs
import csv
import io
import os
import re
from collections import deque
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Final

from kgplatform.documents.encoding import decode, encoding_of, refuse_signature
from kgplatform.documents.parts import DocumentPart, file_title
from kgplatform.documents.tables.cells import (
    MAX_COLUMNS,
    UNDECODED,
    OpenedTable,
    ProblemLog,
    RowProblem,
    SourceRow,
    column_names,
    row_of,
)
from kgplatform.errors import ReadError

CSV_TYPE: Final = "text/csv"
TSV_TYPE: Final = "text/tab-separated-values"
_DELIMITERS = (",", "\t", ";", "|")
_SAMPLE_ROWS = 50
SAMPLE_LINES = _SAMPLE_ROWS * 4
_LONGEST_RECORD = 4_000_000
_REREAD = 20 * _LONGEST_RECORD
_UNCLOSED = "a quotation mark is opened and never closed"
_LARGEST_FIELD = 128_000_000


@dataclass(frozen=True, slots=True)
class Record:
    """The cells of the lines ``first`` to ``last``, counted from 0; ``problem`` says what is odd about its quotes."""

    first: int
    last: int
    cells: tuple[str, ...]
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Dialect:
    """The line that a table begins on, counted from 0, and what stands between its cells."""

    begin: int
    delimiter: str


def dialect_of(sample: Sequence[str], *, preferred: str) -> Dialect:
    """The dialect of a table by its first lines (`SAMPLE_LINES`): ``sep=`` in the first, else what is most regular."""
    first = sample[0].strip("\r\n\ufeff ").lower() if sample else ""
    if first.startswith("sep=") and len(first) == 5:
        return Dialect(1, first[4])
    rows = [line for line in sample[:SAMPLE_LINES] if line.strip()][:_SAMPLE_ROWS]
    best = max(_DELIMITERS, key=lambda sign: (*_regularity(rows, sign), sign == preferred))
    return Dialect(0, best if _regularity(rows, best)[0] else preferred)


def _regularity(sample: Sequence[str], delimiter: str) -> tuple[float, int]:
    """How regular the sample is under a delimiter: share of rows of the usual width, and that width."""
    try:
        widths = [len(cells) for cells in csv.reader((line + "\n" for line in sample), delimiter=delimiter)]
    except csv.Error:
        return 0.0, 0
    wide = [width for width in widths if width > 1]
    if not wide or len(wide) * 2 < len(widths):
        return 0.0, 0
    usual = max(set(wide), key=lambda width: (wide.count(width), width))
    return wide.count(usual) / len(widths), usual


class _Lines:
    """The lines of a file, of which those of the record being read can be given back."""

    def __init__(self, lines: Iterator[str]) -> None:
        self._lines = lines
        self._returned: deque[str] = deque()
        self.taken: list[str] = []
        self.length = 0
        self.number = 0
        self.broken_off = False

    def __iter__(self) -> _Lines:
        return self

    def __next__(self) -> str:
        if self.length > _LONGEST_RECORD and len(self.taken) > 1:
            self.broken_off = True
            raise StopIteration
        try:
            line = self._returned.popleft() if self._returned else next(self._lines)
        except StopIteration:
            self.broken_off = True
            raise
        self.taken.append(line)
        self.length += len(line)
        return line

    def begin_record(self) -> None:
        self.number += len(self.taken)
        self.taken = []
        self.length = 0
        self.broken_off = False

    def keep_first(self) -> str:
        """Gives back all lines of the record but the first, which is returned."""
        first, *rest = self.taken
        self._returned.extendleft(reversed(rest))
        self.taken = [first]
        return first


def records(lines: Iterable[str], delimiter: str) -> Iterator[Record]:
    r"""The records that are not blank; ``lines`` end with ``\n``.

    A quote that never closes counts as a letter of its line. So does one that closed only where a later cell opens
    its own: its record runs over several lines, and is badly quoted or has not as many cells as the first record, where
    its first line alone has as many.

    Raises:
        csv.Error: a cell is larger than 128 million characters.
    """
    csv.field_size_limit(max(csv.field_size_limit(), _LARGEST_FIELD))
    source = _Lines(iter(lines))
    reader = csv.reader(source, delimiter=delimiter)
    width = reread = 0
    while True:
        source.begin_record()
        cells = next(reader, None)
        if cells is None:
            return
        last = source.number + len(source.taken) - 1
        if reread < _REREAD and _is_runaway(source, cells, width, delimiter):
            reread += source.length
            literal = _literal(source.keep_first(), delimiter)
            yield Record(source.number, source.number, _trimmed(literal), _UNCLOSED)
            width = width or len(literal)
            if reread < _REREAD:
                reader = csv.reader(source, delimiter=delimiter)
            else:
                reader = csv.reader(source, delimiter=delimiter, quoting=csv.QUOTE_NONE)
        elif any(cell.strip() for cell in cells):
            width = width or len(cells)
            yield Record(source.number, last, _trimmed(cells))


def _is_runaway(source: _Lines, cells: Sequence[str], width: int, delimiter: str) -> bool:
    """Whether the record has lines that are not its own."""
    if len(source.taken) < 2:
        return False
    if source.broken_off:
        return True
    if not width or len(_literal(source.taken[0], delimiter)) != width:
        return False
    return len(cells) != width or not _is_well_quoted(source.taken, delimiter)


def _is_well_quoted(lines: Sequence[str], delimiter: str) -> bool:
    """Whether what follows each closing quote is the end of the cell."""
    try:
        deque(csv.reader(lines, delimiter=delimiter, strict=True), maxlen=0)
    except csv.Error:
        return False
    return True


def _literal(line: str, delimiter: str) -> list[str]:
    return next(csv.reader([line], delimiter=delimiter, quoting=csv.QUOTE_NONE), [])


def _trimmed(cells: Sequence[str]) -> tuple[str, ...]:
    return tuple(cell.strip() for cell in cells)


_SAMPLE = 1 << 20
_PLAIN_BEFORE = 20_000
_LONGEST_LINE = 64 << 20
_SAFE_ENDS = (b"\n", b"\r", b",", b";", b"\t", b" ", b'"')  # none is part of a character in any encoding
_BEYOND_ASCII = re.compile(rb"[\x80-\xff]")
_TABBED = (".tsv", ".tab")


def _mark(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return UNDECODED, error.end


codecs.register_error("kgplatform.undecoded", _mark)


def open_delimited(path: Path, *, name: str, columns: tuple[str, ...] = ()) -> OpenedTable:
    """The table in a file of separated values; its first row that is not blank names the columns if none are given.

    Raises:
        ReadError: the file is empty, not text, has no header, or its first row not as many cells as columns are given.
    """
    encoding = encoding_of_file(path)
    with text_lines(path, encoding) as lines:
        sample = [line.rstrip("\n") for line in islice(lines, SAMPLE_LINES)]
    if sample and sample[0].lstrip().lower().startswith(("<!doctype", "<html", "<?xml", "<table")):
        raise ReadError("is a page in HTML or XML, not a table; save it as CSV or XLSX", path=path)
    dialect = dialect_of(sample, preferred="\t" if path.suffix.lower() in _TABBED else ",")
    with text_lines(path, encoding) as lines:
        header = next(_records(lines, dialect, path), None)
    if header is None:
        raise ReadError("holds no rows; the first row should name the columns", path=path)
    if len(header.cells) > MAX_COLUMNS:
        raise ReadError(f"has {len(header.cells)} columns; at most {MAX_COLUMNS} are read", path=path)
    number = _line(header, dialect)
    problems: tuple[RowProblem, ...] = ()
    has_header = not columns
    if has_header:
        columns, problems = column_names(header.cells, number)
        if header.problem:
            problems = (RowProblem(number, "", header.problem), *problems)
    elif len(header.cells) != len(columns):
        raise ReadError(f"has {len(header.cells)} cells in its first row; {len(columns)} columns are named", path=path)
    rows = partial(_rows, path, encoding, dialect, columns, 1 if has_header else 0)
    return OpenedTable(name, columns, TSV_TYPE if dialect.delimiter == "\t" else CSV_TYPE, rows, problems)


def _rows(
    path: Path, encoding: str, dialect: Dialect, columns: tuple[str, ...], begin: int, log: ProblemLog
) -> Generator[SourceRow]:
    with text_lines(path, encoding) as lines:
        for record in islice(_records(lines, dialect, path), begin, None):
            number = _line(record, dialect)
            if record.problem:
                log.add(number, "", record.problem)
            if len(record.cells) < len(columns):
                log.add(number, "", f"{len(record.cells)} cells under {len(columns)} columns: the rest are empty")
            row = row_of(number, record.cells, columns, log)
            if row is not None:
                yield row


def _records(lines: Iterator[str], dialect: Dialect, path: Path) -> Iterator[Record]:
    try:
        yield from records(islice(lines, dialect.begin, None), dialect.delimiter)
    except csv.Error as error:
        raise ReadError(f"is not a table: {error}", path=path) from error


def _line(record: Record, dialect: Dialect) -> int:
    return record.first + dialect.begin + 1


@contextmanager
def text_lines(path: Path, encoding: str, *, longest: int = _LONGEST_LINE) -> Iterator[Iterator[str]]:
    r"""The lines of the file, which all end with ``\n``; bytes that do not decode are `UNDECODED`.

    Raises:
        ReadError: the file cannot be read, or has a line of more characters than the longest may have.
    """
    with opened_text(path, encoding) as handle:
        yield _bounded(handle, path, longest)


@contextmanager
def opened_text(path: Path, encoding: str) -> Iterator[io.TextIOWrapper]:
    """The file, open for reading as text; bytes that do not decode are `UNDECODED`.

    Raises:
        ReadError: it cannot be read.
    """
    try:
        with path.open("r", encoding=encoding, errors="kgplatform.undecoded") as handle:
            yield handle
    except OSError as error:
        raise ReadError(f"cannot be read: {error.strerror or error}", path=path) from error


def _bounded(handle: io.TextIOWrapper, path: Path, longest: int) -> Iterator[str]:
    for line in iter(partial(handle.readline, longest), ""):
        if line[-1] == "\n":
            yield line
        elif len(line) >= longest:
            reason = f"has a line of more than {longest >> 20} million characters: it is not a table"
            raise ReadError(reason, path=path)
        else:
            yield line + "\n"


def encoding_of_file(path: Path) -> str:
    """The encoding of a text file, told by its beginning and by the first part of it that is not ASCII.

    Raises:
        ReadError: the file cannot be read, is empty, is not text, or its encoding cannot be told.
    """
    try:
        with path.open("rb") as handle:
            first = part = handle.read(_SAMPLE)
            while part and part.isascii() and b"\x00" not in first:
                part = handle.read(_SAMPLE)
            following = handle.read(_SAMPLE) if part else b""
    except OSError as error:
        raise ReadError(f"cannot be read: {error.strerror or error}", path=path) from error
    if not first.strip():
        raise ReadError("is empty", path=path)
    refuse_signature(first, path=path)
    sample = (part or first) + following
    is_wide = b"\x00" in first or first[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
    if len(following) == _SAMPLE and not is_wide:
        cut = max(sample.rfind(sign) for sign in _SAFE_ENDS)
        sample = sample[: cut + 1] if cut > _SAMPLE else sample[:-1]
    telling = None if is_wide else _BEYOND_ASCII.search(sample)
    if telling and telling.start() > _PLAIN_BEFORE:  # detection looks at the beginning of what it gets
        sample = sample[sample.rfind(b"\n", 0, telling.start() - _PLAIN_BEFORE) + 1 :]
    return encoding_of(sample, path=path)


@dataclass(frozen=True, slots=True)
class CsvRow:
    """One record: ``table.text[start:end]`` is its raw text; ``line`` counts from 1.

    There are at least as many cells as columns (missing ones are empty), and more only where the file has more.
    """

    line: int
    cells: tuple[str, ...]
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class CsvTable:
    """A table as read. ``text`` is the decoded file, ``problems`` say in a sentence each what is irregular in it."""

    name: str
    columns: tuple[str, ...]
    rows: tuple[CsvRow, ...]
    text: str
    delimiter: str = ","
    problems: tuple[str, ...] = ()


def read_table(path: Path) -> CsvTable:
    """The table in a CSV or TSV file; its first row that is not blank names the columns.

    Delimiter (comma, tab, semicolon, bar) and encoding are detected. Ragged rows and quotes that never close are
    reported in ``problems``, and the rows kept.

    Raises:
        ReadError: the file is missing, empty, not text, or has no header.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ReadError(f"cannot be read: {error.strerror or error}", path=path) from error
    return table_of(path, data)


def table_of(path: Path, data: bytes) -> CsvTable:
    """The table in these bytes of the file; see `read_table`."""
    text = decode(data, path=path)
    lines = text.split("\n")
    name = os.fsencode(path.stem).decode("utf-8", "replace")
    dialect = dialect_of(lines[:SAMPLE_LINES], preferred="\t" if path.suffix.lower() == ".tsv" else ",")
    starts = _line_starts(lines)
    columns: tuple[str, ...] = ()
    rows: list[CsvRow] = []
    problems: list[str] = []
    try:
        for record in records((line + "\n" for line in lines[dialect.begin :]), dialect.delimiter):
            first, last = record.first + dialect.begin, min(record.last + dialect.begin, len(lines) - 1)
            if record.problem:
                problems.append(f"line {first + 1}: {record.problem}")
            if not columns:
                columns, found = column_names(record.cells, first + 1)
                problems += [f"line {first + 1}: {problem.reason}" for problem in found if "occurs" in problem.reason]
                continue
            place = (starts[first], starts[last] + len(lines[last]))
            rows.append(_row(record.cells, first + 1, place, columns, problems))
    except csv.Error as error:
        raise ReadError(f"is not a table: {error}", path=path) from error
    if not columns:
        raise ReadError("holds no rows; the first row should name the columns", path=path)
    return CsvTable(name, columns, tuple(rows), text, dialect.delimiter, tuple(problems))


def read_csv(path: Path, data: bytes) -> list[DocumentPart]:
    """The table as one document whose text is the decoded file, so that evidence can quote a row as it stands.

    Raises:
        ReadError: not text, or no rows.
    """
    table = table_of(path, data)
    media_type = TSV_TYPE if table.delimiter == "\t" else CSV_TYPE
    return [DocumentPart(table.text, file_title(path), media_type)]


def _line_starts(lines: list[str]) -> list[int]:
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    return starts


def _row(
    cells: tuple[str, ...], line: int, place: tuple[int, int], columns: tuple[str, ...], problems: list[str]
) -> CsvRow:
    if len(cells) != len(columns):
        problems.append(f"line {line}: {len(cells)} cells under {len(columns)} columns")
        cells += ("",) * (len(columns) - len(cells))
    return CsvRow(line, cells, *place)
