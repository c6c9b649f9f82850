"""Reference places: their names and codes, the SQLite file that holds them, and the tables and RDF they come from."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import re
import sqlite3
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cache, lru_cache, partial
from pathlib import Path
from typing import Final

from pyoxigraph import Literal, NamedNode, RdfFormat, Triple

from kgplatform import resources
from kgplatform.documents.encoding import decode
from kgplatform.errors import ConfigError, OntologyError, ReadError, StoreError, WorkspaceError
from kgplatform.lexicon import LexiconSection
from kgplatform.ontology.schema import Ontology, OntologyProperty, Word
from kgplatform.store.oxigraph import parse
from kgplatform.text import has_han, normalise, words
from kgplatform.vocab import ALT_LABEL, GEO, LABEL, TYPE, local_name


class NameKind(IntEnum):
    """How a place goes by a name, the surest first."""

    LABEL = 0
    ALIAS = 1
    SHORT = 2
    """Without the words for its level: 浙江 for 浙江省."""
    READING = 3
    """How a Chinese name is spelt in Latin letters, for a place without a given English name."""


@dataclass(frozen=True, slots=True)
class ReferencePlace:
    """A place: ``id`` is made of its codes (``cn-330106``), ``above`` is the id of what it lies in, by ``within``.

    ``source`` names the reference that says so.
    """

    id: str
    type: NamedNode
    source: str
    labels: tuple[Word, ...]
    aliases: tuple[Word, ...] = ()
    codes: tuple[tuple[NamedNode, str], ...] = ()
    above: str | None = None
    within: NamedNode | None = None


class Kinds:
    """Which places a mention may stand for, by its class; from the ontology's classes, keys and disjointness."""

    def __init__(self, ontology: Ontology) -> None:
        self._ontology = ontology
        inside = ontology.classes
        self._tops = {iri for iri in inside if not any(parent in inside for parent in inside[iri].parents)}
        self._keyed = {iri for iri, term in inside.items() if term.key}

    def same(self, mentioned: NamedNode, type_: NamedNode) -> bool:
        """Whether one class is the other, or above it."""
        return self._ontology.fits(type_, (mentioned,)) and not self.disjoint(mentioned, type_)

    def disjoint(self, mentioned: NamedNode, type_: NamedNode) -> bool:
        """Whether nothing can be of both classes."""
        return self._ontology.disjoint(mentioned, type_)

    def other_level(self, mentioned: NamedNode, type_: NamedNode) -> bool:
        """Whether both are levels of one hierarchy: disjoint, but below one class whose things have codes."""
        return self.disjoint(mentioned, type_) and bool(self._shared(mentioned, type_) & self._keyed)

    def akin(self, mentioned: NamedNode, type_: NamedNode) -> bool:
        """Whether a thing could be of both classes, and both are below a class that says something."""
        return not self.disjoint(mentioned, type_) and bool(self._shared(mentioned, type_) - self._tops)

    def holder(self, mentioned: NamedNode, type_: NamedNode) -> bool:
        """Whether things of the first class are areas such as a place of the second class may lie in."""
        return any(
            self._ontology.is_a(mentioned, (above,)) for above in self._ontology.superclasses(type_) & self._keyed
        )

    def _shared(self, first: NamedNode, second: NamedNode) -> set[NamedNode]:
        above = self._ontology.superclasses
        return {iri for iri in above(first) & above(second) if iri in self._ontology.classes}


_INNER = re.compile(r"[\s'.,·•]+")
_LEXICON: Final = LexiconSection("linking", "gazetteer")
_LEVELS = _LEXICON.pattern("levels")
_OF_PEOPLES: Final = _LEXICON.words("of_peoples")
_PEOPLE = _LEXICON.pattern("people")
_LEAST_HAN: Final = 2
_LONGEST: Final = 60


@lru_cache(maxsize=65_536)
def key(text: str) -> str:
    """The form under which two spellings of a place's name are equal.

    >>> key("Xi'an"), key("U.K."), key("New  York"), key("乌镇 镇")
    ('xian', 'uk', 'newyork', '乌镇镇')
    """
    return _INNER.sub("", normalise(text))[:_LONGEST]


def short_form(name: str) -> str | None:
    """A Chinese name without the words for its level and its peoples; None where nothing, or no name, would be left.

    >>> short_form("浙江省"), short_form("恩施土家族苗族自治州"), short_form("新疆维吾尔自治区"), short_form("城区")
    ('浙江', '恩施', '新疆', None)
    """
    match = _LEVELS.search(name)
    if match is None or not has_han(name):
        return None
    rest = name[: match.start()]
    while match.group() in _OF_PEOPLES and (people := _PEOPLE.search(rest)) and people.start() >= _LEAST_HAN:
        rest = rest[: people.start()]
    return rest if len(rest) >= _LEAST_HAN else None


def reading(name: str) -> str:
    """How a Chinese name is spelt in pinyin, as one capitalised word.

    >>> reading("桐乡")
    'Tongxiang'
    """
    return "".join(_syllables()(name)).capitalize()


@cache
def _syllables() -> Callable[[str], list[str]]:
    from pypinyin import lazy_pinyin  # its tables take a while to load, and only Chinese divisions need them

    return partial(lazy_pinyin, v_to_u=True)


def has_reading(place: ReferencePlace) -> bool:
    """Whether the place is to be found by pinyin: it has a Chinese name, and no other is given."""
    given = (*place.labels, *place.aliases)
    return any(has_han(word.text) for word in place.labels) and all(has_han(word.text) for word in given)


def keys_of(place: ReferencePlace) -> Iterator[tuple[str, NameKind]]:
    """All keys that a place is looked up by."""
    yield from ((key(word.text), NameKind.LABEL) for word in place.labels)
    yield from ((key(word.text), NameKind.ALIAS) for word in place.aliases)
    for short in shorts(place):
        yield key(short), NameKind.SHORT
    if has_reading(place):
        for word in place.labels:
            yield key(reading(word.text)), NameKind.READING
            core = short_form(word.text)
            if core is not None:
                yield key(reading(core)), NameKind.READING


def shorts(place: ReferencePlace) -> list[str]:
    """The short forms of the place's Chinese labels."""
    found = [short for word in place.labels if (short := short_form(word.text))]
    return [short for short in dict.fromkeys(found) if short not in {word.text for word in place.aliases}]


def spelt(place: ReferencePlace) -> str | None:
    """The pinyin that a place without an English name goes by in English texts."""
    if not has_reading(place):
        return None
    label = place.labels[0].text
    return reading(short_form(label) or label)


@dataclass(frozen=True, slots=True)
class Core:
    """What is left of a name without the word for a level, and the classes that are called by that word."""

    text: str
    types: frozenset[NamedNode]


class LevelWords:
    """The words for levels, as the ontology has them: "Province", "City of", 市."""

    def __init__(self, ontology: Ontology, types: Iterable[NamedNode]) -> None:
        self._types: dict[tuple[str, ...], set[NamedNode]] = {}
        for type_ in types:
            term = ontology.classes.get(type_)
            for word in term.words if term else ():
                self._note(word, type_)

    def _note(self, word: Word, type_: NamedNode) -> None:
        """Each ending of a word for the class: a "county-level city" is called a city too."""
        parts = tuple(words(normalise(word.text)))
        for first in range(len(parts)):
            self._types.setdefault(parts[first:], set()).add(type_)

    def cores(self, name: str) -> Iterator[Core]:
        """The name without a word for a level behind it, or before it with an "of" between."""
        parts = tuple(words(normalise(name)))
        glue = "" if has_han(name) else " "
        for cut in range(1, len(parts)):
            types = self._types.get(parts[cut:])
            if types and (glue or len("".join(parts[:cut])) >= _LEAST_HAN):
                yield Core(glue.join(parts[:cut]), frozenset(types))
        if "of" in parts:
            place = parts.index("of")
            types = self._types.get(parts[:place])
            if types and parts[place + 1 :]:
                yield Core(" ".join(parts[place + 1 :]), frozenset(types))


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
class PlaceSource:
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
        self._versions: dict[str, tuple[ReferencePlace, ...]] = {}
        self._lines: dict[str, tuple[str, ...]] = {}
        self._crowds: dict[NamedNode, int] | None = None
        self._upwards: frozenset[NamedNode] | None = None
        self._above: dict[NamedNode, frozenset[NamedNode]] | None = None

    def close(self) -> None:
        """Lets the file go."""
        self._db.close()

    # sources

    def replace(self, source: str, places: Iterable[ReferencePlace], *, digest: str) -> int:
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

    def sources(self) -> list[PlaceSource]:
        """The sources, in the order in which they count."""
        rows = self._db.execute("SELECT name, digest FROM sources ORDER BY position").fetchall()
        return [PlaceSource(name, digest, self._counts(name)) for name, digest in rows]

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

    def place(self, id_: str) -> ReferencePlace:
        """The place, as the first source that has it says.

        Raises:
            KeyError: there is none of that id.
        """
        return self.versions(id_)[0]

    def versions(self, id_: str) -> tuple[ReferencePlace, ...]:
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


def _row(place: ReferencePlace, source: str) -> tuple[str | None, ...]:
    def listed(texts: Iterable[Word]) -> str:
        return json.dumps([[word.text, word.language] for word in texts], ensure_ascii=False)

    codes = json.dumps([[by.value, value] for by, value in place.codes])
    within = place.within.value if place.within else None
    return (
        *(place.id, source, place.type.value, place.above, within),
        *(listed(place.labels), listed(place.aliases), codes),
    )


def _place(row: tuple[str, ...]) -> ReferencePlace:
    id_, source, type_, above, within, labels, aliases, codes = row
    return ReferencePlace(
        id=id_,
        type=NamedNode(type_),
        source=source,
        labels=tuple(Word(*pair) for pair in json.loads(labels)),
        aliases=tuple(Word(*pair) for pair in json.loads(aliases)),
        codes=tuple((NamedNode(by), value) for by, value in json.loads(codes)),
        above=above,
        within=NamedNode(within) if within else None,
    )


# Tables of national divisions: a code, a name and the parents' codes in each row; which table is above which is told
# from the codes. A table may also hold all levels.
LEVELS: Final = tuple(NamedNode(f"{GEO}{name}") for name in ("Province", "City", "County", "Township"))
"""The classes of the levels below a country, where none are named."""

_WITHIN = NamedNode(f"{GEO}locatedIn")
_CODE: Final = _LEXICON.words("code_column")
_NAME: Final = _LEXICON.words("name_column")
_ENGLISH: Final = _LEXICON.words("english_column")
_PARENT = _LEXICON.pattern("parent_column", re.IGNORECASE)
_STANDS_IN: Final = _LEXICON.words("stands_in")
"""What tables put where a level is left out: not places, but their children are."""

_URBAN: Final = _LEXICON.text("urban")
_CITY: Final = _LEXICON.text("city")
_LEAST_SHARE: Final = 0.95
_LONGEST_CODE: Final = 24


@dataclass(frozen=True, slots=True)
class DivisionLevel:
    """What came of a level: its class, rows, places, and rows that only stand in for a level left out."""

    type: NamedNode
    rows: int
    places: int
    stand_ins: int


@dataclass(frozen=True, slots=True)
class Divisions:
    """The places of a country's tables, what came of each level, and what could not be used, with where."""

    places: tuple[ReferencePlace, ...]
    levels: tuple[DivisionLevel, ...]
    refused: tuple[str, ...]
    digest: str


@dataclass(slots=True)
class _Row:
    code: str
    name: str
    english: str
    parents: tuple[str, ...]
    place: str


@dataclass(slots=True)
class _Table:
    path: Path
    rows: list[_Row]
    columns: int
    codes: frozenset[str] = frozenset()
    depth: int = 0
    parent: int | None = None


@dataclass(slots=True)
class _Making:
    """Places in the making: by code, with the id that the children of each row hang on."""

    country: str
    source: str
    form: OntologyProperty | None
    places: dict[str, ReferencePlace] = field(default_factory=dict)
    stands_for: dict[str, str] = field(default_factory=dict)
    refused: list[str] = field(default_factory=list)


def read_divisions(
    paths: Sequence[Path], *, country: str, ontology: Ontology, levels: Sequence[NamedNode] = LEVELS
) -> Divisions:
    """The divisions that the files, or the CSV files of the folders, hold below the country with that ISO code.

    Raises:
        ReadError: a file cannot be read, has no code and name, or there are more levels than classes for them.
    """
    files = sorted(dict.fromkeys(_files(paths)))
    tables = [table for path in files for table in [_read(path)] if table is not None]
    if not tables:
        raise ReadError("holds no table with a column for codes and one for names", path=paths[0])
    listed = _one_table(tables[0]) if len(tables) == 1 else _ranked(tables)
    missing = [level.value for level in levels[: len(listed)] if level not in ontology.classes]
    if missing:
        raise ReadError(f"the ontology has no class {missing[0]}; name others with --levels", path=paths[0])
    if len(listed) > len(levels):
        raise ReadError(f"{len(listed)} levels, but classes for {len(levels)}; name them with --levels", path=paths[0])
    below = country.casefold()
    making = _Making(below, below, _code_property(ontology, levels))
    made = tuple(_level(table, type_, making) for table, type_ in zip(listed, levels, strict=False))
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()
    return Divisions(tuple(making.places.values()), made, tuple(making.refused), digest)


def _files(paths: Iterable[Path]) -> Iterator[Path]:
    for path in paths:
        if path.is_dir():
            yield from (item for item in path.iterdir() if item.suffix.lower() in (".csv", ".tsv"))
        elif path.exists():
            yield path
        else:
            raise ReadError("no such file or folder", path=path)


def _read(path: Path) -> _Table | None:
    """The rows of a file; None if it has no column for codes or none for names."""
    try:
        text = decode(path.read_bytes(), path=path)
    except OSError as error:
        raise ReadError(f"cannot be read: {error.strerror or error}", path=path) from error
    lines = csv.reader(io.StringIO(text), delimiter="\t" if path.suffix.lower() == ".tsv" else ",")
    header = [normalise(cell).replace(" ", "_") for cell in next(lines, [])]
    code, name, english = (_column(header, wanted) for wanted in (_CODE, _NAME, _ENGLISH))
    if code is None or name is None:
        return None
    parents = [place for place, cell in enumerate(header) if place not in (code, name) and _PARENT.search(cell)]
    rows = []
    for line in lines:
        if any(cell.strip() for cell in line):
            cells = [cell.strip() for cell in line] + [""] * (len(header) - len(line))
            above = tuple(cells[place] for place in parents)
            said = cells[english] if english is not None else ""
            rows.append(_Row(cells[code], cells[name], said, above, f"{path.name}, line {lines.line_num}"))
    return _Table(path, rows, len(parents), frozenset(row.code for row in rows))


def _column(header: Sequence[str], wanted: frozenset[str]) -> int | None:
    return next(
        (place for place, cell in enumerate(header) if cell.replace("_", " ") in wanted or cell in wanted), None
    )


def _ranked(tables: Sequence[_Table]) -> list[_Table]:
    """The tables from the highest level down, each with the column of its nearest parents."""
    above: dict[int, dict[int, int]] = {}
    for place, table in enumerate(tables):
        above[place] = {}
        for column in range(table.columns):
            named = [row.parents[column] for row in table.rows if row.parents[column]]
            for other, candidate in enumerate(tables):
                if other != place and named and _share(named, candidate.codes) >= _LEAST_SHARE:
                    above[place][other] = column
    for _ in tables:
        for place, table in enumerate(tables):
            table.depth = max((tables[other].depth + 1 for other in above[place]), default=0)
    for place, table in enumerate(tables):
        if above[place]:
            nearest = max(above[place], key=lambda other: tables[other].depth)
            table.parent = above[place][nearest]
    found = sorted(tables, key=lambda table: table.depth)
    if [table.depth for table in found] != list(range(len(found))):
        names = ", ".join(table.path.name for table in found)
        raise ReadError(f"the tables are not levels one above the other: {names}", path=found[0].path)
    return found


def _share(named: Sequence[str], codes: frozenset[str]) -> float:
    return sum(code in codes for code in named) / len(named)


def _one_table(table: _Table) -> list[_Table]:
    """The rows of a table of all levels, level by level; rows whose parent is not there are the highest."""
    own = [place for place in range(table.columns) if any(row.parents[place] in table.codes for row in table.rows)]
    if not own:
        return [table]
    found: list[_Table] = []
    waiting, known = table.rows, frozenset[str]()
    while waiting:
        first = not found
        now = [
            row
            for row in waiting
            if (row.parents[own[0]] not in table.codes if first else row.parents[own[0]] in known)
        ]
        if not now:
            names = ", ".join(row.code for row in waiting[:3])
            raise ReadError(f"{len(waiting)} rows lie in one another in a circle, such as {names}", path=table.path)
        known = frozenset(row.code for row in now)
        found.append(_Table(table.path, now, table.columns, known, len(found), None if first else own[0]))
        waiting = [row for row in waiting if row.code not in known]
    return found


def _code_property(ontology: Ontology, levels: Sequence[NamedNode]) -> OntologyProperty | None:
    """The property that holds the codes: the key of the levels' classes."""
    for level in levels[:1]:
        for class_ in sorted(ontology.superclasses(level), key=lambda iri: iri.value):
            term = ontology.classes.get(class_)
            if term and len(term.key) == 1 and term.key[0] in ontology.properties:
                return ontology.properties[term.key[0]]
    return None


def _level(table: _Table, type_: NamedNode, making: _Making) -> DivisionLevel:
    before = len(making.places)
    stand_ins = 0
    for row in table.rows:
        above = _above(row, table, making)
        if above is None or not row.code or not row.name:
            why = f"no {'code' if not row.code else 'name'}" if above else "its parent is in no table above"
            making.refused.append(f"{row.place}: {row.code} {row.name}: {why}")
        elif row.code in making.stands_for:
            making.refused.append(f"{row.place}: {row.code} {row.name}: the code is another row's already")
        else:
            stand_ins += _make(row, above, type_, making)
    return DivisionLevel(type_, len(table.rows), len(making.places) - before, stand_ins)


def _above(row: _Row, table: _Table, making: _Making) -> str | None:
    """The id of what the row's place lies in."""
    if table.parent is None:
        return making.country
    return making.stands_for.get(row.parents[table.parent])


def _make(row: _Row, above: str, type_: NamedNode, making: _Making) -> bool:
    """Makes the row's place, or lets its children hang on what is above; whether it only stood in."""
    name, english = row.name, row.english
    holder = making.places.get(above)
    held = holder.labels[0].text if holder else ""
    if name == _URBAN and held.endswith(_CITY) and holder and holder.above == making.country:
        name = held  # the city that a municipality is, apart from its counties
    elif name in _STANDS_IN or name == held:
        making.stands_for[row.code] = above
        return True
    code = padded(row.code, making.form)
    id_ = f"{making.country}-{code.casefold()}"
    if id_ in making.places:
        making.refused.append(f"{row.place}: {row.code} {row.name}: written in full, the code is another row's")
        return False
    labels = [Word(name, "zh" if has_han(name) else "en")] + [Word(english, "en")] * bool(english and english != name)
    codes = ((making.form.iri, code),) if making.form else ()
    making.places[id_] = ReferencePlace(id_, type_, making.source, tuple(labels), (), codes, above, _WITHIN)
    making.stands_for[row.code] = id_
    return name != row.name


def padded(code: str, form: OntologyProperty | None) -> str:
    """The code with as many zeros behind it as its written form in the ontology asks for."""
    if form is None or not form.pattern:
        return code
    whole = re.compile(form.pattern)
    longer = (code + "0" * more for more in range(_LONGEST_CODE - len(code)))
    return next((item for item in longer if whole.fullmatch(item)), code)


def checked_country(code: str) -> str:
    """The country's code in capitals.

    Raises:
        ConfigError: it is not two letters.
    """
    if not re.fullmatch("[A-Za-z]{2}", code):
        raise ConfigError(f"--country {code!r} is not an ISO 3166-1 code of two letters, such as CN", setting="country")
    return code.upper()


def named_levels(names: Sequence[str], ontology: Ontology) -> tuple[NamedNode, ...]:
    """The classes that the names of levels mean.

    Raises:
        NotFoundError: no class is called so.
    """
    return tuple(ontology.class_named(name).iri for name in names)


WORLD = "world"
_SUFFIXES = {".ttl": RdfFormat.TURTLE, ".nt": RdfFormat.N_TRIPLES}


def read_world(reference: PlaceReference, ontology: Ontology) -> None:
    """Puts the shipped world part into the reference, unless it is there as shipped."""
    data, digest = _shipped()
    if reference.digest(WORLD) != digest:
        places = described(_parsed(data, RdfFormat.TURTLE, "world.ttl"), ontology, WORLD)
        reference.replace(WORLD, places, digest=digest)


@cache
def _shipped() -> tuple[bytes, str]:
    data = (resources.folder("ontology") / "places" / "world.ttl").read_bytes()
    return data, hashlib.sha256(data).hexdigest()


def read_rdf(path: Path, ontology: Ontology, source: str) -> list[ReferencePlace]:
    """The places that an RDF file describes.

    Raises:
        OntologyError: the file cannot be read, or describes no place in the terms of the ontology.
    """
    try:
        found = described(_parsed(path.read_bytes(), _SUFFIXES[path.suffix.lower()], path.name), ontology, source)
    except OSError as error:
        raise OntologyError(f"cannot be read: {error.strerror or error}", source=str(path)) from error
    if not found:
        raise OntologyError("describes no place: no labelled individual of a class of the ontology", source=str(path))
    return found


def _parsed(data: bytes, format_: RdfFormat, name: str) -> list[Triple]:
    try:
        return [quad.triple for quad in parse(data, format_, base_iri=f"file:///{name}", source=name)]
    except StoreError as error:
        raise OntologyError(str(error).removeprefix(f"{name}: "), source=name) from error


def described(triples: Iterable[Triple], ontology: Ontology, source: str) -> list[ReferencePlace]:
    """The places that the triples describe, in the order of their ids; a place's id is the local name of its IRI."""
    facts: dict[NamedNode, dict[NamedNode, list[object]]] = defaultdict(lambda: defaultdict(list))
    for triple in triples:
        if isinstance(triple.subject, NamedNode):
            facts[triple.subject][triple.predicate].append(triple.object)
    found = (_described_place(iri, said, facts, ontology, source) for iri, said in facts.items())
    return sorted((place for place in found if place is not None), key=lambda place: place.id)


def _described_place(
    iri: NamedNode,
    said: Mapping[NamedNode, list[object]],
    facts: Mapping[NamedNode, object],
    ontology: Ontology,
    source: str,
) -> ReferencePlace | None:
    type_ = next(
        (item for item in said.get(TYPE, ()) if isinstance(item, NamedNode) and item in ontology.classes), None
    )
    labels = _words(said.get(LABEL, ()))
    if type_ is None or not labels:
        return None
    above, within = None, None
    codes: list[tuple[NamedNode, str]] = []
    for predicate, values in said.items():
        term = ontology.properties.get(predicate)
        if term is None:
            continue
        for value in values:
            if term.is_object and term.transitive and isinstance(value, NamedNode) and value in facts:
                above, within = local_name(value.value), predicate
            elif isinstance(value, Literal):
                codes.append((predicate, value.value))
    return ReferencePlace(
        id=local_name(iri.value),
        type=type_,
        source=source,
        labels=labels,
        aliases=_words(said.get(ALT_LABEL, ())),
        codes=tuple(sorted(codes, key=lambda code: (code[0].value, code[1]))),
        above=above,
        within=within,
    )


def _words(values: Iterable[object]) -> tuple[Word, ...]:
    return tuple(Word(value.value, value.language or "") for value in values if isinstance(value, Literal))
