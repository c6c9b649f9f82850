"""The steps of answering a question, told while they are taken to whoever waits for the answer; and the way to end it.

Whoever waits follows the question in the thread that answers it: ``with Followed(hear).following(): kg.ask(…)``. What
answers says `tell` at each step, and `go_on` before work that takes a while; neither does anything where nobody
follows.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from enum import StrEnum


class Stage(StrEnum):
    """What is being done, in the order in which an answer usually comes about."""

    READING = "reading"
    LINKED = "linked"
    MODEL = "model"
    CANDIDATES = "candidates"
    QUERY = "query"
    ROWS = "rows"
    SOURCES = "sources"
    SOURCE = "source"
    WORDING = "wording"


@dataclass(frozen=True, slots=True)
class Step:
    """A step: what it is about in words or as a query, and its number (of readings, of rows), where it has these."""

    stage: Stage
    detail: str = ""
    number: int | None = None


class GivenUpError(Exception):
    """Nobody waits for the answer any more. Not a `KgPlatformError`: whatever mends those must let it through."""


class Followed:
    """A question that somebody follows; ``name`` is what its queries go by among those that run."""

    def __init__(self, hear: Callable[[Step], object], *, name: str = "") -> None:
        self.name = name
        self._hear = hear
        self._is_given_up = threading.Event()

    def give_up(self) -> None:
        """Ends the answering at its next step; from any thread."""
        self._is_given_up.set()

    def tell(self, step: Step | None) -> None:
        """Passes a step on; raises GivenUpError where nobody waits any more."""
        if self._is_given_up.is_set():
            raise GivenUpError
        if step is not None:
            self._hear(step)

    @contextmanager
    def following(self) -> Iterator[None]:
        """Follows what this thread answers meanwhile."""
        token = _followed.set(self)
        try:
            yield
        finally:
            _followed.reset(token)


_followed: ContextVar[Followed | None] = ContextVar("followed", default=None)


def tell(stage: Stage, detail: str = "", *, number: int | None = None) -> None:
    """Tells of a step, if somebody follows; raises GivenUpError where they have left."""
    followed = _followed.get()
    if followed is not None:
        followed.tell(Step(stage, detail, number))


def go_on() -> str:
    """The name for the queries of this question, empty where it has none; raises GivenUpError as `tell` does."""
    followed = _followed.get()
    if followed is None:
        return ""
    followed.tell(None)
    return followed.name
