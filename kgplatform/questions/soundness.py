"""What is suspicious about a query whatever its terms: variables that nothing binds, unrelated parts, unknown casts."""

from __future__ import annotations

from collections.abc import Iterable

from kgplatform.questions.patterns import Patterns
from kgplatform.questions.schema import SchemaView
from kgplatform.types import Issue, IssueKind
from kgplatform.vocab import XSD, local_name

_CASTS = frozenset(
    ("boolean", "dateTime", "date", "time", "decimal", "double", "float", "integer", "string", "duration")
)
"""The constructors of SPARQL 1.1 §17.5, and those for dates, times and durations that Oxigraph adds."""


def unbound(patterns: Patterns) -> Iterable[Issue]:
    """Variables that are selected, compared or sorted by, but that no pattern binds."""
    projected = {item.value for item in patterns.projected}
    seen: set[str] = set()
    for item in patterns.mentioned:
        if item.value in patterns.bound or item.value in seen:
            continue
        seen.add(item.value)
        what = "is selected but" if item.value in projected else "is used but"
        near = tuple(sorted(patterns.bound))
        yield Issue(
            IssueKind.UNBOUND, f"?{item.value} {what} nothing binds it", item.value, near, item.line, column=item.column
        )


def unrelated(patterns: Patterns) -> Iterable[Issue]:
    """Patterns that share no variable or thing with the rest: every pair of their solutions is a row."""
    groups: list[set[str]] = []
    expressions = (frozenset(f"?{name}" for name in names) for names in patterns.together)
    for names in (*_joined(patterns), *expressions):
        if names:
            apart = [group for group in groups if not group & names]
            groups = [*apart, set(names).union(*(group for group in groups if group & names))]
    inside = {name for names in _joined(patterns) for name in names if name.startswith("?")}
    parts = [part for group in groups if (part := sorted(group & inside))]
    if len(parts) > 1:
        shown = " and ".join(part[0] for part in parts[:3])
        message = f"nothing joins {shown}: each is combined with every other"
        yield Issue(IssueKind.CARTESIAN, message, parts[1][0].lstrip("?"), fatal=False)


def _joined(patterns: Patterns) -> Iterable[frozenset[str]]:
    """What each triple pattern joins; brackets may hold anything, so with them there is nothing to tell."""
    for pattern in patterns.triples:
        ends = (pattern.subject, pattern.object)
        if any(item.kind == "mark" for item in ends):
            return
        yield frozenset(f"?{i.value}" if i.kind == "variable" else i.value for i in ends if i.kind != "literal")


def casts(patterns: Patterns) -> Iterable[Issue]:
    """Calls of datatypes that SPARQL has no constructor for."""
    for item in patterns.calls:
        name = local_name(item.value)
        if item.value.startswith(XSD) and name not in _CASTS:
            allowed = (
                (f"{XSD}integer",) if "int" in name.casefold() or "long" in name.casefold() else (f"{XSD}decimal",)
            )
            message = f"SPARQL has no cast xsd:{name}(); write xsd:{local_name(allowed[0])}()"
            yield Issue(IssueKind.LITERAL_FORM, message, item.value, allowed, item.line, column=item.column)


def values_as_things(patterns: Patterns, schema: SchemaView) -> Iterable[Issue]:
    """Variables that are a literal by one pattern and have properties by another."""
    known = {iri.value: term for iri, term in schema.properties.items()}
    literal: dict[str, str] = {}
    for pattern in patterns.triples:
        term = known.get(pattern.predicates[0].value) if pattern.plain and pattern.predicates else None
        if term is not None and not term.is_object and term.datatypes and pattern.object.kind == "variable":
            literal[pattern.object.value] = local_name(term.iri.value)
    for pattern in patterns.triples:
        name = pattern.subject.value
        if pattern.subject.kind == "variable" and name in literal and not pattern.inverse:
            message = f"?{name} is a value of {literal[name]}, so it has no properties of its own"
            yield Issue(IssueKind.IMPOSSIBLE, message, name, (), pattern.subject.line, column=pattern.subject.column)
