"""Equality as the tests mean it: graphs, datasets and rows are the same if blank nodes can be named alike.

Numbers of a type that are equal though written otherwise (``1.50`` and ``1.5``) count as the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from pathlib import Path

import pyoxigraph as ox
from pyoxigraph import BlankNode, CanonicalizationAlgorithm, Dataset, Literal, NamedNode, Quad, RdfFormat, Triple

from kgplatform.errors import ReadError
from kgplatform.types import Term
from kgplatform.vocab import RDF, RDFS, TYPE, local_name

# Test manifests as the W3C's working groups write them: Turtle files that include others and list tests.
#
# Vocabulary: https://www.w3.org/2001/sw/DataAccess/tests/README (``mf:``, ``qt:``), ``ut:`` for updates.


MF = "http://www.w3.org/2001/sw/DataAccess/tests/test-manifest#"
QT = "http://www.w3.org/2001/sw/DataAccess/tests/test-query#"
UT = "http://www.w3.org/2009/sparql/tests/test-update#"
PUBLISHED = "https://w3c.github.io/rdf-tests/"
"""Where the W3C publishes the folder; a manifest's relative IRIs are resolved as if it were read from there."""

_FIRST, _REST, _NIL = NamedNode(f"{RDF}first"), NamedNode(f"{RDF}rest"), NamedNode(f"{RDF}nil")


class Facts:
    """The triples of one manifest, asked for by property."""

    def __init__(self, path: Path, iri: str) -> None:
        """Reads the file as if it were published at ``iri``."""
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
        assert isinstance(iri, NamedNode)
        return file_of(iri.value, self.root)


def file_of(iri: str, root: Path) -> Path:
    return root / iri.removeprefix(PUBLISHED)


def iri_of(path: Path, root: Path) -> str:
    """The IRI under which the file is published."""
    return PUBLISHED + path.relative_to(root).as_posix()


def cases(path: Path, root: Path, suite: str = "") -> Iterator[Case]:
    """The tests of the manifest and of those it includes, in their order."""
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


# What became of a test, in one small type that every suite gives and every report takes.


class Verdict(StrEnum):
    """How a test ended; the values are the outcomes of EARL."""

    PASSED = "passed"
    FAILED = "failed"
    UNTESTED = "untested"


@dataclass(frozen=True, slots=True)
class Outcome:
    """A test by its IRI and suite, how it ended, and why where it did not pass."""

    iri: str
    name: str
    suite: str
    verdict: Verdict
    detail: str = ""


# Equality as the tests mean it: graphs, datasets and rows are the same if blank nodes can be named alike.


_ROWS = "urn:kgplatform:row:"
Row = tuple[tuple[str, Term], ...]
"""The bindings of one solution, sorted by variable; what is not bound is left out."""


def same_graphs(first: Iterable[Triple], second: Iterable[Triple]) -> bool:
    """Whether the graphs are isomorphic."""
    return same_datasets(_quads(first), _quads(second))


def _quads(triples: Iterable[Triple]) -> Iterator[Quad]:
    return (Quad(triple.subject, triple.predicate, triple.object) for triple in triples)


def same_datasets(first: Iterable[Quad], second: Iterable[Quad]) -> bool:
    """Whether the datasets are isomorphic."""
    return _canonical(first) == _canonical(second)


def _canonical(quads: Iterable[Quad]) -> Dataset:
    dataset = Dataset(Quad(q.subject, q.predicate, _number(q.object), q.graph_name) for q in quads)
    dataset.canonicalize(CanonicalizationAlgorithm.UNSTABLE)
    return dataset


def same_rows(first: Sequence[Row], second: Sequence[Row], *, ordered: bool) -> bool:
    """Whether the rows are the same, as often, and in the same order where that counts."""
    if len(first) != len(second):
        return False
    left, right = [_settled(row) for row in first], [_settled(row) for row in second]
    if not any(_has_blank(row) for row in (*left, *right)):
        return left == right if ordered else Counter(left) == Counter(right)
    return _canonical(_written(left, ordered=ordered)) == _canonical(_written(right, ordered=ordered))


def _settled(row: Row) -> Row:
    return tuple(sorted((name, _number(term)) for name, term in row))  # variables differ, so terms are not compared


def _number(term: Term) -> Term:
    """A number in one form for each value, any other term as it is."""
    if isinstance(term, Triple):
        return Triple(_number(term.subject), term.predicate, _number(term.object))  # type: ignore[arg-type]
    if not isinstance(term, Literal) or not term.datatype.value.endswith(("#decimal", "#double", "#float")):
        return term
    try:
        return Literal(f"{float(term.value):.12g}", datatype=term.datatype)
    except ValueError:
        return term


def _has_blank(row: Row) -> bool:
    return any(_is_blank(term) for _, term in row)


def _is_blank(term: Term) -> bool:
    if isinstance(term, Triple):
        return _is_blank(term.subject) or _is_blank(term.object)
    return isinstance(term, BlankNode)


def _written(rows: Sequence[Row], *, ordered: bool) -> Iterator[Quad]:
    """The rows as a graph: a node for each row, an edge for each binding, its place where order counts."""
    for place, row in enumerate(rows):
        node = BlankNode(f"row{place}")
        yield Quad(node, NamedNode(f"{_ROWS}is"), Literal(str(place) if ordered else ""))
        for name, term in row:
            yield Quad(node, NamedNode(f"{_ROWS}{name}"), term)
