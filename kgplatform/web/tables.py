"""Rows as cells to show: labels in place of bare IRIs, each with its page."""

from __future__ import annotations

from dataclasses import dataclass

from pyoxigraph import Literal, NamedNode

from kgplatform.describing import Labels
from kgplatform.types import Solutions, Term
from kgplatform.vocab import XSD
from kgplatform.web import addresses

_NUMERIC = frozenset(f"{XSD}{name}" for name in ("integer", "decimal", "double", "float"))


@dataclass(frozen=True, slots=True)
class Cell:
    """What to show for a term; ``title`` is its full form."""

    text: str
    href: str = ""
    title: str = ""
    language: str = ""
    numeric: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """Columns by name, cells by row, and whether there were more rows than these."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    truncated: bool = False

    @property
    def single(self) -> bool:
        """Whether it is one cell, which a sentence says better."""
        return len(self.rows) == 1 and len(self.columns) == 1


def cell(term: Term | None, labels: Labels, base: str) -> Cell:
    """The cell for a term; an empty one where a variable is unbound."""
    if term is None:
        return Cell("")
    shown = labels.reference(term)
    if isinstance(term, NamedNode):
        return Cell(shown.label, addresses.of_iri(term, base), term.value, shown.language)
    if isinstance(term, Literal):
        numeric = term.datatype.value in _NUMERIC
        return Cell(_number(term) if numeric else term.value, "", str(term), term.language or "", numeric)
    return Cell(shown.label, "", str(term))


def _number(term: Literal) -> str:
    """The number with its thousands apart, if it is a whole one of five digits or more (a year has four)."""
    digits = term.value.lstrip("+-")
    return f"{int(term.value):,}" if digits.isdigit() and 4 < len(digits) < 19 else term.value


def table(solutions: Solutions, labels: Labels, base: str) -> Table:
    """The rows as cells; a column that only repeats the labels of another one is left out."""
    rows = tuple(tuple(cell(term, labels, base) for term in row) for row in solutions.rows)
    columns = range(len(solutions.variables))
    kept = [c for c in columns if not _repeats(c, rows, columns)]
    return Table(
        tuple(solutions.variables[c] for c in kept),
        tuple(tuple(row[c] for c in kept) for row in rows),
        solutions.truncated,
    )


def _repeats(column: int, rows: tuple[tuple[Cell, ...], ...], columns: range) -> bool:
    if not rows or any(row[column].href for row in rows):
        return False
    return any(all(row[other].href and row[other].text == row[column].text for row in rows) for other in columns)
