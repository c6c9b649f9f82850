"""A language model as the judge: claims checked against passages, questions made from answers, passages weighed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from kgplatform.errors import ModelReplyError
from kgplatform.evaluation.judging.measures import QUESTIONS, Answered
from kgplatform.models.structured import json_of, mismatch
from kgplatform.prompts import render_messages
from kgplatform.protocols import ChatModel, Embedder
from kgplatform.text import sentences

Schema = Mapping[str, object]


def _closed(**properties: object) -> dict[str, object]:
    return {
        "type": "object",
        "required": list(properties),
        "additionalProperties": False,
        "properties": properties,
    }


_TEXT: Final = {"type": "string"}
_FLAG: Final = {"type": "boolean"}
CLAIMS: Final = _closed(claims={"type": "array", "items": _closed(claim=_TEXT, supported=_FLAG)})
MADE_QUESTIONS: Final = _closed(questions={"type": "array", "items": _TEXT}, evasive=_FLAG)
USEFUL: Final = _closed(useful={"type": "array", "items": _FLAG})
FOUND: Final = _closed(found={"type": "array", "items": _FLAG})
RIGHT: Final = _closed(why=_TEXT, right=_FLAG)


class ModelJudge:
    """Judges by a model, with an embedding model for what is compared as meaning.

    A reply of the wrong shape, or with another number of verdicts than was asked for, is a `ModelReplyError`: it is
    reported and counted, not guessed at.
    """

    def __init__(self, model: ChatModel, embedder: Embedder) -> None:
        self.name = f"model {model.name}"
        self._model = model
        self._embedder = embedder

    def claims(self, item: Answered) -> Sequence[bool]:
        """See `Judge.claims`."""
        reply = self._asked(
            "judge-claims", CLAIMS, question=item.question, answer=item.answer, passages=list(item.passages)
        )
        return [claim["supported"] is True for claim in _objects(reply["claims"])]

    def relevancies(self, item: Answered) -> Sequence[float]:
        """See `Judge.relevancies`."""
        if not item.answer.strip():
            return ()
        reply = self._asked("judge-questions", MADE_QUESTIONS, answer=item.answer, count=QUESTIONS)
        made = [text for text in _values(reply["questions"]) if isinstance(text, str) and text.strip()][:QUESTIONS]
        if reply["evasive"] is True or not made:
            return ()
        vectors = self._embedder.embed([item.question, *made])
        return [float(vectors[0] @ vector) for vector in vectors[1:]]

    def useful(self, item: Answered) -> Sequence[bool]:
        """See `Judge.useful`."""
        reply = self._asked(
            "judge-passages",
            USEFUL,
            question=item.question,
            reference=item.reference,
            passages=list(item.passages),
        )
        return self._flags(reply["useful"], len(item.passages), "passages")

    def recalled(self, item: Answered) -> Sequence[bool]:
        """See `Judge.recalled`."""
        statements = statements_of(item.reference)
        reply = self._asked(
            "judge-recall", FOUND, question=item.question, statements=statements, passages=list(item.passages)
        )
        return self._flags(reply["found"], len(statements), "statements")

    def is_right(self, item: Answered) -> bool:
        """Whether the answer says what the reference says, in whatever words."""
        reply = self._asked("judge-answer", RIGHT, question=item.question, answer=item.answer, reference=item.reference)
        return reply["right"] is True

    def similarity(self, item: Answered) -> float:
        """See `Judge.similarity`: the cosine of the embeddings, none below 0."""
        if not item.answer.strip():
            return 0.0
        first, second = self._embedder.embed([item.answer, item.reference])
        return max(0.0, float(first @ second))

    def _flags(self, value: object, wanted: int, what: str) -> list[bool]:
        found = [flag is True for flag in _values(value)]
        if len(found) != wanted:
            message = f"{self._model.name} judged {len(found)} of {wanted} {what}"
            raise ModelReplyError(message, model=self._model.name, reply=str(value))
        return found

    def _asked(self, prompt: str, schema: Schema, **values: object) -> Mapping[str, object]:
        messages, _ = render_messages(prompt, folder=None, **values)
        reply = self._model.complete(messages, schema=schema).text
        found = json_of(reply, model=self._model.name)
        wrong = mismatch(found, schema)
        if wrong:
            message = f"{self._model.name} did not judge: {wrong}"
            raise ModelReplyError(message, model=self._model.name, reply=reply)
        return found


def statements_of(reference: str) -> list[str]:
    """The sentences of a reference answer."""
    return [reference[start:end] for start, end in sentences(reference)] or [reference]


def _values(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _objects(value: object) -> list[Mapping[str, object]]:
    return [item for item in _values(value) if isinstance(item, dict)]
