"""From a name that a person types to the IRI that is meant."""

from __future__ import annotations

from pyoxigraph import Literal, NamedNode

from kgplatform.errors import NotFoundError
from kgplatform.store import DEFAULT_GRAPH, Store
from kgplatform.text import normalise
from kgplatform.vocab import ALT_LABEL, LABEL, SKOS

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
    raise NotFoundError(f"nothing is called {name!r}; try `kgplatform search {name!r}`", name=name)


def _as_iri(store: Store, name: str) -> NamedNode | None:
    text = name.strip().removeprefix("<").removesuffix(">")
    prefix, colon, local = text.partition(":")
    try:
        if colon and local.startswith("//"):
            return NamedNode(text)
        if colon and prefix in store.prefixes and local:
            return NamedNode(store.prefixes[prefix] + local)
    except ValueError as error:
        raise NotFoundError(f"{name!r} is not an IRI: {error}", name=name) from error
    return None


def _called(store: Store, name: str, predicates: tuple[NamedNode, ...]) -> list[NamedNode]:
    wanted = normalise(name)
    found = {
        item.subject
        for predicate in predicates
        for item in store.quads(None, predicate, None, DEFAULT_GRAPH)
        if isinstance(item.object, Literal) and normalise(item.object.value) == wanted
    }
    return sorted((iri for iri in found if isinstance(iri, NamedNode)), key=lambda iri: iri.value)
