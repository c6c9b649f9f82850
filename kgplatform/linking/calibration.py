"""How good linking is against names that a person sorted, and from which likeness on it links best.

A line of gold is one thing with all its names: ``{"names": ["Wuzhen", "乌镇"]}``; a thing with one name is told apart
from all others. Measured are pairs of names that both stand in the gold and are mentioned: those linked, those that
should be, and those that are both.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

from kgplatform.documents.registry import Linking
from kgplatform.json_lines import read_json_lines
from kgplatform.text import normalise

LIKENESSES = (1.0, 0.98, 0.96, 0.94, 0.92, 0.9, 0.88, 0.86, 0.84, 0.82, 0.8)
"""What is tried, from the strictest on."""


@dataclass(frozen=True, slots=True)
class Gold:
    """The names of each thing, normalised, and what is wrong with lines that are left out."""

    things: tuple[frozenset[str], ...]
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PairScore:
    """Pairs of names: how many are linked, should be, and are both; some of those that are linked or not wrongly."""

    linked: int
    wanted: int
    right: int
    wrong: tuple[tuple[str, str], ...] = ()
    missed: tuple[tuple[str, str], ...] = ()

    @property
    def precision(self) -> float:
        """The share of the linked pairs that should be; 1 where none is linked."""
        return self.right / self.linked if self.linked else 1.0

    @property
    def recall(self) -> float:
        """The share of the wanted pairs that are linked; 1 where none is wanted."""
        return self.right / self.wanted if self.wanted else 1.0

    @property
    def f1(self) -> float:
        """The harmonic mean of both."""
        both = self.precision + self.recall
        return 2 * self.precision * self.recall / both if both else 0.0


@dataclass(frozen=True, slots=True)
class Trial:
    """A likeness and how well names were linked from it on."""

    likeness: float
    score: PairScore


def read_gold(path: Path) -> Gold:
    """The things in a file of JSON Lines; a name may be of one thing only.

    Raises:
        ReadError: the file cannot be read, or none of its lines can be used.
    """
    seen: dict[str, int] = {}

    def parse(line: str, number: int) -> frozenset[str]:
        value = json.loads(line)
        names = value.get("names") if isinstance(value, dict) else None
        if not isinstance(names, list) or not names or not all(isinstance(name, str) and name for name in names):
            raise ValueError('must be {"names": ["…", …]}')
        found = frozenset(normalise(name) for name in names)
        for name in sorted(found):
            if seen.setdefault(name, number) != number:
                raise ValueError(f"{name!r} stands in line {seen[name]} too")
        return found

    things, problems = read_json_lines(path, parse, what="line of names")
    return Gold(tuple(things), tuple(problems))


def pair_score(linking: Linking, gold: Gold) -> PairScore:
    """How the linking does on the names that the gold sorts and documents mention."""
    thing = {name: number for number, names in enumerate(gold.things) for name in names}
    by_name: dict[str, set[str]] = {}
    for link in linking.names.values():
        if link.name in thing and link.method != "value":
            by_name.setdefault(link.name, set()).add(link.entity.value)
    by_entity: dict[str, set[str]] = {}
    for name, entities in by_name.items():
        for entity in entities:
            by_entity.setdefault(entity, set()).add(name)
    linked = _pairs(by_entity.values())
    wanted = _pairs(names & by_name.keys() for names in gold.things)
    right = linked & wanted
    return PairScore(
        len(linked), len(wanted), len(right), tuple(sorted(linked - wanted)), tuple(sorted(wanted - linked))
    )


def _pairs(groups: Iterable[Iterable[str]]) -> set[tuple[str, str]]:
    return {pair for group in groups for pair in combinations(sorted(group), 2)}


def trials(linked_from: Callable[[float], Linking], gold: Gold, tried: Sequence[float] = LIKENESSES) -> list[Trial]:
    """How names are linked from each likeness on; ``linked_from`` links them."""
    return [Trial(likeness, pair_score(linked_from(likeness), gold)) for likeness in tried]


def best(tried: Sequence[Trial], *, precision: float = 0.97) -> Trial:
    """The trial of highest recall among those precise enough, the strictest of equals; else the most precise."""
    enough = [trial for trial in tried if trial.score.precision >= precision]
    if enough:
        return max(enough, key=lambda trial: (trial.score.recall, trial.score.precision, trial.likeness))
    return max(tried, key=lambda trial: (trial.score.precision, trial.score.recall, trial.likeness))
