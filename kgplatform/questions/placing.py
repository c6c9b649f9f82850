"""“Where is X?”: the question word alone names the relation, the one that says where things are."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from pyoxigraph import NamedNode

from kgplatform.questions.draft import Draft
from kgplatform.questions.graphs import Link, Node
from kgplatform.questions.mentions import Reading
from kgplatform.questions.names import NameIndex
from kgplatform.questions.schema import SchemaView
from kgplatform.questions.wording import keys

_SENSES = (("~location",), ("~address",))
_INSIDE = re.compile(r"(?:in|within|inside)\s+\w[\w ]*|(?:所在|位于|地处).+", re.IGNORECASE)
"""A relation that is called by where it leads: in state, 所在省."""
_WHICH_IT_IS = re.compile(r"是(?:哪里|哪儿|什么地方|哪个地方)")
"""What is known by a code only is asked for itself: 代码7是哪里, not 7在哪里."""
_NONE = len(_SENSES) + 1
_LATER = 0.1
_MOST_NODES = 3
"""A thing, the code it is known by, and its place."""


def placed(draft: Draft, reading: Reading, names: NameIndex) -> Iterator[Draft]:
    """The draft; for "where" and one thing the drafts that ask for its place, directly and not level by level."""
    cues, schema = reading.cues, names.schema
    if not cues.place or cues.boolean or cues.counting is not None or len(draft.nodes) > _MOST_NODES:
        yield draft
        return
    known = [node.literal for node in draft.nodes if node.terms]
    if _WHICH_IT_IS.search(reading.text) and known and all(known):
        yield draft
        return
    thing = _one_thing(draft, names, picked=bool(cues.superlatives))
    if thing is None:
        links = tuple(replace(link, path="") if _direct(link, draft, names) else link for link in draft.links)
        yield replace(draft, links=links)
        return
    for rank, predicate in enumerate(_locating(draft.nodes[thing].types, schema)):
        yield _with_place(draft, thing, predicate, rank, schema)


def _one_thing(draft: Draft, names: NameIndex, *, picked: bool) -> int | None:
    """The node of the only thing there is, if it is known by its name or by a code; None if more is said.

    ``picked``: it need not be known, since the question asks for the highest or the like.
    """
    things = [index for index, node in enumerate(draft.nodes) if not node.literal]
    said = len(draft.links) == len(draft.nodes) - 1 <= 1
    one = said and len(things) == 1
    return things[0] if one and (_known(draft, things[0], names) or picked) else None


def _known(draft: Draft, index: int, names: NameIndex) -> bool:
    """Whether a node is a particular thing: named, or known by a code."""
    coded = (
        link.subject == index and draft.nodes[link.object].literal and draft.nodes[link.object].terms
        for link in draft.links
        if names.naming(link.predicate)
    )
    return bool(draft.nodes[index].terms) or any(coded)


def _direct(link: Link, draft: Draft, names: NameIndex) -> bool:
    """Whether the link leads from what is known to its place."""
    asked = not draft.nodes[link.object].terms and _sense(link.predicate, names.schema) < _NONE
    return asked and _known(draft, link.subject, names)


def _with_place(draft: Draft, index: int, predicate: NamedNode, rank: int, schema: SchemaView) -> Draft:
    thing = draft.nodes[index] if draft.nodes[index].terms else replace(draft.nodes[index], open=True)
    far = Node(thing.place, frozenset(), literal=True)
    if schema.properties[predicate].is_object:
        far = Node(thing.place, frozenset(schema.ranges(predicate)), open=True)
    link = Link(index, predicate, len(draft.nodes), place=thing.place)
    nodes = (*draft.nodes[:index], thing, *draft.nodes[index + 1 :], far)
    return replace(draft, nodes=nodes, links=(*draft.links, link), cost=draft.cost + _LATER * rank)


def _locating(types: frozenset[NamedNode], schema: SchemaView) -> list[NamedNode]:
    """The properties that say where something is, first those that things of these classes have."""
    counts: dict[NamedNode, int] = {}
    for iri in types:
        for edge in schema.outgoing.get(iri, ()):
            counts[edge.predicate] = counts.get(edge.predicate, 0) + edge.count
    found = [iri for iri in schema.properties if _sense(iri, schema) < _NONE]
    return sorted(found, key=lambda iri: (iri not in counts, _sense(iri, schema), -counts.get(iri, 0), iri.value))


def _sense(predicate: NamedNode, schema: SchemaView) -> int:
    """Which of the senses of place a property has in its words, the surest first; ``_NONE`` if none."""
    term = schema.properties.get(predicate)
    if term is None:
        return _NONE
    found = {key for word in term.words for key, _ in keys(word.text)}
    inside = term.is_object and any(_INSIDE.fullmatch(word.text.strip()) for word in term.words)
    return next((place for place, sense in enumerate(_SENSES) if sense in found), _NONE - inside)
