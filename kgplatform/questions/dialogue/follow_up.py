"""A turn that leans on the last one, as an edit of its logical form.

Either the turn speaks of what was spoken of (*it*, *those*, or nothing that it names): then that stands as a name in
its own readings. Or it is a fragment: then what it says takes the place of the constituent of its kind, and where
there is none it restricts what was asked for.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from itertools import islice
from typing import Any, TypeGuard

from pyoxigraph import Literal, NamedNode

from kgplatform.questions.forms import logical_form
from kgplatform.questions.forms.fact_graph import NOTHING, FactGraph, Items
from kgplatform.questions.forms.floating_parser import Generator, conjuncts
from kgplatform.questions.forms.form_reader import FormReader, ranked, shipped_weights
from kgplatform.questions.forms.intent import Intent
from kgplatform.questions.forms.logical_form import (
    Aggregated,
    And,
    Compare,
    DifferenceOf,
    Follow,
    Form,
    Grouped,
    IsAny,
    IsMore,
    Kind,
    Listed,
    Named,
    Period,
    SetForm,
    Share,
    SizeOf,
    Top,
    Without,
    denotation,
    items_of,
    parts_of,
)
from kgplatform.questions.forms.named_sets import SetState
from kgplatform.questions.forms.question_language import languages
from kgplatform.questions.forms.question_text import Anchor, Read, read
from kgplatform.types import Embedder, Solutions

_MEANT = 0.45
_WHOLE = 0.9
_NAMED = 0.6
_ALIKE, _NONE, _CLOSE = 0.05, 0.15, 0.01
_LOOKED_UP = re.compile(r"<([^<>\s]+)>\s+<([^<>\s]+)>\s+\?")
_SPOKEN_OF = "\N{HORIZONTAL ELLIPSIS}"


@dataclass(frozen=True, slots=True)
class SpokenOf:
    """What the last turn was about: its form, and the things that answered it."""

    form: Form
    answers: Items = NOTHING

    @property
    def named(self) -> tuple[Named, ...]:
        """What it names, the first first."""
        return tuple(part for part in parts_of(self.form) if isinstance(part, Named) and part.items)


@dataclass(frozen=True, slots=True)
class FormEdit:
    """A form that a turn makes of the last: how much of the turn it explains, and what it puts in which place."""

    form: Form
    score: float
    mask: int = 0
    put: object = None


class FollowUps:
    """Edits the forms of one graph by what is said next."""

    def __init__(self, forms: FormReader, embedder: Embedder | None) -> None:
        """Without an embedder the words of labels alone tell what is meant."""
        self._forms, self._graph, self._embedder = forms, forms.graph, embedder

    def spoken_of(self, question: str, query: str, found: Solutions, *, language: str, kept: str = "") -> SpokenOf:
        """What a turn was about whose query found some rows: its form as it was kept.

        Without one it is the likeliest reading of its question that gives the same rows, else these rows alone.
        """
        number_of = self._graph.number_of
        answers = frozenset(number_of[row[0]] for row in found.rows if row and row[0] in number_of)
        if kept and (form := form_written(kept, self._graph)) is not None:
            return SpokenOf(form, answers)
        asked = read(question, language, self._forms.names)
        for form, _ in self._ranked(asked, self._forms.intent(question, language)):
            if self._gives(form, found, answers):
                return SpokenOf(form, answers)
        return SpokenOf(self._looked_up(query) or Listed(Named(answers)), answers)

    def _gives(self, form: Form, found: Solutions, answers: Items) -> bool:
        """Whether a form gives the rows, or the same in their first column."""
        match form:
            case Listed(of):
                return bool(answers) and items_of(of, self._graph) == answers
            case IsAny() | IsMore():
                return found.boolean is not None and denotation(form, self._graph) == [(found.boolean,)]
            case SizeOf() | Aggregated():
                given = [str(value) for row in denotation(form, self._graph) for value in row]
                return [row[0].value for row in found.rows if isinstance(row[0], Literal)] == given
        return False

    def _looked_up(self, query: str) -> Form | None:
        """What a query that found nothing looked up: a property of one thing."""
        match = _LOOKED_UP.search(query)
        thing = self._graph.number_of.get(NamedNode(match[1])) if match else None
        if match is None or thing is None or NamedNode(match[2]) not in self._graph.forward:
            return None
        return Listed(Follow(NamedNode(match[2]), outward=True, of=Named(frozenset((thing,)))))

    def _ranked(self, asked: Read, intent: Intent) -> Iterator[tuple[Form, float]]:
        generator = Generator(self._graph, self._forms.vocabulary(self._embedder), asked, intent)
        for item in ranked(generator, shipped_weights()):
            yield item.candidate.form, item.probability

    def leans(self, text: str, language: str) -> Read | None:
        """The turn as it is read, if it speaks of what was spoken of, or names neither a thing nor a kind of things."""
        asked = read(text, language, self._forms.names)
        return asked if self._speaks(asked) or not self._stands(asked) else None

    def edits(self, asked: Read, last: SpokenOf, *, fragment: bool) -> list[FormEdit]:
        """What a turn may make of the last form, best first; none where it says nothing of its own."""
        if self._speaks(asked):
            return self._about(asked, last)
        only_counts = asked.cue("count") and not asked.content & ~asked.cue("count", "sum")
        found = self._put(asked, last) if fragment or only_counts else []
        if self._stands(asked) or (found and found[0].score >= 1):
            return found
        return [*found, *self._about(asked, last)]

    def _speaks(self, asked: Read) -> int:
        return self._mask(asked, "one") | self._mask(asked, "several")

    def _stands(self, asked: Read) -> bool:
        """Whether it names a thing, or a kind of things, by its whole name."""
        if any(anchor.exact and anchor.score >= _WHOLE and self._things(anchor.items) for anchor in asked.anchors):
            return True
        generator = Generator(self._graph, self._forms.vocabulary(self._embedder), asked)
        return any(use.worded and use.score >= _WHOLE for state in generator.kinds() for use in state.uses)

    def _things(self, items: Items) -> Items:
        return frozenset(item for item in items if not isinstance(self._graph.terms[item], Literal))

    def _mask(self, asked: Read, name: str) -> int:
        pattern = languages()[asked.language].patterns.get(name)
        found = 0
        for match in pattern.finditer(asked.text) if pattern else ():
            found |= sum(1 << i for i, t in enumerate(asked.tokens) if t.start < match.end() and t.end > match.start())
        return found

    def worded(self, part: object, language: str) -> str:
        """A constituent of a form in words."""
        if isinstance(part, NamedNode):
            return self._graph.schema.label(part, language)
        form = Listed(part) if _is_set(part) else part
        return self._forms.reading_of(form, language, 0.0).words  # type: ignore[arg-type]

    # what is asked of what was spoken of

    def _about(self, asked: Read, last: SpokenOf) -> list[FormEdit]:
        """The readings in which what was spoken of stands as a name: the answers, else what the last form names."""
        mask, several, among = self._speaks(asked), self._mask(asked, "several"), self._mask(asked, "among")
        things, whole = self._things(last.answers), _set_of(last.form)
        meant: list[tuple[Items, SetForm]] = []
        if several or len(things) == 1:
            is_whole = whole is not None and items_of(whole, self._graph) == things
            meant.append((things, whole if is_whole and whole is not None else Named(things)))
        if not several:
            meant += [(named.items, named) for named in last.named if self._things(named.items) == named.items]
        found: list[FormEdit] = []
        for place, (items, form) in enumerate(meant):
            marked = Named(items, _SPOKEN_OF)
            for reading, share in self._readings(asked, Anchor(items, mask, 1.0, exact=True, said=_SPOKEN_OF)):
                asks = bool(among) or any(
                    not isinstance(part, Listed | And | Kind | Named) for part in parts_of(reading)
                )
                if asks and any(part == marked for part in parts_of(reading)):
                    whole_of = _set_of(reading)
                    part_of = whole_of is not None and items_of(whole_of, self._graph) <= items
                    within = bool(among) and part_of and not getattr(reading, "columns", ())
                    found.append(FormEdit(_with(reading, marked, form), share - place * _ALIKE + within, put=marked))
        return sorted(found, key=lambda edit: -edit.score)

    def _readings(self, asked: Read, anchor: Anchor) -> Iterator[tuple[Form, float]]:
        kept = tuple(other for other in asked.anchors if not other.mask & anchor.mask)
        told = replace(asked, anchors=(anchor, *kept), cues={k: m & ~anchor.mask for k, m in asked.cues.items()})
        intent = self._forms.intents.intent(told if anchor.mask else asked)
        return self._ranked(told, intent)

    # what takes the place of a constituent

    def _put(self, asked: Read, last: SpokenOf) -> list[FormEdit]:
        """What a fragment puts in the place of a part of the last form, the more of it is explained the better."""
        generator = Generator(
            self._graph, self._forms.vocabulary(self._embedder), asked, self._forms.intents.intent(asked)
        )
        content = asked.content & ~asked.cue("and", "or", "how", "what", "which", "count", "sum")
        count = content.bit_count() or 1
        found: dict[Form, FormEdit] = {}
        for edit in (
            *self._constituents(generator, last),
            *self._steps(generator, last),
            *self._ranks(asked, generator, last),
        ):
            share = (edit.mask & content).bit_count() / count if content else 1.0
            edit = replace(edit, score=share + 0.3 * edit.score)
            known = found.get(edit.form)
            if edit.form != last.form and (known is None or known.score < edit.score):
                if self._is_there(edit.form):
                    found[edit.form] = edit
                elif isinstance(edit.put, Named):  # what is named there has none: that is said
                    found[edit.form] = replace(edit, score=edit.score - _NONE)
        return sorted(found.values(), key=lambda edit: -edit.score)

    def _is_there(self, form: Form) -> bool:
        of = _set_of(form)
        return of is None or bool(items_of(of, self._graph))

    def _constituents(self, generator: Generator, last: SpokenOf) -> Iterator[FormEdit]:
        """Names for names of their kind, values for values of a property, bounds for bounds, a class for a class."""
        for state in (*generator.seeds(), *generator.kinds()):
            if isinstance(state.form, Named) and state.score < _NAMED:
                continue
            for part in parts_of(last.form):
                if self._in_place(part, state):
                    less = 0.0 if type(part) is type(state.form) else 0.2
                    yield FormEdit(_with(last.form, part, state.form), _sure(state) - less, state.mask, state.form)
            whole = _set_of(last.form)
            said = all(use.worded or use.kind == "quantity" for use in state.uses) and not isinstance(state.form, Named)
            if whole is not None and said and state.items & items_of(whole, self._graph):
                yield FormEdit(
                    _on(last.form, And((*conjuncts(whole), state.form))), _sure(state) - 0.5, state.mask, state.form
                )

    def _in_place(self, part: object, state: SetState) -> bool:
        """Whether a set that the turn names is of the kind of a part of the last form."""
        match part, state.form:
            case Named(items), Named(others):
                alike = not self._sorts(items).isdisjoint(self._sorts(others))
                return items != others and (alike or self._has_what(items, others))
            case (Follow() | And() | Top() | Without()) as whole, Named(others):
                return bool(self._sorts(items_of(whole, self._graph)) & self._sorts(others))
            case ((Compare(predicate) | Period(predicate)), (Compare(other) | Period(other))):
                return predicate == other
            case Follow(predicate, False, Named()), Follow(other, False, Named()):
                return predicate == other
            case Kind(), Kind():
                return True
        return False

    def _has_what(self, items: Items, others: Items) -> bool:
        """Whether things of another kind have a property that these have, as towns and inns both lie somewhere."""
        steps = [{step for item in some for step in self._graph.leaving.get(item, ())} for some in (items, others)]
        return any(outward for _, outward in steps[0] & steps[1])

    def _sorts(self, items: Items) -> frozenset[object]:
        """The classes of things, and the properties that values are of."""
        graph, found = self._graph, set[object]()
        for item in items:
            found |= graph.kinds_of.get(item, frozenset())
            if isinstance(graph.terms[item], Literal):
                found |= {predicate for predicate, outward in graph.leaving.get(item, ()) if not outward}
        return frozenset(found)

    def _steps(self, generator: Generator, last: SpokenOf) -> Iterator[FormEdit]:
        """Another property of the same thing, or a property of what was listed."""
        of = _set_of(last.form)
        for predicate in self._graph.forward:
            meaning = generator.meaning(predicate)
            if meaning.score < _MEANT or of is None:
                continue
            if isinstance(of, Follow):
                for outward in (True, False):
                    form = _on(last.form, Follow(predicate, outward, of.of))
                    yield FormEdit(form, meaning.score, meaning.mask, predicate)
            if isinstance(last.form, Aggregated):
                yield FormEdit(replace(last.form, predicate=predicate), meaning.score, meaning.mask, predicate)
            if not isinstance(of, Named):
                yield FormEdit(
                    Listed(Follow(predicate, outward=True, of=of)), meaning.score - 0.2, meaning.mask, predicate
                )

    def _ranks(self, asked: Read, generator: Generator, last: SpokenOf) -> Iterator[FormEdit]:
        """The other end of an order, an order by something else, the next one; and how many there are."""
        up, down = asked.cue("most", "last"), asked.cue("least", "first")
        ranks = [q for q in asked.quantities if q.kind == "ordinal"]
        for top in (part for part in parts_of(last.form) if isinstance(part, Top)):
            for rank in ranks:
                number = int(rank.value)
                if 2 <= number <= len(items_of(top.base, self._graph)):
                    above = replace(top, size=number - 1)
                    yield FormEdit(
                        _with(last.form, top, replace(top, base=Without(top.base, above))), 1.0, rank.mask, top
                    )
            for mask, most in ((up, True), (down, False)):
                if mask and not ranks:
                    yield FormEdit(_with(last.form, top, replace(top, most=most)), 0.9, mask, top)
                    for predicate in self._graph.ordered:
                        meaning = generator.meaning(predicate, mask)
                        if meaning.score >= _MEANT:
                            other = replace(top, most=most, path=((predicate, True),), counted=False)
                            yield FormEdit(_with(last.form, top, other), meaning.score, mask | meaning.mask, predicate)
        whole, counts = _set_of(last.form), asked.cue("count")
        if counts and whole is not None and not isinstance(last.form, SizeOf):
            yield FormEdit(SizeOf(whole), 0.9, counts, whole)


def rivals(edits: Sequence[FormEdit], graph: FactGraph) -> list[FormEdit]:
    """The best edit, and the next, if it puts the same as well in another place and gives something else."""
    best, *others = edits
    given = denotation(best.form, graph)
    close = (edit for edit in others if edit.score > best.score - _CLOSE and edit.mask and edit.put == best.put)
    return [best, *islice((edit for edit in close if denotation(edit.form, graph) != given), 1)]


def difference(one: object, other: object) -> tuple[object, object]:
    """The constituents in which two forms differ: the smallest of which one stands where the other does."""
    if type(one) is type(other) and is_dataclass(one) and not isinstance(one, Named | NamedNode):
        pairs = [(getattr(one, part.name), getattr(other, part.name)) for part in fields(one)]
        apart = [(mine, its) for mine, its in pairs if mine != its]
        if len(apart) == 1 and all(_is_set(part) or isinstance(part, NamedNode) for part in apart[0]):
            return difference(*apart[0])
    return one, other


_OF_TWO = IsMore | DifferenceOf | Share


def _is_set(part: object) -> TypeGuard[SetForm]:
    return is_dataclass(part) and not isinstance(part, type | Listed | SizeOf | Aggregated | Grouped | IsAny | _OF_TWO)


def next_in_order(last: SpokenOf) -> Form | None:
    """The last form with the next in the order that it takes the first of; None where it takes none."""
    for top in parts_of(last.form):
        if isinstance(top, Top) and top.size == 1:
            form: Form = _with(last.form, top, replace(top, base=Without(top.base, top)))
            return form
    return None


def _sure(state: SetState) -> float:
    return max((use.score for use in state.uses), default=0.0)


def _set_of(form: Form) -> SetForm | None:
    """The set that a form is about; None for one that is about two."""
    return None if isinstance(form, _OF_TWO) else form.of


def _on(form: Form, of: SetForm) -> Form:
    return form if isinstance(form, _OF_TWO) else Listed(of) if isinstance(form, Listed) else replace(form, of=of)


def _with(form: Any, old: object, new: object) -> Any:
    """The form with one constituent in the place of another."""
    if form == old:
        return new
    if isinstance(form, tuple):
        return tuple(_with(part, old, new) for part in form)
    if is_dataclass(form) and not isinstance(form, type):
        return replace(form, **{part.name: _with(getattr(form, part.name), old, new) for part in fields(form)})
    return form


# Forms as text, as a conversation keeps them: things by their terms, since their numbers are of one version only.


def written_form(form: Form, graph: FactGraph) -> str:
    """A form as JSON."""
    return json.dumps(_written(form, graph), ensure_ascii=False)


def _written(part: object, graph: FactGraph) -> object:
    if isinstance(part, Named):
        return {"Named": [[_term(graph.terms[item]) for item in sorted(part.items)], part.said]}
    if isinstance(part, NamedNode):
        return {"": part.value}
    if isinstance(part, tuple):
        return [_written(item, graph) for item in part]
    if is_dataclass(part) and not isinstance(part, type):
        return {type(part).__name__: [_written(getattr(part, item.name), graph) for item in fields(part)]}
    return part


def _term(term: object) -> list[str]:
    if isinstance(term, Literal):
        return [term.value, term.datatype.value, term.language or ""]
    return [str(getattr(term, "value", term))]


def form_written(text: str, graph: FactGraph) -> Form | None:
    """The form that was written, with the things that are still there; None where it is none."""
    try:
        form = _read(json.loads(text), graph)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None
    return form if isinstance(form, Listed | SizeOf | Aggregated | Grouped | IsAny | IsMore) else None


_FORMS = {name: found for name, found in vars(logical_form).items() if isinstance(found, type) and is_dataclass(found)}


def _read(data: Any, graph: FactGraph) -> Any:
    if isinstance(data, list):
        return tuple(_read(item, graph) for item in data)
    if not isinstance(data, dict):
        return data
    ((name, held),) = data.items()
    if name == "":
        return NamedNode(held)
    if name == "Named":
        numbers = (graph.number_of.get(_of_term(*term)) for term in held[0])
        return Named(frozenset(number for number in numbers if number is not None), str(held[1]))
    return _FORMS[name](*(_read(item, graph) for item in held))


def _of_term(value: str, datatype: str = "", language: str = "") -> object:
    if language:
        return Literal(value, language=language)
    return Literal(value, datatype=NamedNode(datatype)) if datatype else NamedNode(value)
