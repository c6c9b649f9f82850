"""Functions that queries may call: casts to XML Schema's integer types, and those with the prefix ``kgp:``.

    kgp:likeness("西栅景区", "西栅")            0..1, by the pairs of letters that both have
    kgp:days("2026-05-01"^^xsd:date, ?end)     whole days from one date to another
    kgp:plusDays(?start, 7)                    the date so many days later
    kgp:convert(?length, "km", "mi")           in another unit of the same kind; 里, 亩, 斤 and their kin too

The casts take what SPARQL 1.1 §17.5 lets ``xsd:integer`` take; ranges: https://www.w3.org/TR/xmlschema11-2/ §3.4. A
wrong argument is an error, as SPARQL has it: the expression has no value.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable
from datetime import date, datetime, timedelta
from decimal import Decimal, InvalidOperation
from functools import partial
from itertools import pairwise
from typing import Final, TypeAlias

from pyoxigraph import BlankNode, Literal, NamedNode, Triple

from kgplatform.lexicon import read
from kgplatform.text import normalise
from kgplatform.vocab import KGP, XSD, XSD_DATE, XSD_DOUBLE

_Function: TypeAlias = Callable[..., NamedNode | BlankNode | Literal | Triple | None]

_RANGES: Final[dict[str, tuple[int | None, int | None]]] = {
    "int": (-(2**31), 2**31 - 1),
    "long": (-(2**63), 2**63 - 1),
    "short": (-(2**15), 2**15 - 1),
    "byte": (-(2**7), 2**7 - 1),
    "nonNegativeInteger": (0, None),
    "positiveInteger": (1, None),
    "nonPositiveInteger": (None, 0),
    "negativeInteger": (None, -1),
    "unsignedInt": (0, 2**32 - 1),
    "unsignedLong": (0, 2**64 - 1),
    "unsignedShort": (0, 2**16 - 1),
    "unsignedByte": (0, 2**8 - 1),
}
_WHOLE = re.compile(r"\s*[+-]?[0-9]+\s*")
_REAL = frozenset(f"{XSD}{name}" for name in ("decimal", "double", "float"))
_BOOLEAN = {"true": 1, "1": 1, "false": 0, "0": 0}
_MOST_DIGITS = 30


def _cast(name: str, term: object) -> Literal | None:
    """The term as an integer of that type; None is an error, as SPARQL has it."""
    if not isinstance(term, Literal) or term.language:
        return None
    value = _integer(term)
    least, most = _RANGES[name]
    if value is None or (least is not None and value < least) or (most is not None and value > most):
        return None
    return Literal(str(value), datatype=NamedNode(f"{XSD}{name}"))


def _integer(term: Literal) -> int | None:
    text, kind = term.value, term.datatype.value
    if len(text) > _MOST_DIGITS:
        return None
    if kind == f"{XSD}boolean":
        return _BOOLEAN.get(text)
    if kind in _REAL:
        try:
            number = Decimal(text)
        except InvalidOperation:
            return None
        return int(number) if number.is_finite() and abs(number.adjusted()) < _MOST_DIGITS else None
    return int(text) if _WHOLE.fullmatch(text) else None


CASTS: Final[dict[NamedNode, _Function]] = {NamedNode(f"{XSD}{name}"): partial(_cast, name) for name in _RANGES}
"""The functions by their names, for the store's ``custom_functions``."""


_NUMBERS = frozenset(f"{XSD}{name}" for name in ("integer", "decimal", "double", "float"))
_DATES = frozenset(f"{XSD}{name}" for name in ("date", "dateTime", "gYear", "gYearMonth"))
_MOST_LETTERS = 1000
_MOST_DAYS = 4_000_000

_UNITS: Final[dict[str, tuple[str, float, float]]] = {
    name: (kind, float(factor.partition("+")[0]), float(factor.partition("+")[2] or 0))
    for kind, factors in read("sparql")["units"].items()
    for factor, names in factors.items()
    for name in names.split()
}
"""The units by their names: of what, how much of the first unit of that one is, and where its zero lies."""


def likeness(one: str, other: str) -> float:
    """How alike two names are, 0..1: the pairs of neighbouring letters that both have (Dice), after normalising.

    >>> likeness("West Lake", "west lake"), likeness("西栅景区", "西栅") > likeness("西栅景区", "东栅")
    (1.0, True)
    """
    names = [normalise(name[:_MOST_LETTERS]) for name in (one, other)]
    if names[0] == names[1]:
        return 1.0 if names[0] else 0.0
    pairs = [Counter(pairwise(f" {name} ")) for name in names]
    return 2 * (pairs[0] & pairs[1]).total() / (pairs[0].total() + pairs[1].total())


def _likeness(*given: object) -> Literal | None:
    if len(given) != 2 or not all(isinstance(term, Literal) for term in given):
        return None
    one, other = (term.value for term in given if isinstance(term, Literal))
    return _double(likeness(one, other))


def _double(value: float) -> Literal | None:
    return Literal(repr(value), datatype=XSD_DOUBLE) if math.isfinite(value) else None


def _day(term: object) -> date | None:
    """The day of a date, a time, or the first of a year or month."""
    if not isinstance(term, Literal) or term.datatype.value not in _DATES:
        return None
    text = term.value
    try:
        if "T" in text:
            return datetime.fromisoformat(text).date()
        parts = [int(part) for part in text[:10].rstrip("Z").split("-")]
        return date(*(*parts, 1, 1)[:3])
    except (ValueError, TypeError):
        return None


def _days(*given: object) -> Literal | None:
    if len(given) != 2:
        return None
    start, end = map(_day, given)
    return None if start is None or end is None else Literal((end - start).days)


def _plus_days(*given: object) -> Literal | None:
    if len(given) != 2:
        return None
    start, days = _day(given[0]), _number(given[1])
    if start is None or days is None or abs(days) > _MOST_DAYS:
        return None
    try:
        return Literal((start + timedelta(days=int(days))).isoformat(), datatype=XSD_DATE)
    except OverflowError:
        return None


def _number(term: object) -> float | None:
    if not isinstance(term, Literal) or term.datatype.value not in _NUMBERS:
        return None
    try:
        value = float(Decimal(term.value))
    except (InvalidOperation, OverflowError):
        return None
    return value if math.isfinite(value) else None


def _convert(*given: object) -> Literal | None:
    if len(given) != 3 or not all(isinstance(term, Literal) for term in given):
        return None
    value = _number(given[0])
    source, target = (_UNITS.get(term.value.strip()) for term in given[1:] if isinstance(term, Literal))
    if value is None or source is None or target is None or source[0] != target[0]:
        return None
    return _double((value * source[1] + source[2] - target[2]) / target[1])


FUNCTIONS: Final[dict[NamedNode, _Function]] = {
    NamedNode(f"{KGP}likeness"): _likeness,
    NamedNode(f"{KGP}days"): _days,
    NamedNode(f"{KGP}plusDays"): _plus_days,
    NamedNode(f"{KGP}convert"): _convert,
}
"""The functions by their names, for the store's ``custom_functions``."""
