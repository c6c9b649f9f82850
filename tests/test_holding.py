"""Commands for a workspace that another process holds: carried out there, as if here; and what a kill leaves."""

import json
import os
import re
import signal
import socket
import stat
import subprocess
import sys
import time
import urllib.error
import urllib.request
from contextlib import contextmanager
from pathlib import Path

import pytest

from kgplatform.graph import KnowledgeGraph

ROOT = Path(__file__).resolve().parents[1]
CODE = """
import sys
from kgplatform.graph import KnowledgeGraph
from kgplatform.models.stubs import HashEmbedder
from kgplatform.workspace.workspace import Workspace
Workspace.embedder = HashEmbedder()
from kgplatform.cli.main import main
sys.exit(main(sys.argv[1:]))
"""

JOINED = "?a ?b ?c . ?d ?e ?f . ?g ?h ?i . FILTER(CONCAT(STR(?c), STR(?f), STR(?i)) = 'x')"
ENDLESS = f"SELECT (COUNT(*) AS ?n) {{ {JOINED} }}"


def started(*words, cwd, stdin=None):
    return subprocess.Popen(
        [sys.executable, "-c", CODE, *words],
        cwd=cwd,
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"},
        preexec_fn=lambda: signal.signal(
            signal.SIGINT, signal.SIG_DFL
        ),  # ignored where a shell runs us in the background
    )


def ran(*words, cwd, given=None):
    process = started(*words, cwd=cwd, stdin=subprocess.PIPE)
    out, err = process.communicate(given.encode() if given else None, timeout=60)
    return process.returncode, out.decode(), err.decode()


@contextmanager
def serving(workspace):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    process = started("serve", "-w", str(workspace), "--port", str(port), cwd=workspace.parent)
    assert process.stdout is not None
    assert process.stderr is not None
    try:
        line = process.stdout.readline().decode()
        assert f":{port}/" in line, process.stderr.read()
        yield f"http://127.0.0.1:{port}", process
    finally:
        process.kill()
        process.communicate()


def new_workspace(folder):
    KnowledgeGraph.create(folder, ontology="travel").close()
    return folder


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    workspace = new_workspace(tmp_path_factory.mktemp("held") / "kg")
    with serving(workspace) as (address, process):
        yield workspace, address
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=30) == 0
        assert process.stderr is not None
        assert b"Traceback" not in process.stderr.read()
        assert not (workspace / "holder.json").exists()


def test_commands_read_and_write_a_workspace_that_is_being_served(served, tmp_path):
    workspace, address = served
    (tmp_path / "笔记.txt").write_text("The Lantern Inn is a hotel in Wuzhen. It has 12 rooms.", encoding="utf-8")
    status, out, err = ran("add", "笔记.txt", "-w", str(workspace), cwd=tmp_path)
    assert (status, err.strip()) == (0, "1 added")
    assert out.startswith("added")
    assert "笔记" in out
    assert ran("update", "-w", str(workspace), "-e", 'INSERT DATA { kg:x rdfs:label "石"@zh }', cwd=tmp_path)[0] == 0
    asked = "SELECT ?l { kg:x rdfs:label ?l }"
    status, out, _ = ran("query", "-", "-w", str(workspace), "--format", "csv", cwd=tmp_path, given=asked)
    assert (status, out.split()) == (0, ["l", "石"])
    table = ran("query", "-w", str(workspace), "-e", asked, cwd=tmp_path)[1]
    assert table.splitlines()[-1] == "石"
    with urllib.request.urlopen(f"{address}/sparql?query=ASK%7Bkg%3Ax%20%3Fp%20%3Fo%7D&format=csv", timeout=20) as page:
        assert page.read().strip() == b"true"


@pytest.mark.slow
def test_files_are_read_and_written_where_the_command_was_given_and_errors_come_back(served, tmp_path):
    workspace, _ = served
    here = tmp_path / "here"
    here.mkdir()
    status, _, err = ran("dump", "all.nq", "-w", os.path.relpath(workspace, here), cwd=here)
    assert status == 0, err
    assert (here / "all.nq").stat().st_size > 1000
    (here / "mine.ttl").write_text("<urn:a> <urn:b> <urn:c> .")
    status, out, _ = ran("load", "mine.ttl", "-w", str(workspace), cwd=here)
    assert (status, out) == (0, "mine.ttl: 1 statements read, 2 quads new\n")
    status, _, err = ran("query", "-w", str(workspace), "-e", "SELECT * { ?s ?p }", cwd=tmp_path)
    assert (status, "1 | SELECT" in err) == (1, True)
    status, _, err = ran("dump", "-w", str(workspace), "--format", "turtel", cwd=tmp_path)
    assert (status, "did you mean turtle?" in err) == (2, True)
    assert ran("load", "nothing.ttl", "-w", str(workspace), cwd=tmp_path)[0] == 1


@pytest.mark.slow
def test_many_commands_at_once_are_all_carried_out(served, tmp_path):
    update = ["update", "-w", str(served[0]), "-e"]
    inserts = [f'INSERT DATA {{ kg:many rdfs:label "{number}" }}' for number in range(5)]
    processes = [started(*update, text, cwd=tmp_path) for text in inserts]
    said = [process.communicate(timeout=120) for process in processes]
    assert [process.returncode for process in processes] == [0] * 5, said
    count = "SELECT (COUNT(*) AS ?n) { kg:many ?p ?o }"
    assert ran("query", "-w", str(served[0]), "-e", count, "--format", "csv", cwd=tmp_path)[1].split()[1] == "5"


def test_a_query_ends_with_the_command_that_asked_it(served, tmp_path):
    workspace, address = served
    process = started("query", "-w", str(workspace), "-e", ENDLESS, cwd=tmp_path)

    def running():
        with urllib.request.urlopen(f"{address}/api/queries", timeout=20) as page:
            queries = json.loads(page.read())["queries"]  # some are the server's own
            return [item for item in queries if item["text"] == ENDLESS]

    deadline = time.monotonic() + 40
    while not running():
        assert time.monotonic() < deadline
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=20)
    assert process.returncode == 1
    while running():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_the_way_in_is_for_the_owner_of_the_workspace_only(served):
    workspace, _ = served
    path = workspace / "holder.json"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    port = json.loads(path.read_text())["port"]
    for secret in ("", "0" * 64, "GET / HTTP/1.1"):
        with socket.create_connection(("127.0.0.1", port), timeout=10) as link:
            link.sendall(
                f'{secret}\n{{"words": ["dump"], "folder": "/", "input": "", "is_terminal": false}}\n'.encode()
            )
            link.settimeout(10)
            with pytest.raises((ConnectionError, AssertionError)):
                assert link.recv(10)


@pytest.mark.slow
def test_a_command_waits_while_another_writes_and_reads_meanwhile(tmp_path):
    workspace = new_workspace(tmp_path / "kg")
    (tmp_path / "notes").mkdir()
    for number in range(40):
        text = f"The Garden {number} Hotel is a hotel in Wuzhen. It has {number + 3} rooms.\n" * 5
        (tmp_path / "notes" / f"{number}.txt").write_text(text)
    adding = started("add", "notes", "-w", "kg", cwd=tmp_path)
    assert adding.stdout is not None
    adding.stdout.readline()
    status, out, _ = ran("query", "-w", "kg", "-e", "ASK {}", cwd=tmp_path)
    assert (status, out) == (0, "yes\n")
    status, out, err = ran("update", "-w", "kg", "-e", "INSERT DATA { kg:a kg:b kg:c }", cwd=tmp_path)
    assert status == 0, err
    adding.communicate(timeout=60)
    assert adding.returncode == 0
    assert not (workspace / "holder.json").exists()


def test_commands_that_read_run_side_by_side_and_one_that_writes_waits_for_them(tmp_path):
    workspace = new_workspace(tmp_path / "kg")
    first = started("query", "-w", "kg", "-e", ENDLESS, cwd=tmp_path)
    deadline = time.monotonic() + 60
    while not (workspace / "holder.json").exists():
        assert time.monotonic() < deadline
        time.sleep(0.05)
    writer = started("update", "-w", "kg", "-e", "INSERT DATA { kg:a kg:b kg:c }", cwd=tmp_path)
    second = started("ask", "Which hotels are there?", "-w", "kg", cwd=tmp_path)
    assert ran("query", "-w", "kg", "-e", "ASK {}", cwd=tmp_path) == (0, "yes\n", "")
    out, err = second.communicate(timeout=60)
    assert (second.returncode, b"Question" in out, err) == (1, True, b"")
    assert writer.stderr is not None
    assert writer.stderr.readline().startswith(b"waits for `kgplatform query`")
    assert (first.poll(), writer.poll()) == (None, None)
    first.kill()
    first.communicate()
    writer.communicate(timeout=60)
    assert writer.returncode == 0


@pytest.mark.slow
def test_a_server_that_is_killed_loses_nothing_it_acknowledged(tmp_path):
    workspace = new_workspace(tmp_path / "kg")
    acknowledged = []
    for round_ in range(3):
        with serving(workspace) as (address, process):
            for number in range(round_ * 100, round_ * 100 + 12 + 7 * round_):
                body = f"INSERT DATA {{ <urn:n{number}> <urn:is> {number} }}".encode()
                request = urllib.request.Request(
                    f"{address}/sparql", data=body, headers={"Content-Type": "application/sparql-update"}
                )
                with urllib.request.urlopen(request, timeout=20) as response:
                    assert response.status == 204
                acknowledged.append(number)
            left = (workspace / "holder.json").read_text()
            waiting = started("update", "-w", "kg", "-e", f"INSERT DATA {{ kg:r kg:n {round_} }}", cwd=tmp_path)
            time.sleep(0.02 * round_)
            process.send_signal(signal.SIGKILL)
            waiting.communicate(timeout=60)
        (workspace / "holder.json").write_text(left)  # what a killed process leaves stops nobody
        (workspace / "holder.json").chmod(0o600)
    status, out, _ = ran("query", "-w", "kg", "-e", "SELECT ?n { ?s <urn:is> ?n }", "--format", "csv", cwd=tmp_path)
    assert status == 0
    assert sorted(map(int, out.split()[1:])) == acknowledged
    with KnowledgeGraph.open(workspace) as kg:
        assert kg.dataset.violations() == (frozenset(), frozenset())


@pytest.mark.slow
def test_a_worker_that_is_killed_costs_one_answer_at_most(tmp_path):
    workspace = new_workspace(tmp_path / "kg")
    with serving(workspace) as (address, process):

        def asks():
            try:
                with urllib.request.urlopen(f"{address}/sparql?query=ASK%7B%7D", timeout=20) as page:
                    return int(page.status)
            except urllib.error.HTTPError as error:
                with error:
                    return error.code

        for _ in range(3):
            assert asks() == 200
            listed = subprocess.run(["ps", "--ppid", str(process.pid), "-o", "pid="], capture_output=True, text=True)
            workers = [int(number) for number in re.findall(r"\d+", listed.stdout)]
            assert workers
            for worker in workers:
                os.kill(worker, signal.SIGKILL)
            statuses = [asks() for _ in range(len(workers) + 2)]
            assert statuses.count(200) >= 2, statuses
            assert set(statuses) <= {200, 400}
