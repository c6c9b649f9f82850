"""The Retrieval page: what a retriever finds for a question and how it got there, beside another one if wanted."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np
from flask import Blueprint, request
from numpy.typing import NDArray

from kgplatform.errors import ConfigError, KgPlatformError
from kgplatform.retrieval.methods import RETRIEVERS, lacking, retriever
from kgplatform.retrieval.similarity import SimilarityGraph
from kgplatform.retrieval.sources import found_by
from kgplatform.retrieval.traversal import Walk, embedded
from kgplatform.server import addresses
from kgplatform.server.frame import Frame, language, page
from kgplatform.server.result_tables import Cell, Sheet, csv_of, number, sheet
from kgplatform.types import Evidence
from kgplatform.workspace import search

if TYPE_CHECKING:
    from kgplatform.graph import KnowledgeGraph


_MOST_CHARACTERS = 1000
_MOST_HITS = 50
_HITS = 10
_MOST_HEATED = 12
_MOST_TRACED = 30
_SHOWN = 300


@runtime_checkable
class Walks(Protocol):
    """A retriever that tells which windows it went through."""

    def walk(self, question: str, k: int) -> tuple[SimilarityGraph, Walk]:
        """The graph, and the way through it."""
        ...


@dataclass(frozen=True, slots=True)
class Heat:
    """A similarity map: names of rows and columns, their full texts, and the cosines."""

    names: tuple[str, ...]
    texts: tuple[str, ...]
    values: tuple[tuple[float, ...], ...]


@dataclass(frozen=True, slots=True)
class RetrieverRun:
    """What one retriever found, in how many seconds, and its trace; ``trouble``: why it could not be used.

    ``steps`` and ``ended`` are of a walk; ``trace`` are names and lines of what any other retriever tells.
    ``lacks`` is what it would have needed, as a key of the words.
    """

    name: str
    hits: tuple[Evidence, ...] = ()
    seconds: float = 0.0
    listed: Sheet | None = None
    steps: Sheet | None = None
    ended: str = ""
    trace: tuple[tuple[str, tuple[str, ...]], ...] = ()
    heat: Heat | None = None
    picture: dict[str, Any] | None = None
    trouble: str = ""
    lacks: str = ""


def blueprint(kg: KnowledgeGraph) -> Blueprint:
    """The routes of the Retrieval page."""
    routes = Blueprint("retrieval", __name__)

    @routes.get("/retrieval")
    def retrieval() -> Any:
        frame = Frame(language(), kg.base)
        question = request.args.get("question", "").strip()[:_MOST_CHARACTERS]
        settings = kg.settings.retrieval
        first, second = request.args.get("retriever") or settings.retriever, request.args.get("against", "")
        names = [first, second] if second else [first]
        most = request.args.get("per_document", "")
        each = int(most) if most.isdecimal() and len(most) < 6 else settings.per_document
        k = _count(request.args.get("k", ""))
        found = [_found(kg, name, question, k, each, frame) for name in dict.fromkeys(names)] if question else []
        wanted = csv_of(*(item for one in found for item in (one.listed, one.steps) if item))
        if wanted:
            return wanted
        return page(
            "retrieval.html",
            kg.base,
            question=question,
            chosen=first,
            against=second,
            k=k,
            per_document=each,
            names=list(RETRIEVERS),
            found=found,
            words_only=kg.sources.index.words_only if found else "",
            common=(common := _common(found)),
            shared=sum(place(item) in common for item in found[0].hits) if found else 0,
        )

    return routes


def _count(text: str) -> int:
    return max(1, min(int(text), _MOST_HITS)) if text.isdecimal() and len(text) < 6 else _HITS


def _common(found: Sequence[RetrieverRun]) -> frozenset[tuple[str, int, int]]:
    """The places that every one of several retrievers found something at: the same words, or a part of them."""
    if len(found) < 2:
        return frozenset()
    return frozenset(
        place(item)
        for one in found
        for item in one.hits
        if all(any(_overlap(item, hit) for hit in other.hits) for other in found if other is not one)
    )


def place(item: Evidence) -> tuple[str, int, int]:
    """Where a passage stands: its document and its characters."""
    return item.document.value, item.start, item.end


def _overlap(one: Evidence, other: Evidence) -> bool:
    return one.document == other.document and one.start < other.end and other.start < one.end


def _found(kg: KnowledgeGraph, name: str, question: str, k: int, per_document: int, frame: Frame) -> RetrieverRun:
    if name not in RETRIEVERS:
        retriever(name, kg.sources)  # raises, and offers the nearest name
    started = time.monotonic()
    try:
        made = retriever(name, kg.sources)
        hits, told = found_by(made, question, k, per_document)
        seconds = time.monotonic() - started
        graph, walk = made.walk(question, k) if isinstance(made, Walks) else (None, None)
        passages = [search.passage(kg.evidence_finder, hit.iri, hit.score) for hit in hits]
        heat = _walked(kg, graph, walk, question) if graph and walk else _heat(kg, question, passages)
    except ConfigError:
        raise
    except KgPlatformError as error:
        return RetrieverRun(name, trouble=str(error), seconds=time.monotonic() - started)
    return RetrieverRun(
        name=name,
        hits=tuple(passages),
        seconds=seconds,
        listed=_listed(name, passages, frame),
        steps=_steps(name, graph, walk, frame) if graph and walk else None,
        ended=walk.stopped if walk else "",
        trace=tuple(_told(told)),
        heat=heat,
        picture=_picture(heat, frame) if heat else None,
        lacks=lacking(name, kg.sources),
    )


def _listed(name: str, passages: Sequence[Evidence], frame: Frame) -> Sheet:
    rows = (
        (
            rank,
            number(item.score, 4),
            Cell(item.title, addresses.of_passage(item, frame.base)),
            " ".join(item.quote.split())[:_SHOWN],
        )
        for rank, item in enumerate(passages, start=1)
    )
    t = frame.t
    return sheet(f"hits-{name}", (t("rank"), t("score"), t("document"), t("passage")), rows)


def _steps(name: str, graph: SimilarityGraph, walk: Walk, frame: Frame) -> Sheet:
    t = frame.t
    rows = (
        (n, number(step.rating, 3), step.gained, _window(graph, step.window)[:_SHOWN])
        for n, step in enumerate(walk.steps, start=1)
    )
    return sheet(f"steps-{name}", (t("step"), t("rating"), t("gained"), t("window")), rows)


def _window(graph: SimilarityGraph, window: int) -> str:
    return " ".join(" ".join(graph.sentences[n].text.split()) for n in graph.windows[window])


def _walked(kg: KnowledgeGraph, graph: SimilarityGraph, walk: Walk, question: str) -> Heat:
    """The likeness of the question and the windows that the walk read, each to each."""
    windows = [step.window for step in walk.steps[:_MOST_HEATED]]
    rows = np.vstack([embedded(kg.sources, question)[None, :], graph.window_vectors[windows]])
    return _heated(question, [_window(graph, window) for window in windows], rows)


def _heat(kg: KnowledgeGraph, question: str, passages: Sequence[Evidence]) -> Heat | None:
    """The likeness of the question and the first passages, each to each."""
    texts = [" ".join(item.quote.split()) for item in passages[:_MOST_HEATED]]
    if not texts or kg.sources.index.away:
        return None
    return _heated(question, texts, kg.embedder.embed([question, *texts]))


def _heated(question: str, texts: Sequence[str], rows: NDArray[np.float32]) -> Heat:
    values = np.clip(rows @ rows.T, -1, 1)
    names = ("?", *(str(n) for n in range(1, len(texts) + 1)))
    return Heat(names, (question, *(text[:_SHOWN] for text in texts)), tuple(map(tuple, values.round(3).tolist())))


def _picture(heat: Heat, frame: Frame) -> dict[str, Any]:
    rows = [
        {"x": column, "y": row, "value": heat.values[i][j], "label": f"{heat.values[i][j]:.2f}", "title": heat.texts[j]}
        for i, row in enumerate(heat.names)
        for j, column in enumerate(heat.names)
    ]
    axis = {"label": "", "type": "category"}
    return {
        "kind": "heat",
        "x": axis,
        "y": axis,
        "value": {"label": frame.t("similarity"), "domain": [0, 1]},
        "rows": rows,
    }


def _told(record: object) -> Iterable[tuple[str, tuple[str, ...]]]:
    """What a record says, as names and lines."""
    if is_dataclass(record):
        for item in fields(record):
            lines = tuple(_lines(getattr(record, item.name)))
            if lines:
                yield item.name.replace("_", " "), lines[:_MOST_TRACED]


def _lines(value: object) -> Iterable[str]:
    if isinstance(value, dict):
        value = tuple(value.items())
    if isinstance(value, tuple | list) and not (value and all(isinstance(item, int | float) for item in value)):
        for item in value:
            yield _line(item)
    elif value not in (None, "", (), []):
        yield _line(value)


def _line(value: object) -> str:
    if is_dataclass(value):
        return ", ".join(f"{item.name} {_line(getattr(value, item.name))}" for item in fields(value))
    if isinstance(value, tuple | list):
        return " · ".join(map(_line, value))
    return f"{value:.4g}" if isinstance(value, float) else str(getattr(value, "value", value))
