"""Reports on gold questions and gold texts: this run beside published numbers, and what differs.

The published numbers are those of other data, for a gold file is its owner's own: they say what systems reach on sets
of the kind. TEXT2SPARQL 2025: the challenge's results (set-F1 over its 50 questions on one company's products).
Airport study: its 1,350 straightforward questions. Text2KGBench: arXiv:2308.02357, which counts only triples whose
property the gold triples of the text have, and averages over texts. OSKGC: CEUR-WS volume 4041, all triples together.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

from kgplatform import __version__, resources
from kgplatform.errors import StoreError
from kgplatform.evaluation.gold import QuestionReport
from kgplatform.evaluation.metrics import Estimate
from kgplatform.evaluation.runs import ReportLine, ReportTable, StudyReport, Value, moment
from kgplatform.evaluation.triples import ExtractionReport, ModeScore
from kgplatform.graph import KnowledgeGraph
from kgplatform.workspace.review import FILE as LEARNT


class KeptLines:
    """Records by key in a file of JSON Lines, each written as soon as it is there; None: kept in memory only.

    The end of a file that a crash left half written is passed over; ``fresh`` forgets what there was.

    Raises:
        StoreError: the file cannot be written.
    """

    def __init__(self, path: Path | None = None, *, fresh: bool = False) -> None:
        self._path = path
        self._known: dict[str, Mapping[str, Any]] = {}
        if path is None:
            return
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            if fresh:
                path.unlink(missing_ok=True)
            text = path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""
            if text and not text.endswith("\n"):
                with path.open("a", encoding="utf-8") as file:
                    file.write("\n")
        except OSError as error:
            raise StoreError(f"{path}: {error.strerror or error}") from error
        for line in text.split("\n"):
            found = _keyed(line)
            if found:
                self._known[found[0]] = found[1]

    def find(self, key: str) -> Mapping[str, Any] | None:
        """The record with that key; None if there is none yet."""
        return self._known.get(key)

    def keep(self, key: str, record: Mapping[str, Any], *, lasting: bool = True) -> None:
        """Keeps a record; one that is not ``lasting`` only for now, so that it is made again the next time."""
        self._known[key] = record
        if self._path is None or not lasting:
            return
        try:
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"key": key, **record}, ensure_ascii=False) + "\n")
        except OSError as error:
            raise StoreError(f"{self._path}: {error.strerror or error}") from error


def _keyed(line: str) -> tuple[str, dict[str, Any]] | None:
    try:
        item = json.loads(line)
        key = item.pop("key")
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None
    return (key, item) if isinstance(key, str) else None


def key_of(*parts: object) -> str:
    """The key of what is kept of these parts: another for other parts, or another state of the platform's code."""
    return hashlib.sha256(json.dumps([*parts, code_state()], ensure_ascii=False, default=str).encode()).hexdigest()


@cache
def code_state(package: Path = Path(resources.__file__).parent) -> str:
    """A hash of a package's code, the prompts and ontologies: what an edited platform did before counts no more."""
    shipped = [resources.folder("ontology"), resources.folder("sparql"), resources.folder("templates") / "prompts"]
    whole = hashlib.sha256(__version__.encode())
    for place in (package, *shipped):
        for file in sorted(place.rglob("*.py" if place == package else "*")):
            if file.is_file():
                whole.update(file.relative_to(place).as_posix().encode() + b"\0" + file.read_bytes())
    return whole.hexdigest()


def state_of(kg: KnowledgeGraph) -> str:
    """A hash of what a workspace knows: another when a document comes, goes or is read anew, or statements change.

    Settings count too, and what the reader was taught.
    """
    whole = hashlib.sha256(str(len(kg.store)).encode())
    for item in kg.registry.summaries():
        whole.update(f"{item.iri} {item.updated} {item.statements}\n".encode("utf-8", "surrogatepass"))
    settings: Mapping[str, object] = {
        "embedding": kg.settings.embedding.name,
        "retrieval": repr(kg.settings.retrieval),
        "questions": repr(kg.settings.questions),
        "extraction": repr(kg.settings.extraction),
    }
    whole.update(json.dumps(settings, sort_keys=True).encode())
    for name in dict.fromkeys((LEARNT, kg.settings.extraction.examples)):
        file = kg.folder / name
        if name and file.is_file():
            whole.update(hashlib.sha256(file.read_bytes()).digest())
    return whole.hexdigest()


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
    answers = ReportTable(
        "answers",
        "Right answers",
        ("exact (EX)", "set-F1"),
        (*_published(_ASKED), ReportLine(OURS, (found.exact, found.f1))),
    )
    score = ReportTable(
        "score",
        "Right, missing, wrong",
        ("right", "missing", "wrong", "score", "same query (EM)", "calibration error"),
        (
            ReportLine(
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
    outcomes = ReportTable(
        "outcomes",
        "By language",
        ("questions", "right", "refused", "wrong", "wrong at high confidence"),
        tuple(
            ReportLine(name, (item.count, item.right, item.refused, item.wrong, item.wrong_at_high))
            for name, item in found.outcomes.items()
        ),
        chart=False,
    )
    kinds = ReportTable(
        "types",
        "By type of question",
        ("questions", "exact (EX)", "set-F1"),
        tuple(ReportLine(item.kind, (item.exact.count, item.exact, item.f1)) for item in found.by_type),
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
        tables=(answers, score, outcomes, kinds, _reliability(found), _question_costs(found)),
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


def _reliability(found: QuestionReport) -> ReportTable:
    levels = [
        ReportLine(level, (count, None, right / count if count else None))
        for level, (count, right) in found.levels.items()
    ]
    bins = [
        ReportLine(f"{bin_.low:.1f} to {bin_.high:.1f}", (bin_.count, bin_.confidence, bin_.accuracy))
        for bin_ in found.calibration.bins
    ]
    columns = ("answers", "mean confidence", "right")
    return ReportTable("calibration", "How sure, and how often right", columns, (*levels, *bins), chart=False)


def _question_costs(found: QuestionReport) -> ReportTable:
    count, usage = max(found.exact.count, 1), found.usage
    values = (
        usage.calls / count,
        round(usage.prompt_tokens / count),
        round(usage.completion_tokens / count),
        *found.seconds,
    )
    columns = ("calls", "prompt tokens", "reply tokens", "seconds (median)", "seconds (95th percentile)")
    note = "a question; kept answers with the time they took then"
    return ReportTable("costs", "Cost", columns, (ReportLine(OURS, values),), note=note, chart=False)


def of_texts(
    found: ExtractionReport,
    *,
    method: str,
    seconds: float,
    problems: Sequence[str] = (),
    options: dict[str, object] | None = None,
) -> StudyReport:
    """The run of gold texts as a study, beside what models reached on the sets of two benchmarks."""
    strict = ReportTable(
        "strict",
        "All triples read",
        ("precision", "recall", "F1", "macro F1"),
        (
            *_published(_READ_STRICTLY),
            ReportLine(OURS, _micro(found.strict)),
            *(ReportLine(kind or "other", _micro(mode)) for kind, mode in found.by_kind),
        ),
        note="over all triples together; macro: the mean of the texts",
    )
    macro = found.text2kgbench
    relevant = ReportTable(
        "text2kgbench",
        "Triples whose property the text's gold has",
        ("precision", "recall", "F1"),
        (*_published(_READ), ReportLine(OURS, (macro.macro_precision, macro.macro_recall, macro.macro_f1))),
        note="as Text2KGBench counts: means over the texts",
    )
    lost = (found.subjects_not_in_text, found.objects_not_in_text)
    sound = ReportTable(
        "soundness",
        "Properties of the ontology, and names that the text does not have",
        ("conformance", "subjects not in the text", "objects not in the text"),
        (*_published(_SOUND), ReportLine(OURS, (found.conformance, *lost))),
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


def _published(rows: Sequence[tuple[Value, ...]]) -> tuple[ReportLine, ...]:
    return tuple(ReportLine(str(name), tuple(values), published=True) for name, *values in rows)


def _micro(mode: ModeScore) -> tuple[Estimate, ...]:
    return mode.precision, mode.recall, mode.f1, mode.macro_f1
