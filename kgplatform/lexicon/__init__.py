"""The words and patterns of the languages that questions are asked in: ``en.toml`` and ``zh.toml`` beside this file.

A name is ``section.key``. What both files say under one name belongs together: words one after the other, patterns as
alternatives, English first. ``{{part}}`` in a pattern is filled in by the caller.

Other rooms have files of their own, ``<room>.<language>.toml``, and ``<room>.toml`` for what frames the words of the
languages (see `LexiconSection`).
"""

from __future__ import annotations

import gzip
import re
import tomllib
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

LANGUAGES = ("en", "zh")
LEXICONS = Path(__file__).parent
_LETTER = re.compile(r"\w")
"""What a sense has that is no sign: of 坎 one is ☵."""


@cache
def question_languages() -> tuple[str, ...]:
    """The languages that questions are read in: those of the package, and any other with ``questions.CODE.toml``."""
    found = sorted(path.name.split(".")[1] for path in LEXICONS.glob("questions.*.toml"))
    return tuple(dict.fromkeys((*LANGUAGES, *found)))


@cache
def _sections(language: str) -> dict[str, dict[str, str | list[str]]]:
    return read(language)


def read(name: str) -> dict[str, Any]:
    """The content of a file beside this one; empty if there is none."""
    file = Path(__file__).with_name(f"{name}.toml")
    return tomllib.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}


@cache
def glosses(language: str) -> dict[str, tuple[str, ...]]:
    """English senses by word or phrase in small letters; empty for a language that needs none."""
    for file in (LEXICONS / f"glosses.{language}.tsv", LEXICONS / f"glosses.{language}.tsv.gz"):
        if file.is_file():
            data = file.read_bytes()
            text = (gzip.decompress(data) if file.suffix == ".gz" else data).decode("utf-8")
            pairs = (line.split("\t") for line in text.splitlines())
            return {word.casefold(): tuple(filter(_LETTER.search, senses.split("/"))) for word, senses in pairs}
    return {}


class LexiconSection:
    """The words and patterns of one module, by section of the files of its room.

    In a pattern, ``{{name}}`` stands for another entry of the section.
    """

    def __init__(self, room: str, section: str) -> None:
        """Reads the section in every language."""
        self._frames = _sections(room).get(section, {})
        self._languages = [_sections(f"{room}.{language}").get(section, {}) for language in LANGUAGES]

    def words(self, name: str) -> frozenset[str]:
        """The words under a name; in a list of strings each may be a phrase."""
        return frozenset(self.listed(name))

    def listed(self, name: str) -> tuple[str, ...]:
        """The words under a name, in their order."""
        said = (language.get(name, "") for language in self._languages)
        return tuple(word for entry in said for word in (entry.split() if isinstance(entry, str) else entry))

    def table(self, name: str) -> dict[str, tuple[str, ...]]:
        """The entries under a name, ``key word word|key word``, by their first words."""
        said = "|".join(str(language[name]).replace("\n", "|") for language in self._languages if name in language)
        found: dict[str, tuple[str, ...]] = {}
        for key, *words_ in (entry.split() for entry in said.split("|") if entry):
            found[key] = (*found.get(key, ()), *words_)
        return found

    def text(self, name: str) -> str:
        """The text of a regular expression: its frame, or the alternatives of all languages."""
        entries = [self._frames[name]] if name in self._frames else [it[name] for it in self._languages if name in it]
        source = "|".join(entry if isinstance(entry, str) else "|".join(entry) for entry in entries)
        return re.sub(r"\{\{(\w+)\}\}", lambda found: self.text(found[1]), source)

    def pattern(self, name: str, flags: re.RegexFlag = re.NOFLAG) -> re.Pattern[str]:
        """The regular expression of a name, as `text` spells it."""
        return re.compile(self.text(name), flags)


def _said(name: str) -> list[str | list[str]]:
    """What the languages say under a name, in their order."""
    section, _, key = name.partition(".")
    tables = (_sections(language).get(section, {}) for language in LANGUAGES)
    found = [table[key] for table in tables if key in table]
    if not found:
        raise KeyError(name)
    return found


def expression(name: str, /, **parts: str) -> str:
    """The text of a regular expression: the alternatives of all languages."""
    listed = [said if isinstance(said, str) else "|".join(said) for said in _said(name)]
    text = "|".join(listed)
    for part, value in parts.items():
        text = text.replace(f"{{{{{part}}}}}", value)
    return text


@lru_cache(maxsize=4_096)
def pattern(name: str, flags: int = re.IGNORECASE, /, **parts: str) -> re.Pattern[str]:
    """The regular expression of a name, as `expression` spells it."""
    return re.compile(expression(name, **parts), flags)


def words(name: str) -> tuple[str, ...]:
    """The words under a name; in a list of strings each may be a phrase."""
    return tuple(word for said in _said(name) for word in (said.split() if isinstance(said, str) else said))


@cache
def word_set(name: str) -> frozenset[str]:
    """The words under a name, in no order."""
    return frozenset(words(name))


@cache
def characters(name: str) -> frozenset[str]:
    """The characters under a name."""
    return frozenset("".join(words(name)))


def lines(name: str) -> list[tuple[str, tuple[str, ...]]]:
    """The lines ``heading: phrase, phrase`` under a name, in their order."""
    listed = [line for said in _said(name) for line in (said.strip().splitlines() if isinstance(said, str) else said)]
    parted = (line.partition(": ") for line in listed)
    return [(heading, tuple(phrase.strip() for phrase in rest.split(", "))) for heading, _, rest in parted]


def table(name: str) -> dict[str, str]:
    """The headings of the lines under a name by their phrases."""
    return {phrase: heading for heading, phrases in lines(name) for phrase in phrases}


def numbers(name: str) -> dict[str, int]:
    """The headings of the lines under a name by their phrases, as whole numbers."""
    return {phrase: int(heading) for phrase, heading in table(name).items()}


def phrases(name: str) -> dict[str, dict[str, str]]:
    """The phrases of a section by language and key; those that a further language does not have are English."""
    own = {
        language: {key: said for key, said in _sections(language)[name].items() if isinstance(said, str)}
        for language in LANGUAGES
    }
    others = question_languages()[len(LANGUAGES) :]
    return own | {code: own[LANGUAGES[0]] | read(f"questions.{code}").get(name, {}) for code in others}
