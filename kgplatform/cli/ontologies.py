"""The verb `ontology`: the tree of classes, the check, the comparison of two versions, drafts, and updates."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from pyoxigraph import NamedNode

from kgplatform import config, packs
from kgplatform.building.founding import import_rules
from kgplatform.building.renewing import Renewing
from kgplatform.cli import output
from kgplatform.cli.renewing import print_renewal, renewal_json
from kgplatform.errors import ConfigError
from kgplatform.graph import KnowledgeGraph
from kgplatform.models.chat import OpenAIModel
from kgplatform.ontologies.difference import Change, Difference, difference
from kgplatform.ontologies.draft import as_turtle
from kgplatform.ontologies.issues import Grade, OntologyIssue, order
from kgplatform.ontologies.reasoner import reason
from kgplatform.ontologies.sources import draft_data, draft_file
from kgplatform.ontologies.structure import structural
from kgplatform.ontologies.tree import Branch, class_tree, instance_counts
from kgplatform.ontologies.unused import unused_axioms
from kgplatform.ontologies.wording import worded
from kgplatform.packs import LoadedOntology
from kgplatform.protocols import ChatModel
from kgplatform.store import checked_iri
from kgplatform.vocab import TYPE

_DONE, _SHORT = 0, 1


def run(given: argparse.Namespace) -> int:
    """Does what the action says; 1 where an ontology has errors."""
    actions = {"tree": _tree, "check": _check, "diff": _diff, "draft": _draft, "update": _update}
    return actions[given.action](given)


def pairs(given: Sequence[str], option: str, form: str) -> dict[str, str]:
    """The two sides of each ``A=B``; an IRI may hold ``=`` itself, so the last one parts them.

    Raises:
        ConfigError: there is none.
    """
    found = {}
    for item in given:
        left, sign, right = item.rpartition("=")
        if not sign or not left or not right:
            raise ConfigError(f"--{option} {item!r} is not of the form {form}", setting=option)
        found[left] = right
    return found


def note_imports(loaded: LoadedOntology) -> None:
    """Says which imports are missing, a line each, and why one was not fetched."""
    for trouble in loaded.troubles:
        output.note(f"import {trouble}")
    for iri in loaded.unresolved:
        output.note(f"import not found among the files at hand, left out: {iri}")


def _loaded(given: argparse.Namespace) -> LoadedOntology:
    """The ontologies of the files given, with their imports."""
    with import_rules(pairs(given.imports, "import", "IRI=FILE"), fetch=given.fetch_imports) as rules:
        return packs.load(given.files, folder=Path.cwd(), rules=rules)


def _tree(given: argparse.Namespace) -> int:
    if given.files:
        loaded = _loaded(given)
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
    loaded, used = _at_hand(given)
    issues = structural(loaded.ontology, loaded.triples, used=used)
    reasoned = reason(loaded.triples)
    known = {(issue.kind, issue.term) for issue in issues}
    issues += [issue for issue in reasoned.issues if (issue.kind, issue.term) not in known]
    issues = sorted([*issues, *_unused(loaded)], key=order)
    note_imports(loaded)
    if reasoned.skipped:
        output.note(reasoned.skipped)
    _print_issues(issues, given.format)
    errors = sum(issue.grade is Grade.ERROR for issue in issues)
    by = "structure" if reasoned.skipped else "structure and HermiT"
    terms = f"{len(loaded.ontology.classes)} classes, {len(loaded.ontology.properties)} properties"
    counts = f"{errors} error{'' if errors == 1 else 's'}, {len(issues) - errors} remarks"
    output.note(f"{terms}, checked by {by}: {counts}")
    return _SHORT if errors else _DONE


def _unused(loaded: LoadedOntology) -> Iterator[OntologyIssue]:
    """What the platform has no use for, in one's own files; in the shipped ones where there are no others."""
    for item in unused_axioms(loaded.own or loaded.triples, loaded.unread):
        times = f"{item.count} of these" if item.count > 1 else "one of these"
        yield OntologyIssue(
            "not-used", Grade.INFO, item.example or "the ontology", f"has a {item.kind}, of no use here ({times})"
        )


def _at_hand(given: argparse.Namespace) -> tuple[LoadedOntology, frozenset[NamedNode] | None]:
    """The ontology of the files, or that of the workspace with the terms that its data uses."""
    if given.files:
        return _loaded(given), None
    with KnowledgeGraph.open(given.workspace) as kg:
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
    _print_difference(found)
    output.note(f"{len(found.changes)} terms differ; {sum(found.broken.values())} statements would be at fault")
    return _DONE


def _print_difference(found: Difference) -> None:
    for change in found.changes:
        _print_change(change)
    for (kind, about), count in found.broken.items():
        output.say(f"breaks     {count} statement{'' if count == 1 else 's'} by {kind.value}: {about}")


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


def _update(given: argparse.Namespace) -> int:
    if not given.files and not given.without:
        raise ConfigError("ontology update needs the new version: a FILE or a shipped name", setting="files")
    replaced = pairs(given.replace, "replace", "OLD=NEW")
    how = Renewing(
        without=given.without,
        successors={checked_iri(old): checked_iri(new) for old, new in replaced.items()},
        imports=pairs(given.imports, "import", "IRI=FILE"),
        fetch_imports=given.fetch_imports,
    )
    with KnowledgeGraph.open(given.workspace) as kg:
        plan = kg.update_ontology(*given.files, how=how, dry_run=given.dry_run)
    note_imports(plan.loaded)
    if given.format == "json":
        output.as_json({**renewal_json(plan), **_difference_json(plan.difference)})
        return _DONE
    _print_difference(plan.difference)
    print_renewal(plan, dry_run=given.dry_run)
    return _DONE


def _draft(given: argparse.Namespace) -> int:
    if len(given.files) > 1:
        raise ConfigError("ontology draft takes one FILE, or none for the data of the workspace", setting="files")
    model = _model(given.workspace) if given.model else None
    if given.files:
        draft = draft_file(given.files[0], iri=given.iri)
    else:
        with KnowledgeGraph.open(given.workspace) as kg:
            draft = draft_data(kg.dataset, iri=given.iri)
    if model is not None:
        draft = worded(draft, model)
    for remark in draft.remarks:
        output.note(remark)
    sys.stdout.buffer.write(as_turtle(draft))
    output.note(f"{len(draft.classes)} classes and {len(draft.properties)} properties drafted from {draft.source}")
    return _DONE


def _model(workspace: Path) -> ChatModel:
    """The language model of the workspace, or where there is none, of the environment."""
    is_there = (workspace / config.FILE).is_file()
    settings = (config.load(workspace) if is_there else config.from_environment(config.Settings())).model
    if not settings.name:
        raise ConfigError(
            "draft --model needs a language model: set model.name in kgplatform.toml, or KGPLATFORM_MODEL",
            setting="model.name",
        )
    return OpenAIModel(
        settings.name,
        url=settings.url,
        key=config.model_key(settings),
        timeout_seconds=settings.timeout_seconds,
        retries=settings.retries,
        temperature=settings.temperature,
    )
