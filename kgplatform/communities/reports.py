"""What a community is about, told from the graph alone: its main thing, who else is in it, and the best-tied facts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

_SHOWN: Final = 8
_FACTS: Final = 5

_WORDS: Final[Mapping[str, Mapping[str, str]]] = {
    "en": {"more": " and {count} more", "and": ", ", "group": "{label} ({count}): {names}.", "stop": ".", "space": " "},
    "zh": {"more": "等 {total} 个", "and": "、", "group": "{label}（{count}）：{names}。", "stop": "。", "space": ""},
}


@dataclass(frozen=True, slots=True)
class Member:
    """A thing of a community for a reader: its name, the class it is best known by, and how closely it is tied."""

    name: str
    type_label: str
    degree: float


@dataclass(frozen=True, slots=True)
class TiedFact:
    """A statement inside a community in words, with its rank: degree of subject plus degree of object."""

    text: str
    rank: float


@dataclass(frozen=True, slots=True)
class Report:
    """A title, and a text of an introduction, the members by class, and the facts of highest rank."""

    title: str
    text: str


def report(members: Sequence[Member], facts: Iterable[TiedFact], language: str) -> Report:
    """The report in English or Chinese (any other language: English), built from members and facts as they stand."""
    words = _WORDS.get(language, _WORDS["en"])
    ranked = sorted(members, key=lambda member: (-member.degree, member.name))
    best = sorted(dict.fromkeys(facts), key=lambda fact: (-fact.rank, fact.text))[:_FACTS]
    groups: dict[str, list[str]] = {}
    for member in ranked:
        groups.setdefault(member.type_label, []).append(member.name)
    listed = sorted(groups.items(), key=lambda group: -len(group[1]))
    parts = [words["group"].format(label=label, count=len(names), names=_some(names, words)) for label, names in listed]
    parts += [fact.text.rstrip("。. ") + words["stop"] for fact in best]
    return Report(words["and"].join(member.name for member in ranked[:3]), words["space"].join(parts))


def _some(names: Sequence[str], words: Mapping[str, str]) -> str:
    shown = words["and"].join(names[:_SHOWN])
    if len(names) <= _SHOWN:
        return shown
    return shown + words["more"].format(count=len(names) - _SHOWN, total=len(names))
