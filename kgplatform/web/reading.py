"""``/documents/<id>``: a document as text, with what was read in it marked in place, and beside it as statements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from pathlib import Path
from typing import Any
from urllib.parse import quote

from flask import Blueprint, Response, redirect, request
from pyoxigraph import NamedNode

from kgplatform.describing import Labels
from kgplatform.documents.registry import DocumentRecord
from kgplatform.types import Chunk, Document
from kgplatform.vocab import CORE
from kgplatform.web import addresses
from kgplatform.web.frame import page, tongues
from kgplatform.web.needs import Graph
from kgplatform.web.quarantine import reasons
from kgplatform.web.rights import Role, client
from kgplatform.web.statements import MOST, Correcting, correcting, statements

_WINDOW = 60_000
_AROUND = 6
_LONGEST_LINE = 2000


@dataclass(frozen=True, slots=True)
class Piece:
    """A run of text: the chunks that begin at it, what it mentions, the statements read in it, whether it is asked for.

    ``said`` are keys of statements whose passage this is a part of.
    """

    text: str
    anchors: tuple[int, ...] = ()
    href: str = ""
    title: str = ""
    marked: bool = False
    begins_mark: bool = False
    said: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Span:
    start: int
    end: int
    href: str
    title: str


@dataclass(frozen=True, slots=True)
class _Marks:
    """What is marked in a text: where its chunks begin, mentions, passages of statements, and what is asked for."""

    chunks: Sequence[Chunk]
    mentions: list[_Span]
    passages: Sequence[tuple[int, int, str]]
    at: tuple[int, int] | None


def blueprint(kg: Graph) -> Blueprint:
    """The routes of the documents."""
    routes = Blueprint("reading", __name__)

    @routes.get("/documents/<name>")
    def document(name: str) -> Any:
        record = kg.registry.document(NamedNode(f"{kg.base}document/{name}"))
        if request.args.get("format") == "text":
            return _file(record.document)
        wanted = request.args.get("correct", "")
        return show(kg, record, correcting(kg, record, wanted) if wanted else None)

    @routes.get("/documents/<name>/")
    def tidy(name: str) -> Any:
        return redirect(f"/documents/{name}", 301)

    return routes


def show(kg: Graph, record: DocumentRecord, form: Correcting | None) -> Any:
    """The page of a document, with the form for a correction where one is given."""
    text = record.document.text
    at = _span(request.values.get("at", ""), len(text))
    start = _window_start(at, request.args.get("from", ""), len(text))
    end = min(len(text), start + _WINDOW)
    chunks = kg.registry.chunks(record.document.iri)
    first = int(given) if (given := request.args.get("s", "0")).isdecimal() and len(given) < 9 else 0
    read = statements(kg, record, first)
    passages = [(item.start, item.end, item.key) for item in read.listed if item.end > item.start]
    mentions = _mentions(kg, record.document)
    line = request.args.get("line", "")
    return page(
        "document.html",
        kg.base,
        status=400 if form and form.trouble else 200,
        record=record,
        pieces=_pieces(text, start, end, _Marks(chunks, mentions, passages, at)),
        start=start,
        end=end,
        at=f"{at[0]}-{at[1]}" if at else "",
        window=_WINDOW,
        read=read,
        most=MOST,
        form=form,
        line=line if line.isdecimal() else "",
        reasons=reasons(kg, record) if "why" in request.args else None,
        lines=_lines(record, int(line)) if line.isdecimal() and len(line) < 10 else [],
        may_write=client().role >= Role.WRITE,
        place=addresses.of_iri(record.document.iri, kg.base),
        description=addresses.of_data(record.document.iri, "ttl"),
    )


def _file(document: Document) -> Response:
    """The text of a document as a file."""
    name = quote(f"{Path(document.source).stem or 'document'}.txt", safe="")
    headers = {"Content-Disposition": f"attachment; filename*=UTF-8''{name}", "Cache-Control": "no-cache"}
    return Response(document.text, content_type="text/plain; charset=utf-8", headers=headers)


def _lines(record: DocumentRecord, number: int) -> list[tuple[int, str]]:
    """The lines of the file around one of them; none where it is gone, large, or no text."""
    try:
        with Path(record.document.source).open(encoding="utf-8", errors="replace") as file:
            around = islice(file, max(0, number - _AROUND - 1), number + _AROUND)
            found = [line.rstrip("\r\n")[:_LONGEST_LINE] for line in around]
    except OSError:
        return []
    if any("\0" in line for line in found):
        return []
    return list(enumerate(found, start=max(1, number - _AROUND)))


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
    labels = Labels(kg.dataset, kg.ontology, tongues())
    spans = []
    for facts in found.values():
        iri = facts.get("refersTo")
        if isinstance(iri, NamedNode) and "start" in facts and "end" in facts:
            href = addresses.of_iri(iri, kg.base)
            spans.append(_Span(int(facts["start"].value), int(facts["end"].value), href, labels.of(iri).text))
    return sorted(spans, key=lambda span: (span.start, -span.end))


def _pieces(text: str, start: int, end: int, marks: _Marks) -> list[Piece]:
    """The text from ``start`` to ``end``, cut wherever a chunk, mention or passage begins or ends."""
    apart, at = _without_overlaps(marks.mentions, start, end), marks.at
    anchors: dict[int, list[int]] = {}
    for chunk in marks.chunks:
        anchors.setdefault(chunk.start, []).append(chunk.index)
    cuts = {start, end, *(place for place in anchors if start <= place < end)}
    for span in apart:
        cuts |= {span.start, span.end}
    cuts |= {place for first, last, _ in marks.passages for place in (first, last) if start <= place <= end}
    if at:
        cuts |= {place for place in at if start <= place <= end}
    begins = {span.start: span for span in apart}
    pieces, current, said = [], None, _Said(marks.passages)
    for first, last in pairwise(sorted(cuts)):
        current = begins.get(first, current if current and first < current.end else None)
        pieces.append(
            Piece(
                text[first:last],
                tuple(anchors.get(first, ())),
                current.href if current else "",
                current.title if current else "",
                marked=at is not None and at[0] <= first < at[1],
                begins_mark=at is not None and first == max(at[0], start),
                said=said.at(first),
            )
        )
    return pieces


class _Said:
    """Which statements are said at a place, asked from the first place to the last."""

    def __init__(self, passages: Sequence[tuple[int, int, str]]) -> None:
        self._waiting = sorted(passages, reverse=True)
        self._open: list[tuple[int, str]] = []

    def at(self, place: int) -> tuple[str, ...]:
        """The keys of the statements whose passage holds the place."""
        while self._waiting and self._waiting[-1][0] <= place:
            _, end, key = self._waiting.pop()
            self._open.append((end, key))
        self._open = [(end, key) for end, key in self._open if end > place]
        return tuple(key for _, key in self._open)


def _without_overlaps(spans: list[_Span], start: int, end: int) -> list[_Span]:
    kept: list[_Span] = []
    for span in spans:
        if span.start >= (kept[-1].end if kept else start) and span.end <= end and span.start < span.end:
            kept.append(span)
    return kept
