"""``/changes``: what is new since an earlier state, of the whole graph, of a class, or of one entity.

The state is one that the store keeps (`kgplatform.store.versions`); the page compares its default graph with the
present one. A graph of more statements than `MOST` is compared class by class or entity by entity only.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, Final

from flask import Blueprint, request
from pyoxigraph import NamedNode, Triple

from kgplatform.entities import APART, Labels, Reference, is_bookkeeping, is_unnamed
from kgplatform.server import addresses, endpoint
from kgplatform.server.frame import Frame, Lately, Members, Palette, language, page, tongues
from kgplatform.server.result_tables import Cell, Sheet, cell, csv_of, passages, sheet
from kgplatform.store.oxigraph import DEFAULT_GRAPH, Store
from kgplatform.vocab import ALT_LABEL, LABEL, TYPE

if TYPE_CHECKING:
    from kgplatform.graph import KnowledgeGraph

MOST: Final = 300_000
"""So many statements at most are compared for one page."""
_A_PAGE: Final = 40
_TRIED: Final = 5
_MOST_SAID: Final = 25
_NAMES: Final = {TYPE: "type_is", LABEL: "name", ALT_LABEL: "also"}


@dataclass(slots=True)
class ChangedThing:
    """A thing with the statements about it that came and went; ``kind``: ``new``, ``changed`` or ``gone``."""

    iri: NamedNode
    kind: str = "changed"
    added: list[Triple] = field(default_factory=list)
    removed: list[Triple] = field(default_factory=list)


def differences(then: Store, now: Store, about: Iterable[NamedNode] | None) -> tuple[list[Triple], list[Triple]]:
    """The statements that are only now, and those that were only then; ``about``: none others than about these."""
    if about is None:
        return list(_only(now, then, None)), list(_only(then, now, None))
    things = list(about)
    return (
        list(dict.fromkeys(chain.from_iterable(_only(now, then, thing) for thing in things))),
        list(dict.fromkeys(chain.from_iterable(_only(then, now, thing) for thing in things))),
    )


def _only(one: Store, other: Store, thing: NamedNode | None) -> Iterator[Triple]:
    """The statements of the default graph of the one store that the other has not, about the thing if one is given."""
    own = one.quads(thing, None, None, DEFAULT_GRAPH)
    for quad in own if thing is None else chain(own, one.quads(None, None, thing, DEFAULT_GRAPH)):
        if not other.has(quad.triple):
            yield quad.triple


class ChangedThings:
    """What came and went in a workspace since a state, by thing; conclusions are counted, bookkeeping is left out."""

    def __init__(self, kg: KnowledgeGraph, then: Store, about: Iterable[NamedNode] | None) -> None:
        self._kg = kg
        terms = (kg.ontology.classes, kg.ontology.properties, kg.ontology.individuals)
        self._terms = frozenset(chain.from_iterable(terms))
        self.things: dict[NamedNode, ChangedThing] = {}
        self.inferred = 0
        added, removed = differences(then, kg.store, about)
        inferred = kg.dataset.inferred
        for triples, is_new, held in ((added, True, kg.store), (removed, False, then)):
            for triple in triples:
                if not isinstance(triple.subject, NamedNode) or not self._is_told(triple):
                    continue
                if held.has(triple, inferred) and not (is_new and kg.dataset.is_stated(triple)):
                    self.inferred += 1
                    continue
                thing = self.things.setdefault(triple.subject, ChangedThing(triple.subject))
                (thing.added if is_new else thing.removed).append(triple)
        for thing in self.things.values():
            if not _speaks_of(then, thing.iri):
                thing.kind = "new"
            elif not _speaks_of(kg.store, thing.iri):
                thing.kind = "gone"

    def _is_told(self, triple: Triple) -> bool:
        if triple.subject in self._terms or is_unnamed(triple.subject) or is_unnamed(triple.object):
            return False
        kind = self._kg.ontology.classes.get(triple.object) if isinstance(triple.object, NamedNode) else None
        return not (kind and kind.internal) and not is_bookkeeping(triple.predicate, self._kg.ontology)

    def ordered(self, labels: Labels) -> list[ChangedThing]:
        """The things by what became of them, then by name."""
        order = {"new": 0, "changed": 1, "gone": 2}
        return sorted(self.things.values(), key=lambda one: (order[one.kind], labels.of(one.iri).text.casefold()))

    def by_class(self, palette: Palette) -> list[tuple[NamedNode, int]]:
        """How many new things there are of each class, most first."""
        new = (one.iri for one in self.things.values() if one.kind == "new")
        counts = Counter(kind for iri in new if (kind := palette.class_of(self._kg, iri)) is not None)
        return counts.most_common(12)


def _speaks_of(store: Store, thing: NamedNode) -> bool:
    return next(iter(store.quads(thing, None, None, DEFAULT_GRAPH)), None) is not None


def blueprint(kg: KnowledgeGraph, lately: Lately) -> Blueprint:
    """The route of the page."""
    routes = Blueprint("changes", __name__)

    @routes.get("/changes")
    def changes() -> Any:
        kept = [version for version in kg.versions.listed() if not version.is_current]
        labels, iri = Labels(kg.dataset, kg.ontology, tongues()), addresses.given_iri("iri")
        term = labels.reference(iri) if iri else None
        shown: dict[str, Any] = {"versions": kept, "since": None, "term": term, "too_many": False}
        given = request.args.get("since", "").strip()
        if not kept and not given:
            return page("changes.html", kg.base, **shown)
        asked = endpoint.wanted(kg, given) if given else None
        for since in [asked] if asked else kept[:_TRIED]:  # without a wish, the last state that differs
            with endpoint.dataset_at(kg, since) as before:
                about = _about(kg, before.store, shown["term"])
                if about is None and len(kg.store) > MOST:
                    return page("changes.html", kg.base, **(shown | {"since": since, "too_many": True}))
                found = ChangedThings(kg, before.store, about)
                if found.things or since in (asked, kept[:_TRIED][-1]):
                    named = labels, Labels(before, kg.ontology, tongues())
                    return _page(kg, lately, found, named, {**shown, "since": since})
        raise AssertionError("one of the states is shown")

    return routes


def _about(kg: KnowledgeGraph, before: Store, term: Reference | None) -> list[NamedNode] | None:
    if term is None or term.iri is None:
        return None
    if term.iri not in kg.ontology.classes:
        return [term.iri]
    things = chain(Members(kg.store, kg.ontology, term.iri), Members(before, kg.ontology, term.iri))
    return list(dict.fromkeys(islice(things, MOST // 10)))


def _page(
    kg: KnowledgeGraph, lately: Lately, found: ChangedThings, labels: tuple[Labels, Labels], shown: dict[str, Any]
) -> Any:
    now, then = labels
    ordered = found.ordered(now)
    table = _sheet(kg, ordered, labels)
    if (wanted := csv_of(table)) is not None:
        return wanted
    palette = Palette(lately.overview())
    number = int(given) if (given := request.args.get("page", "1")).isdecimal() and len(given) < 7 else 1
    first = min(max(number, 1) - 1, max(0, len(ordered) - 1) // _A_PAGE) * _A_PAGE
    listed = [
        {
            "thing": (then if one.kind == "gone" else now).reference(one.iri),
            "kind": one.kind,
            "color": palette.index(kind) if (kind := palette.class_of(kg, one.iri)) else None,
            "lines": list(islice(_lines(kg, one, labels), _MOST_SAID)),
            "left_out": max(0, sum(len(_telling(part)) for part in (one.added, one.removed)) - _MOST_SAID),
        }
        for one in ordered[first : first + _A_PAGE]
    ]
    kinds = Counter(one.kind for one in ordered)
    counts = {
        "added": sum(len(one.added) for one in ordered),
        "removed": sum(len(one.removed) for one in ordered),
        **{kind: kinds[kind] for kind in ("new", "changed", "gone")},
    }
    classes = [(now.reference(iri), n) for iri, n in found.by_class(palette)]
    place = {"first": first, "step": _A_PAGE, "total": len(ordered)}
    return page(
        "changes.html",
        kg.base,
        **(shown | place | {"listed": listed, "counts": counts, "classes": classes, "table": table}),
        inferred=found.inferred,
    )


def _telling(triples: list[Triple]) -> list[Triple]:
    """The statements in words; names and classes, which the heading says, only where there is nothing else."""
    plain = [triple for triple in triples if triple.predicate not in APART and triple.predicate not in (TYPE, LABEL)]
    return plain or triples


def _lines(kg: KnowledgeGraph, one: ChangedThing, labels: tuple[Labels, Labels]) -> Iterator[dict[str, Any]]:
    """What went and what came of a thing as cells, property by property; what came with the first passage for it."""
    signed = [(triple, False) for triple in _telling(one.removed)] + [(triple, True) for triple in _telling(one.added)]
    properties = kg.ontology.properties
    signed.sort(key=lambda pair: (term.order if (term := properties.get(pair[0].predicate)) else 10_000, *_key(pair)))
    for triple, is_new in signed:
        told, value = (cell(term, labels[not is_new], kg.base) for term in (triple.predicate, triple.object))
        said = Cell(Frame(language(), kg.base).t(key)) if (key := _NAMES.get(triple.predicate)) else told
        yield {"came": is_new, "property": said, "value": value, "source": _source(kg, triple) if is_new else Cell("")}


def _key(pair: tuple[Triple, bool]) -> tuple[str, bool, str]:
    return pair[0].predicate.value, pair[1], str(pair[0].object)


def _source(kg: KnowledgeGraph, triple: Triple) -> Cell:
    graphs = kg.dataset.evidence_graphs(triple)
    return passages(filter(None, (kg.evidence_finder.find(triple, graph) for graph in graphs[:3])), kg.base)


def _sheet(kg: KnowledgeGraph, ordered: list[ChangedThing], labels: tuple[Labels, Labels]) -> Sheet:
    """All statements that came (+) and went (−), for the table that is downloaded; made where that is asked for."""
    frame = Frame(language(), kg.base)
    wanted = ordered if request.args.get("format") == "csv" else []
    rows = (
        [Cell(sign), *(cell(term, of, kg.base) for term in (triple.subject, triple.predicate, triple.object))]
        for one in wanted
        for sign, part, of in (("+", one.added, labels[0]), ("−", one.removed, labels[1]))
        for triple in part
    )
    return sheet("changes", ("±", frame.t("thing"), frame.t("property"), frame.t("range")), rows)
