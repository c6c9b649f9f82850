"""Runs of reading: how far they have come, pausing and ending them, and what a restart keeps."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from workspaces import new_workspace

from kgplatform.documents.progress import STAGES, RunState, progress_json
from kgplatform.documents.records import State
from kgplatform.documents.registry import Registry
from kgplatform.graph import KnowledgeGraph
from kgplatform.models.stubs import HashEmbedder


@pytest.fixture
def notes(tmp_path):
    folder = tmp_path / "notes"
    folder.mkdir()
    for number in range(6):
        text = f"Wuzhen Garden {number} is an attraction in Wuzhen. 乌镇有客栈{number}号。\n"
        (folder / f"note{number}.txt").write_text(text, encoding="utf-8")
    return folder


@pytest.fixture
def kg(tmp_path):
    with KnowledgeGraph.open(new_workspace(tmp_path / "workspace")) as graph:
        graph.workspace.__dict__["embedder"] = HashEmbedder()
        yield graph


def test_a_run_tells_how_far_it_is_and_ends_as_done(kg, notes):
    adding = kg.add(notes, build=False)
    next(adding)
    next(adding)
    midway = kg.registry.progress()
    assert (midway.state, midway.total, midway.done) == (RunState.RUNNING, 6, 1)
    assert midway.rate > 0
    assert midway.eta_seconds is not None
    assert Path(midway.current).name == "note1.txt"
    list(adding)
    after = kg.registry.progress()
    assert (after.state, after.done, after.failed, after.current, after.stage) == (RunState.DONE, 6, 0, "", "")
    assert [stage.stage for stage in after.stages] == list(STAGES)
    assert all(stage.documents == 6 for stage in after.stages)
    assert progress_json(after)["state"] == "done"
    listed = kg.registry.summaries()  # without texts, and in pages
    assert [item.iri for item in listed] == [record.document.iri for record in kg.documents()]
    assert [item.characters for item in listed] == [len(record.document.text) for record in kg.documents()]
    assert kg.registry.summaries(limit=2, offset=3) == listed[3:5]
    assert kg.registry.summaries(State.FAILED) == []


def test_cancelling_leaves_the_rest_pending_and_retry_takes_it_up(kg, notes):
    adding = kg.add(notes, build=False)
    next(adding)
    kg.registry.cancel()
    assert len(list(adding)) == 0
    progress = kg.registry.progress()
    assert progress is not None
    assert (progress.state, progress.done) == (RunState.STOPPED, 1)
    assert kg.registry.counts() == {State.PENDING: 5, State.PROCESSED: 1}
    assert len(list(kg.retry())) == 5
    assert kg.registry.counts() == {State.PROCESSED: 6}


def test_a_paused_run_waits_and_goes_on(kg, notes):
    added = []
    adding = kg.add(notes, build=False)
    added.append(next(adding).outcome)
    kg.registry.pause()
    thread = threading.Thread(target=lambda: added.extend(item.outcome for item in adding))
    thread.start()
    time.sleep(0.4)
    progress = kg.registry.progress()
    assert progress is not None
    assert progress.state is RunState.PAUSED
    assert len(added) == 1
    kg.registry.resume()
    thread.join(20)
    assert len(added) == 6


def test_a_pause_outlives_the_process(tmp_path):
    registry = Registry(tmp_path / "documents.sqlite")
    assert registry.progress() is None
    assert progress_json(None) == {"state": "idle"}
    registry.begin_run(3)
    registry.pause()
    registry.close()
    again = Registry(tmp_path / "documents.sqlite")
    assert again.progress().state is RunState.PAUSED
    again.resume()
    assert again.progress().state is RunState.INTERRUPTED
    again.close()


ADD = """
import sys, time
from kgplatform.workspace import ingest
from kgplatform.graph import KnowledgeGraph
from kgplatform.models.stubs import HashEmbedder
from kgplatform.workspace.workspace import Workspace
Workspace.embedder = HashEmbedder()
whole = ingest.Ingest._load
def slow(self, *given):
    time.sleep(0.3)
    whole(self, *given)
ingest.Ingest._load = slow
from kgplatform.cli.main import main
sys.exit(main(["add", "-w", sys.argv[1], sys.argv[2]]))
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.slow)])
def test_a_signal_lets_the_document_in_hand_be_finished(tmp_path, notes, number):
    KnowledgeGraph.create(tmp_path / "workspace", ontology="travel").close()
    process = subprocess.Popen(
        [sys.executable, "-c", ADD, str(tmp_path / "workspace"), str(notes)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    assert process.stdout is not None
    process.stdout.readline()
    process.send_signal(number)
    said, complained = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "continue with `kgplatform documents retry`" in complained
    assert "Traceback" not in complained
    with KnowledgeGraph.open(tmp_path / "workspace") as kg:
        counts = kg.registry.counts()
        assert set(counts) == {State.PROCESSED, State.PENDING}
        assert counts[State.PROCESSED] == 1 + len(said.splitlines())
        assert kg.dataset.violations() == (frozenset(), frozenset())
