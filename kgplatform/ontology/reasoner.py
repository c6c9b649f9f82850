"""What a reasoner says of an ontology: whether it is consistent, and which classes can have no member.

HermiT (through owlready2) runs in a process of its own under a limit of time and memory: it needs Java, and hard
ontologies take it for ever. That process is ``python -m kgplatform.ontology.reasoner FILE.nt MB``, which writes one
line of JSON. Datatypes outside the OWL 2 datatype map (``xsd:date``, ``xsd:gYear``) are left out of its reasoning.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import pyoxigraph as ox
from pyoxigraph import RdfFormat, Triple

from kgplatform.ontology.lint import Grade, OntologyIssue
from kgplatform.vocab import OWL

TIMEOUT_SECONDS = 120.0
MEMORY_MB = 2000
MOST_TRIPLES = 500_000


@dataclass(frozen=True, slots=True)
class Reasoned:
    """The issues that the reasoner found, or why it did not run (``skipped``)."""

    issues: tuple[OntologyIssue, ...] = ()
    skipped: str | None = None


def reason(
    triples: Iterable[Triple], *, timeout_seconds: float = TIMEOUT_SECONDS, memory_mb: int = MEMORY_MB
) -> Reasoned:
    """The inconsistency or the unsatisfiable classes that HermiT finds; never raises for an ontology."""
    if shutil.which("java") is None:
        return Reasoned(skipped="no Java on the PATH: HermiT did not run, only the structure was checked")
    # Imports are resolved already; owlready2 would fetch them.
    listed = [triple for triple in triples if triple.predicate.value != f"{OWL}imports"]
    if len(listed) > MOST_TRIPLES:
        return Reasoned(skipped=f"{len(listed):,} triples are too many for HermiT; only the structure was checked")
    with TemporaryDirectory(prefix="kgplatform-") as folder:
        file = Path(folder) / "ontology.nt"
        file.write_bytes(ox.serialize(listed, format=RdfFormat.N_TRIPLES) or b"")
        command = [sys.executable, "-m", "kgplatform.ontology.reasoner", str(file), str(memory_mb)]
        try:
            status, out, err = _run(command, timeout_seconds)
        except subprocess.TimeoutExpired:
            return Reasoned(skipped=f"HermiT was stopped after {timeout_seconds:g} s; only the structure was checked")
    lines = out.splitlines()
    if "OutOfMemoryError" in err:
        return Reasoned(skipped=f"HermiT needs more than {memory_mb} MB; only the structure was checked")
    if status or not lines:
        reason_ = next((line for line in reversed(err.splitlines()) if line.strip()), "no reason given")
        return Reasoned(skipped=f"HermiT could not read the ontology: {reason_.strip()[:200]}")
    return Reasoned(tuple(_issues(json.loads(lines[-1]))))


def _run(command: list[str], timeout_seconds: float) -> tuple[int, str, str]:
    """Status and output of the command; it and what it started are ended when the time is over."""
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8", start_new_session=True
    ) as process:
        try:
            out, err = process.communicate(timeout=timeout_seconds)
        except BaseException:  # also when the user interrupts: Java would go on by itself
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            raise
    return process.returncode, out, err


def _issues(found: dict[str, object]) -> Iterable[OntologyIssue]:
    if not found["consistent"]:
        message = "contradicts itself: no data can be as it says; HermiT finds it inconsistent"
        yield OntologyIssue("inconsistent", Grade.ERROR, "the ontology", message)
    classes = found["unsatisfiable"]
    for iri in classes if isinstance(classes, list) else ():
        yield OntologyIssue(
            "unsatisfiable", Grade.ERROR, str(iri), "can have no member: its axioms contradict each other"
        )


def main(file: Path, memory_mb: int) -> None:
    """Writes whether the ontology is consistent, and the classes that can have no member."""
    import owlready2

    owlready2.reasoning.JAVA_MEMORY = memory_mb
    world = owlready2.World()
    world.get_ontology(file.as_uri()).load()
    consistent, found = True, set()
    try:
        owlready2.sync_reasoner_hermit(world, debug=0, ignore_unsupported_datatypes=True)
        found = {term.iri for term in world.inconsistent_classes()} - {f"{OWL}Nothing"}
    except owlready2.OwlReadyInconsistentOntologyError:
        consistent = False
    sys.stdout.write(json.dumps({"consistent": consistent, "unsatisfiable": sorted(found)}) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
