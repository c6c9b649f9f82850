"""From candidate pairs to entities: groups of names for one thing, and how well they match names sorted by a person.

A line of gold is one thing with all its names: ``{"names": ["Wuzhen", "乌镇"]}``; a thing with one name is told apart
from all others. Measured are pairs of names that both stand in the gold and are mentioned.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Container, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations
from pathlib import Path
from typing import Any

from pyoxigraph import Literal, NamedNode, Triple

from kgplatform.documents.records import Apart, LinkedEntity, Linking, NameKey, NameLink, PersistentMap, node
from kgplatform.linking.aliases import Gathered, MovedNames, NameEntry, NameTable, directions, read_names, row, sort_key
from kgplatform.linking.candidates import Candidates, Keys, Likeness, NameBlocks, NameGrounds, NamePair
from kgplatform.linking.transliteration import Shifted, Statistics
from kgplatform.ontology.schema import Individual, Ontology, Word
from kgplatform.text import has_han, normalise, read_json_lines
from kgplatform.types import Extraction
from kgplatform.vocab import CORE, DCTERMS, TYPE, XSD_DOUBLE, entity_iri


@dataclass
class Group:
    """Names of one thing with what they say of it, and the pairs that brought them together."""

    names: list[NameEntry]
    types: set[NamedNode]
    known: set[NamedNode]
    codes: frozenset[str]
    directions: dict[bool, frozenset[str]]
    texts: set[str]
    tied: list[tuple[str, Set[str]]]
    keys: dict[NamedNode, frozenset[str]]
    apart: set[str]
    pairs: list[NamePair] = field(default_factory=list)


def grouped(names: NameTable, candidates: Candidates, apart: Iterable[Apart] = ()) -> list[Group]:
    """The groups that the candidates make, one for each thing, in the order of their first names.

    Names that a person decided to keep ``apart`` are in no group together, whatever speaks for it.
    """
    decided: dict[str, set[str]] = {}
    for pair in apart:
        decided.setdefault(pair.first, set()).add(pair.second)
        decided.setdefault(pair.second, set()).add(pair.first)
    group_of = {name.key: _alone(name, names, candidates, decided) for name in names}
    _join_known(names, group_of)
    for candidate in candidates.pairs():
        first, second = group_of[candidate.first], group_of[candidate.second]
        if first is not second and not _in_conflict(first, second, candidates):
            first.pairs.append(candidate)
            _merge(first, second, group_of)
    distinct = {id(group): group for group in group_of.values()}.values()
    for group in distinct:
        group.names.sort(key=lambda name: sort_key(name.key))
    return sorted(distinct, key=lambda group: sort_key(group.names[0].key))


def _alone(name: NameEntry, names: NameTable, candidates: Candidates, decided: Mapping[str, set[str]]) -> Group:
    keys: dict[NamedNode, frozenset[str]] = {}
    for predicate, value in name.keys:
        keys[predicate] = keys.get(predicate, frozenset()) | {normalise(value)}
    return Group(
        names=[name],
        types={name.key[0], name.type},
        known={name.known} if name.known else set(),
        codes=candidates.codes.own(name),
        directions={name.is_chinese: directions(name.text)},
        texts={name.text},
        tied=[(name.text, around)] if (around := names.within.get(name.text)) else [],
        keys=keys,
        apart=set(decided.get(name.text, ())),
    )


def _join_known(names: NameTable, group_of: dict[NameKey, Group]) -> None:
    """Puts together the names that the graph itself gives to one entity, whatever they look like."""
    first: dict[NamedNode, NameKey] = {}
    for name in names:
        if name.known is None:
            continue
        other = first.setdefault(name.known, name.key)
        if group_of[other].apart & group_of[name.key].texts:
            group_of[name.key].known.clear()  # a person knows better
        elif other != name.key:
            group_of[other].pairs.append(NamePair(other, name.key, 1.0, "known"))
            _merge(group_of[other], group_of[name.key], group_of)


def _in_conflict(first: Group, second: Group, candidates: Candidates) -> bool:
    if first.known and second.known and first.known != second.known:
        return True
    if first.texts & second.apart or _is_tied(first, second):
        return True  # a person said so; what lies in something is not that
    if first.codes and second.codes and not first.codes & second.codes:
        return True
    if any(not ours & second.keys[key] for key, ours in first.keys.items() if key in second.keys):
        return True
    if any(
        ours and theirs and ours != theirs
        for script, ours in first.directions.items()
        for theirs in (second.directions.get(script, frozenset()),)
    ):
        return True
    return any(candidates.kinship.disjoint(a, b) for a in first.types for b in second.types)


def _is_tied(first: Group, second: Group) -> bool:
    """Whether a name of the second is tied to one of the first; a town's ties are not copied, for there are many."""
    return any(text in around for own, around in second.tied for text in first.texts if text != own)


def _merge(first: Group, second: Group, group_of: dict[NameKey, Group]) -> None:
    first.names += second.names
    first.pairs += second.pairs
    first.types |= second.types
    first.known |= second.known
    first.codes |= second.codes
    first.texts |= second.texts
    first.tied += second.tied
    first.apart |= second.apart
    for key, values in second.keys.items():
        first.keys[key] = first.keys.get(key, frozenset()) | values
    for script, found in second.directions.items():
        first.directions[script] = first.directions.get(script, frozenset()) | found
    for name in second.names:
        group_of[name.key] = first


def ways_from(start: NameKey, pairs: Iterable[NamePair]) -> Mapping[NameKey, tuple[float, str]]:
    """For each name that the pairs tie to ``start``: score and method of the weakest pair on the way."""
    beside: dict[NameKey, list[tuple[NameKey, NamePair]]] = {}
    for pair in pairs:
        beside.setdefault(pair.first, []).append((pair.second, pair))
        beside.setdefault(pair.second, []).append((pair.first, pair))
    found: dict[NameKey, tuple[float, str]] = {start: (1.0, "exact")}
    waiting = [start]
    while waiting:
        here = waiting.pop()
        for there, pair in beside.get(here, []):
            if there not in found:
                found[there] = min(found[here], (pair.score, pair.method), key=lambda way: way[0])
                waiting.append(there)
    return found


# Entities. Independent of the order in which documents were read. Two things taken for one are worse than one taken for
# two: the rules are strict.
def link_entities(
    extractions: Iterable[Extraction],
    *,
    ontology: Ontology,
    base: str,
    known: Mapping[NameKey, NamedNode] | None = None,
    likeness: Likeness | None = None,
    apart: Iterable[Apart] = (),
) -> Linking:
    """The map from names to entities for everything that was read.

    ``known`` are entities that the graph has from tables or loaded data, by class and normalised name: they keep
    their IRIs. ``likeness`` says from where on names that look or sound alike are one; names ``apart`` never are.

    Raises:
        ModelUnavailableError: the embedding model cannot be used.
    """
    decided = frozenset(apart)
    rules = LinkingRules(ontology, base, likeness or Likeness(), decided)
    names = read_names(extractions, ontology, known or {})
    values = {name.key: iri for name in names if (iri := rules.value(name)) is not None}
    kept = replace(names, by_key={key: name for key, name in names.by_key.items() if key not in values})
    statistics = Statistics(rules.grounds.wording, kept)
    made = rules.made(rules.narrowed(kept, statistics), statistics)
    links = {**made.links, **{key: value_link(key, iri) for key, iri in values.items()}}
    ordered = {key: links[key] for key in sorted(links, key=sort_key)}
    found = {iri: made.entities[iri] for iri in sorted(made.entities, key=lambda iri: iri.value)}
    return Linking(ordered, found, apart=decided)


@dataclass(frozen=True, slots=True)
class Made:
    """What names stand for, and the entities."""

    links: dict[NameKey, NameLink]
    entities: dict[NamedNode, LinkedEntity]


class LinkingRules:
    """How names are linked in one workspace: the rules for pairs, and what becomes of the groups that they make."""

    def __init__(self, ontology: Ontology, base: str, likeness: Likeness, apart: frozenset[Apart]) -> None:
        self.grounds = NameGrounds(ontology)
        self._ontology = ontology
        self._base = base
        self._likeness = likeness
        self._apart = apart

    @cached_property
    def _listed(self) -> dict[tuple[str, ...], list[Individual]]:
        """The ontology's own named values, such as audiences and seasons, by their words."""
        listed: dict[tuple[str, ...], list[Individual]] = {}
        for individual in sorted(self._ontology.individuals.values(), key=lambda item: item.iri.value):
            for words in {row(normalise(word.text)) for word in individual.words}:
                listed.setdefault(words, []).append(individual)
        return listed

    def value(self, name: NameEntry) -> NamedNode | None:
        """The named value of the ontology that the name is of, if it is."""
        for individual in self._listed.get(row(name.text), []):
            if individual.types and self._ontology.fits(name.type, individual.types):
                return individual.iri
        return None

    def narrowed(self, names: NameTable, statistics: Statistics) -> NameTable:
        """The names, each as of the class of its group: it is told by all names of a thing, and tells of their wording.

        ``statistics`` are over all names of the workspace, where these are only some of them.
        """
        minting = _Minting(self._ontology, self._base, statistics)
        types = {name.key: minting.type(group) for group in self._groups(names, statistics) for name in group.names}
        return replace(names, by_key={key: replace(name, narrowed=types[key]) for key, name in names.by_key.items()})

    def made(self, names: NameTable, statistics: Statistics) -> Made:
        """What narrowed names stand for."""
        minting = _Minting(self._ontology, self._base, statistics)
        made = Made({}, {})
        for group in self._groups(names, statistics):
            if not any(name.count for name in group.names):
                continue  # known, and not mentioned anywhere
            minted = minting.entity(group)
            made.entities[minted.entity.iri] = minted.entity
            made.links.update(_links(group, minted))
        return made

    def _groups(self, names: NameTable, statistics: Statistics) -> list[Group]:
        candidates = Candidates(names, self.grounds, self._likeness, statistics)
        return grouped(names, candidates, self._apart)


def value_link(key: NameKey, iri: NamedNode) -> NameLink:
    """The link of a name to a named value of the ontology."""
    return NameLink(*key, iri, 1.0, "value")


def named_values(ontology: Ontology) -> dict[NameKey, NameLink]:
    """The ontology's named values under their words."""
    values: dict[NameKey, NameLink] = {}
    for individual in sorted(ontology.individuals.values(), key=lambda item: item.iri.value):
        for type_ in individual.types:
            for word in individual.words:
                key = (type_, normalise(word.text))
                values.setdefault(key, NameLink(*key, individual.iri, 1.0, "value"))
    return values


def with_values(linking: Linking, values: Mapping[NameKey, NameLink]) -> Linking:
    """The map with `named_values`: what a document is seen through before it is linked.

    A value that is new to the workspace then stands for itself at once, and is not taken for a thing of its own.
    """
    names = PersistentMap.of(linking.names)
    return replace(linking, names=names.changed({key: link for key, link in values.items() if key not in names}))


@dataclass(frozen=True, slots=True)
class _Made:
    """An entity, and the name of it from which the way to the others is counted."""

    entity: LinkedEntity
    main: NameEntry


class _Minting:
    """Gives groups their classes, labels and IRIs; no IRI twice."""

    def __init__(self, ontology: Ontology, base: str, texts: Container[str]) -> None:
        self._ontology = ontology
        self._base = base
        self._texts = texts
        self._taken: set[NamedNode] = set()

    def entity(self, group: Group) -> _Made:
        type_ = self.type(group)
        labels = self._labels(group)
        main = min(group.names, key=lambda name: (name.known is None, -name.count, sort_key(name.key)))
        iri = min(group.known, key=lambda iri: iri.value) if group.known else self._iri(group, type_, labels)
        self._taken.add(iri)
        return _Made(LinkedEntity(iri, type_, labels), main)

    def type(self, group: Group) -> NamedNode:
        """The most specific of the classes that are said; of several not above one another that mentioned most.

        Of equals the one with more above it says more: *hotel* beside *attraction*.
        """
        counts: Counter[NamedNode] = Counter()
        for name in group.names:
            counts[name.key[0]] += name.count
        lowest = [t for t in counts if not any(t != o and t in self._ontology.superclasses(o) for o in counts)]
        return min(lowest or counts, key=lambda t: (-counts[t], -len(self._ontology.superclasses(t)), t.value))

    def _labels(self, group: Group) -> tuple[Word, ...]:
        """In each language the name used most; where there is none, what the names are also called.

        What the graph itself calls an entity stays its label: another one in that language would be a second.
        """
        forms: dict[str, Counter[str]] = {"en": Counter(), "zh": Counter()}
        aliases: dict[str, Counter[str]] = {"en": Counter(), "zh": Counter()}
        fixed = {name.text for name in group.names if name.known}
        settled = {_language(text) for text in fixed}
        for name in group.names:
            for text, count in name.forms.items():
                if name.text in fixed or _language(text) not in settled:
                    forms[_language(text)][text] += count
            for text, count in name.aliases.items():
                if _language(text) not in settled and normalise(text) not in self._texts:
                    aliases[_language(text)][text] += count
        found = [Word(_most_used(forms[lang] or aliases[lang]), lang) for lang in forms if forms[lang] or aliases[lang]]
        return tuple(found) if any(forms.values()) else ()

    def _iri(self, group: Group, type_: NamedNode, labels: tuple[Word, ...]) -> NamedNode:
        texts = [word.text for word in labels] + [name.text for name in group.names]
        tried = [entity_iri(self._base, type_, text) for text in texts]
        tried += [entity_iri(self._base, name.type, name.text) for name in group.names]
        return next((iri for iri in tried if iri not in self._taken), tried[-1])


def _language(text: str) -> str:
    return "zh" if has_han(text) else "en"


def _most_used(texts: Counter[str]) -> str:
    return min(texts, key=lambda text: (-texts[text], -len(text), text))


def _links(group: Group, made: _Made) -> dict[NameKey, NameLink]:
    ways = ways_from(made.main.key, group.pairs)
    found: dict[NameKey, NameLink] = {}
    for name in group.names:
        if name.count:
            score, method = ways[name.key]
            if made.main.known and method == "exact":
                method = "known"
            found[name.key] = NameLink(*name.key, made.entity.iri, score, method)
    return found


def link_triples(linking: Linking, base: str, among: Container[NamedNode] | None = None) -> list[Triple]:
    """What was merged, as `core:Link` nodes with score and method, for ``graph/links``.

    ``among`` are the entities of the whole map, where this is a part of it.

    A link goes from the IRI that a name would have by itself to the entity it was taken for; that IRI is retired and
    says so (`dcterms:isReplacedBy`).
    """
    found: list[Triple] = []
    every = linking.entities if among is None else among
    for link in linking.names.values():
        own = entity_iri(base, link.type, link.name)
        if own == link.entity or own in every or link.method == "value":
            continue
        digest = hashlib.sha256(f"{own.value}\x1f{link.entity.value}".encode()).hexdigest()[:16]
        node = NamedNode(f"{base}link/{digest}")
        found += [
            Triple(node, TYPE, NamedNode(f"{CORE}Link")),
            Triple(node, NamedNode(f"{CORE}linkFrom"), own),
            Triple(node, NamedNode(f"{CORE}linkTo"), link.entity),
            Triple(node, NamedNode(f"{CORE}score"), Literal(repr(link.score), datatype=XSD_DOUBLE)),
            Triple(node, NamedNode(f"{CORE}method"), Literal(link.method)),
            Triple(own, NamedNode(f"{DCTERMS}isReplacedBy"), link.entity),
        ]
    return list(dict.fromkeys(found))


LIKENESSES = (1.0, 0.98, 0.96, 0.94, 0.92, 0.9, 0.88, 0.86, 0.84, 0.82, 0.8)
"""What is tried, from the strictest on."""


@dataclass(frozen=True, slots=True)
class Gold:
    """The names of each thing, normalised, and what is wrong with lines that are left out."""

    things: tuple[frozenset[str], ...]
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PairScore:
    """Pairs of names: how many are linked, should be, and are both; some of those that are linked or not wrongly."""

    linked: int
    wanted: int
    right: int
    wrong: tuple[tuple[str, str], ...] = ()
    missed: tuple[tuple[str, str], ...] = ()

    @property
    def precision(self) -> float:
        """The share of the linked pairs that should be; 1 where none is linked."""
        return self.right / self.linked if self.linked else 1.0

    @property
    def recall(self) -> float:
        """The share of the wanted pairs that are linked; 1 where none is wanted."""
        return self.right / self.wanted if self.wanted else 1.0

    @property
    def f1(self) -> float:
        """The harmonic mean of both."""
        both = self.precision + self.recall
        return 2 * self.precision * self.recall / both if both else 0.0


@dataclass(frozen=True, slots=True)
class Trial:
    """A likeness and how well names were linked from it on."""

    likeness: float
    score: PairScore


def read_gold(path: Path) -> Gold:
    """The things in a file of JSON Lines; a name may be of one thing only.

    Raises:
        ReadError: the file cannot be read, or none of its lines can be used.
    """
    seen: dict[str, int] = {}

    def parse(item: Mapping[str, object], number: int) -> frozenset[str]:
        names = item.get("names")
        if not isinstance(names, list) or not names or not all(isinstance(name, str) and name for name in names):
            raise ValueError('must be {"names": ["…", …]}')
        found = frozenset(normalise(name) for name in names)
        for name in sorted(found):
            if seen.setdefault(name, number) != number:
                raise ValueError(f"{name!r} stands in line {seen[name]} too")
        return found

    things, problems = read_json_lines(path, parse, what="line of names")
    return Gold(tuple(things), tuple(problems))


def pair_score(linking: Linking, gold: Gold) -> PairScore:
    """How the linking does on the names that the gold sorts and documents mention."""
    thing = {name: number for number, names in enumerate(gold.things) for name in names}
    by_name: dict[str, set[str]] = {}
    for link in linking.names.values():
        if link.name in thing and link.method != "value":
            by_name.setdefault(link.name, set()).add(link.entity.value)
    by_entity: dict[str, set[str]] = {}
    for name, entities in by_name.items():
        for entity in entities:
            by_entity.setdefault(entity, set()).add(name)
    linked = _pairs(by_entity.values())
    wanted = _pairs(names & by_name.keys() for names in gold.things)
    right = linked & wanted
    return PairScore(
        len(linked), len(wanted), len(right), tuple(sorted(linked - wanted)), tuple(sorted(wanted - linked))
    )


def _pairs(groups: Iterable[Iterable[str]]) -> set[tuple[str, str]]:
    return {pair for group in groups for pair in combinations(sorted(group), 2)}


def trials(linked_from: Callable[[float], Linking], gold: Gold, tried: Sequence[float] = LIKENESSES) -> list[Trial]:
    """How names are linked from each likeness on; ``linked_from`` links them."""
    return [Trial(likeness, pair_score(linked_from(likeness), gold)) for likeness in tried]


def best(tried: Sequence[Trial], *, precision: float = 0.97) -> Trial:
    """The trial of highest recall among those precise enough, the strictest of equals; else the most precise."""
    enough = [trial for trial in tried if trial.score.precision >= precision]
    if enough:
        return max(enough, key=lambda trial: (trial.score.recall, trial.score.precision, trial.likeness))
    return max(tried, key=lambda trial: (trial.score.precision, trial.score.recall, trial.likeness))


# What documents say of names is kept added up (`gathered`), so are the counts that rules look at (`statistics`), and
# the keys that names have in common (`blocking`). A change makes some names other names than before; they, and all that
# share a key with them over however many steps, are linked anew among themselves, and the rest stays as it is.
@dataclass(frozen=True, slots=True)
class Relinked:
    """The names that were looked at again, those of them that stand for something, and the entities of these."""

    keys: frozenset[NameKey] = frozenset()
    links: Mapping[NameKey, NameLink] = field(default_factory=dict)
    entities: Mapping[NamedNode, LinkedEntity] = field(default_factory=dict)

    def onto(self, linking: Linking) -> Linking:
        """The map with what was linked anew in the place of what these names stood for before."""
        names = PersistentMap.of(linking.names).changed(self.links, (key for key in self.keys if key not in self.links))
        gone = (iri for iri in self.left(linking) if iri not in self.entities)
        return replace(linking, names=names, entities=PersistentMap.of(linking.entities).changed(self.entities, gone))

    def left(self, linking: Linking) -> set[NamedNode]:
        """The entities that the names stood for before."""
        before = (linking.names.get(key) for key in self.keys)
        return {link.entity for link in before if link is not None}


class IncrementalLinking:
    """The names of a workspace as they are linked, kept in line with documents that come, change and go.

    Likeness of content is not for it: what is nearest to a name may change by any other name.
    """

    def __init__(self, ontology: Ontology, base: str, likeness: Likeness, apart: Iterable[Apart] = ()) -> None:
        self._rules = LinkingRules(ontology, base, likeness, frozenset(apart))
        keys = Keys(self._rules.grounds, base)
        self._gathered = Gathered(ontology, contexts=False)
        self._statistics = Statistics(self._rules.grounds.wording)
        self._known: dict[NameKey, NamedNode] = {}
        self._moved: set[NameKey] = set()
        self._first, self._second = NameBlocks(keys), NameBlocks(keys)

    @property
    def touched(self) -> set[NameKey]:
        """The names of which `packed` may say something else than when `saved` was last called."""
        return self._moved | self._first.touched | self._second.touched

    def saved(self) -> None:
        """Begins anew to note what was touched."""
        for touched in (self._moved, self._first.touched, self._second.touched):
            touched.clear()

    def packed(self, key: NameKey) -> list[Any] | None:
        """All that is known of a name but its link, as lists and texts; None: nothing."""
        said, known, second = self._gathered.packed_name(key), self._known.get(key), self._second.names.get(key)
        if said is None and known is None:
            return None
        narrowed = second.narrowed.value if second is not None and second.narrowed is not None else None
        keys = self._first.packed(key), self._second.packed(key)
        return [said, known.value if known is not None else None, narrowed, *keys]

    def packed_document(self, document: str) -> tuple[str, list[list[Any]]] | None:
        """What a document says of names as one line of JSON, and what it says to lie in what; None: nothing."""
        said = self._gathered.packed(document)
        return (said, self._gathered.ties(document)) if said is not None else None

    def restore(
        self, names: Mapping[NameKey, list[Any]], documents: Iterable[tuple[str, str, list[tuple[str, str, int]]]]
    ) -> None:
        """Takes up, in a new object, all that `packed` and `packed_document` told."""
        for document, said, ties in documents:
            self._gathered.restore(document, said, ties)
        for key, (said, known, *_) in names.items():
            if said is not None:
                self._gathered.restore_name(key, said)
            if known is not None:
                self._known[key] = node(known)
        for key, (_, _, narrowed, first, second) in names.items():
            name = self._gathered.name(key, self._known.get(key))
            if name is not None and first is not None:
                self._first.restore(name, first)
                self._second.restore(replace(name, narrowed=node(narrowed) if narrowed else None), second)
        self._statistics.restore(self._first.names.values())

    def relink(
        self, documents: Mapping[str, Iterable[Extraction]], known: Mapping[NameKey, NamedNode] | None = None
    ) -> Relinked:
        """Takes documents in, each in the place of what it said before (without extractions it goes), and links.

        ``known`` are all the entities that the graph has otherwise, as for `link_entities`.

        Raises:
            ModelUnavailableError: the embedding model cannot be used.
        """
        given = dict(known or {})
        differing = {key for key, _ in given.items() ^ self._known.items()}
        return self.relink_changed(documents, {key: given.get(key) for key in differing})

    def relink_changed(
        self, documents: Mapping[str, Iterable[Extraction]], known: Mapping[NameKey, NamedNode | None]
    ) -> Relinked:
        """The same, where ``known`` are only the names that stand for other entities of the graph now, or for none.

        Raises:
            ModelUnavailableError: the embedding model cannot be used.
        """
        moved = self._gathered.put(documents)
        moved.keys |= known.keys()
        self._moved |= moved.keys
        for key, iri in known.items():
            self._known.pop(key, None)
            if iri is not None:
                self._known[key] = iri
        changed, values = self._renamed(moved.keys)
        shifted = self._statistics.change((self._first.names.get(key), name) for key, name in changed.items())
        made = self._narrowed(changed, moved, shifted)
        reached = self._put(self._second, made, moved, shifted)
        result = self._rules.made(self._some(self._second, reached), self._statistics)
        links = {**result.links, **{key: value_link(key, iri) for key, iri in values.items()}}
        gone = (key for key in changed if key not in self._second.names)
        return Relinked(frozenset(reached.union(gone)), links, result.entities)

    def _renamed(self, keys: Iterable[NameKey]) -> tuple[dict[NameKey, NameEntry | None], dict[NameKey, NamedNode]]:
        """The names of those keys as they are now, None for one that went or is a value of the ontology; the values."""
        changed: dict[NameKey, NameEntry | None] = {}
        values: dict[NameKey, NamedNode] = {}
        for key in keys:
            name = self._gathered.name(key, self._known.get(key))
            value = self._rules.value(name) if name is not None else None
            if value is not None:
                values[key] = value
            changed[key] = None if value is not None else name
        return changed, values

    def _narrowed(
        self, changed: Mapping[NameKey, NameEntry | None], moved: MovedNames, shifted: Shifted
    ) -> dict[NameKey, NameEntry | None]:
        """The names that are of another class than before, or otherwise new, each as of the class of its thing."""
        reached = self._put(self._first, changed, moved, shifted)
        names = self._rules.narrowed(self._some(self._first, reached), self._statistics)
        before = self._second.names
        found: dict[NameKey, NameEntry | None] = {key: None for key in changed if key not in names.by_key}
        found.update((key, name) for key, name in names.by_key.items() if name != before.get(key))
        return found

    def _put(
        self, blocks: NameBlocks, changed: Mapping[NameKey, NameEntry | None], moved: MovedNames, shifted: Shifted
    ) -> set[NameKey]:
        """Takes names in, and those for which the change means something; returns all that it may reach."""
        beside = blocks.concerned(moved.tied | shifted.texts | shifted.others)
        beside |= blocks.looking_at(moved.placed | shifted.texts)
        again: dict[NameKey, NameEntry | None] = {key: blocks.names[key] for key in beside}
        return blocks.put({**again, **changed}, self._statistics, self._gathered.within)

    def _some(self, blocks: NameBlocks, keys: Iterable[NameKey]) -> NameTable:
        found = {key: blocks.names[key] for key in sorted(keys, key=sort_key)}
        return NameTable(found, self._gathered.within, self._gathered.above)
