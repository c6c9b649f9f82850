"""Names said with what they are the name of: "Snake River" for a river called Snake, "Mt. Shasta", 特拉华河."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from pyoxigraph import NamedNode

from kgplatform.questions.names import NameIndex, Span
from kgplatform.questions.tokens import Token
from kgplatform.questions.wording import FUNCTION_WORDS, SUPERLATIVES, keys
from kgplatform.text import has_han, singular

_SHORT: Final = {"mt": "mountain", "mtn": "mountain", "mount": "mountain", "ft": "fort", "univ": "university"}
"""What kinds are called in names where they are not written out."""
_ONE_OF_MANY: Final = frozenset(
    "which what whose every each all no another other 哪 几 个 每 各".split()  # noqa: SIM905
)
_INDEFINITE: Final = frozenset(("a", "an", "any", "some"))
_ARTICLES: Final = frozenset(("the", "a", "an", "this", "that"))
_NEAR: Final = 2
_OF: Final = frozenset(("of", "the"))
_LEAST: Final = 0.75
_OUTRIGHT: Final = 0.9
_BY_SENSE: Final = 0.85
_SAID: Final = 0.03
"""What a thing of the class that is said has over another whose whole name the words are."""
_LONGEST_KIND: Final = 3
_LONGEST_HAN: Final = 4


def with_kinds(found: list[Span], terms: list[Span], tokens: list[Token], text: str, names: NameIndex) -> list[Span]:
    """The stretches that are a name of a thing and a word for its class, beside those found already.

    ``terms``: those that name classes and properties; a word inside the name of one says no kind.
    """
    longer = [term for term in terms if term.last - term.first > 1 and term.names[0].score >= _OUTRIGHT]
    kinds = [
        kind
        for kind in _kinds(tokens, text, names)
        if not any(t.first <= kind[0] and kind[1] <= t.last and t.last - t.first > kind[1] - kind[0] for t in longer)
    ]
    if not kinds:
        return []
    covers: dict[NamedNode, frozenset[NamedNode]] = {}
    spans: list[Span] = []
    for span in found:
        entities = [name for name in span.names if name.kind == "entity"]
        for first, last, classes in kinds if entities else ():
            if not _beside(span, first, last, tokens) or _does(span, first, last, tokens):
                continue
            for class_ in classes:
                covers.setdefault(class_, frozenset(names.schema.subclasses(class_)) | {class_})
            of_it = frozenset(iri for class_ in classes for iri in covers[class_])
            fitting = tuple(
                replace(name, score=name.score + _SAID) for name in entities if of_it & set(names.types(name.term))
            )
            start, end = min(first, span.first), max(last, span.last)
            if fitting and not _one_of_many(tokens, start):
                spans.append(Span(start, end, fitting))
    return spans


def _beside(span: Span, first: int, last: int, tokens: list[Token]) -> bool:
    """Whether a kind stands right behind a name, or before it with at most "of" between; Chinese kinds stand behind."""
    if has_han(tokens[first].text):
        return first == span.last and tokens[first].start == tokens[first - 1].end
    if first == span.last:
        return True
    between = {token.text.casefold() for token in tokens[last : span.first]} if last <= span.first else {"-"}
    return span.first - last <= 1 and between <= _OF


def _does(span: Span, first: int, last: int, tokens: list[Token]) -> bool:
    """Whether a word before a name may be what is done with the thing, not what it is: "eat cake", "who painted X".

    A kind has an article there, "of" behind it, or is written as a part of the name: "the river Po", "Lake Erie".
    """
    if has_han(tokens[first].text) or last > span.first or tokens[first].text[:1].isupper():
        return False
    return last == span.first and (not first or tokens[first - 1].text.casefold() not in _ARTICLES)


def _one_of_many(tokens: list[Token], start: int) -> bool:
    """Whether the words before ask for one of several: "which Ohio river" is no name."""
    before = [token.text.casefold() for token in tokens[max(0, start - _NEAR) : start + 1]]
    word = before[-2] if start else ""
    indefinite = bool(_INDEFINITE.intersection(before))
    return indefinite or bool(_ONE_OF_MANY.intersection(before[-2:])) or word in SUPERLATIVES or word.endswith("est")


def _kinds(tokens: list[Token], text: str, names: NameIndex) -> Iterator[tuple[int, int, frozenset[NamedNode]]]:
    """Where the question has a word for a class in the singular, and the classes."""
    for first, token in enumerate(tokens):
        longest = _LONGEST_HAN if has_han(token.text) else _LONGEST_KIND
        for last in range(first + 1, min(len(tokens), first + longest) + 1):
            said = text[token.start : tokens[last - 1].end]
            word = tokens[last - 1].text.casefold()
            if has_han(token.text) != has_han(tokens[last - 1].text):
                break
            ends = {token.text.casefold(), word}
            if has_han(said) or (singular(word) == word and not ends & FUNCTION_WORDS):
                classes = _called(said, names) | names.schema.han_kinds.get(said, frozenset())
                if classes:
                    yield first, last, classes


def _called(said: str, names: NameIndex) -> frozenset[NamedNode]:
    """The classes that words are a name of, whole or by their sense."""
    listed = (
        (name, name.score * (_BY_SENSE if by_sense else 1.0))
        for key, by_sense in keys(_SHORT.get(said.casefold(), said))
        for name in names.terms.get(key, ())
    )
    return frozenset(
        name.term
        for name, score in listed
        if name.kind == "class" and score >= _LEAST and isinstance(name.term, NamedNode)
    )
