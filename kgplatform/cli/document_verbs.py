"""Verbs that bring documents and tables in: ``create``, ``add``, ``documents``, ``mapping``, ``learn``, ``build``."""

from __future__ import annotations

import re
import sys
from collections.abc import Generator, Iterable, Sequence
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from kgplatform import settings as config
from kgplatform.cli import output
from kgplatform.cli.verb import DONE, SHORT, Given, argument, formats, imports, ontologies, opened, option, pairs, verb
from kgplatform.errors import ConfigError, ReadError

if TYPE_CHECKING:
    from kgplatform.documents.records import DocumentRecord, DocumentSummary
    from kgplatform.graph import KnowledgeGraph
    from kgplatform.ontology.packs import LoadedOntology
    from kgplatform.reasoning.scope import Finding
    from kgplatform.types import Document, Usage
    from kgplatform.workspace.ingest import Added, StatementsGiven
    from kgplatform.workspace.intake import CostEstimate
    from kgplatform.workspace.review import LearnReport, Taught

_MOST_REFUSED = 20
_MOST_FINDINGS = 5
_BASE = "https://example.org/kg/"


@verb("create", here=True, workspace=False)
@argument("folder", "DIR", type=Path)
@ontologies("travel, academic, airport, or a file.")
@imports
@option("--base", default=_BASE, metavar="IRI", help="Where the workspace's IRIs begin.")
@option("--currency", default="", metavar="CODE", help="The currency of all prices, such as EUR.")
def create(given: Given) -> int:
    """Make a new workspace in a folder that is empty or does not exist."""
    from kgplatform.graph import KnowledgeGraph
    from kgplatform.ontology.lint import summary, unused_axioms

    with KnowledgeGraph.create(
        given.folder,
        ontology=given.ontology,
        base=given.base,
        imports=pairs(given.imports, "import", "IRI=FILE"),
        fetch_imports=given.fetch_imports,
        currency=given.currency,
    ) as kg:
        found = kg.ontology
        output.say(f"{given.folder}: {output.terms(found.classes, found.properties)}")
        note_imports(kg.loaded)
        line = summary(unused_axioms(kg.loaded.own, kg.loaded.unread))
        if line:
            output.note(line)
    return DONE


def note_imports(loaded: LoadedOntology) -> None:
    """Says which imports are missing, a line each, and why one was not fetched."""
    for trouble in loaded.troubles:
        output.note(f"import {trouble}")
    for iri in loaded.unresolved:
        output.note(f"missing import, ignored: {iri}")


def _location(text: str) -> Path | str:
    return text if text[:8].lower().startswith(("http://", "https://")) else Path(text)


_SCHEDULER = re.compile(r"local|\d{1,4}|(?:tcp|tls|ws|wss|ucx)://\S+")


def _readers(kg: KnowledgeGraph, cluster: str | None) -> str | int | None:
    """Who reads: the scheduler at an address, so many workers here (0: one for each processor); None: this process."""
    if cluster is None:
        return None
    named = kg.settings.cluster.dask if cluster == "local" else cluster
    return int(named or 0) if named.isdigit() or not named else named


@verb("add")
@argument("paths", "[PATH...]", nargs=-1, type=_location)
@option(
    "--statements",
    multiple=True,
    type=Path,
    metavar="FILE",
    help="Also take up statements extracted elsewhere: JSON Lines, or RDF with graphs. Repeatable.",
)
@option(
    "--policy",
    one_of=("accept", "quarantine", "refuse"),
    help="What becomes of a document that violates shapes: accept, quarantine or refuse it (default: as the settings "
    "say).",
)
@option("--mapping", type=Path, metavar="FILE", help="Read tables by this YARRRML (.yml) or RML (.ttl) mapping.")
@option("--estimate", is_flag=True, help="Only tell what a model would be asked and cost; nothing is asked or added.")
@option("--no-build", is_flag=True, help="Leave linking and indexing to a later `build`.")
@option(
    "--cluster",
    is_flag=False,
    flag_value="local",
    metavar="[ADDRESS|N]",
    help="Read on the workers of a Dask scheduler (tcp://host:8786; default: cluster.dask, else workers here), or on N "
    "workers of this machine.",
)
@formats("text", "json")
def add(given: Given) -> int:
    """Read documents and tables, extract, link and index them.

    A PATH is a file, a folder, a place in JSON (FILE#/POINTER) or a web address. Known files are skipped, edited ones
    replaced; one that fails does not stop the rest. Exit status 1: a document failed or is in quarantine.

    A file of statements is taken up whole or not at all, after the documents; each names its document or passage.
    """
    if given.cluster and not _SCHEDULER.fullmatch(given.cluster):  # `--cluster notes/`: that was a PATH
        given.paths, given.cluster = (_location(given.cluster), *given.paths), "local"
    if not given.paths and (given.estimate or not given.statements):
        raise ConfigError("name what to add: a PATH, or --statements FILE", setting="add")
    with opened(given.workspace) as kg:
        if given.estimate:
            return _estimated(kg.estimate(*given.paths), given.format)
        bar = output.Bar()
        with closing(_brought(kg, given, bar)) as brought:  # before the workspace, if nobody reads on
            return _taken_in(kg, brought, bar, given.format)


def _brought(kg: KnowledgeGraph, given: Given, bar: output.Bar) -> Generator[Added | StatementsGiven]:
    """Adds the documents and then the statements, and builds after the last."""
    from kgplatform.workspace.table_stage import Keeping

    if given.paths:
        now, by = not given.no_build and not given.statements, Keeping(given.mapping, beside=True)
        who = _readers(kg, given.cluster)
        yield from kg.add(*given.paths, build=now, policy=given.policy, mapping=by, cluster=who, progress=bar)
    if not given.statements or kg.registry.was_stopped:
        return
    try:
        for path in given.statements:
            yield kg.add_statements(path, build=False)
    finally:
        if not given.no_build:
            kg.build(progress=bar)


def _taken_in(kg: KnowledgeGraph, added: Iterable[Added | StatementsGiven], bar: output.Bar, format_: str) -> int:
    """Reports what is added, and lets a signal end that in good order."""
    from kgplatform.documents.records import State

    with output.gracefully(kg.registry.stop):
        status = _report(added, bar, format_)
    if not kg.registry.was_stopped:
        return status
    waiting = kg.registry.counts().get(State.PENDING, 0)
    output.note(f"stopped; {waiting} documents are pending; continue with `kgplatform documents retry`")
    return SHORT


def _report(added: Iterable[Added | StatementsGiven], bar: output.Bar, format_: str) -> int:
    """Prints what became of each document as it comes; 1 if one failed or is in quarantine."""
    seen: list[Added | StatementsGiven] = []
    for item in added:
        seen.append(item)
        if format_ == "text":
            bar.end()
            _say_added(item)
    bar.end()
    if format_ == "json":
        output.as_json([_added_json(item) for item in seen])
    else:
        kinds = ("added", "replaced", "quarantined", "given", "unchanged", "failed")
        counts = {kind: sum(item.outcome == kind for item in seen) for kind in kinds}
        output.note(", ".join(f"{count} {kind}" for kind, count in counts.items() if count) or "nothing to do")
    return SHORT if any(item.outcome in ("failed", "quarantined") for item in seen) else DONE


def _say_added(item: Added | StatementsGiven) -> None:
    from kgplatform.workspace.ingest import StatementsGiven

    if isinstance(item, StatementsGiven):
        documents = output.plural(item.documents, "document")
        output.say(f"{item.outcome:<9}  {item.source}: {item.statements} statements of {documents}")
        return
    document = item.document
    if item.outcome == "failed":
        output.say(f"failed     {document.source}: {item.error}")
    elif item.outcome == "unchanged":
        output.say(f"unchanged  {document.source}")
    else:
        refused = f", {len(item.rejected)} refused" if item.rejected else ""
        cost = f" ({_usage_text(item.usage)})" if _usage_text(item.usage) else ""
        found = f"{item.statements} statements{refused}{cost}"
        output.say(f"{item.outcome:<9}  {document.source}: {document.title!r}, {found}")
        _print_table(item)
        _print_findings(item.findings)


def _print_findings(findings: Sequence[Finding]) -> None:
    for finding in findings[:_MOST_FINDINGS]:
        about = [output.local(item) for item in (finding.focus, finding.path) if item is not None]
        output.say(f"           violates {', '.join(about)}: {finding.message}")
    if len(findings) > _MOST_FINDINGS:
        output.say(f"           and {len(findings) - _MOST_FINDINGS} more; `kgplatform check --document` shows all")


def _added_json(item: Added | StatementsGiven) -> dict[str, object]:
    from kgplatform.reasoning.checks import finding_json
    from kgplatform.workspace.ingest import StatementsGiven

    if isinstance(item, StatementsGiven):
        return output.fields(item, "source", "outcome", "statements", "documents")
    return {
        "source": item.document.source,
        "document": item.document.iri.value,
        "title": item.document.title,
        **output.fields(item, "outcome", "statements"),
        "refused": [output.fields(refusal, "text", "reason") for refusal in item.rejected],
        "error": item.error,
        "findings": [finding_json(finding) for finding in item.findings],
        "seconds": round(item.seconds, 3),
        "usage": _usage_json(item.usage),
        **_table_json(item),
    }


@verb("mapping", here=True)
@argument("file", "FILE", type=Path)
@ontologies("Use this ontology instead of the workspace's.")
@option("--output", type=Path, metavar="FILE", help="Write the mapping here (default: stdout).")
def mapping(given: Given) -> int:
    """Draft the mapping of a table from the ontology, without adding anything."""
    from kgplatform.documents.tables.table_source import open_table
    from kgplatform.ontology import packs
    from kgplatform.workspace.table_stage import Mappings

    base = _BASE
    if given.ontology:
        ontology = packs.load(given.ontology, folder=Path.cwd()).ontology
    else:
        settings = config.load(given.workspace)
        ontology, base = packs.load(settings.ontology, folder=given.workspace).ontology, settings.base
    location = given.file.as_posix()
    draft = Mappings(ontology, base).draft(location, open_table(location))
    if given.output is None:
        sys.stdout.write(draft.text)
        return DONE
    if given.output.exists():
        raise ConfigError(f"{given.output} exists; name another file, or delete it first", setting="output")
    try:
        given.output.write_text(draft.text, encoding="utf-8")
    except OSError as error:
        raise ReadError(f"cannot be written: {error.strerror or error}", path=given.output) from error
    output.say(draft.described)
    output.note(f"written to {given.output}")
    return DONE


def _print_table(item: Added) -> None:
    """Prints by which mapping a table was read, what changed in it, and which cells were not accepted."""
    if item.mapping is None:
        return
    if item.rows is not None:
        rows = item.rows
        changes = f"{rows.added} added, {rows.removed} removed, {rows.changed} changed, {rows.unchanged} unchanged"
        output.say(f"  rows: {changes}")
    for line in item.mapping.described.splitlines():
        output.say(f"  {line}")
    if item.mapping.is_kept:
        output.say(f"  mapping: {item.mapping.path}")
    for problem in item.problems:
        output.say(f"  note: {problem}")
    for refusal in item.refused[:_MOST_REFUSED]:
        output.say(f"  refused: {refusal.reason}")
    if len(item.refused) > _MOST_REFUSED:
        output.say(f"  refused: {len(item.refused) - _MOST_REFUSED} more; --format json lists them all")


def _table_json(item: Added) -> dict[str, object]:
    if item.mapping is None:
        return {}
    said = item.mapping
    return {
        "rows": asdict(item.rows) if item.rows is not None else None,
        "problems": list(item.problems),
        "mapping": {"file": str(said.path) if said.is_kept else None, "draft": said.is_draft, "text": said.described},
    }


def _usage_json(usage: Usage) -> dict[str, object]:
    return output.fields(usage, "calls", "prompt_tokens", "completion_tokens")


def _usage_text(usage: Usage) -> str:
    """Calls and tokens, for a reader; empty where no model was asked."""
    if not (usage.calls or usage.prompt_tokens or usage.completion_tokens):
        return ""
    calls = output.plural(usage.calls, "call") if usage.calls else "from the cache"
    return f"{calls}, {usage.prompt_tokens:,} + {usage.completion_tokens:,} tokens"


def _estimated(found: CostEstimate, format_: str) -> int:
    if format_ == "json":
        output.as_json(_estimate_json(found))
    else:
        _print_estimate(found)
    return SHORT if found.unreadable else DONE


def _print_estimate(found: CostEstimate) -> None:
    for line in found.unreadable:
        output.note(f"unreadable  {line}")
    if found.documents:
        rows = [
            (
                str(document.chunks),
                f"{document.tokens:,}",
                str(document.usage.calls),
                f"{document.usage.prompt_tokens:,}",
                f"{document.usage.completion_tokens:,}",
                document.source,
            )
            for document in found.documents
        ]
        output.table(("chunks", "tokens", "calls", "prompt", "completion", "source"), rows)
    total = found.usage
    chunks = sum(document.chunks for document in found.documents)
    output.say(f"documents: {len(found.documents)}, chunks: {chunks}")
    if found.model is None:
        output.say("no model is configured; adding costs no tokens")
    else:
        output.say(
            f"model {found.model}: about {total.calls} calls, {total.prompt_tokens:,} prompt tokens and "
            f"{total.completion_tokens:,} completion tokens ({found.reply_tokens:.1f} per token of text); "
            "no request was sent"
        )
    apart = [f"{found.tables} tables"] if found.tables else []
    apart += [f"{found.unchanged} files unchanged"] if found.unchanged else []
    if apart:
        output.note(f"{', '.join(apart)}: read without a model")


def _estimate_json(found: CostEstimate) -> dict[str, object]:
    return {
        "model": found.model,
        "documents": [
            {**output.fields(document, "source", "title", "chunks", "tokens"), **_usage_json(document.usage)}
            for document in found.documents
        ],
        "chunks": sum(document.chunks for document in found.documents),
        "tokens": sum(document.tokens for document in found.documents),
        **_usage_json(found.usage),
        "reply_tokens": round(found.reply_tokens, 2),
        **output.fields(found, "tables", "unchanged", "unreadable"),
    }


@verb("documents", reads=lambda given: given.action in ("list", "show"))
@argument(
    "action", "[list|show|retry|release|remove]", default="list", one_of=("list", "show", "retry", "release", "remove")
)
@argument("name", "[NAME]", required=False, help="Path, title, hash or IRI of a document.")
@formats("text", "json")
def documents(given: Given) -> int:
    """List, show, retry, release or remove documents.

    `retry` reads again what failed; `release` takes a document out of quarantine into the graph; `remove` also takes
    out what a file of statements gave.
    """  # fmt: skip
    if given.action in ("show", "release", "remove") and not given.name:
        raise ConfigError(f"documents {given.action} needs the path, title, hash or IRI of a document", setting="name")
    with opened(given.workspace) as kg:
        if given.action == "remove" and not kg.registry.fitting(given.name) and kg.registry.givers(given.name):
            _say_added(kg.remove_statements(given.name))
        elif given.action in ("release", "remove"):
            tables = kg.registry.tables_of(given.name) if not kg.registry.fitting(given.name) else []
            for name in tables or [given.name]:
                record = kg.remove(name) if given.action == "remove" else kg.release(name)
                output.say(f"{given.action}d  {record.document.source}")
        elif given.action == "retry":
            bar = output.Bar()
            return _taken_in(kg, kg.retry(progress=bar), bar, given.format)
        elif given.action == "show":
            _show_document(kg, kg.registry.find(given.name), given.format)
        else:
            _list_documents(kg.registry.summaries(), given.format)
            for name, number in kg.registry.givers().items():
                output.note(f"statements of {output.plural(number, 'document')} given by {name}")
    return DONE


def _list_documents(records: list[DocumentSummary], format_: str) -> None:
    if format_ == "json":
        output.as_json([_record_json(record, record) for record in records])
        return
    rows = [(r.state.value, str(r.statements), str(r.refused), r.source, r.error or r.title) for r in records]
    output.table(("state", "statements", "refused", "source", "title"), rows)
    states = [record.state.value for record in records]
    apart = states.count("quarantined")
    output.note(
        f"{len(records)} documents, {states.count('failed')} failed" + (f", {apart} in quarantine" if apart else "")
    )


def _record_json(document: Document | DocumentSummary, record: DocumentRecord | DocumentSummary) -> dict[str, object]:
    return {
        **output.fields(document, "iri", "source", "title", "media_type", "language", "sha256"),
        "state": record.state.value,
        **output.fields(record, "error", "statements", "refused", "updated"),
    }


def _show_document(kg: KnowledgeGraph, record: DocumentRecord, format_: str) -> None:
    from kgplatform.workspace.intake import usage_of

    extractions = list(kg.registry.extractions(record.document.iri))
    chunks = {claim: extraction.chunk for extraction in extractions for claim in extraction.claims}
    refused = [refusal for extraction in extractions for refusal in extraction.refused]
    claims = [claim for extraction in extractions for claim in extraction.claims]
    text = record.document.text
    if format_ == "json":
        passages = [{"start": c.start, "end": c.end, "quote": text[c.start : c.end]} for c in claims]
        refusals = [output.fields(refusal, "text", "reason") for refusal in refused]
        used = {"usage": _usage_json(usage_of(extractions))}
        output.as_json({**_record_json(record.document, record), **used, "passages": passages, "refusals": refusals})
        return
    for name, value in _record_json(record.document, record).items():
        if value is not None:
            output.say(f"{name:<11} {value}")
    if cost := _usage_text(usage_of(extractions)):
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


@verb("build")
@option(
    "--only",
    one_of=("link", "infer", "communities", "index"),
    metavar="STAGE",
    help="One stage: link, infer, index, or communities, which are found only if asked for.",
)
def build(given: Given) -> int:
    """Link names, draw conclusions and index passages from what was read.

    Communities are left as they are; `build --only communities` finds them anew, which can take minutes on a large
    graph.
    """  # fmt: skip
    from kgplatform.cli.answer_verbs import print_inferred, say_found

    with opened(given.workspace) as kg:
        bar = output.Bar()
        report = kg.build(given.only, progress=bar)
        bar.end()
        if report.linked is not None:
            linked = report.linked
            output.say(f"{linked.names} names of {linked.entities} entities, {linked.reprojected} documents updated")
        if report.inferred is not None:
            print_inferred(report.inferred, kg.store.prefixes)
        if report.indexed is not None:
            output.say(f"{report.indexed} passages indexed")
        if report.communities is not None:
            say_found(report.communities)
    return DONE


@verb("learn")
@argument(
    "file", "[FILE|questions]", type=Path, required=False,
    help="Texts with their triples, as JSON Lines; or the word questions: learn from solved questions.",
)  # fmt: skip
@formats("text", "json")
def learn(given: Given) -> int:
    """Teach the built-in reader by examples and judged statements, or the translator by solved questions.

    Prints precision, recall and F1 by property, of a fifth of the examples that was set apart; or how many of the
    solved questions the translator answers by itself, before and with the words that were learnt.
    """
    from kgplatform.vocab import local_name
    from kgplatform.workspace.review import judged_examples
    from kgplatform.workspace.review import learn as learn_examples

    if given.file == Path("questions") and not given.file.exists():
        return _learn_questions(given)
    with opened(given.workspace) as kg:
        bar = output.Bar()
        judged = judged_examples(kg.registry, kg.workspace.projection)
        report = learn_examples(kg.folder, kg.ontology, given.file, judged=judged, progress=bar)
        bar.end()
        names = {item.iri: local_name(item.iri) for item in report.properties}
    for problem in report.problems:
        output.note(f"{given.file}: {problem}; left out")
    if given.format == "json":
        output.as_json(_learnt_json(report))
        return DONE
    rows = [_row("all", report.overall), *(_row(names[item.iri], item) for item in report.properties)]
    if report.overall.said:
        output.table(("property", "said", "read", "precision", "recall", "F1"), rows)
    left = f", {report.left_out} triples of properties that the ontology does not have" if report.left_out else ""
    told = f"scores are of {report.apart} set apart" if report.overall.said else "too few to tell how well it reads"
    output.note(f"learnt from {report.examples} examples{left}; {told}")
    return DONE


def _learn_questions(given: Given) -> int:
    with opened(given.workspace) as kg:
        bar = output.Bar()
        learnt = kg.learn_questions(progress=bar)
        bar.end()
        label = kg.workspace.label
        words = [(label(item.term), item.word.value, item.question) for item in learnt.words]
    right = (sum(learnt.before), sum(learnt.after))
    if given.format == "json":
        told = [{"term": item.term.value, "word": item.word.value, "question": item.question} for item in learnt.words]
        output.as_json({"questions": len(learnt.questions), "right_before": right[0], "right": right[1], "words": told})
        return DONE
    if words:
        output.table(("term", "also called", "taught by"), words)
    if not learnt.questions:
        output.note(
            "there are no solved questions yet; confirm an answer as right, or write FILE.rq in the folder sparql"
        )
        return DONE
    output.note(
        f"{right[1]} of {len(learnt.questions)} solved questions are answered rightly without their solutions "
        f"({right[0]} before)"
    )
    return DONE


def _row(name: str, item: Taught) -> tuple[str, ...]:
    return name, f"{item.said}", f"{item.read}", f"{item.precision:.2f}", f"{item.recall:.2f}", f"{item.f1:.2f}"


def _learnt_json(report: LearnReport) -> dict[str, object]:
    names = ("said", "read", "right", "precision", "recall", "f1")
    return {
        **output.fields(report, "examples", "problems", "left_out", "apart"),
        "overall": output.fields(report.overall, *names),
        "properties": {item.iri: output.fields(item, *names) for item in report.properties},
    }
