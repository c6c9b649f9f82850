"""A workspace made, opened and settled after a crash, and its ontology renewed.

A new version of the ontology is staged beside the old one, then put in its place, whole or not at all.

What was read stays as read: the records of extraction have their terms replaced by successors, and the evidence graphs
likewise in one transaction together with ``graph/ontology``, so that statements remain the projection of the records.
Things keep their IRIs in that step; names of a class that is called otherwise now are linked anew after it, and an IRI
that retires says by which it was replaced. Statements with a term that has no successor are left alone: `check` lists
them.

Order: new files and a plan go into ``ontology.next``, then ``ontology.pending`` marks that the plan holds. From there
every step can be done again, so whoever opens the workspace after a crash carries on from the marker; without one,
nothing happened.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from pyoxigraph import BlankNode, NamedNode, Quad, Triple

from kgplatform import settings as config
from kgplatform.documents.records import Linking, State
from kgplatform.documents.registry import Registry
from kgplatform.errors import ConfigError, KgPlatformError, OntologyError, WorkspaceError
from kgplatform.extraction.values import CURRENCIES, is_currency
from kgplatform.linking.clusters import link_triples
from kgplatform.linking.external import EXACT_MATCH
from kgplatform.ontology import packs
from kgplatform.ontology.packs import ImportRules, LoadedOntology
from kgplatform.reasoning.checks import refuse_unusable
from kgplatform.reasoning.ontology_change import OntologyDifference, Succession, difference, succession
from kgplatform.store.dataset import Change, EvidenceDataset, quad
from kgplatform.store.oxigraph import DEFAULT_GRAPH, Store
from kgplatform.types import Term
from kgplatform.vocab import CORE, DCTERMS, TYPE, graph_iri, local_name
from kgplatform.workspace.build import build
from kgplatform.workspace.community_stage import find_communities
from kgplatform.workspace.entity_linking import linked
from kgplatform.workspace.ingest import Ingest, Projecting, tables_of
from kgplatform.workspace.ingest import retired as retired_by
from kgplatform.workspace.workspace import REGISTRY, STORE, UPDATE, Workspace


def found(
    path: Path,
    names: Sequence[str],
    *,
    base: str,
    imports: Mapping[str, Path | str] | None = None,
    fetch_imports: bool = False,
    currency: str = "",
) -> LoadedOntology:
    """Makes a workspace in a folder that is empty or does not exist; what its ontologies are.

    Raises:
        WorkspaceError: the folder holds something, or cannot be made.
        OntologyError: an ontology is not known or cannot be read, or has no prices for the currency; nothing is left
            behind.
        ConfigError: no IRIs can begin with the base, or the currency is not known.
    """
    refuse_full(path)
    config.checked_base(base)
    with import_rules(imports or {}, fetch=fetch_imports) as rules, TemporaryDirectory(prefix="kgplatform-") as drawn:
        loaded = packs.load(names, folder=Path.cwd(), rules=rules)
        if currency:
            names = [*names, str(_prices(loaded, currency.upper(), Path(drawn)))]
            loaded = packs.load(names, folder=Path.cwd(), rules=rules)
        refuse_unusable(packs.own_files(loaded.files))
        was_there = path.exists()
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise WorkspaceError(f"{path}: cannot be made: {error.strerror or error}", path=path) from error
        try:
            _fill(path, names, loaded, base)
        except (KgPlatformError, OSError) as error:
            _empty(path, is_kept=was_there)
            if isinstance(error, OSError):
                raise WorkspaceError(f"{path}: cannot be made: {error.strerror or error}", path=path) from error
            raise
    return loaded


def _prices(loaded: LoadedOntology, currency: str, folder: Path) -> Path:
    """A file of the folder that gives every property whose unit is a currency this one.

    Raises:
        ConfigError: it is no code of ISO 4217 that prices are read in.
        OntologyError: no property is in a currency.
    """
    if currency not in CURRENCIES:
        raise ConfigError(f"currency {currency!r} must be one of {', '.join(CURRENCIES)}", setting="currency")
    priced = sorted(iri.value for iri, term in loaded.ontology.properties.items() if is_currency(term.unit))
    if not priced:
        raise OntologyError(f"no property has a currency as its unit, so none can be in {currency}", source="currency")
    path = folder / "currency.ttl"
    path.write_text("".join(f'<{iri}> <{CORE}unit> "{currency}" .\n' for iri in priced), encoding="utf-8")
    return path


def refuse_full(path: Path) -> None:
    """Refuses a folder that something is in.

    Raises:
        WorkspaceError: it is a file, a workspace, or not empty.
    """
    if path.exists() and not path.is_dir():
        raise WorkspaceError(f"{path} is a file; choose another folder", path=path)
    if path.exists() and any(path.iterdir()):
        what = "is a workspace already" if (path / config.FILE).exists() else "is not empty"
        raise WorkspaceError(f"{path} {what}; choose another folder", path=path)


def _fill(path: Path, names: Sequence[str], loaded: LoadedOntology, base: str) -> None:
    kept = packs.keep(names, loaded, source=Path.cwd(), folder=path)
    store = Store.open(path / STORE)
    try:
        dataset = EvidenceDataset(store, base)
        dataset.commit(Change(added={dataset.ontology: loaded.triples}))
        store.flush()
    finally:
        store.close()
    config.write(path, base=base, ontology=kept)  # last: a folder without settings is no workspace


def _empty(path: Path, *, is_kept: bool) -> None:
    for item in path.iterdir():
        if item.is_dir():
            shutil.rmtree(item, ignore_errors=True)
        else:
            item.unlink(missing_ok=True)
    if not is_kept:
        path.rmdir()


@contextmanager
def import_rules(given: Mapping[str, Path | str], *, fetch: bool) -> Iterator[ImportRules]:
    """Where imports are looked for, with a folder for fetched ones that is there as long as the context.

    Raises:
        OntologyError: a given file is not there.
    """
    files = {iri: Path(path).expanduser() for iri, path in given.items()}
    for iri, path in files.items():
        if not path.is_file():
            raise OntologyError(f"no such file, given for the import {iri}", source=str(path))
    with TemporaryDirectory(prefix="kgplatform-") as folder:
        yield ImportRules(files, Path(folder) if fetch else None, {})


_STAGE, _MARKER = "ontology.next", "ontology.pending"
_REPLACED_BY = NamedNode(f"{DCTERMS}isReplacedBy")
_ROUNDS = 3


@dataclass(frozen=True, slots=True)
class Renewal:
    """What a new version changes: the terms and statements, which terms are replaced, and the names in use after."""

    names: tuple[str, ...]
    loaded: LoadedOntology
    difference: OntologyDifference
    succession: Succession
    moved: Mapping[NamedNode, int]
    """How many statements each replaced term is used in."""
    stale_mappings: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The mappings of tables, edited by a person, that name terms which go, and which."""


@dataclass(frozen=True, slots=True)
class Renewing:
    """How ontologies are taken up: which are left out, which terms are replaced besides, where imports are."""

    without: Sequence[str] = ()
    successors: Mapping[NamedNode, NamedNode] = field(default_factory=dict)
    imports: Mapping[str, Path | str] = field(default_factory=dict)
    fetch_imports: bool = False


def open_workspace(folder: Path, *, follows: bool = False) -> Workspace:
    """The workspace in the folder, with what a crash interrupted settled; ``follows``: it is to be a replica.

    Raises:
        WorkspaceError: there is none, it is of another version, or another process has it open.
        ConfigError: its settings are wrong.
        OntologyError: its ontology cannot be read.
    """
    folder = folder.absolute()
    settle_files(folder)
    workspace = Workspace(folder, follows=follows)
    if not follows:
        recover(workspace)
    return workspace


def recover(workspace: Workspace) -> None:
    """Settles a document between registry and dataset, an update not yet reconciled, an ontology half taken up."""
    if (workspace.folder / UPDATE).exists():
        workspace.dataset.reconcile()
        (workspace.folder / UPDATE).unlink()
    Ingest(workspace).recover()
    settle_data(workspace)
    _keep_ontology(workspace)


def _keep_ontology(workspace: Workspace) -> None:
    """Has the files of the ontology travel with patches, where there is a journal."""
    if workspace.recorder is not None:
        files = ontology_files(workspace.folder)
        if files != workspace.registry.ontology_files():
            workspace.registry.set_ontology_files(files)


def ontology_files(folder: Path) -> dict[str, bytes]:
    """The files of a workspace's ontology by name, and under no name a list of the ontologies in use, as JSON."""
    names = json.dumps(config.load(folder).ontology).encode()
    return {"": names, **{path.name: path.read_bytes() for path in (folder / "ontology").glob("*") if path.is_file()}}


def renew(workspace: Workspace, names: Sequence[str], how: Renewing, *, dry_run: bool = False) -> Renewal:
    """What changes; unless ``dry_run``, staged with its marker, put in place and taken up.

    Raises:
        OntologyError: an ontology cannot be read, or a successor is not in it; nothing has changed.
        WorkspaceError: the disk refuses.
    """
    with import_rules(how.imports, fetch=how.fetch_imports) as rules:
        plan = renewal(workspace, names, how, rules)
        plan = replace(plan, stale_mappings=_stale_mappings(workspace.registry, plan))
        if not dry_run:
            stage(workspace.folder, plan, workspace.registry)
            settle_files(workspace.folder)
    if not dry_run:
        workspace.settings = config.load(workspace.folder)
        workspace.use(packs.load(workspace.settings.ontology, folder=workspace.folder))
        recover(workspace)
    return plan


def renewal(workspace: Workspace, names: Sequence[str], how: Renewing, rules: ImportRules) -> Renewal:
    """What would change if the workspace in the folder took up the named ontologies; nothing is written.

    A file takes the place of the one in use that declares the same ontology or has the same name; others are added.

    Raises:
        OntologyError: a file cannot be read, a name to leave out is not in use, or a successor is not declared.
    """
    here, folder, dataset = Path.cwd(), workspace.folder, workspace.dataset
    new = [packs.find(name, here).resolve() for name in names]
    declared = {iri: path for path in new for iri in packs.ontology_iris(path)}
    kept = _kept(config.load(folder).ontology, new, frozenset(declared), folder, how.without)
    used = list(dict.fromkeys([*kept, *(name if name in packs.shipped() else str(packs.find(name, here).resolve())
                                        for name in names)]))  # fmt: skip
    own = {iri: path for iri, path in declared.items() if path.parent != packs.home()}
    loaded = packs.load(
        used, folder=folder, rules=ImportRules({**own, **rules.given}, rules.fetched_into, workspace.loaded.places)
    )
    packs.own_files(loaded.files)
    found = difference(workspace.loaded, loaded, dataset)
    following = succession(workspace.loaded, loaded, how.successors)
    moving = {term.value for term in following.successors}
    found = replace(found, broken={key: count for key, count in found.broken.items() if key[1] not in moving})
    uses = {change.iri: change.uses for change in found.changes}
    moved = {term: uses.get(term, _uses(dataset, term)) for term in following.successors}
    return Renewal(tuple(used), loaded, found, following, moved)


def _stale_mappings(registry: Registry, plan: Renewal) -> dict[str, tuple[str, ...]]:
    """What is said there by hand is not rewritten: prefixes and functions make too many ways to name a term."""
    gone = {change.iri for change in plan.difference.changes if change.outcome in ("removed", "renamed")}
    names = {local_name(term.value) for term in (*gone, *plan.succession.successors)}
    found: dict[str, tuple[str, ...]] = {}
    for document in registry.table_graphs().values():
        entry = registry.table(document)
        if entry is not None and not entry.is_draft:
            named = sorted(name for name in names if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", entry.mapping))
            if named:
                found[entry.mapping_name] = tuple(named)
    return found


def _kept(
    names: Sequence[str], new: Sequence[Path], declared: frozenset[str], folder: Path, without: Sequence[str]
) -> list[str]:
    """The ontologies in use that stay, shipped ones by name, files by their path."""
    for name in without:
        if not any(_is_called(known, name) for known in names):
            listed = ", ".join(names) or "none"
            raise OntologyError(f"is not in use, so it cannot be left out; in use are {listed}", source=name)
    kept = []
    for name in names:
        path = packs.find(name, folder).resolve()
        replaced = path.name in {item.name for item in new} or bool(packs.ontology_iris(path) & declared)
        if not replaced and not any(_is_called(name, other) for other in without):
            kept.append(name if name in packs.shipped() else str(path))
    return kept


def _is_called(known: str, name: str) -> bool:
    return name in (known, Path(known).name)


def _uses(dataset: EvidenceDataset, term: NamedNode) -> int:
    said = dataset.store.quads(None, term, None, DEFAULT_GRAPH)
    typed = dataset.store.quads(None, TYPE, term, DEFAULT_GRAPH)
    return sum(1 for _ in (*said, *typed))


def stage(folder: Path, plan: Renewal, registry: Registry) -> None:
    """Puts files and plan beside those in use, and the marker that makes them hold.

    Raises:
        WorkspaceError: the disk refuses; nothing has changed.
        ConfigError: the settings cannot be changed by a program.
    """
    next_, marker = folder / _STAGE, folder / _MARKER
    try:
        shutil.rmtree(next_, ignore_errors=True)
        next_.mkdir()
        names = packs.keep(plan.names, plan.loaded, source=folder, folder=next_)
        config.with_ontology(folder, names)  # so that nothing is marked that cannot be settled
        terms = {old.value: new.value for old, new in plan.succession.successors.items()}
        merged = _merged(registry.linking(), plan.succession.successors)
        partial = marker.with_name(f"{marker.name}.part")
        with partial.open("w", encoding="utf-8") as file:
            json.dump({"ontology": names, "terms": terms, "merged": merged}, file, ensure_ascii=False)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(marker)
    except ConfigError:
        shutil.rmtree(next_, ignore_errors=True)
        raise
    except OSError as error:
        shutil.rmtree(next_, ignore_errors=True)
        raise WorkspaceError(f"{next_}: cannot be written: {error.strerror or error}", path=next_) from error


def _merged(linking: Linking, terms: Mapping[NamedNode, NamedNode]) -> dict[str, str]:
    """The entities that become one because a name of theirs is, in the successor's class, another's already."""
    found: dict[str, str] = {}
    for (type_, name), link in linking.names.items():
        other = linking.names.get((terms[type_], name)) if type_ in terms else None
        if other is not None and other.entity != link.entity:
            found[link.entity.value] = other.entity.value
    return found


def settle_files(folder: Path) -> bool:
    """Puts staged files and settings in their place, if there is a marker; whether there is data to settle too."""
    plan = _plan(folder)
    if plan is None:
        return False
    staged = folder / _STAGE / "ontology"
    try:
        if staged.is_dir():
            (folder / "ontology").mkdir(exist_ok=True)
            for path in sorted(staged.iterdir()):
                with suppress(FileNotFoundError):  # whoever opens the workspace meanwhile does the same
                    path.replace(folder / "ontology" / path.name)
        config.set_ontology(folder, tuple(plan["ontology"]))
        shutil.rmtree(folder / _STAGE, ignore_errors=True)
    except OSError as error:
        raise WorkspaceError(f"{folder}: the ontology cannot be put in place: {error}", path=folder) from error
    return True


def settle_data(workspace: Workspace) -> None:
    """Brings records and graphs in line with the ontology that is now in place, and takes the marker away."""
    plan = _plan(workspace.folder)
    if plan is None:
        return
    dataset, registry = workspace.dataset, workspace.registry
    terms = {NamedNode(old): NamedNode(new) for old, new in plan["terms"].items()}
    registry.replace_terms(terms)
    graphs = {graph: list(_replaced(dataset, graph, terms)) for graph in _affected(dataset, terms)}
    graphs[dataset.ontology] = list(workspace.loaded.triples)
    _keep_ontology(workspace)
    dataset.commit(Change(dropped=tuple(graphs), added=graphs))
    if terms:
        projecting = Projecting(tables_of(workspace))
        _relink(workspace, projecting)
        projecting.bring_in_line(registry.linking())
        _follow(dataset, {NamedNode(old): NamedNode(new) for old, new in plan["merged"].items()})
    dataset.store.flush()
    (workspace.folder / _MARKER).unlink()


def _plan(folder: Path) -> dict[str, Any] | None:
    marker = folder / _MARKER
    if not marker.is_file():
        return None
    try:
        found: dict[str, Any] = json.loads(marker.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise WorkspaceError(f"{marker}: cannot be read: {error}", path=marker) from error
    return found


def _affected(dataset: EvidenceDataset, terms: Mapping[NamedNode, NamedNode]) -> list[NamedNode]:
    """The platform's own graphs that use a term which has a successor; those that users made stay as they are."""
    found: dict[NamedNode, None] = {}
    for term in terms:
        for item in (*dataset.store.quads(None, term), *dataset.store.quads(None, TYPE, term)):
            graph = item.graph_name
            if isinstance(graph, NamedNode) and _is_own(dataset, graph):
                found[graph] = None
    return sorted(found, key=lambda graph: graph.value)


def _is_own(dataset: EvidenceDataset, graph: NamedNode) -> bool:
    if graph in (dataset.ontology, dataset.inferred):
        return False
    kept_apart = graph.value.startswith(f"{dataset.base}graph/quarantine/")
    return kept_apart or graph == dataset.rejected or dataset.is_evidence(graph)


def _replaced(dataset: EvidenceDataset, graph: NamedNode, terms: Mapping[NamedNode, NamedNode]) -> Iterator[Triple]:
    for item in dataset.store.quads(graph=graph):
        triple = item.triple
        if isinstance(triple.subject, BlankNode) or isinstance(triple.object, BlankNode):
            yield triple  # a quad with a blank node cannot be taken out of a store one by one
            continue
        value: Term = triple.object
        if triple.predicate == TYPE and isinstance(value, NamedNode):
            value = terms.get(value, value)
        yield Triple(triple.subject, terms.get(triple.predicate, triple.predicate), value)


def _relink(workspace: Workspace, projecting: Projecting) -> None:
    """Links the names anew, until the IRIs that tables and texts use for their things are the same."""
    dataset, registry = workspace.dataset, workspace.registry
    for _ in range(_ROUNDS):
        before, after = registry.linking(), linked(workspace)
        if before == after:
            return
        projecting.reproject(before, after)
        dataset.commit(Change(dropped=(dataset.links,), added={dataset.links: link_triples(after, workspace.base)}))
        _follow(dataset, retired_by(before, after))
        registry.set_linking(after)


def _follow(dataset: EvidenceDataset, retired: Mapping[NamedNode, NamedNode]) -> None:
    """Lets what people stated or struck out speak of the new IRIs, and states what became of the old ones."""
    if not retired:
        return
    stated = [Triple(old, _REPLACED_BY, new) for old, new in retired.items()]
    graphs = {graph: list(_renamed(dataset, graph, retired)) for graph in (dataset.asserted, dataset.rejected)}
    graphs[dataset.asserted] += stated
    dataset.commit(Change(dropped=tuple(graphs), added=graphs))


def _renamed(dataset: EvidenceDataset, graph: NamedNode, iris: Mapping[NamedNode, NamedNode]) -> Iterable[Triple]:
    for item in dataset.store.quads(graph=graph):
        subject = iris.get(item.subject, item.subject) if isinstance(item.subject, NamedNode) else item.subject
        value: Term = item.object
        if isinstance(value, NamedNode) and item.predicate != _REPLACED_BY:
            value = iris.get(value, value)
        yield Triple(subject, item.predicate, value)


_MADE_ANEW = ("links", "identities", "relations", "inferred", "rejected", "reviews", "communities")
_AT_ONCE = 100_000


# A journal tells of what is gone, and other machines hold what is hidden: neither is for who sees a part.
_ELSEWHERE = re.compile(
    r"^[ \t]*(?:(?:cluster|server)\.)?(?:journal|dask|database|vectors|followers|analytics|model_requests)[ \t]*="
    r"[ \t]*(?:\[(?:[^\]\"']|\"[^\"]*\"|'[^']*')*\][^\n]*|[^\n]*)$",
    re.MULTILINE,
)


def derive(source: Workspace, folder: Path, is_hidden: Callable[[str], bool]) -> None:
    """Makes, in a new folder, the workspace as it would be had what is hidden never been there.

    ``is_hidden`` is asked about the IRIs of documents and graphs and about the places that documents were found at.
    Only what is known to be visible is copied: documents that are PROCESSED, with their chunks, tables and what people
    said of them; graphs that users wrote; what was asserted by hand, but for corrections of hidden documents. Names
    are linked, conclusions drawn, indexes and communities made anew from that. Earlier states, the journal,
    conversations, runs, saved queries and uploads stay behind. No language model is asked.

    Raises:
        StoreError: the disk refuses.
    """
    folder.mkdir(parents=True)
    with source.store.write_lock():
        source.registry.copy_without(is_hidden, folder / REGISTRY)
        source.store.snapshot(folder / "whole")
    text = (source.folder / config.FILE).read_text(encoding="utf-8")
    (folder / config.FILE).write_text(_ELSEWHERE.sub("", text), encoding="utf-8")
    if (copied := config.load(folder)).cluster != config.ClusterSettings() or copied.server.analytics or copied.journal:
        raise ConfigError(f"{config.FILE} names other machines in a way that cannot be left out", setting="cluster")
    if (source.folder / "ontology").is_dir():
        shutil.copytree(source.folder / "ontology", folder / "ontology")
    boundaries = source.settings.map.boundaries
    if boundaries and (source.folder / boundaries).is_file() and not Path(boundaries).is_absolute():
        (folder / boundaries).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source.folder / boundaries, folder / boundaries)
    with closing(Workspace(folder)) as made:
        made.settings = replace(made.settings, communities=replace(made.settings.communities, reports="built-in"))
        if made.settings.embedding == source.settings.embedding:
            made.embedder = source.embedder
        with closing(Store.open_snapshot(folder / "whole")) as whole:
            _copy_visible(EvidenceDataset(whole, source.base), made, source.registry, is_hidden)
            for giver in filter(is_hidden, made.registry.givers()):
                Ingest(made).give(giver, ())
            build(made, "link")
            _copy_identities(EvidenceDataset(whole, source.base), made.dataset)
            for stage_ in ("infer", "index"):
                build(made, stage_)
            if whole.has_graph(source.community_parts.graph):
                find_communities(made.community_parts)
    shutil.rmtree(folder / "whole")


def _copy_visible(whole: EvidenceDataset, made: Workspace, known: Registry, is_hidden: Callable[[str], bool]) -> None:
    """Copies the visible graphs, and of the default graph and the rejections what rests on them."""
    documents = {iri.value for iri in made.registry.iris(State.PROCESSED)}
    tables = made.registry.table_graphs()
    left = {graph_iri(whole.base, name) for name in _MADE_ANEW}

    def is_visible(graph: NamedNode) -> bool:
        if whole.is_of_document(graph):
            return graph.value.partition("/chunk/")[0] in documents
        if graph.value.startswith(f"{whole.base}graph/table/"):
            return graph.value in tables
        made_anew = graph in left or whole.is_of_places(graph) or "graph/quarantine/" in graph.value
        return not made_anew and not is_hidden(graph.value)

    reviews = (review for review in known.reviews() if review.document.value not in documents)
    corrected = {correction for review in reviews for correction in review.corrections}
    struck = {item.triple for item in whole.store.quads(graph=whole.rejected)}

    def copied() -> Iterator[Quad]:
        for graph in filter(is_visible, whole.store.graphs()):
            is_evidence = whole.is_evidence(graph)
            for item in whole.store.quads(graph=graph):
                if graph == whole.asserted and (item.triple in corrected or item.predicate == _REPLACED_BY):
                    continue  # what replaced an IRI tells the name of a thing that may be hidden
                yield item
                if is_evidence:
                    yield quad(item.triple, whole.rejected if item.triple in struck else DEFAULT_GRAPH)

    quads = copied()
    while some := list(islice(quads, _AT_ONCE)):
        made.store.apply(added=some)


def _copy_identities(whole: EvidenceDataset, made: EvidenceDataset) -> None:
    """Copies the external identities of the things that are still spoken of."""
    held = [item.triple for item in whole.store.quads(graph=whole.identities)]
    matched = {triple.subject for triple in held if triple.predicate == EXACT_MATCH}
    gone = {iri for iri in matched if next(made.store.quads(iri, None, None, DEFAULT_GRAPH), None) is None}
    gone |= {triple.subject for triple in held if triple.object in gone}
    if kept := [triple for triple in held if triple.subject not in gone]:
        made.commit(Change(added={made.identities: kept}))
