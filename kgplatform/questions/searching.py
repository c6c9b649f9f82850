"""Questions about the wording of names: "names that contain …", 名称包含…, and the first few of a ranking."""

from __future__ import annotations

import re
from dataclasses import dataclass

from kgplatform.questions.graphs import Search

_CONTAIN = r"(?:contain(?:s|ing)?|includ(?:es?|ing)|have|has|having|with)"
_WHAT = r"(?:\s+(?:the|a))?(?:\s+(?:words?|strings?|substring|phrase|letters?|text))?\s+"
_QUOTED_OR_WORD = r"(?:[\"'“‘]([^\"'”’]{1,60})[\"'”’]|([\w-]+))"
_NAME = r"\b(?:names?|titles?|labels?)['’]?\s+(?:that\s+|which\s+)?"
_PATTERNS = (
    (re.compile(_NAME + _CONTAIN + _WHAT + _QUOTED_OR_WORD, re.IGNORECASE), "CONTAINS"),
    (
        re.compile(_NAME + r"(?:start|begin)(?:s|ning|ing)?\s+with" + _WHAT + _QUOTED_OR_WORD, re.IGNORECASE),
        "STRSTARTS",
    ),
    (re.compile(_NAME + r"end(?:s|ing)?\s+(?:with|in)" + _WHAT + _QUOTED_OR_WORD, re.IGNORECASE), "STRENDS"),
    (
        re.compile(
            r"(?:名称|名字|名|标题|题目)(?:中|里|里面)?(?:包含有?|含有|带有|含|带|有)"
            r"(?:[“\"「『]([^”\"」』]{1,40})[”\"」』]|(\w+?)(?=的|[,，。？?]|$))(?:这?[个两]?[字词])?"
        ),
        "CONTAINS",
    ),
    (re.compile(r"(?:名称|名字|名|标题)以[“\"「『]?()([^”\"」』]{1,40}?)[”\"」』]?(?:开头|打头|开始)"), "STRSTARTS"),
    (re.compile(r"(?:名称|名字|名|标题)以[“\"「『]?()([^”\"」』]{1,40}?)[”\"」』]?结尾"), "STRENDS"),
)
_NUMBERS = {word: n for n, word in enumerate("zero one two three four five six seven eight nine ten".split())}  # noqa: SIM905
_NUMBERS |= {word: n for n, word in enumerate("零一二三四五六七八九十")} | {"两": 2}
_COUNT = r"(\d{1,2}|two|three|four|five|six|seven|eight|nine|ten)"
_COUNT_ZH = r"(\d{1,2}|[二两三四五六七八九十])"
_TOPS = (
    re.compile(rf"\b(?:top|first|bottom|last)\s+{_COUNT}\b", re.IGNORECASE),
    re.compile(rf"\b{_COUNT}\s+(?=(?:\w+est|best|worst|most|least)\b)", re.IGNORECASE),
    re.compile(
        rf"\b{_COUNT}(?=\s+(?:\w+\s+){{1,3}}?(?:with|that\s+have|that\s+has|which\s+have|who\s+have|having|\w+ing)\s+the\s+(?:\w+est|most|least|best)\b)",
        re.IGNORECASE,
    ),
    re.compile(rf"前{_COUNT_ZH}[名个位家座条大所门部]?"),
    re.compile(rf"最\w{{1,4}}?的{_COUNT_ZH}[名个位家座条所门部]"),
)


_RANKING = re.compile(r"\b(?:\w{3,}est|best|worst|most|least)\b|最", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is searched for in names, or how many of a ranking are wanted, and where the question says so."""

    start: int
    end: int
    search: Search | None = None
    top: int = 1


def searched(text: str) -> Wanted | None:
    """The text that names are asked to hold; None if the question asks for none."""
    for pattern, function in _PATTERNS:
        match = pattern.search(text)
        if match:
            wanted = (match[1] or match[2] or "").strip()
            if wanted:
                return Wanted(match.start(), match.end(), Search(-1, function, wanted.casefold()))
    return None


def ranked_first(text: str) -> Wanted | None:
    """How many of a ranking are wanted ("the top three", 前三名); None if the question does not say."""
    for pattern in _TOPS:
        match = pattern.search(text)
        if match:
            number = match[1].casefold()
            start = match.start() if _RANKING.search(text[: match.start()] + text[match.end() :]) else match.start(1)
            return Wanted(start, match.end(1), top=int(number) if number.isdigit() else _NUMBERS[number])
    return None


_SORTED = re.compile(
    r"(?:,\s*|\band\s+|\bin\s+)?(?:"
    r"\b(?:sort(?:ed)?|order(?:ed)?|arranged?|ranked)\b(?: them| it| the (?:results?|list))?"
    r"\s+(?:by|in|using|according to|from|alphabetically|on)\b|\bin (?:the )?(?:alphabetic(?:al)?|ascending|descending|"
    r"lexicographic(?:al)?|increasing|decreasing|reverse|chronological) order\b|\balphabetically\b"
    r"|按[^，。？?]{1,12}(?:排序|排列))[^.?!。？！]*",
    re.IGNORECASE,
)
_SORTED_FIRST = re.compile(
    r"^(?:请|把)?按照?[^，。？?]{1,10}?(?:[从由][高大多新长晚重贵远低小少旧短早轻近]到[高大多新长晚重贵远低小少旧短早轻近])?"
    r"(?:的?顺序)?(?:升序|降序|倒序)?(?:排序|排列|排)(?:列出|给出)?|^(?:请|把)?按照?[^，。？?]{1,10}?[从由].到.的?(?:顺序)?(?=列出)"
)
_SORT_VERB = re.compile(
    r"^\W*(?:please\s+)?(?:sort|order|rank|arrange)\s+.+?(\s(?:by|according to)\s.+)", re.IGNORECASE
)


def sorted_by(text: str) -> Wanted | None:
    """Where a question says in what order it wants the rows; what is asked for does not depend on it."""
    if match := _SORTED_FIRST.search(text):
        return Wanted(match.start(), match.end())
    if match := _SORT_VERB.search(text):
        return Wanted(match.start(1), match.end(1))
    match = _SORTED.search(text)
    return Wanted(match.start(), match.end()) if match and match.start() > 0 else None
