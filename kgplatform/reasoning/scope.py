"""What a check looks at and what it finds: the things of the whole graph or of one document, and what is wrong.

The ontology's own statements are part of the default graph, but they are what data is held to, not data.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from pyoxigraph import Literal, NamedNode, Quad, Triple

from kgplatform.store.dataset import EvidenceDataset
from kgplatform.store.oxigraph import DEFAULT_GRAPH
from kgplatform.types import Evidence, Term
from kgplatform.vocab import CORE, DCTERMS, OWL, RDF, RDFS, SUBCLASS_OF, TYPE


# Severities are SHACL's (https://www.w3.org/TR/shacl/#severity): a violation contradicts the ontology, a shape or the
# law of evidence; a warning is probably wrong; an info is worth knowing.
class Severity(StrEnum):
    """How bad a finding is, worst first."""

    VIOLATION = "violation"
    WARNING = "warning"
    INFO = "info"


class Fault(StrEnum):
    """What a finding is about."""

    SHAPE = "shape"
    DOMAIN = "domain"
    RANGE = "range"
    DATATYPE = "datatype"
    PATTERN = "pattern"
    FUNCTIONAL = "functional"
    DISJOINT = "disjoint"
    UNKNOWN_CLASS = "unknown-class"
    UNKNOWN_PROPERTY = "unknown-property"
    NO_EVIDENCE = "no-evidence"
    NOT_HELD = "not-held"
    DANGLING_GRAPH = "dangling-graph"
    MISSING_GRAPH = "missing-graph"
    UNREACHABLE = "unreachable"
    LABEL_CLASH = "label-clash"
    KEY_CLASH = "key-clash"
    QUARANTINED = "quarantined"


@dataclass(frozen=True, slots=True)
class Support:
    """Where a statement rests: its graph, the passage if the graph has text, and the method that made it."""

    triple: Triple
    graph: NamedNode
    method: str
    passage: Evidence | None = None


@dataclass(frozen=True, slots=True)
class Finding:
    """Something wrong with ``focus``; ``statements`` are those at fault.

    ``shape`` is the shape that says so (too), ``constraint`` the name of its constraint, such as ``MaxCount``.
    ``messages`` is what the shape says in its languages.
    ``fixable``: `repair` can mend it without losing what anybody read or stated.
    """

    kind: Fault
    severity: Severity
    focus: Term
    message: str
    path: NamedNode | None = None
    value: Term | None = None
    shape: str | None = None
    constraint: str = ""
    statements: tuple[Triple, ...] = ()
    evidence: tuple[Support, ...] = ()
    fixable: bool = False
    messages: tuple[Literal, ...] = ()

    def told(self, language: str) -> str:
        """The message in the language, if the shape has one in it, else in English."""
        return best(self.messages, language) if self.messages else self.message


def best(messages: Iterable[Literal], language: str) -> str:
    """The message in the language, else in English, else the first there is."""
    listed = list(messages)
    for wanted in (language, "en", ""):
        for message in listed:
            if (message.language or "").lower().split("-")[0] == wanted:
                return " ".join(message.value.split())[:300]
    return " ".join(listed[0].value.split())[:300] if listed else "does not keep to the shape"


@dataclass(frozen=True, slots=True)
class CheckReport:
    """The findings, worst first, on how many things, and what was repaired before (one sentence each)."""

    findings: tuple[Finding, ...]
    checked: int
    seconds: float = 0.0
    repaired: tuple[str, ...] = ()

    @property
    def violations(self) -> int:
        """How many findings are violations."""
        return sum(finding.severity is Severity.VIOLATION for finding in self.findings)

    @property
    def conforms(self) -> bool:
        """True if there is no finding at all, as SHACL has it."""
        return not self.findings

    @property
    def counts(self) -> Mapping[Fault, int]:
        """How many findings there are of each kind that occurs."""
        return Counter(finding.kind for finding in self.findings)


_SEVERITIES = tuple(Severity)


def in_order(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """The findings each once, worst first, then by thing and property: the same data gives the same report."""
    return tuple(sorted(dict.fromkeys(findings), key=_place))


def _place(finding: Finding) -> tuple[object, ...]:
    path = finding.path.value if finding.path else ""
    return (_SEVERITIES.index(finding.severity), finding.kind, str(finding.focus), path, str(finding.value))


_MOST_TYPED = 500_000
_STRUCTURE = ("urn:kgplatform:node:",)
REPLACED = NamedNode(f"{DCTERMS}isReplacedBy")
_LINK = NamedNode(f"{CORE}Link")
_DECLARING = frozenset(
    NamedNode(iri)
    for iri in (
        *(f"{OWL}{name}" for name in ("Class", "ObjectProperty", "DatatypeProperty", "AnnotationProperty", "Ontology")),
        *(f"{RDFS}Class", f"{RDF}Property", f"{RDFS}Datatype"),
    )
)


@dataclass(frozen=True, slots=True)
class Scope:
    """The things to look at; ``graphs`` are the document's evidence graphs, None where everything is checked."""

    subjects: tuple[NamedNode, ...]
    graphs: tuple[NamedNode, ...] | None = None


class Supposed:
    """What the knowledge is supposed to hold besides, and not to hold, as if a document came and another went."""

    def __init__(self, added: Iterable[Triple] = (), removed: Iterable[Triple] = ()) -> None:
        self.removed = frozenset(removed)
        self._by_subject: dict[object, dict[Triple, None]] = {}
        for triple in added:
            self._by_subject.setdefault(triple.subject, {})[triple] = None

    @cached_property
    def _by_object(self) -> dict[object, list[Triple]]:
        found: dict[object, list[Triple]] = {}
        for triples in self._by_subject.values():
            for triple in triples:
                found.setdefault(triple.object, []).append(triple)
        return found

    def is_added(self, triple: Triple) -> bool:
        """True if the statement is supposed to be held besides."""
        return triple in self._by_subject.get(triple.subject, {})

    def fitting(self, subject: object, predicate: object, object_: object) -> Iterator[Triple]:
        """The added statements that fit the pattern, of which subject or object must be given."""
        found = self._by_subject.get(subject, {}) if subject is not None else self._by_object.get(object_, [])
        for triple in found:
            if predicate in (None, triple.predicate) and object_ in (None, triple.object):
                yield triple


class Instances:
    """The data of a workspace, without its ontology; with ``supposed``, as it would be."""

    def __init__(self, dataset: EvidenceDataset, supposed: Supposed | None = None) -> None:
        self.dataset = dataset
        self._supposed = supposed
        self.store = dataset.store
        self._types: dict[NamedNode, frozenset[NamedNode]] = {}

    @cached_property
    def _ontology(self) -> frozenset[Triple]:
        return frozenset(item.triple for item in self.store.quads(graph=self.dataset.ontology))

    @cached_property
    def _declared(self) -> frozenset[object]:
        """What the ontology speaks of: only of that need it be asked which statements are its own."""
        return frozenset(triple.subject for triple in self._ontology)

    def whole(self) -> Scope:
        """Everything that the default graph describes."""
        declared = self._declared
        found = (
            item.subject
            for item in self.store.quads(graph=DEFAULT_GRAPH)
            if item.subject not in declared or item.triple not in self._ontology
        )
        return Scope(self.things(found))

    def of(self, graphs: Iterable[NamedNode]) -> Scope:
        """What the statements in the graphs of a document are about."""
        listed = tuple(graphs)
        found = (item.subject for graph in listed for item in self.store.quads(graph=graph))
        return Scope(self.things(found), listed)

    def things(self, subjects: Iterable[object]) -> tuple[NamedNode, ...]:
        """The things among them: IRIs, each once, that are no terms of an ontology and no notes of linking.

        Those are what another thing replaced, and links where the ontology does not speak of them.
        """
        named = (s for s in dict.fromkeys(subjects) if isinstance(s, NamedNode) and not s.value.startswith(_STRUCTURE))
        is_own = next(self.store.quads(_LINK, graph=self.dataset.ontology), None) is not None
        no_things = _DECLARING if is_own else _DECLARING | {_LINK}
        return tuple(s for s in named if not self.types(s) & no_things and not self._is_replaced(s))

    def _is_replaced(self, thing: NamedNode) -> bool:
        return not self.types(thing) and next(self.held(thing, REPLACED), None) is not None

    @property
    def is_supposed(self) -> bool:
        """True if this is not only what the store holds."""
        return self._supposed is not None

    def held(
        self, subject: Term | None = None, predicate: NamedNode | None = None, object_: Term | None = None
    ) -> Iterator[Triple]:
        """What the knowledge holds, or would, that fits the pattern; subject or object must be given."""
        found = (q.triple for q in self.store.quads(subject, predicate, object_, DEFAULT_GRAPH))  # type: ignore[arg-type]
        if self._supposed is None:
            return found
        return self._with_supposed(found, subject, predicate, object_)

    def _with_supposed(
        self, found: Iterator[Triple], subject: Term | None, predicate: NamedNode | None, object_: Term | None
    ) -> Iterator[Triple]:
        supposed = self._supposed
        if supposed is not None:
            yield from (t for t in found if t not in supposed.removed and not supposed.is_added(t))
            yield from supposed.fitting(subject, predicate, object_)

    def statements(self, subject: NamedNode) -> list[Triple]:
        """What the default graph says of the thing, the ontology's statements left out."""
        found = (item.triple for item in self.store.quads(subject, None, None, DEFAULT_GRAPH))
        if subject not in self._declared:
            return list(found)
        return [triple for triple in found if triple not in self._ontology]

    def types(self, subject: NamedNode) -> frozenset[NamedNode]:
        """The classes of a thing, those that the ontology gives its named values included."""
        if subject not in self._types:
            if len(self._types) >= _MOST_TYPED:
                self._types.clear()
            found = (item.object for item in self.held(subject, TYPE))
            self._types[subject] = frozenset(item for item in found if isinstance(item, NamedNode))
        return self._types[subject]

    def first(self, *pattern: NamedNode | None) -> Quad | None:
        """A quad of any graph that fits the pattern; None where there is none."""
        return next(iter(self.store.quads(*pattern)), None)


def statements_about(instances: Instances, scope: Scope) -> Iterator[tuple[NamedNode, list[Triple]]]:
    """Each thing of the scope with what is said of it."""
    for subject in scope.subjects:
        yield subject, instances.statements(subject)


_MOST_KEPT = 20_000  # things with all that is said of them


class Facts:
    """What is said of nodes, read when first asked for, and the classes above their classes."""

    def __init__(self, instances: Instances, hierarchy: Iterable[Triple] = ()) -> None:
        """``hierarchy``: subclass statements of the ontology in use, besides those that the graph holds."""
        self._instances = instances
        self._said: dict[Term, dict[NamedNode, list[Term]]] = {}
        self._above: dict[NamedNode, frozenset[NamedNode]] = {}
        self._together: dict[frozenset[NamedNode], frozenset[NamedNode]] = {}
        self._declared: dict[object, list[NamedNode]] = defaultdict(list)
        for triple in hierarchy:
            if triple.predicate == SUBCLASS_OF and isinstance(triple.object, NamedNode):
                self._declared[triple.subject].append(triple.object)

    def about(self, node: Term) -> Mapping[NamedNode, Sequence[Term]]:
        """The values of each property of the node."""
        if isinstance(node, Literal):
            return {}
        if node not in self._said:
            if len(self._said) >= _MOST_KEPT:
                self._said.clear()
            said: dict[NamedNode, list[Term]] = {}
            for triple in self._instances.held(node):
                said.setdefault(triple.predicate, []).append(triple.object)
            self._said[node] = said
        return self._said[node]

    def values(self, predicate: NamedNode) -> Iterator[NamedNode]:
        """The things that are a value of the property, in what the store holds."""
        for item in self._instances.store.quads(None, predicate, None, DEFAULT_GRAPH):
            if isinstance(item.object, NamedNode):
                yield item.object

    def is_object(self, predicate: NamedNode, node: Term) -> bool:
        """True if some thing has the node as a value of the property."""
        return next(self._instances.held(None, predicate, node), None) is not None

    def classes(self, node: Term) -> frozenset[NamedNode]:
        """The classes of the node with all classes above them."""
        if not isinstance(node, NamedNode):
            found = (item for item in self.about(node).get(TYPE, ()) if isinstance(item, NamedNode))
            return self._all_above(frozenset(found))
        return self._all_above(self._instances.types(node))

    def _all_above(self, types: frozenset[NamedNode]) -> frozenset[NamedNode]:
        if types not in self._together:
            self._together[types] = frozenset(above for type_ in types for above in self.above(type_))
        return self._together[types]

    def above(self, class_: NamedNode) -> frozenset[NamedNode]:
        """The class and all classes above it, by the ontology and by the graph."""
        if class_ not in self._above:
            seen: dict[NamedNode, None] = {class_: None}
            waiting = [class_]
            while waiting:
                new = [item for item in self._parents(waiting.pop()) if item not in seen]
                seen.update(dict.fromkeys(new))
                waiting += new
            self._above[class_] = frozenset(seen)
        return self._above[class_]

    def _parents(self, class_: NamedNode) -> list[NamedNode]:
        held = (triple.object for triple in self._instances.held(class_, SUBCLASS_OF))
        return [*self._declared.get(class_, ()), *(item for item in held if isinstance(item, NamedNode))]

    def hierarchy(self, types: Iterable[NamedNode]) -> Iterator[Triple]:
        """The subclass statements that lead upward from the classes."""
        for class_ in dict.fromkeys(above for type_ in types for above in self.above(type_)):
            yield from (Triple(class_, SUBCLASS_OF, parent) for parent in self._parents(class_))
