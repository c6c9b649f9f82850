"""Killing `kgplatform add` at any moment loses no finished document and leaves no half one."""

import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest
from workspaces import new_workspace

from kgplatform.documents.records import State
from kgplatform.graph import KnowledgeGraph
from kgplatform.models.stubs import HashEmbedder

ADD = """
import sys
from kgplatform.graph import KnowledgeGraph
from kgplatform.models.stubs import HashEmbedder
from kgplatform.workspace.workspace import Workspace
Workspace.embedder = HashEmbedder()
from kgplatform.cli.main import main
sys.exit(main(["add", "-w", sys.argv[1], *sys.argv[2:]]))
"""
TOWNS = ("Wuzhen", "Xitang", "Nanxun", "Zhouzhuang")


@pytest.fixture(scope="module")
def notes(tmp_path_factory):
    folder = tmp_path_factory.mktemp("notes")
    for number in range(12):
        town = TOWNS[number % 4]
        text = f"The {town} Garden {number} is an attraction in {town}. Tickets cost {number + 10} CNY.\n\n"
        text += f"{town}古镇有客栈{number}号，门票{number + 10}元。\n"
        (folder / f"note{number:02}.txt").write_text(text * 3, encoding="utf-8")
    return folder


def started(workspace, notes):
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    return subprocess.Popen(
        [sys.executable, "-c", ADD, str(workspace), str(notes)], stdout=subprocess.PIPE, text=True, env=environment
    )


def killed_after(process, added, seconds):
    """The sources that were reported before the process was killed: a moment after so many were added."""
    assert process.stdout is not None
    reported = []
    while sum(line.startswith("added") for line in reported) < added and (line := process.stdout.readline()):
        reported.append(line)
    time.sleep(seconds)
    process.kill()
    rest = process.stdout.read()
    assert process.wait() in (0, -9)  # 0 where it was done before
    process.stdout.close()
    complete = "".join(reported) + rest.rpartition("\n")[0]
    return [line.split()[1].rstrip(":") for line in complete.splitlines() if line]


def moments(chance, kills):
    """When to kill: while reading (most), while starting, and while linking and indexing after the last document."""
    reading = [(chance.randint(1, 3), chance.uniform(0, 0.06)) for _ in range(6)]
    return [*reading[:1], (0, chance.uniform(0.3, 1.5)), (12, chance.uniform(0, 0.3)), *reading[1:]][:kills]


def assert_whole(kg):
    """Every processed document has all its graphs, and no other document has any."""
    assert kg.dataset.violations() == (frozenset(), frozenset())
    done = set()
    for record in kg.documents():
        assert record.state in (State.PENDING, State.PROCESSED)
        if record.state is State.PROCESSED:
            done.add(record.document.iri.value)
            chunks = kg.registry.chunks(record.document.iri)
            held = {quad.triple for chunk in chunks for quad in kg.store.quads(graph=chunk.iri)}
            assert chunks
            assert held
            assert all(record.document.text[c.start : c.end] == c.text for c in chunks)
    documents = f"{kg.base}document/"
    in_graphs = {g.value.partition("/chunk/")[0] for g in kg.store.graphs() if g.value.startswith(documents)}
    assert in_graphs == done


def completed(workspace, notes):
    with KnowledgeGraph.open(workspace) as kg:
        kg.workspace.__dict__["embedder"] = HashEmbedder()
        assert not [added for added in kg.add(notes) if added.outcome == "failed"]
        assert len(kg.documents(State.PROCESSED)) == len(kg.documents()) == 12
        for record in kg.documents():
            chunks = kg.registry.chunks(record.document.iri)
            assert record.statements == len({quad.triple for c in chunks for quad in kg.store.quads(graph=c.iri)})
        assert len(kg.chunks) == sum(len(kg.registry.chunks(r.document.iri)) for r in kg.documents())
        return kg.dump()


@pytest.mark.parametrize("kills", [1, pytest.param(8, marks=pytest.mark.slow)])
def test_a_killed_run_can_be_taken_up_and_ends_as_if_undisturbed(notes, tmp_path, kills):
    undisturbed = completed(new_workspace(tmp_path / "undisturbed"), notes)
    chance = random.Random(20240)
    workspace = new_workspace(tmp_path / "killed0")
    for attempt, (added, seconds) in enumerate(moments(chance, kills)):
        reported = killed_after(started(workspace, notes), added, seconds)
        with KnowledgeGraph.open(workspace) as kg:
            assert_whole(kg)
            done = {record.document.source for record in kg.documents(State.PROCESSED)}
            assert set(reported) <= done
        if len(done) == 12:  # so that the next kill hits a document again
            assert completed(workspace, notes) == undisturbed
            workspace = new_workspace(tmp_path / f"killed{attempt + 1}")
    assert completed(workspace, notes) == undisturbed


def test_a_kill_between_graphs_and_registry_is_settled_on_opening(notes, tmp_path):
    workspace = new_workspace(tmp_path / "workspace")
    path = notes / "note00.txt"
    with KnowledgeGraph.open(workspace) as kg:
        list(kg.add(path, build=False))
        (record,) = kg.documents()
        kg.registry.mark(record.document.iri, State.PROCESSING)
    with KnowledgeGraph.open(workspace) as kg:
        assert kg.documents()[0].state is State.PROCESSED
        assert_whole(kg)
        kg.dataset.store.update("DROP ALL")
        kg.registry.mark(record.document.iri, State.PROCESSING)
    with KnowledgeGraph.open(workspace) as kg:
        assert kg.documents()[0].state is State.PENDING
        assert [added.outcome for added in kg.add(path, build=False)] == ["added"]
        assert_whole(kg)


@pytest.mark.slow
def test_adding_one_by_one_gives_the_graph_of_adding_all_at_once(notes, tmp_path):
    travel = Path(__file__).resolve().parents[1] / "examples" / "travel"
    names = "hotels.csv xizha-overnight.html wuzhen-qinglv-yejing.txt wuzhen-with-two-kids.txt moganshan-qixing.md"
    files = [*(travel / name for name in names.split()), *sorted(notes.iterdir())[:3]]
    dumps = []
    for name, parts in (("whole", [files]), ("parts", [[file] for file in files])):
        with KnowledgeGraph.open(new_workspace(tmp_path / name)) as kg:
            kg.workspace.__dict__["embedder"] = HashEmbedder()
            for part in parts:
                assert [added.outcome for added in kg.add(*part)] == ["added"] * len(part)
            # by which IRI a thing was known on the way is kept, and differs
            lines = kg.dump().splitlines()
            dumps.append(sorted(line for line in lines if b"/link/" not in line and b"isReplacedBy" not in line))
    assert dumps[0] == dumps[1]
