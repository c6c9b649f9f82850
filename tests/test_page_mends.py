"""Small promises of pages: nothing found is said, earlier states open, refusals have reasons, goals and corrections."""

import html
import re
from urllib.parse import quote

import pytest
from small_graph import small_graph, term
from studies import university

from kgplatform.evaluation import runs
from kgplatform.graph import KnowledgeGraph
from kgplatform.models.stubs import HashEmbedder
from kgplatform.server.access import Access
from kgplatform.server.app import create_app
from kgplatform.vocab import LABEL

HOTELS = "name,town,rooms\nRiver Inn,Wuzhen,24\nHill Inn,Wuzhen,many\nLake Inn,Wuzhen,some\n"


@pytest.fixture(scope="module")
def town(tmp_path_factory):
    kg = small_graph(tmp_path_factory.mktemp("town"))
    yield kg, create_app(kg, access=Access.on("127.0.0.1")).test_client()
    kg.close()


def read(client, path, status=200):
    answer = client.get(path, headers={"Accept": "text/html"}, base_url="http://127.0.0.1")
    assert answer.status_code == status, path
    return html.unescape(answer.text)


def test_a_search_that_finds_nothing_says_so(town):
    _, client = town
    said = read(client, "/search?q=zzzzzz")
    assert "No matches for “zzzzzz”" in said
    assert ">Passages<" not in said  # what is only near is named so
    assert "No matches for" not in read(client, "/search?q=lakeside").partition("<footer")[0]


def test_links_to_earlier_states_open_whether_the_thing_was_there_or_not(town):
    kg, client = town
    new = term("newcomer")
    kg.update(f"INSERT DATA {{ <{new.value}> <{LABEL.value}> 'Newcomer Inn'@en }}")
    page = read(client, f"/resource?iri={quote(new.value, safe='')}")
    links = re.findall(r'href="([^"]*[?&]at=\d+)"', page)
    assert links
    for link in links:
        assert "Newcomer Inn" in read(client, link)
    assert any("not in the graph then" in read(client, link) for link in links)


def test_refused_cells_open_with_their_reasons(tmp_path):
    (tmp_path / "hotels.csv").write_text(HOTELS, encoding="utf-8")
    with KnowledgeGraph.create(tmp_path / "kg", ontology="travel") as kg:
        kg.workspace.__dict__["embedder"] = HashEmbedder()
        (added,) = list(kg.add(tmp_path / "hotels.csv"))
        assert added.refused
        client = create_app(kg).test_client()
        (link,) = re.findall(r'href="([^"]+)#refused"', read(client, "/documents"))
        part = read(client, link).partition('id="refused"')[2].partition("</section>")[0]
        assert part.count("<li>") == len(added.refused)
        assert all(refusal.reason in part for refusal in added.refused)


def test_a_goal_is_found_by_its_name_and_what_may_be_meant_is_linked(tmp_path):
    with KnowledgeGraph.create(tmp_path / "kg", ontology="academic") as kg:
        kg.workspace.__dict__["embedder"] = HashEmbedder()
        kg.dataset.state(list(university()))
        client = create_app(kg).test_client()
        for goal in ("Algebra", "algebr", "AA1001", "vector spaces"):
            assert "/courses/AA1001" in client.get("/courses", query_string={"goal": goal}).headers["Location"]
        page = read(client, "/courses?goal=Sownd&known=AA1001", 404)
        (link,) = re.findall(r'href="(\?[^"]*goal=Sound[^"]*)"', page)
        assert "/courses/DD3001" in client.get(f"/courses{link}").headers["Location"]
        assert 'value="Sownd"' in page  # the form stays as it was filled in
        assert re.search(r'value="AA1001" checked', page)


def test_a_correction_offers_the_properties_of_the_class_first_and_each_once(town):
    kg, client = town
    documents = [f"/documents/{record.document.iri.value.rpartition('/')[2]}" for record in kg.registry.documents()]
    pages = "".join(read(client, place) for place in documents)
    link = re.search(r'href="([^"#]*correct=[^"#]*)[^"]*" aria-label="Edit: Lakeside Inn room count', pages)
    form = read(client, link[1]).partition("<select")[2]
    offered = re.findall(r'<option value="([^"]+)"[^>]*>([^<]+)</option>', form)
    names = [name.casefold() for _, name in offered]
    assert len(set(names)) == len(names)
    hotel = [iri for iri, _ in offered if iri.endswith(("pricePerNight", "roomCount", "starRating"))]
    others = [iri for iri, _ in offered if iri.endswith(("dishPrice", "capitalOf", "ingredient"))]
    places = [iri for iri, _ in offered]
    assert max(map(places.index, hotel)) < min(map(places.index, others))  # of hotels, and then all the rest
    assert not any(kg.ontology.properties[term_].internal for term_ in kg.ontology.properties if term_.value in places)


def test_the_first_query_shows_each_thing_once(town):
    kg, client = town
    text = html.unescape(re.search(r"<textarea[^>]*>\n(.*?)</textarea>", read(client, "/query"), re.S)[1])
    found = [row[0] for row in kg.store.query(text).rows]
    assert found
    assert len(set(found)) == len(found)


def test_moments_are_elements_that_the_reader_sees_in_an_own_zone(town):
    kg, client = town
    head = runs.Headline("exact", 0.5, 0.0, 1.0, 2)
    lines = [{"id": "1", "exact": 1.0}, {"id": "2", "exact": 0.0}]
    first, second = (
        runs.kept(
            kg.folder,
            report={"exact": 0.5},
            results=lines,
            facts=runs.RunFacts("questions", "built-in", "", 2, 1.0, headline=head, date=f"2026-11-2{day}T10:00:00Z"),
        )
        for day in (0, 1)
    )
    kg.update(f"INSERT DATA {{ <{term('later').value}> <{LABEL.value}> 'Later Inn'@en }}")
    thing = f"/resource?iri={quote(term('later').value, safe='')}"
    run = f"/evaluation/{second.name}"
    for path in (thing, "/export", "/evaluation", run, f"{run}?against={first.name}"):
        page = read(client, path).partition("<main")[2]
        assert "<time" in page or path == "/export", path
        assert not re.search(r"\d{4}-\d\d-\d\d \d\d:\d\d", re.sub("<time.*?</time>", "", page)), path
    assert "2026-11-20T10:00:00Z" in client.get("/evaluation?format=csv").text


def test_what_is_not_known_is_named_shortly(town):
    kg, client = town
    iri = f"{kg.base}entity/none"
    said = read(client, f"/resource?iri={quote(iri, safe='')}", 404).partition("<main")[2]
    assert "“id:none”" in said
    assert iri not in said
