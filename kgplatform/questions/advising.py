"""What a query that is sound may still surprise with: rows that repeat, results without an end."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kgplatform.lexing import landmarks, scan
from kgplatform.questions.patterns import Patterns, patterns_of
from kgplatform.types import Issue, IssueKind
from kgplatform.vocab import PREFIXES

_AGGREGATES = frozenset(("COUNT", "SUM", "AVG", "MIN", "MAX", "SAMPLE", "GROUP_CONCAT"))


def advise(text: str, *, prefixes: Mapping[str, str] = PREFIXES) -> tuple[Issue, ...]:
    """Hints for whoever writes the query; none of them is fatal, and there are none for other forms than SELECT."""
    if scan(text).form != "SELECT":
        return ()
    outside = [mark.text for mark in landmarks(text) if mark.depth == 0]
    heads = outside[outside.index("SELECT") :] if "SELECT" in outside else outside
    within_head = {mark.text for mark in landmarks(text) if mark.depth <= 1}
    nested = sum(mark.text == "SELECT" for mark in landmarks(text)) > 1
    grouped = "GROUP" in heads or bool(_AGGREGATES & within_head and "(" in heads)
    repeated = () if nested else _repeated(patterns_of(text, prefixes), heads, grouped=grouped)
    return (*repeated, *_unlimited(heads, grouped=grouped))


def _repeated(patterns: Patterns, heads: list[str], *, grouped: bool) -> Iterable[Issue]:
    shown = {item.value for item in patterns.projected}
    hidden = sorted(patterns.bound - shown)
    if grouped or not shown or not hidden or {"DISTINCT", "REDUCED"} & set(heads):
        return
    message = f"rows may repeat where only ?{hidden[0]} differs, which is not shown; SELECT DISTINCT leaves one of each"
    first = patterns.projected[0]
    yield Issue(
        IssueKind.REPEATED_ROWS, message, hidden[0], ("DISTINCT",), first.line, fatal=False, column=first.column
    )


def _unlimited(heads: list[str], *, grouped: bool) -> Iterable[Issue]:
    if not grouped and "LIMIT" not in heads:
        message = "there is no LIMIT: the result is as long as the graph makes it"
        yield Issue(IssueKind.UNLIMITED, message, allowed=("LIMIT 1000",), fatal=False)
