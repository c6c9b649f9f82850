"""The vector index: what it finds, what it keeps, and what it does with files that are not what they should be."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgplatform.errors import StoreError
from kgplatform.store import vectors as vectors_module
from kgplatform.store.vectors import VectorIndex


def unit(count, dimensions=16, seed=1):
    found = np.random.default_rng(seed).normal(size=(count, dimensions)).astype(np.float32)
    return found / np.linalg.norm(found, axis=1, keepdims=True)


def index(path=None, dimensions=16, model="m", storage="auto"):
    return VectorIndex(path, dimensions=dimensions, model_name=model, storage=storage)


def keys(*numbers):
    return np.array(numbers, dtype=np.uint64)


def filled(path, count=50):
    made, vectors = index(path), unit(count)
    made.add(keys(*range(count)), vectors)
    return made, vectors


def test_search_finds_the_nearest_with_its_cosine():
    made, vectors = filled(None)
    wanted = np.argsort(-(vectors @ vectors[7]))[:5]
    found = made.search(vectors[7], 5)
    assert [key for key, _ in found] == wanted.tolist()
    assert [s for _, s in found] == pytest.approx([max(0.0, float(vectors[n] @ vectors[7])) for n in wanted], abs=0.01)
    assert all(0 <= similarity <= 1 for _, similarity in made.search(-vectors[7], 50))


def test_search_for_more_than_there_is_finds_all_and_an_empty_index_nothing():
    made, vectors = filled(None)
    assert (made.search(vectors[0], 0), len(made.search(vectors[0], 10**6))) == ([], 50)
    made.add(keys(3), vectors[9:10])
    assert len(made) == 50
    assert made.vectors(keys(3))[0] == pytest.approx(vectors[9], abs=0.01)
    with pytest.raises(ValueError, match="shape"):
        index().add(keys(1), unit(1, dimensions=8))
    assert index().search(vectors[0], 10) == []


def test_equal_vectors_come_in_the_order_of_their_keys():
    made = index()
    same = np.repeat(unit(1), 4, axis=0)
    made.add(keys(3, 1, 4, 2), same)
    assert [key for key, _ in made.search(same[0], 3)] == [1, 2, 3]


def test_an_index_is_read_back_as_it_was_saved(tmp_path):
    made, vectors = filled(tmp_path / "chunks")
    assert made.stale
    made.remove([1, 999])
    made.save()
    again = index(tmp_path / "chunks")
    assert not made.stale
    assert not again.stale
    assert set(again.keys()) == set(made.keys())
    assert again.search(vectors[5], 7) == made.search(vectors[5], 7)


def test_a_read_index_can_be_changed_and_saved_under_a_reader(tmp_path):
    made, vectors = filled(tmp_path / "chunks")
    made.save()
    reader, writer = index(tmp_path / "chunks"), index(tmp_path / "chunks")
    before = reader.search(vectors[5], 50)
    writer.remove(range(40))
    writer.add(keys(2**63 + 1), unit(1, seed=9))
    writer.save()
    assert reader.search(vectors[5], 50) == before
    assert sorted(index(tmp_path / "chunks").keys()) == sorted(writer.keys())
    reader.add(keys(77), vectors[:1])
    with pytest.raises(StoreError, match="open the workspace again"):
        reader.save()
    reader.reload()
    assert sorted(reader.keys()) == sorted(writer.keys())
    reader.add(keys(77), vectors[:1])
    reader.save()
    assert 77 in index(tmp_path / "chunks")


@pytest.fixture
def small_log(monkeypatch):
    """Vectors go to the graph file after a few."""
    for name in ("_LOG_UP_TO", "_LOG_AT_MOST"):
        monkeypatch.setattr(vectors_module, name, 20)


@pytest.mark.usefixtures("small_log")
def test_many_vectors_are_in_a_mapped_file_and_the_latest_in_a_log(tmp_path):
    made, vectors = filled(tmp_path / "chunks", 60)
    made.save()
    again = index(tmp_path / "chunks")
    mapped = next(tmp_path.glob("*.usearch"))
    written = mapped.stat().st_mtime_ns
    again.remove([3, 4])
    again.add(keys(5, 100), vectors[[4, 3]])
    again.save()
    assert (mapped.stat().st_mtime_ns, len(list(tmp_path.iterdir()))) == (written, 3)
    last = index(tmp_path / "chunks")
    assert sorted(last.keys().tolist()) == sorted({*range(60), 100} - {3, 4})
    assert len(last) == 59
    assert [last.search(vectors[4], 1)[0][0], last.search(vectors[3], 1)[0][0]] == [5, 100]
    assert not {3, 4} & {key for key, _ in last.search(vectors[3], 59)}
    assert last.vectors(keys(7, 100)) == pytest.approx(vectors[[7, 3]], abs=0.01)
    with pytest.raises(KeyError):
        last.vectors(keys(3))


@pytest.mark.usefixtures("small_log")
@pytest.mark.parametrize(("storage", "nearness"), [("f32", 0.001), ("f16", 0.002), ("bf16", 0.01), ("i8", 0.006)])
def test_a_storage_keeps_vectors_as_near_as_it_can(tmp_path, storage, nearness):
    made, vectors = index(tmp_path / "chunks", storage=storage), unit(100)
    made.add(keys(*range(100)), vectors)
    made.save()
    again = index(tmp_path / "chunks", storage=storage)
    assert again.vectors(keys(*range(100))) == pytest.approx(vectors, abs=nearness)
    assert sum(again.search(vectors[n], 1)[0][0] == n for n in range(100)) >= 95


def test_the_exact_search_misses_nothing_where_the_approximate_one_may(monkeypatch):
    for name in ("_LOG_UP_TO", "_LOG_AT_MOST"):
        monkeypatch.setattr(vectors_module, name, 100)
    vectors, asked = unit(3000, 32), unit(20, 32, seed=5)
    truth = np.argsort(-(asked @ vectors.T), axis=1)[:, :10]
    recall = {}
    for search in ("exact", "approximate"):
        made = VectorIndex(None, dimensions=32, model_name="m", storage="f32", search=search)
        made.add(keys(*range(3000)), vectors)
        found = [{key for key, _ in made.search(query, 10)} for query in asked]
        recall[search] = sum(len(set(row.tolist()) & one) for row, one in zip(truth, found, strict=True)) / 200
    assert recall["exact"] == 1.0
    assert recall["approximate"] > 0.8


@pytest.mark.usefixtures("small_log")
@pytest.mark.parametrize("count", [15, 60])
@pytest.mark.parametrize("ending", [".json", ".log", ".usearch"])
@pytest.mark.parametrize("damage", ["missing", "empty", "cut", "garbled"])
def test_a_damaged_file_makes_the_index_stale_and_empty(tmp_path, ending, damage, count):
    made, vectors = filled(tmp_path / "chunks", count)
    made.save()
    file = next((p for p in tmp_path.iterdir() if p.suffix == ending), None)
    if file is None:
        assert (ending, count) == (".usearch", 15)
        return
    data = file.read_bytes()
    middle = len(data) // 2
    if damage == "missing":
        file.unlink()
    else:
        garbled = data[:middle] + b"\xff\n\x00" + data[middle + 3 :]
        file.write_bytes({"empty": b"", "cut": data[:middle], "garbled": garbled}[damage])
    again = index(tmp_path / "chunks")
    assert (again.stale, again.damaged, again.misfit, len(again)) == (True, True, "", 0)
    again.add(keys(8), vectors[:1])
    again.save()
    last = index(tmp_path / "chunks")
    assert (last.stale, last.keys().tolist()) == (False, [8])


def test_a_save_that_was_cut_short_does_not_count_and_does_not_disturb_the_next(tmp_path):
    made, vectors = filled(tmp_path / "chunks")
    made.save()
    made.add(keys(100), vectors[:1])
    made.save()
    log = next(tmp_path.glob("*.log"))
    log.write_bytes(log.read_bytes()[:-5])
    again = index(tmp_path / "chunks")
    assert (len(again), 100 in again) == (50, False)
    again.add(keys(101), vectors[:1])
    again.save()
    assert 101 in index(tmp_path / "chunks")


def test_another_model_or_other_dimensions_make_the_index_stale(tmp_path):
    made, _ = filled(tmp_path / "chunks")
    made.save()
    for other in (index(tmp_path / "chunks", model="other"), index(tmp_path / "chunks", dimensions=8)):
        assert (other.stale, other.damaged) == (True, False)
        assert "'m' (16 dimensions)" in other.misfit


@pytest.mark.slow
def test_a_killed_writer_leaves_an_old_or_a_new_index_whole(tmp_path):
    program = textwrap.dedent(
        """
        import sys, numpy as np
        from pathlib import Path
        from kgplatform.store.vectors import VectorIndex
        made = VectorIndex(Path(sys.argv[1]), dimensions=16, model_name="m")
        for n in range(10**6):
            vectors = np.random.default_rng(n).normal(size=(20, 16)).astype("f4")
            made.add(np.arange(20 * n, 20 * n + 20, dtype="u8"), vectors)
            made.save()
            print(n, flush=True)
        """
    )
    for wait in (0.0, 0.013, 0.031):
        path = tmp_path / str(wait) / "chunks"
        with subprocess.Popen([sys.executable, "-c", program, path], stdout=subprocess.PIPE, text=True) as process:
            process.stdout.readline()
            time.sleep(wait)
            os.kill(process.pid, signal.SIGKILL)
            done = 1 + max([0, *map(int, process.stdout.read().split())])
        again = index(path)
        assert not again.stale
        assert len(again) in (20 * done, 20 * (done + 1))


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(st.booleans(), st.integers(0, 12)), max_size=40))
def test_an_index_holds_what_was_added_and_not_removed(steps):
    made, vectors, expected = index(), unit(13), set[int]()
    for adds, number in steps:
        if adds:
            made.add(keys(number), vectors[number : number + 1])
            expected.add(number)
        else:
            assert made.remove([number]) == (number in expected)
            expected.discard(number)
    assert set(made.keys().tolist()) == expected
    assert {key for key, _ in made.search(vectors[0], 100)} == expected
    assert all(key in made for key in expected)
