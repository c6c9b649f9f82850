"""Which names were taken for one thing, why, and what a person decides about that."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from pyoxigraph import NamedNode

from kgplatform.documents.decisions import Apart
from kgplatform.documents.registry import Linking, NameLink, Registry
from kgplatform.errors import NotFoundError
from kgplatform.text import has_han, normalise
from kgplatform.vocab import entity_iri

REASONS: Mapping[str, tuple[str, str]] = {
    "exact": ("the same name in another class", "同名，类别不同"),
    "known": ("a table, a person or a reference gives it both names", "表格、人工或参考资料给出了两个名称"),
    "code": ("the same code", "代码相同"),
    "alias": ("a text gives one as the other's second name", "文中把一个作为另一个的别名"),
    "similarity": ("the same words, but for number, order or a slip", "用词相同，仅单复数、语序或笔误不同"),
    "containment": ("one is the other with words around it that add nothing", "一个是另一个加上不增加信息的词"),
    "reading": ("one is how the other is read", "一个是另一个的读音"),
    "content": ("much the same is said of both", "对两者的描述几乎相同"),
}
"""Why names are linked, by method, in English and Chinese."""


@dataclass(frozen=True, slots=True)
class Merge:
    """A name that was taken for a thing that also has another one: how sure (0..1), by which method, and why."""

    name: str
    type: NamedNode
    entity: NamedNode
    label: str
    score: float
    method: str
    reason: str


def merges(linking: Linking, *, language: str = "en") -> list[Merge]:
    """All names that share their thing with an earlier name, the least sure first."""
    by_entity: dict[NamedNode, list[NameLink]] = {}
    for link in linking.names.values():
        if link.method != "value":
            by_entity.setdefault(link.entity, []).append(link)
    found: list[Merge] = []
    for entity, links in by_entity.items():
        main = min(links, key=lambda link: (-link.score, link.method not in ("exact", "known"), link.name))
        known = linking.entities.get(entity)
        words = {word.language: word.text for word in (known.labels if known else ())}
        label = words.get(language) or next(iter(words.values()), main.name)
        for link in links:
            if link is not main and link.name != main.name:
                reason = REASONS.get(link.method, (link.method, link.method))[language == "zh"]
                found.append(Merge(link.name, link.type, entity, label, link.score, link.method, reason))
    return sorted(found, key=lambda merge: (merge.score, merge.label, merge.name, merge.type.value))


@dataclass(frozen=True, slots=True)
class Decided:
    """What a decision about two names came to: whether they stood for one thing before and do so now."""

    pair: Apart
    together_before: bool
    together_now: bool


def decision(registry: Registry, base: str, one: str, other: str) -> Apart:
    """The two names as a decision is remembered; each by name or by the IRI that a merged name had.

    Raises:
        NotFoundError: a document mentions no such name, or both are the same name.
    """
    linking = registry.linking()
    first, second = (_named(linking, base, text) for text in (one, other))
    if first == second:
        raise NotFoundError(f"{one!r} and {other!r} are the same name, which nothing can tell apart", name=other)
    return Apart.of(first, second)


def together(linking: Linking, pair: Apart) -> bool:
    """Whether the two names stand for one thing somewhere."""
    first, second = (_entities(linking.names.values(), name) for name in (pair.first, pair.second))
    return bool(first & second)


def _entities(links: Iterable[NameLink], name: str) -> set[NamedNode]:
    return {link.entity for link in links if link.name == name}


def _named(linking: Linking, base: str, text: str) -> str:
    if text.startswith(("http://", "https://")):
        links = linking.names.values()
        found = next((link.name for link in links if entity_iri(base, link.type, link.name).value == text), None)
        if found is not None:
            return found
    wanted = normalise(text)
    names = {name for _, name in linking.names}
    if wanted in names:
        return wanted
    near = difflib.get_close_matches(wanted, sorted(names), n=3, cutoff=0.4 if has_han(wanted) else 0.6)
    hint = f"; did you mean {' or '.join(near)}?" if near else "; `kgplatform links` lists merged names"
    raise NotFoundError(f"no document mentions {text!r}{hint}", name=text)
