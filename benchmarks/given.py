"""What given statements do for retrieval: the passages of a collection without them, and with them.

``python -m benchmarks.given FOLDER [--keep DIR]`` adds the passages to a workspace without an ontology, asks every
question, gives the workspace the extraction (`KnowledgeGraph.add_statements`), and asks again. FOLDER is as for
`benchmarks.peers`; all retrievers spread over documents as the settings have it.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks import peers
from kgplatform.errors import KgPlatformError
from kgplatform.evaluation.metrics import estimate

_NAMES = ("pagerank-shared", "pagerank", "dual-level", "tied-sentences")


def table(material: peers.Material, ways: dict[str, peers.Retrieve], title: str) -> str:
    """Recall in 2, 5 and 20, and the share of the questions with all their passages in 20."""
    lines = [f"{title:34} R@2   R@5   R@20  all@20"]
    for name, retrieve in ways.items():
        found = [(asked.gold, retrieve(asked.text)) for asked in material.questions]
        recalls = [[len(gold & set(places[:k])) / len(gold) for gold, places in found] for k in (2, 5, 20)]
        whole = [float(gold <= set(places[:20])) for gold, places in found]
        lines.append(f"{name:34} " + "  ".join(f"{estimate(values).value:.3f}" for values in (*recalls, whole)))
    return "\n".join(lines)


def main() -> int:
    """Prints both tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.given", description="what given statements do")
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep the workspace here, and use what is there")
    parser.add_argument("--retriever", action="append", metavar="NAME", help="only this one (repeatable)")
    given = parser.parse_args()
    names = given.retriever or _NAMES
    try:
        material = peers.read(given.folder)
        with TemporaryDirectory() as temporary:
            folder = given.keep or Path(temporary)
            folder.mkdir(parents=True, exist_ok=True)
            with peers.opened(material, folder) as kg:
                if not kg.registry.has_given():
                    print(table(material, peers.by_retriever(kg, material, names), "without statements"), flush=True)
                began = time.process_time()
                told = peers.add_statements(kg, material, folder)
                seconds = time.process_time() - began
                print(f"{told.statements} statements of {told.documents} documents in {seconds:.0f} s of work")
                print(table(material, peers.by_retriever(kg, material, names), "with statements"))
    except KgPlatformError as error:
        print(f"benchmarks.given: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
