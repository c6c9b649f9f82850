"""Answers from saved search results, scored three ways: right, withheld, wrong, at each level of confidence.

A set is JSON Lines, packed with bzip2 or not: ``query``, ``answer``, ``alt_ans``, ``query_time`` and ``search_results``
with ``page_name``, ``page_url``, ``page_snippet`` and ``page_result`` (HTML), the form of the CRAG benchmark (Yang et
al., 2024). ``answered`` gives every answer once; `scores` counts them at a level, so that levels can be compared.
"""

from __future__ import annotations

import bz2
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from kgplatform.errors import ReadError
from kgplatform.evaluation.metrics import AnswerOutcome, ThreeWay, three_way
from kgplatform.questions.passages.cited_answer import written
from kgplatform.questions.passages.extractive import LEVELS, PassageAnswer, answering_model, extracted
from kgplatform.retrieval.fusion import PAGE_TOKENS, FoundPage
from kgplatform.retrieval.web_search import checked_url, page_text
from kgplatform.text import has_han, normalise
from kgplatform.types import ChatModel, Embedder
from kgplatform.workspace.search import browsed

_UNKNOWN: Final = ("nan", "i don t know", "invalid question")


@dataclass(frozen=True, slots=True)
class WebQuestion:
    """A question with its gold answers, the pages that a search found for it, and when it was asked."""

    text: str
    answers: tuple[str, ...]
    pages: tuple[FoundPage, ...]
    asked: str = ""
    kind: str = ""


@dataclass(frozen=True, slots=True)
class FoundPages:
    """Pages that were found before, as a `SearchProvider`."""

    pages: Sequence[FoundPage]
    name: str = "found"

    def search(self, question: str, k: int) -> list[FoundPage]:  # noqa: ARG002
        """The first ``k`` of the pages."""
        return list(self.pages[: max(k, 0)])


@dataclass(frozen=True, slots=True)
class WebAnswer:
    """What was answered to a question."""

    question: WebQuestion
    answer: PassageAnswer

    def outcome(self, least: str) -> AnswerOutcome:
        """How the answer counts where it needs that level: missing below it, else right or wrong."""
        if not self.answer.is_enough(least):
            return AnswerOutcome.MISSING
        return AnswerOutcome.CORRECT if is_right(self.answer, self.question.answers) else AnswerOutcome.WRONG


def read_web_questions(path: Path) -> list[WebQuestion]:
    """The questions of a set; a page without text keeps its snippet.

    Raises:
        ReadError: the file cannot be read, or a line is of another form.
    """
    try:
        data = path.read_bytes()
        text = (bz2.decompress(data) if path.suffix == ".bz2" else data).decode("utf-8")
    except (OSError, ValueError) as error:
        raise ReadError(f"cannot be read: {error}", path=path) from error
    return [_question(line, path, number) for number, line in enumerate(text.split("\n"), 1) if line.strip()]


def _question(line: str, path: Path, number: int) -> WebQuestion:
    try:
        record = json.loads(line)
        found, text, answer = record["search_results"], record["query"], record["answer"]
        pages = tuple(page for item in found if (page := _page(item)) is not None)
        more = record.get("alt_ans") or ()
        answers = tuple(str(item) for item in (answer, *more))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ReadError(
            "is no question with query, answer and search_results", path=path, place=f"{path}:{number}"
        ) from error
    return WebQuestion(str(text), answers, pages, str(record.get("query_time") or ""), str(record.get("question_type")))


def _page(item: Mapping[str, object]) -> FoundPage | None:
    url = checked_url(str(item.get("page_url") or ""))
    if not url:
        return None
    name, snippet = str(item.get("page_name") or url), str(item.get("page_snippet") or "")
    try:
        text = page_text(Path(url), str(item.get("page_result") or "").encode())[1]
    except ReadError:
        text = ""
    return FoundPage(url, name, text, snippet)


def answered(
    questions: Iterable[WebQuestion],
    *,
    embedder: Embedder | None = None,
    model: ChatModel | None = None,
    tokens: int = PAGE_TOKENS,
    passages: int = 8,
) -> list[WebAnswer]:
    """What each question is answered from its pages, cut into passages of so many tokens; in words of the model if any.

    Raises:
        ModelError: the model cannot be reached, or its reply not be used.
    """
    found = []
    for question in questions:
        find = browsed(FoundPages(question.pages), len(question.pages), embedder=lambda: embedder, tokens=tokens)
        evidence = find(question.text, passages)
        if model is None:
            near = answering_model() if embedder is not None else None
            said = extracted(question.text, evidence, model=near)
        else:
            language = "zh" if has_han(question.text) else "en"
            said = written(question.text, evidence, model=model, language=language, now=question.asked)
        found.append(WebAnswer(question, said))
    return found


def scores(found: Sequence[WebAnswer], levels: Iterable[str] = LEVELS) -> dict[str, ThreeWay]:
    """The three-way score at each level of confidence."""
    return {level: three_way([item.outcome(level) for item in found]) for level in levels}


def is_right(answer: PassageAnswer, gold: Sequence[str]) -> bool:
    """Whether a gold answer stands in the answer, or the answer's value in the gold one; a rule of thumb.

    A gold answer that says that there is none is met by no answer.
    """
    text = _plain(answer.text)
    values = [value for item in answer.values if len(value := _plain(item)) > 1 or value.isdigit()]
    for wanted in map(_plain, gold):
        if not wanted or wanted in _UNKNOWN:
            continue
        if wanted in ("yes", "no") and wanted not in values:
            continue
        if _holds(text, wanted) or any(_holds(wanted, value) for value in values):
            return True
    return False


def _plain(text: str) -> str:
    """The words of a text, without punctuation."""
    return " ".join(re.findall(r"\w+", normalise(text)))


def _holds(text: str, part: str) -> bool:
    return part in text if has_han(part) else f" {part} " in f" {text} "
