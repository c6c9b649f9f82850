"""SPARQL updates, carried out so that the law of the dataset holds after, even if the process ends half-way."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pyoxigraph import BlankNode, NamedNode, Quad, Triple

from kgplatform.dataset import Committed, EvidenceDataset, quad
from kgplatform.errors import QueryError
from kgplatform.rewriting import data_blocks, patterned
from kgplatform.store import DEFAULT_GRAPH, Store

_MOST_FOUND = 100_000
"""Above this a look at all that holds costs no more than a look at each statement that was found."""


def carry_out(dataset: EvidenceDataset, text: str, *, marker: Path) -> Committed:
    """What the default graph gained and lost by hand; ``marker`` is a file that is there until all is in line.

    Relative IRIs are resolved against the base of the workspace. An update of INSERT DATA and DELETE DATA only takes
    time by its own length, one by a pattern (DELETE, INSERT, WHERE about the default graph) by what it finds; any other
    is followed by a look at all that holds (`EvidenceDataset.reconcile`).

    Raises:
        QueryError: it was not carried out; nothing was changed.
    """
    with dataset.store.write_lock():
        wanted = _data(dataset, text)
        if wanted is None:
            wanted = _found(dataset, text)
        if wanted is not None:
            return _write(dataset, wanted)
        marker.touch()
        try:
            dataset.store.update(text, base_iri=dataset.base)
        except QueryError:
            marker.unlink()
            raise
        committed = dataset.reconcile()
        marker.unlink()
    return committed


def _data(dataset: EvidenceDataset, text: str) -> Mapping[Quad, bool] | None:
    """The quads that an update names, and whether each is to be there after; None where it does more than that.

    More is also: to write to one of the platform's own graphs, and blank nodes, whose names are the store's to give.
    """
    blocks = data_blocks(text)
    if blocks is None:
        return None
    wanted: dict[Quad, bool] = {}
    for is_insert, block in blocks:
        scratch = Store.open(prefixes=dataset.store.prefixes)
        try:
            scratch.update(block, base_iri=dataset.base)
        except QueryError:
            return None  # the store itself says best what is wrong with the text as it was written
        for item in scratch.quads():
            if _is_more(dataset, item):
                return None
            wanted[item] = is_insert
    return wanted


def _found(dataset: EvidenceDataset, text: str) -> Mapping[Quad, bool] | None:
    """As `_data`, for an update by a pattern: what its pattern finds now."""
    constructs = patterned(text)
    if constructs is None:
        return None
    wanted: dict[Quad, bool] = {}
    try:
        Store.open(prefixes=dataset.store.prefixes).update(text, base_iri=dataset.base)  # is it an update at all?
        for construct, is_insert in zip(constructs, (False, True), strict=True):
            found = dataset.store.construct(construct, base_iri=dataset.base) if construct else []
            if len(found) > _MOST_FOUND or any(map(_has_blank, found)):
                return None
            scratch = Store.open()  # which writes literals as the store has them
            scratch.apply(added=[quad(triple, DEFAULT_GRAPH) for triple in found])
            wanted |= dict.fromkeys(scratch.quads(), is_insert)
    except QueryError:
        return None
    return wanted


def _is_more(dataset: EvidenceDataset, item: Quad) -> bool:
    graph = item.graph_name
    own = isinstance(graph, NamedNode) and (dataset.is_evidence(graph) or graph == dataset.rejected)
    return own or isinstance(graph, BlankNode) or _has_blank(item.triple)


def _has_blank(triple: Triple) -> bool:
    return any(
        isinstance(term, BlankNode) or (isinstance(term, Triple) and _has_blank(term))
        for term in (triple.subject, triple.object)
    )


def _write(dataset: EvidenceDataset, wanted: Mapping[Quad, bool]) -> Committed:
    """Does to the default graph what `EvidenceDataset.reconcile` would, for the statements named only."""
    store = dataset.store
    removed = [item for item, stays in wanted.items() if not stays and store.has(item.triple, _graph(item))]
    added = [item for item, stays in wanted.items() if stays and not store.has(item.triple, _graph(item))]
    gone = [item.triple for item in removed if item.graph_name == DEFAULT_GRAPH]
    new = [item.triple for item in added if item.graph_name == DEFAULT_GRAPH]
    struck = [triple for triple in gone if dataset.evidence_graphs(triple)]
    stated = [triple for triple in new if not dataset.evidence_graphs(triple)]
    freed = [triple for triple in new if store.has(triple, dataset.rejected)]
    dataset.write(
        [*gone, *new],
        removed=[*removed, *(quad(triple, dataset.rejected) for triple in freed)],
        added=[
            *added,
            *(quad(triple, dataset.asserted) for triple in stated),
            *(quad(triple, dataset.rejected) for triple in struck),
        ],
    )
    return Committed(gained=len(stated), lost=len(struck))


def _graph(item: Quad) -> NamedNode:
    graph: NamedNode = item.graph_name  # type: ignore[assignment]
    return graph
