"""Runs over gold files as studies: questions asked and texts read, beside published numbers, and what differs.

The published numbers are those of other data, for a gold file is its owner's own: they say what systems reach on sets
of the kind. TEXT2SPARQL 2025: the challenge's results (set-F1 over its 50 questions on one company's products).
Airport study: its 1,350 straightforward questions. Text2KGBench: arXiv:2308.02357, which counts only triples whose
property the gold triples of the text have, and averages over texts. OSKGC: CEUR-WS volume 4041, all triples together.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from kgplatform.evaluation.extraction import ExtractionReport, ModeScore
from kgplatform.evaluation.questions import QuestionReport
from kgplatform.evaluation.statistics import Estimate
from kgplatform.evaluation.studies.report import Row, StudyReport, Table, Value
from kgplatform.evaluation.studies.runs import moment

OURS: Final = "this run"
_ASKED: Final = (
    ("IIS-Q, TEXT2SPARQL 2025", None, 0.444),
    ("INFAI, TEXT2SPARQL 2025", None, 0.436),
    ("IIS-L, TEXT2SPARQL 2025", None, 0.374),
    ("WSE, TEXT2SPARQL 2025", None, 0.320),
    ("MIPT, TEXT2SPARQL 2025", None, 0.218),
    ("graph, airport study", 0.915, None),
    ("BM25 and GPT-4, airport study", 0.848, None),
    ("SQL, airport study", 0.809, None),
)
_READ_STRICTLY: Final = (
    ("GPT-4o, similar examples, OSKGC", 0.694, 0.893, 0.781, 0.766),
    ("GPT-4o, random examples, OSKGC", 0.596, 0.803, 0.684, 0.693),
    ("Qwen2.5, random examples, OSKGC", 0.423, 0.742, 0.539, 0.582),
    ("Mistral, random examples, OSKGC", 0.353, 0.677, 0.464, 0.518),
    ("Llama 3, random examples, OSKGC", 0.274, 0.693, 0.393, 0.481),
)
_READ: Final = (
    ("Vicuna-13B, Wikidata-TekGen", 0.38, 0.35, 0.35),
    ("Vicuna-13B, DBpedia-WebNLG", 0.34, 0.27, 0.30),
    ("Alpaca-LoRA-13B, DBpedia-WebNLG", 0.32, 0.23, 0.25),
)
_SOUND: Final = (
    ("Vicuna-13B, Wikidata-TekGen", 0.84, 0.17, 0.17),
    ("Vicuna-13B, DBpedia-WebNLG", 0.93, 0.12, 0.28),
    ("Alpaca-LoRA-13B, DBpedia-WebNLG", 0.91, 0.16, 0.38),
)


def of_questions(
    found: QuestionReport, *, method: str, seconds: float, options: dict[str, object] | None = None
) -> StudyReport:
    """The run of gold questions as a study; its first table has the published numbers, the others the run alone."""
    ways = found.three_way
    answers = Table(
        "answers",
        "Right answers",
        ("exact (EX)", "set-F1"),
        (*_published(_ASKED), Row(OURS, (found.exact, found.f1))),
    )
    score = Table(
        "score",
        "Right, missing, wrong",
        ("right", "missing", "wrong", "score", "same query (EM)", "calibration error"),
        (
            Row(
                OURS,
                (
                    ways.accuracy,
                    ways.missing,
                    ways.hallucination,
                    ways.score,
                    found.query_match,
                    found.calibration.error,
                ),
            ),
        ),
        note="score: right less wrong, as CRAG counts",
        chart=False,
    )
    kinds = Table(
        "types",
        "By type of question",
        ("questions", "exact (EX)", "set-F1"),
        tuple(Row(item.kind, (item.exact.count, item.exact, item.f1)) for item in found.by_type),
        chart=False,
    )
    sure = Table(
        "calibration",
        "How sure, and how often right",
        ("answers", "mean confidence", "right"),
        tuple(
            Row(f"{bin_.low:.1f} to {bin_.high:.1f}", (bin_.count, bin_.confidence, bin_.accuracy))
            for bin_ in found.calibration.bins
        ),
        chart=False,
    )
    return StudyReport(
        study="questions",
        title="Gold questions",
        source="TEXT2SPARQL 2025 (CK25, set-F1 as its client counts), and the airport study (1,350 questions, EX)",
        date=moment(),
        method=method,
        judge="",
        questions=found.exact.count,
        seconds=seconds,
        tables=(answers, score, kinds, sure, _question_costs(found)),
        differs=(
            "The published numbers are of other questions on other graphs: they say what systems reach on sets of the "
            "kind, not that one of them does better or worse on this one.",
            f"Questions were translated by {method}; the published systems have large language models.",
            "Values compare as people would compare them (letter case, thousands separators, half a percent); the "
            "challenge compares them as the endpoint writes them.",
            "No intervals are published.",
        ),
        problems=found.problems,
        options=options or {},
        headline=("exact", found.exact),
    )


def _question_costs(found: QuestionReport) -> Table:
    count, usage = max(found.exact.count, 1), found.usage
    values = (
        usage.calls / count,
        round(usage.prompt_tokens / count),
        round(usage.completion_tokens / count),
        *found.seconds,
    )
    columns = ("calls", "prompt tokens", "reply tokens", "seconds (median)", "seconds (95th percentile)")
    note = "a question; kept answers with the time they took then"
    return Table("costs", "Cost", columns, (Row(OURS, values),), note=note, chart=False)


def of_texts(
    found: ExtractionReport,
    *,
    method: str,
    seconds: float,
    problems: Sequence[str] = (),
    options: dict[str, object] | None = None,
) -> StudyReport:
    """The run of gold texts as a study, beside what models reached on the sets of two benchmarks."""
    strict = Table(
        "strict",
        "All triples read",
        ("precision", "recall", "F1", "macro F1"),
        (
            *_published(_READ_STRICTLY),
            Row(OURS, _micro(found.strict)),
            *(Row(kind or "other", _micro(mode)) for kind, mode in found.by_kind),
        ),
        note="over all triples together; macro: the mean of the texts",
    )
    relevant = Table(
        "text2kgbench",
        "Triples whose property the text's gold has",
        ("precision", "recall", "F1"),
        (*_published(_READ), Row(OURS, _macro(found.text2kgbench))),
        note="as Text2KGBench counts: means over the texts",
    )
    lost = (found.subjects_not_in_text, found.objects_not_in_text)
    sound = Table(
        "soundness",
        "Properties of the ontology, and names that the text does not have",
        ("conformance", "subjects not in the text", "objects not in the text"),
        (*_published(_SOUND), Row(OURS, (found.conformance, *lost))),
    )
    return StudyReport(
        study="extraction",
        title="Gold texts",
        source="Text2KGBench (arXiv:2308.02357) and OSKGC (CEUR-WS volume 4041)",
        date=moment(),
        method=method,
        judge="",
        questions=found.texts,
        seconds=seconds,
        tables=(strict, relevant, sound),
        differs=(
            "The published numbers are of other sentences under other ontologies: they say what models reach on sets "
            "of the kind, not that one of them does better or worse on this one.",
            f"Texts were read by {method}; the published systems are language models that were shown an example.",
            "Names compare without case, width, marks at their ends, blanks and underscores, numbers by value, "
            "properties by IRI, local name or label.",
            "No intervals are published.",
        ),
        problems=tuple(problems),
        options=options or {},
        headline=("strict F1", found.strict.f1),
    )


def _published(rows: Sequence[tuple[Value, ...]]) -> tuple[Row, ...]:
    return tuple(Row(str(name), tuple(values), published=True) for name, *values in rows)


def _micro(mode: ModeScore) -> tuple[Estimate, ...]:
    return mode.precision, mode.recall, mode.f1, mode.macro_f1


def _macro(mode: ModeScore) -> tuple[Estimate, ...]:
    return mode.macro_precision, mode.macro_recall, mode.macro_f1
