"""A query by a model, from the first draft to one that the checker accepts, or its word that none can be had."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kgplatform.protocols import ChatModel
from kgplatform.questions.names import NameIndex
from kgplatform.questions.repair import mended
from kgplatform.questions.translate_model import Solved, draft
from kgplatform.types import Attempt, Linked, Usage


@dataclass(frozen=True, slots=True)
class Drafting:
    """The last query with all its drafts and what they cost.

    ``sound``: the checker has nothing fatal against it. ``declined``: what the model found missing in the schema.
    """

    text: str
    attempts: tuple[Attempt, ...]
    usage: Usage
    sound: bool
    declined: str = ""


def query_by_model(
    question: str,
    linked: Sequence[Linked],
    *,
    names: NameIndex,
    model: ChatModel,
    examples: Sequence[Solved],
    schema_tokens: int,
    repairs: int,
    prefixes: Mapping[str, str],
) -> Drafting:
    """A checked query for the question; ``examples`` are solved questions to show the model.

    Raises:
        ModelError: the model cannot be reached, or its first reply holds no query.
    """
    drafted = draft(
        question,
        linked,
        names=names,
        model=model,
        examples=examples,
        schema_tokens=schema_tokens,
    )
    if drafted.declined:
        return Drafting("", (), drafted.usage, sound=False, declined=drafted.declined)
    repair = mended(question, drafted.text, names=names, model=model, rounds=repairs, prefixes=prefixes)
    usage = drafted.usage + repair.usage
    return Drafting(repair.text, repair.attempts, usage, sound=repair.sound, declined=repair.declined)
