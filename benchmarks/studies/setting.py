"""Questions that a workspace's documents answer, and every system of a study asked every one of them."""

from __future__ import annotations

import random
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, Protocol

from benchmarks.studies.judging import Answered, EstimatingJudge, Judge, ModelJudge, Remembering, judged
from benchmarks.studies.left_out import ONE_HOP, STUDIED
from benchmarks.studies.outcomes import StudyOutcome
from kgplatform.documents.records import State
from kgplatform.errors import ConfigError, ModelError, NotFoundError
from kgplatform.evaluation.gold_reports import KeptLines, code_state, key_of, state_of
from kgplatform.evaluation.question_maker import (
    MadePassage,
    MadeQuestion,
    QuestionType,
    ReverseQuestions,
    from_passages,
    sifted,
    with_sources,
)
from kgplatform.graph import KnowledgeGraph
from kgplatform.models.prompts import render_messages
from kgplatform.questions.check import supporting
from kgplatform.retrieval.entity_retrieval import DualLevelRetriever, DualOptions, GreedyRetriever, by_paths
from kgplatform.retrieval.sources import ContextBlocks, within
from kgplatform.text import count_tokens, has_han, normalise, sentences
from kgplatform.types import ChatModel, Evidence, Usage, Verdict
from kgplatform.workspace.question_settings import AskOptions

# What every study is given, and the outcomes of single questions, kept so that a study goes on where it ended.


_NUMBERS = ("seconds", "tokens", "calls")


class OutcomeCache:
    """Outcomes by key, kept as `KeptLines` does.

    Raises:
        StoreError: the file cannot be written.
    """

    def __init__(self, path: Path | None = None, *, fresh: bool = False) -> None:
        self._lines = KeptLines(path, fresh=fresh)

    def find(self, key: str) -> StudyOutcome | None:
        """The outcome with that key; None if there is none yet."""
        record = self._lines.find(key)
        try:
            return StudyOutcome(**record) if record is not None else None
        except TypeError:
            return None

    def keep(self, key: str, outcome: StudyOutcome) -> None:
        """Keeps an outcome; one with problems only for now, so that it is tried again the next time."""
        self._lines.keep(key, _record(outcome), lasting=not outcome.problems)


def _record(outcome: StudyOutcome) -> dict[str, object]:
    return {
        "id": outcome.id,
        "system": outcome.system,
        "question": outcome.question,
        "kind": outcome.kind,
        "language": outcome.language,
        "answer": outcome.answer,
        "reference": outcome.reference,
        "numbers": dict(outcome.numbers),
        "extra": dict(outcome.extra),
        **({"problems": outcome.problems} if outcome.problems else {}),
        **{name: getattr(outcome, name) for name in _NUMBERS},
    }


@dataclass(frozen=True)
class Setting:
    """A workspace, how much is asked of it, by whom it is judged, and where outcomes are kept.

    ``model`` answers and judges, None: the built-in ways do; ``others`` are further models, for a study that compares
    them. ``progress`` is told of every question: done, total, name. ``file`` holds questions to be asked in place of
    those that a study makes, for a study that can; ``asking`` is how the platform is asked, beside who answers.
    """

    kg: KnowledgeGraph
    count: int = 40
    seed: int = 0
    languages: tuple[str, ...] = ("en", "zh")
    model: ChatModel | None = None
    others: tuple[ChatModel, ...] = ()
    cache: OutcomeCache = field(default_factory=OutcomeCache)
    progress: Callable[[int, int, str], None] | None = None
    file: Path | None = None
    asking: AskOptions = field(default_factory=lambda: AskOptions(measured=True))

    def __post_init__(self) -> None:
        """Checks the values.

        Raises:
            ConfigError: nothing is to be asked, or in no language.
        """
        if self.count < 1:
            raise ConfigError(f"a study of {self.count} questions measures nothing; give 1 or more", setting="count")
        if not self.languages:
            raise ConfigError("a study needs a language to ask in, such as en", setting="language")

    @property
    def method(self) -> str:
        """Who answers: ``built-in`` or the model's name."""
        return self.model.name if self.model else "built-in"

    def judge(self, near: Remembering) -> Judge:
        """Who judges: the model where there is one, else the built-in estimate."""
        return ModelJudge(self.model, near) if self.model else EstimatingJudge(near)

    def options(self) -> dict[str, object]:
        """What decides over the questions and answers, for the report."""
        if self.file is not None:
            return {"file": str(self.file), "using": self.method}
        return {"count": self.count, "seed": self.seed, "languages": list(self.languages), "using": self.method}

    def key(self, study: str, question: Sequence[str], system: str, state: str) -> str:
        """The key of an outcome: another for another question, system, option, state of the workspace, or version."""
        return key_of(study, *question, system, state, self.method, code_state(Path(__file__).parent))


# The systems that a study compares: each finds what it can for a question and words an answer from that alone.
#
# Without a model the answer is extractive: the sentences of the context that are most like the question, in the
# order of
# the context. With one it is written from the context by the prompt ``answer-passages``.


_SENTENCES: Final = 3
_SHORTEST: Final = 3
_CONTEXT: Final = 8
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
        hits = tuple(self._kg.search(question, self._k, retriever=STUDIED[self._retriever], per_document=0))
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


def dual_level(
    kg: KnowledgeGraph, options: DualOptions, k: int, *, tokens: int = 0, one_hop: bool = False
) -> Callable[[str], ContextBlocks]:
    """The context of the academic framework with the options; ``tokens`` cuts each block to so many, 0: as they say.

    ``one_hop``: what is next to the targets, in place of the subgraph.
    """
    found = DualLevelRetriever(kg.sources, options, local=ONE_HOP if one_hop else by_paths)

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
        read = answer.evidence[:_CONTEXT]
        context = tuple(dict.fromkeys(item.quote for item in read))
        confidence = answer.confidence if answer.verdict is Verdict.ANSWERED else -1.0
        return Produced(answer.text, context, read, usage, confidence)


# Questions that a workspace's documents answer, and every system of a study asked every one of them.


Numbers = Mapping[str, float | None]
_MORE: Final = 6
_MOST_SOURCES: Final = 6
_MOST_ANSWERS: Final = 10
_TOGETHER: Final = 4
_PASSES: Final = 2
KINDS: Final = tuple(kind.value for kind in QuestionType)


@dataclass(frozen=True, slots=True)
class Item:
    """A question of a study: the gold answers, the words they rest on, and the type."""

    id: str
    text: str
    language: str
    kind: str
    answers: tuple[str, ...] = ()
    quotes: tuple[str, ...] = ()

    @property
    def reference(self) -> str:
        """The gold answers as one text; empty where there are none."""
        return ("、" if self.language == "zh" else ", ").join(self.answers)


def document_items(setting: Setting) -> tuple[list[Item], list[str]]:
    """Questions of the four types about the documents, the types in turn, and a sentence for what a model got wrong.

    Without a model they are made backwards from statements that passages of documents (not rows of tables) hold. Those
    answered by yes or no are left out: there is nothing to find in a passage that says so.

    Raises:
        NotFoundError: the workspace has no documents that answer a question.
    """
    if setting.model is not None:
        made, problems = _by_model(setting)
    else:
        made, problems = _backwards(setting), []
    kept = [item for item in sifted(made).kept if _usable(item)]
    chosen = _in_turn(kept, setting)
    if not chosen:
        raise NotFoundError(
            "no question can be made from the documents of the workspace; add documents that say something of its "
            "ontology's classes",
            name="documents",
        )
    return [_item(question) for question in chosen], problems


def _backwards(setting: Setting) -> list[MadeQuestion]:
    kg = setting.kg
    known = kg.knowledge
    texts = {record.document.source for record in kg.documents(State.PROCESSED) if record.graph is None}
    made: list[MadeQuestion] = []
    for language in setting.languages:
        reverse = ReverseQuestions(
            known.names.facts,
            known.schema,
            run=lambda query: kg.query(query, max_rows=1000),
            label=kg.label,
            language=language,
            seed=setting.seed,
        )
        drawn = reverse.make(setting.count * _MORE).kept
        found = with_sources(
            drawn,
            lambda query: (
                supporting(query, kg.dataset, run=kg.query, find=kg.evidence_finder.find, why=kg.inference.why).passages
            ),
        )
        made += [item for item in found if all(source.document in texts for source in item.sources)]
    return made


def _by_model(setting: Setting) -> tuple[list[MadeQuestion], list[str]]:
    assert setting.model is not None
    made: list[MadeQuestion] = []
    problems: list[str] = []
    passages = [MadePassage(item.title, item.text) for item in setting.kg.sources.passages()]
    random.Random(setting.seed).shuffle(passages)
    for number, start in enumerate(range(0, len(passages), _TOGETHER)):
        if number >= len(setting.languages) and len(made) >= setting.count * _PASSES:
            break
        language = setting.languages[number % len(setting.languages)]
        try:
            taken, refused = from_passages(passages[start : start + _TOGETHER], setting.model, language=language)
        except ModelError as error:
            problems.append(f"questions from passages {start + 1} to {start + _TOGETHER}: {error}")
            continue
        made += taken
        problems += [f"question refused: {item.text[:80]} ({item.reason})" for item in refused]
    return made, problems


def _usable(question: MadeQuestion) -> bool:
    few = len(question.sources) <= _MOST_SOURCES and len(question.answers) <= _MOST_ANSWERS
    return few and question.answers not in (("yes",), ("no",))


def _in_turn(questions: Sequence[MadeQuestion], setting: Setting) -> list[MadeQuestion]:
    """So many of them, every type and language in turn."""
    groups = [
        [question for question in questions if (question.kind, question.language) == (kind, language)]
        for kind in KINDS
        for language in setting.languages
    ]
    chosen: list[MadeQuestion] = []
    for place in range(max(map(len, groups), default=0)):
        chosen += [group[place] for group in groups if place < len(group)]
    return chosen[: setting.count]


def _item(question: MadeQuestion) -> Item:
    quotes = tuple(dict.fromkeys(source.quote for source in question.sources))
    return Item(question.id, question.text, question.language, question.kind, question.answers, quotes)


def held(item: Item, answer: str) -> float | None:
    """The share of the gold answers that stand in an answer; None where there are none."""
    if not item.answers:
        return None
    said = normalise(answer)
    return sum(_stands_in(normalise(value), said) for value in item.answers) / len(item.answers)


def _stands_in(value: str, said: str) -> bool:
    """Whether a value is there by itself: 17 is not in 1710, but in 17间."""
    return re.search(rf"(?<![0-9a-z]){re.escape(value)}(?![0-9a-z])", said) is not None


def right(item: Item, produced: Produced, judge: Judge | None) -> tuple[float | None, tuple[str, ...]]:
    """Whether the gold values stand in the answer, else whether the model that judges finds it right, as CRAG scores.

    Where no model judges, it is the share of the gold values that stand there. None: there are no gold values, or the
    model's reply could not be used; the second value says so.
    """
    share = held(item, produced.answer)
    if share in (None, 1.0) or not isinstance(judge, ModelJudge) or not produced.answer:
        return share, ()
    try:
        said = judge.is_right(Answered(item.id, item.text, produced.answer, reference=item.reference))
    except ModelError as error:
        return None, (f"right or wrong: {error}",)
    return float(said), ()


def measured(item: Item, produced: Produced, judge: Judge) -> tuple[Numbers, tuple[str, ...]]:
    """The four metrics, the accuracy and the share of gold answers said, with what the judge could not do."""
    verdict, problem = right(item, produced, judge)
    found = judged(
        Answered(item.id, item.text, produced.answer, produced.context, item.reference, item.kind),
        judge,
    )
    numbers: dict[str, float | None] = {
        "accuracy": None if found.right is None else float(found.right),
        "faithfulness": found.faithfulness,
        "relevancy": found.relevancy,
        "context_precision": found.context_precision,
        "context_recall": found.context_recall,
        "similarity": found.similarity,
        "held": held(item, produced.answer),
        "right": verdict if isinstance(judge, ModelJudge) else None,
    }
    return numbers, (*found.problems, *problem)


Measure = Callable[[Item, Produced], tuple[Numbers, tuple[str, ...]]]


def outcomes(
    study: str, setting: Setting, items: Sequence[Item], systems: Sequence[System], measure: Measure
) -> Iterator[StudyOutcome]:
    """What every system does with every question, as kept or anew; a model's failure is a problem of its outcome."""
    state = state_of(setting.kg)
    total = len(items) * len(systems)
    for number, system in enumerate(systems):
        for place, item in enumerate(items, 1):
            if setting.progress:
                setting.progress(number * len(items) + place, total, f"{system.name}: {item.text}")
            key = setting.key(study, (item.id, item.text, item.reference), system.name, state)
            outcome = setting.cache.find(key)
            if outcome is None:
                outcome = _outcome(item, system, measure)
                setting.cache.keep(key, outcome)
            yield outcome


def _outcome(item: Item, system: System, measure: Measure) -> StudyOutcome:
    made = StudyOutcome(item.id, system.name, item.text, item.kind, item.language, reference=item.reference)
    started = time.perf_counter()
    try:
        produced = system.produce(item.text)
        seconds = time.perf_counter() - started
        numbers, problems = measure(item, produced)
    except ModelError as error:
        return replace(made, problems=(str(error),), seconds=time.perf_counter() - started)
    used: Usage = produced.usage
    return replace(
        made,
        answer=produced.answer,
        numbers=numbers,
        seconds=seconds,
        tokens=produced.tokens,
        calls=used.calls,
        problems=problems,
        extra={"context": "\n\n".join(produced.context)} if not item.answers else {},
    )


def problems_of(found: Sequence[StudyOutcome]) -> tuple[str, ...]:
    """The problems of the outcomes, each with its question and system."""
    return tuple(f"{item.id}, {item.system}: {problem}" for item in found for problem in item.problems)
