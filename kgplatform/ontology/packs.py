"""Ontologies by name or file: the shipped packs, one's own files, and what they import.

The file of an import is the one that was given for it, a shipped ontology, what a catalogue beside the importing file
names, or a neighbour that declares it. Blank nodes become IRIs made from the source's name, so that the same file
loaded twice gives the same triples and can be taken out again.

A catalogue is an OASIS XML catalogue (``catalog-v001.xml``, as Protégé writes it): read are ``uri``, ``rewriteURI``,
``group`` and ``nextCatalog`` with ``xml:base``; entries that lead to the network are left aside. Specification:
https://www.oasis-open.org/committees/download.php/14809/xml-catalogs.html, §6.5 (URI entries).

An import is fetched only where that was asked for: over HTTPS only (``http:`` becomes ``https:``, also where a server
redirects), from public addresses, bounded in size and time. The address that was looked up and found public is the one
connected to, so that a name cannot lead elsewhere the second time.
"""

from __future__ import annotations

import difflib
import hashlib
import http.client
import importlib
import logging
import shutil
import socket
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import quote, unquote, urljoin, urlsplit, urlunsplit

from lxml import etree  # type: ignore[import-untyped]
from pyoxigraph import BlankNode, Literal, NamedNode, Quad, Triple

from kgplatform import resources
from kgplatform.errors import OntologyError, StoreError
from kgplatform.network import connected, left, public_addresses
from kgplatform.ontology.parse import SUFFIXES, parse_ontology, suffix_of
from kgplatform.ontology.schema import Ontology, read_ontology
from kgplatform.vocab import CORE, OWL, TYPE, local_name, slug

# A plug-in is an entry point of that name, in the group of what it brings (``kgplatform.pages``). The packs of this
# package are found by convention too, so that they work from a source tree that was never installed: the object
# ``pages`` of the module ``kgplatform.packs.NAME.pages``.
_log = logging.getLogger("kgplatform.plugins")


def plugins(ontology: Ontology, group: str) -> Iterator[Any]:
    """What the plug-ins of the ontology bring to the group; one that is not installed or fails to load is logged."""
    for name in ontology.plugins:
        try:
            found = _found(group, name)
        except (ImportError, AttributeError) as error:
            _log.warning("the plug-in %s of %s cannot be loaded: %s", name, group, error)
            continue
        if found is None:
            _log.warning("the ontology asks for the plug-in %s; no package brings it to %s", name, group)
        else:
            yield found


def _found(group: str, name: str) -> Any | None:
    for entry in entry_points(group=group, name=name):
        return entry.load()
    part = group.rpartition(".")[2]
    module = f"kgplatform.packs.{name}.{part}"
    if not name.isidentifier():
        return None
    try:
        return getattr(importlib.import_module(module), part)
    except ModuleNotFoundError as error:
        if error.name and module.startswith(error.name):
            return None
        raise


NAME = "catalog-v001.xml"
_NAMES = (NAME, "catalog.xml")
_SPACE = "urn:oasis:names:tc:entity:xmlns:xml:catalog"
_BASE = "{http://www.w3.org/XML/1998/namespace}base"
_LARGEST = 5_000_000
_DEEPEST = 20


class ImportCatalogue:
    """The entries of the catalogue in a folder, and of those it refers to; empty where there is none."""

    def __init__(self, folder: Path) -> None:
        """Reads the catalogue.

        Raises:
            OntologyError: it is no XML, or has a document type.
        """
        self._files: dict[str, Path] = {}
        self._rewritten: dict[str, str] = {}
        seen: set[Path] = set()
        waiting = [path for name in _NAMES if (path := folder / name).is_file()]
        while waiting and len(seen) < _DEEPEST:
            path = waiting.pop(0).resolve()
            if path not in seen:
                seen.add(path)
                waiting += self._read(path)

    def _read(self, path: Path) -> Iterator[Path]:
        root = _parsed(path)
        yield from list(self._entries(root, path.as_uri()))

    def _entries(self, element: etree._Element, base: str) -> Iterator[Path]:
        here = urljoin(base, element.get(_BASE) or "")
        for item in element:
            name = etree.QName(item).localname if isinstance(item.tag, str) else ""
            if name == "group":
                yield from self._entries(item, here)
            elif name == "uri" and item.get("name") and item.get("uri"):
                self._add(item.get("name"), urljoin(urljoin(here, item.get(_BASE) or ""), item.get("uri")))
            elif name == "rewriteURI" and item.get("uriStartString") and item.get("rewritePrefix"):
                self._rewritten.setdefault(item.get("uriStartString"), urljoin(here, item.get("rewritePrefix")))
            elif name == "nextCatalog" and item.get("catalog"):
                following = _file(urljoin(here, item.get("catalog")))
                if following is not None and following.is_file():
                    yield following

    def _add(self, iri: str, target: str) -> None:
        path = _file(target)
        if path is not None:
            self._files.setdefault(iri, path)

    def find(self, iri: str) -> Path | None:
        """The file that the catalogue names for the IRI, if it is there."""
        for form in (iri, iri.rstrip("#/")):
            path = self._files.get(form)
            if path is not None and path.is_file():
                return path
        starts = [start for start in self._rewritten if iri.startswith(start)]
        if not starts:
            return None
        longest = max(starts, key=len)
        path = _file(self._rewritten[longest] + iri.removeprefix(longest))
        return path if path is not None and path.is_file() else None


def _parsed(path: Path) -> etree._Element:
    try:
        data = path.read_bytes() if path.stat().st_size <= _LARGEST else b"<"
        if b"<!ENTITY" in data:
            raise OntologyError("has entities, which are not read; take them out", source=str(path))
        return etree.fromstring(data, etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False))
    except etree.XMLSyntaxError as error:
        message = f"is no catalogue that can be read: line {error.position[0]}: {error.msg}"
        raise OntologyError(message, source=str(path)) from error
    except OSError as error:
        raise OntologyError(f"cannot be read: {error.strerror or error}", source=str(path)) from error


def _file(uri: str) -> Path | None:
    """The path of a ``file:`` IRI on this machine; None for any other."""
    parts = urlsplit(uri)
    if parts.scheme != "file" or parts.netloc not in ("", "localhost"):
        return None
    return Path(unquote(parts.path))


def as_catalogue(files: Mapping[str, str]) -> bytes:
    """A catalogue of the file names (beside it) for the IRIs."""
    root = etree.Element(f"{{{_SPACE}}}catalog", nsmap={None: _SPACE}, prefer="public")
    for iri, name in sorted(files.items()):
        etree.SubElement(root, f"{{{_SPACE}}}uri", name=iri, uri=quote(name))
    return bytes(etree.tostring(root, xml_declaration=True, encoding="UTF-8", pretty_print=True))


_ACCEPT = "text/turtle, application/rdf+xml;q=0.9, application/owl+xml;q=0.8, application/ld+json;q=0.7, */*;q=0.1"
_MOST_REDIRECTS = 6
_BLOCK = 65_536

Link: TypeAlias = Callable[[str, int, float], socket.socket]
"""Opens a connection to a host and port before a deadline (of the monotonic clock)."""


@dataclass(frozen=True, slots=True)
class FetchLimits:
    """How long a fetch may take in all, and how large the file may be."""

    seconds: float = 30.0
    max_bytes: int = 50_000_000


def _public_link(host: str, port: int, deadline: float) -> socket.socket:
    return connected(host, port, public_addresses(host, port), is_secured=True, deadline=deadline)


def fetch(iri: str, *, limits: FetchLimits | None = None, link: Link = _public_link) -> bytes:
    """The content at the IRI.

    Raises:
        OntologyError: no HTTPS, no public address, too large, too slow, or an answer other than 200.
    """
    most = limits or FetchLimits()
    deadline = time.monotonic() + most.seconds
    place = _https(iri, iri)
    for _ in range(_MOST_REDIRECTS):
        try:
            found = _asked(place, iri, deadline, most, link)
        except TimeoutError as error:
            raise OntologyError("could not be fetched: it takes too long", source=iri) from error
        except (OSError, http.client.HTTPException) as error:
            raise OntologyError(f"could not be fetched: {error or type(error).__name__}", source=iri) from error
        if isinstance(found, bytes):
            return found
        place = _https(urljoin(place, found), iri)
    raise OntologyError(f"redirects more than {_MOST_REDIRECTS} times", source=iri)


def _https(place: str, iri: str) -> str:
    try:
        parts = urlsplit(place)
        is_web = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError as error:
        raise OntologyError(f"is not fetched: {error}", source=iri) from error
    if not is_web or parts.username or parts.password:
        raise OntologyError("is not fetched: only https: is", source=iri)
    return urlunsplit(("https", parts.netloc, parts.path or "/", parts.query, ""))


def _asked(place: str, iri: str, deadline: float, limits: FetchLimits, link: Link) -> bytes | str:
    """The content, or where the server says that it is."""
    parts = urlsplit(place)
    host, port = parts.hostname or "", parts.port or 443
    connection = http.client.HTTPConnection(host, port)
    connection.sock = link(host, port, deadline)
    try:
        target = urlunsplit(("", "", parts.path, parts.query, ""))
        connection.request(
            "GET", target, headers={"Host": parts.netloc, "Accept": _ACCEPT, "Accept-Encoding": "identity"}
        )
        with connection.getresponse() as response:
            location = response.getheader("Location")
            if response.status in (301, 302, 303, 307, 308) and location:
                return location
            if response.status != 200:
                raise OntologyError(f"could not be fetched: the server answers {response.status}", source=iri)
            blocks, size = [], 0
            while block := response.read1(_BLOCK):
                blocks.append(block)
                size += len(block)
                if size > limits.max_bytes:
                    raise OntologyError(f"is larger than {limits.max_bytes // 1_000_000} MB: not fetched", source=iri)
                if connection.sock is not None:
                    connection.sock.settimeout(left(deadline))
            return b"".join(blocks)
    finally:
        connection.close()


LARGEST = 200_000_000
"""In bytes; what is larger is data rather than an ontology, and would not fit into memory in the form it is used in."""

_OWN = "https://w3id.org/kgplatform/"
_IMPORTS = NamedNode(f"{OWL}imports")
_ONTOLOGY = NamedNode(f"{OWL}Ontology")
_VERSION = NamedNode(f"{OWL}versionIRI")
_UNIT = NamedNode(f"{CORE}unit")

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
        raise OntologyError("is not a regular file", source=name)
    near = difflib.get_close_matches(name, shipped(), n=1)
    hint = f"; did you mean {near[0]}?" if near else f"; shipped are {', '.join(shipped())}"
    raise OntologyError(f"no such file, and there is no shipped ontology of that name{hint}", source=name)


def load(names: Iterable[str], *, folder: Path, rules: ImportRules | None = None) -> LoadedOntology:
    """The ontologies of those names or files together, with all they import.

    A property has the unit that one's own files give it, the last of them first; else that of the shipped ontology.

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
    found = {name: name if name in shipped() else find(name, source) for name in names}
    return tuple(
        path if isinstance(path, str) else path.stem if _is_shipped(path) else f"ontology/{path.name}"
        for path in found.values()
    )


def _is_shipped(path: Path) -> bool:
    return path.resolve().parent == home() and path.stem in shipped()


def own_files(files: Sequence[Path]) -> list[Path]:
    """The files that are not shipped.

    Raises:
        OntologyError: two different files have the same name, so that no folder could hold both.
    """
    own = [path for path in files if not _is_shipped(path)]
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
    return _iris(_triples_of(_content(path), path)[0])


class _Reading:
    """The files read so far, with their triples and what is left to say about them."""

    def __init__(self, files: Iterable[Path], rules: ImportRules) -> None:
        self.files: dict[Path, None] = {}
        self.triples: dict[Triple, None] = {}
        self.own: list[Triple] = []
        self._units: dict[Any, Any] = {}
        self.places: dict[str, Path] = {}
        self.unresolved: list[str] = []
        self.unread: Counter[str] = Counter()
        self.troubles: list[str] = []
        self._rules = rules
        self._catalogues: dict[Path, ImportCatalogue] = {}
        self._home = home()
        waiting = [path.resolve() for path in files]
        self._given = frozenset(waiting)
        while waiting:
            path = waiting.pop(0)
            if path not in self.files:
                self.files[path] = None
                waiting += self._read(path)
        for triple in [triple for triple in self.triples if triple.predicate == _UNIT]:
            if self._units.get(triple.subject, triple.object) != triple.object:
                del self.triples[triple]

    def _read(self, path: Path) -> list[Path]:
        """Takes in a file; the files of its imports."""
        data = _content(path)
        found, unread = _triples_of(data, path)
        self.unread.update(unread)
        self.triples.update(dict.fromkeys(found))
        if path.parent != self._home:
            self.own += found
            units = {triple.subject: triple.object for triple in found if triple.predicate == _UNIT}
            self._units = self._units | units if path in self._given else units | self._units
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
            self._catalogues[folder] = ImportCatalogue(folder)
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


def _triples_of(data: bytes, path: Path) -> tuple[list[Triple], Mapping[str, int]]:
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
        triples, _ = _triples_of(data, path)
    except OntologyError:
        return False
    return iri in _iris(triples)


def _iris(triples: Iterable[Triple]) -> frozenset[str]:
    named = {t.subject for t in triples if t.predicate == TYPE and t.object == _ONTOLOGY}
    versions = {t.object for t in triples if t.predicate == _VERSION}
    return frozenset(term.value for term in named | versions if isinstance(term, NamedNode))
