"""A child process for what others wrote: ``python -m kgplatform.store.worker SNAPSHOT MEMORY_BYTES [BOARD]``.

It runs queries on a snapshot, parses uploads, tries updates, and answers on connections that it is handed. Requests
come through standard input, which is a socket, since connections come through it too.

It may be killed at any moment; that is its point, for the store knows no timeout and some queries end the process
that runs them. Before it opens anything it caps its own memory (``RLIMIT_AS``) and leaves the network (a network
namespace of its own, where the kernel allows). It ends when its owner does, also in the middle of a query: a
thread waits for the end of standard input. Results are made and consumed in the main thread only; one that is
read in another aborts the process.
"""

from __future__ import annotations

import ctypes
import io
import json
import os
import resource
import select
import socket
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

import pyoxigraph as ox
from pyoxigraph import NamedNode, QueryResultsFormat, RdfFormat, Triple

from kgplatform.errors import KgPlatformError, QueryError, QueryRejectedError, StoreError
from kgplatform.sparql.rewrite import (
    ZeroLengthPath,
    with_zero_length_solutions,
    zero_length_paths,
)
from kgplatform.sparql.tokens import QUERY_FORMS, landmarks, read_only_issues, scan
from kgplatform.store import handover, wire
from kgplatform.store.oxigraph import DEFAULT_GRAPH, Store, numbered, parse, unskolemised
from kgplatform.store.wire import Counted, write_out

_CLONE_NEWUSER, _CLONE_NEWNET = 0x10000000, 0x40000000
_M_ARENA_MAX = -8  # of mallopt(3)
_BATCH = 1000
_PIECE = 1 << 16


def evaluate(store: Store, request: wire.Request) -> Any:
    """The store's own result of the query; it must be consumed in the thread that called.

    Raises:
        QueryRejectedError: an update, SERVICE, or text too long or deep to parse safely.
        QuerySyntaxError: not SPARQL, with line and column.
    """
    if request.prefixes is None:
        issues = read_only_issues(request.text)
        if issues:
            raise QueryRejectedError(issues, query=request.text)
    if paths := zero_length_paths(request.text):
        with suppress(QueryError):  # told of with the places of the text as it was sent
            return _in_columns(store, replace(request, text=_with_own_ends(store, request, paths)))
    if request.ordered:
        with suppress(QueryError):  # told of with the places of the text as it was sent
            return _result(store, replace(request, text=request.ordered))
    return _in_columns(store, request)


def _with_own_ends(store: Store, request: wire.Request, paths: Iterable[ZeroLengthPath]) -> str:
    """The query with each path that leads from or to a term which the data does not have replaced by that term."""
    text = request.text
    form = next(mark for mark in landmarks(text) if mark.text in QUERY_FORMS)
    absent = []
    for path in paths:
        term = path.term.text
        asked = f"{text[: form.start]} ASK {{ {{ {term} ?p ?o }} UNION {{ ?s ?p {term} }} }}"
        if not bool(_result(store, replace(request, text=asked))):
            absent.append(path)
    return with_zero_length_solutions(text, absent)


def _in_columns(store: Store, request: wire.Request) -> Any:
    """The result, its columns in the order in which the query names them."""
    result = _result(store, request)
    if isinstance(result, ox.QuerySolutions) and (text := _in_order_of_use(result, request.text)):
        result = _result(store, replace(request, text=text))
    return result


def _in_order_of_use(result: ox.QuerySolutions, query: str) -> str:
    """A query whose columns are in the order in which it names them, where ``SELECT *`` has them in another."""
    if "*" not in query or not (seen := scan(query)).selects_all:
        return ""
    names = [variable.value for variable in result.variables]
    places = {name: place for place, name in enumerate(seen.variables)}
    wanted = sorted(names, key=lambda name: places.get(name, len(places)))
    if wanted == names:
        return ""
    return query[: seen.star] + " ".join(f"?{name}" for name in wanted) + query[seen.star + 1 :]


def _result(store: Store, request: wire.Request) -> Any:
    names = scan(request.text).prefixes if request.prefixes is None else request.prefixes
    return store.evaluate(
        request.text,
        base_iri=request.base_iri,
        # handing over prefixes that the text does not use takes longer than a look-up
        prefixes={name: store.prefixes[name] for name in names if name in store.prefixes},
        default_graphs=request.default_graphs,
        named_graphs=request.named_graphs,
    )


def write_graph(store: Store, request: wire.Request, output: Any) -> None:
    """Writes the triples of one graph to ``output`` as text of the media type, as they are read.

    Raises:
        StoreError: the format has no place for them, as JSON-LD has none for triple terms.
    """
    format_ = RdfFormat.from_media_type(request.media_type)
    graph = NamedNode(request.text) if request.text else DEFAULT_GRAPH
    triples: Iterable[Triple] = (item.triple for item in store.quads(graph=graph))
    if request.skolem:
        triples = unskolemised(triples, request.skolem)
    try:
        ox.serialize(triples, output, format=format_, prefixes=store.prefixes)
    except BrokenPipeError:
        raise
    except (OSError, ValueError) as error:
        raise StoreError(_in_words(error, request.media_type)) from error


def read_file(request: wire.Request) -> Iterator[bytes]:
    """The file as N-Quads in pieces, its blank nodes numbered.

    Raises:
        StoreError: it does not parse.
    """
    format_ = RdfFormat.from_media_type(request.media_type)
    assert format_ is not None
    data = Path(request.path).read_bytes()
    quads = numbered(parse(data, format_, base_iri=request.base_iri, source=request.text))
    while batch := list(islice(quads, 10 * _BATCH)):
        yield ox.serialize(batch, format=RdfFormat.N_QUADS) or b""


def try_update(request: wire.Request, prefixes: Mapping[str, str]) -> None:
    """Carries the update out on a store that is thrown away after, to see whether it parses and comes to an end.

    Raises:
        QueryError: as `Store.update`.
    """
    Store.open(Path(request.path) if request.path else None, prefixes=prefixes).update(
        request.text, base_iri=request.base_iri
    )


def serialise(store: Store, request: wire.Request, output: Any) -> None:
    """Writes the result to ``output`` as text of the media type, as it is computed.

    Raises:
        QueryRejectedError: rows cannot be written as a graph nor a graph as rows, and as for `evaluate`.
    """
    result = evaluate(store, request)
    rows = not isinstance(result, ox.QueryTriples)
    kind = QueryResultsFormat if rows else RdfFormat
    format_ = kind.from_media_type(request.media_type)
    if format_ is None:
        what = "rows" if rows else "a graph"
        raise QueryRejectedError((f"{what} cannot be written as {request.media_type}",), query=request.text)
    try:
        result.serialize(output, format=format_)
    except BrokenPipeError:
        raise
    except (RuntimeError, ValueError, OSError) as error:  # found out while evaluating
        raise QueryRejectedError((_in_words(error, request.media_type),), query=request.text) from error


def _in_words(error: Exception, media_type: str) -> str:
    if "does not support RDF 1.2" in str(error):
        return f"{media_type} has no place for triple terms; ask for Turtle, TriG, N-Triples or N-Quads"
    return str(error)


class _Frames(io.RawIOBase):
    """Sends what is written as data frames."""

    def __init__(self, send: Callable[[bytes], object]) -> None:
        super().__init__()
        self._send = send
        self.is_cut = False

    def writable(self) -> bool:
        return True

    def write(self, piece: Any) -> int:
        if not self.is_cut:
            self._send(wire.frame(wire.DATA, bytes(piece)))
        return len(piece)


@contextmanager
def _gathered(output: BinaryIO) -> Iterator[BinaryIO]:
    """Where the store can write in tiny pieces; where it fails, the last of them are not sent."""
    frames = _Frames(output.write)
    pieces = io.BufferedWriter(frames, _PIECE)
    try:
        yield pieces
        pieces.flush()
    finally:
        frames.is_cut = True  # a buffer that goes away sends what is left in it


def _answer(opened: _Opened, snapshot: str, request: wire.Request, output: BinaryIO) -> None:
    match request.task:
        case wire.Task.PARSE:
            for piece in read_file(request):
                output.write(wire.frame(wire.DATA, piece))
        case wire.Task.TRY:
            try_update(request, opened.prefixes)
        case wire.Task.GRAPH:
            with _gathered(output) as pieces:
                write_graph(opened.store(snapshot), request, pieces)
        case wire.Task.PART:
            _part(opened.store(snapshot), request, output)
        case wire.Task.QUERY:
            _query(opened.store(snapshot), request, output)
    output.write(wire.frame(wire.END))


def _part(store: Store, request: wire.Request, output: BinaryIO) -> None:
    def tell(counted: Counted) -> None:
        output.write(wire.frame(wire.HEADER, json.dumps([counted.triples, counted.subjects]).encode()))

    with _gathered(output) as pieces:
        write_out(store, request, pieces, tell)


def _query(store: Store, request: wire.Request, output: BinaryIO) -> None:
    if request.media_type:
        with _gathered(output) as pieces:
            serialise(store, request, pieces)
    else:
        graphs: Any = {"default_graphs": request.default_graphs, "named_graphs": request.named_graphs}
        found = store.query(request.text, max_rows=request.max_rows, **graphs)
        head = {"variables": found.variables, "boolean": found.boolean, "truncated": found.truncated}
        output.write(wire.frame(wire.HEADER, json.dumps(head).encode()))
        for start in range(0, len(found.rows), _BATCH):
            output.write(wire.frame(wire.ROWS, wire.encode_rows(found.rows[start : start + _BATCH])))


class _Opened:
    """The snapshot that is open, exchanged for a newer one when a request asks for it."""

    def __init__(self, prefixes: Mapping[str, str]) -> None:
        self.prefixes = prefixes
        self._path = ""
        self._store: Store | None = None

    def store(self, path: str) -> Store:
        if self._store is None or path != self._path:
            self._store = None
            self._store = Store.open_snapshot(Path(path), prefixes=self.prefixes)
            self._path = path
        return self._store


class _Requests:
    """The requests of the owner, a line each, with the connections that come along with some."""

    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._pending = b""
        self._connections: list[int] = []

    def __iter__(self) -> Iterator[bytes]:
        while True:
            line, found, rest = self._pending.partition(b"\n")
            if found:
                self._pending = rest
                yield line
                continue
            data, connections, _, _ = socket.recv_fds(self._control, _PIECE, 4)
            if not data:
                return
            self._connections += connections
            self._pending += data

    def connection(self) -> socket.socket:
        """The connection that came with the latest line that has one."""
        return socket.socket(fileno=self._connections.pop(0))


def _serve(requests: _Requests, output: BinaryIO, opened: _Opened, server: handover.ConnectionServer | None) -> None:
    for line in requests:
        request, snapshot = wire.decode_request(line)
        try:
            match request.task:
                case wire.Task.RETURN:  # it has gone back by itself meanwhile
                    continue
                case wire.Task.CONNECTION:
                    assert server is not None
                    terms = handover.AnswerTerms(**json.loads(request.text))
                    with requests.connection() as connection:
                        output.write(server.serve(connection, opened.store(snapshot), request.version, terms))
                case _:
                    _answer(opened, snapshot, request, output)
        except KgPlatformError as error:
            output.write(wire.frame(wire.ERROR, wire.encode_error(error)))
        except MemoryError:
            output.write(wire.frame(wire.ERROR, wire.encode_error(StoreError(wire.OUT_OF_MEMORY))))
        output.flush()


def watch_owner(watch: handover.ClientWatch | None = None) -> None:
    """Ends the process once the owner is gone, whatever it is doing; and for the reasons of ``watch``, if given."""
    end = select.poll()
    end.register(sys.stdin.fileno(), 0)  # woken by the end of the pipe only, not by requests
    while not end.poll(handover.WATCH_MS if watch else None):
        if watch is not None:
            watch.look()
    os._exit(0)


def leave_network() -> bool:
    """Moves this process, which must have one thread, where there is no network; false where it may not."""
    with suppress(OSError, AttributeError):
        unshare = ctypes.CDLL(None, use_errno=True).unshare
        return bool(unshare(_CLONE_NEWUSER | _CLONE_NEWNET) == 0 or unshare(_CLONE_NEWNET) == 0)
    return False


def cap_memory(memory_bytes: int) -> None:
    """Caps the address space of this process, and has it leave no core file."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with suppress(OSError, AttributeError):  # glibc alone: each thread's own heap would take up to 128 MB of the cap
        ctypes.CDLL(None).mallopt(_M_ARENA_MAX, 1)
    with suppress(ValueError, OSError):  # a lower cap is set already
        resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))


def main(arguments: list[str]) -> None:
    """Serves requests from standard input until it ends."""
    snapshot, memory_bytes, *board = arguments
    cap_memory(int(memory_bytes))
    leave_network()
    control = socket.socket(fileno=os.dup(sys.stdin.fileno()))
    requests = iter(incoming := _Requests(control))
    prefixes = json.loads(next(requests))
    opened = _Opened(prefixes)
    with suppress(KgPlatformError):  # a request that wants it says why it cannot be opened
        opened.store(snapshot)
    server = (
        handover.ConnectionServer(control, handover.Board.on(int(board[0])), serialise, prefixes) if board else None
    )
    threading.Thread(target=watch_owner, args=(server and server.watch,), daemon=True).start()
    with suppress(BrokenPipeError, KeyboardInterrupt):
        _serve(incoming, sys.stdout.buffer, opened, server)


if __name__ == "__main__":
    main(sys.argv[1:])
