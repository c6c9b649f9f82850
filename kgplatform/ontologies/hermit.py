"""The process in which HermiT runs: ``python -m kgplatform.ontologies.hermit FILE.nt MB`` writes one line of JSON."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import owlready2

from kgplatform.vocab import OWL


def main(file: Path, memory_mb: int) -> None:
    """Writes whether the ontology is consistent, and the classes that can have no member."""
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
