"""The laws of chunking: offsets, order, coverage, size."""

from __future__ import annotations

import time
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgplatform.documents.chunking import (
    CHUNKERS,
    chunker,
    fixed_tokens,
    sentence_tokens,
    sentence_windows,
    sliding_window,
    structure,
    whole,
)
from kgplatform.documents.sections import SectionKind, sections_of
from kgplatform.errors import ConfigError
from kgplatform.text import count_tokens, language_of, sentences
from kgplatform.types import Chunk, Document
from kgplatform.vocab import chunk_iri, document_iri

BASE = "https://example.org/kg/"
ENGLISH = "Wuzhen is a water town. It lies in Zhejiang.\n\nXizha has hotels. Families like them!\n\nDongzha is older."
CHINESE = "乌镇是江南水乡古镇。它位于浙江省桐乡市。\n\n西栅有很多民宿。适合家庭！\n\n东栅更古老。"
MIXED = "مرحبا بكم في ووتشن. שלום לכולם!\n\n👨‍👩‍👧‍👦 family 👍🏽 trip e\u0301te\u0301\n\n第三段：西栅 Hotel。"


def document(text: str, media_type: str = "text/plain") -> Document:
    sha256 = "0" * 64
    return Document(document_iri(BASE, sha256), text, "Title", media_type, "a.txt", sha256, language_of(text))


def uncovered(text: str, chunks: list[Chunk]) -> str:
    left = list(text)
    for chunk in chunks:
        left[chunk.start : chunk.end] = " " * (chunk.end - chunk.start)
    return "".join(left).strip()


def assert_lawful(doc: Document, chunks: list[Chunk]) -> None:
    for index, chunk in enumerate(chunks):
        assert doc.text[chunk.start : chunk.end] == chunk.text
        assert chunk.text == chunk.text.strip() != ""
        assert chunk.index == index
        assert chunk.iri == chunk_iri(doc.iri, index)
        assert chunk.document == doc.iri
    places = [(chunk.start, chunk.end) for chunk in chunks]
    assert all(one[0] < two[0] and one[1] <= two[1] for one, two in pairwise(places))
    assert uncovered(doc.text, chunks) == ""


letters = st.sampled_from("ab Ü西栅。！.?\n\n\t#-*|，،م👍\u200d\u0301\u3000\u2028\x0c🏽1")
texts = st.one_of(st.text(max_size=300), st.text(letters, max_size=400), st.text(" \n", max_size=20))


@given(text=texts, name=st.sampled_from(list(CHUNKERS)))
def test_every_chunker_keeps_offsets_order_and_all_text(text: str, name: str) -> None:
    doc = document(text)
    assert_lawful(doc, CHUNKERS[name](doc))


@given(text=texts, tokens=st.integers(1, 12), overlap=st.integers(0, 4), table=st.booleans())
def test_sliding_window_is_lawful_and_keeps_its_limit(text: str, tokens: int, overlap: int, table: bool) -> None:
    doc = document(text, "text/csv" if table else "text/plain")
    chunks = sliding_window(doc, max_tokens=tokens, overlap=overlap)
    assert_lawful(doc, chunks)
    assert all(count_tokens(chunk.text) <= tokens for chunk in chunks)


@given(text=texts, tokens=st.integers(1, 12), data=st.data())
def test_fixed_tokens_is_lawful_and_keeps_its_limit(text: str, tokens: int, data: st.DataObject) -> None:
    doc = document(text)
    chunks = fixed_tokens(doc, max_tokens=tokens, overlap=data.draw(st.integers(0, tokens // 2)))
    assert_lawful(doc, chunks)
    assert all(count_tokens(chunk.text) <= tokens for chunk in chunks)


@given(text=texts, size=st.integers(1, 5), data=st.data())
def test_sentence_windows_is_lawful_for_every_size_and_step(text: str, size: int, data: st.DataObject) -> None:
    doc = document(text)
    chunks = sentence_windows(doc, size=size, step=data.draw(st.integers(1, size)), max_tokens=20)
    assert_lawful(doc, chunks)


@pytest.mark.parametrize("text", [ENGLISH, CHINESE, MIXED], ids=["english", "chinese", "rtl-and-emoji"])
@pytest.mark.parametrize("name", list(CHUNKERS))
def test_real_texts_are_covered(text: str, name: str) -> None:
    doc = document(text)
    chunks = CHUNKERS[name](doc)
    assert chunks
    assert_lawful(doc, chunks)


def test_sliding_window_overlaps_by_a_paragraph() -> None:
    paragraphs = [f"Paragraph {number} tells of a bridge in the town." for number in range(8)]
    chunks = sliding_window(document("\n\n".join(paragraphs)), max_tokens=40, overlap=1)
    assert len(chunks) > 2
    for one, two in pairwise(chunks):
        assert two.text.startswith(one.text.split("\n\n")[-1])
        assert two.text.split("\n\n")[-1] not in one.text


def test_sliding_window_cuts_long_paragraphs_at_sentences_in_both_languages() -> None:
    for sentence in ("The bridge is old and long, as they say. ", "这座桥又老又长，大家都这么说。"):
        doc = document((sentence * 40).strip())
        chunks = sliding_window(doc, max_tokens=50)
        ends = {end for _, end in sentences(doc.text)}
        assert len(chunks) > 3
        assert all(chunk.end in ends for chunk in chunks)
        assert_lawful(doc, chunks)


def test_sliding_window_leaves_no_heading_at_the_end_of_a_chunk() -> None:
    text = "\n\n".join(f"## Part {number}\n\n" + "Words about this part of the town. " * 4 for number in range(6))
    chunks = sliding_window(document(text), max_tokens=90, overlap=0)
    assert len(chunks) > 2
    assert not any(chunk.text.split("\n\n")[-1].startswith("#") for chunk in chunks)


def test_sliding_window_cuts_tables_between_rows() -> None:
    text = "name,price\n" + "\n".join(f"Hotel number {number},{number * 10}" for number in range(200))
    chunks = sliding_window(document(text, "text/csv"), max_tokens=60)
    assert len(chunks) > 10
    lines = set(text.split("\n"))
    assert all(line in lines for chunk in chunks for line in chunk.text.split("\n"))


@pytest.mark.parametrize("letter", ["x", "栅", "x ", "x. ", "👍🏽"])
@pytest.mark.parametrize("name", list(CHUNKERS))
def test_a_line_of_thirty_thousand_characters_is_cut_quickly(letter: str, name: str) -> None:
    doc = document(letter * (30_000 // len(letter)))
    began = time.perf_counter()
    chunks = CHUNKERS[name](doc)
    assert time.perf_counter() - began < 30
    assert_lawful(doc, chunks)
    assert name == "whole" or len(chunks) > 20


def test_cuts_spare_composed_emoji_and_accents() -> None:
    family = "👨‍👩‍👧‍👦"
    chunks = fixed_tokens(document(family * 50), max_tokens=10, overlap=0)
    assert all(chunk.text == family * (len(chunk.text) // len(family)) for chunk in chunks)
    assert all(chunk.text[0] != "\u0301" for chunk in fixed_tokens(document("q\u0301" * 90), max_tokens=5, overlap=0))


def test_sentence_windows_hold_three_sentences_and_move_by_one() -> None:
    chunks = sentence_windows(document("One. Two. Three. Four. Five."))
    assert [chunk.text for chunk in chunks] == ["One. Two. Three.", "Two. Three. Four.", "Three. Four. Five."]
    chinese = sentence_windows(document("一。二。三。四。"), size=2, step=2)
    assert [chunk.text for chunk in chinese] == ["一。二。", "三。四。"]


@given(text=texts, tokens=st.integers(1, 12), data=st.data(), table=st.booleans())
def test_sentence_tokens_is_lawful_and_keeps_its_limit(
    text: str, tokens: int, data: st.DataObject, table: bool
) -> None:
    doc = document(text, "text/csv" if table else "text/plain")
    chunks = sentence_tokens(doc, max_tokens=tokens, overlap=data.draw(st.integers(0, tokens // 2)))
    assert_lawful(doc, chunks)
    assert all(count_tokens(chunk.text) <= tokens for chunk in chunks)


@pytest.mark.parametrize(
    "sentence",
    ["The bridge number {} is old and long, as they say. ", "第{}座桥又老又长，大家都这么说。"],
    ids=["en", "zh"],
)
def test_sentence_tokens_ends_at_sentences_and_repeats_whole_ones(sentence: str) -> None:
    doc = document("".join(sentence.format(number) for number in range(60)).strip())
    chunks = sentence_tokens(doc, max_tokens=60, overlap=20)
    starts, ends = ({span[side] for span in sentences(doc.text)} for side in (0, 1))
    assert len(chunks) > 5
    assert all(chunk.start in starts and chunk.end in ends for chunk in chunks)
    assert all(count_tokens(doc.text[two.start : one.end]) in range(1, 21) for one, two in pairwise(chunks))
    assert_lawful(doc, chunks)


PAPER = "\n\n".join(
    (
        "# A Study of Bridges",
        "Li Na, Wang Wu",
        "## Abstract\n\n" + "We study bridges. " * 5,
        "## 1 Introduction\n\n" + "Bridges are old. " * 30,
        "### 1.1 Motivation\n\n" + "They carry people. " * 20,
        "## 2 Method\n\n" + "We count them one by one. " * 60,
        "## 3 Conclusion\n\n" + "There are many. " * 30,
        "## References\n\n[1] A. Name. A Title. 2020.",
    )
)
CHINESE_PAPER = (
    "古镇桥梁研究\n\n摘要\n本文研究桥梁。\n\n一、引言\n"
    + "桥梁历史悠久。" * 30
    + "\n\n二、方法\n"
    + "我们逐一统计。" * 60
    + "\n\n三、结论\n"
    + "古镇有很多桥。" * 20
    + "\n\n参考文献\n[1] 某某. 某书. 2020."
)
SYLLABUS = """SF1625 Envariabelanalys

Lärandemål
Efter kursen ska studenten kunna derivera.

Kursinnehåll
Gränsvärden, derivator och integraler.

Särskild behörighet
Matematik 4

Examination
Skriftlig tentamen, 7,5 hp.
"""
CHINESE_SYLLABUS = (
    "高等数学\n\n课程简介：\n微积分基础。\n\n教学目标\n学会求导。\n\n先修课程\n初等数学\n\n考核方式\n闭卷考试。\n"
)


@given(text=st.one_of(texts, st.text(st.sampled_from("#1. \nIntroductionAbstract引言结论摘要"), max_size=300)))
def test_sections_are_the_whole_text_in_order(text: str) -> None:
    found = sections_of(text)
    assert "".join(text[section.start : section.end] for section in found) == text
    assert all(section.start < section.end for section in found)


@pytest.mark.parametrize("text", [PAPER, CHINESE_PAPER], ids=["en", "zh"])
def test_a_paper_has_its_introduction_body_and_conclusion(text: str) -> None:
    kinds = [section.kind.value for section in sections_of(text)]
    assert kinds == ["front", "abstract", "introduction", "body", "conclusion", "references"]
    (introduction,) = [section for section in sections_of(text) if section.kind is SectionKind.INTRODUCTION]
    assert "Method" not in text[introduction.start : introduction.end]
    assert "方法" not in text[introduction.start : introduction.end]


def test_subsections_belong_to_their_section() -> None:
    (introduction,) = [section for section in sections_of(PAPER) if section.kind is SectionKind.INTRODUCTION]
    assert "1.1 Motivation" in PAPER[introduction.start : introduction.end]


@pytest.mark.parametrize("word", ["Abstract", "Abstract.", "摘要：", "**Abstract**"])
def test_without_headings_a_passage_after_abstract_is_the_introduction(word: str) -> None:
    text = f"A Title\n{word} " + "One sentence of the abstract and of what follows it.\n" * 200
    front, introduction, body = sections_of(text)
    assert [front.kind, introduction.kind, body.kind] == [SectionKind.FRONT, SectionKind.INTRODUCTION, SectionKind.BODY]
    assert 3000 < introduction.end - introduction.start <= 4000
    assert text[introduction.end - 1] == "\n"


@pytest.mark.parametrize(
    ("text", "headings"),
    [
        (SYLLABUS, ["Lärandemål", "Kursinnehåll", "Särskild behörighet", "Examination"]),
        (CHINESE_SYLLABUS, ["课程简介", "教学目标", "先修课程", "考核方式"]),
        (
            "# DT2119\n\n## Intended learning outcomes\n\nBuild.\n\n## Course contents\n\nSpeech.\n\n"
            "## Prerequisites\n\nDT1175",
            ["Intended learning outcomes", "Course contents", "Prerequisites"],
        ),
    ],
    ids=["sv", "zh", "en"],
)
def test_the_sections_of_a_syllabus_are_told(text: str, headings: list[str]) -> None:
    found = [section for section in sections_of(text) if section.kind is SectionKind.SYLLABUS]
    assert [section.heading for section in found] == headings
    chunks = structure(document(text))
    assert len(chunks) == len(headings) + 1
    assert_lawful(document(text), chunks)


def test_a_note_without_any_form_is_one_body() -> None:
    assert [section.kind for section in sections_of(ENGLISH)] == [SectionKind.BODY]
    assert sections_of("") == []


@given(text=texts, sizes=st.tuples(st.integers(1, 12), st.integers(1, 12), st.integers(1, 12)))
def test_structure_is_lawful_and_does_not_overlap(text: str, sizes: tuple[int, int, int]) -> None:
    doc = document(text)
    chunks = structure(doc, introduction=sizes[0], body=sizes[1], conclusion=sizes[2])
    assert_lawful(doc, chunks)
    assert all(one.end <= two.start for one, two in pairwise(chunks))
    assert all(count_tokens(chunk.text) <= max(sizes) for chunk in chunks)


@pytest.mark.parametrize("text", [PAPER, CHINESE_PAPER], ids=["en", "zh"])
def test_structure_stays_within_parts_and_breaks_at_lines_and_sentences(text: str) -> None:
    doc = document(text)
    chunks = structure(doc, introduction=60, body=120, conclusion=30)
    ends = (
        {end for _, end in sentences(text)}
        | {place for place, letter in enumerate(text) if letter == "\n"}
        | {len(text)}
    )
    assert all(chunk.end in ends for chunk in chunks)
    limits = {SectionKind.BODY: 120, SectionKind.REFERENCES: 120, SectionKind.CONCLUSION: 30}
    for section in sections_of(text):
        inside = [chunk for chunk in chunks if section.start <= chunk.start < section.end]
        assert inside
        assert all(chunk.end <= section.end for chunk in inside)
        assert max(count_tokens(chunk.text) for chunk in inside) <= limits.get(section.kind, 60)
    assert max(count_tokens(chunk.text) for chunk in chunks) > 60
    assert_lawful(doc, chunks)


def test_structure_leaves_a_heading_with_its_text_and_cuts_tables_between_rows() -> None:
    chunks = structure(document(PAPER), introduction=40, body=60, conclusion=40)
    assert not any(chunk.text.split("\n")[-1].startswith("#") and len(chunk.text) > 40 for chunk in chunks)
    rows = "name,price\n" + "\n".join(f"Hotel {number},{number}" for number in range(100))
    lines = set(rows.split("\n"))
    assert all(
        line in lines for chunk in structure(document(rows, "text/csv"), body=50) for line in chunk.text.split("\n")
    )


def test_whole_is_one_chunk_without_surrounding_blanks() -> None:
    (chunk,) = whole(document("\n  乌镇 \n\n West \n"))
    assert chunk.text == "乌镇 \n\n West"


@pytest.mark.parametrize("name", list(CHUNKERS))
@pytest.mark.parametrize("text", ["", " \n\t\u3000\n "])
def test_blank_documents_have_no_chunks(text: str, name: str) -> None:
    assert CHUNKERS[name](document(text)) == []


def test_default_chunker_is_the_sliding_window() -> None:
    assert chunker() is sliding_window
    assert next(iter(CHUNKERS)) == "sliding-window"


def test_unknown_chunker_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(ConfigError, match=r"'sliding_windw'; did you mean 'sliding-window'\?") as caught:
        chunker("sliding_windw")
    assert caught.value.setting == "documents.chunker"
    with pytest.raises(ConfigError, match="there are sliding-window, fixed-tokens"):
        chunker("zzz")


@pytest.mark.parametrize(
    ("cut", "match"),
    [
        (lambda doc: sliding_window(doc, max_tokens=0), "max_tokens is 0"),
        (lambda doc: sliding_window(doc, overlap=-1), "overlap is -1"),
        (lambda doc: fixed_tokens(doc, max_tokens=10, overlap=6), "more than half"),
        (lambda doc: sentence_windows(doc, size=2, step=3), "leave sentences out"),
        (lambda doc: sentence_windows(doc, size=0), "size is 0"),
        (lambda doc: sentence_tokens(doc, max_tokens=10, overlap=6), "more than half"),
        (lambda doc: structure(doc, conclusion=0), "conclusion is 0"),
    ],
)
def test_settings_that_would_lose_text_are_refused(cut, match) -> None:
    with pytest.raises(ConfigError, match=match):
        cut(document(ENGLISH))


@settings(max_examples=30)
@given(paragraphs=st.lists(st.text("ab 西。", min_size=1, max_size=40), max_size=30))
def test_same_text_gives_the_same_chunks(paragraphs: list[str]) -> None:
    doc = document("\n\n".join(paragraphs))
    assert sliding_window(doc, max_tokens=20) == sliding_window(doc, max_tokens=20)
