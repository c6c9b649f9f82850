"""What can be taken away over HTTP, and how the W3C's tests went."""

from __future__ import annotations

import gzip
import json
import urllib.error
import urllib.request
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from pathlib import Path

import pyoxigraph as ox
import pytest
from pyoxigraph import RdfFormat
from serving import small_server

from kgplatform.cli.conformance import keep
from kgplatform.conformance.outcomes import Outcome, Verdict
from kgplatform.conformance.suites import Result

TRAVEL = "https%3A%2F%2Fw3id.org%2Fkgplatform%2Ftravel%23"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    folder = tmp_path_factory.mktemp("served")
    with small_server(folder) as (address, _):
        yield address, folder


def get(address: str, accept: str = "*/*") -> tuple[int, str, bytes]:
    try:
        response = urllib.request.urlopen(urllib.request.Request(address, headers={"Accept": accept}), timeout=30)
    except urllib.error.HTTPError as error:
        response = error
    with response:
        return response.status, response.headers.get("Content-Type", ""), response.read()


def test_the_page_offers_classes_formats_and_states(served: tuple[str, Path]) -> None:
    status, kind, body = get(f"{served[0]}/export", "text/html")
    text = body.decode()
    assert (status, kind.partition(";")[0]) == (200, "text/html")
    assert all(word in text for word in ("hotel", "graphml", 'name="since"', "Download"))
    assert "下载" in get(f"{served[0]}/export?lang=zh", "text/html")[2].decode()


def test_files_hold_what_was_chosen(served: tuple[str, Path]) -> None:
    address = served[0]
    status, kind, body = get(f"{address}/export?format=ntriples&class={TRAVEL}Hotel&since=&at=")
    assert (status, kind.partition(";")[0]) == (200, "application/n-triples")
    assert "通安客栈" in body.decode()
    assert "西栅" not in {
        quad.object.value for quad in ox.parse(body, format=RdfFormat.N_TRIPLES) if hasattr(quad.object, "value")
    }
    whole = gzip.decompress(get(f"{address}/export?format=nquads&gz=1&canonical=1")[2])
    assert whole.count(b"\n") == len(list(ox.parse(whole, format=RdfFormat.N_QUADS)))
    ElementTree.fromstring(get(f"{address}/export?format=gexf")[2])
    for wrong, expected in {
        "format=turtel": 400,
        "format=turtle&since=soon": 400,
        "format=turtle&class=no+iri": 400,
        "format=turtle&class=urn:x": 404,
        "format=turtle&class=urn:x&since=2026-01-01": 400,
        "format=turtle&at=999": 404,
        "format=turtle&canonical=1": 400,
    }.items():
        assert get(f"{address}/export?{wrong}")[0] == expected, wrong


def test_the_context_gives_json_ld_its_meaning(served: tuple[str, Path]) -> None:
    context = json.loads(get(f"{served[0]}/context.jsonld")[2])
    document = {**context, "@id": "urn:x", "@type": "Hotel", "roomCount": "12"}
    read = {str(quad.triple) for quad in ox.parse(json.dumps(document).encode(), format=RdfFormat.JSON_LD)}
    assert any("travel#Hotel>" in triple for triple in read)
    assert any('"12"^^<http://www.w3.org/2001/XMLSchema#integer>' in triple for triple in read)


def test_the_sitemap_lists_pages_that_are_there(served: tuple[str, Path]) -> None:
    root = ElementTree.fromstring(get(f"{served[0]}/sitemap.xml")[2])
    pages = [place.text or "" for place in root.iter("{http://www.sitemaps.org/schemas/sitemap/0.9}loc")]
    assert len(pages) >= 3
    assert all(get(page, "text/html")[0] == 200 for page in pages)


def test_things_say_where_they_are_described(served: tuple[str, Path]) -> None:
    with urllib.request.urlopen(
        f"{served[0]}/resource?iri=https%3A%2F%2Fw3id.org%2Fkgplatform%2Ftravel%23Hotel"
    ) as page:
        links = page.headers["Link"]
    assert 'rel="describedby"; type="text/turtle"' in links
    assert 'rel="alternate"; type="application/ld+json"' in links


def test_results_of_the_tests_are_shown_with_reasons_and_as_earl(served: tuple[str, Path]) -> None:
    address, folder = served
    assert "have not been run" in get(f"{address}/conformance", "text/html")[2].decode()
    assert get(f"{address}/conformance", "text/turtle")[0] == 404
    (folder / "kgplatform.toml").write_text("version = 1")
    outcomes = [
        Outcome("urn:t:1", "one", "query", Verdict.PASSED),
        Outcome("urn:t:2", "two", "query", Verdict.FAILED, "x"),
    ]
    keep([Result("query", outcomes[0]), Result("query", outcomes[1], "a reason that is known")], folder)
    text = get(f"{address}/conformance", "text/html")[2].decode()
    assert "a reason that is known" in text
    assert "urn:t:2" in text
    assert "urn:t:1" not in text
    triples = list(ox.parse(get(f"{address}/conformance", "text/turtle")[2], format=RdfFormat.TURTLE))
    assert sum("earl#failed" in str(quad.object) for quad in triples) == 1
