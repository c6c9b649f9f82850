"""The administrative hierarchy: the shipped world part, tables of divisions, and which places names mean."""

import json
import re
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyoxigraph import Literal, NamedNode, Triple

from kgplatform.cli.main import main
from kgplatform.errors import ConfigError, OntologyError, ReadError, WorkspaceError
from kgplatform.graph import KnowledgeGraph
from kgplatform.linking.places.gazetteer import (
    WORLD,
    LevelWords,
    NameKind,
    PlaceReference,
    checked_country,
    key,
    padded,
    read_divisions,
    read_rdf,
    read_world,
    reading,
    short_form,
)
from kgplatform.linking.places.resolution import PlaceFinder, read_mentions, resolve
from kgplatform.models.stubs import HashEmbedder
from kgplatform.ontology import packs
from kgplatform.ontology.schema import Word
from kgplatform.text import normalise
from kgplatform.types import Extraction, Mention, Verdict
from kgplatform.vocab import ALT_LABEL, GEO, LABEL, TYPE
from kgplatform.workspace.linking_state import PLACES_FILE
from tests.workspaces import new_workspace

DATA = Path(__file__).parent / "data"
DIVISIONS = DATA / "divisions"
CASES = DATA / "places-in-context.txt"
LOCATED_IN = NamedNode(f"{GEO}locatedIn")


@pytest.fixture(scope="module")
def ontology():
    return packs.load(["travel"], folder=Path()).ontology


@pytest.fixture(scope="module")
def world(ontology):
    reference = PlaceReference(None)
    read_world(reference, ontology)
    yield reference
    reference.close()


@pytest.fixture(scope="module")
def reference(ontology):
    """The world part and a few of China's divisions."""
    found = PlaceReference(None)
    read_world(found, ontology)
    divisions = read_divisions([DIVISIONS], country="CN", ontology=ontology)
    found.replace("cn", divisions.places, digest=divisions.digest)
    yield found
    found.close()


def test_the_world_part_has_all_countries_names_codes_and_continents(world, ontology):
    counts = {iri.value.removeprefix(GEO): count for iri, count in world.sources()[0].counts.items()}
    assert (counts["Continent"], counts["Country"]) == (7, 249)
    assert counts["Province"] > 200
    assert counts["City"] > 700
    rows = world._db.execute("SELECT DISTINCT id FROM places ORDER BY id").fetchall()
    every = [world.place(row[0]) for row in rows]
    assert sum(place.above == "cn" and place.type.value == f"{GEO}Province" for place in every) == 34
    seen: Counter[tuple[str, str]] = Counter()
    for place in every:
        top = (place.id, *world.above(place.id))[-1]
        assert world.place(top).type.value == f"{GEO}Continent", place
        assert [word.language for word in place.labels] == ["en", "zh"], place
        for predicate, value in place.codes:
            assert re.fullmatch(ontology.properties[predicate].pattern or "", value), place
            seen[predicate.value, value] += 1
        codes = {predicate.value.removeprefix(GEO): value for predicate, value in place.codes}
        if place.type.value == f"{GEO}Country":
            assert codes.keys() == {"isoCode", "iso3Code", "isoNumericCode"}
            assert codes["isoCode"].lower() == place.id
    assert set(seen.values()) == {1}
    assert "world" not in " ".join(packs.shipped())
    assert not any("/place/" in iri.value for iri in (*ontology.individuals, *ontology.classes))
    before = world._db.total_changes
    read_world(world, ontology)
    assert world._db.total_changes == before


@pytest.mark.parametrize(
    ("names", "id_"),
    [
        (("China", "中华人民共和国"), "cn"), (("Zhejiang", "浙江", "浙江省"), "cn-330000"),
        (("Xi'an", "西安"), "cn-610100"),
        (("Urumqi",), "cn-650100"), (("Holland", "荷兰"), "nl"), (("U.K.",), "gb"), (("Côte d'Ivoire",), "ci"),
        (("Sao Paulo",), "br-sao-paulo"), (("加州", "加利福尼亚"), "us-ca"), (("Skåne County",), "se-m"),
    ],
)  # fmt: skip
def test_a_place_goes_by_its_names_and_short_forms(world, names, id_):
    for name in names:
        assert id_ in [found for found, _ in world.called(key(name))], name


def test_a_short_form_leaves_out_levels_and_peoples():
    forms = {
        **{"内蒙古自治区": "内蒙古", "广西壮族自治区": "广西", "黔西南布依族苗族自治州": "黔西南", "乌镇镇": "乌镇"},
        **{"伊犁哈萨克自治州": "伊犁", "香港特别行政区": "香港", "大兴安岭地区": "大兴安岭", "西湖街道": "西湖"},
        **{"加利福尼亚州": "加利福尼亚", "城区": None, "中国": None, "Zhejiang": None},
    }
    assert {name: short_form(name) for name in forms} == forms


def test_names_are_read_with_level_pinyin_and_what_they_lie_in(ontology, reference):
    finder = PlaceFinder(reference, ontology)
    for names, ids in (
        (("Zhejiang Province", "Province of Zhejiang"), ["cn-330000"]),
        (("Tongxiang County",), ["cn-330483"]),
        (("杭州市西湖区", "浙江省杭州市西湖区", "杭州西湖区", "西湖区，杭州"), ["cn-330106"]),
        (("Suzhou, Anhui",), ["cn-341300"]),
        (("Zhejiang Town", "长春市西湖区"), []),
    ):
        for name in names:
            assert [id_ for id_, _ in finder.named(name)] == ids, name
    words = LevelWords(ontology, reference.types())
    assert "geo#County" in str(next(iter(words.cores("Tongxiang City"))).types)
    assert reading("桐乡") == "Tongxiang"
    for name, id_ in (("Tongxiang", "cn-330483"), ("Chun'an", "cn-330127"), ("Wuzhen", "cn-330483100")):
        assert (id_, NameKind.READING) in reference.called(key(name))


@given(st.text(max_size=40))
def test_a_key_holds_no_blank_and_does_not_depend_on_them(text):
    assert key(f" {text}  ") == key(text)
    assert " " not in key(text)


def test_tables_are_ranked_by_their_codes_and_rows_that_stand_in_for_a_level_let_their_children_rise(
    reference, ontology
):
    found = read_divisions([DIVISIONS], country="CN", ontology=ontology)
    levels = [(item.type.value.removeprefix(GEO), item.rows, item.places, item.stand_ins) for item in found.levels]
    assert levels == [("Province", 11, 11, 0), ("City", 16, 14, 4), ("County", 23, 22, 1), ("Township", 9, 9, 0)]
    assert found.refused == ()
    assert len({place.id for place in found.places}) == len(found.places)
    for id_, above in (
        ("cn-110105", ("cn-110100", "cn-110000")),  # 朝阳区 < 北京市, the city < the municipality
        ("cn-500229", ("cn-500000", "cn")),  # under 县
        ("cn-419001", ("cn-410000", "cn")),  # under 省直辖县级行政区划
        ("cn-441900003", ("cn-441900", "cn-440000")),  # under 东莞市, which is in two tables
    ):
        assert reference.above(id_)[:2] == above
    assert reference.place("cn-110100").labels[1].text == "北京市"
    form = ontology.properties[NamedNode(f"{GEO}officialCode")]
    lengthened = {"33": "330000", "3301": "330100", "330106": "330106", "330106008": "330106008", "x": "x"}
    assert {code: padded(code, form) for code in lengthened} == lengthened
    assert padded("33", None) == "33"


def test_one_table_of_all_levels_is_read_by_its_parent_column(tmp_path, ontology):
    table = tmp_path / "gemeenten.csv"
    rows = "NH,Noord-Holland,,North Holland\nGM0363,Amsterdam,NH,\nWK01,Centrum,GM0363,\n"
    table.write_text(f"code,name,parent_code,name_en\n{rows}", encoding="utf-8")
    found = read_divisions([table], country="NL", ontology=ontology)
    wanted = [("nl-nh", "nl"), ("nl-gm0363", "nl-nh"), ("nl-wk01", "nl-gm0363")]
    assert [(place.id, place.above) for place in found.places] == wanted
    assert found.places[0].labels == (Word("Noord-Holland", "en"), Word("North Holland", "en"))


def test_rows_that_cannot_be_used_are_listed_with_their_line(tmp_path, ontology):
    (tmp_path / "a.csv").write_text("\ufeffcode,name\n33,浙江省\n33,浙江\n,安徽省\n", encoding="utf-8")
    cities = "".join(f"33{n:02},第{n}市,33\n" for n in range(1, 30))
    (tmp_path / "b.csv").write_text(f"代码,名称,上级代码\n{cities}9901,无上级市,99\n3340\n", encoding="gb18030")
    found = read_divisions([tmp_path], country="CN", ontology=ontology)
    assert found.refused == (
        "a.csv, line 3: 33 浙江: the code is another row's already",
        "a.csv, line 4:  安徽省: no code",
        "b.csv, line 31: 9901 无上级市: its parent is in no table above",
        "b.csv, line 32: 3340 : its parent is in no table above",
    )
    assert len(found.places) == 30


def test_bad_tables_give_one_clear_line(tmp_path, ontology):
    def table(name, text):
        (tmp_path / name).write_text(text, encoding="utf-8")
        return tmp_path / name

    two = [DIVISIONS / "provinces.csv", DIVISIONS / "cities.csv"]
    circle = table("circle.csv", "code,name,parent\n1,A,2\n2,B,1\n3,C,\n")
    apart = [table(f"{name}.csv", f"code,name\n{name},{name}\n") for name in "xy"]
    for files, levels, words in (
        ([tmp_path / "nowhere"], [], "no such file or folder"),
        ([table("a.csv", "place,mayor\nX,Y\n")], [], "holds no table with a column for codes"),
        ([circle], [], "in a circle, such as 1, 2"),
        (apart, [], "not levels one above the other"),
        (two, [NamedNode(f"{GEO}City")], "2 levels, but classes for 1"),
        (two[:1], [NamedNode("https://example.org/none")], "the ontology has no class"),
    ):
        with pytest.raises(ReadError, match=words):
            read_divisions(files, country="CN", ontology=ontology, levels=levels or None)
    with pytest.raises(ConfigError, match="two letters"):
        checked_country("China")
    assert checked_country("cn") == "CN"
    (tmp_path / PLACES_FILE).write_bytes(b"no database" * 1000)
    with pytest.raises(WorkspaceError, match="delete the file"):
        PlaceReference(tmp_path / PLACES_FILE)


def test_a_source_can_be_replaced_and_taken_out(ontology):
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


def test_places_may_come_as_rdf(tmp_path, ontology):
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


def resolved(extractions, reference, ontology):
    finder = PlaceFinder(reference, ontology)
    within = {LOCATED_IN: True, NamedNode(f"{GEO}contains"): False}.get
    return resolve(read_mentions(extractions, may_be_place=finder.may_be_place, within=within), finder)


def misread(reference, ontology):
    """How many names the list of places in context holds, and those that are resolved otherwise than wanted."""
    total, wrong = 0, []
    for paragraph in CASES.read_text(encoding="utf-8").split("\n\n"):
        if paragraph.startswith("#"):
            continue
        mentions, position, text = {}, 0, ""
        for match in re.finditer(r"\[([^|\]]+)\|(\w+)\|([^\]]+)\]", paragraph):
            text += paragraph[position : match.start()]
            type_ = ontology.class_named(match[2]).iri
            mentions[Mention(match[1], len(text), len(text) + len(match[1]), type_, match[1])] = match[3]
            text, position = text + match[1], match.end()
        found = resolved([Extraction(NamedNode("urn:document/chunk/0"), tuple(mentions))], reference, ontology)
        total += len(mentions)
        for mention, wanted in mentions.items():
            got = found.place("urn:document", (mention.type, normalise(mention.name))) or "-"
            if got != wanted:
                wrong.append(f"{mention.name} is {got}, not {wanted}: {paragraph}")
    return total, wrong


def test_places_in_context_are_resolved(reference, ontology):
    total, wrong = misread(reference, ontology)
    assert total > 80
    assert wrong == []


@pytest.mark.slow
def test_places_in_context_are_resolved_among_all_divisions_of_china(test_data, ontology):
    folder = test_data / "corpora" / "china-divisions"
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


def test_a_name_may_mean_different_places_in_different_documents(reference, ontology):
    county, city, town = (NamedNode(f"{GEO}{name}") for name in ("County", "City", "Township"))
    base = "https://example.org/document"

    def document(number, *names, method=""):
        mentions = tuple(Mention(name, 20 * n, 20 * n + 3, type_, name) for n, (name, type_) in enumerate(names))
        return Extraction(NamedNode(f"{base}/{number}/chunk/0"), mentions, method=method)

    hangzhou = document(1, ("杭州市", city), ("西湖区", county))
    nanchang = document(2, ("南昌市", city), ("西湖区", county))
    plain = document(3, ("西湖区", county))
    found = resolved([hangzhou, nanchang, plain], reference, ontology)
    places = [found.place(f"{base}/{number}", (county, "西湖区")) for number in (1, 2, 3)]
    assert places == ["cn-330106", "cn-360103", None]
    assert resolved([plain], reference, ontology).unclear == {(county, "西湖区"): ("cn-330106", "cn-360103")}
    with_one = resolved([plain, hangzhou], reference, ontology)
    assert with_one.place(f"{base}/3", (county, "西湖区")) == "cn-330106"
    # the class of a guess may be wrong, that of the column of a table is believed
    guess, table = (document(1, ("Hangzhou", town), method=method) for method in ("model", "table"))
    assert resolved([guess], reference, ontology).names == {(town, "hangzhou"): "cn-330100"}
    assert resolved([table], reference, ontology).names == {}


HANGZHOU = "Lingyin Temple is an attraction in Hangzhou. Hangzhou is a city in Zhejiang Province.\n"
CHINESE = "灵隐寺位于杭州市西湖区。杭州市位于浙江省。\n"


@pytest.fixture
def workspace(tmp_path):
    return str(new_workspace(tmp_path / "workspace"))


@pytest.fixture
def kg(workspace):
    with KnowledgeGraph.open(workspace) as graph:
        graph.workspace.__dict__["embedder"] = HashEmbedder()
        yield graph


def add(kg, folder, **notes):
    for name, text in notes.items():
        (folder / f"{name}.txt").write_text(text, encoding="utf-8")
        assert [item.outcome for item in kg.add(folder / f"{name}.txt", build=False)] == ["added"]
    kg.build("link")


def place(kg, id_):
    return NamedNode(f"{kg.base}place/{id_}")


def graph_of(kg, source):
    return {quad.triple for quad in kg.store.quads(graph=NamedNode(f"{kg.base}graph/places/{source}"))}


def test_a_place_comes_with_what_it_lies_in_and_goes_with_its_document(kg, tmp_path):
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


def test_names_in_both_languages_become_one_place_with_one_label_each(kg, tmp_path):
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


@pytest.mark.slow
def test_the_graph_does_not_depend_on_the_order_of_the_documents(tmp_path):
    dumps = []
    for names in (("one", "two"), ("two", "one")):
        with KnowledgeGraph.open(new_workspace(tmp_path / names[0])) as kg:
            kg.workspace.__dict__["embedder"] = HashEmbedder()
            for name in names:
                add(kg, tmp_path, **{name: {"one": HANGZHOU, "two": CHINESE}[name]})
            dumps.append({quad.triple for quad in kg.store.quads(graph=None) if "/graph/" in str(quad.graph_name)})
    assert dumps[0] == dumps[1]


def test_questions_reach_up_the_hierarchy(kg, tmp_path):
    add(kg, tmp_path, one=HANGZHOU)
    for question in ("Which attractions are in Zhejiang?", "Which attractions are in Asia?", "浙江有哪些景点?"):
        answer = kg.ask(question)
        assert answer.verdict is Verdict.ANSWERED, question
        assert answer.values == ("Lingyin Temple",), question
    assert kg.ask("Is Hangzhou in China?").text.startswith("Yes")
    assert kg.ask("Is China in Hangzhou?").text.startswith("No")
    assert kg.ask("Which province is Hangzhou in?").values == ("Zhejiang",)
    assert kg.ask("Which countries are there?").values == ("China",)


def test_what_contradicts_the_hierarchy_is_read_but_not_stated(kg, tmp_path):
    add(
        kg, tmp_path, one=f"{HANGZHOU}Hangzhou is located in Lingyin Temple. Hangzhou is located in Jiangsu Province.\n"
    )
    above = set(kg.store.objects(place(kg, "cn-330100"), LOCATED_IN))
    assert above == {place(kg, "cn-330000")}
    claims = [claim for extraction in kg.registry.extractions() for claim in extraction.claims]
    assert any(claim.predicate == LOCATED_IN and "Jiangsu" in str(claim.object) for claim in claims)
    assert kg.registry.linking().refused
    assert kg.dataset.violations() == (frozenset(), frozenset())


def test_homonyms_keep_documents_apart(tmp_path, workspace, capsys):
    with KnowledgeGraph.open(workspace) as kg:
        kg.workspace.__dict__["embedder"] = HashEmbedder()
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


def test_an_entity_that_a_person_describes_with_the_code_is_the_place(kg, tmp_path):
    kg.update(
        f"INSERT DATA {{ <{kg.base}entity/mine> a geo:City ; "
        'rdfs:label "Hangzhou City"@en ; geo:officialCode "330100" }'
    )
    add(kg, tmp_path, one=HANGZHOU)
    mine = NamedNode(f"{kg.base}entity/mine")
    assert Triple(mine, LOCATED_IN, place(kg, "cn-330000")) in graph_of(kg, WORLD)
    assert not any(quad for quad in kg.store.quads(place(kg, "cn-330100")))


def test_the_world_part_can_be_switched_off_and_an_ontology_without_places_has_none(tmp_path):
    with KnowledgeGraph.open(new_workspace(tmp_path / "workspace", settings="[places]\nworld = false")) as kg:
        kg.workspace.__dict__["embedder"] = HashEmbedder()
        add(kg, tmp_path, one=HANGZHOU)
        assert graph_of(kg, WORLD) == set()
    with KnowledgeGraph.create(tmp_path / "core", ontology="core") as kg:
        kg.workspace.__dict__["embedder"] = HashEmbedder()
        kg.build("link")
        assert not (kg.folder / PLACES_FILE).exists()


def test_places_are_listed_added_found_and_removed(workspace, capsys):
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


def test_places_used_wrongly_says_what_to_do(workspace, capsys):
    divisions = str(DIVISIONS)
    for arguments, status, complaint in (
        (["add"], 2, "needs a FOLDER or FILEs"),
        (["add", divisions], 2, "need --country"),
        (["add", divisions, "--country", "China"], 2, "two letters"),
        (["add", divisions, "--country", "CN", "--levels", "Realm"], 1, "no class is named"),
        (["add", "nowhere", "--country", "CN"], 1, "no such file or folder"),
        (["find"], 2, "needs one NAME"),
        (["remove", "cn"], 1, "there is no reference 'cn'; there are world"),
        (["remove", "world"], 2, "world = false"),
    ):
        assert main(["places", *arguments, "-w", workspace]) == status
        printed = capsys.readouterr().err
        assert complaint in printed
        assert len(printed.splitlines()) == 1


@pytest.mark.slow
def test_a_thing_is_not_the_township_that_is_called_after_it(tmp_path, workspace):
    townships = [f"36010{n // 1000 + 3}{n % 1000:03},试验{n}街道,360103" for n in range(10, 1100)]
    tables = []
    for name, rows in {
        "provinces": ["36,江西省,"],
        "cities": ["3601,南昌市,36"],
        "counties": ["360103,西湖区,3601", "360104,青云谱区,3601"],
        "townships": ["360103007,绳金塔街道,360103", *townships],
    }.items():
        tables.append(tmp_path / f"{name}.csv")
        tables[-1].write_text("\n".join(["code,name,parentCode", *rows]), "utf-8")
    note = tmp_path / "note.md"
    note.write_text("# 南昌\n\n南昌市西湖区有绳金塔。绳金塔很高。", "utf-8")
    assert main(["places", "add", *map(str, tables), "--country", "CN", "-w", workspace]) in (0, 1)
    assert main(["add", str(note), "-w", workspace]) == 0
    with KnowledgeGraph.open(workspace) as kg:
        found = kg.query('SELECT ?s { ?s rdfs:label "绳金塔"@zh ; a travel:Pagoda }')
        assert len(found.rows) == 1
        assert "/entity/" in found.rows[0][0].value
