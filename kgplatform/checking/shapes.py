"""SHACL shapes: the shipped ones beside the ontologies in use, a user's files, and those an ontology implies.

Specification: SHACL (https://www.w3.org/TR/shacl/). Blank nodes become IRIs, so that shapes of several files can be
put together and a report can be traced to its shape.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from pyoxigraph import Literal, NamedNode, RdfFormat, Triple

from kgplatform.errors import OntologyError, StoreError
from kgplatform.lexing import scan
from kgplatform.store import numbered, parse, skolemised
from kgplatform.types import Term
from kgplatform.vocab import RDF, SH, TYPE

_T = TypeVar("_T")

UNNAMED = "urn:kgplatform:node:"
_FORMATS = {"ttl": RdfFormat.TURTLE, "nt": RdfFormat.N_TRIPLES, "rdf": RdfFormat.RDF_XML, "xml": RdfFormat.RDF_XML,
            "jsonld": RdfFormat.JSON_LD}  # fmt: skip
_FIRST, _REST, _NIL = NamedNode(f"{RDF}first"), NamedNode(f"{RDF}rest"), NamedNode(f"{RDF}nil")
_COMPONENT = NamedNode(f"{SH}ConstraintComponent")
_CLOSED = "zeroOrMorePath", "oneOrMorePath"
_DEEPEST = 6
_BESIDE = frozenset(f"{SH}{name}" for name in ("closed", "equals", "disjoint", "lessThan", "lessThanOrEquals"))
"""What looks at other properties of a node than the one in question."""

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
    """How far shapes look from a thing: so many steps forward, and these properties backward.

    ``is_winding``: backward and forward steps may follow on each other.
    """

    steps: int
    backward: tuple[NamedNode, ...]
    is_winding: bool = False


class Shapes:
    """The shapes in use, as triples without blank nodes."""

    def __init__(self, triples: Iterable[Triple]) -> None:
        self.triples = tuple(dict.fromkeys(triples))
        self._made: dict[Callable[[Shapes], Any], Any] = {}

    def made(self, make: Callable[[Shapes], _T]) -> _T:
        """What that makes of the shapes; done once, for every document is held to the same ones."""
        if make not in self._made:
            self._made[make] = make(self)
        found: _T = self._made[make]
        return found

    @cached_property
    def _facts(self) -> dict[object, dict[str, list[Term]]]:
        facts: dict[object, dict[str, list[Term]]] = {}
        for triple in self.triples:
            facts.setdefault(triple.subject, {}).setdefault(triple.predicate.value, []).append(triple.object)
        return facts

    def _objects(self, subject: object, name: str) -> list[Term]:
        return self.said(subject).get(f"{SH}{name}", [])

    def said(self, shape: object) -> Mapping[str, list[Term]]:
        """What is said of a shape: the values of each property."""
        return self._facts.get(shape, {})

    def members(self, head: object) -> tuple[Term, ...]:
        """The members of a list; none where it is not well made."""
        found: list[Term] = []
        seen: set[object] = set()
        while head != _NIL:
            said = self.said(head)
            first, rest = said.get(_FIRST.value, ()), said.get(_REST.value, ())
            if head in seen or len(first) != 1 or len(rest) != 1:
                return ()
            seen.add(head)
            found.append(first[0])
            head = rest[0]
        return tuple(found)

    @cached_property
    def path_nodes(self) -> frozenset[object]:
        """The nodes without a name that make up paths: what reads SHACL takes an IRI there for a property."""
        waiting = [t.object for t in self.triples if t.predicate.value == f"{SH}path"]
        found: set[object] = set()
        while waiting:
            node = waiting.pop()
            if node in found or not getattr(node, "value", "").startswith(UNNAMED):
                continue
            found.add(node)
            waiting += [item for objects in self.said(node).values() for item in objects]
        return frozenset(found)

    @cached_property
    def custom(self) -> frozenset[str]:
        """The parameters of constraint components that are defined in the shapes themselves."""
        components = (t.subject for t in self.triples if t.predicate == TYPE and t.object == _COMPONENT)
        parameters = (item for node in components for item in self.said(node).get(f"{SH}parameter", ()))
        paths = (path for item in parameters for path in self.said(item).get(f"{SH}path", ()))
        return frozenset(path.value for path in paths if isinstance(path, NamedNode))

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
        steps = max((self._steps(shape, ()) for shape in self._facts), default=1)
        steps += 2 * any(f"{SH}sparql" in said for said in self._facts.values())
        named = tuple(dict.fromkeys(item for item in backward if item is not None and item not in self.path_nodes))
        return Reach(min(max(steps, 1), _DEEPEST), named, self._is_winding)

    def _steps(self, shape: object, around: tuple[object, ...]) -> int:
        """How many properties lie between a node and the furthest that the shape asks of it."""
        if shape in around:
            return _DEEPEST
        said = self.said(shape)
        own = max((self._length(path) for path in said.get(f"{SH}path", ())), default=int(bool(_BESIDE & said.keys())))
        inner = (self._steps(item, (*around, shape)) for item in self._inner(said))
        return min(own + max(inner, default=0), _DEEPEST)

    def _inner(self, said: Mapping[str, list[Term]]) -> list[Term]:
        """The shapes that values are held to."""
        found = [
            item for name in ("property", "node", "not", "qualifiedValueShape") for item in said.get(f"{SH}{name}", ())
        ]
        lists = [item for name in ("and", "or", "xone") for item in said.get(f"{SH}{name}", ())]
        return found + [member for head in lists for member in self.members(head)]

    @cached_property
    def _is_winding(self) -> bool:
        """Whether some path goes backward and on from there, so that what lies behind matters too."""
        for triple in self.triples:
            if triple.predicate.value == f"{SH}inversePath" and (
                triple.object in self.path_nodes or self._is_step(triple.subject)
            ):
                return True
        return any(
            self._inner(said) or _BESIDE & said.keys()
            for said in self._facts.values()
            if any(self._objects(path, "inversePath") for path in said.get(f"{SH}path", ()))
        )

    def _is_step(self, node: object) -> bool:
        """Whether the path is part of another."""
        path = f"{SH}path"
        return any(
            t.object == node and t.predicate.value != path and t.subject in self.path_nodes for t in self.triples
        )

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
