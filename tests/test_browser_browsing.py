"""Things, Explore, the map and the ontology in a browser: journeys, pictures, access, hostile names, other hosts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from atlas_study import EVILS, country, thing
from browser import Browsing, axe, browser, browsing, served, shot, until  # noqa: F401

from kgplatform.config import MapSettings
from kgplatform.graph import KnowledgeGraph
from kgplatform.web.app import create_app

HOTEL = "https://w3id.org/kgplatform/travel%23Hotel"
WUZHEN = f"/explore?focus={thing('wuzhen').value}"
ADDRESSES = {
    "entity": "/id/entity/hotel-2",
    "place": "/id/entity/tongxiang",
    "explore-start": "/explore",
    "explore": f"{WUZHEN}&expand=in 25 geo:locatedIn kg:entity/wuzhen",
    "path": f"{WUZHEN}&path=kg:entity/hotel-2 kg:entity/asia",
    "map": f"/map?class={HOTEL}",
    "map-place": f"/map?class={HOTEL}&place={thing('zhejiang').value}&bbox=119,29,122,32",
    "ontology": "/ontology",
    "ontology-search": "/ontology?q=hotel",
    "class": f"/resource?iri={HOTEL}",
    "property": "/property/travel:roomCount",
}


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeGraph]:
    with country(tmp_path_factory.mktemp("country")) as kg:
        yield kg


@pytest.fixture
def address(browsing: Browsing, study: KnowledgeGraph) -> str:
    return browsing.serve(study)


@pytest.mark.parametrize(("width", "dark", "language"), [(1440, False, "en"), (390, True, "zh")])
@pytest.mark.parametrize("name", list(ADDRESSES))
def test_a_page_is_drawn_and_open_to_everyone(
    browsing: Browsing,
    address: str,
    name: str,
    width: int,
    dark: bool,
    language: str,
) -> None:
    page = browsing.page(ADDRESSES[name], address=address, width=width, dark=dark, language=language)
    shot(page, f"{name}-{width}-{'dark' if dark else 'light'}-{language}")
    axe(page)
    browsing.check()
    assert page.locator("figure.failed").count() == 0


def test_exploring_adds_pins_hides_and_undoes(browsing: Browsing, address: str) -> None:
    page = browsing.page(WUZHEN, address=address)
    assert _drawn(page) == 1
    page.get_by_role("link", name="Add 25 by located in").first.click()
    until(page, "document.querySelectorAll('[data-of]').length === 26")
    assert "expand=" in page.url
    page.get_by_role("link", name="Add the next 25 by located in").first.click()
    until(page, "document.querySelectorAll('[data-of]').length === 51")
    page.get_by_role("link", name="Hide Hotel 00").click()
    until(page, "![...document.querySelectorAll('[data-of]')].some(a => a.dataset.of.endsWith('hotel-0'))")
    page.get_by_role("button", name="Undo").click()
    until(page, "[...document.querySelectorAll('[data-of]')].some(a => a.dataset.of.endsWith('hotel-0'))")
    axe(page)
    kept = page.url
    again = browsing.page(kept.removeprefix(address), address=address)
    assert again.locator("[data-of]").count() == page.locator("[data-of]").count()


def _drawn(page: Any) -> int:
    return int(page.locator("[data-of]").count())


def test_the_picture_of_an_exploration_is_saved_as_svg_and_png(browsing: Browsing, address: str) -> None:
    page = browsing.page(ADDRESSES["explore"], address=address)
    for selector, beginning in (("[data-svg]", b"<svg"), ("[data-png]", b"\x89PNG")):
        page.locator(".explore-bar summary").click()
        with page.expect_download() as saved:
            page.locator(selector).click()
        content = saved.value.path().read_bytes()
        assert content.startswith(beginning)
        assert b"<script" not in content
        page.keyboard.press("Escape")


def test_a_path_is_found_by_names_and_drawn(browsing: Browsing, address: str) -> None:
    page = browsing.page(f"/explore?focus={thing('hotel-2').value}", address=address)
    page.get_by_text("Find a path").click()
    page.locator("#to").fill("Zhejiang")
    page.get_by_role("button", name="Find", exact=True).click()
    until(page, "document.querySelectorAll('.way a').length === 5")
    assert "path=" in page.url
    axe(page)


def test_the_list_follows_the_frame_of_the_map(browsing: Browsing, address: str) -> None:
    page = browsing.page(ADDRESSES["map"], address=address)
    before = page.locator(".spots li[data-id]").count()
    for _ in range(3):
        page.locator(".leaflet-control-zoom-in").click()
    until(
        page,
        "new URL(location.href).searchParams.get('bbox')"
        f" && document.querySelectorAll('.spots li[data-id]').length < {before}",
    )
    again = browsing.page(page.url.removeprefix(address), address=address)
    assert again.locator(".spots li[data-id]").count() == page.locator(".spots li[data-id]").count()


def test_the_passage_of_a_statement_opens_on_hover_and_by_keyboard(browsing: Browsing) -> None:
    entity = browsing.kg.entity("Lakeside Inn").value
    page = browsing.page(f"/resource?iri={entity}")
    prov = page.locator("details.prov").first
    prov.hover()
    assert page.locator(".prov-card").first.is_visible()
    axe(page)
    page.keyboard.press("Tab")
    prov.locator("summary").focus()
    page.keyboard.press("Escape")
    plain = browsing.page(f"/resource?iri={entity}", scripts=False)
    plain.locator("details.prov > summary").first.click()
    assert plain.locator(".prov-card").first.is_visible()


def test_without_scripts_explore_map_and_search_work_by_links_and_forms(browsing: Browsing, address: str) -> None:
    page = browsing.page("/explore", address=address, scripts=False)
    page.locator(".askbox input").fill("Wuzhen")
    page.locator(".askbox button").click()
    page.get_by_role("link", name="Add 25 by located in").first.click()
    assert _drawn(page) == 26
    page = browsing.page(f"/map?class={HOTEL}", address=address, scripts=False)
    page.locator(".levels a").first.click()
    assert page.locator(".spots li").count() > 10
    page = browsing.page("/ontology", address=address, scripts=False)
    page.locator("input.wide-filter").fill("旅馆酒店")
    page.locator("form[action='/ontology'] button").click()
    assert page.locator("[role=status]").count() == 1


@pytest.mark.parametrize("number", range(len(EVILS)))
@pytest.mark.parametrize(
    "where", ["/id/entity/evil-{n}", "/explore?focus=kg:entity/evil-{n}&expand=out 25 geo:near kg:entity/evil-{n}"]
)
def test_a_hostile_name_stays_text(browsing: Browsing, address: str, where: str, number: int) -> None:
    page = browsing.page(where.format(n=number), address=address, width=390)
    assert page.evaluate("document.querySelectorAll('img[onerror], main script:not([type])').length") == 0
    assert EVILS[number].strip()[:50] in page.locator("main").inner_text().replace("\u00a0", " ")
    axe(page)


def test_tiles_and_outlines_come_only_where_the_settings_name_them(browsing: Browsing, study: KnowledgeGraph) -> None:
    (study.folder / "own.geojson").write_text(
        '{"type": "FeatureCollection", "features": [{"type": "Feature", "properties": {}, "geometry":'
        ' {"type": "LineString", "coordinates": [[118, 28], [122, 32]]}}]}',
        encoding="utf-8",
    )
    before = study.settings
    object.__setattr__(study.settings, "map", MapSettings(boundaries="own.geojson"))
    try:
        page = browsing.page(ADDRESSES["map"], address=browsing.serve(study))
        assert page.locator("path.frontier").count() == 1
        tiled = replace(before.map, tiles="https://tiles.example.org/{z}/{x}/{y}.png")
        object.__setattr__(study.settings, "map", tiled)
        policy = create_app(study).test_client().get("/map").headers["Content-Security-Policy"]
        assert "https://tiles.example.org" in policy.split("img-src")[1].split(";")[0]
    finally:
        object.__setattr__(study.settings, "map", MapSettings())
