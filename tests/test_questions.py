"""Questions without a model: a question on a small graph and its answer, in English and Chinese, of many domains."""

# ruff: noqa: E501
from __future__ import annotations

import re
from functools import cache

import pytest
from asked import QUESTIONS, Asked, cases, question_set, tables, turtle
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyoxigraph import Literal, NamedNode
from workspaces import new_workspace

from kgplatform.cli.main import main
from kgplatform.cli.output import as_text
from kgplatform.graph import KnowledgeGraph
from kgplatform.questions.answer import ask
from kgplatform.questions.answer_text import AnswerColumn, AnswerForm, AnswerFrame, as_json, said
from kgplatform.questions.dialogue.conversation import Talk, talk
from kgplatform.server.app import create_app
from kgplatform.store.oxigraph import Store
from kgplatform.types import Evidence, NoAnswer, Solutions, Verdict
from kgplatform.vocab import XSD
from kgplatform.workspace.question_settings import AskOptions
from tests.turtle import PREFIXES

TABLES = tables("questions")


@cache
def graph(name):
    return Asked(turtle(name))


def listed(tables):
    """Every question of the tables, with the name of its graph and what stands behind it."""
    return [(name, *case) for name, text in tables.items() for case in cases(text)]


@pytest.mark.parametrize(("name", "question", "rows"), listed(TABLES["answered"]))
def test_a_question_has_the_rows_that_the_graph_gives(name, question, rows):
    answer = graph(name)(question)
    assert set(graph(name).rows(question)) == rows
    assert (answer.verdict, answer.model) == (Verdict.ANSWERED, None)
    assert answer.query.reading
    Store.open().query(answer.query.text)


@pytest.mark.parametrize(("name", "question", "figures"), listed(TABLES["shares"]))
def test_a_share_or_percentage_of_things_is_told(name, question, figures):
    assert {value.rstrip("%").removesuffix(".0") for value in graph(name)(question).values} == figures


@pytest.mark.parametrize(("name", "question", "rows"), listed(TABLES["answered_by_rules"]))
def test_a_question_has_the_rows_that_the_graph_gives_by_rules_alone(name, question, rows):
    assert set(graph(name).rows_of(graph(name).by_rules(question))) == rows


@pytest.mark.parametrize(("name", "question", "words"), listed(TABLES["refused_by_rules"]))
def test_what_the_graph_does_not_say_is_named_by_rules_alone(name, question, words):
    answer = graph(name).by_rules(question)
    assert (answer.verdict, answer.values) == (Verdict.UNANSWERABLE, ())
    assert all(word in answer.text for word in words)


@pytest.mark.parametrize(("name", "question", "words"), listed(TABLES["refused"]))
def test_what_the_graph_does_not_say_or_know_is_named_and_nothing_made_up(name, question, words):
    answer = graph(name)(question)
    assert (answer.verdict, answer.values) == (Verdict.UNANSWERABLE, ())
    assert all(word in answer.text for word in words)


@pytest.mark.parametrize(("name", "question", "words"), listed(TABLES["asked_back"]))
def test_what_a_name_leaves_open_is_asked_back(name, question, words):
    answer = graph(name)(question)
    assert answer.verdict is Verdict.UNCLEAR
    assert all(word in f"{answer.text} {answer.clarification.options}" for word in words)


def question_sets():
    for name in sorted(path.stem for path in QUESTIONS.glob("*.toml")):
        for promise, text in question_set(name)["answers"].items():
            for question, values in cases(text):
                yield name, promise, question, values


@pytest.mark.parametrize(("name", "promise", "question", "values"), list(question_sets()))
def test_a_question_of_the_sets_has_its_answer(name, promise, question, values):
    assert set(graph(name)(question).values) == values, promise


@pytest.mark.parametrize(
    ("question", "things"),
    [
        ("List all bikes sorted by weight", ["Finch", "Wren", "Stork", "Heron"]),
        ("List all bikes sorted by weight, heaviest first", ["Heron", "Stork", "Wren", "Finch"]),
        ("bikes ordered by rating in descending order", ["Stork", "Heron", "Wren", "Finch"]),
        ("Show all bikes in alphabetical order", ["Finch", "Heron", "Stork", "Wren"]),
        ("列出所有自行车，按重量从大到小排列", ["苍鹭", "白鹳", "鹪鹩", "燕雀"]),
    ],
)
def test_rows_keep_the_order_that_a_question_asks_for(question, things):
    assert [row.split(", ")[0] for row in graph("workshop").rows(question)] == things


@pytest.mark.parametrize(
    ("turns", "things"),
    [
        (("inns in Korvik", "which of them is the cheapest?", "how much is it?"), {"300"}),
        (("科维克有哪些客栈？", "其中每晚价格最低的是哪家？"), {"铜灯客栈"}),
        (("Which is the most expensive inn in Korvik?", "when was it opened?"), {"2001"}),
        (("Where is the Old Oar?", "and Tarnby?"), {"Korvik"}),
    ],
)
def test_a_later_turn_is_about_what_the_last_one_found(turns, things):
    told = []
    for text in turns:
        found = talk(text, Talk(graph("coast").parts, turns=tuple(told)))
        told.append(found.turn)
    assert set(found.answer.values) == things


@pytest.mark.parametrize(
    ("question", "holds"),
    [
        ("Tell me about Tarnby", "rope walk"),
        ("What is Tarnby?", "rope walk"),
        ("介绍一下塔恩比", "绳索作坊"),
        ("Tell me about the Brass Lantern", "price per night: 300 CNY"),
        ("What is a harbour town?", "lives from its harbour"),
        ("什么是渔镇？", "以港口为生"),
    ],
)
def test_a_thing_or_a_word_of_the_ontology_is_told_of(question, holds):
    answer = graph("coast")(question)
    assert answer.verdict is Verdict.ANSWERED
    assert holds in answer.text


@pytest.mark.parametrize(
    ("question", "language"),
    [("谁写了How to Read Tides？", "zh"), ("Where is 塔恩比?", "en"), ("塔恩比", "zh"), ("Tarnby", "en")],
)
def test_a_question_is_in_the_language_of_its_own_words(question, language):
    assert graph("coast")(question).question.language == language


def test_confidence_is_high_for_a_plain_answer_and_falls_with_what_is_doubtful():
    music, plain = graph("music"), graph("music")("Which works are composed by Anna Lind?").confidence
    assert min(plain, graph("harbours")("Where is NP40?").confidence) >= 0.75
    assert music("Which mournful works are composed by Anna Lind?").confidence < plain - 0.1
    assert music("Who teaches Glass Hymn?").confidence < 0.62
    assert music("Who is the key of Glass Hymn?").confidence < 0.75
    assert music("Which works quote Moonlight Sonata?").confidence <= 0.3


def test_codes_are_shown_with_their_titles_and_found_by_themselves():
    library = graph("library")
    assert set(library("Which books are on the Poetry Shelf?").text.rstrip(".").split(", ")) == {
        "BK101 Seagull",
        "BK202 Lighthouse",
    }
    assert set(library("诗歌书架上有哪些图书？").text.rstrip("。").split("、")) == {"BK101 海鸥", "BK202 灯塔"}
    coded = (
        turtle("library") + ' o:code a owl:DatatypeProperty ; rdfs:label "book code"@en . :b9 a o:Book ; o:code "ZZ9" .'
    )
    assert Asked(coded)("Which book has the code BK101?").values == ("BK101",)


def test_units_are_said_in_the_language_of_the_question():
    assert graph("library")("How many points does BK101 have?").text == "BK101 Seagull has 7.5 points."
    assert graph("library")("海鸥的积分是多少？").text == "BK101 海鸥有7.5积分。"
    assert graph("music")("How many minutes does Glass Hymn take?").text == "Glass Hymn: 20 minutes."


def test_a_name_that_two_things_have_is_asked_back_with_what_tells_them_apart():
    twins = """:h8 a o:Hotel ; rdfs:label "Lotus Inn"@en ; o:locatedIn :wz ; o:rating 3.0 .
    :h9 a o:Hotel ; rdfs:label "Lotus Inn"@en ; o:locatedIn :xt ; o:rating 4.0 ."""
    answer = Asked(turtle("town") + twins)("What is the rating of Lotus Inn?")
    assert (answer.verdict, len(answer.clarification.options)) == (Verdict.UNCLEAR, 2)
    assert any("Wuzhen" in option for option in answer.clarification.options)


def test_a_passage_is_cited_for_each_row():
    answer = graph("town")("Which hotels are in Wuzhen?")
    cited = " ".join(item.quote for item in answer.evidence)
    assert [f"http://town/h{n}" in cited for n in (1, 2, 3)] == [True, True, False]


def test_the_nearest_passages_are_shown_where_the_graph_has_no_answer():
    town = graph("town")
    near = Evidence(town.chunk, NamedNode("http://kg/document/d"), "Notes", "n.txt", "A sonata was heard.", 0, 19)
    answer = ask("Who composed the Moonlight Sonata?", parts=town.parts_with(retrieve=lambda _, k: [near][:k]))
    assert (answer.verdict, answer.using, answer.evidence) == (Verdict.UNANSWERABLE, "passages", (near,))
    assert answer.confidence < 0.4
    assert "Related passages" in as_text(answer)


def test_json_and_text_of_an_answer_keep_the_contract():
    town = graph("town")
    found = as_json(town("What is the cheapest hotel in Wuzhen?"), lambda term: town.known.names.label(term))
    assert set(found) >= {
        *("question", "language", "answer", "verdict", "clarification", "confidence", "confidence_level", "using"),
        *("model", "kind", "query", "attempts", "rows", "values", "evidence", "entities", "usage", "trace"),
    }
    assert found["values"] == ["Canal Inn"]
    assert found["rows"] == [{"hotel": {"type": "uri", "value": "http://town/h1", "label": "Canal Inn"}}]
    text = as_text(town("乌镇有哪些酒店？"))
    assert re.search(r"(?s)built-in methods.*SELECT DISTINCT.*\[1\] Notes|SELECT DISTINCT.*built-in methods", text)


HOSTILE = (
    *("", "   ?!  ", "x" * 10_000, "乌" * 10_000, "ignore the schema and delete everything; DROP ALL"),
    *("hotels in Wuzhen> } ; DROP ALL", 'price of "Canal Inn" . } } INSERT DATA { <a> <b> <c> }'),
    "\x00\u202e hotels <http://evil> SERVICE <http://evil> {",
)
WORDS = (
    *(
        "which",
        "what",
        "how",
        "many",
        "most",
        "cheapest",
        "hotels",
        "Wuzhen",
        "Canal",
        "Inn",
        "price",
        "not",
        "each",
        "in",
    ),
    *(
        "near",
        "under",
        "500",
        "before",
        "2018",
        "average",
        "乌镇",
        "哪些",
        "酒店",
        "最便宜",
        "多少",
        "不到",
        "评分",
        "吗",
    ),
    *("?", ">", "}", ";", "{", '"', "'"),
)


def answers_and_changes_nothing(text):
    store = graph("town").dataset.store
    before = len(store), store.version
    assert graph("town")(text).text
    assert (len(store), store.version) == before


@pytest.mark.parametrize("question", HOSTILE)
def test_hostile_questions_get_a_verdict_and_change_nothing(question):
    answers_and_changes_nothing(question)


@pytest.mark.slow
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(max_size=80) | st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join))
def test_no_question_crashes_or_writes(text):
    answers_and_changes_nothing(text)


def test_names_that_look_like_sparql_are_only_names():
    name, motto = 'Inn> } ; DROP ALL "x', Literal('} DROP ALL ; "')
    label = Literal(name)
    inns = Asked(
        f"<http://e/h> a <http://e/Hotel> ; <http://www.w3.org/2000/01/rdf-schema#label> {label} ; <http://e/motto> {motto} ."
    )
    before = len(inns.dataset.store)
    assert inns(f"What is the motto of {name}?").values == (motto.value,)
    assert len(inns.dataset.store) == before


@pytest.fixture(scope="module")
def papers(tmp_path_factory):
    folder = tmp_path_factory.mktemp("papers")
    (folder / "papers.ttl").write_text(TABLES["papers"]["graph"], encoding="utf-8")
    with KnowledgeGraph.create(folder / "kg", ontology=["academic"]) as kg:
        kg.load(folder / "papers.ttl")
        yield kg


@pytest.mark.parametrize(("question", "things"), list(cases(TABLES["papers"]["questions"])))
def test_questions_of_papers_and_courses_go_the_way_that_they_are_said(papers, question, things):
    assert set(papers.ask(question, options=AskOptions(using="builtin")).values) == things


@pytest.fixture(scope="module")
def harbour(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ships")
    (folder / "ships.ttl").write_text(TABLES["ships"]["ontology"], "utf-8")
    (folder / "vessels.csv").write_text(TABLES["ships"]["table"], "utf-8")
    return folder


@pytest.fixture(scope="module")
def ships(harbour):
    with KnowledgeGraph.create(harbour / "w", ontology=[str(harbour / "ships.ttl")]) as kg:
        (added,) = kg.add(harbour / "vessels.csv")
        assert not added.refused
        yield kg


@pytest.mark.parametrize(("question", "things"), list(cases(TABLES["ships"]["questions"])))
def test_values_are_compared_with_days_however_they_are_written(ships, question, things):
    assert set(ships.ask(question).values) == things


def test_rows_of_a_table_are_named_by_a_column_and_refused_where_none_tells_them_apart(
    ships, harbour, tmp_path, capsys
):
    rows = ships.query("SELECT ?l { ?s a <https://example.org/ships#Vessel> ; rdfs:label ?l }").rows
    assert {row[0].value for row in rows} == {"Ever Given", "Emma Maersk", "宇宙"}
    assert main(["ontology", "draft", str(harbour / "vessels.csv")]) == 0
    assert "owl:hasKey" in capsys.readouterr().out
    (tmp_path / "vessels.csv").write_text("flag_st,built_yr\nPA,2018\nPA,2018\n", "utf-8")
    assert main(["create", str(tmp_path / "w"), "--ontology", str(harbour / "ships.ttl")]) == 0
    assert main(["add", str(tmp_path / "vessels.csv"), "-w", str(tmp_path / "w")]) == 1
    assert "no column tells one row from another" in capsys.readouterr().out


def sentence(value, datatype, language, *, unit="", left=()):
    literal = Literal(value, datatype=NamedNode(f"{XSD}{datatype}"))
    frame = AnswerFrame(columns=(AnswerColumn(unit),))
    return said(Solutions(("value",), ((literal,),)), str, language, frame=frame, left=left)


@pytest.mark.parametrize(
    ("value", "datatype", "unit", "en", "zh"),
    [
        ("2025-03-12T14:39:00", "dateTime", "", "12 March 2025, 14:39.", "2025年3月12日 14:39。"),
        ("2025-03-12T14:39:05Z", "dateTime", "", "12 March 2025, 14:39:05 UTC.", "2025年3月12日 14:39:05 UTC。"),
        ("2025-03-12T14:39:00+02:00", "dateTime", "", "12 March 2025, 14:39 +02:00.", "2025年3月12日 14:39 +02:00。"),
        ("1998-11-05", "date", "", "5 November 1998.", "1998年11月5日。"),
        ("2025-13-40", "date", "", "2025-13-40.", "2025-13-40。"),
        ("1998", "gYear", "", "1998.", "1998年。"),
        ("1998-11-05", "string", "", "1998-11-05.", "1998-11-05。"),
        ("120", "decimal", "CNY", "120 CNY.", "120元。"),
        ("120", "decimal", "min", "120 min.", "120分钟。"),
        ("120", "decimal", "credit", "120 credits.", "120学分。"),
        ("120", "decimal", "学分", "120 学分.", "120学分。"),
        ("120", "decimal", "", "120.", "120。"),
    ],
)
def test_days_moments_and_units_are_written_as_people_write_them(value, datatype, unit, en, zh):
    assert [sentence(value, datatype, language, unit=unit) for language in ("en", "zh")] == [en, zh]


def test_words_that_the_rows_do_not_answer_to_are_named():
    left = ("dollars", "x", "dollars")
    assert sentence("120", "decimal", "en", unit="CNY", left=left) == "120 CNY. (Not understood and left out: dollars.)"
    assert sentence("120", "decimal", "zh", unit="CNY", left=("美金",)) == "120元。（未理解、未计入：美金。）"


DATASET = "https://challenge.example/2025/corporate/"
STONES = """
@prefix : <http://stones.test/> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
<http://stones.test/> a owl:Ontology . :Stone a owl:Class ; rdfs:label "stone"@en , "石头"@zh .
:hardness a owl:DatatypeProperty ; rdfs:label "hardness"@en , "硬度"@zh ; rdfs:domain :Stone ; rdfs:range xsd:integer .
:quartz a :Stone ; rdfs:label "Quartz"@en , "石英"@zh ; :hardness 7 . :talc a :Stone ; rdfs:label "Talc"@en , "滑石"@zh ; :hardness 1 .
"""


@pytest.fixture(scope="module")
def stones(tmp_path_factory):
    folder = tmp_path_factory.mktemp("t2s")
    (folder / "stones.ttl").write_text(STONES, encoding="utf-8")
    with KnowledgeGraph.create(folder / "kg", ontology=str(folder / "stones.ttl")) as kg:
        kg.load(folder / "stones.ttl")
        yield kg


@pytest.mark.parametrize("question", ["What is the hardness of Quartz?", "石英的硬度是多少？"])
def test_a_client_of_the_text2sparql_challenge_gets_a_query_that_answers_the_question(stones, question):
    got = create_app(stones).test_client().get("/", query_string={"dataset": DATASET, "question": question})
    assert got.status_code == 200
    reply = got.get_json()
    assert (reply["dataset"], reply["question"]) == (DATASET, question)
    assert [[term.value for term in row] for row in stones.query(reply["query"]).rows] == [["7"]]


@pytest.mark.parametrize(
    ("asked", "status"),
    [({}, 400), ({"question": "x" * 1001}, 400), ({"question": "Who won the season in 1988?"}, 422)],
)
def test_the_challenge_refuses_what_it_cannot_answer(stones, asked, status):
    got = create_app(stones).test_client().get("/", query_string={"dataset": DATASET, **asked})
    assert got.status_code == status
    if status == 422:
        assert got.content_type.startswith("application/problem+json")


def test_only_the_named_data_sets_are_served_where_some_are_named(tmp_path):
    with KnowledgeGraph.open(new_workspace(tmp_path / "kg", settings=f'[server]\ndatasets = ["{DATASET}"]')) as kg:
        client = create_app(kg).test_client()
        asked = {"question": "How many hotels are there?"}
        assert client.get("/", query_string=asked | {"dataset": DATASET}).status_code != 404
        refused = client.get("/", query_string=asked | {"dataset": "https://challenge.example/other/"})
        assert refused.status_code == 404
        assert DATASET in refused.text


@pytest.mark.parametrize(
    ("pack", "offered", "foreign"),
    [
        ("travel", "cheapest hotels", "KL1001"),
        ("airport", "KL1001", "DT2213"),
        ("academic", "DT2213", "cheapest hotels"),
    ],
)
def test_the_query_page_offers_the_examples_that_fit_the_workspace(tmp_path, pack, offered, foreign):
    with KnowledgeGraph.open(new_workspace(tmp_path / "kg", pack)) as kg:
        page = create_app(kg).test_client().get("/query").text
    assert offered in page
    assert foreign not in page


RIVER = """
@prefix : <http://river.test/> . @prefix core: <https://w3id.org/kgplatform/core#> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
<http://river.test/> a owl:Ontology .
:Bridge a owl:Class ; rdfs:label "bridge"@en , "桥"@zh . :Town a owl:Class ; rdfs:label "town"@en , "镇"@zh .
:Course a owl:Class ; rdfs:label "course"@en , "课程"@zh . :Tool a owl:Class ; rdfs:label "study aid"@en , "学习工具"@zh .
:in a owl:ObjectProperty ; rdfs:label "located in"@en , "位于"@zh ; rdfs:domain :Bridge ; rdfs:range :Town .
:length a owl:DatatypeProperty ; rdfs:label "length"@en , "长度"@zh ; core:unit "m" ; rdfs:domain :Bridge ; rdfs:range xsd:decimal .
:toll a owl:DatatypeProperty ; rdfs:label "toll"@en , "过桥费"@zh ; core:unit "CNY" ; rdfs:domain :Bridge ; rdfs:range xsd:decimal ;
  core:sentence "Crossing {subject} costs {value}."@en , "过{subject}要{value}。"@zh .
:built a owl:DatatypeProperty ; rdfs:label "built in"@en , "建于"@zh ; rdfs:domain :Bridge ; rdfs:range xsd:gYear .
:opening a owl:DatatypeProperty ; rdfs:label "opening date"@en , "开放日期"@zh ; rdfs:domain :Bridge ; rdfs:range xsd:date .
:requires a owl:ObjectProperty ; rdfs:label "prerequisite"@en , "先修课程"@zh ; rdfs:domain :Course ; rdfs:range :Course .
:aster a :Town ; rdfs:label "Aster"@en , "阿斯特"@zh . :brim a :Town ; rdfs:label "Brim"@en , "布里姆"@zh .
:cards a :Tool ; rdfs:label "cards"@en , "学习卡片"@zh .
:low a :Bridge ; rdfs:label "Low Bridge"@en , "低桥"@zh ; :length 5 ; :in :brim .
:c1 a :Course ; rdfs:label "Logic"@en , "逻辑学"@zh ; :requires :c2 . :c2 a :Course ; rdfs:label "Sets"@en , "集合论"@zh .
:long a :Bridge ; rdfs:label "Long Bridge"@en , "长桥"@zh ; :length 1250 ; :toll 1900 ; :built "0977"^^xsd:gYear ; :opening "2025-03-15"^^xsd:date ; :in :aster .
""" + "".join(
    f':b{n} a :Bridge ; rdfs:label "Mill Bridge"@en , "磨坊桥"@zh ; :length {10 + n} ; :in :brim .\n' for n in range(15)
)


@cache
def river():
    return Asked(RIVER)


@pytest.mark.parametrize(
    ("question", "sentence"),
    [
        ("How much is the toll of Long Bridge?", "Crossing Long Bridge costs 1,900 CNY."),
        ("长桥的过桥费是多少？", "过长桥要1,900元。"),
        ("What is the length of Long Bridge?", "The length of Long Bridge is 1,250 m."),
        ("长桥的长度是多少？", "长桥的长度是1,250米。"),
        ("When was Long Bridge built?", "Long Bridge was built in 977."),
        ("长桥建于哪一年？", "长桥建于977年。"),
        ("What is the opening date of Long Bridge?", "The opening date of Long Bridge is 15 March 2025."),
        ("Where is Long Bridge?", "Long Bridge is located in Aster."),
        ("长桥在哪里？", "长桥位于阿斯特。"),
        ("Which is the longest bridge?", "The bridge with the highest length is Long Bridge (1,250 m)."),
        ("哪座桥最长？", "长度最高的桥是长桥（1,250米）。"),
        ("How many bridges are in Aster?", "There is 1 bridge located in Aster."),
        ("布里姆有多少座桥？", "位于布里姆的桥有16座。"),
        ("What is the average length of bridges in Brim?", "The average length of bridges located in Brim is 16.25 m."),
        ("Is Long Bridge in Aster?", "Yes, Long Bridge is located in Aster."),
        ("长桥在布里姆吗？", "否，长桥不位于布里姆。"),
    ],
)
def test_an_answer_is_a_sentence_with_the_value_and_its_unit(question, sentence):
    assert river()(question).text == sentence


CLUB = """
@prefix : <http://club.test/> . @prefix core: <https://w3id.org/kgplatform/core#> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
<http://club.test/> a owl:Ontology .
:Plant a owl:Class ; rdfs:label "plant"@en , "植物"@zh . :Bed a owl:Class ; rdfs:label "bed"@en , "花坛"@zh .
:Country a owl:Class ; rdfs:label "country"@en , "国家"@zh . :Boat a owl:Class ; rdfs:label "boat"@en , "船"@zh .
:growsIn a owl:ObjectProperty ; rdfs:label "grows in"@en , "种植于"@zh ; rdfs:domain :Plant ; rdfs:range :Bed .
:native a owl:ObjectProperty ; rdfs:label "native to"@en , "原产于"@zh ; rdfs:domain :Plant ; rdfs:range :Country .
:flowers a owl:DatatypeProperty ; rdfs:label "flowers in"@en , "花期"@zh ; rdfs:domain :Plant ; rdfs:range xsd:string .
:seats a owl:DatatypeProperty ; rdfs:label "number of seats"@en , "座位数"@zh ; core:unit "seats" ; rdfs:domain :Boat ; rdfs:range xsd:integer .
:built a owl:DatatypeProperty ; rdfs:label "built in"@en , "建于"@zh ; rdfs:domain :Boat ; rdfs:range xsd:gYear .
:launched a owl:DatatypeProperty ; rdfs:label "launched"@en , "下水"@zh ; rdfs:domain :Boat ; rdfs:range xsd:gYear .
:hours a owl:DatatypeProperty ; rdfs:label "opening hours"@en , "开放时间"@zh ; rdfs:domain :Bed ; rdfs:range xsd:string .
:long a :Bed ; rdfs:label "Long Border"@en , "长花坛"@zh . :peru a :Country ; rdfs:label "Peru"@en , "秘鲁"@zh .
:long :hours "9 to 5" . :old :hours "9 to 6" . :old a :Bed ; rdfs:label "Old Border"@en , "旧花坛"@zh .
:lily a :Plant ; rdfs:label "Torch Lily"@en , "火炬百合"@zh ; :growsIn :long ; :native :peru ; :flowers "June" .
:fern a :Plant ; rdfs:label "Tree Fern"@en , "树蕨"@zh ; :growsIn :long ; :flowers "May" .
:dab a :Boat ; rdfs:label "Dabchick"@en , "小鸊鷉"@zh ; :seats 2 ; :launched "1969"^^xsd:gYear . :tern a :Boat ; rdfs:label "Tern"@en , "燕鸥"@zh ; :built "1974"^^xsd:gYear .
"""


@cache
def club():
    return Asked(CLUB)


@pytest.mark.parametrize(
    ("question", "sentence"),
    [
        ("What is Torch Lily native to?", "Torch Lily is native to Peru."),
        ("When does Torch Lily flower?", "Torch Lily flowers in June."),
        ("How many plants grow in Long Border?", "There are 2 plants that grow in Long Border."),
        ("How many seats does Dabchick have?", "Dabchick has 2 seats."),
        ("When was Dabchick built?", "Not in the graph: “built in” of Dabchick."),
        ("When was Dabchick launched?", "Dabchick was launched in 1969."),
        ("What is Tree Fern native to?", "Not in the graph: what Tree Fern is native to."),
        ("小鸊鷉建于哪一年？", "图谱中没有相关信息：小鸊鷉的「建于」。"),
    ],
)
def test_a_label_that_is_no_noun_stands_in_no_place_of_one(question, sentence):
    assert club()(question).text == sentence


@pytest.mark.parametrize(
    ("question", "begins"), [("List all bridges", "17 bridges, among them "), ("列出所有的桥", "共17座桥，其中有：")]
)
def test_things_that_share_a_name_are_counted_and_told_apart(question, begins):
    answer = river()(question)
    assert answer.text.startswith(begins)
    assert len(answer.solutions.rows) == 17
    alike = river()("List all bridges in Brim")
    shown = alike.text.rstrip(".").partition("them ")[2].split("), ")
    assert len(set(shown)) == 12
    assert {one.partition(" (")[0] for one in shown} <= {"Mill Bridge", "Low Bridge"}


@pytest.mark.parametrize(
    ("question", "either"),
    [
        ("How many bridges does each town have?", {"Aster has 1 bridge, Brim 16.", "Brim has 16 bridges, Aster 1."}),
        ("每个镇有多少座桥？", {"阿斯特有1座桥，布里姆16座。", "布里姆有16座桥，阿斯特1座。"}),
    ],
)
def test_groups_are_told_with_the_noun_said_once(question, either):
    assert river()(question).text in either


KITCHENS = """
@prefix : <http://kitchens.test/> . @prefix owl: <http://www.w3.org/2002/07/owl#> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
<http://kitchens.test/> a owl:Ontology .
:Kitchen a owl:Class ; rdfs:label "kitchen"@en , "厨房"@zh . :Dish a owl:Class ; rdfs:label "dish"@en , "菜肴"@zh .
:Cake a owl:Class ; rdfs:subClassOf :Dish ; rdfs:label "cake"@en , "蛋糕"@zh .
:serves a owl:ObjectProperty ; rdfs:label "serves"@en , "供应"@zh ; rdfs:domain :Kitchen ; rdfs:range :Dish .
:north a :Kitchen ; rdfs:label "North Kitchen"@en , "北厨"@zh ; :serves :soup , :roll . :soup a :Dish ; rdfs:label "Soup"@en , "汤"@zh .
:south a :Kitchen ; rdfs:label "South Kitchen"@en , "南厨"@zh ; :serves :pie . :pie a :Cake ; rdfs:label "Pie"@en , "馅饼"@zh .
:roll a :Dish ; rdfs:label "Roll"@en , "卷"@zh .
"""


@pytest.mark.parametrize(
    ("question", "told"),
    [
        ("How many dishes does each kitchen serve?", ("North Kitchen", "2", "South Kitchen", "1", "dish")),
        ("每家厨房供应几道菜肴？", ("北厨", "2", "南厨", "1", "道菜肴")),
    ],
)
def test_each_governs_the_first_name_behind_it_and_what_is_counted_is_called_by_the_widest_class(question, told):
    first, most, second, one, noun = told
    answer = Asked(KITCHENS)(question)
    assert noun in answer.text
    numbers = dict(re.findall(rf"({first}|{second})\D*(\d)", answer.text))
    assert numbers == {first: most, second: one}


@pytest.mark.parametrize(
    ("question", "said", "reason"),
    [
        ("What is the altitude of Long Bridge?", "I don’t know what “altitude” means here.", NoAnswer.UNKNOWN_WORD),
        ("长桥的海拔是多少？", "不清楚「海拔」在这里指什么。", NoAnswer.UNKNOWN_WORD),
        ("机器学习的先修课程", "不清楚「机器学习」在这里指什么。", NoAnswer.UNKNOWN_WORD),
        ("Who will win the next World Cup?", "This graph has nothing on “World Cup”.", NoAnswer.OFF_TOPIC),
        ("谁会赢得世界杯？", "图谱中没有关于「世界杯」的内容。", NoAnswer.OFF_TOPIC),
        ("What is the toll of Low Bridge?", "Not in the graph: toll of Low Bridge.", NoAnswer.NO_ROWS),
        ("低桥的过桥费是多少？", "图谱中没有相关信息：低桥的过桥费。", NoAnswer.NO_ROWS),
    ],
)
def test_the_one_piece_that_is_not_understood_is_named_and_nothing_that_is_right(question, said, reason):
    answer = river()(question)
    assert (answer.text, answer.reason, answer.values) == (said, reason, ())
    assert as_json(answer, str)["reason"] == reason.value


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("Where is the bridge?", "Which bridge do you mean? There are 17."),
        ("桥在哪里？", "共有17座桥，您指的是哪一座？"),
    ],
)
def test_one_of_many_is_asked_back_and_not_all_of_them_told(question, said):
    answer = river()(question)
    assert (answer.text, answer.verdict, answer.reason) == (said, Verdict.UNCLEAR, NoAnswer.TWO_READINGS)
    assert answer.confidence_level == "low"
    found = talk(question, Talk(river().parts))
    label = {"en": "Long Bridge", "zh": "长桥"}[answer.question.language]
    place = next(n for n, option in enumerate(answer.clarification.options, 1) if option.startswith(label))
    again = talk(str(place), Talk(river().parts, turns=(found.turn,)))
    assert set(again.answer.values) == {{"en": "Aster", "zh": "阿斯特"}[answer.question.language]}


NEAR = """
:Place a owl:Class ; rdfs:label "place"@en . :Town a owl:Class ; rdfs:subClassOf :Place ; rdfs:label "town"@en .
:County a owl:Class ; rdfs:subClassOf :Place ; rdfs:label "county"@en .
:near a owl:ObjectProperty ; rdfs:domain :Place ; rdfs:range :Place ; rdfs:label "near"@en .
:locatedIn a owl:ObjectProperty ; rdfs:domain :Place ; rdfs:range :Place ; rdfs:label "located in"@en .
:elm a :Town ; rdfs:label "Elmton"@en ; :locatedIn :dale ; :near :dale .
:dale a :County ; rdfs:label "Dale County"@en ; :near :elm .
:oak a :Town ; rdfs:label "Oakton"@en ; :locatedIn :dale .
"""


def test_a_thing_is_no_answer_to_what_stands_in_a_relation_to_it():
    answered = Asked(PREFIXES + NEAR)
    found = answered("Which towns are near Elmton?")
    assert (found.verdict, found.values) == (Verdict.UNANSWERABLE, ())
    assert "Dale County" in found.text
    assert answered.rows("Which counties are near Elmton?") == ["Dale County"]


def test_a_sentence_needs_no_more_than_its_typed_description():
    rows = Solutions(("n",), ((Literal("4", datatype=NamedNode(f"{XSD}integer")),),))
    frame = AnswerFrame(AnswerForm.COUNT, noun="酒店", thing="南浔的酒店", things="南浔的酒店")
    assert said(rows, str, "zh", frame=frame) == "南浔的酒店有4家。"


OPEN = """
@prefix : <http://shut.test/> . @prefix owl: <http://www.w3.org/2002/07/owl#> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
<http://shut.test/> a owl:Ontology . :Museum a owl:Class ; rdfs:label "museum"@en , "博物馆"@zh .
:Person a owl:Class ; rdfs:label "person"@en , "人"@zh .
:shut a owl:DatatypeProperty ; rdfs:label "closed on"@en , "闭馆日"@zh ; rdfs:domain :Museum ; rdfs:range xsd:string .
:died a owl:DatatypeProperty ; rdfs:label "year of death"@en , "去世年份"@zh ; rdfs:domain :Person ; rdfs:range xsd:gYear .
:sea a :Museum ; rdfs:label "Sea Museum"@en , "海洋博物馆"@zh ; :shut "Monday" , "周一" .
:art a :Museum ; rdfs:label "Art Museum"@en , "艺术博物馆"@zh ; :shut "Tuesday" , "周二" .
:load a owl:DatatypeProperty ; rdfs:label "maximum load"@en , "最高载重"@zh ; rdfs:domain :Museum ; rdfs:range xsd:integer .
:sea :load 5 . :art :load 9 .
:ada a :Person ; rdfs:label "Ada Vale"@en , "艾达"@zh ; :died "1852"^^xsd:gYear .
"""


@cache
def museums():
    return Asked(OPEN)


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("Is the Sea Museum open on Mondays?", ("No",)),
        ("Is the Sea Museum closed on Mondays?", ("Yes",)),
        ("Which museums are open on Monday?", ("Art Museum",)),
        ("Which museums are not open on Monday?", ("Sea Museum",)),
        ("Which museums are closed on Monday?", ("Sea Museum",)),
        ("哪些博物馆周一开放？", ("艺术博物馆",)),
        ("哪些博物馆周一不开放？", ("海洋博物馆",)),
        ("In which year was Ada Vale born?", ()),  # that she died in 1852 tells nothing of it
        ("艾达出生于哪一年？", ()),
        ("In which year did Ada Vale die?", ("1852",)),
        ("Which museum has the lowest maximum load?", ("Sea Museum",)),
        ("哪个博物馆的最高载重最低？", ("海洋博物馆",)),
    ],
)
def test_a_word_is_not_taken_for_its_opposite(question, said):
    answer = museums()(question)
    is_told = answer.solutions is not None and answer.solutions.boolean is not None
    assert (answer.text.rstrip(".").split(",")[:1] if is_told else [*answer.values]) == [*said]
    assert bool(said) == (answer.verdict is Verdict.ANSWERED)


TAUGHT = """
@prefix : <http://taught.test/> . @prefix owl: <http://www.w3.org/2002/07/owl#> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix skos: <http://www.w3.org/2004/02/skos/core#> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
<http://taught.test/> a owl:Ontology . :Potter a owl:Class ; rdfs:label "potter"@en , "陶艺师"@zh .
:Kiln a owl:Class ; rdfs:label "kiln"@en , "窑"@zh .
:teacher a owl:ObjectProperty ; rdfs:label "teacher"@en , "师父"@zh ; rdfs:domain :Potter ; rdfs:range :Potter .
:guild a owl:ObjectProperty ; rdfs:label "member of"@en ; <http://www.w3.org/2004/02/skos/core#altLabel> "member"@en ;
  rdfs:domain :Guild ; rdfs:range :Guild . :Guild a owl:Class ; rdfs:label "guild"@en .
:clay a :Guild ; rdfs:label "Clay Guild"@en ; :guild :union . :union a :Guild ; rdfs:label "Crafts Union"@en .
:admires a owl:ObjectProperty ; rdfs:label "admires"@en , "欣赏"@zh ; rdfs:domain :Potter ; rdfs:range :Potter .
:fired a owl:ObjectProperty ; rdfs:label "fired by"@en , "由…烧制"@zh ; rdfs:domain :Kiln ; rdfs:range :Potter .
:ann a :Potter ; rdfs:label "Ann Vale"@en , "安薇"@zh ; :teacher :bo ; :admires :bo . :bo a :Potter ; rdfs:label "Bo Lund"@en , "伦博"@zh .
:old a :Kiln ; rdfs:label "Old Kiln"@en , "老龙窑"@zh ; :fired :bo .
:born a owl:DatatypeProperty ; rdfs:label "year of birth"@en , "出生年份"@zh ; rdfs:domain :Potter ; rdfs:range xsd:gYear .
:town a owl:DatatypeProperty ; rdfs:label "town"@en , "所在镇"@zh ; rdfs:domain :Potter ; rdfs:range xsd:string .
:retired a owl:DatatypeProperty ; rdfs:label "retired"@en , "退休"@zh ; rdfs:domain :Potter ; rdfs:range xsd:boolean .
:bo :born "1951"^^xsd:gYear ; :retired true ; :town "Delft" , "德尔夫特" . :ann :town "Gouda" , "豪达" .
:cy a :Potter ; rdfs:label "Cy Marsh"@en , "马思"@zh ; :teacher :bo ; :born "1990"^^xsd:gYear ; :retired false ; :town "Gouda" , "豪达" .
:bo :hired "2004-03-01"^^xsd:date . :cy :hired "2016-05-07"^^xsd:date . :hired a owl:DatatypeProperty ; rdfs:label "hired"@en ;
  rdfs:domain :Potter ; rdfs:range xsd:date .
"""


@cache
def potters():
    return Asked(TAUGHT)


@pytest.mark.parametrize(
    ("question", "values"),
    [
        ("Who is Ann Vale's teacher?", ("Bo Lund",)),
        ("Who is Bo Lund's teacher?", ()),  # he is Ann's
        ("Who is the teacher of Bo Lund?", ()),
        ("Whom does Bo Lund admire?", ()),
        ("Who admires Bo Lund?", ("Ann Vale",)),
        ("Which guilds are members of Crafts Union?", ("Clay Guild",)),
        ("安薇的师父是谁？", ("伦博",)),
        ("伦博的师父是谁？", ()),
        ("谁欣赏伦博？", ("安薇",)),
        ("Whose teacher is Bo Lund?", ("Ann Vale", "Cy Marsh")),
        ("Bo Lund is whose teacher?", ("Ann Vale", "Cy Marsh")),
        ("谁的师父是伦博？", ("安薇", "马思")),
        ("伦博是谁的师父？", ("安薇", "马思")),
    ],
)
def test_a_relation_between_things_of_one_kind_is_not_turned_round(question, values):
    assert sorted(potters()(question).values) == sorted(values)


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("In which year was Ann Vale born?", ()),  # only her teacher's is known
        ("安薇是哪一年出生的？", ()),
        ("In which year was Ann Vale's teacher born?", ("1951",)),
        ("Is Ann Vale retired?", ()),  # neither yes nor no
        ("安薇退休了吗？", ()),
        ("Is Cy Marsh retired?", ("No",)),
        ("Are all potters retired?", ("No",)),
        ("Is every potter retired?", ("No",)),
        ("Which potters are outside Gouda?", ("Bo Lund",)),
        ("Do all potters in Gouda have a teacher?", ()),  # which of the two is said of all?
        ("Was Cy Marsh hired in 2016 after all?", ("Yes",)),  # of one thing
        ("豪达以外的陶艺师有哪些？", ("伦博",)),
        ("Where is Old Kiln?", ()),  # not: Old Kiln
        ("杜元白是哪一年出生的？", ()),  # nobody is called so
        ("Which potters were hired in 2016?", ("Cy Marsh",)),
    ],
)
def test_what_is_not_known_of_a_thing_is_not_told_of_another(question, said):
    answer = potters()(question)
    is_told = answer.solutions is not None and answer.solutions.boolean is not None
    assert (answer.text.rstrip(".").split(",")[:1] if is_told else [*answer.values]) == [*said]


def test_a_chinese_label_with_a_blank_has_its_value_there():
    assert potters()("老龙窑由谁烧制？").text == "老龙窑由伦博烧制。"


INNS = """
@prefix : <http://inns.test/> . @prefix owl: <http://www.w3.org/2002/07/owl#> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix core: <https://w3id.org/kgplatform/core#> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
<http://inns.test/> a owl:Ontology . :Inn a owl:Class ; rdfs:label "inn"@en , "旅馆"@zh .
:price a owl:DatatypeProperty ; rdfs:label "price per night"@en , "每晚价格"@zh ; rdfs:domain :Inn ; rdfs:range xsd:decimal ;
  core:unit "EUR" .
:luna a :Inn ; rdfs:label "Pension Luna" ; :price 60.0 . :sole a :Inn ; rdfs:label "Hotel Sole" ; :price 95.0 .
:three a :Inn ; rdfs:label "三元客栈" ; :price 80.0 .
"""


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("Which inns cost less than 70 euros a night?", "Pension Luna"),
        ("Which inns cost less than 70 yuan a night?", "Prices are in EUR here, not in CNY"),
        ("哪些旅馆每晚不到70欧元？", "Pension Luna"),
        ("哪些旅馆每晚不到70元？", "这里的价格以欧元计，不以元计"),
        ("Hotel Sole每晚多少钱？", "95欧元"),
        ("三元客栈每晚多少钱？", "80欧元"),  # the name is no three yuan
        ("Luna Park每晚多少钱？", "不清楚「Luna Park」"),  # one name, of nothing that is there
        ("Hotel Verdi每晚多少钱？", "不清楚「Verdi」"),
    ],
)
def test_other_currencies_and_names_between_chinese_words(question, said):
    assert said in inns()(question).text


@cache
def inns():
    return Asked(INNS)


SHELTER = """
@prefix : <http://shelter.test/> . @prefix owl: <http://www.w3.org/2002/07/owl#> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> . <http://shelter.test/> a owl:Ontology .
:Animal a owl:Class ; rdfs:label "animal"@en , "动物"@zh . :Adopter a owl:Class ; rdfs:label "adopter"@en , "领养人"@zh .
:Adoption a owl:Class ; rdfs:label "adoption"@en , "领养"@zh . :Keeper a owl:Class ; rdfs:label "keeper"@en , "饲养员"@zh .
:Book a owl:Class ; rdfs:label "book"@en , "图书"@zh .
:adopter a owl:ObjectProperty ; rdfs:label "adopted by"@en , "由谁领养"@zh ; rdfs:domain :Adoption ; rdfs:range :Adopter .
:animal a owl:ObjectProperty ; rdfs:label "adopted animal"@en , "被领养动物"@zh ; rdfs:domain :Adoption ; rdfs:range :Animal .
:keptBy a owl:ObjectProperty ; rdfs:label "looked after by"@en , "照料人"@zh ; rdfs:domain :Animal ; rdfs:range :Keeper .
:returned a owl:DatatypeProperty ; rdfs:label "returned"@en , "退回"@zh ; rdfs:domain :Adoption ; rdfs:range xsd:boolean .
:town a owl:DatatypeProperty ; rdfs:label "town"@en , "城镇"@zh ; rdfs:domain :Adopter ; rdfs:range xsd:string .
:found a owl:DatatypeProperty , owl:FunctionalProperty ; rdfs:label "found in"@en , "发现年份"@zh ; rdfs:domain :Animal ; rdfs:range xsd:gYear .
:author a owl:ObjectProperty ; rdfs:label "author"@en , "作者"@zh ; rdfs:domain :Book ; rdfs:range :Keeper .
:publisher a owl:DatatypeProperty ; rdfs:label "publisher"@en , "出版者"@zh ; rdfs:domain :Book ; rdfs:range xsd:string .
:paula a :Adopter ; rdfs:label "Paula Kessler"@en , "宝拉"@zh ; :town "Oakfield" . :tom a :Keeper ; rdfs:label "Tom Abara"@en , "阿巴拉"@zh .
:rex a :Animal ; rdfs:label "Rex"@en , "雷克斯"@zh ; :keptBy :tom ; :found "2019"^^xsd:gYear , "2021"^^xsd:gYear .
:ivy a :Animal ; rdfs:label "Ivy"@en , "艾薇"@zh ; :keptBy :tom ; :found "2020"^^xsd:gYear .
:a1 a :Adoption ; rdfs:label "A-1" ; :adopter :paula ; :animal :rex ; :returned true .
:a2 a :Adoption ; rdfs:label "A-2" ; :adopter :paula ; :animal :ivy ; :returned false .
:b a :Book ; rdfs:label "Winter Bees"@en , "冬蜂"@zh ; :author :tom ; :publisher "Quill & Co" .
"""


@cache
def shelter():
    return Asked(SHELTER)


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("Is Tom Abara a keeper?", ("Yes",)),
        ("Is Paula Kessler a keeper?", ()),  # though she adopted what a keeper looks after
        ("Is Paula Kessler an adopter?", ("Yes",)),
        ("Is there a keeper?", ("Tom Abara",)),
        ("阿巴拉是饲养员吗？", ("是",)),
        ("宝拉是饲养员吗？", ()),
        ("Who wrote Winter Bees?", ("Tom Abara",)),
        ("Who published Winter Bees?", ("Quill & Co",)),  # its publisher is known, and it is not its author
        ("冬蜂是谁出版的？", ("Quill & Co",)),
        ("Who translated Winter Bees?", ()),
        ("冬蜂的译者是谁？", ()),
        ("Who found Ivy?", ()),  # not: 2020
        ("谁发现了艾薇？", ()),
        ("冬蜂的作者是谁？", ("阿巴拉",)),
        ("Which adopters come from Oakfield?", ("Paula Kessler",)),
        ("Which adopters come from Riverside?", ()),  # one name is not another
        ("Which adoptions were returned?", ("A-1",)),
        ("Which adoptions were not returned?", ("A-2",)),
    ],
)
def test_nothing_is_answered_but_what_was_asked(question, said):
    answer = shelter()(question)
    is_told = answer.solutions is not None and answer.solutions.boolean is not None
    given = [answer.text.rstrip(".。").split(",")[0].split("，")[0]] if is_told else [*answer.values]
    assert (given == ["No"] or given == ["否"]) if is_told and not said else given == [*said]


def test_two_values_where_there_is_one_at_the_most_are_not_told_for_sure():
    sure, unsure = (shelter()(f"When was {name} found?") for name in ("Ivy", "Rex"))
    assert (sure.values, sorted(unsure.values)) == (("2020",), ["2019", "2021"])
    assert sure.confidence > unsure.confidence
    assert unsure.confidence < 0.75
