"""Tables of pages that are not results of a query: shown in the page, and given as CSV at the same address."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import urlencode

from flask import Response, abort, request

from kgplatform.types import Evidence
from kgplatform.web import addresses
from kgplatform.web.tables import Cell


@dataclass(frozen=True, slots=True)
class Sheet:
    """A table with the name it is downloaded by, its columns in words, and cells by row."""

    key: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]

    @property
    def download(self) -> str:
        """The address of the table as CSV: this page's, with two words more."""
        kept = [(name, value) for name, value in request.args.items(multi=True) if name not in ("format", "table")]
        return f"{request.path}?{urlencode([*kept, ('format', 'csv'), ('table', self.key)])}"


def sheet(key: str, columns: Iterable[str], rows: Iterable[Iterable[Cell]]) -> Sheet:
    """The table of those columns and rows."""
    return Sheet(key, tuple(columns), tuple(tuple(row) for row in rows))


def csv_of(*sheets: Sheet) -> Response | None:
    """The table that ``?format=csv&table=…`` asks for (without ``table``: the first); None where a page is wanted."""
    if request.args.get("format") != "csv":
        return None
    name = request.args.get("table", sheets[0].key if sheets else "")
    chosen = next((item for item in sheets if item.key == name), None)
    if chosen is None:
        abort(404, f"this page has no table {name!r}; it has {', '.join(item.key for item in sheets) or 'none'}")
    return written(chosen)


def written(chosen: Sheet) -> Response:
    """The table as RFC 4180 has it, with a byte order mark, which spreadsheets need to read Chinese."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(chosen.columns)
    writer.writerows([cell.text for cell in row] for row in chosen.rows)
    response = Response(f"\ufeff{text.getvalue()}", content_type="text/csv; charset=utf-8")
    response.headers["Content-Disposition"] = f'attachment; filename="{chosen.key}.csv"'
    response.headers["Cache-Control"] = "no-cache"
    return response


def number(value: float, digits: int = 2) -> Cell:
    """A cell with a number: a whole one as such, else with that many digits."""
    text = f"{value:.0f}" if value == round(value) else f"{value:.{digits}f}"
    return Cell(text, numeric=True, amount=float(value))


def passages(items: Iterable[Evidence], base: str) -> Cell:
    """A cell that opens the first of the passages; empty where there are none."""
    first = next(iter(items), None)
    if first is None:
        return Cell("")
    return Cell(first.title, addresses.of_passage(first, base), " ".join(first.quote.split())[:300])
