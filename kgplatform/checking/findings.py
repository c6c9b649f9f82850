"""What a check finds: the thing at fault, what is wrong, the statements that say it, and where they were read.

Severities are SHACL's (https://www.w3.org/TR/shacl/#severity): a violation contradicts the ontology, a shape or the
law of evidence; a warning is probably wrong; an info is worth knowing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from pyoxigraph import Literal, NamedNode, Triple

from kgplatform.types import Evidence, Term


class Severity(StrEnum):
    """How bad a finding is, worst first."""

    VIOLATION = "violation"
    WARNING = "warning"
    INFO = "info"


class Kind(StrEnum):
    """What a finding is about."""

    SHAPE = "shape"
    DOMAIN = "domain"
    RANGE = "range"
    DATATYPE = "datatype"
    PATTERN = "pattern"
    FUNCTIONAL = "functional"
    DISJOINT = "disjoint"
    UNKNOWN_CLASS = "unknown-class"
    UNKNOWN_PROPERTY = "unknown-property"
    NO_EVIDENCE = "no-evidence"
    NOT_HELD = "not-held"
    DANGLING_GRAPH = "dangling-graph"
    MISSING_GRAPH = "missing-graph"
    UNREACHABLE = "unreachable"
    LABEL_CLASH = "label-clash"
    KEY_CLASH = "key-clash"
    QUARANTINED = "quarantined"


@dataclass(frozen=True, slots=True)
class Support:
    """Where a statement rests: its graph, the passage if the graph has text, and the method that made it."""

    triple: Triple
    graph: NamedNode
    method: str
    passage: Evidence | None = None


@dataclass(frozen=True, slots=True)
class Finding:
    """Something wrong with ``focus``; ``statements`` are those at fault.

    ``shape`` is the shape that says so (too), ``constraint`` the name of its constraint, such as ``MaxCount``.
    ``messages`` is what the shape says in its languages.
    ``fixable``: `repair` can mend it without losing what anybody read or stated.
    """

    kind: Kind
    severity: Severity
    focus: Term
    message: str
    path: NamedNode | None = None
    value: Term | None = None
    shape: str | None = None
    constraint: str = ""
    statements: tuple[Triple, ...] = ()
    evidence: tuple[Support, ...] = ()
    fixable: bool = False
    messages: tuple[Literal, ...] = ()

    def told(self, language: str) -> str:
        """The message in the language, if the shape has one in it, else in English."""
        return best(self.messages, language) if self.messages else self.message


def best(messages: Iterable[Literal], language: str) -> str:
    """The message in the language, else in English, else the first there is."""
    listed = list(messages)
    for wanted in (language, "en", ""):
        for message in listed:
            if (message.language or "").lower().split("-")[0] == wanted:
                return " ".join(message.value.split())[:300]
    return " ".join(listed[0].value.split())[:300] if listed else "does not keep to the shape"


@dataclass(frozen=True, slots=True)
class CheckReport:
    """The findings, worst first, on how many things, and what was repaired before (one sentence each)."""

    findings: tuple[Finding, ...]
    checked: int
    seconds: float = 0.0
    repaired: tuple[str, ...] = ()

    @property
    def violations(self) -> int:
        """How many findings are violations."""
        return sum(finding.severity is Severity.VIOLATION for finding in self.findings)

    @property
    def conforms(self) -> bool:
        """Whether there is no finding at all, as SHACL has it."""
        return not self.findings

    @property
    def counts(self) -> Mapping[Kind, int]:
        """How many findings there are of each kind that occurs."""
        return Counter(finding.kind for finding in self.findings)


_SEVERITIES = tuple(Severity)


def in_order(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """The findings each once, worst first, then by thing and property: the same data gives the same report."""
    return tuple(sorted(dict.fromkeys(findings), key=_place))


def _place(finding: Finding) -> tuple[object, ...]:
    path = finding.path.value if finding.path else ""
    return (_SEVERITIES.index(finding.severity), finding.kind, str(finding.focus), path, str(finding.value))
