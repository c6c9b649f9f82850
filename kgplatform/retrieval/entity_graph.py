"""The subgraph that ties some things of a graph together, by short paths.

`tied` walks breadth-first from all targets at once and joins the regions where they meet, shortest joins first
(Mehlhorn, A faster approximation algorithm for the Steiner problem in graphs, 1988, on edges of length one): one walk
over the graph, and no path longer than asked for.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from kgplatform.retrieval import index
from kgplatform.retrieval.index import question_pairs, question_stems
from kgplatform.retrieval.pagerank import NamesInText, name_key
from kgplatform.text import has_han, language_of
from kgplatform.types import Embedder

# An embedding model that does not know a language sees its words as unknown ones. Texts, and questions, in such a
# language are compared by the TF-IDF cosine of their terms (stems, pairs of Chinese characters); it is 0..1 as the
# cosine of vectors is.
_FORMAT: Final = 1
_REMEMBERED: Final = 200


@dataclass(frozen=True, slots=True)
class NearText:
    """A text by its place, and how like the question it is, 0..1."""

    place: int
    similarity: float


class EmbeddedTexts:
    """The vectors of texts, each embedded once; kept in a file, where one is given, from one time to the next."""

    def __init__(self, embedder: Embedder, path: Path | None = None) -> None:
        self.embedder = embedder
        self._languages = frozenset(getattr(embedder, "languages", None) or ())
        self._path = path
        self._known: dict[str, NDArray[np.float16]] = {}
        self._asked: dict[str, NDArray[np.float32]] = {}
        held = index.load(path) if path else None
        if held and (held[1].get("format"), held[1].get("model")) == (_FORMAT, embedder.name):
            self._known = dict(zip(held[1]["keys"], held[0]["vectors"], strict=True))
        self._written = frozenset(self._known)

    def knows(self, text: str) -> bool:
        """Whether the model knows the language of the text."""
        return not self._languages or language_of(text) in self._languages

    def of(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """The vectors, one row each, of unit length; zeros for a text in a language that the model does not know.

        Raises:
            ModelUnavailableError: the embedding model cannot be used.
        """
        keys = [_key(text) for text in texts]
        new = {key: text for key, text in zip(keys, texts, strict=True) if key not in self._known and self.knows(text)}
        if new:
            made = self.embedder.embed(list(new.values())).astype(np.float16)
            self._known.update(zip(new, made, strict=True))
        found = np.zeros((len(texts), self.embedder.dimensions), dtype=np.float32)
        for row, key in enumerate(keys):
            if key in self._known:
                found[row] = self._known[key]
        return found

    def asked(self, *questions: str) -> NDArray[np.float32]:
        """The vectors of questions or their parts, one row each; those of the last few are remembered.

        Raises:
            ModelUnavailableError: the embedding model cannot be used.
        """
        new = [text for text in dict.fromkeys(questions) if text not in self._asked]
        if new:
            if len(self._asked) > _REMEMBERED:
                self._asked = {text: self._asked[text] for text in questions if text in self._asked}
            self._asked.update(zip(new, self.embedder.embed(new), strict=True))
        return np.array([self._asked[text] for text in questions], dtype=np.float32)

    def keep(self, texts: Iterable[str]) -> None:
        """Writes the vectors of these texts to the file, and forgets the others.

        Raises:
            WorkspaceError: the disk refuses.
        """
        wanted = {key for text in texts if (key := _key(text)) in self._known}
        self._known = {key: self._known[key] for key in self._known if key in wanted}
        if self._path is None or (wanted == self._written and self._path.exists()):
            return
        vectors = np.array(list(self._known.values()), dtype=np.float16).reshape(-1, self.embedder.dimensions)
        noted = {"format": _FORMAT, "model": self.embedder.name, "keys": list(self._known)}
        index.save(self._path, {"vectors": vectors}, noted)
        self._written = frozenset(wanted)


def _key(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()


class NearTexts:
    """Texts that can be asked which of them are near; ``vectors`` None: by words only."""

    def __init__(self, texts: Sequence[str], vectors: EmbeddedTexts | None) -> None:
        self.texts = tuple(texts)
        self._vectors = vectors
        self._matrix = vectors.of(self.texts) if vectors else None
        self._spoken = (
            np.array([vectors.knows(text) for text in self.texts], dtype=bool)
            if vectors
            else np.zeros(len(self.texts), dtype=bool)
        )
        self._terms: dict[str, int] = {}
        self._words, self._rarity = self._counted()

    def __len__(self) -> int:
        return len(self.texts)

    def similarities(self, question: str) -> NDArray[np.float32]:
        """How like the question each text is, 0..1, in their order.

        Raises:
            ModelUnavailableError: the embedding model cannot be used.
        """
        if not self.texts or not question.strip():
            return np.zeros(len(self.texts), dtype=np.float32)
        by_words: NDArray[np.float32] | None = None
        if self._vectors is None or self._matrix is None or not self._vectors.knows(question):
            return self._by_words(question)
        found = self._matrix @ self._vectors.asked(question)[0]
        if not self._spoken.all():
            by_words = self._by_words(question)
            found = np.where(self._spoken, found, by_words)
        clipped: NDArray[np.float32] = np.clip(found, 0.0, 1.0).astype(np.float32)
        return clipped

    def near(self, question: str, most: int, *, least: float = 0.0) -> list[NearText]:
        """At most ``most`` texts that are more than ``least`` like the question, the nearest first."""
        return nearest(self.similarities(question), most, least=least)

    def _counted(self) -> tuple[Any, NDArray[np.float64]]:
        from scipy.sparse import csr_matrix

        counts = [_term_counts(text) for text in self.texts]
        for terms in counts:
            for term in terms:
                self._terms.setdefault(term, len(self._terms))
        held = np.zeros(max(len(self._terms), 1))
        for terms in counts:
            held[[self._terms[term] for term in terms]] += 1
        rarity = np.log((1 + len(counts)) / (1 + held)) + 1
        rows = [row for row, terms in enumerate(counts) for _ in terms]
        columns = [self._terms[term] for terms in counts for term in terms]
        weights = np.array([1 + math.log(count) for terms in counts for count in terms.values()]) * rarity[columns]
        matrix = csr_matrix((weights, (rows, columns)), shape=(len(counts), len(rarity)))
        lengths = np.sqrt(np.asarray(matrix.multiply(matrix).sum(axis=1)).ravel())
        scale = 1 / np.where(lengths > 0, lengths, 1.0)
        matrix.data *= np.repeat(scale, np.diff(matrix.indptr))
        return matrix, rarity

    def _by_words(self, question: str) -> NDArray[np.float32]:
        asked = {self._terms[t]: 1 + math.log(n) for t, n in _term_counts(question).items() if t in self._terms}
        vector = np.zeros(len(self._rarity))
        for column, weight in asked.items():
            vector[column] = weight * self._rarity[column]
        length = float(np.linalg.norm(vector))
        found: NDArray[np.float32] = np.asarray(self._words @ (vector / (length or 1.0)), dtype=np.float32)
        return np.minimum(found, np.float32(1.0))


def _term_counts(text: str) -> Mapping[str, int]:
    return Counter((*question_stems(text), *question_pairs(text)))


def nearest(similarities: NDArray[np.float32], most: int, *, least: float = 0.0) -> list[NearText]:
    """At most ``most`` places above ``least``, best first; equal ones in their order."""
    places = np.flatnonzero(similarities > least)
    order = places[np.argsort(-similarities[places], kind="stable")][: max(most, 0)]
    return [NearText(int(place), float(similarities[place])) for place in order]


# It comes from whoever has the graph; here are only words and IRIs, so that a retriever can be tried on anything.
@dataclass(frozen=True, slots=True)
class Thing:
    """A thing with what it is called and the passages that mention it.

    ``names`` holds its label and its other names; ``kind`` is its class in words; ``above`` are the labels of what it
    lies in, the nearest first.
    """

    iri: str
    label: str
    names: tuple[str, ...] = ()
    description: str = ""
    kind: str = ""
    above: tuple[str, ...] = ()
    passages: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The thing as it is embedded: name, class, description."""
        return ". ".join(filter(None, (self.label, self.kind, self.description)))


@dataclass(frozen=True, slots=True)
class GraphRelation:
    """A statement between two things (their IRIs), in words, as heavy as it has evidence.

    ``chinese`` says the same in Chinese, as far as there are names; empty: it is not known.
    """

    subject: str
    object: str
    text: str
    weight: float = 1.0
    passages: tuple[str, ...] = ()
    chinese: str = ""


@dataclass(frozen=True, slots=True)
class Keyword:
    """A word or phrase and all passages that it is a keyword of."""

    text: str
    passages: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Report:
    """What is said of a community: its IRI, members (IRIs), level (0 the coarsest) and weight."""

    iri: str
    title: str
    text: str
    members: frozenset[str] = frozenset()
    level: int = 0
    weight: float = 0.0

    @property
    def whole(self) -> str:
        """Title and text."""
        return f"{self.title}\n{self.text}" if self.title else self.text


@dataclass(frozen=True)
class Knowledge:
    """A graph as retrieval sees it."""

    things: tuple[Thing, ...] = ()
    relations: tuple[GraphRelation, ...] = ()
    keywords: tuple[Keyword, ...] = ()
    reports: tuple[Report, ...] = field(default=())

    @cached_property
    def state(self) -> str:
        """A hash of it all: another as soon as anything comes, goes or changes."""
        whole = hashlib.blake2b(digest_size=16)
        for part in self._parts():
            whole.update(f"{part}\x1e".encode("utf-8", "surrogatepass"))
        return whole.hexdigest()

    @property
    def texts(self) -> list[str]:
        """All that is embedded of it."""
        return [
            *(thing.text for thing in self.things),
            *(relation.text for relation in self.relations),
            *(keyword.text for keyword in self.keywords),
            *(report.whole for report in self.reports),
        ]

    def _parts(self) -> Iterator[object]:
        yield from (*self.things, *self.relations, *self.keywords)
        yield from ((r.iri, r.title, r.text, sorted(r.members), r.level, r.weight) for r in self.reports)


# Things and relations are known by their places in `Knowledge`. Parallel relations stay apart; ``degree`` counts the
# relations at a thing, and the rank of a relation is the sum of the degrees of its ends (the travel framework, section
# on relation linking).
_EXACT: Final = 1.0


@dataclass(frozen=True, slots=True)
class EntityMatch:
    """A stored thing that words stand for; ``exact``: by one of its names, else by likeness."""

    thing: int
    similarity: float
    exact: bool


class EntityGraph:
    """Things, relations, keywords and reports of `Knowledge`; ``vectors`` None: likeness is by words.

    What is embedded is embedded when first asked for.
    """

    def __init__(self, knowledge: Knowledge, vectors: EmbeddedTexts | None = None) -> None:
        self.knowledge = knowledge
        self._vectors = vectors
        self.places = {thing.iri: place for place, thing in enumerate(knowledge.things)}
        self.ends: tuple[tuple[int, int], ...] = tuple(
            (self.places[relation.subject], self.places[relation.object]) for relation in knowledge.relations
        )
        around: list[list[int]] = [[] for _ in knowledge.things]
        for number, (subject, object_) in enumerate(self.ends):
            around[subject].append(number)
            if object_ != subject:
                around[object_].append(number)
        self.around: tuple[tuple[int, ...], ...] = tuple(map(tuple, around))
        self._named: dict[str, list[int]] = {}
        for place, thing in enumerate(knowledge.things):
            for key in dict.fromkeys(name_key(name) for name in (thing.label, *thing.names)):
                if key:
                    self._named.setdefault(key, []).append(place)

    def thing(self, place: int) -> Thing:
        """The thing at the place."""
        return self.knowledge.things[place]

    def degree(self, thing: int) -> int:
        """How many relations the thing has."""
        return len(self.around[thing])

    def rank(self, relation: int) -> int:
        """The degrees of the relation's two ends together."""
        subject, object_ = self.ends[relation]
        return self.degree(subject) + self.degree(object_)

    def other(self, relation: int, thing: int) -> int:
        """The end of the relation that is not the thing."""
        subject, object_ = self.ends[relation]
        return object_ if subject == thing else subject

    @cached_property
    def find_names(self) -> NamesInText:
        """Finds the names of things in a text, by their keys."""
        return NamesInText(self._named)

    def named(self, name: str) -> list[int]:
        """The things of exactly that name, the best tied first."""
        return sorted(self._named.get(name_key(name), ()), key=lambda place: (-self.degree(place), place))

    def prepare(self, words: Sequence[str]) -> None:
        """Embeds the words together, which is quicker than one by one, for the calls of `match` that follow.

        Raises:
            ModelUnavailableError: the embedding model cannot be used.
        """
        wanted = [text for text in words if self._vectors and self._vectors.knows(text) and not self.named(text)]
        if self._vectors and wanted:
            self._vectors.asked(*wanted)

    def match(self, words: str, most: int = 1, *, least: float = 0.0) -> list[EntityMatch]:
        """The things that the words stand for: those of that name, then those most like it.

        Raises:
            ModelUnavailableError: the embedding model cannot be used.
        """
        exact = [EntityMatch(place, _EXACT, exact=True) for place in self.named(words)[:most]]
        if len(exact) >= most:
            return exact
        taken = {match.thing for match in exact}
        near = self.near_things.near(words, most + len(taken), least=least)
        like = [EntityMatch(n.place, n.similarity, exact=False) for n in near if n.place not in taken]
        return [*exact, *like][:most]

    @cached_property
    def near_things(self) -> NearTexts:
        """The things by name, class and description."""
        return self._near([thing.text for thing in self.knowledge.things])

    @cached_property
    def near_relations(self) -> NearTexts:
        """The relations in words."""
        return self._near([relation.text for relation in self.knowledge.relations])

    @cached_property
    def near_keywords(self) -> NearTexts:
        """The keywords of passages."""
        return self._near([keyword.text for keyword in self.knowledge.keywords])

    @cached_property
    def near_reports(self) -> NearTexts:
        """The reports on communities."""
        return self._near([report.whole for report in self.knowledge.reports])

    @cached_property
    def _in_chinese(self) -> NearTexts:
        """The relations in Chinese, compared by words: a text of two languages would mislead a model of one."""
        return NearTexts([relation.chinese for relation in self.knowledge.relations], None)

    def relation_likeness(self, question: str) -> NDArray[np.float32]:
        """How like the question each relation is, 0..1; a Chinese question is compared with its Chinese words too.

        Raises:
            ModelUnavailableError: the embedding model cannot be used.
        """
        found = self.near_relations.similarities(question)
        return np.maximum(found, self._in_chinese.similarities(question)) if has_han(question) else found

    def relation_near(self, question: str, most: int, *, least: float = 0.0) -> list[NearText]:
        """At most ``most`` relations that are more than ``least`` like the question, the nearest first."""
        return nearest(self.relation_likeness(question), most, least=least)

    def _near(self, texts: list[str]) -> NearTexts:
        made = NearTexts(texts, self._vectors)
        if self._vectors:
            self._vectors.keep(self.knowledge.texts)
        return made


@dataclass(frozen=True, slots=True)
class Subgraph:
    """Things and relations by their places, in the order in which they were found; targets come first."""

    things: tuple[int, ...]
    relations: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Reached:
    """How the walk came to a thing: from which target, in how many steps, by which relation."""

    target: int
    steps: int
    by: int | None


def tied(graph: EntityGraph, targets: Sequence[int], *, longest: int = 4) -> Subgraph:
    """The targets and the paths of at most ``longest`` relations that tie them; a target without a path stays alone."""
    reached, joins = _regions(graph, targets, longest)
    group = {target: target for target in targets}

    def root(target: int) -> int:
        while group[target] != target:
            group[target] = group[group[target]]
            target = group[target]
        return target

    things, relations = dict.fromkeys(targets), dict[int, None]()
    for length, relation in sorted(joins):
        one, other = graph.ends[relation]
        first, second = root(reached[one].target), root(reached[other].target)
        if length > longest or first == second:
            continue
        group[first] = second
        relations[relation] = None
        for end in (one, other):
            for thing, by in _back(graph, reached, end):
                things[thing] = None
                if by is not None:
                    relations[by] = None
    return Subgraph(tuple(things), tuple(relations))


def _regions(
    graph: EntityGraph, targets: Sequence[int], longest: int
) -> tuple[dict[int, _Reached], list[tuple[int, int]]]:
    """What is reached from which target, and the relations where two regions meet with the length of their path.

    A path of n relations is met from both sides after at most n / 2 steps, so no side walks further.
    """
    reached = {target: _Reached(target, 0, None) for target in targets}
    joins: list[tuple[int, int]] = []
    waiting = deque(reached)
    while waiting:
        thing = waiting.popleft()
        here = reached[thing]
        for relation in graph.around[thing]:
            other = graph.other(relation, thing)
            there = reached.get(other)
            if there is None:
                if 2 * (here.steps + 1) <= longest:
                    reached[other] = _Reached(here.target, here.steps + 1, relation)
                    waiting.append(other)
            elif there.target != here.target:
                joins.append((here.steps + there.steps + 1, relation))
    return reached, joins


def _back(graph: EntityGraph, reached: dict[int, _Reached], thing: int) -> Iterator[tuple[int, int | None]]:
    """The way from a thing back to its target."""
    while True:
        by = reached[thing].by
        yield thing, by
        if by is None:
            return
        thing = graph.other(by, thing)
