"""Verbs on the graph itself: RDF in and out, SPARQL, earlier states, ``check``, and the ``ontology`` it follows."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from pyoxigraph import NamedNode

from kgplatform import settings as config
from kgplatform.cli import output
from kgplatform.cli.document_verbs import note_imports
from kgplatform.cli.verb import (
    DONE,
    SHORT,
    Given,
    argument,
    at,
    formats,
    imports,
    opened,
    option,
    pairs,
    together,
    verb,
)
from kgplatform.errors import ConfigError, KgPlatformError
from kgplatform.vocab import TYPE

if TYPE_CHECKING:
    from kgplatform.entities import Labels
    from kgplatform.graph import KnowledgeGraph
    from kgplatform.ontology.lint import ClassNode, OntologyIssue
    from kgplatform.ontology.packs import LoadedOntology
    from kgplatform.reasoning.ontology_change import OntologyDifference, TermChange
    from kgplatform.reasoning.scope import CheckReport, Finding, Support
    from kgplatform.store.oxigraph import Store
    from kgplatform.types import ChatModel, Term
    from kgplatform.workspace.creation import Renewal

_LONG_SECONDS = 24 * 3600.0
_MOST_FINDINGS = 60
_RDF = "turtle, ntriples, nquads, trig, rdfxml, jsonld"
_RESULTS = ("table", "json", "xml", "csv", "tsv", "turtle", "ntriples", "rdfxml", "jsonld")
_text = together(
    argument("file", "[FILE|-]", required=False, help="A file, or - for stdin."),
    option("-e", "--text", metavar="TEXT", help="The SPARQL itself."),
)


@contextmanager
def store_at(kg: KnowledgeGraph, moment: str | None) -> Iterator[Store]:
    """The store as it is, or as it was at the version or time that is asked for."""
    if moment is None:
        yield kg.store
    else:
        with kg.versions.store(kg.versions.find(moment)) as store:
            yield store


@verb("load")
@argument("files", "FILE...", nargs=-1, required=True, type=Path)
@option("--graph", metavar="IRI", help="Put the statements into this named graph instead of the knowledge.")
@option("--format", metavar="NAME", help=f"{_RDF} (default: by suffix).")
def load(given: Given) -> int:
    """Load RDF files; one that fails does not stop the rest."""
    status, bar = DONE, output.Bar()
    with opened(given.workspace) as kg:
        for number, path in enumerate(given.files, 1):
            bar(number, len(given.files), path.name)
            try:
                report = kg.load(path, graph=given.graph, format_=given.format)
            except KgPlatformError as error:
                bar.end()
                output.note(f"kgplatform: {error}")
                status = SHORT
                continue
            bar.end()
            output.say(f"{report.source}: {report.read} statements read, {report.new} quads new")
            for before, after in report.rewritten[:10]:
                output.note(f"  the store writes {before} as {after}")
    return status


@verb("dump", reads=True)
@argument("file", "[FILE]", required=False, type=Path, help="Packed if it ends in .gz or .zst (default: stdout).")
@option("--graph", metavar="IRI", help="Only this named graph.")
@option("--class", "of_class", metavar="IRI|NAME", help="Only the statements about members of this class.")
@option("--since", metavar="DAY", help="Only what came with documents read since this day.")
@option("--canonical", is_flag=True, help="Canonical names for blank nodes (RDFC-1.0).")
@option("--header", is_flag=True, help="Include a metadata header (VoID) as comments.")
@at
@option("--format", metavar="NAME", help=f"{_RDF}, graphml or gexf (default: by suffix).")
def dump(given: Given) -> int:
    """Write the graph, or a part of it, as RDF or as a network for Gephi and the like.

    The same state gives the same bytes.
    """
    from kgplatform.entities import find_iri
    from kgplatform.store.dataset import EvidenceDataset
    from kgplatform.workspace.rdf_files import export, selection_of, shape_of, write_whole

    shape = shape_of(given.file, given.format, canonical=given.canonical, header=given.header)
    with opened(given.workspace) as kg, store_at(kg, given.at) as store:
        class_ = find_iri(kg.store, given.of_class).value if given.of_class else None
        data = export(
            EvidenceDataset(store, kg.base),
            selection_of(given.graph, class_, given.since),
            shape,
            registry=kg.registry,
            terms=(*kg.ontology.classes, *kg.ontology.properties, *kg.ontology.individuals),
            state=given.at or "",
        )
    if given.file is None:
        sys.stdout.buffer.write(data)
    else:
        write_whole(given.file, data)
        output.note(f"{given.file}: {len(data):,} bytes")
    return DONE


@verb("query", reads=True)
@_text
@option("--format", one_of=_RESULTS)
@option("--explain", is_flag=True, help="Count the steps instead: how the query runs, and which step is slow.")
@at
def query(given: Given) -> int:
    """Run a SPARQL query and print its rows or graph.

    Prefixes of the shipped ontologies need not be declared; kg: is the workspace's base.
    """
    from kgplatform.sparql.tokens import scan
    from kgplatform.workspace.rdf_files import FORMATS
    from kgplatform.workspace.workspace import loan

    text = _sparql(given)
    is_graph = scan(text).form in ("CONSTRUCT", "DESCRIBE")
    wanted = given.format or ("turtle" if is_graph else "table")
    with opened(given.workspace) as kg, store_at(kg, given.at) as store:
        if given.explain:
            _explained(kg, text, given.at)
            return DONE
        text = kg.resolved(text) if given.at is None else text
        if is_graph != (wanted in FORMATS):
            kinds = "turtle, ntriples, rdfxml or jsonld" if is_graph else "table, json, xml, csv or tsv"
            raise ConfigError(
                f"this query gives {'a graph' if is_graph else 'rows'}; --format can be {kinds}", setting="format"
            )
        found = None if wanted == "table" and given.at else loan(kg)
        if found:
            _lent_query(kg, text, wanted, moment=given.at, client=found.client)
        elif is_graph:
            sys.stdout.buffer.write(kg.store.serialise(store.construct(text), FORMATS[wanted]))
        elif wanted == "table":
            _shown(store, text, kg.store.prefixes)
        else:
            sys.stdout.buffer.write(store.results(text, wanted))
    return DONE


def _shown(store: Store, text: str, prefixes: Mapping[str, str]) -> None:
    """Prints the rows; where there are none, says beside them why."""
    from kgplatform.sparql.emptiness import Cause, why_empty

    found = store.query(text)
    output.solutions(found, prefixes)
    if found.boolean is None and not found.rows:
        reason = why_empty(text, lambda query, limit, _seconds: store.query(query, max_rows=limit))
        if reason.cause is not Cause.UNKNOWN:
            output.note(reason.words())


def _explained(kg: KnowledgeGraph, text: str, moment: str | None) -> None:
    """Prints the steps of the query, counted by workers that end in time."""
    from kgplatform.server.words import phrase
    from kgplatform.sparql.query_plan import MOST_ROWS, explain

    def shown(count: int | None) -> str:
        return "–" if count is None else f"{count:,}{'+' if count >= MOST_ROWS else ''}"

    with kg.versions.snapshot(kg.versions.find(moment) if moment else kg.versions.current) as snapshot:
        kg.workers.check(text)
        plan = explain(
            text,
            lambda query, most, limit: kg.workers.solutions(query, timeout_seconds=limit, max_rows=most, at=snapshot),
        )
    rows = [
        (str(step.line), f"{'  ' * step.depth}{step.text}", *map(shown, (step.alone, step.estimated, step.rows)))
        for step in plan.steps
    ]
    output.table(("line", "step", "alone", "estimated", "rows"), rows)
    verdict, line, most = plan.verdict
    output.note(phrase(f"plan_{verdict}", "en", line=line, n=shown(most)))


def _lent_query(kg: KnowledgeGraph, text: str, wanted: str, *, moment: str | None, client: str) -> None:
    """Runs the query in a worker, which ends with it if whoever asked goes away."""
    from kgplatform.sparql.protocol import GRAPHS, ROWS

    if wanted == "table":
        output.solutions(kg.workers.solutions(text, timeout_seconds=_LONG_SECONDS, client=client), kg.store.prefixes)
        return
    form = next(item.media_type for item in (*ROWS, *GRAPHS) if item.name == wanted)
    version = kg.versions.find(moment) if moment else kg.versions.current
    with kg.versions.snapshot(version) as snapshot:
        reply = kg.workers.stream(text, media_type=form, timeout_seconds=_LONG_SECONDS, client=client, at=snapshot)
    try:
        for piece in reply:
            sys.stdout.buffer.write(piece)
    finally:
        reply.close()


@verb("update")
@_text
def update(given: Given) -> int:
    """Run a SPARQL update; what it adds to the default graph counts as asserted by a person."""
    text = _sparql(given)
    with opened(given.workspace) as kg:
        committed = kg.update(text)
        output.say(f"{committed.gained} statements asserted, {committed.lost} removed")
    return DONE


@verb("versions", reads=True)
@formats("text", "json")
def versions(given: Given) -> int:
    """List the earlier states that can be read, the present one first."""
    with opened(given.workspace) as kg:
        kg.versions.prune()
        found = kg.versions.listed()
    records = [
        (
            str(item.number),
            *(moment.isoformat(timespec="seconds") if moment else "" for moment in (item.since, item.until)),
        )
        for item in found
    ]
    if given.format == "json":
        output.as_json([{"version": int(n), "since": since, "until": until or None} for n, since, until in records])
    else:
        output.table(("version", "since", "until"), records)
    return DONE


def _sparql(given: Given) -> str:
    if (given.text is None) == (given.file is None):
        raise ConfigError("give SPARQL by -e TEXT, as a FILE, or - for stdin", setting="query")
    if given.text is not None:
        return str(given.text)
    try:
        if given.file == "-":
            return sys.stdin.buffer.read().decode()
        return Path(given.file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{given.file}: cannot be read: {error}", setting="query") from error


@verb("check", reads=lambda given: not given.fix)
@option("--fix", is_flag=True, help="First repair what is safe, and say what was done.")
@option("--shapes", multiple=True, type=Path, metavar="FILE", help="SHACL shapes of your own. Repeatable.")
@option("--document", metavar="NAME", help="Only what this document says.")
@formats("table", "json", "turtle")
def check(given: Given) -> int:
    """Validate the graph against ontology, shapes and evidence.

    Exit status 1: there are violations.
    """
    from kgplatform.entities import Labels

    with opened(given.workspace) as kg:
        bar = output.Bar()
        bar(0, 1, "checking")
        report = kg.check(given.document, shapes=given.shapes, fix=given.fix)
        bar.end()
        _print_report(report, Labels(kg.dataset, kg.ontology, "en"), given.format)
    return SHORT if report.violations else DONE


def _print_report(report: CheckReport, labels: Labels, format_: str) -> None:
    from kgplatform.reasoning.checks import as_json, as_turtle

    for line in report.repaired:
        output.note(f"repaired: {line}")
    if format_ == "json":
        output.as_json(as_json(report))
    elif format_ == "turtle":
        sys.stdout.buffer.write(as_turtle(report))
    else:
        _print_findings(report, labels)


def _print_findings(report: CheckReport, labels: Labels) -> None:
    shown = report.findings[:_MOST_FINDINGS]
    for finding in shown:
        about = [_words(finding.focus, labels), *([labels.of(finding.path).text] if finding.path else [])]
        output.say(f"{finding.severity.value:<9}  {', '.join(about)}: {finding.message}")
        _print_support(finding)
    if len(report.findings) > _MOST_FINDINGS:
        output.note(f"{len(report.findings) - _MOST_FINDINGS} more; --format json gives all")
    counts = ", ".join(f"{count} {kind.value}" for kind, count in sorted(report.counts.items()))
    fixable = sum(finding.fixable for finding in report.findings)
    output.note(
        f"{report.checked} entities checked in {report.seconds:.1f} s: "
        + (f"{output.plural(report.violations, 'violation')} ({counts})" if report.findings else "no problems")
        + (f"; --fix repairs {fixable}" if fixable else "")
    )


def _words(term: Term, labels: Labels) -> str:
    return output.cut(labels.reference(term).label, 60)


def _print_support(finding: Finding) -> None:
    """Where it was read; an info is too slight for more than its line."""
    if finding.severity.value == "info":
        return
    read = (support for support in finding.evidence if support.method != "inferred")
    for line in list(dict.fromkeys(map(_supported, read)))[:2]:
        output.say(f"             {line}")


def _supported(support: Support) -> str:
    passage = support.passage
    if passage is None:
        return f"by {support.method}: {support.graph.value}"
    quote = output.cut(passage.quote, 90)
    return f"“{quote}” — {passage.source}, {passage.start}–{passage.end}, by {support.method}"


_ACTIONS = ("tree", "check", "diff", "draft", "update")


@verb("ontology", reads=lambda given: given.action != "update")
@argument("action", "[tree|check|diff|draft|update]", default="tree", one_of=_ACTIONS)
@argument("files", "[FILE]...", nargs=-1, help="Ontologies; for draft, RDF or tables.")
@imports
@option("--dry-run", is_flag=True, help="update: only tell what would change.")
@option("--replace", multiple=True, metavar="OLD=NEW", help="update: NEW replaces OLD. Repeatable.")
@option("--without", multiple=True, metavar="NAME", help="update: no longer use this one. Repeatable.")
@option("--model", is_flag=True, help="draft: let the language model propose names and comments.")
@option("--iri", metavar="IRI", help="draft: IRI of the ontology.")
@formats("text", "json")
def ontology(given: Given) -> int:
    """Show, check, compare, draft or update ontologies.

    `tree` shows the classes with counts; `check [FILE]...` finds errors of structure and logic; `diff OLD NEW` says
    what changed and what that means for the data; `draft [FILE]...` proposes an ontology for RDF, tables or the
    workspace; `update FILE...` takes up new versions. Exit status 1: an ontology has errors.
    """
    actions = {"tree": _tree, "check": _check_ontology, "diff": _diff, "draft": _draft, "update": _update}
    return actions[given.action](given)


def _loaded(given: Given) -> LoadedOntology:
    """The ontologies of the files given, with their imports."""
    from kgplatform.ontology import packs
    from kgplatform.workspace.creation import import_rules

    with import_rules(pairs(given.imports, "import", "IRI=FILE"), fetch=given.fetch_imports) as rules:
        return packs.load(given.files, folder=Path.cwd(), rules=rules)


def _tree(given: Given) -> int:
    from kgplatform.ontology.lint import class_tree, instance_counts

    if given.files:
        loaded = _loaded(given)
        branches = list(class_tree(loaded.ontology, {}))
    else:
        with opened(given.workspace) as kg:
            branches = list(class_tree(kg.ontology, instance_counts(kg.ontology, kg.store)))
    if given.format == "json":
        output.as_json([_branch_json(branch) for branch in branches])
        return DONE
    for branch in branches:
        count = f"  {branch.count}" if branch.count else ""
        again = " (see above)" if branch.repeated else ""
        output.say(f"{'  ' * branch.depth}{branch.label}{count}{again}")
        if branch.properties and not branch.repeated:
            names = ", ".join(term.words[0].text if term.words else term.iri.value for term in branch.properties)
            output.say(f"{'  ' * branch.depth}    · {output.cut(names, 110)}")
    output.note(f"{len({branch.iri for branch in branches})} classes")
    return DONE


def _branch_json(branch: ClassNode) -> dict[str, object]:
    return {
        **output.fields(branch, "iri", "label", "depth"),
        "instances": branch.count,
        "properties": [term.iri.value for term in branch.properties],
    }


def _check_ontology(given: Given) -> int:
    from kgplatform.ontology.lint import Grade, order, structural
    from kgplatform.ontology.reasoner import reason

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
    terms = output.terms(loaded.ontology.classes, loaded.ontology.properties)
    counts = f"{output.plural(errors, 'error')}, {len(issues) - errors} remarks"
    output.note(f"{terms}, checked by {by}: {counts}")
    return SHORT if errors else DONE


def _unused(loaded: LoadedOntology) -> Iterator[OntologyIssue]:
    """What the platform has no use for, in one's own files; in the shipped ones where there are no others."""
    from kgplatform.ontology.lint import Grade, OntologyIssue, unused_axioms

    for item in unused_axioms(loaded.own or loaded.triples, loaded.unread):
        times = f"{item.count} of these" if item.count > 1 else "one of these"
        yield OntologyIssue(
            "not-used", Grade.INFO, item.example or "the ontology", f"has a {item.kind}, of no use here ({times})"
        )


def _at_hand(given: Given) -> tuple[LoadedOntology, frozenset[NamedNode] | None]:
    """The ontology of the files, or that of the workspace with the terms that its data uses."""
    if given.files:
        return _loaded(given), None
    with opened(given.workspace) as kg:
        used: set[NamedNode] = set()
        for item in kg.store.quads(graph=None):
            if kg.dataset.is_evidence(item.graph_name) and item.graph_name != kg.dataset.ontology:
                term = item.object if item.predicate == TYPE else item.predicate
                if isinstance(term, NamedNode):
                    used.add(term)
        return kg.loaded, frozenset(used)


def _print_issues(issues: Sequence[OntologyIssue], format_: str) -> None:
    if format_ == "json":
        output.as_json([output.fields(issue, "kind", "grade", "term", "message") for issue in issues])
        return
    for issue in issues:
        output.say(f"{issue.grade.value:<7}  {issue.term} {issue.message}")


def _diff(given: Given) -> int:
    from kgplatform.ontology import packs
    from kgplatform.reasoning.ontology_change import difference

    if len(given.files) != 2:
        raise ConfigError("ontology diff needs two ontologies: OLD NEW, each a file or a shipped name", setting="files")
    old, new = (packs.load([name], folder=Path.cwd()) for name in given.files)
    if (given.workspace / config.FILE).is_file():
        with opened(given.workspace) as kg:
            found = difference(old, new, kg.dataset)
    else:
        found = difference(old, new)
    if given.format == "json":
        output.as_json(_difference_json(found))
        return DONE
    _print_difference(found)
    output.note(f"{len(found.changes)} terms differ; {sum(found.broken.values())} statements would become invalid")
    return DONE


def _print_difference(found: OntologyDifference) -> None:
    for change in found.changes:
        _print_change(change)
    for (kind, about), count in found.broken.items():
        output.say(f"breaks     {output.plural(count, 'statement')} by {kind.value}: {about}")


def _print_change(change: TermChange) -> None:
    target = f" → {change.new_iri.value}" if change.new_iri else ""
    uses = f", {change.uses} statements use it" if change.uses and change.outcome != "changed" else ""
    output.say(f"{change.outcome:<9}  {change.kind} {change.iri.value}{target} ({change.label}){uses}")
    for detail in change.details:
        output.say(f"             {output.cut(detail, 110)}")


def _difference_json(found: OntologyDifference) -> dict[str, object]:
    names = ("outcome", "kind", "iri", "new_iri", "label", "details", "uses")
    changes = [output.fields(change, *names) for change in found.changes]
    broken = [{"kind": kind.value, "about": about, "statements": n} for (kind, about), n in found.broken.items()]
    return {"changes": changes, "broken": broken}


def _update(given: Given) -> int:
    from kgplatform.store.oxigraph import checked_iri
    from kgplatform.workspace.creation import Renewing

    if not given.files and not given.without:
        raise ConfigError("ontology update needs the new version: a FILE or a shipped name", setting="files")
    replaced = pairs(given.replace, "replace", "OLD=NEW")
    how = Renewing(
        without=given.without,
        successors={checked_iri(old): checked_iri(new) for old, new in replaced.items()},
        imports=pairs(given.imports, "import", "IRI=FILE"),
        fetch_imports=given.fetch_imports,
    )
    with opened(given.workspace) as kg:
        plan = kg.update_ontology(*given.files, how=how, dry_run=given.dry_run)
    note_imports(plan.loaded)
    if given.format == "json":
        output.as_json({**_renewal_json(plan), **_difference_json(plan.difference)})
        return DONE
    _print_difference(plan.difference)
    print_renewal(plan, dry_run=given.dry_run)
    return DONE


def _renewal_json(plan: Renewal) -> dict[str, object]:
    """The plan as JSON, without the changes (which `ontology diff` has)."""
    return {
        "ontology": list(plan.names),
        "replaced": [
            {"old": old.value, "new": new.value, "statements": plan.moved.get(old, 0)}
            for old, new in plan.succession.successors.items()
        ],
        "not_replaced": [{"term": term.value, "reason": why} for term, why in plan.succession.refused.items()],
        "stale_mappings": {name: list(terms) for name, terms in plan.stale_mappings.items()},
        "left": [{"term": change.iri.value, "statements": change.uses} for change in left(plan)],
    }


def left(plan: Renewal) -> list[TermChange]:
    """The terms that go and have no successor, although statements use them."""
    gone = (change for change in plan.difference.changes if change.outcome in ("removed", "renamed"))
    return [change for change in gone if change.uses and change.iri not in plan.succession.successors]


def print_renewal(plan: Renewal, *, dry_run: bool) -> None:
    """Prints it."""
    for old, new in plan.succession.successors.items():
        count = plan.moved.get(old, 0)
        output.say(f"replaced   {old.value} → {new.value}, in {output.plural(count, 'statement')}")
    for term, reason in plan.succession.refused.items():
        output.say(f"unclear    {term.value} {reason}")
    for change in left(plan):
        near = f"; {change.new_iri.value} is called alike: --replace OLD=NEW moves them" if change.new_iri else ""
        output.say(f"left       {change.iri.value}: {change.uses} statements keep it, `check` lists them{near}")
    for name, terms in plan.stale_mappings.items():
        output.say(f"mapping    {name} names {', '.join(terms)}: edit it before its table is read again")
    what = "would be" if dry_run else "are"
    output.note(f"{len(plan.difference.changes)} terms differ; in use {what}: {', '.join(plan.names) or 'none'}")


def _draft(given: Given) -> int:
    from kgplatform.mapping.ontology_draft import as_turtle, worded
    from kgplatform.mapping.schema_inference import draft_data, draft_files

    model = _model(given.workspace) if given.model else None
    if given.files:
        draft = draft_files(*given.files, iri=given.iri)
    else:
        with opened(given.workspace) as kg:
            draft = draft_data(kg.dataset, iri=given.iri)
    if model is not None:
        draft = worded(draft, model)
    for remark in draft.remarks:
        output.note(remark)
    sys.stdout.buffer.write(as_turtle(draft))
    output.note(f"{output.terms(draft.classes, draft.properties)} drafted from {draft.source}")
    return DONE


def _model(workspace: Path) -> ChatModel:
    """The language model of the workspace, or where there is none, of the environment."""
    from kgplatform.models.chat import OpenAIModel

    is_there = (workspace / config.FILE).is_file()
    settings = (config.load(workspace) if is_there else config.from_environment(config.Settings())).model
    if not settings.name:
        raise ConfigError(
            "draft --model needs a language model: set model.name in kgplatform.toml, or KGPLATFORM_MODEL",
            setting="model.name",
        )
    return OpenAIModel.configured(settings)
