"""Verbs that measure: ``testset``, ``evaluate``, ``benchmark`` and ``conformance``."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, TextIO, TypeVar

from kgplatform.cli import output
from kgplatform.cli.answer_verbs import ask_options
from kgplatform.cli.verb import DONE, SHORT, Given, argument, formats, opened, option, translation, verb
from kgplatform.errors import ConfigError, ReadError, StoreError
from kgplatform.resources import from_checkout

if TYPE_CHECKING:
    from kgplatform.evaluation.gold import Difference, QuestionReport, RunComparison
    from kgplatform.evaluation.metrics import Estimate
    from kgplatform.evaluation.question_maker import MadeQuestion
    from kgplatform.evaluation.retrievers import RetrieverPair, RetrieverReport
    from kgplatform.evaluation.runs import ReportTable, StudyReport
    from kgplatform.evaluation.triples import ExtractionReport, GoldText, ModeScore
    from kgplatform.graph import KnowledgeGraph
    from kgplatform.types import ChatModel, Evidence

_FROM_FILES: Final = ("questions", "extraction")
_STUDIES: Final = ("travel", "airport", "academic", "adaptive", "traversal")
CACHE: Final = ".results"
"""The folder of what is kept of single questions and texts, among the runs of a workspace."""
_MOST_SHOWN = 20
_TOGETHER = 4
"""Passages shown to a model at once."""
_Read = TypeVar("_Read")


@verb("evaluate")
@argument(
    "study",
    "[STUDY]",
    required=False,
    one_of=(*_FROM_FILES, *_STUDIES),
    help=f"What to measure: {', '.join((*_FROM_FILES, *_STUDIES))}.",
)
@argument("file", "[FILE]", required=False, type=Path, help="Gold questions or texts, as JSON Lines.")
@option("--output", type=Path, metavar="PATH", help="Also write results to this file (x.jsonl), or all to a folder.")
@option("--compare", nargs=2, metavar="RUN RUN", help="Compare two runs, or files of results.")
@option("--examples", is_flag=True, help="A study: first build its samples in the workspace.")
@option("--count", type=int, metavar="N", help="A study: how many questions.")
@option("--seed", type=int, default=0, metavar="N", help="A study: draw others (default: 0).")
@option("--language", multiple=True, metavar="CODE", help="A study: language of the questions. Repeatable.")
@option("--model", multiple=True, metavar="NAME", help="travel: also answer by this model. Repeatable.")
@option("--fresh", is_flag=True, help="Forget the results that are kept.")
@option("--no-keep", is_flag=True, help="Do not keep the run in the workspace.")
@translation
@formats("text", "json")
def evaluate(given: Given) -> int:
    """Measure answers or extraction against gold, repeat a study, or compare two runs.

    `questions FILE` asks gold questions, `extraction FILE` reads gold texts. The studies make their own questions,
    and run from a checkout of the source only.
    """  # fmt: skip
    if given.compare:
        if given.study:
            raise ConfigError("--compare takes two runs and no STUDY", setting="compare")
        return _compare(given)
    if given.study is None:
        names = ", ".join((*_FROM_FILES, *_STUDIES))
        raise ConfigError(f"name what to measure ({names}), or compare two runs with --compare", setting="study")
    if given.file is None:
        if given.study in _FROM_FILES:
            raise ConfigError(f"evaluate {given.study} needs a FILE of gold {given.study}", setting="file")
    elif given.study not in (*_FROM_FILES, "airport"):
        raise ConfigError(f"the study {given.study} makes its own questions; leave {given.file} out", setting="file")
    elif given.examples or given.count is not None or given.language or given.model:
        told = "--examples, --count, --language and --model are for a study that makes its own questions"
        raise ConfigError(f"{told}; leave {given.file} or them out", setting="file")
    if given.study == "questions":
        return _questions(given)
    if given.study == "extraction":
        return _extraction(given)
    return int(from_checkout("benchmarks.studies.run").run(given))


def _questions(given: Given) -> int:
    from kgplatform.evaluation import gold
    from kgplatform.evaluation.gold_reports import KeptLines, key_of, of_questions, state_of
    from kgplatform.evaluation.runs import FOLDER

    read = gold.read_gold(given.file)
    for problem in read.problems:
        output.note(f"{given.file}: {problem}; left out")
    started = time.perf_counter()
    with opened(given.workspace) as kg:
        known = KeptLines(kg.folder / FOLDER / CACHE / f"{given.study}.jsonl", fresh=given.fresh)
        state, bar, options, again = state_of(kg), output.Bar(), ask_options(given, measured=True), 0
        lines: list[Mapping[str, object]] = []
        asked: list[gold.ScoredQuestion] = []
        with result_file(lines_file(given.output)) as file:
            for number, question in enumerate(read.questions, 1):
                key = key_of("questions", asdict(question), asdict(options), _method(given, kg), state)
                line = known.find(key)
                scored = _kept(line, gold.ScoredQuestion.read)
                again += scored is not None
                if line is None or scored is None:
                    (item,) = gold.ask_all(
                        [question], ask=lambda text: kg.ask(text, options=options), query=kg.query, label_of=kg.label
                    )
                    line, scored = item.line(), item.scored
                    known.keep(key, line, lasting=not item.problem)
                lines.append(line)
                asked.append(scored)
                _put(file, line)
                bar(number, len(read.questions), question.text)
        bar.end()
        _say_kept(again, "answers")
        found = gold.report(asked, read.problems)
        study = of_questions(
            found, method=_method(given, kg), seconds=time.perf_counter() - started, options=_options(given)
        )
        record = {**_questions_json(found), **_beside(study)}
        finish(given, kg, study, record, lines)
    if given.format == "json":
        output.as_json(record)
    else:
        _print_questions(found)
        _print_published(study, read.problems)
    return DONE


def _extraction(given: Given) -> int:
    from kgplatform.evaluation import triples
    from kgplatform.evaluation.gold_reports import KeptLines, key_of, of_texts, state_of
    from kgplatform.evaluation.runs import FOLDER

    gold, problems = triples.read_texts(given.file)
    for problem in problems:
        output.note(f"{given.file}: {problem}; left out")
    started = time.perf_counter()
    with opened(given.workspace) as kg:
        known = KeptLines(kg.folder / FOLDER / CACHE / f"{given.study}.jsonl", fresh=given.fresh)
        state, method = state_of(kg), _method(given, kg)
        keys = [key_of("extraction", asdict(item), method, state) for item in gold]

        def before(item: GoldText, key: str) -> triples.ReadText | None:
            return _kept(known.find(key), lambda line: triples.ReadText.read(item, line))

        kept = [before(item, key) for item, key in zip(gold, keys, strict=True)]
        new = (item for item, found in zip(gold, kept, strict=True) if found is None)
        reading = triples.read_all(new, kg.workspace.extractor_for(), kg.ontology)
        bar, texts = output.Bar(), []
        with result_file(lines_file(given.output)) as file:
            for number, (key, found) in enumerate(zip(keys, kept, strict=True), 1):
                item = found or next(reading)
                if found is None:
                    known.keep(key, item.line())
                texts.append(item)
                _put(file, item.line())
                bar(number, len(gold), item.gold.id)
        bar.end()
        _say_kept(sum(found is not None for found in kept), "texts")
        numbers = triples.report(texts)
        seconds = time.perf_counter() - started
        study = of_texts(numbers, method=method, seconds=seconds, problems=problems, options=_options(given))
        record = {**_texts_json(numbers, problems), **_beside(study)}
        finish(given, kg, study, record, [item.line() for item in texts])
    if given.format == "json":
        output.as_json(record)
    else:
        _print_texts(numbers)
        _print_published(study, problems)
    return DONE


def _kept(line: Mapping[str, object] | None, read: Callable[[Mapping[str, object]], _Read]) -> _Read | None:
    """A result of an earlier run; None where there is none that can be read."""
    try:
        return read(line) if line is not None else None
    except ValueError:
        return None


def _method(given: Given, kg: KnowledgeGraph) -> str:
    """Who translates or reads."""
    return kg.model.name if kg.model and given.using != "builtin" else "built-in"


def _options(given: Given) -> dict[str, object]:
    chosen = {"file": str(given.file), "using": given.using, "style": given.style, "view": given.view}
    return {**chosen, "drafts": given.drafts}


def _say_kept(again: int, what: str) -> None:
    if again:
        output.note(f"{again} {what} from an earlier run; --fresh starts over")


def lines_file(path: Path | None) -> Path | None:
    """The single file that results are written to, a line each; None where a folder or nothing is wanted."""
    return path if path is not None and path.suffix and not path.is_dir() else None


@contextmanager
def result_file(path: Path | None) -> Iterator[TextIO | None]:
    """The results file, written beside its place and moved there when whole; None where none is wanted."""
    if path is None:
        yield None
        return
    part = path.with_name(path.name + ".part")
    try:
        with part.open("w", encoding="utf-8") as file:
            yield file
        part.replace(path)
    except OSError as error:
        raise ReadError(f"cannot be written: {error.strerror or error}", path=path) from error
    finally:
        part.unlink(missing_ok=True)


def _put(file: TextIO | None, line: Mapping[str, object]) -> None:
    if file:
        file.write(json.dumps(line, ensure_ascii=False) + "\n")


def finish(
    given: Given,
    kg: KnowledgeGraph,
    study: StudyReport,
    record: Mapping[str, object],
    lines: Sequence[Mapping[str, object]],
) -> None:
    """Writes a run to the folder of ``--output``, if that is one, and keeps it in the workspace.

    Raises:
        StoreError: the disk refuses.
    """
    from kgplatform.evaluation import runs

    tables = {f"report-{table.id}.csv": runs.as_csv(table) for table in study.tables}
    files = {"report.md": runs.as_markdown(study), "report.html": runs.as_page(study), **tables}
    if given.output and lines_file(given.output) is None:
        whole = {**files, runs.REPORT: runs.as_text(record), runs.RESULTS: runs.as_lines(lines)}
        try:
            given.output.mkdir(parents=True, exist_ok=True)
            for name, text in whole.items():
                runs.written(given.output / name, text)
        except OSError as error:
            raise StoreError(f"{given.output}: cannot be written: {error.strerror or error}") from error
        output.note(f"written to {given.output}: {', '.join(whole)}")
    if given.no_keep:
        return
    headline = None
    if study.headline:
        name, value = study.headline
        headline = runs.Headline(name, value.value, value.low, value.high, value.count)
    facts = runs.RunFacts(
        study=study.study,
        method=study.method,
        judge=study.judge,
        questions=study.questions,
        seconds=study.seconds,
        options=study.options,
        headline=headline,
        date=study.date,
    )
    run = runs.kept(kg.folder, report=record, results=lines, facts=facts, files=files)
    output.note(f"kept as {run.folder}")


def _estimate(value: Estimate) -> dict[str, float]:
    return {"value": value.value, "low": value.low, "high": value.high, "n": value.count}


def _interval(value: Estimate) -> tuple[str, str]:
    return f"{value.value:.3f}", f"{value.low:.3f}-{value.high:.3f}"


def _questions_json(found: QuestionReport) -> dict[str, object]:
    names = ("low", "high", "n", "confidence", "accuracy")
    return {
        "exact": _estimate(found.exact),
        "f1": _estimate(found.f1),
        "query_match": _estimate(found.query_match) if found.query_match else None,
        "three_way": output.fields(found.three_way, "accuracy", "missing", "hallucination", "score"),
        "outcomes": {name: asdict(item) for name, item in found.outcomes.items()},
        "levels": {level: {"n": n, "right": right} for level, (n, right) in found.levels.items()},
        "calibration": {
            **output.fields(found.calibration, "error", "brier"),
            "bins": [
                dict(zip(names, (b.low, b.high, b.count, b.confidence, b.accuracy), strict=True))
                for b in found.calibration.bins
            ],
        },
        "types": {item.kind: {"exact": _estimate(item.exact), "f1": _estimate(item.f1)} for item in found.by_type},
        **output.fields(found.usage, "calls", "prompt_tokens", "completion_tokens"),
        "seconds": {"median": found.seconds[0], "p95": found.seconds[1]},
        "problems": list(found.problems),
    }


def _print_questions(found: QuestionReport) -> None:
    rows = [("all", found.exact, found.f1), *((item.kind, item.exact, item.f1) for item in found.by_type)]
    output.table(
        ("type", "n", "exact", "95 %", "set-F1", "95 %"),
        [(kind, str(exact.count), *_interval(exact), *_interval(f1)) for kind, exact, f1 in rows],
    )
    output.table(
        ("language", "n", "right", "refused", "wrong", "wrong at high"),
        [(name, *map(str, asdict(item).values())) for name, item in found.outcomes.items()],
    )
    ways = found.three_way
    output.say(
        f"right {ways.accuracy:.3f}, refused {ways.missing:.3f}, wrong {ways.hallucination:.3f}: "
        f"score {ways.score:+.3f}"
    )
    if found.query_match:
        output.say(f"same query as gold: {found.query_match}")
    output.say(f"calibration error {found.calibration.error:.3f}, Brier {found.calibration.brier:.3f}")
    output.table(
        ("confidence", "answers", "mean", "right"),
        [
            *((level, f"{n}", "", f"{right / n:.2f}" if n else "") for level, (n, right) in found.levels.items()),
            *(
                (f"{item.low:.1f}-{item.high:.1f}", f"{item.count}", f"{item.confidence:.2f}", f"{item.accuracy:.2f}")
                for item in found.calibration.bins
            ),
        ],
    )
    usage = found.usage
    output.say(
        f"time per question: median {found.seconds[0]:.3f} s, p95 {found.seconds[1]:.3f} s; "
        f"{usage.calls} model calls, {usage.prompt_tokens:,} + {usage.completion_tokens:,} tokens"
    )


def _texts_json(found: ExtractionReport, problems: Sequence[str]) -> dict[str, object]:
    def mode(score: ModeScore) -> dict[str, object]:
        names = ("precision", "recall", "f1", "macro_precision", "macro_recall", "macro_f1")
        return {name: _estimate(getattr(score, name)) for name in names}

    return {
        "texts": found.texts,
        "strict": mode(found.strict),
        "text2kgbench": mode(found.text2kgbench),
        **output.fields(found, "conformance", "subjects_not_in_text", "objects_not_in_text"),
        "kinds": {kind: mode(score) for kind, score in found.by_kind},
        "problems": list(problems),
    }


def _print_texts(found: ExtractionReport) -> None:
    modes = [("strict", found.strict), ("text2kgbench", found.text2kgbench), *found.by_kind]
    rows = [
        (
            name,
            f"{mode.f1.count}",
            f"{mode.precision.value:.3f}",
            f"{mode.recall.value:.3f}",
            *_interval(mode.f1),
            *_interval(mode.macro_f1),
        )
        for name, mode in modes
    ]
    output.table(("", "texts", "precision", "recall", "F1", "95 %", "macro F1", "95 %"), rows)
    output.say(
        f"of the triples read, {found.conformance:.1%} have a property of the ontology, "
        f"{found.subjects_not_in_text:.1%} a subject and {found.objects_not_in_text:.1%} an object "
        "that the text does not have"
    )


def _beside(study: StudyReport) -> dict[str, object]:
    """What stands beside a run's own numbers in its report: published ones, where they are from, what differs."""
    from kgplatform.evaluation.runs import as_json

    tables = tuple(table for table in study.tables if any(row.published for row in table.rows))
    whole = as_json(replace(study, tables=tables))
    return {name: whole[name] for name in ("title", "source", "differs", "tables")}


def _print_published(report: StudyReport, told: Sequence[str]) -> None:
    """Prints the tables that have published numbers, what differs, and the problems that were not ``told`` yet."""
    for table in report.tables:
        if any(row.published for row in table.rows):
            print_table(table)
    print_differs(report)
    for problem in report.problems:
        if problem not in told:
            output.note(f"problem: {problem}")


def print_table(table: ReportTable) -> None:
    """Prints a table of a study, published numbers marked as such."""
    from kgplatform.evaluation.runs import shown

    output.say(f"\n{table.title}")
    rows = [
        (f"{row.system} (published)" if row.published else row.system, *map(shown, row.values)) for row in table.rows
    ]
    output.table(("", *table.columns), rows)
    if table.note:
        output.say(table.note)


def print_differs(report: StudyReport) -> None:
    """Prints in what a study differs from the published one."""
    output.say("\nDifferences from the study")
    for sentence in report.differs:
        output.say(f"- {sentence}")


def _compare(given: Given) -> int:
    """Compares two runs, each a file of results, the folder of a run, or a kept run by name.

    1 where they have no question in common.
    """
    from kgplatform.evaluation.gold import compare_runs, read_run
    from kgplatform.evaluation.runs import results_file

    first, second = (results_file(given.workspace, name) for name in given.compare)
    (before, troubles), (after, others) = read_run(first), read_run(second)
    for path, problems in ((first, troubles), (second, others)):
        for problem in problems:
            output.note(f"{path}: {problem}; left out")
    found = compare_runs(before, after)
    if given.format == "json":
        output.as_json(_comparison_json(found))
    else:
        _print_comparison(found)
    return DONE if found.measures else SHORT


def _comparison_json(found: RunComparison) -> dict[str, object]:
    return {
        "measures": {item.measure: _difference(item) for item in found.measures},
        "p_mcnemar": found.p_flips,
        "worse": [{"id": item.id, "question": item.text, **item.numbers} for item in found.worse],
        "better": [{"id": item.id, "question": item.text, **item.numbers} for item in found.better],
        **output.fields(found, "only_first", "only_second", "problems"),
    }


def _difference(item: Difference) -> dict[str, object]:
    numbers = output.fields(item.comparison, "difference", "low", "high", "p", "count")
    return {**output.fields(item, "first", "second"), **numbers, "n": numbers.pop("count")}


def _print_comparison(found: RunComparison) -> None:
    rows = [
        (
            item.measure,
            f"{item.first:.3f}",
            f"{item.second:.3f}",
            f"{item.comparison.difference:+.3f}",
            f"{item.comparison.low:+.3f} {item.comparison.high:+.3f}",
            f"{item.comparison.p:.3f}",
            str(item.comparison.count),
        )
        for item in found.measures
    ]
    output.table(("measure", "first", "second", "difference", "95 %", "p", "n"), rows)
    if found.p_flips is not None:
        output.say(f"McNemar's exact p of {found.measures[0].measure}: {found.p_flips:.3f}")
    for name, items in (("worse", found.worse), ("better", found.better)):
        output.say(f"{len(items)} questions got {name}")
        for item in items[:_MOST_SHOWN]:
            output.say(f"  {item.id}  {output.cut(item.text, 90)}")
        if len(items) > _MOST_SHOWN:
            output.say(f"  and {len(items) - _MOST_SHOWN} more; --format json lists all")
    for name, ids in (("first", found.only_first), ("second", found.only_second)):
        if ids:
            output.say(f"{len(ids)} only in the {name} run: {', '.join(ids[:5])}{' …' if len(ids) > 5 else ''}")
    for problem in found.problems:
        output.note(problem)


@verb("benchmark")
@argument("what", "retrieval", one_of=("retrieval",))
@argument("file", "FILE", type=Path, help="Questions with gold passages, as JSON Lines.")
@option("--retriever", multiple=True, metavar="NAME", help="Only this one (default: all). Repeatable.")
@option("-k", type=int, default=10, metavar="N", help="How many passages each (default: 10).")
@option("--per-document", type=int, metavar="N", help="At most N of a document while others have some; 0: any number.")
@option("--pairs", is_flag=True, help="Also compare every retriever with every other.")
@option("--plot", type=Path, metavar="FILE", help="Also draw the comparison (.svg, .png or .pdf).")
@formats("text", "json")
def benchmark(given: Given) -> int:
    """Compare retrievers on questions with gold passages.

    Prints recall, MRR, nDCG, precision, tokens and time, with intervals and paired tests, best recall first.
    """
    from kgplatform.evaluation import retrievers
    from kgplatform.retrieval.methods import RETRIEVERS

    if given.plot:
        retrievers.checked_plot(given.plot)  # before minutes are spent
    questions, problems = retrievers.read_gold_passages(given.file)
    for problem in problems:
        output.note(f"{given.file}: {problem}; left out")
    with opened(given.workspace) as kg:
        bar = output.Bar()
        reports = retrievers.compare_retrievers(
            questions,
            given.retriever or RETRIEVERS,
            lambda text, k, name: kg.search(text, k, retriever=name, per_document=given.per_document),
            k=given.k,
            progress=bar,
        )
        bar.end()
    compared = retrievers.pairs(reports) if given.pairs or given.plot or given.format == "json" else ()
    if given.plot:
        retrievers.plot_comparison(reports, compared, given.k, given.plot)
    if given.format == "json":
        output.as_json([_retriever_json(report, compared) for report in reports])
    else:
        print_retrievers(reports, compared if given.pairs else (), given.k)
    return DONE


def print_retrievers(reports: Sequence[RetrieverReport], compared: Sequence[RetrieverPair], k: int) -> None:
    """Prints the reports as a table, and the pairs below."""
    header = ("retriever", f"recall@{k}", "95 %", "p", "all", "MRR", "nDCG", "precision", "context", "tokens")
    output.table((*header, "ms p50", "ms p95"), [_row(report) for report in reports])
    output.say(f"{reports[0].recall.count} questions; p: paired permutation test of the recall against the best")
    if compared:
        output.say()
        rows = [
            (p.first, p.second, f"{-p.comparison.difference:+.3f}", f"{p.comparison.p:.3f}", f"{p.p:.3f}")
            for p in compared
        ]
        output.table(("retriever", "against", "recall", "p", "p (Holm)"), rows)


def _row(report: RetrieverReport) -> tuple[str, ...]:
    means = (report.complete, report.reciprocal_rank, report.ndcg, report.precision, report.context_recall)
    return (
        report.name,
        *_interval(report.recall),
        f"{report.against_best.p:.3f}" if report.against_best else "best",
        *(f"{mean.value:.3f}" for mean in means),
        f"{report.tokens:.0f}",
        *(f"{1000 * seconds:.1f}" for seconds in report.seconds),
    )


def _retriever_json(report: RetrieverReport, compared: Sequence[RetrieverPair]) -> dict[str, object]:
    return {
        "retriever": report.name,
        "recall": _estimate(report.recall),
        "all": _estimate(report.complete),
        "mrr": _estimate(report.reciprocal_rank),
        "ndcg": _estimate(report.ndcg),
        "context_precision": _estimate(report.precision),
        "context_recall": _estimate(report.context_recall),
        "tokens": report.tokens,
        "seconds": {"median": report.seconds[0], "p95": report.seconds[1]},
        "p_against_best": report.against_best.p if report.against_best else None,
        "against": {
            pair.second: {"recall": -pair.comparison.difference, "p": pair.comparison.p, "p_holm": pair.p}
            for pair in compared
            if pair.first == report.name
        },
    }


@verb("testset")
@argument("of", "graph|documents|table|users|airport", one_of=("graph", "documents", "table", "users", "airport"))
@argument("out", "FILE", type=Path, help="Where to write the questions, as JSON Lines.")
@option("--count", type=int, default=100, metavar="N", help="At most so many (default: 100).")
@option("--seed", type=int, default=0, metavar="N", help="Draw others (default: 0).")
@option("--language", multiple=True, metavar="CODE", help="Language of the questions (default: en). Repeatable.")
@option("--test", type=float, metavar="SHARE", help="Divide: so much for development, the rest for testing.")
@option("--table", type=Path, metavar="CSV", help="table: its rows.")
@option("--templates", type=Path, metavar="FILE", help="table: questions with {columns}, as JSON Lines.")
@option("--model", is_flag=True, help="documents: have the model make them.")
@option("--paraphrase", is_flag=True, help="Have the model rephrase them as a person would.")
def testset(given: Given) -> int:
    """Make gold questions, to measure with `evaluate` and `benchmark`.

    From the graph, from documents, from a table by templates, for imagined users, or from the flights of the airport
    study (from a checkout of the source only).
    """
    if given.of == "airport":
        return _from_flights(given)
    if given.of == "table":
        return _written(given, _from_table(given), None)
    with opened(given.workspace) as kg:
        if given.of == "users":
            return _for_users(given, kg)
        made = _from_graph(given, kg, given.count) if given.of == "graph" else _from_documents(given, kg)
        return _written(given, made, kg.model)


def _from_flights(given: Given) -> int:
    """The question sets of the airport study; the same for the same flights and seed."""
    with opened(given.workspace) as kg:
        table = from_checkout("benchmarks.studies.flights").read_flights(kg)
    making = from_checkout("benchmarks.studies.flight_questions")
    questions = making.make(table, seed=given.seed, sizes=making.Sizes())
    making.write(questions, given.out)
    sets = [item.asked.set for item in questions]
    counts = ", ".join(f"{sets.count(name)} {name}" for name in dict.fromkeys(sets))
    output.note(f"{given.out}: {counts}, asked as of {table.snapshot:%Y-%m-%d %H:%M}")
    return DONE


def _from_table(given: Given) -> list[MadeQuestion]:
    from kgplatform.evaluation.question_maker import from_table, read_rows, read_templates

    if not given.table or not given.templates:
        raise ConfigError("a set from a table needs --table FILE.csv and --templates FILE.jsonl", setting="table")
    templates, problems = read_templates(given.templates)
    for problem in problems:
        output.note(f"{given.templates}: {problem}; left out")
    rows = read_rows(given.table)
    return list(from_table(rows, templates, count=given.count, source=str(given.table), seed=given.seed))


def _from_graph(given: Given, kg: KnowledgeGraph, count: int) -> list[MadeQuestion]:
    from kgplatform.evaluation.question_maker import ReverseQuestions

    known = kg.knowledge
    made: list[MadeQuestion] = []
    languages = given.language or ["en"]
    for language in languages:
        reverse = ReverseQuestions(
            known.names.facts,
            known.schema,
            run=lambda query: kg.query(query, max_rows=1000),
            label=kg.label,
            language=language,
            seed=given.seed,
        )
        made += reverse.make(count // len(languages)).kept
    return made


def _from_documents(given: Given, kg: KnowledgeGraph) -> list[MadeQuestion]:
    from kgplatform.evaluation.question_maker import MadePassage, from_passages, with_sources
    from kgplatform.questions.check import supporting

    if not given.model:

        def sources(query: str) -> Sequence[Evidence]:
            found = supporting(query, kg.dataset, run=kg.query, find=kg.evidence_finder.find, why=kg.inference.why)
            return found.passages

        return list(with_sources(_from_graph(given, kg, given.count * 2), sources))[: given.count]
    model = _model(kg)
    made: list[MadeQuestion] = []
    passages = [MadePassage(item.title, item.text) for item in kg.sources.passages()]
    random.Random(given.seed).shuffle(passages)
    for start in range(0, len(passages), _TOGETHER):
        if len(made) >= given.count:
            break
        for language in given.language or ["en"]:
            taken, refused = from_passages(passages[start : start + _TOGETHER], model, language=language)
            made += taken
            for item in refused:
                output.note(f"refused: {item.text[:80]} ({item.reason})")
    return made[: given.count]


def _for_users(given: Given, kg: KnowledgeGraph) -> int:
    from kgplatform.evaluation.question_maker import for_users

    model = _model(kg)
    titles = [record.document.title for record in kg.documents()][:40]
    classes = [kg.label(item.iri) for item in sorted(kg.knowledge.schema.classes.values(), key=lambda c: -c.count)[:20]]
    description = f"Documents: {'; '.join(titles)}\nWhat they are about: {', '.join(classes)}"
    lines = [
        {
            "id": f"u{number}",
            "question": q.text,
            "lang": q.language,
            **output.fields(q, "user", "task", "made_by"),
        }
        for language in given.language or ["en"]
        for number, q in enumerate(for_users(description, model, language=language), 1)
    ]
    _write(given.out, lines)
    output.note(f"{given.out}: {len(lines)} questions")
    return DONE


def _model(kg: KnowledgeGraph) -> ChatModel:
    if kg.model is None:
        raise ConfigError("these questions need a language model, and none is configured", setting="model.name")
    return kg.model


def _written(given: Given, made: Sequence[MadeQuestion], model: ChatModel | None) -> int:
    from kgplatform.evaluation.question_maker import divided, paraphrased, sifted

    if given.paraphrase:
        if model is None:
            raise ConfigError("--paraphrase needs a language model, and none is configured", setting="model.name")
        made, refused = paraphrased(made, model)
        for item in refused:
            output.note(f"not paraphrased: {item.reason}")
    found = sifted(made)
    for reason, number in found.dropped.items():
        output.note(f"dropped {number}: {reason}")
    sets: list[tuple[Path, Sequence[MadeQuestion]]] = [(given.out, found.kept)]
    if given.test is not None:
        dev, test = divided(found.kept, given.test)
        sets = [(given.out.with_suffix(".dev.jsonl"), dev), (given.out.with_suffix(".test.jsonl"), test)]
    for path, side in sets:
        _write(path, (item.line() for item in side))
        output.note(f"{path}: {len(side)} questions")
    return DONE


def _write(path: Path, lines: Iterable[Mapping[str, object]]) -> None:
    with result_file(path) as file:
        for line in lines:
            _put(file, line)


@verb("conformance", here=True, workspace=False)
@argument("folder", "[FOLDER]", type=Path, default=Path("rdf-tests"), help="A checkout of w3c/rdf-tests.")
@option("--suite", multiple=True, metavar="NAME", help="Only this suite. Repeatable.")
@option("-w", "--workspace", type=Path, metavar="DIR", help="Keep the results there, to be seen at /conformance.")
@formats("table", "json", "turtle")
def conformance(given: Given) -> int:
    """Run the W3C conformance tests of SPARQL and its protocols (from a checkout of the source only).

    Exit status 1: a test does not come out as expected.
    """
    suites, report = from_checkout("tests.conformance.suites"), from_checkout("tests.conformance.report")
    results = list(suites.run(given.folder, suites.chosen(given.suite)))
    report.print_results(results, given.format)
    if given.workspace is not None:
        report.keep(results, given.workspace)
    return SHORT if any(result.is_surprise for result in results) else DONE
