"""``/documents``: the documents with their states, adding more of them, quarantine, and the work under way.

``/documents/<id>`` is one as text, with what was read in it marked in place, and beside it as statements. People
confirm, reject and correct these; what they say of one is shown with it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice, pairwise
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from flask import Blueprint, Response, redirect, request
from pyoxigraph import NamedNode, Quad, Triple
from werkzeug.datastructures import FileStorage
from werkzeug.exceptions import RequestEntityTooLarge

from kgplatform import resources
from kgplatform.documents.fetch import is_address
from kgplatform.documents.files import SUFFIXES
from kgplatform.documents.progress import RunProgress
from kgplatform.documents.records import DocumentRecord, DocumentSummary, Judgement, Review, State
from kgplatform.documents.tables.table_source import TABLE_SUFFIXES
from kgplatform.entities import Labels
from kgplatform.errors import ConfigError, NotFoundError
from kgplatform.reasoning.checks import quarantine_graph
from kgplatform.reasoning.scope import Severity
from kgplatform.server import addresses
from kgplatform.server.access import Role, client, require
from kgplatform.server.frame import Frame, Lately, language, page, tongues
from kgplatform.server.jobs import Jobs, Phase, Standing, act
from kgplatform.server.result_tables import Cell, Sheet, cell, sheet, written
from kgplatform.sparql.protocol import ProtocolError
from kgplatform.types import Chunk, Claim, Document, Evidence, Mention, Refusal
from kgplatform.vocab import ALT_LABEL, CORE, LABEL, TYPE
from kgplatform.workspace.ingest import ACCEPTED
from kgplatform.workspace.review import StatementWording, judge, key_of, meant, withdraw

if TYPE_CHECKING:
    from kgplatform.graph import KnowledgeGraph

_MOST_REASONS = 50


def reasons(kg: KnowledgeGraph, record: DocumentRecord) -> list[tuple[Cell, str]]:
    """What violates shapes in a quarantined document, the first ones, and how; none for other documents."""
    if record.state is not State.QUARANTINED:
        return []
    labels, wanted = Labels(kg.dataset, kg.ontology, tongues()), language()
    found = kg.check(record.document.iri.value).findings
    violations = [item for item in found if item.severity is Severity.VIOLATION]
    return [(cell(item.focus, labels, kg.base), item.told(wanted)) for item in violations[:_MOST_REASONS]]


FOLDER = "uploads"
"""Where a workspace keeps the files that were sent to it."""

_PAGE = 100
_MOST_FILES = 1000
_MOST_NAME_BYTES = 200
_PLACE = re.compile(r"\b(page|line|row|column|record) (\d[\d,]*)")
_UNWRITABLE = re.compile(r"[\x00-\x1f\x7f/\\]" if os.name != "nt" else r'[\x00-\x1f\x7f/\\<>:"|?*]')
_IMAGES = re.compile(r"\bimages?\b|no text")


@dataclass(frozen=True, slots=True)
class ReadFailure:
    """Why a document could not be read: at which stage and place (empty: not known), and what can be done.

    ``way`` is ``recognise`` (its pages are pictures), ``line`` (a place in it can be shown) or ``retry``.
    """

    stage: str
    place: tuple[str, str]
    cause: str
    way: str

    @classmethod
    def of(cls, item: DocumentSummary, stage: str) -> ReadFailure:
        """The failure of a document, from the sentence that the registry keeps."""
        cause = item.error or ""
        found = _PLACE.search(cause)
        place = (found[1], found[2]) if found else ("", "")
        way = "recognise" if _IMAGES.search(cause) else "line" if place[0] == "line" else "retry"
        return cls(stage, place, cause, way)


@dataclass(frozen=True, slots=True)
class Work:
    """What is under way: the latest run, and what this process does."""

    run: RunProgress | None
    standing: Standing

    @property
    def is_busy(self) -> bool:
        """Whether something is going on, be it paused."""
        return self.standing.phase is not Phase.IDLE or (self.run is not None and self.run.state.value == "running")

    @property
    def is_shown(self) -> bool:
        """Whether there is something to say about the latest run: it goes on, or ended before its end."""
        ended = self.run is not None and self.run.state.value in ("paused", "stopped", "interrupted")
        return self.is_busy or ended or bool(self.standing.trouble)


def blueprint(kg: KnowledgeGraph, jobs: Jobs, lately: Lately) -> Blueprint:
    """The routes of the list of documents."""
    routes = Blueprint("documents", __name__)

    @routes.get("/documents")
    def documents() -> Any:
        state = _state(request.args.get("state", ""))
        if request.args.get("format") == "csv":
            return written(_sheet(kg, state))
        return _page(kg, jobs, lately, state)

    @routes.post("/documents")
    def add() -> Any:
        require(Role.WRITE)
        given = _given(kg)
        jobs.start(lambda: kg.add(*given))
        return redirect("/documents", 303)

    @routes.post("/documents/sample")
    def sample() -> Any:
        require(Role.WRITE)
        if (folder := samples(kg, request.form.get("of", ""))) is None:
            raise NotFoundError("there are no samples for this workspace", name="sample")
        jobs.start(lambda: kg.add(folder))
        return redirect("/documents", 303)

    @routes.post("/documents/work")
    def work() -> Any:
        act(kg, jobs, request.form.get("action", ""))
        return redirect("/documents", 303)

    @routes.post("/documents/<name>/retry")
    def retry(name: str) -> Any:
        require(Role.WRITE)
        source = kg.registry.document(NamedNode(f"{kg.base}document/{name}")).document.source
        jobs.start(lambda: kg.add(source))
        return redirect("/documents", 303)

    @routes.post("/documents/<name>/release")
    def release(name: str) -> Any:
        require(Role.WRITE)
        record = kg.registry.document(NamedNode(f"{kg.base}document/{name}"))
        if record.state is not State.QUARANTINED:
            raise ProtocolError(409, "Not in quarantine", "this document is not quarantined")
        jobs.start(lambda: iter([kg.release(record.document.iri.value)]))
        return redirect("/documents", 303)

    _add_document(routes, kg)
    return routes


def samples(kg: KnowledgeGraph, wanted: str = "") -> Path | None:
    """The sample documents for the wanted ontology of the workspace, else for its first that has some; None: none."""
    folder = resources.examples()
    if folder is None:
        return None
    names = sorted(kg.settings.ontology, key=lambda name: name != wanted)
    named = (folder / name for name in names if name == Path(name).name)
    return next((path for path in named if path.is_dir()), None)


def filling(kg: KnowledgeGraph, wanted: str = "") -> dict[str, Any]:
    """What an empty page may offer: to add documents, and to load the samples, those of an ontology where there are."""
    may_write = client().role >= Role.WRITE
    found = samples(kg, wanted) if may_write else None
    return {"may_write": may_write, "sample": found.name if found else ""}


def _state(text: str) -> State | None:
    return State(text) if text in {item.value for item in State} else None


def _page(kg: KnowledgeGraph, jobs: Jobs, lately: Lately, state: State | None) -> Response:
    counts = kg.registry.counts()
    number_ = max(1, int(given)) if (given := request.args.get("page", "1")).isdecimal() and len(given) < 7 else 1
    text = request.args.get("q", "").strip()[:200]
    if text:
        every = [item for item in kg.registry.summaries(state) if _is_called(item, text)]
        found, total = every[(number_ - 1) * _PAGE : number_ * _PAGE], len(every)
    else:
        found = kg.registry.summaries(state, limit=_PAGE, offset=(number_ - 1) * _PAGE)
        total = sum(counts.values()) if state is None else counts.get(state, 0)
    stages = kg.registry.failed_stages() if counts.get(State.FAILED) else {}
    work = Work(kg.registry.progress(), jobs.standing())
    return page(
        "documents.html",
        kg.base,
        counts=counts,
        total=sum(counts.values()),
        statements=lately.overview().statements,
        state=state,
        text=text,
        found=total,
        listed=[
            (
                item,
                addresses.of_iri(item.iri, kg.base),
                ReadFailure.of(item, stages.get(item.iri, "")) if item.state is State.FAILED else None,
            )
            for item in found
        ],
        number=number_,
        pages=max(1, -(-total // _PAGE)),
        work=work,
        may_write=client().role >= Role.WRITE,
        limit_mb=kg.settings.server.max_upload_mb,
        takes_addresses=kg.settings.documents.web,
        suffixes=sorted({*SUFFIXES, *TABLE_SUFFIXES}),
        unfinished=counts.get(State.PENDING, 0) + counts.get(State.FAILED, 0),
    )


def _is_called(item: DocumentSummary, text: str) -> bool:
    """Whether the title or the file of a document holds the text."""
    wanted = text.casefold()
    return wanted in item.title.casefold() or wanted in item.source.rpartition("/")[2].casefold()


def _sheet(kg: KnowledgeGraph, state: State | None) -> Sheet:
    frame = Frame(language(), kg.base)
    columns = ("name", "file", "state", "statements", "refused", "changed", "error_column")
    rows = (
        (d.title, d.source, frame.t(f"state_{d.state.value}"), d.statements, d.refused, d.updated, d.error or "")
        for d in kg.registry.summaries(state)
    )
    return sheet("documents", [frame.t(name) for name in columns], rows)


def _given(kg: KnowledgeGraph) -> list[Path | str]:
    """What is to be read: files that were sent, now in the workspace, or an address on the web.

    Raises:
        ProtocolError: 400, nothing was sent; 413, it is too much.
        ConfigError: an address is given, and the settings do not allow it.
    """
    limit = kg.settings.server.max_upload_mb * 1_000_000
    request.max_content_length = limit
    refusal = ProtocolError(
        413, "Too large", f"{limit // 1_000_000} MB can be sent at once (server.max_upload_mb); use `kgplatform add`"
    )
    if (request.content_length or 0) > limit:
        raise refusal
    try:
        sent = [item for item in request.files.getlist("files") if item.filename]
        address = request.form.get("address", "").strip()
    except RequestEntityTooLarge as error:
        raise refusal from error
    if address:
        if not is_address(address):
            raise ProtocolError(400, "Bad request", f"{address[:200]!r} is not a web address")
        return [address]
    if not 1 <= len(sent) <= _MOST_FILES:
        raise ProtocolError(400, "Bad request", f"choose 1 to {_MOST_FILES} files; {len(sent)} were sent")
    return list(_kept(kg.folder / FOLDER, sent))


def _kept(folder: Path, sent: Sequence[FileStorage]) -> Iterator[Path]:
    """The files, written whole or not at all; one takes the place of an earlier one of its name, as in a folder."""
    folder.mkdir(exist_ok=True)
    for item in sent:
        path = folder / file_name(item.filename or "")
        part = path.with_name(f".{path.name[:60]}.{os.getpid()}.part")
        try:
            item.save(part)
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)
        yield path


def file_name(given: str) -> str:
    """A name for a file in a folder, from the one that a browser sent.

    >>> file_name("../../etc/Reisen 西湖.md")
    'Reisen 西湖.md'
    """
    name = _UNWRITABLE.sub("_", given.replace("\\", "/").rpartition("/")[2]).strip().lstrip(".").strip()
    stem, dot, suffix = name.rpartition(".")
    stem, suffix = (stem, f".{suffix[:16]}") if dot else (name, "")
    while len(stem.encode()) > _MOST_NAME_BYTES:
        stem = stem[:-1]
    return f"{stem or 'document'}{suffix}"


MOST = 300
_UNSAID = frozenset((TYPE, LABEL, ALT_LABEL))

Parts = tuple[Cell, Cell, Cell]


@dataclass(frozen=True, slots=True)
class Correcting:
    """The form for a correction: the statement, what is written in it, and what is wrong with that."""

    key: str
    wording: StatementWording
    properties: tuple[tuple[str, str], ...]
    trouble: str = ""


def statements(kg: KnowledgeGraph, record: DocumentRecord, first: int = 0) -> dict[str, Any]:
    """What was read in the document, in its order, at most `MOST` statements from the ``first`` (0) on.

    Names and classes are not listed: ``unlisted`` counts them, ``total`` the others, ``all`` both, as the list of the
    documents does.
    """
    labels = Labels(kg.dataset, kg.ontology, tongues())
    finder = kg.evidence_finder
    reviews = {review.statement: review for review in kg.registry.reviews()}
    every = list(_told(kg, record))
    told = [quad for quad in every if quad.predicate not in _UNSAID]
    known = {item.triple for item in told}
    gone = [r for r in reviews.values() if r.document == record.document.iri and r.statement not in known]
    found: list[dict[str, Any]] = []
    for quad in islice(told, first, first + MOST):
        assert isinstance(quad.graph_name, NamedNode)
        passage = finder.find(quad.triple, quad.graph_name)
        found.append(_read(kg, labels, quad.triple, passage, reviews.get(quad.triple)))
    if not first:
        found += [_read(kg, labels, review.statement, None, review) for review in gone]
    counts = {"total": len(told) + len(gone), "all": len(every), "unlisted": len(every) - len(told)}
    return {"listed": sorted(found, key=itemgetter("start")), "first": first, **counts}


def candidates(kg: KnowledgeGraph, record: DocumentRecord) -> list[dict[str, Any]]:
    """What was read in the document and not taken, the surest first, without what it states anyway."""
    unsure = [read for read in kg.registry.extractions(record.document.iri) if read.candidates]
    if not unsure:
        return []
    labels, projection = Labels(kg.dataset, kg.ontology, tongues()), kg.workspace.projection
    told = {quad.triple for quad in _told(kg, record)}
    found: dict[Triple, dict[str, Any]] = {}
    for read in unsure:
        for claim in sorted(read.candidates, key=lambda item: -item.confidence):
            triple = projection.triple(claim, read.chunk)
            if triple is None or triple in told or triple in found:
                continue
            parts = tuple(
                Cell(side.name) if isinstance(side, Mention) and not shown.href else shown
                for side, shown in zip((claim.subject, None, claim.object), _parts(kg, labels, triple), strict=True)
            )
            place = f"{addresses.of_iri(record.document.iri, kg.base)}?at={claim.start}-{claim.end}#passage"
            share = round(100 * claim.confidence)
            found[triple] = {"key": key_of(triple), "parts": parts, "href": place, "share": share, "claim": claim}
    return sorted(found.values(), key=lambda item: -item["share"])


def _accepted_claim(kg: KnowledgeGraph, record: DocumentRecord, key: str) -> Claim | None:
    """The statement of that key, where a person made it one."""
    for read in kg.registry.extractions(record.document.iri):
        for claim in read.claims:
            if claim.given.startswith(ACCEPTED):
                triple = kg.workspace.projection.triple(claim, read.chunk)
                if triple is not None and key_of(triple) == key:
                    return claim
    return None


def _refusals(kg: KnowledgeGraph, record: DocumentRecord) -> tuple[Refusal, ...]:
    """What was read in the document and not accepted; of one that was read long ago, as far as its extractions tell."""
    iri = record.document.iri
    return kg.registry.refusals(iri) or tuple(one for read in kg.registry.extractions(iri) for one in read.refused)


def _told(kg: KnowledgeGraph, record: DocumentRecord) -> Iterator[Quad]:
    """The statements of the document's graphs, each once."""
    graphs = [record.graph] if record.graph else [chunk.iri for chunk in kg.registry.chunks(record.document.iri)]
    if record.state is State.QUARANTINED:
        graphs = [quarantine_graph(kg.dataset, graph) for graph in graphs]
    seen: set[Triple] = set()
    for graph in graphs:
        for quad in kg.store.quads(graph=graph):
            if quad.triple not in seen:
                seen.add(quad.triple)
                yield quad


def _read(
    kg: KnowledgeGraph, labels: Labels, triple: Triple, passage: Evidence | None, review: Review | None
) -> dict[str, Any]:
    """A statement read in the document: its parts, the place and page of its passage, and what was said of it."""
    start, end = (passage.start, passage.end) if passage else (review.start, review.end) if review else (0, 0)
    href = addresses.of_passage(passage, kg.base) if passage else ""
    found = {"key": key_of(triple), "parts": _parts(kg, labels, triple), "href": href, "start": start, "end": end}
    stated = passage is not None and passage.given.startswith(ACCEPTED)
    return {**found, "stated": stated, "judged": _judged(kg, labels, review)}


def _parts(kg: KnowledgeGraph, labels: Labels, triple: Triple) -> Parts:
    subject, predicate, value = (
        cell(term, labels, kg.base) for term in (triple.subject, triple.predicate, triple.object)
    )
    return subject, predicate, value


def _judged(kg: KnowledgeGraph, labels: Labels, review: Review | None) -> dict[str, object] | None:
    """What a person said of a statement; ``meant`` is the correction."""
    if review is None:
        return None
    meant_ = _parts(kg, labels, review.correction) if review.correction else None
    return {"judgement": review.judgement.value, "who": review.person, "moment": review.moment, "meant": meant_}


def correcting(kg: KnowledgeGraph, record: DocumentRecord, key: str) -> Correcting | None:
    """The form for the statement of that key, filled in with what it says; None where the document has no such."""
    quad = _of_key(kg, record, key)
    if quad is None:
        return None
    labels = Labels(kg.dataset, kg.ontology, tongues())
    subject, value = quad.subject, quad.object
    written = StatementWording(
        str(subject).strip("<>") if _is_shared(kg, subject) else labels.reference(subject).label,
        quad.predicate.value,
        str(value).strip("<>") if _is_shared(kg, value) else labels.reference(value).label,
    )
    return Correcting(key, written, _properties(kg, labels, quad))


def _is_shared(kg: KnowledgeGraph, term: object) -> bool:
    """Whether several things are called like this one, so that its IRI has to tell which."""
    if not isinstance(term, NamedNode):
        return False
    names = [quad.object for quad in kg.store.quads(term, LABEL)]
    return not names or any(quad.subject != term for name in names for quad in kg.store.quads(None, LABEL, name))


def _properties(kg: KnowledgeGraph, labels: Labels, quad: Quad | None) -> tuple[tuple[str, str], ...]:
    """The properties to choose from, each name once, those of the subject's classes first; unnamed ones left out."""
    subject = quad.subject if quad else None
    found_types = kg.store.objects(subject, TYPE) if isinstance(subject, NamedNode) else ()
    types = {term for term in found_types if isinstance(term, NamedNode)}
    classes = {above for term in types for above in (term, *kg.ontology.superclasses(term))}
    own = quad.predicate if quad else None
    known = [item for item in kg.ontology.domain_properties if item.words or item.iri == own]
    ranked = sorted(
        ((not classes & set(item.domains), labels.of(item.iri).text, item.iri) for item in known),
        key=lambda found: (found[2] != own, found[0], found[1].casefold(), found[2].value),
    )
    named: dict[str, tuple[bool, str, NamedNode]] = {}
    for found in ranked:
        named.setdefault(found[1].casefold(), found)
    return tuple((iri.value, text) for _, text, iri in sorted(named.values(), key=lambda f: (f[0], f[1].casefold())))


def _of_key(kg: KnowledgeGraph, record: DocumentRecord, key: str) -> Quad | None:
    return next((quad for quad in _told(kg, record) if key_of(quad.triple) == key), None)


def say(kg: KnowledgeGraph, record: DocumentRecord, key: str, judgement: str, wording: StatementWording) -> None:
    """Carries out what a person said of a statement: ``accepted``, ``rejected``, ``corrected`` or ``undo``.

    Raises:
        ProtocolError: there is no such statement or judgement.
        NotFoundError: a correction names what is not known.
        ConfigError: a correction says the same, or has a value that the property does not take.
    """
    possible = next((item["claim"] for item in candidates(kg, record) if item["key"] == key), None)
    if possible is not None and judgement == Judgement.ACCEPTED.value:
        kg.accept(record.document.iri, possible, client().name)
    accepted = _accepted_claim(kg, record, key) if judgement == "undo" else None
    review = next((r for r in kg.registry.reviews(record.document.iri) if key_of(r.statement) == key), None)
    quad = _of_key(kg, record, key)
    if judgement == "undo" and (quad or review):
        withdraw(kg.dataset, kg.registry, quad.triple if quad else review.statement)  # type: ignore[union-attr]
    elif quad is None or judgement not in {item.value for item in Judgement}:
        raise ProtocolError(404, "Not found", "this document has no such statement, or it cannot be judged so")
    else:
        judge(kg.dataset, kg.registry, _review(kg, quad, Judgement(judgement), wording, record))
    if accepted is not None:
        kg.accept(record.document.iri, accepted, client().name)
    kg.inference.run()
    kg.versions.rest()


def _review(
    kg: KnowledgeGraph, quad: Quad, judgement: Judgement, wording: StatementWording, record: DocumentRecord
) -> Review:
    corrections: tuple[Triple, ...] = ()
    if judgement is Judgement.CORRECTED:
        corrections = meant(kg.dataset, kg.ontology, wording)
        if corrections[0] == quad.triple:
            raise ConfigError("nothing was changed", setting="object")
    assert isinstance(quad.graph_name, NamedNode)
    passage = kg.evidence_finder.find(quad.triple, quad.graph_name)
    return Review(
        statement=quad.triple,
        judgement=judgement,
        document=record.document.iri,
        graph=quad.graph_name,
        start=passage.start if passage else 0,
        end=passage.end if passage else 0,
        quote=passage.quote if passage else "",
        person=client().name,
        moment=datetime.now(UTC).isoformat(timespec="seconds"),
        corrections=corrections,
    )


_WINDOW = 60_000
_AROUND = 6
_LONGEST_LINE = 2000


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


def _add_document(routes: Blueprint, kg: KnowledgeGraph) -> None:
    """The routes of a document, and of what people say of its statements."""

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

    @routes.post("/documents/<name>/statements/<key>")
    def judged(name: str, key: str) -> Any:
        require(Role.WRITE)
        record = kg.registry.document(NamedNode(f"{kg.base}document/{name}"))
        written = StatementWording(*(request.form.get(part, "")[:2000] for part in ("subject", "predicate", "object")))
        try:
            say(kg, record, key, request.form.get("judgement", ""), written)
        except (NotFoundError, ConfigError) as error:
            labels = Labels(kg.dataset, kg.ontology, tongues())
            offered = _properties(kg, labels, _of_key(kg, record, key))
            return show(kg, record, Correcting(key, written, offered, str(error)))
        place = addresses.of_iri(record.document.iri, kg.base)
        at = request.form.get("at", "")
        return redirect(f"{place}{'?at=' + at if at.replace('-', '').isdecimal() else ''}#statement-{key}", 303)


def show(kg: KnowledgeGraph, record: DocumentRecord, form: Correcting | None) -> Any:
    """The page of a document, with the form for a correction where one is given."""
    text = record.document.text
    at = _span(request.values.get("at", ""), len(text))
    start = _window_start(at, request.args.get("from", ""), len(text))
    end = min(len(text), start + _WINDOW)
    chunks = kg.registry.chunks(record.document.iri)
    first = int(given) if (given := request.args.get("s", "0")).isdecimal() and len(given) < 9 else 0
    read = statements(kg, record, first)
    passages = [(item["start"], item["end"], item["key"]) for item in read["listed"] if item["end"] > item["start"]]
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
        refusals=_refusals(kg, record),
        possible=candidates(kg, record),
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
    headers = {"Content-Disposition": f"attachment; filename*=UTF-8''{name}"}
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


def _mentions(kg: KnowledgeGraph, document: Document) -> list[_Span]:
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


def _pieces(text: str, start: int, end: int, marks: _Marks) -> list[dict[str, Any]]:
    """The text from ``start`` to ``end``, cut wherever a chunk, mention or passage begins or ends.

    Of each piece: the chunks that begin at it, what it mentions, which statements it says, whether it is asked for.
    """
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
    pieces, current = [], None
    for first, last in pairwise(sorted(cuts)):
        current = begins.get(first, current if current and first < current.end else None)
        said = tuple(key for begin, stop, key in marks.passages if begin <= first < stop)
        pieces.append(
            {
                **{"text": text[first:last], "anchors": anchors.get(first, ()), "said": said},
                **{"href": current.href if current else "", "title": current.title if current else ""},
                "marked": at is not None and at[0] <= first < at[1],
                "begins_mark": at is not None and first == max(at[0], start),
            }
        )
    return pieces


def _without_overlaps(spans: list[_Span], start: int, end: int) -> list[_Span]:
    kept: list[_Span] = []
    for span in spans:
        if span.start >= (kept[-1].end if kept else start) and span.end <= end and span.start < span.end:
            kept.append(span)
    return kept
