"""The laws of chunking: offsets, order, coverage, size."""

import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgplatform.documents.chunking import (
    ABSTRACT_START,
    CHUNKERS,
    SectionKind,
    chunker,
    fixed_tokens,
    sections_of,
    sentence_tokens,
    sentence_windows,
    sliding_window,
    structure,
)
from kgplatform.errors import ConfigError
from kgplatform.text import count_tokens, language_of, sentences
from kgplatform.types import Document
from kgplatform.vocab import chunk_iri, document_iri

BASE = "https://example.org/kg/"
ENGLISH = "Wuzhen is a water town. It lies in Zhejiang.\n\nXizha has hotels. Families like them!\n\nDongzha is older."
CHINESE = "乌镇是江南水乡古镇。它位于浙江省桐乡市。\n\n西栅有很多民宿。适合家庭！\n\n东栅更古老。"
MIXED = "مرحبا بكم في ووتشن. שלום לכולם!\n\n👨‍👩‍👧‍👦 family 👍🏽 trip e\u0301te\u0301\n\n第三段：西栅 Hotel。"


def document(text, media_type="text/plain"):
    sha256 = "0" * 64
    return Document(document_iri(BASE, sha256), text, "Title", media_type, "a.txt", sha256, language_of(text))


def uncovered(text, chunks):
    left = list(text)
    for chunk in chunks:
        left[chunk.start : chunk.end] = " " * (chunk.end - chunk.start)
    return "".join(left).strip()


def assert_lawful(doc, chunks):
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
def test_every_chunker_keeps_offsets_order_and_all_text_and_says_the_same_again(text, name):
    doc = document(text)
    chunks = CHUNKERS[name](doc)
    assert_lawful(doc, chunks)
    assert CHUNKERS[name](doc) == chunks


@pytest.mark.parametrize("name", list(CHUNKERS))
def test_real_texts_are_covered_and_blank_ones_have_no_chunks(name):
    for text in (ENGLISH, CHINESE, MIXED):
        chunks = CHUNKERS[name](document(text))
        assert chunks
        assert_lawful(document(text), chunks)
    for blank in ("", " \n\t\u3000\n "):
        assert CHUNKERS[name](document(blank)) == []


@pytest.mark.parametrize("cut", [sliding_window, fixed_tokens, sentence_tokens])
@given(text=texts, tokens=st.integers(1, 12), data=st.data(), table=st.booleans())
def test_chunks_of_so_many_tokens_are_lawful_and_keep_the_limit(cut, text, tokens, data, table):
    doc = document(text, "text/csv" if table else "text/plain")
    overlap = data.draw(st.integers(0, 4 if cut is sliding_window else tokens // 2))
    chunks = cut(doc, max_tokens=tokens, overlap=overlap)
    assert_lawful(doc, chunks)
    assert all(count_tokens(chunk.text) <= tokens for chunk in chunks)


@given(text=texts, size=st.integers(1, 5), data=st.data())
def test_sentence_windows_is_lawful_for_every_size_and_step(text, size, data):
    doc = document(text)
    assert_lawful(doc, sentence_windows(doc, size=size, step=data.draw(st.integers(1, size)), max_tokens=20))


def test_sentence_windows_hold_three_sentences_and_move_by_one():
    chunks = sentence_windows(document("One. Two. Three. Four. Five."))
    assert [chunk.text for chunk in chunks] == ["One. Two. Three.", "Two. Three. Four.", "Three. Four. Five."]
    chinese = sentence_windows(document("一。二。三。四。"), size=2, step=2)
    assert [chunk.text for chunk in chinese] == ["一。二。", "三。四。"]


def test_sliding_window_overlaps_by_a_paragraph():
    paragraphs = [f"Paragraph {number} tells of a bridge in the town." for number in range(8)]
    chunks = sliding_window(document("\n\n".join(paragraphs)), max_tokens=40, overlap=1)
    assert len(chunks) > 2
    for one, two in pairwise(chunks):
        assert two.text.startswith(one.text.split("\n\n")[-1])
        assert two.text.split("\n\n")[-1] not in one.text


@pytest.mark.parametrize(
    "sentence", ["Bridge number {} is old and long, as they say. ", "第{}座桥又老又长，大家都这么说。"]
)
def test_long_paragraphs_are_cut_at_sentences_which_may_be_repeated(sentence):
    doc = document("".join(sentence.format(number) for number in range(60)).strip())
    starts, ends = ({span[side] for span in sentences(doc.text)} for side in (0, 1))
    for chunks in (sliding_window(doc, max_tokens=50), sentence_tokens(doc, max_tokens=60, overlap=20)):
        assert len(chunks) > 3
        assert all(chunk.end in ends for chunk in chunks)
        assert_lawful(doc, chunks)
    assert all(chunk.start in starts for chunk in chunks)
    assert all(count_tokens(doc.text[two.start : one.end]) in range(1, 21) for one, two in pairwise(chunks))


@pytest.mark.parametrize("letter", ["x", "栅", "x ", "x. ", "👍🏽"])
@pytest.mark.parametrize("name", list(CHUNKERS))
def test_a_line_of_thirty_thousand_characters_is_cut_quickly(letter, name):
    doc = document(letter * (30_000 // len(letter)))
    began = time.perf_counter()
    chunks = CHUNKERS[name](doc)
    assert time.perf_counter() - began < 30
    assert_lawful(doc, chunks)
    assert name == "whole" or len(chunks) > 20


@pytest.mark.parametrize(
    "cut", [lambda doc: sliding_window(doc, max_tokens=90, overlap=0), lambda doc: structure(doc, body=60)]
)
def test_no_heading_ends_a_chunk_and_tables_are_cut_between_rows(cut):
    text = "\n\n".join(f"## Part {number}\n\n" + "Words about this part of the town. " * 4 for number in range(6))
    chunks = cut(document(text))
    assert len(chunks) > 2
    assert not any(chunk.text.split("\n")[-1].startswith("#") for chunk in chunks)
    table = "name,price\n" + "\n".join(f"Hotel number {number},{number * 10}" for number in range(200))
    chunks = cut(document(table, "text/csv"))
    assert len(chunks) > 10
    assert all(line in set(table.split("\n")) for chunk in chunks for line in chunk.text.split("\n"))


def test_cuts_spare_composed_emoji_and_accents():
    family = "👨‍👩‍👧‍👦"
    chunks = fixed_tokens(document(family * 50), max_tokens=10, overlap=0)
    assert all(chunk.text == family * (len(chunk.text) // len(family)) for chunk in chunks)
    assert all(chunk.text[0] != "\u0301" for chunk in fixed_tokens(document("q\u0301" * 90), max_tokens=5, overlap=0))


PAPER = "# A Study of Bridges\n\nLi Na, Wang Wu\n\n## Abstract\n\n" + "We study bridges. " * 5
PAPER += (
    "\n\n## 1 Introduction\n\n" + "Bridges are old. " * 30 + "\n\n### 1.1 Motivation\n\n" + "They carry people. " * 20
)
PAPER += "\n\n## 2 Method\n\n" + "We count them one by one. " * 60 + "\n\n## 3 Conclusion\n\n" + "There are many. " * 30
PAPER += "\n\n## References\n\n[1] A. Name. A Title. 2020."
CHINESE_PAPER = "古镇桥梁研究\n\n摘要\n本文研究桥梁。\n\n一、引言\n" + "桥梁历史悠久。" * 30 + "\n\n二、方法\n"
CHINESE_PAPER += (
    "我们逐一统计。" * 60 + "\n\n三、结论\n" + "古镇有很多桥。" * 20 + "\n\n参考文献\n[1] 某某. 某书. 2020."
)
SYLLABUS = (
    "SF1625 Analys\n\nLärandemål\nEfter kursen ska studenten kunna derivera.\n\nKursinnehåll\nGränsvärden.\n\n"
    "Särskild behörighet\nMatematik 4\n\nExamination\nSkriftlig tentamen, 7,5 hp.\n"
)
CHINESE_SYLLABUS = (
    "高等数学\n\n课程简介：\n微积分基础。\n\n教学目标\n学会求导。\n\n先修课程\n初等数学\n\n考核方式\n闭卷考试。\n"
)


@given(text=st.one_of(texts, st.text(st.sampled_from("#1. \nIntroductionAbstract引言结论摘要"), max_size=300)))
def test_sections_are_the_whole_text_in_order(text):
    found = sections_of(text)
    assert "".join(text[section.start : section.end] for section in found) == text
    assert all(section.start < section.end for section in found)
    assert [section.kind for section in sections_of(ENGLISH)] == [SectionKind.BODY]


@pytest.mark.parametrize("text", [PAPER, CHINESE_PAPER], ids=["en", "zh"])
def test_a_paper_has_its_introduction_body_and_conclusion(text):
    found = sections_of(text)
    kinds = [section.kind.value for section in found]
    assert kinds == ["front", "abstract", "introduction", "body", "conclusion", "references"]
    introduction = text[found[2].start : found[2].end]
    assert "Method" not in introduction
    assert "方法" not in introduction
    assert ("1.1 Motivation" in introduction) == (text is PAPER)


@pytest.mark.parametrize("word", ["Abstract", "Abstract.", "摘要：", "**Abstract**"])
def test_without_headings_a_passage_after_abstract_is_the_introduction(word):
    text = f"A Title\n{word} " + "One sentence of the abstract and of what follows it.\n" * 200
    sections = sections_of(text)
    assert [section.kind.value for section in sections] == ["front", "abstract", "introduction", "body"]
    _, abstract, introduction, _ = sections
    assert abstract.end - abstract.start <= 2600
    assert 3000 < introduction.end - abstract.start <= 4000
    assert text[abstract.end - 1] == text[introduction.end - 1] == "\n"
    assert text[ABSTRACT_START.match(text, abstract.start).end() :].lstrip().startswith("One sentence")
    short = sections_of(f"A Title\n\n{word} One sentence.\n\nAnd a note.\n")
    assert [section.kind.value for section in short] == ["front", "abstract", "introduction"]


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
def test_the_sections_of_a_syllabus_are_told(text, headings):
    found = [section for section in sections_of(text) if section.kind is SectionKind.SYLLABUS]
    assert [section.heading for section in found] == headings
    chunks = structure(document(text))
    assert len(chunks) == len(headings) + 1
    assert_lawful(document(text), chunks)


@given(text=texts, sizes=st.tuples(st.integers(1, 12), st.integers(1, 12), st.integers(1, 12)))
def test_structure_is_lawful_and_does_not_overlap(text, sizes):
    doc = document(text)
    chunks = structure(doc, introduction=sizes[0], body=sizes[1], conclusion=sizes[2])
    assert_lawful(doc, chunks)
    assert all(one.end <= two.start for one, two in pairwise(chunks))
    assert all(count_tokens(chunk.text) <= max(sizes) for chunk in chunks)


@pytest.mark.parametrize("text", [PAPER, CHINESE_PAPER], ids=["en", "zh"])
def test_structure_stays_within_parts_and_breaks_at_lines_and_sentences(text):
    doc = document(text)
    chunks = structure(doc, introduction=60, body=120, conclusion=30)
    assert_lawful(doc, chunks)
    lines = {place for place, letter in enumerate(f"{text}\n") if letter == "\n"}
    assert {chunk.end for chunk in chunks} <= lines | {end for _, end in sentences(text)}
    limits = {SectionKind.BODY: 120, SectionKind.REFERENCES: 120, SectionKind.CONCLUSION: 30}
    for section in sections_of(text):
        inside = [chunk for chunk in chunks if section.start <= chunk.start < section.end]
        assert inside
        assert all(chunk.end <= section.end for chunk in inside)
        assert max(count_tokens(chunk.text) for chunk in inside) <= limits.get(section.kind, 60)
    assert max(count_tokens(chunk.text) for chunk in chunks) > 60


def test_a_chunker_goes_by_its_name():
    assert chunker() is sliding_window is CHUNKERS["sliding-window"]
    assert [chunk.text for chunk in chunker("whole")(document("\n  乌镇 \n\n West \n"))] == ["乌镇 \n\n West"]
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
def test_settings_that_would_lose_text_are_refused(cut, match):
    with pytest.raises(ConfigError, match=match):
        cut(document(ENGLISH))
