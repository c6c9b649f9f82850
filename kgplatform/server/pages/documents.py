"""``/documents``: the documents with their states, adding more of them, quarantine, and the work under way."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flask import Blueprint, Response, redirect, request
from pyoxigraph import NamedNode
from werkzeug.datastructures import FileStorage
from werkzeug.exceptions import RequestEntityTooLarge

from kgplatform import resources
from kgplatform.documents.fetch import is_address
from kgplatform.documents.files import SUFFIXES
from kgplatform.documents.progress import RunProgress
from kgplatform.documents.records import DocumentRecord, DocumentSummary, State
from kgplatform.documents.tables.table_source import TABLE_SUFFIXES
from kgplatform.entities import Labels
from kgplatform.errors import NotFoundError
from kgplatform.reasoning.scope import Severity
from kgplatform.server import addresses
from kgplatform.server.access import Role, client, require
from kgplatform.server.frame import Frame, Lately, language, page, tongues
from kgplatform.server.jobs import Jobs, Phase, Standing, act
from kgplatform.server.result_tables import Cell, Sheet, cell, sheet, written
from kgplatform.sparql.protocol import ProtocolError

if TYPE_CHECKING:
    from kgplatform.graph import KnowledgeGraph

_MOST_REASONS = 50


def reasons(kg: KnowledgeGraph, record: DocumentRecord) -> list[tuple[Cell, str]]:
    """What violates shapes in a document that is kept apart, the first ones, and how; none for other documents."""
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
        if (folder := samples(kg)) is None:
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

    return routes


def samples(kg: KnowledgeGraph) -> Path | None:
    """The sample documents for the workspace's ontology; None where there are none, as in an installed wheel."""
    folder = resources.examples()
    if folder is None:
        return None
    named = (folder / name for name in kg.settings.ontology if name == Path(name).name)
    return next((path for path in named if path.is_dir()), None)


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
