"""Which class a question is of, by a language model that is shown the classes with their examples."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from pyoxigraph import NamedNode

from kgplatform import prompts
from kgplatform.errors import ModelError
from kgplatform.protocols import ChatModel
from kgplatform.questions.dialogue.classify import Classified, classify
from kgplatform.questions.dialogue.frames import Frame, Now
from kgplatform.questions.dialogue.parsing import Parsed
from kgplatform.questions.dialogue.scheme import NONE
from kgplatform.types import Usage

_PROMPT: Final = "classify-question"
_NUMBER = re.compile(r"(?<![\w.])(\w+)(?![\w])")
_SAID = re.compile(r"(?:class|answer|类别|类)\s*(?:is|为|是|:|：)?\s*[\"'“]?(\w+)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Shown:
    """A class as the prompt shows it."""

    notation: str
    label: str
    comment: str
    examples: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ModelClass:
    """The class with what it cost to ask, and why the built-in rules were used where they were."""

    classified: Classified
    usage: Usage
    note: str = ""


def classify_by_model(parsed: Parsed, frame: Frame, now: Now, model: ChatModel) -> ModelClass:
    """The class that the model gives, or that of the built-in rules where its reply names none."""
    scheme, places = frame.scheme, [_label(frame, place) for place in frame.scheme.places]
    messages, _ = prompts.render_messages(
        _PROMPT,
        about=_label(frame, scheme.about),
        classes=_shown(frame, parsed.language),
        code=_label(frame, scheme.code),
        identifier=_label(frame, scheme.identifier),
        owner=_label(frame, scheme.owner),
        place=", ".join(places),
        ways={item.way: item.notation for item in scheme.classes},
        whole=NONE,
        question=" ".join(parsed.text.split()),
        now=now.moment.isoformat(sep=" ", timespec="minutes"),
    )
    try:
        completion = model.complete(messages)
    except ModelError as error:
        return ModelClass(classify(parsed, frame), Usage(), f"the model gave no class ({error})")
    notation = read_reply(completion.text, frame)
    if notation is None:
        said = " ".join(completion.text.split())[:60]
        return ModelClass(classify(parsed, frame), completion.usage, f"the model named no class ({said!r})")
    way = next((item.way for item in frame.scheme.classes if item.notation == notation), NONE)
    if way == "code" and parsed.partial is None:
        return ModelClass(classify(parsed, frame), completion.usage, "the model saw a part of a code; there is none")
    return ModelClass(Classified(notation, way, model.name), completion.usage)


def _label(frame: Frame, term: NamedNode | None) -> str:
    """What a term is called in the language of the prompt; empty where the scheme has none."""
    return frame.names.schema.label(term, "en") if term else ""


def _shown(frame: Frame, language: str) -> list[_Shown]:
    return [
        _Shown(
            item.notation,
            item.label(language),
            next(
                (w.text for w in item.comments if w.language == language),
                item.comments[0].text if item.comments else "",
            ),
            tuple(example.text for example in item.examples),
        )
        for item in frame.scheme.classes
    ]


def read_reply(reply: str, frame: Frame) -> str | None:
    """The class that a reply names: alone, after "class", or by its name; None if it names none, or several."""
    known = {item.notation.casefold(): item.notation for item in frame.scheme.classes} | {NONE: NONE}
    text = re.sub(r"```\w*|<think>.*?</think>", " ", reply, flags=re.DOTALL).strip()
    named = [known[m.casefold()] for m in _SAID.findall(text) if m.casefold() in known]
    if named:
        return named[-1]
    found = [known[m.casefold()] for m in _NUMBER.findall(text) if m.casefold() in known]
    if len(set(found)) == 1:
        return found[0]
    labels = {w.text.casefold(): item.notation for item in frame.scheme.classes for w in item.words}
    by_name = {notation for label, notation in labels.items() if label in text.casefold()}
    return by_name.pop() if len(by_name) == 1 and not found else None
