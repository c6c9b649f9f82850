"""Nodes on one journal, each a server of its own process, for tests and benchmarks."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, urlsplit

from kgplatform.cluster.backup import back_up, move, restore
from kgplatform.graph import KnowledgeGraph
from kgplatform.journal.patch import Journal, commits, digests, net, whole_digest
from kgplatform.store.oxigraph import Store

EX = "https://example.org/"
UPDATE = {"Content-Type": "application/sparql-update"}


def digest(store: Store) -> str:
    return whole_digest(digests(store))


def replayed(journal: Journal, last: int | None = None) -> Store:
    """The graph that a consumer makes from the patches alone, up to one of them."""
    store = Store.open()
    for group in commits(journal.patches(0, limit=last)):
        store.replay(*net(group), version=group[-1].number)
    return store


def journaled(folder: Path, ontology: str = "") -> KnowledgeGraph:
    KnowledgeGraph.create(folder, ontology=ontology or (), base=EX).close()
    path = folder / "kgplatform.toml"
    path.write_text(f"journal = true\n{path.read_text(encoding='utf-8')}", encoding="utf-8")
    return KnowledgeGraph.open(folder)


@dataclass
class Served:
    process: subprocess.Popen[str]
    url: str

    def ask(
        self,
        method: str,
        path: str,
        body: str | None = None,
        headers: dict[str, str] | None = None,
        seconds: float = 120.0,
    ) -> tuple[int, str, dict[str, str]]:
        where = urlsplit(self.url)
        link = http.client.HTTPConnection(where.hostname or "", where.port, timeout=seconds)
        with closing(link):
            link.request(method, path, body.encode() if body else None, headers or {})
            response = link.getresponse()
            return response.status, response.read().decode(), dict(response.getheaders())

    def has(self, name: str, headers: dict[str, str] | None = None) -> bool:
        query = quote(f"ASK {{ <{EX}{name}> ?p ?o }}")
        status, text, _ = self.ask("GET", f"/sparql?query={query}", None, headers)
        assert status == 200, text
        return bool(json.loads(text)["boolean"])

    def send(self, texts: dict[str, str]) -> None:
        """Sends texts as files, as the form of the Documents page does."""
        parts = [
            f'--part\r\nContent-Disposition: form-data; name="files"; filename="{name}"\r\n\r\n{text}\r\n'
            for name, text in texts.items()
        ]
        kind = {"Content-Type": "multipart/form-data; boundary=part"}
        status, text, _ = self.ask("POST", "/documents", f"{''.join(parts)}--part--\r\n", kind)
        assert status == 303, text

    def write(self, name: str) -> str:
        status, text, headers = self.ask("POST", "/sparql", f"INSERT DATA {{ <{EX}{name}> <{EX}p> 1 }}", UPDATE)
        assert status < 300, text
        return headers["Kgplatform-Patch"]


@contextmanager
def served(folder: Path, *how: str) -> Iterator[Served]:
    code = (
        "import sys; from kgplatform.journal import postgres_journal; postgres_journal.LEASE_SECONDS = 3.0\n"
        "from kgplatform.cli.main import main; sys.exit(main(sys.argv[1:]))"
    )
    command = [sys.executable, "-c", code, "serve", "-w", str(folder), "--port", "0", *how]
    root = Path(__file__).parents[1]
    with (folder.parent / f"{folder.name}.log").open("w") as log:
        process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            cwd=root,
            env={**os.environ, "PYTHONPATH": str(root)},
        )
    assert process.stdout is not None
    try:
        line = process.stdout.readline()
        match = re.search(r"http://127\.0\.0\.1:\d+", line)
        assert match, line + (folder.parent / f"{folder.name}.log").read_text()
        yield Served(process, match.group())
    finally:
        process.send_signal(signal.SIGCONT)
        process.terminate()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()


def cluster(folder: Path, url: str, *names: str, ontology: str = "") -> None:
    """A workspace whose journal is in the database, and others that are to follow it."""
    with journaled(folder / "leader", ontology) as kg:
        kg.update(f"INSERT DATA {{ <{EX}first> <{EX}p> '西栅'@zh }}")
        move(kg.workspace, url)
        back_up(kg.workspace, str(folder / "backup"))
    for name in names:
        restore(str(folder / "backup"), folder / name, follows=True)


def is_followed(folder: Path, *engines: str) -> None:
    """Has the nodes of the folder send what they write to engines, each named as in the settings."""
    for path in folder.glob("*/kgplatform.toml"):
        text = path.read_text(encoding="utf-8")
        line = f"followers = {json.dumps(engines)}"
        path.write_text(text.replace("[cluster]\n", f"[cluster]\n{line}\n"), encoding="utf-8")


def until(true: Callable[[], bool], seconds: float = 30.0) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end
        time.sleep(0.1)
