"""Questions that a model makes: from passages with quotes that are checked, for imagined users, and paraphrases."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from kgplatform.errors import ModelReplyError
from kgplatform.evaluation.making.made import Kind, MadeQuestion, Source
from kgplatform.models.structured import json_of, mismatch
from kgplatform.prompts import render_messages
from kgplatform.protocols import ChatModel
from kgplatform.questions.synthesis import unsupported
from kgplatform.text import normalise

_LANGUAGES: Final = {"en": "English", "zh": "Chinese"}
_BATCH: Final = 20
_RECKONED: Final = re.compile(r"[\d.,]+")
_MARK_PATTERN: Final = {letter: f"[{re.escape(marks)}]" for marks in ('"“”„«»', "'‘’ʼ", "-‐‑–—") for letter in marks}
"""Marks that a model writes for one another when it copies."""


def _object(**properties: object) -> dict[str, object]:
    return {"type": "object", "required": list(properties), "additionalProperties": False, "properties": properties}


def _array(items: object) -> dict[str, object]:
    return {"type": "array", "items": items}


_TEXT: Final = {"type": "string"}
_FROM_PASSAGES: Final = _object(
    questions=_array(
        _object(
            type={"type": "string", "enum": [kind.value for kind in Kind]},
            question=_TEXT,
            answer=_TEXT,
            quotes=_array(_object(passage={"type": "integer"}, quote=_TEXT)),
        )
    )
)
_FOR_USERS: Final = _object(
    users=_array(_object(user=_TEXT, tasks=_array(_object(task=_TEXT, questions=_array(_TEXT)))))
)
_PARAPHRASES: Final = _object(questions=_array(_TEXT))


@dataclass(frozen=True, slots=True)
class Passage:
    """A passage to ask about, and its document's title."""

    document: str
    text: str


@dataclass(frozen=True, slots=True)
class Refused:
    """A question of the model's that was not taken, and why."""

    text: str
    reason: str


def from_passages(
    passages: Sequence[Passage], model: ChatModel, *, language: str = "en", count: int = 2
) -> tuple[list[MadeQuestion], list[Refused]]:
    """Questions of the four types about the passages, those whose quotes are not there or not enough refused.

    Raises:
        ModelError: the model is away, or its reply cannot be used.
    """
    reply = _asked(
        model,
        "make-questions",
        _FROM_PASSAGES,
        language=_LANGUAGES.get(language, language),
        passages=list(passages),
        count=count,
    )
    taken: list[MadeQuestion] = []
    refused: list[Refused] = []
    for item in _objects(reply["questions"]):
        made = _made(item, passages, language, model.name)
        if isinstance(made, Refused):
            refused.append(made)
        else:
            taken.append(made)
    return taken, refused


def _made(item: Mapping[str, object], passages: Sequence[Passage], language: str, name: str) -> MadeQuestion | Refused:
    text, answer = str(item["question"]).strip(), str(item["answer"]).strip()
    sources: list[Source] = []
    for quoted in _objects(item["quotes"]):
        place = quoted["passage"]
        quote = str(quoted["quote"]).strip()
        passage = passages[place - 1] if isinstance(place, int) and 0 < place <= len(passages) else None
        found = _as_written(quote, passage.text) if passage else ""
        if passage is None or not found:
            return Refused(text, f"the quote {quote[:60]!r} is not in the passage")
        sources.append(Source(passage.document, found))
    if not text or not answer or not sources:
        return Refused(text, "question, answer or quotes are missing")
    kind = Kind(str(item["type"]))
    invented = unsupported(answer, [*(f"{p.document} {p.text}" for p in passages), text])
    if kind is Kind.REASONING:  # what was counted or reckoned stands nowhere
        invented = tuple(name for name in invented if not _RECKONED.fullmatch(name))
    if invented:
        return Refused(text, f"the answer names what no passage does: {', '.join(invented)}")
    if kind is Kind.MULTI_CONTEXT and len({source.quote for source in sources}) < 2:
        return Refused(text, "said to need several passages, but quotes one")
    return MadeQuestion(text, language, kind.value, (answer,), sources=tuple(sources), made_by=name)


def _as_written(quote: str, text: str) -> str:
    """The stretch of the text that the quote is, line breaks and kinds of quotation marks aside; empty: it is none."""
    parts = [_MARK_PATTERN.get(letter) or re.escape(letter) for letter in " ".join(quote.split())]
    found = re.search("".join(r"\s+" if part == r"\ " else part for part in parts), text) if parts else None
    return found.group() if found else ""


@dataclass(frozen=True, slots=True)
class UserQuestion:
    """A question that an imagined user asks for a task; there is no gold answer, so it serves for comparisons."""

    user: str
    task: str
    text: str
    language: str
    made_by: str


def for_users(
    description: str, model: ChatModel, *, language: str = "en", users: int = 5, tasks: int = 5, questions: int = 5
) -> list[UserQuestion]:
    """Questions for ``users`` times ``tasks`` times ``questions``, each once; fewer where the model gives fewer.

    Source: the procedure of the GraphRAG evaluation (Edge et al. 2024, section 4.1) and of those that took it over.

    Raises:
        ModelError: the model is away, or its reply cannot be used.
    """
    reply = _asked(
        model,
        "make-tasks",
        _FOR_USERS,
        language=_LANGUAGES.get(language, language),
        description=description,
        users=users,
        tasks=tasks,
        questions=questions,
    )
    found: dict[str, UserQuestion] = {}
    for user in _objects(reply["users"])[:users]:
        for task in _objects(user["tasks"])[:tasks]:
            asked = task["questions"]
            for text in (asked if isinstance(asked, list) else [])[:questions]:
                made = UserQuestion(str(user["user"]), str(task["task"]), str(text).strip(), language, model.name)
                if made.text:
                    found.setdefault(normalise(made.text), made)
    return list(found.values())


def paraphrased(questions: Sequence[MadeQuestion], model: ChatModel) -> tuple[list[MadeQuestion], list[Refused]]:
    """The questions as a person would say them; one that loses or gains a name or number keeps its own words.

    Raises:
        ModelError: the model is away, or a reply cannot be used.
    """
    found: list[MadeQuestion] = []
    refused: list[Refused] = []
    for start in range(0, len(questions), _BATCH):
        batch = questions[start : start + _BATCH]
        reply = _asked(model, "paraphrase-questions", _PARAPHRASES, questions=[item.text for item in batch])
        texts = reply["questions"] if isinstance(reply["questions"], list) else []
        if len(texts) != len(batch):
            message = f"{model.name} paraphrased {len(texts)} of {len(batch)} questions"
            raise ModelReplyError(message, model=model.name, reply=str(reply))
        for item, said in zip(batch, texts, strict=True):
            reason = _changed(item, str(said).strip())
            if reason:
                refused.append(Refused(str(said), reason))
            found.append(item if reason else replace(item, text=str(said).strip(), made_by=model.name))
    return found, refused


def _changed(item: MadeQuestion, said: str) -> str:
    if not said:
        return "it is empty"
    added = unsupported(said, (item.text,))
    lost = unsupported(item.text, (said,))
    if added or lost:
        return f"names or numbers changed: {', '.join((*lost, *added))}"
    return ""


def _asked(model: ChatModel, prompt: str, schema: Mapping[str, object], **values: object) -> Mapping[str, object]:
    messages, _ = render_messages(prompt, folder=None, **values)
    reply = model.complete(messages, schema=schema).text
    found = json_of(reply, model=model.name)
    wrong = mismatch(found, schema)
    if wrong:
        raise ModelReplyError(f"{model.name} made no questions: {wrong}", model=model.name, reply=reply)
    return found


def _objects(value: object) -> list[Mapping[str, object]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
