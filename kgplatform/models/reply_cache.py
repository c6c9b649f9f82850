"""Replies of a model kept in a file, so that the same request is paid for once."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from kgplatform.errors import ModelError, StoreError
from kgplatform.models.chat import key_of, parameters_of
from kgplatform.types import ChatModel, Completion, Message, SamplingModel, Usage

_TABLE = """
CREATE TABLE IF NOT EXISTS completion (
    key TEXT PRIMARY KEY,
    model TEXT NOT NULL,
    text TEXT NOT NULL,
    prompt_tokens INTEGER NOT NULL,
    completion_tokens INTEGER NOT NULL,
    created REAL NOT NULL,
    scope TEXT NOT NULL
) WITHOUT ROWID
"""
_BY_SCOPE = "CREATE INDEX IF NOT EXISTS completion_scope ON completion (scope)"
_BUSY_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class KeptReply:
    """A reply under the key of its request, and the tokens that it took."""

    key: str
    text: str
    prompt_tokens: int
    completion_tokens: int


class ModelTally:
    """What was asked of a model and of the cache of its replies since it was opened; safe for several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.hits = self.misses = self.failures = 0
        self.usage = Usage()
        self.heard: Callable[[Usage, bool], None] = lambda _usage, _failed: None
        """What is told of each call to the model that ended: what it took, and whether it failed."""

    def count(self, usage: Usage | None = None, *, hits: int = 0, failures: int = 0) -> None:
        """Counts a reply: one that the model made, with what it took; one from the cache; or one that failed."""
        with self._lock:
            self.hits += hits
            self.misses += 1 - hits
            self.failures += failures
            self.usage += usage or Usage()
        if not hits:
            self.heard(usage or Usage(), failures > 0)


class CachedModel:
    """A model with its replies kept in an SQLite file, which several threads and processes may share.

    The key is a hash over model name, messages, schema and parameters. A reply from the cache has a usage of 0
    calls, and the tokens that it took when it was made. Failures are not kept. When two ask the same at the same
    time, both get the reply that was stored first.
    """

    def __init__(self, model: ChatModel, path: Path | str, *, scope: str = "", tally: ModelTally | None = None) -> None:
        """``scope`` names what the replies are about, such as a document, so that `forget` can take them out again.

        ``tally`` is counted on; none given: one of its own.
        """
        self.tally = tally or ModelTally()
        self.model = model
        self.scope = scope
        self.name = model.name
        self.path = Path(path)
        self._ready = False

    @property
    def parameters(self) -> Mapping[str, object]:
        """Those of the model inside."""
        return parameters_of(self.model)

    def complete(self, messages: Sequence[Message], *, schema: Mapping[str, object] | None = None) -> Completion:
        """The kept reply, else the model's own, which is then kept.

        Raises:
            StoreError: the cache cannot be read or written.
            ModelError: as the model inside.
        """
        started = time.perf_counter()
        key = key_of(messages, schema, model=self.name, parameters=self.parameters)
        if (kept := self._find(key)) is not None:
            self.tally.count(hits=1)
            usage = Usage(0, kept.usage.prompt_tokens, kept.usage.completion_tokens, time.perf_counter() - started)
            return Completion(kept.text, usage)
        made = self.ask(messages, schema=schema)
        return Completion(self._keep(key, made), made.usage)

    def ask(self, messages: Sequence[Message], *, schema: Mapping[str, object] | None = None) -> Completion:
        """The model's own reply, which is not kept: parts of it may be taken; raises ModelError as the model."""
        started = time.perf_counter()
        try:
            made = self.model.complete(messages, schema=schema)
        except ModelError:
            self.tally.count(Usage(seconds=time.perf_counter() - started), failures=1)
            raise
        self.tally.count(made.usage)
        return made

    def take(self, messages: Sequence[Message], made: Completion, *, schema: Mapping[str, object] | None) -> None:
        """Keeps what is the reply to a request, though it came with that to another; raises StoreError."""
        self._keep(key_of(messages, schema, model=self.name, parameters=self.parameters), made)

    def kept_replies(self) -> dict[str, KeptReply]:
        """The replies of this scope by their keys, for who asks elsewhere; raises StoreError as `complete`."""
        with self._connection() as connection:
            found = connection.execute(
                "SELECT key, text, prompt_tokens, completion_tokens FROM completion WHERE scope = ?", (self.scope,)
            )
            return {row[0]: KeptReply(*row) for row in found}

    def keep(self, replies: Iterable[KeptReply]) -> None:
        """Keeps replies that were made elsewhere; raises StoreError as `complete`."""
        for reply in replies:
            usage = Usage(1, reply.prompt_tokens, reply.completion_tokens)
            self.tally.count(usage)
            self._keep(reply.key, Completion(reply.text, usage))

    def about(self, scope: str) -> CachedModel:
        """The same model and cache, for replies about something else."""
        return CachedModel(self.model, self.path, scope=scope, tally=self.tally)

    def sample(self, number: int) -> ChatModel:
        """The same for one of several independent replies, each kept; this one where the model draws no others."""
        inside = self.model
        return (
            CachedModel(inside.sample(number), self.path, scope=self.scope, tally=self.tally)
            if isinstance(inside, SamplingModel)
            else self
        )

    def _find(self, key: str) -> Completion | None:
        with self._connection() as connection:
            row = connection.execute(
                "SELECT text, prompt_tokens, completion_tokens FROM completion WHERE key = ?", (key,)
            ).fetchone()
        return None if row is None else Completion(row[0], Usage(0, row[1], row[2]))

    def _keep(self, key: str, made: Completion) -> str:
        """The text that is now kept under the key: this one, unless another was faster."""
        usage = made.usage
        row = (key, self.name, made.text, usage.prompt_tokens, usage.completion_tokens, time.time(), self.scope)
        with self._connection() as connection:
            with connection:
                connection.execute("INSERT OR IGNORE INTO completion VALUES (?, ?, ?, ?, ?, ?, ?)", row)
            text = connection.execute("SELECT text FROM completion WHERE key = ?", (key,)).fetchone()[0]
        return str(text)

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        """A connection of its own for each use: none is shared by threads or carried over a fork."""
        try:
            if not self._ready:
                self.path.parent.mkdir(parents=True, exist_ok=True)
            with closing(sqlite3.connect(self.path, timeout=_BUSY_SECONDS)) as connection:
                if not self._ready:
                    _prepare(connection)
                    self._ready = True
                connection.execute("PRAGMA synchronous = NORMAL")
                yield connection
        except (sqlite3.Error, OSError) as error:
            message = f"{self.path}: the cache of model replies cannot be used ({error}); move the file away"
            raise StoreError(message) from error


def forget(path: Path, scope: str) -> None:
    """Takes the replies of that scope out of a cache file, if there is one.

    Raises:
        StoreError: the cache cannot be written.
    """
    if not path.exists():
        return
    try:
        with closing(sqlite3.connect(path, timeout=_BUSY_SECONDS)) as connection, connection:
            connection.execute("DELETE FROM completion WHERE scope = ?", (scope,))
    except sqlite3.Error as error:
        raise StoreError(
            f"{path}: the cache of model replies cannot be written ({error}); move the file away"
        ) from error


def _prepare(connection: sqlite3.Connection, sleep: Callable[[float], None] = time.sleep) -> None:
    # Switching to WAL does not wait for a lock as other statements do, so two processes that create the
    # file at once can meet here: https://www.sqlite.org/pragma.html#pragma_journal_mode.
    give_up = time.monotonic() + _BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            with connection:
                connection.execute(_TABLE)
                connection.execute(_BY_SCOPE)
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > give_up:
                raise
            sleep(0.02)
        else:
            return
