"""What is found as JSON values, the same on the command line, over HTTP and for tools."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyoxigraph import BlankNode, NamedNode, Triple

from kgplatform.vocab import XSD_STRING

if TYPE_CHECKING:
    from kgplatform.entities import EntityFact, EntityView, Reference
    from kgplatform.reasoning.inference import Explanation
    from kgplatform.types import Term

_PASSAGE = ("chunk", "document", "title", "quote", "start", "end", "given")


def fields(item: object, *names: str) -> dict[str, object]:
    """The attributes of that name as JSON values: IRIs as text, tuples as lists."""
    return {name: _plain(getattr(item, name)) for name in names}


def _plain(value: object) -> object:
    if isinstance(value, NamedNode):
        return value.value
    return [_plain(item) for item in value] if isinstance(value, tuple | list) else value


def term_json(term: Term) -> dict[str, str]:
    """A term as in SPARQL 1.1 Query Results JSON, §3.2.2."""
    if isinstance(term, NamedNode):
        return {"type": "uri", "value": term.value}
    if isinstance(term, BlankNode):
        return {"type": "bnode", "value": term.value}
    if isinstance(term, Triple):
        return {"type": "triple", "value": str(term)}
    found = {"type": "literal", "value": term.value}
    if term.language:
        found["xml:lang"] = term.language
    elif term.datatype != XSD_STRING:
        found["datatype"] = term.datatype.value
    return found


def view_json(view: EntityView) -> dict[str, object]:
    """An entity with its facts, their passages, and what refers to it."""
    return {
        "iri": view.iri.value,
        "label": view.label,
        "labels": [fields(word, "text", "language") for word in view.labels],
        "aliases": [fields(word, "text", "language") for word in view.aliases],
        "types": [_reference(reference) for reference in view.types],
        "description": view.description,
        "facts": [_fact(fact) for fact in view.facts],
        "incoming": [
            {"property": _reference(one.predicate), "subjects": [*map(_reference, one.subjects)], "total": one.total}
            for one in view.incoming
        ],
    }


def _fact(fact: EntityFact) -> dict[str, object]:
    values = [
        {
            **_reference(value.value),
            "origins": list(value.origins),
            "evidence": [fields(passage, *_PASSAGE) for passage in value.evidence],
        }
        for value in fact.values
    ]
    return {"property": _reference(fact.predicate), "unit": fact.unit, "total": fact.total, "values": values}


def _reference(reference: Reference) -> dict[str, object]:
    return {**term_json(reference.term), "label": reference.label}


def explanation_json(found: Explanation) -> dict[str, object]:
    """A statement with its passages, or the rule and the premises that it follows from, down to theirs."""
    return {
        "statement": _triple_json(found.statement),
        "rule": found.rule.kind.value if found.rule else None,
        "axiom": _triple_json(found.rule.axiom) if found.rule else None,
        "premises": [explanation_json(premise) for premise in found.premises],
        "origins": list(found.origins),
        "evidence": [fields(passage, *_PASSAGE) for passage in found.evidence],
    }


def _triple_json(triple: Triple) -> dict[str, object]:
    return {name: term_json(getattr(triple, name)) for name in ("subject", "predicate", "object")}
