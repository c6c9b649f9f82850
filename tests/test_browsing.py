"""The pages of things, of classes and properties, Explore and the map, as the server makes them."""

from __future__ import annotations

import csv
import html
import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote_plus

import pytest
from atlas_study import EVIL, EVILS, HOTELS, LEVELS, LONG, country, geo, thing, travel
from flask.testing import FlaskClient
from hypothesis import given
from hypothesis import strategies as st
from pyoxigraph import BlankNode, Literal, NamedNode, Quad, RdfFormat, Triple
from werkzeug.datastructures import MultiDict

from kgplatform.config import MapSettings, Settings, checked_tiles
from kgplatform.describing import Labels
from kgplatform.errors import ConfigError
from kgplatform.graph import KnowledgeGraph
from kgplatform.ontology import Ontology, OntologyClass
from kgplatform.store import DEFAULT_GRAPH, Store, parse
from kgplatform.vocab import LABEL, PREFIXES, TYPE
from kgplatform.web.app import create_app
from kgplatform.web.atlas import atlas
from kgplatform.web.exploration import Exploration, Names, Step, read
from kgplatform.web.located import Ways, hierarchy_of, read_frame, spot_of
from kgplatform.web.neighbours import Relation, Surroundings
from kgplatform.web.overview import Overview
from kgplatform.web.pathfinding import shortest
from kgplatform.web.terms import tree

HOTEL = "https://w3id.org/kgplatform/travel%23Hotel"
_MORE = r'←</span> located in[^\n]*\n<span class="buttons"><a class="button small" href="([^"]+)" data-step'


@pytest.fixture(scope="module")
def kg(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeGraph]:
    with country(tmp_path_factory.mktemp("country")) as found:
        yield found


@pytest.fixture(scope="module")
def client(kg: KnowledgeGraph) -> FlaskClient:
    return create_app(kg).test_client()


def get(client: FlaskClient, path: str, status: int = 200) -> str:
    response = client.get(path, headers={"Accept": "text/html"}, follow_redirects=True)
    assert response.status_code == status, response.text[-600:]
    return response.text


def headed(page: str) -> str:
    found = re.search(r"<h1.*?</h1>", page, re.DOTALL)
    assert found
    return words(found[0])


def words(text: str) -> str:
    return html.unescape(re.sub(r"<[^>]+>", " ", text))


def rows(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text.removeprefix("\ufeff"))))


def inline(text: str) -> dict[str, Any]:
    """The data of the first picture of a page."""
    found = re.search(r'<figure[^>]*>.*?<script type="application/json">(.*?)</script>', text, re.DOTALL)
    assert found
    record: dict[str, Any] = json.loads(found[1])
    return record


# things


@pytest.mark.parametrize(("language", "at"), [("en", 2), ("zh", 3)])
def test_a_thing_says_what_it_lies_in_from_the_continent_down(client: FlaskClient, language: str, at: int) -> None:
    crumbs = re.search(r'class="crumbs path".*?</nav>', get(client, f"/id/entity/hotel-2?lang={language}"), re.DOTALL)
    assert crumbs
    assert re.findall(r"<bdi>(.*?)</bdi>", crumbs[0]) == [level[at] for level in LEVELS]


def test_inferred_values_are_folded_away_and_counted(client: FlaskClient) -> None:
    page = get(client, "/id/entity/hotel-2?lang=en")
    folded = re.search(r'<details class="folded"><summary>5 inferred</summary>(.*?)</details>', page, re.DOTALL)
    assert folded
    assert "China" in folded[1]
    assert "China" not in page[page.index('<dl class="facts">') : folded.start()]


def test_what_refers_to_a_thing_is_counted_and_turned_by_pages(client: FlaskClient) -> None:
    seen: list[str] = []
    for number in (1, 2, 3):
        page = get(client, f"/id/entity/wuzhen?lang=en&by={geo('locatedIn').value.replace('#', '%23')}&page={number}")
        part = page[page.index("Referred to by") : page.index("<aside")]
        seen += re.findall(r"/id/entity/((?:hotel|evil)-\d+)", part)
    assert len(seen) == len(set(seen)) == HOTELS - 1 + len(EVILS)
    assert "51–63 of 63" in words(page)


def test_the_picture_of_a_thing_shows_what_is_stated_with_its_query(client: FlaskClient) -> None:
    picture = inline(get(client, "/id/entity/hotel-2"))
    assert {node["label"] for node in picture["nodes"]} == {"Hotel 02", "Wuzhen"}
    assert "SELECT" in picture["query"]


def test_a_thing_without_position_is_shown_where_it_lies(client: FlaskClient) -> None:
    page = get(client, "/id/entity/hotel-1?lang=en")
    assert "Hotel 01 has no position of its own; this is Tongxiang." in words(page)
    assert 'data-view="map"' not in get(client, f"/id/entity/hotel-{HOTELS - 1}")


def test_the_facts_and_the_references_are_tables_to_take_away(client: FlaskClient) -> None:
    facts = rows(client.get("/id/entity/hotel-2?format=csv&lang=en", headers={"Accept": "text/html"}).text)
    assert ["room count", "12", "", "room", "asserted", ""] in facts
    incoming = rows(client.get("/id/entity/wuzhen?format=csv&table=incoming&lang=en").text)
    assert incoming[1][3] == "63"


def test_a_page_of_a_property_that_is_none_is_refused(client: FlaskClient) -> None:
    get(client, "/id/entity/wuzhen?by=not an iri&page=2", 404)
    get(client, "/id/entity/wuzhen?by=http://x/y&page=two", 404)


# names that mean harm


@pytest.mark.parametrize(
    "path",
    [
        *(f"/id/entity/evil-{n}" for n in range(len(EVILS))),
        f"/map?class={HOTEL}",
        "/id/entity/nameless",
        "/explore",
        "/explore?focus=kg:entity/nameless&expand=in 25 geo:near kg:entity/nameless",
        f"/resource?iri={HOTEL}",
        "/property/travel:address",
        f"/explore?name={EVIL}",
        f"/ontology?q={EVIL}",
    ],
)
def test_hostile_names_stay_text(client: FlaskClient, path: str) -> None:
    response = client.get(path, headers={"Accept": "text/html"}, follow_redirects=True)
    assert response.status_code in (200, 404)
    assert "<script>alert" not in response.text
    assert "<img src=x" not in response.text


def test_a_very_long_name_is_cut_where_it_is_only_mentioned(client: FlaskClient) -> None:
    page = get(client, "/id/entity/nameless")
    assert LONG.strip() not in words(page)
    assert "Very long name" in words(page)


def test_a_thing_without_label_is_called_by_its_address(client: FlaskClient) -> None:
    assert "<bdi>nameless</bdi>" in get(client, "/id/entity/nameless")


def test_a_blank_node_is_shown_by_what_is_said_of_it(kg: KnowledgeGraph) -> None:
    node = BlankNode("unnamed")
    quad = Quad(node, travel("roomCount"), Literal("3"), DEFAULT_GRAPH)
    kg.store.apply(added=[quad])
    try:
        assert Labels(kg.dataset, kg.ontology, "en").reference(node).label == "[ room count: 3 ]"
        assert Labels(kg.dataset, kg.ontology, "en").reference(BlankNode("other")).label == "_:other"
    finally:
        kg.store.update('DELETE WHERE { ?s <https://w3id.org/kgplatform/travel#roomCount> "3" }')


# explore


def test_relations_are_counted_before_they_are_followed_and_come_by_25(client: FlaskClient) -> None:
    page = get(client, "/explore?focus=kg:entity/wuzhen&lang=en")
    assert "0 of 63" in words(page)
    assert len(inline(page)["nodes"]) == 1
    shown = []
    while link := re.search(_MORE, page):
        page = get(client, html.unescape(link[1]))
        shown.append(len(inline(page)["nodes"]))
    assert shown == [26, 51, 64]
    assert "63 of 63" in words(page)


def test_no_link_of_explore_leads_to_nothing_new(client: FlaskClient) -> None:
    page = get(client, "/explore?focus=kg:entity/hotel-2&lang=en")
    before = len(inline(page)["nodes"])
    links = re.findall(r'<a class="button small" href="([^"]+)" data-step', page)
    assert links
    for link in links:
        assert len(inline(get(client, html.unescape(link)))["nodes"]) > before


def test_what_is_hidden_is_gone_with_what_it_brought_until_it_is_shown_again(client: FlaskClient) -> None:
    base = "/explore?focus=kg:entity/hotel-2&expand=out 25 geo:locatedIn kg:entity/hotel-2"
    expanded = inline(get(client, base))
    hidden = get(client, f"{base}&hide=kg:entity/china&lang=en")
    assert len(inline(hidden)["nodes"]) == len(expanded["nodes"]) - 1
    assert "1 hidden" in words(hidden)


def test_a_pinned_thing_stays_without_what_brought_it(client: FlaskClient) -> None:
    picture = inline(get(client, "/explore?focus=kg:entity/hotel-2&pin=kg:entity/asia"))
    assert [node["label"] for node in picture["nodes"]] == ["Hotel 02", "Asia"]


def test_a_path_goes_by_what_is_stated(client: FlaskClient) -> None:
    page = get(client, "/explore?focus=kg:entity/hotel-2&from=Hotel 02&to=中国&lang=en")
    assert "5 steps from Hotel 02 to China" in words(page)
    apart = get(client, f"/explore?focus=kg:entity/hotel-2&from=Hotel {HOTELS - 1}&to=China&hops=3&lang=en")
    assert f"There is no path from Hotel {HOTELS - 1} to China within 3 steps" in words(apart)
    assert "Nothing is called “Atlantis”" in words(
        get(client, "/explore?focus=kg:entity/hotel-2&from=Hotel 02&to=Atlantis&lang=en", 404)
    )


def test_a_search_that_looks_at_too_much_says_so(kg: KnowledgeGraph) -> None:
    surroundings = Surroundings(kg.dataset, kg.ontology, Labels(kg.dataset, kg.ontology, "en"))
    way = shortest(kg.dataset, kg.ontology, surroundings, (thing("hotel-2"), thing("asia")), hops=8, most=20)
    assert way.gave_up
    assert not way.statements


@pytest.mark.parametrize(("format_", "begins"), [("json", "{"), ("turtle", "@prefix"), ("csv", "\ufeffThing")])
def test_what_is_explored_is_taken_away(client: FlaskClient, format_: str, begins: str) -> None:
    address = f"/explore?focus=kg:entity/wuzhen&expand=in 25 geo:locatedIn kg:entity/wuzhen&format={format_}&lang=en"
    response = client.get(address)
    assert response.text.startswith(begins)
    assert "attachment" in response.headers["Content-Disposition"]
    if format_ == "turtle":
        triples = list(parse(response.data, RdfFormat.TURTLE))
        assert any(quad.object == Literal("Hotel 00", language="en") for quad in triples)


@pytest.mark.parametrize(
    "query", ["focus=no iri at all", "focus=kg:entity/x&expand=sideways 1 a b", "focus=kg:entity/none"]
)
def test_a_state_that_cannot_be_is_a_page_that_says_so(client: FlaskClient, query: str) -> None:
    get(client, f"/explore?{query}", 404)


_IRIS = st.sampled_from(
    [thing("a"), thing("b/c"), geo("near"), travel("Hotel"), NamedNode("urn:x:y"), NamedNode("http://e.org/ä?b=c&d")]
)
_STATES = st.builds(
    Exploration,
    focus=_IRIS,
    steps=st.lists(
        st.builds(Step, _IRIS, st.builds(Relation, _IRIS, st.booleans()), st.integers(1, 1000)),
        max_size=3,
        unique_by=lambda s: (s.thing, s.relation),
    ).map(tuple),
    pinned=st.lists(_IRIS, unique=True, max_size=3).map(tuple),
    hidden=st.lists(_IRIS, unique=True, max_size=3).map(tuple),
    path=st.none() | st.tuples(_IRIS, _IRIS),
)


@given(_STATES)
def test_an_exploration_is_read_from_its_address_as_it_was(state: Exploration) -> None:
    names = Names({**PREFIXES, "kg": "https://example.org/kg/"})
    assert read(MultiDict(state.words(names.write)), names) == state


# the map


def test_the_map_counts_what_lies_below_each_place(client: FlaskClient) -> None:
    page = get(client, f"/map?class={HOTEL}&lang=en")
    assert "64 hotels; 63 have a position." in words(page)
    assert "29 have no coordinates of their own" in words(page)
    assert "1 have no position" in words(page)
    for name in ("Asia", "China", "Zhejiang", "Jiaxing", "Tongxiang", "Wuzhen"):
        level = re.search(
            r'<li><a href="([^"]+)"><bdi>' + name + r"</bdi></a>.*?<span class=\"num\">(\d+)</span>", page, re.DOTALL
        )
        assert level
        assert level[2] == "63"
        page = get(client, html.unescape(level[1]))
    assert 'class="levels"' not in page


def test_the_list_holds_what_is_in_the_frame(client: FlaskClient) -> None:
    table = rows(client.get(f"/map?class={HOTEL}&bbox=120.39,30.69,120.405,30.71&format=csv&lang=en").text)
    assert [row[0] for row in table[1:]] == ["Hotel 00", "Hotel 02", "Hotel 04"]
    assert table[1][2:4] == ["30.7", "120.4"]
    picture = inline(get(client, f"/map?class={HOTEL}&bbox=120.39,30.69,120.405,30.71"))
    assert picture["bbox"] == [120.39, 30.69, 120.405, 30.71]
    assert "SELECT" in picture["query"]


def test_things_without_position_are_a_table_of_their_own(client: FlaskClient) -> None:
    table = rows(client.get(f"/map?class={HOTEL}&format=csv&table=lost").text)
    assert [row[0] for row in table[1:]] == [f"Hotel {HOTELS - 1}"]


@pytest.mark.parametrize("query", ["bbox=1,2,3", "bbox=a,b,c,d", "bbox=0,50,1,40"])
def test_a_frame_that_is_none_is_refused(client: FlaskClient, query: str) -> None:
    get(client, f"/map?{query}", 400)


def test_a_frame_across_the_date_line_holds_both_sides() -> None:
    frame = read_frame("170,-20,-170,20")
    assert frame
    store = _spots({"fiji": (-17.0, 178.0), "samoa": (-13.0, -172.0), "spain": (10.0, 0.0)})
    inside = [
        name for name in ("fiji", "samoa", "spain") if frame.holds(spot_of(store, thing(name)) or pytest.fail(name))
    ]
    assert inside == ["fiji", "samoa"]


def _spots(found: dict[str, tuple[float, float]]) -> Store:
    store = Store.open()
    quads = []
    for name, (latitude, longitude) in found.items():
        quads.append(Quad(thing(name), geo("latitude"), Literal(latitude), DEFAULT_GRAPH))
        quads.append(Quad(thing(name), geo("longitude"), Literal(longitude), DEFAULT_GRAPH))
    store.apply(added=quads)
    return store


def test_what_lies_in_two_places_beside_each_other_is_put_into_neither() -> None:
    store, by = Store.open(), Ways((geo("locatedIn"),), ())
    lies = [("danube", "austria"), ("danube", "hungary"), ("austria", "europe"), ("hungary", "europe")]
    store.apply(added=[Quad(thing(a), geo("locatedIn"), thing(b), DEFAULT_GRAPH) for a, b in lies])
    assert hierarchy_of(store, thing("danube"), by) == (thing("europe"),)
    known = atlas(store, by)
    austria, hungary, europe, danube = (thing(name).value for name in ("austria", "hungary", "europe", "danube"))
    assert known.counts([danube]) == {austria: 1, hungary: 1, europe: 1}
    assert known.nearest(danube) == {austria, hungary}


def test_places_that_lie_in_each_other_end_somewhere() -> None:
    store, by = Store.open(), Ways((geo("locatedIn"),), ())
    store.apply(added=[Quad(thing(a), geo("locatedIn"), thing(b), DEFAULT_GRAPH) for a, b in ("ab", "ba", "cb")])
    assert set(hierarchy_of(store, thing("c"), by)) <= {thing("a"), thing("b")}
    assert atlas(store, by).place_of(thing("c").value) is None


def test_outlines_are_read_from_the_workspace_or_refused(kg: KnowledgeGraph) -> None:
    client = create_app(kg).test_client()
    assert client.get("/api/map/boundaries").status_code == 404
    object.__setattr__(kg.settings, "map", MapSettings(boundaries="own.geojson"))
    try:
        own = create_app(kg).test_client()
        assert own.get("/api/map/boundaries").status_code == 400
        (kg.folder / "own.geojson").write_text('{"type": "FeatureCollection", "features": []}', encoding="utf-8")
        assert own.get("/api/map/boundaries").get_json()["features"] == []
    finally:
        object.__setattr__(kg.settings, "map", MapSettings())


@pytest.mark.parametrize(
    "tiles", ["https://x.org/tiles.png", "javascript:{z}{x}{y}", "https://x.org; script-src *;/{z}/{x}/{y}"]
)
def test_tiles_from_nowhere_sound_are_refused(tiles: str) -> None:
    with pytest.raises(ConfigError, match=r"map\.tiles"):
        checked_tiles(tiles)


def test_no_tiles_and_no_outlines_are_asked_for_by_default(client: FlaskClient) -> None:
    assert Settings().map == MapSettings("", "")
    assert "img-src 'self' data: blob:;" in client.get("/map").headers["Content-Security-Policy"]


# classes and properties


def test_a_class_page_says_which_share_of_the_things_has_what(client: FlaskClient) -> None:
    page = get(client, "/class/travel:Hotel?lang=en")
    assert "64 instances" in words(page)
    table = rows(client.get(f"/resource?iri={HOTEL}&format=csv&table=properties&lang=en").text)
    found = {row[0]: row for row in table}
    assert found["room count"][2:5] == ["94 %", "60", "10 – 16"]
    assert "targetClass" in page
    things = rows(client.get(f"/resource?iri={HOTEL}&format=csv&table=things").text)
    assert len(things) == 65


def test_the_example_queries_of_a_class_and_a_property_all_give_rows(kg: KnowledgeGraph, client: FlaskClient) -> None:
    for path in ("/class/travel:Hotel", "/property/travel:roomCount", "/class/geo:Place", "/property/geo:locatedIn"):
        page = get(client, path)
        queries = re.findall(r'href="/query\?query=([^"]+)"', page)
        assert queries
        for text in queries:
            assert kg.store.query(unquote_plus(html.unescape(text))).rows


@pytest.mark.parametrize("name", ["Hotel", "travel:Hotel", "酒店", HOTEL])
def test_a_class_is_found_by_name_prefix_label_and_iri(client: FlaskClient, name: str) -> None:
    assert client.get(f"/class/{name}").headers["Location"].endswith("travel%23Hotel")


def test_a_class_that_is_none_is_not_found(client: FlaskClient) -> None:
    get(client, "/class/Unicorn", 404)
    get(client, "/property/hasHorn", 404)


def test_a_class_stays_rdf_for_who_asks_for_it(client: FlaskClient) -> None:
    response = client.get(f"/resource?iri={HOTEL}", headers={"Accept": "text/turtle"})
    assert response.content_type.startswith("text/turtle")


def test_the_ontology_is_searched_in_both_languages_and_keeps_what_is_above(client: FlaskClient) -> None:
    page = get(client, "/ontology?q=酒店&lang=en")
    assert "<mark>hotel</mark>" in page
    assert ">accommodation</a>" in page
    assert ">bridge</a>" not in page
    assert "No class or property is called “qqq”" in words(get(client, "/ontology?q=qqq&lang=en"))
    assert len(rows(client.get("/ontology?format=csv&table=classes").text)) > 50


def test_classes_that_only_lie_in_a_circle_are_in_the_tree_too(kg: KnowledgeGraph) -> None:
    a, b = NamedNode("http://e.org/A"), NamedNode("http://e.org/B")
    circle = Ontology({a: OntologyClass(a, parents=(b,)), b: OntologyClass(b, parents=(a,))}, {}, {})
    shown = tree(circle, Overview(), Labels(kg.dataset, circle, "en"), "en")
    assert {branch.term.iri for branch in shown} == {a, b}


def test_a_label_in_any_language_is_better_than_none(tmp_path: Path) -> None:
    with KnowledgeGraph.create(tmp_path / "w", ontology="core") as small:
        small.dataset.state(
            [Triple(thing("x"), TYPE, thing("Kind")), Triple(thing("x"), LABEL, Literal("Füße", language="de"))]
        )
        page = get(create_app(small).test_client(), "/id/entity/x?lang=zh")
        assert "Füße" in page
        assert ">kind</a>" in get(create_app(small).test_client(), "/ontology?lang=zh")


def test_names_are_shown_in_a_language_of_their_own_in_the_pages_of_another(tmp_path: Path) -> None:
    names = {"de": "Füße", "en": "Feet", "zh": "脚"}
    with KnowledgeGraph.create(tmp_path / "w", ontology="core") as small:
        small.dataset.state(
            [
                Triple(thing("x"), TYPE, thing("Kind")),
                *(Triple(thing("x"), LABEL, Literal(text, language=tag)) for tag, text in names.items()),
            ]
        )
        client = create_app(small).test_client()
        assert "Feet" in headed(get(client, "/id/entity/x"))
        about = get(client, "/about?data=de")
        assert "<option selected>de</option>" in about
        assert "Names of things" in about
        shown = get(client, "/id/entity/x")
        assert "Füße" in headed(shown)
        assert '<html lang="en"' in shown
        assert "脚" in headed(get(client, "/id/entity/x?lang=zh&data=sv"))
        get(client, "/about?data=")
        assert "脚" in headed(get(client, "/id/entity/x?lang=zh"))
        get(client, "/about?lang=en&data=%22%3E%3Cscript%3E")
        assert "Feet" in headed(get(client, "/id/entity/x?lang=en"))
