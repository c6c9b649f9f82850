"""Rows as cells to show: labels in place of bare IRIs, each with its page."""

from __future__ import annotations

from dataclasses import dataclass, replace

from pyoxigraph import Literal, NamedNode

from kgplatform.describing import Labels
from kgplatform.text import words_of_identifier
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
    amount: float | None = None


@dataclass(frozen=True, slots=True)
class Table:
    """Columns by name, cells by row, whether there were more rows than these; ``shares``: bars, in per cent."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    truncated: bool = False
    shares: tuple[int, ...] = ()


def cell(term: Term | None, labels: Labels, base: str) -> Cell:
    """The cell for a term; an empty one where a variable is unbound."""
    if term is None:
        return Cell("")
    shown = labels.reference(term)
    if isinstance(term, NamedNode):
        return Cell(shown.label, addresses.of_iri(term, base), term.value, shown.language)
    if isinstance(term, Literal):
        numeric = term.datatype.value in _NUMERIC
        text = _number(term) if numeric else term.value
        return Cell(text, "", str(term), term.language or "", numeric, _amount(term) if numeric else None)
    return Cell(shown.label, "", str(term))


def _amount(term: Literal) -> float | None:
    try:
        return float(term.value)
    except ValueError:
        return None


def _shares(rows: tuple[tuple[Cell, ...], ...]) -> tuple[int, ...]:
    """A bar for each row where the rows are a few names with one number each that compares them."""
    if not 2 <= len(rows) <= 30 or sum(cell.numeric for cell in rows[0]) != 1 or len(rows[0]) < 2:
        return ()
    amounts = [next((cell.amount for cell in row if cell.amount is not None), None) for row in rows]
    known = [amount for amount in amounts if amount is not None and 0 <= amount < 1e15]
    if len(known) < len(rows) or max(known) == 0 or max(known) == min(known):
        return ()
    return tuple(round(100 * amount / max(known)) for amount in known)


def _number(term: Literal) -> str:
    """The number with its thousands apart, if it is a whole one of five digits or more (a year has four)."""
    digits = term.value.lstrip("+-")
    return f"{int(term.value):,}" if digits.isdigit() and 4 < len(digits) < 19 else term.value


def table(solutions: Solutions, labels: Labels, base: str) -> Table:
    """The rows as cells; a column that only repeats the labels of another one is left out."""
    rows = tuple(tuple(cell(term, labels, base) for term in row) for row in solutions.rows)
    columns = range(len(solutions.variables))
    kept = [c for c in columns if not _repeats(c, rows, columns)]
    shown = tuple(tuple(row[c] for c in kept) for row in rows)
    return Table(tuple(solutions.variables[c] for c in kept), shown, solutions.truncated)


def for_reading(plain: Table) -> Table:
    """The table with its columns named in words, and a bar for each row where that helps to compare them."""
    return replace(plain, columns=tuple(map(words_of_identifier, plain.columns)), shares=_shares(plain.rows))


def _repeats(column: int, rows: tuple[tuple[Cell, ...], ...], columns: range) -> bool:
    if not rows or any(row[column].href for row in rows):
        return False
    return any(all(row[other].href and row[other].text == row[column].text for row in rows) for other in columns)
