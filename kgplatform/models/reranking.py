"""Passages rated against a question: by a cross-encoder, or by how well their words match the question's.

A cross-encoder reads question and passage together; it is the best judge and has to be fetched. Without one, late
interaction does: every token of the question is compared with every token of the passage, and the mean of the best
matches is the rating. Source: O. Khattab, M. Zaharia, ColBERT: Efficient and Effective Passage Search via
Contextualized Late Interaction over BERT, 2020, section 3.3; here over the tokens of an embedding model as it is.
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from kgplatform.errors import ModelUnavailableError
from kgplatform.protocols import Embedder

if TYPE_CHECKING:
    from sentence_transformers import CrossEncoder


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
        asked, *read = self._tokens([question, *passages])
        if not len(asked):
            return np.zeros(len(passages), dtype=np.float32)
        found = [float((asked @ tokens.T).max(axis=1).mean()) if len(tokens) else 0.0 for tokens in read]
        return np.array(found, dtype=np.float32)

    def _tokens(self, texts: Sequence[str]) -> list[NDArray[np.float32]]:
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
        if isinstance(error, ImportError):
            return f"re-ranker {self.name!r} needs a package that is not installed ({error})"
        if Path(self.name).is_dir():
            return f"re-ranker {self.name!r} cannot be loaded: the folder does not hold a usable model"
        way_out = "check the name and the network" if self._allow_download else "give its folder, or leave it empty"
        return f"re-ranker {self.name!r} is not on this machine; {way_out}"
