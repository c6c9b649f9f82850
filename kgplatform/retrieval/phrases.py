"""Names and rare phrases that passages share, found without a model: what the passage graph is tied together with.

In English and its kin a name is a run of capitalised words (``University of Oslo``) or a year; in Chinese the words
that jieba cuts, and titles in 《》. Which of them tie passages together is told by how many passages have them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any, Final

from kgplatform.text import has_han

_CAPITAL = r"[^\W\d_a-zß-öø-ÿ](?:[\w'’-]|\.(?=\w))*"
_CAPITALISED = re.compile(rf"(?:{_CAPITAL}|\d{{4}})(?:\s+(?:(?:of|of the|de|de la|du|von|van|&)\s+)?{_CAPITAL})*")
_HAN_TITLE = re.compile(r"《([^《》]{2,40})》")
_HAN_RUN = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff]{2,}")
_HAN_LETTERS = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff]+")
_HAN_BLANK = re.compile(r"(?<=[\u3400-\u4dbf\u4e00-\u9fff]) (?=[\u3400-\u4dbf\u4e00-\u9fff])")
_WORD = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff]|[^\W\u3400-\u4dbf\u4e00-\u9fff]+")
_BRACKETED = re.compile(r"\s*[（(][^）)]*[）)]\s*$")
_OPENERS: Final = frozenset(
    re.findall(
        r"\w+",
        """A After All Although An And As At Before Both But By Each For From He Her His How If In It Its Many Most No
        Not Of On One Or Our Several She Since So Some That The Their Then There These They This Those Through To Under
        Until We What When Where Which While Who Whose Why With""",
    )
)
_SHORTEST: Final = 3


def name_key(text: str) -> str:
    """The words of a name in small letters with single blanks between; Chinese by the character.

    >>> name_key("Hello, Dolly! (film)"), name_key("乌镇 West")
    ('hello dolly film', '乌 镇 west')
    """
    return " ".join(_WORD.findall(text.casefold()))


def as_written(key: str) -> str:
    """The key of a name as a text may have it: no blanks between Chinese characters.

    >>> as_written("乌 镇 west"), as_written("hello dolly")
    ('乌镇 west', 'hello dolly')
    """
    return _HAN_BLANK.sub("", key)


def title_keys(title: str) -> tuple[str, ...]:
    """The keys that a title goes by: whole, and without a bracket at its end ("Carnival (film)")."""
    keys = dict.fromkeys((name_key(title), name_key(_BRACKETED.sub("", title))))
    return tuple(key for key in keys if len(key) >= _SHORTEST)


def phrases(text: str) -> frozenset[str]:
    """The keys of the names that the text seems to hold."""
    found = {name_key(match[1]) for match in _HAN_TITLE.finditer(text)}
    for match in _CAPITALISED.finditer(text):
        words = match.group().rstrip(".-'’").split()
        while words and words[0] in _OPENERS:
            words = words[1:]
        found.add(name_key(" ".join(words)))
    if has_han(text):
        found.update(name_key(word) for run in _HAN_RUN.findall(text) for word in _words(run))
    return frozenset(key for key in found if len(key) >= _SHORTEST)


def chinese_words(text: str) -> list[str]:
    """The Chinese words of a text as jieba cuts them, in their order.

    >>> chinese_words("西栅的门票150元")
    ['西栅', '的', '门票', '元']
    """
    return [word for run in _HAN_LETTERS.findall(text) for word in _jieba().cut(run)]


def _words(run: str) -> Iterator[str]:
    return (word for word in _jieba().cut(run) if len(word) > 1)


@cache
def _jieba() -> Any:
    import jieba

    jieba.setLogLevel(60)
    return jieba


class NameFinder:
    """Finds which of many names a text holds; linear in the text."""

    def __init__(self, keys: Iterable[str]) -> None:
        self._starts: dict[str, list[str]] = {}
        for key in dict.fromkeys(keys):
            self._starts.setdefault(key.split(" ", 1)[0], []).append(key)

    def __call__(self, text: str) -> frozenset[str]:
        """The names in the text; a name inside a longer one that is there too does not count."""
        whole = f" {name_key(text)} "
        found = {
            key for word in dict.fromkeys(whole.split()) for key in self._starts.get(word, ()) if f" {key} " in whole
        }
        return frozenset(
            key for key in found if not any(key != other and f" {key} " in f" {other} " for other in found)
        )


def shared(by_passage: Mapping[int, Iterable[str]], *, least: int = 2, most: int = 40) -> dict[str, list[int]]:
    """The phrases that between ``least`` and ``most`` passages have, with those passages in order."""
    holders: dict[str, list[int]] = {}
    for passage, keys in by_passage.items():
        for key in keys:
            holders.setdefault(key, []).append(passage)
    return {key: sorted(places) for key, places in holders.items() if least <= len(places) <= most}
