"""What a later turn means by itself: the choice of an option, a detail that was asked for, or another thing instead."""

# ruff: noqa: E501
from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from pyoxigraph import NamedNode

from kgplatform.questions.dialogue.turns import Option, Turn
from kgplatform.questions.names import NameIndex
from kgplatform.text import has_han, normalise
from kgplatform.types import Linked

_ORDINALS: Final = {
    word: place
    for place, words in enumerate(
        (
            "first 1st 一",
            "second 2nd 二 两",
            "third 3rd 三",
            "fourth 4th 四",
            "fifth 5th 五",
            "sixth 6th 六",
            "seventh 7th 七",
            "eighth 8th 八",
        )
    )
    for word in words.split()
}
_ORDINAL = re.compile(
    r"^\W*(?:i mean |it['’]s |make it )?(?:the |option |number |no\.? |#)?\s*(?P<n>\d|first|1st|second|2nd|third|3rd|fourth|4th|fifth|5th|sixth|6th|seventh|7th|eighth|8th)(?: one| option)?\W*$"
    r"|^\W*第?(?P<z>[一二两三四五六七八\d])(?:个|项|种)\W*$",
    re.IGNORECASE,
)
_LAST = re.compile(r"^\W*(?:the )?last(?: one)?\W*$|^\W*最后一个\W*$", re.IGNORECASE)
_LEAD = re.compile(
    r"^\s*(?:(?:and|but|so|ok(?:ay)?|then)\b[,\s]*)?(?:what about|how about|and for|and|for)\s+|^\s*(?:那么?|还有|换成)\s*",
    re.IGNORECASE,
)
_TRAIL = re.compile(r"\s*(?:instead|then)?\s*[?？。.!！]*\s*$|\s*呢\s*[?？。]*\s*$", re.IGNORECASE)
_TRAIL_ZH = re.compile(r"呢\s*[?？。]*\s*$")
_PRONOUN = re.compile(
    r"\b(?:it|that one|this one|that (?:flight|one|thing)|this (?:flight|one|thing))\b(?!['’]s\b)|\bits\b|它(?!们)|该航班|这个航班|那个航班|那里",
    re.IGNORECASE,
)
_THOSE = re.compile(r"\b(?:of\s+)(?:them|those|these)\b|其中的?|它们(?:中|里)?的?|这些(?:中|里)的?", re.IGNORECASE)
_ASKING = re.compile(
    r"^\W*(?:(?:and|so)\s+)?(?:which|what|(?:show|give|find|tell) me|list)(?:\s+(?:are|all))?\s+(?:the\s+)?|有?(?:哪些|哪几[个家座])",
    re.IGNORECASE,
)
_QUESTION = re.compile(
    r"\b(?:what|which|who|where|when|how|why|is|are|does|do|did|was|were|list|show|tell|give)\b|哪|什么|几|谁|多少|吗|怎",
    re.IGNORECASE,
)
_SHORT: Final = 8


@dataclass(frozen=True, slots=True)
class Followed:
    """What a turn comes to: the options it leaves (one: chosen), or a question that stands alone."""

    options: tuple[Option, ...] = ()
    question: str = ""


def chosen(text: str, turn: Turn) -> tuple[Option, ...]:
    """The options that a reply names, by their place or by what they are called; none if it names none."""
    options = turn.options
    if _LAST.match(text) and options:
        return options[-1:]
    match = _ORDINAL.match(text)
    if match:
        word = (match["n"] or match["z"]).casefold()
        place = int(word) - 1 if word.isdigit() else _ORDINALS[word]
        if 0 <= place < len(options):
            return (options[place],)
    said = f" {normalise(text)} "
    exact = [o for o in options if o.text and f" {normalise(o.text)} " in said]
    if exact:
        return tuple(exact)
    return tuple(o for o in options if len(said.strip()) > 1 and _names(said.strip(), normalise(o.shown)))


def _names(said: str, shown: str) -> bool:
    """Whether what was said is a whole part of what was shown."""
    if has_han(said):
        return said in shown
    core = re.sub(
        r"^(?:the|a|i mean|one|to|at|in|of|from) |^(?:one|the one) (?:to|at|in|from|of|with) | one$", "", said
    )
    return bool(core) and f" {core} " in f" {shown} "


def is_fragment(text: str) -> bool:
    """Whether a text is too little for a question of its own."""
    if _LEAD.search(text) or _TRAIL_ZH.search(text):
        return True
    words = re.findall(r"\w+", text)
    return not _QUESTION.search(text) and (len(words) <= _SHORT if not has_han(text) else len(text) <= 14)


def in_place_of(text: str, turn: Turn, names: NameIndex) -> str:
    """The earlier question with what the text names put in place of the thing of the same kind; empty if none is."""
    core = _TRAIL.sub("", _TRAIL_ZH.sub("", _LEAD.sub("", text))).strip()
    if not core:
        return ""
    new, old = names.link(core), names.link(turn.question)
    for item in sorted(new, key=lambda found: (found.start, -found.score)):
        if item.kind not in ("entity", "value"):
            continue
        fitting = [o for o in old if o.kind in ("entity", "value") and _alike(item, o, names)]
        if fitting:
            other = max(fitting, key=lambda found: found.score)
            return turn.question[: other.start] + core[item.start : item.end] + turn.question[other.end :]
    things = [item for item in new if item.kind == "entity" and item.start == 0 and item.end == len(core)]
    places = {(item.start, item.end) for item in old if item.kind == "entity"}
    if things and len(places) == 1:  # "and X?" of another kind, where only one thing was spoken of
        start, end = places.pop()
        return turn.question[:start] + core + turn.question[end:]
    terms = [item for item in new if item.kind in ("class", "property")]
    older = [item for item in old if item.kind in ("class", "property")]
    if terms and older and any(item.kind in ("entity", "value") for item in old):
        first, asked = terms[0], older[0]
        return turn.question[: asked.start] + core[first.start : first.end] + turn.question[asked.end :]
    return ""


def _alike(one: Linked, other: Linked, names: NameIndex) -> bool:
    """Whether two names are of things of one kind: values of one property, things that share a class."""
    if one.kind == other.kind == "value":
        return one.iri == other.iri
    return bool(set(names.types(one.iri)) & set(names.types(other.iri)))


def with_referent(text: str, turn: Turn, names: NameIndex) -> str:
    """The text with the thing that the last turn was about in place of "it"; empty where nothing can be meant."""
    those = _THOSE.search(text)
    if those is not None and len(turn.values) > 1:
        listed = _ASKING.sub("", turn.question).strip(" ?？。.!！")
        chinese = has_han(text)
        return (
            f"{text[: those.start()]}{'' if chinese else 'of '}{listed}{'中' if chinese else ''}{text[those.end() :]}"
        )
    match = _PRONOUN.search(text)
    if match is None:
        return ""
    referent = _referent(turn, names)
    if not referent:
        return ""
    own = "'s" if match.group().casefold() == "its" else ""
    return f"{text[: match.start()]}{referent}{own}{text[match.end() :]}"


def _referent(turn: Turn, names: NameIndex) -> str:
    """What the last turn was about: the one thing that its question names, else the one that answered it."""
    found = names.link(turn.question)
    kinds = {sub for item in found if item.kind == "class" for sub in names.schema.subclasses(item.iri)}
    if len(turn.values) == 1:  # "the dearest hotel in A": the hotel, not A
        answers = [item for item in names.link(turn.values[0]) if item.text == turn.values[0]]
        if any(item.kind == "entity" and kinds & set(names.types(item.iri)) for item in answers):
            return turn.values[0]
    linked = [item for item in found if item.kind in ("entity", "value")]
    places = {(item.start, item.end) for item in linked}
    if len(places) == 1:
        item = linked[0]
        return turn.question[item.start : item.end]
    return turn.values[0] if len(turn.values) == 1 else ""


def narrowed(query: str, thing: NamedNode) -> str:
    """A query with one of the things that its VALUES lists, that of a choice; empty where none lists it."""
    for match in re.finditer(r"VALUES (\?\w+) \{ ([^{}]*) \}", query):
        if str(thing) in match[2].split():
            return f"{query[: match.start()]}VALUES {match[1]} {{ {thing} }}{query[match.end() :]}"
    return ""


def joined(turn: Turn, text: str) -> str:
    """The earlier question with a detail added to it."""
    question = turn.question.rstrip(" ?？。.!！")
    detail = _TRAIL.sub("", _TRAIL_ZH.sub("", _LEAD.sub("", text))).strip()
    return f"{question}，{detail}？" if has_han(question) else f"{question}, {detail}?"


def shown(options: Sequence[Option]) -> tuple[str, ...]:
    """The options as they are shown."""
    return tuple(option.shown for option in options)
