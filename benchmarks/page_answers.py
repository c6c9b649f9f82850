"""Forty questions over the three samples, asked as the Ask page does, without a model.

    kgplatform demo --folder demo --no-serve
    python -m benchmarks.page_answers demo

The questions of ``tests/data/pages40.jsonl`` were written from the sample files before any was asked. ``says`` are the
texts that a useful answer has (``|``: one of them), null where the samples do not say; ``rows``: how many rows, if that
is part of it. Printed for each: useful, declined rightly, declined wrongly, or wrong with the confidence that was said.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from pathlib import Path
from typing import Any

from kgplatform.graph import KnowledgeGraph
from kgplatform.server.access import Access
from kgplatform.server.app import create_app

QUESTIONS = Path(__file__).resolve().parents[1] / "tests" / "data" / "pages40.jsonl"


def judged(item: dict[str, Any], reply: dict[str, Any]) -> str:
    """What the reply of the API is worth."""
    answered = reply["verdict"] == "answered"
    if item["says"] is None:
        return f"wrong ({reply['confidence_level']})" if answered else "declined rightly"
    if not answered:
        return "declined wrongly"
    said = json.dumps([reply["answer"], reply["values"], reply["rows"]], ensure_ascii=False).casefold()
    has_all = all(any(form.casefold() in said for form in text.split("|")) for text in item["says"])
    right = has_all and item["rows"] in (0, len(reply["rows"]))
    return "useful" if right else f"wrong ({reply['confidence_level']})"


def main() -> int:
    """Prints each question with what came of it, and the sums."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="where the demo workspaces are")
    folder = parser.parse_args().folder
    items = [json.loads(line) for line in QUESTIONS.read_text(encoding="utf-8").splitlines()]
    counts: Counter[str] = Counter()
    for name in dict.fromkeys(item["workspace"] for item in items):
        with KnowledgeGraph.open(folder / name) as kg:
            client = create_app(kg, access=Access.on("127.0.0.1")).test_client()
            for item in (item for item in items if item["workspace"] == name):
                query = {"question": item["question"]}
                reply = client.get("/api/ask", query_string=query, headers={"Host": "127.0.0.1"}).get_json()
                verdict = judged(item, reply)
                counts[verdict] += 1
                print(f"{verdict:18} {item['question']}  →  {reply['answer'][:100]}", flush=True)
    good = counts["useful"] + counts["declined rightly"]
    print(dict(counts), f"useful or rightly declined: {good / len(items):.3f}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
