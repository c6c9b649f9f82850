"""What people teach a workspace: judgements on statements that were read, and annotated examples for its reader.

Each judgement is kept in the registry and described in ``graph/reviews`` (PROV-O, with the statement in RDF's own
words for statements): who, when, on which passage. That graph is no evidence. `settle` carries judgements out again
whose description is missing, as after a workspace's store was built anew from its documents.

What people state and strike out of an entity by hand is an edit: one commit to ``graph/asserted`` and
``graph/rejected``, described in ``graph/edits`` the same way. Undoing it is the exact inverse.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

from pyoxigraph import Literal, NamedNode, Triple

from kgplatform.documents.records import Judgement, Review
from kgplatform.documents.registry import Registry
from kgplatform.entities import find_iri
from kgplatform.errors import ConfigError, NotFoundError, ReadError
from kgplatform.linking.projection import Projection
from kgplatform.ontology.schema import Ontology, TermIndex
from kgplatform.reasoning.conformance import is_well_formed
from kgplatform.reasoning.scope import Finding, Instances, Scope, Severity, Supposed
from kgplatform.reasoning.shacl import shapes_hold
from kgplatform.reasoning.shapes import Shapes
from kgplatform.store.dataset import Change, EvidenceDataset
from kgplatform.store.oxigraph import as_stored, literal
from kgplatform.text import has_han
from kgplatform.types import EDITED, Evidence, Mention, Progress, Term
from kgplatform.vocab import CORE, DCTERMS, LABEL, PROV, RDF, RDFS, TYPE, XSD, XSD_INTEGER, entity_iri, graph_iri

_STRING = NamedNode(f"{XSD}string")
_DATE_TIME = NamedNode(f"{XSD}dateTime")


@dataclass(frozen=True, slots=True)
class StatementWording:
    """A statement as a person writes it: names, prefixed names or IRIs, and for the object also a plain value."""

    subject: str
    predicate: str
    object: str


def review_iri(base: str, statement: Triple) -> NamedNode:
    """The IRI of the judgement on a statement."""
    return NamedNode(f"{base}review/{key_of(statement)}")


def key_of(statement: Triple) -> str:
    """A short name for a statement, the same wherever it is read."""
    return hashlib.sha256(str(statement).encode()).hexdigest()[:16]


def judge(dataset: EvidenceDataset, registry: Registry, review: Review) -> None:
    """Carries a judgement out and keeps it; an earlier one of the same statement is taken back first.

    Raises:
        StoreError: the disk refuses.
    """
    earlier = registry.review(review.statement)
    if earlier is not None:
        _take_back(dataset, earlier)
    registry.keep_review(review)
    _carry_out(dataset, review)


def withdraw(dataset: EvidenceDataset, registry: Registry, statement: Triple) -> Review:
    """Takes the judgement on a statement back; what it was.

    Raises:
        NotFoundError: nobody judged it.
        StoreError: the disk refuses.
    """
    review = registry.review(statement)
    if review is None:
        raise NotFoundError("that statement has no review", name=str(statement))
    _take_back(dataset, review)
    registry.drop_review(statement)
    return review


def settle(dataset: EvidenceDataset, registry: Registry) -> int:
    """Carries out the judgements that the graph does not know of, and forgets those that are no more; how many."""
    graph = graph_iri(dataset.base, "reviews")
    known = {item.subject for item in dataset.store.quads(None, TYPE, None, graph)}
    kept = {review_iri(dataset.base, review.statement): review for review in registry.reviews()}
    missing = [review for iri, review in kept.items() if iri not in known]
    for review in missing:
        _carry_out(dataset, review)
    gone = {
        item.triple
        for iri in known - kept.keys()
        if isinstance(iri, NamedNode) and not iri.value.endswith("/correction")
        for node in (iri, NamedNode(f"{iri.value}/correction"))
        for item in dataset.store.quads(node, None, None, graph)
    }
    if gone:
        dataset.commit(Change(removed={graph: gone}))
    return len(missing)


def _carry_out(dataset: EvidenceDataset, review: Review) -> None:
    if review.judgement is Judgement.ACCEPTED:
        dataset.commit(Change(removed={dataset.rejected: [review.statement]}))
    else:
        dataset.reject([review.statement])
    if review.corrections:
        dataset.state(review.corrections)
    dataset.commit(Change(added={graph_iri(dataset.base, "reviews"): list(review_triples(review, dataset.base))}))


def _take_back(dataset: EvidenceDataset, review: Review) -> None:
    removed: dict[NamedNode, list[Triple]] = {
        graph_iri(dataset.base, "reviews"): list(review_triples(review, dataset.base))
    }
    if review.judgement is not Judgement.ACCEPTED:
        removed[dataset.rejected] = [review.statement]
    if review.corrections:
        removed[dataset.asserted] = list(review.corrections)
    dataset.commit(Change(removed=removed))


def review_triples(review: Review, base: str) -> Iterator[Triple]:
    """The description of a judgement: the statement, the passage, who and when, and what is meant instead."""
    node = review_iri(base, review.statement)
    yield Triple(node, TYPE, NamedNode(f"{PROV}Activity"))
    yield Triple(node, NamedNode(f"{DCTERMS}type"), Literal(review.judgement.value))
    yield from _parts(node, review.statement)
    yield Triple(node, NamedNode(f"{PROV}used"), review.graph)
    yield Triple(node, NamedNode(f"{CORE}source"), Literal(review.document.value))
    yield Triple(node, NamedNode(f"{CORE}quote"), Literal(review.quote))
    yield Triple(node, NamedNode(f"{CORE}start"), Literal(str(review.start), datatype=XSD_INTEGER))
    yield Triple(node, NamedNode(f"{CORE}end"), Literal(str(review.end), datatype=XSD_INTEGER))
    yield Triple(node, NamedNode(f"{DCTERMS}creator"), Literal(review.person))
    yield Triple(node, NamedNode(f"{PROV}endedAtTime"), as_stored(Literal(review.moment, datatype=_DATE_TIME)))
    if review.correction is not None:
        meant = NamedNode(f"{node.value}/correction")
        yield Triple(meant, TYPE, NamedNode(f"{PROV}Entity"))
        yield Triple(meant, NamedNode(f"{PROV}wasGeneratedBy"), node)
        yield from _parts(meant, review.correction)


def _parts(node: NamedNode, statement: Triple) -> Iterator[Triple]:
    value = statement.object
    yield Triple(node, NamedNode(f"{RDF}subject"), statement.subject)
    yield Triple(node, NamedNode(f"{RDF}predicate"), statement.predicate)
    yield Triple(node, NamedNode(f"{RDF}object"), as_stored(value) if isinstance(value, Literal) else value)


def meant(dataset: EvidenceDataset, ontology: Ontology, wording: StatementWording) -> tuple[Triple, ...]:
    """The statement that a person wrote, and what has to be stated with it: the name and class of a new thing.

    Raises:
        NotFoundError: the subject or property stands for nothing, or for several things.
        ConfigError: the object is no value of the property.
    """
    subject = find_iri(dataset.store, wording.subject)
    return worded(dataset, ontology, subject, _property(ontology, wording.predicate), wording.object)


def worded(
    dataset: EvidenceDataset, ontology: Ontology, subject: NamedNode, predicate: NamedNode, text: str
) -> tuple[Triple, ...]:
    """The statement with a value that a person wrote, and what has to be stated with it, as `meant` gives them.

    Raises:
        NotFoundError: the value stands for several things.
        ConfigError: it is no value of the property.
    """
    term, text = ontology.properties.get(predicate), text.strip()
    ranges = term.ranges if term else ()
    if not text:
        raise ConfigError("the value is empty", setting="object")
    datatypes = [item for item in ranges if item not in ontology.classes]
    if datatypes or not (ranges or (term and term.is_object)):
        return (Triple(subject, predicate, _value(text, datatypes)),)
    return _with_thing(dataset, subject, predicate, text, ranges)


def _with_thing(
    dataset: EvidenceDataset, subject: NamedNode, predicate: NamedNode, text: str, ranges: Iterable[NamedNode]
) -> tuple[Triple, ...]:
    try:
        return (Triple(subject, predicate, find_iri(dataset.store, text)),)
    except NotFoundError as error:
        if not str(error).startswith("nothing is named"):
            raise
        class_ = next(iter(ranges), None)
        if class_ is None:
            raise
    thing = entity_iri(dataset.base, class_, text)
    named = literal(text, language="zh" if has_han(text) else "en")
    return Triple(subject, predicate, thing), Triple(thing, TYPE, class_), Triple(thing, LABEL, named)


def _property(ontology: Ontology, name: str) -> NamedNode:
    found = next((iri for iri in ontology.properties if iri.value == name.strip()), None)
    if found is None:
        raise NotFoundError(f"{name!r} is not a property of the ontology", name=name)
    return found


def _value(text: str, datatypes: list[NamedNode]) -> Term:
    datatype = datatypes[0] if datatypes else _STRING
    if datatype == _STRING:
        return Literal(text)
    if datatype.value in (f"{RDF}langString", f"{RDFS}Literal"):
        return literal(text, language="zh" if has_han(text) else "en")
    value = Literal(text, datatype=datatype)
    if not is_well_formed(value):
        name = datatype.value.removeprefix(XSD)
        raise ConfigError(f"{text!r} is not a value of this property, which takes {name}", setting="object")
    return as_stored(value)


_ABOUT = NamedNode(f"{PROV}used")
_PERSON = NamedNode(f"{DCTERMS}creator")
_ENDED = NamedNode(f"{PROV}endedAtTime")
_PART = NamedNode(f"{DCTERMS}hasPart")
_KIND = NamedNode(f"{DCTERMS}type")
_PARTS = tuple(NamedNode(f"{RDF}{name}") for name in ("subject", "predicate", "object"))
_STATED = ("stated", "unrejected")


@dataclass(frozen=True, slots=True)
class EntityEdit:
    """An edit, with what it did to the graphs of what people said, by step; ``moment`` is ISO 8601."""

    iri: NamedNode
    entity: NamedNode
    person: str
    moment: str
    steps: tuple[tuple[str, Triple], ...]

    @property
    def stated(self) -> tuple[Triple, ...]:
        """The statements that hold since."""
        return tuple(dict.fromkeys(triple for step, triple in self.steps if step in _STATED))

    @property
    def struck(self) -> tuple[Triple, ...]:
        """The statements that no longer hold."""
        return tuple(dict.fromkeys(triple for step, triple in self.steps if step not in _STATED))


class EntityEdits:
    """The edits of a workspace."""

    def __init__(self, dataset: EvidenceDataset) -> None:
        self._dataset = dataset
        self._graph = graph_iri(dataset.base, "edits")

    def make(
        self, entity: NamedNode, stated: Iterable[Triple], struck: Iterable[Triple], person: str
    ) -> EntityEdit | None:
        """States and strikes out in one commit; None where that changes nothing.

        Raises:
            StoreError: the disk refuses; nothing was changed.
        """
        with self._dataset.store.write_lock():
            steps = tuple(self._steps(dict.fromkeys(stated), dict.fromkeys(struck)))
            if not steps:
                return None
            iri = NamedNode(f"{self._dataset.base}edit/{uuid4().hex[:16]}")
            edit = EntityEdit(iri, entity, person, datetime.now(UTC).isoformat(timespec="microseconds"), steps)
            gained, lost = self._moved(steps)
            self._dataset.commit(Change(added={**gained, self._graph: list(edit_triples(edit))}, removed=lost))
        return edit

    def undo(self, edit: EntityEdit) -> None:
        """Takes the last edit of an entity back: the graphs are as they were before it.

        Raises:
            NotFoundError: the entity was edited since, or the edit is undone already.
            StoreError: the disk refuses; nothing was changed.
        """
        with self._dataset.store.write_lock():
            if [one.iri for one in self.of(edit.entity)[:1]] != [edit.iri]:
                raise NotFoundError("only the last edit of an entity can be undone", name=edit.iri.value)
            gained, lost = self._moved(edit.steps)
            told = list(edit_triples(self.find(edit.iri)))
            self._dataset.commit(Change(added=lost, removed={**gained, self._graph: told}))

    def find(self, iri: NamedNode) -> EntityEdit:
        """The edit of that IRI.

        Raises:
            NotFoundError: there is none.
        """
        store = self._dataset.store
        said = {quad.predicate: quad.object for quad in store.quads(iri, None, None, self._graph)}
        entity, person, moment = (said.get(name) for name in (_ABOUT, _PERSON, _ENDED))
        if not isinstance(entity, NamedNode) or not isinstance(person, Literal) or not isinstance(moment, Literal):
            raise NotFoundError("no such edit is kept; it may be undone", name=iri.value)
        nodes = sorted((q.object for q in store.quads(iri, _PART, None, self._graph)), key=_number)
        return EntityEdit(iri, entity, person.value, moment.value, tuple(map(self._step, nodes)))

    def of(self, entity: NamedNode) -> list[EntityEdit]:
        """The edits of an entity, the last first."""
        quads = self._dataset.store.quads(None, _ABOUT, entity, self._graph)
        found = [self.find(quad.subject) for quad in quads if isinstance(quad.subject, NamedNode)]
        return sorted(found, key=_when, reverse=True)

    def evidence(self, triple: Triple) -> Evidence | None:
        """The word of the person who stated it last; None where nobody did so by an edit."""
        found = []
        for quad in self._dataset.store.quads(None, _PARTS[0], triple.subject, self._graph):
            kind, said = self._step(quad.subject)
            if kind in _STATED and said == triple and isinstance(quad.subject, NamedNode):
                found.append(self.find(NamedNode(quad.subject.value.rpartition("/")[0])))
        if not found:
            return None
        edit = max(found, key=_when)
        return Evidence(edit.iri, edit.iri, edit.person, EDITED, edit.moment[:10], 0, 0)

    def _steps(self, stated: Iterable[Triple], struck: Iterable[Triple]) -> Iterator[tuple[str, Triple]]:
        dataset, has = self._dataset, self._dataset.store.has
        for triple in stated:
            if has(triple, dataset.rejected):
                yield "unrejected", triple
            if not has(triple, dataset.asserted):
                yield "stated", triple
        for triple in struck:
            is_asserted = has(triple, dataset.asserted)
            if is_asserted:
                yield "unstated", triple
            others = any(graph != dataset.asserted for graph in dataset.evidence_graphs(triple))
            if (others or not is_asserted) and has(triple) and not has(triple, dataset.rejected):
                yield "rejected", triple

    def _moved(self, steps: Sequence[tuple[str, Triple]]) -> tuple[dict[NamedNode, list[Triple]], ...]:
        """What the two graphs gain, and what they lose, by the steps."""
        graphs = (self._dataset.asserted, self._dataset.rejected)
        return tuple(
            {graph: [t for step, t in steps if step == name] for graph, name in zip(graphs, names, strict=True)}
            for names in (("stated", "rejected"), ("unstated", "unrejected"))
        )

    def _step(self, node: object) -> tuple[str, Triple]:
        said = {quad.predicate: quad.object for quad in self._dataset.store.quads(node, None, None, self._graph)}  # type: ignore[arg-type]
        kind = said[_KIND]
        assert isinstance(kind, Literal)
        return kind.value, Triple(*(said[name] for name in _PARTS))  # type: ignore[arg-type]


def edit_triples(edit: EntityEdit) -> Iterator[Triple]:
    """The description of an edit: who, when, on which entity, and its steps."""
    yield Triple(edit.iri, TYPE, NamedNode(f"{PROV}Activity"))
    yield Triple(edit.iri, _ABOUT, edit.entity)
    yield Triple(edit.iri, _PERSON, Literal(edit.person))
    yield Triple(edit.iri, _ENDED, as_stored(Literal(edit.moment, datatype=NamedNode(f"{XSD}dateTime"))))
    for number, (kind, triple) in enumerate(edit.steps):
        node = NamedNode(f"{edit.iri.value}/{number}")
        yield Triple(edit.iri, _PART, node)
        yield Triple(node, _KIND, Literal(kind))
        for name, term in zip(_PARTS, (triple.subject, triple.predicate, triple.object), strict=True):
            yield Triple(node, name, term)


def _when(edit: EntityEdit) -> datetime:
    """When it was made; the store shortens moments, so their texts have no order."""
    return datetime.fromisoformat(edit.moment)


def _number(node: object) -> int:
    return int(str(node).strip("<>").rpartition("/")[2])


def new_faults(
    dataset: EvidenceDataset,
    entity: NamedNode,
    stated: Iterable[Triple],
    struck: Iterable[Triple],
    *,
    shapes: Shapes,
    vocabulary: TermIndex,
) -> list[Finding]:
    """The violations of shapes that an edit would bring; those that the entity has anyway are no reason against it.

    Raises:
        OntologyError: a shape cannot be used.
    """

    def found(instances: Instances) -> list[Finding]:
        listed = shapes_hold(instances, Scope((entity,)), shapes, vocabulary, only_violations=True)
        return [one for one in listed if one.severity is Severity.VIOLATION and one.focus == entity]

    known = {_fault(one) for one in found(Instances(dataset, Supposed()))}
    after = found(Instances(dataset, Supposed(stated, struck)))
    return [one for one in after if _fault(one) not in known]


def _fault(finding: Finding) -> tuple[object, ...]:
    return finding.path, finding.value, finding.constraint, finding.shape


FILE = "learnt.npz"
"""What was learnt from examples, in the workspace's folder."""


@dataclass(frozen=True, slots=True)
class Taught:
    """A property (without IRI: all): how many triples the examples say, how many were read, unseen, and rightly."""

    iri: str
    said: int
    read: int
    right: int

    @property
    def precision(self) -> float:
        """The share of what was read that is right."""
        return self.right / self.read if self.read else 0.0

    @property
    def recall(self) -> float:
        """The share of what is said that was read."""
        return self.right / self.said if self.said else 0.0

    @property
    def f1(self) -> float:
        """The harmonic mean of both."""
        return 2 * self.right / (self.read + self.said) if self.read + self.said else 0.0


@dataclass(frozen=True, slots=True)
class LearnReport:
    """What was read of ``apart`` examples by what the others taught, by property; ``left_out`` triples have none."""

    examples: int
    problems: tuple[str, ...]
    left_out: int
    overall: Taught
    properties: tuple[Taught, ...]
    apart: int


def judged_examples(registry: Registry, projection: Projection) -> list[dict[str, object]]:
    """The passages on whose statements people said something, each with the statements that stand, as examples."""
    rejected = {r.statement for r in registry.reviews() if r.judgement is not Judgement.ACCEPTED}
    found: dict[tuple[NamedNode, int, int], None] = dict.fromkeys(
        (r.document, r.start, r.end) for r in registry.reviews() if r.end > r.start
    )
    examples: list[dict[str, object]] = []
    for document, start, end in found:
        if registry.state(document) is None:
            continue
        said = [
            [
                claim.subject.name,
                claim.predicate.value,
                claim.object.name if isinstance(claim.object, Mention) else claim.object.value,
            ]
            for read in registry.extractions(document)
            for claim in read.claims
            if start <= claim.start < end and projection.triple(claim, read.chunk) not in rejected
        ]
        examples.append({"text": registry.document(document).document.text[start:end], "triples": said})
    return examples


def learn(
    folder: Path,
    ontology: Ontology,
    path: Path | None,
    *,
    judged: Iterable[Mapping[str, object]] = (),
    progress: Progress | None = None,
) -> LearnReport:
    """Teaches the workspace's reader by the examples of a file and what people judged; what it learnt is replaced.

    Raises:
        ReadError: the file cannot be read, or none of its lines can be used; or nobody judged anything.
        WorkspaceError: what was learnt cannot be written.
    """
    if lines := [json.dumps(example, ensure_ascii=False) for example in judged]:
        given = path.read_text(encoding="utf-8").splitlines() if path is not None and path.is_file() else []
        path = folder / "judged.jsonl"
        path.write_text("\n".join((*given, *lines)) + "\n", encoding="utf-8")
    if path is None:
        raise ReadError("nobody confirmed or accepted a statement yet; name a file with examples", path=folder)
    from kgplatform.extraction.learnt.examples import read_examples
    from kgplatform.extraction.learnt.fit import train

    read = read_examples(path, ontology)
    learnt = train(read.examples, ontology, progress=progress)
    learnt.save(folder / FILE)
    rows = sorted(learnt.report.items(), key=lambda row: (-row[1][0], row[0]))
    found = tuple(Taught(iri, *numbers) for iri, numbers in rows if numbers[0])
    totals = (sum(numbers[column] for numbers in learnt.report.values()) for column in range(3))
    left_out = sum(example.left_out for example in read.examples)
    return LearnReport(len(read.examples), read.problems, left_out, Taught("", *totals), found, learnt.apart)
