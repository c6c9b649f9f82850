"""All retrievers, those of the studies too, on questions with gold passages in a workspace.

``python -m benchmarks.passages GOLD -w WORKSPACE -k 5`` prints what ``kgplatform benchmark retrieval`` prints, which
knows the retrievers of the product only.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from benchmarks.studies.left_out import STUDIED
from kgplatform.cli.evaluation_verbs import print_retrievers
from kgplatform.evaluation.retrievers import compare_retrievers, read_gold_passages
from kgplatform.graph import KnowledgeGraph


def main() -> int:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("gold", type=Path)
    parser.add_argument("-w", "--workspace", type=Path, required=True)
    parser.add_argument("-k", type=int, default=10, help="how many passages each (default: 10)")
    parser.add_argument("--retriever", action="append", choices=STUDIED, metavar="NAME", help="only this one")
    parser.add_argument("--per-document", type=int, help="at most so many of a document while others have some")
    given = parser.parse_args()
    questions, problems = read_gold_passages(given.gold)
    for problem in problems:
        print(problem, file=sys.stderr)
    with KnowledgeGraph.open(given.workspace) as kg:
        made = {name: STUDIED[name](kg.sources) for name in given.retriever or STUDIED}
        reports = compare_retrievers(
            questions,
            made,
            lambda text, k, name: kg.search(text, k, retriever=lambda _: made[name], per_document=given.per_document),
            k=given.k,
        )
    print_retrievers(reports, (), given.k)
    return 0


if __name__ == "__main__":
    sys.exit(main())
