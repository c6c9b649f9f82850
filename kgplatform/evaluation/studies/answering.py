"""The systems that a study compares: each finds what it can for a question and words an answer from that alone.

Without a model the answer is extractive: the sentences of the context that are most like the question, in the order of
the context. With one it is written from the context by the prompt ``answer-passages``.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

from kgplatform.building.asking import AskOptions
from kgplatform.evaluation.studies.nearness import Remembering
from kgplatform.graph import KnowledgeGraph
from kgplatform.prompts import render_messages
from kgplatform.protocols import ChatModel
from kgplatform.retrieval.context import ContextBlocks, within
from kgplatform.retrieval.dual_level import DualLevelRetriever
from kgplatform.retrieval.dual_options import DualOptions
from kgplatform.retrieval.greedy import GreedyRetriever
from kgplatform.text import count_tokens, has_han, sentences
from kgplatform.types import Evidence, Usage, Verdict

_SENTENCES: Final = 3
_SHORTEST: Final = 3
_TOO_LIKE: Final = 0.9


@dataclass(frozen=True, slots=True)
class Produced:
    """What a system came up with: its answer, the context it rests on, the passages found, and what it cost.

    ``confidence`` is the system's own, below 0 where it says that it has no answer.
    """

    answer: str
    context: tuple[str, ...]
    hits: tuple[Evidence, ...] = ()
    usage: Usage = field(default_factory=Usage)
    confidence: float = 1.0

    @property
    def tokens(self) -> int:
        """The tokens of the context."""
        return sum(map(count_tokens, self.context))


class System(Protocol):
    """A way to answer questions, by name."""

    name: str

    def produce(self, question: str) -> Produced:
        """The answer with its context.

        Raises:
            ModelError: the model is away, or its reply cannot be used.
        """
        ...


class Writer(Protocol):
    """Words an answer from a context."""

    def write(self, question: str, context: Sequence[str]) -> tuple[str, Usage]:
        """The answer, and what it cost."""
        ...


class Extracts:
    """Answers with sentences of the context: the ``count`` most like the question, none said twice."""

    def __init__(self, near: Remembering, *, count: int = _SENTENCES) -> None:
        self._near = near
        self._count = count

    def write(self, question: str, context: Sequence[str]) -> tuple[str, Usage]:
        """See `Writer.write`."""
        parts = list(dict.fromkeys(part for text in context for part in _sentences(text)))
        likeness = self._near.likeness(question, parts)
        chosen: list[int] = []
        for place in sorted(range(len(parts)), key=lambda place: (-likeness[place], place)):
            if len(chosen) >= self._count:
                break
            said = self._near.likeness(parts[place], [parts[other] for other in chosen])
            if not said or max(said) < _TOO_LIKE:
                chosen.append(place)
        return " ".join(_ended(parts[place]) for place in sorted(chosen)), Usage()


def _ended(part: str) -> str:
    """A sentence with its full stop, which lines of lists and relations lack."""
    if part.endswith((".", "!", "?", "。", "！", "？", "…", "”", '"')):
        return part
    return f"{part}。" if has_han(part) else f"{part}."


class Writes:
    """Answers by a model, from the context alone."""

    def __init__(self, model: ChatModel) -> None:
        self._model = model

    def write(self, question: str, context: Sequence[str]) -> tuple[str, Usage]:
        """See `Writer.write`."""
        messages, _ = render_messages("answer-passages", question=question, passages=list(context))
        completion = self._model.complete(messages)
        return completion.text.strip(), completion.usage


def _sentences(text: str) -> list[str]:
    """The sentences of a text; lines are told apart, for headings and lists have no full stop."""
    found = [line[start:end].strip() for line in text.splitlines() for start, end in sentences(line)]
    return [part for part in found if len(part) >= _SHORTEST]


class Passages:
    """A retriever of passages or sentences, and an answer from what it finds."""

    def __init__(self, kg: KnowledgeGraph, retriever: str, writer: Writer, *, k: int, name: str = "") -> None:
        self.name = name or retriever
        self._kg, self._retriever, self._writer, self._k = kg, retriever, writer, k

    def produce(self, question: str) -> Produced:
        """See `System.produce`."""
        hits = tuple(self._kg.search(question, self._k, retriever=self._retriever))
        context = tuple(hit.quote for hit in hits)
        answer, usage = self._writer.write(question, context)
        return Produced(answer, context, hits, usage)


class Framework:
    """A retriever that gives things, reports and relations besides passages, and an answer from all of them."""

    def __init__(self, name: str, blocks: Callable[[str], ContextBlocks], writer: Writer) -> None:
        self.name = name
        self._blocks, self._writer = blocks, writer

    def produce(self, question: str) -> Produced:
        """See `System.produce`."""
        found = self._blocks(question)
        context = (*found.relations, *found.things, *found.passages, *found.reports)
        answer, usage = self._writer.write(question, context)
        return Produced(answer, context, usage=usage)


def greedy(kg: KnowledgeGraph, k: int) -> Callable[[str], ContextBlocks]:
    """The context of the travel framework: matched entities with hierarchy, communities, relations, passages."""
    found = GreedyRetriever(kg.sources)
    return lambda question: found.explain(question, k)[1].blocks


def dual_level(kg: KnowledgeGraph, options: DualOptions, k: int, *, tokens: int = 0) -> Callable[[str], ContextBlocks]:
    """The context of the academic framework with the options; ``tokens`` cuts each block to so many, 0: as they say."""
    found = DualLevelRetriever(kg.sources, options=options)

    def blocks(question: str) -> ContextBlocks:
        whole = found.explain(question, k)[1].blocks
        if not tokens:
            return whole
        return ContextBlocks(
            within(whole.things, tokens),
            within(whole.reports, tokens),
            within(whole.relations, tokens),
            within(whole.passages, tokens),
        )

    return blocks


class Asks:
    """The platform's own answer: a query, its rows, and the passages behind them."""

    def __init__(self, kg: KnowledgeGraph, *, using: str, name: str = "ask") -> None:
        self.name = name
        self._kg = kg
        self._options = AskOptions(using=using, measured=True)

    def produce(self, question: str) -> Produced:
        """See `System.produce`."""
        started = time.perf_counter()
        answer = self._kg.ask(question, options=self._options)
        used = answer.usage
        seconds = used.seconds or time.perf_counter() - started
        usage = Usage(used.calls, used.prompt_tokens, used.completion_tokens, seconds)
        context = tuple(dict.fromkeys(item.quote for item in answer.evidence))
        confidence = answer.confidence if answer.verdict is Verdict.ANSWERED else -1.0
        return Produced(answer.text, context, tuple(answer.evidence), usage, confidence)
