"""Known names found in a text: entities of the graph, examples of the ontology, names met earlier in the document."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from pyoxigraph import NamedNode

from kgplatform.text import has_han, normalise

_LATIN_TOKEN = re.compile(r"[^\W_\u3400-\u9fff]+(?:['’][^\W_\u3400-\u9fff]+)*")
_MAX_TOKENS: Final = 16
_MIN_LATIN: Final = 3


@dataclass(frozen=True, slots=True)
class Known:
    """A known name: its class, the name to use for the entity, and whether it is written with a capital."""

    type: NamedNode
    name: str
    capital: bool


@lru_cache(maxsize=65_536)
def latin_key(text: str) -> str:
    """The words of a Latin name, in the normal form, one blank between."""
    return " ".join(_LATIN_TOKEN.findall(normalise(text)))


class Gazetteer:
    """Names with their classes, looked up wherever they occur in a text, longest first."""

    def __init__(self, names: Mapping[str, NamedNode] | None = None) -> None:
        self._latin: dict[str, Known] = {}
        self._han: dict[str, dict[str, Known]] = {}
        self._longest = 1
        for name, type_ in (names or {}).items():
            self.add(name, type_)

    def add(self, name: str, type_: NamedNode, *, stands_for: str | None = None, replace: bool = True) -> None:
        """Makes the name known; ``stands_for`` is the entity's own name where this is only an alias."""
        known = Known(type_, stands_for or name, any(character.isupper() for character in name))
        if has_han(name):
            key = re.sub(r"\s", "", normalise(name))
            if len(key) >= 2 and (replace or key not in self._han.get(key[:2], {})):
                self._han.setdefault(key[:2], {})[key] = known
            return
        key = latin_key(name)
        long_enough = len(key) >= _MIN_LATIN or (len(key) == 2 and name.isupper())
        if long_enough and not key.isdigit() and (replace or key not in self._latin):
            self._latin[key] = known
            self._longest = min(max(self._longest, key.count(" ") + 1), _MAX_TOKENS)

    def get(self, name: str) -> Known | None:
        """What is known under the name."""
        if has_han(name):
            key = re.sub(r"\s", "", normalise(name))
            return self._han.get(key[:2], {}).get(key)
        return self._latin.get(latin_key(name))

    def find(self, text: str) -> Iterator[tuple[int, int, Known]]:
        """The known names in the text with their places; of two that begin alike, the longer."""
        yield from self._find_latin(text)
        if self._han:
            yield from self._find_han(text)

    def _find_latin(self, text: str) -> Iterator[tuple[int, int, Known]]:
        if not self._latin:
            return
        found = [(match.start(), match.end(), latin_key(match.group())) for match in _LATIN_TOKEN.finditer(text)]
        position = 0
        while position < len(found):
            step = 1
            for length in range(min(self._longest, len(found) - position), 0, -1):
                known = self._latin.get(" ".join(part for _, _, part in found[position : position + length]))
                start, end = found[position][0], found[position + length - 1][1]
                if known and self._written_well(text, start, end, known):
                    yield start, end, known
                    step = length
                    break
            position += step

    @staticmethod
    def _written_well(text: str, start: int, end: int, known: Known) -> bool:
        written = text[start:end]
        if known.capital and not (written[0].isupper() or written[0].isdigit()):
            return False
        return not re.search(r"[\n.;:,，。；：()（）]", written)

    def _find_han(self, text: str) -> Iterator[tuple[int, int, Known]]:
        position = 0
        while position < len(text) - 1:
            options = self._han.get(text[position : position + 2].casefold())
            best = (
                max(
                    (key for key in options if text[position : position + len(key)].casefold() == key),
                    key=len,
                    default="",
                )
                if options
                else ""
            )
            if best and options:
                yield position, position + len(best), options[best]
            position += len(best) or 1
