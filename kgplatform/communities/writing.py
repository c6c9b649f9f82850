"""Reports on communities by a language model: five parts from members and facts, and nothing that these do not hold.

A sentence is kept only if every name and number in it stands in the material. What a model adds of its own is left
out, however likely; where nothing of the introduction is left, there is no report, and the built-in one stands.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from kgplatform.communities.reports import Member, Report, TiedFact
from kgplatform.errors import ModelReplyError
from kgplatform.prompts import render_messages
from kgplatform.protocols import ChatModel
from kgplatform.text import normalise, sentences
from kgplatform.types import Usage

PARTS: Final = {
    "introduction": ("Introduction", "简介"),
    "facilities": ("Facilities", "设施"),
    "hotels": ("Hotels", "住宿"),
    "restaurants": ("Restaurants", "餐饮"),
    "activities": ("Activities", "活动"),
}
"""The parts of a report, with their headings in English and Chinese."""

_SCHEMA: Final = {
    "type": "object",
    "properties": {part: {"type": "string"} for part in PARTS},
    "required": list(PARTS),
    "additionalProperties": False,
}
_MOST_MEMBERS, _MOST_FACTS = 60, 80
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")


@dataclass(frozen=True, slots=True)
class Material:
    """What a report may be written from, in one language: members and facts, best-tied first."""

    members: tuple[Member, ...]
    facts: tuple[TiedFact, ...]
    language: str


@dataclass(frozen=True, slots=True)
class Written:
    """A model's report (None: nothing of it could be used), the sentences that were left out, and what it cost."""

    report: Report | None
    left_out: tuple[str, ...]
    usage: Usage


def write(model: ChatModel, material: Material, *, names_in: Callable[[str], Iterable[str]]) -> Written:
    """The report that the model writes; ``names_in`` finds the names in a sentence.

    Raises:
        ModelError: the model cannot be reached, or does not reply as asked.
    """
    members = sorted(material.members, key=lambda member: (-member.degree, member.name))
    facts = sorted(dict.fromkeys(material.facts), key=lambda fact: (-fact.rank, fact.text))[:_MOST_FACTS]
    messages, _ = render_messages(
        "community-report",
        members=[f"{member.name} ({member.type_label})" for member in members[:_MOST_MEMBERS]],
        facts=[fact.text for fact in facts],
        language=material.language,
    )
    reply = model.complete(messages, schema=_SCHEMA)
    told = _parsed(reply.text, model.name)
    known = normalise(" ".join([*(f"{m.name} {m.type_label}" for m in members), *(fact.text for fact in facts)]))
    named = sorted({name for m in members for name in (m.name, m.type_label) if name}, key=len, reverse=True)
    taken_out = re.compile("|".join(map(re.escape, named)) or r"(?!)")
    kept: dict[str, str] = {}
    left_out: list[str] = []
    for part in PARTS:
        good: list[str] = []
        for sentence in _sentences(told.get(part)):
            others = names_in(taken_out.sub(" it ", sentence))
            (good if _holds(sentence, known, others) else left_out).append(sentence)
        kept[part] = ("" if material.language == "zh" else " ").join(good)
    title = ("、" if material.language == "zh" else ", ").join(member.name for member in members[:3])
    report = Report(title, _text(kept, material.language)) if kept["introduction"] else None
    return Written(report, tuple(left_out), reply.usage)


def _parsed(text: str, model: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except ValueError as error:
        raise ModelReplyError("the report is not JSON", model=model, reply=text) from error
    if not isinstance(value, dict):
        raise ModelReplyError("the report is no JSON object", model=model, reply=text)
    return value


def _sentences(text: object) -> list[str]:
    given = " ".join(text.split()) if isinstance(text, str) else ""
    return [given[start:end].strip() for start, end in sentences(given) if given[start:end].strip()]


def _holds(sentence: str, known: str, names: Iterable[str]) -> bool:
    """Whether each number of the sentence, and each of the names in it, stands in the material, in whatever capitals.

    The names are those left when the members' own are taken out: a tagger would cut across these in Chinese.
    """
    numbers = set(_NUMBER.findall(known))
    if any(number not in numbers for number in _NUMBER.findall(normalise(sentence))):
        return False
    return all(normalise(name) in known for name in names)


def _text(parts: dict[str, str], language: str) -> str:
    headings: Sequence[tuple[str, str]] = [
        (PARTS[part][language == "zh"], text) for part, text in parts.items() if text
    ]
    colon = "：" if language == "zh" else ": "
    first, *others = headings
    return "\n".join([first[1], *(f"{heading}{colon}{text}" for heading, text in others)])
