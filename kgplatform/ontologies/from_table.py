"""An ontology drafted from a table: its name names the class, the columns its properties."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pyoxigraph import NamedNode

from kgplatform.documents.tabular.profile import ColumnProfile, profile
from kgplatform.documents.tabular.source import TableSource
from kgplatform.errors import OntologyError
from kgplatform.ontologies.draft import Draft, DraftedClass, DraftedProperty, term_name
from kgplatform.ontologies.profile import Profile, of_column
from kgplatform.text import singular, words_of_identifier
from kgplatform.vocab import XSD_INTEGER, XSD_STRING

_NAMES = re.compile(r"name|title|label|.*(?:名|名称|标题|姓名)", re.IGNORECASE)
_CODES = re.compile(r"code|\bid\b|\buid\b|\bno\b|\bnumber\b|identifier|isbn|iata|icao|编号|代码|号码", re.IGNORECASE)
_LONGEST = 100
_ROWS = 50_000


def from_table(table: TableSource, *, iri: NamedNode, source: str) -> Draft:
    """The draft for the rows of a table, of which the first 50,000 are looked at; ``source`` names it to people.

    Raises:
        ReadError: the table broke in the middle.
        OntologyError: no column has a name that a term can be made of.
    """
    columns = profile(table, rows=_ROWS)
    rows = columns[0].rows if columns else 0
    namespace = iri.value.rstrip("#/") + "#"
    words = _singular(words_of_identifier(table.name)) or "row"
    class_ = NamedNode(f"{namespace}{term_name(words, is_class=True) or 'Row'}")
    remarks = [_remark(problem.number, problem.reason) for problem in table.problems[:5]]
    if rows == _ROWS:
        remarks.append(f"only the first {_ROWS} rows were looked at")
    naming = next((place for place, column in enumerate(columns) if _NAMES.fullmatch(column.name.strip())), None)
    taken = {class_.value}
    properties, key = [], None
    for place, column in enumerate(columns):
        if place == naming:
            continue
        term = _property(column, namespace, class_, taken)
        if term is None:
            remarks.append(f"column {place + 1} has no name to make a term of, left out")
            continue
        properties.append(term)
        remarks += _reference(column, term)
        if key is None and _is_key(column, term):
            key = term.iri
    if not properties and naming is None:
        raise OntologyError("no column has a name that a term can be made of", source=source)
    names = columns[naming].samples if naming is not None else ()
    drafted = DraftedClass(class_, words[:_LONGEST], rows, (key,) if key else (), examples=_examples(names))
    return Draft(iri, source, (drafted,), tuple(properties), remarks=tuple(remarks))


def _remark(number: int, reason: str) -> str:
    return f"row {number}: {reason}" if number else reason


def _singular(words: str) -> str:
    """The words with the last of them in the singular: ``hotel rooms`` are each a hotel room."""
    before, _, last = words.rpartition(" ")
    return f"{before} {singular(last)}".strip()


def _examples(names: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))[:2]


def _property(column: ColumnProfile, namespace: str, class_: NamedNode, taken: set[str]) -> DraftedProperty | None:
    written = column.name.strip()
    words = words_of_identifier(written)
    name = term_name(words if words != written.casefold() else written, is_class=False)
    if not name:
        return None
    iri, number = f"{namespace}{name}", 2
    while iri in taken:
        iri, number = f"{namespace}{name}{number}", number + 1
    taken.add(iri)
    found = of_column(column)
    label = words[:_LONGEST] if number == 2 else f"{words[:_LONGEST]} {number - 1}"
    functional = column.separator is None
    return DraftedProperty(NamedNode(iri), label, (class_,), found.count, profile=found, functional=functional)


def _reference(column: ColumnProfile, term: DraftedProperty) -> list[str]:
    """A remark where a column of text repeats its values: it may refer to things of a class of their own."""
    found = term.profile
    repeats = found is not None and found.datatype == XSD_STRING and found.count >= 4
    if found is None or not repeats or found.distinct * 2 > found.count or _CODES.search(column.name):
        return []
    return [
        f"column {column.name!r} repeats its values ({found.distinct} in {found.count} cells): if they are things, "
        "make it an owl:ObjectProperty with a class of its own"
    ]


def _is_key(column: ColumnProfile, term: DraftedProperty) -> bool:
    """Whether the column tells the rows apart: a code that all have and no two share."""
    found: Profile | None = term.profile
    if found is None or not found.is_unique or found.count != column.rows or column.rows < 2:
        return False
    return found.datatype in (XSD_STRING, XSD_INTEGER) and _CODES.search(column.name.replace("_", " ")) is not None
