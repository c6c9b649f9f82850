"""Asks a question in a workspace: as of the moment that its settings or the asker give, after the turns kept there."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from kgplatform.errors import ConfigError
from kgplatform.questions.answer import QuestionParts
from kgplatform.questions.dialogue.talking import Talk, talk
from kgplatform.questions.dialogue.turns import Conversation
from kgplatform.types import Answer


def converse(
    question: str, *, parts: QuestionParts, folder: Path, conversation: str | None = None, now: str = ""
) -> Answer:
    """The answer to a question; in a conversation it may lean on the turns before, and its own is kept.

    Raises:
        ConfigError: ``now`` is no moment, or ``conversation`` no name for one.
        ReadError: the turns so far cannot be read, or the new one not be written.
    """
    moment = checked_now(now)
    if conversation is None:
        return talk(question, Talk(parts, moment)).answer
    kept = Conversation(folder, conversation)
    turns = kept.turns()
    said = talk(question, Talk(parts, moment, turns))
    kept.keep((*turns, said.turn))
    return said.answer


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
