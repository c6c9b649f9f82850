"""Learns what the signs of filled frames weigh, from the annotated documents that the reader may learn from.

    python -m benchmarks.train_sentence_frames             cross-validated figures by threshold, document by document
    python -m benchmarks.train_sentence_frames --write     the same, and writes the weights that are shipped

Of the fillings with one object at most one is true, so they and "none" share the probability (a conditional log-linear
model); the penalty on the squares of the weights is `PENALTY`. Some fifteen minutes of processor time.
"""

from __future__ import annotations

import argparse
import json
import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch
from safetensors.numpy import save_file
from scipy.optimize import minimize
from scipy.sparse import csr_matrix

from benchmarks.reading import UNCOUNTED, Canon, Row, ontology_of, reading_of, rows_of
from kgplatform.evaluation.triples import Triple
from kgplatform.extraction import context, sentence_frames, spans
from kgplatform.extraction.builtin import BuiltinExtractor
from kgplatform.extraction.context import DocumentReading, Referents, sentence_spans
from kgplatform.extraction.han_tagger import carried_tagger
from kgplatform.extraction.learnt.features import plain
from kgplatform.extraction.learnt.frames import packed
from kgplatform.extraction.sentence_frames import Filling, FrameReader, FrameWeights, chosen, claim_of
from kgplatform.extraction.spans import ClassLabels, SeenStretches, SpanNetwork, seen_stretches
from kgplatform.graph import KnowledgeGraph
from kgplatform.ontology.schema import Ontology
from kgplatform.text import has_han
from kgplatform.types import Claim, Document, Mention
from kgplatform.vocab import local_name

PENALTY, FOLDS, LEAST_SEEN, LEAST_WEIGHT = 0.7, 4, 4, 0.05
WIDTH, EPOCHS, CLASS_WIDTH, CLASS_EPOCHS = 48, 6, 48, 30
THRESHOLD, CANDIDATE = 0.45, 0.15


# Which stretches name something


@dataclass(frozen=True)
class SeenDocument:
    """The stretches of a document, sentence by sentence, which of them name something, and of what class.

    ``classes``: the number of each stretch's class among the rows of ``labels``; -1: none is said.
    """

    sentences: list[tuple[SeenStretches, Any]]
    labels: Any
    classes: list[list[int]]


def seen_of(row: Row, labels: ClassLabels) -> SeenDocument:
    """The stretches of a document, and what the annotation says of them."""
    text = row["text"]
    forms = {name for name, _ in row["names"]} | {form for forms in row["also"].values() for form in forms}
    forms |= {form for subject, _, value in row["triples"] for form in (subject, value) if form in text}
    keys = {plain(form) for form in forms if not re.fullmatch(r"[\d.:+-]+", form)}
    tagged = carried_tagger().names(text) if has_han(text) else []
    found = (seen_stretches(text, start, end, tagged) for start, end in sentence_spans(text))
    numbers = {local_name(iri.value): n for n, iri in enumerate(labels.classes)}
    named = [(form, class_) for name, class_ in row["names"] for form in (name, *row["also"].get(name, ()))]
    of = {plain(form): numbers.get(class_, -1) for form, class_ in named}
    told = [(seen, np.array([item.key in keys for item in seen.stretches], float)) for seen in found if seen]
    return SeenDocument(told, labels.rows, [[of.get(item.key, -1) for item in seen.stretches] for seen, _ in told])


def fit_classes(some: Sequence[SeenDocument]) -> dict[str, Any]:
    """The matrices that tell the class of a name."""
    torch.manual_seed(0)
    lessons_ = []
    for document in some:
        told = zip(document.sentences, document.classes, strict=True)
        known = [(seen, n, class_) for (seen, _), said in told for n, class_ in enumerate(said) if class_ >= 0]
        if known:
            vectors = torch.tensor(np.stack([seen.vectors[n] for seen, n, _ in known]), dtype=torch.float32)
            signs = torch.tensor(np.stack([seen.signs[n] for seen, n, _ in known]), dtype=torch.float32)
            classes = torch.tensor([class_ for _, _, class_ in known])
            lessons_.append((vectors, signs, torch.tensor(document.labels, dtype=torch.float32), classes))
    words = torch.nn.Linear(lessons_[0][0].shape[1], CLASS_WIDTH)
    form = torch.nn.Linear(lessons_[0][1].shape[1], CLASS_WIDTH, bias=False)
    label = torch.nn.Linear(lessons_[0][2].shape[1], CLASS_WIDTH, bias=False)
    weights = [*words.parameters(), *form.parameters(), *label.parameters()]
    steps = torch.optim.AdamW(weights, lr=2e-3, weight_decay=0.05)
    drop = torch.nn.functional.dropout
    for _ in range(CLASS_EPOCHS):
        for n in torch.randperm(len(lessons_)):
            vectors_, signs_, labels_, said_ = lessons_[int(n)]
            states = drop(torch.tanh(words(drop(vectors_, 0.3)) + form(signs_)), 0.2)
            loss = torch.nn.functional.cross_entropy(states @ torch.tanh(label(drop(labels_, 0.1))).T, said_)
            steps.zero_grad()
            loss.backward()
            steps.step()
    found = {"classwords": words.weight, "classoffset": words.bias, "classsigns": form.weight}
    return found | {"classlabels": label.weight}


def fit_spans(some: Sequence[SeenDocument]) -> SpanNetwork:
    """The networks that tell these stretches apart, and their classes."""
    torch.manual_seed(0)
    seen = [pair for document in some for pair in document.sentences]
    vectors = torch.tensor(np.concatenate([one.vectors for one, _ in seen]), dtype=torch.float32)
    signs = torch.tensor(np.concatenate([one.signs for one, _ in seen]), dtype=torch.float32)
    said = torch.tensor(np.concatenate([told for _, told in seen]), dtype=torch.float32)
    words, form = torch.nn.Linear(vectors.shape[1], WIDTH), torch.nn.Linear(signs.shape[1], WIDTH, bias=False)
    out = torch.nn.Linear(WIDTH + signs.shape[1], 1)
    weights = [*words.parameters(), *form.parameters(), *out.parameters()]
    steps = torch.optim.AdamW(weights, lr=2e-3, weight_decay=0.02)
    for _ in range(EPOCHS):
        for some_ in torch.randperm(len(said)).split(256):
            drop = torch.nn.functional.dropout
            hidden = torch.tanh(words(drop(vectors[some_], 0.2)) + form(signs[some_]))
            scores = out(torch.cat([drop(hidden, 0.3), signs[some_]], 1))[:, 0]
            loss = torch.nn.functional.binary_cross_entropy_with_logits(scores, said[some_])
            steps.zero_grad()
            loss.backward()
            steps.step()
    found = {"words": words.weight, "offset": words.bias, "signs": form.weight, "out": out.weight, "last": out.bias}
    found |= fit_classes(some)
    whole: dict[str, Any] = {}
    for name, values in found.items():
        whole |= packed(name, values.detach().numpy())
    return SpanNetwork(whole)


@cache
def ontology_read(name: str) -> Ontology:
    """The ontology of a document."""
    with TemporaryDirectory() as folder, KnowledgeGraph.create(Path(folder) / "kg", ontology=ontology_of(name)) as kg:
        return kg.ontology


def packs_of() -> dict[str, None]:
    """The ontologies of the documents, in their order."""
    return dict.fromkeys(row["ontology"] for row in rows_of("train.jsonl"))


@dataclass(frozen=True)
class Lesson:
    """A document: its fillings with their statements, what the other ways of reading found, and what it says."""

    fillings: list[tuple[Filling, Triple]]
    other: set[Triple]
    gold: set[Triple]


def lessons(rows: Sequence[Row], networks: Sequence[SpanNetwork]) -> list[Lesson]:
    """The annotated documents, read without the frames; the stretches of each by the network that has not seen it."""
    of = {row["id"]: network for row, network in zip(rows, networks, strict=True)}
    readings: dict[str, DocumentReading] = {}
    read = BuiltinExtractor._read

    def kept(extractor: BuiltinExtractor, document: Document) -> DocumentReading:
        _use(of[Path(document.source).stem])
        reading = readings[Path(document.source).stem] = read(extractor, document)
        return reading

    whole, BuiltinExtractor._read = sentence_frames.carried_weights, kept  # type: ignore[method-assign]
    carried = sentence_frames.carried_spans
    sentence_frames.carried_weights = lambda: FrameWeights({}, -50.0, 1.0, 1.0)  # type: ignore[assignment]
    found: list[Lesson] = []
    try:
        for pack in dict.fromkeys(row["ontology"] for row in rows):
            mine = [row for row in rows if row["ontology"] == pack]
            with reading_of(pack, ((f"{row['id']}.md", row["text"]) for row in mine), learns=False) as kg:
                for row in mine:
                    _use(of[row["id"]])
                    found.append(_lesson(readings[row["id"]], Canon(kg.ontology, row["also"]), row))
    finally:
        BuiltinExtractor._read, sentence_frames.carried_weights = read, whole  # type: ignore[method-assign]
        sentence_frames.carried_spans = context.carried_spans = carried
    return found


def _use(network: SpanNetwork) -> None:
    sentence_frames.carried_spans = context.carried_spans = lambda: network  # type: ignore[assignment]


def _lesson(reading: DocumentReading, canon: Canon, row: dict[str, Any]) -> Lesson:
    frames = FrameReader(reading, Referents(reading), reading.lexicon.forms, reading.lexicon.class_labels)
    fillings = [
        (item, canon.triple(_said(claim)))
        for sentence in frames.fillings()
        for item in sentence
        if (claim := claim_of(reading, item, 1.0)) is not None
    ]
    same = {
        (item.subject.name, item.term.iri, item.sentence[0], triple[2])
        for item, triple in fillings
        if any(sign.startswith("read ") for sign in item.signs)
    }
    counted = []
    for key, claim in reading.claims.items():
        known = claim.subject.name, claim.predicate, claim.start, canon.triple(_said(claim))[2]
        if local_name(claim.predicate.value) not in UNCOUNTED and not (reading.ways[key] and known in same):
            counted.append(claim)
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
    rows = sorted(rows_of("train.jsonl"), key=lambda row: list(packs_of()).index(row["ontology"]))
    order = [int(n) for n in np.random.default_rng(0).permutation(len(rows))]
    seen = [seen_of(row, ClassLabels(ontology_read(row["ontology"]))) for row in rows]
    folds = [set(order[fold::FOLDS]) for fold in range(FOLDS)]
    apart = [fit_spans([one for n, one in enumerate(seen) if n not in held]) for held in folds]
    networks = [next(net for net, held in zip(apart, folds, strict=True) if n in held) for n in range(len(rows))]
    known = lessons(rows, networks)
    read: dict[int, list[tuple[float, Triple]]] = {}
    for held in folds:
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
        save_file(fit_spans(seen).packed, spans.WEIGHTS)
        sentence_frames.WEIGHTS.write_text(json.dumps(told, ensure_ascii=False, indent=0) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
