"""Linking by what changed decides as linking everything does, whatever came, changed or went."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from pathlib import Path

import pyoxigraph as ox
from hypothesis import given, settings
from hypothesis import strategies as st
from pyoxigraph import NamedNode

from kgplatform.documents.registry import Linking, NameKey
from kgplatform.graph import KnowledgeGraph
from kgplatform.linking.candidates import Likeness
from kgplatform.linking.entities import link_entities
from kgplatform.linking.incremental import IncrementalLinking
from kgplatform.ontology import Ontology, read_ontology
from kgplatform.store import DEFAULT_GRAPH
from kgplatform.testing import HashEmbedder
from kgplatform.types import Claim, Extraction, Mention
from kgplatform.vocab import ACADEMIC, CORE, GEO, TRAVEL

BASE = "https://example.org/kg/"
LOCATED_IN = NamedNode(f"{GEO}locatedIn")
TYPES = [
    NamedNode(f"{prefix}{name}")
    for prefix, name in (
        *((TRAVEL, name) for name in ("WaterTown", "Attraction", "Theatre", "Hotel", "Lake", "Pagoda", "Audience")),
        *((GEO, name) for name in ("City", "District", "Town")),
        *((ACADEMIC, name) for name in ("Course", "Paper")),
        (CORE, "Person"),
    )
]
PIECES_EN = ["Wuzhen", "Xizha", "West", "East", "Lake", "Scenic Area", "Theatre", "Grand", "Leifeng", "Pagoda", "City"]
PIECES_ZH = ["乌镇", "西栅", "东栅", "景区", "剧院", "大", "雷峰", "塔", "西湖", "区", "市"]
NAMES = [
    *("Wuzhen", "乌镇", "Wuzhen Theatre", "乌镇剧院", "Xizha", "西栅", "西栅景区", "乌镇西栅景区", "Dongzha", "东栅"),
    *("West Lake", "西湖", "Xihu", "西湖区", "Lake West", "Leifeng Pagoda", "雷峰塔", "Leifeng Pagodas", "families"),
    *("SF1625", "SF1625 Calculus in One Variable", "Calculus in One Variable", "SF1624 Algebra", "Algebra"),
    *("Moganshan Mountain", "Mogashan Mountain", "Moganshan", "Mao Dun's Former Residence", "东栅（乌镇）"),
    *("Former Residence of Mao Dun", "Xizha, Wuzhen", "Graph Retrieval: A Survey of Methods and Data"),
    *(
        "A Survey of Methods and Data",
        "Hangzhou",
        "杭州",
        "Hangzhou City",
        "杭州市",
        "East Station",
        "Hangzhou East Station",
    ),
]


@cache
def ontology() -> Ontology:
    folder = Path(__file__).parent.parent / "ontology"
    files = [folder / f"{name}.ttl" for name in ("core", "geo", "travel", "academic")]
    return read_ontology(quad.triple for file in files for quad in ox.parse(path=str(file), rename_blank_nodes=True))


made_up = st.builds(
    lambda latin, parts: (" " if latin else "").join((PIECES_EN if latin else PIECES_ZH)[p] for p in parts),
    st.booleans(),
    st.lists(st.integers(0, 10), min_size=1, max_size=3),
)
names = st.one_of(st.sampled_from(NAMES), made_up)
mentions = st.builds(
    lambda name, type_, aliases: Mention(name, 0, len(name), type_, name, tuple(aliases)),
    names,
    st.sampled_from(TYPES),
    st.lists(names, max_size=1),
)
claims = st.builds(lambda a, b: Claim(a, LOCATED_IN, b, 0, 1), mentions, mentions)
extractions = st.builds(
    lambda found, said: Extraction(NamedNode(f"{BASE}document/d/chunk/0"), tuple(found), tuple(said)),
    st.lists(mentions, max_size=5),
    st.lists(claims, max_size=2),
)
known_names = st.dictionaries(
    st.tuples(st.sampled_from(TYPES), st.sampled_from([name.casefold() for name in NAMES])),
    st.sampled_from([NamedNode(f"{BASE}entity/k{number}") for number in range(3)]),
    max_size=2,
)
steps = st.lists(
    st.tuples(st.dictionaries(st.sampled_from("abcdef"), st.lists(extractions, max_size=2), max_size=2), known_names),
    min_size=1,
    max_size=7,
)


def from_scratch(documents: dict[str, list[Extraction]], known: dict[NameKey, NamedNode]) -> Linking:
    every = [extraction for found in documents.values() for extraction in found]
    return link_entities(every, ontology=ontology(), base=BASE, known=known)


@settings(max_examples=60, deadline=None)
@given(steps)
def test_what_is_linked_by_changes_is_what_is_linked_from_scratch(
    given_steps: list[tuple[dict[str, list[Extraction]], dict[NameKey, NamedNode]]],
) -> None:
    by_change = IncrementalLinking(ontology(), BASE, Likeness())
    linking, documents = Linking(), dict[str, list[Extraction]]()
    for changed, known in given_steps:
        linking = by_change.relink(changed, known).onto(linking)
        documents.update(changed)
        assert linking == from_scratch(documents, known)


def taken_up(names: IncrementalLinking, documents: Iterable[str]) -> IncrementalLinking:
    """The same as another process takes it up from what was packed."""
    made = IncrementalLinking(ontology(), BASE, Likeness())
    packed = {key: json.loads(json.dumps(names.packed(key))) for key in names.touched}
    said = {document: names.packed_document(document) for document in documents}
    listed = [(document, *json.loads(json.dumps(found))) for document, found in said.items() if found is not None]
    made.restore({key: name for key, name in packed.items() if name is not None}, listed)
    return made


@settings(max_examples=40, deadline=None)
@given(steps)
def test_what_another_process_takes_up_goes_on_as_if_it_had_been_there(
    given_steps: list[tuple[dict[str, list[Extraction]], dict[NameKey, NamedNode]]],
) -> None:
    by_change = IncrementalLinking(ontology(), BASE, Likeness())
    linking, documents = Linking(), dict[str, list[Extraction]]()
    for changed, known in given_steps:
        linking = by_change.relink(changed, known).onto(linking)
        documents.update(changed)
        assert linking == from_scratch(documents, known)
        by_change, touched = taken_up(by_change, documents), by_change.touched
        by_change._moved |= touched  # nothing is saved here, so all that ever changed is packed again


NOTES = {
    "wuzhen.txt": "Wuzhen (乌镇) is a water town in Tongxiang, Jiaxing. The Wuzhen Theatre is in Wuzhen.\n",
    "xizha.txt": "乌镇西栅景区位于乌镇，门票150元。西栅景区早上九点开放。\n",
    "lake.txt": "West Lake (西湖) is a lake in Hangzhou. Leifeng Pagoda is an attraction near West Lake in Hangzhou.\n",
    "pagoda.txt": "雷峰塔位于杭州西湖区，门票40元。\n",
    "suzhou.txt": "The Humble Garden is a garden in Suzhou. Suzhou is in Jiangsu.\n",
    "wrong.txt": "Suzhou is a city in Zhejiang. Hangzhou is a city in Jiangsu.\n",
    "theatre.txt": "乌镇剧院（Wuzhen Theatre）位于乌镇。戏剧节十月开幕。\n",
}


def written(folder: Path, name: str, text: str) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(text, encoding="utf-8")
    return folder / name


def opened(folder: Path) -> KnowledgeGraph:
    kg = KnowledgeGraph.create(folder, ontology=["travel"])
    kg.__dict__["embedder"] = HashEmbedder()
    return kg


def knowledge(kg: KnowledgeGraph) -> set[str]:
    """What the graph holds, but for when and whence it was read."""
    return {str(item.triple) for item in kg.store.quads(graph=DEFAULT_GRAPH)}


def test_a_workspace_kept_up_by_single_changes_is_the_one_built_at_once(tmp_path: Path) -> None:
    notes, texts = tmp_path / "notes", dict(NOTES)
    with opened(tmp_path / "kept") as kg:
        for name, text in NOTES.items():
            list(kg.add(written(notes, name, text)))
            assert kg.registry.linking() == replace(kg._linking_parts(), memory=None).linked()
        kg.remove("wuzhen.txt")
        texts.pop("wuzhen.txt")
        (notes / "wuzhen.txt").unlink()
        texts["lake.txt"] = "West Lake is a lake in Hangzhou, Zhejiang. The Su Causeway is in West Lake.\n"
        list(kg.add(written(notes, "lake.txt", texts["lake.txt"])))
        kg.unlink("西栅景区", "乌镇西栅景区")
        kg.unlink("西栅景区", "乌镇西栅景区", undo=True)
        assert kg.registry.linking() == replace(kg._linking_parts(), memory=None).linked()
        assert kg.dataset.violations() == (frozenset(), frozenset())
        kept, linking, passages = knowledge(kg), kg.registry.linking(), len(kg.chunks)
        assert kg.registry._read_linking() == linking  # what is remembered is what is written
    with opened(tmp_path / "built") as kg:
        list(kg.add(*sorted(notes.iterdir())))
        assert kg.registry.linking() == linking
        assert len(kg.chunks) == passages == len(texts)
        assert knowledge(kg) == kept


def test_only_names_that_a_change_can_reach_are_linked_anew() -> None:
    by_change = IncrementalLinking(ontology(), BASE, Likeness())
    attraction = NamedNode(f"{TRAVEL}Attraction")
    for number in range(60):
        name = f"Place{number:02} Garden"
        read = Extraction(NamedNode(f"{BASE}document/{number}/chunk/0"), (Mention(name, 0, 5, attraction, name),))
        found = by_change.relink({str(number): [read]})
        assert (attraction, name.casefold()) in found.keys
    other = Mention("Leifeng Pagoda", 0, 5, attraction, "Leifeng Pagoda")
    found = by_change.relink({"other": [Extraction(NamedNode(f"{BASE}document/other/chunk/0"), (other,))]})
    assert [key[1] for key in found.keys] == ["leifeng pagoda"]
    assert by_change.relink({"other": []}).keys == found.keys
