"""The words of a question that say what form of answer it wants: counting, most and least, comparing, yes or no."""

# ruff: noqa: E501
from __future__ import annotations

import re
from dataclasses import dataclass

from kgplatform.questions.names import Token
from kgplatform.questions.wording import (
    ADJECTIVES,
    COMPARATIVES,
    COMPARISON_SENSES,
    SUPERLATIVES,
    UNIT_SENSES,
    stem,
)
from kgplatform.text import has_han


@dataclass(frozen=True, slots=True)
class Superlative:
    """``direction`` 1: the most, -1: the least; of one of ``senses``, or of what is named next (``open``)."""

    first: int
    last: int
    direction: int
    senses: tuple[str, ...]
    open: bool
    adjective: str
    count: int = 1


@dataclass(frozen=True, slots=True)
class Amount:
    """A number with how values compare to it; ``high`` is set for a range."""

    first: int
    last: int
    operator: str
    low: str
    high: str | None
    senses: tuple[str, ...]
    compared: bool
    unit: str = ""


@dataclass(frozen=True, slots=True)
class Cues:
    """What a question's function words say; places are token positions."""

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


_WH = re.compile(
    r"\b(?:what|which|who|whom|whose|where|when|how|list|name|show|give|find|tell|return)\b", re.IGNORECASE
)
_COUNT_EN = re.compile(
    r"\bhow many\b|\b(?:the )?(?:total )?number of\b|\bcount\b(?: of| the number of)?", re.IGNORECASE
)
_COUNT_ZH = re.compile(r"多少(?!钱|元|分|米|公里|岁|度)|几(?=[个家位名座条种所间门部处])|数一数|总数|数量|有几")
_BOOLEAN_EN = re.compile(
    r"^\W*(?:so |and |but )?(?:is|are|was|were|does|do|did|has|have|had|can|could|will)\b(?! you\b| we have\b|there any )",
    re.IGNORECASE,
)
_PERSON = re.compile(r"(?:^|[^\w\s]\s*|\b(?:and|of|by|to|for|me|know|tell) )(?:who|whom|whose)\b|谁", re.IGNORECASE)
_BOOLEAN_ZH = re.compile(r"吗|是否|是不是|有没有|能不能|可不可以|会不会|么[？?]?$")
_ASKED_ZH = re.compile(r"哪些|哪个|哪几|哪里|哪儿|哪|什么|几个|几家|多少|啥|谁")
_AGGREGATES = (
    (re.compile(r"\b(?:average|mean|avg)\b|平均", re.IGNORECASE), "AVG"),
    (re.compile(r"\b(?:sum of|total|combined|altogether)\b|总和|总共的|合计|总(?!统|部|数)", re.IGNORECASE), "SUM"),
)
_NEGATION = re.compile(
    r"\b(?:not|no|without|never|none|neither|excluding|except|don't|doesn't|isn't|aren't|lack|\w+n['’]t)\b|没有|不(?=[在是与跟和属含包提能])|未|并非|除了",
    re.IGNORECASE,
)
_EACH = re.compile(r"\b(?:each|every|per|for all)\b|每个|每一|每家|每座|各个", re.IGNORECASE)
_CHAIN = re.compile(
    r"\b(?:chain|transitive|transitively|indirect|indirectly|eventually|recursively|all (?:the )?prerequisites|full|whole|ancestors?|descendants?)\b"
    r"|全部先修|所有先修|先修链|链|间接|递归|最终",
    re.IGNORECASE,
)
_NUMBER = re.compile(
    r"(?<![A-Za-z0-9_.])[$€£¥￥]?\s?(\d[\d,]*(?:\.\d+)?)\s*((?:k|m|million|thousand|billion)(?![A-Za-z])|万|亿)?(?![\d])",
    re.IGNORECASE,
)
_RANGE = re.compile(
    r"(?:\bbetween\s+)?[$€£¥￥]?(\d[\d,]*(?:\.\d+)?)\s*(?:元|块|小时|分|yuan)?\s*(?:-|–|~|～|—|至|到|\bto\b|\band\b)\s*[$€£¥￥]?(\d[\d,]*(?:\.\d+)?)",
    re.IGNORECASE,
)
_UNITS = sorted(UNIT_SENSES, key=len, reverse=True)
_AFTER_ZH = (
    (re.compile(r"^\s*(?:元|块钱|块|分|米|公里|人|年|小时|星|学分|层|km|m)?\s*(?:以上|及以上|起|或以上|或更高)"), ">="),
    (re.compile(r"^\s*(?:元|块钱|块|分|米|公里|人|年|小时|星|学分)?\s*(?:以下|以内|之内|及以下|或更低)"), "<="),
    (re.compile(r"^\s*(?:年)?\s*(?:之前|以前|前)"), "<"),
    (re.compile(r"^\s*(?:年)?\s*(?:之后|以后|后)"), ">"),
    (
        re.compile(
            r"^\s*(?:stars?|yuan|rmb|points?)?\s*(?:or more|and above|or above|or higher|plus|\+)", re.IGNORECASE
        ),
        ">=",
    ),
    (
        re.compile(
            r"^\s*(?:stars?|yuan|rmb|points?)?\s*(?:or less|or below|or lower|at most|and below)", re.IGNORECASE
        ),
        "<=",
    ),
)
_BEFORE_ZH = (
    (re.compile(r"(?:不到|低于|少于|小于|不足|不超过|未满|短于|早于)\s*$"), "<"),
    (re.compile(r"(?:超过|高于|多于|大于|不低于|不少于|至少|长于|晚于)\s*$"), ">"),
)
_SCALE = {"k": 1e3, "thousand": 1e3, "m": 1e6, "million": 1e6, "万": 1e4, "亿": 1e8, "billion": 1e9}
_NUMBER_WORDS = {
    word: number
    for number, listed in enumerate(
        (
            "",
            "one 一",
            "two 两 二",
            "three 三",
            "four 四",
            "five 五",
            "six 六",
            "seven 七",
            "eight 八",
            "nine 九",
            "ten 十",
        )
    )
    for word in listed.split()
}
_ZH_SUPERLATIVE = re.compile(r"最(便宜|昂贵|贵|实惠|大|小|长|短|高|低|深|重|轻|老|早|晚|新|好|差|多|少|近|密集)")
_HOW_ADJECTIVE = re.compile(
    r"\bhow (high|tall|long|big|large|deep|old|heavy|expensive|populous|dense|much)\b", re.IGNORECASE
)
_HOW_ZH = re.compile(r"多(高|长|大|深|重|贵|久|少钱)")


def read_cues(text: str, tokens: list[Token], taken: frozenset[int]) -> Cues:
    """The cues of a question; ``taken`` tokens belong to names and are not read as cues."""
    used: set[int] = set()
    superlatives = (
        *_english_superlatives(text, tokens, taken, used),
        *_chinese_superlatives(text, tokens, taken, used),
    )
    amounts = _amounts(text, tokens, taken, used)
    counting = _counting(text, tokens)
    asked = tuple(_places(tokens, m.end()) for m in (*_WH.finditer(text), *_ASKED_ZH.finditer(text)))
    aggregate = next((name for pattern, name in _AGGREGATES if _free(pattern.search(text), tokens, taken)), "")
    each = _EACH.search(text)
    for pattern in (*(pattern for pattern, _ in _AGGREGATES), _NEGATION, _EACH):
        for match in pattern.finditer(text):
            if _free(match, tokens, taken):
                used.update(_covered(tokens, match.start(), match.end()))
    return Cues(
        superlatives=superlatives,
        amounts=amounts,
        asked=asked,
        counting=counting,
        boolean=_boolean(text),
        aggregate=aggregate,
        negations=tuple(_places(tokens, m.end()) for m in _NEGATION.finditer(text) if _free(m, tokens, taken)),
        person=bool(_PERSON.search(text)),
        place=bool(re.search(r"\bwhere\b|哪里|哪儿|在哪", text, re.IGNORECASE)),
        time=bool(re.search(r"\bwhen\b|什么时候|何时|几点|哪天", text, re.IGNORECASE)),
        each=_places(tokens, each.end()) if each and _free(each, tokens, taken) else None,
        chain=bool(_CHAIN.search(text)),
        used=frozenset(used),
        how_senses=_how(text, tokens, used),
    )


def _places(tokens: list[Token], offset: int) -> int:
    return next((i for i, token in enumerate(tokens) if token.start >= offset), len(tokens))


def _covered(tokens: list[Token], start: int, end: int) -> range:
    inside = [i for i, token in enumerate(tokens) if token.start < end and token.end > start]
    return range(inside[0], inside[-1] + 1) if inside else range(0)


def _free(match: re.Match[str] | None, tokens: list[Token], taken: frozenset[int]) -> bool:
    return match is not None and not (set(_covered(tokens, match.start(), match.end())) & taken)


def _boolean(text: str) -> bool:
    if _BOOLEAN_ZH.search(text):
        return not re.search(r"哪|什么|多少|几|谁|啥|推荐|帮我|想找|给我|知道吗|告诉|列出", text)
    return bool(_BOOLEAN_EN.search(text)) and not re.search(r"\b(?:which|what|who|how many)\b", text, re.IGNORECASE)


def _counting(text: str, tokens: list[Token]) -> int | None:
    match = _COUNT_EN.search(text) or _COUNT_ZH.search(text)
    return _places(tokens, match.end()) if match else None


def _how(text: str, tokens: list[Token], used: set[int]) -> tuple[str, ...]:
    match = _HOW_ADJECTIVE.search(text) or _HOW_ZH.search(text)
    if match is None:
        return ()
    used.update(_covered(tokens, match.start(), match.end()))
    word = match[1].casefold()
    if word in ("much", "少钱", "贵", "expensive"):
        return ("price", "population", "number")
    if word == "久":
        return ("time", "length")
    return ADJECTIVES[word][0]


def _english_superlatives(
    text: str, tokens: list[Token], taken: frozenset[int], used: set[int]
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
        if word in ("most", "least", "fewest") and open_:
            senses: tuple[str, ...] = ()
        else:
            senses = ADJECTIVES[adjective][0]
        direction = ADJECTIVES[adjective][1] * (-1 if word == "least" and not open_ else 1)
        used.update(range(place, last))
        found.append(Superlative(place, last, direction, senses, open_, adjective))
    return tuple(found)


def _chinese_superlatives(
    text: str, tokens: list[Token], taken: frozenset[int], used: set[int]
) -> tuple[Superlative, ...]:
    found = []
    for match in _ZH_SUPERLATIVE.finditer(text):
        places = _covered(tokens, match.start(), match.end())
        if set(places) & taken or not places:
            continue
        used.update(places)
        word = match[1]
        if word in ("多", "少"):
            found.append(
                Superlative(places[0], places[-1] + 1, 1 if word == "多" else -1, (), open=True, adjective=word)
            )
            continue
        senses, direction = ADJECTIVES.get(word, (("length",), -1))
        if word == "密集":
            senses, direction = ("density",), 1
        found.append(Superlative(places[0], places[-1] + 1, direction, senses, word in ("高", "低", "大", "小"), word))
    return tuple(found)


def _amounts(text: str, tokens: list[Token], taken: frozenset[int], used: set[int]) -> tuple[Amount, ...]:
    found: list[Amount] = []
    ranges: list[tuple[int, int]] = []
    for match in _RANGE.finditer(text):
        places = _covered(tokens, match.start(), match.end())
        if not places or set(places) & taken:
            continue
        senses, unit, end = _unit(text, match.end())
        ranges.append((match.start(), match.end()))
        used.update(_covered(tokens, match.start(), end))
        found.append(
            Amount(
                places[0],
                places[-1] + 1,
                "..",
                _plain(match[1], None),
                _plain(match[2], None),
                senses,
                compared=True,
                unit=unit,
            )
        )
    for match in _NUMBER.finditer(text):
        if any(start <= match.start() < end for start, end in ranges):
            continue
        amount = _single(text, tokens, match, taken, used)
        if amount is not None:
            found.append(amount)
    found.extend(_worded(tokens, taken, used))
    return tuple(sorted(found, key=lambda a: a.first))


def _single(
    text: str, tokens: list[Token], match: re.Match[str], taken: frozenset[int], used: set[int]
) -> Amount | None:
    places = _covered(tokens, match.start(), match.end())
    if not places or set(places) & taken:
        return None
    operator, senses, start = _operator_before(text, tokens, places[0], match.start())
    unit_senses, unit, end = _unit(text, match.end())
    for pattern, after in _AFTER_ZH:
        hit = pattern.match(text[match.end() :])
        if hit:
            operator, end = after, max(end, match.end() + hit.end())
            break
    used.update(_covered(tokens, start, end))
    currency = ("price",) if re.search(r"[$€£¥￥]", match.group()) else ()
    return Amount(
        places[0], places[-1] + 1, operator or "=", _plain(match[1], match[2]), None,
        (*unit_senses, *currency, *senses), compared=bool(operator), unit=unit,
    )  # fmt: skip


def _worded(tokens: list[Token], taken: frozenset[int], used: set[int]) -> list[Amount]:
    """Numbers written as words, where a comparison precedes them: "more than one"."""
    found = []
    for place, token in enumerate(tokens):
        number = _NUMBER_WORDS.get(token.text.casefold())
        if not number or place in taken or place == 0:
            continue
        if tokens[place - 1].text.casefold() not in ("than", "least", "most", "exactly"):
            continue
        words = [t.text.casefold() for t in tokens[max(0, place - 3) : place]]
        operator = next((COMPARATIVES[w] for w in reversed(words) if w in COMPARATIVES), "")
        if operator:
            used.update(range(max(0, place - 2), place + 1))
            found.append(Amount(place, place + 1, operator, str(number), None, (), compared=True))
    return found


def _operator_before(text: str, tokens: list[Token], place: int, offset: int) -> tuple[str, tuple[str, ...], int]:
    for pattern, operator in _BEFORE_ZH:
        match = pattern.search(text[:offset])
        if match:
            return operator, (), match.start()
    sign = re.search(r"(>=|<=|>|<|≥|≤)\s*$", text[:offset])
    if sign:
        return COMPARATIVES[sign[1]], (), sign.start()
    for back in range(place - 1, max(-1, place - 6), -1):
        word = tokens[back].text.casefold()
        if word in COMPARATIVES:
            senses = COMPARISON_SENSES.get(word, ())
            return COMPARATIVES[word], senses, tokens[back].start
        if word not in ("than", "the", "a", "an", "equal", "or", "to", "year", "at", "is", "of"):
            break
    return "", (), offset


def _unit(text: str, offset: int) -> tuple[tuple[str, ...], str, int]:
    rest = text[offset : offset + 16]
    stripped = rest.lstrip()
    start = offset + len(rest) - len(stripped)
    for unit in _UNITS:
        if has_han(unit):
            if stripped.startswith(unit):
                return UNIT_SENSES[unit], unit, start + len(unit)
            continue
        word = re.match(r"[A-Za-z]+", stripped)
        if word and stem(word.group()) == stem(unit):
            return UNIT_SENSES[unit], unit, start + word.end()
    return (), "", offset


def _plain(digits: str, scale: str | None) -> str:
    number = digits.replace(",", "")
    if not scale or scale.casefold() not in _SCALE:
        return number
    scaled = float(number) * _SCALE[scale.casefold()]
    return str(int(scaled)) if scaled == int(scaled) else str(scaled)
