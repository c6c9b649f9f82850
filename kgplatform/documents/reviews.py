"""What people said of statements that were read: right, wrong, or what is meant; and why reading a document failed.

Judgements outlive the documents they were made on, and the links between names: they are of statements.
"""

from __future__ import annotations

import sqlite3
from abc import abstractmethod
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from enum import StrEnum

import pyoxigraph as ox
from pyoxigraph import NamedNode, RdfFormat, Triple

SCHEMA = """
CREATE TABLE IF NOT EXISTS reviews (
  statement TEXT PRIMARY KEY, judgement TEXT NOT NULL, corrections TEXT NOT NULL, document TEXT NOT NULL,
  graph TEXT NOT NULL, start INTEGER NOT NULL, end INTEGER NOT NULL, quote TEXT NOT NULL, person TEXT NOT NULL,
  moment TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS reviews_in ON reviews (document);
CREATE TABLE IF NOT EXISTS failures (document TEXT PRIMARY KEY, stage TEXT NOT NULL);
"""


class Judgement(StrEnum):
    """What a person said of a statement."""

    ACCEPTED = "accepted"
    CORRECTED = "corrected"
    REJECTED = "rejected"


@dataclass(frozen=True, slots=True)
class Review:
    """A judgement on a statement: the passage that said it, who judged, and when (ISO 8601).

    ``corrections`` is what the person states in its place: the statement that is meant, then what it rests on, such
    as the name of a thing that was not known before.
    """

    statement: Triple
    judgement: Judgement
    document: NamedNode
    graph: NamedNode
    start: int
    end: int
    quote: str
    person: str
    moment: str
    corrections: tuple[Triple, ...] = ()

    @property
    def correction(self) -> Triple | None:
        """The statement that is meant; None unless it was corrected."""
        return self.corrections[0] if self.corrections else None


class Reviews:
    """The part of the registry that judgements on statements are in, and the stages at which reading failed."""

    @abstractmethod
    def _transaction(self) -> AbstractContextManager[sqlite3.Connection]: ...

    @abstractmethod
    def _all(self, sql: str, *values: object) -> list[sqlite3.Row]: ...

    def keep_review(self, review: Review) -> None:
        """Remembers a judgement; an earlier one of the same statement gives way."""
        with self._transaction() as db:
            db.execute("INSERT OR REPLACE INTO reviews VALUES (?,?,?,?,?,?,?,?,?,?)", _row(review))

    def drop_review(self, statement: Triple) -> None:
        """Forgets the judgement on a statement."""
        with self._transaction() as db:
            db.execute("DELETE FROM reviews WHERE statement=?", (_written([statement]),))

    def review(self, statement: Triple) -> Review | None:
        """The judgement on a statement; None where nobody judged it."""
        rows = self._all("SELECT * FROM reviews WHERE statement=?", _written([statement]))
        return _review(rows[0]) if rows else None

    def reviews(self, document: NamedNode | None = None) -> list[Review]:
        """The judgements, the earliest first: all, or those made on a document."""
        name = document.value if document else None
        rows = self._all("SELECT * FROM reviews WHERE ?1 IS NULL OR document=?1 ORDER BY moment, statement", name)
        return [_review(row) for row in rows]

    def correction_of(self, statement: Triple) -> Review | None:
        """The latest judgement by which a person stated this; None where none did."""
        wanted = _written([statement])
        rows = self._all("SELECT * FROM reviews WHERE instr(corrections, ?) > 0 ORDER BY moment DESC LIMIT 1", wanted)
        return _review(rows[0]) if rows else None

    def follow_reviews(self, retired: Mapping[NamedNode, NamedNode]) -> None:
        """Lets judgements on things that were taken for others be on those."""
        if not retired:
            return
        for review in self.reviews():
            parts = (review.statement, *review.corrections)
            if not any(term in retired for part in parts for term in (part.subject, part.object)):
                continue
            moved = tuple(_renamed(part, retired) for part in parts)
            with self._transaction() as db:
                db.execute("DELETE FROM reviews WHERE statement=?", (_written([review.statement]),))
                values = (_written(moved[:1]), review.judgement.value, _written(moved[1:]), *_row(review)[3:])
                db.execute("INSERT OR REPLACE INTO reviews VALUES (?,?,?,?,?,?,?,?,?,?)", values)

    def note_failure(self, document: NamedNode, stage: str) -> None:
        """Notes at which stage reading a document failed."""
        with self._transaction() as db:
            db.execute("INSERT OR REPLACE INTO failures VALUES (?,?)", (document.value, stage))

    def failed_stages(self) -> dict[NamedNode, str]:
        """The stage at which reading failed, by document; of those only that are still failed."""
        rows = self._all("SELECT f.* FROM failures f JOIN documents d ON d.iri = f.document WHERE d.state = 'failed'")
        return {NamedNode(row["document"]): row["stage"] for row in rows}


def _renamed(statement: Triple, retired: Mapping[NamedNode, NamedNode]) -> Triple:
    subject, value = statement.subject, statement.object
    if isinstance(subject, NamedNode):
        subject = retired.get(subject, subject)
    if isinstance(value, NamedNode):
        value = retired.get(value, value)
    return Triple(subject, statement.predicate, value)


def _written(statements: Iterable[Triple]) -> str:
    return "".join(f"{statement} .\n" for statement in statements)


def _statements(text: str) -> tuple[Triple, ...]:
    return tuple(item.triple for item in ox.parse(text, format=RdfFormat.N_TRIPLES))


def _row(review: Review) -> tuple[object, ...]:
    return (
        *(_written([review.statement]), review.judgement.value, _written(review.corrections), review.document.value),
        *(review.graph.value, review.start, review.end, review.quote, review.person, review.moment),
    )


def _review(row: sqlite3.Row) -> Review:
    return Review(
        statement=_statements(row["statement"])[0],
        judgement=Judgement(row["judgement"]),
        document=NamedNode(row["document"]),
        graph=NamedNode(row["graph"]),
        start=row["start"],
        end=row["end"],
        quote=row["quote"],
        person=row["person"],
        moment=row["moment"],
        corrections=_statements(row["corrections"]),
    )
