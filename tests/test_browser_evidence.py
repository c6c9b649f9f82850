"""What the pages say of evidence and of numbers: every row's sources, tables as cards, one number for one thing."""

import re

import pytest
from browser import browser, browsing, serve_in_thread, served, until  # noqa: F401

from kgplatform.graph import KnowledgeGraph
from kgplatform.models.stubs import HashEmbedder

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
    f'Inn {name},Wuzhen,{1500 + 40 * at},{4 + at % 2}.5,"pool, spa"\n' for at, name in enumerate(NAMES)
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
