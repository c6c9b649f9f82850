"""Amounts in a query graph: values compared with numbers and years, how many of something, what comments define."""

from __future__ import annotations

import re
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from dataclasses import replace

from pyoxigraph import NamedNode

from kgplatform.questions.dates import ISO
from kgplatform.questions.graphs import Comparison, Having, Node, QueryGraph
from kgplatform.questions.measures import Convention, Measures
from kgplatform.questions.mentions import Reading
from kgplatform.questions.quantities import Amount
from kgplatform.questions.schema import SchemaProperty, SchemaView
from kgplatform.questions.wording import ADJECTIVES, SAID_IN_ENGLISH, SAID_OF_NOT
from kgplatform.questions.work import Work, by_distance, mention_place, predicate_of, summed_for
from kgplatform.text import has_han

_YEAR = re.compile(r"(?:1[0-9]|20)\d\d")
_DENIED = re.compile(r"(?:\b(?:not|isn['’]t|aren['’]t)(?: (?:a|an|the))?\s*|(?<!是)不(?:是|算)?|并?非)$", re.IGNORECASE)
_COUNTED_BEFORE = re.compile(r"[个家座条位名种类所间门部处](?:以上|以下|以内)?(?:的|\W*$|[，,。？?])")
_LONGEST = 5
_OPPOSITE = {"=": "!=", "!=": "=", ">": "<=", "<=": ">", "<": ">=", ">=": "<"}
_KNOWN = 1.0
"""What it costs that a number is compared with the one value of a thing that the question names."""
_ANY_YEAR = re.compile(r"\d{3,4}")


class Amounts:
    """Restricts drafts over one graph by the amounts of a question."""

    def __init__(self, schema: SchemaView, measures: Measures) -> None:
        self._schema = schema
        self._measures = measures

    def compared(self, work: Work, amount: Amount, reading: Reading) -> Work:
        """The draft with an amount: of a value in it, of how many there are, or of a property that fits."""
        place = mention_place(reading, amount.first)
        work = self._without_led(work, place - 1, amount, reading)
        leaf = self._leaf_near(work.graph, place, amount)
        if leaf is not None and not reading.cues.boolean and _is_known(work.graph, leaf):
            work = replace(work, score=work.score - _KNOWN)
        if leaf is not None:
            return self._summed(work, leaf, amount, reading) or self._with_comparison(work, leaf, amount)
        held = self._held_near(work, place)
        if held is not None:
            return self._with_comparison(held, len(held.graph.nodes) - 1, amount)
        having = None if self._of_unit(work.graph, amount) else self._having(work, amount, reading)
        if having is not None:
            return having
        for index in by_distance(work.graph, place):
            node = work.graph.nodes[index]
            if node.terms or node.literal:
                continue
            predicate = self._measured(node, amount)
            if predicate is not None:
                grown = work.with_leaf(index, predicate, place)
                return self._with_comparison(grown, len(grown.graph.nodes) - 1, amount)
        return work.without(amount.first, amount.last, 1.0)

    def _without_led(self, work: Work, place: int, amount: Amount, reading: Reading) -> Work:
        """Without a relation whose words only lead to the amount: "published in 2019" tells no place of publication."""
        graph = work.graph
        if place < 0 or reading.mentions[place].last != amount.first or not _YEAR.fullmatch(amount.low):
            return work
        for link in graph.links:
            end = graph.nodes[link.object]
            loose = not (end.literal or end.terms) and end.place == place and len(graph.around(link.object)) == 1
            subject = graph.nodes[link.subject]
            if link.place == place and loose and self._measured(subject, amount) is not None:
                return replace(work, graph=graph.without(link.object))
        return work

    def _of_unit(self, graph: QueryGraph, amount: Amount) -> bool:
        """Whether the unit of an amount is that of a property of something unknown: 100元 of hotels is their price."""
        unknown = (node for node in graph.nodes if not node.terms and not node.literal)
        return bool(amount.unit) and any(self._measures.by_unit(sorted(n.types, key=str), amount.unit) for n in unknown)

    @staticmethod
    def _summed(work: Work, leaf: int, amount: Amount, reading: Reading) -> Work | None:
        """“Companies whose average wage is above 30”: the number is of what is summed up for each, not of one value."""
        function = reading.cues.aggregate
        group = summed_for(work.graph, leaf) if function and amount.high is None else None
        if group is None:
            return None
        having = Having(group, leaf, amount.operator, amount.low, function)
        graph = replace(work.graph, having=(*work.graph.having, having))
        return replace(work, graph=graph, score=work.score + 0.6)

    def _leaf_near(self, graph: QueryGraph, place: int, amount: Amount) -> int | None:
        taken = {c.node for c in graph.comparisons if not _bounds_together(c.operator, amount.operator)}
        for index in by_distance(graph, place):
            node = graph.nodes[index]
            if not node.literal or node.terms or index in taken or abs(node.place - place) > 2:
                continue
            term = self._schema.properties.get(predicate_of(graph, index))
            if term is not None and _fits(term, amount) and not self._of_other_sense(graph, index, amount):
                return index
        return None

    def _of_other_sense(self, graph: QueryGraph, leaf: int, amount: Amount) -> bool:
        """Whether a number stands beside a year, "bought since 2015", though things have a year of their own."""
        if amount.unit or "year" not in amount.senses or not _YEAR.fullmatch(amount.low):
            return False
        link = next(link for link in graph.links if link.object == leaf)
        term = self._schema.properties.get(link.predicate)
        types = sorted(graph.nodes[link.subject].types, key=str)
        own = self._measures.by_senses(types, ("year", "date", "start"))
        return term is not None and not term.temporal and own not in (None, link.predicate)

    def _held_near(self, work: Work, place: int) -> Work | None:
        """With the number that something holds whose name stands near: the amount of "costs less than 5"."""
        graph = work.graph
        for index in by_distance(graph, place):
            node = graph.nodes[index]
            if node.literal or node.terms or node.named is not None or abs(node.place - place) > 1:
                continue
            for link in graph.around(index):
                said = link.object == index and link.place == node.place
                number = self._measures.held_by(link.predicate, sorted(node.types, key=str)) if said else None
                if number is not None:
                    return work.with_leaf(index, number, place)
        return None

    def _measured(self, node: Node, amount: Amount) -> NamedNode | None:
        types = sorted(node.types, key=str)
        if ISO.fullmatch(amount.low):
            listed = self._measures.literal_properties(types)
            dated = [p.iri for p in listed if p.temporal and not _is_year(p)]
            named = self._measures.by_senses(types, amount.senses)
            return named if named in dated else dated[0] if len(dated) == 1 else None
        found = self._measures.by_unit(types, amount.unit) if amount.unit else None
        if found is None and amount.senses:
            found = self._measures.by_senses(types, amount.senses)
        if found is None and _YEAR.fullmatch(amount.low) and not amount.unit:
            found = self._measures.by_senses(types, ("year", "date", "start"))
        return found

    def _with_comparison(self, work: Work, leaf: int, amount: Amount) -> Work:
        term = self._schema.properties.get(predicate_of(work.graph, leaf))
        form = "number"
        if ISO.fullmatch(amount.low):
            form = "date"
        elif term is not None and term.temporal:
            kinds = {d.value.rsplit("#", 1)[-1] for d in term.datatypes}
            form = "gyear" if "gYear" in kinds else "year"
        operator = amount.operator if amount.operator != ".." else ">="
        comparison = Comparison(leaf, operator, amount.low, amount.high, form)
        graph = replace(work.graph, comparisons=(*work.graph.comparisons, comparison))
        return replace(work, graph=graph, score=work.score + 0.6)

    def _having(self, work: Work, amount: Amount, reading: Reading) -> Work | None:
        """“More than one prerequisite”: the number is of things, not of a measure."""
        if not amount.compared or amount.high is not None or not amount.low.isdigit():
            return None
        place = mention_place(reading, amount.first) - _is_of_what_precedes(amount, reading)
        beside = place > 0 and place < len(reading.mentions) and _touch(reading, place)  # 县级区划: two words of one
        at = place if not beside or any(n.place == place for n in work.graph.nodes) else place - 1
        for index, node in enumerate(work.graph.nodes):
            if node.place == at and not node.terms and not node.literal and work.graph.around(index):
                link = work.graph.around(index)[0]
                other = link.object if link.subject == index else link.subject
                if (amount.operator, amount.low) == (">=", "1"):
                    return replace(work, score=work.score + 0.6)  # that there is one is what the relation says
                having = Having(other, index, amount.operator, amount.low)
                graph = replace(work.graph, having=(*work.graph.having, having))
                return replace(work, graph=graph, score=work.score + 0.6)
        return None

    def conventions(self, work: Work, reading: Reading) -> Work:
        """Adjectives that the comments of a class define by a number: "a good restaurant is rated above 2.5"."""
        covered = {i for m in reading.mentions for i in range(m.first, m.last)} | reading.cues.used
        for first, last in _uncovered_words(reading, covered):
            word = reading.text[reading.tokens[first].start : reading.tokens[last - 1].end]
            if not work.used.isdisjoint(range(first, last)):
                continue
            for index, node in enumerate(work.graph.nodes):
                if node.literal or (node.terms and not _only_thing(work.graph, reading)):
                    continue
                found = self._defined(sorted(node.types, key=str), word)
                if found is not None:
                    before = _denying(reading, first)
                    if (word in SAID_OF_NOT) != bool(before):
                        found = replace(found, amount=replace(found.amount, operator=_OPPOSITE[found.amount.operator]))
                    work = self._as_told(work, index, found)
                    work.used.update(range(first - before, last))
                    break
        return work

    def _defined(self, types: list[NamedNode], word: str) -> Convention | None:
        """What the comments of the classes say that a word means, in English too or by another word of its sense."""
        sense = SAID_IN_ENGLISH.get(word) or SAID_OF_NOT.get(word, "")
        alike = (other for other, said in SAID_IN_ENGLISH.items() if said == sense)
        for said in dict.fromkeys((word, sense, *alike) if sense else (word,)):
            found = self._measures.convention(types, said) if word not in SAID_OF_NOT or said != word else None
            if found is not None:
                return found
        return None

    def _as_told(self, work: Work, index: int, found: Convention) -> Work:
        """The node restricted as a comment says, by the value that is there already if nothing else is said of it."""
        compared = {c.node for c in work.graph.comparisons}
        for link in work.graph.links:
            leaf = work.graph.nodes[link.object]
            same = link.subject == index and link.predicate == found.predicate and link.object not in compared
            if same and found.amount.operator == "=" and leaf.literal and not leaf.terms:
                return self._with_comparison(work, link.object, found.amount)
        grown = work.with_leaf(index, found.predicate, work.graph.nodes[index].place)
        return self._with_comparison(grown, len(grown.graph.nodes) - 1, found.amount)


def _is_of_what_precedes(amount: Amount, reading: Reading) -> bool:
    """Whether a Chinese number with a counter counts what stands before it: 分店超过三家的, not 超过三家分店的."""
    if reading.language != "zh":
        return False
    return _COUNTED_BEFORE.match(reading.text, reading.tokens[amount.last - 1].end) is not None


def _touch(reading: Reading, place: int) -> bool:
    """Whether a mention begins where the one before it ends."""
    return reading.mentions[place - 1].last == reading.mentions[place].first


def _denying(reading: Reading, place: int) -> int:
    """How many tokens before a word deny it: 不是免费的, "not free"."""
    match = _DENIED.search(reading.text[: reading.tokens[place].start])
    if match is None:
        return 0
    return sum(match.start() <= token.start for token in reading.tokens[:place])


def _only_thing(graph: QueryGraph, reading: Reading) -> bool:
    """Whether a yes or no is wanted of the one thing that there is: 甲是免费的吗."""
    return reading.cues.boolean and sum(not node.literal for node in graph.nodes) == 1


def _is_known(graph: QueryGraph, leaf: int) -> bool:
    """Whether a value is that of a thing that the question names, while something else is asked for."""
    return any(link.object == leaf and graph.nodes[link.subject].terms for link in graph.links)


def _bounds_together(one: str, other: str) -> bool:
    """Whether two comparisons are the two ends of a range: after 2000 and before 2015."""
    return {one[:1], other[:1]} == {"<", ">"}


def _fits(term: SchemaProperty, amount: Amount) -> bool:
    """Whether values of the property compare with the amount: numbers, years with years and dates, days with dates."""
    if ISO.fullmatch(amount.low):
        return term.temporal and not _is_year(term)
    year = _ANY_YEAR if _is_year(term) else _YEAR
    return term.numeric or (term.temporal and year.fullmatch(amount.low) is not None)


def _is_year(term: SchemaProperty) -> bool:
    return all(datatype.value.endswith(("#gYear", "#gYearMonth", "#time")) for datatype in term.datatypes)


def _uncovered_words(reading: Reading, covered: AbstractSet[int]) -> Iterator[tuple[int, int]]:
    """The words that belong to nothing yet; of Han characters all runs of two to five, long ones first.

    Before them come those that have a meaning of their own whatever their parts name: 不要门票.
    """
    starts = {token.start: i for i, token in enumerate(reading.tokens)}
    for word in sorted(SAID_IN_ENGLISH, key=len, reverse=True):
        whole = starts.get(reading.text.find(word), -1)
        if whole >= 0 and whole not in covered and not covered.isdisjoint(range(whole, whole + len(word))):
            yield whole, whole + len(word)
    for first, token in enumerate(reading.tokens):
        if first in covered:
            continue
        if not has_han(token.text):
            if len(token.text) >= 3 and (reading.weights[first] > 0 or token.text.casefold() in ADJECTIVES):
                yield first, first + 1
            continue
        for last in range(min(first + _LONGEST, len(reading.tokens)), first + 1, -1):
            if covered.isdisjoint(range(first, last)):
                yield first, last
