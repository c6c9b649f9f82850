"""Which stretches of a question are no names although they look like some: amounts, comparisons, kinds of things."""

from __future__ import annotations

import re
from collections.abc import Mapping

from pyoxigraph import NamedNode

from kgplatform.questions.names import NameIndex, Span
from kgplatform.questions.tokens import Token
from kgplatform.questions.wording import COMPARATIVES, DOING, HAN_FUNCTION, PLACE_WORDS, UNIT_SENSES
from kgplatform.text import has_han, normalise, singular

_KIND = 0.7
_INDEFINITE = frozenset(("a", "an", "any", "some", "many", "every", "each", "no"))
_NUMERAL = re.compile(r"[-+]?\d+(?:[ .,]\d+)*")
_LINKING = frozenset(("of", "is", "are", "was", "were", "=", ":", "是", "为", "等于", "等", "于"))
_PART = 0.86
_BEFORE_PLACES = frozenset("于是住址处离")
_ARTICLES = frozenset(("a", "an", "the"))
_NAMED_OUTRIGHT = 0.99
_BEFORE_AMOUNTS = frozenset(
    ("than", "least", "most", "above", "over", "under", "below", "exceeding", "exceeds", "beyond")
)
_WHOLE = 0.8
_ALL_IN_ALL = frozenset(("下来", "起来"))
_PAUSE = re.compile(r"[，。？！；：、]")
_REQUESTS = frozenset(("推荐", "介绍", "求推荐", "推荐一下", "介绍一下"))
_QUOTES = frozenset("“「『《‘\"'")


def is_amount(span: Span, tokens: list[Token]) -> bool:
    """Whether a number, or a part of one ("12" of "above 12,500"), is compared with, and so no name."""
    if not all(token.text.isdigit() or token.text in ",." for token in tokens[span.first : span.last]):
        return False
    first = span.first
    while first >= 2 and tokens[first - 1].text == "," and tokens[first - 1].end == tokens[first].start:
        first -= 2
    return first > 0 and tokens[first - 1].text.casefold() in _BEFORE_AMOUNTS


def is_measuring(span: Span, tokens: list[Token]) -> bool:
    """Whether a word only compares or is a unit, though something has it as a name: "higher than", "2000 ft"."""
    if span.last - span.first != 1:
        return False
    word = tokens[span.first].text.casefold()
    before = tokens[span.first - 1].text if span.first else ""
    after = tokens[span.last].text.casefold() if span.last < len(tokens) else ""
    return (word in COMPARATIVES and after == "than") or (word in UNIT_SENSES and before.isdigit())


def compares(span: Span, tokens: list[Token]) -> bool:
    """Whether a word only leads to a number that something is compared with: the "under" of "under 50 yuan"."""
    number = span.last < len(tokens) and tokens[span.last].text[0].isdigit()
    return span.last - span.first == 1 and number and tokens[span.first].text.casefold() in COMPARATIVES


def only_asks(span: Span, tokens: list[Token]) -> bool:
    """Whether words that begin a longer name only ask for something: the 推荐 of 有什么推荐, where there is 推荐菜."""
    said = "".join(token.text for token in tokens[span.first : span.last])
    return said in _REQUESTS and span.names[0].score < _WHOLE


def interrupted(span: Span, tokens: list[Token], text: str) -> bool:
    """Whether a Chinese comma or full stop stands inside what would be one name of the ontology: 州，首府."""
    return _PAUSE.search(text[tokens[span.first].start : tokens[span.last - 1].end]) is not None


def without_doings(chosen: list[Span], tokens: list[Token]) -> list[Span]:
    """The spans without verbs for what one does at a kind of place (吃饭), where the kind is named as well."""
    doing = [s for s in chosen if "".join(token.text for token in tokens[s.first : s.last]) in DOING]
    doing += [s for s in chosen if "".join(token.text for token in tokens[s.first : s.last + 2])[1:] in _ALL_IN_ALL]
    others = (name for span in chosen if span not in doing for name in span.names)
    named = {name.term for name in others if name.kind == "class" and name.score > _KIND}
    all_in_all = [s for s in doing if s.last - s.first == 1]
    return [
        s for s in chosen if s not in doing or (s not in all_in_all and named.isdisjoint(name.term for name in s.names))
    ]


def says_little(span: Span, tokens: list[Token], text: str) -> bool:
    """Whether Chinese words that happen to be a name are only such as hold a question together, and stand unquoted."""
    said = [token.text for token in tokens[span.first : span.last]]
    before = text[: tokens[span.first].start][-1:]
    return all(word in HAN_FUNCTION for word in said) and before not in _QUOTES


def measured(terms: list[Span], tokens: list[Token], names: NameIndex) -> dict[int, frozenset[NamedNode]]:
    """The numeric properties that a token may give the value of: those named right before it ("the rating of 2")."""
    found: dict[int, frozenset[NamedNode]] = {}
    for span in terms:
        sure = (name.term for name in span.names if name.kind == "property" and name.score >= _NAMED_OUTRIGHT)
        numeric = frozenset(
            iri
            for iri in sure
            if isinstance(iri, NamedNode) and (term := names.schema.properties.get(iri)) and term.numeric
        )
        place = span.last
        while place < len(tokens) and tokens[place].text.casefold() in _LINKING:
            place += 1
        if numeric:
            found[place] = found.get(place, frozenset()) | numeric
    return found


def valued(terms: list[Span], tokens: list[Token], weights: tuple[float, ...], names: NameIndex) -> list[Span]:
    """Values that look like function words, beside the name of their property: "blood type A", "in good condition"."""
    found = []
    for span in terms:
        sure = {name.term for name in span.names if name.kind == "property" and name.score >= _NAMED_OUTRIGHT}
        after = span.last
        while after < len(tokens) and tokens[after].text.casefold() in _LINKING:
            after += 1
        for place in (span.first - 1, after):
            if not sure or not 0 <= place < len(tokens) or weights[place]:
                continue
            said = tokens[place].text
            values = [n for n in names.exact.get(said.casefold(), ()) if n.kind == "value" and n.predicate in sure]
            if values and (said.casefold() not in _ARTICLES or said.isupper()):
                found.append(Span(place, place + 1, tuple(values)))
    return found


def cut_off(span: Span, tokens: list[Token]) -> bool:
    """Whether what is only a part of a value begins in the middle of a word: 大街5号 of 平安大街5号."""
    if not span.first or span.names[0].kind != "value" or not has_han(tokens[span.first].text):
        return False
    before = tokens[span.first - 1]
    whole = any(name.kind == "entity" or name.score > _PART for name in span.names)
    beside = before.end == tokens[span.first].start and has_han(before.text) and before.text not in HAN_FUNCTION
    return beside and not whole and before.text not in _BEFORE_PLACES


def is_of(span: Span, tokens: list[Token], measured: Mapping[int, frozenset[NamedNode]]) -> bool:
    """Whether a number that happens to be a value of something else gives the value of the property named before it."""
    properties = measured.get(span.first)
    if not properties or not _NUMERAL.fullmatch(" ".join(t.text for t in tokens[span.first : span.last])):
        return False
    return not any(name.kind == "value" and name.predicate in properties for name in span.names)


def of_a_kind(span: Span, terms: list[Span], tokens: list[Token], text: str, names: NameIndex) -> bool:
    """Whether words that happen to be a thing's whole name say a kind: "a good chinese restaurant", "for thai food".

    The last word is what a class is called, the words before it name something of their own, and either that is of this
    class, or the words stand where one of many is meant.
    """
    last = tokens[span.last - 1].text
    if span.last - span.first < 2 or span.names[0].kind != "entity" or not last.islower() or not last.isascii():
        return False
    head = normalise(text[tokens[span.first].start : tokens[span.last - 2].end])
    said = (name for term in terms if (term.first, term.last) == (span.last - 1, span.last) for name in term.names)
    classes = {name.term for name in said if name.kind == "class" and name.score > _KIND}
    heads = [name for name in names.exact.get(head, ()) if name.kind in ("entity", "value")]
    if not heads or not (classes or last in PLACE_WORDS or singular(last) in PLACE_WORDS):
        return False
    if any(classes & set(names.types(name.term)) for name in heads):
        return not classes & set(names.types(span.names[0].term))
    before = [tokens[i].text.casefold() for i in range(max(0, span.first - 2), span.first)]
    return bool(_INDEFINITE.intersection(before))
