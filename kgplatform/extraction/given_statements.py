"""Statements that somebody else extracted, as claims of the passages that they come from.

JSON Lines, an object a line: ``document`` (IRI, path, file name, title or hash of a document, or the IRI of a passage),
``subject``, ``predicate`` and ``object``; where wanted ``quote``, words of the document that say so, and
``subject_type`` and ``object_type``, classes of the ontology. Or RDF with graphs: the graph is a document or passage,
or ``prov:wasDerivedFrom`` one (https://www.w3.org/TR/prov-o/#wasDerivedFrom).

A predicate is a property of the ontology, by IRI or name; else it becomes a property of its own.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias

from pyoxigraph import Literal, NamedNode, Quad

from kgplatform.documents.records import DocumentRecord, State
from kgplatform.entities import NAMING
from kgplatform.errors import NotFoundError
from kgplatform.extraction.values import literal_of
from kgplatform.ontology.schema import Ontology, OntologyProperty
from kgplatform.text import has_han, normalise, sentences
from kgplatform.types import Chunk, Claim, Extraction, Mention, Refusal, Term
from kgplatform.vocab import ALT_LABEL, CORE, PROV, TYPE, local_name, slug, words_of_iri

ENTITY: Final = NamedNode(f"{CORE}Entity")
"""The class of a name of which nothing tells a narrower one."""
_DERIVED: Final = NamedNode(f"{PROV}wasDerivedFrom")
_APART: Final = frozenset((*NAMING, ALT_LABEL, TYPE, _DERIVED))
_NEEDED: Final = ("document", "subject", "predicate", "object")
_WANTED: Final = ("quote", "subject_type", "object_type")
_LONGEST: Final = 1_000
_IRI: Final = re.compile(r"(?:https?://|urn:)\S+$")
_MADE_NUMBER: Final = re.compile(r"-[0-9a-f]{8}$")


@dataclass(frozen=True, slots=True)
class GivenStatement:
    """A statement as somebody gives it; ``place`` says where in the file, ``document`` of what it is told."""

    place: str
    document: str
    subject: str
    predicate: str | NamedNode
    object: str | Literal
    quote: str = ""
    subject_type: str = ""
    object_type: str = ""


Listed: TypeAlias = Iterable[GivenStatement | Refusal]
"""Statements, and in the place of those that are none, why."""


def read_lines(data: bytes) -> Listed:
    """The statements of a file of JSON Lines; empty lines are passed over."""
    for number, line in enumerate(data.removeprefix(b"\xef\xbb\xbf").split(b"\n"), start=1):
        if line.strip():
            yield _of_line(line, f"line {number}")


def _of_line(line: bytes, place: str) -> GivenStatement | Refusal:
    try:
        return _of_record(json.loads(line), place)
    except UnicodeDecodeError:
        return Refusal(place, "it is not UTF-8")
    except (ValueError, RecursionError):
        return Refusal(place, "it is not one JSON object")


def listed(records: Iterable[Mapping[str, object]]) -> Listed:
    """The statements of records with the names of a line of JSON."""
    return (_of_record(record, f"record {number}") for number, record in enumerate(records, start=1))


def _of_record(record: Any, place: str) -> GivenStatement | Refusal:
    try:
        return _given(record, place)
    except ValueError as error:
        return Refusal(place, str(error))


def _given(record: Any, place: str) -> GivenStatement:
    if not isinstance(record, Mapping):
        raise ValueError("it is not one JSON object")
    found = {name: _text(record.get(name), name) for name in (*_NEEDED, *_WANTED)}
    if missing := [name for name in _NEEDED if not found[name]]:
        raise ValueError(f"{', '.join(missing)} is missing")
    if not any(letter.isalnum() for letter in found["predicate"]):
        raise ValueError(f"the predicate {found['predicate']!r} has no words")
    return GivenStatement(place, **found)


def _text(value: object, name: str) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float | None):
        raise ValueError(f"{name} is neither text nor a number")
    text = "" if value is None else str(value).strip() if name == "quote" else " ".join(str(value).split())
    if len(text) > _LONGEST and name != "quote":
        raise ValueError(f"{name} has more than {_LONGEST:,} characters")
    if not text.isprintable() and name != "quote":
        raise ValueError(f"{name} holds characters that are no text")
    return text


def read_quads(quads: Sequence[Quad]) -> Listed:
    """The statements of an RDF dataset, each with the document or passage that its graph is, or was derived from."""
    labels: dict[Term, str] = {}
    types: dict[Term, str] = {}
    origins: dict[Term, str] = {}
    for quad in quads:
        value = quad.object
        if quad.predicate in NAMING and isinstance(value, Literal):
            labels.setdefault(quad.subject, " ".join(value.value.split()))
        elif quad.predicate == TYPE and isinstance(value, NamedNode):
            types[quad.subject] = value.value
        elif quad.predicate == _DERIVED and isinstance(value, NamedNode | Literal):
            origins[quad.subject] = value.value
    for number, quad in enumerate((quad for quad in quads if quad.predicate not in _APART), start=1):
        place, graph, object_ = f"statement {number}", quad.graph_name, quad.object
        subject = labels.get(quad.subject) or _words(quad.subject)
        named = object_ if isinstance(object_, Literal) else labels.get(object_) or _words(object_)
        if not isinstance(graph, NamedNode):
            yield Refusal(place, "it is in no graph that says which document or passage it comes from")
        elif not subject or not named:
            yield Refusal(place, "it is about something without a name")
        else:
            kinds = types.get(quad.subject, ""), types.get(object_, "")
            yield GivenStatement(place, origins.get(graph, graph.value), subject, quad.predicate, named, "", *kinds)


def _words(term: Term) -> str:
    return words_of_iri(_MADE_NUMBER.sub("", term.value)) if isinstance(term, NamedNode) else ""


@dataclass(frozen=True, slots=True)
class PassageOffsets:
    """Some characters of a document in one of its chunks, which say something."""

    chunk: Chunk
    start: int
    end: int


Told: TypeAlias = dict[NamedNode, dict[NamedNode, list[Claim]]]
"""Claims by their document and chunk."""


@dataclass(frozen=True, slots=True)
class KnownDocuments:
    """What there is to give statements of: the documents of a name, the chunks of one, and the classes of names."""

    fitting: Callable[[str], Sequence[DocumentRecord]]
    chunks: Callable[[NamedNode], Sequence[Chunk]]
    types: Mapping[str, NamedNode]


class GivenReader:
    """Makes claims of given statements; ``source`` is the file that gives them."""

    def __init__(self, ontology: Ontology, base: str, source: str, known: KnownDocuments) -> None:
        self._ontology = ontology
        self._base = base
        self._source = source
        self._known = known
        self._properties: dict[str, OntologyProperty] = {}
        for term in ontology.domain_properties:
            for name in (term.iri.value, local_name(term.iri.value), *(word.text for word in term.words)):
                self._properties.setdefault(normalise(name), term)
        self._types: dict[str, NamedNode] = {}
        self._records: dict[str, tuple[DocumentRecord, ...]] = {}
        self._texts: dict[NamedNode, list[PassageOffsets]] = {}

    def read(self, given: Listed) -> tuple[Told, list[Refusal]]:
        """The claims, and what is refused, with its place and the reason."""
        every = list(given)
        refused = [item for item in every if isinstance(item, Refusal)]
        stated = [item for item in every if isinstance(item, GivenStatement)]
        for item in stated:  # a name that one line gives a class has it in the others
            self._note_types(item)
        told: Told = {}
        for item in stated:
            try:
                record, claim, chunk = self._claim(item)
            except (ValueError, NotFoundError) as error:
                refused.append(Refusal(item.place, str(error)))
            else:
                told.setdefault(record.document.iri, {}).setdefault(chunk.iri, []).append(claim)
        return told, refused

    def _claim(self, item: GivenStatement) -> tuple[DocumentRecord, Claim, Chunk]:
        record = self._record(item)
        term, predicate = self._property(item.predicate)
        at = self._place(record, item)
        subject = self._mention(record, at, item.subject, item.subject_type, term.domains if term else ())
        object_: Mention | Literal
        if isinstance(item.object, Literal):
            if term and term.is_object:
                raise ValueError(
                    f"{local_name(predicate.value)} leads to a thing, not to the value {item.object.value!r}"
                )
            object_ = item.object
        elif term and not term.is_object:
            object_ = literal_of(item.object, term, language=record.document.language)
        else:
            object_ = self._mention(record, at, item.object, item.object_type, term.ranges if term else ())
        return record, Claim(subject, predicate, object_, at.start, at.end, given=self._source), at.chunk

    def _property(self, given: str | NamedNode) -> tuple[OntologyProperty | None, NamedNode]:
        if isinstance(given, NamedNode):
            return self._ontology.properties.get(given), given
        term = self._properties.get(normalise(given))
        if term is None and _IRI.match(given):
            return None, NamedNode(given)
        return term, term.iri if term else NamedNode(f"{self._base}property/{slug(given)}")

    def _note_types(self, item: GivenStatement) -> None:
        with suppress(ValueError, NotFoundError):  # what is wrong is said when the statement itself is read
            term, _ = self._property(item.predicate)
            ends = [(item.subject, item.subject_type, term.domains if term else ())]
            if isinstance(item.object, str):
                ends.append((item.object, item.object_type, term.ranges if term else ()))
            for name, given, wanted in ends:
                if (found := self._class(given)) is not None:
                    self._types[normalise(name)] = found
                elif wanted and wanted[0] in self._ontology.classes:
                    self._types.setdefault(normalise(name), wanted[0])

    def _class(self, name: str) -> NamedNode | None:
        """The class of that name; None where none is named, or an IRI that the ontology does not have."""
        known = not _IRI.match(name) or NamedNode(name) in self._ontology.classes
        return self._ontology.class_named(name).iri if name and known else None

    def _type(self, name: str, given: str, wanted: Sequence[NamedNode]) -> NamedNode:
        """The class that is given, else the first known one that the property allows, else what the property asks."""
        ontology, key = self._ontology, normalise(name)
        if (found := self._class(given)) is not None:
            if not ontology.is_a(found, wanted):
                allowed = " or ".join(local_name(item.value) for item in wanted)
                raise ValueError(f"{name!r} is a {local_name(found.value)}, and a {allowed} is wanted there")
            return found
        for known in (self._types.get(key), self._known.types.get(key)):
            if known is not None and ontology.is_a(known, wanted):
                return known
        return next((item for item in wanted if item in ontology.classes), ENTITY)

    def _mention(
        self, record: DocumentRecord, at: PassageOffsets, name: str, given: str, wanted: Sequence[NamedNode]
    ) -> Mention:
        """The name where the passage has it: in the words that say so, else in the chunk; without text if nowhere."""
        type_, text = self._type(name, given, wanted), record.document.text
        for start, end in ((at.start, at.end), (at.chunk.start, at.chunk.end)):
            if (exact := text.find(name, start, end)) >= 0:
                return Mention(name, exact, exact + len(name), type_, name)
            if match := re.search(re.escape(name), text[start:end], re.IGNORECASE):
                return Mention(match.group(), start + match.start(), start + match.end(), type_, name)
        return Mention("", at.start, at.start, type_, name)

    def _record(self, item: GivenStatement) -> DocumentRecord:
        """The document that is meant, of several of that name the one that has the quote."""
        name = item.document.partition("/chunk/")[0]
        if name not in self._records:
            self._records[name] = tuple(self._known.fitting(name))
        found = self._records[name]
        if not found:
            raise ValueError(f"no document fits {item.document!r}")
        if len(found) > 1:
            found = tuple(record for record in found if item.quote and item.quote in record.document.text)
            if len(found) != 1:
                raise ValueError(f"several documents fit {item.document!r}; give an IRI, or a quote that only one has")
        if found[0].graph is not None:
            raise ValueError(f"{item.document!r} is a table, whose rows say what they state")
        if found[0].state is not State.PROCESSED:
            raise ValueError(f"the document {item.document!r} is {found[0].state.value}")
        return found[0]

    def _place(self, record: DocumentRecord, item: GivenStatement) -> PassageOffsets:
        """The quote, else the longest sentence of those with most of the two names, else the passage as a whole."""
        iri, text = record.document.iri, record.document.text
        if iri not in self._texts:
            self._texts[iri] = list(_sentences(text, self._known.chunks(iri)))
        listed = self._texts[iri]
        if item.document.startswith(f"{iri.value}/chunk/"):
            listed = [at for at in listed if at.chunk.iri.value == item.document]
        if not listed:
            raise ValueError(f"there is no passage {item.document!r}" if self._texts[iri] else "the document is empty")
        if item.quote:
            start = text.find(item.quote)
            holding = [at.chunk for at in listed if start >= 0 and at.chunk.start <= start < at.chunk.end]
            if not holding:
                raise ValueError(f"the quote is not in {item.document!r}: {item.quote[:60]!r}")
            return PassageOffsets(holding[0], start, start + len(item.quote))
        names = [name.casefold() for name in (item.subject, item.object) if isinstance(name, str)]
        held = [sum(name in text[at.start : at.end].casefold() for name in names) for at in listed]
        if not max(held):
            return replace(listed[0], start=listed[0].chunk.start, end=listed[0].chunk.end)
        return max(zip(held, listed, strict=True), key=lambda found: (found[0], found[1].end - found[1].start))[1]


def _sentences(text: str, chunks: Iterable[Chunk]) -> Iterator[PassageOffsets]:
    for chunk in chunks:
        for start, end in sentences(text, chunk.start, chunk.end):
            yield PassageOffsets(chunk, start, end)


def given_words(extraction: Extraction, label: Callable[[NamedNode, str], str]) -> list[tuple[str, str, str]]:
    """The statements given of a passage: subject, the whole in words, object; each once, by the names as given.

    ``label`` says what a property is called in a language.
    """
    found: dict[tuple[str, str, str], None] = {}
    for claim in (claim for claim in extraction.claims if claim.given):
        subject, chinese = claim.subject.name, has_han(claim.subject.name)
        object_ = claim.object.name if isinstance(claim.object, Mention) else claim.object.value
        words = ("" if chinese else " ").join((subject, label(claim.predicate, "zh" if chinese else "en"), object_))
        found[subject, words, object_] = None
    return list(found)
