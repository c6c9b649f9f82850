"""The built-in estimate of what a judge would say: by the words, names and numbers that texts share, and embeddings.

It entails nothing and understands no negation. Its numbers compare systems on the same questions roughly; they are not
those of a model that judges, and every report names them as an estimate.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from kgplatform.evaluation.judging.by_model import statements_of
from kgplatform.evaluation.judging.measures import Answered
from kgplatform.protocols import Embedder
from kgplatform.questions.synthesis import unsupported
from kgplatform.text import language_of, normalise, sentences, words

_SHARED: Final = 0.6
"""So much of a sentence's words must stand in one passage for it to count as said there."""
_EVASIVE: Final = (
    "i don't know",
    "i do not know",
    "the graph does not say",
    "not enough information",
    "cannot answer",
    "不知道",
    "无法回答",
    "没有相关",
    "图中没有",
    "未提及",
)
_EMPTY: Final = frozenset(
    word
    for line in (
        "a an the of in on at to for and or is are was were be been it its this that these those with by from as",
        "which who what 的 了 是 在 和 与 有 也 就 都 而 及 着 或 一个 这 那 它 他 她",
    )
    for word in line.split()
)


class EstimatingJudge:
    """Judges without a model; ``name`` says that it estimates."""

    name = "built-in estimate"

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._languages: frozenset[str] = frozenset(getattr(embedder, "languages", None) or ())

    def claims(self, item: Answered) -> Sequence[bool]:
        """A sentence is supported if no name or number of it is missing from the passages, and one has its words."""
        if _evades(item.answer):
            return ()
        parts = [item.answer[start:end] for start, end in sentences(item.answer)]
        return [self._said(part, item.passages, item.question) for part in parts if _content(part)]

    def relevancies(self, item: Answered) -> Sequence[float]:
        """The nearness of the question to the answer itself: no questions are made."""
        if not item.answer.strip() or _evades(item.answer):
            return ()
        return (self._near(item.question, item.answer),)

    def useful(self, item: Answered) -> Sequence[bool]:
        """A passage is useful if it holds the reference, or most words of one of its sentences."""
        parts = statements_of(item.reference)
        return [any(self._said(part, (passage,), "") for part in parts) for passage in item.passages]

    def recalled(self, item: Answered) -> Sequence[bool]:
        """A statement is found if a passage has its names, numbers and most of its words."""
        return [self._said(part, item.passages, item.question) for part in statements_of(item.reference)]

    def similarity(self, item: Answered) -> float:
        """The greater of the shared words (F1) and the cosine of the embeddings."""
        if not item.answer.strip():
            return 0.0
        return max(self._near(item.answer, item.reference), _overlap(item.answer, item.reference))

    def _near(self, one: str, other: str) -> float:
        """The cosine of two texts, none below 0; their shared words where the embedding model lacks a language."""
        if self._languages and not {language_of(one), language_of(other)} <= self._languages:
            return _overlap(one, other)
        first, second = self._embedder.embed([one, other])
        return max(0.0, float(first @ second))

    def _said(self, part: str, passages: Sequence[str], question: str) -> bool:
        if unsupported(part, (*passages, question)):
            return False
        wanted = _content(part) - _content(question)
        if not wanted:
            return bool(passages)
        return any(len(wanted & _content(passage)) / len(wanted) >= _SHARED for passage in passages)


def _content(text: str) -> frozenset[str]:
    return frozenset(word for word in words(normalise(text)) if word not in _EMPTY)


def _overlap(one: str, other: str) -> float:
    """Token F1 of two texts, words without meaning left aside."""
    first, second = _content(one), _content(other)
    shared = len(first & second)
    return 2 * shared / (len(first) + len(second)) if shared else 0.0


def _evades(answer: str) -> bool:
    return _has(answer.casefold(), _EVASIVE)


def _has(text: str, phrases: Iterable[str]) -> bool:
    return any(phrase in text for phrase in phrases)
