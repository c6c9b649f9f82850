"""Checks of a query and its answer: the kind of answer, words left out, schema terms, the passages behind rows."""

from __future__ import annotations

import difflib
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain, islice

from pyoxigraph import Literal, NamedNode, Triple

from kgplatform import lexicon
from kgplatform.errors import NotFoundError, QueryError, QueryRejectedError, QuerySyntaxError
from kgplatform.ontology.schema import Word
from kgplatform.questions.name_index import GraphName, NameIndex
from kgplatform.questions.parser.cues import Cues
from kgplatform.questions.parser.draft import PART
from kgplatform.questions.parser.mentions import QuestionReading
from kgplatform.questions.parser.query_graph import Link, NodeComparison, QueryGraph
from kgplatform.questions.parser.serialization import QueryWriter, with_limit
from kgplatform.questions.parser.vocabulary import FUNCTION_WORDS, PERSON_WORDS, PLACE_WORDS, keys
from kgplatform.questions.usage import THING, SchemaView
from kgplatform.reasoning.inference import Explanation
from kgplatform.sparql.syntax import QueryPatterns, SyntaxItem, TriplePattern, all_columns, patterns_of
from kgplatform.sparql.tokens import read_only_issues
from kgplatform.store.dataset import EvidenceDataset
from kgplatform.store.oxigraph import Store
from kgplatform.text import has_han, normalise, singular
from kgplatform.types import Evidence, Issue, IssueKind, RunQuery, Solutions, Term
from kgplatform.vocab import LABEL, OWL, PREFIXES, RDF, RDFS, SKOS, SUBCLASS_OF, TYPE, XSD, local_name, words_of_iri

# Whether what a query shows is of the kind that the question word asks for: who, where, when, how much.

AGREES, UNKNOWN, DIFFERS = 1.0, 0.85, 0.5
"""How well an answer is of the kind asked for; also what its confidence is multiplied by."""

_AGENT_EN = lexicon.pattern("check.agent_en", 0)
_AGENT_ZH = lexicon.pattern("check.agent_zh")
_PUT = lexicon.pattern("check.put")
_AGENTS = PERSON_WORDS | lexicon.word_set("check.group_words")
_TIME_SENSES = frozenset((("~date",), ("~year",), ("~time",), ("~start",), ("~end",)))
_PERIOD_SENSES = _TIME_SENSES | {("~semester",)}
_PLACE_SENSES = frozenset((("~location",), ("~address",), ("~street",), ("~part",), ("~near",), ("~country",)))


class Agreement:
    """Judges targets of query graphs over one schema."""

    def __init__(self, schema: SchemaView) -> None:
        self._schema = schema
        self._above: dict[NamedNode, list[NamedNode]] = {}
        for upper, lower in schema.below.items():
            for iri in lower:
                self._above.setdefault(iri, []).append(upper)

    def of(self, graph: QueryGraph, cues: Cues) -> float:
        """How well what the graph shows fits the question word, 0..1; 1 where there is none that says."""
        if graph.form != "list" or not graph.targets or not (cues.person or cues.place or cues.time):
            return AGREES
        judged = [self._target(graph, target, cues) for target in graph.targets]
        return max(judged)

    def _target(self, graph: QueryGraph, target: int, cues: Cues) -> float:
        node = graph.nodes[target]
        wanted = []
        if cues.person:
            wanted.append(self._text(graph, target) if node.literal else self.agent(node.types))
        if cues.place:
            wanted.append(self._place(graph, target))
        if cues.time:
            wanted.append(self._time(graph, target))
        return max(wanted)

    def agent(self, types: Iterable[NamedNode]) -> float:
        """Whether things of these classes can do something: people, or organisations."""
        listed = [iri for iri in types if iri != THING]
        if not listed:
            return UNKNOWN
        return AGREES if any(self._called(iri, _AGENTS) or self._agent_like(iri) for iri in listed) else DIFFERS

    def human(self, types: Iterable[NamedNode]) -> bool:
        """Whether things of these classes are people, not only organisations."""
        listed = [iri for iri in types if iri != THING]
        return any(self._called(iri, PERSON_WORDS) or self._agent_like(iri) for iri in listed)

    def _text(self, graph: QueryGraph, target: int) -> float:
        """Names of people are often written out; numbers and dates never are people."""
        terms = [self._schema.properties.get(link.predicate) for link in graph.around(target)]
        return DIFFERS if any(t is not None and (t.numeric or t.temporal) for t in terms) else UNKNOWN

    def _place(self, graph: QueryGraph, target: int) -> float:
        node = graph.nodes[target]
        if any(self._called(iri, PLACE_WORDS) for iri in node.types):
            return AGREES
        if any(link.object == target and self.put(link.predicate) for link in graph.around(target)):
            return AGREES
        found = [self._senses(link.predicate) for link in graph.around(target)]
        return AGREES if any(senses & _PLACE_SENSES for senses in found) else DIFFERS

    def _time(self, graph: QueryGraph, target: int) -> float:
        if any(self._called_in(iri, _PERIOD_SENSES) for iri in graph.nodes[target].types):
            return AGREES
        for link in graph.around(target):
            term = self._schema.properties.get(link.predicate)
            if link.object != target or term is None:
                continue
            if term.temporal or self._senses(link.predicate) & _TIME_SENSES:
                return AGREES
        return DIFFERS

    def put(self, predicate: NamedNode) -> bool:
        """Whether a relation says where something is by its last word: kept in, born in."""
        term = self._schema.properties.get(predicate)
        return term is not None and term.is_object and any(_PUT.search(word.text.strip()) for word in term.words)

    def _senses(self, predicate: NamedNode) -> set[tuple[str, ...]]:
        term = self._schema.properties.get(predicate)
        words = (*term.words, Word(words_of_iri(predicate.value), "")) if term else ()
        found: set[tuple[str, ...]] = set()
        for word in words:
            for key, _ in keys(word.text):
                found |= {(part,) for part in key if part.startswith("~")}
        return found

    def _called(self, iri: NamedNode, wanted: frozenset[str]) -> bool:
        return any(
            normalise(word) in wanted or singular(normalise(word).split(" ")[-1]) in wanted
            for word in self._words(iri)
            if word.strip()
        )

    def _called_in(self, iri: NamedNode, senses: frozenset[tuple[str, ...]]) -> bool:
        """Whether a class is called by a word of one of the senses."""
        found = {(part,) for word in self._words(iri) for key, _ in keys(word) for part in key}
        return bool(found & senses)

    def _agent_like(self, iri: NamedNode) -> bool:
        return any(_AGENT_EN.search(w.casefold()) or _AGENT_ZH.search(w) for w in self._words(iri))

    def _words(self, iri: NamedNode) -> Iterable[str]:
        """The words of a class and of all above it."""
        for above in (iri, *self._above.get(iri, ())):
            term = self._schema.classes.get(above)
            yield words_of_iri(above.value)
            if term is not None:
                yield from (word.text for word in term.words)


# Words that a question cannot do without: its numbers, codes, quoted and capitalised names.

_QUOTED = re.compile(r"[“\"「『《‘]([^”\"」』》’]{1,80})[”\"」』》’]|(?<!\w)'([^']{1,80})'(?!\w)")
_JOINED = re.compile(r"(?<![A-Za-zÀ-ɏ\d])(?!(?:1\d|20)\d\d\b)[A-Za-zÀ-ɏ]*\d[A-Za-zÀ-ɏ\d]*")  # a year is no code
_DEFINITE = lexicon.word_set("check.definite")
_NEARLY = 0.65
_NAME_ENDINGS = lexicon.characters("check.name_endings")
_LITTLE = lexicon.pattern("check.little")
_OPTIONS = 8
_WHOLE_NAME = 0.8
_ANY_OF_THEM = lexicon.word_set("check.any_of_them")
_ANYTHING = PLACE_WORDS | PERSON_WORDS | {"thing", "things", "option", "options", "choice", "spot", "deal"}


def essential(reading: QuestionReading) -> frozenset[int]:
    """The tokens that name something particular, whether or not the graph knows it."""
    quoted = [match.span() for match in _QUOTED.finditer(reading.text)]
    shouted = reading.text.isupper()
    found = set()
    for place, token in enumerate(reading.tokens):
        inside = reading.weights[place] > 0 and any(start <= token.start < end for start, end in quoted)
        digits = any(character.isdigit() for character in token.text)
        if inside or (digits and not _of_all(reading, place)) or (not shouted and _named(reading, place)):
            found.add(place)
    return frozenset(found | _measured(reading) | _glued(reading) | _asked_for(reading) | _told_apart(reading))


def _told_apart(reading: QuestionReading) -> frozenset[int]:
    """The word before the class that is counted: how many airports there are does not answer for "Swiss airports"."""
    counting = reading.cues.counting
    if reading.language == "zh" or counting is None:
        return frozenset()
    found = set()
    for mention in reading.mentions:
        place = mention.first - 1
        counted = counting <= place <= counting + 1 and mention.options[0].kind == "class"
        if not counted or reading.weights[place] <= 0:
            continue
        word = reading.tokens[place].text
        if word.isalpha() and word.casefold() not in _ANY_OF_THEM and place not in reading.cues.used:
            found.add(place)
    return frozenset(found)


def _of_all(reading: QuestionReading, place: int) -> bool:
    """Whether a number only says how many there are to choose from: 十六个区里, "of the 16 districts"."""
    token = reading.tokens[place]
    return lexicon.pattern("check.of_all").match(reading.text, token.start) is not None


def _asked_for(reading: QuestionReading) -> frozenset[int]:
    """The word after "which" before a verb, which names what is asked for: "which professor teaches …"; 哪里好玩."""
    found: set[int] = set()
    for match in lexicon.pattern("check.where_zh").finditer(reading.text):
        found |= {i for i, token in enumerate(reading.tokens) if match.start(1) <= token.start < match.end(1)}
    for first, token in enumerate(reading.tokens[:-2]):
        place = first + 1
        if token.text.casefold() != "which" or reading.weights[place] <= 0:
            continue
        following = next((m for m in reading.mentions if m.first == place + 1), None)
        if following is not None and following.options[0].kind == "property":
            found.add(place)
    return frozenset(found)


def is_one(reading: QuestionReading, place: int, *, where: bool) -> bool:
    """Whether a mention of a class is of one thing, "the bridge", in a question for something of it or for its place.

    ``where``: nothing but its place can be asked for. In Chinese, where a class may be one or many, only that counts.
    """
    if not 0 <= place < len(reading.mentions):
        return False
    mention, tokens = reading.mentions[place], reading.tokens
    asks = lexicon.pattern("check.where") if where else lexicon.pattern("check.of_one")
    if not asks.search(reading.text) or lexicon.pattern("check.of_many").search(reading.text):
        return False
    last = tokens[mention.last - 1].text.casefold()
    definite = {token.text.casefold() for token in tokens[max(0, mention.first - 1) : mention.last - 1]}
    return reading.language == "zh" or (singular(last) == last and not definite.isdisjoint(_DEFINITE))


def is_unbound(graph: QueryGraph) -> bool:
    """Whether a graph lists all there is of a kind: what was left out of the question would have said which."""
    if graph.comparisons or graph.best or graph.having or graph.searches or graph.whole:
        return False
    held = any(node.terms for node in graph.nodes) or any(link.negated for link in graph.links)
    return graph.form == "list" and not (held and graph.links)  # without a link it gives the thing that is named


def is_near(word: str, label: str) -> bool:
    """Whether a name may be meant by a word: it is nearly spelt so, or the word is part of it."""
    one, other = normalise(word), normalise(label)
    part = len(one) > 2 and one in other
    return one != other and (part or difflib.SequenceMatcher(None, one, other).ratio() >= _NEARLY)


def unknown_words(
    reading: QuestionReading, explained: frozenset[int] | None = None, left: Iterable[str] = ()
) -> tuple[str, ...]:
    """The pieces of a question that nothing in the graph is called, whole: World Cup, though a world there may be.

    Names and numbers come before other words. Where every word resembles something, those that do so least; where that
    is none either, what a reading ``left`` out. A name that the graph has is never among them.
    """
    covered, tokens, text = reading.covered(), reading.tokens, reading.text
    sure = {i for m in reading.mentions if m.options[0].score > PART for i in range(m.first, m.last)}
    weak = {i for i in covered - sure - reading.cues.used if reading.weights[i] > 0}
    lost = {i for i, weight in enumerate(reading.weights) if weight > 0 and i not in covered}
    lost = set(reading.in_words(lost, covered))
    named = (essential(reading) - (covered if explained is None else explained)) - sure
    found = set(named or lost or weak)
    weak |= {i for i in lost if has_han(tokens[i].text)}
    while more := {i for i in weak - found if {i - 1, i + 1} & found}:
        found |= more
    pieces: list[str] = []
    for i in sorted(found):
        gap = text[tokens[i - 1].end : tokens[i].start] if i - 1 in found else ","
        pieces.append(tokens[i].text if gap.strip() else f"{pieces.pop()}{gap}{tokens[i].text}")
    told = unsaid(dict.fromkeys(pieces)) or tuple(dict.fromkeys(pieces))
    known = " ".join(tokens[i].text.casefold() for i in sorted(sure))
    return told or tuple(word for word in dict.fromkeys(left) if word.casefold() not in known)


def _glued(reading: QuestionReading) -> frozenset[int]:
    """The character before a class of one character, with which it is a name that the graph has not: 滨州的人口."""
    found = set()
    for mention in reading.mentions:
        one = mention.last - mention.first == 1 and reading.tokens[mention.first].text in _NAME_ENDINGS
        place = mention.first - 1
        if one and mention.options[0].kind == "class" and place >= 0 and reading.weights[place] > 0:
            before = reading.tokens[place]
            beside = before.end == reading.tokens[mention.first].start and has_han(before.text)
            taken = any(m.first <= place < m.last for m in reading.mentions)
            if beside and not taken and before.text not in lexicon.characters("check.before_kinds"):
                found.add(place)
    return frozenset(found)


def _measured(reading: QuestionReading) -> frozenset[int]:
    """What a most or least is said to be of, where nothing in the graph is called so: "the highest density"."""
    named = {i for m in reading.mentions for i in range(m.first, m.last)}
    told = max((m.first for m in reading.mentions if m.options[0].kind == "property"), default=-1)
    after = (cue.last for cue in reading.cues.superlatives if cue.last > told)
    return frozenset(
        i
        for i in after
        if i < len(reading.tokens) and reading.weights[i] > 0 and i not in named
        if reading.tokens[i].text.casefold() not in _ANYTHING
    )


def _named(reading: QuestionReading, place: int) -> bool:
    """Whether a word is written like a name: capitalised inside a sentence, or Latin among Chinese."""
    text = reading.tokens[place].text
    if has_han(text) or text.casefold() in FUNCTION_WORDS or len(text) < 2:
        return False
    if reading.language == "zh":
        return text[0].isupper()
    before = reading.text[: reading.tokens[place].start].rstrip()
    opening = not before or before[-1] in ".?!:;\"“'"
    return text[0].isupper() and not opening


def dropped(reading: QuestionReading, explained: frozenset[int]) -> tuple[str, ...]:
    """The essential words that are not explained, as they are written."""
    return reading.phrases(essential(reading) - explained)


def unsaid(words: Iterable[str], idle: Container[str] = ()) -> tuple[str, ...]:
    """The words that a yes or no cannot leave out: all but those that only strengthen, or say where or when.

    A single Chinese character is as often a particle (同 in 同一个) as a word, and is not counted.
    ``idle``: words that the graph's scheme says can be left out.
    """
    said = (word for word in words if not _LITTLE.fullmatch(word) and word.casefold() not in idle)
    return tuple(word for word in said if len(word) > 1 or not has_han(word))


def half_said(graph: QueryGraph, reading: QuestionReading) -> tuple[str, ...]:
    """The words of a yes-or-no question that are only part of the name of a property, and name nothing it leads to.

    "Is X fun?" is not whether X is fun for anybody.
    """
    if graph.form != "ask":
        return ()
    found: list[int] = []
    for link in graph.links:
        end = graph.nodes[link.object]
        unsaid = not end.terms and end.named is None and not end.literal and len(graph.around(link.object)) == 1
        if unsaid and 0 <= link.place < len(reading.mentions):
            mention = reading.mentions[link.place]
            found += range(mention.first, mention.last) if mention.options[0].score < _WHOLE_NAME else ()
    return reading.phrases(found)


def uncompared(graph: QueryGraph, reading: QuestionReading) -> tuple[str, ...]:
    """The words of a comparison in a yes-or-no question that the query does not make: "more hotels in A than in B"."""
    match = lexicon.pattern("check.compared").search(reading.text)
    if graph.form != "ask" or match is None or graph.comparisons or graph.having or graph.best:
        return ()
    return (match.group(),)


def partial_codes(
    reading: QuestionReading, explained: frozenset[int], names: NameIndex
) -> tuple[str, tuple[GraphName, ...]]:
    """The first number or code that is only part of names of the graph, and these; empty if there is none."""
    lost = essential(reading) - explained
    for match in _JOINED.finditer(reading.text):
        places = {i for i, t in enumerate(reading.tokens) if t.start < match.end() and t.end > match.start()}
        if places & lost and len(match.group()) >= 2:
            found = names.with_part(match.group(), _OPTIONS)
            if found:
                return match.group(), tuple(found)
    return "", ()


def shown(name: GraphName, names: NameIndex, language: str) -> str:
    """A name with what it is the name of: "flight number KL787"."""
    if isinstance(name.term, Literal):
        return f"{names.label(name.predicate, language)} {name.term.value}" if name.predicate else name.term.value
    kinds = [names.schema.label(iri, language) for iri in names.types(name.term)[:1]]
    return " ".join((*kinds, names.label(name.term, language)))


# What is suspicious about a query whatever its terms: variables that nothing binds, unrelated parts, unknown casts.

_CASTS = frozenset(
    ("boolean", "dateTime", "date", "time", "decimal", "double", "float", "integer", "string", "duration")
)
"""The constructors of SPARQL 1.1 §17.5, and those for dates, times and durations that Oxigraph adds."""


def unbound(patterns: QueryPatterns) -> Iterable[Issue]:
    """Variables that are selected, compared or sorted by, but that no pattern binds."""
    projected = {item.value for item in patterns.projected}
    seen: set[str] = set()
    for item in patterns.mentioned:
        if item.value in patterns.bound or item.value in seen:
            continue
        seen.add(item.value)
        what = "is selected but" if item.value in projected else "is used but"
        near = tuple(sorted(patterns.bound))
        yield Issue(
            IssueKind.UNBOUND, f"?{item.value} {what} nothing binds it", item.value, near, item.line, column=item.column
        )


def unrelated(patterns: QueryPatterns) -> Iterable[Issue]:
    """Patterns that share no variable or thing with the rest: every pair of their solutions is a row."""
    groups: list[set[str]] = []
    expressions = (frozenset(f"?{name}" for name in names) for names in patterns.together)
    for names in (*_joined(patterns), *expressions):
        if names:
            apart = [group for group in groups if not group & names]
            groups = [*apart, set(names).union(*(group for group in groups if group & names))]
    inside = {name for names in _joined(patterns) for name in names if name.startswith("?")}
    parts = [part for group in groups if (part := sorted(group & inside))]
    if len(parts) > 1:
        shown = " and ".join(part[0] for part in parts[:3])
        message = f"nothing joins {shown}: each is combined with every other"
        yield Issue(IssueKind.CARTESIAN, message, parts[1][0].lstrip("?"), fatal=False)


def _joined(patterns: QueryPatterns) -> Iterable[frozenset[str]]:
    """What each triple pattern joins; brackets may hold anything, so with them there is nothing to tell."""
    for pattern in patterns.triples:
        ends = (pattern.subject, pattern.object)
        if any(item.kind == "mark" for item in ends):
            return
        yield frozenset(f"?{i.value}" if i.kind == "variable" else i.value for i in ends if i.kind != "literal")


def casts(patterns: QueryPatterns) -> Iterable[Issue]:
    """Calls of datatypes that SPARQL has no constructor for."""
    for item in patterns.calls:
        name = local_name(item.value)
        if item.value.startswith(XSD) and name not in _CASTS:
            allowed = (
                (f"{XSD}integer",) if "int" in name.casefold() or "long" in name.casefold() else (f"{XSD}decimal",)
            )
            message = f"SPARQL has no cast xsd:{name}(); write xsd:{local_name(allowed[0])}()"
            yield Issue(IssueKind.LITERAL_FORM, message, item.value, allowed, item.line, column=item.column)


def values_as_things(patterns: QueryPatterns, schema: SchemaView) -> Iterable[Issue]:
    """Variables that are a literal by one pattern and have properties by another."""
    known = {iri.value: term for iri, term in schema.properties.items()}
    literal: dict[str, str] = {}
    for pattern in patterns.triples:
        term = known.get(pattern.predicates[0].value) if pattern.plain and pattern.predicates else None
        if term is not None and not term.is_object and term.datatypes and pattern.object.kind == "variable":
            literal[pattern.object.value] = local_name(term.iri.value)
    for pattern in patterns.triples:
        name = pattern.subject.value
        if pattern.subject.kind == "variable" and name in literal and not pattern.inverse:
            message = f"?{name} is a value of {literal[name]}, so it has no properties of its own"
            yield Issue(IssueKind.IMPOSSIBLE, message, name, (), pattern.subject.line, column=pattern.subject.column)


# Checks a query before it runs: safe, parseable, and about what the graph really holds.
#
# Reports structured issues with the nearest terms that would be allowed; never runs the query on data and never fails
# on any text. What is only suspicious (an empty join, an untagged literal) is reported as not fatal.

_TYPE = f"{RDF}type"
_ALWAYS = (RDF, RDFS, OWL, SKOS, XSD)


def check(
    text: str,
    names: NameIndex,
    *,
    prefixes: Mapping[str, str] = PREFIXES,
    graphs: Collection[str] | None = None,
    parsed: bool = False,
) -> tuple[Issue, ...]:
    """What is wrong with a query over the graph; empty when nothing is.

    ``graphs`` are the names of the graphs there are; None: they are not looked at. ``parsed``: the text is known to
    parse, so no parser is asked here.
    """
    refused = read_only_issues(text)
    if refused:
        return tuple(Issue(IssueKind.REFUSED, reason) for reason in refused)
    patterns = patterns_of(text, prefixes)
    wrong = tuple(casts(patterns)) or (() if parsed else _syntax(text, prefixes))
    if wrong:
        return wrong
    schema = names.schema
    found = [
        *_unknown_terms(patterns, names),
        *_unused_pairs(patterns, schema),
        *_literal_forms(patterns, schema),
        *_labels(patterns, names),
        *values_as_things(patterns, schema),
        *unbound(patterns),
        *unrelated(patterns),
        *_unknown_graphs(patterns, graphs),
    ]
    return tuple(dict.fromkeys(found))


def _syntax(text: str, prefixes: Mapping[str, str]) -> tuple[Issue, ...]:
    """The parser's complaint, from an empty store."""
    try:
        Store.open(prefixes=dict(prefixes)).query(text, max_rows=1)
    except QuerySyntaxError as error:
        return (Issue(IssueKind.SYNTAX, str(error), line=error.line, column=error.column),)
    except QueryRejectedError as error:
        return (Issue(IssueKind.REFUSED, "; ".join(error.issues)),)
    return ()


def _unknown_terms(patterns: QueryPatterns, names: NameIndex) -> Iterable[Issue]:
    schema = names.schema
    seen: set[str] = set()
    for pattern in patterns.triples:
        for item in pattern.predicates:
            if item.kind == "iri" and item.value not in seen:
                seen.add(item.value)
                yield from _unknown(item, IssueKind.UNKNOWN_PROPERTY, schema.properties, names)
        object_ = pattern.object
        typed = any(item.value == _TYPE for item in pattern.predicates)
        for class_ in _classes_of(pattern, patterns) if typed else ():
            if class_.value not in seen:
                seen.add(class_.value)
                yield from _unknown(class_, IssueKind.UNKNOWN_CLASS, schema.classes, names)
        for item in (pattern.subject, object_):
            if item.kind == "iri" and item.value not in seen:
                seen.add(item.value)
                yield from _unknown_thing(item, names)


def _unknown(item: SyntaxItem, kind: IssueKind, known: Mapping[NamedNode, object], names: NameIndex) -> Iterable[Issue]:
    node = _node(item.value)
    if item.value.startswith(_ALWAYS) or node in known or node in names.facts.concluded:
        return
    what = "class" if kind is IssueKind.UNKNOWN_CLASS else "property"
    near = _nearest(item.value, known)
    yield Issue(
        kind, f"the graph has no {what} <{item.value}>{_offer(near)}", item.value, near, item.line, column=item.column
    )


def _unknown_thing(item: SyntaxItem, names: NameIndex) -> Iterable[Issue]:
    node = _node(item.value)
    if item.value.startswith(_ALWAYS) or node in names.facts.types or node in names.facts.labels:
        return
    if node in names.schema.classes or node in names.schema.properties or names.knows(node):
        return
    found = [n.term for n in names.near(local_name(item.value).replace("_", " "), 3) if isinstance(n.term, NamedNode)]
    near = tuple(dict.fromkeys(term.value for term in found))
    yield Issue(
        IssueKind.UNKNOWN_TERM,
        f"nothing in the graph is named <{item.value}>{_offer(near)}",
        item.value,
        near,
        item.line,
        column=item.column,
    )


def _unknown_graphs(patterns: QueryPatterns, graphs: Collection[str] | None) -> Iterable[Issue]:
    """Graphs that the query names and the dataset does not have."""
    for item in patterns.graphs if graphs is not None else ():
        if graphs is not None and item.value not in graphs:
            near = tuple(difflib.get_close_matches(item.value, graphs, n=3, cutoff=0.6))
            message = f"there is no graph <{item.value}>{_offer(near)}"
            yield Issue(IssueKind.UNKNOWN_GRAPH, message, item.value, near, item.line, column=item.column)


def _unused_pairs(patterns: QueryPatterns, schema: SchemaView) -> Iterable[Issue]:
    """Properties that no thing of the subject's (or, inverted, the object's) classes has."""
    types: dict[str, set[NamedNode]] = {}
    for pattern in patterns.triples:
        if any(i.value == _TYPE for i in pattern.predicates):
            found = {_node(item.value) for item in _classes_of(pattern, patterns)}
            types.setdefault(pattern.subject.value, set()).update(found)
    for pattern in patterns.triples:
        if len(pattern.predicates) != 1 or not (pattern.plain or pattern.inverse):
            continue
        predicate = _node(pattern.predicates[0].value)
        if predicate not in schema.properties:
            continue
        item = pattern.object if pattern.inverse else pattern.subject
        yield from _unused(types.get(item.value, set()), predicate, pattern, schema, inward=False)
        other = pattern.subject if pattern.inverse else pattern.object
        yield from _unused(types.get(other.value, set()), predicate, pattern, schema, inward=True)


def _classes_of(pattern: TriplePattern, patterns: QueryPatterns) -> tuple[SyntaxItem, ...]:
    """The classes that a type pattern names, itself or by the VALUES of its variable."""
    if pattern.object.kind == "iri":
        return (pattern.object,)
    return patterns.values.get(pattern.object.value, ()) if pattern.object.kind == "variable" else ()


def _unused(
    classes: set[NamedNode], predicate: NamedNode, pattern: TriplePattern, schema: SchemaView, *, inward: bool
) -> Iterable[Issue]:
    table = schema.incoming if inward else schema.outgoing
    known = [iri for iri in sorted(classes, key=str) if iri in schema.classes]
    if not known or any(edge.predicate == predicate for iri in known for edge in table.get(iri, ())):
        return
    allowed = tuple(sorted({e.predicate.value for iri in known for e in table.get(iri, ())}))
    label = local_name(predicate.value)
    way = "is ever a value of" if inward else "has"
    near = _nearest(predicate.value, map(_node, allowed))
    message = f"no {local_name(known[0].value)} {way} {label} in the graph{_offer(near)}"
    yield Issue(
        IssueKind.IMPOSSIBLE,
        message,
        predicate.value,
        allowed[:12],
        pattern.predicates[0].line,
        column=pattern.predicates[0].column,
    )


def _literal_forms(patterns: QueryPatterns, schema: SchemaView) -> Iterable[Issue]:
    for pattern in patterns.triples:
        if len(pattern.predicates) != 1 or not pattern.plain or pattern.object.kind != "literal":
            continue
        term = schema.properties.get(_node(pattern.predicates[0].value))
        if term is None:
            continue
        problem = _form_problem(pattern.object, term.datatypes, term.languages, is_object=term.is_object)
        if problem:
            yield Issue(
                IssueKind.LITERAL_FORM,
                problem,
                pattern.object.value,
                term.samples[:5],
                pattern.object.line,
                column=pattern.object.column,
            )


def _form_problem(
    item: SyntaxItem, datatypes: tuple[NamedNode, ...], languages: tuple[str, ...], *, is_object: bool
) -> str:
    kinds = {local_name(d.value) for d in datatypes}
    text = f'"{item.value}"'
    if is_object:
        return f"{text} is text, but the values of this property are things; use an IRI, or match its label"
    numeric = kinds & {"integer", "decimal", "double", "float"}
    quoted = not item.datatype and not item.language
    if numeric and quoted and "string" not in kinds:
        return f"the values of this property are numbers; write {item.value} without quotes"
    if item.datatype == "number" and kinds and not numeric:
        return f"the values of this property are not numbers but {', '.join(sorted(kinds))}"
    if quoted and languages and "string" not in kinds:
        return f"the values of this property have a language tag; write {text}@{languages[0]}"
    if item.language and kinds == {"string"}:
        return f"the values of this property have no language tag; write {text}"
    return ""


def _labels(patterns: QueryPatterns, names: NameIndex) -> Iterable[Issue]:
    """Labels that nothing has as they are written, but something has in another language or in none."""
    for pattern in patterns.triples:
        item = pattern.object
        if not pattern.plain or item.kind != "literal" or pattern.predicates[0].value != LABEL.value:
            continue
        called = (n.term for n in names.exact.get(normalise(item.value), ()) if n.kind == "entity")
        labels = [x for term in called for x in names.facts.labels.get(term, ()) if x.value == item.value]
        if labels and not any((x.language or "") == item.language for x in labels):
            right = tuple(dict.fromkeys(str(x) for x in labels))
            message = f"no label is written like this; write {right[0]}"
            yield Issue(IssueKind.LITERAL_FORM, message, item.value, right, item.line, column=item.column)


def _nearest(value: str, known: Iterable[NamedNode]) -> tuple[str, ...]:
    wanted = local_name(value).casefold()
    by_name: dict[str, str] = {}
    for iri in known:
        by_name.setdefault(local_name(iri.value).casefold(), iri.value)
    close = difflib.get_close_matches(wanted, list(by_name), n=3, cutoff=0.5)
    return tuple(by_name[name] for name in close)


def _offer(near: tuple[str, ...]) -> str:
    return f"; nearest: {', '.join(f'<{iri}>' for iri in near[:3])}" if near else ""


def _node(value: str) -> NamedNode:
    try:
        return NamedNode(value)
    except ValueError:
        return NamedNode("urn:x-invalid")


# The passages an answer rests on: from the rows of its query back to the evidence of the statements behind them.

FindEvidence = Callable[[Triple, NamedNode], Evidence | None]
Explain = Callable[[Triple, FindEvidence], Explanation]

_ROWS = 2_000
_STATEMENTS = 4_000
_A_ROW = 40
"""So many statements at most are looked up for one row."""
_PASSAGES = 8
_EACH = 3
"""So many passages of each row of a table are kept; of a few rows `_PASSAGES`."""
_HOPS = 4
_EXPLAINED = 100
"""So many conclusions at most are traced back for one answer: each takes a search."""

_REPEATED = re.compile(r"[>\w)][+*](?=[\s/|)])")


@dataclass(frozen=True, slots=True)
class RowSupport:
    """The passages behind rows, those for different rows before more for one; ``rows``: the places of each row's.

    Rows after the last of ``rows`` were not looked at: there are too many.
    """

    passages: tuple[Evidence, ...] = ()
    rows: tuple[tuple[int, ...], ...] = ()


def supporting(
    query: str,
    dataset: EvidenceDataset,
    *,
    run: RunQuery,
    find: FindEvidence,
    why: Explain | None = None,
    solutions: Solutions | None = None,
) -> RowSupport:
    """The passages that state the rows of a query, ``solutions``; the best ones of each.

    For what is not stated they are those of the statements that it follows from, as ``why`` tells. What only joins
    things that the query names comes last, and is no row's.
    """
    own: list[dict[_Place, Evidence]] = []
    beside: dict[_Place, Evidence] = {}
    collected = _Passages(dataset, find, why)
    for bound, triples in statements_of_rows(query, dataset, run=run, solutions=solutions):
        own.append({})
        for triple in triples:
            mine = triple.subject in bound or triple.object in bound
            (own[-1] if mine else beside).update(collected.of(triple))
    return _dealt(own, beside, 0 if solutions is None else len(solutions.rows))


def statements_of_rows(
    query: str, dataset: EvidenceDataset, *, run: RunQuery, solutions: Solutions | None = None
) -> Iterator[tuple[frozenset[Term], tuple[Triple, ...]]]:
    """For each row of a query its terms, and the statements that join them with each other and what the query names."""
    patterns = patterns_of(query, dataset.store.prefixes)
    named = chain.from_iterable(pattern.predicates for pattern in patterns.triples)
    predicates = {NamedNode(item.value) for item in named if item.kind == "iri" and ":" in item.value}
    if len(predicates) > 1:
        predicates -= {TYPE, SUBCLASS_OF}
    constants = dict.fromkeys(NamedNode(item.value) for item in patterns.terms if ":" in item.value)
    things = tuple(node for node in constants if node not in predicates)
    texts = frozenset(pattern.object.value for pattern in patterns.triples if pattern.object.kind == "literal")
    hops = _HOPS if _REPEATED.search(query) else 1
    budget = _STATEMENTS
    for row in _rows(query, run, solutions):
        said = (_statements((*terms, *things), predicates, texts, dataset, hops=hops) for terms in row)
        triples = dict.fromkeys(islice(chain.from_iterable(said), min(_A_ROW, budget)))
        if budget <= 0:
            return
        budget -= len(triples) or 1
        yield frozenset(chain.from_iterable(row)), tuple(triples)


def _rows(query: str, run: RunQuery, solutions: Solutions | None) -> list[list[tuple[Term, ...]]]:
    """For each row the bound terms of what it was made of, hidden variables included; its own where that is unknown.

    Without rows, as for a yes or no, each row of the query's pattern stands for itself.
    """
    widened = all_columns(query, _ROWS)
    try:
        found = run(widened) if widened else Solutions()
    except QueryError:
        found = Solutions()
    if solutions is None or not solutions.rows:
        return [[_bound(row)] for row in found.rows[:_ROWS]] or [[()]]
    shared = [name for name in solutions.variables if name in found.variables]
    here, there = ([part.variables.index(name) for name in shared] for part in (solutions, found))
    made: dict[tuple[Term | None, ...], list[tuple[Term, ...]]] = defaultdict(list)
    for row in found.rows[:_ROWS]:
        made[tuple(row[place] for place in there)].append(_bound(row))
    return [made.get(tuple(row[place] for place in here)) or [_bound(row)] for row in solutions.rows]


def _bound(row: tuple[Term | None, ...]) -> tuple[Term, ...]:
    return tuple(term for term in row if term is not None)


def _statements(
    terms: tuple[Term, ...], predicates: set[NamedNode], texts: frozenset[str], dataset: EvidenceDataset, *, hops: int
) -> Iterator[Triple]:
    """The statements that join the terms of a row, directly or over so many hops of one predicate."""
    wanted = set(terms)
    for start in dict.fromkeys(term for term in terms if isinstance(term, NamedNode)):
        for predicate in sorted(predicates, key=str):
            yield from _ways(start, predicate, wanted, texts, dataset, hops)


def _ways(
    start: NamedNode,
    predicate: NamedNode,
    wanted: set[Term],
    texts: frozenset[str],
    dataset: EvidenceDataset,
    hops: int,
) -> Iterator[Triple]:
    """The statements on the ways from one term of the row to the others."""
    ways: list[tuple[Triple, ...]] = [()]
    visited: set[Term] = {start}
    for _ in range(hops):
        longer: list[tuple[Triple, ...]] = []
        for way in ways:
            here = way[-1].object if way else start
            if not isinstance(here, NamedNode):
                continue
            for triple in _forwards(here, predicate, dataset):
                far = triple.object
                if far in wanted or (isinstance(far, Literal) and far.value in texts):
                    yield from (*way, triple)
                elif far not in visited:
                    visited.add(far)
                    longer.append((*way, triple))
        ways = longer[:50]


def _forwards(node: NamedNode, predicate: NamedNode, dataset: EvidenceDataset) -> list[Triple]:
    """At most fifty statements of a node with a predicate that have evidence."""
    quads = (quad for quad in dataset.store.quads(node, predicate) if dataset.is_evidence(quad.graph_name))
    return list(dict.fromkeys(quad.triple for quad in islice(quads, 50)))


_Place = tuple[str, int, int, str]


class _Passages:
    """The passages of statements by their places."""

    def __init__(self, dataset: EvidenceDataset, find: FindEvidence, why: Explain | None) -> None:
        self._dataset = dataset
        self._find = find
        self._why = why
        self._known: dict[Triple, dict[_Place, Evidence]] = {}
        self._explained = 0

    def of(self, triple: Triple) -> dict[_Place, Evidence]:
        """The passages that state the triple, or what it follows from."""
        if triple not in self._known:
            found = sorted(self._found(triple), key=lambda item: item.score)
            self._known[triple] = {
                (item.document.value, item.start, item.end, item.quote): replace(item, score=round(item.score, 4))
                for item in found
                if item.quote.strip()
            }
        return self._known[triple]

    def _found(self, triple: Triple) -> Iterator[Evidence]:
        graphs = self._dataset.evidence_graphs(triple)
        if graphs == [self._dataset.inferred]:
            yield from self._behind(triple)
            return
        for graph in graphs:
            passage = self._find(triple, graph) if graph != self._dataset.inferred else None
            if passage is not None:
                yield passage

    def _behind(self, conclusion: Triple) -> Iterator[Evidence]:
        """The passages of what a conclusion rests on; none where the search would be one too many."""
        if self._why is None or self._explained >= _EXPLAINED:
            return
        self._explained += 1
        try:
            explanation = self._why(conclusion, self._find)
        except NotFoundError:  # its premises changed and inference has not run since
            return
        for leaf in explanation.leaves:
            yield from leaf.evidence


def _dealt(own: list[dict[_Place, Evidence]], beside: dict[_Place, Evidence], rows: int) -> RowSupport:
    """The best passage of each row, then the second of each, and so on; at last what is of none."""
    most = _EACH if rows > _PASSAGES else _PASSAGES
    passages = dict(beside)
    for found in own:
        passages.update(found)
    best = [sorted(found, key=lambda place: -passages[place].score)[:most] for found in own]
    order = list(dict.fromkeys(row[depth] for depth in range(most) for row in best if depth < len(row)))
    if len(order) < _PASSAGES or not rows:
        order = list(dict.fromkeys((*order, *beside)))[:_PASSAGES]
    numbers = {place: number for number, place in enumerate(order)}
    return RowSupport(
        tuple(passages[place] for place in order),
        tuple(tuple(sorted(numbers[place] for place in row if place in numbers)) for row in best[:rows]),
    )


# Why a reading finds nothing: the condition without which there would be something, and what there is instead.
# `kgplatform.sparql.emptiness` does the same for the text of any query; here conditions are those of a question.

_MOST_CONDITIONS = 6
_MOST_VALUES = 2_000
_SHOWN_VALUES = 4
_EMPTY = lexicon.phrases("emptiness_operators")


@dataclass(frozen=True, slots=True)
class _Condition:
    """One condition of a graph in words, the graph without it, and the node whose values are free then."""

    said: str
    without: QueryGraph
    freed: int


def what_empties(graph: QueryGraph, names: NameIndex, language: str, run: RunQuery) -> str:
    """The conditions that each alone leave nothing over, with the values there are; empty where no one does."""
    if graph.form not in ("list", "ask") or graph.whole is not None or graph.having:
        return ""
    for condition in list(_conditions(graph, names, language))[:_MOST_CONDITIONS]:
        values = _values(condition, names, run)
        if values:
            return _told(condition.said, values, names, language)
    return ""


def is_unknown(graph: QueryGraph, names: NameIndex, run: RunQuery) -> bool:
    """Whether a yes-or-no question compares a value that the graph has not: then it is neither a yes nor a no."""
    if graph.form != "ask" or not graph.comparisons:
        return False
    text = QueryWriter(replace(graph, comparisons=()), wide=names.schema.has_subclasses).text()
    try:
        return run(text).boolean is False
    except QueryError:
        return False


def _conditions(graph: QueryGraph, names: NameIndex, language: str) -> Iterator[_Condition]:
    for number, compared in enumerate(graph.comparisons):
        rest = (*graph.comparisons[:number], *graph.comparisons[number + 1 :])
        link = next((link for link in graph.links if link.object == compared.node), None)
        if link is not None and compared.than is None and not link.negated:
            said = _said_of(compared, names.schema.label(link.predicate, language), language)
            yield _Condition(said, replace(graph, comparisons=rest), compared.node)
    for link in graph.links:
        node = graph.nodes[link.object]
        alone = len(graph.links) == 1 and graph.nodes[link.subject].named is None
        if node.terms and not link.negated and not graph.nodes[link.subject].terms and not alone:
            freed = replace(node, terms=(), named=None, joint="", apart=())
            nodes = (*graph.nodes[: link.object], freed, *graph.nodes[link.object + 1 :])
            yield _Condition(_said_by(link, graph, names, language), replace(graph, nodes=nodes), link.object)


def _said_of(compared: NodeComparison, label: str, language: str) -> str:
    if compared.high is not None:
        return f"{label} {compared.low}–{compared.high}"
    operator = _EMPTY[language][compared.operator]
    return f"{label}{operator} {compared.low}" if language == "zh" else f"{label} {operator} {compared.low}"


def _said_by(link: Link, graph: QueryGraph, names: NameIndex, language: str) -> str:
    terms = graph.nodes[link.object].terms[:3]
    values = _EMPTY[language]["or"].join(dict.fromkeys(names.label(term, language) for term in terms))
    return f"{names.schema.label(link.predicate, language)} {values}"


def _values(condition: _Condition, names: NameIndex, run: RunQuery) -> list[Term]:
    """The values there are where the condition is left out, the most frequent first."""
    graph = replace(condition.without, form="list", targets=(condition.freed,), best=(), order=None, group=(), also=())
    text = QueryWriter(graph, wide=names.schema.has_subclasses).text()
    try:
        rows = run(with_limit(text, _MOST_VALUES)).rows
    except QueryError:
        return []
    found = [row[0] for row in rows if isinstance(row[0], Literal | NamedNode)]
    counted: dict[Term, int] = {}
    for link in graph.links:
        if link.object == condition.freed:
            used = names.facts.values.get(link.predicate, Counter())
            counted = {term: used[term] for term in found}
    return sorted(found, key=lambda term: (-counted.get(term, 0), str(term)))


def _told(said: str, values: list[Term], names: NameIndex, language: str) -> str:
    """The condition, and the range of the numbers or the first few of the names that there are."""
    words = _EMPTY[language]
    numbers = sorted((n, v) for v in values if isinstance(v, Literal) and (n := _number(v)) is not None)
    if len(numbers) == len(values):
        low, high = numbers[0][1].value, numbers[-1][1].value
        there = low if low == high else f"{low} – {high}"
    else:
        labels = list(dict.fromkeys(names.label(value, language) for value in values))
        there = words["comma"].join(labels[:_SHOWN_VALUES]) + (words["more"] if len(labels) > _SHOWN_VALUES else "")
    return words["said"].format(said=said, there=there)


def _number(value: Literal) -> float | None:
    try:
        return float(value.value)
    except ValueError:
        return None
