"""``SERVICE`` blocks of SPARQL text: found, read, and replaced by the rows that they stand for.

The store itself is never let out to the network, and knows no search. So whoever owns the store evaluates each
``SERVICE`` block first and puts ``VALUES`` in its place; what the store then runs is a plain query. Blocks are found
by the tokens of the text; terms are written by the store's own serialiser.

Specifications: SPARQL 1.1 Federated Query (https://www.w3.org/TR/sparql11-federated-query/) §2; VALUES: SPARQL 1.1 §10.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TypeAlias
from urllib.parse import urljoin

from pyoxigraph import Literal, NamedNode

from kgplatform.errors import QueryRejectedError
from kgplatform.sparql.tokens import SparqlToken, declared_prefixes, scan, tokens
from kgplatform.types import Solutions, Term

MOST_CALLS = 8
"""So many SERVICE blocks may be in one query."""

_ABSOLUTE = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:")
_BASE = "<base>"
"""What the base goes by among the prefixes: no prefix can be called so."""
_ESCAPES = {"t": "\t", "b": "\b", "n": "\n", "r": "\r", "f": "\f", '"': '"', "'": "'", "\\": "\\"}

Value: TypeAlias = "str | NamedNode | Literal"
"""A variable by its name, or a term."""


@dataclass(frozen=True, slots=True)
class FederatedBlock:
    """A SERVICE block: whom it asks, what is between its braces, and where it stands in the text.

    Without a ``name`` it asks whomever the ``variable`` stands for.
    """

    name: NamedNode | None
    body: str
    start: int
    end: int
    is_silent: bool
    prologue: Mapping[str, str] = field(default_factory=dict)
    variable: str = ""

    @property
    def prefixes(self) -> dict[str, str]:
        """The prefixes that the body uses, with what they stand for."""
        used = scan(self.body).prefixes
        return {name: iri for name, iri in self.prologue.items() if name in used}


@dataclass(frozen=True, slots=True)
class EntityDescription:
    """The body of a call that describes one thing: its variable, and the values of each property, by the IRI's end."""

    subject: str
    values: Mapping[str, Value]


def federated_blocks(text: str, known: Mapping[str, str], *, base: str = "") -> list[FederatedBlock]:
    """The SERVICE blocks that stand in no other, in their order; ``known`` are prefixes that need no declaration.

    Relative IRIs are resolved against ``base``, unless the text names another.

    Raises:
        QueryRejectedError: one asks a name whose prefix is not declared; or there are too many.
    """
    if "SERVICE" not in scan(text).keywords:
        return []
    found, listed = [], list(tokens(text))
    prefixes = {**known, **declared_prefixes(listed), _BASE: _base(listed, base)}
    place = 0
    while place < len(listed):
        if listed[place].kind != "word" or listed[place].text.upper() != "SERVICE":
            place += 1
            continue
        call, place = _read(text, listed, place, prefixes)
        if call is not None:
            found.append(call)
    if len(found) > MOST_CALLS:
        raise QueryRejectedError((f"the query has {len(found)} SERVICE blocks; {MOST_CALLS} are allowed",), query=text)
    return found


def _base(listed: Sequence[SparqlToken], given: str) -> str:
    """The base that the text declares last, resolved against the one that is given."""
    for word, iri in pairwise(listed):
        if word.text.upper() == "BASE" and iri.kind == "iri":
            given = urljoin(given, iri.text[1:-1])
    return given


def _read(
    text: str, listed: Sequence[SparqlToken], place: int, prefixes: Mapping[str, str]
) -> tuple[FederatedBlock | None, int]:
    """The call whose SERVICE stands at the place, and where to go on; None: the words make no call."""
    start, next_ = listed[place], place + 1
    is_silent = next_ < len(listed) and listed[next_].text.upper() == "SILENT"
    next_ += is_silent
    if next_ + 1 >= len(listed) or listed[next_ + 1].text != "{":
        return None, place + 1
    name = _term(listed[next_], prefixes)
    variable = listed[next_].text[1:] if listed[next_].kind == "variable" else ""
    if name is None and not variable:
        raise QueryRejectedError(
            (f"SERVICE {listed[next_].text[:100]}: say whom to ask by an IRI, or a name with a declared prefix",),
            query=text,
        )
    depth, opened = 0, next_ + 1
    for last in range(opened, len(listed)):
        depth += (listed[last].kind == "open") - (listed[last].kind == "close")
        if depth == 0:
            body = text[listed[opened].end : listed[last].start]
            return FederatedBlock(name, body, start.start, listed[last].end, is_silent, prefixes, variable), last + 1
    return None, place + 1


def description_of(call: FederatedBlock, query: str) -> EntityDescription:
    """The call as the description of one thing, ``?thing property value ; property value``.

    Raises:
        QueryRejectedError: it is more than that.
    """
    listed = list(tokens(call.body))
    values: dict[str, Value] = {}
    if len(listed) < 3 or listed[0].kind != "variable":
        raise _more(call, query)
    subject, place = listed[0].text[1:], 1
    while place < len(listed):
        if listed[place].text in (";", "."):
            place += 1
            if listed[place - 1].text == "." and place < len(listed):
                if listed[place].text[1:] != subject:
                    raise _more(call, query)
                place += 1
            continue
        if place + 1 >= len(listed):
            raise _more(call, query)
        property_, (value, place) = _term(listed[place], call.prologue), _value(listed, place + 1, call)
        if not isinstance(property_, NamedNode) or value is None:
            raise _more(call, query)
        values[property_.value] = value
    return EntityDescription(subject, values)


def _more(call: FederatedBlock, query: str) -> QueryRejectedError:
    wanted = "?thing property value ; property value"
    name = call.name.value if call.name is not None else ""
    return QueryRejectedError((f"SERVICE <{name}> takes one description: {{ {wanted} }}",), query=query)


def _value(listed: Sequence[SparqlToken], place: int, call: FederatedBlock) -> tuple[Value | None, int]:
    """The value that begins at the place, and where it ends."""
    token = listed[place]
    if token.kind == "variable":
        return token.text[1:], place + 1
    if token.kind == "number" and token.text.isdigit():
        return Literal(int(token.text)), place + 1
    if token.kind == "string":
        has_language = place + 1 < len(listed) and listed[place + 1].kind == "lang"
        return Literal(_unescaped(token.text)), place + 1 + has_language
    return _term(token, call.prologue), place + 1


def _term(token: SparqlToken, prefixes: Mapping[str, str]) -> NamedNode | None:
    if token.kind == "iri":
        name = token.text[1:-1]
        if not _ABSOLUTE.match(name):
            name = urljoin(prefixes.get(_BASE, ""), name)
    elif token.kind == "name":
        prefix, _, local = token.text.partition(":")
        if prefix not in prefixes:
            return None
        name = prefixes[prefix] + local.replace("\\", "")
    else:
        return None
    try:
        return NamedNode(name)
    except ValueError:
        return None


def _unescaped(written: str) -> str:
    size = 3 if written[:3] in ('"""', "'''") else 1
    parts, letters = [], iter(written[size:-size])
    for letter in letters:
        if letter != "\\":
            parts.append(letter)
            continue
        sign = next(letters, "")
        if sign in ("u", "U"):
            code = "".join(next(letters, "") for _ in range(4 if sign == "u" else 8))
            parts.append(_character(code))
        else:
            parts.append(_ESCAPES.get(sign, sign))
    return "".join(parts)


def _character(code: str) -> str:
    try:
        return chr(int(code, 16))
    except (ValueError, OverflowError):
        return "\ufffd"


def solutions_of(call: FederatedBlock, addresses: Sequence[str], ask: Callable[[str], Solutions]) -> Solutions:
    """What the call stands for: the rows of whom it names; of a variable, the rows of each address, which it then is.

    SPARQL 1.1 Federated Query §4: a variable may stand for any endpoint. Those that may be asked at all are asked, and
    the pattern around the call decides which rows stay.

    Raises:
        QueryRejectedError: a variable, and there is no address.
    """
    if call.name is not None:
        return ask(call.name.value)
    if not addresses:
        raise QueryRejectedError((f"SERVICE ?{call.variable} asks nobody: SERVICE is switched off",), query=call.body)
    found = {address: ask(address) for address in addresses}
    names = dict.fromkeys((call.variable, *(name for solutions in found.values() for name in solutions.variables)))
    rows: list[tuple[Term | None, ...]] = []
    for address, solutions in found.items():
        for row in solutions.rows:
            bound: dict[str, Term | None] = dict(zip(solutions.variables, row, strict=True))
            if bound.get(call.variable) in (None, NamedNode(address)):
                bound[call.variable] = NamedNode(address)
                rows.append(tuple(bound.get(name) for name in names))
    return Solutions(tuple(names), tuple(rows))


def with_values(text: str, answers: Iterable[tuple[FederatedBlock, Solutions]]) -> str:
    """The text with the rows of each call in its place."""
    parts, last = [], 0
    for call, solutions in answers:
        parts += [text[last : call.start], values_block(solutions)]
        last = call.end
    return "".join([*parts, text[last:]])


def values_block(solutions: Solutions) -> str:
    """The rows as a VALUES block."""
    header = " ".join(f"?{name}" for name in solutions.variables)
    rows = "\n".join(f"( {' '.join(map(_written, row))} )" for row in solutions.rows)
    return f"VALUES ( {header} ) {{\n{rows}\n}}"


ONE_EMPTY = Solutions((), ((),))
"""What a SILENT call that fails stands for: one solution that binds nothing (SPARQL 1.1 Federated Query §2.3)."""


def _written(term: Term | None) -> str:
    return "UNDEF" if term is None else str(term)
