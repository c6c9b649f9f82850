"""Retrievers side by side on the same questions: what share of the gold they find, how early, at what cost.

A gold line names what should be found: ``documents`` (titles, sources or IRIs) or ``quotes`` (words that a passage must
hold). A hit that covers a gold item counts once for it; the first that does so counts.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from kgplatform.evaluation.ranking import all_at, context_precision, ndcg_at, recall_at, reciprocal_rank
from kgplatform.evaluation.statistics import Comparison, Estimate, compare, estimate
from kgplatform.json_lines import id_of, read_json_lines
from kgplatform.text import count_tokens, normalise, sentences
from kgplatform.types import Evidence


@dataclass(frozen=True, slots=True)
class GoldPassages:
    """A question and what should be found for it."""

    id: str
    text: str
    documents: tuple[str, ...]
    quotes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RetrievalScores:
    """The scores of one question, and the seconds and tokens it took."""

    recall: float
    complete: float
    reciprocal_rank: float
    ndcg: float
    precision: float
    seconds: float
    tokens: int
    context_recall: float = 0.0


@dataclass(frozen=True, slots=True)
class RetrieverReport:
    """How one retriever did; ``against_best`` compares its recall with the best one's, None for the best itself.

    ``context_recall`` is the share of the gold quotes that the passages say (of the gold documents, where a question
    has no quotes), ``recalls`` the recall of each question, in their order.
    """

    name: str
    recall: Estimate
    complete: Estimate
    reciprocal_rank: Estimate
    ndcg: Estimate
    precision: Estimate
    tokens: float
    seconds: tuple[float, float]
    against_best: Comparison | None
    context_recall: Estimate
    recalls: tuple[float, ...]


def read_gold_passages(path: Path) -> tuple[list[GoldPassages], list[str]]:
    """The usable lines of a file, and a sentence for each that is not.

    Raises:
        ReadError: the file cannot be read, or no line of it can be used.
    """
    seen: set[str] = set()

    def parse(line: str, number: int) -> GoldPassages:
        gold = _gold(line, number)
        if gold.id in seen:
            raise ValueError(f"the id {gold.id!r} occurs twice")
        seen.add(gold.id)
        return gold

    return read_json_lines(path, parse, what="question")


def _gold(line: str, number: int) -> GoldPassages:
    try:
        item = json.loads(line)
    except (json.JSONDecodeError, RecursionError) as error:
        raise ValueError("is not JSON") from error
    if not isinstance(item, dict) or not isinstance(item.get("question"), str) or not item["question"].strip():
        raise ValueError("has no question")
    documents, quotes = (_strings(item.get(key, []), key) for key in ("documents", "quotes"))
    if not documents and not quotes:
        raise ValueError("has neither documents nor quotes")
    return GoldPassages(id_of(item, number), item["question"], documents, quotes)


def _strings(value: object, key: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(part, str) and part.strip() for part in value):
        raise ValueError(f"{key} is not a list of texts")
    return tuple(dict.fromkeys(value))


def score_hits(gold: GoldPassages, hits: Sequence[Evidence], k: int, seconds: float = 0.0) -> RetrievalScores:
    """The scores of what was found for one question, best first, cut at ``k``."""
    wanted = [*(("document", item) for item in gold.documents), *(("quote", item) for item in gold.quotes)]
    left = dict.fromkeys(wanted)
    ranked: list[tuple[str, str]] = []
    for place, hit in enumerate(hits[:k]):
        covered = [item for item in left if _covers(hit, *item)]
        ranked.extend(covered or [("", str(place))])
        for item in covered:
            del left[item]
    depth = len(ranked)  # a hit that covers two gold items takes two places, so depth may be above k
    return RetrievalScores(
        recall=recall_at(ranked, wanted, depth),
        complete=all_at(ranked, wanted, depth),
        reciprocal_rank=reciprocal_rank(ranked, wanted),
        ndcg=ndcg_at(ranked, wanted, depth),
        precision=context_precision(ranked, wanted, depth),
        seconds=seconds,
        tokens=sum(count_tokens(hit.quote) for hit in hits[:k]),
        context_recall=_context_recall(gold, hits[:k]),
    )


def _context_recall(gold: GoldPassages, hits: Sequence[Evidence]) -> float:
    """|A| / |T|: the share of what the answer rests on that the passages say; a quote may lie across two of them.

    Source: the travel study, equation 12 (as in the RAGAS framework, Es et al. 2024), with gold in place of a judge.
    """
    if not gold.quotes:
        return sum(any(_covers(hit, "document", item) for hit in hits) for item in gold.documents) / len(gold.documents)
    return sum(_said(quote, hits) for quote in gold.quotes) / len(gold.quotes)


def _said(quote: str, hits: Sequence[Evidence]) -> bool:
    if any(_covers(hit, "quote", quote) for hit in hits):
        return True
    parts = [quote[start:end] for start, end in sentences(quote) if normalise(quote[start:end])]
    return len(parts) > 1 and all(any(_covers(hit, "quote", part) for hit in hits) for part in parts)


def _covers(hit: Evidence, kind: str, item: str) -> bool:
    if kind == "document":
        return item in (hit.title, hit.source, hit.document.value, Path(hit.source).name)
    wanted, said = normalise(item), normalise(hit.quote)
    return wanted in said or (len(said) > 20 and said in wanted)


def compare_retrievers(
    questions: Sequence[GoldPassages],
    names: Iterable[str],
    search: Callable[[str, int, str], Sequence[Evidence]],
    *,
    k: int,
    progress: Callable[[int, int, str], None] | None = None,
) -> tuple[RetrieverReport, ...]:
    """A report for each retriever, best recall first.

    Raises:
        ConfigError: there is no retriever of a name.
        ModelUnavailableError: one needs a model that cannot be used.
    """
    chosen = list(dict.fromkeys(names))
    scores: dict[str, list[RetrievalScores]] = {}
    for number, name in enumerate(chosen):
        search(questions[0].text, k, name)  # what a retriever makes when first used is no part of its time
        for place, gold in enumerate(questions):
            if progress:
                progress(number * len(questions) + place + 1, len(chosen) * len(questions), name)
            started = time.perf_counter()
            hits = search(gold.text, k, name)
            scores.setdefault(name, []).append(score_hits(gold, hits, k, time.perf_counter() - started))
    best = max(chosen, key=lambda name: sum(score.recall for score in scores[name]))
    reports = [_report(name, scores[name], None if name == best else scores[best]) for name in chosen]
    return tuple(sorted(reports, key=lambda report: -report.recall.value))


def _report(name: str, scores: Sequence[RetrievalScores], best: Sequence[RetrievalScores] | None) -> RetrieverReport:
    times = sorted(score.seconds for score in scores)
    recalls = [score.recall for score in scores]
    return RetrieverReport(
        name=name,
        recall=estimate(recalls),
        complete=estimate([score.complete for score in scores]),
        reciprocal_rank=estimate([score.reciprocal_rank for score in scores]),
        ndcg=estimate([score.ndcg for score in scores]),
        precision=estimate([score.precision for score in scores]),
        tokens=sum(score.tokens for score in scores) / len(scores),
        seconds=(times[len(times) // 2], times[min(len(times) - 1, int(len(times) * 0.95))]),
        against_best=compare(recalls, [score.recall for score in best]) if best else None,
        context_recall=estimate([score.context_recall for score in scores]),
        recalls=tuple(recalls),
    )
