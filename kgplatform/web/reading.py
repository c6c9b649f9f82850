"""The documents: a list with their states, and each as text with what was read in it marked in place."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice, pairwise
from typing import Any

from flask import Blueprint, redirect, request
from pyoxigraph import NamedNode

from kgplatform.describing import Labels
from kgplatform.documents.registry import DocumentRecord
from kgplatform.types import Chunk, Document
from kgplatform.vocab import ALT_LABEL, CORE, LABEL, TYPE
from kgplatform.web import addresses
from kgplatform.web.frame import language, page
from kgplatform.web.needs import Graph
from kgplatform.web.tables import Cell, cell

_WINDOW = 60_000
_MOST_STATEMENTS = 300
_UNSAID = frozenset((TYPE, LABEL, ALT_LABEL))


@dataclass(frozen=True, slots=True)
class Piece:
    """A run of text: the chunks that begin at it, what it mentions, whether it is in the passage asked for."""

    text: str
    anchors: tuple[int, ...] = ()
    href: str = ""
    title: str = ""
    marked: bool = False
    begins_mark: bool = False


@dataclass(frozen=True, slots=True)
class Read:
    """A statement read in the document: its three parts, and the page of its passage."""

    parts: tuple[Cell, Cell, Cell]
    href: str


@dataclass(frozen=True, slots=True)
class _Span:
    start: int
    end: int
    href: str
    title: str


def blueprint(kg: Graph) -> Blueprint:
    """The routes of the documents."""
    routes = Blueprint("reading", __name__)

    @routes.get("/documents")
    def documents() -> Any:
        records = kg.registry.documents()
        return page("documents.html", kg.base, records=records, statements=sum(record.statements for record in records))

    @routes.get("/documents/<name>")
    def document(name: str) -> Any:
        record = kg.registry.document(NamedNode(f"{kg.base}document/{name}"))
        text = record.document.text
        at = _span(request.args.get("at", ""), len(text))
        start = _window_start(at, request.args.get("from", ""), len(text))
        end = min(len(text), start + _WINDOW)
        chunks = kg.registry.chunks(record.document.iri)
        statements, total = _statements(kg, record, chunks)
        return page(
            "document.html",
            kg.base,
            record=record,
            pieces=_pieces(text, start, end, chunks, _mentions(kg, record.document), at),
            start=start,
            end=end,
            window=_WINDOW,
            statements=statements,
            total=total,
            place=addresses.of_iri(record.document.iri, kg.base),
            description=addresses.of_data(record.document.iri, "ttl"),
        )

    @routes.get("/documents/<name>/")
    def tidy(name: str) -> Any:
        return redirect(f"/documents/{name}", 301)

    return routes


def _span(text: str, length: int) -> tuple[int, int] | None:
    start, dash, end = text.partition("-")
    if not (dash and start.isdecimal() and end.isdecimal() and len(text) < 30):
        return None
    first, last = int(start), min(int(end), length)
    return (first, last) if first < last else None


def _window_start(at: tuple[int, int] | None, given: str, length: int) -> int:
    """Where the part that is shown begins: with the text if it fits, else at, or shortly before, the place."""
    if length <= _WINDOW:
        return 0
    wanted = at[0] - _WINDOW // 4 if at else int(given) if given.isdecimal() and len(given) < 15 else 0
    return max(0, min(wanted, length - 1))


def _mentions(kg: Graph, document: Document) -> list[_Span]:
    """The mentions of the document, linked to what they stand for: as its own graph describes them."""
    found: dict[object, dict[str, Any]] = {}
    for quad in kg.store.quads(graph=document.iri):
        name = quad.predicate.value.removeprefix(CORE)
        if name in ("refersTo", "start", "end"):
            found.setdefault(quad.subject, {})[name] = quad.object
    labels = Labels(kg.dataset, kg.ontology, language())
    spans = []
    for facts in found.values():
        iri = facts.get("refersTo")
        if isinstance(iri, NamedNode) and "start" in facts and "end" in facts:
            href = addresses.of_iri(iri, kg.base)
            spans.append(_Span(int(facts["start"].value), int(facts["end"].value), href, labels.of(iri).text))
    return sorted(spans, key=lambda span: (span.start, -span.end))


def _pieces(
    text: str, start: int, end: int, chunks: list[Chunk], mentions: list[_Span], at: tuple[int, int] | None
) -> list[Piece]:
    """The text from ``start`` to ``end``, cut wherever a chunk, mention or the passage begins or ends."""
    apart = _without_overlaps(mentions, start, end)
    anchors: dict[int, list[int]] = {}
    for chunk in chunks:
        anchors.setdefault(chunk.start, []).append(chunk.index)
    cuts = {start, end, *(place for place in anchors if start <= place < end)}
    for span in apart:
        cuts |= {span.start, span.end}
    if at:
        cuts |= {place for place in at if start <= place <= end}
    begins = {span.start: span for span in apart}
    pieces, current = [], None
    places = sorted(cuts)
    for first, last in pairwise(places):
        current = begins.get(first, current if current and first < current.end else None)
        pieces.append(
            Piece(
                text[first:last],
                tuple(anchors.get(first, ())),
                current.href if current else "",
                current.title if current else "",
                marked=bool(at) and at is not None and at[0] <= first < at[1],
                begins_mark=at is not None and first == max(at[0], start),
            )
        )
    return pieces


def _without_overlaps(spans: list[_Span], start: int, end: int) -> list[_Span]:
    kept: list[_Span] = []
    for span in spans:
        if span.start >= (kept[-1].end if kept else start) and span.end <= end and span.start < span.end:
            kept.append(span)
    return kept


def _statements(kg: Graph, record: DocumentRecord, chunks: list[Chunk]) -> tuple[list[Read], int]:
    """What was read, chunk by chunk, names and classes left out; at most so many, and how many there are."""
    finder = kg.evidence_finder
    labels = Labels(kg.dataset, kg.ontology, language())
    graphs = [record.graph] if record.graph else [chunk.iri for chunk in chunks]
    told = (quad for graph in graphs for quad in kg.store.quads(graph=graph) if quad.predicate not in _UNSAID)
    found: list[Read] = []
    seen = set()
    for quad in islice(told, _MOST_STATEMENTS):
        if quad.triple in seen or not isinstance(quad.graph_name, NamedNode):
            continue
        seen.add(quad.triple)
        passage = finder.find(quad.triple, quad.graph_name)
        parts = tuple(cell(term, labels, kg.base) for term in (quad.subject, quad.predicate, quad.object))
        href = addresses.of_passage(passage, kg.base) if passage else ""
        found.append(Read((parts[0], parts[1], parts[2]), href))
    rest = sum(1 for _ in told)
    return found, len(found) + rest
