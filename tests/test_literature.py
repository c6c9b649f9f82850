"""Literature: what papers say, by themselves and by a model that is held to their passages; the verb and the pages."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from studies import CHINESE, SPEAKERS, STREAM, Campus, field, iri

from kgplatform.academic.comparing import SuggestionKind, compare
from kgplatform.academic.guarding import unsupported
from kgplatform.academic.literature import digest, review
from kgplatform.academic.papers import Library, Sentence
from kgplatform.academic.topics import topics, trends
from kgplatform.academic.writing import fitting
from kgplatform.cli.main import main
from kgplatform.documents.sections import SectionKind
from kgplatform.errors import ModelUnavailableError, NotFoundError
from kgplatform.graph import KnowledgeGraph
from kgplatform.testing import HashEmbedder, ScriptedModel
from kgplatform.types import Evidence
from kgplatform.web.app import create_app


def library(*, language: str = "en", embedder: bool = True) -> Library:
    campus = Campus(HashEmbedder() if embedder else None)
    campus.state(field())
    for text in (STREAM, SPEAKERS):
        campus.read(text)
    campus.read(CHINESE, language="zh")
    campus.read("Course pages have no abstract. They are no papers.")
    return Library(campus.parts, language)


def passage(quote: str, title: str = "A Paper") -> Evidence:
    return Evidence(iri("d"), iri("d"), title, "d.txt", quote, 0, len(quote))


def test_papers_are_texts_with_an_abstract_joined_to_the_graph_by_their_titles():
    found = library()
    told = {paper.title: paper for paper in found.digested()}
    assert set(told) == {"Streaming Recognition with Short Memory", "Two Speakers at Once", "《短时记忆的流式识别》"}
    assert told["Two Speakers at Once"].iri == iri("speakers")
    assert (told["Two Speakers at Once"].year, told["Two Speakers at Once"].year_read) == (2023, True)
    assert (told["Streaming Recognition with Short Memory"].year_read) is False
    assert told["《短时记忆的流式识别》"].year == 2021
    assert found.papers[iri("older")].texts == ()


def test_every_sentence_stands_where_it_says():
    found = library()
    for paper in found.digested():
        texts = {text.iri: text.text for text in paper.texts}
        sentences = found.sentences(paper, tuple(SectionKind))
        assert sentences
        for sentence in sentences:
            source = sentence.source
            assert texts[source.document][source.start : source.end] == source.quote
            assert sentence.text == " ".join(source.quote.split())


def test_topics_have_their_years_and_direction():
    found = library()
    papers = found.digested()
    by_name = {trend.topic.name: trend for trend in trends(topics(found, papers), papers)}
    assert dict(by_name["NoiseBank"].years) == {2021: 2, 2023: 1}
    assert by_name["NoiseBank"].topic.iri == iri("noisebank")
    assert by_name["NoiseBank"].direction == 0
    assert by_name["SM-Net"].direction == 1


def test_open_problems_are_the_plainest_sentences_in_both_languages():
    texts = [item.sentence.text for item in digest(library()).gaps]
    assert "Handling two speakers is left for future work." in texts
    assert "流式语音识别难以利用很长的上下文，长句仍有待研究。" in texts
    assert "Both streams are decoded together." not in texts


def test_a_topic_finds_the_papers_that_speak_of_it():
    made = digest(library(), topic="two speakers at once")
    assert made.relevant[0].paper == iri("speakers")
    assert "speakers" in made.relevant[0].sentence.text
    chinese = digest(library(embedder=False), topic="流式语音识别")
    assert [item.sentence.text[:2] for item in chinese.relevant][:1] == ["本文"]
    assert digest(library(embedder=False), topic="volcanoes").relevant == ()


def test_papers_are_in_exactly_one_cluster_each():
    made = digest(library())
    assert sorted(paper.value for cluster in made.clusters for paper in cluster.papers) == sorted(
        paper.iri.value for paper in made.papers
    )
    assert [(item.paper, item.cited, item.known) for item in made.citations] == [
        (iri("speakers"), iri("older"), False),
        (iri("speakers"), iri("stream"), True),
    ]


def test_results_are_read_with_metric_and_data_set():
    found = library()
    made = compare(found, found.digested())
    told = {(r.value, r.metric, r.dataset) for column in made.columns for r in column.results}
    assert told == {
        ("4.5 %", "word error rate", "NoiseBank"),
        ("6.1 %", "word error rate", "NoiseBank"),
        ("5.2 %", "词错误率", "NoiseBank"),
    }
    stream = next(column for column in made.columns if column.paper.iri == iri("stream"))
    assert [value.name for value in stream.aspects["proposed"]] == ["SM-Net"]
    assert "SM-Net combines a convolutional encoder with a small decoder." in [s.text for s in stream.details]


def test_suggestions_join_what_is_open_with_what_another_paper_does():
    found = library()
    made = compare(found, [found.find("Short Memory"), found.find("Two Speakers")])
    same = next(item for item in made.suggestions if item.kind is SuggestionKind.SAME_DATA)
    assert (same.about, set(same.papers)) == ("NoiseBank", {iri("stream"), iri("speakers")})
    addressed = [item for item in made.suggestions if item.kind is SuggestionKind.ADDRESSED]
    assert any("two speakers" in item.about and item.papers[1] == iri("speakers") for item in addressed)
    assert all(item.sentences for item in made.suggestions)


def test_without_a_model_every_sentence_is_a_paper_s_own():
    for text in (digest(library(), topic="streaming").text, review(library(), ["Short Memory", "Two Speakers"]).text):
        assert text.sentences
        assert all(item.text == " ".join(item.sources[0].quote.split()) for item in text.sentences)
        assert text.model is None


@pytest.mark.parametrize("names", [["Nothing"], ["An Older Paper"], ["s"]])
def test_papers_that_cannot_be_compared_are_named(names):
    with pytest.raises(NotFoundError):
        review(library(), names)


@pytest.mark.parametrize(
    ("sentence", "quote", "why"),
    [
        ("SM-Net reaches 4.5 percent.", "SM-Net reaches 4.5 percent.", None),
        ("SM-Net reaches 4.4 percent.", "SM-Net reaches 4.5 percent.", "4.4"),
        ("BERT was used.", "A model was used.", "BERT"),
        ("The model was trained by Ada Byron.", "The model was trained.", "Ada"),
        ("It has 175 billion parameters [1].", "It has 175 billion parameters.", None),
        ("It has 2 decoders.", "It has two decoders.", None),
        ("1,000 hours of speech were used.", "1000 hours of speech were used.", None),
        ("Transformers are used.", "A Transformer is used.", None),
        ("词错误率为 5.2%。", "短时网络的词错误率为 5.2%。", None),
        ("词错误率为 5.1%。", "短时网络的词错误率为 5.2%。", "5.1"),
        ("该文采用 BERT。", "该文采用卷积编码器。", "BERT"),
        ("《红楼梦》提出了它。", "本文提出了它。", "红楼梦"),
    ],
)
def test_a_sentence_with_a_number_or_name_its_passages_lack_is_not_borne_out(sentence, quote, why):
    reason = unsupported(sentence, [passage(quote)])
    assert (reason is None) if why is None else (reason is not None and why in reason)


def test_a_name_of_the_graph_may_not_be_brought_in_either():
    assert unsupported("it uses 停止单元网络", [passage("它使用编码器")], ["停止单元网络"]) is not None
    assert unsupported("it uses 停止单元网络", [passage("停止单元网络很小")], ["停止单元网络"]) is None
    assert unsupported("它采用循环网络。", [passage("It is a recurrent network.")], ["循环网络"]) is None


@given(st.text(alphabet="abc ABC019.,%-中文《》", max_size=40))
def test_a_sentence_that_is_its_passage_is_always_borne_out(text):
    assert unsupported(text, [passage(text)]) is None


def reply(*sentences: tuple[str, str, list[int]]) -> str:
    return json.dumps({"sentences": [{"part": p, "text": t, "sources": s} for p, t, s in sentences]})


def test_what_a_model_makes_up_is_dropped_and_the_rest_keeps_its_passages():
    found = library()
    first = fitting([s for p in found.digested() for s in found.sentences(p)])
    model = ScriptedModel(
        reply(
            ("overview", "A streaming recognizer for speech is proposed.", [1]),
            ("overview", "It was trained on 960 hours.", [1]),
            ("trends", "OtherNet is popular.", [1]),
            ("gaps", "Something is open.", []),
            ("gaps", "Something is open.", [9999]),
            ("poetry", "Roses are red.", [1]),
        )
    )
    text = digest(found, model=model).text
    assert [item.text for item in text.sentences] == ["A streaming recognizer for speech is proposed."]
    assert text.sentences[0].sources
    assert len(text.dropped) == 5
    assert text.model == "scripted"
    (conversation,) = model.conversations
    assert all(sentence.text in conversation[-1].content for sentence in first[:2])
    assert model.schemas[0] is not None


def test_a_comparison_by_a_model_in_chinese_is_held_to_its_passages():
    found = library(language="zh")
    model = ScriptedModel(
        reply(("methods", "短时网络采用卷积编码器。", [1, 2, 3, 4, 5, 6]), ("comparison", "误差为 99.9%。", [1]))
    )
    text = review(found, ["短时记忆的流式识别"], model=model).text
    assert [item.text for item in text.sentences] == ["短时网络采用卷积编码器。"]
    assert "99.9" in text.dropped[0].reason
    assert "Chinese" in model.conversations[0][0].content


def test_a_model_that_fails_or_makes_all_up_leaves_the_papers_own_sentences():
    failing = ScriptedModel(ModelUnavailableError("the server is away", model="scripted"))
    text = digest(library(), model=failing).text
    assert (text.trouble, text.model) == ("the server is away", None)
    assert text.sentences
    inventing = digest(library(), model=ScriptedModel(reply(("overview", "GPT-9 wins.", [1])))).text
    assert inventing.sentences
    assert inventing.trouble
    assert inventing.dropped


def test_a_prompt_takes_sentences_of_every_paper_in_turn():
    found = library()
    sentences = [s for paper in found.digested() for s in found.sentences(paper)]
    few = fitting(sentences, tokens=90)
    assert 3 <= len(few) < len(sentences)
    assert len({sentence.paper for sentence in few}) == 3


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "papers"
    folder.mkdir()
    for name, text in (("stream.txt", STREAM), ("speakers.txt", SPEAKERS), ("short.txt", CHINESE)):
        (folder / name).write_text(text, encoding="utf-8")
    with KnowledgeGraph.create(tmp_path / "library", ontology="academic") as kg:
        assert len(list(kg.add(folder, build=False))) == 3
    return tmp_path / "library"


def test_the_verb_digests_and_compares(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["literature", "two speakers", "-w", str(workspace)]) == 0
    assert "left for future work" in capsys.readouterr().out
    arguments = ["literature", "--compare", "Short Memory", "--compare", "Two Speakers", "--format", "json"]
    assert main([*arguments, "-w", str(workspace)]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [paper["results"][0]["value"] for paper in told["papers"]] == ["4.5 %", "6.1 %"]
    assert main(["literature", "--compare", "Nothing such", "-w", str(workspace)]) == 1


@pytest.mark.parametrize(("language", "words"), [("en", "Open problems"), ("zh", "未解决的问题")])
def test_the_pages_show_passages_tables_and_the_query(workspace: Path, language: str, words: str) -> None:
    with KnowledgeGraph.open(workspace) as kg:
        client = create_app(kg).test_client()
        text = client.get(f"/literature?topic=streaming&lang={language}").get_data(as_text=True)
        assert words in text
        assert "?at=" in text
        assert "left for future work" in text
        rows = client.get("/literature?format=csv&table=papers").get_data(as_text=True).splitlines()
        assert len(rows) == 4
        beside = client.get(f"/literature/compare?paper=Short+Memory&paper=Two+Speakers&lang={language}")
        assert "4.5 %" in beside.get_data(as_text=True)
        assert client.get("/literature/compare").status_code == 303
        assert client.get("/literature/compare?paper=Nothing").status_code == 404


def test_the_years_and_titles_of_the_cited_papers_count_as_said():
    found = library()
    place = next(n for n, s in enumerate(fitting(_first_sentences(found)), start=1) if s.paper == iri("speakers"))
    model = ScriptedModel(
        reply(
            ("trends", "Two Speakers at Once (2023) separates speakers.", [place]),
            ("trends", "Two Speakers at Once (2024) separates speakers.", [place]),
        )
    )
    text = digest(found, model=model).text
    assert [item.text for item in text.sentences] == ["Two Speakers at Once (2023) separates speakers."]


def _first_sentences(found: Library) -> list[Sentence]:
    """The sentences as a digest without a topic shows them: open problems first."""
    open_ones = [item.sentence for item in digest(found).gaps]
    return list(dict.fromkeys([*open_ones, *(s for paper in found.digested() for s in found.sentences(paper))]))
