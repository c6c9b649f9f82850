"""``communities``: a table of them, or one in full with its report and members."""

from __future__ import annotations

import argparse

from pyoxigraph import NamedNode

from kgplatform.building.communities import CommunitiesFound, CommunityView
from kgplatform.cli import output
from kgplatform.errors import NotFoundError
from kgplatform.graph import KnowledgeGraph
from kgplatform.lookup import find_iri


def run(given: argparse.Namespace) -> int:
    """Prints the communities as last found; 1 if there are none."""
    with KnowledgeGraph.open(given.workspace) as kg:
        if given.refresh:
            say_found(kg.find_communities())
        views = kg.communities(language=given.language)
        if not views:
            output.note("no communities; `kgplatform communities --refresh` looks for them")
            return 1
        shown = [view for view in views if given.level is None or view.level == given.level]
        if given.name:
            shown = _of(given.name, shown, kg)
        if given.format == "json":
            output.as_json([_json(view) for view in shown])
        elif given.name:
            for view in shown:
                _print(view, kg, given.language)
        else:
            output.table(
                ("community", "level", "size", "rank", "about"),
                [
                    (output.short(v.iri, kg.store.prefixes), f"{v.level}", f"{v.size}", f"{v.rank:g}", v.title)
                    for v in shown
                ],
            )
        stale = sum(view.stale for view in shown)
        if stale:
            output.note(f"{stale} reports are out of date; --refresh writes them anew")
    return 0 if shown else 1


def say_found(found: CommunitiesFound) -> None:
    """Tells what a run found."""
    output.note(
        f"{found.communities} communities on {found.levels} levels, {found.new} new, {found.gone} gone, "
        f"modularity {found.modularity:.2f}"
    )


def _of(name: str, views: list[CommunityView], kg: KnowledgeGraph) -> list[CommunityView]:
    """The community of that IRI, or those that the thing of that name is in."""
    short = {output.short(view.iri, kg.store.prefixes): view for view in views}
    if name in short:
        return [short[name]]
    wanted = NamedNode(name) if "://" in name else find_iri(kg.store, name)
    found = [view for view in views if wanted == view.iri or wanted in view.members]
    if not found:
        raise NotFoundError(f"{name} is no community and in none; `kgplatform communities` lists them", name=name)
    return found


def _print(view: CommunityView, kg: KnowledgeGraph, language: str) -> None:
    output.say(f"{view.title} ({view.iri.value})")
    output.say(f"level {view.level}, {view.size} members, rank {view.rank:g}{', out of date' if view.stale else ''}")
    output.say(view.summary)
    for member in view.members:
        output.say(f"  {kg.label(member, language)}")


def _json(view: CommunityView) -> dict[str, object]:
    return {
        "iri": view.iri.value,
        "level": view.level,
        "parent": view.parent.value if view.parent else None,
        "size": view.size,
        "rank": view.rank,
        "title": view.title,
        "summary": view.summary,
        "stale": view.stale,
        "members": [member.value for member in view.members],
    }
