"""What people teach a workspace: judgements on statements that were read, and annotated examples for its reader.

Each judgement is kept in the registry and described in ``graph/reviews`` (PROV-O, with the statement in RDF's own
words for statements): who, when, on which passage. That graph is no evidence. `settle` carries judgements out again
whose description is missing, as after a workspace's store was built anew from its documents.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from pyoxigraph import Literal, NamedNode, Triple

from kgplatform.documents.records import Judgement, Review
from kgplatform.documents.registry import Registry
from kgplatform.entities import find_iri
from kgplatform.errors import ConfigError, NotFoundError, ReadError
from kgplatform.linking.projection import Projection
from kgplatform.ontology.schema import Ontology
from kgplatform.reasoning.conformance import is_well_formed
from kgplatform.store.dataset import Change, EvidenceDataset
from kgplatform.store.oxigraph import as_stored, literal
from kgplatform.text import has_han
from kgplatform.types import Mention, Progress, Term
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
    predicate = _property(ontology, wording.predicate)
    ranges = ontology.properties[predicate].ranges
    text = wording.object.strip()
    if not text:
        raise ConfigError("the value is empty", setting="object")
    datatypes = [item for item in ranges if item not in ontology.classes]
    if datatypes or not ranges:
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
    class_ = next(iter(ranges))
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
    """What learning came to: by property and, as ``overall``, together; ``left_out`` triples have no property."""

    examples: int
    problems: tuple[str, ...]
    left_out: int
    overall: Taught
    properties: tuple[Taught, ...]


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
    from kgplatform.extraction.learnt.fit import save, train

    read = read_examples(path, ontology)
    learnt = train(read.examples, ontology, progress=progress)
    save(learnt, folder / FILE)
    rows = sorted(learnt.report.items(), key=lambda row: (-row[1][0], row[0]))
    found = tuple(Taught(iri, *numbers) for iri, numbers in rows if numbers[0])
    totals = (sum(numbers[column] for numbers in learnt.report.values()) for column in range(3))
    left_out = sum(example.left_out for example in read.examples)
    return LearnReport(len(read.examples), read.problems, left_out, Taught("", *totals), found)
