"""RDF and SPARQL at the command line: ``load``, ``dump``, ``query``, ``update``, and ``versions`` of what they see."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import date
from pathlib import Path

from kgplatform.building.exporting import Selection, export, save, shape_of
from kgplatform.building.lending import loan
from kgplatform.building.rdf import FORMATS
from kgplatform.cli import output
from kgplatform.dataset import EvidenceDataset
from kgplatform.errors import ConfigError, KgPlatformError, StoreError
from kgplatform.graph import KnowledgeGraph
from kgplatform.lexing import scan
from kgplatform.lookup import find_iri
from kgplatform.questions.emptiness import Cause, why_empty
from kgplatform.store import Store, checked_iri
from kgplatform.web.negotiation import GRAPHS, ROWS

_DONE, _SHORT = 0, 1
_LONG_SECONDS = 24 * 3600.0


@contextmanager
def store_at(kg: KnowledgeGraph, at: str | None) -> Iterator[Store]:
    """The store as it is, or as it was at the version or time that is asked for."""
    if at is None:
        yield kg.store
    else:
        with kg.versions.store(kg.versions.find(at)) as store:
            yield store


def load(given: argparse.Namespace) -> int:
    """Loads RDF files; one that fails does not stop the rest."""
    status = _DONE
    with KnowledgeGraph.open(given.workspace) as kg:
        for path in given.files:
            try:
                report = kg.load(path, graph=given.graph, format_=given.format)
            except KgPlatformError as error:
                output.note(f"kgplatform: {error}")
                status = _SHORT
                continue
            output.say(f"{report.source}: {report.read} statements read, {report.new} quads new")
            for before, after in report.rewritten[:10]:
                output.note(f"  the store writes {before} as {after}")
    return status


def dump(given: argparse.Namespace) -> int:
    """Writes the graph, or a part of it, as RDF or as a network."""
    shape = shape_of(given.file, given.format, canonical=given.canonical, header=given.header)
    with KnowledgeGraph.open(given.workspace) as kg, store_at(kg, given.at) as store:
        if given.graph and not store.has_graph(checked_iri(given.graph)):
            raise StoreError(
                f"no graph {given.graph}; `kgplatform query -e 'SELECT DISTINCT ?g {{ GRAPH ?g {{}} }}'` lists them"
            )
        data = export(
            EvidenceDataset(store, kg.base),
            _selection(kg, given),
            shape,
            registry=kg.registry,
            terms=(*kg.ontology.classes, *kg.ontology.properties, *kg.ontology.individuals),
            state=given.at or "",
        )
    if given.file is None:
        sys.stdout.buffer.write(data)
    else:
        save(given.file, data)
        output.note(f"{given.file}: {len(data):,} bytes")
    return _DONE


def _selection(kg: KnowledgeGraph, given: argparse.Namespace) -> Selection:
    chosen = [name for name in ("graph", "of_class", "since") if getattr(given, name) is not None]
    if len(chosen) > 1:
        raise ConfigError("give one of --graph, --class and --since", setting=chosen[1])
    try:
        since = date.fromisoformat(given.since) if given.since else None
    except ValueError as error:
        raise ConfigError(f"--since is a day such as 2026-05-01, not {given.since!r}", setting="since") from error
    class_ = find_iri(kg.store, given.of_class) if given.of_class else None
    return Selection(checked_iri(given.graph) if given.graph else None, class_, since)


def query(given: argparse.Namespace) -> int:
    """Runs a SPARQL query and prints rows or a graph."""
    text = _sparql(given)
    is_graph = scan(text).form in ("CONSTRUCT", "DESCRIBE")
    wanted = given.format or ("turtle" if is_graph else "table")
    with KnowledgeGraph.open(given.workspace) as kg, store_at(kg, given.at) as store:
        text = kg.resolved(text) if given.at is None else text
        if is_graph != (wanted in FORMATS):
            kinds = "turtle, ntriples, rdfxml or jsonld" if is_graph else "table, json, xml, csv or tsv"
            raise ConfigError(
                f"this query gives {'a graph' if is_graph else 'rows'}; --format can be {kinds}", setting="format"
            )
        found = None if wanted == "table" and given.at else loan(kg)
        if found:
            _lent_query(kg, text, wanted, at=given.at, client=found.client)
        elif is_graph:
            sys.stdout.buffer.write(kg.store.serialise(store.construct(text), FORMATS[wanted]))
        elif wanted == "table":
            _shown(store, text, kg.store.prefixes)
        else:
            sys.stdout.buffer.write(store.results(text, wanted))
    return _DONE


def _shown(store: Store, text: str, prefixes: Mapping[str, str]) -> None:
    """Prints the rows; where there are none, says beside them why."""
    found = store.query(text)
    output.solutions(found, prefixes)
    if found.boolean is None and not found.rows:
        reason = why_empty(text, lambda query, limit, _seconds: store.query(query, max_rows=limit))
        if reason.cause is not Cause.UNKNOWN:
            output.note(reason.words())


def _lent_query(kg: KnowledgeGraph, text: str, wanted: str, *, at: str | None, client: str) -> None:
    """Runs the query in a worker, which ends with it if whoever asked goes away."""
    if wanted == "table":
        output.solutions(kg.workers.solutions(text, timeout_seconds=_LONG_SECONDS, client=client), kg.store.prefixes)
        return
    form = next(item.media_type for item in (*ROWS, *GRAPHS) if item.name == wanted)
    version = kg.versions.find(at) if at else kg.versions.current
    with kg.versions.snapshot(version) as snapshot:
        reply = kg.workers.stream(text, media_type=form, timeout_seconds=_LONG_SECONDS, client=client, at=snapshot)
    try:
        for piece in reply:
            sys.stdout.buffer.write(piece)
    finally:
        reply.close()


def update(given: argparse.Namespace) -> int:
    """Runs a SPARQL update."""
    text = _sparql(given)
    with KnowledgeGraph.open(given.workspace) as kg:
        committed = kg.update(text)
        output.say(f"{committed.gained} statements asserted, {committed.lost} struck out")
    return _DONE


def versions(given: argparse.Namespace) -> int:
    """Lists the states that can be read, the present one first."""
    with KnowledgeGraph.open(given.workspace) as kg:
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
    return _DONE


def _sparql(given: argparse.Namespace) -> str:
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
