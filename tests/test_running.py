"""Runs of reading: how far they have come, pausing and ending them, and what a restart keeps."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from kgplatform.documents.registry import Registry, State
from kgplatform.documents.running import STAGES, RunState, progress_json
from kgplatform.graph import KnowledgeGraph
from kgplatform.testing import HashEmbedder


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    folder.mkdir()
    for number in range(6):
        text = f"Wuzhen Garden {number} is an attraction in Wuzhen. 乌镇有客栈{number}号。\n"
        (folder / f"note{number}.txt").write_text(text, encoding="utf-8")
    return folder


@pytest.fixture
def kg(tmp_path: Path) -> Iterator[KnowledgeGraph]:
    with KnowledgeGraph.create(tmp_path / "workspace", ontology="travel") as graph:
        graph.__dict__["embedder"] = HashEmbedder()
        yield graph


def test_nothing_read_yet_is_idle(kg: KnowledgeGraph) -> None:
    assert kg.registry.progress() is None
    assert progress_json(None) == {"state": "idle"}


def test_a_run_tells_how_far_it_is_and_ends_as_done(kg: KnowledgeGraph, notes: Path) -> None:
    adding = kg.add(notes, build=False)
    next(adding)
    next(adding)
    midway = kg.registry.progress()
    assert midway is not None
    assert (midway.state, midway.total, midway.done) == (RunState.RUNNING, 6, 1)
    assert midway.rate > 0
    assert midway.eta_seconds is not None
    assert Path(midway.current).name == "note1.txt"
    list(adding)
    after = kg.registry.progress()
    assert after is not None
    assert (after.state, after.done, after.failed, after.current, after.stage) == (RunState.DONE, 6, 0, "", "")
    assert [stage.stage for stage in after.stages] == list(STAGES)
    assert all(stage.documents == 6 for stage in after.stages)
    assert progress_json(after)["state"] == "done"


def test_cancelling_leaves_the_rest_pending_and_retry_takes_it_up(kg: KnowledgeGraph, notes: Path) -> None:
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


def test_a_paused_run_waits_and_goes_on(kg: KnowledgeGraph, notes: Path) -> None:
    added: list[str] = []
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


def test_a_pause_outlives_the_process(tmp_path: Path) -> None:
    registry = Registry(tmp_path / "documents.sqlite")
    registry.begin_run(3)
    registry.pause()
    registry.close()
    again = Registry(tmp_path / "documents.sqlite")
    progress = again.progress()
    assert progress is not None
    assert progress.state is RunState.PAUSED
    again.resume()
    progress = again.progress()
    assert progress is not None
    assert progress.state is RunState.INTERRUPTED
    again.close()


def test_listings_have_no_texts_and_can_be_cut_into_pages(kg: KnowledgeGraph, notes: Path) -> None:
    list(kg.add(notes, build=False))
    listed = kg.registry.summaries()
    assert [item.iri for item in listed] == [record.document.iri for record in kg.documents()]
    assert [item.characters for item in listed] == [len(record.document.text) for record in kg.documents()]
    assert kg.registry.summaries(limit=2, offset=3) == listed[3:5]
    assert kg.registry.summaries(State.FAILED) == []


ADD = """
import sys, time
from kgplatform.building import ingest
from kgplatform.graph import KnowledgeGraph
from kgplatform.testing import HashEmbedder
KnowledgeGraph.embedder = HashEmbedder()
whole = ingest.Ingest._load
def slow(self, *given):
    time.sleep(0.3)
    whole(self, *given)
ingest.Ingest._load = slow
from kgplatform.cli.main import main
sys.exit(main(["add", "-w", sys.argv[1], sys.argv[2]]))
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_lets_the_document_in_hand_be_finished(tmp_path: Path, notes: Path, number: signal.Signals) -> None:
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
    assert "wait: `kgplatform documents retry`" in complained
    assert "Traceback" not in complained
    with KnowledgeGraph.open(tmp_path / "workspace") as kg:
        counts = kg.registry.counts()
        assert set(counts) == {State.PROCESSED, State.PENDING}
        assert counts[State.PROCESSED] == 1 + len(said.splitlines())
        assert kg.dataset.violations() == (frozenset(), frozenset())
