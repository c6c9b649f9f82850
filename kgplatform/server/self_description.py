"""What the server says of itself and its data: service description, VoID, DCAT and OpenAPI, from ``templates/data``."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import pyoxigraph as ox
from flask import Blueprint, Response, jsonify, request
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from pyoxigraph import Literal, NamedNode, RdfFormat

from kgplatform import __version__, resources
from kgplatform.errors import KgPlatformError
from kgplatform.server.access import Role, require
from kgplatform.server.http import graph_format, is_known, query_problem
from kgplatform.server.interfaces.operations import OPERATIONS
from kgplatform.sparql.protocol import GRAPHS, ROWS, weak_tag
from kgplatform.store.child_process import Snapshot
from kgplatform.store.worker_pool import WorkersBusyError
from kgplatform.types import Term
from kgplatform.vocab import DCAT, KGP, VOID, local_name

if TYPE_CHECKING:
    from kgplatform.graph import KnowledgeGraph

_PREFIXES = {
    "sd": "http://www.w3.org/ns/sparql-service-description#",
    "void": VOID,
    "dcat": DCAT,
    "formats": "http://www.w3.org/ns/formats/",
}
_MOST_GRAPHS = 1000
_LEAST_SECONDS = 120.0
_MOST_WAITING = 4
"""So many requests wait for the counts; the next are told at once to come again."""


@dataclass(frozen=True, slots=True)
class Counts:
    """What was counted: the rows of the queries in ``sparql/void``."""

    totals: tuple[int, int, int, int]
    classes: tuple[tuple[NamedNode, int], ...]
    properties: tuple[tuple[NamedNode, int, int, int], ...]
    class_properties: dict[NamedNode, list[tuple[NamedNode, int]]]
    graphs: tuple[tuple[NamedNode, int], ...]


class SelfDescription:
    """The descriptions of a workspace, with their counts kept for as long as the store stays the same.

    They are taken behind the requests, by one thread at a time and all from one state of the store. A few requests
    wait for them, for a moment; the others are told to come again, so that a large store holds nobody up.
    """

    def __init__(self, kg: KnowledgeGraph, *, patience_seconds: float = 5.0) -> None:
        self._kg = kg
        self._patience_seconds = patience_seconds
        self._news = threading.Condition()
        self._is_counting = False
        self._waiting = 0
        self._version = -1
        self._counts: Counts | None = None
        self._error: KgPlatformError | None = None

    def counts(self) -> tuple[Counts, int]:
        """The counts for the store as it is now or was a moment ago, and the number of that state.

        Raises:
            WorkersBusyError: they are still being taken.
            KgPlatformError: they could not be taken, most often not in time.
        """
        wanted, until = self._kg.store.version, time.monotonic() + self._patience_seconds
        with self._news:
            self._see_to(wanted)
            if self._waiting < _MOST_WAITING:
                self._waiting += 1
                while self._version < wanted and (left := until - time.monotonic()) > 0:
                    self._news.wait(left)
                    self._see_to(wanted)
                self._waiting -= 1
            if self._version < wanted:
                raise WorkersBusyError(("the data is being counted; ask again shortly",), query="")
            if self._counts is None:
                raise self._error or WorkersBusyError(("the data could not be counted",), query="")
            return self._counts, self._version

    def _see_to(self, wanted: int) -> None:
        """Has the store counted unless that is done or being done; called with the lock."""
        if self._version < wanted and not self._is_counting:
            self._is_counting = True
            threading.Thread(target=self._count, daemon=True).start()

    def _count(self) -> None:
        """Takes the counts, or notes why they cannot be taken of this state."""
        counts, error, version = None, None, self._kg.store.version
        try:
            with self._kg.workers.held() as (snapshot, version):
                counts = self._take(snapshot)
        except WorkersBusyError:
            version = -1  # whoever waits has it tried again
        except KgPlatformError as failed:
            error = failed
        finally:
            with self._news:
                if version >= 0:
                    self._version, self._counts, self._error = version, counts, error
                self._is_counting = False
                self._news.notify_all()

    def _take(self, at: Snapshot | None) -> Counts:
        totals = tuple(_number(value) for value in self._rows("totals", at)[0])
        by_class: dict[NamedNode, list[tuple[NamedNode, int]]] = {}
        for class_, property_, triples in self._rows("class-properties", at):
            if isinstance(class_, NamedNode) and isinstance(property_, NamedNode):
                by_class.setdefault(class_, []).append((property_, _number(triples)))
        return Counts(
            totals=(totals[0], totals[1], totals[2], totals[3]),
            classes=tuple((c, _number(n)) for c, n in self._rows("classes", at) if isinstance(c, NamedNode)),
            properties=tuple(
                (p, _number(t), _number(s), _number(o))
                for p, t, s, o in self._rows("properties", at)
                if isinstance(p, NamedNode)
            ),
            class_properties=by_class,
            graphs=tuple((g, _number(n)) for g, n in self._rows("graphs", at) if isinstance(g, NamedNode)),
        )

    def _rows(self, name: str, at: Snapshot | None) -> tuple[tuple[Term | None, ...], ...]:
        seconds = max(_LEAST_SECONDS, self._kg.settings.server.timeout_seconds)
        text = resources.load(f"void/{name}").text
        return self._kg.workers.solutions(text, timeout_seconds=seconds, at=at).rows

    def of_endpoint(self, host: str) -> Response:
        """The description of the service; without counts where they could not be taken."""
        try:
            counts, version = self.counts()
        except KgPlatformError:
            counts, version = None, self._kg.store.version
        return self._written(counts, version, host, "service" if counts else "service without counts")

    def of_data(self, host: str) -> Response:
        """The VoID and DCAT description of the data.

        Raises:
            KgPlatformError: it could not be counted.
        """
        return self._written(*self.counts(), host, "dataset")

    def _written(self, counts: Counts | None, version: int, host: str, what: str) -> Response:
        chosen = graph_format("the description")
        tag = weak_tag(version, what, host, chosen.name)
        headers = {"Content-Type": chosen.content_type, "Vary": "Accept", "ETag": tag, "Cache-Control": "no-cache"}
        if is_known(tag):
            return Response(status=304, headers=headers)
        text = self._turtle(counts, host, with_service=what != "dataset")
        format_ = RdfFormat.from_media_type(chosen.media_type)
        assert format_ is not None
        triples = [quad.triple for quad in ox.parse(text, format=RdfFormat.TURTLE)]
        return Response(self._kg.store.serialise(triples, format_, prefixes=_PREFIXES), headers=headers)

    def _turtle(self, counts: Counts | None, host: str, *, with_service: bool) -> str:
        base, graphs = self._kg.base, counts.graphs if counts else ()
        return _rendered(
            "description.ttl",
            service=with_service,
            endpoint=NamedNode(f"{host}sparql"),
            dataset=NamedNode(f"{base}dataset"),
            host=host,
            base=base,
            kgp=KGP,
            prefixes=sorted(self._kg.store.prefixes.items()),
            formats=GRAPHS,
            counts=counts,
            vocabularies=_spaces(item[0] for item in counts.properties) if counts else (),
            graphs=[pair for pair in graphs if not pair[0].value.startswith(f"{base}document/")][:_MOST_GRAPHS],
        )


def blueprint(describes: SelfDescription) -> Blueprint:
    """The routes of the OpenAPI document, and of VoID where clients look for it (VoID §6, well-known)."""
    routes = Blueprint("self_description", __name__)

    @routes.route("/.well-known/void")
    def void() -> Any:
        require(Role.READ)
        try:
            return describes.of_data(request.url_root)
        except KgPlatformError as error:
            return query_problem(error)

    @routes.route("/api/openapi.json")
    def openapi() -> Response:
        require(Role.READ)
        return jsonify(described())

    return routes


def described() -> dict[str, Any]:
    """The addresses of the server for programs, as OpenAPI has them."""
    text = _rendered(
        "openapi.json",
        version=__version__,
        operations=[operation for operation in OPERATIONS.values() if operation.path],
        row_types=[item.media_type for item in ROWS],
        graph_types=[item.media_type for item in GRAPHS],
    )
    found: dict[str, Any] = json.loads(text)
    return found


@cache
def _templates() -> Environment:
    loader = FileSystemLoader(resources.folder("templates") / "data")
    return Environment(loader=loader, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)


def _rendered(name: str, **values: object) -> str:
    return _templates().get_template(name).render(values)


def _number(term: Term | None) -> int:
    return int(term.value) if isinstance(term, Literal) else 0


def _spaces(properties: Iterable[NamedNode]) -> list[str]:
    """The namespaces of the properties."""
    return sorted({iri.value[: len(iri.value) - len(local_name(iri.value))] for iri in properties})
