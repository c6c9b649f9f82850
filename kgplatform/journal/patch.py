"""A commit as a patch, the journal that holds patches in order, and digests by which two graphs are compared.

A patch holds quads that go, quads that come, and rows of the registry; applied in the order of their numbers, patches
make the same graph anywhere, and applying the last ones once more changes nothing. What is too much for one patch
comes as several, of which all but the last say that there is more: only after the last does the law of evidence hold.
"""

from __future__ import annotations

import hashlib
import json
import re
import threading
import time
import zlib
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from math import inf
from typing import Any, Final, Protocol, TypeAlias

import pyoxigraph as ox
from pyoxigraph import BlankNode, NamedNode, Quad, RdfFormat, Triple

from kgplatform.errors import AwayError, StoreError
from kgplatform.store.oxigraph import Store

_POLL: Final = 0.05
_AT_ONCE: Final = 16
Row: TypeAlias = Sequence[Any]
"""A row of the registry as it came to be: table, key, and its values by column, or None for one that went."""


class FencedError(AwayError):
    """Another process leads by now: nothing may be appended in the name of the epoch before."""


class UnseenError(AwayError):
    """The journal holds a commit that was taken to be refused: the line was cut before its answer came."""


@dataclass(frozen=True, slots=True)
class Draft:
    """What is to become a patch."""

    removed: Sequence[Quad] = ()
    added: Sequence[Quad] = ()
    rows: Sequence[Row] = ()
    more: bool = False


@dataclass(frozen=True, slots=True)
class Patch:
    """A commit, or with ``more`` a part of one that the next patch goes on with.

    ``epoch`` counts the leaders; ``moment`` is by the clock of who keeps the journal. ``gone``, ``new`` and ``record``
    are N-Quads, N-Quads and JSON, compressed.
    """

    number: int
    epoch: int
    moment: datetime
    more: bool
    gone: bytes
    new: bytes
    record: bytes

    @property
    def removed(self) -> list[Quad]:
        """The quads that go; blank nodes go by the names that they came with."""
        return self._quads(self.gone)

    @property
    def added(self) -> list[Quad]:
        """The quads that come."""
        return self._quads(self.new)

    @property
    def rows(self) -> list[Row]:
        """The rows of the registry that changed."""
        found: list[Row] = json.loads(self.whole(self.record) or "[]")
        return found

    def _quads(self, part: bytes) -> list[Quad]:
        return list(ox.parse(self.whole(part), format=RdfFormat.N_QUADS))

    def whole(self, part: bytes) -> bytes:
        """A part as text; raises StoreError if it is not what was appended."""
        try:
            return zlib.decompress(part) if part else b""
        except zlib.error as error:
            raise StoreError(f"patch {self.number} of the journal was altered ({error}); restore a backup") from error


class Journal(Protocol):
    """Patches in the order of their numbers, 1 first, without a gap; for several threads and processes."""

    _grown: threading.Condition

    @property
    def name(self) -> str:
        """What tells this journal from any other, for as long as it is there."""

    @property
    def newest(self) -> int:
        """The number of the last patch; 0 where there is none."""

    def _read(self, after: int, most: int) -> list[Patch]:
        """So many after the one of that number, at the most."""

    def patches(self, after: int, *, limit: int | None = None) -> Iterator[Patch]:
        """Those after the one of that number, in order, at most ``limit``; read a few at a time.

        Raises:
            StoreError: the journal cannot be reached or read.
        """
        after, left = max(after, 0), inf if limit is None else limit
        while left > 0 and (some := self._read(after, int(min(left, _AT_ONCE)))):
            for patch in some:
                after += 1
                if patch.number != after:
                    raise StoreError(f"patch {after} is not in the journal any more; restore a backup")
                yield patch
            left -= len(some)

    def wait(self, after: int, seconds: float) -> int:
        """The number of the last patch, as soon as it is above ``after``, at the latest after so many seconds."""
        end = time.monotonic() + seconds
        while (newest := self.newest) <= after and (left := end - time.monotonic()) > 0:
            with self._grown:
                self._grown.wait(min(left, _POLL))  # another process may append too
        return newest

    def at(self, moment: datetime) -> int:
        """The number of the last patch that was there at that moment; 0 where none was."""

    def lead(self) -> int:
        """Begins an epoch, in whose name this process may append; nobody may in the name of an earlier one.

        Raises:
            FencedError: another process leads, and lives.
        """

    @property
    def leader(self) -> str:
        """The address at which the leader is asked; empty where it said none."""

    @property
    def is_free(self) -> bool:
        """True if nobody leads."""

    @property
    def is_fenced(self) -> bool:
        """True if this process led, and another does by now."""

    @property
    def leads_surely(self) -> bool:
        """True if this process leads, and was heard of so lately that no other can lead."""

    def announce(self, address: str) -> None:
        """Notes at which address the leader, this process, is asked."""

    def append(self, drafts: Iterable[Draft], *, epoch: int) -> int:
        """Appends patches, all of them or none, so that they last; the number of the last patch after that.

        Raises:
            FencedError: another process leads by now.
            UnseenError: an earlier append was done after all; nothing was appended, and the next one goes on after it.
            StoreError: the disk or the database refuses; nothing was appended.
        """

    def fill(self, patches: Iterable[Patch]) -> None:
        """Takes over the patches of another journal, numbers and moments too; this one must be empty.

        Raises:
            StoreError: it holds patches, or the disk or database refuses; nothing was written.
        """

    def close(self) -> None:
        """Lets the journal go; with it the lead."""


def packed(quads: Sequence[Quad]) -> bytes:
    """The quads as N-Quads, compressed; nothing for none."""
    return zlib.compress(ox.serialize(quads, format=RdfFormat.N_QUADS) or b"", 1) if quads else b""


def packed_rows(rows: Sequence[Row]) -> bytes:
    """The rows as JSON, compressed; nothing for none."""
    return zlib.compress(json.dumps(rows, ensure_ascii=False).encode("utf-8", "surrogatepass"), 1) if rows else b""


def commits(patches: Iterable[Patch]) -> Iterator[list[Patch]]:
    """The patches by commits: what belongs together, whole; an unfinished one at the end is left out."""
    held: list[Patch] = []
    for patch in patches:
        held.append(patch)
        if not patch.more:
            yield held
            held = []


def net(patches: Sequence[Patch]) -> tuple[Collection[Quad], Iterable[Quad]]:
    """What goes and what comes in the end by several patches; where nothing goes, it is read as it is asked for."""
    if not any(patch.gone for patch in patches):
        return (), (quad for patch in patches for quad in patch.added)
    removed: dict[Quad, None] = {}
    added: dict[Quad, None] = {}
    for patch in patches:
        for quads, here, there in ((patch.removed, removed, added), (patch.added, added, removed)):
            for quad in quads:
                here[quad] = there.pop(quad, None)
    return removed.keys(), added.keys()


# digests

_BLANK: Final = re.compile(rb'_:[^\s<>"]+')
_DEFAULT: Final = "default"


@dataclass(frozen=True, slots=True)
class GraphDigest:
    """How many triples a graph has, and the exclusive or of the SHA-256 of their lines."""

    count: int
    digest: bytes

    def __str__(self) -> str:
        return f"{self.count} {self.digest.hex()}"


def graph_digest(triples: Iterable[Triple | Quad]) -> GraphDigest:
    """The digest of a graph, the same on every store: of lines of N-Triples, blank nodes without their names."""
    total, count = 0, 0
    for triple in triples:
        total ^= int.from_bytes(hashlib.sha256(canonical_line(triple)).digest(), "big")
        count += 1
    return GraphDigest(count, total.to_bytes(32, "big"))


def canonical_line(triple: Triple | Quad) -> bytes:
    """The triple as a line of N-Triples, its blank nodes without names: stores give them new ones."""
    line = f"{triple.subject} {triple.predicate} {triple.object} .\n".encode()
    if b"_:" not in line or not _has_blank(triple):
        return line
    return _BLANK.sub(b"_:", line)


def _has_blank(triple: Any) -> bool:
    terms = (triple.subject, triple.object)
    return any(isinstance(term, BlankNode) or (isinstance(term, Triple) and _has_blank(term)) for term in terms)


def digests(store: Store) -> dict[str, GraphDigest]:
    """The digest of each graph that holds something, by its IRI; the default graph is ``default``."""
    names: list[Any] = sorted(store.graphs(), key=lambda graph: graph.value)
    found = {name.value: graph_digest(store.quads(graph=name)) for name in names}
    found[_DEFAULT] = graph_digest(store.quads(graph=ox.DefaultGraph()))
    return {name: digest for name, digest in found.items() if digest.count or name == _DEFAULT}


def whole_digest(found: dict[str, GraphDigest]) -> str:
    """The digest of the whole: SHA-256 over the lines of all graphs, in the order of their names."""
    lines = "".join(f"{name} {found[name]}\n" for name in sorted(found))
    return hashlib.sha256(lines.encode()).hexdigest()


def graph_of(name: str) -> NamedNode | ox.DefaultGraph:
    """The graph that a line of the digests is about."""
    return ox.DefaultGraph() if name == _DEFAULT else NamedNode(name)
