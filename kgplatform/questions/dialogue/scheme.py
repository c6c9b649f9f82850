"""How an ontology says its things are asked for (`Scheme`), bound to a graph (`BoundScheme`), and look-ups by it."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Final, TypeAlias

import pyoxigraph as ox
from pyoxigraph import Literal, NamedNode, Triple

from kgplatform import lexicon
from kgplatform.errors import OntologyError, StoreError
from kgplatform.ontology.schema import Word, label_of
from kgplatform.questions.name_index import GraphName, NameIndex
from kgplatform.store.oxigraph import parse
from kgplatform.types import RunQuery, Solutions, Term
from kgplatform.vocab import LABEL, RDF, RDFS, SKOS, SUBCLASS_OF, TYPE, XSD

# What an ontology says about how its things are asked for: what identifies them, question classes, their words.

QUESTIONS: Final = "https://w3id.org/kgplatform/questions#"
SUFFIX: Final = ".questions.ttl"
WAYS: Final = ("window", "place", "next", "ownerWindow", "ownerPlace", "code")
NONE: Final = "none"
"""The class of a question that nothing is missing from."""


@dataclass(frozen=True, slots=True)
class QuestionClass:
    """A class of questions that leave something out; ``way`` is how they are answered, ``notation`` their number."""

    notation: str
    way: str
    words: tuple[Word, ...]
    comments: tuple[Word, ...]
    cues: tuple[Word, ...]
    examples: tuple[Word, ...]

    def label(self, language: str) -> str:
        """What the class is called."""
        return label_of(self.words, language, self.notation)


@dataclass(frozen=True, slots=True)
class TimeSpan:
    """A stretch of time that has a name, from one property's moment to another's.

    ``expected`` stands in for ``ends`` while that has not happened. ``states`` are words for a thing whose stretch is
    longer than nothing ("delayed"), ``opposites`` for one whose stretch is not ("on time"). ``across``: from a moment
    of one thing to that of another, such as a change of flights.
    """

    begins: NamedNode
    ends: NamedNode
    words: tuple[Word, ...]
    cues: tuple[Word, ...]
    expected: NamedNode | None = None
    states: tuple[Word, ...] = ()
    opposites: tuple[Word, ...] = ()
    across: bool = False


@dataclass(frozen=True, slots=True)
class Jargon:
    """Words of the trade for the thing that has a value, such as "Delta" for the airline whose code is DL.

    Without a property ``value`` is the thing itself.
    """

    property: NamedNode | None
    value: Literal | NamedNode
    words: tuple[Word, ...]


@dataclass(frozen=True, slots=True)
class Scheme:
    """How things of one class are asked for; each role names a property, or none."""

    about: NamedNode
    identifier: NamedNode | None
    code: NamedNode | None
    owner: NamedNode | None
    owner_code: NamedNode | None
    places: tuple[NamedNode, ...]
    shown_places: tuple[NamedNode, ...]
    moment: NamedNode | None
    timetable: NamedNode | None
    happened: NamedNode | None
    changed: NamedNode | None
    successor: NamedNode | None
    queue: NamedNode | None
    queue_moments: tuple[NamedNode, ...]
    details: tuple[NamedNode, ...]
    classes: tuple[QuestionClass, ...]
    spans: tuple[TimeSpan, ...]
    said: tuple[tuple[NamedNode, Word], ...]
    jargon: tuple[Jargon, ...] = ()
    markers: tuple[tuple[NamedNode, Word], ...] = ()
    voids: tuple[NamedNode, ...] = ()
    nouns: tuple[str, ...] = ()
    numbered: tuple[str, ...] = ()
    idle: frozenset[str] = frozenset()

    def of_way(self, way: str) -> QuestionClass | None:
        """The class that goes that way."""
        return next((item for item in self.classes if item.way == way), None)

    def spoken(self) -> dict[str, str]:
        """The parts of patterns: ``thing``, what the things are called, in Latin letters ``latin``; ``numbered``."""
        latin = [noun for noun in self.nouns if noun.isascii()]
        return {"thing": _either(self.nouns), "latin": _either(latin), "numbered": _either(self.numbered)}


def _either(words: Sequence[str]) -> str:
    """An expression that matches any of the words, and nothing where there are none."""
    return "|".join(map(re.escape, words)) or "(?!)"


UNSPOKEN: Final = dict.fromkeys(("thing", "latin", "numbered"), "(?!)")
"""The parts of patterns where no scheme says them."""


def read_schemes(ontologies: Iterable[Path]) -> tuple[Scheme, ...]:
    """The schemes that lie beside ontology files, each in a file of the same name that ends in ``.questions.ttl``.

    Raises:
        OntologyError: such a file cannot be read, or says less than a scheme needs.
    """
    found: list[Scheme] = []
    for path in ontologies:
        beside = path.with_name(f"{path.stem}{SUFFIX}")
        if beside.is_file():
            found += _read(beside)
    return tuple(found)


def _read(path: Path) -> list[Scheme]:
    try:
        triples = [quad.triple for quad in parse(path.read_bytes(), ox.RdfFormat.TURTLE)]
    except (OSError, StoreError) as error:
        raise OntologyError(str(error), source=path.name) from error
    facts = _Facts(triples)
    schemes = [facts.scheme(node, path.name) for node in facts.instances(_q("Scheme"))]
    if not schemes:
        raise OntologyError(f"has no <{QUESTIONS}Scheme>", source=path.name)
    return schemes


def _q(name: str) -> NamedNode:
    return NamedNode(f"{QUESTIONS}{name}")


class _Facts:
    """The statements of one file, looked up by subject and predicate."""

    def __init__(self, triples: Sequence[Triple]) -> None:
        self._triples = triples

    def instances(self, kind: NamedNode) -> list[NamedNode]:
        found = [t.subject for t in self._triples if t.predicate == TYPE and t.object == kind]
        return [node for node in found if isinstance(node, NamedNode)]

    def _objects(self, subject: object, predicate: NamedNode) -> list[object]:
        return [t.object for t in self._triples if t.subject == subject and t.predicate == predicate]

    def _nodes(self, subject: object, name: str) -> tuple[NamedNode, ...]:
        return tuple(node for node in self._objects(subject, _q(name)) if isinstance(node, NamedNode))

    def _node(self, subject: object, name: str) -> NamedNode | None:
        return next(iter(self._nodes(subject, name)), None)

    def _words(self, subject: object, predicate: NamedNode) -> tuple[Word, ...]:
        found = [node for node in self._objects(subject, predicate) if isinstance(node, Literal)]
        return tuple(Word(literal.value, literal.language or "") for literal in found)

    def _listed(self, subject: object, name: str) -> tuple[NamedNode, ...]:
        """The members of an RDF list, in order."""
        found: list[NamedNode] = []
        here = next(iter(self._objects(subject, _q(name))), None)
        while here is not None and len(found) < len(self._triples):
            found += [node for node in self._objects(here, NamedNode(f"{RDF}first")) if isinstance(node, NamedNode)]
            here = next(iter(self._objects(here, NamedNode(f"{RDF}rest"))), None)
        return tuple(found)

    def scheme(self, node: NamedNode, source: str) -> Scheme:
        about = self._node(node, "about")
        if about is None:
            raise OntologyError(f"{node} does not say what it is about ({_q('about')})", source=source)
        classes = [self._class(item, source) for item in self._nodes(node, "questionClass")]
        spans = tuple(self._span(item, source) for item in self._nodes(node, "span"))
        states = [word for span in spans for word in (*span.states, *span.opposites)]
        return Scheme(
            about=about,
            identifier=self._node(node, "identifier"),
            code=self._node(node, "code"),
            owner=self._node(node, "owner"),
            owner_code=self._node(node, "ownerCode"),
            places=self._nodes(node, "place"),
            shown_places=self._nodes(node, "shownPlace") or self._nodes(node, "place"),
            moment=self._node(node, "moment"),
            timetable=self._node(node, "timetable") or self._node(node, "moment"),
            happened=self._node(node, "happened"),
            changed=self._node(node, "changed"),
            successor=self._node(node, "successor"),
            queue=self._node(node, "queue"),
            queue_moments=self._nodes(node, "queueMoment"),
            details=self._listed(node, "detail"),
            classes=tuple(sorted(classes, key=lambda item: item.notation)),
            spans=spans,
            said=self._spoken("said"),
            markers=self._spoken("before"),
            voids=self._nodes(node, "void"),
            nouns=tuple(word.text for word in self._words(node, _q("noun"))),
            numbered=tuple(word.text for word in self._words(node, _q("numbered"))),
            idle=frozenset(word.text.casefold() for word in (*self._words(node, _q("idle")), *states)),
            jargon=tuple(self._jargon(item, source) for item in self._nodes(node, "glossary")),
        )

    def _spoken(self, name: str) -> tuple[tuple[NamedNode, Word], ...]:
        """The words that the file gives to terms by an annotation."""
        return tuple(
            (t.subject, Word(t.object.value, t.object.language or ""))
            for t in self._triples
            if t.predicate == _q(name) and isinstance(t.subject, NamedNode) and isinstance(t.object, Literal)
        )

    def _class(self, node: NamedNode, source: str) -> QuestionClass:
        way = next((word.text for word in self._words(node, _q("way"))), "")
        if way not in WAYS:
            raise OntologyError(f"{node} goes the way {way!r}; ways are {', '.join(WAYS)}", source=source)
        notation = self._words(node, NamedNode(f"{SKOS}notation"))
        return QuestionClass(
            notation=notation[0].text if notation else way,
            way=way,
            words=self._words(node, LABEL),
            comments=self._words(node, NamedNode(f"{RDFS}comment")),
            cues=self._words(node, _q("cue")),
            examples=self._words(node, NamedNode(f"{SKOS}example")),
        )

    def _jargon(self, node: NamedNode, source: str) -> Jargon:
        meant, predicate = self._node(node, "means"), self._node(node, "property")
        if meant is not None:
            return Jargon(None, meant, self._words(node, _q("cue")))
        value = next((v for v in self._objects(node, _q("value")) if isinstance(v, Literal)), None)
        if predicate is None or value is None:
            raise OntologyError(f"{node} needs {_q('property')} and {_q('value')}, or {_q('means')}", source=source)
        return Jargon(predicate, value, self._words(node, _q("cue")))

    def _span(self, node: NamedNode, source: str) -> TimeSpan:
        begins, ends = self._node(node, "begins"), self._node(node, "ends")
        if begins is None or ends is None:
            raise OntologyError(f"{node} needs {_q('begins')} and {_q('ends')}", source=source)
        return TimeSpan(
            begins=begins,
            ends=ends,
            words=self._words(node, LABEL),
            cues=self._words(node, _q("cue")),
            expected=self._node(node, "expected"),
            states=self._words(node, _q("state")),
            opposites=self._words(node, _q("opposite")),
            across=any(word.text == "true" for word in self._words(node, _q("across"))),
        )


# Codes that are said in part or aloud: "0123", "123", "KL 123", "seven eight seven", 七八七.

_FULL = re.compile(
    r"(?<![A-Za-z0-9-])([A-Za-z]{1,3}|[A-Za-z]\d|\d[A-Za-z])[ -]?0*(\d{1,5}[A-Za-z]?)(?![A-Za-z0-9-]|:\d)"
)
_DIGITS = re.compile(r"(?<![A-Za-z0-9.:/-])(\d{2,5})(?![A-Za-z0-9/]|[.:-]\d|%)")
_SPOKEN: Final = lexicon.table("scheme.spoken")
_ALOUD = re.compile(rf"\b(?:{'|'.join(_SPOKEN)})(?:[ -]+(?:{'|'.join(_SPOKEN)}))+\b", re.IGNORECASE)
_HAN: Final = lexicon.table("scheme.han")
_ALOUD_HAN = lexicon.pattern("scheme.aloud_han", 0, digits="".join(_HAN))


@dataclass(frozen=True, slots=True)
class SpokenCode:
    """Digits of a code as they stand in a question; ``letters`` before them, if any were said."""

    digits: str
    letters: str
    start: int
    end: int


@dataclass(frozen=True)
class CodeIndex:
    """The codes of a graph, each of letters and then digits."""

    codes: tuple[str, ...]

    @cached_property
    def _exact(self) -> Mapping[str, str]:
        return {code.upper(): code for code in self.codes}

    @cached_property
    def _parts(self) -> Mapping[str, tuple[str, str]]:
        return {code: _split(code) for code in self.codes}

    @cached_property
    def _by_number(self) -> Mapping[str, tuple[str, ...]]:
        found: dict[str, list[str]] = defaultdict(list)
        for code, (_, number) in self._parts.items():
            found[number.lstrip("0") or "0"].append(code)
        return {number: tuple(sorted(listed)) for number, listed in found.items()}

    def known(self, letters: str, digits: str) -> str | None:
        """The code of these letters and digits, if there is one; leading zeros do not count."""
        plain = digits.lstrip("0") or "0"
        return next((c for d in (digits, plain) if (c := self._exact.get(f"{letters}{d}".upper()))), None)

    def candidates(self, digits: str, letters: Iterable[str] = ()) -> tuple[str, ...]:
        """The codes that a number may be part of: those of just this number, else those that begin with or hold it."""
        plain, wanted = digits.lstrip("0") or digits, {item.upper() for item in letters if item}
        same = [c for c in self._by_number.get(plain, ()) if not wanted or self._parts[c][0] in wanted]
        if same:
            return tuple(same)
        held = [
            (not number.startswith(plain), len(number), code)
            for code, (prefix, number) in self._parts.items()
            if plain in number and (not wanted or prefix in wanted)
        ]
        return tuple(code for _, _, code in sorted(held))


def _split(code: str) -> tuple[str, str]:
    """A code as its two or three leading characters and its number: U2 3968, KL 787."""
    match = re.fullmatch(r"([A-Za-z]{2,3}|[A-Za-z]\d|\d[A-Za-z]|[A-Za-z]?)(\d+)[A-Za-z]?", code)
    return (match[1].upper(), match[2]) if match else ("", "")


def full_codes(text: str, index: CodeIndex) -> Iterator[tuple[str, int, int]]:
    """The codes of the graph that a text holds, however spaced, with their places."""
    for match in _FULL.finditer(text):
        code = index.known(match[1], match[2])
        if code is not None:
            yield code, *match.span()


def numbers_said(text: str, around: str = "", spoken: Mapping[str, str] = UNSPOKEN) -> list[SpokenCode]:
    """The bare numbers of a text that may be part of a code, digits or spoken, in order.

    ``around`` is the text with what was taken out of it, to see what a number counts; ``spoken``: see `Scheme.spoken`.
    """
    around = around or text
    found = [SpokenCode(m[1], "", *m.span(1)) for m in _DIGITS.finditer(text) if _plausible(around, *m.span(1), spoken)]
    for match in _ALOUD.finditer(text):
        digits = "".join(_SPOKEN[word.casefold()] for word in re.split(r"[ -]+", match.group()))
        found.append(SpokenCode(digits, "", *match.span()))
    for match in _ALOUD_HAN.finditer(text):
        digits = "".join(_HAN[c] for c in match.group())
        if _plausible(around, *match.span(), spoken):
            found.append(SpokenCode(digits, "", *match.span()))
    return sorted(found, key=lambda said: said.start)


def _plausible(text: str, start: int, end: int, spoken: Mapping[str, str]) -> bool:
    """Whether a number is not plainly something else: an amount, a clock time, the number of a gate."""
    after, before = (lexicon.pattern(f"scheme.other_{side}", **spoken) for side in ("after", "before"))
    return not after.match(text[end:]) and not before.search(text[:start])


# A scheme bound to a graph: its codes, the moment it speaks of, and how anything named relates to its things.

Pair: TypeAlias = tuple[NamedNode, NamedNode | Literal]
"""A property of the things asked for, and its value."""

_FAR = 60


@dataclass(frozen=True, slots=True)
class Now:
    """The moment that "now" means, and whose it is: ``given``, ``clock`` or ``data``."""

    moment: datetime
    source: str


@dataclass(frozen=True)
class BoundScheme:
    """One scheme over one version of a graph."""

    scheme: Scheme
    names: NameIndex

    def _values(self, predicate: NamedNode | None) -> Iterable[object]:
        """The values of a property, each once."""
        return self.names.facts.values.get(predicate, {}) if predicate else ()

    @cached_property
    def codes(self) -> CodeIndex:
        """The codes that things have."""
        values = self._values(self.scheme.code)
        return CodeIndex(tuple(sorted({value.value for value in values if isinstance(value, Literal)})))

    @cached_property
    def identifiers(self) -> frozenset[str]:
        """The identifiers that things have."""
        values = self._values(self.scheme.identifier)
        return frozenset(value.value for value in values if isinstance(value, Literal))

    @cached_property
    def _moments(self) -> tuple[str, str, str]:
        """The first and last moment of the things, and the last change; empty where there is none."""
        times = self._texts(self.scheme.moment)
        changes = self._texts(self.scheme.changed)
        return min(times, default=""), max(times, default=""), max(changes, default="")

    def _texts(self, predicate: NamedNode | None) -> list[str]:
        values = self._values(predicate)
        return [value.value[:19] for value in values if isinstance(value, Literal) and _moment(value.value)]

    def now(self, given: datetime | None, clock: datetime) -> Now:
        """What "now" means: as given, else the clock where the data reaches to it, else the data's last change."""
        if given is not None:
            return Now(given, "given")
        first, last, changed = self._moments
        if changed and first and not first <= clock.isoformat()[:19] <= last:
            return Now(datetime.fromisoformat(changed), "data")
        return Now(clock.replace(microsecond=0), "clock")

    @cached_property
    def _outgoing(self) -> frozenset[NamedNode]:
        """The properties that the things have in the data."""
        classes = (self.scheme.about, *self.names.schema.subclasses(self.scheme.about))
        return frozenset(edge.predicate for iri in classes for edge in self.names.schema.outgoing.get(iri, ()))

    def has(self, predicate: NamedNode) -> bool:
        """Whether the things asked for have the property."""
        return predicate in self._outgoing

    @cached_property
    def _linked(self) -> dict[object, frozenset[NamedNode]]:
        """For every value of the things' properties, by which properties they have it."""
        found: dict[object, set[NamedNode]] = {}
        for predicate in self._outgoing:
            for value in self.names.facts.values.get(predicate, {}):
                if isinstance(value, NamedNode):
                    found.setdefault(value, set()).add(predicate)
        return {value: frozenset(predicates) for value, predicates in found.items()}

    def pairs(self, name: GraphName) -> tuple[Pair, ...]:
        """How things may relate to what a name stands for: directly, or through a thing that it belongs to."""
        if name.kind == "value":
            if name.predicate in self._outgoing:
                return ((name.predicate, name.term),)
            having = self._subjects.get((name.predicate, name.term), [])
            return tuple(pair for thing in having[:_FAR] for pair in self.direct(thing))
        if not isinstance(name.term, NamedNode):
            return ()
        return self.direct(name.term) or self._through(name.term)

    def direct(self, thing: NamedNode) -> tuple[Pair, ...]:
        """How things relate to a thing themselves."""
        return tuple((predicate, thing) for predicate in sorted(self._linked.get(thing, ()), key=str))

    @cached_property
    def _subjects(self) -> dict[tuple[object, object], list[NamedNode]]:
        """The things that flights and the like relate to, by what is said of these."""
        found: dict[tuple[object, object], list[NamedNode]] = {}
        for subject, predicate, value in self.names.facts.statements:
            if subject in self._linked and isinstance(subject, NamedNode):
                found.setdefault((predicate, value), []).append(subject)
                if isinstance(value, NamedNode):
                    found.setdefault((None, value), []).append(subject)
        return found

    def _through(self, thing: NamedNode) -> tuple[Pair, ...]:
        near = list(dict.fromkeys(self._subjects.get((None, thing), [])))[:_FAR]
        return tuple(pair for item in near for pair in self.direct(item))

    @cached_property
    def jargon(self) -> tuple[tuple[GraphName, Word], ...]:
        """The words of the glossary and what each stands for."""
        return tuple(
            (GraphName(item.value, 1.0, "value" if item.property else "entity", item.property), word)
            for item in self.scheme.jargon
            for word in item.words
        )

    @cached_property
    def zone(self) -> str:
        """How the moments of the data end: with a time zone, or with nothing."""
        values = self._values(self.scheme.moment)
        return next((value.value[19:] for value in values if isinstance(value, Literal)), "")

    def range_of(self, predicate: NamedNode) -> tuple[NamedNode, ...]:
        """The classes of the property's values."""
        return self.names.schema.ranges(predicate)

    def owner_letters(self, owners: Iterable[NamedNode | Literal]) -> tuple[str, ...]:
        """The letters with which the codes of an owner's things begin."""
        if self.scheme.owner_code is None:
            return ()
        wanted = set(owners)
        return tuple(
            value.value
            for subject, predicate, value in self.names.facts.statements
            if predicate == self.scheme.owner_code and subject in wanted and isinstance(value, Literal)
        )

    def labels_of_owner(self, letters: str) -> tuple[str, ...]:
        """The names of the owner whose codes begin with these letters."""
        found = self._subjects.get((self.scheme.owner_code, Literal(letters)), [])
        return tuple(self.names.label(thing) for thing in found)


def _moment(text: str) -> bool:
    return len(text) >= 16 and text[4:5] == "-" and text[10:11] == "T"


# Looks things up by what a question says of them: one query over the constraints, in the order of a moment.

_MOST = 400
COUNTED = 1_000_000
"""So many are looked up where they are only counted."""


@dataclass(frozen=True, slots=True)
class LookupRequest:
    """Things with a value of each of ``pairs`` (any of one group), whose moment lies in a window.

    ``moments``: the first of these properties that a thing has is its moment; ``most``: so many are looked up.
    """

    groups: tuple[tuple[Pair, ...], ...] = ()
    moments: tuple[NamedNode, ...] = ()
    low: datetime | None = None
    high: datetime | None = None
    most: int = _MOST


@dataclass(frozen=True, slots=True)
class TimedThing:
    """A thing with its moment as written."""

    thing: NamedNode
    moment: str


@dataclass(frozen=True, slots=True)
class Lookup:
    """What was found, in the order of the moments, and the query that found it."""

    query: str
    solutions: Solutions
    found: tuple[TimedThing, ...]


def look_up(wanted: LookupRequest, frame: BoundScheme, run: RunQuery) -> Lookup:
    """The things that are wanted; raises QueryError as ``run`` does."""
    query = query_of(wanted, frame)
    solutions = run(query)
    found = [
        TimedThing(row[0], row[1].value if len(row) > 1 and isinstance(row[1], Literal) else "")
        for row in solutions.rows
        if isinstance(row[0], NamedNode)
    ]
    found.sort(key=lambda item: (item.moment, frame.names.label(item.thing)))
    return Lookup(query, solutions, tuple(dict.fromkeys(found)))


def query_of(wanted: LookupRequest, frame: BoundScheme) -> str:
    """The query for things; terms write themselves."""
    lines = [f"?thing {_type_path(frame)} {frame.scheme.about} ."]
    for number, group in enumerate(wanted.groups):
        lines += _group(number, group)
    if wanted.moments:
        lines += _looking_moment(wanted.moments)
        if wanted.low is not None:
            lines.append(f"FILTER(?moment >= {written(wanted.low, frame)})")
        if wanted.high is not None:
            lines.append(f"FILTER(?moment <= {written(wanted.high, frame)})")
    shown, order = ("?thing ?moment", "ORDER BY ?moment") if wanted.moments else ("?thing", "")
    body = "\n".join(f"  {line}" for line in lines)
    return f"SELECT DISTINCT {shown} WHERE {{\n{body}\n}} {order} LIMIT {wanted.most}".replace("  LIMIT", " LIMIT")


def _type_path(frame: BoundScheme) -> str:
    wide = frame.names.schema.has_subclasses(frame.scheme.about)
    return f"{TYPE}/{SUBCLASS_OF}*" if wide else "a"


def _group(number: int, group: Sequence[Pair]) -> list[str]:
    if len(group) == 1:
        return [f"?thing {group[0][0]} {group[0][1]} ."]
    pairs = " ".join(f"({predicate} {value})" for predicate, value in group)
    return [f"VALUES (?by{number} ?value{number}) {{ {pairs} }}", f"?thing ?by{number} ?value{number} ."]


def _looking_moment(moments: Sequence[NamedNode]) -> list[str]:
    if len(moments) == 1:
        return [f"?thing {moments[0]} ?moment ."]
    lines = [f"OPTIONAL {{ ?thing {predicate} ?at{number} }}" for number, predicate in enumerate(moments)]
    either = ", ".join(f"?at{number}" for number in range(len(moments)))
    return [*lines, f"BIND(COALESCE({either}) AS ?moment)", "FILTER(BOUND(?moment))"]


def written(moment: datetime, frame: BoundScheme) -> Literal:
    """A moment as the data writes its moments."""
    return Literal(f"{moment.isoformat(timespec='seconds')}{frame.zone}", datatype=NamedNode(f"{XSD}dateTime"))


def values(thing: NamedNode, predicate: NamedNode | None, run: RunQuery) -> list[Term]:
    """The values that a thing has of a property."""
    if predicate is None:
        return []
    return [row[0] for row in run(f"SELECT ?value WHERE {{ {thing} {predicate} ?value }}").rows if row[0] is not None]


def moment_of(thing: NamedNode, predicates: Sequence[NamedNode], run: RunQuery) -> datetime | None:
    """The moment of a thing, by the first of the properties that it has."""
    for predicate in predicates:
        for value in values(thing, predicate, run):
            if isinstance(value, Literal) and (found := as_moment(value.value)) is not None:
                return found
    return None


def as_moment(text: str) -> datetime | None:
    """The moment that a text writes, without its zone; None if it writes none."""
    try:
        return datetime.fromisoformat(text).replace(tzinfo=None)
    except ValueError:
        return None
