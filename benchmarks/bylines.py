"""Papers fed as texts with a byline: how many of their authors, venues and years the graph has, read without a model.

PAPERS is JSON Lines with ``title``, ``authors``, ``venue``, ``year`` and ``abstract``. So many are drawn at random (the
same every time), written out in turn in five layouts and added to a new workspace of the academic ontology, as
``kgplatform add`` does. Names compare without case, accents, dots and blanks. ``python -m benchmarks.bylines PAPERS
[--papers 300]``; about a minute.
"""

from __future__ import annotations

import argparse
import json
import random
import unicodedata
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, TypeAlias

from kgplatform.graph import KnowledgeGraph

Paper: TypeAlias = Mapping[str, Any]

SAID: Final = {"authors": "authoredBy", "venue": "publishedIn", "year": "publicationYear"}
_PREFIXES: Final = (
    "PREFIX academic: <https://w3id.org/kgplatform/academic#> PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#> "
    "PREFIX skos: <http://www.w3.org/2004/02/skos/core#> "
)
_NAMED: Final = "{ ?thing rdfs:label ?name } UNION { ?thing skos:altLabel ?name }"
_WORKS: Final = f"{_PREFIXES} SELECT ?thing ?name {{ ?thing a academic:Paper . {_NAMED} }}"
_ISOLATED: Final = f"""{_PREFIXES} SELECT ?thing ?name {{
    {{ ?thing a academic:Author }} ?thing rdfs:label ?name .
    FILTER NOT EXISTS {{ ?work academic:authoredBy ?thing }} }}"""
_LETTERS: Final = f"""{_PREFIXES} SELECT ?thing ?name {{ ?thing rdfs:label ?name
    FILTER(REGEX(STR(?name), "^[A-Za-z]$")) }}"""


def _joined(names: Sequence[str]) -> str:
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last


LAYOUTS: Final[tuple[Callable[[Paper], str], ...]] = (
    lambda p: f"{p['title']}\n{_joined(p['authors'])}\n{p['venue']}, {p['year']}\n\nAbstract\n{p['abstract']}\n",
    lambda p: f"{p['title']}\n\nBy {_joined(p['authors'])}\n{p['venue']} {p['year']}\n\n{p['abstract']}\n",
    lambda p: f"{p['title']}\n\n{p['abstract']}\n\n{', '.join(p['authors'])}. {p['venue']}, {p['year']}.\n",
    lambda p: (
        f"Title: {p['title']}\nAuthors: {', '.join(p['authors'])}\nVenue: {p['venue']}\nYear: {p['year']}\n\n"
        f"{p['abstract']}\n"
    ),
    lambda p: f"{p['title']}\n{'; '.join(p['authors'])}\n{p['booktitle']} ({p['year']})\n\nAbstract: {p['abstract']}\n",
)


def plain(name: str) -> str:
    """What two spellings of a name have in common."""
    letters = unicodedata.normalize("NFKD", name).casefold()
    return "".join(letter for letter in letters if letter.isalnum())


def _values(kg: KnowledgeGraph, work: str, property_: str) -> set[str]:
    """All names of what the graph says of the work, and values as they are."""
    query = f"""{_PREFIXES} SELECT ?name {{ <{work}> academic:{property_} ?thing
        OPTIONAL {{ {_NAMED} }} }}"""
    query_value = f"{_PREFIXES} SELECT ?name {{ <{work}> academic:{property_} ?name FILTER(isLiteral(?name)) }}"
    rows = [*kg.query(query).rows, *kg.query(query_value).rows]
    return {plain(getattr(row[0], "value", "")) for row in rows if row[0] is not None}


def _wanted(paper: Paper, part: str, layout: int) -> list[set[str]]:
    """For each fact of the paper, the spellings that are right."""
    if part == "authors":
        return [{plain(name)} for name in paper["authors"]]
    written = paper["booktitle"] if part == "venue" and layout == len(LAYOUTS) - 1 else paper[part]
    return [{plain(str(written)), plain(str(paper[part]))}]


def measured(kg: KnowledgeGraph, papers: Sequence[Paper]) -> Counter[str]:
    """How many facts there are of each kind, how many the graph has, and how much it has that nobody wrote."""
    works: dict[str, str] = {}
    for thing, name in kg.query(_WORKS).rows:
        works.setdefault(plain(getattr(name, "value", "")), getattr(thing, "value", ""))
    counts: Counter[str] = Counter()
    for number, paper in enumerate(papers):
        work = works.get(plain(paper["title"]))
        counts["works"] += work is not None
        for part, property_ in SAID.items():
            found = _values(kg, work, property_) if work else set()
            wanted = _wanted(paper, part, number % len(LAYOUTS))
            right = sum(any(_same(spelling, found) for spelling in spellings) for spellings in wanted)
            counts[f"{part} said"] += len(wanted)
            counts[f"{part} found"] += right
            if right < len(wanted):
                print(f"missed: {part} of {paper['title']!r} in layout {number % len(LAYOUTS)}: {sorted(found)[:4]}")
    counts["isolated authors"] = len(kg.query(_ISOLATED).rows)
    counts["things of one letter"] = len(kg.query(_LETTERS).rows)
    return counts


def _same(spelling: str, found: set[str]) -> bool:
    """Whether the spelling is found; a venue may be named without its place or number of the meeting."""
    return spelling in found or any(len(name) > 12 and name in spelling for name in found)


def main() -> int:
    """Prints a line for each kind of fact."""
    wanted = argparse.ArgumentParser(prog="benchmarks.bylines", description=__doc__)
    wanted.add_argument("papers", type=Path)
    wanted.add_argument("--papers", dest="count", type=int, default=300)
    given = wanted.parse_args()
    lines = given.papers.read_text(encoding="utf-8").splitlines()
    papers = random.Random(42).sample([json.loads(line) for line in lines], given.count)
    with TemporaryDirectory(prefix="kgplatform-") as name:
        texts = Path(name) / "texts"
        texts.mkdir()
        for number, paper in enumerate(papers):
            text = LAYOUTS[number % len(LAYOUTS)](paper)
            (texts / f"{number:05}.txt").write_text(text, encoding="utf-8")
        with KnowledgeGraph.create(Path(name) / "kg", ontology="academic") as kg:
            added = sum(item.outcome == "added" for item in kg.add(texts))
            counts = measured(kg, papers)
    print(f"{added} of {len(papers)} documents added; {counts['works']} works by their titles")
    for part in SAID:
        found, said = counts[f"{part} found"], counts[f"{part} said"]
        print(f"{part}: {found} of {said} ({found / said:.3f})")
    print(f"authors of nothing: {counts['isolated authors']}; things of one letter: {counts['things of one letter']}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
