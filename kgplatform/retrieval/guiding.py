"""A language model as the guide of a walk: shown what was gathered, it chooses what to read next, or has seen enough.

Source: the model-guided traversal of the traversal article; as in its public code, a reply that cannot be used sends
the walk to the nearest candidate.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from kgplatform.errors import ModelError
from kgplatform.models.structured import json_of
from kgplatform.prompts import render_messages
from kgplatform.protocols import ChatModel
from kgplatform.retrieval.similarity import Edge, SimilarityGraph

_NEXT: Final[Mapping[str, object]] = {
    "type": "object",
    "properties": {"next": {"type": "integer"}},
    "required": ["next"],
    "additionalProperties": False,
}


class ModelGuide:
    """Chooses the steps of one walk by a model; see `kgplatform.retrieval.traversal.Guide`."""

    def __init__(self, model: ChatModel, graph: SimilarityGraph, question: str) -> None:
        self._model = model
        self._graph = graph
        self._question = question

    def __call__(self, gathered: Sequence[int], choices: Sequence[Edge]) -> int | None:
        """The place of the window to read next in ``choices``, None: enough; the first if the model is no help."""
        messages, _ = render_messages(
            "guide-walk",
            question=self._question,
            sentences=[self._text(number) for number in gathered],
            choices=[" ".join(self._text(number) for number in self._graph.windows[edge.target]) for edge in choices],
        )
        try:
            reply = json_of(self._model.complete(messages, schema=_NEXT).text, model=self._model.name)
        except ModelError:
            return 0
        chosen = reply.get("next")
        if not isinstance(chosen, int) or isinstance(chosen, bool) or not 0 <= chosen <= len(choices):
            return 0
        return chosen - 1 if chosen else None

    def _text(self, number: int) -> str:
        return " ".join(self._graph.sentences[number].text.split())
