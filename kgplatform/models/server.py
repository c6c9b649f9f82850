"""The connection to an OpenAI-compatible server: what is retried, how long to wait, and which error results.

The client of package ``openai`` does the HTTP. It is imported when the first request is made (0.3 s), and its
own retries are off, because how often and how long to wait is decided here, in one place, for chat and
embeddings; what a server says of its limits counts for all threads (`kgplatform.models.throttle`). Retry-After:
https://www.rfc-editor.org/rfc/rfc9110#field.retry-after.
"""

from __future__ import annotations

import itertools
import json
import random
import socket
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from kgplatform.errors import ModelReplyError, ModelUnavailableError
from kgplatform.models.throttle import Throttle

if TYPE_CHECKING:
    from openai import APIConnectionError, APIStatusError, OpenAI

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
