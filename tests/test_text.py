"""Words and letters, the IRIs that are minted of names, and from names back to IRIs."""

import re
import time
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyoxigraph import Literal, NamedNode, Quad

from kgplatform import lexicon
from kgplatform.entities import find_iri
from kgplatform.errors import NotFoundError
from kgplatform.store.oxigraph import DEFAULT_GRAPH, Store
from kgplatform.text import (
    count_tokens,
    has_han,
    language_of,
    normalise,
    sentences,
    singular,
    words,
    words_of_identifier,
)
from kgplatform.vocab import (
    ALT_LABEL,
    LABEL,
    PREFIXES,
    TRAVEL,
    chunk_iri,
    document_iri,
    entity_iri,
    graph_iri,
    local_name,
    slug,
    words_of_iri,
)

LETTERS = st.text(alphabet=st.sampled_from("abcZ .。!?！？\n\t'\"“”’()西湖乌镇；;…-*#Mr"), max_size=200) | st.text(
    max_size=80
)


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        ("The West-Lake", "west  lake", True), ("Xī Hú", "xi hu", True), ("ＳＦ１６２５", "sf1625", True),
        ("《西栅》", "西栅", True), ("King’s Inn", "king's inn", True), ("the “Old Mill”.", "old mill", True),
        ("STRASSE", "straße", True), ("ガイド", "カイト", False), ("西栅", "东栅", False), ("SF1624", "SF1625", False),
        ("кий", "кии", False),
    ],
)  # fmt: skip
def test_spellings_of_one_name_are_equal_and_different_names_are_not(one, other, equal):
    assert (normalise(one) == normalise(other)) is equal


@given(st.text(max_size=60))
def test_normalising_twice_changes_nothing_more(name):
    once = normalise(name)
    assert normalise(once) == once
    assert once == once.strip()
    assert "  " not in once


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Wuzhen is a water town in Zhejiang.", "en"),
        ("乌镇是浙江的一个水乡。", "zh"),
        ("我用 BERT 和 Transformer 做了实验，结果很好，比 LSTM 高了很多", "zh"),
        ("We met at 西栅 and had a very long walk along the canal that evening.", "en"),
        ("Kursen ger en introduktion till det som är viktigt för att förstå ljud och akustik", "sv"),
        ("Vilka kurser ges på våren?", "sv"),
        ("Lärandemål: studenten ska kunna förklara hur ljud uppstår", "sv"),
        ("SF1625 Envariabelanalys, 7,5 hp, Särskild behörighet: Matematik 4 och Fysik 2", "sv"),
        ("Malmö and Göteborg are cities in Sweden that we saw from the train", "en"),
        ("Der Fluß ist schön und die Stadt ist auch sehr schön für den Urlaub", "en"),
        ("Det er en by på øen som vi ikke har set før, og den er af stor interesse", "en"),
        ("مرحبا بكم في ووتشن", "en"),
        ("", "en"),
        ("123 456", "en"),
    ],
)
def test_language_is_told_by_letters_and_function_words(text, language):
    assert language_of(text) == language


@given(LETTERS, st.integers(0, 50), st.integers(0, 250))
def test_sentences_are_in_order_trimmed_and_leave_out_blanks_only(text, start, end):
    stop = min(end, len(text))
    start = min(start, stop)
    spans = list(sentences(text, start, stop))
    place = start
    for begin, finish in spans:
        assert place <= begin < finish <= stop
        assert not text[place:begin].strip()
        assert text[begin:finish] == text[begin:finish].strip()
        place = finish
    assert not text[place:stop].strip()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Mr. Li met Dr. Wang. They left.", ["Mr. Li met Dr. Wang.", "They left."]),
        ("乌镇很美。西栅更美！去吗？", ["乌镇很美。", "西栅更美！", "去吗？"]),
        ("It costs 3.50 yuan. Cheap!", ["It costs 3.50 yuan.", "Cheap!"]),
        ("他说：“好。”然后走了。", ["他说：“好。”", "然后走了。"]),
        ("Title\n\nFirst line\n- item one\n- item two", ["Title", "First line", "- item one", "- item two"]),
        ("A. Vaswani wrote it.", ["A. Vaswani wrote it."]),
        ("The journal (short: Adv.) is old. It ends.", ["The journal (short: Adv.) is old.", "It ends."]),
        ("we came. it rained. - no bus. we left", ["we came.", "it rained.", "- no bus.", "we left"]),
    ],
)
def test_sentences_end_where_a_reader_ends_them(text, expected):
    assert [text[begin:end] for begin, end in sentences(text)] == expected


@pytest.mark.parametrize("piece", [".", "\n", "。", ".'", " \n", "! ", "A."])
def test_sentences_take_linear_time(piece):
    text = piece * (300_000 // len(piece)) + "x"
    started = time.perf_counter()
    assert sum(1 for _ in sentences(text)) >= 1
    assert time.perf_counter() - started < 3


def test_singular_of_regular_nouns():
    plurals = "hotels dishes cities buses teahouses prizes boxes courses menus campus glass basis gas 酒店"
    singulars = "hotel dish city bus teahouse prize box course menu campus glass basis gas 酒店"
    assert [singular(word) for word in plurals.split()] == singulars.split()


@given(st.text(max_size=60), st.text(max_size=60))
def test_tokens_are_counted_one_a_han_character_and_a_quarter_a_letter(one, other):
    assert count_tokens(one) <= count_tokens(one + other) <= count_tokens(one) + count_tokens(other)
    assert [count_tokens(text) for text in ("", "乌镇", "abcdefgh", "乌镇ab")] == [0, 2, 2, 3]


def test_han_characters_and_the_parts_of_identifiers_are_words():
    assert words("K11购物 don't GO") == ["k11", "购", "物", "don't", "go"]
    assert words("西湖abc") == ["西", "湖", "abc"]
    assert [has_han(text) for text in ("at 西栅", "カタカナ")] == [True, False]
    identifiers = ("actualOnRamp", "flight_UID", "HTMLPage-title")
    assert [words_of_identifier(name) for name in identifiers] == ["actual on ramp", "flight uid", "html page title"]


BASE = "https://example.org/kg/"
HOTEL, RESTAURANT = NamedNode(f"{TRAVEL}Hotel"), NamedNode(f"{TRAVEL}Restaurant")
NAMES = st.text(st.characters(exclude_categories=("Cs",)), max_size=80)


@given(NAMES)
def test_any_name_gives_a_valid_iri_for_all_its_spellings(name):
    iri = entity_iri(BASE, HOTEL, name)
    assert NamedNode(iri.value) == iri == entity_iri(BASE, HOTEL, name)
    assert iri.value.startswith(f"{BASE}entity/")
    if normalise(name):
        assert iri == entity_iri(BASE, HOTEL, normalise(name))


def test_class_and_name_tell_entities_apart_and_the_iris_of_documents_nest():
    assert entity_iri(BASE, HOTEL, "The West-Gate Hotel") == entity_iri(BASE, HOTEL, "west gate hotel")
    assert entity_iri(BASE, HOTEL, "西栅") not in (
        entity_iri(BASE, RESTAURANT, "西栅"),
        entity_iri(BASE, HOTEL, "东栅"),
    )
    assert entity_iri(BASE, HOTEL, "!!!") != entity_iri(BASE, HOTEL, "???")
    assert [slug("西栅 Scenic_Zone"), slug("***"), len(slug("a" * 500))] == ["西栅-scenic-zone", "x", 60]
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
def test_local_names_are_what_follows_the_last_separator(iri, local, words):
    assert local_name(iri) == local
    assert words_of_iri(iri) == words


XIZHA, LAKE, SECOND, URN = (NamedNode(iri) for iri in (f"{BASE}西栅", f"{BASE}lake", f"{BASE}lake2", "urn:isbn:1"))


@pytest.fixture(scope="module")
def store():
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
        ("西栅", XIZHA), ("xizha", XIZHA), ("west-lake", LAKE), (" the West Lake ", LAKE), ("kg:lake", LAKE),
        (f"{BASE}西栅", XIZHA), (f"<{BASE}lake>", LAKE), ("urn:isbn:1", URN), ("<urn:isbn:1>", URN),
    ],
)  # fmt: skip
def test_a_thing_is_found_by_name_prefixed_name_or_iri(store, name, iri):
    assert find_iri(store, name) == iri


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("Old Street", f"2 entities are named 'Old Street': {LAKE.value}, {SECOND.value}; give"),
        ("West Lakes", "did you mean 'The West Lake'"), ("zebra", "try `kgplatform search 'zebra'`"),
        ("", "nothing is named ''"), ("???", "nothing is named"),
        ("https://example.org/nothing", "nothing is known about"), ("kg:nothing", "nothing is known about"),
        ("https://example.org/a b", "is not an IRI"), ("<x>", "is not an IRI"),
    ],
)  # fmt: skip
def test_what_is_not_there_is_said_in_one_line_with_a_way_out(store, name, message):
    with pytest.raises(NotFoundError) as caught:
        find_iri(store, name)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


PACKAGE = Path(lexicon.__file__).parents[1]
FILLED = {"scheme.other_after", "scheme.other_before", "times.dated_4", "times.dated_5"}  # their names are put together


def test_names_in_code_and_data_are_the_same():
    files = [*(PACKAGE / "questions").rglob("*.py"), PACKAGE / "lexicon" / "amounts.py"]
    source = "\n".join(path.read_text(encoding="utf-8") for path in files)
    asked = set(re.findall(r'lexicon\.\w+\(\s*"([\w.]+)"', source))
    data = [tomllib.loads((PACKAGE / "lexicon" / f"{it}.toml").read_text(encoding="utf-8")) for it in lexicon.LANGUAGES]
    whole = {section for section in asked if "." not in section}
    held = {
        f"{name}.{key}" for table in data for name, section in table.items() if name not in whole for key in section
    }
    assert held == {name for name in asked if "." in name} | FILLED
    assert whole == {name for table in data for name in table if name in whole}
    assert all(table[name].keys() == data[0][name].keys() for table in data for name in whole)
