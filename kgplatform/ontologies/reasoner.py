"""What a reasoner says of an ontology: whether it is consistent, and which classes can have no member.

HermiT (through owlready2) runs in a process of its own under a time limit: it needs Java, and hard ontologies take it
for ever. Datatypes outside the OWL 2 datatype map (``xsd:date``, ``xsd:gYear``) are left out of its reasoning.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import pyoxigraph as ox
from pyoxigraph import RdfFormat, Triple

from kgplatform.ontologies.issues import Grade, OntologyIssue
from kgplatform.vocab import OWL

TIMEOUT_SECONDS = 120.0


@dataclass(frozen=True, slots=True)
class Reasoned:
    """The issues that the reasoner found, or why it did not run (``skipped``)."""

    issues: tuple[OntologyIssue, ...] = ()
    skipped: str | None = None


def reason(triples: Iterable[Triple], *, timeout_seconds: float = TIMEOUT_SECONDS) -> Reasoned:
    """The inconsistency or the unsatisfiable classes that HermiT finds; never raises for an ontology."""
    if shutil.which("java") is None:
        return Reasoned(skipped="no Java on the PATH: HermiT did not run, only the structure was checked")
    # Imports are resolved already; owlready2 would fetch them.
    listed = [triple for triple in triples if triple.predicate.value != f"{OWL}imports"]
    with TemporaryDirectory(prefix="kgplatform-") as folder:
        file = Path(folder) / "ontology.nt"
        file.write_bytes(ox.serialize(listed, format=RdfFormat.N_TRIPLES) or b"")
        command = [sys.executable, "-m", "kgplatform.ontologies.hermit", str(file)]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=timeout_seconds, check=False, encoding="utf-8"
            )
        except subprocess.TimeoutExpired:
            return Reasoned(skipped=f"HermiT was stopped after {timeout_seconds:g} s; only the structure was checked")
    lines = done.stdout.splitlines()
    if done.returncode or not lines:
        reason_ = next((line for line in reversed(done.stderr.splitlines()) if line.strip()), "no reason given")
        return Reasoned(skipped=f"HermiT could not read the ontology: {reason_.strip()[:200]}")
    return Reasoned(tuple(_issues(json.loads(lines[-1]))))


def _issues(found: dict[str, object]) -> Iterable[OntologyIssue]:
    if not found["consistent"]:
        message = "contradicts itself: no data can be as it says; HermiT finds it inconsistent"
        yield OntologyIssue("inconsistent", Grade.ERROR, "the ontology", message)
    classes = found["unsatisfiable"]
    for iri in classes if isinstance(classes, list) else ():
        yield OntologyIssue(
            "unsatisfiable", Grade.ERROR, str(iri), "can have no member: its axioms contradict each other"
        )
