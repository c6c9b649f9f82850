"""The seams: what an object must offer to take the place of a built-in part.

Structural types; nothing to inherit or register, pass an object. Caching, recording, retrying and counting
are wrappers that are themselves a `ChatModel`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from kgplatform.types import Chunk, Document, Extraction, Hit, Usage


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a conversation with a model; role is ``system``, ``user`` or ``assistant``."""

    role: str
    content: str


@dataclass(frozen=True, slots=True)
class Completion:
    """What a model wrote, and what it cost (``calls`` is 0 for a cached reply)."""

    text: str
    usage: Usage


@runtime_checkable
class ChatModel(Protocol):
    """A language model that completes a conversation."""

    name: str

    def complete(self, messages: Sequence[Message], *, schema: Mapping[str, object] | None = None) -> Completion:
        """The model's reply; with ``schema`` (JSON Schema), a reply that is a JSON text of that shape.

        Raises:
            ModelUnavailableError: the server cannot be reached or refuses.
            ModelReplyError: the reply is empty, or not JSON although a schema was given.
        """
        ...


@runtime_checkable
class SamplingModel(ChatModel, Protocol):
    """A language model that can be asked the same several times and reply otherwise."""

    def sample(self, number: int) -> ChatModel:
        """The model for one of several independent replies: to the same request, another for every number."""
        ...


@runtime_checkable
class Embedder(Protocol):
    """Turns texts into vectors of unit length; similar texts, similar directions."""

    name: str

    @property
    def dimensions(self) -> int:
        """How many numbers a vector has."""
        ...

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """The vectors of the texts, one row each: shape ``(len(texts), dimensions)``, unit length."""
        ...


@runtime_checkable
class Extractor(Protocol):
    """Reads the mentions and claims of one chunk."""

    method: str

    def extract(self, chunk: Chunk, document: Document) -> Extraction:
        """What the chunk says in the terms of the ontology; offsets are the document's."""
        ...


@runtime_checkable
class StretchExtractor(Extractor, Protocol):
    """An extractor that reads neighbouring chunks together, where that costs less than one by one."""

    def stretches(self, chunks: Sequence[Chunk]) -> list[list[Chunk]]:
        """The chunks in groups of neighbours, in order."""
        ...

    def read(self, chunks: Sequence[Chunk], document: Document) -> list[Extraction]:
        """What the chunks of one group say, an extraction for each."""
        ...


@runtime_checkable
class Retriever(Protocol):
    """Finds the chunks that fit a question."""

    name: str

    def retrieve(self, question: str, k: int) -> list[Hit]:
        """At most ``k`` hits, best first."""
        ...


class Chunker(Protocol):
    """Cuts a document into chunks, in order."""

    def __call__(self, document: Document) -> list[Chunk]:
        """The chunks; ``document.text[chunk.start:chunk.end] == chunk.text``."""
        ...
