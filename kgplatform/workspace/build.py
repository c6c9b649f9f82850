"""The stages that follow ingest: names linked, conclusions drawn, passages indexed; communities only when asked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from kgplatform.reasoning.inference import Inferred
from kgplatform.retrieval.methods import OF_SENTENCES
from kgplatform.types import Progress
from kgplatform.workspace.community_stage import CommunitiesFound, find_communities
from kgplatform.workspace.entity_linking import LinkReport, link, relate
from kgplatform.workspace.workspace import Workspace

STAGES: Final = ("link", "infer", "communities", "index")


@dataclass(frozen=True, slots=True)
class BuildReport:
    """What the stages did: names linked, conclusions drawn, communities found, passages put into the index."""

    linked: LinkReport | None
    inferred: Inferred | None
    indexed: int | None
    communities: CommunitiesFound | None = None


def build(workspace: Workspace, only: str | None = None, *, progress: Progress | None = None) -> BuildReport:
    """What the stages did, or the one called ``only``; communities are found anew only by ``only="communities"``.

    ``progress`` is told how far a stage is, of how much (0: not known), and the name of the stage.
    """
    linked = inferred = indexed = grouped = None
    if only in (None, "link"):
        linked = link(workspace, progress=progress)
        _relate(workspace)
    if only in (None, "infer"):
        inferred = workspace.inference.run(progress=progress)
    if only in (None, "index"):
        indexed = workspace.indexing.run(workspace.chunks, progress=progress)
        workspace.sources.connect(progress, sentences=workspace.settings.retrieval.retriever in OF_SENTENCES)
    if only == "communities":
        grouped = find_communities(workspace.community_parts, progress=progress)
    workspace.store.flush()
    workspace.versions.rest()
    return BuildReport(linked, inferred, indexed, grouped)


def _relate(workspace: Workspace) -> None:
    """Makes relations across levels, or takes them out where they are off."""
    threshold = workspace.settings.linking.relations
    if threshold < 1 or workspace.dataset.has_relations:
        vectors = workspace.folder / "vectors" / "related"
        relate(workspace.community_parts, workspace.embedder, threshold=threshold, vectors=vectors)
