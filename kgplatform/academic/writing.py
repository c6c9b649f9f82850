"""Sentences on papers, each with its passages: by a language model and guarded, or the papers' own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from pyoxigraph import NamedNode

from kgplatform import prompts
from kgplatform.academic.guarding import Dropped, unsupported
from kgplatform.academic.papers import Paper, Sentence
from kgplatform.errors import ModelError
from kgplatform.models.structured import json_of
from kgplatform.protocols import ChatModel, Message
from kgplatform.text import count_tokens
from kgplatform.types import Evidence, Usage

SCHEMA: Final[Mapping[str, object]] = {
    "type": "object",
    "required": ["sentences"],
    "properties": {
        "sentences": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["part", "text", "sources"],
                "properties": {
                    "part": {"type": "string"},
                    "text": {"type": "string"},
                    "sources": {"type": "array", "items": {"type": "integer"}},
                },
            },
        }
    },
}
PASSAGE_TOKENS: Final = 6000
"""The room for passages in a prompt."""

_MARKED: Final = 6
"""About how many tokens a passage's number and paper take."""

_MOST_SOURCES: Final = 6


@dataclass(frozen=True, slots=True)
class Told:
    """A sentence of a text: the part it belongs to, its words, and the passages it rests on."""

    part: str
    text: str
    sources: tuple[Evidence, ...]


@dataclass(frozen=True, slots=True)
class Written:
    """A text on papers: its sentences; ``model`` None: taken from the papers. ``dropped`` were not borne out.

    ``trouble`` says why there is no text of the model that was asked.
    """

    sentences: tuple[Told, ...] = ()
    model: str | None = None
    dropped: tuple[Dropped, ...] = ()
    usage: Usage = field(default_factory=Usage)
    trouble: str = ""

    def part(self, name: str) -> tuple[Told, ...]:
        """The sentences of one part."""
        return tuple(item for item in self.sentences if item.part == name)


@dataclass(frozen=True, slots=True)
class Shown:
    """A passage as a prompt shows it, with the mark of its paper."""

    paper: str
    text: str


@dataclass(frozen=True, slots=True)
class ShownResult:
    """A result as a prompt shows it, with the mark of its paper and the number of its passage."""

    paper: str
    value: str
    metric: str
    dataset: str
    number: int


@dataclass(frozen=True, slots=True)
class Material:
    """What a text is written from: papers, their sentences, names of the graph, and results by sentence."""

    papers: Sequence[Paper]
    sentences: Sequence[Sentence]
    names: Sequence[str] = ()
    results: Sequence[tuple[Sentence, str, str, str]] = ()


def own_words(parts: Mapping[str, Sequence[Sentence]]) -> Written:
    """The papers' own sentences as a text, each its own passage."""
    told = [Told(part, item.text, (item.source,)) for part, group in parts.items() for item in group]
    return Written(tuple(dict.fromkeys(told)))


def digest_text(material: Material, *, model: ChatModel, language: str, topic: str) -> Written:
    """What a model writes on papers from their abstracts and introductions; what is not borne out is dropped."""
    shown = fitting(material.sentences)
    messages, _ = prompts.render_messages(
        "digest-papers",
        language=language,
        topic=topic,
        papers=list(material.papers),
        passages=_shown(shown, material.papers),
    )
    parts = ("overview", "trends", "gaps", "relevant") if topic else ("overview", "trends", "gaps")
    return _written(messages, shown, material, model, parts)


def comparison_text(material: Material, *, model: ChatModel, language: str) -> Written:
    """What a model writes on chosen papers from their full texts; what is not borne out is dropped."""
    shown = fitting(material.sentences)
    marks = _marks(material.papers)
    numbers = {sentence.source: n for n, sentence in enumerate(shown, start=1)}
    results = [
        ShownResult(marks[sentence.paper], value, metric, dataset, numbers[sentence.source])
        for sentence, value, metric, dataset in material.results
        if sentence.source in numbers
    ]
    messages, _ = prompts.render_messages(
        "compare-papers",
        language=language,
        papers=list(material.papers),
        passages=_shown(shown, material.papers),
        results=results,
    )
    return _written(messages, shown, material, model, ("methods", "comparison", "suggestions"))


def fitting(sentences: Sequence[Sentence], tokens: int = PASSAGE_TOKENS) -> list[Sentence]:
    """The sentences that fit into a prompt: of every paper the first ones, as many as there is room for in turn."""
    waiting: dict[NamedNode, list[Sentence]] = {}
    for sentence in dict.fromkeys(sentences):
        waiting.setdefault(sentence.paper, []).append(sentence)
    chosen: set[Evidence] = set()
    while waiting and tokens > 0:
        for paper in list(waiting):
            first = waiting[paper].pop(0)
            tokens -= count_tokens(first.text) + _MARKED
            if tokens < 0:
                break
            chosen.add(first.source)
            if not waiting[paper]:
                del waiting[paper]
    return [sentence for sentence in dict.fromkeys(sentences) if sentence.source in chosen]


def _written(
    messages: Sequence[Message], shown: Sequence[Sentence], material: Material, model: ChatModel, parts: Sequence[str]
) -> Written:
    try:
        completion = model.complete(messages, schema=SCHEMA)
        reply = json_of(completion.text, model=model.name)
    except ModelError as error:
        return Written(model=model.name, trouble=str(error))
    kept: list[Told] = []
    dropped: list[Dropped] = []
    listed = reply.get("sentences")
    for record in listed if isinstance(listed, list) else ():
        told = _told(record, shown, parts)
        if isinstance(told, Dropped):
            dropped.append(told)
        elif reason := unsupported(told.text, told.sources, material.names, _named(told, shown, material)):
            dropped.append(Dropped(told.text, reason))
        else:
            kept.append(told)
    return Written(tuple(kept), model.name, tuple(dropped), completion.usage)


def _told(record: object, shown: Sequence[Sentence], parts: Sequence[str]) -> Told | Dropped:
    """A sentence of a reply with its passages; dropped where it has none or is of no known part."""
    if not isinstance(record, dict):
        return Dropped(str(record)[:200], "it is not a sentence with sources")
    text, numbers = str(record.get("text", "")).strip(), record.get("sources")
    cited = [n for n in numbers if isinstance(n, int) and 0 < n <= len(shown)] if isinstance(numbers, list) else []
    if not text or not cited:
        return Dropped(text, "it names no passage")
    if record.get("part") not in parts:
        return Dropped(text, f"it is of no part that was asked for: {record.get('part')}")
    sources = tuple(shown[n - 1].source for n in dict.fromkeys(cited))
    return Told(str(record["part"]), text, sources[:_MOST_SOURCES])


def _named(told: Told, shown: Sequence[Sentence], material: Material) -> str:
    """The titles and years of the papers that a sentence cites."""
    cited = {sentence.paper for sentence in shown if sentence.source in told.sources}
    return " ".join(f"{paper.title} {paper.year or ''}" for paper in material.papers if paper.iri in cited)


def _shown(sentences: Sequence[Sentence], papers: Sequence[Paper]) -> list[Shown]:
    marks = _marks(papers)
    return [Shown(marks[sentence.paper], sentence.text) for sentence in sentences]


def _marks(papers: Sequence[Paper]) -> dict[NamedNode, str]:
    """What a prompt calls each paper: P1, P2 and so on."""
    return {paper.iri: f"P{number}" for number, paper in enumerate(papers, start=1)}
