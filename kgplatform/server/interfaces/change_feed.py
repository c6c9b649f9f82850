"""What was committed, for who keeps a copy: RDF Patch by number, as it comes (server-sent events), and pages of LDES.

A consumer that begins with nothing, or at any number that it holds, and applies what it gets in order ends with an
equal graph. Sources: https://afs.github.io/rdf-delta/rdf-patch.html, https://w3id.org/ldes/specification
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Final

from flask import Blueprint, Response, request
from pyoxigraph import Literal, NamedNode, Quad, RdfFormat, serialize

from kgplatform.sparql.protocol import ProtocolError
from kgplatform.vocab import DCTERMS, TYPE, XSD

if TYPE_CHECKING:
    from kgplatform.graph import KnowledgeGraph
    from kgplatform.journal.patch import Journal, Patch

_RDF_PATCH: Final = "application/rdf-patch"
_EVENTS: Final = "text/event-stream"
_AT_ONCE: Final = 200
"""So many patches make a response; the next is named in it."""
_PAGE: Final = 100
_MOST_LISTENERS: Final = 4
_SILENCE_SECONDS: Final = 15.0
_LDES, _TREE = "https://w3id.org/ldes#", "https://w3id.org/tree#"


def blueprint(kg: KnowledgeGraph, *, is_whole: bool = True) -> Blueprint:
    """``/changes``, ``/changes/N`` and ``/ldes``; there is none for those who see a part of the graph only."""
    routes = Blueprint("change_feed", __name__)
    listeners = threading.Semaphore(_MOST_LISTENERS)

    def journal() -> Journal:
        if not is_whole or kg.recorder is None:
            raise ProtocolError(404, "No journal", "nothing is kept of changes: write journal = true in the settings")
        return kg.recorder.journal

    @routes.before_app_request
    def changes() -> Response | None:
        if request.path != "/changes" or not ("after" in request.args or request.headers.get("Last-Event-ID")):
            return None  # without a number it is a page for people
        kept = journal()
        after = _number(request.headers.get("Last-Event-ID") or request.args.get("after", "0"))
        if request.accept_mimetypes.best_match((_RDF_PATCH, _EVENTS)) != _EVENTS:
            return _since(kept, after)
        if not listeners.acquire(blocking=False):
            raise ProtocolError(503, "Too many listeners", "others listen already; ask for /changes?after=N again")
        response = Response(_events(kept, after), mimetype=_EVENTS, headers={"Cache-Control": "no-store"})
        response.call_on_close(listeners.release)
        return response

    @routes.get("/changes/<int:number>")
    def change(number: int) -> Response:
        kept = journal()
        found = [patch for patch in kept.patches(number - 1, limit=1) if patch.number == number]
        if not found:
            raise ProtocolError(404, "Not found", f"there is no patch {number}; the last is {kept.newest}")
        return _kept_forever(Response(_patch_text(kept, [found]), mimetype=_RDF_PATCH))

    @routes.get("/ldes")
    def ldes() -> Response:
        return _stream_page(journal(), _number(request.args.get("page", "0")))

    return routes


def _stream_page(journal: Journal, page: int) -> Response:
    newest = journal.newest
    if page * _PAGE > newest:
        raise ProtocolError(404, "Not found", f"the last page is {newest // _PAGE}")
    patches = list(journal.patches(page * _PAGE, limit=_PAGE))
    text = serialize(_page(request.url_root, page, patches, newest), format=RdfFormat.TURTLE, prefixes=_PREFIXES)
    response = Response(text or b"", mimetype="text/turtle", headers={"Cache-Control": "no-cache"})
    return _kept_forever(response) if (page + 1) * _PAGE < newest else response


def _since(journal: Journal, after: int) -> Response:
    """Some commits after that number, whole; the address of those that follow is in a header."""
    from kgplatform.journal.patch import commits  # only where there is a journal

    found = list(commits(journal.patches(after, limit=_AT_ONCE)))
    if not found and journal.newest > after:  # one that is larger than that, or not finished yet
        found = list(islice(commits(journal.patches(after)), 1))
    last = found[-1][-1].number if found else after
    response = Response(_patch_text(journal, found), mimetype=_RDF_PATCH, headers={"Cache-Control": "no-cache"})
    if found and last < journal.newest:
        response.headers["Link"] = f'</changes?after={last}>; rel="next"'
    return response


def _kept_forever(response: Response) -> Response:
    response.headers["Cache-Control"] = "public, max-age=31536000, immutable"
    return response


_PREFIXES: Final = {"ldes": _LDES, "tree": _TREE, "dcterms": DCTERMS, "dcat": "http://www.w3.org/ns/dcat#"}


def _number(text: str) -> int:
    if not text.isdecimal() or len(text) > 15:
        raise ProtocolError(400, "Bad request", f"{text[:40]!r} is not the number of a patch")
    return int(text)


def _patch_text(journal: Journal, groups: list[list[Patch]]) -> Iterator[bytes]:
    yield f"H id <urn:uuid:{journal.name}> .\n".encode()
    for group in groups:
        yield f'H number "{group[-1].number}" .\nTX .\n'.encode()
        for patch in group:
            for letter, data in ((b"D ", patch.gone), (b"A ", patch.new)):
                if data:
                    yield b"".join(letter + line + b"\n" for line in patch.whole(data).splitlines())
        yield b"TC .\n"


def _events(journal: Journal, after: int) -> Iterator[bytes]:
    """One event a commit; a comment now and then tells whether anybody listens still."""
    from kgplatform.journal.patch import commits

    yield b": the changes follow\n\n"
    while True:
        if journal.wait(after, _SILENCE_SECONDS) <= after:
            yield b": nothing new\n\n"
        for group in commits(journal.patches(after)):
            after = group[-1].number
            text = b"".join(_patch_text(journal, [group]))
            lines = b"".join(b"data: " + line + b"\n" for line in text.splitlines())
            yield b"id: %d\nevent: commit\n%s\n" % (after, lines)


def _page(root: str, page: int, patches: list[Patch], newest: int) -> Iterator[Quad]:
    """A page of the event stream: its patches as members, with their times and addresses, and the next page."""

    def say(subject: str, predicate: str, value: str | Literal) -> Quad:
        return Quad(NamedNode(subject), NamedNode(predicate), value if isinstance(value, Literal) else NamedNode(value))

    stream, here = f"{root}ldes#stream", f"{root}ldes?page={page}"
    yield say(stream, TYPE.value, f"{_LDES}EventStream")
    yield say(stream, f"{_LDES}timestampPath", f"{DCTERMS}created")
    yield say(stream, f"{_TREE}view", here)
    yield say(here, TYPE.value, f"{_TREE}Node")
    for patch in patches:
        member = f"{root}changes/{patch.number}"
        moment = Literal(patch.moment.isoformat(), datatype=NamedNode(f"{XSD}dateTime"))
        yield say(stream, f"{_TREE}member", member)
        yield say(member, f"{DCTERMS}created", moment)
        yield say(member, f"{DCTERMS}identifier", Literal(patch.number))
        yield say(member, f"{DCTERMS}format", Literal(_RDF_PATCH))
    if (page + 1) * _PAGE < newest:
        relation = f"{here}#next"
        yield say(here, f"{_TREE}relation", relation)
        yield say(relation, TYPE.value, f"{_TREE}Relation")
        yield say(relation, f"{_TREE}node", f"{root}ldes?page={page + 1}")
