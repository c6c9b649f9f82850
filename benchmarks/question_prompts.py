"""How long the prompts for questions are, and what replies written from them alone are worth.

The replies of ``tests/data/recordings/questions.jsonl`` (a query each, for some a wording) were written by a careful
reader of the prompts who saw no gold: an upper bound. Run as ``python -m benchmarks.question_prompts [SET …]``, a set
being a folder such as ``choose/hiking`` or ``train/opera``; where no reply is recorded the prompts are only measured.
"""

from __future__ import annotations

import json
import statistics
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from benchmarks.common import ROOT
from benchmarks.question_sets import FOLDER, graph_of
from kgplatform.evaluation.gold import AskedQuestion, ask_all, read_gold
from kgplatform.models.stubs import ScriptedModel
from kgplatform.questions.answer import AnswerSettings, QuestionParts, ask
from kgplatform.questions.model_translator import TranslationOptions
from kgplatform.text import count_tokens
from kgplatform.types import Answer

SETS = ("choose/hiking", "choose/weather", "train/clinic", "train/opera")
RECORDED = ROOT / "tests" / "data" / "recordings" / "questions.jsonl"


def recorded() -> dict[str, dict[str, str]]:
    """The replies by the id of their question."""
    lines = RECORDED.read_text(encoding="utf-8").splitlines()
    return {item["id"]: item for item in map(json.loads, lines)}


def replayed(folder: Path, replies: Mapping[str, Mapping[str, str]]) -> Iterator[tuple[AskedQuestion, list[int]]]:
    """Each question that has a reply, or every fourth of a set without any, scored; and the tokens of its prompts."""
    store, parts = graph_of(folder)
    questions = read_gold(folder / "questions.jsonl").questions
    known = [question for question in questions if question.id in replies] or questions[::4]
    for question in known:
        reply, lengths = replies.get(question.id, {"query": "NONE: not recorded"}), list[int]()
        answered = ask_all(
            [question],
            ask=lambda text, reply=reply, lengths=lengths: _asked(text, parts, reply, lengths),
            query=lambda text: store.query(text, max_rows=5000),
            label_of=parts.knowledge.names.label,
        )
        yield next(iter(answered)), lengths


def _asked(text: str, parts: QuestionParts, reply: Mapping[str, str], lengths: list[int]) -> Answer:
    worded = "wording" in reply
    model = ScriptedModel(f"# sure\n{reply['query']}", *([reply["wording"]] if worded else []))
    options = TranslationOptions(repairs=0, leave_out_same=True)
    answer = ask(
        text, parts=replace(parts, model=model, settings=AnswerSettings(phrased_by_model=worded, translation=options))
    )
    lengths += [sum(count_tokens(message.content) for message in sent) for sent in model.conversations]
    return answer


def main(names: Sequence[str]) -> int:
    """Prints a row for each set; 0."""
    replies = recorded()
    print(f"{'set':<20}{'n':>4}{'tokens':>8}{'most':>7}  outcomes, wordings kept")
    for name in names or SETS:
        found = list(replayed(FOLDER / name, replies))
        lengths = [length[0] for _, length in found]
        asked = [item for item, _ in found if item.gold.id in replies]
        outcomes = dict(Counter(item.outcome.value for item in asked))
        wordings = [(item.answer.text, replies[item.gold.id].get("wording")) for item in asked]
        kept = f"{sum(one == other for one, other in wordings)} of {sum(other is not None for _, other in wordings)}"
        print(f"{name:<20}{len(found):>4}{statistics.fmean(lengths):>8.0f}{max(lengths):>7}  {outcomes or '-'} {kept}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
