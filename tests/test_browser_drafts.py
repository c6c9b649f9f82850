"""What was typed and not sent is there again: after Back, a reload, the other language, a crash of the tab."""

from contextlib import suppress

import pytest
from browser import axe, browser, browsing, served, until  # noqa: F401
from small_graph import HOTELS
from test_browser_query import opened, rows, text_of, typed

TYPED = "SELECT ?x WHERE { ?x ?y 7 } # typed and not run"


def ready(page):
    page.wait_for_selector("html[data-ready=yes]", state="attached")


def crashed(page):
    """Another page of the browser of a page whose tab has crashed."""
    context = page.context
    with suppress(Exception):
        page.goto("chrome://crash", timeout=2_000)
    page.close()
    again = context.new_page()
    again.set_default_timeout(15_000)
    return again


def sheets(page):
    titles = page.locator(".sheets li > button:first-child > span:first-child")
    return [text.strip() for text in titles.all_inner_texts()]


def test_a_query_that_was_typed_and_not_run_survives(browsing):
    page = opened(browsing, HOTELS, view="table")
    found = rows(page)
    typed(page, TYPED)
    page.reload()
    ready(page)
    assert text_of(page) == TYPED
    assert rows(page) == found  # of the query that ran, which the address still names
    page.locator("header a[hreflang]").click()
    page.wait_for_selector("html[lang=zh][data-ready=yes]", state="attached")
    assert text_of(page) == TYPED
    page.goto(f"{browsing.address}/documents")
    page.go_back()
    ready(page)
    assert text_of(page) == TYPED
    page.goto(f"{browsing.address}/about")
    page.locator("header nav a[href='/query']").click()
    ready(page)
    assert text_of(page) == TYPED
    page = crashed(page)
    page.goto(f"{browsing.address}/query")
    ready(page)
    assert text_of(page) == TYPED
    axe(page)


def test_going_back_and_opening_another_query_lose_nothing(browsing):
    page = opened(browsing, HOTELS, view="table")
    rows(page)
    typed(page, "ASK {}")
    page.keyboard.press("Control+Enter")
    page.wait_for_selector(".answer")
    typed(page, TYPED)
    page.go_back()
    page.wait_for_selector("table.rows tbody tr")
    assert "travel:roomCount" in text_of(page)
    page.get_by_text("History").click()
    kept = page.locator(".menu[open] a", has_text="typed and not run")
    assert "not run" in kept.locator(".under").inner_text()
    page.keyboard.press("Escape")
    page.go_forward()
    page.wait_for_selector(".answer")
    assert text_of(page) == TYPED
    page.goto(f"{browsing.address}/query?query=ASK+%7B+%3Fs+%3Fp+1+%7D")  # a link to another query
    ready(page)
    assert text_of(page) == "ASK { ?s ?p 1 }"
    assert sheets(page) == [TYPED, "ASK { ?s ?p 1 }"]
    page.locator(".sheets li button", has_text="typed and not run").click()
    assert text_of(page) == TYPED


def test_several_queries_are_worked_on_at_once(browsing):
    page = opened(browsing, HOTELS, view="table")
    found = rows(page)
    page.get_by_role("button", name="New tab").click()
    assert text_of(page).strip() in ("", "SELECT …")
    typed(page, "ASK {}")
    page.keyboard.press("Control+Enter")
    page.wait_for_selector(".answer")
    page.locator(".sheets li button").first.click()
    assert rows(page) == found
    assert "travel:roomCount" in text_of(page)
    page.go_back()
    page.wait_for_selector(".answer")
    assert text_of(page) == "ASK {}"
    axe(page)
    page.reload()
    page.wait_for_selector(".answer")
    assert len(sheets(page)) == 2
    page.get_by_role("button", name="Close “ASK {}”").click()
    page.wait_for_selector("table.rows tbody tr")
    assert len(sheets(page)) == 1
    window = page.context.new_page()  # another window of the same browser shows the same sheet, and follows it
    window.goto(f"{browsing.address}/query")
    ready(window)
    typed(window, TYPED)
    window.close()
    page.reload()
    ready(page)
    assert text_of(page) == TYPED


@pytest.mark.parametrize(("path", "box"), [("/", ".askbox"), ("/ask?question=Which+hotels+are+there%3F", ".follow")])
def test_a_question_that_was_typed_and_not_asked_survives(browsing, path, box):
    page = browsing.page(path)
    field = f"{box} input[name=question]"
    page.locator(field).first.fill("How many rooms has")
    page.reload()
    ready(page)
    assert page.locator(field).first.input_value() == "How many rooms has"
    page.locator("header a[hreflang]").click()
    page.wait_for_selector("html[lang=zh][data-ready=yes]", state="attached")
    assert page.locator(field).first.input_value() == "How many rooms has"
    page.goto(f"{browsing.address}/about")
    page.go_back()
    ready(page)
    assert page.locator(field).first.input_value() == "How many rooms has"
    page = crashed(page)
    page.goto(browsing.address + path)
    ready(page)
    assert page.locator(field).first.input_value() == "How many rooms has"
    page.locator(field).first.fill("Which hotels are there?")
    page.locator(f"{box} button[type=submit]").first.click()
    page.wait_for_selector("h1, .answer")
    ready(page)
    page.goto(browsing.address + path)
    ready(page)
    assert page.locator(field).first.input_value() == ""  # it was asked
