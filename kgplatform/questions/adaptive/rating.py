"""Sentences of passages rated as the answer to a question, each with the stretch in it that answers best.

A sentence counts by the share of the question's words that it holds (rare words more), its likeness in meaning, and how
near the question's words stand to a stretch of the kind asked for.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

from kgplatform.protocols import Embedder
from kgplatform.questions.adaptive.passages import terms_of
from kgplatform.questions.adaptive.spans import Sought, fits, names_in, spans
from kgplatform.questions.adaptive.wanted import Term, Wanted, options
from kgplatform.questions.wording import senses, stem
from kgplatform.retrieval.terms import analyzer
from kgplatform.text import has_han, language_of, normalise, sentences
from kgplatform.types import Evidence

_EMBEDDED: Final = 16
_LONGEST: Final = 600
_AROUND: Final = 0.8
"""What a name counts that only the passage's title or the sentence before says."""
_RELATED: Final = 0.7
"""What a relation counts that a sentence says in another word."""
_STRAY: Final = 0.3
"""What a relation counts that only title or sentence before say."""
_HEADS: Final = 10
_SHORT: Final = 3
_GAIN: Final = 0.1
"""What the second of two sentences has to add at least."""
_CHAINED: Final = 0.92
_WORD = re.compile(r"[^\W_㐀-鿿豈-﫿]+")
_WHOLE: Final = frozenset(("state", "countri", "provinc", "nation", "continent", "省", "国家"))
"""What names after a comma are of, as places are written: "Dover, Kent"."""
_GAP: Final = 30.0
_HAN_GAP: Final = 10.0
_CLAUSE = re.compile(r"[,;:()\[\]，；：（）—]| - | but | while ")
_BY = re.compile(r"(?:\bby|\bnamed after|由|被)\s*(?:the |an? )?(?:[a-z]+ ){0,2}$", re.IGNORECASE)
_IN = re.compile(r"(?:\b(?:in|at|near|on|of|to|from)(?: the)?|位于|坐落于|地处|在)\s*$", re.IGNORECASE)
_PRONOUN = re.compile(
    r"^\W*(?:it|he|she|they|its|his|her|their|this|that|these|both|the|here|there|其|它|他|她|该|这|全|门票|始建)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A sentence of a passage with what is known of its fitness.

    ``covered``, ``related``: the shares of all words and of the relations that are said; ``alike``: the cosine;
    ``place``: where the answer stands in ``text``, with its ``strength``; ``lent``: names are said around it only;
    ``via``: the sentence of another passage that leads to this one, where both together answer.
    """

    passage: int
    start: int
    end: int
    text: str
    title: str
    before: str
    covered: float = 0.0
    related: float = 1.0
    alike: float = 0.0
    fitting: bool = False
    place: tuple[int, int] | None = None
    strength: float = 0.0
    lent: bool = False
    via: Candidate | None = None

    @property
    def score(self) -> float:
        """How well it answers, about 0 to 1."""
        return 0.5 * self.covered + 0.15 * self.alike + 0.15 * self.fitting + 0.2 * self.strength

    @property
    def value(self) -> str:
        """The answering stretch; empty where there is none."""
        return (
            self.text[slice(*self.place)].strip(" ,.;:，。；：、*").removesuffix("'s").removesuffix("’s")
            if self.place
            else ""
        )


def rated(question: Wanted, passages: Sequence[Evidence], embedder: Embedder | None) -> list[Candidate]:
    """The sentences of the passages, the best first; those without a word of the question last."""
    found = list(_candidates(passages))
    weights = _weights(question, found)
    with_words = [_held(question, weights, item) for item in found]
    best = sorted(with_words, key=_order)[:_EMBEDDED]
    single = [_strong(question, weights, item) for item in _with_likeness(question, best, embedder)]
    return sorted((*single, *_chains(question, weights, with_words)), key=_order)


def _order(item: Candidate) -> tuple[float, int, int]:
    return -round(item.score, 6), item.passage, item.start


def _candidates(passages: Sequence[Evidence]) -> Iterator[Candidate]:
    for number, passage in enumerate(passages):
        before = ""
        for start, end in sentences(passage.quote):
            text = " ".join(passage.quote[start:end].split())
            if _is_sentence(text):
                yield Candidate(number, start, end, text, passage.title, before)
                before = text


def _is_sentence(text: str) -> bool:
    """Whether a text says something: no heading, no row of a menu, nothing endless."""
    long_enough = len(text) >= 6 if has_han(text) else text.count(" ") >= 3
    return long_enough and len(text) <= _LONGEST and not text.startswith("#") and not text.endswith(("?", "？"))


# words


def _weights(question: Wanted, found: Sequence[Candidate]) -> dict[Term, float]:
    """What each term of the question counts: more, the fewer sentences say it."""
    held = {term: sum(_says(term, item.text) >= 1.0 for item in found) for term in question.terms}
    return {term: math.log(1 + (len(found) + 1) / (1 + held[term])) for term in question.terms}


@lru_cache(maxsize=4_096)
def _forms(text: str) -> frozenset[str]:
    return terms_of(text)


@lru_cache(maxsize=32_768)
def _says(term: Term, text: str) -> float:
    """How far a text says a term: 1 in its own word, less in one of the same sense or family."""
    if has_han(term.form):
        return _says_han(term, text)
    forms = _forms(text)
    if term.form in forms:
        return 1.0
    if len(term.form) >= 4 and any(_is_family(term.form, form) for form in forms):
        return _RELATED
    return _RELATED if term.senses & _senses_in(text) else 0.0


def _says_han(term: Term, text: str) -> float:
    if term.form in text:
        return 1.0
    if term.is_name:
        pairs = [term.form[at : at + 2] for at in range(len(term.form) - 1)]
        return sum(pair in text for pair in pairs) / len(pairs) if pairs else 0.0
    if term.senses & _senses_in(text):
        return _RELATED
    return (
        _RELATED
        if len(term.form) == 2 and any(mark in text for mark in (f"{term.form[0]}于", f"{term.form[1]}于"))
        else 0.0
    )


def _is_family(one: str, other: str) -> bool:
    """Whether two stems are of one word family: the same beginning, endings of at most three letters."""
    least = max(4, min(len(one), len(other)) - 1)
    return one[:least] == other[:least] and abs(len(one) - len(other)) <= 3


@lru_cache(maxsize=4_096)
def _senses_in(text: str) -> frozenset[str]:
    """The senses that the single words of a text have."""
    known = senses()
    found = {name for word in _WORD.findall(text) for name in known.get((stem(word),), ())}
    if has_han(text):
        found |= {
            name
            for key, names in known.items()
            if len(key) == 1 and has_han(key[0]) and key[0] in text
            for name in names
        }
    return frozenset(found)


def _held(question: Wanted, weights: dict[Term, float], item: Candidate) -> Candidate:
    total = sum(weights.values()) or 1.0
    own = {term: _says(term, item.text) for term in weights}
    around = {term: max(_says(term, item.title), _says(term, item.before)) for term in weights if own[term] < 1.0}
    if not any(own.values()):
        return replace(item, related=0.0)
    covered = 0.0
    lent = False
    for term, weight in weights.items():
        lending = _AROUND if term.is_name or not question.cased else _STRAY
        borrowed = lending * around.get(term, 0.0)
        covered += weight * max(own[term], borrowed)
        lent = lent or (term.is_name and borrowed > own[term] and _says(term, item.title) < 1.0)
    asked = [term for term in weights if not term.is_name]
    wanted = sum(weights[term] for term in asked)
    said = sum(
        weights[term] * max(own[term], 0.0 if question.cased or question.is_han else _said_by_title(term, item))
        for term in asked
    )
    return replace(
        item,
        covered=covered / total,
        related=said / wanted if wanted else 1.0,
        fitting=fits(question.kind, item.text, question.text),
        lent=lent,
    )


def _said_by_title(term: Term, item: Candidate) -> float:
    return _AROUND * _says(term, item.title)


def _with_likeness(question: Wanted, found: list[Candidate], embedder: Embedder | None) -> list[Candidate]:
    """The candidates with their likeness in meaning; without a fit model it is their coverage."""
    known = frozenset(getattr(embedder, "languages", None) or ())
    if embedder is None or not found or (known and language_of(question.text) not in known):
        return [replace(item, alike=item.covered) for item in found]
    vectors = embedder.embed([question.text, *(item.text for item in found)])
    cosines = vectors[1:] @ vectors[0]
    return [replace(item, alike=max(0.0, float(cosine))) for item, cosine in zip(found, cosines, strict=True)]


# the stretch that answers


def _strong(question: Wanted, weights: dict[Term, float], item: Candidate) -> Candidate:
    """The candidate with the stretch that answers best."""
    found = _places(question, item.text)
    if not found:
        return item
    counts = {term: weight * (1.0 if term.is_name else 2.0) for term, weight in weights.items()}
    anchors = [(term, count, place) for term, count in counts.items() for place in _found(term, item.text)]
    most = sum(counts.values()) or 1.0
    scored = [(_worth(question, item.text, span, anchors, most), -span[0], span) for span in found]
    worth, _, span = max(scored)
    return replace(item, place=span, strength=min(1.0, worth))


def _places(question: Wanted, text: str) -> list[tuple[int, int]]:
    chosen = options(question.text)
    if chosen:
        plain = text.casefold()
        found = [(plain.find(name.casefold()), name) for name in chosen]
        return [(at, at + len(name)) for at, name in found if at >= 0]
    return spans(question.kind, text, question.text)


def _found(term: Term, text: str) -> list[tuple[int, int]]:
    """Where a text says a term."""
    if has_han(term.form):
        return [match.span() for match in re.finditer(re.escape(term.form), text)]
    return [
        match.span()
        for match in _WORD.finditer(text)
        if term.form in (forms := _stemmed(match.group()))
        or (len(term.form) >= 4 and any(_is_family(term.form, f) for f in forms))
    ]


@lru_cache(maxsize=16_384)
def _stemmed(word: str) -> tuple[str, ...]:
    return tuple(analyzer().analyze(word))


def _worth(
    question: Wanted,
    text: str,
    span: tuple[int, int],
    anchors: Sequence[tuple[Term, float, tuple[int, int]]],
    most: float,
) -> float:
    """How well a stretch answers, about 0 to 1: by its nearness to the question's words, and what stands before it."""
    start, end = span
    scale = _HAN_GAP if has_han(text[start:end]) else _GAP
    near: dict[Term, float] = {}
    for term, weight, (a, b) in anchors:
        if a < end and b > start and not question.focus:
            continue  # the stretch holds a word of the question: it is not said of it
        between = text[end:a] if a >= end else text[b:start]
        gap = max(0, len(between)) / scale + len(_CLAUSE.findall(between)) * 0.5
        near[term] = max(near.get(term, 0.0), weight / (1.0 + gap))
    worth = sum(near.values()) / most
    lead = text[max(0, start - 30) : start]
    if question.kind is Sought.PERSON and _BY.search(lead):
        worth += 0.35
    if question.kind is Sought.PLACE and _IN.search(lead):
        worth += 0.3
    if question.focus and _is_of(question.focus, text, span):
        worth += 0.4
    if (
        question.kind in (Sought.PERSON, Sought.PLACE, Sought.NAME)
        and not has_han(text[start:end])
        and text[start:end].islower()
    ):
        worth -= 0.2 if question.kind is Sought.NAME else 0.5
    if question.kind is Sought.PERSON and re.search(r"\d", text[start:end]):
        worth -= 0.5
    if question.focus & _WHOLE and re.search(r"[,，]\s*$", lead):
        worth += 0.9  # "in Ford County, Kansas": the preposition is Kansas's too, and the comma parts nothing
    return worth


def _is_of(focus: frozenset[str], text: str, span: tuple[int, int]) -> bool:
    """Whether a stretch is one of what was asked for by name: the word stands in it or beside it."""
    around = text[max(0, span[0] - 16) : span[1] + 16]
    if any(has_han(form) and form in around for form in focus):
        return True
    words = _WORD.findall(text[span[0] : span[1]])
    words += _WORD.findall(text[span[1] :])[:2] + _WORD.findall(text[: span[0]])[-1:]
    return any(form in focus for word in words for form in _stemmed(word))


# two sentences that answer together


def _chains(question: Wanted, weights: dict[Term, float], found: Sequence[Candidate]) -> list[Candidate]:
    """Sentences that answer what a sentence of another passage leaves open: one of both names the other's title."""
    total = sum(weights.values()) or 1.0
    heads = sorted((item for item in found if item.covered), key=lambda item: (-item.covered, item.passage, item.start))
    plain = normalise(question.text)
    chains = []
    for head in heads[:_HEADS]:
        said = {term: max(_says(term, head.text), _says(term, head.title)) for term in weights}
        left = {term: weight for term, weight in weights.items() if said[term] < _RELATED}
        names = {normalise(name) for name in (*names_in(f"x {head.text}"), _bare(head.title))}
        bridges = {name for name in names if len(name) > _SHORT and name not in plain}
        for tail in found if left and bridges else ():
            if tail.passage == head.passage or not tail.fitting or not _leads_to(bridges, head, tail):
                continue
            own = {term: _says(term, tail.text) for term in left}
            gain = sum(weight * own[term] for term, weight in left.items()) / total
            covered = sum(weight * max(said[term], own.get(term, 0.0)) for term, weight in weights.items()) / total
            if gain >= _GAIN and covered >= max(head.covered, tail.covered) + _GAIN:
                chain = replace(_strong(question, left, tail), covered=_CHAINED * covered, alike=covered, via=head)
                chains.append(replace(chain, related=_CHAINED * covered))
    return chains


def _bare(title: str) -> str:
    """A title without what tells it from others of the name: "Mercury (planet)"."""
    return re.sub(r"\s*[(（][^)）]*[)）]\s*$", "", title)


def _leads_to(bridges: set[str], head: Candidate, tail: Candidate) -> bool:
    title = normalise(_bare(tail.title))
    if title in bridges:
        return True
    own = normalise(_bare(head.title))
    return own in bridges and f" {own} " in f" {normalise(tail.text)} "


def is_about_another(question: Wanted, item: Candidate) -> bool:
    """Whether a sentence that borrows its subject names another before it answers."""
    if not item.lent or _PRONOUN.match(item.text):
        return False
    head = item.text[: item.place[0]] if item.place else item.text
    plain = normalise(question.text)
    if has_han(head):
        return len(head) > 12
    return any(normalise(name) not in plain for name in names_in(f"x {head}"))
