"""How often turns that lean on the one before are answered rightly, on the conversations of ``tests/data/dialogues``.

The first turn of a conversation counts for nothing; each later one is right if its answer is that of its gold query.
Every second conversation is frozen. Run as ``python -m benchmarks.dialogues [--split develop] [--show]``.
"""

from __future__ import annotations

import argparse
import sys
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.common import EXAMPLES, ROOT, new_workspace
from benchmarks.question_sets import FOLDER, graph_of
from kgplatform.evaluation.gold import GoldQuestion, ask_all
from kgplatform.evaluation.metrics import AnswerOutcome
from kgplatform.graph import KnowledgeGraph
from kgplatform.questions.answer import QuestionParts
from kgplatform.questions.dialogue.conversation import Talk, talk
from kgplatform.questions.dialogue.replies import Turn
from kgplatform.text import language_of
from kgplatform.types import Answer
from kgplatform.workspace.question_settings import AskOptions, question_parts

CONVERSATIONS = ROOT / "tests" / "data" / "dialogues"
SPLITS = ("develop", "frozen")


@contextmanager
def parts_of(name: str) -> Iterator[QuestionParts]:
    """What the conversations of a file are about: a graph of ``train``, or a sample workspace with its tables."""
    folder = FOLDER / "train" / name
    if folder.is_dir():
        yield graph_of(folder)[1]
        return
    with new_workspace(name) as workspace, KnowledgeGraph.open(workspace) as kg:
        for _ in kg.add(EXAMPLES / name / "hotels.csv"):
            pass
        yield question_parts(kg.workspace, AskOptions(using="builtin"))


def outcomes(path: Path, split: str, *, tell: Callable[[str], object] = lambda _: None) -> Counter[AnswerOutcome]:
    """What becomes of the later turns of a file's conversations."""
    data = tomllib.loads(path.read_text(encoding="utf-8"))
    head = f"PREFIX : <{data['namespace']}>\nPREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>\n"
    found: Counter[AnswerOutcome] = Counter()
    with parts_of(path.stem) as parts:
        for spoken in data["conversations"][SPLITS.index(split) :: 2]:
            turns: list[Turn] = []

            def ask(text: str, turns: list[Turn] = turns) -> Answer:
                said = talk(text, Talk(parts, turns=tuple(turns)))
                turns.append(said.turn)
                return said.answer

            golds = [
                GoldQuestion(text, text, language_of(text), "turn", (), head + gold) for text, gold in spoken["turns"]
            ]
            label = parts.knowledge.names.label
            for place, item in enumerate(ask_all(golds, ask=ask, query=parts.run, label_of=label)):
                found[item.outcome] += place > 0
                tell(f"{item.outcome.value:<9}{item.gold.text} | {item.answer.text[:80]} {item.problem}")
    return found


def main() -> int:
    """Prints a row for each file and the whole; 0."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.dialogues", description=__doc__)
    parser.add_argument("--split", action="append", choices=SPLITS, help="default: both")
    parser.add_argument("--show", action="store_true", help="each turn with its answer")
    given = parser.parse_args()
    for split in given.split or SPLITS:
        whole: Counter[AnswerOutcome] = Counter()
        for path in sorted(CONVERSATIONS.glob("*.toml")):
            found = outcomes(path, split, tell=print if given.show else lambda _: None)
            whole += found
            print(_row(f"{split}/{path.stem}", found), flush=True)
        print(_row(split, whole), flush=True)
    return 0


def _row(name: str, found: Counter[AnswerOutcome]) -> str:
    shares = (f"{found[outcome] / (found.total() or 1):>8.3f} {outcome.value}" for outcome in AnswerOutcome)
    return f"{name:<20}{found.total():>4}" + "".join(shares)


if __name__ == "__main__":
    sys.exit(main())
