"""The verbs: each opens the workspace, calls the door, and prints what came back."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable

from kgplatform.building.ingest import Added
from kgplatform.building.mappings import Keeping
from kgplatform.building.rdf import FORMATS
from kgplatform.cli import output
from kgplatform.cli.courses import run as courses  # noqa: F401 (the verb)
from kgplatform.cli.learning import run as learn  # noqa: F401 (the verb)
from kgplatform.cli.linking import link, links, unlink  # noqa: F401 (verbs)
from kgplatform.cli.literature import run as literature  # noqa: F401 (the verb)
from kgplatform.cli.rdf import dump, load, query, update, versions  # noqa: F401 (the verbs)
from kgplatform.cli.stopping import gracefully
from kgplatform.documents.registry import DocumentRecord, DocumentSummary, State
from kgplatform.errors import ConfigError
from kgplatform.graph import KnowledgeGraph
from kgplatform.types import Document

_DONE, _SHORT = 0, 1


def create(given: argparse.Namespace) -> int:
    """Makes a workspace."""
    from kgplatform.cli.ontologies import note_imports, pairs
    from kgplatform.ontologies.unused import summary, unused_axioms

    imports = pairs(given.imports, "import", "IRI=FILE")
    with KnowledgeGraph.create(
        given.folder,
        ontology=given.ontology,
        base=given.base,
        imports=imports,
        fetch_imports=given.fetch_imports,
    ) as kg:
        found = kg.ontology
        output.say(f"{given.folder}: {len(found.classes)} classes, {len(found.properties)} properties")
        note_imports(kg.loaded)
        line = summary(unused_axioms(kg.loaded.own, kg.loaded.unread))
        if line:
            output.note(line)
    return _DONE


def add(given: argparse.Namespace) -> int:
    """Adds documents and tables, or says what that would cost."""
    from kgplatform.cli import costs

    if given.estimate:
        return costs.run(given)
    with KnowledgeGraph.open(given.workspace) as kg:
        bar = output.Bar()
        by = Keeping(given.mapping, beside=True)
        added = kg.add(*given.paths, build=not given.no_build, policy=given.policy, mapping=by, progress=bar)
        return _taken_in(kg, added, bar, given.format)


def _taken_in(kg: KnowledgeGraph, added: Iterable[Added], bar: output.Bar, format_: str) -> int:
    """Reports what is added, and lets a signal end that in good order."""
    with gracefully(kg.registry.stop):
        status = _report(added, bar, format_)
    if not kg.registry.was_stopped:
        return status
    waiting = kg.registry.counts().get(State.PENDING, 0)
    output.note(f"stopped; {waiting} documents wait: `kgplatform documents retry` goes on with them")
    return _SHORT


def _report(added: Iterable[Added], bar: output.Bar, format_: str) -> int:
    """Prints what became of each document as it comes; 1 if one failed or is kept apart."""
    seen: list[Added] = []
    for item in added:
        seen.append(item)
        if format_ == "text":
            bar.end()
            _say_added(item)
    bar.end()
    if format_ == "json":
        output.as_json([_added_json(item) for item in seen])
    else:
        kinds = ("added", "replaced", "quarantined", "unchanged", "failed")
        counts = {kind: sum(item.outcome == kind for item in seen) for kind in kinds}
        output.note(", ".join(f"{count} {kind}" for kind, count in counts.items() if count) or "nothing to do")
    return _SHORT if any(item.outcome in ("failed", "quarantined") for item in seen) else _DONE


def _say_added(item: Added) -> None:
    from kgplatform.cli.checks import print_findings
    from kgplatform.cli.costs import usage_text
    from kgplatform.cli.mappings import print_table

    document = item.document
    if item.outcome == "failed":
        output.say(f"failed     {document.source}: {item.error}")
    elif item.outcome == "unchanged":
        output.say(f"unchanged  {document.source}")
    else:
        refused = f", {len(item.rejected)} refused" if item.rejected else ""
        cost = f" ({usage_text(item.usage)})" if usage_text(item.usage) else ""
        found = f"{item.statements} statements{refused}{cost}"
        output.say(f"{item.outcome:<9}  {document.source}: {document.title!r}, {found}")
        print_table(item)
        print_findings(item.findings)


def _added_json(item: Added) -> dict[str, object]:
    from kgplatform.checking.report import finding_json
    from kgplatform.cli.costs import usage_json
    from kgplatform.cli.mappings import table_json

    return {
        "source": item.document.source,
        "document": item.document.iri.value,
        "title": item.document.title,
        "outcome": item.outcome,
        "statements": item.statements,
        "refused": [{"text": refusal.text, "reason": refusal.reason} for refusal in item.rejected],
        "error": item.error,
        "findings": [finding_json(finding) for finding in item.findings],
        "seconds": round(item.seconds, 3),
        "usage": usage_json(item.usage),
        **table_json(item),
    }


def mapping(given: argparse.Namespace) -> int:
    """Drafts the mapping of a table."""
    from kgplatform.cli.mappings import mapping as verb

    return verb(given)


def documents(given: argparse.Namespace) -> int:
    """Lists, shows, retries, releases or removes documents."""
    if given.action in ("show", "release", "remove") and not given.name:
        raise ConfigError(f"documents {given.action} needs the path, title, hash or IRI of a document", setting="name")
    with KnowledgeGraph.open(given.workspace) as kg:
        if given.action in ("release", "remove"):
            record = kg.remove(given.name) if given.action == "remove" else kg.release(given.name)
            output.say(f"{given.action}d  {record.document.source}")
            return _DONE
        if given.action == "retry":
            bar = output.Bar()
            return _taken_in(kg, kg.retry(progress=bar), bar, given.format)
        if given.action == "show":
            _show_document(kg, kg.registry.find(given.name), given.format)
            return _DONE
        _list_documents(kg.registry.summaries(), given.format)
    return _DONE


def _list_documents(records: list[DocumentSummary], format_: str) -> None:
    if format_ == "json":
        output.as_json([_record_json(record, record) for record in records])
        return
    rows = [(r.state.value, str(r.statements), str(r.refused), r.source, r.error or r.title) for r in records]
    output.table(("state", "statements", "refused", "source", "title"), rows)
    apart = sum(record.state is State.QUARANTINED for record in records)
    output.note(
        f"{len(records)} documents, {sum(r.state is State.FAILED for r in records)} failed"
        + (f", {apart} in quarantine" if apart else "")
    )


def _record_json(document: Document | DocumentSummary, record: DocumentRecord | DocumentSummary) -> dict[str, object]:
    return {
        "iri": document.iri.value,
        "source": document.source,
        "title": document.title,
        "media_type": document.media_type,
        "language": document.language,
        "sha256": document.sha256,
        "state": record.state.value,
        "error": record.error,
        "statements": record.statements,
        "refused": record.refused,
        "updated": record.updated,
    }


def _show_document(kg: KnowledgeGraph, record: DocumentRecord, format_: str) -> None:
    from kgplatform.building.extracting import usage_of
    from kgplatform.cli.costs import usage_json, usage_text

    extractions = list(kg.registry.extractions(record.document.iri))
    chunks = {claim: extraction.chunk for extraction in extractions for claim in extraction.claims}
    refused = [refusal for extraction in extractions for refusal in extraction.refused]
    claims = [claim for extraction in extractions for claim in extraction.claims]
    text = record.document.text
    if format_ == "json":
        passages = [{"start": c.start, "end": c.end, "quote": text[c.start : c.end]} for c in claims]
        refusals = [{"text": r.text, "reason": r.reason} for r in refused]
        used = {"usage": usage_json(usage_of(extractions))}
        output.as_json({**_record_json(record.document, record), **used, "passages": passages, "refusals": refusals})
        return
    for name, value in _record_json(record.document, record).items():
        if value is not None:
            output.say(f"{name:<11} {value}")
    if cost := usage_text(usage_of(extractions)):
        output.say(f"{'model':<11} {cost}")
    projection = kg.projection
    for claim in claims:
        triple = projection.triple(claim, chunks[claim])
        if triple is not None:
            parts = (triple.subject, triple.predicate, triple.object)
            output.say("  " + " ".join(output.short(part, kg.store.prefixes) for part in parts))
            output.say(f"      “{output.cut(text[claim.start : claim.end], 100)}”")
    for refusal in refused:
        output.say(f"  refused: {output.cut(refusal.text, 80)} — {refusal.reason}")


def build(given: argparse.Namespace) -> int:
    """Links, infers and indexes."""
    from kgplatform.cli.communities import say_found
    from kgplatform.cli.reasons import print_inferred

    with KnowledgeGraph.open(given.workspace) as kg:
        report = kg.build(given.only, communities=given.only is None)
        if report.linked is not None:
            linked = report.linked
            output.say(
                f"{linked.names} names of {linked.entities} entities, {linked.reprojected} documents brought in line"
            )
        if report.inferred is not None:
            print_inferred(report.inferred, kg.store.prefixes)
        if report.indexed is not None:
            output.say(f"{report.indexed} passages indexed")
        if report.communities is not None:
            say_found(report.communities)
    return _DONE


def communities(given: argparse.Namespace) -> int:
    """Lists the communities, or shows one."""
    from kgplatform.cli import communities as shown

    return shown.run(given)


def ask(given: argparse.Namespace) -> int:
    """Answers a question."""
    from kgplatform.cli import asking

    return asking.run(given)


def testset(given: argparse.Namespace) -> int:
    """Makes gold questions."""
    from kgplatform.cli import airport, testsets

    return airport.make_questions(given) if given.of == "airport" else testsets.run(given)


def evaluate(given: argparse.Namespace) -> int:
    """Measures what gold questions or texts, or a whole study, come to; or compares two runs."""
    from kgplatform.cli import evaluations

    return evaluations.chosen(given)


def benchmark(given: argparse.Namespace) -> int:
    """Compares retrievers on gold passages."""
    from kgplatform.cli import benchmarks

    return benchmarks.run(given)


def search(given: argparse.Namespace) -> int:
    """Finds passages."""
    with KnowledgeGraph.open(given.workspace) as kg:
        if kg.chunks.misfit:
            output.note(f"found by words only: {kg.chunks.misfit}")
        found = kg.search(given.text, given.k, retriever=given.retriever, plot=given.plot)
        if kg.chunks.away:
            output.note(f"found by words only: {kg.chunks.away}")
    if given.plot:
        output.note(f"drawn: {given.plot}")
    if given.format == "json":
        names = ("chunk", "document", "title", "source", "quote", "start", "end", "score")
        output.as_json([{n: getattr(getattr(e, n), "value", getattr(e, n)) for n in names} for e in found])
    else:
        for rank, passage in enumerate(found, start=1):
            output.say(f"{rank:>2}. {passage.title} ({passage.source}, {passage.start}–{passage.end})")
            output.say(f"    {output.cut(passage.quote, 160)}")
    return _DONE if found else _SHORT


def show(given: argparse.Namespace) -> int:
    """Shows what the graph says about one thing."""
    from kgplatform.cli.entities import print_view, view_json
    from kgplatform.cli.rdf import store_at

    with KnowledgeGraph.open(given.workspace) as kg, store_at(kg, given.at) as store:
        view = kg.show(given.name, store=store)
        if given.format == "json":
            output.as_json(view_json(view))
        elif given.format == "turtle":
            quads = (quad.triple for quad in store.quads(view.iri))
            sys.stdout.buffer.write(kg.store.serialise(sorted(set(quads), key=str), FORMATS["turtle"]))
        else:
            print_view(view)
    return _DONE


def why(given: argparse.Namespace) -> int:
    """Says why a statement holds."""
    from kgplatform.cli.reasons import explanation_json, language_asked_in, print_explanation
    from kgplatform.describing import Labels

    with KnowledgeGraph.open(given.workspace) as kg:
        found = kg.why(given.subject, given.predicate, given.object)
        if given.format == "json":
            output.as_json(explanation_json(found))
        else:
            language = language_asked_in(given.subject, given.predicate, given.object)
            print_explanation(found, Labels(kg.dataset, kg.ontology, language), language)
    return _DONE


def check(given: argparse.Namespace) -> int:
    """Holds the graph against ontology, shapes and evidence; 1 if there are violations."""
    from kgplatform.cli.checks import print_report
    from kgplatform.describing import Labels

    with KnowledgeGraph.open(given.workspace) as kg:
        report = kg.check(given.document, shapes=given.shapes, fix=given.fix)
        print_report(report, Labels(kg.dataset, kg.ontology, "en"), given.format)
    return _SHORT if report.violations else _DONE


def places(given: argparse.Namespace) -> int:
    """Lists, adds, finds or removes reference places."""
    from kgplatform.cli.places import run

    return run(given)


def ontology(given: argparse.Namespace) -> int:
    """Shows, checks, compares, drafts or updates ontologies."""
    from kgplatform.cli.ontologies import run

    return run(given)


def serve(given: argparse.Namespace) -> int:
    """Serves pages and endpoint until stopped."""
    from kgplatform.web.serving import serve as run

    with KnowledgeGraph.open(given.workspace) as kg:
        run(kg, host=given.host, port=given.port, announce=output.say)
    return _DONE


def demo(given: argparse.Namespace) -> int:
    """Builds the sample workspaces, asks them, serves the first."""
    from kgplatform.demo import run

    packs = (given.pack,) if given.pack else ("travel", "academic", "airport")
    return run(packs, folder=given.folder, port=None if given.no_serve else given.port)


def doctor(given: argparse.Namespace) -> int:
    """Says what is installed, configured and missing."""
    from kgplatform.cli.doctor import examine

    findings = examine(given.workspace)
    output.table(("", "what", "finding"), [(f.mark, f.what, f.finding) for f in findings], widest=400)
    return _SHORT if any(f.is_fault for f in findings) else _DONE


def token(given: argparse.Namespace) -> int:
    """Makes a token and prints it, with the line for the settings that lets it in."""
    from kgplatform.web.rights import Token

    secret, line = Token.make(given.name, given.role)
    output.say(secret)
    output.note("shown this once; add to kgplatform.toml, below [server], in the list `tokens`:")
    output.note(f"  {json.dumps(line)},")
    return _DONE


def conformance(given: argparse.Namespace) -> int:
    """Runs the W3C's tests and prints how they went."""
    from kgplatform.cli.conformance import keep, print_results
    from kgplatform.conformance.suites import chosen, run

    results = list(run(given.folder, chosen(given.suite)))
    print_results(results, given.format)
    if given.workspace is not None:
        keep(results, given.workspace)
    return _SHORT if any(result.is_surprise for result in results) else _DONE
