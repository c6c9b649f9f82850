"""Pictures by ``data-view`` in a browser: each shape of data is drawn, has a twin, stays text, and meets WCAG."""

import json

import pytest
from browser import Browsing, axe, browser, browsing, served, shot, until  # noqa: F401
from small_graph import EVIL

from kgplatform.server.frame import built

CLASSES = [{"label": "Hotel", "color": 0}, {"label": "Town", "color": 1}, {"label": "Area", "color": 7}]
NODES = [
    {"id": f"n{i}", "label": EVIL if i == 2 else f"Thing {i}", "class": i % 3, "href": f"/id/{i}"} for i in range(7)
]
EDGES = [
    {"source": f"n{i}", "target": f"n{i + 1}", "label": "before", "kind": "inferred" if i % 2 else ""} for i in range(6)
]
GROUPS = ["look up", "count", "compare"]
STAR = [{"source": "n0", "target": f"n{i}"} for i in range(1, 7)]
SHARES = [{"x": 0.5 + i / 10, "y": n, "low": 0.4 + i / 10, "high": 0.6 + i / 10} for i, n in enumerate([*GROUPS, EVIL])]
YEARS = [(str(2000 + i), i * k, k) for i in range(8) for k in (1, 2)]
SPOTS = [
    {
        "id": f"p{i}",
        "label": EVIL if i == 1 else f"Place {i}",
        "lat": 30 + i / 5,
        "lon": 110 + i if i else -20,  # one by itself
        "class": i % 3,
        "value": i,
    }
    for i in range(90)
]
SPANS = [
    {"start": "1851-03-02", "label": EVIL, "class": 0},
    {"start": "1900", "end": "1920", "label": "Span", "class": 1},
    {"start": "-0300", "label": "Long ago"},
]


def graph(nodes=NODES, edges=EDGES, **more):
    return ("graph", {"nodes": nodes, "edges": edges, **more})


def chart(kind, rows, **more):
    return ("chart", {"kind": kind, "rows": list(rows), **more})


PICTURES = {
    "force": graph(classes=CLASSES, query="SELECT * { ?s ?p ?o }"),
    "layers": graph(classes=CLASSES, layout="layers"),
    "groups": graph([{**node, "group": f"Part {i % 2}"} for i, node in enumerate(NODES)]),
    "radial": graph([{**NODES[0], "focus": True}, *NODES[1:]], STAR, layout="radial"),
    "bars": chart(
        "bars",
        SHARES,
        horizontal=True,
        x={"label": "accuracy", "percent": True, "domain": [0, 1]},
        y={"type": "category"},
    ),
    "grouped": chart(
        "bars",
        ({"x": x, "y": 3 * i + len(kind), "series": kind} for i, x in enumerate(GROUPS) for kind in ("rules", "model")),
        y={"label": "rows"},
    ),
    "lines": chart(
        "lines",
        ({"x": x, "y": y, "low": y - 1, "high": y + 1, "series": f"field {k}"} for x, y, k in YEARS),
        x={"label": "year", "type": "date"},
        y={"label": "papers"},
    ),
    "scatter": chart(
        "scatter",
        ({"x": i, "y": i * i, "label": f"run {i}"} for i in range(6)),
        x={"label": "cost"},
        y={"label": "score"},
    ),
    "heat": chart(
        "heat",
        ({"x": f"a{i}", "y": f"b{j}", "value": abs(i - j) / 4} for i in range(5) for j in range(4)),
        value={"label": "similarity", "domain": [0, 1]},
    ),
    "histogram": chart("histogram", ({"x": (i * 7) % 23} for i in range(60)), x={"label": "length"}),
    "map": (
        "map",
        {
            "points": SPOTS,
            "lines": [{"points": [[30, 110], [35, 120]], "label": "way", "class": 1}],
            "classes": CLASSES,
            "total": {"points": 400},
        },
    ),
    "timeline": ("timeline", {"rows": SPANS, "classes": CLASSES}),
}


def sheet():
    """A page of pictures and a table, as a template would make it."""
    escaped = {ord("<"): "\\u003c", ord(">"): "\\u003e", ord("&"): "\\u0026"}
    figures = "".join(
        f'<figure class="view" id="{name}" data-view="{kind}" data-height="300"><figcaption>{name}</figcaption>'
        f'<script type="application/json">{json.dumps(data).translate(escaped)}</script></figure>'
        for name, (kind, data) in PICTURES.items()
    )
    head = '<tr><th scope="col">name</th><th scope="col">n</th></tr>'
    numbers = [i * 37 % 11 for i in range(12)]
    body = "".join(f'<tr><td>Row {i}</td><td class="num" data-value="{n}">{n}</td></tr>' for i, n in enumerate(numbers))
    table = f"<table><thead>{head}</thead><tbody>{body}</tbody></table>"
    return f'{figures}<figure class="view" id="plain" data-view="table">{table}</figure>'


@pytest.fixture
def pictures(browsing, request):
    """The page of pictures in the theme of the parameter, on the address of the small workspace."""
    dark = bool(getattr(request, "param", False))
    page = browsing.page("/documents", dark=dark, height=1000)
    words = page.locator("#frame").evaluate("node => node.textContent").translate({ord("<"): "\\u003c"})
    styles = ("/static/kgplatform.css", f"/static/built/{built()['app.css']}")
    head = "".join(f'<link rel="stylesheet" href="{address}">' for address in styles)
    html = (
        f'<!doctype html><html lang="en"><head><title>Pictures</title>{head}</head><body>'
        f'<main class="broad"><h1>Pictures</h1>{sheet()}</main>'
        f'<script type="application/json" id="frame">{words}</script>'
        f'<script type="module" src="/static/built/{built()["app.js"]}"></script></body></html>'
    )
    page.route("**/pictures", lambda route: route.fulfill(body=html, content_type="text/html; charset=utf-8"))
    page.goto(f"{browsing.address}/pictures")
    page.wait_for_selector("html[data-ready=yes]", state="attached")
    for name in PICTURES:
        page.locator(f"#{name}").scroll_into_view_if_needed()
        page.wait_for_selector(f"#{name} .stage > *")
    until(page, "document.querySelectorAll('figure.failed').length === 0")
    page.wait_for_selector("#map path.point")
    return page


@pytest.mark.parametrize(
    "pictures", [False, pytest.param(True, marks=pytest.mark.slow)], indirect=True, ids=["light", "dark"]
)
def test_every_shape_of_data_is_drawn_and_accessible(pictures):
    folder = pictures.evaluate("matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light'")
    for name, (kind, _) in PICTURES.items():
        inside = {"graph": "canvas", "map": "path.point", "chart": "svg[role=img]", "timeline": "svg[role=img]"}[kind]
        assert pictures.locator(f"#{name} {inside}").count() >= 1, name
        shot(pictures.locator(f"#{name}"), f"picture-{name}-{folder}")
    assert pictures.locator("script:not([src]):not([type='application/json'])").count() == 0
    assert pictures.locator("#map .cluster").count() >= 1
    axe(pictures)


@pytest.mark.slow
def test_every_picture_has_its_data_as_a_table_and_its_query(pictures):
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


@pytest.mark.slow
def test_tables_of_the_server_sort_and_filter_and_picking_a_thing_tells_the_page(pictures):
    pictures.locator("#plain").scroll_into_view_if_needed()
    pictures.locator("#plain .sort").nth(1).click()
    values = [int(text) for text in pictures.locator("#plain tbody td.num").all_inner_texts()]
    assert values == sorted(values)
    pictures.locator("#plain input.filter").fill("row 11")
    until(pictures, "document.querySelectorAll('#plain tbody tr:not([hidden])').length === 1")
    listen = "addEventListener('kgp:pick', (event) => { event.preventDefault(); window.picked = event.detail.id; })"
    pictures.evaluate(listen)
    pictures.locator("#map path.point").first.dispatch_event("click")
    until(pictures, "window.picked?.startsWith('p')")
