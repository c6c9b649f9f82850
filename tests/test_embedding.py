"""Embedders: the hashing one, one behind a server, and (marked) the real model."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgplatform.errors import ModelReplyError, ModelUnavailableError
from kgplatform.models.embedding import (
    OpenAIEmbedder,
    SentenceTransformersEmbedder,
    carried_is_genuine,
    carried_path,
    unit_length,
)
from kgplatform.protocols import Embedder
from kgplatform.testing import HashEmbedder


class _Handler(BaseHTTPRequestHandler):
    """Gives the vector (length of the text, 1), in reverse order, or what the name of the model asks for."""

    def log_message(self, *_: object) -> None:
        pass

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        vectors = [[float(len(text)), 1.0] for text in body["input"]]
        data: object = [{"index": index, "embedding": vector} for index, vector in enumerate(vectors)][::-1]
        if body["model"] == "one-short":
            data = data[1:]  # type: ignore[index]
        elif body["model"] == "ragged":
            data = [{"embedding": [1.0] * (index + 1)} for index in range(len(vectors))]
        elif body["model"] == "words":
            data = [{"embedding": "no"} for _ in vectors]
        elif body["model"] == "none":
            data = None
        payload = json.dumps({"data": data}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(payload)))
        self.end_headers()
        self.wfile.write(payload)


@pytest.fixture
def url() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/v1"
        server.shutdown()
        thread.join()


def _similarity(embedder: Embedder, first: str, second: str) -> float:
    one, two = embedder.embed([first, second])
    return float(one @ two)


@given(st.lists(st.text(max_size=20), max_size=5))
def test_hash_embedder_gives_unit_vectors_that_depend_on_their_text_only(texts: list[str]) -> None:
    embedder = HashEmbedder(32)
    vectors = embedder.embed(texts)
    assert vectors.shape == (len(texts), 32)
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-5)
    for row, text in zip(vectors, texts, strict=True):
        assert np.array_equal(row, embedder.embed([text])[0])


@pytest.mark.parametrize(
    ("text", "near", "far"),
    [("Xizha Scenic Area", "xizha scenic areas", "airport shuttle"), ("乌镇西栅景区", "西栅景区", "浦东国际机场")],
)
def test_hash_embedder_puts_like_spellings_near(text: str, near: str, far: str) -> None:
    embedder = HashEmbedder(256)
    assert isinstance(embedder, Embedder)
    assert _similarity(embedder, text, near) > 0.6 > 0.3 > _similarity(embedder, text, far)


def test_hash_embedder_gives_the_same_in_another_process() -> None:
    code = "from kgplatform.testing import HashEmbedder; print(HashEmbedder().embed(['Wuzhen 乌镇']).tobytes().hex())"
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
    assert printed == HashEmbedder().embed(["Wuzhen 乌镇"]).tobytes().hex()


def test_unit_length_gives_a_row_of_zeros_a_direction() -> None:
    rows = unit_length(np.array([[3, 4], [0, 0]], dtype=np.float32))
    assert rows.tolist() == [[pytest.approx(0.6), pytest.approx(0.8)], [1.0, 0.0]]


def test_server_embedder_keeps_the_order_over_batches(url: str) -> None:
    embedder = OpenAIEmbedder("m", url=url, batch_size=2)
    vectors = embedder.embed(["a", "bbb", "cc", "", "ddddd"])
    assert vectors.shape == (5, 2)
    lengths = vectors[:, 0] / vectors[:, 1]
    assert lengths.tolist() == pytest.approx([1, 3, 2, 1, 5])
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1.0)
    assert embedder.embed([]).shape == (0, 2)


def test_server_embedder_asks_for_its_dimensions(url: str) -> None:
    assert OpenAIEmbedder("m", url=url).dimensions == 2


@pytest.mark.parametrize("name", ["one-short", "ragged", "words", "none"])
def test_server_that_does_not_answer_with_vectors_is_a_reply_error(url: str, name: str) -> None:
    with pytest.raises(ModelReplyError, match=f"'{name}' at {url} answers with"):
        OpenAIEmbedder(name, url=url).embed(["a", "b"])


def test_server_embedder_says_when_nobody_listens() -> None:
    with pytest.raises(ModelUnavailableError, match="connection refused"):
        OpenAIEmbedder("m", url="http://127.0.0.1:9/v1", sleep=lambda _: None).embed(["a"])


def test_default_model_says_that_it_knows_english_only() -> None:
    default = SentenceTransformersEmbedder()
    assert default.languages == {"en"}
    assert default.dimensions == 384
    assert SentenceTransformersEmbedder("all-MiniLM-L6-v2").name == default.name
    assert SentenceTransformersEmbedder("bge-m3", languages=frozenset({"zh"})).languages == {"zh"}
    assert SentenceTransformersEmbedder("bge-m3").languages == frozenset()


@pytest.fixture(scope="module")
def default() -> SentenceTransformersEmbedder:
    return SentenceTransformersEmbedder()


@pytest.mark.embedding
def test_carried_model_has_the_known_weights() -> None:
    assert carried_is_genuine()


@pytest.mark.embedding
def test_default_model_puts_like_meanings_near(default: SentenceTransformersEmbedder) -> None:
    near = _similarity(default, "A hotel for families", "Child-friendly accommodation")
    far = _similarity(default, "A hotel for families", "The runway was closed by fog")
    assert near > 0.5
    assert far < 0.2


@pytest.mark.embedding
def test_default_model_gives_float32_of_unit_length_in_the_order_of_the_texts(
    default: SentenceTransformersEmbedder,
) -> None:
    texts = ["short", "a much longer text about the canals of the old town " * 8, "", "middle sized text here"] * 5
    vectors = default.embed(texts)
    assert vectors.shape == (20, default.dimensions)
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-5)
    for index, text in enumerate(texts[:4]):
        assert float(vectors[index] @ default.embed([text])[0]) > 0.998
    assert default.embed([]).shape == (0, 384)


@pytest.mark.embedding
def test_default_model_may_be_used_by_threads(default: SentenceTransformersEmbedder) -> None:
    expected = default.embed(["West Lake"])
    got: list[np.ndarray] = []
    threads = [threading.Thread(target=lambda: got.append(default.embed(["West Lake"]))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(got) == 4
    assert all(float(vectors[0] @ expected[0]) > 0.999 for vectors in got)


@pytest.mark.embedding
def test_model_that_is_not_here_is_told_at_once(tmp_path: Path) -> None:
    import sentence_transformers  # noqa: F401 - takes seconds, the refusal must not

    started = time.perf_counter()
    for name in ("no-such-model", "nobody/no-such-model", "/no/such/folder"):
        with pytest.raises(ModelUnavailableError, match="is not on this machine") as caught:
            SentenceTransformersEmbedder(name).embed(["x"])
        assert "\n" not in str(caught.value)
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(ModelUnavailableError, match="does not hold a usable model"):
        _ = SentenceTransformersEmbedder(str(tmp_path)).dimensions
    assert time.perf_counter() - started < 30


@pytest.mark.embedding
def test_the_carried_model_gives_the_same_vectors_without_torch(default: SentenceTransformersEmbedder) -> None:
    texts = [
        "West Lake",
        "",
        "乌镇 is a water town",
        "The canal runs past the old theatre; tickets cost 40 yuan. " * 40,
    ]
    local = SentenceTransformersEmbedder(str(carried_path()), threads=1)
    assert np.allclose(default.embed(texts), local.embed(texts), atol=1e-5 if is_single_precision(local) else 2e-2)
    for ours, theirs in zip(default.token_vectors(texts[:3]), local.token_vectors(texts[:3]), strict=True):
        assert ours.shape == theirs.shape
        assert np.allclose(ours, theirs, atol=1e-4 if is_single_precision(local) else 5e-2)


def is_single_precision(model: SentenceTransformersEmbedder) -> bool:
    return "float32" in str(next(model._loaded().parameters()).dtype)


@pytest.mark.embedding
def test_few_texts_load_no_torch() -> None:
    code = (
        "import sys; from kgplatform.models.embedding import SentenceTransformersEmbedder;"
        "SentenceTransformersEmbedder().embed(['x'] * 256);"
        "print(sorted({'torch', 'transformers', 'sentence_transformers'} & sys.modules.keys()))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("[]\n", "")


@pytest.mark.embedding
def test_model_is_loaded_from_a_folder_too(default: SentenceTransformersEmbedder) -> None:
    local = SentenceTransformersEmbedder(str(carried_path()), threads=1)
    assert local.dimensions == 384
    assert float(local.embed(["West Lake"])[0] @ default.embed(["West Lake"])[0]) > 0.999


@pytest.mark.embedding
def test_loading_prints_nothing() -> None:
    code = (
        "from kgplatform.models.embedding import SentenceTransformersEmbedder;"
        "SentenceTransformersEmbedder().embed(['x'])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("", "")


@pytest.mark.embedding
def test_the_last_single_texts_are_remembered_and_cannot_be_spoilt():
    embedder = SentenceTransformersEmbedder()
    first = embedder.embed(["a boat"])
    kept = first.copy()
    first[:] = 0
    assert np.array_equal(embedder.embed(["a boat"]), kept)
    for number in range(40):
        embedder.embed([f"text {number}"])
    assert np.allclose(embedder.embed(["a boat"]), kept, atol=1e-5)
