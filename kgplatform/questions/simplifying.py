"""“Which X …?” asks for things of the class X, also where a property is called X: what has an X is left out."""

from __future__ import annotations

from dataclasses import replace

from pyoxigraph import NamedNode

from kgplatform.questions.draft import Draft
from kgplatform.questions.graphs import Link
from kgplatform.questions.mentions import Reading
from kgplatform.questions.schema import SchemaView
from kgplatform.text import normalise

_KNOWN = 0.8


def simplified(draft: Draft, reading: Reading, schema: SchemaView) -> Draft:
    """The draft without things of which nothing is said but that they have what is asked for.

    Where what is asked for is a known thing in the draft, it costs more: nobody asks for what they name.
    """
    for number, link in enumerate(draft.links):
        named = _class_asked(draft, link, reading, schema)
        if named is None:
            continue
        value = draft.nodes[link.object]
        if value.terms:
            return replace(draft, cost=draft.cost + _KNOWN)
        if value.open and value.place == link.place and _degree(draft, link.object) > 1:
            return _without_subject(draft, number, named)
    return draft


def _class_asked(draft: Draft, link: Link, reading: Reading, schema: SchemaView) -> NamedNode | None:
    """The class of the link's value, if the question asks for it by name and says nothing else of the subject."""
    subject, types = draft.nodes[link.subject], draft.nodes[link.object].types
    bare = subject.open and subject.named is None and 0 <= link.place == subject.place
    if not bare or _degree(draft, link.subject) != 1 or len(types) != 1:
        return None
    mention = reading.mentions[link.place]
    if mention.first not in reading.cues.asked:
        return None
    said = normalise(reading.text[reading.tokens[mention.first].start : reading.tokens[mention.last - 1].end])
    (iri,) = types
    term = schema.classes.get(iri)
    words = [normalise(word.text) for word in term.words] if term else []
    return iri if any(word and word in said for word in words) else None


def _degree(draft: Draft, node: int) -> int:
    return sum(node in (link.subject, link.object) for link in draft.links)


def _without_subject(draft: Draft, number: int, named: NamedNode) -> Draft:
    """The draft without a link and the thing it starts from; its value is asked for as one of a class."""
    gone, kept = draft.links[number], list(draft.nodes)
    kept[gone.object] = replace(kept[gone.object], types=frozenset((named,)), named=named, open=False)
    del kept[gone.subject]
    links = tuple(_moved(link, gone.subject) for link in draft.links if link is not gone)
    return replace(draft, nodes=tuple(kept), links=links)


def _moved(link: Link, gone: int) -> Link:
    """The link with its ends counted without a node that is gone."""
    return replace(link, subject=link.subject - (link.subject > gone), object=link.object - (link.object > gone))
