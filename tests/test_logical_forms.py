"""Questions as logical forms: what a form denotes is what its query gives; names, numbers, units; who answers."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from asked import Asked
from pyoxigraph import BlankNode, Literal, NamedNode

from benchmarks.question_sets import EMBEDDER, graph_of
from benchmarks.train_questions import asked_for
from kgplatform import lexicon
from kgplatform.evaluation.gold import read_gold
from kgplatform.evaluation.metrics import best_score
from kgplatform.graph import KnowledgeGraph
from kgplatform.questions.answer import ask
from kgplatform.questions.answer_text import frame_of
from kgplatform.questions.answer_text import graph_of as graph_for_words
from kgplatform.questions.forms.fact_graph import FactGraph
from kgplatform.questions.forms.floating_parser import Generator
from kgplatform.questions.forms.form_reader import (
    Describer,
    FormReader,
    Ruled,
    choice_signs,
    merged,
    ranked,
    shipped_weights,
    signs,
)
from kgplatform.questions.forms.intent import OPERATIONS, WEIGHTS, IntentModel, IntentReader, terms_of
from kgplatform.questions.forms.logical_form import (
    Against,
    Aggregated,
    And,
    Compare,
    DifferenceOf,
    Follow,
    FormWording,
    Grouped,
    Has,
    HasMany,
    IsAny,
    IsMore,
    Kind,
    Listed,
    Named,
    Share,
    SizeOf,
    Top,
    could_be,
    denotation,
    items_of,
    parts_of,
    sparql,
)
from kgplatform.questions.forms.question_language import in_english, languages
from kgplatform.questions.forms.question_text import factors_between, read, tokens_of
from kgplatform.questions.forms.relevance import KeptVectors, Vocabulary
from kgplatform.retrieval import index
from kgplatform.types import Verdict

SETS = Path(__file__).parent / "data" / "questions" / "train"


@cache
def asked(name):
    store, parts = graph_of(SETS / name)
    return store, parts, parts.knowledge.forms


def reader(name) -> FormReader:
    return asked(name)[2]


def generator(name, text, language="en"):
    forms = reader(name)
    said = read(text, language, forms.names)
    return Generator(forms.graph, forms.vocabulary(EMBEDDER), said, forms.intents.intent(said))


def plain(value):
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return f"{float(value):.6g}"
    if isinstance(value, Literal):
        try:
            return f"{float(value.value):.6g}"
        except ValueError:
            return str(value)
    return str(value)


def rows_of(store, query):
    found = store.query(query, max_rows=100_000)
    if found.boolean is not None:
        return {(plain(found.boolean),)}
    return {tuple(plain(term) for term in row if term is not None) for row in found.rows}


@pytest.mark.embedding
@pytest.mark.parametrize("name", ["bakery", "allotments", "games"])
def test_a_query_gives_what_its_form_denotes(name):
    store, _, forms = asked(name)
    seen, kinds = 0, set()
    for gold in read_gold(SETS / name / "questions.jsonl").questions[::5]:
        found = generator(name, gold.text, gold.language).candidates()
        of_kind = Counter()
        for form in (candidate.form for candidate in found):
            of_kind[type(form)] += 1
            if of_kind[type(form)] > 3:
                continue
            if any(isinstance(part, Top) and part.size > 1 for part in parts_of(form)):
                continue  # which of those level with the last are among the first is open
            expected = {tuple(plain(value) for value in row) for row in denotation(form, forms.graph)}
            assert rows_of(store, sparql(form, forms.graph)) == expected, form
            seen += 1
            kinds.add(type(form))
    assert seen > 60
    assert len(kinds) >= 4


@pytest.mark.embedding
@pytest.mark.parametrize(
    ("name", "question", "language", "has"),
    [
        ("games", "The Moss Garden 玩一盘大概多久,最短最长各几分钟?", "zh", lambda form: form.bare),
        ("cinema", "每个影展各发了几次奖？", "zh", lambda form: len(form.key) == 2),
        ("cinema", "In which houses can I catch The Deaf Piano?", "en", lambda form: str(form).count("Follow") == 3),
        ("archive", "哪些档案要到某个日期之后才开放？", "zh", lambda form: isinstance(form.of, Has)),
        ("insurance", "Which claim did we hand over the most money for?", "en", lambda form: isinstance(form.of, Top)),
        ("labs", "Which theses haven't been defended yet?", "en", lambda form: isinstance(form.of.base, Kind)),
        ("metro", "Any job that cost over twenty million yuan?", "en", lambda form: "low=2000" in str(form)),
        ("library", "Who's the author of The Ferryman's Alibi?", "en", lambda form: isinstance(form.of.of, Named)),
        ("library", "请问《风筝机场》是谁写的？", "zh", lambda form: isinstance(form.of.of, Named)),
        ("dams", "Any dams taller than 400 feet?", "en", lambda form: "low=121.92" in str(form)),
        ("dams", "库容超过十亿立方米的水库有哪些？", "zh", lambda form: "low=1000.0" in str(form)),
        ("football", "年薪十万欧元以上的球员有谁?", "zh", lambda form: "low=100.0" in str(form)),
        ("harbour", "Is there any berth shallower than 8 m? Which?", "en", lambda form: "high=8.0" in str(form)),
        ("bakery", "Which places are still open past nine at night?", "en", lambda form: "low=75600" in str(form)),
        ("football", "wage bill of each club in thousands", "en", lambda form: form.function == "SUM"),
        (
            "allotments",
            "Average inspection mark for each association please",
            "en",
            lambda form: form.function == "AVG",
        ),
        ("cinema", "2024年金鹭奖颁给了哪部片？", "zh", lambda form: isinstance(form.of.of, And)),
        ("cinema", "圣诞鲤鱼的导演还拍过啥？别的片子", "zh", lambda form: "excluded=Named" in str(form)),
    ],
    ids=[
        *("records by their columns", "groups two steps away", "ways that are left out", "what has a property at all"),
        *("a plain ranking among longer ones", "what lacks something and is not named", "a unit of ten thousands"),
        *("one step beside detours that give the same", "one step beside detours, in Chinese"),
        *("feet for metres", "a milliard for millions", "euros for thousands of them", "m is a metre"),
        *("an hour without a.m. or p.m.", "a sum that no word asks for", "what all that has a number belongs to"),
        *("a year whose property shares a word with a name", "the others beside the one that is named"),
    ],
)
def test_readings_reach_what_the_question_leaves_out_and_their_queries_give_it(name, question, language, has):
    store, _, forms = asked(name)
    gold = next(g for g in read_gold(SETS / name / "questions.jsonl").questions if g.text == question)
    found = [c.form for c in generator(name, question, language).candidates()]
    found = [form for form in found if isinstance(form, Listed | Grouped)]
    right = []
    for form in (form for form in found if _applies(has, form)):
        rows = {tuple(plain(value) for value in row) for row in denotation(form, forms.graph)}
        assert rows_of(store, sparql(form, forms.graph)) == rows
        shown = [[_shown(term, language, forms, name) for term in row] for row in denotation(form, forms.graph)]
        right.append(best_score([answer for answer in gold.answers if answer], shown).exact == 1)
    assert any(right)


def _applies(has, form):
    try:
        return bool(has(form))
    except AttributeError:
        return False


def _shown(term, language, forms, name):
    if isinstance(term, bool | int | float):
        return term
    return term.value if isinstance(term, Literal) else asked(name)[1].knowledge.names.label(term, language)


def test_tokens_numbers_days_and_units_of_both_languages():
    forms = reader("bakery")

    def quantities(text, language="en"):
        return [(q.kind, q.text or q.value, q.unit) for q in read(text, language, forms.names).quantities]

    assert [t.stem for t in tokens_of("Keller's loaves 1,200克")] == ["keller", "loav", "1200", "克"]
    assert quantities("over half a million and 12,000 people") == [
        ("number", 500000.0, "and"),
        ("number", 12000.0, "people"),
    ]
    assert quantities("on the 3rd of March 2024") == [("date", "2024-03-03", "")]
    assert quantities("before 9:30 pm in 1994") == [("time", 77400, ""), ("date", "1994", "")]
    assert quantities("二〇二四年六月以后，三百多万", "zh")[0] == ("date", "2024-06", "")
    assert quantities("三百克以上", "zh") == [("number", 300, "克以上")]
    assert quantities("shorter than two and a half hours") == [("number", 2.5, "hours")]
    assert quantities("more than an hour and a half, on a day in May") == [
        ("month", 5, ""), ("number", 1.5, "hour")
    ]  # fmt: skip
    assert quantities("at least half a kilometre") == [("number", 0.5, "kilometre")]
    assert quantities("over a thousand square metres") == [("number", 1000.0, "square_metres")]
    assert quantities("more than a quarter of a million or a third of an hour") == [
        ("number", 250000.0, "or"), ("number", 1 / 3, "hour")
    ]  # fmt: skip
    assert quantities("the third one is 8 m long") == [("ordinal", 3, ""), ("number", 8.0, "m")]
    assert quantities("要放两个多小时的", "zh") == [("number", 2, "小时的")]
    weight = next(p for p in forms.graph.schema.properties.values() if p.iri.value.endswith("weight"))
    assert factors_between("kilograms", weight)[0][0] in (1000.0, 1.0)
    assert read("the lowest and the funniest", "en", forms.names).cue("most") == 0b10000  # listed for another cue


def test_names_are_found_whole_in_part_and_mistyped():
    forms = reader("bakery")

    def best(text, language="en"):
        anchor = read(text, language, forms.names).anchors[0]
        (term,) = (forms.graph.terms[item] for item in anchor.items)
        return asked("bakery")[1].knowledge.names.label(term, "en"), anchor.exact

    assert best("Who owns Little Wheat?") == ("Little Wheat", True)
    assert best("what is in the basqe cheesecake")[0] == "basque cheesecake"
    assert best("老婆饼有多重？", "zh")[1]


def test_glosses_carry_chinese_words_to_english():
    assert "price" in " ".join(languages()["zh"].senses("价格"))
    assert in_english("plain English") == "plain English"
    assert "ticket" in in_english("门票")
    # words of grammar have English of their own, measure words none, and of other senses the common one counts
    assert in_english("哪家酒店最便宜？") == "which hotel most cheap ？"
    assert in_english("这部戏几点开始？") == "this play what time start ？"
    assert in_english("每首歌各有过多少次演唱？") == "each song has how many times sung performance ？"


def test_the_glosses_carry_their_own_licence():
    notice = (Path(lexicon.__file__).parent / "NOTICE.md").read_text(encoding="utf-8")
    assert "glosses.zh.tsv.gz" in notice
    assert "CC BY-SA 4.0" in notice


@pytest.mark.embedding
def test_forms_in_words_in_both_languages():
    graph: FactGraph = reader("bakery").graph
    names = asked("bakery")[1].knowledge.names
    terms = {p.value.rpartition("/")[2]: p for p in (*graph.forward, *graph.classes)}
    branch = graph.number_of[
        next(n for n, found in graph.facts.labels.items() if found[0].value == "Little Wheat Canal")
    ]
    form = SizeOf(And((Kind(terms["Branch"]), Compare(terms["seats"], 10.0, None, strict=True))))
    english, chinese = (FormWording(graph, lambda t, tag=tag: names.label(t, tag), tag) for tag in ("en", "zh"))
    assert english(form) == "how many branch with seating over 10"
    assert "数量" in chinese(form)
    assert english(Listed(Follow(terms["seats"], True, Named(frozenset((branch,)))))) == "seating of Little Wheat Canal"
    assert english(Grouped(Kind(terms["Branch"]), ((terms["branchOf"], True),))).endswith("for each branch of")
    assert english(Aggregated("AVG", terms["seats"], Kind(terms["Branch"]))) == "average seating of branch"
    pair = IsMore(terms["seats"], True, Named(frozenset((branch,))), Named(frozenset((branch,))))
    assert english(pair).startswith("whether Little Wheat Canal has more seating")
    assert items_of(Top(Kind(terms["Branch"]), ((terms["seats"], True),), most=True), graph)


@pytest.mark.embedding
def test_probabilities_add_up_and_confidence_is_one():
    found = generator("bakery", "How much does the country sourdough weigh?")
    readings = ranked(found, shipped_weights())
    assert sum(item.probability for item in readings) == pytest.approx(1)
    together = merged(readings)
    assert sum(item.probability for item in together) == pytest.approx(1)
    assert together[0].probability >= readings[0].probability
    describer = Describer(found)
    told = signs(describer.features(together[0].candidate), describer.unanswerable, together)
    assert 0 < shipped_weights().confidence(told) < 1
    assert set(found.intent.operations) == set(OPERATIONS)


@pytest.mark.embedding
@pytest.mark.parametrize(
    ("question", "language"),
    [("What's the day job of whoever chairs St Anne's Glebe?", "en"), ("St Anne's Glebe 的主席是做什么工作的？", "zh")],
)
def test_what_is_asked_for_is_told_from_what_leads_there(question, language):
    found = generator("allotments", question, language)
    work, chair = (
        NamedNode(f"http://data.marlbrook.example/ont/allotment#{name}") for name in ("occupation", "chairedBy")
    )
    assert found.intent.asked[work] > found.intent.asked[chair]
    describer, best = Describer(found), {}
    for candidate in found.candidates():
        match candidate.form:
            case Listed(Follow(predicate, True), ()) if predicate in (work, chair):
                told = describer.features(candidate)["asked for"]
                best[predicate] = max(told, best.get(predicate, told))
    assert best[work] > best[chair]


@pytest.mark.parametrize(
    ("query", "given"),
    [
        ("SELECT ?n WHERE { id:Heath al:chairedBy ?x . ?x al:livesIn ?d . ?d rdfs:label ?n }", {"livesIn", "District"}),
        ("SELECT ?job WHERE { id:plot_Saltpan_14 al:hasTenant/al:occupation ?job }", {"occupation"}),
        ("SELECT (COUNT(?p) AS ?n) WHERE { ?p a al:Plot . ?p al:hasTenant ?t }", {"Plot"}),
        (
            "SELECT ?n WHERE { ?p ^al:chairedBy ?x . ?x rdfs:label ?n FILTER NOT EXISTS { ?x al:hasFacility ?f } }",
            {"Association"},
        ),
        ("ASK { ?p al:hasTenant ?t }", set()),
    ],
)
def test_what_a_gold_query_gives_is_told(query, given):
    ontology = "http://data.marlbrook.example/ont/allotment#"
    graph = reader("allotments").graph
    terms = {term.value for term in terms_of(graph)}
    prefixes = f"PREFIX al: <{ontology}> PREFIX id: <http://data.marlbrook.example/id/>"
    found = asked_for(f"{prefixes} PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#> {query}", terms, graph)
    assert {iri.removeprefix(ontology) for iri in found} == given


@pytest.mark.embedding
@pytest.mark.parametrize("name", ["bakery", "games"])
def test_what_a_reading_gives_in_its_first_column_is_what_its_query_gives(name):
    store, _, forms = asked(name)
    told = 0
    for gold in read_gold(SETS / name / "questions.jsonl").questions[::5]:
        for reading in forms.readings(gold.text, gold.language, EMBEDDER):
            if reading.column is not None and not any(
                isinstance(p, Top) and p.size > 1 for p in parts_of(reading.form)
            ):
                found = store.query(reading.query, max_rows=100_000)
                assert {str(row[0]) for row in found.rows} == set(map(str, reading.column)), reading.query
                told += 1
    assert told > 40


class Embedded:
    """The embedder, counting the texts that it is given."""

    name, dimensions, languages = EMBEDDER.name, EMBEDDER.dimensions, EMBEDDER.languages

    def __init__(self):
        self.texts = 0

    def embed(self, texts):
        self.texts += len(texts)
        return EMBEDDER.embed(texts)


def readings(name, kept, embedder=EMBEDDER):
    _, parts, _ = asked(name)
    forms = FormReader(parts.knowledge.names.facts, parts.knowledge.schema, parts.knowledge.names.label, kept)
    questions = read_gold(SETS / name / "questions.jsonl").questions[::9]
    return [forms.readings(gold.text, gold.language, embedder) for gold in questions]


def modes(folder):
    return {path.name: (stat.S_IMODE(path.stat().st_mode), path.stat().st_mtime_ns) for path in folder.iterdir()}


@pytest.mark.embedding
def test_kept_vectors_change_no_reading_and_nothing_is_embedded_twice(tmp_path):
    first, second = Embedded(), Embedded()
    without = readings("games", None)
    assert without == readings("games", tmp_path / "vectors", first)
    assert set(modes(tmp_path / "vectors")) == {"terms.npz", "intents.npz"}
    before = modes(tmp_path / "vectors")
    assert without == readings("games", tmp_path / "vectors", second)
    assert modes(tmp_path / "vectors") == before
    terms = len(index.load(tmp_path / "vectors" / "terms.npz")[1]["keys"])
    assert first.texts - second.texts == terms > 50


@pytest.mark.embedding
@pytest.mark.parametrize("damage", ["cut", "junk", "empty", "folder", "array", "foreign", "not finite", "too narrow"])
def test_kept_vectors_that_are_damaged_or_foreign_count_for_nothing(tmp_path, damage):
    path, texts = tmp_path / "vectors" / "terms.npz", ["a dog", "a cat"]
    wanted = KeptVectors(path, "this", 384).of(texts, EMBEDDER.embed)
    whole = path.read_bytes()
    arrays, noted = index.load(path)
    if damage in ("cut", "junk", "empty"):
        path.write_bytes({"cut": whole[:-200], "junk": b"PK\x03\x04" + whole[9:], "empty": b""}[damage])
    elif damage == "folder":
        path.unlink()
        path.mkdir()
    elif damage == "array":
        with path.open("wb") as file:
            np.save(file, np.zeros((2, 384), np.float32))
    elif damage == "foreign":
        index.save(path, {"vectors": arrays["vectors"][::-1]}, noted | {"model": "that"})
    elif damage == "not finite":
        index.save(path, {"vectors": arrays["vectors"] * np.float32("nan")}, noted)
    else:
        index.save(path, {"vectors": arrays["vectors"][:, :5].copy()}, noted)
    assert np.array_equal(KeptVectors(path, "this", 384).of(texts, EMBEDDER.embed), wanted)
    if damage != "folder":
        assert index.load(path)[1] == noted


@pytest.mark.embedding
def test_only_what_an_ontology_says_anew_is_embedded_and_another_model_starts_anew(tmp_path):
    path, embedder = tmp_path / "terms.npz", Embedded()
    KeptVectors(path, "this", 384).of(["a dog", "a cat", "a dog"], embedder.embed)
    assert embedder.texts == 2
    found = KeptVectors(path, "this", 384).of(["a cat", "a horse"], embedder.embed)
    assert embedder.texts == 3
    assert np.allclose(found, EMBEDDER.embed(["a cat", "a horse"]), atol=1e-5)
    KeptVectors(path, "that", 384).of(["a cat"], embedder.embed)
    assert embedder.texts == 4


@pytest.mark.embedding
def test_vectors_of_other_learnt_weights_are_not_taken(tmp_path):
    other = tmp_path / "intent.safetensors"
    assert IntentModel(WEIGHTS).identity == IntentModel(WEIGHTS).identity
    other.write_bytes(WEIGHTS.read_bytes()[:-1] + b"\x3f")
    assert IntentModel(other).identity != IntentModel(WEIGHTS).identity


@pytest.mark.embedding
def test_a_label_that_changes_is_noticed_and_the_rest_is_kept(tmp_path):
    graph, first, second = reader("games").graph, Embedded(), Embedded()
    Vocabulary(graph, first, tmp_path / "terms.npz")
    iri, told = next((i, p) for i, p in graph.schema.properties.items() if p.count and p.words)
    properties = dict(graph.schema.properties)
    properties[iri] = replace(told, words=(replace(told.words[0], text="zither players"), *told.words[1:]))
    changed = FactGraph(graph.facts, replace(graph.schema, properties=properties))
    new = Vocabulary(changed, second, tmp_path / "terms.npz")
    assert 1 <= second.texts <= 2
    asked_ = read("How many zither players are there?", "en", reader("games").names)
    same = Vocabulary(changed, EMBEDDER).meanings(asked_)
    assert new.meanings(asked_).keys() == same.keys()
    assert iri in same
    kept, plain_ = (IntentReader(changed, IntentModel(), file) for file in (tmp_path / "intents.npz", None))
    assert kept.intent(asked_) == plain_.intent(asked_)


@pytest.mark.embedding
def test_where_nothing_can_be_written_vectors_are_computed(tmp_path):
    (tmp_path / "vectors").write_text("a file where the folder would be", encoding="utf-8")
    assert readings("bakery", tmp_path / "vectors") == readings("bakery", None)
    shut = tmp_path / "shut"
    shut.mkdir(mode=0o500)
    assert np.isfinite(KeptVectors(shut / "vectors" / "terms.npz", "this", 384).of(["a dog"], EMBEDDER.embed)).all()


@pytest.mark.embedding
def test_a_form_answers_where_the_rules_are_not_sure():
    store, parts, _ = asked("choirs")
    before = len(store)
    golds = read_gold(SETS / "choirs" / "questions.jsonl").questions[:25]
    forms = [
        answer for gold in golds if (answer := ask(gold.text, parts=parts)).query and "?answer" in answer.query.text
    ]
    assert forms
    assert all(answer.verdict is Verdict.ANSWERED and answer.confidence >= 0.4 for answer in forms)
    assert len(store) == before


@pytest.mark.embedding
@pytest.mark.parametrize(
    "text",
    [
        "a" * 10_000,
        " " * 300 + "?",
        "> } ; DROP ALL",
        'Who "owns" Little Wheat } UNION { ?s ?p ?o } #',
        "西湖 lake 湖 الماء 1e999 ²³ \x00 《",
        "How many how many how many " * 80,
        "1 2 3 4 5 6 7 8 9 between 10 and 11 or more than 12 before 2024 after 1999",
    ],
)
def test_hostile_text_gets_a_verdict_in_bounded_time_and_writes_nothing(text):
    store, parts, _ = asked("bakery")
    before = len(store)
    answer = ask(text, parts=parts)
    assert answer.verdict in set(Verdict)
    assert answer.usage.seconds < 20
    assert len(store) == before


NAMES_FOUND = """
import sys
from pathlib import Path
from benchmarks.question_sets import graph_of
from kgplatform.evaluation.gold import read_gold
from kgplatform.evaluation.metrics import best_score
from kgplatform.questions.forms.question_text import read

folder = Path(sys.argv[1])
names = graph_of(folder)[1].knowledge.forms.names
for gold in read_gold(folder / "questions.jsonl").questions:
    print([(anchor.said, sorted(anchor.items)) for anchor in read(gold.text, gold.language, names).anchors])
"""


def test_the_names_in_a_question_are_the_same_in_every_process():
    def found(seed):
        # the order of sets of words differs with the seed, as it does from process to process
        command = [sys.executable, "-c", NAMES_FOUND, str(SETS / "climbing")]
        said = os.environ | {"PYTHONHASHSEED": seed}
        ran = subprocess.run(command, cwd=SETS.parents[3], env=said, capture_output=True, text=True)
        assert ran.returncode == 0, ran.stderr
        return ran.stdout

    assert found("1") == found("2") != ""


@pytest.mark.parametrize(
    "text", ["Which hotels are there?", "How many hotels are there?", "有哪些酒店？", "Are there any restaurants?"]
)
def test_a_kind_of_which_there_is_nothing_is_not_taken_for_another(tmp_path, text):
    with KnowledgeGraph.create(tmp_path / "empty", ontology=["travel"]) as kg:  # it comes with facilities and seasons
        assert kg.ask(text).verdict is Verdict.UNANSWERABLE


HALLS = """@prefix : <http://hall.test/> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
<http://hall.test/> a owl:Ontology . :Venue a owl:Class ; rdfs:label "venue"@en , "场地"@zh .
:rent a owl:DatatypeProperty ; rdfs:label "rent"@en , "租金"@zh ; <https://w3id.org/kgplatform/core#unit> "EUR" ;
  rdfs:domain :Venue ; rdfs:range xsd:decimal .
"""
HALL = """@prefix : <http://hall.test/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:h a :Venue ; :rent 55 ; rdfs:label "Linden Hall"@en , "菩提厅"@zh .
"""


@pytest.mark.embedding
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("How much is the rent of the Linden Hall?", "The rent of Linden Hall is 55 EUR."),
        ("What is the phone number of the Linden Hall?", "I don’t know what “phone” means here."),
        ("When does the Linden Hall open?", "I don’t know what “open” means here."),
        ("菩提厅的电话是多少？", "不清楚「电话」在这里指什么。"),
    ],
)
def test_the_only_value_of_a_thing_answers_no_question_for_another(tmp_path, text, said):
    (tmp_path / "ontology.ttl").write_text(HALLS, encoding="utf-8")
    (tmp_path / "graph.ttl").write_text(HALL, encoding="utf-8")
    _, parts = graph_of(tmp_path)
    assert ask(text, parts=parts).text == said


@pytest.mark.embedding
@pytest.mark.parametrize("text", ["Did Zhou Xinyi found Linhai Pearls?", "周心怡是临海明珠的创始人吗？"])
def test_a_no_compares_only_things_of_a_kind(text):
    """A person is in no set of years or salaries, so that no "no" may come of comparing them."""
    made = generator("football", text, "zh" if text.startswith("周") else "en")
    graph = made.graph
    found = [c.form.of for c in made.candidates() if isinstance(c.form, IsAny) and isinstance(c.form.of, And)]
    pairs = [parts for form in found if len(parts := form.parts) == 2 and isinstance(parts[0], Named)]
    assert pairs
    assert all(items_of(And(parts), graph) or could_be(parts[0].items, parts[1], graph) for parts in pairs)
    founded = next(iri for iri in graph.forward if iri.value.endswith("founded"))
    person = next(items for iri, items in graph.classes.items() if iri.value.endswith("Person"))
    assert not could_be(person, Follow(founded, True, Kind(founded)), graph)


@pytest.mark.embedding
def test_an_answer_is_given_that_is_more_likely_right_than_wrong():
    """The chance of the rules' answer rises with their certainty and where a reading gives the same."""
    forms = asked("bakery")[2]
    text = "How much does the country sourdough weigh?"
    readings, intent = forms.readings(text, "en", EMBEDDER), forms.intent(text, "en")
    store, parts, _ = asked("bakery")
    answer = ask(text, parts=replace(parts, knowledge=replace(parts.knowledge, forms=None)))
    ruled = Ruled.of(answer, readings, intent, lambda query: store.query(query), {})

    def chance(found):
        return shipped_weights().chances(choice_signs("en", readings, found))["rules"]

    assert ruled is not None
    assert any(ruled.same)
    apart = replace(ruled, same=(False,) * len(readings))
    assert chance(replace(ruled, confidence=0.3)) < chance(ruled)
    assert chance(apart) < chance(ruled)
    assert Ruled.of(replace(answer, verdict=Verdict.UNANSWERABLE), readings, intent, lambda query: None, {}) is None
    assert "rules" not in choice_signs("en", readings, None)


@pytest.mark.embedding
def test_how_many_terms_an_ontology_has_does_not_make_an_answer_doubtful():
    """Two hundred terms that the wording might ask for tell no more than one that is as likely."""
    store, parts, forms = asked("bakery")
    text = "How much does the country sourdough weigh?"
    readings, intent = forms.readings(text, "en", EMBEDDER), forms.intent(text, "en")
    answer = ask(text, parts=replace(parts, knowledge=replace(parts.knowledge, forms=None)))

    def chances(count):
        terms = {NamedNode(f"http://other.example/term{number}"): 0.1 for number in range(count)}
        wider = replace(intent, terms={**intent.terms, **terms})
        ruled = Ruled.of(answer, readings, wider, lambda query: store.query(query), {})
        return shipped_weights().chances(choice_signs("en", readings, ruled))

    assert chances(1) == chances(200)


SHAFTS = """@prefix : <http://mine.test/> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
<http://mine.test/> a owl:Ontology . :Licence a owl:Class ; rdfs:label "licence"@en , "执照"@zh .
:needs a owl:ObjectProperty ; rdfs:label "requires"@en , "要求"@zh ; rdfs:domain :Licence ; rdfs:range :Licence .
:a a :Licence ; rdfs:label "Blasting"@en , "爆破"@zh ; :needs :b . :b a :Licence ; rdfs:label "Drilling"@en ;
  :needs :c . :c a :Licence ; rdfs:label "Rigging"@en , "索具"@zh . :d a :Licence ; rdfs:label "Survey"@en ; :needs :c .
"""


@pytest.mark.embedding
@pytest.mark.parametrize(
    ("text", "language", "said"),
    [
        ("Which licences does Blasting require, direct and indirect?", "en", "direct or indirect"),
        ("爆破直接和间接要求哪些执照？", "zh", "直接或间接"),
    ],
)
def test_what_is_asked_for_indirectly_is_followed_to_the_end(text, language, said):
    forms = Asked(SHAFTS).known.forms
    asked_so = read(text, language, forms.names)
    made = Generator(forms.graph, forms.vocabulary(EMBEDDER), asked_so, forms.intents.intent(asked_so))
    found = [
        c.form for c in made.candidates() if isinstance(c.form, Listed) and said in _worded(c.form, forms, language)
    ]
    assert {str(forms.graph.terms[item])[-2] for form in found for item in items_of(form.of, forms.graph)} == {"b", "c"}


def _worded(form, forms, language):
    return FormWording(forms.graph, lambda term: term.value, language)(form)


QUARRIES = """@prefix : <http://quarry.test/> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
<http://quarry.test/> a owl:Ontology .
:Quarry a owl:Class ; rdfs:label "quarry"@en , "采石场"@zh ; rdfs:comment "A deep quarry goes down more than 40 m."@en .
:Stone a owl:Class ; rdfs:label "stone"@en , "石材"@zh .
:depth a owl:DatatypeProperty ; rdfs:label "depth"@en , "深度"@zh ; rdfs:comment "In metres."@en ; rdfs:domain :Quarry ;
  rdfs:range xsd:integer .
:yields a owl:ObjectProperty ; rdfs:label "yields"@en , "出产"@zh ; rdfs:domain :Quarry ; rdfs:range :Stone .
:owner a owl:DatatypeProperty ; rdfs:label "owner"@en , "业主"@zh ; rdfs:domain :Quarry ; rdfs:range xsd:string .
:s1 a :Stone ; rdfs:label "slate"@en , "板岩"@zh . :s2 a :Stone ; rdfs:label "granite"@en , "花岗岩"@zh .
:s3 a :Stone ; rdfs:label "gneiss"@en , "片麻岩"@zh .
:q1 a :Quarry ; rdfs:label "Raven Pit"@en , "鸦坑"@zh ; :depth 30 ; :yields :s1 , :s2 , :s3 ; :owner "Holt" .
:q2 a :Quarry ; rdfs:label "Long Face"@en , "长壁"@zh ; :depth 55 ; :yields :s1 , :s2 ; :owner "Holt" .
:q3 a :Quarry ; rdfs:label "Old Cut"@en , "老坑"@zh ; :depth 41 ; :yields :s2 ; :owner "Brandt" .
:q4 a :Quarry ; rdfs:label "Mill Hole"@en , "磨坊坑"@zh ; :depth 12 ; :yields :s1 ; :owner "Ried" .
"""


@cache
def quarries():
    return Asked(QUARRIES)


def quarry(name):
    return NamedNode(f"http://quarry.test/{name}")


def named(*names):
    numbers = quarries().known.forms.graph.number_of
    return Named(frozenset(numbers[quarry(name)] for name in names))


@pytest.mark.embedding
@pytest.mark.parametrize(
    ("form", "rows"),
    [
        (lambda: Listed(HasMany(quarry("yields"), True, 2, None)), {"q1", "q2"}),
        (lambda: Listed(HasMany(quarry("yields"), True, None, 1)), {"q3", "q4"}),
        (lambda: Listed(HasMany(quarry("yields"), False, 3, 3)), {"s1", "s2"}),
        (lambda: Listed(Against(quarry("depth"), True, Kind(quarry("Quarry")), "average")), {"q2", "q3"}),
        (lambda: Listed(Against(quarry("depth"), False, named("q1", "q3"), "any")), {"q1", "q4"}),
        (lambda: Listed(Against(quarry("depth"), True, named("q1", "q3"))), {"q2"}),
        (lambda: DifferenceOf(quarry("depth"), True, named("q4"), named("q2")), {"43"}),
        (lambda: DifferenceOf(quarry("yields"), True, named("q1"), named("q4"), counted=True), {"2"}),
        (lambda: Share(Kind(quarry("Quarry")), Compare(quarry("depth"), 40, None)), {"0.5"}),
        (lambda: Share(Kind(quarry("Quarry")), Follow(quarry("yields"), False, named("s3")), percent=True), {"25"}),
    ],
)
def test_comparisons_differences_and_shares_are_what_their_queries_give(form, rows):
    graph, made = quarries().known.forms.graph, form()
    told = {tuple(plain(value) for value in row) for row in denotation(made, graph)}
    assert rows_of(quarries().dataset.store, sparql(made, graph)) == told
    assert {value.rpartition("/")[2].rstrip(">") for (value,) in told} == rows


@pytest.mark.embedding
@pytest.mark.parametrize(
    ("text", "language", "wanted"),
    [
        ("Which quarries yield more than one kind of stone?", "en", "quarry with at least 2 yields"),
        ("出产不止一种石材的采石场有哪些？", "zh", "至少有2个出产的采石场"),
        (
            "deeper than average quarries, which are they?",
            "en",
            "with more depth than the average depth of quarry",
        ),
        ("How much deeper is Long Face than Mill Hole?", "en", "difference in depth between Long Face and Mill Hole"),
        ("长壁比磨坊坑深多少？", "zh", "长壁与磨坊坑的深度之差"),
        ("What percentage of the quarries yield gneiss?", "en", "percentage of"),
        ("Do Raven Pit and Long Face yield the same stone?", "en", "whether there are yields of"),
        ("quarries 40-60 m deep", "en", "depth between 40 and 60"),
        ("深度30到50米的采石场", "zh", "深度在30与50之间"),
        ("Which deep quarries yield slate?", "en", "depth over 40"),
    ],
)
def test_what_compares_or_is_defined_by_a_comment_is_among_the_readings(text, language, wanted):
    forms, label = quarries().known.forms, quarries().known.names.label
    asked_so = read(text, language, forms.names)
    made = Generator(forms.graph, forms.vocabulary(EMBEDDER), asked_so, forms.intents.intent(asked_so)).candidates()
    wording = FormWording(forms.graph, lambda term: label(term, language), language)
    assert [said for said in (wording(candidate.form) for candidate in made) if wanted in said]


@pytest.mark.embedding
def test_a_reading_is_answered_in_the_sentences_of_a_query_graph():
    forms, names = quarries().known.forms, quarries().known.names
    of_slate = And((Kind(quarry("Quarry")), Follow(quarry("yields"), False, named("s1"))))
    graph = graph_for_words(SizeOf(of_slate), forms.graph)
    assert frame_of(graph, names, "en").things == "quarries that yield slate"
    assert graph_for_words(DifferenceOf(quarry("depth"), True, named("q4"), named("q2")), forms.graph) is None


@pytest.mark.embedding
def test_a_named_blank_node_and_what_no_ontology_declares_are_read_without_an_error():
    told = """@prefix : <http://shop.test/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
    [] a :Stall ; rdfs:label "Blue Stall" ; :rent 40 ; :yearlyBudget 8000000 .
    :x a :Stall ; rdfs:label "Red Stall" ; :rent 12 . """
    stalls = Asked(told)
    parts = stalls.parts_with(embedder=lambda: EMBEDDER)
    for text in ("What is the rent of Blue Stall?", "stalls with a rent over 30", "Blue Stall的租金是多少？"):
        assert ask(text, parts=parts).verdict in Verdict
    graph = stalls.known.forms.graph
    blank = next(n for n, term in enumerate(graph.terms) if isinstance(term, BlankNode))
    rent = Follow(NamedNode("http://shop.test/rent"), True, Named(frozenset((blank,))))
    assert graph_for_words(Listed(rent), graph) is None


@pytest.mark.embedding
def test_eight_m_are_millions_though_another_property_is_in_metres():
    told = (
        QUARRIES
        + """:budget a owl:DatatypeProperty ; rdfs:label "budget"@en ; rdfs:domain :Quarry ;
      rdfs:range xsd:integer . :q1 :budget 9000000 . :q2 :budget 3000000 ."""
    )
    forms = Asked(told).known.forms
    asked_so = read("quarries with a budget over 8 m", "en", forms.names)
    made = Generator(forms.graph, forms.vocabulary(EMBEDDER), asked_so, forms.intents.intent(asked_so))
    found = [state.form for state in made.seeds() if isinstance(state.form, Compare)]
    assert any(form.predicate == quarry("budget") and form.low == 8_000_000 for form in found)
