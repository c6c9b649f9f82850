"""The sets with which the readings of a question begin: things, values, classes, amounts and days that it names.

Each comes with what speaks for it and the tokens that it explains. `floating_parser` makes readings of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from heapq import nlargest
from itertools import chain

from pyoxigraph import Literal, NamedNode

from kgplatform.questions.forms.fact_graph import FactGraph, Items
from kgplatform.questions.forms.intent import NO_INTENT, Intent
from kgplatform.questions.forms.logical_form import (
    And,
    Compare,
    Follow,
    Has,
    HasMany,
    Kind,
    Named,
    Or,
    Period,
    SetForm,
    items_of,
)
from kgplatform.questions.forms.question_language import languages
from kgplatform.questions.forms.question_text import Anchor, Quantity, Read, factors_between, union, unit_of, units_of
from kgplatform.questions.forms.relevance import NO_MEANING, Meaning, Vocabulary
from kgplatform.vocab import LABEL

_CLASSES = 6
MOST_ITEMS = 20_000
_INWARD = False
_DATED = frozenset(("date", "dateTime", "gYearMonth"))
_WHOLE = frozenset(("integer", "int"))
_MOST_YEARS = 40
_YEARS = range(1000, 2101)
_HOURS = 24
_INTENT_SHARE = 0.9
_LIKELIEST = 4
_LIKELIEST_ASKED = 2
SAID = 0.3
_SAID_AS_CODE = 0.45
_ASKED_WITHOUT_CUE = 0.3
_SURE_NAME = 0.75
FEW = 3
_MOST_COUNTED = 1000


@dataclass(frozen=True, slots=True)
class Ground:
    """One part of a reading and what speaks for it: ``kind``, how surely, and the tokens it explains.

    ``term`` is its property or class, ``worded``: words of its label are in the question. ``outward`` is the direction
    of a step; ``most`` and ``counted`` tell what a ranking is by, ``agrees`` whether a word asks for that direction.
    """

    kind: str
    score: float
    mask: int
    term: NamedNode | None = None
    worded: bool = False
    outward: bool = True
    most: bool = False
    counted: bool = False
    agrees: bool = True


@dataclass(frozen=True, slots=True)
class SetState:
    """A set on its way to a reading, with the tokens that it explains (``mask``) and how promising it is, for beams."""

    form: SetForm
    items: Items
    uses: tuple[Ground, ...]
    mask: int = field(init=False, compare=False)
    names: int = field(init=False, compare=False)
    """The tokens but those that only speak for a step: a word may speak for two."""
    score: float = field(init=False, compare=False)

    def __post_init__(self) -> None:
        mask = union(use.mask for use in self.uses)
        score = sum(_PROMISE[use.kind] * use.score - _COST[use.kind] for use in self.uses) + 0.12 * mask.bit_count()
        object.__setattr__(self, "mask", mask)
        object.__setattr__(self, "names", union(use.mask for use in self.uses if use.kind != "step"))
        object.__setattr__(self, "score", score)


_PROMISE = {
    "name": 2.0, "value": 1.6, "code": 1.5, "truth": 1.2, "quantity": 1.2, "class": 1.2, "step": 1.5, "bridge": 0.3,
    "top": 1.2, "count": 0.6, "aggregate": 0.8, "group": 0.8, "ask": 0.6, "without": 0.8, "column": 1.0, "has": 1.0,
    "against": 1.0, "more": 1.0, "list": 0.0, "whole": 0.0, "or": 0.2, "within": 0.5, "same": 0.8, "counted": 1.2,
    "defined": 1.5, "difference": 1.0, "share": 0.8,
}  # fmt: skip
_COST = {
    "name": 0.0, "value": 0.1, "code": 0.35, "truth": 0.4, "quantity": 0.2, "class": 0.1, "step": 0.2, "bridge": 0.7,
    "top": 0.3, "count": 0.1, "aggregate": 0.2, "group": 0.3, "ask": 0.1, "without": 0.3, "column": 0.4, "has": 0.4,
    "against": 0.3, "more": 0.3, "list": 0.0, "whole": 0.5, "or": 0.2, "within": 0.3, "same": 0.4, "counted": 0.3,
    "defined": 0.1, "difference": 0.3, "share": 0.3,
}  # fmt: skip


@dataclass
class Pool:
    """The best states, one for each set reached and tokens explained: the shortest, as a score is a sum over parts."""

    states: dict[tuple[Items, int], SetState] = field(default_factory=dict)

    def add(self, state: SetState) -> bool:
        """Keeps a state that is new or better; whether the set was not there before."""
        key = (state.items, state.mask)
        known = self.states.get(key)
        if known is None or (-len(known.uses), known.score) < (-len(state.uses), state.score):
            self.states[key] = state
            return known is None
        return False

    def best(self, count: int) -> list[SetState]:
        """The most promising."""
        return sorted(self.states.values(), key=lambda s: (-s.score, len(s.uses), s.mask))[:count]

    def spread(self, count: int) -> list[SetState]:
        """The best of each size in turn, since a score is a sum over parts and compares sets of one size only."""
        places: Counter[int] = Counter()
        turns: list[tuple[int, int, SetState]] = []
        for state in self.best(len(self.states)):
            places[len(state.uses)] += 1
            turns.append((places[len(state.uses)], len(turns), state))
        return [state for _, _, state in sorted(turns, key=lambda turn: turn[:2])[:count]]


class NamedSets:
    """The sets that the pieces of one question name, and what speaks for the terms of the ontology in it."""

    def __init__(self, graph: FactGraph, vocabulary: Vocabulary, read: Read, intent: Intent = NO_INTENT) -> None:
        """Looks up what the pieces of the question may mean; ``intent`` is what its whole wording is after."""
        self.graph, self.read, self.intent = graph, read, intent
        self.meanings = vocabulary.meanings(read)
        self._vocabulary = vocabulary
        self._likeliest = {
            term
            for told, count in ((intent.terms, _LIKELIEST), (intent.asked, _LIKELIEST_ASKED))
            for term in nlargest(count, told, key=told.__getitem__)
        }
        self._properties = [p for p in graph.forward if p.value != LABEL.value]

    def meaning(self, key: object, taken: int = 0) -> Meaning:
        """What best speaks for a term, among tokens that are not taken."""
        said = next((m for m in self.meanings.get(key, ()) if not m.mask & taken), NO_MEANING)
        likely = _INTENT_SHARE * self.intent.terms.get(key, 0.0) if isinstance(key, NamedNode) else 0.0
        likely = max(likely, SAID) if key in self._likeliest else likely
        return said if likely <= said.score else Meaning(likely, said.mask if said.score >= SAID else 0, said.worded)

    def _likely(self, operation: str) -> bool:
        """Whether the whole wording asks for an operation, though no word may be a sign of it."""
        return self.intent.operations.get(operation, 0.0) >= _ASKED_WITHOUT_CUE

    # what the question names

    def seeds(self) -> list[SetState]:
        """The sets that pieces of the question name by themselves."""
        found = Pool()
        every = (self._named, self._coded, self._measured, self._true, self._having, self._counted, self._defined)
        for state in chain.from_iterable(find() for find in every):
            if state.items and len(state.items) <= MOST_ITEMS:
                found.add(state)
        return found.best(60)

    def _named(self) -> Iterator[SetState]:
        for anchor in self.read.anchors:
            things = frozenset(i for i in anchor.items if not isinstance(self.graph.terms[i], Literal))
            if things:
                use = Ground("name", anchor.score, anchor.mask, None, anchor.exact)
                yield SetState(Named(things, anchor.said), things, (use,))
                if anchor.score >= _SURE_NAME and len(things) <= FEW:
                    yield from self._within(Named(things, anchor.said), use)
            for item in sorted(anchor.items - things)[:4]:
                yield from self._holders(item, anchor)

    def _within(self, named: Named, use: Ground) -> Iterator[SetState]:
        """What is named with all that lies below it, by each property that leads on from what it leads to."""
        for predicate in self.graph.chains:
            below = Follow(predicate, _INWARD, named, again=True)
            items = items_of(below, self.graph)
            if items:
                yield SetState(Or((named, below)), named.items | items, (use, Ground("within", 1.0, 0, predicate)))

    def _having(self) -> Iterator[SetState]:
        """What has a property at all, where some of its kind have none."""
        for predicate in self._properties:
            meaning = self.meaning(predicate)
            if meaning.score >= SAID and predicate not in self.graph.truths:
                for outward, items in ((True, self.graph.subjects[predicate]), (False, self.graph.objects[predicate])):
                    if self.graph.is_partial(predicate, outward=outward):
                        use = Ground("has", meaning.score, meaning.mask, predicate, meaning.worded, outward)
                        yield SetState(Has(predicate, outward), items, (use,))

    def _counted(self) -> Iterator[SetState]:
        """What has so many of something: *more than one prerequisite*."""
        numbers = (
            q for q in self.read.quantities if q.kind == "number" and not unit_of(q.unit)
        )  # 50 yuan are no things
        for quantity in (q for q in numbers if q.value == int(q.value) < _MOST_COUNTED):
            near = _around(quantity.mask)
            less, most = (self.read.cue(cue) & near for cue in ("less", "at_most"))
            more, least = (self.read.cue(cue) & near for cue in ("more", "at_least"))
            mask = quantity.mask | less | most | more | least | (self.read.cue("exactly") & near)
            number = int(quantity.value)
            low = number + (not least) if more | least else None if less | most else number
            high = number - (not most) if less | most else None if more | least else number
            for predicate in self._properties:
                for outward, ways in ((True, self.graph.forward[predicate]), (False, self.graph.backward[predicate])):
                    ends = self.graph.objects[predicate] if outward else self.graph.subjects[predicate]
                    meaning = self._leads_to(predicate, ends, quantity.mask)
                    if meaning.score < SAID or all(len(found) == 1 for found in ways.values()):
                        continue
                    form = HasMany(predicate, outward, low, high)
                    use = Ground("counted", meaning.score, mask | meaning.mask, predicate, meaning.worded, outward)
                    yield SetState(form, items_of(form, self.graph), (use,))

    def _leads_to(self, predicate: NamedNode, ends: Items, taken: int) -> Meaning:
        """What best speaks for a step: words for the property, or for a kind of thing that it leads to."""
        near = [self.meaning(kind, taken) for kind in self._kinds_of(ends)]
        return max((self.meaning(predicate, taken), *near), key=lambda meaning: meaning.score)

    def _defined(self) -> Iterator[SetState]:
        """What a comment calls by a word of the question: *major* rivers."""
        for told in self._vocabulary.definitions:
            if not told.ranks and (mask := told.said_in(self.read)):
                form = And((Kind(told.kind), Compare(told.predicate, told.low, told.high, told.strict)))
                yield SetState(
                    form, items_of(form, self.graph), (Ground("defined", 1.0, mask, told.predicate, worded=True),)
                )

    def _holders(self, item: int, anchor: Anchor) -> Iterator[SetState]:
        for predicate, outward in self.graph.leaving.get(item, ())[:6]:
            if outward:
                continue
            holders = self.graph.follow(predicate, frozenset((item,)), outward=False)
            use = Ground("value", anchor.score, anchor.mask, predicate, anchor.exact)
            yield SetState(Follow(predicate, _INWARD, Named(frozenset((item,)), anchor.said)), holders, (use,))

    def _coded(self) -> Iterator[SetState]:
        coded = ((*key, meanings[0]) for key, meanings in self.meanings.items() if isinstance(key, tuple))
        for predicate, item, best in coded:
            if best.score >= _SAID_AS_CODE - SAID * self.intent.terms.get(predicate, 0.0):
                holders = self.graph.follow(predicate, frozenset((item,)), outward=False)
                use = Ground("code", best.score, best.mask, predicate, best.worded)
                yield SetState(Follow(predicate, _INWARD, Named(frozenset((item,)), "")), holders, (use,))

    def _true(self) -> Iterator[SetState]:
        for predicate, (yes, no) in self.graph.truths.items():
            meaning = self.meaning(predicate)
            if meaning.score < SAID / 2:  # there are two values, so that little is enough
                continue
            for holders, value in ((yes, "true"), (no, "false")):
                items = frozenset(
                    i
                    for i in self.graph.objects[predicate]
                    if getattr(self.graph.terms[i], "value", "") in (value, "1" if value == "true" else "0")
                )
                extra = self.read.cue("negation") if value == "false" else 0
                use = Ground(
                    "truth",
                    meaning.score * (1.0 if value == "true" or extra else 0.5),
                    meaning.mask | extra,
                    predicate,
                    meaning.worded,
                )
                yield SetState(Follow(predicate, _INWARD, Named(items, "")), holders, (use,))

    def _measured(self) -> Iterator[SetState]:
        quantities = [q for q in self.read.quantities if q.kind != "ordinal"]
        named = union(a.mask for a in self.read.anchors if a.exact and a.mask.bit_count() > 1)
        for predicate, temporal in self.graph.ordered.items():
            meaning = self.meaning(predicate)
            for quantity in self.read.quantities:
                for form, mask, weight in self._bounded(predicate, quantity, quantities, temporal=temporal):
                    items = items_of(form, self.graph)
                    score = weight * (0.45 + 0.55 * meaning.score)
                    worded = meaning.mask & ~named if meaning.score >= 0.4 else 0
                    yield SetState(form, items, (Ground("quantity", score, mask | worded, predicate, bool(worded)),))

    def _bounded(
        self, predicate: NamedNode, quantity: Quantity, others: list[Quantity], *, temporal: bool
    ) -> Iterator[tuple[SetForm, int, float]]:
        """The sets that a number or day of the question may cut out by a property: form, tokens, how surely."""
        near = _around(quantity.mask)
        less, more = self.read.cue("less", "at_most") & near, self.read.cue("more", "at_least") & near
        before, after = self.read.cue("before") & near, self.read.cue("after") & near
        kinds = {_kind(self.graph.terms[i]) for i in list(self.graph.objects[predicate])[:5]}
        match quantity.kind:
            case "date" if quantity.until and kinds & (_DATED | {"gYear"}):
                yield Period(predicate, quantity.text, quantity.until.text), quantity.mask, 1.0
            case "month":
                yield from self._in_month(predicate, quantity, kinds)
            case "date" if kinds & (_DATED | {"gYear"}):
                text = quantity.text[:4] if kinds == {"gYear"} else quantity.text
                yield from self._dated(predicate, replace(quantity, text=text), others, before, after | more)
            case "date" if quantity.text.isdigit() and not temporal:  # a year that is written as a number
                yield from self._sized(predicate, quantity, others, before | less, after | more)
            case "time" | "number" if "time" in kinds:
                for at in _times(quantity):
                    yield from self._sized(predicate, at, others, before | less, after | more)
            case "number" if kinds == {"gYear"} and quantity.value in _YEARS:
                year = replace(quantity, text=f"{quantity.value:04.0f}")
                yield from self._dated(predicate, year, others, before | less, after | more)
            case "number" if not temporal:
                yield from self._sized(predicate, quantity, others, less, more)
            case "ordinal" if kinds <= _WHOLE:
                yield Compare(predicate, quantity.value, quantity.value), quantity.mask, 0.8

    def _of_unit(self, unit: str) -> frozenset[NamedNode]:
        """The properties with a unit of the kind that a number has, which it is then of; empty where there is none.

        Also where the unit may be a number itself: 8 m are metres, or millions.
        """
        if (kind := unit_of(unit)) is None or any(unit in one.scales for one in languages().values()):
            return frozenset()
        properties = self.graph.schema.properties
        return frozenset(p for p in self.graph.ordered if any(own == kind[0] for own, _ in units_of(properties.get(p))))

    def _in_month(
        self, predicate: NamedNode, quantity: Quantity, kinds: set[str]
    ) -> Iterator[tuple[SetForm, int, float]]:
        """What has a day in a month of whatever year, or the month by its number."""
        if kinds <= _WHOLE and not quantity.text:
            yield Compare(predicate, quantity.value, quantity.value), quantity.mask, 0.8
        if not kinds & _DATED:
            return
        years = sorted({year for i in self.graph.objects[predicate] if (year := self.graph.year_of(i))})[:_MOST_YEARS]
        month = quantity.text or f"-{int(quantity.value):02}"
        days = [f"{year:04}{month}" for year in years]
        parts = tuple(Period(predicate, day, day) for day in days)
        if parts:
            yield (parts[0] if len(parts) == 1 else Or(parts)), quantity.mask, 0.9

    def _dated(
        self, predicate: NamedNode, quantity: Quantity, others: list[Quantity], before: int, after: int
    ) -> Iterator[tuple[SetForm, int, float]]:
        text, mask = quantity.text, quantity.mask
        later = [q for q in others if q.kind == "date" and q.mask > mask]
        if later and self.read.cue("between"):
            yield Period(predicate, text, later[0].text), mask | later[0].mask, 1.0
        if before:
            yield Period(predicate, "", _shifted(text, -1)), mask | before, 0.9
            if self.read.cue("until") & before:
                yield Period(predicate, "", text), mask | before, 1.0
        if after:
            yield Period(predicate, _shifted(text, 1), ""), mask | after, 0.9
            if self.read.cue("since") & after:
                yield Period(predicate, text, ""), mask | after, 1.0
        yield Period(predicate, text, text), mask, 0.6 if before or after else 0.95

    def _sized(
        self, predicate: NamedNode, quantity: Quantity, others: list[Quantity], less: int, more: int
    ) -> Iterator[tuple[SetForm, int, float]]:
        property_ = self.graph.schema.properties.get(predicate)
        read = self.read
        near = _around(quantity.mask)
        alike = self._of_unit(quantity.unit)
        for factor, sure in factors_between(quantity.unit, property_) if not alike or predicate in alike else ():
            value = quantity.value * factor
            if quantity.until:
                yield Compare(predicate, value, quantity.until.value * factor), quantity.mask, sure
                continue
            later = [q for q in others if q.kind == quantity.kind and q.mask > quantity.mask]
            if later and read.cue("between"):
                yield Compare(predicate, value, later[0].value * factor), quantity.mask | later[0].mask, sure
            if more:
                inclusive = bool(read.cue("at_least") & near)
                yield Compare(predicate, value, None, not inclusive), quantity.mask | more, sure
                yield Compare(predicate, value, None, inclusive), quantity.mask | more, 0.7 * sure
            if less:
                inclusive = bool(read.cue("at_most") & near)
                yield Compare(predicate, None, value, not inclusive), quantity.mask | less, sure
                yield Compare(predicate, None, value, inclusive), quantity.mask | less, 0.7 * sure
            yield Compare(predicate, value, value), quantity.mask, sure * (0.9 if not (more | less) else 0.5)

    def kinds(self) -> list[SetState]:
        """The classes that the question may name."""
        found = []
        for iri, members in self.graph.classes.items():
            meaning = self.meaning(iri)
            if meaning.score >= 0.3 and members:
                found.append(
                    SetState(Kind(iri), members, (Ground("class", meaning.score, meaning.mask, iri, meaning.worded),))
                )
        found = [kind for kind in found if not any(_is_less(kind, other) for other in found)]
        return sorted(found, key=lambda s: (-s.score, str(s.form)))[:_CLASSES]

    def _kinds_of(self, items: Items) -> frozenset[NamedNode]:
        return frozenset().union(*(self.graph.kinds_of.get(item, frozenset()) for item in sorted(items)[:10]))


def _is_less(kind: SetState, other: SetState) -> bool:
    """Whether the words that may name a class name another no less: one above it, or by all its words.

    *bridges* are all of them, not the arch bridges, and 斜拉桥 are no bridges of any kind.
    """
    mine, its = kind.uses[0], other.uses[0]
    if mine.mask & ~its.mask or mine.score > its.score or kind is other:
        return False
    return kind.items < other.items or (its.worded and its.score == 1.0 and not mine.worded)


def _around(mask: int) -> int:
    """The tokens close to some: six before, six after."""
    low = max(0, (mask & -mask).bit_length() - 1 - 6)
    return ((1 << (mask.bit_length() + 6)) - 1) & ~((1 << low) - 1)


def _times(quantity: Quantity) -> Iterator[Quantity]:
    """The times of the day that it may be: a bare number is an hour before noon or after it."""
    if quantity.kind == "time":
        yield quantity
    elif quantity.value <= _HOURS and not unit_of(quantity.unit):
        for hour in sorted({quantity.value, quantity.value + _HOURS // 2} & set(range(_HOURS + 1))):
            yield replace(quantity, kind="time", value=hour * 3600, unit="")


def _kind(term: object) -> str:
    return term.datatype.value.rpartition("#")[2] if isinstance(term, Literal) else ""


def _shifted(text: str, by: int) -> str:
    """The text of a date whose last part is one more or less; as a text it stands between the days that there are."""
    head, dash, last = text.rpartition("-")
    return f"{head}{dash}{int(last) + by:0{len(last)}}"
