"""Retrieval: what each method finds, in both languages, how it ranks, and what the index does when things change."""

from __future__ import annotations

import subprocess
import sys
from functools import cache

import numpy as np
import pytest
from pyoxigraph import NamedNode

from kgplatform.errors import ConfigError, ModelUnavailableError, WorkspaceError
from kgplatform.models.embed import CrossEncoderReranker, LateInteraction
from kgplatform.models.stubs import HashEmbedder
from kgplatform.retrieval import sources
from kgplatform.retrieval.fusion import FoundPage, MultiStageRetriever, Stages, fused, search_pages
from kgplatform.retrieval.index import ChunkIndex, IndexOptions, Synced
from kgplatform.retrieval.methods import RETRIEVERS, lacking, retriever
from kgplatform.retrieval.pagerank import GraphPassage
from kgplatform.retrieval.similarity import SourceText
from kgplatform.retrieval.sources import Corpus, spread
from kgplatform.types import Chunk, Hit

TEXTS = {
    "ticket": ("Wuzhen", "A ticket for the West Scenic Zone costs 150 yuan. The zone stays open until 22:00."),
    "museum": ("Wuzhen", "The Hundred Beds Museum in Dongzha shows beds of six dynasties; the museum opens at 7:00."),
    "hotel": ("Where to sleep", "The resort has 345 rooms inside the gates and suits families with small children."),
    "inn": ("Lodging", "The inn by the canal has nine beds for parents and a boat for guests."),
    "noodles": ("Eating", "Lamb noodles at the noodle house fed all four of us for 60 yuan."),
    "zh-ticket": ("乌镇攻略", "西栅门票150元,东栅门票110元,开放时间是9:00到22:00。"),
    "zh-hotel": ("住宿", "枕水度假酒店在西栅景区里面,适合一家人住。"),
    "zh-food": ("吃在绍兴", "咸亨酒店的茴香豆和黄酒很有名。"),
}
FALLING = ("lexical", "dense", "hybrid", "multi-stage", "pagerank", "pagerank-shared")


def chunk(name, title, text):
    return Chunk(NamedNode(f"urn:{name}"), NamedNode("urn:document"), 0, 0, len(text), text), title


def chunks(*names):
    return [chunk(name, *TEXTS[name]) for name in names or TEXTS]


def corpus(folder=None, *names, embedder=None):
    index = ChunkIndex(folder / "chunks" if folder else None, embedder or HashEmbedder(256))
    index.sync(chunks(*names))
    passages = [GraphPassage(f"urn:{name}", *TEXTS[name]) for name in names or TEXTS]
    documents = [SourceText(passage.iri, passage.title, passage.text) for passage in passages]
    kept = folder / "graphs" if folder else None
    return Corpus(index, passages=lambda: passages, documents=lambda: documents, folder=kept)


@cache
def shared():
    return corpus()


def found(made, name, question, k=3):
    return [hit.iri.value.removeprefix("urn:") for hit in retriever(name, made).retrieve(question, k)]


@pytest.mark.parametrize(
    ("methods", "question", "expected"),
    [
        ("lexical hybrid", "Which hotels have rooms for a family?", "hotel"),
        ("lexical hybrid", "What is the price of a ticket to the west scenic zone?", "ticket"),
        ("lexical hybrid", "DONGZHA museums", "museum"),
        ("lexical hybrid", "西栅的门票多少钱?", "zh-ticket"),
        ("lexical hybrid", "哪些酒店适合一家人", "zh-hotel"),
        ("lexical hybrid", "绍兴有什么好吃的", "zh-food"),
        ("lexical hybrid", "枕水度假 hotel", "zh-hotel"),
        ("lexical hybrid", "Wo ist das Museum in Dongzha?", "museum"),
        ("lexical", "sleep", "hotel"),
        ("lexical", "住宿", "zh-hotel"),
        ("dense", "noodel hous lamb", "noodles"),
        *(
            ("lexical hybrid multi-stage", question, expected)
            for question, expected in (
                ("noodle houses", "noodles"),
                ("beds of dynasties", "museum"),
                ("东栅门票", "zh-ticket"),
            )
        ),
    ],
)
def test_a_method_finds_the_passage_in_both_languages(methods, question, expected):
    assert {name: found(shared(), name, question)[0] for name in methods.split()} == dict.fromkeys(
        methods.split(), expected
    )


ODD = ("", "   ", "?!", 'AND OR "(', "iri:*", "\x00", "😀", "the of", "?" * 3000, "西栅在哪里?")
FOREIGN = ("Wo liegt das Hotel?", "ホテルはどこですか？", "где находится отель?", "أين يقع الفندق؟", "ห้องพักครอบครัว")


@pytest.mark.parametrize("name", RETRIEVERS)
def test_any_question_and_any_k_is_ranked_from_one_without_repetition(name):
    for question in ("family rooms and a ticket for the zone", *ODD, *FOREIGN):
        hits = retriever(name, shared()).retrieve(question, 4)
        assert [hit.rank for hit in hits] == list(range(1, len(hits) + 1))
        assert len({hit.iri for hit in hits}) == len(hits) <= 4
        assert all(hit.text and hit.retriever == name for hit in hits)
        if name in FALLING:
            assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    for k in (0, -1, 10**6):
        assert len(retriever(name, shared()).retrieve("tickets for Xizha 西栅", k)) <= max(0, min(k, 20))
    assert retriever(name, Corpus(ChunkIndex(None, HashEmbedder()))).retrieve("tickets", 10**6) == []


def test_an_unknown_retriever_is_answered_with_the_nearest():
    for name, told in {"lexicl": "'lexical'", "pagerang": "pagerank", "xyz": "pagerank, hybrid"}.items():
        with pytest.raises(ConfigError, match=told):
            retriever(name, shared())


def test_what_was_left_out_is_answered_with_what_to_take_instead():
    instead = {"hybrid-9-1": "hybrid", "word-vectors": "lexical", "kg-published": "kg", "pagerank-stated": "pagerank"}
    for name, other in instead.items():
        with pytest.raises(ConfigError, match=f"{name}.*{other}.*retrieval.retriever") as error:
            retriever(name, shared())
        assert "\n" not in str(error.value)


LETTERS = "abcdefghijklmnopqrstuvwxyz"


def many(folder, count, first=0):
    """So many notes, each of which shares a name with its neighbour; what a question takes waits for `connect`."""
    texts = [f"From pier {n} goes the Li{LETTERS[n // 2 % 26]}ne at nine." for n in range(first, first + count)]
    index = ChunkIndex(folder / "chunks", HashEmbedder(64))
    index.sync([chunk(f"{n}", f"Note {n}", text) for n, text in enumerate(texts, first)])
    passages = [GraphPassage(f"urn:{n}", f"Note {n}", text) for n, text in enumerate(texts, first)]
    return Corpus(index, passages=lambda: passages, folder=folder / "graphs")


def test_pagerank_is_hybrid_where_nothing_connects_the_passages_and_that_can_be_told(tmp_path):
    bare = Corpus(ChunkIndex(None, HashEmbedder(64)))
    assert lacking("pagerank-shared", bare) == ""
    bare.index.sync(chunks("noodles"))
    assert found(bare, "pagerank-shared", "noodles") == found(bare, "hybrid", "noodles") == ["noodles"]
    assert lacking("pagerank-shared", bare) == "lacks_shared_names"
    assert lacking("greedy", bare) == lacking("dual-level", bare) == lacking("sparql", bare) == "lacks_entities"
    assert (lacking("pagerank", bare), lacking("communities", bare)) == ("lacks_statements", "lacks_communities")
    assert {lacking(name, bare) for name in ("hybrid", "lexical", "sentences")} == {""}
    assert lacking("pagerank-shared", many(tmp_path, 4)) == ""


def test_a_question_does_not_wait_for_the_graph_of_many_passages(tmp_path, monkeypatch):
    monkeypatch.setattr(sources, "AT_ONCE", 10)
    made = many(tmp_path, 20)
    assert lacking("pagerank-shared", made) == "lacks_passage_graph"
    assert found(made, "pagerank-shared", "pier 4") == found(made, "hybrid", "pier 4")
    told = []
    assert made.connect(lambda *done: told.append(done))
    assert told == [(0, 20, "connect")]
    assert not made.connect()
    assert lacking("pagerank-shared", made) == ""
    assert set(found(made, "pagerank-shared", "From pier 8 goes the Liene at nine.", 2)) == {"8", "9"}
    # one in twenty is new and one is gone: the graph serves, and finds the new one
    later = many(tmp_path, 20, first=1)
    assert lacking("pagerank-shared", later) == ""
    assert found(later, "pagerank-shared", "From pier 20 goes the Likne at nine.", 1) == ["20"]
    assert "0" not in found(later, "pagerank-shared", "pier 0", 20)
    assert not later.connect()
    # of half of them the graph knows nothing
    other = many(tmp_path, 20, first=10)
    assert lacking("pagerank-shared", other) == "lacks_passage_graph"
    assert other.connect()
    monkeypatch.setattr(sources, "MOST_CONNECTED", 15)
    assert lacking("pagerank-shared", many(tmp_path, 20, first=40)) == "lacks_room"


def test_passages_of_one_document_take_no_places_while_others_have_some():
    iris = [f"urn:{name}/chunk/{n}" for name, n in (("a", 0), ("a", 1), ("b", 0), ("a", 2), ("c", 5), ("b", 1))]
    hits = [Hit(NamedNode(iri), "", 1 / rank, rank, "x") for rank, iri in enumerate(iris, 1)]

    def kept(k, per_document):
        given = spread(hits, k, per_document)
        assert [hit.rank for hit in given] == list(range(1, len(given) + 1))
        return [hit.iri.value[4] + hit.iri.value[-1] for hit in given]

    assert kept(3, 1) == ["a0", "b0", "c5"]
    assert kept(4, 1) == ["a0", "b0", "c5", "a1"]
    assert kept(4, 2) == ["a0", "a1", "b0", "c5"]
    assert kept(4, 0) == ["a0", "a1", "b0", "a2"]
    sentence = [Hit(NamedNode(f"urn:a#char={n},9"), "", 1.0, n, "x") for n in (1, 2)]
    assert spread(sentence, 2, 1) == sentence


class EnglishEmbedder(HashEmbedder):
    languages = frozenset({"en"})

    def embed(self, texts):
        assert not any("吗" in text for text in texts)
        return super().embed(texts)


def test_hybrid_leaves_an_english_model_out_of_a_chinese_question():
    made = corpus(embedder=EnglishEmbedder(256))
    assert found(made, "hybrid", "西栅有酒店吗", 5) == found(made, "lexical", "西栅有酒店吗", 5)
    assert len(found(made, "hybrid", "hotel", 9)) == 5  # the Chinese passages have no vectors


class FarEmbedder(HashEmbedder):
    """Knows no difference between passages, but holds the one on noodles for the farthest from everything."""

    def embed(self, texts):
        return np.array([[0.8, 0.6] if "noodle house" in text else [1.0, 0.0] for text in texts], dtype=np.float32)


def test_the_walk_begins_at_the_passage_that_holds_the_words_too():
    made = corpus(embedder=FarEmbedder(2))
    assert found(made, "dense", "lamb", 8)[-1] == "noodles"
    assert found(made, "pagerank-shared", "lamb")[0] == "noodles"
    # of many words it holds few: it stays where its meaning puts it
    assert found(made, "pagerank-shared", "lamb or tickets for a museum of dynasties and beds?")[0] != "noodles"


def test_without_an_embedder_words_still_find():
    index = ChunkIndex(None, None)
    index.sync(chunks())
    assert found(Corpus(index), "hybrid", "noodles")[0] == "noodles"
    assert found(Corpus(index), "dense", "noodles") == []


def ranking(**scores):
    return [Hit(NamedNode(f"urn:{n}"), n, score, rank, "x") for rank, (n, score) in enumerate(scores.items(), 1)]


def test_fusion_adds_reciprocal_ranks():
    hits = fused([(1.0, ranking(a=9.0, b=9.0, c=9.0)), (2.0, ranking(c=9.0, b=9.0))], 2, "both")
    assert [(hit.text, hit.rank) for hit in hits] == [("c", 1), ("b", 2)]
    assert hits[0].score == pytest.approx(1 / 63 + 2 / 61)


class LongestFirst:
    """A judge that likes long passages, and keeps what it was shown."""

    name = "longest first"

    def __init__(self):
        self.shown = []

    def rate(self, question, passages):
        self.shown += passages
        return np.array([len(passage) for passage in passages], dtype=np.float32)


def test_the_stages_let_fewer_through_and_the_judge_reads_the_title_with_the_passage():
    made, judge = corpus(), LongestFirst()
    made.reranker = judge
    finder = MultiStageRetriever(made, Stages(sparse=4, by_words=1, by_meaning=2))
    hits, trace = finder.traced("families with children in rooms by the canal for 150 yuan", 4)
    assert [stage.name for stage in trace] == ["words", "best by words", "by meaning", "judged"]
    assert [len(stage.passages) for stage in trace[:3]] == [4, 1, 2]
    assert 2 <= len(judge.shown) <= 3
    assert all(text.partition("\n")[0] in {title for title, _ in TEXTS.values()} for text in judge.shown)
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    assert len(hits) == 4


def test_pages_are_cut_and_their_snippets_count():
    long = "\n\n".join(f"Paragraph {n} is about the water towns of the delta and their bridges." for n in range(120))
    ferry = f"{long}\n\nThe night ferry leaves at 21:40."
    pages = [
        FoundPage("https://example.org/a", "Water towns", ferry, "Ferries and bridges"),
        FoundPage("https://example.org/b", "乌镇", "西栅门票150元。", "门票与开放时间"),
    ]
    first = search_pages("When does the night ferry leave?", pages, 3, embedder=HashEmbedder(256))[0]
    assert "21:40" in first.text
    assert len(first.text) < len(long) / 2
    assert first.iri.value.startswith("https://example.org/a#char=")
    assert search_pages("门票", pages, 3)[0].iri.value.startswith("https://example.org/b#")
    assert search_pages("anything", [], 3) == search_pages("ferry", pages, 0) == []


def test_late_interaction_prefers_the_passage_that_has_each_word():
    judge = LateInteraction(HashEmbedder(256))
    ratings = judge.rate("boat for children", ["a boat for small children", "a house of noodles", ""])
    assert ratings[0] > ratings[1] >= ratings[2] == 0.0
    assert judge.rate("", ["a"]).tolist() == [0.0]


@pytest.mark.slow
def test_a_reranker_that_is_not_there_is_one_clear_line(tmp_path):
    for name, told in {
        "no/such-model": "'no/such-model' is not on this machine",
        str(tmp_path): "a usable model",
    }.items():
        with pytest.raises(ModelUnavailableError, match=told):
            CrossEncoderReranker(name).rate("q", ["a"])


@pytest.mark.slow
@pytest.mark.embedding
def test_the_default_models_tokens_judge_and_a_cross_encoder_of_a_folder_is_used(tmp_path):
    from transformers import AutoTokenizer, BertConfig, BertForSequenceClassification

    from kgplatform.models.embed import SentenceTransformersEmbedder, carried_path

    judge = LateInteraction(SentenceTransformersEmbedder())
    ratings = judge.rate("how much is admission?", ["Tickets cost 150 yuan.", "The boat has nine seats."])
    assert ratings[0] > ratings[1]
    size = BertConfig(hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32, num_labels=1)
    BertForSequenceClassification(size).save_pretrained(tmp_path)
    AutoTokenizer.from_pretrained(carried_path()).save_pretrained(tmp_path)
    assert CrossEncoderReranker(str(tmp_path)).rate("q", ["one", "two words", "three"]).shape == (3,)


@pytest.mark.embedding
def test_the_default_model_finds_by_meaning():
    from kgplatform.models.embed import SentenceTransformersEmbedder

    made = corpus(embedder=SentenceTransformersEmbedder())
    assert found(made, "dense", "accommodation for small children and their parents")[0] in ("hotel", "inn")
    assert found(made, "hybrid", "how much is admission to the zone")[0] == "ticket"
    assert found(made, "hybrid", "东栅的门票")[0] == "zh-ticket"


def test_sync_follows_what_is_there_and_an_index_is_found_again(tmp_path):
    index = ChunkIndex(tmp_path, HashEmbedder(256))
    assert index.sync(chunks("ticket", "hotel")) == Synced(2, 0)
    assert index.sync(chunks("ticket", "hotel")) == Synced(0, 0)
    assert index.sync(chunks("hotel", "noodles")) == Synced(1, 1)
    assert (len(index), "urn:ticket" in index) == (2, False)
    assert found(Corpus(index), "lexical", "ticket") == []
    (text, title), *rest = chunks("hotel", "noodles")
    changed = Chunk(text.iri, text.document, 0, 0, 20, "Bamboo on Moganshan.")
    index.sync([(changed, title), *rest])
    again = ChunkIndex(tmp_path, HashEmbedder(256))
    assert (again.stale, again.sync([(changed, title), *rest])) == (False, Synced(0, 0))
    assert found(Corpus(again), "lexical", "bamboo") == ["hotel"]
    assert found(Corpus(again), "dense", "Bamboo on Moganshan")[0] == "hotel"


def test_passages_can_be_added_and_removed_one_by_one(tmp_path):
    index = ChunkIndex(tmp_path, HashEmbedder(256))
    assert index.add(chunks("ticket", "hotel")) == Synced(2, 0)
    before = index.state
    assert index.add(chunks("ticket")) == Synced(0, 0)
    assert index.add([chunk("ticket", "Wuzhen", "It is free now.")]) == Synced(0, 0)
    assert index.state != before
    assert (index.remove(["urn:hotel", "urn:nowhere"]), len(index), index.stale) == (1, 1, False)
    again = ChunkIndex(tmp_path, HashEmbedder(256))
    assert [passage.text for passage in again.passages()] == ["It is free now."]
    assert found(Corpus(again), "dense", "It is free now") == ["ticket"]
    assert again.sync(chunks("ticket", "hotel")).added == 1
    assert again.texts(["urn:ticket"]) == {"urn:ticket": TEXTS["ticket"][1]}
    assert again.state == before


@pytest.mark.parametrize("side", ["lexical", "vectors"])
@pytest.mark.parametrize("damage", [None, b"", b"\x00not what it was" * 20])
def test_a_damaged_side_is_built_again_by_the_next_sync(tmp_path, side, damage):
    ChunkIndex(tmp_path, HashEmbedder(256)).sync(chunks())
    for file in (tmp_path / side).iterdir():
        file.unlink() if damage is None else file.write_bytes(damage)
    again = ChunkIndex(tmp_path, HashEmbedder(256))
    assert again.stale
    again.sync(chunks())
    assert not again.stale
    assert found(Corpus(again), "hybrid", "西栅门票")[0] == "zh-ticket"
    assert found(Corpus(again), "dense", TEXTS["noodles"][1])[0] == "noodles"


def test_vectors_of_another_model_are_not_used_and_the_way_out_is_said(tmp_path):
    ChunkIndex(tmp_path, HashEmbedder(256)).sync(chunks())
    again = ChunkIndex(tmp_path, HashEmbedder(64))
    made = Corpus(again)
    assert again.stale
    for act in (lambda: retriever("dense", made).retrieve("rooms", 3), lambda: again.add(chunks("inn"))):
        with pytest.raises(WorkspaceError, match=r"256 dimensions.*\(64\); `kgplatform build --only index`"):
            act()
    assert found(made, "hybrid", "lamb noodles") == found(made, "lexical", "lamb noodles")
    assert found(made, "pagerank-shared", "lamb noodles")[0] == "noodles"
    again.sync(chunks())
    assert (again.misfit, found(made, "dense", TEXTS["hotel"][1])[0]) == ("", "hotel")


class BrokenEmbedder(HashEmbedder):
    def embed(self, texts):
        raise ModelUnavailableError("down", model=self.name)


def test_a_sync_that_fails_is_completed_by_the_next(tmp_path):
    with pytest.raises(ModelUnavailableError):
        ChunkIndex(tmp_path, BrokenEmbedder(256)).sync(chunks())
    index = ChunkIndex(tmp_path, HashEmbedder(256))
    index.sync(chunks())
    assert index.sync(chunks()) == Synced(0, 0)


def test_a_second_writer_is_told_and_a_reader_sees_what_was_saved_after_reloading(tmp_path):
    reader, index = (ChunkIndex(tmp_path, HashEmbedder(256)) for _ in range(2))
    index.sync(chunks())
    reader.reload()
    assert (len(reader), found(Corpus(reader), "dense", TEXTS["inn"][1])[0]) == (len(TEXTS), "inn")
    program = "import sys, tantivy; w = tantivy.Index.open(sys.argv[1]).writer(); print('locked', flush=True); input()"
    command = [sys.executable, "-c", program, str(tmp_path / "lexical")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "locked\n"
        with pytest.raises(WorkspaceError, match="another process"):
            index.sync(chunks("hotel"))
        assert found(Corpus(ChunkIndex(tmp_path, HashEmbedder(256))), "lexical", "noodles") == ["noodles"]
        process.communicate("\n")
    assert index.sync(chunks("hotel")) == Synced(0, len(TEXTS) - 1)


def test_settings_and_folders_that_cannot_be_used_are_one_clear_line(tmp_path):
    with pytest.raises(ConfigError, match=r"retrieval\.storage is 'i4'; it must be one of auto, f32"):
        IndexOptions(storage="i4")
    with pytest.raises(ConfigError, match=r"retrieval\.search is 'fast'"):
        IndexOptions(search="fast")
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(WorkspaceError, match="word index"):
        ChunkIndex(tmp_path / "file", None)


def test_a_date_is_found_however_the_cell_goes_on():
    index = ChunkIndex(None, None)
    index.sync([chunk(f"d{day}", "", f"KL1228 on blocks 2025-03-{day}T07:25:00") for day in (10, 11, 12)])
    assert found(Corpus(index), "lexical", "KL1228 on 2025-03-11")[0] == "d11"
