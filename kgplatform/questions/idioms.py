"""Ways to say a thing put into the plainest one, which the translator reads: "top 3 X by number of Y", "half a million".

What is rewritten is general English; a name is only touched where it has the form of such a phrase as a whole.
"""

# ruff: noqa: E501
from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

_COUNT: Final = r"\d{1,2}|two|three|four|five|six|seven|eight|nine|ten"
_COMPARED: Final = (
    r"(?:than|over|under|above|below|exceed(?:s|ing)?|least|most|exactly|about|around|beyond|to|between|and|of)"
)
_SMALL: Final = "a one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen"
_TENS: Final = "twenty thirty forty fifty sixty seventy eighty ninety"
_UNITS: Final = (
    {word: max(1, n) for n, word in enumerate(_SMALL.split())}
    | {word: 10 * n for n, word in enumerate(_TENS.split(), 2)}
    | {"an": 1}
)
_SCALES: Final = {"dozen": 12, "hundred": 100, "thousand": 1_000, "million": 1_000_000, "billion": 1_000_000_000}
_SCALE: Final = "|".join(_SCALES)
_WORDED: Final = re.compile(
    rf"\b(?P<before>{_COMPARED}\s+)(?:(?P<half>half\s+an?|a\s+half)|(?P<unit>{'|'.join(_UNITS)})(?:[\s-](?P<ones>one|two|three|four|five|six|seven|eight|nine))?)"
    rf"\s+(?P<scale>{_SCALE})(?:\s+(?P<more>thousand|million|billion))?\b",
    re.IGNORECASE,
)
_TOP_BY_NUMBER: Final = re.compile(
    rf"\b(?:the\s+)?(?P<end>top|bottom)\s+(?P<n>{_COUNT})\s+(?P<what>[^,?.!]{{1,100}}?)\s?,?\s+(?:by|in\s+terms\s+of|ranked\s+by|according\s+to|based\s+on)\s+(?:the\s+|their\s+)?(?:total\s+)?(?:numbers?|counts?)\s+of\s+(?P<of>[^,?.!]+)",
    re.IGNORECASE,
)
_TOP_BY: Final = re.compile(
    rf"\b(?:the\s+)?(?P<end>top|bottom)\s+(?P<n>{_COUNT})\s+(?P<what>[^,?.!]{{1,100}}?)\s?,?\s+(?:by|in\s+terms\s+of|ranked\s+by|according\s+to|based\s+on)\s+(?:the\s+|their\s+)?(?P<of>[^,?.!]+)",
    re.IGNORECASE,
)
_LISTED: Final = re.compile(
    r"\s+(?:(?:that\s+are\s+)?(?:listed|recorded|on\s+(?:file|record)|registered|in\s+(?:the|our|this|your)\s+(?:database|dataset|data\s+set|data|graph|catalogue|catalog|holdings|books|collection|records?|system|list))|(?:so\s+far|to\s+date|up\s+to\s+now|until\s+now))(?=\s*[?.!]*$)",
    re.IGNORECASE,
)
_PROLIFIC: Final = re.compile(r"\bmost\s+(?:prolific|productive)\b", re.IGNORECASE)
_LONG_LIST: Final = re.compile(
    r"\b(?P<how>longest|shortest)\s+(?:list\s+of\s+(?P<of>\w+)|(?P<what>\w+)\s+list)\b", re.IGNORECASE
)
_ADD_UP: Final = re.compile(
    r"^\W*(?:please\s+)?(?:add\s+up|sum(?:\s+up)?|total\s+up|calculate\s+the\s+sum\s+of|work\s+out\s+the\s+(?:total|sum)\s+of)\s+(?:all\s+)?(?:the\s+)?",
    re.IGNORECASE,
)
_ONLY: Final = re.compile(
    r"\b(?:only|just|precisely)\s+(?=(?:one|two|three|four|five|six|seven|eight|nine|ten|\d+)\b)", re.IGNORECASE
)
_HIGH: Final = re.compile(
    r"(?<![\d,.])(?P<n>\d[\d,.]{0,20})\s*(?P<unit>m|meters?|metres?|km|kilomet(?:er|re)s?|feet|ft|miles?|cm|mm)\s+(?P<how>high|tall|long|deep|wide)\b",
    re.IGNORECASE,
)
_METRES: Final = re.compile(
    r"(?<![$€£¥￥\d.,])(?P<n>\d[\d,]*(?:\.\d+)?)\s+m(?=\s*[?.!,]|\s+(?:and|or|in|above|below|deep)\b|\s*$)"
)
_LEAVING_OUT: Final = re.compile(
    r"^\W*(?:leaving|not\s+counting|ignoring|disregarding|setting|leave|ignore|not\s+including|excluding)\s+(?P<what>[^,]{1,60}?)(?:\s+(?:aside|out|apart))?\s*,\s*(?P<rest>\S.*)$",
    re.IGNORECASE,
)
_NAME_THEM: Final = re.compile(
    r"^\W*(?:are|is)\s+there\s+(?:any\s+)?(?P<what>.{1,200}?)\s?[?.!,;:–-]{1,3}\s?(?:(?:and\s+)?if\s+(?:so|yes),?\s+)?(?:(?:please\s+)?(?:name|list|show|tell\s+me)\s+(?:them|it)|which(?:\s+(?:ones?|are\s+they|is\s+it))?|what\s+are\s+they)(?:\s+please)?\W*$",
    re.IGNORECASE,
)
_OR_MORE: Final = re.compile(
    r"\b(?P<n>two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)\s+(?=or\s+(?:more|fewer|less)\b)",
    re.IGNORECASE,
)
_OR_LATER: Final = re.compile(
    r"\b(?:in|from)\s+(?P<year>1\d{3}|20\d\d)\s+(?:(?:or|and)\s+(?:later|after(?:wards)?|since)|onwards?)\b",
    re.IGNORECASE,
)
_OR_EARLIER: Final = re.compile(
    r"\b(?:in|from)\s+(?P<year>1\d{3}|20\d\d)\s+(?:or|and)\s+(?:earlier|before)\b", re.IGNORECASE
)
_ALIVE: Final = re.compile(
    r"\b(?:who|that)\s+(?:is|are)\s+(?:still\s+)?(?:alive|living)\b|\bstill\s+(?:alive|living)\b", re.IGNORECASE
)
_HOW_MANY_UNITS: Final = re.compile(
    r"\bhow\s+many\s+(?:grams?|grammes?|kilos?|kilograms?|kg|tons?|tonnes?|pounds?)\s+(?=(?:do|does|did|is|are|was|were)\b)",
    re.IGNORECASE,
)
_HOW_LONG_UNITS: Final = re.compile(
    r"\bhow\s+many\s+(?:met(?:er|re)s?|kilomet(?:er|re)s?|km|miles?|feet)\s+(?P<how>long|high|tall|wide|deep)\s+(?=(?:is|are|was|were)\b)",
    re.IGNORECASE,
)
_ANYWHERE: Final = re.compile(
    r"\s+(?:in\s+the\s+(?:whole\s+|entire\s+)?world|on\s+(?:the\s+)?(?:planet|earth)|worldwide|of\s+all(?:\s+time)?|of\s+them\s+all)(?=\s*[?.!]*$)",
    re.IGNORECASE,
)
_IN_UNITS: Final = re.compile(
    r"(?P<most>\b(?:\w{2,}est|most|least)\b[^?.!]{0,200}?)\s+(?:measured\s+)?in\s+(?:square\s+|cubic\s+)?(?:met(?:er|re)s?|kilomet(?:er|re)s?|km|miles?|feet|ft|acres|hectares|kilos?|kilograms?|grams?|tonnes?|tons?|dollars?|euros?|pounds?|yuan|minutes?|hours?|days?)(?=\s*(?:[?.!]|$))",
    re.IGNORECASE,
)
_BELOW_SEA: Final = re.compile(r"\bbelow\s+(?:the\s+)?sea\s+level\b", re.IGNORECASE)
_ABOVE_SEA: Final = re.compile(r"\s+above\s+(?:the\s+)?sea\s+level\b", re.IGNORECASE)
_FURTHEST: Final = re.compile(
    r"\b(?P<the>the\s+)?(?:furthest|farthest|most)\s+(?:to\s+the\s+)?(?P<where>north|south|east|west)(?:erly|ern|wards?)?\b",
    re.IGNORECASE,
)
_NOT_ONE: Final = re.compile(
    r"(?<=n['’]t|not|ver|out)(?P<verb>(?:\s+\w+)?)\s+(?:a\s+single|even\s+(?:one|a\s+single))\s+(?=\w)", re.IGNORECASE
)
_NOT_ANY: Final = re.compile(
    r"\b(?P<have>have|has|had|got)\s+nothing\s+(?=(?:from|in|by|of|for|on|at)\b)", re.IGNORECASE
)


def plainly(question: str) -> str:
    """The question in plainer words where it has an idiom that is known, with single blanks between its words.

    >>> plainly("Top 3 authors by number of papers")
    'the 3 authors with the most papers'
    >>> plainly("cities of more than half a million people")
    'cities of more than 500000 people'
    """
    text = " ".join(question.split())
    for pattern, plain in _RULES:
        text = pattern.sub(plain, text)
    return text


def _number(match: re.Match[str]) -> str:
    count = (
        0.5
        if match["half"]
        else float(_UNITS[match["unit"].casefold()] + _UNITS.get((match["ones"] or "").casefold(), 0))
    )
    scaled = count * _SCALES[match["scale"].casefold()] * _SCALES.get((match["more"] or "").casefold(), 1)
    return f"{match['before']}{int(scaled)}"


def _most(match: re.Match[str]) -> str:
    how = "most" if match["end"].casefold() == "top" else "fewest"
    return f"the {match['n']} {match['what']} with the {how} {match['of']}"


def _highest(match: re.Match[str]) -> str:
    how = "highest" if match["end"].casefold() == "top" else "lowest"
    return f"the {match['n']} {match['what']} with the {how} {match['of']}"


def _numerous(match: re.Match[str]) -> str:
    noun = match["of"] or match["what"]
    return (
        f"{'most' if match['how'].casefold() == 'longest' else 'fewest'} {noun if noun.endswith('s') else noun + 's'}"
    )


def _measured(match: re.Match[str]) -> str:
    unit = {"m": "metres", "ft": "feet"}.get(match["unit"].casefold(), match["unit"])
    return f"{match['n']} {unit} {match['how']}"


def _rest_first(match: re.Match[str]) -> str:
    rest = match["rest"].rstrip(" ?.!")
    return f"{rest} excluding {match['what']}?"


_RULES: Final[tuple[tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]], ...]] = (
    (_LISTED, ""),
    (_WORDED, _number),
    (_TOP_BY_NUMBER, _most),
    (_TOP_BY, _highest),
    (_LONG_LIST, _numerous),
    (_ADD_UP, "What is the total "),
    (_ONLY, "exactly "),
    (_PROLIFIC, "most common"),
    (_HIGH, _measured),
    (_METRES, r"\g<n> metres"),
    (_LEAVING_OUT, _rest_first),
    (_NAME_THEM, r"Which \g<what>?"),
    (_OR_MORE, lambda match: f"{_UNITS[match['n'].casefold()]} "),
    (_OR_LATER, r"since \g<year>"),
    (_OR_EARLIER, r"until \g<year>"),
    (_ALIVE, "without a date of death"),
    (_HOW_MANY_UNITS, "how heavy "),
    (_HOW_LONG_UNITS, r"how \g<how> "),
    (_ANYWHERE, ""),
    (_IN_UNITS, r"\g<most>"),
    (_BELOW_SEA, "with an elevation below 0"),
    (_ABOVE_SEA, ""),
    (_FURTHEST, lambda match: f"{match['the'] or ''}{match['where'].lower()}ernmost"),
    (_NOT_ONE, r"\g<verb> any "),
    (_NOT_ANY, r"do not \g<have> anything "),
)
