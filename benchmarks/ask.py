"""How long a question takes by the built-in methods, cold (a process for it alone) and warm (an open workspace).

Cold is processor time, of later questions: the first run, which does not count, is the one that keeps the vectors of
what the ontology says.

The peer is rdflib running the very query that the answer came from over the same statements. It does less: it is given
the query, checks nothing and finds no passages.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import rdflib
from pyoxigraph import RdfFormat, serialize

from benchmarks.common import (
    EXAMPLES,
    Peer,
    Result,
    call_seconds,
    kgplatform,
    new_workspace,
    processor_seconds,
    sample_questions,
)
from kgplatform.graph import KnowledgeGraph

PACKS = ("travel", "academic", "airport")
COLD, WARM = 4.0, 1.0
PLAIN = (
    "import rdflib, sys; graph = rdflib.Graph(); graph.parse(sys.argv[1], format='nt'); "
    "print(len(graph.query(open(sys.argv[2], encoding='utf-8').read())))"
)


def measure() -> list[Result]:
    """Cold and warm times on the sample workspaces."""
    return [result for pack in PACKS for result in _measure(pack)]


def _measure(pack: str) -> Iterator[Result]:
    with new_workspace(pack) as folder, TemporaryDirectory() as scratch:
        triples = Path(scratch) / "statements.nt"
        warm, queries = _asked(pack, folder, triples)
        yield from _warm(pack, warm, queries, triples)
        yield from _cold(pack, folder, queries, triples)


def _asked(pack: str, folder: Path, triples: Path) -> tuple[float, Mapping[str, str]]:
    """The median seconds of a question and the queries they became; the statements go into a file for the peer."""
    with KnowledgeGraph.open(folder) as kg:
        for _ in kg.add(EXAMPLES / pack):
            pass
        serialize(kg.construct("CONSTRUCT { ?s ?p ?o } WHERE { ?s ?p ?o }"), triples, RdfFormat.N_TRIPLES)
        queries = _queries(kg, pack)
        return median(call_seconds(partial(kg.ask, text), runs=3) for text in queries), queries


def _queries(kg: KnowledgeGraph, pack: str) -> Mapping[str, str]:
    """The sample questions that became a query, with it."""
    answers = {question: kg.ask(question) for question in sample_questions(pack)}
    queries = {
        question: answer.query.text for question, answer in answers.items() if answer.query and answer.query.text
    }
    if not queries:
        raise RuntimeError(f"no sample question of {pack} became a query")
    return queries


def _warm(pack: str, seconds: float, queries: Mapping[str, str], triples: Path) -> Iterator[Result]:
    graph = rdflib.Graph().parse(triples, format="nt")
    plain = median(call_seconds(partial(_rows, graph, text), runs=3) for text in queries.values())
    name = f"ask, warm: {pack}, {len(graph):,} statements, {len(queries)} questions"
    yield Result(name, seconds, promise=WARM, peer=Peer("rdflib, the query alone", plain))


def _cold(pack: str, folder: Path, queries: Mapping[str, str], triples: Path) -> Iterator[Result]:
    question, query = next(iter(queries.items()))
    text = triples.with_name("query.rq")
    text.write_text(query, encoding="utf-8")
    plain = processor_seconds([sys.executable, "-c", PLAIN, str(triples), str(text)], runs=3)
    seconds = processor_seconds(kgplatform("ask", question, "-w", folder), runs=3)
    yield Result(f"ask, cold: {pack}", seconds, promise=COLD, peer=Peer("rdflib, load and query", plain))


def _rows(graph: rdflib.Graph, query: str) -> int:
    return sum(1 for _ in graph.query(query))
