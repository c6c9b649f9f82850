"""The papers of a graph with their texts: what each says in which section, sentence by sentence, with its place.

A document is a paper's text if it has an abstract and a paper's name stands in its title or before its abstract (the
longest name counts). A document with an abstract that fits no paper of the graph is a paper by itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from pyoxigraph import NamedNode

from kgplatform.academic.terms import PAPER, Parts, term
from kgplatform.describing import Labels
from kgplatform.documents.registry import State
from kgplatform.documents.sections import Section, SectionKind, sections_of
from kgplatform.errors import NotFoundError
from kgplatform.text import normalise, sentences
from kgplatform.types import Document, Evidence
from kgplatform.vocab import ALT_LABEL, LABEL, TYPE

DIGESTED: Final = (SectionKind.ABSTRACT, SectionKind.INTRODUCTION)
"""What is read of every paper; the rest is read of chosen ones."""

IN_FULL: Final = (SectionKind.ABSTRACT, SectionKind.INTRODUCTION, SectionKind.BODY, SectionKind.CONCLUSION)

_YEAR: Final = re.compile(r"(?<![\d.:/])((?:19|20)\d{2})(?!\d|\.\d|-\d)")
_BLANKS: Final = re.compile(r"\s+")
_FRONT: Final = 1500
_LEAST_NAME: Final = 8
_LEAST_SENTENCE: Final = 12
_NAMES_TOLD: Final = 3


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of a paper in one line, the section it stands in, and the passage it is."""

    paper: NamedNode
    text: str
    section: SectionKind
    source: Evidence


@dataclass(frozen=True, slots=True)
class Paper:
    """A paper: its title, year (``year_read``: from its text, the graph has none), texts, and the papers it cites.

    One without a text is only cited, or named.
    """

    iri: NamedNode
    title: str
    year: int | None = None
    year_read: bool = False
    texts: tuple[Document, ...] = ()
    cites: tuple[NamedNode, ...] = ()
    names: frozenset[str] = frozenset()


class Library:
    """The papers of a graph, read once; those with a text first."""

    def __init__(self, parts: Parts, language: str = "en") -> None:
        self.parts = parts
        self.language = language
        self.labels = Labels(parts.dataset, parts.ontology, language)
        named = [self._named(iri) for iri in parts.instances(PAPER)]
        texts = [record.document for record in parts.registry.documents(State.PROCESSED) if record.graph is None]
        papers = {paper.iri: paper for paper in _with_texts(named, texts)}
        self.papers: dict[NamedNode, Paper] = {iri: _dated(paper) for iri, paper in papers.items()}
        self._read: dict[NamedNode, tuple[Sentence, ...]] = {}

    def __len__(self) -> int:
        return len(self.digested())

    def digested(self) -> list[Paper]:
        """The papers with a text, by year and title."""
        found = [paper for paper in self.papers.values() if paper.texts]
        return sorted(found, key=lambda paper: (paper.year or 0, paper.title))

    def find(self, name: str) -> Paper:
        """The paper of that IRI or title, or the one whose title holds the words.

        Raises:
            NotFoundError: no paper, or several, are called so.
        """
        if "://" in name and " " not in name and NamedNode(name) in self.papers:
            return self.papers[NamedNode(name)]
        wanted = normalise(name)
        exact = [paper for paper in self.papers.values() if wanted in paper.names]
        held = (
            [paper for paper in self.papers.values() if any(wanted in text for text in paper.names)] if wanted else []
        )
        found = exact or [paper for paper in held if paper.texts] or held
        if len(found) == 1:
            return found[0]
        if found:
            listed = "; ".join(paper.title for paper in found[:_NAMES_TOLD])
            raise NotFoundError(f"{len(found)} papers are called {name!r}: {listed}; give more of the title", name=name)
        raise NotFoundError(f"no paper is called {name!r}; `kgplatform literature` lists them", name=name)

    def sentences(self, paper: Paper, kinds: Sequence[SectionKind] = DIGESTED) -> list[Sentence]:
        """The sentences of those sections, in order, without headings."""
        if paper.iri not in self._read:
            self._read[paper.iri] = tuple(item for text in paper.texts for item in _sentences(paper, text))
        return [item for item in self._read[paper.iri] if item.section in kinds]

    def linked(self, paper: Paper, name: str, turned: str = "") -> list[NamedNode]:
        """What the graph relates the paper to by that property of the academic ontology."""
        return self.parts.linked(paper.iri, name, turned)

    def name(self, iri: NamedNode) -> str:
        """What a thing or paper is called."""
        return self.papers[iri].title if iri in self.papers else self.labels.of(iri).text

    def cited_by(self) -> dict[NamedNode, int]:
        """How many papers of the graph cite each paper."""
        counts = dict.fromkeys(self.papers, 0)
        for paper in self.papers.values():
            for other in paper.cites:
                counts[other] = counts.get(other, 0) + 1
        return counts

    def _named(self, iri: NamedNode) -> Paper:
        names = [word.text for kind in (LABEL, ALT_LABEL) for word in self.labels.words(iri, (kind,))]
        years = [text for text in self.parts.texts(iri, "publicationYear") if text[:4].isdecimal()]
        return Paper(
            iri=iri,
            title=self.labels.of(iri).text,
            year=int(years[0][:4]) if years else None,
            cites=tuple(self.parts.linked(iri, "cites", "citedBy")),
            names=frozenset(filter(None, map(normalise, names))),
        )


def _with_texts(papers: Sequence[Paper], texts: Iterable[Document]) -> Iterable[Paper]:
    """The papers with their texts, and papers made of the texts that fit none."""
    names = sorted(((name, paper) for paper in papers for name in paper.names), key=lambda item: -len(item[0]))
    found: dict[NamedNode, Paper] = {paper.iri: paper for paper in papers}
    for text in texts:
        front = _front(text.text)
        if front is None:
            continue
        title = normalise(text.title)
        fitting = [paper for name, paper in names if name == title]
        fitting += [paper for name, paper in names if len(name) >= _LEAST_NAME and name in front]
        iri = fitting[0].iri if fitting else text.iri
        paper = found.get(iri) or Paper(text.iri, text.title, names=frozenset((title,)))
        found[iri] = replace(paper, texts=(*paper.texts, text))
    return found.values()


def _front(text: str) -> str | None:
    """What stands before the abstract, as names are compared; None where there is no abstract."""
    sections = sections_of(text)
    abstract = next((section for section in sections if section.kind is SectionKind.ABSTRACT), None)
    return None if abstract is None else normalise(text[: min(abstract.start, _FRONT)])


def _dated(paper: Paper) -> Paper:
    """The paper with the first year before its abstract, if the graph has none."""
    if paper.year is not None:
        return paper
    for text in paper.texts:
        sections = sections_of(text.text)
        front = next((item for item in sections if item.kind is SectionKind.FRONT), None)
        match = _YEAR.search(text.text, 0, min(front.end, _FRONT)) if front else None
        if match:
            return replace(paper, year=int(match[1]), year_read=True)
    return paper


def _sentences(paper: Paper, text: Document) -> Iterable[Sentence]:
    for section in sections_of(text.text):
        if section.kind in IN_FULL:
            yield from _of_section(paper, text, section)


def _of_section(paper: Paper, text: Document, section: Section) -> Iterable[Sentence]:
    heading = text.text.find("\n", section.start, section.end)
    begin = heading if section.heading and heading >= 0 else section.start
    for start, end in sentences(text.text, begin, section.end):
        line = _BLANKS.sub(" ", text.text[start:end]).strip()
        if len(line) >= _LEAST_SENTENCE and not line.startswith(("#", "| ---", "|---")):
            quote = text.text[start:end]
            source = Evidence(text.iri, text.iri, text.title, text.source, quote, start, end)
            yield Sentence(paper.iri, line, section.kind, source)


def classes_of(parts: Parts, iri: NamedNode) -> set[NamedNode]:
    """The classes that the graph puts the thing in."""
    return {item for item in parts.dataset.store.objects(iri, TYPE) if isinstance(item, NamedNode)}


def is_of(parts: Parts, iri: NamedNode, *names: str) -> bool:
    """Whether the thing is of one of the classes of the academic ontology with these local names."""
    return bool(classes_of(parts, iri) & {term(name) for name in names})
