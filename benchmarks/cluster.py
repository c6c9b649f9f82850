"""Reading on a cluster: documents a second with 1, 2 and 4 workers and a model that takes 2 s to reply.

The model is a stub, so that the processors of one machine do not limit: what is measured is how well the waiting is
shared out. The first documents do not count: workers import what they need with them.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.common import Result
from kgplatform.graph import KnowledgeGraph

SECONDS = 2.0
NOTES, WARM = 80, 16


def measure() -> list[Result]:
    """Documents a second for each number of workers, how many times those of one worker, and how many graphs came."""
    with TemporaryDirectory() as place, stub_model() as url:
        notes = Path(place)
        for number in range(NOTES):
            (notes / f"{number}.txt").write_text(f"Inn number {number} is located in Wuzhen.", encoding="utf-8")
        read = {workers: added(notes, workers, url) for workers in (1, 2, 4)}
    rates = {workers: rate for workers, (rate, _) in read.items()}
    graphs = {graph for _, graph in read.values()}
    return [
        *(
            Result(f"documents a second, model of {SECONDS:g} s, {workers} workers", rate, "1/s", more_is_better=True)
            for workers, rate in rates.items()
        ),
        Result("4 workers in relation to 1", rates[4] / rates[1], "×", promise=3.5, more_is_better=True),
        Result("graphs that 1, 2 and 4 workers gave, times left out", len(graphs), "", promise=1),
    ]


def added(notes: Path, workers: int, url: str) -> tuple[float, frozenset[str]]:
    """Documents a second of a run with so many workers, and the graph that it gave, without times."""
    with TemporaryDirectory() as place:
        folder = Path(place) / "kg"
        KnowledgeGraph.create(folder, ontology="travel").close()
        with (folder / "kgplatform.toml").open("a", encoding="utf-8") as file:
            file.write(f'\n[model]\nname = "stub"\nurl = "{url}/v1"\nworkers = 1\n\n[extraction]\ngleaning = 0\n')
        with KnowledgeGraph.open(folder) as kg:
            moments = []
            for item in kg.add(notes, cluster=workers, build=False):
                assert not item.error, item.error
                moments.append(time.monotonic())
            graph = frozenset(str(quad) for quad in kg.store.quads() if "dateTime" not in str(quad.object))
        counted = moments[WARM - 1 :]
        return (len(counted) - 1) / (counted[-1] - counted[0]), graph


@contextmanager
def stub_model() -> Iterator[str]:
    """The address of a model that says after two seconds that nothing is there."""
    said = {"role": "assistant", "content": '{"mentions": [], "statements": [], "keywords": []}'}
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    body = {"id": "1", "object": "chat.completion", "created": 0, "model": "stub", "usage": usage}
    data = json.dumps({**body, "choices": [{"index": 0, "finish_reason": "stop", "message": said}]}).encode()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            time.sleep(SECONDS)
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            """Nothing on the terminal."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
