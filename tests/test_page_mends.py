"""Small promises of pages: nothing found is said, earlier states open, refusals have reasons, goals and corrections."""

import html
import re
from urllib.parse import quote

import pytest
from pyoxigraph import NamedNode
from small_graph import small_graph, term
from studies import university

from kgplatform.evaluation import runs
from kgplatform.graph import KnowledgeGraph
from kgplatform.lexicon.amounts import measure
from kgplatform.models.stubs import HashEmbedder
from kgplatform.server.access import Access
from kgplatform.server.app import create_app
from kgplatform.server.frame import Lately, Palette
from kgplatform.vocab import ALT_LABEL, LABEL

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


def test_a_thing_is_of_its_most_special_class_however_often_that_is_used(tmp_path):
    kg = small_graph(tmp_path)
    place, hotel = "https://w3id.org/kgplatform/geo#Place", "https://w3id.org/kgplatform/travel#Hotel"
    kg.update(f"INSERT DATA {{ <{term('elm').value}> a <{place}>, <{hotel}> ; <{LABEL.value}> 'Inn Elm'@en }}")
    overview = Lately(kg).overview()
    assert overview.classes[NamedNode(hotel)] > overview.classes[NamedNode(place)], "the rarest would be the place"
    assert Palette(overview).class_of(kg, term("elm")).value == hotel
    client = create_app(kg).test_client()
    assert re.search(r'Inn Elm</a> <span class="faint">hotel</span>', read(client, "/search?q=inn elm"))
    found = client.get("/api/suggest?q=inn elm", base_url="http://127.0.0.1").get_json()["items"]
    assert found[0]["types"] == ["hotel"]
    kg.close()


def test_changes_leave_links_out_and_name_what_the_ontology_does_not(tmp_path):
    kg = small_graph(tmp_path)
    said = f"<{term('fir').value}> a geo:Place ; rdfs:label 'Fir Hill'@en"
    link = f"kg:fir a core:Link ; core:linkFrom <{term('fir').value}> ; core:linkTo <{term('wuzhen').value}>"
    kg.versions.rest()
    kg.update(f"INSERT DATA {{ {said} . {link} }}")
    client = create_app(kg).test_client()
    first = kg.versions.listed()[-1].number
    for language, words in (("en", ("Class", "Name")), ("zh", ("类", "名称"))):
        listed = read(client, f"/changes?since={first}&lang={language}").partition('<ol class="changes')[2]
        assert "Fir Hill" in listed
        assert listed.count("<h2") == 1, "a link is bookkeeping"
        lines = [re.sub(r"<[^>]+>", " ", one) for one in re.findall(r'<li class="came">(.*?)</li>', listed, re.S)]
        assert all(any(word in line for line in lines) for word in words), lines
    kg.close()


def test_questions_to_begin_with_are_about_names_of_one_thing_and_numbers_have_their_words(tmp_path):
    kg = small_graph(tmp_path)
    app = create_app(kg).test_client()
    names = re.compile(r"(?:of|in) ([A-Z][\w ]+)\?")
    (first, *_) = names.findall(read(app, "/?lang=en").partition('class="starters"')[2])
    kg.update(f"INSERT DATA {{ <{term('other').value}> <{ALT_LABEL.value}> '{first}'@en }}")
    later = names.findall(read(create_app(kg).test_client(), "/?lang=en").partition('class="starters"')[2])
    assert first not in later, "the question would be asked back"
    counts = read(app, "/?lang=en").partition('class="counts"')[2].partition("</p>")[0]
    assert re.search(r"</b> documents?<", counts)
    chinese = read(app, "/?lang=zh")
    assert re.search(r"关于 \d", chinese)
    assert not re.search(r"(和|、)\d", chinese.partition('class="lead"')[2].partition("</p>")[0].replace("、", "、 "))
    assert "份文档" in chinese
    assert measure("人物") == "位"
    assert "的房间数是多少" in chinese or "是什么" not in chinese
    kg.close()


def test_runs_of_the_platform_are_named_in_the_language_of_the_page(town):
    kg, _ = town
    facts = runs.RunFacts("questions", "built-in", "", 2, 1.0)
    run = runs.kept(kg.folder, report={"exact": 0.5}, results=[], facts=facts)
    client = create_app(kg).test_client()  # the language is kept in a cookie
    for path in ("/evaluation", f"/evaluation/{run.name}"):
        shown = read(client, f"{path}?lang=zh").partition("<main")[2]
        said = re.sub(r"<script.*?</script>|<[^>]+>", " ", shown, flags=re.S)
        assert "内置方法" in said
        assert "built-in" not in said
        assert "问答" in said


def test_what_is_not_known_is_named_shortly(town):
    kg, client = town
    iri = f"{kg.base}entity/none"
    said = read(client, f"/resource?iri={quote(iri, safe='')}", 404).partition("<main")[2]
    assert "“id:none”" in said
    assert iri not in said
