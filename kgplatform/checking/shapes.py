"""SHACL shapes: the shipped ones beside the ontologies in use, a user's files, and those an ontology implies.

Specification: SHACL (https://www.w3.org/TR/shacl/). Blank nodes become IRIs, so that shapes of several files can be
put together and a report can be traced to its shape.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from pyoxigraph import Literal, NamedNode, RdfFormat, Triple

from kgplatform.errors import OntologyError, StoreError
from kgplatform.lexing import scan
from kgplatform.store import numbered, parse, skolemised
from kgplatform.vocab import RDF, SH, TYPE

UNNAMED = "urn:kgplatform:node:"
_FORMATS = {"ttl": RdfFormat.TURTLE, "nt": RdfFormat.N_TRIPLES, "rdf": RdfFormat.RDF_XML, "xml": RdfFormat.RDF_XML,
            "jsonld": RdfFormat.JSON_LD}  # fmt: skip
_FIRST, _REST, _NIL = NamedNode(f"{RDF}first"), NamedNode(f"{RDF}rest"), NamedNode(f"{RDF}nil")
_CLOSED = "zeroOrMorePath", "oneOrMorePath"
_DEEPEST = 6
_VACUOUS = frozenset(
    f"{SH}{name}"
    for name in (
        *("path", "name", "description", "order", "group", "message", "severity", "defaultValue", "deactivated"),
        *("class", "datatype", "nodeKind", "in", "or", "and", "xone", "not", "node", "pattern", "flags"),
        *("minInclusive", "maxInclusive", "minExclusive", "maxExclusive", "minLength", "maxLength", "maxCount"),
        *("languageIn", "uniqueLang", "disjoint", "lessThan", "lessThanOrEquals"),
    )
) | {TYPE.value}
"""What says something of the values that there are; where there are none, it holds."""


@dataclass(frozen=True, slots=True)
class Reach:
    """How far shapes look from a thing: so many steps forward, and these properties backward."""

    steps: int
    backward: tuple[NamedNode, ...]


class Shapes:
    """The shapes in use, as triples without blank nodes."""

    def __init__(self, triples: Iterable[Triple]) -> None:
        self.triples = tuple(dict.fromkeys(triples))

    @cached_property
    def _facts(self) -> dict[object, dict[str, list[object]]]:
        facts: dict[object, dict[str, list[object]]] = defaultdict(lambda: defaultdict(list))
        for triple in self.triples:
            facts[triple.subject][triple.predicate.value].append(triple.object)
        return facts

    def _objects(self, subject: object, name: str) -> list[object]:
        return self._facts[subject].get(f"{SH}{name}", []) if subject in self._facts else []

    @cached_property
    def owners(self) -> dict[object, object]:
        """The shape that each nested shape belongs to."""
        nested = (f"{SH}property", f"{SH}node")
        return {triple.object: triple.subject for triple in self.triples if triple.predicate.value in nested}

    def name(self, shape: object) -> str | None:
        """The IRI of the shape, or of the nearest one around it that has a name."""
        seen: set[object] = set()
        while shape not in seen:
            if isinstance(shape, NamedNode) and not shape.value.startswith(UNNAMED):
                return shape.value
            seen.add(shape)
            shape = self.owners.get(shape)
        return None

    def constrains(self, path: NamedNode, *names: str) -> bool:
        """Whether some shape says one of those things (such as ``maxCount``) of a property."""
        return bool(self._said.get(path, frozenset()) & {f"{SH}{name}" for name in names})

    @cached_property
    def _said(self) -> dict[object, frozenset[str]]:
        said: dict[object, frozenset[str]] = {}
        for facts in list(self._facts.values()):
            for path in facts.get(f"{SH}path", ()):
                said[path] = said.get(path, frozenset()) | frozenset(facts)
        return said

    def used_in(self, predicates: Iterable[NamedNode]) -> Shapes:
        """Without the property shapes that must hold because their property is not in the data; most of them."""
        used = set(predicates)
        idle = {
            subject
            for subject, facts in list(self._facts.items())
            if subject in self.owners
            and facts.keys() <= _VACUOUS
            and (paths := facts.get(f"{SH}path"))
            and all(isinstance(path, NamedNode) and self._is_simple(path) and path not in used for path in paths)
        }
        return Shapes(t for t in self.triples if t.subject not in idle and t.object not in idle)

    def _is_simple(self, path: NamedNode) -> bool:
        return not path.value.startswith(UNNAMED)

    @cached_property
    def reach(self) -> Reach:
        """How far from a thing the shapes look."""
        backward = [
            t.object if isinstance(t.object, NamedNode) else None
            for t in self.triples
            if t.predicate.value in (f"{SH}inversePath", f"{SH}targetObjectsOf")
        ]
        steps = 1
        for triple in self.triples:
            if triple.predicate.value == f"{SH}path":
                steps = max(steps, self._length(triple.object))
        deeper = sum(
            1 for facts in self._facts.values()
            if f"{SH}path" in facts and {f"{SH}property", f"{SH}node", f"{SH}qualifiedValueShape"} & facts.keys()
        )  # fmt: skip
        sparql = any(f"{SH}sparql" in facts for facts in self._facts.values())
        steps = min(steps + min(deeper, 2) + 2 * sparql, _DEEPEST)
        return Reach(steps, tuple(dict.fromkeys(item for item in backward if item is not None)))

    def _length(self, path: object) -> int:
        """How many properties a path goes along."""
        if any(self._objects(path, name) for name in _CLOSED):
            return _DEEPEST
        length = 0
        seen: set[object] = set()
        while path in self._facts and path not in seen and path != _NIL:
            seen.add(path)
            length += bool(self._facts[path].get(_FIRST.value))
            rest = self._facts[path].get(_REST.value)
            if not rest:
                break
            path = rest[0]
        return max(length, 1)


def beside(ontologies: Sequence[Path]) -> list[Path]:
    """The shapes files that lie beside ontologies: ``travel.shapes.ttl`` beside ``travel.ttl``."""
    found = (path.with_name(f"{path.stem}.shapes.ttl") for path in ontologies)
    return [path for path in dict.fromkeys(found) if path.is_file()]


def read_shapes(path: Path) -> list[Triple]:
    """The triples of a shapes file, blank nodes replaced.

    Raises:
        OntologyError: the file is missing or empty, does not parse, holds no shape, or would reach the network.
    """
    format_ = _FORMATS.get(path.suffix.lower().removeprefix("."))
    if format_ is None:
        known = ", ".join(f".{suffix}" for suffix in _FORMATS)
        raise OntologyError(f"has the suffix {path.suffix or '(none)'}; shapes are read from {known}", source=str(path))
    try:
        data = path.read_bytes().removeprefix(b"\xef\xbb\xbf")
        quads = parse(data, format_, base_iri=f"file:///shapes/{path.stem}", source=path.name)
    except StoreError as error:
        raise OntologyError(str(error).removeprefix(f"{path.name}: "), source=str(path)) from error
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise OntologyError(f"cannot be read: {reason}", source=str(path)) from error
    prefix = f"{UNNAMED}{hashlib.sha256(data).hexdigest()[:12]}:"
    triples = list(skolemised((item.triple for item in numbered(quads)), prefix))
    _refuse_unusable(triples, path)
    return triples


def _refuse_unusable(triples: Sequence[Triple], path: Path) -> None:
    if not any(triple.predicate.value.startswith(SH) or _is_shape(triple) for triple in triples):
        raise OntologyError("holds no SHACL shape", source=str(path))
    for triple in _sparql(triples):
        text = triple.object.value if isinstance(triple.object, Literal) else ""
        if scan(text).reaches_network:
            raise OntologyError("a constraint in SPARQL uses SERVICE, which reaches another server", source=str(path))


def _is_shape(triple: Triple) -> bool:
    return triple.predicate == TYPE and isinstance(triple.object, NamedNode) and triple.object.value.startswith(SH)


def _sparql(triples: Iterable[Triple]) -> Iterator[Triple]:
    texts = (f"{SH}select", f"{SH}ask", f"{SH}construct", f"{SH}update")
    return (triple for triple in triples if triple.predicate.value in texts)
