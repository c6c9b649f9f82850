"""What became of a test, in one small type that every suite gives and every report takes."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Verdict(StrEnum):
    """How a test ended; the values are the outcomes of EARL."""

    PASSED = "passed"
    FAILED = "failed"
    UNTESTED = "untested"


@dataclass(frozen=True, slots=True)
class Outcome:
    """A test by its IRI and suite, how it ended, and why where it did not pass."""

    iri: str
    name: str
    suite: str
    verdict: Verdict
    detail: str = ""
