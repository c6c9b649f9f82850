"""What is explored, as an address: the first thing, what was added to it by which relation, and what was put away.

``/explore?focus=…&expand=out 25 geo:near kg:entity/x&pin=…&hide=…&on=…&path=… …``: each word of the address is a
prefixed name where a prefix of the workspace covers it, else an IRI. Going back undoes a step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final, TypeAlias
from urllib.parse import urlencode

from pyoxigraph import NamedNode
from werkzeug.datastructures import MultiDict

from kgplatform.errors import NotFoundError
from kgplatform.web.neighbours import Relation

AT_ONCE: Final = 25
_MOST_WORDS: Final = 400
Write: TypeAlias = Callable[[NamedNode], str]


@dataclass(frozen=True, slots=True)
class Step:
    """So many things were added to ``thing`` by a relation."""

    thing: NamedNode
    relation: Relation
    number: int = AT_ONCE


@dataclass(frozen=True, slots=True)
class Exploration:
    """The state of an exploration; ``on`` is the thing whose relations are listed."""

    focus: NamedNode | None = None
    steps: tuple[Step, ...] = ()
    pinned: tuple[NamedNode, ...] = ()
    hidden: tuple[NamedNode, ...] = ()
    on: NamedNode | None = None
    path: tuple[NamedNode, NamedNode] | None = None
    hops: int = 6

    @property
    def chosen(self) -> NamedNode | None:
        """The thing whose relations are listed."""
        return self.on if self.on is not None else self.focus

    def added(self, thing: NamedNode, relation: Relation) -> int:
        """How many things were added to a thing by a relation."""
        return max((step.number for step in self.steps if (step.thing, step.relation) == (thing, relation)), default=0)

    def with_step(self, thing: NamedNode, relation: Relation) -> Exploration:
        """With the next things of a relation."""
        grown = Step(thing, relation, self.added(thing, relation) + AT_ONCE)
        if grown.number == AT_ONCE:
            return replace(self, steps=(*self.steps, grown))
        steps = (grown if (s.thing, s.relation) == (thing, relation) else s for s in self.steps)
        return replace(self, steps=tuple(dict.fromkeys(steps)))

    def without_step(self, thing: NamedNode, relation: Relation) -> Exploration:
        """Without what was added by a relation."""
        return replace(self, steps=tuple(s for s in self.steps if (s.thing, s.relation) != (thing, relation)))

    def choosing(self, thing: NamedNode) -> Exploration:
        """With the relations of another thing."""
        return replace(self, on=None if thing == self.focus else thing)

    def pinning(self, thing: NamedNode) -> Exploration:
        """With a thing that stays, whatever is taken away; it is no longer hidden."""
        hidden = tuple(one for one in self.hidden if one != thing)
        return replace(self, pinned=tuple(dict.fromkeys((*self.pinned, thing))), hidden=hidden)

    def unpinning(self, thing: NamedNode) -> Exploration:
        """With a thing that goes when what brought it is taken away."""
        return replace(self, pinned=tuple(one for one in self.pinned if one != thing))

    def hiding(self, thing: NamedNode) -> Exploration:
        """Without a thing, and without what was added to it."""
        on = None if self.on == thing else self.on
        steps = tuple(step for step in self.steps if step.thing != thing)
        hidden = tuple(dict.fromkeys((*self.hidden, thing)))
        return replace(self.unpinning(thing), hidden=hidden, steps=steps, on=on)

    def words(self, write: Write) -> list[tuple[str, str]]:
        """The words of the address."""
        found = [("focus", write(self.focus))] if self.focus is not None else []
        for step in self.steps:
            way = "in" if step.relation.inward else "out"
            text = f"{way} {step.number} {write(step.relation.predicate)} {write(step.thing)}"
            found.append(("expand", text))
        found += [("pin", write(one)) for one in self.pinned]
        found += [("hide", write(one)) for one in self.hidden]
        if self.on is not None:
            found.append(("on", write(self.on)))
        if self.path is not None:
            found += [("path", " ".join(map(write, self.path))), ("hops", str(self.hops))]
        return found

    def address(self, write: Write, **more: str) -> str:
        """The page of this state."""
        return f"/explore?{urlencode([*self.words(write), *more.items()])}"


class Names:
    """Writes IRIs shortly, and reads them again."""

    def __init__(self, prefixes: Mapping[str, str]) -> None:
        self._by_length = sorted(prefixes.items(), key=lambda pair: -len(pair[1]))
        self._prefixes = prefixes

    def write(self, iri: NamedNode) -> str:
        """The IRI as a prefixed name, if a prefix covers it."""
        for name, space in self._by_length:
            if name and iri.value.startswith(space) and len(iri.value) > len(space):
                return f"{name}:{iri.value[len(space) :]}"
        return iri.value

    def read(self, text: str) -> NamedNode:
        """The IRI that was written.

        Raises:
            NotFoundError: it is none.
        """
        name, colon, rest = text.strip().partition(":")
        full = (
            f"{self._prefixes[name]}{rest}" if colon and name in self._prefixes and not rest.startswith("//") else text
        )
        try:
            return NamedNode(full.strip().removeprefix("<").removesuffix(">"))
        except ValueError as error:
            raise NotFoundError(f"{text[:200]!r} is no IRI and no prefixed name", name=text) from error


def read(words: MultiDict[str, str], names: Names) -> Exploration:
    """The state that the words of an address spell.

    Raises:
        NotFoundError: a word is no IRI.
    """

    def all_of(name: str) -> Iterable[NamedNode]:
        return dict.fromkeys(names.read(text) for text in words.getlist(name)[:_MOST_WORDS] if text.strip())

    focus, on = next(iter(all_of("focus")), None), next(iter(all_of("on")), None)
    path = words.get("path", "").split()
    return Exploration(
        focus=focus,
        steps=tuple(_step(text, names) for text in words.getlist("expand")[:_MOST_WORDS]),
        pinned=tuple(all_of("pin")),
        hidden=tuple(all_of("hide")),
        on=on if on != focus else None,
        path=(names.read(path[0]), names.read(path[1])) if len(path) == 2 else None,
        hops=hops_of(words.get("hops", "")),
    )


def hops_of(text: str) -> int:
    """The number of steps that a path may have, 6 where none is given."""
    return min(max(int(text), 1), 8) if text.isascii() and text.isdecimal() and len(text) < 4 else 6


def _step(text: str, names: Names) -> Step:
    parts = text.split()
    if len(parts) == 2:  # a relation and a thing, as one writes it by hand
        parts = ["out", str(AT_ONCE), *parts]
    if len(parts) != 4 or parts[0] not in ("in", "out") or not (parts[1].isascii() and parts[1].isdecimal()):
        raise NotFoundError(f"expand={text[:100]!r} is not “in|out NUMBER PROPERTY THING”", name=text)
    return Step(names.read(parts[3]), Relation(names.read(parts[2]), parts[0] == "in"), min(int(parts[1][:5]), 1000))
