"""Work on a workspace in a browser: what is new, views on other pages and as files."""

import json
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import quote
from urllib.request import urlopen

import pytest
from browser import LOOKS, axe, browser, browsing, serve_in_thread, served, until  # noqa: F401

from kgplatform.entities import find_iri
from kgplatform.graph import KnowledgeGraph
from kgplatform.models.stubs import HashEmbedder
from kgplatform.vocab import TRAVEL

NOTE = "Wuzhen is a water town. Inn Amber stands near Xizha and has 24 rooms.\n"
INNS = "name,town,price_per_night,latitude,longitude\nInn Amber,Wuzhen,1500,30.74,120.48\n"
ROOMS = "name,town,rooms\nHill Inn,Wuzhen,many\n"
LATER = "name,town,price_per_night\nInn Amber,Wuzhen,1750\nInn Birch,Wuzhen,900\n"


@pytest.fixture(scope="module")
def inns(tmp_path_factory):
    """A workspace to which a table came, and then a later one of the same name; and its address."""
    folder = tmp_path_factory.mktemp("inns")
    (folder / "inns.csv").write_text(INNS, encoding="utf-8")
    (folder / "note.txt").write_text(NOTE, encoding="utf-8")
    (folder / "rooms.csv").write_text(ROOMS, encoding="utf-8")
    with KnowledgeGraph.create(folder / "kg", ontology="travel") as kg:
        kg.workspace.__dict__["embedder"] = HashEmbedder()
        kg.versions._every *= 0  # states seconds apart count too
        list(kg.add(folder / "inns.csv", folder / "note.txt", folder / "rooms.csv"))
        kg.versions.rest()
        (folder / "inns.csv").write_text(LATER, encoding="utf-8")
        list(kg.add(folder / "inns.csv"))
        kg.versions.rest()
        address, stop = serve_in_thread(kg)
        yield kg, address
        stop()


@LOOKS
def test_what_is_new_since_a_state_of_the_graph_a_class_and_an_entity(browsing, inns, width, dark, language):
    kg, address = inns
    looks = {"width": width, "dark": dark, "language": language, "address": address}
    page = browsing.page("/changes", **looks)
    amber, birch = (page.locator(".changes > li", has_text=name) for name in ("Inn Amber", "Inn Birch"))
    assert "1500" in " ".join(amber.locator(".went").all_inner_texts())
    assert "1750" in " ".join(amber.locator(".came").all_inner_texts())
    assert amber.locator(".came a[href^='/documents/']").count(), "what came shows its source"
    assert birch.locator(".badge").count() == 1, "a new entity is marked as one"
    axe(page)
    page = browsing.page(f"/changes?iri={quote(f'{TRAVEL}Hotel', safe='')}", **looks)
    assert page.locator(".changes > li").count() == 2
    page = browsing.page(f"/changes?iri={quote(find_iri(kg.store, 'Wuzhen').value, safe='')}", **looks)
    assert "1750" not in page.locator("main").inner_text()
    page = browsing.page(f"/resource?iri={quote(find_iri(kg.store, 'Inn Amber').value, safe='')}", **looks)
    page.locator("main details:has(a[href^='/changes']) > summary").click()
    page.locator("main a[href^='/changes']").first.click()
    assert page.locator(".changes > li").count() == 1


def test_pages_say_what_was_not_found_refused_or_not_there_yet_and_corrections_begin_with_the_class(browsing, inns):
    kg, address = inns
    page = browsing.page("/search?q=zzzzzz", address=address)
    assert "No matches for “zzzzzz”" in page.locator("main").inner_text()
    page = browsing.page("/documents", address=address)
    page.locator("a[href$='#refused']").first.click()
    page.wait_for_selector("#refused li")
    assert "many" in page.locator("#refused").inner_text()
    page = browsing.page(f"/resource?iri={quote(find_iri(kg.store, 'Inn Birch').value, safe='')}", address=address)
    earlier = page.eval_on_selector_all("main a[href*='at=']", "all => all.map((one) => one.href)")
    assert earlier
    statuses = [page.request.get(link).status for link in earlier]  # of two marks in one page the second loads nothing
    assert statuses == [200] * len(earlier), "though it was not there then"
    page = browsing.page("/query", address=address)
    page.locator(".cm-content").click()
    page.keyboard.press("Control+Enter")
    page.wait_for_selector("table.rows tbody tr")
    things = page.locator("table.rows tbody tr td:nth-child(2)").all_inner_texts()
    assert len(set(things)) == len(things), "each thing once"
    document = next(one for one in kg.registry.documents() if one.document.title == "inns")
    page = browsing.page(f"/documents/{document.document.iri.value.rpartition('/')[2]}", address=address)
    page.locator("a[href*='correct=']").first.click()
    page.wait_for_selector("#correcting select[name=predicate] option", state="attached")
    offered = page.locator("#correcting select[name=predicate] option").all_inner_texts()
    assert len({name.casefold() for name in offered}) == len(offered), "each property once"
    assert offered.index("price per night") < offered.index("capital of")
    assert not {"link to", "is replaced by"} & set(offered)


class _Silent(SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@pytest.fixture
def elsewhere(tmp_path):
    """A web server of another origin on this machine: a folder, and its address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Silent, directory=str(tmp_path)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield tmp_path, f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def _embedded(page):
    """The code that the menu of a view copies."""
    clip = "{ value: { writeText: async (x) => { window.clip = x; } } }"
    page.evaluate(f"() => {{ Object.defineProperty(navigator, 'clipboard', {clip}) }}")
    page.locator("details.share > summary").first.click()
    page.locator("details.share[open] button").first.click()
    until(page, "!!window.clip")
    return page.evaluate("window.clip")


def test_a_map_a_chart_and_a_result_are_shown_on_another_page_by_the_code_that_is_copied(browsing, inns, elsewhere):
    address, (folder, other) = inns[1], elsewhere
    query = quote("SELECT ?s ?price WHERE { ?s travel:pricePerNight ?price }")
    views = ("/map", f"/query?query={query}&view=chart", f"/query?query={query}&view=table")
    codes = []
    for path in views:
        page = browsing.page(path, address=address)
        until(page, "!!document.querySelector('details.share')")
        codes.append(_embedded(page))
    page.locator("details.share > summary").first.click()
    axe(page)
    (folder / "index.html").write_text("<!doctype html><title>x</title>".join(["", *codes]), encoding="utf-8")
    page = browsing.page("/index.html", address=other, ready=False)
    for at, drawn in enumerate((".map-canvas", ".stage svg", "table.rows")):
        frame = page.frame_locator("iframe").nth(at)
        frame.locator(drawn).wait_for()
    assert "1750" in frame.locator("table.rows").inner_text()
    assert frame.locator("base").get_attribute("target") == "_blank", "links leave the frame"
    plain = browsing.page(f"/embed?query={query}", address=address, scripts=False)
    assert "1750" in plain.locator("table").inner_text(), "without scripts it is a table"


def test_a_preview_of_the_reconciliation_service_is_shown_in_a_frame_of_the_size_that_the_manifest_names(
    browsing, inns, elsewhere
):
    address, (folder, other) = inns[1], elsewhere
    with urlopen(f"{address}/reconcile") as reply:
        offer = json.load(reply)["preview"]
    with urlopen(f"{address}/reconcile?query=Inn+Amber") as reply:
        thing = json.load(reply)["result"][0]["id"]
    source = offer["url"].replace("{{id}}", quote(thing, safe=""))
    frame = f'<iframe src="{source}" width="{offer["width"]}" height="{offer["height"]}"></iframe>'
    (folder / "index.html").write_text(f"<!doctype html><title>x</title>{frame}", encoding="utf-8")
    shown = browsing.page("/index.html", address=other, ready=False).frame_locator("iframe").locator("body")
    shown.get_by_text("Inn Amber").first.wait_for()
    assert "1750" in shown.inner_text()
    assert shown.evaluate("body => body.scrollWidth <= window.innerWidth"), "nothing is cut at the side"


def test_only_the_page_that_is_made_for_it_may_stand_in_a_frame(inns):
    from kgplatform.server.access import Access
    from kgplatform.server.app import create_app

    for access, allowed in ((Access.on("127.0.0.1"), "http://localhost:*"), (Access(), "frame-ancestors *")):
        client = create_app(inns[0], access=access).test_client()
        embedded, query = client.get("/embed?query=ASK{}").headers, client.get("/query").headers
        assert allowed in embedded["Content-Security-Policy"]
        assert "X-Frame-Options" not in embedded
        assert "frame-ancestors 'none'" in query["Content-Security-Policy"]
        assert query["X-Frame-Options"] == "DENY"


@pytest.mark.parametrize(
    ("path", "name"),
    [("/map", "map"), ("/query?query={}&view=chart", "result"), ("/query?query={}&view=table", "result")],
)
def test_a_picture_of_each_view_is_a_file(browsing, inns, tmp_path, path, name):
    query = quote("SELECT ?s ?price WHERE { ?s travel:pricePerNight ?price }")
    page = browsing.page(path.format(query), address=inns[1])
    until(page, "!!document.querySelector('details.share')")
    for ending, begins in (("PNG", b"\x89PNG"), ("SVG", b"<svg")):
        page.locator("details.share > summary").first.click()
        with page.expect_download() as download:
            page.locator("details.share[open] button", has_text=ending).click()
        assert download.value.suggested_filename == f"{name}.{ending.lower()}"
        content = Path(download.value.path()).read_bytes()
        assert content.startswith(begins)
        assert len(content) > 1000


LENDING = """@prefix : <https://example.org/lending#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix sh: <http://www.w3.org/ns/shacl#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
<https://example.org/lending> a owl:Ontology ;
    sh:declare [ sh:prefix "lend" ; sh:namespace "https://example.org/lending#"^^xsd:anyURI ] .
:Tool a owl:Class ; rdfs:label "tool"@en, "工具"@zh .
:weight a owl:DatatypeProperty ; rdfs:label "weight"@en ; rdfs:domain :Tool ; rdfs:range xsd:decimal .
:heaviest a sh:SPARQLExecutable, sh:SPARQLSelectExecutable ;
    rdfs:label "Tools from the heaviest"@en, "最重的工具"@zh ; rdfs:comment "Which tool weighs most?"@en ;
    sh:prefixes <https://example.org/lending> ;
    sh:select "SELECT ?tool ?weight WHERE { ?tool lend:weight ?weight } ORDER BY DESC(?weight)" .
"""


def test_examples_are_grouped_and_explained_those_of_the_ontologys_own_files_too(browsing, tmp_path):
    (tmp_path / "lending.ttl").write_text(LENDING, encoding="utf-8")
    tools = "".join(f"<https://example.org/t{n}> a :Tool ; :weight {n}.5 .\n" for n in range(1, 4))
    (tmp_path / "tools.ttl").write_text(f"@prefix : <https://example.org/lending#> .\n{tools}", encoding="utf-8")
    with KnowledgeGraph.create(tmp_path / "kg", ontology=str(tmp_path / "lending.ttl")) as kg:
        kg.workspace.__dict__["embedder"] = HashEmbedder()
        kg.load(tmp_path / "tools.ttl")
        page = browsing.page("/query", address=browsing.serve(kg))
        page.locator("summary", has_text="Examples").click()
        menu = page.locator("details[open] ul.long")
        assert menu.locator("li.faint").count() >= 3, "examples are in groups"
        assert menu.locator("a .under").count() >= 3, "and each says what it does"
        axe(page)
        menu.locator("a", has_text="Tools from the heaviest").click()
        page.locator(".tabs [data-view=table]").click()
        page.locator("table.rows tbody tr").first.wait_for()
        assert "3.5" in page.locator("table.rows tbody tr").first.inner_text()
