"""Learns what the network of sentences knows, from the annotated documents that the reader may learn from.

    python -m benchmarks.train_sentence_frames             figures on a fifth of the documents, learnt from the others
    python -m benchmarks.train_sentence_frames --write     the same, and these weights are shipped
    … --also FOLDER…     learnt besides from the sentences of folders as `benchmarks.learnt_reading` reads them

Three things are learnt at once: which stretches name something, of which class they are, and which property with which
subject an object has, of all that the ontology admits (of the fillings with one object at most one is true, so they and
"none" share the probability). What may fill places is proposed by networks that have not seen the document. A minute
and a half of processor time for each hundred documents and each of the `EPOCHS`.
"""

from __future__ import annotations

import argparse
import json
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.numpy import save_file
from torch import nn
from torch.nn import functional

from benchmarks.reading import UNCOUNTED, Canon, Row, reading_of, rows_of
from benchmarks.train_questions import Adapted
from kgplatform.evaluation.triples import Triple
from kgplatform.extraction import builtin, sentence_network
from kgplatform.extraction.builtin import BuiltinExtractor
from kgplatform.extraction.context import DocumentReading, Referents
from kgplatform.extraction.learnt.examples import TermNames
from kgplatform.extraction.learnt.fit import Learner, Lesson, ends_of, questions_of
from kgplatform.extraction.learnt.stretches import plain
from kgplatform.extraction.sentence_frames import FITS, KINDS, FrameReader, chosen, claim_of
from kgplatform.extraction.sentence_network import (
    AWAY,
    LAYERS,
    ROLES,
    ClassLabels,
    PropertyLabels,
    SeenSentence,
    SentenceNetwork,
    Thresholds,
    english_gloss,
    label_rows,
    packed,
    seen_sentence,
)
from kgplatform.extraction.sentence_slots import Slot
from kgplatform.models.embed import MiniLM, carried_path, unit_length
from kgplatform.ontology.packs import load
from kgplatform.ontology.schema import Ontology, OntologyProperty
from kgplatform.text import has_han
from kgplatform.types import Claim, Document, Mention
from kgplatform.vocab import local_name

EPOCHS, FIRST_EPOCHS, TOGETHER, WIDTH, RANK, RATE, ADAPTED_RATE = 16, 2, 2, 48, 16, 2e-3, 1e-3
FEWER, KEPT = 0.5, 0.7
"""Every other time an ontology is told with fewer labels: a property with such a share of its words."""
ALIKE = 0.4
"""From this cosine on two labels may be of one class."""
HELD, THRESHOLD, CANDIDATE = 5, 0.5, 0.15


# Documents


@dataclass(frozen=True)
class ClassLesson(Lesson):
    """A lesson with the classes that the annotation tells, what it states, and what the other ways of reading found.

    ``labels`` has a row a class, ``spoken`` a row for each of a class's labels; ``called`` are the vectors of the
    labels as texts; ``near`` has a 1 where a class (row) says nearly the same as another (column): it is above, below
    or called alike.
    """

    classes: Sequence[Any] = ()
    spoken: Sequence[Any] = ()
    called: Any = None
    near: Any = None
    gold: set[Triple] = field(default_factory=set)
    other: set[Triple] = field(default_factory=set)


@dataclass(frozen=True)
class _Gold:
    """The statements of an annotation."""

    canon: Canon
    triples: set[Triple]

    def fact(self, term: OntologyProperty, subject: Slot, object_: Slot, said: str) -> Triple | None:
        """The statement of the annotation that the filling makes."""
        triple = self.canon.triple((subject.name, term.iri.value, object_.name if term.is_object else said))
        return triple if triple in self.triples else None


def lesson_of(frames: FrameReader, reading: DocumentReading, row: Row, canon: Canon) -> ClassLesson:
    """The lesson of a document that is read."""
    text, labels = row["text"], reading.lexicon.class_labels
    forms = {name for name, _ in row["names"]} | {form for forms in row["also"].values() for form in forms}
    forms |= {form for subject, _, value in row["triples"] for form in (subject, value) if form in text}
    keys = {plain(form) for form in forms if not re.fullmatch(r"[\d.:+-]+", form)}
    numbers = {local_name(iri.value): n for n, iri in enumerate(labels.classes)}
    named = [(form, class_) for name, class_ in row["names"] for form in (name, *row["also"].get(name, ()))]
    of = {plain(form): numbers.get(class_, -1) for form, class_ in named}
    tagged = reading.finder.names.tagged
    seen = [one for item in frames.sentences if (one := seen_sentence(reading.text, item.start, item.end, tagged))]
    named = [np.array([item.key in keys for item in one.stretches], np.float32) for one in seen]
    classes = [_classes_of(one, keys, of) for one in seen]
    gold = {canon.triple(tuple(triple)) for triple in row["triples"]}
    opened = [one for n in range(len(frames.sentences)) for one in frames.open_frames(n)]
    places = [sentence.places for sentence in frames.sentences]
    questions = questions_of(opened, _Gold(canon, gold), reading.text)
    terms, (called, near) = reading.lexicon.property_labels, _near(labels, reading.lexicon.ontology)
    spoken = spoken_labels(labels, reading.lexicon.ontology)
    read = _read(reading, canon)
    held = ClassLesson(seen, named, places, questions, labels.rows, terms)
    return replace(held, classes=classes, spoken=spoken, called=called, near=near, gold=gold, other=read)


def spoken_labels(labels: ClassLabels, ontology: Ontology) -> Sequence[Any]:
    """For each class the rows of its labels."""
    return label_rows([[word.text for word in ontology.classes[one].words] for one in labels.classes])


def _classes_of(seen: SeenSentence, keys: set[str], of: Mapping[str, int]) -> Any:
    """The class of each stretch; -1 where the annotation does not tell it, -2 of what looks like a name and is none."""
    named = [(item.first, item.last) for item in seen.stretches if item.key in keys]
    return np.array(
        [
            of.get(item.key, -1)
            if not is_name or any(first < item.last and item.first < last for first, last in named)
            else -2
            for item, is_name in zip(seen.stretches, seen.named, strict=True)
        ]
    )


@cache
def _labels_model() -> MiniLM:
    return MiniLM(carried_path())


def _near(labels: ClassLabels, ontology: Ontology) -> tuple[Any, Any]:
    words = [[word.text for word in ontology.classes[one].words] for one in labels.classes]
    english = [next((word for word in some if not has_han(word)), None) or english_gloss(some[0]) for some in words]
    called = unit_length(_labels_model().embed(english))
    above = np.array([[ontology.is_a(one, (other,)) for other in labels.classes] for one in labels.classes], bool)
    return called, above | above.T | (called @ called.T > ALIKE)


def _read(reading: DocumentReading, canon: Canon) -> set[Triple]:
    return {
        canon.triple(_said(claim))
        for key, claim in reading.claims.items()
        if local_name(claim.predicate.value) not in UNCOUNTED and key in reading.labelled
    }


def _said(claim: Claim) -> Triple:
    value = claim.object.name if isinstance(claim.object, Mention) else claim.object.value
    return claim.subject.name, claim.predicate.value, value


def read_all(rows: Sequence[Row], networks: Sequence[SentenceNetwork], *, as_lessons: bool) -> list[Any]:
    """The documents, each by a network that has not seen it: lessons, or (what is read with its shares, what is right).

    The frames state nothing while the rest is read, as the network is asked afterwards.
    """
    of = {row["id"]: network for row, network in zip(rows, networks, strict=True)}
    readings: dict[str, DocumentReading] = {}
    read, fill = BuiltinExtractor.read, builtin.read_frames

    def kept(extractor: BuiltinExtractor, document: Document, *_: object) -> DocumentReading:
        number = Path(document.source).stem
        readings[number] = read(extractor, document, of[number], {})
        return readings[number]

    BuiltinExtractor.read, builtin.read_frames = kept, lambda *_: None  # type: ignore[method-assign, assignment]
    found: dict[str, Any] = {}
    try:
        for pack in dict.fromkeys(row["ontology"] for row in rows):
            mine = [row for row in rows if row["ontology"] == pack]
            with reading_of(pack, ((f"{row['id']}.md", row["text"]) for row in mine), learns=False) as kg:
                for row in mine:
                    reading, canon = readings[row["id"]], Canon(kg.ontology, row["also"])
                    frames = FrameReader(reading, Referents(reading), of[row["id"]])
                    lesson = lesson_of(frames, reading, row, canon)
                    found[row["id"]] = lesson if as_lessons else (_stated(frames, reading, canon), lesson)
    finally:
        BuiltinExtractor.read, builtin.read_frames = read, fill  # type: ignore[method-assign]
    return [found[row["id"]] for row in rows]


def _stated(frames: FrameReader, reading: DocumentReading, canon: Canon) -> list[tuple[float, Triple]]:
    return [
        (share, canon.triple(_said(claim)))
        for fillings in frames.statements(CANDIDATE)
        for share, item in chosen(fillings)
        if (claim := claim_of(reading, item, share)) is not None
    ]


# The network


class WholeLearner(Learner):
    """The network with all that is learnt of it: the adapters of the sentence model, classes, names and statements."""

    def __init__(self, signs: int, classes: int, features: int) -> None:
        from transformers import AutoModel

        model = AutoModel.from_pretrained(str(carried_path())).eval()
        for parameter in model.parameters():
            parameter.requires_grad = False
        wide = model.config.hidden_size
        super().__init__(_begun(wide, signs, classes, features), {}, fixed=(), dropped=0.2)
        self.embeddings, self.encoder = model.embeddings, nn.Module()
        self.encoder.layer = model.encoder.layer[: max(LAYERS)]
        for layer in self.encoder.layer:
            own = layer.attention.self
            own.query, own.key, own.value = (Adapted(part, RANK) for part in (own.query, own.key, own.value))
            for part in (layer.attention.output, layer.intermediate, layer.output):
                part.dense = Adapted(part.dense, RANK)

    def rows(self, lesson: Lesson) -> list[torch.Tensor]:
        """The vectors of the words, as `SentenceNetwork.rows` has them."""
        sentences = lesson.sentences
        found: list[Any] = [None] * len(sentences)
        coded = [[101, *[one for word in item.pieces for one in word][:254], 102] for item in sentences]
        order = sorted(range(len(sentences)), key=lambda n: len(coded[n]))
        for part in (order[n : n + 12] for n in range(0, len(order), 12)):
            ids = nn.utils.rnn.pad_sequence([torch.tensor(coded[n]) for n in part], batch_first=True)
            mask = nn.utils.rnn.pad_sequence([torch.ones(len(coded[n])) for n in part], batch_first=True)
            states, kept = self.embeddings(ids), list[torch.Tensor]()
            for number, layer in enumerate(self.encoder.layer, 1):
                told = layer(states, (1 - mask[:, None, None, :]) * -1e9)
                states = told[0] if isinstance(told, tuple) else told
                kept += [states] * (number in LAYERS)
            for n, row in zip(part, torch.cat(kept, 2), strict=True):
                ends = torch.tensor(np.minimum(np.cumsum([0, *map(len, sentences[n].pieces)]), len(coded[n]) - 2))
                sums = torch.cat([torch.zeros(1, row.shape[1]), row[1 : len(coded[n]) - 1].cumsum(0)])
                means = (sums[ends[1:]] - sums[ends[:-1]]) / (ends[1:] - ends[:-1]).clamp(min=1)[:, None]
                still = torch.tensor(sentences[n].still, dtype=torch.float32)
                found[n] = self.dropped(torch.cat([means, still], 1), 0.2)
        return found

    def whole_loss(self, lesson: ClassLesson, strange: ClassLesson, *, states: bool) -> torch.Tensor:
        """How unlikely what the annotation says is; ``states``: its statements as well as its names and classes.

        ``strange``: a document whose ontology has no class for most of the names.
        """
        w, rows, told = self.weights, self.rows(lesson), list[tuple[torch.Tensor, torch.Tensor]]()
        whole = torch.zeros(())
        for row, seen, named, classes in zip(rows, lesson.sentences, lesson.named, lesson.classes, strict=True):
            whole = whole + self.names_loss(row, seen, named)
            known = torch.tensor(classes != -1)
            if known.any():
                first, last = (ends[known] for ends in ends_of(seen.stretches))
                inside = self.pooled("class", row, first, last) + torch.tensor(seen.signs)[known] @ w["classsigns"].T
                told.append((self.dropped(torch.tanh(inside), 0.2), torch.tensor(classes)[known]))
        if told and len(lesson.labels):
            hidden, truth = (torch.cat(part) for part in zip(*told, strict=True))
            whole = whole + self._unlikely_classes(hidden, truth, lesson, strange)
        return whole + self.statements_loss(lesson, rows) if states else whole

    def _unlikely_classes(self, hidden: Any, truth: Any, lesson: ClassLesson, strange: ClassLesson) -> torch.Tensor:
        """As annotated; without the class and its like, names are of none, and under another ontology as well."""
        labels = self.told_labels(lesson)
        scores = self.class_scores(hidden, labels)
        none = torch.full_like(truth, len(labels))
        whole = 0.5 * functional.cross_entropy(scores, torch.where(truth < 0, none, truth))
        typed = truth >= 0
        if typed.any():
            near = torch.tensor(lesson.near)[truth[typed]]
            left = torch.cat([scores[typed][:, :-1].masked_fill(near, -1e4), scores[typed][:, -1:]], 1)
            whole = whole + 0.1 * functional.cross_entropy(left, none[typed])
            alike = torch.tensor(lesson.near @ (lesson.called @ strange.called.T > ALIKE))[truth[typed]]
            rows = self.told_labels(strange)
            away = self.class_scores(hidden[typed], rows)
            away = torch.cat([away[:, :-1].masked_fill(alike, -1e4), away[:, -1:]], 1)
            whole = whole + 0.25 * functional.cross_entropy(away, torch.full_like(none[typed], len(rows)))
        return whole

    def told_labels(self, lesson: Lesson) -> torch.Tensor:
        """The classes by their labels, or by some of them: another ontology calls the same thing by one of these."""
        rows, spoken = lesson.labels, lesson.spoken if isinstance(lesson, ClassLesson) else ()
        if self.training and len(rows) and self.draw.random() < FEWER:
            rows = np.stack([self._some_of(one).mean(axis=0) for one in spoken])
        return torch.tanh(torch.tensor(rows, dtype=torch.float32) @ self.weights["classlabels"].T)

    def told_terms(self, terms: PropertyLabels) -> tuple[list[Any], Any]:
        """The words of each property, or some of them, and what its labels say together, or some of them."""
        words, means = super().told_terms(terms)
        if self.training and self.draw.random() < FEWER:
            kept = [[n for n in range(len(one)) if self.draw.random() < KEPT] for one in words]
            words = [one[some or [0]] for one, some in zip(words, kept, strict=True)]
            means = np.stack([self._some_of(one).mean(axis=0) for one in terms.labels])
        return words, means

    def _some_of(self, rows: Any) -> Any:
        return rows[self.draw.sample(range(len(rows)), self.draw.randint(1, len(rows)))]

    def packed(self) -> tuple[dict[str, Any], dict[str, float]]:
        """The weights as they are shipped, and what the signs weigh."""
        found: dict[str, Any] = {}
        for name, module in self.named_modules():
            if isinstance(module, Adapted):
                found |= {f"{name}.{side}": part for side, part in module.learnt().items()}
        for name, rows in self.learnt_weights().items():
            found |= packed(name, rows) if rows.ndim > 1 else {name: rows}
        return found, self.learnt_signs()

    def network(self) -> SentenceNetwork:
        """The network as it would be shipped."""
        return SentenceNetwork(*self.packed(), Thresholds(THRESHOLD, CANDIDATE))


def _begun(wide: int, signs: int, classes: int, features: int) -> dict[str, Any]:
    """The weights to begin with."""
    seen = (len(LAYERS) + 1) * wide
    shapes: dict[str, tuple[int, ...]] = {"spansigns": (WIDTH, signs), "classsigns": (WIDTH, signs)}
    shapes |= {"spanout": (1, WIDTH + signs), "spanlast": (1,), "classlabels": (WIDTH, classes)}
    shapes |= {"noclass": (1, WIDTH), "noclassshift": (1,)}
    for name in ("span", "class", "object", "subject"):
        shapes |= {f"{name}words": (ROLES * WIDTH, seen), f"{name}offset": (ROLES * WIDTH,)}
    shapes |= {"objectkind": (len(KINDS), WIDTH), "subjectkind": (len(KINDS), WIDTH)}
    for name in ("objectside", "subjectside", "pairobject", "pairsubject"):
        shapes |= {name: (WIDTH, WIDTH), re.sub("side$", "", name) + "shift": (WIDTH,)}
    for n in (1, 2):
        shapes |= {f"label{n}": (WIDTH, classes), f"labelshift{n}": (WIDTH,)}
    shapes |= {"trigger": (WIDTH, seen), "triggerlabel": (WIDTH, wide), "triggerplace": (2 * len(AWAY) + 3,)}
    shapes |= {"features": (32, features), "featureshift": (32,), "featureout": (1, 32), "featurelast": (1,)}
    shapes |= {"featureplain": (1, features), "fits": (len(FITS) - 1,)}
    found = {name: _first(name, shape).numpy() for name, shape in shapes.items()}
    told = (("triggerscale", [1.0]), ("fit", [0.3, 0.3]), ("none", [4.0]))
    return found | {name: np.array(start, np.float32) for name, start in told}


def _first(name: str, shape: tuple[int, ...]) -> torch.Tensor:
    """What a weight begins with."""
    if name in ("triggerplace", "fits") or len(shape) == 1:
        return torch.zeros(shape)
    return torch.randn(shape) if name.endswith("kind") else (torch.rand(shape) * 2 - 1) / shape[1] ** 0.5


def fit(lessons: Sequence[ClassLesson], *, states: bool, epochs: int) -> WholeLearner:
    """The network, learnt from these documents."""
    torch.manual_seed(0)
    draw = random.Random(0)
    some = next(lesson for lesson in lessons if lesson.questions)
    widths = some.sentences[0].signs.shape[1], some.labels.shape[1], some.questions[0].asked.features.shape[1]
    learner = WholeLearner(*widths).train()
    adapted = [one for name, one in learner.named_parameters() if name.endswith((".down", ".up"))]
    ours = [*learner.weights.parameters(), learner.sign_weights]
    steps = torch.optim.AdamW([{"params": adapted, "weight_decay": 0.01}, {"params": ours, "weight_decay": 0.02}])
    usable = [lesson for lesson in lessons if lesson.sentences]
    total, step = epochs * (len(usable) // TOGETHER), 0
    for epoch in range(epochs):
        lost, order = 0.0, draw.sample(usable, len(usable))
        for first in range(0, len(order) - TOGETHER + 1, TOGETHER):
            step += 1
            for group, rate in zip(steps.param_groups, (ADAPTED_RATE, RATE), strict=True):
                group["lr"] = rate * min(1, step / 80) * (1 - 0.95 * step / total)
            steps.zero_grad()
            for lesson in order[first : first + TOGETHER]:
                loss = learner.whole_loss(lesson, draw.choice(usable), states=states) / TOGETHER
                loss.backward()  # type: ignore[no-untyped-call]
                lost += float(loss.detach())
            nn.utils.clip_grad_norm_([*adapted, *ours], 2.0)
            steps.step()
        print(f"epoch {epoch + 1} of {epochs}: loss {TOGETHER * lost / len(usable):.3f}", flush=True)
    return learner.eval()


def sentences_of(folder: Path) -> list[Row]:
    """The examples of a folder of small ontologies as documents; an end is of the class that its property asks for."""
    rows, known = [], dict[str, tuple[Ontology, TermNames]]()
    for line in (folder / "examples.train.jsonl").read_text(encoding="utf-8").splitlines():
        said = json.loads(line)
        file = folder / "ontologies" / f"{said['ontology']}.ttl"
        if said["ontology"] not in known:
            found = load([str(file)], folder=folder).ontology
            known[said["ontology"]] = found, TermNames(found)
        ontology, terms = known[said["ontology"]]
        triples, types, names = list[list[str]](), list[list[str | None]](), dict[str, str]()
        for subject, name, value in said["triples"]:
            if (iri := terms.property(name)) is None:
                continue
            term = ontology.properties[iri]
            sides = [next((local_name(one.value) for one in side), None) for side in (term.domains, term.ranges)]
            triples.append([subject, local_name(iri.value), value])
            types.append([sides[0], sides[1] if term.is_object else None])
            names |= {end: class_ for end, class_ in zip((subject, value), types[-1], strict=True) if class_}
        also = {name: [form] for name in names if name not in said["text"] and (form := _form(name, said["text"]))}
        row = {"id": said["id"], "ontology": str(file), "language": said["lang"], "text": said["text"], "also": also}
        if triples:
            rows.append(row | {"triples": triples, "types": types, "names": [list(item) for item in names.items()]})
    return rows


def _form(name: str, text: str) -> str:
    """The name as the text has it: in other letters, or without what stands in brackets or behind a comma."""
    for form in (name, re.sub(r", (.+)$", r" (\1)", name), re.sub(r"\s*\([^)]*\)$", "", name), name.split(",")[0]):
        if (start := text.casefold().find(form.casefold())) >= 0 and len(form) > 2:
            return text[start : start + len(form)]
    return ""


def _drawn(*kinds: Sequence[Row]) -> tuple[list[Row], set[int], set[int]]:
    """All documents; the numbers of those that are left out, so many of each kind; and those of a half of all."""
    rows: list[Row] = []
    held, half = set[int](), set[int]()
    for kind in kinds:
        order = len(rows) + np.random.default_rng(1).permutation(len(kind))
        held |= set(order[::HELD].tolist())
        half |= set(order[1::2].tolist())
        rows += kind
    return rows, held, half


def main() -> int:
    """Prints the figures on the documents that are left out, and writes the weights where asked to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--also", type=Path, nargs="*", default=(), metavar="FOLDER")
    asked = parser.parse_args()
    rows, held, half = _drawn(
        [*rows_of("train.jsonl"), *rows_of("train2.jsonl")],
        *(rows_of(f"train{number}.jsonl") for number in range(3, 17)),
        *map(sentences_of, asked.also),
    )
    carried = sentence_network.carried_network()
    if carried is None:
        raise SystemExit("no network to begin with: the stretches are proposed by the one that is shipped")
    first = read_all(rows, [carried] * len(rows), as_lessons=True)
    parts = [
        [one for n, one in enumerate(first) if n not in held and (n in half) == inside] for inside in (False, True)
    ]
    halves = [fit(part, states=False, epochs=FIRST_EPOCHS).network() for part in parts]
    lessons = read_all(rows, [halves[n not in half] for n in range(len(rows))], as_lessons=True)
    learner = fit([one for n, one in enumerate(lessons) if n not in held], states=True, epochs=EPOCHS)
    learner.calibrate([one for n, one in enumerate(lessons) if n in held])
    print(f"temperature {learner.temperature}")
    apart = [row for n, row in enumerate(rows) if n in held]
    read = read_all(apart, [learner.network()] * len(apart), as_lessons=False)
    wanted = sum(len(lesson.gold) for _, lesson in read)
    for threshold in (0.2, 0.3, 0.4, 0.5, 0.7):
        said = [({triple for share, triple in stated if share >= threshold}, lesson) for stated, lesson in read]
        for name, sets in (("frames", said), ("all", [(some | one.other, one) for some, one in said])):
            found, right = sum(len(some) for some, _ in sets), sum(len(some & one.gold) for some, one in sets)
            figures = f"P {right / max(1, found):.3f}  R {right / wanted:.3f}  F1 {2 * right / (found + wanted):.3f}"
            print(f"from {threshold}: {name:6} {figures}  {found} read, {wanted} gold")
    if asked.write:
        weights, signs = learner.packed()
        save_file(weights, sentence_network.WEIGHTS)
        told = {"threshold": THRESHOLD, "candidate": CANDIDATE, "signs": signs}
        lines = json.dumps(told, ensure_ascii=False, indent=0) + "\n"
        sentence_network.WEIGHTS.with_suffix(".json").write_text(lines, encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
