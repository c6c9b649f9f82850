"""Words of one family: "smoke" and smoker, "director" and directed by, "diagnosed" and diagnosis."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

_ENDINGS = frozenset(
    "er or r ion ation ition tion ment al ous y ie ry iv ance ence ist ship ness ity ant ent able i is ive ure".split()  # noqa: SIM905
)
_AGENTS = frozenset(("er", "or", "r"))
_OPENING = 3
_SHORTEST = 4
_LONG = 7
"""So many letters in common are enough whatever follows: "prescribed" and prescription."""


def by_opening(stems: Iterable[str]) -> Mapping[str, tuple[str, ...]]:
    """The Latin stems by their first letters."""
    found: dict[str, list[str]] = defaultdict(list)
    for stem in stems:
        if len(stem) >= _OPENING and stem.isascii() and stem.isalpha():
            found[stem[:_OPENING]].append(stem)
    return {opening: tuple(listed) for opening, listed in found.items()}


def related(stem: str, known: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    """The stems of the same family as one, those that share most letters first.

    >>> related("director", by_opening(("direct", "dire", "direction")))
    ('direct',)
    """
    found = [(common, other) for other in known.get(stem[:_OPENING], ()) if (common := _shared(stem, other))]
    return tuple(other for _, other in sorted(found, key=lambda item: (-item[0], item[1])))


def _shared(one: str, other: str) -> int:
    """How many letters two stems of a family share; 0 if they are of none."""
    if one == other:
        return 0
    common = next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    rests = (one[common:], other[common:])
    if "" in rests:
        rest = rests[0] or rests[1]
        return common if rest in _AGENTS or (common >= _SHORTEST and rest in _ENDINGS) else 0
    return common if common >= _LONG and 2 * common > max(len(one), len(other)) else 0
