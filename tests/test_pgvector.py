"""Vectors in PostgreSQL: the same index as in files, told in one line what is wrong, and gone on without."""

import http.server
import re
import threading
import time

import numpy as np
import pytest

pytest.importorskip("pg8000", reason="needs pg8000: pip install 'kgplatform[cluster]'")

from nodes import journaled
from postgres_server import CutLine, postgres_server
from workspaces import new_workspace

from kgplatform.cli.main import main
from kgplatform.cluster.backup import move
from kgplatform.errors import ConfigError, StoreError
from kgplatform.graph import KnowledgeGraph
from kgplatform.journal import postgres_journal
from kgplatform.models.stubs import HashEmbedder
from kgplatform.store import pgvector
from kgplatform.store.pgvector import PostgresVectors, connected
from kgplatform.store.vectors import VectorIndex

DIMENSIONS = 32


@pytest.fixture(scope="module")
def database():
    with postgres_server() as server:
        yield server


@pytest.fixture
def kept_in(database):
    """Makes an index in the database; it is closed at the end."""
    made = []

    def index(name, dimensions=DIMENSIONS, model_name="m"):
        made.append(PostgresVectors(database.url, name=name, dimensions=dimensions, model_name=model_name))
        return made[-1]

    yield index
    for item in made:
        item.close()


def unit(rows):
    """Vectors of unit length, in clusters as those of texts are."""
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def made(count, seed=1, dimensions=DIMENSIONS):
    chance, centres = np.random.default_rng(seed), np.random.default_rng(0).normal(size=(64, dimensions))
    return unit(centres[chance.integers(0, 64, count)] + 0.6 * chance.normal(size=(count, dimensions)))


def test_both_indexes_say_the_same_whatever_is_added_replaced_and_removed(kept_in):
    ours = VectorIndex(None, dimensions=DIMENSIONS, model_name="m")
    theirs = kept_in("same")
    assert theirs.stale
    chance, vectors = np.random.default_rng(3), made(300)
    keys = chance.integers(0, 2**64, 300, dtype=np.uint64)
    for some in np.array_split(np.arange(300), 4):
        for index in (ours, theirs):
            index.add(keys[some], vectors[some])
            index.add(keys[some[:5]], vectors[some[5:10]])
            assert index.remove(keys[some[10:20]].tolist()) == 10
            assert index.remove([7]) == 0
            index.save()
    assert (len(ours), set(ours)) == (len(theirs), set(theirs))
    assert (ours.holds(keys) == theirs.holds(keys)).all()
    held = ours.keys()
    assert np.allclose(ours.vectors(held), theirs.vectors(held), atol=1e-3)
    with pytest.raises(KeyError):
        theirs.vectors([7])
    for query in made(20, seed=9):
        assert [key for key, _ in ours.search(query, 10)] == [key for key, _ in theirs.search(query, 10)]


def test_a_search_over_a_line_that_is_cut_ends_and_the_next_one_over_a_whole_line_finds(database, monkeypatch):
    for name in ("_READ_SECONDS", "_CONNECT_SECONDS"):
        monkeypatch.setattr(pgvector, name, 0.7)
    line = CutLine(database.port)
    url = database.url.replace(str(database.port), str(line.port))
    index, vectors = PostgresVectors(url, name="cut", dimensions=DIMENSIONS, model_name="m"), made(5)
    index.add(np.arange(5, dtype=np.uint64), vectors)
    index.save()
    assert index.search(vectors[0], 1)[0][0] == 0
    line.cut()
    began = time.monotonic()
    for asked in (
        lambda: index.search(vectors[0], 1),
        lambda: index.holds([1]),
        lambda: index.vectors([1]),
        index.keys,
        index.reload,
    ):
        with pytest.raises(StoreError, match=r"^[^\n]+$"):
            asked()
    assert time.monotonic() - began < 30
    line.mend()
    assert index.search(vectors[0], 1)[0][0] == 0
    index.close()
    line.close()


def test_what_was_not_saved_is_dropped_and_another_model_is_told(kept_in):
    index = kept_in("unsaved")
    vectors = made(3)
    index.add([1, 2], vectors[:2])
    index.save()
    index.add([3], vectors[2:])
    assert 3 in index
    index.revert()
    again = kept_in("unsaved")
    assert (sorted(again), again.stale, again.misfit) == ([1, 2], False, "")
    other = kept_in("unsaved", 16, "n")
    assert other.misfit == "the vectors were made by model 'm' (32 dimensions), not by 'n' (16)"
    other.add([5], made(1, dimensions=16))
    other.save()
    assert kept_in("unsaved").stale


@pytest.mark.slow
def test_of_five_hundred_questions_nearly_all_get_the_same_ten_as_an_exact_search(kept_in):
    vectors = made(4_000, dimensions=64)
    index = kept_in("many", 64)
    index.add(np.arange(len(vectors)), vectors)
    index.save()
    assert index._rows("SELECT count(*) FROM pg_indexes WHERE indexname LIKE '%%hnsw'")[0][0] == 1
    held = vectors.astype(np.float16).astype(np.float32)
    same = 0
    for query in made(500, seed=5, dimensions=64):
        exact = set(np.argsort(-(held @ query))[:10].tolist())
        same += exact == {key for key, _ in index.search(query, 10)}
    assert same / 500 >= 0.98


def test_what_is_wrong_with_a_database_is_one_line(database):
    with pytest.raises(StoreError, match=r"^the database postgres at 127\.0\.0\.1:1 cannot be used: [^\n]*refused$"):
        connected("postgresql://postgres@127.0.0.1:1")
    with pytest.raises(StoreError, match="password authentication failed"):
        connected(database.url.replace(database.password, "wrong"))
    with pytest.raises(StoreError, match='database "nowhere" does not exist'):
        connected(f"{database.url.rpartition('/')[0]}/nowhere")
    with pytest.raises(ConfigError, match=r"^'host/db' is no PostgreSQL address"):  # and the password is not shown
        connected("mysql://me:secret@host/db")


def test_passages_are_found_by_vectors_in_the_database_and_by_words_while_it_is_away(database, tmp_path):
    notes = tmp_path / "notes"
    notes.mkdir()
    for number, text in enumerate(("The inn has a garden.", "Boats leave at nine.", "西栅的门票是一百五十元。")):
        (notes / f"{number}.txt").write_text(text, encoding="utf-8")

    def opened(name, settings=""):
        kg = KnowledgeGraph.open(new_workspace(tmp_path / name, settings=settings))
        kg.workspace.__dict__["embedder"] = HashEmbedder()
        return kg

    with opened("files") as files, opened("base", f'[cluster]\nvectors = "{database.url}"') as kg:
        for each in (files, kg):
            list(each.add(notes))
        for text in ("garden of the inn", "boats at nine", "西栅门票"):
            found = [kg.chunks.nearest(text, 3), files.chunks.nearest(text, 3)]
            assert [key for key, _ in found[0]] == [key for key, _ in found[1]]
        kg.chunks.close()  # it is opened again when needed
        assert kg.chunks.nearest("garden", 1)
        database.stop("immediate")
        try:
            assert kg.search("garden of the inn", retriever="hybrid")[0].quote
            assert "cannot be" in kg.chunks.words_only
        finally:
            database.start()
        assert kg.chunks.nearest("garden", 1)


def test_doctor_asks_the_database_and_the_followers_and_names_the_way_out(database, tmp_path, capsys, monkeypatch):
    kg, moved = journaled(tmp_path / "w"), f"{database.url}?schema=doctored"

    def said(text):
        """The line of each machine of these settings, and whether all is well."""
        toml = tmp_path / "w" / "kgplatform.toml"
        toml.write_text(re.sub(r"(?s)\[cluster\].*", "", toml.read_text()) + f"\n[cluster]\n{text}\n")
        status = main(["doctor", "-w", str(tmp_path / "w")])
        lines = capsys.readouterr().out.splitlines()
        return status, [line for line in lines if re.search("PostgreSQL|FAULT", line)]

    with kg:
        status, lines = said(f'database = "{moved}"')
        assert (status, len(lines)) == (0, 1)
        assert re.search(r"ok +database +PostgreSQL \d+\S*, no journal in it yet; `kgplatform move --to`", lines[0])
        move(kg.workspace, moved)
    status, (line,) = said(f'database = "{moved}"')
    assert re.search(r"ok +database +PostgreSQL \d+\S*, journal at patch [1-9]\d*, nobody leads", line), line
    away, wrong = moved.replace(str(database.port), "9"), moved.replace("secret", "wrong")
    for url, told in (
        (away, "cannot be used: .*refused; see to it, or change cluster.database"),
        (wrong, "password authentication failed .*; the password is that of the address, or PGPASSWORD; see to it"),
        (moved.replace(f":{database.port}", ":port"), "is no PostgreSQL address: Port could not be cast"),
    ):
        status, lines = said(f'database = "{url}"')
        assert (status, len(lines)) == (1, 1)
        assert re.search(rf"FAULT +database +.*{told}", lines[0]), lines
    for name, oldest, told in (
        ("database", (postgres_journal, "_OLDEST", 990000), "PostgreSQL 13 or later is needed; see to it"),
        ("vectors", (pgvector, "_OLDEST", (99, 0)), "has no half precision; update the extension to 0.8; see to it"),
    ):
        with monkeypatch.context() as patched:
            patched.setattr(*oldest)
            status, lines = said(f'{name} = "{database.url}"')
        assert (status, len(lines)) == (1, 1)
        assert told in lines[0]
    with Refusing() as engine:
        status, lines = said(f'followers = ["oxigraph http://127.0.0.1:9", "fuseki http://x@127.0.0.1:{engine.port}"]')
        assert status == 1
        assert re.search(
            r"FAULT +follower +http://127.0.0.1:9 cannot be reached: .*; see to it, or change cluster", lines[0]
        )
        assert re.search(r"FAULT +follower .*refuses: 401 .*KGPLATFORM_FOLLOWER_PASSWORD; see to it", lines[1])


class Refusing:
    """An engine that lets nobody in."""

    def __enter__(self):
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                self.rfile.read(int(self.headers["Content-Length"]))
                self.send_error(401)

            def log_message(self, *_):
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self._server.shutdown()
        self._server.server_close()
