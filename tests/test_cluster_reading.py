"""Documents read on a Dask cluster: the graph of one machine, whoever read and whoever was lost meanwhile."""

import json
import os
import pickle
import pty
import re
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from pyoxigraph import NamedNode

pytest.importorskip("distributed", reason="needs Dask: pip install 'kgplatform[cluster]'")

from engines import waited_for
from local_server import local_server
from nodes import served, until
from test_reading_ahead import knowledge, reads
from workspaces import new_workspace

from kgplatform.cli.main import main
from kgplatform.cluster import dask_cluster
from kgplatform.cluster.dask_cluster import ClusterEmbedder, DaskCluster
from kgplatform.documents.records import State
from kgplatform.errors import ClusterError, ModelReplyError, ReadError
from kgplatform.extraction.model_reader import PromptOptions
from kgplatform.graph import KnowledgeGraph
from kgplatform.models.stubs import HashEmbedder, ScriptedModel
from kgplatform.ontology import packs
from kgplatform.settings import DocumentSettings, ModelSettings
from kgplatform.types import Document, Message

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning")
NOTES = 8
ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def notes(tmp_path_factory):
    """Tables, whose names help to read texts, and texts of several kinds in both languages."""
    folder = tmp_path_factory.mktemp("notes")
    (folder / "hotels.csv").write_text("name,locatedIn\nThe Heron,Wuzhen\nGlass Lantern,Xizha\n", encoding="utf-8")
    for number in range(NOTES):
        (folder / f"note{number}.txt").write_text(
            f"Inn number {number} is located in Wuzhen. The Heron is near it. 灯笼{number}客栈位于西栅。",
            encoding="utf-8",
        )
        page = f"<!doctype html><title>Piers</title><article><p>Glass Lantern lies beside pier {number}.</p></article>"
        (folder / f"page{number}.html").write_text(page, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def alone(notes, tmp_path_factory):
    """What one process makes of the notes."""
    with KnowledgeGraph.open(new_workspace(tmp_path_factory.mktemp("alone") / "kg")) as kg:
        list(kg.add(notes, build=False))
        return knowledge(kg)


@pytest.fixture
def opened(tmp_path):
    kg = KnowledgeGraph.open(new_workspace(tmp_path / "kg"))
    kg.workspace.__dict__["embedder"] = HashEmbedder()
    yield kg
    kg.close()


def worker_processes():
    """The processes of workers that this one started."""
    told = subprocess.run(["ps", "-eo", "pid,ppid,args"], capture_output=True, text=True, check=True).stdout
    rows = [line.split(None, 2) for line in told.splitlines()[1:]]
    return [int(pid) for pid, parent, args in rows if int(parent) == os.getpid() and "multiprocessing.spawn" in args]


def added_with_a_kill(kg, notes, workers, after=3):
    """Adds, and kills a worker in the middle of it; the outcomes."""
    outcomes = set()
    for number, added in enumerate(kg.add(notes, cluster=workers, build=False)):
        outcomes.add(added.outcome)
        if number == after:
            os.kill(worker_processes()[0], signal.SIGKILL)
    return outcomes


def kg_crew(kg):
    """Who reads, as a page would show it."""
    return kg.registry.progress().crew


@pytest.fixture
def held(monkeypatch):
    """How many documents were in the hands of the workers, or back and not taken in, whenever one was added to them."""
    under_way, counted = set(), []
    submit, result = DaskCluster.submit, DaskCluster.result

    def submitted(cluster, task, *given, **named):
        future = submit(cluster, task, *given, **named)
        if task is dask_cluster.WorkerReader.read:
            under_way.add(future.key)
            counted.append(len(under_way))
        return future

    def taken(cluster, future):
        found = result(cluster, future)
        under_way.discard(future.key)
        return found

    monkeypatch.setattr(DaskCluster, "submit", submitted)
    monkeypatch.setattr(DaskCluster, "result", taken)
    return counted


def test_a_worker_gives_the_graph_of_this_process_and_has_no_more_under_way_than_a_window(opened, notes, alone, held):
    crews = [kg_crew(opened) for _ in opened.add(notes, cluster=1, build=False)]
    assert knowledge(opened) == alone
    assert len(held) == 2 * NOTES
    assert 1 < max(held) <= 2 * 1 + 2 + 1  # twice what one worker has in hand and two, and the one that is taken in
    assert any(crew.workers == 1 for crew in crews)
    assert not worker_processes()
    assert {item.outcome for item in opened.add(notes, build=False)} == {"unchanged"}


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2, 4])
def test_any_number_of_workers_with_one_killed_gives_the_graph_of_one(opened, notes, alone, workers):
    assert added_with_a_kill(opened, notes, workers, after=workers) == {"added"}
    assert knowledge(opened) == alone


class Deadly:
    """Reads as another does, but for a text on which its process ends, the first so many times."""

    def __init__(self, reader, ends, times):
        self.reader, self.method, self.ends, self.times = reader, reader.method, ends, times

    def extract(self, chunk, document):
        if "deadly" in chunk.text and self.ends.stat().st_size < self.times:
            with self.ends.open("a") as file:
                file.write("x")
            os._exit(1)
        return self.reader.extract(chunk, document)


def read_with(monkeypatch, ends, times):
    """Lets the workers read with `Deadly`."""
    ends.touch()
    recipe = dask_cluster.ClusterAhead._recipe

    def deadly(ahead):
        return replace(made := recipe(ahead), builtin=Deadly(made.builtin, ends, times))

    monkeypatch.setattr(dask_cluster.ClusterAhead, "_recipe", deadly)


@pytest.mark.slow
def test_a_document_that_ends_four_workers_fails_alone(opened, notes, alone, tmp_path, monkeypatch):
    read_with(monkeypatch, tmp_path / "ends", 1_000)
    bad = tmp_path / "bad.txt"
    bad.write_text("Inn number 99 is deadly.", encoding="utf-8")
    (failed,) = (item for item in opened.add(bad, notes, cluster=2, build=False) if item.outcome != "added")
    assert (failed.outcome, failed.document.source) == ("failed", str(bad))
    assert re.fullmatch(r"[^\n]*reading it ended 4 workers, one after the other", failed.error)
    assert knowledge(opened) == alone


@pytest.mark.slow
def test_a_document_in_the_hands_of_four_workers_that_end_is_tried_again(opened, notes, tmp_path, monkeypatch):
    """Another document may have ended them, as a worker has several in its hands."""
    read_with(monkeypatch, tmp_path / "ends", 4)
    unlucky = tmp_path / "unlucky.txt"
    unlucky.write_text("Inn number 99 is not deadly.", encoding="utf-8")
    assert {item.outcome for item in opened.add(unlucky, notes, cluster=2, build=False)} == {"added"}
    assert (tmp_path / "ends").stat().st_size == 4


def living(group):
    """The processes of a group that have not ended."""
    told = subprocess.run(["ps", "-eo", "pid=,pgid=,stat="], capture_output=True, text=True, check=True).stdout
    rows = map(str.split, told.splitlines())
    return [pid for pid, of, state in rows if int(of) == group and not state.startswith("Z")]


def in_terminal(command):
    """The exit status of a command whose errors go to a terminal, and what it said there."""
    near, far = pty.openpty()
    said = b""
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=far) as process:
        os.close(far)
        with suppress(OSError):  # so ends a terminal whose last process is gone
            while data := os.read(near, 65536):
                said += data
        os.close(near)
    return process.returncode, said.decode()


@pytest.mark.slow
def test_the_verb_reads_on_workers_ends_well_at_ctrl_c_and_goes_on_from_there(tmp_path):
    notes, count = tmp_path / "notes", 60
    notes.mkdir()
    for number in range(count):
        (notes / f"{number:02}.txt").write_text(f"Inn number {number} is located in Wuzhen. 西栅{number}位于乌镇。")
    folder = new_workspace(tmp_path / "kg")
    command = [sys.executable, "-m", "kgplatform", "add", str(notes), "--cluster", "2", "--no-build", "-w", str(folder)]
    how = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "start_new_session": True}
    with subprocess.Popen(command, env={**os.environ, "PYTHONUNBUFFERED": "1"}, **how) as process:
        for _ in range(2):
            assert process.stdout.readline().startswith("added")
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does, to the workers too
        said, told = process.stdout.read(), process.stderr.read()  # `communicate` forgets what `readline` read ahead
        assert process.wait(timeout=600) == 1
    done = 2 + len(said.splitlines())
    assert done < count
    assert f"stopped; {count - done} documents are pending" in told
    assert "Traceback" not in told
    waited_for(lambda: not living(process.pid))  # no worker is left
    status, told = in_terminal(command)
    assert status == 0, told
    assert f"{count - done} added, {done} unchanged" in told
    assert re.search(rf"\[█* *\] \d+/{count} [^\r]*\b2 workers, [1-9]\d* in hand · \d\d\.txt", told), told
    with KnowledgeGraph.open(folder) as kg, KnowledgeGraph.open(new_workspace(tmp_path / "alone")) as other:
        list(other.add(notes, build=False))
        assert knowledge(kg) == knowledge(other)


def test_a_scheduler_that_is_not_there_is_one_line():
    with pytest.raises(ClusterError, match=r"^no Dask scheduler answers at tcp://127\.0\.0\.1:9: [^\n]+$"):
        DaskCluster("tcp://127.0.0.1:9", wait_seconds=0.3)
    with pytest.raises(ClusterError, match="no Dask scheduler answers at nonsense://x"):
        DaskCluster("nonsense://x", wait_seconds=0.3)


def test_workers_of_another_version_are_refused(monkeypatch):
    monkeypatch.setattr(dask_cluster, "_VERSION", "0.0.1")
    with pytest.raises(ClusterError, match=r"^worker \S+ has kgplatform \S+, this is 0\.0\.1; update it$"):
        DaskCluster(1)


@pytest.fixture
def scheduler(tmp_path):
    """A scheduler of its own process, and what starts a worker for it."""
    started = []

    def start(*words):
        command = [sys.executable, "-m", "distributed.cli.dask_" + words[0], *words[1:]]
        log = (tmp_path / f"{words[0]}{len(started)}.log").open("wb")
        started.append(subprocess.Popen(command, stdout=log, stderr=log, cwd=tmp_path))
        log.close()
        return started[-1]

    told = tmp_path / "scheduler.json"
    process = start("scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", str(told))
    for _ in range(300):
        if told.exists() and told.stat().st_size:
            break
        time.sleep(0.1)
    address = json.loads(told.read_text())["address"]
    yield address, lambda: start("worker", address, "--nthreads", "1", "--no-dashboard"), process
    for item in started:
        item.kill()
        item.wait()


@pytest.mark.slow
def test_doctor_asks_the_scheduler_and_names_the_way_out(tmp_path, scheduler, capsys):
    address, worker, _ = scheduler
    folder = new_workspace(tmp_path / "kg", settings=f'[cluster]\ndask = "{address}"')

    def said():
        status = main(["doctor", "-w", str(folder)])
        return status, [line for line in capsys.readouterr().out.splitlines() if re.search("Dask|FAULT", line)]

    way_out = r"; see to it, or change cluster\.dask$"
    status, (line,) = said()
    assert status == 1
    assert re.search(rf"^FAULT +Dask scheduler +.* has no workers; .*{way_out}", line), line
    worker()
    until(lambda: said()[0] == 0, 120)
    (line,) = said()[1]
    assert re.search(r"^ok +Dask scheduler +1 workers, 1 documents at a time$", line), line
    toml = folder / "kgplatform.toml"
    toml.write_text(toml.read_text().replace(address, "tcp://127.0.0.1:9"))
    status, (line,) = said()
    assert status == 1
    assert re.search(rf"^FAULT +Dask scheduler +no Dask scheduler answers at tcp://127\.0\.0\.1:9: .*{way_out}", line)


@pytest.mark.slow
def test_the_documents_page_tells_which_workers_read_what_it_was_sent(tmp_path, scheduler):
    address, worker, _ = scheduler
    worker()
    sent = 0
    with served(new_workspace(tmp_path / "kg", settings=f'[cluster]\ndask = "{address}"')) as node:

        def state():
            return json.loads(node.ask("GET", "/api/jobs")[1])

        def paused():  # with more to read where the run was over before it was asked to pause
            nonlocal sent
            node.send({f"inn{sent + n}.txt": f"Inn number {sent + n} is located in Wuzhen." for n in range(30)})
            sent += 30
            return node.ask("POST", "/api/jobs/pause")[0] == 200

        until(paused, 120)
        until(lambda: state()["state"] == "paused" and not state()["current"], 600)
        assert state()["crew"]["workers"] == 1
        said = {"en": r"workers: 1, documents in hand: \d+", "zh": r"1 个工作进程，\d+ 份文档处理中"}
        for language, words in said.items():
            assert re.search(words, node.ask("GET", f"/documents?lang={language}")[1])
        assert node.ask("POST", "/api/jobs/resume")[0] == 200
        events = node.ask("GET", "/api/jobs/events", seconds=600)[1]  # to the end
        told = [json.loads(line.removeprefix("data: ")) for line in events.splitlines() if line.startswith("data: ")]
        assert told[0]["crew"]["workers"] == 1
        assert told[-1]["state"] == "done"
        assert set(told[-1]["counts"]) == {"processed"}
        assert told[-1]["counts"]["processed"] in range(30, sent + 1)


@pytest.mark.slow
def test_without_workers_that_is_said_and_a_cluster_lost_in_the_middle_leaves_the_rest_to_this_machine(
    opened, notes, alone, scheduler, monkeypatch
):
    address, worker, process = scheduler
    with pytest.raises(ClusterError, match=r"has no workers; start some with `dask worker tcp:"):
        DaskCluster(address, wait_seconds=0.5)
    monkeypatch.setattr(dask_cluster, "_ALONE_SECONDS", 1.0)
    reader = worker()
    outcomes = set()
    for number, added in enumerate(opened.add(notes, cluster=address, build=False)):
        outcomes.add(added.outcome)
        if number == 3:
            for item in (reader, process):
                item.kill()
    assert outcomes == {"added"}
    assert "the rest is read on this machine" in opened.registry._crew().note
    assert knowledge(opened) == alone


@pytest.mark.slow
def test_workers_share_the_leases_of_a_model_and_a_run_that_was_stopped_pays_no_reply_twice(tmp_path, notes):
    lock, asked, under_way, most = threading.Lock(), [], 0, 0

    def reply(path, request):
        nonlocal under_way, most
        with lock:
            under_way += 1
            most = max(most, under_way)
            asked.append(request)
        time.sleep(0.1)
        with lock:
            under_way -= 1
        messages = [Message(item["role"], item["content"]) for item in request["messages"]]
        is_note = any("Inn number" in message.content for message in messages)
        said = reads(messages) if is_note else '{"mentions": [], "statements": [], "keywords": []}'
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        message = {"role": "assistant", "content": said}
        choices = [{"index": 0, "finish_reason": "stop", "message": message}]
        return {"id": "1", "object": "chat.completion", "created": 0, "model": "m", "choices": choices, "usage": usage}

    with local_server(reply) as url:
        settings = (
            f'[model]\nname = "m"\nurl = "{url}/v1"\n\n[extraction]\ngleaning = 0\n\n[cluster]\nmodel_requests = 1'
        )
        with KnowledgeGraph.open(new_workspace(tmp_path / "kg", settings=settings)) as kg:
            adding = kg.add(notes, cluster=2, build=False)
            next(adding)
            next(adding)
            kg.registry.stop()
            assert list(adding) == []
            assert kg.registry.counts()[State.PENDING] == 2 * NOTES - 1
            assert {item.outcome for item in kg.add(notes, cluster=2, build=False)} == {"unchanged", "added"}
            assert kg.registry.counts() == {State.PROCESSED: 2 * NOTES + 1}
            assert any("Inn number 7" in line for line in knowledge(kg))
    assert most == 1
    distinct = {item["messages"][1]["content"] for item in asked}  # what was in hand at the stop may be asked anew
    about = [set(re.findall(r"Inn number \d+", content)) for content in distinct]
    assert sum(map(len, about)) == NOTES, about
    assert sum(map(bool, about)) < NOTES


@pytest.mark.slow
def test_passages_are_embedded_by_the_workers_as_here(tmp_path):
    with KnowledgeGraph.open(new_workspace(tmp_path / "kg")) as kg:
        cluster = DaskCluster(2)
        try:
            texts = [f"The inn number {number} has a garden and a boat." for number in range(70)]
            own = kg.workspace.embedder
            there = ClusterEmbedder(cluster, own, kg.settings.embedding)
            made = there.embed(texts)
            assert made.shape == (70, own.dimensions)
            assert (made * own.embed(texts)).sum(axis=1).min() > 0.999
        finally:
            cluster.close()
        assert (there.embed(texts) == own.embed(texts)).all()  # a cluster that is gone


def test_errors_come_home_from_another_process(tmp_path):
    import pickle

    error = pickle.loads(pickle.dumps(ReadError("holds no text", path=tmp_path)))
    assert (str(error), error.reason, error.path) == (f"{tmp_path}: holds no text", "holds no text", tmp_path)


def test_a_worker_asks_about_several_documents_together_and_a_failure_is_its_own():
    ontology = packs.load(["travel"], folder=ROOT).ontology
    recipe = dask_cluster.Recipe("https://example.org/", DocumentSettings(), ontology, None, ModelSettings(name="m"))
    reader = dask_cluster.WorkerReader(pickle.dumps(replace(recipe, asking=PromptOptions())))
    model = ScriptedModel(otherwise=reads)
    reader.__dict__["_model"] = model
    documents = [
        Document(NamedNode(f"http://x/{number}"), text, "Inns", "text/plain", "a.txt", "0" * 64, "en")
        for number in (1, 2, 3)
        for text in [f"Inn number {number} is located in Wuzhen."]
    ]
    found = reader.read(documents, [{}, {}, {}])
    assert len(model.conversations) == 1
    assert [[claim.subject.name for claim in read.extractions[0].claims] for read in found] == [
        [f"Inn number {number}"] for number in (1, 2, 3)
    ]
    (kept,) = found[1].replies  # goes home under its own document, and is used there
    reader.read(documents[1:2], [{kept.key: kept}])
    assert len(model.conversations) == 1
    model.enqueue("no JSON", "none again", "still none")  # the request about both, and twice about the first alone
    lost, read = reader.read(documents[:2], [{}, {}])
    assert isinstance(lost, ModelReplyError)
    assert read.extractions[0].claims
