"""The built-in estimate of which of two answers is better: by how much of what they say is supported and to the point.

It reads nothing: it counts. A sentence counts as far as it is like the question, and only if no name or number of it is
missing from the passages that the answer was made from. Its win rates compare systems on the same questions roughly;
they are not those of a model that judges, and every report names them as an estimate.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Final

from kgplatform.evaluation.judging.pairs import CRITERIA
from kgplatform.evaluation.studies.nearness import Remembering
from kgplatform.questions.synthesis import unsupported
from kgplatform.retrieval.terms import content_words
from kgplatform.text import sentences

_SAME: Final = 0.05
_TO_THE_POINT: Final = 0.15
_FIRST, _SECOND, _EQUAL = "first", "second", "equal"


class CoverageJudge:
    """Compares two answers by counts; ``passages`` are those behind each answer, by its text.

    - comprehensiveness: the different words with meaning, each weighed by how like its sentence is to the question;
    - diversity: how unlike the sentences to the point are to each other, on the mean;
    - empowerment: the different names and numbers in sentences to the point, what one can check or act on;
    - overall: what most of the three say, comprehensiveness where they are split.

    Two values less than a twentieth apart are equal.
    """

    name = "built-in estimate (coverage and diversity of supported content)"

    def __init__(self, near: Remembering, passages: Mapping[str, Sequence[str]]) -> None:
        self._near = near
        self._passages = passages
        self._known: dict[tuple[str, str], tuple[float, float, float]] = {}

    def compare(self, question: str, first: str, second: str) -> dict[str, str]:
        """See `PairJudge.compare`."""
        pairs = zip(self._weighed(question, first), self._weighed(question, second), strict=True)
        verdicts = [_better(one, other) for one, other in pairs]
        return dict(zip(CRITERIA, (*verdicts, _overall(verdicts)), strict=True))

    def _weighed(self, question: str, answer: str) -> tuple[float, float, float]:
        key = (question, answer)
        if key not in self._known:
            self._known[key] = self._counted(question, answer)
        return self._known[key]

    def _counted(self, question: str, answer: str) -> tuple[float, float, float]:
        allowed = (*self._passages.get(answer, (answer,)), question)
        parts = [answer[start:end] for start, end in sentences(answer)]
        sound = [part for part in dict.fromkeys(parts) if not unsupported(part, allowed)]
        likeness = self._near.likeness(question, sound)
        pointed = [part for part, like in zip(sound, likeness, strict=True) if like >= _TO_THE_POINT]
        weights: dict[str, float] = {}
        for part, like in zip(sound, likeness, strict=True):
            for word in content_words(part):
                weights[word] = max(weights.get(word, 0.0), like)
        named = {name for part in pointed for name in unsupported(part, ())}
        return sum(weights.values()), self._unlike(pointed), float(len(named))

    def _unlike(self, parts: Sequence[str]) -> float:
        if len(parts) < 2:
            return 0.0
        values = [1.0 - self._near.likeness(one, [other])[0] for one, other in combinations(parts, 2)]
        return sum(values) / len(values)


def _better(one: float, other: float) -> str:
    if abs(one - other) <= _SAME * max(one, other):
        return _EQUAL
    return _FIRST if one > other else _SECOND


def _overall(verdicts: Sequence[str]) -> str:
    first, second = verdicts.count(_FIRST), verdicts.count(_SECOND)
    if first == second:
        return verdicts[0]
    return _FIRST if first > second else _SECOND
