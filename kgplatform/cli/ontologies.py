"""The verb `ontology`: the tree of classes, the check, the comparison of two versions, the draft from data."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from pyoxigraph import NamedNode

from kgplatform import config, packs
from kgplatform.cli import output
from kgplatform.errors import ConfigError
from kgplatform.graph import KnowledgeGraph
from kgplatform.ontologies.difference import Change, Difference, difference
from kgplatform.ontologies.draft import as_turtle
from kgplatform.ontologies.issues import Grade, OntologyIssue, order
from kgplatform.ontologies.reasoner import reason
from kgplatform.ontologies.sources import draft_data, draft_file
from kgplatform.ontologies.structure import structural
from kgplatform.ontologies.tree import Branch, class_tree, instance_counts
from kgplatform.packs import LoadedOntology
from kgplatform.vocab import TYPE

_DONE, _SHORT = 0, 1


def run(given: argparse.Namespace) -> int:
    """Does what the action says; 1 where an ontology has errors."""
    actions = {"tree": _tree, "check": _check, "diff": _diff, "draft": _draft}
    return actions[given.action](given)


def _tree(given: argparse.Namespace) -> int:
    if given.files:
        loaded = packs.load(given.files, folder=Path.cwd())
        branches = list(class_tree(loaded.ontology, {}))
    else:
        with KnowledgeGraph.open(given.workspace) as kg:
            branches = list(class_tree(kg.ontology, instance_counts(kg.ontology, kg.store)))
    if given.format == "json":
        output.as_json([_branch_json(branch) for branch in branches])
        return _DONE
    for branch in branches:
        count = f"  {branch.count}" if branch.count else ""
        again = " (see above)" if branch.repeated else ""
        output.say(f"{'  ' * branch.depth}{branch.label}{count}{again}")
        if branch.properties and not branch.repeated:
            names = ", ".join(term.words[0].text if term.words else term.iri.value for term in branch.properties)
            output.say(f"{'  ' * branch.depth}    · {output.cut(names, 110)}")
    output.note(f"{len({branch.iri for branch in branches})} classes")
    return _DONE


def _branch_json(branch: Branch) -> dict[str, object]:
    return {
        "iri": branch.iri.value,
        "label": branch.label,
        "depth": branch.depth,
        "instances": branch.count,
        "properties": [term.iri.value for term in branch.properties],
    }


def _check(given: argparse.Namespace) -> int:
    loaded, used = _at_hand(given.files, given.workspace)
    issues = structural(loaded.ontology, loaded.triples, used=used)
    reasoned = reason(loaded.triples)
    issues = sorted([*issues, *reasoned.issues], key=order)
    for iri in loaded.unresolved:
        output.note(f"import not found among the files at hand, left out: {iri}")
    if reasoned.skipped:
        output.note(reasoned.skipped)
    _print_issues(issues, given.format)
    errors = sum(issue.grade is Grade.ERROR for issue in issues)
    by = "structure" if reasoned.skipped else "structure and HermiT"
    terms = f"{len(loaded.ontology.classes)} classes, {len(loaded.ontology.properties)} properties"
    counts = f"{errors} error{'' if errors == 1 else 's'}, {len(issues) - errors} remarks"
    output.note(f"{terms}, checked by {by}: {counts}")
    return _SHORT if errors else _DONE


def _at_hand(files: Sequence[str], workspace: Path) -> tuple[LoadedOntology, frozenset[NamedNode] | None]:
    """The ontology of the files, or that of the workspace with the terms that its data uses."""
    if files:
        return packs.load(files, folder=Path.cwd()), None
    with KnowledgeGraph.open(workspace) as kg:
        used: set[NamedNode] = set()
        for item in kg.store.quads(graph=None):
            if kg.dataset.is_evidence(item.graph_name) and item.graph_name != kg.dataset.ontology:
                term = item.object if item.predicate == TYPE else item.predicate
                if isinstance(term, NamedNode):
                    used.add(term)
        return kg.loaded, frozenset(used)


def _print_issues(issues: Sequence[OntologyIssue], format_: str) -> None:
    if format_ == "json":
        output.as_json([{"kind": i.kind, "grade": i.grade.value, "term": i.term, "message": i.message} for i in issues])
        return
    for issue in issues:
        output.say(f"{issue.grade.value:<7}  {issue.term} {issue.message}")


def _diff(given: argparse.Namespace) -> int:
    if len(given.files) != 2:
        raise ConfigError("ontology diff needs two ontologies: OLD NEW, each a file or a shipped name", setting="files")
    old, new = (packs.load([name], folder=Path.cwd()) for name in given.files)
    if (given.workspace / config.FILE).is_file():
        with KnowledgeGraph.open(given.workspace) as kg:
            found = difference(old, new, kg.dataset)
    else:
        found = difference(old, new)
    if given.format == "json":
        output.as_json(_difference_json(found))
        return _DONE
    for change in found.changes:
        _print_change(change)
    for (kind, about), count in found.broken.items():
        output.say(f"breaks     {count} statement{'' if count == 1 else 's'} by {kind.value}: {about}")
    output.note(f"{len(found.changes)} terms differ; {sum(found.broken.values())} statements would be at fault")
    return _DONE


def _print_change(change: Change) -> None:
    target = f" → {change.new_iri.value}" if change.new_iri else ""
    uses = f", {change.uses} statements use it" if change.uses and change.outcome != "changed" else ""
    output.say(f"{change.outcome:<9}  {change.kind} {change.iri.value}{target} ({change.label}){uses}")
    for detail in change.details:
        output.say(f"             {output.cut(detail, 110)}")


def _difference_json(found: Difference) -> dict[str, object]:
    changes = [
        {
            "outcome": change.outcome,
            "kind": change.kind,
            "iri": change.iri.value,
            "new_iri": change.new_iri.value if change.new_iri else None,
            "label": change.label,
            "details": list(change.details),
            "uses": change.uses,
        }
        for change in found.changes
    ]
    broken = [{"kind": kind.value, "about": about, "statements": n} for (kind, about), n in found.broken.items()]
    return {"changes": changes, "broken": broken}


def _draft(given: argparse.Namespace) -> int:
    if len(given.files) > 1:
        raise ConfigError("ontology draft takes one FILE, or none for the data of the workspace", setting="files")
    if given.files:
        draft = draft_file(Path(given.files[0]), iri=given.iri)
    else:
        with KnowledgeGraph.open(given.workspace) as kg:
            draft = draft_data(kg.dataset, iri=given.iri)
    for remark in draft.remarks:
        output.note(remark)
    sys.stdout.buffer.write(as_turtle(draft))
    output.note(f"{len(draft.classes)} classes and {len(draft.properties)} properties drafted from {draft.source}")
    return _DONE
