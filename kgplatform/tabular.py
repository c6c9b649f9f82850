"""Rows of RDF terms as Python values, data frames and small HTML tables, for notebooks and scripts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal, InvalidOperation
from html import escape
from typing import Any, Final, TypeAlias

from pyoxigraph import BlankNode, Literal, NamedNode, Triple

from kgplatform.errors import ConfigError
from kgplatform.vocab import XSD

Value: TypeAlias = str | bool | int | float | Decimal | date | None
"""A term as Python has it; dates with a time are ``datetime``."""

_INTEGERS: Final = frozenset(
    {
        *("integer", "int", "long", "short", "byte", "nonNegativeInteger", "positiveInteger", "gYear"),
        *("nonPositiveInteger", "negativeInteger", "unsignedInt", "unsignedLong", "unsignedShort", "unsignedByte"),
    }
)
_MOST_ROWS, _MOST_CHARACTERS = 20, 200
_WIDEST: Final = 1 << 63
_DAY: Final = "datetime64[us]"


def python_value(term: NamedNode | BlankNode | Literal | Triple | None) -> Value:
    """The value of a literal; of other terms the text, of IRIs without brackets. What is ill-typed stays text.

    >>> python_value(Literal(7)), python_value(NamedNode("urn:a")), python_value(None)
    (7, 'urn:a', None)
    """
    if not isinstance(term, Literal):
        return term.value if isinstance(term, NamedNode) else None if term is None else str(term)
    kind = term.datatype.value.removeprefix(XSD)
    try:
        return _typed(kind, term.value)
    except (ValueError, InvalidOperation):
        return term.value


def _typed(kind: str, text: str) -> Value:
    if kind in _INTEGERS:
        return int(text)
    if kind == "decimal":
        return Decimal(text)
    if kind in ("double", "float"):
        return float(text)
    if kind == "date":
        return date.fromisoformat(text.removesuffix("Z"))
    if kind == "dateTime":
        return datetime.fromisoformat(text)
    return {"true": True, "1": True, "false": False, "0": False}.get(text, text) if kind == "boolean" else text


def pandas_frame(columns: Sequence[str], rows: Iterable[Sequence[Value]]) -> Any:
    """The rows as a ``pandas.DataFrame``: a column of one kind has its type, any other the values as they are."""
    import pandas

    series = {}
    for number, values in enumerate(_by_column(columns, rows)):
        kind = _kind(values)
        dtype = {"integer": "Int64", "number": "Float64", "boolean": "boolean", "date": _DAY, "time": _DAY}.get(kind)
        if kind == "moment":
            dtype, values = "datetime64[us, UTC]", [value and value.astimezone(UTC) for value in values]
        numbers = [None if value is None else float(value) for value in values] if kind == "number" else values
        series[number] = pandas.Series(numbers, dtype=dtype or object)
    frame = pandas.DataFrame(series)
    frame.columns = pandas.Index(list(columns), dtype=object)
    return frame


def polars_frame(columns: Sequence[str], rows: Iterable[Sequence[Value]]) -> Any:
    """The rows as a ``polars.DataFrame``: a column of one kind has its type, any other is text.

    Raises:
        ConfigError: polars is not installed.
    """
    try:
        import polars
    except ImportError as error:
        raise ConfigError(
            "polars is not installed; install it with: pip install 'kgplatform[polars]'", setting="polars"
        ) from error
    types = {
        "integer": polars.Int64,
        "number": polars.Float64,
        "boolean": polars.Boolean,
        "date": polars.Date,
        "time": polars.Datetime("us"),
        "moment": polars.Datetime("us", "UTC"),
    }
    series = []
    for name, values in zip(columns, _by_column(columns, rows), strict=True):
        kind = _kind(values)
        if kind == "moment":
            values = [value and value.astimezone(UTC) for value in values]
        elif kind == "number":
            values = [None if value is None else float(value) for value in values]
        elif kind not in types:
            values = [None if value is None else str(value) for value in values]
        series.append(polars.Series(name, values, dtype=types.get(kind, polars.String)))
    return polars.DataFrame(series)


def _by_column(columns: Sequence[str], rows: Iterable[Sequence[Value]]) -> list[list[Any]]:
    found: list[list[Any]] = [[] for _ in columns]
    for row in rows:
        for values, value in zip(found, row, strict=True):
            values.append(value)
    return found


def _kind(values: Sequence[Value]) -> str:
    """What all are: ``integer``, ``number``, ``boolean``, ``date``, ``time``, ``moment`` (with a zone) or empty."""
    kinds = {_kind_of(value) for value in values if value is not None}
    if kinds == {"integer", "number"}:
        return "number"
    return kinds.pop() if len(kinds) == 1 else ""


def _kind_of(value: Value) -> str:
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        return "integer" if -_WIDEST <= value < _WIDEST else ""
    if isinstance(value, float | Decimal):
        return "number"
    if isinstance(value, datetime):
        return "moment" if value.tzinfo is not None else "time"
    return "date" if isinstance(value, date) else ""


@dataclass(frozen=True, slots=True)
class HtmlCell:
    """The text of a cell, and the IRI that it stands for, if any."""

    text: str
    iri: str = ""

    def html(self) -> str:
        """The text escaped, a link where the IRI is an address of the web."""
        short = self.text if len(self.text) <= _MOST_CHARACTERS else f"{self.text[:_MOST_CHARACTERS]}…"
        if self.iri.startswith(("http://", "https://")):
            return f'<a href="{escape(self.iri)}" title="{escape(self.iri)}">{escape(short)}</a>'
        return escape(short)


def term_cell(term: NamedNode | BlankNode | Literal | Triple | None) -> HtmlCell:
    """The cell for a term: of an IRI the last part, of a literal its text."""
    if isinstance(term, NamedNode):
        iri = term.value
        return HtmlCell(iri.rstrip("/#").replace("#", "/").rpartition("/")[2] or iri, iri)
    return HtmlCell("" if term is None else term.value if isinstance(term, Literal) else str(term))


def html_table(columns: Sequence[str], rows: Sequence[Sequence[HtmlCell]], *, more: bool = False) -> str:
    """The first rows as an HTML table, with how many there are if that is more (``more``: than these, too)."""
    left = ' style="text-align:left"'
    head = "".join(f"<th{left}>{escape(name)}</th>" for name in columns)
    body = "".join(f"<tr>{''.join(f'<td{left}>{cell.html()}</td>' for cell in row)}</tr>" for row in rows[:_MOST_ROWS])
    is_cut = more or len(rows) > _MOST_ROWS
    shown = f"<p>1–{min(len(rows), _MOST_ROWS)} / {len(rows):,}{'+' * more}</p>" if is_cut else ""
    return f'<table class="kgplatform"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{shown}'
