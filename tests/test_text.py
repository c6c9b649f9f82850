"""Words and letters."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

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

TEXTS = st.text(alphabet=st.sampled_from("abcZ .。!?！？\n\t'\"“”’()西湖乌镇；;…-*#Mr"), max_size=200) | st.text(
    max_size=80
)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The West-Lake", "west  lake"),
        ("Xī Hú", "xi hu"),
        ("ＳＦ１６２５", "sf1625"),
        ("《西栅》", "西栅"),
        ("King’s Inn", "king's inn"),
        ("the “Old Mill”.", "old mill"),
        ("STRASSE", "straße"),
    ],
)
def test_two_spellings_of_one_name_are_equal(one: str, other: str) -> None:
    assert normalise(one) == normalise(other)


@pytest.mark.parametrize(
    ("one", "other"), [("ガイド", "カイト"), ("西栅", "东栅"), ("SF1624", "SF1625"), ("кий", "кии")]
)
def test_different_names_stay_different(one: str, other: str) -> None:
    assert normalise(one) != normalise(other)


@given(st.text(max_size=60))
def test_normalising_twice_changes_nothing_more(name: str) -> None:
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
def test_language_is_told_by_letters_and_function_words(text: str, language: str) -> None:
    assert language_of(text) == language


def test_each_han_character_is_a_word_also_beside_latin_letters() -> None:
    assert words("K11购物 don't GO") == ["k11", "购", "物", "don't", "go"]
    assert words("西湖abc") == ["西", "湖", "abc"]


@given(TEXTS, st.integers(0, 50), st.integers(0, 250))
def test_sentences_are_in_order_trimmed_and_leave_out_blanks_only(text: str, start: int, end: int) -> None:
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
    ],
)
def test_sentences_end_where_a_reader_ends_them(text: str, expected: list[str]) -> None:
    assert [text[begin:end] for begin, end in sentences(text)] == expected


@pytest.mark.parametrize("piece", [".", "\n", "。", ".'", " \n", "! ", "A."])
def test_sentences_take_linear_time(piece: str) -> None:
    text = piece * (300_000 // len(piece)) + "x"
    started = time.perf_counter()
    assert sum(1 for _ in sentences(text)) >= 1
    assert time.perf_counter() - started < 3


@pytest.mark.parametrize(
    ("plural", "one"),
    [
        ("hotels", "hotel"),
        ("dishes", "dish"),
        ("cities", "city"),
        ("buses", "bus"),
        ("teahouses", "teahouse"),
        ("prizes", "prize"),
        ("boxes", "box"),
        ("courses", "course"),
        ("menus", "menu"),
        ("campus", "campus"),
        ("glass", "glass"),
        ("basis", "basis"),
        ("gas", "gas"),
        ("酒店", "酒店"),
    ],
)
def test_singular_of_regular_nouns(plural: str, one: str) -> None:
    assert singular(plural) == one


def test_tokens_are_counted_one_a_han_character_and_a_quarter_a_letter() -> None:
    assert count_tokens("") == 0
    assert count_tokens("乌镇") == 2
    assert count_tokens("abcdefgh") == 2
    assert count_tokens("乌镇ab") == 3


@given(st.text(max_size=60), st.text(max_size=60))
def test_tokens_of_a_text_are_no_fewer_than_of_a_part(one: str, other: str) -> None:
    assert count_tokens(one) <= count_tokens(one + other) <= count_tokens(one) + count_tokens(other)


def test_identifiers_are_read_as_words() -> None:
    assert words_of_identifier("actualOnRamp") == "actual on ramp"
    assert words_of_identifier("flight_UID") == "flight uid"
    assert words_of_identifier("HTMLPage-title") == "html page title"


def test_han_is_seen_anywhere() -> None:
    assert has_han("at 西栅")
    assert not has_han("カタカナ")
