"""Communities of a weighted graph, and reports on them: built from members and facts, or written by a model.

Of a model's report a sentence is kept only if every name and number in it stands in the material; where nothing of the
introduction is left, there is no report, and the built-in one stands.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from kgplatform.errors import ModelReplyError
from kgplatform.models.prompts import render_messages
from kgplatform.text import normalise, sentences
from kgplatform.types import ChatModel, Usage

# Source: Traag, Waltman, van Eck, From Louvain to Leiden, 2019; the modularity that it seeks to raise is H = 1/2m * sum
# over c of (e_c - gamma * K_c^2 / 2m), gamma the resolution (the travel framework, equation 3). The implementation is
# graspologic-native's.
Edges: TypeAlias = Mapping[tuple[str, str], float]

_SEED: Final = 7
_ITERATIONS: Final = 4


@dataclass(frozen=True, slots=True)
class Community:
    """A group: its members in falling degree, the community above it (its place in the partition), and its level.

    ``weight`` is the weight of the ties inside.
    """

    members: tuple[str, ...]
    level: int
    parent: int | None
    weight: float


@dataclass(frozen=True, slots=True)
class Partition:
    """All communities, the coarsest first and larger before smaller, and the modularity of the coarsest level."""

    communities: tuple[Community, ...]
    modularity: float


def detect(
    edges: Edges, *, resolution: float = 1.0, largest: int = 30, before: Mapping[str, int] | None = None
) -> Partition:
    """The communities of the graph; a community of more than ``largest`` members is divided again.

    ``before`` is the coarsest level of an earlier run (a number for each node): what has not changed then tends to
    stay together. The same graph gives the same partition. Nodes without ties are in none.
    """
    from graspologic_native import hierarchical_leiden

    ties = _undirected(edges)
    if not ties:
        return Partition((), 0.0)
    found = hierarchical_leiden(
        edges=[(one, other, weight) for (one, other), weight in ties.items()],
        starting_communities=_starting(ties, before),
        resolution=resolution,
        randomness=0.001,
        iterations=_ITERATIONS,
        use_modularity=True,
        max_cluster_size=largest,
        seed=_SEED,
    )
    groups: dict[int, list[str]] = {}
    levels: dict[int, int] = {}
    parents: dict[int, int | None] = {}
    for item in found:
        groups.setdefault(item.cluster, []).append(item.node)
        levels[item.cluster], parents[item.cluster] = item.level, item.parent_cluster
    return _partition(groups, levels, parents, ties)


def _undirected(edges: Edges) -> dict[tuple[str, str], float]:
    ties: dict[tuple[str, str], float] = {}
    for (one, other), weight in edges.items():
        if one != other and weight > 0:
            key = (one, other) if one < other else (other, one)
            ties[key] = ties.get(key, 0.0) + weight
    return dict(sorted(ties.items()))


def _starting(ties: Edges, before: Mapping[str, int] | None) -> dict[str, int] | None:
    if not before:
        return None
    nodes = dict.fromkeys(node for pair in ties for node in pair)
    fresh = max(before.values()) + 1
    given = {node: before[node] if node in before else fresh + place for place, node in enumerate(nodes)}
    numbers = {number: place for place, number in enumerate(dict.fromkeys(given.values()))}
    return {node: numbers[number] for node, number in given.items()}


def _partition(
    groups: Mapping[int, Sequence[str]],
    levels: Mapping[int, int],
    parents: Mapping[int, int | None],
    ties: Edges,
) -> Partition:
    from graspologic_native import modularity

    degrees = degrees_of(ties)
    order = sorted(groups, key=lambda c: (levels[c], -len(groups[c]), min(groups[c])))
    places = {cluster: place for place, cluster in enumerate(order)}
    homes = {cluster: set(groups[cluster]) for cluster in order}
    inside = dict.fromkeys(order, 0.0)
    member_of: dict[str, list[int]] = {}
    for cluster in order:
        for node in groups[cluster]:
            member_of.setdefault(node, []).append(cluster)
    for (one, other), weight in ties.items():
        for cluster in member_of[one]:
            if other in homes[cluster]:
                inside[cluster] += weight
    communities = tuple(
        Community(
            tuple(sorted(groups[cluster], key=lambda node: (-degrees[node], node))),
            levels[cluster],
            places[above] if (above := parents[cluster]) is not None else None,
            inside[cluster],
        )
        for cluster in order
    )
    coarse = {node: place for place, c in enumerate(communities) if c.level == 0 for node in c.members}
    return Partition(communities, modularity([(a, b, w) for (a, b), w in ties.items()], coarse, 1.0))


def degrees_of(edges: Edges) -> dict[str, float]:
    """The weighted degree of every node; an edge's rank is the sum of those of its two ends."""
    degrees: dict[str, float] = {}
    for pair, weight in edges.items():
        for node in pair:
            degrees[node] = degrees.get(node, 0.0) + weight
    return degrees


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
class CommunityReport:
    """A title, and a text of an introduction, the members by class, and the facts of highest rank."""

    title: str
    text: str


def report(members: Sequence[Member], facts: Iterable[TiedFact], language: str) -> CommunityReport:
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
    return CommunityReport(words["and"].join(member.name for member in ranked[:3]), words["space"].join(parts))


def _some(names: Sequence[str], words: Mapping[str, str]) -> str:
    shown = words["and"].join(names[:_SHOWN])
    if len(names) <= _SHOWN:
        return shown
    return shown + words["more"].format(count=len(names) - _SHOWN, total=len(names))


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
class CommunityMaterial:
    """What a report may be written from, in one language: members and facts, best-tied first."""

    members: tuple[Member, ...]
    facts: tuple[TiedFact, ...]
    language: str


@dataclass(frozen=True, slots=True)
class WrittenReport:
    """A model's report (None: nothing of it could be used), the sentences that were left out, and what it cost."""

    report: CommunityReport | None
    left_out: tuple[str, ...]
    usage: Usage


def write(model: ChatModel, material: CommunityMaterial, *, names_in: Callable[[str], Iterable[str]]) -> WrittenReport:
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
    report = CommunityReport(title, _text(kept, material.language)) if kept["introduction"] else None
    return WrittenReport(report, tuple(left_out), reply.usage)


def _parsed(text: str, model: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except ValueError as error:
        raise ModelReplyError("the report is not JSON", model=model, reply=text) from error
    if not isinstance(value, dict):
        raise ModelReplyError("the report is not a JSON object", model=model, reply=text)
    return value


def _sentences(text: object) -> list[str]:
    given = " ".join(text.split()) if isinstance(text, str) else ""
    return [given[start:end].strip() for start, end in sentences(given) if given[start:end].strip()]


def _holds(sentence: str, known: str, names: Iterable[str]) -> bool:
    """True if each number of the sentence, and each of the names in it, stands in the material, in whatever capitals.

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
