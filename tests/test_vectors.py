"""The vector index: what it finds, what it keeps, and what it does with files that are not what they should be."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgplatform.errors import StoreError
from kgplatform.vectors import VectorIndex


def unit(count: int, dimensions: int = 16, seed: int = 1) -> np.ndarray:
    found = np.random.default_rng(seed).normal(size=(count, dimensions)).astype(np.float32)
    return found / np.linalg.norm(found, axis=1, keepdims=True)


def index(path: Path | None = None, dimensions: int = 16, model: str = "m") -> VectorIndex:
    return VectorIndex(path, dimensions=dimensions, model_name=model)


def filled(path: Path | None, count: int = 50) -> tuple[VectorIndex, np.ndarray]:
    made, vectors = index(path), unit(count)
    made.add([f"urn:{n}" for n in range(count)], vectors)
    return made, vectors


def test_search_finds_the_nearest_with_its_cosine() -> None:
    made, vectors = filled(None)
    wanted = np.argsort(-(vectors @ vectors[7]))[:5]
    found = made.search(vectors[7], 5)
    assert [iri for iri, _ in found] == [f"urn:{n}" for n in wanted]
    assert [s for _, s in found] == pytest.approx([max(0.0, float(vectors[n] @ vectors[7])) for n in wanted], abs=0.01)
    assert all(0 <= similarity <= 1 for _, similarity in made.search(-vectors[7], 50))


@pytest.mark.parametrize("k", [0, -3])
def test_search_for_nothing_finds_nothing(k: int) -> None:
    made, vectors = filled(None)
    assert made.search(vectors[0], k) == []


def test_search_for_more_than_there_is_finds_all_and_an_empty_index_nothing() -> None:
    made, vectors = filled(None)
    assert len(made.search(vectors[0], 10**6)) == 50
    assert index().search(vectors[0], 10) == []


def test_equal_vectors_come_in_the_order_of_their_iris() -> None:
    made = index()
    same = np.repeat(unit(1), 4, axis=0)
    made.add(["urn:c", "urn:a", "urn:d", "urn:b"], same)
    assert [iri for iri, _ in made.search(same[0], 3)] == ["urn:a", "urn:b", "urn:c"]


def test_adding_an_iri_again_replaces_its_vector() -> None:
    made, vectors = filled(None)
    made.add(["urn:3"], vectors[9:10])
    assert len(made) == 50
    assert made.vectors(["urn:3"])[0] == pytest.approx(vectors[9], abs=0.01)


def test_an_index_is_read_back_as_it_was_saved(tmp_path: Path) -> None:
    made, vectors = filled(tmp_path / "chunks")
    assert made.stale
    made.remove(["urn:1", "urn:nowhere"])
    made.save()
    again = index(tmp_path / "chunks")
    assert not made.stale
    assert not again.stale
    assert set(again) == set(made)
    assert again.search(vectors[5], 7) == made.search(vectors[5], 7)


def test_a_read_index_can_be_changed_and_saved_under_a_reader(tmp_path: Path) -> None:
    made, vectors = filled(tmp_path / "chunks")
    made.save()
    reader, writer = index(tmp_path / "chunks"), index(tmp_path / "chunks")
    before = reader.search(vectors[5], 50)
    writer.remove([f"urn:{n}" for n in range(40)])
    writer.add(["urn:中文"], unit(1, seed=9))
    writer.save()
    assert reader.search(vectors[5], 50) == before
    assert sorted(index(tmp_path / "chunks")) == sorted(writer)
    assert len(list(tmp_path.iterdir())) == 2
    with pytest.raises(StoreError, match="open the workspace again"):
        reader.add(["urn:x"], vectors[:1])


@pytest.mark.parametrize("ending", [".keys", ".usearch"])
@pytest.mark.parametrize("damage", ["missing", "empty", "cut", "garbled"])
def test_a_damaged_file_makes_the_index_stale_and_empty(tmp_path: Path, ending: str, damage: str) -> None:
    made, vectors = filled(tmp_path / "chunks")
    made.save()
    file = next(p for p in tmp_path.iterdir() if p.suffix == ending)
    data = file.read_bytes()
    middle = len(data) // 2
    if damage == "missing":
        file.unlink()
    else:
        garbled = data[:middle] + b"\xff\n\x00" + data[middle + 3 :]
        file.write_bytes({"empty": b"", "cut": data[:middle], "garbled": garbled}[damage])
    again = index(tmp_path / "chunks")
    assert again.stale
    assert len(again) == 0
    again.add(["urn:new"], vectors[:1])
    again.save()
    assert list(index(tmp_path / "chunks")) == ["urn:new"]


def test_another_model_or_other_dimensions_make_the_index_stale(tmp_path: Path) -> None:
    made, _ = filled(tmp_path / "chunks")
    made.save()
    assert index(tmp_path / "chunks", model="other").stale
    assert index(tmp_path / "chunks", dimensions=8).stale


def test_vectors_of_another_shape_are_refused() -> None:
    with pytest.raises(ValueError, match="shape"):
        index().add(["urn:a"], unit(1, dimensions=8))
    with pytest.raises(ValueError, match="line break"):
        index().add(["urn:a\nb"], unit(1))


def test_names_that_begin_alike_do_not_share_files(tmp_path: Path) -> None:
    for name in ("chunks", "chunks-2"):
        made, _ = filled(tmp_path / name, count=3)
        made.save()
        made.save()
    assert len(index(tmp_path / "chunks")) == len(index(tmp_path / "chunks-2")) == 3


def test_a_killed_writer_leaves_an_old_or_a_new_index_whole(tmp_path: Path) -> None:
    program = textwrap.dedent(
        """
        import sys, numpy as np
        from pathlib import Path
        from kgplatform.vectors import VectorIndex
        made = VectorIndex(Path(sys.argv[1]), dimensions=16, model_name="m")
        for n in range(10**6):
            made.add([f"urn:{n}-{m}" for m in range(20)], np.random.default_rng(n).normal(size=(20, 16)).astype("f4"))
            made.save()
            print(n, flush=True)
        """
    )
    for wait in (0.0, 0.013, 0.031):
        path = tmp_path / str(wait) / "chunks"
        with subprocess.Popen([sys.executable, "-c", program, path], stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout
            process.stdout.readline()
            time.sleep(wait)
            os.kill(process.pid, signal.SIGKILL)
            done = 1 + max([0, *map(int, process.stdout.read().split())])
        again = index(path)
        assert not again.stale
        assert len(again) in (20 * done, 20 * (done + 1))


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(st.booleans(), st.integers(0, 12)), max_size=40))
def test_an_index_holds_what_was_added_and_not_removed(steps: list[tuple[bool, int]]) -> None:
    made, vectors, expected = index(), unit(13), set[str]()
    for adds, number in steps:
        iri = f"urn:{number}"
        if adds:
            made.add([iri], vectors[number : number + 1])
            expected.add(iri)
        else:
            assert made.remove([iri]) == (iri in expected)
            expected.discard(iri)
    assert set(made) == expected
    assert {iri for iri, _ in made.search(vectors[0], 100)} == expected
    assert all(iri in made for iri in expected)
