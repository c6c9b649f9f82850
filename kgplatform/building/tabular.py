"""The table stage of adding: which files are tables, how they become documents, what a newer version changes."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from pyoxigraph import NamedNode, Triple

from kgplatform.building.known import entity_index
from kgplatform.building.mappings import ChosenMapping, Keeping, Mappings, file_of
from kgplatform.building.rows import TableText, all_rows, as_text, problems_of, table_text, with_numbers
from kgplatform.building.tables import TableStatements, table_graph, table_statements
from kgplatform.dataset import EvidenceDataset, quad
from kgplatform.documents.registry import DocumentRecord, Registry, State
from kgplatform.documents.structured import holds_texts
from kgplatform.documents.table import CSV_TYPE, TSV_TYPE
from kgplatform.documents.table_entries import TableEntry
from kgplatform.documents.web import is_address
from kgplatform.errors import ReadError
from kgplatform.ontology import Ontology
from kgplatform.text import language_of
from kgplatform.types import Document
from kgplatform.vocab import document_iri

if TYPE_CHECKING:
    from kgplatform.documents.tabular.source import TableSource

_TEXTS = (".csv", ".tsv")
_JSON = (".json", ".jsonl", ".ndjson", ".geojson")
LARGE_ROWS = 100_000
"""From more rows on, a table is large: its rows are read in batches, and not kept as a text."""
_LARGE_TEXT = 100_000_000
"""From more characters on, too: few bytes of a packed file may stand for many."""
_SMALL_BYTES = 1_000_000
"""A file that is no larger, and not packed, holds no large table."""


@dataclass(frozen=True, slots=True)
class RowChanges:
    """How many of the things that rows describe a newer version of a table brings, drops, changes, and leaves."""

    added: int
    removed: int
    changed: int
    unchanged: int


@dataclass(frozen=True, slots=True)
class TableParts:
    """What adding tables reads and writes."""

    base: str
    registry: Registry
    dataset: EvidenceDataset
    ontology: Ontology
    mappings: Mappings

    def is_table(self, path: Path) -> bool:
        """Whether the path is one of a table; JSON is one if a mapping is given or lies beside it, or a part is named.

        A part of JSON whose items are texts is none, and neither is an address on the web.
        """
        from kgplatform.documents.tabular.opening import is_table

        location = path.as_posix()
        file, part = file_of(location)
        if file.suffix.lower() in _JSON:
            return (bool(part) and not holds_texts(file, part)) or self.mappings.present(location) is not None
        return is_table(location) or (self.mappings.given is not None and file.suffix.lower() == ".dat")

    def remember(self, sources: Iterable[str]) -> None:
        """Notes which mapping is given for what lies at those places, so that it is read by it when tried again."""
        given = self.mappings.given
        self.registry.give_mapping(sources, given.absolute().as_posix() if given is not None else None)

    def is_apart(self, path: Path) -> bool:
        """Whether the table is not a text that is read as documents are."""
        return self.is_table(path) and path.suffix.lower() not in _TEXTS

    def is_large(self, path: Path) -> bool:
        """Whether the table has so many rows that it is not kept as a text.

        Raises:
            ReadError: it cannot be read.
        """
        file, _ = file_of(path.as_posix())
        try:
            size = file.stat().st_size
        except OSError as error:
            raise ReadError(f"cannot be read: {error.strerror or error}", path=file) from error
        if size <= _SMALL_BYTES and path.suffix.lower() in (*_TEXTS, *_JSON):
            return False
        if path.suffix.lower() in _TEXTS:
            with file.open("rb") as lines:
                return sum(1 for _ in islice(lines, LARGE_ROWS + 2)) > LARGE_ROWS + 1
        from kgplatform.documents.tabular.cells import length_of

        length = 0
        for number, row in enumerate(all_rows(_opened(path)), start=1):
            length += length_of(row)
            if number > LARGE_ROWS or length > _LARGE_TEXT:
                return True
        return False

    def digest(self, path: Path) -> str:
        """The SHA-256 of the table: that of its file, and of which of the file's tables it is.

        Raises:
            ReadError: it cannot be read.
        """
        file, part = file_of(path.as_posix())
        try:
            with file.open("rb") as data:
                found = hashlib.file_digest(data, "sha256").hexdigest()
        except OSError as error:
            raise ReadError(f"cannot be read: {error.strerror or error}", path=file) from error
        return hashlib.sha256(f"{found}#{part}".encode()).hexdigest() if part else found

    def document(self, path: Path) -> Document:
        """The table as a document whose text can be quoted.

        Raises:
            ReadError: it is no table.
        """
        source = _opened(path)
        return self.described(path, source, as_text(source.columns, all_rows(source)))

    def described(self, path: Path, source: TableSource, text: str) -> Document:
        """The document of a table, with a text or (large tables) without."""
        digest = self.digest(path)
        return Document(
            iri=document_iri(self.base, digest),
            text=text,
            title=source.name,
            media_type=source.media_type,
            source=path.as_posix(),
            sha256=digest,
            language=language_of(text[:5000]) if text else "en",
        )

    def holds(self, document: Document) -> bool:
        """Whether the document is a table."""
        if document.media_type in (CSV_TYPE, TSV_TYPE):
            return True
        return not is_address(document.source) and self.is_apart(Path(document.source))

    def is_remapped(self, record: DocumentRecord) -> bool:
        """Whether a table that was read by one mapping is now to be read by another."""
        if record.graph is None:
            return False
        present = self.mappings.present(record.document.source)
        entry = self.registry.table(record.document.iri)
        if present is None or entry is None or (present.is_draft and entry.is_draft):
            return False
        return present.text != entry.mapping

    def read(self, document: Document) -> TableStatements:
        """The statements of a table by its mapping; it may refer to rows of the tables before it.

        Raises:
            ReadError: no mapping fits it.
        """
        table = table_text(document)
        if self.is_apart(Path(document.source)):
            source = _opened(Path(document.source))
            rows = list(all_rows(source))
            table = with_numbers(table, rows, problems_of(source))
        return self._mapped(document, table, self.mappings.choose(document.source, table))

    def again(self, document: Document) -> TableStatements:
        """The statements of a table that was read before, by the mapping of then."""
        table = table_text(document)
        entry = self.registry.table(document.iri)
        return self._mapped(document, table, self.mappings.again(entry, document.source, table))

    def _mapped(self, document: Document, table: TableText, mapping: ChosenMapping) -> TableStatements:
        graph = self.graph(document)
        index = entity_index(self.dataset, self.registry, self.ontology, apart=graph)
        return table_statements(document, table, mapping, index, graph)

    def graph(self, document: Document) -> NamedNode:
        """The graph of the table's statements."""
        return table_graph(document, self.base, self.registry.table_graphs())

    def changes(self, old: Sequence[NamedNode], new: TableStatements, triples: Iterable[Triple]) -> RowChanges | None:
        """What a newer version changes, as against the tables that it replaces; None where these were none."""
        records = [self.registry.document(iri) for iri in old if self.registry.state(iri) is State.PROCESSED]
        graphs = {record.document.iri: record.graph for record in records if record.graph is not None}
        if not graphs:
            return None
        before = {row.subject for iri in graphs for row in self.registry.rows_of(iri)}
        after = {row.subject for row in new.rows}
        held = _about(before, (q.triple for graph in graphs.values() for q in self.dataset.store.quads(graph=graph)))
        said = _about(after, (quad(triple, new.graph).triple for triple in triples))
        changed = sum(held.get(subject) != said.get(subject) for subject in before & after)
        both = len(before & after)
        return RowChanges(len(after - before), len(before - after), changed, both - changed)


def entry_of(document: Document, mapping: ChosenMapping, *, is_large: bool = False) -> TableEntry:
    """What the registry notes of a table."""
    return TableEntry(document.source, mapping.path.name, mapping.text, is_draft=mapping.is_draft, is_large=is_large)


def _about(subjects: Set[NamedNode], triples: Iterable[Triple]) -> Mapping[NamedNode, set[Triple]]:
    found: dict[NamedNode, set[Triple]] = {}
    for triple in triples:
        if isinstance(triple.subject, NamedNode) and triple.subject in subjects:
            found.setdefault(triple.subject, set()).add(triple)
    return found


def _opened(path: Path) -> TableSource:
    from kgplatform.documents.tabular.opening import open_table

    return open_table(path.as_posix())


def waiting(registry: Registry) -> dict[Keeping | None, list[str]]:
    """What failed or was interrupted and is still there, by the mapping that was given for it."""
    found: dict[Keeping | None, list[str]] = {}
    records = [record for state in (State.FAILED, State.PENDING) for record in registry.documents(state)]
    for source in dict.fromkeys(record.document.source for record in records):
        if is_address(source) or file_of(source)[0].exists():
            given = registry.given_mapping(source)
            found.setdefault(Keeping(Path(given)) if given else None, []).append(source)
    return found
