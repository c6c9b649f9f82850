"""A language that questions are asked in, as data: its closed-class words, and English for its other words.

A language is ``lexicon/questions.CODE.toml`` and, if the embedding does not know it, ``lexicon/glosses.CODE.tsv`` (or
``.tsv.gz``): a word or phrase, a tab, its English senses with slashes between. English and Chinese are two of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from typing import Any

from kgplatform import lexicon
from kgplatform.models.embed import rarity
from kgplatform.questions.parser.vocabulary import language_asked_in, parts, stem
from kgplatform.text import has_han

_TEXT = re.compile(r"\w+|[^\w\s-]")
_LONGEST_PHRASE = 3
_SENSES = 3
_MORE_WORDS = 6_000
_SURELY = 2
"""So many words at least tell a language other than the first."""


@dataclass(frozen=True, eq=False)
class QuestionLanguage:
    """What the files of a language say; a section or list that they leave out is empty."""

    code: str
    data: Mapping[str, Any]

    def words(self, name: str) -> tuple[str, ...]:
        """The words of a list, in their order."""
        return tuple(str(self.data.get("words", {}).get(name, "")).split())

    @property
    def spaced(self) -> bool:
        """Whether blanks stand between words; else each character counts by itself."""
        return bool(self.data.get("spaced", True))

    @property
    def fronted(self) -> bool:
        """Whether what a question asks for stands at its beginning."""
        return bool(self.data.get("fronted", True))

    @property
    def ordered(self) -> bool:
        """Whether the first sense of a gloss is the one most in use; else it is told by how common its words are."""
        return bool(self.data.get("ordered", True))

    @property
    def capitals(self) -> bool:
        """Whether of all words within a sentence only names begin with a capital letter."""
        return bool(self.data.get("capitals", True))

    @property
    def learnt(self) -> str:
        """The language whose learnt weights are used."""
        return str(self.data.get("learnt", self.code))

    @cached_property
    def cues(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """Every phrase that frames a question, by the words it is made of, with what it is a sign of."""
        return tuple(
            (name, tuple(phrase) if has_han(phrase) else tuple(phrase.split()))
            for name, phrases in self.data.get("cues", {}).items()
            for phrase in phrases
        )

    def is_outward(self, text: str, name: str, labels: Sequence[str], *, turned: bool = False) -> bool:
        """Whether a text asks for what a name has by a relation so labelled: *Ann's teachers*, not whose she is.

        ``turned``: whether it asks for what has the name: *whose teacher is Ann*.
        """
        way, inward = (str(self.data.get(key, "")) for key in ("backward" if turned else "outward", "inward"))
        way = way.replace("{name}", re.escape(name))
        named = [label for label in labels if not (inward and re.search(inward, label, re.IGNORECASE))]
        if not self.spaced:
            return bool(way and named and re.search(way.replace("{said}", "|".join(map(re.escape, named))), text))
        stems = {stem(word) for label in named for word in label.casefold().split()}
        stems -= {stem(word) for label in {*labels} - {*named} for word in label.casefold().split()}  # member of
        found = re.finditer(way.replace("{said}", r"([\w-]+)"), text, re.IGNORECASE) if way else ()
        return any(stem(word.casefold()) in stems for match in found for word in match.groups() if word)

    def kind_of(self, text: str) -> str | None:
        """The kind that a text asks of something whether it is one: *a keeper*; None where it asks something else."""
        pattern = str(self.data.get("kind_of", ""))
        found = re.search(pattern, text.strip(), re.IGNORECASE) if pattern else None
        return found["kind"] if found else None

    def does(self, label: str) -> str:
        """What somebody does who is called so: the stem *publish* of *publisher*; empty for any other label."""
        agent, word = re.compile(str(self.data.get("agent", "$^"))), label.casefold().rpartition(" ")[2]
        deed = agent.sub("", word) if agent.search(word) and has_han(label) is not self.spaced else ""
        return stem(deed) if len(deed) > 1 else ""  # one character stands in many words

    def says(self, text: str, deed: str) -> bool:
        """Whether a text has a word with that stem."""
        return deed in (parts(text) if self.spaced else text)

    def has_cue(self, text: str, name: str) -> bool:
        """Whether a text has a phrase that is a sign of something, as the file lists them: *except*."""
        phrases = self.data.get("cues", {}).get(name, ())
        return bool(phrases) and self._any_of([re.escape(phrase) for phrase in phrases]).search(text) is not None

    @cached_property
    def opposites(self) -> tuple[tuple[tuple[str, ...], tuple[str, ...], bool], ...]:
        """Words and their opposites, both ways, and whether what is not the one is the other."""
        pairs = [
            (tuple(one.split("|")), tuple(other.split("|")), name == "complements")
            for name in ("complements", "contraries")
            for one, other in self.data.get(name, {}).items()
        ]
        return tuple(pair for one, other, whole in pairs for pair in ((one, other, whole), (other, one, whole)))

    def opposed(self, text: str, fixed: str, asked: str) -> tuple[str, bool] | None:
        """The text with *not closed* for *open*, or *closed* for *not open*, and whether it denies; None: as it is.

        ``fixed`` and ``asked`` are the labels of properties whose value is told or asked for. That a label has the
        opposite of a word of the text, and not the word, is what is looked for. Of *born* and *died* neither follows
        from the other: the text is empty then.
        """
        for said, other, whole in self.opposites:
            labels, deny = fixed if whole else f"{fixed} | {asked}", self.words("deny")
            there, opposite = self._any_of(said).search(text), self._any_of(other).search(labels)
            if there is None or opposite is None or self._any_of(said, unless=deny).search(labels):
                continue
            if self._any_of(other).search(text):  # it says both
                continue
            before, rest, blank = text[: there.start()], text[there.end() :], " " * self.spaced
            denied = next((w for w in deny if before.rstrip().casefold().endswith(w)), None)
            if denied is None:
                return (f"{before}{deny[0]}{blank}{opposite.group()}{rest}", True) if whole else ("", False)
            return f"{before.rstrip()[: -len(denied)].rstrip()}{blank}{opposite.group()}{rest}", False
        return None

    def _any_of(self, words: Sequence[str], unless: Sequence[str] = ()) -> re.Pattern[str]:
        edge, before = r"\b" * self.spaced, "".join(f"(?<!{word}{' ' * self.spaced})" for word in unless)
        return re.compile(f"{edge}{before}(?:{'|'.join(words)}){edge}", re.IGNORECASE)

    @cached_property
    def scales(self) -> Mapping[str, float]:
        """What a number before a word is multiplied by."""
        return {name: float(value) for name, value in self.data.get("scales", {}).items()}

    @cached_property
    def numbers(self) -> Mapping[str, int]:
        """The words for 0 to 20, and for the tens up to 90."""
        return {name: i if i < 20 else (i - 18) * 10 for i, name in enumerate(self.words("tens"))}

    @cached_property
    def patterns(self) -> Mapping[str, re.Pattern[str]]:
        """The regular expressions for what no list of words tells."""
        return {name: re.compile(text, re.IGNORECASE) for name, text in self.data.get("patterns", {}).items()}

    @cached_property
    def _closed(self) -> frozenset[str]:
        return frozenset((*self.words("light"), *(phrase[0] for _, phrase in self.cues if len(phrase) == 1)))

    def share(self, said: Sequence[str]) -> int:
        """How many words in lower case are of the language; one that opens a question counts three times."""
        opens = any(phrase[0].removeprefix("^") in said[:1] for _, phrase in self.cues)
        return sum(word in self._closed or self._differs(word) for word in said) + 2 * opens

    def _differs(self, word: str) -> bool:
        """Whether a word has a gloss, which is not the word itself."""
        return self.glosses.get(word, (word,))[0] not in self.stems(word)

    @cached_property
    def glosses(self) -> Mapping[str, tuple[str, ...]]:
        """English senses by word or phrase, of closed-class words one; empty for a language that needs none."""
        return {**lexicon.glosses(self.code), **self._closed_glosses}

    @cached_property
    def _closed_glosses(self) -> Mapping[str, tuple[str, ...]]:
        return {word: (said,) for said, words in self.data.get("glosses", {}).items() for word in words.split()}

    @cached_property
    def _counting(self) -> re.Pattern[str]:
        """What a measure word follows: a number, or a word as 几."""
        return re.compile(rf"[\d{''.join((*self.words('digits'), *self.words('determiners')))}]+")

    def senses(self, word: str) -> tuple[str, ...]:
        """English for a word: of its plain form, or of its two parts where no form is known as a whole."""
        word = word.casefold()
        if found := (str(self.numbers[word]),) if word in self.numbers else self._plainly(word):
            return found[:_SENSES]
        least = int(self.data.get("shortest", 1))
        for cut in range(len(word) - least, least - 1, -1):
            first, rest = self._plainly(word[:cut]), self._plainly(word[cut:])
            if first and rest:
                return (f"{first[0]} {rest[0]}",)
        return () if self.spaced else tuple(sense for sign in word for sense in self.glosses.get(sign, ())[:1])

    def _plainly(self, word: str) -> tuple[str, ...]:
        return next((found for form in self.stems(word) if (found := self.glosses.get(form))), ())

    def stems(self, word: str) -> Iterator[str]:
        """A word in lower case as it is, and without each ending that the language may add."""
        word, least = word.casefold(), int(self.data.get("shortest", 1))
        yield word
        for ending in self.words("endings"):
            if word.endswith(ending) and len(word) >= len(ending) + least:
                yield word.removesuffix(ending)

    def segments(self, text: str) -> Iterator[tuple[int, int]]:
        """The offsets of the words and phrases of a text; one of degree, and one as 几, is parted from the next."""
        if self.spaced:
            yield from self._phrases(text)
            return
        for word, start, end in _segmenter().tokenize(text):
            for cut in self._cuts(word):
                yield start, start + cut
                start += cut
            yield start, end

    def _cuts(self, word: str) -> Iterator[int]:
        """How many signs stand before the rest of a word: one of degree, or a number (a word as 几) and a measure."""
        if len(word) < 2 or word in self._closed_glosses:
            return
        if word[0] in self.words("degree"):
            yield 1
        elif self._counting.fullmatch(word[0]) and word[1] in self._counted:
            yield 1
            if len(word) > 2:
                yield 1

    @cached_property
    def _counted(self) -> frozenset[str]:
        return frozenset((*self.words("measures"), *self.words("units")))

    def measures(self, before: str, word: str) -> bool:
        """Whether a word only says by what is counted, after a number or a word that asks for one."""
        return word in self.words("measures") and self._counting.fullmatch(before) is not None

    def _phrases(self, text: str) -> Iterator[tuple[int, int]]:
        places = [match.span() for match in _TEXT.finditer(text)]
        while places:
            ways = range(min(_LONGEST_PHRASE, len(places)), 1, -1)
            start = places[0][0]
            count = next((n for n in ways if text[start : places[n - 1][1]].casefold() in self.glosses), 1)
            yield start, places[count - 1][1]
            places = places[count:]


@cache
def _segmenter() -> Any:
    import jieba

    jieba.setLogLevel(60)
    jieba.initialize()
    return jieba


@cache
def languages() -> Mapping[str, QuestionLanguage]:
    """The languages that have a file, by their codes."""
    return {code: QuestionLanguage(code, lexicon.read(f"questions.{code}")) for code in lexicon.question_languages()}


@cache
def read_together(code: str) -> tuple[QuestionLanguage, ...]:
    """The languages whose words a question may have: of each way of writing the question's own, or else the first."""
    found = {language.spaced: language for language in reversed(list(languages().values()))}
    own = languages().get(code)
    return tuple({**found, **({own.spaced: own} if own else {})}[spaced] for spaced in (True, False) if spaced in found)


@cache
def _weekdays() -> Mapping[str, tuple[str, ...]]:
    named = [(n % 7, word) for one in languages().values() for n, word in enumerate(one.words("weekdays"))]
    return {word: tuple(other for day, other in named if day == n and other != word) for n, word in named}


def other_names(text: str) -> tuple[str, ...]:
    """What a weekday is called besides, in all languages; empty for any other text."""
    word = text.casefold()
    return _weekdays().get(word) or _weekdays().get(word.removesuffix("s"), ())


def language_of_question(text: str) -> str:
    """The code of the language whose closed-class words a question has most of, whatever its names are in.

    >>> [language_of_question(text) for text in ("Who was in Die Nacht?", "Was kostet die Nacht?", "乌镇在哪里？")]
    ['en', 'de', 'zh']
    """
    told = languages().get(language_asked_in(text))
    if told is not None and not told.spaced:
        return told.code
    said = [match.group().casefold() for match in _TEXT.finditer(text)]
    counts = {code: own.share(said) for code, own in languages().items() if own.spaced}
    first, best = next(iter(counts)), max(counts, key=counts.__getitem__)
    return best if counts[best] >= _SURELY else first


def glossed(text: str, code: str) -> QuestionLanguage | None:
    """The language whose glosses stand for the words of a text; None where they are taken as they are."""
    if has_han(text):
        return next((language for language in languages().values() if not language.spaced), None)
    own = languages().get(code)
    return own if own is not None and own.spaced and own.glosses else None


@lru_cache(maxsize=20_000)
def segments(text: str, code: str) -> tuple[tuple[int, int, tuple[str, ...]], ...]:
    """The words of a text with their offsets and what they are in English: their senses, or themselves."""
    own = glossed(text, code)
    if own is None:
        return ((0, len(text), (text,)),)
    found, before = list[tuple[int, int, tuple[str, ...]]](), ""
    for start, end in own.segments(text):
        word = text[start:end]
        senses = own.senses(word) if own.spaced or has_han(word) else ()
        senses = ("",) if own.measures(before, word) else senses
        found.append((start, end, senses or (() if has_han(word) else (word,))))
        before = word
    return tuple(found)


def in_english(text: str, code: str = "") -> str:
    """A text with the first gloss of each word in its place, as the default embedding can read it.

    >>> in_english("茶 price"), in_english("Preis der Zimmer", "de")
    ('tea price', 'price the room')
    """
    own = glossed(text, code)
    if own is None:
        return text
    said = (_common(senses, own) if senses else text[start:end] for start, end, senses in segments(text, code))
    return re.sub(r"\s+", " ", " ".join(said)).strip()


def _common(senses: Sequence[str], own: QuestionLanguage) -> str:
    """The sense that is most in use; one of several words is taken for rarer."""
    if own.ordered or len(senses) == 1:
        return senses[0]
    return min(senses, key=lambda sense: rarity(sense) + _MORE_WORDS * sense.count(" "))
