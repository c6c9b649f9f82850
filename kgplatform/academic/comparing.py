"""The second look, at chosen papers in full: how each does it, what it reports, side by side, and what could be tried.

A result is read where a sentence or table row has a number by the name of a metric or with a per-cent sign; the data
set is the one named last before it. Everything carries its passage.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from pyoxigraph import NamedNode, Triple

from kgplatform.academic.papers import IN_FULL, Library, Paper, Sentence
from kgplatform.academic.surveying import OpenProblem, open_problems
from kgplatform.academic.terms import term
from kgplatform.documents.sections import SectionKind
from kgplatform.text import has_han, normalise
from kgplatform.types import Evidence

_METRIC_WORDS: Final = (
    r"(?:word |label |phone(?:me)? |character |token )?error rate|WER|PER|CER|LER|accuracy|BLEU|ROUGE(?:-\w+)?"
    r"|F1(?:[ -]score)?|F-score|perplexity|exact match|mAP|MRR|nDCG(?:@\d+)?|recall(?:@\d+)?|precision"
    r"|bits per (?:character|byte)|latency|词错误率|字错误率|错误率|准确率|精确率|召回率|困惑度|延迟"
)
_METRIC: Final = re.compile(rf"(?<![A-Za-z0-9-])(?:{_METRIC_WORDS})(?![A-Za-z0-9-])", re.IGNORECASE)
_NUMBER: Final = re.compile(r"(?<![A-Za-z0-9.,-])(\d+(?:[.,]\d+)*)(\s?(?:%|percent\b|per cent\b|％))?(?![A-Za-z0-9-])")
_UNIT: Final = re.compile(r"\s?(?:%|percent|per cent|％)")
_DOING: Final = re.compile(
    r"\b(?:consists? of|made of|uses?|combines?|replaces?|trained|keeps?|computes?|adds?|layers?|encoder|decoder|loss"
    r"|objective|learns?|attends?|sampled?|masked?|parameters?)\b|由.+组成|使用|采用|代替|训练|损失|编码器|解码器|参数",
    re.IGNORECASE,
)
_MOST_DETAILS: Final = 6
_MOST_RESULTS: Final = 12
_MOST_SUGGESTED: Final = 12
_ADDRESSES: Final = 0.55
_ON: Final = re.compile(
    r"\b(?:evaluated|tested|measured|benchmarked|reported|system|results?|reach\w*|fine-tuned) on "
    r"(?:the )?(.{1,160})",
    re.IGNORECASE,
)
_DATA_NAME: Final = re.compile(r"[A-Z][\w-]*(?: (?:[A-Z0-9])[\w-]*)*")
_BETWEEN: Final = re.compile(r"(?:,? and|,)? ?(?:on )?(?:the )?")
_ON_HAN: Final = re.compile(r"在 ?([A-Z][\w .-]{1,40}?) ?(?:数据集|语料库|基准|测试集|上)")

ASPECTS: Final[tuple[tuple[str, tuple[tuple[str, str], ...]], ...]] = (
    ("proposed", (("proposes", "proposedIn"),)),
    ("used", (("uses", "usedIn"), ("basedOn", "basisOf"), ("extends", "extendedBy"))),
    ("tasks", (("addresses", "addressedBy"),)),
    ("datasets", (("evaluatedOn", "usedToEvaluate"),)),
    ("metrics", (("evaluatedWith", ""),)),
    ("compared", (("comparesWith", "comparedIn"),)),
)
"""What papers are compared by, and the properties that say it (with their inverses)."""


@dataclass(frozen=True, slots=True)
class Value:
    """A thing that the graph relates a paper to, with the passages that say so."""

    iri: NamedNode
    name: str
    evidence: tuple[Evidence, ...]


@dataclass(frozen=True, slots=True)
class Result:
    """A result: the value as written, the metric and data set (empty: not told nearby), and where it stands."""

    paper: NamedNode
    value: str
    metric: str
    dataset: str
    sentence: Sentence


class SuggestionKind(StrEnum):
    """What a suggestion rests on."""

    ADDRESSED = "addressed"
    OPEN = "open"
    SAME_DATA = "same-data"
    OTHER_DATA = "other-data"


@dataclass(frozen=True, slots=True)
class Suggestion:
    """Something to try: the papers it is about, the data set or sentence, and the sentences it rests on."""

    kind: SuggestionKind
    papers: tuple[NamedNode, ...]
    about: str
    sentences: tuple[Sentence, ...]


@dataclass(frozen=True, slots=True)
class Column:
    """One paper of a comparison: what the graph says of it by aspect, how it does it, and its results."""

    paper: Paper
    aspects: dict[str, tuple[Value, ...]]
    details: tuple[Sentence, ...]
    results: tuple[Result, ...]


@dataclass(frozen=True, slots=True)
class Comparison:
    """Chosen papers side by side, and what they suggest to try."""

    columns: tuple[Column, ...]
    suggestions: tuple[Suggestion, ...]


def compare(library: Library, papers: Sequence[Paper]) -> Comparison:
    """The papers side by side, read in full."""
    columns = tuple(_column(library, paper) for paper in papers)
    return Comparison(columns, tuple(_suggestions(library, columns)[:_MOST_SUGGESTED]))


def _column(library: Library, paper: Paper) -> Column:
    sentences = library.sentences(paper, IN_FULL)
    aspects = {name: _values(library, paper, properties) for name, properties in ASPECTS}
    names = [name for iri in _datasets(library) for name in _written_names(library, iri)]
    names += _told_datasets(sentence.text for sentence in sentences)
    results = tuple(_results(paper, sentences, names))[:_MOST_RESULTS]
    told = {result.sentence.source for result in results}
    details = _details([sentence for sentence in sentences if sentence.source not in told])
    return Column(paper, aspects, details, results)


def _values(library: Library, paper: Paper, properties: Iterable[tuple[str, str]]) -> tuple[Value, ...]:
    found: dict[NamedNode, Value] = {}
    for there, back in properties:
        for iri in library.linked(paper, there, back):
            said = [Triple(paper.iri, term(there), iri)] + ([Triple(iri, term(back), paper.iri)] if back else [])
            evidence = tuple(dict.fromkeys(e for triple in said for e in library.parts.passages(triple)))
            found.setdefault(iri, Value(iri, library.name(iri), evidence))
    return tuple(sorted(found.values(), key=lambda value: value.name.casefold()))


def _details(sentences: Sequence[Sentence]) -> tuple[Sentence, ...]:
    """The sentences of the body that tell how it is done, in their order; results are told elsewhere."""
    body = [item for item in sentences if item.section is SectionKind.BODY and "|" not in item.text]
    rated = [(len(_DOING.findall(item.text)), -n) for n, item in enumerate(body) if not _is_result(item.text)]
    best = sorted((place for place in rated if place[0]), reverse=True)[:_MOST_DETAILS]
    return tuple(body[-n] for n in sorted((n for _, n in best), reverse=True))


def _is_result(text: str) -> bool:
    return bool(_METRIC.search(text) and _NUMBER.search(text)) or "%" in text


def _results(paper: Paper, sentences: Sequence[Sentence], datasets: Sequence[str]) -> Iterator[Result]:
    seen: set[tuple[str, str]] = set()
    dataset, metric = "", ""
    for sentence in sentences:
        dataset = _last_named(sentence.text, datasets) or dataset
        metric = _last_metric(sentence.text) or metric
        if sentence.section not in (SectionKind.ABSTRACT, SectionKind.BODY, SectionKind.CONCLUSION):
            continue
        for value, at in _numbers(sentence.text):
            near = _last_metric(sentence.text[:at]) or _last_metric(sentence.text)
            place = _last_named(sentence.text[:at], datasets) or _last_named(sentence.text, datasets) or dataset
            measure = near or (metric if _UNIT.search(value) else "")
            place = _whole(place, datasets) if place else ""
            if measure and (value, place) not in seen:
                seen.add((value, place))
                yield Result(paper.iri, value, measure, place, sentence)


def _numbers(text: str) -> Iterator[tuple[str, int]]:
    """The numbers that may be results: with a per-cent sign, their own or the next one's, or a decimal point."""
    found = [match for match in _NUMBER.finditer(text) if match[2] or "." in match[1]]
    for place, match in enumerate(found):
        is_share = any(later[2] for later in found[place:])
        yield f"{match[1]} %" if is_share else match[1], match.start()


def _last_metric(text: str) -> str:
    found = _METRIC.findall(text)
    return str(found[-1]) if found else ""


def _last_named(text: str, names: Iterable[str]) -> str:
    """The name that stands last in the text, the longest where several end there."""
    best = (-1, "")
    for name in names:
        pattern = re.escape(name) if has_han(name) else rf"(?<![A-Za-z0-9-]){re.escape(name)}(?![A-Za-z0-9-])"
        for match in re.finditer(pattern, text):
            best = max(best, (match.end(), name), key=lambda item: (item[0], len(item[1])))
    return best[1]


def _datasets(library: Library) -> list[NamedNode]:
    return library.parts.instances(term("Dataset"))


def _told_datasets(texts: Iterable[str]) -> list[str]:
    """The names that a text says something was evaluated on; of a list all of them."""
    found: dict[str, None] = {}
    for text in texts:
        for match in _ON.finditer(text):
            rest, place = match[1], 0
            while name := _DATA_NAME.match(rest, place):
                found[name[0]] = None
                between = _BETWEEN.match(rest, name.end())
                place = between.end() if between else len(rest)
        found |= {match[1].strip(): None for match in _ON_HAN.finditer(text)}
    return list(found)


def _whole(dataset: str, known: Iterable[str]) -> str:
    """The data set that the named part belongs to: the shortest known name that it begins with.

    Which part a number is on is often told by a word that is no name; so only the whole is.
    """
    return min((name for name in known if dataset == name or dataset.startswith(f"{name} ")), key=len)


def _written_names(library: Library, iri: NamedNode) -> list[str]:
    return [word.text for word in library.labels.words(iri) if len(normalise(word.text)) > 1]


def _suggestions(library: Library, columns: Sequence[Column]) -> list[Suggestion]:
    found = list(_by_problems(library, columns))
    found += _by_data(columns)
    return found


def _by_problems(library: Library, columns: Sequence[Column]) -> Iterator[Suggestion]:
    """What one paper leaves open, with the sentence of another one that comes nearest to an answer, if one does."""
    texts = {column.paper.iri: library.sentences(column.paper, IN_FULL) for column in columns}
    everything = [sentence for group in texts.values() for sentence in group]
    vectors = library.parts.vectors([sentence.text for sentence in everything])
    for problem in open_problems(library, [column.paper for column in columns]):
        answer = _answer(problem, everything, vectors)
        if answer is not None:
            papers = (problem.sentence.paper, answer.paper)
            yield Suggestion(SuggestionKind.ADDRESSED, papers, problem.sentence.text, (problem.sentence, answer))
        elif problem.score >= 2:
            yield Suggestion(SuggestionKind.OPEN, (problem.sentence.paper,), problem.sentence.text, (problem.sentence,))


def _answer(problem: OpenProblem, sentences: Sequence[Sentence], vectors: object) -> Sentence | None:
    import numpy as np

    if not isinstance(vectors, np.ndarray):
        return None
    at = next((n for n, item in enumerate(sentences) if item.source == problem.sentence.source), None)
    if at is None:
        return None
    near = vectors @ vectors[at]
    others = [n for n, item in enumerate(sentences) if item.paper != problem.sentence.paper and near[n] >= _ADDRESSES]
    best = max(others, key=lambda n: float(near[n]), default=None)
    return sentences[best] if best is not None else None


def _by_data(columns: Sequence[Column]) -> Iterator[Suggestion]:
    """Data sets that several papers report on can be compared directly; those of one could be tried with the others."""
    on: dict[str, dict[NamedNode, Sentence]] = {}
    known = {result.dataset for column in columns for result in column.results if result.dataset}
    for column in columns:
        for result in column.results:
            if result.dataset:
                on.setdefault(_whole(result.dataset, known), {}).setdefault(column.paper.iri, result.sentence)
    for dataset, papers in sorted(on.items(), key=lambda item: (-len(item[1]), item[0])):
        kind = SuggestionKind.SAME_DATA if len(papers) > 1 else SuggestionKind.OTHER_DATA
        if len(columns) > 1:
            yield Suggestion(kind, tuple(papers), dataset, tuple(papers.values()))
