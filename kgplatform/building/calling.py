"""What ``SERVICE`` blocks of a query ask for: search in the workspace, or another endpoint where the settings allow it.

    SERVICE kgp:search  { ?passage kgp:text "quiet hotels" ; kgp:score ?s ; kgp:quote ?q ; kgp:limit 20 }
    SERVICE kgp:find    { ?thing kgp:text "Xizha" ; kgp:likeness ?s ; kgp:label ?l }
    SERVICE kgp:similar { ?thing kgp:to kg:entity/xizha-1a2b3c4d ; kgp:similarity ?s }

A passage is the named graph of what was read in it, so ``GRAPH ?passage { … }`` goes on from there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Final, Protocol, TypeAlias

from pyoxigraph import Literal, NamedNode

from kgplatform import calls
from kgplatform.building.resembling import Resemblance
from kgplatform.calls import Call, Described
from kgplatform.errors import KgPlatformError, QueryRejectedError
from kgplatform.types import Evidence, Solutions, Term
from kgplatform.vocab import KGP, XSD_DOUBLE

_MOST_HITS = 1000
_HITS = 10

_Row: TypeAlias = Mapping[str, Term]
Ask: TypeAlias = Callable[[str, str, Mapping[str, str]], Solutions]
"""Asks the endpoint at an address for the solutions of a group pattern, which uses these prefixes."""


class Finds(Protocol):
    """Finds passages."""

    def __call__(self, text: str, k: int, /) -> Sequence[Evidence]:
        """The passages that fit the text, best first."""
        ...


class Calling:
    """Puts the rows of each SERVICE block into a query in its place."""

    def __init__(
        self,
        prefixes: Mapping[str, str],
        search: Finds,
        resemblance: Resemblance,
        ask: Ask,
        endpoints: Sequence[str] = (),
    ) -> None:
        """``endpoints`` are those that ``ask`` may ask, for calls that leave open which."""
        self._prefixes = prefixes
        self._endpoints = endpoints
        self._search = search
        self._resemblance = resemblance
        self._ask = ask

    def resolved(self, text: str) -> str:
        """The query or update without its SERVICE blocks, what they stand for in their places.

        Raises:
            QueryRejectedError: a block is not written as it has to be, or asks whom it may not ask.
            QueryError: whom it asks does not answer, and it is not SILENT.
        """
        found = calls.find(text, self._prefixes)
        return calls.replaced(text, [(call, self._solutions(call, text)) for call in found]) if found else text

    def _solutions(self, call: Call, text: str) -> Solutions:
        name = call.name.value if call.name is not None else ""
        if not name.startswith(KGP):
            return calls.answered(call, self._endpoints, partial(self._elsewhere, call))
        known = {"search": self._passages, "find": self._called, "similar": self._similar}
        kind = name.removeprefix(KGP)
        if kind not in known:
            listed = ", ".join(f"kgp:{item}" for item in known)
            raise QueryRejectedError((f"there is no kgp:{kind}; there are {listed}",), query=text)
        wanted = _Wanted(calls.described(call, text), kind, text)
        return _table(wanted, known[kind](wanted))

    def _elsewhere(self, call: Call, address: str) -> Solutions:
        try:
            return self._ask(address, call.body, call.prefixes)
        except KgPlatformError:
            if call.is_silent:
                return calls.ONE_EMPTY
            raise

    def _passages(self, wanted: _Wanted) -> Iterable[_Row]:
        for item in self._search(wanted.text("text"), wanted.limit):
            yield {
                "": item.chunk,
                "score": _number(item.score),
                "quote": Literal(item.quote),
                "document": item.document,
                "title": Literal(item.title),
            }

    def _called(self, wanted: _Wanted) -> Iterable[_Row]:
        for thing, alike, name in self._resemblance.called(wanted.text("text"), wanted.limit):
            yield {"": thing, "likeness": _number(alike), "label": name}

    def _similar(self, wanted: _Wanted) -> Iterable[_Row]:
        for thing, similarity in self._resemblance.similar(wanted.iri("to"), wanted.limit):
            yield {"": thing, "similarity": _number(similarity)}


_TAKES: Final = {"search": ("text", "limit"), "find": ("text", "limit"), "similar": ("to", "limit")}
_GIVES: Final = {
    "search": ("score", "quote", "document", "title"),
    "find": ("likeness", "label"),
    "similar": ("similarity",),
}


class _Wanted:
    """What a call of our own says: its text or IRI, how many rows it wants, and which columns."""

    def __init__(self, described: Described, kind: str, query: str) -> None:
        self.subject = described.subject
        self._kind, self._query = kind, query
        self._values = {iri.removeprefix(KGP): value for iri, value in described.values.items()}
        for name in self._values:
            if name not in (*_TAKES[kind], *_GIVES[kind]):
                raise self._wrong(", ".join(f"kgp:{known}" for known in (*_TAKES[kind], *_GIVES[kind])))

    @property
    def columns(self) -> list[tuple[str, str]]:
        """What is asked for, each with its variable."""
        gives = _GIVES[self._kind]
        asked = [(name, value) for name, value in self._values.items() if isinstance(value, str) and name in gives]
        return [("", self.subject), *asked]

    @property
    def fixed(self) -> list[tuple[str, object]]:
        """What is asked for with the value that it must have."""
        gives = _GIVES[self._kind]
        return [(name, value) for name, value in self._values.items() if not isinstance(value, str) and name in gives]

    def text(self, name: str) -> str:
        """The text that is given."""
        value = self._values.get(name)
        if isinstance(value, Literal) and value.value.strip():
            return value.value
        raise self._wrong(f'kgp:{name} "…", a text in quotation marks')

    def iri(self, name: str) -> NamedNode:
        """The IRI that is given."""
        value = self._values.get(name)
        if isinstance(value, NamedNode):
            return value
        raise self._wrong(f"kgp:{name} and an IRI")

    @property
    def limit(self) -> int:
        """How many rows at most."""
        value = self._values.get("limit", Literal(_HITS))
        number = int(value.value) if isinstance(value, Literal) and value.value.isdecimal() else 0
        if not 0 < number <= _MOST_HITS:
            raise self._wrong(f"kgp:limit from 1 to {_MOST_HITS}")
        return number

    def _wrong(self, what: str) -> QueryRejectedError:
        return QueryRejectedError((f"SERVICE kgp:{self._kind} wants {what}",), query=self._query)


def _number(value: float) -> Literal:
    return Literal(repr(float(value)), datatype=XSD_DOUBLE)


def _table(wanted: _Wanted, rows: Iterable[_Row]) -> Solutions:
    """The rows under the variables of the call."""
    columns, fixed = wanted.columns, wanted.fixed
    kept = [row for row in rows if all(row[name] == value for name, value in fixed)]
    return Solutions(tuple(name for _, name in columns), tuple(tuple(row[key] for key, _ in columns) for row in kept))
