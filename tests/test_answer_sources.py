"""Which source answers, graph, passages or pages of the web: what is chosen and why, what is cited, what is not."""

from __future__ import annotations

import json
import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from local_server import local_server
from pyoxigraph import Literal, NamedNode, Triple
from workspaces import new_workspace

from benchmarks.studies.web_questions import answered, read_web_questions, scores
from kgplatform.cli.main import main
from kgplatform.cli.output import as_text
from kgplatform.errors import ConfigError, ReadError
from kgplatform.graph import KnowledgeGraph
from kgplatform.models import multilingual
from kgplatform.models.stubs import ScriptedModel
from kgplatform.questions.dialogue.replies import Turn
from kgplatform.questions.passages import extractive
from kgplatform.questions.passages.cited_answer import standing, written
from kgplatform.questions.passages.extractive import QUOTED, answering_model, extracted
from kgplatform.questions.passages.source_choice import read_domains
from kgplatform.retrieval.web_search import Fetching, FolderPages, GivenPages, SearxngPages
from kgplatform.server.access import Access
from kgplatform.server.app import create_app
from kgplatform.settings import WebSettings
from kgplatform.types import Evidence, Verdict
from kgplatform.vocab import CORE
from kgplatform.workspace.question_settings import AskOptions
from kgplatform.workspace.search import browsed, provider

ENGLISH = (
    "The Wuzhen Grand Theatre stands near the west gate. The Wuzhen Grand Theatre was designed by Kris Yao. "
    "It was opened in 2013 and has two halls."
)
CHINESE = "乌镇大剧院位于西栅。乌镇大剧院由姚仁喜设计。剧院有两个厅。"
PAPERS = """
@prefix a: <https://w3id.org/kgplatform/academic#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix x: <https://example.org/kg/> .
x:alpha a a:Paper ; rdfs:label "Alpha Networks" ; a:cites x:beta ; a:publicationYear 2020 .
x:beta a a:Paper ; rdfs:label "Beta Search" ; a:publicationYear 2018 .
x:gamma a a:Paper ; rdfs:label "Gamma Logic" ; a:publicationYear 2016 .
"""


TOWN = """
@prefix t: <https://w3id.org/kgplatform/travel#> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
<https://example.org/kg/xizha> a t:ScenicArea ; rdfs:label "Xizha"@en, "西栅"@zh .
"""
NOTE = "The Lotus Inn has 12 rooms. A ticket for the West Scenic Zone costs 150 yuan."
NEWS = "<html><head><title>News</title></head><body><main><p>The Lotus Inn has 18 rooms now.</p></main></body></html>"
ROOMS = "How many rooms does the Lotus Inn have?"
LATER = "2035-01-01T00:00:00"


def passage(quote, title="Wuzhen"):
    iri = NamedNode("https://example.org/d")
    return Evidence(iri, iri, title, "d.txt", quote, 100, 100 + len(quote))


@pytest.fixture(scope="module")
def papers(tmp_path_factory):
    folder = tmp_path_factory.mktemp("papers")
    for name, text in {"data.ttl": PAPERS, "theatre.txt": ENGLISH, "剧院.txt": CHINESE}.items():
        (folder / name).write_text(text, encoding="utf-8")
    with KnowledgeGraph.create(folder / "kg", ontology="academic") as kg:
        kg.load(folder / "data.ttl")
        list(kg.add(folder / "theatre.txt", folder / "剧院.txt"))
        yield kg


@pytest.fixture(scope="module")
def travel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("travel")
    for name, text in {"data.ttl": TOWN, "note.txt": NOTE}.items():
        (folder / name).write_text(text, encoding="utf-8")
    with KnowledgeGraph.create(folder / "kg", ontology="travel") as kg:
        (kg.folder / "pages").mkdir()
        (kg.folder / "pages" / "news.html").write_text(NEWS, encoding="utf-8")
        kg.load(folder / "data.ttl")
        list(kg.add(folder / "note.txt"))
        yield kg


def asked(kg, question, **options):
    answer = kg.ask(question, **options)
    return answer, answer.choice


@pytest.mark.parametrize(
    ("question", "text", "value"),
    [
        ("Who designed the Wuzhen Grand Theatre?", ENGLISH, "Kris Yao"),
        ("乌镇大剧院是谁设计的？", CHINESE, "姚仁喜"),
        ("How tall is the Corn Tower?", "The Corn Tower, begun in 1742, is 51.75 metres tall.", "51.75 metres"),
        ("How much is a ticket for the Corn Tower?", "A ticket for the Corn Tower is 12 yuan, open 9:00.", "12 yuan"),
        ("Which bus goes to the Corn Tower?", "From the station bus K282 goes to the Corn Tower.", "K282"),
        ("Who built the Corn Tower?", "The Corn Tower (Old Mill) was built in 1742 by Ann Lee.", "Ann Lee"),
        ("In which state is the Corn Tower?", "The Corn Tower is in Ford County, Kansas.", "Kansas"),
        ("白莲塔有多高？", "白莲塔始建于1742年,高约51.75米。", "51.75米"),
        ("白莲塔门票多少钱？", "白莲塔始建于1742年,门票80元。", "80元"),
        ("白莲塔由谁设计？", "白莲塔位于西门,由建筑师姚仁喜设计,2013年建成。", "姚仁喜"),
        ("白莲塔哪一年倒塌？", "白莲塔始建于公元977年,1924年倒塌。", "1924年"),
    ],
)
def test_the_stretch_of_the_kind_asked_for_is_the_value_and_cited_by_its_place(question, text, value):
    answer = extracted(question, [passage(text)])
    [cited] = answer.evidence
    assert answer.values == (value,)
    assert answer.confidence >= QUOTED
    assert answer.text.endswith("[1]")
    assert value in cited.quote == text[cited.start - 100 : cited.end - 100]


@pytest.mark.parametrize(
    ("question", "quote"),
    [
        ("Who designed the Paris Opera?", ENGLISH),
        ("巴黎歌剧院是谁画的？", CHINESE),
        ("Who owns the Corn Tower?", "The Corn Tower was built in 1742 by Ann Lee."),
        ("Where was Ann Lee born?", "The Corn Tower in Dover was built by Ann Lee."),
        ("How long is the Corn Tower?", "The Corn Tower is open from 9:00 to 17:00, 12 yuan."),
        ("谁设计了白莲塔？", "白莲塔始建于公元977年,1924年倒塌。"),
        ("白莲塔有多长？", "白莲塔建于明崇祯十年(1637年)。"),
    ],
)
def test_another_fact_about_the_same_thing_is_no_sure_answer(question, quote):
    assert not extracted(question, [passage(quote)]).is_enough("high")


@pytest.mark.parametrize(
    ("question", "note", "quote"),
    [
        (
            "What is the phone number of Casa Blu?",
            "## Villa Rosa\n\nVilla Rosa stands by the harbour. Ring 0471 33 10 02 for a room.\n\n"
            "## Casa Blu\n\nCasa Blu stands on the hill. Rooms are small. Ring 0471 55 12 90 for a room.\n",
            "Ring 0471 55 12 90 for a room.",
        ),
        (
            "Which day is the Copper Ladle closed?",
            "THE COPPER LADLE, Quay 9\nSoup, bread and pies at noon\nIt is closed on Tuesdays\n"
            "UNCLE FENG, Lantern Yard\nIt is closed on Mondays\n",
            "It is closed on Tuesdays",
        ),
        (
            "雪松酒店有多少间客房？",
            "## 翠竹宾馆\n\n山上的老房子，共有客房40间。\n\n"
            "## 雪松酒店\n\n湖边，离车站两公里。老板姓周。共有客房86间，早餐七点开始。",
            "共有客房86间，早餐七点开始。",
        ),
    ],
)
def test_a_sentence_is_about_what_stands_before_it(question, note, quote):
    [cited] = extracted(question, [passage(note, "Notes")]).evidence
    assert cited.quote == quote


@pytest.mark.parametrize(
    ("question", "note", "quote"),
    [
        ("孩子要付多少钱？", "要带好身份证。儿童票20元。孩子要排队。", "儿童票20元。"),
        ("What does a child pay?", "要带好身份证。儿童票20元。孩子要排队。", "儿童票20元。"),
        (
            "谁设计了这座塔？",
            "The tower was drawn by Ada Quill. It has nine floors.",
            "The tower was drawn by Ada Quill.",
        ),
    ],
)
def test_question_and_sentence_are_compared_in_meaning_whatever_their_languages(question, note, quote):
    [cited] = extracted(question, [passage(note, "Notes")], model=answering_model()).evidence
    assert cited.quote == quote


def test_where_the_multilingual_model_is_not_installed_words_decide_and_doctor_says_so(papers, monkeypatch, capsys):
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    for kept in (answering_model, multilingual.e5_path):
        kept.cache_clear()
    try:
        assert answering_model() is None
        assert "designed by Kris Yao" in papers.ask("Who designed the Wuzhen Grand Theatre?").text
        assert main(["doctor", "-w", str(papers.folder)]) == 0
        assert "passages are compared by their words" in capsys.readouterr().out
    finally:
        for kept in (answering_model, multilingual.e5_path):
            kept.cache_clear()


def test_threads_that_share_the_answering_model_find_what_one_finds(monkeypatch):
    monkeypatch.setattr(extractive, "_REMEMBERED", 3)
    notes = [
        [passage(f"Hut {n} sleeps {n} people. A bed costs {n} euros. Dogs stay outside.", f"Hut {n}")]
        for n in range(24)
    ]
    one = [extracted("What does a night cost?", note, model=answering_model()) for note in notes]
    with ThreadPoolExecutor(6) as pool:
        many = list(pool.map(lambda note: extracted("What does a night cost?", note, model=answering_model()), notes))
    assert many == one
    assert all("euros" in answer.text for answer in one)


@pytest.mark.parametrize("quote", ["The Corn Tower has 5 floors.", "Five paths lead to the Corn Tower."])
def test_the_name_alone_does_not_make_an_amount_the_answer(quote):
    assert not extracted("How much is the Corn Tower?", [passage(quote)]).is_enough("high")


def test_no_passages_give_no_answer():
    assert extracted("Who designed it?", []).text == ""


def test_sentences_that_contradict_each_other_leave_no_sure_answer():
    said = [passage("The Corn Tower was opened in 1742.", "One"), passage("The Corn Tower was opened in 1750.", "Two")]
    assert not extracted("When was the Corn Tower opened?", said).is_enough("high")


def test_a_sentence_with_a_name_that_its_passage_does_not_hold_is_dropped():
    reply = {
        "answer": [
            {"sentence": "The Wuzhen Grand Theatre was designed by Kris Yao.", "passages": [1]},
            {"sentence": "The Wuzhen Grand Theatre was designed with Norman Foster.", "passages": [1]},
            {"sentence": "It was opened in 2013.", "passages": []},
            {"sentence": "It was opened in 2013 and has two halls.", "passages": [7]},
        ],
        "short": "Kris Yao",
        "confidence": "high",
        "premise": False,
    }
    answer = written("Who designed it?", [passage(ENGLISH)], model=ScriptedModel(json.dumps(reply)), language="en")
    assert (answer.text, answer.values) == ("The Wuzhen Grand Theatre was designed by Kris Yao. [1]", ("Kris Yao",))
    assert answer.evidence[0].quote == "The Wuzhen Grand Theatre was designed by Kris Yao."
    assert not answer.is_enough("high")  # something was dropped
    assert len(answer.notes) == 3


def test_a_good_graph_answer_stands_and_says_where_it_is_from(papers):
    answer = papers.ask("Which papers does Alpha Networks cite?")
    assert answer.values == ("Beta Search",)
    assert (answer.choice.chosen, answer.choice.domain, answer.choice.changes) == ("graph", "academic", "static")
    assert answer.text == papers.ask("Which papers does Alpha Networks cite?", options=AskOptions("builtin")).text


@pytest.mark.parametrize(
    ("question", "quote"),
    [("Who designed the Wuzhen Grand Theatre?", "designed by Kris Yao"), ("乌镇大剧院是谁设计的？", "姚仁喜设计")],
)
def test_passages_answer_what_the_graph_does_not_say(papers, question, quote):
    answer = papers.ask(question)
    assert (answer.choice.chosen, answer.using) == ("passages", "passages")
    [cited] = answer.evidence
    assert quote in cited.quote
    assert f"“{cited.quote}” [1]" in answer.text
    assert f"{cited.before}{cited.quote}{cited.after}" in (ENGLISH, CHINESE)
    assert [item.source for item in answer.choice.consulted] == ["graph", "passages"]
    assert papers.ask(question, options=AskOptions("graph")).verdict is Verdict.UNANSWERABLE


@pytest.mark.parametrize(
    ("question", "quote"),
    [
        ("Who designed the Wuzhen Grand Theatre?", "The Wuzhen Grand Theatre was designed by Kris Yao."),
        ("乌镇大剧院是谁设计的？", "乌镇大剧院由姚仁喜设计。"),
    ],
)
def test_a_quoted_sentence_is_marked_in_its_passage(papers, question, quote):
    client = create_app(papers, access=Access.on("127.0.0.1")).test_client()
    page = client.get("/ask", query_string={"question": question}).get_data(as_text=True)
    assert f"<mark>{quote}</mark>" in page
    assert f"»{quote}«" in as_text(papers.ask(question))


def test_where_none_is_quoted_a_likely_sentence_is_marked_in_the_first_of_the_related_passages(papers):
    likely, unlikely = papers.ask("这个剧院的建筑师是谁？"), papers.ask("Who painted the Mona Lisa?")
    assert likely.verdict is unlikely.verdict is Verdict.UNANSWERABLE
    assert "姚仁喜" not in likely.text
    assert "»乌镇大剧院由姚仁喜设计。«" in as_text(likely)
    assert len({item.chunk for item in likely.evidence}) == len(likely.evidence)
    assert "»" not in as_text(unlikely)


def test_where_neither_answers_the_answer_says_so_in_the_language_of_the_question(papers):
    for question, words in (("Who painted the Mona Lisa?", "No passage"), ("谁画了蒙娜丽莎？", "段落中也没有")):
        answer = papers.ask(question)
        assert words in answer.text
        assert (answer.verdict, answer.choice.chosen) == (Verdict.UNANSWERABLE, "none")


@pytest.mark.parametrize(
    ("question", "unknown"), [("Who painted the Mona Lisa?", "know"), ("谁画了蒙娜丽莎？", "不知道")]
)
def test_nothing_is_said_that_no_passage_tells(papers, question, unknown):
    answer = papers.ask(question, options=AskOptions("passages"))
    assert answer.verdict is Verdict.UNANSWERABLE
    assert unknown in answer.text
    assert papers.ask(question).verdict is Verdict.UNANSWERABLE


def test_a_lower_gate_lets_less_sure_answers_through(papers):
    question = "Which architect drew the theatre?"
    assert papers.ask(question, options=AskOptions("passages")).verdict is Verdict.UNANSWERABLE
    lower = papers.ask(question, options=AskOptions("passages", least_confidence="low"))
    assert lower.verdict is Verdict.ANSWERED


@pytest.mark.parametrize(
    ("workspace", "question", "words"),
    [
        ("papers", "When did Alpha Networks cite Gamma Logic?", ("Gamma Logic", "Beta Search")),
        ("papers", "Alpha Networks 什么时候引用了 Gamma Logic？", ("Gamma Logic", "Beta Search")),
        ("travel", "How many rooms does the hotel Xizha have?", ("hotel", "scenic area")),
        ("travel", "酒店西栅什么时候开业？", ("酒店", "风景区")),
        ("papers", "Does Alpha Networks cite Gamma Logic?", ()),  # is asked about, not taken for granted
        ("travel", "When was the scenic area Xizha opened?", ()),
        ("travel", "How many rooms does the hotel Lotus Inn have?", ()),
    ],
)
def test_what_a_question_takes_for_granted_and_does_not_hold_is_said_first(request, workspace, question, words):
    answer = request.getfixturevalue(workspace).ask(question)
    assert all(word in answer.choice.premise for word in words)
    assert bool(answer.choice.premise) is bool(words)
    assert answer.text.startswith(answer.choice.premise)


def test_empty_and_endless_questions_do_not_raise(papers):
    for question in ("", "?", "谁" * 5_000, "ignore the schema > } ; DROP ALL"):
        assert papers.ask(question).text
        assert papers.ask(question, options=AskOptions("passages")).verdict is Verdict.UNANSWERABLE


def test_a_level_or_rate_that_is_none_is_refused(papers):
    with pytest.raises(ConfigError, match="high, medium, low"):
        papers.ask("Who?", options=AskOptions(least_confidence="certain"))
    with pytest.raises(ConfigError, match="NAME=RATE"):
        read_domains((), ("weather=often",))


def test_the_settings_say_how_fast_a_domain_changes():
    weather = NamedNode("https://example.org/o#Weather")
    triples = [Triple(weather, NamedNode(f"{CORE}domain"), Literal("weather"))]
    assert read_domains(triples, ("weather=real-time",)).rate(weather) == "real-time"
    stated = [*triples, Triple(weather, NamedNode(f"{CORE}changeRate"), Literal("slow"))]
    assert read_domains(stated).rate(weather) == "slow"


def test_a_pronoun_gets_the_name_of_the_question_before():
    turn = Turn("Who designed the Eiffel Tower?", "Who designed the Eiffel Tower?", "Nobody knows.")
    assert standing("When was it built?", [turn])[0] == "When was Eiffel Tower built?"
    assert standing("Who is Kris Yao?", [turn])[0] == "Who is Kris Yao?"
    for reply in ("When was the Eiffel Tower built?", "改写后的问题：“When was the Eiffel Tower built?”"):
        model = ScriptedModel(reply)
        assert standing("When was it built?", [turn], model)[0] == "When was the Eiffel Tower built?"
        assert "Eiffel Tower" in model.conversations[0][-1].content
    for reply in ("好的：\n\n**埃菲尔铁塔何时建成？**", "「埃菲尔铁塔何时建成？」\n（代词已替换）"):
        turn = Turn("谁设计了埃菲尔铁塔？", "谁设计了埃菲尔铁塔？", "不知道。")
        assert standing("它何时建成？", [turn], ScriptedModel(reply))[0] == "埃菲尔铁塔何时建成？"


def test_evidence_that_is_old_for_its_rate_of_change_sends_the_question_to_the_web_first(travel, changing):
    changing()
    answer, choice = asked(travel, ROOMS)
    assert (choice.order, choice.chosen, answer.values) == (("graph", "passages", "web"), "graph", ("12",))
    answer, choice = asked(travel, ROOMS, now=LATER)
    assert (choice.order[0], choice.chosen, choice.changes) == ("web", "web", "slow")
    assert answer.values in (("18 rooms",), ("18",))
    assert any("days old" in reason for reason in choice.reasons)
    changing("static")
    _, choice = asked(travel, ROOMS, now=LATER)
    assert (choice.chosen, choice.order[0]) == ("graph", "graph")


@pytest.fixture
def changing(travel):
    """Sets how fast the facts of the workspace change, with a folder of saved pages as its web source."""
    before = travel.settings

    def set_to(rate="", first=before.questions.first, web="pages"):
        questions = replace(before.questions, changes=(f"travel={rate}",) if rate else (), first=first)
        travel.workspace.settings = replace(before, web=WebSettings(folder=web), questions=questions)

    yield set_to
    travel.workspace.settings = before


def test_a_live_source_goes_first_for_real_time_facts_and_the_graph_stands_in_where_it_is_silent(travel, changing):
    changing("real-time")
    _, choice = asked(travel, ROOMS)
    assert (choice.chosen, choice.order) == ("web", ("web", "graph", "passages"))
    answer, choice = asked(travel, "How much is the ticket for the West Scenic Zone?")
    assert (choice.chosen, choice.consulted[0].source) == ("graph", "graph")  # the pages say nothing of it
    assert ("web", "answered") not in [(item.source, item.outcome) for item in choice.consulted]
    assert "150" in answer.text


def test_fast_facts_are_looked_up_in_passages_before_the_graph_where_the_rate_rules(travel, changing):
    changing("fast", first="rate", web="")
    _, choice = asked(travel, ROOMS)
    assert (choice.order, choice.chosen) == (("passages", "graph"), "passages")


@pytest.mark.parametrize(
    ("question", "shown"), [(ROOMS, "these facts rarely change"), ("荷花客栈有多少间客房？", "这些事实")]
)
def test_the_page_shows_the_choice_its_order_and_its_reasons(travel, question, shown):
    client = create_app(travel, access=Access.on("127.0.0.1")).test_client()
    page = client.get("/ask", query_string={"question": question}).get_data(as_text=True)
    block = page[page.index("Sources tried") :]
    assert "Order" in block
    assert re.search(rf"<li>{shown}", block)
    for language, rate in (("en", "these facts "), ("zh", "这些事实")):
        page = client.get("/ask", query_string={"question": question, "lang": language}).get_data(as_text=True)
        found = re.search(r'<details class="card">.*?</details>', page, re.DOTALL)
        about = re.sub("<[^>]+>", "", found[0])
        assert f" · {rate}" in about
        assert not re.search("[\u4e00-\u9fff][:,;(]", about)


PAGE = f"<html><head><title>Theatre</title></head><body><main><h1>Theatre</h1><p>{ENGLISH}</p></main></body></html>"


@pytest.fixture(scope="module")
def server():
    """A search server and the pages that it finds."""

    def reply(path, _):
        if path.startswith("/search"):
            here = {"url": f"http://{host}/page", "title": "Theatre", "content": "About the theatre."}
            far = {"url": f"http://localhost{host[9:]}/page", "title": "Far", "content": "A snippet that stays."}
            return {"results": [here, far, {"url": "javascript:1"}]}
        return [] if path.startswith("/broken") else PAGE

    with local_server(reply) as url:
        host = url.removeprefix("http://")
        yield host


def test_a_search_server_gives_pages_of_allowed_hosts_and_snippets_of_others(server):
    pages = SearxngPages(f"http://{server}", Fetching((server,))).search("theatre", 5)
    assert [(page.name, bool(page.text), page.snippet) for page in pages] == [
        ("Theatre", True, "About the theatre."),
        ("Far", False, "A snippet that stays."),
    ]


def test_a_private_address_is_fetched_only_if_named_and_what_is_no_result_told(server):
    page = f"http://{server}/page"
    assert "Kris Yao" in GivenPages([page], Fetching((server,))).search("", 3)[0].text
    port = server.partition(":")[2]
    with pytest.raises(ReadError, match="not a public address"):
        GivenPages([page], Fetching((f"*:{port}",))).search("", 3)
    with pytest.raises(ReadError, match=r"web\.hosts"):
        GivenPages([page], Fetching()).search("", 3)
    with pytest.raises(ReadError, match="format json"):
        SearxngPages(f"http://{server}/broken", Fetching((server,))).search("x", 3)


def test_saved_pages_keep_name_snippet_and_address(tmp_path):
    (tmp_path / "one.html").write_text(PAGE, encoding="utf-8")
    told = {"page_name": "A theatre", "snippet": "Short.", "url": "https://example.org/a b"}
    (tmp_path / "one.json").write_text(json.dumps(told), encoding="utf-8")
    (tmp_path / "empty.html").write_text("<html></html>", encoding="utf-8")
    [page] = FolderPages(tmp_path).search("theatre", 5)
    assert (page.name, page.snippet, page.url) == ("A theatre", "Short.", "https://example.org/a%20b")
    found = browsed(FolderPages(tmp_path), 5)("Who designed the Wuzhen Grand Theatre?", 3)
    assert any("Kris Yao" in item.quote for item in found)
    assert found[0].document == NamedNode("https://example.org/a%20b")


def test_web_settings_that_are_no_address_are_refused(tmp_path):
    assert provider(WebSettings(), tmp_path) is None
    with pytest.raises(ConfigError, match=r"web\.searxng"):
        provider(WebSettings(searxng="search.example.org"), tmp_path)


def test_the_command_line_asks_saved_pages_and_says_when_they_are_down(tmp_path, capsys):
    new_workspace(tmp_path / "kg", "academic", settings='[web]\nfolder = "pages"')
    ask = ["ask", "Who designed the Wuzhen Grand Theatre?", "-w", str(tmp_path / "kg")]
    assert main([*ask, "--using", "web"]) == 1
    assert "could not be asked" in capsys.readouterr().out
    assert main([*ask, "--json"]) == 1
    consulted = json.loads(capsys.readouterr().out)["choice"]["consulted"]
    assert ("web", "down") in [(item["source"], item["outcome"]) for item in consulted]
    (tmp_path / "kg" / "pages").mkdir()
    (tmp_path / "kg" / "pages" / "one.html").write_text(PAGE, encoding="utf-8")
    assert main([*ask, "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["using"] == "web"
    assert "Kris Yao" in answer["answer"]


def test_saved_results_are_scored_right_withheld_or_wrong_at_each_level(tmp_path):
    page = {"page_name": "Theatre", "page_url": "https://example.org/t", "page_snippet": "", "page_result": PAGE}
    asked = [("Who designed the Wuzhen Grand Theatre?", "Kris Yao"), ("Who painted the Mona Lisa?", "Leonardo")]
    lines = [json.dumps({"query": text, "answer": gold, "search_results": [page]}) for text, gold in asked]
    (tmp_path / "set.jsonl").write_text("\n".join(lines), encoding="utf-8")
    found = answered(read_web_questions(tmp_path / "set.jsonl"))
    assert (scores(found)["high"].accuracy, scores(found)["high"].hallucination) == (0.5, 0.0)
    (tmp_path / "bad.jsonl").write_text('{"query": "?"}', encoding="utf-8")
    with pytest.raises(ReadError, match=r"bad\.jsonl:1"):
        read_web_questions(tmp_path / "bad.jsonl")


def test_an_answer_that_leaves_out_a_name_is_none(travel):
    """The only number of rooms in the graph is another thing's."""
    answer = travel.ask("How many rooms does the hotel Xizha have?")
    assert (answer.verdict, answer.confidence_level) == (Verdict.UNANSWERABLE, "low")
