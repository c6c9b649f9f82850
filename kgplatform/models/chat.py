"""A language model behind any OpenAI-compatible server (OpenAI, vLLM, llama.cpp, Ollama, LM Studio, …).

``POST {url}/chat/completions``, https://platform.openai.com/docs/api-reference/chat. JSON is asked for by
``response_format``; from a server that rejects or ignores it, in words. What a server does not know
(``response_format``, ``temperature``, ``max_tokens`` by its old name) is remembered for the life of the object.
"""

from __future__ import annotations

import copy
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from kgplatform.errors import ModelReplyError
from kgplatform.models.mending import without_thinking
from kgplatform.models.server import RequestRefusedError, Server
from kgplatform.models.structured import instructed, is_closed, json_of, mismatch
from kgplatform.protocols import Completion, Message
from kgplatform.text import count_tokens
from kgplatform.types import Usage

_WARM = 0.7
_CORRECTION = "That reply cannot be used: {reason}. Reply again with the corrected JSON object and nothing else."


@dataclass(frozen=True, slots=True)
class _Reply:
    """What came back for one request."""

    text: str
    usage: Usage
    cut: bool


class OpenAIModel:
    """A chat model on an OpenAI-compatible server; nothing is connected before `complete`.

    Safe to use from several threads. ``retries`` counts the further tries after a first failure that may pass
    (connection lost, HTTP 429 and 5xx); the server's ``Retry-After`` is honoured up to a minute.
    ``temperature=None`` leaves the temperature to the server.
    """

    def __init__(
        self,
        name: str,
        *,
        url: str,
        key: str | None = None,
        timeout_seconds: float = 60.0,
        retries: int = 4,
        temperature: float | None = 0.0,
        max_tokens: int | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.name = name
        self.temperature = temperature
        self.max_tokens = max_tokens
        self._server = Server(name, url, key, timeout_seconds, retries, sleep)
        self._unknown: frozenset[str] = frozenset()
        self._sample = 0

    @property
    def parameters(self) -> Mapping[str, object]:
        """What else than the conversation decides over the reply; part of a cache's key."""
        drawn = {"sample": self._sample} if self._sample else {}
        return {"temperature": self.temperature, "max_tokens": self.max_tokens, **drawn}

    def sample(self, number: int) -> OpenAIModel:
        """The model for one of several independent replies: warm enough for them to differ."""
        drawn = copy.copy(self)
        drawn._sample = number
        if drawn.temperature is not None:
            drawn.temperature = max(drawn.temperature, _WARM)
        return drawn

    def complete(self, messages: Sequence[Message], *, schema: Mapping[str, object] | None = None) -> Completion:
        """The model's reply; with ``schema``, the text of a JSON object of that shape.

        An empty reply is asked for once more. With ``schema`` a reply of the wrong shape is too: first in words
        instead of by ``response_format``, then with what was wrong about it.

        Raises:
            ModelUnavailableError: the server cannot be reached, refuses, or stays overloaded.
            ModelReplyError: the reply is empty, cut off, or not JSON of that shape.
        """
        started = time.perf_counter()
        if schema is None:
            reply = self._asked(messages, None)
            text, usage = reply.text, reply.usage
        else:
            text, usage = self._structured(messages, schema)
        seconds = time.perf_counter() - started
        return Completion(text, Usage(usage.calls, usage.prompt_tokens, usage.completion_tokens, seconds))

    def _structured(self, messages: Sequence[Message], schema: Mapping[str, object]) -> tuple[str, Usage]:
        in_words = instructed(messages, schema)
        usage = Usage()
        if "response_format" not in self._unknown:
            try:
                reply = self._asked(messages, schema)
            except RequestRefusedError:  # servers word it too freely to tell; if it is something else, it comes back
                return self._in_words(in_words, schema, usage)
            usage += reply.usage
            try:
                return self._checked(reply, schema), usage
            except ModelReplyError:
                if reply.cut:
                    raise
        return self._in_words(in_words, schema, usage)

    def _in_words(self, messages: list[Message], schema: Mapping[str, object], usage: Usage) -> tuple[str, Usage]:
        reply = self._asked(messages, None)
        usage += reply.usage
        try:
            text = self._checked(reply, schema)
        except ModelReplyError as error:
            if reply.cut:
                raise
            correction = Message("user", _CORRECTION.format(reason=error))
            reply = self._asked([*messages, Message("assistant", reply.text), correction], None)
            usage += reply.usage
            text = self._checked(reply, schema)
        # only now is it certain that it was the form of the request that the server does not know
        self._unknown |= {"response_format"}
        return text, usage

    def _checked(self, reply: _Reply, schema: Mapping[str, object]) -> str:
        """The reply's JSON object as text, if it has the shape of the schema."""
        try:
            value = json_of(reply.text, model=self.name)
        except ModelReplyError as error:
            if not reply.cut:
                raise
            message = f"{self._server.place} was cut off before its JSON ended; raise max_tokens or ask for less"
            raise ModelReplyError(message, model=self.name, reply=reply.text) from error
        if reason := mismatch(value, schema):
            message = f"model {self.name!r} replied with JSON of another shape: {reason}"
            raise ModelReplyError(message, model=self.name, reply=reply.text)
        return json.dumps(value, ensure_ascii=False)

    def _asked(self, messages: Sequence[Message], schema: Mapping[str, object] | None) -> _Reply:
        """A reply that is not empty, at the second try if need be."""
        usage = Usage()
        for _ in range(2):
            reply = self._posted(messages, schema)
            usage += reply.usage
            if reply.text:
                return _Reply(reply.text, usage, reply.cut)
        hint = "; it ran into max_tokens while thinking, raise it" if reply.cut else ""
        raise ModelReplyError(f"{self._server.place} gives an empty reply{hint}", model=self.name, reply="")

    def _posted(self, messages: Sequence[Message], schema: Mapping[str, object] | None) -> _Reply:
        """The reply to one request, without the parameters that the server turns out not to know."""
        unknown = self._unknown
        for _ in range(3):
            try:
                answer = self._server.post("/chat/completions", self._body(messages, schema, unknown))
            except RequestRefusedError as error:
                named = {name for name in self._optional() - unknown if _is_unknown(name, error.reason)}
                if not named:
                    raise
                unknown |= named
            else:
                self._unknown |= unknown
                return self._reply(answer, messages)
        raise AssertionError("there are no more than two optional parameters")

    def _optional(self) -> frozenset[str]:
        given = {"temperature": self.temperature, "max_tokens": self.max_tokens}
        return frozenset(name for name, value in given.items() if value is not None)

    def _body(
        self, messages: Sequence[Message], schema: Mapping[str, object] | None, unknown: frozenset[str]
    ) -> dict[str, object]:
        body: dict[str, object] = {
            "model": self.name,
            "messages": [{"role": message.role, "content": message.content} for message in messages],
        }
        if self.temperature is not None and "temperature" not in unknown:
            body["temperature"] = self.temperature
        if self.max_tokens is not None:
            body["max_completion_tokens" if "max_tokens" in unknown else "max_tokens"] = self.max_tokens
        if schema is not None:
            form = {"name": "reply", "schema": schema, "strict": is_closed(schema)}
            body["response_format"] = {"type": "json_schema", "json_schema": form}
        return body

    def _reply(self, answer: Mapping[str, object], messages: Sequence[Message]) -> _Reply:
        choice = _first(answer.get("choices"))
        message = choice.get("message")
        if not isinstance(message, dict):
            said = json.dumps(answer.get("error", answer), ensure_ascii=False)[:200]
            raise ModelReplyError(
                f"{self._server.place} answers without a completion ({said})", model=self.name, reply=said
            )
        refusal = message.get("refusal")
        if isinstance(refusal, str) and refusal:
            raise ModelReplyError(f"model {self.name!r} declines: {refusal[:200]}", model=self.name, reply=refusal)
        text = without_thinking(_content(message.get("content")))
        return _Reply(text, _usage(answer.get("usage"), messages, text), choice.get("finish_reason") == "length")


def _is_unknown(parameter: str, reason: str) -> bool:
    """Whether a refusal says that the server does not know a parameter; a value too large is another matter."""
    if parameter == "max_tokens":
        return "max_completion_tokens" in reason
    return parameter in reason.casefold()


def _first(choices: object) -> Mapping[str, object]:
    first = choices[0] if isinstance(choices, list) and choices else None
    return first if isinstance(first, dict) else {}


def _content(content: object) -> str:
    """The text of a message, which some servers send in parts."""
    if isinstance(content, list):
        texts = (part.get("text") for part in content if isinstance(part, dict))
        return "".join(text for text in texts if isinstance(text, str))
    return content if isinstance(content, str) else ""


def _usage(given: object, messages: Sequence[Message], text: str) -> Usage:
    """The tokens that the server counted, or an estimate."""
    counts = given if isinstance(given, dict) else {}
    prompt, completion = counts.get("prompt_tokens"), counts.get("completion_tokens")
    return Usage(
        calls=1,
        prompt_tokens=prompt if isinstance(prompt, int) else sum(count_tokens(message.content) for message in messages),
        completion_tokens=completion if isinstance(completion, int) else count_tokens(text),
    )
