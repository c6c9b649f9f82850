"""What the interfaces for programs cost beside the plain HTTP API, for each of the six operations.

One server over two sentences: tools at ``/mcp``, chat at ``/v1/chat/completions``, each on a connection that is kept
open, and the command line, which has the server answer and is a new process each time. Python works on a copy of the
workspace in this process; of the schema it has no call but an attribute. The calls go by turns, a time is the median.
"""

from __future__ import annotations

import http.client
import json
import shutil
import subprocess
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from benchmarks.common import Peer, Result, kgplatform
from benchmarks.endpoint import free_port, running
from kgplatform.graph import KnowledgeGraph

ROUNDS, PROCESSES, UNCOUNTED = 20, 5, 3
"""How often each is called, how often as a process, and how often before that, to load what is needed."""
QUESTION = "How many rooms does Lakeside Inn have?"
QUERY = "SELECT ?inn ?rooms { ?inn travel:roomCount ?rooms }"
STATEMENT = ("Lakeside Inn", "travel:roomCount", "24")
CALLS: dict[str, dict[str, str]] = {
    "ask": {"question": QUESTION},
    "search": {"text": "Lakeside Inn rooms"},
    "query": {"query": QUERY},
    "describe": {"name": "Lakeside Inn"},
    "why": dict(zip(("subject", "predicate", "object"), STATEMENT, strict=True)),
    "schema": {},
}
COMMANDS = {
    "ask": ("ask", QUESTION),
    "search": ("search", "Lakeside Inn rooms"),
    "query": ("query", "-e", QUERY),
    "describe": ("show", "Lakeside Inn"),
    "why": ("why", *STATEMENT),
    "schema": ("ontology", "tree", "--format", "json"),
}
_MOST_TIMES = 1.2


def _holds(data: bytes) -> None:
    assert b"24" in data or b"roomCount" in data, data[:300]


def _post(link: http.client.HTTPConnection, path: str, record: object, **fields: str) -> None:
    link.request("POST", path, json.dumps(record), {"Content-Type": "application/json", **fields})
    reply = link.getresponse()
    data = reply.read()
    assert reply.status == 200, data[:300]
    _holds(data)


def _plain(link: http.client.HTTPConnection, name: str) -> None:
    if name != "query":
        _post(link, f"/api/{name}", CALLS[name])
        return
    fields = {"Content-Type": "application/sparql-query", "Accept": "application/sparql-results+json"}
    link.request("POST", "/sparql", QUERY, fields)
    _holds(link.getresponse().read())


def _tool(link: http.client.HTTPConnection, name: str) -> None:
    version = "2026-07-28"
    meta = {
        "io.modelcontextprotocol/protocolVersion": version,
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    record = {
        **{"jsonrpc": "2.0", "id": 1, "method": "tools/call"},
        "params": {"name": name, "arguments": CALLS[name], "_meta": meta},
    }
    fields = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": version}
    _post(link, "/mcp", record, **fields, **{"Mcp-Method": "tools/call", "Mcp-Name": name})


def _chat(link: http.client.HTTPConnection) -> None:
    messages = [{"role": "user", "content": QUESTION}]
    _post(link, "/v1/chat/completions", {"model": "kgplatform", "messages": messages})


def _command(workspace: Path, name: str) -> None:
    ran = subprocess.run(kgplatform(*COMMANDS[name], "-w", workspace), capture_output=True, check=True)
    _holds(ran.stdout)


def _by_turns(calls: dict[str, Callable[[], object]]) -> dict[str, float]:
    taken: dict[str, list[float]] = {name: [] for name in calls}
    for number in range(ROUNDS + UNCOUNTED):
        for name, call in calls.items():
            if name.startswith("command") and not UNCOUNTED <= number < PROCESSES + UNCOUNTED:
                continue
            started = time.perf_counter()
            call()
            if number >= UNCOUNTED:
                taken[name].append(time.perf_counter() - started)
    return {name: median(times) for name, times in taken.items()}


def _doors(link: http.client.HTTPConnection, kg: KnowledgeGraph, workspace: Path) -> dict[str, Callable[[], object]]:
    """What is called, by door and operation; those of one operation one after the other."""
    python: dict[str, Callable[[], object]] = {
        "ask": partial(kg.ask, QUESTION),
        "search": partial(kg.search, CALLS["search"]["text"]),
        "query": partial(kg.query, QUERY),
        "describe": partial(kg.show, "Lakeside Inn"),
        "why": partial(kg.why, *STATEMENT),
    }
    found: dict[str, Callable[[], object]] = {}
    for name in CALLS:
        found[f"api {name}"] = partial(_plain, link, name)
        found[f"mcp {name}"] = partial(_tool, link, name)
        if name == "ask":
            found["chat ask"] = partial(_chat, link)
        if name in python:
            found[f"python {name}"] = python[name]
        found[f"command {name}"] = partial(_command, workspace, name)
    return found


def measure() -> list[Result]:
    """The median of each interface, with the plain HTTP API as peer, and their ratio."""
    with TemporaryDirectory() as folder:
        file = Path(folder) / "inn.txt"
        file.write_text("Lakeside Inn is a hotel in Wuzhen. It has 24 rooms.", encoding="utf-8")
        workspace, copy = Path(folder) / "kg", Path(folder) / "copy"
        with KnowledgeGraph.create(workspace, ontology="travel") as kg:
            list(kg.add(file))
        shutil.copytree(workspace, copy)
        port = free_port()
        command = kgplatform("serve", "-w", workspace, "--port", str(port))
        with running("kgplatform", command, port, "/sparql"), KnowledgeGraph.open(copy) as kg:
            link = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
            found = _by_turns(_doors(link, kg, workspace))
    results = []
    for name, taken in found.items():
        plain = found[f"api {name.split()[1]}"]
        if name.startswith("api"):
            continue
        results.append(Result(f"{name}: median", taken, peer=Peer("the plain HTTP API", plain)))
        promise = _MOST_TIMES if name.startswith(("mcp", "chat")) else None
        results.append(Result(f"{name}: times the plain HTTP API", taken / plain, "", promise=promise))
    return results
