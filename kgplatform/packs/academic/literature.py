"""The literature assistant: a digest of all papers by abstract and introduction, then chosen ones compared in full."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import combinations, pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray
from pyoxigraph import NamedNode, Triple

from kgplatform.documents.chunking import SectionKind
from kgplatform.errors import NotFoundError
from kgplatform.extraction.ontology_lexicon import FUNCTION_WORDS
from kgplatform.packs.academic.courses import term
from kgplatform.packs.academic.papers import (
    DIGESTED,
    IN_FULL,
    Library,
    Material,
    Paper,
    Sentence,
    Topic,
    Trend,
    Written,
    comparison_text,
    digest_text,
    is_of,
    own_words,
    topics,
    trends,
)
from kgplatform.reasoning.community_detection import detect
from kgplatform.text import has_han, normalise, singular, words
from kgplatform.types import ChatModel, Evidence

# Open problems, what is seldom studied, what fits a topic, which papers belong together, and who cites whom.
_OPEN_CUES: Final[tuple[tuple[float, tuple[str, ...]], ...]] = (
    (
        3.0,
        (
            r"future (?:work|research|studies)|open (?:problem|question|issue|challenge)s?",
            r"(?:is|are|was|were) left (?:to|for|open)|remains? (?:open|unclear|unsolved|unknown|to be|an? )",
            r"(?:has|have) (?:not|never) been|not yet|unsolved",
            r"未来(?:工作|研究)|今后|有待|尚未|仍待|留待|悬而未决|还没有",
        ),
    ),
    (
        2.0,
        (
            r"limitations?|limited (?:to|by)|shortcomings?|drawbacks?|weakness(?:es)?",
            r"fails? (?:to|on|when)|cannot|struggles?",
            r"局限|不足|缺陷|缺点|无法|难以|缺乏|受限于",
        ),
    ),
    (
        1.0,
        (
            r"(?-i:challeng\w+)|difficult|expensive|costly|bottleneck|at the price of|quadratic",
            r"needs? (?:hand-made|pre-segmented|large)",
            r"挑战|困难|代价|瓶颈|昂贵|平方增长",
        ),
    ),
    (0.5, (r"\bhowever\b|\bbut\b|然而|但是",)),
)
_CUES: Final = tuple((weight, re.compile("|".join(patterns), re.IGNORECASE)) for weight, patterns in _OPEN_CUES)
_LEANING: Final = re.compile(r"(?:it|its|they|their|this|these|those|he|she|such|here)\b|它|其|这|该", re.IGNORECASE)
_LEAST_OPEN: Final = 1.0
_MOST_OPEN: Final = 40
_MOST_RELEVANT: Final = 20
_MOST_SELDOM: Final = 30
_MEANING: Final = 0.6
_WORDS: Final = 0.4
_CITED: Final = 0.3
_LEAST_NEAR: Final = 0.3
_NAMED: Final = 3
_SELDOM: Final = ("Task", "Concept", "Dataset")


@dataclass(frozen=True, slots=True)
class OpenProblem:
    """A sentence that tells what is not solved, and how plainly it does (score: the sum of its cues)."""

    sentence: Sentence
    score: float


@dataclass(frozen=True, slots=True)
class Relevant:
    """A paper for a reader's topic: similarity (0..1) and the sentence that fits best."""

    paper: NamedNode
    similarity: float
    sentence: Sentence


@dataclass(frozen=True, slots=True)
class Cluster:
    """Papers that belong together, the topics that set them apart, and the sentence nearest to their middle."""

    papers: tuple[NamedNode, ...]
    topics: tuple[str, ...]
    middle: Sentence | None


@dataclass(frozen=True, slots=True)
class Citation:
    """A paper cites another one; ``known`` says whether both have a text."""

    paper: NamedNode
    cited: NamedNode
    known: bool


def open_problems(library: Library, papers: Iterable[Paper]) -> list[OpenProblem]:
    """The sentences of abstracts, introductions and conclusions that tell of what is not solved, the plainest first."""
    found = []
    for paper in papers:
        for sentence in library.sentences(paper, (*DIGESTED, SectionKind.CONCLUSION)):
            score = sum(weight for weight, cue in _CUES if cue.search(sentence.text))
            if score >= _LEAST_OPEN:
                found.append(OpenProblem(sentence, score))
    return sorted(found, key=lambda item: (-item.score, item.sentence.paper.value, item.sentence.source.start))[
        :_MOST_OPEN
    ]


def seldom(library: Library, topics: Iterable[Topic], papers: Sequence[Paper]) -> list[Topic]:
    """The tasks, concepts and data sets of the graph that only one of the papers deals with."""
    if len(papers) < 2:
        return []
    rare = [topic for topic in topics if topic.iri is not None and len(topic.papers) == 1]
    return [topic for topic in rare if topic.iri is not None and is_of(library.parts, topic.iri, *_SELDOM)][
        :_MOST_SELDOM
    ]


class Compared:
    """The sentences of papers with their vectors, embedded once."""

    def __init__(self, library: Library, papers: Sequence[Paper]) -> None:
        self.papers = list(papers)
        self._parts = library.parts
        self.sentences = [library.sentences(paper, DIGESTED) for paper in self.papers]
        texts = [sentence.text for group in self.sentences for sentence in group]
        vectors = library.parts.vectors(texts)
        starts = np.cumsum([0, *(len(group) for group in self.sentences)])
        self._vectors = [vectors[a:b] if vectors is not None else None for a, b in pairwise(starts.tolist())]

    def relevant(self, topic: str) -> list[Relevant]:
        """The papers that fit the topic by meaning and by words, best first, down to half the likeness of the best."""
        asked = self._parts.vectors([topic])
        wanted = _content(topic)
        found = []
        for paper, group, vectors in zip(self.papers, self.sentences, self._vectors, strict=True):
            title = _content(paper.title)
            near = vectors @ asked[0] if vectors is not None and asked is not None else np.zeros(len(group))
            shared = [_share(wanted, _content(sentence.text) | title) for sentence in group]
            knows = asked is not None and bool(np.any(asked))
            rated = [
                _MEANING * max(float(n), 0) + _WORDS * s if knows else s for n, s in zip(near, shared, strict=True)
            ]
            if rated and max(rated) > 0 and (any(shared) or max(near) >= _LEAST_NEAR):
                best = int(np.argmax(rated))
                found.append(Relevant(paper.iri, min(1.0, rated[best]), group[best]))
        least = max((item.similarity for item in found), default=0.0) / 2
        fitting = (item for item in found if item.similarity >= least)
        return sorted(fitting, key=lambda item: (-item.similarity, item.paper.value))[:_MOST_RELEVANT]

    def clusters(self, topics: Sequence[Topic]) -> list[Cluster]:
        """The papers in groups by likeness, shared topics and citations; the larger groups first.

        Two papers are tied by how much more alike they are than most pairs, by a citation, and by the share of topics.
        """
        middles = [_middle(vectors) for vectors in self._vectors]
        ties: dict[tuple[str, str], float] = {}
        likeness = {
            (a, b): float(middles[a] @ middles[b])  # type: ignore[operator]
            for a, b in combinations(range(len(self.papers)), 2)
            if middles[a] is not None and middles[b] is not None
        }
        usual = float(np.median(list(likeness.values()))) if likeness else 0.0
        of = {paper.iri: frozenset(t.name for t in topics if paper.iri in t.papers) for paper in self.papers}
        for a, b in combinations(range(len(self.papers)), 2):
            one, other = self.papers[a], self.papers[b]
            weight = max(0.0, likeness.get((a, b), 0.0) - usual)
            weight += _CITED * (one.iri in other.cites or other.iri in one.cites)
            weight += _share(of[one.iri], of[other.iri]) * _WORDS
            if weight > 0:
                ties[one.iri.value, other.iri.value] = weight
        groups = [c.members for c in detect(ties, largest=len(self.papers) + 1).communities if c.level == 0]
        tied = {member for group in groups for member in group}
        groups += [(paper.iri.value,) for paper in self.papers if paper.iri.value not in tied]
        clusters = [self._cluster(tuple(map(NamedNode, group)), topics) for group in groups]
        return sorted(clusters, key=lambda cluster: (-len(cluster.papers), cluster.papers[0].value))

    def _cluster(self, papers: tuple[NamedNode, ...], topics: Sequence[Topic]) -> Cluster:
        inside = frozenset(papers)
        ranked = sorted(
            topics,
            key=lambda t: (-(len(inside & set(t.papers)) ** 2) / len(t.papers), t.iri is None, t.name),
        )
        names = [topic.name for topic in ranked[:_NAMED] if inside & set(topic.papers)]
        return Cluster(tuple(sorted(papers, key=lambda iri: iri.value)), tuple(names), self._nearest(inside))

    def _nearest(self, papers: frozenset[NamedNode]) -> Sentence | None:
        """The sentence of an abstract nearest to the middle of the papers, else the first one."""
        places = [n for n, paper in enumerate(self.papers) if paper.iri in papers]
        told = [(s, n, k) for n in places for k, s in enumerate(self.sentences[n]) if s.section is SectionKind.ABSTRACT]
        vectors = [v for n in places if (v := self._vectors[n]) is not None]
        middle = _middle(np.concatenate(vectors)) if vectors else None
        told = [item for item in told if stands_alone(item[0].text)] or told
        if not told or middle is None:
            return told[0][0] if told else None

        def nearness(item: tuple[Sentence, int, int]) -> float:
            rows = self._vectors[item[1]]
            return float(rows[item[2]] @ middle) if rows is not None else 0.0

        return max(told, key=nearness)[0]


def stands_alone(text: str) -> bool:
    """Whether a sentence does not begin with a word for what an earlier one named."""
    return _LEANING.match(text) is None


def citations(library: Library, papers: Sequence[Paper]) -> list[Citation]:
    """Who cites whom: the papers that have a text, and what they cite."""
    known = frozenset(paper.iri for paper in papers)
    return [
        Citation(paper.iri, other, other in known)
        for paper in papers
        for other in paper.cites
        if other in library.papers
    ]


def most_cited(found: Iterable[Citation]) -> Counter[NamedNode]:
    """How often each paper is cited by the others."""
    return Counter(item.cited for item in found)


def _content(text: str) -> frozenset[str]:
    """The words of a text that tell something: without function words, in the singular; pairs of Han characters."""
    telling = (word for word in words(text) if word not in FUNCTION_WORDS and not has_han(word) and len(word) > 1)
    found = set(map(singular, telling))
    plain = normalise(text)
    found |= {plain[n : n + 2] for n in range(len(plain) - 1) if has_han(plain[n]) and has_han(plain[n + 1])}
    return frozenset(found)


def _share(wanted: frozenset[str], held: frozenset[str]) -> float:
    return len(wanted & held) / len(wanted) if wanted else 0.0


def _middle(vectors: NDArray[np.float32] | None) -> NDArray[np.float32] | None:
    if vectors is None or not vectors.any():
        return None
    middle: NDArray[np.float32] = vectors.mean(axis=0)
    return middle / np.linalg.norm(middle)


# A result is read where a sentence or table row has a number by the name of a metric or with a per-cent sign; the data
# set is the one named last before it. Everything carries its passage.
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
class AspectValue:
    """A thing that the graph relates a paper to, with the passages that say so."""

    iri: NamedNode
    name: str
    evidence: tuple[Evidence, ...]


@dataclass(frozen=True, slots=True)
class ReportedResult:
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
    aspects: dict[str, tuple[AspectValue, ...]]
    details: tuple[Sentence, ...]
    results: tuple[ReportedResult, ...]


@dataclass(frozen=True, slots=True)
class PaperComparison:
    """Chosen papers side by side, and what they suggest to try."""

    columns: tuple[Column, ...]
    suggestions: tuple[Suggestion, ...]


def compare(library: Library, papers: Sequence[Paper]) -> PaperComparison:
    """The papers side by side, read in full."""
    columns = tuple(_column(library, paper) for paper in papers)
    return PaperComparison(columns, tuple(_suggestions(library, columns)[:_MOST_SUGGESTED]))


def _column(library: Library, paper: Paper) -> Column:
    sentences = library.sentences(paper, IN_FULL)
    aspects = {name: _values(library, paper, properties) for name, properties in ASPECTS}
    names = [name for iri in library.parts.instances(term("Dataset")) for name in _written_names(library, iri)]
    names += _told_datasets(sentence.text for sentence in sentences)
    results = tuple(_results(paper, sentences, names))[:_MOST_RESULTS]
    told = {result.sentence.source for result in results}
    details = _details([sentence for sentence in sentences if sentence.source not in told])
    return Column(paper, aspects, details, results)


def _values(library: Library, paper: Paper, properties: Iterable[tuple[str, str]]) -> tuple[AspectValue, ...]:
    found: dict[NamedNode, AspectValue] = {}
    for there, back in properties:
        for iri in library.linked(paper, there, back):
            said = [Triple(paper.iri, term(there), iri)] + ([Triple(iri, term(back), paper.iri)] if back else [])
            evidence = tuple(dict.fromkeys(e for triple in said for e in library.parts.passages(triple)))
            found.setdefault(iri, AspectValue(iri, library.name(iri), evidence))
    return tuple(sorted(found.values(), key=lambda value: value.name.casefold()))


def _details(sentences: Sequence[Sentence]) -> tuple[Sentence, ...]:
    """The sentences of the body that tell how it is done, in their order; results are told elsewhere."""
    body = [item for item in sentences if item.section is SectionKind.BODY and "|" not in item.text]
    rated = [(len(_DOING.findall(item.text)), -n) for n, item in enumerate(body) if not _is_result(item.text)]
    best = sorted((place for place in rated if place[0]), reverse=True)[:_MOST_DETAILS]
    return tuple(body[-n] for n in sorted((n for _, n in best), reverse=True))


def _is_result(text: str) -> bool:
    return bool(_METRIC.search(text) and _NUMBER.search(text)) or "%" in text


def _results(paper: Paper, sentences: Sequence[Sentence], datasets: Sequence[str]) -> Iterator[ReportedResult]:
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
                yield ReportedResult(paper.iri, value, measure, place, sentence)


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


MOST_COMPARED: Final = 8
_TOLD_GAPS: Final = 6
_TOLD_TRENDS: Final = 5


@dataclass(frozen=True, slots=True)
class Digest:
    """What papers say by abstract and introduction; ``text`` tells it in sentences with their passages."""

    papers: tuple[Paper, ...]
    topics: tuple[Topic, ...]
    trends: tuple[Trend, ...]
    gaps: tuple[OpenProblem, ...]
    seldom: tuple[Topic, ...]
    relevant: tuple[Relevant, ...]
    clusters: tuple[Cluster, ...]
    citations: tuple[Citation, ...]
    text: Written


@dataclass(frozen=True, slots=True)
class PaperReview:
    """Chosen papers side by side, and a text on them."""

    comparison: PaperComparison
    text: Written


def digest(library: Library, *, topic: str = "", model: ChatModel | None = None) -> Digest:
    """The digest of all papers that have a text; ``topic``: what the reader looks for. With a model it writes the text.

    A model that cannot be used is told in ``text.trouble``, and the papers' own sentences stand in its place.
    """
    papers = library.digested()
    found = topics(library, papers)
    compared = Compared(library, papers)
    made = Digest(
        papers=tuple(papers),
        topics=tuple(found),
        trends=tuple(trends(found, papers)),
        gaps=tuple(open_problems(library, papers)),
        seldom=tuple(seldom(library, found, papers)),
        relevant=tuple(compared.relevant(topic)) if topic.strip() else (),
        clusters=tuple(compared.clusters(found)),
        citations=tuple(citations(library, papers)),
        text=Written(),
    )
    return replace(made, text=_digest_text(library, made, topic, model))


def review(library: Library, names: Sequence[str], *, model: ChatModel | None = None) -> PaperReview:
    """The papers of those names, read in full and compared.

    Raises:
        NotFoundError: no paper, or several, are called so, one has no text here, or there are too many.
    """
    papers = list({(paper := library.find(name)).iri: paper for name in names}.values())
    for paper in papers:
        if not paper.texts:
            raise NotFoundError(f"{paper.title!r} is only cited; add its text to compare it", name=paper.title)
    if len(papers) > MOST_COMPARED:
        raise NotFoundError(f"at most {MOST_COMPARED} papers are compared at once, not {len(papers)}", name=names[-1])
    made = compare(library, papers)
    return PaperReview(made, _review_text(library, made, papers, model))


def _digest_text(library: Library, made: Digest, topic: str, model: ChatModel | None) -> Written:
    own = own_words(
        {
            "overview": [cluster.middle for cluster in made.clusters if cluster.middle is not None],
            "trends": [_latest(trend) for trend in made.trends if trend.direction > 0][:_TOLD_TRENDS],
            "gaps": [problem.sentence for problem in made.gaps[:_TOLD_GAPS]],
            "relevant": [item.sentence for item in made.relevant[:_TOLD_TRENDS]],
        }
    )
    if model is None or not made.papers:
        return own
    sentences = [s for paper in made.papers for s in library.sentences(paper, DIGESTED)]
    sentences = [item.sentence for item in made.relevant] + [problem.sentence for problem in made.gaps] + sentences
    material = Material(made.papers, list(dict.fromkeys(sentences)), _names(library))
    return _or_own(digest_text(material, model=model, language=library.language, topic=topic.strip()), own)


def _latest(trend: Trend) -> Sentence:
    """The latest sentence on a topic, if one can be told by itself such a one."""
    alone = [sentence for sentence in trend.topic.passages if stands_alone(sentence.text)]
    return (alone or list(trend.topic.passages))[-1]


def _review_text(library: Library, made: PaperComparison, papers: Sequence[Paper], model: ChatModel | None) -> Written:
    own = own_words(
        {
            "methods": [item for column in made.columns for item in column.details[:2]],
            "comparison": [column.results[0].sentence for column in made.columns if column.results],
            "suggestions": [item.sentences[0] for item in made.suggestions[:_TOLD_GAPS]],
        }
    )
    if model is None or not papers:
        return own
    results = [(r.sentence, r.value, r.metric, r.dataset) for column in made.columns for r in column.results]
    sentences = [s for column in made.columns for s in (*column.details, *(r.sentence for r in column.results))]
    sentences += [s for paper in papers for s in library.sentences(paper, IN_FULL)]
    material = Material(papers, list(dict.fromkeys(sentences)), _names(library), results)
    return _or_own(comparison_text(material, model=model, language=library.language), own)


def _or_own(written: Written, own: Written) -> Written:
    """What the model wrote, if anything of it stands; else the papers' own sentences, with what became of the rest."""
    if written.sentences:
        return written
    trouble = written.trouble or "nothing that the model wrote is borne out by its passages"
    return replace(own, trouble=trouble, dropped=written.dropped, usage=written.usage)


def _names(library: Library) -> list[str]:
    """The names of methods, models, data sets and metrics in the graph, which a sentence may not bring in by itself."""
    kinds = ("Method", "Model", "Dataset", "Metric")
    found = (iri for kind in kinds for iri in library.parts.instances(term(kind)))
    return [word.text for iri in found for word in library.labels.words(iri)]


def numbered(written: Written) -> list[Evidence]:
    """The passages of a text in the order in which they are first named, each once."""
    return list(dict.fromkeys(source for item in written.sentences for source in item.sources))
