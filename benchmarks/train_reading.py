"""Learns what the frames of properties are weighed by, from annotated sentences under many small ontologies.

A folder has ``ontologies/NAME.ttl`` and ``examples.train.jsonl``, whose lines say of which ontology they are, as for
`benchmarks.learnt_reading`. Weights are learnt from the sentences, no text of theirs is kept. Run as

    python -m benchmarks.train_reading FOLDER… [--without PATTERN] [--output FILE]

``--without`` leaves out the ontologies whose name the regular expression finds, so that ``learnt_reading`` can tell how
well the frames serve ontologies that nothing was learnt from. About ten minutes of processor time.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch
from pyoxigraph import RdfFormat, parse
from safetensors.numpy import save_file
from torch import nn

from kgplatform.extraction.learnt.examples import AnnotatedExample, read_examples
from kgplatform.extraction.learnt.features import Place, Stretch, Stretches, TextWord, WordRanges, words_of
from kgplatform.extraction.learnt.frames import (
    LAYERS,
    WEIGHTS,
    Floats,
    PropertyFrames,
    SeenText,
    described,
    label_vectors,
    packed,
    pair_signs,
    pair_vector,
    seen_text,
    stretch_signs,
    stretch_vector,
    word_vectors,
)
from kgplatform.extraction.learnt.reader import pairs_of
from kgplatform.models.embed import MiniLM, carried_path
from kgplatform.ontology.schema import read_ontology

STRETCH_WIDTH, PAIR_WIDTH, STRETCH_EPOCHS, PAIR_EPOCHS = 48, 96, 3, 6
RATE, DECAY, KEPT, NEGATIVES, TOGETHER = 2e-3, 0.05, 12, 18, 8


@dataclass
class Lesson:
    """A sentence under an ontology; ``said`` has the places of subject and object with the frame's number."""

    ontology: str
    seen: SeenText
    stretches: list[Stretch]
    said: list[tuple[list[Place], int, list[Place]]]
    rows: Floats = field(default_factory=lambda: np.zeros((0, 0), np.float32))
    signs: Floats = field(default_factory=lambda: np.zeros((0, 0), np.float32))
    near: Floats = field(default_factory=lambda: np.zeros((0, 0, 0), np.float32))
    targets: Floats = field(default_factory=lambda: np.zeros((0, 0), np.float32))


class StretchNet(nn.Module):
    """Whether a stretch is a subject or object."""

    def __init__(self, width: int, signs: int) -> None:
        super().__init__()
        self.rows, self.signs = nn.Linear(width, STRETCH_WIDTH), nn.Linear(signs, STRETCH_WIDTH, bias=False)
        self.out, self.drop = nn.Linear(STRETCH_WIDTH + signs, 1), nn.Dropout(0.2)

    def forward(self, rows: torch.Tensor, signs: torch.Tensor) -> torch.Tensor:
        """The log-odds."""
        hidden = torch.tanh(self.rows(self.drop(rows)) + self.signs(signs))
        return self.out(torch.cat([self.drop(hidden), signs], 1)).squeeze(1)

    def weights(self) -> dict[str, torch.Tensor]:
        """The weights as `FrameModel` names them."""
        return {
            "stretch.w": self.rows.weight,
            "stretch.b": self.rows.bias,
            "stretch.f": self.signs.weight,
            "stretch.o": self.out.weight,
            "stretch.ob": self.out.bias,
        }


class PairNet(nn.Module):
    """Which frame two stretches fill."""

    def __init__(self, width: int, signs: int, frame: int) -> None:
        super().__init__()
        self.rows, self.signs = nn.Linear(width, PAIR_WIDTH), nn.Linear(signs, PAIR_WIDTH, bias=False)
        self.frame, self.lex = nn.Linear(frame, PAIR_WIDTH), nn.Linear(4, 1, bias=False)
        self.none, self.gate = nn.Linear(PAIR_WIDTH + signs, 1), nn.Linear(PAIR_WIDTH, 4, bias=False)
        nn.init.zeros_(self.gate.weight)
        self.drop, self.less = nn.Dropout(0.3), nn.Dropout(0.2)

    def forward(
        self, rows: torch.Tensor, signs: torch.Tensor, near: torch.Tensor, frames: torch.Tensor
    ) -> torch.Tensor:
        """The scores of no frame and of each."""
        states = self.less(torch.tanh(self.rows(self.drop(rows)) + self.signs(signs)))
        keys = torch.tanh(self.frame(self.drop(frames)))
        weighed = (near * (self.lex.weight[0] + self.gate(states)[:, None, :])).sum(2)
        return torch.cat([self.none(torch.cat([states, signs], 1)), states @ keys.T + weighed], 1)

    def weights(self) -> dict[str, torch.Tensor]:
        """The weights as `FrameModel` names them."""
        return {
            "pair.w": self.rows.weight,
            "pair.b": self.rows.bias,
            "pair.f": self.signs.weight,
            "pair.p": self.frame.weight,
            "pair.pb": self.frame.bias,
            "pair.lex": self.lex.weight,
            "pair.g": self.gate.weight,
            "pair.none": self.none.weight,
            "pair.noneb": self.none.bias,
        }


def read_lessons(folder: Path, without: str, model: MiniLM) -> tuple[list[Lesson], dict[str, PropertyFrames]]:
    """The sentences of the folder that are learnt from, and the frames of its ontologies."""
    path = folder / "examples.train.jsonl"
    lines = path.read_text(encoding="utf-8").split("\n")
    held = {json.loads(line)["text"] for line in _lines(folder / "sentences.dev.jsonl")}  # some are among the examples
    names = {number: json.loads(line)["ontology"] for number, line in enumerate(lines, 1) if line.strip()}
    lessons: list[Lesson] = []
    frames: dict[str, PropertyFrames] = {}
    for name in sorted(set(names.values())):
        if without and re.search(without, name, re.IGNORECASE):
            continue
        turtle = (folder / "ontologies" / f"{name}.ttl").read_bytes()
        ontology = read_ontology(quad.triple for quad in parse(turtle, format=RdfFormat.TURTLE))
        properties = sorted({term.iri.value for term in ontology.domain_properties})
        key = f"{folder.name}/{name}"
        frames[key] = described(lambda text: label_vectors(model, text), ontology, properties)
        numbers = {iri: number for number, iri in enumerate(properties)}
        for example in read_examples(path, ontology).examples:
            if names[example.line] == name and example.text not in held:
                lessons.append(_lesson(key, example, numbers, model))
    return lessons, frames


def _lines(path: Path) -> list[str]:
    return [line for line in path.read_text(encoding="utf-8").split("\n") if line.strip()] if path.is_file() else []


def _lesson(key: str, example: AnnotatedExample, numbers: dict[str, int], model: MiniLM) -> Lesson:
    words = words_of(example.text)
    ranges = WordRanges(example.text, words)
    said = [
        (ranges.find(one.subject, {}), numbers[one.predicate.value], ranges.find(one.object, {}))
        for one in example.said
    ]
    seen = seen_text(words, vectors(model, example.text, words))
    return Lesson(key, seen, Stretches(example.text, words, ()).all(), said)


def vectors(model: MiniLM, text: str, words: Sequence[TextWord]) -> Floats:
    """The vectors of the words."""
    return word_vectors(model, text, words)


def learn_stretches(lessons: Sequence[Lesson], chance: random.Random) -> StretchNet:
    """The network that tells subjects and objects."""
    told = [lesson for lesson in lessons if lesson.stretches]
    first = told[0]
    width = stretch_vector(first.seen, first.stretches[0]).size
    net = StretchNet(width, len(stretch_signs(first.seen.words, first.stretches[0])))
    steps = torch.optim.AdamW(net.parameters(), lr=RATE, weight_decay=0.02)
    for _ in range(STRETCH_EPOCHS):
        chance.shuffle(told)
        for start in range(0, len(told), 2 * TOGETHER):
            some = told[start : start + 2 * TOGETHER]
            right = torch.tensor(np.concatenate([_is_said(lesson) for lesson in some]))
            odds = net(*_stretch_inputs(some))
            _step(steps, nn.functional.binary_cross_entropy_with_logits(odds, right))
    net.eval()
    return net


def _stretch_inputs(lessons: Sequence[Lesson]) -> tuple[torch.Tensor, torch.Tensor]:
    rows = [stretch_vector(lesson.seen, item) for lesson in lessons for item in lesson.stretches]
    signs = [stretch_signs(lesson.seen.words, item) for lesson in lessons for item in lesson.stretches]
    return torch.tensor(np.array(rows)), torch.tensor(np.array(signs, np.float32))


def _is_said(lesson: Lesson) -> Floats:
    places = {place for subjects, _, objects in lesson.said for place in (*subjects, *objects)}
    return np.array([(item.first, item.last) in places for item in lesson.stretches], np.float32)


def _step(steps: torch.optim.Optimizer, loss: torch.Tensor) -> None:
    steps.zero_grad()
    loss.backward()  # type: ignore[no-untyped-call]
    steps.step()


def prepare_pairs(lessons: Sequence[Lesson], net: StretchNet, frames: dict[str, PropertyFrames]) -> list[Lesson]:
    """The lessons with the pairs to learn from: all that say something, and the likeliest of the others."""
    found = []
    for lesson in lessons:
        if not lesson.stretches:
            continue
        with torch.no_grad():
            shares = torch.sigmoid(net(*_stretch_inputs([lesson]))).numpy()
        ranked = sorted(range(len(shares)), key=lambda n: -shares[n])[:KEPT]
        kept = [(lesson.stretches[n], float(shares[n])) for n in sorted(ranked) if shares[n] > 0.02]
        targets = {pair: _filled(lesson, kept[pair[0]][0], kept[pair[1]][0]) for pair in pairs_of(kept)}
        unsaid = [pair for pair in targets if not targets[pair]]
        unsaid.sort(key=lambda pair: -kept[pair[0]][1] * kept[pair[1]][1])
        pairs = [pair for pair in targets if targets[pair]] + unsaid[:NEGATIVES]
        if not pairs:
            continue
        frame = frames[lesson.ontology]
        lesson.rows = np.array([pair_vector(lesson.seen, kept[a][0], kept[b][0]) for a, b in pairs], np.float16)
        lesson.signs = np.array([pair_signs(lesson.seen, kept, pair) for pair in pairs], np.float32)
        lesson.near = frame.nearness(lesson.seen, [(kept[a][0], kept[b][0]) for a, b in pairs])
        lesson.targets = np.zeros((len(pairs), len(frame.forms) + 1), np.float32)
        for row, pair in enumerate(pairs):
            for column in targets[pair] or [-1]:
                lesson.targets[row, column + 1] = 1 / max(1, len(targets[pair]))
        found.append(lesson)
    return found


def _filled(lesson: Lesson, subject: Stretch, object_: Stretch) -> list[int]:
    first, second = (subject.first, subject.last), (object_.first, object_.last)
    return sorted({number for subjects, number, objects in lesson.said if first in subjects and second in objects})


def learn_pairs(lessons: Sequence[Lesson], frames: dict[str, PropertyFrames], chance: random.Random) -> PairNet:
    """The network that tells which frame two stretches fill."""
    first = lessons[0]
    vectors_ = {name: torch.tensor(frame.vectors) for name, frame in frames.items()}
    net = PairNet(first.rows.shape[1], first.signs.shape[1], next(iter(vectors_.values())).shape[1])
    steps = torch.optim.AdamW(net.parameters(), lr=RATE, weight_decay=DECAY)
    by: dict[str, list[Lesson]] = defaultdict(list)
    for lesson in lessons:
        by[lesson.ontology].append(lesson)
    for epoch in range(PAIR_EPOCHS):
        for group in steps.param_groups:
            group["lr"] = RATE * (1 - epoch / PAIR_EPOCHS) + RATE / 20
        parts = []
        for own in by.values():
            chance.shuffle(own)
            parts += [own[start : start + TOGETHER] for start in range(0, len(own), TOGETHER)]
        chance.shuffle(parts)
        total = 0.0
        for part in parts:
            rows = torch.tensor(np.concatenate([lesson.rows for lesson in part])).float()
            signs, near, targets = (
                torch.tensor(np.concatenate([getattr(lesson, name) for lesson in part]))
                for name in ("signs", "near", "targets")
            )
            scores = net(rows, signs, near, vectors_[part[0].ontology])
            loss = -(targets * torch.log_softmax(scores, 1)).sum(1).mean()
            _step(steps, loss)
            total += loss.item()
        print(f"pairs, round {epoch + 1}: loss {total / len(parts):.3f}", file=sys.stderr, flush=True)
    net.eval()
    return net


def main(arguments: Sequence[str] | None = None) -> int:
    """Learns and writes the weights."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--without", default="", metavar="PATTERN")
    parser.add_argument("--output", default=WEIGHTS, type=Path, metavar="FILE")
    chosen = parser.parse_args(arguments)
    torch.manual_seed(0)
    torch.set_num_threads(1)
    chance = random.Random(0)
    model = MiniLM(carried_path())
    lessons: list[Lesson] = []
    frames: dict[str, PropertyFrames] = {}
    for folder in chosen.folders:
        more, own = read_lessons(folder, chosen.without, model)
        lessons += more
        frames |= own
    print(f"{len(lessons)} sentences under {len(frames)} ontologies, layers {LAYERS}", file=sys.stderr, flush=True)
    stretches = learn_stretches(lessons, chance)
    pairs = learn_pairs(prepare_pairs(lessons, stretches, frames), frames, chance)
    weights = {**stretches.weights(), **pairs.weights()}
    held = (packed(name, value.detach().numpy()) for name, value in weights.items())
    save_file({name: value for part in held for name, value in part.items()}, chosen.output)
    return 0


if __name__ == "__main__":
    sys.exit(main())
