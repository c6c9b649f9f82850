"""Passages by several methods at once, by PageRank, in stages, or by the method that suits question and passages.

The router of the last has learnt nothing from any set of questions; its rules are:

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

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray
from pyoxigraph import NamedNode

from kgplatform.documents.chunking import fixed_tokens
from kgplatform.errors import ModelError
from kgplatform.models.embed import LateInteraction, Reranker
from kgplatform.retrieval.index import ChunkIndex, FoundPassage, passage_key, question_pairs, question_stems
from kgplatform.retrieval.lexical import DenseRetriever, LexicalRetriever
from kgplatform.retrieval.pagerank import (
    GraphPassage,
    NamesInText,
    PassageGraph,
    WalkWeights,
    name_key,
    phrases,
    title_keys,
)
from kgplatform.retrieval.sources import Corpus, ExplainingRetriever, passage_hits
from kgplatform.text import language_of
from kgplatform.types import Chunk, Document, Embedder, Hit, Retriever

# Reciprocal rank fusion: a passage scores Σ weight / (60 + rank). Source: G. V. Cormack, C. L. A. Clarke, S. Büttcher,
# Reciprocal Rank Fusion outperforms Condorcet and individual Rank Learning Methods, SIGIR 2009; k = 60 is theirs.
RANK_CONSTANT: Final = 60
_DEPTH: Final = 50


class HybridRetriever:
    """Finds passages by words and by meaning at once.

    Meaning has no say where the embedding model does not know the language of the question: an English model sees
    Chinese characters as unknown words, and its ranking would be chance. Nor has it where the model cannot be asked, as
    when its server is down; `ChunkIndex.away` then says why.
    """

    name = "hybrid"

    def __init__(self, index: ChunkIndex, *, lexical_weight: float = 1.0, dense_weight: float = 1.0) -> None:
        self._index = index
        self._lexical = LexicalRetriever(index)
        self._dense = DenseRetriever(index)
        self._lexical_weight = lexical_weight
        self._dense_weight = dense_weight

    def retrieve(self, question: str, k: int) -> list[Hit]:
        """At most ``k`` hits, best first; the score is the fused one."""
        depth = max(_DEPTH, 2 * k) if k > 0 else 0
        by_words = self._lexical.retrieve(question, depth) if self._lexical_weight else []
        by_meaning = meant(self._index, self._dense, question, depth) if self._dense_weight else []
        return fused([(self._lexical_weight, by_words), (self._dense_weight, by_meaning)], k, self.name)


def speaks(index: ChunkIndex, question: str) -> bool:
    """Whether vectors have a say: there are usable ones, and their model knows the language of the question."""
    return not index.misfit and (not index.languages or language_of(question) in index.languages)


def meant(index: ChunkIndex, dense: Retriever, question: str, depth: int) -> list[Hit]:
    """The hits by meaning, none where vectors have no say; ``index.away`` says why the model cannot be asked, if so."""
    if not speaks(index, question):
        return []
    try:
        found = dense.retrieve(question, depth)
    except ModelError as error:
        index.away = str(error)
        return []
    index.away = ""
    return found


def fused(rankings: Iterable[tuple[float, list[Hit]]], k: int, name: str) -> list[Hit]:
    """The first ``k`` of the weighted rankings taken together; equal scores in the order of their IRIs."""
    scores: dict[str, float] = {}
    known: dict[str, Hit] = {}
    for weight, ranking in rankings:
        for hit in ranking:
            known.setdefault(hit.iri.value, hit)
            scores[hit.iri.value] = scores.get(hit.iri.value, 0.0) + weight / (RANK_CONSTANT + hit.rank)
    best = sorted(scores, key=lambda iri: (-round(scores[iri], 12), iri))[: max(k, 0)]
    return [
        Hit(iri=known[iri].iri, text=known[iri].text, score=scores[iri], rank=rank, retriever=name)
        for rank, iri in enumerate(best, start=1)
    ]


_NEAR: Final = 200
_WORDS_SCALE: Final = 0.4
"""The best passage by words counts like a cosine of this size above none."""
_WORDS_BESIDE: Final = 0.3
"""What the best passage by words gains beside its cosine if it holds all words of the question."""
_WORDED: Final = 20
_SHOWN: Final = 10


@dataclass(frozen=True, slots=True)
class PageRankTrace:
    """Where a walk began: the nearest passages (IRIs) and statements (words), each with its likeness."""

    passages: tuple[tuple[str, float], ...]
    statements: tuple[tuple[str, float], ...]


class PageRankRetriever(ExplainingRetriever):
    """Ranks passages by personalised PageRank over the passage graph (`kgplatform.retrieval.pagerank`).

    Statements that were read in the passages tie them too, unless ``stated`` is off. Where the embedding model does not
    know the language of the question, or cannot be asked, nearness is by words. Where shared names alone are to connect
    the passages and there is no graph of them, the hits are those of `HybridRetriever`.
    """

    def __init__(self, sources: Corpus, *, stated: bool = True) -> None:
        self.name = "pagerank" if stated else "pagerank-shared"
        self._sources = sources
        self._is_stated = stated

    def explain(self, question: str, k: int) -> tuple[list[Hit], PageRankTrace]:
        """At most ``k`` hits, best first, scored by the share of the walk that reaches them; and where it began."""
        if k < 1:
            return [], PageRankTrace((), ())
        index = self._sources.index
        graph = self._sources.passage_graph(stated=True) if self._is_stated else self._sources.shared_names()
        if graph is None:
            hits = HybridRetriever(index).retrieve(question, k)
            return [replace(hit, retriever=self.name) for hit in hits], PageRankTrace((), ())
        near = graph.placed(near_passages(self._sources, question))
        stated = near_statements(self._sources, graph, question, stated=self._is_stated)
        reached = graph.rank(question, near, stated)
        most = k + max(len(graph) - len(index), 0)  # what is gone since the graph was made takes no place
        best = [int(place) for place in np.argsort(-reached, kind="stable")[:most] if reached[place] > 0]
        hits = passage_hits(index, [(graph.passages[place], float(reached[place])) for place in best], k, self.name)
        seeds = sorted(near.items(), key=lambda item: -item[1])[:_SHOWN]
        return hits, PageRankTrace(
            tuple((graph.passages[place], value) for place, value in seeds),
            tuple((graph.facts[number].text, value) for number, value in stated.items()),
        )


def near_statements(
    sources: Corpus, graph: PassageGraph, question: str, *, stated: bool = True, by_words: bool = False
) -> dict[int, float]:
    """The nearest statements by their places, with their likeness; by words if no model can say, unless ``stated``."""
    if not graph.facts:
        return {}
    try:
        texts = sources.near_facts(graph, stated=stated, by_words=by_words)
        return {item.place: item.similarity for item in texts.near(question, WalkWeights().nearest_facts)}
    except ModelError as error:
        if stated:
            raise
        sources.index.away = str(error)
        return near_statements(sources, graph, question, stated=stated, by_words=True)


def near_passages(sources: Corpus, question: str) -> list[tuple[int, float]]:
    """The keys of the passages nearest to the question with their cosine and what their words add, or by words alone.

    An embedding hardly knows a rare word: asked for *puffins*, it put the only passage that names them ninth. What the
    words add falls steeply with the share of the question's words that a passage holds, and with its share of the best
    score, so that a question over several passages, none of which holds most of it, is left to its meaning.
    """
    index = sources.index
    if index.embedder and speaks(index, question):
        try:
            near = dict(index.nearest(question, _NEAR))
        except ModelError as error:
            index.away = str(error)
        else:
            index.away = ""
            farthest, asked = min(near.values(), default=0.0), _words(question)
            for passage, share in _by_words(index, question, _WORDED):
                key, said = passage_key(passage.iri), _words(f"{passage.title}\n{passage.text}")
                held = len(asked & said) / len(asked)
                near[key] = near.get(key, farthest) + _WORDS_BESIDE * (share * held**2) ** 2
            return list(near.items())
    return [(passage_key(passage.iri), _WORDS_SCALE * share) for passage, share in _by_words(index, question, _NEAR)]


def _by_words(index: ChunkIndex, question: str, k: int) -> list[tuple[FoundPassage, float]]:
    """The best passages by words, and the share that each has of the best one's score."""
    found = index.by_words(question, k)
    return [(item, item.score / found[0].score) for item in found]


def _words(text: str) -> set[str]:
    return {*question_stems(text), *question_pairs(text)}


# Of the 200 passages that share most words with the question, the five best by their words and the twenty best by their
# meaning are rated with their page's name before them (and its snippet, for pages found on the web). The judge is the
# cross-encoder of the settings, or without one the late interaction of the embedding model's tokens. Source: Xie et
# al., WeKnow-RAG, 2024, section 3.2; there the embedding model is bge-large-en-v1.5 and the judge bge-reranker-large.
PAGE_TOKENS: Final = 500
"""How many tokens a passage of a page has that was not cut before."""


@dataclass(frozen=True, slots=True)
class Stages:
    """How many passages go through: of all by words, of those by words and by meaning to the judge."""

    sparse: int = 200
    by_words: int = 5
    by_meaning: int = 20


@dataclass(frozen=True, slots=True)
class Stage:
    """What a stage let through, best first."""

    name: str
    passages: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FoundPage:
    """A page that a search found: its name and snippet as the search gave them, and its text."""

    url: str
    name: str
    text: str
    snippet: str = ""


class MultiStageRetriever:
    """Finds passages by words, by meaning among those, and puts the best of both in the order of a judge."""

    name = "multi-stage"

    def __init__(self, sources: Corpus, stages: Stages | None = None) -> None:
        self._sources = sources
        self._stages = stages or Stages()

    def retrieve(self, question: str, k: int) -> list[Hit]:
        """At most ``k`` hits, best first: the judged ones with the judge's score, below them the others of stage one.

        Raises:
            ModelUnavailableError: the embedding model or the re-ranker cannot be used.
        """
        return self.traced(question, k)[0]

    def traced(self, question: str, k: int) -> tuple[list[Hit], tuple[Stage, ...]]:
        """The hits, and what each stage let through.

        Raises:
            ModelUnavailableError: the embedding model or the re-ranker cannot be used.
        """
        index = self._sources.index
        candidates = index.by_words(question, max(self._stages.sparse, k)) if k > 0 else []
        cosines = None
        if candidates and index.embedder and speaks(index, question):
            cosines = index.vectors([found.iri for found in candidates]) @ index.embedder.embed([question])[0]
        judge = self._sources.judge
        if isinstance(judge, LateInteraction) and not speaks(index, question):
            judge = None  # its tokens would be unknown words
        return staged(question, candidates, k, stages=self._stages, cosines=cosines, judge=judge)


def search_pages(
    question: str,
    pages: Iterable[FoundPage],
    k: int,
    *,
    embedder: Embedder | None = None,
    tokens: int = PAGE_TOKENS,
) -> list[Hit]:
    """At most ``k`` passages of ``tokens`` of the pages, by the same stages; an IRI is the page's with its characters.

    Snippets are passages too, and stand beside the page's name before the judge.

    Raises:
        ModelUnavailableError: the embedding model or the re-ranker cannot be used.
    """
    stages, pages = Stages(), list(pages)
    index = ChunkIndex(None, None)
    index.add(_page_chunks(pages, tokens))
    candidates = index.by_words(question, max(stages.sparse, k)) if k > 0 else []
    known = frozenset(getattr(embedder, "languages", None) or ())
    cosines, judge = None, None
    if embedder and candidates and (not known or language_of(question) in known):
        vectors = embedder.embed([question, *(f"{found.title}\n{found.text}" for found in candidates)])
        cosines = vectors[1:] @ vectors[0]
        judge = LateInteraction(embedder)
    snippets = {page.url: page.snippet for page in pages}
    named = {found.iri: snippets.get(found.iri.partition("#")[0], "") for found in candidates}
    return staged(question, candidates, k, stages=stages, cosines=cosines, judge=judge, snippets=named)[0]


def _page_chunks(pages: Iterable[FoundPage], tokens: int) -> Iterable[tuple[Chunk, str]]:
    for page in pages:
        digest = hashlib.sha256(page.text.encode("utf-8", "surrogatepass")).hexdigest()
        document = Document(
            NamedNode(page.url), page.text, page.name, "text/plain", page.url, digest, language_of(page.text)
        )
        for chunk in fixed_tokens(document, max_tokens=tokens, overlap=0):
            iri = NamedNode(f"{page.url}#char={chunk.start},{chunk.end}")
            yield Chunk(iri, chunk.document, chunk.index, chunk.start, chunk.end, chunk.text), page.name
        if page.snippet.strip():
            snippet = page.snippet
            yield Chunk(NamedNode(f"{page.url}#snippet"), document.iri, 0, 0, len(snippet), snippet), page.name


def staged(
    question: str,
    candidates: Sequence[FoundPassage],
    k: int,
    *,
    stages: Stages,
    cosines: NDArray[np.float32] | None,
    judge: Reranker | None,
    snippets: dict[str, str] | None = None,
) -> tuple[list[Hit], tuple[Stage, ...]]:
    """The candidates (best first by their words) through the other stages.

    Raises:
        ModelUnavailableError: the re-ranker cannot be used.
    """
    places = list(range(len(candidates)))
    by_words = places[: stages.by_words]
    by_meaning: list[int] = []
    if cosines is not None:
        by_meaning = [int(place) for place in np.argsort(-cosines, kind="stable")[: stages.by_meaning]]
    finalists = list(dict.fromkeys((*by_words, *(by_meaning or places[: stages.by_meaning]))))
    ratings = _ratings(question, [candidates[place] for place in finalists], judge, snippets or {})
    order = sorted(zip(finalists, ratings, strict=True), key=lambda item: (-round(item[1], 6), candidates[item[0]].iri))
    floor = order[-1][1] if order else 0.0
    judged = set(finalists)
    # what was not judged comes after what was, in its order
    order += [(p, floor - 1 + 1 / (2 + n)) for n, p in enumerate(p for p in places if p not in judged)]
    found = [
        Hit(NamedNode(candidates[place].iri), candidates[place].text, score, rank, MultiStageRetriever.name)
        for rank, (place, score) in enumerate(order[: max(k, 0)], start=1)
    ]
    trace = (
        ("words", places),
        ("best by words", by_words),
        ("by meaning", by_meaning),
        ("judged", [p for p, _ in order]),
    )
    return found, tuple(Stage(name, tuple(candidates[p].iri for p in let)) for name, let in trace)


def _ratings(
    question: str, finalists: Sequence[FoundPassage], judge: Reranker | None, snippets: dict[str, str]
) -> Sequence[float]:
    if judge is None or not finalists:
        return [found.score for found in finalists]
    said = [_read(found, snippets.get(found.iri, "")) for found in finalists]
    return [float(rating) for rating in judge.rate(question, said)]


def _read(found: FoundPassage, snippet: str) -> str:
    parts = [found.title, snippet if snippet != found.text else "", found.text]
    return "\n".join(part for part in parts if part.strip())


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
class RetrievalRoute:
    """The retriever chosen, with the weights of words and likeness where both have a say, and why."""

    retriever: str
    lexical: float
    dense: float
    reason: str


class RouterRetriever(ExplainingRetriever):
    """Sends a question to the retriever that suits it and the passages."""

    name = "router"

    def __init__(self, sources: Corpus) -> None:
        self._sources = sources
        self._lexical = LexicalRetriever(sources.index)
        self._pagerank = PageRankRetriever(sources)
        self._known: tuple[str, Character] | None = None

    def explain(self, question: str, k: int) -> tuple[list[Hit], RetrievalRoute]:
        """At most ``k`` hits, best first, with the chosen retriever's score; and which way the question went."""
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
            route = RetrievalRoute("lexical", 1.0, 0.0, f"the embedding model cannot be asked: {away}")
        return [Hit(hit.iri, hit.text, hit.score, hit.rank, self.name) for hit in hits], route

    def route(self, question: str) -> RetrievalRoute:
        """Which way the question goes, and why."""
        index = self._sources.index
        if index.embedder is None or (index.languages and language_of(question) not in index.languages):
            return RetrievalRoute("lexical", 1.0, 0.0, "the embedding model does not know the language of the question")
        character = self._character()
        if character.talk >= _TALK:
            return RetrievalRoute("hybrid", 3.0, 1.0, self._written_one_way(question) or "the passages are talk")
        if character.titled >= _TITLED:
            return RetrievalRoute("pagerank", 0.0, 0.0, "the passages name each other's titles")
        rare = self._written_one_way(question)
        if rare:
            return RetrievalRoute("hybrid", 3.0, 1.0, rare)
        return RetrievalRoute("hybrid", 1.0, 1.0, "nothing speaks for words or for likeness alone")

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


def character(passages: Sequence[GraphPassage]) -> Character:
    """What the passages are like, from some of them that lie evenly among all."""
    step = max(1, len(passages) // _SAMPLE)
    sample = passages[::step]
    if not sample:
        return Character(0.0, 0.0)
    talk = sum(_is_talk(passage.text) for passage in sample)
    titles = {key for passage in passages for key in title_keys(passage.title)}
    find = NamesInText(titles)
    named = sum(bool(find(passage.text) - set(title_keys(passage.title))) for passage in sample)
    return Character(talk / len(sample), named / len(sample))


def _is_talk(text: str) -> bool:
    """Whether most lines are turns of speakers, at least two."""
    lines = [line for line in text.splitlines() if line.strip()]
    turns = len(_TURN.findall(text))
    return turns >= 2 and turns * 2 >= len(lines)
