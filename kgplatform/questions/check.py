"""Checks a query before it runs: safe, parseable, and about what the graph really holds.

Reports structured issues with the nearest terms that would be allowed; never runs the query on data and never fails
on any text. What is only suspicious (an empty join, an untagged literal) is reported as not fatal.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Mapping

from pyoxigraph import NamedNode

from kgplatform.errors import QueryRejectedError, QuerySyntaxError
from kgplatform.lexing import read_only_issues
from kgplatform.questions.names import NameIndex
from kgplatform.questions.patterns import Item, Pattern, Patterns, patterns_of
from kgplatform.questions.schema import SchemaView
from kgplatform.questions.soundness import casts, unbound, unrelated, values_as_things
from kgplatform.store import Store
from kgplatform.text import normalise
from kgplatform.types import Issue, IssueKind
from kgplatform.vocab import LABEL, OWL, PREFIXES, RDF, RDFS, SKOS, XSD, local_name

_TYPE = f"{RDF}type"
_ALWAYS = (RDF, RDFS, OWL, SKOS, XSD)


def check(
    text: str,
    names: NameIndex,
    *,
    prefixes: Mapping[str, str] = PREFIXES,
    graphs: Collection[str] | None = None,
    parsed: bool = False,
) -> tuple[Issue, ...]:
    """What is wrong with a query over the graph; empty when nothing is.

    ``graphs`` are the names of the graphs there are; None: they are not looked at. ``parsed``: the text is known to
    parse, so no parser is asked here.
    """
    refused = read_only_issues(text)
    if refused:
        return tuple(Issue(IssueKind.REFUSED, reason) for reason in refused)
    patterns = patterns_of(text, prefixes)
    wrong = tuple(casts(patterns)) or (() if parsed else _syntax(text, prefixes))
    if wrong:
        return wrong
    schema = names.schema
    found = [
        *_unknown_terms(patterns, names),
        *_unused_pairs(patterns, schema),
        *_literal_forms(patterns, schema),
        *_labels(patterns, names),
        *values_as_things(patterns, schema),
        *unbound(patterns),
        *unrelated(patterns),
        *_unknown_graphs(patterns, graphs),
    ]
    return tuple(dict.fromkeys(found))


def _syntax(text: str, prefixes: Mapping[str, str]) -> tuple[Issue, ...]:
    """The parser's complaint, from an empty store."""
    try:
        Store.open(prefixes=dict(prefixes)).query(text, max_rows=1)
    except QuerySyntaxError as error:
        return (Issue(IssueKind.SYNTAX, str(error), line=error.line, column=error.column),)
    except QueryRejectedError as error:
        return (Issue(IssueKind.REFUSED, "; ".join(error.issues)),)
    return ()


def _unknown_terms(patterns: Patterns, names: NameIndex) -> Iterable[Issue]:
    schema = names.schema
    seen: set[str] = set()
    for pattern in patterns.triples:
        for item in pattern.predicates:
            if item.kind == "iri" and item.value not in seen:
                seen.add(item.value)
                yield from _unknown(item, IssueKind.UNKNOWN_PROPERTY, schema.properties, names)
        object_ = pattern.object
        typed = any(item.value == _TYPE for item in pattern.predicates)
        for class_ in _classes_of(pattern, patterns) if typed else ():
            if class_.value not in seen:
                seen.add(class_.value)
                yield from _unknown(class_, IssueKind.UNKNOWN_CLASS, schema.classes, names)
        for item in (pattern.subject, object_):
            if item.kind == "iri" and item.value not in seen:
                seen.add(item.value)
                yield from _unknown_thing(item, names)


def _unknown(item: Item, kind: IssueKind, known: Mapping[NamedNode, object], names: NameIndex) -> Iterable[Issue]:
    node = _node(item.value)
    if item.value.startswith(_ALWAYS) or node in known or node in names.facts.concluded:
        return
    what = "class" if kind is IssueKind.UNKNOWN_CLASS else "property"
    near = _nearest(item.value, known)
    yield Issue(
        kind, f"the graph has no {what} <{item.value}>{_offer(near)}", item.value, near, item.line, column=item.column
    )


def _unknown_thing(item: Item, names: NameIndex) -> Iterable[Issue]:
    node = _node(item.value)
    if item.value.startswith(_ALWAYS) or node in names.facts.types or node in names.facts.labels:
        return
    if node in names.schema.classes or node in names.schema.properties or names.knows(node):
        return
    found = [n.term for n in names.near(local_name(item.value).replace("_", " "), 3) if isinstance(n.term, NamedNode)]
    near = tuple(dict.fromkeys(term.value for term in found))
    yield Issue(
        IssueKind.UNKNOWN_TERM,
        f"nothing in the graph is called <{item.value}>{_offer(near)}",
        item.value,
        near,
        item.line,
        column=item.column,
    )


def _unknown_graphs(patterns: Patterns, graphs: Collection[str] | None) -> Iterable[Issue]:
    """Graphs that the query names and the dataset does not have."""
    for item in patterns.graphs if graphs is not None else ():
        if graphs is not None and item.value not in graphs:
            near = tuple(difflib.get_close_matches(item.value, graphs, n=3, cutoff=0.6))
            message = f"there is no graph <{item.value}>{_offer(near)}"
            yield Issue(IssueKind.UNKNOWN_GRAPH, message, item.value, near, item.line, column=item.column)


def _unused_pairs(patterns: Patterns, schema: SchemaView) -> Iterable[Issue]:
    """Properties that no thing of the subject's (or, inverted, the object's) classes has."""
    types: dict[str, set[NamedNode]] = {}
    for pattern in patterns.triples:
        if any(i.value == _TYPE for i in pattern.predicates):
            found = {_node(item.value) for item in _classes_of(pattern, patterns)}
            types.setdefault(pattern.subject.value, set()).update(found)
    for pattern in patterns.triples:
        if len(pattern.predicates) != 1 or not (pattern.plain or pattern.inverse):
            continue
        predicate = _node(pattern.predicates[0].value)
        if predicate not in schema.properties:
            continue
        item = pattern.object if pattern.inverse else pattern.subject
        yield from _unused(types.get(item.value, set()), predicate, pattern, schema, inward=False)
        other = pattern.subject if pattern.inverse else pattern.object
        yield from _unused(types.get(other.value, set()), predicate, pattern, schema, inward=True)


def _classes_of(pattern: Pattern, patterns: Patterns) -> tuple[Item, ...]:
    """The classes that a type pattern names, itself or by the VALUES of its variable."""
    if pattern.object.kind == "iri":
        return (pattern.object,)
    return patterns.values.get(pattern.object.value, ()) if pattern.object.kind == "variable" else ()


def _unused(
    classes: set[NamedNode], predicate: NamedNode, pattern: Pattern, schema: SchemaView, *, inward: bool
) -> Iterable[Issue]:
    table = schema.incoming if inward else schema.outgoing
    known = [iri for iri in sorted(classes, key=str) if iri in schema.classes]
    if not known or any(edge.predicate == predicate for iri in known for edge in table.get(iri, ())):
        return
    allowed = tuple(sorted({e.predicate.value for iri in known for e in table.get(iri, ())}))
    label = local_name(predicate.value)
    way = "is ever a value of" if inward else "has"
    near = _nearest(predicate.value, map(_node, allowed))
    message = f"no {local_name(known[0].value)} {way} {label} in the graph{_offer(near)}"
    yield Issue(
        IssueKind.IMPOSSIBLE,
        message,
        predicate.value,
        allowed[:12],
        pattern.predicates[0].line,
        column=pattern.predicates[0].column,
    )


def _literal_forms(patterns: Patterns, schema: SchemaView) -> Iterable[Issue]:
    for pattern in patterns.triples:
        if len(pattern.predicates) != 1 or not pattern.plain or pattern.object.kind != "literal":
            continue
        term = schema.properties.get(_node(pattern.predicates[0].value))
        if term is None:
            continue
        problem = _form_problem(pattern.object, term.datatypes, term.languages, is_object=term.is_object)
        if problem:
            yield Issue(
                IssueKind.LITERAL_FORM,
                problem,
                pattern.object.value,
                term.samples[:5],
                pattern.object.line,
                column=pattern.object.column,
            )


def _form_problem(item: Item, datatypes: tuple[NamedNode, ...], languages: tuple[str, ...], *, is_object: bool) -> str:
    kinds = {local_name(d.value) for d in datatypes}
    text = f'"{item.value}"'
    if is_object:
        return f"{text} is text, but the values of this property are things; use an IRI, or match its label"
    numeric = kinds & {"integer", "decimal", "double", "float"}
    quoted = not item.datatype and not item.language
    if numeric and quoted and "string" not in kinds:
        return f"the values of this property are numbers; write {item.value} without quotes"
    if item.datatype == "number" and kinds and not numeric:
        return f"the values of this property are not numbers but {', '.join(sorted(kinds))}"
    if quoted and languages and "string" not in kinds:
        return f"the values of this property have a language tag; write {text}@{languages[0]}"
    if item.language and kinds == {"string"}:
        return f"the values of this property have no language tag; write {text}"
    return ""


def _labels(patterns: Patterns, names: NameIndex) -> Iterable[Issue]:
    """Labels that nothing has as they are written, but something has in another language or in none."""
    for pattern in patterns.triples:
        item = pattern.object
        if not pattern.plain or item.kind != "literal" or pattern.predicates[0].value != LABEL.value:
            continue
        called = (n.term for n in names.exact.get(normalise(item.value), ()) if n.kind == "entity")
        labels = [x for term in called for x in names.facts.labels.get(term, ()) if x.value == item.value]
        if labels and not any((x.language or "") == item.language for x in labels):
            right = tuple(dict.fromkeys(str(x) for x in labels))
            message = f"no label is written like this; write {right[0]}"
            yield Issue(IssueKind.LITERAL_FORM, message, item.value, right, item.line, column=item.column)


def _nearest(value: str, known: Iterable[NamedNode]) -> tuple[str, ...]:
    wanted = local_name(value).casefold()
    by_name: dict[str, str] = {}
    for iri in known:
        by_name.setdefault(local_name(iri.value).casefold(), iri.value)
    close = difflib.get_close_matches(wanted, list(by_name), n=3, cutoff=0.5)
    return tuple(by_name[name] for name in close)


def _offer(near: tuple[str, ...]) -> str:
    return f"; nearest: {', '.join(f'<{iri}>' for iri in near[:3])}" if near else ""


def _node(value: str) -> NamedNode:
    try:
        return NamedNode(value)
    except ValueError:
        return NamedNode("urn:x-invalid")
