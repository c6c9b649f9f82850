"""Mends a query: by rewriting what has one obvious remedy, or by asking the model.

What is complained about is what the checker finds, and rows that cannot be what was asked for: none at all, a column
that is never bound, the names of the question itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from pyoxigraph import NamedNode

from kgplatform.errors import ModelError, QueryError
from kgplatform.questions.check import check
from kgplatform.questions.names import NameIndex
from kgplatform.questions.patterns import patterns_of
from kgplatform.questions.suspecting import suspicions
from kgplatform.types import Attempt, Issue, IssueKind, Solutions, Usage
from kgplatform.vocab import PREFIXES, XSD


@dataclass(frozen=True, slots=True)
class Mended:
    """The best query of a repair with its rows, every draft with its issues, and what the repair cost.

    ``sound``: the checker has nothing fatal against it, and it ran if it was to be run. ``doubtful``: its rows are
    suspicious or none. ``declined`` is what the model found missing where it gave up.
    """

    text: str
    attempts: tuple[Attempt, ...]
    usage: Usage
    sound: bool
    error: str = ""
    declined: str = ""
    solutions: Solutions | None = None
    doubtful: bool = False


class Revision(Protocol):
    """What a model makes of an attempt."""

    @property
    def text(self) -> str:
        """The query."""
        ...

    @property
    def usage(self) -> Usage:
        """What it cost."""
        ...

    @property
    def declined(self) -> str:
        """What it found missing; empty where there is a query."""
        ...


Revise: TypeAlias = Callable[[Attempt, Solutions | None], Revision]


@dataclass(frozen=True, slots=True)
class _Tried:
    attempt: Attempt
    solutions: Solutions | None
    sound: bool
    findings: tuple[Issue, ...]

    @property
    def rank(self) -> int:
        """How good it is: with rows that nothing speaks against, with doubtful rows, with none, not sound."""
        if not self.sound:
            return 0
        if any(issue.kind is IssueKind.EMPTY for issue in self.findings):
            return 1
        return 2 if self.findings else 3


def mended(
    text: str,
    *,
    names: NameIndex,
    revise: Revise | None = None,
    run: Callable[[str], Solutions] | None = None,
    rounds: int = 2,
    prefixes: Mapping[str, str] = PREFIXES,
    language: str = "en",
) -> Mended:
    """The best query to be had in so many rounds of putting right what the checker and the rows complain about.

    ``revise`` asks a model, where no rule helps; ``run`` looks at the rows too.
    """
    tried = [_try(text, names, run, prefixes, language)]
    usage = Usage()
    error = declined = ""
    for _ in range(rounds):
        last = tried[-1]
        if last.sound and not last.findings:
            break
        rewritten = None if last.sound else rewritten_by_rule(last.attempt, names, prefixes=prefixes)
        if rewritten is None and revise is not None:
            try:
                reply = revise(last.attempt, last.solutions)
            except ModelError as failure:
                error = str(failure)
                break
            usage += reply.usage
            declined, rewritten = reply.declined, reply.text
        if declined or not rewritten or rewritten in {item.attempt.query for item in tried}:
            break
        tried.append(_try(rewritten, names, run, prefixes, language))
    best = max(reversed(tried), key=lambda item: item.rank)
    return Mended(
        best.attempt.query,
        tuple(item.attempt for item in tried),
        usage,
        sound=best.sound,
        error=error,
        declined=declined if best.rank < 2 else "",
        solutions=best.solutions,
        doubtful=bool(best.findings),
    )


def _try(
    text: str,
    names: NameIndex,
    run: Callable[[str], Solutions] | None,
    prefixes: Mapping[str, str],
    language: str,
) -> _Tried:
    """A query checked and, if nothing fatal is wrong with it, run."""
    issues = check(text, names, prefixes=prefixes)
    if any(issue.fatal for issue in issues) or run is None:
        return _Tried(Attempt(text, issues), None, not any(issue.fatal for issue in issues), ())
    try:
        solutions = run(text)
    except QueryError as error:
        failed = Issue(IssueKind.FAILED, f"it cannot be run: {error}")
        return _Tried(Attempt(text, (*issues, failed)), None, sound=False, findings=(failed,))
    findings = suspicions(text, solutions, run, prefixes=prefixes, language=language)
    return _Tried(Attempt(text, (*issues, *findings)), solutions, sound=True, findings=findings)


def rewritten_by_rule(attempt: Attempt, names: NameIndex, *, prefixes: Mapping[str, str] = PREFIXES) -> str | None:
    """The query with each issue that has one obvious remedy put right; None if none has."""
    text = attempt.query
    for issue in attempt.issues:
        if issue.kind in (IssueKind.UNKNOWN_PROPERTY, IssueKind.UNKNOWN_CLASS) and len(issue.allowed) == 1:
            text = _with_term(text, issue.subject, issue.allowed[0], prefixes)
        elif issue.kind is IssueKind.IMPOSSIBLE:
            text = _flipped(text, issue, names, prefixes)
        elif issue.kind is IssueKind.LITERAL_FORM and issue.subject.startswith(XSD) and issue.allowed:
            text = _with_term(text, issue.subject, issue.allowed[0], prefixes)
        elif issue.kind is IssueKind.LITERAL_FORM:
            text = _with_form(text, issue)
    return text if text != attempt.query else None


def _with_term(text: str, old: str, new: str, prefixes: Mapping[str, str]) -> str:
    """Another IRI, where the old one is written out or abbreviated."""
    written = str(NamedNode(new))
    text = text.replace(f"<{old}>", written)
    declared = {**prefixes, **dict(re.findall(r"PREFIX\s+([\w-]*):\s*<([^<>\s]*)>", text, re.IGNORECASE))}
    for prefix, namespace in declared.items():
        if old.startswith(namespace) and old != namespace:
            short = re.escape(f"{prefix}:{old[len(namespace) :]}")
            text = re.sub(rf"(?<![\w:<]){short}(?![\w-])", lambda _: written, text)
    return text


def _flipped(text: str, issue: Issue, names: NameIndex, prefixes: Mapping[str, str]) -> str:
    """The pattern with subject and object changed over, if the data has the property that way round."""
    predicate = next((p for p in names.schema.properties if p.value == issue.subject), None)
    if predicate is None or not names.schema.properties[predicate].is_object:
        return text
    for pattern in patterns_of(text, prefixes).triples:
        if not pattern.plain or pattern.predicates[0].value != predicate.value:
            continue
        if pattern.subject.kind != "variable" or pattern.object.kind != "variable":
            continue
        one, two = pattern.subject.value, pattern.object.value
        spelt = rf"([?$]{re.escape(one)})(\s+(?:<[^<>\s]*>|[\w-]*:[\w-]+)\s+)([?$]{re.escape(two)})(?=\s*[.}}]|\s*$)"
        flipped = re.sub(spelt, r"\3\2\1", text, count=1)
        if flipped != text:
            return flipped
    return text


def _with_form(text: str, issue: Issue) -> str:
    """The literal written the way the message asks for, where it asks for one way."""
    asked = re.search(r"write (\S.*)$", issue.message)
    quoted = f'"{issue.subject}"'
    if asked is None or quoted not in text:
        return text
    if "without quotes" in issue.message:
        return text.replace(quoted, issue.subject) if re.fullmatch(r"[+-]?\d+(?:\.\d+)?", issue.subject) else text
    if "have no language tag" in issue.message:
        return re.sub(re.escape(quoted) + r"@[A-Za-z-]+", lambda _: quoted, text)
    return re.sub(re.escape(quoted) + r"(?![@^])", lambda _: asked[1], text)
