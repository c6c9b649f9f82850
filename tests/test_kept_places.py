"""Places kept in line by what changed are those that all documents together mean."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pyoxigraph as ox
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyoxigraph import NamedNode

from kgplatform.ontology import read_ontology
from kgplatform.places.candidates import PlaceFinder
from kgplatform.places.described import read_world
from kgplatform.places.keeping import KeptResolution
from kgplatform.places.mentioned import read_mentions
from kgplatform.places.reference import PlaceReference
from kgplatform.places.resolving import resolve
from kgplatform.types import Claim, Extraction, Mention
from kgplatform.vocab import CORE, GEO, TRAVEL

LOCATED_IN = NamedNode(f"{GEO}locatedIn")
TYPES = [NamedNode(f"{GEO}{name}") for name in ("Country", "Province", "City", "District")]
TYPES += [NamedNode(f"{TRAVEL}Attraction"), NamedNode(f"{CORE}Person")]
NAMES = ["Suzhou", "苏州", "Georgia", "Jiangsu", "江苏", "Anhui", "China", "中国", "Paris", "France", "Jilin", "Xi'an"]


@pytest.fixture(scope="module")
def finder() -> Iterator[PlaceFinder]:
    files = [Path(__file__).parent.parent / "ontology" / f"{name}.ttl" for name in ("core", "geo", "travel")]
    ontology = read_ontology(q.triple for file in files for q in ox.parse(path=str(file), rename_blank_nodes=True))
    reference = PlaceReference(None)
    read_world(reference, ontology)
    yield PlaceFinder(reference, ontology)
    reference.close()


def within(predicate: NamedNode) -> bool | None:
    return True if predicate == LOCATED_IN else None


mentions = st.builds(
    lambda name, type_, start: Mention(name, start, start + len(name), type_, name, ()),
    st.sampled_from(NAMES),
    st.sampled_from(TYPES),
    st.integers(0, 30),
)
claims = st.builds(lambda a, b: Claim(a, LOCATED_IN, b, 0, 1), mentions, mentions)
documents = st.dictionaries(
    st.sampled_from(["a", "b", "c", "d"]),
    st.tuples(st.lists(mentions, max_size=4), st.lists(claims, max_size=2), st.booleans()),
    max_size=3,
)


@settings(max_examples=150, deadline=None)
@given(st.lists(documents, min_size=1, max_size=6), st.booleans())
def test_places_by_changes_are_the_places_of_everything(
    finder: PlaceFinder, steps: list[dict[str, tuple[list[Mention], list[Claim], bool]]], is_new: bool
) -> None:
    kept, held = KeptResolution(), dict[str, list[Extraction]]()
    for step in steps:
        changed = {
            name: [Extraction(NamedNode(f"https://example.org/document/{name}/chunk/0"), tuple(found), tuple(said))]
            if stays
            else []
            for name, (found, said, stays) in step.items()
        }
        kept.put(changed, finder, within)
        held.update(changed)
        every = [extraction for found in held.values() for extraction in found]
        mentioned = read_mentions(every, may_be_place=finder.may_be_place, within=within)
        whole = resolve(mentioned, finder)
        again = KeptResolution()
        packed = {name: json.loads(json.dumps(kept.packed(name))) for name in kept.documents}
        again.restore(packed)
        kept = again if is_new else kept
        now = again.resolution
        assert (dict(now.names), dict(now.scoped), dict(now.unclear)) == (whole.names, whole.scoped, whole.unclear)
