"""What every kind of table is read as: named columns, and batches of rows that know where they stand."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

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
