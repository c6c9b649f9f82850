"""Rows of things that lie somewhere, with where: so that a map of an answer needs nobody to have asked for degrees."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from pyoxigraph import Literal, NamedNode

from kgplatform.store import Store
from kgplatform.types import Solutions, Term
from kgplatform.web.located import spot_of

_NAMES: Final = frozenset(("lat", "latitude", "纬度", "long", "lon", "lng", "longitude", "经度"))
_LEAST = 2


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
