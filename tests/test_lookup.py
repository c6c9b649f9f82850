"""From names to IRIs."""

from __future__ import annotations

import pytest
from pyoxigraph import Literal, NamedNode, Quad

from kgplatform.errors import NotFoundError
from kgplatform.lookup import find_iri
from kgplatform.store import DEFAULT_GRAPH, Store
from kgplatform.vocab import ALT_LABEL, LABEL, PREFIXES

BASE = "https://example.org/kg/"
XIZHA, LAKE, SECOND, URN = (NamedNode(iri) for iri in (f"{BASE}西栅", f"{BASE}lake", f"{BASE}lake2", "urn:isbn:1"))


@pytest.fixture(scope="module")
def store() -> Store:
    store = Store.open(prefixes={**PREFIXES, "kg": BASE})
    names = [
        (XIZHA, LABEL, "西栅", "zh"),
        (XIZHA, ALT_LABEL, "Xizha", "en"),
        (LAKE, LABEL, "The West Lake", "en"),
        (LAKE, LABEL, "Old Street", "en"),
        (SECOND, LABEL, "old street", "en"),
        (URN, LABEL, "!!!", "en"),
    ]
    store.apply(added=[Quad(s, p, Literal(text, language=tag), DEFAULT_GRAPH) for s, p, text, tag in names])
    return store


@pytest.mark.parametrize(
    ("name", "iri"),
    [
        ("西栅", XIZHA),
        ("xizha", XIZHA),
        ("west-lake", LAKE),
        (f"{BASE}西栅", XIZHA),
        (f"<{BASE}lake>", LAKE),
        ("kg:lake", LAKE),
        ("urn:isbn:1", URN),
        ("<urn:isbn:1>", URN),
        (" the West Lake ", LAKE),
    ],
)
def test_a_thing_is_found_by_name_prefixed_name_or_iri(store: Store, name: str, iri: NamedNode) -> None:
    assert find_iri(store, name) == iri


def test_a_name_of_several_things_lists_them(store: Store) -> None:
    with pytest.raises(NotFoundError, match=f"2 things are called 'Old Street': {LAKE.value}, {SECOND.value}; give"):
        find_iri(store, "Old Street")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("West Lakes", "did you mean 'The West Lake'"),
        ("zebra", "try `kgplatform search 'zebra'`"),
        ("", "nothing is called ''"),
        ("???", "nothing is called"),
        ("https://example.org/nothing", "the graph says nothing about"),
        ("kg:nothing", "the graph says nothing about"),
        ("https://example.org/a b", "is not an IRI"),
        ("<x>", "is not an IRI"),
    ],
)
def test_what_is_not_there_is_said_in_one_line_with_a_way_out(store: Store, name: str, message: str) -> None:
    with pytest.raises(NotFoundError) as caught:
        find_iri(store, name)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
