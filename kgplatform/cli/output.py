"""What the command line prints: tables, JSON, terms, progress; and how the first Ctrl-C ends work in good order."""

from __future__ import annotations

import json
import signal
import sys
import threading
import time
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING

from pyoxigraph import Literal, NamedNode

from kgplatform.lexicon.amounts import plural as plural_of
from kgplatform.server.interfaces.json_records import fields as fields
from kgplatform.server.interfaces.json_records import term_json as term_json
from kgplatform.vocab import local_name

if TYPE_CHECKING:
    from kgplatform.types import Answer, Choice, Solutions, Term

_BAR, _PASSAGES = 24, 8
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


def say(text: str = "") -> None:
    """Prints data to stdout."""
    print(text)


def note(text: str) -> None:
    """Prints a remark to stderr."""
    print(text, file=sys.stderr)


def as_json(value: object) -> None:
    """Prints a value as JSON, letters of every script as they are."""
    print(json.dumps(value, ensure_ascii=False, indent=2))


def as_text(answer: Answer) -> str:
    """The answer for a terminal: question, answer, confidence, who answered, query and numbered passages."""
    from kgplatform.questions.answer_text import cites, marked

    said = answer.text.replace("\n", "\n            ")
    lines = [f"Question    {answer.question.text.strip()[:500]}", f"Answer      {said}"]
    if answer.clarification is not None:
        lines += [f"            {n}. {option}" for n, option in enumerate(answer.clarification.options, 1)]
    who = f"model {answer.model}" if answer.model else "built-in methods, no language model"
    lines.append(f"Confidence  {answer.confidence_level} ({answer.confidence:.2f})")
    lines.append(f"Answered by {who}, using {answer.using}")
    if answer.choice is not None:
        lines.append(f"Sources     {_sources(answer.choice)}")
    if answer.query is not None and answer.query.text:
        if answer.query.reading:
            lines.append(f"Interpreted as {answer.query.reading}")
        lines += ["SPARQL", *(f"    {line}" for line in answer.query.text.splitlines())]
    if answer.evidence:
        lines.append("Passages" if cites(answer) else "Related passages")
        lines += [f"    [{n}] {item.title}: {marked(item)}" for n, item in enumerate(answer.evidence[:_PASSAGES], 1)]
        lines += [f"    and {left} more"] if (left := len(answer.evidence) - _PASSAGES) > 0 else []
    return "\n".join(lines)


def _sources(choice: Choice) -> str:
    asked = [
        f"{item.source} {item.outcome}{f' ({item.confidence:.2f})' if item.confidence else ''}"
        f"{f': {item.note}' if item.note else ''}"
        for item in choice.consulted
    ]
    about = f"; about: {choice.domain} ({choice.certainty:.2f}), {choice.changes}" if choice.domain else ""
    return f"{', '.join(asked)}{about}"


def plural(count: int, noun: str) -> str:
    """The count with its noun."""
    return f"{count:,} {noun if count == 1 else plural_of(noun)}"


def terms(classes: Sized, properties: Sized) -> str:
    """How many classes and properties there are."""
    return f"{plural(len(classes), 'class')}, {plural(len(properties), 'property')}"


def width(text: str) -> int:
    """How many columns a text takes in a terminal: Chinese characters take two."""
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def cut(text: str, columns: int) -> str:
    """The text in at most so many terminal columns, with ``…`` where it was cut."""
    line = " ".join(text.split())
    if width(line) <= columns:
        return line
    kept, taken = [], 1
    for c in line:
        taken += width(c)
        if taken > columns:
            break
        kept.append(c)
    return "".join(kept) + "…"


def table(header: Sequence[str], rows: Iterable[Sequence[str]], *, widest: int = 60) -> None:
    """Prints rows under a header, in columns as wide as they need to be, up to ``widest`` each."""
    lines = [[cut(cell, widest) for cell in row] for row in rows]
    widths = [max([width(name), *(width(line[i]) for line in lines)]) for i, name in enumerate(header)]
    for line in (list(header), ["─" * size for size in widths], *lines):
        cells = (cell + " " * (size - width(cell)) for cell, size in zip(line, widths, strict=True))
        print("  ".join(cells).rstrip())


class Bar:
    """A progress bar on stderr: redrawn in place in a terminal, silent elsewhere."""

    def __init__(self) -> None:
        self._live = sys.stderr.isatty()
        self._began = time.monotonic()

    def __call__(self, done: int, total: int, name: str) -> None:
        """Shows that item ``done`` of ``total`` is in hand; ``total`` 0: how many there are is not known."""
        if not self._live:
            return
        filled = _BAR * done // max(total, 1)
        bar = f"[{'█' * filled}{' ' * (_BAR - filled)}] {done}/{total}{self._left(done, total)}"
        line = cut(f"{bar} {name}" if total else f"{name} …", 78)
        sys.stderr.write(f"\r{line}{' ' * (78 - width(line))}")
        sys.stderr.flush()

    def _left(self, done: int, total: int) -> str:
        """The time left, from how long the items before took."""
        if done < 2:
            return ""
        seconds = round((time.monotonic() - self._began) / (done - 1) * (total - done + 1))
        return f" {seconds // 60}:{seconds % 60:02} left"

    def end(self) -> None:
        """Clears the line."""
        if self._live:
            sys.stderr.write("\r" + " " * 79 + "\r")
            sys.stderr.flush()


def short(term: Term | None, prefixes: Mapping[str, str]) -> str:
    """A term for a reader: IRIs with prefixes, literals without quotes."""
    if term is None:
        return ""
    if isinstance(term, NamedNode):
        for prefix, start in prefixes.items():
            local = term.value.removeprefix(start)
            if local != term.value and "/" not in local and "#" not in local:
                return f"{prefix}:{local}"
        return f"<{term.value}>"
    if isinstance(term, Literal):
        return term.value
    return str(term)


def local(term: Term) -> str:
    """The local name of an IRI, anything else as it is, cut."""
    return cut(local_name(term.value) if isinstance(term, NamedNode) else str(term), 60)


def solutions(found: Solutions, prefixes: Mapping[str, str]) -> None:
    """Prints rows as a table, or yes or no."""
    if found.boolean is not None:
        say("yes" if found.boolean else "no")
        return
    table(found.variables, [[short(term, prefixes) for term in row] for row in found.rows])
    note(f"{len(found.rows)} row{'' if len(found.rows) == 1 else 's'}{' (there are more)' if found.truncated else ''}")


@contextmanager
def gracefully(stop: Callable[[], None]) -> Iterator[None]:
    """Calls ``stop`` on the first SIGINT or SIGTERM; a second one interrupts, and what is in hand is rolled back."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    asked = False

    def on_signal(_number: int, _frame: FrameType | None) -> None:
        nonlocal asked
        if asked:
            raise KeyboardInterrupt
        asked = True
        stop()
        note("\nkgplatform: stopping after the current document; press again to stop at once")

    before = {number: signal.signal(number, on_signal) for number in _SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
