"""``/sparql``: the SPARQL 1.1 Protocol over HTTP, run by workers that can be killed; and the states it can be asked of.

A small result is sent whole with its length. A large one is streamed as it is computed; one that has to be cut ends
with the connection, never as if it were whole. An update is tried on a copy of the store by a worker before it is
carried out here, so that none can hold the writer up.

With ``?at=`` an earlier state of the graph is asked, and the answer says when it held: ``Memento-Datetime`` and the
links of RFC 7089. ``/api/versions`` lists the states, ``/api/queries`` what is running, for whom and since when.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from datetime import datetime
from email.utils import format_datetime
from itertools import chain
from typing import IO, TYPE_CHECKING, Any

from flask import Blueprint, Response, jsonify, redirect, request, url_for
from pyoxigraph import NamedNode

from kgplatform.errors import KgPlatformError, QueryRejectedError
from kgplatform.server.access import Role, client, require
from kgplatform.server.connections import OUTCOME, WorkerOutcome
from kgplatform.server.http import is_known, problem, query_problem
from kgplatform.sparql.protocol import (
    FORM,
    QUERY_TYPE,
    UPDATE_TYPE,
    HttpRequest,
    ProtocolError,
    QueryRequest,
    UpdateRequest,
    parse_request,
    query_tag,
    result_fields,
)
from kgplatform.sparql.rewrite import with_using_clauses
from kgplatform.sparql.tokens import scan
from kgplatform.store.dataset import EvidenceDataset
from kgplatform.store.versions import Version, VersionError
from kgplatform.store.worker_pool import Reply, Running, Whole

if TYPE_CHECKING:
    from kgplatform.cluster.followers import Analytics
    from kgplatform.graph import KnowledgeGraph

_LONGEST_TEXT = 10_000
_PIECE = 1 << 16
_METHODS = "GET, HEAD, POST, OPTIONS"


def _record(item: Version) -> dict[str, object]:
    return {
        "version": item.number,
        "since": _stamp(item.since),
        "until": _stamp(item.until) if item.until else None,
        "current": item.is_current,
    }


def _stamp(moment: datetime) -> str:
    return moment.isoformat(timespec="milliseconds")


def wanted(kg: KnowledgeGraph, at: str | None = None) -> Version | None:
    """The state that the request asks for; None: the present one, without asking.

    Raises:
        VersionError: there is none of that number or time.
        ConfigError: it is neither a number nor a time.
    """
    given = request.args.get("at", "") if at is None else at
    return kg.versions.find(given) if given else None


@contextmanager
def dataset_at(kg: KnowledgeGraph, version: Version | None) -> Iterator[EvidenceDataset]:
    """The dataset as it was then, until the end of the block."""
    if version is None or version.is_current:
        yield kg.dataset
    else:
        with kg.versions.store(version) as store:
            yield EvidenceDataset(store, kg.base)


def mark(response: Response, version: Version | None) -> Response:
    """The response, saying of which state it is, if a state was asked for."""
    if version is not None:
        response.headers["Memento-Datetime"] = format_datetime(version.since, usegmt=True)
        response.headers.add("Link", f'</api/versions>; rel="timemap", <{_original()}>; rel="original timegate"')
    return response


def _original() -> str:
    """The address of the request without ``at``, plain ASCII as header fields need it."""
    kept = [part for part in request.query_string.decode("ascii", "replace").split("&") if not part.startswith("at=")]
    path = request.full_path.partition("?")[0]
    ascii_path = path.encode("ascii", "ignore").decode() if path.isascii() else request.root_url
    return f"{ascii_path}?{'&'.join(kept)}" if any(kept) else ascii_path


def version_problem(error: VersionError) -> Response:
    """The answer where a state is asked for that cannot be read: 410 if there was one, else 404."""
    status, title = (410, "No longer kept") if error.gone else (404, "No such version")
    return problem(status, title, str(error), nearest=[_record(item) for item in error.nearest])


def _running(item: Running) -> dict[str, object]:
    return {
        "id": item.name,
        "task": item.task,
        "client": item.client,
        "since": item.since.isoformat(timespec="milliseconds"),
        "seconds": round(item.seconds, 3),
        "timeout_seconds": item.timeout_seconds,
        "text": item.text[:_LONGEST_TEXT],
    }


class _CutShortError(ConnectionAbortedError):
    """Tells the server to end the connection: what was sent is not the whole result."""


def blueprint(kg: KnowledgeGraph, describe: Callable[[], Response]) -> Blueprint:
    """The routes of the endpoint, of the states that can be read, and of the running queries.

    ``describe`` answers those who ask for nothing. Whoever may write sees all queries and ends their own; an admin
    ends any.
    """
    routes = Blueprint("endpoint", __name__)
    heavy = None
    if kg.settings.server.analytics:
        from kgplatform.cluster.followers import analytics

        heavy = analytics(kg.settings, kg.settings.server.timeout_seconds)
    _add_sparql(routes, kg, describe, heavy)

    @routes.route("/api/versions")
    def versions() -> Any:
        require(Role.READ)
        kg.versions.prune()
        return jsonify({"versions": [_record(item) for item in kg.versions.listed()]})

    @routes.route("/api/queries")
    def queries() -> Any:
        require(Role.WRITE)
        return jsonify({"queries": [_running(item) for item in kg.workers.running.listed()]})

    @routes.route("/api/queries/<name>", methods=["DELETE"])
    def cancel(name: str) -> Any:
        require(Role.WRITE)
        found = kg.workers.running.find(name)
        if found is not None and found.client != client().name:
            require(Role.ADMIN)
        if found is None or not kg.workers.running.cancel(name):
            raise ProtocolError(404, "Not found", "no query of that name is running; it may have ended")
        return Response(status=204)

    return routes


def _add_sparql(
    routes: Blueprint, kg: KnowledgeGraph, describe: Callable[[], Response], heavy: Analytics | None
) -> None:

    @routes.route("/sparql", methods=["GET", "POST", "OPTIONS"], provide_automatic_options=False)
    @routes.route("/sparql/", methods=["GET", "POST", "OPTIONS"], provide_automatic_options=False)
    def sparql() -> Any:
        started = time.monotonic()
        if request.method == "OPTIONS":
            accepted = f"{FORM}, {QUERY_TYPE}, {UPDATE_TYPE}"
            return Response(status=204, headers={"Allow": _METHODS, "Accept-Post": accepted})
        try:
            asked = parse_request(_http_request())
            if isinstance(asked, UpdateRequest):
                return _update(kg, asked)
            require(Role.READ)
            if asked is None:
                wants_page = "text/html" in request.headers.get("Accept", "")
                return redirect(url_for("query.query"), 303) if wants_page else describe()
            if asked.format.name == "html":
                return redirect(url_for("query.query", query=asked.text), 303)
            outcome: WorkerOutcome | None = request.environ.get(OUTCOME)
            if outcome is not None and outcome.error is not None:
                started = outcome.started
                raise outcome.error(asked.text)
            return _answer(kg, asked, started, heavy)
        except VersionError as error:
            return version_problem(error)
        except KgPlatformError as error:
            return query_problem(error, elapsed_seconds=time.monotonic() - started)


def _http_request() -> HttpRequest:
    return HttpRequest(
        method=request.method,
        arguments=request.query_string,
        content_type=request.headers.get("Content-Type", ""),
        body=request.get_data(cache=False) if request.method == "POST" else b"",
        accept=request.headers.get("Accept"),
    )


def allowed_seconds(kg: KnowledgeGraph, wanted: float | None) -> float:
    """How long a request may take: as long as it wants, but not longer than the settings say."""
    limit = kg.settings.server.timeout_seconds
    return min(limit, wanted or limit)


def _update(kg: KnowledgeGraph, asked: UpdateRequest) -> Response:
    require(Role.WRITE)
    started = time.monotonic()
    default, named = ([NamedNode(iri) for iri in group] for group in (asked.default_graphs, asked.named_graphs))
    text = with_using_clauses(kg.resolved(asked.text), default, named)
    carry_out(kg, text, timeout_seconds=allowed_seconds(kg, asked.timeout_seconds), client=client().name)
    return Response(status=204, headers={"Server-Timing": f"update;dur={1000 * (time.monotonic() - started):.1f}"})


def carry_out(kg: KnowledgeGraph, text: str, *, timeout_seconds: float, client: str) -> None:
    """Carries out an update that a worker could carry out on a copy; whoever asks for it has to be known to be allowed.

    Raises:
        QueryError: it is no update, or cannot be carried out in that time; nothing has changed.
    """
    if (form := scan(text).form) not in ("UPDATE", ""):
        raise QueryRejectedError((f"this is a query ({form}), not an update; send it as `query`",), query=text)
    kg.workers.try_update(text, base_iri=kg.base, timeout_seconds=timeout_seconds, client=client)
    with kg.store.write_lock():
        kg.update(text)
        kg.workers.refresh()
    kg.store.flush()


def _answer(kg: KnowledgeGraph, asked: QueryRequest, started: float, heavy: Analytics | None) -> Response:
    version = wanted(kg, asked.at)
    is_past = version is not None and not version.is_current
    tag = query_tag(asked, -version.number if version and is_past else kg.store.version)
    if tag and request.method in ("GET", "HEAD") and is_known(tag):
        return Response(status=304, headers={"ETag": tag, "Vary": "Accept, Accept-Encoding"})
    if heavy is not None and version is None and not (asked.default_graphs or asked.named_graphs):
        now = kg.store.version
        found = heavy.answer(asked.text, asked.format.media_type, now)
        if found is not None:
            return Response(found, headers={**result_fields(asked, now, started), "Via": "1.1 analytics"})
    with kg.versions.snapshot(version) if version else nullcontext() as at:
        reply = kg.workers.stream(
            kg.resolved(asked.text) if at is None else asked.text,
            media_type=asked.format.media_type,
            timeout_seconds=allowed_seconds(kg, asked.timeout_seconds),
            default_graphs=asked.default_graphs,
            named_graphs=asked.named_graphs,
            base_iri=kg.base,
            client=client().name,
            at=at,
            has_left=request.environ.get("waitress.client_disconnected"),
        )
    return mark(streamed(reply, result_fields(asked, reply.version, started)), version)


def streamed(reply: Reply | Whole, headers: dict[str, str]) -> Response:
    """The response with what a worker sends: whole if it is small, else as it comes.

    Raises:
        KgPlatformError: the worker could not do it, and nothing has been sent yet.
    """
    try:
        pieces = iter(reply)
        first, second = next(pieces, b""), next(pieces, None)
    except KgPlatformError:
        reply.close()
        raise
    if second is None:
        return Response(first, headers=headers)
    return sent_on(chain((first, second), pieces), reply, headers)


def sent_on(rest: Iterator[bytes], reply: Reply | Whole, headers: dict[str, str]) -> Response:
    """The response whose pieces are sent as they come, of a reply that is given back at its end."""
    if request.environ.get("SERVER_PROTOCOL") == "HTTP/1.0":  # where only the length tells a cut body from a whole one
        return _spooled(rest, headers)
    response = Response(_until_cut(rest), headers=headers)
    response.call_on_close(reply.close)
    return response


def _until_cut(pieces: Iterator[bytes]) -> Iterator[bytes]:
    try:
        yield from pieces
    except KgPlatformError as error:
        raise _CutShortError(str(error)) from error


def _spooled(pieces: Iterator[bytes], headers: dict[str, str]) -> Response:
    file: IO[bytes] = tempfile.SpooledTemporaryFile(max_size=8 * _PIECE)  # noqa: SIM115
    length = sum(file.write(piece) for piece in pieces)
    file.seek(0)
    response = Response(iter(lambda: file.read(_PIECE), b""), headers={**headers, "Content-Length": str(length)})
    response.call_on_close(file.close)
    return response
