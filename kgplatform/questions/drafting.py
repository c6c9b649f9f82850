"""A query by a model: one draft or several, each put right and run; the result that most of them have wins."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TypeAlias

from pyoxigraph import Literal

from kgplatform.errors import ModelError, QueryError
from kgplatform.protocols import ChatModel, SamplingModel
from kgplatform.questions.repair import Mended, mended
from kgplatform.questions.translate_builtin import Translation, is_empty, is_zero
from kgplatform.questions.translate_model import STYLES, Drafted, Task, draft, repaired
from kgplatform.types import Attempt, Solutions, Term, Usage

Outcome: TypeAlias = bool | frozenset[tuple[str, ...]]
"""What two queries have in common that answer the same: a boolean, or rows whatever their columns are called."""

_REPAIRED, _UNSURE, _EMPTY = 0.15, 0.2, 0.5
"""What a vote loses for each round of repair, for doubts of the model's own, and (as a factor) for no rows."""
_BUILTIN, _PLAUSIBLE = 0.9, 0.5
_SINGLE, _SHARED = 0.88, 0.6


@dataclass(frozen=True, slots=True)
class Drafting:
    """The query that won with all drafts and what they cost.

    ``sound``: the checker has nothing fatal against it. ``declined``: what the model found missing in the schema.
    ``confidence`` follows from how many drafts agree, what had to be put right, the model's own doubts, and whether
    the built-in translator found the same.
    """

    text: str
    attempts: tuple[Attempt, ...]
    usage: Usage
    sound: bool
    declined: str = ""
    solutions: Solutions | None = None
    confidence: float = 0.0
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Draft:
    """A mended draft and what it counts."""

    mended: Mended
    unsure: str

    @property
    def weight(self) -> float:
        lost = _REPAIRED * (len(self.mended.attempts) - 1) + (_UNSURE if self.unsure else 0.0)
        return max(0.1, 1.0 - lost) * (_EMPTY if self.mended.doubtful else 1.0)


def query_by_model(task: Task, model: ChatModel) -> Drafting:
    """A checked query for the question, with its rows.

    Raises:
        ModelError: the model cannot be reached, or no reply of it holds a query.
    """
    options = task.options
    first = STYLES.index(options.style)
    styles = [STYLES[(first + number) % len(STYLES)] for number in range(options.drafts)]
    replies = _replies(task, model, styles)
    usage = sum((reply.usage for reply in replies), Usage())
    declined = [reply.declined for reply in replies if reply.declined]
    if len(declined) * 2 > len(replies):
        return Drafting("", (), usage, sound=False, declined=declined[0])
    drafts = [_mended(task, model, reply) for reply in replies if not reply.declined]
    usage = sum((item.mended.usage for item in drafts), usage)
    return replace(_elected(task, drafts), usage=usage)


def _replies(task: Task, model: ChatModel, styles: Sequence[str]) -> list[Drafted]:
    """The drafts as they come; those that fail are left out, unless all do."""

    def one(number: int) -> Drafted | ModelError:
        try:
            return draft(task, sampled(model, number), style=styles[number])
        except ModelError as error:
            return error

    if len(styles) == 1 or task.options.workers < 2:
        found = [one(number) for number in range(len(styles))]
    else:
        task.brief(styles[0])  # what is made on first use is made here, not by several threads at once
        with ThreadPoolExecutor(max_workers=min(task.options.workers, len(styles))) as pool:
            found = list(pool.map(one, range(len(styles))))
    good = [item for item in found if isinstance(item, Drafted)]
    if not good:
        raise next(item for item in found if isinstance(item, ModelError))
    return good


def sampled(model: ChatModel, number: int) -> ChatModel:
    """The model for one of several drafts: as it is for the first, varied for others where it can be."""
    return model.sample(number) if number and isinstance(model, SamplingModel) else model


def _mended(task: Task, model: ChatModel, reply: Drafted) -> _Draft:
    found = mended(
        reply.text,
        names=task.names,
        revise=lambda attempt, solutions: repaired(task, attempt, solutions, model),
        run=task.run,
        rounds=task.options.repairs,
        prefixes=task.prefixes,
        language=task.language,
    )
    return _Draft(found, reply.unsure)


def _elected(task: Task, drafts: Sequence[_Draft]) -> Drafting:
    """The draft whose rows have most votes; of equal ones that with fewer issues and rounds, the earlier one last."""
    attempts = tuple(attempt for item in drafts for attempt in item.mended.attempts)
    sound = [item for item in drafts if item.mended.sound and item.mended.solutions is not None]
    notes = tuple(
        [f"the model is not sure: {item.unsure}" for item in drafts if item.unsure]
        + [f"not put right: {item.mended.error}" for item in drafts if item.mended.error]
    )
    if not sound:
        best = drafts[0].mended
        declined = next((item.mended.declined for item in drafts if item.mended.declined), "")
        return Drafting(best.text, attempts, Usage(), sound=False, declined=declined, notes=notes)
    votes: dict[Outcome, float] = defaultdict(float)
    for item in sound:
        votes[outcome(_rows(item))] += item.weight
    other = _builtin_outcome(task)
    if other is not None and len(drafts) > 1:
        votes[other[0]] += other[1]
    elected = max(sound, key=lambda item: (votes[outcome(_rows(item))], item.weight))
    same = [item for item in sound if outcome(_rows(item)) == outcome(_rows(elected))]
    if len(drafts) > 1:
        notes = (*notes, f"{len(same)} of {len(drafts)} drafts have this result")
    declined = elected.mended.declined if elected.mended.doubtful else ""
    return Drafting(
        text=elected.mended.text,
        attempts=attempts,
        usage=Usage(),
        sound=not declined,
        declined=declined,
        solutions=elected.mended.solutions,
        confidence=_confidence(elected, len(same) / len(drafts), len(drafts), other),
        notes=notes,
    )


def _confidence(elected: _Draft, share: float, drafts: int, other: tuple[Outcome, float] | None) -> float:
    value = _SINGLE if drafts == 1 else _SHARED + 0.35 * share
    value -= 0.1 * (len(elected.mended.attempts) - 1) + (0.12 if elected.unsure else 0.0)
    value -= 0.15 if elected.mended.doubtful else 0.0
    if other is not None:
        value += 0.06 if other[0] == outcome(_rows(elected)) else -0.08 * other[1]
    return round(max(0.1, min(0.97, value)), 3)


def _rows(item: _Draft) -> Solutions:
    return item.mended.solutions or Solutions()


def _builtin_outcome(task: Task) -> tuple[Outcome, float] | None:
    """What the best of the built-in readings finds and how much it counts, if it is plausible."""
    best: Translation | None = next(iter(task.candidates), None)
    if best is None or best.empty or best.dropped or best.confidence < _PLAUSIBLE:
        return None
    try:
        solutions = task.run(best.text)
    except QueryError:
        return None
    return (outcome(solutions), _BUILTIN * best.confidence)


def outcome(solutions: Solutions) -> Outcome:
    """The rows as they are compared: sets of values, numbers by value, no rows and a count of 0 apart."""
    if solutions.boolean is not None:
        return solutions.boolean
    if is_empty(solutions) and not is_zero(solutions):
        return frozenset()
    return frozenset(tuple(sorted(map(_value, row))) for row in solutions.rows)


def _value(term: Term | None) -> str:
    if not isinstance(term, Literal):
        return str(term)
    try:
        return f"{float(term.value):.6g}"
    except ValueError:
        return term.value
