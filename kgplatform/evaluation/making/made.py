"""Made questions: what one is, which are dropped because they leak or repeat, and how a set is divided."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from kgplatform.text import has_han, normalise

_SHORTEST_LEAK: Final = 2


class Kind(StrEnum):
    """The four types of question that the travel study tells apart."""

    SIMPLE = "simple"
    MULTI_CONTEXT = "multi-context"
    REASONING = "reasoning"
    CONDITIONAL = "conditional"


@dataclass(frozen=True, slots=True)
class Source:
    """The words an answer rests on, and the document they stand in."""

    document: str
    quote: str


@dataclass(frozen=True, slots=True)
class MadeQuestion:
    """A question with its gold answers, and the query or the sources that they come from.

    ``kind`` is one of `Kind`, or the shape of the query; ``made_by`` is ``built-in`` or the model's name.
    """

    text: str
    language: str
    kind: str
    answers: tuple[str, ...]
    query: str = ""
    sources: tuple[Source, ...] = ()
    made_by: str = "built-in"
    names: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        """The same for the same question, whatever else is made."""
        return hashlib.sha256(f"{self.language}\0{self.text}".encode()).hexdigest()[:12]

    def line(self) -> dict[str, object]:
        """The question as ``evaluate questions`` and ``benchmark retrieval`` read it."""
        found: dict[str, object] = {"id": self.id, "question": self.text, "lang": self.language, "type": self.kind}
        found["answers"] = list(self.answers)
        if self.query:
            found["gold_sparql"] = self.query
        if self.sources:
            found["quotes"] = [source.quote for source in self.sources]
            found["documents"] = list(dict.fromkeys(source.document for source in self.sources))
        found["made_by"] = self.made_by
        return found


@dataclass(frozen=True, slots=True)
class Sifted:
    """What is left of made questions, and how many were dropped for which reason."""

    kept: tuple[MadeQuestion, ...]
    dropped: dict[str, int]


def sifted(questions: Iterable[MadeQuestion]) -> Sifted:
    """The questions without those that give their answer away, say the same, or ask for nothing."""
    kept: dict[str, MadeQuestion] = {}
    asked: set[tuple[str, str]] = set()
    dropped: dict[str, int] = {}
    for question in questions:
        key = (question.language, question.query)
        reason = (
            "no answer"
            if not question.answers
            else "gives its answer away"
            if leaks(question)
            else "asked twice"
            if normalise(question.text) in kept or (question.query and key in asked)
            else ""
        )
        if reason:
            dropped[reason] = dropped.get(reason, 0) + 1
            continue
        kept[normalise(question.text)] = question
        asked.add(key)
    return Sifted(tuple(kept.values()), dropped)


def leaks(question: MadeQuestion) -> bool:
    """Whether an answer stands in the question, other than as a part of a name that the question must use."""
    text = normalise(question.text)
    for name in sorted(map(normalise, question.names), key=len, reverse=True):
        text = text.replace(name, " ")
    found = (normalise(answer) for answer in question.answers)
    return any(len(answer) >= _SHORTEST_LEAK and _stands_in(answer, text) for answer in found)


def _stands_in(answer: str, text: str) -> bool:
    """Whether the answer is there as words of its own; Chinese has no blanks to tell."""
    if has_han(answer):
        return answer in text
    return re.search(rf"(?<!\w){re.escape(answer)}(?!\w)", text) is not None


def divided(questions: Sequence[MadeQuestion], share: float) -> tuple[list[MadeQuestion], list[MadeQuestion]]:
    """A development and a test set; questions with the same query or sources stay on one side.

    Which side is decided by the content alone, so that a set made again, or made larger, divides alike.
    """
    sides: tuple[list[MadeQuestion], list[MadeQuestion]] = ([], [])
    for question in questions:
        sides[_fraction(question) >= share].append(question)
    return sides


def _fraction(question: MadeQuestion) -> float:
    content = question.query or "\0".join(source.quote for source in question.sources) or question.text
    return int(hashlib.sha256(content.encode()).hexdigest()[:8], 16) / 0x1_0000_0000


def interleaved(groups: Iterable[Iterator[MadeQuestion]], count: int) -> Iterator[MadeQuestion]:
    """Up to ``count`` questions, one of each group in turn."""
    waiting = list(groups)
    given = 0
    while waiting and given < count:
        for group in tuple(waiting):
            question = next(group, None)
            if question is None:
                waiting.remove(group)
                continue
            yield question
            given += 1
            if given >= count:
                return
