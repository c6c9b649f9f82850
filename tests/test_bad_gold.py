"""Gold files as people write them: what is wrong with a line is said with its number, and the rest is measured."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from kgplatform.errors import ReadError
from kgplatform.evaluation.airport import making
from kgplatform.evaluation.comparing import read_run
from kgplatform.evaluation.extraction import read_texts
from kgplatform.evaluation.gold import read_gold
from kgplatform.evaluation.making.templates import read_templates
from kgplatform.evaluation.retrieval import read_gold_passages

Read = Callable[[Path], tuple[Sequence[object], Sequence[str]]]

QUESTION = {"id": "q1", "question": "哪些酒店在乌镇？", "answers": ["Canal House"]}
TEXT = {"id": "t1", "text": "Alder Bridge spans the Wye.", "triples": [["Alder Bridge", "spans", "Wye"]]}
PASSAGES = {"id": "p1", "question": "When does it open?", "documents": ["wuzhen.md"], "quotes": ["at nine"]}
AIRPORT = {
    "id": "a1",
    "question": "Which gate does KL1001 use?",
    "lang": "en",
    "type": "straightforward",
    "kind": "gate",
    "now": "2025-03-10T12:00:00",
    "answers": ["C5"],
    "alt_answers": [],
    "options": [],
}
TEMPLATE = {"template": "Which gate does {flight} use?", "answer": "gate"}


def _questions(path: Path) -> tuple[Sequence[object], Sequence[str]]:
    found = read_gold(path)
    return found.questions, found.problems


READERS: dict[str, tuple[Read, dict[str, Any], list[object]]] = {
    "questions": (
        _questions,
        QUESTION,
        [
            QUESTION | {"id": "q2", "question": 5},
            QUESTION | {"id": "q3", "answers": "Canal House"},
            QUESTION | {"id": "q4", "answers": 3},
            QUESTION | {"id": "q5", "alt_answers": ["Canal House"]},
            QUESTION | {"id": "q6", "answers": None, "gold_sparql": ["SELECT"]},
            {"question": "No id?", "answers": ["x"]},
            QUESTION | {"id": None},
            QUESTION | {"id": ["q"]},
            QUESTION | {"id": "q9", "lang": 7},
            QUESTION | {"id": "q10", "type": ["list"]},
            QUESTION | {"id": "q11", "answer_mode": "any"},
            {"id": "q7", "answers": ["x"]},
            {"id": "q8", "question": "No answers?"},
        ],
    ),
    "texts": (
        read_texts,
        TEXT,
        [
            TEXT | {"id": "t2", "text": ""},
            TEXT | {"id": "t3", "triples": []},
            TEXT | {"id": "t4", "triples": "Alder Bridge spans the Wye"},
            TEXT | {"id": "t5", "triples": [["Alder Bridge", "spans"]]},
            TEXT | {"id": "t6", "triples": [["Alder Bridge", "spans", {"name": "Wye"}]]},
            TEXT | {"id": ["t"]},
            TEXT | {"id": "t8", "type": 5},
            {"id": "t7", "triples": [["a", "b", "c"]]},
        ],
    ),
    "passages": (
        read_gold_passages,
        PASSAGES,
        [
            PASSAGES | {"id": "p2", "documents": "wuzhen.md"},
            PASSAGES | {"id": "p3", "quotes": [7]},
            PASSAGES | {"id": "p4", "question": " "},
            {"id": "p5", "question": "Nothing to find?"},
            PASSAGES | {"id": {"p": 6}},
        ],
    ),
    "airport": (
        making.read,
        AIRPORT,
        [
            AIRPORT | {"id": "a2", "answers": "C5"},
            AIRPORT | {"id": "a3", "alt_answers": ["C5"]},
            AIRPORT | {"id": "a4", "question": None},
            AIRPORT | {"id": ""},
            {name: value for name, value in AIRPORT.items() if name != "kind"},
        ],
    ),
}
BROKEN: list[object] = ["{broken", "[" * 3000, "null", "7", "[]"]


def _written(path: Path, lines: Sequence[object]) -> Path:
    path.write_text("\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines), "utf-8")
    return path


@pytest.mark.parametrize("name", READERS)
def test_bad_lines_are_told_with_their_numbers_and_good_ones_kept(name: str, tmp_path: Path) -> None:
    read, good, bad = READERS[name]
    again = good | {"id": "last"}
    found, problems = read(_written(tmp_path / "gold.jsonl", [good, *bad, *BROKEN, good, again]))
    assert len(found) == 2
    wrong = len(bad) + len(BROKEN) + 1
    assert [problem.split(":")[0] for problem in problems] == [f"line {number}" for number in range(2, wrong + 2)]
    assert f"the id {good['id']!r} occurs twice" in problems[-1]
    assert all("\n" not in problem and len(problem) < 200 for problem in problems)


@pytest.mark.parametrize("name", READERS)
def test_a_file_with_nothing_usable_is_refused_in_one_line(name: str, tmp_path: Path) -> None:
    read, _, bad = READERS[name]
    for lines in ([], BROKEN, bad):
        with pytest.raises(ReadError) as caught:
            read(_written(tmp_path / "gold.jsonl", lines))
        assert "\n" not in str(caught.value)
    with pytest.raises(ReadError, match="cannot be read"):
        read(tmp_path / "none.jsonl")


def test_results_that_are_no_numbers_are_told_and_not_averaged(tmp_path: Path) -> None:
    good = {"id": "q1", "exact": 1}
    bad = [{"id": "q2", "exact": "1"}, '{"id": "q3", "exact": NaN}', {"id": 4, "exact": 1}, {"exact": 1}]
    found, problems = read_run(_written(tmp_path / "run.jsonl", [good, *bad, *BROKEN, good]))
    assert {name: result.numbers for name, result in found.items()} == {"q1": {"exact": 1.0}}
    assert len(problems) == len(bad) + len(BROKEN) + 1


def test_templates_are_told_apart_as_well(tmp_path: Path) -> None:
    lines = [TEMPLATE, {"template": "Which gate?"}, {"answer": "gate"}, TEMPLATE | {"template": 4}, *BROKEN]
    found, problems = read_templates(_written(tmp_path / "templates.jsonl", lines))
    assert len(found) == 1
    assert len(problems) == len(lines) - 1
