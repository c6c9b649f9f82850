"""How good a ranking is: what share of the gold it holds, how early, how purely.

``ranked`` are the ids that a method returned, best first; ``gold`` those that are right. A gold set that is empty
has nothing to find: recall counts 1, the others 0.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Sequence


def recall_at(ranked: Sequence[Hashable], gold: Collection[Hashable], k: int) -> float:
    """The share of the gold among the first k: |gold in top k| / |gold|."""
    wanted = set(gold)
    return len(wanted & set(ranked[:k])) / len(wanted) if wanted else 1.0


def all_at(ranked: Sequence[Hashable], gold: Collection[Hashable], k: int) -> float:
    """1 if every gold item is among the first k, else 0."""
    return float(set(gold) <= set(ranked[:k]))


def precision_at(ranked: Sequence[Hashable], gold: Collection[Hashable], k: int) -> float:
    """The share of the first k that is gold; fewer than k were returned: of those."""
    top = ranked[:k]
    return sum(item in gold for item in top) / len(top) if top else 0.0


def context_precision(ranked: Sequence[Hashable], gold: Collection[Hashable], k: int) -> float:
    """How early the gold comes: sum over ranks i <= k of precision@i * v_i, divided by the gold items in the top k.

    v_i is 1 where the item at rank i is gold. Source: the travel study, equation 11 (as in the RAGAS framework,
    Es et al. 2024).
    """
    found, total = 0, 0.0
    for place, item in enumerate(ranked[:k], start=1):
        if item in gold:
            found += 1
            total += found / place
    return total / found if found else 0.0


def reciprocal_rank(ranked: Sequence[Hashable], gold: Collection[Hashable]) -> float:
    """1 / rank of the first gold item; 0 if there is none. Its mean over questions is MRR (Voorhees 1999)."""
    return next((1 / place for place, item in enumerate(ranked, start=1) if item in gold), 0.0)


def ndcg_at(ranked: Sequence[Hashable], gold: Collection[Hashable], k: int) -> float:
    """DCG@k / ideal DCG@k with gains of 0 and 1: DCG = sum of gain_i / log2(i + 1).

    Source: Järvelin and Kekäläinen 2002.
    """
    gained = sum(1 / math.log2(place + 1) for place, item in enumerate(ranked[:k], start=1) if item in gold)
    ideal = sum(1 / math.log2(place + 1) for place in range(1, min(k, len(set(gold))) + 1))
    return gained / ideal if ideal else 0.0
