"""Findings as JSON values and as a SHACL validation report (https://www.w3.org/TR/shacl/#validation-report)."""

from __future__ import annotations

from collections.abc import Iterator

import pyoxigraph as ox
from pyoxigraph import BlankNode, Literal, NamedNode, RdfFormat, Triple

from kgplatform.checking.findings import CheckReport, Finding, Support
from kgplatform.types import Term
from kgplatform.vocab import CORE, PREFIXES, PROV, SH, TYPE, XSD_BOOLEAN

_SEVERITY = {"violation": "Violation", "warning": "Warning", "info": "Info"}


def as_json(report: CheckReport) -> dict[str, object]:
    """The report as JSON values: counts, repairs, and each finding with statements, passages and methods."""
    return {
        "conforms": report.conforms,
        "violations": report.violations,
        "checked": report.checked,
        "seconds": round(report.seconds, 3),
        "counts": {kind.value: count for kind, count in sorted(report.counts.items())},
        "repaired": list(report.repaired),
        "findings": [finding_json(finding) for finding in report.findings],
    }


def finding_json(finding: Finding) -> dict[str, object]:
    """A finding as JSON values."""
    return {
        "kind": finding.kind.value,
        "severity": finding.severity.value,
        "focus": _text(finding.focus),
        "path": finding.path.value if finding.path else None,
        "value": str(finding.value) if finding.value is not None else None,
        "message": finding.message,
        "messages": {item.language or "": item.value for item in finding.messages},
        "shape": finding.shape,
        "constraint": finding.constraint or None,
        "fixable": finding.fixable,
        "statements": [str(triple) for triple in finding.statements],
        "evidence": [_support(support) for support in finding.evidence],
    }


def _text(term: Term) -> str:
    return term.value if isinstance(term, NamedNode) else str(term)


def _support(support: Support) -> dict[str, object]:
    found: dict[str, object] = {
        "statement": str(support.triple),
        "graph": support.graph.value,
        "method": support.method,
    }
    passage = support.passage
    if passage is not None:
        found |= {
            "document": passage.document.value,
            "source": passage.source,
            "title": passage.title,
            "quote": passage.quote,
            "start": passage.start,
            "end": passage.end,
        }
    return found


def as_turtle(report: CheckReport) -> bytes:
    """The report as a SHACL validation report in Turtle, each result derived from the graphs of its statements.

    Checks that are no SHACL constraints have a component ``urn:kgplatform:check:<kind>``.
    """
    prefixes = {**PREFIXES, "sh": SH}
    return ox.serialize(report_triples(report), format=RdfFormat.TURTLE, prefixes=prefixes) or b""


def report_triples(report: CheckReport) -> list[Triple]:
    """The validation report as triples."""
    node = BlankNode("report")
    conforms = Literal(str(report.conforms).lower(), datatype=XSD_BOOLEAN)
    found = [Triple(node, TYPE, _sh("ValidationReport")), Triple(node, _sh("conforms"), conforms)]
    for number, finding in enumerate(report.findings):
        result = BlankNode(f"result{number}")
        found.append(Triple(node, _sh("result"), result))
        found.extend(_result(result, finding))
    return found


def _result(node: BlankNode, finding: Finding) -> Iterator[Triple]:
    component = (
        _sh(f"{finding.constraint}ConstraintComponent")
        if finding.constraint
        else NamedNode(f"urn:kgplatform:check:{finding.kind.value}")
    )
    yield Triple(node, TYPE, _sh("ValidationResult"))
    yield Triple(node, _sh("focusNode"), finding.focus)
    yield Triple(node, _sh("resultSeverity"), _sh(_SEVERITY[finding.severity.value]))
    yield Triple(node, _sh("sourceConstraintComponent"), component)
    for message in finding.messages or (Literal(finding.message, language="en"),):
        yield Triple(node, _sh("resultMessage"), message)
    if finding.path is not None:
        yield Triple(node, _sh("resultPath"), finding.path)
    if finding.value is not None:
        yield Triple(node, _sh("value"), finding.value)
    if finding.shape is not None:
        yield Triple(node, _sh("sourceShape"), NamedNode(finding.shape))
    for support in dict.fromkeys((item.graph, item.method) for item in finding.evidence):
        yield Triple(node, NamedNode(f"{PROV}wasDerivedFrom"), support[0])
    for method in dict.fromkeys(item.method for item in finding.evidence):
        yield Triple(node, NamedNode(f"{CORE}method"), Literal(method))


def _sh(name: str) -> NamedNode:
    return NamedNode(f"{SH}{name}")
