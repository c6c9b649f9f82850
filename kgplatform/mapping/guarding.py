"""Cells looked at before the engine gets them: it stops at the first number that is none, and passes bad IRIs on."""

from __future__ import annotations

import re
from typing import Final

from kgplatform.mapping.rules import DATATYPE, IRI, Kind, Rule, TermMap
from kgplatform.vocab import XSD, local_name

_DIGITS = r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)"
_DAY = r"-?\d{4,}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])"
_ZONE = r"(?:Z|[+-]\d{2}:\d{2})?"
_FORMS: Final[dict[str, str]] = {
    f"{XSD}integer": r"[+-]?\d+(?:\.0+)?",
    f"{XSD}nonNegativeInteger": r"\+?\d+(?:\.0+)?",
    f"{XSD}positiveInteger": r"\+?0*[1-9]\d*(?:\.0+)?",
    f"{XSD}decimal": _DIGITS,
    f"{XSD}double": rf"{_DIGITS}(?:[eE][+-]?\d+)?|[+-]?INF|NaN",
    f"{XSD}float": rf"{_DIGITS}(?:[eE][+-]?\d+)?|[+-]?INF|NaN",
    f"{XSD}boolean": r"(?i:true|false|0|1)",
    f"{XSD}date": _DAY + _ZONE,
    f"{XSD}dateTime": rf"{_DAY}[T ]\d{{2}}:\d{{2}}:\d{{2}}(?:\.\d+)?{_ZONE}",
    f"{XSD}time": rf"\d{{2}}:\d{{2}}:\d{{2}}(?:\.\d+)?{_ZONE}",
    f"{XSD}gYear": rf"-?\d{{4,}}{_ZONE}",
}
_WORDS: Final = {"integer": "a whole number", "decimal": "a number", "double": "a number", "float": "a number"}
_IRI: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:[^\x00-\x20<>\"{}|^`\\]+")
_INTEGERS: Final = frozenset(f"{XSD}{name}" for name in ("integer", "nonNegativeInteger", "positiveInteger"))


class Guard:
    """What a cell must look like for one column of one rule."""

    def __init__(self, column: str, pattern: re.Pattern[str], wanted: str, *, is_whole: bool = False) -> None:
        self.column = column
        self._pattern = pattern
        self.wanted = wanted
        self.is_whole = is_whole

    def passes(self, text: str) -> bool:
        """Whether the cell is as wanted."""
        return self._pattern.fullmatch(text) is not None


def guards(rule: Rule) -> tuple[Guard, ...]:
    """What the cells of a rule must look like: those that become IRIs as they are, and those with a datatype."""
    found = [Guard(t.value, _IRI, "an IRI") for t in (rule.subject, rule.predicate, rule.object) if _is_plain_iri(t)]
    tag = rule.tag_map
    is_typed = rule.tag == DATATYPE and tag is not None and tag.kind is Kind.CONSTANT
    if is_typed and tag is not None and rule.object.kind is Kind.REFERENCE and tag.value in _FORMS:
        name = local_name(tag.value)
        wanted = _WORDS.get(name, f"an xsd:{name}")
        found.append(Guard(rule.object.value, re.compile(_FORMS[tag.value]), wanted, is_whole=tag.value in _INTEGERS))
    return tuple(found)


def _is_plain_iri(term: TermMap) -> bool:
    return term.kind is Kind.REFERENCE and term.form in (IRI, "")
