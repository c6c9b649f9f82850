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
from dataclasses import dataclass, field
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
from kgplatform.extraction import context, sentence_frames, sentence_network
from kgplatform.extraction.builtin import BuiltinExtractor
from kgplatform.extraction.context import DocumentReading, Referents
from kgplatform.extraction.learnt.examples import TermNames
from kgplatform.extraction.learnt.features import plain
from kgplatform.extraction.learnt.frames import english_gloss, packed
from kgplatform.extraction.sentence_frames import FITS, KINDS, FrameReader, OpenFrames, chosen, claim_of, said_value
from kgplatform.extraction.sentence_network import (
    AWAY,
    LAYERS,
    ROLES,
    AskedObject,
    ClassLabels,
    PropertyLabels,
    SeenSentence,
    SentenceNetwork,
    Thresholds,
    WordPlace,
    beside,
    label_row,
    seen_sentence,
)
from kgplatform.models.embed import MiniLM, carried_path, unit_length
from kgplatform.ontology.packs import load
from kgplatform.ontology.schema import Ontology
from kgplatform.text import has_han
from kgplatform.types import Claim, Document, Mention
from kgplatform.vocab import local_name

EPOCHS, FIRST_EPOCHS, TOGETHER, WIDTH, RANK, RATE, ADAPTED_RATE = 16, 2, 2, 48, 16, 2e-3, 1e-3
FEWER, KEPT = 0.5, 0.7
"""Every other time an ontology is told with fewer labels: a property with such a share of its words."""
ALIKE = 0.4
"""From this cosine on two labels may be of one class."""
HELD, THRESHOLD, CANDIDATE, LEAST_WEIGHT = 5, 0.5, 0.15, 0.005


# Documents


@dataclass(frozen=True)
class Question:
    """What is asked of an object, which fillings are right, and which are looked at."""

    asked: AskedObject
    right: Any
    used: Any


@dataclass(frozen=True)
class Lesson:
    """A document as the network sees it, what its annotation says of it, and what the other ways of reading found.

    ``labels`` has a row a class, ``spoken`` a row for each of a class's labels; ``called`` are the vectors of the
    labels as texts; ``near`` has a 1 where a class (row) says nearly the same as another (column): it is above, below
    or called alike.
    """

    sentences: Sequence[tuple[SeenSentence, Any, Any]]
    places: Sequence[Sequence[WordPlace]]
    questions: Sequence[Question]
    labels: Any
    terms: PropertyLabels
    spoken: Sequence[Any]
    called: Any
    near: Any
    gold: set[Triple] = field(default_factory=set)
    other: set[Triple] = field(default_factory=set)


def lesson_of(frames: FrameReader, reading: DocumentReading, row: Row, canon: Canon) -> Lesson:
    """The lesson of a document that is read."""
    text, labels = row["text"], reading.lexicon.class_labels
    forms = {name for name, _ in row["names"]} | {form for forms in row["also"].values() for form in forms}
    forms |= {form for subject, _, value in row["triples"] for form in (subject, value) if form in text}
    keys = {plain(form) for form in forms if not re.fullmatch(r"[\d.:+-]+", form)}
    numbers = {local_name(iri.value): n for n, iri in enumerate(labels.classes)}
    named = [(form, class_) for name, class_ in row["names"] for form in (name, *row["also"].get(name, ()))]
    of = {plain(form): numbers.get(class_, -1) for form, class_ in named}
    sentences = [
        (
            seen,
            np.array([item.key in keys for item in seen.stretches], np.float32),
            _classes_of(seen, keys, of),
        )
        for sentence in frames.sentences
        if (seen := seen_sentence(reading.text, sentence.start, sentence.end, reading.finder.names.tagged)) is not None
    ]
    gold = {canon.triple(tuple(triple)) for triple in row["triples"]}
    opened = [one for n in range(len(frames.sentences)) for one in frames.open_frames(n)]
    places = [sentence.places for sentence in frames.sentences]
    questions = _questions(opened, canon, gold, reading.text)
    terms, (called, near) = reading.lexicon.property_labels, _near(labels, reading.lexicon.ontology)
    spoken = spoken_labels(labels, reading.lexicon.ontology)
    read = _read(reading, canon)
    return Lesson(sentences, places, questions, labels.rows, terms, spoken, called, near, gold, read)


def spoken_labels(labels: ClassLabels, ontology: Ontology) -> list[Any]:
    """For each class the rows of its labels."""
    return [np.stack([label_row([word.text]) for word in ontology.classes[one].words]) for one in labels.classes]


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


def _questions(opened: Sequence[OpenFrames], canon: Canon, gold: set[Triple], text: str) -> list[Question]:
    """Of a statement that a sentence makes with both ends, the places that have one end are not looked at."""
    found, within = [], set[Triple]()
    for one in opened:
        said = [one.object.name if t.is_object else said_value(t, one.object, text) or "" for t in one.terms]
        fits = one.asked.fits >= 0
        triples = {
            (int(n), int(m)): canon.triple((one.subjects[m].name, one.terms[n].iri.value, said[n]))
            for n, m in np.argwhere(fits)
        }
        inside = {place for place in triples if (at := one.asked.subjects[place[1]]) and at[0] == one.asked.sentence}
        right = {place for place, triple in triples.items() if triple in gold}
        within |= {triples[place] for place in right & inside}
        found.append((one.asked, fits, triples, right, inside))
    questions = []
    for asked, fits, triples, right, inside in found:
        used, true = fits.copy(), np.zeros_like(fits)
        for place in right:
            aside = place not in inside and triples[place] in within
            used[place], true[place] = not aside, not aside
        questions.append(Question(asked, true, used))
    return questions


def _read(reading: DocumentReading, canon: Canon) -> set[Triple]:
    return {
        canon.triple(_said(claim))
        for key, claim in reading.claims.items()
        if local_name(claim.predicate.value) not in UNCOUNTED and not reading.ways[key]
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
    read, carried = BuiltinExtractor._read, sentence_network.carried_network

    def carry(number: str) -> None:
        network = of[number], Thresholds(2.0, 2.0)
        sentence_frames.carried_network = context.carried_network = lambda: network  # type: ignore[assignment]

    def kept(extractor: BuiltinExtractor, document: Document) -> DocumentReading:
        number = Path(document.source).stem
        carry(number)
        readings[number] = read(extractor, document)
        return readings[number]

    BuiltinExtractor._read = kept  # type: ignore[method-assign]
    found: dict[str, Any] = {}
    try:
        for pack in dict.fromkeys(row["ontology"] for row in rows):
            mine = [row for row in rows if row["ontology"] == pack]
            with reading_of(pack, ((f"{row['id']}.md", row["text"]) for row in mine), learns=False) as kg:
                for row in mine:
                    reading, canon = readings[row["id"]], Canon(kg.ontology, row["also"])
                    carry(row["id"])
                    frames = FrameReader(reading, Referents(reading), of[row["id"]])
                    lesson = lesson_of(frames, reading, row, canon)
                    found[row["id"]] = lesson if as_lessons else (_stated(frames, reading, canon), lesson)
    finally:
        BuiltinExtractor._read = read  # type: ignore[method-assign]
        sentence_frames.carried_network = context.carried_network = carried
    return [found[row["id"]] for row in rows]


def _stated(frames: FrameReader, reading: DocumentReading, canon: Canon) -> list[tuple[float, Triple]]:
    return [
        (share, canon.triple(_said(claim)))
        for fillings in frames.statements(CANDIDATE)
        for share, item in chosen(fillings)
        if (claim := claim_of(reading, item, share)) is not None
    ]


# The network


class Learner(nn.Module):
    """The network with its weights as they are learnt; the names are those of `SentenceNetwork`."""

    def __init__(self, signs: int, classes: int, features: int) -> None:
        super().__init__()
        from transformers import AutoModel

        model = AutoModel.from_pretrained(str(carried_path())).eval()
        for parameter in model.parameters():
            parameter.requires_grad = False
        self.embeddings, self.encoder = model.embeddings, nn.Module()
        self.encoder.layer = model.encoder.layer[:LAYERS]
        for layer in self.encoder.layer:
            own = layer.attention.self
            own.query, own.key, own.value = (Adapted(part, RANK) for part in (own.query, own.key, own.value))
            for part in (layer.attention.output, layer.intermediate, layer.output):
                part.dense = Adapted(part.dense, RANK)
        wide = model.config.hidden_size
        shapes: dict[str, tuple[int, ...]] = {"spansigns": (WIDTH, signs), "classsigns": (WIDTH, signs)}
        shapes |= {"spanout": (1, WIDTH + signs), "spanlast": (1,), "classlabels": (WIDTH, classes)}
        shapes |= {"noclass": (1, WIDTH), "noclassshift": (1,)}
        for name in ("span", "class", "object", "subject"):
            shapes |= {f"{name}words": (ROLES * WIDTH, 2 * wide), f"{name}offset": (ROLES * WIDTH,)}
        shapes |= {"objectkind": (len(KINDS), WIDTH), "subjectkind": (len(KINDS), WIDTH)}
        for name in ("objectside", "subjectside", "pairobject", "pairsubject"):
            shapes |= {name: (WIDTH, WIDTH), re.sub("side$", "", name) + "shift": (WIDTH,)}
        for n in (1, 2):
            shapes |= {f"label{n}": (WIDTH, wide), f"labelshift{n}": (WIDTH,)}
        shapes |= {"trigger": (WIDTH, 2 * wide), "triggerlabel": (WIDTH, wide), "triggerplace": (2 * len(AWAY) + 3,)}
        shapes |= {"features": (32, features), "featureshift": (32,), "featureout": (1, 32), "featurelast": (1,)}
        shapes |= {"featureplain": (1, features), "fits": (len(FITS) - 1,)}
        self.weights = nn.ParameterDict({name: nn.Parameter(_first(name, shape)) for name, shape in shapes.items()})
        for name, start in (("triggerscale", [1.0]), ("fit", [0.3, 0.3]), ("none", [4.0])):
            self.weights[name] = nn.Parameter(torch.tensor(start))
        self.draw = random.Random(0)
        self.signs: dict[str, int] = {}
        self.sign_weights = nn.Parameter(torch.zeros(512))
        self.temperature = 1.0

    def rows(self, sentences: Sequence[SeenSentence]) -> list[torch.Tensor]:
        """The vectors of the words, as `SentenceNetwork.rows` has them."""
        found: list[Any] = [None] * len(sentences)
        coded = [[101, *[one for word in item.pieces for one in word][:254], 102] for item in sentences]
        order = sorted(range(len(sentences)), key=lambda n: len(coded[n]))
        for part in (order[n : n + 12] for n in range(0, len(order), 12)):
            ids = nn.utils.rnn.pad_sequence([torch.tensor(coded[n]) for n in part], batch_first=True)
            mask = nn.utils.rnn.pad_sequence([torch.ones(len(coded[n])) for n in part], batch_first=True)
            states = self.embeddings(ids)
            for layer in self.encoder.layer:
                told = layer(states, (1 - mask[:, None, None, :]) * -1e9)
                states = told[0] if isinstance(told, tuple) else told
            for n, row in zip(part, states, strict=True):
                ends = torch.tensor(np.minimum(np.cumsum([0, *map(len, sentences[n].pieces)]), len(coded[n]) - 2))
                sums = torch.cat([torch.zeros(1, row.shape[1]), row[1 : len(coded[n]) - 1].cumsum(0)])
                means = (sums[ends[1:]] - sums[ends[:-1]]) / (ends[1:] - ends[:-1]).clamp(min=1)[:, None]
                still = torch.tensor(sentences[n].still, dtype=torch.float32)
                found[n] = functional.dropout(torch.cat([means, still], 1), 0.2, self.training)
        return found

    def _pooled(self, name: str, rows: torch.Tensor, first: Any, last: Any) -> torch.Tensor:
        w = self.weights
        parts = (rows @ w[name + "words"].T + w[name + "offset"]).view(len(rows), ROLES, -1)
        edge = torch.zeros(2, *parts.shape[1:])
        wide, sums = torch.cat([edge, parts, edge]), torch.cat([edge[:1, 0], parts[:, 0].cumsum(0)])
        found = (sums[last] - sums[first]) / (last - first)[:, None]
        for role, places in enumerate((first + 2, last + 1, first, first + 1, last + 2, last + 3), 1):
            found = found + wide[places, role]
        return found

    def loss(self, lesson: Lesson, strange: Lesson, *, states: bool) -> torch.Tensor:
        """How unlikely what the annotation says is; ``states``: its statements as well as its names.

        ``strange``: a document whose ontology has no class for most of the names.
        """
        w, seen = self.weights, [item for item, _, _ in lesson.sentences]
        rows = self.rows(seen)
        labels = self._told_labels(lesson)
        whole = torch.zeros(())
        told: list[tuple[torch.Tensor, torch.Tensor]] = []
        for row, (item, named, classes) in zip(rows, lesson.sentences, strict=True):
            first, last = (torch.tensor([getattr(one, end) for one in item.stretches]) for end in ("first", "last"))
            signs = torch.tensor(item.signs)
            hidden = self._dropped(torch.tanh(self._pooled("span", row, first, last) + signs @ w["spansigns"].T), 0.3)
            scores = torch.cat([hidden, signs], 1) @ w["spanout"][0] + w["spanlast"][0]
            truth = torch.tensor(named)
            whole = whole + functional.binary_cross_entropy_with_logits(scores, truth, reduction="sum") / 60
            known = torch.tensor(classes != -1)
            if known.any():
                inside = self._pooled("class", row, first[known], last[known]) + signs[known] @ w["classsigns"].T
                told.append((self._dropped(torch.tanh(inside), 0.2), torch.tensor(classes)[known]))
        if told and len(labels):
            hidden, truth = (torch.cat(part) for part in zip(*told, strict=True))
            whole = whole + self._unlikely_classes(hidden, truth, lesson, labels, strange)
        if states and lesson.questions:
            placed = self._placed(lesson, rows, labels)
            lost = [self._lost(question, lesson, placed) for question in lesson.questions]
            whole = whole + torch.stack(lost).sum() / 25
        return whole

    def _unlikely_classes(self, hidden: Any, truth: Any, lesson: Lesson, labels: Any, strange: Lesson) -> torch.Tensor:
        """As annotated; without the class and its like, names are of none, and under another ontology as well."""
        scores = self._class_scores(hidden, labels)
        none = torch.full_like(truth, len(labels))
        whole = 0.5 * functional.cross_entropy(scores, torch.where(truth < 0, none, truth))
        typed = truth >= 0
        if typed.any():
            near = torch.tensor(lesson.near)[truth[typed]]
            left = torch.cat([scores[typed][:, :-1].masked_fill(near, -1e4), scores[typed][:, -1:]], 1)
            whole = whole + 0.1 * functional.cross_entropy(left, none[typed])
            alike = torch.tensor(lesson.near @ (lesson.called @ strange.called.T > ALIKE))[truth[typed]]
            rows = self._told_labels(strange)
            away = self._class_scores(hidden[typed], rows)
            away = torch.cat([away[:, :-1].masked_fill(alike, -1e4), away[:, -1:]], 1)
            whole = whole + 0.25 * functional.cross_entropy(away, torch.full_like(none[typed], len(rows)))
        return whole

    def _told_labels(self, lesson: Lesson) -> torch.Tensor:
        """The classes by their labels, or by some of them: another ontology calls the same thing by one of these."""
        rows = lesson.labels
        if self.training and len(rows) and self.draw.random() < FEWER:
            some = [self.draw.sample(range(len(one)), self.draw.randint(1, len(one))) for one in lesson.spoken]
            rows = np.stack([one[kept].mean(axis=0) for one, kept in zip(lesson.spoken, some, strict=True)])
        return torch.tanh(torch.tensor(rows, dtype=torch.float32) @ self.weights["classlabels"].T)

    def _told_terms(self, terms: PropertyLabels) -> tuple[list[Any], Any, Any]:
        """The words of each property, or some of them; their means; and all words in one."""
        words = np.split(terms.words, terms.starts[1:])
        if self.training and self.draw.random() < FEWER:
            kept = [[n for n in range(len(one)) if self.draw.random() < KEPT] for one in words]
            words = [one[some or [0]] for one, some in zip(words, kept, strict=True)]
        return words, torch.tensor(np.stack([one.mean(axis=0) for one in words])), torch.tensor(np.concatenate(words))

    def _class_scores(self, hidden: Any, labels: Any) -> torch.Tensor:
        """A column a class, and one for none of them."""
        none = hidden @ self.weights["noclass"].T + self.weights["noclassshift"]
        return torch.cat([hidden @ labels.T, none], 1)

    def _dropped(self, rows: torch.Tensor, share: float) -> torch.Tensor:
        return functional.dropout(rows, share, self.training)

    def _placed(self, lesson: Lesson, rows: Sequence[torch.Tensor], labels: torch.Tensor) -> list[Any]:
        w, terms = self.weights, lesson.terms
        told, means, words = self._told_terms(terms)
        said, asked = (torch.tanh(means @ w[f"label{n}"].T + w[f"labelshift{n}"]) for n in (1, 2))
        domains, ranges = torch.tensor(terms.domains), torch.tensor(terms.ranges)
        is_object = torch.tensor(terms.is_object, dtype=torch.float32)
        of = torch.tensor([n for n, one in enumerate(told) for _ in one])
        spoken = words @ w["triggerlabel"].T
        found: list[Any] = []
        for row, places in zip(rows, lesson.places, strict=True):
            if not places:
                found.append(None)
                continue
            first, last = (torch.tensor([getattr(one, end) for one in places]) for end in ("first", "last"))
            kinds = torch.tensor([one.kind for one in places])
            objects = self._dropped(torch.tanh(self._pooled("object", row, first, last) + w["objectkind"][kinds]), 0.2)
            subjects = torch.tanh(self._pooled("subject", row, first, last) + w["subjectkind"][kinds])
            subjects = self._dropped(subjects, 0.2)
            scores = self._class_scores(torch.tanh(self._pooled("class", row, first, last)), labels)
            shares = torch.softmax(scores, 1)[:, :-1]
            known = torch.tensor([one.class_ for one in places])
            hard = functional.one_hot(known.clamp(min=0), len(labels)).float() * 0.98 + 0.02 / len(labels)
            shares = torch.where((known >= 0)[:, None], hard, shares)
            words_ = (row @ w["trigger"].T) @ spoken.T / 7
            triggers = torch.full((len(row), len(means)), -1e4)
            triggers = triggers.scatter_reduce(1, of.expand(len(row), -1), words_, "amax")
            found.append(
                (
                    (objects @ w["objectside"].T + w["objectshift"]) @ said.T / 7,
                    (subjects @ w["subjectside"].T + w["subjectshift"]) @ asked.T / 7,
                    objects @ w["pairobject"].T + w["pairobjectshift"],
                    subjects @ w["pairsubject"].T + w["pairsubjectshift"],
                    w["fit"][0] * torch.log(shares @ domains.T + 0.01),
                    w["fit"][1] * torch.log(shares @ ranges.T + 0.01) * is_object,
                    triggers,
                )
            )
        return found

    def _lost(self, question: Question, lesson: Lesson, placed: Sequence[Any]) -> torch.Tensor:
        scores = self.scores(question, lesson, placed)
        whole = torch.logsumexp(torch.cat([scores.reshape(-1), torch.zeros(1)]), 0)
        right = torch.tensor(question.right)
        return whole - torch.logsumexp(scores[right], 0) if right.any() else whole

    def scores(self, question: Question, lesson: Lesson, placed: Sequence[Any]) -> torch.Tensor:
        """What each filling scores, a row a property and a column a subject; "none is made" scores 0."""
        w, asked = self.weights, question.asked
        objects, _, pair, _, _, ranges, triggers = placed[asked.sentence]
        terms, n = list(asked.terms), asked.place
        where = torch.tensor(beside(len(triggers), lesson.places[asked.sentence][n]))
        trigger = torch.logsumexp(triggers[:, terms] + w["triggerplace"][where][:, None], 0) * w["triggerscale"][0]
        whole = objects[n, terms] + trigger + ranges[n, terms]
        whole = whole + torch.stack([self.sign_weights[[self._sign(s) for s in signs]].sum() for signs in asked.signs])
        features = torch.tensor(asked.features)
        hidden = torch.tanh(features @ w["features"].T + w["featureshift"])
        subject = hidden @ w["featureout"][0] + w["featurelast"][0] + features @ w["featureplain"][0]
        sides = []
        for at in asked.subjects:
            if at is None or placed[at[0]] is None:
                sides.append(-w["fit"][0] * torch.ones(len(terms)))
                continue
            there = placed[at[0]]
            sides.append(there[1][at[1], terms] + there[4][at[1], terms] + there[3][at[1]] @ pair[n] / 7)
        scores = whole[:, None] + subject[None] + torch.stack(sides, 1)
        scores = scores + w["fits"][torch.tensor(np.maximum(asked.fits, 0).astype(int))] - w["none"][0]
        for (row, column), signs in asked.read.items():
            more = torch.zeros_like(scores)
            more[row, column] = 1
            scores = scores + more * self.sign_weights[[self._sign(sign) for sign in signs]].sum()
        return scores.masked_fill(~torch.tensor(question.used), -1e4)

    def _sign(self, sign: str) -> int:
        return self.signs.setdefault(sign, min(len(self.signs), 511))

    def packed(self) -> tuple[dict[str, Any], dict[str, float]]:
        """The weights as they are shipped, and what the signs weigh."""
        found: dict[str, Any] = {}
        for name, module in self.named_modules():
            if isinstance(module, Adapted):
                found |= {f"{name}.{side}": part for side, part in module.learnt().items()}
        found["temperature"] = np.array([self.temperature], np.float32)
        for name, values in self.weights.items():
            rows = values.detach().numpy()
            found |= packed(name, rows) if rows.ndim > 1 else {name: rows}
        weighed = {sign: round(float(self.sign_weights[n].detach()), 3) for sign, n in sorted(self.signs.items())}
        return found, {sign: weight for sign, weight in weighed.items() if abs(weight) >= LEAST_WEIGHT}

    def network(self) -> SentenceNetwork:
        """The network as it would be shipped."""
        return SentenceNetwork(*self.packed())


def _first(name: str, shape: tuple[int, ...]) -> torch.Tensor:
    """What a weight begins with."""
    if name in ("triggerplace", "fits") or len(shape) == 1:
        return torch.zeros(shape)
    return torch.randn(shape) if name.endswith("kind") else (torch.rand(shape) * 2 - 1) / shape[1] ** 0.5


def fit(lessons: Sequence[Lesson], *, states: bool, epochs: int) -> Learner:
    """The network, learnt from these documents."""
    torch.manual_seed(0)
    draw = random.Random(0)
    some = next(lesson for lesson in lessons if lesson.questions)
    widths = some.sentences[0][0].signs.shape[1], some.labels.shape[1], some.questions[0].asked.features.shape[1]
    learner = Learner(*widths).train()
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
                loss = learner.loss(lesson, draw.choice(usable), states=states) / TOGETHER
                loss.backward()  # type: ignore[no-untyped-call]
                lost += float(loss.detach())
            nn.utils.clip_grad_norm_([*adapted, *ours], 2.0)
            steps.step()
        print(f"epoch {epoch + 1} of {epochs}: loss {TOGETHER * lost / len(usable):.3f}", flush=True)
    return learner.eval()


@torch.no_grad()
def calibrate(learner: Learner, lessons: Sequence[Lesson]) -> None:
    """Sets the temperature of the odds for which what the annotation says of documents not learnt from is likeliest."""
    learner.eval()
    odds, right = list[Any](), list[Any]()
    for lesson in (one for one in lessons if one.questions):
        rows = learner.rows([item for item, _, _ in lesson.sentences])
        placed = learner._placed(lesson, rows, learner._told_labels(lesson))
        for one in lesson.questions:
            used = torch.tensor(one.used)
            told = torch.cat([torch.zeros(1), learner.scores(one, lesson, placed)[used]])
            odds.append(torch.logit(torch.softmax(told, 0)[1:], 1e-6))
            right.append(torch.tensor(one.right)[used].float())
    all_odds, all_right = torch.cat(odds), torch.cat(right)
    lost = {
        by: float(functional.binary_cross_entropy_with_logits(all_odds / by, all_right, reduction="sum"))
        for by in np.arange(0.8, 3.0, 0.1).round(1).tolist()
    }
    learner.temperature = min(lost, key=lambda one: lost[one])
    print(f"temperature {learner.temperature}: {lost[learner.temperature]:.1f}, at 1: {lost[1.0]:.1f}")


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
        *(rows_of(f"train{number}.jsonl") for number in range(3, 15)),
        *map(sentences_of, asked.also),
    )
    carried = sentence_network.carried_network()
    if carried is None:
        raise SystemExit("no network to begin with: the stretches are proposed by the one that is shipped")
    first = read_all(rows, [carried[0]] * len(rows), as_lessons=True)
    parts = [
        [one for n, one in enumerate(first) if n not in held and (n in half) == inside] for inside in (False, True)
    ]
    halves = [fit(part, states=False, epochs=FIRST_EPOCHS).network() for part in parts]
    lessons = read_all(rows, [halves[n not in half] for n in range(len(rows))], as_lessons=True)
    learner = fit([one for n, one in enumerate(lessons) if n not in held], states=True, epochs=EPOCHS)
    calibrate(learner, [one for n, one in enumerate(lessons) if n in held])
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
