"""The data of a thing that many others refer to comes a page at a time, and every reference is on one of them."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urljoin

import pyoxigraph as ox
import pytest
from flask.testing import FlaskClient
from pyoxigraph import Literal, NamedNode, Quad, RdfFormat, Triple
from small_graph import BASE, SmallGraph, small_graph
from werkzeug.http import parse_options_header

from kgplatform.store import DEFAULT_GRAPH
from kgplatform.vocab import LABEL
from kgplatform.web import entity_data
from kgplatform.web.app import create_app

HUB = NamedNode(f"{BASE}entity/hub")
NEAR = NamedNode("http://example.org/near")
HYDRA = "http://www.w3.org/ns/hydra/core#"
REFERENCES = 2 * entity_data.PAGE + 7


@pytest.fixture(scope="module")
def kg(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SmallGraph]:
    made = small_graph(tmp_path_factory.mktemp("graph"))
    refer = [Quad(NamedNode(f"{BASE}entity/n{n}"), NEAR, HUB, DEFAULT_GRAPH) for n in range(REFERENCES)]
    made.store.apply(added=[*refer, Quad(HUB, LABEL, Literal("中心", language="zh"), DEFAULT_GRAPH)])
    yield made
    made.close()


@pytest.fixture(scope="module")
def client(kg: SmallGraph) -> FlaskClient:
    return create_app(kg).test_client()


def links(header: str) -> dict[str, str]:
    found = {}
    for part in header.split(", <"):
        address, _, rest = part.lstrip("<").partition(">")
        found.setdefault(parse_options_header(f"x{rest}")[1]["rel"], address)
    return found


@pytest.mark.parametrize("extension", ["ttl", "jsonld", "nt", "rdf", "trig", "nq"])
def test_following_next_gives_every_reference_once(client: FlaskClient, extension: str) -> None:
    address, seen, pages = f"/id/entity/hub.{extension}", list[Triple](), 0
    while address:
        response = client.get(address)
        assert response.status_code == 200
        format_ = RdfFormat.from_media_type(response.mimetype)
        found = [quad.triple for quad in ox.parse(response.data, format=format_)]
        seen += [triple for triple in found if triple.predicate == NEAR]
        assert any(triple.predicate == LABEL for triple in found) == (pages == 0)
        totals = {t.object.value for t in found if t.predicate == NamedNode(f"{HYDRA}totalItems")}
        assert totals == {str(REFERENCES)}
        found_links = links(response.headers["Link"])
        assert ("prev" in found_links) == (pages > 0)
        address, pages = urljoin(address, found_links.get("next", "")) if "next" in found_links else "", pages + 1
    assert pages == 3
    assert len(seen) == len(set(seen)) == REFERENCES


def test_a_thing_with_few_references_has_one_page(client: FlaskClient) -> None:
    response = client.get("/id/entity/n1.nt")
    assert "next" not in links(response.headers["Link"])
    assert HYDRA not in response.get_data(as_text=True)


@pytest.mark.parametrize(("number", "status"), [("0", 400), ("x", 400), ("-1", 400), ("3", 200), ("4", 404)])
def test_a_page_that_is_none_is_refused(client: FlaskClient, number: str, status: int) -> None:
    assert client.get(f"/id/entity/hub.ttl?incoming={number}").status_code == status
