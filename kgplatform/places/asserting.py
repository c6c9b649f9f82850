"""The statements about places that documents mean, and about those they lie in: one evidence graph for each source."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias

from pyoxigraph import NamedNode, Triple

from kgplatform.ontology import Word
from kgplatform.places.naming import key, short_form, shorts, spelt
from kgplatform.places.place import Place
from kgplatform.places.reference import PlaceReference
from kgplatform.store import literal
from kgplatform.text import has_han, normalise
from kgplatform.vocab import ALT_LABEL, LABEL, TYPE, graph_iri

Named: TypeAlias = Callable[[str], NamedNode]
"""The IRI that a place has in the graph, by its id."""

_PINYIN = "zh-Latn"


def places_graph(base: str, source: str) -> NamedNode:
    """The evidence graph of a source: ``graph/places/<source>``."""
    return graph_iri(base, f"places/{source}")


def with_above(ids: Iterable[str], reference: PlaceReference) -> list[str]:
    """The places and all that they lie in, each once."""
    return sorted({place for id_ in ids for place in (id_, *reference.above(id_))})


def place_labels(id_: str, reference: PlaceReference) -> tuple[Word, ...]:
    """What a place is called, once for each language."""
    found: dict[str, Word] = {}
    for place in reference.versions(id_):
        for word in place.labels:
            found.setdefault(word.language, word)
    return tuple(found.values())


def place_triples(ids: Iterable[str], reference: PlaceReference, named: Named) -> dict[str, list[Triple]]:
    """The statements about the places, by source."""
    found: dict[str, list[Triple]] = {}
    for id_ in ids:
        labels = place_labels(id_, reference)
        for place in reference.versions(id_):
            found.setdefault(place.source, []).extend(_described(place, labels, reference, named))
    return {source: list(dict.fromkeys(triples)) for source, triples in found.items()}


def _described(place: Place, labels: tuple[Word, ...], reference: PlaceReference, named: Named) -> Iterator[Triple]:
    iri = named(place.id)
    yield Triple(iri, TYPE, place.type)
    for word in place.labels:
        if word in labels:
            yield Triple(iri, LABEL, literal(word.text, language=word.language or None))
    for word in dict.fromkeys(_also_called(place, labels, reference)):
        yield Triple(iri, ALT_LABEL, literal(word.text, language=word.language or None))
    for predicate, value in place.codes:
        yield Triple(iri, predicate, literal(value))
    if place.above is not None and place.within is not None and place.above in reference:
        yield Triple(iri, place.within, named(place.above))


def _also_called(place: Place, labels: tuple[Word, ...], reference: PlaceReference) -> Iterator[Word]:
    called = {normalise(word.text) for word in labels}
    listed = [*(word for word in place.labels if word not in labels), *place.aliases]
    listed += [Word(short, "zh") for short in shorts(place)]
    if pinyin := spelt(place):
        listed.append(Word(pinyin, _PINYIN))
    if place.above in reference:
        listed += [Word(text, "zh") for text in _qualified(place, reference)]
    yield from (word for word in listed if normalise(word.text) not in called)


def _qualified(place: Place, reference: PlaceReference) -> Iterator[str]:
    """The Chinese name after that of what the place lies in, for a place that has namesakes: 杭州市西湖区."""
    own = next((word.text for word in place.labels if has_han(word.text)), None)
    if own is None or place.above is None or len(reference.called(key(own))) < 2:
        return
    holder = next((word.text for word in place_labels(place.above, reference) if has_han(word.text)), None)
    if holder is not None and holder != own:
        yield f"{holder}{own}"
        if short := short_form(holder):
            yield f"{short}{own}"
