"""What kind of answer a question wants from a text, and the stretches of a sentence that are of that kind."""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import StrEnum
from functools import cache
from typing import Any, Final

from kgplatform.questions.wording import FUNCTION_WORDS
from kgplatform.text import has_han, normalise


class Sought(StrEnum):
    """The kind of answer."""

    PERSON = "person"
    TIME = "time"
    PLACE = "place"
    NUMBER = "number"
    REASON = "reason"
    WAY = "way"
    TRUTH = "truth"
    NAME = "name"


_ENGLISH: Final = (
    (Sought.REASON, r"\bwhy\b|\bwhat (?:is|was) the reason\b"),
    (Sought.NUMBER, r"\bhow (?:many|much|old|tall|long|far|high|large|big|deep|wide|often|fast)\b"),
    (Sought.TIME, r"\bwhen\b|\b(?:what|which|in what|in which) (?:year|date|day|month|century|decade|time)\b"),
    (Sought.PERSON, r"\bwho(?:m|se)?\b"),
    (Sought.PLACE, r"\bwhere\b|\b(?:what|which) (?:city|country|town|state|county|province|village|continent|place)\b"),
    (Sought.NUMBER, r"\bwhat (?:is|was) the (?:population|number|price|height|length|area|size|age|cost|total)\b"),
    (Sought.WAY, r"\bhow\b"),
    (Sought.NAME, r"\bwhat\b|\bwhich\b"),
    (Sought.TRUTH, r"^\W*(?:is|are|was|were|do|does|did|has|have|had|can|could|will|would|should)\b"),
)
_CHINESE: Final = (
    (Sought.REASON, "为什么|为何|何以|原因"),
    (Sought.TIME, "什么时候|何时|哪[一]?年|哪天|几点|几月|哪个(?:朝代|世纪|年代)|多久"),
    (Sought.NUMBER, "多少|几[个家座位名人条间年岁次所]|多[高大长远深宽重]|几"),
    (Sought.PERSON, "谁|何人|哪位"),
    (Sought.PLACE, "哪里|哪儿|何处|什么地方|哪个(?:城市|国家|省|县|市|镇)|在哪"),
    (Sought.WAY, "怎么|怎样|如何"),
    (Sought.TRUTH, "吗|是否|是不是|有没有|能不能|可不可以"),
    (Sought.NAME, "什么|哪"),
)
_MONTH = "(?:January|February|March|April|May|June|July|August|September|October|November|December)"
_TIME = re.compile(
    rf"\b(?:\d{{1,2}} {_MONTH}(?:,? \d{{4}})?|{_MONTH} \d{{1,2}}(?:st|nd|rd|th)?(?:,? \d{{4}})?|{_MONTH},? \d{{4}}"
    r"|\d{4}-\d\d-\d\d|(?:early |late |mid-?)?(?:the )?\d{4}s|\d{1,2}:\d\d(?:\s?[ap]m)?|\d{1,2}(?:st|nd|rd|th) century"
    r"|(?:1\d|20)\d\d)\b"
    r"|公元前?\d+年|\d{2,4}年(?:\d{1,2}月(?:\d{1,2}[日号])?)?|\d{1,2}月\d{1,2}[日号]|\d{1,2}[:：]\d\d"
    r"|(?:唐|宋|元|明|清|汉|隋|秦|晋|民国|北宋|南宋)(?:代|朝|初年?|末年?|[一-龥]{2}年间)|[一二三四五六七八九十\d]+世纪"
    r"|[一二三四五六七八九〇零]{4}年",
    re.IGNORECASE,
)
_NUMBER = re.compile(
    r"(?:[$€£¥]\s?)?(?<![\w.])\d+(?:[.,]\d+)*(?:\s?(?:%|percent|million|billion|thousand|km²?|m²?|kg|metres?|meters?|miles?"
    r"|feet|years?|hours?|minutes?|people|yuan|元|万|亿|余|多|个|家|座|位|名|人|条|间|年|岁|米|公里|千米|平方公里|分钟|小时|次))*"
    r"|\b(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|forty|fifty|hundred|thousand)\b"
    r"|[一二两三四五六七八九十百千万]+(?:余|多)?(?=[个家座位名人条间年岁米次所])[个家座位名人条间年岁米次所]",
    re.IGNORECASE,
)
_NAME = re.compile(
    r"(?<![\w.])[A-ZÀ-Þ][\w'’&-]*(?:(?:\s+(?:of|the|de|du|von|van|del|la|and|for)){0,2}\s+[A-ZÀ-Þ][\w'’&-]*)*"
)
_QUOTED = re.compile(r"[“\"「『《]([^”\"」』》]{1,60})[”\"」』》]")
_REASON = re.compile(
    r"\b(?:because|since|due to|owing to|so that|in order to|therefore|reason)\b|因为|由于|因此|以便|为了|原因", re.I
)
_WAY = re.compile(r"\b(?:by|through|using|via|with|take|from)\b|通过|乘|经|用|以.{1,8}方式|步行", re.I)
_OPENERS: Final = frozenset(
    "the a an in on at it he she they this that these those his her its their after before during when while as for by".split()  # noqa: SIM905, E501
)
_HAN_PLACE = re.compile(r"(?:位于|坐落于|坐落在|地处|设在)([一-龥A-Za-z0-9·]{2,16})")
_HAN_AFTER = re.compile(r"(?:是|为|叫|称为|名为|位于|坐落于|坐落在|在|由|有|：)([一-龥A-Za-z0-9·]{2,16})")


def sought(question: str) -> Sought:
    """The kind of answer that a question wants."""
    rules = _CHINESE if has_han(question) else _ENGLISH
    for kind, pattern in rules:
        if re.search(pattern, question, re.IGNORECASE):
            return kind
    return Sought.NAME


def spans(kind: Sought, sentence: str, question: str) -> list[tuple[int, int]]:
    """The places in a sentence that may be the answer, in order; never words of the question itself."""
    plain = normalise(question)
    found = [
        (start, end)
        for start, end in _of_kind(kind, sentence)
        if (text := normalise(sentence[start:end])) and text not in plain
    ]
    return list(dict.fromkeys(found))


def fits(kind: Sought, sentence: str, question: str) -> bool:
    """Whether a sentence holds something of the kind."""
    if kind is Sought.REASON:
        return _REASON.search(sentence) is not None
    if kind is Sought.WAY:
        return _WAY.search(sentence) is not None
    return kind is Sought.TRUTH or bool(spans(kind, sentence, question))


def names_in(text: str) -> list[str]:
    """What is written like a name: capitalised inside a sentence, in quotes, or with digits."""
    found = [match[1] for match in _QUOTED.finditer(text)]
    for match in _NAME.finditer(text):
        words = match.group().split()
        opening = not text[: match.start()].strip() and len(words) == 1
        if not opening:
            found.append(" ".join(words[1:] if words[0].casefold() in _OPENERS | _ASKING else words))
    found += re.findall(r"\b\d[\w.,-]*\b", text)
    return [name for name in dict.fromkeys(found) if name]


_ASKING: Final = frozenset("who what when where which why how whose whom is are was were do does did".split())  # noqa: SIM905


def _of_kind(kind: Sought, sentence: str) -> Iterator[tuple[int, int]]:
    if kind is Sought.TIME:
        yield from (match.span() for match in _TIME.finditer(sentence))
    elif kind is Sought.NUMBER:
        yield from (match.span() for match in _NUMBER.finditer(sentence))
    elif kind in (Sought.PERSON, Sought.PLACE, Sought.NAME):
        yield from _names(kind, sentence)


def _names(kind: Sought, sentence: str) -> Iterator[tuple[int, int]]:
    if has_han(sentence):
        yield from _han_names(kind, sentence)
    for match in _NAME.finditer(sentence):
        start, end = match.span()
        first = match.group().split()[0]
        if first.casefold() in _OPENERS or first.casefold() in FUNCTION_WORDS:
            start += len(match.group()) - len(match.group()[len(first) :].lstrip())
        if end - start > 1:
            yield start, end
    if kind is Sought.NAME:
        yield from (match.span(1) for match in _QUOTED.finditer(sentence))


def _han_names(kind: Sought, sentence: str) -> Iterator[tuple[int, int]]:
    """Names of persons and places as a tagger sees them; for other things what follows "is", "is called"."""
    if kind is Sought.NAME:
        yield from (match.span(1) for match in _HAN_AFTER.finditer(sentence))
        return
    if kind is Sought.PLACE:
        yield from (match.span(1) for match in _HAN_PLACE.finditer(sentence))
    wanted = ("nr",) if kind is Sought.PERSON else ("ns", "nt")
    place = 0
    for word, tag in _tagger().cut(sentence):
        if tag.startswith(wanted) and len(word) > 1:
            yield place, place + len(word)
        place += len(word)


@cache
def _tagger() -> Any:
    """Cuts Chinese into words with their parts of speech; it takes a second to load."""
    import jieba
    from jieba import posseg

    jieba.setLogLevel(60)
    return posseg.POSTokenizer()
