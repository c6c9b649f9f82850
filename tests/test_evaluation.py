"""Metrics against values worked out by hand, and a run over gold questions."""

import json
import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyoxigraph import NamedNode

from kgplatform.cli import evaluations
from kgplatform.cli.main import main
from kgplatform.errors import ReadError
from kgplatform.evaluation.answers import Outcome, best_score, score_rows, three_way
from kgplatform.evaluation.calibration import calibration
from kgplatform.evaluation.classification import confusion
from kgplatform.evaluation.extraction import GoldText, ReadText, read_all
from kgplatform.evaluation.gold import read_gold
from kgplatform.evaluation.queries import normal_form, same_query
from kgplatform.evaluation.questions import ScoredQuestion, ask_all, report
from kgplatform.evaluation.ranking import (
    all_at,
    context_precision,
    ndcg_at,
    precision_at,
    recall_at,
    reciprocal_rank,
)
from kgplatform.evaluation.retrieval import GoldPassages, compare_retrievers, score_hits
from kgplatform.evaluation.statistics import compare, estimate, mcnemar
from kgplatform.evaluation.studies.runs import runs
from kgplatform.graph import KnowledgeGraph
from kgplatform.retrieval import RETRIEVERS
from kgplatform.types import Answer, Evidence, Question, Solutions, Verdict

# rankings


def test_ranking_metrics_match_a_ranking_worked_out_by_hand():
    ranked, gold = ["a", "x", "b", "y", "c"], {"a", "b", "z"}
    assert recall_at(ranked, gold, 3) == pytest.approx(2 / 3)
    assert precision_at(ranked, gold, 3) == pytest.approx(2 / 3)
    assert all_at(ranked, gold, 5) == 0
    assert all_at(ranked, {"a", "b"}, 3) == 1
    assert context_precision(ranked, gold, 5) == pytest.approx((1 / 1 + 2 / 3) / 2)
    assert reciprocal_rank(["x", "a"], gold) == 0.5
    assert ndcg_at(ranked, gold, 3) == pytest.approx((1 + 1 / math.log2(4)) / (1 + 1 / math.log2(3) + 1 / math.log2(4)))


def test_nothing_returned_scores_nothing():
    for metric in (recall_at, precision_at, context_precision, ndcg_at, all_at):
        assert metric([], {"a"}, 10) == 0
    assert reciprocal_rank([], {"a"}) == 0


@given(st.permutations(list("abcdefgh")), st.sets(st.sampled_from("abcdefgh"), min_size=1), st.integers(1, 8))
def test_every_ranking_metric_lies_between_0_and_1_and_the_best_ranking_gets_1(ranked, gold, k):
    for metric in (recall_at, precision_at, context_precision, ndcg_at):
        assert 0 <= metric(ranked, gold, k) <= 1
    best = sorted(ranked, key=lambda item: item not in gold)
    assert ndcg_at(best, gold, k) == pytest.approx(1)
    assert context_precision(best, gold, k) == pytest.approx(1)
    assert recall_at(best, gold, 8) == 1


# answers


def test_answers_compare_as_people_compare_them():
    assert score_rows(["New York", "Texas"], ["texas", "new_york "]).exact == 1
    assert score_rows([1025], ["1,025"]).exact == 1
    assert score_rows([1025], [1024]).exact == 0
    assert score_rows([0.962], [0.9625]).exact == 1
    assert score_rows([True], ["是"]).exact == 1
    assert score_rows([False], ["yes"]).exact == 0
    assert score_rows(["故宫（北京）"], ["故宫(北京)"]).exact == 1
    assert score_rows([["Physics", 10]], [[10, "physics"]]).exact == 1
    assert score_rows([["Physics", 10]], [["Physics", 11]]).exact == 0
    assert score_rows(["Boise"], [["http://x/boise", "Boise"]]).exact == 1
    assert score_rows([["A", None]], [["A"]]).exact == 1


def test_set_scores_count_rows():
    score = score_rows(["a", "b", "c"], ["a", "x"])
    assert (score.precision, score.recall) == (0.5, pytest.approx(1 / 3))
    assert score.f1 == pytest.approx(2 * 0.5 / 3 / (0.5 + 1 / 3))
    assert score_rows([], []).exact == 1
    assert score_rows(["a"], []).f1 == 0


def test_a_suggestion_is_right_when_it_is_among_the_answers():
    assert score_rows(["a", "b", "c"], ["b"], any_will_do=True).exact == 1
    assert score_rows(["a", "b"], ["b", "z"], any_will_do=True).exact == 0


def test_the_best_of_several_right_answers_counts():
    assert best_score([["http://x/ann"], ["Ann"]], ["ann"]).exact == 1


@given(st.lists(st.one_of(st.text(min_size=1), st.integers(), st.booleans()), min_size=1))
def test_an_answer_is_its_own_gold(values):
    assert score_rows(values, list(reversed(values))).exact == 1


def test_the_three_way_score_takes_wrong_from_right():
    found = three_way([Outcome.CORRECT, Outcome.CORRECT, Outcome.MISSING, Outcome.WRONG])
    assert (found.accuracy, found.missing, found.hallucination, found.score) == (0.5, 0.25, 0.25, 0.25)


# queries


def test_queries_are_the_same_whatever_their_variables_prefixes_and_order():
    first = "PREFIX e: <http://e/> SELECT ?x WHERE { ?x e:p ?y . ?y e:q 'a' FILTER(?y != ?x && ?x > 3) }"
    second = 'SELECT ?b { ?c <http://e/q> "a" . ?b <http://e/p> ?c . FILTER(?b > 3 && ?c != ?b) }'
    assert same_query(first, first.replace("?x", "?z"))
    assert same_query(first, second.replace("?b > 3 && ?c != ?b", "?c != ?b && ?b > 3"))


@pytest.mark.parametrize(
    "other",
    [
        "SELECT ?y { ?x <http://e/p> ?y }",
        "SELECT ?x { ?x <http://e/p> ?y } LIMIT 1",
        "SELECT DISTINCT ?x { ?x <http://e/p> ?y }",
        "SELECT ?x { ?y <http://e/p> ?x }",
        "SELECT ?x { ?x <http://e/q> ?y }",
        "ASK { ?x <http://e/p> ?y }",
    ],
)
def test_queries_that_ask_something_else_are_not_the_same(other):
    assert not same_query("SELECT ?x { ?x <http://e/p> ?y }", other)


@pytest.mark.parametrize(
    "text", ["", "SELECT {", "who?", "DROP ALL", "SELECT ?x { SERVICE <http://e/> { ?x ?y ?z } }", "{" * 5000]
)
def test_what_is_no_query_has_no_normal_form(text):
    assert normal_form(text) is None
    assert not same_query(text, text)


# classes, confidence, intervals


def test_the_confusion_matrix_gives_precision_and_recall_by_class():
    found = confusion(["a", "a", "b", "b", "b"], ["a", "b", "b", "b", "c"])
    assert found.labels == ("a", "b", "c")
    assert found.counts == ((1, 1, 0), (0, 2, 1), (0, 0, 0))
    assert found.accuracy == pytest.approx(3 / 5)
    a, b, c = found.by_class()
    assert (a.precision, a.recall) == (1, 0.5)
    assert (b.precision, b.recall) == (pytest.approx(2 / 3), pytest.approx(2 / 3))
    assert (c.precision, c.recall, c.support) == (0, 0, 0)
    assert found.macro_f1 == pytest.approx((2 / 3 + 2 / 3) / 2)


def test_calibration_error_is_the_weighted_gap_between_confidence_and_truth():
    found = calibration([0.95, 0.95, 0.15, 0.15], [True, False, False, False])
    assert [(b.count, b.accuracy) for b in found.bins] == [(2, 0), (2, 0.5)]
    assert found.error == pytest.approx(0.5 * 0.15 + 0.5 * 0.45)
    assert found.brier == pytest.approx((0.05**2 + 0.95**2 + 2 * 0.15**2) / 4)


def test_a_confidence_outside_0_to_1_is_refused():
    with pytest.raises(ValueError, match="no confidence"):
        calibration([1.2], [True])


def test_an_interval_holds_the_mean_and_narrows_with_more_values():
    few, many = estimate([0, 1] * 5), estimate([0, 1] * 500)
    for found in (few, many):
        assert found.low < found.value == 0.5 < found.high
    assert many.high - many.low < few.high - few.low
    assert estimate([0, 1] * 5) == few
    assert estimate([]).count == 0


def test_paired_tests_tell_a_difference_from_none():
    assert compare([0.0] * 10, [1.0] * 10).p == pytest.approx(2 / 2**10)
    assert compare([0.1, 0.5], [0.1, 0.5]).p == 1
    assert mcnemar([True] * 6, [False] * 6) == pytest.approx(2 / 2**6)
    assert mcnemar([True, False], [False, True]) == 1
    with pytest.raises(ValueError, match="paired"):
        compare([1.0], [])


# gold files and runs


def write(path: Path, *lines: object) -> Path:
    path.write_text("\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines), "utf-8")
    return path


def test_lines_that_cannot_be_used_are_told_and_the_rest_is_kept(tmp_path):
    gold = read_gold(
        write(
            tmp_path / "gold.jsonl",
            {"id": 1, "question": "a?", "answers": ["x"]},
            "{broken",
            {"id": 1, "question": "b?", "answers": ["x"]},
            {"id": 2, "answers": ["x"]},
            {"id": 3, "question": "c?"},
            {"id": 4, "question": "d?", "answers": "x"},
            {"id": 5, "question": "哪些？", "gold_sparql": "SELECT * {?s ?p ?o}"},
        )
    )
    assert [(question.id, question.language) for question in gold.questions] == [("1", "en"), ("5", "zh")]
    assert [problem.split(":")[0] for problem in gold.problems] == ["line 2", "line 3", "line 4", "line 5", "line 6"]
    assert "twice" in gold.problems[1]


@pytest.mark.parametrize("content", ["", "[]", "{", '{"id": 1}'])
def test_a_file_without_a_usable_question_is_refused_in_one_line(tmp_path, content):
    with pytest.raises(ReadError, match="no question that can be used"):
        read_gold(write(tmp_path / "gold.jsonl", content))


def answered(text, values, *, verdict=Verdict.ANSWERED, confidence=0.9):
    rows = tuple((value,) for value in ())
    return Answer(
        "", Question(text, "en"), verdict, confidence, "sparql", solutions=Solutions(("x",), rows), values=values
    )


def test_a_run_counts_right_missing_and_wrong(tmp_path):
    gold = read_gold(
        write(
            tmp_path / "gold.jsonl",
            {"id": "r", "question": "right?", "answers": ["a", "b"], "type": "list"},
            {"id": "m", "question": "missing?", "answers": ["a"], "type": "list"},
            {"id": "w", "question": "wrong?", "answers": [3], "type": "count"},
        )
    )
    answers = {
        "right?": answered("right?", ("b", "A")),
        "missing?": answered("missing?", (), verdict=Verdict.UNANSWERABLE, confidence=0.1),
        "wrong?": answered("wrong?", ("4",)),
    }
    asked = list(ask_all(gold.questions, ask=answers.__getitem__, query=None, label_of=lambda term, _: str(term)))
    found = report([item.scored for item in asked])
    assert [ScoredQuestion.read(item.line()) for item in asked] == [item.scored for item in asked]
    assert [item.outcome.value for item in asked] == ["correct", "missing", "wrong"]
    assert found.exact.value == pytest.approx(1 / 3)
    assert {item.kind: item.exact.value for item in found.by_type} == {"count": 0, "list": 0.5}
    assert found.three_way.score == 0
    assert [item.count for item in found.calibration.bins] == [2]


@pytest.fixture(scope="module")
def workspace(tmp_path_factory):
    folder = tmp_path_factory.mktemp("evaluate")
    data = folder / "data.ttl"
    data.write_text(
        "@prefix t: <https://w3id.org/kgplatform/travel#> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .\n"
        '<https://e/a> a t:Hotel ; rdfs:label "Canal House"@en . <https://e/b> a t:Hotel ; rdfs:label "Lotus Inn"@en .',
        "utf-8",
    )
    with KnowledgeGraph.create(folder / "kg", ontology=["travel"]) as kg:
        kg.load(data)
    return folder / "kg"


def test_the_verb_asks_writes_each_result_and_prints_the_report(workspace, tmp_path, capsys):
    sparql = "SELECT ?h { ?h a <https://w3id.org/kgplatform/travel#Hotel> }"
    file = write(
        tmp_path / "gold.jsonl",
        {"id": "1", "question": "Which hotels are there?", "gold_sparql": sparql, "type": "list"},
        {"id": "2", "question": "Which spaceships are there?", "answers": ["Vostok"], "type": "list"},
        {"id": "3", "question": "How many hotels are there?", "answers": [2], "type": "count"},
    )
    output = tmp_path / "results.jsonl"
    arguments = ["evaluate", "questions", str(file), "-w", str(workspace), "--output", str(output)]
    assert main([*arguments, "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["exact"]["value"] == pytest.approx(2 / 3)
    assert found["types"]["count"]["exact"]["value"] == 1
    results = [json.loads(line) for line in output.read_text("utf-8").splitlines()]
    assert [item["outcome"] for item in results] == ["correct", "missing", "correct"]
    assert not list(tmp_path.glob("*.part"))
    assert main(arguments) == 0
    assert "score" in capsys.readouterr().out


def test_a_gold_query_that_fails_is_reported_and_counts_as_wrong(workspace, tmp_path, capsys):
    file = write(tmp_path / "gold.jsonl", {"id": "1", "question": "Which hotels?", "gold_sparql": "SELECT {"})
    assert main(["evaluate", "questions", str(file), "-w", str(workspace), "--format", "json"]) == 0
    assert "gold query" in json.loads(capsys.readouterr().out)["problems"][0]


PUBLISHED = {"questions": "IIS-Q, TEXT2SPARQL 2025 (published)", "extraction": "Vicuna-13B, DBpedia-WebNLG (published)"}
GOLD = {
    "questions": [
        {"id": "1", "question": "Which hotels are there?", "answers": ["Canal House", "Lotus Inn"], "type": "list"},
        {"id": "2", "question": "有几家酒店？", "answers": [2], "type": "count"},
    ],
    "extraction": [
        {"id": "1", "text": "The Canal House is a hotel in Wuzhen.", "triples": [["Canal House", "in", "Wuzhen"]]},
        {"id": "2", "text": "枕水度假酒店位于乌镇。", "triples": [["枕水度假酒店", "in", "乌镇"]]},
    ],
}


@pytest.mark.parametrize("study", GOLD)
def test_a_gold_file_is_written_like_a_study_and_goes_on_from_what_was_kept(
    study, workspace, tmp_path, capsys, monkeypatch
):
    file, out = write(tmp_path / "gold.jsonl", *GOLD[study][:1]), tmp_path / "out"
    assert main(["evaluate", study, str(file), "-w", str(workspace), "--fresh", "--no-keep", "--format", "json"]) == 0
    assert "as kept" not in capsys.readouterr().err
    done = []
    monkeypatch.setattr(evaluations, "ask_all", lambda q, **k: done.extend(q) or ask_all(q, **k))
    monkeypatch.setattr(evaluations, "read_all", lambda g, *a: (done.append(item) or one(item, *a) for item in g))
    assert main(["evaluate", study, str(write(file, *GOLD[study])), "-w", str(workspace), "--output", str(out)]) == 0
    assert [item.id for item in done] == ["2"]
    shown = capsys.readouterr()
    assert "1 answers as kept" in shown.err or "1 texts as kept" in shown.err
    assert PUBLISHED[study] in shown.out
    assert "of other" in shown.out.partition("What differs from the study")[2]
    report_ = json.loads((out / "report.json").read_text("utf-8"))
    assert any(row["published"] for table in report_["tables"] for row in table["rows"])
    assert report_["differs"]
    assert "this run" in (out / "report.md").read_text("utf-8")
    assert "<svg" in (out / "report.html").read_text("utf-8")
    tables = {path.name: path.read_text("utf-8") for path in out.glob("report-*.csv")}
    assert len(tables) > 1
    assert "published" in "".join(tables.values())
    assert len((out / "results.jsonl").read_text("utf-8").splitlines()) == 2
    run = runs(workspace)[0]
    assert run.study == study
    assert {"report.md", "report.html", *tables} <= {path.name for path in run.folder.iterdir()}
    assert main(["evaluate", "--compare", run.name, str(out), "-w", str(workspace), "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["measures"]["f1"]["difference"] == 0


@pytest.mark.parametrize("read", [ScoredQuestion.read, lambda line: ReadText.read(GoldText("1", "A.", ()), line)])
def test_a_kept_line_of_another_form_is_refused(read):
    for line in ({}, {"triples": [["a", "b"]], "counts": {}}, {"exact": "x"}, {"triples": 5}):
        with pytest.raises(ValueError, match=r"no result|invalid|unpack"):
            read(line)


def one(item, *parts):
    """What is read in one text."""
    (found,) = read_all([item], *parts)
    return found


def test_a_missing_gold_file_is_one_clear_line(workspace, tmp_path, capsys):
    assert main(["evaluate", "questions", str(tmp_path / "none.jsonl"), "-w", str(workspace)]) != 0
    assert capsys.readouterr().err.count("\n") == 1


# retrievers side by side


def evidence(title, quote):
    node = NamedNode(f"urn:{title}")
    return Evidence(node, node, title, f"{title}.md", quote, 0, len(quote))


def test_hits_are_scored_by_the_gold_that_they_cover_first():
    gold = GoldPassages("1", "?", ("A", "b.md"), ("opens at nine",))
    hits = [
        evidence("x", "no"),
        evidence("A", "The zone Opens at Nine."),
        evidence("A", "again"),
        evidence("b", "late"),
    ]
    found = score_hits(gold, hits, 3)
    assert found.recall == pytest.approx(2 / 3)
    assert found.complete == 0
    assert found.reciprocal_rank == 0.5
    assert score_hits(gold, hits, 4).complete == 1
    assert score_hits(gold, [], 4).recall == 0


def test_the_better_retriever_comes_first_and_the_other_is_held_against_it():
    questions = [GoldPassages(str(n), f"q{n}", (f"d{n}",), ()) for n in range(6)]

    def search(text, k, name):
        return [evidence(text.replace("q", "d"), "right")] if name == "good" else [evidence("other", "wrong")]

    good, bad = compare_retrievers(questions, ["bad", "good"], search, k=3)
    assert (good.name, good.recall.value, good.against_best) == ("good", 1, None)
    assert (bad.name, bad.recall.value) == ("bad", 0)
    assert bad.against_best.p == pytest.approx(2 / 2**6)


def test_the_benchmark_verb_runs_every_retriever(tmp_path, capsys):
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "wuzhen.md").write_text("# Wuzhen\n\nThe West Zone opens at nine. A ticket costs 150 yuan.", "utf-8")
    (folder / "hotels.md").write_text("# Hotels\n\nThe Canal House suits families. It has 20 rooms.", "utf-8")
    with KnowledgeGraph.create(tmp_path / "kg", ontology=["travel"]) as kg:
        list(kg.add(folder))
    gold = write(
        tmp_path / "gold.jsonl",
        {"id": 1, "question": "When does the West Zone open?", "quotes": ["opens at nine"]},
        {"id": 2, "question": "Which hotel suits families?", "documents": ["hotels.md"]},
        {"id": 3, "question": "What?", "documents": "hotels.md"},
    )
    assert main(["benchmark", "retrieval", str(gold), "-w", str(tmp_path / "kg"), "--format", "json"]) == 0
    shown = capsys.readouterr()
    found = {item["retriever"]: item for item in json.loads(shown.out)}
    assert set(found) == set(RETRIEVERS)
    assert found["lexical"]["recall"]["value"] == 1
    assert "line 3: documents is not a list of texts" in shown.err
    assert main(["benchmark", "retrieval", str(gold), "-w", str(tmp_path / "kg"), "--retriever", "lexical"]) == 0
    assert "recall@10" in capsys.readouterr().out
    assert main(["benchmark", "retrieval", str(gold), "-w", str(tmp_path / "kg"), "--retriever", "nope"]) != 0
