"""A language model behind any OpenAI-compatible server (OpenAI, vLLM, llama.cpp, Ollama, LM Studio, …).

``POST {url}/chat/completions``, https://platform.openai.com/docs/api-reference/chat. JSON is asked for by
``response_format``; from a server that rejects or ignores it, in words. What a server does not know
(``response_format``, ``temperature``, ``max_tokens`` by its old name) is remembered for the life of the object.

The client of package ``openai`` does the HTTP. It is imported when the first request is made (0.3 s), and its own
retries are off, because how often and how long to wait is decided here, in one place, for chat and embeddings. A server
that is asked too often (429, or 503 with Retry-After: https://www.rfc-editor.org/rfc/rfc9110#field.retry-after) is left
alone by all threads for as long as it says, and from then on half as many ask at a time, one more after each round of
answers. Source: Chiu and Jain, Analysis of the increase and decrease algorithms for congestion avoidance in computer
networks, 1989, additive increase and multiplicative decrease.
"""

from __future__ import annotations

import copy
import hashlib
import itertools
import json
import math
import random
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Final, Protocol, runtime_checkable
from urllib.parse import urlsplit

from kgplatform.errors import ModelReplyError, ModelUnavailableError
from kgplatform.models.json_replies import instructed, is_closed, json_of, mismatch, without_thinking
from kgplatform.settings import ModelSettings, model_key
from kgplatform.text import count_tokens
from kgplatform.types import ChatModel, Completion, Message, Usage

if TYPE_CHECKING:
    from openai import APIConnectionError, APIStatusError, OpenAI


@runtime_checkable
class Parameterised(Protocol):
    """A model that tells what else than the conversation decides over its reply."""

    @property
    def parameters(self) -> Mapping[str, object]:
        """The names and values, such as the temperature."""
        ...


def parameters_of(model: ChatModel) -> Mapping[str, object]:
    """The parameters of a model that tells them, else none."""
    return model.parameters if isinstance(model, Parameterised) else {}


def key_of(
    messages: Sequence[Message],
    schema: Mapping[str, object] | None,
    *,
    model: str = "",
    parameters: Mapping[str, object] | None = None,
) -> str:
    """The SHA-256 of a request; the order of keys in schema and parameters makes no difference."""
    request = {
        "model": model,
        "messages": [[message.role, message.content] for message in messages],
        "schema": schema,
        "parameters": parameters or {},
    }
    text = json.dumps(request, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


_NO_LIMIT: Final = 256
"""From so many on, the number is not limited."""


class Throttle:
    """The limits of one server, as far as they have shown; safe for several threads."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._under_way = 0
        self._allowed = math.inf
        self._open_at = 0.0
        self._held_at = -math.inf

    @contextmanager
    def request(self, sleep: Callable[[float], None]) -> Iterator[float]:
        """The time at which a request begins, once it may: it is under way as long as the context."""
        self._wait_open(sleep)
        with self._changed:
            while self._under_way + 1 > max(1.0, self._allowed):
                self._changed.wait()
            self._under_way += 1
        try:
            yield time.monotonic()
        finally:
            with self._changed:
                self._under_way -= 1
                self._changed.notify_all()

    def _wait_open(self, sleep: Callable[[float], None]) -> None:
        while (left := (until := self._open_at) - time.monotonic()) > 0:
            sleep(left)
            self.reopen(until)

    def answered(self) -> None:
        """Notes that the server answered: it may be asked a little more often."""
        with self._changed:
            if self._allowed < _NO_LIMIT:
                self._allowed += 1 / self._allowed
                self._changed.notify_all()
            else:
                self._allowed = math.inf

    def hold(self, began: float, seconds: float) -> float:
        """Lets nobody ask for so long, because a request that began then was one too many; until when, for `reopen`.

        What was under way by the time of an earlier one does not halve the number again.
        """
        with self._changed:
            now = time.monotonic()
            until = now + seconds
            self._open_at = max(self._open_at, until)
            if began > self._held_at:
                self._held_at = now
                self._allowed = max(1.0, (self._under_way + 1) / 2)
            return until

    def reopen(self, until: float) -> None:
        """Lets requests through again after that time has passed, unless the server asked for more since."""
        with self._changed:
            if self._open_at <= until:
                self._open_at = 0.0


_PASSING = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
_REFUSING = frozenset({400, 422, 501})
_FIRST_WAIT_SECONDS = 0.5
_LONGEST_WAIT_SECONDS = 60.0
_BROKEN_OFF = "connection broken off"
_NO_KEY = "none"  # servers without keys get a word, because the client insists on one


class RequestRefusedError(ModelUnavailableError):
    """A request that the server does not accept as it stands; ``reason`` is what the server said."""

    def __init__(self, message: str, *, model: str, reason: str) -> None:
        super().__init__(message, model=model)
        self.reason = reason


@dataclass(slots=True)
class Server:
    """A server of one model; ``post`` may be called from several threads.

    ``setting`` is the part of the settings that names it, for messages.
    """

    model: str
    url: str
    key: str | None = field(repr=False)
    timeout_seconds: float
    retries: int
    sleep: Callable[[float], None] = time.sleep
    setting: str = "model"
    _client: OpenAI | None = field(default=None, init=False, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False, repr=False)
    _answered: bool = field(default=False, init=False, repr=False)
    _throttle: Throttle = field(default_factory=Throttle, init=False, repr=False)

    @property
    def place(self) -> str:
        """The model and where it is, for messages; without a password that the URL may hold."""
        scheme, separator, rest = self.url.partition("?")[0].rpartition("://")
        address, slash, path = rest.partition("/")
        return f"model {self.model!r} at {scheme}{separator}{address.rpartition('@')[2]}{slash}{path}"

    @property
    def _has_key(self) -> bool:
        return self.key not in {None, "", _NO_KEY}

    def post(self, path: str, body: Mapping[str, object]) -> Mapping[str, object]:
        """The JSON object that the server answers with, after at most ``retries`` further tries.

        A server that never answered yet is tried only once more, so that a wrong address shows at once; so is
        one that did not answer in time.

        Raises:
            RequestRefusedError: the server does not accept this request (400, 422, 501).
            ModelUnavailableError: it cannot be reached, is overloaded, or does not accept the key.
            ModelReplyError: it answers with something that is not a JSON object.
        """
        from openai import APIConnectionError, APIStatusError

        client = self._connected()
        for attempt in itertools.count():
            cause: Exception
            try:
                with self._throttle.request(self.sleep) as began:
                    text = client.post(path, body=dict(body), cast_to=str)
            except APIStatusError as error:
                self._answered = True
                cause, (failure, allowed) = error, self._status_failure(error)
            except APIConnectionError as error:
                cause, (failure, allowed) = error, self._connection_failure(error)
            else:
                self._answered = True
                self._throttle.answered()
                return self._object(text)
            if attempt >= allowed or (failure.retry_after or 0) > _LONGEST_WAIT_SECONDS:
                raise failure from cause
            wait = _wait_seconds(attempt, failure.retry_after)
            is_limit = getattr(cause, "status_code", 0) == 429 or failure.retry_after is not None
            until = self._throttle.hold(began, wait) if is_limit else 0.0
            self.sleep(wait)
            self._throttle.reopen(until)
        raise AssertionError("count() does not end")

    def _connected(self) -> OpenAI:
        with self._lock:
            if self._client is None:
                self._client = self._new_client()
            return self._client

    def _new_client(self) -> OpenAI:
        key = self.key or _NO_KEY
        try:
            parts = urlsplit(self.url)
            usable = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
        except ValueError:
            usable = False
        if not usable or any(character.isspace() for character in self.url):
            raise self._failure("cannot be asked: the address must look like http://localhost:8000/v1")
        if not key.isascii() or not key.isprintable() or " " in key:
            raise self._failure("cannot be asked: its key holds characters that no key has; copy the key again")
        from openai import OpenAI

        client = OpenAI(api_key=key, base_url=self.url, timeout=self.timeout_seconds, max_retries=0)
        client.organization = client.project = None  # the client takes them from the environment, unasked
        return client

    def _failure(self, clause: str, retry_after: float | None = None) -> ModelUnavailableError:
        return ModelUnavailableError(f"{self.place} {clause}", model=self.model, retry_after=retry_after)

    def _status_failure(self, error: APIStatusError) -> tuple[ModelUnavailableError, int]:
        status = error.status_code
        if status in {401, 403}:  # what the server says here often repeats the key
            told = "refuses the key" if self._has_key else "wants a key"
            return self._failure(f"{told} (HTTP {status}); correct key_from of [model] in kgplatform.toml"), 0
        said = self._reason(error)
        if status in _REFUSING:
            message = f"{self.place} does not accept the request (HTTP {status}: {said})"
            return RequestRefusedError(message, model=self.model, reason=said), 0
        if status == 404:
            clause = f"is not there (HTTP 404: {said}); correct name or url of [{self.setting}] in kgplatform.toml"
            return self._failure(clause), 0
        if status == 429 and "insufficient_quota" in said:
            return self._failure(f"has no quota left (HTTP 429: {said})"), 0
        clause = "is asked too often" if status == 429 else "fails"
        retry_after = _retry_after(error.response.headers)
        allowed = self.retries if status in _PASSING else 0
        return self._failure(f"{clause} (HTTP {status}: {said}); try again later", retry_after), allowed

    def _connection_failure(self, error: APIConnectionError) -> tuple[ModelUnavailableError, int]:
        from openai import APITimeoutError

        if isinstance(error, APITimeoutError):
            clause = f"did not answer within {self.timeout_seconds:g} s; raise timeout_seconds or ask for less"
            return self._failure(clause), min(self.retries, 1)
        reason = _connection_reason(error)
        known = self._answered or reason == _BROKEN_OFF
        clause = f"does not answer ({reason}); start the server or remove [{self.setting}] from kgplatform.toml"
        return self._failure(clause), self.retries if known else min(self.retries, 1)

    def _reason(self, error: APIStatusError) -> str:
        """What the server said, on one line, without the key."""
        body = error.body
        said = body.get("message") if isinstance(body, dict) else None
        code = body.get("code") if isinstance(body, dict) else None
        text = said if isinstance(said, str) else error.response.text
        if isinstance(code, str) and code not in text:
            text = f"{code}: {text}"
        if self.key and self._has_key:
            text = text.replace(self.key, "…")
        return _line(text) or error.response.reason_phrase or "no reason given"

    def _object(self, text: str) -> Mapping[str, object]:
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            value = None
        if isinstance(value, dict):
            return value
        message = f"{self.place} answers with something that is not JSON ({_line(text, 60)!r}); is the address right?"
        raise ModelReplyError(message, model=self.model, reply=text)


def _wait_seconds(attempt: int, retry_after: float | None) -> float:
    """How long to wait: what the server asks for, else twice as long each time; a little more by chance."""
    if retry_after is not None:
        return retry_after * random.uniform(1.0, 1.1)
    doubled = min(_FIRST_WAIT_SECONDS * 2.0 ** min(attempt, 16), _LONGEST_WAIT_SECONDS)
    return doubled * random.uniform(1.0, 1.25)


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """The seconds that ``Retry-After`` asks for, given as a number or as a date."""
    value = headers.get("retry-after", "").strip()
    if not value:
        return None
    if value.replace(".", "", 1).isdecimal():
        return float(value)
    try:
        moment = parsedate_to_datetime(value)
    except ValueError:
        return None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return max(0.0, (moment - datetime.now(UTC)).total_seconds())


def _connection_reason(error: BaseException) -> str:
    """Why there is no connection, in words, from the chain of causes."""
    cause: BaseException | None = error
    seen: list[str] = []
    while cause is not None:
        if isinstance(cause, ConnectionRefusedError):
            return "connection refused"
        if isinstance(cause, socket.gaierror):
            return "no such host"
        seen.append(type(cause).__name__)
        innermost, cause = cause, cause.__cause__ or cause.__context__
    if {"RemoteProtocolError", "ReadError", "WriteError"} & set(seen):
        return _BROKEN_OFF
    return _line(str(innermost)) or seen[-1]


def _line(text: str, most: int = 200) -> str:
    line = " ".join(text.split())
    return line if len(line) <= most else line[: most - 1] + "…"


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

    @classmethod
    def configured(cls, settings: ModelSettings, name: str = "") -> OpenAIModel:
        """The model of the settings, or another one of the same server."""
        return cls(
            name or settings.name,
            url=settings.url,
            key=model_key(settings),
            timeout_seconds=settings.timeout_seconds,
            retries=settings.retries,
            temperature=settings.temperature,
        )

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
        return json.dumps(value, ensure_ascii=False).encode(errors="replace").decode()  # halves of a pair

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
        text = without_thinking(_content(message.get("content"))).encode(errors="replace").decode()
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
