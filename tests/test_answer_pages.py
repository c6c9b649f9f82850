"""Answers on the pages: kept, judged, asked on, step by step as they are found; evaluation runs."""

import json
import re
import threading
import time
from dataclasses import replace

import pytest
from pyoxigraph import NamedNode
from small_graph import EVIL, small_graph

from kgplatform.documents.records import State
from kgplatform.evaluation.runs import Headline, RunFacts, kept
from kgplatform.graph import KnowledgeGraph
from kgplatform.models.stubs import HashEmbedder, ScriptedModel
from kgplatform.questions.answer import AnswerStage, AnswerStep, FollowedQuestion, QuestionGivenUpError, go_on, tell
from kgplatform.server.access import Access
from kgplatform.server.app import JOBS, create_app
from kgplatform.server.frame import Lately
from kgplatform.server.jobs import Phase
from kgplatform.server.pages.answers import answer_of, recorded
from kgplatform.server.pages.export import parts_of
from kgplatform.server.places import with_places
from kgplatform.server.result_tables import ResultTerms
from kgplatform.server.words import MESSAGES, in_chinese
from kgplatform.store.oxigraph import Store
from kgplatform.types import Attempt, Issue, IssueKind, Query, Solutions, Verdict
from kgplatform.vocab import GEO
from kgplatform.workspace.question_settings import AskOptions, examples

ASKED = "/ask?question=Which+hotels+are+there%3F"


@pytest.fixture
def kg(tmp_path):
    made = small_graph(tmp_path)
    yield made
    made.close()


@pytest.fixture
def client(kg):
    return create_app(kg, access=Access.on("127.0.0.1")).test_client()


def text_of(client, address, status=200):
    reply = client.get(address)
    assert reply.status_code == status, address
    return reply.get_data(as_text=True)


def id_of(page):
    found = re.search(r'action="/ask/([0-9a-f]{16})/wrong"', page)
    assert found
    return found[1]


def test_an_answer_is_the_same_after_it_was_written_and_read(client, kg):
    answer = kg.ask("Which hotels are there?")
    draft = Attempt("SELECT", (Issue(IssueKind.SYNTAX, "no"),))
    answer = replace(answer, query=Query(answer.query.text, "words", (draft,)), trace=("a", "乙"))
    assert answer_of(json.loads(json.dumps(recorded(answer)))) == answer
    page = text_of(client, ASKED)
    assert "How it was answered" in page
    assert "90 %" in page
    assert re.search(r"every row has a source|of 4 rows have a source", page)


def test_a_kept_answer_stays_as_it_was_when_the_graph_changes(client, kg):
    name = id_of(text_of(client, ASKED))
    for other in (name, "..%2fx", "0" * 16, "g" * 16, "x"):
        assert client.get(f"/ask/{other}").status_code == 404
    assert client.post(f"/ask/{'0' * 16}/right").status_code == 409  # an answer of long ago
    assert client.post(f"/ask/{name}/keep").headers["Location"] == f"/ask/{name}"
    kg.update("DELETE WHERE { ?hotel travel:roomCount ?n }")
    page = text_of(client, f"/ask/{name}")
    assert "4 hotels" in page
    assert "shown unchanged" in page
    assert "4 hotels" not in text_of(client, ASKED)


def test_a_right_answer_becomes_an_example_and_a_wrong_one_is_recorded_with_its_reason(client, kg):
    name = id_of(text_of(client, ASKED))
    reply = client.post(f"/ask/{name}/right")
    assert "Saved as a worked example" in text_of(client, reply.headers["Location"])
    assert "Which hotels are there?" in {item.question for item in examples(kg.folder)}
    assert (kg.folder / "sparql" / "which-hotels-are-there.rq").is_file()
    client.post(f"/ask/{name}/wrong", data={"reason": f"one is missing {EVIL}"})
    record = json.loads((kg.folder / "feedback.jsonl").read_text(encoding="utf-8").splitlines()[-1])
    assert (record["said"], record["kept"]) == ("wrong", name)
    assert record["reason"].startswith("one is missing")
    assert client.get(f"/ask/{name}").status_code == 200
    reader = create_app(kg).test_client()
    assert "/wrong" not in text_of(reader, ASKED)
    assert reader.post(f"/ask/{'0' * 16}/wrong").status_code == 403


def test_a_question_may_follow_and_what_the_graph_does_not_say_comes_with_ways_on(client):
    page = text_of(client, f"{ASKED}&after=How+many%3F")
    assert re.search(r'name="conversation" value="[0-9a-f]{16}"', page)
    assert 'name="after"' in text_of(client, ASKED)
    page = text_of(client, "/ask?question=Who+owns+Mars%3F")
    for words in ("No language model is configured", "/search?q=Who%20owns%20Mars%3F", "Try one of these"):
        assert words in page
    assert "如何" not in page


def test_a_query_that_finds_nothing_is_explained(client, kg, monkeypatch):
    none = Query('SELECT ?hotel WHERE { ?hotel a travel:Hotel ; rdfs:label "Nowhere Inn"@en }')
    changed = {"verdict": Verdict.UNANSWERABLE, "query": none, "solutions": Solutions(("hotel",)), "evidence": ()}
    empty = replace(kg.ask("Which hotels are there?"), **changed)
    monkeypatch.setattr(type(kg), "ask", lambda *_, **__: empty)
    assert "Why no results" in text_of(client, ASKED)


def test_rows_of_things_that_lie_somewhere_get_their_places():
    store = Store.open()
    things = [NamedNode(f"https://example.org/{n}") for n in range(3)]
    for thing in things[:2]:
        store.update(f"INSERT DATA {{ {thing} <{GEO}latitude> 30.5 ; <{GEO}longitude> 120.0 }}")
    found = with_places(Solutions(("x",), tuple((thing,) for thing in things)), store)
    assert found.variables == ("x", "lat", "long")
    assert [row[1] is not None for row in found.rows] == [True, True, False]
    one = Solutions(("x",), ((things[0],), (things[2],)))
    assert with_places(one, store) is one


# evaluation


def a_run(kg, *, exact, date):
    estimate = {"value": exact, "low": max(0.0, exact - 0.1), "high": min(1.0, exact + 0.1), "n": 2}
    bins = [{"low": 0, "high": 1, "n": 2, "confidence": 1, "accuracy": exact}]
    numbers = {"calls": 3, "prompt_tokens": 100, "completion_tokens": 20, "seconds": {"median": 0.1, "p95": 0.2}}
    report = {"exact": estimate, "f1": estimate, "types": {"list": {"exact": estimate, "f1": estimate}}, **numbers}
    report |= {"calibration": {"error": 0.1, "brier": 0.2, "bins": bins}, "problems": [f"line 3 {EVIL}"]}
    first = {"id": "q1", "question": f"Which {EVIL} hotel?", "type": "list", "expected": ["A"], "answers": [EVIL]}
    second = {"id": "q2", "question": "How many?", "type": "count", "answers": ["2"], "exact": 1.0}
    facts = RunFacts("questions", "built-in", "", 2, 1.5, headline=Headline("exact", exact, 0.1, 0.9, 2), date=date)
    results = [{**first, "exact": exact, "query": "SELECT ?x {}"}, second]
    return kept(kg.folder, report=report, results=results, facts=facts).name


def test_a_run_shows_its_numbers_failures_and_another_beside_it(client, kg):
    assert "kgplatform evaluate questions" in text_of(client, "/evaluation")
    assert "No run is named" in text_of(client, "/evaluation/none", 404)
    first = a_run(kg, exact=0.0, date="2026-01-01T00:00:00Z")
    second = a_run(kg, exact=1.0, date="2026-01-02T00:00:00Z")
    listed = text_of(client, "/evaluation")
    assert listed.index(second) < listed.index(first)
    page = text_of(client, f"/evaluation/{first}")
    for words in ("Failures: 1", "&lt;script&gt;", "/query?query=SELECT", "3 model calls, 120 tokens"):
        assert words in page
    assert "<script>alert" not in page
    assert "1 question got better" in text_of(client, f"/evaluation/{second}?against={first}")
    assert "+1.000" in text_of(client, f"/evaluation/{second}?against={first}&format=csv&table=comparison")
    assert "list" in text_of(client, f"/evaluation/{first}?format=csv&table=types")


def test_a_study_shows_its_tables_beside_published_numbers(client, kg):
    ours = [{"value": 0.5, "low": 0.4, "high": 0.6, "n": 9}, 12.5]
    rows = [
        {"system": "Theirs", "published": True, "note": "", "values": [0.9, None]},
        {"system": "Ours", "published": False, "note": "", "values": ours},
    ]
    table = {"id": "m", "title": "M", "columns": ["faithfulness", "time"], "chart": True, "note": "", "rows": rows}
    test = {"measure": "x", "first": "a", "second": "b", "difference": 0.1, "low": 0.0, "high": 0.2, "n": 9, "p": 0.04}
    report = {
        "study": "travel",
        "title": "T",
        "source": "a paper",
        "tables": [table],
        "tests": [test],
        "differs": ["d"],
    }
    facts = RunFacts("travel", "built-in", "built-in estimate", 9, 3.0, date="2026-01-03T00:00:00Z")
    page = text_of(client, f"/evaluation/{kept(kg.folder, report=report, results=[], facts=facts).name}")
    assert all(words in page for words in ("Theirs (published)", "0.500 (0.40–0.60)", "12.5"))


# programs, and what this is


def test_the_pages_for_programs_and_about_tell_addresses_policy_and_licences(client):
    page = text_of(client, "/api")
    assert "http://localhost/sparql" in page
    assert "/api/openapi.json" in page
    page = text_of(client, "/about")
    assert "default-src &#39;self&#39;" in page
    assert "pyoxigraph" in page
    rule = "=" * 78
    text = f"The pages.\n\n{rule}\na 1.0  MIT\n{rule}\n\nText of a\n\n{rule}\nb 2  ISC\n{rule}\n\nText of b\n"
    assert parts_of(text) == [("a 1.0 MIT", "Text of a"), ("b 2 ISC", "Text of b")]


class Options:
    """A workspace's answers, with the options that each question came with; it has a model, which is not asked."""

    def __init__(self, kg):
        self._kg = kg
        self.model = ScriptedModel()
        self.given: list[AskOptions | None] = []

    def __getattr__(self, name):
        return getattr(self._kg, name)

    def ask(self, question, *, conversation=None, now="", options=None):
        self.given.append(options)
        return self._kg.ask(question, conversation=conversation, now=now)


@pytest.mark.parametrize("how", ["get", "json", "form"])
def test_who_answers_and_how_can_be_said_in_the_api(kg, how):
    optional = Options(kg)
    client = create_app(optional, access=Access.on("127.0.0.1")).test_client()
    said = {"using": "drafts", "style": "create", "view": "slice", "drafts": 3, "phrase": "builtin"}
    sent = {"question": "Which hotels are there?", **said, "least_confidence": "low"}
    if how == "get":
        reply = client.get("/api/ask", query_string=sent)
    else:
        reply = client.post("/api/ask", **{"json" if how == "json" else "data": sent})
    assert reply.status_code == 200
    assert optional.given == [AskOptions("drafts", "create", "slice", 3, phrase=False, least_confidence="low")]


@pytest.mark.parametrize(
    ("option", "reason"),
    [
        *(({"using": "oracle"}, "there are auto, builtin"), ({"style": "haiku"}, "rules, create")),
        *(({"drafts": 6}, "up to 5"), ({"drafts": "00005000"}, "up to 5"), ({"drafts": "-1"}, "up to 5")),
        *(({"least_confidence": "total"}, "high"), ({"using": "model"}, "no model is set")),
    ],
)
def test_options_that_cannot_be_are_refused_with_those_that_can(client, option, reason):
    asked = {"question": "Which hotels are there?", **option}
    for reply in (client.post("/api/ask", json=asked), client.get("/ask", query_string=asked)):
        assert reply.status_code == 400
        assert reason in reply.get_json()["detail"]


@pytest.mark.parametrize(("language", "summary"), [("en", "Options"), ("zh", "选项")])
def test_the_page_offers_the_options_that_the_workspace_can_do_and_passes_them_on(kg, client, language, summary):
    home = text_of(client, f"/?lang={language}")
    assert f"<summary>{summary}</summary>" in home
    assert ['name="using"' in home, 'name="style"' in home, 'value="web"' in home] == [True, False, False]
    client = create_app(Options(kg), access=Access.on("127.0.0.1")).test_client()
    asked = text_of(client, f"{ASKED}&style=create&lang={language}")
    assert '<details class="ask-options" open>' in asked
    assert '<option selected value="create">' in asked
    assert 'name="drafts" form="ask"' in asked
    sent = {"question": "Which hotels are there?", "using": "", "style": "demonstration", "drafts": "", "after": "Why?"}
    reply = client.get("/ask", query_string=sent)
    assert reply.status_code == 303
    assert reply.headers["Location"] == "/ask?question=Which+hotels+are+there%3F&after=Why%3F&style=demonstration"
    page = text_of(client, f"{ASKED}&style=demonstration")
    assert '<input type="hidden" name="style" value="demonstration">' in page


HERE = {"Host": "127.0.0.1"}
NAME = "0123456789abcdef"
NOTE = "The Lakeside Inn in Wuzhen has 24 rooms. The Canal Hotel in Wuzhen has 12 rooms.\n"
BAD = "name,town,price_per_night,star_rating\nRiver Inn,Wuzhen,480,9\n"


@pytest.fixture(scope="module")
def town(tmp_path_factory):
    folder = tmp_path_factory.mktemp("live")
    (folder / "inns.txt").write_text(NOTE, encoding="utf-8")
    (folder / "hotels.csv").write_text(BAD, encoding="utf-8")
    with KnowledgeGraph.create(folder / "town", ontology="travel") as made:
        made.workspace.__dict__["embedder"] = HashEmbedder()
        list(made.add(folder / "inns.txt"))
        list(made.add(folder / "hotels.csv", policy="quarantine"))
        yield made


@pytest.fixture(scope="module")
def live(town):
    return create_app(town, access=Access.on("127.0.0.1")).test_client()


def events(body):
    """The named events of a stream."""
    parts = [part.split("\n") for part in body.strip().split("\n\n") if part.startswith("event:")]
    return [(part[0].removeprefix("event: "), json.loads(part[1].removeprefix("data: "))) for part in parts]


def test_rows_beyond_the_first_come_without_names_which_are_told_on_request(tmp_path):
    kg = small_graph(tmp_path)
    found = kg.store.query("SELECT ?h ?l WHERE { ?h a travel:Hotel ; rdfs:label ?l } ORDER BY ?h")
    whole = ResultTerms(kg, Lately(kg), "en").rows(found)
    record = ResultTerms(kg, Lately(kg), "en").rows(found, named=1)
    bare = [term for term in record["terms"] if term.get("b")]
    assert bare
    assert all(set(term) == {"k", "v", "b"} for term in bare)
    assert [column["kind"] for column in record["columns"]] == [column["kind"] for column in whole["columns"]]
    client = create_app(kg, access=Access.on("127.0.0.1")).test_client()
    told = client.post("/api/names", json={"iris": [term["v"] for term in bare]}, headers=HERE).get_json()
    known = {term["v"]: term["l"] for term in whole["terms"] if term["k"] == "thing"}
    assert [term["l"] for term in told["terms"]] == [known[term["v"]] for term in bare]
    assert all("c" not in term or told["classes"][term["c"]]["label"] for term in told["terms"])
    for wrong in ({}, {"iris": "x"}, {"iris": [1]}, {"iris": ["no iri"]}, {"iris": ["http://a/b"] * 2501}):
        assert client.post("/api/names", json=wrong, headers=HERE).status_code == 400
    kg.close()


def test_the_steps_of_an_answer_are_sent_as_they_are_taken_and_then_its_page(live):
    told = events(live.get(f"/api/ask/events?question=How many hotels are there?&name={NAME}", headers=HERE).text)
    stages = [record["stage"] for name, record in told if name == "step"]
    assert stages[:2] == ["reading", "linked"]
    assert stages.index("query") < stages.index("rows")
    assert "SELECT" in str(next(record["detail"] for _, record in told if record.get("stage") == "query"))
    assert told[-1][0] == "page"
    assert 'data-page="ask"' in str(told[-1][1]["html"])
    assert live.delete(f"/api/ask/events/{NAME}", headers=HERE).status_code == 404
    for query in ("", "question=x", f"name={NAME}", "question=x&name=zz"):
        assert live.get(f"/api/ask/events?{query}", headers=HERE).status_code == 400
    told = events(live.get(f"/api/ask/events?question=x&now=never&name={NAME}", headers=HERE).text)
    assert told[-1] == ("plain", {})  # refusals are left to the plain page


def test_a_question_that_is_given_up_ends_at_its_next_step(town, live, monkeypatch):
    began, ended = threading.Event(), threading.Event()

    def endless(*_, **__):
        began.set()
        try:
            while True:
                tell(AnswerStage.READING)
                time.sleep(0.01)
        finally:
            ended.set()

    monkeypatch.setattr(town, "ask", endless)
    reply = live.get(f"/api/ask/events?question=x&name={NAME}", headers=HERE)
    assert began.wait(10)
    assert live.delete(f"/api/ask/events/{NAME}", headers=HERE).status_code == 204
    assert ended.wait(10)
    assert events(reply.text)[-1] == ("plain", {})
    reply = live.get(f"/api/ask/events?question=x&name={NAME}", headers=HERE)  # and where nobody listens any more
    ended.clear()
    reply.close()
    assert ended.wait(10)


def test_steps_are_told_only_where_somebody_follows():
    tell(AnswerStage.ROWS, number=3)
    assert go_on() == {}
    heard = []
    followed = FollowedQuestion(heard.append, name="ask-1")
    with followed.following():
        tell(AnswerStage.ROWS, number=3)
        assert go_on()["name"] == "ask-1"
        followed.give_up()
        with pytest.raises(QuestionGivenUpError):
            go_on()
    assert heard == [AnswerStep(AnswerStage.ROWS, "", 3)]
    assert go_on() == {}
    with FollowedQuestion(heard.append, has_left=lambda: True).following(), pytest.raises(QuestionGivenUpError):
        go_on()


def test_a_browser_with_scripts_waits_on_a_page_and_others_get_the_answer_at_once(town, monkeypatch):
    live = create_app(town, access=Access.on("127.0.0.1")).test_client()
    asked = "/ask?question=How many hotels are there?"
    assert 'data-page="ask"' in live.get(asked, headers=HERE).text
    monkeypatch.setattr("kgplatform.server.pages.query.is_built", lambda: True)
    live.set_cookie("kgplatform_scripts", "1", domain="127.0.0.1")
    page = live.get(f"{asked}&conversation=one", headers=HERE).text
    assert 'data-page="asking"' in page
    assert re.search(r'data-events="/api/ask/events\?question=How[^"]*&amp;conversation=one"', page)
    assert 'data-page="ask"' in live.get(f"{asked}&plain=1", headers=HERE).text


def test_messages_come_in_the_language_of_the_interface(live):
    chinese = {**HERE, "Accept-Language": "zh"}
    wrong = {"query": "SELECT ?x WHERE { ?x nope:thing ?y }"}
    assert "前缀 nope: 未声明" in live.post("/api/run", json=wrong, headers=chinese).get_json()["detail"]
    assert "not declared" in live.post("/api/run", json=wrong, headers=HERE).get_json()["detail"]
    issue = live.post("/api/validate", json={"query": "SELECT ?x { ?x a travel:Hotle }"}, headers=chinese).get_json()
    assert issue["issues"][0]["message"] == "图谱中没有类 travel:Hotle；最接近的有：travel:Hotel"
    page = live.get("/id/entity/nobody", headers={**chinese, "Accept": "text/html"}).text
    assert "没有关于" in page
    assert in_chinese("line 3, column 2: <b>&'\"") == "第 3 行，第 2 列：<b>&'\""
    assert all(pattern.groups >= chinese.count("{") for pattern, chinese in MESSAGES)


def test_a_document_kept_apart_says_why_and_is_taken_in_by_a_button(town, live):
    record = town.registry.find("hotels.csv")
    address = f"/documents/{record.document.iri.value.rpartition('/')[2]}"
    listed = live.get("/documents", headers=HERE).text
    assert f'action="{address}/release"' in listed
    page = live.get(f"{address}?why=1", headers=HERE).text
    assert "River Inn" in page
    assert "starRating" in page or "star" in page.partition('id="why"')[2].partition("</ul>")[0].lower()
    assert 'name="judgement"' not in page
    foreign = {**HERE, "Origin": "https://elsewhere.example"}
    assert live.post(f"{address}/release", headers=foreign).status_code == 403
    assert live.post(f"{address}/release", headers=HERE).status_code == 303
    end = time.monotonic() + 30
    jobs = live.application.extensions[JOBS]
    while town.registry.find("hotels.csv").state is State.QUARANTINED or jobs.standing().phase is not Phase.IDLE:
        assert time.monotonic() < end
        time.sleep(0.05)
    assert town.query("ASK { ?hotel travel:starRating ?n }").boolean
    assert live.post(f"{address}/release", headers=HERE).status_code == 409
