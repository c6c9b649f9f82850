"""Entity linking: which names become one entity, which never do, and that the order of reading plays no part."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import combinations
from pathlib import Path

import numpy as np
import pyoxigraph as ox
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from pyoxigraph import Literal, NamedNode

from kgplatform.documents.registry import Linking, NameKey
from kgplatform.linking.candidates import Likeness
from kgplatform.linking.entities import link_entities, link_triples
from kgplatform.linking.projection import Projection
from kgplatform.ontology import Ontology, Word, read_ontology
from kgplatform.testing import HashEmbedder
from kgplatform.text import normalise
from kgplatform.types import Claim, Extraction, Mention
from kgplatform.vocab import ACADEMIC, AIRPORT, CORE, GEO, TRAVEL, TYPE, entity_iri

BASE = "https://example.org/kg/"
PREFIXES = {"core": CORE, "geo": GEO, "travel": TRAVEL, "academic": ACADEMIC, "airport": AIRPORT}
LOCATED_IN = NamedNode(f"{GEO}locatedIn")


@cache
def ontology(*names: str) -> Ontology:
    folder = Path(__file__).parent.parent / "ontology"
    files = [folder / f"{name}.ttl" for name in names or ("core", "geo", "travel", "academic", "airport")]
    return read_ontology(quad.triple for file in files for quad in ox.parse(path=str(file), rename_blank_nodes=True))


def class_(name: str) -> NamedNode:
    prefix, local = name.split(":")
    return NamedNode(f"{PREFIXES[prefix]}{local}")


def mention(type_: str, name: str, *aliases: str) -> Mention:
    return Mention(name, 0, len(name), class_(type_), name, aliases)


def reading(*mentions: Mention, claims: tuple[Claim, ...] = (), number: int = 0) -> Extraction:
    return Extraction(NamedNode(f"{BASE}document/d/chunk/{number}"), mentions, claims)


def within(inner: Mention, outer: Mention) -> Claim:
    return Claim(inner, LOCATED_IN, outer, 0, 10)


def link(
    *mentions: Mention,
    claims: tuple[Claim, ...] = (),
    known: Mapping[NameKey, NamedNode] | None = None,
    similarity: float = 0.92,
) -> Linking:
    return link_entities(
        [reading(*mentions, claims=claims)], ontology=ontology(), base=BASE, known=known, likeness=Likeness(similarity)
    )


def entity(linking: Linking, of: Mention) -> NamedNode:
    return linking.names[(of.type, normalise(of.name))].entity


def same(first: Mention, second: Mention, *others: Mention, claims: tuple[Claim, ...] = ()) -> bool:
    linking = link(first, second, *others, claims=claims)
    return entity(linking, first) == entity(linking, second)


WUZHEN = mention("travel:WaterTown", "Wuzhen")
WUZHEN_ZH = mention("travel:WaterTown", "乌镇")


# what is one


@pytest.mark.parametrize(
    ("first", "second", "method"),
    [
        (("travel:ScenicArea", "Xizha"), ("travel:Attraction", "XIZHA"), "exact"),
        (("travel:WaterTown", "Wuzhen"), ("geo:Township", "Wuzhen"), "exact"),
        (("travel:ScenicArea", "西栅"), ("travel:ScenicArea", "西栅景区"), "containment"),
        (("travel:Attraction", "西栅"), ("travel:ScenicArea", "西栅景区"), "containment"),
        (("travel:LakeAttraction", "West Lake"), ("travel:ScenicArea", "West Lake Scenic Area"), "containment"),
        (("geo:City", "Hangzhou"), ("geo:City", "City of Hangzhou"), "containment"),
        (("geo:City", "杭州"), ("geo:City", "杭州市"), "containment"),
        (("travel:Temple", "Lingyin Temple"), ("travel:Temple", "lingyin temples"), "similarity"),
        (("travel:Attraction", "Mao Dun's Residence"), ("travel:HistoricHouse", "Residence of Mao Dun"), "similarity"),
        (("travel:Hotel", "Wuzhen Water Side Resort"), ("travel:Hotel", "Wuzhen Waterside Resort"), "similarity"),
        (("travel:Park", "Moganshan Bamboo Forest Park"), ("travel:Park", "Mogashan Bamboo Forest Park"), "similarity"),
        (("academic:Course", "SF1625"), ("academic:Course", "SF1625 Calculus in One Variable"), "code"),
        (("academic:Course", "SF1625 Envariabelanalys"), ("academic:Course", "SF1625 一元微积分"), "code"),
        (("academic:Course", "SF1625 Calculus"), ("academic:Course", "Calculus"), "code"),
        (("academic:Paper", "Conformer: Convolution-augmented Transformer for Speech Recognition"),
         ("academic:Paper", "Convolution augmented Transformer for speech recognition"), "containment"),
    ],
)  # fmt: skip
def test_names_of_one_thing_are_linked(first: tuple[str, str], second: tuple[str, str], method: str) -> None:
    a, b = mention(*first), mention(*second)
    linking = link(a, b)
    assert entity(linking, a) == entity(linking, b)
    assert method in {found.method for found in linking.names.values()}
    assert all(0.9 <= found.score <= 1 for found in linking.names.values())


def test_the_class_that_one_name_gives_away_helps_with_the_wording_of_another() -> None:
    xizha, longer = mention("travel:Attraction", "Xizha", "西栅"), mention("travel:ScenicArea", "Xizha Scenic Area")
    assert same(xizha, longer, mention("travel:ScenicArea", "西栅"))
    assert not same(xizha, longer)


def test_an_alias_in_the_other_script_links_both_names() -> None:
    linking = link(mention("travel:ScenicArea", "Xizha", "西栅"), mention("travel:Attraction", "西栅"))
    assert len(linking.entities) == 1
    (found,) = linking.entities.values()
    assert found.type == class_("travel:ScenicArea")
    assert found.labels == (Word("Xizha", "en"), Word("西栅", "zh"))
    assert found.iri == entity_iri(BASE, found.type, "Xizha")


def test_names_that_share_a_translation_are_one() -> None:
    assert same(mention("travel:ScenicArea", "Xizha", "西栅"), mention("travel:ScenicArea", "West Scenic Zone", "西栅"))


def test_the_reading_beside_a_chinese_name_is_an_alias_and_a_place_is_not() -> None:
    dongzha = mention("travel:Attraction", "Dongzha")
    assert same(mention("travel:ScenicArea", "East Scenic Zone", "Dongzha", "东栅"), dongzha)
    assert not same(mention("travel:Museum", "Hundred Beds Museum", "Dongzha", "百床馆"), dongzha)


def test_translated_names_tell_how_what_they_begin_with_is_called() -> None:
    watertown, chinese = mention("travel:WaterTown", "Crowtown"), WUZHEN_ZH
    theatres = [
        mention("travel:Theatre", f"Crowtown {kind}", f"乌镇{zh}")
        for kind, zh in (("Hall", "会堂"), ("Opera", "歌剧院"))
    ]
    assert same(watertown, chinese, *theatres)
    assert not same(watertown, chinese)


def test_a_name_after_the_place_it_lies_in_is_the_name() -> None:
    short, longer = mention("travel:ScenicArea", "西栅"), mention("travel:ScenicArea", "乌镇西栅景区")
    assert same(short, longer, WUZHEN_ZH, claims=(within(short, WUZHEN_ZH),))
    assert not same(short, longer, WUZHEN_ZH)
    assert not same(WUZHEN_ZH, longer, short, claims=(within(short, WUZHEN_ZH),))
    xizha, after = mention("travel:ScenicArea", "Xizha"), mention("travel:ScenicArea", "Xizha, Wuzhen")
    assert same(xizha, after, WUZHEN, claims=(within(xizha, WUZHEN),))


def test_what_lies_in_something_is_not_that() -> None:
    lake, area = (
        mention("travel:LakeAttraction", "West Lake"),
        mention("travel:LakeAttraction", "West Lake Scenic Area"),
    )
    assert same(lake, area)
    assert not same(lake, area, claims=(within(lake, area),))


def test_a_name_that_many_places_may_have_needs_more_to_be_one_of_them() -> None:
    city, station = mention("geo:City", "Hangzhou"), mention("travel:TrainStation", "East Station")
    longer, other = mention("travel:TrainStation", "Hangzhou East Station"), mention("geo:City", "Suzhou")
    second = mention("travel:TrainStation", "Suzhou East Station")
    assert not same(station, longer, city, claims=(within(longer, city),))
    assert same(station, longer, city, claims=(within(station, city),))
    assert not same(station, longer, city, second, other, claims=(within(station, city), within(second, other)))


def test_known_entities_keep_their_iris_and_labels() -> None:
    resort = NamedNode(f"{BASE}entity/resort-1")
    hotel = class_("travel:Hotel")
    named = mention("travel:Hotel", "Wuzhen Waterside Resort", "枕水度假酒店")
    longer = mention("travel:Hotel", "Wuzhen Waterside Resort Hotel")
    linking = link(named, longer, longer, known={(hotel, "wuzhen waterside resort"): resort})
    assert entity(linking, named) == entity(linking, longer) == resort
    assert linking.names[(hotel, "wuzhen waterside resort")].method == "known"
    assert linking.entities[resort].labels[0] == Word("Wuzhen Waterside Resort", "en")
    assert link_entities([], ontology=ontology(), base=BASE, known={(hotel, "x"): resort}) == Linking({}, {})


def test_values_of_the_ontology_are_linked_and_are_no_entities() -> None:
    family, spring = mention("travel:Audience", "Families"), mention("travel:Season", "春天")
    linking = link(family, spring, mention("travel:Hotel", "Families"))
    assert entity(linking, family) == class_("travel:families")
    assert entity(linking, spring) == class_("travel:spring")
    assert [found.type for found in linking.entities.values()] == [class_("travel:Hotel")]


# what is not


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (("travel:ScenicArea", "East Scenic Zone"), ("travel:ScenicArea", "West Scenic Zone")),
        (("travel:ScenicArea", "东栅景区"), ("travel:ScenicArea", "西栅景区")),
        (("geo:Lake", "West Lake"), ("geo:Lake", "East Lake")),
        (("travel:MetroStation", "Hangzhou East Railway Station"), ("travel:MetroStation", "Hangzhou Railway Station")),
        (("travel:Metro", "Metro Line 1"), ("travel:Metro", "Metro Line 4")),
        (("travel:Bus", "K350路公交"), ("travel:Bus", "K282路公交")),
        (("travel:WaterTown", "Xitang"), ("travel:WaterTown", "Xitong")),
        (("travel:WaterTown", "Wuzhen"), ("travel:Theatre", "Wuzhen Theatre")),
        (("travel:WaterTown", "Wuzhen"), ("travel:Hotel", "Wuzhen Hotel")),
        (("geo:Place", "Xizha"), ("travel:Hotel", "Xizha Hotel")),
        (("travel:WaterTown", "乌镇"), ("travel:Theatre", "乌镇大剧院")),
        (("travel:Hotel", "西湖"), ("geo:Lake", "西湖")),
        (("travel:Museum", "Museum"), ("travel:Museum", "Suzhou Museum")),
        (("travel:WaterTown", "古镇"), ("travel:WaterTown", "西塘古镇")),
        (("travel:Street", "Old Street"), ("travel:Street", "Xitang Old Street")),
        (("academic:Course", "SF1625 Calculus"), ("academic:Course", "SF1626 Calculus")),
        (("academic:Author", "Christian Andersen"), ("academic:Author", "Christian Anderson")),
        (("academic:Model", "Transformer"), ("academic:Model", "Transformer-XL")),
        (("academic:Model", "Transformer"), ("academic:Model", "Transformer Transducer")),
        (("academic:Paper", "BERT: Pre-training of Deep Transformers"), ("academic:Paper", "BERT")),
        (("airport:Airline", "BA"), ("airport:Airline", "BA CityFlyer")),
        (("core:Person", "Mao Dun"), ("travel:HistoricHouse", "Mao Dun's Former Residence")),
    ],
)
def test_names_of_different_things_are_kept_apart(first: tuple[str, str], second: tuple[str, str]) -> None:
    assert not same(mention(*first), mention(*second))


def test_a_place_in_brackets_is_no_alias() -> None:
    xizha = mention("travel:ScenicArea", "Xizha")
    workshop = mention("travel:Attraction", "Caoben Workshop", "Xizha")
    assert not same(workshop, xizha)
    assert not same(workshop, xizha, workshop, claims=(within(workshop, xizha),))


def test_a_class_word_is_no_alias() -> None:
    assert not same(mention("travel:WaterTown", "Xitang", "古镇"), mention("travel:WaterTown", "Nanxun", "古镇"))


def test_an_alias_given_rarely_gives_way_to_one_given_often() -> None:
    east, west = mention("travel:ScenicArea", "Dongzha", "西栅"), mention("travel:ScenicArea", "Xizha", "西栅")
    often = [reading(west, number=number) for number in range(5)]
    linking = link_entities([reading(east, number=9), *often], ontology=ontology(), base=BASE)
    assert entity(linking, east) != entity(linking, west)


def test_courses_of_one_title_and_two_codes_stay_two() -> None:
    first, second = mention("academic:Course", "SF1625", "Calculus"), mention("academic:Course", "SF1626", "Calculus")
    assert not same(first, second, mention("academic:Course", "Calculus"))


def test_two_known_entities_are_never_one() -> None:
    hotel = class_("travel:Hotel")
    known = {(hotel, name): NamedNode(f"{BASE}entity/{n}") for n, name in enumerate(["lotus", "lotus hotel"])}
    linking = link(mention("travel:Hotel", "Lotus"), mention("travel:Hotel", "Lotus Hotel"), known=known)
    assert set(linking.entities) == set(known.values())


def test_a_higher_threshold_keeps_slips_apart() -> None:
    names = mention("travel:Park", "Moganshan Bamboo Park"), mention("travel:Park", "Mogashan Bamboo Park")
    assert len(link(*names).entities) == 1
    assert len(link(*names, similarity=0.99).entities) == 2


def test_an_embedder_may_confirm_a_slip_in_a_short_name() -> None:
    names = [reading(mention("travel:Park", name)) for name in ("Moganshan", "Moganshann")]

    class Near(HashEmbedder):
        def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
            return super().embed(["the same"] * len(texts))

    def linked(embedder: HashEmbedder | None) -> int:
        found = link_entities(names, ontology=ontology(), base=BASE, likeness=Likeness(0.905, embedder=embedder))
        return len(found.entities)

    assert linked(None) == 2
    assert linked(Near()) == 1


# labels, projection, links


def test_labels_are_the_names_used_most_and_the_class_the_narrowest() -> None:
    names = ["West Lake"] * 2 + ["West Lake Scenic Area"] * 3 + ["西湖"]
    types = ["travel:LakeAttraction"] * 2 + ["travel:LakeAttraction"] * 3 + ["travel:Attraction"]
    readings = [
        reading(mention(type_, name, *(["西湖"] if name == "West Lake" else [])), number=number)
        for number, (type_, name) in enumerate(zip(types, names, strict=True))
    ]
    (found,) = link_entities(readings, ontology=ontology(), base=BASE).entities.values()
    assert found.type == class_("travel:LakeAttraction")
    assert found.labels == (Word("West Lake Scenic Area", "en"), Word("西湖", "zh"))


def test_a_chinese_name_alone_makes_a_chinese_iri() -> None:
    (found,) = link(mention("travel:Bridge", "八字桥")).entities.values()
    assert found.labels == (Word("八字桥", "zh"),)
    assert found.iri == entity_iri(BASE, class_("travel:Bridge"), "八字桥")


def test_merges_are_written_as_links_with_score_and_method() -> None:
    short, longer = mention("travel:ScenicArea", "西栅"), mention("travel:ScenicArea", "西栅景区")
    linking = link(short, short, longer)
    triples = link_triples(linking, BASE)
    (node,) = {t.subject for t in triples if t.predicate == TYPE and t.object == class_("core:Link")}
    said = {t.predicate.value.removeprefix(CORE): t.object for t in triples if t.subject == node}
    assert {entity(linking, short)} == {said["linkTo"]}
    assert said["linkFrom"] in {entity_iri(BASE, m.type, m.name) for m in (short, longer)} - {said["linkTo"]}
    assert isinstance(said["score"], Literal)
    assert 0.9 <= float(said["score"].value) < 1 or said["method"] == Literal("exact")
    assert link_triples(link(short), BASE) == []


def test_the_projection_speaks_of_one_entity() -> None:
    short, longer = mention("travel:ScenicArea", "西栅"), mention("travel:ScenicArea", "乌镇西栅景区")
    read = reading(short, longer, WUZHEN_ZH, claims=(within(short, WUZHEN_ZH), within(longer, WUZHEN_ZH)))
    linking = link_entities([read], ontology=ontology(), base=BASE)
    triples = Projection(BASE, linking).triples(read)
    assert len([t for t in triples if t.predicate == LOCATED_IN]) == 1


# laws

_TEXTS = """
    Xizha|Dongzha|西栅|东栅|Xizha Scenic Area|西栅景区|乌镇西栅景区|Wuzhen|乌镇|乌镇镇|West Scenic Zone|East Scenic Zone
    West Lake|西湖|West Lake Scenic Area|杭州西湖|Hangzhou|杭州|Families|SF1625|SF1625 Calculus|SF1626 Calculus
    Calculus|Wuzhen Theatre|乌镇大剧院|Moganshan Bamboo Park|Mogashan Bamboo Park|Temple of Lingyin|Lingyin Temple
    a|湖|1"""
_CLASSES = """
    travel:ScenicArea|travel:Attraction|travel:WaterTown|geo:Township|geo:City|geo:Place|geo:Lake|travel:Hotel
    travel:LakeAttraction|travel:Theatre|travel:Park|travel:Temple|travel:Audience|academic:Course|core:Entity
    core:Person"""
NAMES = st.sampled_from([text.strip() for text in re.split(r"[|\n]", _TEXTS) if text.strip()])
TYPES = st.sampled_from([text.strip() for text in re.split(r"[|\n]", _CLASSES) if text.strip()])
MENTIONS = st.builds(
    lambda type_, name, aliases: mention(type_, name, *aliases), TYPES, NAMES, st.lists(NAMES, max_size=2)
)


@st.composite
def extractions(draw: st.DrawFn) -> list[Extraction]:
    found = []
    for number in range(draw(st.integers(1, 5))):
        mentions = draw(st.lists(MENTIONS, min_size=1, max_size=6))
        claims = tuple(within(a, b) for a, b in draw(st.lists(st.tuples(MENTIONS, MENTIONS), max_size=2)))
        found.append(reading(*mentions, claims=claims, number=number))
    return found


KNOWN = st.dictionaries(
    st.tuples(TYPES.map(class_), NAMES.map(normalise)), st.integers(0, 3).map(lambda n: NamedNode(f"{BASE}entity/{n}")),
    max_size=4,
)  # fmt: skip


@settings(max_examples=40, deadline=None)
@given(extractions(), KNOWN, st.randoms(use_true_random=False))
def test_the_order_of_reading_plays_no_part(
    found: list[Extraction], known: dict[NameKey, NamedNode], random: object
) -> None:
    shuffled = list(found)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    items = list(known.items())
    random.shuffle(items)  # type: ignore[attr-defined]

    def linked(readings: list[Extraction], names: dict[NameKey, NamedNode]) -> Linking:
        return link_entities(readings, ontology=ontology(), base=BASE, known=names)

    assert linked(found, known) == linked(shuffled, dict(items))


@settings(max_examples=40, deadline=None)
@given(extractions(), KNOWN)
def test_no_entity_is_of_disjoint_classes_and_every_name_has_one(
    found: list[Extraction], known: dict[NameKey, NamedNode]
) -> None:
    one_each = {iri: key for key, iri in known.items()}
    linking = link_entities(found, ontology=ontology(), base=BASE, known={key: iri for iri, key in one_each.items()})
    mentioned = {(m.type, normalise(m.name)) for r in found for m in r.mentions}
    assert mentioned <= set(linking.names)
    before = {key[0] for key in one_each.values()}  # two that were known may turn out to be one, of either's class
    for iri, linked in linking.entities.items():
        types = {key[0] for key, name in linking.names.items() if name.entity == iri}
        assert not any(ontology().disjoint(a, b) for a, b in combinations(types, 2))
        assert linked.type in types | (before if iri in one_each else {linked.type})
    for name in linking.names.values():
        assert (name.method == "value") == (name.entity not in linking.entities)
        assert 0 < name.score <= 1


def test_many_names_are_linked_in_seconds() -> None:
    places = [f"{a}{b}{c}" for a in "bdfghlmnz" for b in ("ao", "en", "iang", "ong") for c in ("shan", "zhou", "li")]
    kinds = ["Temple", "Bridge", "Garden", "Hotel", "Museum"]
    readings = [
        reading(mention(f"travel:{kind}", f"{place} {word} {kind}"), mention("travel:WaterTown", place), number=n)
        for n, (place, kind, word) in enumerate(
            (p, k, w) for p in places for k in kinds for w in ("Lotus", "Jade", "Old")
        )
    ]
    started = time.process_time()
    linking = link_entities(readings, ontology=ontology(), base=BASE)
    assert time.process_time() - started < 10
    assert len(linking.entities) == len(linking.names)


@pytest.mark.embedding
def test_the_default_model_joins_nothing_that_the_rules_keep_apart() -> None:
    from kgplatform.models.embedding import SentenceTransformersEmbedder

    names = ["West Scenic Zone", "East Scenic Zone", "Wuzhen Theatre", "Wuzhen Grand Theatre", "Metro Line 1", "Line 4"]
    readings = [reading(mention("travel:Attraction", name)) for name in names]
    linking = link_entities(
        readings, ontology=ontology(), base=BASE, likeness=Likeness(embedder=SentenceTransformersEmbedder())
    )
    assert len(linking.entities) == len(names)
