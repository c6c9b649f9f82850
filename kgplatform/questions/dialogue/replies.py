"""The turns of a conversation as kept in the workspace, and replies: things in words, or a question back."""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime, time, timedelta
from pathlib import Path
from typing import Final

from pyoxigraph import NamedNode

from kgplatform.errors import ConfigError, ReadError
from kgplatform.questions.dialogue.request import ParsedQuestion, moment_text, phrase
from kgplatform.questions.dialogue.scheme import (
    BoundScheme,
    Lookup,
    LookupRequest,
    Now,
    TimedThing,
    as_moment,
    look_up,
    values,
)
from kgplatform.types import RunQuery, Solutions, Term

# The turns of a conversation, kept in the workspace: one small file each, replaced whole.

FOLDER: Final = "conversations"
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}")
_KEPT: Final = 20
_CONVERSATIONS: Final = 1_000


@dataclass(frozen=True, slots=True)
class ReplyOption:
    """Something that a question back offered: as shown, what stands for it in a question, its IRI or form if known."""

    shown: str
    text: str = ""
    thing: str = ""
    form: str = ""


@dataclass(frozen=True, slots=True)
class Turn:
    """One question and what came back.

    ``said`` is what was typed, ``question`` the same standing alone. ``blank`` is the question with ``{}`` for what
    the options may fill in; ``query`` the query that ran, ``asked`` the properties that it asked for, ``form`` its
    logical form as JSON, if it came from editing one.
    """

    said: str
    question: str
    answer: str
    label: str = ""
    way: str = ""
    asks: str = ""
    options: tuple[ReplyOption, ...] = ()
    blank: str = ""
    query: str = ""
    values: tuple[str, ...] = ()
    asked: tuple[str, ...] = ()
    form: str = ""


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
        part = self._path.with_suffix(f".{secrets.token_hex(4)}.part")  # several may ask the same at once
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
        with suppress(FileNotFoundError):  # another does so at the same time
            kept = sorted(self._path.parent.glob("*.json"), key=lambda path: path.stat().st_mtime)
            for path in kept[:-_CONVERSATIONS]:
                path.unlink(missing_ok=True)


def _turn(item: dict[str, object]) -> Turn:
    """A turn from its JSON object; raises for what is none."""
    options = [option for option in _list(item, "options") if isinstance(option, dict)]
    texts = {
        name: str(item.get(name, "")) for name in ("said", "answer", "label", "way", "asks", "blank", "query", "form")
    }
    return Turn(
        **texts,
        question=str(item["question"]),
        options=tuple(
            ReplyOption(str(o["shown"]), str(o["text"]), str(o["thing"]), str(o.get("form", ""))) for o in options
        ),
        values=tuple(str(value) for value in _list(item, "values")),
        asked=tuple(str(value) for value in _list(item, "asked")),
    )


def _list(item: dict[str, object], name: str) -> list[object]:
    found = item.get(name) or []
    if not isinstance(found, list):
        raise ValueError(f"{name} is not a list")
    return found


# What a way comes to: the things found, in words, or a question back with what may be chosen or added.

SHOWN = 12
OPTIONS = 8


@dataclass(frozen=True, slots=True)
class ReplyChoice:
    """One thing that may be meant: how it is shown, what stands for it in a question, and the thing if it is known."""

    shown: str
    text: str
    thing: NamedNode | None = None


@dataclass(frozen=True, slots=True)
class DialogueReply:
    """What a way comes to: the text, the things or values that answer, what to choose from where it asks back."""

    text: str
    values: tuple[str, ...] = ()
    query: str = ""
    solutions: Solutions = field(default_factory=Solutions)
    asks: str = ""
    choices: tuple[ReplyChoice, ...] = ()
    reread: str = ""
    notes: tuple[str, ...] = ()
    found: bool = True


@dataclass(frozen=True)
class ReplyWording:
    """A parsed question with all that putting its answer into words takes."""

    parsed: ParsedQuestion
    frame: BoundScheme
    now: Now
    run: RunQuery

    def details(self) -> tuple[str, ...]:
        """What an asker may add, those left out that the question has."""
        language = self.parsed.language
        had = {p for item in self.parsed.constraints for p, _ in item.pairs}
        missing = [p for p in self.frame.scheme.details if p not in had]
        return tuple(self.frame.names.schema.label(p, language) for p in missing)

    def label(self, term: Term) -> str:
        """What a term is called."""
        return self.frame.names.label(term, self.parsed.language)

    def described(self, found: TimedThing, shown: Sequence[NamedNode] = ()) -> str:
        """A thing in a line: its code, its moment, and where it is or goes."""
        scheme, language = self.frame.scheme, self.parsed.language
        code = next((self.label(v) for v in values(found.thing, scheme.code, self.run)), self.label(found.thing))
        at = as_moment(found.moment)
        day = at is not None and at.date() != self.now.moment.date()
        parts = [code, moment_text(at, language, day=day) if at else ""]
        for predicate in dict.fromkeys((*shown, *scheme.shown_places)):
            for value in values(found.thing, predicate, self.run)[:1]:
                parts.append(f"{self.frame.names.schema.label(predicate, language)} {self.label(value)}")
        return " ".join(part for part in parts if part)

    def _now_said(self) -> str:
        return phrase(self.now.source, self.parsed.language, now=moment_text(self.now.moment, self.parsed.language))

    def line(self, found: Sequence[TimedThing], shown: Sequence[NamedNode] = ()) -> str:
        """Things in one line."""
        return ("；" if self.parsed.language == "zh" else "; ").join(self.described(item, shown) for item in found)

    def said(self, lookup: Lookup, shown: Sequence[NamedNode] = ()) -> DialogueReply:
        """The things found, as the answer."""
        ends = "。" if self.parsed.language == "zh" else "."
        text = f"{self.line(lookup.found, shown)}{ends} {self._now_said()}"
        return self._reply(text, lookup)

    def _reply(self, text: str, lookup: Lookup) -> DialogueReply:
        things = {item.thing for item in lookup.found}
        rows = tuple(row for row in lookup.solutions.rows if row[0] in things)
        labels = tuple(self.label(item.thing) for item in lookup.found)
        return DialogueReply(text, values=labels, query=lookup.query, solutions=replace(lookup.solutions, rows=rows))

    def listed(self, lookup: Lookup, low: datetime, high: datetime) -> DialogueReply:
        """All of a few; of many the first, and a question back."""
        if len(lookup.found) <= SHOWN:
            return self.said(lookup)
        language = self.parsed.language
        first = lookup.found[:OPTIONS]
        text = phrase(
            "many", language, count=len(lookup.found), low=moment_text(low, language),
            high=moment_text(high, language), shown=self.line(first[:3]),
        )  # fmt: skip
        asking = self.which(replace(lookup, found=first))
        return replace(asking, text=f"{text} {asking.asks} {self._now_said()}")

    def which(self, lookup: Lookup, shown: Sequence[NamedNode] = ()) -> DialogueReply:
        """A question back, with the things to choose from and what may be added."""
        language = self.parsed.language
        asks = phrase("more", language, details=("、" if language == "zh" else ", ").join(self.details()))
        choices = tuple(
            ReplyChoice(self.described(item, shown), self.label(item.thing), item.thing)
            for item in lookup.found[:OPTIONS]
        )
        reply = self._reply(f"{self.line(lookup.found[:OPTIONS], shown)}. {asks} {self._now_said()}", lookup)
        return replace(reply, asks=asks, choices=choices)

    def counted(self, lookup: Lookup, low: datetime, high: datetime) -> DialogueReply:
        """How many there are."""
        language = self.parsed.language
        low_, high_ = moment_text(low, language), moment_text(high, language)
        text = phrase("count", language, count=len(lookup.found), low=low_, high=high_)
        said = replace(self._reply(text, lookup), values=(str(len(lookup.found)),))
        return replace(said, text=f"{text} {self._now_said()}")

    def none(self, wanted: LookupRequest, lookup: Lookup) -> DialogueReply:
        """That nothing lies in the window, with what lies nearest to it."""
        language = self.parsed.language
        low = wanted.low or self.now.moment
        high = wanted.high or datetime.combine(low.date(), time(23, 59))
        text = phrase("none", language, low=moment_text(low, language), high=moment_text(high, language))
        before = look_up(replace(wanted, low=low - timedelta(hours=6), high=low), self.frame, self.run).found[-1:]
        after = look_up(replace(wanted, low=high, high=high + timedelta(hours=6)), self.frame, self.run).found[:1]
        if near := [*before, *after]:
            text = f"{text} {phrase('nearest', language, shown=self.line(near))}"
        return DialogueReply(f"{text} {self._now_said()}", query=lookup.query, found=False)

    def empty(self, lookup: Lookup, near: Sequence[TimedThing] = ()) -> DialogueReply:
        """That nothing fits, with what comes nearest."""
        language = self.parsed.language
        nearest = f"{phrase('nearest', language, shown=self.line(near))} " if near else ""
        text = f"{phrase('nothing', language)} {nearest}{self._now_said()}"
        return DialogueReply(text, query=lookup.query, found=False)
