"""Things that resemble a thing: of its classes, by what is called and said of them, put into vectors.

A thing's text is its labels, the labels of its classes, and its statements in words; vectors of texts are kept, so a
second look costs only what has changed.
"""

from __future__ import annotations

import threading
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice

import numpy as np
from numpy.typing import NDArray
from pyoxigraph import Literal, NamedNode

from kgplatform.dataset import EvidenceDataset
from kgplatform.functions import likeness
from kgplatform.protocols import Embedder
from kgplatform.store import DEFAULT_GRAPH, Store
from kgplatform.text import normalise
from kgplatform.vocab import ALT_LABEL, LABEL, SKOS, TYPE, words_of_iri

_NAMES = (LABEL, NamedNode(f"{SKOS}prefLabel"), ALT_LABEL)
_MOST_COMPARED = 2000
_MOST_KEPT = 50_000
_MOST_STATEMENTS = 12
_LEAST_LIKENESS = 0.4


class Resemblance:
    """Finds things of a store by name and by resemblance; safe for several threads."""

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
