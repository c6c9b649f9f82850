"""Ontologies by name or file: the shipped packs, one's own files, and what they import.

The file of an import is the one that was given for it, a shipped ontology, what a catalogue beside the importing file
names (`kgplatform.owl.catalogue`), or a neighbour that declares it. It is fetched only where that was asked for. Blank
nodes become IRIs made from the source's name, so that the same file loaded twice gives the same triples and can be
taken out again.
"""

from __future__ import annotations

import difflib
import hashlib
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

from pyoxigraph import BlankNode, Literal, NamedNode, Quad, Triple

from kgplatform import resources
from kgplatform.errors import OntologyError, StoreError
from kgplatform.ontology import Ontology, read_ontology
from kgplatform.owl.catalogue import NAME, Catalogue, as_catalogue
from kgplatform.owl.fetching import fetch
from kgplatform.owl.syntax import SUFFIXES, parse_ontology, suffix_of
from kgplatform.vocab import OWL, TYPE, local_name, slug

LARGEST = 200_000_000
"""In bytes; what is larger is data rather than an ontology, and would not fit into memory in the form it is used in."""

_OWN = "https://w3id.org/kgplatform/"
_IMPORTS = NamedNode(f"{OWL}imports")
_ONTOLOGY = NamedNode(f"{OWL}Ontology")
_VERSION = NamedNode(f"{OWL}versionIRI")

BESIDE = (".shapes.ttl", ".questions.ttl")
"""How the names of files end that lie beside an ontology and belong to it."""


@dataclass(frozen=True, slots=True)
class ImportRules:
    """Where imports are looked for besides.

    ``given`` files come first, those ``otherwise`` known after the neighbours. What is still missing is fetched into
    the folder ``fetched_into``, if there is one.
    """

    given: Mapping[str, Path] = field(default_factory=dict)
    fetched_into: Path | None = None
    otherwise: Mapping[str, Path] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LoadedOntology:
    """An ontology with its triples (no blank nodes), and the imports that no file at hand declares.

    ``own`` are the triples of files that are not shipped, ``places`` the files of one's own imports, ``unread`` the
    kinds of axiom that no reader took in with their number, ``troubles`` a line for each import that was not fetched.
    """

    ontology: Ontology
    triples: tuple[Triple, ...]
    unresolved: tuple[str, ...]
    files: tuple[Path, ...] = ()
    own: tuple[Triple, ...] = ()
    places: Mapping[str, Path] = field(default_factory=dict)
    unread: Mapping[str, int] = field(default_factory=dict)
    troubles: tuple[str, ...] = ()


def shipped() -> tuple[str, ...]:
    """The names of the shipped ontologies."""
    files = resources.folder("ontology").glob("*.ttl")
    return tuple(sorted(path.stem for path in files if "." not in path.stem))


def home() -> Path:
    """The folder of the shipped ontologies."""
    return resources.folder("ontology").resolve()


def find(name: str, folder: Path) -> Path:
    """The file of a shipped ontology by its name, or a file by its path (relative to ``folder``).

    Raises:
        OntologyError: neither; the message offers the nearest name.
    """
    if name in shipped():
        return resources.folder("ontology") / f"{name}.ttl"
    path = (folder / name).expanduser()
    if path.is_file():
        return path
    if path.is_dir():
        raise OntologyError("is a folder; give its ontology files one by one", source=name)
    if path.exists():
        raise OntologyError("is no ordinary file", source=name)
    near = difflib.get_close_matches(name, shipped(), n=1)
    hint = f"; did you mean {near[0]}?" if near else f"; shipped are {', '.join(shipped())}"
    raise OntologyError(f"no such file, and no shipped ontology is called so{hint}", source=name)


def load(names: Iterable[str], *, folder: Path, rules: ImportRules | None = None) -> LoadedOntology:
    """The ontologies of those names or files together, with all they import.

    Raises:
        OntologyError: a file is missing, does not parse, or declares no class.
    """
    reading = _Reading([find(name, folder) for name in names], rules or ImportRules())
    ontology = read_ontology(reading.triples)
    if reading.files and not ontology.classes:
        listed = ", ".join(path.name for path in reading.files)
        raise OntologyError("declares no owl:Class; is it an ontology?", source=listed)
    unresolved = [iri for iri in dict.fromkeys(reading.unresolved) if iri not in ontology.iris]  # in another folder
    return LoadedOntology(
        ontology,
        tuple(reading.triples),
        tuple(unresolved),
        tuple(reading.files),
        tuple(reading.own),
        reading.places,
        dict(reading.unread),
        tuple(reading.troubles),
    )


def keep(names: Iterable[str], loaded: LoadedOntology, *, source: Path, folder: Path) -> tuple[str, ...]:
    """Copies one's own files (and what they import) into ``folder/ontology``, so that a workspace is whole.

    Shapes and schemes of questions that lie beside a file go with it. A catalogue beside the copies says which holds
    which import. Returns the names to write into the settings: shipped names as they are, files by their new place.

    Raises:
        OntologyError: two different files have the same name.
    """
    own = own_files(loaded.files)
    if own:
        (folder / "ontology").mkdir(parents=True, exist_ok=True)
    for path in own:
        shutil.copyfile(path, folder / "ontology" / path.name)
        for beside in (path.with_name(f"{path.stem}{suffix}") for suffix in BESIDE):
            if beside.is_file():
                shutil.copyfile(beside, folder / "ontology" / beside.name)
    if loaded.places:
        listed = {iri: path.name for iri, path in loaded.places.items()}
        (folder / "ontology" / NAME).write_bytes(as_catalogue(listed))
    return tuple(name if name in shipped() else f"ontology/{find(name, source).name}" for name in names)


def own_files(files: Sequence[Path]) -> list[Path]:
    """The files that are not shipped.

    Raises:
        OntologyError: two different files have the same name, so that no folder could hold both.
    """
    shipped_in = home()
    own = [path for path in files if path.parent != shipped_in]
    taken: dict[str, Path] = {}
    for path in own:
        if taken.setdefault(path.name, path) != path:
            raise OntologyError(f"has the same name as {taken[path.name]}; rename one of them", source=str(path))
    return own


def ontology_iris(path: Path) -> frozenset[str]:
    """The IRIs of the ontologies, and of their versions, that a file declares.

    Raises:
        OntologyError: it cannot be read.
    """
    return _iris(_parsed(_content(path), path)[0])


class _Reading:
    """The files read so far, with their triples and what is left to say about them."""

    def __init__(self, files: Iterable[Path], rules: ImportRules) -> None:
        self.files: dict[Path, None] = {}
        self.triples: dict[Triple, None] = {}
        self.own: list[Triple] = []
        self.places: dict[str, Path] = {}
        self.unresolved: list[str] = []
        self.unread: Counter[str] = Counter()
        self.troubles: list[str] = []
        self._rules = rules
        self._catalogues: dict[Path, Catalogue] = {}
        self._home = home()
        waiting = [path.resolve() for path in files]
        while waiting:
            path = waiting.pop(0)
            if path not in self.files:
                self.files[path] = None
                waiting += self._read(path)

    def _read(self, path: Path) -> list[Path]:
        """Takes in a file; the files of its imports."""
        data = _content(path)
        found, unread = _parsed(data, path)
        self.unread.update(unread)
        self.triples.update(dict.fromkeys(found))
        if path.parent != self._home:
            self.own += found
        local = [(iri, self._local(iri, path)) for iri in _imports(found)]
        self.unresolved += [iri for iri, place in local if place is None]
        return [place for _, place in local if place is not None]

    def _local(self, iri: str, importer: Path) -> Path | None:
        """The file that holds the ontology of that IRI; noted in ``places`` unless it is shipped."""
        if iri not in self._rules.given and iri.startswith(_OWN) and (name := _own_name(iri)) in shipped():
            return self._home / f"{name}.ttl"
        place = self._rules.given.get(iri) or self.places.get(iri) or self._beside(iri, importer)
        place = place or self._rules.otherwise.get(iri) or self._fetched(iri)
        if place is None:
            return None
        place = place.resolve()
        if place.parent != self._home:
            self.places[iri] = place
        return place

    def _beside(self, iri: str, importer: Path) -> Path | None:
        folder = importer.parent
        if folder not in self._catalogues:
            self._catalogues[folder] = Catalogue(folder)
        listed = self._catalogues[folder].find(iri)
        if listed is not None:
            return listed
        for path in sorted(folder.iterdir()):
            if path != importer and path.suffix.lower() in SUFFIXES and path.is_file() and _declares(path, iri):
                return path
        return None

    def _fetched(self, iri: str) -> Path | None:
        if self._rules.fetched_into is None:
            return None
        try:
            data = fetch(iri)
            suffix = suffix_of(data)
        except (OntologyError, ValueError) as error:
            self.troubles.append(str(error) if isinstance(error, OntologyError) else f"{iri}: {error}")
            return None
        stem = slug(local_name(iri).rpartition(".")[0] or local_name(iri))
        path = self._rules.fetched_into / f"{stem}-{hashlib.sha256(iri.encode()).hexdigest()[:8]}{suffix}"
        path.write_bytes(data)
        return path


def _own_name(iri: str) -> str:
    return iri.removeprefix(_OWN).rstrip("#/")


def _content(path: Path) -> bytes:
    try:
        size = path.stat().st_size
        if size > LARGEST:
            raise OntologyError(
                f"has {size // 1_000_000:,} MB, and ontologies of up to {LARGEST // 1_000_000} MB are read;"
                " for data there is `kgplatform load`",
                source=str(path),
            )
        return path.read_bytes()
    except OSError as error:
        raise OntologyError(f"cannot be read: {error.strerror or error}", source=str(path)) from error


def _parsed(data: bytes, path: Path) -> tuple[list[Triple], Mapping[str, int]]:
    try:
        parsed = parse_ontology(data, name=path.name, suffix=path.suffix.lower(), base_iri=_place(path))
    except StoreError as error:
        raise OntologyError(str(error).removeprefix(f"{path.name}: "), source=str(path)) from error
    except ValueError as error:
        raise OntologyError(str(error), source=str(path)) from error
    prefix = f"urn:kgplatform:node:{hashlib.sha256(data).hexdigest()[:12]}:"
    return list(_named(parsed.quads, prefix)), parsed.unread


def _named(quads: Iterable[Quad], prefix: str) -> Iterator[Triple]:
    """The triples with IRIs for blank nodes, by their order of appearance (parsers label them by chance)."""
    names: dict[BlankNode, NamedNode] = {}

    def term(node: Any) -> Any:
        if isinstance(node, BlankNode):
            return names.setdefault(node, NamedNode(f"{prefix}b{len(names)}"))
        if isinstance(node, Triple):
            return Triple(term(node.subject), node.predicate, term(node.object))
        return node

    for quad in quads:
        triple = quad.triple
        plain = isinstance(triple.subject, NamedNode) and isinstance(triple.object, NamedNode | Literal)
        yield triple if plain else Triple(term(triple.subject), triple.predicate, term(triple.object))


def _imports(triples: Iterable[Triple]) -> list[str]:
    return sorted(t.object.value for t in triples if t.predicate == _IMPORTS and isinstance(t.object, NamedNode))


def _place(path: Path) -> str:
    """What relative IRIs in a file refer to: the same wherever the file lies, so that a workspace can keep a copy."""
    return f"file:///ontology/{quote(path.name)}"


def _declares(path: Path, iri: str) -> bool:
    """Whether the file has the ontology of that IRI, or that version of one; false for one that cannot be read."""
    try:
        data = _content(path)
        is_wide = b"\x00" in data[:200]
        if iri.encode() not in data and iri != _place(path) and not is_wide:
            return False
        triples, _ = _parsed(data, path)
    except OntologyError:
        return False
    return iri in _iris(triples)


def _iris(triples: Iterable[Triple]) -> frozenset[str]:
    named = {t.subject for t in triples if t.predicate == TYPE and t.object == _ONTOLOGY}
    versions = {t.object for t in triples if t.predicate == _VERSION}
    return frozenset(term.value for term in named | versions if isinstance(term, NamedNode))
