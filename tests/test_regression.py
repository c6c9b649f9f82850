"""The built-in answers to a few questions on a tiny graph, as they were: what changed is listed, better or worse.

After a change that is meant, ``python tests/test_regression.py`` writes the expected values anew.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

from kgplatform.evaluation.gold import ask_all, read_gold
from kgplatform.graph import KnowledgeGraph
from kgplatform.workspace.question_settings import AskOptions

FOLDER = Path(__file__).parent / "regression"
EXPECTED = FOLDER / "expected.json"


def measured(folder):
    """What becomes of every question, by its id."""
    gold = read_gold(FOLDER / "questions.jsonl")
    assert gold.problems == ()
    options = AskOptions(using="builtin", measured=True)
    with KnowledgeGraph.create(folder / "kg", ontology=["travel"]) as kg:
        kg.load(FOLDER / "towns.ttl")
        kg.search = lambda *_a, **_k: []  # there are no documents
        asked = ask_all(
            gold.questions, ask=lambda text: kg.ask(text, options=options), query=kg.query, label_of=kg.label
        )
        return {
            item.gold.id: {
                "question": item.gold.text,
                "exact": item.score.exact,
                "verdict": item.answer.verdict.value,
                "answers": sorted(item.answer.values),
            }
            for item in asked
        }


def test_the_built_in_answers_are_those_that_are_expected(tmp_path):
    expected, found = json.loads(EXPECTED.read_text("utf-8")), measured(tmp_path)
    changed = [
        f"{name} {'better' if now['exact'] > was['exact'] else 'worse' if now['exact'] < was['exact'] else 'other'}: "
        f"{was['question']} was {was['verdict']} {was['answers']}, is {now['verdict']} {now['answers']}"
        for name, was in expected.items()
        if (now := found.get(name, {"exact": 0.0, "verdict": "gone", "answers": []})) != was
    ]
    assert not changed, "\n".join(["answers changed:", *changed])
    assert found.keys() == expected.keys()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        lines = measured(Path(place))
    EXPECTED.write_text(json.dumps(lines, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    sys.stdout.write(f"{EXPECTED}: {sum(line['exact'] == 1 for line in lines.values())} of {len(lines)} right\n")
