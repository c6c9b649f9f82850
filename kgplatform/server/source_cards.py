"""Sources that are rows of a table, as cards: what each column says, with the cells marked that support what is shown.

A row is read again from the text that the passage quotes, its columns from the head of its document.
"""

from __future__ import annotations

import csv
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pyoxigraph import NamedNode

from kgplatform.documents.tables.cells import column_names
from kgplatform.documents.tables.delimited import CSV_TYPE, SAMPLE_LINES, TSV_TYPE, dialect_of, records
from kgplatform.entities import EntityView, Labels
from kgplatform.errors import NotFoundError
from kgplatform.server.frame import Remembered
from kgplatform.text import normalise, words_of_identifier
from kgplatform.types import Answer, Evidence, Term
from kgplatform.vocab import ALT_LABEL, local_name

if TYPE_CHECKING:
    from kgplatform.graph import KnowledgeGraph

_MOST_ROWS: Final = 3
_MOST_CELLS: Final = 12
_LONGEST: Final = 160
_HEAD_BYTES: Final = 65_536
_PARTS = re.compile(r"[;|；、,，]")
_NUMBER = re.compile(r"[^\d.+-]{0,4}([+-]?\d[\d,]*(?:\.\d+)?)[^\d]{0,8}")


@dataclass(frozen=True, slots=True)
class ShownValue:
    """A value that a source is to support: the forms in which it may be written, and the words of its property."""

    forms: frozenset[str]
    about: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class CardCell:
    """A cell that is not empty: the words of its column, the column as the file names it, the text."""

    heading: str
    column: str
    text: str
    supports: bool


@dataclass(frozen=True, slots=True)
class RowCard:
    """A row; ``left_out`` counts the cells that are not shown for want of room."""

    cells: tuple[CardCell, ...]
    left_out: int


class SourceCards:
    """Makes the cards of passages; the heads of tables are read once for each version of the store."""

    def __init__(self, kg: KnowledgeGraph) -> None:
        self._kg = kg
        self._heads = Remembered(kg)

    def of(self, passage: Evidence, shown: Iterable[ShownValue] = ()) -> tuple[RowCard, ...]:
        """The rows that the passage quotes, three at most; none where it is no part of a table of lines."""
        head = self._heads.get(("head", passage.document), lambda: self._head(passage.document))
        if head is None:
            return ()
        columns, delimiter = head
        try:
            lines = (f"{line}\n" for line in passage.quote.strip("\n").split("\n"))
            rows = [found.cells for found in records(lines, delimiter)]
        except csv.Error:
            return ()
        rows = [row for row in rows if row != columns]
        if any(any(row[len(columns) :]) for row in rows):  # cut in the middle, or not what the head says
            return ()
        values = tuple(shown)
        return tuple(_card(columns, row, values) for row in rows[:_MOST_ROWS])

    def text(self, passage: Evidence) -> str:
        """The passage as a line of text: of rows, each cell behind its column."""
        cards = self.of(passage)
        said = (f"{cell.heading}: {cell.text}" for card in cards for cell in card.cells)
        return " · ".join(said) if cards else passage.quote.strip()

    def _head(self, iri: NamedNode) -> tuple[tuple[str, ...], str] | None:
        """The columns of a table and what stands between them; None where the document is no table of lines."""
        try:
            document = self._kg.registry.document(iri).document
            if document.media_type not in (CSV_TYPE, TSV_TYPE):
                return None
            text = document.text or _beginning(Path(document.source))
        except (NotFoundError, OSError):
            return None
        lines = text.split("\n", SAMPLE_LINES)[:SAMPLE_LINES]
        dialect = dialect_of(lines, preferred="\t" if document.media_type == TSV_TYPE else ",")
        first = next(records((f"{line}\n" for line in lines[dialect.begin :]), dialect.delimiter), None)
        return None if first is None else (column_names(first.cells, 1)[0], dialect.delimiter)


def _beginning(path: Path) -> str:
    """The first lines of a table whose text is not kept, for it is large."""
    with path.open("rb") as file:
        return file.read(_HEAD_BYTES).decode("utf-8-sig", "replace")


def _card(columns: Sequence[str], row: Sequence[str], shown: Sequence[ShownValue]) -> RowCard:
    cells = [(column, text) for column, text in zip(columns, row, strict=False) if text]
    marked = _supporting(cells, shown)
    first = sorted(range(len(cells)), key=lambda at: (at > 0 and at not in marked, at))[:_MOST_CELLS]
    made = (
        CardCell(
            words_of_identifier(column), column, text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…", at in marked
        )
        for at, (column, text) in enumerate(cells)
        if at in first
    )
    return RowCard(tuple(made), len(cells) - len(first))


def _supporting(cells: Sequence[tuple[str, str]], shown: Sequence[ShownValue]) -> set[int]:
    """The cells that hold one of the values; of several, those whose column is called as its property is."""
    forms = [_forms(text) for _, text in cells]
    words = [frozenset(words_of_identifier(column).split()) for column, _ in cells]
    found: set[int] = set()
    for value in shown:
        holding = [at for at, held in enumerate(forms) if not held.isdisjoint(value.forms)]
        found.update([at for at in holding if words[at] & value.about] or holding)
    return found


def _forms(text: str) -> frozenset[str]:
    """The text and its parts as texts are compared; of an amount also the number alone."""
    found = {normalise(part) for part in (text, *_PARTS.split(text))} - {""}
    match = _NUMBER.fullmatch(text.strip())
    return frozenset(found | {f"{float(match[1].replace(',', '')):g}"} if match else found)


def _shown(term: Term, labels: Labels, *about: str) -> ShownValue:
    texts = [labels.reference(term).label]
    if isinstance(term, NamedNode):
        texts += [word.text for word in (*labels.words(term), *labels.words(term, (ALT_LABEL,)))]
    words = (word for name in about for word in words_of_identifier(name).split())
    return ShownValue(frozenset(form for text in texts for form in _forms(text)), frozenset(words))


def of_facts(view: EntityView, labels: Labels) -> dict[tuple[Term, Term], tuple[ShownValue]]:
    """What the sources of each fact with a source are to support, by property and value."""
    found: dict[tuple[Term, Term], tuple[ShownValue]] = {}
    for fact in view.facts:
        predicate = fact.predicate
        name = local_name(predicate.iri.value) if predicate.iri else ""
        for value in fact.values:
            if value.evidence:
                found[predicate.term, value.value.term] = (_shown(value.value.term, labels, name, predicate.label),)
    return found


def of_sources(
    view: EntityView, shown: Mapping[tuple[Term, Term], tuple[ShownValue]]
) -> dict[Evidence, set[ShownValue]]:
    """What each source of an entity's facts supports in all."""
    found: dict[Evidence, set[ShownValue]] = defaultdict(set)
    for fact in view.facts:
        for value in fact.values:
            for passage in value.evidence:
                found[passage].update(shown[fact.predicate.term, value.value.term])
    return found


def of_answer(answer: Answer, labels: Labels) -> dict[Evidence, set[ShownValue]]:
    """What each source of an answer supports: the values of the rows that it is a source of, and what was asked for."""
    asked = {_shown(item.iri, labels) for item in answer.question.linked}
    found = {passage: set(asked) for passage in answer.evidence}
    variables = answer.solutions.variables
    for row, places in zip(answer.solutions.rows, answer.row_evidence, strict=False):
        if places:
            said = {_shown(term, labels, name) for name, term in zip(variables, row, strict=True) if term is not None}
            for place in places:
                found[answer.evidence[place]] |= said
    return found
