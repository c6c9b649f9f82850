"""Results for a reader and for machines: a table of the suites, and EARL (https://www.w3.org/TR/EARL10-Schema/)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

import pyoxigraph as ox
from pyoxigraph import BlankNode, Literal, NamedNode, RdfFormat, Triple

from kgplatform.conformance.outcomes import Verdict
from kgplatform.conformance.suites import Result
from kgplatform.vocab import DCTERMS, TYPE, XSD_DATETIME

_EARL = "http://www.w3.org/ns/earl#"
_DOAP = "http://usefulinc.com/ns/doap#"
_PROJECT = NamedNode("https://w3id.org/kgplatform/")


@dataclass(frozen=True, slots=True)
class Row:
    """A suite in numbers: tests, passed, deviating for a reason that is known, failed for none, not run."""

    suite: str
    tests: int
    passed: int
    deviating: int
    failed: int
    untested: int


def rows(results: Sequence[Result]) -> list[Row]:
    """A row for each suite, in the order in which they were run."""
    found = []
    for name in dict.fromkeys(result.suite for result in results):
        of_suite = [result for result in results if result.suite == name]
        verdicts = [result.outcome.verdict for result in of_suite]
        failed = [r for r in of_suite if r.outcome.verdict is Verdict.FAILED]
        found.append(
            Row(
                name,
                tests=len(of_suite),
                passed=verdicts.count(Verdict.PASSED),
                deviating=sum(bool(r.deviation) for r in failed),
                failed=sum(not r.deviation for r in failed),
                untested=verdicts.count(Verdict.UNTESTED),
            )
        )
    return found


def earl(results: Iterable[Result], *, version: str, at: datetime) -> bytes:
    """The results as an EARL report in Turtle."""
    prefixes = {"earl": _EARL, "doap": _DOAP, "dcterms": DCTERMS}
    return ox.serialize(_triples(results, version, at), format=RdfFormat.TURTLE, prefixes=prefixes) or b""


def _earl(name: str) -> NamedNode:
    return NamedNode(f"{_EARL}{name}")


def _triples(results: Iterable[Result], version: str, at: datetime) -> Iterator[Triple]:
    release = BlankNode("release")
    yield Triple(_PROJECT, TYPE, NamedNode(f"{_DOAP}Project"))
    yield Triple(_PROJECT, TYPE, _earl("TestSubject"))
    yield Triple(_PROJECT, TYPE, _earl("Software"))
    yield Triple(_PROJECT, NamedNode(f"{_DOAP}name"), Literal("kgplatform"))
    yield Triple(_PROJECT, NamedNode(f"{_DOAP}release"), release)
    yield Triple(release, NamedNode(f"{_DOAP}revision"), Literal(version))
    date = Literal(at.isoformat(timespec="seconds"), datatype=XSD_DATETIME)
    for number, item in enumerate(results):
        node, result = BlankNode(f"assertion{number}"), BlankNode(f"result{number}")
        yield Triple(node, TYPE, _earl("Assertion"))
        yield Triple(node, _earl("assertedBy"), _PROJECT)
        yield Triple(node, _earl("subject"), _PROJECT)
        yield Triple(node, _earl("mode"), _earl("automatic"))
        yield Triple(node, _earl("test"), NamedNode(item.outcome.iri))
        yield Triple(node, _earl("result"), result)
        yield Triple(result, TYPE, _earl("TestResult"))
        yield Triple(result, _earl("outcome"), _earl(item.outcome.verdict.value))
        yield Triple(result, NamedNode(f"{DCTERMS}date"), date)
        if item.outcome.verdict is not Verdict.PASSED:
            yield Triple(result, _earl("info"), Literal(item.deviation or item.outcome.detail, language="en"))
