"""How a dual-level retrieval is done."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DualOptions:
    """Limits and thresholds; likeness is 0..1.

    ``clues``: how many at most, more than ``clue`` like the question (0: none). ``things``: how many targets, more than
    ``thing`` like a low-level keyword. ``longest`` path that may tie two of them, in relations (None: any).
    ``relation``: how like the keywords a relation must be, ``pruned`` the most that count as such, ``relations`` how
    many the global way takes. ``tokens`` of each block of context. ``subgraph`` off: what is next to the targets.
    ``compatible``: as the public code does it.
    """

    clues: int = 20
    clue: float = 0.4
    things: int = 20
    thing: float = 0.5
    longest: int | None = 4
    relations: int = 60
    relation: float = 0.3
    pruned: int = 180
    tokens: int = 4_000
    subgraph: bool = True
    compatible: bool = False
