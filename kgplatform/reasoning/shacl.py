"""SHACL shapes held against things: the proven are passed over, constraints in SPARQL run, pySHACL judges the rest.

Specification: https://www.w3.org/TR/shacl/; pySHACL and rdflib are imported only when there is something to judge.

The prover is no SHACL processor: it proves, or it gives up. Whatever it does not know (a constraint, an odd literal, a
path of several steps, a shape that is not well written) counts as not proven, and the thing goes to pySHACL, which
writes the report. Wrong would only be to prove too much; a property test holds it against pySHACL. Over 100,000 triples
of hotels it takes 1.6 s of processor with what is left to pySHACL, which takes 19.6 s for all of them.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from functools import lru_cache
from itertools import islice

from pyoxigraph import BlankNode, Literal, NamedNode, Triple

from kgplatform.errors import OntologyError, QueryError
from kgplatform.ontology.schema import TermIndex
from kgplatform.reasoning.scope import Facts, Fault, Finding, Instances, Scope, Severity, best
from kgplatform.reasoning.shapes import UNNAMED, Shapes, Targets, neighbourhood, targeted
from kgplatform.store.dataset import quad
from kgplatform.store.oxigraph import DEFAULT_GRAPH, Store
from kgplatform.types import Solutions, Term
from kgplatform.vocab import RDF, RDFS, SH, XSD

# They may look anywhere in the graph, so that no part of it would do. Each is run once for each focus node, with
# ``$this`` bound to it: some 40 µs and what the query takes. Constraints of shapes that other shapes refer to stay with
# pySHACL, since there it matters whether the shape conforms.
# A supposed document is in no store: then they see the things in question and what lies near them.
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
        Fault.SHAPE, constraint.severity, thing, best(messages, "en"),
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


_BATCH = 2000


def shapes_hold(
    instances: Instances, scope: Scope, shapes: Shapes, vocabulary: TermIndex, *, only_violations: bool = False
) -> Iterator[Finding]:
    """The findings of the shapes about the things of the scope; ``only_violations``: others may be left out.

    Raises:
        OntologyError: a shape cannot be used.
    """
    facts = Facts(instances, vocabulary.hierarchy)
    constraints, rest = taken_out(shapes)
    targets = Targets(shapes, facts)
    things = scope.subjects
    if scope.graphs is None and not instances.is_supposed:
        things = tuple(dict.fromkeys((*things, *targets.apart())))
    if constraints:
        yield from constraints_hold(instances, things, targets, constraints, shapes)
    doubtful = Prover(rest, facts, targets, only_violations=only_violations).doubtful(things)
    while batch := list(islice(doubtful, _BATCH)):
        from kgplatform.reasoning.pyshacl_report import judged

        yield from judged(instances, facts, batch, rest, targets)


# Sure means that rdflib, on which pySHACL stands, sees it so too; None or false means that it is left to pySHACL.
_NUMBER = r"[+-]?\d{1,300}(?:\.\d{1,300})?"
_MOMENT = r"\d{4}-\d\d-\d\dT(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:Z|[+-](?:0\d|1[0-3]):[0-5]\d)?"
_FORMS: dict[str, tuple[str, Callable[[str], object]]] = {
    f"{XSD}integer": (r"[+-]?\d{1,300}", int),
    f"{XSD}decimal": (_NUMBER, Decimal),
    f"{XSD}double": (rf"{_NUMBER}(?:[eE][+-]?\d{{1,2}})?", float),
    f"{XSD}float": (rf"{_NUMBER}(?:[eE][+-]?\d{{1,2}})?", float),
    f"{XSD}boolean": ("true|false", lambda text: text == "true"),
    f"{XSD}date": (r"\d{4}-\d\d-\d\d", date.fromisoformat),
    f"{XSD}dateTime": (_MOMENT, lambda text: datetime.fromisoformat(text.replace("Z", "+00:00"))),
    f"{XSD}gYear": (r"\d{4}", lambda text: date(int(text), 1, 1)),
}
_TEXTS = frozenset((f"{XSD}string", f"{RDF}langString"))
_ORDERED: tuple[frozenset[str], ...] = (
    frozenset(f"{XSD}{name}" for name in ("integer", "decimal", "double", "float")),
    frozenset((f"{XSD}date",)),
)


def key(term: Term) -> object:
    """What makes two terms one: languages are the same in upper and lower case."""
    if isinstance(term, Literal):
        return term.value, term.datatype.value, (term.language or "").lower()
    return term


def is_surely_of(term: Term, datatype: Term) -> bool:
    """True if the term is a literal of the datatype and surely well written."""
    if not isinstance(term, Literal):
        return False
    wanted = getattr(datatype, "value", "")
    if wanted == f"{RDFS}Literal":
        return True
    if term.datatype.value != wanted:
        return False
    return wanted in _TEXTS or _value(term.value, wanted) is not None


@lru_cache(maxsize=50_000)
def _value(text: str, datatype: str) -> object | None:
    """The value of the text; None where it is not written in a form that is beyond doubt."""
    form, read = _FORMS.get(datatype, (None, None))
    if form is None or read is None or re.fullmatch(form, text, re.ASCII) is None:
        return None
    try:
        return read(text)
    except ValueError:
        return None


def compared(first: Term, second: Term) -> int | None:
    """-1, 0 or 1 as the first is less than, equal to or greater than the second; None where that is not sure."""
    if not isinstance(first, Literal) or not isinstance(second, Literal):
        return None
    kinds = {first.datatype.value, second.datatype.value}
    if not any(kinds <= ordered for ordered in _ORDERED):
        return None
    one, other = _value(first.value, first.datatype.value), _value(second.value, second.datatype.value)
    if one is None or other is None:
        return None
    return int(one > other) - int(one < other)  # type: ignore[operator]


_DEEPEST = 8
_IGNORED = frozenset(
    f"{SH}{name}"
    for name in (
        *("path", "name", "description", "order", "group", "message", "severity", "defaultValue", "deactivated"),
        *("flags", "ignoredProperties", "qualifiedValueShape", "qualifiedMinCount", "qualifiedMaxCount"),
        *("target", "targetNode", "targetClass", "targetSubjectsOf", "targetObjectsOf"),
    )
)
"""What is no constraint by itself."""

_LESSER = frozenset(f"{SH}{name}" for name in ("Warning", "Info", "Debug", "Trace"))
_KINDS: Mapping[str, tuple[type, ...]] = {
    f"{SH}IRI": (NamedNode,),
    f"{SH}Literal": (Literal,),
    f"{SH}BlankNode": (BlankNode,),
    f"{SH}BlankNodeOrIRI": (BlankNode, NamedNode),
    f"{SH}IRIOrLiteral": (NamedNode, Literal),
    f"{SH}BlankNodeOrLiteral": (BlankNode, Literal),
}


@dataclass(frozen=True, slots=True)
class _Shape:
    """A shape as it is proven: its path (None: a node shape), and its constraints on values and on their set.

    Nothing is proven by one that is not ``is_known``; one that ``is_idle`` holds where its property has no value.
    """

    path: NamedNode | None
    is_idle: bool
    values: tuple[Callable[[Term, int], bool], ...]
    sets: tuple[Callable[[Term, Sequence[Term], int], bool], ...]
    is_known: bool


_UNKNOWN = _Shape(path=None, is_idle=False, values=(), sets=(), is_known=False)


class Prover:
    """Proves things conformant to shapes, from what the graph says of them and of their values.

    ``only_violations``: property shapes of a lesser severity need not hold, except within other shapes.
    """

    def __init__(self, shapes: Shapes, facts: Facts, targets: Targets, *, only_violations: bool = False) -> None:
        self.only_violations = only_violations
        self.shapes = shapes
        self.facts = facts
        self._compiled: dict[object, _Shape] = {}
        self._values = _Values(self)
        self._sets = _Sets(self)
        self._targets = targets

    def doubtful(self, things: Iterable[NamedNode]) -> Iterator[NamedNode]:
        """The things that some shape is about and that are not proven to keep to it."""
        for thing in things:
            if not all(self.proven(shape, thing) for shape in self._targets.about(thing)):
                yield thing

    def proven(self, shape: object, node: Term, depth: int = 0) -> bool:
        """True if the node surely keeps to the shape."""
        if depth > _DEEPEST:
            return False
        compiled = self._compiled.get(shape) or self._shape(shape)
        if not compiled.is_known:
            return False
        values: Sequence[Term] = (node,)
        if compiled.path is not None:
            values = self.facts.about(node).get(compiled.path, ())
        for holds in compiled.values:  # plain loops: this is run for each value of each thing
            for value in values:
                if not holds(value, depth):
                    return False
        return all(hold(node, values, depth) for hold in compiled.sets) if compiled.sets else True

    def _shape(self, shape: object) -> _Shape:
        if shape not in self._compiled:
            self._compiled[shape] = self._compile(shape)
        return self._compiled[shape]

    def _compile(self, shape: object) -> _Shape:
        said = self.shapes.said(shape)
        if _is_true(said.get(f"{SH}deactivated", ())):
            return _Shape(path=None, is_idle=False, values=(), sets=(), is_known=True)
        values: list[Callable[[Term, int], bool]] = []
        sets: list[Callable[[Term, Sequence[Term], int], bool]] = []
        for predicate, objects in said.items():
            name = predicate.removeprefix(SH)
            if predicate in self.shapes.custom:
                return _UNKNOWN
            if predicate in _IGNORED or not predicate.startswith(SH):
                continue
            if name == "property":
                values.append(self._values.properties(objects))
            elif make := self._values.makers.get(name):
                values += [make(shape, item) for item in objects]
            elif make_set := self._sets.makers.get(name):
                sets += [make_set(shape, item) for item in objects]
            else:
                return _UNKNOWN
        if f"{SH}qualifiedValueShape" in said:
            sets.append(self._sets.qualified(shape))
        path = said.get(f"{SH}path", (None,))[0]
        simple = isinstance(path, NamedNode) and not path.value.startswith(UNNAMED)
        known = self._is_sound(said) and (path is None or simple)
        return _Shape(
            path=path if isinstance(path, NamedNode) else None,
            is_idle=simple and known and not _WANTING & said.keys(),
            values=tuple(values),
            sets=tuple(sets),
            is_known=known,
        )

    def idle_without(self, shape: object) -> NamedNode | None:
        """The property without which the shape holds; None where there is no such property."""
        compiled = self._shape(shape)
        return compiled.path if compiled.is_idle else None

    def _is_sound(self, said: Mapping[str, list[Term]]) -> bool:
        """True if nothing is given twice that may be given once: pySHACL is to complain of it."""
        if f"{SH}path" not in said and _ONLY_PROPERTY & said.keys():
            return False
        return all(len(said.get(name, ())) <= 1 for name in _ONCE)


_ONCE = tuple(
    f"{SH}{name}"
    for name in (
        *("path", "datatype", "nodeKind", "minCount", "maxCount", "minLength", "maxLength", "in", "languageIn"),
        *("uniqueLang", "closed", "flags", "qualifiedValueShape", "qualifiedMinCount", "qualifiedMaxCount"),
        *("ignoredProperties", "deactivated", "severity"),
    )
)
_ONLY_PROPERTY = frozenset(
    f"{SH}{name}" for name in ("minCount", "maxCount", "uniqueLang", "lessThan", "lessThanOrEquals")
) | {f"{SH}qualifiedValueShape"}


_WANTING = frozenset(f"{SH}{name}" for name in ("minCount", "hasValue", "equals", "qualifiedValueShape"))
"""What may fail where a property has no value."""


class _Values:
    """Constraints on each value: makers of a check from a parameter, each true only where the value surely keeps."""

    def __init__(self, prover: Prover) -> None:
        self._prover = prover
        self.makers: dict[str, Callable[[object, Term], Callable[[Term, int], bool]]] = {
            "class": self._class,
            "datatype": lambda _, wanted: lambda value, _d: is_surely_of(value, wanted),
            "nodeKind": lambda _, kind: lambda value, _d: isinstance(value, _KINDS.get(getattr(kind, "value", ""), ())),
            "in": self._in,
            "pattern": self._pattern,
            "minLength": lambda _, bound: _length(bound, lambda length, limit: length >= limit),
            "maxLength": lambda _, bound: _length(bound, lambda length, limit: length <= limit),
            "languageIn": self._language_in,
            "minInclusive": lambda _, bound: lambda value, _d: compared(value, bound) in (0, 1),
            "maxInclusive": lambda _, bound: lambda value, _d: compared(value, bound) in (0, -1),
            "minExclusive": lambda _, bound: lambda value, _d: compared(value, bound) == 1,
            "maxExclusive": lambda _, bound: lambda value, _d: compared(value, bound) == -1,
            "node": lambda _, shape: lambda value, depth: prover.proven(shape, value, depth + 1),
            "and": lambda _, shapes: self._members(shapes, all),
            "or": lambda _, shapes: self._members(shapes, any),
            "closed": self._closed,
        }

    def _class(self, _shape: object, wanted: Term) -> Callable[[Term, int], bool]:
        facts = self._prover.facts
        return lambda value, _depth: not isinstance(value, Literal) and wanted in facts.classes(value)

    def properties(self, shapes: Sequence[object]) -> Callable[[Term, int], bool]:
        """All property shapes of a shape; those whose property has no value are passed over."""
        prover = self._prover
        by_path: dict[NamedNode, list[object]] = {}
        always: list[object] = []
        graver = frozenset(shape for shape in shapes if self._is_grave(shape))

        def sort_out() -> None:
            for shape in shapes:
                path = prover.idle_without(shape)
                (always if path is None else by_path.setdefault(path, [])).append(shape)

        def holds(value: Term, depth: int) -> bool:
            if not always and not by_path:
                sort_out()
            for predicate in prover.facts.about(value):
                for shape in by_path.get(predicate, ()):
                    if (depth or shape in graver) and not prover.proven(shape, value, depth + 1):
                        return False
            return all(prover.proven(s, value, depth + 1) for s in always if depth or s in graver) if always else True

        return holds

    def _is_grave(self, shape: object) -> bool:
        """True if breaking this property shape of its own counts against a thing."""
        severities = self._prover.shapes.said(shape).get(f"{SH}severity", ())
        is_lesser = bool(severities) and all(getattr(item, "value", "") in _LESSER for item in severities)
        return not (self._prover.only_violations and is_lesser)

    def _in(self, _shape: object, members: Term) -> Callable[[Term, int], bool]:
        listed = frozenset(map(key, self._prover.shapes.members(members)))
        return lambda value, _depth: key(value) in listed

    def _pattern(self, shape: object, pattern: Term) -> Callable[[Term, int], bool]:
        flags = 0
        for item in self._prover.shapes.said(shape).get(f"{SH}flags", ()):
            letters = getattr(item, "value", "").lower()
            flags |= (re.IGNORECASE if "i" in letters else 0) | (re.MULTILINE if "m" in letters else 0)
        try:
            form = re.compile(getattr(pattern, "value", ""), flags)
        except re.error:
            return lambda _value, _depth: False
        return lambda value, _depth: isinstance(value, NamedNode | Literal) and form.search(value.value) is not None

    def _language_in(self, _shape: object, members: Term) -> Callable[[Term, int], bool]:
        listed = frozenset(getattr(item, "value", "").lower() for item in self._prover.shapes.members(members))
        return lambda value, _depth: isinstance(value, Literal) and (value.language or "").lower() in listed - {""}

    def _members(self, shapes: Term, together: Callable[[Iterable[object]], bool]) -> Callable[[Term, int], bool]:
        prover, members = self._prover, self._prover.shapes.members(shapes)
        return lambda value, depth: bool(members) and together(prover.proven(s, value, depth + 1) for s in members)

    def _closed(self, shape: object, closed: Term) -> Callable[[Term, int], bool]:
        shapes, facts = self._prover.shapes, self._prover.facts
        if getattr(closed, "value", "") == "false":
            return lambda _value, _depth: True
        allowed = {
            p for item in shapes.said(shape).get(f"{SH}property", ()) for p in shapes.said(item).get(f"{SH}path", ())
        }
        for item in shapes.said(shape).get(f"{SH}ignoredProperties", ()):
            allowed.update(shapes.members(item))
        return lambda value, _depth: not isinstance(value, Literal) and facts.about(value).keys() <= allowed


class _Sets:
    """Constraints on the values of a node together."""

    def __init__(self, prover: Prover) -> None:
        self._prover = prover
        self.makers: dict[str, Callable[[object, Term], Callable[[Term, Sequence[Term], int], bool]]] = {
            "minCount": lambda _, bound: _count(bound, lambda count, limit: count >= limit),
            "maxCount": lambda _, bound: _count(bound, lambda count, limit: count <= limit),
            "hasValue": lambda _, wanted: lambda _n, values, _d: key(wanted) in map(key, values),
            "uniqueLang": lambda _, wanted: _unique if getattr(wanted, "value", "") == "true" else _anything,
            "equals": lambda _, path: lambda node, values, _d: self._keys(node, path) == set(map(key, values)),
            "disjoint": lambda _, path: lambda node, values, _d: not self._keys(node, path) & set(map(key, values)),
            "lessThan": lambda _, path: self._order(path, (-1,)),
            "lessThanOrEquals": lambda _, path: self._order(path, (-1, 0)),
        }

    def _others(self, node: Term, path: Term) -> Sequence[Term]:
        return self._prover.facts.about(node).get(path, ()) if isinstance(path, NamedNode) else ()

    def _keys(self, node: Term, path: Term) -> set[object]:
        return set(map(key, self._others(node, path)))

    def _order(self, path: Term, wanted: tuple[int, ...]) -> Callable[[Term, Sequence[Term], int], bool]:
        return lambda node, values, _depth: all(
            compared(value, other) in wanted for value in values for other in self._others(node, path)
        )

    def qualified(self, shape: object) -> Callable[[Term, Sequence[Term], int], bool]:
        """So many values as are surely of the kind are enough, and all of them together not too many."""
        said = self._prover.shapes.said(shape)
        if f"{SH}qualifiedValueShapesDisjoint" in said:
            return lambda _node, _values, _depth: False
        (kind, *_) = said[f"{SH}qualifiedValueShape"]
        least = [_whole(item) for item in said.get(f"{SH}qualifiedMinCount", ())]
        most = [_whole(item) for item in said.get(f"{SH}qualifiedMaxCount", ())]

        def holds(_node: Term, values: Sequence[Term], depth: int) -> bool:
            sure = sum(self._prover.proven(kind, value, depth + 1) for value in values) if least else 0
            return all(n is not None and sure >= n for n in least) and all(
                n is not None and len(values) <= n for n in most
            )

        return holds


def _anything(_node: Term, _values: Sequence[Term], _depth: int) -> bool:
    return True


def _unique(_node: Term, values: Sequence[Term], _depth: int) -> bool:
    tags = [value.language.lower() for value in values if isinstance(value, Literal) and value.language]
    return len(tags) == len(set(tags))


def _count(bound: Term, holds: Callable[[int, int], bool]) -> Callable[[Term, Sequence[Term], int], bool]:
    limit = _whole(bound)
    return lambda _node, values, _depth: limit is not None and holds(len(values), limit)


def _length(bound: Term, holds: Callable[[int, int], bool]) -> Callable[[Term, int], bool]:
    limit = _whole(bound)
    return lambda value, _depth: (
        limit is not None and isinstance(value, NamedNode | Literal) and holds(len(value.value), limit)
    )


def _whole(term: Term) -> int | None:
    """A count as shapes give it; None for anything else, of which pySHACL is to complain."""
    is_count = isinstance(term, Literal) and term.datatype.value.endswith("#integer") and term.value.isdecimal()
    return int(term.value) if is_count and isinstance(term, Literal) else None


def _is_true(terms: Iterable[Term]) -> bool:
    return [getattr(term, "value", "") for term in terms] == ["true"]
