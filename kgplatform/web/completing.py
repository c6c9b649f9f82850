"""What the editor completes from: classes and properties with their numbers, and which of the properties a class has.

Classes and properties are counted. Which properties things of a class have, and what values those take, is told by
some hundreds of them, so that the first completion does not wait for a pass over a large graph: of a class or
property with more, the numbers are shares of the whole.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Final

from pyoxigraph import Literal, NamedNode

from kgplatform.describing import Labels
from kgplatform.ontology import Ontology, Word, label_of
from kgplatform.store import DEFAULT_GRAPH
from kgplatform.vocab import TYPE, local_name, words_of_iri
from kgplatform.web.needs import Graph
from kgplatform.web.overview import Overview
from kgplatform.web.profiles import ClassProfile, class_profile
from kgplatform.web.results import prefixed

_MOST_TERMS: Final = 2000
_MOST_PROPERTIES: Final = 120
_MOST_THINGS: Final = 6_000
_LOOKED_AT: Final = (50, 500)
_VALUES_LOOKED_AT: Final = 100
_MOST_SAMPLES: Final = 3
_COMMENT: Final = 240


def schema(kg: Graph, overview: Overview) -> dict[str, object]:
    """The record that the editor reads: prefixes, classes and properties, the most used first."""
    ontology, prefixes = kg.ontology, dict(kg.store.prefixes)
    ordered = sorted(prefixes.items(), key=lambda pair: -len(pair[1]))
    counts = _classes(ontology, overview)
    classes = sorted(counts, key=lambda iri: (-counts[iri], iri.value))[:_MOST_TERMS]
    used = overview.properties
    properties = sorted(used, key=lambda iri: (-used[iri], iri.value))[:_MOST_TERMS]
    at = {iri: number for number, iri in enumerate(properties)}
    low, high = _LOOKED_AT
    most = max(low, min(high, _MOST_THINGS // max(1, len(classes))))
    return {
        "prefixes": prefixes,
        "classes": [
            {
                "iri": iri.value,
                "name": prefixed(iri.value, ordered),
                **_said(iri, ontology),
                "count": counts[iri],
                "properties": _properties_of(class_profile(kg.store, ontology, iri, most=most), at),
            }
            for iri in classes
        ],
        "properties": [
            {
                "iri": iri.value,
                "name": prefixed(iri.value, ordered),
                **_said(iri, ontology),
                "count": used[iri],
                "unit": (ontology.properties[iri].unit or "") if iri in ontology.properties else "",
                **_values(kg, iri),
            }
            for iri in properties
        ],
    }


def _classes(ontology: Ontology, overview: Overview) -> dict[NamedNode, int]:
    """The classes that have things, and those above them, each with the number of its things."""
    above = {one for iri in overview.classes for one in ontology.superclasses(iri) if one in ontology.classes}
    wanted = {*overview.classes, *(one for one in above if not ontology.classes[one].internal)}
    return {iri: sum(overview.classes.get(sub, 0) for sub in ontology.subclasses(iri)) for iri in wanted}


def _said(iri: NamedNode, ontology: Ontology) -> dict[str, str]:
    """The labels in both languages, and the description in English or whatever there is."""
    term = ontology.classes.get(iri) or ontology.properties.get(iri)
    words = tuple(term.words) if term and term.words else (Word(words_of_iri(iri.value), ""),)
    comments = term.comments if term else ()
    return {
        "en": label_of([word for word in words if not word.language.startswith("zh")], "en", ""),
        "zh": _chinese(words),
        "comment": label_of(comments, "en", "")[:_COMMENT],
        "about": _chinese(comments)[:_COMMENT],
    }


def _chinese(words: Iterable[Word]) -> str:
    return next((word.text for word in words if word.language.startswith("zh")), "")


def _properties_of(profile: ClassProfile, at: Mapping[NamedNode, int]) -> list[list[int]]:
    """The properties that things of the class have, by number, with how many statements of theirs use each."""
    if not profile.looked:
        return []
    times = profile.things.total / profile.looked
    counts = {at[iri]: max(1, round(use.values * times)) for iri, use in profile.uses.items() if iri in at}
    ordered = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    return [[number, count] for number, count in ordered[:_MOST_PROPERTIES]]


def _values(kg: Graph, predicate: NamedNode) -> dict[str, object]:
    """Whether the values are things, of which kinds they mostly are, and some of them."""
    kinds: Counter[str] = Counter()
    things = 0
    values = [q.object for q in islice(kg.store.quads(None, predicate, None, DEFAULT_GRAPH), _VALUES_LOOKED_AT)]
    labels = Labels(kg.dataset, kg.ontology, "en")
    for value in values:
        if isinstance(value, Literal):
            kinds[local_name(value.datatype.value)] += 1
        elif isinstance(value, NamedNode):
            things += 1
            kinds.update(local_name(one.value) for one in kg.store.objects(value, TYPE) if isinstance(one, NamedNode))
    common = [value for value, _ in Counter(values).most_common(_MOST_SAMPLES)]
    return {
        "thing": 2 * things > len(values),
        "values": [name for name, _ in kinds.most_common(3)],
        "samples": [labels.reference(value).label[:60] for value in common],
    }
