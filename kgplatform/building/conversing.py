"""Asks a question in a workspace: as of the moment that its settings or the asker give, after the turns kept there.

The graph is asked first of all, for what it makes of the question tells what it is about; then the answer is taken
from whichever source can give one.
"""

from __future__ import annotations

import time
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from kgplatform.errors import ConfigError
from kgplatform.questions.adaptive.deciding import GRAPH, Beside, decide, from_one
from kgplatform.questions.adaptive.rewording import standing
from kgplatform.questions.answer import QuestionParts
from kgplatform.questions.dialogue.talking import Talk, talk
from kgplatform.questions.dialogue.turns import Conversation, Turn
from kgplatform.questions.steps import Stage, tell
from kgplatform.types import Answer


def converse(
    question: str,
    *,
    parts: QuestionParts,
    folder: Path,
    conversation: str | None = None,
    now: str = "",
    beside: Beside | None = None,
) -> Answer:
    """The answer to a question; in a conversation it may lean on the turns before, and its own is kept.

    ``beside``: what there is to ask besides the graph; None: the graph alone is asked.

    Raises:
        ConfigError: ``now`` is no moment, or ``conversation`` no name for one.
        ReadError: the turns so far cannot be read, or the new one not be written.
    """
    moment = checked_now(now)
    tell(Stage.READING)
    kept = Conversation(folder, conversation) if conversation is not None else None
    turns = kept.turns() if kept else ()
    began = time.perf_counter()
    if beside is not None and beside.rules.forced not in ("", GRAPH):
        text, usage = standing(question, turns, parts.model)
        answer = from_one(text, beside.rules.forced, parts, beside)
        answer = replace(answer, question=replace(answer.question, text=question), usage=answer.usage + usage)
        turn = Turn(said=question, question=text, answer=answer.text, values=answer.values[:20])
    else:
        said = talk(question, Talk(parts, moment, turns))
        answer, turn = said.answer, said.turn
        if beside is not None and any(character.isalnum() for character in question):
            text, usage = standing(turn.question, turns, parts.model)
            answer = decide(text, answer, parts, beside)
            answer = replace(answer, usage=answer.usage + usage)
            turn = replace(turn, answer=answer.text, values=answer.values[:20])
    if kept is not None:
        kept.keep((*turns, turn))
    return replace(answer, usage=replace(answer.usage, seconds=time.perf_counter() - began))


def checked_now(text: str) -> datetime | None:
    """The moment that a text in ISO form gives, without its zone; None where it is empty.

    Raises:
        ConfigError: it gives none.
    """
    if not text:
        return None
    try:
        return datetime.fromisoformat(text).replace(tzinfo=None)
    except ValueError as error:
        raise ConfigError(f"now is {text!r}; write a moment as 2025-03-15T12:00", setting="questions.now") from error
