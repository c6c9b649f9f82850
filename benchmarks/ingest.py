"""How many documents a second are added by the built-in methods, once the models are loaded: embeddings and jieba's.

Everything that ``kgplatform add`` does counts: reading, cutting, extracting, committing, linking and the passage index.
The peer reads and cuts the same files and does nothing with them.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.common import EXAMPLES, Peer, Result, call_seconds, new_workspace
from kgplatform.documents.chunking import sliding_window
from kgplatform.documents.files import discover, read
from kgplatform.extraction.names import tag
from kgplatform.graph import DEFAULT_BASE, KnowledgeGraph

PROMISE = 10.0


def measure() -> list[Result]:
    """Documents per second of adding the sample notes, and of adding them again when nothing has changed."""
    notes = EXAMPLES / "travel"
    with new_workspace("travel") as folder, KnowledgeGraph.open(folder) as kg:
        kg.embedder.embed(["乌镇 Wuzhen"])
        tag("西栅门票150元。")
        count, seconds = _timed(lambda: sum(1 for _ in kg.add(notes)))
        again, unchanged_seconds = _timed(lambda: sum(1 for _ in kg.add(notes)))
    plain = count / call_seconds(lambda: _read(notes), runs=3)
    return [
        Result(
            f"add, {count} travel notes",
            count / seconds,
            unit="documents/s",
            promise=PROMISE,
            more_is_better=True,
            peer=Peer("reading and cutting alone", plain),
        ),
        Result("add, again with nothing new", again / unchanged_seconds, unit="documents/s"),
    ]


def _timed(call: Callable[[], int]) -> tuple[int, float]:
    began = time.perf_counter()
    result = call()
    return result, time.perf_counter() - began


def _read(folder: Path) -> int:
    found = (document for path in discover([folder]).files for document in read(path, base=DEFAULT_BASE))
    return sum(len(sliding_window(document)) for document in found)
