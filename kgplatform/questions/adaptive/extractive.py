"""An answer taken from passages word for word: the sentence that fits the question best, with its place.

How sure the answer is comes from the evidence: what share of the question's words the sentence says, whether it says
what is asked of the names (a sentence that only names them tells something else of them), whether something of the kind
asked for stands near, and whether other sentences answer otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from kgplatform.protocols import Embedder
from kgplatform.questions.adaptive.passages import PassageAnswer, cited_text
from kgplatform.questions.adaptive.rating import Candidate, is_about_another, rated
from kgplatform.questions.adaptive.spans import Sought
from kgplatform.questions.adaptive.wanted import Wanted, wanted
from kgplatform.text import normalise
from kgplatform.types import Evidence

_FAR: Final = 0.35
_MORE: Final = 3
_CLOSE: Final = 0.9
_SAID: Final = 0.8
"""The least share of the relations asked for that a sure answer's sentence says."""
_WHAT_IS = re.compile(
    r"what (?:is|are|was|were) (?:an? |the )?([^\s?]+(?: [^\s?]+)?)\s*\?*$"
    r"|什么是(.{1,12}?)[？?]*$|(.{1,12}?)是什么[？?]*$",
    re.IGNORECASE,
)
_OF_NOW = re.compile(
    r"\b(?:today|now|currently|current|latest|tonight|this (?:week|month|year))\b"
    r"|今天|现在|目前|当前|最新|本[周月]|今年",
    re.IGNORECASE,
)


def extracted(question: str, passages: Sequence[Evidence], *, embedder: Embedder | None = None) -> PassageAnswer:
    """The answer that the passages give in their own words; none where no sentence has a word of the question."""
    asked = wanted(question)
    ranked = rated(asked, passages, embedder)
    if not ranked or not ranked[0].covered:
        return PassageAnswer(notes=("no passage has a word of the question",))
    chosen = _chosen(ranked, asked)
    read = [part for item in chosen for part in (item.via, item) if part is not None]
    evidence = tuple(dict.fromkeys(_evidence(item, passages) for item in read))
    text = cited_text([(item.text, [evidence.index(_evidence(item, passages)) + 1]) for item in read])
    values = tuple(dict.fromkeys(item.value for item in chosen if item.value))
    return PassageAnswer(text, values, evidence, _confidence(ranked, asked, passages))


def _chosen(ranked: Sequence[Candidate], asked: Wanted) -> list[Candidate]:
    """The best sentence; for reasons, ways and lists also those that are nearly as good."""
    several = asked.kind in (Sought.REASON, Sought.WAY) or (asked.kind is Sought.NAME and _is_list(asked.text))
    best = ranked[0]
    if not several:
        return [best]
    kept = [item for item in ranked[:_MORE] if item.score >= _CLOSE * best.score and item.fitting == best.fitting]
    return list({item.text: item for item in kept}.values())


def _is_list(question: str) -> bool:
    plain = f" {normalise(question)} "
    return "哪些" in question or any(mark in plain for mark in (" are ", " were ", " all ", " list "))


def _evidence(item: Candidate, passages: Sequence[Evidence]) -> Evidence:
    """The sentence as a span of its document."""
    passage = passages[item.passage]
    quote = passage.quote[item.start : item.end]
    return replace(passage, quote=quote, start=passage.start + item.start, end=passage.start + item.end)


def _defines(sentence: str, question: str) -> bool:
    """Whether a sentence says what a thing is, where just that is asked; true for any other question."""
    match = _WHAT_IS.match(question.strip())
    if match is None:
        return True
    thing = re.escape(normalise(match[1] or match[2] or match[3]))
    is_ = r"\s*(?:\([^)]*\)|（[^）]*）)?\s*(?:is|are|was|were|refers to|means|是|指|即|为)"
    return re.search(rf"(?:^|[,，;；]\s*)(?:the |an? )?{thing}s?{is_}", normalise(sentence)) is not None


def _confidence(ranked: Sequence[Candidate], asked: Wanted, passages: Sequence[Evidence]) -> float:
    best = ranked[0]
    has_place = best.place is not None
    confidence = 0.6 * best.covered + 0.15 * min(1.0, best.alike * 1.25) + 0.1 * best.fitting + 0.15 * best.strength
    for least in _limits(ranked, asked, passages):
        confidence = min(confidence, least)
    if not has_place and asked.kind not in (Sought.REASON, Sought.WAY, Sought.TRUTH):
        confidence = min(confidence, 0.45)
    return round(max(0.05, min(0.95, confidence)), 3)


def _limits(ranked: Sequence[Candidate], asked: Wanted, passages: Sequence[Evidence]) -> list[float]:
    """How sure an answer can be at most, by each reason to doubt it that holds."""
    best = ranked[0]
    read = [item for item in (best.via, best) if item is not None]
    near = normalise(" ".join(f"{item.title} {passages[item.passage].quote}" for item in read))
    held = [
        (any(normalise(name) not in near for name in asked.names), _FAR),
        (best.related < _SAID, 0.4 + 0.3 * best.related),
        (not best.fitting, 0.45),
        (asked.kind is Sought.TRUTH or not _defines(best.text, asked.text), 0.55),
        (is_about_another(asked, best), 0.6),
        # a text tells a way in part, and what was so when it was written
        (asked.kind is Sought.WAY or _OF_NOW.search(asked.text) is not None, 0.7),
        (_is_contested(ranked) or best.via is not None, 0.7),
    ]
    return [least for holds, least in held if holds]


def _is_contested(ranked: Sequence[Candidate]) -> bool:
    """Whether another sentence that says as much gives another value."""
    best = ranked[0]
    for other in ranked[1:4]:
        as_good = other.covered >= best.covered - 0.02 and other.strength >= best.strength - 0.05
        if as_good and best.value and other.value and normalise(best.value) not in normalise(other.text):
            return True
    return False
