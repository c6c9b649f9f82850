"""Keeping what a model was asked and what it replied, and answering from that without the model.

A recording is a JSON Lines file. A line written here has ``key``, ``model``, ``messages``, ``schema``,
``completion`` and ``usage``; lines with the ``request`` body of an OpenAI-compatible server and its
``completion`` are read too. A request is found by its messages and schema, whatever model it went to.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Mapping, Sequence
from io import FileIO
from pathlib import Path

from kgplatform.errors import ModelReplyError, ModelUnavailableError, ReadError, StoreError
from kgplatform.models.conversation import key_of, parameters_of
from kgplatform.models.mending import without_thinking
from kgplatform.models.structured import instructed, json_of, mismatch
from kgplatform.protocols import ChatModel, Completion, Message
from kgplatform.text import count_tokens
from kgplatform.types import Usage


class RecordingModel:
    """A model whose conversations are appended to a file; safe to use from several threads."""

    def __init__(self, model: ChatModel, path: Path | str) -> None:
        self.model = model
        self.name = model.name
        self.path = Path(path)
        self._lock = threading.Lock()

    @property
    def parameters(self) -> Mapping[str, object]:
        """Those of the model inside."""
        return parameters_of(self.model)

    def complete(self, messages: Sequence[Message], *, schema: Mapping[str, object] | None = None) -> Completion:
        """The reply of the model inside.

        Raises:
            StoreError: the file cannot be written.
            ModelError: as the model inside.
        """
        completion = self.model.complete(messages, schema=schema)
        usage = completion.usage
        line = {
            "key": key_of(messages, schema),
            "model": self.name,
            "messages": [{"role": message.role, "content": message.content} for message in messages],
            "schema": schema,
            "completion": completion.text,
            "usage": {"prompt_tokens": usage.prompt_tokens, "completion_tokens": usage.completion_tokens},
        }
        self._append(json.dumps(line, ensure_ascii=False).encode("utf-8", "backslashreplace"))
        return completion

    def _append(self, line: bytes) -> None:
        try:
            with self._lock:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                # one write, so that lines of several processes do not mix
                with self.path.open("ab+", buffering=0) as out:
                    out.write((b"" if _ends_clean(out) else b"\n") + line + b"\n")
        except OSError as error:
            raise StoreError(f"{self.path}: the recording cannot be written ({error.strerror})") from error


class ReplayModel:
    """A model that knows only what was recorded; of two recordings of a request the later counts.

    A reply has a usage of 0 calls, and the tokens that it took when it was made.
    """

    def __init__(self, path: Path | str, *, name: str | None = None) -> None:
        self.path = Path(path)
        self._replies: dict[str, Completion] = {}
        models: list[str] = []
        for number, line in enumerate(self._lines(), start=1):
            if line.strip():
                models.append(self._learn(line, number))
        self.name = name or next((model for model in models if model), "replay")

    def complete(self, messages: Sequence[Message], *, schema: Mapping[str, object] | None = None) -> Completion:
        """The recorded reply; with ``schema``, the text of its JSON object.

        Raises:
            ModelUnavailableError: this was not recorded.
            ModelReplyError: what was recorded is not JSON of that shape.
        """
        started = time.perf_counter()
        found = self._replies.get(key_of(messages, schema))
        if schema is not None:
            # a server that does not know response_format was asked in words
            in_words = self._replies.get(key_of(instructed(messages, schema), None))
            found = self._fitting([reply for reply in (found, in_words) if reply is not None], schema)
        if found is None:
            message = f"model {self.name!r} replays {self.path}, which has no reply to {_first_line(messages)!r}"
            raise ModelUnavailableError(message, model=self.name)
        tokens = found.usage.prompt_tokens, found.usage.completion_tokens
        return Completion(found.text, Usage(0, *tokens, time.perf_counter() - started))

    def _fitting(self, replies: Sequence[Completion], schema: Mapping[str, object]) -> Completion | None:
        """The first of the replies that has the shape of the schema, as plain JSON."""
        failure: ModelReplyError | None = None
        for reply in replies:
            try:
                value = json_of(reply.text, model=self.name)
            except ModelReplyError as error:
                failure = failure or error
                continue
            if reason := mismatch(value, schema):
                message = f"model {self.name!r} replied with JSON of another shape: {reason}"
                failure = failure or ModelReplyError(message, model=self.name, reply=reply.text)
                continue
            return Completion(json.dumps(value, ensure_ascii=False), reply.usage)
        if failure is not None:
            raise failure
        return None

    def _lines(self) -> list[str]:
        try:
            return self.path.read_text(encoding="utf-8").split("\n")
        except OSError as error:
            raise ReadError(f"the recording cannot be read ({error.strerror})", path=self.path) from error
        except UnicodeDecodeError as error:
            raise ReadError(f"the recording is not UTF-8 (byte {error.start})", path=self.path) from error

    def _learn(self, line: str, number: int) -> str:
        """Takes in one line; returns the name of the model that replied."""
        try:
            row = json.loads(line)
            request = row.get("request", row)
            messages = [Message(str(turn["role"]), str(turn["content"])) for turn in request["messages"]]
            text = without_thinking(row["completion"])
            given = row.get("usage") or {}
            prompt_tokens = int(given.get("prompt_tokens", sum(count_tokens(message.content) for message in messages)))
            completion_tokens = int(given.get("completion_tokens", count_tokens(text)))
            key, model = key_of(messages, _schema_of(request)), request.get("model")
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ReadError(f"line {number} is not a recorded completion", path=self.path) from error
        self._replies[key] = Completion(text, Usage(0, prompt_tokens, completion_tokens))
        return str(model or "")


def _schema_of(request: Mapping[str, object]) -> Mapping[str, object] | None:
    """The JSON Schema of a recorded request, wherever its format keeps it."""
    schema = request.get("schema")
    form = request.get("response_format")
    if schema is None and isinstance(form, dict) and isinstance(inner := form.get("json_schema"), dict):
        schema = inner.get("schema")
    return schema if isinstance(schema, dict) else None


def _first_line(messages: Sequence[Message]) -> str:
    """The first line of what was asked, which is the last message."""
    lines = messages[-1].content.split("\n") if messages else []
    return next((line.strip()[:120] for line in lines if line.strip()), "")


def _ends_clean(file: FileIO) -> bool:
    """Whether the file is empty or ends with a line break; a crash may have left half a line."""
    if file.seek(0, os.SEEK_END) == 0:
        return True
    file.seek(-1, os.SEEK_END)
    return file.read(1) == b"\n"
