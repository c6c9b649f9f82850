"""What a turn means that leans on the last by a day, a thing of the scheme, or a place in an order of times."""

# ruff: noqa: E501
from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime

from pyoxigraph import Literal, NamedNode

from kgplatform.questions.dialogue.follow import is_fragment
from kgplatform.questions.dialogue.frames import Frame
from kgplatform.questions.dialogue.looking import as_moment
from kgplatform.questions.dialogue.moments import day_spans, window
from kgplatform.questions.dialogue.parsing import Constraint, Parsed, masked
from kgplatform.questions.dialogue.turns import Turn
from kgplatform.text import has_han
from kgplatform.types import Solutions

_AFTER_THAT = re.compile(
    r"\W*(?:and|then|ok(?:ay)?|so)?[\s,]*(?:what(?:['’]s| is| comes| about)?|which (?:one|flight)(?: is| comes)?|how about)?\s*(?:the )?(?:next |second )?"
    r"(?:one|flight|plane)?\s*(?:after|following)\s+(?:it|that|this)(?: one| flight)?\W*"
    r"|\W*(?:and|then)?\s*(?:the )?next(?: one)?\W*|\W*(?:no[\s,]*)?not (?:that|this)(?: one)?\W*"
    r"|\W*(?:那|然后)?(?:再下一[个班架趟]|之后(?:的?那?一?[个班架趟])?(?:呢)?|再之后(?:呢)?|再后面(?:呢)?|下一[个班]呢|不是这[个班])\W*",
    re.IGNORECASE,
)
_EMPTY = re.compile(
    r"\W*(?:\b(?:and|but|so|ok|okay|then|what|how|about|for|on|in|at|the|instead|please|same|it|that)\b\W*|那么?|呢|还有|换成|在|的)*\W*",
    re.IGNORECASE,
)
_PRONOUN = re.compile(
    r"\b(?:it|they|(?:that|this|the) (?:flight|one|plane))\b(?!['’]s\b)|\bits\b|它(?!们)|[该这那]个?航班|这班|那班",
    re.IGNORECASE,
)


def is_after_that(text: str) -> bool:
    """Whether a text asks for the one after the last answer: "and the one after that?", 再下一个."""
    return _AFTER_THAT.fullmatch(text) is not None


def after_last(turn: Turn, frame: Frame, run: Callable[[str], Solutions]) -> NamedNode | None:
    """The thing that the last turn's query finds after its last answer, in the order of their moments."""
    if not turn.query or not turn.values or "?moment" not in turn.query:
        return None
    rows = [
        (row[1].value, frame.names.label(row[0]), row[0])
        for row in run(turn.query).rows
        if len(row) > 1 and isinstance(row[0], NamedNode) and isinstance(row[1], Literal) and as_moment(row[1].value)
    ]
    rows = sorted(set(rows), key=lambda row: row[:2])
    places = [place for place, (_, label, _) in enumerate(rows) if label == turn.values[-1]]
    if not places or places[0] + 1 >= len(rows):
        return None
    return rows[places[0] + 1][2]


def other_time(text: str, turn: Turn, now: datetime) -> str:
    """The last question with the time of a text that says no more than a time; empty where it says more, or none."""
    found = window(text, now)
    if found is None or _EMPTY.fullmatch(masked(text, found.spans)) is None:
        return ""
    before = window(turn.question, now)
    gone = list(day_spans(turn.question, now)) if not found.sharp else list(before.spans) if before else []
    if before is not None and not gone and not before.sharp:
        gone = list(before.spans)
    said = " ".join(text[start:end] for start, end in found.spans)
    lead = re.search(
        r"(?:\b(?:before|after|until|till|since|around|about|from|at|between)\s+|大约)$",
        text[: min(s for s, _ in found.spans)],
    )
    left = re.sub(r"\s{2,}", " ", masked(turn.question.rstrip(" ?？。.!！"), gone)).strip(" ,，")
    left = re.sub(r"\b(?:on|at|in|for|of|before|after|since|around|from|between)(?:\s+the)?$", "", left).strip()
    detail = f"{lead.group() if lead else ''}{said}"
    return f"{detail}{left}？" if has_han(left) else f"{left} {detail}?"


def other_thing(text: str, new: Parsed, old: Parsed, frame: Frame) -> str:
    """The last question with what the text names put where that has something by the same property; else empty."""
    if not is_fragment(text):
        return ""
    for item in new.constraints:
        predicates = {predicate for predicate, _ in item.pairs}
        same = [c for c in old.constraints if predicates & {predicate for predicate, _ in c.pairs}]
        if same and set(same[0].pairs) != set(item.pairs):
            low, high = _stretch(same)
            high += _again(old.text[high:], same[0], frame)
            rest = f"{old.text[:low]}{item.text}{old.text[high:]}"
            return rest if old.text[low:high] != item.text else ""
    return ""


def _again(rest: str, item: Constraint, frame: Frame) -> int:
    """How far another word of the glossary for the same thing reaches, right after its name: KLM荷航."""
    said = [word.text for name, word in frame.jargon if set(frame.pairs(name)) & set(item.pairs)]
    return max((len(text) for text in said if rest.casefold().startswith(text.casefold())), default=0)


def _stretch(found: list[Constraint]) -> tuple[int, int]:
    """From where to where names that touch one another reach, from the first on."""
    found = sorted(found, key=lambda item: item.start)
    low, high = found[0].start, found[0].end
    for item in found[1:]:
        high = max(high, item.end) if item.start <= high + 1 else high
    return low, high


def with_code(text: str, new: Parsed, old: Parsed, turn: Turn, frame: Frame) -> str:
    """The text with the code that the last turn was about in place of "it", and its day; else empty."""
    match = _PRONOUN.search(text)
    if match is None or new.codes or new.identifiers or is_fragment(text):
        return ""
    named = (*old.identifiers, *old.codes)
    answered = [value for value in turn.values if value in frame.identifiers]
    thing = named[0] if len(named) == 1 else answered[0] if not named and len(answered) == 1 else ""
    if not thing:
        return ""
    own = "'s" if match.group().casefold() == "its" else ""
    when = ""
    if old.window is not None and old.window.whole and new.window is None and thing in old.codes:
        when = " ".join(old.text[start:end] for start, end in old.window.spans)
    body = f"{text[: match.start()]}{thing}{own}{text[match.end() :]}"
    if not when:
        return body
    return f"{when}{body}" if has_han(body) else f"{body.rstrip(' ?')} {when}?"
