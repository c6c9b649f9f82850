"""The communities stage: who is closely connected to whom, written to ``graph/communities``, with a report on each.

A tie is a statement between two things, as heavy as it has evidence. What was concluded by rules, and the ontology
itself, tie nothing. A community keeps its IRI while at least half of it stays together. A report is kept while what it
tells of holds; it is stale once a statement between its members has come or gone since it was written.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial

from pyoxigraph import Literal, NamedNode, Triple

from kgplatform.extraction.names import tag
from kgplatform.ontology.schema import Ontology
from kgplatform.reasoning.community_detection import (
    Community,
    CommunityMaterial,
    CommunityReport,
    Edges,
    Member,
    Partition,
    TiedFact,
    degrees_of,
    detect,
    report,
    write,
)
from kgplatform.settings import CommunitySettings
from kgplatform.store.dataset import Change, EvidenceDataset
from kgplatform.store.oxigraph import DEFAULT_GRAPH
from kgplatform.text import has_han
from kgplatform.types import ChatModel, Progress, Term
from kgplatform.vocab import CORE, DCTERMS, LABEL, TYPE, XSD_DOUBLE, XSD_INTEGER, graph_iri, slug

LANGUAGES = ("en", "zh")
_REPORT = NamedNode(f"{CORE}CommunityReport")
_OF, _SUMMARY, _METHOD, _MODEL = (NamedNode(f"{CORE}{name}") for name in ("reportOf", "summary", "method", "model"))
_IDENTIFIER = NamedNode(f"{DCTERMS}identifier")
_NAME = re.compile(r"(?<![.!?]\s)(?<!^)\b[^\W\d_a-z][\w'’-]*(?:\s+[^\W\d_a-z][\w'’-]*)*")
_NAME_FLAGS = ("nr", "ns", "nt", "nz")


@dataclass(frozen=True, slots=True)
class ReportWriter:
    """Who writes reports: a model, several at a time, or (None) the built-in method."""

    model: ChatModel | None = None
    workers: int = 4

    @property
    def method(self) -> str:
        """What reports say of how they were made."""
        return "model" if self.model is not None else "built-in"


@dataclass(frozen=True, slots=True)
class ReportDraft:
    """A community whose report is to be there: what it is called, a hash of what it tells of, and the material."""

    iri: NamedNode
    digest: str
    material: Callable[[str], CommunityMaterial]


def report_triples(
    drafts: Iterable[ReportDraft],
    writer: ReportWriter,
    old: Mapping[NamedNode, list[Triple]],
    progress: Progress | None = None,
) -> Iterator[Triple]:
    """The reports: the old one where its hash and method are still the same, and a new one for each other.

    Raises:
        ModelError: the model cannot be reached, or does not reply as asked.
    """
    new: list[ReportDraft] = []
    for draft in drafts:
        kept = old.get(draft.iri, [])
        if _is_current(kept, draft, writer):
            yield from kept
        else:
            new.append(draft)
    materials = (draft.material(language) for draft in new for language in LANGUAGES)
    with ThreadPoolExecutor(writer.workers) as pool:
        together = pool.map if writer.model is not None else map
        texts = iter(together(lambda material: _written(material, writer.model), materials))
        for number, draft in enumerate(new, start=1):
            if progress is not None:
                progress(number, len(new), "communities")
            yield from _triples(draft, [(language, next(texts)) for language in LANGUAGES], writer)


def _is_current(kept: Iterable[Triple], draft: ReportDraft, writer: ReportWriter) -> bool:
    values = {(triple.predicate, getattr(triple.object, "value", "")) for triple in kept}
    if (_IDENTIFIER, draft.digest) not in values or (_METHOD, writer.method) not in values:
        return False
    return writer.model is None or (_MODEL, writer.model.name) in values


def _written(material: CommunityMaterial, model: ChatModel | None) -> CommunityReport:
    """The model's report; the built-in one where there is no model, or nothing of its report could be used."""
    found = write(model, material, names_in=names_in).report if model is not None else None
    return found or report(material.members, material.facts, material.language)


def _triples(
    draft: ReportDraft, texts: Iterable[tuple[str, CommunityReport]], writer: ReportWriter
) -> Iterator[Triple]:
    about = NamedNode(f"{draft.iri.value}/report")
    yield Triple(about, TYPE, _REPORT)
    yield Triple(about, _OF, draft.iri)
    yield Triple(about, _IDENTIFIER, Literal(draft.digest))
    yield Triple(about, _METHOD, Literal(writer.method))
    if writer.model is not None:
        yield Triple(about, _MODEL, Literal(writer.model.name))
    for language, text in texts:
        yield Triple(draft.iri, LABEL, Literal(text.title, language=language))
        yield Triple(about, _SUMMARY, Literal(text.text, language=language))


def names_in(sentence: str) -> list[str]:
    """The names in a sentence: capitalised words but the first, and what the Chinese tagger takes for a name.

    It takes 镇内 and 园内, which say "in town" and "in the garden", for places.
    """
    if has_han(sentence):
        found = (token.text for token in tag(sentence) if token.tag.startswith(_NAME_FLAGS) and len(token.text) > 1)
        return [text for text in found if not text.endswith("内")]
    return _NAME.findall(sentence)


_SAME = 0.5

_COMMUNITY = NamedNode(f"{CORE}Community")
_MEMBER, _LEVEL, _RANK = (NamedNode(f"{CORE}{name}") for name in ("memberOf", "level", "rank"))
_SIZE, _MODULARITY = NamedNode(f"{CORE}size"), NamedNode(f"{CORE}modularity")


@dataclass(frozen=True, slots=True)
class CommunityView:
    """A community for a reader: its members by falling degree, what it is about in the language, and its place."""

    iri: NamedNode
    level: int
    parent: NamedNode | None
    size: int
    rank: float
    title: str
    summary: str
    stale: bool
    members: tuple[NamedNode, ...]


@dataclass(frozen=True, slots=True)
class CommunitiesFound:
    """How many communities there are on how many levels, how many came and went, and the modularity of the coarsest."""

    communities: int
    levels: int
    new: int
    gone: int
    modularity: float


@dataclass(frozen=True, slots=True)
class CommunityParts:
    """What the stage reads and writes; ``label`` gives a term's name in a language."""

    dataset: EvidenceDataset
    ontology: Ontology
    settings: CommunitySettings
    label: Callable[[Term, str], str]
    writer: ReportWriter = field(default_factory=ReportWriter)

    @property
    def graph(self) -> NamedNode:
        """Where communities are written."""
        return graph_iri(self.dataset.base, "communities")


def find_communities(parts: CommunityParts, *, progress: Progress | None = None) -> CommunitiesFound:
    """Finds the communities of the graph as it is now, and writes them in one transaction.

    Raises:
        StoreError: the disk refuses; the old communities stay.
    """
    statements = dict(_statements(parts))
    edges = _edges(statements)
    old = {view.iri: view for view in communities(parts)}
    before = {m.value: n for n, view in enumerate(old.values()) if view.level == 0 for m in view.members}
    partition = detect(
        edges, resolution=parts.settings.resolution, largest=parts.settings.largest, before=before or None
    )
    names = _names(partition, old, parts)
    told = _Told(partition, names, statements, degrees_of(edges))
    reports = report_triples(_drafts(told, parts), parts.writer, _reports(parts), progress)
    triples = [*_community_triples(told), *reports]
    parts.dataset.commit(Change(dropped=(parts.graph,), added={parts.graph: triples}))
    kept = set(names.values()) & old.keys()
    levels = {community.level for community in partition.communities}
    return CommunitiesFound(len(names), len(levels), len(names) - len(kept), len(old) - len(kept), partition.modularity)


def communities(parts: CommunityParts, *, language: str = "en") -> list[CommunityView]:
    """The communities as last found, the coarsest first, larger before smaller."""
    store, graph = parts.dataset.store, parts.graph
    if not store.has_graph(graph):
        return []
    now = _digests(dict(_statements(parts)))
    values: dict[NamedNode, dict[NamedNode, list[Term]]] = {}
    members: dict[Term, list[NamedNode]] = {}
    for quad in store.quads(graph=graph):
        if isinstance(quad.subject, NamedNode):
            values.setdefault(quad.subject, {}).setdefault(quad.predicate, []).append(quad.object)
            if quad.predicate == _MEMBER:
                members.setdefault(quad.object, []).append(quad.subject)
    reports = {found[_OF][0]: found for found in values.values() if _OF in found}
    views = []
    for iri, found in values.items():
        if _COMMUNITY in found.get(TYPE, ()):
            own = [member for member in members.get(iri, ()) if _LEVEL not in values[member]]
            views.append(_view(iri, found, own, reports.get(iri, {}), now, language))
    return sorted(views, key=lambda view: (view.level, -view.size, view.iri.value))


def _view(
    iri: NamedNode,
    found: Mapping[NamedNode, list[Term]],
    members: list[NamedNode],
    written: Mapping[NamedNode, list[Term]],
    now: Mapping[str, frozenset[str]],
    language: str,
) -> CommunityView:
    above = next((t for t in found.get(_MEMBER, ()) if isinstance(t, NamedNode)), None)
    return CommunityView(
        iri=iri,
        level=int(_text(found.get(_LEVEL, ()), "") or 0),
        parent=above,
        size=int(_text(found.get(_SIZE, ()), "") or 0),
        rank=float(_text(found.get(_RANK, ()), "") or 0),
        title=_text(found.get(LABEL, ()), language),
        summary=_text(written.get(_SUMMARY, ()), language),
        stale=_text(written.get(_IDENTIFIER, ()), "") != _digest_of(members, now),
        members=tuple(sorted(members, key=lambda member: member.value)),
    )


def _digests(statements: Iterable[Triple]) -> dict[str, frozenset[str]]:
    """The statements that each thing has a part in, for telling whether a report still holds."""
    found: dict[str, set[str]] = {}
    for triple in statements:
        for end in (triple.subject, triple.object):
            if isinstance(end, NamedNode):
                found.setdefault(end.value, set()).add(str(triple))
    return {end: frozenset(said) for end, said in found.items()}


def _digest_of(members: Iterable[NamedNode], said: Mapping[str, frozenset[str]]) -> str:
    """A hash of what is stated between the members."""
    seen: dict[str, int] = {}
    for member in members:
        for statement in said.get(member.value, ()):
            seen[statement] = seen.get(statement, 0) + 1
    inside = sorted(statement for statement, ends in seen.items() if ends > 1)
    return hashlib.sha256("\n".join(inside).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _text(terms: Iterable[Term], language: str) -> str:
    literals = [term for term in terms if isinstance(term, Literal)]
    return next((t.value for t in literals if t.language == language), literals[0].value if literals else "")


def _statements(parts: CommunityParts) -> Iterator[tuple[Triple, int]]:
    """The statements between things, with how many graphs hold each as evidence."""
    dataset, ontology = parts.dataset, parts.ontology
    left_out = {dataset.ontology, dataset.inferred, dataset.links, dataset.identities, dataset.relations}
    shown = {item.iri for item in ontology.domain_properties if item.is_object}
    count: dict[Triple, int] = {}
    for graph in dataset.store.graphs():
        if graph in left_out or not dataset.is_evidence(graph):
            continue
        for quad in dataset.store.quads(graph=graph):
            ends = isinstance(quad.subject, NamedNode) and isinstance(quad.object, NamedNode)
            if ends and quad.predicate in shown and quad.object not in ontology.individuals:
                count[quad.triple] = count.get(quad.triple, 0) + 1
    yield from ((triple, number) for triple, number in count.items() if dataset.store.has(triple, DEFAULT_GRAPH))


def _edges(statements: Mapping[Triple, int]) -> Edges:
    edges: dict[tuple[str, str], float] = {}
    for triple, number in statements.items():
        if isinstance(triple.subject, NamedNode) and isinstance(triple.object, NamedNode):
            key = (triple.subject.value, triple.object.value)
            edges[key] = edges.get(key, 0.0) + number
    return edges


def _names(partition: Partition, old: Mapping[NamedNode, CommunityView], parts: CommunityParts) -> dict[int, NamedNode]:
    """An IRI for each community: that of the old one of its level that it has most in common with, else a new one."""
    free = {iri: {member.value for member in view.members} for iri, view in old.items()}
    names: dict[int, NamedNode] = {}
    for place, community in enumerate(partition.communities):
        now = set(community.members)
        likeness = {
            iri: len(now & members) / len(now | members)
            for iri, members in free.items()
            if old[iri].level == community.level
        }
        best = max(likeness, key=lambda iri: (likeness[iri], iri.value), default=None)
        if best is not None and likeness[best] >= _SAME:
            names[place] = best
            del free[best]
        else:
            names[place] = _new_name(community, parts)
    return names


def _new_name(community: Community, parts: CommunityParts) -> NamedNode:
    digest = hashlib.sha256("\x1f".join((str(community.level), *sorted(community.members))).encode()).hexdigest()[:8]
    head = slug(parts.label(NamedNode(community.members[0]), "en"))
    return NamedNode(f"{parts.dataset.base}community/{head}-{digest}")


@dataclass(frozen=True, slots=True)
class _Told:
    """What is known of the communities: their names, the statements, and how closely each thing is tied."""

    partition: Partition
    names: Mapping[int, NamedNode]
    statements: Mapping[Triple, int]
    degrees: Mapping[str, float]


def _community_triples(told: _Told) -> Iterator[Triple]:
    for place, community in enumerate(told.partition.communities):
        iri = told.names[place]
        yield Triple(iri, TYPE, _COMMUNITY)
        yield Triple(iri, _LEVEL, Literal(str(community.level), datatype=XSD_INTEGER))
        yield Triple(iri, _SIZE, Literal(str(len(community.members)), datatype=XSD_INTEGER))
        yield Triple(iri, _RANK, Literal(str(community.weight), datatype=XSD_DOUBLE))
        if community.parent is not None:
            yield Triple(iri, _MEMBER, told.names[community.parent])
        else:
            yield Triple(iri, _MODULARITY, Literal(str(told.partition.modularity), datatype=XSD_DOUBLE))
        for member in community.members:
            yield Triple(NamedNode(member), _MEMBER, iri)


def _reports(parts: CommunityParts) -> dict[NamedNode, list[Triple]]:
    """The reports that are there, each with the labels of its community."""
    held = [item.triple for item in parts.dataset.store.quads(graph=parts.graph)]
    homes = {t.subject: t.object for t in held if t.predicate == _OF and isinstance(t.object, NamedNode)}
    found: dict[NamedNode, list[Triple]] = {iri: [] for iri in homes.values()}
    for triple in held:
        home = homes.get(triple.subject, triple.subject if triple.predicate == LABEL else None)
        if isinstance(home, NamedNode) and home in found:
            found[home].append(triple)
    return found


def _drafts(told: _Told, parts: CommunityParts) -> Iterator[ReportDraft]:
    inside = _facts_of(told.partition, told.statements)
    said = _digests(told.statements)
    for place, community in enumerate(told.partition.communities):
        digest = _digest_of(map(NamedNode, community.members), said)
        material = partial(_material, community, inside[place], told.degrees, parts)
        yield ReportDraft(told.names[place], digest, material)


def _facts_of(partition: Partition, statements: Mapping[Triple, int]) -> dict[int, list[Triple]]:
    """The statements inside each community."""
    homes: dict[str, list[int]] = {}
    for place, community in enumerate(partition.communities):
        for member in community.members:
            homes.setdefault(member, []).append(place)
    found: dict[int, list[Triple]] = {place: [] for place in range(len(partition.communities))}
    for triple in statements:
        ends = [homes.get(end.value, []) for end in (triple.subject, triple.object) if isinstance(end, NamedNode)]
        for place in set(ends[0]) & set(ends[1]):
            found[place].append(triple)
    return found


def _material(
    community: Community, facts: Iterable[Triple], degrees: Mapping[str, float], parts: CommunityParts, language: str
) -> CommunityMaterial:
    """Members and facts of a community in words."""
    label = parts.label
    members = tuple(
        Member(label(NamedNode(member), language), _type_label(member, parts, language), degrees[member])
        for member in community.members
    )
    space = "" if language == "zh" else " "
    tied = tuple(
        TiedFact(
            space.join(label(term, language) for term in (fact.subject, fact.predicate, fact.object)),
            sum(degrees[end.value] for end in (fact.subject, fact.object) if isinstance(end, NamedNode)),
        )
        for fact in facts
    )
    return CommunityMaterial(members, tied, language)


def _type_label(member: str, parts: CommunityParts, language: str) -> str:
    """The most special class of the thing in words."""
    best = most_special(parts, NamedNode(member))
    return parts.label(best, language) if best else {"zh": "其他"}.get(language, "other")


def most_special(parts: CommunityParts, thing: NamedNode) -> NamedNode | None:
    """The class of a thing with most classes above it; None where it is of none that counts."""
    ontology = parts.ontology
    types = [t for t in parts.dataset.store.objects(thing, TYPE) if isinstance(t, NamedNode) and t in ontology.classes]
    known = [t for t in types if not ontology.classes[t].internal]
    return max(known, key=lambda t: (len(ontology.superclasses(t)), t.value), default=None)
