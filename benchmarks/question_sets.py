"""How often the built-in translator is right on the question sets of ``tests/data/questions``, graph by graph.

Each graph is asked in memory, without a model and without passages. A question that the graph cannot answer is right
when no answer is given. Run as ``python -m benchmarks.question_sets [--split train] [--name NAME]``.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from pyoxigraph import RdfFormat, Triple

from benchmarks.common import ROOT
from kgplatform.evaluation.gold import AskedQuestion, ask_all, read_gold
from kgplatform.evaluation.metrics import AnswerOutcome
from kgplatform.models.embed import SentenceTransformersEmbedder
from kgplatform.ontology.schema import read_ontology
from kgplatform.questions.answer import QuestionParts, ask, knowledge
from kgplatform.store.dataset import EvidenceDataset, quad
from kgplatform.store.oxigraph import DEFAULT_GRAPH, Store, parse

EMBEDDER = SentenceTransformersEmbedder()
FOLDER = ROOT / "tests" / "data" / "questions"
SPLITS = ("train", "choose", "frozen")


def graph_of(folder: Path) -> tuple[Store, QuestionParts]:
    """The graph of a set (``graph.ttl``, or ``kg.ttl`` and ``labels-*.ttl``) with its ontology, ready to be asked."""

    def read(name: str) -> list[Triple]:
        return [item.triple for item in parse((folder / name).read_bytes(), RdfFormat.TURTLE)]

    graph = "graph.ttl" if (folder / "graph.ttl").exists() else "kg.ttl"
    ontology = read("ontology.ttl")
    store = Store.open()
    stated = (*ontology, *read(graph), *(triple for path in folder.glob("labels-*.ttl") for triple in read(path.name)))
    store.apply(added=[quad(triple, DEFAULT_GRAPH) for triple in stated])
    dataset, schema = EvidenceDataset(store, "http://kg/"), read_ontology(ontology)
    known = knowledge(dataset, schema)
    return store, QuestionParts(
        dataset,
        schema,
        known,
        run=lambda text: store.query(text, max_rows=5000),
        find=lambda _text, _graph: None,
        embedder=lambda: EMBEDDER,
    )


def asked(folder: Path) -> Iterator[AskedQuestion]:
    """Each question of a set with its answer and score."""
    store, parts = graph_of(folder)
    yield from ask_all(
        read_gold(folder / "questions.jsonl").questions,
        ask=lambda text: ask(text, parts=parts),
        query=lambda text: store.query(text, max_rows=5000),
        label_of=parts.knowledge.names.label,
    )


def _row(name: str, found: Sequence[AskedQuestion]) -> str:
    count = len(found) or 1
    shares = [sum(item.outcome is outcome for item in found) / count for outcome in AnswerOutcome]
    sure = [item for item in found if item.answer.confidence_level == "high" and item.outcome is AnswerOutcome.WRONG]
    by_language = [
        statistics.fmean(item.score.exact for item in part) if part else float("nan")
        for part in ([item for item in found if item.gold.language == language] for language in ("en", "zh"))
    ]
    cells = (*shares, len(sure) / count, *by_language)
    return f"{name:<24}{len(found):>5}" + "".join(f"{cell:>9.3f}" for cell in cells)


def main() -> int:
    """Prints a row for each set and for each split; 0."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.question_sets", description=__doc__)
    parser.add_argument("--split", action="append", choices=SPLITS, help="the sets of this split (default: all)")
    parser.add_argument("--name", action="append", help="this set only")
    parser.add_argument("--output", type=Path, metavar="FILE", help="write each question's outcome as JSON Lines")
    given = parser.parse_args()
    print(f"{'set':<24}{'n':>5}    right  refused    wrong  wrong at high   en       zh")
    lines = []
    for split in given.split or SPLITS:
        together: list[AskedQuestion] = []
        for folder in sorted(path for path in (FOLDER / split).iterdir() if path.is_dir()):
            if given.name and folder.name not in given.name:
                continue
            started = time.perf_counter()
            found = list(asked(folder))
            print(_row(f"{split}/{folder.name}", found), f"  {time.perf_counter() - started:.0f} s", flush=True)
            together += found
            lines += [json.dumps(item.line(), ensure_ascii=False) for item in found]
        if together:
            print(_row(split, together), flush=True)
    if given.output:
        given.output.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
