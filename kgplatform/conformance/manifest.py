"""Test manifests as the W3C's working groups write them: Turtle files that include others and list tests.

Vocabulary: https://www.w3.org/2001/sw/DataAccess/tests/README (``mf:``, ``qt:``), ``ut:`` for updates.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pyoxigraph as ox
from pyoxigraph import BlankNode, Literal, NamedNode, RdfFormat

from kgplatform.errors import ReadError
from kgplatform.types import Term
from kgplatform.vocab import RDF, RDFS, TYPE, local_name

MF = "http://www.w3.org/2001/sw/DataAccess/tests/test-manifest#"
QT = "http://www.w3.org/2001/sw/DataAccess/tests/test-query#"
UT = "http://www.w3.org/2009/sparql/tests/test-update#"
PUBLISHED = "https://w3c.github.io/rdf-tests/"
"""Where the W3C publishes the folder; a manifest's relative IRIs are resolved as if it were read from there."""

_FIRST, _REST, _NIL = NamedNode(f"{RDF}first"), NamedNode(f"{RDF}rest"), NamedNode(f"{RDF}nil")


class Facts:
    """The triples of one manifest, asked for by property."""

    def __init__(self, path: Path, iri: str) -> None:
        """Reads the file as if it were published at ``iri``.

        Raises:
            ReadError: it is missing or no Turtle.
        """
        self._store = ox.Store()
        try:
            self._store.load(path.read_bytes(), format=RdfFormat.TURTLE, base_iri=iri)
        except (OSError, SyntaxError) as error:
            raise ReadError(f"no test manifest: {error}", path=path) from error

    def values(self, subject: Term, *properties: str) -> list[Term]:
        """The values of the properties, in no order."""
        if not isinstance(subject, NamedNode | BlankNode):
            return []
        found: list[Term] = []
        for name in properties:
            found += (q.object for q in self._store.quads_for_pattern(subject, NamedNode(name), None))
        return found

    def value(self, subject: Term | None, *properties: str) -> Term | None:
        """The value of the first of the properties that the subject has."""
        for name in properties if subject is not None else ():
            assert subject is not None
            if found := self.values(subject, name):
                return found[0]
        return None

    def text(self, subject: Term | None, *properties: str) -> str:
        """As `value`, as text; empty where there is none."""
        found = self.value(subject, *properties)
        return found.value if isinstance(found, NamedNode | Literal) else ""

    def items(self, head: Term | None) -> Iterator[Term]:
        """The members of a list."""
        while head is not None and head != _NIL:
            item = self.value(head, _FIRST.value)
            if item is not None:
                yield item
            head = self.value(head, _REST.value)

    def manifest(self, iri: str) -> NamedNode:
        """The node that stands for the manifest itself; ``iri`` is where it is published."""
        found = self._store.quads_for_pattern(None, TYPE, NamedNode(f"{MF}Manifest"))
        named = [quad.subject for quad in found if isinstance(quad.subject, NamedNode)]
        return named[0] if len(named) == 1 else NamedNode(iri)

    def types(self, subject: Term) -> frozenset[str]:
        """The local names of the subject's classes."""
        return frozenset(local_name(t.value) for t in self.values(subject, TYPE.value) if isinstance(t, NamedNode))


@dataclass(frozen=True)
class Case:
    """A test: its node among the facts of its manifest, and the folder that the suite lies in."""

    node: NamedNode
    facts: Facts
    root: Path
    suite: str

    @cached_property
    def kinds(self) -> frozenset[str]:
        """What kind of test it is."""
        return self.facts.types(self.node)

    @cached_property
    def name(self) -> str:
        """What it is called."""
        return " ".join(self.facts.text(self.node, f"{MF}name", f"{RDFS}label").split())

    def file(self, iri: Term | None) -> Path:
        """The file behind an IRI of the manifest."""
        assert isinstance(iri, NamedNode)
        return file_of(iri.value, self.root)


def file_of(iri: str, root: Path) -> Path:
    """The file in the folder that is published under the IRI."""
    return root / iri.removeprefix(PUBLISHED)


def iri_of(path: Path, root: Path) -> str:
    """The IRI under which the file is published."""
    return PUBLISHED + path.relative_to(root).as_posix()


def cases(path: Path, root: Path, suite: str = "") -> Iterator[Case]:
    """The tests of the manifest and of those it includes, in their order.

    Raises:
        ReadError: a manifest is missing or no Turtle.
    """
    iri = iri_of(path, root)
    facts = Facts(path, iri)
    manifest = facts.manifest(iri)
    name = suite or path.parent.name
    for included in facts.items(facts.value(manifest, f"{MF}include")):
        if isinstance(included, NamedNode):
            below = file_of(included.value, root)
            yield from cases(below, root, name if below.parent == path.parent else "")
    for entry in facts.items(facts.value(manifest, f"{MF}entries")):
        if isinstance(entry, NamedNode):
            yield Case(entry, facts, root, name)
