"""What ``SERVICE`` blocks of a query ask for: search in the workspace, or another endpoint where the settings allow it.

    SERVICE kgp:search  { ?passage kgp:text "quiet hotels" ; kgp:score ?s ; kgp:quote ?q ; kgp:limit 20 }
    SERVICE kgp:find    { ?thing kgp:text "Xizha" ; kgp:likeness ?s ; kgp:label ?l }
    SERVICE kgp:similar { ?thing kgp:to id:xizha-1a2b3c4d ; kgp:similarity ?s }

A passage is the named graph of what was read in it, so ``GRAPH ?passage { … }`` goes on from there.
"""

from __future__ import annotations

import threading
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray
from pyoxigraph import Literal, NamedNode

from kgplatform.errors import KgPlatformError, QueryRejectedError
from kgplatform.sparql import service
from kgplatform.sparql.functions import likeness
from kgplatform.sparql.service import EntityDescription, FederatedBlock
from kgplatform.store.dataset import EvidenceDataset
from kgplatform.store.oxigraph import DEFAULT_GRAPH, Store
from kgplatform.text import normalise
from kgplatform.types import Embedder, Evidence, Solutions, Term
from kgplatform.vocab import ALT_LABEL, KGP, LABEL, SKOS, TYPE, XSD_DOUBLE, words_of_iri

_NAMES = (LABEL, NamedNode(f"{SKOS}prefLabel"), ALT_LABEL)
_MOST_COMPARED = 2000
_MOST_KEPT = 50_000
_MOST_STATEMENTS = 12
_LEAST_LIKENESS = 0.4


class Resemblance:
    """Finds things of a store by name, and by resemblance of what is said of them; safe for several threads.

    Vectors are kept, so that a second look costs only what has changed.
    """

    def __init__(self, dataset: EvidenceDataset, embedder: Callable[[], Embedder]) -> None:
        self._store: Store = dataset.store
        self._embedder = embedder
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, NDArray[np.float32]] = OrderedDict()

    def called(self, text: str, k: int) -> list[tuple[NamedNode, float, Literal]]:
        """The things whose names are like the text, the likest first, each with how like (0..1) and which name."""
        wanted = normalise(text)
        best: dict[NamedNode, tuple[float, Literal]] = {}
        for predicate in _NAMES:
            for item in self._store.quads(None, predicate, None, DEFAULT_GRAPH):
                thing, name = item.subject, item.object
                if not isinstance(thing, NamedNode) or not isinstance(name, Literal):
                    continue
                alike = _alike(wanted, name.value)
                if alike >= _LEAST_LIKENESS and alike > best.get(thing, (0.0, name))[0]:
                    best[thing] = (alike, name)
        found = sorted(best.items(), key=lambda item: (-item[1][0], item[0].value))[:k]
        return [(thing, alike, name) for thing, (alike, name) in found]

    def similar(self, iri: NamedNode, k: int) -> list[tuple[NamedNode, float]]:
        """The things that resemble it most, of one of its classes, with the cosine of their vectors, cut to 0..1.

        Of many, those that share most statements with it are compared.
        """
        others = self._candidates(iri)
        if not others:
            return []
        vectors = self._vectors([self._text(iri), *map(self._text, others)])
        cosines = np.clip(vectors[1:] @ vectors[0], 0.0, 1.0)
        order = np.argsort(-cosines, kind="stable")[:k]
        return [(others[place], float(cosines[place])) for place in order]

    def _candidates(self, iri: NamedNode) -> list[NamedNode]:
        classes = [term for term in self._store.objects(iri, TYPE) if isinstance(term, NamedNode)]
        smallest = sorted(classes, key=lambda class_: sum(1 for _ in self._members(class_)))
        members = (islice(self._members(class_), 10 * _MOST_COMPARED) for class_ in smallest)
        found = dict.fromkeys(chain.from_iterable(members))
        found.pop(iri, None)
        if len(found) <= _MOST_COMPARED:
            return list(found)
        shared = Counter(
            item.subject
            for fact in self._store.quads(iri, None, None, DEFAULT_GRAPH)
            if fact.predicate != TYPE
            for item in self._store.quads(None, fact.predicate, fact.object, DEFAULT_GRAPH)
            if item.subject in found
        )
        return sorted(found, key=lambda thing: -shared[thing])[:_MOST_COMPARED]

    def _members(self, class_: NamedNode) -> Iterator[NamedNode]:
        for item in self._store.quads(None, TYPE, class_, DEFAULT_GRAPH):
            if isinstance(item.subject, NamedNode):
                yield item.subject

    def _text(self, iri: NamedNode) -> str:
        facts = sorted(
            (item.predicate.value, self._word(item.object))
            for item in self._store.quads(iri, None, None, DEFAULT_GRAPH)
            if item.predicate not in _NAMES and item.predicate != TYPE
        )
        classes = (self._word(term) for term in self._store.objects(iri, TYPE))
        said = (f"{words_of_iri(predicate)} {value}" for predicate, value in facts[:_MOST_STATEMENTS])
        return ". ".join((", ".join(self._names(iri)), ", ".join(sorted(classes)), *said))

    def _names(self, iri: NamedNode) -> list[str]:
        terms = (term for predicate in _NAMES for term in self._store.objects(iri, predicate))
        return sorted({term.value for term in terms if isinstance(term, Literal)}) or [words_of_iri(iri.value)]

    def _word(self, term: object) -> str:
        if isinstance(term, NamedNode):
            return self._names(term)[0]
        return term.value[:200] if isinstance(term, Literal) else ""

    def _vectors(self, texts: Iterable[str]) -> NDArray[np.float32]:
        wanted = list(texts)
        with self._lock:
            missing = [text for text in dict.fromkeys(wanted) if text not in self._kept]
            if missing:
                for text, vector in zip(missing, self._embedder().embed(missing), strict=True):
                    self._kept[text] = vector
            found = np.stack([self._kept[text] for text in wanted])
            while len(self._kept) > _MOST_KEPT:
                self._kept.popitem(last=False)
        return found


def _alike(wanted: str, name: str) -> float:
    """How like a name is to a normalised text: one that holds the whole text counts at least 0.5."""
    form = normalise(name)
    alike = likeness(wanted, form)
    return max(alike, 0.5 + alike / 2) if wanted and wanted in form and form != wanted else alike


_MOST_HITS = 1000
_HITS = 10

_Row: TypeAlias = Mapping[str, Term]
Ask: TypeAlias = Callable[[str, str, Mapping[str, str]], Solutions]
"""Asks the endpoint at an address for the solutions of a group pattern, which uses these prefixes."""


@dataclass
class Calling:
    """Puts the rows of each SERVICE block into a query in its place.

    ``_endpoints`` are those that ``_ask`` may ask, for calls that leave open which.
    """

    _prefixes: Mapping[str, str]
    _search: Callable[[str, int], Sequence[Evidence]]
    _resemblance: Resemblance
    _ask: Ask
    _endpoints: Sequence[str] = ()

    def resolved(self, text: str) -> str:
        """The query or update without its SERVICE blocks, what they stand for in their places.

        Raises:
            QueryRejectedError: a block is not written as it has to be, or asks whom it may not ask.
            QueryError: whom it asks does not answer, and it is not SILENT.
        """
        found = service.federated_blocks(text, self._prefixes)
        return service.with_values(text, [(call, self._solutions(call, text)) for call in found]) if found else text

    def _solutions(self, call: FederatedBlock, text: str) -> Solutions:
        name = call.name.value if call.name is not None else ""
        if not name.startswith(KGP):
            return service.solutions_of(call, self._endpoints, partial(self._elsewhere, call))
        known = {"search": self._passages, "find": self._called, "similar": self._similar}
        kind = name.removeprefix(KGP)
        if kind not in known:
            listed = ", ".join(f"kgp:{item}" for item in known)
            raise QueryRejectedError((f"there is no kgp:{kind}; there are {listed}",), query=text)
        wanted = _Wanted(service.description_of(call, text), kind, text)
        return _table(wanted, known[kind](wanted))

    def _elsewhere(self, call: FederatedBlock, address: str) -> Solutions:
        try:
            return self._ask(address, call.body, call.prefixes)
        except KgPlatformError:
            if call.is_silent:
                return service.ONE_EMPTY
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

    def __init__(self, described: EntityDescription, kind: str, query: str) -> None:
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
