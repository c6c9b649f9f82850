"""Tokens, stems, senses and numerals: the general vocabulary of questions, read from the lexicon."""

# ruff: noqa: E501
from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import Final

from kgplatform import lexicon
from kgplatform.lexicon.amounts import han_number
from kgplatform.text import has_han, language_of, normalise, singular

# The words of a question with their places: a word of an alphabet, a number, or a Han character.

MAX_TOKENS = 300
_HAN = r"\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_TOKEN = lexicon.pattern("vocabulary.token", re.UNICODE, han=_HAN)


@dataclass(frozen=True, slots=True)
class QuestionToken:
    """A word or Han character of a question."""

    text: str
    start: int
    end: int


def in_mixed_case(text: str) -> bool:
    """Whether the text has capitals where they belong: some, but not everywhere."""
    letters = [character for character in text[1:] if character.isascii() and character.isalpha()]
    return any(map(str.isupper, letters)) and not all(map(str.isupper, letters))


def tokens_of(question: str) -> list[QuestionToken]:
    """The words of a question with their places; what is beyond the first few hundred is not read."""
    found = []
    for match in _TOKEN.finditer(question):
        found.append(QuestionToken(match.group(), match.start(), match.end()))
        if len(found) >= MAX_TOKENS:
            break
    return found


# Where the tokens of a text are.


def place_at(tokens: list[QuestionToken], offset: int) -> int:
    """The first token at or after an offset; their number if there is none."""
    return next((i for i, token in enumerate(tokens) if token.start >= offset), len(tokens))


def first_after(pattern: re.Pattern[str], text: str, tokens: list[QuestionToken]) -> int | None:
    """The token after the first match of a pattern; None if there is no match."""
    match = pattern.search(text)
    return place_at(tokens, match.end()) if match else None


def covered(tokens: list[QuestionToken], start: int, end: int) -> range:
    """The tokens between two offsets."""
    inside = [i for i, token in enumerate(tokens) if token.start < end and token.end > start]
    return range(inside[0], inside[-1] + 1) if inside else range(0)


def free(match: re.Match[str] | None, tokens: list[QuestionToken], taken: frozenset[int]) -> bool:
    """Whether there is a match and none of its tokens is taken."""
    return match is not None and not (set(covered(tokens, match.start(), match.end())) & taken)


# Everyday words that mean the same, English and Chinese, by walks of life: *game* finds a class that is called match.
#
# A line is a sense: its name, and the words and phrases for it. `kgplatform.questions.parser.vocabulary` reads them
# with its own
# senses, which are those of questions in general. A word may stand in several lines.

SYNONYMS: Final = lexicon.lines("vocabulary.synonyms")


# The general vocabulary of questions, English and Chinese: none of it belongs to a domain or a graph.
#
# A *sense* groups words that ask for the same kind of thing, so that "how many inhabitants" and 人口 both reach a
# property whose label says population. Words of an ontology come first; senses only bridge what it leaves out.

_QUOTED = re.compile(r"《[^》]*》|「[^」]*」|“[^”]*”|\"[^\"]*\"")


def language_asked_in(question: str) -> str:
    """The language of a question, as `language_of` has it, but told by its own words rather than by the names in it.

    >>> [language_asked_in(text) for text in ("谁写了Attention Is All You Need？", "Where is 西湖?")]
    ['zh', 'en']
    """
    if not has_han(question):
        return language_of(question)
    own = _QUOTED.sub(" ", question)
    if lexicon.pattern("vocabulary.asked_in_chinese").search(own):
        return "zh"
    return "en" if lexicon.pattern("vocabulary.asked_in_english").match(own) else language_of(question)


_SENSES = lexicon.lines("vocabulary.senses")

FUNCTION_WORDS = lexicon.word_set("vocabulary.function_words")
HAN_FUNCTION = lexicon.characters("vocabulary.han_function")

ADJECTIVES = {
    word: (tuple(said.split()[:-1]), 1 if said.endswith("most") else -1) for word, said in lexicon.table("vocabulary.adjectives").items()
}  # fmt: skip
"""Adjectives: the senses they measure, most likely first, and whether their superlative is the most (1) or least."""

SAID_IN_ENGLISH = lexicon.table("vocabulary.said_in_english")
"""Adjectives by which a Chinese question asks for what an English comment defines."""

DOING = lexicon.word_set("vocabulary.doing")
"""Verbs that stand for a kind of place where nothing else names it."""

SAID_OF_NOT = lexicon.table("vocabulary.said_of_not")
"""Words that say the opposite of what a comment defines."""

SUPERLATIVES = lexicon.table("vocabulary.superlatives")

COMPARATIVES = lexicon.table("vocabulary.comparatives")
COMPARISON_SENSES = {word: tuple(listed.split()) for word, listed in lexicon.table("vocabulary.comparison_senses").items()}  # fmt: skip
UNIT_SENSES = {word: tuple(listed.split()) for word, listed in lexicon.table("vocabulary.unit_senses").items()}  # fmt: skip
"""Units and what they measure; an ontology's own units come first."""

PARTICIPLES = {"paid": "salary", "earning": "salary", "rated": "rating", "priced": "price"}
"""What a superlative is of where one of these follows it: "the highest paid", "the best rated"."""

LIGHT_VERBS = lexicon.word_set("vocabulary.light_verbs")
"""Verbs that say nothing of their own where they are no name: "which teams come from X"."""

GENERIC_NOUNS = lexicon.word_set("vocabulary.generic_nouns")
"""Nouns that stand for things of whatever kind: "the French places"."""

PERSON_WORDS = lexicon.word_set("vocabulary.person_words")
PLACE_WORDS = lexicon.word_set("vocabulary.place_words")

_IRREGULAR = lexicon.table("vocabulary.irregular")
_PART = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]+|[^\W_]+", re.UNICODE)


@lru_cache(maxsize=16_384)
def stem(word: str) -> str:
    """A form that the inflections of a word share; good enough to compare with, not to show.

    >>> {stem(w) for w in ("borders", "bordering", "border", "bordered")}
    {'border'}
    """
    plain = word.casefold()
    plain = _IRREGULAR.get(plain, plain)
    if has_han(plain):
        return plain
    plain = singular(plain)
    cut = lexicon.pattern("vocabulary.suffix", 0).sub("", plain)
    if len(cut) > 3 and cut[-1] == cut[-2] and cut[-1] not in "ls":
        cut = cut[:-1]
    return cut if len(cut) >= 3 else plain


def parts(text: str) -> list[str]:
    """The comparable parts of a phrase: stems of Latin words, runs of Han characters as they are."""
    return [stem(match.group()) for match in _PART.finditer(normalise(text))]


@lru_cache(maxsize=1)
def senses() -> dict[tuple[str, ...], tuple[str, ...]]:
    """The senses of every word and phrase: ``{("run", "through"): ("traverse",)}``."""
    found: dict[tuple[str, ...], list[str]] = {}
    for name, listed in (*_SENSES, *SYNONYMS):
        for phrase in listed:
            key = tuple(parts(phrase))
            if key and name not in found.setdefault(key, []):
                found[key].append(name)
    return {key: tuple(names) for key, names in found.items()}


@lru_cache(maxsize=16_384)
def keys(text: str) -> tuple[tuple[tuple[str, ...], bool], ...]:
    """The forms under which a phrase can be looked up: by its words, and by their senses (marked ``~``, True)."""
    all_parts = parts(text)
    kept = tuple(p for p in all_parts if p not in FUNCTION_STEMS)
    found: dict[tuple[str, ...], bool] = {}
    if kept:
        found[kept] = False
    whole = senses().get(tuple(all_parts), ()) or (senses().get(kept, ()) if kept else ())
    for name in whole:
        found.setdefault((f"~{name}",), True)
    if 1 < len(kept) <= 4:
        choices = [[part, *(f"~{name}" for name in senses().get((part,), ())[:3])] for part in kept]
        for combination in product(*choices):
            found.setdefault(combination, combination != kept)
    return tuple(found.items())


FUNCTION_STEMS = frozenset(map(stem, FUNCTION_WORDS - lexicon.word_set("vocabulary.say_inflected")))


def in_full(phrase: Sequence[str]) -> tuple[str, ...]:
    """The look-up form of a phrase with all its words, those too that `keys` leaves out."""
    return ("=", *phrase)


def sense_keys(names: Iterable[str]) -> list[tuple[str, ...]]:
    """The look-up forms of senses."""
    return [(f"~{name}",) for name in names]


# Words of one family: "smoke" and smoker, "director" and directed by, "diagnosed" and diagnosis.

_ENDINGS = lexicon.word_set("vocabulary.endings")
_AGENTS = lexicon.word_set("vocabulary.agents")
_OPENING = 3
_SHORTEST = 4
_LONG = 7
"""So many letters in common are enough whatever follows: "prescribed" and prescription."""


def by_opening(stems: Iterable[str]) -> Mapping[str, tuple[str, ...]]:
    """The Latin stems by their first letters."""
    found: dict[str, list[str]] = defaultdict(list)
    for stem in stems:
        if len(stem) >= _OPENING and stem.isascii() and stem.isalpha():
            found[stem[:_OPENING]].append(stem)
    return {opening: tuple(listed) for opening, listed in found.items()}


def related(stem: str, known: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    """The stems of the same family as one, those that share most letters first.

    >>> related("director", by_opening(("direct", "dire", "direction")))
    ('direct',)
    """
    found = [(common, other) for other in known.get(stem[:_OPENING], ()) if (common := _shared(stem, other))]
    return tuple(other for _, other in sorted(found, key=lambda item: (-item[0], item[1])))


def _shared(one: str, other: str) -> int:
    """How many letters two stems of a family share; 0 if they are of none."""
    if one == other:
        return 0
    common = next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    rests = (one[common:], other[common:])
    if "" in rests:
        rest = rests[0] or rests[1]
        return common if rest in _AGENTS or (common >= _SHORTEST and rest in _ENDINGS) else 0
    return common if common >= _LONG and 2 * common > max(len(one), len(other)) else 0


# Numbers in Chinese characters: 一千万, 三万五, 两百零八, and what 多 and two digits side by side leave open.


def han_range(text: str) -> tuple[int, int] | None:
    """The two numbers that digits side by side leave open; None if there are none.

    >>> han_range("两三百"), han_range("二十")
    ((200, 300), None)
    """
    beside = lexicon.pattern("vocabulary.beside").match(text)
    if beside is None:
        return None
    low, high = (han_number(digit + text[2:]) for digit in beside.groups())
    return (low, high) if low is not None and high is not None and low < high else None


def some_of(text: str) -> tuple[int, int] | None:
    """What 几 with a scale lies between; None if it is no such word.

    >>> some_of("几十万"), some_of("几个")
    ((100000, 1000000), None)
    """
    one = han_number(f"一{text[1:]}") if len(text) > 1 and text[0] in "几数" else None
    return (one, 10 * one) if one is not None else None


def and_some(number: str) -> tuple[str, str]:
    """What a number followed by 多 lies between: as much more as its last digit that is not 0 counts.

    >>> and_some("100"), and_some("30"), and_some("2500")
    (('100', '200'), ('30', '40'), ('2500', '2600'))
    """
    digits = number.rstrip("0") or "0"
    step = 10 ** (len(number) - len(digits))
    return number, str(int(number) + step)
