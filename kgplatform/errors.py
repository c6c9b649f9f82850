"""Every error that kgplatform raises on purpose.

    KgPlatformError
    ├── ConfigError              .setting            unknown or mistyped; the message offers the nearest name
    ├── WorkspaceError           .path               missing, of another version
    │   └── WorkspaceHeldError                       open in another process
    ├── ReadError                .path               a file that is not a readable document
    ├── OntologyError            .source
    ├── RefusedError             .findings           a document that violates shapes, where the policy is to refuse
    ├── ModelError               .model
    │   ├── ModelUnavailableError  .retry_after      network, key, rate limit
    │   └── ModelReplyError        .reply            a reply that does not parse
    ├── QueryError               .query
    │   ├── QuerySyntaxError       .line .column .reason
    │   ├── QueryRejectedError     .issues           an update or SERVICE on a read-only path, nesting, length …
    │   └── QueryTimeoutError      .seconds
    ├── StoreError
    │   └── AwayError                           the journal cannot be reached, or another server leads
    ├── ClusterError                            a scheduler, a worker or another server that cannot be used
    └── NotFoundError            .name

Foreign exceptions are translated once, where they come in, with ``raise … from``.
The message of each is one line that names the place and the way out.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any


class KgPlatformError(Exception):
    """The base of all errors a caller may want to catch; all of them can be sent to another process."""

    def __reduce__(self) -> tuple[Any, ...]:  # the usual way calls the constructor with the message alone
        return _sent, (type(self), self.args, self.__dict__)


def _sent(kind: type[KgPlatformError], args: tuple[object, ...], state: dict[str, object]) -> KgPlatformError:
    made = kind.__new__(kind)
    made.args = args
    made.__dict__.update(state)
    return made


class ConfigError(KgPlatformError):
    """A setting that does not exist or has a value of the wrong type."""

    def __init__(self, message: str, *, setting: str = "") -> None:
        super().__init__(message)
        self.setting = setting


class WorkspaceError(KgPlatformError):
    """A workspace folder that cannot be opened or created."""

    def __init__(self, message: str, *, path: Path) -> None:
        super().__init__(message)
        self.path = path


class WorkspaceHeldError(WorkspaceError):
    """Another process has the workspace open."""


class ReadError(KgPlatformError):
    """A file that is not a readable document."""

    def __init__(self, message: str, *, path: Path, place: str = "") -> None:
        super().__init__(f"{place or path}: {message}")
        self.path = path
        self.reason = message


class OntologyError(KgPlatformError):
    """An ontology that cannot be read or used."""

    def __init__(self, message: str, *, source: str) -> None:
        super().__init__(f"{source}: {message}")
        self.source = source


class RefusedError(KgPlatformError):
    """A document that violates shapes, where the policy is to refuse such; ``findings`` say what they are."""

    def __init__(self, message: str, *, findings: tuple[object, ...] = ()) -> None:
        super().__init__(message)
        self.findings = findings


class ModelError(KgPlatformError):
    """A language model that did not do what was asked."""

    def __init__(self, message: str, *, model: str) -> None:
        super().__init__(message)
        self.model = model


class ModelUnavailableError(ModelError):
    """A model that cannot be reached: network, key or rate limit; ``retry_after`` in seconds where known."""

    def __init__(self, message: str, *, model: str, retry_after: float | None = None) -> None:
        super().__init__(message, model=model)
        self.retry_after = retry_after


class ModelReplyError(ModelError):
    """A reply that is not what the prompt asked for; ``reply`` is its text."""

    def __init__(self, message: str, *, model: str, reply: str) -> None:
        super().__init__(message, model=model)
        self.reply = reply


class QueryError(KgPlatformError):
    """A SPARQL query or update that was not carried out."""

    def __init__(self, message: str, *, query: str) -> None:
        super().__init__(message)
        self.query = query


class QuerySyntaxError(QueryError):
    """SPARQL text that does not parse; ``line`` and ``column`` count from 1 (0: not known)."""

    def __init__(self, reason: str, *, query: str, line: int = 0, column: int = 0) -> None:
        place = f"line {line}, column {column}: " if line else ""
        super().__init__(f"{place}{reason}", query=query)
        self.reason = reason
        self.line = line
        self.column = column


class QueryRejectedError(QueryError):
    """SPARQL text that is not run for a reason of safety; ``issues`` are sentences."""

    def __init__(self, issues: tuple[str, ...], *, query: str) -> None:
        super().__init__("; ".join(issues), query=query)
        self.issues = issues


class QueryTimeoutError(QueryError):
    """A query that was stopped after ``seconds``."""

    def __init__(self, *, query: str, seconds: float) -> None:
        super().__init__(f"stopped after {seconds:g} s; make a pattern more selective or add a LIMIT", query=query)
        self.seconds = seconds


class QueryCancelledError(QueryError):
    """A query that somebody ended while it ran, or whose client left."""

    def __init__(self, *, query: str) -> None:
        super().__init__("the query was cancelled; whoever watches over the server may say why", query=query)


class StoreError(KgPlatformError):
    """The dataset could not be read or written."""


class AwayError(StoreError):
    """The journal, or who leads, cannot be used at the moment: nothing was changed, and the next time may do."""


class ClusterError(KgPlatformError):
    """A scheduler, a worker or another server that cannot be reached or used."""


class NotFoundError(KgPlatformError):
    """Nothing by that name or IRI."""

    def __init__(self, message: str, *, name: str) -> None:
        super().__init__(message)
        self.name = name
