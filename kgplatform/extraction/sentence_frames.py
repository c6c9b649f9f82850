"""Statements of a sentence: every property is a frame, and what fills its two places is scored by one network.

A frame takes what it knows from the ontology: its lexical forms, domain, range, unit, pattern and examples; what may
fill a place `sentence_slots` finds. Of each filling the network is told what is the same for every property and
language: how a form stands to the object, where the subject is found, how well both fit, what else would. Without the
sentence model nothing is read by frames. The weights are learnt from annotated documents
(``python -m benchmarks.train_sentence_frames --write``) and stand in ``learnt/sentence_network.safetensors``; the
threshold that they were calibrated to stands beside them.
"""

from __future__ import annotations

import itertools
import re
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray
from pyoxigraph import Literal, NamedNode

from kgplatform.extraction.context import WORD_LIST, DocumentReading, Referents, TextLine
from kgplatform.extraction.ontology_lexicon import (
    TOLD_KINDS,
    WORD,
    FrameForms,
    Spoken,
    bounded,
)
from kgplatform.extraction.sentence_network import (
    AWAY,
    AskedObject,
    Floats,
    PlacedWords,
    ScoredSentence,
    SentenceNetwork,
    StatementScores,
    WordPlace,
    how_far,
)
from kgplatform.extraction.sentence_slots import (
    AMOUNTS,
    BREAK,
    CODE,
    MARK,
    SUBJECT,
    Slot,
    SlotFinder,
    naming_codes,
    taken_as,
)
from kgplatform.extraction.values import (
    NOT_FREE,
    NOT_THE_VALUE,
    PARTIAL,
    accepts,
    is_bare,
    is_currency,
    is_length,
    literal_of,
)
from kgplatform.lexicon import LexiconSection
from kgplatform.ontology.schema import OntologyProperty
from kgplatform.text import has_han
from kgplatform.types import Claim, Mention
from kgplatform.vocab import OWL

NAMES: Final = ("name", "stranger", "guess", "noun")
_LEXICON: Final = LexiconSection("extraction", "sentence_frames")
_THING: Final = NamedNode(f"{OWL}Thing")
KINDS: Final = (
    *(*NAMES, "named", "money", "number", "quantity", "date", "year", "clock", "span", "code", "url", "free"),
    *("address", "duration", "other"),
)
"""The kinds of slots and of values, in the order in which the network knows them."""
FITS: Final = {None: -1, "fits": 0, "above": 1, "unknown": 2, "bare": 3, "noun": 4}
_FAR, _RECENT, _TOPIC_SHARE = 12, 6, 0.35
_NEARLY_CERTAIN, _MOST, _TOGETHER = 0.9, 0.99, 0.3
"""From when on a common noun is a thing; what shares add up to at the most; the part of the best that one must have."""
_BUCKETS: Final = len(AWAY) + 1
_OPENS: Final = 2 * _BUCKETS + 4
_KIND: Final = _OPENS + 2
_OUTSIDE: Final = _KIND + 2 * len(KINDS)
_LAST: Final = _OUTSIDE + _RECENT + 13
_WIDTH: Final = _LAST + 4

_OPENINGS: Final = {
    "generic": _LEXICON.pattern("generic", re.IGNORECASE),
    "anaphor": _LEXICON.pattern("anaphor", re.IGNORECASE),
}
_MARKS: Final = re.compile(r"[\s*#>•·\-–—\d.)）、“\"(（]*")
_NEGATION: Final = _LEXICON.pattern("negation", re.IGNORECASE)
_EXCEPTED: Final = _LEXICON.pattern("excepted", re.IGNORECASE)
_IN_TURN: Final = _LEXICON.pattern("in_turn", re.IGNORECASE)
_COSTS: Final = {"strong": 0, "weak": 2, "part": 3, "lead": 3}
_BRACKET: Final = re.compile(r"\s?[（(]")
_APPOSED: Final = _LEXICON.pattern("apposed")
_APART: Final = re.compile(r"\*{0,2}\s?(?:[:：—–]|-\s)\s?\*{0,2}")
_OPENING: Final = re.compile(rf"(?:\A|[\n.。!！?？]){_MARKS.pattern}\Z")
_COMMA: Final = re.compile(r"[,，、()（）]")


# Filling


@dataclass(frozen=True, slots=True)
class Filling:
    """A frame with its places filled."""

    term: OntologyProperty
    subject: Slot
    object: Slot
    sentence: tuple[int, int]
    is_nested: bool = False  # two places of one address, one in the other


@dataclass(frozen=True, slots=True)
class FormEvidence:
    """How a form of a property stands to an object: the nearer, the smaller the cost."""

    term: OntologyProperty
    cost: float
    signs: tuple[str, ...]


@dataclass(frozen=True)
class _Sentence:
    """A sentence with what may fill places in it; ``described``: the slots that only say what the one before is."""

    start: int
    end: int
    spoken: Sequence[Spoken]
    slots: Sequence[Slot]
    places: Sequence[WordPlace]
    described: Mapping[int, Slot]


@dataclass(frozen=True)
class OpenFrames:
    """What may be stated with one object: of what property of ``terms`` and what subject."""

    asked: AskedObject
    terms: Sequence[OntologyProperty]
    subjects: Sequence[Slot]
    object: Slot
    sentence: tuple[int, int]


class FrameReader:
    """Fills the frames of one document."""

    def __init__(self, reading: DocumentReading, referents: Referents, network: SentenceNetwork) -> None:
        self._reading, self._network, self._forms = reading, network, reading.lexicon.forms
        self._untold = ("stranger", "guess", *(("name",) if reading.lexicon.ontology.is_flat else ()))
        self._text, self._ontology = reading.text, reading.lexicon.ontology
        self._finder = SlotFinder(reading, referents)
        self.sentences: list[_Sentence] = []
        self._placed: list[PlacedWords | None] = []
        self._fitting: dict[object, NDArray[np.int8]] = {}
        self._terms = self._forms.asked(reading.takes)
        said_of = (kinds for end, kinds in reading.takes.items() if end.endswith(SUBJECT))
        self._subjects = frozenset(itertools.chain.from_iterable(said_of))
        self._numbers = {iri: n for n, iri in enumerate(reading.lexicon.class_labels.classes)}
        for sentence in reading.scored():
            self._take(sentence)
        self._at = {id(slot): (n, m) for n, one in enumerate(self.sentences) for m, slot in enumerate(one.slots)}
        self._headings = [section.heading for section in reading.sections if section.heading is not None]
        self._main = self._main_slot()

    def _take(self, sentence: ScoredSentence) -> None:
        """Finds the slots of a sentence, and what the network makes of them."""
        lexicon, seen = self._reading.lexicon, sentence.seen
        placed: list[tuple[Slot, WordPlace]] = []
        for slot in self._finder.slots(seen.start, seen.end, sentence.spans):
            words = [
                n
                for n, word in enumerate(seen.words)
                if seen.start + word.start < slot.end and slot.start < seen.start + word.end
            ]
            if words:
                class_ = self._numbers.get(slot.type, -1) if slot.type is not None and slot.sure else -1
                placed.append((slot, WordPlace(words[0], words[-1] + 1, _kind_number(slot), class_)))
        spoken = self._forms.spoken(self._text, seen.start, seen.end)
        slots, places = [slot for slot, _ in placed], [place for _, place in placed]
        described = {id(second): first for first, second in itertools.pairwise(slots) if self._describes(second, first)}
        self.sentences.append(_Sentence(seen.start, seen.end, spoken, slots, places, described))
        labels = lexicon.class_labels.rows
        self._placed.append(self._network.placed(sentence.rows, places, lexicon.property_labels, labels))

    def _main_slot(self) -> Slot | None:
        """What the document is about: its main entity, else the longest name of the text that its title has."""
        main, title = self._reading.main, self._reading.document.title
        if main is not None:
            return Slot(main.start, main.end, main.name, "name", main.type, mention=main)
        if len(title) > 60:
            return None
        slots = (slot for sentence in self.sentences for slot in sentence.slots)
        named = [slot for slot in slots if slot.kind in NAMES[:-1] and slot.name in title and slot.name != title]
        return max(named, key=lambda slot: (len(slot.name), -slot.start), default=None)

    def statements(self, least: float) -> Iterator[list[tuple[float, Filling]]]:
        """The fillings of each sentence that are likely enough, with their shares."""
        scores = StatementScores(self._network, [one.places for one in self.sentences], self._placed)
        for number, sentence in enumerate(self.sentences):
            found: list[tuple[float, Filling]] = []
            in_turn = _IN_TURN.search(self._text, sentence.start, sentence.end) is not None
            for frames in self.open_frames(number):
                shares = scores.shares(frames.asked)
                shares = shares if in_turn else _shared(shares, frames, sentence.slots)
                shares = _of_described(shares, frames, sentence.described)
                for term, subject in np.argwhere(shares >= least):
                    share = float(shares[term, subject])
                    item = Filling(frames.terms[term], frames.subjects[subject], frames.object, frames.sentence)
                    unsaid = "no form" in frames.asked.signs[term] and is_length(item.term.unit)
                    if not unsaid and not self._is_barred(item, share):  # 400 m may be how long, high or far away it is
                        found.append((share, item))
            found = list(_agreed((_in_turn if in_turn else _listed)(found, sentence.slots)))
            yield [*found, *self._nested(found)]

    def open_frames(self, number: int) -> Iterator[OpenFrames]:
        """What is asked of the objects of a sentence."""
        sentence = self.sentences[number]
        start, end, slots = sentence.start, sentence.end, sentence.slots
        heading = self._heading(start)
        under = self._reading.label_cues(heading.text) if heading is not None and heading.start < start else ()
        outside = self._outside(number, heading)
        opening = self._opening(start, end)
        for place, slot in enumerate(slots):
            if self._is_denied(slot, (start, end)):
                continue
            fitting = [(n, term) for n, term in self._terms if self._fits_object(term, slot)]
            said = [(n, t) for n, t in fitting if t.is_object or said_value(t, slot, self._text) is not None]
            within = [other for other in slots if self._is_subject(other) and other.name != slot.name]
            named = {slot.name, *(other.name for other in within)}
            beyond = [pair for pair in outside if pair[1].name not in named]
            subjects = [*within, *(other for _, other in beyond)]
            if not said or not subjects:
                continue
            features = [self._beside(other, slot, sentence) for other in within]
            features += [self._beyond(signs, other, slot, opening, alone=not within) for signs, other in beyond]
            told = self._evidence(slot, sentence.spoken, slots)
            for cue in under:
                if cue.term.iri not in told and self._fits_object(cue.term, slot):
                    told[cue.term.iri] = FormEvidence(cue.term, 1, ("heading",))
            terms, numbers = [term for _, term in said], [n for n, _ in said]
            asked = AskedObject(
                number,
                place,
                numbers,
                [self._at.get(id(other)) for other in subjects],
                np.array(features, np.float32),
                np.stack([self._subject_fits(other)[numbers] for other in subjects], axis=1),
                [self._signs(term, told, slot) for term in terms],
            )
            yield OpenFrames(asked, terms, subjects, slot, (start, end))

    def _is_subject(self, slot: Slot) -> bool:
        """Whether something may be said of it: it is a name, or examples say something of its like."""
        return slot.kind in NAMES or taken_as(slot) in self._subjects

    def _opening(self, start: int, end: int) -> int:
        lead = _MARKS.match(self._text, start, end)
        start = lead.end() if lead is not None else start
        found = (n for n, pattern in enumerate(_OPENINGS.values()) if pattern.match(self._text, start))
        return next(found, len(_OPENINGS))

    def _beside(self, subject: Slot, slot: Slot, sentence: _Sentence) -> Floats:
        """What is seen of a subject in the sentence of its object."""
        signs = np.zeros(_WIDTH, np.float32)
        one, other = (sentence.places[self._at[id(item)][1]] for item in (subject, slot))
        before = one.last <= other.first
        signs[how_far(other.first - one.last) if before else _BUCKETS + how_far(max(0, one.first - other.last))] = 1
        low, high = (subject.end, slot.start) if before else (slot.end, subject.start)
        between = sum(low <= item.start and item.end <= high and item.kind in NAMES for item in sentence.slots)
        signs[2 * _BUCKETS + min(3, between)] = 1
        signs[_OPENS] = one.first <= 1
        signs[_OPENS + 1] = slot.head in (subject.head, subject.start) if slot.head >= 0 else subject.head == slot.start
        signs[[_KIND + _kind_number(subject), _KIND + len(KINDS) + _kind_number(slot)]] = 1
        signs[_LAST + 1] = slot.head >= 0
        return signs

    def _beyond(self, told: Floats, subject: Slot, slot: Slot, opening: int, *, alone: bool) -> Floats:
        """What is seen of a subject that other sentences speak of."""
        signs = np.zeros(_WIDTH, np.float32)
        signs[_OUTSIDE : _OUTSIDE + len(told)] = told
        signs[[_OUTSIDE + len(told) + opening, _KIND + len(KINDS) + _kind_number(slot)]] = 1
        if id(subject) in self._at:
            signs[_KIND + _kind_number(subject)] = 1
        signs[[_LAST, _LAST + 1]] = not alone, slot.head >= 0
        return signs

    def _signs(self, term: OntologyProperty, told: Mapping[NamedNode, FormEvidence], slot: Slot) -> list[str]:
        """How the property is said, how many others are said nearer to the object, whether its unit is left out."""
        evidence = told.get(term.iri)
        cost = evidence.cost if evidence is not None else 9
        nearer = sum(other.cost < cost for iri, other in told.items() if iri != term.iri)
        more = ["no unit"] if term.unit and slot.value is not None and is_bare(slot.value) else []
        if self._reading.takes:  # examples tell how often a property is stated, and of what
            more += [f"is {term.iri.value}", f"{taken_as(slot)} is {term.iri.value}"]
        return [*(evidence.signs if evidence is not None else ("no form",)), f"rank {min(3, nearer)}", *more]

    def _nested(self, fillings: Sequence[tuple[float, Filling]]) -> Iterator[tuple[float, Filling]]:
        """Of two places in one word that the same is in, the second in the first: 嘉兴市桐乡县.

        A comma does not tell: *in Hangzhou, Suzhou and Nanjing*. That the thing and that the small place is in the
        large one are fillings of one object, and both are true.
        """
        said: dict[tuple[str, NamedNode], list[tuple[float, Filling]]] = defaultdict(list)
        for share, item in fillings:
            if item.term.transitive:
                said[item.subject.name, item.term.iri].append((share, item))
        shares = {(item.subject.name, item.term.iri, item.object.name): share for share, item in fillings}
        for (share, large), (certain, small) in (
            pair for some in said.values() for pair in itertools.permutations(some, 2)
        ):
            if large.object.end == small.object.start and self._fit(small.object, small.term.domains) == "fits":
                share = min(share + shares.get((small.object.name, large.term.iri, large.object.name), 0.0), _MOST)
                yield share, large
                yield min(share, certain), replace(large, subject=small.object, is_nested=True)

    def _is_barred(self, item: Filling, share: float) -> bool:
        """Whether the two cannot be stated of each other, whatever the sentence says: they may be names of one thing.

        Or one is a common noun where things go by names (unless nearly certain), or the subject is excepted or behind a
        denial.
        """
        subject, slot, (start, _) = item.subject, item.object, item.sentence
        if subject.name == slot.name or self._is_other_name(subject, slot) or self._describes(slot, subject):
            return True
        sides = [(subject, item.term.domains), *([(slot, item.term.ranges)] if item.term.is_object else [])]
        common = [(one, side) for one, side in sides if one.is_common and not self._forms.is_common(side)]
        if share < _NEARLY_CERTAIN and any(
            not self._is_taken(one, item.term, as_subject=one is subject) for one, _ in common
        ):
            return True
        if _EXCEPTED.search(self._text[max(start, subject.start - MARK) : subject.start]):
            return True
        behind = start <= slot.end <= subject.start
        return behind and _NEGATION.search(self._text, slot.end, subject.start) is not None

    def _heading(self, position: int) -> TextLine | None:
        index = bisect_right([line.start for line in self._headings], position) - 1
        return self._headings[index] if index >= 0 else None

    def _is_topic(self, slot: Slot) -> bool:
        """Whether later sentences may speak of it: a name, and not what a label gives."""
        lead = self._text[max(0, slot.start - 3) : slot.start].rstrip(" *")
        is_name = slot.share >= _TOPIC_SHARE or (slot.kind in ("name", "stranger") and slot.share < 0)
        return is_name and slot.kind not in ("value", "named") and lead[-1:] not in (":", "：")

    def _evidence(self, slot: Slot, spoken: Sequence[Spoken], slots: Sequence[Slot]) -> dict[NamedNode, FormEvidence]:
        """For each property that the slot may be the object of, how its nearest form stands to it."""
        found: dict[NamedNode, FormEvidence] = {}
        for item in spoken:
            if not self._fits_object(item.term, slot):
                continue
            seen = self._stands(item, slot, slots)
            if seen is None:
                continue
            known = found.get(item.term.iri)
            if known is None or seen[0] < known.cost:
                found[item.term.iri] = FormEvidence(item.term, *seen)
        return found

    def _stands(self, item: Spoken, slot: Slot, slots: Sequence[Slot]) -> tuple[float, tuple[str, ...]] | None:
        text = self._text
        if item.start < slot.end and slot.start < item.end:
            inside = slot.kind == "value" and item.start >= slot.start and item.end <= slot.end
            return (0.5, (f"{item.strength} inside",)) if inside else None
        begins = slot.head if slot.head >= 0 else slot.start
        if item.inner >= 0:
            ends = max(one.end for one in (slot, *slots) if one.enumeration == slot.enumeration)
            inside = item.end <= begins and ends <= item.inner
            away = _away(text[item.end : begins]) + _away(text[ends : item.inner]) if inside else 99
            return (away, (f"around {_bucket(min(away, 6))}",)) if inside and away <= _FAR else None
        before = item.end <= begins
        if item.strength in ("lead", "weak") and not before and not has_han(text[item.start : item.end]):
            return None
        low, high = (item.end, begins) if before else (slot.end, item.start)
        if high < low:
            return None
        gap = text[low:high]
        away = _away(gap)
        if away > _FAR or BREAK.search(gap):
            return None
        signs = [f"{item.strength} {'before' if before else 'behind'} {_bucket(away)}"]
        if re.fullmatch(r"\s*\*{0,2}\s*[:：]\s*\*{0,2}\s*", gap):
            signs = [f"{item.strength} label"]
        elif _COMMA.search(gap):
            signs.append(f"comma {'before' if before else 'behind'}")
        passed = (other for other in slots if low <= other.start and other.end <= high)
        between = sum(self._fits_object(item.term, other) for other in passed)
        if between:
            signs.append("passed over")
        if slot.head >= 0:
            signs.append("enumerated")
        behind = 1 if has_han(text[item.start : item.end]) else 2
        cost = away + _COSTS[item.strength] + 3 * between + behind * (not before)
        return cost, tuple(signs)

    def _fits_object(self, term: OntologyProperty, slot: Slot) -> bool:
        taken = self._is_taken(slot, term, as_subject=False)
        if taken or not (term.domains and term.ranges):
            return taken
        if term.is_object:
            if slot.kind == "value":
                return False
            return slot.type is None or not slot.sure or self._forms.fit(slot.type, term.ranges) is not None
        value = slot.value
        if value is None:
            return self._takes_text(term, slot)
        if value.kind == "free":
            return is_currency(term.unit)
        if value.kind == "code":
            return bool(term.pattern) and bounded(term.pattern or "").fullmatch(value.lexical) is not None
        if value.kind in TOLD_KINDS:
            return value.kind in self._forms.told[term.iri]
        if term.unit and is_bare(value):
            return accepts(term, replace(value, kind="money" if is_currency(term.unit) else "number", unit=term.unit))
        if value.kind == "year" and self._text[value.start : value.end + 1].strip(" ,.;").isdecimal():
            value = replace(value, kind="year" if accepts(term, value) else "number")  # 1,533 may be 1533
        return accepts(term, value)

    def _takes_text(self, term: OntologyProperty, slot: Slot) -> bool:
        """Whether a name or a noun may be the property's text; one that is surely of a class is a thing, not a text."""
        if slot.kind not in self._untold or slot.is_common:
            return (slot.kind == "noun" or slot.is_common) and term.iri in self._forms.phrases
        if term.pattern:
            return bounded(term.pattern).fullmatch(slot.name) is not None
        return term.iri in self._forms.written

    def _subject_fits(self, slot: Slot) -> NDArray[np.int8]:
        """How it fits as the subject of each property (`FITS`), by the properties' numbers."""
        like = slot.kind, slot.type, slot.sure, taken_as(slot)
        if like not in self._fitting:
            told = [(n, FITS[self._fit_subject(slot, term)]) for n, term in self._terms]
            found = self._fitting[like] = np.full(1 + max(n for n, _ in told), FITS[None], np.int8)
            found[[n for n, _ in told]] = [fit for _, fit in told]
        return self._fitting[like]

    def _fit_subject(self, slot: Slot, term: OntologyProperty) -> str | None:
        found = self._fit(slot, term.domains) if term.domains else "unknown"
        return found or ("unknown" if self._is_taken(slot, term, as_subject=True) else None)

    def _is_taken(self, slot: Slot, term: OntologyProperty, *, as_subject: bool) -> bool:
        """Whether examples have its like as an end of the property."""
        return taken_as(slot) in self._reading.takes.get(term.iri.value + SUBJECT * as_subject, ())

    def _fit(self, slot: Slot, wanted: tuple[NamedNode, ...]) -> str | None:
        if slot.kind == "noun":
            return "noun" if self._forms.is_common(wanted) else "bare"
        if slot.type is None:
            return "unknown"
        return self._forms.fit(slot.type, wanted) or (None if slot.sure else "unknown")

    def _is_other_name(self, subject: Slot, slot: Slot) -> bool:
        """Whether one is another name of the other: West Lake (西湖)."""
        first, last = sorted((subject, slot), key=lambda one: one.start)
        beside = slot.kind != "value" and _BRACKET.fullmatch(self._text[first.end : last.start])
        return bool(beside) or slot.name in self._reading.finder.names.aliases.get(subject.name, ())

    def _outside(self, number: int, heading: TextLine | None) -> list[tuple[Floats, Slot]]:
        """What was spoken of before the sentence, the latest first, with how it was; the main entity is among it.

        A heading that names no property begins something else: of what is above it only what the title names is left.
        """
        title = self._reading.document.title
        last = self._heading(self.sentences[number].end - 1)  # the sentence may be it
        begins = last.start if last is not None and not self._reading.label_cues(last.text) else -1
        start = self.sentences[number].start
        above = heading.start if heading is not None and heading.start < start else -1
        found: dict[str, tuple[Floats, Slot]] = {}
        for back in range(1, number + 1):
            if len(found) == _RECENT:
                break
            sentence = self.sentences[number - back]
            is_before = sentence.end <= begins
            for slot in reversed([slot for slot in sentence.slots if self._is_topic(slot)]):
                if slot.name in found or len(found) == _RECENT or (is_before and slot.name not in title):
                    continue
                signs = np.zeros(_RECENT + 10, np.float32)
                signs[[len(found), _RECENT + min(4, back)]] = 1
                signs[_RECENT + 6] = sentence.start <= above < sentence.end
                signs[_RECENT + 7] = slot.name in title
                signs[_RECENT + 8] = slot.start - sentence.start <= 4
                found[slot.name] = signs, slot
        if self._main is not None:
            signs, slot = found.pop(self._main.name, (np.zeros(_RECENT + 10, np.float32), self._main))
            if not signs.any():
                signs[[_RECENT, _RECENT + 5]] = 1
            signs[_RECENT + 9] = 1
            found[self._main.name] = signs, slot
        return list(found.values())

    def _describes(self, second: Slot, first: Slot) -> bool:
        """Whether a slot only says what the one before it is: *Tiger Hill: leaning pagoda*, *Tiger Hill, a pagoda*."""
        if first.kind not in NAMES[:-1] or first.is_common or second.kind not in NAMES:
            return False
        word = second.name.rpartition(" ")[2]
        class_ = self._reading.lexicon.class_words.get(word) if word.islower() else None
        fits = class_ is not None and (first.type is None or self._ontology.may_be(first.type, (class_,)))
        small = second.kind == "noun" or second.is_common or fits
        apart = _OPENING.search(self._text, max(0, first.start - MARK), first.start) and _APART
        ways = (way for way in (_APPOSED, apart) if way)
        return small and any(way.fullmatch(self._text, first.end, second.start) for way in ways)

    def _is_denied(self, slot: Slot, sentence: tuple[int, int]) -> bool:
        """Whether the clause denies what it says of the slot, or a price is not that of all."""
        start, kind = self._clause(sentence[0], slot.start), slot.value.kind if slot.value is not None else ""
        if kind != "free" and _NEGATION.search(self._text, start, slot.start):
            return True
        if kind not in ("free", "money"):
            return False
        around = self._text[max(start, slot.start - 40) : slot.end + 12]
        past = kind == "money" and NOT_THE_VALUE.search(self._text[start : slot.start])
        return bool(past or PARTIAL.search(around) or (kind == "free" and NOT_FREE.search(around)))

    def _clause(self, start: int, position: int) -> int:
        return max(start, *(self._text.rfind(sign, start, position) + 1 for sign in ",，;；"))


def _kind_number(slot: Slot) -> int:
    kind = slot.value.kind if slot.value is not None else slot.kind
    return KINDS.index(kind) if kind in KINDS else len(KINDS) - 1


def _away(gap: str) -> int:
    """How many words a stretch has, two Chinese characters being one."""
    words = WORD.findall(gap)
    han = sum(has_han(word) for word in words)
    return len(words) - han + (han + 1) // 2


def _bucket(away: int) -> str:
    return "0" if not away else "1" if away == 1 else "2-3" if away <= 3 else "4-6" if away <= 6 else "7"


# Statements


def _shared(shares: Floats, frames: OpenFrames, slots: Sequence[Slot]) -> Floats:
    """Enumerated subjects have the share of all together: at most one filling of an object is true, but for these.

    Where the sentence has several such objects, each may be for one of them: *30 and 20 yuan respectively*.
    """
    parts = Counter(slot.enumeration for slot in slots if slot.kind != "value")
    alike = [slot for slot in slots if (slot.kind, slot.type) == (frames.object.kind, frames.object.type)]
    if len(parts) == len(slots) or len({slot.name for slot in alike}) > 1:
        return shares
    found = shares.copy()
    for group in {one.enumeration for one in frames.subjects if parts[one.enumeration] > 1}:
        those = [n for n, one in enumerate(frames.subjects) if one.enumeration == group]
        whole, most = shares[:, those].sum(axis=1, keepdims=True), shares[:, those].max(axis=1, keepdims=True)
        found[:, those] = np.where(shares[:, those] >= _TOGETHER * most, np.minimum(whole, _MOST), shares[:, those])
    return found


def _of_described(shares: Floats, frames: OpenFrames, described: Mapping[int, Slot]) -> Floats:
    """What is likely of a description is likely of what it describes."""
    places, found = {id(one): n for n, one in enumerate(frames.subjects)}, shares.copy()
    for second, one in enumerate(frames.subjects):
        first = places.get(id(described.get(id(one))))
        if first is not None:
            found[:, first] = np.minimum(found[:, first] + found[:, second], _MOST)
            found[:, second] = 0
    return found


def _listed(fillings: Sequence[tuple[float, Filling]], slots: Sequence[Slot]) -> Iterator[tuple[float, Filling]]:
    """Enumerated things have the mean of their shares: the same is said of all, unless subjects are enumerated, too.

    The least of three or more is left out, since one name may be read badly (a trimmed mean). Values that are told in
    words have the best: *on Mondays and Tuesdays*.
    """
    parts = Counter(slot.enumeration for slot in slots)
    shares: dict[tuple[NamedNode, int, int], list[float]] = defaultdict(list)
    for share, item in fillings:
        shares[item.term.iri, item.subject.start, item.object.enumeration].append(share)
    for share, item in fillings:
        number = parts[item.object.enumeration]
        is_amount = item.object.value is not None and item.object.value.kind in AMOUNTS
        if number > 1 and not is_amount and parts[item.subject.enumeration] < 2:
            most = sorted(shares[item.term.iri, item.subject.start, item.object.enumeration])[-max(2, number - 1) :]
            share = sum(most) / max(2, number - 1) if item.term.is_object else most[-1]
        yield share, item


def _in_turn(fillings: Sequence[tuple[float, Filling]], slots: Sequence[Slot]) -> Iterator[tuple[float, Filling]]:
    """Of as many subjects as objects, each with its own, and what is said of one pair is said of all.

    *A and B are in C and D respectively.*
    """
    groups: dict[int, list[int]] = defaultdict(list)
    for slot in slots:
        groups[slot.enumeration].append(slot.start)
    stated: dict[NamedNode, set[int]] = defaultdict(set)  # 30 and 20 yuan are of two kinds, and so not enumerated
    shares: dict[tuple[NamedNode, int], float] = defaultdict(float)
    for share, item in fillings:
        stated[item.term.iri].add(item.object.start)
        one = item.term.iri, item.subject.enumeration
        shares[one] = max(share, shares[one])
    for share, item in fillings:
        subjects, objects = groups[item.subject.enumeration], sorted(stated[item.term.iri])
        if len(subjects) != len(objects) or item.subject.start not in subjects:
            yield share, item
        elif subjects.index(item.subject.start) == objects.index(item.object.start):
            yield shares[item.term.iri, item.subject.enumeration], item


def _agreed(given: Iterable[tuple[float, Filling]]) -> Iterator[tuple[float, Filling]]:
    """The fillings with the share that they or the same fact the other way round is stated: two looks at one fact.

    It is stated the way that is likelier.
    """
    fillings, shares = list(given), dict[tuple[str, NamedNode, str], float]()
    for share, item in fillings:
        one = item.subject.name, item.term.iri, item.object.name
        shares[one] = max(share, shares.get(one, 0.0))
    for share, item in fillings:
        inverse = item.term.iri if item.term.symmetric else item.term.inverse
        turned = shares.get((item.object.name, inverse, item.subject.name), 0.0) if inverse is not None else 0.0
        yield 1 - (1 - share) * (1 - turned) if share >= turned else share, item


def chosen(fillings: Sequence[tuple[float, Filling]]) -> list[tuple[float, Filling]]:
    """The likeliest fillings that agree with each other: an object is said once, a pair has one property."""
    said: dict[tuple[int, int], tuple[NamedNode, int]] = {}
    pairs: set[frozenset[str]] = set()
    values: set[tuple[str, NamedNode]] = set()
    found: list[tuple[float, Filling]] = []
    for share, item in sorted(fillings, key=lambda pair: -pair[0]):
        place = item.object.start, item.object.end
        pair = frozenset((item.subject.name, item.object.name))
        one = item.subject.name, item.term.iri
        told = item.term.iri, item.subject.enumeration
        is_said = said.get(place, told) != told and not item.is_nested
        if is_said or (item.term.is_object and pair in pairs) or (item.term.functional and one in values):
            continue
        said.setdefault(place, told)
        pairs.add(pair)
        values.add(one)
        found.append((share, item))
    return found


def read_frames(reading: DocumentReading, referents: Referents) -> None:
    """Adds the statements that the frames find, and as candidates those that are less sure."""
    if reading.network is None or WORD_LIST.search(reading.document.title):  # a glossary explains words
        return
    network = reading.network
    _claim_codes(reading, reading.lexicon.forms)
    claims = reading.claims.values()
    said = {(item.predicate, _object_key(item)) for item in claims}
    pairs = {_pair(item) for item in claims}
    placed = {(item.predicate, item.object.start) for item in claims if isinstance(item.object, Mention)}
    fixed = {(item.subject.name, item.predicate) for item in claims}
    formed = [reading.claims[key] for key in reading.labelled]
    labelled = {(claim.subject.name, claim.predicate) for claim in formed}
    named = (item for item in claims if isinstance(item.object, Mention))
    turned = {(_object_key(item), item.predicate, item.subject.name) for item in named}
    inverses = {term.inverse: term for term in reading.lexicon.forms.terms if term.inverse is not None}
    offered = min(network.taught.candidate, network.thresholds.candidate)
    for fillings in FrameReader(reading, referents, network).statements(offered):
        measured = set[tuple[str, NamedNode]]()
        for share, found in chosen(fillings):
            item = _turned(found, inverses)
            claim = claim_of(reading, item, share)
            if claim is None:
                continue
            if _pair(claim) in pairs if item.term.is_object else (claim.predicate, _object_key(claim)) in said:
                continue  # what was read before is another thing's, or another property of the two
            if _is_formed(item, claim, formed, reading.told) or _is_in(reading.headers, item.subject, item.object):
                continue
            about = claim.subject.name, claim.predicate
            if not item.term.symmetric and (*about, _object_key(claim)) in turned:
                continue  # the other is the subject
            thresholds = network.taught if item.term.iri.value in reading.takes else network.thresholds
            ends = (item.subject, item.object)[: 1 + item.term.is_object]
            strange = any(end.mention is None and end.type is None for end in ends)
            told = (claim.predicate, item.object.start) in placed
            least = thresholds.surer if strange or told or about in labelled else thresholds.statement
            apart = min(item.subject.start, item.object.start) < item.sentence[0]
            spreads = item.term.transitive or item.term.symmetric
            least = max(thresholds.spreads, thresholds.apart * apart) if spreads else least
            if item.object.value is not None and item.object.value.kind in AMOUNTS:
                least = _NEARLY_CERTAIN if about in measured | labelled else least  # another is rather of another thing
                measured.add(about)
            if share >= thresholds.candidate and not (item.term.functional and about in fixed):
                (reading.claim if share >= least else reading.offer)(claim)


def _turned(item: Filling, inverses: Mapping[NamedNode, OntologyProperty]) -> Filling:
    """The same said the other way round where a thing has one of that, or else the ontology defines this by it."""
    inverse = inverses.get(item.term.iri)
    if inverse is None or item.term.functional or not (inverse.functional or item.term.derived > inverse.derived):
        return item
    return Filling(inverse, item.object, item.subject, item.sentence)


def _is_formed(item: Filling, claim: Claim, formed: Sequence[Claim], told: Sequence[tuple[int, int]]) -> bool:
    """Whether a label, a table or a byline says whose it is, or the column of a table what a number is."""
    place = item.object.start
    is_said = any(one.start <= place < one.end and _same_object(one, claim) for one in formed)
    return is_said or (item.object.value is not None and any(start <= place < end for start, end in told))


def _is_in(stretches: Sequence[tuple[int, int]], *ends: Slot) -> bool:
    return any(start <= slot.start < end for start, end in stretches for slot in ends)


def _same_object(one: Claim, other: Claim) -> bool:
    return one.predicate == other.predicate and _object_key(one).split()[-1:] == _object_key(other).split()[-1:]


def _object_key(claim: Claim) -> str:
    return claim.object.name if isinstance(claim.object, Mention) else f"{claim.start} {claim.object.value}"


def _pair(claim: Claim) -> tuple[frozenset[str], int]:
    return frozenset((claim.subject.name, _object_key(claim))), claim.start


def _claim_codes(reading: DocumentReading, forms: FrameForms) -> None:
    """Says of each thing that goes by a code what its code is; short ones, as of gates, tell nothing elsewhere."""
    for start, end in reading.sentences:
        for class_, term, pattern in naming_codes(reading, forms):
            for match in pattern.finditer(reading.text, start, end):
                if len(match.group()) >= 4 and CODE.search(match.group()):
                    subject = Mention(match.group(), *match.span(), class_, match.group())
                    reading.claim(Claim(subject, term.iri, Literal(match.group()), start, end, 0.95))


def claim_of(reading: DocumentReading, item: Filling, share: float) -> Claim | None:
    """The claim that a filling makes; None where its value cannot be one of the property."""
    subject = _mention(reading, item.subject, item.term.iri.value + SUBJECT, item.term.domains)
    if item.term.is_object:
        object_ = _mention(reading, item.object, item.term.iri.value, item.term.ranges)
        return Claim(subject, item.term.iri, object_, *item.sentence, round(share, 2))
    literal = _literal(item.term, item.object, reading.text)
    return Claim(subject, item.term.iri, literal, *item.sentence, round(share, 2)) if literal is not None else None


def _literal(term: OntologyProperty, slot: Slot, text: str) -> Literal | None:
    value = slot.value
    with suppress(ValueError):
        if value is None or value.kind in (*TOLD_KINDS, "code"):
            return literal_of(slot.name, term)
        if value.kind in ("span", "clock", "year", "date", "url", "free"):
            return literal_of(value.lexical, term)
        return literal_of(value.written(text), term)
    return None


def said_value(term: OntologyProperty, slot: Slot, text: str) -> str | None:
    """The value that the slot gives the property, as it is written in the graph."""
    return literal.value if (literal := _literal(term, slot, text)) is not None else None


def _mention(reading: DocumentReading, slot: Slot, end: str, side: tuple[NamedNode, ...]) -> Mention:
    ontology, wanted = reading.lexicon.ontology, (*reading.classes.get(end, ()), *side)
    class_ = slot.type if slot.mention is None else slot.mention.type
    fits = ontology.may_be if slot.sure else ontology.is_a  # a guess yields to what the ontology declares
    if class_ is None or (wanted and not fits(class_, wanted)):
        class_ = wanted[0] if wanted else _THING
    elif slot.mention is not None:
        return slot.mention
    return Mention(reading.document.text[slot.start : slot.end], slot.start, slot.end, class_, slot.name)
