"""``link external``: identities from a table or a reconciliation service."""

from __future__ import annotations

import argparse
from pathlib import Path

from kgplatform.building.identities import take_up
from kgplatform.cli import output
from kgplatform.documents.web import is_address
from kgplatform.graph import KnowledgeGraph
from kgplatform.linking.external import Reconciler, read_identities

_DONE, _SHORT = 0, 1
_MOST_SHOWN = 20


def run(given: argparse.Namespace) -> int:
    """Takes identities up; 1 where a line or name could not be used."""
    with KnowledgeGraph.open(given.workspace) as kg:
        if is_address(given.source):
            names = sorted({word.text for entity in kg.registry.linking().entities.values() for word in entity.labels})
            timeout = kg.settings.documents.web_timeout_seconds
            identities = Reconciler(given.source, given.type, given.least, timeout).ask(names)
        else:
            identities = read_identities(Path(given.source))
        taken = take_up(kg.dataset, identities)
        kg.build("infer")
    if given.format == "json":
        output.as_json(
            {
                "written": [
                    {"entity": iri.value, "name": item.name, "same": item.target.value, "score": item.score}
                    for iri, item in taken.written
                ],
                "problems": list(taken.problems),
            }
        )
    else:
        for _, item in taken.written[:_MOST_SHOWN]:
            output.say(f"{item.name}  =  {item.target.value}  ({item.score:.2f})")
        for problem in taken.problems[:_MOST_SHOWN]:
            output.note(problem)
        output.note(f"{len(taken.written)} identities, {len(taken.problems)} not taken")
    return _SHORT if taken.problems and not taken.written else _DONE
