"""The administrative hierarchy: the shipped world part, tables of divisions, and which places names mean."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyoxigraph import Literal, NamedNode, Triple

from kgplatform import packs
from kgplatform.building.places import FILE, open_places
from kgplatform.cli.main import main
from kgplatform.errors import ConfigError, OntologyError, ReadError, WorkspaceError
from kgplatform.graph import KnowledgeGraph
from kgplatform.ontology import Ontology, Word
from kgplatform.places.candidates import PlaceFinder
from kgplatform.places.described import WORLD, read_rdf, read_world
from kgplatform.places.divisions import checked_country, padded, read_divisions
from kgplatform.places.mentioned import read_mentions
from kgplatform.places.naming import LevelWords, key, reading, short_form
from kgplatform.places.place import NameKind, Place
from kgplatform.places.reference import PlaceReference
from kgplatform.places.resolving import Resolution, resolve
from kgplatform.testing import HashEmbedder
from kgplatform.text import normalise
from kgplatform.types import Extraction, Mention, Verdict
from kgplatform.vocab import ALT_LABEL, GEO, LABEL, TYPE

DATA = Path(__file__).parent / "data"
DIVISIONS = DATA / "divisions"
CASES = DATA / "places-in-context.txt"
LOCATED_IN = NamedNode(f"{GEO}locatedIn")
CHINA = "china-divisions"


@pytest.fixture(scope="module")
def ontology() -> Ontology:
    return packs.load(["travel"], folder=Path()).ontology


@pytest.fixture(scope="module")
def world(ontology: Ontology) -> Iterator[PlaceReference]:
    reference = PlaceReference(None)
    read_world(reference, ontology)
    yield reference
    reference.close()


@pytest.fixture(scope="module")
def reference(ontology: Ontology) -> Iterator[PlaceReference]:
    """The world part and a few of China's divisions."""
    found = PlaceReference(None)
    read_world(found, ontology)
    divisions = read_divisions([DIVISIONS], country="CN", ontology=ontology)
    found.replace("cn", divisions.places, digest=divisions.digest)
    yield found
    found.close()


# the world part


def test_the_world_part_has_the_continents_the_countries_and_the_divisions_of_china(world: PlaceReference) -> None:
    counts = {iri.value.removeprefix(GEO): count for iri, count in world.sources()[0].counts.items()}
    assert counts["Continent"] == 7
    assert counts["Country"] == 249
    assert counts["Province"] > 200
    assert counts["City"] > 700
    provinces = [place for place in all_of(world) if place.above == "cn" and place.type.value == f"{GEO}Province"]
    assert len(provinces) == 34


def all_of(reference: PlaceReference) -> list[Place]:
    rows = reference._db.execute("SELECT DISTINCT id FROM places ORDER BY id").fetchall()
    return [reference.place(row[0]) for row in rows]


def test_every_place_of_the_world_part_lies_on_a_continent_and_is_named_in_both_languages(
    world: PlaceReference,
) -> None:
    for place in all_of(world):
        top = (place.id, *world.above(place.id))[-1]
        assert world.place(top).type.value == f"{GEO}Continent", place
        assert [word.language for word in place.labels] == ["en", "zh"], place


def test_every_code_of_the_world_part_has_its_form_and_is_used_once(world: PlaceReference, ontology: Ontology) -> None:
    seen: Counter[tuple[str, str]] = Counter()
    for place in all_of(world):
        for predicate, value in place.codes:
            pattern = ontology.properties[predicate].pattern
            assert re.fullmatch(pattern or "", value), place
            seen[predicate.value, value] += 1
        codes = {predicate.value.removeprefix(GEO) for predicate, _ in place.codes}
        if place.type.value == f"{GEO}Country":
            assert codes == {"isoCode", "iso3Code", "isoNumericCode"}
            assert dict(place.codes)[NamedNode(f"{GEO}isoCode")].lower() == place.id
    assert set(seen.values()) == {1}


@pytest.mark.parametrize(
    ("name", "id_"),
    [
        ("China", "cn"),
        ("中华人民共和国", "cn"),
        ("Zhejiang", "cn-330000"),
        ("浙江", "cn-330000"),
        ("浙江省", "cn-330000"),
        ("Xi'an", "cn-610100"),
        ("西安", "cn-610100"),
        ("Urumqi", "cn-650100"),
        ("Holland", "nl"),
        ("荷兰", "nl"),
        ("U.K.", "gb"),
        ("Côte d'Ivoire", "ci"),
        ("Sao Paulo", "br-sao-paulo"),
        ("加州", "us-ca"),
        ("加利福尼亚", "us-ca"),
        ("Skåne County", "se-m"),
    ],
)
def test_a_place_goes_by_its_names_aliases_and_short_forms(world: PlaceReference, name: str, id_: str) -> None:
    assert id_ in [found for found, _ in world.called(key(name))]


def test_the_world_part_is_no_ontology_and_is_read_once(tmp_path: Path, ontology: Ontology) -> None:
    assert "world" not in " ".join(packs.shipped())
    assert not any("/place/" in iri.value for iri in (*ontology.individuals, *ontology.classes))
    reference = PlaceReference(tmp_path / "places.sqlite")
    read_world(reference, ontology)
    before = reference._db.total_changes
    read_world(reference, ontology)
    assert reference._db.total_changes == before
    reference.close()


# names


def test_a_short_form_leaves_out_levels_and_peoples() -> None:
    forms = {
        "内蒙古自治区": "内蒙古",
        "广西壮族自治区": "广西",
        "黔西南布依族苗族自治州": "黔西南",
        "伊犁哈萨克自治州": "伊犁",
        "香港特别行政区": "香港",
        "大兴安岭地区": "大兴安岭",
        "乌镇镇": "乌镇",
        "西湖街道": "西湖",
        "加利福尼亚州": "加利福尼亚",
        "城区": None,
        "中国": None,
        "Zhejiang": None,
    }
    assert {name: short_form(name) for name in forms} == forms


def test_pinyin_finds_chinese_places_without_an_english_name(reference: PlaceReference) -> None:
    assert reading("桐乡") == "Tongxiang"
    assert reference.called(key("Tongxiang")) == (("cn-330483", NameKind.READING),)
    assert reference.called(key("Chun'an")) == (("cn-330127", NameKind.READING),)
    assert ("cn-330483100", NameKind.READING) in reference.called(key("Wuzhen"))


def test_the_word_for_a_level_must_fit_the_place(ontology: Ontology, reference: PlaceReference) -> None:
    finder = PlaceFinder(reference, ontology)
    assert [id_ for id_, _ in finder.named("Zhejiang Province")] == ["cn-330000"]
    assert [id_ for id_, _ in finder.named("Province of Zhejiang")] == ["cn-330000"]
    assert [id_ for id_, _ in finder.named("Tongxiang County")] == ["cn-330483"]
    assert finder.named("Zhejiang Town") == []
    words = LevelWords(ontology, reference.types())
    assert "geo#County" in str(next(iter(words.cores("Tongxiang City"))).types)


def test_a_name_with_what_it_lies_in_before_or_behind_it_is_taken_apart(
    ontology: Ontology, reference: PlaceReference
) -> None:
    finder = PlaceFinder(reference, ontology)
    for name in ("杭州市西湖区", "浙江省杭州市西湖区", "杭州西湖区", "西湖区，杭州"):
        assert [id_ for id_, _ in finder.named(name)] == ["cn-330106"], name
    assert [id_ for id_, _ in finder.named("Suzhou, Anhui")] == ["cn-341300"]
    assert finder.named("长春市西湖区") == []


@given(st.text(max_size=40))
def test_a_key_holds_no_blank_and_does_not_depend_on_them(text: str) -> None:
    assert key(f" {text}  ") == key(text)
    assert " " not in key(text)


# tables of divisions


def test_tables_are_ranked_by_their_codes_and_counted_by_level(ontology: Ontology) -> None:
    found = read_divisions([DIVISIONS], country="CN", ontology=ontology)
    assert [
        (level.type.value.removeprefix(GEO), level.rows, level.places, level.stand_ins) for level in found.levels
    ] == [
        ("Province", 11, 11, 0),
        ("City", 16, 14, 4),
        ("County", 23, 22, 1),
        ("Township", 9, 9, 0),
    ]
    assert found.refused == ()
    assert len({place.id for place in found.places}) == len(found.places)


def test_rows_that_stand_in_for_a_level_let_their_children_rise(reference: PlaceReference) -> None:
    assert reference.above("cn-110105")[:2] == (
        "cn-110100",
        "cn-110000",
    )  # 朝阳区 < 北京市, the city < the municipality
    assert reference.place("cn-110100").labels[1].text == "北京市"
    assert reference.above("cn-500229")[:2] == ("cn-500000", "cn")  # under 县
    assert reference.above("cn-419001")[:2] == ("cn-410000", "cn")  # under 省直辖县级行政区划
    assert reference.above("cn-441900003")[:2] == ("cn-441900", "cn-440000")  # under 东莞市, which is in two tables


def test_codes_are_lengthened_to_their_form(ontology: Ontology) -> None:
    form = ontology.properties[NamedNode(f"{GEO}officialCode")]
    assert [padded(code, form) for code in ("33", "3301", "330106", "330106008", "x")] == [
        "330000",
        "330100",
        "330106",
        "330106008",
        "x",
    ]
    assert padded("33", None) == "33"


def test_one_table_of_all_levels_is_read_by_its_parent_column(tmp_path: Path, ontology: Ontology) -> None:
    table = tmp_path / "gemeenten.csv"
    table.write_text("id;x\n", encoding="utf-8")
    table.write_text(
        "code,name,parent_code,name_en\nNH,Noord-Holland,,North Holland\nGM0363,Amsterdam,NH,\nWK01,Centrum,GM0363,\n",
        encoding="utf-8",
    )
    found = read_divisions([table], country="NL", ontology=ontology)
    assert [(place.id, place.above) for place in found.places] == [
        ("nl-nh", "nl"),
        ("nl-gm0363", "nl-nh"),
        ("nl-wk01", "nl-gm0363"),
    ]
    assert found.places[0].labels == (Word("Noord-Holland", "en"), Word("North Holland", "en"))


def test_rows_that_cannot_be_used_are_listed_with_their_line(tmp_path: Path, ontology: Ontology) -> None:
    (tmp_path / "a.csv").write_text("\ufeffcode,name\n33,浙江省\n33,浙江\n,安徽省\n", encoding="utf-8")
    (tmp_path / "b.csv").write_text(
        "代码,名称,上级代码\n" + "".join(f"33{n:02},第{n}市,33\n" for n in range(1, 30)) + "9901,无上级市,99\n3340\n",
        encoding="gb18030",
    )
    found = read_divisions([tmp_path], country="CN", ontology=ontology)
    assert found.refused == (
        "a.csv, line 3: 33 浙江: the code is another row's already",
        "a.csv, line 4:  安徽省: no code",
        "b.csv, line 31: 9901 无上级市: its parent is in no table above",
        "b.csv, line 32: 3340 : its parent is in no table above",
    )
    assert len(found.places) == 30


def test_bad_tables_give_one_clear_line(tmp_path: Path, ontology: Ontology) -> None:
    with pytest.raises(ReadError, match="no such file or folder"):
        read_divisions([tmp_path / "nowhere"], country="CN", ontology=ontology)
    (tmp_path / "a.csv").write_text("place,mayor\nX,Y\n", encoding="utf-8")
    with pytest.raises(ReadError, match="holds no table with a column for codes"):
        read_divisions([tmp_path], country="CN", ontology=ontology)
    circle = tmp_path / "circle.csv"
    circle.write_text("code,name,parent\n1,A,2\n2,B,1\n3,C,\n", encoding="utf-8")
    with pytest.raises(ReadError, match="in a circle, such as 1, 2"):
        read_divisions([circle], country="CN", ontology=ontology)
    apart = [tmp_path / "x.csv", tmp_path / "y.csv"]
    for path in apart:
        path.write_text(f"code,name\n{path.stem},{path.stem}\n", encoding="utf-8")
    with pytest.raises(ReadError, match="not levels one above the other"):
        read_divisions(apart, country="CN", ontology=ontology)
    two, city = [DIVISIONS / "provinces.csv", DIVISIONS / "cities.csv"], [NamedNode(f"{GEO}City")]
    with pytest.raises(ReadError, match="2 levels, but classes for 1"):
        read_divisions(two, country="CN", ontology=ontology, levels=city)
    missing = [NamedNode("https://example.org/none")]
    with pytest.raises(ReadError, match="the ontology has no class"):
        read_divisions(two[:1], country="CN", ontology=ontology, levels=missing)
    with pytest.raises(ConfigError, match="two letters"):
        checked_country("China")
    assert checked_country("cn") == "CN"


def test_a_source_can_be_replaced_and_taken_out(ontology: Ontology) -> None:
    reference = PlaceReference(None)
    read_world(reference, ontology)
    divisions = read_divisions([DIVISIONS], country="CN", ontology=ontology)
    for _ in range(2):
        assert reference.replace("cn", divisions.places, digest="x") == len(divisions.places)
    assert [source.name for source in reference.sources()] == [WORLD, "cn"]
    assert [place.source for place in reference.versions("cn-330100")] == [WORLD, "cn"]
    assert reference.remove("cn")
    assert not reference.remove("cn")
    assert "cn-330106" not in reference
    assert reference.above("cn-330100") == ("cn-330000", "cn", "asia")
    reference.close()


def test_places_may_come_as_rdf(tmp_path: Path, ontology: Ontology) -> None:
    file = tmp_path / "mine.ttl"
    file.write_text(
        f"@prefix geo: <{GEO}> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .\n"
        "@prefix p: <https://p.org/> . "
        'p:up a geo:County ; rdfs:label "Upland"@en .\n'
        'p:hill a geo:Township ; rdfs:label "Hill"@en ; geo:locatedIn p:up .',
        encoding="utf-8",
    )
    found = read_rdf(file, ontology, "mine")
    assert [(place.id, place.above, place.within) for place in found] == [
        ("hill", "up", LOCATED_IN),
        ("up", None, None),
    ]
    file.write_text("<a> <b> <c> .", encoding="utf-8")
    with pytest.raises(OntologyError, match="describes no place"):
        read_rdf(file, ontology, "mine")
    with pytest.raises(OntologyError, match="cannot be read"):
        read_rdf(tmp_path / "none.ttl", ontology, "mine")
    file.write_text("no turtle", encoding="utf-8")
    with pytest.raises(OntologyError, match=r"mine\.ttl"):
        read_rdf(file, ontology, "mine")


def test_a_broken_reference_says_so(tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(b"no database" * 1000)
    with pytest.raises(WorkspaceError, match="delete the file"):
        PlaceReference(tmp_path / FILE)


# which places names mean


@dataclass(frozen=True)
class Wanted:
    """A name in a document and the place that it means."""

    document: str
    key: tuple[NamedNode, str]
    id: str
    text: str


def cases(ontology: Ontology) -> Iterator[tuple[Extraction, list[Wanted]]]:
    """The documents of the list of places in context, each as what was read in it, with what is wanted."""
    paragraphs = [part for part in CASES.read_text(encoding="utf-8").split("\n\n") if not part.startswith("#")]
    for number, paragraph in enumerate(paragraphs):
        iri, mentions, wanted, position, text = f"https://example.org/document/{number}", [], [], 0, ""
        for match in re.finditer(r"\[([^|\]]+)\|(\w+)\|([^\]]+)\]", paragraph):
            text += paragraph[position : match.start()]
            type_ = ontology.class_named(match[2]).iri
            mentions.append(Mention(match[1], len(text), len(text) + len(match[1]), type_, match[1]))
            wanted.append(Wanted(iri, (type_, normalise(match[1])), match[3], paragraph))
            text, position = text + match[1], match.end()
        yield Extraction(NamedNode(f"{iri}/chunk/0"), tuple(mentions)), wanted


def resolved(extractions: list[Extraction], reference: PlaceReference, ontology: Ontology) -> Resolution:
    finder = PlaceFinder(reference, ontology)
    within = {LOCATED_IN: True, NamedNode(f"{GEO}contains"): False}.get
    return resolve(read_mentions(extractions, may_be_place=finder.may_be_place, within=within), finder)


def misread(reference: PlaceReference, ontology: Ontology) -> tuple[int, list[str]]:
    """How many names of the list there are, and those that are resolved otherwise than wanted."""
    total, wrong = 0, []
    for extraction, listed in cases(ontology):
        found = resolved([extraction], reference, ontology)
        for wanted in listed:
            total += 1
            got = found.place(wanted.document, wanted.key) or "-"
            if got != wanted.id:
                wrong.append(f"{wanted.key[1]} is {got}, not {wanted.id}: {wanted.text}")
    return total, wrong


def test_places_in_context_are_resolved(reference: PlaceReference, ontology: Ontology) -> None:
    total, wrong = misread(reference, ontology)
    assert total > 80
    assert wrong == []


def test_places_in_context_are_resolved_among_all_divisions_of_china(test_data: Path, ontology: Ontology) -> None:
    folder = test_data / "corpora" / CHINA
    if not folder.is_dir():
        pytest.skip(f"no folder {folder}")
    divisions = read_divisions([folder], country="CN", ontology=ontology)
    assert [level.rows for level in divisions.levels] == [31, 342, 2978, 41352]
    assert divisions.refused == ()
    reference = PlaceReference(None)
    read_world(reference, ontology)
    assert reference.replace("cn", divisions.places, digest=divisions.digest) > 44_000
    total, wrong = misread(reference, ontology)
    reference.close()
    assert len(wrong) <= total / 50, wrong


def test_a_name_may_mean_different_places_in_different_documents(reference: PlaceReference, ontology: Ontology) -> None:
    county, city = (NamedNode(f"{GEO}{name}") for name in ("County", "City"))

    def document(number: int, *names: tuple[str, NamedNode]) -> Extraction:
        mentions = tuple(Mention(name, 20 * n, 20 * n + 3, type_, name) for n, (name, type_) in enumerate(names))
        return Extraction(NamedNode(f"https://example.org/document/{number}/chunk/0"), mentions)

    hangzhou = document(1, ("杭州市", city), ("西湖区", county))
    nanchang = document(2, ("南昌市", city), ("西湖区", county))
    plain = document(3, ("西湖区", county))
    found = resolved([hangzhou, nanchang, plain], reference, ontology)
    assert found.place("https://example.org/document/1", (county, "西湖区")) == "cn-330106"
    assert found.place("https://example.org/document/2", (county, "西湖区")) == "cn-360103"
    assert found.place("https://example.org/document/3", (county, "西湖区")) is None
    alone = resolved([plain], reference, ontology)
    assert alone.unclear == {(county, "西湖区"): ("cn-330106", "cn-360103")}
    with_one = resolved([plain, hangzhou], reference, ontology)
    assert with_one.place("https://example.org/document/3", (county, "西湖区")) == "cn-330106"


def test_the_column_of_a_table_is_believed_and_a_guess_is_not(reference: PlaceReference, ontology: Ontology) -> None:
    town = NamedNode(f"{GEO}Township")
    mention = Mention("Hangzhou", 0, 8, town, "Hangzhou")
    chunk = NamedNode("https://example.org/document/1/chunk/0")
    assert resolved([Extraction(chunk, (mention,))], reference, ontology).names == {(town, "hangzhou"): "cn-330100"}
    assert resolved([Extraction(chunk, (mention,), method="table")], reference, ontology).names == {}


# in the graph

HANGZHOU = "Lingyin Temple is an attraction in Hangzhou. Hangzhou is a city in Zhejiang Province.\n"
CHINESE = "灵隐寺位于杭州市西湖区。杭州市位于浙江省。\n"


@pytest.fixture
def kg(tmp_path: Path) -> Iterator[KnowledgeGraph]:
    with KnowledgeGraph.create(tmp_path / "workspace", ontology="travel") as graph:
        graph.__dict__["embedder"] = HashEmbedder()
        yield graph


@pytest.fixture
def workspace(tmp_path: Path) -> str:
    KnowledgeGraph.create(tmp_path / "workspace", ontology="travel").close()
    return str(tmp_path / "workspace")


def add(kg: KnowledgeGraph, folder: Path, **notes: str) -> None:
    for name, text in notes.items():
        (folder / f"{name}.txt").write_text(text, encoding="utf-8")
        assert [item.outcome for item in kg.add(folder / f"{name}.txt", build=False)] == ["added"]
    kg.build("link")


def place(kg: KnowledgeGraph, id_: str) -> NamedNode:
    return NamedNode(f"{kg.base}place/{id_}")


def graph_of(kg: KnowledgeGraph, source: str) -> set[Triple]:
    return {quad.triple for quad in kg.store.quads(graph=NamedNode(f"{kg.base}graph/places/{source}"))}


def test_a_place_comes_with_all_that_it_lies_in_and_goes_with_its_last_document(
    kg: KnowledgeGraph, tmp_path: Path
) -> None:
    assert graph_of(kg, WORLD) == set()
    add(kg, tmp_path, one=HANGZHOU)
    chain = [place(kg, id_) for id_ in ("cn-330100", "cn-330000", "cn", "asia")]
    for lower, upper in pairwise(chain):
        assert Triple(lower, LOCATED_IN, upper) in graph_of(kg, WORLD)
        assert kg.store.has(Triple(lower, LOCATED_IN, upper))
    countries = [
        q.subject
        for q in kg.store.quads(None, TYPE, NamedNode(f"{GEO}Country"), NamedNode(f"{kg.base}graph/places/world"))
    ]
    assert countries == [place(kg, "cn")]
    assert kg.dataset.violations() == (frozenset(), frozenset())
    kg.remove("one.txt")
    assert graph_of(kg, WORLD) == set()
    assert not any("/place/" in str(quad) for quad in kg.store.quads())


def test_names_in_both_languages_become_one_place_with_one_label_each(kg: KnowledgeGraph, tmp_path: Path) -> None:
    add(kg, tmp_path, one=HANGZHOU, two=CHINESE)
    hangzhou = place(kg, "cn-330100")
    assert set(kg.store.objects(hangzhou, LABEL)) == {
        Literal("Hangzhou", language="en"),
        Literal("杭州市", language="zh"),
    }
    assert Literal("杭州", language="zh") in set(kg.store.objects(hangzhou, ALT_LABEL))
    assert set(kg.store.objects(hangzhou, TYPE)) == {NamedNode(f"{GEO}City")}
    temples = [q.subject for q in kg.store.quads(None, LOCATED_IN, hangzhou) if "temple" in str(q.subject)]
    assert temples


def test_the_graph_does_not_depend_on_the_order_of_the_documents(tmp_path: Path) -> None:
    dumps = []
    for number, names in enumerate((("one", "two"), ("two", "one"))):
        folder = tmp_path / str(number)
        folder.mkdir()
        with KnowledgeGraph.create(folder / "workspace", ontology="travel") as kg:
            kg.__dict__["embedder"] = HashEmbedder()
            for name in names:
                add(kg, folder, **{name: {"one": HANGZHOU, "two": CHINESE}[name]})
            dumps.append({quad.triple for quad in kg.store.quads(graph=None) if "/graph/" in str(quad.graph_name)})
    assert dumps[0] == dumps[1]


def test_questions_reach_up_the_hierarchy(kg: KnowledgeGraph, tmp_path: Path) -> None:
    add(kg, tmp_path, one=HANGZHOU)
    for question in ("Which attractions are in Zhejiang?", "Which attractions are in Asia?", "浙江有哪些景点?"):
        answer = kg.ask(question)
        assert answer.verdict is Verdict.ANSWERED, question
        assert answer.values == ("Lingyin Temple",), question
    assert kg.ask("Is Hangzhou in China?").text.startswith("Yes")
    assert kg.ask("Is China in Hangzhou?").text.startswith("No")
    assert kg.ask("Which province is Hangzhou in?").values == ("Zhejiang",)
    assert kg.ask("Which countries are there?").values == ("China",)


def test_what_contradicts_the_hierarchy_is_read_but_not_stated(kg: KnowledgeGraph, tmp_path: Path) -> None:
    add(
        kg, tmp_path, one=f"{HANGZHOU}Hangzhou is located in Lingyin Temple. Hangzhou is located in Jiangsu Province.\n"
    )
    above = set(kg.store.objects(place(kg, "cn-330100"), LOCATED_IN))
    assert above == {place(kg, "cn-330000")}
    claims = [claim for extraction in kg.registry.extractions() for claim in extraction.claims]
    assert any(claim.predicate == LOCATED_IN and "Jiangsu" in str(claim.object) for claim in claims)
    assert kg.registry.linking().refused
    assert kg.dataset.violations() == (frozenset(), frozenset())


def test_homonyms_keep_their_documents_apart_in_the_graph(
    tmp_path: Path, workspace: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with KnowledgeGraph.open(workspace) as kg:
        kg.__dict__["embedder"] = HashEmbedder()
        add(kg, tmp_path, one="灵隐寺位于杭州市西湖区。\n", two="滕王阁在南昌市。青云寺位于南昌市西湖区。\n")
    assert main(["places", "add", str(DIVISIONS), "--country", "CN", "-w", workspace]) == 0
    printed = capsys.readouterr()
    assert "11 rows       11 places" in printed.out
    assert "4 rows stand in" in printed.out
    with KnowledgeGraph.open(workspace) as again:
        lakes = [place(again, id_) for id_ in ("cn-330106", "cn-360103")]
        held = {lake: {str(q.subject) for q in again.store.quads(None, LOCATED_IN, lake)} for lake in lakes}
        assert any("灵隐寺" in subject for subject in held[lakes[0]])
        assert any("青云寺" in subject for subject in held[lakes[1]])
        assert not held[lakes[0]] & held[lakes[1]]
        assert again.dataset.violations() == (frozenset(), frozenset())
        assert again.ask("杭州市西湖区有哪些景点?").values == ("灵隐寺",)


def test_an_entity_that_a_person_describes_with_the_code_is_the_place(kg: KnowledgeGraph, tmp_path: Path) -> None:
    kg.update(
        f"INSERT DATA {{ <{kg.base}entity/mine> a geo:City ; "
        'rdfs:label "Hangzhou City"@en ; geo:officialCode "330100" }'
    )
    add(kg, tmp_path, one=HANGZHOU)
    mine = NamedNode(f"{kg.base}entity/mine")
    assert Triple(mine, LOCATED_IN, place(kg, "cn-330000")) in graph_of(kg, WORLD)
    assert not any(quad for quad in kg.store.quads(place(kg, "cn-330100")))


def test_the_world_part_can_be_switched_off(tmp_path: Path) -> None:
    KnowledgeGraph.create(tmp_path / "workspace", ontology="travel").close()
    settings = tmp_path / "workspace" / "kgplatform.toml"
    settings.write_text(settings.read_text(encoding="utf-8") + "[places]\nworld = false\n", encoding="utf-8")
    with KnowledgeGraph.open(tmp_path / "workspace") as kg:
        kg.__dict__["embedder"] = HashEmbedder()
        add(kg, tmp_path, one=HANGZHOU)
        assert graph_of(kg, WORLD) == set()


def test_an_ontology_without_places_has_no_reference(tmp_path: Path) -> None:
    with KnowledgeGraph.create(tmp_path / "workspace", ontology="core") as kg:
        with open_places(kg.folder / FILE, kg.dataset, kg.ontology, world=True) as stage:
            assert stage is None
        kg.__dict__["embedder"] = HashEmbedder()
        kg.build("link")
        assert not (kg.folder / FILE).exists()


# the command line


def test_places_are_listed_added_found_and_removed(workspace: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["places", "add", str(DIVISIONS), "--country", "CN", "-w", workspace]) == 0
    assert "56 places of CN" in capsys.readouterr().err
    assert main(["places", "-w", workspace]) == 0
    listed = capsys.readouterr().out
    assert "world      7 continent, " in listed
    assert "22 county" in listed
    assert main(["places", "find", "西湖区", "-w", workspace]) == 0
    found = capsys.readouterr().out
    assert "西湖区 < Hangzhou < Zhejiang < China < Asia" in found
    assert "西湖区 < Nanchang < Jiangxi < China < Asia" in found
    assert main(["places", "find", "西湖区", "-w", workspace, "--format", "json"]) == 0
    assert [item["id"] for item in json.loads(capsys.readouterr().out)] == ["cn-330106", "cn-360103"]
    assert main(["places", "remove", "cn", "-w", workspace]) == 0
    assert main(["places", "find", "西湖区", "-w", workspace]) == 1
    assert main(["places", "-w", workspace, "--format", "json"]) == 0
    assert '"cn"' not in capsys.readouterr().out.replace("removed cn", "")


@pytest.mark.parametrize(
    ("arguments", "status", "complaint"),
    [
        (["add"], 2, "needs a FOLDER or FILEs"),
        (["add", str(DIVISIONS)], 2, "need --country"),
        (["add", str(DIVISIONS), "--country", "China"], 2, "two letters"),
        (["add", str(DIVISIONS), "--country", "CN", "--levels", "Realm"], 1, "no class is called"),
        (["add", "nowhere", "--country", "CN"], 1, "no such file or folder"),
        (["find"], 2, "needs one NAME"),
        (["remove", "cn"], 1, "there is no reference 'cn'; there are world"),
        (["remove", "world"], 2, "world = false"),
    ],
)
def test_places_used_wrongly_says_what_to_do(
    workspace: str, capsys: pytest.CaptureFixture[str], arguments: list[str], status: int, complaint: str
) -> None:
    assert main(["places", *arguments, "-w", workspace]) == status
    printed = capsys.readouterr().err
    assert complaint in printed
    assert len(printed.splitlines()) == 1


def test_a_thing_is_not_the_township_that_is_called_after_it(tmp_path):
    table = tmp_path / "townships.csv"
    rows = [f"36010{number // 1000 + 3}{number % 1000:03},试验{number}街道,360103" for number in range(1100)]
    table.write_text("\n".join(["code,name,parentCode", "360103007,绳金塔街道,360103", *rows[10:]]), "utf-8")
    counties, cities, provinces = (tmp_path / f"{name}.csv" for name in ("counties", "cities", "provinces"))
    counties.write_text("code,name,parentCode\n360103,西湖区,3601\n360104,青云谱区,3601\n", "utf-8")
    cities.write_text("code,name,parentCode\n3601,南昌市,36\n", "utf-8")
    provinces.write_text("code,name\n36,江西省\n", "utf-8")
    note = tmp_path / "note.md"
    note.write_text("# 南昌\n\n南昌市西湖区有绳金塔。绳金塔很高。", "utf-8")
    assert main(["create", str(tmp_path / "kg"), "--ontology", "travel"]) == 0
    tables = [str(path) for path in (provinces, cities, counties, table)]
    assert main(["places", "add", *tables, "--country", "CN", "-w", str(tmp_path / "kg")]) in (0, 1)
    assert main(["add", str(note), "-w", str(tmp_path / "kg")]) == 0
    with KnowledgeGraph.open(tmp_path / "kg") as kg:
        found = kg.query('SELECT ?s { ?s rdfs:label "绳金塔"@zh ; a travel:Pagoda }')
        assert len(found.rows) == 1
        assert "/entity/" in found.rows[0][0].value
