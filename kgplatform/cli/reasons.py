"""How `why` and `build` print what was inferred, and why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pyoxigraph import Triple

from kgplatform.building.inferring import Inferred
from kgplatform.cli import output
from kgplatform.describing import Labels
from kgplatform.inference import Explanation, Finding, Rule, RuleKind
from kgplatform.inference.rules import Atom
from kgplatform.text import has_han
from kgplatform.vocab import TYPE

_QUOTE = 110
_MOST_FINDINGS = 10
_WRONG = {
    "disjoint": "is of two classes that share nothing",
    "functional": "has several values of a property that has one at most",
    "inverse functional": "is the value of several things where it can be of one only",
    "irreflexive": "is related to itself by a property that forbids it",
    "asymmetric": "is related both ways by a property that goes one way",
    "limit": (
        "leads to more conclusions than `inference.max_statements` allows, so that no conclusions are drawn from this "
        "axiom until there are fewer statements or the limit is raised"
    ),
}

_SIGNS = {RuleKind.CHAIN: " ∘ ", RuleKind.INTERSECTION: " ∩ "}


@dataclass(frozen=True, slots=True)
class _Words:
    """The words round an explanation: for a rule, for what was shown already, and for kinds and origins."""

    because: str
    above: str
    names: Mapping[str, str]


_WORDS = {
    "en": _Words("because", "as above", {}),
    "zh": _Words(
        "因为",
        "同上",
        {
            "subproperty": "子属性",
            "equivalent property": "等价属性",
            "inverse": "逆属性",
            "symmetric": "对称属性",
            "chain": "属性链",
            "transitive": "传递属性",
            "same": "同一事物",
            "domain": "定义域",
            "range": "值域",
            "subclass": "子类",
            "equivalent class": "等价类",
            "intersection": "交集",
            "inverse of": "互逆于",
            "sub class of": "子类于",
            "sub property of": "子属性于",
            "property chain axiom": "来自属性链",
            "equivalent to": "等价于",
            "intersection of": "交集",
            "union of": "并集",
            "asserted": "人工陈述",
            "ontology": "本体",
            "links": "链接",
        },
    ),
}


def language_asked_in(*parts: str) -> str:
    """``zh`` where a part of the statement was named in Chinese, else ``en``."""
    return "zh" if any(has_han(part) for part in parts if "://" not in part) else "en"


def print_explanation(found: Explanation, labels: Labels, language: str = "en") -> None:
    """Prints a statement, the rule it follows by, and below it the premises with their passages."""
    _Printed(labels, _WORDS[language]).explanation(found, "")


class _Printed:
    """Prints explanations; a statement that comes again is not explained twice."""

    def __init__(self, labels: Labels, words: _Words) -> None:
        self._labels = labels
        self._words = words
        self._shown: set[Triple] = set()

    def explanation(self, found: Explanation, indent: str) -> None:
        origins = (
            f"  ({', '.join(self._words.names.get(name, name) for name in found.origins)})" if found.origins else ""
        )
        output.say(f"{indent}{self._sentence(found.statement)}{origins}")
        if found.statement in self._shown:
            output.say(f"{indent}  {self._words.above}")
            return
        self._shown.add(found.statement)
        for passage in found.evidence:
            output.say(f"{indent}    “{output.cut(passage.quote, _QUOTE)}” — {passage.title}")
        if found.rule is not None:
            kind = self._words.names.get(found.rule.kind.value, found.rule.kind.value)
            output.say(f"{indent}  {self._words.because} ({kind}: {self._axiom(found.rule)})")
            for premise in found.premises:
                self.explanation(premise, f"{indent}  ")

    def _axiom(self, rule: Rule) -> str:
        """The axiom in words; a chain or intersection by its members, since the node of the list has no name."""
        axiom = rule.axiom
        subject, relation = (self._labels.reference(part).label for part in (axiom.subject, axiom.predicate))
        if axiom.predicate == TYPE:  # a property of a kind: the kind was named
            return subject
        sign = _SIGNS.get(rule.kind)
        members = sign.join(self._member(atom) for atom in rule.body) if sign else None
        object_ = members or self._labels.reference(axiom.object).label
        return f"{subject} · {self._words.names.get(relation, relation)} · {object_}"

    def _member(self, atom: Atom) -> str:
        return self._labels.reference(atom.predicate if isinstance(atom.object, str) else atom.object).label

    def _sentence(self, triple: Triple) -> str:
        parts = (triple.subject, triple.predicate, triple.object)
        return " · ".join(self._labels.reference(part).label for part in parts)


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
