"""How `conformance` prints the results of the W3C's tests."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

from kgplatform import __version__
from kgplatform.cli import output
from kgplatform.config import load
from kgplatform.conformance.outcomes import Verdict
from kgplatform.conformance.report import earl, rows
from kgplatform.conformance.suites import Result
from kgplatform.web.conforming import EARL_FILE, JSON_FILE


def print_results(results: Sequence[Result], format_: str) -> None:
    """Prints the results as a table with what does not pass below it, as JSON, or as an EARL report in Turtle."""
    if format_ == "turtle":
        sys.stdout.buffer.write(earl(results, version=__version__, at=datetime.now(UTC)))
    elif format_ == "json":
        output.say(json.dumps({"suites": [asdict(row) for row in rows(results)], "tests": _tests(results)}, indent=1))
    else:
        _print_table(results)


def keep(results: Sequence[Result], workspace: Path) -> None:
    """Leaves the results in the workspace, for its server to show.

    Raises:
        WorkspaceError: there is no workspace.
    """
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
