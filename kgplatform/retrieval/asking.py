"""What a question is after: the names in it with their weight, and its keywords of high and low level.

A language model says so where there is one. The built-in way takes the names that the graph knows, runs of capitalised
words, quoted words and codes as names (low level), and the question itself as what is asked of them (high level); clues
that name things go to the former, the others to the latter. An unusable reply of the model gives way to the built-in
reading, and the trace says so.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from kgplatform import prompts
from kgplatform.errors import ModelError
from kgplatform.protocols import ChatModel, Message
from kgplatform.retrieval.entity_graph import EntityGraph
from kgplatform.retrieval.phrases import as_written, name_key, phrases
from kgplatform.retrieval.terms import content_words
from kgplatform.text import has_han

_QUOTED = re.compile(r"[\"“「『《]([^\"”」』》]{2,60})[\"”」』》]")
_CODE = re.compile(r"\b(?=[^\W_]*\d)(?=[^\W_]*[A-Za-z])[^\W_]{2,12}\b")
_NAMED, _OTHER = 1.0, 0.5
_MOST: Final = 12
_CLUES: Final = 5
_ENTITIES: Final[Mapping[str, object]] = {
    "type": "object",
    "properties": {
        "entities": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"name": {"type": "string"}, "weight": {"type": "number"}},
                "required": ["name", "weight"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["entities"],
    "additionalProperties": False,
}
_KEYWORDS: Final[Mapping[str, object]] = {
    "type": "object",
    "properties": {
        name: {"type": "array", "items": {"type": "string"}} for name in ("high_level_keywords", "low_level_keywords")
    },
    "required": ["high_level_keywords", "low_level_keywords"],
    "additionalProperties": False,
}


@dataclass(frozen=True, slots=True)
class Weighed:
    """A name in a question and its share of the question's importance; the shares of all sum to 1."""

    text: str
    weight: float


@dataclass(frozen=True, slots=True)
class AskedEntities:
    """The names in a question; ``by`` is the model that found them, or ``built-in``, with what went wrong before."""

    entities: tuple[Weighed, ...]
    by: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class AskedKeywords:
    """The keywords of a question: ``low`` names things, ``high`` says what is asked of them."""

    high: tuple[str, ...]
    low: tuple[str, ...]
    by: str
    note: str = ""


def asked_entities(question: str, graph: EntityGraph, model: ChatModel | None = None) -> AskedEntities:
    """The names in the question, the most important first."""
    note = ""
    if model is not None:
        try:
            messages, _ = prompts.render_messages("question-entities", question=question)
            return AskedEntities(_weighed(_by_model(model, messages, _ENTITIES)), model.name)
        except (ModelError, ValueError) as error:
            note = f"{model.name} did not help: {error}"
    found = _weighed_names(question, graph) or [(word, _OTHER) for word in content_words(question)]
    return AskedEntities(_shared(found[:_MOST]), "built-in", note)


def asked_keywords(
    question: str, graph: EntityGraph, clues: Sequence[str] = (), model: ChatModel | None = None
) -> AskedKeywords:
    """The keywords of the question; ``clues`` are keywords of passages that are near to it."""
    note = ""
    if model is not None:
        try:
            messages, _ = prompts.render_messages("question-keywords", question=question, clues=list(clues))
            reply = _by_model(model, messages, _KEYWORDS)
            high, low = (_texts(reply[name]) for name in ("high_level_keywords", "low_level_keywords"))
            return AskedKeywords(high, low, model.name)
        except (ModelError, ValueError) as error:
            note = f"{model.name} did not help: {error}"
    low_clues = [clue for clue in clues if graph.named(clue)]
    high_clues = [clue for clue in clues if clue not in low_clues]
    names = list(_names(question, graph))
    return AskedKeywords(
        tuple(dict.fromkeys((question.strip(), *high_clues[:_CLUES]))),
        tuple(dict.fromkeys((*names, *low_clues[:_CLUES])))[:_MOST],
        "built-in",
        note,
    )


def _names(question: str, graph: EntityGraph) -> Iterator[str]:
    return (name for name, _ in _weighed_names(question, graph))


def _weighed_names(question: str, graph: EntityGraph) -> list[tuple[str, float]]:
    """Names that the graph knows, then what looks like one; in the order of their keys, so that it is always alike.

    A Chinese word is not told from a name by its letters: unless it is known or quoted, it counts half.
    """
    known = sorted(graph.find_names(question))
    sure = {name_key(text) for text in (*_QUOTED.findall(question), *_CODE.findall(question))}
    likely = sure | phrases(" ".join(content_words(question)) if has_han(question) else question)
    found = [(as_written(key), _NAMED) for key in known]
    for key in sorted(likely):
        if key and not any(f" {key} " in f" {name} " or f" {name} " in f" {key} " for name in known):
            found.append((as_written(key), _OTHER if has_han(key) and key not in sure else _NAMED))
    return found


def _by_model(model: ChatModel, messages: Sequence[Message], schema: Mapping[str, object]) -> dict[str, Any]:
    reply = json.loads(model.complete(messages, schema=schema).text)
    if not isinstance(reply, dict) or any(not isinstance(reply.get(name), list) for name in _required(schema)):
        raise ValueError("the reply is not of the form asked for")
    return reply


def _required(schema: Mapping[str, object]) -> list[str]:
    wanted = schema["required"]
    return wanted if isinstance(wanted, list) else []


def _weighed(reply: Mapping[str, Any]) -> tuple[Weighed, ...]:
    found: dict[str, float] = {}
    for item in reply["entities"]:
        name, weight = (item.get("name"), item.get("weight")) if isinstance(item, dict) else (None, None)
        if isinstance(name, str) and name.strip() and isinstance(weight, int | float) and 0 < weight < float("inf"):
            found[name.strip()] = max(found.get(name.strip(), 0.0), float(weight))
    if not found:
        raise ValueError("the reply names no entity")
    return _shared(sorted(found.items(), key=lambda item: -item[1])[:_MOST])


def _shared(found: Sequence[tuple[str, float]]) -> tuple[Weighed, ...]:
    total = sum(weight for _, weight in found)
    return tuple(Weighed(name, weight / total) for name, weight in found)


def _texts(values: Sequence[object]) -> tuple[str, ...]:
    kept = (value.strip() for value in values if isinstance(value, str) and value.strip())
    return tuple(dict.fromkeys(kept))[:_MOST]
