"""The table stage: a table document becomes statements in a graph of its own, each row known by its place."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass
from pathlib import Path

from pyoxigraph import Literal, NamedNode, Triple

from kgplatform.documents.registry import TableRow
from kgplatform.documents.table import table_of
from kgplatform.extraction.entities import EntityIndex
from kgplatform.extraction.tables import map_table, rows_to_statements
from kgplatform.linking.projection import Projection
from kgplatform.ontology import Ontology
from kgplatform.types import Document, Extraction, Mention, Refusal
from kgplatform.vocab import LABEL, TYPE, graph_iri, slug


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

    @property
    def extraction(self) -> Extraction:
        """The references as what was read in the table."""
        return Extraction(chunk=self.graph, mentions=tuple(self.references.values()), method="table")

    def projected(self, projection: Projection) -> list[Triple]:
        """The statements with each reference replaced by the entity that its name is linked to."""
        entities = {iri: projection.entity(mention) for iri, mention in self.references.items()}
        kept = (t for t in self.triples if t.subject not in entities or t.predicate not in (TYPE, LABEL))
        found = dict.fromkeys(
            Triple(entities.get(t.subject, t.subject), t.predicate, entities.get(t.object, t.object))  # type: ignore[arg-type]
            for t in kept
        )
        return list(found | dict.fromkeys(projection.triples(self.extraction)))


def table_statements(document: Document, ontology: Ontology, index: EntityIndex, graph: NamedNode) -> TableStatements:
    """The statements of a table document, which go to ``graph``.

    ``index`` holds the entities that rows of other tables describe; the table's own are added.

    Raises:
        ReadError: no column fits the ontology.
    """
    table = table_of(Path(document.source), document.text.encode())
    mapping = map_table(table, ontology, index.base)
    known = index.iris()
    triples: dict[Triple, None] = {}
    rows: list[TableRow] = []
    refused: list[Refusal] = []
    places: dict[NamedNode, tuple[int, int]] = {}
    for statements in rows_to_statements(table, mapping, ontology, index=index):
        refused.extend(statements.refused)
        for triple in statements.triples:
            triples[triple] = None
            if isinstance(triple.subject, NamedNode):
                places.setdefault(triple.subject, (statements.start, statements.end))
        if statements.subject is not None:
            rows.append(TableRow(document.iri, statements.subject, statements.line, statements.start, statements.end))
    described = known | {row.subject for row in rows}
    references = dict(_references(triples, places, described, document.text))
    return TableStatements(graph, tuple(triples), tuple(rows), tuple(refused), references)


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

    ``taken`` are the table graphs in use, with their documents.
    """
    name = slug(Path(document.source).stem)
    graph = graph_iri(base, f"table/{name}")
    if taken.get(graph.value, document.iri) == document.iri:
        return graph
    return graph_iri(base, f"table/{name}-{document.sha256[:8]}")
