"""Constraints in SPARQL (SHACL §5, https://www.w3.org/TR/shacl/#sparql-constraints), run by the store itself.

They may look anywhere in the graph, so that no part of it would do. Each is run once for each focus node, with
``$this`` bound to it: some 40 µs and what the query takes. Constraints of shapes that other shapes refer to stay with
pySHACL, since there it matters whether the shape conforms.

A supposed document is in no store: then they see the things in question and what lies near them.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from pyoxigraph import Literal, NamedNode, Triple

from kgplatform.checking.findings import Finding, Kind, Severity, best
from kgplatform.checking.near import neighbourhood
from kgplatform.checking.scope import Instances
from kgplatform.checking.shapes import UNNAMED, Shapes
from kgplatform.checking.targets import Targets, targeted
from kgplatform.dataset import quad
from kgplatform.errors import OntologyError, QueryError
from kgplatform.store import DEFAULT_GRAPH, Store
from kgplatform.types import Solutions, Term
from kgplatform.vocab import RDF, SH

_SPARQL, _PROPERTY = NamedNode(f"{SH}sparql"), NamedNode(f"{SH}property")
_REFERRING = frozenset((*(f"{SH}{name}" for name in ("node", "not", "property", "qualifiedValueShape")), f"{RDF}first"))
_SEVERITIES = {f"{SH}Violation": Severity.VIOLATION, f"{SH}Info": Severity.INFO, f"{SH}Warning": Severity.WARNING}
_PATH = re.compile(r"[$?]PATH\b")
_PLACEHOLDER = re.compile(r"\{[$?](\w+)\}")
_STEPS = {"zeroOrMorePath": "*", "oneOrMorePath": "+", "zeroOrOnePath": "?"}


@dataclass(frozen=True, slots=True)
class SparqlConstraint:
    """A SELECT whose rows are faults; ``shape`` has the targets, ``path`` is None in a node shape."""

    shape: Term
    name: str | None
    text: str
    path: Term | None
    messages: tuple[Literal, ...]
    severity: Severity


def taken_out(shapes: Shapes) -> tuple[tuple[SparqlConstraint, ...], Shapes]:
    """The constraints that can be run by themselves, and the shapes without them; found once for the same shapes."""
    return shapes.made(_parted)


def _parted(shapes: Shapes) -> tuple[tuple[SparqlConstraint, ...], Shapes]:
    found: list[SparqlConstraint] = []
    taken: set[Triple] = set()
    referred = _referred(shapes)
    with_targets = targeted(shapes)
    for triple in shapes.triples:
        if triple.predicate != _SPARQL:
            continue
        owner = _owner(triple.subject, referred, with_targets, shapes)
        text = _one(shapes.said(triple.object), "select")
        if owner is None or not isinstance(text, Literal):
            continue
        taken.add(triple)
        nodes = (owner, triple.subject, triple.object)
        if not any(getattr(_one(shapes.said(node), "deactivated"), "value", "") == "true" for node in nodes):
            found.append(_constraint(owner, triple, text.value, shapes))
    return tuple(found), Shapes(t for t in shapes.triples if t not in taken) if taken else shapes


def _referred(shapes: Shapes) -> Mapping[Term, list[Triple]]:
    referred: dict[Term, list[Triple]] = defaultdict(list)
    for triple in shapes.triples:
        if triple.predicate.value in _REFERRING:
            referred[triple.object].append(triple)
    return referred


def _owner(
    holder: Term, referred: Mapping[Term, list[Triple]], with_targets: frozenset[Term], shapes: Shapes
) -> Term | None:
    """The shape whose focus nodes the constraint is about; None where it is not by itself."""
    if holder in with_targets and not referred.get(holder):
        return holder
    by = referred.get(holder, [])
    if len(by) != 1 or by[0].predicate != _PROPERTY or holder in with_targets:
        return None
    owner = by[0].subject
    is_plain = owner in with_targets and not referred.get(owner) and f"{SH}path" not in shapes.said(owner)
    return owner if is_plain else None


def _constraint(owner: Term, triple: Triple, text: str, shapes: Shapes) -> SparqlConstraint:
    said, holder = shapes.said(triple.object), shapes.said(triple.subject)
    path = _one(holder, "path")
    if path is not None:
        text = _PATH.sub(lambda _match: path_text(path, shapes), text)
    messages = said.get(f"{SH}message") or holder.get(f"{SH}message") or ()
    severity = getattr(_one(holder, "severity"), "value", f"{SH}Violation")
    return SparqlConstraint(
        shape=owner,
        name=shapes.name(triple.subject),
        text="".join(_prefixes(said, shapes)) + text,
        path=path,
        messages=tuple(sorted((m for m in messages if isinstance(m, Literal)), key=str)),
        severity=_SEVERITIES.get(severity, Severity.WARNING),
    )


def _one(said: Mapping[str, Sequence[Term]], name: str) -> Term | None:
    return next(iter(said.get(f"{SH}{name}", ())), None)


def _prefixes(said: Mapping[str, Sequence[Term]], shapes: Shapes) -> Iterator[str]:
    for ontology in said.get(f"{SH}prefixes", ()):
        for declaration in shapes.said(ontology).get(f"{SH}declare", ()):
            facts = shapes.said(declaration)
            prefix, namespace = _one(facts, "prefix"), _one(facts, "namespace")
            if isinstance(prefix, Literal) and isinstance(namespace, Literal | NamedNode):
                yield f"PREFIX {prefix.value}: {NamedNode(namespace.value)}\n"


def path_text(path: Term, shapes: Shapes) -> str:
    """A path of a shape as SPARQL writes it."""
    if isinstance(path, NamedNode) and not path.value.startswith(UNNAMED):
        return str(path)
    said = shapes.said(path)
    if inverse := _one(said, "inversePath"):
        return f"^({path_text(inverse, shapes)})"
    if alternatives := _one(said, "alternativePath"):
        return "(" + "|".join(path_text(item, shapes) for item in shapes.members(alternatives)) + ")"
    for name, sign in _STEPS.items():
        if step := _one(said, name):
            return f"({path_text(step, shapes)}){sign}"
    return "(" + "/".join(path_text(item, shapes) for item in shapes.members(path)) + ")"


def constraints_hold(
    instances: Instances,
    things: Sequence[NamedNode],
    targets: Targets,
    constraints: Iterable[SparqlConstraint],
    shapes: Shapes,
) -> Iterator[Finding]:
    """The faults that the constraints find about the things.

    Raises:
        OntologyError: a constraint is not a SELECT that can be run.
    """
    by_shape: dict[Term, list[SparqlConstraint]] = defaultdict(list)
    for constraint in constraints:
        by_shape[constraint.shape].append(constraint)
    store = instances.store if not instances.is_supposed else _scratch(instances, things, shapes)
    for thing in things:
        for shape in dict.fromkeys(targets.about(thing)):
            for constraint in by_shape.get(shape, ()):
                yield from _faults(constraint, thing, store.query)


def _scratch(instances: Instances, things: Sequence[NamedNode], shapes: Shapes) -> Store:
    store = Store.open(prefixes=instances.store.prefixes)
    near = dict.fromkeys(neighbourhood(instances, things, shapes.reach))
    store.apply(added=[quad(triple, DEFAULT_GRAPH) for triple in near])
    return store


def _faults(constraint: SparqlConstraint, thing: NamedNode, query: Callable[..., Solutions]) -> Iterator[Finding]:
    name = constraint.name or "a shape without a name"
    try:
        solutions = query(constraint.text, bindings={"this": thing})
    except QueryError as error:
        raise OntologyError(f"the constraint in SPARQL of {name} cannot be used: {error}", source="shapes") from error
    if not solutions.variables:
        raise OntologyError(f"the constraint in SPARQL of {name} is no SELECT", source="shapes")
    for row in dict.fromkeys(solutions.rows):
        values = {n: term for n, term in zip(solutions.variables, row, strict=True) if term is not None}
        if "failure" in values:
            raise OntologyError(f"the constraint in SPARQL of {name} reports a failure", source="shapes")
        yield _finding(constraint, thing, {"this": thing, **values})


def _finding(constraint: SparqlConstraint, thing: NamedNode, values: Mapping[str, Term]) -> Finding:
    path = values.get("path", constraint.path)
    simple = path if isinstance(path, NamedNode) and not path.value.startswith(UNNAMED) else None
    value = values.get("value", thing if constraint.path is None else None)
    messages = tuple(_filled(message, values) for message in constraint.messages)
    if not messages and isinstance(said := values.get("message"), Literal):
        messages = (said,)
    stated = simple is not None and value is not None and "value" in values
    return Finding(
        Kind.SHAPE, constraint.severity, thing, best(messages, "en"),
        path=simple, value=value, shape=constraint.name, constraint="SPARQL", messages=messages,
        statements=(Triple(thing, simple, value),) if stated and simple is not None and value is not None else (),
    )  # fmt: skip


def _filled(message: Literal, values: Mapping[str, Term]) -> Literal:
    """The message with ``{$name}`` and ``{?name}`` replaced by what the row has."""

    def value(match: re.Match[str]) -> str:
        term = values.get(match[1])
        return match[0] if term is None else str(getattr(term, "value", term))

    text = _PLACEHOLDER.sub(value, message.value)
    return Literal(text, language=message.language) if message.language else Literal(text)
