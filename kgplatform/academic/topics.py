"""What papers deal with: names of the graph, and phrases that recur, with their years."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pyoxigraph import NamedNode

from kgplatform.academic.papers import DIGESTED, Library, Paper, Sentence
from kgplatform.academic.terms import term
from kgplatform.extraction.chinese import tag
from kgplatform.extraction.lexicon import FILLERS, FUNCTION_WORDS
from kgplatform.text import has_han, normalise, singular

_CLASSES: Final = ("Concept", "Method", "Model", "Task", "Dataset", "Metric")
_PIECE: Final = re.compile(r"[^\W\d_]+(?:-[^\W_]+)*|\S")
_COMMON_WORDS: Final = """
    paper work works study approach method methods model models result results show shows shown propose proposed
    proposes present presents presented introduce use uses used using based new novel one two three first second
    several many more most much better best well good large small high low long short different same other others
    each every any all both such this that these those which who whose what how when where while because since
    however therefore thus then than also only even still yet very here there their its our it they we can could may
    might must shall should will would do does did done not no nor so too let make makes made need needs needed
    called without within between among across through during against per via into onto about over under after
    before again further way ways part parts number kind set sets case time times year years page authors author
    et al figure table section answer question problem problems given take takes taken whole until less few half own
    cannot easily quickly usually often always never plain keep keeps kept build builds together able become becomes
    found find finds learns learn trains train trained evaluated evaluate reaching reach reaches step steps fast slow
    like instead says said every once alone billion million
"""
_COMMON: Final = frozenset(_COMMON_WORDS.split())
_COMMON_HAN_WORDS: Final = "本文 论文 研究 方法 模型 结果 工作 问题 情况 时候 部分 一种 作者 摘记 数据 基础 函数"
_COMMON_HAN: Final = frozenset(_COMMON_HAN_WORDS.split())
_LONGEST: Final = 3
_LEAST_PAPERS: Final = 2
_MOST_TOPICS: Final = 60
_TREND: Final = 0.15


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic: its words, the thing of the graph (None: a phrase of the texts), its papers, and a sentence of each."""

    name: str
    iri: NamedNode | None
    papers: tuple[NamedNode, ...]
    passages: tuple[Sentence, ...]


@dataclass(frozen=True, slots=True)
class Trend:
    """How many papers a year deal with a topic, and whether their share rises (1), falls (-1) or neither (0)."""

    topic: Topic
    years: tuple[tuple[int, int], ...]
    direction: int

    @property
    def total(self) -> int:
        """The papers of all years, undated ones included."""
        return len(self.topic.papers)


def topics(library: Library, papers: Sequence[Paper]) -> list[Topic]:
    """What the abstracts and introductions deal with, the topics of most papers first."""
    named = _names(library)
    said: dict[str, dict[NamedNode, Sentence]] = defaultdict(dict)
    of: dict[str, NamedNode] = {}
    shown: dict[str, Counter[str]] = defaultdict(Counter)
    for paper in papers:
        for sentence in library.sentences(paper, DIGESTED):
            for key, text in _mentioned(sentence.text, named):
                said[key].setdefault(paper.iri, sentence)
                shown[key][text] += 1
                if key in named:
                    of[key] = named[key]
    most = max(_LEAST_PAPERS, len(papers))
    kept = [key for key, by in said.items() if key in of or _LEAST_PAPERS <= len(by) <= most]
    kept = _without_parts(kept, said)
    found = [
        Topic(shown[key].most_common(1)[0][0], of.get(key), tuple(said[key]), tuple(said[key].values())) for key in kept
    ]
    return sorted(found, key=lambda topic: (-len(topic.papers), topic.iri is None, topic.name))[:_MOST_TOPICS]


def trends(found: Iterable[Topic], papers: Sequence[Paper]) -> list[Trend]:
    """The topics by year; those of one paper are no trend."""
    years = {paper.iri: paper.year for paper in papers if paper.year is not None}
    all_years = Counter(years.values())
    return [
        Trend(topic, counts := _by_year(topic, years), _direction(dict(counts), all_years))
        for topic in found
        if len(topic.papers) >= _LEAST_PAPERS
    ]


def _by_year(topic: Topic, years: Mapping[NamedNode, int]) -> tuple[tuple[int, int], ...]:
    return tuple(sorted(Counter(years[iri] for iri in topic.papers if iri in years).items()))


def _direction(counts: Mapping[int, int], all_years: Mapping[int, int]) -> int:
    """Whether the topic's share of the later half of the papers is clearly above or below that of the earlier half."""
    ordered = [year for year, number in sorted(all_years.items()) for _ in range(number)]
    if len(set(ordered)) < 2:
        return 0
    middle = ordered[len(ordered) // 2]
    middle = middle if middle > ordered[0] else min(year for year in ordered if year > ordered[0])
    early = sum(number for year, number in all_years.items() if year < middle)
    late = len(ordered) - early
    shares = [
        sum(number for year, number in counts.items() if (year < middle) == is_early) / size
        for is_early, size in ((True, early), (False, late))
    ]
    change = shares[1] - shares[0]
    return 1 if change > _TREND else -1 if change < -_TREND else 0


def _names(library: Library) -> dict[str, NamedNode]:
    """The names of the graph's concepts, methods, models, tasks, data sets and metrics, as compared."""
    parts = library.parts
    found: dict[str, NamedNode] = {}
    for name in _CLASSES:
        for iri in parts.instances(term(name)):
            for word in library.labels.words(iri):
                key = _key(word.text)
                if len(key) >= (2 if has_han(key) or word.text.isupper() else 4) and key not in _COMMON | _COMMON_HAN:
                    found.setdefault(key, iri)
    return found


def _mentioned(text: str, named: Mapping[str, NamedNode]) -> Iterator[tuple[str, str]]:
    """The names and phrases in a sentence: what they are compared by, and as written."""
    if has_han(text):
        yield from _han(text, named)
        return
    pieces = [match.group() for match in _PIECE.finditer(text)]
    run: list[str] = []
    for piece in [*pieces, "."]:
        if piece[0].isalpha() and not _is_common(piece):
            run.append(piece)
            continue
        yield from _of_run(run, named)
        run = []


def _of_run(run: Sequence[str], named: Mapping[str, NamedNode]) -> Iterator[tuple[str, str]]:
    for size in range(1, _LONGEST + 1):
        for start in range(len(run) - size + 1):
            words = run[start : start + size]
            text = " ".join(words)
            key = _key(text)
            if key in named or (len(key) >= 5 and (size > 1 or _is_name(text))):
                yield key, text


def _han(text: str, named: Mapping[str, NamedNode]) -> Iterator[tuple[str, str]]:
    """Names of the graph anywhere, and nouns of two letters or more, with the noun before them where there is one."""
    whole = normalise(text)
    for key in named:
        inside = key in whole if has_han(key) else re.search(rf"(?<![a-z0-9]){re.escape(key)}(?![a-z0-9])", whole)
        if inside:
            yield key, key
    before = ""
    for token in tag(text):
        is_noun = token.tag.startswith(("n", "vn", "l", "i")) and has_han(token.text) and len(token.text) > 1
        if is_noun and token.text not in _COMMON_HAN:
            yield token.text, token.text
            if before:
                yield before + token.text, before + token.text
        before = token.text if is_noun else ""


def _is_common(word: str) -> bool:
    low = word.casefold()
    return low in _COMMON or low in FUNCTION_WORDS or low in FILLERS


def _is_name(word: str) -> bool:
    """Whether a word that stands alone tells enough: LibriSpeech, fine-tuning, BLEU; but not network."""
    return "-" in word or any(letter.isupper() for letter in word[1:])


def _key(text: str) -> str:
    """The text as compared: case-folded, the last word in the singular."""
    words = normalise(text).split()
    return " ".join([*words[:-1], singular(words[-1])]) if words else ""


def _without_parts(keys: Sequence[str], said: Mapping[str, Mapping[NamedNode, object]]) -> list[str]:
    """The keys without those that only occur as a part of a longer one, in the same papers."""
    kept: list[str] = []
    for key in sorted(keys, key=len, reverse=True):
        joined = "" if has_han(key) else " "
        longer = (
            other
            for other in kept
            if f"{joined}{key}{joined}" in f"{joined}{other}{joined}" and said[key].keys() <= said[other].keys()
        )
        if next(longer, None) is None:
            kept.append(key)
    return kept
