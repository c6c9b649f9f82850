"""What is sure of a literal: that it is of a datatype, and which of two is the greater.

Sure means that rdflib, on which pySHACL stands, sees it so too; None or false means that it is left to pySHACL.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from functools import lru_cache

from pyoxigraph import Literal

from kgplatform.types import Term
from kgplatform.vocab import RDF, RDFS, XSD

_NUMBER = r"[+-]?\d{1,300}(?:\.\d{1,300})?"
_MOMENT = r"\d{4}-\d\d-\d\dT(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:Z|[+-](?:0\d|1[0-3]):[0-5]\d)?"
_FORMS: dict[str, tuple[str, Callable[[str], object]]] = {
    f"{XSD}integer": (r"[+-]?\d{1,300}", int),
    f"{XSD}decimal": (_NUMBER, Decimal),
    f"{XSD}double": (rf"{_NUMBER}(?:[eE][+-]?\d{{1,2}})?", float),
    f"{XSD}float": (rf"{_NUMBER}(?:[eE][+-]?\d{{1,2}})?", float),
    f"{XSD}boolean": ("true|false", lambda text: text == "true"),
    f"{XSD}date": (r"\d{4}-\d\d-\d\d", date.fromisoformat),
    f"{XSD}dateTime": (_MOMENT, lambda text: datetime.fromisoformat(text.replace("Z", "+00:00"))),
    f"{XSD}gYear": (r"\d{4}", lambda text: date(int(text), 1, 1)),
}
_TEXTS = frozenset((f"{XSD}string", f"{RDF}langString"))
_ORDERED: tuple[frozenset[str], ...] = (
    frozenset(f"{XSD}{name}" for name in ("integer", "decimal", "double", "float")),
    frozenset((f"{XSD}date",)),
)


def key(term: Term) -> object:
    """What makes two terms one: languages are the same in upper and lower case."""
    if isinstance(term, Literal):
        return term.value, term.datatype.value, (term.language or "").lower()
    return term


def is_surely_of(term: Term, datatype: Term) -> bool:
    """Whether the term is a literal of the datatype and surely well written."""
    if not isinstance(term, Literal):
        return False
    wanted = getattr(datatype, "value", "")
    if wanted == f"{RDFS}Literal":
        return True
    if term.datatype.value != wanted:
        return False
    return wanted in _TEXTS or _value(term.value, wanted) is not None


@lru_cache(maxsize=50_000)
def _value(text: str, datatype: str) -> object | None:
    """The value of the text; None where it is not written in a form that is beyond doubt."""
    form, read = _FORMS.get(datatype, (None, None))
    if form is None or read is None or re.fullmatch(form, text, re.ASCII) is None:
        return None
    try:
        return read(text)
    except ValueError:
        return None


def compared(first: Term, second: Term) -> int | None:
    """-1, 0 or 1 as the first is less than, equal to or greater than the second; None where that is not sure."""
    if not isinstance(first, Literal) or not isinstance(second, Literal):
        return None
    kinds = {first.datatype.value, second.datatype.value}
    if not any(kinds <= ordered for ordered in _ORDERED):
        return None
    one, other = _value(first.value, first.datatype.value), _value(second.value, second.datatype.value)
    if one is None or other is None:
        return None
    return int(one > other) - int(one < other)  # type: ignore[operator]
