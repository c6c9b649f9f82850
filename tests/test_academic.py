"""The academic pack: courses and their chains, papers and what they say, and the graph of the samples."""

import json
from pathlib import Path
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyoxigraph import Literal, NamedNode, Triple
from studies import BASE, CHINESE, SPEAKERS, STREAM, Campus, course, field, iri, thing, university

from kgplatform.cli.main import main
from kgplatform.documents.chunking import SectionKind
from kgplatform.errors import ModelUnavailableError, NotFoundError
from kgplatform.graph import KnowledgeGraph
from kgplatform.models.stubs import HashEmbedder, ScriptedModel
from kgplatform.packs.academic.courses import CourseCatalogue, GapKind, gaps, layered, overlaps, reach, term
from kgplatform.packs.academic.literature import SuggestionKind, compare, digest, review
from kgplatform.packs.academic.papers import Library, fitting, topics, trends, unsupported
from kgplatform.server.app import create_app
from kgplatform.types import Evidence
from kgplatform.vocab import LABEL
from kgplatform.workspace.workspace import Workspace
from tests.workspaces import new_workspace


def library(*, language="en", embedder=True):
    campus = Campus(HashEmbedder() if embedder else None)
    campus.state(field())
    for text in (STREAM, SPEAKERS):
        campus.read(text)
    campus.read(CHINESE, language="zh")
    campus.read("Course pages have no abstract. They are no papers.")
    return Library(campus.parts, language)


def passage(quote, title="A Paper"):
    return Evidence(iri("d"), iri("d"), title, "d.txt", quote, 0, len(quote))


def test_papers_are_texts_with_an_abstract_joined_to_the_graph_by_their_titles():
    found = library()
    papers = found.digested()
    told = {paper.title: (paper.year, paper.year_read) for paper in papers}
    assert told.keys() == {"Streaming Recognition with Short Memory", "Two Speakers at Once", "《短时记忆的流式识别》"}
    assert told["Two Speakers at Once"] == (2023, True)
    assert told["Streaming Recognition with Short Memory"][1] is False
    assert told["《短时记忆的流式识别》"][0] == 2021
    assert iri("speakers") in {paper.iri for paper in papers}
    assert found.papers[iri("older")].texts == ()
    for paper in papers:
        texts = {text.iri: text.text for text in paper.texts}
        sentences = found.sentences(paper, tuple(SectionKind))
        assert sentences
        for sentence in sentences:  # each stands where it says
            source = sentence.source
            assert texts[source.document][source.start : source.end] == source.quote
            assert sentence.text == " ".join(source.quote.split())
    by_name = {trend.topic.name: trend for trend in trends(topics(found, papers), papers)}
    assert dict(by_name["NoiseBank"].years) == {2021: 2, 2023: 1}
    assert by_name["NoiseBank"].topic.iri == iri("noisebank")
    assert (by_name["NoiseBank"].direction, by_name["SM-Net"].direction) == (0, 1)


def test_a_digest_has_open_problems_clusters_citations_and_what_speaks_of_the_topic():
    made = digest(library(), topic="two speakers at once")
    texts = [item.sentence.text for item in made.gaps]
    assert "Handling two speakers is left for future work." in texts
    assert "流式语音识别难以利用很长的上下文，长句仍有待研究。" in texts
    assert "Both streams are decoded together." not in texts
    clustered = sorted(paper.value for cluster in made.clusters for paper in cluster.papers)
    assert clustered == sorted(paper.iri.value for paper in made.papers)
    assert [(item.paper, item.cited, item.known) for item in made.citations] == [
        (iri("speakers"), iri("older"), False),
        (iri("speakers"), iri("stream"), True),
    ]
    assert made.relevant[0].paper == iri("speakers")
    assert "speakers" in made.relevant[0].sentence.text
    chinese = digest(library(embedder=False), topic="流式语音识别")
    assert chinese.relevant[0].sentence.text.startswith("本文")
    assert digest(library(embedder=False), topic="volcanoes").relevant == ()


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


def test_papers_that_cannot_be_compared_are_named():
    for name in ("Nothing", "An Older Paper", "s"):
        with pytest.raises(NotFoundError):
            review(library(), [name])


@given(st.text(alphabet="abc ABC019.,%-中文《》", max_size=40))
def test_a_sentence_that_is_its_passage_is_always_borne_out(text):
    assert unsupported(text, [passage(text)]) is None
    assert unsupported("it uses 停止单元网络", [passage("它使用编码器")], ["停止单元网络"]) is not None
    assert unsupported("it uses 停止单元网络", [passage("停止单元网络很小")], ["停止单元网络"]) is None
    assert unsupported("它采用循环网络。", [passage("It is a recurrent network.")], ["循环网络"]) is None


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


def reply(*sentences):
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


def test_the_years_and_titles_of_the_cited_papers_count_as_said():
    found = library()
    open_ones = [item.sentence for item in digest(found).gaps]  # a prompt shows them first
    shown = dict.fromkeys([*open_ones, *(s for paper in found.digested() for s in found.sentences(paper))])
    place = next(n for n, s in enumerate(fitting(list(shown)), start=1) if s.paper == iri("speakers"))
    right, wrong = (f"Two Speakers at Once ({year}) separates speakers." for year in (2023, 2024))
    model = ScriptedModel(reply(("trends", right, [place]), ("trends", wrong, [place])))
    assert [item.text for item in digest(found, model=model).text.sentences] == [right]


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


@pytest.fixture(scope="module")
def workspace(tmp_path_factory):
    place = tmp_path_factory.mktemp("library")
    (place / "papers").mkdir()
    for name, text in (("stream.txt", STREAM), ("speakers.txt", SPEAKERS), ("short.txt", CHINESE)):
        (place / "papers" / name).write_text(text, encoding="utf-8")
    with KnowledgeGraph.open(new_workspace(place / "library", "academic")) as kg:
        assert len(list(kg.add(place / "papers", build=False))) == 3
    return place / "library"


def test_the_verb_digests_and_compares(workspace, capsys):
    assert main(["literature", "two speakers", "-w", str(workspace)]) == 0
    assert "left for future work" in capsys.readouterr().out
    arguments = ["literature", "--compare", "Short Memory", "--compare", "Two Speakers", "--format", "json"]
    assert main([*arguments, "-w", str(workspace)]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [paper["results"][0]["value"] for paper in told["papers"]] == ["4.5 %", "6.1 %"]
    assert main(["literature", "--compare", "Nothing such", "-w", str(workspace)]) == 1


@pytest.mark.parametrize(("language", "words"), [("en", "Open problems"), ("zh", "未解决的问题")])
def test_the_pages_show_passages_tables_and_the_query(workspace, language, words):
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


def catalogue(*more, language="en", embedder=False):
    campus = Campus(HashEmbedder() if embedder else None)
    campus.state([*university(), *more])
    return CourseCatalogue(campus.parts, language)


def codes(found, iris):
    return [found.courses[item].code for item in iris]


numbers = st.integers(0, 9)


def test_a_chain_has_what_comes_before_in_layers_of_the_longest_path():
    found = catalogue(Triple(iri("dd3001"), term("hasPrerequisite"), iri("aa1001")))
    chain = found.chain(found.find("DD3001").iri)
    assert [codes(found, layer) for layer in chain.layers] == [["AA1001", "BB1001"], ["CC2001"], ["DD3001"]]
    assert (len(chain.steps), chain.cycles) == (4, ())
    found = catalogue(Triple(iri("ee3001"), term("prerequisiteOf"), iri("ff3001")))
    assert codes(found, found.needs(found.find("FF3001").iri)) == ["EE3001"]  # stated the other way round
    found = catalogue(Triple(iri("aa1001"), term("hasPrerequisite"), iri("cc2001")))
    chain = found.chain(found.find("DD3001").iri)
    assert [sorted(codes(found, cycle)) for cycle in chain.cycles] == [["AA1001", "CC2001"]]
    assert codes(found, chain.layers[1]) == ["AA1001", "CC2001"]  # a cycle is in one layer
    assert found.plan(found.find("DD3001").iri).cycles == chain.cycles


@settings(max_examples=60, deadline=None)
@given(st.dictionaries(numbers, st.frozensets(numbers, max_size=4), max_size=10))
def test_a_course_stands_above_all_it_asks_for_unless_they_are_a_cycle(edges):
    nodes = {number: NamedNode(f"{BASE}{number}") for number in range(10)}
    needs = {nodes[n]: frozenset(nodes[m] for m in edges.get(n, ())) for n in range(10)}
    layers = layered(needs)
    place = {course: n for n, layer in enumerate(layers) for group in layer for course in group}
    group_of = {course: id(group) for layer in layers for group in layer for course in group}
    assert set(place) == set(needs)
    for one, others in needs.items():
        for other in others:
            assert place[one] > place[other] or group_of[one] == group_of[other]
    assert all(layer for layer in layers)


def test_a_path_leaves_out_what_is_known_and_what_the_known_courses_needed():
    found = catalogue()
    goal, known = found.find("DD3001").iri, [found.find("CC2001").iri]
    plan = found.plan(goal, known)
    assert [codes(found, group) for group in plan.rounds] == [["DD3001"]]
    assert codes(found, plan.spared) == ["AA1001", "BB1001"]
    assert plan.credits == 6
    whole = found.plan(goal)
    assert [codes(found, group) for group in whole.rounds] == [["AA1001", "BB1001"], ["CC2001"], ["DD3001"]]
    assert found.plan(goal, [goal]).remaining == ()


def test_what_is_advised_is_told_apart_and_a_concept_leads_to_the_nearest_course_that_teaches_it():
    advised = Triple(iri("dd3001"), term("recommendedBackground"), iri("ff3001"))
    found = catalogue(advised, *thing("tensors", "KnowledgeConcept", "tensors"))
    plan = found.plan(found.find("DD3001").iri)
    assert codes(found, plan.advised) == ["FF3001"]
    assert "FF3001" not in codes(found, plan.remaining)
    plan = reach(found, "room acoustics")
    assert found.courses[plan.goal].code == "EE3001"
    assert [(found.courses[course].code, count) for course, count in plan.choices] == [("DD3001", 4)]
    for asked, said in (
        ("Sounds", "did you mean"),
        ("", "no course"),
        ("ZZ9999", "no course"),
        ("tensors", "graph teaches"),
    ):
        with pytest.raises(NotFoundError, match=said):
            reach(found, asked)


def test_nodes_of_one_code_are_one_course_named_in_the_language():
    again = [
        *thing("xx", "Course", "声学", language="zh"),
        Triple(iri("xx"), term("courseCode"), Literal("DD3001")),
        Triple(iri("xx"), term("hasPrerequisite"), iri("ff3001")),
    ]
    found = catalogue(*again, language="zh")
    sound = found.find("声学")
    assert sound.name == "DD3001 声学"
    assert found.find("DD3001") == sound
    assert {"CC2001", "FF3001"} == set(codes(found, found.needs(sound.iri)))
    assert len(found) == 6


def test_gaps_are_missing_syllabi_and_concepts_taught_nowhere_before():
    more = [
        *thing("gg1001", "Course", "GG1001"),
        Triple(iri("ee3001"), term("hasPrerequisite"), iri("gg1001")),
        *thing("psychology", "KnowledgeConcept", "psychology"),
        Triple(iri("ee3001"), term("learningOutcome"), Literal("apply psychology to rooms")),
    ]
    more += thing("傅里叶变换", "KnowledgeConcept", "傅里叶变换", language="zh")
    more.append(Triple(iri("ff3001"), term("learningOutcome"), Literal("能够用傅里叶变换分析信号")))
    found = catalogue(*more)
    assert [gap.missing for gap in gaps(found) if gap.because.startswith("能够")] == [iri("傅里叶变换")]
    told = {(gap.kind, found.courses[gap.course].code, gap.missing) for gap in gaps(found)}
    assert (GapKind.NO_SYLLABUS, "EE3001", iri("gg1001")) in told
    assert (GapKind.NOT_TAUGHT, "EE3001", iri("psychology")) in told
    assert (GapKind.NOT_BEFORE, "EE3001", iri("interference")) in told
    assert (GapKind.NOT_BEFORE, "DD3001", iri("digital-filters")) in told
    assert not [gap for gap in told if gap[1] == "DD3001" and gap[2] == iri("interference")], "CC2001 comes before"


def test_two_syllabi_share_what_is_worded_alike_or_near_in_meaning():
    found = catalogue()
    (pair,) = overlaps(found, similarity=0.8)
    assert {found.courses[pair.first].code, found.courses[pair.second].code} == {"DD3001", "EE3001"}
    assert [match.first for match in pair.concepts] == ["room acoustics"]
    assert [match.similarity for match in pair.outcomes] == [1.0]
    assert (pair.share, pair.ordered) == (pytest.approx(1.0), False)
    near = catalogue(*course("HH1001", "Noise", covers=["rooms acoustics"]), embedder=True)
    alike = [{near.courses[item.second].code for item in overlaps(near, similarity=value)} for value in (0.7, 0.999)]
    assert ["HH1001" in codes for codes in alike] == [True, False]


@pytest.fixture(scope="module")
def campus(tmp_path_factory):
    folder = tmp_path_factory.mktemp("campus") / "studies"
    with KnowledgeGraph.open(new_workspace(folder, "academic")) as kg:
        client = create_app(kg).test_client()
        ways = (
            ("courses", 'href="/documents"'),
            ("literature", 'href="/documents"'),
            ("communities", "communities --refresh"),
        )
        for page, way in ways:
            assert way in client.get(f"/{page}").get_data(as_text=True)  # how to get some
        kg.dataset.state(university())
        kg.dataset.state([Triple(iri("cc2001"), LABEL, Literal("波动学", language="zh"))])
    return folder


def test_the_verb_tells_chain_and_path(campus, capsys):
    assert main(["courses", "DD3001", "--known", "AA1001", "-w", str(campus)]) == 0
    assert "3 left, 18 credits" in capsys.readouterr().out
    assert main(["courses", "-w", str(campus), "--format", "json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert len(told["courses"]) == 6
    assert {gap["kind"] for gap in told["gaps"]} == {"not-before"}
    assert main(["courses", "Sond", "-w", str(campus)]) == 1
    assert "did you mean 'Sound'" in capsys.readouterr().err


def test_the_pages_of_courses_show_chain_query_and_tables_and_lead_to_goals(campus):
    with KnowledgeGraph.open(campus) as kg:
        client = create_app(kg).test_client()
        for language, words in (("en", "Prerequisites of"), ("zh", "的先修课程")):
            text = client.get(f"/courses/DD3001?known=AA1001&lang={language}").get_data(as_text=True)
            assert all(part in text for part in (words, "hasPrerequisite*", "AA1001", "BB1001", "CC2001"))
            assert ("波动学" in text) == (language == "zh")
            assert client.get(f"/courses?lang={language}").status_code == 200
        rows = client.get("/courses/DD3001?format=csv&table=prerequisites").get_data(as_text=True).splitlines()
        assert len(rows) == 4
        assert client.get("/courses/DD3001?format=csv&table=nonsense").status_code == 404
        moved = client.get("/courses?goal=room+acoustics&known=AA1001")
        assert moved.headers["Location"] == "/courses/EE3001?known=AA1001&towards=room+acoustics"
        there = client.get(moved.headers["Location"]).get_data(as_text=True)
        assert "/courses/DD3001" in there, "the other course that teaches it is offered"
        assert client.get("/courses?goal=nothing+such").status_code == 404


SAMPLES = Path(__file__).resolve().parent.parent / "examples" / "academic"
SYLLABI = ("sf1624", "sf1625", "sk1120", "dt1175", "dt2213")
SAMPLE_PAPERS = ("attention-is-all-you-need.pdf", "transformer-transducer.pdf", "cumulative-attention.pdf")
ABSTRACTS = {
    "moss.txt": (
        "Counting Moss at Dawn\n\nYlva Öberg-Lind, Tomás de la Vega\nMOSSCON 2011\n\nAbstract\n"
        "Let N be the number of tufts and A the matrix of their distances. Counting costs N^2 steps.\n"
    ),
    "fern.txt": (
        "Ferns on Walls\n\nTomás de la Vega, Wen-chi Hsu\nFERNCON 2012\n\nAbstract\n"
        "We write N for the number of walls and A for their area. The area A grows with N.\n"
    ),
    "青苔.txt": "青苔的分布规律研究\n\n欧阳晓月、李可\n苔藓学报 2019\n\n摘要\n设 N 为青苔数，矩阵 A 表示距离。\n",
}
PREFIXES = (
    "PREFIX academic: <https://w3id.org/kgplatform/academic#> PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#> "
)


@pytest.fixture(scope="module")
def samples(tmp_path_factory):
    folder = tmp_path_factory.mktemp("academic")
    for name, text in ABSTRACTS.items():
        (folder / name).write_text(text, encoding="utf-8")
    files = [SAMPLES / "courses" / f"{name}.html" for name in SYLLABI]
    files += [*(SAMPLES / "papers" / name for name in SAMPLE_PAPERS), *(folder / name for name in ABSTRACTS)]
    with (
        patch.object(Workspace, "embedder", HashEmbedder(64)),
        KnowledgeGraph.open(new_workspace(folder / "kg", "academic")) as samples,
    ):
        failed = [item.error for item in samples.add(*files) if item.error]
        assert not failed
        yield samples


def rows(samples, query):
    found = samples.query(PREFIXES + query).rows
    return sorted(tuple(str(getattr(term, "value", "")) for term in row) for row in found)


def test_what_the_graph_of_the_academic_samples_holds(samples):
    found = rows(
        samples,
        """SELECT DISTINCT (STR(?name) AS ?text) { ?course rdfs:label ?own FILTER(STR(?own) = "DT2213")
           ?course academic:hasPrerequisite+/rdfs:label ?name }""",
    )
    assert found == [("DT1175",), ("SF1624",), ("SF1625",), ("SK1120",)]  # the whole chain
    found = rows(
        samples,
        """SELECT DISTINCT ?first ?second ?third { ?a academic:cites ?b , ?c . ?b academic:cites ?c .
             ?a rdfs:label ?first . ?b rdfs:label ?second . ?c rdfs:label ?third }""",
    )
    triangle = ("Cumulative Attention", "Transducer", "Attention Is All You Need")
    assert any(all(part in title for part, title in zip(triangle, row, strict=True)) for row in found), found
    authors = rows(samples, "SELECT DISTINCT ?name { ?thing a academic:Author ; rdfs:label ?name }")
    wrote = rows(
        samples, "SELECT DISTINCT ?name { ?w academic:authoredBy ?t . ?t a academic:Author ; rdfs:label ?name }"
    )
    assert {("Tomás de la Vega",), ("Wen-chi Hsu",), ("李可",)} <= set(wrote) <= set(authors)
    found = rows(
        samples,
        """SELECT ?title { ?work academic:authoredBy ?who ; rdfs:label ?title .
           ?who rdfs:label ?name FILTER(STR(?name) = "Tomás de la Vega") }""",
    )
    assert found == [("Counting Moss at Dawn",), ("Ferns on Walls",)]  # an author of two papers is one
    # the symbols of different papers are no common things
    assert rows(samples, 'SELECT ?thing { ?thing rdfs:label ?name FILTER(REGEX(STR(?name), "^[A-Za-z]$")) }') == []
