"""The words of the interface, in English and Chinese. Data keeps its own languages."""

from __future__ import annotations

import re
import tomllib
from functools import lru_cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any, Final

from markupsafe import Markup

LANGUAGES: Final = ("en", "zh")


_SHIPPED: Final = files("kgplatform") / "words"


def _file(name: str, folder: Traversable = _SHIPPED) -> dict[str, dict[str, str]]:
    return tomllib.loads((folder / f"{name}.toml").read_text(encoding="utf-8"))


def _phrases(folder: Traversable) -> dict[str, tuple[str, str]]:
    english, chinese = (_file(name, folder) for name in LANGUAGES)
    return {key: (text, chinese[part][key]) for part, phrases in english.items() for key, text in phrases.items()}


def add_words(folder: Traversable) -> None:
    """Adds the phrases of a plug-in, its ``en.toml`` and ``zh.toml``; none takes the place of a shipped one."""
    for key, pair in _phrases(folder).items():
        WORDS.setdefault(key, pair)


_ENGLISH: Final[dict[str, Any]] = _file("counting_en")
PREPOSITIONS: Final = frozenset(_ENGLISH["questions"]["prepositions"])
UNCOUNTED: Final = tuple(_ENGLISH["questions"]["uncounted"])
WORDS: Final = _phrases(_SHIPPED)
"""Every phrase in (English, Chinese); ``{…}`` are filled in, and scripts get those that begin with ``ui_``.

``[one|many]`` is the form for the number before it.
"""
_COUNTED: Final = re.compile(r"\{(\w+)\}([^{}\[\]]*)\[([^|\]]*)\|([^\]]*)\]")


def scripted(language: str) -> dict[str, str]:
    """The phrases that scripts need, in the language, by their keys without ``ui_``."""
    at = 1 if language == "zh" else 0
    return {key.removeprefix("ui_"): pair[at] for key, pair in WORDS.items() if key.startswith("ui_")}


def phrase(key: str, language: str, **values: object) -> str:
    """The phrase in the language, its blanks filled in.

    >>> phrase("rows", "en", n="1"), phrase("rows", "en", n="1,200"), phrase("rows", "zh", n="1")
    ('1 row', '1,200 rows', '1 行')
    """

    def counted(found: re.Match[str]) -> str:
        return f"{{{found[1]}}}{found[2]}{found[3] if str(values.get(found[1])) == '1' else found[4]}"

    text = WORDS[key][1 if language == "zh" else 0]
    while "[" in text and (chosen := _COUNTED.sub(counted, text)) != text:
        text = chosen
    if any(isinstance(value, Markup) for value in values.values()):
        text = Markup(text)  # what else is filled in is escaped then
    return text.format(**values) if values else text


_PLACED = re.compile(r"(?:line (\d+), column (\d+)|line (\d+)): (.+)", re.DOTALL)


def _pattern(english: str) -> re.Pattern[str]:
    parts = [re.escape(part) for part in english.split("{}")]
    return re.compile("(.+?)".join(parts), re.DOTALL)


MESSAGES: Final = tuple(
    (_pattern(english), chinese) for part in _file("messages_zh").values() for english, chinese in part.items()
)
"""What is said of mistakes and refusals: patterns of the English sentences, with ``{0}`` … in the Chinese ones."""


@lru_cache(maxsize=2048)
def in_chinese(message: str) -> str:
    """The message in Chinese, as far as it is known; what is not stays as it is.

    >>> in_chinese("the prefix ex: is not declared")
    '前缀 ex: 未声明'
    >>> in_chinese("line 2, column 5: expected WHERE")
    '第 2 行，第 5 列：此处应为 WHERE'
    >>> in_chinese("something else")
    'something else'
    """
    if placed := _PLACED.fullmatch(message):
        place = f"第 {placed[1]} 行，第 {placed[2]} 列" if placed[1] else f"第 {placed[3]} 行"
        return f"{place}：{in_chinese(placed[4])}"
    head, divided, rest = message.partition("; ")
    if divided and (first := in_chinese(head)) != head:
        return f"{first}；{in_chinese(rest)}"
    for pattern, chinese in MESSAGES:
        if found := pattern.fullmatch(message):
            return chinese.format(*found.groups())
    return message
