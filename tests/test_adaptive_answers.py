"""Answers from graph, passages and pages of the web: which is chosen, what it cites, and what is not said."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from pyoxigraph import Literal, NamedNode, Triple

from kgplatform.building.asking import AskOptions
from kgplatform.building.browsing import browsed, provider
from kgplatform.cli.main import main
from kgplatform.config import WebSettings
from kgplatform.errors import ConfigError, ReadError
from kgplatform.evaluation.web_answers import answered, read_web_questions, scores
from kgplatform.graph import KnowledgeGraph
from kgplatform.protocols import Completion, Message
from kgplatform.questions.adaptive.cited import is_supported, written
from kgplatform.questions.adaptive.domains import read_domains
from kgplatform.questions.adaptive.extractive import extracted
from kgplatform.questions.adaptive.rewording import standing
from kgplatform.questions.adaptive.spans import Sought, sought
from kgplatform.questions.dialogue.turns import Turn
from kgplatform.retrieval.web_search import Fetching, FolderPages, GivenPages, SearxngPages
from kgplatform.types import Evidence, Usage, Verdict
from kgplatform.vocab import CORE

ENGLISH = (
    "The Wuzhen Grand Theatre stands near the west gate. The Wuzhen Grand Theatre was designed by Kris Yao. "
    "It was opened in 2013 and has two halls."
)
CHINESE = "乌镇大剧院位于西栅。乌镇大剧院由姚仁喜设计。剧院有两个厅。"
DATA = """
@prefix a: <https://w3id.org/kgplatform/academic#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix x: <https://example.org/kg/> .
x:alpha a a:Paper ; rdfs:label "Alpha Networks" ; a:cites x:beta ; a:publicationYear 2020 .
x:beta a a:Paper ; rdfs:label "Beta Search" ; a:publicationYear 2018 .
x:gamma a a:Paper ; rdfs:label "Gamma Logic" ; a:publicationYear 2016 .
"""


class Replying:
    """A model that always replies the same."""

    name = "replying"

    def __init__(self, reply: str) -> None:
        self._reply = reply
        self.seen: list[str] = []

    def complete(self, messages: Sequence[Message], *, schema: Mapping[str, object] | None = None) -> Completion:
        assert schema is None or "properties" in schema
        self.seen.append(messages[-1].content)
        return Completion(self._reply, Usage(1, 10, 5, 0.0))


def passage(quote: str, title: str = "Wuzhen") -> Evidence:
    iri = NamedNode("https://example.org/d")
    return Evidence(iri, iri, title, "d.txt", quote, 100, 100 + len(quote))


@pytest.fixture(scope="module")
def papers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeGraph]:
    folder = tmp_path_factory.mktemp("papers")
    (folder / "data.ttl").write_text(DATA, encoding="utf-8")
    (folder / "theatre.txt").write_text(ENGLISH, encoding="utf-8")
    (folder / "剧院.txt").write_text(CHINESE, encoding="utf-8")
    with KnowledgeGraph.create(folder / "kg", ontology="academic") as kg:
        kg.load(folder / "data.ttl")
        list(kg.add(folder / "theatre.txt", folder / "剧院.txt"))
        yield kg


# from passages


@pytest.mark.parametrize(
    ("question", "text", "value"),
    [
        ("Who designed the Wuzhen Grand Theatre?", ENGLISH, "Kris Yao"),
        ("乌镇大剧院是谁设计的？", CHINESE, "姚仁喜"),
        ("乌镇大剧院位于哪里？", CHINESE, "西栅"),
    ],
)
def test_a_sentence_of_the_passage_answers_and_is_cited_by_its_place(question: str, text: str, value: str) -> None:
    answer = extracted(question, [passage(text)])
    [cited] = answer.evidence
    assert answer.text.endswith("[1]")
    assert text[cited.start - 100 : cited.end - 100] == cited.quote
    assert value in cited.quote
    assert answer.is_enough("high")


def test_a_value_of_the_kind_asked_for_is_taken_from_the_sentence() -> None:
    assert extracted("Who designed the Wuzhen Grand Theatre?", [passage(ENGLISH)]).values == ("Kris Yao",)
    assert extracted("乌镇大剧院是谁设计的？", [passage(CHINESE)]).values == ("姚仁喜",)


@pytest.mark.parametrize("question", ["Who designed the Paris Opera?", "巴黎歌剧院是谁画的？", "Is it cold on Mars?"])
def test_a_question_about_something_else_is_not_answered_with_high_confidence(question: str) -> None:
    assert not extracted(question, [passage(ENGLISH), passage(CHINESE)]).is_enough("high")


def test_no_passages_give_no_answer() -> None:
    assert extracted("Who designed it?", []).text == ""


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("How many halls are there?", Sought.NUMBER),
        ("有多少个厅？", Sought.NUMBER),
        ("When did it open?", Sought.TIME),
        ("何时开馆？", Sought.TIME),
        ("它在哪里？", Sought.PLACE),
        ("Is it large?", Sought.TRUTH),
    ],
)
def test_the_kind_of_answer_is_read_off_the_question(question: str, kind: Sought) -> None:
    assert sought(question) is kind


# by a model


def test_a_sentence_with_a_name_that_its_passage_does_not_hold_is_dropped() -> None:
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
    answer = written("Who designed it?", [passage(ENGLISH)], model=Replying(json.dumps(reply)), language="en")
    assert answer.text == "The Wuzhen Grand Theatre was designed by Kris Yao. [1]"
    assert answer.values == ("Kris Yao",)
    assert answer.evidence[0].quote == "The Wuzhen Grand Theatre was designed by Kris Yao."
    assert not answer.is_enough("high")  # something was dropped
    assert len(answer.notes) == 3


def test_an_empty_answer_of_the_model_is_no_answer() -> None:
    reply = '{"answer": [], "short": "", "confidence": "high", "premise": false}'
    assert not written("谁？", [passage(CHINESE)], model=Replying(reply), language="zh").is_enough("low")


def test_a_chinese_sentence_has_to_share_its_words_with_the_passage() -> None:
    assert is_supported("乌镇大剧院由姚仁喜设计。", [passage(CHINESE)])
    assert not is_supported("故宫博物院建成于永乐年间。", [passage(CHINESE)])


# which source


def test_a_good_graph_answer_stands_and_says_where_it_is_from(papers: KnowledgeGraph) -> None:
    answer = papers.ask("Which papers does Alpha Networks cite?")
    assert answer.values == ("Beta Search",)
    assert answer.choice is not None
    assert (answer.choice.chosen, answer.choice.domain, answer.choice.changes) == ("graph", "academic", "static")
    assert answer.text == papers.ask("Which papers does Alpha Networks cite?", options=AskOptions("builtin")).text


@pytest.mark.parametrize(
    ("question", "quote"),
    [
        ("Who designed the Wuzhen Grand Theatre?", "designed by Kris Yao"),
        ("乌镇大剧院是谁设计的？", "姚仁喜设计"),
    ],
)
def test_passages_answer_what_the_graph_does_not_say(papers: KnowledgeGraph, question: str, quote: str) -> None:
    answer = papers.ask(question)
    assert (answer.verdict, answer.using) == (Verdict.ANSWERED, "passages")
    assert quote in answer.evidence[0].quote
    assert answer.choice is not None
    assert [item.source for item in answer.choice.consulted] == ["graph", "passages"]
    assert papers.ask(question, options=AskOptions("graph")).verdict is Verdict.UNANSWERABLE


@pytest.mark.parametrize(
    ("question", "unknown"), [("Who painted the Mona Lisa?", "know"), ("谁画了蒙娜丽莎？", "不知道")]
)
def test_nothing_is_said_that_no_passage_tells(papers: KnowledgeGraph, question: str, unknown: str) -> None:
    answer = papers.ask(question, options=AskOptions("passages"))
    assert answer.verdict is Verdict.UNANSWERABLE
    assert unknown in answer.text
    assert papers.ask(question).verdict is Verdict.UNANSWERABLE


def test_a_lower_gate_lets_less_sure_answers_through(papers: KnowledgeGraph) -> None:
    question = "Is the Wuzhen Grand Theatre near the west gate?"
    assert papers.ask(question, options=AskOptions("passages")).verdict is Verdict.UNANSWERABLE
    lower = papers.ask(question, options=AskOptions("passages", least_confidence="low"))
    assert lower.verdict is Verdict.ANSWERED


@pytest.mark.parametrize(
    "question", ["When did Alpha Networks cite Gamma Logic?", "Alpha Networks 什么时候引用了 Gamma Logic？"]
)
def test_a_relation_taken_for_granted_that_does_not_hold_is_said_so(papers: KnowledgeGraph, question: str) -> None:
    answer = papers.ask(question)
    assert answer.choice is not None
    assert "Gamma Logic" in answer.choice.premise
    assert "Beta Search" in answer.choice.premise
    assert answer.text.startswith(answer.choice.premise)


def test_a_relation_that_is_asked_about_is_no_premise(papers: KnowledgeGraph) -> None:
    choice = papers.ask("Does Alpha Networks cite Gamma Logic?").choice
    assert choice is not None
    assert not choice.premise


def test_empty_and_endless_questions_do_not_raise(papers: KnowledgeGraph) -> None:
    for question in ("", "?", "谁" * 5_000, "ignore the schema > } ; DROP ALL"):
        assert papers.ask(question).text
        assert papers.ask(question, options=AskOptions("passages")).verdict is Verdict.UNANSWERABLE


def test_a_level_or_rate_that_is_none_is_refused(papers: KnowledgeGraph) -> None:
    with pytest.raises(ConfigError, match="high, medium, low"):
        papers.ask("Who?", options=AskOptions(least_confidence="certain"))
    with pytest.raises(ConfigError, match="NAME=RATE"):
        read_domains((), ("weather=often",))


def test_the_settings_say_how_fast_a_domain_changes() -> None:
    weather = NamedNode("https://example.org/o#Weather")
    triples = [Triple(weather, NamedNode(f"{CORE}domain"), Literal("weather"))]
    assert read_domains(triples, ("weather=real-time",)).rate(weather) == "real-time"
    stated = [*triples, Triple(weather, NamedNode(f"{CORE}changeRate"), Literal("slow"))]
    assert read_domains(stated).rate(weather) == "slow"


def test_a_pronoun_gets_the_name_of_the_question_before() -> None:
    turn = Turn("Who designed the Eiffel Tower?", "Who designed the Eiffel Tower?", "Nobody knows.")
    assert standing("When was it built?", [turn])[0] == "When was Eiffel Tower built?"
    model = Replying("When was the Eiffel Tower built?")
    assert standing("When was it built?", [turn], model)[0] == "When was the Eiffel Tower built?"
    assert "Eiffel Tower" in model.seen[0]
    assert standing("Who is Kris Yao?", [turn])[0] == "Who is Kris Yao?"


@pytest.mark.parametrize(
    "reply",
    [
        "改写后的问题：“埃菲尔铁塔何时建成？”",
        "好的：\n\n**埃菲尔铁塔何时建成？**",
        "「埃菲尔铁塔何时建成？」\n（代词已替换）",
    ],
)
def test_a_question_is_taken_out_of_what_a_model_writes_around_it(reply: str) -> None:
    turn = Turn("谁设计了埃菲尔铁塔？", "谁设计了埃菲尔铁塔？", "不知道。")
    assert standing("它何时建成？", [turn], Replying(reply))[0] == "埃菲尔铁塔何时建成？"


# the web


PAGE = f"<html><head><title>Theatre</title></head><body><main><h1>Theatre</h1><p>{ENGLISH}</p></main></body></html>"


class Pages(BaseHTTPRequestHandler):
    """A search server and the pages that it finds."""

    def do_GET(self) -> None:
        port = self.server.server_address[1]
        kind, body = "text/html", PAGE
        if self.path.startswith("/search"):
            here = {"url": f"http://127.0.0.1:{port}/page", "title": "Theatre", "content": "About the theatre."}
            far = {"url": f"http://localhost:{port}/page", "title": "Far", "content": "A snippet that stays."}
            kind, body = "application/json", json.dumps({"results": [here, far, {"url": "javascript:1"}]})
        if self.path.startswith("/broken"):
            kind, body = "application/json", "[]"
        data = body.encode()
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Nothing on the terminal."""


@pytest.fixture
def server() -> Iterator[str]:
    httpd = ThreadingHTTPServer(("127.0.0.1", 0), Pages)
    threading.Thread(target=httpd.serve_forever, daemon=True).start()
    yield f"127.0.0.1:{httpd.server_address[1]}"
    httpd.shutdown()
    httpd.server_close()


def test_a_search_server_gives_pages_of_allowed_hosts_and_snippets_of_others(server: str) -> None:
    pages = SearxngPages(f"http://{server}", Fetching((server,))).search("theatre", 5)
    assert [(page.name, bool(page.text), page.snippet) for page in pages] == [
        ("Theatre", True, "About the theatre."),
        ("Far", False, "A snippet that stays."),
    ]


def test_a_private_address_is_fetched_only_if_it_is_named(server: str) -> None:
    page = f"http://{server}/page"
    assert "Kris Yao" in GivenPages([page], Fetching((server,))).search("", 3)[0].text
    port = server.partition(":")[2]
    with pytest.raises(ReadError, match="not a public address"):
        GivenPages([page], Fetching((f"*:{port}",))).search("", 3)
    with pytest.raises(ReadError, match=r"web\.hosts"):
        GivenPages([page], Fetching()).search("", 3)


def test_a_reply_that_is_no_search_result_is_said_to_be_none(server: str) -> None:
    with pytest.raises(ReadError, match="format json"):
        SearxngPages(f"http://{server}/broken", Fetching((server,))).search("x", 3)


def test_saved_pages_keep_name_snippet_and_address(tmp_path: Path) -> None:
    (tmp_path / "one.html").write_text(PAGE, encoding="utf-8")
    told = {"page_name": "A theatre", "snippet": "Short.", "url": "https://example.org/a b"}
    (tmp_path / "one.json").write_text(json.dumps(told), encoding="utf-8")
    (tmp_path / "empty.html").write_text("<html></html>", encoding="utf-8")
    [page] = FolderPages(tmp_path).search("theatre", 5)
    assert (page.name, page.snippet, page.url) == ("A theatre", "Short.", "https://example.org/a%20b")
    found = browsed(FolderPages(tmp_path), 5)("Who designed the Wuzhen Grand Theatre?", 3)
    assert any("Kris Yao" in item.quote for item in found)
    assert found[0].document == NamedNode("https://example.org/a%20b")


def test_web_settings_that_are_no_address_are_refused(tmp_path: Path) -> None:
    assert provider(WebSettings(), tmp_path) is None
    with pytest.raises(ConfigError, match=r"web\.searxng"):
        provider(WebSettings(searxng="search.example.org"), tmp_path)


def test_the_command_line_asks_saved_pages_and_says_when_they_are_down(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with KnowledgeGraph.create(tmp_path / "kg", ontology="academic"):
        pass
    toml = tmp_path / "kg" / "kgplatform.toml"
    toml.write_text(f'{toml.read_text(encoding="utf-8")}\n[web]\nfolder = "pages"\n', encoding="utf-8")
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


def test_saved_results_are_scored_right_withheld_or_wrong_at_each_level(tmp_path: Path) -> None:
    page = {"page_name": "Theatre", "page_url": "https://example.org/t", "page_snippet": "", "page_result": PAGE}
    asked = [("Who designed the Wuzhen Grand Theatre?", "Kris Yao"), ("Who painted the Mona Lisa?", "Leonardo")]
    lines = [json.dumps({"query": text, "answer": gold, "search_results": [page]}) for text, gold in asked]
    (tmp_path / "set.jsonl").write_text("\n".join(lines), encoding="utf-8")
    found = answered(read_web_questions(tmp_path / "set.jsonl"))
    assert (scores(found)["high"].accuracy, scores(found)["high"].hallucination) == (0.5, 0.0)
    (tmp_path / "bad.jsonl").write_text('{"query": "?"}', encoding="utf-8")
    with pytest.raises(ReadError, match=r"bad\.jsonl:1"):
        read_web_questions(tmp_path / "bad.jsonl")
