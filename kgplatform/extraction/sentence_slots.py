"""What may fill a place of a frame: names, named values, values, and the stretches that are likely to name something.

Of what overlaps the likeliest is taken; `sentence_frames` states something of it.
"""

from __future__ import annotations

import itertools
import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

from pyoxigraph import NamedNode

from kgplatform.extraction.context import DocumentReading, Referents
from kgplatform.extraction.names import clean_name
from kgplatform.extraction.ontology_lexicon import FUNCTION_WORDS, FrameForms, bounded, told_texts
from kgplatform.extraction.sentence_network import LEAST_SHARE, ScoredSpan
from kgplatform.extraction.values import FoundValue, values_in
from kgplatform.lexicon import LexiconSection
from kgplatform.ontology.schema import OntologyProperty
from kgplatform.text import has_han
from kgplatform.types import Mention

_LEXICON: Final = LexiconSection("extraction", "sentence_frames")
AMOUNTS: Final = frozenset(("money", "number", "quantity", "date", "year", "clock", "span"))
"""Values that are named as a whole."""
_MOST_SLOTS, MARK = 24, 24
_KNOWN, _CODED, _VALUED, _TYPED, _NAMED, _STRANGE = 0.95, 0.8, 0.6, 0.5, 0.3, 0.2
"""How likely what is found in another way than by the network is right, where a stretch crosses it."""

CODE: Final = re.compile(r"(?=.*\d)(?=.*[A-Z])|.*-")
_TITLED: Final = re.compile(r"《([^》\n]{1,60})》|“([A-Z][^”\n]{2,60})”|(?<![\w])\"([A-Z][^\"\n]{2,60})\"(?!\w)")
_LIST: Final = _LEXICON.pattern("list")
BREAK: Final = re.compile(r"[.;。；!！?？\n](?=\s|$|[\u3400-\u9fff])")
_LIST_END: Final = re.compile(f"(?:{_LIST.pattern})$")
_FREE: Final = _LEXICON.pattern("free", re.IGNORECASE)
_NO_NOUNS: Final = _LEXICON.words("no_nouns")


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
    is_common: bool = False  # it is a common noun, whatever its class

    @property
    def enumeration(self) -> int:
        """Where the enumeration begins that it is part of; where it begins itself if it is part of none."""
        return self.head if self.head >= 0 else self.start


class SlotFinder:
    """Finds what may fill places in the sentences of one document."""

    def __init__(self, reading: DocumentReading, referents: Referents) -> None:
        self._labels, self._forms = reading.lexicon.class_labels, reading.lexicon.forms
        self._reading, self._referents = reading, referents
        self._named = _named_pattern(tuple(reading.lexicon.values))
        self._text = reading.text
        self.ontology = reading.lexicon.ontology

    def slots(self, start: int, end: int, spans: Sequence[ScoredSpan]) -> list[Slot]:
        """The slots of the sentence with those stretches, in order; of what overlaps the likeliest.

        An address names places too, so it stands beside what is in it.
        """
        seen = {(span.start, span.end): span for span in spans}
        sure = list(self._sure(start, end))
        amounts = [slot for slot in sure if slot.value is not None and slot.value.kind in AMOUNTS]
        inside = {place: slot for place in seen for slot in amounts if slot.start <= place[0] and place[1] <= slot.end}
        for place, slot in inside.items():  # of 94 metres it may be the number that is likely to be told
            whole = seen.get((slot.start, slot.end))
            if whole is None or whole.share < seen[place].share:
                seen[slot.start, slot.end] = replace(seen[place], start=slot.start, end=slot.end)
        ways = [self._asked(slot, seen.get((slot.start, slot.end))) for slot in sure]
        taken = {(slot.start, slot.end) for slot in ways} | inside.keys()
        rivals = [(self._weight(slot), slot) for slot in ways]
        for span in spans:
            if span.share >= LEAST_SHARE and (span.start, span.end) not in taken:
                name = " ".join(self._text[span.start : span.end].split())
                if len(name) > 1 and name.casefold() not in _NO_NOUNS and not self._stands_for_a_name(name):
                    kind = "stranger" if span.is_name else "noun"
                    rivals.append((span.share, self._asked(Slot(span.start, span.end, name, kind), span)))
        found: list[Slot] = []
        for _, slot in sorted(rivals, key=lambda one: -self._set_apart(one[0], one[1], (start, end))):
            if len(found) == _MOST_SLOTS:
                break
            among = () if _is_address(slot) else (one for one in found if not _is_address(one))
            if not any(slot.start < one.end and one.start < slot.end for one in among):
                found.append(slot)
        return self._enumerated(sorted(found, key=lambda slot: slot.start))

    def _set_apart(self, weight: float, slot: Slot, sentence: tuple[int, int]) -> float:
        """The weight, larger for what fills a place of an enumeration from mark to mark: its end is no chance."""
        before = self._text[max(sentence[0], slot.start - MARK) : slot.start]
        after = self._text[slot.end : min(sentence[1], slot.end + MARK)]
        opens, closes = _LIST_END.search(before), _LIST.match(after)
        if (opens or closes) and (opens or not before.strip()) and (closes or BREAK.match(after)):
            return 1 - (1 - weight) ** 2
        return weight

    def _stands_for_a_name(self, name: str) -> bool:
        """Whether it is a class word with an article: the hotel."""
        article, _, word = name.casefold().partition(" ")
        return article in FUNCTION_WORDS and word in self._reading.lexicon.class_words

    def _weight(self, slot: Slot) -> float:
        """How likely it is what it was found as; its share counts where that is larger."""
        if slot.mention is not None:
            known = self._reading.finder.known.get(slot.name) is not None
            found = 1.0 if self._is_titled(slot) else _KNOWN if known else _TYPED if slot.sure else _NAMED
        elif slot.kind == "stranger":
            found = _KNOWN if _TITLED.match(self._text, slot.start) else _STRANGE
        else:
            found = _CODED if slot.kind == "name" else _VALUED
        return max(slot.share, found)

    def _is_titled(self, slot: Slot) -> bool:
        """Whether it is a code with the title behind it: SF1624 Algebra and Geometry."""
        longer = slot.end - slot.start > len(slot.name)
        return longer and any(pattern.fullmatch(slot.name) for _, _, pattern in self._forms.codes)

    def _asked(self, slot: Slot, span: ScoredSpan | None) -> Slot:
        """The slot with how likely it names something, and with its likeliest class where none is known."""
        if span is None:
            return slot
        guessed = None
        if slot.type is None and slot.kind in ("stranger", "noun") and span.classes is not None:
            guessed = self._labels.likely(span.classes)
        if guessed is None:
            return replace(slot, share=span.share)
        is_common = slot.kind == "noun"
        return replace(slot, share=span.share, kind="guess", type=guessed, sure=False, is_common=is_common)

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
            address = _is_address(slot)
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


def _is_address(slot: Slot) -> bool:
    return slot.value is not None and slot.value.kind == "address"


def _alike(first: Slot, second: Slot) -> bool:
    if "value" in (first.kind, second.kind):
        return first.value is not None and second.value is not None and first.value.kind == second.value.kind
    return (first.kind == "named") == (second.kind == "named")


@lru_cache(maxsize=64)
def _named_pattern(words: tuple[str, ...]) -> re.Pattern[str] | None:
    listed = sorted((word for word in words if len(word) > 1), key=len, reverse=True)
    parts = [re.escape(word) if has_han(word) else rf"\b{re.escape(word)}s?\b" for word in listed]
    return re.compile("|".join(parts), re.IGNORECASE) if parts else None


SUBJECT: Final = " of"
"""Behind a property for what examples have as its subjects."""


def taken_as(slot: Slot) -> str:
    """What it is like, for saying that examples have such a thing as an end of a property."""
    kind = f"value {slot.value.kind}" if slot.value is not None else "noun" if slot.is_common else "name"
    kind = "noun" if slot.kind == "noun" else kind
    return f"{kind} {slot.type.value}" if slot.type is not None and slot.sure else kind
