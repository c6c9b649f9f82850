"""The Communities pages: the tree of them, and one with its report, its members and how these are tied."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from flask import Blueprint, redirect
from pyoxigraph import NamedNode, Quad

from kgplatform.entities import Labels
from kgplatform.errors import KgPlatformError, NotFoundError
from kgplatform.server.access import Role, client, require
from kgplatform.server.frame import Frame, Lately, Palette, Remembered, language, page, tongues
from kgplatform.server.jobs import Jobs
from kgplatform.server.pages.entity import Artist, Scene, Surroundings
from kgplatform.server.result_tables import Cell, Sheet, csv_of, sheet
from kgplatform.vocab import CORE, RDFS, graph_iri
from kgplatform.workspace.community_stage import CommunityView

if TYPE_CHECKING:
    from kgplatform.graph import KnowledgeGraph


_MOST_NODES = 120
_MOST_EDGES = 600


def blueprint(kg: KnowledgeGraph, lately: Lately, jobs: Jobs) -> Blueprint:
    """The routes of the communities, and of finding them: one after the other with the reading of documents."""
    routes = Blueprint("communities", __name__)
    kept = Remembered(kg)
    finding, troubles = threading.Event(), deque[str](maxlen=1)

    def found_anew() -> Iterator[object]:
        troubles.clear()
        try:
            yield kg.find_communities()
        except KgPlatformError as error:
            troubles.append(str(error))
            raise
        finally:
            finding.clear()

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
            is_busy=finding.is_set(),
            trouble="".join(troubles),
            may_find=client().role >= Role.WRITE and not lately.overview().empty,
        )

    @routes.post("/communities")
    def find() -> Any:
        require(Role.WRITE)
        if not finding.is_set():
            finding.set()
            jobs.start(found_anew)
        return redirect("/communities", 303)

    @routes.get("/communities/<path:name>")
    def community(name: str) -> Any:
        found = views()
        view = _named(name, found, kg.base)
        frame, labels = Frame(language(), kg.base), Labels(kg.dataset, kg.ontology, tongues())
        surroundings = Surroundings(kg.dataset, kg.ontology, labels)
        ties = _ties(surroundings, view)
        members = _members(view, ties, labels, frame)
        wanted = csv_of(members)
        if wanted:
            return wanted
        above = next((item for item in found if item.iri == view.parent), None)
        palette = Palette(lately.overview())
        return page(
            "community.html",
            kg.base,
            view=view,
            above=_branch(above, (), kg.base) if above else None,
            parts=_branches(found, view.iri, kg.base),
            members=members,
            picture=_picture(Artist(kg, surroundings, labels, palette), view, ties, kg.base),
        )

    return routes


def _branches(found: Sequence[CommunityView], parent: NamedNode | None, base: str) -> list[dict[str, Any]]:
    return [_branch(view, found, base) for view in found if view.parent == parent]


def _branch(view: CommunityView, found: Sequence[CommunityView], base: str) -> dict[str, Any]:
    """A community of the tree, with those it is divided into."""
    return {"view": view, "href": address(view.iri, base), "parts": _branches(found, view.iri, base)}


def address(iri: NamedNode, base: str) -> str:
    """The page of a community."""
    return f"/communities/{quote(iri.value.removeprefix(f'{base}community/'), safe='')}"


def _named(name: str, found: Iterable[CommunityView], base: str) -> CommunityView:
    for view in found:
        if name in (view.iri.value.removeprefix(f"{base}community/"), view.iri.value):
            return view
    raise NotFoundError(f"there is no community {name!r}; it may have disappeared with the last refresh", name=name)


def _listed(found: Iterable[CommunityView], frame: Frame) -> Sheet:
    cells = ((Cell(view.title, address(view.iri, frame.base), view.iri.value), view) for view in found)
    rows = ((name, v.level, v.size, v.rank, frame.t("out_of_date" if v.stale else "up_to_date")) for name, v in cells)
    columns = [frame.t(key) for key in ("community", "level_column", "members", "rank", "report")]
    return sheet("communities", columns, rows)


def _ties(surroundings: Surroundings, view: CommunityView) -> list[Quad]:
    """The stated connections between members, each once: of two inverse ones the first."""
    return [quad for quad in surroundings.between(view.members) if not surroundings.is_inferred(quad.triple)]


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
    rows = ((Cell(labels.of(iri).text, frame.at(iri), iri.value), degrees[iri]) for iri in ranked)
    return sheet("members", (frame.t("member"), frame.t("ties")), rows)


def _picture(artist: Artist, view: CommunityView, ties: Sequence[Quad], base: str) -> dict[str, Any]:
    """The members as a graph, the best connected of them where there are many."""
    degrees = _degrees(view, ties)
    shown = sorted(view.members, key=lambda iri: (-degrees[iri], iri.value))[:_MOST_NODES]
    drawn = frozenset(shown)
    edges = [quad for quad in ties if quad.subject in drawn and quad.object in drawn][:_MOST_EDGES]
    scene = Scene(tuple(shown), tuple(edges), shown[0] if shown else None)
    total = {"nodes": len(view.members), "edges": len(ties)}
    return artist.picture(scene, layout="force", query=_ties_query(view.iri, base), total=total)


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
