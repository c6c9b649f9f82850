"""Chinese words with their parts of speech, and the names they make together with a class word at the end.

Segmentation and tags are jieba's; it takes about a second to load and is loaded at the first Chinese text.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from pyoxigraph import NamedNode

from kgplatform.text import has_han

_NAME_TAGS: Final = ("n", "j", "b", "i", "l", "g", "zg", "z", "vn", "an", "eng", "Ng", "s")
PROPER_TAGS: Final = ("ns", "nr", "nz", "nt", "nrt", "nrfg", "eng")
_STOP_WORDS = """
    门口 附近 旁边 对面 里面 外面 时候 地方 大家 朋友 孩子 娃 路边 全家 隔壁 本地 当地 周边 中心 传统 老 大 小
    新 古 著名 普通 主题 全国 国家 世界 中国第一 江南 民国 时期 文化 历史 特色 招牌 正宗 网红 本人 我们 家人
    周末 夏天 冬天 春天 秋天 早上 晚上 中午 下午 上午 天 年 月 日 号 公里 分钟 小时 元 门票 票 价格 地址 交通
    住宿 美食 攻略 时间 作者 标题 入口 出口 方向 两边 沿线 沿途 一带 旧址 老牌 名字 原名 又名 别名 老板 店 馆 家
    万国 各国 外国 本国 我国 全国 列国
    人 处 式 石 木 名 座 条 现代 古老 同学 学生 老师 游客 本文 论文 基础 方法 模型 数据
    门口 大门 出门 总店 分店 路口 口
"""
STOP_TOKENS: Final = frozenset(_STOP_WORDS.split())
_POINTS: Final = re.compile(
    "同一|某|每|该|此|任何|对方|不(?!夜|老)|指对|其[他它中余]|所有|全体|一些|许多|全国?重点|重点|(?:世界|[省市县]|[A-Z]+|[\u4e00-\u9fff]{2})级"
)
_ACTS: Final = frozenset("沿上下登爬靠依傍临过出进入到去回离绕逛隔跨顺")
"""One of these before a word of one character says what is done: 沿河, 上山, 进城."""
_LIKE: Final = frozenset("小大老古")
_PEOPLE: Final = "人"
"""After a name it means those who live there or belong to it: 南浔人."""
_CITY_ENDINGS: Final = frozenset("州江海乡")
_STOP_CHARACTERS: Final = frozenset(
    "在住去到吃看坐逛有是来走买选找叫想回从进出带玩说写给让用做订开入离过上下为往至向经含及前后里中外内东西南北近旁每各个家座条间"
    "些位只把和与或可能会要不没很最太更大小新老好美远高低多少约共就都也还再又才刚已将被对比像属靠临沿绕骑爬登拍喝点排等换乘转停"
)
_LINKS: Final = frozenset("供使令由按称指让把被将属")
"""No part of a name, whatever part of speech they are taken for."""
_HAN_ONLY = re.compile(r"[\u3400-\u9fff·]+")


@dataclass(frozen=True, slots=True)
class Token:
    """A word of a Chinese text with its part of speech in jieba's tag set."""

    text: str
    tag: str
    start: int

    @property
    def end(self) -> int:
        """The offset after the last character."""
        return self.start + len(self.text)


@lru_cache(maxsize=1)
def _tagger() -> Any:
    import jieba
    import jieba.posseg

    jieba.setLogLevel(logging.WARNING)
    return jieba.posseg


def tag(text: str) -> list[Token]:
    """The words of the text; what stands between Chinese passages is kept in larger pieces."""
    tokens: list[Token] = []
    position = 0
    for pair in _tagger().cut(text):
        tokens.append(Token(pair.word, pair.flag, position))
        position += len(pair.word)
    return tokens


def _nameish(token: Token) -> bool:
    if token.text in STOP_TOKENS or token.text in _LINKS or not token.text.strip():
        return False
    if token.tag == "eng":
        return any(character.isupper() or character.isdigit() for character in token.text)
    if not _HAN_ONLY.fullmatch(token.text):
        return bool(re.fullmatch(r"[A-Z]*\d+", token.text))
    if token.tag in ("a", "v", "zg", "q", "f", "vg", "ag", "ng", "tg") and len(token.text) == 1:
        return token.text not in _STOP_CHARACTERS
    return token.tag.startswith(_NAME_TAGS) and token.tag not in ("ng", "nrx")


def points(words: str) -> bool:
    """Whether Chinese words say which one or of what rank and name nothing: 同一机场, 所有作者, 国家级景区."""
    return _POINTS.match(words) is not None


def describes(words: str) -> bool:
    """Whether Chinese words that end in a class word of one character only say what is done or how it is: 上山, 小河.

    >>> describes("上山"), describes("小河"), describes("西塘沿河"), describes("太湖")
    (True, True, True, False)
    """
    return words[-2:-1] == "沿" or (len(words) == 2 and (words[0] in _ACTS or words[0] in _LIKE))


def names_with_suffix(
    tokens: list[Token], suffixes: Mapping[str, NamedNode]
) -> Iterator[tuple[int, int, NamedNode, str]]:
    """Names that end in a class word: start, end, class and the class word; only those that are more than the word."""
    longest = max(map(len, suffixes), default=0)
    for index, token in enumerate(tokens):
        if not has_han(token.text):
            continue
        word = _suffix_at(tokens, index, suffixes, longest)
        if word is None or (len(token.text) == 2 and word in _CITY_ENDINGS):
            continue
        first, proper = _expand(tokens, index, token.end - len(word), suffixes)
        start = tokens[first].start
        single = [item for item in tokens[first:index] if item.end <= token.end - len(word)]
        proper = proper or (len(word) > 1 and len(single) > 1 and all(len(item.text) == 1 for item in single))
        proper = proper or _stands_alone(tokens, first, index, word)
        written = "".join(item.text for item in tokens[first : index + 1])
        if (
            token.end - start <= len(word)
            or written[0].isdigit()
            or word == _PEOPLE
            or points(written)
            or (len(word) == 1 and describes(written))
            or not _is_a_name(start, token, word, proper=proper)
        ):
            continue
        yield start, token.end, suffixes[word], word


def _stands_alone(tokens: list[Token], first: int, index: int, word: str) -> bool:
    """Whether the words are what a clause begins with and says something of: "枕水度假酒店在…"."""
    given = tokens[index].end - len(word) - tokens[first].start
    opens = first == 0 or not has_han(tokens[first - 1].text)
    says = index + 1 < len(tokens) and tokens[index + 1].tag[0] in "pvd"
    return given >= 2 and len(word) >= 2 and opens and says


def _suffix_at(tokens: list[Token], index: int, suffixes: Mapping[str, NamedNode], longest: int) -> str | None:
    """The longest class word that ends with this token."""
    joined = ""
    for token in reversed(tokens[max(0, index - 3) : index + 1]):
        joined = token.text + joined
        if len(joined) >= longest:
            break
    for length in range(min(longest, len(joined)), 0, -1):
        word = joined[-length:]
        if word not in suffixes or (length == 1 and not _single_ok(tokens[index])):
            continue
        if length > len(tokens[index].text) and not _at_boundary(tokens, index, length):
            continue
        if length == 2 and len(tokens[index].text) == 3 and word[-1] in suffixes:
            continue
        return word
    return None


def _at_boundary(tokens: list[Token], index: int, length: int) -> bool:
    """Whether a class word over several words begins where one of them does."""
    start = tokens[index].end - length
    return any(item.start == start for item in tokens[max(0, index - 3) : index])


def _single_ok(token: Token) -> bool:
    return len(token.text) == 1 or token.tag in PROPER_TAGS


def _expand(tokens: list[Token], index: int, suffix_start: int, suffixes: Mapping[str, NamedNode]) -> tuple[int, bool]:
    """The first token of the name that ends at ``index``, and whether a proper noun is among its words."""
    first = index
    while first > 0 and tokens[first].start > suffix_start:
        first -= 1
    proper = tokens[first].start < suffix_start and tokens[first].tag in PROPER_TAGS
    if tokens[first].start < suffix_start and not _nameish(tokens[first]):
        return index + 0, False
    if tokens[first].start < suffix_start and len(tokens[first].text) >= 3 and tokens[first].tag in PROPER_TAGS:
        return first, True
    while first > 0 and _nameish(tokens[first - 1]) and tokens[first - 1].text not in suffixes:
        previous = tokens[first - 1]
        if previous.tag == "ns" and len(previous.text) >= 3 and previous.text[-1] in suffixes:
            break
        if previous.end != tokens[first].start:
            break
        first -= 1
        proper = proper or previous.tag in PROPER_TAGS
    return first, proper


def _is_a_name(start: int, token: Token, word: str, *, proper: bool) -> bool:
    """Whether what stands before the class word makes a name of it and not a description."""
    given = token.end - len(word) - start
    if proper:
        return given >= 1
    return given >= 3 or (given >= 2 and len(word) == 1 and len(token.text) > 1 and token.tag.startswith("n"))
