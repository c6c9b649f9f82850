"""A question cut into mentions: the stretches that name something, all they may stand for, and the cues between."""

from __future__ import annotations

from dataclasses import dataclass

from kgplatform.questions.cues import Cues, read_cues
from kgplatform.questions.names import Name, NameIndex, Span, Token, tokens_of
from kgplatform.questions.wording import ADJECTIVES, FUNCTION_WORDS, HAN_FUNCTION, SUPERLATIVES
from kgplatform.text import has_han, language_of

_OPTIONS = 6


@dataclass(frozen=True, slots=True)
class Mention:
    """Tokens ``first`` to before ``last`` and what they may stand for; equal names of a kind are one option."""

    first: int
    last: int
    options: tuple[Option, ...]


@dataclass(frozen=True, slots=True)
class Option:
    """One reading of a mention: the same kind, several terms if they share name and classes."""

    kind: str
    names: tuple[Name, ...]
    score: float


@dataclass(frozen=True, slots=True)
class Reading:
    """A question as read: tokens, mentions in order, cues, and the weight of every token (0: function word)."""

    text: str
    language: str
    tokens: tuple[Token, ...]
    mentions: tuple[Mention, ...]
    cues: Cues
    weights: tuple[float, ...]

    def uncovered(self) -> tuple[str, ...]:
        """The words nobody understood."""
        covered = {i for m in self.mentions for i in range(m.first, m.last)} | self.cues.used
        left = [i for i, weight in enumerate(self.weights) if weight > 0 and i not in covered]
        words: list[str] = []
        previous = -2
        for i in left:
            if i == previous + 1 and has_han(self.tokens[i].text) and words:
                words[-1] += self.tokens[i].text
            else:
                words.append(self.tokens[i].text)
            previous = i
        return tuple(words)

    def coverage(self) -> float:
        """The share of the content words that are understood, 0..1."""
        covered = {i for m in self.mentions for i in range(m.first, m.last)} | self.cues.used
        total = sum(self.weights)
        return sum(w for i, w in enumerate(self.weights) if i in covered) / total if total else 0.0


def read(text: str, names: NameIndex) -> Reading:
    """The question as mentions and cues."""
    tokens = tokens_of(text)
    weights = tuple(_weight(token.text) for token in tokens)
    things = names.things(tokens, text)
    terms = names.schema_terms(tokens, text)
    chosen = _best_cover([*things, *terms], tokens, weights)
    mentions = [_mention(span, names) for span in chosen]
    unread = _misspelt(text, tokens, weights, mentions, names)
    mentions = sorted((*mentions, *unread), key=lambda m: m.first)
    taken = frozenset(i for m in mentions for i in range(m.first, m.last))
    cues = read_cues(text, tokens, taken)
    return Reading(text, language_of(text), tuple(tokens), tuple(mentions), cues, weights)


def _weight(word: str) -> float:
    plain = word.casefold()
    if plain in FUNCTION_WORDS or plain in HAN_FUNCTION:
        return 0.0
    return 0.5 if has_han(plain) else 1.0


def _best_cover(spans: list[Span], tokens: list[Token], weights: tuple[float, ...]) -> list[Span]:
    """The spans without overlap that explain most of the question."""
    merged: dict[tuple[int, int], list[Name]] = {}
    for span in spans:
        merged.setdefault((span.first, span.last), []).extend(span.names)
    values = {place: _value(place, names, tokens, weights) for place, names in merged.items()}
    best: list[tuple[float, tuple[tuple[int, int], ...]]] = [(0.0, ())]
    for end in range(1, len(tokens) + 1):
        top = best[end - 1]
        for place in merged:
            if place[1] == end and values[place] > 0:
                value = best[place[0]][0] + values[place]
                if value > top[0]:
                    top = (value, (*best[place[0]][1], place))
        best.append(top)
    return [Span(first, last, tuple(merged[first, last])) for first, last in best[-1][1]]


def _value(place: tuple[int, int], names: list[Name], tokens: list[Token], weights: tuple[float, ...]) -> float:
    weight = sum(weights[place[0] : place[1]])
    length = place[1] - place[0]
    score = max(name.score for name in names)
    first = tokens[place[0]].text.casefold()
    if length == 1 and (first in SUPERLATIVES or first in ADJECTIVES) and score < 0.8:
        return 0.0
    if weight == 0:
        return 0.05 * score if length > 1 else 0.0
    thing = any(name.kind in ("entity", "value") for name in names)
    return weight * float(score**1.5) + 0.12 * (length - 1) * weight + (0.05 if thing else 0.0) - 0.1


def _mention(span: Span, names: NameIndex) -> Mention:
    groups: dict[tuple[object, ...], list[Name]] = {}
    for name in sorted(span.names, key=lambda n: -n.score):
        if name.kind == "entity":
            key: tuple[object, ...] = ("entity", round(name.score, 1), _kin(name, groups, names))
        else:
            key = (name.kind, name.predicate, name.term if name.kind != "value" else "")
        groups.setdefault(key, []).append(name)
    options = [Option(found[0].kind, tuple(found), found[0].score) for found in groups.values()]
    best = max(option.score for option in options)
    kept = [option for option in options if option.score >= best - 0.35]
    return Mention(span.first, span.last, tuple(sorted(kept, key=lambda o: -o.score)[:_OPTIONS]))


def _kin(name: Name, groups: dict[tuple[object, ...], list[Name]], names: NameIndex) -> object:
    """What tells a group of namesakes: a class they share."""
    types = set(names.types(name.term))
    for key, found in groups.items():
        if key[:2] == ("entity", round(name.score, 1)) and types & set(names.types(found[0].term)):
            return key[2]
    return name.term


def _misspelt(
    text: str, tokens: list[Token], weights: tuple[float, ...], mentions: list[Mention], names: NameIndex
) -> list[Mention]:
    """Names close to runs of content words that nothing explains."""
    covered = {i for m in mentions for i in range(m.first, m.last)}
    found = []
    run: list[int] = []
    for i in range(len(tokens) + 1):
        usable = i < len(tokens) and i not in covered and (weights[i] > 0) and not tokens[i].text.isdigit()
        if usable:
            run.append(i)
            continue
        if run and len(run) <= 6:
            near = _near_mention(text, tokens, run, names)
            if near is not None:
                found.append(near)
        run = []
    return found


def _near_mention(text: str, tokens: list[Token], run: list[int], names: NameIndex) -> Mention | None:
    phrase = text[tokens[run[0]].start : tokens[run[-1]].end]
    plain = phrase.casefold()
    if plain in SUPERLATIVES or plain in ADJECTIVES or len(phrase) < (2 if has_han(phrase) else 4):
        return None
    near = [name for name in names.near(phrase, 4) if name.score >= (0.7 if has_han(phrase) else 0.6)]
    if not near:
        return None
    return _mention(Span(run[0], run[-1] + 1, tuple(near)), names)
