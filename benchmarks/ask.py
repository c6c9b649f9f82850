"""How long a question takes by the built-in methods, cold (a process for it alone) and warm (an open workspace).

The peer is rdflib running the very query that the answer came from over the same statements. It does less: it is given
the query, checks nothing and finds no passages.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
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
    process_seconds,
    sample_questions,
)
from kgplatform.graph import KnowledgeGraph

PACKS = ("travel", "airport")
COLD, WARM = 4.0, 1.0
PLAIN = (
    "import rdflib, sys; graph = rdflib.Graph(); graph.parse(sys.argv[1], format='nt'); "
    "print(len(graph.query(open(sys.argv[2], encoding='utf-8').read())))"
)


def measure() -> list[Result]:
    """Cold and warm times on the sample workspaces."""
    return [result for pack in PACKS for result in _measure(pack)]


def _measure(pack: str) -> Iterator[Result]:
    with new_workspace(pack) as kg, TemporaryDirectory() as scratch:
        for _ in kg.add(EXAMPLES / pack):
            pass
        queries = {question: answer.query.text for question, answer in _answers(kg, pack) if answer.query}
        if not queries:
            raise RuntimeError(f"no sample question of {pack} was translated to a query")
        triples = Path(scratch) / "statements.nt"
        serialize(kg.construct("CONSTRUCT { ?s ?p ?o } WHERE { ?s ?p ?o }"), triples, RdfFormat.N_TRIPLES)
        graph = rdflib.Graph().parse(triples, format="nt")
        warm = median(call_seconds(lambda q=question: kg.ask(q), runs=3) for question in queries)
        plain = median(call_seconds(lambda q=query: list(graph.query(q)), runs=3) for query in queries.values())
        size = f"{pack}, {len(graph):,} statements"
        yield Result(f"ask, warm ({size}, {len(queries)} questions)", warm, promise=WARM, peer=Peer("rdflib", plain))

        question, query = next(iter(queries.items()))
        text = Path(scratch) / "query.rq"
        text.write_text(query, encoding="utf-8")
        alone = process_seconds([sys.executable, "-c", PLAIN, str(triples), str(text)], runs=3)
        with _released(kg):
            cold = process_seconds(kgplatform("ask", question, "-w", kg.folder), runs=3)
        yield Result(f"ask, cold ({size})", cold, promise=COLD, peer=Peer("rdflib", alone))
