"""The adaptive study: answers from passages by chunk size and level of confidence, scored as CRAG does, and `ask`."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from benchmarks.studies.judging import ModelJudge, Remembering
from benchmarks.studies.outcomes import StudyOutcome, paired
from benchmarks.studies.setting import (
    Asks,
    Item,
    Numbers,
    Produced,
    Setting,
    System,
    document_items,
    outcomes,
    problems_of,
    right,
)
from benchmarks.studies.travel import costs
from kgplatform.documents.chunking import fixed_tokens
from kgplatform.documents.records import State
from kgplatform.evaluation.metrics import AnswerOutcome as Verdict
from kgplatform.evaluation.metrics import Estimate, estimate
from kgplatform.evaluation.runs import ReportLine, ReportTable, StudyReport, Value, moment
from kgplatform.graph import KnowledgeGraph
from kgplatform.questions.passages.cited_answer import written
from kgplatform.questions.passages.extractive import LEVELS, answering_model, extracted
from kgplatform.retrieval.fusion import MultiStageRetriever
from kgplatform.retrieval.index import ChunkIndex
from kgplatform.retrieval.sources import Corpus
from kgplatform.text import has_han, language_of
from kgplatform.types import ChatModel, Chunk, Document, Evidence, Hit

SOURCE: Final = (
    "the adaptive web framework (WeKnow-RAG, arXiv:2408.07611): of its token windows 500 scored best, of its levels "
    "`high`; scores as in the CRAG benchmark (arXiv:2406.04744)"
)
_PUBLISHED: Final = (
    ("WeKnow-RAG, questions of CRAG held back", 0.41),
    ("straightforward RAG, the best model, CRAG", 0.44),
    ("the best language model alone, CRAG", 0.34),
)
SIZES: Final = (200, 350, 500, 700, 1000)
STUDY_SIZE: Final = 500
ASK: Final = "ask"
_OVERLAP: Final = 30
_MARK: Final = re.compile(r"\s*\[\d+\]")
_K: Final = 5
_COLUMNS: Final = ("right", "missing", "wrong", "score")


def run(setting: Setting) -> tuple[StudyReport, tuple[StudyOutcome, ...]]:
    """The study on the setting's workspace, and what it rests on.

    Raises:
        NotFoundError: no question can be made from the documents.
    """
    started, near = time.perf_counter(), Remembering(setting.kg.embedder)
    items, problems = document_items(setting)
    windows: list[System] = [_Windows(setting.kg, size, near, setting.model) for size in SIZES]
    asks = Asks(setting.kg, using="auto" if setting.model else "builtin", name=ASK)
    judge = ModelJudge(setting.model, near) if setting.model else None
    found = tuple(
        outcomes("adaptive", setting, items, [*windows, asks], lambda item, made: _measured(item, made, judge))
    )
    scored = [scored_at(item, level) for item in found if not item.problems for level in LEVELS]
    best = f"{STUDY_SIZE} tokens, high"
    names = [*(f"{size} tokens, high" for size in SIZES), *(f"{STUDY_SIZE} tokens, {level}" for level in LEVELS)]
    own = [item for item in scored if item.system == best]
    report = StudyReport(
        study="adaptive",
        title="Adaptive study: chunk size and level of confidence",
        source=SOURCE,
        date=moment(),
        method=setting.method,
        judge=judge.name if judge else "",
        questions=len(items),
        seconds=time.perf_counter() - started,
        tables=(
            _by_size(scored, [system.name for system in windows], setting),
            _by_level(scored, [*(f"{STUDY_SIZE} tokens, {level}" for level in LEVELS), f"{ASK}, low", f"{ASK}, high"]),
            costs(found, [system.name for system in [*windows, asks]]),
        ),
        tests=paired(scored, ("score",), [*dict.fromkeys(names), f"{ASK}, high"], against=best),
        differs=_differs(setting),
        problems=(*problems, *problems_of(found)),
        options={**setting.options(), "sizes": list(SIZES), "k": _K},
        headline=(f"score at {best}", estimate([item.numbers["score"] or 0.0 for item in own])),
    )
    return report, found


class _Windows:
    """Passages of so many tokens, found in stages, and the answer that a model writes from them, or that is there."""

    def __init__(self, kg: KnowledgeGraph, size: int, near: Remembering, model: ChatModel | None) -> None:
        self.name = f"{size} tokens"
        self._kg, self._size, self._near, self._model = kg, size, near, model
        self._documents: dict[str, tuple[Chunk, Document]] = {}
        self._finder: MultiStageRetriever | None = None

    def produce(self, question: str) -> Produced:
        """See `System.produce`; the answer's confidence is kept with it."""
        hits = self._found().retrieve(question, _K)
        passages = [self._evidence(hit) for hit in hits]
        if self._model is not None and passages:
            answer = written(question, passages, model=self._model, language="zh" if has_han(question) else "en")
        else:
            answer = extracted(question, passages, model=answering_model())
        context = tuple(passage.quote for passage in passages)
        return Produced(_MARK.sub("", answer.text), context, tuple(passages), answer.usage, answer.confidence)

    def _found(self) -> MultiStageRetriever:
        if self._finder is None:
            index = ChunkIndex(None, self._near)
            overlap = min(_OVERLAP, self._size // 10)
            for record in self._kg.documents(State.PROCESSED):
                if record.graph is None:
                    for chunk in fixed_tokens(record.document, max_tokens=self._size, overlap=overlap):
                        self._documents[chunk.iri.value] = (chunk, record.document)
            index.sync((chunk, document.title) for chunk, document in self._documents.values())
            self._finder = MultiStageRetriever(Corpus(index))
        return self._finder

    def _evidence(self, hit: Hit) -> Evidence:
        chunk, document = self._documents[hit.iri.value]
        iri, title, source = document.iri, document.title, document.source
        return Evidence(chunk.iri, iri, title, source, chunk.text, chunk.start, chunk.end, hit.score)


def _measured(item: Item, produced: Produced, judge: ModelJudge | None) -> tuple[Numbers, tuple[str, ...]]:
    """Whether the answer is right, and how sure the system was of it; neither where it has none."""
    sure = produced.confidence if produced.answer else None
    if sure is None or sure < 0:
        return {"held": None, "confidence": sure}, ()
    said, problems = right(item, produced, judge)
    return {"held": said, "confidence": sure}, problems


def scored_at(outcome: StudyOutcome, level: str) -> StudyOutcome:
    """An outcome as it counts where answers below the level are withheld: score 1, 0 or -1."""
    verdict = _verdict(outcome, LEVELS[level])
    numbers = {
        "right": float(verdict is Verdict.CORRECT),
        "missing": float(verdict is Verdict.MISSING),
        "wrong": float(verdict is Verdict.WRONG),
    }
    score = {**numbers, "score": numbers["right"] - numbers["wrong"]}
    return replace(outcome, system=f"{outcome.system}, {level}", numbers=score)


def _verdict(outcome: StudyOutcome, least: float) -> Verdict:
    confidence = outcome.numbers.get("confidence")
    if confidence is None or confidence < least:
        return Verdict.MISSING
    return Verdict.CORRECT if outcome.numbers.get("held") == 1.0 else Verdict.WRONG


def _values(scored: Sequence[StudyOutcome], name: str) -> tuple[Value, ...]:
    own = [item for item in scored if item.system == name]
    return tuple(_mean(own, column) for column in _COLUMNS)


def _mean(own: Sequence[StudyOutcome], column: str) -> Estimate | None:
    values = [value for item in own if (value := item.numbers.get(column)) is not None]
    return estimate(values) if values else None


def _by_size(scored: Sequence[StudyOutcome], names: Sequence[str], setting: Setting) -> ReportTable:
    rows = tuple(
        ReportLine(f"{name}, {level}", _values(scored, f"{name}, {level}")) for level in LEVELS for name in names
    )
    said = "every gold value stands in the answer"
    right = f"{said}, or the model judges that it says the same" if setting.model else said
    note = f"a question counts 1 where {right}, 0 without an answer, else -1"
    return ReportTable(
        "sizes", "By chunk size, and by the level that an answer must have", _COLUMNS, rows, note, chart=False
    )


def _by_level(scored: Sequence[StudyOutcome], names: Sequence[str]) -> ReportTable:
    published = tuple(ReportLine(name, (value, None, None, None), published=True) for name, value in _PUBLISHED)
    rows = tuple(ReportLine(name, _values(scored, name)) for name in names)
    note = (
        "low: every answer counts; high: only those at least 0.75 sure; published: the share right, WeKnow-RAG's as "
        "others quote it, the two others at most"
    )
    title = "By level, and the platform's own answers"
    return ReportTable("levels", title, _COLUMNS, (*published, *rows), note, chart=False)


def _differs(setting: Setting) -> tuple[str, ...]:
    languages = {language_of(record.document.text[:400]) for record in setting.kg.documents()}
    by_model = (
        f"Answers from passages are written by {setting.method}, which cites a passage for each sentence (one that no "
        "passage holds is dropped) and says itself how sure it is.",
        f"An answer without the gold values was judged right or wrong by {setting.method}, as CRAG does.",
    )
    built_in = (
        "Answers from passages are taken word for word, and their confidence is reckoned from the evidence, not stated "
        "by a model.",
        "A long sentence that holds the gold value counts as right here; CRAG's judge would read it.",
    )
    return (
        "The study answers questions of CRAG from pages that a search found, with GPT-class models for answer and "
        "self-assessment; here questions are made from the workspace's documents "
        f"({', '.join(sorted(languages))}), and passages are of these.",
        *(by_model if setting.model else built_in),
        "The judge of the last stage is the late interaction of the embedding model's tokens, the study's "
        "bge-reranker-large.",
        "The notes are short: windows of 700 tokens and more are mostly whole documents.",
        f"`{ASK}` is the platform's own answer"
        + ("." if setting.model else "; the questions come from statements of its graph, which leans its way."),
    )
