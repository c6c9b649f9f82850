"""The carried embedding model computed with numpy alone: the same vectors without the seconds that torch takes to load.

all-MiniLM-L6-v2 is a BERT encoder (Devlin, Chang, Lee, Toutanova, NAACL 2019) of six layers whose last token vectors
are averaged (Reimers, Gurevych, EMNLP 2019). The texts of a call are laid end to end, so that nothing is padded; each
attends to itself only. The vectors agree with those of sentence-transformers in single precision to five digits.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

if TYPE_CHECKING:
    from tokenizers import Tokenizer

Floats = NDArray[np.float32]

_HEADS: Final = 12
_LAYERS: Final = 6
_EPSILON: Final = 1e-12
_MOST_TOKENS: Final = 256
"""What a text has beyond so many tokens is not looked at, as the model's own settings say."""
_AT_ONCE: Final = 2048
"""So many tokens of several texts go through the layers together: more only takes more memory."""
_ERF: Final = (1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592)
_ERF_SCALE: Final = 0.3275911


@dataclass(frozen=True, slots=True)
class _Linear:
    """A matrix, transposed for multiplying from the right, and what is added."""

    matrix: Floats
    bias: Floats

    def __call__(self, rows: Floats) -> Floats:
        """The rows multiplied by the matrix."""
        return np.asarray(rows @ self.matrix + self.bias, dtype=np.float32)


@dataclass(frozen=True, slots=True)
class _Norm:
    """Layer normalisation with its two vectors."""

    scale: Floats
    shift: Floats

    def __call__(self, rows: Floats) -> Floats:
        """The rows at mean 0 and variance 1, scaled and shifted."""
        centred = rows - rows.mean(axis=1, keepdims=True)
        deviation = np.sqrt(np.square(centred).mean(axis=1, keepdims=True) + np.float32(_EPSILON))
        return np.asarray(centred / deviation * self.scale + self.shift, dtype=np.float32)


@dataclass(frozen=True, slots=True)
class _Layer:
    """One layer: attention and what follows it."""

    attended: _Linear
    mixed: _Linear
    mixed_norm: _Norm
    widened: _Linear
    narrowed: _Linear
    norm: _Norm

    def __call__(self, rows: Floats, spans: Sequence[slice]) -> Floats:
        """The token vectors after the layer; each span is a text."""
        three = self.attended(rows)
        heard = np.concatenate([_attention(three[span]) for span in spans])
        rows = self.mixed_norm(rows + self.mixed(heard))
        return self.norm(rows + self.narrowed(_gelu(self.widened(rows))))


class MiniLM:
    """The model in a folder with its weights and its tokenizer; safe for several threads, which read it only."""

    def __init__(self, folder: Path) -> None:
        """Reads the model.

        Raises:
            OSError, ValueError, KeyError: the folder does not hold this model.
            ImportError: a package that reads it is not installed.
        """
        from safetensors import SafetensorError
        from safetensors.numpy import load_file

        try:
            found = load_file(folder / "model.safetensors")
        except SafetensorError as error:
            raise ValueError(f"the weights are damaged: {error}") from error
        self._tokenizer = _tokenizer(folder / "tokenizer.json")
        self._pools = ThreadpoolController()
        self._words = found["embeddings.word_embeddings.weight"]
        kinds = found["embeddings.token_type_embeddings.weight"]
        self._beside = found["embeddings.position_embeddings.weight"] + kinds[0]
        self._norm = _norm(found, "embeddings.LayerNorm")
        self._layers = [_layer(found, f"encoder.layer.{number}") for number in range(_LAYERS)]

    def embed(self, texts: Sequence[str]) -> Floats:
        """The vectors of the texts, one row each: means of their tokens' vectors, not yet of unit length."""
        return np.stack([tokens.mean(axis=0) for tokens in self.token_vectors(texts)])

    def token_vectors(self, texts: Sequence[str]) -> Iterator[Floats]:
        """For each text the vectors of its tokens in their context, the marks of its ends included."""
        coded = [encoding.ids for encoding in self._tokenizer.encode_batch(list(texts))]
        for some in _batches(coded):
            with self._pools.limit(limits=1):  # two threads wait for each other more than they save
                found = list(self._through(some))
            yield from found

    def _through(self, texts: Sequence[Sequence[int]]) -> Iterator[Floats]:
        ends = accumulate(map(len, texts), initial=0)
        spans = [slice(start, end) for start, end in pairwise(ends)]
        rows = np.concatenate([self._words[list(ids)] + self._beside[: len(ids)] for ids in texts])
        rows = self._norm(rows)
        for layer in self._layers:
            rows = layer(rows, spans)
        yield from (rows[span] for span in spans)


def _tokenizer(file: Path) -> Tokenizer:
    from tokenizers import Tokenizer

    made = Tokenizer.from_file(str(file))
    made.enable_truncation(_MOST_TOKENS)
    made.no_padding()
    return made


def _batches(texts: Iterable[Sequence[int]]) -> Iterator[list[Sequence[int]]]:
    """The texts in their order, so many together that they have not too many tokens."""
    some: list[Sequence[int]] = []
    for text in texts:
        if some and sum(map(len, some)) + len(text) > _AT_ONCE:
            yield some
            some = []
        some.append(text)
    if some:
        yield some


def _linear(found: dict[str, Floats], *names: str) -> _Linear:
    """The matrices of those names side by side."""
    matrix = np.concatenate([found[f"{name}.weight"] for name in names]).T
    return _Linear(np.ascontiguousarray(matrix), np.concatenate([found[f"{name}.bias"] for name in names]))


def _norm(found: dict[str, Floats], name: str) -> _Norm:
    return _Norm(found[f"{name}.weight"], found[f"{name}.bias"])


def _layer(found: dict[str, Floats], name: str) -> _Layer:
    own = f"{name}.attention.self"
    return _Layer(
        _linear(found, f"{own}.query", f"{own}.key", f"{own}.value"),
        _linear(found, f"{name}.attention.output.dense"),
        _norm(found, f"{name}.attention.output.LayerNorm"),
        _linear(found, f"{name}.intermediate.dense"),
        _linear(found, f"{name}.output.dense"),
        _norm(found, f"{name}.output.LayerNorm"),
    )


def _attention(three: Floats) -> Floats:
    """What the tokens of one text hear of one another, by the queries, keys and values that lie side by side."""
    count, width = len(three), three.shape[1] // 3
    split = three.reshape(count, 3, _HEADS, width // _HEADS).transpose(1, 2, 0, 3)
    scores = split[0] @ split[1].transpose(0, 2, 1) / np.float32(np.sqrt(width // _HEADS))
    weights = np.exp(scores - scores.max(axis=2, keepdims=True))
    weights /= weights.sum(axis=2, keepdims=True)
    return np.asarray((weights @ split[2]).transpose(1, 0, 2).reshape(count, width), dtype=np.float32)


def _gelu(values: Floats) -> Floats:
    """x·Φ(x), with the error function by formula 7.1.26 of Abramowitz and Stegun: 1.5e-7 off at most."""
    size = np.abs(values) * np.float32(np.sqrt(0.5))
    part = 1 / (1 + np.float32(_ERF_SCALE) * size)
    total = np.full_like(part, _ERF[0])
    for factor in _ERF[1:]:
        total *= part
        total += np.float32(factor)
    erf = 1 - total * part * np.exp(-np.square(size))
    return np.asarray(values * (1 + np.copysign(erf, values)) * np.float32(0.5), dtype=np.float32)
