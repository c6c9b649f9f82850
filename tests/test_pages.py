"""The pages: each in both languages, hostile labels and texts stay text, plain forms and links do everything."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import quote, urlencode, urlsplit

import pytest
from flask.testing import FlaskClient
from hypothesis import given
from hypothesis import strategies as st
from pyoxigraph import Literal, NamedNode, RdfFormat, Triple, parse
from small_graph import BASE, EVIL, SmallGraph, small_graph, term

from kgplatform.describing import describe
from kgplatform.errors import NotFoundError
from kgplatform.types import Evidence
from kgplatform.vocab import GEO, LABEL, TYPE
from kgplatform.web import addresses
from kgplatform.web.app import create_app
from kgplatform.web.citing import cited
from kgplatform.web.highlighting import compact, highlight
from kgplatform.web.words import LANGUAGES, WORDS, phrase

ATTACK = "\"><img src=x onerror=alert(1)><script>alert('q')</script>"
PAGES = {
    "home": "/",
    "answer": "/ask?question=Which+hotels%3F",
    "unanswerable": "/ask?question=How+high+is+Mars%3F",
    "unclear": "/ask?question=How+many+rooms+has+it+now",
    "empty editor": "/query",
    "rows": "/query?query=SELECT+%2A+%7B+%3Fs+travel%3AroomCount+%3Fo+%7D",
    "graph": "/query?query=DESCRIBE+travel%3AHotel",
    "yes": "/query?query=ASK+%7B%7D",
    "no rows": "/query?query=SELECT+%2A+%7B+%3Fs+travel%3Anothing+%3Fo+%7D",
    "syntax error": "/query?query=SELECT+%2A+WHERE+%7B",
    "search": "/search?q=xizha",
    "empty search": "/search",
    "documents": "/documents",
    "ontology": "/ontology",
    "foreign thing": f"/resource?{urlencode({'iri': term('Hotel').value})}",
    "nothing there": "/nothing",
    "unknown thing": "/id/entity/none",
}


@pytest.fixture(scope="module")
def kg(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SmallGraph]:
    made = small_graph(tmp_path_factory.mktemp("graph"), timeout_seconds=5)
    made.dataset.state([Triple(NamedNode(f"{BASE}entity/西栅"), LABEL, Literal("西栅老街", language="zh"))])
    yield made
    made.close()


@pytest.fixture(scope="module")
def client(kg: SmallGraph) -> FlaskClient:
    return create_app(kg).test_client(use_cookies=False)


def get(client: FlaskClient, path: str, **headers: str) -> str:
    response = client.get(path, headers={"Accept": "text/html", **headers})
    assert response.status_code == 200, response.get_data(as_text=True)
    return response.get_data(as_text=True)


class Outline(HTMLParser):
    """The tags of a page, to see what a browser would."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.ids: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self.ids += [value for name, value in attrs if name == "id" and value]

    def named(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]


def only_own_scripts(outline: Outline) -> bool:
    """Whether each script of the page is a file of this server, or data for such a file."""
    return all(
        (attributes.get("src") or "").startswith("/static/") or attributes.get("type") == "application/json"
        for attributes in outline.named("script")
    )


# every page


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", PAGES)
def test_each_page_renders_in_each_language(client: FlaskClient, name: str, language: str) -> None:
    response = client.get(PAGES[name], headers={"Accept": "text/html", "Accept-Language": language})
    text = response.get_data(as_text=True)
    assert response.status_code in ((404,) if "nothing there" in name or "unknown" in name else (200, 400))
    assert f'<html lang="{language}">' in text
    assert phrase("ontology", language) in text
    assert "Traceback" not in text
    outline = Outline(text)
    assert len(outline.named("h1")) <= 1
    assert len(outline.ids) == len(set(outline.ids))
    for attributes in outline.named("input") + outline.named("textarea"):
        assert attributes.get("aria-label") or attributes.get("type") == "hidden"


@pytest.mark.parametrize("name", PAGES)
def test_no_page_asks_for_anything_from_elsewhere(client: FlaskClient, name: str) -> None:
    response = client.get(PAGES[name], headers={"Accept": "text/html"})
    assert "script-src 'self'" in response.headers["Content-Security-Policy"]
    assert response.headers["X-Content-Type-Options"] == "nosniff"
    outline = Outline(response.get_data(as_text=True))
    programs = [a for a in outline.named("script") if a.get("type") != "application/json"]
    loaded = [a.get("src") for a in programs + outline.named("img")]
    loaded += [a.get("href") for a in outline.named("link")]
    assert loaded
    assert all(address and address.startswith("/") and not address.startswith("//") for address in loaded)
    for _, attributes in outline.tags:
        assert not [name for name in attributes if name.startswith("on")]


def test_what_pages_load_is_there_and_may_be_cached(client: FlaskClient) -> None:
    for attributes in Outline(get(client, "/")).named("link") + Outline(get(client, "/")).named("script"):
        address = attributes.get("href") or attributes.get("src")
        if attributes.get("type") == "application/json":
            continue
        assert address
        response = client.get(address)
        assert response.status_code == 200
        assert "max-age=31536000" in response.headers["Cache-Control"]
        response.close()


def test_the_language_is_kept_once_chosen(kg: SmallGraph) -> None:
    client = create_app(kg).test_client()
    assert '<html lang="zh">' in get(client, "/?lang=zh")
    assert '<html lang="zh">' in get(client, "/documents")
    assert '<html lang="en">' in get(client, "/?lang=en")
    assert '<html lang="en">' in get(client, "/?lang=%3Cscript%3E")


def test_the_words_of_the_interface_are_in_both_languages_with_the_same_blanks() -> None:
    for key, (english, chinese) in WORDS.items():
        assert english, key
        assert chinese, key
        assert set(re.findall(r"{\w+}", english)) == set(re.findall(r"{\w+}", chinese)), key


def test_every_word_that_templates_use_is_in_the_table() -> None:
    folder = Path(__file__).parents[1] / "templates" / "html"
    for template in folder.glob("*.html"):
        for key in re.findall(r"\bt\('(\w+)'", template.read_text(encoding="utf-8")):
            assert key in WORDS or any(name.startswith(key) for name in WORDS if key.endswith("_")), (template, key)


# hostile text


@pytest.mark.parametrize(
    "path",
    [
        "/ask?question=Which+hotels%3F",
        "/documents",
        "/search?q=script",
        "/query?query=SELECT+%2A+%7B+%3Fs+rdfs%3Alabel+%3Fo+FILTER%28CONTAINS%28%3Fo%2C%22script%22%29%29+%7D",
    ],
)
def test_scripts_in_labels_titles_and_results_stay_text(client: FlaskClient, path: str) -> None:
    text = get(client, path)
    assert EVIL not in text
    assert "&lt;script&gt;" in text
    assert [attributes.get("src") for attributes in Outline(text).named("script")] != [None]


@pytest.mark.parametrize(
    "path", ["/ask?question=", "/query?query=", "/search?q=", "/resource?iri=", "/documents/", "/?lang=en&x="]
)
def test_scripts_in_addresses_stay_text(client: FlaskClient, path: str) -> None:
    response = client.get(path + quote(ATTACK), headers={"Accept": "text/html"}, follow_redirects=True)
    outline = Outline(response.get_data(as_text=True))
    assert only_own_scripts(outline)
    assert not outline.named("img")


def test_a_document_full_of_markup_is_shown_as_it_is(client: FlaskClient, kg: SmallGraph) -> None:
    record = next(r for r in kg.registry.documents() if EVIL in r.document.title)
    text = get(client, addresses.of_iri(record.document.iri, BASE))
    assert EVIL not in text
    assert only_own_scripts(Outline(text))


def test_a_page_for_a_javascript_iri_does_not_link_to_it(client: FlaskClient, kg: SmallGraph) -> None:
    evil = NamedNode("javascript:alert(1)")
    kg.dataset.state([Triple(kg.entity("Canal House"), term("near", GEO), evil)])
    for path in (f"/resource?{urlencode({'iri': evil.value})}", addresses.of_iri(kg.entity("Canal House"), BASE)):
        links = [attributes.get("href") or "" for attributes in Outline(get(client, path)).named("a")]
        assert not [link for link in links if link.startswith("javascript:")]


# asking


def test_the_first_page_has_a_box_starters_and_counts(client: FlaskClient) -> None:
    outline = Outline(get(client, "/"))
    box = next(form for form in outline.named("form") if form.get("action") == "/ask")
    assert box.get("method", "get") == "get"
    starters = [a["href"] for a in outline.named("a") if (a.get("href") or "").startswith("/ask?question=")]
    assert len(starters) >= 3
    assert ">4</b> hotels" in get(client, "/")
    assert get(client, "/", **{"Accept-Language": "zh"}).count("/ask?question=") >= 3


def test_the_question_of_the_box_leads_to_its_permanent_address(client: FlaskClient) -> None:
    response = client.get("/?question=Which+hotels%3F")
    assert (response.status_code, response.headers["Location"]) == (303, "/ask?question=Which+hotels%3F")
    assert client.get("/ask?question=+").headers["Location"] == "/"


def test_an_answer_shows_steps_sentence_rows_sources_and_query(client: FlaskClient, kg: SmallGraph) -> None:
    text = get(client, PAGES["answer"])
    assert "built-in methods, no model" in text
    assert "4 rows" in text
    assert "The Lakeside Inn stands near Xizha and has 24 rooms." in text
    hrefs = [a.get("href") or "" for a in Outline(text).named("a")]
    assert addresses.of_iri(kg.entity("Lakeside Inn"), BASE) in hrefs
    assert any(href.startswith("/documents/") and href.endswith("#passage") for href in hrefs)
    assert any(href.startswith("/query?query=SELECT") or href.startswith("/query?query=PREFIX") for href in hrefs)
    assert 'href="#source-1"' in text
    assert 'id="source-1"' in text


def test_a_source_opens_its_document_at_the_passage(client: FlaskClient) -> None:
    outline = Outline(get(client, PAGES["answer"]))
    links = [a["href"] or "" for a in outline.named("a") if (a.get("href") or "").endswith("#passage")]
    shown = [re.search(r'<mark id="passage">(.*?)</mark>', get(client, link), re.DOTALL) for link in links]
    assert all(shown)
    assert "Canal House" in get(client, links[0]) or "客栈" in get(client, links[0])


def test_an_unclear_question_offers_its_readings_as_links(client: FlaskClient) -> None:
    text = get(client, PAGES["unclear"])
    assert "Which one do you mean?" in text
    assert re.search(r"href=\"/ask\?question=How\+many\+rooms\+has\+Canal\+House%3F&amp;conversation=\w+\"", text)


def test_what_cannot_be_answered_is_said_with_the_nearest_passages(client: FlaskClient) -> None:
    text = get(client, "/ask?question=Mars+near+Xizha")
    assert "The graph does not say." in text
    assert "Nearest passages" in text
    assert "The Lakeside Inn" in text


def test_a_question_of_a_whole_book_is_refused(client: FlaskClient) -> None:
    response = client.get("/ask?question=" + "a" * 2000, headers={"Accept": "text/html"})
    assert response.status_code == 400
    assert "1,000 characters" in response.get_data(as_text=True)


def test_the_api_answers_in_the_shape_of_the_contract(client: FlaskClient) -> None:
    posted = client.post("/api/ask", json={"question": "Which hotels?"}).get_json()
    assert posted == client.get("/api/ask?question=Which+hotels%3F").get_json()
    names = "question language answer verdict clarification confidence confidence_level using model kind query attempts"
    assert set(posted) >= {*names.split(), "rows", "values", "evidence", "entities", "usage", "trace"}
    assert posted["verdict"] == "answered"
    assert posted["rows"][0]["rooms"]["value"] == "80"
    for bad in ({}, {"question": 5}, {"question": ""}, ["x"]):
        assert client.post("/api/ask", json=bad).status_code == 400
    assert client.post("/api/ask", data="{", content_type="application/json").status_code == 400


# querying


def test_the_editor_is_a_plain_form_and_keeps_its_query(client: FlaskClient) -> None:
    outline = Outline(get(client, PAGES["rows"]))
    form = next(form for form in outline.named("form") if form.get("action") == "/query")
    assert (form.get("method"), outline.named("textarea")[0].get("name")) == ("get", "query")
    assert "?s travel:roomCount ?o" in get(client, PAGES["rows"])
    posted = client.post("/query", data={"query": "ASK {}"}, headers={"Accept": "text/html"})
    assert "yes" in posted.get_data(as_text=True)


def test_rows_show_labels_that_lead_to_pages_and_files_to_download(client: FlaskClient, kg: SmallGraph) -> None:
    text = get(client, PAGES["rows"])
    assert f'<a href="{addresses.of_iri(kg.entity("Canal House"), BASE)}"' in text
    for name in ("json", "xml", "csv", "tsv"):
        link = re.search(rf'href="(/sparql\?[^"]*format={name})"', text)
        assert link
        assert client.get(link[1].replace("&amp;", "&")).status_code == 200


def test_a_syntax_error_shows_place_and_line_and_keeps_the_query(client: FlaskClient) -> None:
    response = client.get(
        "/query", query_string={"query": "SELECT *\nWHERE { ?s nix:p ?o }"}, headers={"Accept": "text/html"}
    )
    text = response.get_data(as_text=True)
    assert response.status_code == 400
    assert "Line 2, column" in text
    assert text.count("WHERE { ?s nix:p ?o }") == 2


def test_a_query_that_runs_too_long_says_so_and_offers_a_limit(kg: SmallGraph, tmp_path: Path) -> None:
    slow = small_graph(tmp_path, timeout_seconds=0.4)
    runaway = "SELECT * { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i } ORDER BY RAND()"
    response = (
        create_app(slow).test_client().get("/query", query_string={"query": runaway}, headers={"Accept": "text/html"})
    )
    slow.close()
    text = response.get_data(as_text=True)
    assert response.status_code == 504
    assert "Stopped after 0.4 s" in text
    assert "LIMIT+1000" in text


# things


@pytest.mark.parametrize(
    ("accept", "content_type", "format_"),
    [
        ("text/turtle", "text/turtle; charset=utf-8", RdfFormat.TURTLE),
        ("application/n-triples", "application/n-triples; charset=utf-8", RdfFormat.N_TRIPLES),
        ("application/rdf+xml", "application/rdf+xml", RdfFormat.RDF_XML),
        ("application/ld+json", "application/ld+json", RdfFormat.JSON_LD),
    ],
)
def test_a_thing_comes_as_data_to_who_asks_for_data(
    client: FlaskClient, kg: SmallGraph, accept: str, content_type: str, format_: RdfFormat
) -> None:
    iri = kg.entity("Lakeside Inn")
    response = client.get(addresses.of_iri(iri, BASE), headers={"Accept": accept})
    assert response.content_type == content_type
    assert "Accept" in response.headers["Vary"]
    assert 'rel="alternate"' in response.headers["Link"]
    triples = {(q.subject, q.predicate, q.object) for q in parse(response.data, format=format_)}
    assert (iri, term("roomCount"), Literal(24)) in triples


def test_extensions_and_names_of_formats_work_too(client: FlaskClient, kg: SmallGraph) -> None:
    path = addresses.of_iri(kg.entity("Lakeside Inn"), BASE)
    kinds = {".ttl": "text/turtle", ".nt": "application/n-t", ".rdf": "application/rdf", ".jsonld": "application/ld"}
    for extension, start in kinds.items():
        response = client.get(path + extension, headers={"Accept": "text/html"})
        assert (response.status_code, response.content_type[: len(start)]) == (200, start)
        assert client.get(f"{path}?format={extension[1:]}").data == response.data
    assert client.get(path, headers={"Accept": "image/png"}).status_code == 406


def test_a_page_of_a_thing_shows_classes_facts_passages_and_who_refers_to_it(
    client: FlaskClient, kg: SmallGraph
) -> None:
    text = get(client, addresses.of_iri(kg.entity("Xizha"), BASE))
    assert "scenic area" in text
    assert "Referred to by" in text
    assert "Lakeside Inn" in text
    inn = get(client, addresses.of_iri(kg.entity("Lakeside Inn"), BASE))
    assert "The Lakeside Inn stands near Xizha and has 24 rooms." in inn
    predicates = re.findall(r"<dt><a [^>]*>(.*?)</a>", inn)
    order = {"near": term("near", GEO), "room count": term("roomCount")}
    assert predicates == sorted(order, key=lambda label: kg.ontology.properties[order[label]].order)
    chinese = get(client, addresses.of_iri(kg.entity("Xizha"), BASE), **{"Accept-Language": "zh"})
    assert "景区" in chinese or "风景" in chinese


def test_names_in_any_script_are_addresses_that_come_back(client: FlaskClient) -> None:
    iri = NamedNode(f"{BASE}entity/西栅")
    path = addresses.of_iri(iri, BASE)
    assert path == "/id/entity/%E8%A5%BF%E6%A0%85"
    assert "西栅老街" in get(client, path)
    response = client.get(path + ".ttl")
    assert response.headers["Link"].isascii()
    assert "西栅老街" in response.get_data(as_text=True)


@given(
    st.text(st.characters(exclude_categories=("Cs", "Cc", "Cn", "Co"), exclude_characters=' <>"{}|^`\\'), min_size=1)
)
def test_the_address_of_any_thing_leads_back_to_its_iri(kg: SmallGraph, name: str) -> None:
    try:
        iri = NamedNode(f"{BASE}entity/{name}")
    except ValueError:
        return
    path = addresses.of_iri(iri, BASE)
    assert path.isascii()
    assert urlsplit(path).netloc == ""
    app = create_app(kg)
    with app.test_request_context(path) as context:
        arguments = context.request.view_args
        found = f"{BASE}{arguments['rest']}" if arguments else context.request.args["iri"]
    assert found == iri.value


def test_documents_and_chunks_as_things_lead_to_the_document(client: FlaskClient, kg: SmallGraph) -> None:
    chunk = kg.registry.chunks(kg.registry.documents()[-1].document.iri)[0].iri
    response = client.get(f"/resource?{urlencode({'iri': chunk.value})}", headers={"Accept": "text/html"})
    assert response.status_code == 303
    assert response.headers["Location"].endswith("#chunk-0")
    data = client.get(f"/resource?{urlencode({'iri': chunk.value, 'format': 'nt'})}")
    assert data.get_data(as_text=True).count("\n") == len(list(kg.store.quads(graph=chunk)))


def test_what_the_graph_does_not_know_is_404_without_a_traceback(client: FlaskClient) -> None:
    for path in (
        "/id/entity/none",
        "/resource?iri=http://nowhere.example/x",
        "/resource?iri=not+an+iri",
        "/documents/none",
    ):
        page = client.get(path, headers={"Accept": "text/html"})
        assert page.status_code == 404
        assert client.get(path, headers={"Accept": "text/turtle"}).status_code == 404


def test_the_view_of_a_thing_has_evidence_by_value(kg: SmallGraph) -> None:
    options = {"dataset": kg.dataset, "ontology": kg.ontology, "find_evidence": kg.evidence_finder.find}
    view = describe(kg.entity("Lakeside Inn"), **options)  # type: ignore[arg-type]
    rooms = next(fact for fact in view.facts if fact.predicate.iri == term("roomCount"))
    assert [value.evidence[0].quote for value in rooms.values] == [
        "The Lakeside Inn stands near Xizha and has 24 rooms."
    ]
    assert [reference.iri for reference in view.types] == [term("Hotel")]
    stated = describe(NamedNode(f"{BASE}entity/西栅"), language="zh", **options)  # type: ignore[arg-type]
    assert (stated.label, stated.facts) == ("西栅老街", ())
    with pytest.raises(NotFoundError):
        describe(NamedNode(f"{BASE}entity/none"), **options)  # type: ignore[arg-type]


def test_many_values_are_counted_and_cut(kg: SmallGraph) -> None:
    hotel = term("Hotel")
    view = describe(
        hotel, dataset=kg.dataset, ontology=kg.ontology, find_evidence=kg.evidence_finder.find, max_subjects=2
    )
    instances = next(group for group in view.incoming if group.predicate.iri == TYPE)
    assert (len(instances.subjects), instances.total) == (2, 4)


# documents, search, ontology, errors


def test_documents_are_listed_with_their_states_and_errors(client: FlaskClient) -> None:
    text = get(client, "/documents")
    assert "Two days in Wuzhen" in text
    assert "乌镇笔记" in text
    assert "Failed" in text
    assert "the pages are images" in text


def test_a_document_shows_its_whole_text_with_mentions_linked(client: FlaskClient, kg: SmallGraph) -> None:
    record = next(r for r in kg.registry.documents() if r.document.title == "Two days in Wuzhen")
    text = get(client, addresses.of_iri(record.document.iri, BASE))
    body = re.search(r'<div class="text">(.*?)</div>', text, re.DOTALL)
    assert body
    assert re.sub(r"<[^>]+>", "", body[1]).replace("&#39;", "'") == record.document.text
    assert f'<a class="mention" href="{addresses.of_iri(kg.entity("Lakeside Inn"), BASE)}"' in body[1]
    assert '<span id="chunk-0"></span>' in body[1]
    assert "Statements read here" in text
    for odd in ("?at=9-3", "?at=0-99999", "?at=x", "?from=-5", "?from=99999999", "?at=5-6&from=2"):
        assert client.get(addresses.of_iri(record.document.iri, BASE) + odd).status_code == 200


def test_a_long_document_is_shown_in_parts_that_lead_to_each_other(kg: SmallGraph, tmp_path: Path) -> None:
    from dataclasses import replace

    long = small_graph(tmp_path, empty=True)
    document = replace(kg.registry.documents()[-1].document, text="line of text\n" * 10_000)
    long.registry.enter(document)
    client = create_app(long).test_client()
    path = addresses.of_iri(document.iri, BASE)
    first = get(client, path)
    following = re.search(r'href="([^"]+\?from=60000)"', first)
    assert following
    assert "?from=120000" in get(client, following[1])
    deep = get(client, f"{path}?at=100001-100005")
    assert re.search(r'<mark id="passage">.{4}</mark>', deep, re.DOTALL)
    long.close()


def test_things_and_passages_are_found_by_name_and_words(client: FlaskClient, kg: SmallGraph) -> None:
    assert addresses.of_iri(kg.entity("Xizha"), BASE) in get(client, "/search?q=XIZHA")
    assert addresses.of_iri(kg.entity("西栅"), BASE) in get(client, f"/search?q={quote('西栅')}")
    found = client.get("/api/search?q=canal").get_json()
    assert [item["label"] for item in found["entities"]][:1] == ["Canal House"]
    assert found["passages"][0]["quote"]
    assert client.get("/api/search").status_code == 400


def test_the_ontology_lists_classes_with_counts_and_properties(client: FlaskClient) -> None:
    text = get(client, "/ontology")
    assert re.search(r">hotel</a>.*?>4</span>", text)
    assert "room count" in text or "number of rooms" in text


def test_an_empty_graph_says_how_to_fill_it(tmp_path: Path) -> None:
    empty = small_graph(tmp_path, empty=True)
    client = create_app(empty).test_client()
    text = get(client, "/")
    assert "Nothing here yet." in text
    assert "kgplatform add" in text
    for path in ("/documents", "/ontology", "/query", "/search?q=x"):
        get(client, path)
    empty.close()


def test_a_fault_inside_is_a_page_without_a_traceback(kg: SmallGraph, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(self: SmallGraph, question: str) -> None:
        raise RuntimeError("secret detail")

    monkeypatch.setattr(SmallGraph, "ask", broken)
    client = create_app(kg).test_client()
    page = client.get("/ask?question=x", headers={"Accept": "text/html"})
    data = client.get("/api/ask?question=x")
    assert page.status_code == data.status_code == 500
    for response in (page, data):
        assert "secret" not in response.get_data(as_text=True)
        assert "Traceback" not in response.get_data(as_text=True)


# the pieces


def passage(quote_: str) -> Evidence:
    node = NamedNode("http://example.org/x")
    return Evidence(node, node, "t", "s", quote_, 0, len(quote_))


def test_a_cited_sentence_is_the_same_text_with_names_linked_once() -> None:
    evidence = [passage("The Inn has 8 rooms."), passage("The Inn has 18 rooms.")]
    segments = cited("Inn, Innsbruck and Inn: 8.", {"Inn": "/inn", "8": ""}, evidence)
    assert "".join(segment.text for segment in segments) == "Inn, Innsbruck and Inn: 8."
    assert [(s.text, s.href, s.marks) for s in segments if s.href or s.marks] == [
        ("Inn", "/inn", (1, 2)),
        ("8", "", (1,)),
    ]


@given(st.text(), st.dictionaries(st.text(min_size=1, max_size=4), st.just("/x"), max_size=5))
def test_citing_never_changes_the_sentence(text: str, pages: dict[str, str]) -> None:
    assert "".join(segment.text for segment in cited(text, pages, [])) == text


@given(st.text())
def test_highlighting_keeps_the_text_and_adds_nothing_but_spans(text: str) -> None:
    marked = str(highlight(text))
    assert highlight(text).striptags().split() == text.split() or "<" in text
    assert set(re.findall(r"</?[a-z]+", marked)) <= {"<span", "</span"}


def test_a_query_is_shown_with_prefixes_and_means_the_same(kg: SmallGraph) -> None:
    long = f'SELECT ?s {{ ?s a <{term("Hotel").value}> ; <{LABEL.value}> ?l FILTER(?l != "<{term("Hotel").value}>") }}'
    short = compact(long, kg.store.prefixes)
    assert short.startswith("PREFIX travel: <")
    assert "?s a travel:Hotel ; rdfs:label ?l" in short
    assert f'"<{term("Hotel").value}>"' in short
    assert kg.store.query(short) == kg.store.query(long)
