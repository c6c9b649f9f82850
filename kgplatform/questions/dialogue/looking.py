"""Looks things up by what a question says of them: one query over the constraints, in the order of a moment."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from pyoxigraph import Literal, NamedNode

from kgplatform.questions.dialogue.frames import Frame, Pair
from kgplatform.types import Solutions, Term
from kgplatform.vocab import SUBCLASS_OF, TYPE, XSD

_MOST = 400
COUNTED = 1_000_000
"""So many are looked up where they are only counted."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """Things with a value of each of ``pairs`` (any of one group), whose moment lies in a window.

    ``moments``: the first of these properties that a thing has is its moment; ``most``: so many are looked up.
    """

    groups: tuple[tuple[Pair, ...], ...] = ()
    moments: tuple[NamedNode, ...] = ()
    low: datetime | None = None
    high: datetime | None = None
    most: int = _MOST


@dataclass(frozen=True, slots=True)
class Found:
    """A thing with its moment as written."""

    thing: NamedNode
    moment: str


@dataclass(frozen=True, slots=True)
class Lookup:
    """What was found, in the order of the moments, and the query that found it."""

    query: str
    solutions: Solutions
    found: tuple[Found, ...]


def look_up(wanted: Wanted, frame: Frame, run: Callable[[str], Solutions]) -> Lookup:
    """The things that are wanted; raises QueryError as ``run`` does."""
    query = query_of(wanted, frame)
    solutions = run(query)
    found = [
        Found(row[0], row[1].value if len(row) > 1 and isinstance(row[1], Literal) else "")
        for row in solutions.rows
        if isinstance(row[0], NamedNode)
    ]
    found.sort(key=lambda item: (item.moment, frame.names.label(item.thing)))
    return Lookup(query, solutions, tuple(dict.fromkeys(found)))


def query_of(wanted: Wanted, frame: Frame) -> str:
    """The query for things; terms write themselves."""
    lines = [f"?thing {_type_path(frame)} {frame.scheme.about} ."]
    for number, group in enumerate(wanted.groups):
        lines += _group(number, group)
    if wanted.moments:
        lines += _moment(wanted.moments)
        if wanted.low is not None:
            lines.append(f"FILTER(?moment >= {written(wanted.low, frame)})")
        if wanted.high is not None:
            lines.append(f"FILTER(?moment <= {written(wanted.high, frame)})")
    shown, order = ("?thing ?moment", "ORDER BY ?moment") if wanted.moments else ("?thing", "")
    body = "\n".join(f"  {line}" for line in lines)
    return f"SELECT DISTINCT {shown} WHERE {{\n{body}\n}} {order} LIMIT {wanted.most}".replace("  LIMIT", " LIMIT")


def _type_path(frame: Frame) -> str:
    wide = frame.names.schema.has_subclasses(frame.scheme.about)
    return f"{TYPE}/{SUBCLASS_OF}*" if wide else "a"


def _group(number: int, group: Sequence[Pair]) -> list[str]:
    if len(group) == 1:
        return [f"?thing {group[0][0]} {group[0][1]} ."]
    pairs = " ".join(f"({predicate} {value})" for predicate, value in group)
    return [f"VALUES (?by{number} ?value{number}) {{ {pairs} }}", f"?thing ?by{number} ?value{number} ."]


def _moment(moments: Sequence[NamedNode]) -> list[str]:
    if len(moments) == 1:
        return [f"?thing {moments[0]} ?moment ."]
    lines = [f"OPTIONAL {{ ?thing {predicate} ?at{number} }}" for number, predicate in enumerate(moments)]
    either = ", ".join(f"?at{number}" for number in range(len(moments)))
    return [*lines, f"BIND(COALESCE({either}) AS ?moment)", "FILTER(BOUND(?moment))"]


def written(moment: datetime, frame: Frame) -> Literal:
    """A moment as the data writes its moments."""
    return Literal(f"{moment.isoformat(timespec='seconds')}{frame.zone}", datatype=NamedNode(f"{XSD}dateTime"))


def values(thing: NamedNode, predicate: NamedNode | None, run: Callable[[str], Solutions]) -> list[Term]:
    """The values that a thing has of a property."""
    if predicate is None:
        return []
    return [row[0] for row in run(f"SELECT ?value WHERE {{ {thing} {predicate} ?value }}").rows if row[0] is not None]


def moment_of(thing: NamedNode, predicates: Sequence[NamedNode], run: Callable[[str], Solutions]) -> datetime | None:
    """The moment of a thing, by the first of the properties that it has."""
    for predicate in predicates:
        for value in values(thing, predicate, run):
            if isinstance(value, Literal) and (found := as_moment(value.value)) is not None:
                return found
    return None


def as_moment(text: str) -> datetime | None:
    """The moment that a text writes, without its zone; None if it writes none."""
    try:
        return datetime.fromisoformat(text).replace(tzinfo=None)
    except ValueError:
        return None
