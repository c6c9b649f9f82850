"""Who reads documents in a workspace, and teaching the built-in reader by examples."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from kgplatform.building.known import known_names
from kgplatform.dataset import EvidenceDataset
from kgplatform.extraction.builtin import BuiltinExtractor
from kgplatform.extraction.learning import saving
from kgplatform.extraction.learning.examples import read_examples
from kgplatform.extraction.learning.training import Progress, train
from kgplatform.extraction.model import ModelExtractor
from kgplatform.models.cache import CachedModel
from kgplatform.ontology import Ontology
from kgplatform.protocols import Extractor
from kgplatform.types import Document

FILE = "learnt.npz"
"""What was learnt from examples, in the workspace's folder."""


@dataclass(frozen=True, slots=True)
class Taught:
    """A property in the examples: how many triples they say, and how many were read, and rightly, unseen."""

    property: str
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


def forget(folder: Path) -> bool:
    """Takes away what was learnt; whether there was anything."""
    path = folder / FILE
    was_there = path.exists()
    path.unlink(missing_ok=True)
    return was_there


def extractor_for(
    folder: Path, ontology: Ontology, dataset: EvidenceDataset, model: CachedModel | None
) -> Callable[[Document], Extractor]:
    """Who reads a document: the model, whose replies about it are kept under its name, else the built-in reader.

    Raises:
        WorkspaceError: what was learnt is damaged.
    """
    if model is not None:
        return lambda document: ModelExtractor(model.about(document.iri.value), ontology)
    learnt = saving.load(folder / FILE, ontology)
    extractor = BuiltinExtractor(ontology, known=cache(lambda: known_names(dataset, ontology)), learnt=learnt)
    return lambda _document: extractor
