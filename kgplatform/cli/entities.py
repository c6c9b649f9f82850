"""How `show` prints what is known about one thing."""

from __future__ import annotations

from kgplatform.cli import output
from kgplatform.describing import EntityView, Fact, Reference
from kgplatform.types import Evidence

_QUOTE = 110


def print_view(view: EntityView) -> None:
    """Prints names, classes, facts with their passages, and what refers to it."""
    output.say(view.label)
    names = dict.fromkeys(word.text for word in (*view.labels, *view.aliases) if word.text != view.label)
    if names:
        output.say(f"  also {', '.join(names)}")
    output.say(f"  {view.iri.value}")
    if view.types:
        output.say(f"  {', '.join(reference.label for reference in view.types)}")
    if view.description:
        output.say(f"  {view.description}")
    if view.replaced_by is not None:
        output.say(f"  replaced by {view.replaced_by.label}")
    for fact in view.facts:
        _print_fact(fact)
    for incoming in view.incoming:
        subjects = ", ".join(subject.label for subject in incoming.subjects)
        output.say(f"\n{incoming.predicate.label} of this ({incoming.total})\n  {output.cut(subjects, _QUOTE)}")


def _print_fact(fact: Fact) -> None:
    more = f", {len(fact.values)} of {fact.total}" if fact.total > len(fact.values) else ""
    output.say(f"\n{fact.predicate.label}{more}")
    for value in fact.values:
        unit = f" {fact.unit}" if fact.unit else ""
        origins = f"  ({', '.join(value.origins)})" if value.origins else ""
        output.say(f"  {value.value.label}{unit}{origins}")
        for passage in value.evidence[:2]:
            output.say(f"      “{output.cut(passage.quote, _QUOTE)}” — {passage.title}")


def view_json(view: EntityView) -> dict[str, object]:
    """The view as JSON values."""
    return {
        "iri": view.iri.value,
        "label": view.label,
        "labels": [{"text": word.text, "language": word.language} for word in view.labels],
        "aliases": [{"text": word.text, "language": word.language} for word in view.aliases],
        "types": [_reference(reference) for reference in view.types],
        "description": view.description,
        "facts": [_fact(fact) for fact in view.facts],
        "incoming": [
            {
                "property": _reference(incoming.predicate),
                "subjects": [_reference(subject) for subject in incoming.subjects],
                "total": incoming.total,
            }
            for incoming in view.incoming
        ],
    }


def _fact(fact: Fact) -> dict[str, object]:
    values = [
        {
            **_reference(value.value),
            "origins": list(value.origins),
            "evidence": [_passage(passage) for passage in value.evidence],
        }
        for value in fact.values
    ]
    return {"property": _reference(fact.predicate), "unit": fact.unit, "total": fact.total, "values": values}


def _reference(reference: Reference) -> dict[str, object]:
    return {**output.term_json(reference.term), "label": reference.label}


def _passage(passage: Evidence) -> dict[str, object]:
    return {
        "chunk": passage.chunk.value,
        "document": passage.document.value,
        "title": passage.title,
        "quote": passage.quote,
        "start": passage.start,
        "end": passage.end,
    }
