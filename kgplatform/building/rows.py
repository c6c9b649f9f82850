"""The rows of a table that is kept as a document: each with its cells and its place in the document's text."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from kgplatform.documents.table import table_of
from kgplatform.documents.tabular.source import SourceRow, TableSource
from kgplatform.types import Document, Refusal

_BATCH = 5_000


@dataclass(frozen=True, slots=True)
class PlacedRow:
    """A row as its source has it, and where it stands in the document: its line, and ``text[start:end]``."""

    source: SourceRow
    line: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class TableText:
    """A table with its rows placed; ``problems`` are what was irregular in its source."""

    location: str
    name: str
    columns: tuple[str, ...]
    rows: tuple[PlacedRow, ...]
    problems: tuple[Refusal, ...] = ()


def table_text(document: Document) -> TableText:
    """The table whose text the document has: that of a CSV or TSV file, or what `as_text` made.

    Raises:
        ReadError: the text is no table.
    """
    path = Path(document.source)
    is_text = path.suffix.lower() in (".csv", ".tsv")
    if not is_text:
        path = path.with_suffix(".tsv")
    table = table_of(path, document.text.encode())
    width = len(table.columns)
    rows = tuple(
        PlacedRow(SourceRow(row.line, tuple(cell or None for cell in row.cells[:width])), row.line, row.start, row.end)
        for row in table.rows
    )
    return TableText(document.source, table.name if is_text else document.title, table.columns, rows)


def with_numbers(table: TableText, rows: Iterable[SourceRow], problems: Iterable[Refusal]) -> TableText:
    """The table with the numbers that its rows have in their source, and what was irregular there."""
    placed = tuple(
        PlacedRow(source, row.line, row.start, row.end) for row, source in zip(table.rows, rows, strict=True)
    )
    return TableText(table.location, table.name, table.columns, placed, tuple(problems))


def as_text(columns: Iterable[str], rows: Iterable[SourceRow]) -> str:
    r"""The table as tab-separated text, a line for each row as far as no cell holds a line break.

    >>> as_text(("name", "stars"), [SourceRow(1, ("Lotus Inn", None))])
    'name\tstars\nLotus Inn\t\n'
    """
    text = io.StringIO()
    writer = csv.writer(text, delimiter="\t", lineterminator="\n", quoting=csv.QUOTE_MINIMAL)
    writer.writerow(columns)
    writer.writerows([cell or "" for cell in row.cells] for row in rows)
    return text.getvalue()


def all_rows(source: TableSource) -> Iterator[SourceRow]:
    """The rows of a source one by one, those without any cell left out."""
    for batch in source.batches(_BATCH):
        yield from (row for row in batch if any(row.cells))


def problems_of(source: TableSource) -> Iterator[Refusal]:
    """What was irregular in the rows of a source that were read so far."""
    for problem in source.problems:
        place = f"line {problem.number}" + (f", column {problem.column!r}" if problem.column else "")
        yield Refusal(place, f"{place}: {problem.reason}")
