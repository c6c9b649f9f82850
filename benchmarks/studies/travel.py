"""The travel study: a traditional retriever against the travel framework, four metrics, four types of question."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Final

from benchmarks.studies.judging import Remembering
from benchmarks.studies.outcomes import StudyOutcome, mean, means, paired
from benchmarks.studies.setting import (
    KINDS,
    Asks,
    Extracts,
    Framework,
    Passages,
    Setting,
    System,
    Writer,
    Writes,
    document_items,
    greedy,
    measured,
    outcomes,
    problems_of,
)
from kgplatform.evaluation.runs import ReportLine, ReportTable, StudyReport, moment

SOURCE: Final = (
    "the travel study (TravelRAG: 100 articles of 80,983 words, 2,081 entities, 1,187 triples; judged by a model)"
)
FRAMEWORK: Final = "travel framework"
METRICS: Final = ("faithfulness", "relevancy", "context_precision", "context_recall")
_SHOWN: Final = ("faithfulness", "answer relevancy", "context precision", "context recall")
_PUBLISHED: Final = (
    ("Qwen2-72B alone", (0.55, 0.59, 0.70, 0.79)),
    ("GPT-4 alone", (0.65, 0.67, 0.80, 0.87)),
    ("TravelRAG (GPT-4)", (0.76, 0.87, 0.85, 0.60)),
)
_PUBLISHED_MODELS: Final = (
    ("TravelRAG, Qwen2-7B", (0.32, 0.21, 0.32, 0.15)),
    ("TravelRAG, Qwen2-57B", (0.57, 0.43, 0.63, 0.38)),
    ("TravelRAG, Qwen2-72B", (0.69, 0.78, 0.75, 0.71)),
    ("TravelRAG, GPT-4", (0.76, 0.87, 0.85, 0.60)),
)
_PUBLISHED_KINDS: Final = (
    ("Qwen2-72B", (0.89, 0.57, 0.65, 0.54)),
    ("GPT-4", (0.88, 0.43, 0.72, 0.78)),
)
_K: Final = 5


def run(setting: Setting) -> tuple[StudyReport, tuple[StudyOutcome, ...]]:
    """The study on the setting's workspace, and what it rests on.

    Raises:
        NotFoundError: no question can be made from the documents.
    """
    started, near = time.perf_counter(), Remembering(setting.kg.embedder)
    items, problems = document_items(setting)
    judge = setting.judge(near)
    if not setting.kg.communities():
        setting.kg.find_communities()
    systems = _systems(setting, near)
    found = tuple(outcomes("travel", setting, items, systems, lambda item, produced: measured(item, produced, judge)))
    names = [system.name for system in systems]
    chief = [name for name in names if not name.startswith(f"{FRAMEWORK}, ")]
    kinds = [kind for kind in KINDS if any(item.kind == kind for item in items)]
    headline = mean(found, "accuracy", FRAMEWORK)
    report = StudyReport(
        study="travel",
        title="Travel study: traditional retrieval against the travel framework",
        source=SOURCE,
        date=moment(),
        method=setting.method,
        judge=judge.name,
        questions=len(items),
        seconds=time.perf_counter() - started,
        tables=(
            _metrics(found, chief),
            _accuracy(found, chief, judged=setting.model is not None),
            _by_kind(found, chief, kinds),
            _by_model(found, names, setting.method),
            costs(found, names),
        ),
        tests=paired(found, ("accuracy", *(("right",) if setting.model else ()), *METRICS), chief, against=FRAMEWORK),
        differs=_differs(setting),
        problems=(*problems, *problems_of(found)),
        options=setting.options(),
        headline=("accuracy of the travel framework", headline) if headline else None,
    )
    return report, found


def _systems(setting: Setting, near: Remembering) -> list[System]:
    kg = setting.kg
    writer: Writer = Writes(setting.model) if setting.model else Extracts(near)
    systems: list[System] = [
        Passages(kg, "lexical", writer, k=_K, name="traditional, BM25"),
        Passages(kg, "dense", writer, k=_K, name="traditional, dense"),
        Framework(FRAMEWORK, greedy(kg, _K), writer),
        Asks(kg, using="auto" if setting.model else "builtin", name="ask (graph query)"),
    ]
    for model in setting.others:
        systems.append(Framework(f"{FRAMEWORK}, {model.name}", greedy(kg, _K), Writes(model)))
    return systems


def _metrics(found: Sequence[StudyOutcome], names: Sequence[str]) -> ReportTable:
    published = tuple(ReportLine(name, values, published=True) for name, values in _PUBLISHED)
    return ReportTable("metrics", "The four metrics", _SHOWN, (*published, *means(found, METRICS, names)))


def _accuracy(found: Sequence[StudyOutcome], names: Sequence[str], *, judged: bool) -> ReportTable:
    note = (
        "accuracy: the answer is at least 0.5 like the gold one (eq. 13), which a short gold value and an answer of "
        "whole sentences rarely are; gold values said: the share of them that stand in the answer, which asks only "
        "that they are there"
    )
    measures, columns = ["accuracy", "held"], ["accuracy", "gold values said"]
    if judged:
        measures.append("right")
        columns.append("right, as judged")
        note += "; right, as judged: they stand there, or the model judges that the answer says the same"
    return ReportTable("accuracy", "Right answers", tuple(columns), means(found, measures, names), note=note)


def _by_kind(found: Sequence[StudyOutcome], names: Sequence[str], kinds: Sequence[str]) -> ReportTable:
    published = tuple(
        ReportLine(name, tuple(values[KINDS.index(kind)] for kind in kinds), published=True)
        for name, values in _PUBLISHED_KINDS
    )
    rows = tuple(ReportLine(name, tuple(mean(found, "accuracy", name, kind=kind) for kind in kinds)) for name in names)
    return ReportTable("types", "Accuracy by type of question", tuple(kinds), (*published, *rows))


def _by_model(found: Sequence[StudyOutcome], names: Sequence[str], method: str) -> ReportTable:
    own = [name for name in names if name.startswith(FRAMEWORK)]
    rows = tuple(
        ReportLine(name if "," in name else f"{name}, {method}", row.values)
        for name, row in zip(own, means(found, METRICS, own), strict=True)
    )
    published = tuple(ReportLine(name, values, published=True) for name, values in _PUBLISHED_MODELS)
    note = "" if len(own) > 1 else "one way of answering is set; `--model NAME` adds models of the same server"
    return ReportTable("models", "The travel framework by model", _SHOWN, (*published, *rows), note=note)


def costs(found: Sequence[StudyOutcome], names: Sequence[str]) -> ReportTable:
    """Context tokens, model calls and seconds of a question, by system."""
    rows = []
    for name in names:
        own = [item for item in found if item.system == name]
        count = len(own) or 1
        values = (
            round(sum(item.tokens for item in own) / count),
            sum(item.calls for item in own) / count,
            sum(item.seconds for item in own) / count,
        )
        rows.append(ReportLine(name, values))
    columns = ("context tokens a question", "model calls a question", "seconds a question")
    note = "seconds on the machine as it was, kept outcomes with the time they took then"
    return ReportTable("costs", "Cost", columns, tuple(rows), note=note, chart=False)


def _differs(setting: Setting) -> tuple[str, ...]:
    made = (
        f"The questions were made by {setting.method} from passages of the documents."
        if setting.model
        else "The questions were made backwards from statements of the graph that passages of the documents hold, so "
        "whatever uses the graph knows all it needs: the comparison with passages alone leans its way."
    )
    answered = (
        f"Answers were written and judged by {setting.method}, the same for every system."
        if setting.model
        else "No model took part: answers from passages are sentences taken from them, the metrics are a built-in "
        "estimate from shared words, names, numbers and embeddings. Extracts are faithful by construction."
    )
    return (
        "The study's notes are Chinese travel posts on another region; these are the workspace's own documents.",
        made,
        answered,
        "The embedding model is "
        f"{setting.kg.embedder.name}; texts in languages it does not know are compared by shared words.",
        "The context of `ask` is the passages behind its rows: its faithfulness asks whether they say what the rows "
        "do, and a name that they have in another language counts against it.",
        "The study gives no number of questions and no intervals.",
    )
