"""Reads questions on one graph without a model: candidate forms, ranked by a log-linear model, the best with its query.

Berant and Liang 2014, equation 1: p(z | x) is proportional to exp(w·f(x, z)). The weights are learnt on the question
sets of many graphs (``python -m benchmarks.train_questions``) and shipped as data.
"""

from __future__ import annotations

import itertools
import json
import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray
from pyoxigraph import Literal, NamedNode

from kgplatform.extraction.han_tagger import NAMED, carried_tagger
from kgplatform.lexicon import LANGUAGES
from kgplatform.questions.forms.fact_graph import FactGraph, Items, is_temporal
from kgplatform.questions.forms.floating_parser import Candidate, Generator, conjuncts
from kgplatform.questions.forms.intent import Intent, IntentReader, shipped_model, worded_in_english
from kgplatform.questions.forms.logical_form import (
    Against,
    Aggregated,
    And,
    Compare,
    DifferenceOf,
    Follow,
    Form,
    FormWording,
    Grouped,
    HasMany,
    IsAny,
    IsMore,
    Kind,
    Listed,
    Named,
    Or,
    Period,
    SetForm,
    Share,
    SizeOf,
    Top,
    Without,
    numbers_in,
    parts_of,
    sparql,
)
from kgplatform.questions.forms.named_sets import Ground
from kgplatform.questions.forms.question_language import languages
from kgplatform.questions.forms.question_text import Names, Read, mask_of, read, tokens_of, union
from kgplatform.questions.forms.relevance import Vocabulary
from kgplatform.questions.usage import GraphFacts, SchemaView
from kgplatform.types import Answer, Embedder, Solutions, Verdict

WEIGHTS = Path(__file__).parent / "weights.json"

Features = dict[str, float]
Add: TypeAlias = Callable[[str, float], None]

_WEAK = 0.35
_COMPARED = 0.4 + 0.6 * _WEAK
"""The least that a word of comparison and a word for its property have together."""
_SAID_SURELY = 0.45
_ASKED_FOR = 0.2
"""A property that no word names is asked for if it is the likeliest by the whole wording, and that likely."""
_MEANT = frozenset(
    ("step", "class", "code", "top", "column", "without", "group", "aggregate", "truth", "against", "more", "counted")
)

_LEAST = 0.02
_ENDS = frozenset(".!?。！？")
"""Behind these a sentence begins."""
_CUED = {
    "count": ("count",), "sum": ("sum",), "average": ("average",), "most": ("most",), "least": ("least",),
    "first": ("first",), "last": ("last",), "more": ("more", "at_least"), "less": ("less", "at_most"),
    "before": ("before",), "after": ("after",), "negation": ("negation",), "each": ("each",), "or": ("or",),
    "difference": ("difference",), "same": ("same",), "yesno": ("yesno",), "between": ("between",),
    "share": ("share", "percent"),
}  # fmt: skip


class Describer:
    """The features of the candidates of one question."""

    def __init__(self, generator: Generator) -> None:
        """Notes what is best for each token, to compare with."""
        self._graph, self._read = generator.graph, generator.read
        self._language = languages()[generator.read.language]
        self._best: list[float] = [0.0] * len(self._read.tokens)
        for key, meanings in generator.meanings.items():
            if isinstance(key, NamedNode | tuple):
                for meaning in meanings:
                    for place in _places(meaning.mask):
                        self._best[place] = max(self._best[place], meaning.score)
        self._intent = generator.intent
        self._content = self._read.content & ~self._read.cue(*(cue for cues in _CUED.values() for cue in cues))
        anchors = self._read.anchors
        self._named = union(anchor.mask for anchor in anchors if anchor.exact and anchor.score >= 0.9)
        self._loosely = union(anchor.mask for anchor in anchors)
        self._numbers = union(quantity.mask for quantity in self._read.quantities)
        degrees = frozenset(self._language.words("superlative"))
        self._degrees = union(1 << n for n, token in enumerate(self._read.tokens) if token.text.casefold() in degrees)
        self._tagged = self._tagged_names()
        self._opening = next(
            (
                name
                for name in ("count", "amount", "who", "where", "when", "which", "what", "how", "yesno", "list")
                if self._is_first(name)
            ),
            "none",
        )

    def _tagged_names(self) -> int:
        """The tokens of names as a tagger sees them, where capital letters tell none."""
        if self._language.spaced:
            return 0
        names = [name for name in carried_tagger().names(self._read.text) if name.tag in NAMED]
        tokens = enumerate(self._read.tokens)
        return union(1 << n for n, token in tokens if any(name.start <= token.start < name.end for name in names))

    def left(self, candidate: Candidate) -> int:
        """How many words that say something a candidate leaves out, or takes for something they hardly mean."""
        said = union(use.mask for use in candidate.uses if use.score >= _SAID_SURELY)
        return (self._content & ~said).bit_count()

    def unused(self, candidate: Candidate) -> tuple[str, ...]:
        """The words that say something, and that nothing of a candidate stands for."""
        left, read = self._content & ~candidate.mask, self._read
        places = [n for n in range(len(read.tokens)) if left >> n & 1]
        first = [n for n in places if n - 1 not in places or self._language.spaced]
        ends = [next(m for m in itertools.count(n) if m + 1 not in places or self._language.spaced) for n in first]
        return tuple(read.text[read.tokens[n].start : read.tokens[m].end] for n, m in zip(first, ends, strict=True))

    def asks_otherwise(self, candidate: Candidate) -> bool:
        """Whether a candidate rests on what one property says, for which neither a word asks nor the whole wording."""
        match candidate.form:
            case Listed(Follow(predicate), ()) | IsMore(predicate) if terms := self._intent.terms:
                found = [u for u in candidate.uses if u.term == predicate and (not u.mask or u.mask & ~self._named)]
                said = any(use.worded or use.score >= (_COMPARED if use.kind == "more" else _WEAK) for use in found)
                return not said and terms.get(predicate, 0.0) < max(_ASKED_FOR, *terms.values())
        return False

    @property
    def unanswerable(self) -> float:
        """How likely the wording asks for what the graph does not have; 0..1."""
        return self._intent.operations.get("none", 0.0)

    def _is_first(self, name: str) -> bool:
        mask = self._read.cue(name)
        if not mask:
            return False
        return not self._language.fronted or (mask & -mask).bit_length() - 1 <= 3

    def features(self, candidate: Candidate) -> Features:
        """What speaks for and against a candidate, by name."""
        found: Features = {}

        def add(name: str, value: float) -> None:
            found[name] = found.get(name, 0.0) + value

        mask, content = candidate.mask, self._content
        left = (content & ~mask).bit_count()
        add("left", left)
        add("left share", left / max(1, content.bit_count()))
        add("left none", float(left == 0))
        add("left name", (self._named & ~mask).bit_count())
        add("left any name", float(bool(self._named & ~mask)))
        add("left part of name", (self._loosely & ~mask & content).bit_count())
        add("left number", float(bool(self._numbers & ~mask)))
        add("left sense", sum(self._best[p] for p in _places(content & ~mask)))
        self._of_unknown(candidate.uses, content & ~mask, add)
        self._of_uses(candidate.uses, add)
        self._of_cues(candidate, add)
        self._of_result(candidate, add)
        self._of_order(candidate.uses, add)
        if self._intent.operations:
            self._of_intent(candidate, add)
        add("size", numbers_in(candidate.form) / 4)
        add("parts", len(candidate.uses))
        return found

    def _of_unknown(self, uses: Sequence[Ground], left: int, add: Add) -> None:
        """Whether words that are left out may name a thing that the graph has not: *Moonlit Heron* for *Grey Heron*."""
        tokens = self._read.tokens
        text = self._read.text
        begins = (text[tokens[place - 1].start : tokens[place].start] for place in _places(left & ~1))
        within = (p for p, said in zip(_places(left & ~1), begins, strict=True) if _ENDS.isdisjoint(said))
        told = self._language.capitals and not text.isupper()
        add("left capitals", float(sum(tokens[place].text[:1].isupper() for place in within)) if told else 0.0)
        before = union(use.mask >> 1 & ~use.mask for use in uses if use.kind == "name" and not use.worded)
        add("left behind most", float(bool(self._degrees << 1 & left)))
        beside = (place for place in _places(left & before) if tokens[place + 1].start - tokens[place].end <= 1)
        add("left before part of a name", float(sum(1 for _ in beside)))
        firm = union(use.mask for use in uses if use.worded or use.kind in ("name", "value", "code", "quantity"))
        add("left tagged name", float(bool(self._tagged & self._content & ~firm)))

    def _of_uses(self, uses: Sequence[Ground], add: Add) -> None:
        kinds = Counter(use.kind for use in uses)
        steps = Counter(use.term for use in uses if use.kind in ("step", "bridge"))
        for use in uses:
            self._of_use(use, add)
        for kind, count in kinds.items():
            if count >= 2:
                add(f"{kind} twice", count - 1)
        add("twice", sum(count - 1 for count in steps.values()))
        add("nothing named", float(not kinds.keys() & {"name", "value", "code", "quantity", "truth"}))
        for pair in (("name", "quantity"), ("name", "code"), ("class", "step"), ("name", "bridge")):
            add(" with ".join(pair), float(all(kind in kinds for kind in pair)))

    def _of_use(self, use: Ground, add: Add) -> None:
        add(f"{use.kind} score", use.score)
        add(f"{use.kind} number", 1.0)
        add(f"{use.kind} worded", float(use.worded))
        if use.kind in _MEANT:
            best = max((self._best[place] for place in _places(use.mask)), default=0.0)
            add("not the best sense", max(0.0, best - use.score))
            add(f"{use.kind} weak", float(use.score < _WEAK))
        if use.kind in ("step", "bridge"):
            add(f"{use.kind} {'out' if use.outward else 'in'}", 1.0)
        if use.kind == "name":
            add("name exact" if use.worded else "name in part", 1.0)
            add("name weak", float(use.score < 0.5))
            add("name tokens", use.mask.bit_count())

    def _of_cues(self, candidate: Candidate, add: Add) -> None:
        does = _operations(candidate.form)
        for name, cues in _CUED.items():
            there = bool(self._read.cue(*cues))
            if name in does:
                add(f"cue {name} used" if there else f"{name} without cue", 1.0)
            elif there:
                add(f"cue {name} unused", 1.0)
        for use in candidate.uses:
            if use.kind == "top":
                self._of_top(use, add)
            elif use.kind in ("against", "more"):
                way = f"{'more' if use.most else 'less'} {'day' if self._is_temporal(use.term) else 'size'}"
                for cue in ("more", "less", "before", "after"):
                    if self._read.cue(cue):
                        add(f"against for {cue}: {way}", 1.0)

    def _of_top(self, use: Ground, add: Add) -> None:
        temporal = not use.counted and self._is_temporal(use.term)
        way = "most" if use.most else "least"
        add(f"top {'counted' if use.counted else 'dated' if temporal else 'sized'} {way}", 1.0)
        add("top against cue", float(not use.agrees))
        for cue in ("most", "least", "first", "last"):
            if self._read.cue(cue):
                add(f"top for {cue}: {way} {'day' if temporal else 'size'}", 1.0)

    def _is_temporal(self, predicate: NamedNode | None) -> bool:
        return predicate is not None and self._graph.ordered.get(predicate, False)

    def _of_result(self, candidate: Candidate, add: Add) -> None:
        kind = self._result(candidate)
        add(f"gives {kind}", 1.0)
        add(f"{self._opening} gives {kind}", 1.0)
        for name in ("who", "where", "when", "amount", "count", "yesno"):
            if self._read.cue(name):
                add(f"with {name} gives {kind}", 1.0)
        add(f"{self._language.learnt} gives {kind}", 1.0)
        count = len(candidate.items)
        match candidate.form:
            case Listed(of, columns):
                self._of_list(of, candidate.items, add)
                add("columns", float(bool(columns)))
                self._of_class_asked_for(candidate, add)
            case SizeOf(of):
                add("counts one", float(count == 1))
                add("counts a class", float(isinstance(of, Kind)))
                self._of_class_asked_for(candidate, add)
            case IsAny():
                add("no", float(not count))
                add("yes", float(bool(count)))

    def _of_list(self, of: SetForm, items: Items, add: Add) -> None:
        count = len(items)
        add("one", float(count == 1))
        add("several", float(2 <= count <= 8))
        add("many", float(count > 20))
        add("log size", math.log(1 + count))
        add("the thing itself", float(any(isinstance(part, Named) for part in conjuncts(of))))
        add("a whole class", float(isinstance(of, Kind)))
        add("as large as a class", float(count > 1 and any(items == all_ for all_ in self._graph.classes.values())))

    def _of_class_asked_for(self, candidate: Candidate, add: Add) -> None:
        """Whether the result is of the class that the question asks for by name, as after *which*."""
        told = next((use for use in reversed(candidate.uses) if use.kind == "class" and use.term), None)
        if told is None or told.term is None or not candidate.items:
            return
        fits = candidate.items <= self._graph.classes.get(told.term, frozenset())
        first = (told.mask & -told.mask).bit_length() - 1
        asked = self._read.cue("which", "what", "count", "list")
        after = first <= 1 or any(0 < first - place <= 2 for place in _places(asked))
        add("result of the class named", float(fits))
        add("class asked for", float(after and fits))
        add("class asked for is not given", float(after and not fits))

    def _of_intent(self, candidate: Candidate, add: Add) -> None:
        """How what it uses and does agrees with what the whole wording is after."""
        used = terms_in(candidate.form)
        likely = self._intent.terms
        for term in used:
            if term in likely:
                add("intent of what is used", math.log(likely[term] + _LEAST))
                add("unlikely term", float(likely[term] < 0.05))
        left = [p for term, p in likely.items() if term not in used and p >= 0.1]
        add("intent left", sum(left))
        add("likeliest left", max(left, default=0.0))
        add("likely term left", float(sum(p >= 0.6 for p in left)))
        best = max((likely.get(term, 0.0) for term in used), default=0.0)
        add("best intent is used", float(bool(used) and best >= max(left, default=0.0)))
        does = done(candidate, sum(term in self._graph.schema.properties for term in used))
        for name, p in self._intent.operations.items():
            if name == "none":
                continue
            share = math.log(min(1 - _LEAST, max(_LEAST, p if name in does else 1 - p)))
            add("operations", share)
            add(f"operation {name}", share)
        if shown := given(candidate, self._graph):
            best = max(self._intent.asked.get(term, 0.0) for term in shown)
            other = max((p for term, p in self._intent.asked.items() if term not in shown), default=0.0)
            add("asked for", math.log(best + _LEAST))
            add("asked for is left", other)
            add("likeliest is given", float(best >= other))

    def _result(self, candidate: Candidate) -> str:
        match candidate.form:
            case SizeOf():
                return "count"
            case Aggregated() | DifferenceOf() | Share():
                return "number"
            case Grouped():
                return "table"
            case IsAny() | IsMore():
                return "truth"
        item = next(iter(candidate.items), None)
        term = self._graph.terms[item] if item is not None else None
        if isinstance(term, Literal):
            if is_temporal(term):
                return "day"
            return "number" if item is not None and self._graph.magnitude(item) is not None else "text"
        return "thing"

    def _of_order(self, uses: Sequence[Ground], add: Add) -> None:
        """How far apart in the question are the parts that belong together, and on which side a step's word stands."""
        before = 0
        for use in uses:
            if not use.mask:
                continue
            if before and use.kind in ("step", "column", "quantity", "class", "name", "code", "value"):
                gap = _gap(before, use.mask)
                add("gap", min(gap, 8) / 4)
                add("overlap", float(gap < 0))
                if use.kind == "step":
                    side = "after" if use.mask > before else "before"
                    way = "out" if use.outward else "in"
                    add(f"step {way} said {side}", 1.0)
            before = use.mask


def terms_in(form: object) -> frozenset[NamedNode]:
    """The properties and classes of a form."""
    if isinstance(form, NamedNode):
        return frozenset((form,))
    if isinstance(form, tuple):
        return frozenset().union(*(terms_in(part) for part in form))
    names = getattr(form, "__dataclass_fields__", ())
    return frozenset().union(*(terms_in(getattr(form, name)) for name in names))


def given(candidate: Candidate, graph: FactGraph) -> set[NamedNode]:
    """The properties whose values a reading gives, and the classes of the things that it gives."""
    match candidate.form:
        case Listed(of, columns):
            found = _ends(of) | {predicate for predicate, _ in columns}
        case SizeOf(of):
            found = _ends(of)
        case Grouped(of, key, _, predicate):
            return _ends(of) | {predicate or key[-1][0], key[-1][0]}
        case Aggregated(_, predicate, _) | DifferenceOf(predicate):
            return {predicate}
        case _:
            return set()
    return found | {class_ for class_, all_ in graph.classes.items() if candidate.items and candidate.items <= all_}


def _ends(form: SetForm) -> set[NamedNode]:
    match form:
        case Follow(predicate, True):
            return {predicate}
        case Kind(iri):
            return {iri}
        case And(parts) | Or(parts):
            return set().union(*map(_ends, parts))
        case Without(base) | Top(base):
            return _ends(base)
    return set()


def done(candidate: Candidate, properties: int) -> set[str]:
    """The operations of a reading of so many properties, as `kgplatform.questions.forms.intent.OPERATIONS` has them."""
    found = {name for name, least in (("second", 2), ("third", 3)) if properties >= least}
    for part in parts_of(candidate.form):
        match part:
            case Grouped(_, _, function):
                found |= {"group", "columns", "listed", {"AVG": "avg", "SUM": "sum"}.get(function, "group")}
            case Aggregated(function):
                found.add({"AVG": "avg", "SUM": "sum", "MAX": "most", "MIN": "least"}[function])
            case Top(_, _, most):
                found.add("most" if most else "least")
            case Compare(_, low, high) | Period(_, low, high) if low != high:
                found.add("compare")
            case Without(_, excluded) if not isinstance(excluded, Named):
                found.add("negation")
            case _:
                found |= _SIMPLY.get(type(part), frozenset())
    if isinstance(candidate.form, Listed):
        found |= {"columns"} if candidate.form.columns else set()
        found |= {"listed"} if len(candidate.items) > 1 else set()
    return found


_SIMPLY: Mapping[type, frozenset[str]] = {
    SizeOf: frozenset(("count",)),
    IsAny: frozenset(("ask",)),
    IsMore: frozenset(("ask",)),
    Against: frozenset(("compare",)),
    HasMany: frozenset(("compare", "count")),
}


def _gap(one: int, other: int) -> int:
    """How many tokens lie between; -1 if some are shared."""
    if one & other:
        return -1
    low, high = sorted((one, other), key=lambda mask: mask & -mask)
    return max(0, (high & -high).bit_length() - 1 - low.bit_length())


def _places(mask: int) -> Iterable[int]:
    place = 0
    while mask:
        if mask & 1:
            yield place
        mask >>= 1
        place += 1


def _operations(form: Form) -> set[str]:
    """The cues that a form answers to."""
    found = set(_WHOLE_CUES.get(type(form), ()))
    match form:
        case Aggregated(function):
            found |= _FUNCTION_CUES[function]
        case Grouped(_, _, function):
            found |= {"each", {"COUNT": "count", "AVG": "average"}.get(function, "sum")}
        case IsAny(And((Follow(one, _, Named()), Follow(other, _, Named())))) if one == other:
            found.add("same")
    for part in parts_of(form):
        match part:
            case Without(_, excluded):
                found.add("same" if isinstance(excluded, Named) else "negation")
            case Compare() | Period() | HasMany():
                found |= _bound_cues(part)
        if isinstance(part, Top):
            found |= {"most", "last"} if part.most else {"least", "first"}
        if isinstance(part, Against | IsMore):
            found |= {"more", "after"} if part.more else {"less", "before"}
        if isinstance(part, Against) and part.than != "all":
            found.add("average" if part.than == "average" else "least" if part.more else "most")
    return found


_WHOLE_CUES: Mapping[type, tuple[str, ...]] = {
    SizeOf: ("count",), IsAny: ("yesno",), IsMore: ("yesno",), DifferenceOf: ("difference",), Share: ("share",),
}  # fmt: skip
_FUNCTION_CUES = {"SUM": {"sum", "count"}, "AVG": {"average"}, "MAX": {"most"}, "MIN": {"least"}}


def _bound_cues(part: Compare | Period | HasMany) -> set[str]:
    has_low, has_high = part.low not in (None, ""), part.high not in (None, "")
    if has_low and has_high:
        return {"between"} if part.low != part.high else set()
    return {"more", "after"} if has_low else {"less", "before"}


@dataclass(frozen=True, slots=True)
class Ranked:
    """A candidate with its share of the probability."""

    candidate: Candidate
    probability: float
    score: float


@dataclass(frozen=True)
class Together:
    """What features count in combination: a layer of rectified units over them (Glorot, Bordes and Bengio 2011)."""

    names: Sequence[str] = ()
    units: NDArray[np.float32] = field(default_factory=lambda: np.zeros((0, 1), dtype=np.float32))
    """A row of each feature, a column of each unit."""
    shift: NDArray[np.float32] = field(default_factory=lambda: np.zeros(1, dtype=np.float32))
    out: NDArray[np.float32] = field(default_factory=lambda: np.zeros(1, dtype=np.float32))

    def score(self, rows: Sequence[Features]) -> NDArray[np.float64]:
        """What each row of features counts beyond the sum of its parts."""
        places = {name: place for place, name in enumerate(self.names)}
        table = np.zeros((len(rows), len(places)), dtype=np.float32)
        for row, features in zip(table, rows, strict=True):
            for name, value in features.items():
                if name in places:
                    row[places[name]] = value
        return np.asarray(np.maximum(table @ self.units + self.shift, 0) @ self.out, dtype=np.float64)


@dataclass(frozen=True)
class Forest:
    """Regression trees that are summed up to log odds (Friedman 2001, gradient boosting), in arrays of all nodes.

    A node goes to ``left`` where its feature is at most the threshold, else to ``right``; a leaf to itself.
    """

    names: Sequence[str]
    start: float
    """The log odds before any tree."""
    roots: NDArray[np.int64]
    feature: NDArray[np.int64]
    threshold: NDArray[np.float64]
    left: NDArray[np.int64]
    right: NDArray[np.int64]
    value: NDArray[np.float64]

    def chance(self, told: Features) -> float:
        """The probability for features by name; 0..1. What is not among them is 0."""
        row = np.array([told.get(name, 0.0) for name in self.names], dtype=np.float32)
        node, moved = self.roots, True
        while moved:
            following = np.where(row[self.feature[node]] <= self.threshold[node], self.left[node], self.right[node])
            node, moved = following, bool((following != node).any())
        return 1 / (1 + math.exp(-self.start - float(self.value[node].sum())))


@dataclass(frozen=True)
class Weights:
    """What each feature counts, and the line that makes a probability of being right of what the ranking says."""

    features: Mapping[str, float]
    calibration: Mapping[str, float]
    choice: Mapping[str, Forest] = field(default_factory=dict)
    """How likely an answer of the rules, and one of a form, is right, by `choice_signs`."""
    together: Together = field(default_factory=Together)

    def scores(self, rows: Sequence[Features]) -> NDArray[np.float64]:
        """w·f of each row of features, and what they count together."""
        alone = [sum(self.features.get(name, 0.0) * value for name, value in row.items()) for row in rows]
        return np.array(alone) + self.together.score(rows)

    def confidence(self, told: Features) -> float:
        """How likely the first of some readings is right: a logistic model over `signs`, learnt on graphs left out."""
        return 1 / (1 + math.exp(-sum(self.calibration.get(name, 0.0) * value for name, value in told.items())))

    def chances(self, told: Mapping[str, Features]) -> dict[str, float]:
        """How likely each answer that `choice_signs` tells of is right; 0..1.

        Where the two are the same, it is the likelier; what the rules are sure of, or rather sure of with every word
        explained, was right in .80 of 687 on graphs left out.
        """
        found = {of: self.choice[of].chance(signs_) for of, signs_ in told.items()}
        if rules := told.get("rules"):
            likelier = max(found.values()) if rules["rules agree"] else found["rules"]
            sure = rules["rules sure"] or (rules["rules rules"] >= _SURE_OF_ALL and rules.get("rules all explained"))
            found["rules"] = max(likelier, _SURE_RULES_RIGHT if sure else 0.0)
        return found


@cache
def shipped_weights(path: Path = WEIGHTS) -> Weights:
    """The weights that come with the package."""
    data = json.loads(path.read_text(encoding="utf-8"))
    units, parts = data["together"]["units"], ("shift", "out")
    rows = np.array(list(units.values()), dtype=np.float32)
    layer = Together(tuple(units), rows, *(np.array(data["together"][part], dtype=np.float32) for part in parts))
    choice = {of: forest_of(told) for of, told in data["choice"].items()}
    return Weights(data["features"], data["calibration"], choice, layer)


def forest_of(told: Mapping[str, Any]) -> Forest:
    """A forest as JSON has it: its names, its start, and its other parts as lists."""
    roots, feature, left, right = (np.array(told[part], np.int64) for part in ("roots", "feature", "left", "right"))
    threshold, value = (np.array(told[part], np.float64) for part in ("threshold", "value"))
    return Forest(told["names"], told["start"], roots, feature, threshold, left, right, value)


def signs(features: Mapping[str, float], unanswerable: float, found: Sequence[Ranked]) -> Features:
    """What tells whether the first of all readings is right: its features, the shares, its lead, what it leaves out."""
    first, *others = (reading.probability for reading in found)
    second, third = (*others, 0.0, 0.0)[:2]
    kept = (
        "left", "left share", "left name", "left any name", "left number", "left sense", "name score", "nothing named",
        "likeliest left", "likely term left", "best intent is used", "unlikely term", "operations", "bridge number",
        "step weak", "name weak", "parts", "asked for", "asked for is left", "likeliest is given",
        "left capitals", "left before part of a name", "left behind most", "left tagged name",
    )  # fmt: skip
    share = min(max(first, 1e-4), 1 - 1e-4)
    return {
        "one": 1.0,
        "share": share,
        "odds": math.log(share / (1 - share)),
        "lead": first - second,
        "third": third,
        "entropy": -sum(p * math.log(p) for p in (first, *others) if p > 0),
        "readings": math.log(len(found)),
        "none": unanswerable,
        **{name: features.get(name, 0.0) for name in kept},
    }


def ranked(generator: Generator, weights: Weights) -> list[Ranked]:
    """The candidates of a question, the likeliest first."""
    candidates = generator.candidates()
    if not candidates:
        return []
    describer = Describer(generator)
    scores = weights.scores([describer.features(candidate) for candidate in candidates])
    shares = softmax(scores)
    order = sorted(range(len(candidates)), key=lambda i: (-scores[i], i))
    return [Ranked(candidates[i], float(shares[i]), float(scores[i])) for i in order]


def softmax(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Shares that add up to 1."""
    powers = np.exp(scores - scores.max())
    return np.asarray(powers / powers.sum())


_MOST_READINGS = 5
LIKELIER_RIGHT, FORM_RIGHT = 0.5, 0.5
"""An answer of the rules, and one of a form alone, is given from that chance of being right on: so .09 of the questions
on graphs left out are answered wrongly."""
_SURE_RULES, _SURE_OF_ALL, _RATHER_SURE, _SURE_RULES_RIGHT = 0.75, 0.65, 0.5, 0.8
_MOST_LEFT = 0.5
_NEVER_LEFT = (
    *("left any name", "left number", "left capitals"),
    *("left before part of a name", "left behind most", "left tagged name"),
)
_MOST_ODDS = 3.0
"""A reading that has no rival is not that much likelier."""


@dataclass(frozen=True, slots=True)
class Reading:
    """One way to understand a question: in words, as a query, how likely it is right, and its form if it has one."""

    words: str
    query: str
    probability: float
    form: Form | None = None
    left: int = 0
    """How many words that say something it leaves out."""
    column: frozenset[object] | None = None
    """The terms that its query gives in the first column; None: only running it tells."""
    missing: int = 0
    """How many words name a kind of thing, or ask for a property, that the graph has not; then it is no answer."""
    share: float = 0.0
    """Its part of the probability of all readings."""
    signs: Mapping[str, float] = field(default_factory=dict)
    """What tells whether it is right, if it is the first."""
    features: Mapping[str, float] = field(default_factory=dict)
    """What the ranking saw of it, if it is the first."""
    unused: tuple[str, ...] = ()
    """The words that say something and that nothing of it stands for."""

    @property
    def leaves_out(self) -> bool:
        """Whether it leaves out what no answer may: a number, a name or what may be one, any word of a yes or no."""
        told = any(self.signs.get(name) for name in _NEVER_LEFT)
        return bool(told or (isinstance(self.form, IsAny | IsMore) and self.left))

    @property
    def is_partial(self) -> bool:
        """Whether it leaves out half of what is said or more, or takes words for what they hardly mean.

        The latter where it names a kind of thing of which there is nothing, or leaves words out, names no thing and
        has only unlikely terms.
        """
        alone = self.left > 0 and self.signs.get("nothing named", 0.0) > 0
        unlikely = alone and self.signs.get("unlikely term", 0.0) >= len(terms_in(self.form))
        return self.missing > 0 or unlikely or self.signs.get("left share", 0.0) >= _MOST_LEFT

    def gives(self, found: Solutions, run: Callable[[str], Solutions | None] | None = None) -> bool:
        """Whether it gives the same rows as what was found, or the same in the first column; ``run`` asks its query."""
        if self.column is not None and not found.truncated:
            return found.boolean is None and self.column == {row[0] for row in found.rows if row}
        other = run(self.query) if run is not None else None
        if other is None or found.boolean is not other.boolean:
            return False
        rows, others = ({tuple(map(str, row)) for row in solutions.rows} for solutions in (found, other))
        return rows == others or {row[:1] for row in rows} == {row[:1] for row in others}


_OPERATION_WORDS: Final = {
    "count": "COUNT(", "group": "GROUP BY", "avg": "AVG(", "sum": "SUM(", "most": "MAX(", "least": "MIN(",
    "negation": "NOT EXISTS", "ask": "ASK {", "compare": "FILTER(?",
}  # fmt: skip
"""What of SPARQL in the query of the rules tells that they do an operation."""


@dataclass(frozen=True, slots=True)
class Ruled:
    """What the rules came to: how sure they are, whether they ask back, and which readings give the same."""

    confidence: float = 0.0
    asks: bool = False
    same: tuple[bool, ...] = ()
    fit: Mapping[str, float] = field(default_factory=dict)
    """How well the terms of their query fit what the whole wording is after, and what they make of its words."""

    @staticmethod
    def of(
        answer: Answer,
        readings: Sequence[Reading],
        intent: Intent,
        run: Callable[[str], Solutions | None],
        understood: Mapping[str, float],
    ) -> Ruled | None:
        """An answer beside the readings, of which ``run`` asks the first; None where the rules give no answer.

        ``understood``: what the rules make of the words (`kgplatform.questions.parser.translator.understanding`).
        """
        if answer.verdict is Verdict.UNANSWERABLE:
            return None
        same = [reading.gives(answer.solutions, None if place else run) for place, reading in enumerate(readings)]
        told = answer.query.text if answer.query else ""
        likely = {f"<{term.value}>": p for term, p in intent.terms.items()}
        used = [p for term, p in likely.items() if term in told]
        left = [p for term, p in likely.items() if term not in told and p >= 0.1]
        asked = {word: intent.operations.get(name, 0.0) for name, word in _OPERATION_WORDS.items()}
        undone = [p for word, p in asked.items() if word not in told]
        fit = {
            "terms": float(len(used)),
            "least likely term": min(used, default=0.0),
            "intent of what is used": sum(math.log(p + _LEAST) for p in used) / max(1, len(used)),
            "likeliest left": max(left, default=0.0),
            "likely term left": float(sum(p >= 0.6 for p in left)),
            "best intent is used": float(max(used, default=0.0) >= max(left, default=0.0)),
            "operations left": sum(undone),
            "likeliest operation left": max(undone, default=0.0),
            "operations not asked for": sum(1 - p for word, p in asked.items() if word in told),
        }
        return Ruled(answer.confidence, answer.clarification is not None, tuple(same), {**fit, **understood})


def choice_signs(language: str, readings: Sequence[Reading], ruled: Ruled | None) -> dict[str, Features]:
    """What tells whether the answer of the rules (``rules``) and that of the first reading (``form``) are right.

    There is none of them where the rules do not answer, or the reading leaves out too much of what is said. Both are
    told by the signs of both, each with ``rules`` or ``form`` before its name, and by the features of the reading.
    """
    found: dict[str, Features] = {}
    first = readings[0] if readings else None
    told = dict(first.signs) if first else {}
    told["odds"] = max(-_MOST_ODDS, min(_MOST_ODDS, told.get("odds", 0.0)))
    sure, agree = (ruled.confidence, float(any(ruled.same[:1]))) if ruled else (0.0, 0.0)
    both = {"rules": sure, "agree": agree, "agree surely": agree * sure, "zh": float(language == "zh")}
    if ruled is not None:
        alike = sum(reading.share for reading, same in zip(readings, ruled.same, strict=True) if same)
        found["rules"] = both | {
            "sure": float(sure >= _SURE_RULES),
            "rather sure": float(sure >= _RATHER_SURE),
            "alike": alike,
            "asks": float(ruled.asks),
            "no reading": float(first is None),
            "sure of all": sure * ruled.fit.get("all explained", 0.0),
            **ruled.fit,
            **{name: told.get(name, 0.0) for name in ("share", "odds", "lead", "none")},
        }
    if first is not None and not first.is_partial:
        found["form"] = both | {
            "answered": float(ruled is not None),
            "all said": float(not first.left),
            "words left": float(min(first.left, 4)),
            "more left": float(first.left > ruled.fit.get("words unexplained", 0.0)) if ruled else 0.0,
            "rules explain all": ruled.fit.get("all explained", 0.0) if ruled else 0.0,
            f"is {type(first.form).__name__}": 1.0,
            **told,
        }
    together = dict(first.features) if first is not None else {}
    together.pop("intent left", None)  # it grows with the number of terms, so it cannot be compared between graphs
    together |= {f"{of} {name}": value for of, signs_ in found.items() for name, value in signs_.items()}
    return dict.fromkeys(found, together)


class FormReader:
    """Reads questions on one version of a graph; what it needs of the graph is made at the first question."""

    def __init__(
        self, facts: GraphFacts, schema: SchemaView, label: Callable[[object, str], str], kept: Path | None = None
    ) -> None:
        """``label`` names a thing in a language; ``kept`` is the folder for the vectors of what the ontology says."""
        self._facts, self._schema, self._label, self._kept = facts, schema, label, kept

    @cached_property
    def graph(self) -> FactGraph:
        """The statements by number."""
        return FactGraph(self._facts, self._schema)

    @cached_property
    def names(self) -> Names:
        """The names that a question may hold."""
        return Names(self.graph)

    @cached_property
    def intents(self) -> IntentReader:
        """What questions on the graph are after."""
        return IntentReader(self.graph, shipped_model(), self._kept and self._kept / "intents.npz")

    def vocabulary(self, embedder: Embedder | None) -> Vocabulary:
        """The terms of the ontology as they may be said, with their vectors."""
        if self._vocabulary is None or self._vocabulary[0] is not embedder:
            kept = self._kept and self._kept / "terms.npz"
            self._vocabulary = (embedder, Vocabulary(self.graph, embedder, kept))
        return self._vocabulary[1]

    _vocabulary: tuple[Embedder | None, Vocabulary] | None = None

    def reading_of(self, form: Form, language: str, probability: float) -> Reading:
        """A form with its words and its query."""
        wording = FormWording(self.graph, lambda term: self._label(term, language), language)
        return Reading(wording(form), sparql(form, self.graph), probability, form)

    @cached_property
    def _absent(self) -> tuple[tuple[str, ...], ...]:
        """The stems of the names of classes of which there is nothing, and of nothing else."""
        used = [word for term in self._schema.classes.values() for word in term.words]
        used += [word for term in self._schema.properties.values() for word in term.words]
        known = {_stems(word.text) for word in used}
        found = {_stems(name) for name in self._schema.absent} - known
        return tuple(stems for stems in found if stems and len("".join(stems)) > 1)

    def _missing(self, asked: Read) -> int:
        """How many words of the question name, beyond doubt, a kind of thing of which there is nothing."""
        stems = [token.stem for token in asked.tokens]
        named = union(anchor.mask for anchor in asked.anchors if anchor.exact)
        found = 0
        for name in self._absent:
            for first in range(len(stems) - len(name) + 1):
                if tuple(stems[first : first + len(name)]) == name:
                    found |= mask_of(first, first + len(name))
        return (found & ~named).bit_count()

    def in_english(self, text: str, language: str) -> str:
        """A question word by word in English, its names kept; one in a language of the package as it is."""
        if language in LANGUAGES:
            return text
        return worded_in_english(read(text, language, self.names), self.graph)

    def intent(self, text: str, language: str) -> Intent:
        """What the whole wording of a question is after; that of the last question is kept."""
        last = self._last  # other threads may set it meanwhile
        if last is None or last[0] != (text, language):
            last = self._last = ((text, language), self.intents.intent(read(text, language, self.names)))
        return last[1]

    _last: tuple[tuple[str, str], Intent] | None = None

    def readings(
        self, text: str, language: str, embedder: Embedder | None, weights: Weights | None = None
    ) -> list[Reading]:
        """The likeliest readings of a question, best first; readings that say the same of the data are one."""
        asked = read(text, language, self.names)
        generator = Generator(self.graph, self.vocabulary(embedder), asked, self.intent(text, language))
        weights = weights or shipped_weights()
        found = merged(ranked(generator, weights))
        if not found:
            return []
        describer = Describer(generator)
        wording = FormWording(self.graph, lambda term: self._label(term, language), language)
        features = describer.features(found[0].candidate)
        told = signs(features, describer.unanswerable, found)
        sure, missing = weights.confidence(told), self._missing(asked)
        return [
            Reading(
                wording(item.candidate.form),
                sparql(item.candidate.form, self.graph),
                sure if place == 0 else min(sure, item.probability),
                item.candidate.form,
                describer.left(item.candidate) + missing,
                _column(item.candidate, self.graph),
                missing + describer.asks_otherwise(item.candidate),
                item.probability,
                told if place == 0 else {},
                features if place == 0 else {},
                describer.unused(item.candidate),
            )
            for place, item in enumerate(found[:_MOST_READINGS])
        ]


def _stems(text: str) -> tuple[str, ...]:
    return tuple(token.stem for token in tokens_of(text))


def _column(candidate: Candidate, graph: FactGraph) -> frozenset[object] | None:
    match candidate.form:
        case Listed(_, ()):
            return frozenset(graph.terms[item] for item in candidate.items)
        case SizeOf():
            return frozenset((Literal(len(candidate.items)),))
        case _:
            return None


def outcome_of(candidate: Candidate) -> Hashable:
    """What a reading gives, as far as that is told without asking for columns or groups."""
    match candidate.form:
        case Listed(_, ()):
            return ("list", candidate.items)
        case SizeOf():
            return ("count", len(candidate.items))
        case IsAny():
            return ("ask", bool(candidate.items))
        case _:
            return candidate.form


def merged(found: Sequence[Ranked]) -> list[Ranked]:
    """The readings with those that give the same joined to the likeliest of them, their shares added up."""
    shares: dict[Hashable, float] = {}
    best: dict[Hashable, Ranked] = {}
    for item in found:
        key = outcome_of(item.candidate)
        shares[key] = shares.get(key, 0.0) + item.probability
        best.setdefault(key, item)
    together = [Ranked(item.candidate, shares[key], item.score) for key, item in best.items()]
    return sorted(together, key=lambda item: (-item.probability, -item.score))
