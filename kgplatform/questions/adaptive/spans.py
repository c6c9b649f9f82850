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
    (Sought.NUMBER, r"\bhow (?:many|much|old|tall|long|far|high|large|big|deep|wide|often|fast|heavy)\b"),
    (Sought.TIME, r"\bwhen\b|\b(?:what|which|in what|in which) (?:year|date|day|month|century|decade|time)\b"),
    (Sought.PERSON, r"\bwho(?:m|se)?\b(?! (?:is|was|are|were) (?:an?|the) \w+\?)"),
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
_MONTH = (
    "(?:January|February|March|April|May|June|July|August|September|October|November|December"
    "|Jan|Feb|Mar|Apr|Aug|Sept?|Oct|Nov|Dec)"
)
_OF_OTHER = r"(?![\d,.]*\d)(?!\s?(?:m|km|kg|metres?|people|rooms|yuan|元|米|公里|人|间|名)\b)"
_TIME = re.compile(
    r"公元前?\d+年|(?<!\d)\d{2,4}年(?:\d{1,2}月(?:\d{1,2}[日号])?)?|\d{1,2}月\d{1,2}[日号]|\d{1,2}[:：]\d\d"
    r"|(?:唐|宋|元|明|清|汉|隋|秦|晋|民国|北宋|南宋)"
    r"(?:代|朝|初年?|末年?|[一-龥]{2}(?:年间|[一二三四五六七八九十元]+年))|[一二三四五六七八九十\d]+世纪"
    r"|[一二三四五六七八九〇零]{4}年"
    rf"|(?<![\d.,¥$€£])(?:\d{{1,2}} {_MONTH}\b\.?(?:,? \d{{4}})?"
    rf"|{_MONTH}\b\.? \d{{1,2}}(?:st|nd|rd|th)?\b(?:,? \d{{4}})?|{_MONTH}\b\.?,? \d{{4}}|\d{{4}}-\d\d-\d\d"
    r"|(?:early |late |mid-?)?(?:the )?\d{4}s\b|\d{1,2}:\d\d(?:\s?[ap]m)?|(?:the )?\d{1,2}(?:st|nd|rd|th) century"
    rf"|(?:1\d|20)\d\d{_OF_OTHER})",
    re.IGNORECASE,
)
_WORD_NUMBER: Final = (
    "(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|seventeen"
    "|eighteen|nineteen|twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety|hundreds?|thousands?|dozens?|half)"
)
_UNIT: Final = (
    r"%|percent|million|billion|thousand|square (?:km|kilomet(?:re|er)s|miles|met(?:re|er)s|feet)|km²?"
    r"|kilomet(?:re|er)s?|m²?|cm|mm|kg|met(?:re|er)s?|miles?|feet|foot|ft|acres?|hectares?|inch(?:es)?|pounds?|tons?"
    r"|tonnes?|years? old|years?|months?|weeks?|days?|hours?|minutes?|min|seconds?|people|inhabitants|yuan|rmb|dollars?"
    r"|euros?"
)
_HAN_UNIT: Final = (
    "平方公里|平方米|公里|千米|厘米|毫米|公斤|千克|分钟|小时|个月|万|亿|余|多|个|家|座|位|名|人|条|间|年|岁|米|元|块|次"
    "|天|吨|亩|层|里|册|卷|幢|栋|张|株|棵|种|周"
)
_NUMBER = re.compile(
    rf"(?:[$€£¥]\s?)?(?<![A-Za-z0-9_.,])\d+(?:[.,]\d+)*(?:(?:\s|-)?(?:{_UNIT})(?![A-Za-z]))*(?:\s?(?:{_HAN_UNIT}))*"
    rf"|\b{_WORD_NUMBER}(?:[ -](?:and )?{_WORD_NUMBER})*\b(?:[ -](?:{_UNIT})\b)?"
    rf"|[一二两三四五六七八九十百千万]+(?:余|多|几)?(?:{_HAN_UNIT})",
    re.IGNORECASE,
)
_OF_LENGTH: Final = (
    r"(?:km|kilomet\w+|m|met(?:re|er)s?|cm|mm|miles?|feet|foot|ft|inch\w*)(?![\w²])|公里|千米|米|厘米|里"
)
_OF_TIME: Final = r"(?:years?|months?|weeks?|days?|hours?|minutes?|min|seconds?)\b|年|个月|天|小时|分钟|周"
_OF_MONEY: Final = r"[$€£¥]|(?:yuan|rmb|dollars?|pounds?|euros?|cents?)\b|元|块"
_UNITS: Final = (
    (r"\bhow (?:tall|high|deep|wide|far)\b|多[高宽深远]|多少(?:米|公里|千米|里)", _OF_LENGTH),
    (r"多长(?!时间)|全长|总长", _OF_LENGTH),
    (r"\bhow long\b", f"{_OF_LENGTH}|{_OF_TIME}"),
    (r"\bhow old\b|多大年|几岁|多少岁", r"years?|\d$|岁|年"),
    (r"\bhow much\b.*\b(?:is|are|was|were|costs?|pay|do|does|for)\b|\b(?:price|cost|fare|fee)\b", _OF_MONEY),
    (r"多少钱|票价|价格|费用|房价", _OF_MONEY),
    (r"\bhow (?:large|big)\b|\barea\b|面积", r"square|km²|m²|acres?|hectares?|平方|亩"),
    (r"\bhow heavy\b|\bweigh\b|多重", r"kg|pounds?|tons?|tonnes?|公斤|千克|吨"),
    (r"多久|多长时间", _OF_TIME),
)
"""What a number has to be of, by how the question asks for it."""
_WORD = r"[A-ZÀ-Þ][\w'’&-]*"
_NAME = re.compile(
    rf"(?<![A-Za-zÀ-ÿ0-9_.])(?:{_WORD}\.?(?:(?:\s+(?:of|the|de|du|von|van|del|la|and|for|&))?(?:\s+the)?\s+(?:{_WORD}|\d+\b)"
    r"(?:(?<=\b[A-Z])\.)?)*|[A-Z]*\d[A-Z\d]*[A-Z][A-Z\d]*\b|[A-Z]+\d+\b)"
)
_QUOTED = re.compile(r"[“\"「『《]([^”\"」』》]{1,60})[”\"」』》]")
_REASON = re.compile(
    r"\b(?:because|since|due to|owing to|so that|in order to|therefore|reason)\b|因为|由于|因此|以便|为了|原因", re.I
)
_WAY = re.compile(r"\b(?:by|through|using|via|with|take|from)\b|通过|乘|经|用|以.{1,8}方式|步行", re.I)
_OPENERS: Final = frozenset(
    "the a an in on at it he she they this that these those his her its their after before during when while as for by".split()  # noqa: SIM905, E501
)
ASKING_WORDS: Final = frozenset(
    "who what when where which why how whose whom is are was were do does did many much".split()  # noqa: SIM905
)
_HAN_PLACE = re.compile(r"(?:位于|坐落于|坐落在|地处|设在|就在|在)([一-龥A-Za-z0-9·]{2,16})")
_HAN_AFTER = re.compile(
    r"(?:是|为|叫|称为|名为|名叫|位于|坐落于|坐落在|在|由|用|有|：|:)([一-龥A-Za-z0-9·、和]{2,20}?)"
    r"(?=的合称|酿成|酿制|制成|做成|改造|改建|组成|构成|设计|建|[,，。；;：:!！?？(（]|$)"
)
_COMMON = re.compile(
    r"(?:\b(?:an?|the|as|called|named|of|into|for|to|from|is|was|are|were)\s+)((?:[a-z][\w'’-]*\s+){0,4}?[a-z][\w'’-]*)"
    r"(?=\s*[,;.:()]|\s+(?:of|in|on|at|by|for|from|to|with|that|which|who|and|or|is|was|are|were)\b|\s*$)"
)
_HAN_PERSON_BY = re.compile(
    r"(?:由|被)(?:[一-龥]{0,6}?(?:家|师|人|者))?([一-龥]{2,4}?)(?=设计|建|修|造|创|主|发|所|写|画|题|[,，。；;])"
)


def sought(question: str) -> Sought:
    """The kind of answer that a question wants."""
    rules = _CHINESE if has_han(question) else _ENGLISH
    for kind, pattern in rules:
        if re.search(pattern, question, re.IGNORECASE):
            return kind
    return Sought.NAME


def spans(kind: Sought, sentence: str, question: str) -> list[tuple[int, int]]:
    """The places in a sentence that may be the answer, in order; never words of the question itself."""
    plain = f" {normalise(question)} "
    found = []
    for start, end in _of_kind(kind, sentence, question):
        text = normalise(sentence[start:end])
        if text and (f" {text} " not in plain if not has_han(text) else text not in plain):
            found.append((start, end))
    return sorted(dict.fromkeys(found))


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
        while words and words[0].casefold() in _OPENERS | ASKING_WORDS:
            words = words[1:]
        opening = not text[: match.start()].strip() and len(match.group().split()) == 1
        if words and not opening:
            found.append(" ".join(words))
    found += re.findall(r"(?<![A-Za-z0-9])\d[\w.,-]*\b", text)
    return [name for name in dict.fromkeys(found) if name]


def _of_kind(kind: Sought, sentence: str, question: str) -> Iterator[tuple[int, int]]:
    if kind is Sought.TIME:
        yield from (match.span() for match in _TIME.finditer(sentence))
    elif kind is Sought.NUMBER:
        yield from _numbers(sentence, question)
    elif kind in (Sought.PERSON, Sought.PLACE, Sought.NAME):
        yield from _names(kind, sentence)


def _numbers(sentence: str, question: str) -> Iterator[tuple[int, int]]:
    """The numbers of the unit asked for; of no unit in particular, those that are no years."""
    units = [unit for asking, unit in _UNITS if re.search(asking, question, re.IGNORECASE)]
    years = {match.span() for match in _TIME.finditer(sentence)}
    for match in _NUMBER.finditer(sentence):
        text = match.group()
        if units and not re.search(units[0], text, re.IGNORECASE):
            continue
        if not units and any(a <= match.start() and match.end() <= b for a, b in years):
            continue
        yield match.span()


def _names(kind: Sought, sentence: str) -> Iterator[tuple[int, int]]:
    if has_han(sentence):
        yield from _han_names(kind, sentence)
    for match in _NAME.finditer(sentence):
        start, end = match.span()
        words = match.group()
        first = words.split()[0]
        while words and (first.casefold() in _OPENERS or first.casefold() in FUNCTION_WORDS):
            words = words[len(first) :].lstrip()
            first = words.split()[0] if words else ""
        start = end - len(words)
        if end - start > 1:
            yield start, end
    if kind is Sought.NAME:
        yield from (match.span(1) for match in _QUOTED.finditer(sentence))
        yield from (match.span(1) for match in _COMMON.finditer(sentence))


def _han_names(kind: Sought, sentence: str) -> Iterator[tuple[int, int]]:
    """Names of persons and places as a tagger sees them; for other things what follows "is", "is called"."""
    if kind is Sought.NAME:
        yield from (match.span(1) for match in _HAN_AFTER.finditer(sentence))
        return
    if kind is Sought.PLACE:
        yield from (match.span(1) for match in _HAN_PLACE.finditer(sentence))
    else:
        yield from (match.span(1) for match in _HAN_PERSON_BY.finditer(sentence))
    wanted = ("nr",) if kind is Sought.PERSON else ("ns", "nt")
    place = 0
    for word, tag in tagger().cut(sentence):
        if tag.startswith(wanted) and len(word) > 1:
            yield place, place + len(word)
        place += len(word)


@cache
def tagger() -> Any:
    """Cuts Chinese into words with their parts of speech; it takes a second to load."""
    import jieba
    from jieba import posseg

    jieba.setLogLevel(60)
    return posseg.POSTokenizer()
