"""Statements of a sentence: every property is a frame, and what fills its two places is scored by one log-linear model.

A frame takes what it knows from the ontology: its lexical forms, domain, range, unit, pattern and examples. What may
fill a place are names, named values, values and the stretches that the network of `spans` finds likely to name
something. Of each filling a few signs are seen that are the same for every property and language: how a form stands to
the object, what the words around mean, where the subject is found, how well both fit, what else would. Without the
sentence model, whose table of words `spans` needs, nothing is read by frames. The weights
are learnt from annotated documents (``python -m benchmarks.train_sentence_frames --write``) and stand in
``learnt/sentence_frames.json`` with the threshold that they were calibrated to.
"""

from __future__ import annotations

import itertools
import json
import math
import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, lru_cache
from pathlib import Path
from typing import Final

import numpy as np
from pyoxigraph import Literal, NamedNode

from kgplatform.extraction.context import WORD_LIST, DocumentReading, Referents, TextLine
from kgplatform.extraction.names import clean_name
from kgplatform.extraction.ontology_lexicon import (
    TOLD_KINDS,
    WORD,
    FrameForms,
    Spoken,
    bounded,
    told_texts,
)
from kgplatform.extraction.spans import ClassLabels, Floats, ScoredSpan, SeenStretches, carried_spans, seen_stretches
from kgplatform.extraction.values import (
    NOT_FREE,
    NOT_THE_VALUE,
    PARTIAL,
    FoundValue,
    accepts,
    is_currency,
    literal_of,
    values_in,
)
from kgplatform.lexicon import LexiconSection
from kgplatform.ontology.schema import OntologyProperty
from kgplatform.text import has_han
from kgplatform.types import Claim, Mention

NAMES: Final = ("name", "stranger", "guess", "noun")
_LEXICON: Final = LexiconSection("extraction", "sentence_frames")
WEIGHTS: Final = Path(__file__).with_name("learnt") / "sentence_frames.json"
_MOST_SLOTS, _FAR, _RECENT, _LEAST_SHARE, _TOPIC_SHARE = 24, 12, 6, 0.15, 0.35
_ALIKE, _NEAR, _CLASS, _BESIDE = 0.6, (0.35, 0.45, 0.55, 0.65, 0.8), (0.02, 0.1, 0.3, 0.6, 0.85), 4

# What may fill a place


@dataclass(frozen=True, slots=True)
class Slot:
    """What may fill a place: ``kind`` is ``name``, ``stranger``, ``guess``, ``noun``, ``named`` or ``value``."""

    start: int
    end: int
    name: str
    kind: str
    type: NamedNode | None = None
    value: FoundValue | None = None
    mention: Mention | None = None
    head: int = -1  # where the enumeration begins that it is part of
    sure: bool = True  # False: its class is a guess from how the text uses it
    share: float = -1.0  # how likely it names something; -1: nobody asked
    classes: Floats | None = field(default=None, compare=False)  # and each class of the ontology


class SlotFinder:
    """Finds what may fill places in the sentences of one document."""

    def __init__(self, reading: DocumentReading, referents: Referents, forms: FrameForms, labels: ClassLabels) -> None:
        self._labels = labels
        self._reading, self._referents, self._forms = reading, referents, forms
        ontology = reading.lexicon.ontology
        self._named = _named_pattern(tuple(reading.lexicon.values))
        self._text = reading.text
        self._spans = carried_spans()
        self.ontology = ontology

    def slots(self, start: int, end: int, stretches: SeenStretches | None) -> list[Slot]:
        """The slots of the sentence, in order, none inside another."""
        spans: list[ScoredSpan] = []
        if self._spans is not None and stretches is not None:
            spans = self._spans.spans(stretches, self._labels.rows, least=_LEAST_SHARE)
        seen = {(span.start, span.end): span for span in spans}
        found = [self._asked(slot, seen.get((slot.start, slot.end))) for slot in self._sure(start, end)]
        for span in sorted(spans, key=lambda span: -span.share):
            if span.share < _LEAST_SHARE or len(found) >= _MOST_SLOTS:
                break
            if not any(span.start < slot.end and slot.start < span.end for slot in found):
                name = " ".join(self._text[span.start : span.end].split())
                if len(name) > 1 and name.casefold() not in _NO_NOUNS:
                    kind = "stranger" if span.is_name else "noun"
                    found.append(self._asked(Slot(span.start, span.end, name, kind), span))
        found.sort(key=lambda slot: slot.start)
        return self._enumerated(found[:_MOST_SLOTS])

    def _asked(self, slot: Slot, span: ScoredSpan | None) -> Slot:
        """The slot with how likely it names something, and with its likeliest class where none is known."""
        if span is None:
            return slot
        guessed = None
        if slot.type is None and slot.kind in ("stranger", "noun") and span.classes is not None:
            guessed = self._labels.likely(span.classes)
        if guessed is None:
            return replace(slot, share=span.share, classes=span.classes)
        return replace(slot, share=span.share, classes=span.classes, kind="guess", type=guessed, sure=False)

    def _sure(self, start: int, end: int) -> Iterator[Slot]:
        """Names, named values and values; of what overlaps, what comes first in the order of the ways to find them."""
        taken: list[Slot] = []
        mentions = [item for item in self._referents.in_sentence(start, end) if item.end <= end]
        strangers = self._strangers(start, end)
        ways = (
            self._coded(start, end, mentions),
            self._told(start, end),
            self._mentioned(mentions),
            self._listed(start, end, strangers),
            self._values(start, end),
            strangers,
        )
        for slot in itertools.chain.from_iterable(ways):
            address = slot.value is not None and slot.value.kind == "address"  # it names places too
            if address or not any(slot.start < other.end and other.start < slot.end for other in taken):
                if not address:
                    taken.append(slot)
                yield slot

    def _coded(self, start: int, end: int, mentions: Sequence[Mention]) -> Iterator[Slot]:
        """Names with a number after the examples of a class, and codes."""
        for class_, shape in self._forms.shapes:
            for match in shape.finditer(self._text, start, end):
                yield Slot(*match.span(), match.group(), "name", class_)
        named = {item.start: item.name for item in mentions}
        for class_, _, pattern in naming_codes(self._reading, self._forms):
            for match in pattern.finditer(self._text, start, end):
                if named.get(match.start()) != match.group() and CODE.search(match.group()):
                    told = self._class_before(match.start(), pattern) or class_
                    yield Slot(*match.span(), match.group(), "name", told)

    def _told(self, start: int, end: int) -> Iterator[Slot]:
        """Titles in their marks, and texts such as weekdays."""
        for match in _TITLED.finditer(self._text, start, end):
            yield Slot(*match.span(), (match[1] or match[2] or match[3]).strip(" ,."), "stranger")
        for first, last, kind in told_texts(self._text, start, end):
            written = self._text[first:last]
            yield Slot(first, last, written, "value", value=FoundValue(kind, first, last, written))

    def _mentioned(self, mentions: Sequence[Mention]) -> Iterator[Slot]:
        for item in mentions:
            known = self._reading.finder.known.get(item.name) is not None
            sure = known or self._forms.evident(self._reading.lexicon, item.name)
            yield Slot(item.start, item.end, item.name, "name", item.type, mention=item, sure=sure)

    def _listed(self, start: int, end: int, strangers: Sequence[Slot]) -> Iterator[Slot]:
        """The named values, but those that are a part of a name: May of May Fourth Square."""
        values, language = self._reading.lexicon.values, self._reading.document.language
        for match in self._named.finditer(self._text, start, end) if self._named is not None else ():
            word = match.group().casefold()
            iri = values.get(word) or values.get(word.removesuffix("s"))
            inside = any(
                item.start <= match.start() and match.end() <= item.end and item.end - item.start > len(word)
                for item in strangers
            )
            if iri is not None and not inside:
                type_ = self.ontology.individuals[iri].types[0]
                yield Slot(*match.span(), self.ontology.label(iri, language), "named", type_)

    def _strangers(self, start: int, end: int) -> list[Slot]:
        reading = self._reading
        low = bisect_left(reading.strangers, start, key=lambda span: span.start)
        high = bisect_left(reading.strangers, end, key=lambda span: span.start)
        named = ((span, clean_name(self._text[span.start : span.end])) for span in reading.strangers[low:high])
        return [Slot(span.start, span.end, name, "stranger") for span, name in named if name and span.end <= end]

    def _class_before(self, position: int, pattern: re.Pattern[str]) -> NamedNode | None:
        """The class that the word before a code names, of those that go by such codes: "stand A31"."""
        lead = self._text[max(0, position - 16) : position].casefold().rstrip()
        lexicon = self._reading.lexicon
        words = {**lexicon.class_words, **lexicon.han_suffixes}
        fitting = {class_ for class_, _, other in self._forms.codes if other.pattern == pattern.pattern}
        named = [word for word in words if words[word] in fitting and lead.endswith(word)]
        return words[max(named, key=len)] if named else None

    def _values(self, start: int, end: int) -> Iterator[Slot]:
        found = [value for value in values_in(self._text, start, end) if value.kind == "date"]
        for term in self._forms.terms:
            if term.pattern and not term.is_object and re.search(r"\\d|0-9", term.pattern) and ":" not in term.pattern:
                for match in bounded(term.pattern).finditer(self._text, start, end):
                    if re.search(r"\d", match.group()) and re.search(r"[A-Za-z./]|\d.{5}", match.group()):
                        found.append(FoundValue("code", *match.span(), match.group()))
        found += values_in(self._text, start, end)
        found += (FoundValue("free", *match.span(), "0") for match in _FREE.finditer(self._text, start, end))
        for value in found:
            yield Slot(value.start, value.end, value.lexical, "value", value=value)

    def _enumerated(self, slots: list[Slot]) -> list[Slot]:
        found: list[Slot] = []
        for slot in slots:
            before = found[-1] if found else None
            if before is not None and _alike(before, slot) and _LIST.fullmatch(self._text[before.end : slot.start]):
                slot = replace(slot, head=before.head if before.head >= 0 else before.start)
            found.append(slot)
        return found


def naming_codes(
    reading: DocumentReading, forms: FrameForms
) -> list[tuple[NamedNode, OntologyProperty, re.Pattern[str]]]:
    """The codes that name things here.

    Where a workspace has things of a class, say flights of many days, only the key of the class names one of them.
    """
    classes = reading.lexicon.ontology.classes
    return [
        (class_, term, pattern)
        for class_, term, pattern in forms.codes
        if term.iri in classes[class_].key or class_ not in reading.finder.known.classes
    ]


CODE: Final = re.compile(r"(?=.*\d)(?=.*[A-Z])|.*-")
_TITLED: Final = re.compile(r"《([^》\n]{1,60})》|“([A-Z][^”\n]{2,60})”|(?<![\w])\"([A-Z][^\"\n]{2,60})\"(?!\w)")
_LIST: Final = _LEXICON.pattern("list")
_FREE: Final = _LEXICON.pattern("free", re.IGNORECASE)
_NO_NOUN_ENDING: Final = re.compile(rf"(?:{_LEXICON.text('no_noun_ending')})$", re.IGNORECASE)
_NO_NOUNS: Final = _LEXICON.words("no_nouns")
_OPENINGS: Final = {
    "generic": _LEXICON.pattern("generic", re.IGNORECASE),
    "anaphor": _LEXICON.pattern("anaphor", re.IGNORECASE),
}
_MARKS: Final = re.compile(r"[\s*#>•·\-–—\d.)）、“\"(（]*")
_PERSON: Final = _LEXICON.pattern("person")
_NEGATION: Final = _LEXICON.pattern("negation", re.IGNORECASE)
_COSTS: Final = {"strong": 0, "weak": 2, "part": 3, "lead": 3}
_OF: Final = re.compile(r"\s?(?:的|['’]s)\s?|")
_BREAK: Final = re.compile(r"[.;。；!！?？\n](?=\s|$|[\u3400-\u9fff])")
_BRACKET: Final = re.compile(r"\s?[（(]")
_COMMA: Final = re.compile(r"[,，、()（）]")


def _alike(first: Slot, second: Slot) -> bool:
    if "value" in (first.kind, second.kind):
        return first.value is not None and second.value is not None and first.value.kind == second.value.kind
    return (first.kind == "named") == (second.kind == "named")


@lru_cache(maxsize=64)
def _named_pattern(words: tuple[str, ...]) -> re.Pattern[str] | None:
    listed = sorted((word for word in words if len(word) > 1), key=len, reverse=True)
    parts = [re.escape(word) if has_han(word) else rf"\b{re.escape(word)}s?\b" for word in listed]
    return re.compile("|".join(parts), re.IGNORECASE) if parts else None


# Filling


@dataclass(frozen=True, slots=True)
class Filling:
    """A frame with its places filled, and the signs that are seen of it."""

    term: OntologyProperty
    subject: Slot
    object: Slot
    sentence: tuple[int, int]
    signs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FormEvidence:
    """How a form of a property stands to an object: the nearer, the smaller the cost."""

    term: OntologyProperty
    cost: float
    signs: tuple[str, ...]
    place: tuple[int, int]


class FrameReader:
    """Fills the frames of one document."""

    def __init__(self, reading: DocumentReading, referents: Referents, forms: FrameForms, labels: ClassLabels) -> None:
        self._reading, self._forms = reading, forms
        self._text, self._ontology = reading.text, reading.lexicon.ontology
        finder = SlotFinder(reading, referents, forms, labels)
        self._labels, self._words = labels, reading.lexicon.term_words
        self._sentences: list[tuple[int, int, list[Spoken], list[Slot]]] = []
        self._near: dict[int, tuple[list[tuple[int, int]], Floats]] = {}
        for start, end in reading.sentences:
            spoken = forms.spoken(self._text, start, end)
            seen = seen_stretches(self._text, start, end, reading.finder.names.tagged) if carried_spans() else None
            if seen is not None:
                places = [(start + word.start, start + word.end) for word in seen.words]
                self._near[start] = places, self._words.near(seen)
            self._sentences.append((start, end, spoken, finder.slots(start, end, seen)))
        self._headings = [section.heading for section in reading.sections if section.heading is not None]
        self._main = self._main_slot()
        self._fitting: dict[tuple[NamedNode, ...], set[str]] = {}
        self._read: dict[int, list[tuple[Claim, str]]] = defaultdict(list)
        for key, claim in reading.claims.items():
            if way := reading.ways.get(key):
                self._read[claim.start].append((claim, way))

    def _main_slot(self) -> Slot | None:
        """What the document is about: its main entity, else the longest name of the text that its title has."""
        main, title = self._reading.main, self._reading.document.title
        if main is not None:
            return Slot(main.start, main.end, main.name, "name", main.type, mention=main)
        if len(title) > 60:
            return None
        named = [
            slot
            for _, _, _, slots in self._sentences
            for slot in slots
            if slot.kind in ("name", "stranger", "guess") and slot.name in title and slot.name != title
        ]
        return max(named, key=lambda slot: (len(slot.name), -slot.start), default=None)

    def fillings(self) -> Iterator[list[Filling]]:
        """The fillings of each sentence that are worth a score."""
        for number, (start, end, spoken, slots) in enumerate(self._sentences):
            heading = self._heading(start)
            under = self._reading.label_cues(heading.text) if heading is not None and heading.start < start else ()
            outside = self._outside(number, heading)
            found: list[Filling] = []
            for slot in slots:
                told = self._evidence(slot, spoken, slots)
                for cue in under:
                    if cue.term.iri not in told and self._fits_object(cue.term, slot):
                        told[cue.term.iri] = FormEvidence(cue.term, 1, ("heading",), (0, 0))
                found += self._filled(slot, told, slots, outside, (start, end))
            yield found

    def _heading(self, position: int) -> TextLine | None:
        index = bisect_right([line.start for line in self._headings], position) - 1
        return self._headings[index] if index >= 0 else None

    def _outside(self, number: int, heading: TextLine | None) -> list[tuple[tuple[str, ...], Slot]]:
        """What was spoken of before the sentence, the latest first, with how it was; the main entity is among it."""
        start = self._sentences[number][0]
        above = heading.start if heading is not None and heading.start < start else -1
        found: dict[str, tuple[tuple[str, ...], Slot]] = {}
        for back in range(1, number + 1):
            begins, ends, _, slots = self._sentences[number - back]
            in_heading = begins <= above < ends
            for slot in reversed([slot for slot in slots if self._is_topic(slot)]):
                if slot.name in found or len(found) == _RECENT:
                    continue
                signs = [f"recent {len(found)}", f"back {min(back, 4)}"]
                signs += ["in heading"] * in_heading
                signs += ["opened its sentence"] * (slot.start - begins <= 4)
                signs += ["in title"] * (slot.name in self._reading.document.title)
                found[slot.name] = (tuple(signs), slot)
        if self._main is not None:
            main = found.pop(self._main.name, ((f"recent {_RECENT}", "back 5"), self._main))
            found[self._main.name] = ((*main[0], "main"), main[1])
        return list(found.values())

    def _is_topic(self, slot: Slot) -> bool:
        """Whether later sentences may speak of it: a name, and not what a label gives."""
        lead = self._text[max(0, slot.start - 3) : slot.start].rstrip(" *")
        is_name = slot.share >= _TOPIC_SHARE or (slot.kind in ("name", "stranger") and slot.share < 0)
        return is_name and slot.kind not in ("value", "named") and lead[-1:] not in (":", "：")

    def _sentence_slots(self, position: int) -> list[Slot]:
        found = [s for s in self._sentences if s[0] <= position < s[1]]
        return [slot for slot in (found[0][3] if found else []) if self._is_topic(slot)]

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
                found[item.term.iri] = FormEvidence(item.term, *seen, (item.start, item.end))
        return found

    def _stands(self, item: Spoken, slot: Slot, slots: Sequence[Slot]) -> tuple[float, tuple[str, ...]] | None:
        text = self._text
        if item.start < slot.end and slot.start < item.end:
            inside = slot.kind == "value" and item.start >= slot.start and item.end <= slot.end
            return (0.5, (f"{item.strength} inside",)) if inside else None
        begins = slot.head if slot.head >= 0 else slot.start
        if item.inner >= 0:
            inside = item.end <= begins and slot.end <= item.inner
            away = _away(text[item.end : begins]) + _away(text[slot.end : item.inner]) if inside else 99
            return (away, (f"around {_bucket(away)}",)) if inside and away <= 6 else None
        before = item.end <= begins
        if item.strength in ("lead", "weak") and not before and not has_han(text[item.start : item.end]):
            return None
        low, high = (item.end, begins) if before else (slot.end, item.start)
        if high < low:
            return None
        gap = text[low:high]
        away = _away(gap)
        if away > _FAR or _BREAK.search(gap):
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
        if term.is_object:
            if slot.kind == "value":
                return False
            return slot.type is None or not slot.sure or self._forms.fit(slot.type, term.ranges) is not None
        value = slot.value
        if value is None and slot.kind in ("stranger", "guess"):
            if term.pattern:
                return bounded(term.pattern).fullmatch(slot.name) is not None
            return term.iri in self._forms.written
        if value is None:
            return slot.kind == "noun" and term.iri in self._forms.phrases
        if value.kind == "free":
            return is_currency(term.unit)
        if value.kind == "code":
            return bool(term.pattern) and bounded(term.pattern or "").fullmatch(value.lexical) is not None
        if value.kind in TOLD_KINDS:
            return value.kind in self._forms.told[term.iri]
        return accepts(term, value)

    def _fit(self, slot: Slot, wanted: tuple[NamedNode, ...]) -> str | None:
        if slot.kind == "noun":
            return "noun" if self._forms.is_common(wanted) else "bare"
        if slot.type is None:
            return "unknown"
        return self._forms.fit(slot.type, wanted) or (None if slot.sure else "unknown")

    def _filled(
        self,
        slot: Slot,
        told: Mapping[NamedNode, FormEvidence],
        slots: Sequence[Slot],
        outside: Sequence[tuple[tuple[str, ...], Slot]],
        sentence: tuple[int, int],
    ) -> Iterator[Filling]:
        if self._is_denied(slot, sentence):
            return
        near = self._nearness(slot, sentence[0])
        fitting = [term for term in self._forms.terms if self._fits_object(term, slot)]
        terms = [term for term in self._forms.terms if term.iri in told or term in fitting] if told else fitting
        options: dict[tuple[object, ...], int] = {}
        nearest = max(terms, key=lambda term: near[self._words.numbers[term.iri]], default=None)
        for term in terms:
            alike = float(near[self._words.numbers[term.iri]])
            evidence = told.get(term.iri)
            if evidence is None and slot.kind in ("noun", "stranger") and alike < _ALIKE:
                continue
            for where, subject, fit in self._subjects(term, slot, slots, outside):
                said = self._as_said(evidence, subject, fit, slot, alike, fitting, options)
                if said is None or (subject.name == slot.name and slot.kind != "value"):
                    continue
                if self._is_other_name(subject, slot):
                    continue
                if sentence[0] <= slot.end <= subject.start and _NEGATION.search(self._text, slot.end, subject.start):
                    continue
                signs = [*where, *said, f"near {_edges(alike, _NEAR)}", *["nearest"] * (term is nearest)]
                if not sentence[0] <= subject.start < sentence[1]:
                    signs += self._elsewhere(term, subject, slot, slots, sentence)
                signs += self._of_the_ends(term, subject, fit, slot)
                signs.append(f"rank {min(self._better(term, subject, told), 3)}")
                signs += self._as_read(term, subject, slot, sentence)
                way = _way(evidence)
                signs += [f"{way} & {sign}" for sign in (where[0], where[-1], fit, _kind(slot))]
                yield Filling(term, subject, slot, sentence, tuple(dict.fromkeys(signs)))

    def _is_other_name(self, subject: Slot, slot: Slot) -> bool:
        """Whether one is another name of the other: West Lake (西湖)."""
        first, last = sorted((subject, slot), key=lambda one: one.start)
        beside = slot.kind != "value" and _BRACKET.fullmatch(self._text[first.end : last.start])
        return bool(beside) or slot.name in self._reading.finder.names.aliases.get(subject.name, ())

    def _as_said(
        self,
        evidence: FormEvidence | None,
        subject: Slot,
        fit: str,
        slot: Slot,
        alike: float,
        fitting: Sequence[OntologyProperty],
        known: dict[tuple[object, ...], int],
    ) -> list[str] | None:
        """How the property is said; without a form of it, None where the two could be of many properties."""
        if evidence is not None:
            low, high = evidence.place
            between = low > 0 and min(high, slot.end) <= subject.start < max(low, slot.start)
            return [*evidence.signs, *["subject between"] * between]
        beside = fit != "noun" or _away(self._text[subject.end : slot.start]) <= 2
        key = (fit, subject.kind, subject.type, subject.sure)
        options = known[key] = known[key] if key in known else self._options(subject, fit, fitting)
        told_apart = options <= 2 and beside and (fit != "noun" or subject.start <= slot.start)
        if not told_apart and alike < _ALIKE:
            return None
        return [f"no form {min(options, 3)}", f"no form {_kind(slot)}", f"no form {fit}"]

    def _of_the_ends(self, term: OntologyProperty, subject: Slot, fit: str, slot: Slot) -> Iterator[str]:
        """How subject and object fit, by their classes and as names."""
        yield from (f"subject {fit}", f"object {_kind(slot)}")
        if subject.classes is not None:
            yield f"subject class {_edges(self._labels.share(subject.classes, term.domains), _CLASS)}"
        if slot.classes is not None and term.is_object:
            yield f"object class {_edges(self._labels.share(slot.classes, term.ranges), _CLASS)}"
        yield from (f"object span {_share_bucket(slot)}", f"subject span {_share_bucket(subject)}")
        if slot.kind == "noun" and _NO_NOUN_ENDING.search(slot.name):
            yield "no noun ending"
        if term.is_object and slot.kind in NAMES:
            yield f"object {self._fit(slot, term.ranges)}"

    def _better(self, term: OntologyProperty, subject: Slot, told: Mapping[NamedNode, FormEvidence]) -> int:
        """How many other properties the subject can have are said nearer to the object."""
        cost = told[term.iri].cost if term.iri in told else 9
        return sum(
            other.cost < cost and self._fit(subject, other.term.domains) is not None
            for iri, other in told.items()
            if iri != term.iri and (term.inverse is None or iri != term.inverse)
        )

    def _nearness(self, slot: Slot, start: int) -> Floats:
        """How near the words beside a slot are in meaning to each property's."""
        nothing = np.zeros(len(self._words.numbers), np.float32)
        places, alike = self._near.get(start, ([], nothing))
        before = [n for n, (_, end) in enumerate(places) if end <= slot.start][-_BESIDE:]
        behind = [n for n, (begin, _) in enumerate(places) if begin >= slot.end][:_BESIDE]
        inside = [n for n, (begin, end) in enumerate(places) if slot.start <= begin and end <= slot.end]
        words = before + behind + (inside if slot.kind == "value" else [])
        return np.asarray(alike[words].max(axis=0), np.float32) if words else nothing

    def _as_read(self, term: OntologyProperty, subject: Slot, slot: Slot, sentence: tuple[int, int]) -> Iterator[str]:
        """What the ways of reading by phrases have made of the same object: this, or something else."""
        found = {
            how if how != "same" else f"read {way}"
            for claim, way in self._read.get(sentence[0], ())
            if (how := self._compared(claim, term, subject, slot))
        }
        same = sorted(sign for sign in found if sign.startswith("read "))
        yield from same or (f"other read {how}" for how in ("inverse", "pair", "subject", "object") if how in found)

    def _compared(self, claim: Claim, term: OntologyProperty, subject: Slot, slot: Slot) -> str:
        """How what was read stands to a filling: the ``same``, of one ``pair``, ``subject`` or ``object``, or not."""
        mine = claim.subject.name == subject.name
        if isinstance(claim.object, Mention):
            if claim.subject.name == slot.name and claim.object.name == subject.name:
                return "inverse" if claim.predicate == term.inverse else "pair"
            if claim.object.name != slot.name:
                return ""
        elif (term.is_object and slot.value is None) or said_value(term, slot, self._text) != claim.object.value:
            return ""
        if mine:
            return "same" if claim.predicate == term.iri else "pair"
        return "subject" if claim.predicate == term.iri else "object"

    def _elsewhere(
        self, term: OntologyProperty, subject: Slot, slot: Slot, slots: Sequence[Slot], sentence: tuple[int, int]
    ) -> Iterator[str]:
        """How the sentence goes with a subject from outside it: how it opens, and what else could be meant."""
        lead = _MARKS.match(self._text, *sentence)
        start = lead.end() if lead is not None else sentence[0]
        opening = next((name for name, pattern in _OPENINGS.items() if pattern.match(self._text, start)), "")
        first = next((other for other in slots if other.start <= start + 4), None)
        if not opening and first is not None and first is not slot and first.kind in ("name", "stranger", "guess"):
            opening = "name"
        yield f"opens {opening or 'plain'}"
        if _PERSON.search(self._text, sentence[0], slot.start):
            yield "person"
        yield f"rivals {min(3, len(self._rivals(term.domains) - {subject.name}))}"
        heading, above = self._heading(slot.start), self._heading(subject.start)
        if heading is not None and (above is None or above.start != heading.start) and subject.start != heading.start:
            yield "section before"

    def _rivals(self, wanted: tuple[NamedNode, ...]) -> set[str]:
        """The names of the document whose class fits what is wanted."""
        if wanted not in self._fitting:
            named = (slot for _, _, _, slots in self._sentences for slot in slots if slot.kind == "name")
            self._fitting[wanted] = {slot.name for slot in named if self._fit(slot, wanted) == "fits"}
        return self._fitting[wanted]

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

    def _is_elsewhere(self, subject: Slot, slot: Slot, slots: Sequence[Slot]) -> bool:
        """Whether a later Chinese clause has a noun of its own in front: 望津里 in "乌镇门票150元，望津里门票110元"."""
        clause = self._clause(subject.end, slot.start)
        if clause <= subject.end or not has_han(self._text[clause : slot.start]):
            return False
        first = next((other for other in slots if other.start >= clause and other is not slot), None)
        opens = first is not None and first.start <= clause + 1 and first.end <= slot.start
        named = first is not None and first.name in self._reading.lexicon.han_suffixes
        return opens and not named and first is not None and first.kind in NAMES

    def _clause(self, start: int, position: int) -> int:
        return max(start, *(self._text.rfind(sign, start, position) + 1 for sign in ",，;；"))

    def _options(self, subject: Slot, fit: str, fitting: Sequence[OntologyProperty]) -> int:
        """How many of the properties the subject could have, a property and its inverse counted once."""
        found = set[str]()
        for term in fitting:
            if self._fit(subject, term.domains) in (fit, "fits"):
                found.add(min(term.iri.value, term.inverse.value if term.inverse is not None else term.iri.value))
        return len(found)

    def _subjects(
        self, term: OntologyProperty, slot: Slot, slots: Sequence[Slot], outside: Sequence[tuple[tuple[str, ...], Slot]]
    ) -> Iterator[tuple[tuple[str, ...], Slot, str]]:
        seen: set[str] = set()
        named = (other for other in slots if other is not slot and other.kind in NAMES)
        fitting = [(other, fit) for other in named if (fit := self._fit(other, term.domains))]
        before = [pair for pair in fitting if pair[0].start < slot.start]
        sure = bool(before) and any(fit == "fits" for _, fit in before)
        place = 0
        for other, fit in reversed(before):
            if other.name in seen:
                continue
            if (other.head >= 0 and other.head == slot.head) or other.start == slot.head:
                seen.add(other.name)  # what is listed with it is beside it
                continue
            if slot.kind == "value" and self._is_elsewhere(other, slot, slots):
                continue
            seen.add(other.name)
            signs = [f"subject {min(place, 2)} back"]
            place += other.kind != "noun"
            if other.start - self._sentence_start(slot) <= 3:
                signs.append("opens")
            if _COMMA.search(self._text[other.end : slot.start]):
                signs.append("subject comma")
            if _OF.fullmatch(self._text[other.end : slot.start]):
                signs.append("subject of")
            yield tuple(signs), other, fit
        yield from self._subjects_behind(
            slot, [pair for pair in fitting if pair[0].start > slot.start], seen, sure=sure
        )
        for where, other in outside:
            fit = self._fit(other, term.domains)
            if fit is not None and other.name not in seen:
                seen.add(other.name)
                yield (*where, *(("outside beside",) if sure else ("outside alone",))), other, fit

    @staticmethod
    def _subjects_behind(
        slot: Slot, fitting: Sequence[tuple[Slot, str]], seen: set[str], *, sure: bool
    ) -> Iterator[tuple[tuple[str, ...], Slot, str]]:
        for place, (other, fit) in enumerate(fitting[:2]):
            if other.name not in seen and (slot.head >= 0 or other.head != slot.start):
                seen.add(other.name)
                yield (f"subject {place} on", *(("subject behind fitting",) if sure else ())), other, fit

    def _sentence_start(self, slot: Slot) -> int:
        number = bisect_right(self._starts, slot.start) - 1
        return self._starts[number]

    @cached_property
    def _starts(self) -> list[int]:
        return [start for start, _, _, _ in self._sentences]


def _kind(slot: Slot) -> str:
    return slot.value.kind if slot.value is not None else slot.kind


def _way(evidence: FormEvidence | None) -> str:
    """How the property is said, in a word."""
    if evidence is None:
        return "none"
    return "label" if evidence.signs[0].endswith("label") else evidence.signs[0].partition(" ")[0]


def _edges(value: float, edges: Sequence[float]) -> int:
    return sum(value >= edge for edge in edges)


def _share_bucket(slot: Slot) -> str:
    return "unasked" if slot.share < 0 else str(_edges(slot.share, (0.1, 0.25, 0.5, 0.75)))


def _away(gap: str) -> int:
    """How many words a stretch has, two Chinese characters being one."""
    words = WORD.findall(gap)
    han = sum(has_han(word) for word in words)
    return len(words) - han + (han + 1) // 2


def _bucket(away: int) -> str:
    return "0" if not away else "1" if away == 1 else "2-3" if away <= 3 else "4-6" if away <= 6 else "7"


# Scores


@dataclass(frozen=True)
class FrameWeights:
    """The weights of signs and the share from which on a filling is a statement."""

    weights: Mapping[str, float]
    offset: float
    threshold: float
    candidate: float = 0.2

    def shares(self, fillings: Sequence[Filling]) -> list[float]:
        """How likely each is, of the fillings with one object: they and that none is true add up to 1."""
        powers = [math.exp(self.offset + sum(self.weights.get(sign, 0.0) for sign in item.signs)) for item in fillings]
        return [power / (1 + sum(powers)) for power in powers]


@cache
def carried_weights() -> FrameWeights | None:
    """The weights beside this file."""
    if not WEIGHTS.is_file():
        return None
    told = json.loads(WEIGHTS.read_text(encoding="utf-8"))
    return FrameWeights(told["weights"], told["offset"], told["threshold"], told["candidate"])


def chosen(fillings: Sequence[Filling], weights: FrameWeights) -> list[tuple[float, Filling]]:
    """The likeliest fillings that agree with each other: an object is said once, a pair has one property."""
    by_object: dict[tuple[int, int], list[Filling]] = defaultdict(list)
    for item in fillings:
        by_object[item.object.start, item.object.end].append(item)
    scored = [pair for group in by_object.values() for pair in zip(weights.shares(group), group, strict=True)]
    ranked = sorted(scored, key=lambda pair: -pair[0])
    said: set[tuple[int, int]] = set()
    pairs: set[frozenset[str]] = set()
    values: set[tuple[str, NamedNode]] = set()
    found: list[tuple[float, Filling]] = []
    for share, item in ranked:
        if share < weights.candidate:
            break
        place = item.object.start, item.object.end
        pair = frozenset((item.subject.name, item.object.name))
        one = item.subject.name, item.term.iri
        if place in said or (item.term.is_object and pair in pairs) or (item.term.functional and one in values):
            continue
        said.add(place)
        pairs.add(pair)
        values.add(one)
        found.append((share, item))
    return found


def read_frames(reading: DocumentReading, referents: Referents) -> None:
    """Adds the statements that the frames find, and as candidates those that are less sure."""
    weights = carried_weights() if carried_spans() is not None else None
    if weights is None or WORD_LIST.search(reading.document.title):  # a glossary explains words
        return
    forms = reading.lexicon.forms
    labels = reading.lexicon.class_labels
    _claim_codes(reading, forms)
    said = {(item.predicate, _object_key(item)) for item in reading.claims.values()}
    pairs = {_pair(item) for item in reading.claims.values()}
    fixed = {(item.subject.name, item.predicate) for item in reading.claims.values()}
    formed = [claim for key, claim in reading.claims.items() if not reading.ways.get(key)]
    for fillings in FrameReader(reading, referents, forms, labels).fillings():
        for share, item in chosen(fillings, weights):
            claim = claim_of(reading, item, share)
            if claim is None:
                continue
            if _pair(claim) in pairs if item.term.is_object else (claim.predicate, _object_key(claim)) in said:
                continue  # what was read before is another thing's, or another property of the two
            if any(one.start <= item.object.start < one.end and _same_object(one, claim) for one in formed):
                continue  # a label, a table or a byline says whose it is
            if not (item.term.functional and (claim.subject.name, claim.predicate) in fixed):
                (reading.claim if share >= weights.threshold else reading.offer)(claim)


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
    subject = _mention(reading, item.subject, item.term.domains)
    if item.term.is_object:
        object_ = _mention(reading, item.object, item.term.ranges)
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
    literal = _literal(term, slot, text)
    return literal.value if literal is not None else None


def _mention(reading: DocumentReading, slot: Slot, wanted: tuple[NamedNode, ...]) -> Mention:
    ontology = reading.lexicon.ontology
    if slot.mention is not None and ontology.is_a(slot.mention.type, wanted):
        return slot.mention
    type_ = slot.type if slot.type is not None and ontology.is_a(slot.type, wanted) else wanted[0]
    return Mention(reading.document.text[slot.start : slot.end], slot.start, slot.end, type_, slot.name)
