"""What is seen of a stretch of words, and of two of them: features as strings, the same for every language.

Two things are learnt from them: which stretches are subjects or objects at all, and which property, if any, holds
between two. `Lore` is what the examples say of names: how often each was subject or object of what.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final

from kgplatform.extraction.learning.spans import Stretch, Word, plain
from kgplatform.extraction.lexicon import FUNCTION_WORDS

_EDGE: Final = "^"
_WINDOW: Final = 3
_NEAR: Final = 5
_MOST_BETWEEN: Final = 9

Roles = Mapping[tuple[str, str], int]
"""How often a name was ``("s", property)`` or ``("o", property)``, by these."""


@dataclass
class Lore:
    """How many examples have a name as subject or object of each property, and in how many texts it stands.

    ``small`` counts the examples that have a word in small letters.
    """

    roles: dict[str, Counter[tuple[str, str]]] = field(default_factory=lambda: defaultdict(Counter))
    told: Counter[str] = field(default_factory=Counter)
    seen: Counter[str] = field(default_factory=Counter)
    small: Counter[str] = field(default_factory=Counter)

    def add(self, roles: Iterable[tuple[str, str, str]], small: Iterable[str]) -> None:
        """Takes up what an example says: its (name, role, property), and its words in small letters."""
        known = set(roles)
        for key, role, property_ in known:
            self.roles[key][role, property_] += 1
        self.told.update({key for key, _, _ in known})
        self.small.update(set(small))

    def stand(self, keys: Iterable[str]) -> None:
        """Takes up which names stand in the text of an example."""
        self.seen.update(set(keys))

    def take(self, other: Lore) -> None:
        """Takes up all that another has."""
        for key, counts in other.roles.items():
            self.roles[key].update(counts)
        self.told.update(other.told)
        self.seen.update(other.seen)
        self.small.update(other.small)


@dataclass(frozen=True)
class Scene:
    """A text in words with its stretches; ``own`` is what the texts about the same things have added to the lore.

    A text that is itself an example is judged without what it and its like say, as a new text would be.
    """

    text: str
    words: Sequence[Word]
    stretches: Sequence[Stretch]
    lore: Lore
    own: Lore | None = None

    def told(self, key: str) -> tuple[int, int]:
        """In how many other texts the name was subject or object, and in how many others it stood."""
        known, seen = self.lore.told.get(key, 0), self.lore.seen.get(key, 0)
        if self.own is not None:
            known, seen = known - self.own.told.get(key, 0), seen - self.own.seen.get(key, 0)
        return known, max(known, seen)

    def roles(self, key: str) -> list[tuple[str, str]]:
        """The roles that the name has in other texts."""
        found = self.lore.roles.get(key)
        if not found:
            return []
        own: Mapping[tuple[str, str], int] = self.own.roles.get(key, {}) if self.own is not None else {}
        return [role for role, count in found.items() if count > own.get(role, 0)]

    def word(self, number: int) -> str:
        """The plain form of a word, digits alike; a mark where the text has ended."""
        if not 0 <= number < len(self.words):
            return _EDGE
        word = self.words[number]
        return word.shape if word.shape[:1] == "d" else word.key


def _bucket(count: int) -> str:
    return str(count) if count < 3 else "3+" if count < 6 else "6+" if count < 12 else "12+"


def stretch_features(scene: Scene, item: Stretch) -> list[str]:
    """What is seen of a stretch by itself."""
    words, first, last = scene.words, item.first, item.last
    before, after = scene.word(first - 1), scene.word(last)
    told, seen = scene.told(item.key)
    share = f"{round(4 * told / seen)}" if seen else "-"
    opening, closing = words[first], words[last - 1]
    small = sum(word.shape[:1] == "x" for word in words[first:last])
    shapes = f"{opening.shape}..{closing.shape}"
    shape_after = words[last].shape if last < len(words) else _EDGE
    shape_before = words[first - 1].shape if first else _EDGE
    usual = opening.shape[:1] == "X" and (scene.lore.small.get(opening.key, 0) > 1 or opening.key in FUNCTION_WORDS)
    run = f"{_in_run(words, first - 1, first)}{_in_run(words, last, last - 1)}"
    inner = {word.text for word in words[first:last] if not word.text.isalnum()}
    return [
        f"k={item.kind}",
        f"k={item.kind}|n={last - first}",
        f"k={item.kind}|<{shape_before}|>{shape_after}",
        f"sh={shapes}|{_bucket(small)}",
        f"<{before}",
        f">{after}",
        f"<{before}|k={item.kind}",
        f">{after}|k={item.kind}",
        f"<<{scene.word(first - 2)} {before}",
        f">>{after} {scene.word(last + 1)}",
        f"<{before}|>{after}",
        f"f={opening.key}",
        f"l={closing.key}",
        f"l3={closing.key[-3:]}|{closing.shape[:1]}",
        f"t={opening.tag}..{closing.tag}",
        f"g={_bucket(told)}|{share}",
        f"g={_bucket(told)}|{share}|k={item.kind}",
        *(f"in={mark}" for mark in sorted(inner)),
        f"usual={usual}|{first == 0 or words[first - 1].text in _ENDS}|n={min(last - first, 3)}",
        f"run={run}|k={item.kind}",
        f"run={run}|{small > 0}|{before in _JOIN}|{after in _JOIN}",
        f"<{'X' if 'X' in shape_before else shape_before[:1]}|{before in _JOIN}|>{shape_after[:1]}|{after in _JOIN}",
    ]


_JOIN: Final = frozenset(["of", "the", "in", "and", "at", "for", "&", "'", "-", "(", ",", "'s", "和", "的"])


_ENDS: Final = ".!?。！？"


def _in_run(words: Sequence[Word], outer: int, inner: int) -> str:
    """Whether a name goes on beyond its edge: ``c`` for a capital or number beside one, ``j`` after a joining word."""
    step = outer - inner
    if not 0 <= outer < len(words):
        return "-"
    if words[outer].text == "." and words[outer - 1].shape in ("X", "Xx"):
        outer += step
    if not 0 <= outer < len(words):
        return "-"
    if words[outer].shape[:1] in ("X", "d"):
        return "c"
    beyond = outer + step
    joins = words[outer].key in _JOIN and 0 <= beyond < len(words) and words[beyond].shape[:1] == "X"
    return f"j{words[outer].key}" if joins else "-"


def pair_features(scene: Scene, subject: Stretch, object_: Stretch, others: Sequence[Stretch]) -> list[str]:
    """What is seen of two stretches as subject and object; ``others`` are the likely names among the rest."""
    forward = subject.first < object_.first
    way = ">" if forward else "<"
    left, right = (subject, object_) if forward else (object_, subject)
    between = _between(scene, left, right, others)
    said = " ".join(between) if len(between) <= _MOST_BETWEEN else "..."
    before = [scene.word(left.first - step) for step in range(1, _WINDOW + 1)]
    after = [scene.word(right.last + step) for step in range(_WINDOW)]
    shape = f"{object_.kind}:{scene.words[object_.first].shape}"
    found = [
        f"{way}b={said}",
        f"{way}b={said}|{shape}",
        f"{way}n={_bucket(sum(word == '@' for word in between))}",
        f"{way}d={_bucket(len(between) // 2)}",
        *(f"{way}w={word}" for word in set(between)),
        *(f"{way}w2={first} {second}" for first, second in set(pairwise(between))),
        *(f"{way}L{step}={word}" for step, word in enumerate(before, 1)),
        *(f"{way}R{step}={word}" for step, word in enumerate(after, 1)),
        f"{way}b1={between[0] if between else _EDGE}|{between[-1] if between else _EDGE}|R={after[0]}",
        f"{way}b={said}|R={after[0]}",
        f"{way}b={said}|L={before[0]}",
    ]
    found.extend(_object_features(scene, object_, shape))
    found.extend(_subject_features(scene, subject, object_))
    return found


def _object_features(scene: Scene, item: Stretch, shape: str) -> list[str]:
    first, last = item.first, item.last
    before, after = scene.word(first - 1), scene.word(last)
    two = f"{scene.word(first - 2)} {before}"
    near = {scene.word(n) for n in (*range(first - _NEAR, first), *range(last, last + _NEAR))}
    return [
        f"oh={scene.words[first].shape}..{scene.words[last - 1].shape}|{item.kind}",
        f"ol={scene.words[last - 1].key}",
        f"of={scene.words[first].key}",
        f"o3={item.key[-3:]}",
        f"o<{before}|{shape}",
        f"o<{two}",
        f"o>{after}|{shape}",
        f"o>{after} {scene.word(last + 1)}",
        f"o<<{scene.word(first - 3)} {two}",
        *(f"on={word}" for word in near),
        *(f"og={role}{name}" for role, name in scene.roles(item.key)),
    ]


def _subject_features(scene: Scene, item: Stretch, object_: Stretch) -> list[str]:
    first, last = item.first, item.last
    inside = any(
        other.first <= item.first and item.last <= other.last and other.last - other.first > last - first
        for other in scene.stretches
        if other.kind in ("name", "seen", "quoted")
    )
    low, high = sorted((first, object_.first))
    crossed = sum(scene.words[number].text in ".!?。！？" for number in range(low, high))
    return [
        f"sh={scene.words[first].shape}..{scene.words[last - 1].shape}|{item.kind}",
        f"sl={scene.words[last - 1].key}",
        f"s<{scene.word(first - 1)}",
        f"s>{scene.word(last)}",
        f"s>{scene.word(last)} {scene.word(last + 1)}",
        f"sp={_bucket(first)}|{inside}",
        f"cross={_bucket(crossed)}|{first < object_.first}",
        *(f"sg={role}{name}" for role, name in scene.roles(item.key)),
    ]


def _between(scene: Scene, left: Stretch, right: Stretch, others: Sequence[Stretch]) -> list[str]:
    """The words between two stretches, likely names in them as one sign."""
    found: list[str] = []
    number = left.last
    inside = {item.first: item.last for item in others if left.last <= item.first and item.last <= right.first}
    while number < right.first:
        if number in inside:
            found.append("@")
            number = inside[number]
        else:
            found.append(scene.word(number))
            number += 1
    return found


def near_words(scene: Scene, subject: Stretch, object_: Stretch) -> tuple[set[str], set[str]]:
    """The plain words between the two or beside the object, and those of them that are beside the object."""
    low, high = min(subject.last, object_.last), max(subject.first, object_.first)
    beside = {*range(object_.first - _WINDOW, object_.first), *range(object_.last, object_.last + _WINDOW)}
    inside = {*range(subject.first, subject.last), *range(object_.first, object_.last)}
    wide = {*range(low, high), *range(object_.first - _NEAR, object_.last + _NEAR)} - inside
    numbers = range(len(scene.words))
    return (
        {plain(scene.words[n].text) for n in numbers if n in wide},
        {plain(scene.words[n].text) for n in numbers if n in beside and n not in inside},
    )
