"""Candidate readings of a question: every logical form within reach that the data admits, the likelier first.

A floating parser (Pasupat and Liang 2015): sets begin at what the question may name, grow by steps that lead somewhere
in the data, and are cut with one another; operators float over them. Words only say how likely a step is, so an unknown
word rules nothing out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations, filterfalse, islice, product

from pyoxigraph import Literal, NamedNode

from kgplatform.questions.forms.fact_graph import NOTHING, FactGraph, Items, Path
from kgplatform.questions.forms.intent import NO_INTENT, Intent
from kgplatform.questions.forms.logical_form import (
    Against,
    Aggregated,
    And,
    DifferenceOf,
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
    SetForm,
    Share,
    SizeOf,
    Top,
    Without,
    could_be,
    items_of,
)
from kgplatform.questions.forms.named_sets import FEW, MOST_ITEMS, SAID, Ground, NamedSets, Pool, SetState
from kgplatform.questions.forms.question_language import languages
from kgplatform.questions.forms.question_text import Read, mask_of, union
from kgplatform.questions.forms.relevance import NO_MEANING, Meaning, Vocabulary

_BEAM = 150
_DEPTH = 3
_STEPS = 12
_BRIDGES = 6
_FINALS = 100
_TOPS = 60
_WHOLES = 4
_FEW_SETS = 12
_FUNCTIONS = {"sum": "SUM", "average": "AVG", "count": "SUM", "amount": "SUM", "most": "MAX", "least": "MIN"}
_SAMPLE = 40
_SURE_NAME = 0.9
_RESTRICTING = frozenset(("name", "value", "code", "quantity", "truth", "counted", "defined"))
_BY_NAME = frozenset(("name", "value", "code", "class"))
_MEASURING = frozenset(("quantity", "against"))
_REACHED = 250
_TOLD = 0.25
_SHARING = 60
_NEAREST = 4
_MOST_MET = 3
_SOURCES = 60
_TARGETS = 8
_WAYS = 2
_UNSAID = 0.35


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


class Generator(NamedSets):
    """Makes the candidates of one question."""

    def __init__(self, graph: FactGraph, vocabulary: Vocabulary, read: Read, intent: Intent = NO_INTENT) -> None:
        """Looks up what the pieces of the question may mean; ``intent`` is what its whole wording is after."""
        super().__init__(graph, vocabulary, read, intent)
        self._seeds: list[SetState] = []
        exact = (anchor.mask for anchor in read.anchors if anchor.exact and anchor.score >= _SURE_NAME)
        self._whole = [mask for mask in exact if mask.bit_count() > 1]

    def _bases(self, kinds: list[SetState]) -> list[SetState]:
        """The classes that are spoken of, and those that have the properties which are; else the largest."""
        said = [p for p in self._properties if self.meaning(p).score >= SAID]
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
            if not items or len(items) > MOST_ITEMS:
                continue
            if outward and predicate in self.graph.truths and len(state.items) > 1:
                continue  # yes and no of several things is nothing that is asked for
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
            asked = steps == 1 and self.meaning(state.uses[-1].term).score >= SAID
            few = len(state.items) <= (_SHARING if asked else FEW)
            if isinstance(form, Named) and 0 < steps <= 1 + bool(cue) and few:
                items = items_of(others, self.graph) - form.items
                if items and len(items) <= MOST_ITEMS:
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
            if self.meaning(predicate).score >= SAID:
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
                if not items or len(items) > MOST_ITEMS:
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

    def _cut(self, state: SetState, seeds: Iterable[SetState], *, apart: bool = True) -> Iterator[SetState]:
        """What is in the set and in one that something else names; ``apart``: no word may speak for a step of each."""
        if self._is_value(state):
            return
        for seed in seeds:
            if (
                (seed.mask & state.mask if apart else seed.names & state.names)
                or seed.form == state.form
                or not _may_meet(state, seed)
            ):
                continue
            items = state.items & seed.items
            # what is wholly in the other says nothing more by that; but two names may be two parts of one
            if items and (len(items) < min(len(seed.items), len(state.items)) or _both_name(state, seed)):
                yield SetState(_and(state.form, seed.form), items, (*state.uses, *seed.uses))

    def sets(self) -> list[SetState]:
        """The likeliest sets, all sizes together."""
        self._seeds = self.seeds()
        kinds = self.kinds()
        every = Pool()
        for seed in self._seeds:
            every.add(seed)
        # a class alone is where steps may begin too: "the managers of hotels"
        bridged = Pool()
        for way in self._bridged(kinds):
            bridged.add(way)
        found = bridged.best(_BEAM // 3)
        for way in found:
            every.add(way)
        pairs = list(self._pairs()) if self.read.cue("or", "and") else []
        beam = [*self._seeds, *pairs, *kinds, *found]
        reached = [*self._seeds, *pairs, *found]
        near: list[SetState] = []
        for depth in range(_DEPTH):
            fresh = self._further(beam, reached, depth)
            near, beam = near or list(fresh.states.values()), fresh.best(_BEAM)
            for state in beam:
                every.add(state)
            reached = (reached + beam)[:_REACHED]
        for state in self._siblings(reached, kinds):
            every.add(state)
        for state in self._met([*self._seeds, *near, *reached]):
            every.add(state)
        for state in kinds:
            every.add(state)
        return every.spread(_BEAM * 3)

    def _further(self, beam: list[SetState], reached: list[SetState], depth: int) -> Pool:
        """The sets one step, or one cut, further than those of a beam."""
        fresh = Pool()
        for state in beam[:_BEAM]:
            for grown in (*self._grown(state), *self._cut(state, self._seeds)):
                fresh.add(grown)
        best = fresh.best(40)
        for place, one in enumerate(best):
            for cut in self._cut(one, reached[:40] if depth else best[place + 1 :]):
                fresh.add(cut)
        return fresh

    def _met(self, reached: list[SetState]) -> list[SetState]:
        """What is in several of the sets, the nearest first, to which different names and values lead."""
        ways: dict[int, list[SetState]] = {}
        for state in sorted(reached, key=lambda state: (len(state.uses), -state.score)):
            found = ways.setdefault(state.uses[0].mask, [])
            if state.uses[0].kind in _RESTRICTING and len(found) < _NEAREST and not self._is_value(state):
                found.append(state)
        every = [state for found in ways.values() for state in found]
        met, pool = every, Pool()
        for _ in range(_MOST_MET):
            fresh = Pool()
            for state in met:
                for cut in self._cut(state, every, apart=False):
                    fresh.add(cut)
                    pool.add(cut)
            met = fresh.best(_BEAM // 3)
        return pool.best(_BEAM)

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
        classed = Pool()
        for state in sets[: 2 * _FINALS]:
            classed.add(state)
            for cut in self._classed(state, kinds):
                classed.add(cut)
        lacking = Pool()
        for state in self._without(sets[: 2 * _FINALS], kinds):
            lacking.add(state)
        for state in lacking.spread(_TOPS):
            classed.add(state)
        for state in self._ranked(classed.spread(_FINALS), kinds):
            classed.add(state)
        for state in self._against(kinds, sets):
            classed.add(state)
            for grown in self._grown(state) if isinstance(state.form, Against) else ():
                if grown.uses[-1].term == state.uses[-1].term:
                    classed.add(grown)
        chosen = list(dict.fromkeys((*classed.spread(3 * _FINALS), *lacking.spread(_TOPS))))
        found: dict[Form, Candidate] = {}
        for candidate in filterfalse(self._is_unfounded, self._readings(chosen, kinds)):
            found.setdefault(candidate.form, candidate)
        return list(found.values())

    def _is_unfounded(self, candidate: Candidate) -> bool:
        """Whether it tears a name apart that is surely there, says no to what nothing asks for, or excepts nothing.

        Or it goes on to another thing of the same kind, which nothing asks for: to Ann's teacher for Ann's birthday. Or
        it takes one name for another that is like it in meaning: *flights to Paris* for those to Dublin.
        """
        uses = candidate.uses
        if any(use.kind == "code" and not use.worded and use.mask & self._strange for use in uses):
            return True
        outside = self.read.cue("outside")
        beyond = any(name.exact and name.mask & (outside << 1 | outside << 2) for name in self.read.anchors)
        if (self.read.cue("except") or beyond) and not any(use.kind == "without" and use.term is None for use in uses):
            return True
        of = candidate.form.of if isinstance(candidate.form, Listed) and not candidate.form.columns else None
        asked = {part.predicate for part in (conjuncts(of) if of else ()) if isinstance(part, Follow)}
        unsaid = {use.term for use in uses if use.kind in ("step", "bridge") and not use.mask & self.read.content}
        if any(term is not None and self._goes_on(term, uses) for term in unsaid - asked):
            return True
        told = [name for name in self._whole if not name & ~candidate.mask]
        taken = [use.mask for use in uses if use.worded or use.kind not in ("step", "bridge", "group")]
        torn = any(all(name & ~mask for mask in taken) for name in told)
        denies = isinstance(candidate.form, IsAny) and not candidate.items
        return torn or (denies and any(use.kind == "bridge" and not use.mask for use in candidate.uses))

    @cached_property
    def _strange(self) -> int:
        """Words that are names by their capital letter, within the sentence, and not of the noun behind: *to Paris*."""
        read, language = self.read, languages()[self.read.language]
        texts = [token.text for token in read.tokens]
        if not (language.spaced and language.capitals) or all(map(str.istitle, texts[1:])) or "".join(texts).isupper():
            return 0
        ends = [not (text.islower() and read.content >> n & 1) for n, text in enumerate([*texts[1:], "?"], start=1)]
        return union(1 << n for n, text in enumerate(texts) if n and text[:1].isupper() and ends[n])

    def _goes_on(self, term: NamedNode, uses: Sequence[Ground]) -> bool:
        """Whether a relation leads from a thing to others of its kind: not there and back, to what shares something."""
        return self.graph.is_among_likes(term) and len({use.outward for use in uses if use.term == term}) == 1

    def _readings(self, chosen: list[SetState], kinds: list[SetState]) -> Iterator[Candidate]:
        read = self.read
        told = [state for state in chosen if not isinstance(state.form, Named)]  # a name tells nothing of what it names
        for state in told:
            yield Candidate(Listed(state.form), state.items, (*state.uses, Ground("list", 1.0, 0)))
        if read.cue("count", "amount", "sum") or self._likely("count"):
            for state in told[:90]:
                yield Candidate(SizeOf(state.form), state.items, (*state.uses, Ground("count", 1.0, read.cue("count"))))
        yield from self._aggregated(chosen)
        yield from self._grouped(chosen, kinds)
        yield from self._asked(told)
        yield from self._differing()
        yield from self._shared(chosen, kinds)
        yield from self._columned(chosen[:60])

    def _ordered_paths(self, items: Items, taken: int) -> list[tuple[Path, Meaning, bool]]:
        """The paths by which the items can be ranked: a number of their own or one step away, or how many they have."""
        found: list[tuple[Path, Meaning, bool]] = []
        sample = frozenset(sorted(items)[:_SAMPLE])
        ranking = {
            told.predicate: mask
            for told in self._vocabulary.definitions
            if told.ranks and sample & self.graph.classes.get(told.kind, NOTHING) and (mask := told.said_in(self.read))
        }
        for predicate in self.graph.ordered:
            meaning = self.meaning(predicate, taken)
            if predicate in ranking:
                meaning = Meaning(1.0, meaning.mask | ranking[predicate], worded=True)
            if self.graph.follow(predicate, sample, outward=True):
                found.append((((predicate, True),), meaning, False))
        if self.read.cue("most", "least", "count"):
            steps = {step for item in sample for step in self.graph.leaving.get(item, ())}
            for predicate, outward in steps:
                ends = self.graph.follow(predicate, sample, outward=outward)
                if len(ends) > 1 and not (outward and predicate in self.graph.ordered):
                    found.append((((predicate, outward),), self._leads_to(predicate, ends, taken), True))
        found.sort(key=lambda path: (-path[1].score, path[2], str(path[0])))
        return found[:7]

    def _ranked(self, states: list[SetState], kinds: list[SetState]) -> list[SetState]:
        """The first of a set by something that can be ordered, and what lies one step from it."""
        read = self.read
        ways = [(mask, most) for mask, most in (
            (read.cue("most"), True), (read.cue("least"), False), (read.cue("first"), False), (read.cue("last"), True),
        ) if mask]  # fmt: skip
        ways += [(0, most) for name, most in (("most", True), ("least", False)) if self._likely(name)]
        pool = Pool()
        if not ways and not (read.cue("or", "more", "less") and len(read.anchors) > 1):
            return []
        bases = [s for s in (*self._bases(kinds), *states[:25], *self._pairs()) if len(s.items) > 1]
        whole = (q for q in read.quantities if q.kind == "number" and 1 < q.value <= 50 and q.value == int(q.value))
        number = next(whole, None) if ways else None
        size, told = (int(number.value), number.mask) if number else (1, 0)
        said = {most: mask for mask, most in ways or ((read.cue("more"), True), (read.cue("less", "more"), False))}
        sized, dated = self._told_apart(said, ("most", "least")), self._told_apart(said, ("last", "first"))
        for base in bases:
            for path, meaning, counted in self._ordered_paths(base.items, base.mask):
                sides = dated if not counted and self.graph.ordered.get(path[-1][0], False) else sized
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

    def _told_apart(self, sides: Mapping[bool, int], names: tuple[str, str]) -> Mapping[bool, int]:
        """The sides without words that say the other one here: the oldest has most years, and the first birthday."""
        own = dict(zip((True, False), map(self.read.cue, names), strict=True))
        left = {most: mask & ~(own[not most] & ~own[most]) for most, mask in sides.items()}
        return {most: mask for most, mask in left.items() if mask or not sides[most]} or sides

    def _pairs(self) -> Iterator[SetState]:
        """Two things that the question names, with something between them: *Luna Park* is one."""
        named = [s for s in self._seeds if s.uses[0].kind == "name"][:6]
        for place, one in enumerate(named):
            for other in named[place + 1 :]:
                if not one.mask & other.mask and self.read.between(one.mask, other.mask):
                    items = one.items | other.items
                    mask = self.read.cue("or", "and")
                    yield SetState(
                        Or((one.form, other.form)),
                        items,
                        (*one.uses, *other.uses, Ground("or", 1.0, mask & ~(one.mask | other.mask))),
                    )

    def _against(self, kinds: list[SetState], sets: list[SetState]) -> Iterator[SetState]:
        """What has more or less of something than a thing that is named, than all or any of a set, than its average."""
        read = self.read
        sides = [(read.cue(cue), cue in ("more", "after")) for cue in ("more", "after", "less", "before")]
        if not any(mask for mask, _ in sides):
            sides = [(read.cue("than"), more) for more in (True, False)]
        if not any(mask for mask, _ in sides):
            return
        named = [s for s in self._seeds if s.uses[0].kind == "name"][:4]
        several = (s for s in sets[:_TOPS] if s.uses[0].kind == "name" and len(s.items) > 1 and not self._is_value(s))
        others = list(islice(several, _FEW_SETS))
        said = {
            "average": read.cue("average"),
            "any": read.cue("most", "least", "any_of"),
            "all": read.cue("all_of"),
        }
        than = read.cue("than")
        counted = any(quantity.kind == "number" for quantity in read.quantities)  # then it is more than the number
        behind = [kind for kind in kinds if not counted and kind.mask.bit_length() >= than.bit_length()]
        for one in (*named, *behind, *others) if than or not counted else ():
            limits = ["average"] if read.cue("average") else ["all", "any"] if len(one.items) > 1 else ["all"]
            for predicate in self.graph.ordered:
                if not self.graph.follow(predicate, one.items, outward=True):
                    continue
                meaning = self.meaning(predicate, one.mask)
                for more, limit in product((True, False), limits):
                    mask = next((m for m, side in sides if m and side == more), 0)
                    form = Against(predicate, more, one.form, limit)
                    items = items_of(form, self.graph)
                    told = said[limit] or not any(said[other] for other in limits)
                    score = (0.4 + 0.6 * meaning.score) * (1.0 if mask and told else 0.5)
                    explained = mask | meaning.mask | said[limit]
                    use = Ground("against", score, explained, predicate, meaning.worded, most=more)
                    if items:
                        state = SetState(form, items, (*one.uses, use))
                        yield state
                        yield from self._classed(state, kinds)
                        yield from self._cut(state, self._seeds[:_FEW_SETS])

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
                meaning = self._leads_to(predicate, ends, base.mask)
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
        for state in (*self._pairs(), *states[:60]):
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
        each = mask_of((mask & -mask).bit_length() - 1, mask.bit_length() + 2) if mask else 0
        if not (mask or self._likely("group") or (read.cue("count", "average", "sum") and read.cue("and"))):
            return
        for state in (*self._bases(kinds), *states[:30]):
            if any(use.kind == "class" and use.mask & each for use in state.uses):
                continue  # what *each* stands with is told apart, not counted
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
                best = self._leads_to(predicate, ends, taken)
                if path and best.score < SAID:
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
            for other in (*self._seeds, *states[:40], *self.kinds()):
                if other.mask & one.mask or other.form == one.form or _compares(other.form):
                    continue
                both = one.items & other.items  # false is an answer too: the thing is there, and not in the set
                if both or could_be(one.items, other.form, self.graph):
                    use = Ground("ask", 0.9, mask & 1)
                    yield Candidate(IsAny(_and(one.form, other.form)), both, (*one.uses, *other.uses, use))
            for other in named:
                if other is one or other.mask & one.mask:
                    continue
                yield from self._related(one, other, mask)
                yield from self._more(one, other, mask)
                yield from self._same(one, other, mask)

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

    def _same(self, one: SetState, other: SetState, mask: int) -> Iterator[Candidate]:
        """Whether two things that are named lead to the same by a step."""
        if not (cue := self.read.cue("same")) or one.mask > other.mask:
            return
        for predicate, outward in {step for item in sorted(one.items)[:8] for step in self.graph.leaving.get(item, ())}:
            ends = self.graph.follow(predicate, one.items, outward=outward)
            meaning = self._leads_to(predicate, ends, one.mask | other.mask)
            if meaning.score >= _TOLD and self.graph.follow(predicate, other.items, outward=outward):
                form = And((Follow(predicate, outward, one.form), Follow(predicate, outward, other.form)))
                use = Ground("same", meaning.score, cue | meaning.mask, predicate, meaning.worded, outward)
                uses = (*one.uses, *other.uses, use, Ground("ask", 1.0, mask & 1))
                yield Candidate(IsAny(form), items_of(form, self.graph), uses)

    def _differing(self) -> Iterator[Candidate]:
        """How far apart two things that are named are by a number, or by how many they have."""
        compared = self.read.cue("than") and self.read.cue("amount", "count")
        if not (compared or self.read.cue("difference")):
            return
        cue = self.read.cue("difference") or self.read.cue("amount", "count") | self.read.cue("more", "less")
        named = sorted([s for s in self._seeds if s.uses[0].kind == "name"][:6], key=lambda state: state.mask)
        for one, other in combinations(named, 2):
            steps = {step for item in sorted(one.items)[:8] for step in self.graph.leaving.get(item, ())}
            for predicate, outward in steps if not one.mask & other.mask else ():
                ends = self.graph.follow(predicate, one.items, outward=outward)
                there = self.graph.follow(predicate, other.items, outward=outward)
                counted = not (outward and self.graph.ordered.get(predicate) is False)
                meaning = self._leads_to(predicate, ends, one.mask | other.mask)
                apart = len(ends) != len(there) if counted else bool(there)
                if apart:
                    use = Ground(
                        "difference",
                        meaning.score,
                        cue | meaning.mask,
                        predicate,
                        meaning.worded,
                        outward,
                        counted=counted,
                    )
                    form = DifferenceOf(predicate, outward, one.form, other.form, counted)
                    yield Candidate(form, one.items | other.items, (*one.uses, *other.uses, use))

    def _shared(self, states: list[SetState], kinds: list[SetState]) -> Iterator[Candidate]:
        """Which part of a kind, or of a set, is in another set, too."""
        percent = self.read.cue("percent")
        if not (mask := percent | self.read.cue("share")):
            return
        parts = dict.fromkeys((*self._seeds, *states[:_TOPS]))
        for whole, part in product((*self._bases(kinds), *states[:_FEW_SETS]), parts):
            if not whole.names & part.names and 0 < len(both := whole.items & part.items) < len(whole.items):
                uses = (*whole.uses, *part.uses, Ground("share", 1.0, mask))
                yield Candidate(Share(whole.form, part.form, bool(percent)), both, uses)

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
            used = {use.term for use in state.uses if use.kind not in _MEASURING}
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
        """One to three columns of a set; records without a name of their own are not shown themselves."""
        for place, (one, use) in enumerate(columns):
            if named:
                yield Candidate(Listed(state.form, (one,)), state.items, (*state.uses, use))
            for other, further in columns[place + 1 :]:
                form = Listed(state.form, (one, other), bare=not named)
                yield Candidate(form, state.items, (*state.uses, use, further))
                for third, last in columns[place + 2 :] if further is columns[place + 1][1] else ():
                    form = Listed(state.form, (one, other, third), bare=not named)
                    yield Candidate(form, state.items, (*state.uses, use, further, last))


def _may_meet(one: SetState, other: SetState) -> bool:
    """Whether it says something that a thing is in both: of one thing that is named only if both name it."""
    alone = [isinstance(side.form, Named) and len(side.items) == 1 for side in (one, other)]
    return not any(alone) or all(isinstance(side.form, Named | Kind) for side in (one, other))


def _compares(form: SetForm) -> bool:
    """Whether it is what has more or less than one thing that is named; `IsMore` asks that the way it is said."""
    return isinstance(form, Against) and isinstance(form.other, Named)


def _both_name(one: SetState, other: SetState) -> bool:
    """Whether both are names, or one is of several things, all of which may be in the other: *which of these*."""
    named = [side for side in (one, other) if isinstance(side.form, Named)]
    return len(named) > 1 or any(len(side.items) > 1 for side in named)


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
