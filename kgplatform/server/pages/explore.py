"""The Explore page: one thing, its relations with their numbers, and a picture that grows by what one adds.

The list beside the picture does everything that the picture does, and works without scripts. No link leads nowhere:
a relation is offered with how many things it would add, and not at all when that is none.

The state is the address: ``/explore?focus=…&expand=out 25 geo:near kg:entity/x&pin=…&hide=…&on=…&path=… …``, each word
a prefixed name where a prefix of the workspace covers it, else an IRI. Going back undoes a step.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain, islice, repeat, zip_longest
from typing import TYPE_CHECKING, Any, Final, TypeAlias
from urllib.parse import urlencode

from flask import Blueprint, Response, jsonify, redirect, request
from pyoxigraph import Literal, NamedNode, Quad, RdfFormat, Triple
from werkzeug.datastructures import MultiDict

from kgplatform.entities import Labels, Reference
from kgplatform.errors import NotFoundError
from kgplatform.ontology.schema import Ontology
from kgplatform.server import addresses
from kgplatform.server.frame import Frame, Lately, Overview, Palette, Remembered, language, page, tongues
from kgplatform.server.pages.entity import Artist, DirectedRelation, Scene, Surroundings
from kgplatform.server.result_tables import Cell, Sheet, as_file, csv_of, sheet
from kgplatform.store.dataset import EvidenceDataset
from kgplatform.store.oxigraph import DEFAULT_GRAPH
from kgplatform.vocab import LABEL, TYPE

if TYPE_CHECKING:
    from kgplatform.graph import KnowledgeGraph


# What is stated is tried first; what only follows from it (a place in a country in a continent) would cut the way short
# and tell less.
_MOST_LOOKED: Final = 200_000
_MOST_SECONDS: Final = 3.0


@dataclass(frozen=True, slots=True)
class Way:
    """The statements from one thing to the other (none found: empty), and how many were looked at.

    ``gave_up``: the search ended before all ways of that length were tried.
    """

    statements: tuple[Quad, ...]
    looked: int
    gave_up: bool = False


def shortest(
    dataset: EvidenceDataset,
    ontology: Ontology,
    surroundings: Surroundings,
    ends: tuple[NamedNode, NamedNode],
    *,
    hops: int = 6,
    most: int = _MOST_LOOKED,
) -> Way:
    """The shortest way between the ends, of at most so many statements."""
    search = _Search(dataset, ontology, surroundings, most)
    for with_conclusions in (False, True):
        found = search.run(ends, hops, with_conclusions=with_conclusions)
        if found or search.spent:
            break
    return Way(tuple(found), search.looked, gave_up=search.spent and not found)


class _Search:
    def __init__(self, dataset: EvidenceDataset, ontology: Ontology, surroundings: Surroundings, most: int) -> None:
        self._dataset = dataset
        self._terms = ontology.classes.keys() | ontology.properties.keys()
        self._surroundings = surroundings
        self._most = most
        self._until = time.monotonic() + _MOST_SECONDS
        self.looked = 0

    @property
    def spent(self) -> bool:
        return self.looked >= self._most or time.monotonic() > self._until

    def run(self, ends: tuple[NamedNode, NamedNode], hops: int, *, with_conclusions: bool) -> list[Quad]:
        """Widens the smaller of two circles round the ends until they meet."""
        start, goal = ends
        if start == goal:
            return []
        came: tuple[dict[NamedNode, Quad | None], ...] = ({start: None}, {goal: None})
        edges: list[list[NamedNode]] = [[start], [goal]]
        for _ in range(hops):
            side = 0 if len(edges[0]) <= len(edges[1]) else 1
            met = self._widen(edges, came, side, with_conclusions=with_conclusions)
            if met is not None:
                return [*reversed(_back(met, came[0])), *_back(met, came[1])]
            if not edges[side] or self.spent:
                return []
        return []

    def _widen(
        self,
        edges: list[list[NamedNode]],
        came: tuple[dict[NamedNode, Quad | None], ...],
        side: int,
        *,
        with_conclusions: bool,
    ) -> NamedNode | None:
        own, other = came[side], came[1 - side]
        reached: list[NamedNode] = []
        for thing in edges[side]:
            for quad, end in self._steps(thing, with_conclusions=with_conclusions):
                if end not in own:
                    own[end] = quad
                    if end in other:
                        return end
                    reached.append(end)
            if self.spent:
                break
        edges[side] = reached
        return None

    def _steps(self, thing: NamedNode, *, with_conclusions: bool) -> Iterator[tuple[Quad, NamedNode]]:
        store = self._dataset.store
        for outward in (True, False):
            ends = (thing, None) if outward else (None, thing)
            for quad in store.quads(ends[0], None, ends[1], DEFAULT_GRAPH):
                self.looked += 1
                if self.looked >= self._most:
                    return
                end = quad.object if outward else quad.subject
                if not isinstance(end, NamedNode) or end in self._terms or not self._surroundings.ties(quad):
                    continue
                if with_conclusions or self._dataset.is_stated(quad.triple):
                    yield quad, end


def _back(thing: NamedNode, came: dict[NamedNode, Quad | None]) -> list[Quad]:
    """The statements from where the circles met to the end that this one grew from."""
    found = []
    quad = came[thing]
    while quad is not None:
        found.append(quad)
        before = quad.subject if quad.object == thing else quad.object
        assert isinstance(before, NamedNode)
        thing, quad = before, came[before]
    return found


AT_ONCE: Final = 25
_RING: Final = 18
_MOST_WORDS: Final = 400
Write: TypeAlias = Callable[[NamedNode], str]


@dataclass(frozen=True, slots=True)
class ExploreStep:
    """So many things were added to ``thing`` by a relation."""

    thing: NamedNode
    relation: DirectedRelation
    number: int = AT_ONCE


@dataclass(frozen=True, slots=True)
class Exploration:
    """The state of an exploration; ``on`` is the thing whose relations are listed.

    ``bare``: nothing is added to the focus; else an exploration that begins has what is next to it.
    """

    focus: NamedNode | None = None
    steps: tuple[ExploreStep, ...] = ()
    pinned: tuple[NamedNode, ...] = ()
    hidden: tuple[NamedNode, ...] = ()
    on: NamedNode | None = None
    path: tuple[NamedNode, NamedNode] | None = None
    hops: int = 6
    bare: bool = False

    @property
    def chosen(self) -> NamedNode | None:
        """The thing whose relations are listed."""
        return self.on if self.on is not None else self.focus

    def added(self, thing: NamedNode, relation: DirectedRelation) -> int:
        """How many things were added to a thing by a relation."""
        return max((step.number for step in self.steps if (step.thing, step.relation) == (thing, relation)), default=0)

    def with_step(self, thing: NamedNode, relation: DirectedRelation) -> Exploration:
        """With the next things of a relation."""
        grown = ExploreStep(thing, relation, self.added(thing, relation) + AT_ONCE)
        if grown.number == AT_ONCE:
            return replace(self, steps=(*self.steps, grown))
        steps = (grown if (s.thing, s.relation) == (thing, relation) else s for s in self.steps)
        return replace(self, steps=tuple(dict.fromkeys(steps)))

    def without_step(self, thing: NamedNode, relation: DirectedRelation) -> Exploration:
        """Without what was added by a relation."""
        steps = tuple(s for s in self.steps if (s.thing, s.relation) != (thing, relation))
        return replace(self, steps=steps, bare=not steps)

    @property
    def begins(self) -> bool:
        """Whether nothing was done to it yet."""
        return not (self.bare or self.steps or self.pinned or self.hidden or self.path)

    def opening(self, thing: NamedNode, ring: Iterable[ExploreStep]) -> Exploration:
        """With what is next to a thing, unless something was added to it already; its relations are listed."""
        added = () if any(step.thing == thing for step in self.steps) else tuple(ring)
        return replace(self.choosing(thing), steps=(*self.steps, *added), bare=False)

    def choosing(self, thing: NamedNode) -> Exploration:
        """With the relations of another thing."""
        return replace(self, on=None if thing == self.focus else thing)

    def pinning(self, thing: NamedNode) -> Exploration:
        """With a thing that stays, whatever is taken away; it is no longer hidden."""
        hidden = tuple(one for one in self.hidden if one != thing)
        return replace(self, pinned=tuple(dict.fromkeys((*self.pinned, thing))), hidden=hidden)

    def unpinning(self, thing: NamedNode) -> Exploration:
        """With a thing that goes when what brought it is taken away."""
        return replace(self, pinned=tuple(one for one in self.pinned if one != thing))

    def hiding(self, thing: NamedNode) -> Exploration:
        """Without a thing, and without what was added to it."""
        on = None if self.on == thing else self.on
        steps = tuple(step for step in self.steps if step.thing != thing)
        hidden = tuple(dict.fromkeys((*self.hidden, thing)))
        return replace(self.unpinning(thing), hidden=hidden, steps=steps, on=on)

    def words(self, write: Write) -> list[tuple[str, str]]:
        """The words of the address."""
        found = [("focus", write(self.focus))] if self.focus is not None else []
        for step in self.steps:
            way = "in" if step.relation.inward else "out"
            text = f"{way} {step.number} {write(step.relation.predicate)} {write(step.thing)}"
            found.append(("expand", text))
        found += [("pin", write(one)) for one in self.pinned]
        found += [("hide", write(one)) for one in self.hidden]
        if self.bare:
            found.append(("bare", "1"))
        if self.on is not None:
            found.append(("on", write(self.on)))
        if self.path is not None:
            found += [("path", " ".join(map(write, self.path))), ("hops", str(self.hops))]
        return found

    def address(self, write: Write, **more: str) -> str:
        """The page of this state."""
        return f"/explore?{urlencode([*self.words(write), *more.items()])}"


class PrefixedNames:
    """Writes IRIs shortly, and reads them again."""

    def __init__(self, prefixes: Mapping[str, str]) -> None:
        self._by_length = sorted(prefixes.items(), key=lambda pair: -len(pair[1]))
        self._prefixes = prefixes

    def write(self, iri: NamedNode) -> str:
        """The IRI as a prefixed name, if a prefix covers it."""
        for name, space in self._by_length:
            if name and iri.value.startswith(space) and len(iri.value) > len(space):
                return f"{name}:{iri.value[len(space) :]}"
        return iri.value

    def read(self, text: str) -> NamedNode:
        """The IRI that was written.

        Raises:
            NotFoundError: it is none.
        """
        name, colon, rest = text.strip().partition(":")
        full = (
            f"{self._prefixes[name]}{rest}" if colon and name in self._prefixes and not rest.startswith("//") else text
        )
        try:
            return NamedNode(full.strip().removeprefix("<").removesuffix(">"))
        except ValueError as error:
            raise NotFoundError(f"{text[:200]!r} is neither an IRI nor a prefixed name", name=text) from error


def read(words: MultiDict[str, str], names: PrefixedNames) -> Exploration:
    """The state that the words of an address spell.

    Raises:
        NotFoundError: a word is no IRI.
    """

    def all_of(name: str) -> Iterable[NamedNode]:
        return dict.fromkeys(names.read(text) for text in words.getlist(name)[:_MOST_WORDS] if text.strip())

    focus, on = next(iter(all_of("focus")), None), next(iter(all_of("on")), None)
    path = words.get("path", "").split()
    return Exploration(
        focus=focus,
        steps=tuple(_step(text, names) for text in words.getlist("expand")[:_MOST_WORDS]),
        pinned=tuple(all_of("pin")),
        hidden=tuple(all_of("hide")),
        on=on if on != focus else None,
        path=(names.read(path[0]), names.read(path[1])) if len(path) == 2 else None,
        hops=hops_of(words.get("hops", "")),
        bare=words.get("bare") == "1",
    )


def hops_of(text: str) -> int:
    """The number of steps that a path may have, 6 where none is given."""
    return min(max(int(text), 1), 8) if text.isascii() and text.isdecimal() and len(text) < 4 else 6


def _step(text: str, names: PrefixedNames) -> ExploreStep:
    parts = text.split()
    if len(parts) == 2:  # a relation and a thing, as one writes it by hand
        parts = ["out", str(AT_ONCE), *parts]
    if len(parts) != 4 or parts[0] not in ("in", "out") or not (parts[1].isascii() and parts[1].isdecimal()):
        raise NotFoundError(f"expand={text[:100]!r} is not “in|out NUMBER PROPERTY THING”", name=text)
    return ExploreStep(
        names.read(parts[3]), DirectedRelation(names.read(parts[2]), parts[0] == "in"), min(int(parts[1][:5]), 1000)
    )


MOST_THINGS: Final = 300


@dataclass(frozen=True, slots=True)
class Grown:
    """What is shown; ``way_statements`` are those of the path that was asked for, in its order."""

    things: tuple[NamedNode, ...]
    statements: tuple[Quad, ...]
    way_statements: tuple[Quad, ...] = ()
    looked: int = 0
    gave_up: bool = False

    @property
    def is_full(self) -> bool:
        """Whether no more things can be shown."""
        return len(self.things) >= MOST_THINGS


def grow(kg: KnowledgeGraph, surroundings: Surroundings, state: Exploration) -> Grown:
    """The things and statements of a state, as the graph is now; what it no longer holds is left out."""
    hidden = frozenset(state.hidden)
    way = Way((), 0)
    if state.path is not None:
        way = shortest(kg.dataset, kg.ontology, surroundings, state.path, hops=state.hops)
    ends = (end for quad in way.statements for end in (quad.subject, quad.object) if isinstance(end, NamedNode))
    found = dict.fromkeys([*([state.focus] if state.focus else []), *state.pinned, *ends])
    for step in state.steps:
        if step.thing not in found:
            continue
        enough = step.number + len(found) + len(hidden)
        others = surroundings.others(step.thing, step.relation, most=enough)
        new = [other for other in others if other not in hidden and other not in found]
        for other in new[: step.number]:
            if len(found) < MOST_THINGS + len(hidden):
                found.setdefault(other)
    things = tuple(thing for thing in found if thing not in hidden or thing == state.focus)[:MOST_THINGS]
    return Grown(things, tuple(surroundings.between(things)), way.statements, way.looked, way.gave_up)


_MOST_CLASSES: Final = 8
_OF_EACH: Final = 5
_LOOKED_AT: Final = 300
_MOST_TIES: Final = 200


def begin_with(
    kg: KnowledgeGraph, overview: Overview, labels: Labels
) -> list[tuple[Reference, list[tuple[Reference, str]]]]:
    """The largest classes with some of their things, the best tied first, each with the address to begin at."""
    names = PrefixedNames(kg.store.prefixes)
    largest = sorted(overview.classes, key=lambda iri: (-overview.classes[iri], iri.value))[:_MOST_CLASSES]
    starts = []
    for class_ in largest:
        some = islice(kg.store.quads(None, TYPE, class_, DEFAULT_GRAPH), _LOOKED_AT)
        things = [quad.subject for quad in some if isinstance(quad.subject, NamedNode)]
        ranked = sorted(things, key=lambda iri: (-_ties(kg, iri), iri.value))[:_OF_EACH]
        if ranked:
            shown = [(labels.reference(iri), Exploration(iri).address(names.write)) for iri in ranked]
            starts.append((labels.reference(class_), shown))
    return starts


def _ties(kg: KnowledgeGraph, iri: NamedNode) -> int:
    out = sum(
        isinstance(q.object, NamedNode) for q in islice(kg.store.quads(iri, None, None, DEFAULT_GRAPH), _MOST_TIES)
    )
    return out + sum(1 for _ in islice(kg.store.quads(None, None, iri, DEFAULT_GRAPH), _MOST_TIES))


_MOST_CALLED: Final = 8


@dataclass(frozen=True, slots=True)
class _Room:
    """What the making of one page needs."""

    kg: KnowledgeGraph
    lately: Lately
    labels: Labels
    names: PrefixedNames
    surroundings: Surroundings


def blueprint(kg: KnowledgeGraph, lately: Lately) -> Blueprint:
    """The route of the page and of its files."""
    routes = Blueprint("exploring", __name__)
    kept = Remembered(kg)

    @routes.get("/explore")
    def explore() -> Any:
        labels = Labels(kg.dataset, kg.ontology, tongues())
        room = _Room(
            kg, lately, labels, PrefixedNames(kg.store.prefixes), Surroundings(kg.dataset, kg.ontology, labels)
        )
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
    """What a form or a click asked for: another thing, a path, what is next to a thing; None where nothing was."""
    name = request.args.get("name", "").strip()[:300]
    ends = [request.args.get(key, "").strip()[:300] for key in ("from", "to")]
    if opened := request.args.get("open", "").strip():
        thing = room.names.read(opened)
        return redirect(state.opening(thing, _ring(room, thing)).address(room.names.write), 303)
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


def _ring(room: _Room, thing: NamedNode) -> tuple[ExploreStep, ...]:
    """What is next to a thing: some of each relation, so that a long one does not hide the others."""
    turns = zip_longest(*(repeat(relation, n) for relation, n in room.surroundings.relations(thing).items()))
    shares = Counter(islice(filter(None, chain.from_iterable(turns)), _RING))
    return tuple(ExploreStep(thing, relation, number) for relation, number in shares.items())


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
        if iri is not None and next(room.kg.store.quads(iri), None):
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
    if not kg.store.mentions(focus):
        raise NotFoundError(f"nothing is known about “{state.focus.value}”", name=state.focus.value)
    if state.begins:
        state = replace(state, steps=_ring(room, focus))
    grown = grow(kg, room.surroundings, state)
    if state.on is not None and state.on not in grown.things:
        state = replace(state, on=None)
    artist = Artist(kg, room.surroundings, labels, Palette(room.lately.overview()))
    to_draw = tuple(room.surroundings.drawn(grown.statements))
    left_out = len(grown.statements) - len(to_draw)
    frame = Frame(language(), kg.base)
    note = {"note": frame.t("shortcuts", n=left_out)} if left_out else {}
    drawn = Scene(grown.things, to_draw, state.focus, frozenset(q.triple for q in grown.way_statements))
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


def _offers(room: _Room, state: Exploration, grown: Grown, chosen: NamedNode) -> list[dict[str, object]]:
    """The relations of a thing, each with how many things it leads to, are shown, and come next; with addresses.

    What comes next is neither shown nor hidden.
    """
    write = room.names.write
    offers = []
    for relation, total in room.surroundings.relations(chosen).items():
        shown = sum(room.surroundings.has(chosen, relation, other) for other in grown.things)
        hidden = sum(room.surroundings.has(chosen, relation, other) for other in state.hidden)
        left = total - shown - hidden
        added = state.added(chosen, relation)
        next_ = min(AT_ONCE, left) if not grown.is_full else 0
        offers.append(
            {
                **{"relation": relation, "label": room.labels.of(relation.predicate).text},
                **{"total": total, "shown": shown, "next": next_},
                "add": state.with_step(chosen, relation).address(write) if next_ > 0 else "",
                "take": state.without_step(chosen, relation).address(write) if added else "",
            }
        )
    return offers


def _shown(room: _Room, palette: Palette, state: Exploration, iri: NamedNode) -> dict[str, object]:
    """A thing of the picture, with what can be done to it."""
    write = room.names.write
    kind, color = _kind(room, palette, iri)
    is_focus, is_pinned = iri == state.focus, iri in state.pinned
    return {
        **{"term": room.labels.reference(iri), "kind": kind, "color": color},
        **{"is_focus": is_focus, "is_pinned": is_pinned},
        "choose": state.choosing(iri).address(write),
        "open": "" if any(step.thing == iri for step in state.steps) else state.address(write, open=write(iri)),
        "pin": (state.unpinning(iri) if is_pinned else state.pinning(iri)).address(write),
        "hide": "" if is_focus else state.hiding(iri).address(write),
    }


def _things_sheet(room: _Room, grown: Grown, frame: Frame) -> Sheet:
    palette = Palette(room.lately.overview())
    rows = (
        (Cell(room.labels.of(iri).text, frame.at(iri)), _kind(room, palette, iri)[0], iri.value) for iri in grown.things
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
            frame.t("inferred_mark") if room.surroundings.is_inferred(quad.triple) else "",
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


def _file(room: _Room, state: Exploration, grown: Grown, artist: Artist, drawn: Scene) -> Response | None:
    """What is shown as JSON or Turtle, if that is asked for."""
    match request.args.get("format"):
        case "json":
            record = {"address": state.address(room.names.write), **artist.picture(drawn)}
            return as_file(jsonify(record), "explored.json")
        case "turtle":
            body = room.kg.store.serialise(_triples(room, grown), RdfFormat.TURTLE)
            return as_file(Response(body, content_type="text/turtle; charset=utf-8"), "explored.ttl")
    return None


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
