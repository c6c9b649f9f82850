"""Ontologies by name or file: the shipped packs, one's own files, and what they import.

An import is resolved among the shipped ontologies and among the files given and their neighbours; it is never
fetched. Blank nodes become IRIs made from the source's name, so that the same file loaded twice gives the same
triples and can be taken out again.
"""

from __future__ import annotations

import codecs
import difflib
import hashlib
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from pyoxigraph import NamedNode, RdfFormat, Triple

from kgplatform import resources
from kgplatform.errors import OntologyError, StoreError
from kgplatform.ontology import Ontology, read_ontology
from kgplatform.store import numbered, parse, skolemised
from kgplatform.vocab import OWL, RDF

_LARGEST = 50_000_000
_OWN = "https://w3id.org/kgplatform/"
_SUFFIXES = {
    ".ttl": RdfFormat.TURTLE,
    ".nt": RdfFormat.N_TRIPLES,
    ".rdf": RdfFormat.RDF_XML,
    ".owl": RdfFormat.RDF_XML,
    ".xml": RdfFormat.RDF_XML,
    ".jsonld": RdfFormat.JSON_LD,
    ".trig": RdfFormat.TRIG,
}


@dataclass(frozen=True, slots=True)
class LoadedOntology:
    """An ontology with its triples (no blank nodes), and the imports that no file at hand declares."""

    ontology: Ontology
    triples: tuple[Triple, ...]
    unresolved: tuple[str, ...]
    files: tuple[Path, ...] = ()


def shipped() -> tuple[str, ...]:
    """The names of the shipped ontologies."""
    files = resources.folder("ontology").glob("*.ttl")
    return tuple(sorted(path.stem for path in files if not path.stem.endswith(".shapes")))


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
    near = difflib.get_close_matches(name, shipped(), n=1)
    hint = f"; did you mean {near[0]}?" if near else f"; shipped are {', '.join(shipped())}"
    raise OntologyError(f"no such file, and no shipped ontology is called so{hint}", source=name)


def load(names: Iterable[str], *, folder: Path) -> LoadedOntology:
    """The ontologies of those names or files together, with all they import.

    Raises:
        OntologyError: a file is missing, does not parse, or declares no class.
    """
    waiting = [find(name, folder) for name in names]
    seen: dict[Path, None] = {}
    triples: dict[Triple, None] = {}
    unresolved: list[str] = []
    while waiting:
        path = waiting.pop(0).resolve()
        if path in seen:
            continue
        seen[path] = None
        found = _read(path)
        triples.update(dict.fromkeys(found))
        for iri in _imports(found):
            local = _local(iri, path)
            if local is None:
                unresolved.append(iri)
            else:
                waiting.append(local)
    ontology = read_ontology(triples)
    unresolved = [iri for iri in dict.fromkeys(unresolved) if iri not in ontology.iris]  # given in another folder
    if seen and not ontology.classes:
        raise OntologyError("declares no owl:Class; is it an ontology?", source=", ".join(p.name for p in seen))
    return LoadedOntology(ontology, tuple(triples), tuple(unresolved), tuple(seen))


def keep(names: Iterable[str], loaded: LoadedOntology, *, source: Path, folder: Path) -> tuple[str, ...]:
    """Copies one's own files (and what they import) into ``folder/ontology``, so that a workspace is whole.

    Returns the names to write into its settings: shipped names as they are, files by their new place.

    Raises:
        OntologyError: two different files have the same name.
    """
    home = resources.folder("ontology").resolve()
    own = [path for path in loaded.files if path.parent != home]
    taken: dict[str, Path] = {}
    for path in own:
        if taken.setdefault(path.name, path) != path:
            raise OntologyError(f"has the same name as {taken[path.name]}; rename one of them", source=str(path))
    if own:
        (folder / "ontology").mkdir(parents=True, exist_ok=True)
    for path in own:
        shutil.copyfile(path, folder / "ontology" / path.name)
    return tuple(name if name in shipped() else f"ontology/{find(name, source).name}" for name in names)


def _read(path: Path) -> list[Triple]:
    format_ = _SUFFIXES.get(path.suffix.lower())
    if format_ is None:
        raise OntologyError(
            f"has the suffix {path.suffix or '(none)'}; read are {', '.join(_SUFFIXES)}", source=str(path)
        )
    try:
        data = path.read_bytes().removeprefix(codecs.BOM_UTF8)
        quads = parse(data, format_, base_iri=_place(path), source=path.name)
    except StoreError as error:
        raise OntologyError(str(error).removeprefix(f"{path.name}: "), source=str(path)) from error
    except OSError as error:
        raise OntologyError(f"cannot be read: {error.strerror or error}", source=str(path)) from error
    prefix = f"urn:kgplatform:node:{hashlib.sha256(data).hexdigest()[:12]}:"
    return list(skolemised((quad.triple for quad in numbered(quads)), prefix))


def _imports(triples: Iterable[Triple]) -> list[str]:
    wanted = NamedNode(f"{OWL}imports")
    return sorted(t.object.value for t in triples if t.predicate == wanted and isinstance(t.object, NamedNode))


def _local(iri: str, importer: Path) -> Path | None:
    """The file at hand that declares the ontology of that IRI."""
    if iri.startswith(_OWN) and iri.removeprefix(_OWN).rstrip("#/") in shipped():
        return resources.folder("ontology") / f"{iri.removeprefix(_OWN).rstrip('#/')}.ttl"
    for path in sorted(importer.parent.iterdir()):
        if path != importer and path.suffix.lower() in _SUFFIXES and path.is_file() and _declares(path, iri):
            return path
    return None


def _place(path: Path) -> str:
    """What relative IRIs in a file refer to: the same wherever the file lies, so that a workspace can keep a copy."""
    return f"file:///ontology/{quote(path.name)}"


def _declares(path: Path, iri: str) -> bool:
    try:
        data = path.read_bytes().removeprefix(codecs.BOM_UTF8) if path.stat().st_size <= _LARGEST else b""
        if iri.encode() not in data and iri != _place(path):
            return False
        quads = parse(data, _SUFFIXES[path.suffix.lower()], base_iri=_place(path))
    except (StoreError, OSError):
        return False
    ontology = Triple(NamedNode(iri), NamedNode(f"{RDF}type"), NamedNode(f"{OWL}Ontology"))
    return any(quad.triple == ontology for quad in quads)
