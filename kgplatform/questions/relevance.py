"""How much each class and property has to do with a question: by its words, by what was linked, and by its meaning."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from pyoxigraph import NamedNode

from kgplatform.ontology import label_of
from kgplatform.protocols import Embedder
from kgplatform.questions.schema import SchemaClass, SchemaProperty, SchemaView
from kgplatform.questions.wording import stem
from kgplatform.text import language_of, words
from kgplatform.types import Linked
from kgplatform.vocab import words_of_iri

_LINKED = 1.0
_WORD = 0.8
_MEANING = 0.6
_NEIGHBOUR = 0.35
_ALIKE = 0.25
_SURE, _NOTED = 0.5, 0.3


def knows(embedder: Embedder, language: str) -> bool:
    """Whether an embedder was trained on a language; one that does not say is taken to know all."""
    languages = frozenset(getattr(embedder, "languages", None) or ())
    return not languages or language in languages


class Relevance:
    """The relevance of terms to one question, 0 and more."""

    def __init__(self, scores: Mapping[NamedNode, float]) -> None:
        self._scores = scores

    def of(self, iri: NamedNode) -> float:
        """The relevance of a class or property; 0: nothing speaks for it."""
        return self._scores.get(iri, 0.0)


class TermIndex:
    """The words of a schema's terms, and their vectors where there is an embedder that knows the language."""

    def __init__(self, schema: SchemaView, embedder: Callable[[], Embedder | None] = lambda: None) -> None:
        self._schema = schema
        self._embedder = embedder

    def relevance(
        self,
        question: str,
        linked: Iterable[Linked],
        types_of: Callable[[NamedNode], Sequence[NamedNode]],
        *,
        by_meaning: bool = True,
    ) -> Relevance:
        """How much each term has to do with the question."""
        scores: dict[NamedNode, float] = defaultdict(float)
        for item in linked:
            for iri in (item.iri, *types_of(item.iri)):
                scores[iri] = max(scores[iri], _LINKED * item.score)
        for iri, score in self._by_words(question).items():
            scores[iri] += _WORD * score
        for iri, score in self._by_comments(scores).items():
            scores[iri] += score
        if by_meaning:
            for iri, score in self._by_meaning(question).items():
                scores[iri] += _MEANING * score
        return Relevance(self._with_neighbours(scores))

    def _by_words(self, question: str) -> dict[NamedNode, float]:
        """The share of a term's words, rare ones counting more, that the question has."""
        wanted = {stem(word) for word in words(question)}
        found = {}
        for iri, own in self._words.items():
            shared = sum(self._rarity[word] for word in own & wanted)
            if shared:
                found[iri] = shared / math.sqrt(sum(self._rarity[word] for word in own) * self._highest)
        return found

    def _by_comments(self, scores: Mapping[NamedNode, float]) -> dict[NamedNode, float]:
        """The terms that the comments of relevant classes speak of: "a major river is longer than …", "by area"."""
        found: dict[NamedNode, float] = {}
        for iri, score in scores.items():
            for near in self._noted.get(iri, ()) if score >= _SURE else ():
                found[near] = _NOTED
        return found

    @cached_property
    def _noted(self) -> dict[NamedNode, tuple[NamedNode, ...]]:
        """By class, the properties used on it whose words stand in its comments."""
        found = {}
        for iri, term in self._schema.classes.items():
            said = {stem(word) for comment in term.comments for word in words(comment.text)}
            used = {edge.predicate for edge in self._schema.outgoing.get(iri, ())}
            found[iri] = tuple(sorted((p for p in used if self._words.get(p, frozenset()) & said), key=str))
        return found

    @cached_property
    def _words(self) -> dict[NamedNode, frozenset[str]]:
        terms: dict[NamedNode, SchemaClass | SchemaProperty] = {**self._schema.classes, **self._schema.properties}
        return {
            iri: frozenset(
                stem(part)
                for text in (words_of_iri(iri.value), *(word.text for word in term.words[:8]))
                for part in words(text)
            )
            for iri, term in terms.items()
        }

    @cached_property
    def _rarity(self) -> dict[str, float]:
        counts = Counter(word for own in self._words.values() for word in own)
        return {word: math.log(1 + len(self._words) / count) for word, count in counts.items()}

    @cached_property
    def _highest(self) -> float:
        return max(self._rarity.values(), default=1.0)

    def _by_meaning(self, question: str) -> dict[NamedNode, float]:
        embedder = self._embedder()
        if embedder is None or not knows(embedder, language_of(question)):
            return {}
        vectors = self._vectors
        if vectors is None:
            return {}
        likeness = vectors @ embedder.embed([question])[0]
        return {iri: float(x) for iri, x in zip(self._words, likeness, strict=True) if x > _ALIKE}

    @cached_property
    def _vectors(self) -> NDArray[np.float32] | None:
        embedder = self._embedder()
        if embedder is None or not self._words:
            return None
        schema = self._schema
        texts = []
        for iri in self._words:
            term = schema.classes.get(iri) or schema.properties[iri]
            texts.append(f"{schema.label(iri)}. {label_of(term.comments, 'en', '')}"[:300])
        return embedder.embed(texts)

    def _with_neighbours(self, scores: Mapping[NamedNode, float]) -> dict[NamedNode, float]:
        """With a share for the classes one step away, which may be on the way between two that matter."""
        spread = dict(scores)
        for edge in self._schema.edges:
            if edge.literal:
                continue
            for near, far in ((edge.subject, edge.object), (edge.object, edge.subject)):
                share = _NEIGHBOUR * scores.get(near, 0.0)
                if share > spread.get(far, 0.0):
                    spread[far] = share
        return spread
