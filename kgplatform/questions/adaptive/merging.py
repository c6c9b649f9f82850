"""Answers put together: from passages alone, from graph and passages, with a premise that does not hold, or none."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Final

from kgplatform.questions.adaptive.passages import PassageAnswer
from kgplatform.text import has_han, normalise
from kgplatform.types import Answer, Consulted, Question, QuestionKind, Solutions, Verdict

_MARK = re.compile(r"\[(\d+)\]")
_SAME: Final = 0.1
_MOST: Final = 0.95
_UNKNOWN: Final = {
    "en": {
        "passages": "I don't know: the passages do not tell.",
        "web": "I don't know: the pages do not tell.",
        "down": "I don't know: {source} could not be asked ({note}).",
        "off": "I don't know: no web source is set up (see [web] in kgplatform.toml).",
        "also": "The passages say: {text}",
    },
    "zh": {
        "passages": "不知道：段落中没有说明。",
        "web": "不知道：网页中没有说明。",
        "down": "不知道：无法查询{source}（{note}）。",
        "off": "不知道：没有设置网络来源（见 kgplatform.toml 的 [web]）。",
        "also": "段落中说：{text}",
    },
}


def _language(text: str) -> str:
    return "zh" if has_han(text) else "en"


def from_source(said: PassageAnswer, source: str, found: Answer) -> Answer:
    """What passages say as the answer; what was linked and the trace so far are those of ``found``."""
    return replace(
        found,
        text=said.text,
        question=replace(found.question, kind=QuestionKind.PASSAGE),
        verdict=Verdict.ANSWERED,
        confidence=said.confidence,
        using=source,
        query=None,
        solutions=Solutions(),
        values=said.values,
        evidence=said.evidence,
        clarification=None,
        model=None if said.by == "built-in" else said.by,
    )


def combined(found: Answer, said: PassageAnswer) -> Answer:
    """The graph's answer with passages: they make it surer where they say the same, else their words stand beside."""
    evidence = (*found.evidence, *(item for item in said.evidence if item not in found.evidence))
    plain = normalise(said.text)
    if found.values and all(normalise(value) in plain for value in found.values):
        confidence = round(min(_MOST, max(found.confidence, said.confidence) + _SAME), 3)
        return replace(found, evidence=evidence, confidence=confidence, using="sparql+passages")
    places = [evidence.index(item) + 1 for item in said.evidence]
    text = _MARK.sub(lambda match: f"[{places[int(match[1]) - 1]}]", said.text)
    also = _UNKNOWN[_language(found.question.text)]["also"].format(text=text)
    return replace(found, text=f"{found.text} {also}", evidence=evidence, using="sparql+passages")


def merged_premise(found: Answer, premise: str) -> Answer:
    """The answer with what the question wrongly takes for granted said first."""
    return replace(found, text=f"{premise} {found.text}".strip())


def unknown(question: str, source: str, consulted: Consulted) -> Answer:
    """The answer where the one source asked gives none."""
    language = _language(question)
    words = _UNKNOWN[language]
    text = words.get(source, words["passages"])
    if consulted.outcome == "down":
        text = words["down"].format(source=source, note=consulted.note)
    elif consulted.note and source == "web":
        text = words["off"]
    return Answer(
        text=text,
        question=Question(question, language, QuestionKind.PASSAGE),
        verdict=Verdict.UNANSWERABLE,
        confidence=round(min(consulted.confidence, 0.3), 3),
        using=source,
    )
