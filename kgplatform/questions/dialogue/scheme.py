"""What an ontology says about how its things are asked for: what identifies them, question classes, their words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pyoxigraph as ox
from pyoxigraph import Literal, NamedNode, Triple

from kgplatform.errors import OntologyError, StoreError
from kgplatform.ontology import Word, label_of
from kgplatform.store import parse
from kgplatform.vocab import LABEL, RDF, RDFS, SKOS, TYPE

QUESTIONS: Final = "https://w3id.org/kgplatform/questions#"
SUFFIX: Final = ".questions.ttl"
WAYS: Final = ("window", "place", "next", "ownerWindow", "ownerPlace", "code")
NONE: Final = "none"
"""The class of a question that nothing is missing from."""


@dataclass(frozen=True, slots=True)
class QuestionClass:
    """A class of questions that leave something out; ``way`` is how they are answered, ``notation`` their number."""

    notation: str
    way: str
    words: tuple[Word, ...]
    comments: tuple[Word, ...]
    cues: tuple[Word, ...]
    examples: tuple[Word, ...]

    def label(self, language: str) -> str:
        """What the class is called."""
        return label_of(self.words, language, self.notation)


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of time that has a name, from one property's moment to another's.

    ``expected`` stands in for ``ends`` while that has not happened. ``states`` are words for a thing whose stretch is
    longer than nothing ("delayed"), ``opposites`` for one whose stretch is not ("on time"). ``across``: from a moment
    of one thing to that of another, such as a change of flights.
    """

    begins: NamedNode
    ends: NamedNode
    words: tuple[Word, ...]
    cues: tuple[Word, ...]
    expected: NamedNode | None = None
    states: tuple[Word, ...] = ()
    opposites: tuple[Word, ...] = ()
    across: bool = False


@dataclass(frozen=True, slots=True)
class Jargon:
    """Words of the trade for the thing that has a value, such as "Delta" for the airline whose code is DL.

    Without a property ``value`` is the thing itself.
    """

    property: NamedNode | None
    value: Literal | NamedNode
    words: tuple[Word, ...]


@dataclass(frozen=True, slots=True)
class Scheme:
    """How things of one class are asked for; each role names a property, or none."""

    about: NamedNode
    identifier: NamedNode | None
    code: NamedNode | None
    owner: NamedNode | None
    owner_code: NamedNode | None
    places: tuple[NamedNode, ...]
    shown_places: tuple[NamedNode, ...]
    moment: NamedNode | None
    timetable: NamedNode | None
    happened: NamedNode | None
    changed: NamedNode | None
    successor: NamedNode | None
    queue: NamedNode | None
    queue_moments: tuple[NamedNode, ...]
    details: tuple[NamedNode, ...]
    classes: tuple[QuestionClass, ...]
    spans: tuple[Span, ...]
    said: tuple[tuple[NamedNode, Word], ...]
    jargon: tuple[Jargon, ...] = ()
    markers: tuple[tuple[NamedNode, Word], ...] = ()
    voids: tuple[NamedNode, ...] = ()

    def of_way(self, way: str) -> QuestionClass | None:
        """The class that goes that way."""
        return next((item for item in self.classes if item.way == way), None)


def read_schemes(ontologies: Iterable[Path]) -> tuple[Scheme, ...]:
    """The schemes that lie beside ontology files, each in a file of the same name that ends in ``.questions.ttl``.

    Raises:
        OntologyError: such a file cannot be read, or says less than a scheme needs.
    """
    found: list[Scheme] = []
    for path in ontologies:
        beside = path.with_name(f"{path.stem}{SUFFIX}")
        if beside.is_file():
            found += _read(beside)
    return tuple(found)


def _read(path: Path) -> list[Scheme]:
    try:
        triples = [quad.triple for quad in parse(path.read_bytes(), ox.RdfFormat.TURTLE)]
    except (OSError, StoreError) as error:
        raise OntologyError(str(error), source=path.name) from error
    facts = _Facts(triples)
    schemes = [facts.scheme(node, path.name) for node in facts.instances(_q("Scheme"))]
    if not schemes:
        raise OntologyError(f"has no <{QUESTIONS}Scheme>", source=path.name)
    return schemes


def _q(name: str) -> NamedNode:
    return NamedNode(f"{QUESTIONS}{name}")


class _Facts:
    """The statements of one file, looked up by subject and predicate."""

    def __init__(self, triples: Sequence[Triple]) -> None:
        self._triples = triples

    def instances(self, kind: NamedNode) -> list[NamedNode]:
        found = [t.subject for t in self._triples if t.predicate == TYPE and t.object == kind]
        return [node for node in found if isinstance(node, NamedNode)]

    def _objects(self, subject: object, predicate: NamedNode) -> list[object]:
        return [t.object for t in self._triples if t.subject == subject and t.predicate == predicate]

    def _nodes(self, subject: object, name: str) -> tuple[NamedNode, ...]:
        return tuple(node for node in self._objects(subject, _q(name)) if isinstance(node, NamedNode))

    def _node(self, subject: object, name: str) -> NamedNode | None:
        return next(iter(self._nodes(subject, name)), None)

    def _words(self, subject: object, predicate: NamedNode) -> tuple[Word, ...]:
        found = [node for node in self._objects(subject, predicate) if isinstance(node, Literal)]
        return tuple(Word(literal.value, literal.language or "") for literal in found)

    def _listed(self, subject: object, name: str) -> tuple[NamedNode, ...]:
        """The members of an RDF list, in order."""
        found: list[NamedNode] = []
        here = next(iter(self._objects(subject, _q(name))), None)
        while here is not None and len(found) < len(self._triples):
            found += [node for node in self._objects(here, NamedNode(f"{RDF}first")) if isinstance(node, NamedNode)]
            here = next(iter(self._objects(here, NamedNode(f"{RDF}rest"))), None)
        return tuple(found)

    def scheme(self, node: NamedNode, source: str) -> Scheme:
        about = self._node(node, "about")
        if about is None:
            raise OntologyError(f"{node} does not say what it is about ({_q('about')})", source=source)
        classes = [self._class(item, source) for item in self._nodes(node, "questionClass")]
        return Scheme(
            about=about,
            identifier=self._node(node, "identifier"),
            code=self._node(node, "code"),
            owner=self._node(node, "owner"),
            owner_code=self._node(node, "ownerCode"),
            places=self._nodes(node, "place"),
            shown_places=self._nodes(node, "shownPlace") or self._nodes(node, "place"),
            moment=self._node(node, "moment"),
            timetable=self._node(node, "timetable") or self._node(node, "moment"),
            happened=self._node(node, "happened"),
            changed=self._node(node, "changed"),
            successor=self._node(node, "successor"),
            queue=self._node(node, "queue"),
            queue_moments=self._nodes(node, "queueMoment"),
            details=self._listed(node, "detail"),
            classes=tuple(sorted(classes, key=lambda item: item.notation)),
            spans=tuple(self._span(item, source) for item in self._nodes(node, "span")),
            said=self._spoken("said"),
            markers=self._spoken("before"),
            voids=self._nodes(node, "void"),
            jargon=tuple(self._jargon(item, source) for item in self._nodes(node, "glossary")),
        )

    def _spoken(self, name: str) -> tuple[tuple[NamedNode, Word], ...]:
        """The words that the file gives to terms by an annotation."""
        return tuple(
            (t.subject, Word(t.object.value, t.object.language or ""))
            for t in self._triples
            if t.predicate == _q(name) and isinstance(t.subject, NamedNode) and isinstance(t.object, Literal)
        )

    def _class(self, node: NamedNode, source: str) -> QuestionClass:
        way = next((word.text for word in self._words(node, _q("way"))), "")
        if way not in WAYS:
            raise OntologyError(f"{node} goes the way {way!r}; ways are {', '.join(WAYS)}", source=source)
        notation = self._words(node, NamedNode(f"{SKOS}notation"))
        return QuestionClass(
            notation=notation[0].text if notation else way,
            way=way,
            words=self._words(node, LABEL),
            comments=self._words(node, NamedNode(f"{RDFS}comment")),
            cues=self._words(node, _q("cue")),
            examples=self._words(node, NamedNode(f"{SKOS}example")),
        )

    def _jargon(self, node: NamedNode, source: str) -> Jargon:
        meant, predicate = self._node(node, "means"), self._node(node, "property")
        if meant is not None:
            return Jargon(None, meant, self._words(node, _q("cue")))
        value = next((v for v in self._objects(node, _q("value")) if isinstance(v, Literal)), None)
        if predicate is None or value is None:
            raise OntologyError(f"{node} needs {_q('property')} and {_q('value')}, or {_q('means')}", source=source)
        return Jargon(predicate, value, self._words(node, _q("cue")))

    def _span(self, node: NamedNode, source: str) -> Span:
        begins, ends = self._node(node, "begins"), self._node(node, "ends")
        if begins is None or ends is None:
            raise OntologyError(f"{node} needs {_q('begins')} and {_q('ends')}", source=source)
        return Span(
            begins=begins,
            ends=ends,
            words=self._words(node, LABEL),
            cues=self._words(node, _q("cue")),
            expected=self._node(node, "expected"),
            states=self._words(node, _q("state")),
            opposites=self._words(node, _q("opposite")),
            across=any(word.text == "true" for word in self._words(node, _q("across"))),
        )
