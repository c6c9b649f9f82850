"""The first look at papers, by abstract and introduction.

Open problems, what is seldom studied, what fits a topic, which papers belong together, and who cites whom.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray
from pyoxigraph import NamedNode

from kgplatform.academic.papers import DIGESTED, Library, Paper, Sentence, is_of
from kgplatform.academic.topics import Topic
from kgplatform.communities.detection import detect
from kgplatform.documents.sections import SectionKind
from kgplatform.extraction.lexicon import FUNCTION_WORDS
from kgplatform.text import has_han, normalise, singular, words

_OPEN_CUES: Final[tuple[tuple[float, tuple[str, ...]], ...]] = (
    (
        3.0,
        (
            r"future (?:work|research|studies)|open (?:problem|question|issue|challenge)s?",
            r"(?:is|are|was|were) left (?:to|for|open)|remains? (?:open|unclear|unsolved|unknown|to be|an? )",
            r"(?:has|have) (?:not|never) been|not yet|unsolved",
            r"未来(?:工作|研究)|今后|有待|尚未|仍待|留待|悬而未决|还没有",
        ),
    ),
    (
        2.0,
        (
            r"limitations?|limited (?:to|by)|shortcomings?|drawbacks?|weakness(?:es)?",
            r"fails? (?:to|on|when)|cannot|struggles?",
            r"局限|不足|缺陷|缺点|无法|难以|缺乏|受限于",
        ),
    ),
    (
        1.0,
        (
            r"(?-i:challeng\w+)|difficult|expensive|costly|bottleneck|at the price of|quadratic",
            r"needs? (?:hand-made|pre-segmented|large)",
            r"挑战|困难|代价|瓶颈|昂贵|平方增长",
        ),
    ),
    (0.5, (r"\bhowever\b|\bbut\b|然而|但是",)),
)
_CUES: Final = tuple((weight, re.compile("|".join(patterns), re.IGNORECASE)) for weight, patterns in _OPEN_CUES)
_LEANING: Final = re.compile(r"(?:it|its|they|their|this|these|those|he|she|such|here)\b|它|其|这|该", re.IGNORECASE)
_LEAST_OPEN: Final = 1.0
_MOST_OPEN: Final = 40
_MOST_RELEVANT: Final = 20
_MOST_SELDOM: Final = 30
_MEANING: Final = 0.6
_WORDS: Final = 0.4
_CITED: Final = 0.3
_LEAST_NEAR: Final = 0.3
_NAMED: Final = 3
_SELDOM: Final = ("Task", "Concept", "Dataset")


@dataclass(frozen=True, slots=True)
class OpenProblem:
    """A sentence that tells what is not solved, and how plainly it does (score: the sum of its cues)."""

    sentence: Sentence
    score: float


@dataclass(frozen=True, slots=True)
class Relevant:
    """A paper for a reader's topic: similarity (0..1) and the sentence that fits best."""

    paper: NamedNode
    similarity: float
    sentence: Sentence


@dataclass(frozen=True, slots=True)
class Cluster:
    """Papers that belong together, the topics that set them apart, and the sentence nearest to their middle."""

    papers: tuple[NamedNode, ...]
    topics: tuple[str, ...]
    middle: Sentence | None


@dataclass(frozen=True, slots=True)
class Citation:
    """A paper cites another one; ``known`` says whether both have a text."""

    paper: NamedNode
    cited: NamedNode
    known: bool


def open_problems(library: Library, papers: Iterable[Paper]) -> list[OpenProblem]:
    """The sentences of abstracts, introductions and conclusions that tell of what is not solved, the plainest first."""
    found = []
    for paper in papers:
        for sentence in library.sentences(paper, (*DIGESTED, SectionKind.CONCLUSION)):
            score = sum(weight for weight, cue in _CUES if cue.search(sentence.text))
            if score >= _LEAST_OPEN:
                found.append(OpenProblem(sentence, score))
    return sorted(found, key=lambda item: (-item.score, item.sentence.paper.value, item.sentence.source.start))[
        :_MOST_OPEN
    ]


def seldom(library: Library, topics: Iterable[Topic], papers: Sequence[Paper]) -> list[Topic]:
    """The tasks, concepts and data sets of the graph that only one of the papers deals with."""
    if len(papers) < 2:
        return []
    rare = [topic for topic in topics if topic.iri is not None and len(topic.papers) == 1]
    return [topic for topic in rare if topic.iri is not None and is_of(library.parts, topic.iri, *_SELDOM)][
        :_MOST_SELDOM
    ]


class Compared:
    """The sentences of papers with their vectors, embedded once."""

    def __init__(self, library: Library, papers: Sequence[Paper]) -> None:
        self.papers = list(papers)
        self._parts = library.parts
        self.sentences = [library.sentences(paper, DIGESTED) for paper in self.papers]
        texts = [sentence.text for group in self.sentences for sentence in group]
        vectors = library.parts.vectors(texts)
        starts = np.cumsum([0, *(len(group) for group in self.sentences)])
        self._vectors = [vectors[a:b] if vectors is not None else None for a, b in pairwise(starts.tolist())]

    def relevant(self, topic: str) -> list[Relevant]:
        """The papers that fit the topic by meaning and by words, best first, down to half the likeness of the best."""
        asked = self._parts.vectors([topic])
        wanted = _content(topic)
        found = []
        for paper, group, vectors in zip(self.papers, self.sentences, self._vectors, strict=True):
            title = _content(paper.title)
            near = vectors @ asked[0] if vectors is not None and asked is not None else np.zeros(len(group))
            shared = [_share(wanted, _content(sentence.text) | title) for sentence in group]
            knows = asked is not None and bool(np.any(asked))
            rated = [
                _MEANING * max(float(n), 0) + _WORDS * s if knows else s for n, s in zip(near, shared, strict=True)
            ]
            if rated and max(rated) > 0 and (any(shared) or max(near) >= _LEAST_NEAR):
                best = int(np.argmax(rated))
                found.append(Relevant(paper.iri, min(1.0, rated[best]), group[best]))
        least = max((item.similarity for item in found), default=0.0) / 2
        fitting = (item for item in found if item.similarity >= least)
        return sorted(fitting, key=lambda item: (-item.similarity, item.paper.value))[:_MOST_RELEVANT]

    def clusters(self, topics: Sequence[Topic]) -> list[Cluster]:
        """The papers in groups by likeness, shared topics and citations; the larger groups first.

        Two papers are tied by how much more alike they are than most pairs, by a citation, and by the share of topics.
        """
        middles = [_middle(vectors) for vectors in self._vectors]
        ties: dict[tuple[str, str], float] = {}
        likeness = {
            (a, b): float(middles[a] @ middles[b])  # type: ignore[operator]
            for a, b in combinations(range(len(self.papers)), 2)
            if middles[a] is not None and middles[b] is not None
        }
        usual = float(np.median(list(likeness.values()))) if likeness else 0.0
        of = {paper.iri: frozenset(t.name for t in topics if paper.iri in t.papers) for paper in self.papers}
        for a, b in combinations(range(len(self.papers)), 2):
            one, other = self.papers[a], self.papers[b]
            weight = max(0.0, likeness.get((a, b), 0.0) - usual)
            weight += _CITED * (one.iri in other.cites or other.iri in one.cites)
            weight += _share(of[one.iri], of[other.iri]) * _WORDS
            if weight > 0:
                ties[one.iri.value, other.iri.value] = weight
        groups = [c.members for c in detect(ties, largest=len(self.papers) + 1).communities if c.level == 0]
        tied = {member for group in groups for member in group}
        groups += [(paper.iri.value,) for paper in self.papers if paper.iri.value not in tied]
        clusters = [self._cluster(tuple(map(NamedNode, group)), topics) for group in groups]
        return sorted(clusters, key=lambda cluster: (-len(cluster.papers), cluster.papers[0].value))

    def _cluster(self, papers: tuple[NamedNode, ...], topics: Sequence[Topic]) -> Cluster:
        inside = frozenset(papers)
        ranked = sorted(
            topics,
            key=lambda t: (-(len(inside & set(t.papers)) ** 2) / len(t.papers), t.iri is None, t.name),
        )
        names = [topic.name for topic in ranked[:_NAMED] if inside & set(topic.papers)]
        return Cluster(tuple(sorted(papers, key=lambda iri: iri.value)), tuple(names), self._nearest(inside))

    def _nearest(self, papers: frozenset[NamedNode]) -> Sentence | None:
        """The sentence of an abstract nearest to the middle of the papers, else the first one."""
        places = [n for n, paper in enumerate(self.papers) if paper.iri in papers]
        told = [(s, n, k) for n in places for k, s in enumerate(self.sentences[n]) if s.section is SectionKind.ABSTRACT]
        vectors = [v for n in places if (v := self._vectors[n]) is not None]
        middle = _middle(np.concatenate(vectors)) if vectors else None
        told = [item for item in told if stands_alone(item[0].text)] or told
        if not told or middle is None:
            return told[0][0] if told else None

        def nearness(item: tuple[Sentence, int, int]) -> float:
            rows = self._vectors[item[1]]
            return float(rows[item[2]] @ middle) if rows is not None else 0.0

        return max(told, key=nearness)[0]


def stands_alone(text: str) -> bool:
    """Whether a sentence does not begin with a word for what an earlier one named."""
    return _LEANING.match(text) is None


def citations(library: Library, papers: Sequence[Paper]) -> list[Citation]:
    """Who cites whom: the papers that have a text, and what they cite."""
    known = frozenset(paper.iri for paper in papers)
    return [
        Citation(paper.iri, other, other in known)
        for paper in papers
        for other in paper.cites
        if other in library.papers
    ]


def most_cited(found: Iterable[Citation]) -> Counter[NamedNode]:
    """How often each paper is cited by the others."""
    return Counter(item.cited for item in found)


def _content(text: str) -> frozenset[str]:
    """The words of a text that tell something: without function words, in the singular; pairs of Han characters."""
    telling = (word for word in words(text) if word not in FUNCTION_WORDS and not has_han(word) and len(word) > 1)
    found = set(map(singular, telling))
    plain = normalise(text)
    found |= {plain[n : n + 2] for n in range(len(plain) - 1) if has_han(plain[n]) and has_han(plain[n + 1])}
    return frozenset(found)


def _share(wanted: frozenset[str], held: frozenset[str]) -> float:
    return len(wanted & held) / len(wanted) if wanted else 0.0


def _middle(vectors: NDArray[np.float32] | None) -> NDArray[np.float32] | None:
    if vectors is None or not vectors.any():
        return None
    middle: NDArray[np.float32] = vectors.mean(axis=0)
    return middle / np.linalg.norm(middle)
