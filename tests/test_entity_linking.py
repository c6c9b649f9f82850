"""Entity linking: which names become one entity, decisions about them, identities from elsewhere, relations."""

import json
import re
import shutil
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import combinations
from pathlib import Path
from threading import Thread
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pyoxigraph import Literal, NamedNode

from kgplatform.documents.records import Apart, Linking
from kgplatform.errors import NotFoundError, ReadError
from kgplatform.graph import KnowledgeGraph
from kgplatform.linking.candidates import Contents, Likeness
from kgplatform.linking.clusters import Gold, Trial, best, link_entities, link_triples, pair_score, read_gold
from kgplatform.linking.external import EXACT_MATCH, Reconciler, external_iri, read_identities
from kgplatform.linking.projection import RELATED, LinkLevel, Projection, relation_triples, relations
from kgplatform.models.embed import SentenceTransformersEmbedder
from kgplatform.models.stubs import HashEmbedder
from kgplatform.ontology.schema import Word
from kgplatform.settings import FILE
from kgplatform.text import normalise
from kgplatform.types import Claim, Extraction, Mention
from kgplatform.vocab import ACADEMIC, AIRPORT, ALT_LABEL, CORE, GEO, TRAVEL, TYPE, entity_iri
from kgplatform.workspace.entity_linking import take_up
from tests.turtle import shipped
from tests.workspaces import new_workspace

BASE = "https://example.org/kg/"
PREFIXES = {"core": CORE, "geo": GEO, "travel": TRAVEL, "academic": ACADEMIC, "airport": AIRPORT}
LOCATED_IN = NamedNode(f"{GEO}locatedIn")


def ontology():
    return shipped("core", "geo", "travel", "academic", "airport")


def class_(name):
    prefix, local = name.split(":")
    return NamedNode(f"{PREFIXES[prefix]}{local}")


def mention(type_, name, *aliases):
    return Mention(name, 0, len(name), class_(type_), name, aliases)


def reading(*mentions, claims=(), number=0):
    return Extraction(NamedNode(f"{BASE}document/d/chunk/{number}"), mentions, claims)


def within(inner, outer):
    return Claim(inner, LOCATED_IN, outer, 0, 10)


def link(
    *mentions,
    claims=(),
    known=None,
    similarity=0.92,
):
    return link_entities(
        [reading(*mentions, claims=claims)], ontology=ontology(), base=BASE, known=known, likeness=Likeness(similarity)
    )


def entity(linking, of):
    return linking.names[(of.type, normalise(of.name))].entity


def same(first, second, *others, claims=()):
    linking = link(first, second, *others, claims=claims)
    return entity(linking, first) == entity(linking, second)


WUZHEN = mention("travel:WaterTown", "Wuzhen")
WUZHEN_ZH = mention("travel:WaterTown", "乌镇")


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
        (("academic:Concept", "Room acoustics"), ("academic:Concept", "房间声学"), "translation"),
        (("academic:School", "School of Engineering Sciences"), ("academic:School", "工程科学学院"), "translation"),
    ],
)  # fmt: skip
def test_names_of_one_thing_are_linked(first, second, method):
    a, b = mention(*first), mention(*second)
    linking = link(a, b)
    assert entity(linking, a) == entity(linking, b)
    assert method in {found.method for found in linking.names.values()}
    assert all(0.9 <= found.score <= 1 for found in linking.names.values())


def test_translated_names_tell_how_what_they_begin_with_is_called():
    watertown, chinese = mention("travel:WaterTown", "Crowtown"), WUZHEN_ZH
    theatres = [
        mention("travel:Theatre", f"Crowtown {kind}", f"乌镇{zh}")
        for kind, zh in (("Hall", "会堂"), ("Opera", "歌剧院"))
    ]
    assert same(watertown, chinese, *theatres)
    assert not same(watertown, chinese)


def test_an_alias_in_the_other_script_links_both_names():
    linking = link(mention("travel:ScenicArea", "Xizha", "西栅"), mention("travel:Attraction", "西栅"))
    (found,) = linking.entities.values()
    assert found.type == class_("travel:ScenicArea")
    assert found.labels == (Word("Xizha", "en"), Word("西栅", "zh"))
    assert found.iri == entity_iri(BASE, found.type, "Xizha")
    xizha, longer = mention("travel:Attraction", "Xizha", "西栅"), mention("travel:ScenicArea", "Xizha Scenic Area")
    assert same(xizha, longer, mention("travel:ScenicArea", "西栅"))  # whose class helps with the wording
    assert not same(xizha, longer)
    assert same(xizha, mention("travel:ScenicArea", "West Scenic Zone", "西栅"))
    dongzha = mention("travel:Attraction", "Dongzha")
    assert same(mention("travel:ScenicArea", "East Scenic Zone", "Dongzha", "东栅"), dongzha)


def test_a_place_or_a_class_word_in_brackets_is_no_alias():
    dongzha, xizha = mention("travel:Attraction", "Dongzha"), mention("travel:ScenicArea", "Xizha")
    assert not same(mention("travel:Museum", "Hundred Beds Museum", "Dongzha", "百床馆"), dongzha)
    workshop = mention("travel:Attraction", "Caoben Workshop", "Xizha")
    assert not same(workshop, xizha)
    assert not same(workshop, xizha, workshop, claims=(within(workshop, xizha),))
    assert not same(mention("travel:WaterTown", "Xitang", "古镇"), mention("travel:WaterTown", "Nanxun", "古镇"))


def test_a_name_after_the_place_it_lies_in_is_the_name():
    short, longer = mention("travel:ScenicArea", "西栅"), mention("travel:ScenicArea", "乌镇西栅景区")
    assert same(short, longer, WUZHEN_ZH, claims=(within(short, WUZHEN_ZH),))
    assert not same(short, longer, WUZHEN_ZH)
    assert not same(WUZHEN_ZH, longer, short, claims=(within(short, WUZHEN_ZH),))
    xizha, after = mention("travel:ScenicArea", "Xizha"), mention("travel:ScenicArea", "Xizha, Wuzhen")
    assert same(xizha, after, WUZHEN, claims=(within(xizha, WUZHEN),))


def test_what_lies_in_something_is_not_that_and_a_common_name_needs_more_to_be_one_of_its_kind():
    lake, area = (mention("travel:LakeAttraction", name) for name in ("West Lake", "West Lake Scenic Area"))
    assert same(lake, area)
    assert not same(lake, area, claims=(within(lake, area),))
    city, other = (mention("geo:City", name) for name in ("Hangzhou", "Suzhou"))
    names = ("East Station", "Hangzhou East Station", "Suzhou East Station")
    station, longer, second = (mention("travel:TrainStation", name) for name in names)
    assert not same(station, longer, city, claims=(within(longer, city),))
    assert same(station, longer, city, claims=(within(station, city),))
    assert not same(station, longer, city, second, other, claims=(within(station, city), within(second, other)))


def test_known_entities_keep_their_iris_and_labels():
    resort = NamedNode(f"{BASE}entity/resort-1")
    hotel = class_("travel:Hotel")
    named = mention("travel:Hotel", "Wuzhen Waterside Resort", "枕水度假酒店")
    longer = mention("travel:Hotel", "Wuzhen Waterside Resort Hotel")
    linking = link(named, longer, longer, known={(hotel, "wuzhen waterside resort"): resort})
    assert entity(linking, named) == entity(linking, longer) == resort
    assert linking.names[(hotel, "wuzhen waterside resort")].method == "known"
    assert linking.entities[resort].labels[0] == Word("Wuzhen Waterside Resort", "en")
    assert link_entities([], ontology=ontology(), base=BASE, known={(hotel, "x"): resort}) == Linking({}, {})


def test_a_name_of_the_text_is_no_second_label_beside_that_of_the_graph():
    resort, hotel = NamedNode(f"{BASE}entity/resort-1"), class_("travel:Hotel")
    short = mention("travel:Hotel", "枕水度假酒店", "乌镇枕水度假酒店")
    linking = link(short, known={(hotel, "乌镇枕水度假酒店"): resort})
    assert entity(linking, short) == resort
    said = {(t.predicate, t.object) for t in Projection(BASE, linking).triples(reading(short)) if t.subject == resort}
    assert (ALT_LABEL, Literal("枕水度假酒店", language="zh")) in said
    assert {predicate for predicate, _ in said} == {TYPE, ALT_LABEL}


def test_values_of_the_ontology_are_linked_and_are_no_entities():
    family, spring = mention("travel:Audience", "Families"), mention("travel:Season", "春天")
    linking = link(family, spring, mention("travel:Hotel", "Families"))
    assert entity(linking, family) == class_("travel:families")
    assert entity(linking, spring) == class_("travel:spring")
    assert [found.type for found in linking.entities.values()] == [class_("travel:Hotel")]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("travel:ScenicArea East Scenic Zone", "travel:ScenicArea West Scenic Zone"),
        ("travel:ScenicArea 东栅景区", "travel:ScenicArea 西栅景区"),
        ("geo:Lake West Lake", "geo:Lake East Lake"),
        ("travel:MetroStation Hangzhou East Railway Station", "travel:MetroStation Hangzhou Railway Station"),
        ("travel:Metro Metro Line 1", "travel:Metro Metro Line 4"), ("travel:Bus K350路公交", "travel:Bus K282路公交"),
        ("travel:WaterTown Xitang", "travel:WaterTown Xitong"),
        ("travel:WaterTown Wuzhen", "travel:Theatre Wuzhen Theatre"),
        ("travel:WaterTown Wuzhen", "travel:Hotel Wuzhen Hotel"), ("geo:Place Xizha", "travel:Hotel Xizha Hotel"),
        ("travel:WaterTown 乌镇", "travel:Theatre 乌镇大剧院"), ("travel:Hotel 西湖", "geo:Lake 西湖"),
        ("travel:Museum Museum", "travel:Museum Suzhou Museum"), ("travel:WaterTown 古镇", "travel:WaterTown 西塘古镇"),
        ("travel:Street Old Street", "travel:Street Xitang Old Street"),
        ("academic:Course SF1625 Calculus", "academic:Course SF1626 Calculus"),
        ("academic:Author Christian Andersen", "academic:Author Christian Anderson"),
        ("academic:Model Transformer", "academic:Model Transformer-XL"),
        ("academic:Model Transformer", "academic:Model Transformer Transducer"),
        ("academic:Paper BERT: Pre-training of Deep Transformers", "academic:Paper BERT"),
        ("academic:Concept Music", "academic:Concept 音乐感知"), ("academic:Author Forest", "academic:Author 森林"),
        ("airport:Airline BA", "airport:Airline BA CityFlyer"),
        ("core:Person Mao Dun", "travel:HistoricHouse Mao Dun's Former Residence"),
    ],
)  # fmt: skip
def test_names_of_different_things_are_kept_apart(first, second):
    assert not same(mention(*first.split(" ", 1)), mention(*second.split(" ", 1)))


def test_what_keeps_names_apart():
    east, west = mention("travel:ScenicArea", "Dongzha", "西栅"), mention("travel:ScenicArea", "Xizha", "西栅")
    often = [reading(west, number=number) for number in range(5)]
    linking = link_entities([reading(east, number=9), *often], ontology=ontology(), base=BASE)
    assert entity(linking, east) != entity(linking, west)  # an alias given rarely gives way to one given often
    first, second = mention("academic:Course", "SF1625", "Calculus"), mention("academic:Course", "SF1626", "Calculus")
    assert not same(first, second, mention("academic:Course", "Calculus"))
    hotel = class_("travel:Hotel")
    known = {(hotel, name): NamedNode(f"{BASE}entity/{n}") for n, name in enumerate(["lotus", "lotus hotel"])}
    linking = link(mention("travel:Hotel", "Lotus"), mention("travel:Hotel", "Lotus Hotel"), known=known)
    assert set(linking.entities) == set(known.values())
    names = mention("travel:Park", "Moganshan Bamboo Park"), mention("travel:Park", "Mogashan Bamboo Park")
    assert [len(link(*names, similarity=value).entities) for value in (0.92, 0.99)] == [1, 2]


def test_labels_are_the_names_used_most_and_the_class_the_narrowest():
    names = [("travel:LakeAttraction", "West Lake", "西湖")] * 2 + [
        ("travel:LakeAttraction", "West Lake Scenic Area")
    ] * 3
    readings = [
        reading(mention(*name), number=number) for number, name in enumerate([*names, ("travel:Attraction", "西湖")])
    ]
    (found,) = link_entities(readings, ontology=ontology(), base=BASE).entities.values()
    assert found.type == class_("travel:LakeAttraction")
    assert found.labels == (Word("West Lake Scenic Area", "en"), Word("西湖", "zh"))
    (found,) = link(mention("travel:Bridge", "八字桥")).entities.values()
    assert found.labels == (Word("八字桥", "zh"),)
    assert found.iri == entity_iri(BASE, class_("travel:Bridge"), "八字桥")


def test_merges_are_written_as_links_with_score_and_method():
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


def test_the_projection_speaks_of_one_entity():
    short, longer = mention("travel:ScenicArea", "西栅"), mention("travel:ScenicArea", "乌镇西栅景区")
    read = reading(short, longer, WUZHEN_ZH, claims=(within(short, WUZHEN_ZH), within(longer, WUZHEN_ZH)))
    linking = link_entities([read], ontology=ontology(), base=BASE)
    triples = Projection(BASE, linking).triples(read)
    assert len([t for t in triples if t.predicate == LOCATED_IN]) == 1


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
def extractions(draw):
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
def test_the_order_of_reading_plays_no_part(found, known, random):
    shuffled = list(found)
    random.shuffle(shuffled)
    items = list(known.items())
    random.shuffle(items)

    def linked(readings, names):
        return link_entities(readings, ontology=ontology(), base=BASE, known=names)

    assert linked(found, known) == linked(shuffled, dict(items))


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(extractions(), KNOWN)
@example(
    [
        reading(mention("travel:ScenicArea", "西栅景区"), mention("travel:Attraction", "Xizha")),
        reading(mention("geo:Township", "Xizha")),
    ],
    {(class_("travel:ScenicArea"), "西栅景区"): NamedNode(f"{BASE}entity/0")},
)
def test_no_entity_is_of_disjoint_classes(found, known):
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


def test_an_embedder_may_confirm_a_slip_in_a_short_name():
    names = [reading(mention("travel:Park", name)) for name in ("Moganshan", "Moganshann")]

    class Near(HashEmbedder):
        def embed(self, texts):
            return super().embed(["the same"] * len(texts))

    def linked(embedder):
        found = link_entities(names, ontology=ontology(), base=BASE, likeness=Likeness(0.905, embedder=embedder))
        return len(found.entities)

    assert (linked(None), linked(Near())) == (2, 1)


@pytest.mark.slow
@pytest.mark.embedding
def test_the_default_model_joins_nothing_that_the_rules_keep_apart():
    names = ["West Scenic Zone", "East Scenic Zone", "Wuzhen Theatre", "Wuzhen Grand Theatre", "Metro Line 1", "Line 4"]
    readings = [reading(mention("travel:Attraction", name)) for name in names]
    likeness = Likeness(embedder=SentenceTransformersEmbedder())
    assert len(link_entities(readings, ontology=ontology(), base=BASE, likeness=likeness).entities) == len(names)


EXAMPLES = Path(__file__).resolve().parents[1] / "examples"


@pytest.fixture(scope="module")
def noted(tmp_path_factory):
    """A workspace with a note in both languages, to be copied."""
    folder = tmp_path_factory.mktemp("noted")
    note = folder / "note.txt"
    note.write_text(
        "Xizha (西栅) is an attraction in Wuzhen. 西栅位于乌镇，门票150元。"
        "The Leifeng Pagoda is in Hangzhou. 雷峰塔在杭州。"
    )
    with KnowledgeGraph.open(new_workspace(folder / "workspace")) as graph:
        graph.workspace.__dict__["embedder"] = HashEmbedder()
        list(graph.add(note))
        assert not graph.dataset.has_relations
    return folder / "workspace"


@pytest.fixture
def kg(noted, tmp_path):
    with KnowledgeGraph.open(shutil.copytree(noted, tmp_path / "workspace")) as graph:
        graph.workspace.__dict__["embedder"] = HashEmbedder()
        yield graph


def entities(kg, *names):
    return {item.entity for item in kg.registry.linking().names.values() if item.name in names}


def test_merges_are_listed_with_reasons_in_both_languages_and_wrong_decisions_are_told(kg):
    merged = {item.name: item for item in kg.links()}
    assert "reading" in {merged[name].method for name in ("雷峰塔", "leifeng pagoda") if name in merged}
    assert all(0 < item.score <= 1 and item.reason for item in kg.links())
    assert any("读音" in item.reason for item in kg.links(language="zh"))
    with pytest.raises(NotFoundError, match="did you mean xizha"):
        kg.unlink("Xisha", "西栅")
    with pytest.raises(NotFoundError, match="the same name"):
        kg.unlink("Xizha", "XIZHA")
    with pytest.raises(NotFoundError, match="nothing was decided"):
        kg.unlink("Xizha", "Wuzhen", undo=True)


def test_unlinked_names_stay_apart_until_that_is_undone(kg, tmp_path):
    before = kg.dump()
    assert len(entities(kg, "xizha", "西栅")) == 1
    decided = kg.unlink("西栅", "Xizha")
    assert (decided.together_before, decided.together_now) == (True, False)
    assert len(entities(kg, "xizha", "西栅")) == 2
    aliases = {q.object.value for iri in entities(kg, "xizha") for q in kg.store.quads(iri, ALT_LABEL)}
    assert "西栅" not in aliases
    more = tmp_path / "more.txt"
    more.write_text("Xizha (西栅) is an attraction in Wuzhen and opens at 9 am.")
    list(kg.add(more))
    kg.build()
    assert len(entities(kg, "xizha", "西栅")) == 2
    kg.remove("more.txt")
    assert kg.unlink("Xizha", "西栅", undo=True).together_now
    assert sorted(kg.dump().splitlines()) == sorted(before.splitlines())
    assert kg.dataset.violations() == (frozenset(), frozenset())


def test_a_third_name_goes_with_one_of_two_that_are_apart_and_their_aliases_are_not_projected():
    names = [mention("travel:Temple", name) for name in ("Lingyin Temple", "Lingyin Temples", "灵隐寺")]
    apart = [Apart.of("lingyin temple", "灵隐寺"), Apart.of("xizha", "西栅")]
    linking = link_entities([reading(*names)], ontology=ontology(), base=BASE, apart=apart)
    assert entity(linking, names[0]) != entity(linking, names[2])
    assert len({entity(linking, name) for name in names}) == 2
    read = reading(mention("travel:Attraction", "Xizha", "西栅"))
    triples = Projection(BASE, link_entities([read], ontology=ontology(), base=BASE, apart=apart)).triples(read)
    assert not [t for t in triples if t.predicate == ALT_LABEL]
    assert class_("travel:Attraction") in {t.object for t in triples}


@pytest.mark.parametrize(
    ("latin", "chinese", "one"),
    [
        (("travel:Pagoda", "Leifeng Pagoda"), ("travel:Pagoda", "雷峰塔"), True),
        (("travel:Street", "Lu Xun Middle Road"), ("travel:Street", "鲁迅中路"), True),
        (("travel:Park", "Changqiao Park"), ("travel:Park", "长桥公园"), True),
        (("travel:Garden", "Shen Garden"), ("geo:Place", "沈园"), True),
        (("travel:MountainArea", "Moganshan"), ("travel:MountainArea", "莫干山"), True),
        (("travel:Street", "Hubin Road"), ("geo:Place", "湖滨"), False),
        (("travel:Pagoda", "Leifeng Pagoda"), ("travel:Street", "雷峰路"), False),
        (("travel:Drink", "Shaoxing wine"), ("travel:Dish", "绍兴名菜"), False),
        (("core:Person", "Wei Han"), ("core:Person", "韦汉"), False),
        (("geo:City", "Jiaxing"), ("travel:TrainStation", "嘉兴火车站"), False),
        (("travel:Museum", "Mu Xin Memorial Hall"), ("travel:Pagoda", "木心塔"), False),
        (("travel:MountainArea", "Crane Hill"), ("geo:Place", "鹤丘"), True),
        (("geo:Place", "Seven Creeks"), ("geo:River", "七溪"), True),
        (("geo:Place", "Donghu Wetland"), ("geo:Place", "东湖湿地"), True),
        (("travel:MountainArea", "Crane Hill"), ("geo:Place", "虎丘"), False),
        (("core:Person", "Gold Mountain"), ("core:Person", "金山"), False),
        (("geo:Place", "Kunming"), ("geo:City", "昆明市"), True),
        (("geo:County", "Yiwu"), ("geo:County", "义乌市"), True),
    ],
)
def test_a_chinese_name_and_its_reading_are_one_where_class_words_agree(latin, chinese, one):
    first, second = mention(*latin), mention(*chinese)
    around = mention("geo:City", "绍兴")
    linking = link(first, second, around)
    assert (entity(linking, first) == entity(linking, second)) is one


def test_of_several_names_in_two_languages_those_that_translate_one_another_are_one():
    museum, hall, chinese = (
        mention("travel:Museum", n) for n in ("Mu Xin Art Museum", "Mu Xin Memorial Hall", "木心美术馆")
    )
    linking = link(museum, hall, chinese)
    assert entity(linking, museum) == entity(linking, chinese) != entity(linking, hall)
    wetland, park = mention("geo:Place", "东湖湿地"), mention("travel:Park", "东湖国家湿地公园")
    assert same(wetland, park)  # a rank in a name adds nothing
    assert not same(mention("geo:Place", "鲁迅故里"), mention("travel:MetroStation", "鲁迅故里站"))
    bridges = [mention("travel:Bridge", name) for name in ("Tongji Bridge", "通济桥", "同济桥")]
    assert len(link(*bridges).entities) == 3  # a reading that two names share joins neither
    one, other = mention("travel:MountainArea", "Moganshan"), mention("travel:MountainArea", "莫干山")
    here = mention("geo:County", "Deqing")
    assert same(one, other, here, claims=(within(one, here), within(other, here)))


@pytest.mark.parametrize(("other", "one"), [("10.1000/a", True), ("10.1000/b", False)])
def test_differing_keys_keep_names_apart_and_equal_ones_do_not(other, one):
    papers = [mention("academic:Paper", name) for name in ("Attention and memory", "Attentions and memory")]
    key = NamedNode(f"{ACADEMIC}doi")
    values = zip(papers, ("10.1000/a", other), strict=True)
    assert same(*papers, claims=tuple(Claim(paper, key, Literal(value), 0, 5) for paper, value in values)) is one


def test_names_of_which_much_the_same_is_said_are_linked_from_a_likeness_on():
    inns = [mention("travel:Hotel", name) for name in ("Lakeside Inn", "Lakeside Inn House")]
    town = mention("travel:WaterTown", "Nanxun")
    read = reading(*inns, claims=tuple(Claim(inn, LOCATED_IN, town, 0, 5) for inn in inns))

    def linked(content):
        likeness = Likeness(content=content, contents=Contents(HashEmbedder()))
        found = link_entities([read], ontology=ontology(), base=BASE, likeness=likeness)
        return len({entity(found, inn) for inn in inns})

    assert (linked(0.5), linked(0.999)) == (1, 2)


def test_pairs_are_scored_by_hand_and_gold_with_a_name_of_two_things_is_told(tmp_path):
    linking = link(*(mention("travel:Pagoda", text) for text in ("Leifeng Pagoda", "雷峰塔", "Baochu Pagoda")))
    score = pair_score(linking, Gold((frozenset({"leifeng pagoda", "baochu pagoda"}), frozenset({"雷峰塔"}))))
    assert (score.linked, score.wanted, score.right) == (1, 1, 0)
    assert (score.precision, score.recall, score.f1) == (0.0, 0.0, 0.0)
    right = pair_score(linking, Gold((frozenset({"leifeng pagoda", "雷峰塔"}), frozenset({"baochu pagoda"}))))
    assert (right.precision, right.recall) == (1.0, 1.0)
    assert best([Trial(1.0, right), Trial(0.8, score)]).likeness == 1.0
    file = tmp_path / "gold.jsonl"
    file.write_text('{"names": ["a", "b"]}\n{"names": ["B"]}\n{"name": 3}\n')
    gold = read_gold(file)
    assert (gold.things, len(gold.problems)) == ((frozenset({"a", "b"}),), 2)


def test_identifiers_become_iris_and_what_is_none_is_refused(tmp_path):
    wikidata = "http://www.wikidata.org/entity"
    texts = {"Q42": f"{wikidata}/Q42", "wd:Q1": f"{wikidata}/Q1", "1808926": "https://sws.geonames.org/1808926/"}
    texts["https://example.org/x"] = "https://example.org/x"
    assert {text: external_iri(text).value for text in texts} == texts
    for text in ("", "Q0", "foo", "http://a b", "javascript:alert(1)"):
        with pytest.raises(ValueError, match="is no IRI"):
            external_iri(text)
    file = tmp_path / "ids.csv"
    for table in ("", "a,b\n1,2\n", "name,id\n,Q1\n", "name,id,score\nWuzhen,Q1,7\n"):
        file.write_text(table)
        with pytest.raises(ReadError) as caught:
            read_identities(file)
        assert "\n" not in str(caught.value)


@pytest.mark.slow
def test_the_sample_notes_are_linked_precisely(tmp_path):
    with KnowledgeGraph.open(new_workspace(tmp_path / "workspace")) as kg:
        kg.workspace.__dict__["embedder"] = HashEmbedder()
        list(kg.add(EXAMPLES / "travel", build=False))
        kg.build("link")
        score = pair_score(kg.registry.linking(), read_gold(EXAMPLES / "gold" / "travel-names.jsonl"))
    assert score.precision >= 0.97, score.wrong
    assert score.recall >= 0.85, score.missed


def test_identities_from_a_table_are_written_and_follow_their_thing(kg, tmp_path):
    file = tmp_path / "ids.csv"
    file.write_text("名称,id,score\n西栅,Q1,0.9\nNowhere,Q2,\nWuzhen,nothing,\n", encoding="utf-8")
    taken = take_up(kg.dataset, read_identities(file))
    assert len(taken.written) == 1
    assert len(taken.problems) == 2
    ours = taken.written[0][0]
    target = NamedNode("http://www.wikidata.org/entity/Q1")
    assert [q.subject for q in kg.store.quads(None, EXACT_MATCH, target, kg.dataset.identities)] == [ours]
    assert kg.dataset.violations() == (frozenset(), frozenset())
    take_up(kg.dataset, read_identities(file))
    assert sum(1 for _ in kg.store.quads(None, EXACT_MATCH, target, kg.dataset.identities)) == 1


class _Reconciling(BaseHTTPRequestHandler):
    """A reconciliation service that is sure of Wuzhen, unsure of Xizha, and knows nothing else."""

    def do_GET(self):
        asked = parse_qs(urlsplit(self.path).query).get("queries")
        reply: dict[str, object] = {"name": "test", "identifierSpace": "http://www.wikidata.org/entity/"}
        if asked:
            known = {
                "Wuzhen": [{"id": "Q841337", "name": "Wuzhen", "score": 98, "match": True}],
                "Xizha": [{"id": "Q1", "name": "a", "score": 95}, {"id": "Q2", "name": "b", "score": 95}],
            }
            queries = json.loads(asked[0])
            reply = {key: {"result": known.get(query["query"], [])} for key, query in queries.items()}
        body = json.dumps(reply).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_): ...


@pytest.fixture
def service():
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Reconciling)
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/reconcile"
    server.shutdown()
    server.server_close()


def test_a_reconciliation_service_gives_what_it_is_sure_of(service):
    asked = Reconciler(service, resolve=lambda host, port: [host])
    found = asked.ask(["Wuzhen", "Xizha", *(f"Name {number}" for number in range(30))])
    assert [(item.name, item.target.value, item.score) for item in found.found] == [
        ("Wuzhen", "http://www.wikidata.org/entity/Q841337", 0.98)
    ]
    assert any(problem.startswith("Xizha: 2 candidates") for problem in found.problems)
    with pytest.raises(ReadError):
        Reconciler(service).ask(["Wuzhen"])  # a private address is not asked


def thing(name):
    return NamedNode(f"{BASE}entity/{name}")


def level(**vectors):
    rows = np.array([np.array(v) / np.linalg.norm(v) for v in vectors.values()], dtype=np.float32)
    return LinkLevel(tuple(map(thing, vectors)), rows)


def test_things_are_related_from_the_threshold_on_with_the_degrees_as_rank():
    sights = level(lake=(1.0, 0.0), tower=(0.0, 1.0))
    inns = level(inn=(3.0, 4.0), hut=(1.0, 0.0))  # cosines: lake-inn .6, lake-hut 1, tower-inn .8, tower-hut 0
    degrees = {thing("lake"): 3, thing("tower"): 1, thing("inn"): 2}
    found = relations(sights, inns, degrees, threshold=0.6)
    told = [(r.source, r.target, r.similarity, r.rank) for r in found]
    assert told == [
        (thing("lake"), thing("hut"), 1.0, 3),
        (thing("lake"), thing("inn"), pytest.approx(0.6), 5),
        (thing("tower"), thing("inn"), pytest.approx(0.8), 3),
    ]
    assert [r.target for r in relations(sights, inns, degrees, threshold=0.7)] == [thing("hut"), thing("inn")]
    assert [r.target for r in relations(sights, inns, degrees, threshold=0.0, most=1)] == [thing("hut"), thing("inn")]


def test_a_relation_says_its_score_rank_and_method_and_nothing_is_related_to_itself():
    sights = level(lake=(1.0, 0.0))
    assert relations(sights, sights, {}, threshold=0.0) == []
    assert relations(sights, LinkLevel((), np.zeros((0, 2), dtype=np.float32)), {}, threshold=0.0) == []
    (found,) = relations(sights, level(inn=(3.0, 4.0)), {}, threshold=0.5)
    said = {triple.predicate.value.removeprefix(CORE): triple.object for triple in relation_triples([found], BASE)}
    assert said[RELATED.value] == thing("inn")
    assert (said["score"].value, said["rank"].value, said["method"].value) == ("0.6", "0", "content")


def test_relations_come_with_the_setting_and_go_with_it(noted, tmp_path):
    folder = shutil.copytree(noted, tmp_path / "workspace")

    def dump():
        with KnowledgeGraph.open(folder) as kg:
            kg.workspace.__dict__["embedder"] = HashEmbedder()
            kg.build()
            assert kg.dataset.violations() == (frozenset(), frozenset())
            return sorted(kg.dump().splitlines())

    before = dump()
    settings = folder / FILE
    plain = settings.read_text(encoding="utf-8")
    settings.write_text(f"{plain}\n[linking]\nrelations = 0.1\n", encoding="utf-8")
    related = dump()
    made = [line for line in related if line not in before and b"skos/core#related" in line]
    assert any(b"graph/relations" in line for line in made)
    assert set(before) <= set(related)
    assert dump() == related
    settings.write_text(plain, encoding="utf-8")
    assert dump() == before
