"""What a question takes for granted and the graph says otherwise: a relation that does not hold, a class not its own.

Only what the question presupposes counts ("When did X cite Y?"), not what it asks ("Did X cite Y?"), and only where the
graph does say something of the kind: X cites others, Y is of another class.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import permutations
from typing import Final

from pyoxigraph import NamedNode, Triple

from kgplatform.dataset import EvidenceDataset
from kgplatform.ontology import Ontology
from kgplatform.questions.joining import Mention
from kgplatform.questions.mentions import Reading
from kgplatform.questions.names import NameIndex
from kgplatform.store import DEFAULT_GRAPH
from kgplatform.text import normalise

_PRESUPPOSING = re.compile(
    r"\b(?:when|why|where|how(?! many\b)|(?:what|which|in what|in which) (?:year|date|day|month|time))\b[^?]*"
    r"\b(?:did|does|do|was|were|is|are|has|have|had)\b"
    r"|什么时候|何时|哪一?年|哪天|为什么|为何|在哪|怎么|如何",
    re.IGNORECASE,
)
_THE = re.compile(r"(?:\bthe|\bthis|\bthat|\bof)\s*$", re.IGNORECASE)
_WITH_THE = re.compile(r"(?:the|this|that)\s", re.IGNORECASE)
_JOINT = re.compile(r"\s*[“\"「『《(]?\s*")
_SHOWN: Final = 3


@dataclass(frozen=True, slots=True)
class FalsePremise:
    """What a question wrongly takes for granted, in words; ``contradicted``: the graph rules it out."""

    text: str
    contradicted: bool


def false_premise(
    reading: Reading, names: NameIndex, dataset: EvidenceDataset, ontology: Ontology
) -> FalsePremise | None:
    """The first thing that the question takes for granted and the graph says otherwise of, if there is one."""
    language = "zh" if reading.language == "zh" else "en"
    graph = _Graph(names, dataset, ontology, language)
    return graph.wrong_class(reading) or graph.wrong_relation(reading)


def _of_kind(mention: Mention, kind: str) -> list[NamedNode]:
    """The terms of one kind that a mention may name, where it names these first."""
    option = next(iter(mention.options), None)
    if option is None or option.kind != kind:
        return []
    return [name.term for name in option.names if isinstance(name.term, NamedNode)]


def _adjoins(reading: Reading, before: Mention, after: Mention) -> bool:
    """Whether two mentions stand side by side, in English as "the CLASS NAME"."""
    start, end = reading.tokens[before.first].start, reading.tokens[before.last - 1].end
    following = reading.tokens[after.first].start
    if before.last != after.first or not _JOINT.fullmatch(reading.text[end:following]):
        return False
    said = reading.text[start:end]
    return (
        reading.language == "zh" or _THE.search(reading.text[:start]) is not None or _WITH_THE.match(said) is not None
    )


@dataclass(frozen=True, slots=True)
class _Way:
    """A statement that a question may take for granted."""

    one: NamedNode
    relation: NamedNode
    other: NamedNode


@dataclass(frozen=True, slots=True)
class _Graph:
    """What the graph says of the things in a question."""

    names: NameIndex
    dataset: EvidenceDataset
    ontology: Ontology
    language: str

    def _label(self, term: NamedNode) -> str:
        return self.names.label(term, self.language)

    def wrong_class(self, reading: Reading) -> FalsePremise | None:
        """A class word right before a name ("the hotel Xizha", 酒店西栅) whose things are of other classes."""
        for before, after in zip(reading.mentions, reading.mentions[1:], strict=False):
            classes, things = _of_kind(before, "class"), _of_kind(after, "entity")
            if not classes or not things or not _adjoins(reading, before, after):
                continue
            known = [types for thing in things if (types := self.names.types(thing))]
            if known and not any(self.ontology.fits(t, [c]) for types in known for t in types for c in classes):
                return self._of_other_class(things[0], classes[0], known[0])
        return None

    def _of_other_class(self, thing: NamedNode, class_: NamedNode, own: tuple[NamedNode, ...]) -> FalsePremise:
        label, schema = self._label(thing), self.names.schema
        said, truly = (schema.label(iri, self.language) for iri in (class_, own[0]))
        text = f"The question takes {label} for a {said}; in the graph it is a {truly}."
        if self.language == "zh":
            text = f"问题以“{label}是{said}”为前提，而图谱中它是{truly}。"
        return FalsePremise(text, any(self.ontology.disjoint(t, class_) for t in own))

    def wrong_relation(self, reading: Reading) -> FalsePremise | None:
        """A relation between two things that are named, which the graph holds of one, but not with the other."""
        if not _PRESUPPOSING.search(reading.text):
            return None
        things = [found for mention in reading.mentions if (found := _of_kind(mention, "entity"))]
        relations = [p for mention in reading.mentions for p in _of_kind(mention, "property")]
        if len(things) != 2 or not relations:
            return None
        ways = [
            _Way(one, relation, other)
            for subjects, objects in permutations(things, 2)
            for relation in relations
            for one in subjects
            for other in objects
            if self._may_hold(one, relation, other)
        ]
        if any(self._holds(way) for way in ways):
            return None
        return next((denied for way in ways if (denied := self._denied(way)) is not None), None)

    def _may_hold(self, one: NamedNode, relation: NamedNode, other: NamedNode) -> bool:
        """Whether things of these classes can be so related."""
        term = self.ontology.properties.get(relation)
        if term is None or not term.is_object:
            return False
        return all(
            not wanted or any(self.ontology.fits(t, wanted) for t in self.names.types(thing))
            for thing, wanted in ((one, term.domains), (other, term.ranges))
        )

    def _holds(self, way: _Way) -> bool:
        """Whether the graph holds a statement, or the same said the other way round."""
        store = self.dataset.store
        inverse = self.ontology.properties[way.relation].inverse
        turned = inverse is not None and store.has(Triple(way.other, inverse, way.one))
        return turned or store.has(Triple(way.one, way.relation, way.other))

    def _denied(self, way: _Way) -> FalsePremise | None:
        """What the graph says instead, where it says anything of the kind."""
        quads = self.dataset.store.quads(way.one, way.relation, graph=DEFAULT_GRAPH)
        others = {self._label(quad.object) for quad in quads if isinstance(quad.object, NamedNode)}
        if not others:
            return None
        subject, object_ = self._label(way.one), self._label(way.other)
        said = self.names.schema.label(way.relation, self.language)
        listed, more = sorted(others, key=normalise), len(others) > _SHOWN
        if self.language == "zh":
            shown = "、".join(listed[:_SHOWN]) + ("等" if more else "")
            text = f"问题以“{subject} {said} {object_}”为前提，而图谱中没有这一陈述；图谱中为：{shown}。"
        else:
            shown = ", ".join(listed[:_SHOWN]) + (" and others" if more else "")
            text = f"The question takes “{subject} {said} {object_}” for granted; the graph holds only: {shown}."
        return FalsePremise(text, self.ontology.properties[way.relation].functional)
