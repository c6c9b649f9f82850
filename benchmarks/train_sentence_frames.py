"""Learns what the signs of filled frames weigh, from the annotated documents that the reader may learn from.

    python -m benchmarks.train_sentence_frames             cross-validated figures by threshold, document by document
    python -m benchmarks.train_sentence_frames --write     the same, and writes the weights that are shipped

Of the fillings with one object at most one is true, so they and "none" share the probability (a conditional log-linear
model); the penalty on the squares of the weights is `PENALTY`. Under a minute of processor time.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.sparse import csr_matrix

from benchmarks.reading import UNCOUNTED, Canon, reading_of, rows_of
from kgplatform.evaluation.triples import Triple
from kgplatform.extraction import sentence_frames
from kgplatform.extraction.builtin import BuiltinExtractor
from kgplatform.extraction.context import DocumentReading, Referents
from kgplatform.extraction.sentence_frames import Filling, FrameReader, FrameWeights, chosen, claim_of
from kgplatform.types import Claim, Document, Mention
from kgplatform.vocab import local_name

PENALTY, FOLDS, LEAST_SEEN, LEAST_WEIGHT = 0.7, 10, 3, 0.05
THRESHOLD, CANDIDATE = 0.5, 0.2


@dataclass(frozen=True)
class Lesson:
    """A document: its fillings with their statements, what the other ways of reading found, and what it says."""

    fillings: list[tuple[Filling, Triple]]
    other: set[Triple]
    gold: set[Triple]


def lessons() -> list[Lesson]:
    """The annotated documents, read without the frames."""
    readings: dict[str, DocumentReading] = {}
    read = BuiltinExtractor._read

    def kept(extractor: BuiltinExtractor, document: Document) -> DocumentReading:
        reading = readings[Path(document.source).stem] = read(extractor, document)
        return reading

    whole, BuiltinExtractor._read = sentence_frames.carried_weights, kept  # type: ignore[method-assign]
    sentence_frames.carried_weights = lambda: FrameWeights({}, -50.0, 1.0, 1.0)  # type: ignore[assignment]
    found = []
    try:
        rows = rows_of("train.jsonl")
        for pack in dict.fromkeys(row["ontology"] for row in rows):
            mine = [row for row in rows if row["ontology"] == pack]
            with reading_of(pack, ((f"{row['id']}.md", row["text"]) for row in mine), learns=False) as kg:
                found += [_lesson(readings[row["id"]], Canon(kg.ontology, row["also"]), row) for row in mine]
    finally:
        BuiltinExtractor._read, sentence_frames.carried_weights = read, whole  # type: ignore[method-assign]
    return found


def _lesson(reading: DocumentReading, canon: Canon, row: dict[str, Any]) -> Lesson:
    frames = FrameReader(reading, Referents(reading), reading.lexicon.forms)
    fillings = [
        (item, canon.triple(_said(claim)))
        for sentence in frames.fillings()
        for item in sentence
        if (claim := claim_of(reading, item, 1.0)) is not None
    ]
    counted = (claim for claim in reading.claims.values() if local_name(claim.predicate.value) not in UNCOUNTED)
    gold = {canon.triple(tuple(triple)) for triple in row["triples"]}
    return Lesson(fillings, {canon.triple(_said(claim)) for claim in counted}, gold)


def _said(claim: Claim) -> Triple:
    value = claim.object.name if isinstance(claim.object, Mention) else claim.object.value
    return claim.subject.name, claim.predicate.value, value


def fit(some: Sequence[Lesson], penalty: float = PENALTY) -> FrameWeights:
    """The weights that make the statements of the documents likeliest."""
    seen = Counter(sign for lesson in some for item, _ in lesson.fillings for sign in item.signs)
    numbers = {sign: number for number, sign in enumerate(sorted(s for s in seen if seen[s] >= LEAST_SEEN))}
    rows, columns, right, groups = [], [], [], []
    group = 0
    for lesson in some:
        by: dict[tuple[int, int], list[tuple[Filling, Triple]]] = defaultdict(list)
        for item, triple in lesson.fillings:
            by[item.object.start, item.object.end].append((item, triple))
        for items in by.values():
            for item, triple in items:
                known = [numbers[sign] for sign in item.signs if sign in numbers]
                rows += [len(right)] * len(known)
                columns += known
                right.append(triple in lesson.gold)
                groups.append(group)
            group += 1
    matrix = csr_matrix((np.ones(len(rows)), (rows, columns)), shape=(len(right), len(numbers)))
    turned, true, of = matrix.T.tocsr(), np.array(right, float), np.array(groups)
    told = np.bincount(of, true, group) > 0

    def loss(weights: Any) -> tuple[float, Any]:
        powers = np.exp(np.minimum(matrix @ weights[:-1] + weights[-1], 30))
        whole = 1 + np.bincount(of, powers, group)
        part = np.maximum(np.bincount(of, powers * true, group), 1e-30)
        value = np.log(whole).sum() - np.log(part[told]).sum() + penalty * (weights[:-1] ** 2).sum()
        slope = powers / whole[of] - np.where(told[of], powers * true / part[of], 0)
        return float(value), np.concatenate([turned @ slope + 2 * penalty * weights[:-1], [slope.sum()]])

    best = minimize(loss, np.zeros(len(numbers) + 1), jac=True, method="L-BFGS-B", options={"maxiter": 200}).x
    kept = {sign: round(float(best[n]), 3) for sign, n in numbers.items() if abs(best[n]) >= LEAST_WEIGHT}
    return FrameWeights(kept, round(float(best[-1]), 3), THRESHOLD, CANDIDATE)


def read_with(lesson: Lesson, weights: FrameWeights) -> list[tuple[float, Triple]]:
    """The statements of a document that the frames find, with their shares."""
    by: dict[tuple[int, int], list[Filling]] = defaultdict(list)
    triples = {id(item): triple for item, triple in lesson.fillings}
    for item, _ in lesson.fillings:
        by[item.sentence].append(item)
    return [(share, triples[id(item)]) for items in by.values() for share, item in chosen(items, weights)]


def main() -> int:
    """Prints the cross-validated figures, and writes the weights where asked to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true")
    asked = parser.parse_args()
    known = lessons()
    order = [int(n) for n in np.random.default_rng(0).permutation(len(known))]
    read: dict[int, list[tuple[float, Triple]]] = {}
    for fold in range(FOLDS):
        held = set(order[fold::FOLDS])
        weights = fit([lesson for n, lesson in enumerate(known) if n not in held])
        read |= {n: read_with(known[n], weights) for n in held}
    wanted = sum(len(lesson.gold) for lesson in known)
    for threshold in (0.3, 0.4, 0.5, 0.6, 0.7):
        said = [{triple for share, triple in read[n] if share >= threshold} for n in range(len(known))]
        for name, sets in (("frames", said), ("all", [s | one.other for s, one in zip(said, known, strict=True)])):
            found = sum(map(len, sets))
            right = sum(len(s & lesson.gold) for s, lesson in zip(sets, known, strict=True))
            figures = f"P {right / max(1, found):.3f}  R {right / wanted:.3f}  F1 {2 * right / (found + wanted):.3f}"
            print(f"from {threshold}: {name:6} {figures}  {found} read, {wanted} gold")
    if asked.write:
        weights = fit(known)
        told = {"offset": weights.offset, "threshold": THRESHOLD, "candidate": CANDIDATE, "weights": weights.weights}
        sentence_frames.WEIGHTS.write_text(json.dumps(told, ensure_ascii=False, indent=0) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
