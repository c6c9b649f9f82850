"""Whether a literal is of a datatype: XML Schema 1.1 Part 2, §3.3 and §3.4 (https://www.w3.org/TR/xmlschema11-2/)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from decimal import Decimal
from functools import lru_cache

from pyoxigraph import Literal, NamedNode

from kgplatform.vocab import RDF, RDFS, XSD

_LANG_STRING = f"{RDF}langString"
_ANY = frozenset((f"{RDFS}Literal", f"{XSD}anySimpleType", f"{XSD}anyAtomicType"))
_ZONE = r"(?:Z|[+-](?:0\d|1[0-4]):[0-5]\d)?"
_DAY = r"-?\d{4,}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])"
_CLOCK = r"(?:[01]\d|2[0-4]):[0-5]\d:[0-5]\d(?:\.\d+)?"
_FORMS = {
    "integer": r"[+-]?\d+",
    "decimal": r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)",
    "double": r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?|[+-]?INF|NaN",
    "float": r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?|[+-]?INF|NaN",
    "boolean": r"true|false|1|0",
    "date": _DAY + _ZONE,
    "dateTime": f"{_DAY}T{_CLOCK}{_ZONE}",
    "time": _CLOCK + _ZONE,
    "gYear": rf"-?\d{{4,}}{_ZONE}",
    "gYearMonth": rf"-?\d{{4,}}-(?:0[1-9]|1[0-2]){_ZONE}",
}
_INTEGERS = (
    *("integer", "int", "long", "short", "byte", "nonNegativeInteger", "positiveInteger", "nonPositiveInteger"),
    *("negativeInteger", "unsignedInt", "unsignedLong", "unsignedShort", "unsignedByte"),
)
_STRINGS = ("string", "normalizedString", "token", "language", "Name", "NCName", "NMTOKEN")
_DERIVED = {
    "decimal": frozenset(f"{XSD}{name}" for name in ("decimal", *_INTEGERS)),
    "string": frozenset(f"{XSD}{name}" for name in _STRINGS),
    "dateTime": frozenset((f"{XSD}dateTime", f"{XSD}dateTimeStamp")),
    # The store writes every kind of whole number as xsd:integer, so one of them is taken for another.
    **{name: frozenset((f"{XSD}{name}", f"{XSD}integer")) for name in _INTEGERS},
}
_NUMBERS = frozenset(f"{XSD}{name}" for name in ("decimal", "double", "float", *_INTEGERS))


@lru_cache(maxsize=64)
def _form(datatype: str) -> re.Pattern[str] | None:
    name = datatype.removeprefix(XSD)
    written = _FORMS.get("integer" if name in _INTEGERS else name) if datatype.startswith(XSD) else None
    return re.compile(written, re.ASCII) if written else None


def is_well_formed(literal: Literal) -> bool:
    """Whether the text of the literal is a form of its datatype; true for datatypes that are not known here."""
    form = _form(literal.datatype.value)
    return form is None or form.fullmatch(literal.value.strip()) is not None


def is_of(literal: Literal, ranges: Iterable[NamedNode]) -> bool:
    """Whether the literal's datatype is one of the ranges or derived from one; ``rdf:PlainLiteral`` takes any text."""
    return any(_is_of(literal.datatype.value, item.value) for item in ranges)


def _is_of(datatype: str, wanted: str) -> bool:
    if wanted == datatype or wanted in _ANY:
        return True
    if wanted == f"{RDF}PlainLiteral":
        return datatype in (f"{XSD}string", _LANG_STRING)
    if not wanted.startswith((XSD, RDF)):
        return True  # a datatype that the ontology defines: only a reasoner knows what is in it
    return datatype in _DERIVED.get(wanted.removeprefix(XSD), frozenset())


def value_of(term: object) -> object:
    """What a term stands for, so that ``4`` and ``4.0`` are one value: numbers by amount, all else as written."""
    if isinstance(term, Literal) and term.datatype.value in _NUMBERS and is_well_formed(term):
        if term.value.strip("+-") in ("INF", "NaN"):
            return term.value
        return Decimal(term.value.strip())
    return term
