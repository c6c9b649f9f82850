"""Names said otherwise than they are written: plurals, abbreviations, adjectives of countries, small letters."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping

from kgplatform.questions.facts import GraphFacts
from kgplatform.text import normalise, singular

_ABBREVIATED = re.compile(r"[^\W\d_]{2,}\.")
_WORD = re.compile(r"[^\W\d_]+")
_LONGEST = 40
_CODE_LENGTH = 4
_LONGEST_CODE = 12
_DIGIT, _LETTER = re.compile(r"\d"), re.compile(r"[A-Za-z]")
NOT_VERBATIM = 0.15
"""What a name loses where another is written just as the question writes it."""
SMALL_LETTERS = 0.45
"""What a code in capitals loses where the question has a word in small letters."""
_ACRONYM = re.compile(r"\(([A-Z]{2,6})\)")
_NOTED = re.compile(r"(?<=[A-Za-z]) \(([a-z]+(?: [a-z]+)?)\)")
_ALSO = re.compile(
    r"\b[Aa]lso (?:called|known as|named) (?:an? |the )?([a-z]+(?: [a-z]+)?)\b|(?:又称|也叫|亦称)([^，。；、]{1,8})"
)
_BARE = re.compile(r"(?:An? |The )?([a-z]+(?: [a-z]+)?)\.?$")

_SENTENCE = re.compile(r"[.;](?:\s|$)")
_LISTING = re.compile(r",\s*(?:or|and)\s+|,\s*|\s+(?:or|and)\s+")
_ARTICLE = re.compile(r"(?:an?|the)\s+", re.IGNORECASE)
_NOUNS = re.compile(r"[A-Za-z]{3,}(?:[ -][a-z]{3,}){0,2}")
_WORDS_BETWEEN = frozenset(
    [
        "the",
        "for",
        "and",
        "not",
        "that",
        "which",
        "with",
        "from",
        "has",
        "have",
        "are",
        "was",
        "were",
        "been",
        "its",
        "this",
        "can",
        "per",
        "all",
        "any",
        "each",
    ]
)
_MOST_LISTED = 5

_COUNTRIES = """
argentina argentinian argentine, australia australian, austria austrian, belgium belgian, brazil brazilian,
britain british, bulgaria bulgarian, canada canadian, chile chilean, china chinese, colombia colombian,
croatia croatian, cuba cuban, czechia czech, denmark danish, egypt egyptian, england english, estonia estonian,
finland finnish,
france french, germany german, greece greek, hungary hungarian, iceland icelandic, india indian, indonesia indonesian,
iran iranian, iraq iraqi, ireland irish, israel israeli, italy italian, japan japanese, kenya kenyan, korea korean,
latvia latvian, lithuania lithuanian, malaysia malaysian, mexico mexican, morocco moroccan, netherlands dutch,
nigeria nigerian, norway norwegian, pakistan pakistani, peru peruvian, philippines philippine filipino, poland polish,
portugal portuguese, romania romanian, russia russian, scotland scottish, serbia serbian, singapore singaporean,
slovakia slovak, slovenia slovenian, spain spanish, sweden swedish, switzerland swiss, thailand thai, turkey turkish,
ukraine ukrainian, vietnam vietnamese, wales welsh
"""
DEMONYMS: Mapping[str, str] = {
    adjective: country
    for country, *adjectives in (entry.split() for entry in _COUNTRIES.replace("\n", " ").split(","))
    for adjective in adjectives
}
"""Countries by the adjectives for them."""

_ALSO_CALLED = (
    ("united states", "usa", "us", "united states of america", "america", "u s a", "u s"),
    ("united kingdom", "uk", "great britain", "britain"),
    ("united arab emirates", "uae"),
    ("south korea", "korea", "republic of korea"),
    ("czechia", "czech republic"),
    ("netherlands", "holland"),
    ("russia", "russian federation"),
    ("中国", "中华人民共和国"),
    ("美国", "美利坚合众国"),
    ("英国", "联合王国"),
    ("韩国", "大韩民国"),
)
SAME_COUNTRY: Mapping[str, tuple[str, ...]] = {
    name: tuple(other for other in group if other != name) for group in _ALSO_CALLED for name in group
}
"""Other names of countries by their names."""


def in_singular(key: str) -> str:
    """A normalised phrase with its last word in the singular; empty where that is the same or no Latin word."""
    head, _, last = key.rpartition(" ")
    plain = singular(last) if last.isascii() and last.isalpha() else last
    return f"{head} {plain}".strip() if plain != last else ""


def abbreviations(facts: GraphFacts) -> Mapping[str, tuple[tuple[tuple[str, ...], str], ...]]:
    """Names with shortened words ("Comp. Sci.") as the beginnings of their words, with their key, by first letter."""
    found: dict[str, set[tuple[tuple[str, ...], str]]] = defaultdict(set)
    for labels in (facts.labels, facts.aliases):
        for literals in labels.values():
            for literal in literals:
                text = literal.value
                if len(text) <= _LONGEST and _ABBREVIATED.search(text):
                    begins = tuple(word.casefold() for word in _WORD.findall(text))
                    found[begins[0][0]].add((begins, normalise(text)))
    return {letter: tuple(sorted(listed)) for letter, listed in found.items()}


def abbreviated(phrase: str, known: Mapping[str, tuple[tuple[tuple[str, ...], str], ...]]) -> Iterable[str]:
    """The keys of the names that a phrase is the long form of: "computer science" of "Comp. Sci."."""
    said = [word.casefold() for word in _WORD.findall(phrase)]
    for begins, key in known.get(said[0][0], ()) if said else ():
        if len(begins) == len(said) and all(w.startswith(b) for w, b in zip(said, begins, strict=True)):
            yield key


def small_letter_code(phrase: str, label: str) -> bool:
    """Whether a word in small letters meets a short code in capitals: "go" is hardly the airport GO."""
    return len(label) <= _CODE_LENGTH and label.isalpha() and label.isascii() and label.isupper() and phrase.islower()


def as_written(phrase: str, label: str) -> bool:
    """Whether a phrase is a label letter for letter, case aside."""
    return phrase.casefold() == label.casefold()


def comment_names(comment: str) -> tuple[str, ...]:
    """What a comment says a term is also called: in brackets after a word, by "also called", or as all it says.

    >>> comment_names("A flight of an airline. Also called a connection.")
    ('connection',)
    """
    found = [match[1] or match[2] for match in _ALSO.finditer(comment)]
    if ":" not in comment:
        found += [match[1] for match in _NOTED.finditer(comment)]
    bare = _BARE.match(comment)
    if bare:
        found.append(bare[1].casefold())
    found += _listed(comment)
    return tuple(dict.fromkeys(found))


def _listed(comment: str) -> list[str]:
    """What the first sentence of a comment lists and no more: "Parish, borough or chartered town"."""
    listed = [_ARTICLE.sub("", piece.strip()) for piece in _LISTING.split(_SENTENCE.split(comment, maxsplit=1)[0])]
    named = all(_NOUNS.fullmatch(piece) and not _WORDS_BETWEEN & set(piece.casefold().split()) for piece in listed)
    return [piece.casefold() for piece in listed] if named and len(listed) <= _MOST_LISTED else []


def acronym(label: str) -> str:
    """The acronym that a label ends with in brackets: "Bill of Material (BOM)"; empty if there is none."""
    match = _ACRONYM.search(label)
    return match[1] if match else ""


def is_code(text: str) -> bool:
    """Whether a text is short, of one word, with digits and letters."""
    return (
        len(text) <= _LONGEST_CODE
        and " " not in text
        and _DIGIT.search(text) is not None
        and _LETTER.search(text) is not None
    )
