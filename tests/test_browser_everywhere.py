"""Every page that the other browser tests do not open, in both themes, both languages and two widths; and one journey.

One small workspace with communities, a document kept apart, a saved query, a kept answer, a run of the W3C's tests and
one of an evaluation serves all of them.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from browser import Browsing, axe, browser, browsing, serve_in_thread, served, shot, until  # noqa: F401

from kgplatform.cli.conformance import keep
from kgplatform.conformance.outcomes import Outcome, Verdict
from kgplatform.conformance.suites import Result
from kgplatform.graph import KnowledgeGraph
from kgplatform.questions.steps import GivenUpError, Stage, tell
from kgplatform.testing import HashEmbedder

NOTE = "Wuzhen is a water town. The Lakeside Inn stands near Xizha and has 24 rooms. Canal House has 12 rooms.\n"
CHINESE = "西栅位于乌镇。通安客栈在西栅附近，有80间客房。\n"
BAD = "name,town,price_per_night,star_rating\nRiver Inn,Wuzhen,480,9\n"
QUERY = "SELECT ?hotel WHERE { ?hotel a travel:Hotel }"
LOOKS = [(390, True, "zh"), (1440, False, "en")]
ADDRESSES = {
    "first page": "/",
    "search": "/search?q=inn",
    "search, nothing": "/search?q=qqqqq",
    "query, empty": "/query",
    "query, graph": "/query?query=CONSTRUCT+WHERE+%7B+%3Fs+a+%3Fc+%7D",
    "query, wrong": "/query?query=SELECT+%3Fx+WHERE+%7B+%3Fx",
    "saved query": "/q/hotels",
    "community": "COMMUNITY",
    "communities": "/communities",
    "document": "DOCUMENT",
    "kept apart": "APART",
    "conformance": "/conformance",
    "literature, none": "/literature",
    "courses, none": "/courses",
    "evaluation, none": "/evaluation",
    "no such page": "/nothing-here",
    "no such thing": "/id/entity/nothing",
    "too long": f"/ask?question={'a' * 1200}",
    "asking back": "/ask?question=How+many+rooms%3F",
}


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[KnowledgeGraph, str, dict[str, str]]]:
    """The workspace, its address, and the addresses of its pages that have a name of their own."""
    folder = tmp_path_factory.mktemp("town")
    (folder / "inns.txt").write_text(NOTE * 3, encoding="utf-8")
    (folder / "客栈.txt").write_text(CHINESE * 3, encoding="utf-8")
    (folder / "hotels.csv").write_text(BAD, encoding="utf-8")
    with KnowledgeGraph.create(folder / "kg", ontology="travel") as kg:
        kg.__dict__["embedder"] = HashEmbedder()
        list(kg.add(folder / "inns.txt", folder / "客栈.txt"))
        list(kg.add(folder / "hotels.csv", policy="quarantine"))
        kg.find_communities()
        (kg.folder / "sparql").mkdir(exist_ok=True)
        (kg.folder / "sparql" / "hotels.rq").write_text(f"# Which hotels are there?\n{QUERY}\n", encoding="utf-8")
        outcome = Outcome("urn:t:1", "one", "query", Verdict.FAILED, "x")
        keep([Result("query", outcome, "a reason that is known")], kg.folder)
        named = {
            "DOCUMENT": _page(kg, "inns.txt"),
            "APART": f"{_page(kg, 'hotels.csv')}?why=1",
            "COMMUNITY": f"/communities/{kg.communities()[0].iri.value.rpartition('/')[2]}",
        }
        address, stop = serve_in_thread(kg)
        yield kg, address, named
        stop()


def _page(kg: KnowledgeGraph, name: str) -> str:
    return f"/documents/{kg.registry.find(name).document.iri.value.rpartition('/')[2]}"


@pytest.mark.parametrize(("width", "dark", "language"), LOOKS)
def test_every_page_is_drawn_and_open_to_everyone(
    browsing: Browsing,
    town: tuple[KnowledgeGraph, str, dict[str, str]],
    width: int,
    dark: bool,
    language: str,
) -> None:
    _, address, named = town
    for name, path in ADDRESSES.items():
        page = browsing.page(named.get(path, path), address=address, width=width, dark=dark, language=language)
        try:
            axe(page)
            assert page.locator("h1").count() == 1 or "query" in name, name
        except AssertionError as error:
            raise AssertionError(f"{name}: {error}") from error
        shot(page, f"everywhere-{re.sub('[^a-z]+', '-', name)}-{width}-{language}")
        browsing.check()


@pytest.mark.parametrize(("width", "dark", "language"), LOOKS)
def test_a_question_being_answered_shows_its_steps_and_is_given_up(
    browsing: Browsing,
    town: tuple[KnowledgeGraph, str, dict[str, str]],
    monkeypatch: pytest.MonkeyPatch,
    width: int,
    dark: bool,
    language: str,
) -> None:
    kg, address, _ = town
    ended = threading.Event()

    def slowly(*_: Any, **__: Any) -> Any:
        with suppress(GivenUpError):
            while True:
                tell(Stage.LINKED, "hotel · rooms", number=2)
                time.sleep(0.05)
        ended.set()
        raise GivenUpError

    monkeypatch.setattr(kg, "ask", slowly)
    page = browsing.page("/", address=address, width=width, dark=dark, language=language)
    page.locator(".askbox input").fill("Which hotels are there?")
    page.locator(".askbox button").click()
    page.wait_for_selector(".steps.live li")
    axe(page)
    page.keyboard.press("Escape")
    assert ended.wait(10)


def test_communities_lead_from_the_tree_to_a_report_and_its_members(
    browsing: Browsing,
    town: tuple[KnowledgeGraph, str, dict[str, str]],
) -> None:
    page = browsing.page("/communities", address=town[1])
    page.locator(".branches a").first.click()
    page.wait_for_selector(".report")
    until(page, "document.querySelectorAll('figure canvas').length > 0")
    page.locator("table tbody a").first.click()
    page.wait_for_selector("article.entity")


def test_a_document_kept_apart_is_taken_in_by_its_button(
    browsing: Browsing,
    tmp_path: Path,
) -> None:
    (tmp_path / "hotels.csv").write_text(BAD, encoding="utf-8")
    with KnowledgeGraph.create(tmp_path / "kg", ontology="travel") as kg:
        kg.__dict__["embedder"] = HashEmbedder()
        list(kg.add(tmp_path / "hotels.csv", policy="quarantine"))
        page = browsing.page("/documents", address=browsing.serve(kg))
        page.locator("form[action$='/release'] button").first.click()
        page.wait_for_selector("#shelf .state.processed", timeout=60_000)
        page.wait_for_selector("[data-open=no]", state="attached", timeout=60_000)


@pytest.mark.parametrize("name", ["first page", "search", "document", "kept apart", "communities", "community"])
def test_a_page_says_the_same_without_scripts(
    browsing: Browsing,
    town: tuple[KnowledgeGraph, str, dict[str, str]],
    name: str,
) -> None:
    _, address, named = town
    page = browsing.page(named.get(ADDRESSES[name], ADDRESSES[name]), address=address, scripts=False, width=390)
    assert page.locator("h1").count() == 1
    assert page.locator("main").inner_text().strip()
    browsing.check()


def test_without_scripts_a_question_is_asked_and_a_query_run_by_their_forms(
    browsing: Browsing,
    town: tuple[KnowledgeGraph, str, dict[str, str]],
) -> None:
    page = browsing.page("/", address=town[1], scripts=False)
    page.locator(".askbox input").fill("Which hotels are there?")
    page.locator(".askbox button").click()
    assert "Lakeside Inn" in page.locator(".answer").inner_text()
    page.goto(f"{town[1]}/query")
    page.locator("textarea[name=query]").fill(QUERY)
    page.locator("button[type=submit]").first.click()
    assert "Lakeside Inn" in page.locator(".result table").inner_text()
    page.goto(f"{town[1]}/export")
    assert page.locator("form button[type=submit]").count() >= 1
