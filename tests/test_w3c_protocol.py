"""The W3C's tests of the protocols, sent to a real server: SPARQL 1.1 Protocol, Graph Store Protocol, description."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from kgplatform.conformance import description_tests, http_tests
from kgplatform.conformance.http_tests import Server
from kgplatform.conformance.manifest import Case, cases
from kgplatform.conformance.outcomes import Verdict
from kgplatform.conformance.served import served

SUITES = {"protocol": 34, "graph-store-protocol": 13, "service-description": 3}


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with served() as made:
        yield made


@cache
def listed(root: Path, suite: str) -> tuple[Case, ...]:
    return tuple(cases(root / "sparql" / "sparql11" / suite / "manifest.ttl", root, suite))


@pytest.mark.parametrize(("suite", "number"), [(name, i) for name, count in SUITES.items() for i in range(count)])
def test_w3c(server: Server, test_data: Path, suite: str, number: int) -> None:
    root = test_data / "w3c-rdf-tests"
    if not root.is_dir():
        pytest.skip(f"no folder {root}")
    case = listed(root, suite)[number]
    run = description_tests.run if suite == "service-description" else http_tests.run
    outcome = run(case, server)
    assert outcome.verdict is Verdict.PASSED, f"{outcome.iri}: {outcome.detail}"


@pytest.mark.parametrize("suite", SUITES)
def test_no_test_of_the_suite_is_left_out(test_data: Path, suite: str) -> None:
    root = test_data / "w3c-rdf-tests"
    if not root.is_dir():
        pytest.skip(f"no folder {root}")
    assert len(listed(root, suite)) == SUITES[suite]
