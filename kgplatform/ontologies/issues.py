"""What can be wrong with an ontology, and how bad it is."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Grade(StrEnum):
    """An ``error`` makes the ontology say what cannot be meant; a ``warning`` makes the platform work less well."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


@dataclass(frozen=True, slots=True)
class OntologyIssue:
    """Something wrong with a term; ``kind`` is a stable short name such as ``missing-label``."""

    kind: str
    grade: Grade
    term: str
    message: str


_GRADES = tuple(Grade)


def order(issue: OntologyIssue) -> tuple[int, str, str, str]:
    """The key to sort issues by: worst first, then by kind and term."""
    return _GRADES.index(issue.grade), issue.kind, issue.term, issue.message
