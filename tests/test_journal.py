"""The journal: every commit a patch, from which the same graph and registry can be made again anywhere."""

from __future__ import annotations

import http.client
import json
import os
import re
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from urllib.parse import urlencode
from urllib.request import urlopen

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyoxigraph import BlankNode, Literal, NamedNode, Quad, Triple

from kgplatform.cli.main import main
from kgplatform.cluster import backup
from kgplatform.cluster.backup import back_up, move, restore
from kgplatform.documents.registry import Registry
from kgplatform.errors import NotFoundError, StoreError, WorkspaceError
from kgplatform.graph import KnowledgeGraph
from kgplatform.journal import postgres_journal
from kgplatform.journal.patch import Draft, FencedError, Journal, UnseenError, commits, digests, net, whole_digest
from kgplatform.journal.postgres_journal import PostgresJournal
from kgplatform.journal.recorder import Recorder
from kgplatform.journal.sqlite_journal import SqliteJournal
from kgplatform.store import pgvector
from kgplatform.store.dataset import Change, EvidenceDataset
from kgplatform.store.oxigraph import Store
from kgplatform.store.updates import carry_out
from tests.nodes import EX, digest, journaled, replayed
from tests.postgres_server import CutLine, PostgresServer, postgres_server

P = NamedNode(f"{EX}p")


def triple(number: int) -> Triple:
    return Triple(NamedNode(f"{EX}s{number}"), P, Literal(number))


def chunk(name: str) -> NamedNode:
    return NamedNode(f"{EX}document/{name}/chunk/1")


class Node:
    """A store and a registry in a folder, written through a journal."""

    def __init__(self, folder: Path, journal: Journal | None = None) -> None:
        folder.mkdir(exist_ok=True)
        self.folder = folder
        self.store, self.registry = Store.open(folder / "store"), Registry(folder / "documents.sqlite")
        self.journal = journal or SqliteJournal(folder / "journal.sqlite")
        self.recorder = Recorder(self.journal, self.store, self.registry.changed_rows, folder / "journal.mark")
        try:
            self.recorder.begin()
        except BaseException:
            self.close()
            raise
        self.dataset = EvidenceDataset(self.store, EX)

    def close(self) -> None:
        self.store.close()
        self.registry.close()
        self.journal.close()


def rows(path: Path) -> dict[str, list[tuple[object, ...]]]:
    """What the registry holds, runs and what belongs to the journal left out."""
    with sqlite3.connect(path) as db:
        names = [row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type='table'")]
        own = ("run", "sqlite_", "outgoing", "journaled", "pending")
        kept = [n for n in names if not n.startswith(own)]
        return {name: sorted(db.execute(f"SELECT * FROM {name}").fetchall(), key=repr) for name in kept}


@pytest.fixture(scope="module")
def database() -> Iterator[PostgresServer]:
    with postgres_server() as server:
        yield server


def test_patches_alone_make_the_graph_and_the_registry_again(tmp_path: Path) -> None:
    texts = tmp_path / "notes"
    texts.mkdir()
    (texts / "one.txt").write_text("Xizha is a scenic area in Wuzhen. 西栅位于乌镇。", encoding="utf-8")
    (texts / "two.txt").write_text("Hotel Lotus is in Wuzhen.", encoding="utf-8")
    KnowledgeGraph.create(tmp_path / "w", ontology=["travel"], base=EX).close()
    path = tmp_path / "w" / "kgplatform.toml"
    path.write_text(f"journal = true\n{path.read_text(encoding='utf-8')}", encoding="utf-8")
    with KnowledgeGraph.open(tmp_path / "w") as kg:
        assert all(added.outcome == "added" for added in kg.add(texts))
        (texts / "two.txt").write_text("Hotel Lotus is a hotel in Xizha.", encoding="utf-8")
        list(kg.add(texts))
        kg.remove("one.txt")
        found = digests(kg.store)
        assert kg.dataset.violations() == (frozenset(), frozenset())
        back_up(kg.workspace, str(tmp_path / "backup"))
    made = restore(str(tmp_path / "backup"), tmp_path / "again")
    assert made.digest == whole_digest(found)
    assert rows(tmp_path / "again" / "documents.sqlite") == rows(tmp_path / "w" / "documents.sqlite")
    with KnowledgeGraph.open(tmp_path / "again") as kg:
        assert digests(kg.store) == found
        assert [Path(record.document.source).name for record in kg.documents()] == ["two.txt"]


ACTION = st.tuples(
    st.sampled_from(["add", "remove", "state", "reject", "put", "drop", "update", "clear", "blank"]),
    st.integers(0, 3),
    st.lists(st.integers(0, 5), max_size=4),
)


def act(node: Node | KnowledgeGraph, name: str, place: int, numbers: list[int]) -> None:
    data, triples = node.dataset, [triple(n) for n in numbers]
    foreign = NamedNode(f"{EX}foreign{place}")
    if name == "add":
        data.commit(Change(dropped=(chunk(str(place)),), added={chunk(str(place)): triples}))
    elif name == "remove":
        data.commit(Change(dropped=(chunk(str(place)),)))
    elif name == "state":
        data.state(triples)
    elif name == "reject":
        data.reject(triples)
    elif name == "put":
        data.write((), added=[Quad(t.subject, t.predicate, t.object, foreign) for t in triples])
    elif name == "drop":
        data.write((), dropped=[foreign])
    elif name == "blank":
        data.write((), added=[Quad(BlankNode(f"b{n}"), P, Literal("x"), foreign) for n in numbers])
    elif name == "update":
        text = f"DELETE {{ ?s ?p ?o }} INSERT {{ ?s <{EX}q> 01 . GRAPH <{EX}u> {{ ?s ?p [] }} }} WHERE {{ ?s ?p ?o }}"
        carry_out(data, text, marker=node.folder / "update.pending")
    else:
        carry_out(data, f"CLEAR SILENT GRAPH {foreign}", marker=node.folder / "update.pending")


@pytest.mark.slow
@settings(deadline=None, max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(actions=st.lists(ACTION, max_size=8))
def test_every_number_shows_a_graph_that_keeps_the_law(
    actions: list[tuple[str, int, list[int]]], tmp_path: Path
) -> None:
    with closing(Node(Path(tempfile.mkdtemp(dir=tmp_path)))) as node:
        keeps_the_law(node, actions)


def test_a_session_shows_a_graph_that_keeps_the_law_at_every_number(tmp_path: Path) -> None:
    with closing(Node(tmp_path / "n")) as node:
        keeps_the_law(
            node, [("add", 1, [1, 2]), ("reject", 0, [1]), ("blank", 0, [3]), ("update", 0, []), ("drop", 0, [])]
        )


def keeps_the_law(node: Node, actions: list[tuple[str, int, list[int]]]) -> None:
    seen = {node.journal.newest: digest(node.store)}
    for action in actions:
        act(node, *action)
        seen[node.journal.newest] = digest(node.store)
        assert node.store.version == node.journal.newest
    follower = Store.open()
    for group in commits(node.journal.patches(0)):
        for _ in range(2):  # applying the last ones once more changes nothing
            follower.replay(*net(group), version=group[-1].number)
        assert EvidenceDataset(follower, EX).violations() == (frozenset(), frozenset())
        if group[-1].number in seen:
            assert digest(follower) == seen[group[-1].number]
    assert digest(follower) == digest(node.store)


OPENING = """
import os, sys
from pathlib import Path
from pyoxigraph import Literal, NamedNode, Quad
from kgplatform.store import oxigraph
from tests.test_journal import Node, chunk, triple
from kgplatform.store.dataset import Change

folder, where, after = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
"""


@pytest.mark.slow
def test_a_full_disk_refuses_a_commit_whole(tmp_path: Path) -> None:
    text = (
        OPENING
        + """
import resource
node = Node(folder)
node.dataset.commit(Change(added={chunk("a"): [triple(1)]}))
resource.setrlimit(resource.RLIMIT_FSIZE, (after, after))
import signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
from kgplatform.errors import StoreError
try:
    for n in range(2000):
        node.dataset.commit(Change(added={chunk(f"d{n}"): [triple(n * 20 + k) for k in range(20)]}))
        print(n, flush=True)
except StoreError as error:
    print("refused", len(str(error).splitlines()), flush=True)
os._exit(0)
"""
    )
    command = [sys.executable, "-c", text, str(tmp_path / "n"), "", "400000"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=Path(__file__).parents[1])
    *acknowledged, told, count = done.stdout.split()
    assert (told, count) == ("refused", "1"), done.stdout[-300:]
    node = Node(tmp_path / "n")
    assert digest(replayed(node.journal)) == digest(node.store)
    assert all(node.store.has(triple(int(n) * 20), chunk(f"d{n}")) for n in acknowledged)
    assert node.dataset.violations() == (frozenset(), frozenset())
    node.close()


def test_what_no_longer_belongs_together_is_told_in_one_line(tmp_path: Path) -> None:
    node = Node(tmp_path / "n")
    node.dataset.state([triple(1)])
    node.close()
    (tmp_path / "n" / "journal.mark").write_text(json.dumps({"journal": "another", "number": 1}))
    node.store, node.registry = Store.open(tmp_path / "n" / "store"), Registry(tmp_path / "n" / "documents.sqlite")
    journal = SqliteJournal(tmp_path / "n" / "journal.sqlite")
    recorder = Recorder(journal, node.store, node.registry.changed_rows, tmp_path / "n" / "journal.mark")
    with pytest.raises(WorkspaceError, match="is not the one that this workspace was written with"):
        recorder.begin()
    node.store.close()
    node.registry.close()
    journal.close()


def test_a_backup_under_load_is_restored_as_of_any_number(tmp_path: Path) -> None:
    source, place = tmp_path / "w", str(tmp_path / "backup")
    seen: dict[int, str] = {}
    with journaled(source) as kg:
        for n in range(4):
            kg.update(f"INSERT DATA {{ <{EX}s{n}> <{EX}p> {n}, '西栅'@zh }}")
            seen[kg.store.version] = digest(kg.store)
            made = back_up(kg.workspace, place)
        assert made.patches < 4
        kg.update(f"DELETE WHERE {{ <{EX}s0> ?p ?o }}")
        back_up(kg.workspace, place)
        seen[kg.store.version] = digest(kg.store)
    shutil.rmtree(source)
    for number, expected in seen.items():
        restored = restore(place, tmp_path / f"at{number}", at=str(number))
        assert (restored.number, restored.digest) == (number, expected)
    with pytest.raises(WorkspaceError, match="not empty"):
        restore(place, tmp_path / f"at{number}")
    with pytest.raises(NotFoundError, match="nothing is kept of 1999-01-01"):
        restore(place, tmp_path / "no", at="1999-01-01")
    with pytest.raises(NotFoundError, match="no backup is there"):
        restore(str(tmp_path / "nowhere"), tmp_path / "no")
    segment = next((tmp_path / "backup" / "patches").iterdir())
    segment.write_bytes(segment.read_bytes()[:-1] + b"x")
    with pytest.raises(StoreError, match="was altered or cut off"):
        restore(place, tmp_path / "no")
    assert not (tmp_path / "no").exists()


@pytest.mark.parametrize("kind", ["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)])
def test_what_begins_does_so_from_the_newest_checkpoint_and_keeps_the_law(
    tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    monkeypatch.setattr(backup, "_SEGMENT", 2_000)
    texts, place, seen = tmp_path / "notes", tmp_path / "backup", dict[int, str]()
    texts.mkdir()
    with journaled(tmp_path / "w") as kg:
        if kind == "postgresql":
            move(kg.workspace, f"{request.getfixturevalue('database').url}?schema=checkpoints")
        for n in range(3):
            (texts / "note.txt").write_text(f"Inn number {n} is in Wuzhen. 西栅{n}位于乌镇。", encoding="utf-8")
            list(kg.add(texts, build=False))
            kg.update(f"INSERT DATA {{ <{EX}s{n}> <{EX}p> {n}, '西栅'@zh . GRAPH <{EX}g{n}> {{ _:a <{EX}p> 1 }} }}")
            back_up(kg.workspace, str(place))
            seen[kg.store.version] = digest(kg.store)
        kg.update(f"DELETE WHERE {{ <{EX}s0> ?p ?o }}")
        kg.update(f"DELETE WHERE {{ GRAPH <{EX}g0> {{ ?s ?p ?o }} }}")  # a blank node that came with a checkpoint
        back_up(kg.workspace, str(place))
        seen[kg.store.version] = digest(kg.store)
        assert not (tmp_path / "w" / "checkpoint").exists()
        kept = rows(tmp_path / "w" / "documents.sqlite")
    numbers = [item["number"] for item in json.loads((place / "backup.json").read_text())["checkpoints"]]
    assert numbers
    assert numbers[-1] < max(seen)
    for number, expected in seen.items():  # as of any time, whatever checkpoints there are
        assert restore(str(place), tmp_path / f"at{number}", at=str(number)).digest == expected
    assert rows(tmp_path / f"at{number}" / "documents.sqlite") == kept
    with KnowledgeGraph.open(tmp_path / f"at{number}") as kg:
        assert kg.dataset.violations() == (frozenset(), frozenset())
        assert digest(replayed(kg.recorder.journal)) == expected
    for segment in sorted((place / "patches").iterdir()):
        if int(segment.name.partition("-")[2]) <= numbers[-1]:
            segment.unlink()  # who follows needs none that are older
    assert restore(str(place), tmp_path / "copy", follows=True).digest == expected
    assert rows(tmp_path / "copy" / "documents.sqlite") == kept
    with pytest.raises(StoreError, match="cannot be read"):
        restore(str(place), tmp_path / "no")


class Load:
    """Two clients that write to a server and two that read from it, until it ends."""

    def __init__(self, address: str) -> None:
        self.written: list[str] = []
        self.read: list[int] = []
        self._address, self._over = address, threading.Event()
        self._clients = [threading.Thread(target=self._write, args=(n,)) for n in range(2)]
        self._clients += [threading.Thread(target=self._read) for _ in range(2)]

    def __enter__(self) -> Load:
        for client in self._clients:
            client.start()
        self.wait(0, 0)
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        for client in self._clients:
            client.join()

    def wait(self, written: int, read: int) -> None:
        """Goes on once more was written and read than that."""
        deadline = time.monotonic() + 120
        while len(self.written) <= written or len(self.read) <= read:
            assert time.monotonic() < deadline
            time.sleep(0.05)

    def _write(self, writer: int) -> None:
        for n in count():
            if self._over.is_set():
                return
            text = f"INSERT DATA {{ <{EX}w{writer}-{n}> <{EX}p> {n}, '西栅'@zh }}"
            with urlopen(f"{self._address}/sparql", urlencode({"update": text}).encode(), timeout=120) as response:
                assert response.status < 300
            self.written.append(f"{EX}w{writer}-{n}")

    def _read(self) -> None:
        query = urlencode({"query": f"SELECT * {{ ?s <{EX}p> ?o }}"})
        while not self._over.is_set():
            with urlopen(f"{self._address}/sparql?{query}", timeout=120) as response:
                self.read.append(len(response.read()))


def said_by(*words: object) -> list[str]:
    """What a command says, in a process of its own."""
    command = [sys.executable, "-m", "kgplatform", *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def subjects(kg: KnowledgeGraph) -> set[str]:
    """What has the property that the clients write."""
    rows = kg.query(f"SELECT DISTINCT ?s {{ ?s <{EX}p> ?o }}").rows
    return {row[0].value for row in rows if isinstance(row[0], NamedNode)}


@pytest.mark.slow
def test_a_served_workspace_is_backed_up_under_load_and_each_backup_is_restored_with_equal_digests(
    tmp_path: Path,
) -> None:
    """The drill: clients write and read while commands make three backups; then the workspace is gone."""
    from test_mcp import start, stop

    folder, place = tmp_path / "w", tmp_path / "backup"
    journaled(folder).close()
    process, address = start(folder)
    backups: list[tuple[int, set[str], datetime]] = []
    try:
        with Load(address) as load:
            for _ in range(3):
                before, read = set(load.written), len(load.read)
                (said,) = said_by("backup", place, "-w", folder)
                backups.append((int(re.findall(r"up to patch (\d+);", said)[0]), before, datetime.now(UTC)))
                load.wait(len(before), read)
    finally:
        stop(process)
    written = set(load.written)
    with KnowledgeGraph.open(folder) as kg:
        expected = {number: digest(replayed(kg.workspace.recorder.journal, number)) for number, _, _ in backups}
        whole = digest(kg.store)
        assert subjects(kg) == written
    said_by("backup", place, "-w", folder)  # at rest
    shutil.rmtree(folder)
    assert said_by("restore", place, "-w", tmp_path / "end", "--no-build")[-1] == whole
    assert said_by("digest", "-w", tmp_path / "end")[-1] == whole
    for round_, (number, before, moment) in enumerate(backups):  # two may end with one patch
        restored = restore(str(place), tmp_path / f"n{round_}", at=str(number))
        assert (restored.number, restored.digest) == (number, expected[number])
        later = restore(str(place), tmp_path / f"t{round_}", at=moment.isoformat())
        assert later.number >= number
        with KnowledgeGraph.open(tmp_path / f"n{round_}") as kg:
            assert digest(kg.store) == restored.digest
            assert before <= subjects(kg) <= written  # what was acknowledged before the backup is in it
            kg.update(f"INSERT DATA {{ <{EX}new> <{EX}p> 1 }}")
        with KnowledgeGraph.open(tmp_path / f"t{round_}") as kg:
            assert digest(kg.store) == later.digest
            assert before <= subjects(kg) <= written


def test_a_workspace_without_a_journal_imports_nothing_of_clusters(tmp_path: Path) -> None:
    (tmp_path / "note.txt").write_text("Lakeside Inn is a hotel in Wuzhen. 湖畔客栈位于乌镇。", encoding="utf-8")
    code = """
import sys
from kgplatform.graph import KnowledgeGraph
with KnowledgeGraph.create(sys.argv[1], ontology="travel") as kg:
    assert [added.outcome for added in kg.add(sys.argv[2])] == ["added"]
    assert kg.query("ASK { ?s a travel:Hotel }").boolean
    kg.ask("Where is Lakeside Inn?")
mine = ("kgplatform.cluster", "kgplatform.journal", "kgplatform.store.pgvector")
others = ("distributed", "dask", "pg8000", "s3fs", "botocore")
print([name for name in sys.modules if name.startswith(mine) or name.partition(".")[0] in others])
"""
    command = [sys.executable, "-c", code, str(tmp_path / "w"), str(tmp_path / "note.txt")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=Path(__file__).parents[1])
    assert done.stdout == "[]\n", done.stderr[-2000:]


def test_serve_and_doctor_of_such_a_workspace_import_nothing_of_clusters_either(tmp_path: Path) -> None:
    KnowledgeGraph.create(tmp_path / "w", base=EX).close()
    root = Path(__file__).parents[1]

    def command(verb: str, *words: str) -> list[str]:
        return [sys.executable, "-X", "importtime", "-m", "kgplatform", verb, "-w", str(tmp_path / "w"), *words]

    said = subprocess.run(command("doctor"), capture_output=True, text=True, check=False, cwd=root).stderr
    with (tmp_path / "log").open("w+") as log:
        with subprocess.Popen(
            command("serve", "--port", "0"), stdout=subprocess.PIPE, stderr=log, text=True, cwd=root
        ) as server:
            assert server.stdout is not None
            match = re.search(r"http://[\w.]+:\d+", server.stdout.readline())
            assert match
            for path in ("/", "/sparql?query=ASK%7B%7D", "/readyz", "/metrics"):
                assert urlopen(f"{match.group()}{path}", timeout=60).status == 200
            server.terminate()
        log.seek(0)
        imported = {line.rpartition("|")[2].strip() for line in f"{said}{log.read()}".splitlines() if "|" in line}
    assert "kgplatform.server.app" in imported
    mine = ("kgplatform.cluster", "kgplatform.journal", "kgplatform.store.pgvector")
    others = ("distributed", "dask", "pg8000", "s3fs", "botocore")
    assert [name for name in imported if name.startswith(mine) or name.partition(".")[0] in others] == []


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The address of a bucket on a server of this machine that speaks as S3 does."""
    for name in ("moto.server", "s3fs", "flask_cors"):
        pytest.importorskip(name, reason="no S3: pip install s3fs 'moto[server]'")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    monkeypatch.setenv("AWS_ENDPOINT_URL", url)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "anybody")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    code = "import sys; from moto.server import main; main(sys.argv[1:])"
    command = [sys.executable, "-W", "ignore", "-c", code, "-H", "127.0.0.1", "-p", str(port)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
        try:
            end = time.monotonic() + 120
            while True:
                with suppress(OSError), closing(http.client.HTTPConnection("127.0.0.1", port, timeout=20)) as link:
                    link.request("PUT", "/backups", headers={"Host": f"127.0.0.1:{port}"})
                    assert link.getresponse().status == 200
                    break
                assert time.monotonic() < end
                time.sleep(0.2)
            yield "s3://backups/wuzhen"
        finally:
            server.kill()


@pytest.mark.slow
def test_a_backup_in_a_bucket_is_added_to_restored_and_told_where_it_cannot_be(
    tmp_path: Path, bucket: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with journaled(tmp_path / "w") as kg:
        kg.update(f"INSERT DATA {{ <{EX}a> <{EX}p> 1, '西栅'@zh }}")
        first = back_up(kg.workspace, bucket)
        early = digest(kg.store)
        kg.update(f"INSERT DATA {{ <{EX}b> <{EX}p> 2 }}")
        second = back_up(kg.workspace, bucket)
        assert (second.patches, second.number) == (second.number - first.number, first.number + second.patches)
        late = digest(kg.store)
        with pytest.raises(StoreError, match=r"^s3://nowhere/x: cannot be written: [^\n]+$"):
            back_up(kg.workspace, "s3://nowhere/x")
    assert restore(bucket, tmp_path / "late").digest == late
    assert restore(bucket, tmp_path / "early", at=str(first.number)).digest == early
    with pytest.raises(NotFoundError, match="no backup is there"):
        restore("s3://backups/other", tmp_path / "no")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    command = [sys.executable, "-m", "kgplatform", "restore", bucket, "-w", str(tmp_path / "no")]
    away = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert away.returncode == 1
    assert re.fullmatch(r"[^\n]*s3://backups/wuzhen: cannot be read: [^\n]+\n", away.stderr), away.stderr
    assert not (tmp_path / "no").exists()


def test_the_verb_moves_a_journal_into_a_database_and_back_and_says_the_same_of_both(
    tmp_path: Path, database: PostgresServer, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, url = str(tmp_path / "w"), f"{database.url}?schema=verb"
    with journaled(tmp_path / "w") as kg:
        kg.update(f"INSERT DATA {{ <{EX}a> <{EX}p> '西栅'@zh }}")
        number, before = kg.recorder.journal.newest, digest(kg.store)
    said = []
    for target in (url, "file"):
        assert main(["move", "--to", target, "-w", folder]) == 0
        said.append(capsys.readouterr().out)
        assert main(["move", "--to", target, "-w", folder]) == 0
        assert capsys.readouterr() == ("", "the journal is there already; nothing is to be done\n")
        assert (tmp_path / "w" / "journal.sqlite").exists() == (target == "file")
    assert re.fullmatch(rf"{number} patches\n[0-9a-f]{{64}}\n", said[0])
    assert said[0] == said[1]
    with KnowledgeGraph.open(tmp_path / "w") as kg:
        assert digest(kg.store) == before == digest(replayed(kg.recorder.journal))
    settings = (tmp_path / "w" / "kgplatform.toml").read_text(encoding="utf-8")
    for target, told in ((url, "holds patches already"), ("mysql://x", "postgresql://")):
        assert main(["move", "--to", target, "-w", folder]) != 0
        error = capsys.readouterr().err
        assert told in error
        assert len(error.splitlines()) == 1
        assert (tmp_path / "w" / "kgplatform.toml").read_text(encoding="utf-8") == settings


def test_a_journal_moves_into_a_database_and_back(tmp_path: Path, database: PostgresServer) -> None:
    url = f"{database.url}?schema=moved"
    with journaled(tmp_path / "w") as kg:
        kg.update(f"INSERT DATA {{ <{EX}a> <{EX}p> 1 }}")
        number, there = move(kg.workspace, url)
        kg.update(f"INSERT DATA {{ <{EX}b> <{EX}p> 2 }}")
        before = digest(kg.store)
    with KnowledgeGraph.open(tmp_path / "w") as kg:
        assert digest(kg.store) == before == digest(replayed(kg.workspace.recorder.journal))
        later, back = move(kg.workspace, "")
        assert (later > number, there != back) == (True, True)
        assert "database" not in (tmp_path / "w" / "kgplatform.toml").read_text(encoding="utf-8")
    with KnowledgeGraph.open(tmp_path / "w") as kg:
        assert digest(kg.store) == before == digest(replayed(kg.workspace.recorder.journal))


def test_rows_that_are_in_no_patch_are_taken_back_when_another_leads(tmp_path: Path) -> None:
    note = tmp_path / "note.md"
    note.write_text("The Brightwell is a hotel in Amber Wharf.", encoding="utf-8")
    with journaled(tmp_path / "w") as kg:
        list(kg.add(note))
        kg.workspace.ship()
        before, newest = rows(tmp_path / "w" / "documents.sqlite"), kg.recorder.journal.newest
        kg.registry._write("UPDATE documents SET text = 'other'")
        kg.registry._write("DELETE FROM chunks")
        kg.registry.set_ontology_files({"new.ttl": b"\xff"})
        assert rows(tmp_path / "w" / "documents.sqlite") != before
        kg.recorder.take_back()
        assert rows(tmp_path / "w" / "documents.sqlite") == before
        kg.workspace.ship()
        assert kg.recorder.journal.newest == newest


def test_a_leader_that_was_stopped_is_fenced_off(
    tmp_path: Path, database: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres_journal, "LEASE_SECONDS", 1.5)
    url = f"{database.url}?schema=fenced"
    text = (
        OPENING
        + """
from kgplatform.journal.postgres_journal import PostgresJournal
node = Node(folder, PostgresJournal(where))
node.dataset.state([triple(1)])
print("leads", flush=True)
sys.stdin.readline()
try:
    node.dataset.state([triple(2)])
except oxigraph.StoreError as error:
    print(type(error).__name__, flush=True)
os._exit(0)
"""
    )
    command = [sys.executable, "-c", text, str(tmp_path / "a"), url, "0"]
    root = Path(__file__).parents[1]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=root) as leader:
        assert leader.stdin is not None
        assert leader.stdout is not None
        assert leader.stdout.readline() == "leads\n"
        standby = PostgresJournal(url)
        with pytest.raises(FencedError, match="another process leads"):
            standby.lead()
        leader.send_signal(signal.SIGSTOP)
        end = time.monotonic() + 30
        while not standby.is_free and time.monotonic() < end:
            time.sleep(0.1)
        epoch = standby.lead()
        standby.append([Draft(added=[Quad(P, P, P)])], epoch=epoch)
        newest = standby.newest
        leader.send_signal(signal.SIGCONT)
        leader.stdin.write("\n")
        leader.stdin.flush()
        assert leader.stdout.readline() == "FencedError\n"
        assert standby.newest == newest
        standby.close()


def test_a_database_that_cannot_be_used_is_told_in_one_line(database: PostgresServer) -> None:
    for url, told in (
        (database.url.replace("secret", "wrong"), "password authentication failed"),
        (database.url.replace(str(database.port), "1"), "cannot be used"),
    ):
        with pytest.raises(StoreError, match=told) as caught:
            PostgresJournal(url).newest  # noqa: B018
        assert len(str(caught.value).splitlines()) == 1


def test_a_database_that_is_too_old_is_told_in_one_line(
    database: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres_journal, "_OLDEST", 990000)
    with pytest.raises(StoreError, match=r"^the journal at [^\n]+: PostgreSQL 13 or later is needed$"):
        PostgresJournal(f"{database.url}?schema=old").lead()


@pytest.mark.slow
def test_a_database_that_restarts_costs_nothing_acknowledged(tmp_path: Path, database: PostgresServer) -> None:
    node = Node(tmp_path / "n", PostgresJournal(f"{database.url}?schema=restarts"))
    node.dataset.state([triple(1)])
    database.stop("immediate")
    with pytest.raises(StoreError, match="cannot be used"):
        node.dataset.state([triple(2)])
    assert not node.store.has(triple(2))
    database.start()
    node.dataset.state([triple(3)])
    assert digest(replayed(node.journal)) == digest(node.store)
    node.close()


@pytest.mark.slow
def test_a_database_whose_disk_is_full_refuses_a_commit_whole_and_takes_the_next_once_there_is_space(
    tmp_path: Path, database: PostgresServer
) -> None:
    node, graphs = Node(tmp_path / "n", PostgresJournal(f"{database.url}?schema=fulldisk")), []

    def fill() -> None:
        for number in range(200):
            graphs.append(NamedNode(f"{EX}full{number}"))
            node.dataset.write((), added=[Quad(P, P, Literal(os.urandom(300_000).hex()), graphs[-1])])

    node.dataset.state([triple(1)])
    database.stop()
    database.start(largest=17 << 20)  # its log has files of 16 MB
    try:
        with pytest.raises(StoreError, match=r"^[^\n]*the journal at [^\n]+could not extend file[^\n]+$"):
            fill()
        assert node.journal.newest == node.store.version
        assert node.store.has(triple(1))
        assert [node.store.has_graph(graph) for graph in graphs[-2:]] == [True, False]
    finally:
        database.stop()
        database.start()
    until_written(node, 2)
    assert digest(replayed(node.journal)) == digest(node.store)
    node.close()


@pytest.fixture
def line(database: PostgresServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[CutLine]:
    """A line to the database that can be cut; who waits for it is less patient than usual."""
    monkeypatch.setattr(postgres_journal, "ANSWER_SECONDS", 2.0)
    monkeypatch.setattr(postgres_journal, "LEASE_SECONDS", 3.0)
    monkeypatch.setattr(pgvector, "_CONNECT_SECONDS", 2.0)
    made = CutLine(database.port)
    yield made
    made.close()


@pytest.mark.slow
def test_a_line_to_the_database_that_is_cut_costs_time_only(
    tmp_path: Path, database: PostgresServer, line: CutLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = f"{database.url}?schema=cut"
    node = Node(tmp_path / "n", PostgresJournal(url.replace(str(database.port), str(line.port))))
    node.dataset.state([triple(1)])
    line.cut()
    with pytest.raises(StoreError, match=r"^[^\n]+$"):
        node.dataset.state([triple(2)])
    assert (node.store.has(triple(1)), node.store.has(triple(2))) == (True, False)
    line.mend()
    until_written(node, 3)
    assert digest(replayed(node.journal)) == digest(node.store)
    standby, end = PostgresJournal(url), time.monotonic() + 60
    while standby.is_free and time.monotonic() < end:
        time.sleep(0.1)
    monkeypatch.setattr(postgres_journal, "LEASE_SECONDS", 60.0)  # it was heard of; how soon again is the machine's
    with pytest.raises(FencedError, match="another process leads"):
        standby.lead()
    monkeypatch.setattr(postgres_journal, "LEASE_SECONDS", 3.0)
    line.cut()  # the database still has the sessions of who leads, one of them with the lock
    end = time.monotonic() + 60
    while not standby.is_free and time.monotonic() < end:
        time.sleep(0.1)
    standby.append([Draft(added=[Quad(P, P, P)])], epoch=standby.lead())
    newest = standby.newest
    monkeypatch.setattr(postgres_journal, "LEASE_SECONDS", 60.0)
    line.mend()
    with pytest.raises(FencedError, match="another process leads by now"):
        until_written(node, 4)
    assert (standby.newest, standby.is_free) == (newest, False)
    assert (node.journal.is_fenced, node.journal.leads_surely, standby.leads_surely) == (True, False, True)
    node.close()
    standby.close()


def until_written(node: Node, number: int) -> None:
    """States something as soon as the journal takes it, at the latest in a minute."""
    end = time.monotonic() + 60
    while not node.store.has(triple(number)):
        try:
            node.dataset.state([triple(number)])
        except (FencedError, UnseenError):
            raise
        except StoreError:
            assert time.monotonic() < end
            time.sleep(0.1)


@pytest.mark.slow
def test_what_was_done_although_its_answer_was_lost_is_taken_in_before_anything_else(
    tmp_path: Path, database: PostgresServer, line: CutLine
) -> None:
    url = f"{database.url}?schema=unseen".replace(str(database.port), str(line.port))
    node = Node(tmp_path / "n", PostgresJournal(url))
    for number in (1, 2):
        node.dataset.state([triple(number * 10)])
        line.cut_at(b"COMMIT")
        with pytest.raises(StoreError):
            node.dataset.state([triple(number * 10 + 1)])
        assert not node.store.has(triple(number * 10 + 1))
        line.mend()
        with pytest.raises(UnseenError, match="nothing was changed now"):
            until_written(node, number * 10 + 2)
        assert node.store.has(triple(number * 10 + 1))
        assert not node.store.has(triple(number * 10 + 2))
        node.dataset.state([triple(number * 10 + 2)])
        assert digest(replayed(node.journal)) == digest(node.store)
        assert node.dataset.violations() == (frozenset(), frozenset())
    node.close()
