"""``/graphs``: the SPARQL 1.1 Graph Store HTTP Protocol, and PATCH.

A graph is named by ``?graph=IRI`` or ``?default``, or by its address: ``/graphs/a/b`` is the graph
``<base>graphs/a/b``, whatever host the server is asked by.

Specification: https://www.w3.org/TR/sparql11-http-rdf-update/ §4 (names), §5 (operations).
"""

from __future__ import annotations

import re
import secrets
import time
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from flask import Blueprint, Response, request
from pyoxigraph import NamedNode, Triple

from kgplatform.building.graph_store import GraphStore
from kgplatform.errors import KgPlatformError, StoreError
from kgplatform.rewriting import within
from kgplatform.versions import VersionError
from kgplatform.web.caching import check_conditions, is_known, strong_tag
from kgplatform.web.endpoint import allowed_seconds, streamed
from kgplatform.web.needs import Graph
from kgplatform.web.negotiation import GRAPHS, Format, choose, listing, named
from kgplatform.web.problems import query_problem, store_problem
from kgplatform.web.protocol import UPDATE_TYPE, ProtocolError
from kgplatform.web.rights import Role, client, require
from kgplatform.web.travelling import mark, version_problem, wanted
from kgplatform.web.uploads import read_body

_METHODS = ("GET", "HEAD", "PUT", "POST", "PATCH", "DELETE", "OPTIONS")
_NOT_IN_IRI = re.compile(r"[\x00-\x20<>\"{}|\\^`%?#\x7f-\x9f]")
_READ = ", ".join(item.media_type for item in GRAPHS)


@dataclass(frozen=True, slots=True)
class _Named:
    """The graph that a request is about; None: the default graph."""

    graph: NamedNode | None

    @property
    def text(self) -> str:
        """Its IRI; empty for the default graph."""
        return self.graph.value if self.graph else ""


def blueprint(kg: Graph) -> Blueprint:
    """The routes of the graph store."""
    routes = Blueprint("graph_store", __name__)
    graphs = GraphStore(kg.dataset, after=lambda: kg.inference.run())

    @routes.route("/graphs", defaults={"path": ""}, methods=_METHODS, provide_automatic_options=False)
    @routes.route("/graphs/<path:path>", methods=_METHODS, provide_automatic_options=False)
    def graph(path: str) -> Any:
        started = time.monotonic()
        if request.method == "OPTIONS":
            headers = {"Allow": ", ".join(_METHODS), "Accept-Post": _READ, "Accept-Patch": UPDATE_TYPE}
            return Response(status=204, headers=headers)
        require(Role.READ if request.method in ("GET", "HEAD") else Role.WRITE)
        try:
            return _answer(kg, graphs, path)
        except VersionError as error:
            return version_problem(error)
        except StoreError as error:
            return store_problem(error)
        except KgPlatformError as error:
            return query_problem(error, elapsed_seconds=time.monotonic() - started)

    return routes


def _answer(kg: Graph, graphs: GraphStore, path: str) -> Response:
    if request.method == "POST" and not path and not {"graph", "default"} & request.args.keys():
        return _create(kg, graphs)
    about = _about(kg.base, path)
    match request.method:
        case "GET" | "HEAD":
            return _get(kg, graphs, about)
        case "DELETE":
            return _delete(kg, graphs, about)
        case "PATCH":
            return _patch(kg, graphs, about)
        case _:
            return _write(kg, graphs, about)


def _about(base: str, path: str) -> _Named:
    """The graph that the request names.

    Raises:
        ProtocolError: 400, it names none, two, or one by a relative IRI.
    """
    given = request.args.getlist("graph")
    if len(given) + ("default" in request.args) + bool(path) != 1:
        raise ProtocolError(400, "Bad request", "name one graph: /graphs?graph=IRI, /graphs?default, or /graphs/NAME")
    if not given:
        return _Named(_below(base, path) if path else None)
    mine = f"{request.host_url}graphs/"
    text = f"{base}graphs/{given[0].removeprefix(mine)}" if given[0].startswith(mine) else given[0]
    try:
        return _Named(NamedNode(text))
    except ValueError as error:
        raise ProtocolError(400, "Bad request", f"the graph's name is no absolute IRI: {text[:200]!r}") from error


def _below(base: str, path: str) -> NamedNode:
    """The graph that the address is the name of; letters of every script stay as they are (RFC 3987 §2.2)."""
    escaped = _NOT_IN_IRI.sub(lambda found: quote(found.group(), safe=""), path)
    return NamedNode(f"{base}graphs/{escaped}")


def _get(kg: Graph, graphs: GraphStore, about: _Named) -> Response:
    format_, version = _format(), wanted(kg)
    is_past = version is not None and not version.is_current
    tag = strong_tag(-version.number if version and is_past else kg.store.version, about.text, format_.name)
    with kg.versions.store(version) if version and is_past else nullcontext(kg.store) as store:
        if about.graph is not None and not store.has_graph(about.graph):
            raise ProtocolError(404, "Not found", f"there is no graph {about.text}")
    if is_known(tag):
        return Response(status=304, headers={"ETag": tag, "Vary": "Accept, Accept-Encoding"})
    with kg.versions.snapshot(version) if version else nullcontext() as at:
        reply = kg.workers.graph(
            about.text,
            media_type=format_.media_type,
            skolem=graphs.skolem,
            timeout_seconds=allowed_seconds(kg, None),
            client=client().name,
            at=at,
        )
    headers = {
        "Content-Type": format_.content_type,
        "ETag": strong_tag(reply.version, about.text, format_.name),
        "Vary": "Accept",
        "Cache-Control": "no-cache",
    }
    return mark(streamed(reply, headers), version)


def _format() -> Format:
    wanted = request.args.get("format")
    chosen = named(wanted, GRAPHS) if wanted else choose(request.headers.get("Accept"), GRAPHS)
    if chosen is None:
        asked = wanted or request.headers.get("Accept", "")
        raise ProtocolError(
            406, "Not acceptable", f"a graph cannot be written as {asked[:200]}; there is {listing(GRAPHS)}"
        )
    return chosen


def _one_graph(found: dict[NamedNode | None, list[Triple]]) -> list[Triple]:
    if set(found) - {None}:
        raise ProtocolError(
            400, "Bad content", "the body names graphs itself; POST it to /graphs without a name, or send triples only"
        )
    return found.get(None, [])


def _write(kg: Graph, graphs: GraphStore, about: _Named) -> Response:
    triples = _one_graph(read_body(kg, base_iri=about.text or kg.base))
    with kg.store.write_lock():
        check_conditions(kg.store.version, exists=graphs.exists(about.graph))
        write = graphs.put if request.method == "PUT" else graphs.merge
        is_new = write(about.graph, triples)
        version = kg.store.version
        kg.workers.refresh()
        kg.versions.rest()
    kg.store.flush()
    headers = {"ETag": strong_tag(version, about.text)}
    return Response(status=201 if is_new else 204, headers=headers)


def _create(kg: Graph, graphs: GraphStore) -> Response:
    """A new graph with a name of its own; or, of a body that names graphs, each of them merged where it belongs."""
    name = secrets.token_hex(8)
    graph = NamedNode(f"{kg.base}graphs/{name}")
    found = read_body(kg, base_iri=graph.value)
    with kg.store.write_lock():
        if set(found) - {None}:
            for known, triples in found.items():
                graphs.merge(known, triples)
            made = Response(status=204)
        else:
            graphs.put(graph, found.get(None, []))
            made = Response(status=201, headers={"Location": f"{request.host_url}graphs/{name}"})
        kg.workers.refresh()
        kg.versions.rest()
    kg.store.flush()
    return made


def _delete(kg: Graph, graphs: GraphStore, about: _Named) -> Response:
    with kg.store.write_lock():
        check_conditions(kg.store.version, exists=graphs.exists(about.graph))
        if not graphs.delete(about.graph):
            raise ProtocolError(404, "Not found", f"there is no graph {about.text}")
        kg.workers.refresh()
        kg.versions.rest()
    kg.store.flush()
    return Response(status=204)


def _patch(kg: Graph, graphs: GraphStore, about: _Named) -> Response:
    if request.mimetype != UPDATE_TYPE:
        raise ProtocolError(
            415,
            "Unsupported media type",
            f"a patch is a SPARQL Update, {UPDATE_TYPE}",
            headers=(("Accept-Patch", UPDATE_TYPE),),
        )
    if graphs.is_own(about.graph):
        raise ProtocolError(
            409, "Evidence", "this graph is evidence and is replaced as a whole; patch the default graph instead"
        )
    try:
        text = within(request.get_data(cache=False).decode(), about.graph)
    except UnicodeDecodeError as error:
        raise ProtocolError(400, "Bad request", f"the patch is not UTF-8 (byte {error.start})") from error
    kg.workers.try_update(text, base_iri=kg.base, timeout_seconds=allowed_seconds(kg, None), client=client().name)
    with kg.store.write_lock():
        is_new = not graphs.exists(about.graph)
        check_conditions(kg.store.version, exists=not is_new)
        if about.graph is None:
            kg.update(text)
        else:
            kg.store.update(text, base_iri=kg.base)
        kg.workers.refresh()
        kg.versions.rest()
    kg.store.flush()
    return Response(status=201 if is_new else 204)
