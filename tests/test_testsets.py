"""Gold questions made: backwards from a graph, from documents, tables and models; what leaks or repeats is dropped."""

# ruff: noqa: E501
from __future__ import annotations

import json

import pytest
from workspaces import new_workspace

from kgplatform.cli.main import main
from kgplatform.errors import ModelReplyError, ReadError
from kgplatform.evaluation import question_maker as maker
from kgplatform.evaluation.gold import read_gold
from kgplatform.graph import KnowledgeGraph
from kgplatform.models.stubs import ScriptedModel

TOWN = """
@prefix : <http://town/> . @prefix o: <http://town/o#> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
o:Town a owl:Class ; rdfs:label "town"@en, "城镇"@zh . o:Hotel a owl:Class ; rdfs:label "hotel"@en, "酒店"@zh .
o:locatedIn a owl:ObjectProperty ; rdfs:label "located in"@en, "位于"@zh . o:near a owl:ObjectProperty ; rdfs:label "near"@en, "靠近"@zh .
o:province a owl:ObjectProperty ; rdfs:label "province"@en, "省份"@zh . o:price a owl:DatatypeProperty ; rdfs:label "price"@en, "房价"@zh .
:zj rdfs:label "Zhejiang"@en, "浙江"@zh . :js rdfs:label "Jiangsu"@en, "江苏"@zh .
:wz a o:Town ; rdfs:label "Wuzhen"@en, "乌镇"@zh ; o:province :zj . :xt a o:Town ; rdfs:label "Xitang"@en, "西塘"@zh ; o:province :zj .
:zz a o:Town ; rdfs:label "Zhouzhuang"@en, "周庄"@zh ; o:province :js ; o:near :xt .
:h1 a o:Hotel ; rdfs:label "Canal Inn"@en, "运河客栈"@zh ; o:locatedIn :wz ; o:price 300 ; o:near :h2 .
:h2 a o:Hotel ; rdfs:label "Silk House"@en, "丝绸会馆"@zh ; o:locatedIn :wz ; o:price 1000 .
:h3 a o:Hotel ; rdfs:label "Old Bridge"@en, "古桥酒店"@zh ; o:locatedIn :xt ; o:price 450 ; o:near :h1 .
:h4 a o:Hotel ; rdfs:label "Water Lodge"@en, "水居"@zh ; o:locatedIn :zz ; o:price 520 .
"""


@pytest.fixture(scope="module")
def town(tmp_path_factory):
    folder = tmp_path_factory.mktemp("town")
    source = folder / "town.ttl"
    source.write_text(TOWN, encoding="utf-8")
    with KnowledgeGraph.create(folder / "kg", ontology=str(source)) as kg:
        kg.load(source)
    return folder / "kg"


def _reverse(kg, language, seed=3):
    known = kg.knowledge
    return maker.ReverseQuestions(
        known.names.facts, known.schema, run=kg.query, label=kg.label, language=language, seed=seed
    )


@pytest.mark.parametrize("language", ["en", "zh"])
def test_questions_made_backwards_have_the_answers_of_their_query(town, language):
    with KnowledgeGraph.open(town) as kg:
        made = _reverse(kg, language).make(60).kept
        assert len(made) > 25
        assert set(maker.shapes(made)) >= {"lookup", "inverse", "count", "both", "superlative", "comparison", "boolean"}
        for question in made:
            found = kg.query(question.query)
            if found.boolean is not None:
                assert question.answers == ("yes" if found.boolean else "no",)
            else:
                labels = {kg.label(term, language) for row in found.rows for term in row if term is not None}
                assert set(question.answers) == labels
        assert len({question.text for question in made}) == len(made)
        assert [q.text for q in _reverse(kg, language).make(60).kept] == [q.text for q in made]


def test_a_question_that_holds_its_answer_is_dropped():
    gives = maker.MadeQuestion("Is the Canal Inn in Wuzhen, a town?", "en", "lookup", ("Wuzhen",), query="a")
    names = maker.MadeQuestion(
        "What is the town of Wuzhen Inn?", "en", "lookup", ("Wuzhen",), query="b", names=("Wuzhen Inn",)
    )
    chinese = maker.MadeQuestion("运河客栈在乌镇吗？", "zh", "lookup", ("乌镇",), query="c")
    assert maker.leaks(gives)
    assert maker.leaks(chinese)
    assert not maker.leaks(names)
    twice = maker.MadeQuestion("Where else?", "en", "lookup", ("Xitang",), query="b")
    none = maker.MadeQuestion("Where?", "en", "lookup", (), query="d")
    found = maker.sifted([gives, names, chinese, twice, none])
    assert (found.kept, found.dropped) == ((names,), {"gives its answer away": 2, "asked twice": 1, "no answer": 1})


def test_a_set_is_divided_by_content_so_that_no_query_is_on_both_sides():
    made = [maker.MadeQuestion(f"Question {n}?", "en", "lookup", ("x",), query=f"SELECT {n // 2}") for n in range(200)]
    dev, test = maker.divided(made, 0.5)
    assert 60 < len(dev) < 140
    assert not {question.query for question in dev} & {question.query for question in test}
    assert maker.divided(made[:50], 0.5)[0] == [question for question in dev if question in made[:50]]


def test_the_command_writes_sets_that_evaluate_reads_and_answers(town, tmp_path, capsys):
    out = tmp_path / "made.jsonl"
    arguments = ["testset", "graph", str(out), "-w", str(town), "--count", "40", "--language", "en", "--language", "zh"]
    assert main([*arguments, "--test", "0.5"]) == 0
    both = [read_gold(tmp_path / f"made.{side}.jsonl") for side in ("dev", "test")]
    assert all(not gold.problems and len(gold.questions) > 5 for gold in both)
    assert {question.language for gold in both for question in gold.questions} == {"en", "zh"}
    capsys.readouterr()
    assert main(["evaluate", "questions", str(tmp_path / "made.dev.jsonl"), "-w", str(town), "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["exact"]["value"] > 0.5


def test_questions_about_documents_carry_the_quotes_they_rest_on(tmp_path):
    text = "# Xizha\n\nXizha is an attraction in Wuzhen. Xizha opens at 9:00. Tickets cost 150 yuan.\n"
    (tmp_path / "note.md").write_text(text, encoding="utf-8")
    with KnowledgeGraph.open(new_workspace(tmp_path / "kg")) as kg:
        list(kg.add(tmp_path / "note.md"))
    assert main(["testset", "documents", str(tmp_path / "d.jsonl"), "-w", str(tmp_path / "kg"), "--count", "6"]) == 0
    lines = [json.loads(line) for line in (tmp_path / "d.jsonl").read_text(encoding="utf-8").splitlines()]
    assert lines
    assert {line["type"] for line in lines} <= {kind.value for kind in maker.QuestionType}
    assert all(quote in text for line in lines for quote in line["quotes"])


def test_templates_are_filled_from_rows_and_answered_by_all_that_fit(tmp_path):
    table, templates, made = (tmp_path / name for name in ("flights.csv", "t.jsonl", "q.jsonl"))
    table.write_text("flight,gate,airline\nKL1,C5,KLM\nKL2,D4,KLM\nDL7,C5,Delta\n", encoding="utf-8")
    lines = [
        {"template": "Which gate does {flight} use?", "answer": "gate", "type": "gate"},
        {"template": "{airline}有哪些航班？", "answer": "flight"},
        {"template": "no place", "answer": "gate"},
        {"template": "Is {gate} at {gate}?", "answer": "gate"},
    ]
    templates.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    found, problems = maker.read_templates(templates)
    assert (len(found), len(problems)) == (2, 2)
    given = ["--table", str(table), "--templates", str(templates), "--count", "8"]
    assert main(["testset", "table", str(made), *given]) == 0
    gold = {question.text: question.answers for question in read_gold(made).questions}
    assert gold["KLM有哪些航班？"] == ((("KL1", "KL2")),)
    assert all("Which gate does" in text or "有哪些航班" in text for text in gold)
    with pytest.raises(ReadError, match="no column 'gate', which a template names; it has flight"):
        list(maker.from_table([{"flight": "KL1"}], found[:1], count=1, source="f.csv"))


PASSAGES = (
    maker.MadePassage("Notes", "Xizha opens at nine. A ticket costs 150 yuan."),
    maker.MadePassage("Guide", "西栅晚上十点关闭。"),
)


def _reply(**changes):
    item = {
        "type": "simple",
        "question": "What is a ticket for Xizha?",
        "answer": "150 yuan",
        "quotes": [{"passage": 1, "quote": "A ticket costs 150 yuan."}],
    }
    return json.dumps({"questions": [item | changes]}, ensure_ascii=False)


def test_a_models_question_is_taken_with_quotes_that_are_there():
    taken, refused = maker.from_passages(PASSAGES, ScriptedModel(_reply()))
    assert refused == []
    assert (taken[0].answers, taken[0].made_by) == (("150 yuan",), "scripted")
    assert [(source.document, source.quote) for source in taken[0].sources] == [("Notes", "A ticket costs 150 yuan.")]
    reckoned = _reply(question="What do two tickets for Xizha cost?", answer="300 yuan", type="reasoning")
    assert maker.from_passages(PASSAGES, ScriptedModel(reckoned))[0][0].answers == ("300 yuan",)


def test_a_quote_is_found_whatever_its_line_breaks_and_marks_and_kept_as_it_stands():
    passage = maker.MadePassage("Notes", "Xizha’s “West\nGate” opens at nine – daily.")
    quote = {"passage": 1, "quote": 'Xizha\'s "West Gate" opens at nine - daily.'}
    model = ScriptedModel(_reply(question="When does the West Gate open?", answer="at nine", quotes=[quote]))
    taken, refused = maker.from_passages([passage], model)
    assert refused == []
    assert taken[0].sources[0].quote == passage.text
    assert 'From "Notes"' in model.conversations[0][-1].content


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"quotes": [{"passage": 1, "quote": "A ticket costs 120 yuan."}]}, "is not in the passage"),
        ({"quotes": [{"passage": 9, "quote": "Xizha"}]}, "is not in the passage"),
        ({"quotes": []}, "missing"),
        ({"answer": "300 yuan"}, "names what no passage does: 300"),
        ({"type": "multi-context"}, "quotes one"),
        ({"answer": " "}, "missing"),
    ],
)
def test_a_models_question_that_does_not_hold_is_refused_with_the_reason(changes, reason):
    taken, refused = maker.from_passages(PASSAGES, ScriptedModel(_reply(**changes)))
    assert taken == []
    assert reason in refused[0].reason


@pytest.mark.parametrize("reply", ["Sure, here are some.", '{"questions": "many"}', '{"questions": [{"type": "odd"}]}'])
def test_a_reply_that_makes_no_questions_is_an_error(reply):
    with pytest.raises(ModelReplyError):
        maker.from_passages(PASSAGES, ScriptedModel(*[reply] * 3))


def test_imagined_users_ask_so_many_questions_and_none_twice():
    def tasks(user):
        asked = ([f"Question {user} {task} {n}?" for n in range(7)] + ["Question 0 0 0?"] for task in range(6))
        return [{"task": f"task {n}", "questions": questions} for n, questions in enumerate(asked)]

    reply = {"users": [{"user": f"user {n}", "tasks": tasks(n)} for n in range(6)]}
    found = maker.for_users("Notes about towns", ScriptedModel(json.dumps(reply)))
    assert len(found) == len({item.text for item in found}) == 125


def test_a_paraphrase_that_changes_a_name_or_number_is_not_taken():
    asked = [
        maker.MadeQuestion("Which hotels are located in Wuzhen?", "en", "inverse", ("Canal Inn",)),
        maker.MadeQuestion("Which hotels have a price above 500?", "en", "comparison", ("Silk House",)),
    ]
    reply = json.dumps({"questions": ["What hotels can I find in Wuzhen?", "Which hotels cost more than 600?"]})
    found, refused = maker.paraphrased(asked, ScriptedModel(reply))
    assert [question.text for question in found] == ["What hotels can I find in Wuzhen?", asked[1].text]
    assert "500" in refused[0].reason
    with pytest.raises(ModelReplyError):
        maker.paraphrased(asked, ScriptedModel('{"questions": ["one"]}'))
