"""Asking, documents, evaluation, export, API and About in a browser: journeys, access, text stays text."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from browser import Browsing, axe, browser, browsing, served, shot, until  # noqa: F401
from small_graph import EVIL

from kgplatform.evaluation.studies.runs import Headline, RunFacts, kept
from kgplatform.graph import KnowledgeGraph

ASKED = "/ask?question=Which+hotels+are+there%3F"
WAYS = [(390, True, "zh"), (1440, False, "en")]
TEXT = "Wuzhen is a water town. The Lakeside Inn has 24 rooms. The Canal Hotel has 12 rooms.\n"


@pytest.mark.parametrize(("width", "dark", "language"), WAYS)
@pytest.mark.parametrize(
    "address", [ASKED, "/ask?question=Who+owns+Mars%3F", "/documents", "/evaluation", "/export", "/api", "/about"]
)
def test_a_page_is_drawn_and_open_to_everyone(
    browsing: Browsing,  # noqa: F811
    address: str,
    width: int,
    dark: bool,
    language: str,
) -> None:
    page = browsing.page(address, width=width, dark=dark, language=language)
    axe(page)
    browsing.check()
    assert page.evaluate("document.querySelectorAll('h1').length") == 1


def test_a_citation_opens_its_passage_in_place_and_the_rows_are_drawn(browsing: Browsing) -> None:  # noqa: F811
    page = browsing.page(ASKED)
    assert page.locator("figure.rows svg").count() >= 1
    page.locator(".answer .mark").first.click()
    assert (
        page.locator(".cited blockquote").inner_text()
        in page.locator("#source-1, #source-2, #source-3").all_inner_texts()[0]
    )
    axe(page)
    page.keyboard.press("Escape")
    assert page.locator(".cited").count() == 0


def test_an_answer_is_kept_judged_and_asked_on(browsing: Browsing) -> None:  # noqa: F811
    page = browsing.page(ASKED)
    page.get_by_role("button", name="Keep this answer").click()
    page.wait_for_url(re.compile(r"/ask/[0-9a-f]{16}$"))
    assert "Kept as it was given" in page.content()
    page.get_by_role("button", name="Yes").click()
    assert "solved example" in page.locator("#said").inner_text()
    page.locator(".follow input[type=text]").fill("How many are there?")
    page.get_by_role("button", name="Ask on").click()
    page.wait_for_url(re.compile(r"after="))


def test_files_are_added_watched_and_their_statements_judged(
    browsing: Browsing,  # noqa: F811
    tmp_path: Path,
) -> None:
    with KnowledgeGraph.create(tmp_path / "kg", ontology="travel") as kg:
        where = browsing.serve(kg)
        page = browsing.page("/documents", address=where)
        sent = tmp_path / "notes <img src=x onerror=alert(1)>.txt"
        sent.write_text(f"{TEXT}Our hotel {EVIL} has 3 rooms.\n", encoding="utf-8")
        page.locator("#files").set_input_files(str(sent))
        page.wait_for_selector("#shelf .state.processed", timeout=60_000)
        page.wait_for_selector("[data-open=no]", state="attached", timeout=60_000)  # linked and indexed
        axe(page)
        page.locator("#shelf tbody a").first.click()
        page.wait_for_selector("html[data-ready=yes]", state="attached")
        page.get_by_role("button", name=re.compile(r"^Wrong: .* 24$")).click()
        page.wait_for_selector(".read > li.rejected")
        _corrected(page)
        axe(page)
        assert {row[0].value for row in kg.query("SELECT ?n WHERE { ?h travel:roomCount ?n }").rows} >= {"13"}  # type: ignore[union-attr]
        assert page.evaluate("document.querySelectorAll('main img, main script:not([type])').length") == 0


def _corrected(page: Any) -> None:
    page.get_by_role("link", name=re.compile(r"^Correct it: .* 12$")).click()  # by name: its hour is no room
    page.locator("#correcting input[name=object]").fill("13")
    page.get_by_role("button", name="Save the correction").click()
    page.wait_for_selector(".read > li.corrected")


@pytest.mark.parametrize(("width", "dark", "language"), WAYS)
def test_a_run_is_shown_beside_another(
    browsing: Browsing,  # noqa: F811
    width: int,
    dark: bool,
    language: str,
) -> None:
    names = []
    for number, exact in enumerate((0.5, 0.75)):
        estimate = {"value": exact, "low": exact - 0.2, "high": exact + 0.2, "n": 4}
        report = {"exact": estimate, "f1": estimate, "types": {"list": {"exact": estimate, "f1": estimate}}}
        results = [
            {"id": "q", "question": f"{EVIL}?", "answers": [EVIL], "exact": float(number), "query": "SELECT ?x {}"}
        ]
        facts = RunFacts(
            "questions", "built-in", "", 4, 1.0, headline=Headline("exact", exact, exact - 0.2, exact + 0.2, 4)
        )
        names.append(kept(browsing.kg.folder, report=report, results=results, facts=facts).name)
    page = browsing.page(f"/evaluation/{names[0]}?against={names[1]}", width=width, dark=dark, language=language)
    page.locator("details.failure summary").first.click()
    axe(page)
    shot(page, f"run-{width}")
    assert page.evaluate("document.querySelectorAll('main script:not([type])').length") == 0
    listed = browsing.page("/evaluation", width=width, dark=dark, language=language)
    until(listed, "document.querySelectorAll('figure svg').length > 0")
    axe(listed)


@pytest.mark.parametrize("address", [ASKED, "/documents", "/evaluation", "/api", "/about", "/export"])
def test_a_page_works_without_scripts(browsing: Browsing, address: str) -> None:  # noqa: F811
    page = browsing.page(address, scripts=False)
    assert page.locator("h1").count() == 1
    if address == "/documents":
        assert page.locator("input[type=file]").is_visible()
    if address == ASKED:
        assert page.locator("figure.rows table").is_visible()
