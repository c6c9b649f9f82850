"""Cues: the words of a question that say what form of answer it wants, and which stretches of it are no names."""

# ruff: noqa: E501
from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from pyoxigraph import NamedNode

from kgplatform import lexicon
from kgplatform.questions.name_index import GraphName, NameIndex, NameSpan
from kgplatform.questions.parser.coordination import NameMention
from kgplatform.questions.parser.quantities import Amount, amounts
from kgplatform.questions.parser.query_graph import Search
from kgplatform.questions.parser.vocabulary import (
    ADJECTIVES,
    COMPARATIVES,
    DOING,
    FUNCTION_WORDS,
    HAN_FUNCTION,
    PARTICIPLES,
    PLACE_WORDS,
    SUPERLATIVES,
    UNIT_SENSES,
    QuestionToken,
    covered,
    first_after,
    free,
    keys,
    place_at,
    stem,
)
from kgplatform.text import has_han, normalise, singular

# The words of a question that say what form of answer it wants: counting, most and least, comparing, yes or no.


@dataclass(frozen=True, slots=True)
class Superlative:
    """``direction`` 1: the most, -1: the least; of one of ``senses``, or of what is named next (``open``).

    ``counted``: the most or fewest in number; ``rank`` 2: the second most.
    """

    first: int
    last: int
    direction: int
    senses: tuple[str, ...]
    open: bool
    adjective: str
    counted: bool = False
    rank: int = 1


@dataclass(frozen=True, slots=True)
class Cues:
    """What a question's function words say; places are token positions.

    ``fellow``: what shares something with what is named is wanted. ``exists``: after 有 in "有 … 吗", ``request``: after 推荐 and the like; either makes a class named later the answer.
    """

    superlatives: tuple[Superlative, ...]
    amounts: tuple[Amount, ...]
    asked: tuple[int, ...]
    counting: int | None
    boolean: bool
    aggregate: str
    negations: tuple[int, ...]
    person: bool
    place: bool
    time: bool
    each: int | None
    chain: bool
    used: frozenset[int]
    how_senses: tuple[str, ...] = ()
    exists: int | None = None
    request: int | None = None
    functions: tuple[str, ...] = ()
    fellow: bool = False


_WH = lexicon.pattern("cues.wh")
_BOOLEAN_EN = lexicon.pattern("cues.boolean_en")
_REQUEST_ZH = lexicon.pattern("cues.request_zh")
_ASKED_ZH = lexicon.pattern("cues.asked_zh")
_AGGREGATES = ((lexicon.pattern("cues.aggregates_1"), "AVG"), (lexicon.pattern("cues.aggregates_2"), "SUM"))
_EACH = lexicon.pattern("cues.each")
_FELLOW, _FILLING = lexicon.pattern("cues.fellow"), (lexicon.pattern("cues.time"), lexicon.pattern("cues.filling"))
_FUNCTION_NAMES = lexicon.table("cues.function_names")
_FUNCTION = "|".join(sorted(_FUNCTION_NAMES, key=len, reverse=True))
_SEVERAL = lexicon.pattern("cues.several", function=_FUNCTION)
_ORDINALS = lexicon.numbers("cues.ordinals")


def read_cues(text: str, tokens: list[QuestionToken], taken: frozenset[int]) -> Cues:
    """The cues of a question; ``taken`` tokens belong to names and are not read as cues."""
    used: set[int] = set()
    numerous = _numerous(text, tokens, taken, used)
    several, functions = _functions(text, tokens, taken, used)
    taken_ = taken | several | frozenset(i for cue in numerous for i in range(cue.first, cue.last))
    superlatives = (
        *numerous,
        *_english_superlatives(text, tokens, taken_, used),
        *_chinese_superlatives(text, tokens, taken_, used),
    )
    counting = None if numerous else _counting(text, tokens, taken)
    asked = tuple(place_at(tokens, m.end()) for m in (*_WH.finditer(text), *_ASKED_ZH.finditer(text)))
    aggregate = next((name for pattern, name in _AGGREGATES if free(pattern.search(text), tokens, taken_)), "")
    each = _EACH.search(text)
    for pattern in (*(pattern for pattern, _ in _AGGREGATES), _EACH, _FELLOW, *_FILLING):
        for match in pattern.finditer(text):
            if free(match, tokens, taken):
                used.update(covered(tokens, match.start(), match.end()))
    return Cues(
        superlatives=superlatives,
        amounts=amounts(text, tokens, taken, used),
        asked=asked,
        counting=counting,
        boolean=_boolean(text, tokens, taken),
        aggregate=aggregate,
        negations=_negations(text, tokens, taken, used),
        person=bool(lexicon.pattern("cues.person").search(text)),
        place=bool(lexicon.pattern("cues.place").search(text)),
        time=bool(lexicon.pattern("cues.time").search(text)),
        each=place_at(tokens, each.end()) if each and free(each, tokens, taken) else None,
        chain=bool(lexicon.pattern("cues.chain").search(text)),
        used=frozenset(used),
        how_senses=_how(text, tokens, taken, used),
        exists=first_after(lexicon.pattern("cues.exists_zh"), text, tokens),
        request=next((place_at(tokens, m.end()) for m in _REQUEST_ZH.finditer(text) if _apart(m, tokens, taken)), None),
        functions=functions,
        fellow=_FELLOW.search(text) is not None,
    )


def _boolean(text: str, tokens: list[QuestionToken], taken: frozenset[int]) -> bool:
    if lexicon.pattern("cues.boolean_zh").search(text):
        return not any(_apart(match, tokens, taken) for match in lexicon.pattern("cues.asking_zh").finditer(text))
    return bool(_BOOLEAN_EN.search(text)) and not re.search(r"\b(?:which|what|who|how many)\b", text, re.IGNORECASE)


def _negations(text: str, tokens: list[QuestionToken], taken: frozenset[int], used: set[int]) -> tuple[int, ...]:
    """The tokens at which begins what the question denies, be it said before or after it (一个都没有)."""
    found: list[int] = []
    passed: set[int] = set()
    for match in lexicon.pattern("cues.not_one").finditer(text):
        found.append(place_at(tokens, match.start("what")))
        passed.update(i for i in covered(tokens, match.start(), match.end()) if i not in taken)
    for match in lexicon.pattern("cues.none_of").finditer(text):
        before = [i for i in taken if tokens[i].end <= match.start()]
        if before and not passed & set(covered(tokens, match.start(), match.end())):
            first = max(before)
            while first - 1 in taken:
                first -= 1
            found.append(first)
            passed.update(covered(tokens, match.start(), match.end()))
    for match in lexicon.pattern("cues.negation").finditer(text):
        places = covered(tokens, match.start(), match.end())
        either = (
            match.group() == "不" and text[match.start() - 1 : match.start()] == text[match.end() : match.end() + 1]
        )
        if free(match, tokens, taken) and not passed & set(places) and not either:
            found.append(place_at(tokens, match.end()))
            passed.update(places)
    for place, token in enumerate(tokens[:-1]):  # before what anything is called: 不流经, 不接壤
        asked = place and tokens[place - 1].text == tokens[place + 1].text
        if token.text == "不" and place not in taken | passed and place + 1 in taken and not asked:
            found.append(place + 1)
            passed.add(place)
    used.update(passed)
    return tuple(sorted(set(found)))


def _apart(match: re.Match[str], tokens: list[QuestionToken], taken: frozenset[int]) -> bool:
    """Whether words are no beginning of a longer name, as 推荐 is of 推荐菜."""
    return free(match, tokens, taken) or place_at(tokens, match.end()) not in taken


def _counting(text: str, tokens: list[QuestionToken], taken: frozenset[int]) -> int | None:
    """The token after the words that count; "number of" that ends a longer name ("phone number of") counts nothing."""
    match = lexicon.pattern("cues.count_en").search(text) or lexicon.pattern("cues.count_zh").search(text)
    if match is None:
        return None
    first = next(iter(covered(tokens, match.start(), match.end())), 0)
    longer = first in taken and first - 1 in taken and match.group().casefold().startswith("number")
    return None if longer else place_at(tokens, match.end())


def _numerous(text: str, tokens: list[QuestionToken], taken: frozenset[int], used: set[int]) -> tuple[Superlative, ...]:
    """Words such as "the largest number of X": the most X."""
    found = []
    for match in lexicon.pattern("cues.numerous").finditer(text):
        places = covered(tokens, match.start(), match.end())
        if set(places) & taken or not places:
            continue
        direction = -1 if match[1].casefold() in ("fewest", "least", "smallest", "lowest", "minimum") else 1
        used.update(places)
        found.append(
            Superlative(
                places[0], places[-1] + 1, direction, (), open=True, adjective=match[1].casefold(), counted=True
            )
        )
    for match in lexicon.pattern("cues.common").finditer(text):
        places = covered(tokens, match.start(), match.end())
        if places and not set(places) & taken:
            used.update(places)
            found.append(Superlative(places[0], places[-1] + 1, 1, (), open=True, adjective="common", counted=True))
    return tuple(found)


def _functions(
    text: str, tokens: list[QuestionToken], taken: frozenset[int], used: set[int]
) -> tuple[frozenset[int], tuple[str, ...]]:
    """Words such as "the minimum and maximum X": their tokens, and the functions in their order."""
    match = _SEVERAL.search(text)
    if match is None or not free(match, tokens, taken):
        return frozenset(), ()
    places = covered(tokens, match.start(), match.end())
    used.update(places)
    words = re.findall(_FUNCTION, match.group(), re.IGNORECASE)
    return frozenset(places), tuple(dict.fromkeys(_FUNCTION_NAMES[word.casefold()] for word in words))


def _how(text: str, tokens: list[QuestionToken], taken: frozenset[int], used: set[int]) -> tuple[str, ...]:
    match = lexicon.pattern("cues.how_adjective").search(text) or lexicon.pattern("cues.how_zh").search(text)
    if match is None:
        size = lexicon.pattern("cues.size_of", 0).search(text)
        if size is None or not free(size, tokens, taken):
            return ()
        used.update(covered(tokens, size.start(), size.end()))
        return ADJECTIVES["big"][0]
    used.update(covered(tokens, match.start(), match.end()))
    word = match[1].casefold()
    if word in ("much", "少钱", "贵", "expensive"):
        return ("price", "population", "number")
    if word == "久":
        return ("time", "length")
    return ADJECTIVES[word][0]


def _english_superlatives(
    text: str, tokens: list[QuestionToken], taken: frozenset[int], used: set[int]
) -> tuple[Superlative, ...]:
    found = []
    for place, token in enumerate(tokens):
        word = token.text.casefold()
        if place in taken or word not in SUPERLATIVES:
            continue
        before = tokens[place - 1].text.casefold() if place else ""
        if before == "at" or (word in ("first", "top") and not has_han(text) and before != "the"):
            continue
        last, adjective, open_ = place + 1, SUPERLATIVES[word], True
        following = tokens[place + 1].text.casefold() if place + 1 < len(tokens) else ""
        if word in ("most", "least") and following in ADJECTIVES:
            adjective, last, open_ = following, place + 2, False
        if following in PARTICIPLES:
            adjective, last, open_ = following, place + 2, False
            senses: tuple[str, ...] = (PARTICIPLES[following],)
        elif word in ("most", "least", "fewest") and open_:
            senses = ()
        else:
            senses = ADJECTIVES[adjective][0]
        direction = ADJECTIVES[adjective if adjective in ADJECTIVES else SUPERLATIVES[word]][1]
        direction *= -1 if word == "least" and adjective in ADJECTIVES and not open_ else 1
        rank = _ORDINALS.get(before, 1)
        start = place - 1 if rank > 1 else place
        used.update(range(start, last))
        found.append(Superlative(start, last, direction, senses, open_, adjective, rank=rank))
    return tuple(found)


def _chinese_superlatives(
    text: str, tokens: list[QuestionToken], taken: frozenset[int], used: set[int]
) -> tuple[Superlative, ...]:
    found = []
    for match in lexicon.pattern("cues.zh_superlative").finditer(text):
        places = covered(tokens, match.start(), match.end())
        if set(places) & taken or not places:
            continue
        used.update(places)
        word, rank = match[2], _ORDINALS.get(match[1] or "", 1)
        if word in ("多", "少"):
            found.append(
                Superlative(places[0], places[-1] + 1, 1 if word == "多" else -1, (), open=True, adjective=word)
            )
            continue
        senses, direction = ADJECTIVES.get(word, (("length",), -1))
        if word == "密集":
            senses, direction = ("density",), 1
        open_ = word in ("高", "低", "大", "小")
        found.append(Superlative(places[0], places[-1] + 1, direction, senses, open_, word, rank=rank))
    return tuple(found)


# Words that say nothing of their own: the class in "division code", the noun of "which place has the code 7".

_OF: Final = lexicon.word_set("cues.of")
_POSSESSIVE: Final = lexicon.word_set("cues.possessive")
_PAIR: Final = 2
_HAVING: Final = lexicon.word_set("cues.having")


def compounded(
    mentions: list[NameMention], tokens: list[QuestionToken], names: NameIndex
) -> tuple[list[NameMention], frozenset[int]]:
    """The mentions, a class right before a property of what is named made part of the name of the property.

    With them come the tokens that only stand for what is asked for, and are no mention any more.
    """
    idle = _anywhere(mentions, tokens)
    kept = [mention for mention in mentions if mention.first not in idle]
    found: list[NameMention] = []
    for place, mention in enumerate(kept):
        before = found[-1] if found else None
        if before is not None and _one_name(before, mention, place, kept, tokens, names):
            found[-1] = NameMention(before.first, mention.last, mention.options)
        else:
            found.append(mention)
    said = _said_of_its_value(found, tokens)
    return (
        ([m for m in found if m is not said], idle | frozenset(range(said.first, said.last))) if said else (found, idle)
    )


def _said_of_its_value(mentions: list[NameMention], tokens: list[QuestionToken]) -> NameMention | None:
    """The property in "whose code is 7" and 代码7是哪里, which is known by its value and not asked for.

    "What is the code of X" asks for it, though X be a code too.
    """
    if len(mentions) != _PAIR:
        return None
    pairs = ((mentions[0], mentions[1]), (mentions[1], mentions[0]))
    for said, value in pairs:
        option, held = said.options[0], value.options[0]
        between = {token.text.casefold() for token in tokens[said.last : value.first]}
        having = any(token.text.casefold() in _HAVING for token in tokens[: said.first])
        if "of" in between and not having:
            continue
        if (option.kind, held.kind) == ("property", "value") and option.names[0].term == held.names[0].predicate:
            return said
    return None


def _one_name(
    class_: NameMention,
    said: NameMention,
    place: int,
    mentions: list[NameMention],
    tokens: list[QuestionToken],
    names: NameIndex,
) -> bool:
    """Whether a class and a property are one name, since the thing beside them is of the class."""
    iri, property_ = class_.options[0].names[0].term, said.options[0].names[0].term
    kinds = (class_.options[0].kind, said.options[0].kind)
    if kinds != ("class", "property") or class_.last != said.first or not isinstance(iri, NamedNode):
        return False
    term = names.schema.properties.get(property_) if isinstance(property_, NamedNode) else None
    covered = names.schema.subclasses(iri)
    if term is None or term.is_object or not covered & set(names.schema.domains(term.iri)):
        return False
    following = next((m for m in mentions[place + 1 :] if _beside(said.last, m.first, tokens, _OF)), None)
    if following is not None and following.options[0].kind == "value":
        return False  # what has the code is asked for, and is of the class
    preceding = mentions[place - 2] if place > 1 else None
    beside = preceding if preceding and _beside(preceding.last, class_.first, tokens, _POSSESSIVE) else following
    return beside is not None and any(
        option.kind == "entity" and covered & set(names.types(option.names[0].term)) for option in beside.options
    )


def _beside(end: int, start: int, tokens: list[QuestionToken], between: frozenset[str]) -> bool:
    """Whether nothing stands between two places but words of a few."""
    return end <= start <= end + 2 and all(t.text.casefold() in between for t in tokens[end:start])


def _anywhere(mentions: list[NameMention], tokens: list[QuestionToken]) -> frozenset[int]:
    """The tokens of "place" in "which place has the code 7" and 代码为7的是什么地方: whatever it is that has it."""
    if not any(m.options[0].kind == "value" for m in mentions):
        return frozenset()
    found: set[int] = set()
    for mention in mentions:
        said = "".join(token.text for token in tokens[mention.first : mention.last]).casefold()
        if said not in lexicon.word_set("cues.anywhere") or mention.options[0].kind == "class" or not mention.first:
            continue
        asked = tokens[mention.first - 1].text.casefold() in lexicon.word_set("cues.asking")
        after = tokens[mention.last].text.casefold() if mention.last < len(tokens) else ""
        if asked and (after in _HAVING or (has_han(said) and not after)):
            found.update(range(mention.first, mention.last))
    return frozenset(found)


# Names said with what they are the name of: "Snake River" for a river called Snake, "Mt. Shasta", 特拉华河.

_SHORT: Final = {"mt": "mountain", "mtn": "mountain", "mount": "mountain", "ft": "fort", "univ": "university"}
"""What kinds are called in names where they are not written out."""
_ONE_OF_MANY: Final = lexicon.word_set("cues.one_of_many")
_ARTICLES: Final = lexicon.word_set("cues.articles")
_NEAR: Final = 2
_KINDS_BESIDE_OF: Final = frozenset(("of", "the"))
_LEAST: Final = 0.75
_OUTRIGHT: Final = 0.9
_BY_SENSE: Final = 0.85
_SAID: Final = 0.03
"""What a thing of the class that is said has over another whose whole name the words are."""
_LONGEST_KIND: Final = 3
_LONGEST_HAN: Final = 4


def with_kinds(
    found: list[NameSpan], terms: list[NameSpan], tokens: list[QuestionToken], text: str, names: NameIndex
) -> list[NameSpan]:
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
    spans: list[NameSpan] = []
    for span in found:
        entities = [name for name in span.names if name.kind == "entity"]
        for first, last, classes in kinds if entities else ():
            if not _kinds_beside_beside(span, first, last, tokens) or _does(span, first, last, tokens):
                continue
            for class_ in classes:
                covers.setdefault(class_, frozenset(names.schema.subclasses(class_)) | {class_})
            of_it = frozenset(iri for class_ in classes for iri in covers[class_])
            fitting = tuple(
                replace(name, score=name.score + _SAID) for name in entities if of_it & set(names.types(name.term))
            )
            start, end = min(first, span.first), max(last, span.last)
            if fitting and not _one_of_many(tokens, start):
                spans.append(NameSpan(start, end, fitting))
    return spans


def _kinds_beside_beside(span: NameSpan, first: int, last: int, tokens: list[QuestionToken]) -> bool:
    """Whether a kind stands right behind a name, or before it with at most "of" between; Chinese kinds stand behind."""
    if has_han(tokens[first].text):
        return first == span.last and tokens[first].start == tokens[first - 1].end
    if first == span.last:
        return True
    between = {token.text.casefold() for token in tokens[last : span.first]} if last <= span.first else {"-"}
    return span.first - last <= 1 and between <= _KINDS_BESIDE_OF


def _does(span: NameSpan, first: int, last: int, tokens: list[QuestionToken]) -> bool:
    """Whether a word before a name may be what is done with the thing, not what it is: "eat cake", "who painted X".

    A kind has an article there, "of" behind it, or is written as a part of the name: "the river Po", "Lake Erie".
    """
    if has_han(tokens[first].text) or last > span.first or tokens[first].text[:1].isupper():
        return False
    return last == span.first and (not first or tokens[first - 1].text.casefold() not in _ARTICLES)


def _one_of_many(tokens: list[QuestionToken], start: int) -> bool:
    """Whether the words before ask for one of several: "which Ohio river" is no name."""
    before = [token.text.casefold() for token in tokens[max(0, start - _NEAR) : start + 1]]
    word = before[-2] if start else ""
    indefinite = bool(lexicon.word_set("cues.indefinite").intersection(before))
    return indefinite or bool(_ONE_OF_MANY.intersection(before[-2:])) or word in SUPERLATIVES or word.endswith("est")


def _kinds(tokens: list[QuestionToken], text: str, names: NameIndex) -> Iterator[tuple[int, int, frozenset[NamedNode]]]:
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


# Which stretches of a question are no names although they look like some: amounts, comparisons, kinds of things.

_KIND = 0.7
_NUMERAL = re.compile(r"[-+]?\d+(?:[ .,]\d+)*")
_LINKING = lexicon.word_set("cues.linking")
_PART = 0.86
_NAMED_OUTRIGHT = 0.99
_WHOLE = 0.8
_ALL_IN_ALL = lexicon.word_set("cues.all_in_all")
_PAUSE = re.compile(r"[，。？！；：、]")
_QUOTES = frozenset("“「『《‘\"'")


def is_amount(span: NameSpan, tokens: list[QuestionToken]) -> bool:
    """Whether a number, or a part of one ("12" of "above 12,500"), is compared with, and so no name."""
    if not all(token.text.isdigit() or token.text in ",." for token in tokens[span.first : span.last]):
        return False
    first = span.first
    while first >= 2 and tokens[first - 1].text == "," and tokens[first - 1].end == tokens[first].start:
        first -= 2
    return first > 0 and tokens[first - 1].text.casefold() in lexicon.word_set("cues.before_amounts")


def is_measuring(span: NameSpan, tokens: list[QuestionToken]) -> bool:
    """Whether a word only compares or is a unit, though something has it as a name: "higher than", "2000 ft"."""
    if span.last - span.first != 1:
        return False
    word = tokens[span.first].text.casefold()
    before = tokens[span.first - 1].text if span.first else ""
    after = tokens[span.last].text.casefold() if span.last < len(tokens) else ""
    return (word in COMPARATIVES and after == "than") or (word in UNIT_SENSES and before.isdigit())


def compares(span: NameSpan, tokens: list[QuestionToken]) -> bool:
    """Whether a word only leads to a number that something is compared with: the "under" of "under 50 yuan"."""
    number = span.last < len(tokens) and tokens[span.last].text[0].isdigit()
    return span.last - span.first == 1 and number and tokens[span.first].text.casefold() in COMPARATIVES


def only_asks(span: NameSpan, tokens: list[QuestionToken]) -> bool:
    """Whether words that begin a longer name only ask for something: the 推荐 of 有什么推荐, where there is 推荐菜."""
    said = "".join(token.text for token in tokens[span.first : span.last])
    return said in lexicon.word_set("cues.requests") and span.names[0].score < _WHOLE


def interrupted(span: NameSpan, tokens: list[QuestionToken], text: str) -> bool:
    """Whether a Chinese comma or full stop stands inside what would be one name of the ontology: 州，首府."""
    return _PAUSE.search(text[tokens[span.first].start : tokens[span.last - 1].end]) is not None


def without_doings(chosen: list[NameSpan], tokens: list[QuestionToken]) -> list[NameSpan]:
    """The spans without verbs for what one does at a kind of place (吃饭), where the kind is named as well."""
    doing = [s for s in chosen if "".join(token.text for token in tokens[s.first : s.last]) in DOING]
    doing += [s for s in chosen if "".join(token.text for token in tokens[s.first : s.last + 2])[1:] in _ALL_IN_ALL]
    others = (name for span in chosen if span not in doing for name in span.names)
    named = {name.term for name in others if name.kind == "class" and name.score > _KIND}
    all_in_all = [s for s in doing if s.last - s.first == 1]
    return [
        s for s in chosen if s not in doing or (s not in all_in_all and named.isdisjoint(name.term for name in s.names))
    ]


def says_little(span: NameSpan, tokens: list[QuestionToken], text: str) -> bool:
    """Whether Chinese words that happen to be a name are only such as hold a question together, and stand unquoted."""
    said = [token.text for token in tokens[span.first : span.last]]
    before = text[: tokens[span.first].start][-1:]
    return all(word in HAN_FUNCTION for word in said) and before not in _QUOTES


def measured(terms: list[NameSpan], tokens: list[QuestionToken], names: NameIndex) -> dict[int, frozenset[NamedNode]]:
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


def valued(
    terms: list[NameSpan], tokens: list[QuestionToken], weights: tuple[float, ...], names: NameIndex
) -> list[NameSpan]:
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
            if values and (said.casefold() not in lexicon.word_set("cues.sifting_articles") or said.isupper()):
                found.append(NameSpan(place, place + 1, tuple(values)))
    return found


def cut_off(span: NameSpan, tokens: list[QuestionToken]) -> bool:
    """Whether what is only a part of a value begins in the middle of a word: 大街5号 of 平安大街5号."""
    if not span.first or span.names[0].kind != "value" or not has_han(tokens[span.first].text):
        return False
    before = tokens[span.first - 1]
    whole = any(name.kind == "entity" or name.score > _PART for name in span.names)
    beside = before.end == tokens[span.first].start and has_han(before.text) and before.text not in HAN_FUNCTION
    return beside and not whole and before.text not in lexicon.characters("cues.before_places")


def is_of(span: NameSpan, tokens: list[QuestionToken], measured: Mapping[int, frozenset[NamedNode]]) -> bool:
    """Whether a number that happens to be a value of something else gives the value of the property named before it."""
    properties = measured.get(span.first)
    if not properties or not _NUMERAL.fullmatch(" ".join(t.text for t in tokens[span.first : span.last])):
        return False
    return not any(name.kind == "value" and name.predicate in properties for name in span.names)


def of_a_kind(span: NameSpan, terms: list[NameSpan], tokens: list[QuestionToken], text: str, names: NameIndex) -> bool:
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
    return bool(lexicon.word_set("cues.sifting_indefinite").intersection(before))


# A chain's name for all that begins with it: 全聚德有多少家店, "all the Brightway branches".

_BEHIND_ZH: Final = lexicon.pattern("cues.behind_zh")
_MANY_ZH: Final = lexicon.pattern("cues.many_zh")
_BEHIND_EN: Final = lexicon.pattern("cues.behind_en")
_BEFORE_EN: Final = lexicon.pattern("cues.before_en")
_BRANCHES_LEAST: Final = 2
_WAYS, _SHARE = 3, 0.05
"""After a chain's name its branches go on in few ways; after that of a town what is in it goes on in many."""
_CERTAIN: Final = 3
_BRANCHES_WHOLE: Final = 0.96
_TERM: Final = 0.7


@dataclass(frozen=True, slots=True)
class BranchSearch:
    """Tokens ``first`` to before ``last`` with the name of a chain, its class as a stretch, and what else is said."""

    first: int
    last: int
    search: Search
    span: NameSpan
    used: frozenset[int]


def chain(text: str, tokens: list[QuestionToken], names: NameIndex, called: Sequence[NameSpan]) -> BranchSearch | None:
    """The chain whose branches a question asks for; None if it asks for none.

    ``called``: the stretches that are names, of which none that is longer may hold that of the chain.
    """
    if not any(pattern.search(text) for pattern in (_BEHIND_ZH, _MANY_ZH, _BEHIND_EN, _BEFORE_EN)):
        return None
    for first in range(len(tokens)):
        for last in range(min(len(tokens), first + 8), first, -1):
            phrase = text[tokens[first].start : tokens[last - 1].end]
            cue = _cue(text, tokens[first].start, tokens[last - 1].end, phrase, names)
            longer = any(s.first <= first and last <= s.last and s.last - s.first > last - first for s in called)
            class_ = _class_of(phrase, names) if cue is not None and not longer else None
            if cue is not None and class_ is not None:
                places = (i for i, t in enumerate(tokens) if t.start < cue[1] and t.end > cue[0])
                function = "CONTAINS" if has_han(phrase) and len(phrase) >= _CERTAIN else "STRSTARTS"
                search = Search(-1, function, normalise(phrase))
                span = NameSpan(first, last, (GraphName(class_, 1.0, "class"),))
                return BranchSearch(first, last, search, span, frozenset(places))
    return None


def _cue(text: str, start: int, end: int, phrase: str, names: NameIndex) -> tuple[int, int] | None:
    """Where the words around a phrase ask for the branches of what it names."""
    if match := _BEHIND_ZH.match(text, end):
        if not (where := match["where"]):
            return match.span()
        # no name of its own, but what names begin with throughout: the town that all are in
        everywhere = normalise(where) not in names.exact and len(names.beginning(where)) >= _BRANCHES_LEAST
        return match.span() if everywhere else None
    whole = any(
        name.kind == "entity" and name.score > _BRANCHES_WHOLE for name in names.exact.get(normalise(phrase), ())
    )
    found = (_MANY_ZH.match(text, end) if not whole else None) or _BEHIND_EN.match(text, end)
    match = found or _BEFORE_EN.search(text[:start])
    return match.span() if match else None


def _class_of(phrase: str, names: NameIndex) -> NamedNode | None:
    """The class of the things whose names begin with a phrase; None where these are too few, or a motley crowd."""
    key = normalise(phrase)
    words = key.split()
    dull = (
        len(key) < _BRANCHES_LEAST
        or all(w in FUNCTION_WORDS or w in HAN_FUNCTION for w in words)
        or key in HAN_FUNCTION
    )
    if dull or any(n.kind == "class" and n.score > _TERM for n in names.terms.get((stem(singular(key)),), ())):
        return None
    found = [k for k in names.beginning(key) if has_han(key) or k == key or not k[len(key)].isalnum()]
    things = [(k, n.term) for k in found for n in names.exact[k] if n.kind == "entity" and n.score > _BRANCHES_WHOLE]
    counted = Counter(class_ for _, term in things for class_ in set(names.types(term)))
    if not counted:
        return None
    class_, number = min(counted.items(), key=lambda item: (-item[1], names.schema.count(item[0]), item[0].value))
    ways = {k[len(key) : len(key) + 1] for k, term in things if class_ in names.types(term)} if has_han(key) else set()
    return class_ if number >= _BRANCHES_LEAST and len(ways) <= max(_WAYS, _SHARE * number) else None
