"""Pictures by ``data-view`` in a browser: each shape of data is drawn, has a twin, stays text, and meets WCAG."""

from __future__ import annotations

import json
from typing import Any

import pytest
from browser import Browsing, axe, browser, browsing, served, shot, until  # noqa: F401
from small_graph import EVIL

from kgplatform.web.assets import built

CLASSES = [{"label": "Hotel", "color": 0}, {"label": "Town", "color": 1}, {"label": "Area", "color": 7}]
NODES = [
    {"id": f"n{i}", "label": EVIL if i == 2 else f"Thing {i}", "class": i % 3, "href": f"/id/{i}"} for i in range(7)
]
EDGES = [
    {"source": f"n{i}", "target": f"n{i + 1}", "label": "before", "kind": "inferred" if i % 2 else ""} for i in range(6)
]
GROUPS = ["look up", "count", "compare"]
PICTURES: dict[str, tuple[str, dict[str, Any]]] = {
    "force": ("graph", {"nodes": NODES, "edges": EDGES, "classes": CLASSES, "query": "SELECT * { ?s ?p ?o }"}),
    "layers": ("graph", {"nodes": NODES, "edges": EDGES, "classes": CLASSES, "layout": "layers"}),
    "groups": ("graph", {"nodes": [{**n, "group": f"Part {i % 2}"} for i, n in enumerate(NODES)], "edges": EDGES}),
    "radial": (
        "graph",
        {
            "nodes": [{**NODES[0], "focus": True}, *NODES[1:]],
            "edges": [{"source": "n0", "target": f"n{i}"} for i in range(1, 7)],
            "layout": "radial",
        },
    ),
    "bars": (
        "chart",
        {
            "kind": "bars",
            "horizontal": True,
            "x": {"label": "accuracy", "percent": True, "domain": [0, 1]},
            "y": {"type": "category"},
            "rows": [
                {"x": 0.5 + i / 10, "y": name, "low": 0.4 + i / 10, "high": 0.6 + i / 10}
                for i, name in enumerate([*GROUPS, EVIL])
            ],
        },
    ),
    "grouped": (
        "chart",
        {
            "kind": "bars",
            "y": {"label": "rows"},
            "rows": [
                {"x": name, "y": 3 * i + 2 * len(kind), "series": kind}
                for i, name in enumerate(GROUPS)
                for kind in ("rules", "model")
            ],
        },
    ),
    "lines": (
        "chart",
        {
            "kind": "lines",
            "x": {"label": "year", "type": "date"},
            "y": {"label": "papers"},
            "rows": [
                {"x": str(2000 + i), "y": i * k, "low": i * k - 1, "high": i * k + 1, "series": f"field {k}"}
                for i in range(8)
                for k in (1, 2)
            ],
        },
    ),
    "scatter": (
        "chart",
        {
            "kind": "scatter",
            "x": {"label": "cost"},
            "y": {"label": "score"},
            "rows": [{"x": i, "y": i * i, "label": f"run {i}"} for i in range(6)],
        },
    ),
    "heat": (
        "chart",
        {
            "kind": "heat",
            "value": {"label": "similarity", "domain": [0, 1]},
            "rows": [{"x": f"a{i}", "y": f"b{j}", "value": abs(i - j) / 4} for i in range(5) for j in range(4)],
        },
    ),
    "histogram": (
        "chart",
        {"kind": "histogram", "x": {"label": "length"}, "rows": [{"x": (i * 7) % 23} for i in range(60)]},
    ),
    "map": (
        "map",
        {
            "points": [
                {
                    "id": f"p{i}",
                    "label": EVIL if i == 1 else f"Place {i}",
                    "lat": 30 + i / 5,
                    "lon": 110 + i,
                    "class": i % 3,
                    "value": i,
                }
                for i in range(90)
            ],
            "lines": [{"points": [[30, 110], [35, 120]], "label": "way", "class": 1}],
            "classes": CLASSES,
            "total": {"points": 400},
        },
    ),
    "timeline": (
        "timeline",
        {
            "rows": [
                {"start": "1851-03-02", "label": EVIL, "class": 0},
                {"start": "1900", "end": "1920", "label": "Span", "class": 1},
                {"start": "-0300", "label": "Long ago"},
            ],
            "classes": CLASSES,
        },
    ),
}


def sheet(pictures: dict[str, tuple[str, dict[str, Any]]]) -> str:
    """A page of pictures, as a template would make it."""
    escaped = {ord("<"): "\\u003c", ord(">"): "\\u003e", ord("&"): "\\u0026"}
    figures = "".join(
        f'<figure class="view" id="{name}" data-view="{kind}" data-height="300"><figcaption>{name}</figcaption>'
        f'<script type="application/json">{json.dumps(data).translate(escaped)}</script></figure>'
        for name, (kind, data) in pictures.items()
    )
    table = (
        '<figure class="view" id="plain" data-view="table"><table><thead><tr><th scope="col">name</th>'
        '<th scope="col">n</th></tr></thead><tbody>'
        + "".join(
            f'<tr><td>Row {i}</td><td class="num" data-value="{i * 37 % 11}">{i * 37 % 11}</td></tr>' for i in range(12)
        )
        + "</tbody></table></figure>"
    )
    return figures + table


@pytest.fixture
def pictures(browsing: Browsing, request: pytest.FixtureRequest) -> Any:
    """The page of pictures in the theme of the parameter, on the address of the small workspace."""
    dark = bool(getattr(request, "param", False))
    page = browsing.page("/documents", dark=dark, height=1000)
    words = page.locator("#frame").evaluate("node => node.textContent").translate({ord("<"): "\\u003c"})
    styles = ("/static/kgplatform.css", built().address("app.css"))
    head = "".join(f'<link rel="stylesheet" href="{address}">' for address in styles)
    html = (
        f'<!doctype html><html lang="en"><head><title>Pictures</title>{head}</head><body>'
        f'<main class="broad"><h1>Pictures</h1>{sheet(PICTURES)}</main>'
        f'<script type="application/json" id="frame">{words}</script>'
        f'<script type="module" src="{built().address("app.js")}"></script></body></html>'
    )
    page.route("**/pictures", lambda route: route.fulfill(body=html, content_type="text/html; charset=utf-8"))
    page.goto(f"{browsing.address}/pictures")
    page.wait_for_selector("html[data-ready=yes]", state="attached")
    for name in PICTURES:
        page.locator(f"#{name}").scroll_into_view_if_needed()
        page.wait_for_selector(f"#{name} .stage > *")
    until(page, "document.querySelectorAll('figure.failed').length === 0")
    return page


@pytest.mark.parametrize("pictures", [False, True], indirect=True, ids=["light", "dark"])
def test_every_shape_of_data_is_drawn_and_accessible(pictures: Any) -> None:
    folder = pictures.evaluate("matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light'")
    for name, (kind, _) in PICTURES.items():
        inside = {"graph": "canvas", "map": "path.point", "chart": "svg[role=img]", "timeline": "svg[role=img]"}[kind]
        assert pictures.locator(f"#{name} {inside}").count() >= 1, name
        shot(pictures.locator(f"#{name}"), f"picture-{name}-{folder}")
    assert pictures.locator("script:not([src]):not([type='application/json'])").count() == 0
    assert pictures.locator("#map .cluster").count() >= 1
    axe(pictures)


def test_every_picture_has_its_data_as_a_table_and_its_query(pictures: Any) -> None:
    for name in PICTURES:
        twin = pictures.locator(f"#{name} details.twin")
        twin.locator("summary").click()
        assert twin.locator("tbody tr").count() >= 3, name
    assert (
        pictures.locator("#force .under-figure a").get_attribute("href")
        == "/query?query=SELECT%20*%20%7B%20%3Fs%20%3Fp%20%3Fo%20%7D"
    )
    assert "90 of 400" in pictures.locator("#map .under-figure").inner_text()
    assert EVIL in pictures.locator("#timeline details.twin").inner_text()
    axe(pictures)


def test_tables_of_the_server_sort_and_filter(pictures: Any) -> None:
    pictures.locator("#plain").scroll_into_view_if_needed()
    pictures.locator("#plain .sort").nth(1).click()
    values = [int(text) for text in pictures.locator("#plain tbody td.num").all_inner_texts()]
    assert values == sorted(values)
    pictures.locator("#plain input.filter").fill("row 11")
    until(pictures, "document.querySelectorAll('#plain tbody tr:not([hidden])').length === 1")


def test_picking_a_thing_tells_the_page(pictures: Any) -> None:
    pictures.evaluate(
        "addEventListener('kgp:pick', (event) => { event.preventDefault(); window.picked = event.detail.id; })"
    )
    pictures.locator("#map path.point").first.dispatch_event("click")
    until(pictures, "window.picked?.startsWith('p')")
