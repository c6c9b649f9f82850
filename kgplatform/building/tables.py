"""The table stage: a table document becomes statements in a graph of its own, each row known by its place."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyoxigraph import Literal, NamedNode, Triple

from kgplatform.building.mappings import ChosenMapping, stem_of
from kgplatform.building.rows import TableText
from kgplatform.documents.registry import TableRow
from kgplatform.extraction.entities import EntityIndex
from kgplatform.linking.projection import Projection
from kgplatform.types import Document, Extraction, Mention, Refusal
from kgplatform.vocab import LABEL, TYPE, graph_iri, slug

if TYPE_CHECKING:
    from kgplatform.mapping.running import Run

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
    from kgplatform.mapping.checking import unknown_terms
    from kgplatform.mapping.statements import statements

    known = index.iris()
    run = run_of(table.location, table.columns, mapping, index)
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


def run_of(location: str, columns: Sequence[str], mapping: ChosenMapping, index: EntityIndex) -> Run:
    """The mapping made ready for a table with these columns.

    Raises:
        ReadError: the mapping is none, or does not fit the table.
    """
    from kgplatform.documents.tabular.opening import open_table
    from kgplatform.mapping.functions import Functions
    from kgplatform.mapping.rml import rules_of
    from kgplatform.mapping.running import Run

    rules = rules_of(mapping.text, mapping.path)
    return Run(rules, location, columns, Functions(index.ontology, index), opener=open_table)


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
