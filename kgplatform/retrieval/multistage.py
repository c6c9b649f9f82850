"""Passages in stages, each dearer and surer than the one before: words, then meaning, then a judge that reads both.

Of the 200 passages that share most words with the question, the five best by their words and the twenty best by their
meaning are rated with their page's name before them (and its snippet, for pages found on the web). The judge is the
cross-encoder of the settings, or without one the late interaction of the embedding model's tokens. Source: Xie et al.,
WeKnow-RAG, 2024, section 3.2; there the embedding model is bge-large-en-v1.5 and the judge bge-reranker-large.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray
from pyoxigraph import NamedNode

from kgplatform.documents.chunking import fixed_tokens
from kgplatform.models.reranking import LateInteraction, Reranker
from kgplatform.protocols import Embedder
from kgplatform.retrieval.hybrid import speaks
from kgplatform.retrieval.index import ChunkIndex, Found
from kgplatform.retrieval.sources import Sources
from kgplatform.text import language_of
from kgplatform.types import Chunk, Document, Hit

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
class WebPage:
    """A page that a search found: its name and snippet as the search gave them, and its text."""

    url: str
    name: str
    text: str
    snippet: str = ""


class MultiStageRetriever:
    """Finds passages by words, by meaning among those, and puts the best of both in the order of a judge."""

    name = "multi-stage"

    def __init__(self, sources: Sources, stages: Stages | None = None) -> None:
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
    pages: Iterable[WebPage],
    k: int,
    *,
    embedder: Embedder | None = None,
    judge: Reranker | None = None,
    stages: Stages | None = None,
    tokens: int = PAGE_TOKENS,
) -> list[Hit]:
    """At most ``k`` passages of ``tokens`` of the pages, by the same stages; an IRI is the page's with its characters.

    Snippets are passages too, and stand beside the page's name before the judge.

    Raises:
        ModelUnavailableError: the embedding model or the re-ranker cannot be used.
    """
    chosen, pages = stages or Stages(), list(pages)
    index = ChunkIndex(None, None)
    index.add(_page_chunks(pages, tokens))
    candidates = index.by_words(question, max(chosen.sparse, k)) if k > 0 else []
    known = frozenset(getattr(embedder, "languages", None) or ())
    cosines = None
    if embedder and candidates and (not known or language_of(question) in known):
        vectors = embedder.embed([question, *(f"{found.title}\n{found.text}" for found in candidates)])
        cosines = vectors[1:] @ vectors[0]
        judge = judge or LateInteraction(embedder)
    snippets = {page.url: page.snippet for page in pages}
    named = {found.iri: snippets.get(found.iri.partition("#")[0], "") for found in candidates}
    return staged(question, candidates, k, stages=chosen, cosines=cosines, judge=judge, snippets=named)[0]


def _page_chunks(pages: Iterable[WebPage], tokens: int) -> Iterable[tuple[Chunk, str]]:
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
    candidates: Sequence[Found],
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
    question: str, finalists: Sequence[Found], judge: Reranker | None, snippets: dict[str, str]
) -> Sequence[float]:
    if judge is None or not finalists:
        return [found.score for found in finalists]
    said = [_read(found, snippets.get(found.iri, "")) for found in finalists]
    return [float(rating) for rating in judge.rate(question, said)]


def _read(found: Found, snippet: str) -> str:
    parts = [found.title, snippet if snippet != found.text else "", found.text]
    return "\n".join(part for part in parts if part.strip())
