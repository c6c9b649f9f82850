"""Chinese names said shorter: without brackets, without what many names of their class begin or end with.

大董金宝汇店 for 大董(金宝汇店), 颐和安缦 for 北京颐和安缦酒店, 香山站 for 香山地铁站. A shortened name counts only
where every name that holds it comes to it, so that nothing else can be meant.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Final

from pyoxigraph import NamedNode

from kgplatform.questions.facts import GraphFacts
from kgplatform.questions.schema import SchemaView
from kgplatform.text import has_han, normalise

_BRANCH: Final = re.compile(r"([^()]{2,})\(([^()]{2,})\)")
_LONGEST: Final = 30
_LONGEST_AFFIX: Final = 5
_LEAST: Final = 3
_SHOP: Final = "店"
_LINKS: Final = ("", "的", "那家", "这家")
_MANY, _SHARE = 4, 0.005
_MOST_NAMES: Final = 20_000
"""Of a class with more names nothing is shortened: to count how they begin and end would take too long."""


class ShortNames:
    """The Chinese names of a graph by what they may be shortened to."""

    def __init__(self, facts: GraphFacts, schema: SchemaView) -> None:
        self._facts = facts
        self._schema = schema
        self._found: dict[str, tuple[NamedNode, ...]] = {}

    def named(self, phrase: str) -> tuple[NamedNode, ...]:
        """The things that a normalised phrase is the shortened name of: one, or several that are called alike."""
        if not has_han(phrase) or not _LEAST <= len(phrase) <= _LONGEST:
            return ()
        if phrase in self._branches:
            return self._branches[phrase]
        if phrase not in self._shortened:
            return ()
        if phrase not in self._found:
            meant = self._shortened[phrase]
            sole = self._holders(phrase) <= set(meant) and self._alone(meant)
            self._found[phrase] = tuple(sorted(meant, key=str)) if sole else ()
        return self._found[phrase]

    def _holders(self, text: str) -> frozenset[NamedNode]:
        return frozenset(iri for key, iris in self._called.items() if text in key for iri in iris)

    def _alone(self, meant: Mapping[NamedNode, frozenset[str]]) -> bool:
        """Whether what is left of the names is in those of no others of their class."""
        classes = {class_ for iri in meant for class_ in self._facts.types.get(iri, ())}
        holders = (self._holders(core) for core in {core for cores in meant.values() for core in cores})
        return all(
            iri in meant or not classes & set(self._facts.types.get(iri, ())) for held in holders for iri in held
        )

    @cached_property
    def _called(self) -> Mapping[str, frozenset[NamedNode]]:
        """The things by their normalised Chinese labels."""
        found: dict[str, set[NamedNode]] = defaultdict(set)
        for iri, literals in self._facts.labels.items():
            if not isinstance(iri, NamedNode):
                continue
            for literal in literals:
                if len(literal.value) <= _LONGEST and has_han(literal.value):
                    found[normalise(literal.value)].add(iri)
        return {key: frozenset(iris) for key, iris in found.items()}

    @cached_property
    def _affixes(self) -> Mapping[NamedNode, tuple[frozenset[str], frozenset[str]]]:
        """What many names of a class begin with, and what they end with: 北京, 酒店."""
        begins: dict[NamedNode, Counter[str]] = defaultdict(Counter)
        ends: dict[NamedNode, Counter[str]] = defaultdict(Counter)
        names: Counter[NamedNode] = Counter()
        for key, iris in self._called.items():
            bare = _bare(key)
            for class_ in {class_ for iri in iris for class_ in self._facts.types.get(iri, ())}:
                names[class_] += 1
                for cut in range(2, min(_LONGEST_AFFIX, len(bare) - 1) + 1):
                    begins[class_][bare[:cut]] += 1
                    ends[class_][bare[-cut:]] += 1
        found = {}
        for class_, number in names.items():
            least = max(_MANY, _SHARE * number) if number <= _MOST_NAMES else number
            term = self._schema.classes.get(class_)
            called = {word.text for word in (term.words if term else ()) if has_han(word.text)}
            often = [{a for a, n in counted[class_].items() if n >= least} for counted in (begins, ends)]
            found[class_] = (frozenset(often[0]), frozenset(often[1] | called))
        return found

    @cached_property
    def _shortened(self) -> Mapping[str, Mapping[NamedNode, frozenset[str]]]:
        """The things by their shortened names, each with what is left of its own."""
        found: dict[str, dict[NamedNode, frozenset[str]]] = defaultdict(dict)
        for key, iris in self._called.items():
            for iri in iris:
                for class_ in self._facts.types.get(iri, ()):
                    for short, core in self._cut(_bare(key), class_):
                        if short != key:
                            found[short][iri] = found[short].get(iri, frozenset()) | {core}
        return found

    def _cut(self, bare: str, class_: NamedNode) -> Iterator[tuple[str, str]]:
        """The name without a beginning or ending of its class, or with one character of the ending only.

        Each comes with what is left without that character.
        """
        begins, ends = self._affixes.get(class_, (frozenset(), frozenset()))
        for core in {bare, *(bare.removeprefix(begin) for begin in begins)}:
            if len(core) >= _LEAST:
                yield core, core
            for end in ends:
                if core.endswith(end) and len(core) > len(end) + 1:
                    rest = core.removesuffix(end)
                    shorter = (rest, *(rest + character for character in end if has_han(character)))
                    yield from ((short, rest) for short in shorter if len(short) >= _LEAST)

    @cached_property
    def _branches(self) -> Mapping[str, tuple[NamedNode, ...]]:
        """Names with brackets by both parts without them, in either order: 金宝汇的大董."""
        found: dict[str, set[NamedNode]] = defaultdict(set)
        for key, iris in self._called.items():
            match = _BRANCH.match(key + ")" * (key.count("(") - key.count(")")))
            for iri in iris if match else ():
                assert match is not None
                heads, places = self._parts(match[1], iri), self._parts(match[2].removesuffix(_SHOP), iri)
                for place in places:
                    for head in heads:
                        for said in (f"{head}{place}{_SHOP}", f"{head}{place}", f"{head}的{place}{_SHOP}"):
                            found[said].add(iri)
                        for link in _LINKS:
                            found[f"{place}{link}{head}"].add(iri)
        return {said: tuple(sorted(iris, key=str)) for said, iris in found.items() if said not in self._called}

    def _parts(self, text: str, iri: NamedNode) -> frozenset[str]:
        """A part of a name as it is and shortened."""
        cut = (short for class_ in self._facts.types.get(iri, ()) for short, _ in self._cut(text, class_))
        return frozenset((text, *cut))


def _bare(key: str) -> str:
    """A name up to its brackets."""
    return key.partition("(")[0] or key
