"""Mends a query that the checker complains about: by rewriting what has one obvious remedy, or by asking the model."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pyoxigraph import NamedNode

from kgplatform.errors import ModelError
from kgplatform.protocols import ChatModel
from kgplatform.questions.check import check
from kgplatform.questions.names import NameIndex
from kgplatform.questions.patterns import patterns_of
from kgplatform.questions.schema import render
from kgplatform.questions.translate_model import repaired
from kgplatform.types import Attempt, Issue, IssueKind, Usage
from kgplatform.vocab import PREFIXES, XSD


@dataclass(frozen=True, slots=True)
class Mended:
    """The last query of a repair, every draft with its issues, and what the repair cost.

    ``declined`` is what the model found missing where it gave up.
    """

    text: str
    attempts: tuple[Attempt, ...]
    usage: Usage
    sound: bool
    error: str = ""
    declined: str = ""


def mended(
    question: str,
    text: str,
    *,
    names: NameIndex,
    model: ChatModel | None = None,
    rounds: int = 2,
    schema_tokens: int = 2000,
    prefixes: Mapping[str, str] = PREFIXES,
) -> Mended:
    """A query without fatal issues if one can be had in so many rounds; ``sound`` says so."""
    attempts = [Attempt(text, check(text, names, prefixes=prefixes))]
    usage = Usage()
    for _ in range(rounds):
        if not _fatal(attempts[-1].issues):
            break
        rewritten = rewritten_by_rule(attempts[-1], names, prefixes=prefixes)
        if rewritten is None and model is not None:
            try:
                reply = repaired(
                    question,
                    attempts,
                    schema=render(names.schema, budget_tokens=schema_tokens, focus=question.split()),
                    model=model,
                )
            except ModelError as error:
                return Mended(attempts[-1].query, tuple(attempts), usage, sound=False, error=str(error))
            usage += reply.usage
            if reply.declined:
                last = attempts[-1].query
                return Mended(last, tuple(attempts), usage, sound=False, declined=reply.declined)
            rewritten = reply.text
        if rewritten is None or rewritten in {attempt.query for attempt in attempts}:
            break
        attempts.append(Attempt(rewritten, check(rewritten, names, prefixes=prefixes)))
    return Mended(attempts[-1].query, tuple(attempts), usage, sound=not _fatal(attempts[-1].issues))


def _fatal(issues: Sequence[Issue]) -> bool:
    return any(issue.fatal for issue in issues)


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
