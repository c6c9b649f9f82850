"""The quads: an Oxigraph store behind one safe type.

What it hides, each measured: a query result that is read in another thread than its maker's aborts the process
(results are made whole here, in one thread); read-modify-write updates from two threads lose writes (one lock
round every write); ``Store.update`` is the only transaction of several steps; a second process cannot open the
folder; query errors carry no place of their own; SERVICE and LOAD reach the network and nesting ends the process
(`kgplatform.sparql.tokens` refuses both first).
"""

from __future__ import annotations

import heapq
import io
import re
import shutil
import tempfile
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import lru_cache, partial
from itertools import chain, islice
from pathlib import Path
from typing import Any, BinaryIO, Final, Protocol, TypeAlias

import pyoxigraph as ox
from pyoxigraph import BlankNode, DefaultGraph, Literal, NamedNode, Quad, RdfFormat, Triple

from kgplatform.errors import ConfigError, QueryRejectedError, StoreError, WorkspaceError, WorkspaceHeldError
from kgplatform.sparql.functions import CASTS, FUNCTIONS
from kgplatform.sparql.rewrite import with_plain_group_concat, with_prefixes_first, without_silent_loads
from kgplatform.sparql.syntax import PARSER_PLACE, syntax_error
from kgplatform.sparql.tokens import read_only_issues, scan, triple_nesting
from kgplatform.types import Solutions, Term
from kgplatform.vocab import PREFIXES, RDF, XSD_STRING


def _mapped(term: Any, change: Callable[[Any], Any]) -> Any:
    """The term with each node in it changed, those of triple terms too."""
    if isinstance(term, Triple):
        return Triple(_mapped(term.subject, change), term.predicate, _mapped(term.object, change))
    return change(term)


def _named(term: Any, prefix: str) -> Any:
    return _mapped(term, lambda n: NamedNode(f"{prefix}{n.value}") if isinstance(n, BlankNode) else n)


def _unnamed(term: Any, prefix: str) -> Any:
    def change(node: Any) -> Any:
        is_made = isinstance(node, NamedNode) and node.value.startswith(prefix)
        return BlankNode(node.value[len(prefix) :]) if is_made else node

    return _mapped(term, change)


def skolemised(triples: Iterable[Triple], prefix: str) -> Iterator[Triple]:
    """The triples with IRIs below ``prefix`` for blank nodes (RDF 1.1 Concepts §3.5): these can be removed again."""
    return (_named(triple, prefix) for triple in triples)


def unskolemised(triples: Iterable[Triple], prefix: str) -> Iterator[Triple]:
    """The triples with blank nodes for the IRIs that `skolemised` made of them."""
    return (_unnamed(triple, prefix) for triple in triples)


def renamed_apart(triples: Iterable[Triple]) -> list[Triple]:
    """The triples with blank nodes that are no others' (RDF 1.1 Semantics §4.1, merging)."""
    fresh: dict[BlankNode, BlankNode] = {}

    def change(node: Any) -> Any:
        return fresh.setdefault(node, BlankNode()) if isinstance(node, BlankNode) else node

    return [_mapped(triple, change) for triple in triples]


def numbered(quads: Iterable[Quad]) -> Iterator[Quad]:
    """The quads with blank nodes labelled by their order of appearance: parsers label them by chance."""
    names: dict[BlankNode, BlankNode] = {}

    def change(node: Any) -> Any:
        return names.setdefault(node, BlankNode(f"b{len(names)}")) if isinstance(node, BlankNode) else node

    for quad in quads:
        subject, object_ = _mapped(quad.subject, change), _mapped(quad.object, change)
        yield Quad(subject, quad.predicate, object_, change(quad.graph_name))


_SORTED_AT_ONCE = 200_000


def in_order(lines: Iterable[bytes]) -> Iterator[bytes]:
    """The lines, each with its end, in their order and each once; sorted by parts on disk where they are many.

    Raises:
        OSError: the disk refuses.
    """
    left = iter(lines)
    part = sorted(islice(left, _SORTED_AT_ONCE))
    with ExitStack() as stack:
        parts: list[Iterable[bytes]] = []
        while len(part) == _SORTED_AT_ONCE:
            file = stack.enter_context(tempfile.TemporaryFile())
            file.writelines(part)
            file.seek(0)
            parts.append(file)
            part = sorted(islice(left, _SORTED_AT_ONCE))
        last = None
        for line in heapq.merge(*parts, part):
            if line != last:
                yield line
            last = line


def streamed(parts: Iterable[bytes]) -> BinaryIO:
    """A file of the parts one after the other, each made when it is read."""
    return io.BufferedReader(_Parts(parts), buffer_size=1 << 18)


class _Parts(io.RawIOBase):
    """The parts as a raw stream."""

    def __init__(self, parts: Iterable[bytes]) -> None:
        self._parts = iter(parts)
        self._left = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview, /) -> int:  # type: ignore[override]  # what io passes
        while not self._left:
            part = next(self._parts, None)
            if part is None:
                return 0
            self._left = memoryview(part)
        taken = min(len(buffer), len(self._left))
        buffer[:taken] = self._left[:taken]
        self._left = self._left[taken:]
        return taken


DEFAULT_GRAPH = DefaultGraph()
CALLABLE = {**CASTS, **FUNCTIONS}
"""What queries may call besides SPARQL's own functions."""
_RESULTS = {
    "json": ox.QueryResultsFormat.JSON,
    "xml": ox.QueryResultsFormat.XML,
    "csv": ox.QueryResultsFormat.CSV,
    "tsv": ox.QueryResultsFormat.TSV,
}
_BULK = 20_000
"""From how many quads on the bulk loader is used: 2.6 times faster and a fifth of the disk, all or nothing too."""

_LOCKED = re.compile(r"lock", re.IGNORECASE)
_BLANK: Final = "urn:kgplatform:blank:"
_UNNAMED: Final = NamedNode("urn:kgplatform:unnamed")

Part: TypeAlias = tuple[Sequence[Quad], Sequence[Quad]]
"""Quads that go, and quads that come."""

_PART: Final = 20_000
"""So many quads are recorded at a time."""


def in_parts(removed: Iterable[Quad], added: Iterable[Quad]) -> Iterator[Part]:
    """The quads in parts of a size that is sent and kept as one; those that go come first."""
    for quads, is_gone in ((iter(removed), True), (iter(added), False)):
        while part := list(islice(quads, _PART)):
            yield (part, ()) if is_gone else ((), part)


class Recording(Protocol):
    """What is told of every write before it is made, so that it lasts."""

    def record(self, parts: Iterable[Part], *, more: bool = False) -> int:
        """Keeps a commit; its number, which is the store's version then. ``more``: the next write belongs to it.

        Raises:
            StoreError: it cannot be kept, so it must not be made.
        """

    def added_after(self, number: int) -> Iterator[Quad]:
        """The quads that were recorded as added after that number."""

    def ship(self) -> None:
        """Has what else was noted kept too.

        Raises:
            StoreError: it cannot be kept.
        """

    @property
    def is_due(self) -> bool:
        """True if the store should be written to the disk."""

    def settle(self) -> None:
        """Notes that the disk holds all that was written to the store."""


class Store:
    """A set of quads, in memory or in a folder, for many readers and one writer at a time."""

    def __init__(self, store: ox.Store, *, path: Path | None = None, prefixes: Mapping[str, str] = PREFIXES) -> None:
        self._store = store
        self._lock = threading.RLock()
        self.path = path
        self.prefixes = dict(prefixes)
        self.version = 0
        self.before_write: Callable[[], None] | None = None
        self.after_write: Callable[[int], None] | None = None
        self.recorder: Recording | None = None
        self._more = 0
        self._lacks = False

    @classmethod
    def open(cls, path: Path | None = None, *, prefixes: Mapping[str, str] = PREFIXES) -> Store:
        """The store in the folder (made if missing), or an empty one in memory.

        Raises:
            WorkspaceError: another process has it open, or it is no store.
        """
        try:
            return cls(ox.Store(str(path)) if path else ox.Store(), path=path, prefixes=prefixes)
        except OSError as error:
            assert path is not None
            raise _open_error(error, path) from error

    @classmethod
    def open_snapshot(cls, path: Path, *, prefixes: Mapping[str, str] = PREFIXES) -> Store:
        """A `snapshot`, read only. Never open a store so that some process may write to."""
        try:
            return cls(ox.Store.read_only(str(path)), path=path, prefixes=prefixes)
        except OSError as error:
            raise _open_error(error, path) from error

    # reading

    def query(
        self,
        text: str,
        *,
        bindings: Mapping[str, Term] | None = None,
        max_rows: int | None = None,
        default_graphs: Iterable[str] = (),
        named_graphs: Iterable[str] = (),
    ) -> Solutions:
        """The rows of a SELECT, at most ``max_rows`` (``truncated``: there were more), or the boolean of an ASK.

        The IRIs of graphs, if there are any, stand in place of the dataset that the query names.

        Raises:
            QueryRejectedError: an update, SERVICE, a graph query, or text too long or deep to parse safely.
            QuerySyntaxError: not SPARQL, with line and column.
        """
        result = self._run(text, bindings=bindings, default_graphs=default_graphs, named_graphs=named_graphs)
        if isinstance(result, ox.QueryBoolean):
            return Solutions(boolean=bool(result))
        if isinstance(result, ox.QueryTriples):
            raise QueryRejectedError(
                ("CONSTRUCT and DESCRIBE give a graph, not rows; use SELECT or ASK here",), query=text
            )
        variables = tuple(variable.value for variable in result.variables)
        taken = list(islice(result, None if max_rows is None else max_rows + 1))
        rows = tuple(tuple(row[name] for name in variables) for row in taken[:max_rows])
        return _in_order_of_use(
            Solutions(variables, rows, truncated=max_rows is not None and len(taken) > max_rows), text
        )

    def construct(self, text: str, *, base_iri: str | None = None) -> list[Triple]:
        """The triples of a CONSTRUCT or DESCRIBE; relative IRIs are resolved against ``base_iri``.

        Raises:
            QueryRejectedError: any other form.
        """
        result = self._run(text, base_iri=base_iri)
        if not isinstance(result, ox.QueryTriples):
            raise QueryRejectedError(
                ("SELECT and ASK give rows, not a graph; use CONSTRUCT or DESCRIBE here",), query=text
            )
        return list(result)

    def lines(self, text: str) -> bytes:
        """The triples of a CONSTRUCT or DESCRIBE as N-Triples: for many, in a fraction of the time of `construct`.

        Raises:
            QueryRejectedError: any other form.
        """
        result = self._run(text)
        if not isinstance(result, ox.QueryTriples):
            raise QueryRejectedError(("SELECT and ASK give rows, not a graph",), query=text)
        return result.serialize(format=RdfFormat.N_TRIPLES) or b""

    def results(self, text: str, format_: str) -> bytes:
        """The result of a SELECT or ASK in a SPARQL results format: ``json``, ``xml``, ``csv`` or ``tsv``.

        Raises:
            QueryRejectedError: as `query`; also an ASK in a format that only knows rows.
        """
        result = self._run(text)
        if isinstance(result, ox.QueryTriples):
            raise QueryRejectedError(("CONSTRUCT and DESCRIBE give a graph, not rows",), query=text)
        try:
            return result.serialize(format=_RESULTS[format_]) or b""
        except (OSError, ValueError) as error:
            raise QueryRejectedError(
                (f"this result has no {format_} form: {_first_line(error)}",), query=text
            ) from error

    def _run(self, text: str, **how: Any) -> Any:
        if issues := read_only_issues(text):
            raise QueryRejectedError(issues, query=text)
        return self.evaluate(text, **how)

    def evaluate(
        self,
        text: str,
        *,
        base_iri: str | None = None,
        prefixes: Mapping[str, str] | None = None,
        bindings: Mapping[str, Term] | None = None,
        default_graphs: Iterable[str] = (),
        named_graphs: Iterable[str] = (),
    ) -> Any:
        """The store's own result of a query that was found safe; to be consumed in the thread that called.

        Raises:
            QuerySyntaxError: not SPARQL, with line and column.
            QueryRejectedError: it cannot be evaluated.
        """
        default, named = (list[Any](map(NamedNode, group)) for group in (default_graphs, named_graphs))
        is_given = bool(default or named)
        substitutions: Any = {ox.Variable(name): term for name, term in (bindings or {}).items()} or None
        try:
            return self._store.query(
                with_plain_group_concat(text),
                base_iri=base_iri,
                prefixes=self.prefixes if prefixes is None else dict(prefixes),
                substitutions=substitutions,
                custom_functions=CALLABLE if "(" in text else None,  # no parenthesis, no call
                default_graph=default if is_given else None,
                named_graphs=named if is_given else None,
            )
        except SyntaxError as error:
            raise syntax_error(error, text) from error
        except (ValueError, RuntimeError, OSError) as error:
            raise QueryRejectedError((str(error),), query=text) from error

    def quads(
        self,
        subject: NamedNode | BlankNode | Triple | None = None,
        predicate: NamedNode | None = None,
        object_: Term | None = None,
        graph: NamedNode | BlankNode | DefaultGraph | None = None,
    ) -> Iterator[Quad]:
        """The quads that fit the pattern; None fits everything, `DEFAULT_GRAPH` the default graph only."""
        subject_: Any = subject
        return self._store.quads_for_pattern(subject_, predicate, object_, graph)

    def has(self, triple: Triple, graph: NamedNode | BlankNode | DefaultGraph = DEFAULT_GRAPH) -> bool:
        """True if the graph (the default graph if none is given) holds the triple."""
        return Quad(triple.subject, triple.predicate, triple.object, graph) in self._store

    def mentions(self, iri: NamedNode) -> bool:
        """True if something is said of the thing, or it is the value of something."""
        found = (self._store.quads_for_pattern(*ends) for ends in ((iri, None, None), (None, None, iri)))
        return any(next(quads, None) is not None for quads in found)

    def objects(self, subject: NamedNode, predicate: NamedNode) -> list[Term]:
        """The objects of a subject's property in the default graph."""
        return [quad.object for quad in self.quads(subject, predicate, None, DEFAULT_GRAPH)]

    def graphs(self) -> list[NamedNode]:
        """The named graphs."""
        return [graph for graph in self._store.named_graphs() if isinstance(graph, NamedNode)]

    def has_graph(self, graph: NamedNode) -> bool:
        """True if there is a named graph of that name; it may be empty."""
        return self._store.contains_named_graph(graph)

    def __len__(self) -> int:
        return len(self._store)

    def serialise(
        self,
        quads: Iterable[Quad] | Iterable[Triple],
        format_: RdfFormat,
        *,
        prefixes: Mapping[str, str] | None = None,
    ) -> bytes:
        """The quads or triples as text in the format, with the store's prefixes and those given."""
        return ox.serialize(quads, format=format_, prefixes={**self.prefixes, **(prefixes or {})}) or b""

    # writing

    def write_lock(self) -> threading.RLock:
        """The lock to hold while reading what a following write depends on."""
        return self._lock

    def apply(
        self,
        *,
        removed: Iterable[Quad] = (),
        added: Iterable[Quad] = (),
        dropped: Iterable[NamedNode | DefaultGraph] = (),
    ) -> None:
        """Drops graphs, removes and adds quads in one transaction: either all of it is done, or nothing.

        Raises:
            StoreError: the disk refuses, or a quad to remove holds a blank node.
        """
        gone, new, dropped = list(removed), list(added), list(dropped)
        drops = _drops(dropped)
        if not gone and not new and not drops:
            return
        if self.recorder is not None:
            self._apply_recorded(gone, new, dropped)
            return
        with self._transaction():
            if gone or drops:
                self._store.update(drops + data_block("DELETE", gone) + data_block("INSERT", new))
            elif len(new) > _BULK:
                self._store.bulk_extend(new)
            else:
                self._store.extend(new)

    def add(self, lines: Iterable[bytes], *, many: bool = False) -> None:
        """Adds the quads of N-Quads text, without blank nodes, in one transaction; ``many``: by the bulk loader.

        Raises:
            StoreError: the disk refuses, or the text does not parse; nothing was added.
        """
        if self.recorder is not None:
            self._add_recorded(ox.parse(streamed(lines), format=RdfFormat.N_QUADS))
            return
        with self._transaction():
            load = self._store.bulk_load if many else self._store.load
            load(streamed(lines), format=RdfFormat.N_QUADS)

    def create_graph(self, graph: NamedNode) -> None:
        """Makes a graph of that name, empty unless there is one; only this store knows of it while it holds nothing."""
        with self._transaction(()):
            self._store.add_graph(graph)

    def add_triples(self, text: bytes | BinaryIO | Path, graph: NamedNode | DefaultGraph) -> None:
        """Adds the triples of N-Triples text or of a file to a graph by the bulk loader, or none; raises as `add`."""
        source: dict[str, Any] = {"path": text} if isinstance(text, Path) else {"input": text}
        if self.recorder is not None:
            found = ox.parse(**source, format=RdfFormat.N_TRIPLES)
            self._add_recorded(Quad(item.subject, item.predicate, item.object, graph) for item in found)
            return
        with self._transaction():
            self._store.bulk_load(**source, format=RdfFormat.N_TRIPLES, to_graph=graph)

    def update(self, text: str, *, base_iri: str | None = None) -> None:
        """Carries out a SPARQL Update request in one transaction; relative IRIs are resolved against ``base_iri``.

        Raises:
            QueryRejectedError: a query, LOAD, SERVICE, or text too long or deep to parse safely.
            QuerySyntaxError: not SPARQL, with line and column.
        """
        text = without_silent_loads(text)
        seen = scan(text)
        issues = seen.issues
        if seen.reaches_network:
            issues += ("LOAD and SERVICE reach another server, which is switched off; use `kgplatform load` for files",)
        elif not seen.is_update and seen.form:
            issues += ("this is a query, not an update; use `kgplatform query`",)
        if issues:
            raise QueryRejectedError(issues, query=text)
        if self.recorder is not None:
            with self.draft() as draft:
                draft.update(text, base_iri=base_iri)
                self.adopt(draft)
            return
        with self._transaction():
            try:
                whole = with_prefixes_first(text, self.prefixes)
                self._store.update(whole, base_iri=base_iri, prefixes=self.prefixes, custom_functions=CALLABLE)
            except SyntaxError as error:
                raise syntax_error(error, text) from error
            except (ValueError, RuntimeError) as error:
                raise QueryRejectedError((_first_line(error),), query=text) from error

    # recorded writing: what is to change is told first, quad by quad, then made

    def _apply_recorded(self, gone: list[Quad], new: list[Quad], dropped: Sequence[NamedNode | DefaultGraph]) -> None:
        """`apply`, of what it changes; it can take out quads with blank nodes too."""
        with self._lock:
            wanted = dict.fromkeys(_normalised(new))
            held = dict.fromkeys(item for item in gone if item in self._store)
            held |= dict.fromkeys(item for graph in dropped for item in self.quads(graph=graph))
            removed = [item for item in held if item not in wanted]
            added = [item for item in wanted if item not in self._store]
            if not removed and not added:
                return
            kept = {item.graph_name for item in held if item in wanted}
            with self._transaction(in_parts(removed, added)):
                self._perform(removed, added, [graph for graph in dropped if graph not in kept])

    def _add_recorded(self, quads: Iterator[Quad]) -> None:
        """`add`, for any number of quads: they are read back from where they were recorded."""
        assert self.recorder is not None
        with self._lock:
            before, recorder = self.version, self.recorder
            parts = (list(islice(quads, _PART)) for _ in iter(int, 1))
            fresh = ([q for q in _normalised(part) if q not in self._store] for part in iter(parts.__next__, []))
            with self._transaction(((), part) for part in fresh):
                self._store.bulk_extend(recorder.added_after(before))

    def _perform(
        self, removed: Collection[Quad], added: Iterable[Quad], dropped: Sequence[NamedNode | DefaultGraph] = ()
    ) -> None:
        """Takes quads out and puts quads in, by the names that blank nodes have; graphs left empty go.

        In one step: nobody sees half of it, and no crash leaves half of it.
        """
        left = iter(added)
        new = list(islice(left, _BULK + 1))
        if not removed and not dropped:
            if len(new) > _BULK:
                self._store.bulk_extend(chain(new, left))
            else:
                self._store.extend(new)
            return
        new += left
        gone, filled = set(removed), {item.graph_name for item in new}
        drops = dict.fromkeys(dropped)
        for graph in {item.graph_name for item in gone} - {DEFAULT_GRAPH} - filled - drops.keys():
            if isinstance(graph, NamedNode) and all(item in gone for item in self.quads(graph=graph)):
                drops[graph] = None
        gone = {item for item in gone if item.graph_name not in drops}
        steps = _drops(drops) + _written("DELETE", gone) + _written("INSERT", new)
        self._store.update(steps, custom_functions={_UNNAMED: partial(_unnamed, prefix=_BLANK)})

    def replay(self, removed: Collection[Quad], added: Iterable[Quad], *, version: int) -> None:
        """Makes what was recorded in one step, as a follower does or after a crash; once more changes nothing.

        Raises:
            StoreError: the disk refuses.
        """
        with self._lock:
            recorder, self.recorder = self.recorder, None
            try:
                with self._transaction():
                    self._perform(removed, added)
                    self.version = version - 1
            finally:
                self.recorder = recorder

    @contextmanager
    def together(self) -> Iterator[None]:
        """Has the writes of the block recorded as one commit: only after the last does the law hold again."""
        if self.recorder is None:
            yield
            return
        with self._lock:
            before = self.version
            self._more += 1
            try:
                yield
            finally:
                self._more -= 1
                if not self._more and self.version != before:
                    self.version = self.recorder.record([((), ())])

    @contextmanager
    def draft(self) -> Iterator[Store]:
        """A copy of a store on disk to try a change on, until the end of the block; see `adopt`.

        Raises:
            StoreError: no copy can be made.
        """
        assert self.path is not None
        folder = self.path.with_name("draft")
        with self._lock:
            shutil.rmtree(folder, ignore_errors=True)
            self.snapshot(folder)
            made = Store.open(folder, prefixes=self.prefixes)
            try:
                yield made
            finally:
                made.close()
                shutil.rmtree(folder, ignore_errors=True)

    def adopt(self, draft: Store) -> None:
        """Makes the quads those of the draft, in one commit; takes a look at all of both.

        Raises:
            StoreError: the disk refuses; nothing was changed.
        """
        with self._lock:
            gone: list[Quad] = []
            new: list[Quad] = []
            names = {*self._store.named_graphs(), *draft._store.named_graphs(), DEFAULT_GRAPH}
            for graph in names:
                before, after = set(self.quads(graph=graph)), set(draft.quads(graph=graph))
                gone += before - after
                new += after - before
            self._apply_recorded(gone, new, ())
            for name in draft.graphs():
                self._store.add_graph(name)

    @contextmanager
    def _transaction(self, parts: Iterable[Part] | None = None) -> Iterator[None]:
        """Tells whoever keeps something made from the quads that they are about to change, and then that they have.

        ``parts`` are what is recorded of it before, where that is done.
        """
        with self._lock:
            if self._lacks:
                raise StoreError(_LACKS)
            if self.before_write is not None:
                self.before_write()
            number = self.version + 1
            try:
                if self.recorder is not None and parts is not None:
                    number = self.recorder.record(parts, more=self._more > 0)
            except (OSError, SyntaxError, ValueError, RuntimeError) as error:
                raise _unchanged(error) from error
            try:
                yield
            except (OSError, SyntaxError, ValueError, RuntimeError) as error:
                if self.recorder is not None:
                    self._lacks = True
                    raise StoreError(f"{_LACKS} ({_first_line(error)})") from error
                raise _unchanged(error) from error
            self.version = number if self.recorder is not None else self.version + 1
            if self.after_write is not None:
                self.after_write(self.version)

    def flush(self, *, all_of_it: bool = False) -> None:
        """Waits until what is committed has reached the disk; it then survives loss of power too.

        What is recorded lasts already; the store is then written now and then, or if ``all_of_it`` is to be.

        Raises:
            StoreError: the disk refuses; what is committed survives the end of the process, but no loss of power.
        """
        if self.path is None:
            return
        if self.recorder is not None:
            self.recorder.ship()
            if not all_of_it and not self.recorder.is_due:
                return
        try:
            self._store.flush()
            if self.recorder is not None and not self._lacks:
                self.recorder.settle()
        except OSError as error:
            raise StoreError(f"the disk refuses the write: {_first_line(error)}; free some space") from error

    def close(self) -> None:
        """Lets the folder go; the store cannot be used after."""
        with self._lock:
            del self._store

    def snapshot(self, target: Path) -> None:
        """A consistent copy in a folder that does not exist yet, by hard links; the store must lie on disk.

        Raises:
            StoreError: the folder exists, or cannot be made.
        """
        try:
            with self._lock:
                self._store.backup(str(target))
        except (OSError, RuntimeError, ValueError) as error:
            raise StoreError(f"no snapshot in {target}: {_first_line(error)}") from error


def _open_error(error: OSError, path: Path) -> WorkspaceError:
    if _LOCKED.search(str(error)):
        return WorkspaceHeldError(
            f"{path.parent}: the workspace is open in another process; stop that one, or ask the server there",
            path=path,
        )
    return WorkspaceError(f"{path}: no dataset can be opened here: {_first_line(error)}", path=path)


def _unchanged(error: BaseException) -> StoreError:
    """That a write was refused; the store takes no more after its disk refused one, until it is opened again."""
    way_out = "; free some space or make the disk writable, then start again" if isinstance(error, OSError) else ""
    return StoreError(f"the dataset was not changed: {_first_line(error)}{way_out}")


_LACKS: Final = "the change is in the journal, the store could not take it: free some space, then start again"


def _drops(graphs: Iterable[NamedNode | DefaultGraph]) -> str:
    return "".join(f"DROP SILENT {'DEFAULT' if isinstance(g, DefaultGraph) else f'GRAPH {g}'};\n" for g in graphs)


def _may_have_blank(item: Quad) -> bool:
    """True if there is a blank node in the quad, in a triple term of it too."""
    is_plain = isinstance(item.object, NamedNode | Literal) and not isinstance(item.graph_name, BlankNode)
    return not is_plain or isinstance(item.subject, BlankNode)


def _normalised(quads: Sequence[Quad]) -> Sequence[Quad]:
    """The quads, each once, as a store gives them back."""
    if not any(isinstance(q.object, Literal) and q.object.datatype not in _AS_WRITTEN for q in quads):
        return quads
    scratch = ox.Store()
    scratch.extend(quads)
    return list(scratch)


def _first_line(error: BaseException) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__


def _in_order_of_use(solutions: Solutions, text: str) -> Solutions:
    """``SELECT *`` gives its columns in alphabetical order; here they come as the query first names them."""
    seen = scan(text)
    if not seen.selects_all:
        return solutions
    places = {name: place for place, name in enumerate(seen.variables)}
    order = sorted(range(len(solutions.variables)), key=lambda i: places.get(solutions.variables[i], len(places)))
    return Solutions(
        tuple(solutions.variables[i] for i in order),
        tuple(tuple(row[i] for i in order) for row in solutions.rows),
        truncated=solutions.truncated,
    )


def data_block(verb: str, quads: Sequence[Quad]) -> str:
    """``INSERT DATA``/``DELETE DATA`` of the quads, each term written by the store's own serialiser."""
    if not quads:
        return ""
    by_graph: dict[str, list[Triple]] = {}
    for quad in quads:
        name = str(quad.graph_name) if isinstance(quad.graph_name, NamedNode) else ""
        by_graph.setdefault(name, []).append(quad.triple)
    blocks = []
    for name, triples in by_graph.items():
        body = (ox.serialize(triples, format=RdfFormat.N_TRIPLES) or b"").decode()
        blocks.append(f"GRAPH {name} {{\n{body}}}" if name else body)
    return f"{verb} DATA {{\n" + "\n".join(blocks) + "\n};\n"


def _written(verb: str, quads: Iterable[Quad]) -> str:
    """`data_block` with the names of blank nodes kept: they come as IRIs of ours, which a function takes back."""
    plain: list[Quad] = []
    rows: dict[str, list[str]] = {"spo": [], "spog": []}
    for item in quads:
        if not _may_have_blank(item):
            plain.append(item)
        elif isinstance(item.graph_name, DefaultGraph):
            rows["spo"].append(str(_named(item.triple, _BLANK)))
        else:
            rows["spog"].append(f"{_named(item.triple, _BLANK)} {_named(item.graph_name, _BLANK)}")
    text = data_block(verb, plain)
    for kind, found in rows.items():
        if found:
            given = f"VALUES ({' '.join(f'?{name}0' for name in kind)}) {{ ({') ('.join(found)}) }}"
            taken = " ".join(f"BIND({_UNNAMED}(?{name}0) AS ?{name})" for name in kind)
            pattern = "?s ?p ?o" if kind == "spo" else "GRAPH ?g { ?s ?p ?o }"
            text += f"{verb} {{ {pattern} }} WHERE {{ {given} {taken} }};\n"
    return text


def parse(data: bytes, format_: RdfFormat, *, base_iri: str | None = None, source: str = "the text") -> list[Quad]:
    """The quads that the text spells.

    Raises:
        StoreError: it does not parse (with line and column), or it is RDF/XML with a document type, whose
            entities could expand without bound.
    """
    if format_ == RdfFormat.RDF_XML and (b"<!DOCTYPE" in data[:100_000] or b"<!ENTITY" in data):
        raise StoreError(f"{source}: RDF/XML with a DOCTYPE or entities is not read; save it without them or as Turtle")
    if data.count(b"<<") > _MOST_NESTED and triple_nesting(data.decode("utf-8", "replace")) > _MOST_NESTED:
        raise StoreError(f"{source}: triple terms nest more than {_MOST_NESTED} deep")
    try:
        return list(ox.parse(io.BytesIO(data), format=format_, base_iri=base_iri))
    except (SyntaxError, ValueError) as error:
        match = PARSER_PLACE.search(str(error))
        place = f"line {match[1]}, column {match[2]}: {match[3]}" if match else _first_line(error)
        raise StoreError(f"{source}: {place}") from error


_MOST_NESTED = 100
"""Triple terms this deep are read; the parser recurses into them, and a file of nothing else would end the process."""


def literal(value: str, datatype: NamedNode | None = None, language: str | None = None) -> Literal:
    """A literal; a language tag that RDF does not allow is dropped rather than failing."""
    if language:
        with suppress(ValueError):
            return Literal(value, language=language)
    return Literal(value, datatype=datatype) if datatype else Literal(value)


def checked_iri(text: str) -> NamedNode:
    """The IRI that the text spells.

    Raises:
        ConfigError: it is not an absolute IRI.
    """
    try:
        return NamedNode(text.strip().removeprefix("<").removesuffix(">"))
    except ValueError as error:
        raise ConfigError(f"{text!r} is not an absolute IRI: {error}", setting="graph") from error


_SCRATCH_NODE = NamedNode("urn:kgplatform:scratch")
_AS_WRITTEN = frozenset((XSD_STRING, NamedNode(f"{RDF}langString")))


@lru_cache(maxsize=200_000)
def as_stored(literal: Literal) -> Literal:
    """The literal in the form in which a store gives it back: ``"6.0"^^xsd:decimal`` comes back as ``"6"``.

    What is compared with what was read from a store has to be brought into this form first.
    """
    if literal.datatype in _AS_WRITTEN:
        return literal
    scratch = ox.Store()  # a new one each time: one that is cleared again and again grows slower with each
    scratch.add(Quad(_SCRATCH_NODE, _SCRATCH_NODE, literal))
    stored = next(scratch.quads_for_pattern(None, None, None)).object
    return stored if isinstance(stored, Literal) else literal
