"""How `check` prints what it found."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from pyoxigraph import NamedNode

from kgplatform.checking.findings import CheckReport, Finding, Severity
from kgplatform.checking.report import as_json, as_turtle
from kgplatform.cli import output
from kgplatform.describing import Labels
from kgplatform.types import Term
from kgplatform.vocab import local_name

_MOST = 60
_MOST_BELOW = 5


def print_report(report: CheckReport, labels: Labels, format_: str) -> None:
    """Prints the report as a table, JSON or a SHACL report in Turtle; what was repaired goes to stderr."""
    for line in report.repaired:
        output.note(f"repaired: {line}")
    if format_ == "json":
        output.as_json(as_json(report))
    elif format_ == "turtle":
        sys.stdout.buffer.write(as_turtle(report))
    else:
        _print_table(report, labels)


def _print_table(report: CheckReport, labels: Labels) -> None:
    shown = report.findings[:_MOST]
    for finding in shown:
        about = [_words(finding.focus, labels), *([labels.of(finding.path).text] if finding.path else [])]
        output.say(f"{finding.severity.value:<9}  {', '.join(about)}: {finding.message}")
        _print_support(finding)
    if len(report.findings) > _MOST:
        output.note(f"{len(report.findings) - _MOST} more; --format json gives all")
    counts = ", ".join(f"{count} {kind.value}" for kind, count in sorted(report.counts.items()))
    left = report.violations
    fixable = sum(finding.fixable for finding in report.findings)
    output.note(
        f"{report.checked} things checked in {report.seconds:.1f} s: "
        + (f"{left} violation{'' if left == 1 else 's'} ({counts})" if report.findings else "all is well")
        + (f"; --fix repairs {fixable}" if fixable else "")
    )


def print_findings(findings: Sequence[Finding]) -> None:
    """Prints what a document violates below its line."""
    for finding in findings[:_MOST_BELOW]:
        about = [short(item) for item in (finding.focus, finding.path) if item is not None]
        output.say(f"           violates {', '.join(about)}: {finding.message}")
    if len(findings) > _MOST_BELOW:
        output.say(f"           and {len(findings) - _MOST_BELOW} more; `kgplatform check --document` shows all")


def short(term: Term) -> str:
    """The local name of an IRI, anything else as it is."""
    return output.cut(local_name(term.value) if isinstance(term, NamedNode) else str(term), 60)


def _words(term: Term, labels: Labels) -> str:
    return output.cut(labels.reference(term).label, 60)


def _print_support(finding: Finding) -> None:
    """Where it was read; an info is too slight for more than its line."""
    if finding.severity is Severity.INFO:
        return
    for support in finding.evidence[:2]:
        passage = support.passage
        if passage is None:
            output.say(f"             by {support.method}: {support.graph.value}")
        else:
            quote = output.cut(passage.quote, 90)
            output.say(f"             “{quote}” — {passage.source}, {passage.start}–{passage.end}, by {support.method}")
