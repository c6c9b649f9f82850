"""What people say around a question, left out: greetings, thanks, what comes first, what goes without saying.

Control characters go too, and letters and digits said aloud are written as such.
"""

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
_FIRST: Final = re.compile(
    r"^(?:(?:那|然后|接着|嗯|好的?)[，,\s]*)?(?:等?我们?|咱们?)?先?(?:吃|喝|玩|逛|溜达|游览|参观|看|忙|办|买|订|定|住|找|选|安排|休息|收拾|运动)(?:过|好|完)"
    r"(?:[早午晚]?饭|[早午晚]餐|东西|茶|咖啡|酒店|宾馆|住处|[住吃]的地方|房间?|票|街|景点|事情?|活儿?)?(?:了|以后|之后|后)*[呢吧]?[，,\s]*"
    r"(?=(?:我们?|咱们?)?(?:再|还|又|就|也|顺便|然后)*(?:想|打算|准备|希望|计划|(?:需?要|得)(?![多几花])|可以[帮给]|能[帮给]|[帮给]|请))"
    r"|^(?:(?:and )?(?:then|afterwards|later)|(?:right )?after (?:breakfast|lunch|dinner|supper|work|that|eating|checking in|the meal|a meal))[\s,]+"
    r"(?=(?:i|we)(?:['’]d| would)? (?:want|like|need|plan|hope|wish)\b)",
    re.IGNORECASE,
)
"""What is to be done before what is asked for: 吃完饭我想找…, "after lunch I want …". Nothing that has a name."""
_KINDS_OF_USE: Final = (
    ("住宿|入住|住下来?|过夜|落脚", "住", "酒店|宾馆|旅馆|旅店|民宿|客栈"),
    ("吃饭|用餐|就餐|吃东西|好吃", "吃", "餐馆|餐厅|饭店|饭馆|饭庄|酒楼"),
    ("游玩|游览|参观|溜达|逛逛|玩玩|好玩", "玩儿?", "景点|景区|公园|乐园"),
)
"""What one does at places of a kind, which goes without saying; in one character, only where one can or may."""
_USED: Final = re.compile(
    "|".join(
        rf"(?:(?:可以|能够?)(?:{use}|{brief})|(?:{use}))的(?:其他|别的)?(?=(?:{kind})(?!的))"
        rf"|(?<=的)(?P<kind{n}>{kind})(?:{use}|{brief})(?:一下|一会儿?)?(?=[吧呢吗呀啊]?(?:[，,。！？!?\s]|$))"
        for n, (use, brief, kind) in enumerate(_KINDS_OF_USE)
    )
)
_ADVICE: Final = re.compile(
    r"[，,\s]+(?:你们?|您)?(?:看看|有没有|有|能|可以|帮|给|我们?|请|麻烦|再)*(?:什么|啥|哪些|点儿?|些|一下|[一几]?[个家间])*(?:值得|比较|更)?(?:好一?点?|不错|合适)?的?(?:地方|选择|去处)?的?"
    r"(?:推荐|建议|介绍)的?(?:地方|一下|下|[一几][个家间])?(?:好不好|好吗|可以吗|没有|[吗呢吧呗么])?(?P<end>[\s？?。！!]*)$"
)
"""A last clause that only asks for advice, of a question that has said for what."""
_KNOWN: Final = re.compile(r"(?:你们?|您)?(?:知不知道|知道)(?P<what>[^，,。？?]+的[^，,。？?]+?)[吗么](?=[\s？?。]*$)")
_SOMEWHAT: Final = re.compile(r"(好|便宜|贵|近|远|大|小|高档)(?:一?点儿?|一些|些)的")
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
    bare = _FIRST.sub("", _AFTER.sub(lambda match: match["end"], _BEFORE.sub("", clean)))
    bare = _USED.sub(lambda match: next(filter(None, match.groups()), ""), bare)
    bare = _KNOWN.sub(r"\g<what>是什么", _SOMEWHAT.sub(r"\1的", bare))
    bare = _ADVICE.sub(r"\g<end>", bare)
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
