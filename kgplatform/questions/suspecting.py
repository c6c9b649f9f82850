"""Rows that can hardly be what was asked for: none, a column never bound, the names asked about, labels twice over."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from pyoxigraph import Literal, NamedNode

from kgplatform.questions.emptiness import Cause, why_empty
from kgplatform.questions.patterns import patterns_of
from kgplatform.questions.translate_builtin import is_empty, is_zero
from kgplatform.types import Issue, IssueKind, Solutions
from kgplatform.vocab import PREFIXES

_SECONDS = 2.0


def suspicions(
    text: str,
    solutions: Solutions,
    run: Callable[[str], Solutions],
    *,
    prefixes: Mapping[str, str] = PREFIXES,
    language: str = "en",
) -> tuple[Issue, ...]:
    """What speaks against the rows of a query; empty where nothing does. None of it is fatal: it may be right."""
    if solutions.boolean is not None:
        return ()
    if is_empty(solutions) or is_zero(solutions):
        return (_emptiness(text, solutions, run, language),)
    echo = _echo(text, solutions, prefixes, language)
    return (*_never_bound(solutions, language), *echo, *_twice(solutions, language))


def _emptiness(text: str, solutions: Solutions, run: Callable[[str], Solutions], language: str) -> Issue:
    why = why_empty(text, lambda query, _rows, _seconds: run(query), seconds=_SECONDS)
    said = "" if why.cause in (Cause.UNKNOWN, Cause.AFTERWARDS) else why.words(language)
    zero = is_zero(solutions)
    if language == "zh":
        opening = "结果为 0。" if zero else "查询没有任何结果。"
    else:
        opening = "The result is 0." if zero else "It finds nothing."
    return Issue(IssueKind.EMPTY, f"{opening} {said}".strip(), fatal=False)


def _never_bound(solutions: Solutions, language: str) -> Iterator[Issue]:
    for place, name in enumerate(solutions.variables):
        if all(row[place] is None for row in solutions.rows):
            message = f"?{name} 在所有行中都没有值。" if language == "zh" else f"?{name} has no value in any row."
            yield Issue(IssueKind.SUSPICIOUS, message, name, fatal=False)


def _echo(text: str, solutions: Solutions, prefixes: Mapping[str, str], language: str) -> Iterator[Issue]:
    """Rows that hold nothing but things that the query itself names."""
    named = {item.value for item in patterns_of(text, prefixes).terms}
    found = {term for row in solutions.rows for term in row if term is not None}
    if len(found) == 1 and all(isinstance(term, NamedNode) and term.value in named for term in found):
        shown = next(iter(found))
        english = f"The result only repeats {shown}, which was given."
        message = f"结果只是问题中已有的 {shown}。" if language == "zh" else english
        yield Issue(IssueKind.SUSPICIOUS, message, fatal=False)


def _twice(solutions: Solutions, language: str) -> Iterator[Issue]:
    """A column of texts in several languages: labels, where the thing itself was to be returned."""
    for place, name in enumerate(solutions.variables):
        terms = [row[place] for row in solutions.rows]
        tags = {term.language for term in terms if isinstance(term, Literal) and term.language}
        if len(tags) > 1:
            message = (
                f"?{name} 是多种语言的标签：返回事物本身。"
                if language == "zh"
                else f"?{name} holds labels in several languages: return the thing itself."
            )
            yield Issue(IssueKind.SUSPICIOUS, message, name, fatal=False)
