"""Documents in quarantine: why they are kept apart, and the way to take one in all the same."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from flask import Blueprint, redirect
from pyoxigraph import NamedNode

from kgplatform.checking.findings import Severity
from kgplatform.describing import Labels
from kgplatform.documents.registry import DocumentRecord, State
from kgplatform.web.frame import language, tongues
from kgplatform.web.jobs import Jobs
from kgplatform.web.needs import Graph
from kgplatform.web.protocol import ProtocolError
from kgplatform.web.rights import Role, require
from kgplatform.web.tables import Cell, cell

_MOST_REASONS = 50


@dataclass(frozen=True, slots=True)
class Reason:
    """What keeps a document apart: the thing at fault, and what is wrong with it."""

    focus: Cell
    message: str


def reasons(kg: Graph, record: DocumentRecord) -> tuple[Reason, ...]:
    """What violates shapes in a document that is kept apart, the first ones; none for other documents."""
    if record.state is not State.QUARANTINED:
        return ()
    labels, wanted = Labels(kg.dataset, kg.ontology, tongues()), language()
    found = kg.check(record.document.iri.value).findings
    violations = [item for item in found if item.severity is Severity.VIOLATION]
    return tuple(Reason(cell(item.focus, labels, kg.base), item.told(wanted)) for item in violations[:_MOST_REASONS])


def blueprint(kg: Graph, jobs: Jobs) -> Blueprint:
    """The route that takes a document in."""
    routes = Blueprint("quarantine", __name__)

    @routes.post("/documents/<name>/release")
    def release(name: str) -> Any:
        require(Role.WRITE)
        record = kg.registry.document(NamedNode(f"{kg.base}document/{name}"))
        if record.state is not State.QUARANTINED:
            raise ProtocolError(409, "Not in quarantine", "this document is not kept apart")
        jobs.start(lambda: _released(kg, record))
        return redirect("/documents", 303)

    return routes


def _released(kg: Graph, record: DocumentRecord) -> Iterator[object]:
    yield kg.release(record.document.iri.value)
