"""The traversal study: seven walks over the similarity graph in two profiles, plain sentences, and ours."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from benchmarks.studies.judging import Answered, Judge, Remembering, judged
from benchmarks.studies.outcomes import StudyOutcome, mean, means, paired
from benchmarks.studies.setting import (
    Extracts,
    Item,
    Numbers,
    Passages,
    Produced,
    Setting,
    System,
    Writer,
    Writes,
    document_items,
    outcomes,
    problems_of,
)
from benchmarks.studies.travel import costs
from kgplatform.evaluation.retrievers import GoldPassages, score_hits
from kgplatform.evaluation.runs import ReportLine, ReportTable, StudyReport, moment
from kgplatform.retrieval.traversal import WalkRule
from kgplatform.text import has_han

SOURCE: Final = (
    "the traversal article's repository, November 2025: contextual precision and recall judged by a model, each "
    "measure passed at 0.5, one run on 20 and one on 50 questions"
)
MEASURES: Final = ("precision", "recall", "relevancy", "faithfulness", "passes")
_SHOWN: Final = ("precision", "recall", "answer relevancy", "faithfulness", "passes")
_ENOUGH: Final = 0.5
_K: Final = 10
_DRAWN: Final = 3
PLAIN: Final = "sentences"
OURS: Final = ("planning", "tied-sentences")
_PUBLISHED: Final[tuple[tuple[WalkRule, tuple[float, float, int], tuple[float, float, int]], ...]] = (
    (WalkRule("basic"), (0.87, 0.74, 16), (0.93, 0.88, 48)),
    (WalkRule("query"), (0.83, 0.83, 16), (0.91, 0.91, 50)),
    (WalkRule("kg"), (0.73, 0.72, 15), (0.93, 0.87, 49)),
    (WalkRule("triangulation-average"), (0.84, 0.77, 16), (0.92, 0.87, 49)),
    (WalkRule("triangulation-3d"), (0.86, 0.77, 16), (0.93, 0.85, 48)),
    (WalkRule("triangulation-full"), (0.90, 0.78, 17), (0.93, 0.87, 47)),
    (WalkRule("guided"), (0.88, 0.82, 17), (0.91, 0.94, 49)),
)


def run(setting: Setting) -> tuple[StudyReport, tuple[StudyOutcome, ...]]:
    """The study on the setting's workspace, and what it rests on.

    Raises:
        NotFoundError: no question can be made from the documents.
    """
    started, near = time.perf_counter(), Remembering(setting.kg.embedder)
    items, problems = _items(setting, near.languages)
    judge = setting.judge(near)
    writer: Writer = Writes(setting.model) if setting.model else Extracts(near)
    names = [*(rule.value for rule in WalkRule), *(f"{rule.value}-published" for rule in WalkRule), PLAIN, *OURS]
    systems: list[System] = [Passages(setting.kg, name, writer, k=_K) for name in names]
    found = tuple(outcomes("traversal", setting, items, systems, lambda item, made: _measured(item, made, judge)))
    headline = mean(found, "recall", OURS[-1])
    report = StudyReport(
        study="traversal",
        title="Traversal study: seven walks, plain sentences, and ours",
        source=SOURCE,
        date=moment(),
        method=setting.method,
        judge=f"gold quotes (precision, recall); {judge.name} (relevancy, faithfulness)",
        questions=len(items),
        seconds=time.perf_counter() - started,
        tables=(_scores(found, names), costs(found, names)),
        tests=paired(found, ("recall", "passes"), names, against=PLAIN),
        differs=_differs(setting),
        problems=(*problems, *problems_of(found)),
        options={**setting.options(), "k": _K},
        headline=(f"recall of {OURS[-1]}", headline) if headline else None,
    )
    return report, found


def _items(setting: Setting, known: frozenset[str]) -> tuple[list[Item], list[str]]:
    """Questions in languages that the embedding model knows, with the quotes in their own language.

    A walk goes by embeddings alone, so that it cannot find what is in a language that the model lacks.
    """
    languages = tuple(name for name in setting.languages if not known or name in known) or setting.languages
    drawn, problems = document_items(replace(setting, languages=languages, count=setting.count * _DRAWN))
    own = [replace(item, quotes=_in_language(item)) for item in drawn]
    return [item for item in own if item.quotes][: setting.count] or drawn[: setting.count], problems


def _in_language(item: Item) -> tuple[str, ...]:
    return tuple(quote for quote in item.quotes if has_han(quote) == (item.language == "zh"))


def _measured(item: Item, produced: Produced, judge: Judge) -> tuple[Numbers, tuple[str, ...]]:
    """Precision and recall against the gold quotes, the rest as judged; it passes where each is 0.5 or more."""
    gold = GoldPassages(item.id, item.text, (), item.quotes)
    score = score_hits(gold, produced.hits, _K)
    said = judged(Answered(item.id, item.text, produced.answer, produced.context, kind=item.kind), judge)
    numbers: dict[str, float | None] = {
        "precision": score.precision,
        "recall": score.context_recall,
        "relevancy": said.relevancy,
        "faithfulness": said.faithfulness,
    }
    known = [value for value in numbers.values() if value is not None]
    numbers["passes"] = float(all(value >= _ENOUGH for value in known)) if len(known) == len(numbers) else 0.0
    return numbers, said.problems


def _scores(found: Sequence[StudyOutcome], names: Sequence[str]) -> ReportTable:
    published = [
        ReportLine(f"{rule.value}, {count} questions", (precision, recall, None, None, passed / count), published=True)
        for rule, *sets in _PUBLISHED
        for count, (precision, recall, passed) in zip((20, 50), sets, strict=True)
    ]
    note = (
        "precision: mean of precision@k over the places of gold quotes; recall: the share of the gold quotes that the "
        f"{_K} sentences say; passes: the share of questions with each of the four at {_ENOUGH} or more"
    )
    title = "Seven walks (repaired and published rules), plain sentences, and ours"
    return ReportTable("walks", title, _SHOWN, (*published, *means(found, MEASURES, names)), note=note)


def _differs(setting: Setting) -> tuple[str, ...]:
    judged_by = (
        f"Relevancy and faithfulness were judged by {setting.method}, which also led `guided`."
        if setting.model
        else "Relevancy and faithfulness are a built-in estimate; answers are extracts, faithful by construction; "
        "`guided` goes to the nearest window, as no model chooses."
    )
    return (
        "The study asks a model for precision and recall, with questions generated from walks of the same graph that "
        "answers them; here both are counted against the quotes that the gold answers rest on.",
        f"The questions are made {'by the model from passages' if setting.model else 'from statements read in them'}, "
        "not from walks; many ask for one fact, which favours plain sentences.",
        "The study's articles are not in its repository; these are the workspace's own documents, shorter than those.",
        f"The embedding model is {setting.kg.embedder.name}, the study's mxbai-embed-large; questions and quotes are "
        "of languages that it knows.",
        judged_by,
        "Every walk gives at most ten sentences, so that none wins by length; the published rules may end earlier.",
    )
