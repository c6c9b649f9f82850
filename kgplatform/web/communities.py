"""The Communities pages: the tree of them, and one with its report, its members and how these are tied."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from flask import Blueprint
from pyoxigraph import NamedNode, Quad

from kgplatform.building.communities import CommunityView
from kgplatform.describing import Labels
from kgplatform.errors import NotFoundError
from kgplatform.store import DEFAULT_GRAPH
from kgplatform.vocab import CORE, RDFS, graph_iri
from kgplatform.web import addresses
from kgplatform.web.frame import Frame, language, page, tongues
from kgplatform.web.needs import Graph
from kgplatform.web.overview import Lately
from kgplatform.web.palette import Palette
from kgplatform.web.remembering import Remembered
from kgplatform.web.sheets import Sheet, csv_of, number, sheet
from kgplatform.web.tables import Cell

_MOST_NODES = 120
_MOST_EDGES = 600


@dataclass(frozen=True, slots=True)
class Branch:
    """A community of the tree, with those it is divided into."""

    view: CommunityView
    href: str
    parts: tuple[Branch, ...]


def blueprint(kg: Graph, lately: Lately) -> Blueprint:
    """The routes of the communities."""
    routes = Blueprint("communities", __name__)
    kept = Remembered(kg)

    def views() -> list[CommunityView]:
        return kept.get(("communities", language()), lambda: kg.communities(language=language()))

    @routes.get("/communities")
    def communities() -> Any:
        found = views()
        listed = _listed(found, Frame(language(), kg.base))
        wanted = csv_of(listed)
        if wanted:
            return wanted
        return page(
            "communities.html",
            kg.base,
            branches=_branches(found, None, kg.base),
            total=len(found),
            levels=len({view.level for view in found}),
            stale=sum(view.stale for view in found),
            listed=listed,
            query=_tree_query(kg.base),
        )

    @routes.get("/communities/<path:name>")
    def community(name: str) -> Any:
        found = views()
        view = _named(name, found, kg.base)
        frame, labels = Frame(language(), kg.base), Labels(kg.dataset, kg.ontology, tongues())
        ties = _ties(kg, view)
        members = _members(view, ties, labels, frame)
        wanted = csv_of(members)
        if wanted:
            return wanted
        above = next((item for item in found if item.iri == view.parent), None)
        return page(
            "community.html",
            kg.base,
            view=view,
            above=_branch(above, (), kg.base) if above else None,
            parts=_branches(found, view.iri, kg.base),
            members=members,
            picture=_picture(kg, view, ties, labels, Palette(lately.overview())),
        )

    return routes


def _branches(found: Sequence[CommunityView], parent: NamedNode | None, base: str) -> tuple[Branch, ...]:
    return tuple(_branch(view, found, base) for view in found if view.parent == parent)


def _branch(view: CommunityView, found: Sequence[CommunityView], base: str) -> Branch:
    return Branch(view, address(view.iri, base), _branches(found, view.iri, base) if found else ())


def address(iri: NamedNode, base: str) -> str:
    """The page of a community."""
    return f"/communities/{quote(iri.value.removeprefix(f'{base}community/'), safe='')}"


def _named(name: str, found: Iterable[CommunityView], base: str) -> CommunityView:
    for view in found:
        if name in (view.iri.value.removeprefix(f"{base}community/"), view.iri.value):
            return view
    raise NotFoundError(f"there is no community {name!r}; it may have gone when they were last found", name=name)


def _listed(found: Iterable[CommunityView], frame: Frame) -> Sheet:
    t = frame.t
    rows = (
        (
            Cell(view.title, address(view.iri, frame.base), view.iri.value),
            number(view.level),
            number(view.size),
            number(view.rank),
            Cell(t("out_of_date" if view.stale else "up_to_date")),
        )
        for view in found
    )
    columns = (t("community"), t("level_column"), t("members"), t("rank"), t("report"))
    return sheet("communities", columns, rows)


def _ties(kg: Graph, view: CommunityView) -> list[Quad]:
    """The statements between members, each said once: of two inverse ones the first; conclusions are left out."""
    inside = frozenset(view.members)
    ontology, inferred = kg.ontology, kg.dataset.inferred
    found: dict[tuple[object, ...], Quad] = {}
    for member in view.members:
        for quad in kg.store.quads(member, None, None, DEFAULT_GRAPH):
            known = ontology.properties.get(quad.predicate)
            if quad.object not in inside or quad.object == member or known is None or known.internal:
                continue
            turned = (quad.object, known.inverse, member)
            stated = any(graph != inferred for graph in kg.dataset.evidence_graphs(quad.triple))
            if stated and turned not in found:
                found[quad.subject, quad.predicate, quad.object] = quad
    return list(found.values())


def _degrees(view: CommunityView, ties: Iterable[Quad]) -> dict[NamedNode, int]:
    degrees = dict.fromkeys(view.members, 0)
    for quad in ties:
        for end in (quad.subject, quad.object):
            if isinstance(end, NamedNode):
                degrees[end] += 1
    return degrees


def _members(view: CommunityView, ties: Sequence[Quad], labels: Labels, frame: Frame) -> Sheet:
    degrees = _degrees(view, ties)
    ranked = sorted(view.members, key=lambda iri: (-degrees[iri], labels.of(iri).text.casefold()))
    rows = (
        (Cell(labels.of(iri).text, addresses.of_iri(iri, frame.base), iri.value), number(degrees[iri]))
        for iri in ranked
    )
    return sheet("members", (frame.t("member"), frame.t("ties")), rows)


def _picture(kg: Graph, view: CommunityView, ties: Sequence[Quad], labels: Labels, palette: Palette) -> dict[str, Any]:
    """The members as a graph, the best tied of them where there are many."""
    degrees = _degrees(view, ties)
    shown = sorted(view.members, key=lambda iri: (-degrees[iri], iri.value))[:_MOST_NODES]
    of = {iri: palette.class_of(kg, iri) for iri in shown}
    classes = list(dict.fromkeys(item for item in of.values() if item is not None))
    drawn = frozenset(shown)
    edges = [quad for quad in ties if quad.subject in drawn and quad.object in drawn][:_MOST_EDGES]
    best = shown[0] if shown else None
    return {
        "nodes": [
            {
                "id": iri.value,
                "label": labels.of(iri).text,
                "href": addresses.of_iri(iri, kg.base),
                "class": classes.index(kind) if (kind := of[iri]) is not None else None,
                "focus": iri == best,
            }
            for iri in shown
        ],
        "edges": [
            {
                "source": quad.subject.value,
                "target": quad.object.value,
                "label": labels.of(quad.predicate).text,
                "kind": "",
            }
            for quad in edges
            if isinstance(quad.subject, NamedNode) and isinstance(quad.object, NamedNode)
        ],
        "classes": palette.records(classes, labels, kg.base),
        "layout": "force",
        "query": _ties_query(view.iri, kg.base),
        "total": {"nodes": len(view.members), "edges": len(ties)},
    }


def _ties_query(community: NamedNode, base: str) -> str:
    graph = graph_iri(base, "communities")
    return (
        f"PREFIX core: <{CORE}>\nSELECT ?member ?property ?other WHERE {{\n"
        f"  GRAPH {graph} {{ ?member core:memberOf {community} . ?other core:memberOf {community} . }}\n"
        "  ?member ?property ?other .\n}\n"
    )


def _tree_query(base: str) -> str:
    return (
        f"PREFIX core: <{CORE}>\nPREFIX rdfs: <{RDFS}>\nSELECT ?community ?label ?level ?size ?parent WHERE {{\n"
        f"  GRAPH {graph_iri(base, 'communities')} {{\n"
        "    ?community a core:Community ; rdfs:label ?label ; core:level ?level ; core:size ?size .\n"
        "    OPTIONAL { ?community core:memberOf ?parent }\n  }\n}\nORDER BY ?level DESC(?size)\n"
    )
