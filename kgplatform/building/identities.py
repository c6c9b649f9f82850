"""What the workspace's things are elsewhere: kept in ``graph/identities``, and carried along by linking."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from pyoxigraph import NamedNode, Triple

from kgplatform.dataset import Change, EvidenceDataset
from kgplatform.errors import NotFoundError
from kgplatform.linking.external import EXACT_MATCH, Identities, Identity, identity_triples
from kgplatform.lookup import find_iri
from kgplatform.vocab import CORE

_FROM = NamedNode(f"{CORE}linkFrom")


@dataclass(frozen=True, slots=True)
class TakenUp:
    """The identities that were written, each with our thing, and a sentence for each that was not."""

    written: tuple[tuple[NamedNode, Identity], ...]
    problems: tuple[str, ...]


def take_up(dataset: EvidenceDataset, identities: Identities) -> TakenUp:
    """Writes identities into ``graph/identities``; one of the same thing and place gives way to the new one."""
    written: list[tuple[NamedNode, Identity]] = []
    problems = list(identities.problems)
    for identity in identities.found:
        try:
            written.append((find_iri(dataset.store, identity.name), identity))
        except NotFoundError as error:
            problems.append(str(error))
    new = identity_triples(written, dataset.base)
    about = {triple.subject for triple in new if triple.predicate != EXACT_MATCH}
    graph = dataset.identities
    kept = [item.triple for item in dataset.store.quads(graph=graph) if item.subject not in about]
    dataset.commit(Change(dropped=(graph,), added={graph: list(dict.fromkeys([*kept, *new]))}))
    return TakenUp(tuple(written), tuple(problems))


def forget(dataset: EvidenceDataset) -> int:
    """Takes all external identities out; how many there were."""
    count = sum(1 for item in dataset.store.quads(None, EXACT_MATCH, None, dataset.identities))
    dataset.commit(Change(dropped=(dataset.identities,)))
    return count


def follow(dataset: EvidenceDataset, retired: Mapping[NamedNode, NamedNode]) -> None:
    """Lets the identities of things that were taken for others be of those."""
    held = [item.triple for item in dataset.store.quads(graph=dataset.identities)] if retired else []
    if any(triple.subject in retired or triple.object in retired for triple in held):
        graph = dataset.identities
        dataset.commit(Change(dropped=(graph,), added={graph: list(dict.fromkeys(_renamed(held, retired)))}))


def _renamed(triples: Iterable[Triple], retired: Mapping[NamedNode, NamedNode]) -> Iterable[Triple]:
    for triple in triples:
        subject, value = triple.subject, triple.object
        if triple.predicate == EXACT_MATCH and isinstance(subject, NamedNode):
            subject = retired.get(subject, subject)
        if triple.predicate == _FROM and isinstance(value, NamedNode):
            value = retired.get(value, value)
        yield Triple(subject, triple.predicate, value)
