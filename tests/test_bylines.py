"""Papers whose authors, venue and year nothing but their place says: bylines in the layouts that people use."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import pytest
from pyoxigraph import RdfFormat, parse

from kgplatform import resources
from kgplatform.documents.reading import digest, read_content
from kgplatform.extraction.builtin import BuiltinExtractor
from kgplatform.extraction.byline import find_byline, venue_in
from kgplatform.extraction.people import people_in
from kgplatform.ontology import Ontology, read_ontology
from kgplatform.types import Chunk, Mention
from kgplatform.vocab import local_name

ABSTRACT = (
    "We study how moss grows on bridges in N towns and A rivers. Our method counts tufts at dawn, and is compared with "
    "counting at noon. The results are promising."
)


@dataclass(frozen=True)
class Paper:
    """A paper that nobody wrote."""

    title: str
    authors: tuple[str, ...]
    venue: str
    year: int


PAPERS = (
    Paper(
        "Counting Moss at Dawn", ("Ylva Öberg-Lind", "Tomás de la Vega", "K. R. Oduya", "Wen-chi Hsu"), "MOSSCON", 2011
    ),
    Paper(
        "Moss: A Study of Tufts, Towns and Time", ("Ji Ho O", "Siân O’Dell", "Hal Brandt III"), "Annals of Moss", 1998
    ),
    Paper("Can Bridges Hear?", ("Priyamvada",), "Workshop on Listening Bridges", 2020),
    Paper("青苔的分布规律研究", ("欧阳晓月", "李可", "古丽娜尔·买买提"), "苔藓学报", 2019),
    Paper(
        "A Title That Goes on and on about Tufts of Moss on Small Stone Bridges, so That No Line Is Wide Enough",
        ("Ben van ’t Hof", "Ana María López y Ruiz", "He He"),
        "Computational Bryology",
        2016,
    ),
)


def joined(paper: Paper) -> str:
    *others, last = paper.authors
    return f"{', '.join(others)} and {last}" if others else last


LAYOUTS = {
    "lines.txt": lambda p: f"{p.title}\n{joined(p)}\n{p.venue}, {p.year}\n\nAbstract\n{ABSTRACT}\n",
    "apart.txt": lambda p: f"{p.title}\n\n{', '.join(p.authors)}\n\n{p.venue} {p.year}\n\n{ABSTRACT}\n",
    "semicolons.txt": lambda p: f"{p.title}\n{'; '.join(p.authors)}\n{p.venue} ({p.year})\n\nAbstract: {ABSTRACT}\n",
    "by.txt": lambda p: f"{p.title}\n\nBy {joined(p)}\nPublished in {p.venue}, {p.year}, pages 3–11\n\n{ABSTRACT}\n",
    "below.txt": lambda p: f"{p.title}\n\n{ABSTRACT}\n\n{joined(p)}. {p.venue}, {p.year}.\n",
    "each.txt": lambda p: "\n".join([p.title, *p.authors, f"{p.venue} {p.year}", "Abstract", ABSTRACT]),
    "labels.txt": lambda p: (
        f"Title: {p.title}\nAuthors: {', '.join(p.authors)}\nVenue: {p.venue}\nYear: {p.year}\n\n{ABSTRACT}\n"
    ),
    "marked.md": lambda p: f"# {p.title}\n\n**{joined(p)}**\n\n*{p.venue}, {p.year}*\n\n## Abstract\n\n{ABSTRACT}\n",
    "record.json": lambda p: json.dumps(
        {"title": p.title, "authors": list(p.authors), "year": p.year, "venue": p.venue, "abstract": ABSTRACT}
    ),
    "people.json": lambda p: json.dumps(
        {
            "title": p.title,
            "text": ABSTRACT,
            "authors": [{"name": a} for a in p.authors],
            "venue": p.venue,
            "year": p.year,
        }
    ),
    "page.html": lambda p: (
        f"<html><head><title>{p.title}</title></head><body><h1>{p.title}</h1><p>{', '.join(p.authors)}</p>"
        f"<p>{p.venue} {p.year}</p><h2>Abstract</h2><p>{ABSTRACT}</p></body></html>"
    ),
}


@pytest.fixture(scope="module")
def reader() -> BuiltinExtractor:
    return BuiltinExtractor(academic())


def academic() -> Ontology:
    texts = [(resources.folder("ontology") / f"{name}.ttl").read_bytes() for name in ("core", "academic")]
    return read_ontology([quad.triple for text in texts for quad in parse(text, format=RdfFormat.TURTLE)])


def facts(reader: BuiltinExtractor, name: str, text: str) -> dict[str, set[tuple[str, str]]]:
    """What is said of each work and by whom, by property."""
    data = text.encode()
    document = read_content(Path(name), data, base="http://x.org/", source=name, sha256=digest(data))[0]
    chunk = Chunk(document.iri, document.iri, 0, 0, len(document.text), document.text)
    found: dict[str, set[tuple[str, str]]] = {"authoredBy": set(), "publishedIn": set(), "publicationYear": set()}
    for claim in reader.extract(chunk, document).claims:
        value = claim.object.name if isinstance(claim.object, Mention) else claim.object.value
        found.setdefault(local_name(claim.predicate.value), set()).add((claim.subject.name, value))
        assert document.text[claim.subject.start : claim.subject.end] == claim.subject.text
    return found


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("paper", PAPERS, ids=lambda paper: paper.title[:16])
def test_authors_venue_and_year_are_read_in_every_layout(reader: BuiltinExtractor, paper: Paper, layout: str) -> None:
    found = facts(reader, layout, LAYOUTS[layout](paper))
    assert found["authoredBy"] == {(paper.title, author) for author in paper.authors}
    assert found["publishedIn"] == {(paper.title, paper.venue)}
    assert found["publicationYear"] == {(paper.title, str(paper.year))}


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("Ann Lee¹*, Bo Ek2,3, and Cy Doe†", ["Ann Lee", "Bo Ek", "Cy Doe"]),
        ("Ann Lee (Uppsala), Bo Ek (KTH) <bo@kth.example>", ["Ann Lee", "Bo Ek"]),
        ("Lee, Ann; van den Berg, José", ["Ann Lee", "José van den Berg"]),
        ("Lee, Ann and Doe, Cy", ["Ann Lee", "Cy Doe"]),
        ("Lee, A., & O’Hara, K. B.", ["A. Lee", "K. B. O’Hara"]),
        ("Ron Dale, Jr. and Mi Mi (Kay) Tun", ["Ron Dale Jr.", "Mi Mi (Kay) Tun"]),
        ("张伟、李娜、欧阳修", ["张伟", "李娜", "欧阳修"]),
        ("张伟 李娜", ["张伟", "李娜"]),
        ("김철수, 이영희", ["김철수", "이영희"]),
        ("Uppsala University, Sweden", []),
        ("深度学习，机器翻译", []),
        ("We counted tufts, and they grew.", []),
        ("MOSSCON 2011", []),
    ],
)
def test_people_are_told_by_the_form_of_their_names(line: str, names: list[str]) -> None:
    found = people_in(line, 0, len(line))
    assert [person.name for person in found] == names
    assert all(0 <= person.start < person.end <= len(line) for person in found)


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("Proceedings of the 9th Conference on Moss (COM 2011), Oslo", "Proceedings of the 9th Conference on Moss"),
        ("Annals of Moss 12(3):44-58, 2019", "Annals of Moss"),
        ("COM 2012 (苔藓大会)", "COM"),
        ("《苔藓学报》2019年第30卷", "苔藓学报"),
        ("COM 2015 (Oslo), first posted 2014", "COM"),
    ],
)
def test_a_venue_goes_by_its_name_alone(written: str, name: str) -> None:
    venue = venue_in(written, 0, len(written))
    assert venue is not None
    assert venue.name == name
    assert written[venue.start : venue.end] == name


@pytest.mark.parametrize(
    "text",
    [
        "Shopping list\n\nAnn Lee, Bo Ek\n\nMilk and bread and many other things that we need.\n",
        "Machine Moss\nRelated Work\n\nIt was a rainy day.\n",
        "A walk\n\nWe left at nine in 2019 and came back late.\n",
        "Moss\n\nSome text of a paper that goes on.\n\n[1] Ann Lee, Bo Ek. Counting. MOSSCON 2011.\n",
        "",
        "\n\n\n",
    ],
)
def test_names_alone_and_references_make_no_byline(text: str) -> None:
    assert find_byline(text) is None


def test_letters_of_formulas_are_no_things(reader: BuiltinExtractor) -> None:
    paper = PAPERS[0]
    found = facts(reader, "lines.txt", LAYOUTS["lines.txt"](paper))
    assert all(len(subject) > 1 and len(value) > 1 for pairs in found.values() for subject, value in pairs)


def test_a_glossary_describes_no_thing(reader: BuiltinExtractor) -> None:
    text = (
        "# Glossary of papers\n\nAuthors: who wrote it\n\nVenue: where it appears\n\nYear: 2011\n\nAbstract: its gist\n"
    )
    assert not facts(reader, "words.md", text)["publicationYear"]
