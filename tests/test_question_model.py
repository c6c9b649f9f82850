"""Translating with a model: what it is told, what its replies become, drafts that vote, solved questions, wording."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyoxigraph import Literal, NamedNode
from test_question_builtin import TOWN, Graph

from kgplatform.building.asking import AskOptions, chosen_model, examples, keep
from kgplatform.errors import ConfigError, ModelUnavailableError
from kgplatform.models.cache import CachedModel
from kgplatform.models.chat import OpenAIModel
from kgplatform.protocols import ChatModel, Completion, Message
from kgplatform.questions.abbreviating import prefixes_for
from kgplatform.questions.answer import QuestionParts, QuestionSettings, ask
from kgplatform.questions.phrasing import invented, omitted
from kgplatform.questions.solved import Solved, save, similar, solved_in
from kgplatform.questions.translate_model import TranslationOptions
from kgplatform.testing import HashEmbedder, ScriptedModel
from kgplatform.text import count_tokens
from kgplatform.types import Answer, IssueKind, Verdict

GRAPH = Graph(TOWN)
ONTOLOGY = "http://town/o#"
IN_WUZHEN = f"SELECT DISTINCT ?h WHERE {{ ?h a <{ONTOLOGY}Hotel> ; <{ONTOLOGY}locatedIn> <http://town/wz> }}"
ALL = f"SELECT DISTINCT ?h WHERE {{ ?h a <{ONTOLOGY}Hotel> }}"
NOWHERE = f"SELECT DISTINCT ?h WHERE {{ ?h a <{ONTOLOGY}Hotel> ; <{ONTOLOGY}price> 123456 }}"


def asked(
    model: ChatModel,
    question: str = "Which hotels are in Wuzhen?",
    *,
    solved: Sequence[Solved] = (),
    options: TranslationOptions | None = None,
) -> Answer:
    parts = QuestionParts(
        GRAPH.dataset,
        GRAPH.ontology,
        GRAPH.knowledge,
        run=GRAPH.parts.run,
        find=GRAPH.find,
        model=model,
        examples=solved,
        settings=QuestionSettings(phrased_by_model=False, translation=options or TranslationOptions()),
    )
    return ask(question, parts=parts)


# what the model is told


def told(style: str = "rules", question: str = "Which hotels are in Wuzhen?") -> str:
    model = ScriptedModel(ALL)
    asked(model, question, options=TranslationOptions(style=style, repairs=0))
    return "\n".join(message.content for message in model.conversations[0])


@pytest.mark.parametrize("style", ["rules", "create", "demonstration"])
def test_every_style_shows_classes_properties_values_and_comments(style: str) -> None:
    text = told(style)
    assert "PREFIX town: <http://town/o#>" in text
    for part in ("town:Hotel", "town:locatedIn", "town:price", '"Canal Inn"'):
        assert part in text, part
    assert "Which hotels are in Wuzhen?" in text


def test_the_styles_differ() -> None:
    assert "CREATE CLASS town:Hotel" in told("create")
    assert "# town:Hotel(" in told("demonstration")
    assert "-[town:locatedIn]-> " in told("rules")


def test_a_linked_name_comes_with_iri_class_and_what_is_around_it() -> None:
    line = next(line for line in told().splitlines() if line.startswith('"Wuzhen"'))
    assert "<http://town/wz>" in line
    assert "town:Town" in line
    assert "<-[town:locatedIn]-" in line


def test_a_chinese_question_gets_a_chinese_prompt() -> None:
    assert "你把问题翻译成" in told(question="乌镇有哪些酒店？")
    assert "You translate questions" in told()


def test_plausible_readings_of_the_built_in_translator_are_offered() -> None:
    assert "by rules" in told()


# a schema of thousands of properties


def _wide() -> Graph:
    lines = ["@prefix w: <http://wide/o#> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> ."]
    for number in range(40):
        lines.append(f'<http://wide/t{number}> a w:Thing{number} ; rdfs:label "thing {number}" .')
        lines += [f"<http://wide/t{number}> w:measure{number}x{part} {part} ." for part in range(60)]
        lines.append(f"<http://wide/t{number}> w:next{number} <http://wide/t{(number + 1) % 40}> .")
    lines.append("<http://wide/t7> w:salinity 3.5 .")
    return Graph("\n".join(lines))


@pytest.mark.parametrize("style", ["rules", "create", "demonstration"])
@pytest.mark.parametrize("budget", [700, 3000])
def test_a_schema_of_thousands_of_properties_fits_and_keeps_what_is_asked_about(style: str, budget: int) -> None:
    names, briefer = _wide().knowledge.names, _wide().knowledge.briefer
    assert len(names.schema.properties) > 2000
    question = "What is the salinity of thing 7?"
    brief = briefer.brief(question, names.link(question), style=style, budget_tokens=budget)
    assert count_tokens(brief.schema) <= budget
    assert "salinity" in brief.schema
    assert "Thing7" in brief.schema


def test_the_slice_is_found_by_meaning_too() -> None:
    graph = _wide()
    brief = graph.knowledge.briefer.brief("salinty?", (), budget_tokens=700, embedder=lambda: HashEmbedder())
    assert "salinity" in brief.schema


# prefixes


@given(st.sampled_from(["a:b ?x", '"town:Hotel" ?x', "<http://town:80/x> ?x", "town:Hotel ?x", "# town:Hotel\n ?x"]))
def test_a_prefix_is_declared_where_a_query_uses_it_and_nowhere_else(use: str) -> None:
    prefixes = prefixes_for([NamedNode(f"{ONTOLOGY}Hotel")], {})
    query = f"SELECT * WHERE {{ ?x ?p {use} }}"
    declared = prefixes.declared_in(query)
    assert declared.endswith(query)
    assert declared.startswith("PREFIX town:") is use.startswith("town:")
    assert prefixes.declared_in(declared) == declared


def test_two_namespaces_never_share_a_prefix() -> None:
    prefixes = prefixes_for([NamedNode("http://a/town#X"), NamedNode("http://b/town#X")], {})
    assert len(set(prefixes.namespaces.values())) == len(prefixes.namespaces)
    assert {prefixes.short(NamedNode("http://a/town#X")), prefixes.short(NamedNode("http://b/town#X"))} == {
        "town:X",
        "town2:X",
    }


# replies


@pytest.mark.parametrize(
    "reply",
    [
        f"# sure\n{ALL}",
        f"Here it is:\n```sparql\n# sure\n{ALL}\n```\nGood luck!",
        f"<think>hm {{</think>\n{ALL}",
        ALL.replace(f"<{ONTOLOGY}Hotel>", "town:Hotel"),
    ],
)
def test_replies_of_any_form_are_read(reply: str) -> None:
    answer = asked(ScriptedModel(reply))
    assert answer.model == "scripted"
    assert len(answer.solutions.rows) == 3


@pytest.mark.parametrize(
    "reply",
    ["I cannot do that.", "```\nnothing\n```", "DROP ALL", "LOAD <file:///etc/passwd>", "SELECT ?h WHERE { ?h a <htt"],
)
def test_replies_that_are_no_sound_query_are_never_run(reply: str) -> None:
    before = len(GRAPH.dataset.store)
    answer = asked(ScriptedModel(*[reply] * 4))
    assert answer.model is None
    assert len(GRAPH.dataset.store) == before


def test_doubts_of_the_model_lower_the_confidence() -> None:
    sure, unsure = asked(ScriptedModel(f"# sure\n{ALL}")), asked(ScriptedModel(f"# unsure: which hotels\n{ALL}"))
    assert unsure.confidence < sure.confidence
    assert any("which hotels" in line for line in unsure.trace)


def test_the_same_result_as_the_built_in_reading_raises_the_confidence() -> None:
    assert asked(ScriptedModel(IN_WUZHEN)).confidence > asked(ScriptedModel(ALL)).confidence


# repair


def test_an_empty_result_goes_back_with_its_reason_and_rows_win() -> None:
    model = ScriptedModel(NOWHERE, IN_WUZHEN)
    answer = asked(model)
    assert set(answer.values) == {"Canal Inn", "Silk House"}
    assert answer.query is not None
    assert [issue.kind for issue in answer.query.attempts[0].issues] == [IssueKind.EMPTY]
    assert "It finds nothing." in model.conversations[1][-1].content
    assert "123456" in model.conversations[1][-1].content


def test_a_model_that_stands_by_its_empty_result_is_asked_once_only() -> None:
    model = ScriptedModel(NOWHERE, NOWHERE, ALL)
    answer = asked(model)
    assert answer.verdict is Verdict.UNANSWERABLE
    assert len(model.conversations) == 2


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("SELECT ?x ?nothing WHERE { VALUES ?x { <http://town/wz> } OPTIONAL { ?x town:price ?nothing } }", "no value"),
        ("SELECT ?x WHERE { VALUES ?x { <http://town/wz> } ?x town:locatedIn ?p }", "only repeats"),
        ("SELECT ?l WHERE { ?h rdfs:label ?l . ?h a town:Town }", "several languages"),
    ],
)
def test_rows_that_can_hardly_be_meant_go_back(query: str, said: str) -> None:
    model = ScriptedModel(query, IN_WUZHEN)
    answer = asked(model)
    assert said in model.conversations[1][-1].content
    assert set(answer.values) == {"Canal Inn", "Silk House"}


def test_a_repair_that_makes_it_worse_is_not_taken() -> None:
    answer = asked(ScriptedModel(NOWHERE, "SELECT ?h WHERE {", "SELECT ?h WHERE {"))
    assert answer.query is not None
    assert "123456" in answer.query.text


def test_no_more_rounds_are_made_than_allowed() -> None:
    replies = [f"SELECT ?h WHERE {{ ?h a <{ONTOLOGY}Nothing{n}> }}" for n in range(9)]
    model = ScriptedModel(*replies)
    asked(model, options=TranslationOptions(repairs=3))
    assert len(model.conversations) == 4


# drafts


@pytest.mark.parametrize("order", list(itertools.permutations([IN_WUZHEN, ALL, f"{IN_WUZHEN} LIMIT 9"])))
def test_the_result_that_most_drafts_have_wins_in_any_order(order: tuple[str, ...]) -> None:
    answer = asked(ScriptedModel(*order), options=TranslationOptions(drafts=3))
    assert set(answer.values) == {"Canal Inn", "Silk House"}
    assert any("2 of 3 drafts" in line for line in answer.trace)


def test_drafts_come_in_different_styles() -> None:
    model = ScriptedModel(ALL, ALL, ALL)
    asked(model, options=TranslationOptions(drafts=3))
    assert len({conversation[-1].content for conversation in model.conversations}) == 3


def test_a_draft_that_fails_is_outvoted() -> None:
    model = ScriptedModel(ModelUnavailableError("busy", model="scripted"), IN_WUZHEN, "no idea", IN_WUZHEN)
    answer = asked(model, options=TranslationOptions(drafts=4))
    assert set(answer.values) == {"Canal Inn", "Silk House"}


def test_the_built_in_reading_votes_where_drafts_disagree() -> None:
    answer = asked(ScriptedModel(ALL, IN_WUZHEN), options=TranslationOptions(drafts=2))
    assert set(answer.values) == {"Canal Inn", "Silk House"}


def test_unanimous_drafts_are_surer_than_divided_ones() -> None:
    same = asked(ScriptedModel(*[IN_WUZHEN] * 3), options=TranslationOptions(drafts=3))
    divided = asked(ScriptedModel(IN_WUZHEN, ALL, f"{IN_WUZHEN} LIMIT 1"), options=TranslationOptions(drafts=3))
    assert same.confidence > divided.confidence


def test_further_drafts_are_drawn_warm_and_kept_apart_in_the_cache(tmp_path: Path) -> None:
    model = OpenAIModel("m", url="http://127.0.0.1:1/v1", temperature=0.0)
    first, second = model.sample(1), model.sample(2)
    assert first.temperature == 0.7
    assert model.temperature == 0.0
    assert first.parameters != second.parameters != model.parameters
    cached = CachedModel(model, tmp_path / "models.sqlite")
    assert cached.sample(1).parameters == first.parameters


def test_a_cache_over_a_model_that_draws_no_samples_is_itself(tmp_path: Path) -> None:
    class Fixed:
        name = "fixed"

        def complete(self, messages: Sequence[Message], *, schema: object = None) -> Completion:
            raise AssertionError

    cached = CachedModel(Fixed(), tmp_path / "models.sqlite")
    assert cached.sample(2) is cached


# solved questions


INNS = Solved("Which hotels are in Jiaxing?", ALL)
PRICES = Solved("How much does Silk House cost?", f"SELECT ?p WHERE {{ ?h <{ONTOLOGY}price> ?p }}")


def test_the_most_similar_solved_question_is_shown_names_aside() -> None:
    found = similar("Which hotels are in Wuzhen?", [PRICES, INNS], GRAPH.knowledge.names, 1)
    assert found == [INNS]


def test_a_question_that_is_measured_is_not_shown_its_own_solution() -> None:
    question = "Which hotels are in Jiaxing?"
    assert similar(question, [INNS], GRAPH.knowledge.names, 3, leave_out_same=True) == []
    model = ScriptedModel(ALL)
    asked(model, question, solved=[INNS, PRICES], options=TranslationOptions(leave_out_same=True))
    shown = model.conversations[0][-1].content
    assert PRICES.question in shown
    assert shown.count(question) == 1


def test_embeddings_rank_solved_questions_too() -> None:
    found = similar(
        "Which inns lie in Wuzhen?", [PRICES, INNS], GRAPH.knowledge.names, 1, embedder=lambda: HashEmbedder()
    )
    assert found == [INNS]


@given(st.text(min_size=1, max_size=80).filter(lambda text: text.split()))
def test_what_is_kept_is_read_again(tmp_path_factory: pytest.TempPathFactory, question: str) -> None:
    folder = tmp_path_factory.mktemp("solved")
    save(question, ALL, folder)
    save(question, ALL, folder)
    found, problems = solved_in(folder)
    assert not problems
    assert [(item.question, item.query) for item in found] == [(" ".join(question.split()), ALL)]


def test_the_questions_of_a_workspace_are_read_again_when_they_change(tmp_path: Path) -> None:
    before = len(examples(tmp_path))
    keep("哪些酒店在乌镇？", IN_WUZHEN, tmp_path)
    assert len(examples(tmp_path)) == before + 1
    (tmp_path / "sparql" / "broken.rq").write_bytes(b"\xff\xfe")
    assert len(examples(tmp_path)) == before + 1


# options


@pytest.mark.parametrize(
    ("options", "setting"),
    [
        (TranslationOptions(style="create table"), "questions.style"),
        (TranslationOptions(view="half"), "questions.view"),
        (TranslationOptions(drafts=0), "questions.drafts"),
        (TranslationOptions(drafts=99), "questions.drafts"),
        (TranslationOptions(schema_tokens=3), "questions.schema_tokens"),
    ],
)
def test_options_that_cannot_be_used_are_named(options: TranslationOptions, setting: str) -> None:
    with pytest.raises(ConfigError, match=setting):
        options.checked()


def test_a_model_is_insisted_on_only_where_one_is_set() -> None:
    model = ScriptedModel()
    assert chosen_model(model, AskOptions("builtin")) is None
    assert chosen_model(model, AskOptions("drafts")) is model
    assert chosen_model(None, AskOptions()) is None
    with pytest.raises(ConfigError, match="no model is set"):
        chosen_model(None, AskOptions("model"))


# wording


@pytest.mark.parametrize(
    ("text", "made_up"),
    [
        ("Canal Inn and Silk House are in Wuzhen.", ()),
        ("There are two: Canal Inn and Silk House.", ()),
        ("Three hotels: Canal Inn and Silk House.", ("Three",)),
        ("Canal Inn, near Hangzhou.", ("Hangzhou",)),
        ("有两家：Canal Inn 和 Silk House。", ()),
        ("有三家：Canal Inn 和 Silk House。", ("三",)),
        ("Canal Inn 在西塘。", ("西塘",)),
    ],
)
def test_the_guard_finds_names_of_the_graph_and_numbers_in_words(text: str, made_up: tuple[str, ...]) -> None:
    allowed = ["Canal Inn, Silk House.", "Which hotels are in Wuzhen?", "2"]
    assert invented(text, allowed, GRAPH.knowledge.names) == made_up


@pytest.mark.parametrize(
    ("text", "values", "missing"),
    [
        ("I do not know.", ("Canal Inn",), ("Canal Inn",)),
        ("Canal Inn is one.", ("Canal Inn", "Silk House"), ("Silk House",)),
        ("It has 1,461,000 inhabitants.", ("1461000",), ()),
        ("There are 9, among them A1 and A2.", tuple(f"A{n}" for n in range(9)), ()),
        ("Yes, it is.", ("Yes",), ()),
        ("No, it is not.", ("Yes",), ("Yes",)),
        ("没有。", ("否",), ()),
        ("是的，有。", ("否",), ("否",)),
    ],
)
def test_a_wording_may_not_leave_out_or_turn_round_the_answer(
    text: str, values: tuple[str, ...], missing: tuple[str, ...]
) -> None:
    assert omitted(text, values) == missing


def test_the_schema_text_reads_conventions_of_the_ontology_itself() -> None:
    turtle = """@prefix owl: <http://www.w3.org/2002/07/owl#> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
    <http://c/o> a owl:Ontology ; rdfs:comment "Heights are in feet."@en . <http://c/o#Peak> a owl:Class .
    <http://c/p> a <http://c/o#Peak> ; <http://c/o#height> "12" , "7" ; <http://c/o#code> "07" ."""
    text = Graph(turtle).knowledge.briefer.schema_text.text()
    assert "Heights are in feet." in text
    assert "numbers kept as text" in text
    assert str(Literal("07")) in text
