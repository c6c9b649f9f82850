"""From a name that a person types to the IRI that is meant."""

from __future__ import annotations

import difflib
from itertools import islice

from pyoxigraph import Literal, NamedNode, Triple

from kgplatform.errors import NotFoundError
from kgplatform.ontology import Ontology
from kgplatform.store import DEFAULT_GRAPH, Store
from kgplatform.text import normalise
from kgplatform.vocab import ALT_LABEL, LABEL, SKOS, TYPE

_MOST_COMPARED = 20_000
_PREF_LABEL = NamedNode(f"{SKOS}prefLabel")


def find_iri(store: Store, name: str) -> NamedNode:
    """The IRI itself, a prefixed name in full, or the one thing that is called so.

    Raises:
        NotFoundError: nothing, or several things are called so; the message lists the nearest.
    """
    iri = _as_iri(store, name)
    if iri is not None:
        if next(iter(store.quads(iri)), None) is None and next(iter(store.quads(None, None, iri)), None) is None:
            raise NotFoundError(f"the graph says nothing about {iri.value}", name=name)
        return iri
    for predicates in ((LABEL, _PREF_LABEL), (ALT_LABEL,)):
        found = _called(store, name, predicates)
        if len(found) == 1:
            return found[0]
        if found:
            listed = ", ".join(item.value for item in found[:5])
            raise NotFoundError(f"{len(found)} things are called {name!r}: {listed}; give the IRI", name=name)
    near = _nearest(store, name)
    hint = f"did you mean {' or '.join(repr(item) for item in near)}?" if near else f"try `kgplatform search {name!r}`"
    raise NotFoundError(f"nothing is called {name!r}; {hint}", name=name)


def find_statement(store: Store, ontology: Ontology, subject: str, predicate: str, object_: str) -> Triple:
    """The statement that is meant: each part an IRI, a prefixed name or a name; the object may also be a plain value.

    Raises:
        NotFoundError: a part stands for nothing, or for several things.
    """
    thing, property_ = find_iri(store, subject), _find_property(ontology, store, predicate)
    wanted = normalise(object_)
    values = [term for term in store.objects(thing, property_) if isinstance(term, Literal)]
    for same in (lambda value: value == object_, lambda value: wanted and normalise(value) == wanted):
        for term in sorted(values, key=str):
            if same(term.value):
                return Triple(thing, property_, term)
    return Triple(thing, property_, find_iri(store, object_))


def _find_property(ontology: Ontology, store: Store, name: str) -> NamedNode:
    iri = TYPE if name == "a" else _as_iri(store, name)
    if iri is not None:
        return iri
    wanted = normalise(name)
    labels = [(normalise(word.text), term.iri) for term in ontology.properties.values() for word in term.words]
    found = sorted({iri for text, iri in labels if text == wanted}, key=lambda iri: iri.value)
    if len(found) == 1:
        return found[0]
    if found:
        listed = ", ".join(item.value for item in found[:5])
        raise NotFoundError(f"{len(found)} properties are called {name!r}: {listed}; give the IRI", name=name)
    near = difflib.get_close_matches(wanted, sorted({text for text, _ in labels}), n=1)
    hint = f"did you mean {near[0]!r}?" if near else "give its IRI, or a name with prefix such as geo:locatedIn"
    raise NotFoundError(f"no property is called {name!r}; {hint}", name=name)


def _nearest(store: Store, name: str) -> list[str]:
    labels = (item.object for item in islice(store.quads(None, LABEL, None, DEFAULT_GRAPH), _MOST_COMPARED))
    known = {normalise(label.value): label.value for label in labels if isinstance(label, Literal)}
    return [known[form] for form in difflib.get_close_matches(normalise(name), sorted(known), n=3, cutoff=0.75)]


def _as_iri(store: Store, name: str) -> NamedNode | None:
    text = name.strip()
    bracketed = text.startswith("<") and text.endswith(">")
    text = text.removeprefix("<").removesuffix(">")
    prefix, colon, local = text.partition(":")
    try:
        if bracketed or (colon and (local.startswith("//") or prefix == "urn")):
            return NamedNode(text)
        if colon and prefix in store.prefixes and local:
            return NamedNode(store.prefixes[prefix] + local)
    except ValueError as error:
        raise NotFoundError(f"{name!r} is not an IRI: {error}", name=name) from error
    return None


def _called(store: Store, name: str, predicates: tuple[NamedNode, ...]) -> list[NamedNode]:
    wanted = normalise(name)
    if not wanted:
        return []
    found = {
        item.subject
        for predicate in predicates
        for item in store.quads(None, predicate, None, DEFAULT_GRAPH)
        if isinstance(item.object, Literal) and normalise(item.object.value) == wanted
    }
    return sorted((iri for iri in found if isinstance(iri, NamedNode)), key=lambda iri: iri.value)
