"""Parts that answer without a model or a network, for tests: of the platform, and of what is built on it."""

from __future__ import annotations

import hashlib
import json
import threading
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from kgplatform.errors import ModelError, ModelReplyError, ModelUnavailableError
from kgplatform.text import count_tokens, has_han, normalise, words
from kgplatform.types import Completion, Message, Usage


class ScriptedModel:
    """A chat model that gives the replies a test enqueues, in order, and keeps what it was sent.

    When the queue is empty, ``otherwise`` is asked for a reply, if there is one: for tests in which threads make
    the order uncertain.

    >>> model = ScriptedModel("乌镇")
    >>> model.complete([Message("user", "Where?")]).text, model.conversations[0][-1].content
    ('乌镇', 'Where?')
    """

    name = "scripted"

    def __init__(
        self, *replies: str | ModelError, otherwise: Callable[[Sequence[Message]], str | ModelError] | None = None
    ) -> None:
        self.conversations: list[tuple[Message, ...]] = []
        self.schemas: list[Mapping[str, object] | None] = []
        self._replies = deque(replies)
        self._otherwise = otherwise
        self._lock = threading.Lock()

    def enqueue(self, *replies: str | ModelError) -> None:
        """Adds replies to the end of the queue; an error is raised in its turn."""
        self._replies.extend(replies)

    def complete(self, messages: Sequence[Message], *, schema: Mapping[str, object] | None = None) -> Completion:
        """The next reply.

        Raises:
            ModelUnavailableError: no reply is left.
            ModelReplyError: the reply is empty, or not JSON although a schema was given.
        """
        with self._lock:
            self.conversations.append(tuple(messages))
            self.schemas.append(schema)
            reply = self._replies.popleft() if self._replies else None
        if reply is None:
            reply = self._made_up(messages)
        if isinstance(reply, ModelError):
            raise reply
        if not reply.strip() or (schema is not None and not _is_json(reply)):
            message = f"model {self.name!r} replied {reply[:80]!r}, which is not what was asked for"
            raise ModelReplyError(message, model=self.name, reply=reply)
        prompt_tokens = sum(count_tokens(message.content) for message in messages)
        return Completion(reply, Usage(1, prompt_tokens, count_tokens(reply)))

    def _made_up(self, messages: Sequence[Message]) -> str | ModelError:
        if self._otherwise is not None:
            return self._otherwise(messages)
        asked = messages[-1].content.strip().partition("\n")[0] if messages else ""
        message = f"model {self.name!r} has no reply left for {asked[:120]!r}"
        return ModelUnavailableError(message, model=self.name)


class HashEmbedder:
    """An embedder that counts character n-grams: texts that share spellings are near, meaning plays no part.

    The same vectors on every machine. Words give their trigrams, with marks at both ends; Han characters
    themselves and in pairs.
    """

    languages: frozenset[str] = frozenset()

    def __init__(self, dimensions: int = 64) -> None:
        self._dimensions = dimensions
        self.name = f"hash-{dimensions}"

    @property
    def dimensions(self) -> int:
        """How many numbers a vector has."""
        return self._dimensions

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """The vectors of the texts, one row each, of unit length; one without a letter lies on the first axis."""
        vectors = np.zeros((len(texts), self._dimensions), dtype=np.float32)
        for row, text in enumerate(texts):
            for gram, count in Counter(_grams(text)).items():
                place, sign = self._place(gram)
                vectors[row, place] += sign * count
            if not vectors[row].any():
                vectors[row, 0] = 1.0
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True) if len(texts) else vectors

    def _place(self, gram: str) -> tuple[int, int]:
        """The axis and the sign of an n-gram; signs let collisions cancel out instead of adding up."""
        number = _number_of(gram)
        return (number >> 1) % self._dimensions, 1 if number & 1 else -1


@lru_cache(maxsize=1 << 16)
def _number_of(gram: str) -> int:
    return int.from_bytes(hashlib.blake2b(gram.encode("utf-8", "surrogatepass"), digest_size=8).digest())


def _grams(text: str) -> Iterator[str]:
    tokens = words(normalise(text))
    for token in tokens:
        if has_han(token):
            yield token
        else:
            marked = f" {token} "
            yield from (marked[start : start + 3] for start in range(len(marked) - 2))
    yield from (first + second for first, second in pairwise(tokens) if has_han(first) and has_han(second))


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True
