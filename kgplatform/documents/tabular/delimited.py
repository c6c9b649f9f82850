"""Records of CSV and its kin (RFC 4180, as loosely as it is written): delimiter, and quotes that never close."""

from __future__ import annotations

import csv
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

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
