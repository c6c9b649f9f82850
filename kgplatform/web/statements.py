"""The statements that were read in a document, each with its passage and what a person said of it; and saying so."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from typing import Any

from flask import Blueprint, redirect, request
from pyoxigraph import NamedNode, Quad, Triple

from kgplatform.building.reviewing import Wording, judge, key_of, meant, withdraw
from kgplatform.checking.quarantine import quarantine_graph
from kgplatform.describing import Labels
from kgplatform.documents.registry import DocumentRecord, State
from kgplatform.documents.reviews import Judgement, Review
from kgplatform.errors import ConfigError, NotFoundError
from kgplatform.types import Evidence
from kgplatform.vocab import ALT_LABEL, LABEL, TYPE
from kgplatform.web import addresses
from kgplatform.web.frame import tongues
from kgplatform.web.needs import Graph
from kgplatform.web.protocol import ProtocolError
from kgplatform.web.rights import Role, client, require
from kgplatform.web.tables import Cell, cell

MOST = 300
_UNSAID = frozenset((TYPE, LABEL, ALT_LABEL))
_LOOPBACK = ("127.0.0.1", "::1")

Parts = tuple[Cell, Cell, Cell]


@dataclass(frozen=True, slots=True)
class Judged:
    """What a person said of a statement; ``who`` is empty for somebody at this machine, ``meant`` the correction."""

    judgement: str
    who: str
    moment: str
    meant: Parts | None


@dataclass(frozen=True, slots=True)
class Read:
    """A statement read in the document: its parts, the place and page of its passage, and what was said of it."""

    key: str
    parts: Parts
    href: str
    start: int
    end: int
    judged: Judged | None


@dataclass(frozen=True, slots=True)
class Statements:
    """Some of the statements of a document, in the order of the text; ``first`` counts from 0, ``total`` is of all."""

    listed: tuple[Read, ...]
    first: int
    total: int


@dataclass(frozen=True, slots=True)
class Correcting:
    """The form for a correction: the statement, what is written in it, and what is wrong with that."""

    key: str
    wording: Wording
    properties: tuple[tuple[str, str], ...]
    trouble: str = ""


def statements(kg: Graph, record: DocumentRecord, first: int = 0) -> Statements:
    """What was read in the document, names and classes left out, at most `MOST` of them from the ``first`` on."""
    labels = Labels(kg.dataset, kg.ontology, tongues())
    finder = kg.evidence_finder
    reviews = {review.statement: review for review in kg.registry.reviews()}
    told = list(_told(kg, record))
    known = {item.triple for item in told}
    gone = [r for r in reviews.values() if r.document == record.document.iri and r.statement not in known]
    found: list[Read] = []
    for quad in islice(told, first, first + MOST):
        assert isinstance(quad.graph_name, NamedNode)
        passage = finder.find(quad.triple, quad.graph_name)
        found.append(_read(kg, labels, quad.triple, passage, reviews.get(quad.triple)))
    if not first:
        found += [_read(kg, labels, review.statement, None, review) for review in gone]
    return Statements(tuple(sorted(found, key=lambda item: item.start)), first, len(told) + len(gone))


def _told(kg: Graph, record: DocumentRecord) -> Iterator[Quad]:
    """The statements of the document's graphs, each once."""
    graphs = [record.graph] if record.graph else [chunk.iri for chunk in kg.registry.chunks(record.document.iri)]
    if record.state is State.QUARANTINED:
        graphs = [quarantine_graph(kg.dataset, graph) for graph in graphs]
    seen: set[Triple] = set()
    for graph in graphs:
        for quad in kg.store.quads(graph=graph):
            if quad.predicate not in _UNSAID and quad.triple not in seen:
                seen.add(quad.triple)
                yield quad


def _read(kg: Graph, labels: Labels, triple: Triple, passage: Evidence | None, review: Review | None) -> Read:
    start, end = (passage.start, passage.end) if passage else (review.start, review.end) if review else (0, 0)
    href = addresses.of_passage(passage, kg.base) if passage else ""
    return Read(key_of(triple), _parts(kg, labels, triple), href, start, end, _judged(kg, labels, review))


def _parts(kg: Graph, labels: Labels, triple: Triple) -> Parts:
    subject, predicate, value = (
        cell(term, labels, kg.base) for term in (triple.subject, triple.predicate, triple.object)
    )
    return subject, predicate, value


def _judged(kg: Graph, labels: Labels, review: Review | None) -> Judged | None:
    if review is None:
        return None
    who = "" if review.person in _LOOPBACK else review.person
    meant_ = _parts(kg, labels, review.correction) if review.correction else None
    return Judged(review.judgement.value, who, review.moment, meant_)


def correcting(kg: Graph, record: DocumentRecord, key: str) -> Correcting | None:
    """The form for the statement of that key, filled in with what it says; None where the document has no such."""
    quad = _of_key(kg, record, key)
    if quad is None:
        return None
    labels = Labels(kg.dataset, kg.ontology, tongues())
    subject, value = quad.subject, quad.object
    written = Wording(
        str(subject).strip("<>") if _is_shared(kg, subject) else labels.reference(subject).label,
        quad.predicate.value,
        str(value).strip("<>") if _is_shared(kg, value) else labels.reference(value).label,
    )
    return Correcting(key, written, _properties(kg, labels))


def _is_shared(kg: Graph, term: object) -> bool:
    """Whether several things are called like this one, so that its IRI has to tell which."""
    if not isinstance(term, NamedNode):
        return False
    names = [quad.object for quad in kg.store.quads(term, LABEL)]
    return not names or any(quad.subject != term for name in names for quad in kg.store.quads(None, LABEL, name))


def _properties(kg: Graph, labels: Labels) -> tuple[tuple[str, str], ...]:
    known = [(item.iri.value, labels.of(item.iri).text) for item in kg.ontology.domain_properties]
    return tuple(sorted(known, key=lambda pair: pair[1].casefold()))


def _of_key(kg: Graph, record: DocumentRecord, key: str) -> Quad | None:
    return next((quad for quad in _told(kg, record) if key_of(quad.triple) == key), None)


def say(kg: Graph, record: DocumentRecord, key: str, judgement: str, wording: Wording) -> None:
    """Carries out what a person said of a statement: ``accepted``, ``rejected``, ``corrected`` or ``undo``.

    Raises:
        ProtocolError: there is no such statement or judgement.
        NotFoundError: a correction names what is not known.
        ConfigError: a correction says the same, or has a value that the property does not take.
    """
    review = next((r for r in kg.registry.reviews(record.document.iri) if key_of(r.statement) == key), None)
    quad = _of_key(kg, record, key)
    if judgement == "undo" and (quad or review):
        withdraw(kg.dataset, kg.registry, quad.triple if quad else review.statement)  # type: ignore[union-attr]
    elif quad is None or judgement not in {item.value for item in Judgement}:
        raise ProtocolError(404, "Not found", "this document has no such statement, or it cannot be judged so")
    else:
        judge(kg.dataset, kg.registry, _review(kg, quad, Judgement(judgement), wording, record))
    kg.inference.run()
    kg.versions.rest()


def _review(kg: Graph, quad: Quad, judgement: Judgement, wording: Wording, record: DocumentRecord) -> Review:
    corrections: tuple[Triple, ...] = ()
    if judgement is Judgement.CORRECTED:
        corrections = meant(kg.dataset, kg.ontology, wording)
        if corrections[0] == quad.triple:
            raise ConfigError("that says the same as before", setting="object")
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


def blueprint(kg: Graph, show: Any) -> Blueprint:
    """The route by which people judge statements; ``show`` makes the page of a document with a form on it."""
    routes = Blueprint("statements", __name__)

    @routes.post("/documents/<name>/statements/<key>")
    def judged(name: str, key: str) -> Any:
        require(Role.WRITE)
        record = kg.registry.document(NamedNode(f"{kg.base}document/{name}"))
        written = Wording(*(request.form.get(part, "")[:2000] for part in ("subject", "predicate", "object")))
        try:
            say(kg, record, key, request.form.get("judgement", ""), written)
        except (NotFoundError, ConfigError) as error:
            labels = Labels(kg.dataset, kg.ontology, tongues())
            return show(record, Correcting(key, written, _properties(kg, labels), str(error)))
        place = addresses.of_iri(record.document.iri, kg.base)
        at = request.form.get("at", "")
        return redirect(f"{place}{'?at=' + at if at.replace('-', '').isdecimal() else ''}#statement-{key}", 303)

    return routes
