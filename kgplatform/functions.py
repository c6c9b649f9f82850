"""Functions that queries may call with the prefix ``kgp:``: likeness of names, days between dates, units.

    kgp:likeness("西栅景区", "西栅")            0..1, by the pairs of letters that both have
    kgp:days("2026-05-01"^^xsd:date, ?end)     whole days from one date to another
    kgp:plusDays(?start, 7)                    the date so many days later
    kgp:convert(?length, "km", "mi")           in another unit of the same kind; 里, 亩, 斤 and their kin too

A wrong argument is an error, as SPARQL has it: the expression has no value.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from datetime import date, datetime, timedelta
from decimal import Decimal, InvalidOperation
from itertools import pairwise
from typing import Final, TypeAlias

from pyoxigraph import BlankNode, Literal, NamedNode, Triple

from kgplatform.text import normalise
from kgplatform.vocab import KGP, XSD, XSD_DATE, XSD_DOUBLE

_Function: TypeAlias = Callable[..., NamedNode | BlankNode | Literal | Triple | None]

_NUMBERS = frozenset(f"{XSD}{name}" for name in ("integer", "decimal", "double", "float"))
_DATES = frozenset(f"{XSD}{name}" for name in ("date", "dateTime", "gYear", "gYearMonth"))
_MOST_LETTERS = 1000
_MOST_DAYS = 4_000_000

_LENGTH, _AREA, _MASS, _VOLUME = "length", "area", "mass", "volume"
_TIME, _SPEED, _HEAT = "time", "speed", "temperature"
_UNITS: Final[dict[str, tuple[str, float, float]]] = {
    **dict.fromkeys(("m", "metre", "meter", "米"), (_LENGTH, 1.0, 0.0)),
    **dict.fromkeys(("km", "kilometre", "kilometer", "公里", "千米"), (_LENGTH, 1000.0, 0.0)),
    **dict.fromkeys(("cm", "厘米"), (_LENGTH, 0.01, 0.0)),
    **dict.fromkeys(("mm", "毫米"), (_LENGTH, 0.001, 0.0)),
    **dict.fromkeys(("mi", "mile", "英里"), (_LENGTH, 1609.344, 0.0)),
    **dict.fromkeys(("ft", "foot", "英尺"), (_LENGTH, 0.3048, 0.0)),
    **dict.fromkeys(("in", "inch", "英寸"), (_LENGTH, 0.0254, 0.0)),
    **dict.fromkeys(("nmi", "海里"), (_LENGTH, 1852.0, 0.0)),
    **dict.fromkeys(("li", "里", "华里"), (_LENGTH, 500.0, 0.0)),
    **dict.fromkeys(("m2", "m²", "平方米"), (_AREA, 1.0, 0.0)),
    **dict.fromkeys(("km2", "km²", "平方公里", "平方千米"), (_AREA, 1e6, 0.0)),
    **dict.fromkeys(("ha", "公顷"), (_AREA, 1e4, 0.0)),
    **dict.fromkeys(("mu", "亩"), (_AREA, 10000 / 15, 0.0)),
    **dict.fromkeys(("acre", "英亩"), (_AREA, 4046.8564224, 0.0)),
    **dict.fromkeys(("kg", "公斤", "千克"), (_MASS, 1.0, 0.0)),
    **dict.fromkeys(("g", "克"), (_MASS, 0.001, 0.0)),
    **dict.fromkeys(("t", "吨"), (_MASS, 1000.0, 0.0)),
    **dict.fromkeys(("jin", "斤"), (_MASS, 0.5, 0.0)),
    **dict.fromkeys(("liang", "两"), (_MASS, 0.05, 0.0)),
    **dict.fromkeys(("lb", "磅"), (_MASS, 0.45359237, 0.0)),
    **dict.fromkeys(("l", "L", "升"), (_VOLUME, 1.0, 0.0)),
    **dict.fromkeys(("ml", "mL", "毫升"), (_VOLUME, 0.001, 0.0)),
    **dict.fromkeys(("m3", "m³", "立方米"), (_VOLUME, 1000.0, 0.0)),
    **dict.fromkeys(("s", "second", "秒"), (_TIME, 1.0, 0.0)),
    **dict.fromkeys(("min", "minute", "分钟"), (_TIME, 60.0, 0.0)),
    **dict.fromkeys(("h", "hour", "小时"), (_TIME, 3600.0, 0.0)),
    **dict.fromkeys(("d", "day", "天", "日"), (_TIME, 86400.0, 0.0)),
    **dict.fromkeys(("m/s", "米/秒"), (_SPEED, 1.0, 0.0)),
    **dict.fromkeys(("km/h", "公里/小时"), (_SPEED, 1 / 3.6, 0.0)),
    **dict.fromkeys(("kn", "节"), (_SPEED, 1852 / 3600, 0.0)),
    **dict.fromkeys(("K", "开尔文"), (_HEAT, 1.0, 0.0)),
    **dict.fromkeys(("C", "°C", "℃", "摄氏度"), (_HEAT, 1.0, 273.15)),
    **dict.fromkeys(("F", "°F", "℉", "华氏度"), (_HEAT, 5 / 9, 273.15 - 32 * 5 / 9)),
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
