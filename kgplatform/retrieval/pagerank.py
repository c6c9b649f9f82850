"""Personalised PageRank over passages and the names that they share: multi-hop questions in one walk.

The graph is built without a model: a passage is tied to the passages whose titles it mentions and to the names and
rare phrases that it shares with others, each the weaker the more passages have it (1 / log(1 + n)). Statements, where
there are any, tie the names to each other. A question gives weight to the passages nearest to it, to those whose title
it names, and to both ends of the statements nearest to it; the walk spreads the weight, and passages are ranked by
what reaches them. Source of the idea: Gutiérrez et al., From RAG to Memory (HippoRAG 2), 2025, section 3; here the
seeds are a softmax over likeness, and no model filters the statements.
"""

from __future__ import annotations

import math
import re
from array import array
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from kgplatform.retrieval import index as saving
from kgplatform.retrieval.index import passage_key
from kgplatform.text import has_han

# In English and its kin a name is a run of capitalised words (``University of Oslo``) or a year; in Chinese the words
# that jieba cuts, and titles in 《》. Which of them tie passages together is told by how many passages have them.
_CAPITAL = r"[^\W\d_a-zß-öø-ÿ](?:[\w'’-]|\.(?=\w))*"
_CAPITALISED = re.compile(rf"(?:{_CAPITAL}|\d{{4}})(?:\s+(?:(?:of|of the|de|de la|du|von|van|&)\s+)?{_CAPITAL})*")
_HAN_TITLE = re.compile(r"《([^《》]{2,40})》")
_HAN_RUN = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff]{2,}")
_HAN_LETTERS = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff]+")
_HAN_BLANK = re.compile(r"(?<=[\u3400-\u4dbf\u4e00-\u9fff]) (?=[\u3400-\u4dbf\u4e00-\u9fff])")
_WORD = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff]|[^\W\u3400-\u4dbf\u4e00-\u9fff]+")
_BRACKETED = re.compile(r"\s*[（(][^）)]*[）)]\s*$")
_OPENERS: Final = frozenset(
    re.findall(
        r"\w+",
        """A After All Although An And As At Before Both But By Each For From He Her His How If In It Its Many Most No
        Not Of On One Or Our Several She Since So Some That The Their Then There These They This Those Through To Under
        Until We What When Where Which While Who Whose Why With""",
    )
)
_SHORTEST: Final = 3
KEYS: Final = "keys"
"""The array of a kept graph that has the keys of its passages in an index."""


def name_key(text: str) -> str:
    """The words of a name in small letters with single blanks between; Chinese by the character.

    >>> name_key("Hello, Dolly! (film)"), name_key("乌镇 West")
    ('hello dolly film', '乌 镇 west')
    """
    return " ".join(_WORD.findall(text.casefold()))


def as_written(key: str) -> str:
    """The key of a name as a text may have it: no blanks between Chinese characters.

    >>> as_written("乌 镇 west"), as_written("hello dolly")
    ('乌镇 west', 'hello dolly')
    """
    return _HAN_BLANK.sub("", key)


def title_keys(title: str) -> tuple[str, ...]:
    """The keys that a title goes by: whole, and without a bracket at its end ("Carnival (film)")."""
    keys = dict.fromkeys((name_key(title), name_key(_BRACKETED.sub("", title))))
    return tuple(key for key in keys if len(key) >= _SHORTEST)


def phrases(text: str) -> frozenset[str]:
    """The keys of the names that the text seems to hold."""
    found = {name_key(match[1]) for match in _HAN_TITLE.finditer(text)}
    for match in _CAPITALISED.finditer(text):
        words = match.group().rstrip(".-'’").split()
        while words and words[0] in _OPENERS:
            words = words[1:]
        found.add(name_key(" ".join(words)))
    if has_han(text):
        found.update(name_key(word) for run in _HAN_RUN.findall(text) for word in _words(run))
    return frozenset(key for key in found if len(key) >= _SHORTEST)


def chinese_words(text: str) -> list[str]:
    """The Chinese words of a text as jieba cuts them, in their order.

    >>> chinese_words("西栅的门票150元")
    ['西栅', '的', '门票', '元']
    """
    return [word for run in _HAN_LETTERS.findall(text) for word in _jieba().cut(run)]


def _words(run: str) -> Iterator[str]:
    return (word for word in _jieba().cut(run) if len(word) > 1)


@cache
def _jieba() -> Any:
    import jieba

    jieba.setLogLevel(60)
    return jieba


class NamesInText:
    """Finds which of many names a text holds; linear in the text."""

    def __init__(self, keys: Iterable[str]) -> None:
        self._starts: dict[str, list[str]] = {}
        for key in dict.fromkeys(keys):
            self._starts.setdefault(key.split(" ", 1)[0], []).append(key)

    def __call__(self, text: str, own: Collection[str] = ()) -> frozenset[str]:
        """The names in the text; a name inside a longer one that is there too does not count.

        ``own`` are names of the text itself, which hide none: *Hanover, New York* tells of *New York*.
        """
        whole = f" {name_key(text)} "
        found = {
            key for word in dict.fromkeys(whole.split()) for key in self._starts.get(word, ()) if f" {key} " in whole
        }
        hiding = found.difference(own)
        return frozenset(
            key for key in found if not any(key != other and f" {key} " in f" {other} " for other in hiding)
        )


def shared(by_passage: Mapping[int, Iterable[str]], *, least: int = 2, most: int = 40) -> dict[str, list[int]]:
    """The phrases that between ``least`` and ``most`` passages have, with those passages in order."""
    holders: dict[str, list[int]] = {}
    for passage, keys in by_passage.items():
        for key in keys:
            holders.setdefault(key, []).append(passage)
    return {key: sorted(places) for key, places in holders.items() if least <= len(places) <= most}


_FORMAT: Final = 3
_ROUNDS: Final = 20
_MOST_OWN: Final = 20


@dataclass(frozen=True, slots=True)
class PassageFact:
    """A statement by the names of its two ends, and in words."""

    subject: str
    text: str
    object: str


@dataclass(frozen=True, slots=True)
class GraphPassage:
    """A passage with its document's title, the names of the things known to be mentioned in it, and given statements.

    The names in ``facts`` are among ``names``.
    """

    iri: str
    title: str
    text: str
    names: tuple[str, ...] = ()
    facts: tuple[PassageFact, ...] = ()


@dataclass(frozen=True, slots=True)
class WalkWeights:
    """How a question is spread.

    ``temperature`` of the softmax over the cosines of the nearest passages, ``title`` and ``facts`` the weight of named
    titles and of near statements beside it, ``nearest_facts`` how many count, ``damping`` the share that walks on.
    """

    temperature: float = 0.08
    title: float = 0.3
    facts: float = 1.0
    nearest_facts: int = 5
    damping: float = 0.5


class PassageGraph:
    """Passages, names and statements as one graph, ready to be walked.

    ``passages`` are IRIs; a passage is known by its place among them, and a name by a place behind.
    """

    def __init__(
        self,
        passages: Sequence[str],
        facts: Sequence[PassageFact],
        titles: Mapping[str, Sequence[int]],
        nodes: Mapping[str, int],
        transitions: Any,
    ) -> None:
        self.passages = tuple(passages)
        self.facts = tuple(facts)
        self._titles = titles
        self._find_titles = NamesInText(titles)
        self._nodes = nodes
        self._transitions = transitions
        self._places: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self.passages)

    @classmethod
    def of(cls, passages: Sequence[GraphPassage], facts: Iterable[PassageFact] = ()) -> PassageGraph:
        """The graph of the passages, tied by what they share and by the statements.

        The statements that were given with the passages tie nothing: that their names are shared does so already, and
        a question begins at the ends of those near to it.
        """
        made = Connections(passages, tuple(facts))
        made.by_titles()
        made.by_phrases()
        made.by_facts()
        given = (fact for passage in passages for fact in passage.facts)
        known = tuple(dict.fromkeys((*given, *made.facts)))
        return cls([passage.iri for passage in passages], known, made.titles, made.nodes, made.transitions())

    @property
    def is_bare(self) -> bool:
        """Whether nothing connects the passages."""
        return not self._transitions.nnz

    def grown(self, passages: Sequence[str]) -> PassageGraph:
        """The graph with passages more, by their IRIs, which nothing connects yet."""
        from scipy.sparse import csr_matrix

        count, more, matrix = len(self.passages), len(passages), self._transitions.tocoo()
        places = [np.where(axis < count, axis, axis + more) for axis in (matrix.row, matrix.col)]
        size = matrix.shape[0] + more
        nodes = {key: place + more for key, place in self._nodes.items()}
        grown = csr_matrix((matrix.data, tuple(places)), shape=(size, size))
        return PassageGraph((*self.passages, *passages), self.facts, self._titles, nodes, grown)

    def placed(self, found: Iterable[tuple[int, float]]) -> dict[int, float]:
        """Passages by their keys in an index (`kgplatform.retrieval.index.passage_key`), by their places instead."""
        if not self._places:
            self._places = {passage_key(iri): place for place, iri in enumerate(self.passages)}
        return {self._places[key]: value for key, value in found if key in self._places}

    def save(self, path: Path, made_from: str) -> None:
        """Writes the graph; ``made_from`` tells one set of passages from another.

        Raises:
            WorkspaceError: the disk refuses.
        """
        matrix = self._transitions
        saving.save(
            path,
            {
                **{"data": matrix.data, "indices": matrix.indices, "indptr": matrix.indptr},
                KEYS: np.array([passage_key(iri) for iri in self.passages], dtype=np.uint64),
            },
            {
                "format": _FORMAT,
                "made_from": made_from,
                "passages": self.passages,
                "facts": [(fact.subject, fact.text, fact.object) for fact in self.facts],
                "titles": {key: list(owners) for key, owners in self._titles.items()},
                "nodes": dict(self._nodes),
            },
        )

    @classmethod
    def load(cls, path: Path, made_from: str | None = None) -> PassageGraph | None:
        """The graph in the file; None: there is none, it is damaged, or it was not made from these passages."""
        from scipy.sparse import csr_matrix

        held = saving.load(path)
        if held is None:
            return None
        arrays, texts = held
        if texts.get("format") != _FORMAT or made_from not in (None, texts.get("made_from")):
            return None
        size = len(texts["passages"]) + len(texts["nodes"])
        matrix = csr_matrix((arrays["data"], arrays["indices"], arrays["indptr"]), shape=(size, size))
        return cls(
            texts["passages"], [PassageFact(*fact) for fact in texts["facts"]], texts["titles"], texts["nodes"], matrix
        )

    def rank(
        self,
        question: str,
        near: Mapping[int, float],
        near_facts: Mapping[int, float] | None = None,
        weights: WalkWeights | None = None,
    ) -> NDArray[np.float64]:
        """What reaches each passage, in their order; the sum is at most 1.

        ``near`` are passages (by their place) with their cosine to the question, ``near_facts`` statements likewise.
        """
        chosen = weights or WalkWeights()
        seeds = np.zeros(self._transitions.shape[0])
        for passage, share in _softmax(near, chosen.temperature).items():
            seeds[passage] += share
        named = self._find_titles(question)
        for key in named:
            for owner in self._titles[key]:
                seeds[owner] += chosen.title / len(named) / len(self._titles[key])
        for number, share in _shares(near_facts or {}, chosen.nearest_facts).items():
            for key in (name_key(self.facts[number].subject), name_key(self.facts[number].object)):
                if key in self._nodes:
                    seeds[self._nodes[key]] += chosen.facts * share / 2
        reached: NDArray[np.float64] = self._spread(seeds, chosen.damping)[: len(self.passages)]
        return reached

    def _spread(self, seeds: NDArray[np.float64], damping: float) -> NDArray[np.float64]:
        """Personalised PageRank by power iteration (Page et al. 1999; Haveliwala 2002)."""
        total = seeds.sum()
        if not total:
            return seeds
        start = seeds / total
        spread: NDArray[np.float64] = start
        for _ in range(_ROUNDS):  # at a damping of 0.5 the rest is below a millionth
            spread = (1 - damping) * start + damping * (self._transitions @ spread)
        return spread


class Connections:
    """The edges of a passage graph in the making; ``nodes`` are the places of names, behind those of the passages."""

    def __init__(self, passages: Sequence[GraphPassage], facts: tuple[PassageFact, ...]) -> None:
        self.facts = facts
        self.titles = _titles(passages)
        self.nodes: dict[str, int] = {}
        self._passages = passages
        self._count = len(passages)
        self._rows, self._columns, self._weights = array("q"), array("q"), array("d")

    def transitions(self) -> Any:
        """Column j holds how weight at node j moves on: its edges by their share."""
        from scipy.sparse import csr_matrix, diags

        size = self._count + len(self.nodes)
        one, other = (np.frombuffer(places, dtype=np.int64) for places in (self._rows, self._columns))
        whole = np.concatenate
        tied = np.frombuffer(self._weights, dtype=np.float64)
        # what two nodes have in common several times is added up
        matrix = csr_matrix((whole([tied, tied]), (whole([one, other]), whole([other, one]))), shape=(size, size))
        leaving = np.asarray(matrix.sum(axis=0)).ravel()
        return (matrix @ diags(1 / np.where(leaving > 0, leaving, 1.0))).tocsr()

    def by_titles(self) -> None:
        """Connects a passage with those whose titles it mentions."""
        find = NamesInText(self.titles)
        for number, passage in enumerate(self._passages):
            for key in find(f"{passage.title}. {passage.text}", own=title_keys(passage.title)):
                owners = self.titles[key]
                for owner in owners[:_MOST_OWN]:
                    if owner != number:
                        self._tie(number, owner, 1 / len(owners))

    def by_phrases(self) -> None:
        """Connects passages with the names and rare phrases that they share."""
        held = {n: phrases(f"{p.title}. {p.text}") | set(map(name_key, p.names)) for n, p in enumerate(self._passages)}
        for key, holders in shared(held).items():
            node = self._node(key)
            for holder in holders:
                self._tie(holder, node, 1 / math.log(1 + len(holders)))

    def by_facts(self) -> None:
        """Connects the ends of each statement, and passages with those that they name."""
        stated = {key for fact in self.facts for key in (name_key(fact.subject), name_key(fact.object)) if key}
        for number, passage in enumerate(self._passages):
            for key in dict.fromkeys(map(name_key, passage.names)):
                if key in stated:
                    self._tie(number, self._node(key), 1.0)
        for fact in self.facts:
            ends = name_key(fact.subject), name_key(fact.object)
            if all(ends) and ends[0] != ends[1]:
                self._tie(self._node(ends[0]), self._node(ends[1]), 1.0)

    def _node(self, key: str) -> int:
        return self.nodes.setdefault(key, self._count + len(self.nodes))

    def _tie(self, one: int, other: int, weight: float) -> None:
        self._rows.append(one)
        self._columns.append(other)
        self._weights.append(weight)


def _titles(passages: Sequence[GraphPassage]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for number, passage in enumerate(passages):
        for key in title_keys(passage.title):
            found.setdefault(key, []).append(number)
    return found


def _softmax(near: Mapping[int, float], temperature: float) -> dict[int, float]:
    if not near:
        return {}
    best = max(near.values())
    raised = {place: math.exp((cosine - best) / temperature) for place, cosine in near.items()}
    total = sum(raised.values())
    return {place: value / total for place, value in raised.items()}


def _shares(near: Mapping[int, float], most: int) -> dict[int, float]:
    """The nearest, by their share of the likeness."""
    best = sorted((item for item in near.items() if item[1] > 0), key=lambda item: (-item[1], item[0]))[:most]
    total = sum(cosine for _, cosine in best)
    return {number: cosine / total for number, cosine in best}
