"""What the graph says about one thing, as data: its own statements, and those that refer to it, a page at a time.

A hub may be referred to a hundred thousand times, so the first page has what is said of the thing and the first
`PAGE` references, the next ones (``?incoming=2`` …) further references only. The header links to the pages around
(RFC 8288), and the data of a thing with more than one page says the same in the words of Hydra
(https://www.hydra-cg.com/spec/latest/core/#collections).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Final
from urllib.parse import urlencode

from flask import Response, request
from pyoxigraph import Literal, NamedNode, Quad, RdfFormat, Triple

from kgplatform.dataset import EvidenceDataset
from kgplatform.errors import NotFoundError
from kgplatform.store import DEFAULT_GRAPH
from kgplatform.vocab import FOAF, TYPE
from kgplatform.web.negotiation import Format
from kgplatform.web.problems import problem
from kgplatform.web.protocol import ProtocolError

PAGE: Final = 1000
"""So many references to a thing are on a page of its data."""
_MOST_COUNTED: Final = 100_000
_HYDRA: Final = "http://www.w3.org/ns/hydra/core#"


@dataclass(frozen=True, slots=True)
class Page:
    """A page of the references to a thing, counted from 1; ``total`` is None where there are too many to count."""

    number: int
    total: int | None
    is_last: bool

    @property
    def is_only(self) -> bool:
        """Whether there is no other."""
        return self.number == 1 and self.is_last

    def around(self) -> Iterator[tuple[str, str]]:
        """The pages before and after, by the names of their relation, as addresses relative to this one."""
        if self.number > 1:
            yield "first", _address(1)
            yield "prev", _address(self.number - 1)
        if not self.is_last:
            yield "next", _address(self.number + 1)


def data_of(dataset: EvidenceDataset, iri: NamedNode, format_: Format) -> Response:
    """What the graph says about the thing; for a document or chunk, what its own graph holds.

    Raises:
        NotFoundError: it says nothing, or there is no such page.
        ProtocolError: the number of the page is none.
    """
    quads: list[Quad] = list(dataset.store.quads(graph=iri))
    page = Page(1, None, is_last=True)
    if not quads:
        page = _asked(dataset, iri)
        quads = list(dataset.store.quads(iri, None, None, DEFAULT_GRAPH)) if page.number == 1 else []
        quads += islice(_references(dataset, iri), (page.number - 1) * PAGE, page.number * PAGE)
    if not quads:
        raise NotFoundError(f"the graph says nothing about {iri.value}", name=iri.value)
    triples: list[Triple] = sorted({quad.triple for quad in quads}, key=str)
    if not page.is_only:
        triples += _described(iri, page)
    rdf = RdfFormat.from_media_type(format_.media_type)
    assert rdf is not None
    try:
        body = dataset.store.serialise(triples, rdf)
    except (ValueError, OSError) as error:  # RDF/XML cannot write every predicate
        return problem(406, "Not acceptable", f"this cannot be written as {format_.media_type}: {error}")
    response = Response(body, headers={"Content-Type": format_.content_type})
    for relation, address in page.around():
        response.headers.add("Link", f'<{address}>; rel="{relation}"')
    return response


def _references(dataset: EvidenceDataset, iri: NamedNode) -> Iterator[Quad]:
    return dataset.store.quads(None, None, iri, DEFAULT_GRAPH)


def _asked(dataset: EvidenceDataset, iri: NamedNode) -> Page:
    text = request.args.get("incoming", "1")
    if not text.isdecimal() or (number := int(text[:9])) < 1:
        raise ProtocolError(400, "Bad request", "`incoming` is the number of a page, from 1 on")
    counted = sum(1 for _ in islice(_references(dataset, iri), max(_MOST_COUNTED, number * PAGE) + 1))
    if number > 1 and counted <= (number - 1) * PAGE:
        raise NotFoundError(f"{iri.value} is referred to {counted} times; there is no page {number}", name=iri.value)
    total = counted if counted <= _MOST_COUNTED else None
    return Page(number, total, is_last=counted <= number * PAGE)


def _address(number: int) -> str:
    kept = [(key, value) for key, value in request.args.items(multi=True) if key != "incoming"]
    return f"?{urlencode([*kept, ('incoming', str(number))])}"


def _described(iri: NamedNode, page: Page) -> Iterator[Triple]:
    """The page as a part of all that refers to the thing."""
    node = NamedNode(f"{request.base_url}{_address(page.number)}")
    yield Triple(node, TYPE, NamedNode(f"{_HYDRA}PartialCollectionView"))
    yield Triple(node, NamedNode(f"{FOAF}primaryTopic"), iri)
    if page.total is not None:
        yield Triple(node, NamedNode(f"{_HYDRA}totalItems"), Literal(page.total))
    names = {"first": "first", "prev": "previous", "next": "next"}
    for relation, address in page.around():
        yield Triple(node, NamedNode(f"{_HYDRA}{names[relation]}"), NamedNode(f"{request.base_url}{address}"))
