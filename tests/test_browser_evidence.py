"""What the pages say of evidence and of numbers: every row's sources, tables as cards, one number for one thing."""

import re
from urllib.parse import parse_qs, quote, urlsplit

import pytest
from browser import LOOKS, axe, browser, browsing, serve_in_thread, served, until  # noqa: F401

from kgplatform.entities import find_iri
from kgplatform.evaluation.runs import Headline, RunFacts, kept
from kgplatform.graph import KnowledgeGraph
from kgplatform.models.stubs import HashEmbedder
from kgplatform.server.pages.entity import query_of
from kgplatform.types import Verdict

NAMES = (
    "Amber",
    "Birch",
    "Cedar",
    "Dune",
    "Elm",
    "Fir",
    "Gorse",
    "Hazel",
    "Iris",
    "Juniper",
    "Kelp",
    "Lotus",
    "Maple",
    "Nettle",
)
HOTELS = "name,town,price_per_night,star_rating,amenities\n" + "".join(
    f'Inn {name},Wuzhen,{1500 + 40 * at},{4 + at % 2},"pool, spa"\n' for at, name in enumerate(NAMES)
)
NOTE = "Wuzhen is a water town. Inn Amber stands near Xizha and has 24 rooms.\n"


@pytest.fixture(scope="module")
def inns(tmp_path_factory):
    """A workspace of a table of fourteen hotels and a note, and its address."""
    folder = tmp_path_factory.mktemp("inns")
    (folder / "inns.csv").write_text(HOTELS, encoding="utf-8")
    (folder / "note.txt").write_text(NOTE, encoding="utf-8")
    with KnowledgeGraph.create(folder / "kg", ontology="travel") as kg:
        kg.workspace.__dict__["embedder"] = HashEmbedder()
        list(kg.add(folder / "inns.csv", folder / "note.txt"))
        address, stop = serve_in_thread(kg)
        yield kg, address
        stop()


def asked(browsing, inns, question, **looks):
    page = browsing.page(f"/ask?question={question}", address=inns[1], **looks)
    until(page, "!!document.querySelector('.answer')")
    return page


def test_every_row_of_an_answer_is_counted_with_its_sources_and_these_are_turned_by_the_page(browsing, inns):
    page = asked(browsing, inns, "Which hotels are there?")
    assert "every row has a source" in page.locator(".steps").inner_text()
    rows = page.locator("figure.rows tbody tr")
    assert rows.count() == 14
    assert page.locator("figure.rows td.marks a").count() >= 14
    for at in (0, 13):
        name, mark = rows.nth(at).locator("td").first.inner_text(), rows.nth(at).locator("a.mark").first
        mark.click()
        source = page.locator(mark.get_attribute("href"))
        until(page, f"!document.querySelector({mark.get_attribute('href')!r}).hidden")
        assert name in source.inner_text()
    shown = page.locator("ol.sources > li:visible")
    assert shown.count() <= 8 < page.locator("ol.sources > li").count()
    before = shown.first.inner_text()
    page.get_by_role("button", name="Previous").click()
    assert shown.first.inner_text() != before
    plain = browsing.page("/ask?question=Which hotels are there?", address=inns[1], scripts=False)
    assert plain.locator("ol.sources > li").count() >= 14


def test_the_evidence_of_a_number_is_that_of_its_statement(browsing, inns):
    page = asked(browsing, inns, "How much does Inn Cedar cost?")
    assert "every row has a source" in page.locator(".steps").inner_text()
    mark = page.locator(".answer a.mark").first
    assert re.search(r"1,?580", page.locator(".answer").inner_text())
    assert "1580" in page.locator(mark.get_attribute("href")).inner_text()
    assert page.locator("ol.sources > li").count() == 1, "nor are there others"


def test_one_number_for_one_thing_on_every_page_and_what_it_counts_on_hover(browsing, inns):
    address = inns[1]
    number = re.compile(r"\d[\d,]*")

    def first(path, selector):
        place = browsing.page(path, address=address, scripts=False).locator(selector).first
        assert place.get_attribute("title"), f"{path} does not say what {selector} counts"
        return number.search(place.inner_text()).group()

    hotel = "https://w3id.org/kgplatform/travel%23Hotel"
    home = browsing.page("/", address=address, scripts=False)
    shown = home.locator(".counts a", has_text="hotels").inner_text()
    hotels = {
        number.search(shown).group(),
        first(f"/resource?iri={hotel}", ".figures b"),
        first(f"/map?class={hotel}", ".faint[title]"),
        *(
            number.search(browsing.page(path, address=address, scripts=False).locator(selector).inner_text()).group()
            for path, selector in (
                ("/ontology", ".tree li:has(a:text-is('hotel')) .num"),
                ("/export", "select[name=class] option:has-text('hotel (')"),
                ("/map", "#class option:has-text('hotel (')"),
            )
        ),
    }
    assert hotels == {"14"}
    places = {
        number.search(browsing.page(path, address=address, scripts=False).locator(selector).inner_text()).group()
        for path, selector in (
            ("/ontology", ".tree li:has(a:text-is('place')) .num"),
            ("/export", "select[name=class] option:has-text('place (')"),
            ("/resource?iri=https://w3id.org/kgplatform/geo%23Place", ".figures b"),
            ("/ask?question=How many places are there?", ".answer"),
        )
    }
    assert len(places) == 1
    statements = {first("/", ".lead"), first("/about", "[data-number=statements]")}
    listed = browsing.page("/documents", address=address, scripts=False)
    statements.add(number.findall(listed.locator("#counts").inner_text())[1])
    assert len(statements) == 1
    classes = {first("/about", "[data-number=classes]"), first("/ontology", ".lead")}
    assert len(classes) == 1
    for row in listed.locator("table.documents tbody tr").all():
        said = row.locator("td.num").first.inner_text()
        assert first(row.locator("a").first.get_attribute("href"), "[data-number=statements]") == said


def test_adding_a_document_ends_with_a_sentence_and_the_counts_are_those_of_now(browsing, inns, tmp_path):
    address = inns[1]
    file = tmp_path / "more.txt"
    file.write_text("The Reed Inn is a hotel in Wuzhen. The Reed Inn has 31 rooms.\n", encoding="utf-8")
    page = browsing.page("/documents", address=address)
    before = page.locator("#counts").inner_text()
    page.set_input_files("input[type=file]", str(file))
    page.wait_for_selector(".outcome", timeout=60_000)
    said = page.locator(".outcome").inner_text()
    assert re.match(r"1 document added: \d+ statements?, \d+ refused, [\d.]+ s See$", said)
    until(page, f"document.querySelector('#counts').textContent !== {before!r}")
    assert "more.txt" in page.locator("table.documents").inner_text()
    moment = page.locator("table.documents time").first
    assert re.fullmatch(r"just now|\d+ minutes? ago", moment.inner_text())
    assert re.search(r"\d{4}", moment.get_attribute("title"))
    page.locator(".outcome a").click()
    assert "/documents/" in page.url


@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "plain"])
def test_a_source_from_a_table_is_a_card_of_columns_and_values_with_the_supporting_cell_marked(browsing, inns, scripts):
    page = browsing.page("/ask?question=How much does Inn Cedar cost?", address=inns[1], scripts=scripts)
    page.wait_for_selector(".answer")
    source = page.locator("ol.sources > li").first
    cells = dict(zip(source.locator("dt").all_inner_texts(), source.locator("dd").all_inner_texts(), strict=True))
    assert cells == {
        **{"name": "Inn Cedar", "town": "Wuzhen", "price per night": "1580"},
        **{"star rating": "4", "amenities": "pool, spa"},
    }
    assert source.locator("mark").all_inner_texts() == ["Inn Cedar", "1580"], "what was asked for, and the answer"
    assert "name: Inn Cedar" in page.locator(".answer a.mark").first.get_attribute("title")
    if scripts:
        page.locator(".answer a.mark").first.click()
        assert page.locator(".cited mark").last.inner_text() == "1580"


def test_cards_leave_out_empty_cells_and_mark_the_cell_of_the_property(browsing, tmp_path):
    (tmp_path / "inns.csv").write_text(
        "name,name_zh,town,price_per_night,star_rating,room_count,phone\n"
        'Inn Reed,芦苇客栈,Wuzhen,"1,200",5,5,\nInn Moss,苔藓客栈,Wuzhen,,4,,,\n',
        encoding="utf-8",
    )
    with KnowledgeGraph.create(tmp_path / "kg", ontology="travel") as kg:
        kg.workspace.__dict__["embedder"] = HashEmbedder()
        list(kg.add(tmp_path / "inns.csv"))
        address, moss = browsing.serve(kg), find_iri(kg.store, "Inn Moss")
        page = browsing.page(f"/resource?iri={moss.value}", address=address, scripts=False)
        assert ",," not in page.locator("article").inner_text()
        rating = page.locator("dl.facts > div", has=page.locator("dt a:text-is('star rating')")).locator(".prov-card")
        assert rating.locator("mark").all_text_contents() == ["4"]
        reed = find_iri(kg.store, "Inn Reed")
        page = browsing.page(f"/resource?iri={reed.value}&lang=zh", address=address, scripts=False)
        for column, value in (("star_rating", "5"), ("room_count", "5"), ("price_per_night", "1,200")):
            cards = page.locator(".prov-card", has=page.locator(f".supports dt[title={column}]"))
            assert cards.first.locator("mark").all_text_contents() == [value]


BOOKS = r"link to|is replaced by|link from|\bexact\b"


def test_what_keeps_the_books_is_not_among_what_refers_to_a_thing_nor_in_its_query(browsing, tmp_path):
    (tmp_path / "a.txt").write_text("The Reed Inn is a hotel in Wuzhen. Reed Inn has 31 rooms.\n", encoding="utf-8")
    (tmp_path / "b.csv").write_text("name,name_zh,town\nReed Inn,芦苇客栈,Wuzhen\n", encoding="utf-8")
    (tmp_path / "c.txt").write_text("芦苇客栈位于乌镇。芦苇客栈有31间客房。\n", encoding="utf-8")
    with KnowledgeGraph.create(tmp_path / "kg", ontology="travel") as kg:
        kg.workspace.__dict__["embedder"] = HashEmbedder()
        list(kg.add(tmp_path / "a.txt", tmp_path / "b.csv", tmp_path / "c.txt"))
        linked = kg.query("SELECT DISTINCT ?thing WHERE { ?link core:linkTo ?thing }").rows
        assert linked, "names were linked, or there is nothing to leave out"
        address = browsing.serve(kg)
        for (thing,) in linked:
            page = browsing.page(f"/resource?iri={thing.value}", address=address, scripts=False)
            assert not re.search(BOOKS, page.locator("article").inner_text())
            found = kg.query(query_of(thing)).rows
            assert not any(
                str(term).endswith(("linkTo>", "linkFrom>", "isReplacedBy>")) for row in found for term in row
            )
        page = browsing.page("/ontology", address=address, scripts=False)
        assert "is replaced by" not in page.locator("main").inner_text()
        page = browsing.page(HOTEL, address=address, scripts=False)
        assert not re.search(BOOKS, page.locator("main").inner_text())
        first = browsing.page("/query", address=address, scripts=False).locator("textarea[name=query]").input_value()
        books = {term for term, known in kg.ontology.properties.items() if known.internal}
        assert books.isdisjoint(term for row in kg.query(first).rows for term in row)


@pytest.mark.parametrize(("question", "language"), [("Which hotels are there?", "en"), ("有哪些酒店？", "zh")])
def test_what_may_be_asked_next_comes_from_the_things_of_the_answer_and_has_an_answer(
    browsing, inns, question, language
):
    page = asked(browsing, inns, question, language=language)
    until(page, "!!document.querySelector('#next li')")
    links = page.locator("#next a")
    assert 1 <= links.count() <= 3
    for address in [links.nth(at).get_attribute("href") for at in range(links.count())]:
        text = parse_qs(urlsplit(address).query)["question"][0]
        assert inns[0].ask(text).verdict is Verdict.ANSWERED
        assert any(name in text for name in NAMES)
    links.first.click()  # it goes on in the thread, which says what came before
    until(page, "!!document.querySelector('.answer')")
    assert question in page.locator(".thread").inner_text()
    assert page.locator(".verdict").count() == 0


def test_moments_are_told_in_the_zone_of_the_reader(browsing, inns):
    for zone, said in (("Asia/Shanghai", "GMT+8"), ("UTC", "UTC")):
        browsing.zone = zone
        page = browsing.page("/documents", address=inns[1])
        assert said in page.locator("td.date time").first.get_attribute("title")


def test_moments_in_options_and_pictures_are_told_in_the_zone_of_the_reader(browsing, inns):
    kg, address = inns
    for day in (1, 2):
        head = Headline("exact", day / 3, 0.1, 0.9, 2)
        facts = RunFacts("zones", "made", "", 2, 1.0, headline=head, date=f"2025-11-0{day}T20:30:00Z")
        run = kept(kg.folder, report={"exact": day / 3}, results=[], facts=facts)
    rows = '("a" "2025-11-03T20:30:00Z"^^xsd:dateTime) ("b" "2025-11-09"^^xsd:date)'
    query = f"SELECT ?name ?at {{ VALUES (?name ?at) {{ {rows} }} }}"
    for zone, days in (("Asia/Shanghai", (2, 3, 4)), ("UTC", (1, 2, 3))):
        hour = "04:30" if zone != "UTC" else "20:30"
        browsing.zone = zone
        page = browsing.page(f"/evaluation/{run.name}", address=address)
        assert page.locator("select[name=against] option").inner_text().startswith(f"{days[0]} Nov 2025 · made")
        page = browsing.page("/evaluation", address=address)
        drawn = page.locator("figure[data-view=chart] svg").text_content()
        assert [f"{n}. {day} Nov 2025, {hour} made" in drawn for n, day in ((1, days[0]), (2, days[1]))] == [True, True]
        assert f"{days[0]} Nov 2025" in page.locator("figure[data-view=chart] .twin li").first.text_content()
        page = browsing.page(f"/query?view=timeline&query={quote(query)}", address=address)
        until(page, "!!document.querySelector('figure[data-view=timeline] svg text')")
        drawn = page.locator("figure[data-view=timeline] svg").text_content()
        assert f"a · {days[2]} Nov 2025, {hour}" in drawn
        assert "b · 2025-11-09" in drawn, "a day is the same day everywhere"
    told = browsing.page("/changes", address=address).locator("select[name=since] option").first.inner_text()
    assert "{" not in told
    assert "ago" in told or "just now" in told
    plain = browsing.page(f"/evaluation/{run.name}", address=address, scripts=False)
    assert plain.locator("select[name=against] option").inner_text().startswith("2025-11-01 · made")


def test_without_scripts_the_follow_ups_are_a_page(browsing, inns):
    page = browsing.page("/ask?question=Which hotels are there%3F", address=inns[1], scripts=False)
    page.locator("[data-next] a").click()
    page.locator("#next a").first.click()
    assert "Which hotels are there?" in page.locator(".thread").inner_text()


HOTEL = "/resource?iri=https://w3id.org/kgplatform/travel%23Hotel"


@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "plain"])
def test_the_instances_of_a_class_are_narrowed_by_facets_with_counts_and_the_address_holds_them(
    browsing, inns, scripts
):
    kg, address = inns
    page = browsing.page(HOTEL, address=address, scripts=scripts)
    total = page.locator("#instances ~ .run a").count()
    rating = page.locator(".facets > div", has=page.locator("h3:text-is('star rating')"))
    assert [re.sub(r"\s+", " ", text) for text in rating.locator("a").all_inner_texts()] == ["4 7", "5 7"]
    rating.locator("a").first.click()
    page.wait_for_url("**with=*")
    names = page.locator("#instances ~ .run a").all_inner_texts()
    assert names == [f"Inn {name}" for name in NAMES[::2]]
    assert f"7 of {total}" in page.locator("#instances").inner_text()
    again = browsing.page(page.url.removeprefix(address), address=address, scripts=scripts)
    assert again.locator("#instances ~ .run a").all_inner_texts() == names
    shown = parse_qs(urlsplit(again.locator("#instances ~ .pager a:text-is('Show query')").get_attribute("href")).query)
    assert {row[1].value for row in kg.query(shown["query"][0]).rows} == set(names)
    table = page.request.get(address + again.locator("#instances ~ .pager a:text-is('CSV')").get_attribute("href"))
    assert table.text().count("\n") == 8
    again.locator(".facets a.chosen").click()
    again.wait_for_url(lambda url: "with=" not in url)
    assert again.locator("#instances ~ .run a").count() == total
    none = page.request.get(f"{address}{HOTEL}&with=travel:starRating nothing", headers={"Accept": "text/html"})
    assert (none.status, f"0 of {total}" in none.text()) == (200, True)
    for wrong in ("travel:noSuch 5", '"><script>', "geo:locatedIn", " "):
        status = page.request.get(f"{address}{HOTEL}&with={quote(wrong)}", headers={"Accept": "text/html"}).status
        assert status == (200 if wrong.startswith("geo") else 404)


def test_facts_references_pictures_and_instances_show_their_queries(browsing, inns):
    kg, address = inns
    page = browsing.page(f"/resource?iri={find_iri(kg.store, 'Wuzhen').value}", address=address)
    page.wait_for_selector(".under-figure")
    links = page.get_by_role("link", name="Show query")
    queries = [parse_qs(urlsplit(link.get_attribute("href")).query)["query"][0] for link in links.all()]
    assert len(queries) >= 3, "of the facts, of what refers to it, of the picture"
    for query in queries:
        assert kg.query(query).rows
        assert "id:" in query


PLACED = (
    "@prefix t: <https://w3id.org/kgplatform/travel#> . @prefix geo: <https://w3id.org/kgplatform/geo#> . "
    + (
        "@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . @prefix x: <https://example.org/kg/> .\n"
        'x:w a geo:Town ; rdfs:label "Wuzhen"@en . x:n a geo:Town ; rdfs:label "Nanxun"@en .\n'
    )
    + "".join(
        f'x:h{at} a t:Hotel ; rdfs:label "Inn {name}"@en ; geo:locatedIn x:{"wn"[at % 3 == 0]} ; '
        f"geo:latitude 30.{at} ; geo:longitude 120.{at} .\n"
        for at, name in enumerate(NAMES[:7], start=1)
    )
)


@pytest.fixture(scope="module")
def placed(tmp_path_factory):
    """A workspace of seven hotels with positions in two towns, and its address."""
    folder = tmp_path_factory.mktemp("placed")
    (folder / "data.ttl").write_text(PLACED, encoding="utf-8")
    with KnowledgeGraph.create(folder / "kg", ontology="travel") as kg:
        kg.workspace.__dict__["embedder"] = HashEmbedder()
        kg.load(folder / "data.ttl")
        address, stop = serve_in_thread(kg)
        yield kg, address
        stop()


@LOOKS
def test_an_answer_takes_the_view_that_it_is_made_for_and_another_that_is_chosen_stays_in_the_address(
    browsing, placed, width, dark, language
):
    looks = {"width": width, "dark": dark, "language": language}
    page = asked(browsing, placed, "Which hotels are there?", **looks)
    until(page, "document.querySelector('figure.rows')?.dataset.view === 'map'")
    rows = page.locator("figure.rows tbody tr")
    assert (rows.count(), rows.first.is_visible()) == (7, True), "the table is beside the map"
    picture, table = (page.locator(f"figure.rows > {part}").bounding_box() for part in (".stage", ".twin"))
    beside = picture["x"] + picture["width"] <= table["x"] and abs(picture["y"] - table["y"]) < 60
    assert beside is (width > 1000)
    axe(page)
    button = page.locator(".tabs button[data-view=table]")
    button.focus()
    page.keyboard.press("Enter")
    until(page, "new URL(location.href).searchParams.get('show') === 'table'")
    assert not page.locator("figure.rows > .stage").is_visible()
    assert rows.first.is_visible()
    axe(page)
    again = browsing.page(page.url.removeprefix(placed[1]), address=placed[1], **looks)
    until(again, "document.querySelector('figure.rows')?.dataset.view === 'table'")
    assert again.locator(".tabs [aria-pressed=true]").get_attribute("data-view") == "table"
    again.locator(".tabs button[data-view=map]").click()
    until(again, "!!document.querySelector('figure.rows > .stage .leaflet-container')")
    counted = asked(browsing, placed, "How many hotels are there in each town?", **looks)
    until(counted, "document.querySelector('figure.rows')?.dataset.view === 'chart'")
    single = asked(browsing, placed, "How many hotels are there?", **looks)
    assert single.locator("figure.rows").count() == 0, "one value is a sentence"


@LOOKS
def test_the_path_in_the_graph_that_supports_a_row_is_drawn(browsing, inns, width, dark, language):
    looks = {"width": width, "dark": dark, "language": language}
    page = asked(browsing, inns, "How much do the hotels cost?", **looks)
    page.locator(".tabs button[data-view=table]").click()
    rows = page.locator("figure.rows tbody tr")
    links = page.locator("a[data-path]")
    assert links.count() == rows.count() == 14, "each row has a path, and none leads to nothing"
    links.nth(2).click()
    until(page, "!!document.querySelector('.row-path .canvas canvas')")
    told, value = page.locator(".row-path-holder").text_content(), rows.nth(2).locator("td").first.inner_text()
    assert value in told, "the path ends in what the row has"
    assert ("每晚价格" if language == "zh" else "price per night") in told, "and its edges are named"
    page.evaluate("scrollTo(0, 0)")
    axe(page)
    links.nth(2).click()
    assert page.locator(".row-path-holder").count() == 0, "the same link takes it away"
    plain = browsing.page(links.nth(2).get_attribute("href"), address=inns[1], scripts=False)
    query = plain.get_by_role("link", name="Show query").get_attribute("href")
    assert inns[0].query(parse_qs(urlsplit(query).query)["query"][0]).rows, "the query of the path has its statements"
    assert value in plain.locator("figure.row-path ul").inner_text()
