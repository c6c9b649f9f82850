"""Annotated examples, read from a JSON Lines file: a text and the triples it says.

A line is an object with ``text`` and ``triples``, a list of ``[subject, property, object]``. The property is an IRI,
a local name or a label of the ontology. Optional ``types`` gives the classes of subject and object of each triple.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Final

from pyoxigraph import NamedNode

from kgplatform.lexicon import LexiconSection
from kgplatform.ontology.schema import Ontology
from kgplatform.text import read_json_lines
from kgplatform.vocab import local_name

# Dates and numbers

_LEXICON: Final = LexiconSection("extraction", "examples")
_MONTHS: Final = _LEXICON.text("months").split()
_MONTH = _LEXICON.text("month")
_DAY = r"(?P<d{0}>\d{{1,2}})(?:st|nd|rd|th)?"
_DATE = re.compile(
    rf"(?<![\w/.-])(?:{_DAY.format(1)}\s+(?:of\s+)?(?P<m1>{_MONTH}),?\s+(?:of\s+)?(?P<y1>\d{{4}})"
    rf"|(?P<m2>{_MONTH})\s+(?:the\s+)?{_DAY.format(2)},?\s+(?:of\s+)?(?P<y2>\d{{4}})"
    r"|(?P<y3>\d{4})[-/.](?P<m3>\d{1,2})[-/.](?P<d3>\d{1,2})"
    r"|(?P<a4>\d{1,2})[-/.](?P<b4>\d{1,2})[-/.](?P<y4>\d{4})"
    r"|(?P<y5>\d{4})\s*年\s*(?P<m5>\d{1,2})\s*月\s*(?P<d5>\d{1,2})\s*日?"
    rf"|(?P<m6>{_MONTH})\s+(?:of\s+)?(?P<y6>[12]\d{{3}})"
    r"|(?P<y7>[12]\d{3})(?:\s*年)?)(?![\w/-]|[.,]\d)",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"[-+]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?")

Day = tuple[int, int, int]
"""Year, month and day; 0 where not written."""


def dates_in(text: str) -> Iterator[tuple[int, int, Day]]:
    """The dates and years of a text with their offsets, in order."""
    for match in _DATE.finditer(text):
        day = _day(match)
        if day is not None:
            yield match.start(), match.end(), day


def day_of(text: str) -> Day | None:
    """The date that the text, as a whole, writes; None where it writes none."""
    found = [day for start, end, day in dates_in(text.strip()) if (start, end) == (0, len(text.strip()))]
    return found[0] if found else None


def _day(match: re.Match[str]) -> Day | None:
    part = {key[0]: value for key, value in match.groupdict().items() if value is not None}
    year = int(part["y"])
    if "a" in part:
        first, second = int(part["a"]), int(part["b"])
        month, day = (second, first) if first > 12 else (first, second)
    else:
        month, day = _month(part.get("m", "0")), int(part.get("d", 0))
    try:
        date(year, month or 1, day or 1)
    except ValueError:
        return None
    return year, month, day


def _month(text: str) -> int:
    if text.isdigit():
        return int(text)
    return next(number for number, name in enumerate(_MONTHS, 1) if name.startswith(text.casefold()[:3]))


def number_of(text: str) -> float | None:
    """The number that the text begins with and, but for a unit, is; None where it is none."""
    match = _NUMBER.match(text.strip())
    if match is None or re.search(r"\d", text.strip()[match.end() :]):
        return None
    return float(match.group().replace(",", ""))


def _iso(day: Day) -> str:
    return f"{day[0]:04d}-{day[1] or 1:02d}-{day[2] or 1:02d}"


def _long(day: Day) -> str:
    return f"{day[2] or 1:02d} {_MONTHS[(day[1] or 1) - 1].capitalize()} {day[0]}"


def _short(day: Day) -> str:
    return f"{day[2] or 1} {_MONTHS[(day[1] or 1) - 1].capitalize()} {day[0]}"


def _american(day: Day) -> str:
    return f"{_MONTHS[(day[1] or 1) - 1].capitalize()} {day[2] or 1}, {day[0]}"


def _han(day: Day) -> str:
    return f"{day[0]}年{day[1] or 1}月{day[2] or 1}日"


def _only_year(day: Day) -> str:
    return str(day[0])


WRITERS: Final = {
    "iso": _iso,
    "long": _long,
    "short": _short,
    "american": _american,
    "han": _han,
    "year": _only_year,
}
"""The forms in which dates are written; what a text leaves out is the first."""


def form_of(value: str, written: str) -> str:
    """The name of the form that makes ``value`` of what the text has ``written``.

    ``as written``, one of `WRITERS`, or ``number`` with what follows it: a unit that the value has and the text not.
    """
    if value.strip() == written.strip():
        return "as written"
    day = day_of(written)
    if day is not None:
        for name, writer in WRITERS.items():
            if writer(day) == value.strip():
                return name
    match = _NUMBER.match(value.strip())
    if match is not None and number_of(written) == number_of(value) is not None:
        return "number" + value.strip()[match.end() :]
    return "as written"


def formed(written: str, form: str) -> str:
    """What the text has written, in that form; as it is where the form does not apply."""
    day = day_of(written)
    if form in WRITERS and day is not None:
        return WRITERS[form](day)
    match = _NUMBER.match(written.strip())
    if form.startswith("number") and match is not None and number_of(written) is not None:
        return match.group().replace(",", "") + form.removeprefix("number")
    return written


# Annotated examples

MAX_CHARACTERS = 4_000
"""Longer texts are no examples: what is said where could not be told."""


@dataclass(frozen=True, slots=True)
class ExampleFact:
    """A triple of an example; the classes of subject and object where the example gives them."""

    subject: str
    predicate: NamedNode
    object: str
    subject_class: NamedNode | None = None
    object_class: NamedNode | None = None


@dataclass(frozen=True, slots=True)
class AnnotatedExample:
    """A text with what it says in terms of the ontology; ``unsaid`` are the names in the ``left_out`` others."""

    text: str
    said: tuple[ExampleFact, ...]
    line: int = 0
    unsaid: tuple[str, ...] = ()
    left_out: int = 0


@dataclass(frozen=True, slots=True)
class ExampleSet:
    """The examples of a file that can be used, and a sentence for each line that cannot."""

    examples: tuple[AnnotatedExample, ...]
    problems: tuple[str, ...] = ()


class TermNames:
    """The terms of an ontology by IRI, local name and label, whatever the case, blanks and underscores."""

    def __init__(self, ontology: Ontology) -> None:
        self._properties = _by_name({item.iri: [w.text for w in item.words] for item in ontology.domain_properties})
        self._classes = _by_name({item.iri: [w.text for w in item.words] for item in ontology.domain_classes})

    def property(self, name: str) -> NamedNode | None:
        """The property of that IRI, local name or label; None where there is none."""
        return self._properties.get(name) or self._properties.get(_plain(name))

    def class_(self, name: object) -> NamedNode | None:
        """The class of that IRI, local name or label; None where there is none."""
        if not isinstance(name, str):
            return None
        return self._classes.get(name) or self._classes.get(_plain(name))


def _by_name(terms: Mapping[NamedNode, list[str]]) -> dict[str, NamedNode]:
    found: dict[str, NamedNode] = {}
    for rank in range(3):  # IRIs before local names before labels
        for iri in sorted(terms, key=lambda item: (not terms[item], item.value)):  # borrowed terms have no words here
            names = ([iri.value], [_plain(local_name(iri.value))], [_plain(word) for word in terms[iri]])[rank]
            for name in names:
                found.setdefault(name, iri)
    return found


def _plain(name: str) -> str:
    return "".join(name.replace("_", " ").split()).casefold()


def read_examples(path: Path, ontology: Ontology) -> ExampleSet:
    """The examples of a file whose triples the ontology can say.

    Raises:
        ReadError: the file cannot be read, or none of its lines can be used; the message says why of the first.
    """
    names = TermNames(ontology)
    found, problems = read_json_lines(path, lambda item, number: _example(item, number, names), what="example")
    return ExampleSet(tuple(found), tuple(problems))


def _example(item: Mapping[str, object], number: int, names: TermNames) -> AnnotatedExample:
    text, triples = item.get("text"), item.get("triples")
    if not isinstance(text, str) or not text.strip():
        raise ValueError("has no text")
    if len(text) > MAX_CHARACTERS:
        raise ValueError(f"its text is longer than {MAX_CHARACTERS:,} characters")
    if not isinstance(triples, list):
        raise ValueError("has no list of triples")
    types = item.get("types")
    classes = types if isinstance(types, list) and len(types) == len(triples) else [None] * len(triples)
    unknown: list[str] = []
    unsaid: list[str] = []
    said: dict[tuple[str, NamedNode, str], ExampleFact] = {}
    for triple, kinds in zip(triples, classes, strict=True):
        one = _said(triple, kinds, names)
        if isinstance(one, str):
            unknown.append(one)
            unsaid.extend((str(triple[0]), str(triple[2])))
        else:
            said.setdefault((one.subject, one.predicate, one.object), one)
    if triples and not said:
        raise ValueError(f"the ontology has no property {unknown[0]!r}")
    return AnnotatedExample(text, tuple(said.values()), number, tuple(dict.fromkeys(unsaid)), len(unknown))


def _said(triple: object, kinds: object, names: TermNames) -> ExampleFact | str:
    """The triple in terms of the ontology; the name of its property where the ontology has none."""
    if not isinstance(triple, list) or len(triple) != 3:
        raise ValueError("holds a triple that is not [subject, property, object]")
    subject, predicate, object_ = (str(part).strip() if isinstance(part, str | int | float) else "" for part in triple)
    if not subject or not predicate or not object_:
        raise ValueError("holds a triple with an empty part")
    iri = names.property(predicate)
    if iri is None:
        return predicate
    first, last = (kinds[0], kinds[-1]) if isinstance(kinds, list) and len(kinds) >= 2 else (None, None)
    return ExampleFact(subject, iri, object_, names.class_(first), names.class_(last))
