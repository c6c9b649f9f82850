"""The pages: each in both languages, hostile text stays text, plain forms and links do everything; data and files."""

import csv
import gzip
import io
import json
import re
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import quote, urlencode, urljoin, urlsplit

import pyoxigraph as ox
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyoxigraph import Literal, NamedNode, Quad, RdfFormat, Triple
from small_graph import BASE, EVIL, HOTEL, SmallGraph, small_graph, term
from werkzeug.http import parse_options_header

from kgplatform.entities import describe
from kgplatform.errors import NotFoundError
from kgplatform.graph import KnowledgeGraph
from kgplatform.retrieval.methods import RETRIEVERS
from kgplatform.server import addresses
from kgplatform.server.app import create_app
from kgplatform.server.frame import Lately, highlight
from kgplatform.server.pages import entity as entity_pages
from kgplatform.server.pages.answers import Segment, cited, marks_of, numbered
from kgplatform.server.pages.ask import starters
from kgplatform.server.words import LANGUAGES, WORDS, add_words, phrase
from kgplatform.sparql.rewrite import with_prefixed_names
from kgplatform.store.oxigraph import DEFAULT_GRAPH
from kgplatform.types import Evidence
from kgplatform.vocab import GEO, LABEL, TYPE
from tests.conformance.manifests import Outcome, Verdict
from tests.conformance.report import keep
from tests.conformance.suites import Result

ROOT = Path(__file__).resolve().parents[1]
ATTACK = "\"><img src=x onerror=alert(1)><script>alert('q')</script>"
FIRST = "The Lakeside Inn stands near Xizha and has 24 rooms."
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
    "documents": "/documents",
    "ontology": "/ontology",
    "foreign thing": f"/resource?{urlencode({'iri': HOTEL})}",
    "export": "/export",
    "evaluation": "/evaluation",
    "api": "/api",
    "about": "/about",
    "nothing there": "/nothing",
    "unknown thing": "/id/entity/none",
}


@pytest.fixture(scope="module")
def kg(tmp_path_factory):
    made = small_graph(tmp_path_factory.mktemp("graph"), timeout_seconds=5)
    made.dataset.state([Triple(NamedNode(f"{BASE}entity/西栅"), LABEL, Literal("西栅老街", language="zh"))])
    made.find_communities()
    yield made
    made.close()


@pytest.fixture(scope="module")
def client(kg):
    return create_app(kg).test_client(use_cookies=False)


def get(client, path, *, status=200, **headers):
    response = client.get(path, headers={"Accept": "text/html", **headers})
    assert response.status_code == status, response.text
    return response.text


class Outline(HTMLParser):
    """The tags of a page, to see what a browser would."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.ids = [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self.ids += [value for name, value in attrs if name == "id" and value]

    def named(self, *tags):
        return [attributes for name, attributes in self.tags if name in tags]

    def links(self):
        return [attributes.get("href") or "" for attributes in self.named("a")]

    def is_harmless(self):
        """Whether each script is a file of this server, or data for one, and no image or handler came in."""
        own = all((a.get("src") or "/static/").startswith("/static/") for a in self.named("script"))
        said = all(a.get("src") or a.get("type") == "application/json" for a in self.named("script"))
        return own and said and not self.named("img") and not any(n.startswith("on") for _, a in self.tags for n in a)


# every page


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", PAGES)
def test_each_page_renders_in_each_language_and_asks_nothing_from_elsewhere(client, name, language):
    response = client.get(PAGES[name], headers={"Accept": "text/html", "Accept-Language": language})
    text = response.text
    assert response.status_code in ((404,) if "nothing there" in name or "unknown" in name else (200, 400))
    assert "script-src 'self'" in response.headers["Content-Security-Policy"]
    assert response.headers["X-Content-Type-Options"] == "nosniff"
    assert f'<html lang="{language}">' in text
    assert phrase("ontology", language) in text
    assert "Traceback" not in text
    outline = Outline(text)
    assert outline.is_harmless()
    assert len(outline.named("h1")) <= 1
    assert len(outline.ids) == len(set(outline.ids))
    for attributes in outline.named("input", "textarea"):
        assert attributes.get("aria-label") or attributes.get("type") == "hidden" or name == "export"  # in labels there
    loaded = [a.get("src") for a in outline.named("script") if a.get("type") != "application/json"]
    loaded += [a.get("href") for a in outline.named("link")]
    assert loaded
    assert all(re.match(r"/(?!/)", address or "") for address in loaded)


def test_what_pages_load_is_there_and_may_be_cached(client):
    outline = Outline(get(client, "/"))
    for address in [a.get("href") or a.get("src") for a in outline.named("link", "script")]:
        with client.get(address or "/static/kgplatform.css") as response:
            assert response.status_code == 200
            assert "max-age=31536000" in response.headers["Cache-Control"]


def test_the_language_is_kept_once_chosen(kg):
    client = create_app(kg).test_client()
    for path, language in (("/?lang=zh", "zh"), ("/documents", "zh"), ("/?lang=en", "en"), ("/?lang=%3Cb%3E", "en")):
        assert f'<html lang="{language}">' in get(client, path)


def test_the_words_of_the_interface_are_in_both_languages_and_templates_use_no_others():
    for key, (english, chinese) in WORDS.items():
        assert english, key
        assert chinese, key
        assert set(re.findall(r"{\w+}", english)) == set(re.findall(r"{\w+}", chinese)) - {"{measure}"}, key
    add_words(ROOT / "kgplatform" / "packs" / "academic" / "words")
    for template in (*ROOT.glob("templates/html/*.html"), *ROOT.glob("kgplatform/packs/*/templates/*.html")):
        for key in re.findall(r"\bt\('(\w+)'", template.read_text(encoding="utf-8")):
            assert key in WORDS or any(name.startswith(key) for name in WORDS if key.endswith("_")), (template, key)


# hostile text


def test_scripts_in_labels_titles_and_results_stay_text(client, kg):
    labels = "/query?query=SELECT+%2A+%7B+%3Fs+rdfs%3Alabel+%3Fo+FILTER%28CONTAINS%28%3Fo%2C%22script%22%29%29+%7D"
    record = next(r for r in kg.registry.documents() if EVIL in r.document.title)
    communities = set(re.findall(r'href="(/communities/[^"?]+)"', get(client, "/communities")))
    shown = [PAGES["answer"], "/documents", "/search?q=script", labels, addresses.of_iri(record.document.iri, BASE)]
    pages = [get(client, path) for path in (*shown, *communities)]
    assert all("&lt;script&gt;" in page for page in pages[: len(shown)])
    assert any("alert" in page for page in pages[len(shown) :])
    assert all(EVIL not in page and Outline(page).is_harmless() for page in pages)


@pytest.mark.parametrize(
    "path",
    [
        *("/ask?question=", "/query?query=", "/search?q=", "/resource?iri=", "/documents/", "/?lang=en&x="),
        "/retrieval?question=",
    ],
)
def test_scripts_in_addresses_stay_text(client, path):
    response = client.get(path + quote(ATTACK), headers={"Accept": "text/html"}, follow_redirects=True)
    assert Outline(response.text).is_harmless()


def test_a_page_for_a_javascript_iri_does_not_link_to_it(client, kg):
    evil = NamedNode("javascript:alert(1)")
    kg.dataset.state([Triple(kg.entity("Canal House"), term("near", GEO), evil)])
    for path in (f"/resource?{urlencode({'iri': evil.value})}", addresses.of_iri(kg.entity("Canal House"), BASE)):
        assert not [link for link in Outline(get(client, path)).links() if link.startswith("javascript:")]


# asking


def test_the_first_page_has_a_box_starters_and_counts(client):
    page = get(client, "/")
    assert any(
        form.get("action") == "/ask" and form.get("method", "get") == "get" for form in Outline(page).named("form")
    )
    assert sum(link.startswith("/ask?question=") for link in Outline(page).links()) >= 3
    assert ">4</b> hotels" in page
    assert get(client, "/", **{"Accept-Language": "zh"}).count("/ask?question=") >= 3
    response = client.get("/?question=Which+hotels%3F")
    assert (response.status_code, response.headers["Location"]) == (303, "/ask?question=Which+hotels%3F")
    assert client.get("/ask?question=+").headers["Location"] == "/"


@pytest.mark.parametrize(
    ("column", "asks"),
    [("built in", "When was Tern built?"), ("opening hours", "What are the opening hours of Tern?"), ("used for", "")],
)
def test_a_question_is_offered_only_in_words_that_fit_the_label(tmp_path, column, asks):
    kind = {"built in": "xsd:gYear"}.get(column, "xsd:string")
    (tmp_path / "boats.ttl").write_text(
        "@prefix : <http://club.test/> . @prefix owl: <http://www.w3.org/2002/07/owl#> .\n"
        "@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .\n"
        "<http://club.test/> a owl:Ontology .\n"
        f':Boat a owl:Class ; rdfs:label "boat"@en . :p a owl:DatatypeProperty ; rdfs:label "{column}"@en ; '
        f"rdfs:domain :Boat ; rdfs:range {kind} .",
        encoding="utf-8",
    )
    (tmp_path / "boats.csv").write_text(f"name,{column}\nTern,1974\n", encoding="utf-8")
    with KnowledgeGraph.create(tmp_path / "kg", ontology=[tmp_path / "boats.ttl"]) as made:
        list(made.add(tmp_path / "boats.csv"))
        found = starters(made, Lately(made).overview(), "en")
    assert [item.text for item in found if item.kind == "lookup"] == [asks] * bool(asks)


def test_an_answer_shows_steps_sentence_rows_query_and_sources_that_open_at_the_passage(client, kg):
    text = get(client, PAGES["answer"])
    for words in ("built-in methods, no model", "4 rows", FIRST, 'href="#source-1"', 'id="source-1"'):
        assert words in text
    links = Outline(text).links()
    assert addresses.of_iri(kg.entity("Lakeside Inn"), BASE) in links
    assert any(re.match(r"/query\?query=(SELECT|PREFIX)", link) for link in links)
    passages = [link for link in links if link.startswith("/documents/") and link.endswith("#passage")]
    assert passages
    assert all(re.search(r'<mark id="passage">.*?</mark>', get(client, link), re.DOTALL) for link in passages)


def test_what_has_no_plain_answer_offers_a_way_on(client):
    text = get(client, PAGES["unclear"])
    assert "Which one do you mean?" in text
    assert re.search(r"href=\"/ask\?question=How\+many\+rooms\+has\+Canal\+House%3F&amp;conversation=\w+\"", text)
    text = get(client, "/ask?question=Mars+near+Xizha")
    assert all(words in text for words in ("Not in the graph.", "Related passages", "The Lakeside Inn"))
    assert "1,000 characters" in get(client, "/ask?question=" + "a" * 2000, status=400)


def test_the_api_answers_in_the_shape_of_the_contract(client):
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


def test_the_editor_is_a_plain_form_and_its_rows_lead_to_pages_and_files(client, kg):
    text = get(client, PAGES["rows"])
    form = next(form for form in Outline(text).named("form") if form.get("action") == "/query")
    assert (form.get("method"), Outline(text).named("textarea")[0].get("name")) == ("get", "query")
    assert "?s travel:roomCount ?o" in text
    assert "yes" in client.post("/query", data={"query": "ASK {}"}, headers={"Accept": "text/html"}).text
    assert f'<a href="{addresses.of_iri(kg.entity("Canal House"), BASE)}"' in text
    for name in ("json", "xml", "csv", "tsv"):
        link = re.search(rf'href="(/sparql\?[^"]*format={name})"', text)
        assert link
        assert client.get(link[1].replace("&amp;", "&")).status_code == 200


def test_a_syntax_error_shows_its_place_and_a_query_that_takes_too_long_a_limit(client, tmp_path):
    text = get(client, "/query?" + urlencode({"query": "SELECT *\nWHERE { ?s nix:p ?o }"}), status=400)
    assert "Line 2, column" in text
    assert text.count("WHERE { ?s nix:p ?o }") == 2
    slow = small_graph(tmp_path, timeout_seconds=0.4)
    runaway = urlencode({"query": "SELECT * { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i } ORDER BY RAND()"})
    text = get(create_app(slow).test_client(), f"/query?{runaway}", status=504)
    slow.close()
    assert "Stopped after 0.4 s" in text
    assert "LIMIT+1000" in text


# things


@pytest.mark.parametrize(
    ("extension", "content_type"),
    [
        ("ttl", "text/turtle; charset=utf-8"),
        ("nt", "application/n-triples; charset=utf-8"),
        ("rdf", "application/rdf+xml"),
        ("jsonld", "application/ld+json"),
    ],
)
def test_a_thing_comes_as_data_by_header_extension_or_name(client, kg, extension, content_type):
    iri = kg.entity("Lakeside Inn")
    path = addresses.of_iri(iri, BASE)
    response = client.get(path, headers={"Accept": content_type.partition(";")[0]})
    assert response.content_type == content_type
    assert "Accept" in response.headers["Vary"]
    assert 'rel="alternate"' in response.headers["Link"]
    found = ox.parse(response.data, format=RdfFormat.from_media_type(response.mimetype))
    assert (iri, term("roomCount"), Literal(24)) in {(q.subject, q.predicate, q.object) for q in found}
    assert client.get(f"{path}.{extension}", headers={"Accept": "text/html"}).content_type == content_type
    assert client.get(f"{path}?format={extension}").data == client.get(f"{path}.{extension}").data
    assert client.get(path, headers={"Accept": "image/png"}).status_code == 406


def test_a_page_of_a_thing_shows_classes_facts_passages_and_who_refers_to_it(client, kg):
    text = get(client, addresses.of_iri(kg.entity("Xizha"), BASE))
    assert all(words in text for words in ("scenic area", "Referenced by", "Lakeside Inn"))
    inn = get(client, addresses.of_iri(kg.entity("Lakeside Inn"), BASE))
    assert FIRST in inn
    order = {"near": term("near", GEO), "room count": term("roomCount")}
    predicates = re.findall(r"<dt><a [^>]*>(.*?)</a>", inn)
    assert predicates == sorted(order, key=lambda label: kg.ontology.properties[order[label]].order)
    assert "景区" in get(client, addresses.of_iri(kg.entity("Xizha"), BASE), **{"Accept-Language": "zh"})
    links = client.get(PAGES["foreign thing"]).headers["Link"]
    assert 'rel="describedby"; type="text/turtle"' in links


@given(
    st.text(st.characters(exclude_categories=("Cs", "Cc", "Cn", "Co"), exclude_characters=' <>"{}|^`\\'), min_size=1)
)
def test_the_address_of_any_thing_leads_back_to_its_iri(client, name):
    try:
        iri = NamedNode(f"{BASE}entity/{name}")
    except ValueError:
        return
    path = addresses.of_iri(iri, BASE)
    assert path.isascii()
    assert urlsplit(path).netloc == ""
    with client.application.test_request_context(path) as context:
        arguments = context.request.view_args
        found = f"{BASE}{arguments['rest']}" if arguments else context.request.args["iri"]
    assert found == iri.value


def test_names_in_any_script_are_addresses_and_chunks_lead_to_their_document(client, kg):
    path = addresses.of_iri(NamedNode(f"{BASE}entity/西栅"), BASE)
    assert path == "/id/entity/%E8%A5%BF%E6%A0%85"
    assert "西栅老街" in get(client, path)
    response = client.get(path + ".ttl")
    assert response.headers["Link"].isascii()
    assert "西栅老街" in response.text
    chunk = kg.registry.chunks(kg.registry.documents()[-1].document.iri)[0].iri
    response = client.get(f"/resource?{urlencode({'iri': chunk.value})}", headers={"Accept": "text/html"})
    assert response.status_code == 303
    assert response.headers["Location"].endswith("#chunk-0")
    data = client.get(f"/resource?{urlencode({'iri': chunk.value, 'format': 'nt'})}").text
    assert data.count("\n") == len(list(kg.store.quads(graph=chunk)))


@pytest.mark.parametrize(
    "path", ["/id/entity/none", "/resource?iri=http://nowhere.example/x", "/resource?iri=not+an+iri", "/documents/none"]
)
def test_what_the_graph_does_not_know_is_404(client, path):
    assert get(client, path, status=404)
    assert client.get(path, headers={"Accept": "text/turtle"}).status_code == 404


def test_the_view_of_a_thing_has_evidence_by_value_and_many_values_are_counted_and_cut(kg):
    options = {"dataset": kg.dataset, "ontology": kg.ontology, "find_evidence": kg.evidence_finder.find}
    view = describe(kg.entity("Lakeside Inn"), **options)
    rooms = next(fact for fact in view.facts if fact.predicate.iri == term("roomCount"))
    assert [value.evidence[0].quote for value in rooms.values] == [FIRST]
    assert [reference.iri for reference in view.types] == [term("Hotel")]
    stated = describe(NamedNode(f"{BASE}entity/西栅"), language="zh", **options)
    assert (stated.label, stated.facts) == ("西栅老街", ())
    with pytest.raises(NotFoundError):
        describe(NamedNode(f"{BASE}entity/none"), **options)
    of_type = [
        group for group in describe(term("Hotel"), max_subjects=2, **options).incoming if group.predicate.iri == TYPE
    ]
    assert [(len(group.subjects), group.total) for group in of_type] == [(2, 4)]


HUB, NEAR, HYDRA = (
    NamedNode(f"{BASE}entity/hub"),
    NamedNode("http://example.org/near"),
    "http://www.w3.org/ns/hydra/core#",
)
REFERENCES = 2 * entity_pages.PAGE + 7


@pytest.fixture(scope="module")
def hub(tmp_path_factory):
    made = small_graph(tmp_path_factory.mktemp("hub"))
    refer = [Quad(NamedNode(f"{BASE}entity/n{n}"), NEAR, HUB, DEFAULT_GRAPH) for n in range(REFERENCES)]
    made.store.apply(added=[*refer, Quad(HUB, LABEL, Literal("中心", language="zh"), DEFAULT_GRAPH)])
    yield create_app(made).test_client()
    made.close()


def relations(header):
    parts = [part.lstrip("<").partition(">") for part in header.split(", <")]
    return {parse_options_header(f"x{rest}")[1]["rel"]: address for address, _, rest in reversed(parts)}


@pytest.mark.parametrize(
    "extension", ["ttl", *(pytest.param(e, marks=pytest.mark.slow) for e in ("jsonld", "rdf", "nq"))]
)
def test_following_next_gives_every_reference_once(hub, extension):
    address, seen, pages = f"/id/entity/hub.{extension}", [], 0
    while address:
        response = hub.get(address)
        found = [q.triple for q in ox.parse(response.data, format=RdfFormat.from_media_type(response.mimetype))]
        seen += [triple for triple in found if triple.predicate == NEAR]
        assert any(triple.predicate == LABEL for triple in found) == (pages == 0)
        totals = {t.object.value for t in found if t.predicate == NamedNode(f"{HYDRA}totalItems")}
        assert totals == {str(REFERENCES)}
        links = relations(response.headers["Link"])
        assert ("prev" in links) == (pages > 0)
        address, pages = urljoin(address, links["next"]) if "next" in links else "", pages + 1
    assert pages == 3
    assert len(seen) == len(set(seen)) == REFERENCES
    assert HYDRA not in hub.get("/id/entity/n1.nt").text
    for number, status in (("0", 400), ("x", 400), ("3", 200), ("4", 404)):
        assert hub.get(f"/id/entity/hub.ttl?incoming={number}").status_code == status


# documents, search, ontology, errors


def test_documents_are_listed_with_their_states_and_errors(client):
    text = get(client, "/documents")
    assert all(words in text for words in ("Two days in Wuzhen", "乌镇笔记", "Failed", "the pages are images"))


def test_a_document_shows_its_whole_text_with_mentions_linked(client, kg):
    document = next(r for r in kg.registry.documents() if r.document.title == "Two days in Wuzhen").document
    path = addresses.of_iri(document.iri, BASE)
    text = get(client, path)
    body = re.search(r'<div class="text">(.*?)</div>', text, re.DOTALL)[1]
    assert re.sub(r"<[^>]+>", "", body).replace("&#39;", "'") == document.text
    assert f'<a class="mention" href="{addresses.of_iri(kg.entity("Lakeside Inn"), BASE)}"' in body
    assert '<span id="chunk-0"></span>' in body
    assert "Statements" in text
    for odd in ("?at=9-3", "?at=0-99999", "?at=x", "?from=-5", "?from=99999999", "?at=5-6&from=2"):
        get(client, path + odd)


def test_an_empty_graph_says_how_to_fill_it_and_a_long_document_is_shown_in_parts(kg, tmp_path):
    empty = small_graph(tmp_path, empty=True)
    client = create_app(empty).test_client()
    assert all(words in get(client, "/") for words in ("Nothing here yet.", "kgplatform add"))
    for path in ("/documents", "/ontology", "/query", "/search?q=x"):
        get(client, path)
    document = replace(kg.registry.documents()[-1].document, text="line of text\n" * 10_000)
    empty.registry.enter(document)
    path = addresses.of_iri(document.iri, BASE)
    following = re.search(r'href="([^"]+\?from=60000)"', get(client, path))
    assert "?from=120000" in get(client, following[1])
    assert re.search(r'<mark id="passage">.{4}</mark>', get(client, f"{path}?at=100001-100005"), re.DOTALL)
    empty.close()


def test_things_and_passages_are_found_by_name_and_words(client, kg):
    assert addresses.of_iri(kg.entity("Xizha"), BASE) in get(client, "/search?q=XIZHA")
    assert addresses.of_iri(kg.entity("西栅"), BASE) in get(client, f"/search?q={quote('西栅')}")
    found = client.get("/api/search?q=canal").get_json()
    assert [item["label"] for item in found["entities"]][:1] == ["Canal House"]
    assert found["passages"][0]["quote"]
    assert client.get("/api/search").status_code == 400
    assert client.get("/api/search?q=canal&per_document=few").status_code == 400
    assert re.search(r">hotel</a>.*?>4</span>", get(client, "/ontology"))


def test_a_fault_inside_is_a_page_without_a_traceback(kg, monkeypatch):
    def broken(self, question):
        raise RuntimeError("secret detail")

    monkeypatch.setattr(SmallGraph, "ask", broken)
    client = create_app(kg).test_client()
    for response in (client.get("/ask?question=x", headers={"Accept": "text/html"}), client.get("/api/ask?question=x")):
        assert response.status_code == 500
        assert "secret" not in response.text
        assert "Traceback" not in response.text


# the pieces


def test_a_cited_sentence_is_the_same_text_with_names_linked_once():
    node, quotes = NamedNode("http://example.org/x"), ("The Inn has 8 rooms.", "The Inn has 18 rooms.")
    evidence = [Evidence(node, node, "t", "s", text, 0, len(text)) for text in quotes]
    segments = cited("Inn, Innsbruck and Inn: 8.", {"Inn": "/inn", "8": ""}, lambda name: marks_of(name, evidence))
    assert "".join(segment.text for segment in segments) == "Inn, Innsbruck and Inn: 8."
    found = [(s.text, s.href, s.marks) for s in segments if s.href or s.marks]
    assert found == [("Inn", "/inn", (1, 2)), ("8", "", (1,))]


def test_a_text_that_numbers_its_sources_has_them_as_marks_once():
    found = numbered("**Closed** on Mondays. [1][2] Rooms [9] cost 8. [2]", 2)
    assert found == [Segment("Closed on Mondays.", "", (1, 2)), Segment(" Rooms [9] cost 8.", "", (2,))]
    assert numbered("Room [3] is 2 ** 3 wide.", 2) == []


@given(st.text(), st.dictionaries(st.text(min_size=1, max_size=4), st.just("/x"), max_size=5))
def test_citing_and_highlighting_never_change_the_text(text, pages):
    assert "".join(segment.text for segment in cited(text, pages, lambda _: ())) == text
    assert highlight(text).striptags().split() == text.split() or "<" in text
    assert set(re.findall(r"</?[a-z]+", str(highlight(text)))) <= {"<span", "</span"}


def test_a_query_is_shown_with_prefixes_and_means_the_same(kg):
    long = f'SELECT ?s {{ ?s a <{HOTEL}> ; <{LABEL.value}> ?l FILTER(?l != "<{HOTEL}>") }}'
    short = with_prefixed_names(long, kg.store.prefixes)
    assert short.startswith("PREFIX travel: <")
    assert "?s a travel:Hotel ; rdfs:label ?l" in short
    assert f'"<{HOTEL}>"' in short
    assert kg.store.query(short) == kg.store.query(long)


# what can be taken away


def test_files_hold_what_was_chosen(client):
    text = get(client, "/export")
    assert all(word in text for word in ("hotel", "graphml", 'name="since"', "Download"))
    with client.get("/export", query_string={"format": "ntriples", "class": HOTEL, "since": "", "at": ""}) as response:
        assert (response.status_code, response.mimetype) == (200, "application/n-triples")
        held = {getattr(quad.object, "value", "") for quad in ox.parse(response.data, format=RdfFormat.N_TRIPLES)}
    assert "通安客栈" in held
    assert "西栅" not in held
    whole = gzip.decompress(client.get("/export?format=nquads&gz=1&canonical=1").data)
    assert whole.count(b"\n") == len(list(ox.parse(whole, format=RdfFormat.N_QUADS)))
    ElementTree.fromstring(client.get("/export?format=gexf").data)
    for wrong, expected in {
        "format=turtel": 400,
        "format=turtle&since=soon": 400,
        "format=turtle&class=no+iri": 400,
        "format=turtle&class=urn:x": 404,
        "format=turtle&class=urn:x&since=2026-01-01": 400,
        "format=turtle&at=999": 404,
        "format=turtle&canonical=1": 400,
    }.items():
        assert client.get(f"/export?{wrong}").status_code == expected, wrong


def test_the_context_gives_json_ld_its_meaning_and_the_sitemap_lists_pages_that_are_there(client):
    document = {
        **client.get("/context.jsonld").get_json(force=True),
        "@id": "urn:x",
        "@type": "Hotel",
        "roomCount": "12",
    }
    read = {str(quad.triple) for quad in ox.parse(json.dumps(document).encode(), format=RdfFormat.JSON_LD)}
    assert any("travel#Hotel>" in triple for triple in read)
    assert any('"12"^^<http://www.w3.org/2001/XMLSchema#integer>' in triple for triple in read)
    root = ElementTree.fromstring(client.get("/sitemap.xml").data)
    pages = [place.text or "" for place in root.iter("{http://www.sitemaps.org/schemas/sitemap/0.9}loc")]
    assert len(pages) >= 3
    assert all(client.get(urlsplit(page).path, headers={"Accept": "text/html"}).status_code == 200 for page in pages)


def test_results_of_the_w3c_tests_are_shown_with_reasons_and_as_earl(client, kg):
    assert "have not been run" in get(client, "/conformance")
    assert client.get("/conformance", headers={"Accept": "text/turtle"}).status_code == 404
    (kg.folder / "kgplatform.toml").write_text("version = 1")
    passed = Outcome("urn:t:1", "one", "query", Verdict.PASSED)
    failed = Outcome("urn:t:2", "two", "query", Verdict.FAILED, "x")
    keep([Result("query", passed), Result("query", failed, "a reason that is known")], kg.folder)
    text = get(client, "/conformance")
    assert all(
        (word in text) == there for word, there in (("that is known", True), ("urn:t:2", True), ("urn:t:1", False))
    )
    turtle = client.get("/conformance", headers={"Accept": "text/turtle"}).data
    assert sum("earl#failed" in str(quad.object) for quad in ox.parse(turtle, format=RdfFormat.TURTLE)) == 1


# communities and retrieval


def table(client, address):
    response = client.get(address)
    assert response.content_type == "text/csv; charset=utf-8"
    return list(csv.reader(io.StringIO(response.text.removeprefix("\ufeff"))))


def pictures(page):
    found = re.findall(r'<script type="application/json">(.*?)</script>', page)
    return [data for data in map(json.loads, found) if "kind" in data or "nodes" in data]


@pytest.mark.parametrize(("language", "heading"), [("en", "Communities"), ("zh", "社群")])
def test_communities_are_a_tree_that_leads_to_reports_with_their_ties(client, kg, language, heading):
    page = get(client, f"/communities?lang={language}")
    assert f"<h1>{heading}</h1>" in page
    address = re.findall(r'href="(/communities/[^"?]+)"', page)[0]
    (picture,) = pictures(get(client, f"{address}?lang={language}"))
    assert picture["nodes"]
    assert len(table(client, f"{address}?format=csv")) - 1 == len(picture["nodes"])
    pairs = {frozenset((row[0].value, row[2].value)) for row in kg.store.query(picture["query"]).rows}
    assert {frozenset((edge["source"], edge["target"])) for edge in picture["edges"]} <= pairs
    assert "nothing-such" in get(client, "/communities/nothing-such", status=404)


def test_a_report_is_marked_once_what_it_tells_has_changed_and_its_labels_are_the_reader_s(tmp_path):
    graph = small_graph(tmp_path)
    graph.find_communities()
    client = create_app(graph).test_client()
    assert "out of date" not in get(client, "/communities")
    inn = graph.entity("Lakeside Inn")
    graph.dataset.state([Triple(inn, term("near", GEO), graph.entity("Canal House"))])
    page = get(client, "/communities")
    assert "out of date" in page
    assert "kgplatform communities --refresh" in page
    graph.dataset.state([Triple(inn, LABEL, Literal("湖畔客栈", language="zh"))])
    found = set(re.findall(r'href="(/communities/[^"?]+)"', page))
    assert any("湖畔客栈" in get(client, f"{address}?lang=zh") for address in found)
    graph.close()


@pytest.mark.parametrize(("language", "words"), [("en", "Traversal steps"), ("zh", "遍历步骤")])
def test_a_walk_shows_its_steps_and_a_second_method_beside_it(client, language, words):
    asked = "/retrieval?question=Which+hotel+has+rooms&retriever=query&against=lexical&k=3"
    page = get(client, f"{asked}&lang={language}")
    assert words in page
    heats = [picture for picture in pictures(page) if picture.get("kind") == "heat"]
    assert len(heats) == 2
    assert all(-1 <= row["value"] <= 1 for heat in heats for row in heat["rows"])
    steps = table(client, f"{asked}&format=csv&table=steps-query")
    assert [row[0] for row in steps[1:]] == [str(n) for n in range(1, len(steps))]
    assert 2 <= len(table(client, f"{asked}&format=csv&table=hits-lexical")) <= 4


def test_other_methods_show_their_hits_and_wrong_names_say_so(client):
    for name in ("dense", "hybrid", "sentences", "pagerank", "basic"):
        page = get(client, f"/retrieval?question=西栅附近有哪些客栈&retriever={name}")
        assert "hits-" + name in page or "No matches" in page
    page = get(client, "/retrieval")
    assert all(f'<option value="{name}"' in page for name in RETRIEVERS)
    assert "did you mean" in get(client, "/retrieval?question=a&retriever=denes", status=400)
    assert get(client, "/retrieval?question=a&k=99999999")
