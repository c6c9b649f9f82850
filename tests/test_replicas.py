"""Servers beside one another: a leader, a replica, a standby that takes over; and the change feed."""

from __future__ import annotations

import json
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import pyoxigraph as ox
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyoxigraph import NamedNode
from werkzeug.test import TestResponse

from benchmarks import cluster_kills
from kgplatform.cluster.backup import back_up, restore
from kgplatform.cluster.followers import Follower, RemoteStore
from kgplatform.cluster.replica import Replica
from kgplatform.documents.registry import Registry
from kgplatform.errors import ConfigError
from kgplatform.graph import KnowledgeGraph
from kgplatform.journal import postgres_journal
from kgplatform.journal.patch import commits, digests, whole_digest
from kgplatform.journal.postgres_journal import PostgresJournal
from kgplatform.server.access import Access
from kgplatform.server.addresses import of_iri
from kgplatform.server.app import create_app
from kgplatform.store import oxigraph
from kgplatform.store.oxigraph import Store
from kgplatform.workspace.creation import Renewing, renew
from tests.engines import OxigraphServer, VirtuosoServer
from tests.nodes import EX, UPDATE, Served, cluster, digest, is_followed, journaled, replayed, served, until
from tests.postgres_server import PostgresServer, postgres_server
from tests.test_journal import ACTION, act, rows, triple
from tests.test_monitor import numbers


@pytest.fixture(scope="module")
def database() -> Iterator[PostgresServer]:
    with postgres_server() as server:
        yield server


@pytest.fixture
def mirror(tmp_path: Path) -> Iterator[RemoteStore]:
    server = OxigraphServer(tmp_path / "mirror")
    yield server.engine
    server.kill()


@pytest.mark.slow
def test_a_replica_shows_what_the_leader_writes_and_passes_changes_on(tmp_path: Path, database: PostgresServer) -> None:
    cluster(tmp_path, f"{database.url}?schema=replica", "copy")
    with served(tmp_path / "leader") as leader, served(tmp_path / "copy", "--replica") as copy:
        assert copy.has("first")
        for number in range(5):  # a client that carries the number reads what it wrote
            patch = leader.write(f"a{number}")
            assert copy.has(f"a{number}", {"Kgplatform-Patch": patch})
        patch = copy.write("through")
        assert leader.has("through")
        assert copy.has("through", {"Cookie": f"kgplatform_patch={patch}"})
        until(lambda: copy.has("through"))
        assert (
            copy.ask("PUT", f"/graphs?graph={EX}g", f"<{EX}x> <{EX}p> 1 .", {"Content-Type": "text/turtle"})[0] == 201
        )
        copy.process.send_signal(signal.SIGKILL)
        leader.write("meanwhile")
        copy.process.wait()
        with served(tmp_path / "copy", "--replica") as again:
            until(lambda: again.has("meanwhile"))
            leader.process.terminate()
            leader.process.wait(30)
            assert again.has("first")
            assert again.ask("POST", "/sparql", f"INSERT DATA {{ <{EX}b> <{EX}p> 1 }}", UPDATE)[0] == 503
    found = set()
    for name in ("leader", "copy"):
        store = Store.open(tmp_path / name / "store")
        found.add(digest(store))
        store.close()
    assert len(found) == 1


@pytest.mark.slow
def test_a_standby_takes_over_and_the_old_leader_cannot_write_but_follows(
    tmp_path: Path, database: PostgresServer, mirror: RemoteStore
) -> None:
    url = f"{database.url}?schema=standby"
    cluster(tmp_path, url, "other")
    journal, fed = PostgresJournal(url), Follower(mirror, EX)
    is_followed(tmp_path, f"oxigraph {mirror.address}")
    with served(tmp_path / "leader") as leader, served(tmp_path / "other", "--standby") as other:
        before = int(leader.write("before"))
        until(lambda: other.has("before"))
        leader.process.send_signal(signal.SIGSTOP)
        written = f"INSERT DATA {{ <{EX}after> <{EX}p> 1 , [ <{EX}p> 2 ] }}"

        status, text, _ = other.ask("POST", "/sparql", written, UPDATE)  # passed on to who does not answer
        assert status == 503
        assert "leads no more: whether it did what was asked is not known" in text
        until(lambda: other.ask("POST", "/sparql", written, UPDATE)[0] < 300, 60)
        assert other.has("after")
        leader.process.send_signal(signal.SIGCONT)
        status, text, _ = leader.ask("POST", "/sparql", f"INSERT DATA {{ <{EX}late> <{EX}p> 1 }}", UPDATE)
        if status < 300:  # it had learnt of it already, and passed the change on
            assert other.has("late")
        else:
            assert status == 503
            assert "another process leads by now" in text or "this is a replica" in text
            assert not other.has("late")
        until(lambda: leader.ask("GET", "/readyz")[0] == 200)  # it follows now
        assert json.loads((tmp_path / "leader" / "journal.mark").read_text())["number"] >= before  # on the disk
        until(lambda: leader.has("after"))
        patch = leader.write("through")
        assert other.has("through")
        assert leader.has("through", {"Kgplatform-Patch": patch})
        until(lambda: fed.state() == (journal.name, journal.newest))
        other.process.terminate()  # and takes the lead again, in an epoch of its own
        other.process.wait(30)
        until(lambda: leader.ask("POST", "/sparql", written.replace("after", "again"), UPDATE)[0] < 300, 60)
        until(lambda: fed.state() == (journal.name, journal.newest))
    with closing(Store.open(tmp_path / "leader" / "store")) as store:
        assert digest(store) == digest(replayed(journal))
        assert fed.compare(store) == []
    journal.close()


@pytest.mark.slow
def test_nodes_that_start_while_the_database_is_away_show_what_they_have_and_go_on_when_it_is_back(
    tmp_path: Path, database: PostgresServer
) -> None:
    cluster(tmp_path, f"{database.url}?schema=away", "copy")
    database.stop("immediate")
    try:
        with served(tmp_path / "leader") as leader, served(tmp_path / "copy", "--replica") as copy:
            for node in (leader, copy):
                assert node.has("first")
                status, text, _ = node.ask("GET", "/readyz")
                assert (status, node.ask("GET", "/healthz")[0]) == (503, 200)
                assert re.search(rf"127\.0\.0\.1:{database.port} cannot be used: ", text), text
                for method, path, body, kind in (
                    ("POST", "/sparql", f"INSERT DATA {{ <{EX}no> <{EX}p> 1 }}", "application/sparql-update"),
                    ("PUT", f"/graphs?graph={EX}g", f"<{EX}x> <{EX}p> 1 .", "text/turtle"),
                ):
                    status, text, _ = node.ask(method, path, body, {"Content-Type": kind, "Accept": "text/plain"})
                    assert (status, len(text.splitlines())) == (503, 1), text
                    assert re.search(rf":{database.port} cannot be used: ", text), text
                assert node.ask("GET", "/changes?after=0")[0] == 503
            database.start()
            for node in (leader, copy):
                until(lambda node=node: node.ask("GET", "/readyz")[0] == 200, 60)
            until(lambda: copy.ask("POST", "/sparql", f"INSERT DATA {{ <{EX}now> <{EX}p> 1 }}", UPDATE)[0] < 300, 60)
            assert leader.has("now")
            until(lambda: copy.has("now"))
            assert not leader.has("no")
            database.stop("immediate")  # who leads then keeps on showing what there is, and takes no change
            status, text, _ = leader.ask(
                "POST", "/sparql", f"INSERT DATA {{ <{EX}no> <{EX}p> 1 }}", {**UPDATE, "Accept": "text/plain"}
            )
            assert (status, len(text.splitlines())) == (503, 1), text
            assert leader.has("now")
    finally:
        database.stop("immediate")
        database.start()


@pytest.mark.slow
def test_a_replica_answers_pages_and_questions_as_the_leader_does_and_goes_on_without_it(
    tmp_path: Path, database: PostgresServer
) -> None:
    cluster(tmp_path, f"{database.url}?schema=pages", "copy", ontology="travel")
    question = f"/api/ask?question={quote('How many rooms does the Lakeside Inn have?')}"

    def answered(node: Served) -> dict[str, object]:
        status, text, _ = node.ask("GET", question, seconds=300)
        assert status == 200, text
        found = json.loads(text)
        return {name: found[name] for name in ("answer", "query", "values", "evidence", "entities")}

    def shown(node: Served, path: str) -> str:
        status, text, _ = node.ask("GET", path, None, {"Accept": "text/html", "Accept-Language": "zh"}, 300)
        assert status == 200, text
        return text

    with served(tmp_path / "leader") as leader, served(tmp_path / "copy", "--replica") as copy:
        copy.send({"inn.txt": "Wuzhen is a water town. The Lakeside Inn is a hotel in Wuzhen. It has 24 rooms."})
        until(lambda: answered(copy)["values"] == ["24"], 300)
        given = answered(copy)
        assert given == answered(leader)
        thing = of_iri(NamedNode(given["entities"][0]["iri"]), EX)  # type: ignore[index]
        for path, wanted in ((thing, "24"), ("/search?q=lakeside", "Lakeside Inn"), ("/documents", "inn.txt")):
            assert [wanted in shown(node, path) for node in (leader, copy)] == [True, True], path
        leader.process.terminate()
        leader.process.wait(60)
        assert answered(copy) == given
        assert "24" in shown(copy, thing)


def told(text: str) -> dict[str, float]:
    """What metrics tell of the journal and of who follows, each by its name and what it is of."""
    found = {" ".join(name).removeprefix("kgplatform_"): value for name, value in numbers(text).items()}
    return {name: value for name, value in found.items() if name.startswith(("journal", "follower"))}


def test_metrics_tell_how_far_a_node_and_its_followers_are_and_which_is_in_trouble(
    tmp_path: Path, mirror: RemoteStore
) -> None:
    journaled(tmp_path / "w").close()
    with (tmp_path / "w" / "kgplatform.toml").open("a", encoding="utf-8") as file:
        file.write(f'\n[cluster]\nfollowers = ["oxigraph {mirror.address}", "oxigraph http://ann:word@127.0.0.1:9"]\n')
    with served(tmp_path / "w") as node:
        patch = int(node.write("a"))
        wanted = {"journal_applied": patch, "journal_seen": patch, "journal_leads": 1, "journal_trouble": 0}
        wanted |= {f"follower_trouble {mirror.address}": 0, "follower_trouble http://127.0.0.1:9": 1}
        wanted |= {f"follower_applied {mirror.address}": patch}  # of the other one no number is known
        until(lambda: told(node.ask("GET", "/metrics")[1]) == wanted)
        text = node.ask("GET", "/metrics")[1]
        assert "word" not in text
        patch = int(node.write("b"))
        assert told(node.ask("GET", "/metrics")[1])["journal_applied"] == patch
        until(lambda: told(node.ask("GET", "/metrics")[1])[f"follower_applied {mirror.address}"] == patch)


@pytest.mark.slow
def test_metrics_tell_how_far_a_replica_is_behind_and_are_told_while_the_database_is_away(
    tmp_path: Path, database: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres_journal, "LEASE_SECONDS", 3.0)
    cluster(tmp_path, f"{database.url}?schema=metrics", "copy")
    with KnowledgeGraph.open(tmp_path / "leader") as kg, KnowledgeGraph.open(tmp_path / "copy", follows=True) as copy:
        for node in (kg, copy):
            node.workspace.replica = Replica(node.workspace)
            node.workspace.replica.start()
        leads, follows = (create_app(node, access=Access.on("127.0.0.1")).test_client() for node in (kg, copy))
        first = kg.recorder.number
        state = {"journal_applied": first, "journal_seen": first, "journal_leads": 1, "journal_trouble": 0}
        until(lambda: told(leads.get("/metrics").text) == state)
        until(lambda: told(follows.get("/metrics").text) == {**state, "journal_leads": 0})
        with copy.store.write_lock():  # so that it sees what comes, and cannot apply it
            kg.update(f"INSERT DATA {{ <{EX}b> <{EX}p> 1 }}")
            newest = kg.recorder.number
            behind = {**state, "journal_leads": 0, "journal_seen": newest}
            until(lambda: told(follows.get("/metrics").text) == behind)
        state |= {"journal_applied": newest, "journal_seen": newest}
        until(lambda: told(follows.get("/metrics").text) == {**state, "journal_leads": 0})
        database.stop("immediate")
        try:
            lost = {**state, "journal_leads": 0, "journal_trouble": 1}
            for client in (follows, leads):
                until(lambda client=client: told(client.get("/metrics").text) == lost, 60)  # type: ignore[misc]
        finally:
            database.start()


FULL = """
import json, resource, signal, sys, time
from kgplatform.cluster.replica import Replica
from kgplatform.graph import KnowledgeGraph

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
with KnowledgeGraph.open(sys.argv[1], follows=True) as kg:
    replica = Replica(kg.workspace)
    resource.setrlimit(resource.RLIMIT_FSIZE, (700_000, resource.RLIM_INFINITY))  # no file may grow beyond
    replica.start()
    print("follows", flush=True)
    end = time.monotonic() + 120
    while not replica.trouble and time.monotonic() < end:
        time.sleep(0.05)
    shown = len(kg.query("SELECT ?s { ?s <urn:p> ?o }").rows)
    print(json.dumps([replica.trouble, replica.number, shown, kg.dataset.violations() == (frozenset(), frozenset())]))
    sys.stdout.flush()
    import os; os._exit(0)
"""


@pytest.mark.slow
def test_a_replica_whose_disk_is_full_says_so_goes_on_showing_and_catches_up_once_there_is_space(
    tmp_path: Path, database: PostgresServer
) -> None:
    cluster(tmp_path, f"{database.url}?schema=fulldisk", "copy")
    command = [sys.executable, "-c", FULL, str(tmp_path / "copy")]
    root = Path(__file__).parents[1]
    with (
        KnowledgeGraph.open(tmp_path / "leader") as kg,
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=root) as follower,
    ):
        assert kg.recorder is not None
        assert follower.stdout is not None
        assert follower.stdout.readline() == "follows\n"
        for number in range(200):
            body = " ".join(f'<urn:s{number}-{n}> <urn:p> "{"满" * 30}{n}" .' for n in range(50))
            kg.update(f"INSERT DATA {{ {body} }}")
        trouble, number, shown, keeps_the_law = json.loads(follower.communicate(timeout=300)[0])
        assert re.fullmatch(r"[^\n]+", trouble), trouble
        assert "free some space" in trouble
        assert number < kg.recorder.number
        assert 0 < shown < 10_000
        assert keeps_the_law
        with KnowledgeGraph.open(tmp_path / "copy", follows=True) as copy:  # there is space again
            assert Replica(copy.workspace).number == kg.recorder.number
            assert digest(copy.store) == digest(kg.store)


@pytest.mark.slow
def test_the_leader_answers_in_the_place_of_a_replica_that_is_late(tmp_path: Path, database: PostgresServer) -> None:
    cluster(tmp_path, f"{database.url}?schema=late", "copy")
    with served(tmp_path / "leader") as leader, KnowledgeGraph.open(tmp_path / "copy", follows=True) as copy:
        copy.workspace.replica = Replica(copy.workspace)
        copy.workspace.replica.start()
        client = create_app(copy, access=Access.on("127.0.0.1")).test_client()

        def asked(headers: dict[str, str]) -> TestResponse:
            return client.get(f"/sparql?query={quote(f'ASK {{ <{EX}new> ?p ?o }}')}", headers=headers)

        with copy.store.write_lock():  # so that it cannot apply what comes
            to_see_it = {"Kgplatform-Patch": leader.write("new"), "Accept": "*/*"}
            assert asked({}).json == {"head": {}, "boolean": False}
            began = time.monotonic()
            assert asked(to_see_it).json == {"head": {}, "boolean": True}
            assert time.monotonic() - began >= 2
            leader.process.terminate()
            leader.process.wait(60)
            refused = asked({**to_see_it, "Accept": "text/plain"})
            assert refused.status_code == 503
            assert re.fullmatch(r"[^\n]*(leader cannot be reached|nobody leads)[^\n]*; try again\n?", refused.text)
        until(lambda: asked(to_see_it).status_code == 200)
        assert asked({}).json == {"head": {}, "boolean": True}


FOLLOWING = """
import sys
from kgplatform.cluster.replica import Replica
from kgplatform.journal.changed_rows import ChangedRows
from kgplatform.graph import KnowledgeGraph
from kgplatform.store.oxigraph import Store
from tests.test_journal_contract import dies

places = {"rows": (ChangedRows, "apply_rows"), "quads": (Store, "_perform"), "commit": (Store, "replay")}
with KnowledgeGraph.open(sys.argv[1], follows=True) as kg:
    dies(*places[sys.argv[2]], False, 2)
    Replica(kg.workspace)
"""


@pytest.mark.slow
def test_a_replica_that_is_killed_in_the_middle_of_a_batch_comes_to_the_same_graph(
    tmp_path: Path, database: PostgresServer
) -> None:
    cluster(tmp_path, f"{database.url}?schema=batch", "copy")
    note, folder = tmp_path / "note.txt", tmp_path / "copy"
    with KnowledgeGraph.open(tmp_path / "leader") as kg:
        for where in ("rows", "quads", "commit"):
            for number in range(3):
                note.write_text(f"Inn number {number} is located in Wuzhen. {where}", encoding="utf-8")
                list(kg.add(note, build=False))
                kg.update(f"DELETE WHERE {{ <{EX}s> ?p ?o }} ; INSERT DATA {{ <{EX}s> <{EX}{where}> {number}, [] }}")
            command = [sys.executable, "-c", FOLLOWING, str(folder), where]
            done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=Path(__file__).parents[1])
            assert done.returncode == -signal.SIGKILL, done.stderr
            with closing(Store.open(folder / "store")) as store:
                assert digest(store) != digest(kg.store)
            with KnowledgeGraph.open(folder, follows=True) as copy:
                assert Replica(copy.workspace).number == kg.recorder.journal.newest
                assert digest(copy.store) == digest(kg.store)
                assert copy.dataset.violations() == (frozenset(), frozenset())
                assert rows(folder / "documents.sqlite") == rows(kg.folder / "documents.sqlite")


MORTAL = """
import os, signal, sys
from kgplatform.cluster.replica import Replica
from kgplatform.journal.changed_rows import ChangedRows
from kgplatform.graph import KnowledgeGraph

WRITES = ("add", "add_graph", "bulk_extend", "extend", "remove", "remove_graph", "update")

def dies_after(write):
    def made(*args, **named):
        global left
        found, left = write(*args, **named), left - 1
        if not left:
            os.kill(os.getpid(), signal.SIGKILL)
        return found
    return made

class Mortal:
    def __init__(self, real):
        self._real = real
    def __getattr__(self, name):
        found = getattr(self._real, name)
        return dies_after(found) if name in WRITES else found
    def __contains__(self, item):
        return item in self._real

ChangedRows.apply_rows = dies_after(ChangedRows.apply_rows)
left = int(sys.argv[1])
for folder in sys.argv[2:]:
    child = os.fork()
    if not child:
        with KnowledgeGraph.open(folder, follows=True) as kg:
            kg.store._store = Mortal(kg.store._store)
            Replica(kg.workspace)
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    print(-signal.SIGKILL if os.WIFSIGNALED(status) else status, flush=True)
    left += LONGER
"""


def killed(folders: list[Path], writes: int, longer: int) -> list[Path]:
    """The replicas that were killed: the first after so many writes to store and registry, each next one later."""
    command = [sys.executable, "-c", MORTAL.replace("LONGER", str(longer)), str(writes), *map(str, folders)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=Path(__file__).parents[1])
    ends = list(map(int, done.stdout.split()))
    assert set(ends) <= {0, -signal.SIGKILL}, done.stderr
    return [folder for folder, end in zip(folders, ends, strict=True) if end]


def states(journal: PostgresJournal, folder: Path) -> list[tuple[str, dict[str, list[tuple[object, ...]]]]]:
    """Graph and registry after each commit."""
    found = []
    with closing(Registry(folder / "all.sqlite")) as registry:
        registry.changed_rows.keep_changes("all", all_rows=False)
        for group in commits(journal.patches(0)):
            registry.changed_rows.apply_rows("all", group[-1].number, [row for patch in group for row in patch.rows])
            found.append((digest(replayed(journal, group[-1].number)), rows(folder / "all.sqlite")))
    return found


@pytest.mark.slow
def test_a_replica_that_was_killed_anywhere_shows_whole_commits_only_while_the_database_is_away(
    tmp_path: Path, database: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster(tmp_path, url := f"{database.url}?schema=halves", "copy")
    note = tmp_path / "note.txt"
    monkeypatch.setattr(oxigraph, "_PART", 3)  # a patch, so that commits come as several
    with KnowledgeGraph.open(tmp_path / "leader") as kg, closing(PostgresJournal(url)) as journal:
        for number in range(2):
            note.write_text(f"Inn number {number} is located in Wuzhen.", encoding="utf-8")
            list(kg.add(note, build=False))
            more = " . ".join(f"<{EX}s{n}> <{EX}p> {number} , [ <{EX}q> '西栅{number}' ]" for n in range(4))
            kg.update(f"DELETE WHERE {{ ?s <{EX}p> ?o }} ; DELETE WHERE {{ ?s <{EX}q> ?o }} ; INSERT DATA {{ {more} }}")
        assert any(patch.more for patch in journal.patches(0))
        whole = states(journal, tmp_path)
        newest = digest(kg.store)
    folders = [tmp_path / f"copy{number}" for number in range(20)]
    for folder in folders:
        shutil.copytree(tmp_path / "copy", folder)
    folders = killed(folders, 1, longer=1)
    assert 6 < len(folders) < 20
    for is_again in (False, True):
        for folder in folders[::2]:  # a loss of power takes what was written since the mark, but not from the registry
            shutil.rmtree(folder / "store")
            shutil.copytree(tmp_path / "copy" / "store", folder / "store")
        database.stop("immediate")
        try:
            for folder in folders:
                with KnowledgeGraph.open(folder, follows=True) as copy:
                    assert "cannot be used" in Replica(copy.workspace).trouble
                    assert (digest(copy.store), rows(folder / "documents.sqlite")) in whole, folder
        finally:
            database.start()
        if not is_again:
            folders = killed(folders, 1, longer=0)  # once more, while it catches up
    for folder in folders:
        for _ in range(2):  # the second time there is nothing to do, and how far it is stays known
            with KnowledgeGraph.open(folder, follows=True) as copy:
                number = Replica(copy.workspace).number
                assert digest(copy.store) == newest
            assert json.loads((folder / "journal.mark").read_text())["number"] == number


@pytest.fixture(scope="module")
def pair(
    database: PostgresServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[KnowledgeGraph, KnowledgeGraph, Replica]]:
    """Who leads, and who follows it over PostgreSQL."""
    folder = tmp_path_factory.mktemp("pair")
    cluster(folder, f"{database.url}?schema=pair", "copy")
    with KnowledgeGraph.open(folder / "leader") as kg, KnowledgeGraph.open(folder / "copy", follows=True) as copy:
        replica = Replica(copy.workspace)
        replica.start()
        yield kg, copy, replica
        replica.close()


DOCUMENTS = st.tuples(st.sampled_from(["read", "forget"]), st.integers(0, 2), st.lists(st.integers(0, 5), max_size=2))


@pytest.mark.slow
@settings(deadline=None, max_examples=10)
@given(actions=st.lists(st.one_of(ACTION, DOCUMENTS), max_size=8))
def test_a_replica_shows_what_the_leader_showed_whatever_was_done(
    pair: tuple[KnowledgeGraph, KnowledgeGraph, Replica], actions: list[tuple[str, int, list[int]]]
) -> None:
    kg, copy, replica = pair
    assert kg.recorder is not None
    for name, place, numbers in actions:
        note = kg.folder.parent / f"note{place}.txt"
        if name == "read":
            note.write_text(f"Inn number {numbers} is located in Wuzhen. 西栅{place}位于乌镇。", encoding="utf-8")
            list(kg.add(note, build=False))
        elif name == "forget":
            if any(record.document.source == str(note) for record in kg.documents()):
                kg.remove(str(note))
        else:
            act(kg, name, place, numbers)
        kg.workspace.ship()
        assert replica.wait(kg.recorder.number, 120), replica.trouble
        assert digest(copy.store) == digest(kg.store)
        assert copy.dataset.violations() == (frozenset(), frozenset())
    assert digest(replayed(kg.recorder.journal)) == digest(copy.store)
    assert rows(copy.folder / "documents.sqlite") == rows(kg.folder / "documents.sqlite")


@pytest.mark.slow
def test_parts_that_are_killed_at_random_lose_nothing_acknowledged() -> None:
    parts = 9 + VirtuosoServer.is_there()
    acknowledged, *found = cluster_kills.measure(parts, cut=8.0, rest=1.0)
    done_to = re.findall(r"(\d+) of ([^;)]+)", acknowledged.name)
    assert [times for times, _ in done_to] == ["1"] * parts, acknowledged.name
    assert acknowledged.value > 0
    assert [result.value > 0 for result in found if "while the leader is cut off" in result.name] == [True]
    assert [result.name for result in found if not result.kept] == []


def test_benchmarks_of_nodes_start_outside_pytest_too() -> None:
    code = "import benchmarks.cluster_kills, benchmarks.replicas"
    root = Path(__file__).parents[1]
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=root)
    assert done.returncode == 0, done.stderr


def test_a_replica_without_a_database_is_told_so(tmp_path: Path) -> None:
    journaled(tmp_path / "w").close()
    with pytest.raises(ConfigError, match=r"cluster\.database"):
        KnowledgeGraph.open(tmp_path / "w", follows=True)


def consumed(texts: list[str], store: Store) -> None:
    """Applies RDF Patch, as somebody who knows nothing of us would."""
    for line in "".join(texts).splitlines():
        if line[:2] in ("A ", "D "):
            for quad in ox.parse(line[2:], format=ox.RdfFormat.N_QUADS):
                (store._store.add if line[0] == "A" else store._store.remove)(quad)


def test_a_consumer_that_starts_anywhere_ends_with_an_equal_graph(tmp_path: Path) -> None:
    with journaled(tmp_path / "w") as kg:
        client = create_app(kg, access=Access.on("127.0.0.1")).test_client()
        kg.update(f"INSERT DATA {{ <{EX}a> <{EX}p> 1, 2 . GRAPH <{EX}g> {{ <{EX}a> <{EX}p> _:b }} }}")
        copy = Store.open()
        consumed([client.get("/changes?after=0").text], copy)
        middle = kg.store.version
        kg.update(f"DELETE DATA {{ <{EX}a> <{EX}p> 2 }}")
        kg.update(f"CLEAR GRAPH <{EX}g>")
        response = client.get(f"/changes?after={middle}")
        assert response.mimetype == "application/rdf-patch"
        assert response.text.startswith("H id <urn:uuid:")
        consumed([response.text], copy)
        assert whole_digest(digests(copy)) == digest(kg.store)
        page = client.get("/ldes")
        graph = list(ox.parse(page.data, format=ox.RdfFormat.TURTLE))
        members = [q.object.value for q in graph if q.predicate.value.endswith("#member")]
        numbers = sorted(int(member.rsplit("/")[-1]) for member in members)
        parts = [client.get(f"/changes/{number}").text for number in numbers]
        another = Store.open()
        consumed(parts, another)
        assert whole_digest(digests(another)) == digest(kg.store)
        events = client.get(f"/changes?after={middle}", headers={"Accept": "text/event-stream"})
        found, data = iter(events.response), b""
        while data.count(b"event: commit") < 2:
            data += next(found)  # type: ignore[operator]
        events.close()
        assert f"id: {kg.workspace.recorder.number}".encode() in data
        assert client.get("/changes?after=x").status_code == 400
        assert client.get("/changes/99").status_code == 404


@dataclass
class StreamPage:
    """A page of the event stream, as a consumer reads it."""

    address: str
    data: bytes
    members: list[str]
    following: str | None


def walked(get: Callable[[str], TestResponse], address: str, is_over: Callable[[], bool]) -> Iterator[StreamPage]:
    """The pages from one on by their relations, the last one again and again until no more comes."""
    while True:
        is_last, response = is_over(), get(address)
        found: dict[str, list[str]] = {"member": [], "relation": [], "node": []}
        for quad in ox.parse(response.data, format=ox.RdfFormat.TURTLE):
            found.setdefault(quad.predicate.value.rpartition("#")[2], []).append(quad.object.value)
        assert len(found["relation"]) == len(found["node"]) <= 1
        following = found["node"][0] if found["node"] else None
        assert ("immutable" in response.headers["Cache-Control"]) is bool(following)
        yield StreamPage(address, response.data, found["member"], following)
        if following is None and is_last:
            return
        address = following or address


def test_pages_of_the_event_stream_give_each_change_once_while_more_come(tmp_path: Path) -> None:
    total, root = 230, "http://localhost/below"
    with journaled(tmp_path / "w") as kg:
        client = create_app(kg, access=Access.on("127.0.0.1")).test_client()
        begun, over = threading.Event(), threading.Event()

        def get(address: str) -> TestResponse:
            return client.get(address.removeprefix(root), base_url=f"{root}/")

        def write() -> None:
            while kg.recorder.number < total:
                kg.dataset.state([triple(kg.recorder.number)])
                if kg.recorder.number == total // 2:
                    begun.wait(60)  # so that some come before it is read, and some after
            over.set()

        writer = threading.Thread(target=write)
        writer.start()
        latest: dict[str, StreamPage] = {}
        for page in walked(get, f"{root}/ldes", over.is_set):
            before = latest.get(page.address)
            assert before is None or set(before.members) <= set(page.members)
            latest[page.address] = page
            begun.set()
        writer.join()
        assert list(latest) == [f"{root}/ldes", f"{root}/ldes?page=1", f"{root}/ldes?page=2"]
        assert [len(page.members) for page in latest.values()] == [100, 100, total - 200]
        members = [member for page in latest.values() for member in page.members]
        numbers = sorted(int(member.removeprefix(f"{root}/changes/")) for member in members)
        assert numbers == [*range(1, total + 1)]
        kg.dataset.state([triple(total)])
        assert [get(page.address).data == page.data for page in latest.values()] == [True, True, False]
        copy = Store.open()
        consumed([get(f"{root}/changes/{number}").text for number in numbers], copy)
        assert whole_digest(digests(copy)) == digest(replayed(kg.recorder.journal, total))
        assert client.get("/ldes?page=3").status_code == 404


def test_files_of_the_ontology_travel_with_patches(tmp_path: Path, database: PostgresServer) -> None:
    own = tmp_path / "boats.ttl"

    def said(label: str) -> str:
        own.write_text(
            f"@prefix owl: <http://www.w3.org/2002/07/owl#> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .\n"
            f'<{EX}boats> a owl:Ontology . <{EX}Boat> a owl:Class ; rdfs:label "{label}"@en, "船"@zh .',
            encoding="utf-8",
        )
        return str(own)

    cluster(tmp_path, f"{database.url}?schema=ontology", "copy")
    with KnowledgeGraph.open(tmp_path / "leader") as kg:
        renew(kg.workspace, [said("boat")], Renewing())
        first = kg.store.version
        kg.update(f"INSERT DATA {{ <{EX}one> a <{EX}Boat> }}")
        with KnowledgeGraph.open(tmp_path / "copy", follows=True) as copy, closing(Replica(copy.workspace)) as replica:
            assert copy.ontology.classes[NamedNode(f"{EX}Boat")].words[0].text == "boat"
            renew(kg.workspace, [said("ferry")], Renewing())
            replica.start()
            assert replica.wait(kg.workspace.recorder.number, 60)
            assert copy.ontology.classes[NamedNode(f"{EX}Boat")].words[0].text == "ferry"
            assert digest(copy.store) == digest(kg.store)
            assert copy.settings.ontology == kg.settings.ontology != ()
        back_up(kg.workspace, str(tmp_path / "backup"))
    restore(str(tmp_path / "backup"), tmp_path / "early", at=str(first))
    assert '"boat"' in (tmp_path / "early" / "ontology" / "boats.ttl").read_text(encoding="utf-8")
    with KnowledgeGraph.open(tmp_path / "early") as kg:
        assert kg.ontology.classes[NamedNode(f"{EX}Boat")].words[0].text == "boat"
