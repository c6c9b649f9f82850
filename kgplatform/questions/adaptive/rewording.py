"""A question that leans on earlier turns, as one that stands alone: by a model, or by putting the name for the pronoun.

The dialogue resolves what leans on things of the graph; this is for what the graph does not know.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from kgplatform import prompts
from kgplatform.errors import ModelError
from kgplatform.protocols import ChatModel
from kgplatform.questions.adaptive.spans import names_in
from kgplatform.questions.dialogue import follow
from kgplatform.questions.dialogue.turns import Turn
from kgplatform.text import has_han
from kgplatform.types import Usage

_TURNS: Final = 4
_ANSWER: Final = 400
_LONGEST: Final = 1_000
_PRONOUN = re.compile(
    r"\b(?:it|its|he|his|him|she|her|hers|they|their|them|this one|that one|there)\b"
    r"|它们?|他们?|她们?|那里|该(?=[处地镇人])",
    re.IGNORECASE,
)
_HEADING = re.compile(
    r"^(?:(?:standalone |reworded |last )?question|改写后的问题|改写|独立问题|最后的问题|问题|问)\s*[:：]\s*",
    re.IGNORECASE,
)
_AROUND: Final = frozenset(('""', "“”", "「」", "''", "**", "``"))
_CLOSING: Final = "\"”」'*`"
_OWN: Final = frozenset(("its", "his", "her", "hers", "their"))
_HAN_SUBJECT = re.compile(r"^(.{2,12}?)(?:是|的|在|有|由|位于|什么|何|多|怎|为|建|属)")


def standing(question: str, turns: Sequence[Turn], model: ChatModel | None = None) -> tuple[str, Usage]:
    """The question standing alone, and what that cost; as it is where it leans on nothing, or on nothing known."""
    leaning = _PRONOUN.search(question) is not None or follow.is_fragment(question)
    if not turns or not leaning:
        return question, Usage()
    if model is not None:
        try:
            return _by_model(question, turns, model)
        except ModelError:
            pass  # the built-in way is as good as it gets
    return _builtin(question, turns[-1]), Usage()


def _by_model(question: str, turns: Sequence[Turn], model: ChatModel) -> tuple[str, Usage]:
    shown = [{"question": turn.question, "answer": turn.answer[:_ANSWER]} for turn in turns[-_TURNS:]]
    language = "zh" if has_han(question) else "en"
    messages, _ = prompts.render_messages("standalone-question", question=question, language=language, turns=shown)
    completion = model.complete(messages)
    text = _plain(completion.text)
    return (text if 0 < len(text) <= _LONGEST else question), completion.usage


def _plain(reply: str) -> str:
    """The question that a model replied with: the first line that asks, without a heading or quotation marks."""
    lines = [line.strip() for line in reply.splitlines() if line.strip(" `")]
    asking = (line for line in lines if line.rstrip(_CLOSING).endswith(("?", "？")))
    text = _HEADING.sub("", next(asking, lines[0] if lines else "")).strip()
    while len(text) > 2 and text[0] + text[-1] in _AROUND:
        text = text[1:-1].strip()
    return text


def _builtin(question: str, last: Turn) -> str:
    """The name that the last question was about in place of the first pronoun."""
    match = _PRONOUN.search(question)
    name = _subject(last)
    if match is None or not name:
        return question
    own = "'s" if match.group().casefold() in _OWN and not has_han(name) else ""
    return f"{question[: match.start()]}{name}{own}{question[match.end() :]}"


def _subject(turn: Turn) -> str:
    """What a turn was about: the name in its question, else its one answer."""
    names = [name for name in names_in(turn.question) if not name[0].isdigit()]
    if names:
        return names[0]
    match = _HAN_SUBJECT.match(turn.question) if has_han(turn.question) else None
    if match:
        return match[1]
    return turn.values[0] if len(turn.values) == 1 else ""
