"""An ontology drafted from a table: the file names the class, the columns its properties."""

from __future__ import annotations

import re
from pathlib import Path

from pyoxigraph import NamedNode

from kgplatform.documents.table import Table, read_table
from kgplatform.errors import OntologyError
from kgplatform.ontologies.draft import Draft, DraftedClass, DraftedProperty, term_name
from kgplatform.ontologies.profile import Profile, of_texts
from kgplatform.text import singular, words_of_identifier
from kgplatform.vocab import XSD_INTEGER, XSD_STRING

_NAMES = re.compile(r"name|title|label|.*(?:名|名称|标题|姓名)", re.IGNORECASE)
_CODES = re.compile(r"code|\bid\b|\buid\b|identifier|isbn|iata|icao|编号|代码", re.IGNORECASE)
_SEPARATORS = (";", "；", "、", "|")
_LONGEST = 100


def from_table(path: Path, *, iri: NamedNode) -> Draft:
    """The draft for the rows of a CSV or TSV file.

    Raises:
        ReadError: the file is no table.
        OntologyError: no column has a name that a term can be made of.
    """
    table = read_table(path)
    namespace = iri.value.rstrip("#/") + "#"
    words = _singular(words_of_identifier(table.name)) or "row"
    class_ = NamedNode(f"{namespace}{term_name(words, is_class=True) or 'Row'}")
    remarks = list(table.problems[:5])
    naming = next((place for place, name in enumerate(table.columns) if _NAMES.fullmatch(name.strip())), None)
    taken = {class_.value}
    properties, key = [], None
    for place, column in enumerate(table.columns):
        if place == naming:
            continue
        term = _property(table, place, namespace, class_, taken)
        if term is None:
            remarks.append(f"column {place + 1} has no name to make a term of, left out")
            continue
        properties.append(term)
        remarks += _reference(column, term)
        if key is None and _is_key(column, term, len(table.rows)):
            key = term.iri
    if not properties and naming is None:
        raise OntologyError("no column has a name that a term can be made of", source=str(path))
    names = [row.cells[naming] for row in table.rows[:50]] if naming is not None else []
    drafted = DraftedClass(class_, words[:_LONGEST], len(table.rows), (key,) if key else (), examples=_examples(names))
    return Draft(iri, path.name, (drafted,), tuple(properties), remarks=tuple(remarks))


def _singular(words: str) -> str:
    """The words with the last of them in the singular: ``hotel rooms`` are each a hotel room."""
    before, _, last = words.rpartition(" ")
    return f"{before} {singular(last)}".strip()


def _examples(names: list[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name.strip() for name in names if 0 < len(name.strip()) <= 80))[:2]


def _property(table: Table, place: int, namespace: str, class_: NamedNode, taken: set[str]) -> DraftedProperty | None:
    column = table.columns[place].strip()
    words = words_of_identifier(column)
    name = term_name(words if words != column.casefold() else column, is_class=False)
    if not name:
        return None
    iri, number = f"{namespace}{name}", 2
    while iri in taken:
        iri, number = f"{namespace}{name}{number}", number + 1
    taken.add(iri)
    cells = [row.cells[place] for row in table.rows]
    separator = _separator(cells)
    values = [part for cell in cells for part in cell.split(separator)] if separator else cells
    profile = of_texts(values, words)
    label = words[:_LONGEST] if number == 2 else f"{words[:_LONGEST]} {number - 1}"
    return DraftedProperty(NamedNode(iri), label, (class_,), profile.count, profile=profile, functional=not separator)


def _separator(cells: list[str]) -> str | None:
    """What stands between several values in a cell; the Chinese pause mark also stands in running text."""
    filled = [cell for cell in cells if cell.strip()]
    for separator in _SEPARATORS:
        several = [cell for cell in filled if separator in cell]
        enough = len(several) * 3 >= len(filled) if separator == "、" else True
        if several and enough and all(len(part) <= 40 for cell in several for part in cell.split(separator)):
            return separator
    return None


def _reference(column: str, term: DraftedProperty) -> list[str]:
    """A remark where a column of text repeats its values: it may refer to things of a class of their own."""
    profile = term.profile
    repeats = profile is not None and profile.datatype == XSD_STRING and profile.count >= 4
    if profile is None or not repeats or profile.distinct * 2 > profile.count or _CODES.search(column):
        return []
    return [
        f"column {column!r} repeats its values ({profile.distinct} in {profile.count} cells): if they are things, "
        "make it an owl:ObjectProperty with a class of its own"
    ]


def _is_key(column: str, term: DraftedProperty, rows: int) -> bool:
    """Whether the column tells the rows apart: a code that all have and no two share."""
    profile: Profile | None = term.profile
    if profile is None or not profile.is_unique or profile.count != rows or rows < 2:
        return False
    return profile.datatype in (XSD_STRING, XSD_INTEGER) and _CODES.search(column.replace("_", " ")) is not None
