"""What the registry holds, as values: entries of documents, places of table rows, the map from names to entities."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

from pyoxigraph import NamedNode, Triple

from kgplatform.documents.decisions import Apart
from kgplatform.ontology import Word
from kgplatform.text import normalise
from kgplatform.types import Chunk, Document, Extraction, Mention


class State(StrEnum):
    """How far a document has come; one in quarantine was read, but what it says does not hold."""

    PENDING = "pending"
    PROCESSING = "processing"
    PROCESSED = "processed"
    QUARANTINED = "quarantined"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class DocumentRecord:
    """A document's entry; ``graph`` is the table graph of a table, ``seconds`` the time it took."""

    document: Document
    state: State
    error: str | None
    updated: str
    statements: int
    refused: int
    graph: NamedNode | None
    seconds: float


@dataclass(frozen=True, slots=True)
class TableRow:
    """Where the row that describes ``subject`` stands in the document's text."""

    document: NamedNode
    subject: NamedNode
    line: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class NameLink:
    """Which entity a name of a class stands for, how sure (0..1) and by which method."""

    type: NamedNode
    name: str
    entity: NamedNode
    score: float
    method: str


@dataclass(frozen=True, slots=True)
class LinkedEntity:
    """An entity that names were linked to: its class and its label in each language that has one."""

    iri: NamedNode
    type: NamedNode
    labels: tuple[Word, ...]


NameKey: TypeAlias = tuple[NamedNode, str]
"""A class and a normalised name."""


@dataclass(frozen=True)
class Linking:
    """The map from names to entities, and what is known of these.

    ``scoped`` holds names that stand for something of their own in one document (its IRI, or a table's graph);
    ``refused`` statements that were read, but cannot be for what is known of their entities; ``apart`` names that a
    person decided are of two things.
    """

    names: Mapping[NameKey, NameLink] = field(default_factory=dict)
    entities: Mapping[NamedNode, LinkedEntity] = field(default_factory=dict)
    scoped: Mapping[tuple[str, NameKey], NamedNode] = field(default_factory=dict)
    refused: frozenset[Triple] = frozenset()
    apart: frozenset[Apart] = frozenset()


def name_keys(extraction: Extraction) -> Iterator[NameKey]:
    """The names that occur in an extraction."""
    for mention in extraction.mentions:
        yield mention.type, normalise(mention.name)
    for claim in extraction.claims:
        yield claim.subject.type, normalise(claim.subject.name)
        if isinstance(claim.object, Mention):
            yield claim.object.type, normalise(claim.object.name)


def record_of(row: sqlite3.Row) -> DocumentRecord:
    """The entry that a row of ``documents`` holds."""
    document = Document(
        iri=NamedNode(row["iri"]),
        text=row["text"],
        title=row["title"],
        media_type=row["media_type"],
        source=row["source"],
        sha256=row["sha256"],
        language=row["language"],
        author=row["author"],
        created=row["created"],
    )
    return DocumentRecord(
        document=document,
        state=State(row["state"]),
        error=row["error"],
        updated=row["updated"],
        statements=row["statements"],
        refused=row["refused"],
        graph=NamedNode(row["graph"]) if row["graph"] else None,
        seconds=row["seconds"],
    )


def chunk_of(row: sqlite3.Row, text: str) -> Chunk:
    """The chunk that a row of ``chunks`` holds, cut from its document's text."""
    start, end = row["start"], row["end"]
    return Chunk(NamedNode(row["iri"]), NamedNode(row["document"]), row["position"], start, end, text[start:end])


def table_row_of(row: sqlite3.Row) -> TableRow:
    """The place that a row of ``table_rows`` holds."""
    return TableRow(NamedNode(row["document"]), NamedNode(row["subject"]), row["line"], row["start"], row["end"])
