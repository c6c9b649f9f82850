"""A question that leans on earlier turns, as one that stands alone: by a model, or by putting the name for the pronoun.

The dialogue resolves what leans on things of the graph; this is for what the graph does not know.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from kgplatform import lexicon
from kgplatform.errors import ModelError
from kgplatform.models import prompts
from kgplatform.models.json_replies import json_of
from kgplatform.questions.answer_text import unsupported
from kgplatform.questions.dialogue import conversation
from kgplatform.questions.dialogue.replies import Turn
from kgplatform.questions.passages.extractive import PassageAnswer, cited_text, names_in, terms_of
from kgplatform.text import has_han, normalise, sentences
from kgplatform.types import ChatModel, Evidence, Usage

# An answer that a model writes from passages: every sentence cites passages that hold its names, numbers and words.
#
# A sentence that cites none, or that says more than what it cites, is dropped. How sure the answer is says the model; a
# dropped sentence costs a level.


_PROMPT: Final = lexicon.expression("cited_answer.prompt")
_LEAST_SHARED: Final = 0.5
"""The least share of a sentence's words that the passages it cites have to hold."""
_SURE: Final = {"high": 0.85, "medium": 0.55, "low": 0.2}
_PASSAGE_LETTERS: Final = 2_400
_SCHEMA: Final[Mapping[str, object]] = {
    "type": "object",
    "properties": {
        "answer": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "sentence": {"type": "string"},
                    "passages": {"type": "array", "items": {"type": "integer"}},
                },
                "required": ["sentence", "passages"],
                "additionalProperties": False,
            },
        },
        "short": {"type": "string"},
        "confidence": {"type": "string", "enum": ["high", "medium", "low"]},
        "premise": {"type": "boolean"},
    },
    "required": ["answer", "short", "confidence", "premise"],
    "additionalProperties": False,
}


@dataclass(frozen=True, slots=True)
class _Sentence:
    """A sentence and the places of the passages that it cites."""

    text: str
    cites: tuple[int, ...]


def written(
    question: str, passages: Sequence[Evidence], *, model: ChatModel, language: str, now: str = ""
) -> PassageAnswer:
    """The answer that the model gives, as far as the passages hold it.

    Raises:
        ModelError: the model cannot be reached, or its reply not be used.
    """
    shown = [f"{item.title}: {' '.join(item.quote.split())[:_PASSAGE_LETTERS]}" for item in passages]
    messages, _ = prompts.render_messages(_PROMPT, question=question, language=language, passages=shown, now=now)
    completion = model.complete(messages, schema=_SCHEMA)
    reply = json_of(completion.text, model=model.name)
    return replace(_checked(reply, passages, model.name), usage=completion.usage)


def _checked(reply: Mapping[str, object], passages: Sequence[Evidence], name: str) -> PassageAnswer:
    said = _sentences(reply.get("answer"), len(passages))
    kept = [item for item in said if is_supported(item.text, [passages[place] for place in item.cites])]
    notes = [f"dropped, for no passage holds it: {item.text[:120]}" for item in said if item not in kept]
    if not kept:
        return PassageAnswer(by=name, notes=(*notes, "the model found no answer in the passages"))
    spans = [[narrowed(passages[place], item.text) for place in item.cites] for item in kept]
    evidence = tuple(dict.fromkeys(span for found in spans for span in found))
    text = cited_text(
        [(item.text, [evidence.index(span) + 1 for span in found]) for item, found in zip(kept, spans, strict=True)]
    )
    read = [passages[place].quote for item in kept for place in item.cites]
    short = reply.get("short")
    value = short.strip() if isinstance(short, str) and _is_value(short, [text, *read]) else ""
    level = str(reply.get("confidence"))
    confidence = _SURE.get(level, _SURE["low"])
    if notes:
        confidence = min(confidence, _SURE["medium"])
    if reply.get("premise") is True:
        notes.append("the question takes for granted what the passages deny")
    return PassageAnswer(text, (value,) if value else (), evidence, confidence, name, tuple(notes))


def _sentences(value: object, count: int) -> list[_Sentence]:
    """The sentences with the passages that there are; a number that stands for none is left out."""
    found = []
    for item in value if isinstance(value, list) else ():
        text, cites = (item.get("sentence"), item.get("passages")) if isinstance(item, dict) else (None, None)
        if isinstance(text, str) and text.strip():
            numbers = [n for n in cites if isinstance(n, int) and 1 <= n <= count] if isinstance(cites, list) else []
            found.append(_Sentence(text.strip(), tuple(dict.fromkeys(n - 1 for n in numbers))))
    return found


def is_supported(sentence: str, cited: Sequence[Evidence]) -> bool:
    """Whether the passages hold the names and numbers of a sentence, and at least half of its words."""
    if not cited:
        return False
    sources = [f"{item.title}. {item.quote}" for item in cited]
    if unsupported(sentence, sources):
        return False
    words = terms_of(sentence)
    held = terms_of(" ".join(sources))
    return not words or len(words & held) / len(words) >= _LEAST_SHARED


def narrowed(passage: Evidence, sentence: str) -> Evidence:
    """The sentence of the passage that shares most words with what was said, as a span of the document."""
    wanted = terms_of(sentence)
    spans = [(len(wanted & terms_of(passage.quote[a:b])), -a, b) for a, b in sentences(passage.quote)]
    shared, start, end = max(spans, default=(0, 0, 0))
    if not shared:
        return passage
    start = -start
    return replace(passage, quote=passage.quote[start:end], start=passage.start + start, end=passage.start + end)


def _is_value(short: str, read: Sequence[str]) -> bool:
    """Whether the short form says no more than sentences and passages do; yes and no may always be said."""
    if normalise(short) in ("yes", "no", "是", "否", "不是", "有", "没有"):
        return True
    return normalise(short) in normalise(" ".join(read))


_TURNS: Final = 4
_ANSWER: Final = 400
_LONGEST: Final = 1_000
_PRONOUN = lexicon.pattern("cited_answer.pronoun")
_AROUND: Final = frozenset(('""', "“”", "「」", "''", "**", "``"))
_CLOSING: Final = "\"”」'*`"


def standing(question: str, turns: Sequence[Turn], model: ChatModel | None = None) -> tuple[str, Usage]:
    """The question standing alone, and what that cost; as it is where it leans on nothing, or on nothing known."""
    leaning = _PRONOUN.search(question) is not None or conversation.is_fragment(question)
    if not turns or not leaning:
        return question, Usage()
    if model is not None:
        try:
            return _by_model(question, turns, model)
        except ModelError:
            pass  # the built-in way is as good as it gets
    return _builtin(question, turns[-1]), Usage()


def _by_model(question: str, turns: Sequence[Turn], model: ChatModel) -> tuple[str, Usage]:
    shown = [{"question": turn.question, "answer": turn.answer[:_ANSWER]} for turn in turns[-_TURNS:]]
    language = "zh" if has_han(question) else "en"
    messages, _ = prompts.render_messages("standalone-question", question=question, language=language, turns=shown)
    completion = model.complete(messages)
    text = _plain(completion.text)
    return (text if 0 < len(text) <= _LONGEST else question), completion.usage


def _plain(reply: str) -> str:
    """The question that a model replied with: the first line that asks, without a heading or quotation marks."""
    lines = [line.strip() for line in reply.splitlines() if line.strip(" `")]
    asking = (line for line in lines if line.rstrip(_CLOSING).endswith(("?", "？")))
    text = lexicon.pattern("cited_answer.heading").sub("", next(asking, lines[0] if lines else "")).strip()
    while len(text) > 2 and text[0] + text[-1] in _AROUND:
        text = text[1:-1].strip()
    return text


def _builtin(question: str, last: Turn) -> str:
    """The name that the last question was about in place of the first pronoun."""
    match = _PRONOUN.search(question)
    name = _subject(last)
    if match is None or not name:
        return question
    own = "'s" if match.group().casefold() in lexicon.word_set("cited_answer.own") and not has_han(name) else ""
    return f"{question[: match.start()]}{name}{own}{question[match.end() :]}"


def _subject(turn: Turn) -> str:
    """What a turn was about: the name in its question, else its one answer."""
    names = [name for name in names_in(turn.question) if not name[0].isdigit()]
    if names:
        return names[0]
    match = lexicon.pattern("cited_answer.han_subject").match(turn.question) if has_han(turn.question) else None
    if match:
        return match[1]
    return turn.values[0] if len(turn.values) == 1 else ""
