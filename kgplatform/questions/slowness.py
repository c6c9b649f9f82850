"""What makes a query slow: conditions that match a great deal by themselves, and those that nothing ties together.

Each triple pattern is counted alone, up to ``BROAD`` rows, within a budget of time. Two sets of conditions without a
common variable multiply, whatever their sizes.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from kgplatform.errors import KgPlatformError
from kgplatform.questions.elements import Element, Form, TakenApart, taken_apart
from kgplatform.questions.emptiness import Run

BROAD = 10_000
"""A pattern with so many rows by itself selects little."""
_MOST_ELEMENTS = 40


@dataclass(frozen=True, slots=True)
class Broad:
    """A triple pattern that matches much by itself."""

    text: str
    line: int


@dataclass(frozen=True, slots=True)
class Slowness:
    """What was found out: the number of ``patterns``, the ``broad`` ones, and one that nothing ties to the first."""

    patterns: int = 0
    broad: tuple[Broad, ...] = ()
    apart: Broad | None = None

    def words(self, language: str = "en") -> str:
        """The reason as a sentence, in English or Chinese; empty where none was found."""
        chinese = language == "zh"
        if self.apart is not None:
            return _APART[chinese].format(*_shown(self.apart))
        if not self.broad:
            return ""
        many = "" if len(self.broad) == 1 else "s"
        selective = self.patterns - len(self.broad)
        text, line = _shown(self.broad[0])
        return _BROAD[chinese].format(selective, self.patterns, text, line, len(self.broad), many)


_BROAD = (
    "{0} of {1} patterns are selective; {2} on line {3} is not.",
    "{1} 个三元组模式中有 {0} 个有选择性；第 {3} 行的 {2} 没有。",
)
_APART = (
    "{0} on line {1} shares no variable with the conditions before it, so every row is combined with every other.",
    "第 {1} 行的 {0} 与前面的条件没有共同变量，因此每一行都要与其他所有行组合。",
)


def _shown(item: Broad) -> tuple[str, int]:
    text = " ".join(item.text.split())
    return (text if len(text) <= 120 else f"{text[:119]}…"), item.line


def why_slow(text: str, run: Run, *, seconds: float = 2.0) -> Slowness:
    """What makes the query slow, as far as it can be told in little more than ``seconds``.

    A pattern that could not be counted in its share of the time is a broad one.
    """
    parts = taken_apart(text)
    if parts is None or not 0 < len(parts.elements) <= _MOST_ELEMENTS:
        return Slowness()
    patterns = [element for element in parts.elements if element.form is Form.PATTERN]
    end = time.monotonic() + seconds
    broad = tuple(Broad(item.text, item.line) for item in patterns if not _is_selective(item, parts, run, end))
    return Slowness(len(patterns), broad, _apart(parts.elements))


def _is_selective(pattern: Element, parts: TakenApart, run: Run, end: float) -> bool:
    left = end - time.monotonic()
    if left <= 0:
        return True  # nobody knows
    try:
        found = run(parts.rows((pattern,), BROAD), BROAD, left)
    except KgPlatformError:
        return False
    return len(found.rows) < BROAD


def _apart(elements: Sequence[Element]) -> Broad | None:
    """The first condition of a set that has no variable in common with the set of the first one."""
    binding = [item for item in elements if item.form is not Form.FILTER and item.variables]
    if not binding:
        return None
    tied, others = set(binding[0].variables), binding[1:]
    while near := [item for item in others if item.variables & tied]:
        tied = tied.union(*(item.variables for item in near))
        others = [item for item in others if item not in near]
    return Broad(others[0].text, others[0].line) if others else None
