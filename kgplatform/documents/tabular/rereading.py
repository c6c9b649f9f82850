"""One row of a table, read again from its source."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

from kgplatform.errors import ReadError

_LINES = (".csv", ".tsv", ".tab", ".psv", ".jsonl", ".ndjson")
_BATCH = 5_000
_LONGEST = 2_000


def row_text(location: str, number: int) -> str:
    """The row of that number as its source writes it, or its cells with their columns; empty if it is gone."""
    path = Path(location)
    try:
        if path.suffix.lower() in _LINES:
            with path.open("rb") as lines:
                found = next(islice(lines, number - 1, number), b"")
            return found.decode("utf-8", "replace").strip()[:_LONGEST]
        return _from_source(location, number)[:_LONGEST]
    except (OSError, ReadError):
        return ""


def _from_source(location: str, number: int) -> str:
    from kgplatform.documents.tabular.opening import open_table

    source = open_table(location)
    for rows in source.batches(_BATCH):
        for row in rows if rows[-1].number >= number else ():
            if row.number == number:
                cells = zip(source.columns, row.cells, strict=True)
                return "; ".join(f"{name}: {cell}" for name, cell in cells if cell)
    return ""
