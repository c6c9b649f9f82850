"""Tables and labels inside documents say of each row, or of what a heading names, what a table of its own would say."""

from __future__ import annotations

import pytest
from reportlab.platypus import Table

from kgplatform.ontology.packs import load
from kgplatform.vocab import local_name
from tests.test_book_readers import docx, paragraph, pdf, read_one, word_table
from tests.test_builtin_extraction import BuiltinExtractor, Chunk, said

ROWS = [
    ["Sight", "Ticket (yuan)", "Opening hours", "Closed"],
    ["Harrow Museum", "45", "09:00-17:30", "Monday"],
    ["Lantern Pagoda", "free", "08:00-20:00", "-"],
]
TOLD = {
    ("Harrow Museum", "ticketPrice", "45"),
    ("Harrow Museum", "openingHours", "09:00-17:30"),
    ("Harrow Museum", "closedOn", "Monday"),
    ("Lantern Pagoda", "ticketPrice", "0"),
    ("Lantern Pagoda", "openingHours", "08:00-20:00"),
}


@pytest.fixture(scope="module")
def travel(tmp_path_factory):
    return BuiltinExtractor(load(["travel"], folder=tmp_path_factory.mktemp("home")).ontology)


@pytest.fixture(scope="module")
def academic(tmp_path_factory):
    return BuiltinExtractor(load(["academic"], folder=tmp_path_factory.mktemp("home")).ontology)


def as_html(path):
    rows = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in ROWS)
    path.write_text(f"<html><body><h1>Prices</h1><p>As of May.</p><table>{rows}</table></body></html>")
    return path


def as_markdown(path):
    lines = [f"| {' | '.join(row)} |" for row in ROWS]
    path.write_text("\n".join(["# Prices", "", lines[0], "|---|--:|---|---|", *lines[1:]]))
    return path


MADE = {
    ".html": as_html,
    ".md": as_markdown,
    ".docx": lambda path: docx(path, paragraph("Prices", "1") + word_table(*ROWS)),
    ".pdf": lambda path: pdf(path, [Table(ROWS, colWidths=120)]),
}


def read(extractor, document):
    whole = Chunk(document.iri, document.iri, 0, 0, len(document.text), document.text)
    return extractor.extract(whole, document)


@pytest.mark.parametrize("ending", MADE)
def test_each_row_of_a_table_in_a_document_is_read(travel, tmp_path, ending):
    document = read_one(MADE[ending](tmp_path / f"prices{ending}"))
    found = read(travel, document)
    assert said(found) >= TOLD
    assert not {item for item in said(found) if item[0] in ("Harrow Museum", "Lantern Pagoda")} - TOLD
    types = {claim.subject.name: local_name(claim.subject.type.value) for claim in found.claims}
    assert (types["Harrow Museum"], types["Lantern Pagoda"]) == ("Museum", "Pagoda")
    for claim in found.claims:  # the evidence is the row, the mention the cell
        assert claim.subject.name in document.text[claim.start : claim.end]
        assert document.text[claim.subject.start : claim.subject.end] == claim.subject.text


def text_of(tmp_path, text):
    path = tmp_path / "note.md"
    path.write_text(text, encoding="utf-8")
    return read_one(path)


def test_a_table_of_courses_leads_to_people_and_courses(academic, tmp_path):
    document = text_of(
        tmp_path,
        "| 课程 | 学分 | 考官 | 先修课程 |\n|---|---|---|---|\n| 声学基础 | 6 | 温乐言 | 波动学 |\n"
        "| 噪声控制 | 4.5 | 温乐言 | 声学基础 |\n",
    )
    told = said(read(academic, document))
    assert {("声学基础", "credits", "6"), ("噪声控制", "credits", "4.5"), ("声学基础", "examinedBy", "温乐言")} <= told
    assert ("噪声控制", "hasPrerequisite", "声学基础") in told


def test_labels_below_a_heading_speak_of_what_it_names(travel, tmp_path):
    document = text_of(
        tmp_path,
        "## Where to stay\n\n### Quillon House\n\nAddress: 4 Mill Lane\nRooms: 12\n\n"
        "### Peveril\n\nRooms: 30\nPhone: 0571-8899 7766\n",
    )
    told = said(read(travel, document))
    assert {("Quillon House", "roomCount", "12"), ("Quillon House", "address", "4 Mill Lane")} <= told
    assert {("Peveril", "roomCount", "30"), ("Peveril", "phone", "0571-8899 7766")} <= told


@pytest.mark.parametrize(
    "text",
    [
        "| a | b |\n| c | d |",
        "| | |\n|---|---|\n| | |",
        "a | b",
        "|||",
        "| Hotel |\n| Inn |",
        "Ticket | Ticket\nTicket | Ticket",
    ],
)
def test_what_only_looks_like_a_table_says_nothing(travel, tmp_path, text):
    assert not said(read(travel, text_of(tmp_path, text)))
