"""An answer in words, by rule or by a model, and as JSON (the contract of ``ask --format json``)."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from typing import Any

from pyoxigraph import BlankNode, Literal, NamedNode

from kgplatform import lexicon
from kgplatform.errors import ModelError
from kgplatform.lexicon.amounts import MEASURED, amount, day, measure, plural, with_short_months, year
from kgplatform.lexicon.amounts import unit as unit_in
from kgplatform.models import prompts
from kgplatform.ontology.schema import Word, label_of
from kgplatform.questions.forms.fact_graph import FactGraph, Path
from kgplatform.questions.forms.logical_form import (
    Aggregated,
    And,
    Compare,
    Follow,
    Form,
    Grouped,
    Has,
    HasMany,
    IsAny,
    Kind,
    Listed,
    Named,
    Period,
    SetForm,
    SizeOf,
    Top,
    Without,
)
from kgplatform.questions.name_index import NameIndex
from kgplatform.questions.parser.query_graph import (
    Best,
    Having,
    Link,
    Node,
    NodeComparison,
    QueryGraph,
    Verbaliser,
    acts,
)
from kgplatform.questions.usage import THING, names_things
from kgplatform.sparql.syntax import patterns_of
from kgplatform.text import has_han, normalise, singular
from kgplatform.types import (
    Answer,
    ChatModel,
    Choice,
    Evidence,
    Linked,
    QuestionKind,
    RunQuery,
    Solutions,
    Term,
    Usage,
    Verdict,
)
from kgplatform.vocab import COMMENT, DCTERMS, PREFIXES, SCHEMA, SKOS, TYPE, XSD_DATE, XSD_GYEAR, XSD_STRING

# Sentences from rows, in the question's language: nothing is said that the rows do not hold.

_SHOWN = 12
_LEFT = 6
_LONG = 60
"""A text of more characters stands behind a colon rather than inside a sentence."""
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_NUMERIC = ("#integer", "#decimal", "#double", "#float")
_BLANK = re.compile("…+")
_MOST_VALUES = 5
_AROUND = 120
"""So much of a passage is shown on either side of the sentence that is quoted."""
_CITES = re.compile(r"\[\d+\]")
_JOINING = lexicon.pattern("answer_text.joining", 0)
_QUOTED = re.compile(r"[「『“\"《]([^」』”\"》]{1,60})[」』”\"》]")
_MINOR_UNITS = lexicon.table("answer_text.minor_units")
_WORDS = lexicon.phrases("answer_text_words")


def phrases(language: str) -> Mapping[str, str]:
    """The built-in wording in a language, English where it has none."""
    return _WORDS.get(language, _WORDS["en"])


def quoted(words: Iterable[str], language: str) -> str:
    """Words in quotation marks, one after the other, each once; without the outer marks, which a phrase brings."""
    mark = phrases(language)["quoted"]
    listed = list(dict.fromkeys(words))[:_LEFT]
    return phrases(language)["and"].join(mark.format(word=word) for word in listed)[1:-1]


class AnswerForm(StrEnum):
    """What kind of answer was asked for."""

    VALUE = "value"
    LIST = "list"
    COUNT = "count"
    SUPERLATIVE = "superlative"
    AGGREGATE = "aggregate"
    GROUP = "group"
    YES_NO = "yes-no"


@dataclass(frozen=True, slots=True)
class AnswerColumn:
    """A column of the rows: the unit of its numbers, and whether its digits are a code and no amount."""

    unit: str = ""
    is_code: bool = False


@dataclass(frozen=True, slots=True)
class AnswerFrame:
    """What was asked, in words of the ontology: with the rows all that the sentence of an answer is made from.

    ``subject`` is what a value is of, ``property`` its name and ``grammar`` how the two are joined (a key of the
    phrases); ``said`` how the ontology would say it. ``thing`` and ``things`` are a noun phrase for what is counted,
    ranked or summed up, in the singular and plural; ``noun`` the bare name of its class. ``beside`` are the columns of
    `told_with`.
    """

    form: AnswerForm = AnswerForm.LIST
    subject: str = ""
    property: str = ""
    grammar: str = ""
    said: str = ""
    object: str = ""
    thing: str = ""
    things: str = ""
    noun: str = ""
    columns: tuple[AnswerColumn, ...] = ()
    beside: tuple[AnswerColumn, ...] = ()


_OF_VALUES = ("AVG", "SUM", "MAX", "MIN", "difference", "distance")
_SUMMED_UP = (*_OF_VALUES, "mean")


def frame_of(graph: QueryGraph, names: NameIndex, language: str) -> AnswerFrame:
    """What a query graph asks for."""
    frame = AnswerFrame(columns=_columns(graph, names, language))
    if graph.form in ("ask", "more", "fewer"):
        return _with_fact(replace(frame, form=AnswerForm.YES_NO), graph, names, language)
    if not graph.targets:
        return frame
    node, several = graph.nodes[graph.targets[0]], Verbaliser(graph, names, language, plain=True, several=True)
    kind = node.named or (None if node.literal else names.schema.widest(node.types))
    noun = names.label(kind, language) if kind is not None else ""
    if graph.form in _SUMMED_UP and not graph.also:
        columns = (*(AnswerColumn() for _ in graph.group), *(frame.columns if graph.form in _OF_VALUES else ()))
        form = AnswerForm.GROUP if graph.group else AnswerForm.AGGREGATE
        return replace(frame, form=form, things=several.reading(), columns=columns)
    if graph.form == "count" and graph.group:
        return replace(frame, form=AnswerForm.GROUP, noun=noun, columns=())
    single = Verbaliser(graph, names, language, plain=True)
    one = "" if (said := single.of_target()) and single.is_clause else said
    beside = told_with(graph)
    columns = _columns(beside, names, language) if beside is not None else ()
    frame = replace(frame, noun=noun, thing=one, things=several.of_target() if one else "", beside=columns)
    if graph.form == "count":
        return replace(frame, form=AnswerForm.COUNT, columns=())
    if graph.form == "list" and len(graph.targets) == 1:
        if any(best.node == graph.targets[0] and best.top == 1 for best in graph.best) and not node.literal:
            return replace(frame, form=AnswerForm.SUPERLATIVE)
        if not (graph.best or graph.searches or node.terms):
            return _with_fact(replace(frame, form=AnswerForm.VALUE), graph, names, language)
    return frame


def told_with(graph: QueryGraph) -> QueryGraph | None:
    """The query for what is shown with a value that tells more: the number a thing is ranked by, whose value one is."""
    if graph.form != "list" or len(graph.targets) != 1 or graph.order is not None:
        return None
    target = graph.targets[0]
    node, best = graph.nodes[target], next((b for b in graph.best if b.node == target), None)
    if best is not None and best.function == "COUNT" and not node.literal:
        if best.counted:
            return replace(graph, form="count", targets=(best.measure,), group=(target,))
        return replace(graph, targets=(target, best.measure))
    owners = [link.subject for link in graph.links if link.object == target and not link.negated]
    if node.literal and len(owners) == 1 and not node.terms and len(graph.nodes[owners[0]].terms) != 1:
        return replace(graph, targets=(owners[0], target))
    return None


def _columns(graph: QueryGraph, names: NameIndex, language: str) -> tuple[AnswerColumn, ...]:
    if graph.form == "count":
        noun = Verbaliser(graph, names, language).noun(graph.targets[0])
        return AnswerColumn(), AnswerColumn(f"{measure(noun)}{noun}" if language == "zh" else noun)
    return tuple(_column(graph, node, names, language) for node in graph.targets)


def _column(graph: QueryGraph, node: int, names: NameIndex, language: str) -> AnswerColumn:
    """The unit that the ontology gives for what leads to a node."""
    link = next((link for link in graph.links if link.object == node and graph.nodes[node].literal), None)
    if link is None or link.predicate not in names.schema.properties:
        return AnswerColumn()
    return AnswerColumn(names.schema.unit(link.predicate, language), names_things(link.predicate))


def _with_fact(frame: AnswerFrame, graph: QueryGraph, names: NameIndex, language: str) -> AnswerFrame:
    """The frame with the parts of a sentence for the one relation of a graph; as it is where it says anything else."""
    link = _one_link(graph)
    if link is None or graph.whole or graph.comparisons:
        return frame
    ends = (graph.nodes[link.subject], graph.nodes[link.object])
    if any(len({names.label(term, language) for term in end.terms}) > 1 for end in ends):
        return frame
    backwards = not ends[0].terms
    if backwards and not ends[1].terms:
        return frame
    known, other = ends[::-1] if backwards else ends
    spoken = "" if backwards or link.path else names.schema.sentence(link.predicate, language)
    label, grammar = _grammar(link, names, language, literal=ends[1].literal)
    if backwards:
        grammar = "verb_of" if grammar == "verb" else ""
    subject, object_ = (names.full_label(end.terms[0], language) if end.terms else "" for end in (known, other))
    return replace(frame, subject=subject, property=label, grammar=grammar, said=spoken, object=object_)


def _one_link(graph: QueryGraph) -> Link | None:
    """The only relation of a graph, but for values that nobody asks for."""
    asked = set(graph.targets)
    idle = {x.object for x in graph.links if graph.nodes[x.object].literal and not graph.nodes[x.object].terms} - asked
    links = [link for link in graph.links if link.object not in idle or graph.form == "ask"]
    return links[0] if len(links) == 1 == len(graph.nodes) - 1 - len(idle) and not links[0].negated else None


def _grammar(link: Link, names: NameIndex, language: str, *, literal: bool) -> tuple[str, str]:
    """The name of a property as it stands in a sentence, and the pattern of the sentence."""
    term = names.schema.properties.get(link.predicate)
    label, english = (names.label(link.predicate, code) for code in (language, "en"))
    truth = term is not None and any(kind.value.endswith("#boolean") for kind in term.datatypes)
    if truth:
        return label, "plain"
    if not literal and acts(english):
        return label, "verb"
    unit = singular(term.unit.casefold()) if term is not None else ""
    if unit and f" {singular(english.casefold())}".endswith(f" {unit}"):
        return label, "measured" if term is not None and term.unit in MEASURED else "has"
    if language == "zh":
        return label, "state" if lexicon.pattern("answer_text.joining_zh").search(label) else "is"
    if lexicon.pattern("query_graph.trailing").search(label):
        past = lexicon.pattern("answer_text.participle").match(label) and term is not None and term.temporal
        does = acts(label) or lexicon.pattern("answer_text.acted").match(label)
        return label, "verb" if does else "past" if past else "state"
    if term is not None and term.temporal and lexicon.pattern("answer_text.participle").fullmatch(label):
        acted = "acted" if lexicon.pattern("answer_text.acted").match(label) else "past"
        return label, f"{acted}_day" if XSD_DATE in term.datatypes else f"{acted}_year"
    label = lexicon.pattern("query_graph.leading").sub("", label)
    head = lexicon.pattern("answer_text.head").sub("", label).rpartition(" ")[2]
    return label, "are" if singular(head) != head else "is"


def values_of(solutions: Solutions, label: Callable[[Term], str], language: str) -> tuple[str, ...]:
    """The flat list of answer values, each once, in the order of the rows; columns after each other."""
    if solutions.boolean is not None:
        said = phrases(language)["yes" if solutions.boolean else "no"]
        return (said.rstrip("。."),)
    found = [
        term.value if isinstance(term, Literal) else label(term)
        for row in solutions.rows
        for term in row
        if term is not None and not isinstance(term, BlankNode)
    ]
    return tuple(dict.fromkeys(found))


def said(
    solutions: Solutions,
    label: Callable[[Term], str],
    language: str,
    *,
    frame: AnswerFrame | None = None,
    beside: Solutions | None = None,
    left: Sequence[str] = (),
) -> str:
    """The rows as a sentence: all of a short list, the number of things and the first ones of a long one.

    ``beside`` are rows of what is shown with a value that tells more: what a place is ranked by, whose price it is.
    ``left`` are words of the question that the rows do not answer to: they are named after it.
    """
    told = [word for word in dict.fromkeys(left) if len(word) > 1]
    text = _Sentence(solutions, label, language, frame or AnswerFrame(), beside).text()
    if not told:
        return text
    words = phrases(language)
    note = words["left_out"].format(words=words["and"].join(told[:_LEFT]))
    return f"{text}{note}" if language == "zh" else f"{text} {note}"


class _Sentence:
    """The sentence of one answer."""

    def __init__(
        self,
        solutions: Solutions,
        label: Callable[[Term], str],
        language: str,
        frame: AnswerFrame,
        beside: Solutions | None,
    ) -> None:
        self._solutions, self._label, self._language = solutions, label, language
        self._frame, self._beside = frame, beside
        self._words = phrases(language)

    def text(self) -> str:
        frame, rows = self._frame, self._solutions.rows
        if self._solutions.boolean is not None:
            return self._yes_or_no(true=self._solutions.boolean)
        if not any(term is not None for row in rows for term in row):
            return self._words["nothing"]
        single = rows[0][0] if len(rows) == len(rows[0]) == 1 else None
        if frame.form is AnswerForm.COUNT and isinstance(single, Literal):
            return self._count(single.value)
        if frame.form is AnswerForm.AGGREGATE and single is not None and frame.things:
            return self._put("amount", things=frame.things, value=self._written(single))
        if frame.form is AnswerForm.VALUE and single is not None and frame.grammar:
            return self._value(single)
        shown = self._listed()
        if len(shown) > _SHOWN:
            return self._many(shown)
        if frame.form is AnswerForm.SUPERLATIVE and frame.thing:
            is_one = len(shown) == 1
            things = frame.thing if is_one else frame.things
            return self._put("thing" if is_one else "things", things=things, value=self._ranked(shown))
        if frame.form is AnswerForm.VALUE and frame.grammar in ("state", "verb") and self._beside is None:
            value = self._joined(shown)
            return self._put(frame.grammar, value=value)
        if frame.form is AnswerForm.VALUE and frame.grammar and isinstance(rows[0][0], Literal):
            return self._put("plain", value=self._joined(shown))
        return self._ended(self._joined(shown))

    def _put(self, key: str, **parts: str) -> str:
        frame = self._frame
        own = {"subject": frame.subject, "property": frame.property, "measure": measure(frame.noun)}
        if "value" in parts and (blank := _BLANK.search(frame.property)):  # 由…授课 has a place for it
            filled = frame.property.replace(blank.group(), parts["value"])
            own["property"] = filled if blank.start() else f"{self._words['being']}{filled}"
            key = "no_filled" if key == "no_that" else "filled"
        text = self._words[key].format(**{**own, **parts})
        return text[:1].upper() + text[1:] if key in ("thing", "things", "amount") else text

    def _ended(self, text: str) -> str:
        return text if text.endswith((".", "。")) else f"{text}{'。' if self._language == 'zh' else '.'}"

    def _yes_or_no(self, *, true: bool) -> str:
        grammar = self._frame.grammar if self._frame.object else ""
        if true and grammar in ("state", "verb"):
            return self._put("yes_that", said=self._put(grammar, value=self._frame.object))
        if not true and grammar == "state":
            return self._put("no_that", value=self._frame.object)
        return self._words["yes" if true else "no"]

    def _count(self, number: str) -> str:
        frame = self._frame
        if not frame.things or not number.isdigit():
            return self._ended(amount(number, "", self._language))
        key = {"0": "none", "1": "one"}.get(number, "count")
        key = "all" if frame.things == frame.noun and key != "none" else key
        things = frame.thing if number == "1" else frame.things
        return self._put(key, things=things, count=f"{int(number):,}")

    def _value(self, term: Term) -> str:
        frame, value = self._frame, self._written(term)
        if frame.said:
            return frame.said.replace("{subject}", frame.subject).replace("{value}", value)
        is_text = isinstance(term, Literal) and not term.datatype.value.endswith(_NUMERIC)
        long = is_text and (len(value) > _LONG or value.endswith((".", "。")))
        if long:
            return self._ended(value)
        return self._ended(self._put(frame.grammar, value=value).rstrip(".。"))

    def _written(self, term: Term, place: int = 0) -> str:
        columns = self._frame.columns if self._beside is None else self._frame.beside
        column = columns[place] if place < len(columns) else AnswerColumn()
        return written(term.value if isinstance(term, Literal) else self._label(term), term, column, self._language)

    def _listed(self) -> list[str]:
        """A text for each row: things are shown each by themselves, values that are written alike once."""
        rows = (self._beside or self._solutions).rows
        found: dict[tuple[object, ...], list[str]] = {}
        for row in rows:
            cells = [self._written(term, place) for place, term in enumerate(row) if term is not None]
            key = [term if isinstance(term, NamedNode) else text for term, text in zip(row, cells, strict=False)]
            if cells:
                found.setdefault(tuple(key), cells)
        if self._frame.form is AnswerForm.GROUP and all(len(cells) == 2 for cells in found.values()):
            return [self._grouped(cells, first=place == 0) for place, cells in enumerate(found.values())]
        comma = self._words["and"]
        return [
            self._words["row"].format(first=cells[0], rest=comma.join(cells[1:])) if len(cells) > 1 else cells[0]
            for cells in found.values()
        ]

    def _grouped(self, cells: Sequence[str], *, first: bool) -> str:
        group, value = cells
        if not self._frame.noun:
            return self._words["per"].format(group=group, value=value)
        english = self._language != "zh" and value != "1"
        things = plural(self._frame.noun) if english else self._frame.noun
        return self._put("group" if first else "groups", group=group, count=value, things=things)

    def _ranked(self, shown: Sequence[str]) -> str:
        """What is ranked first, with the number that all of them share said once."""
        rows = self._beside.rows if self._beside is not None else ()
        shared = {self._written(row[1], 1) for row in rows if len(row) == 2 and row[1] is not None}
        if len(shown) < 2 or len(shared) != 1:
            return self._joined(shown)
        things = [self._written(row[0]) for row in rows if row[0] is not None]
        return self._words["each"].format(values=self._joined(things), value=shared.pop())

    def _joined(self, shown: Sequence[str]) -> str:
        return self._words["after" if self._frame.form is AnswerForm.GROUP else "and"].join(shown)

    def _many(self, shown: Sequence[str]) -> str:
        if self._frame.form is AnswerForm.GROUP:
            return self._put("more", count=f"{len(shown) - _SHOWN:,}", shown=self._joined(shown[:_SHOWN]))
        count = f"{len(shown):,}{'+' if self._solutions.truncated else ''}"
        noun = self._frame.noun
        things = (plural(noun) if self._language != "zh" and noun else noun) or self._words["results"]
        return self._put("many", count=count, things=things, shown=self._joined(shown[:_SHOWN]))


def written(value: str, term: Term, column: AnswerColumn, language: str) -> str:
    """A value as people write it: numbers with their unit and thousands apart, days in words."""
    kind = term.datatype.value if isinstance(term, Literal) else ""
    if kind.endswith(("#dateTime", "#date")):
        return day(value, language)
    if kind.endswith("#gYear"):
        return year(value, language)
    if kind.endswith("#boolean") and value in ("true", "false"):
        return phrases(language)["yes" if value == "true" else "no"].rstrip(".。").casefold()
    if not kind.endswith(_NUMERIC) or column.is_code:
        return value
    try:
        return amount(value, column.unit, language)
    except (ValueError, OverflowError):
        return value


def graph_of(form: Form | None, facts: FactGraph) -> QueryGraph | None:
    """The query graph of a form, so that a sentence can say it; None for what a query graph cannot hold."""
    try:
        return _FormGraph(facts).of(form)
    except _NotInGraphError:
        return None


_WHOLE = ({4}, {10})
"""How long both ends of a period are that a query graph can hold: years, or days."""


class _NotInGraphError(Exception):
    """A form is one that no query graph holds."""


class _FormGraph:
    """A query graph on its way from a logical form."""

    def __init__(self, facts: FactGraph) -> None:
        self._facts = facts
        self._nodes: list[Node] = []
        self._links: list[Link] = []
        self._comparisons: list[NodeComparison] = []
        self._best: list[Best] = []
        self._having: list[Having] = []

    def of(self, form: Form | None) -> QueryGraph:
        match form:
            case Listed(of, columns, False):
                node = self._node(of)
                return self._graph("list", (node, *(self._along(node, (column,)) for column in columns)))
            case SizeOf(of):
                return self._graph("count", (self._node(of),))
            case Aggregated(function, predicate, of):
                return self._graph(function, (self._step(self._node(of), predicate, outward=True),))
            case Grouped(of, key, "COUNT"):
                node = self._node(of)
                return self._graph("count", (node,), (self._along(node, key),))
            case IsAny(of):
                self._node(of)
                return self._graph("ask", ())
        raise _NotInGraphError

    def _graph(self, form: str, targets: tuple[int, ...], group: tuple[int, ...] = ()) -> QueryGraph:
        return QueryGraph(
            tuple(self._nodes),
            tuple(self._links),
            tuple(self._comparisons),
            tuple(self._best),
            tuple(self._having),
            targets=targets,
            form=form,
            group=group,
        )

    def _new(self, types: Iterable[NamedNode] = (), *, literal: bool = False) -> int:
        self._nodes.append(Node(-1, frozenset(types), literal=literal))
        return len(self._nodes) - 1

    def _step(self, node: int, predicate: NamedNode, *, outward: bool, **how: Any) -> int:
        """The node to which a step leads."""
        ends = self._facts.objects if outward else self._facts.subjects
        some = next(iter(ends.get(predicate, ())), None)
        literal, schema = some is not None and isinstance(self._facts.terms[some], Literal), self._facts.schema
        end = self._new(
            () if literal else (schema.ranges if outward else schema.domains)(predicate)[:1], literal=literal
        )
        self._links.append(Link(node, predicate, end, **how) if outward else Link(end, predicate, node, **how))
        return end

    def _along(self, node: int, path: Path) -> int:
        for predicate, outward in path:
            node = self._step(node, predicate, outward=outward)
        return node

    def _node(self, form: SetForm) -> int:
        """A node for what is in a set."""
        match form:
            case Named(items):
                every = (self._facts.terms[item] for item in sorted(items))
                terms = tuple(term for term in every if isinstance(term, NamedNode | Literal))
                if not terms:  # blank nodes with a name
                    raise _NotInGraphError
                node = self._new()
                self._nodes[node] = replace(self._nodes[node], terms=terms, literal=isinstance(terms[0], Literal))
                return node
            case Follow(predicate, outward, of, again):
                inner = self._node(of)
                return self._step(inner, predicate, outward=outward, path="+" if again else "")
            case And(parts) if told := [part for part in parts if isinstance(part, Follow) and part.outward]:
                node = self._node(told[0])
                for part in parts:
                    if part is not told[0]:
                        self._restrict(node, part)
                return node
        node = self._new()
        self._restrict(node, form)
        return node

    def _restrict(self, node: int, form: SetForm) -> None:
        match form:
            case Kind(iri):
                self._nodes[node] = replace(self._nodes[node], named=iri, types=frozenset((iri,)))
            case And(parts):
                for part in parts:
                    self._restrict(node, part)
            case Follow(predicate, False, of, again):
                path, link = "+" if again else "", self._node(of)
                self._links.append(Link(node, predicate, link, path=path))
            case Follow(predicate, True, of, again):
                self._links.append(Link(self._node(of), predicate, node, path="+" if again else ""))
            case Has(predicate, outward):
                self._step(node, predicate, outward=outward)
            case Without(base, Has(predicate, outward)):
                self._restrict(node, base)
                self._step(node, predicate, outward=outward, negated=True)
            case _:
                self._measure(node, form)
        if not self._nodes[node].types and (types := self._types(node)):
            self._nodes[node] = replace(self._nodes[node], types=types)

    def _measure(self, node: int, form: SetForm) -> None:
        match form:
            case Compare(predicate, low, high, strict) if not self._facts.ordered.get(predicate, False):
                leaf, equal = self._step(node, predicate, outward=True), "" if strict else "="
                if low == high:
                    self._comparisons.append(NodeComparison(leaf, "=", f"{low:g}"))
                for sign, bound in ((">", low), ("<", high)) if low != high else ():
                    if bound is not None:
                        self._comparisons.append(NodeComparison(leaf, f"{sign}{equal}", f"{bound:g}"))
            case Period(predicate, low, high) if (lengths := {len(bound) for bound in (low, high) if bound}) in _WHOLE:
                term = self._facts.schema.properties.get(predicate)
                years = "gyear" if term is not None and XSD_GYEAR in term.datatypes else "year"
                how, leaf = "date" if 10 in lengths else years, self._step(node, predicate, outward=True)
                sign = "=" if low == high else ">=" if low else "<="
                until = high if low and low != high else None
                self._comparisons.append(NodeComparison(leaf, sign, low or high, until, how))
            case Top(base, path, most, counted, size):
                self._restrict(node, base)
                self._best.append(Best(node, self._along(node, path), 1 if most else -1, counted, size))
            case HasMany(predicate, outward, low, high):
                end = self._step(node, predicate, outward=outward)
                tests = [("=", low)] if low == high else [(">=", low), ("<=", high)]
                self._having += [Having(node, end, sign, str(number)) for sign, number in tests if number is not None]
            case _:
                raise _NotInGraphError

    def _types(self, node: int) -> frozenset[NamedNode]:
        """The class of what has, or is a value of, what a node's first link says."""
        for link in self._links:
            if node in (link.subject, link.object):
                schema = self._facts.schema
                found = (schema.domains if link.subject == node else schema.ranges)(link.predicate)
                return frozenset(found[:1])
        return frozenset()


def described_in(found: Sequence[Literal], language: str) -> tuple[str, ...]:
    """The descriptions in the language, or all where there is none in it."""
    words = [Word(item.value, item.language or "") for item in found]
    own = [word.text for word in words if word.language in (language, "")] or [word.text for word in words]
    return tuple(dict.fromkeys(own))


def fact_line(names: NameIndex, predicate: NamedNode, values: Sequence[str], language: str) -> str:
    """A property with its values, of many the first few."""
    comma, joint = ("、", "：") if language == "zh" else (", ", ": ")
    shown = comma.join(values[:_MOST_VALUES])
    more = ("等" if language == "zh" else ", …") if len(values) > _MOST_VALUES else ""
    return f"{names.schema.label(predicate, language)}{joint}{shown}{more}"


_DESCRIBING = (
    NamedNode(f"{DCTERMS}description"), NamedNode(f"{SCHEMA}description"), NamedNode(f"{DCTERMS}abstract"),
    NamedNode(f"{SKOS}definition"), COMMENT,
)  # fmt: skip
_MOST_ROWS, _MOST_FACTS = 300, 10


@dataclass(frozen=True, slots=True)
class ToldOfThing:
    """What is said of it: the sentence, its descriptions or else its facts as values, and the query they come from."""

    text: str
    values: tuple[str, ...]
    query: str
    solutions: Solutions


def meaning(term: NamedNode, names: NameIndex, language: str) -> str:
    """What the ontology's comment says that a class or property is; empty where there is none."""
    found = names.schema.classes.get(term) or names.schema.properties.get(term)
    comments = found.comments if found else ()
    own = [item.text for item in comments if item.language == language] or [item.text for item in comments]
    if not own:
        return ""
    return f"{names.schema.label(term, language)}{'：' if language == 'zh' else ': '}{own[0]}"


def told(thing: NamedNode, names: NameIndex, language: str, run: RunQuery) -> ToldOfThing | None:
    """What the graph says of a thing: its classes, its descriptions and facts; None where it says nothing.

    Raises QueryError as ``run`` does.
    """
    query = f"SELECT ?property ?value WHERE {{ {thing} ?property ?value }} LIMIT {_MOST_ROWS}"
    solutions = run(query)
    pairs = [(p, v) for p, v in (row[:2] for row in solutions.rows) if isinstance(p, NamedNode) and v is not None]
    described = described_in([v for p, v in pairs if p in _DESCRIBING and isinstance(v, Literal)], language)
    facts: dict[NamedNode, list[str]] = {}
    for predicate, value in pairs:
        if predicate in names.schema.properties and predicate not in _DESCRIBING:
            listed = facts.setdefault(predicate, [])
            column = AnswerColumn(names.schema.unit(predicate, language))
            label = written(names.label(value, language), value, column, language)
            listed += [label] if label and label not in listed else []
    if not described and not facts:
        return None
    chinese = language == "zh"
    typed = [v for p, v in pairs if p == TYPE and isinstance(v, NamedNode)]
    classes = [v for v in typed if v in names.schema.classes and v != THING]
    narrow = [v for v in classes if not any(o != v and o in names.schema.subclasses(v) for o in classes)]
    kinds = [names.schema.label(v, language) for v in narrow]
    lines = [fact_line(names, p, facts[p], language) for p in sorted(facts, key=lambda p: p.value)[:_MOST_FACTS]]
    joint, comma, stop = ("：", "、", "。") if chinese else (": ", ", ", ". ")
    label = names.full_label(thing, language)
    head = f"{label}{joint}{comma.join(dict.fromkeys(kinds))}" if kinds else label
    said = [head, *(text.rstrip("。. ") for text in described), ("；" if chinese else "; ").join(lines)]
    values = described or tuple(dict.fromkeys(v for p in facts for v in facts[p]))
    return ToldOfThing((stop.join(part for part in said if part) + stop).strip(), values, query, solutions)


def unsupported(text: str, allowed: Iterable[str]) -> tuple[str, ...]:
    """The names and numbers in a text that occur nowhere in the allowed texts: what a model made up."""
    source = " ".join(allowed)
    plain = normalise(source)
    numbers = {_digits(match) for match in _NUMBER.findall(source)}
    found = [number for number in _NUMBER.findall(text) if _digits(number) not in numbers]
    for match in lexicon.pattern("answer_text.name_en", 0).finditer(text):
        name = match.group().rstrip(".'’-")
        opening = match.start() == 0 or text[: match.start()].rstrip().endswith((".", "!", "?", ":", "\n", "-", "*"))
        if normalise(name) in plain or (opening and " " not in name):
            continue
        found += [part for part in _JOINING.split(name) if normalise(part) not in plain]
    found += [name for name in _QUOTED.findall(text) if normalise(name) not in plain]
    return tuple(dict.fromkeys(found))


def _digits(number: str) -> str:
    plain = number.replace(",", "")
    return plain.rstrip("0").rstrip(".") if "." in plain else plain


# An answer in the words of a model, which may say nothing that rows and passages do not hold.
#
# The guard looks at names and numbers: capitalised names, quoted ones, every name of the graph that stands in the text,
# digits and number words. One that is in neither the rows, the passages nor the question, and the wording is dropped.

_LONGEST = 2_000
_QUOTE = 300
_FEW = 5
_ROWS = 40
_TALLIED = r"\bCOUNT\s*\([^()]*\)\s*AS\s+[?$]{variable}\b"
_SUMMED = r"\b(?:SUM|AVG|MIN|MAX)\s*\(\s*(?:DISTINCT\s+)?[?$](\w+)\s*\)\s*AS\s+[?$]{variable}\b"
_AMOUNT = re.compile(r"-?\d+(?:\.\d+)?")
_POLARITY = {"yes": True, "是": True, "no": False, "否": False}
_NUMBER_WORDS: Mapping[str, int] = lexicon.numbers("answer_text.number_words")
_HAN_NUMBERS = lexicon.numbers("answer_text.han_numbers")
_WORD_NUMBER = re.compile(rf"\b({'|'.join(_NUMBER_WORDS)})\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Phrased:
    """The answer as it is given; ``note`` says why the model's wording was not taken, then it is the plain one."""

    text: str
    usage: Usage
    note: str = ""


@dataclass(frozen=True, slots=True)
class LabelledRows:
    """The rows of a query as a model is shown them: JSON, and the texts that stand in it as answers."""

    json: str
    values: tuple[str, ...]


def labelled(
    query: str, solutions: Solutions, names: NameIndex, language: str, *, apart: Mapping[Term, str]
) -> LabelledRows:
    """The rows with the heads, units and notes of their columns, and how many rows and different things there are.

    ``apart`` are labels for the things that share one. Cents become the unit of their currency.
    """
    if solutions.boolean is not None:
        said = values_of(solutions, str, language)
        return LabelledRows(json.dumps({"answer": said[0]}, ensure_ascii=False), said)
    notes: dict[str, str] = {}
    columns: dict[str, list[tuple[str, str] | None]] = {}
    for place, variable in enumerate(solutions.variables):
        term = _head(query, variable, names)
        counted = re.search(_TALLIED.format(variable=variable), query, re.IGNORECASE)
        head = phrases(language)["number"] if counted else names.schema.label(term, language) if term else variable
        head = f"{head} ({variable})" if head in columns else head
        unit = names.schema.unit(term, language) if term else ""
        values = [row[place] for row in solutions.rows]
        columns[head] = [_cell(value, unit, names, language, apart) for value in values]
        used = names.schema.properties.get(term) if term else None
        if used and not unit and any(isinstance(value, Literal) for value in values):
            note = label_of(used.comments, language, "")
            notes |= {head: " ".join(note.split())[:_QUOTE]} if note else {}
    rows = list(zip(*columns.values(), strict=True))
    shown = [
        {head: " ".join(filter(None, cell)) if cell else None for head, cell in zip(columns, row, strict=True)}
        for row in rows[:_ROWS]
    ]
    things = {row[0] for row in solutions.rows if isinstance(row[0], NamedNode)}
    told = {"rows": len(rows), "things": len(things), "notes": notes, "shown": shown}
    text = json.dumps({name: value for name, value in told.items() if value}, ensure_ascii=False)
    return LabelledRows(text, tuple(dict.fromkeys(cell[0] for row in rows for cell in row if cell)))


def _head(query: str, variable: str, names: NameIndex) -> NamedNode | None:
    """The class of the things in a column, or the property whose values it holds, as they are or summed up."""
    summed = re.search(_SUMMED.format(variable=variable), query, re.IGNORECASE)
    shown, found = summed[1] if summed else variable, None
    for pattern in patterns_of(query, PREFIXES).triples:
        if pattern.predicates[0].kind != "iri":
            continue
        first, last = NamedNode(pattern.predicates[0].value), pattern.object
        if first == TYPE and pattern.subject.value == shown and last.kind == "iri":
            return NamedNode(last.value)
        if pattern.plain and (last.kind, last.value) == ("variable", shown) and first in names.schema.properties:
            found = found or first
    return found


def _cell(
    term: Term | None, unit: str, names: NameIndex, language: str, apart: Mapping[Term, str]
) -> tuple[str, str] | None:
    """A value as it is read and its unit; None where there is none."""
    if term is None or isinstance(term, BlankNode):
        return None
    if not isinstance(term, Literal):
        return (apart.get(term) or names.full_label(term, language), "")
    whole = _MINOR_UNITS.get(unit.casefold(), "") if _AMOUNT.fullmatch(term.value) else ""
    unit = unit_in(whole or unit, "zh") if language == "zh" else whole or unit
    if whole:
        return (f"{float(term.value) / 100:.2f}".removesuffix(".00"), unit)
    text = written(term.value, term, AnswerColumn(), language)
    text = bare if _AMOUNT.fullmatch(bare := text.replace(",", "")) else text
    called = {name.term for name in names.exact.get(normalise(text), ()) if name.kind == "entity"}
    if len(called) == 1 and has_han(text) is not (language == "zh"):
        text = names.label(next(iter(called)), language)
    return (text, unit if text[:1].isdigit() or text[:1] == "-" else "")


def phrased(
    question: str, plain: str, rows: LabelledRows, *, names: NameIndex, model: ChatModel, language: str
) -> Phrased:
    """The answer in the model's words, unless it cannot be reached or says more than it was given."""
    messages, _ = prompts.render_messages("phrase-answer", question=question, language=language, result=rows.json)
    try:
        completion = model.complete(messages)
    except ModelError as error:
        return Phrased(plain, Usage(), f"worded without the model: {error}")
    text = completion.text.strip()[:_LONGEST]
    made_up = invented(text, [plain, question, rows.json], names)
    missing = () if made_up else omitted(text, rows.values)
    if made_up or missing or not text:
        wrong = f"said {', '.join(made_up[:3])}" if made_up else f"left out {', '.join(missing[:3]) or 'everything'}"
        return Phrased(plain, completion.usage, f"the model's wording was dropped: it {wrong}")
    return Phrased(text, completion.usage)


def omitted(text: str, values: Sequence[str]) -> tuple[str, ...]:
    """The answer values that a wording leaves out: of a few none may be missing, of many some have to be there.

    A yes has to stay a yes, and a no a no.
    """
    if len(values) == 1 and (polarity := _POLARITY.get(values[0].casefold())) is not None:
        return () if bool(lexicon.pattern("answer_text.denied").search(text)) is not polarity else tuple(values)
    plain = normalise(with_short_months(text))
    bare = text.replace(",", "").replace("，", "")
    shown = ((value, normalise(with_short_months(value))) for value in values)
    missing = tuple(value for value, short in shown if short not in plain and value not in bare)
    if len(values) <= _FEW:
        return missing
    return () if len(missing) < len(values) else missing


def invented(text: str, allowed: Sequence[str], names: NameIndex) -> tuple[str, ...]:
    """The names and numbers of a text that stand nowhere in the allowed texts, those of the graph among them."""
    source = " ".join(allowed)
    plain = normalise(source)
    numbers = set(re.findall(r"\d+(?:\.\d+)?", source.replace(",", "")))
    said = [
        *((word, _NUMBER_WORDS[word.casefold()]) for word in _WORD_NUMBER.findall(text)),
        *((word, _HAN_NUMBERS[word]) for word in lexicon.pattern("answer_text.han_number").findall(text)),
    ]
    counted = [word for word, number in said if str(number) not in numbers and normalise(word) not in plain]
    known = [
        item.text
        for item in names.link(text)
        if item.kind == "entity" and _is_name(item.text) and normalise(item.text) not in plain
    ]
    return tuple(dict.fromkeys((*unsupported(text, allowed), *counted, *known)))


def _is_name(text: str) -> bool:
    """Whether a word that a thing is called by is used as a name: capitalised, or in Chinese of two characters."""
    return text != text.casefold() if text.isascii() else len(text) > 1


# An answer as JSON (the contract of ``ask --format json``).


def as_json(answer: Answer, label_of: Callable[[Term], str]) -> dict[str, object]:
    """The answer as JSON values; ``rows`` are SPARQL JSON bindings, with a ``label`` where a thing has one."""
    query = answer.query
    usage = answer.usage
    return {
        "question": answer.question.text,
        "language": answer.question.language,
        "answer": answer.text,
        "verdict": answer.verdict.value,
        "reason": answer.reason.value if answer.reason else None,
        "clarification": None
        if answer.clarification is None
        else {"question": answer.clarification.question, "options": list(answer.clarification.options)},
        "confidence": round(answer.confidence, 3),
        "confidence_level": answer.confidence_level,
        "using": answer.using,
        "model": answer.model,
        "kind": answer.question.kind.value,
        "class": answer.question_class or None,
        "query": query.text if query else None,
        "reading": query.reading if query else "",
        "attempts": [
            {"query": attempt.query, "issues": [issue.message for issue in attempt.issues]}
            for attempt in (query.attempts if query else ())
        ],
        "rows": _rows(answer.solutions, label_of),
        "values": list(answer.values),
        "evidence": [_evidence(item) for item in answer.evidence],
        "row_evidence": [list(places) for places in answer.row_evidence],
        "entities": [_linked(item) for item in answer.question.linked],
        "usage": {**asdict(usage), "seconds": round(usage.seconds, 3)},
        "choice": None if answer.choice is None else _choice(answer.choice),
        "trace": list(answer.trace),
    }


def _choice(choice: Choice) -> dict[str, object]:
    return {
        "domain": choice.domain,
        "certainty": choice.certainty,
        "changes": choice.changes,
        "order": list(choice.order),
        "chosen": choice.chosen,
        "consulted": [asdict(item) for item in choice.consulted],
        "reasons": list(choice.reasons),
        "premise": choice.premise or None,
    }


def _rows(solutions: Solutions, label_of: Callable[[Term], str]) -> list[dict[str, object]]:
    if solutions.boolean is not None:
        return []
    return [
        {
            name: _binding(term, label_of)
            for name, term in zip(solutions.variables, row, strict=True)
            if term is not None
        }
        for row in solutions.rows
    ]


def _binding(term: Term, label_of: Callable[[Term], str]) -> dict[str, str]:
    if isinstance(term, NamedNode):
        return {"type": "uri", "value": term.value, "label": label_of(term)}
    if isinstance(term, BlankNode):
        return {"type": "bnode", "value": term.value}
    if isinstance(term, Literal):
        binding = {"type": "literal", "value": term.value}
        if term.language:
            binding["lang"] = term.language
        elif term.datatype != XSD_STRING:
            binding["datatype"] = term.datatype.value
        return binding
    return {"type": "triple", "value": str(term)}


def _evidence(item: Evidence) -> dict[str, object]:
    return {**asdict(item), "chunk": item.chunk.value, "document": item.document.value}


def _linked(item: Linked) -> dict[str, object]:
    return {"text": item.text, "iri": item.iri.value, "label": item.label, "score": item.score, "kind": item.kind}


def cites(answer: Answer) -> bool:
    """True if the passages are what the text rests on or quotes, not only related ones."""
    return answer.verdict is Verdict.ANSWERED or (answer.using != "sparql" and bool(_CITES.search(answer.text)))


def marked(item: Evidence) -> str:
    """The quote; where it is one sentence of a passage, between marks, with what stands around it."""
    before, quote, after = (" ".join(part.split()) for part in (item.before, item.quote, item.after))
    if not before and not after:
        return f"“{quote[:300]}{'…' if len(quote) > 300 else ''}”"
    head = f"…{before[-_AROUND:]}" if len(before) > _AROUND else before
    tail = f"{after[:_AROUND]}…" if len(after) > _AROUND else after
    return f"{head} »{quote}« {tail}".strip()


def kind_of(query: str) -> QuestionKind:
    """What form of answer a query gives."""
    upper = query.lstrip().upper()
    head = upper.partition("{")[0]
    if "ASK" in head.split():
        return QuestionKind.BOOLEAN
    if "COUNT(" in head:
        return QuestionKind.COUNT
    if any(f"{name}(" in head for name in ("AVG", "SUM", "MIN", "MAX")):
        return QuestionKind.AGGREGATE
    return QuestionKind.SUPERLATIVE if "MAX(" in upper or "MIN(" in upper else QuestionKind.LIST
