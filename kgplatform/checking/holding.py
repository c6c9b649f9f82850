"""Whether shapes hold: what is proven is passed over, constraints in SPARQL are run, pySHACL judges the rest.

pySHACL and rdflib are imported when there is something to judge.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from kgplatform.checking.findings import Finding
from kgplatform.checking.proving import Prover
from kgplatform.checking.scope import Facts, Instances, Scope
from kgplatform.checking.shapes import Shapes
from kgplatform.checking.sparql import constraints_hold, taken_out
from kgplatform.checking.targets import Targets
from kgplatform.checking.vocabulary import Vocabulary

_BATCH = 2000


def shapes_hold(
    instances: Instances, scope: Scope, shapes: Shapes, vocabulary: Vocabulary, *, only_violations: bool = False
) -> Iterator[Finding]:
    """The findings of the shapes about the things of the scope; ``only_violations``: others may be left out.

    Raises:
        OntologyError: a shape cannot be used.
    """
    facts = Facts(instances, vocabulary.hierarchy)
    constraints, rest = taken_out(shapes)
    targets = Targets(shapes, facts)
    things = scope.subjects
    if scope.graphs is None and not instances.is_supposed:
        things = tuple(dict.fromkeys((*things, *targets.apart())))
    if constraints:
        yield from constraints_hold(instances, things, targets, constraints, shapes)
    doubtful = Prover(rest, facts, targets, only_violations=only_violations).doubtful(things)
    while batch := list(islice(doubtful, _BATCH)):
        from kgplatform.checking.shacl import judged

        yield from judged(instances, facts, batch, rest, targets)
