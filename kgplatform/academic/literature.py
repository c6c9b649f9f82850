"""The literature assistant: a digest of all papers by abstract and introduction, then chosen ones compared in full."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from kgplatform.academic.comparing import Comparison, compare
from kgplatform.academic.papers import DIGESTED, IN_FULL, Library, Paper, Sentence
from kgplatform.academic.surveying import (
    Citation,
    Cluster,
    Compared,
    OpenProblem,
    Relevant,
    citations,
    open_problems,
    seldom,
    stands_alone,
)
from kgplatform.academic.terms import term
from kgplatform.academic.topics import Topic, Trend, topics, trends
from kgplatform.academic.writing import Material, Written, comparison_text, digest_text, own_words
from kgplatform.errors import NotFoundError
from kgplatform.protocols import ChatModel
from kgplatform.types import Evidence

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
class Review:
    """Chosen papers side by side, and a text on them."""

    comparison: Comparison
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


def review(library: Library, names: Sequence[str], *, model: ChatModel | None = None) -> Review:
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
    return Review(made, _review_text(library, made, papers, model))


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


def _review_text(library: Library, made: Comparison, papers: Sequence[Paper], model: ChatModel | None) -> Written:
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
