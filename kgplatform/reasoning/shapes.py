"""SHACL shapes: those beside the ontologies in use, a user's files, and those an ontology implies; what they look at.

Blank nodes become IRIs, so that shapes of several files can be put together and a report can be traced to its shape.
Implied are functional properties, ranges and restrictions: OWL speaks of an open world, SHACL of the data at hand, so
what an ontology forbids (a second value, a value of another kind) is a violation; what it says there is
(``owl:minCardinality``, ``owl:someValuesFrom``) may only be unknown, so that missing it is a warning.

Specifications: SHACL (https://www.w3.org/TR/shacl/), OWL 2 Mapping to RDF Graphs §3.2.4 (restrictions).
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from pyoxigraph import Literal, NamedNode, RdfFormat, Triple

from kgplatform.errors import OntologyError, StoreError
from kgplatform.ontology.schema import OntologyProperty, TermIndex
from kgplatform.reasoning.scope import Facts, Instances
from kgplatform.sparql.tokens import scan
from kgplatform.store.oxigraph import numbered, parse, skolemised
from kgplatform.types import Term
from kgplatform.vocab import OWL, RDF, RDFS, SH, SUBCLASS_OF, TYPE, XSD, XSD_INTEGER, local_name, slug

_T = TypeVar("_T")

UNNAMED = "urn:kgplatform:node:"
_FORMATS = {"ttl": RdfFormat.TURTLE, "nt": RdfFormat.N_TRIPLES, "rdf": RdfFormat.RDF_XML, "xml": RdfFormat.RDF_XML,
            "jsonld": RdfFormat.JSON_LD}  # fmt: skip
_FIRST, _REST, _NIL = NamedNode(f"{RDF}first"), NamedNode(f"{RDF}rest"), NamedNode(f"{RDF}nil")
_COMPONENT = NamedNode(f"{SH}ConstraintComponent")
_CLOSED = "zeroOrMorePath", "oneOrMorePath"
_DEEPEST = 6
_BESIDE = frozenset(f"{SH}{name}" for name in ("closed", "equals", "disjoint", "lessThan", "lessThanOrEquals"))
"""What looks at other properties of a node than the one in question."""

_VACUOUS = frozenset(
    f"{SH}{name}"
    for name in (
        *("path", "name", "description", "order", "group", "message", "severity", "defaultValue", "deactivated"),
        *("class", "datatype", "nodeKind", "in", "or", "and", "xone", "not", "node", "pattern", "flags"),
        *("minInclusive", "maxInclusive", "minExclusive", "maxExclusive", "minLength", "maxLength", "maxCount"),
        *("languageIn", "uniqueLang", "disjoint", "lessThan", "lessThanOrEquals"),
    )
) | {TYPE.value}
"""What says something of the values that there are; where there are none, it holds."""


@dataclass(frozen=True, slots=True)
class Reach:
    """How far shapes look from a thing: so many steps forward, and these properties backward.

    ``is_winding``: backward and forward steps may follow on each other.
    """

    steps: int
    backward: tuple[NamedNode, ...]
    is_winding: bool = False


class Shapes:
    """The shapes in use, as triples without blank nodes."""

    def __init__(self, triples: Iterable[Triple]) -> None:
        self.triples = tuple(dict.fromkeys(triples))
        self._made: dict[Callable[[Shapes], Any], Any] = {}

    def made(self, make: Callable[[Shapes], _T]) -> _T:
        """What that makes of the shapes; done once, for every document is held to the same ones."""
        if make not in self._made:
            self._made[make] = make(self)
        found: _T = self._made[make]
        return found

    @cached_property
    def _facts(self) -> dict[object, dict[str, list[Term]]]:
        facts: dict[object, dict[str, list[Term]]] = {}
        for triple in self.triples:
            facts.setdefault(triple.subject, {}).setdefault(triple.predicate.value, []).append(triple.object)
        return facts

    def _objects(self, subject: object, name: str) -> list[Term]:
        return self.said(subject).get(f"{SH}{name}", [])

    def said(self, shape: object) -> Mapping[str, list[Term]]:
        """What is said of a shape: the values of each property."""
        return self._facts.get(shape, {})

    def members(self, head: object) -> tuple[Term, ...]:
        """The members of a list; none where it is not well made."""
        found: list[Term] = []
        seen: set[object] = set()
        while head != _NIL:
            said = self.said(head)
            first, rest = said.get(_FIRST.value, ()), said.get(_REST.value, ())
            if head in seen or len(first) != 1 or len(rest) != 1:
                return ()
            seen.add(head)
            found.append(first[0])
            head = rest[0]
        return tuple(found)

    @cached_property
    def path_nodes(self) -> frozenset[object]:
        """The nodes without a name that make up paths: what reads SHACL takes an IRI there for a property."""
        waiting = [t.object for t in self.triples if t.predicate.value == f"{SH}path"]
        found: set[object] = set()
        while waiting:
            node = waiting.pop()
            if node in found or not getattr(node, "value", "").startswith(UNNAMED):
                continue
            found.add(node)
            waiting += [item for objects in self.said(node).values() for item in objects]
        return frozenset(found)

    @cached_property
    def custom(self) -> frozenset[str]:
        """The parameters of constraint components that are defined in the shapes themselves."""
        components = (t.subject for t in self.triples if t.predicate == TYPE and t.object == _COMPONENT)
        parameters = (item for node in components for item in self.said(node).get(f"{SH}parameter", ()))
        paths = (path for item in parameters for path in self.said(item).get(f"{SH}path", ()))
        return frozenset(path.value for path in paths if isinstance(path, NamedNode))

    @cached_property
    def owners(self) -> dict[object, object]:
        """The shape that each nested shape belongs to."""
        nested = (f"{SH}property", f"{SH}node")
        return {triple.object: triple.subject for triple in self.triples if triple.predicate.value in nested}

    def name(self, shape: object) -> str | None:
        """The IRI of the shape, or of the nearest one around it that has a name."""
        seen: set[object] = set()
        while shape not in seen:
            if isinstance(shape, NamedNode) and not shape.value.startswith(UNNAMED):
                return shape.value
            seen.add(shape)
            shape = self.owners.get(shape)
        return None

    def constrains(self, path: NamedNode, *names: str) -> bool:
        """True if some shape says one of those things (such as ``maxCount``) of a property."""
        return bool(self._said.get(path, frozenset()) & {f"{SH}{name}" for name in names})

    @cached_property
    def _said(self) -> dict[object, frozenset[str]]:
        said: dict[object, frozenset[str]] = {}
        for facts in list(self._facts.values()):
            for path in facts.get(f"{SH}path", ()):
                said[path] = said.get(path, frozenset()) | frozenset(facts)
        return said

    def used_in(self, predicates: Iterable[NamedNode]) -> Shapes:
        """Without the property shapes that must hold because their property is not in the data; most of them."""
        used = set(predicates)
        idle = {
            subject
            for subject, facts in list(self._facts.items())
            if subject in self.owners
            and facts.keys() <= _VACUOUS
            and (paths := facts.get(f"{SH}path"))
            and all(isinstance(p, NamedNode) and not p.value.startswith(UNNAMED) and p not in used for p in paths)
        }
        return Shapes(t for t in self.triples if t.subject not in idle and t.object not in idle)

    @cached_property
    def reach(self) -> Reach:
        """How far from a thing the shapes look."""
        backward = [
            t.object if isinstance(t.object, NamedNode) else None
            for t in self.triples
            if t.predicate.value in (f"{SH}inversePath", f"{SH}targetObjectsOf")
        ]
        steps = max((self._steps(shape, ()) for shape in self._facts), default=1)
        steps += 2 * any(f"{SH}sparql" in said for said in self._facts.values())
        named = tuple(dict.fromkeys(item for item in backward if item is not None and item not in self.path_nodes))
        return Reach(min(max(steps, 1), _DEEPEST), named, self._is_winding)

    def _steps(self, shape: object, around: tuple[object, ...]) -> int:
        """How many properties lie between a node and the furthest that the shape asks of it."""
        if shape in around:
            return _DEEPEST
        said = self.said(shape)
        own = max((self._length(path) for path in said.get(f"{SH}path", ())), default=int(bool(_BESIDE & said.keys())))
        inner = (self._steps(item, (*around, shape)) for item in self._inner(said))
        return min(own + max(inner, default=0), _DEEPEST)

    def _inner(self, said: Mapping[str, list[Term]]) -> list[Term]:
        """The shapes that values are held to."""
        found = [
            item for name in ("property", "node", "not", "qualifiedValueShape") for item in said.get(f"{SH}{name}", ())
        ]
        lists = [item for name in ("and", "or", "xone") for item in said.get(f"{SH}{name}", ())]
        return found + [member for head in lists for member in self.members(head)]

    @cached_property
    def _is_winding(self) -> bool:
        """True if some path goes backward and on from there, so that what lies behind matters too."""
        for triple in self.triples:
            if triple.predicate.value == f"{SH}inversePath" and (
                triple.object in self.path_nodes or self._is_step(triple.subject)
            ):
                return True
        return any(
            self._inner(said) or _BESIDE & said.keys()
            for said in self._facts.values()
            if any(self._objects(path, "inversePath") for path in said.get(f"{SH}path", ()))
        )

    def _is_step(self, node: object) -> bool:
        """True if the path is part of another."""
        path = f"{SH}path"
        return any(
            t.object == node and t.predicate.value != path and t.subject in self.path_nodes for t in self.triples
        )

    def _length(self, path: object) -> int:
        """How many properties a path goes along."""
        if any(self._objects(path, name) for name in _CLOSED):
            return _DEEPEST
        length = 0
        seen: set[object] = set()
        while path in self._facts and path not in seen and path != _NIL:
            seen.add(path)
            length += bool(self._facts[path].get(_FIRST.value))
            rest = self._facts[path].get(_REST.value)
            if not rest:
                break
            path = rest[0]
        return max(length, 1)


def beside(ontologies: Sequence[Path]) -> list[Path]:
    """The shapes files that lie beside ontologies: ``travel.shapes.ttl`` beside ``travel.ttl``."""
    found = (path.with_name(f"{path.stem}.shapes.ttl") for path in ontologies)
    return [path for path in dict.fromkeys(found) if path.is_file()]


def read_shapes(path: Path) -> list[Triple]:
    """The triples of a shapes file, blank nodes replaced.

    Raises:
        OntologyError: the file is missing or empty, does not parse, holds no shape, or would reach the network.
    """
    format_ = _FORMATS.get(path.suffix.lower().removeprefix("."))
    if format_ is None:
        known = ", ".join(f".{suffix}" for suffix in _FORMATS)
        raise OntologyError(f"has the suffix {path.suffix or '(none)'}; shapes are read from {known}", source=str(path))
    try:
        data = path.read_bytes().removeprefix(b"\xef\xbb\xbf")
        quads = parse(data, format_, base_iri=f"file:///shapes/{path.stem}", source=path.name)
    except StoreError as error:
        raise OntologyError(str(error).removeprefix(f"{path.name}: "), source=str(path)) from error
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise OntologyError(f"cannot be read: {reason}", source=str(path)) from error
    prefix = f"{UNNAMED}{hashlib.sha256(data).hexdigest()[:12]}:"
    triples = list(skolemised((item.triple for item in numbered(quads)), prefix))
    _refuse_unusable(triples, path)
    return triples


def _refuse_unusable(triples: Sequence[Triple], path: Path) -> None:
    if not any(triple.predicate.value.startswith(SH) or _is_shape(triple) for triple in triples):
        raise OntologyError("holds no SHACL shape", source=str(path))
    for triple in _sparql(triples):
        text = triple.object.value if isinstance(triple.object, Literal) else ""
        if scan(text).reaches_network:
            raise OntologyError("a constraint in SPARQL uses SERVICE, which reaches another server", source=str(path))


def _is_shape(triple: Triple) -> bool:
    return triple.predicate == TYPE and isinstance(triple.object, NamedNode) and triple.object.value.startswith(SH)


def _sparql(triples: Iterable[Triple]) -> Iterator[Triple]:
    texts = (f"{SH}select", f"{SH}ask", f"{SH}construct", f"{SH}update")
    return (triple for triple in triples if triple.predicate.value in texts)


# Targets (SHACL §2.1.3, https://www.w3.org/TR/shacl/#targets).


_CLASS, _NODE = NamedNode(f"{RDFS}Class"), NamedNode(f"{SH}targetNode")


_TARGETS = frozenset(f"{SH}{name}" for name in ("targetNode", "targetClass", "targetSubjectsOf", "targetObjectsOf"))


def targeted(shapes: Shapes) -> frozenset[Term]:
    """The shapes that have targets."""
    classes = _metaclasses(shapes)
    return frozenset(
        t.subject
        for t in shapes.triples
        if t.predicate.value in _TARGETS or (t.predicate == TYPE and t.object in classes)
    )


def aimed(shapes: Shapes, nodes: Mapping[NamedNode, Iterable[Term]]) -> Shapes:
    """The shapes with each node as a target of its shapes, and no other targets."""
    classes = _metaclasses(shapes)
    kept = (
        t
        for t in shapes.triples
        if t.predicate.value not in _TARGETS and not (t.predicate == TYPE and t.object in classes)
    )
    wanted = (Triple(shape, _NODE, node) for node, about in nodes.items() for shape in about)  # type: ignore[arg-type]
    return Shapes([*kept, *wanted])


def _metaclasses(shapes: Shapes) -> frozenset[Term]:
    """What makes a shape a class too, which then is about its own members."""
    below = (t.subject for t in shapes.triples if t.predicate == SUBCLASS_OF and t.object == _CLASS)
    return frozenset((_CLASS, *below))


@dataclass(frozen=True, slots=True)
class _Aims:
    """The shapes that have targets, by what makes a node one; read once for the same shapes."""

    nodes: dict[Term, list[Term]]
    classes: dict[Term, list[Term]]
    subjects_of: dict[Term, list[Term]]
    objects_of: dict[Term, list[Term]]


def _read_aims(shapes: Shapes) -> _Aims:
    found = _Aims(defaultdict(list), defaultdict(list), defaultdict(list), defaultdict(list))
    places = {
        f"{SH}targetNode": found.nodes,
        f"{SH}targetClass": found.classes,
        f"{SH}targetSubjectsOf": found.subjects_of,
        f"{SH}targetObjectsOf": found.objects_of,
    }
    metaclasses = _metaclasses(shapes)
    for triple in shapes.triples:
        if triple.predicate.value in places:
            places[triple.predicate.value][triple.object].append(triple.subject)
        elif triple.predicate == TYPE and triple.object in metaclasses:
            found.classes[triple.subject].append(triple.subject)
    return found


class Targets:
    """The shapes that have targets, by what makes a node one."""

    def __init__(self, shapes: Shapes, facts: Facts) -> None:
        self._facts = facts
        aims = shapes.made(_read_aims)
        self._nodes, self._classes = aims.nodes, aims.classes
        self._subjects_of, self._objects_of = aims.subjects_of, aims.objects_of
        self._by_classes: dict[frozenset[NamedNode], tuple[Term, ...]] = {}

    def about(self, node: Term) -> Iterator[Term]:
        """The shapes of which the node is a focus node; one may come twice."""
        yield from self._nodes.get(node, ())
        classes = self._facts.classes(node)
        if classes not in self._by_classes:
            found = (shape for class_ in classes for shape in self._classes.get(class_, ()))
            self._by_classes[classes] = tuple(dict.fromkeys(found))
        yield from self._by_classes[classes]
        if self._subjects_of:
            for predicate in self._facts.about(node):
                yield from self._subjects_of.get(predicate, ())
        for property_, by_object in self._objects_of.items():
            if isinstance(property_, NamedNode) and self._facts.is_object(property_, node):
                yield from by_object

    def apart(self) -> Iterator[NamedNode]:
        """The nodes that shapes are about even if the graph says nothing of them: named, or values of a property."""
        yield from (node for node in self._nodes if isinstance(node, NamedNode))
        for property_ in self._objects_of:
            if isinstance(property_, NamedNode):
                yield from self._facts.values(property_)


def neighbourhood(instances: Instances, things: Sequence[NamedNode], reach: Reach) -> Iterator[Triple]:
    """What is said of the things as far as shapes look, with the classes of all that they refer to."""
    seen: set[object] = set()
    frontier: list[Any] = list(things)
    for _ in range(reach.steps):
        further: list[Any] = []
        for node in frontier:
            if node not in seen:
                seen.add(node)
                for triple in () if isinstance(node, Literal) else instances.held(node):
                    yield triple
                    further.append(triple.object)
                if reach.is_winding:  # a path may go back from a literal too, to all that have the same
                    behind = [t for predicate in reach.backward for t in instances.held(None, predicate, node)]
                    yield from behind
                    further += [triple.subject for triple in behind]
        frontier = [node for node in further if reach.is_winding or not isinstance(node, Literal)]
    for node in frontier:
        if node not in seen and not isinstance(node, Literal):
            seen.add(node)
            yield from instances.held(node, TYPE)
    yield from _backward(instances, things, reach)


def _backward(instances: Instances, things: Iterable[NamedNode], reach: Reach) -> Iterator[Triple]:
    for thing in things:
        for predicate in reach.backward:
            for triple in instances.held(None, predicate, thing):
                yield triple
                if isinstance(triple.subject, NamedNode):
                    yield from instances.held(triple.subject, TYPE)


_SHAPE = "urn:kgplatform:shape:"
_COUNTS = {
    "minCardinality": ("minCount", "Warning"),
    "maxCardinality": ("maxCount", "Violation"),
    "cardinality": ("maxCount", "Violation"),
    "minQualifiedCardinality": ("qualifiedMinCount", "Warning"),
    "maxQualifiedCardinality": ("qualifiedMaxCount", "Violation"),
    "qualifiedCardinality": ("qualifiedMaxCount", "Violation"),
}


def implied(vocabulary: TermIndex, given: Shapes) -> list[Triple]:
    """The shapes that the ontology implies and no given shape states already."""
    found: list[Triple] = []
    for term in vocabulary.ontology.properties.values():
        if not term.internal:
            found += _of_property(term, given, vocabulary)
    return found + list(_of_restrictions(vocabulary))


def _sh(name: str) -> NamedNode:
    return NamedNode(f"{SH}{name}")


def _integer(value: object) -> Literal:
    return Literal(str(value), datatype=XSD_INTEGER)


def _of_property(term: OntologyProperty, given: Shapes, vocabulary: TermIndex) -> list[Triple]:
    """A node shape for the subjects of the property; nothing where given shapes say the same."""
    node = NamedNode(f"{_SHAPE}{slug(local_name(term.iri.value))}-{_digest(term.iri.value)}")
    label = vocabulary.ontology.label(term.iri)
    facts: list[tuple[NamedNode, Term]] = []
    if term.functional and not given.constrains(term.iri, "maxCount"):
        facts.append((_sh("maxCount"), _integer(1)))
    if term.ranges and not given.constrains(term.iri, "datatype", "class", "or", "in", "nodeKind", "node"):
        facts += _range(term, vocabulary)
    if not facts:
        return []
    inner = NamedNode(f"{node.value}/property")
    return [
        Triple(node, TYPE, _sh("NodeShape")),
        Triple(node, _sh("targetSubjectsOf"), term.iri),
        Triple(node, _sh("property"), inner),
        Triple(inner, _sh("path"), term.iri),
        Triple(inner, _sh("message"), Literal(f"The values of {label!r} are not as the ontology has them.")),
        *(Triple(inner, predicate, value) for predicate, value in facts),
    ]


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def _range(term: OntologyProperty, vocabulary: TermIndex) -> list[tuple[NamedNode, Term]]:
    """The kind of value, where one class or datatype is meant; unions are held by the conformance check."""
    if len(term.ranges) != 1:
        return []
    (only,) = term.ranges
    if term.is_object:
        known = only in vocabulary.ontology.classes
        return [(_sh("nodeKind"), _sh("IRI")), *([(_sh("class"), only)] if known else [])]
    exact = (f"{XSD}string", f"{XSD}integer", f"{XSD}date", f"{XSD}dateTime", f"{XSD}boolean", f"{XSD}gYear")
    return (
        [(_sh("datatype"), only)] if only.value in (*exact, f"{RDF}langString") else [(_sh("nodeKind"), _sh("Literal"))]
    )


def _of_restrictions(vocabulary: TermIndex) -> Iterator[Triple]:
    facts: dict[object, dict[str, list[Term]]] = defaultdict(lambda: defaultdict(list))
    for triple in vocabulary.triples:
        facts[triple.subject][triple.predicate.value].append(triple.object)
    above = (f"{RDFS}subClassOf", f"{OWL}equivalentClass")
    for class_ in vocabulary.ontology.classes:
        for node in (item for predicate in above for item in facts[class_].get(predicate, ())):
            if f"{OWL}onProperty" in facts.get(node, {}):
                yield from _restriction(class_, node, facts[node], vocabulary)


def _restriction(class_: NamedNode, node: Term, said: dict[str, list[Term]], vocabulary: TermIndex) -> Iterator[Triple]:
    path = said[f"{OWL}onProperty"][0]
    if not isinstance(path, NamedNode):
        return
    name = f"{slug(local_name(class_.value))}-{slug(local_name(path.value))}-{_digest(str(node))}"
    shape, inner = NamedNode(f"{_SHAPE}{name}"), NamedNode(f"{_SHAPE}{name}/property")
    constraints = list(_constraints(said, inner))
    if not constraints:
        return
    severity = _sh(next(severity for _, severity in constraints))
    text = f"{vocabulary.ontology.label(path)!r} of {vocabulary.ontology.label(class_)!r}: the ontology restricts it"
    yield Triple(shape, TYPE, _sh("NodeShape"))
    yield Triple(shape, _sh("targetClass"), class_)
    yield Triple(shape, _sh("property"), inner)
    yield Triple(inner, _sh("path"), path)
    yield Triple(inner, _sh("severity"), severity)
    yield Triple(inner, _sh("message"), Literal(text))
    for triples, _ in constraints:
        yield from triples


def _constraints(said: dict[str, list[Term]], inner: NamedNode) -> Iterator[tuple[list[Triple], str]]:
    """The constraints of a restriction, each with the severity that it deserves."""
    kind = next((item for name in ("onClass", "onDataRange") for item in said.get(f"{OWL}{name}", ())), None)
    for name, (constraint, severity) in _COUNTS.items():
        for count in said.get(f"{OWL}{name}", ()):
            if isinstance(count, Literal) and count.value.isdecimal():
                triples = [Triple(inner, _sh(constraint), _integer(count.value))]
                yield triples + (_qualified(inner, kind) if "Qualified" in name or name[0] == "q" else []), severity
    for filler in said.get(f"{OWL}allValuesFrom", ()):
        if isinstance(filler, NamedNode) and _is_plain(filler):
            yield [Triple(inner, _sh("datatype" if filler.value.startswith(XSD) else "class"), filler)], "Violation"
    for filler in said.get(f"{OWL}someValuesFrom", ()):
        yield [Triple(inner, _sh("qualifiedMinCount"), _integer(1)), *_qualified(inner, filler)], "Warning"
    for value in said.get(f"{OWL}hasValue", ()):
        yield [Triple(inner, _sh("hasValue"), value)], "Warning"


def _qualified(inner: NamedNode, kind: Term | None) -> list[Triple]:
    shape = NamedNode(f"{inner.value}/kind")
    found = [Triple(inner, _sh("qualifiedValueShape"), shape), Triple(shape, TYPE, _sh("NodeShape"))]
    if isinstance(kind, NamedNode) and _is_plain(kind):
        found.append(Triple(shape, _sh("datatype" if kind.value.startswith(XSD) else "class"), kind))
    return found


def _is_plain(iri: NamedNode) -> bool:
    """True if it is a named class or datatype, and no class expression nor ``owl:Thing``."""
    return not iri.value.startswith(("urn:kgplatform:node:", OWL, RDFS))
