"""Candidate readings of a question: every logical form within reach that the data admits, the likelier first.

A floating parser (Pasupat and Liang 2015): sets begin at what the question may name, grow by steps that lead somewhere
in the data, and are cut with one another; operators float over them. Words only say how likely a step is, so an unknown
word rules nothing out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from heapq import nlargest
from itertools import islice

from pyoxigraph import Literal, NamedNode

from kgplatform.questions.forms.fact_graph import FactGraph, Items, Path
from kgplatform.questions.forms.intent import NO_INTENT, Intent
from kgplatform.questions.forms.logical_form import (
    Against,
    Aggregated,
    And,
    Compare,
    Follow,
    Form,
    Grouped,
    Has,
    IsAny,
    IsMore,
    Kind,
    Listed,
    Named,
    Or,
    Period,
    SetForm,
    SizeOf,
    Top,
    Without,
    could_be,
    items_of,
)
from kgplatform.questions.forms.question_language import languages
from kgplatform.questions.forms.question_text import Anchor, Quantity, Read, factors_between, union, unit_of
from kgplatform.questions.forms.relevance import NO_MEANING, Meaning, Vocabulary
from kgplatform.vocab import LABEL

_BEAM = 150
_DEPTH = 3
_STEPS = 12
_BRIDGES = 6
_CLASSES = 6
_MOST_ITEMS = 20_000
_FINALS = 100
_TOPS = 60
_WHOLES, _FEW_SETS = 4, 12
_FUNCTIONS = {"sum": "SUM", "average": "AVG", "count": "SUM", "amount": "SUM", "most": "MAX", "least": "MIN"}
_SAMPLE = 40
_INWARD = False
_DATED = frozenset(("date", "dateTime", "gYearMonth"))
_WHOLE = frozenset(("integer", "int"))
_MOST_YEARS = 40
_YEARS = range(1000, 2101)
_RESTRICTING = frozenset(("name", "value", "code", "quantity", "truth"))
_BY_NAME = frozenset(("name", "value", "code", "class"))
_HOURS = 24
_REACHED = 250
_INTENT_SHARE, _LIKELIEST, _LIKELIEST_ASKED = 0.9, 4, 2
_SAID, _SAID_AS_CODE, _ASKED_WITHOUT_CUE = 0.3, 0.45, 0.3
_TOLD = 0.25
_SURE_NAME, _FEW = 0.75, 3
_SOURCES, _TARGETS, _WAYS = 60, 8, 2
_UNSAID = 0.35


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
    score: float = field(init=False, compare=False)

    def __post_init__(self) -> None:
        mask = union(use.mask for use in self.uses)
        score = sum(_PROMISE[use.kind] * use.score - _COST[use.kind] for use in self.uses) + 0.12 * mask.bit_count()
        object.__setattr__(self, "mask", mask)
        object.__setattr__(self, "score", score)


_PROMISE = {
    "name": 2.0, "value": 1.6, "code": 1.5, "truth": 1.2, "quantity": 1.2, "class": 1.2, "step": 1.5, "bridge": 0.3,
    "top": 1.2, "count": 0.6, "aggregate": 0.8, "group": 0.8, "ask": 0.6, "without": 0.8, "column": 1.0, "has": 1.0,
    "against": 1.0, "more": 1.0, "list": 0.0, "whole": 0.0, "or": 0.2, "within": 0.5, "same": 0.8,
}  # fmt: skip
_COST = {
    "name": 0.0, "value": 0.1, "code": 0.35, "truth": 0.4, "quantity": 0.2, "class": 0.1, "step": 0.2, "bridge": 0.7,
    "top": 0.3, "count": 0.1, "aggregate": 0.2, "group": 0.3, "ask": 0.1, "without": 0.3, "column": 0.4, "has": 0.4,
    "against": 0.3, "more": 0.3, "list": 0.0, "whole": 0.5, "or": 0.2, "within": 0.3, "same": 0.4,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Candidate:
    """A reading with what speaks for each part of it; ``items`` is what the set that it is about denotes."""

    form: Form
    items: Items
    uses: tuple[Ground, ...]

    @property
    def mask(self) -> int:
        """The tokens that it explains."""
        return union(use.mask for use in self.uses)


@dataclass
class _Pool:
    """The best states, one for each set reached and tokens explained: the shortest, as a score is a sum over parts."""

    states: dict[tuple[Items, int], SetState] = field(default_factory=dict)

    def add(self, state: SetState) -> bool:
        key = (state.items, state.mask)
        known = self.states.get(key)
        if known is None or (-len(known.uses), known.score) < (-len(state.uses), state.score):
            self.states[key] = state
            return known is None
        return False

    def best(self, count: int) -> list[SetState]:
        return sorted(self.states.values(), key=lambda s: (-s.score, len(s.uses), s.mask))[:count]

    def spread(self, count: int) -> list[SetState]:
        """The best of each size in turn, since a score is a sum over parts and compares sets of one size only."""
        places: Counter[int] = Counter()
        turns: list[tuple[int, int, SetState]] = []
        for state in self.best(len(self.states)):
            places[len(state.uses)] += 1
            turns.append((places[len(state.uses)], len(turns), state))
        return [state for _, _, state in sorted(turns, key=lambda turn: turn[:2])[:count]]


class Generator:
    """Makes the candidates of one question."""

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
        self._seeds: list[SetState] = []

    def meaning(self, key: object, taken: int = 0) -> Meaning:
        """What best speaks for a term, among tokens that are not taken."""
        said = next((m for m in self.meanings.get(key, ()) if not m.mask & taken), NO_MEANING)
        likely = _INTENT_SHARE * self.intent.terms.get(key, 0.0) if isinstance(key, NamedNode) else 0.0
        likely = max(likely, _SAID) if key in self._likeliest else likely
        return said if likely <= said.score else Meaning(likely, said.mask if said.score >= _SAID else 0, said.worded)

    def _likely(self, operation: str) -> bool:
        """Whether the whole wording asks for an operation, though no word may be a sign of it."""
        return self.intent.operations.get(operation, 0.0) >= _ASKED_WITHOUT_CUE

    # what the question names

    def seeds(self) -> list[SetState]:
        """The sets that pieces of the question name by themselves."""
        found = _Pool()
        for state in (*self._named(), *self._coded(), *self._measured(), *self._true(), *self._having()):
            if state.items and len(state.items) <= _MOST_ITEMS:
                found.add(state)
        return found.best(60)

    def _named(self) -> Iterator[SetState]:
        for anchor in self.read.anchors:
            things = frozenset(i for i in anchor.items if not isinstance(self.graph.terms[i], Literal))
            if things:
                use = Ground("name", anchor.score, anchor.mask, None, anchor.exact)
                yield SetState(Named(things, anchor.said), things, (use,))
                if anchor.score >= _SURE_NAME and len(things) <= _FEW:
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
            items = self.graph.subjects[predicate]
            if meaning.score >= _SAID and predicate not in self.graph.truths and self.graph.is_partial(predicate):
                use = Ground("has", meaning.score, meaning.mask, predicate, meaning.worded)
                yield SetState(Has(predicate), items, (use,))

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
            if best.score >= _SAID_AS_CODE - _SAID * self.intent.terms.get(predicate, 0.0):
                holders = self.graph.follow(predicate, frozenset((item,)), outward=False)
                use = Ground("code", best.score, best.mask, predicate, best.worded)
                yield SetState(Follow(predicate, _INWARD, Named(frozenset((item,)), "")), holders, (use,))

    def _true(self) -> Iterator[SetState]:
        for predicate, (yes, no) in self.graph.truths.items():
            meaning = self.meaning(predicate)
            if meaning.score < _SAID / 2:  # there are two values, so that little is enough
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
            yield Period(predicate, "", _shifted(text, -1)), mask | before, 1.0
        if after:
            yield Period(predicate, _shifted(text, 1), ""), mask | after, 0.9
            yield Period(predicate, text, ""), mask | after, 1.0
        yield Period(predicate, text, text), mask, 0.6 if before or after else 0.95

    def _sized(
        self, predicate: NamedNode, quantity: Quantity, others: list[Quantity], less: int, more: int
    ) -> Iterator[tuple[SetForm, int, float]]:
        property_ = self.graph.schema.properties.get(predicate)
        read = self.read
        near = _around(quantity.mask)
        for factor, sure in factors_between(quantity.unit, property_):
            value = quantity.value * factor
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

    # sets

    def kinds(self) -> list[SetState]:
        """The classes that the question may name."""
        found = []
        for iri, members in self.graph.classes.items():
            meaning = self.meaning(iri)
            if meaning.score >= 0.3 and members:
                found.append(
                    SetState(Kind(iri), members, (Ground("class", meaning.score, meaning.mask, iri, meaning.worded),))
                )
        return sorted(found, key=lambda s: (-s.score, str(s.form)))[:_CLASSES]

    def _bases(self, kinds: list[SetState]) -> list[SetState]:
        """The classes that are spoken of, and those that have the properties which are; else the largest."""
        said = [p for p in self._properties if self.meaning(p).score >= _SAID]
        said.sort(key=lambda p: (-self.meaning(p).score, p.value))
        had = [class_ for predicate in said[:_TARGETS] for class_ in self.graph.of(predicate)]
        classes = self.graph.classes
        if not kinds and not had:
            had = sorted(classes, key=lambda class_: -len(classes[class_]))
        named = {kind.uses[0].term for kind in kinds}
        rest = dict.fromkeys(class_ for class_ in had if class_ in classes and class_ not in named)
        return [*kinds, *(SetState(Kind(c), classes[c], (Ground("whole", 0.5, 0, c),)) for c in list(rest)[:_WHOLES])]

    def _steps(self, state: SetState) -> list[tuple[NamedNode, bool, Meaning]]:
        """The likeliest steps away from a set: those that the question speaks of, and a few that it may leave out."""
        if self._is_value(state):
            return []  # what else has the same price or day is hardly ever meant
        sample = sorted(state.items)[:_SAMPLE]
        counted = Counter(step for item in sample for step in self.graph.leaving.get(item, ()))
        for part in conjuncts(state.form):  # back where it came from: what shares something with it
            part = part.parts[-1] if isinstance(part, Or) else part
            if isinstance(part, Follow):
                counted.pop((part.predicate, not part.outward), None)
        taken = union(use.mask for use in state.uses if use.kind != "class")
        told = [
            (predicate, outward, meaning)
            for predicate, outward in counted
            if (meaning := self._meaning_beside(predicate, taken)).score >= _TOLD
        ]
        told.sort(key=lambda step: (-step[2].score, str(step[0]), step[1]))
        told = told[:_STEPS]
        listed = {(predicate, outward) for predicate, outward, _ in told}
        # what most of them have is the likelier bridge, and what they have rather than what has them
        others = sorted(
            (step for step in counted if step not in listed),
            key=lambda step: (-counted[step] / len(sample) + 0.25 * (not step[1]), str(step[0]), step[1]),
        )
        return told + [(predicate, outward, NO_MEANING) for predicate, outward in others[:_BRIDGES]]

    def _meaning_beside(self, predicate: NamedNode, taken: int) -> Meaning:
        """What speaks for a property, at less where only words do that something else explains already."""
        meaning = self.meaning(predicate, taken)
        known = self.meaning(predicate)
        if meaning.score < _TOLD and known.score >= 0.4:
            return replace(known, score=known.score * 0.6)
        return meaning

    def _is_value(self, state: SetState) -> bool:
        """Whether it is a set of numbers, days or texts."""
        return isinstance(self.graph.terms[next(iter(state.items))], Literal)

    def _grown(self, state: SetState) -> Iterator[SetState]:
        """The sets one step away."""
        for predicate, outward, meaning in self._steps(state):
            items = self.graph.follow(predicate, state.items, outward=outward)
            if not items or len(items) > _MOST_ITEMS:
                continue
            kind = "step" if meaning.score else "bridge"
            use = Ground(kind, meaning.score, meaning.mask, predicate, meaning.worded, outward)
            yield SetState(Follow(predicate, outward, state.form), items, (*state.uses, use))
            if (further := self.read.cue("indirect")) and predicate in self.graph.chains:
                form = Follow(predicate, outward, state.form, again=True)
                use = replace(use, mask=use.mask | further)
                yield SetState(form, items_of(form, self.graph), (*state.uses, use))

    def _siblings(self, states: Iterable[SetState], kinds: Iterable[SetState]) -> Iterator[SetState]:
        """What shares with what is named that to which a step leads from it, or two: the same, also, the others."""
        cue = self.read.cue("same")
        for state in states:
            form: SetForm = state.form
            others, steps = form, 0
            while isinstance(form, Follow) and not form.again:
                others, form, steps = Follow(form.predicate, not form.outward, others), form.of, steps + 1
            if isinstance(form, Named) and 0 < steps <= 1 + bool(cue) and len(state.items) <= _FEW:
                items = items_of(others, self.graph) - form.items
                if items and len(items) <= _MOST_ITEMS:
                    said = (k.uses[0] for k in kinds if state.items <= k.items and not k.mask & (state.mask | cue))
                    uses = (*state.uses, *islice(said, 1))
                    use = Ground("same", uses[-1].score, cue & ~state.mask, state.uses[-1].term)
                    yield SetState(Without(others, form), items, (*uses, use))

    def _bridged(self, kinds: list[SetState]) -> Iterator[SetState]:
        """The sets that lie some steps from what is named, by ways whose middle the question leaves out.

        They end at a kind that is spoken of, or at what has a property that is: "the houses that show X".
        """
        ends: dict[NamedNode, SetState | None] = {}
        for predicate in sorted(self._properties, key=lambda p: (-self.meaning(p).score, p.value))[:_TARGETS]:
            if self.meaning(predicate).score >= _SAID:
                ends |= dict.fromkeys(self.graph.schema.domains(predicate)[:2])
        ends |= {named.uses[0].term: named for named in kinds if named.uses[0].term is not None}
        for source in (s for s in self._seeds[:_SOURCES] if s.uses[0].kind != "has" and not self._is_value(s)):
            for end, kind in ends.items():
                if kind is None or not kind.mask & source.mask:
                    yield from self._ways(source, end, kind)

    def _ways(self, source: SetState, end: NamedNode, kind: SetState | None) -> Iterator[SetState]:
        """The likeliest ways of two or three steps from a set to a class."""
        classes = self.graph.kinds_of.get(min(source.items), frozenset())
        ways = {way for class_ in classes for way in self.graph.ways(class_).get(end, ())}
        taken = source.mask | (kind.mask if kind else 0)

        def meant(way: Path) -> float:
            return sum(self.meaning(predicate, taken).score - _UNSAID for predicate, _ in way)

        for way in sorted(ways, key=lambda way: (-meant(way), str(way)))[:_WAYS]:
            state = source
            for predicate, outward in way:
                items = self.graph.follow(predicate, state.items, outward=outward)
                if not items or len(items) > _MOST_ITEMS:
                    break
                meaning = self._meaning_beside(predicate, taken)
                said = meaning.score >= _TOLD
                use = Ground(
                    "step" if said else "bridge",
                    meaning.score if said else 0.0,
                    meaning.mask if said else 0,
                    predicate,
                    said and meaning.worded,
                    outward,
                )
                state = SetState(Follow(predicate, outward, state.form), items, (*state.uses, use))
            else:
                yield state
                if kind is not None:
                    yield from self._classed(state, (kind,))

    def _cut(self, state: SetState, seeds: Iterable[SetState]) -> Iterator[SetState]:
        """What is in the set and in one that something else names."""
        mask = state.mask
        if self._is_value(state):
            return
        for seed in seeds:
            if seed.mask & mask or seed.form == state.form or not _may_meet(state, seed):
                continue
            items = state.items & seed.items
            # what is wholly in the other says nothing more by that; but two names may be two parts of one
            if items and (len(items) < min(len(seed.items), len(state.items)) or _both_name(state, seed)):
                yield SetState(_and(state.form, seed.form), items, (*state.uses, *seed.uses))

    def sets(self) -> list[SetState]:
        """The likeliest sets, all sizes together."""
        self._seeds = self.seeds()
        kinds = self.kinds()
        every = _Pool()
        for seed in self._seeds:
            every.add(seed)
        # a class alone is where steps may begin too: "the managers of hotels"
        bridged = _Pool()
        for way in self._bridged(kinds):
            bridged.add(way)
        found = bridged.best(_BEAM // 3)
        for way in found:
            every.add(way)
        beam = [*self._seeds, *kinds, *found]
        reached = [*self._seeds, *found]
        for depth in range(_DEPTH):
            beam = self._further(beam, reached, depth)
            for state in beam:
                every.add(state)
            reached = (reached + beam)[:_REACHED]
        for state in self._siblings(reached, kinds):
            every.add(state)
        for state in every.best(40):
            every.add(self._together(state, reached))
        for state in kinds:
            every.add(state)
        return every.spread(_BEAM * 3)

    def _further(self, beam: list[SetState], reached: list[SetState], depth: int) -> list[SetState]:
        """The best sets one step, or one cut, further than those of a beam."""
        fresh = _Pool()
        for state in beam[:_BEAM]:
            for grown in (*self._grown(state), *self._cut(state, self._seeds)):
                fresh.add(grown)
        best = fresh.best(40)
        for place, one in enumerate(best):
            for cut in self._cut(one, reached[:40] if depth else best[place + 1 :]):
                fresh.add(cut)
        return fresh.best(_BEAM)

    def _together(self, state: SetState, others: Iterable[SetState]) -> SetState:
        """The set cut with every other that leaves something of it and explains what nothing yet does."""
        for other in others:
            if (
                not other.mask & state.mask
                and (items := state.items & other.items)
                and (len(items) < min(len(state.items), len(other.items)) or _both_name(state, other))
                and not isinstance(other.form, Kind)
                and _may_meet(state, other)
            ):
                state = SetState(_and(state.form, other.form), items, (*state.uses, *other.uses))
        return state

    def _classed(self, state: SetState, kinds: Iterable[SetState]) -> Iterator[SetState]:
        """The set cut with a class that is spoken of, if anything of it is left."""
        if isinstance(state.form, Kind):
            return
        # a word of its name may be one of a property's, too: the length of ships
        taken = union(use.mask for use in state.uses if use.kind in _BY_NAME)
        for kind in kinds:
            use = kind.uses[0]
            items = state.items & kind.items
            if items and not use.mask & taken:
                yield SetState(_and(kind.form, state.form), items, (*state.uses, use))

    # readings

    def candidates(self) -> list[Candidate]:
        """Every reading, the more promising first; no two with one form."""
        sets = self.sets()
        kinds = self.kinds()
        classed = _Pool()
        for state in sets[: 2 * _FINALS]:
            classed.add(state)
            for cut in self._classed(state, kinds):
                classed.add(cut)
        lacking = _Pool()
        for state in self._without(sets[: 2 * _FINALS], kinds):
            lacking.add(state)
        for state in lacking.spread(_TOPS):
            classed.add(state)
        for state in self._ranked(classed.spread(_FINALS), kinds):
            classed.add(state)
        for state in self._against(kinds):
            classed.add(state)
        chosen = list(dict.fromkeys((*classed.spread(3 * _FINALS), *lacking.spread(_TOPS))))
        found: dict[Form, Candidate] = {}
        for candidate in self._readings(chosen, kinds):
            found.setdefault(candidate.form, candidate)
        return list(found.values())

    def _readings(self, chosen: list[SetState], kinds: list[SetState]) -> Iterator[Candidate]:
        read = self.read
        for state in chosen:
            yield Candidate(Listed(state.form), state.items, (*state.uses, Ground("list", 1.0, 0)))
        if read.cue("count", "amount", "sum") or self._likely("count"):
            for state in chosen[:90]:
                yield Candidate(SizeOf(state.form), state.items, (*state.uses, Ground("count", 1.0, read.cue("count"))))
        yield from self._aggregated(chosen)
        yield from self._grouped(chosen, kinds)
        yield from self._asked(chosen)
        yield from self._columned(chosen[:60])

    def _ordered_paths(self, items: Items, taken: int) -> list[tuple[Path, Meaning, bool]]:
        """The paths by which the items can be ranked: a number of their own or one step away, or how many they have."""
        found: list[tuple[Path, Meaning, bool]] = []
        sample = frozenset(sorted(items)[:_SAMPLE])
        for predicate in self.graph.ordered:
            meaning = self.meaning(predicate, taken)
            if self.graph.follow(predicate, sample, outward=True):
                found.append((((predicate, True),), meaning, False))
        if self.read.cue("most", "least", "count"):
            steps = {step for item in sample for step in self.graph.leaving.get(item, ())}
            for predicate, outward in steps:
                meaning = self.meaning(predicate, taken)
                ends = self.graph.follow(predicate, sample, outward=outward)
                if len(ends) > 1 and not (outward and predicate in self.graph.ordered):
                    near = max(
                        (self.meaning(k, taken) for k in self._kinds_of(ends)),
                        key=lambda m: m.score,
                        default=NO_MEANING,
                    )
                    best = max((meaning, near), key=lambda m: m.score)
                    found.append((((predicate, outward),), best, True))
        found.sort(key=lambda path: (-path[1].score, path[2], str(path[0])))
        return found[:7]

    def _kinds_of(self, items: Items) -> frozenset[NamedNode]:
        return frozenset().union(*(self.graph.kinds_of.get(item, frozenset()) for item in sorted(items)[:10]))

    def _ranked(self, states: list[SetState], kinds: list[SetState]) -> list[SetState]:
        """The first of a set by something that can be ordered, and what lies one step from it."""
        read = self.read
        ways = [(mask, most) for mask, most in (
            (read.cue("most"), True), (read.cue("least"), False), (read.cue("first"), False), (read.cue("last"), True),
        ) if mask]  # fmt: skip
        ways += [(0, most) for name, most in (("most", True), ("least", False)) if self._likely(name)]
        pool = _Pool()
        if not ways and not (read.cue("or", "more", "less") and len(read.anchors) > 1):
            return []
        bases = [s for s in (*self._bases(kinds), *states[:25], *self._pairs()) if len(s.items) > 1]
        whole = (q for q in read.quantities if q.kind == "number" and 1 < q.value <= 50 and q.value == int(q.value))
        number = next(whole, None) if ways else None
        size, told = (int(number.value), number.mask) if number else (1, 0)
        sides = {most: mask for mask, most in ways or ((read.cue("more"), True), (read.cue("less", "more"), False))}
        for base in bases:
            for path, meaning, counted in self._ordered_paths(base.items, base.mask):
                for most in (True, False):
                    mask = sides.get(most, 0) or next(iter(sides.values()))
                    agrees = most in sides
                    form = Top(base.form, path, most, counted, size)
                    items = items_of(form, self.graph)
                    if not items:
                        continue
                    score = (0.4 + 0.6 * meaning.score) * (1.0 if agrees else 0.45)
                    by = (path[-1][0], meaning.worded)
                    mask |= meaning.mask | told
                    use = Ground("top", score, mask, *by, most=most, counted=counted, agrees=agrees)
                    pool.add(SetState(form, items, (*base.uses, use)))
        found = pool.spread(_TOPS)
        for state in found[:14]:
            found += [grown for grown in self._grown(state) if grown.uses[-1].kind == "step" or len(found) < 80]
        return found

    def _pairs(self) -> Iterator[SetState]:
        """Two things that the question names side by side."""
        named = [s for s in self._seeds if s.uses[0].kind == "name"][:6]
        for place, one in enumerate(named):
            for other in named[place + 1 :]:
                if not one.mask & other.mask:
                    items = one.items | other.items
                    mask = self.read.cue("or", "and")
                    yield SetState(
                        Or((one.form, other.form)),
                        items,
                        (*one.uses, *other.uses, Ground("or", 1.0, mask & ~(one.mask | other.mask))),
                    )

    def _against(self, kinds: list[SetState]) -> Iterator[SetState]:
        """What has more or less of something than a thing that is named."""
        read = self.read
        sides = [(read.cue(cue), cue in ("more", "after")) for cue in ("more", "after", "less", "before")]
        if not any(mask for mask, _ in sides):
            return
        named = [s for s in self._seeds if s.uses[0].kind == "name"][:4]
        for one in named:
            for predicate in self.graph.ordered:
                if not self.graph.follow(predicate, one.items, outward=True):
                    continue
                meaning = self.meaning(predicate, one.mask)
                for more in (True, False):
                    mask = next((m for m, side in sides if m and side == more), 0)
                    form = Against(predicate, more, one.form)
                    items = items_of(form, self.graph)
                    score = (0.4 + 0.6 * meaning.score) * (1.0 if mask else 0.5)
                    use = Ground("against", score, mask | meaning.mask, predicate, meaning.worded, most=more)
                    if items:
                        state = SetState(form, items, (*one.uses, use))
                        yield state
                        yield from self._classed(state, kinds)

    def _without(self, states: list[SetState], kinds: list[SetState]) -> Iterator[SetState]:
        """What is of a kind, or in a set, and not in another."""
        mask = self.read.cue("negation")
        if not mask and not self._likely("negation"):
            return
        bases = self._bases(kinds)
        for base in (*bases, *(s for s in states[:_FEW_SETS] if not self._is_value(s))):
            yield from self._lacking(base, mask)
        told = [state for state in states if any(use.kind in _RESTRICTING for use in state.uses)]
        told.sort(key=lambda state: (len(state.uses), -state.score))
        for base in (*bases, *told[: 3 * _FEW_SETS]):
            for other in told:
                if other.mask & base.mask or isinstance(other.form, Kind) or self._is_value(other):
                    continue
                items = base.items - other.items
                if items and len(items) < len(base.items):
                    yield SetState(
                        Without(base.form, other.form), items, (*base.uses, *other.uses, Ground("without", 0.6, mask))
                    )

    def _lacking(self, base: SetState, mask: int) -> Iterator[SetState]:
        """What of a set has nothing by a property, or is what nothing has by it."""
        steps = {step for item in sorted(base.items)[:_SAMPLE] for step in self.graph.leaving.get(item, ())}
        for predicate, outward in steps:
            meaning = self.meaning(predicate, base.mask)
            if not outward:
                ends = self.graph.follow(predicate, base.items, outward=False)
                near = max(
                    (self.meaning(k, base.mask) for k in self._kinds_of(ends)),
                    key=lambda m: m.score,
                    default=NO_MEANING,
                )
                meaning = max((meaning, near), key=lambda m: m.score)
            has = Has(predicate, outward)
            items = base.items - items_of(has, self.graph)
            if items and len(items) < len(base.items) and meaning.score >= 0.2:
                use = Ground("without", meaning.score, mask | meaning.mask, predicate, meaning.worded, outward)
                state = SetState(Without(base.form, has), items, (*base.uses, use))
                yield state
                if isinstance(base.form, Kind):
                    yield from (grown for grown in self._grown(state) if grown.uses[-1].kind == "step")

    def _aggregated(self, states: list[SetState]) -> Iterator[Candidate]:
        read = self.read
        functions = [(name, read.cue(cue)) for cue, name in _FUNCTIONS.items() if read.cue(cue)]
        functions += [(name, 0) for name in ("SUM", "AVG") if self._likely(name.lower())]
        if not functions:
            return
        for state in states[:60]:
            for predicate, temporal in self.graph.ordered.items():
                if temporal or not self.graph.follow(predicate, frozenset(sorted(state.items)[:_SAMPLE]), outward=True):
                    continue
                meaning = self.meaning(predicate, state.mask)
                if meaning.score < 0.2 or len(state.items) < 2:
                    continue
                for function, mask in functions:
                    use = Ground("aggregate", meaning.score, mask | meaning.mask, predicate, meaning.worded)
                    yield Candidate(Aggregated(function, predicate, state.form), state.items, (*state.uses, use))

    def _grouped(self, states: list[SetState], kinds: list[SetState]) -> Iterator[Candidate]:
        read = self.read
        mask = read.cue("each")
        if not (mask or self._likely("group") or (read.cue("count", "average", "sum") and read.cue("and"))):
            return
        for state in (*self._bases(kinds), *states[:30]):
            sample = frozenset(sorted(state.items)[:_SAMPLE])
            for meaning, key in self._keys(sample, state.mask):
                predicate, outward = key[-1]
                told = 0.3 + 0.7 * meaning.score - 0.1 * (len(key) - 1)
                use = Ground("group", told, mask | meaning.mask, predicate, meaning.worded, outward)
                counted = Ground("count", 1.0, read.cue("count"))
                yield Candidate(Grouped(state.form, key), state.items, (*state.uses, use, counted))
                for function, measured, by in self._measures(sample, state.mask | meaning.mask, predicate):
                    form = Grouped(state.form, key, function, measured)
                    yield Candidate(form, state.items, (*state.uses, use, by))

    def _keys(self, sample: Items, taken: int) -> list[tuple[Meaning, Path]]:
        """By what a set may be parted: the likeliest paths of one or two steps that lead to more than one thing."""
        found: list[tuple[Meaning, Path]] = []
        waiting: list[tuple[Path, Items]] = [((), sample)]
        for path, items in waiting:
            for predicate, outward in {step for item in sorted(items)[:8] for step in self.graph.leaving.get(item, ())}:
                ends = self.graph.follow(predicate, items, outward=outward)
                if len(ends) < 2 or (path and (predicate, not outward) == path[-1]):
                    continue
                near = [self.meaning(class_, taken) for class_ in self._kinds_of(ends)]
                best = max((self.meaning(predicate, taken), *near), key=lambda meaning: meaning.score)
                if path and best.score < _SAID:
                    continue
                found.append((best, (*path, (predicate, outward))))
                if not path and outward and not isinstance(self.graph.terms[next(iter(ends))], Literal):
                    waiting.append((((predicate, outward),), frozenset(sorted(ends)[:_SAMPLE])))
        return sorted(found, key=lambda key: (-key[0].score + 0.1 * len(key[1]), str(key[1])))[:6]

    def _measures(self, sample: Items, taken: int, key: NamedNode) -> Iterator[tuple[str, NamedNode, Ground]]:
        """What of the members of a group may be added up or averaged."""
        functions = [("AVG", self.read.cue("average")), ("SUM", self.read.cue("sum", "count"))]
        functions = [(name, cue) for name, cue in functions if cue or self._likely(name.lower())]
        for predicate, temporal in self.graph.ordered.items():
            meaning = self.meaning(predicate, taken)
            if temporal or meaning.score < _TOLD or predicate == key:
                continue
            if self.graph.follow(predicate, sample, outward=True):
                for function, cue in functions:
                    use = Ground("aggregate", meaning.score, meaning.mask | cue, predicate, meaning.worded)
                    yield function, predicate, use

    def _asked(self, states: list[SetState]) -> Iterator[Candidate]:
        read = self.read
        mask = read.cue("yesno")
        if not (mask & 0b11 or (mask and not languages()[read.language].fronted)):
            return
        for state in states[:60]:
            yield Candidate(IsAny(state.form), state.items, (*state.uses, Ground("ask", 1.0, mask & 1)))
        named = [s for s in self._seeds if s.uses[0].kind == "name"][:6]
        for one in named:
            # false is an answer too: the thing is there, and not in the set
            for other in (*self._seeds, *states[:40], *self.kinds()):
                if other.mask & one.mask or other.form == one.form:
                    continue
                if not one.items & other.items and could_be(one.items, other.form, self.graph):
                    yield Candidate(
                        IsAny(_and(one.form, other.form)),
                        frozenset(),
                        (*one.uses, *other.uses, Ground("ask", 0.9, mask & 1)),
                    )
            for other in named:
                if other is one or other.mask & one.mask:
                    continue
                yield from self._related(one, other, mask)
                yield from self._more(one, other, mask)

    def _related(self, one: SetState, other: SetState, mask: int) -> Iterator[Candidate]:
        """Whether two things that are named are related by something that is spoken of, though they are not."""
        for predicate, outward, meaning in self._steps(one)[:_STEPS]:
            form = Follow(predicate, outward, one.form)
            if meaning.score < 0.3 or self.graph.follow(predicate, one.items, outward=outward) & other.items:
                continue
            if not could_be(other.items, form, self.graph):
                continue
            use = Ground("step", meaning.score, meaning.mask, predicate, meaning.worded, outward)
            uses = (*one.uses, *other.uses, use, Ground("ask", 0.9, mask & 1))
            yield Candidate(IsAny(_and(other.form, form)), frozenset(), uses)

    def _more(self, one: SetState, other: SetState, mask: int) -> Iterator[Candidate]:
        read = self.read
        if one.mask > other.mask:
            return
        for predicate in self.graph.ordered:
            if all(self.graph.follow(predicate, side.items, outward=True) for side in (one, other)):
                meaning = self.meaning(predicate, one.mask | other.mask)
                for more in (True, False):
                    cue = read.cue("more", "after", "most") if more else read.cue("less", "before", "least")
                    score = (0.4 + 0.6 * meaning.score) * (1.0 if cue else 0.6)
                    use = Ground("more", score, cue | meaning.mask, predicate, meaning.worded, most=more)
                    uses = (*one.uses, *other.uses, use, Ground("ask", 1.0, mask & 1))
                    yield Candidate(IsMore(predicate, more, one.form, other.form), frozenset(), uses)

    def _columned(self, states: list[SetState]) -> Iterator[Candidate]:
        """A set with one thing more of each member."""
        if not self.read.cue("and", "each", "list", "what", "which", "when", "amount", "count"):
            return
        for state in states:
            sample = sorted(state.items)[:_SAMPLE]
            if not sample or self._is_value(state):
                continue
            mask = state.mask
            used = {use.term for use in state.uses}
            steps = {step for item in sample for step in self.graph.leaving.get(item, ())}
            told = sorted(
                ((m, p, o) for p, o in steps if p not in used and (m := self.meaning(p, mask)).score >= 0.3),
                key=lambda step: (-step[0].score, str(step[1]), step[2]),
            )
            columns = [((p, o), Ground("column", m.score, m.mask, p, m.worded, o)) for m, p, o in told[:4]]
            if isinstance(state.form, Top) and not state.form.counted and len(state.form.path) == 1:
                columns.insert(0, (state.form.path[0], Ground("column", 0.6, 0, state.form.path[0][0])))
            yield from self._with_columns(
                state, columns[:4], named=sample[0] in self.graph.named and not isinstance(state.form, Named)
            )

    def _with_columns(
        self, state: SetState, columns: list[tuple[tuple[NamedNode, bool], Ground]], *, named: bool
    ) -> Iterator[Candidate]:
        """One or two columns of a set; records without a name of their own are not shown themselves."""
        for place, (one, use) in enumerate(columns):
            if named:
                yield Candidate(Listed(state.form, (one,)), state.items, (*state.uses, use))
            for other, further in columns[place + 1 :]:
                form = Listed(state.form, (one, other), bare=not named)
                yield Candidate(form, state.items, (*state.uses, use, further))


def _may_meet(one: SetState, other: SetState) -> bool:
    """Whether it says something that a thing is in both: of one thing that is named only if both name it."""
    alone = [isinstance(side.form, Named) and len(side.items) == 1 for side in (one, other)]
    return not any(alone) or all(isinstance(side.form, Named | Kind) for side in (one, other))


def _both_name(one: SetState, other: SetState) -> bool:
    return isinstance(one.form, Named) and isinstance(other.form, Named)


def conjuncts(form: SetForm) -> tuple[SetForm, ...]:
    """The sets that a set is cut from; itself alone where it is no cut."""
    return form.parts if isinstance(form, And) else (form,)


def _and(one: SetForm, other: SetForm) -> SetForm:
    parts: list[SetForm] = []
    for form in (one, other):
        for part in conjuncts(form):
            if part not in parts:
                parts.append(part)
    return And(tuple(parts)) if len(parts) > 1 else parts[0]


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
