"""What people and platforms add to posts and what says nothing: where it stands in a text, and the text without it.

Nothing is cut out: a text without its noise has blanks where the noise was, so that every offset in it is an offset
in the text as written.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

_EMOJI_LETTERS = (
    "\U0001f000-\U0001faff\U0001f1e6-\U0001f1ff\u2600-\u26ff\u2700-\u2767\u2794-\u27bf\u2b05-\u2b07\u2b1b\u2b1c\u2b50\u2b55"
    "\u231a\u231b\u23e9-\u23fa\u25aa\u25ab\u25fb-\u25fe\u3030\u303d\u3297\u3299"
)
_EMOJI = re.compile(
    f"[{_EMOJI_LETTERS}][{_EMOJI_LETTERS}\u200d\ufe0e\ufe0f\u20e3\U000e0020-\U000e007f]*|[0-9#*]\ufe0f?\u20e3"
)
_STICKER = re.compile(
    r"\[[\u4e00-\u9fff]{1,5}[RH]\]"
    r"|\[(?:doge|笑哭|捂脸|允悲|偷笑|嘻嘻|哈哈|爱你|心|赞|微笑|害羞|色|哇|抱拳|玫瑰|鼓掌|可爱|泪|馋嘴)\]"
)
_TAG = r"#[^\s#，,。.!！?？;；:：、()（）\[\]{}<>\"'`*|/\\]{1,40}(?:#|(?=[\s#]|$))"
_TAGS = re.compile(rf"(?:(?<=\s)|^){_TAG}(?:[ \t]*{_TAG})+", re.MULTILINE)
_TAG_LINE = re.compile(rf"^[ \t]*{_TAG}[ \t]*$", re.MULTILINE)
_TAG_MARK = re.compile(r"(?:(?<=[\s，。！？])|^)#(?=[^\s#\d!]\S)|(?<=[\u4e00-\u9fff])#(?=[\s，。！？]|$)", re.MULTILINE)
_SLANG = re.compile(
    r"(?:家人们|姐妹们|宝子们|宝宝们|集美们|友友们|老铁们|兄弟们|小伙伴们|姐妹)(?=[，,！!～~。\s]|谁懂|冲|听|看)(?:谁懂啊)?"
    r"|谁懂啊|绝绝子|无语子"
    r"|真的会谢|狠狠爱了|狠狠拿捏|冲鸭|冲冲冲|救命(?=[，,！!～~])|啊{3,}|哈{3,}|呜{3,}|嘿{2,}|嘻{2,}"
    r"|(?<=[\u4e00-\u9fffA-Za-z!！。])[~～]+(?=[，。！!\s]|$)"
    r"|(?<![A-Za-z0-9])(?:yyds|u1s1|awsl|xswl|nsdd|zqsg|xdm)(?![A-Za-z0-9])"
    r"|\b(?:o+m+g+|lo+l|lma+o|rofl|(?:ha){2,}h?|yass+|slay|no cap|fr fr|imho|tbh|ngl)\b(?![-'’]\w)"
    r"|\b(?:hey|hi|hello),? (?:guys|y'?all|everyone|folks|besties|lovelies)\b",
    re.IGNORECASE,
)
_HEADLINE = re.compile(
    r"(?:超|巨|最)?(?:保姆级|傻瓜式|手把手)(?:教程)?|(?:看|收藏|有)?这一?篇(?:攻略)?就(?:够|行)了?"
    r"|一篇(?:文章)?(?:就)?(?:搞定|讲清楚|讲透)|不看(?:会)?后悔|错过(?:会)?后悔"
    r"|(?:全网)?最全(?:面)?(?:的)?|吐血整理|干货满满|纯干货|满满干货|建议收藏|速速?收藏|赶紧收藏|抄作业|码住"
    r"|马住|(?:谁|不会)还(?:有人)?(?:没|不知道)[^，。！？\s]{0,6}[？?]?"
    r"|\byou (?:won'?t|will not) believe\b|\bthe (?:only|ultimate) guide you(?:'ll| will)? (?:ever )?need\b"
    r"|\beverything you need to know\b|\b(?:things|secrets?) (?:nobody|no one) tells you\b|\bmust[- ]reads?\b"
    r"|\(?a thread\)?(?=\W*$)",
    re.IGNORECASE | re.MULTILINE,
)
_BOILERPLATE = re.compile(
    r"点赞|点个赞|求赞|双击(?:屏幕|红心|么么)|一键三连|求三连"
    r"|(?:先|记得|赶紧|快|可以)(?:马|码|收藏)(?:起来|一下|哦|吧|好)|求?关注(?:我|一下|不迷路|走一波)"
    r"|点(?:个)?关注|求关注|互粉"
    r"|私信我|私我|评论区(?:见|留言|告诉|聊|扣|等)|欢迎(?:大家)?(?:留言|评论|补充|转发)|(?<!折)扣1(?![\d层折])|转发给|转载请"
    r"|未经(?:允许|授权)|图(?:片)?(?:源|来自)网络|侵(?:权)?(?:必)?删"
    r"|展开全文|阅读全文|查看全部|点击(?:阅读|查看|关注|下方|头像)|下期(?:再)?见"
    r"|感谢(?:大家)?(?:的)?(?:阅读|观看|收看)"
    r"|\bfollow (?:me|us|for more|my (?:page|account|blog))\b"
    r"|\blike(?:,| and| &|/)+ ?(?:save|share|comment|subscribe|follow)\b"
    r"|\b(?:comment|share|save)(?:,| and| &|/)+ ?(?:subscribe|follow|comment)\b"
    r"|\b(?:smash|hit) (?:that|the) (?:like|subscribe|follow)\b|\bsubscribe (?:to|for)\b|\blink in (?:my )?bio\b"
    r"|\bdm me\b|\btag (?:a friend|someone)\b"
    r"|\bsave (?:this )?(?:post )?for later\b|\bsave this post\b|\bthanks for (?:reading|watching)\b"
    r"|\b(?:drop|leave) (?:me )?a comment\b|\blet me know in the comments\b"
    r"|\b(?:read|show|see) more$|\ball rights reserved\b|\bturn on (?:post )?notifications\b",
    re.IGNORECASE | re.MULTILINE,
)
_MARKS = re.compile(r"(?<=[!！?？])[!！?？]+")
_CLAUSE_END: Final = frozenset("。！？!?；;，,、\n~～|")
_CLAUSE_LETTERS: Final = 40


@dataclass(frozen=True, slots=True)
class Noise:
    """What says nothing; ``kind``: ``emoji``, ``tag``, ``slang``, ``headline``, ``boilerplate`` or ``marks``."""

    kind: str
    start: int
    end: int


def noise_in(text: str) -> list[Noise]:
    """The places of a text that say nothing, in order; they do not overlap.

    >>> [text[n.start : n.end] for text in ("西栅很美，记得点赞收藏哦！",) for n in noise_in(text)]
    ['记得点赞收藏哦']
    """
    kept: list[Noise] = []
    for noise in sorted(_found(text), key=lambda noise: (noise.start, -noise.end)):
        start = max(noise.start, kept[-1].end) if kept else noise.start
        if start < noise.end:
            kept.append(Noise(noise.kind, start, noise.end))
    return kept


def without_noise(text: str) -> str:
    """The text with blanks in the place of its noise: of the same length, line ends kept.

    >>> without_noise("OMG Xizha 😀😀 #wuzhen #travel")
    '    Xizha                   '
    """
    pieces: list[str] = []
    position = 0
    for noise in noise_in(text):
        pieces += [text[position : noise.start], _blank(text[noise.start : noise.end])]
        position = noise.end
    return "".join((*pieces, text[position:]))


def _blank(text: str) -> str:
    return "".join("\n" if letter == "\n" else " " for letter in text)


def _found(text: str) -> Iterator[Noise]:
    kinds = ("emoji", _EMOJI), ("emoji", _STICKER), ("tag", _TAGS), ("tag", _TAG_LINE), ("tag", _TAG_MARK)
    for kind, pattern in (*kinds, ("slang", _SLANG), ("headline", _HEADLINE), ("marks", _MARKS)):
        for match in pattern.finditer(text):
            yield Noise(kind, *match.span())
    for match in _BOILERPLATE.finditer(text):
        yield Noise("boilerplate", *_clause(text, *match.span()))


def _clause(text: str, start: int, end: int) -> tuple[int, int]:
    """The clause around a phrase, if it is short; a long one says something else besides, so only the phrase goes."""
    first, last = start, end
    while first > 0 and not _is_clause_end(text, first - 1) and start - first <= _CLAUSE_LETTERS:
        first -= 1
    while last < len(text) and not _is_clause_end(text, last) and last - end <= _CLAUSE_LETTERS:
        last += 1
    if start - first > _CLAUSE_LETTERS or last - end > _CLAUSE_LETTERS:
        return start, end
    while first < start and text[first].isspace():
        first += 1
    return first, last


def _is_clause_end(text: str, position: int) -> bool:
    letter = text[position]
    if letter == ".":
        return text[position + 1 : position + 2].isspace() or position + 1 == len(text)
    return letter in _CLAUSE_END
