"""``literature``: a digest of the papers by abstract and introduction, or chosen ones compared in full."""

from __future__ import annotations

import argparse

from kgplatform.academic.comparing import Column, Comparison
from kgplatform.academic.literature import Digest, digest, numbered, review
from kgplatform.academic.papers import Library, Sentence
from kgplatform.academic.terms import Parts
from kgplatform.academic.topics import Topic
from kgplatform.academic.writing import Written
from kgplatform.cli import output
from kgplatform.graph import KnowledgeGraph
from kgplatform.types import Evidence

_ARROWS = {1: "rising", 0: "", -1: "falling"}
_MOST_LINES = 20


def run(given: argparse.Namespace) -> int:
    """Prints the digest, or the comparison; 1 if there are no papers."""
    with KnowledgeGraph.open(given.workspace) as kg:
        model = None if given.no_model else kg.model
        parts = Parts(kg.dataset, kg.ontology, kg.registry, kg.evidence_finder.find, kg.embedder, model)
        library = Library(parts, given.language)
        if not len(library):
            output.note("no papers; `kgplatform add` reads texts that have an abstract")
            return 1
        if given.compare:
            found = review(library, given.compare, model=model)
            if given.format == "json":
                output.as_json({**_comparison(found.comparison), **_written_json(found.text)})
            else:
                _print_comparison(found.comparison, library)
                _print_text(found.text)
            return 0
        made = digest(library, topic=given.topic or "", model=model)
        if given.format == "json":
            output.as_json({**_digest(made, library), **_written_json(made.text)})
        else:
            _print_digest(made, library)
            _print_text(made.text)
    return 0


def _print_digest(made: Digest, library: Library) -> None:
    cited = library.cited_by()
    output.table(
        ("year", "paper", "cited by", "cites"),
        [(f"{paper.year or ''}", paper.title, f"{cited[paper.iri]}", f"{len(paper.cites)}") for paper in made.papers],
    )
    output.say()
    output.table(
        ("topic", "papers", "trend", "years"),
        [
            (
                trend.topic.name,
                f"{trend.total}",
                _ARROWS[trend.direction],
                ", ".join(f"{year}: {n}" for year, n in trend.years),
            )
            for trend in made.trends[:_MOST_LINES]
        ],
    )
    for cluster in made.clusters:
        output.say(f"together: {', '.join(cluster.topics)}: {'; '.join(map(library.name, cluster.papers))}")
    for topic in made.seldom:
        output.say(f"seldom studied: {topic.name}: {'; '.join(map(library.name, topic.papers))}")
    for item in made.relevant:
        output.say(f"fits ({item.similarity:.2f}): {library.name(item.paper)}: {item.sentence.text}")


def _print_comparison(made: Comparison, library: Library) -> None:
    rows = [
        (library.name(result.paper), result.value, result.metric, result.dataset, result.sentence.text)
        for column in made.columns
        for result in column.results
    ]
    if rows:
        output.table(("paper", "value", "metric", "data set", "passage"), rows, widest=48)
    for column in made.columns:
        output.say(f"{column.paper.title}{f' ({column.paper.year})' if column.paper.year else ''}")
        for name, values in column.aspects.items():
            if values:
                output.say(f"  {name}: {', '.join(value.name for value in values)}")
        for sentence in column.details:
            output.say(f"  - {sentence.text}")
    for item in made.suggestions:
        output.say(f"{item.kind.value}: {'; '.join(map(library.name, item.papers))}: {item.about}")


def _print_text(text: Written) -> None:
    sources = numbered(text)
    output.say()
    for part in dict.fromkeys(item.part for item in text.sentences):
        output.say(f"{part}:")
        for item in text.part(part):
            marks = "".join(f"[{sources.index(source) + 1}]" for source in item.sources)
            output.say(f"  {item.text} {marks}")
    for number, source in enumerate(sources, start=1):
        output.say(f"[{number}] {source.title}, characters {source.start} to {source.end}")
    if text.trouble:
        output.note(f"the model wrote nothing that can be shown: {text.trouble}")
    for dropped in text.dropped:
        output.note(f"left out: {dropped.text} ({dropped.reason})")


def _digest(made: Digest, library: Library) -> dict[str, object]:
    return {
        "papers": [
            {"iri": p.iri.value, "title": p.title, "year": p.year, "cites": [iri.value for iri in p.cites]}
            for p in made.papers
        ],
        "trends": [
            {**_topic(trend.topic), "years": dict(trend.years), "direction": trend.direction} for trend in made.trends
        ],
        "gaps": [{"score": item.score, **_sentence(item.sentence)} for item in made.gaps],
        "seldom": [_topic(topic) for topic in made.seldom],
        "relevant": [{"similarity": item.similarity, **_sentence(item.sentence)} for item in made.relevant],
        "clusters": [
            {"topics": list(cluster.topics), "papers": [iri.value for iri in cluster.papers]}
            for cluster in made.clusters
        ],
        "citations": [
            {"paper": item.paper.value, "cites": item.cited.value, "title": library.name(item.cited)}
            for item in made.citations
        ],
    }


def _topic(topic: Topic) -> dict[str, object]:
    return {
        "topic": topic.name,
        "iri": topic.iri.value if topic.iri else None,
        "papers": [iri.value for iri in topic.papers],
    }


def _comparison(made: Comparison) -> dict[str, object]:
    return {
        "papers": [_column(column) for column in made.columns],
        "suggestions": [
            {
                "kind": item.kind.value,
                "papers": [iri.value for iri in item.papers],
                "about": item.about,
                "passages": [_sentence(sentence) for sentence in item.sentences],
            }
            for item in made.suggestions
        ],
    }


def _column(column: Column) -> dict[str, object]:
    return {
        "iri": column.paper.iri.value,
        "title": column.paper.title,
        "year": column.paper.year,
        **{name: [value.name for value in values] for name, values in column.aspects.items()},
        "details": [_sentence(item) for item in column.details],
        "results": [
            {"value": r.value, "metric": r.metric, "dataset": r.dataset or None, **_sentence(r.sentence)}
            for r in column.results
        ],
    }


def _sentence(item: Sentence) -> dict[str, object]:
    return {"paper": item.paper.value, "text": item.text, **_place(item.source)}


def _place(source: Evidence) -> dict[str, object]:
    return {"document": source.document.value, "start": source.start, "end": source.end}


def _written_json(text: Written) -> dict[str, object]:
    return {
        "model": text.model,
        "sentences": [
            {
                "part": item.part,
                "text": item.text,
                "sources": [{**_place(source), "quote": source.quote} for source in item.sources],
            }
            for item in text.sentences
        ],
        "dropped": [{"text": item.text, "reason": item.reason} for item in text.dropped],
        "trouble": text.trouble or None,
    }
