"""Asking a model many things at once, and counting what it cost."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from kgplatform.errors import ModelError
from kgplatform.models.conversation import parameters_of
from kgplatform.protocols import ChatModel, Completion, Message
from kgplatform.types import Usage


def complete_all(
    model: ChatModel,
    conversations: Sequence[Sequence[Message]],
    *,
    schema: Mapping[str, object] | None = None,
    workers: int = 8,
) -> list[Completion | ModelError]:
    """The replies to the conversations in their order; in place of a reply that failed, its error.

    Errors other than `ModelError` are raised, and conversations not begun by then are not begun.
    """

    def one(messages: Sequence[Message]) -> Completion | ModelError:
        try:
            return model.complete(messages, schema=schema)
        except ModelError as error:
            return error

    if not conversations:
        return []
    pool = ThreadPoolExecutor(max_workers=max(1, min(workers, len(conversations))), thread_name_prefix="model")
    try:
        return list(pool.map(one, conversations))
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


class CountingModel:
    """A model that adds up what its replies cost, over all threads; failures cost nothing that is known."""

    def __init__(self, model: ChatModel) -> None:
        self.model = model
        self.name = model.name
        self._usage = Usage()
        self._lock = threading.Lock()

    @property
    def parameters(self) -> Mapping[str, object]:
        """Those of the model inside."""
        return parameters_of(self.model)

    @property
    def usage(self) -> Usage:
        """The sum so far."""
        return self._usage

    def complete(self, messages: Sequence[Message], *, schema: Mapping[str, object] | None = None) -> Completion:
        """The reply of the model inside.

        Raises:
            ModelError: as the model inside.
        """
        completion = self.model.complete(messages, schema=schema)
        with self._lock:
            self._usage += completion.usage
        return completion
