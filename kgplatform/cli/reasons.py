"""How `why` and `build` print what was inferred, and why."""

from __future__ import annotations

from collections.abc import Mapping

from pyoxigraph import Triple

from kgplatform.building.inferring import Inferred
from kgplatform.cli import output
from kgplatform.describing import Labels
from kgplatform.inference import Explanation, Finding

_QUOTE = 110
_MOST_FINDINGS = 10
_WRONG = {
    "disjoint": "is of two classes that share nothing",
    "functional": "has several values of a property that has one at most",
    "inverse functional": "is the value of several things where it can be of one only",
    "irreflexive": "is related to itself by a property that forbids it",
    "asymmetric": "is related both ways by a property that goes one way",
    "limit": "leads to more conclusions than `inference.max_statements`; this axiom was left out",
}


def print_explanation(found: Explanation, labels: Labels) -> None:
    """Prints a statement, the rule it follows by, and below it the premises with their passages."""
    shown: set[Triple] = set()
    _print(found, labels, "", shown)


def _print(found: Explanation, labels: Labels, indent: str, shown: set[Triple]) -> None:
    origins = f"  ({', '.join(found.origins)})" if found.origins else ""
    output.say(f"{indent}{_sentence(found.statement, labels)}{origins}")
    if found.statement in shown:
        output.say(f"{indent}  as above")
        return
    shown.add(found.statement)
    for passage in found.evidence:
        output.say(f"{indent}    “{output.cut(passage.quote, _QUOTE)}” — {passage.title}")
    if found.rule is not None:
        output.say(f"{indent}  because ({found.rule.kind.value}: {_sentence(found.rule.axiom, labels)})")
        for premise in found.premises:
            _print(premise, labels, f"{indent}  ", shown)


def _sentence(triple: Triple, labels: Labels) -> str:
    parts = (triple.subject, triple.predicate, triple.object)
    return " · ".join(labels.reference(part).label for part in parts)


def explanation_json(found: Explanation) -> dict[str, object]:
    """The explanation as JSON values, premises nested."""
    return {
        "statement": _triple_json(found.statement),
        "rule": found.rule.kind.value if found.rule else None,
        "axiom": _triple_json(found.rule.axiom) if found.rule else None,
        "premises": [explanation_json(premise) for premise in found.premises],
        "origins": list(found.origins),
        "evidence": [
            {
                "chunk": passage.chunk.value,
                "document": passage.document.value,
                "title": passage.title,
                "quote": passage.quote,
                "start": passage.start,
                "end": passage.end,
            }
            for passage in found.evidence
        ],
    }


def _triple_json(triple: Triple) -> dict[str, object]:
    return {
        "subject": output.term_json(triple.subject),
        "predicate": output.term_json(triple.predicate),
        "object": output.term_json(triple.object),
    }


def print_inferred(inferred: Inferred, prefixes: Mapping[str, str]) -> None:
    """Prints how many conclusions there are, and what cannot be."""
    output.say(f"{inferred.total} conclusions, {inferred.gained} new, {inferred.lost} gone")
    for finding in inferred.findings[:_MOST_FINDINGS]:
        output.note(_finding(finding, prefixes))
    if len(inferred.findings) > _MOST_FINDINGS:
        output.note(f"and {len(inferred.findings) - _MOST_FINDINGS} more such findings")


def _finding(finding: Finding, prefixes: Mapping[str, str]) -> str:
    statements = "; ".join(
        " ".join(output.short(part, prefixes) for part in (t.subject, t.predicate, t.object))
        for t in finding.statements[:3]
    )
    return f"{output.short(finding.subject, prefixes)} {_WRONG[finding.kind]}: {statements}"
