"""The Explore page: one thing, its relations with their numbers, and a picture that grows by what one adds.

The list beside the picture does everything that the picture does, and works without scripts. No link leads nowhere:
a relation is offered with how many things it would add, and not at all when that is none.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final

from flask import Blueprint, Response, jsonify, redirect, request
from pyoxigraph import Literal, NamedNode, RdfFormat, Triple

from kgplatform.describing import Labels, Reference
from kgplatform.errors import NotFoundError
from kgplatform.vocab import LABEL, TYPE
from kgplatform.web import addresses
from kgplatform.web.exploration import AT_ONCE, Exploration, Names, hops_of, read
from kgplatform.web.frame import Frame, language, page, tongues
from kgplatform.web.growing import Growing, Grown
from kgplatform.web.needs import Graph
from kgplatform.web.neighbours import Artist, Drawn, Relation, Surroundings
from kgplatform.web.overview import Lately
from kgplatform.web.palette import Palette
from kgplatform.web.remembering import Remembered
from kgplatform.web.sheets import Sheet, csv_of, sheet
from kgplatform.web.starting import begin_with
from kgplatform.web.tables import Cell

_MOST_CALLED: Final = 8


@dataclass(frozen=True, slots=True)
class Offer:
    """A relation of the chosen thing: how many things it leads to, are shown, and come next; with addresses."""

    relation: Relation
    label: str
    total: int
    shown: int
    next: int
    add: str
    take: str


@dataclass(frozen=True, slots=True)
class Shown:
    """A thing of the picture, with what can be done to it."""

    term: Reference
    kind: str
    color: int | None
    is_focus: bool
    is_pinned: bool
    choose: str
    pin: str
    hide: str
    focus: str


@dataclass(frozen=True, slots=True)
class _Room:
    """What the making of one page needs."""

    kg: Graph
    lately: Lately
    labels: Labels
    names: Names
    surroundings: Surroundings


def blueprint(kg: Graph, lately: Lately) -> Blueprint:
    """The route of the page and of its files."""
    routes = Blueprint("exploring", __name__)
    kept = Remembered(kg)

    @routes.get("/explore")
    def explore() -> Any:
        labels = Labels(kg.dataset, kg.ontology, tongues())
        room = _Room(kg, lately, labels, Names(kg.store.prefixes), Surroundings(kg.dataset, kg.ontology, labels))
        state = read(request.args, room.names)
        asked = _asked(room, state)
        if asked is not None:
            return asked
        if state.focus is None:
            starts = kept.get(("starts", language()), lambda: begin_with(kg, lately.overview(), labels))
            return page("explore_start.html", kg.base, starts=starts, unknown="", near=[])
        return _explored(room, state)

    return routes


def _asked(room: _Room, state: Exploration) -> Any:
    """What a form of the page asked for by names: another thing, or a path; None where no form was sent."""
    name = request.args.get("name", "").strip()[:300]
    ends = [request.args.get(key, "").strip()[:300] for key in ("from", "to")]
    if name:
        return _found(room, name, lambda iri: _added(state, iri))
    if all(ends):
        start = _called(room, ends[0])
        if not start:
            return _unknown(room, ends[0])
        hops = hops_of(request.args.get("hops", ""))
        return _found(
            room, ends[1], lambda iri: replace(state, focus=state.focus or start[0], path=(start[0], iri), hops=hops)
        )
    return None


def _added(state: Exploration, iri: NamedNode) -> Exploration:
    return replace(state, focus=iri) if state.focus is None else state.pinning(iri).choosing(iri)


def _found(room: _Room, name: str, change: Callable[[NamedNode], Exploration]) -> Any:
    found = _called(room, name)
    if not found:
        return _unknown(room, name)
    return redirect(change(found[0]).address(room.names.write), 303)


def _called(room: _Room, name: str) -> list[NamedNode]:
    """The things of that name, IRI or prefixed name, the best first."""
    if ":" in name:
        try:
            iri = room.names.read(name)
        except NotFoundError:
            iri = None
        if iri is not None and (room.kg.store.objects(iri, TYPE) or next(room.kg.store.quads(iri), None)):
            return [iri]
    return room.lately.called(name, _MOST_CALLED)


def _unknown(room: _Room, name: str) -> Any:
    """The first page of Explore, saying that nothing is called so, with what is called like it."""
    near = dict.fromkeys(iri for word in name.split()[:5] if len(word) > 1 for iri in room.lately.called(word, 3))
    shown = [(room.labels.reference(iri), Exploration(iri).address(room.names.write)) for iri in list(near)[:8]]
    starts = begin_with(room.kg, room.lately.overview(), room.labels)
    return page("explore_start.html", room.kg.base, status=404, starts=starts, unknown=name, near=shown)


def _explored(room: _Room, state: Exploration) -> Any:
    kg, labels = room.kg, room.labels
    assert state.focus is not None
    focus = state.focus
    if next(kg.store.quads(state.focus), None) is None and next(kg.store.quads(None, None, state.focus), None) is None:
        raise NotFoundError(f"the graph says nothing about {state.focus.value}", name=state.focus.value)
    grown = Growing(kg, room.surroundings).grow(state)
    if state.on is not None and state.on not in grown.things:
        state = replace(state, on=None)
    artist = Artist(kg, room.surroundings, labels, Palette(room.lately.overview()))
    to_draw = tuple(room.surroundings.drawn(grown.statements))
    left_out = len(grown.statements) - len(to_draw)
    note = {"note": Frame(language(), kg.base).t("shortcuts", n=left_out)} if left_out else {}
    drawn = Drawn(grown.things, to_draw, state.focus, frozenset(q.triple for q in grown.way_statements))
    frame = Frame(language(), kg.base)
    tables = _things_sheet(room, grown, frame), _statements_sheet(room, grown, frame)
    file = _file(room, state, grown, artist, drawn) or csv_of(*tables)
    if file is not None:
        return file
    palette = Palette(room.lately.overview())
    chosen = state.chosen or focus
    write = room.names.write
    return page(
        "explore.html",
        kg.base,
        state=state,
        words=[(name, text) for name, text in state.words(write) if name not in ("path", "hops")],
        grown=grown,
        chosen=labels.reference(chosen),
        kind=_kind(room, palette, chosen),
        is_focus=chosen == state.focus,
        offers=_offers(room, state, grown, chosen),
        full=grown.is_full,
        shown=[_shown(room, palette, state, iri) for iri in grown.things],
        statements=tables[1],
        tables=tables,
        picture=artist.picture(drawn, layout="force", query=_query(grown), **note),
        way=_way_words(room, state, grown),
        without_path=replace(state, path=None).address(write),
        without_hidden=replace(state, hidden=()).address(write),
        start_over=Exploration(state.focus).address(write),
        from_here=Exploration(chosen).address(write),
        files=[(name, state.address(write, format=name)) for name in ("json", "turtle")],
        at_once=AT_ONCE,
    )


def _kind(room: _Room, palette: Palette, iri: NamedNode) -> tuple[str, int | None]:
    class_ = palette.class_of(room.kg, iri)
    return (room.labels.of(class_).text, palette.index(class_)) if class_ is not None else ("", None)


def _offers(room: _Room, state: Exploration, grown: Grown, chosen: NamedNode) -> list[Offer]:
    """The relations of a thing, each with what it would add: things that are neither shown nor hidden."""
    write = room.names.write
    offers = []
    for relation, total in room.surroundings.relations(chosen).items():
        shown = sum(room.surroundings.has(chosen, relation, other) for other in grown.things)
        hidden = sum(room.surroundings.has(chosen, relation, other) for other in state.hidden)
        left = total - shown - hidden
        added = state.added(chosen, relation)
        next_ = min(AT_ONCE, left) if not grown.is_full else 0
        offers.append(
            Offer(
                relation,
                room.labels.of(relation.predicate).text,
                total,
                shown,
                next_,
                state.with_step(chosen, relation).address(write) if next_ > 0 else "",
                state.without_step(chosen, relation).address(write) if added else "",
            )
        )
    return offers


def _shown(room: _Room, palette: Palette, state: Exploration, iri: NamedNode) -> Shown:
    write = room.names.write
    kind, color = _kind(room, palette, iri)
    is_focus, is_pinned = iri == state.focus, iri in state.pinned
    return Shown(
        room.labels.reference(iri),
        kind,
        color,
        is_focus,
        is_pinned,
        state.choosing(iri).address(write),
        (state.unpinning(iri) if is_pinned else state.pinning(iri)).address(write),
        "" if is_focus else state.hiding(iri).address(write),
        replace(state, focus=iri, on=None).address(write),
    )


def _things_sheet(room: _Room, grown: Grown, frame: Frame) -> Sheet:
    palette = Palette(room.lately.overview())
    rows = (
        (Cell(room.labels.of(iri).text, frame.at(iri)), Cell(_kind(room, palette, iri)[0]), Cell(iri.value))
        for iri in grown.things
    )
    return sheet("things", (frame.t("thing"), frame.t("class_"), "IRI"), rows)


def _statements_sheet(room: _Room, grown: Grown, frame: Frame) -> Sheet:
    def named(term: object) -> Cell:
        assert isinstance(term, NamedNode)
        return Cell(room.labels.of(term).text, addresses.of_iri(term, room.kg.base), term.value)

    rows = (
        (
            named(quad.subject),
            Cell(room.labels.of(quad.predicate).text, "", quad.predicate.value),
            named(quad.object),
            Cell(frame.t("inferred_mark") if room.surroundings.is_inferred(quad.triple) else ""),
        )
        for quad in grown.statements
    )
    columns = (frame.t("from_thing"), frame.t("relation"), frame.t("to_thing"), frame.t("how_known"))
    return sheet("statements", columns, rows)


def _way_words(room: _Room, state: Exploration, grown: Grown) -> dict[str, Any] | None:
    """The path between two things in words: the thing, then how it goes on."""
    if state.path is None:
        return None
    start, goal = state.path
    steps = []
    current = start
    for quad in grown.way_statements:
        forward = quad.subject == current
        after = quad.object if forward else quad.subject
        assert isinstance(after, NamedNode)
        label = room.labels.of(quad.predicate).text
        steps.append((f"{label} →" if forward else f"← {label}", room.labels.reference(after)))
        current = after
    return {
        "start": room.labels.reference(start),
        "goal": room.labels.reference(goal),
        "steps": steps,
        "looked": grown.looked,
        "gave_up": grown.gave_up,
        "same": start == goal,
    }


def _query(grown: Grown) -> str:
    things = " ".join(str(iri) for iri in grown.things)
    return (
        f"SELECT ?thing ?property ?other WHERE {{\n  VALUES ?thing {{ {things} }}\n  VALUES ?other {{ {things} }}\n"
        "  ?thing ?property ?other .\n}\n"
        if len(grown.things) <= 60
        else "SELECT ?thing ?property ?other WHERE {\n"
        f"  VALUES ?thing {{ {things} }}\n  ?thing ?property ?other .\n  FILTER(isIRI(?other))\n}}\nLIMIT 10000\n"
    )


def _file(room: _Room, state: Exploration, grown: Grown, artist: Artist, drawn: Drawn) -> Response | None:
    """What is shown as JSON or Turtle, if that is asked for."""
    wanted = request.args.get("format")
    if wanted == "json":
        response = jsonify({"address": state.address(room.names.write), **artist.picture(drawn)})
    elif wanted == "turtle":
        body = room.kg.store.serialise(_triples(room, grown), RdfFormat.TURTLE)
        response = Response(body, content_type="text/turtle; charset=utf-8")
    else:
        return None
    name = "explored.json" if wanted == "json" else "explored.ttl"
    response.headers["Content-Disposition"] = f'attachment; filename="{name}"'
    response.headers["Cache-Control"] = "no-cache"
    return response


def _triples(room: _Room, grown: Grown) -> list[Triple]:
    """The statements that are shown, with the names and classes of the things."""
    store = room.kg.store
    named = [
        Triple(iri, predicate, term)
        for iri in grown.things
        for predicate in (TYPE, LABEL)
        for term in store.objects(iri, predicate)
        if isinstance(term, NamedNode | Literal)
    ]
    return [*dict.fromkeys([*named, *(quad.triple for quad in grown.statements)])]
