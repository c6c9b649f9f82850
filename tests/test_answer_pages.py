"""Answers: kept, judged, asked on; evaluation runs; what programs and people are told. All over the small workspace."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from flask.testing import FlaskClient
from pyoxigraph import Literal, NamedNode
from small_graph import EVIL, SmallGraph, small_graph

from kgplatform.building.asking import AskOptions, examples
from kgplatform.evaluation.studies.runs import Headline, RunFacts, kept
from kgplatform.store import Store
from kgplatform.testing import ScriptedModel
from kgplatform.types import Answer, Attempt, Issue, IssueKind, Query, Solutions, Verdict
from kgplatform.vocab import GEO
from kgplatform.web.app import create_app
from kgplatform.web.informing import parts_of
from kgplatform.web.keeping import answer_of, recorded
from kgplatform.web.placing import with_places
from kgplatform.web.security import Access

ASKED = "/ask?question=Which+hotels+are+there%3F"


@pytest.fixture
def kg(tmp_path: Path) -> Iterator[SmallGraph]:
    made = small_graph(tmp_path)
    yield made
    made.close()


@pytest.fixture
def client(kg: SmallGraph) -> FlaskClient:
    return create_app(kg, access=Access.on("127.0.0.1")).test_client()  # type: ignore[arg-type]


def text_of(client: FlaskClient, address: str, status: int = 200) -> str:
    reply = client.get(address)
    assert reply.status_code == status, address
    return reply.get_data(as_text=True)


def id_of(page: str) -> str:
    found = re.search(r'action="/ask/([0-9a-f]{16})/wrong"', page)
    assert found
    return found[1]


def test_an_answer_is_the_same_after_it_was_written_and_read(kg: SmallGraph) -> None:
    answer = kg.ask("Which hotels are there?")
    assert answer.query
    draft = Attempt("SELECT", (Issue(IssueKind.SYNTAX, "no"),))
    answer = replace(answer, query=Query(answer.query.text, "words", (draft,)), trace=("a", "乙"))
    assert answer_of(json.loads(json.dumps(recorded(answer)))) == answer


def test_a_kept_answer_stays_as_it_was_when_the_graph_changes(client: FlaskClient, kg: SmallGraph) -> None:
    name = id_of(text_of(client, ASKED))
    assert client.get(f"/ask/{name}").status_code == 404
    assert client.post(f"/ask/{name}/keep").headers["Location"] == f"/ask/{name}"
    kg.update("DELETE WHERE { ?hotel travel:roomCount ?n }")
    page = text_of(client, f"/ask/{name}")
    assert "4 hotels" in page
    assert "Kept as it was given" in page
    assert "4 hotels" not in text_of(client, ASKED)


@pytest.mark.parametrize("name", ["..%2fx", "0" * 16, "g" * 16, "x"])
def test_no_other_file_is_an_answer(client: FlaskClient, name: str) -> None:
    assert client.get(f"/ask/{name}").status_code == 404


def test_a_right_answer_becomes_a_solved_example(client: FlaskClient, kg: SmallGraph) -> None:
    name = id_of(text_of(client, ASKED))
    reply = client.post(f"/ask/{name}/right")
    assert "solved example now" in text_of(client, reply.headers["Location"])
    assert "Which hotels are there?" in {item.question for item in examples(kg.folder)}
    assert (kg.folder / "sparql" / "which-hotels-are-there.rq").is_file()


def test_a_wrong_answer_is_recorded_with_its_reason(client: FlaskClient, kg: SmallGraph) -> None:
    name = id_of(text_of(client, ASKED))
    client.post(f"/ask/{name}/wrong", data={"reason": f"one is missing {EVIL}"})
    record = json.loads((kg.folder / "feedback.jsonl").read_text(encoding="utf-8"))
    assert (record["said"], record["kept"]) == ("wrong", name)
    assert record["reason"].startswith("one is missing")
    assert client.get(f"/ask/{name}").status_code == 200


def test_an_answer_of_long_ago_cannot_be_judged(client: FlaskClient) -> None:
    assert client.post(f"/ask/{'0' * 16}/right").status_code == 409


def test_readers_see_no_buttons_and_may_not_judge(kg: SmallGraph) -> None:
    client = create_app(kg).test_client()  # type: ignore[arg-type]
    page = text_of(client, ASKED)
    assert "/wrong" not in page
    assert client.post(f"/ask/{'0' * 16}/wrong").status_code == 403


def test_a_question_that_follows_begins_a_conversation(client: FlaskClient) -> None:
    page = text_of(client, "/ask?question=Which+hotels+are+there%3F&after=How+many%3F")
    assert re.search(r'name="conversation" value="[0-9a-f]{16}"', page)
    assert 'name="after"' in text_of(client, ASKED)


def test_what_the_graph_does_not_say_comes_with_ways_on(client: FlaskClient) -> None:
    page = text_of(client, "/ask?question=Who+owns+Mars%3F")
    assert "No language model is set" in page
    assert "/search?q=Who%20owns%20Mars%3F" in page
    assert "Questions that this graph can answer" in page
    assert "如何" not in page


def test_the_way_of_an_answer_and_its_confidence_are_told(client: FlaskClient) -> None:
    page = text_of(client, ASKED)
    assert "How it was answered" in page
    assert "90 %" in page
    assert re.search(r"every row has a source|of 4 rows have a passage", page)


def test_a_query_that_finds_nothing_is_explained(
    client: FlaskClient, kg: SmallGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = kg.ask("Which hotels are there?")
    none = 'SELECT ?hotel WHERE { ?hotel a travel:Hotel ; rdfs:label "Nowhere Inn"@en }'
    empty = replace(
        answer, verdict=Verdict.UNANSWERABLE, query=Query(none), solutions=Solutions(("hotel",)), evidence=()
    )
    monkeypatch.setattr(type(kg), "ask", lambda *_, **__: empty)
    assert "Why nothing was found" in text_of(client, ASKED)


def test_rows_of_things_that_lie_somewhere_get_their_places() -> None:
    store = Store.open()
    things = [NamedNode(f"https://example.org/{n}") for n in range(3)]
    for number, thing in enumerate(things[:2]):
        for name, value in (("latitude", 30.5 + number), ("longitude", 120.0)):
            store.apply(added=[_quad(thing, f"{GEO}{name}", Literal(value))])
    found = with_places(Solutions(("x",), tuple((thing,) for thing in things)), store)
    assert found.variables == ("x", "lat", "long")
    assert [row[1] is not None for row in found.rows] == [True, True, False]
    one = Solutions(("x",), ((things[0],), (things[2],)))
    assert with_places(one, store) is one


def _quad(subject: NamedNode, predicate: str, value: Literal):  # type: ignore[no-untyped-def]
    from pyoxigraph import DefaultGraph, Quad

    return Quad(subject, NamedNode(predicate), value, DefaultGraph())


# evaluation


def a_run(kg: SmallGraph, *, exact: float, date: str) -> str:
    estimate = {"value": exact, "low": max(0.0, exact - 0.1), "high": min(1.0, exact + 0.1), "n": 2}
    report = {
        "exact": estimate,
        "f1": estimate,
        "types": {"list": {"exact": estimate, "f1": estimate}},
        "calibration": {
            "error": 0.1,
            "brier": 0.2,
            "bins": [{"low": 0, "high": 1, "n": 2, "confidence": 1, "accuracy": exact}],
        },
        "calls": 3,
        "prompt_tokens": 100,
        "completion_tokens": 20,
        "seconds": {"median": 0.1, "p95": 0.2},
        "problems": [f"line 3 {EVIL}"],
    }
    results = [
        {
            "id": "q1",
            "question": f"Which {EVIL} hotel?",
            "type": "list",
            "expected": ["A"],
            "answers": [EVIL],
            "exact": exact,
            "query": "SELECT ?x {}",
        },
        {"id": "q2", "question": "How many?", "type": "count", "answers": ["2"], "exact": 1.0},
    ]
    facts = RunFacts("questions", "built-in", "", 2, 1.5, headline=Headline("exact", exact, 0.1, 0.9, 2), date=date)
    return kept(kg.folder, report=report, results=results, facts=facts).name


def test_without_runs_the_command_is_told(client: FlaskClient) -> None:
    assert "kgplatform evaluate questions" in text_of(client, "/evaluation")


def test_a_run_shows_its_numbers_failures_and_another_beside_it(client: FlaskClient, kg: SmallGraph) -> None:
    first = a_run(kg, exact=0.0, date="2026-01-01T00:00:00Z")
    second = a_run(kg, exact=1.0, date="2026-01-02T00:00:00Z")
    listed = text_of(client, "/evaluation")
    assert listed.index(second) < listed.index(first)
    page = text_of(client, f"/evaluation/{first}")
    assert "Failures: 1" in page
    assert "&lt;script&gt;" in page
    assert "<script>alert" not in page
    assert "/query?query=SELECT" in page
    assert "3 model calls, 120 tokens" in page
    beside = text_of(client, f"/evaluation/{second}?against={first}")
    assert "1 questions got better" in beside
    table = client.get(f"/evaluation/{second}?against={first}&format=csv&table=comparison").get_data(as_text=True)
    assert "+1.000" in table
    assert "list" in client.get(f"/evaluation/{first}?format=csv&table=types").get_data(as_text=True)


def test_a_study_shows_its_tables_beside_published_numbers(client: FlaskClient, kg: SmallGraph) -> None:
    estimate = {"value": 0.5, "low": 0.4, "high": 0.6, "n": 9}
    rows = [
        {"system": "Theirs", "published": True, "note": "", "values": [0.9, None]},
        {"system": "Ours", "published": False, "note": "", "values": [estimate, 12.5]},
    ]
    table = {
        "id": "m",
        "title": "Measures",
        "columns": ["faithfulness", "time"],
        "chart": True,
        "note": "",
        "rows": rows,
    }
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
    name = kept(kg.folder, report=report, results=[], facts=facts).name
    page = text_of(client, f"/evaluation/{name}")
    assert "Theirs (published)" in page
    assert "0.500 (0.40–0.60)" in page
    assert "12.5" in page


def test_a_run_that_is_not_there_is_a_page_that_says_so(client: FlaskClient) -> None:
    assert "no run is called" in text_of(client, "/evaluation/none", 404)


# programs, and what this is


def test_the_page_for_programs_has_lines_that_work_here(client: FlaskClient) -> None:
    page = text_of(client, "/api")
    assert "http://localhost/sparql" in page
    assert "/api/openapi.json" in page


def test_the_page_about_tells_the_policy_and_the_licences(client: FlaskClient) -> None:
    page = text_of(client, "/about")
    assert "default-src &#39;self&#39;" in page
    assert "pyoxigraph" in page


def test_a_list_of_licences_is_taken_apart() -> None:
    rule = "=" * 78
    parts = parts_of(
        f"The pages.\n\n{rule}\na 1.0  MIT\n{rule}\n\nText of a\n\n{rule}\nb 2  ISC\n{rule}\n\nText of b\n"
    )
    assert [(part.name, part.licence) for part in parts] == [("a 1.0 MIT", "Text of a"), ("b 2 ISC", "Text of b")]


@pytest.mark.parametrize("address", ["/documents", "/evaluation", "/api", "/about", "/export", ASKED, "/"])
def test_every_page_is_there_in_chinese(client: FlaskClient, address: str) -> None:
    page = text_of(client, f"{address}{'&' if '?' in address else '?'}lang=zh")
    assert '<html lang="zh">' in page
    assert re.search(r"<h1[^>]*>[^<]*[\u4e00-\u9fff]|<h1", page)
    assert "<script>alert" not in page


class Options:
    """A workspace's answers, with the options that each question came with; it has a model, which is not asked."""

    def __init__(self, kg: SmallGraph) -> None:
        self._kg = kg
        self.model = ScriptedModel()
        self.given: list[AskOptions | None] = []

    def __getattr__(self, name: str) -> object:
        return getattr(self._kg, name)

    def ask(
        self, question: str, *, conversation: str | None = None, now: str = "", options: AskOptions | None = None
    ) -> Answer:
        self.given.append(options)
        return self._kg.ask(question, conversation=conversation, now=now)


@pytest.mark.parametrize("how", ["get", "json", "form"])
def test_who_answers_and_how_can_be_said_in_the_api(kg: SmallGraph, how: str) -> None:
    optional = Options(kg)
    client = create_app(optional, access=Access.on("127.0.0.1")).test_client()  # type: ignore[arg-type]
    said: dict[str, object] = {"using": "drafts", "style": "create", "view": "slice", "drafts": 3, "phrase": "builtin"}
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
        ({"using": "oracle"}, "there are auto, builtin"),
        ({"style": "haiku"}, "rules, create"),
        ({"drafts": 6}, "up to 5"),
        ({"drafts": "00005000"}, "up to 5"),
        ({"drafts": "-1"}, "up to 5"),
        ({"least_confidence": "total"}, "high"),
        ({"using": "model"}, "no model is set"),
    ],
)
def test_options_that_cannot_be_are_refused_with_those_that_can(
    client: FlaskClient, option: dict[str, object], reason: str
) -> None:
    for reply in (
        client.post("/api/ask", json={"question": "Which hotels are there?", **option}),
        client.get("/ask", query_string={"question": "Which hotels are there?", **option}),
    ):
        assert reply.status_code == 400
        assert reason in reply.get_json()["detail"]


@pytest.mark.parametrize(("language", "summary"), [("en", "Options"), ("zh", "选项")])
def test_the_page_offers_the_options_that_the_workspace_can_do(kg: SmallGraph, language: str, summary: str) -> None:
    access = Access.on("127.0.0.1")
    without = create_app(kg, access=access).test_client()  # type: ignore[arg-type]
    home = text_of(without, f"/?lang={language}")
    assert f"<summary>{summary}</summary>" in home
    assert 'name="using"' in home
    assert 'name="style"' not in home
    assert 'value="web"' not in home
    client = create_app(Options(kg), access=access).test_client()  # type: ignore[arg-type]
    asked = text_of(client, f"{ASKED}&style=create&lang={language}")
    assert '<details class="ask-options" open>' in asked
    assert '<option selected value="create">' in asked
    assert 'name="drafts" form="ask"' in asked


def test_options_left_alone_do_not_stay_in_the_address_and_those_given_go_on_to_the_next_question(
    kg: SmallGraph,
) -> None:
    client = create_app(Options(kg), access=Access.on("127.0.0.1")).test_client()  # type: ignore[arg-type]
    sent = {"question": "Which hotels are there?", "using": "", "style": "demonstration", "drafts": "", "after": "Why?"}
    reply = client.get("/ask", query_string=sent)
    assert reply.status_code == 303
    assert reply.headers["Location"] == "/ask?question=Which+hotels+are+there%3F&after=Why%3F&style=demonstration"
    page = text_of(client, f"{ASKED}&style=demonstration")
    assert '<input type="hidden" name="style" value="demonstration">' in page
