"""What the interfaces for programs cost beside the plain HTTP API: tools at ``/mcp``, chat at ``/v1/chat/completions``.

One server over two sentences, one connection a client, kept open; the calls go by turns, and a time is the median.
"""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from benchmarks.common import Peer, Result, kgplatform
from benchmarks.endpoint import free_port, running
from kgplatform.graph import KnowledgeGraph

ROUNDS = 40
QUESTION = "How many rooms does Lakeside Inn have?"
_MOST_TIMES = 1.2
_CALLS = {"describe": {"name": "Lakeside Inn"}, "ask": {"question": QUESTION}}


def _post(link: http.client.HTTPConnection, path: str, record: object, **fields: str) -> None:
    link.request("POST", path, json.dumps(record), {"Content-Type": "application/json", **fields})
    reply = link.getresponse()
    data = reply.read()
    assert reply.status == 200, data[:300]
    assert b"24" in data, data[:300]


def _tool(link: http.client.HTTPConnection, name: str) -> None:
    version = "2026-07-28"
    meta = {
        "io.modelcontextprotocol/protocolVersion": version,
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    record = {
        **{"jsonrpc": "2.0", "id": 1, "method": "tools/call"},
        "params": {"name": name, "arguments": _CALLS[name], "_meta": meta},
    }
    fields = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": version}
    _post(link, "/mcp", record, **fields, **{"Mcp-Method": "tools/call", "Mcp-Name": name})


def _chat(link: http.client.HTTPConnection) -> None:
    messages = [{"role": "user", "content": QUESTION}]
    _post(link, "/v1/chat/completions", {"model": "kgplatform", "messages": messages})


def _by_turns(calls: dict[str, Callable[[], None]]) -> dict[str, float]:
    taken: dict[str, list[float]] = {name: [] for name in calls}
    for number in range(ROUNDS + 3):
        for name, call in calls.items():
            started = time.perf_counter()
            call()
            if number >= 3:  # the first ones load what is needed
                taken[name].append(time.perf_counter() - started)
    return {name: median(times) for name, times in taken.items()}


def measure() -> list[Result]:
    """The median of each interface, with the plain HTTP API as peer, and their ratio."""
    with TemporaryDirectory() as folder:
        file = Path(folder) / "inn.txt"
        file.write_text("Lakeside Inn is a hotel in Wuzhen. It has 24 rooms.", encoding="utf-8")
        workspace = Path(folder) / "kg"
        with KnowledgeGraph.create(workspace, ontology="travel") as kg:
            list(kg.add(file))
        port = free_port()
        command = kgplatform("serve", "-w", workspace, "--port", str(port))
        with running("kgplatform", command, port, "/sparql"):
            link = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
            found = _by_turns(
                {
                    "api describe": lambda: _post(link, "/api/describe", _CALLS["describe"]),
                    "mcp describe": lambda: _tool(link, "describe"),
                    "api ask": lambda: _post(link, "/api/ask", _CALLS["ask"]),
                    "mcp ask": lambda: _tool(link, "ask"),
                    "chat ask": lambda: _chat(link),
                }
            )
    results = []
    for name in ("mcp describe", "mcp ask", "chat ask"):
        plain = found[f"api {name.split()[1]}"]
        results.append(Result(f"{name}: median", found[name], peer=Peer("the plain HTTP API", plain)))
        promise = _MOST_TIMES if name.endswith("ask") else None
        results.append(Result(f"{name}: times the plain HTTP API", found[name] / plain, "", promise=promise))
    return results
