"""Tables of national divisions as reference places: a code, a name and the parents' codes in each row.

Which table is above which is told from the codes: a column of parents holds codes of the table above. A table may
also hold all levels, with one column for the parent of each row.
"""

from __future__ import annotations

import csv
import hashlib
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from pyoxigraph import NamedNode

from kgplatform.documents.decoding import decode
from kgplatform.errors import ConfigError, ReadError
from kgplatform.ontology import Ontology, OntologyProperty, Word
from kgplatform.places.place import Place
from kgplatform.text import has_han, normalise
from kgplatform.vocab import GEO

LEVELS: Final = tuple(NamedNode(f"{GEO}{name}") for name in ("Province", "City", "County", "Township"))
"""The classes of the levels below a country, where none are named."""

_WITHIN = NamedNode(f"{GEO}locatedIn")
_CODE: Final = frozenset(("code", "id", "代码", "编码", "区划代码", "行政区划代码", "统计用区划代码"))
_NAME: Final = frozenset(("name", "名称", "名字", "单位名称"))
_ENGLISH: Final = frozenset(("name_en", "nameen", "english", "english name", "en", "英文", "英文名", "英文名称"))
_PARENT = re.compile(r"parent|(?<!^)_?code$|父|上级|所属", re.IGNORECASE)
_STANDS_IN: Final = frozenset(
    (
        "市辖区",
        "县",
        "市",
        "省直辖县级行政区划",
        "自治区直辖县级行政区划",
        "省直辖县级行政单位",
        "自治区直辖县级行政单位",
    )
)
"""What tables put where a level is left out: not places, but their children are."""

_URBAN: Final = "市辖区"
_LEAST_SHARE: Final = 0.95
_LONGEST_CODE: Final = 24


@dataclass(frozen=True, slots=True)
class Level:
    """What came of a level: its class, rows, places, and rows that only stand in for a level left out."""

    type: NamedNode
    rows: int
    places: int
    stand_ins: int


@dataclass(frozen=True, slots=True)
class Divisions:
    """The places of a country's tables, what came of each level, and what could not be used, with where."""

    places: tuple[Place, ...]
    levels: tuple[Level, ...]
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
    places: dict[str, Place] = field(default_factory=dict)
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


def _level(table: _Table, type_: NamedNode, making: _Making) -> Level:
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
    return Level(type_, len(table.rows), len(making.places) - before, stand_ins)


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
    if name == _URBAN and held.endswith("市") and holder and holder.above == making.country:
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
    making.places[id_] = Place(id_, type_, making.source, tuple(labels), (), codes, above, _WITHIN)
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
