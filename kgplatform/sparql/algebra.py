"""Whether two SPARQL queries say the same: their algebra, not their text, is compared.

Prefixes, layout, the order of patterns in a group and the names of variables do not count; what a query projects,
filters, groups, orders and limits does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

import pyoxigraph as ox
from pyparsing import ParseException
from rdflib import BNode, Variable
from rdflib.plugins.sparql.algebra import translateQuery
from rdflib.plugins.sparql.parser import parseQuery
from rdflib.plugins.sparql.parserutils import CompValue
from rdflib.plugins.sparql.sparql import SPARQLError
from rdflib.term import Identifier

from kgplatform.sparql.tokens import read_only_issues
from kgplatform.vocab import PREFIXES

_ROUNDS: Final = 4
_UNORDERED: Final = frozenset(("triples", "PV", "expr_list", "_vars"))
_SYMMETRIC: Final = frozenset(("ConditionalAndExpression", "ConditionalOrExpression"))
_LEFT_OUT: Final = frozenset(("_vars", "lazy"))


def same_query(first: str, second: str) -> bool:
    """Whether both have the same algebra up to the names of variables; a query that does not parse is like no other.

    The names are told apart by colour refinement (as in graph isomorphism tests), so two variables in fully
    symmetric places count as interchangeable.
    """
    one, other = normal_form(first), normal_form(second)
    return one is not None and one == other


def normal_form(text: str) -> str | None:
    """The algebra as a canonical string; None: the text is not a SPARQL query, or one that rdflib cannot read.

    Prefixes that the query does not declare are the platform's own.
    """
    if read_only_issues(text):
        return None
    try:
        ox.Store().query(text, prefixes=PREFIXES)  # first: rdflib fails on bad input in ways that cannot be told apart
        algebra = translateQuery(parseQuery(text), initNs=dict(PREFIXES)).algebra
    except (SyntaxError, ValueError, OSError, ParseException, SPARQLError, RecursionError):
        return None
    colours: dict[Identifier, str] = {}
    for _ in range(_ROUNDS):
        colours = _refined(algebra, colours)
    return _written(algebra, colours)


def _refined(algebra: CompValue, colours: Mapping[Identifier, str]) -> dict[Identifier, str]:
    """Each variable's colour: all the places it stands in, written with the colours so far."""
    places: dict[Identifier, list[str]] = {}
    for variable, place in _places(algebra, colours):
        places.setdefault(variable, []).append(place)
    marks = {variable: "|".join(sorted(found)) for variable, found in places.items()}
    order = {mark: f"?{number}" for number, mark in enumerate(sorted(set(marks.values())))}
    return {variable: order[mark] for variable, mark in marks.items()}


def _places(node: object, colours: Mapping[Identifier, str], path: str = "") -> Iterator[tuple[Identifier, str]]:
    if isinstance(node, Variable | BNode):
        yield node, path
    elif isinstance(node, CompValue):
        for key, value in node.items():
            if key not in _LEFT_OUT:
                yield from _places(value, colours, f"{path}/{node.name}.{key}")
    elif isinstance(node, tuple):
        for position, part in enumerate(node):
            around = " ".join(_written(other, colours) for i, other in enumerate(node) if i != position)
            yield from _places(part, colours, f"{path}[{position}: {around}]")
    elif isinstance(node, list | set | frozenset):
        for part in node:
            yield from _places(part, colours, path)


def _written(node: object, colours: Mapping[Identifier, str]) -> str:
    if isinstance(node, Variable | BNode):
        return colours.get(node, "?")
    if isinstance(node, Identifier):
        return node.n3()
    if isinstance(node, CompValue):
        parts = [
            f"{key}={_part(key, value, node.name, colours)}"
            for key, value in sorted(node.items())
            if key not in _LEFT_OUT
        ]
        return f"{node.name}({','.join(parts)})"
    if isinstance(node, set | frozenset):
        return f"{{{','.join(sorted(_written(part, colours) for part in node))}}}"
    if isinstance(node, list | tuple):
        return f"[{','.join(_written(part, colours) for part in node)}]"
    return repr(node) if isinstance(node, str | int | float | bool | None) else f"{node}"


def _part(key: str, value: object, owner: str, colours: Mapping[Identifier, str]) -> str:
    """A part of a node; where order means nothing, it is sorted."""
    if isinstance(value, list) and (key in _UNORDERED or (owner in _SYMMETRIC and key == "other")):
        return f"{{{','.join(sorted(_written(part, colours) for part in value))}}}"
    return _written(value, colours)
