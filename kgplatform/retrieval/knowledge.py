"""What retrieval knows of a graph: its things and relations with the passages that name them, keywords, and reports.

It comes from whoever has the graph; here are only words and IRIs, so that a retriever can be tried on anything.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property


@dataclass(frozen=True, slots=True)
class Thing:
    """A thing with what it is called and the passages that mention it.

    ``names`` holds its label and its other names; ``kind`` is its class in words; ``above`` are the labels of what it
    lies in, the nearest first.
    """

    iri: str
    label: str
    names: tuple[str, ...] = ()
    description: str = ""
    kind: str = ""
    above: tuple[str, ...] = ()
    passages: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The thing as it is embedded: name, class, description."""
        return ". ".join(filter(None, (self.label, self.kind, self.description)))


@dataclass(frozen=True, slots=True)
class Relation:
    """A statement between two things (their IRIs), in words, as heavy as it has evidence.

    ``chinese`` says the same in Chinese, as far as there are names; empty: it is not known.
    """

    subject: str
    object: str
    text: str
    weight: float = 1.0
    passages: tuple[str, ...] = ()
    chinese: str = ""


@dataclass(frozen=True, slots=True)
class Keyword:
    """A word or phrase and all passages that it is a keyword of."""

    text: str
    passages: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Report:
    """What is said of a community: its IRI, members (IRIs), level (0 the coarsest) and weight."""

    iri: str
    title: str
    text: str
    members: frozenset[str] = frozenset()
    level: int = 0
    weight: float = 0.0

    @property
    def whole(self) -> str:
        """Title and text."""
        return f"{self.title}\n{self.text}" if self.title else self.text


@dataclass(frozen=True)
class Knowledge:
    """A graph as retrieval sees it."""

    things: tuple[Thing, ...] = ()
    relations: tuple[Relation, ...] = ()
    keywords: tuple[Keyword, ...] = ()
    reports: tuple[Report, ...] = field(default=())

    @cached_property
    def state(self) -> str:
        """A hash of it all: another as soon as anything comes, goes or changes."""
        whole = hashlib.blake2b(digest_size=16)
        for part in self._parts():
            whole.update(f"{part}\x1e".encode("utf-8", "surrogatepass"))
        return whole.hexdigest()

    @property
    def texts(self) -> list[str]:
        """All that is embedded of it."""
        return [
            *(thing.text for thing in self.things),
            *(relation.text for relation in self.relations),
            *(keyword.text for keyword in self.keywords),
            *(report.whole for report in self.reports),
        ]

    def _parts(self) -> Iterator[object]:
        yield from (*self.things, *self.relations, *self.keywords)
        yield from ((r.iri, r.title, r.text, sorted(r.members), r.level, r.weight) for r in self.reports)
