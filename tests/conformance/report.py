"""Results of the W3C's tests: a table of the suites, JSON, and EARL (https://www.w3.org/TR/EARL10-Schema/)."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

import pyoxigraph as ox
from pyoxigraph import BlankNode, Literal, NamedNode, RdfFormat, Triple

from kgplatform import __version__
from kgplatform.cli import output
from kgplatform.server.pages.evaluation import EARL_FILE, JSON_FILE
from kgplatform.settings import load
from kgplatform.vocab import DCTERMS, TYPE, XSD_DATETIME
from tests.conformance.manifests import Verdict
from tests.conformance.suites import Result

_EARL = "http://www.w3.org/ns/earl#"
_DOAP = "http://usefulinc.com/ns/doap#"
_PROJECT = NamedNode("https://w3id.org/kgplatform/")


@dataclass(frozen=True, slots=True)
class ReportRow:
    """A suite in numbers: tests, passed, deviating for a reason that is known, failed for none, not run."""

    suite: str
    tests: int
    passed: int
    deviating: int
    failed: int
    untested: int


def rows(results: Sequence[Result]) -> list[ReportRow]:
    """A row for each suite, in the order in which they were run."""
    found = []
    for name in dict.fromkeys(result.suite for result in results):
        of_suite = [result for result in results if result.suite == name]
        verdicts = [result.outcome.verdict for result in of_suite]
        failed = [r for r in of_suite if r.outcome.verdict is Verdict.FAILED]
        found.append(
            ReportRow(
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


def print_results(results: Sequence[Result], format_: str) -> None:
    """Prints the results as a table with what does not pass below it, as JSON, or as an EARL report in Turtle."""
    if format_ == "turtle":
        sys.stdout.buffer.write(earl(results, version=__version__, at=datetime.now(UTC)))
    elif format_ == "json":
        output.say(json.dumps({"suites": [asdict(row) for row in rows(results)], "tests": _tests(results)}, indent=1))
    else:
        _print_table(results)


def keep(results: Sequence[Result], workspace: Path) -> None:
    """Leaves the results in the workspace, for its server to show."""
    load(workspace)
    now = datetime.now(UTC)
    record = {
        "at": now.isoformat(timespec="seconds"),
        "version": __version__,
        "suites": [asdict(row) for row in rows(results)],
        "tests": _tests(results),
    }
    (workspace / JSON_FILE).write_text(json.dumps(record, ensure_ascii=False, indent=1), encoding="utf-8")
    (workspace / EARL_FILE).write_bytes(earl(results, version=__version__, at=now))


def _tests(results: Sequence[Result]) -> list[dict[str, str]]:
    return [
        {
            "suite": result.suite,
            "test": result.outcome.iri,
            "outcome": result.outcome.verdict.value,
            "reason": result.deviation or result.outcome.detail,
        }
        for result in results
    ]


def _print_table(results: Sequence[Result]) -> None:
    header = ("suite", "tests", "passed", "known not to", "failed", "not run")
    lines = [
        (row.suite, *(str(n) for n in (row.tests, row.passed, row.deviating, row.failed, row.untested)))
        for row in rows(results)
    ]
    output.table(header, lines)
    reasons = dict.fromkeys(r.deviation for r in results if r.outcome.verdict is Verdict.FAILED and r.deviation)
    for reason in reasons:
        output.say(f"\nKnown: {reason}")
        for result in results:
            if result.outcome.verdict is Verdict.FAILED and result.deviation == reason:
                output.say(f"  {result.outcome.iri}")
    for result in results:
        if result.outcome.verdict is Verdict.FAILED and not result.deviation:
            output.say(f"\nFailed: {result.outcome.iri}\n  {result.outcome.detail}")
        elif result.outcome.verdict is Verdict.PASSED and result.deviation:
            output.say(f"\nPasses by now: {result.outcome.iri}\n  was known for: {result.deviation}")
