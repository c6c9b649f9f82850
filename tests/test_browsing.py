"""The pages of things, of classes and properties, Explore and the map, over a country; and what large graphs cost."""

import csv
import html
import io
import json
import re
from collections import Counter
from urllib.parse import unquote_plus

import pytest
from atlas_study import EVIL, EVILS, HOTELS, LEVELS, LONG, country, geo, thing, travel
from hypothesis import given
from hypothesis import strategies as st
from pyoxigraph import BlankNode, Literal, NamedNode, Quad, RdfFormat, Triple
from werkzeug.datastructures import MultiDict

from kgplatform.entities import EntityStatements, Labels, Turned, describe
from kgplatform.errors import ConfigError
from kgplatform.graph import KnowledgeGraph
from kgplatform.ontology.schema import Ontology, OntologyClass
from kgplatform.server.app import create_app
from kgplatform.server.frame import Lately
from kgplatform.server.pages.entity import DirectedRelation, Surroundings
from kgplatform.server.pages.explore import Exploration, ExploreStep, PrefixedNames, read, shortest
from kgplatform.server.pages.terms import Members, tree
from kgplatform.server.pages.workbench import schema_record
from kgplatform.server.places import Spot, Ways, atlas, hierarchy_of, levels, read_bounds, spot_of, texts
from kgplatform.settings import MapSettings, Settings, checked_tiles
from kgplatform.store.oxigraph import DEFAULT_GRAPH, Store, parse
from kgplatform.vocab import CORE, LABEL, TYPE, XSD_DECIMAL, prefixes_of

HOTEL = "https://w3id.org/kgplatform/travel%23Hotel"
FOCUS = "/explore?focus=kg:entity/hotel-2"
_MORE = r'←</span> located in[^\n]*\n<span class="buttons"><a class="button small" href="([^"]+)" data-step'


@pytest.fixture(scope="module")
def kg(tmp_path_factory):
    with country(tmp_path_factory.mktemp("country")) as found:
        yield found


@pytest.fixture(scope="module")
def client(kg):
    return create_app(kg).test_client()


def get(client, path, status=200):
    response = client.get(path, headers={"Accept": "text/html"}, follow_redirects=True)
    assert response.status_code == status, response.text[-600:]
    return response.text


def words(text):
    return html.unescape(re.sub(r"<[^>]+>", " ", text))


def headed(page):
    return words(re.search(r"<h1.*?</h1>", page, re.DOTALL)[0])


def rows(client, path):
    return list(csv.reader(io.StringIO(client.get(path).text.removeprefix("\ufeff"))))


def inline(text):
    """The data of the first picture of a page."""
    return json.loads(re.search(r'<figure[^>]*>.*?<script type="application/json">(.*?)</script>', text, re.DOTALL)[1])


# things


@pytest.mark.parametrize(("language", "at"), [("en", 2), ("zh", 3)])
def test_a_thing_says_what_it_lies_in_from_the_continent_down(client, language, at):
    crumbs = re.search(r'class="crumbs path".*?</nav>', get(client, f"/id/entity/hotel-2?lang={language}"), re.DOTALL)
    assert re.findall(r"<bdi>(.*?)</bdi>", crumbs[0]) == [level[at] for level in LEVELS]


def test_a_thing_shows_facts_inferences_picture_and_position(client):
    page = get(client, "/id/entity/hotel-2?lang=en")
    folded = re.search(r'<details class="folded"><summary>5 inferred</summary>(.*?)</details>', page, re.DOTALL)
    assert "China" in folded[1]
    assert "China" not in page[page.index('<dl class="facts">') : folded.start()]
    assert {node["label"] for node in inline(page)["nodes"]} == {"Hotel 02", "Wuzhen"}
    assert "SELECT" in inline(page)["query"]
    assert ["room count", "12", "", "room", "asserted", ""] in rows(client, "/id/entity/hotel-2?format=csv&lang=en")
    page = get(client, "/id/entity/hotel-1?lang=en")
    assert "Hotel 01 has no coordinates of its own; Tongxiang is shown." in words(page)
    assert 'data-view="map"' not in get(client, f"/id/entity/hotel-{HOTELS - 1}")


def test_what_refers_to_a_thing_is_counted_and_turned_by_pages(client):
    seen = []
    for number in (1, 2, 3):
        page = get(client, f"/id/entity/wuzhen?lang=en&by={geo('locatedIn').value.replace('#', '%23')}&page={number}")
        seen += re.findall(r"/id/entity/((?:hotel|evil)-\d+)", page[page.index("Referenced by") : page.index("<aside")])
    assert len(seen) == len(set(seen)) == HOTELS - 1 + len(EVILS)
    assert "51–63 of 63" in words(page)
    assert rows(client, "/id/entity/wuzhen?format=csv&table=incoming&lang=en")[1][3] == "63"


# names that mean harm, or say nothing


@pytest.mark.parametrize(
    "path",
    [
        *(f"/id/entity/evil-{n}" for n in range(len(EVILS))),
        *(f"/map?class={HOTEL}", "/id/entity/nameless", "/explore", f"/resource?iri={HOTEL}"),
        "/explore?focus=kg:entity/nameless&expand=in 25 geo:near kg:entity/nameless",
        *("/property/travel:address", f"/explore?name={EVIL}", f"/ontology?q={EVIL}"),
    ],
)
def test_hostile_names_stay_text(client, path):
    response = client.get(path, headers={"Accept": "text/html"}, follow_redirects=True)
    assert response.status_code in (200, 404)
    assert "<script>alert" not in response.text
    assert "<img src=x" not in response.text


def test_things_without_a_short_name_are_called_by_their_address_or_what_is_said_of_them(client, kg):
    page = get(client, "/id/entity/nameless")
    assert LONG.strip() not in words(page)
    assert "Very long name" in words(page)
    assert "<bdi>nameless</bdi>" in page
    labels = Labels(kg.dataset, kg.ontology, "en")
    kg.store.apply(added=[Quad(BlankNode("unnamed"), travel("roomCount"), Literal("3"), DEFAULT_GRAPH)])
    try:
        assert labels.reference(BlankNode("unnamed")).label == "[ room count: 3 ]"
        assert labels.reference(BlankNode("other")).label == "_:other"
    finally:
        kg.store.update('DELETE WHERE { ?s <https://w3id.org/kgplatform/travel#roomCount> "3" }')
    assert labels.of(thing("乌镇-4a75adc2")).text == "乌镇"
    assert labels.of(NamedNode("https://elsewhere.example/report-20240101")).text.endswith("20240101")


def test_names_are_shown_in_a_language_of_their_own_in_the_pages_of_another(tmp_path):
    names = {"de": "Füße", "en": "Feet", "zh": "脚"}
    with KnowledgeGraph.create(tmp_path / "w", ontology="core") as small:
        client = create_app(small).test_client()
        small.dataset.state(
            [Triple(thing("x"), TYPE, thing("Kind")), Triple(thing("x"), LABEL, Literal("Füße", language="de"))]
        )
        assert "Füße" in headed(get(client, "/id/entity/x?lang=zh"))  # better than none
        assert ">kind</a>" in get(client, "/ontology?lang=zh")
        small.dataset.state(Triple(thing("x"), LABEL, Literal(text, language=tag)) for tag, text in names.items())
        assert "Feet" in headed(get(client, "/id/entity/x?lang=en"))
        about = get(client, "/about?data=de")
        assert "<option selected>de</option>" in about
        assert "Names of entities" in about
        shown = get(client, "/id/entity/x")
        assert "Füße" in headed(shown)
        assert '<html lang="en"' in shown
        assert "脚" in headed(get(client, "/id/entity/x?lang=zh&data=sv"))
        get(client, "/about?data=")
        assert "脚" in headed(get(client, "/id/entity/x?lang=zh"))
        get(client, "/about?lang=en&data=%22%3E%3Cscript%3E")
        assert "Feet" in headed(get(client, "/id/entity/x?lang=en"))


# explore


def test_relations_are_counted_before_they_are_followed_and_come_by_25(client):
    page = get(client, "/explore?focus=kg:entity/wuzhen&bare=1&lang=en")
    assert "0 of 63" in words(page)
    shown = [len(inline(page)["nodes"])]
    while link := re.search(_MORE, page):
        page = get(client, html.unescape(link[1]))
        shown.append(len(inline(page)["nodes"]))
    assert shown == [1, 26, 51, 64]
    assert "63 of 63" in words(page)


def test_an_exploration_begins_with_some_of_each_relation_and_opens_what_is_clicked(client):
    page = get(client, "/explore?focus=kg:entity/wuzhen&lang=en")
    things = [node["id"].rpartition("/")[2] for node in inline(page)["nodes"]]
    assert len(things) == 19
    assert "tongxiang" in things  # the one that it lies in, among the many that lie in it
    link = html.unescape(re.search(r'data-of="[^"]*tongxiang" data-open="([^"]+)"', page)[1])
    address = client.get(link).headers["Location"]
    assert "open=" not in address
    assert len(inline(get(client, address))["nodes"]) > 19
    emptied = Exploration(thing("a"), (ExploreStep(thing("a"), DirectedRelation(geo("near"), inward=False)),))
    emptied = emptied.without_step(thing("a"), DirectedRelation(geo("near"), inward=False))
    assert emptied.bare  # what was taken away does not come back by itself
    assert not emptied.begins
    assert client.get("/explore?focus=kg:entity/wuzhen&open=no iri").status_code == 404


def test_links_add_hidden_things_go_and_pinned_ones_stay(client):
    page = get(client, f"{FOCUS}&bare=1&lang=en")
    links = re.findall(r'<a class="button small" href="([^"]+)" data-step', page)
    assert links
    assert all(len(inline(get(client, html.unescape(link)))["nodes"]) > len(inline(page)["nodes"]) for link in links)
    base = f"{FOCUS}&expand=out 25 geo:locatedIn kg:entity/hotel-2"
    hidden = get(client, f"{base}&hide=kg:entity/china&lang=en")
    assert len(inline(hidden)["nodes"]) == len(inline(get(client, base))["nodes"]) - 1
    assert "1 hidden" in words(hidden)
    pinned = inline(get(client, f"{FOCUS}&pin=kg:entity/asia"))
    assert [node["label"] for node in pinned["nodes"]] == ["Hotel 02", "Asia"]


def test_a_path_goes_by_what_is_stated_and_a_search_that_looks_at_too_much_says_so(client, kg):
    assert "5 steps from Hotel 02 to China" in words(get(client, f"{FOCUS}&from=Hotel 02&to=中国&lang=en"))
    apart = get(client, f"{FOCUS}&from=Hotel {HOTELS - 1}&to=China&hops=3&lang=en")
    assert f"No path from Hotel {HOTELS - 1} to China within 3 steps" in words(apart)
    unknown = get(client, f"{FOCUS}&from=Hotel 02&to=Atlantis&lang=en", 404)
    assert "Nothing named “Atlantis”" in words(unknown)
    surroundings = Surroundings(kg.dataset, kg.ontology, Labels(kg.dataset, kg.ontology, "en"))
    way = shortest(kg.dataset, kg.ontology, surroundings, (thing("hotel-2"), thing("asia")), hops=8, most=20)
    assert way.gave_up
    assert not way.statements


@pytest.mark.parametrize(("format_", "begins"), [("json", "{"), ("turtle", "@prefix"), ("csv", "\ufeffEntity")])
def test_what_is_explored_is_taken_away(client, format_, begins):
    address = f"/explore?focus=kg:entity/wuzhen&expand=in 25 geo:locatedIn kg:entity/wuzhen&format={format_}&lang=en"
    response = client.get(address)
    assert response.text.startswith(begins)
    assert "attachment" in response.headers["Content-Disposition"]
    if format_ == "turtle":
        objects = {quad.object for quad in parse(response.data, RdfFormat.TURTLE)}
        assert Literal("Hotel 00", language="en") in objects


@pytest.mark.parametrize(
    ("path", "status"),
    [
        *(("/explore?focus=no iri at all", 404), ("/explore?focus=kg:entity/none", 404), ("/class/Unicorn", 404)),
        *(("/explore?focus=kg:entity/x&expand=sideways 1 a b", 404), ("/property/hasHorn", 404)),
        *(("/map?bbox=1,2,3", 400), ("/map?bbox=a,b,c,d", 400), ("/map?bbox=0,50,1,40", 400)),
        *(("/id/entity/wuzhen?by=not an iri&page=2", 404), ("/id/entity/wuzhen?by=http://x/y&page=two", 404)),
    ],
)
def test_a_state_that_cannot_be_is_a_page_that_says_so(client, path, status):
    get(client, path, status)


_IRIS = st.sampled_from(
    [thing("a"), thing("b/c"), geo("near"), travel("Hotel"), NamedNode("urn:x:y"), NamedNode("http://e.org/ä?b=c&d")]
)
_STEPS = st.builds(ExploreStep, _IRIS, st.builds(DirectedRelation, _IRIS, st.booleans()), st.integers(1, 1000))
_STATES = st.builds(
    Exploration,
    focus=_IRIS,
    steps=st.lists(_STEPS, max_size=3, unique_by=lambda s: (s.thing, s.relation)).map(tuple),
    pinned=st.lists(_IRIS, unique=True, max_size=3).map(tuple),
    hidden=st.lists(_IRIS, unique=True, max_size=3).map(tuple),
    path=st.none() | st.tuples(_IRIS, _IRIS),
)


@given(_STATES)
def test_an_exploration_is_read_from_its_address_as_it_was(state):
    names = PrefixedNames(prefixes_of("https://example.org/kg/"))
    assert read(MultiDict(state.words(names.write)), names) == state


# the map


def test_the_map_counts_what_lies_below_each_place(client):
    page = get(client, f"/map?class={HOTEL}&lang=en")
    assert "64 hotels, 63 of them with coordinates." in words(page)
    assert "29 without coordinates are drawn" in words(page)
    assert "1 without a position is only in the table" in words(page)
    for name in ("Asia", "China", "Zhejiang", "Jiaxing", "Tongxiang", "Wuzhen"):
        level = rf'<li><a href="([^"]+)"><bdi>{name}</bdi></a>.*?<span class=\"num\">(\d+)</span>'
        address, number = re.search(level, page, re.DOTALL).groups()
        assert number == "63"
        page = get(client, html.unescape(address))
    assert 'class="levels"' not in page
    lost = rows(client, f"/map?class={HOTEL}&format=csv&table=lost")
    assert [row[0] for row in lost[1:]] == [f"Hotel {HOTELS - 1}"]


def test_the_list_holds_what_is_in_the_frame(client):
    frame = f"/map?class={HOTEL}&bbox=120.39,30.69,120.405,30.71"
    table = rows(client, f"{frame}&format=csv&lang=en")
    assert [row[0] for row in table[1:]] == ["Hotel 00", "Hotel 02", "Hotel 04"]
    assert table[1][2:4] == ["30.7", "120.4"]
    picture = inline(get(client, frame))
    assert picture["bbox"] == [120.39, 30.69, 120.405, 30.71]
    assert "SELECT" in picture["query"]


def placed(**spots):
    pairs = [(thing(name), spot) for name, spot in spots.items()]
    quads = [Quad(a, geo("latitude"), Literal(spot[0]), DEFAULT_GRAPH) for a, spot in pairs]
    store = Store.open()
    store.apply(added=[*quads, *(Quad(a, geo("longitude"), Literal(spot[1]), DEFAULT_GRAPH) for a, spot in pairs)])
    return store


def test_a_frame_across_the_date_line_holds_both_sides():
    frame = read_bounds("170,-20,-170,20")
    store = placed(fiji=(-17.0, 178.0), samoa=(-13.0, -172.0), spain=(10.0, 0.0))
    assert [n for n in ("fiji", "samoa", "spain") if frame.holds(spot_of(store, thing(n)))] == ["fiji", "samoa"]


@pytest.mark.parametrize(
    "value",
    [
        *(Literal("30.5", datatype=XSD_DECIMAL), Literal(-12), Literal(1.5e1), Literal("30.25"), Literal("30.25 N")),
        *(Literal("30.25", language="en"), Literal("1_0"), Literal("nan"), Literal("91"), thing("b")),
    ],
)
def test_a_position_is_read_alike_for_one_thing_and_for_all(value):
    store = Store.open()
    pairs = ((geo("latitude"), value), (geo("longitude"), Literal("120.5", datatype=XSD_DECIMAL)))
    store.apply(added=[Quad(thing("a"), name, term, DEFAULT_GRAPH) for name, term in pairs])
    expected = spot_of(store, thing("a")) if value != Literal("1_0") else None  # Python would read that as ten
    assert atlas(store, Ways((), ())).spots.get(thing("a").value) == expected


def lies(*pairs):
    store = Store.open()
    store.apply(added=[Quad(thing(a), geo("locatedIn"), thing(b), DEFAULT_GRAPH) for a, b in pairs])
    return store, Ways((geo("locatedIn"),), ())


def test_what_lies_in_two_places_beside_each_other_is_put_into_neither():
    store, by = lies(("danube", "austria"), ("danube", "hungary"), ("austria", "europe"), ("hungary", "europe"))
    assert hierarchy_of(store, thing("danube"), by) == (thing("europe"),)
    known = atlas(store, by)
    austria, hungary, europe, danube = (thing(name).value for name in ("austria", "hungary", "europe", "danube"))
    assert known.counts([danube]) == {austria: 1, hungary: 1, europe: 1}
    assert known.nearest(danube) == {austria, hungary}
    store, by = lies("ab", "ba", "cb")  # places that lie in each other
    assert set(hierarchy_of(store, thing("c"), by)) <= {thing("a"), thing("b")}
    assert atlas(store, by).place_of(thing("c").value) is None


def test_a_place_without_coordinates_is_in_the_middle_of_what_it_holds_and_says_so(client):
    store, by = lies(("inn", "town"), ("tea", "town"), ("mill", "town"), ("town", "land"), ("nowhere", "town"))
    for name, spot in {"inn": (10.0, 20.0), "tea": (12.0, 22.0), "mill": (50.0, 21.0)}.items():
        pairs = zip((geo("latitude"), geo("longitude")), spot, strict=True)
        store.apply(added=[Quad(thing(name), way, Literal(at), DEFAULT_GRAPH) for way, at in pairs])
    known, town = atlas(store, by), thing("town").value
    assert known.place_of(town) == (Spot(12.0, 21.0), town)
    assert known.place_of(thing("nowhere").value) == (Spot(12.0, 21.0), town)
    points = {point["label"]: point for point in inline(get(client, "/map?lang=en"))["points"]}
    assert points["Zhejiang"]["approximate"]
    assert "approximate" not in points["Tongxiang"]
    assert "are drawn at the median position" in words(get(client, "/map?lang=en"))
    entity = get(client, "/id/entity/zhejiang?lang=en").partition('data-view="map"')[2]
    record = re.search(r'<script type="application/json">(.*?)</script>', entity, re.DOTALL)[1]
    assert json.loads(record)["points"][0]["approximate"]


def test_only_places_of_the_hierarchy_are_roots_of_the_tree(tmp_path):
    with country(tmp_path) as made:
        bridge, stall = thing("bridge"), thing("stall")
        said = [Triple(bridge, TYPE, travel("Bridge")), Triple(bridge, LABEL, Literal("Long Bridge", language="en"))]
        said += [Triple(stall, TYPE, travel("Hotel")), Triple(stall, geo("locatedIn"), bridge)]
        made.dataset.state(said)
        made.build()
        assert {geo("Continent"), geo("Township")} <= levels(made.ontology)
        assert not {travel("Bridge"), travel("Hotel")} & levels(made.ontology)
        page = get(create_app(made).test_client(), "/map?lang=en")
        tree_, beside = page.split("Not in any region", 1)
        assert "Long Bridge" not in tree_.split('class="levels"')[1]
        assert "Long Bridge" in beside.split("data-part")[0]
        wuzhen = tree_.index("<bdi>Wuzhen</bdi>")  # six levels down, and open: there is room for all of them
        assert tree_.index("<bdi>Asia</bdi>") < tree_.index("<bdi>Zhejiang</bdi>") < wuzhen


def test_outlines_and_tiles_come_only_where_the_settings_name_sound_ones(client, kg):
    assert Settings().map == MapSettings("", "")
    assert "img-src 'self' data: blob:;" in client.get("/map").headers["Content-Security-Policy"]
    assert client.get("/api/map/boundaries").status_code == 404
    object.__setattr__(kg.settings, "map", MapSettings(boundaries="own.geojson"))
    try:
        own = create_app(kg).test_client()
        assert own.get("/api/map/boundaries").status_code == 400
        (kg.folder / "own.geojson").write_text('{"type": "FeatureCollection", "features": []}', encoding="utf-8")
        assert own.get("/api/map/boundaries").get_json()["features"] == []
    finally:
        object.__setattr__(kg.settings, "map", MapSettings())
    for tiles in ("https://x.org/tiles.png", "javascript:{z}{x}{y}", "https://x.org; script-src *;/{z}/{x}/{y}"):
        with pytest.raises(ConfigError, match=r"map\.tiles"):
            checked_tiles(tiles)


# classes and properties


def test_a_class_page_says_which_share_of_the_things_has_what(client):
    page = get(client, "/class/travel:Hotel?lang=en")
    assert "64 instances" in words(page)
    assert "targetClass" in page
    found = {row[0]: row for row in rows(client, f"/resource?iri={HOTEL}&format=csv&table=properties&lang=en")}
    assert found["room count"][2:5] == ["94 %", "60", "10 – 16"]
    assert len(rows(client, f"/resource?iri={HOTEL}&format=csv&table=things")) == 65
    for name in ("Hotel", "travel:Hotel", "酒店", HOTEL):
        assert client.get(f"/class/{name}").headers["Location"].endswith("travel%23Hotel")


def test_the_example_queries_of_a_class_and_a_property_all_give_rows(kg, client):
    for path in ("/class/travel:Hotel", "/property/travel:roomCount", "/class/geo:Place", "/property/geo:locatedIn"):
        queries = re.findall(r'href="/query\?query=([^"]+)"', get(client, path))
        assert queries
        assert all(kg.store.query(unquote_plus(html.unescape(text))).rows for text in queries)


def test_the_ontology_is_searched_in_both_languages_and_keeps_what_is_above(client, kg):
    page = get(client, "/ontology?q=酒店&lang=en")
    assert "<mark>hotel</mark>" in page
    assert ">accommodation</a>" in page
    assert ">bridge</a>" not in page
    assert "Nothing named “qqq”" in words(get(client, "/ontology?q=qqq&lang=en"))
    assert len(rows(client, "/ontology?format=csv&table=classes")) > 50
    a, b = NamedNode("http://e.org/A"), NamedNode("http://e.org/B")
    circle = Ontology({a: OntologyClass(a, parents=(b,)), b: OntologyClass(b, parents=(a,))}, {}, {})
    shown = tree(circle, {a: 0, b: 0}, Labels(kg.dataset, circle, "en"), "en")
    assert {branch.term.iri for branch in shown} == {a, b}


# large graphs: counting by the store gives what going through the statements gives


HUB, MANY = thing("hub"), 5_300


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """A country with a hub that many things are near to, one of them both ways, and a tie without a name."""
    with country(tmp_path_factory.mktemp("large")) as made:
        link = NamedNode(f"{made.base}link/4f2a9c01d3")
        said = [Triple(HUB, LABEL, Literal("Hub", language="en")), Triple(HUB, geo("near"), thing("near-7"))]
        said += [Triple(thing(f"near-{number}"), geo("near"), HUB) for number in range(MANY)]
        said += [Triple(thing(f"near-{number}"), TYPE, travel("Hotel")) for number in range(MANY)]
        said += [
            Triple(link, NamedNode(f"{CORE}link{end}"), at) for end, at in (("From", thing("wuzhen")), ("To", HUB))
        ]
        made.dataset.state([*said, Triple(thing("near-1"), TYPE, travel("Accommodation"))])
        yield made


def by_hand(kg, iri):
    """Who refers to a thing, one statement after the other."""
    found, dataset = Counter(), kg.dataset
    for quad in kg.store.quads(None, None, iri, DEFAULT_GRAPH):
        term = kg.ontology.properties.get(quad.predicate)
        names = [term.inverse, term.iri if term.symmetric else None] if term else []
        turned = [Triple(iri, name, quad.subject) for name in names if name]
        said = next((triple for triple in turned if kg.store.has(triple)), None)
        if said is None or not (dataset.is_stated(said) or not dataset.is_stated(quad.triple)):
            found[quad.predicate] += 1
    return found


@pytest.mark.parametrize("name", ["hub", "wuzhen", "asia", "hotel-3"])
def test_who_refers_to_a_thing_is_counted_as_by_hand(large, name):
    told = EntityStatements(thing(name), large.dataset, large.ontology)
    assert told.counted("") == dict(by_hand(large, thing(name)))
    for predicate, number in told.counted("").items():
        assert sum(1 for _ in told.referring(predicate)) == number


def test_the_pages_of_a_hub_hold_each_thing_once_and_its_relations_are_counted(large):
    near, seen = geo("near"), []
    options = {"dataset": large.dataset, "ontology": large.ontology, "find_evidence": large.evidence_finder.find}
    for page in (0, 1, 211, 10_000):
        view = describe(HUB, turned=Turned(near, True, page), **options)
        group = next(item for item in view.incoming if item.predicate.iri == near)
        assert group.total == MANY - 1  # one of them the hub itself says
        seen += [subject.iri for subject in group.subjects] if page < 10_000 else []
    assert len(seen) == len(set(seen)) == 25 + 25 + 24
    labels = Labels(large.dataset, large.ontology, "en")
    surroundings = Surroundings(large.dataset, large.ontology, labels)
    counted = surroundings.relations(HUB)
    assert counted[DirectedRelation(near, inward=True)] == MANY - 1
    everything = {other for relation in counted for other in surroundings.others(HUB, relation, most=MANY)}
    assert surroundings.number_of_others(HUB, counted) == len(everything)
    assert labels.of(NamedNode(f"{large.base}link/4f2a9c01d3")).text == "Wuzhen – Hub"


def test_members_names_and_shares_of_a_large_class(large):
    members = Members(large.store, large.ontology, travel("Accommodation"))
    assert members.total == len(set(members)) == len(list(members))
    assert thing("near-1") in set(members)
    lately = Lately(large)
    assert (lately.called("乌镇", 3)[0], lately.called("hub", 3)[0]) == (thing("wuzhen"), HUB)
    assert lately.called("  ", 3) == []
    hotels = len(set(Members(large.store, large.ontology, travel("Hotel"))))
    assert lately.overview().classes[travel("Hotel")] == hotels
    record = schema_record(large, lately)
    hotel = next(item for item in record["classes"] if item["name"] == "travel:Hotel")
    names = {record["properties"][at]["name"]: number for at, number in hotel["properties"]}
    assert 0 < names["geo:near"] <= hotel["count"] == hotels


def test_facets_narrow_a_class_of_many_thousands_with_counts_of_all_of_them(large, monkeypatch):
    monkeypatch.setattr("kgplatform.server.pages.terms._FACET_SECONDS", 60.0)  # however busy the machine is
    client = create_app(large).test_client()
    where = f"/resource?iri={HOTEL}&lang=en"
    page = " ".join(words(get(client, where)).split())
    hotels = set(Members(large.store, large.ontology, travel("Hotel")))
    near = {quad.subject for quad in large.store.quads(None, geo("near"), HUB, DEFAULT_GRAPH)} & hotels
    assert len(hotels) > len(near) > 5_000
    assert f"Hub {len(near):,}" in page
    hub = re.search(r"with=(geo%3Anear[^&#\"]+)", get(client, where))[1]
    narrowed = f"{where}&with={hub}"
    assert f"{len(near):,} of {len(hotels):,}" in words(get(client, narrowed))
    listed = {row[1] for row in rows(client, f"{narrowed}&format=csv&table=things")[1:]}
    assert listed == {iri.value for iri in near}
    last = get(client, f"{narrowed}&page={len(near) // 50 + 1}")
    assert f"of {len(near):,}" in words(last)


@given(st.text(st.characters(exclude_categories=("Cs",)), max_size=40), st.sampled_from(["", "en", "zh-Hans"]))
def test_texts_are_read_as_they_are(text, language):
    store = Store.open()
    literal = Literal(text, language=language) if language else Literal(text)
    store.apply(added=[Quad(thing("a"), LABEL, literal, DEFAULT_GRAPH), Quad(thing("b"), LABEL, HUB, DEFAULT_GRAPH)])
    assert texts(store, LABEL) == [(thing("a").value, text)]
