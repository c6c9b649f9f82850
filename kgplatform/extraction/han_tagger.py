"""Persons, places, organisations and times in Chinese text, by the weights of LAC that package jieba carries.

LAC is a two-layer bidirectional GRU over characters with a CRF (Jiao, Sun, Sun: Chinese Lexical Analysis with Deep
Bi-GRU-CRF Network, 2018, section 2); jieba ships it for paddle, here numpy computes it. The clauses of a text go
through side by side, the longest first, so that a step multiplies one matrix for all that are still running.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float32]

NAMED: Final = {
    "PER": "person",
    "nr": "person",
    "LOC": "place",
    "ns": "place",
    "ORG": "organisation",
    "nt": "organisation",
}
"""What the tags of names tell of them; ``nw`` and ``nz``, works and other proper nouns, tell no kind."""
_NAMES: Final = frozenset((*NAMED, "nw", "nz"))
_CLAUSE: Final = re.compile(r"[^\n。！？!?；;，,：:.]*[\u3400-\u9fff][^\n。！？!?；;，,：:.]*")
_HAN: Final = re.compile(r"[\u3400-\u9fff·]{2,}")
_LONGEST: Final = 120
_WIDE: Final = str.maketrans({chr(code): chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)})


@dataclass(frozen=True, slots=True)
class TaggedName:
    """A Chinese name with its tag and its offsets."""

    start: int
    end: int
    tag: str


@dataclass(frozen=True, slots=True)
class _Recurrent:
    """A gated recurrent layer in one direction, with the matrix that its input goes through."""

    inward: Floats
    inward_bias: Floats
    gates: Floats
    candidate: Floats
    bias: Floats

    def __call__(self, rows: Floats, lengths: Sequence[int], *, back: bool) -> Floats:
        """The states for rows of shape (clause, place, features), clauses by falling length."""
        width = self.candidate.shape[0]
        given = rows @ self.inward + self.inward_bias + self.bias
        states = np.zeros((*rows.shape[:2], width), np.float32)
        hidden = np.zeros((len(rows), width), np.float32)
        running = [sum(length > place for length in lengths) for place in range(rows.shape[1])]
        for place in reversed(range(rows.shape[1])) if back else range(rows.shape[1]):
            some = running[place]
            before, here = hidden[:some], given[:some, place]
            both = _sigmoid(here[:, : 2 * width] + before @ self.gates)
            update, reset = both[:, :width], both[:, width:]
            proposed = np.tanh(here[:, 2 * width :] + (reset * before) @ self.candidate)
            hidden[:some] = before + update * (proposed - before)
            states[:some, place] = hidden[:some]
        return states


def _sigmoid(values: Floats) -> Floats:
    return np.asarray(0.5 * (1 + np.tanh(0.5 * values)), dtype=np.float32)


class HanTagger:
    """The network with its weights; safe for several threads, which read it only."""

    def __init__(self, folder: Path) -> None:
        """Reads the weights.

        Raises:
            OSError, ValueError, KeyError: the folder does not hold them.
        """
        own = folder / "model_baseline"
        self._codes = {word: int(code) for code, word in _pairs(folder / "word.dic")}
        self._tags = [tag for _, tag in _pairs(folder / "tag.dic")]
        self._words = _tensor(own / "word_emb")
        layers = [_recurrent(own, number) for number in range(4)]
        self._layers = [(layers[0], layers[1]), (layers[2], layers[3])]
        self._emission, self._emission_bias = _tensor(own / "fc_4.w_0"), _tensor(own / "fc_4.b_0").ravel()
        weights = _tensor(own / "crfw")
        self._opening, self._closing, self._following = weights[0], weights[1], weights[2:]

    def names(self, text: str) -> list[TaggedName]:
        """The names of a text, in order."""
        clauses = [(start, text[start:end].translate(_WIDE)) for start, end in _clauses(text)]
        clauses.sort(key=lambda clause: -len(clause[1]))
        found: list[TaggedName] = []
        for first in range(0, len(clauses), 64):
            some = clauses[first : first + 64]
            for (start, clause), tags in zip(some, self._tagged([clause for _, clause in some]), strict=True):
                found += (
                    TaggedName(start + a, start + b, tag) for a, b, tag in _words(tags) if _HAN.fullmatch(clause[a:b])
                )
        return sorted(found, key=lambda name: name.start)

    def _tagged(self, clauses: Sequence[str]) -> list[list[str]]:
        lengths = [len(clause) for clause in clauses]
        unknown = self._codes["OOV"]
        codes = np.zeros((len(clauses), lengths[0]), dtype=np.int64)
        for row, clause in zip(codes, clauses, strict=True):
            row[: len(clause)] = [self._codes.get(sign, unknown) for sign in clause]
        rows = self._words[codes]
        for forward, backward in self._layers:
            rows = np.concatenate([forward(rows, lengths, back=False), backward(rows, lengths, back=True)], axis=2)
        scores = rows @ self._emission + self._emission_bias
        return [self._best(scores[row, :length]) for row, length in enumerate(lengths)]

    def _best(self, scores: Floats) -> list[str]:
        """The likeliest tags, by Viterbi."""
        reached = scores[0] + self._opening
        origins = []
        for row in scores[1:]:
            ways = reached[:, None] + self._following
            origins.append(ways.argmax(axis=0))
            reached = ways.max(axis=0) + row
        last = int((reached + self._closing).argmax())
        path = [last]
        for origin in reversed(origins):
            path.append(int(origin[path[-1]]))
        return [self._tags[code] for code in reversed(path)]


def _clauses(text: str) -> Iterator[tuple[int, int]]:
    for match in _CLAUSE.finditer(text):
        for start in range(*match.span(), _LONGEST):
            yield start, min(start + _LONGEST, match.end())


def _words(tags: Sequence[str]) -> Iterator[tuple[int, int, str]]:
    """The words of a clause that are names."""
    start = 0
    for place in range(1, len(tags) + 1):
        if place == len(tags) or not tags[place].endswith("-I"):
            kind = tags[start].partition("-")[0]
            if kind in _NAMES:
                yield start, place, kind
            start = place


def _pairs(path: Path) -> list[tuple[str, str]]:
    lines = (line.split("\t") for line in path.read_text(encoding="utf-8").split("\n"))
    return [(line[0], line[1]) for line in lines if len(line) == 2]


def _recurrent(folder: Path, number: int) -> _Recurrent:
    weights = _tensor(folder / f"gru_{number}.w_0").ravel()
    width = int(np.sqrt(len(weights) / 3))
    # the gates' matrix and the candidate's lie one after the other, whatever the shape says
    gates, candidate = weights[: 2 * width * width].reshape(width, -1), weights[2 * width * width :].reshape(width, -1)
    inward, bias = _tensor(folder / f"fc_{number}.w_0"), _tensor(folder / f"fc_{number}.b_0").ravel()
    return _Recurrent(inward, bias, gates, candidate, _tensor(folder / f"gru_{number}.b_0").ravel())


def _tensor(path: Path) -> Floats:
    """A tensor of paddle's format: versions and level in 16 bytes, a described shape, single-precision numbers."""
    data = path.read_bytes()
    size = int.from_bytes(data[16:20], "little")
    shape, place, described = [], 0, data[20 : 20 + size]
    while place < size:
        key, value, shift = described[place], 0, 0
        place += 1
        while True:
            value |= (described[place] & 0x7F) << shift
            shift, place = shift + 7, place + 1
            if described[place - 1] < 0x80:
                break
        if key == 0x10:
            shape.append(value)
    return np.frombuffer(data, "<f4", offset=20 + size).reshape(shape)


@cache
def carried_tagger() -> HanTagger:
    """The tagger that comes with jieba."""
    spec = find_spec("jieba")
    return HanTagger(Path(str(spec.origin if spec is not None else "")).parent / "lac_small")
