"""Metrics against values worked out by hand, gold files as people write them, runs that are kept and compared."""

import csv
import io
import json
import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.studies import flight_questions as making
from benchmarks.studies.outcomes import confusion
from kgplatform.cli.main import main
from kgplatform.errors import NotFoundError, ReadError
from kgplatform.evaluation import metrics, runs
from kgplatform.evaluation.gold import ask_all, read_gold, read_run
from kgplatform.evaluation.question_maker import read_templates
from kgplatform.evaluation.retrievers import read_gold_passages
from kgplatform.evaluation.triples import read_all, read_texts
from kgplatform.graph import KnowledgeGraph
from kgplatform.sparql.algebra import normal_form, same_query


def test_ranking_metrics_match_a_ranking_worked_out_by_hand():
    ranked, gold = ["a", "x", "b", "y", "c"], {"a", "b", "z"}
    assert metrics.recall_at(ranked, gold, 3) == pytest.approx(2 / 3)
    assert metrics.all_at(ranked, gold, 5) == 0
    assert metrics.all_at(ranked, {"a", "b"}, 3) == 1
    assert metrics.context_precision(ranked, gold, 5) == pytest.approx((1 / 1 + 2 / 3) / 2)
    assert metrics.reciprocal_rank(["x", "a"], gold) == 0.5
    assert [
        metric([], gold, 10)
        for metric in (
            metrics.recall_at,
            metrics.context_precision,
            metrics.ndcg_at,
            metrics.all_at,
        )
    ] == [0] * 4
    assert metrics.ndcg_at(ranked, gold, 3) == pytest.approx(
        (1 + 1 / math.log2(4)) / (1 + 1 / math.log2(3) + 1 / math.log2(4))
    )


@given(st.permutations(list("abcdefgh")), st.sets(st.sampled_from("abcdefgh"), min_size=1), st.integers(1, 8))
def test_every_ranking_metric_lies_between_0_and_1_and_the_best_ranking_gets_1(ranked, gold, k):
    for metric in (metrics.recall_at, metrics.context_precision, metrics.ndcg_at):
        assert 0 <= metric(ranked, gold, k) <= 1
    best = sorted(ranked, key=lambda item: item not in gold)
    assert metrics.ndcg_at(best, gold, k) == pytest.approx(1)
    assert metrics.context_precision(best, gold, k) == pytest.approx(1)
    assert metrics.recall_at(best, gold, 8) == 1


@pytest.mark.parametrize(
    ("gold", "given_", "exact"),
    [
        (["New York", "Texas"], ["texas", "new_york "], 1),
        ([1025], ["1,025"], 1),
        ([1025], [1024], 0),
        ([0.962], [0.9625], 1),
        ([True], ["是"], 1),
        ([False], ["yes"], 0),
        (["故宫（北京）"], ["故宫(北京)"], 1),
        ([["Physics", 10]], [[10, "physics"]], 1),
        ([["Physics", 10]], [["Physics", 11]], 0),
        (["Boise"], [["http://x/boise", "Boise"]], 1),
        ([["A", None]], [["A"]], 1),
        ([], [], 1),
        (["a"], [], 0),
    ],
)
def test_answers_compare_as_people_compare_them(gold, given_, exact):
    assert metrics.score_rows(gold, given_).exact == exact


def test_set_scores_count_rows_and_a_suggestion_is_right_among_the_answers():
    score = metrics.score_rows(["a", "b", "c"], ["a", "x"])
    assert (score.precision, score.recall) == (0.5, pytest.approx(1 / 3))
    assert score.f1 == pytest.approx(2 * 0.5 / 3 / (0.5 + 1 / 3))
    assert metrics.score_rows(["a", "b", "c"], ["b"], any_will_do=True).exact == 1
    assert metrics.score_rows(["a", "b"], ["b", "z"], any_will_do=True).exact == 0
    assert metrics.best_score([["http://x/ann"], ["Ann"]], ["ann"]).exact == 1


@given(st.lists(st.one_of(st.text(min_size=1), st.integers(), st.booleans()), min_size=1))
def test_an_answer_is_its_own_gold(values):
    assert metrics.score_rows(values, list(reversed(values))).exact == 1


def test_queries_are_the_same_whatever_their_variables_prefixes_and_order():
    first = "PREFIX e: <http://e/> SELECT ?x WHERE { ?x e:p ?y . ?y e:q 'a' FILTER(?y != ?x && ?x > 3) }"
    second = 'SELECT ?b { ?c <http://e/q> "a" . ?b <http://e/p> ?c . FILTER(?b > 3 && ?c != ?b) }'
    assert same_query(first, first.replace("?x", "?z"))
    assert same_query(first, second.replace("?b > 3 && ?c != ?b", "?c != ?b && ?b > 3"))


OTHERS = (
    *("SELECT ?y { ?x <http://e/p> ?y }", "SELECT ?x { ?y <http://e/p> ?x }", "SELECT ?x { ?x <http://e/q> ?y }"),
    *(
        "SELECT ?x { ?x <http://e/p> ?y } LIMIT 1",
        "SELECT DISTINCT ?x { ?x <http://e/p> ?y }",
        "ASK { ?x <http://e/p> ?y }",
    ),
)


@pytest.mark.parametrize("other", OTHERS)
def test_queries_that_ask_something_else_are_not_the_same(other):
    assert not same_query("SELECT ?x { ?x <http://e/p> ?y }", other)


@pytest.mark.parametrize(
    "text", ["", "SELECT {", "who?", "DROP ALL", "SELECT ?x { SERVICE <http://e/> { ?x ?y ?z } }", "{" * 5000]
)
def test_what_is_no_query_has_no_normal_form(text):
    assert normal_form(text) is None
    assert not same_query(text, text)


def test_the_confusion_matrix_gives_precision_and_recall_by_class():
    found = confusion(["a", "a", "b", "b", "b"], ["a", "b", "b", "b", "c"])
    assert (found.labels, found.counts) == (("a", "b", "c"), ((1, 1, 0), (0, 2, 1), (0, 0, 0)))
    assert found.accuracy == pytest.approx(3 / 5)
    a, b, c = found.by_class()
    assert (a.precision, a.recall) == (1, 0.5)
    assert (b.precision, b.recall) == (pytest.approx(2 / 3), pytest.approx(2 / 3))
    assert (c.precision, c.recall, c.support) == (0, 0, 0)
    assert found.macro_f1 == pytest.approx((2 / 3 + 2 / 3) / 2)


def test_calibration_error_is_the_weighted_gap_between_confidence_and_truth():
    found = metrics.calibration([0.95, 0.95, 0.15, 0.15], [True, False, False, False])
    assert [(b.count, b.accuracy) for b in found.bins] == [(2, 0), (2, 0.5)]
    assert found.error == pytest.approx(0.5 * 0.15 + 0.5 * 0.45)
    assert found.brier == pytest.approx((0.05**2 + 0.95**2 + 2 * 0.15**2) / 4)


def test_an_interval_holds_the_mean_and_narrows_with_more_values():
    few, many = metrics.estimate([0, 1] * 5), metrics.estimate([0, 1] * 500)
    for found in (few, many):
        assert found.low < found.value == 0.5 < found.high
    assert many.high - many.low < few.high - few.low
    assert metrics.estimate([0, 1] * 5) == few
    assert metrics.estimate([]).count == 0


def test_paired_tests_tell_a_difference_from_none():
    assert metrics.compare([0.0] * 10, [1.0] * 10).p == pytest.approx(2 / 2**10)
    assert metrics.compare([0.1, 0.5], [0.1, 0.5]).p == 1
    assert metrics.mcnemar([True] * 6, [False] * 6) == pytest.approx(2 / 2**6)
    assert metrics.mcnemar([True, False], [False, True]) == 1
    with pytest.raises(ValueError, match="paired"):
        metrics.compare([1.0], [])


def write(path, *lines):
    path.write_text("\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines), "utf-8")
    return path


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
        {"id": "4", "question": "How many hotels are there?", "gold_sparql": "SELECT {"},
    )
    output = tmp_path / "results.jsonl"
    arguments = ["evaluate", "questions", str(file), "-w", str(workspace), "--output", str(output)]
    assert main([*arguments, "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["exact"]["value"], found["types"]["count"]["exact"]["value"]) == (pytest.approx(1 / 2), 1)
    assert found["three_way"]["score"] == pytest.approx(1 / 2 - 1 / 4)
    assert found["outcomes"]["all"] == {"count": 4, "right": 2, "refused": 1, "wrong": 1, "wrong_at_high": 1}
    high = found["levels"]["high"]
    assert high["n"] - high["right"] == 1
    assert found["levels"]["low"] == {"n": 0, "right": 0}
    results = [json.loads(line) for line in output.read_text("utf-8").splitlines()]
    assert [item["outcome"] for item in results] == ["correct", "missing", "correct", "wrong"]
    assert "gold query" in found["problems"][0]
    assert not list(tmp_path.glob("*.part"))
    assert main(arguments) == 0
    shown = capsys.readouterr().out
    assert re.search(r"language +n +right +refused +wrong +wrong at high[\s─]+all +4 +2 +1 +1 +1\s+en +4", shown)
    share = f"{high['right'] / high['n']:.2f}".replace(".", r"\.")
    assert re.search(rf"confidence +answers +mean +right[\s─]+high +{high['n']} +{share}", shown)


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


@pytest.mark.parametrize("study", ["questions", pytest.param("extraction", marks=pytest.mark.slow)])
def test_a_gold_file_is_written_like_a_study_and_goes_on_from_what_was_kept(
    study, workspace, tmp_path, capsys, monkeypatch
):
    file, out = write(tmp_path / "gold.jsonl", *GOLD[study][:1]), tmp_path / "out"
    assert main(["evaluate", study, str(file), "-w", str(workspace), "--fresh", "--no-keep", "--format", "json"]) == 0
    assert "from an earlier run" not in capsys.readouterr().err
    done = []
    monkeypatch.setattr("kgplatform.evaluation.gold.ask_all", lambda q, **k: done.extend(q) or ask_all(q, **k))
    monkeypatch.setattr(
        "kgplatform.evaluation.triples.read_all", lambda g, *a: (done.append(item) or one(item, *a) for item in g)
    )
    assert main(["evaluate", study, str(write(file, *GOLD[study])), "-w", str(workspace), "--output", str(out)]) == 0
    assert [item.id for item in done] == ["2"]
    shown = capsys.readouterr()
    assert "1 answers from an earlier" in shown.err or "1 texts from an earlier" in shown.err
    assert PUBLISHED[study] in shown.out
    assert "of other" in shown.out.partition("Differences from the study")[2]
    report_ = json.loads((out / "report.json").read_text("utf-8"))
    assert any(row["published"] for table in report_["tables"] for row in table["rows"])
    assert report_["differs"]
    assert "this run" in (out / "report.md").read_text("utf-8")
    assert "<svg" in (out / "report.html").read_text("utf-8")
    tables = {path.name: path.read_text("utf-8") for path in out.glob("report-*.csv")}
    assert len(tables) > 1
    assert "published" in "".join(tables.values())
    assert len((out / "results.jsonl").read_text("utf-8").splitlines()) == 2
    if study == "questions":
        assert report_["outcomes"].keys() == {"all", "en", "zh"}
        assert "all,measured,2,2,0,0,0" in tables["report-outcomes.csv"]
    run = runs.runs(workspace)[0]
    assert run.study == study
    assert {"report.md", "report.html", *tables} <= {path.name for path in run.folder.iterdir()}
    assert main(["evaluate", "--compare", run.name, str(out), "-w", str(workspace), "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["measures"]["f1"]["difference"] == 0


def one(item, *parts):
    """What is read in one text."""
    (found,) = read_all([item], *parts)
    return found


QUESTION = {"id": "q1", "question": "哪些酒店在乌镇？", "answers": ["Canal House"]}
TEXT = {"id": "t1", "text": "Alder Bridge spans the Wye.", "triples": [["Alder Bridge", "spans", "Wye"]]}
PASSAGES = {"id": "p1", "question": "When does it open?", "documents": ["wuzhen.md"], "quotes": ["at nine"]}
AIRPORT = {
    "id": "a1",
    "question": "Which gate does KL1001 use?",
    "lang": "en",
    "type": "straightforward",
    "kind": "gate",
}
AIRPORT |= {"now": "2025-03-10T12:00:00", "answers": ["C5"], "alt_answers": [], "options": []}
TEMPLATE = {"template": "Which gate does {flight} use?", "answer": "gate"}
# What reads a file, a line that it reads, and what makes others of it that cannot be read; None takes a part away.
READERS = {
    "questions": (
        lambda path: (read_gold(path).questions, read_gold(path).problems),
        QUESTION,
        [
            *({"question": 5}, {"question": None}, {"answers": "Canal House"}, {"answers": 3}, {"answers": None}),
            *(
                {"alt_answers": ["Canal House"]},
                {"answers": None, "gold_sparql": ["SELECT"]},
                {"id": None},
                {"id": ["q"]},
            ),
            *({"lang": 7}, {"type": ["list"]}, {"answer_mode": "any"}),
        ],
    ),
    "texts": (
        read_texts,
        TEXT,
        [
            *({"text": ""}, {"text": None}, {"triples": []}, {"triples": "Alder Bridge spans the Wye"}, {"type": 5}),
            *({"triples": [["Alder Bridge", "spans"]]}, {"triples": [["a", "b", {"name": "Wye"}]]}, {"id": ["t"]}),
        ],
    ),
    "passages": (
        read_gold_passages,
        PASSAGES,
        [
            *({"documents": "wuzhen.md"}, {"quotes": [7]}, {"question": " "}, {"documents": None, "quotes": None}),
            {"id": {"p": 6}},
        ],
    ),
    "airport": (
        making.read,
        AIRPORT,
        [{"answers": "C5"}, {"alt_answers": ["C5"]}, {"question": None}, {"id": ""}, {"kind": None}],
    ),
}


def readings(name):
    read, good, changes = READERS[name]
    lines = [good | {"id": f"bad {n}"} | change for n, change in enumerate(changes)]
    return read, good, [{key: value for key, value in line.items() if value is not None} for line in lines]


BROKEN = ["{broken", "[" * 3000, "null", "7", "[]"]


@pytest.mark.parametrize("name", READERS)
def test_bad_lines_are_told_with_their_numbers_and_good_ones_kept(name, tmp_path):
    read, good, bad = readings(name)
    again = good | {"id": "last"}
    found, problems = read(write(tmp_path / "gold.jsonl", good, *bad, *BROKEN, good, again))
    assert len(found) == 2
    wrong = len(bad) + len(BROKEN) + 1
    assert [problem.split(":")[0] for problem in problems] == [f"line {number}" for number in range(2, wrong + 2)]
    assert f"the id {good['id']!r} occurs twice" in problems[-1]
    assert all("\n" not in problem and len(problem) < 200 for problem in problems)


@pytest.mark.parametrize("name", READERS)
def test_a_file_with_nothing_usable_is_refused_in_one_line(name, tmp_path):
    read, _, bad = readings(name)
    for lines in ([], BROKEN, bad):
        with pytest.raises(ReadError) as caught:
            read(write(tmp_path / "gold.jsonl", *lines))
        assert "\n" not in str(caught.value)
    with pytest.raises(ReadError, match="cannot be read"):
        read(tmp_path / "none.jsonl")


def test_results_that_are_no_numbers_are_told_and_not_averaged(tmp_path):
    good = {"id": "q1", "exact": 1}
    bad = [{"id": "q2", "exact": "1"}, '{"id": "q3", "exact": NaN}', {"id": 4, "exact": 1}, {"exact": 1}]
    found, problems = read_run(write(tmp_path / "run.jsonl", good, *bad, *BROKEN, good))
    assert {name: result.numbers for name, result in found.items()} == {"q1": {"exact": 1.0}}
    assert len(problems) == len(bad) + len(BROKEN) + 1


def test_templates_are_told_apart_as_well(tmp_path):
    lines = [TEMPLATE, {"template": "Which gate?"}, {"answer": "gate"}, TEMPLATE | {"template": 4}, *BROKEN]
    found, problems = read_templates(write(tmp_path / "templates.jsonl", *lines))
    assert len(found) == 1
    assert len(problems) == len(lines) - 1


def test_runs_are_listed_latest_first_and_broken_ones_left_out(tmp_path):
    def facts(date):
        return runs.RunFacts(
            "questions", "built-in", "", 2, 1.0, headline=runs.Headline("exact", 0.5, 0.0, 1.0, 2), date=date
        )

    lines = [{"id": "1", "exact": 1.0}, {"id": "2", "exact": 0.0}]
    first = runs.kept(tmp_path, report={"exact": 0.5}, results=lines, facts=facts("2026-11-20T10:00:00Z"))
    same = runs.kept(tmp_path, report={}, results=lines, facts=facts("2026-11-20T10:00:00Z"))
    later = runs.kept(tmp_path, report={}, results=lines, facts=facts("2026-11-21T10:00:00Z"))
    (tmp_path / "evaluation" / "half").mkdir()
    (tmp_path / "evaluation" / ".results").mkdir()
    broken = tmp_path / "evaluation" / "broken"
    broken.mkdir()
    (broken / "meta.json").write_text('{"study": 7}')
    assert [run.name for run in runs.runs(tmp_path)] == [later.name, same.name, first.name]
    assert first.report() == {"exact": 0.5}
    assert first.results() == lines
    assert runs.find_run(tmp_path, first.name).headline == runs.Headline("exact", 0.5, 0.0, 1.0, 2)
    with pytest.raises(NotFoundError, match="did you mean"):
        runs.find_run(tmp_path, first.name[:-2])
    assert runs.runs(tmp_path / "nowhere") == []


REPORT = runs.StudyReport(
    study="travel",
    title="A <study>",
    source="a paper",
    date="2026-11-20T10:00:00Z",
    method="built-in",
    judge="",
    questions=2,
    seconds=1.0,
    tables=(
        runs.ReportTable(
            "one",
            "First | table",
            ("recall", "tokens"),
            (
                runs.ReportLine("paper", (0.5, None), published=True),
                runs.ReportLine("ours & <co>", (metrics.estimate([1.0, 0.0]), 1200)),
            ),
        ),
    ),
    differs=("The data differ.",),
    problems=("q1: <b>bad</b>",),
)


def test_a_report_is_the_same_as_json_csv_markdown_and_page():
    rows = runs.as_json(REPORT)["tables"][0]["rows"]
    assert rows[0]["values"] == [0.5, None]
    assert rows[1]["values"] == [{"value": 0.5, "low": 0.0, "high": 1.0, "n": 2}, 1200]
    read = list(csv.DictReader(io.StringIO(runs.as_csv(REPORT.tables[0]))))
    assert [(row["source"], row["recall"], row["recall n"]) for row in read] == [
        ("published", "0.5", ""),
        ("measured", "0.500000", "2"),
    ]
    text = runs.as_markdown(REPORT)
    assert all(part in text for part in ("| ours & <co> | .500 [0.000, 1.000] | 1,200 |", "- The data differ."))
    page = runs.as_page(REPORT)
    assert "ours &amp; &lt;co&gt;" in page
    assert "<b>bad" not in page
    assert "<svg" in page
    assert "http-equiv" not in page
    assert 'src="http' not in page
    assert "@import" not in page


def test_two_runs_are_compared_question_by_question(tmp_path, capsys):
    for name, right in (("a", (1, 1, 0)), ("b", (1, 0, 0))):
        lines = [{"id": str(n), "question": f"Question {n}?", "exact": value} for n, value in enumerate(right)]
        (tmp_path / f"{name}.jsonl").write_text("\n".join(map(json.dumps, lines)) + '\n{"id": 7}\n')
    words = ["evaluate", "--compare", str(tmp_path / "a.jsonl"), str(tmp_path / "b.jsonl")]
    assert main(words) == 0
    found = capsys.readouterr()
    assert "1 questions got worse\n  1  Question 1?" in found.out
    assert "McNemar's exact p of exact: 1.000" in found.out
    assert "left out" in found.err
    assert main([*words, "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["worse"][0]["id"] == "1"
    assert main(["evaluate", "--compare", str(tmp_path / "a.jsonl"), "nothing", "-w", str(tmp_path)]) != 0
    assert "no run is named 'nothing'" in capsys.readouterr().err


def test_runs_of_gold_questions_are_kept_unless_told_not_to(workspace, tmp_path, capsys):
    lines = [
        {"id": "1", "question": "How many hotels are there?", "answers": [2]},
        {"id": "3", "question": 5, "answers": [1]},
        {"id": "5", "question": "How many hotels are there?", "answers": [9]},
    ]
    gold = write(tmp_path / "gold.jsonl", *lines)
    words = ["evaluate", "questions", str(gold), "-w", str(workspace), "--using", "builtin", "--format", "json"]
    before = len(runs.runs(workspace))
    assert main(words) == 0
    printed = capsys.readouterr()
    assert (len(json.loads(printed.out)["problems"]), printed.err.count("left out")) == (1, 1)
    assert main([*words, "--no-keep"]) == 0
    run, *others = runs.runs(workspace)
    assert len(others) == before
    assert run.headline == runs.Headline("exact", 0.5, 0.0, 1.0, 2)
    assert (run.options["using"], run.report()) == ("builtin", json.loads(printed.out))
    assert [item["outcome"] for item in run.results()] == ["correct", "wrong"]
