"""Training on annotated examples, and the file of what was learnt: plain arrays and JSON, never trusted to be code."""

from __future__ import annotations

import json
import os
import zipfile
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from kgplatform.errors import WorkspaceError
from kgplatform.extraction.context import sentence_spans
from kgplatform.extraction.learnt.examples import AnnotatedExample
from kgplatform.extraction.learnt.features import (
    Lore,
    Place,
    Stretch,
    Stretches,
    TextScene,
    WordRanges,
    learn_aliases,
    pair_features,
    squeezed,
    stretch_features,
    words_of,
)
from kgplatform.extraction.learnt.frames import SeenText, frames_identity
from kgplatform.extraction.learnt.reader import (
    EVIDENCE,
    Court,
    FeatureVocabulary,
    Floats,
    Framing,
    Learnt,
    Namings,
    PropertyWords,
    Scores,
    TripleCandidate,
    fit_logistic,
    fit_softmax,
    keep,
    likely,
    pairs_of,
    settle,
    sigmoid,
    softmax,
    thresholds,
)
from kgplatform.ontology.schema import Ontology
from kgplatform.types import Progress

# Every judgement that thresholds and reports rest on is made by weights that have not seen the example (cross-fitting).

FOLDS: Final = 3
_NEGATIVES: Final = 12
_STRETCH_PENALTY: Final = 0.5
_PAIR_PENALTY: Final = 1.5


@dataclass
class _Item:
    """An example with what is found in it: ``said`` are places of subject and object with the property's number."""

    example: AnnotatedExample
    scene: TextScene
    said: list[tuple[list[Place], int, list[Place]]]
    unsaid: frozenset[Place]
    fold: int
    keys: set[tuple[str, int, str]]
    seen: SeenText | None
    kept: list[tuple[Stretch, float]] = field(default_factory=list)
    pairs: list[tuple[int, int]] = field(default_factory=list)


def train(examples: Sequence[AnnotatedExample], ontology: Ontology, *, progress: Progress | None = None) -> Learnt:
    """What the examples teach; the same examples teach the same."""
    step = progress or (lambda *_: None)
    properties = _properties(examples, ontology)
    step(0, 4, "aligning")
    framing = Framing(ontology, properties)
    items, lore, parts = _prepare(examples, properties, framing)
    namings = Namings()
    for part in parts:
        namings.take(part)
    counts = Counter(said[1] for item in items for said in item.said)
    court = Court(properties, [counts[n] for n in range(len(properties))], PropertyWords(properties, ontology), namings)
    step(1, 4, "names")
    stretch_scores = _learn_stretches(items, framing)
    step(2, 4, "properties")
    pair_scores, shares, filled = _learn_pairs(items, len(counts), framing)
    step(3, 4, "thresholds")
    judged = [
        court.candidates(item.scene, item.kept, item.pairs, s, f, parts[item.fold])
        for item, s, f in zip(items, shares, filled, strict=True)
    ]
    judge, confidences = _learn_judge(items, judged)
    settled = _settled(items, judged, confidences)
    said = sum(len(item.keys) for item in items)
    cuts = thresholds([pair for pairs in settled for pair in pairs], said, len(properties))
    step(4, 4, "done")
    return Learnt(
        properties=tuple(properties),
        counts=tuple(court.counts),
        stretches=stretch_scores,
        pairs=pair_scores,
        judge=judge,
        cuts=cuts,
        lore=lore,
        namings=namings,
        classes=_classes(examples),
        sentences=_sentences(examples),
        report=_report(items, settled, properties, cuts),
        court=court,
        framing=framing,
    )


def _properties(examples: Sequence[AnnotatedExample], ontology: Ontology) -> list[str]:
    """The properties that examples say, then those they do not, which their words alone may give away."""
    said = {said.predicate.value for example in examples for said in example.said}
    return sorted(said) + sorted({term.iri.value for term in ontology.domain_properties} - said)


def _prepare(
    examples: Sequence[AnnotatedExample], properties: Sequence[str], framing: Framing
) -> tuple[list[_Item], Lore, list[Namings]]:
    number = {iri: n for n, iri in enumerate(properties)}
    words = [words_of(example.text) for example in examples]
    places = [WordRanges(example.text, w) for example, w in zip(examples, words, strict=True)]
    aliases = learn_aliases(examples, places)
    folds = _folds(examples)
    lores, namings = [Lore() for _ in range(FOLDS)], [Namings() for _ in range(FOLDS)]
    aligned = []
    for example, place, fold in zip(examples, places, folds, strict=True):
        said = [
            (place.find(s.subject, aliases), number[s.predicate.value], place.find(s.object, aliases))
            for s in example.said
        ]
        aligned.append(said)
        for one, spans in zip(example.said, said, strict=True):
            roles_of = (("s", one.subject, spans[0]), ("o" + one.predicate.value, one.object, spans[2]))
            _note_names(namings[fold], place, roles_of)
    roles = [
        _roles(Stretches(e.text, w, ()), said, properties) for e, w, said in zip(examples, words, aligned, strict=True)
    ]
    lore, items = Lore(), []
    for own, w, fold in zip(roles, words, folds, strict=True):
        lores[fold].add(own, (word.key for word in w if word.shape == "x"))
    for part in lores:
        lore.take(part)
    bare = Lore(small=lore.small)
    for n, (example, w, place, said, fold) in enumerate(zip(examples, words, places, aligned, folds, strict=True)):
        # Texts name known things and new ones; what is learnt must serve both.
        told, own_lore = (bare, None) if n % 2 else (lore, lores[fold])
        stretches = Stretches(example.text, w, _Elsewhere(told, own_lore)).all()
        lores[fold].stand(item.key for item in stretches)
        scene = TextScene(example.text, w, stretches, told, own_lore)
        keys = {(squeezed(s.subject), number[s.predicate.value], squeezed(s.object)) for s in example.said}
        unsaid = frozenset(found for value in example.unsaid for found in place.find(value, aliases))
        items.append(_Item(example, scene, said, unsaid, fold, keys, framing.see(example.text, w)))
    for part in lores:
        lore.seen.update(part.seen)
    return items, lore, namings


class _Elsewhere:
    """The names that are told outside a fold."""

    def __init__(self, lore: Lore, own: Lore | None) -> None:
        self._lore = lore
        self._own = own

    def __contains__(self, key: object) -> bool:
        mine = self._own.told.get(str(key), 0) if self._own is not None else 0
        return self._lore.told.get(str(key), 0) > mine


def _folds(examples: Sequence[AnnotatedExample]) -> list[int]:
    """The fold of each example: all about one thing in the same, as new texts will be about new things.

    Where the examples are about very few things, by turns.
    """
    groups: dict[str, list[int]] = defaultdict(list)
    for number, example in enumerate(examples):
        subjects = Counter(squeezed(said.subject) for said in example.said)
        groups[max(subjects, key=lambda name: subjects[name], default="")].append(number)
    if len(groups) < 2 * FOLDS:
        return [number % FOLDS for number in range(len(examples))]
    folds, sizes = [0] * len(examples), [0] * FOLDS
    for _, numbers in sorted(groups.items(), key=lambda pair: (-len(pair[1]), pair[0])):
        smallest = sizes.index(min(sizes))
        sizes[smallest] += len(numbers)
        for number in numbers:
            folds[number] = smallest
    return folds


def _note_names(namings: Namings, place: WordRanges, found: Sequence[tuple[str, str, list[Place]]]) -> None:
    for role, value, spans in found:
        texts = {place.text[place.words[a].start : place.words[b - 1].end] for a, b in spans}
        for written in sorted(texts):
            namings.add(role, written, value)


def _roles(
    stretches: Stretches, said: list[tuple[list[Place], int, list[Place]]], properties: Sequence[str]
) -> frozenset[tuple[str, str, str]]:
    found = set()
    for subjects, number, objects in said:
        for role, spans in (("s", subjects), ("o", objects)):
            found |= {(stretches.of(first, last, "").key, role, properties[number]) for first, last in spans}
    return frozenset(found)


def _learn_stretches(items: list[_Item], framing: Framing) -> Scores:
    """The weights of stretches; each item gets the stretches that weights of other folds think likely."""
    rows = [[stretch_features(item.scene, s) for s in item.scene.stretches] for item in items]
    vocabulary = FeatureVocabulary.of(rows)
    targets = [_is_said(item) for item in items]
    fold = np.concatenate([np.full(len(r), item.fold) for item, r in zip(items, rows, strict=True)])
    odds = [framing.stretch_odds(item.seen, item.scene.stretches) for item in items]
    matrix = vocabulary.matrix([row for r in rows for row in r], np.concatenate(odds))
    target = np.concatenate(targets)
    both = np.column_stack([1 - target, target])
    shares = np.zeros(len(target))
    for number in range(FOLDS):
        weights, offsets = fit_softmax(matrix[fold != number], both[fold != number], penalty=_STRETCH_PENALTY)
        shares[fold == number] = softmax(matrix[fold == number] @ weights + offsets)[:, 1]
    begin = 0
    for item, r in zip(items, rows, strict=True):
        item.kept = keep(item.scene.stretches, shares[begin : begin + len(r)])
        item.pairs = pairs_of(item.kept)
        begin += len(r)
    return Scores(vocabulary, *fit_softmax(matrix, both, penalty=_STRETCH_PENALTY))


def _is_said(item: _Item) -> Floats:
    places = {place for subjects, _, objects in item.said for place in (*subjects, *objects)} | item.unsaid
    return np.array([float((s.first, s.last) in places) for s in item.scene.stretches])


def _learn_pairs(items: list[_Item], properties: int, framing: Framing) -> tuple[Scores, list[Floats], list[Floats]]:
    """The weights of pairs, and the shares of the properties by weights of other folds and by the frames."""
    rows = []
    for item in items:
        others = likely(item.kept)
        rows.append([pair_features(item.scene, item.kept[a][0], item.kept[b][0], others) for a, b in item.pairs])
    vocabulary = FeatureVocabulary.of(rows)
    framed = [framing.filled(item.seen, item.kept, item.pairs) for item in items]
    matrix = vocabulary.matrix([row for r in rows for row in r], np.concatenate([states for states, _ in framed]))
    fold = np.concatenate([np.full(len(r), item.fold) for item, r in zip(items, rows, strict=True)])
    target = np.vstack([_targets(item, properties) for item in items])
    used = np.concatenate([_used(item) for item in items])
    shares = np.zeros(target.shape)
    for number in range(FOLDS):
        chosen = used & (fold != number)
        weights, offsets = fit_softmax(matrix[chosen], target[chosen], penalty=_PAIR_PENALTY)
        shares[fold == number] = softmax(matrix[fold == number] @ weights + offsets)
    ends = np.cumsum([len(r) for r in rows])
    return (
        Scores(vocabulary, *fit_softmax(matrix[used], target[used], penalty=_PAIR_PENALTY)),
        np.split(shares, ends[:-1]),
        [filled for _, filled in framed],
    )


def _targets(item: _Item, properties: int) -> Floats:
    """The distribution over no property and each, pair by pair; several that hold share alike."""
    found = np.zeros((len(item.pairs), properties + 1))
    for row, (first, second) in enumerate(item.pairs):
        subject, object_ = _place(item.kept[first][0]), _place(item.kept[second][0])
        for subjects, number, objects in item.said:
            if subject in subjects and object_ in objects:
                found[row, number + 1] = 1.0
    found[:, 0] = found.sum(axis=1) == 0
    return np.asarray(found / found.sum(axis=1, keepdims=True))


def _place(item: Stretch) -> Place:
    return item.first, item.last


def _used(item: _Item) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Which pairs are learnt from: all that say something, and the likeliest names among those that do not."""
    places = {(tuple(s), tuple(o)) for subjects, _, objects in item.said for s in subjects for o in objects}
    says = np.array([(_place(item.kept[a][0]), _place(item.kept[b][0])) in places for a, b in item.pairs], dtype=bool)
    ranks = sorted(
        (n for n in range(len(item.pairs)) if not says[n]),
        key=lambda n: (-item.kept[item.pairs[n][0]][1] * item.kept[item.pairs[n][1]][1], n),
    )
    says[ranks[:_NEGATIVES]] = True
    return says


def _learn_judge(items: list[_Item], judged: list[list[TripleCandidate]]) -> tuple[Floats, list[Floats]]:
    """The weights of the evidence, and what they say of the candidates when fitted on the other folds."""
    pairs = [(item, candidate) for item, found in zip(items, judged, strict=True) for candidate in found]
    rows = np.array([candidate.evidence for _, candidate in pairs]).reshape(len(pairs), EVIDENCE)
    right = np.array([float(candidate.key in item.keys) for item, candidate in pairs])
    fold = np.array([item.fold for item, _ in pairs], dtype=int)
    confidences = np.zeros(len(pairs))
    for number in range(FOLDS):
        weights = fit_logistic(rows[fold != number], right[fold != number])
        confidences[fold == number] = sigmoid(rows[fold == number] @ weights[:-1] + weights[-1])
    ends = np.cumsum([len(found) for found in judged])
    return fit_logistic(rows, right), np.split(confidences, ends[:-1])


def _settled(
    items: list[_Item], judged: list[list[TripleCandidate]], confidences: list[Floats]
) -> list[list[tuple[TripleCandidate, bool]]]:
    found = []
    for item, candidates, values in zip(items, judged, confidences, strict=True):
        sure = [replace(c, confidence=float(v)) for c, v in zip(candidates, values, strict=True)]
        found.append([(c, c.key in item.keys) for c in settle(sure)])
    return found


def _classes(examples: Sequence[AnnotatedExample]) -> dict[str, tuple[str, str]]:
    """The classes that subjects and objects of each property mostly have in the examples; empty: not told."""
    votes: dict[str, tuple[Counter[str], Counter[str]]] = defaultdict(lambda: (Counter(), Counter()))
    for said in (said for example in examples for said in example.said):
        for counter, class_ in zip(votes[said.predicate.value], (said.subject_class, said.object_class), strict=True):
            if class_ is not None:
                counter[class_.value] += 1
    return {iri: (_most(first), _most(second)) for iri, (first, second) in sorted(votes.items())}


def _most(votes: Counter[str]) -> str:
    return max(sorted(votes), key=lambda name: votes[name], default="")


def _sentences(examples: Sequence[AnnotatedExample]) -> int:
    """How many sentences examples have, all but the longest twentieth."""
    counts = sorted(len(sentence_spans(example.text)) for example in examples)
    return max(1, counts[int(0.95 * (len(counts) - 1))])


def _report(
    items: list[_Item], settled: list[list[tuple[TripleCandidate, bool]]], properties: Sequence[str], cuts: Floats
) -> dict[str, tuple[int, int, int]]:
    """By property how many triples the examples say, how many were read by weights of other folds, how many rightly."""
    said = Counter(number for item in items for _, number, _ in item.keys)
    kept = [(c, right) for pairs in settled for c, right in pairs if c.confidence >= cuts[c.column]]
    read = Counter(c.column for c, _ in kept)
    hits = Counter(c.column for c, right in kept if right)
    return {iri: (said[n], read[n], hits[n]) for n, iri in enumerate(properties)}


# The file

VERSION: Final = 2
_ABOUT: Final = "about"


def save(learnt: Learnt, path: Path) -> None:
    """Writes the file beside its place and moves it there.

    Raises:
        WorkspaceError: the disk refuses; the old file stays.
    """
    about = json.dumps(_about(learnt), ensure_ascii=False, sort_keys=True).encode("utf-8", "surrogatepass")
    arrays = {
        "stretch_weights": learnt.stretches.weights.astype(np.float32),
        "stretch_offsets": learnt.stretches.offsets,
        "pair_weights": learnt.pairs.weights.astype(np.float32),
        "pair_offsets": learnt.pairs.offsets,
        "judge": learnt.judge,
        "cuts": learnt.cuts,
    }
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        with part.open("wb") as file:
            held: dict[str, Any] = {_ABOUT: np.frombuffer(about, dtype=np.uint8), **arrays}
            np.savez_compressed(file, allow_pickle=False, **held)
        part.replace(path)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise WorkspaceError(f"{path}: cannot be written: {error.strerror or error}", path=path) from error


def _about(learnt: Learnt) -> dict[str, object]:
    lore = learnt.lore
    return {
        "version": VERSION,
        "properties": learnt.properties,
        "counts": learnt.counts,
        "stretch_features": learnt.stretches.vocabulary.names,
        "pair_features": learnt.pairs.vocabulary.names,
        "roles": {key: [[*role, count] for role, count in sorted(roles.items())] for key, roles in lore.roles.items()},
        "told": dict(lore.told),
        "seen": {key: count for key, count in lore.seen.items() if lore.told[key]},
        "small": {key: count for key, count in lore.small.items() if count > 1},
        "namings": learnt.namings.kept(),
        "classes": {iri: list(pair) for iri, pair in learnt.classes.items()},
        "sentences": learnt.sentences,
        "report": {iri: list(numbers) for iri, numbers in learnt.report.items()},
        "frames": frames_identity(),
    }


def load(path: Path, ontology: Ontology) -> Learnt | None:
    """What the file holds; None: there is none.

    Raises:
        WorkspaceError: it is damaged, or another version wrote it.
    """
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as held:
            arrays = {name: held[name] for name in held.files}
        about = json.loads(arrays.pop(_ABOUT).tobytes().decode("utf-8", "surrogatepass"))
        if about["version"] != VERSION or about["frames"] != frames_identity():
            raise _unusable(path, "was written by another version")
        return _learnt(arrays, about, ontology)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, AttributeError, zipfile.BadZipFile, EOFError) as error:
        raise _unusable(path, "is damaged") from error


def _unusable(path: Path, why: str) -> WorkspaceError:
    return WorkspaceError(f"{path} {why}; run `kgplatform learn` again, or delete it", path=path)


def _learnt(arrays: Mapping[str, Any], about: Mapping[str, Any], ontology: Ontology) -> Learnt:
    lore = Lore(told=Counter(about["told"]), seen=Counter(about["seen"]), small=Counter(about["small"]))
    for key, roles in about["roles"].items():
        lore.roles[key] = Counter({(role, iri): int(count) for role, iri, count in roles})
    properties, namings = tuple(about["properties"]), Namings.of(about["namings"])
    return Learnt(
        properties=properties,
        counts=tuple(about["counts"]),
        stretches=_scores(arrays, "stretch", about["stretch_features"]),
        pairs=_scores(arrays, "pair", about["pair_features"]),
        judge=arrays["judge"],
        cuts=arrays["cuts"],
        lore=lore,
        namings=namings,
        classes={iri: (first, second) for iri, (first, second) in about["classes"].items()},
        sentences=int(about["sentences"]),
        report={iri: (said, read, right) for iri, (said, read, right) in about["report"].items()},
        court=Court(properties, tuple(about["counts"]), PropertyWords(properties, ontology), namings),
        framing=Framing(ontology, properties),
    )


def _scores(arrays: Mapping[str, Any], name: str, features: list[str]) -> Scores:
    weights = arrays[f"{name}_weights"].astype(np.float64)
    if len(weights) < len(features):
        raise ValueError("weights and features differ in number")
    return Scores(FeatureVocabulary(features), weights, arrays[f"{name}_offsets"])
