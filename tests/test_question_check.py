"""The checker, the repair and the translator with a model."""

# ruff: noqa: E501
from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_question_builtin import TOWN, Graph

from kgplatform.errors import ModelReplyError, ModelUnavailableError
from kgplatform.questions import translate_model
from kgplatform.questions.answer import QuestionParts, ask
from kgplatform.questions.check import check
from kgplatform.questions.repair import mended
from kgplatform.questions.synthesis import unsupported
from kgplatform.questions.translate_model import query_in, shipped_examples
from kgplatform.testing import ScriptedModel
from kgplatform.types import Answer, IssueKind, Verdict

GRAPH = Graph(TOWN)
P = "PREFIX o: <http://town/o#> PREFIX : <http://town/> "


@pytest.mark.parametrize(
    ("query", "kinds"),
    [
        ("SELECT ?h WHERE { ?h a o:Hotel ; o:price ?p FILTER(?p < 500) }", set()),
        ("SELECT ?h WHERE { ?h a/<http://www.w3.org/2000/01/rdf-schema#subClassOf>* o:Place ; o:price ?p }", set()),
        ("SELECT ?h WHERE { :wz ^o:locatedIn ?h }", set()),
        ("SELECT ?h WHERE { ?h o:locatedIn+ :zj . OPTIONAL { ?h o:rating ?r } }", set()),
        ("SELECT ?h WHERE { ?h a o:Hotell }", {IssueKind.UNKNOWN_CLASS}),
        ("SELECT ?h WHERE { ?h o:prices 3 }", {IssueKind.UNKNOWN_PROPERTY}),
        ("SELECT ?h WHERE { ?h a o:Hotel FILTER NOT EXISTS { ?h o:stars 3 } }", {IssueKind.UNKNOWN_PROPERTY}),
        ("SELECT ?h WHERE { ?h o:locatedIn <http://town/nowhere> }", {IssueKind.UNKNOWN_TERM}),
        ("SELECT ?t WHERE { ?t a o:Town ; o:price ?p }", {IssueKind.IMPOSSIBLE}),
        ('SELECT ?h WHERE { ?h o:price "300" }', {IssueKind.LITERAL_FORM}),
        ('SELECT ?h WHERE { ?h o:locatedIn "Wuzhen" }', {IssueKind.LITERAL_FORM}),
        ("SELECT ?x WHERE { ?h a o:Hotel }", {IssueKind.UNBOUND}),
        ("SELECT ?h WHERE { ?h a o:Hotel", {IssueKind.SYNTAX}),
        ("INSERT DATA { :a o:near :b }", {IssueKind.REFUSED}),
        ("SELECT ?h WHERE { SERVICE <http://evil/> { ?h a o:Hotel } }", {IssueKind.REFUSED}),
    ],
)
def test_check_tells_what_is_wrong(query: str, kinds: set[IssueKind]) -> None:
    assert {issue.kind for issue in check(P + query, GRAPH.knowledge.names)} == kinds


def test_check_names_the_nearest_term_and_the_line() -> None:
    (issue,) = check(f"{P}\nSELECT ?h WHERE {{\n ?h a o:Hotell }}", GRAPH.knowledge.names)
    assert issue.allowed[0] == "http://town/o#Hotel"
    assert issue.line == 3


@settings(max_examples=80, deadline=None)
@given(
    st.one_of(
        st.text(max_size=120),
        st.lists(
            st.sampled_from(
                [
                    "SELECT",
                    "ASK",
                    "WHERE",
                    "{",
                    "}",
                    "(",
                    ")",
                    "?x",
                    "?y",
                    "a",
                    "o:Hotel",
                    ".",
                    ";",
                    ",",
                    "FILTER",
                    "NOT",
                    "EXISTS",
                    "/",
                    "^",
                    "+",
                    "*",
                    "[",
                    "]",
                    '"',
                    "'",
                    "<",
                    ">",
                    "5",
                    "@en",
                ]
            ),
            max_size=25,
        ).map(" ".join),
    )
)
def test_check_survives_any_text(text: str) -> None:
    for issue in check(text, GRAPH.knowledge.names):
        assert issue.message


def test_repair_replaces_a_term_that_has_one_near_name() -> None:
    repair = mended(P + "SELECT ?h WHERE { ?h a o:Hotell }", names=GRAPH.knowledge.names)
    assert repair.sound
    assert "<http://town/o#Hotel>" in repair.text
    assert [bool(attempt.issues) for attempt in repair.attempts] == [True, False]


def test_repair_unquotes_numbers() -> None:
    repair = mended(P + 'SELECT ?h WHERE { ?h o:price "300" }', names=GRAPH.knowledge.names)
    assert repair.sound
    assert "300" in repair.text
    assert '"300"' not in repair.text


def test_repair_shows_the_issues_to_the_model() -> None:
    model = ScriptedModel("SELECT ?h WHERE {", P + "SELECT ?h WHERE { ?h a o:Hotel }", "Some hotels.")
    answer = asked(model)
    assert answer.model == "scripted"
    assert answer.query is not None
    assert "What is wrong with it" in model.conversations[1][-1].content


@pytest.mark.parametrize(
    "reply",
    [
        "ASK { ?s ?p ?o }",
        "Here you are:\n```sparql\nASK { ?s ?p ?o }\n```\nHope it helps.",
        "<think>SELECT or ASK {?}</think>\nASK { ?s ?p ?o }",
        "The query is\nASK { ?s ?p ?o }\nIt asks whether there is anything.",
    ],
)
def test_a_query_is_found_in_any_reply(reply: str) -> None:
    assert query_in(reply) == "ASK { ?s ?p ?o }"


def test_prose_without_a_query_is_an_error() -> None:
    with pytest.raises(ModelReplyError, match="did not reply with a query"):
        query_in("I cannot help with that.")


def asked(model: ScriptedModel, question: str = "Which hotels are in Wuzhen?") -> Answer:
    parts = QuestionParts(
        GRAPH.dataset, GRAPH.ontology, GRAPH.knowledge, run=GRAPH.parts.run, find=GRAPH.find, model=model, examples=()
    )
    return ask(question, parts=parts)


GOOD = "```sparql\nSELECT DISTINCT ?h WHERE { ?h a <http://town/o#Hotel> ; <http://town/o#locatedIn> <http://town/wz> }\n```"


def test_ask_uses_the_model_when_there_is_one() -> None:
    model = ScriptedModel(GOOD, "Canal Inn and Silk House are in Wuzhen.")
    answer = asked(model)
    assert answer.model == "scripted"
    assert set(answer.values) == {"Canal Inn", "Silk House"}
    assert answer.text == "Canal Inn and Silk House are in Wuzhen."
    assert answer.usage.calls == 2
    assert "PREFIX town: <http://town/o#>" in model.conversations[0][-1].content
    assert "class town:Hotel" in model.conversations[0][-1].content


def test_a_wording_that_invents_is_dropped() -> None:
    answer = asked(ScriptedModel(GOOD, "Canal Inn, Silk House and the Grand Hyatt, 12 in all."))
    assert answer.text in ("Canal Inn, Silk House.", "Silk House, Canal Inn.")
    assert any("wording was dropped" in line for line in answer.trace)


@pytest.mark.parametrize(
    "reply",
    [
        ModelUnavailableError("no server", model="scripted"),
        "I am afraid I do not know.",
        "DELETE WHERE { ?s ?p ?o }",
        "SELECT ?x WHERE { SERVICE <http://evil/> { ?x ?y ?z } }",
        "SELECT ?x WHERE { ?x a <http://town/o#Hotel>",
    ],
)
def test_ask_falls_back_on_the_built_in_translator(reply: object) -> None:
    size = len(GRAPH.dataset.store)
    answer = asked(ScriptedModel(reply))  # type: ignore[arg-type]
    assert answer.verdict is Verdict.ANSWERED
    assert answer.model is None
    assert set(answer.values) == {"Canal Inn", "Silk House"}
    assert any("built-in translator was used" in line for line in answer.trace)
    assert len(GRAPH.dataset.store) == size


def test_the_shipped_examples_are_questions_with_sound_syntax() -> None:
    examples = shipped_examples()
    assert len(examples) >= 8
    for item in examples:
        assert item.question.endswith(("?", "？"))
        kinds = {issue.kind for issue in check(item.query, GRAPH.knowledge.names)}
        assert not kinds & {IssueKind.SYNTAX, IssueKind.REFUSED}, item.question


def test_examples_about_another_domain_are_not_shown_to_the_model() -> None:
    assert translate_model.similar("Which hotels?", shipped_examples(), GRAPH.knowledge.names, 3) == []


def test_the_guard_knows_names_numbers_and_chinese_titles() -> None:
    assert unsupported("Canal Inn costs 300.", ["Canal Inn 300"]) == ()
    assert unsupported("Canal Inn costs 301.", ["Canal Inn 300"]) == ("301",)
    assert unsupported("它是《清明上河图》。", ["运河客栈"]) == ("清明上河图",)


@pytest.mark.parametrize("reply", ["NONE: a price of beds", "`NONE: 床位价格`"])
def test_a_model_that_finds_no_term_for_it_makes_the_question_unanswerable(reply: str) -> None:
    answer = asked(ScriptedModel(reply))
    assert answer.verdict is Verdict.UNANSWERABLE
    assert answer.model == "scripted"
    assert answer.query is None
    assert any("has no term for" in line for line in answer.trace)


def test_a_sound_query_that_finds_nothing_is_an_answer_too() -> None:
    empty = 'SELECT DISTINCT ?h WHERE { ?h a <http://town/o#Hotel> . FILTER(STR(?h) = "nowhere") }'
    answer = asked(ScriptedModel(empty))
    assert answer.verdict is Verdict.UNANSWERABLE
    assert answer.model == "scripted"
    assert answer.query is not None
    assert answer.query.text == empty
