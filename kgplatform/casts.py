"""The casts of XML Schema that the store has not: to the integer types below ``xsd:integer``.

They take what SPARQL 1.1 §17.5 lets ``xsd:integer`` take, and give an error where the value is out of range.
Specification of the ranges: https://www.w3.org/TR/xmlschema11-2/ §3.4.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from functools import partial
from typing import Final, TypeAlias

from pyoxigraph import BlankNode, Literal, NamedNode, Triple

from kgplatform.vocab import XSD

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
