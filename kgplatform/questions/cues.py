"""The words of a question that say what form of answer it wants: counting, most and least, comparing, yes or no."""

# ruff: noqa: E501
from __future__ import annotations

import re
from dataclasses import dataclass

from kgplatform.questions.quantities import Amount, amounts
from kgplatform.questions.spots import covered, first_after, free, place_at
from kgplatform.questions.tokens import Token
from kgplatform.questions.wording import ADJECTIVES, PARTICIPLES, SUPERLATIVES
from kgplatform.text import has_han


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


_WH = re.compile(
    r"\b(?:what|which|who|whom|whose|where|when|how|list|name|show|give|find|tell|return)\b", re.IGNORECASE
)
_COUNT_EN = re.compile(
    r"\bhow many\b|\b(?:the )?(?:total )?number of\b|\bcount\b(?: of| the number of)?", re.IGNORECASE
)
_COUNT_ZH = re.compile(
    r"(?<![是为])多少(?!钱|元|分|米|公里|岁|度)|为多少(?=[个家位名座条种间门部处架班])|(?<![哪好这那前后荐绍找举列出来看给我下])几(?=[个家位名座条种类所间门部处])|数一数|总数|数量|有几(?!十)"
)
_BOOLEAN_EN = re.compile(
    r"^\W*(?:so |and |but )?(?:is|are|was|were|does|do|did|has|have|had|can|could|will)\b(?! you\b| we have\b|there any )",
    re.IGNORECASE,
)
_PERSON = re.compile(r"(?:^|[^\w\s]\s*|\b(?:and|of|by|to|for|me|know|tell) )(?:who|whom|whose)\b|谁", re.IGNORECASE)
_BOOLEAN_ZH = re.compile(r"吗|是否|([\u4e00-\u9fff])[不没]\1|么[？?]?$")
_EXISTS_ZH = re.compile(r"有没有|有无|有(?!多|几|什么|哪)(?=[^，,。.！!？?]*(?:吗|么|没有|没)[\s，,。.！!？?]*)")
_REQUEST_ZH = re.compile(r"推荐|介绍|找|想去|想要|要去|列出|列举|查询|查一?下|看看|给我")
_ASKED_ZH = re.compile(
    r"哪些|哪个|哪几[个家位名座条种类所间门部处]?|哪里|哪儿|哪|什么|(?<![好荐绍找举列出来看给我下])几[个家]|多少|啥|谁"
)
_AGGREGATES = (
    (re.compile(r"\b(?:average|mean|avg)\b|平均", re.IGNORECASE), "AVG"),
    (
        re.compile(
            r"\b(?:sum of|total|combined|altogether|in all|overall|together(?! with))\b|总和|(?:总共|一共|合计)(?!有?(?:几|多少)[个家位名座条种类所间门部处][呢啊]?\W*$)|加起来|加在一起|总(?!统|部|数)",
            re.IGNORECASE,
        ),
        "SUM",
    ),
)
_NEGATION = re.compile(
    r"\b(?:not|no|without|never|none|neither|excluding|except|don't|doesn't|isn't|aren't|lack|\w+n['’]t)\b"
    r"|(?<!有)没有(?![吗？?]|$)(?:标注|标明|注明|写明|记录|登记|收录)?|(?:没|未)(?:标注|标明|注明|写明|记录|登记|收录)"
    r"|不(?=[在是与跟和属含包提能带设])|未|并非|除了",
    re.IGNORECASE,
)
_FILLING = re.compile(r"总共|一共|合计|离(?=[^，,。？?]{1,20}[近远])|既(?=[^。？?]{1,20}又)")
_NOT_ONE = re.compile(r"(?:一|任何一?|半)[个家座条种位名所间门部处](?P<what>[^，,。？?]{1,12}?)[都也](?:没有?|不)")
_NONE_OF = re.compile(r"[都也]没有(?=的|[，,。？?]|$)")
_ASKING_ZH = re.compile(r"哪|什么|多少|几|谁|啥|推荐|帮我|想找|给我|知道吗|告诉|列出")
_EACH = re.compile(
    r"\b(?:each|every|per|for all)\b|每(?:[个一家座种位名门所条部类项次款间栋批届](?!月))+|各[个类种](?!人)|按照?(?=[^，,]{1,12}(?:统计|分组|分类|分别|来分))",
    re.IGNORECASE,
)
_CHAIN = re.compile(
    r"\b(?:chain|transitive|transitively|indirect|indirectly|eventually|recursively|all (?:the )?prerequisites|full|whole|ancestors?|descendants?)\b"
    r"|全部先修|所有先修|先修链|链|间接|递归|最终",
    re.IGNORECASE,
)
_FELLOW = re.compile(
    r"\b(?:fellow|together with|collaborat(?:e|es|ed|ing|ors?))\b|\bwho\b[^?.]*\bwith\W*$|合著|合作|共同|一起",
    re.IGNORECASE,
)
_NUMEROUS = re.compile(
    r"\b(most|largest|greatest|highest|biggest|maximum|fewest|least|smallest|lowest|minimum)\s+(?:total\s+)?"
    r"(?:numbers?|amounts?|counts?|quantity)\s+of\b",
    re.IGNORECASE,
)
_FUNCTION_NAMES = {
    **dict.fromkeys(("maximum", "max", "highest", "largest", "greatest", "biggest", "最高", "最大"), "MAX"),
    **dict.fromkeys(("minimum", "min", "lowest", "smallest", "least", "最低", "最小"), "MIN"),
    **dict.fromkeys(("average", "mean", "avg", "平均"), "AVG"),
    **dict.fromkeys(("total", "sum", "总"), "SUM"),
}
_FUNCTION = "|".join(sorted(_FUNCTION_NAMES, key=len, reverse=True))
_SEVERAL = re.compile(
    rf"(?:{_FUNCTION})(?:\s*(?:,|，|、)\s*(?:the\s+)?(?:{_FUNCTION}))*\s*,?\s*(?:\band\b|和|与|及|、)\s*(?:the\s+)?(?:{_FUNCTION})",
    re.IGNORECASE,
)
_ZH_SUPERLATIVE = re.compile(
    r"(?:最|第([二三四五2-5]))(便宜|昂贵|贵|实惠|大|小|长|短|高|低|深|重|轻|老|年轻|年长|悠久|古老|受欢迎|热门|早|晚|新|好|差|多|少|近|密集|北|南|东|西)"
)
_ORDINALS = {
    word: rank
    for rank, listed in ((2, "second 2nd 二 2"), (3, "third 3rd 三 3"), (4, "fourth 4th 四 4"), (5, "fifth 5th 五 5"))
    for word in listed.split()
}
_COMMON = re.compile(
    r"\bmost (?:common|frequent|frequently (?:used|seen)|widespread|usual|often|frequently|times)\b(?! \w+ed\b)|最(?:常见|普遍|常用)",
    re.IGNORECASE,
)
_HOW_ADJECTIVE = re.compile(
    r"\bhow (high|tall|long|big|large|deep|wide|old|heavy|expensive|populous|dense|cold|hot|warm|much)\b", re.IGNORECASE
)
_SIZE_OF = re.compile(r"\b(?:the )?size of\b|的(?:大小|规模)")
_HOW_ZH = re.compile(r"多(高|长|大|深|重|贵|久|少钱)")


def read_cues(text: str, tokens: list[Token], taken: frozenset[int]) -> Cues:
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
    for pattern in (*(pattern for pattern, _ in _AGGREGATES), _EACH, _FELLOW, _FILLING):
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
        person=bool(_PERSON.search(text)),
        place=bool(re.search(r"\bwhere\b|哪里|哪儿|在哪", text, re.IGNORECASE)),
        time=bool(re.search(r"\bwhen\b|什么时候|何时|几点|哪一?天|哪一?年|何年", text, re.IGNORECASE)),
        each=place_at(tokens, each.end()) if each and free(each, tokens, taken) else None,
        chain=bool(_CHAIN.search(text)),
        used=frozenset(used),
        how_senses=_how(text, tokens, taken, used),
        exists=first_after(_EXISTS_ZH, text, tokens),
        request=next((place_at(tokens, m.end()) for m in _REQUEST_ZH.finditer(text) if _apart(m, tokens, taken)), None),
        functions=functions,
        fellow=_FELLOW.search(text) is not None,
    )


def _boolean(text: str, tokens: list[Token], taken: frozenset[int]) -> bool:
    if _BOOLEAN_ZH.search(text):
        return not any(_apart(match, tokens, taken) for match in _ASKING_ZH.finditer(text))
    return bool(_BOOLEAN_EN.search(text)) and not re.search(r"\b(?:which|what|who|how many)\b", text, re.IGNORECASE)


def _negations(text: str, tokens: list[Token], taken: frozenset[int], used: set[int]) -> tuple[int, ...]:
    """The tokens at which begins what the question denies, be it said before or after it (一个都没有)."""
    found: list[int] = []
    passed: set[int] = set()
    for match in _NOT_ONE.finditer(text):
        found.append(place_at(tokens, match.start("what")))
        passed.update(i for i in covered(tokens, match.start(), match.end()) if i not in taken)
    for match in _NONE_OF.finditer(text):
        before = [i for i in taken if tokens[i].end <= match.start()]
        if before and not passed & set(covered(tokens, match.start(), match.end())):
            first = max(before)
            while first - 1 in taken:
                first -= 1
            found.append(first)
            passed.update(covered(tokens, match.start(), match.end()))
    for match in _NEGATION.finditer(text):
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


def _apart(match: re.Match[str], tokens: list[Token], taken: frozenset[int]) -> bool:
    """Whether words are no beginning of a longer name, as 推荐 is of 推荐菜."""
    return free(match, tokens, taken) or place_at(tokens, match.end()) not in taken


def _counting(text: str, tokens: list[Token], taken: frozenset[int]) -> int | None:
    """The token after the words that count; "number of" that ends a longer name ("phone number of") counts nothing."""
    match = _COUNT_EN.search(text) or _COUNT_ZH.search(text)
    if match is None:
        return None
    first = next(iter(covered(tokens, match.start(), match.end())), 0)
    longer = first in taken and first - 1 in taken and match.group().casefold().startswith("number")
    return None if longer else place_at(tokens, match.end())


def _numerous(text: str, tokens: list[Token], taken: frozenset[int], used: set[int]) -> tuple[Superlative, ...]:
    """Words such as "the largest number of X": the most X."""
    found = []
    for match in _NUMEROUS.finditer(text):
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
    for match in _COMMON.finditer(text):
        places = covered(tokens, match.start(), match.end())
        if places and not set(places) & taken:
            used.update(places)
            found.append(Superlative(places[0], places[-1] + 1, 1, (), open=True, adjective="common", counted=True))
    return tuple(found)


def _functions(
    text: str, tokens: list[Token], taken: frozenset[int], used: set[int]
) -> tuple[frozenset[int], tuple[str, ...]]:
    """Words such as "the minimum and maximum X": their tokens, and the functions in their order."""
    match = _SEVERAL.search(text)
    if match is None or not free(match, tokens, taken):
        return frozenset(), ()
    places = covered(tokens, match.start(), match.end())
    used.update(places)
    words = re.findall(_FUNCTION, match.group(), re.IGNORECASE)
    return frozenset(places), tuple(dict.fromkeys(_FUNCTION_NAMES[word.casefold()] for word in words))


def _how(text: str, tokens: list[Token], taken: frozenset[int], used: set[int]) -> tuple[str, ...]:
    match = _HOW_ADJECTIVE.search(text) or _HOW_ZH.search(text)
    if match is None:
        size = _SIZE_OF.search(text)
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
    text: str, tokens: list[Token], taken: frozenset[int], used: set[int]
) -> tuple[Superlative, ...]:
    found = []
    for match in _ZH_SUPERLATIVE.finditer(text):
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
