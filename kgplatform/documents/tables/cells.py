"""What all kinds of tables share: cells as text, names for columns, the log of problems, and the opened table."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal
from itertools import islice
from typing import Protocol

from kgplatform.documents.parts import clean, one_line

Cell = str | None
"""A cell as text (ISO forms for dates, no thousands separators for numbers); None: empty."""


@dataclass(frozen=True, slots=True)
class SourceRow:
    """One row, with exactly as many cells as the table has columns.

    ``number`` is what a reader of the source would count, from 1: the line of a CSV file, the row of a sheet, the
    record of JSON, Parquet or a database.
    """

    number: int
    cells: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class RowProblem:
    """Something irregular that did not stop the reading; ``column`` is empty where the row as a whole is meant."""

    number: int
    column: str
    reason: str


class TableSource(Protocol):
    """A table that can be read any number of times, in constant memory."""

    name: str
    """The table's own name: the file's stem, the sheet's or the database table's name."""
    columns: tuple[str, ...]
    media_type: str
    references: Mapping[str, str]
    """The tables to whose rows columns lead, as a database declares it, by the names of the columns."""

    def batches(self, size: int) -> Iterator[tuple[SourceRow, ...]]:
        """The rows in order, ``size`` at a time; problems met on the way are added to `problems`.

        Raises:
            ReadError: the source broke in the middle.
        """
        ...

    @property
    def problems(self) -> tuple[RowProblem, ...]:
        """What was irregular in the rows read so far, in order; the first thousand, and one that counts the rest."""
        ...


MAX_COLUMNS = 20_000
MAX_PROBLEMS = 1000
_LONGEST_BATCH = 32_000_000
BETWEEN_VALUES = "; "
UNDECODED = "\udcff"
"""Stands for bytes that are not of the file's encoding; no proper text holds it."""

_PLAIN_EXPONENTS = range(-20, 26)


def cell_of(text: str) -> Cell:
    """The text as a cell: trimmed, with plain line ends and in NFC; None where nothing is left."""
    text = text.strip()
    if text.isprintable() and (text.isascii() or unicodedata.is_normalized("NFC", text)):  # most are, and clean is slow
        return text or None
    return clean(text).strip() or None


def value_text(value: object) -> str:
    r"""The text of a value from a file that has types; empty for none, NaN included.

    >>> value_text(True), value_text(480.5), value_text(1e21), value_text(b"\x0f")
    ('true', '480.5', '1000000000000000000000', '0F')
    """
    if value is None or isinstance(value, str):
        return value or ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float | Decimal):
        return _number_text(value)
    if isinstance(value, datetime):
        return value.isoformat().replace("+00:00", "Z")
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value).hex().upper()
    return str(value)


def _number_text(value: float | Decimal) -> str:
    if math.isnan(value):
        return ""
    if math.isinf(value):
        return "INF" if value > 0 else "-INF"
    if isinstance(value, float) and "e" not in (written := repr(value)):
        return written
    number = value if isinstance(value, Decimal) else Decimal(repr(value))
    if number.adjusted() not in _PLAIN_EXPONENTS:
        return str(number)
    return format(number, "f")


def joined(value: object) -> str:
    """The text of a value or of a list of them, as it stands in one cell; lists in lists are joined by commas."""
    if isinstance(value, list | tuple):
        texts = (", ".join(map(joined, item)) if isinstance(item, list | tuple) else joined(item) for item in value)
        return BETWEEN_VALUES.join(text for text in texts if text)
    if isinstance(value, dict):
        return ", ".join(f"{key}: {text}" for key, inner in value.items() if (text := joined(inner)))
    return value_text(value)


def column_names(header: Iterable[str], number: int) -> tuple[tuple[str, ...], tuple[RowProblem, ...]]:
    """The names of the columns, unnamed ones numbered and repeated ones told apart, and what was wrong with them.

    >>> column_names(["a", "", "a"], 1)[0]
    ('a', 'column 2', 'a (2)')
    """
    names: dict[str, None] = {}
    problems: list[RowProblem] = []
    uses: dict[str, int] = {}
    for place, cell in enumerate(header, start=1):
        name = one_line(clean(cell))
        if not name:
            name = f"column {place}"
            problems.append(RowProblem(number, name, "the column has no name"))
        if name in names:
            problems.append(RowProblem(number, name, f"the column {name!r} occurs twice"))
            again = uses.get(name, 1) + 1
            while f"{name} ({again})" in names:
                again += 1
            uses[name] = again
            name = f"{name} ({again})"
        names[name] = None
    return tuple(names), tuple(problems)


class ProblemLog:
    """What was irregular: the first thousand problems one by one, the rest counted."""

    def __init__(self, known: Sequence[RowProblem] = ()) -> None:
        self._kept: list[RowProblem] = []
        self._more = 0
        self._last = 0
        for problem in known:
            self.add(problem.number, problem.column, problem.reason)

    def add(self, number: int, column: str, reason: str) -> None:
        """Enters a problem of a row, or of one of its cells."""
        self._last = number
        if len(self._kept) < MAX_PROBLEMS:
            self._kept.append(RowProblem(number, column, reason))
        else:
            self._more += 1

    def seen(self) -> tuple[RowProblem, ...]:
        """The problems in order, and one that counts those not kept."""
        if not self._more:
            return tuple(self._kept)
        return (*self._kept, RowProblem(self._last, "", f"{self._more} more problems, up to here"))


Rows = Callable[[ProblemLog], Generator[SourceRow]]


class OpenedTable:
    """A table as every kind of reader hands it over: ``rows`` starts the reading from the first row.

    Rows without any value are passed over.
    """

    def __init__(
        self,
        name: str,
        columns: tuple[str, ...],
        media_type: str,
        rows: Rows,
        problems: Sequence[RowProblem] = (),
        references: Mapping[str, str] | None = None,
    ) -> None:
        self.name = name
        self.columns = columns
        self.media_type = media_type
        self.references = references or {}
        self._rows = rows
        self._known = tuple(problems)
        self._log = ProblemLog(self._known)

    def batches(self, size: int) -> Iterator[tuple[SourceRow, ...]]:
        """The rows in order, ``size`` at a time, or fewer long ones; what was irregular is added to `problems`.

        Raises:
            ReadError: the source broke in the middle.
        """
        self._log = ProblemLog(self._known)
        rows = self._rows(self._log)
        try:
            while batch := tuple(_some(rows, max(1, size))):
                yield batch
        finally:
            rows.close()

    @property
    def problems(self) -> tuple[RowProblem, ...]:
        """What was irregular in the header and in the rows read so far."""
        return self._log.seen()


def length_of(row: SourceRow) -> int:
    """How many characters the cells of a row have."""
    return sum(map(len, filter(None, row.cells)))


def _some(rows: Iterator[SourceRow], size: int) -> Iterator[SourceRow]:
    """The next so many rows, or as many as are not too long together."""
    length = 0
    for row in islice(rows, size):
        yield row
        length += length_of(row)
        if length > _LONGEST_BATCH:
            return


def row_of(number: int, texts: Sequence[str], columns: Sequence[str], log: ProblemLog) -> SourceRow | None:
    """The row, with missing cells empty and surplus ones cut and reported; None where it holds nothing."""
    cells = [cell_of(text) for text in texts[: len(columns)]]
    if len(texts) > len(columns) and any(text.strip() for text in texts[len(columns) :]):
        log.add(number, "", f"{len(texts)} cells under {len(columns)} columns: the last of them are left out")
    if not any(cells):
        return None
    if UNDECODED in "".join(texts):
        for column, text in zip(columns, texts, strict=False):
            if UNDECODED in text:
                log.add(number, column, "holds bytes that are not in the encoding of the file, shown as \ufffd")
    cells += [None] * (len(columns) - len(cells))
    return SourceRow(number, tuple(cells))
