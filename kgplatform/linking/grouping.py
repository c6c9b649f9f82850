"""From pairs to groups: the surest pairs first, and none that would put together what cannot be one thing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, field

from pyoxigraph import NamedNode

from kgplatform.documents.decisions import Apart
from kgplatform.documents.registry import NameKey
from kgplatform.linking.candidates import Candidates, Pair
from kgplatform.linking.names import Name, Names, sort_key
from kgplatform.linking.wording import directions
from kgplatform.text import normalise


@dataclass
class Group:
    """Names of one thing with what they say of it, and the pairs that brought them together."""

    names: list[Name]
    types: set[NamedNode]
    known: set[NamedNode]
    codes: frozenset[str]
    directions: dict[bool, frozenset[str]]
    texts: set[str]
    tied: list[tuple[str, Set[str]]]
    keys: dict[NamedNode, frozenset[str]]
    apart: set[str]
    pairs: list[Pair] = field(default_factory=list)


def grouped(names: Names, candidates: Candidates, apart: Iterable[Apart] = ()) -> list[Group]:
    """The groups that the candidates make, one for each thing, in the order of their first names.

    Names that a person decided to keep ``apart`` are in no group together, whatever speaks for it.
    """
    decided: dict[str, set[str]] = {}
    for pair in apart:
        decided.setdefault(pair.first, set()).add(pair.second)
        decided.setdefault(pair.second, set()).add(pair.first)
    group_of = {name.key: _alone(name, names, candidates, decided) for name in names}
    _join_known(names, group_of)
    for candidate in candidates.pairs():
        first, second = group_of[candidate.first], group_of[candidate.second]
        if first is not second and not _in_conflict(first, second, candidates):
            first.pairs.append(candidate)
            _merge(first, second, group_of)
    distinct = {id(group): group for group in group_of.values()}.values()
    for group in distinct:
        group.names.sort(key=lambda name: sort_key(name.key))
    return sorted(distinct, key=lambda group: sort_key(group.names[0].key))


def _alone(name: Name, names: Names, candidates: Candidates, decided: Mapping[str, set[str]]) -> Group:
    keys: dict[NamedNode, frozenset[str]] = {}
    for predicate, value in name.keys:
        keys[predicate] = keys.get(predicate, frozenset()) | {normalise(value)}
    return Group(
        names=[name],
        types={name.key[0], name.type},
        known={name.known} if name.known else set(),
        codes=candidates.codes.own(name),
        directions={name.is_chinese: directions(name.text)},
        texts={name.text},
        tied=[(name.text, around)] if (around := names.within.get(name.text)) else [],
        keys=keys,
        apart=set(decided.get(name.text, ())),
    )


def _join_known(names: Names, group_of: dict[NameKey, Group]) -> None:
    """Puts together the names that the graph itself gives to one entity, whatever they look like."""
    first: dict[NamedNode, NameKey] = {}
    for name in names:
        if name.known is None:
            continue
        other = first.setdefault(name.known, name.key)
        if group_of[other].apart & group_of[name.key].texts:
            group_of[name.key].known.clear()  # a person knows better
        elif other != name.key:
            group_of[other].pairs.append(Pair(other, name.key, 1.0, "known"))
            _merge(group_of[other], group_of[name.key], group_of)


def _in_conflict(first: Group, second: Group, candidates: Candidates) -> bool:
    if first.known and second.known and first.known != second.known:
        return True
    if first.texts & second.apart or _is_tied(first, second):
        return True  # a person said so; what lies in something is not that
    if first.codes and second.codes and not first.codes & second.codes:
        return True
    if any(not ours & second.keys[key] for key, ours in first.keys.items() if key in second.keys):
        return True
    if any(
        ours and theirs and ours != theirs
        for script, ours in first.directions.items()
        for theirs in (second.directions.get(script, frozenset()),)
    ):
        return True
    return any(candidates.kinship.disjoint(a, b) for a in first.types for b in second.types)


def _is_tied(first: Group, second: Group) -> bool:
    """Whether a name of the second is tied to one of the first; a town's ties are not copied, for there are many."""
    return any(text in around for own, around in second.tied for text in first.texts if text != own)


def _merge(first: Group, second: Group, group_of: dict[NameKey, Group]) -> None:
    first.names += second.names
    first.pairs += second.pairs
    first.types |= second.types
    first.known |= second.known
    first.codes |= second.codes
    first.texts |= second.texts
    first.tied += second.tied
    first.apart |= second.apart
    for key, values in second.keys.items():
        first.keys[key] = first.keys.get(key, frozenset()) | values
    for script, found in second.directions.items():
        first.directions[script] = first.directions.get(script, frozenset()) | found
    for name in second.names:
        group_of[name.key] = first


def ways_from(start: NameKey, pairs: Iterable[Pair]) -> Mapping[NameKey, tuple[float, str]]:
    """For each name that the pairs tie to ``start``: score and method of the weakest pair on the way."""
    beside: dict[NameKey, list[tuple[NameKey, Pair]]] = {}
    for pair in pairs:
        beside.setdefault(pair.first, []).append((pair.second, pair))
        beside.setdefault(pair.second, []).append((pair.first, pair))
    found: dict[NameKey, tuple[float, str]] = {start: (1.0, "exact")}
    waiting = [start]
    while waiting:
        here = waiting.pop()
        for there, pair in beside.get(here, []):
            if there not in found:
                found[there] = min(found[here], (pair.score, pair.method), key=lambda way: way[0])
                waiting.append(there)
    return found
