"""Tables of the pages: rows as cells with labels and links, as CSV, and as the scripts take them (each term once)."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from flask import Response, abort, request
from pyoxigraph import BlankNode, Literal, NamedNode, Triple

from kgplatform.entities import Labels
from kgplatform.server import addresses
from kgplatform.server.frame import Lately, Palette
from kgplatform.sparql.rewrite import prefixed_name
from kgplatform.text import words_of_identifier
from kgplatform.types import Evidence, Solutions, Term
from kgplatform.vocab import RDF, XSD

if TYPE_CHECKING:
    from kgplatform.graph import KnowledgeGraph

_NUMBERS = frozenset(
    f"{XSD}{name}"
    for name in ("integer", "decimal", "double", "float", "int", "long", "short", "byte", "nonNegativeInteger")
)


@dataclass(frozen=True, slots=True)
class Cell:
    """What to show for a term; ``title`` is its full form. ``is_moment``: the text is a time stamp."""

    text: str
    href: str = ""
    title: str = ""
    language: str = ""
    numeric: bool = False
    amount: float | None = None
    is_moment: bool = False

    @property
    def forms(self) -> tuple[str, ...]:
        """How a sentence may write it: a whole number also with its thousands apart."""
        return (self.text, f"{int(self.text):,}") if self.numeric and self.text.isdecimal() else (self.text,)


@dataclass(frozen=True, slots=True)
class CellTable:
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
        numeric = term.datatype.value in _NUMBERS
        return Cell(_number(term) if numeric else term.value, "", str(term), term.language or "", numeric, amount(term))
    return Cell(shown.label, "", str(term))


def amount(value: Term) -> float | None:
    """The number that a literal spells."""
    try:
        return float(value.value) if isinstance(value, Literal) and value.datatype.value in _NUMBERS else None
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


def table(solutions: Solutions, labels: Labels, base: str) -> CellTable:
    """The rows as cells; a column that only repeats the labels of another one is left out."""
    rows = tuple(tuple(cell(term, labels, base) for term in row) for row in solutions.rows)
    columns = range(len(solutions.variables))
    kept = [c for c in columns if not _repeats(c, rows, columns)]
    shown = tuple(tuple(row[c] for c in kept) for row in rows)
    return CellTable(tuple(solutions.variables[c] for c in kept), shown, solutions.truncated)


def for_reading(plain: CellTable) -> CellTable:
    """The table with its columns named in words, and a bar for each row where that helps to compare them."""
    return replace(plain, columns=tuple(map(words_of_identifier, plain.columns)), shares=_shares(plain.rows))


def _repeats(column: int, rows: tuple[tuple[Cell, ...], ...], columns: range) -> bool:
    if not rows or any(row[column].href for row in rows):
        return False
    return any(all(row[other].href and row[other].text == row[column].text for row in rows) for other in columns)


@dataclass(frozen=True, slots=True)
class Sheet:
    """A table with the name it is downloaded by, its columns in words, and cells by row."""

    key: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]

    @property
    def download(self) -> str:
        """The address of the table as CSV: this page's, with two words more."""
        return f"{request.path}{addresses.again(format='csv', table=self.key)}"


def sheet(key: str, columns: Iterable[str], rows: Iterable[Iterable[Cell | str | float]]) -> Sheet:
    """The table of those columns and rows; plain texts and numbers become cells."""
    return Sheet(key, tuple(columns), tuple(tuple(map(_as_cell, row)) for row in rows))


def _as_cell(value: Cell | str | float) -> Cell:
    return value if isinstance(value, Cell) else Cell(value) if isinstance(value, str) else number(value)


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
    return as_file(response, f"{chosen.key}.csv")


def as_file(response: Response, name: str) -> Response:
    """The response as a file of that name to be saved."""
    response.headers["Content-Disposition"] = f'attachment; filename="{name}"'
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


_DATES = frozenset(f"{XSD}{name}" for name in ("date", "dateTime", "gYear", "gYearMonth"))
_PLAIN = frozenset((f"{XSD}string", f"{RDF}langString"))
_WKT = "http://www.opengis.net/ont/geosparql#wktLiteral"
_CLASSED = 3000
"""So many things at most are coloured by their class: more than any picture shows."""

Record = dict[str, object]


class ResultTerms:
    """The terms of a result as they are shown in a language (of several the first that has a name), each made once."""

    def __init__(self, kg: KnowledgeGraph, lately: Lately, language: str | Sequence[str]) -> None:
        self._kg = kg
        self._labels = Labels(kg.dataset, kg.ontology, language)
        self._palette = Palette(lately.overview())
        self._prefixes = sorted(kg.store.prefixes.items(), key=lambda pair: -len(pair[1]))
        self._numbers: dict[Term, int] = {}
        self._records: list[Record] = []
        self._classes: dict[NamedNode, int] = {}
        self._classed = 0

    def rows(self, solutions: Solutions, *, named: int | None = None) -> Record:
        """The columns with what they hold, the rows, and the terms and classes that these point to.

        What only rows after the first ``named`` hold is given by its IRI alone, for `things` to tell of later: a name
        costs more than a row.
        """
        rows = [
            [None if term is None else self._number(term, bare=named is not None and number >= named) for term in row]
            for number, row in enumerate(solutions.rows)
        ]
        kinds = [self._kind(rows, column) for column in range(len(solutions.variables))]
        return {
            "columns": [{"name": name, "kind": kind} for name, kind in zip(solutions.variables, kinds, strict=True)],
            "rows": rows,
            "terms": self._records,
            "classes": self._palette.records(self._classes, self._labels, self._kg.base),
            "truncated": solutions.truncated,
        }

    def things(self, iris: Sequence[NamedNode]) -> Record:
        """What `rows` left out of these things, in their order, and the classes that this points to."""
        terms = [self._thing(iri) for iri in iris]
        return {"terms": terms, "classes": self._palette.records(self._classes, self._labels, self._kg.base)}

    def _number(self, term: Term, *, bare: bool = False) -> int:
        if term not in self._numbers:
            self._numbers[term] = len(self._records)
            if bare and isinstance(term, NamedNode):
                self._records.append({"k": "thing", "v": term.value, "b": 1})
            else:
                self._records.append(self._record(term))
        return self._numbers[term]

    def _record(self, term: Term) -> Record:
        if isinstance(term, NamedNode):
            return self._thing(term)
        if isinstance(term, Literal):
            return self._literal(term)
        if isinstance(term, BlankNode):
            return {"k": "blank", "v": str(term)}
        return {"k": "statement", "v": str(term)}

    def _thing(self, iri: NamedNode) -> Record:
        word = self._labels.of(iri)
        found: Record = {
            "k": "thing",
            "v": iri.value,
            "l": word.text,
            "h": addresses.of_iri(iri, self._kg.base),
            "n": prefixed(iri.value, self._prefixes),
        }
        if word.language:
            found["g"] = word.language
        if iri in self._kg.ontology.properties:
            found["p"] = 1
        elif self._classed < _CLASSED:
            self._classed += 1
            class_ = self._palette.class_of(self._kg, iri)
            if class_ is not None:
                found["c"] = self._classes.setdefault(class_, len(self._classes))
        return found

    def _literal(self, term: Literal) -> Record:
        found: Record = {"k": "text", "v": term.value}
        if term.language:
            found["g"] = term.language
        elif term.datatype.value not in _PLAIN:
            found["d"] = prefixed(term.datatype.value, self._prefixes)
            found["k"] = _kind_of(term.datatype.value)
        return found

    def _kind(self, rows: Sequence[Sequence[int | None]], column: int) -> str:
        """What most of the values of a column are, if nearly all are; else ``mixed``."""
        counts = Counter(str(self._records[row[column]]["k"]) for row in rows if row[column] is not None)  # type: ignore[index]
        if not counts:
            return "none"
        kind, number = counts.most_common(1)[0]
        return kind if number * 20 >= counts.total() * 19 else "mixed"


def _kind_of(datatype: str) -> str:
    if datatype in _NUMBERS:
        return "number"
    if datatype in _DATES:
        return "date"
    if datatype == f"{XSD}boolean":
        return "truth"
    return "place" if datatype == _WKT else "text"


def prefixed(iri: str, prefixes: Iterable[tuple[str, str]]) -> str:
    """The IRI as a prefixed name where a prefix covers it and the rest is plain, else in angle brackets.

    >>> prefixed("http://example.org/a#b", [("e", "http://example.org/a#")])
    'e:b'
    """
    return prefixed_name(iri, prefixes) or f"<{iri}>"


def shortened(text: str, prefixes: Iterable[tuple[str, str]]) -> str:
    """A message with prefixed names for the IRIs that stand in it in angle brackets."""
    known = tuple(prefixes)
    return _BRACKETED.sub(lambda match: prefixed(match[1], known), text)


_BRACKETED = re.compile(r"<([^<>\s]+)>")


def of_triples(triples: Sequence[Triple], *, truncated: bool) -> Solutions:
    """The triples as rows of subject, predicate and object."""
    rows = tuple((item.subject, item.predicate, item.object) for item in triples)
    return Solutions(("subject", "predicate", "object"), rows, truncated=truncated)
