"""What the rows of a table say by a mapping, row by row."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

from pyoxigraph import NamedNode, Triple

from kgplatform.documents.tabular.source import SourceRow
from kgplatform.mapping.running import Batch, Run
from kgplatform.types import Refusal

_BATCH = 5_000


@dataclass(slots=True)
class RowStatements:
    """What one row says: the entities that it describes, the triples with them, and what was not accepted."""

    line: int
    subjects: list[NamedNode] = field(default_factory=list)
    triples: list[Triple] = field(default_factory=list)
    refused: list[Refusal] = field(default_factory=list)
    keyed: NamedNode | None = None
    """The entity that the row is about, as far as its key or the mapping's first triples map tells."""

    @property
    def subject(self) -> NamedNode | None:
        """The first of the entities; None where nothing names the row."""
        return self.subjects[0] if self.subjects else None


def statements(run: Run, rows: Iterable[SourceRow]) -> Iterator[RowStatements]:
    """The statements of each row, in order. Empty cells say nothing; bad cells are refused, the rest counts."""
    waiting = iter(rows)
    while batch := tuple(islice(waiting, _BATCH)):
        yield from _of_batch(run.batch(batch), batch)


def _of_batch(found: Batch, rows: Sequence[SourceRow]) -> Iterator[RowStatements]:
    read = [RowStatements(row.number) for row in rows]
    for place, triple, describes, is_key in found.triples():
        read[place].triples.append(triple)
        if is_key and isinstance(triple.subject, NamedNode):
            read[place].keyed = triple.subject
        if describes and isinstance(triple.subject, NamedNode) and triple.subject not in read[place].subjects:
            read[place].subjects.append(triple.subject)
    by_line = {row.line: row for row in reversed(read)}
    for problem in found.problems:
        by_line[problem.number].refused.append(problem.refusal)
    for row in read:
        row.triples = list(dict.fromkeys(row.triples))
        yield row
