"""The table stage: a table document becomes statements in a graph of its own, each row known by its place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pyoxigraph import NamedNode, Triple

from kgplatform.documents.registry import TableRow
from kgplatform.documents.table import read_table
from kgplatform.extraction.entities import EntityIndex
from kgplatform.extraction.tables import map_table, rows_to_statements
from kgplatform.ontology import Ontology
from kgplatform.types import Document, Refusal
from kgplatform.vocab import graph_iri, slug


@dataclass(frozen=True, slots=True)
class TableStatements:
    """The statements of a table, the graph they go to, where its rows stand, and what was refused."""

    graph: NamedNode
    triples: tuple[Triple, ...]
    rows: tuple[TableRow, ...]
    refused: tuple[Refusal, ...]


def table_statements(
    document: Document, ontology: Ontology, index: EntityIndex, base: str, taken: Mapping[str, NamedNode]
) -> TableStatements:
    """The statements of a table document.

    ``index`` holds the entities that are known; the table's own are added. ``taken`` are the table graphs in use,
    with their documents.

    Raises:
        ReadError: no column fits the ontology.
    """
    table = read_table(Path(document.source))
    mapping = map_table(table, ontology, base)
    triples: dict[Triple, None] = {}
    rows: list[TableRow] = []
    refused: list[Refusal] = []
    for statements in rows_to_statements(table, mapping, ontology, index=index):
        triples.update(dict.fromkeys(statements.triples))
        refused.extend(statements.refused)
        if statements.subject is not None:
            place = (statements.line, statements.start, statements.end)
            rows.append(TableRow(document.iri, statements.subject, *place))
    return TableStatements(_graph(document, base, taken), tuple(triples), tuple(rows), tuple(refused))


def _graph(document: Document, base: str, taken: Mapping[str, NamedNode]) -> NamedNode:
    """``graph/table/<name>``; a second table of that name gets its document's hash behind it."""
    name = slug(Path(document.source).stem)
    graph = graph_iri(base, f"table/{name}")
    if taken.get(graph.value, document.iri) == document.iri:
        return graph
    return graph_iri(base, f"table/{name}-{document.sha256[:8]}")
