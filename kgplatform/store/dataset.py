"""Evidence by construction: the default graph is the knowledge, the named graphs are what it rests on.

A statement read in chunk 12 lies in the named graph that *is* chunk 12, one mapped from a table in the table's
graph, one that a person made in ``graph/asserted``. The default graph holds the set of them once each:

    default graph = union of the evidence graphs, less ``graph/rejected``

`EvidenceDataset.commit` keeps that law while graphs come and go, in one transaction each; `reconcile` restores it
after a foreign update. Graphs that describe documents (``<document IRI>``), communities, and any other graph a user
writes are kept beside, outside the default graph.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice

from pyoxigraph import DefaultGraph, Literal, NamedNode, Quad, Triple

from kgplatform.errors import StoreError
from kgplatform.store.oxigraph import DEFAULT_GRAPH, Store, as_stored
from kgplatform.vocab import graph_iri

_MOST_TOUCHED = 100_000
"""So many statements that came and went are remembered; whoever asks for more begins from scratch."""

_MANY = 10_000
"""From so many conclusions on, the bulk loader is faster."""

_PART = 20_000
"""So many statements of a large graph are taken out at a time."""

_PROJECTED = ("ontology", "links", "identities", "relations", "inferred", "asserted")


@dataclass(frozen=True, slots=True)
class Change:
    """Graphs to drop, triples that graphs are to gain, and that they are to lose; dropped and gaining: replaced."""

    dropped: tuple[NamedNode, ...] = ()
    added: Mapping[NamedNode, Iterable[Triple]] = field(default_factory=dict)
    removed: Mapping[NamedNode, Iterable[Triple]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Committed:
    """How many statements the default graph gained and lost."""

    gained: int
    lost: int


@dataclass(frozen=True, slots=True)
class WrittenStatements:
    """Statements that came or went, as far as their property was asked for, and the graphs but those of documents."""

    statements: tuple[Triple, ...]
    graphs: frozenset[NamedNode]


def quad(triple: Triple, graph: NamedNode | DefaultGraph) -> Quad:
    """The triple in the graph, with its literal as a store gives it back."""
    object_ = triple.object
    return Quad(
        triple.subject, triple.predicate, as_stored(object_) if isinstance(object_, Literal) else object_, graph
    )


class Following:
    """What is written from now on, for who keeps something made from that: conclusions are left out.

    Statements are noted of some properties, graphs unless they are a document's.
    """

    def __init__(self, dataset: EvidenceDataset, predicates: frozenset[NamedNode]) -> None:
        self._dataset = dataset
        self._predicates = predicates
        self._seen = dataset.store.version
        self._written: dict[Triple, None] = {}
        self._graphs: set[NamedNode] = set()

    def note(self, before: int, written: Iterable[Quad]) -> None:
        """Takes down a write to a store that was of that version before it."""
        if self._seen != before or len(self._written) > _MOST_TOUCHED:
            return
        self._seen = self._dataset.store.version
        for item in written:
            graph = item.graph_name
            if not isinstance(graph, NamedNode) or graph == self._dataset.inferred:
                continue
            if item.predicate in self._predicates:
                self._written[item.triple] = None
            if not self._dataset.is_of_document(graph):
                self._graphs.add(graph)

    def pass_over(self, wanted: Callable[[NamedNode], bool]) -> None:
        """Forgets of those graphs that they were written to."""
        self._graphs = {graph for graph in self._graphs if not wanted(graph)}

    def take(self) -> WrittenStatements | None:
        """What was written since this was last asked; None: not known, since something else wrote to the store too."""
        known = self._seen == self._dataset.store.version
        found = WrittenStatements(tuple(self._written), frozenset(self._graphs)) if known else None
        self._seen, self._written, self._graphs = self._dataset.store.version, {}, set()
        return found


class EvidenceDataset:
    """The dataset of a workspace; ``base`` is where its graph IRIs begin."""

    def __init__(self, store: Store, base: str) -> None:
        self.store = store
        self.base = base
        self.asserted = graph_iri(base, "asserted")
        self.rejected = graph_iri(base, "rejected")
        self.links = graph_iri(base, "links")
        self.identities = graph_iri(base, "identities")
        self.relations = graph_iri(base, "relations")
        self.ontology = graph_iri(base, "ontology")
        self.inferred = graph_iri(base, "inferred")
        self._projected = frozenset(graph_iri(base, name) for name in _PROJECTED)
        self._touched: dict[Triple, None] | None = None
        self._seen = -1
        self._own: tuple[int, set[NamedNode]] | None = None
        self._following: list[Following] = []

    def own_graphs(self) -> list[NamedNode]:
        """The named graphs but those of documents, of which there are many; some may be empty by now.

        They are remembered as long as all that is written goes through `write`.
        """
        version = self.store.version
        if self._own is None or self._own[0] != version:
            self._own = (version, {graph for graph in self.store.graphs() if not self.is_of_document(graph)})
        return sorted(self._own[1], key=lambda graph: graph.value)

    def is_of_document(self, graph: NamedNode) -> bool:
        """True if the graph is a document's: its description, or a passage."""
        return graph.value.startswith(f"{self.base}document/")

    @property
    def has_relations(self) -> bool:
        """True if there are relations across levels."""
        return next(iter(self.store.quads(graph=self.relations)), None) is not None

    def watch(self) -> None:
        """From now on, `touched` tells which statements came and went."""
        self._touched = {}
        self._seen = self.store.version

    def follow(self, predicates: frozenset[NamedNode]) -> Following:
        """Has what is written from now on noted; `unfollow` ends that."""
        following = Following(self, predicates)
        self._following.append(following)
        return following

    def unfollow(self, following: Following) -> None:
        """Notes nothing for that any longer."""
        self._following.remove(following)

    def touched(self) -> tuple[Triple, ...] | None:
        """The statements whose evidence, other than ``graph/inferred``, or rejection changed since `watch`.

        None: not known, since nobody watched, they are very many, or the store was written to by another way.
        """
        if self._touched is None or self._seen != self.store.version:
            return None
        return tuple(self._touched)

    def write(
        self,
        touched: Iterable[Triple],
        *,
        removed: Iterable[Quad] = (),
        added: Iterable[Quad] = (),
        dropped: Iterable[NamedNode | DefaultGraph] = (),
    ) -> None:
        """Writes as `Store.apply` does, and notes the statements that this touches; the caller keeps the law.

        Raises:
            StoreError: the disk refuses, or a quad to remove holds a blank node; nothing was changed.
        """
        version, new, gone, graphs = self.store.version, list(added), list(removed), list(dropped)
        known = self._touched is not None and self._seen == version
        self.store.apply(removed=gone, added=new, dropped=graphs)
        self._note_graphs(version, new)
        for following in self._following if not graphs else ():  # what a whole graph held is not known here
            following.note(version, (*gone, *new))
        if self._touched is None:
            return
        self._touched.update(dict.fromkeys(touched))
        if known and len(self._touched) <= _MOST_TOUCHED:
            self._seen = self.store.version
        else:
            self._touched = None

    def _note_graphs(self, version: int, added: Iterable[Quad]) -> None:
        """Remembers the graphs that quads brought, if until then all were known."""
        if self._own is None or self._own[0] != version:
            return
        graphs = {item.graph_name for item in added}
        own = {graph for graph in graphs if isinstance(graph, NamedNode) and not self.is_of_document(graph)}
        self._own = (self.store.version, self._own[1] | own)

    def _premises(self, quads: Iterable[Quad]) -> Iterator[Triple]:
        """The statements among the quads that count as evidence or rejection, conclusions left out."""
        for item in quads:
            graph = item.graph_name
            if graph == self.rejected or (graph != self.inferred and self.is_evidence(graph)):
                yield item.triple

    def is_stated(self, triple: Triple) -> bool:
        """True if the statement holds for another reason than that it was inferred."""
        if not self.store.has(triple):
            return False
        if not self.store.has(triple, self.inferred):
            return True
        return any(graph != self.inferred for graph in self._holding(triple))

    def is_evidence(self, graph: object) -> bool:
        """True if what the graph holds is part of the knowledge: a chunk, a table, or one of the platform's own."""
        if not isinstance(graph, NamedNode):
            return False
        name = graph.value
        if name.startswith(f"{self.base}document/"):
            return "/chunk/" in name
        table = name.startswith(f"{self.base}graph/table/")
        return graph in self._projected or table or self.is_of_places(graph)

    def is_of_places(self, graph: object) -> bool:
        """True if the graph holds what a reference says of places that are meant somewhere."""
        return isinstance(graph, NamedNode) and graph.value.startswith(f"{self.base}graph/places/")

    def evidence_graphs(self, triple: Triple) -> list[NamedNode]:
        """The graphs that hold the statement, in IRI order."""
        return sorted(self._holding(triple), key=lambda graph: graph.value)

    def _holding(self, triple: Triple) -> Iterator[NamedNode]:
        """The same in no order, one after the other: thousands of passages may say what one is enough to tell."""
        for item in self.store.quads(triple.subject, triple.predicate, triple.object):
            if isinstance(item.graph_name, NamedNode) and self.is_evidence(item.graph_name):
                yield item.graph_name

    def commit(self, change: Change) -> Committed:
        """Drops and adds graphs, and brings the default graph in line, in one transaction.

        A statement that stood in the default graph without evidence when a graph brings it was a person's: it is
        noted in ``graph/asserted``, so that removing the graph again does not take it away.

        Raises:
            StoreError: the disk refuses; nothing was changed.
        """
        with self.store.write_lock():
            gone = {item for graph in change.dropped for item in self.store.quads(graph=graph)}
            gone |= {quad(triple, graph) for graph, triples in change.removed.items() for triple in triples}
            new = {quad(triple, graph) for graph, triples in change.added.items() for triple in triples}
            removed, added = gone - new, new - gone
            freed, struck = self._rejections(removed), self._rejections(added)
            gained = self._gained(added, new, gone, freed=freed, struck=struck)
            orphaned = dict.fromkeys((*self._orphaned(removed, new, gone), *(t for t in struck if self.store.has(t))))
            brought = (item.triple for item in added if self.is_evidence(item.graph_name))
            asserted = [quad(t, self.asserted) for t in self._unsupported(brought)]
            lost = [quad(triple, DEFAULT_GRAPH) for triple in orphaned]
            won = [quad(triple, DEFAULT_GRAPH) for triple in gained]
            touched = dict.fromkeys(self._premises((*removed, *added)))
            self.write(touched, removed=[*removed, *lost], added=[*added, *won, *asserted])
        return Committed(gained=len(won), lost=len(lost))

    def _rejections(self, quads: Iterable[Quad]) -> frozenset[Triple]:
        return frozenset(item.triple for item in quads if item.graph_name == self.rejected)

    def _gained(
        self,
        added: Iterable[Quad],
        new: set[Quad],
        gone: Set[Quad],
        *,
        freed: frozenset[Triple],
        struck: frozenset[Triple],
    ) -> list[Triple]:
        """The statements new to the default graph: brought by an evidence graph or no longer rejected."""
        brought = dict.fromkeys(item.triple for item in added if self.is_evidence(item.graph_name))
        if freed:
            kept = {item.triple for item in new if self.is_evidence(item.graph_name)}
            brought |= dict.fromkeys(t for t in freed if t in kept or self._rests(t, gone))
        return [
            t
            for t in brought
            if not self.store.has(t) and t not in struck and (t in freed or not self.store.has(t, self.rejected))
        ]

    def _rests(self, triple: Triple, gone: Set[Quad]) -> bool:
        """True if an evidence graph holds the statement, and goes on to."""
        return any(quad(triple, graph) not in gone for graph in self._holding(triple))

    def _orphaned(self, removed: Iterable[Quad], new: set[Quad], gone: Set[Quad]) -> list[Triple]:
        """The statements that no evidence graph holds any longer."""
        brought = {item.triple for item in new if self.is_evidence(item.graph_name)}
        candidates = dict.fromkeys(item.triple for item in removed if self.is_evidence(item.graph_name))
        return [
            triple
            for triple in candidates
            if triple not in brought and self.store.has(triple) and not self._rests(triple, gone)
        ]

    def _unsupported(self, triples: Iterable[Triple]) -> Iterator[Triple]:
        """Those that stand in the default graph although no evidence graph holds them."""
        for triple in dict.fromkeys(triples):
            if self.store.has(triple) and next(self._holding(triple), None) is None:
                yield triple

    def conclude(
        self, gained: Iterable[Triple], lost: Iterable[Triple], *, stated: frozenset[Triple] | None = None
    ) -> Committed:
        """Puts conclusions into ``graph/inferred`` and takes others out; does what `commit` would, for many, sooner.

        What is gained must be neither stated nor rejected, and what is lost must be in the graph.
        ``stated`` are those of the lost that hold for another reason; None: that is looked up.
        """
        with self.store.write_lock():
            new, gone = list(gained), list(lost)
            orphaned = [t for t in gone if not (self.is_stated(t) if stated is None else t in stated)]
            removed = [quad(t, self.inferred) for t in gone] + [quad(t, DEFAULT_GRAPH) for t in orphaned]
            self.write((), removed=removed, added=[quad(t, g) for g in (self.inferred, DEFAULT_GRAPH) for t in new])
        return Committed(gained=len(new), lost=len(orphaned))

    def conclude_lines(self, batches: Iterable[list[bytes]], *, count: int) -> None:
        """Puts ``count`` conclusions into ``graph/inferred``, each written as in N-Triples but for the full stop.

        Like `conclude`, for millions: they are never made into triples, nor held all at once.

        Raises:
            StoreError: the disk refuses; nothing was added.
        """
        ends = (b" .\n", f" {self.inferred} .\n".encode())
        with self.beside():
            lines = (end.join((*batch, b"")) for batch in batches for end in ends)
            self.store.add(lines, many=count > _MANY)

    @contextmanager
    def beside(self) -> Iterator[None]:
        """For writes straight to the store that concern no evidence: `touched` stays known."""
        with self.store.write_lock():
            known = self._seen == self.store.version
            yield
            self._seen = self.store.version if known else -1

    def append(self, graph: NamedNode, batches: Iterable[tuple[bytes, Callable[[], bytes]]]) -> None:
        """Adds N-Triples to an evidence graph and the default graph: `commit` for tables of millions of rows.

        A batch goes to its graph first, so that the caller can take back a load that was interrupted, by `discard`.
        With it comes what makes it again without the lines that are none, for the case that it does not parse.

        Raises:
            StoreError: the disk refuses.
        """
        for text, mended in batches:
            with self.store.write_lock(), self.store.together():
                try:
                    self.store.add_triples(text, graph)
                except StoreError:
                    text = mended()
                    self.store.add_triples(text, graph)
                self.store.add_triples(text, DEFAULT_GRAPH)
                struck = [item.triple for item in self.store.quads(graph=self.rejected)]
                held = [t for t in struck if self.store.has(t)]
                self.write(held, removed=[quad(t, DEFAULT_GRAPH) for t in held])
                self._touched = None

    def discard(self, graph: NamedNode) -> None:
        """Takes a graph out by parts, each in one transaction: `commit` for tables of millions of rows.

        Raises:
            StoreError: the disk refuses; what was taken out by then stays out.
        """
        while quads := list(islice(self.store.quads(graph=graph), _PART)):
            with self.store.write_lock():
                gone = frozenset(quads)
                orphaned = [q.triple for q in quads if not self._rests(q.triple, gone)]
                lost = [quad(t, DEFAULT_GRAPH) for t in orphaned if self.store.has(t)]
                self.write(orphaned, removed=[*quads, *lost])
                self._touched = None

    def state(self, triples: Iterable[Triple]) -> Committed:
        """States the triples by hand: they hold, whatever was rejected before."""
        with self.store.write_lock():
            stated = list(dict.fromkeys(triples))
            removed = [quad(t, self.rejected) for t in stated if self.store.has(t, self.rejected)]
            new = [t for t in stated if not self.store.has(t)]
            added = [quad(t, graph) for t in stated for graph in (self.asserted, DEFAULT_GRAPH)]
            self.write(stated, removed=removed, added=added)
        return Committed(gained=len(new), lost=0)

    def reject(self, triples: Iterable[Triple]) -> Committed:
        """Strikes the triples out by hand: they do not hold, whatever evidence comes."""
        with self.store.write_lock():
            struck = list(dict.fromkeys(triples))
            held = [t for t in struck if self.store.has(t)]
            removed = [quad(t, DEFAULT_GRAPH) for t in held]
            removed += [quad(t, self.asserted) for t in struck if self.store.has(t, self.asserted)]
            self.write(struck, removed=removed, added=[quad(t, self.rejected) for t in struck])
        return Committed(gained=0, lost=len(held))

    def reconcile(self) -> Committed:
        """Restores the law after an update from outside: what was put into the default graph counts as asserted.

        What an update took out of the default graph although evidence holds it counts as rejected.
        """
        with self.store.write_lock():
            held = {item.triple for item in self.store.quads(graph=DEFAULT_GRAPH)}
            supported = {
                item.triple
                for graph in self.store.graphs()
                if self.is_evidence(graph)
                for item in self.store.quads(graph=graph)
            }
            struck = {item.triple for item in self.store.quads(graph=self.rejected)}
            stated, missing = held - supported, supported - held - struck
            back = [quad(t, self.rejected) for t in struck & held]
            added = [quad(t, self.asserted) for t in stated] + [quad(t, self.rejected) for t in missing]
            with self.store.together():
                self.store.apply(added=added)  # first and by itself: in one, blank nodes would get other names
                self.store.apply(removed=back)
        return Committed(gained=len(stated), lost=len(missing))

    def violations(self) -> tuple[frozenset[Triple], frozenset[Triple]]:
        """Statements held without evidence, and evidence not held; both empty when all is well."""
        unsupported = {item.triple for item in self.store.quads(graph=DEFAULT_GRAPH)}
        struck = {item.triple for item in self.store.quads(graph=self.rejected)}
        unheld: set[Triple] = set()
        for graph in filter(self.is_evidence, self.store.graphs()):
            for item in self.store.quads(graph=graph):
                triple = item.triple
                if triple in struck:
                    continue
                if triple in unsupported:
                    unsupported.discard(triple)
                elif not self.store.has(triple):  # else another graph holds it too
                    unheld.add(triple)
        return frozenset(unsupported), frozenset(unheld)
