"""One process holds a workspace; others' commands are carried out in it. What they open is then what it holds.

The command line puts the two together: whoever holds a workspace for long lends it to the commands it is sent, and a
command that is carried out in another process gets the workspace that is lent, in place of opening it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

Hosting: TypeAlias = Callable[[Any], Callable[[], None]]
"""What is to happen once a workspace is held; it gives back what is to happen before that ends."""


@dataclass(frozen=True, slots=True)
class Loan:
    """A workspace as lent to one command, and the name under which the command runs queries."""

    workspace: Any
    client: str


_LOAN: ContextVar[Loan | None] = ContextVar("loan", default=None)
_HOSTING: ContextVar[Hosting | None] = ContextVar("hosting", default=None)


@contextmanager
def lending(workspace: object, client: str) -> Iterator[None]:
    """Lends the workspace to what this thread does in the block."""
    token = _LOAN.set(Loan(workspace, client))
    try:
        yield
    finally:
        _LOAN.reset(token)


@contextmanager
def hosting(action: Hosting) -> Iterator[None]:
    """Has workspaces that are opened in the block lent to others."""
    token = _HOSTING.set(action)
    try:
        yield
    finally:
        _HOSTING.reset(token)


def loan(workspace: object) -> Loan | None:
    """The loan under which the workspace is used here; None: it is not lent."""
    found = _LOAN.get()
    return found if found is not None and found.workspace is workspace else None


def lent(folder: Path) -> Any:
    """The workspace of that folder, if it is lent to what this thread does; else None."""
    found = _LOAN.get()
    if found is None or Path(found.workspace.folder).resolve() != folder.resolve():
        return None
    return found.workspace


def host(workspace: object) -> Callable[[], None]:
    """Does what is to happen with a workspace that was opened; what to do before it is closed."""
    action = _HOSTING.get()
    return action(workspace) if action is not None else lambda: None
