"""Rows of things that lie somewhere, with where: so that a map of an answer needs nobody to have asked for degrees."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Final

from pyoxigraph import Literal, NamedNode

from kgplatform.lexing import scan
from kgplatform.questions.elements import Element, Form, taken_apart
from kgplatform.store import Store
from kgplatform.types import Solutions, Term
from kgplatform.web.located import LATITUDE, LONGITUDE, spot_of

_NAMES: Final = frozenset(("lat", "latitude", "纬度", "long", "lon", "lng", "longitude", "经度"))
_LEAST = 2
_VARIABLE: Final = re.compile(r"\w{1,80}")


def with_places(found: Solutions, store: Store) -> Solutions:
    """The rows with ``lat`` and ``long`` of the first thing in each, where two or more of these are known.

    Rows that have numbers or places of their own to show, or of few things that lie somewhere, are as they were.
    """
    column = next((c for c in range(len(found.variables)) if _holds_things(found, c)), None)
    if column is None or _NAMES & {name.casefold() for name in found.variables}:
        return found
    spots = [_spot(store, row[column]) for row in found.rows]
    known = sum(spot != (None, None) for spot in spots)
    if known < _LEAST or known * 2 < len(spots):
        return found
    rows = tuple((*row, *spot) for row, spot in zip(found.rows, spots, strict=True))
    return replace(found, variables=(*found.variables, "lat", "long"), rows=rows)


def _holds_things(found: Solutions, column: int) -> bool:
    values = [row[column] for row in found.rows if row[column] is not None]
    return bool(values) and all(isinstance(value, NamedNode) for value in values)


def _spot(store: Store, term: Term | None) -> tuple[Term | None, Term | None]:
    spot = spot_of(store, term) if isinstance(term, NamedNode) else None
    if spot is None:
        return None, None
    return Literal(spot.latitude), Literal(spot.longitude)


def asking_for_places(query: str, variable: str, store: Store) -> str:
    """The SELECT with ``?lat`` and ``?long`` of what the variable stands for, where the graph has them; else empty.

    A query that counts or groups is left alone: a place more would be another group.
    """
    parts = taken_apart(query)
    seen = scan(query)
    pairs = [pair for pair in zip(LATITUDE, LONGITUDE, strict=True) if all(_is_used(store, item) for item in pair)]
    if parts is None or seen.form != "SELECT" or not pairs or not _VARIABLE.fullmatch(variable):
        return ""
    plain_tail = "GROUP" not in parts.tail.upper() and "HAVING" not in parts.tail.upper()
    if not plain_tail or "(" in parts.head or {"lat", "long"} & set(seen.variables):
        return ""
    latitude, longitude = ("|".join(map(str, group)) for group in zip(*pairs, strict=True))
    text = f"OPTIONAL {{ ?{variable} {latitude} ?lat ; {longitude} ?long }}"
    placed = Element(Form.OTHER, text, 0, frozenset((variable, "lat", "long")))
    if "*" not in parts.head:
        words = re.split(r"(?i)(\s*\b(?:FROM\b.*|WHERE\b\s*)|\s*$)", parts.head, maxsplit=1, flags=re.DOTALL)
        parts = replace(parts, head=f"{words[0].rstrip()} ?lat ?long {words[1].strip()} ".replace("  ", " "))
    return parts.query([*parts.elements, placed])


def _is_used(store: Store, property_: NamedNode) -> bool:
    return next(iter(store.quads(predicate=property_)), None) is not None
