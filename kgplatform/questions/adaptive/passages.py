"""What is said of a question in passages: the types that both ways of answering from passages share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from kgplatform.retrieval.terms import analyzer, latin, pairs
from kgplatform.types import Evidence, Usage

LEVELS: Final = {"high": 0.75, "medium": 0.4, "low": 0.0}
"""The least confidence of each level."""


@dataclass(frozen=True, slots=True)
class PassageAnswer:
    """An answer from passages: sentences that end in ``[n]``, the n-th of ``evidence``; the values alone.

    No ``text``: the passages do not tell. ``by`` is the model that wrote it, or ``built-in``.
    """

    text: str = ""
    values: tuple[str, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    confidence: float = 0.0
    by: str = "built-in"
    notes: tuple[str, ...] = ()
    usage: Usage = field(default_factory=Usage)

    def is_enough(self, least: str) -> bool:
        """Whether there is an answer of at least that level of confidence."""
        return bool(self.text) and self.confidence >= LEVELS[least]


def terms_of(text: str) -> frozenset[str]:
    """The stems of a text's English words and the pairs of its Chinese characters."""
    return frozenset((*analyzer().analyze(latin(text)), *pairs(text)))


def cited_text(sentences: Sequence[tuple[str, Sequence[int]]]) -> str:
    """Sentences with the numbers of their passages behind each."""
    return " ".join(f"{text.strip()} {''.join(f'[{number}]' for number in numbers)}" for text, numbers in sentences)
