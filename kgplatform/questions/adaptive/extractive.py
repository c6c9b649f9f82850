"""An answer taken from passages word for word: the sentence that fits the question best, with its place.

A sentence is rated by the share of the question's words that it, its passage's name and the sentence before hold (rare
words count more), by its likeness in meaning, and by whether it holds something of the kind asked for. How sure the
answer is comes from the same evidence, and from the names of the question: one that stands nowhere near makes it low.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from kgplatform.protocols import Embedder
from kgplatform.questions.adaptive.passages import PassageAnswer, cited_text, terms_of
from kgplatform.questions.adaptive.spans import Sought, fits, names_in, sought, spans
from kgplatform.retrieval.terms import question_pairs, question_stems
from kgplatform.text import has_han, language_of, normalise, sentences
from kgplatform.types import Evidence

_EMBEDDED: Final = 24
_LONGEST: Final = 600
_AROUND: Final = 0.8
"""What a word counts that only the passage's name or the sentence before holds."""
_AROUND_SURE: Final = 0.4
"""What it counts for how sure the answer is."""
_FAR: Final = 0.35
_MORE: Final = 3
_CLOSE: Final = 0.9
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
_ASKING = re.compile(
    "什么时候|什么地方|是不是|是否|有没有|为什么|是谁|哪一?[年个位里儿些]?|何[时处人]|多少|谁|几|吗|呢|的|是|了|请问"
)


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A sentence of a passage with what is known of its fitness."""

    passage: int
    start: int
    end: int
    text: str
    terms: frozenset[str]
    around: frozenset[str]
    near: str
    covered: float = 0.0
    sure: float = 0.0
    alike: float = 0.0
    fitting: bool = False

    @property
    def score(self) -> float:
        return 0.6 * self.covered + 0.2 * self.alike + 0.2 * self.fitting


def extracted(question: str, passages: Sequence[Evidence], *, embedder: Embedder | None = None) -> PassageAnswer:
    """The answer that the passages give in their own words; none where no sentence has a word of the question."""
    wanted = frozenset(question_pairs(_ASKING.sub(" ", question)) if has_han(question) else ()) | _latin(question)
    kind = sought(question)
    candidates = _rated(question, wanted, kind, _candidates(passages))
    candidates = _with_likeness(question, candidates, embedder)
    ranked = sorted(candidates, key=lambda item: (-round(item.score, 6), item.passage, item.start))
    if not ranked or not ranked[0].covered:
        return PassageAnswer(notes=("no passage has a word of the question",))
    chosen = _chosen(ranked, kind, question)
    evidence = tuple(dict.fromkeys(_evidence(item, passages) for item in chosen))
    text = cited_text([(item.text, [evidence.index(_evidence(item, passages)) + 1]) for item in chosen])
    values = tuple(dict.fromkeys(value for item in chosen if (value := _value(item, kind, question, wanted))))
    return PassageAnswer(text, values, evidence, _confidence(ranked[0], kind, question))


def _latin(question: str) -> frozenset[str]:
    """The stems of the question's English words."""
    return frozenset(question_stems(question)) if re.search(r"[^\W\d_㐀-鿿]|\d", question) else frozenset()


def _candidates(passages: Sequence[Evidence]) -> list[_Candidate]:
    found = []
    for number, passage in enumerate(passages):
        title = terms_of(passage.title)
        before: frozenset[str] = frozenset()
        for start, end in sentences(passage.quote):
            text = " ".join(passage.quote[start:end].split())
            if not _is_sentence(text):
                continue
            terms = terms_of(text)
            near = f"{passage.title} {passage.quote}"
            found.append(_Candidate(number, start, end, text, terms, title | before, near))
            before = terms
    return found


def _is_sentence(text: str) -> bool:
    """Whether a text says something: no heading, no row of a menu, nothing endless."""
    long_enough = len(text) >= 6 if has_han(text) else text.count(" ") >= 3
    return long_enough and len(text) <= _LONGEST and not text.startswith("#") and not text.endswith(("?", "？"))


def _rated(question: str, wanted: frozenset[str], kind: Sought, found: list[_Candidate]) -> list[_Candidate]:
    held = Counter(term for item in found for term in wanted & item.terms)
    weights = {term: math.log(1 + (len(found) + 1) / (1 + held[term])) for term in wanted}
    total = sum(weights.values()) or 1.0
    rated = []
    for item in found:
        own = sum(weights[term] for term in wanted & item.terms)
        lent = sum(weights[term] for term in (wanted & item.around) - item.terms)
        covered = (own + _AROUND * lent) / total if own else 0.0
        sure = (own + _AROUND_SURE * lent) / total if own else 0.0
        rated.append(
            replace(item, covered=covered, sure=sure, fitting=bool(covered) and fits(kind, item.text, question))
        )
    return rated


def _with_likeness(question: str, found: list[_Candidate], embedder: Embedder | None) -> list[_Candidate]:
    """The best candidates by their words, with their likeness in meaning; without a fit model it is their coverage."""
    ranked = sorted(found, key=lambda item: (-item.score, item.passage, item.start))[:_EMBEDDED]
    known = frozenset(getattr(embedder, "languages", None) or ())
    if embedder is None or not ranked or (known and language_of(question) not in known):
        return [replace(item, alike=item.covered) for item in ranked]
    vectors = embedder.embed([question, *(item.text for item in ranked)])
    cosines = vectors[1:] @ vectors[0]
    return [replace(item, alike=max(0.0, float(cosine))) for item, cosine in zip(ranked, cosines, strict=True)]


def _chosen(ranked: Sequence[_Candidate], kind: Sought, question: str) -> list[_Candidate]:
    """The best sentence; for reasons, ways and lists also those that are nearly as good."""
    several = kind in (Sought.REASON, Sought.WAY) or (kind is Sought.NAME and _is_list(question))
    best = ranked[0]
    if not several:
        return [best]
    kept = [item for item in ranked[:_MORE] if item.score >= _CLOSE * best.score and item.fitting == best.fitting]
    return list({item.text: item for item in kept}.values())


def _is_list(question: str) -> bool:
    plain = f" {normalise(question)} "
    return "哪些" in question or any(mark in plain for mark in (" are ", " were ", " all ", " list "))


def _evidence(item: _Candidate, passages: Sequence[Evidence]) -> Evidence:
    """The sentence as a span of its document."""
    passage = passages[item.passage]
    quote = passage.quote[item.start : item.end]
    return replace(passage, quote=quote, start=passage.start + item.start, end=passage.start + item.end)


def _value(item: _Candidate, kind: Sought, question: str, wanted: frozenset[str]) -> str:
    """The stretch of the kind asked for that is nearest to the question's words; empty where there is none."""
    found = spans(kind, item.text, question)
    if not found:
        return ""
    words = [(match, match + len(part)) for part in item.text.split() for match in [item.text.find(part)]]
    anchors = [a for a, b in words if terms_of(item.text[a:b]) & wanted] or [0]
    start, end = min(found, key=lambda span: min(abs(span[0] - anchor) for anchor in anchors))
    return item.text[start:end].strip(" ,.;:，。；：")


def _defines(sentence: str, question: str) -> bool:
    """Whether a sentence says what a thing is, where just that is asked; true for any other question."""
    match = _WHAT_IS.match(question.strip())
    if match is None:
        return True
    thing = re.escape(normalise(match[1] or match[2] or match[3]))
    is_ = r"\s*(?:\([^)]*\)|（[^）]*）)?\s*(?:is|are|was|were|refers to|means|是|指|即|为)"
    return re.search(rf"(?:^|[,，;；]\s*)(?:the |an? )?{thing}s?{is_}", normalise(sentence)) is not None


def _confidence(best: _Candidate, kind: Sought, question: str) -> float:
    confidence = 0.62 * best.sure + 0.18 * min(1.0, best.alike * 1.25) + 0.2 * best.fitting
    near = normalise(best.near)
    if any(normalise(name) not in near for name in names_in(question)):
        confidence = min(confidence, _FAR)
    if not best.fitting:
        confidence = min(confidence, 0.45)
    if kind is Sought.TRUTH or not _defines(best.text, question):  # a sentence alone says neither yes nor no
        confidence = min(confidence, 0.55)
    if kind is Sought.WAY or _OF_NOW.search(question):  # a text tells a way in part, and what was so when written
        confidence = min(confidence, 0.7)
    return round(max(0.05, min(0.95, confidence)), 3)
