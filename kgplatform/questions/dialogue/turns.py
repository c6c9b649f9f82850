"""The turns of a conversation, kept in the workspace: one small file each, replaced whole."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from kgplatform.errors import ConfigError, ReadError

FOLDER: Final = "conversations"
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}")
_KEPT: Final = 20
_CONVERSATIONS: Final = 1_000


@dataclass(frozen=True, slots=True)
class Option:
    """Something that a question back offered: as shown, what stands for it in a question, and its IRI if known."""

    shown: str
    text: str = ""
    thing: str = ""


@dataclass(frozen=True, slots=True)
class Turn:
    """One question and what came back.

    ``said`` is what was typed, ``question`` the same standing alone. ``blank`` is the question with ``{}`` for what
    the options may fill in; ``query`` the query that ran, ``asked`` the properties that it asked for.
    """

    said: str
    question: str
    answer: str
    label: str = ""
    way: str = ""
    asks: str = ""
    options: tuple[Option, ...] = ()
    blank: str = ""
    query: str = ""
    values: tuple[str, ...] = ()
    asked: tuple[str, ...] = ()


def checked_name(name: str) -> str:
    """The name of a conversation as given, if it is one.

    Raises:
        ConfigError: it is empty, longer than 64, or has other characters than letters, digits, ``_``, ``.`` and ``-``.
    """
    if not _NAME.fullmatch(name):
        raise ConfigError(
            f"conversation {name[:40]!r} is no name: write 1 to 64 letters, digits, _, . or -, no . or - first",
            setting="conversation",
        )
    return name


class Conversation:
    """The turns under one name, oldest first."""

    def __init__(self, folder: Path, name: str) -> None:
        """Raises ConfigError if the name is none."""
        self.name = checked_name(name)
        self._path = folder / FOLDER / f"{self.name}.json"

    def turns(self) -> tuple[Turn, ...]:
        """The turns so far; none where the conversation is new.

        Raises:
            ReadError: the file is there but is no conversation.
        """
        try:
            listed = json.loads(self._path.read_text(encoding="utf-8"))
            return tuple(_turn(item) for item in listed)
        except FileNotFoundError:
            return ()
        except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
            raise ReadError(f"is no conversation ({error}); remove it to begin anew", path=self._path) from error

    def keep(self, turns: Sequence[Turn]) -> None:
        """Writes the turns, the last twenty of them.

        Raises:
            ReadError: the file cannot be written.
        """
        part = self._path.with_suffix(".part")
        try:
            self._path.parent.mkdir(exist_ok=True)
            part.write_text(
                json.dumps([asdict(t) for t in turns[-_KEPT:]], ensure_ascii=False), encoding="utf-8", errors="replace"
            )
            part.replace(self._path)
            self._forget()
        except OSError as error:
            raise ReadError(f"cannot be written: {error.strerror or error}", path=self._path) from error

    def _forget(self) -> None:
        """Removes the conversations that have rested longest, where there are very many."""
        kept = sorted(self._path.parent.glob("*.json"), key=lambda path: path.stat().st_mtime)
        for path in kept[:-_CONVERSATIONS]:
            path.unlink(missing_ok=True)


def _turn(item: dict[str, object]) -> Turn:
    """A turn from its JSON object; raises for what is none."""
    options = [option for option in _list(item, "options") if isinstance(option, dict)]
    texts = {name: str(item.get(name, "")) for name in ("said", "answer", "label", "way", "asks", "blank", "query")}
    return Turn(
        **texts,
        question=str(item["question"]),
        options=tuple(Option(str(o["shown"]), str(o["text"]), str(o["thing"])) for o in options),
        values=tuple(str(value) for value in _list(item, "values")),
        asked=tuple(str(value) for value in _list(item, "asked")),
    )


def _list(item: dict[str, object], name: str) -> list[object]:
    found = item.get(name) or []
    if not isinstance(found, list):
        raise ValueError(f"{name} is not a list")
    return found
