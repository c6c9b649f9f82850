"""Names and reach: things that nothing describes, and things that share a name or a key without being linked.

Two things of one name may be two things (many towns have a West Lake); they are only reported where their classes
could be one thing's, no functional property or key tells them apart, and nobody has said that they differ.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

from pyoxigraph import Literal, NamedNode, Triple

from kgplatform.checking.findings import Finding, Kind, Severity
from kgplatform.checking.literals import value_of
from kgplatform.checking.scope import Instances, Scope, statements_about
from kgplatform.checking.vocabulary import Vocabulary
from kgplatform.describing import NAMING
from kgplatform.store import DEFAULT_GRAPH
from kgplatform.text import normalise
from kgplatform.vocab import DCTERMS, FOAF, LABEL, OWL, RDFS, SAME_AS, SCHEMA, SKOS, TYPE, local_name

_REPLACED = NamedNode(f"{DCTERMS}isReplacedBy")
_DIFFERENT = NamedNode(f"{OWL}differentFrom")
_MATCHES = tuple(NamedNode(f"{SKOS}{name}Match") for name in ("exact", "close", "broad", "narrow", "related"))
_OUTWARD = frozenset(
    (
        *(
            TYPE,
            SAME_AS,
            _REPLACED,
            _DIFFERENT,
            *_MATCHES,
            NamedNode(f"{RDFS}seeAlso"),
            NamedNode(f"{RDFS}isDefinedBy"),
        ),
        *(NamedNode(f"{FOAF}{name}") for name in ("page", "homepage", "depiction")),
        *(NamedNode(f"{SCHEMA}{name}") for name in ("url", "sameAs", "image")),
        *(NamedNode(f"{DCTERMS}{name}") for name in ("source", "license", "references")),
    )
)
_MOST_COMPARED = 50
"""Of a name that thousands bear, so many are compared with the rest: more would cost by their square."""

_LINKS = (SAME_AS, _REPLACED, _DIFFERENT, *_MATCHES[:2])


def unreachable(instances: Instances, scope: Scope, base: str) -> Iterator[Finding]:
    """Things that are referred to, but of which the graph knows neither a class nor a name."""
    seen: dict[NamedNode, bool] = {}
    for subject, statements in statements_about(instances, scope):
        if not instances.types(subject):
            yield Finding(
                Kind.UNREACHABLE, Severity.WARNING, subject, "is of no class: no question about a class finds it",
                statements=tuple(statements[:3]),
            )  # fmt: skip
        for triple in statements:
            target = triple.object
            if not isinstance(target, NamedNode) or triple.predicate in _OUTWARD:
                continue
            if target not in seen:
                seen[target] = _is_described(instances, target)
            if not seen[target]:
                own = target.value.startswith(base)
                yield Finding(
                    Kind.UNREACHABLE, Severity.WARNING if own else Severity.INFO, subject,
                    f"refers to {target.value}, which has neither a class nor a name",
                    path=triple.predicate, value=target, statements=(triple,),
                )  # fmt: skip


def _is_described(instances: Instances, iri: NamedNode) -> bool:
    return any(instances.first(iri, predicate) is not None for predicate in (TYPE, *NAMING))


def clashes(instances: Instances, scope: Scope, vocabulary: Vocabulary) -> Iterator[Finding]:
    """Unlinked duplicates: things of the scope that share a name or all keys with another thing."""
    clash = _Clashes(instances, vocabulary)
    if scope.graphs is None:
        yield from clash.among(scope.subjects)
    else:
        yield from clash.beside(scope.subjects)


class _Clashes:
    def __init__(self, instances: Instances, vocabulary: Vocabulary) -> None:
        self._instances = instances
        self._vocabulary = vocabulary
        self._ontology = vocabulary.ontology

    def among(self, subjects: Iterable[NamedNode]) -> Iterator[Finding]:
        by_name: dict[str, dict[NamedNode, Triple]] = defaultdict(dict)
        by_key: dict[object, dict[NamedNode, Triple]] = defaultdict(dict)
        for subject in subjects:
            for triple in self._labels(subject):
                name = normalise(triple.object.value) if isinstance(triple.object, Literal) else ""
                if name:
                    by_name[name].setdefault(subject, triple)
            for key, triple in self._keys(subject):
                by_key[key].setdefault(subject, triple)
        for group in by_key.values():
            yield from self._groups(Kind.KEY_CLASH, group)
        for group in by_name.values():
            yield from self._groups(Kind.LABEL_CLASH, group)

    def beside(self, subjects: Iterable[NamedNode]) -> Iterator[Finding]:
        """Against the whole graph, by looking the names up as they are written: costs by the number of things."""
        for subject in subjects:
            for triple in self._labels(subject):
                others = self._instances.store.quads(None, LABEL, triple.object, DEFAULT_GRAPH)
                group = {q.subject: q.triple for q in others if isinstance(q.subject, NamedNode)}
                yield from self._groups(Kind.LABEL_CLASH, {subject: triple, **group})
            for key, triple in self._keys(subject):
                others = self._instances.store.quads(None, triple.predicate, triple.object, DEFAULT_GRAPH)
                near = {q.subject: q.triple for q in others if isinstance(q.subject, NamedNode)}
                group = {s: t for s, t in near.items() if any(key == other for other, _ in self._keys(s))}
                yield from self._groups(Kind.KEY_CLASH, {subject: triple, **group})

    def _labels(self, subject: NamedNode) -> list[Triple]:
        return [item.triple for item in self._instances.store.quads(subject, LABEL, None, DEFAULT_GRAPH)]

    def _keys(self, subject: NamedNode) -> Iterator[tuple[object, Triple]]:
        """The values of each complete ``owl:hasKey`` that the classes of the thing have."""
        for class_ in {above for t in self._instances.types(subject) for above in self._ontology.superclasses(t)}:
            term = self._ontology.classes.get(class_)
            if term is None or not term.key:
                continue
            held = [list(self._instances.store.quads(subject, key, None, DEFAULT_GRAPH)) for key in term.key]
            if all(len(values) == 1 for values in held):
                yield (class_, *(value_of(values[0].object) for values in held)), held[0][0].triple

    def _groups(self, kind: Kind, group: Mapping[NamedNode, Triple]) -> Iterator[Finding]:
        """One finding for each thing that could be the same as one before it."""
        kept: list[NamedNode] = []
        for subject in sorted(group, key=lambda iri: iri.value):
            twin = next((other for other in kept if self._could_be_one(other, subject, kind)), None)
            if twin is None:
                if len(kept) < _MOST_COMPARED:
                    kept.append(subject)
                continue
            shared = group[subject].object
            what = (
                "is called"
                if kind is Kind.LABEL_CLASH
                else f"has the same {local_name(group[subject].predicate.value)}"
            )
            text = shared.value if isinstance(shared, Literal) else str(shared)
            yield Finding(
                kind, Severity.WARNING, twin, f"{what} {text!r} as {subject.value} is, and they are not linked",
                path=group[subject].predicate, value=subject, statements=(group[twin], group[subject]),
            )  # fmt: skip

    def _could_be_one(self, first: NamedNode, second: NamedNode, kind: Kind) -> bool:
        if self._are_linked(first, second):
            return False
        types = [(a, b) for a in self._instances.types(first) for b in self._instances.types(second)]
        if any(self._ontology.disjoint(a, b) for a, b in types):
            return False
        if not any(a == b or self._ontology.fits(a, (b,)) for a, b in types):
            return False
        return kind is Kind.KEY_CLASH or not self._differ(first, second)

    def _are_linked(self, first: NamedNode, second: NamedNode) -> bool:
        pairs = ((first, second), (second, first))
        return any(self._instances.first(a, link, b) is not None for a, b in pairs for link in _LINKS)

    def _differ(self, first: NamedNode, second: NamedNode) -> bool:
        """Whether a functional property or a key has other values on either side."""
        for predicate in self._telling(first):
            one, other = self._values(first, predicate), self._values(second, predicate)
            if one and other and not one & other:
                return True
        return False

    def _telling(self, subject: NamedNode) -> set[NamedNode]:
        keys = {key for class_ in self._ontology.classes.values() for key in class_.key}
        held = {triple.predicate for triple in self._instances.statements(subject)}
        return {
            p for p in held if p in keys or ((term := self._vocabulary.property(p)) is not None and term.functional)
        }

    def _values(self, subject: NamedNode, predicate: NamedNode) -> set[object]:
        return {value_of(item.object) for item in self._instances.store.quads(subject, predicate, None, DEFAULT_GRAPH)}
