"""Hundreds of clients at once on a real server: chats, readers that are slow or leave, large batches."""

import asyncio
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path
from urllib.parse import quote, urlencode

import pytest
from interfaces import asked_workspace
from prometheus_client.parser import text_string_to_metric_families
from test_mcp import HEADERS, LIST, MODES, READ, connected
from test_operations import CALLS

pytestmark = pytest.mark.slow

CLIENTS = 200
QUESTION = json.dumps(
    {"messages": [{"role": "user", "content": "How many rooms does Lakeside Inn have?"}], "stream": True}
).encode()
WIDE = "SELECT ?a ?c ?d ?f { ?a ?b ?c . ?d ?e ?f }"
ENDLESS = quote("SELECT * { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i }")


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """The address of a server in a process of its own, and the process id."""
    folder = asked_workspace(tmp_path_factory.mktemp("many") / "kg")
    process = subprocess.Popen(
        [sys.executable, "-m", "kgplatform", "serve", "-w", str(folder), "--port", "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent)},
    )
    try:
        line = process.stdout.readline()
        address = f"127.0.0.1:{re.search(r':([0-9]+)/', line)[1]}"
        assert b"24" in chat(address)  # what the first question loads is no growth
        batch(address, ["Lakeside Inn"])
        yield address, process.pid
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=60) == 0
        assert "Traceback" not in process.stdout.read()
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def memory(pid, what="VmHWM"):
    return int(re.search(rf"{what}:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())[1]) * 1000


def open_files(pid):
    return sum(1 for _ in Path(f"/proc/{pid}/fd").iterdir())


def metric(address, name, **labels):
    families = text_string_to_metric_families(get(address, "/metrics")[1].decode())
    return sum(
        item.value for family in families for item in family.samples if (item.name, item.labels) == (name, labels)
    )


def get(address, path):
    with urllib.request.urlopen(f"http://{address}{path}", timeout=300) as response:
        return response.status, response.read()


def connect(address):
    host, port = address.split(":")
    return socket.create_connection((host, int(port)), timeout=300)


def asking(address):
    """A connection on which a chat was asked for."""
    connection = http.client.HTTPConnection(address, timeout=300)
    connection.request("POST", "/v1/chat/completions", QUESTION, {"Content-Type": "application/json"})
    return connection


def chat(address):
    connection = asking(address)
    try:
        return connection.getresponse().read()
    finally:
        connection.close()


def batch(address, names):
    queries = json.dumps({f"q{place}": {"query": name} for place, name in enumerate(names)})
    with urllib.request.urlopen(
        f"http://{address}/reconcile", urlencode({"queries": queries}).encode(), timeout=300
    ) as response:
        return json.loads(response.read())


def at_once(count, act):
    found, faults = [], []

    def run(number):
        try:
            found.append(act(number))
        except (OSError, http.client.HTTPException, AssertionError) as error:
            faults.append(repr(error))

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(400)
    assert faults == []
    return found


def settle(address, pid, files):
    """Waits until what clients left is cleared away."""
    deadline = time.monotonic() + 120
    while open_files(pid) > files + 10 or metric(address, "kgplatform_queries_running") > 0:
        assert time.monotonic() < deadline, open_files(pid)
        time.sleep(0.2)
    assert get(address, "/readyz")[0] == 200


def test_two_hundred_chats_at_once_are_all_answered_in_bounded_memory(served):
    address, pid = served
    before, files = memory(pid), open_files(pid)
    counted = metric(address, "kgplatform_requests_total", kind="chat", status="200")
    answers = at_once(CLIENTS, lambda _: chat(address))
    assert len(answers) == CLIENTS
    assert [answer for answer in answers if b"24" not in answer or not answer.endswith(b"data: [DONE]\n\n")] == []
    assert metric(address, "kgplatform_requests_total", kind="chat", status="200") - counted == CLIENTS
    assert memory(pid) - before < 100_000_000
    settle(address, pid, files)


def test_two_hundred_clients_of_tools_are_all_answered_in_bounded_memory_slow_readers_among_them(served):
    address, pid = served

    async def one(number):
        async with connected(f"http://{address}", mode=MODES[number % 2]) as client:
            found = await client.call_tool(*((name := READ[number % 6]), CALLS[name]))
            return found.is_error, found.content[0].text

    async def slow(held):
        """Asks for more than fits between the two ends, and reads none of it."""
        call = {"name": "query", "arguments": {"query": WIDE, "max_rows": 300}}
        body = json.dumps({**LIST, "method": "tools/call", "params": call})
        end = socket.socket()
        end.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        end.connect(("127.0.0.1", int(address.rpartition(":")[2])))
        reader, writer = await asyncio.open_connection(sock=end, limit=1024)
        fields = "".join(f"{name}: {value}\r\n" for name, value in HEADERS.items())
        head = f"POST /mcp HTTP/1.1\r\nHost: localhost\r\n{fields}Content-Type: application/json\r\n"
        writer.write(f"{head}Content-Length: {len(body)}\r\n\r\n{body}".encode())
        held.append((reader, writer))

    async def together(readers, clients):
        held = []
        await asyncio.gather(*(slow(held) for _ in range(readers)))
        found = await asyncio.gather(*(one(number) for number in range(clients)))
        for _, writer in held:
            writer.close()
        return found

    asyncio.run(together(8, 12))  # what the first ones load is no growth
    before, files = memory(pid), open_files(pid)
    found = asyncio.run(together(100, CLIENTS))
    assert [text for is_error, text in found if is_error] == []
    assert len(found) == CLIENTS
    assert memory(pid) - before < 100_000_000
    settle(address, pid, files)


def test_chats_that_are_left_or_not_read_hold_nobody_up(served):
    address, pid = served
    before, files = memory(pid), open_files(pid)
    stay = [asking(address) for _ in range(CLIENTS // 2)]  # these read nothing
    for number in range(CLIENTS // 2):
        gone = asking(address)
        if number % 2:
            gone.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")  # a reset, no farewell
        gone.close()
    assert b"24" in chat(address)
    assert get(address, "/healthz")[0] == 200
    for connection in stay:
        connection.close()
    assert memory(pid) - before < 100_000_000
    settle(address, pid, files)


def test_large_results_that_nobody_reads_take_bounded_memory_and_no_page_waits(served):
    address, pid = served
    before, files = memory(pid), open_files(pid)
    slow = []
    try:
        for number in range(40):
            slow.append(connect(address))
            host = "Host: 127.0.0.1\r\nX-Way: application\r\n" if number % 2 else "Host: 127.0.0.1\r\n"
            slow[-1].sendall(f"GET /sparql?timeout=20&query={ENDLESS} HTTP/1.1\r\n{host}\r\n".encode())
        for path in ("/healthz", "/readyz", "/about", "/documents"):
            assert get(address, path)[0] == 200
        assert b"24" in chat(address)
        assert memory(pid) - before < 100_000_000
    finally:
        for connection in slow:
            connection.close()
    settle(address, pid, files)


def test_ten_thousand_names_are_refused_at_once_and_matched_in_batches(served):
    address, pid = served
    before, files = memory(pid), open_files(pid)
    names = [
        f"{name} {number}" if number % 50 else name for number in range(5_000) for name in ("Lakeside Inn", "通安客栈")
    ]
    with pytest.raises(urllib.error.HTTPError) as refused:
        batch(address, names)
    with refused.value as response:
        assert response.code == 413
        assert b"at most 500" in response.read()
    found = at_once(20, lambda number: batch(address, names[500 * number : 500 * (number + 1)]))
    assert sum(map(len, found)) == 10_000
    matches = [item["result"][0] for answer in found for item in answer.values() if item["result"][0]["match"]]
    assert {item["name"] for item in matches} == {"Lakeside Inn", "通安客栈"}
    assert len(matches) >= 200
    assert memory(pid) - before < 100_000_000
    settle(address, pid, files)
