"""Pages and data of single things, at addresses made from their IRIs, and the search for things and passages.

Limits are applied before anything is drawn: a hub of a hundred thousand relations costs a count, not a page. As data,
the first page has what is said of a thing and the first `PAGE` references to it, the next ones (``?incoming=2`` …)
further references only; the header links to the pages around (RFC 8288), and the data says the same in the words of
Hydra (https://www.hydra-cg.com/spec/latest/core/#collections).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice, zip_longest
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlencode

from flask import Blueprint, Response, redirect, request
from pyoxigraph import BlankNode, Literal, NamedNode, Quad, RdfFormat, Triple

from kgplatform.entities import (
    APART,
    EntityFact,
    EntityStatements,
    EntityView,
    Incoming,
    Labels,
    Turned,
    describe,
    is_bookkeeping,
    is_unnamed,
    special_types,
)
from kgplatform.errors import NotFoundError
from kgplatform.ontology.schema import Ontology
from kgplatform.retrieval.methods import lacking
from kgplatform.server import addresses, endpoint
from kgplatform.server.access import Role, client
from kgplatform.server.frame import Frame, Lately, Palette, language, page, tongues
from kgplatform.server.http import problem
from kgplatform.server.pages.terms import Terms
from kgplatform.server.places import Spot, centre, hierarchy_of, lies_in, spot_of, ways
from kgplatform.server.result_tables import Cell, Sheet, csv_of, passages, sheet
from kgplatform.server.source_cards import of_facts, of_sources
from kgplatform.sparql.protocol import GRAPHS, HTML, TRIPLES, Format, ProtocolError, choose, listing, named
from kgplatform.sparql.rewrite import with_prefixed_names
from kgplatform.store.dataset import EvidenceDataset
from kgplatform.store.oxigraph import DEFAULT_GRAPH
from kgplatform.store.versions import Version
from kgplatform.text import normalise
from kgplatform.types import Evidence, Term
from kgplatform.vocab import FOAF, RDF, RDFS, TYPE
from kgplatform.workspace.review import EntityEdits

if TYPE_CHECKING:
    from kgplatform.graph import KnowledgeGraph

_MOST_COUNTED: Final = 100_000
_MOST_SORTED: Final = 2_000
_MOST_FOLLOWED: Final = 2_000
_TIED: Final = 'FILTER(isIRI(?s) && ?s != ?thing && !STRSTARTS(STR(?s), "urn:kgplatform:node:"))'
_LONGEST: Final = 120


@dataclass(frozen=True, slots=True)
class DirectedRelation:
    """A property that ties a thing to others; ``inward``: the others are its subjects."""

    predicate: NamedNode
    inward: bool


class Surroundings:
    """The relations of things in the default graph; the ontology's own and bookkeeping are left out."""

    def __init__(self, dataset: EvidenceDataset, ontology: Ontology, labels: Labels) -> None:
        self._dataset = dataset
        self._ontology = ontology
        self._labels = labels
        self._tellers: dict[NamedNode, EntityStatements] = {}

    def relations(self, iri: NamedNode) -> dict[DirectedRelation, int]:
        """The relations of a thing with how many others each leads to, in the ontology's order."""
        counts: Counter[DirectedRelation] = Counter()
        for quad in islice(self._dataset.store.quads(iri, None, None, DEFAULT_GRAPH), _MOST_COUNTED):
            if self.ties(quad) and not self._only_follows(quad):
                counts[DirectedRelation(quad.predicate, inward=False)] += 1
        for predicate, number in self._told(iri).counted(_TIED).items():
            if self._is_tie(predicate):
                counts[DirectedRelation(predicate, inward=True)] = number
        return {relation: counts[relation] for relation in sorted(counts, key=self._order)}

    def _told(self, iri: NamedNode) -> EntityStatements:
        if iri not in self._tellers:
            self._tellers[iri] = EntityStatements(iri, self._dataset, self._ontology)
        return self._tellers[iri]

    def _order(self, relation: DirectedRelation) -> tuple[bool, int, str]:
        term = self._ontology.properties.get(relation.predicate)
        return relation.inward, term.order if term else 10_000, relation.predicate.value

    def ties(self, quad: Quad) -> bool:
        """Whether the statement ties one thing to another."""
        if not isinstance(quad.object, NamedNode) or not isinstance(quad.subject, NamedNode):
            return False
        if quad.subject == quad.object or not self._is_tie(quad.predicate):
            return False
        return not is_unnamed(quad.object) and not is_unnamed(quad.subject)

    def _is_tie(self, predicate: NamedNode) -> bool:
        if predicate in APART or predicate.value.startswith((RDF, RDFS)):
            return False
        return not is_bookkeeping(predicate, self._ontology)

    def _only_follows(self, quad: Quad) -> bool:
        """Whether the statement holds only because somebody says the same the other way round."""
        term = self._ontology.properties.get(quad.predicate)
        if term is None or not isinstance(quad.object, NamedNode) or not (term.inverse or term.symmetric):
            return False
        turned = Triple(quad.object, term.inverse or term.iri, quad.subject)
        dataset = self._dataset
        return dataset.store.has(turned) and dataset.is_stated(turned) and not dataset.is_stated(quad.triple)

    def others(self, iri: NamedNode, relation: DirectedRelation, *, most: int = 0) -> list[NamedNode]:
        """The things at the other end of a relation by name; of too many for that the first ``most`` as they come."""
        found = list(dict.fromkeys(islice(self._ends(iri, relation), max(most, _MOST_SORTED + 1))))
        if len(found) > _MOST_SORTED:
            return found
        return sorted(found, key=lambda other: (self._labels.of(other).text.casefold(), other.value))

    def _ends(self, iri: NamedNode, relation: DirectedRelation) -> Iterator[NamedNode]:
        store = self._dataset.store
        if not relation.inward:
            for quad in islice(store.quads(iri, relation.predicate, None, DEFAULT_GRAPH), _MOST_COUNTED):
                if self.ties(quad) and not self._only_follows(quad) and isinstance(quad.object, NamedNode):
                    yield quad.object
            return
        for quad in self._told(iri).referring(relation.predicate):
            if self.ties(quad) and isinstance(quad.subject, NamedNode):
                yield quad.subject

    def number_of_others(self, iri: NamedNode, counted: dict[DirectedRelation, int]) -> int:
        """How many things the relations lead to in all; what several of them lead to counts once."""
        if not counted:
            return 0
        largest, *rest = sorted(counted, key=lambda relation: -counted[relation])
        others = {other for relation in rest for other in self._ends(iri, relation)}
        if len(others) * 20 > counted[largest] or (largest.inward and self._told(iri).ways(largest.predicate)):
            return len(others.union(self._ends(iri, largest)))
        return counted[largest] + sum(not self.has(iri, largest, other) for other in others)

    def between(self, things: Iterable[NamedNode]) -> list[Quad]:
        """All statements that tie some of the things to each other, each said once: of two inverse ones the first."""
        inside = list(dict.fromkeys(things))
        known = frozenset(inside)
        found: dict[tuple[object, ...], Quad] = {}
        for thing in inside:
            for quad in self._towards(thing, known, inside):
                if self._only_follows(quad):
                    continue
                term = self._ontology.properties.get(quad.predicate)
                other_way = (term.inverse, quad.predicate if term.symmetric else None) if term else ()
                if not any(way and (quad.object, way, thing) in found for way in other_way):
                    found[quad.subject, quad.predicate, quad.object] = quad
        return list(found.values())

    def _towards(self, thing: NamedNode, known: frozenset[NamedNode], inside: Sequence[NamedNode]) -> Iterator[Quad]:
        store = self._dataset.store
        said = list(islice(store.quads(thing, None, None, DEFAULT_GRAPH), _MOST_FOLLOWED + 1))
        if len(said) > _MOST_FOLLOWED:  # it says too much to go through: ask for each of the others instead
            said = [quad for other in inside for quad in store.quads(thing, None, other, DEFAULT_GRAPH)]
        return (quad for quad in said if quad.object in known and self.ties(quad))

    def stated_first(self, iri: NamedNode, relation: DirectedRelation) -> list[NamedNode]:
        """The things at the other end of a relation; if some are stated, only those."""
        found = self.others(iri, relation)
        stated = [other for other in found[:_MOST_SORTED] if not self.is_inferred(_triple(iri, relation, other))]
        return stated or found

    def drawn(self, statements: Sequence[Quad]) -> list[Quad]:
        """The statements without inferred shortcuts: of a transitive property, what two others of them lead through."""
        after: dict[tuple[object, NamedNode], set[object]] = {}
        for quad in statements:
            after.setdefault((quad.subject, quad.predicate), set()).add(quad.object)
        return [quad for quad in statements if not self._is_shortcut(quad, after)]

    def _is_shortcut(self, quad: Quad, after: dict[tuple[object, NamedNode], set[object]]) -> bool:
        term = self._ontology.properties.get(quad.predicate)
        if term is None or not term.transitive:
            return False
        middle = after[quad.subject, quad.predicate] - {quad.object, quad.subject}
        through = any(quad.object in after.get((one, quad.predicate), ()) for one in middle)
        return through and self.is_inferred(quad.triple)

    def is_inferred(self, triple: Triple) -> bool:
        """Whether the statement holds only because it follows from others."""
        return not self._dataset.is_stated(triple)

    def has(self, iri: NamedNode, relation: DirectedRelation, other: NamedNode) -> bool:
        """Whether the relation leads from the one to the other."""
        return self._dataset.store.has(_triple(iri, relation, other))


def _triple(iri: NamedNode, relation: DirectedRelation, other: NamedNode) -> Triple:
    ends = (other, iri) if relation.inward else (iri, other)
    return Triple(ends[0], relation.predicate, ends[1])


@dataclass(frozen=True, slots=True)
class Scene:
    """What a picture shows: things in their order, the statements between them, and which of both stand out."""

    things: tuple[NamedNode, ...]
    statements: tuple[Quad, ...]
    focus: NamedNode | None = None
    strong: frozenset[Triple] = frozenset()


class Artist:
    """Makes pictures of things in the form that the scripts draw."""

    def __init__(self, kg: KnowledgeGraph, surroundings: Surroundings, labels: Labels, palette: Palette) -> None:
        self._kg = kg
        self._surroundings = surroundings
        self._labels = labels
        self._palette = palette

    def picture(self, drawn: Scene, **more: Any) -> dict[str, Any]:
        """The things as nodes, the statements as edges; a ``query`` beside them is written with prefixes."""
        if "query" in more:
            more["query"] = with_prefixed_names(more["query"], self._kg.store.prefixes)
        of = {iri: self._palette.class_of(self._kg, iri) for iri in drawn.things}
        classes = list(dict.fromkeys(item for item in of.values() if item is not None))
        at = {iri: number for number, iri in enumerate(classes)}
        nodes = []
        for iri in drawn.things:
            label, kind = self._labels.of(iri).text, of[iri]
            record = {"id": iri.value, "label": label[:_LONGEST], "class": at[kind] if kind is not None else None}
            nodes.append({**record, "href": addresses.of_iri(iri, self._kg.base), "focus": iri == drawn.focus})
        return {
            "nodes": nodes,
            "edges": [self._edge(quad, strong=quad.triple in drawn.strong) for quad in drawn.statements],
            "classes": self._palette.records(classes, self._labels, self._kg.base),
            **more,
        }

    def _edge(self, quad: Quad, *, strong: bool) -> dict[str, Any]:
        assert isinstance(quad.subject, NamedNode)
        assert isinstance(quad.object, NamedNode)
        return {
            "source": quad.subject.value,
            "target": quad.object.value,
            "label": self._labels.of(quad.predicate).text[:_LONGEST],
            "kind": "inferred" if self._surroundings.is_inferred(quad.triple) else "",
            "weight": 3 if strong else 1,
        }


def row_picture(
    kg: KnowledgeGraph, lately: Lately, triples: Sequence[Triple], strong: Iterable[Term | None]
) -> dict[str, Any]:
    """The statements behind a row as a picture, plain values as nodes of their own; what is in the row stands out."""
    labels = Labels(kg.dataset, kg.ontology, tongues())
    surroundings = Surroundings(kg.dataset, kg.ontology, labels)
    ends = dict.fromkeys(term for one in triples for term in (one.subject, one.object))
    things = tuple(term for term in ends if isinstance(term, NamedNode))
    artist = Artist(kg, surroundings, labels, Palette(lately.overview()))
    picture = artist.picture(Scene(things, ()), query=holding(triples))
    values = (term for term in ends if not isinstance(term, NamedNode))
    plain = ({"id": _node_id(v), "label": labels.reference(v).label[:_LONGEST], "class": None} for v in values)
    focus = {_node_id(term) for term in strong}
    nodes = [{**node, "focus": node["id"] in focus} for node in (*picture["nodes"], *plain)]
    edges = [
        {
            **{"source": _node_id(one.subject), "target": _node_id(one.object), "weight": 1},
            "label": labels.of(one.predicate).text[:_LONGEST],
            "kind": "inferred" if surroundings.is_inferred(one) else "",
        }
        for one in triples
    ]
    return {**picture, "nodes": nodes, "edges": edges, "layout": "layers"}


def _node_id(term: Term | None) -> str:
    return term.value if isinstance(term, NamedNode) else str(term)


def fairly(groups: dict[DirectedRelation, list[NamedNode]], most: int) -> list[NamedNode]:
    """Some of each group, in turn, so that one long relation does not hide the others."""
    found: dict[NamedNode, None] = {}
    for thing in chain.from_iterable(zip_longest(*groups.values())):
        if len(found) == most:
            break
        if thing is not None:
            found.setdefault(thing)
    return list(found)


def query_of(iri: NamedNode) -> str:
    """The query for what a thing is tied to."""
    return (
        "SELECT ?property ?other ?to WHERE {\n"
        f"  {{ {iri} ?property ?to }}\n  UNION\n  {{ ?other ?property {iri} }}\n"
        "  FILTER(!BOUND(?to) || isIRI(?to))\n"
        f"{_NO_BOOKS}}}\nLIMIT 300\n"
    )


def told_of(iri: NamedNode) -> str:
    """The query for the facts of a thing."""
    return f"SELECT ?property ?value WHERE {{\n  {iri} ?property ?value .\n{_NO_BOOKS}}}\n"


def referring_to(iri: NamedNode) -> str:
    """The query for what refers to a thing."""
    return f"SELECT ?other ?property WHERE {{\n  ?other ?property {iri} .\n{_NO_BOOKS}}}\nLIMIT 1000\n"


def holding(triples: Iterable[Triple]) -> str:
    """The query that finds the statements again, those about blank nodes left out."""
    named = (one for one in triples if BlankNode not in (type(one.subject), type(one.object)))
    rows = "".join(f"    ({one.subject} {one.predicate} {one.object})\n" for one in named)
    values = f"  VALUES (?subject ?property ?value) {{\n{rows}  }}\n"
    return f"SELECT ?subject ?property ?value WHERE {{\n{values}  ?subject ?property ?value .\n}}\n"


_NO_BOOKS: Final = "  FILTER(?property != dcterms:isReplacedBy) FILTER NOT EXISTS { ?property core:internal true }\n"
_MOST_NEIGHBOURS: Final = 14
_MOST_INSIDE: Final = 100
_MOST_ASKED: Final = 2_000


def portrait(
    kg: KnowledgeGraph, dataset: EvidenceDataset, iri: NamedNode, labels: Labels, palette: Palette
) -> dict[str, Any]:
    """The pictures of a thing as the dataset has it, and the places that it lies in (``within``), the farthest first.

    ``placed`` is the place whose position stands for that of the thing, if that is not known itself.
    """
    by = ways(kg.ontology)
    within = hierarchy_of(dataset.store, iri, by)
    surroundings = Surroundings(dataset, kg.ontology, labels)
    artist = Artist(kg, surroundings, labels, palette)
    inside = {one: at for one in _inside(kg, dataset, iri) if (at := spot_of(dataset.store, one))}
    own = spot_of(dataset.store, iri)
    about = None if own else centre(inside.values())
    above = ((one, at) for one in within if (at := spot_of(dataset.store, one)))
    place, spot = (iri, own or about) if own or about else next(above, (iri, None))
    return {
        "within": [labels.reference(item) for item in reversed(within)],
        "picture": _neighbours(artist, surroundings, iri),
        "map": _map(kg, artist, place, spot, inside if place == iri else {}, is_own=bool(own)) if spot else None,
        "placed": labels.reference(place) if place != iri else None,
    }


def _neighbours(artist: Artist, surroundings: Surroundings, iri: NamedNode) -> dict[str, Any]:
    counted = surroundings.relations(iri)
    groups = {relation: surroundings.stated_first(iri, relation) for relation in counted}
    shown = fairly(groups, _MOST_NEIGHBOURS)
    things = (iri, *(other for other in shown if other != iri))
    statements = [quad for quad in surroundings.between(things) if iri in (quad.subject, quad.object)]
    statements = surroundings.drawn(statements)
    return artist.picture(
        Scene(things, tuple(statements), iri),
        layout="radial",
        query=query_of(iri),
        total={"nodes": 1 + surroundings.number_of_others(iri, counted), "edges": sum(counted.values())},
    )


def _map(
    kg: KnowledgeGraph,
    artist: Artist,
    place: NamedNode,
    around: Spot,
    inside: Mapping[NamedNode, Spot],
    *,
    is_own: bool,
) -> dict[str, Any]:
    """The thing, or the place that it is in, and what lies in the thing."""
    spots = {place: around, **dict(islice(inside.items(), _MOST_INSIDE))}
    nodes = artist.picture(Scene(tuple(spots), ()))
    points = [
        {**node, "lat": spot.latitude, "lon": spot.longitude}
        for node, spot in zip(nodes["nodes"], spots.values(), strict=True)
    ]
    if not is_own:
        points[0]["approximate"] = True
    query = with_prefixed_names(_positions_query(place), kg.store.prefixes)
    data: dict[str, Any] = {"points": points, "classes": nodes["classes"], "query": query}
    if len(points) == 1:
        west, east = around.longitude - 6, around.longitude + 6
        data["bbox"] = [west, max(-85.0, around.latitude - 4), east, min(85.0, around.latitude + 4)]
    return data


def _inside(kg: KnowledgeGraph, dataset: EvidenceDataset, iri: NamedNode) -> list[NamedNode]:
    by = ways(kg.ontology)
    found: dict[NamedNode, None] = {}
    for way in by.up:
        for quad in dataset.store.quads(None, way, iri):
            if isinstance(quad.subject, NamedNode) and len(found) < _MOST_ASKED:
                found.setdefault(quad.subject)
    return [thing for thing in found if iri in lies_in(dataset.store, thing, by)]


def _positions_query(iri: NamedNode) -> str:
    return (
        "SELECT ?thing ?latitude ?longitude WHERE {\n"
        f"  {{ BIND({iri} AS ?thing) }} UNION {{ ?thing geo:locatedIn {iri} }}\n"
        "  ?thing geo:latitude ?latitude ; geo:longitude ?longitude .\n}\n"
    )


def turned(page: str, of: str, by: str) -> Turned | None:
    """The page of a property that an address asks for: ``of`` its values, ``by`` the things that refer by it.

    Raises:
        NotFoundError: the page is no number, or the property no IRI.
    """
    name = of or by
    if not name:
        return None
    try:
        return Turned(NamedNode(name), bool(by and not of), max(0, min(int(page or 1), 1_000_000) - 1))
    except ValueError as error:
        raise NotFoundError(
            "the page of a property is asked for by a number and the property's IRI", name=name
        ) from error


def sheets(view: EntityView, frame: Frame) -> tuple[Sheet, Sheet]:
    """The facts, and who refers to the thing, as tables."""
    return _facts(view.facts, frame), _incoming(view.incoming, frame)


def _facts(facts: tuple[EntityFact, ...], frame: Frame) -> Sheet:
    t = frame.t
    rows = (
        (
            Cell(fact.predicate.label, "", str(fact.predicate.term)),
            value.value.label,
            value.value.iri.value if value.value.iri else "",
            fact.unit,
            t("origin_inferred") if value.is_inferred else ", ".join(value.origins),
            passages(value.evidence, frame.base),
        )
        for fact in facts
        for value in fact.values
    )
    return sheet("facts", (t("property"), t("range"), "IRI", t("unit"), t("how_known"), t("source_column")), rows)


def _incoming(incoming: tuple[Incoming, ...], frame: Frame) -> Sheet:
    t = frame.t
    rows = (
        (
            group.predicate.label,
            Cell(subject.label, frame.at(subject.iri) if subject.iri else ""),
            subject.iri.value if subject.iri else "",
            group.total,
        )
        for group in incoming
        for subject in group.subjects
    )
    return sheet("incoming", (t("property"), t("thing"), "IRI", t("of_all")), rows)


PAGE: Final = 1000
"""So many references to a thing are on a page of its data."""
_HYDRA: Final = "http://www.w3.org/ns/hydra/core#"


@dataclass(frozen=True, slots=True)
class ReferencePage:
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
    page = ReferencePage(1, None, is_last=True)
    if not quads:
        page = _asked(dataset, iri)
        quads = list(dataset.store.quads(iri, None, None, DEFAULT_GRAPH)) if page.number == 1 else []
        quads += islice(_references(dataset, iri), (page.number - 1) * PAGE, page.number * PAGE)
    if not quads:
        raise NotFoundError(f"nothing is known about “{iri.value}”", name=iri.value)
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


def _asked(dataset: EvidenceDataset, iri: NamedNode) -> ReferencePage:
    text = request.args.get("incoming", "1")
    if not text.isdecimal() or (number := int(text[:9])) < 1:
        raise ProtocolError(400, "Bad request", "`incoming` is the number of a page, from 1 on")
    counted = sum(1 for _ in islice(_references(dataset, iri), max(_MOST_COUNTED, number * PAGE) + 1))
    if number > 1 and counted <= (number - 1) * PAGE:
        raise NotFoundError(f"{iri.value} is referred to {counted} times; there is no page {number}", name=iri.value)
    total = counted if counted <= _MOST_COUNTED else None
    return ReferencePage(number, total, is_last=counted <= number * PAGE)


def _address(number: int) -> str:
    kept = [(key, value) for key, value in request.args.items(multi=True) if key != "incoming"]
    return f"?{urlencode([*kept, ('incoming', str(number))])}"


def _described(iri: NamedNode, page: ReferencePage) -> Iterator[Triple]:
    """The page as a part of all that refers to the thing."""
    node = NamedNode(f"{request.base_url}{_address(page.number)}")
    yield Triple(node, TYPE, NamedNode(f"{_HYDRA}PartialCollectionView"))
    yield Triple(node, NamedNode(f"{FOAF}primaryTopic"), iri)
    if page.total is not None:
        yield Triple(node, NamedNode(f"{_HYDRA}totalItems"), Literal(page.total))
    names = {"first": "first", "prev": "previous", "next": "next"}
    for relation, address in page.around():
        yield Triple(node, NamedNode(f"{_HYDRA}{names[relation]}"), NamedNode(f"{request.base_url}{address}"))


_OFFERS = (HTML, *GRAPHS)
_MOST_FOUND = 20


def blueprint(kg: KnowledgeGraph, lately: Lately, terms: Terms) -> Blueprint:
    """The routes of entity pages and of the search."""
    routes = Blueprint("things", __name__)

    @routes.get("/id/<path:rest>")
    def below(rest: str) -> Any:
        iri = addresses.iri(f"{kg.base}{rest}")
        stem, dot, extension = rest.rpartition(".")
        if dot and extension in {offer.extension for offer in _OFFERS} and not kg.store.mentions(iri):
            return _thing(kg, lately, terms, addresses.iri(f"{kg.base}{stem}"), extension)
        return _thing(kg, lately, terms, iri, request.args.get("format"))

    @routes.get("/resource")
    def resource() -> Any:
        name = request.args.get("iri", "").strip().removeprefix("<").removesuffix(">")
        return _thing(kg, lately, terms, addresses.iri(name), request.args.get("format"))

    @routes.get("/search")
    def search() -> Any:
        text = request.args.get("q", "").strip()[:200]
        labels = Labels(kg.dataset, kg.ontology, tongues())
        found = lately.called(text, _MOST_FOUND)
        passages = kg.search(text, 5) if text else ()
        things = [(labels.reference(iri), _kinds(kg, iri, labels)) for iri in found]
        only = kg.sources.index.words_only if text else ""
        lacks = lacking(kg.settings.retrieval.retriever, kg.sources) if text else ""
        passing = not things and not _say(passages, text)
        said: dict[str, Any] = {"words_only": only, "lacks": lacks, "near_only": passing}
        return page("search.html", kg.base, text=text, things=things, passages=passages, **said)

    return routes


def _say(passages: Iterable[Evidence], text: str) -> bool:
    """Whether one of the passages has a word of the text; else they are only near."""
    wanted = normalise(text).split()
    return any(word in normalise(item.quote) for item in passages for word in wanted)


def _kinds(kg: KnowledgeGraph, iri: NamedNode, labels: Labels) -> list[str]:
    """What a thing is, in words; of a term of the ontology whether it is a class or a property."""
    frame = Frame(language(), kg.base)
    if iri in kg.ontology.classes or iri in kg.ontology.properties:
        return [frame.t("class_" if iri in kg.ontology.classes else "property")]
    return [labels.of(term).text for term in special_types(kg.store.objects(iri, TYPE), kg.ontology)]


def _thing(kg: KnowledgeGraph, lately: Lately, terms: Terms, iri: NamedNode, wanted: str | None) -> Any:
    as_table = wanted == "csv"
    asked = None if as_table else wanted
    format_ = HTML if as_table else named(asked, _OFFERS) if asked else choose(request.headers.get("Accept"), _OFFERS)
    if format_ is None:
        return problem(406, "Not acceptable", f"there is {listing(_OFFERS)}")
    version = endpoint.wanted(kg)
    with endpoint.dataset_at(kg, version) as dataset:
        is_page = format_ is HTML
        response = _page(kg, lately, terms, dataset, iri, version) if is_page else data_of(dataset, iri, format_)
    around = response.headers.getlist("Link")
    response.headers["Link"] = ", ".join(
        (
            *around,
            *(f'<{_as(iri, offer)}>; rel="alternate"; type="{offer.media_type}"' for offer in GRAPHS),
            f'<{_as(iri, GRAPHS[0])}>; rel="describedby"; type="{GRAPHS[0].media_type}"',
        )
    )
    response.vary.add("Accept")
    return endpoint.mark(response, version)


def _as(iri: NamedNode, format_: Format) -> str:
    return addresses.of_data(iri, format_.extension)


def _page(
    kg: KnowledgeGraph, lately: Lately, terms: Terms, dataset: EvidenceDataset, iri: NamedNode, version: Version | None
) -> Any:
    place = addresses.of_iri(iri, kg.base)
    if place.startswith("/documents/"):
        return redirect(place, 303)
    formats = [(offer.name, _as(iri, offer)) for offer in TRIPLES]
    outside = None if iri.value.startswith(kg.base) else addresses.outside(iri.value)
    if version is None and (shown := terms.shown(iri, formats=formats, outside=outside)):
        return shown
    asked = turned(*(request.args.get(name, "") for name in ("page", "of", "by")))
    find = kg.evidence_finder.find
    own = language()
    try:
        view = describe(iri, dataset=dataset, ontology=kg.ontology, find_evidence=find, language=own, turned=asked)
    except NotFoundError:
        if version is None or asked or not kg.store.mentions(iri):
            raise
        named = Labels(kg.dataset, kg.ontology, tongues()).of(iri).text
        return page("absent.html", kg.base, iri=iri, label=named, version=version, versions=kg.versions.listed())
    tables = sheets(view, Frame(language(), kg.base))
    if (wanted := csv_of(*tables)) is not None:
        return wanted
    labels, palette = Labels(dataset, kg.ontology, tongues()), Palette(lately.overview())
    sources, shown = view.evidence, of_facts(view, labels)
    return page(
        "entity.html",
        kg.base,
        view=view,
        sources=sources,
        shown=shown,
        supported=of_sources(view, shown),
        number={passage: index for index, passage in enumerate(sources, start=1)},
        formats=formats,
        version=version,
        versions=kg.versions.listed(),
        outside=outside,
        portrait=portrait(kg, dataset, iri, labels, palette),
        types=[(type_, palette.index(type_.iri) if type_.iri else None) for type_ in view.types],
        tables=tables,
        turn=_turn,
        may_write=client().role >= Role.WRITE and (version is None or version.is_current),
        edits=EntityEdits(dataset).of(iri),
        queries=[with_prefixed_names(made(iri), kg.store.prefixes) for made in (told_of, referring_to)],
    )


def _turn(predicate: NamedNode, number: int, *, inward: bool) -> str:
    """The address of another page of a property's values, or of what refers by it."""
    way = "by" if inward else "of"
    return f"{addresses.again('of', 'by', **{way: predicate.value}, page=number)}#{way}"
