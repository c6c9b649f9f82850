"""The airport study: rows found by nine retrievers, SQL and the graph asked, incomplete questions, reasoning."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from benchmarks.studies.flight_methods import METHODS, STYLES, ask_sql, found_rows, invented, is_right
from benchmarks.studies.flight_questions import CLASSES, Sizes, StudyQuestion, make, read
from benchmarks.studies.flights import NONE, FlightTable, read_flights
from benchmarks.studies.outcomes import Confusion, StudyOutcome, confusion, mean, paired
from benchmarks.studies.setting import Setting, problems_of
from kgplatform.evaluation.gold_reports import state_of
from kgplatform.evaluation.metrics import Estimate, estimate
from kgplatform.evaluation.runs import ReportLine, ReportTable, StudyReport, moment
from kgplatform.sparql.algebra import same_query

SOURCE: Final = (
    "the airport study (Li et al., Evaluating the Performance of RAG Methods for Conversational AI in the Airport "
    "Domain, 2025): answers by GPT-4 over an airport's own flight table"
)
GRAPH: Final = "graph"
_SETS: Final = ("straightforward", "ambiguous", "reasoning")
_WHOLE: Final = Sizes()


def sizes_of(count: int) -> Sizes:
    """How many questions of each set go with so many straightforward ones, in the study's proportions."""
    share = count / _WHOLE.straightforward
    return Sizes(
        straightforward=count,
        ambiguous=max(len(CLASSES), round(_WHOLE.ambiguous * share)),
        reasoning=max(len(CLASSES), round(_WHOLE.reasoning * share)),
    )


def run(setting: Setting) -> tuple[StudyReport, tuple[StudyOutcome, ...]]:
    """The study on the setting's workspace, and what it rests on; ``count`` is that of the straightforward questions.

    With a file, its questions are asked, and no rows are looked for.

    Raises:
        NotFoundError: the workspace has no flights.
        ReadError: the file cannot be read, or holds no questions.
    """
    started = time.perf_counter()
    table = read_flights(setting.kg)
    rows: Sequence[StudyOutcome]
    unread: Sequence[str]
    if setting.file is None:
        questions = make(table, seed=setting.seed, sizes=sizes_of(setting.count))
        rows, unread = found_rows(table, setting)
    else:
        rows, (questions, lost) = (), read(setting.file)
        unread = [f"{setting.file.name}: {problem}; left out" for problem in lost]
    asked = tuple(_asked(questions, setting))
    sql = tuple(_sql(questions, table, setting))
    graph_name = f"{GRAPH}, {setting.method}"
    asked = tuple(replace(item, system=graph_name) for item in asked)
    headline = mean(asked, "exact", graph_name, kind="straightforward")
    tables = (_sql_table(sql, setting), _graph(asked, graph_name), _classes(asked), _reasoning(asked, graph_name))
    report = StudyReport(
        study="airport",
        title="Airport study: traditional retrieval, SQL and the graph",
        source=SOURCE,
        date=moment(),
        method=setting.method,
        judge="",
        questions=len(questions),
        seconds=time.perf_counter() - started,
        tables=(_retrievers(rows), *tables) if rows else tables,
        tests=paired(rows, ("first",), list(dict.fromkeys(item.system for item in rows)), against="lexical"),
        differs=_differs(setting, table),
        problems=(*unread, *problems_of((*rows, *asked, *sql))),
        options={**setting.options(), "sets": {name: _count(questions, name) for name in _SETS}},
        headline=("straightforward questions right", headline) if headline else None,
    )
    return report, (*rows, *asked, *sql)


def _count(questions: Sequence[StudyQuestion], name: str) -> int:
    return sum(question.asked.set == name for question in questions)


def _asked(questions: Sequence[StudyQuestion], setting: Setting) -> Iterator[StudyOutcome]:
    """The platform asked every question as of its moment, kept outcomes first."""
    state = state_of(setting.kg)
    options = replace(setting.asking, using=setting.asking.using if setting.model else "builtin")

    def ask(question: StudyQuestion) -> StudyOutcome:
        kg, asked = setting.kg, question.asked
        answer = kg.ask(asked.text, now=question.now, options=options)
        text = answer.query.text if answer.query else ""
        numbers = {
            "exact": float(is_right(asked, answer)),
            "match": float(same_query(asked.query, text)) if asked.query else None,
            "invented": float(len(invented(answer, kg.label))),
        }
        made = StudyOutcome(question.id, GRAPH, asked.text, asked.set, asked.language, answer.text, numbers=numbers)
        extra = {"kind": asked.kind, "class": asked.label, "given_class": answer.question_class or NONE, "query": text}
        used = answer.usage
        tokens = used.prompt_tokens + used.completion_tokens
        return replace(made, seconds=used.seconds, calls=used.calls, tokens=tokens, extra=extra)

    for number, question in enumerate(questions, 1):
        if setting.progress:
            setting.progress(number, len(questions), question.asked.text)
        key = setting.key("airport", (question.id, question.asked.text, question.now, str(options)), GRAPH, state)
        yield _kept(setting, key, lambda question=question: ask(question))  # type: ignore[misc]


def _kept(setting: Setting, key: str, made: Callable[[], StudyOutcome]) -> StudyOutcome:
    outcome = setting.cache.find(key)
    if outcome is None:
        outcome = made()
        setting.cache.keep(key, outcome)
    return outcome


def _sql(questions: Sequence[StudyQuestion], table: FlightTable, setting: Setting) -> Iterator[StudyOutcome]:
    """A model's SQL in both styles for the straightforward and reasoning questions; nothing without a model."""
    if setting.model is None:
        return
    chosen = [item for item in questions if item.asked.set != "ambiguous"]
    for style in STYLES:
        name = f"SQL, {style.upper()}"
        for item in ask_sql(chosen, table, setting.model, style=style):
            asked = item.question.asked
            numbers = {"exact": float(item.exact), "match": None if item.match is None else float(item.match)}
            yield StudyOutcome(
                item.question.id,
                name,
                asked.text,
                asked.set,
                asked.language,
                "; ".join(", ".join(row) for row in item.rows[:20]),
                numbers=numbers,
                seconds=item.usage.seconds,
                calls=item.usage.calls,
                tokens=item.usage.prompt_tokens + item.usage.completion_tokens,
                problems=(item.problem,) if item.problem else (),
                extra={"sql": item.statement},
            )


def _retrievers(rows: Sequence[StudyOutcome]) -> ReportTable:
    published = ReportLine("BM25", (0.865, 1.0), published=True)
    spoken = ReportLine("BM25 + GPT-4, answers right", (0.8484, None), published=True)
    systems = [name for name in METHODS if any(item.system == name for item in rows)]
    ours = tuple(
        ReportLine(name, tuple(mean(rows, measure, name) for measure in ("first", "among_ten"))) for name in systems
    )
    note = "one question for each row: whether the row came first, and whether it was among the first ten"
    return ReportTable(
        "retrievers", "1. Rows found by traditional retrieval", ("first", "among ten"), (published, spoken, *ours), note
    )


def _sql_table(found: Sequence[StudyOutcome], setting: Setting) -> ReportTable:
    published = ReportLine("SQL RAG, answers right", (0.8085, None, None), published=True)
    systems = tuple(dict.fromkeys(item.system for item in found))
    ours = tuple(
        ReportLine(
            name,
            (
                mean(found, "exact", name, kind="straightforward"),
                mean(found, "match", name, kind="straightforward"),
                mean(found, "exact", name, kind="reasoning"),
            ),
        )
        for name in systems
    )
    note = "" if setting.model else "not measured: SQL is written by a model, and none is set"
    columns = ("right (EX)", "same statement (EM)", "reasoning (EX)")
    return ReportTable("sql", "2. SQL", columns, (published, *ours), note)


def _graph(asked: Sequence[StudyOutcome], name: str) -> ReportTable:
    published = ReportLine("Graph RAG, answers right", (0.9149, None), published=True)
    own = (mean(asked, "exact", name, kind="straightforward"), mean(asked, "match", name, kind="straightforward"))
    return ReportTable(
        "graph",
        "3. The graph, straightforward questions",
        ("right (EX)", "same query (EM)"),
        (published, ReportLine(name, own)),
        note="EM counts the questions for one cell, whose gold query is known; another query may be as right",
    )


def classes_of(asked: Sequence[StudyOutcome]) -> Confusion:
    """The confusion matrix of the six classes over the ambiguous questions."""
    chosen = [item for item in asked if item.kind == "ambiguous"]
    gold, given = ([item.extra.get(key, NONE) for item in chosen] for key in ("class", "given_class"))
    return confusion(gold, given, labels=(*CLASSES, NONE))


def _classes(asked: Sequence[StudyOutcome]) -> ReportTable:
    found = classes_of(asked)
    chosen = [item for item in asked if item.kind == "ambiguous"]
    hits = [float(item.extra.get("class") == item.extra.get("given_class")) for item in chosen]
    right: Estimate | None = estimate(hits) if hits else None
    blanks = (None,) * len(found.labels)
    rows = [ReportLine("study, all", (0.905, *blanks), published=True), ReportLine("all", (right, *blanks))]
    for label, counts in zip(found.labels, found.counts, strict=True):
        if total := sum(counts):
            share = counts[found.labels.index(label)] / total
            rows.append(ReportLine(f"gold class {label}", (share, *counts)))
    columns = ("right", *(f"as {label}" for label in found.labels))
    note = f"macro F1 {found.macro_f1:.3f}; the counts are questions put into each class"
    return ReportTable("classes", "4. Classes of the incomplete questions", columns, tuple(rows), note, chart=False)


def _reasoning(asked: Sequence[StudyOutcome], name: str) -> ReportTable:
    rows = (
        ReportLine("study", (0.688, None), published=True),
        ReportLine(name, (mean(asked, "exact", name, kind="reasoning"), None)),
        ReportLine(f"{name}, ambiguous questions", (mean(asked, "exact", name, kind="ambiguous"), None)),
        ReportLine(
            f"{name}, all sets", (mean(asked, "exact", name), int(sum(i.numbers["invented"] or 0 for i in asked)))
        ),
    )
    note = "right: the gold answer, or a question back where that is right; values that nothing supports, over all sets"
    return ReportTable("reasoning", "5. Reasoning, and values made up", ("right", "values made up"), rows, note)


def _differs(setting: Setting, table: FlightTable) -> tuple[str, ...]:
    by = f"{setting.method} translates" if setting.model else "no model took part, and SQL was not tried"
    if setting.file is not None:
        return (
            f"The questions are those of {setting.file.name}, about {len(table.flights):,} flights of the workspace; "
            "the study's are about an airport's own flights and not public.",
            f"The study's numbers are answers by GPT-4; here {by}.",
        )
    return (
        "The study's flight table is an airport's own and not public; here are "
        f"{len(table.flights):,} flights of the workspace (the example's are generated), with its columns.",
        "The questions were generated with the platform and its wording was developed on sets of other seeds: that the "
        "built-in translator does well on them says little about questions by staff. 30 % are Chinese.",
        f"The study's numbers are answers by GPT-4; here {by}.",
        "Of the study's tables only the totals given beside are known here; the numbering follows its order.",
        "In table 1 a row is a passage of its cells with labels; a question names flight and day as the table does.",
    )
