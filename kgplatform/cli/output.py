"""What the command line prints: tables, progress, results in their formats."""

from __future__ import annotations

import json
import sys
import time
import unicodedata
from collections.abc import Iterable, Mapping, Sequence

from pyoxigraph import BlankNode, Literal, NamedNode, Triple

from kgplatform.types import Solutions, Term
from kgplatform.vocab import XSD_STRING

_BAR = 24


def say(text: str = "") -> None:
    """Prints data to stdout."""
    print(text)


def note(text: str) -> None:
    """Prints a remark to stderr."""
    print(text, file=sys.stderr)


def as_json(value: object) -> None:
    """Prints a value as JSON, letters of every script as they are."""
    print(json.dumps(value, ensure_ascii=False, indent=2))


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
        """Shows that item ``done`` of ``total`` is in hand."""
        if not self._live:
            return
        filled = _BAR * done // max(total, 1)
        line = cut(f"[{'█' * filled}{' ' * (_BAR - filled)}] {done}/{total}{self._left(done, total)} {name}", 78)
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


def solutions(found: Solutions, prefixes: Mapping[str, str]) -> None:
    """Prints rows as a table, or yes or no."""
    if found.boolean is not None:
        say("yes" if found.boolean else "no")
        return
    table(found.variables, [[short(term, prefixes) for term in row] for row in found.rows])
    note(f"{len(found.rows)} row{'' if len(found.rows) == 1 else 's'}{' (there are more)' if found.truncated else ''}")


def term_json(term: Term) -> dict[str, str]:
    """A term as in SPARQL 1.1 Query Results JSON, §3.2.2."""
    if isinstance(term, NamedNode):
        return {"type": "uri", "value": term.value}
    if isinstance(term, BlankNode):
        return {"type": "bnode", "value": term.value}
    if isinstance(term, Triple):
        return {"type": "triple", "value": str(term)}
    found = {"type": "literal", "value": term.value}
    if term.language:
        found["xml:lang"] = term.language
    elif term.datatype != XSD_STRING:
        found["datatype"] = term.datatype.value
    return found
