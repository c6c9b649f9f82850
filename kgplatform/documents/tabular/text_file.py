"""CSV, TSV and their kin as tables, decoded and read line by line."""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import islice
from pathlib import Path

from kgplatform.documents.decoding import encoding_of, refuse_signature
from kgplatform.documents.tabular.cells import MAX_COLUMNS, UNDECODED, OpenedTable, ProblemLog, column_names, row_of
from kgplatform.documents.tabular.delimited import (
    CSV_TYPE,
    SAMPLE_LINES,
    TSV_TYPE,
    Dialect,
    Record,
    dialect_of,
    records,
)
from kgplatform.documents.tabular.source import RowProblem, SourceRow
from kgplatform.errors import ReadError

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
