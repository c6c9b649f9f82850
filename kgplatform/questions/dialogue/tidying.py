"""What people say around a question, left out: greetings, thanks, control characters; letters and digits said aloud."""

# ruff: noqa: E501
from __future__ import annotations

import re
import unicodedata
from typing import Final

_DIGITS: Final = {
    word: str(number)
    for number, word in enumerate(("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"))
} | {"oh": "0", "niner": "9"}
_DIGIT: Final = "|".join(_DIGITS)
_LETTER_SAID: Final = re.compile(
    rf"(?:(?P<kind>\b(?:gate|ramp|stand|pier)\s+)(?P<any>[a-zA-Z])|\b(?P<capital>[B-HJ-Z]))[ -](?P<n>(?:{_DIGIT})(?:[ -](?:{_DIGIT})){{0,2}})\b",
    re.IGNORECASE,
)
_BEFORE: Final = re.compile(
    r"^\s*(?:(?:hi|hello|hey|hiya|good (?:morning|afternoon|evening|day)|excuse me|sorry|dear \w+)(?: there| team| all| everyone)?\b[\s,.!:;-]*"
    r"|(?:please|pls|plz|quick question)\b[\s,:]*"
    r"|(?:could|can|would) (?:you|u) (?:please |kindly )?(?:tell|show) me\s+|(?:do you know|i(?:['’]d| would) like to know|i need to know|i want to know|i wonder|any idea)\s+"
    r"|(?:你好|您好|早上好|下午好|晚上好|请问一下|请问|麻烦问一下|打扰一下|不好意思|劳驾|我想知道|我想问一下|能告诉我|可以告诉我)[\s，,。！!：:]*)+(?=\S)",
    re.IGNORECASE,
)
_AFTER: Final = re.compile(
    r"(?:[\s,]+(?:please|pls|plz|thanks|thank you|thx|cheers|mate)|[\s，,]*(?:谢谢您?|多谢|拜托了?))+(?P<end>[\s.!?？。！]*)$",
    re.IGNORECASE,
)
_LEAVING: Final = re.compile(
    r"\W*(?:(?:ok(?:ay)?|alright|great|perfect|no)[\s,.!]*)?(?:cancel(?: that| it)?|never ?mind|forget (?:it|about it|that)|stop|nothing|no thanks|no thank you"
    r"|thanks?(?: a lot| you| very much| so much)?|thank you(?: very much| so much)?|thx|cheers|bye(?: bye)?|goodbye|ok(?:ay)?|取消吧?|算了|不用了?|没事了?|谢谢您?|多谢|再见|好的?|知道了)\W*",
    re.IGNORECASE,
)


def tidied(text: str) -> str:
    """The question without what only surrounds it, and with "C five" as C5.

    >>> tidied("hi there, which gate is DL75 at please?")
    'which gate is DL75 at?'
    """
    clean = "".join(" " if unicodedata.category(c) in ("Cc", "Cf", "Cs") else c for c in text).strip()
    bare = _AFTER.sub(lambda match: match["end"], _BEFORE.sub("", clean))
    bare = bare if any(c.isalnum() for c in bare) else clean
    return _LETTER_SAID.sub(_joined, bare)


def is_leave(text: str) -> bool:
    """Whether nothing is asked any more: "cancel", "thanks", 算了."""
    return _LEAVING.fullmatch(text) is not None


def _joined(match: re.Match[str]) -> str:
    letter = match["any"] or match["capital"]
    if match["capital"] and not letter.isupper():
        return match.group()
    digits = "".join(_DIGITS[word.casefold()] for word in re.split(r"[ -]", match["n"]))
    return f"{match['kind'] or ''}{letter.upper()}{digits}"
