"""The IRIs that the platform mints."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyoxigraph import NamedNode

from kgplatform.text import normalise
from kgplatform.vocab import (
    TRAVEL,
    chunk_iri,
    document_iri,
    entity_iri,
    graph_iri,
    local_name,
    slug,
    words_of_iri,
)

BASE = "https://example.org/kg/"
HOTEL, RESTAURANT = NamedNode(f"{TRAVEL}Hotel"), NamedNode(f"{TRAVEL}Restaurant")
NAMES = st.text(st.characters(exclude_categories=("Cs",)), max_size=80)


@given(NAMES)
def test_any_name_gives_a_valid_iri_that_stays_the_same(name: str) -> None:
    iri = entity_iri(BASE, HOTEL, name)
    assert NamedNode(iri.value) == iri
    assert iri == entity_iri(BASE, HOTEL, name)
    assert iri.value.startswith(f"{BASE}entity/")


@given(NAMES)
def test_spellings_with_one_normal_form_give_one_iri(name: str) -> None:
    if normalise(name):
        assert entity_iri(BASE, HOTEL, name) == entity_iri(BASE, HOTEL, normalise(name))


def test_an_article_or_a_hyphen_makes_no_other_entity() -> None:
    assert entity_iri(BASE, HOTEL, "The West-Gate Hotel") == entity_iri(BASE, HOTEL, "west gate hotel")


def test_class_and_name_both_tell_entities_apart() -> None:
    assert entity_iri(BASE, HOTEL, "西栅") != entity_iri(BASE, RESTAURANT, "西栅")
    assert entity_iri(BASE, HOTEL, "西栅") != entity_iri(BASE, HOTEL, "东栅")
    assert entity_iri(BASE, HOTEL, "!!!") != entity_iri(BASE, HOTEL, "???")


def test_slugs_keep_letters_of_every_script_and_are_never_empty() -> None:
    assert slug("西栅 Scenic_Zone") == "西栅-scenic-zone"
    assert slug("***") == "x"
    assert len(slug("a" * 500)) == 60


def test_document_and_chunk_iris_nest() -> None:
    document = document_iri(BASE, "ab" * 32)
    assert document.value == f"{BASE}document/abababababababab"
    assert document_iri(BASE, "ab" * 32, 2).value == f"{document.value}-2"
    assert chunk_iri(document, 3).value == f"{document.value}/chunk/3"
    assert graph_iri(BASE, "table/hotels").value == f"{BASE}graph/table/hotels"


@pytest.mark.parametrize(
    ("iri", "local", "words"),
    [
        (f"{TRAVEL}pricePerNight", "pricePerNight", "price per night"),
        ("https://example.org/a/b/", "b", "b"),
        ("https://example.org/a#", "a", "a"),
        ("urn:isbn:123", "urn:isbn:123", "urn:isbn:123"),
    ],
)
def test_local_names_are_what_follows_the_last_separator(iri: str, local: str, words: str) -> None:
    assert local_name(iri) == local
    assert words_of_iri(iri) == words
