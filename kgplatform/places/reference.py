"""The reference places of a workspace, in SQLite beside the graph: looked up by name, never loaded whole."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pyoxigraph import NamedNode

from kgplatform.errors import WorkspaceError
from kgplatform.ontology import Word
from kgplatform.places.naming import keys_of
from kgplatform.places.place import NameKind, Place

_SCHEMA = """
CREATE TABLE IF NOT EXISTS sources (name TEXT PRIMARY KEY, position INTEGER NOT NULL, digest TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS places (
  id TEXT NOT NULL, source TEXT NOT NULL, type TEXT NOT NULL, above TEXT, within TEXT, labels TEXT NOT NULL,
  aliases TEXT NOT NULL, codes TEXT NOT NULL, PRIMARY KEY (id, source)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS names (
  key TEXT NOT NULL, id TEXT NOT NULL, source TEXT NOT NULL, kind INTEGER NOT NULL,
  PRIMARY KEY (key, id, source)) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS places_by_source ON places (source, type);
"""


@dataclass(frozen=True, slots=True)
class Source:
    """A reference that was added, with how many places of each class it holds."""

    name: str
    digest: str
    counts: dict[NamedNode, int]


class PlaceReference:
    """The reference places. What was looked up is remembered, since documents name the same places again and again."""

    def __init__(self, path: Path | None) -> None:
        """Opens or makes the file; None: in memory.

        Raises:
            WorkspaceError: the file cannot be opened.
        """
        try:
            self._db = sqlite3.connect(str(path) if path else ":memory:", check_same_thread=False, isolation_level=None)
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute("PRAGMA synchronous=NORMAL")
            self._db.executescript(_SCHEMA)
        except sqlite3.DatabaseError as error:
            raise WorkspaceError(
                f"{path}: the reference places cannot be opened: {error}; delete the file and add the tables again",
                path=Path(path or "."),
            ) from error
        self._forget()

    def _forget(self) -> None:
        self._called: dict[str, tuple[tuple[str, NameKind], ...]] = {}
        self._versions: dict[str, tuple[Place, ...]] = {}
        self._lines: dict[str, tuple[str, ...]] = {}
        self._crowds: dict[NamedNode, int] | None = None
        self._upwards: frozenset[NamedNode] | None = None
        self._above: dict[NamedNode, frozenset[NamedNode]] | None = None

    def close(self) -> None:
        """Lets the file go."""
        self._db.close()

    # sources

    def replace(self, source: str, places: Iterable[Place], *, digest: str) -> int:
        """Puts the places in for those that the source had, all or none; how many there are now."""
        with self._transaction():
            position = self._position(source)
            self._drop(source)
            self._db.execute("INSERT INTO sources VALUES (?,?,?)", (source, position, digest))
            count = 0
            for place in places:
                count += 1
                self._db.execute("INSERT OR REPLACE INTO places VALUES (?,?,?,?,?,?,?,?)", _row(place, source))
                best: dict[str, NameKind] = {}
                for name, kind in keys_of(place):
                    best[name] = min(kind, best.get(name, kind))
                self._db.executemany(
                    "INSERT OR REPLACE INTO names VALUES (?,?,?,?)",
                    [(name, place.id, source, int(kind)) for name, kind in best.items() if name],
                )
        return count

    def remove(self, source: str) -> bool:
        """Takes a source out; false if there is none of that name."""
        with self._transaction():
            return self._drop(source)

    def sources(self) -> list[Source]:
        """The sources, in the order in which they count."""
        rows = self._db.execute("SELECT name, digest FROM sources ORDER BY position").fetchall()
        return [Source(name, digest, self._counts(name)) for name, digest in rows]

    def digests(self) -> tuple[tuple[str, str], ...]:
        """The sources with what their content is known by, in the order in which they count."""
        rows = self._db.execute("SELECT name, digest FROM sources ORDER BY position").fetchall()
        return tuple((str(name), str(digest)) for name, digest in rows)

    def digest(self, source: str) -> str | None:
        """By what the content of a source is known; None if it is not there."""
        row = self._db.execute("SELECT digest FROM sources WHERE name=?", (source,)).fetchone()
        return row[0] if row else None

    def _counts(self, source: str) -> dict[NamedNode, int]:
        rows = self._db.execute("SELECT type, count(*) FROM places WHERE source=? GROUP BY type", (source,))
        return {NamedNode(type_): count for type_, count in rows}

    def _position(self, source: str) -> int:
        """Where the source comes among the others: a new one last."""
        places = dict(self._db.execute("SELECT name, position FROM sources"))
        return int(places.get(source, max(places.values(), default=0) + 1))

    def _drop(self, source: str) -> bool:
        for table in ("places", "names"):
            self._db.execute(f"DELETE FROM {table} WHERE source=?", (source,))
        return self._db.execute("DELETE FROM sources WHERE name=?", (source,)).rowcount > 0

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._db.execute("ROLLBACK")
            raise
        finally:
            self._forget()
        self._db.execute("COMMIT")

    # looking up

    def called(self, name: str) -> tuple[tuple[str, NameKind], ...]:
        """The places that go by the key, each with how."""
        found = self._called.get(name)
        if found is None:
            rows = self._db.execute("SELECT id, min(kind) FROM names WHERE key=? GROUP BY id ORDER BY id", (name,))
            found = self._called[name] = tuple((id_, NameKind(kind)) for id_, kind in rows)
        return found

    def place(self, id_: str) -> Place:
        """The place, as the first source that has it says.

        Raises:
            KeyError: there is none of that id.
        """
        return self.versions(id_)[0]

    def versions(self, id_: str) -> tuple[Place, ...]:
        """What each source says of the place, in the order in which the sources count.

        Raises:
            KeyError: there is none of that id.
        """
        found = self._versions.get(id_)
        if found is None:
            rows = self._db.execute(
                "SELECT p.* FROM places p JOIN sources s ON s.name = p.source WHERE p.id=? ORDER BY s.position", (id_,)
            )
            found = self._versions[id_] = tuple(_place(row) for row in rows)
        if not found:
            raise KeyError(id_)
        return found

    def __contains__(self, id_: object) -> bool:
        if not isinstance(id_, str):
            return False
        try:
            return bool(self.versions(id_))
        except KeyError:
            return False

    def above(self, id_: str) -> tuple[str, ...]:
        """What the place lies in, the nearest first."""
        found = self._lines.get(id_)
        if found is None:
            line: list[str] = []
            step = self._next(id_)
            while step is not None and step != id_ and step not in line:
                line.append(step)
                step = self._next(step)
            found = self._lines[id_] = tuple(line)
        return found

    def _next(self, id_: str) -> str | None:
        ups = (place.above for place in self.versions(id_) if place.above is not None)
        return next((up for up in ups if up in self), None)

    def crowd(self, type_: NamedNode) -> int:
        """How many places of the class there are."""
        if self._crowds is None:
            rows = self._db.execute("SELECT type, count(DISTINCT id) FROM places GROUP BY type")
            self._crowds = {NamedNode(name): count for name, count in rows}
        return self._crowds.get(type_, 0)

    def hierarchies(self) -> frozenset[NamedNode]:
        """The properties that lead from a place to what it lies in."""
        if self._upwards is None:
            rows = self._db.execute("SELECT DISTINCT within FROM places WHERE within IS NOT NULL")
            self._upwards = frozenset(NamedNode(row[0]) for row in rows)
        return self._upwards

    def lies_in(self, type_: NamedNode) -> frozenset[NamedNode]:
        """The classes of what places of the class lie in, at any distance."""
        if self._above is None:
            rows = self._db.execute("SELECT DISTINCT p.type, q.type FROM places p JOIN places q ON q.id = p.above")
            self._above = _closed((NamedNode(lower), NamedNode(upper)) for lower, upper in rows)
        return self._above.get(type_, frozenset())

    def types(self) -> frozenset[NamedNode]:
        """The classes that there are places of."""
        self.crowd(NamedNode("urn:none"))
        return frozenset(self._crowds or ())


def _closed(pairs: Iterable[tuple[NamedNode, NamedNode]]) -> dict[NamedNode, frozenset[NamedNode]]:
    """For each first of the pairs what it leads to, in however many steps."""
    found: dict[NamedNode, set[NamedNode]] = {}
    for lower, upper in pairs:
        found.setdefault(lower, set()).add(upper)
    for _ in range(len(found)):
        for uppers in found.values():
            uppers |= {far for upper in tuple(uppers) for far in found.get(upper, ())}
    return {lower: frozenset(uppers) for lower, uppers in found.items()}


def _row(place: Place, source: str) -> tuple[str | None, ...]:
    def listed(texts: Iterable[Word]) -> str:
        return json.dumps([[word.text, word.language] for word in texts], ensure_ascii=False)

    codes = json.dumps([[by.value, value] for by, value in place.codes])
    within = place.within.value if place.within else None
    return (
        *(place.id, source, place.type.value, place.above, within),
        *(listed(place.labels), listed(place.aliases), codes),
    )


def _place(row: tuple[str, ...]) -> Place:
    id_, source, type_, above, within, labels, aliases, codes = row
    return Place(
        id=id_,
        type=NamedNode(type_),
        source=source,
        labels=tuple(Word(*pair) for pair in json.loads(labels)),
        aliases=tuple(Word(*pair) for pair in json.loads(aliases)),
        codes=tuple((NamedNode(by), value) for by, value in json.loads(codes)),
        above=above,
        within=NamedNode(within) if within else None,
    )
