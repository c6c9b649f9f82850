"""Teaching the built-in reader of a workspace by annotated examples."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from kgplatform.extraction.learning import saving
from kgplatform.extraction.learning.examples import read_examples
from kgplatform.extraction.learning.learnt import Learnt
from kgplatform.extraction.learning.training import Progress, train
from kgplatform.ontology import Ontology

FILE = "learnt.npz"
"""What was learnt from examples, in the workspace's folder."""


@dataclass(frozen=True, slots=True)
class Taught:
    """A property (without IRI: all): how many triples the examples say, how many were read, unseen, and rightly."""

    iri: str
    said: int
    read: int
    right: int

    @property
    def precision(self) -> float:
        """The share of what was read that is right."""
        return self.right / self.read if self.read else 0.0

    @property
    def recall(self) -> float:
        """The share of what is said that was read."""
        return self.right / self.said if self.said else 0.0

    @property
    def f1(self) -> float:
        """The harmonic mean of both."""
        return 2 * self.right / (self.read + self.said) if self.read + self.said else 0.0


@dataclass(frozen=True, slots=True)
class LearnReport:
    """What learning came to: by property and, as ``overall``, together; ``left_out`` triples have no property."""

    examples: int
    problems: tuple[str, ...]
    left_out: int
    overall: Taught
    properties: tuple[Taught, ...]


def learn(folder: Path, ontology: Ontology, path: Path, *, progress: Progress | None = None) -> LearnReport:
    """Teaches the workspace's reader by the examples of a file; what was learnt before is replaced.

    Raises:
        ReadError: the file cannot be read, or none of its lines can be used.
        WorkspaceError: what was learnt cannot be written.
    """
    read = read_examples(path, ontology)
    learnt = train(read.examples, ontology, progress=progress)
    saving.save(learnt, folder / FILE)
    rows = sorted(learnt.report.items(), key=lambda row: (-row[1][0], row[0]))
    found = tuple(Taught(iri, *numbers) for iri, numbers in rows if numbers[0])
    totals = (sum(numbers[column] for numbers in learnt.report.values()) for column in range(3))
    left_out = sum(example.left_out for example in read.examples)
    return LearnReport(len(read.examples), read.problems, left_out, Taught("", *totals), found)


def learnt_in(folder: Path, ontology: Ontology) -> Learnt | None:
    """What was learnt in the workspace; None: nothing.

    Raises:
        WorkspaceError: it is damaged, or another version wrote it.
    """
    return saving.load(folder / FILE, ontology)
