"""Which mapping a table is read by: the one that is given, the one that lies beside it, else one drafted and kept."""

from __future__ import annotations

import hashlib
import re
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from kgplatform.documents.table_entries import TableEntry
from kgplatform.documents.tabular.opening import open_table
from kgplatform.documents.tabular.profile import profile
from kgplatform.errors import ReadError
from kgplatform.extraction.tables import NamedColumns, TableMapping, map_table, told_apart
from kgplatform.ontology import Ontology

FOLDER = "mappings"
"""The folder of a workspace that holds the mappings which do not lie beside their data."""

_COLUMNS = "columns="
_SUFFIXES = (".mapping.yml", ".mapping.yaml", ".mapping.ttl")


@dataclass(frozen=True, slots=True)
class ChosenMapping:
    """The mapping of a table: its text, where it lies, and, where it is a draft, what it says in words."""

    path: Path
    text: str
    described: str = ""
    is_kept: bool = True

    @property
    def is_draft(self) -> bool:
        """Whether the mapping is a draft that nobody edited."""
        return bool(self.described)


@dataclass(frozen=True, slots=True)
class Keeping:
    """By which mapping tables are read, and whether drafts are kept beside the data or only in the workspace."""

    given: Path | None = None
    beside: bool = False


@dataclass(frozen=True, slots=True)
class Mappings:
    """Where mappings are sought and kept.

    ``given`` is a file named on the command line; ``folder`` is the workspace's own, for tables whose folder is not
    to be written to; ``beside`` says whether drafts may be kept beside the data.
    """

    ontology: Ontology
    base: str
    given: Path | None = None
    folder: Path | None = None
    beside: bool = False

    def choose(self, location: str, table: NamedColumns) -> ChosenMapping:
        """The mapping by which the table at the location is to be read; a draft is written down.

        Raises:
            ReadError: the mapping that is given cannot be read, or none can be drafted.
        """
        present = self.present(location)
        if present is not None and not present.is_draft:
            return present
        return self._kept(self.draft(location, table), location)

    def draft(self, location: str, table: NamedColumns) -> ChosenMapping:
        """The mapping drafted from the ontology, not written down.

        Raises:
            ReadError: no column fits the ontology.
        """
        from kgplatform.mapping.drafting import drafted

        drawn: TableMapping = map_table(table, self.ontology, self.base)
        if drawn.key is None or not any(item.role == "name" for item in drawn.columns):
            drawn = told_apart(drawn, _unique(location))
        text = drafted(drawn, self.ontology, location)
        return ChosenMapping(self._places(location)[0], text, drawn.describe(self.ontology), is_kept=False)

    def present(self, location: str) -> ChosenMapping | None:
        """The mapping that is given or lies at hand; None where there is none.

        Raises:
            ReadError: it cannot be read.
        """
        if self.given is not None:
            return ChosenMapping(self.given, _text(self.given))
        from kgplatform.mapping.drafting import is_untouched

        for place in self._places(location):
            if place.is_file():
                text = _text(place)
                return ChosenMapping(place, text, "a draft" if is_untouched(text) else "")
        return None

    def with_columns(self, path: Path) -> Path:
        """The path with the columns that the given mapping names for that file, as ``airports.dat#columns=id,name``."""
        if self.given is None or "#" in path.name or not path.is_file():
            return path
        found = re.search(rf"(?<![\w.-]){re.escape(path.name)}(#{_COLUMNS}[^~\"'\s\]]+)", _text(self.given))
        return path.with_name(path.name + found[1]) if found else path

    def _places(self, location: str) -> list[Path]:
        """Where a mapping of the table may lie, the draft's own place first."""
        beside = stem_of(location)
        found = [beside.with_name(beside.name + suffix) for suffix in _SUFFIXES]
        if self.folder is not None:
            digest = hashlib.sha256(str(beside.absolute()).encode("utf-8", "surrogatepass")).hexdigest()[:6]
            own = [self.folder / f"{beside.name}-{digest}{suffix}" for suffix in _SUFFIXES]
            found = [*found, *own] if self.beside else [*own, *found]
        return found

    def _kept(self, draft: ChosenMapping, location: str) -> ChosenMapping:
        """The draft written down: beside the data, else in the workspace; a draft that is as it was stays as it is."""
        own = [place for place in self._places(location) if place.name.endswith(_SUFFIXES[0])]
        places = [place for place in own if self.beside or place.parent == self.folder]
        for place in places:
            with suppress(OSError):
                place.parent.mkdir(parents=True, exist_ok=True)
                if not place.exists() or place.read_text(encoding="utf-8") != draft.text:
                    place.write_text(draft.text, encoding="utf-8")
                return ChosenMapping(place, draft.text, draft.described)
        return draft

    def again(self, entry: TableEntry | None, location: str, table: NamedColumns) -> ChosenMapping:
        """The mapping by which a table was read, to read it once more; a draft is drawn anew from the ontology."""
        if entry is None or entry.is_draft:
            return self.draft(location, table)
        return ChosenMapping(Path(entry.mapping_name), entry.mapping)


def mappings(folder: Path, ontology: Ontology, base: str, keeping: Keeping | None = None) -> Mappings:
    """Where the workspace in ``folder`` seeks and keeps mappings."""
    how = keeping or Keeping()
    return Mappings(ontology, base, how.given, folder / FOLDER, how.beside)


def _unique(location: str) -> frozenset[str]:
    """The columns that have a cell in each of the first rows, and no two alike."""
    return frozenset(c.name for c in profile(open_table(location)) if c.is_unique and c.filled == 1)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise ReadError(f"cannot be read: {error.strerror or error}", path=path) from error
    except UnicodeDecodeError as error:
        raise ReadError("is not UTF-8 text; a mapping is YARRRML (.yml) or RML (.ttl)", path=path) from error


def stem_of(location: str) -> Path:
    """The path of a table without its suffix; a sheet or database table stands behind a hyphen."""
    file, part = file_of(location)
    name = file.stem if not part or part.startswith(_COLUMNS) else f"{file.stem}-{part.strip('/').replace('/', '-')}"
    return file.with_name(name)


def file_of(location: str) -> tuple[Path, str]:
    """The file of a table, and which of its tables is meant: a sheet, a database's table, a place in JSON."""
    text = location
    if text.startswith("sqlite:"):
        text = text.removeprefix("sqlite:")
        text = text[3:] if text.startswith("///") else text.removeprefix("/")
        text, query, part = text.partition("?query=")
        if query:
            return _existing(text), hashlib.sha256(part.encode()).hexdigest()[:8]
    if Path(text).exists():
        return Path(text), ""
    file, mark, part = text.rpartition("#")
    return (_existing(file), part) if mark else (_existing(text), "")


def _existing(text: str) -> Path:
    """The path, relative or from the root, whichever there is; both are written behind ``sqlite:///``."""
    path = Path(text)
    return path if path.exists() or not Path(f"/{text}").exists() else Path(f"/{text}")
