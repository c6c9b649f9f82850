"""Tables as documents: their rows, the mapping they are read by, and their statements, each row known by its place."""

from __future__ import annotations

import csv
import hashlib
import io
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from pyoxigraph import Literal, NamedNode, Quad, Triple

from kgplatform.documents.fetch import is_address
from kgplatform.documents.readers.plain import holds_texts, record_arrays
from kgplatform.documents.records import DocumentRecord, NameKey, State, TableEntry, TableRow
from kgplatform.documents.registry import Registry
from kgplatform.documents.tables.cell_styles import styles_of
from kgplatform.documents.tables.cells import SourceRow, TableSource, length_of
from kgplatform.documents.tables.delimited import CSV_TYPE, TSV_TYPE, table_of
from kgplatform.documents.tables.table_source import is_heavy, is_table, open_table, profile, tables_in
from kgplatform.errors import ReadError
from kgplatform.extraction.ontology_lexicon import compile_lexicon
from kgplatform.extraction.table_draft import (
    EntityIndex,
    NamedColumns,
    TableMapping,
    are_several,
    class_called,
    map_table,
    told_apart,
)
from kgplatform.linking.projection import Projection
from kgplatform.ontology.schema import Ontology
from kgplatform.store.dataset import EvidenceDataset, WrittenStatements, quad
from kgplatform.store.oxigraph import DEFAULT_GRAPH
from kgplatform.text import language_of, normalise, words_of_identifier
from kgplatform.types import Document, Extraction, Mention, Refusal
from kgplatform.vocab import ALT_LABEL, LABEL, TYPE, document_iri, graph_iri, slug

if TYPE_CHECKING:
    from kgplatform.mapping.execution import TableRun


_BATCH = 5_000
_COMPARED_ROWS = 10_000
_MOST_ORDERED = 200


@dataclass(frozen=True, slots=True)
class PlacedRow:
    """A row as its source has it, and where it stands in the document: its line, and ``text[start:end]``."""

    source: SourceRow
    line: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class TableText:
    """A table with its rows placed; ``problems`` are what was irregular in its source."""

    location: str
    name: str
    columns: tuple[str, ...]
    rows: tuple[PlacedRow, ...]
    problems: tuple[Refusal, ...] = ()


def table_text(document: Document) -> TableText:
    """The table whose text the document has: that of a CSV or TSV file, or what `as_text` made.

    Raises:
        ReadError: the text is no table.
    """
    path = Path(document.source)
    is_text = path.suffix.lower() in (".csv", ".tsv")
    if not is_text:
        path = path.with_suffix(".tsv")
    table = table_of(path, document.text.encode())
    width = len(table.columns)
    rows = tuple(
        PlacedRow(SourceRow(row.line, tuple(cell or None for cell in row.cells[:width])), row.line, row.start, row.end)
        for row in table.rows
    )
    return TableText(document.source, table.name if is_text else document.title, table.columns, rows)


def as_text(columns: Iterable[str], rows: Iterable[SourceRow]) -> str:
    r"""The table as tab-separated text, a line for each row as far as no cell holds a line break.

    >>> as_text(("name", "stars"), [SourceRow(1, ("Lotus Inn", None))])
    'name\tstars\nLotus Inn\t\n'
    """
    text = io.StringIO()
    writer = csv.writer(text, delimiter="\t", lineterminator="\n", quoting=csv.QUOTE_MINIMAL)
    writer.writerow(columns)
    writer.writerows([cell or "" for cell in row.cells] for row in rows)
    return text.getvalue()


def all_rows(source: TableSource) -> Iterator[SourceRow]:
    """The rows of a source one by one, those without any cell left out."""
    for batch in source.batches(_BATCH):
        yield from (row for row in batch if any(row.cells))


def problems_of(source: TableSource) -> Iterator[Refusal]:
    """What was irregular in the rows of a source that were read so far."""
    for problem in source.problems:
        place = f"line {problem.number}" + (f", column {problem.column!r}" if problem.column else "")
        yield Refusal(place, f"{place}: {problem.reason}")


def known_entities(dataset: EvidenceDataset, registry: Registry, ontology: Ontology) -> dict[NameKey, NamedNode]:
    """The entities that rows of tables and people describe, by class and normalised name."""
    known = KnownEntities(dataset, registry, ontology)
    known.follow(None)
    return known.now


class KnownEntities:
    """The entities that rows and people describe, kept: read again when something was written that they hang on."""

    def __init__(self, dataset: EvidenceDataset, registry: Registry, ontology: Ontology) -> None:
        self.dataset = dataset
        self.keys = frozenset(key for class_ in ontology.classes.values() for key in class_.key)
        self.now: dict[NameKey, NamedNode] = {}
        self._registry = registry
        self._ontology = ontology
        self._types: dict[object, list[NamedNode]] = {}
        self._described: frozenset[NamedNode] = frozenset()

    def follow(self, written: WrittenStatements | None) -> set[NameKey]:
        """Brings them in line with what was written (None: anything may have been); the names that changed."""
        if written is not None and not self._hang_on(written):
            return set()
        before, self.now, self._types = self.now, {}, {}
        large = self._registry.large_graphs()
        named = list(_named(self.dataset, self._ontology, large))
        self._described = _with_rows(self.dataset, self._registry, self._ontology) if named else frozenset()
        for label, type_, iri in named:
            self._types.setdefault(iri, _types(self.dataset, iri, self._ontology))
            if iri in self._described:
                self.now.setdefault((type_, normalise(label)), iri)
        return {key for key, _ in before.items() ^ self.now.items()}

    def _hang_on(self, written: WrittenStatements) -> bool:
        """True if what was written changes a thing that a table or a person names, or what that is told by."""
        if any(graph == self.dataset.asserted or "/graph/table/" in graph.value for graph in written.graphs):
            return True
        return any(self._is_changed(subject) for subject in {item.subject for item in written.statements})

    def _is_changed(self, subject: object) -> bool:
        if subject not in self._types or not isinstance(subject, NamedNode):
            return False
        if self._types[subject] != _types(self.dataset, subject, self._ontology):
            return True
        return (subject in self._described) != self._is_described(subject)

    def _is_described(self, subject: NamedNode) -> bool:
        store, large = self.dataset.store, self._registry.large_graphs()
        by_hand = next(store.quads(subject, graph=self.dataset.asserted), None)
        if by_hand is not None or self._registry.rows_about(subject):
            return True
        said = (item.graph_name for key in self.keys for item in store.quads(subject, key))
        return any(graph not in large and self.dataset.is_evidence(graph) for graph in said)


def _with_rows(dataset: EvidenceDataset, registry: Registry, ontology: Ontology) -> frozenset[NamedNode]:
    """What has a row or a key of its own, or was stated by hand; what rows only name is linked like names in texts."""
    by_hand = (item.subject for item in dataset.store.quads(graph=dataset.asserted))
    keys = {key for class_ in ontology.classes.values() for key in class_.key}
    keyed = (item.subject for key in keys for item in _keyed(dataset, registry, key))
    return registry.row_subjects() | {iri for iri in (*by_hand, *keyed) if isinstance(iri, NamedNode)}


def _keyed(dataset: EvidenceDataset, registry: Registry, key: NamedNode) -> Iterator[Quad]:
    """The statements of keys, those of large tables left out: they would not fit into memory."""
    large = registry.large_graphs()
    if not large:
        yield from dataset.store.quads(None, key, None, DEFAULT_GRAPH)
        return
    for quad in dataset.store.quads(None, key):
        if quad.graph_name not in large and dataset.is_evidence(quad.graph_name):
            yield quad


def _named(
    dataset: EvidenceDataset, ontology: Ontology, apart: frozenset[NamedNode] = frozenset()
) -> Iterator[tuple[str, NamedNode, NamedNode]]:
    """Name, class and IRI of what has a name in a table graph (but ``apart``) or by hand."""
    graphs = [g for g in dataset.own_graphs() if g == dataset.asserted or "/graph/table/" in g.value]
    for graph in sorted((g for g in graphs if g not in apart), key=lambda g: g.value):
        for predicate in (LABEL, ALT_LABEL):
            for quad in dataset.store.quads(None, predicate, None, graph):
                if isinstance(quad.subject, NamedNode) and isinstance(quad.object, Literal):
                    for type_ in _types(dataset, quad.subject, ontology):
                        yield quad.object.value, type_, quad.subject


def known_names(dataset: EvidenceDataset, registry: Registry, ontology: Ontology) -> dict[str, NamedNode]:
    """The names of the entities that tables and people describe, each with its class."""
    return {label: type_ for label, type_, _ in _named(dataset, ontology, registry.large_graphs())}


def entity_index(
    dataset: EvidenceDataset, registry: Registry, ontology: Ontology, *, apart: frozenset[NamedNode] = frozenset()
) -> EntityIndex:
    """The entities that rows and people describe, by their names and keys, for further tables to refer to.

    ``apart`` are the graphs of the table that is going to be read: what it called things before does not count.
    """
    described = _with_rows(dataset, registry, ontology)
    index = EntityIndex(ontology, dataset.base)
    keys = {key for class_ in ontology.classes.values() for key in class_.key}
    for key in sorted(keys, key=lambda k: k.value):
        for quad in _keyed(dataset, registry, key):
            if isinstance(quad.subject, NamedNode) and isinstance(quad.object, Literal):
                for type_ in _types(dataset, quad.subject, ontology):
                    index.add(quad.subject, type_, (), keys=(quad.object.value,))
    for label, type_, iri in _named(dataset, ontology, registry.large_graphs() | apart):
        if iri in described:
            index.add(iri, type_, (label,))
            if not index.is_key(iri, label):
                index.call(iri, label)
    return index


def _types(dataset: EvidenceDataset, subject: NamedNode, ontology: Ontology) -> list[NamedNode]:
    """The classes that something other than inference gives it: who is who must not depend on conclusions."""
    apart = (DEFAULT_GRAPH, dataset.inferred)
    quads = (quad for quad in dataset.store.quads(subject, TYPE) if not dataset.is_of_places(quad.graph_name))
    found = (quad.object for quad in quads if quad.graph_name not in apart)
    return sorted({t for t in found if isinstance(t, NamedNode) and t in ontology.classes}, key=lambda t: t.value)


FOLDER = "mappings"
"""The folder of a workspace that holds the mappings which do not lie beside their data."""

_COLUMNS = "columns="
_SUFFIXES = (".mapping.yml", ".mapping.yaml", ".mapping.ttl")


@dataclass(frozen=True, slots=True)
class ChosenMapping:
    """The mapping of a table: its text, where it lies, and, where it is a draft, what it says in words."""

    path: Path
    text: str
    described: str = ""
    is_kept: bool = True

    @property
    def is_draft(self) -> bool:
        """True if the mapping is a draft that nobody edited."""
        return bool(self.described)


@dataclass(frozen=True, slots=True)
class Keeping:
    """By which mapping tables are read, and whether drafts are kept beside the data or only in the workspace."""

    given: Path | None = None
    beside: bool = False


@dataclass(frozen=True, slots=True)
class Mappings:
    """Where mappings are sought and kept.

    ``given`` is a file named on the command line; ``folder`` is the workspace's own, for tables whose folder is not
    to be written to; ``beside`` says whether drafts may be kept beside the data.
    """

    ontology: Ontology
    base: str
    given: Path | None = None
    folder: Path | None = None
    beside: bool = False

    def choose(self, location: str, table: NamedColumns) -> ChosenMapping:
        """The mapping by which the table at the location is to be read; a draft is written down.

        Raises:
            ReadError: the mapping that is given cannot be read, or none can be drafted.
        """
        present = self.present(location)
        if present is not None and not present.is_draft:
            return present
        return self._kept(self.draft(location, table), location)

    def draft(self, location: str, table: NamedColumns) -> ChosenMapping:
        """The mapping drafted from the ontology, not written down.

        Raises:
            ReadError: no column fits the ontology.
        """
        from kgplatform.mapping.yarrrml_draft import drafted

        drawn: TableMapping = map_table(table, self.ontology, self.base)
        named = [item.index for item in drawn.columns if item.role == "name"]
        if drawn.key is None or drawn.key in named[:1] or not named:
            drawn = told_apart(drawn, _unique(location), partial(_differ, location), partial(_several, location))
        text = drafted(drawn, self.ontology, location)
        return ChosenMapping(self._places(location)[0], text, drawn.describe(self.ontology), is_kept=False)

    def present(self, location: str) -> ChosenMapping | None:
        """The mapping that is given or lies at hand; None where there is none.

        Raises:
            ReadError: it cannot be read.
        """
        if self.given is not None:
            return ChosenMapping(self.given, _text(self.given))
        from kgplatform.mapping.yarrrml_draft import is_untouched

        for place in self._places(location):
            if place.is_file():
                text = _text(place)
                return ChosenMapping(place, text, "a draft" if is_untouched(text) else "")
        return None

    def with_columns(self, path: Path) -> Path:
        """The path with the columns that the given mapping names for that file, as ``airports.dat#columns=id,name``."""
        if self.given is None or "#" in path.name or not path.is_file():
            return path
        found = re.search(rf"(?<![\w.-]){re.escape(path.name)}(#{_COLUMNS}[^~\"'\s\]]+)", _text(self.given))
        return path.with_name(path.name + found[1]) if found else path

    def _places(self, location: str) -> list[Path]:
        """Where a mapping of the table may lie, the draft's own place first."""
        beside = stem_of(location)
        found = [beside.with_name(beside.name + suffix) for suffix in _SUFFIXES]
        if self.folder is not None:
            digest = hashlib.sha256(str(beside.absolute()).encode("utf-8", "surrogatepass")).hexdigest()[:6]
            own = [self.folder / f"{beside.name}-{digest}{suffix}" for suffix in _SUFFIXES]
            found = [*found, *own] if self.beside else [*own, *found]
        return found

    def _kept(self, draft: ChosenMapping, location: str) -> ChosenMapping:
        """The draft written down: beside the data, else in the workspace; a draft that is as it was stays as it is."""
        own = [place for place in self._places(location) if place.name.endswith(_SUFFIXES[0])]
        places = [place for place in own if self.beside or place.parent == self.folder]
        for place in places:
            with suppress(OSError):
                place.parent.mkdir(parents=True, exist_ok=True)
                if not place.exists() or place.read_text(encoding="utf-8") != draft.text:
                    place.write_text(draft.text, encoding="utf-8")
                return ChosenMapping(place, draft.text, draft.described)
        return draft

    def again(self, entry: TableEntry | None, location: str, table: NamedColumns) -> ChosenMapping:
        """The mapping by which a table was read, to read it once more; a draft is drawn anew from the ontology."""
        if entry is None or entry.is_draft:
            return self.draft(location, table)
        return ChosenMapping(Path(entry.mapping_name), entry.mapping)


def mappings(folder: Path, ontology: Ontology, base: str, keeping: Keeping | None = None) -> Mappings:
    """Where the workspace in ``folder`` seeks and keeps mappings."""
    how = keeping or Keeping()
    return Mappings(ontology, base, how.given, folder / FOLDER, how.beside)


def _unique(location: str) -> dict[str, str]:
    """The columns that have a cell in each of the first rows, and no two alike, with the type of these."""
    columns = profile(open_table(location))
    return {c.name: c.type.value for c in columns if c.is_unique and c.filled == 1}


def _differ(location: str, columns: Sequence[int]) -> bool:
    """Whether no two of the first rows are alike in these columns, all of which are filled."""
    rows = islice(all_rows(open_table(location)), _COMPARED_ROWS)
    found = [tuple(row.cells[column] for column in columns) for row in rows]
    return all(map(all, found)) and len(set(found)) == len(found)


def _several(location: str, column: int) -> bool:
    """Whether the first rows that are alike in this column are of several things."""
    return are_several((row.cells for row in islice(all_rows(open_table(location)), _COMPARED_ROWS)), column)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise ReadError(f"cannot be read: {error.strerror or error}", path=path) from error
    except UnicodeDecodeError as error:
        raise ReadError("is not UTF-8 text; a mapping is YARRRML (.yml) or RML (.ttl)", path=path) from error


def stem_of(location: str) -> Path:
    """The path of a table without its suffix; a sheet or database table stands behind a hyphen."""
    file, part = file_of(location)
    name = file.stem if not part or part.startswith(_COLUMNS) else f"{file.stem}-{part.strip('/').replace('/', '-')}"
    return file.with_name(name)


def file_of(location: str) -> tuple[Path, str]:
    """The file of a table, and which of its tables is meant: a sheet, a database's table, a place in JSON."""
    text = location
    if text.startswith("sqlite:"):
        text = text.removeprefix("sqlite:")
        text = text[3:] if text.startswith("///") else text.removeprefix("/")
        text, query, part = text.partition("?query=")
        if query:
            return _existing(text), hashlib.sha256(part.encode()).hexdigest()[:8]
    if Path(text).exists():
        return Path(text), ""
    file, mark, part = text.rpartition("#")
    return (_existing(file), part) if mark else (_existing(text), "")


def digest_of(file: Path, part: str) -> str:
    """The SHA-256 of a file and, if one is named, of which part of it is meant.

    Raises:
        ReadError: it cannot be read.
    """
    try:
        with file.open("rb") as data:
            found = hashlib.file_digest(data, "sha256").hexdigest()
    except OSError as error:
        raise ReadError(f"cannot be read: {error.strerror or error}", path=file) from error
    return hashlib.sha256(f"{found}#{part}".encode("utf-8", "surrogateescape")).hexdigest() if part else found


def _existing(text: str) -> Path:
    """The path, relative or from the root, whichever there is; both are written behind ``sqlite:///``."""
    path = Path(text)
    return path if path.exists() or not Path(f"/{text}").exists() else Path(f"/{text}")


_MOST_REPEATED = 50
"""So many keys that several rows have are listed one by one."""


@dataclass(frozen=True, slots=True)
class TableStatements:
    """The statements of a table, the graph they go to, where its rows stand, and what was refused.

    ``references`` are things that rows name but no row describes, by the IRI they have in ``triples``: each is a
    mention in the table's text, and is linked as names in texts are.
    """

    graph: NamedNode
    triples: tuple[Triple, ...]
    rows: tuple[TableRow, ...]
    refused: tuple[Refusal, ...]
    references: Mapping[NamedNode, Mention]
    mapping: ChosenMapping

    @property
    def extraction(self) -> Extraction:
        """The references as what was read in the table."""
        return Extraction(chunk=self.graph, mentions=tuple(self.references.values()), method="table")

    def projected(self, projection: Projection) -> list[Triple]:
        """The statements with each reference replaced by the entity that its name is linked to."""
        entities = {iri: projection.entity(mention, self.graph) for iri, mention in self.references.items()}
        kept = (t for t in self.triples if t.subject not in entities or t.predicate not in (TYPE, LABEL))
        found = dict.fromkeys(
            Triple(entities.get(t.subject, t.subject), t.predicate, entities.get(t.object, t.object))  # type: ignore[arg-type]
            for t in kept
        )
        return list(found | dict.fromkeys(projection.triples(self.extraction)))


def table_statements(
    document: Document, table: TableText, mapping: ChosenMapping, index: EntityIndex, graph: NamedNode
) -> TableStatements:
    """The statements of a table document by a mapping, which go to ``graph``.

    ``index`` holds the entities that rows of other tables describe; the table's own are added.

    Raises:
        ReadError: the mapping is none, or does not fit the table.
    """
    from kgplatform.mapping.execution import statements
    from kgplatform.mapping.yarrrml_draft import unknown_terms

    known = index.iris()
    told = [row.source.cells for row in table.rows[:STYLED_ROWS]]
    run = run_of(table.location, table.columns, mapping, index, rows=told)
    triples: dict[Triple, None] = {}
    rows: list[TableRow] = []
    refused = [*table.problems, *(Refusal(*found) for found in unknown_terms(run.rules, index.ontology))]
    places: dict[NamedNode, tuple[int, int]] = {}
    lines: dict[NamedNode, list[int]] = {}
    for row, said in zip(table.rows, statements(run, [row.source for row in table.rows]), strict=True):
        refused.extend(said.refused)
        for triple in said.triples:
            triples[triple] = None
            if isinstance(triple.subject, NamedNode):
                places.setdefault(triple.subject, (row.start, row.end))
        rows += [TableRow(document.iri, subject, row.line, row.start, row.end) for subject in said.subjects]
        if said.keyed is not None:
            lines.setdefault(said.keyed, []).append(said.line)
    refused += repeated(lines)
    described = known | {row.subject for row in rows}
    references = dict(_references(triples, places, described, document.text))
    return TableStatements(graph, tuple(triples), tuple(rows), tuple(refused), references, mapping)


def run_of(
    location: str,
    columns: Sequence[str],
    mapping: ChosenMapping,
    index: EntityIndex,
    *,
    rows: Sequence[Sequence[str | None]],
) -> TableRun:
    """The mapping made ready for a table with these columns; its ``rows``, or the first of them, tell its cells' style.

    Raises:
        ReadError: the mapping is none, or does not fit the table.
    """
    from kgplatform.mapping.cell_functions import Functions
    from kgplatform.mapping.execution import TableRun
    from kgplatform.mapping.rml import rules_of

    rules = rules_of(mapping.text, mapping.path)
    styles = styles_of(zip(*rows, strict=True)) if rows else ()
    functions = Functions(index.ontology, index)
    return TableRun(rules, location, columns, functions, opener=open_table, styles=styles)


def repeated(lines: Mapping[NamedNode, Sequence[int]]) -> Iterator[Refusal]:
    """What is to be said about keys that several rows have: they count as rows about one thing."""
    found = [(iri, at) for iri, at in lines.items() if len(at) > 1]
    for iri, at in found[:_MOST_REPEATED]:
        others = ", ".join(str(line) for line in at[:-1][:5])
        yield Refusal(
            iri.value, f"line {at[-1]}: has the key of line {others}; both count as statements about one thing"
        )
    if len(found) > _MOST_REPEATED:
        yield Refusal("", f"{len(found) - _MOST_REPEATED} more keys stand in several rows")


def _references(
    triples: Iterable[Triple], places: Mapping[NamedNode, tuple[int, int]], described: Set[NamedNode], text: str
) -> Iterator[tuple[NamedNode, Mention]]:
    """The things that have a name and a class, but neither a row nor a key of their own."""
    names: dict[NamedNode, str] = {}
    types: dict[NamedNode, NamedNode] = {}
    keyed: set[NamedNode] = set()
    for triple in triples:
        subject, object_ = triple.subject, triple.object
        if not isinstance(subject, NamedNode) or subject in described:
            continue
        if triple.predicate == TYPE and isinstance(object_, NamedNode):
            types[subject] = object_
        elif triple.predicate == LABEL and isinstance(object_, Literal) and object_.language:
            names.setdefault(subject, object_.value)
        elif isinstance(object_, Literal):
            keyed.add(subject)
    for subject, name in names.items():
        start = text.find(name, *places[subject])
        if subject in types and subject not in keyed and start >= 0:
            yield subject, Mention(name, start, start + len(name), types[subject], name)


def table_graph(document: Document, base: str, taken: Mapping[str, NamedNode]) -> NamedNode:
    """``graph/table/<name>``; a second table of that name gets its document's hash behind it.

    ``taken`` are the table graphs in use, with their documents. A newer version counts as a second table, since the
    older one keeps its graph until the newer one is in.
    """
    name = slug(stem_of(document.source).name)
    graph = graph_iri(base, f"table/{name}")
    if taken.get(graph.value, document.iri) == document.iri:
        return graph
    return graph_iri(base, f"table/{name}-{document.sha256[:8]}")


_TEXTS = (".csv", ".tsv")
_JSON = (".json", ".jsonl", ".ndjson", ".geojson")
LARGE_ROWS = 100_000
"""From more rows on, a table is large: its rows are read in batches, and not kept as a text."""
_LARGE_TEXT = 100_000_000
"""From more characters on, too: few bytes of a packed file may stand for many."""
STYLED_ROWS = 20_000
"""So many rows tell how the cells of the columns are written."""
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
        """True if the path is one of a table; an address on the web is none.

        JSON is one if a mapping is given or lies beside it, a part is named whose items are no texts, or it holds no
        texts but objects that are called what a class is: by the array they are in, or the file.
        """
        location = path.as_posix()
        file, part = file_of(location)
        if file.suffix.lower() in _JSON:
            if self.mappings.present(location) is not None:
                return True
            return not holds_texts(file, part) if part else self._are_called(record_arrays(file), file)
        return is_table(location) or (self.mappings.given is not None and file.suffix.lower() == ".dat")

    def _are_called(self, arrays: Sequence[str], file: Path) -> bool:
        """Whether what is in one of the arrays is called what a class is."""
        if not arrays:
            return False
        lexicon = compile_lexicon(self.ontology)
        names = (file.stem, *(pointer.rpartition("/")[2] for pointer in arrays))
        return any(class_called(words_of_identifier(name), lexicon) for name in names if name)

    def each(self, path: Path) -> list[Path]:
        """The tables of a file that holds several, unless a mapping is given for it as a whole; else the path."""
        location = path.as_posix()
        with suppress(ReadError):  # it is told when the file is read
            present = self.mappings.present(location)
            if present is None or present.is_draft:
                return [Path(one) for one in tables_in(location)]
        return [path]

    def in_order(self, tables: Sequence[Path]) -> list[Path]:
        """The tables, those to whose rows others lead before these, so that the rows' names are known by then."""
        drafts: dict[Path, TableMapping] = {}
        for path in tables if 1 < len(tables) <= _MOST_ORDERED else ():
            with suppress(ReadError):  # it is told when the table is read
                if not is_heavy(path):  # another process goes through it first
                    drafts[path] = map_table(open_table(path.as_posix()), self.ontology, self.base)
        left, found = list(tables), list[Path]()
        while left:
            ready = (path for path in left if not any(self._leads_to(path, other, drafts) for other in left))
            found.append(next(ready, left[0]))
            left.remove(found[-1])
        return found

    def _leads_to(self, path: Path, other: Path, drafts: Mapping[Path, TableMapping]) -> bool:
        """Whether a column of the table names rows of the other."""
        if path == other or path not in drafts or other not in drafts or drafts[path].type == drafts[other].type:
            return False
        terms = (item.term for item in drafts[path].columns)
        return any(
            term is not None and term.is_object and self.ontology.is_a(drafts[other].type, term.ranges)
            for term in terms
        )

    def remember(self, sources: Iterable[str]) -> None:
        """Notes which mapping is given for what lies at those places, so that it is read by it when tried again."""
        given = self.mappings.given
        self.registry.give_mapping(sources, given.absolute().as_posix() if given is not None else None)

    def is_apart(self, path: Path) -> bool:
        """True if the table is not a text that is read as documents are."""
        return self.is_table(path) and path.suffix.lower() not in _TEXTS

    def is_large(self, path: Path) -> bool:
        """True if the table has so many rows that it is not kept as a text.

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
        length = 0
        for number, row in enumerate(all_rows(open_table(path.as_posix())), start=1):
            length += length_of(row)
            if number > LARGE_ROWS or length > _LARGE_TEXT:
                return True
        return False

    def digest(self, path: Path) -> str:
        """The SHA-256 of the table: that of its file, and of which of the file's tables it is.

        Raises:
            ReadError: it cannot be read.
        """
        return digest_of(*file_of(path.as_posix()))

    def document(self, path: Path) -> Document:
        """The table as a document whose text can be quoted.

        Raises:
            ReadError: it is no table.
        """
        source = open_table(path.as_posix())
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
        """True if the document is a table."""
        if document.media_type in (CSV_TYPE, TSV_TYPE):
            return True
        return not is_address(document.source) and self.is_apart(Path(document.source))

    def is_remapped(self, record: DocumentRecord) -> bool:
        """True if a table that was read by one mapping is now to be read by another."""
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
            source = open_table(Path(document.source).as_posix())
            pairs = zip(
                table.rows, list(all_rows(source)), strict=True
            )  # with the numbers that rows have in their source
            rows = tuple(replace(row, source=given) for row, given in pairs)
            table = replace(table, rows=rows, problems=tuple(problems_of(source)))
        return self._mapped(document, table, self.mappings.choose(document.source, table))

    def again(self, document: Document) -> TableStatements:
        """The statements of a table that was read before, by the mapping of then."""
        table = table_text(document)
        entry = self.registry.table(document.iri)
        return self._mapped(document, table, self.mappings.again(entry, document.source, table))

    def _mapped(self, document: Document, table: TableText, mapping: ChosenMapping) -> TableStatements:
        graph = self.graph(document)
        before = map(NamedNode, self.registry.table_graphs(document.source))
        index = entity_index(self.dataset, self.registry, self.ontology, apart=frozenset((graph, *before)))
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


def waiting(registry: Registry) -> dict[Keeping | None, list[str]]:
    """What failed or was interrupted and is still there, by the mapping that was given for it."""
    found: dict[Keeping | None, list[str]] = {}
    records = [record for state in (State.FAILED, State.PENDING) for record in registry.documents(state)]
    for source in dict.fromkeys(record.document.source for record in records):
        if is_address(source) or file_of(source)[0].exists():
            given = registry.given_mapping(source)
            found.setdefault(Keeping(Path(given)) if given else None, []).append(source)
    return found
