"""Which retriever a question goes to: by what it asks in, and by what the passages are like.

Nothing is learnt from any set of questions; the rules are:

1. a language that the embedding model does not know: by words;
2. codes, quoted words, or names that at most three passages hold: words weigh three times as much as likeness, since
   an embedding blurs what is written one way only;
3. passages that are talk (turns of speakers, times, hardly a title of their own): words weigh three times as much,
   since short turns hold little to embed;
4. passages under titles that others mention: PageRank alone, which has used likeness for its seeds; to add it once
   more draws the walk back to what merely sounds alike;
5. anything else: words and likeness alike.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from kgplatform.errors import ModelError
from kgplatform.protocols import Retriever
from kgplatform.retrieval.hybrid import HybridRetriever
from kgplatform.retrieval.lexical import LexicalRetriever
from kgplatform.retrieval.multihop import PageRankRetriever
from kgplatform.retrieval.pagerank import Passage
from kgplatform.retrieval.phrases import NameFinder, name_key, phrases, title_keys
from kgplatform.retrieval.sources import Sources
from kgplatform.text import language_of
from kgplatform.types import Hit

_CODE = re.compile(r"\b(?=[^\W_]*\d)(?=[^\W_]*[A-Za-z])[^\W_]{2,12}\b|\b[A-Z]{2,}[-/]?\d+\b")
_QUOTED = re.compile(r"[\"“「『《][^\"”」』》]{2,80}[\"”」』》]")
_TURN = re.compile(r"^\s*(?:\[?\d{1,4}[-/:.\d\s]*\]?\s*)?[^\W\d_][\w .'’-]{0,30}\s*[:：]\s*\S", re.MULTILINE)
_RARE: Final = 3
_SAMPLE: Final = 200
_TALK: Final = 0.5
_TITLED: Final = 0.2


@dataclass(frozen=True, slots=True)
class Character:
    """What passages are like: the share that is talk, and the share that names the title of another."""

    talk: float
    titled: float


@dataclass(frozen=True, slots=True)
class Route:
    """The retriever chosen, with the weights of words and likeness where both have a say, and why."""

    retriever: str
    lexical: float
    dense: float
    reason: str


class RouterRetriever:
    """Sends a question to the retriever that suits it and the passages."""

    name = "router"

    def __init__(self, sources: Sources) -> None:
        self._sources = sources
        self._lexical = LexicalRetriever(sources.index)
        self._pagerank = PageRankRetriever(sources)
        self._known: tuple[str, Character] | None = None

    def retrieve(self, question: str, k: int) -> list[Hit]:
        """At most ``k`` hits, best first; the score is the chosen retriever's."""
        return self.explain(question, k)[0]

    def explain(self, question: str, k: int) -> tuple[list[Hit], Route]:
        """The hits, and which way the question went."""
        route = self.route(question)
        index = self._sources.index
        alone: Mapping[str, Retriever] = {"lexical": self._lexical, "pagerank": self._pagerank}
        both = HybridRetriever(index, lexical_weight=route.lexical, dense_weight=route.dense)
        try:
            hits = alone.get(route.retriever, both).retrieve(question, k)
            away = index.away if route.retriever == "hybrid" else ""
        except ModelError as error:
            hits, away = self._lexical.retrieve(question, k), str(error)
        if away:
            index.away = away
            route = Route("lexical", 1.0, 0.0, f"the embedding model cannot be asked: {away}")
        return [Hit(hit.iri, hit.text, hit.score, hit.rank, self.name) for hit in hits], route

    def route(self, question: str) -> Route:
        """Which way the question goes, and why."""
        index = self._sources.index
        if index.embedder is None or (index.languages and language_of(question) not in index.languages):
            return Route("lexical", 1.0, 0.0, "the embedding model does not know the language of the question")
        character = self._character()
        if character.talk >= _TALK:
            return Route("hybrid", 3.0, 1.0, self._written_one_way(question) or "the passages are talk")
        if character.titled >= _TITLED:
            return Route("pagerank", 0.0, 0.0, "the passages name each other's titles")
        rare = self._written_one_way(question)
        if rare:
            return Route("hybrid", 3.0, 1.0, rare)
        return Route("hybrid", 1.0, 1.0, "nothing speaks for words or for likeness alone")

    def _written_one_way(self, question: str) -> str:
        """What of the question is written one way only; empty: nothing."""
        for pattern, what in ((_CODE, "a code"), (_QUOTED, "quoted words")):
            if match := pattern.search(question):
                return f"{match.group()} is {what}"
        for key in sorted(phrases(question)):
            holding = [f for f in self._sources.index.by_words(key, _RARE + 1) if f" {key} " in f" {name_key(f.text)} "]
            if 0 < len(holding) <= _RARE:
                return f"{key} is a rare name"
        return ""

    def _character(self) -> Character:
        state = self._sources.index.state
        if self._known is None or self._known[0] != state:
            self._known = (state, character(self._sources.passages()))
        return self._known[1]


def character(passages: Sequence[Passage]) -> Character:
    """What the passages are like, from some of them that lie evenly among all."""
    step = max(1, len(passages) // _SAMPLE)
    sample = passages[::step]
    if not sample:
        return Character(0.0, 0.0)
    talk = sum(_is_talk(passage.text) for passage in sample)
    titles = {key for passage in passages for key in title_keys(passage.title)}
    find = NameFinder(titles)
    named = sum(bool(find(passage.text) - set(title_keys(passage.title))) for passage in sample)
    return Character(talk / len(sample), named / len(sample))


def _is_talk(text: str) -> bool:
    """Whether most lines are turns of speakers, at least two."""
    lines = [line for line in text.splitlines() if line.strip()]
    turns = len(_TURN.findall(text))
    return turns >= 2 and turns * 2 >= len(lines)
