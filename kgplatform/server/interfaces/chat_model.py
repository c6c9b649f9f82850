"""The graph as a chat model: ``/v1/models`` and ``/v1/chat/completions``, in the form that chat clients speak.

The last message of a user is the question, the ones before are the turns of a conversation. The answer cites passages:
a mark in the text, an annotation that points to the document. With ``stream`` it comes as server-sent events.

Specification: https://platform.openai.com/docs/api-reference/chat (the parts that a question and its answer need).
"""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

from flask import Blueprint, Response, jsonify, request, stream_with_context

from kgplatform.errors import ConfigError, KgPlatformError
from kgplatform.questions.answer import UNHELPED, FollowedQuestion, QuestionGivenUpError
from kgplatform.questions.dialogue.replies import Conversation
from kgplatform.server import addresses
from kgplatform.server.access import client
from kgplatform.server.http import event_stream
from kgplatform.server.pages.ask import MAX_QUESTION_CHARACTERS
from kgplatform.types import Answer, Evidence, Verdict
from kgplatform.workspace.question_settings import AskOptions

if TYPE_CHECKING:
    from kgplatform.graph import KnowledgeGraph

MODEL: Final = "kgplatform"
"""The name of the graph as a model; with a source after a colon (``kgplatform:graph``), that source alone answers."""
_SOURCES: Final = ("graph", "passages")
_MOST_CITED = 8
_MOST_TURNS = 20
_MOST_REPLAYED = 4
_PIECE = re.compile(r"\S+\s*|\s+")
_WORDS_AT_ONCE = 4
_END: Final = b"data: [DONE]\n\n"


class ChatRefusedError(Exception):
    """A request for a completion that is refused: the status, and what the client is told; ``code`` is for programs."""

    def __init__(self, status: int, message: str, *, code: str = "invalid_request") -> None:
        super().__init__(message)
        self.status = status
        self.code = code


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """What is asked for: the messages of the user, the last of which is the question; who answers; how it is sent."""

    said: tuple[str, ...]
    model: str
    using: str
    stream: bool
    with_usage: bool

    @classmethod
    def read(cls, record: object) -> ChatRequest:
        """The request that a JSON object is.

        Raises:
            ChatRefusedError: it is none that can be answered.
        """
        if not isinstance(record, dict):
            raise ChatRefusedError(400, "send a JSON object with model and messages")
        model = record.get("model") or MODEL
        name, _, using = str(model).partition(":")
        if name != MODEL or using not in ("", *_SOURCES):
            message = f"there is no model {str(model)[:80]!r}; /v1/models lists them"
            raise ChatRefusedError(404, message, code="model_not_found")
        said = _said(record.get("messages"))
        if not said or len(said[-1]) > MAX_QUESTION_CHARACTERS:
            limit = f"the last message of a user is the question, 1 to {MAX_QUESTION_CHARACTERS} characters"
            raise ChatRefusedError(400, limit)
        options = record.get("stream_options")
        with_usage = isinstance(options, dict) and bool(options.get("include_usage"))
        return cls(said[-_MOST_TURNS:], str(model), using, bool(record.get("stream")), with_usage)


def _said(messages: object) -> tuple[str, ...]:
    """What the user said in the messages."""
    if not isinstance(messages, list):
        raise ChatRefusedError(400, "messages must be a list")
    found = []
    for message in messages:
        if not isinstance(message, dict):
            raise ChatRefusedError(400, "each message must be an object with role and content")
        if message.get("role") == "user":
            found.append(_text(message.get("content")))
    return tuple(text for text in found if text)


def _text(content: object) -> str:
    """The text of a message, given as such or in parts."""
    if isinstance(content, str):
        return content.strip()
    parts = content if isinstance(content, list) else []
    texts = (str(part.get("text", "")) for part in parts if isinstance(part, dict) and part.get("type") == "text")
    return "\n".join(texts).strip()


@dataclass(frozen=True, slots=True)
class ChatReply:
    """An answer as a chat shows it: the text with marks, and for each mark what it points to."""

    text: str
    annotations: tuple[dict[str, Any], ...]
    answer: Answer

    @classmethod
    def of(cls, answer: Answer, page: Callable[[Evidence], str]) -> ChatReply:
        """The reply for an answer; ``page`` gives the address of a passage."""
        text = answer.text
        if answer.clarification is not None:
            lines = (answer.text, answer.clarification.question, *(f"- {one}" for one in answer.clarification.options))
            text = "\n".join(dict.fromkeys(filter(None, lines)))
        marks = []
        for number, passage in enumerate(answer.evidence[:_MOST_CITED], start=1):
            mark = f" [{number}]"
            place = {"start_index": len(text) + 1, "end_index": len(text) + len(mark)}
            cited = {**place, "title": passage.title or passage.source, "url": page(passage)}
            marks.append({"type": "url_citation", "url_citation": cited})
            text += mark
        return cls(text, tuple(marks), answer)

    def pieces(self) -> Iterator[str]:
        """The text a few words at a time."""
        words = _PIECE.findall(self.text)
        for start in range(0, len(words), _WORDS_AT_ONCE):
            yield "".join(words[start : start + _WORDS_AT_ONCE])

    def usage(self) -> dict[str, int]:
        """What a language model was asked, in tokens; nothing where none was."""
        used = self.answer.usage
        told, said = used.prompt_tokens, used.completion_tokens
        return {"prompt_tokens": told, "completion_tokens": said, "total_tokens": told + said}


def _name(who: str, said: Sequence[str], using: str) -> str:
    """The name of the conversation in which somebody has said that: the same for the same words, of nobody else."""
    return f"chat-{hashlib.sha256(json.dumps([who, using, *said]).encode()).hexdigest()[:40]}"


def _answered(kg: KnowledgeGraph, asked: ChatRequest, who: str) -> Answer:
    """The answer to the last message, after those before; what is not kept of them is asked once more."""
    begun = len(asked.said) - 1
    while begun > 0 and not Conversation(kg.folder, _name(who, asked.said[:begun], asked.using)).turns():
        begun -= 1
    first = max(begun, len(asked.said) - 1 - _MOST_REPLAYED)
    options = AskOptions(using=asked.using or "auto")
    before = Conversation(kg.folder, _name(who, asked.said[:first], asked.using)).turns() if first else ()
    for place in range(first, len(asked.said)):
        conversation = Conversation(kg.folder, _name(who, asked.said[: place + 1], asked.using))
        conversation.keep(before)
        answer = kg.ask(asked.said[place][:MAX_QUESTION_CHARACTERS], conversation=conversation.name, options=options)
        before = conversation.turns()
    failed = next((note for note in answer.trace if note.startswith(UNHELPED)), "")
    if failed and answer.verdict is Verdict.UNANSWERABLE:  # by a graph that was not asked as it should be
        raise ChatRefusedError(503, failed, code="model_failed")
    return answer


def blueprint(kg: KnowledgeGraph) -> Blueprint:
    """The routes of the chat."""
    routes = Blueprint("chat", __name__)
    begun = int(time.time())

    @routes.errorhandler(ChatRefusedError)
    def refused(error: ChatRefusedError) -> Any:
        return jsonify({"error": error_record(str(error), error.code)}), error.status

    @routes.errorhandler(ConfigError)
    def senseless(error: ConfigError) -> Any:
        return jsonify({"error": error_record(str(error), "invalid_request")}), 400

    @routes.errorhandler(QuestionGivenUpError)
    def left(_: QuestionGivenUpError) -> Any:
        return "", 503  # which nobody reads

    @routes.get("/v1/models")
    def models() -> Response:
        names = (MODEL, *(f"{MODEL}:{source}" for source in _SOURCES))
        listed = [{"id": name, "object": "model", "created": begun, "owned_by": MODEL} for name in names]
        return jsonify({"object": "list", "data": listed})

    @routes.get("/v1/models/<path:name>")
    def model(name: str) -> Any:
        ChatRequest.read({"model": name, "messages": [{"role": "user", "content": name}]})
        return jsonify({"id": name, "object": "model", "created": begun, "owned_by": MODEL})

    @routes.post("/v1/chat/completions")
    def completions() -> Response:
        asked = ChatRequest.read(request.get_json(silent=True))
        host, who = request.url_root.rstrip("/"), client().name

        def page(passage: Evidence) -> str:
            place = addresses.of_passage(passage, kg.base)
            return place if "://" in place else f"{host}{place}"

        def reply() -> ChatReply:
            with FollowedQuestion(lambda _: None, has_left=has_left).following():
                return ChatReply.of(_answered(kg, asked, who), page)

        has_left = request.environ.get("waitress.client_disconnected") or (lambda: False)
        if asked.stream:
            return event_stream(stream_with_context(_events(asked, reply)))
        return jsonify(_whole(asked, reply()))

    return routes


def error_record(message: str, code: str) -> dict[str, Any]:
    """An error as chat clients read it."""
    kind = "server_error" if code.endswith("failed") else "invalid_request_error"
    return {"message": message, "type": kind, "param": None, "code": code}


def _whole(asked: ChatRequest, reply: ChatReply) -> dict[str, Any]:
    message = {"role": "assistant", "content": reply.text, "annotations": list(reply.annotations)}
    choice = {"index": 0, "message": message, "finish_reason": "stop", "logprobs": None}
    return {**_head(asked, "chat.completion"), "choices": [choice], "usage": reply.usage()}


def _head(asked: ChatRequest, kind: str) -> dict[str, Any]:
    return {"id": f"chatcmpl-{uuid4().hex}", "object": kind, "created": int(time.time()), "model": asked.model}


def _events(asked: ChatRequest, reply: Callable[[], ChatReply]) -> Iterator[bytes]:
    """The answer as events: at once that it is being worked on, then its text, its citations, and the end."""
    head = _head(asked, "chat.completion.chunk")

    def event(delta: Mapping[str, Any], finish: str | None = None, **more: Any) -> bytes:
        chunk = {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}], **more}
        return _line(chunk)

    yield event({"role": "assistant", "content": ""})
    try:
        found = reply()
    except QuestionGivenUpError:
        return
    except (ChatRefusedError, KgPlatformError) as error:
        yield _line({"error": error_record(str(error), getattr(error, "code", "failed"))}) + _END
        return
    for piece in found.pieces():
        yield event({"content": piece})
    yield event({"annotations": list(found.annotations)} if found.annotations else {}, "stop")
    if asked.with_usage:
        yield _line({**head, "choices": [], "usage": found.usage()})
    yield _END


def _line(record: Mapping[str, Any]) -> bytes:
    return f"data: {json.dumps(record, ensure_ascii=False)}\n\n".encode()
