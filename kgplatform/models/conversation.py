"""What makes two requests to a model the same one."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Protocol, runtime_checkable

from kgplatform.protocols import ChatModel, Message


@runtime_checkable
class Parameterised(Protocol):
    """A model that tells what else than the conversation decides over its reply."""

    @property
    def parameters(self) -> Mapping[str, object]:
        """The names and values, such as the temperature."""
        ...


def parameters_of(model: ChatModel) -> Mapping[str, object]:
    """The parameters of a model that tells them, else none."""
    return model.parameters if isinstance(model, Parameterised) else {}


def key_of(
    messages: Sequence[Message],
    schema: Mapping[str, object] | None,
    *,
    model: str = "",
    parameters: Mapping[str, object] | None = None,
) -> str:
    """The SHA-256 of a request; the order of keys in schema and parameters makes no difference."""
    request = {
        "model": model,
        "messages": [[message.role, message.content] for message in messages],
        "schema": schema,
        "parameters": parameters or {},
    }
    text = json.dumps(request, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
