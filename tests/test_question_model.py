"""Translating with a model: what it is told, what its replies become, drafts that vote, solved questions, wording."""

from __future__ import annotations

import itertools
import json
import re
from functools import cache

import pytest
from asked import Asked, turtle
from hypothesis import given
from hypothesis import strategies as st
from pyoxigraph import Literal

from benchmarks import question_prompts, question_sets
from kgplatform.errors import ConfigError, ModelUnavailableError
from kgplatform.models import prompts
from kgplatform.models.chat import OpenAIModel
from kgplatform.models.reply_cache import CachedModel
from kgplatform.models.stubs import HashEmbedder, ScriptedModel
from kgplatform.questions.answer import AnswerSettings, ask
from kgplatform.questions.check import check
from kgplatform.questions.model_translator import TranslationOptions, agreement
from kgplatform.questions.solved_questions import Solved, follows_rules, retold, shipped_examples, similar
from kgplatform.text import count_tokens, has_han
from kgplatform.types import IssueKind, Verdict
from kgplatform.workspace.question_settings import AskOptions, chosen_model, examples, keep

GRAPH = Asked(turtle("town"))
ONTOLOGY = "http://town/o#"
IN_WUZHEN = f"SELECT DISTINCT ?h WHERE {{ ?h a <{ONTOLOGY}Hotel> ; <{ONTOLOGY}locatedIn> <http://town/wz> }}"
ALL = f"SELECT DISTINCT ?h WHERE {{ ?h a <{ONTOLOGY}Hotel> }}"
NOWHERE = f"SELECT DISTINCT ?h WHERE {{ ?h a <{ONTOLOGY}Hotel> ; <{ONTOLOGY}price> 123456 }}"


def asked(model, question="Which hotels are in Wuzhen?", *, solved=(), options=None, phrased=False):
    chosen = AnswerSettings(phrased_by_model=phrased, translation=options or TranslationOptions())
    return ask(question, parts=GRAPH.parts_with(model=model, examples=solved, settings=chosen))


def told(style="rules", question="Which hotels are in Wuzhen?"):
    model = ScriptedModel(ALL)
    asked(model, question, options=TranslationOptions(style=style, repairs=0))
    return "\n".join(message.content for message in model.conversations[0])


@pytest.mark.parametrize("style", ["rules", "create", "demonstration"])
def test_every_style_shows_classes_properties_values_and_comments(style):
    text = told(style)
    assert "PREFIX town: <http://town/o#>" in text
    for part in ("town:Hotel", "town:locatedIn", "town:price", '"Canal Inn"'):
        assert part in text, part
    assert "Which hotels are in Wuzhen?" in text


def test_the_styles_differ_and_a_linked_name_comes_with_what_is_around_it():
    assert "CREATE CLASS town:Hotel" in told("create")
    assert "# town:Hotel(" in told("demonstration")
    assert "-[town:locatedIn]-> " in told("rules")
    line = next(line for line in told().splitlines() if line.startswith('"Wuzhen"'))
    assert all(part in line for part in ("<http://town/wz>", "town:Town", "<-[town:locatedIn]-"))


def test_the_prompt_is_in_the_language_of_the_question_and_offers_plausible_readings():
    assert "你把问题翻译成" in told(question="乌镇有哪些酒店？")
    assert "You translate questions" in told()
    assert "by rules" in told()


def rules(language):
    text, _ = prompts.render_messages(
        "translate-question", question="", language=language, schema="", linked=[], examples=[], candidates=[]
    )
    return [line for line in text[0].content.splitlines() if line.startswith("- ")]


def test_the_rules_are_the_same_in_both_languages():
    """Rule by rule: the same keywords, variables, prefixed names, operators and numbers of SPARQL."""
    code = re.compile(r"[?$]\w+|\b(?!IRI)[A-Z]{2,}\b|\b\w+:\w+|[<>]=?|\*|\(p\|\^p\)|p\+|\d+(?:-\d+)*", re.ASCII)
    english, chinese = rules("en"), rules("zh")
    assert len(english) == len(chinese) > 15
    for one, other in zip(english, chinese, strict=True):
        assert sorted(code.findall(one)) == sorted(code.findall(other)), one
        assert has_han(other)
        assert not has_han(one)


@pytest.mark.parametrize(
    "settled",
    [
        *("Never the thing and its name", "returns the group, then its value", "GROUP BY ?x ORDER BY MIN(?v)"),
        *("without PREFIX lines", "(p|^p)", "N per cent", "OFFSET 5", "Weighted", "Still", "value of drive"),
        "from low to high",
    ],
)
def test_the_rules_settle_what_was_open(settled):
    assert settled in told()


MENU = """@prefix : <http://m/> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix core: <https://w3id.org/kgplatform/core#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
:Dish a owl:Class ; rdfs:label "dish"@en, "菜"@zh ; rdfs:comment "A main dish is served after 18:00."@zh .
:price a owl:DatatypeProperty ; rdfs:label "price"@en, "价格"@zh ; core:unit "euro cents" ; rdfs:domain :Dish .
:size a owl:DatatypeProperty ; rdfs:label "size"@en ; rdfs:comment "S small, L for two"@en ; rdfs:domain :Dish .
:origin a owl:DatatypeProperty ; rdfs:label "origin"@en, "产地"@zh ; rdfs:domain :Dish .
:from a owl:ObjectProperty ; rdfs:label "from"@en ; rdfs:domain :Dish ; rdfs:range :Land .
:Land a owl:Class ; rdfs:label "land"@en .
:jp a :Land ; rdfs:label "Japan"@en, "日本"@zh . :it a :Land ; rdfs:label "Italy"@en .
:a a :Dish ; rdfs:label "Noodles"@en ; :price 1250 ; :size "L" ; :origin "Japan" ; :from :jp .
:b a :Dish ; rdfs:label "Noodles"@en ; :price 900 ; :origin "Italy" ; :from :it .
:c a :Dish ; rdfs:label "Soup · of the day"@en ; :price 700 ; :size "S" ; :origin "Italy" .
"""
SIZES = "SELECT ?d ?p ?s WHERE { ?d a <http://m/Dish> ; <http://m/price> ?p OPTIONAL { ?d <http://m/size> ?s } }"


@cache
def menu():
    return Asked(MENU)


def worded(query, question="What does each dish cost?", wording="nothing of the kind"):
    model = ScriptedModel(query, wording)
    answer = ask(question, parts=menu().parts_with(model=model, examples=()))
    return answer, json.loads(model.conversations[1][-1].content.partition("{")[2].join(("{", "")))


def test_rows_go_to_be_worded_with_heads_units_and_the_number_of_things():
    _, shown = worded(SIZES)
    assert (shown["rows"], shown["things"]) == (3, 3)
    assert shown["notes"] == {"size": "S small, L for two"}
    names = [row["dish"] for row in shown["shown"]]
    assert len(set(names)) == 3, "two dishes of one name are told apart"
    assert all("Japan" in name or "Italy" in name or name.startswith("Soup") for name in names)
    assert sorted(row["price"] for row in shown["shown"]) == ["12.50 EUR", "7 EUR", "9 EUR"]
    assert [row["size"] for row in shown["shown"]].count(None) == 1


def test_units_are_said_in_the_language_of_the_question():
    _, shown = worded("SELECT (MAX(?p) AS ?most) WHERE { ?d <http://m/price> ?p }", "最贵的菜多少钱？")
    assert shown["shown"] == [{"价格": "12.50 欧元"}]


def test_a_sum_keeps_the_unit_of_what_was_added_and_a_count_has_none():
    query = "SELECT (SUM(?p) AS ?all) (COUNT(?d) AS ?n) WHERE { ?d <http://m/price> ?p }"
    answer, shown = worded(query, "What do all dishes cost?", "All 3 dishes together cost 28.50 EUR.")
    assert shown["shown"] == [{"price": "28.50 EUR", "number": "3"}]
    assert answer.text == "All 3 dishes together cost 28.50 EUR."


def test_columns_of_any_query_have_heads():
    for query in ("SELECT ?x ?p { ?x ?p ?y }", "SELECT ?x { ?x a|!rdfs:label ?y }", "SELECT (1 + 1 AS ?x) {}"):
        assert worded(query, "Which dishes are there?")[1]["rows"] > 0, query


def test_a_value_is_said_in_the_language_of_the_question_where_a_thing_of_that_name_has_one():
    query = "SELECT DISTINCT ?o WHERE { <http://m/a> <http://m/origin> ?o }"
    answer, shown = worded(query, "这道菜的产地是哪里？", "产地是日本。")
    assert (shown["shown"], answer.text) == ([{"产地": "日本"}], "产地是日本。")


def test_the_prompt_leaves_out_noise_and_tells_what_only_the_other_language_defines():
    model = ScriptedModel("NONE: no")
    ask("Which dishes have a size from Japan?", parts=menu().parts_with(model=model, examples=()))
    system, user = (message.content for message in model.conversations[0])
    assert "served after 18:00" in user
    assert '"from"' not in user.partition("What words")[2]
    assert '"have"' not in user.partition("What words")[2]
    assert "<http://www.w3.org/" not in user, "what every reader knows is not declared"
    assert "skos:" in system


def test_a_name_in_one_language_leads_to_the_value_in_another():
    model = ScriptedModel("NONE: no")
    ask("产地是日本的菜有哪些？", parts=menu().parts_with(model=model, examples=()))
    line = next(line for line in model.conversations[0][-1].content.splitlines() if line.startswith('"日本"'))
    assert 'value "Japan" of' in line


@pytest.mark.parametrize(("name", "most"), [("clinic", 3_500), ("opera", 3_400)])
def test_prompts_stay_short(name, most):
    """By the platform's own count: 4,300 and 5,900 before names went without addresses and lines were said once."""
    found = itertools.islice(question_prompts.replayed(question_sets.FOLDER / "train" / name, {}), 2)
    assert all(0 < lengths[0] < most for _, lengths in found)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["hiking", "weather"])
def test_queries_and_wordings_written_from_the_prompts_alone_are_right_and_kept(name):
    replies = question_prompts.recorded()
    found = list(question_prompts.replayed(question_sets.FOLDER / "choose" / name, replies))
    assert [item.gold.id for item, _ in found if not item.score.exact] == []
    assert len(found) == 30
    for item, _ in found:
        assert item.answer.text == replies[item.gold.id].get("wording", item.answer.text)


@cache
def _wide():
    lines = ["@prefix w: <http://wide/o#> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> ."]
    for number in range(40):
        lines.append(f'<http://wide/t{number}> a w:Thing{number} ; rdfs:label "thing {number}" .')
        lines += [f"<http://wide/t{number}> w:measure{number}x{part} {part} ." for part in range(60)]
        lines.append(f"<http://wide/t{number}> w:next{number} <http://wide/t{(number + 1) % 40}> .")
    lines.append("<http://wide/t7> w:salinity 3.5 .")
    return Asked("\n".join(lines))


@pytest.mark.parametrize("style", ["rules", "create", "demonstration"])
@pytest.mark.parametrize("budget", [700, 3000])
def test_a_schema_of_thousands_of_properties_fits_and_keeps_what_is_asked_about(style, budget):
    names, briefer = _wide().known.names, _wide().known.briefer
    assert len(names.schema.properties) > 2000
    question = "What is the salinity of thing 7?"
    brief = briefer.brief(question, names.link(question), style=style, budget_tokens=budget)
    assert count_tokens(brief.schema) <= budget
    assert all(part in brief.schema for part in ("salinity", "Thing7"))


def test_the_slice_is_found_by_meaning_too():
    brief = _wide().known.briefer.brief("salinty?", (), budget_tokens=700, embedder=HashEmbedder)
    assert "salinity" in brief.schema


@pytest.mark.parametrize(
    "reply",
    [
        f"# sure\n{ALL}",
        f"Here it is:\n```sparql\n# sure\n{ALL}\n```\nGood luck!",
        f"<think>SELECT or ASK {{?}}</think>\n{ALL}",
        f"The query is\n{ALL}\nIt asks for hotels.",
        ALL.replace(f"<{ONTOLOGY}Hotel>", "town:Hotel"),
    ],
)
def test_replies_of_any_form_are_read(reply):
    answer = asked(ScriptedModel(reply))
    assert (answer.model, len(answer.solutions.rows)) == ("scripted", 3)


@pytest.mark.parametrize(
    "reply",
    [
        *(
            "I cannot do that.",
            "```\nnothing\n```",
            "DROP ALL",
            "LOAD <file:///etc/passwd>",
            "SELECT ?h WHERE { ?h a <htt",
        ),
        *("DELETE WHERE { ?s ?p ?o }", "SELECT ?x WHERE { SERVICE <http://evil/> { ?x ?y ?z } }"),
        ModelUnavailableError("no server", model="scripted"),
    ],
)
def test_without_a_sound_query_the_built_in_translator_answers_and_nothing_is_changed(reply):
    before = len(GRAPH.dataset.store)
    answer = asked(ScriptedModel(*[reply] * 4))
    assert (answer.verdict, answer.model, set(answer.values)) == (Verdict.ANSWERED, None, {"Canal Inn", "Silk House"})
    assert any("built-in translator was used" in line for line in answer.trace)
    assert len(GRAPH.dataset.store) == before


@pytest.mark.parametrize("reply", ["NONE: a price of beds", "`NONE: 床位价格`"])
def test_a_model_that_finds_no_term_for_it_makes_the_question_unanswerable(reply):
    answer = asked(ScriptedModel(reply))
    assert (answer.verdict, answer.model, answer.query) == (Verdict.UNANSWERABLE, "scripted", None)
    assert any("has no term for" in line for line in answer.trace)


def test_a_sound_query_that_finds_nothing_is_an_answer_too():
    empty = 'SELECT DISTINCT ?h WHERE { ?h a <http://town/o#Hotel> . FILTER(STR(?h) = "nowhere") }'
    answer = asked(ScriptedModel(empty))
    assert (answer.verdict, answer.model, answer.query.text) == (Verdict.UNANSWERABLE, "scripted", empty)


@pytest.mark.parametrize(
    ("wording", "kept"),
    [
        ("Canal Inn and Silk House are in Wuzhen.", True),
        ("There are two: Canal Inn and Silk House.", True),
        ("Three hotels: Canal Inn and Silk House.", False),
        ("Canal Inn and Silk House, near Xitang.", False),
        ("Canal Inn, Silk House and the Grand Hyatt, 12 in all.", False),
        ("Canal Inn is in Wuzhen.", False),
        ("I do not know.", False),
    ],
)
def test_the_model_words_the_answer_but_invents_and_leaves_out_nothing(wording, kept):
    answer = asked(ScriptedModel(f"```sparql\n{IN_WUZHEN}\n```", wording), phrased=True)
    assert (answer.model, answer.usage.calls) == ("scripted", 2)
    assert (answer.text == wording) is kept
    assert kept or set(answer.text.rstrip(".").split(", ")) == {"Canal Inn", "Silk House"}
    assert kept or any("wording was dropped" in line for line in answer.trace)


def test_issues_go_back_to_the_model():
    model = ScriptedModel("SELECT ?h WHERE {", ALL)
    assert asked(model).model == "scripted"
    assert "What is wrong with it" in model.conversations[1][-1].content


@pytest.mark.parametrize(
    ("question", "doubt"),
    [("Which hotels are in Wuzhen?", " Not certain: inns."), ("乌镇有哪些酒店？", "存疑：inns。")],
)
def test_doubts_of_the_model_lower_the_confidence_and_are_told(question, doubt):
    sure = asked(ScriptedModel(f"# sure\n{ALL}"), question)
    unsure = asked(ScriptedModel(f"# unsure: inns.\n{ALL}"), question)
    assert unsure.confidence < sure.confidence
    assert unsure.text == sure.text + doubt


def test_the_same_rows_as_a_likely_reading_without_a_model_raise_the_confidence_and_others_lower_it():
    unread = "Whither do guests of Wuzhen betake themselves?"  # no reading without a model is likely here
    alone = asked(ScriptedModel(IN_WUZHEN), unread).confidence
    assert asked(ScriptedModel(IN_WUZHEN)).confidence > alone > asked(ScriptedModel(ALL)).confidence


@given(st.floats(0.05, 0.95), st.floats(0.5, 0.95))
def test_another_way_to_the_same_result_makes_it_surer_and_to_another_result_less_sure(own, other):
    assert agreement(own, other, same=True) > own
    assert agreement(own, other, same=False) < own
    assert agreement(own, other, same=False) + agreement(other, own, same=False) <= 1


def test_an_empty_result_goes_back_with_its_reason_and_rows_win():
    model = ScriptedModel(NOWHERE, IN_WUZHEN)
    answer = asked(model)
    assert set(answer.values) == {"Canal Inn", "Silk House"}
    assert [issue.kind for issue in answer.query.attempts[0].issues] == [IssueKind.EMPTY]
    assert all(part in model.conversations[1][-1].content for part in ("It finds nothing.", "123456"))


def test_a_model_that_stands_by_its_empty_result_is_asked_once_only():
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
def test_rows_that_can_hardly_be_meant_go_back(query, said):
    model = ScriptedModel(query, IN_WUZHEN)
    answer = asked(model)
    assert said in model.conversations[1][-1].content
    assert set(answer.values) == {"Canal Inn", "Silk House"}


def test_a_repair_that_makes_it_worse_is_not_taken():
    answer = asked(ScriptedModel(NOWHERE, "SELECT ?h WHERE {", "SELECT ?h WHERE {"))
    assert "123456" in answer.query.text


def test_no_more_rounds_are_made_than_allowed():
    replies = [f"SELECT ?h WHERE {{ ?h a <{ONTOLOGY}Nothing{n}> }}" for n in range(9)]
    model = ScriptedModel(*replies)
    asked(model, options=TranslationOptions(repairs=3))
    assert len(model.conversations) == 4


@pytest.mark.parametrize("order", list(itertools.permutations([IN_WUZHEN, ALL, f"{IN_WUZHEN} LIMIT 9"])))
def test_the_result_that_most_drafts_have_wins_in_any_order(order):
    answer = asked(ScriptedModel(*order), options=TranslationOptions(drafts=3))
    assert set(answer.values) == {"Canal Inn", "Silk House"}
    assert any("2 of 3 drafts" in line for line in answer.trace)


def test_drafts_come_in_different_styles():
    model = ScriptedModel(ALL, ALL, ALL)
    asked(model, options=TranslationOptions(drafts=3))
    assert len({conversation[-1].content for conversation in model.conversations}) == 3


@pytest.mark.parametrize(
    "replies",
    [(ModelUnavailableError("busy", model="scripted"), IN_WUZHEN, "no idea", IN_WUZHEN), (ALL, IN_WUZHEN)],
    ids=["failures are outvoted", "the built-in reading has a vote"],
)
def test_the_better_of_divided_drafts_wins(replies):
    answer = asked(ScriptedModel(*replies), options=TranslationOptions(drafts=len(replies)))
    assert set(answer.values) == {"Canal Inn", "Silk House"}


def test_unanimous_drafts_are_surer_than_divided_ones():
    same = asked(ScriptedModel(*[IN_WUZHEN] * 3), options=TranslationOptions(drafts=3))
    divided = asked(ScriptedModel(IN_WUZHEN, ALL, f"{IN_WUZHEN} LIMIT 1"), options=TranslationOptions(drafts=3))
    assert same.confidence > divided.confidence


def test_further_drafts_are_drawn_warm_and_kept_apart_in_the_cache(tmp_path):
    model = OpenAIModel("m", url="http://127.0.0.1:1/v1", temperature=0.0)
    first, second = model.sample(1), model.sample(2)
    assert (first.temperature, model.temperature) == (0.7, 0.0)
    assert first.parameters != second.parameters != model.parameters
    assert CachedModel(model, tmp_path / "models.sqlite").sample(1).parameters == first.parameters
    unsampled = CachedModel(ScriptedModel(), tmp_path / "models.sqlite")
    assert unsampled.sample(2) is unsampled


INNS = Solved("Which hotels are in Jiaxing?", ALL)
PRICES = Solved("How much does Silk House cost?", f"SELECT ?p WHERE {{ ?h <{ONTOLOGY}price> ?p }}")


def test_the_most_similar_solved_question_is_shown_names_aside():
    found = similar("Which hotels are in Wuzhen?", [PRICES, INNS], GRAPH.known.names, 1)
    assert found == [INNS]


def test_a_question_that_is_measured_is_not_shown_its_own_solution():
    question = "Which hotels are in Jiaxing?"
    assert similar(question, [INNS], GRAPH.known.names, 3, leave_out_same=True) == []
    model = ScriptedModel(ALL)
    asked(model, question, solved=[INNS, PRICES], options=TranslationOptions(leave_out_same=True))
    shown = model.conversations[0][-1].content
    assert PRICES.question in shown
    assert shown.count(question) == 1


def test_embeddings_rank_solved_questions_too_and_those_of_another_domain_are_not_shown():
    names = GRAPH.known.names
    assert similar("Which inns lie in Wuzhen?", [PRICES, INNS], names, 1, embedder=HashEmbedder) == [INNS]
    assert similar("Which hotels?", shipped_examples(), names, 3) == []


NEAR_WATER = "Where would you put up by the water in Wuzhen for less than 800?"
SOLVED = Solved(
    NEAR_WATER,
    f"""PREFIX o: <{ONTOLOGY}>
SELECT DISTINCT ?h WHERE {{ ?h a o:Hotel ; o:locatedIn <http://town/wz> ; o:price ?p FILTER(?p < 800) }}""",
)


@pytest.mark.parametrize(
    ("question", "place", "number"),
    [
        (NEAR_WATER, "wz", "800"),
        ("where would you put up by the water in Wuzhen for less than 1200", "wz", "1200"),
        ("Where would you put up by the water in Xitang for less than 800?", "xt", "800"),
        ("Where would you put up by the water in 西塘 for less than 800？", "xt", "800"),
    ],
)
def test_a_question_that_repeats_a_solved_one_has_its_query_with_its_own_names_and_numbers(question, place, number):
    found = retold(question, [INNS, SOLVED], GRAPH.known.names)
    assert found is not None
    assert found[0] == SOLVED
    assert f"<http://town/{place}>" in found[1]
    assert f"< {number})" in found[1]


@pytest.mark.parametrize(
    "question",
    [
        "Where would you put up by the water in Nowhere for less than 800?",
        "Where would you eat by the water in Wuzhen for less than 800?",
        "Where would you put up by the water in Wuzhen for less than 800 and why?",
        "Where would you put up by the water in Canal Inn for less than 800?",
        " ".join(["Where would you put up by the water in Wuzhen for less than 800"] * 9),
    ],
)
def test_a_question_that_says_anything_else_is_not_answered_as_a_solved_one(question):
    assert retold(question, [SOLVED], GRAPH.known.names) is None


def test_one_thing_of_a_solved_question_is_not_two_in_another():
    twice = Solved("Is Wuzhen in Wuzhen?", f"ASK {{ <http://town/wz> <{ONTOLOGY}locatedIn> <http://town/wz> }}")
    assert retold("Is Xitang in Xitang?", [twice], GRAPH.known.names) is not None
    assert retold("Is Xitang in Wuzhen?", [twice], GRAPH.known.names) is None


def test_without_a_model_a_confirmed_question_is_answered_by_its_query_but_not_where_answers_are_measured():
    answer = ask(NEAR_WATER, parts=GRAPH.parts_with(examples=[SOLVED]))
    assert answer.verdict is Verdict.ANSWERED
    assert answer.confidence_level == "high"
    assert answer.query is not None
    assert answer.query.text == SOLVED.query
    measured = AnswerSettings(translation=TranslationOptions(leave_out_same=True))
    alone = ask(NEAR_WATER, parts=GRAPH.parts_with(examples=[SOLVED], settings=measured))
    assert alone.query is None or alone.query.text != SOLVED.query


def test_a_solved_question_that_breaks_the_rules_is_not_shown():
    names = GRAPH.known.names
    limited = Solved("Which hotels are cheap?", f"{ALL} LIMIT 5")
    labels = Solved("Which hotels are there?", f"SELECT ?h ?l WHERE {{ ?h a <{ONTOLOGY}Hotel> ; rdfs:label ?l }}")
    three = Solved("Which 3 hotels are cheap?", f"{ALL} LIMIT 3")
    assert similar("Which hotels are cheap?", [limited, labels, three], names, 3) == [three]


def test_the_shipped_examples_follow_the_rules_and_have_sound_syntax():
    assert len(shipped_examples()) >= 8
    for item in shipped_examples():
        assert item.question.endswith(("?", "？"))
        assert follows_rules(item), item.question
        head, _, tail = item.query[item.query.index("SELECT") :].partition("WHERE")
        assert "DISTINCT" in head or "GROUP BY" in tail, item.question
        grouped = any(word in item.question for word in (" each ", "每个", "各"))
        assert head.count("?") == 1 + (grouped and "COUNT(" in head) * 2, item.question
        assert "ORDER BY" not in tail or "LIMIT" in tail, item.question
        kinds = {issue.kind for issue in check(item.query, GRAPH.known.names)}
        assert not kinds & {IssueKind.SYNTAX, IssueKind.REFUSED}, item.question


@given(st.text(min_size=1, max_size=80).filter(lambda text: text.split()))
def test_what_is_kept_is_read_again(tmp_path_factory, question):
    folder = tmp_path_factory.mktemp("solved")
    keep(question, ALL, folder)
    keep(question, ALL, folder)
    found = examples(folder)[len(shipped_examples()) :]
    assert [(item.question, item.query) for item in found] == [(" ".join(question.split()), ALL)]


def test_the_questions_of_a_workspace_are_read_again_when_they_change(tmp_path):
    before = len(examples(tmp_path))
    keep("哪些酒店在乌镇？", IN_WUZHEN, tmp_path)
    assert len(examples(tmp_path)) == before + 1
    (tmp_path / "sparql" / "broken.rq").write_bytes(b"\xff\xfe")
    assert len(examples(tmp_path)) == before + 1


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
def test_options_that_cannot_be_used_are_named(options, setting):
    with pytest.raises(ConfigError, match=setting):
        options.checked()


def test_a_model_is_insisted_on_only_where_one_is_set():
    model = ScriptedModel()
    assert chosen_model(model, AskOptions("builtin")) is None
    assert chosen_model(model, AskOptions("drafts")) is model
    assert chosen_model(None, AskOptions()) is None
    with pytest.raises(ConfigError, match="no model is set"):
        chosen_model(None, AskOptions("model"))


def test_the_schema_text_reads_conventions_of_the_ontology_itself():
    peaks = """@prefix owl: <http://www.w3.org/2002/07/owl#> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
    <http://c/o> a owl:Ontology ; rdfs:comment "Heights are in feet."@en . <http://c/o#Peak> a owl:Class .
    <http://c/p> a <http://c/o#Peak> ; <http://c/o#height> "12" , "7" ; <http://c/o#code> "07" ."""
    text = Asked(peaks).known.briefer.schema_text.text()
    assert all(part in text for part in ("Heights are in feet.", "numbers kept as text"))
    assert str(Literal("07")) in text
