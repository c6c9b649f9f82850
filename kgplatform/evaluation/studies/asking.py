"""Questions that a workspace's documents answer, and every system of a study asked every one of them."""

from __future__ import annotations

import random
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from kgplatform.documents.registry import State
from kgplatform.errors import ModelError, NotFoundError
from kgplatform.evaluation.judging.by_model import ModelJudge
from kgplatform.evaluation.judging.measures import Answered, Judge, judged
from kgplatform.evaluation.making.by_model import Passage, from_passages
from kgplatform.evaluation.making.documents import with_sources
from kgplatform.evaluation.making.made import Kind, MadeQuestion, sifted
from kgplatform.evaluation.making.reverse import ReverseQuestions
from kgplatform.evaluation.studies.answering import Produced, System
from kgplatform.evaluation.studies.report import Outcome
from kgplatform.evaluation.studies.setting import Setting, state_of
from kgplatform.questions.support import supporting
from kgplatform.text import normalise
from kgplatform.types import Usage

Numbers = Mapping[str, float | None]
_MORE: Final = 6
_MOST_SOURCES: Final = 6
_MOST_ANSWERS: Final = 10
_TOGETHER: Final = 4
_PASSES: Final = 2
KINDS: Final = tuple(kind.value for kind in Kind)


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
            lambda query: supporting(
                query, kg.dataset, run=kg.query, find=kg.evidence_finder.find, why=kg.inference.why
            ),
        )
        made += [item for item in found if all(source.document in texts for source in item.sources)]
    return made


def _by_model(setting: Setting) -> tuple[list[MadeQuestion], list[str]]:
    assert setting.model is not None
    made: list[MadeQuestion] = []
    problems: list[str] = []
    passages = [Passage(item.title, item.text) for item in setting.kg.sources.passages()]
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
) -> Iterator[Outcome]:
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


def _outcome(item: Item, system: System, measure: Measure) -> Outcome:
    made = Outcome(item.id, system.name, item.text, item.kind, item.language, reference=item.reference)
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


def problems_of(found: Sequence[Outcome]) -> tuple[str, ...]:
    """The problems of the outcomes, each with its question and system."""
    return tuple(f"{item.id}, {item.system}: {problem}" for item in found for problem in item.problems)
