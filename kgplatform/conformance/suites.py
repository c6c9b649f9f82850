"""Which suites there are, run one after the other: those of the protocols on a server, the others on the store."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from kgplatform.conformance import description_tests, http_tests, store_tests
from kgplatform.conformance.http_tests import Server
from kgplatform.conformance.manifest import Case, cases
from kgplatform.conformance.outcomes import Outcome, Verdict
from kgplatform.conformance.served import served
from kgplatform.errors import ConfigError, ReadError

_DEVIATIONS = Path(__file__).with_name("deviations.toml")


@dataclass(frozen=True, slots=True)
class Suite:
    """A suite: what it goes by, its manifest below the folder of the tests, and whether it needs a server."""

    name: str
    manifest: str
    needs_server: bool = False


SUITES = (
    Suite("protocol", "sparql/sparql11/protocol/manifest.ttl", needs_server=True),
    Suite("graph-store", "sparql/sparql11/graph-store-protocol/manifest.ttl", needs_server=True),
    Suite("service-description", "sparql/sparql11/service-description/manifest.ttl", needs_server=True),
    Suite("query", "sparql/sparql11/manifest-sparql11-query.ttl"),
    Suite("update", "sparql/sparql11/manifest-sparql11-update.ttl"),
    Suite("results", "sparql/sparql11/manifest-sparql11-results.ttl"),
    Suite("federation", "sparql/sparql11/manifest-sparql11-fed.ttl"),
    Suite("sparql12", "sparql/sparql12/manifest.ttl"),
)


@dataclass(frozen=True, slots=True)
class Result:
    """An outcome in the suite it was run for; ``deviation`` is why it is known not to pass, empty if it should."""

    suite: str
    outcome: Outcome
    deviation: str = ""

    @property
    def is_surprise(self) -> bool:
        """Whether the test fails although nothing says that it does, or passes although something says it does not."""
        if self.outcome.verdict is Verdict.UNTESTED:
            return False
        return (self.outcome.verdict is Verdict.FAILED) != bool(self.deviation)


def deviations() -> dict[str, str]:
    """Why tests are known not to pass, by their IRIs."""
    table = tomllib.loads(_DEVIATIONS.read_text(encoding="utf-8"))
    return {iri: group["reason"] for group in table["deviation"] for iri in group["tests"]}


def chosen(names: Iterable[str]) -> tuple[Suite, ...]:
    """The suites of those names, all if there are none.

    Raises:
        ConfigError: a name is not known.
    """
    wanted, known = list(names), {suite.name: suite for suite in SUITES}
    for name in wanted:
        if name not in known:
            raise ConfigError(f"{name!r} is no suite; there are {', '.join(known)}", setting="suite")
    return tuple(known[name] for name in wanted) or SUITES


def run(root: Path, suites: Iterable[Suite]) -> Iterator[Result]:
    """The result of every test of the suites, as each is done; ``root`` is a checkout of the W3C's rdf-tests.

    Raises:
        ReadError: there are no tests in the folder.
        KgPlatformError: the server did not start.
    """
    given, known = list(suites), deviations()
    for suite in given:
        if not (root / suite.manifest).is_file():
            raise ReadError(
                f"no {suite.manifest} there; get https://github.com/w3c/rdf-tests and name its folder", path=root
            )
    at_server = [suite for suite in given if suite.needs_server]
    if at_server:
        with served() as server:
            for suite in at_server:
                yield from _results(suite, root, partial(_over_http, server), known)
    for suite in given:
        if not suite.needs_server:
            yield from _results(suite, root, store_tests.run, known)


def _results(suite: Suite, root: Path, run_it: Callable[[Case], Outcome], known: dict[str, str]) -> Iterator[Result]:
    for case in cases(root / suite.manifest, root):
        outcome = run_it(case)
        yield Result(suite.name, outcome, known.get(outcome.iri, ""))


def _over_http(server: Server, case: Case) -> Outcome:
    if "ServiceDescriptionTest" in case.kinds:
        return description_tests.run(case, server)
    return http_tests.run(case, server)
