"""What adjectives, amounts and superlatives measure, and the restrictions of a query graph that follow from them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace

from pyoxigraph import NamedNode

from kgplatform import lexicon
from kgplatform.extraction.values import converted
from kgplatform.questions.name_index import NameIndex
from kgplatform.questions.parser.coordination import node_of
from kgplatform.questions.parser.cues import Superlative, read_cues
from kgplatform.questions.parser.draft import (
    OpenGraph,
    by_distance,
    mention_place,
    most_numerous,
    noun_place,
    predicate_of,
    summed_for,
    superlative_order,
)
from kgplatform.questions.parser.mentions import QuestionReading
from kgplatform.questions.parser.quantities import ISO, Amount
from kgplatform.questions.parser.query_graph import Best, Having, Link, Node, NodeComparison, QueryGraph
from kgplatform.questions.parser.vocabulary import (
    ADJECTIVES,
    COMPARATIVES,
    COMPARISON_SENSES,
    PARTICIPLES,
    SAID_IN_ENGLISH,
    SAID_OF_NOT,
    SUPERLATIVES,
    UNIT_SENSES,
    keys,
    sense_keys,
    stem,
    tokens_of,
)
from kgplatform.questions.usage import SchemaProperty, SchemaView
from kgplatform.text import has_han
from kgplatform.vocab import words_of_iri

# Which property an adjective measures: by what the ontology says in its comments, by its words, by its unit.

_REMEMBERED = 20_000
_WORDS = re.compile(r"[^\W\d_]+")
_CLAUSE = re.compile(r"[;.。；](?=\s|$|[^\d])")


@dataclass(frozen=True, slots=True)
class Convention:
    """What an adjective means of a class, as its comment says: a property compared with a number."""

    predicate: NamedNode
    amount: Amount


_UNITS_IN_ENGLISH = lexicon.table("measures.units_in_english")


class Measures:
    """Finds the measured properties of the classes of one graph."""

    def __init__(self, names: NameIndex) -> None:
        self._names = names
        self._schema = names.schema
        self._conventions: dict[tuple[tuple[NamedNode, ...], str], Convention | None] = {}
        self._by_senses: dict[tuple[object, ...], NamedNode | None] = {}

    def literal_properties(self, types: Iterable[NamedNode]) -> list[SchemaProperty]:
        """The properties with literal values that things of these classes have, the most frequent first."""
        counts: dict[NamedNode, int] = {}
        for iri in types:
            for edge in self._schema.outgoing.get(iri, ()):
                if edge.literal and edge.predicate in self._schema.properties:
                    counts[edge.predicate] = counts.get(edge.predicate, 0) + edge.count
        ranked = sorted(counts, key=lambda p: (-counts[p], p.value))
        return [self._schema.properties[p] for p in ranked]

    def by_senses(
        self, types: Iterable[NamedNode], senses: Iterable[str], *, adjective: str = "", ordered: bool = True
    ) -> NamedNode | None:
        """The property of these classes that measures one of the senses, the first sense first."""
        listed, wanted = tuple(types), tuple(senses)
        key = (listed, wanted, adjective, ordered)
        if key not in self._by_senses:
            self._by_senses[key] = self._of_senses(listed, wanted, adjective, ordered=ordered)
        return self._by_senses[key]

    def _of_senses(
        self, listed: tuple[NamedNode, ...], senses: tuple[str, ...], adjective: str, *, ordered: bool
    ) -> NamedNode | None:
        candidates = [p for p in self.literal_properties(listed) if not ordered or p.numeric or p.temporal]
        known = {p.iri for p in candidates}
        told = self._told(listed, adjective, known) if adjective else None
        if told is not None:
            return told
        for key in sense_keys(senses):
            scored = [n for n in self._names.terms.get(key, ()) if n.term in known]
            if scored:
                best = max(scored, key=lambda n: (n.score, -len(str(n.term))))
                assert isinstance(best.term, NamedNode)
                return best.term
        if ("date" in senses or "time" in senses) and adjective not in _OF_LENGTH:
            return next((p.iri for p in candidates if p.temporal), None)
        return None

    def through(self, types: Iterable[NamedNode], senses: Iterable[str]) -> tuple[NamedNode, NamedNode] | None:
        """A relation that names one of the senses, to things that hold the number: a price and its amount."""
        listed = {edge.predicate for iri in types for edge in self._schema.outgoing.get(iri, ()) if not edge.literal}
        for key in sense_keys(senses):
            for name in self._names.terms.get(key, ()):
                if name.term not in listed or not isinstance(name.term, NamedNode):
                    continue
                number = self.number_in(self._schema.ranges(name.term))
                if number is not None:
                    return name.term, number
        return None

    def held_by(self, predicate: NamedNode, types: Iterable[NamedNode]) -> NamedNode | None:
        """The number in what a relation leads to, where its name is that of a measure: a price, not a prerequisite."""
        term = self._schema.properties.get(predicate)
        said = {part for word in (term.words if term else ()) for key, _ in keys(word.text) for part in key}
        return self.number_in(types) if said & _MEASURED else None

    def number_in(self, types: Iterable[NamedNode]) -> NamedNode | None:
        """The one number that things of these classes hold, as a price holds its amount; None for none or several."""
        numbers = [p.iri for p in self.literal_properties(types) if p.numeric]
        return numbers[0] if len(numbers) == 1 else None

    def by_unit(self, types: Iterable[NamedNode], unit: str) -> NamedNode | None:
        """The property of these classes whose ontology unit is the one named, or measures the same."""
        wanted, listed = stem(_UNITS_IN_ENGLISH.get(unit, unit)) if unit else "", self.literal_properties(types)
        same = (term.iri for term in listed if wanted and stem(term.unit.casefold()) == wanted)
        return next(same, None) or next(
            (t.iri for t in listed if t.unit and unit and converted("1", unit, t.unit)), None
        )

    def _told(self, types: Iterable[NamedNode], adjective: str, known: set[NamedNode]) -> NamedNode | None:
        """The property that a class comment names for "largest" and the like."""
        wanted = {stem(adjective), *(stem(word) for word, base in SUPERLATIVES.items() if base == adjective)}
        for clause in self._clauses(types):
            if wanted & {stem(token.text) for token in tokens_of(clause)}:
                found = self._property_in(clause, known)
                if found is not None:
                    return found
        return None

    def _clauses(self, types: Iterable[NamedNode]) -> Iterable[str]:
        for iri in types:
            term = self._schema.classes.get(iri)
            for comment in term.comments if term else ():
                yield from filter(None, (part.strip() for part in _CLAUSE.split(comment.text)))

    def _property_in(self, clause: str, known: set[NamedNode]) -> NamedNode | None:
        best: tuple[float, int, NamedNode] | None = None
        clause = lexicon.pattern("measures.unless").split(clause)[0]
        for span in self._names.schema_terms(tokens_of(clause), clause):
            for name in span.names:
                if name.kind == "property" and isinstance(name.term, NamedNode) and name.term in known:
                    candidate = (name.score, span.last, name.term)
                    if best is None or candidate[:2] > best[:2]:
                        best = candidate
        return best[2] if best else None

    def convention(self, types: Iterable[NamedNode], word: str) -> Convention | None:
        """What the comments of the classes say that the word means, if they put it as a number."""
        listed, wanted = tuple(types), stem(word)
        if (listed, wanted) not in self._conventions:
            if len(self._conventions) >= _REMEMBERED:
                self._conventions.clear()
            self._conventions[listed, wanted] = self._convention(listed, wanted)
        return self._conventions[listed, wanted]

    def _convention(self, listed: tuple[NamedNode, ...], wanted: str) -> Convention | None:
        known = {p.iri for p in self.literal_properties(listed) if p.numeric}
        for clause, said in self._defining(listed):
            if wanted not in clause.casefold():
                continue
            amount = _told_as_number(clause, wanted) if said in known else None
            if amount is not None and said is not None:
                return Convention(said, amount)
            tokens = tokens_of(clause)
            if wanted not in {stem(token.text) for token in tokens}:
                continue
            amounts = [a for a in read_cues(clause, tokens, frozenset()).amounts if a.compared]
            if not amounts:
                continue
            place = next(i for i, token in enumerate(tokens) if stem(token.text) == wanted)
            amount = next((a for a in reversed(amounts) if a.last <= place), amounts[0])
            predicate = said or self._property_in(clause, known) or self.by_senses(listed, amount.senses)
            if predicate in known and predicate is not None:
                return Convention(predicate, amount)
        return None

    def _defining(self, types: tuple[NamedNode, ...]) -> Iterable[tuple[str, NamedNode | None]]:
        """The clauses of the comments of classes, and of their measured properties with the property."""
        for clause in self._clauses(types):
            yield clause, None
        for term in self.literal_properties(types):
            for comment in term.comments if term.numeric else ():
                for part in _CLAUSE.split(comment.text):
                    yield part.strip(), term.iri


_MEASURED = frozenset(
    f"~{sense}" for listed in (*(told for told, _ in ADJECTIVES.values()), *UNIT_SENSES.values()) for sense in listed
)
_OF_LENGTH = lexicon.word_set("measures.of_length")
"""Adjectives of how long something lasts, which is no date."""


def by_age(term: SchemaProperty | None, word: str) -> bool:
    """Whether the word turns round for this property: the oldest have the earliest dates, but the highest ages."""
    if term is None or word not in lexicon.word_set("measures.of_age") or term.temporal or not term.numeric:
        return False
    return any("~age" in key for said in term.words for key, _ in keys(said.text))


def _told_as_number(clause: str, word: str) -> Amount | None:
    """The number that a comment says the word stands for: "0 means free"."""
    match = lexicon.pattern("measures.means").search(clause)
    said = {stem(part) for part in _WORDS.findall(match[2])} if match else set()
    if match is None or not (word in said or (has_han(word) and any(word in part for part in said))):
        return None
    return Amount(0, 0, "=", match[1], None, (), compared=True)


# Amounts in a query graph: values compared with numbers and years, how many of something, what comments define.

_YEAR = re.compile(r"(?:1[0-9]|20)\d\d")
_COUNTED_BEFORE = lexicon.pattern("measures.counted_before")
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

    def compared(self, work: OpenGraph, amount: Amount, reading: QuestionReading) -> OpenGraph:
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

    def _without_led(self, work: OpenGraph, place: int, amount: Amount, reading: QuestionReading) -> OpenGraph:
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
    def _summed(work: OpenGraph, leaf: int, amount: Amount, reading: QuestionReading) -> OpenGraph | None:
        """“Companies whose average wage is above 30”: the number is of what is summed up for each, not of one value."""
        function = reading.cues.aggregate
        group = summed_for(work.graph, leaf) if function and amount.high is None else None
        if group is None:
            return None
        having = Having(group, leaf, amount.operator, amount.low, function)
        graph = replace(work.graph, having=(*work.graph.having, having))
        return replace(work, graph=graph, score=work.score + 0.6)

    def _leaf_near(self, graph: QueryGraph, place: int, amount: Amount) -> int | None:
        # after 2000 and before 2015 are the two ends of one range
        taken = {c.node for c in graph.comparisons if {c.operator[:1], amount.operator[:1]} != {"<", ">"}}
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

    def _held_near(self, work: OpenGraph, place: int) -> OpenGraph | None:
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

    def _with_comparison(self, work: OpenGraph, leaf: int, amount: Amount) -> OpenGraph:
        term = self._schema.properties.get(predicate_of(work.graph, leaf))
        form = "number"
        if ISO.fullmatch(amount.low):
            form = "date"
        elif term is not None and term.temporal:
            kinds = {d.value.rsplit("#", 1)[-1] for d in term.datatypes}
            form = "gyear" if "gYear" in kinds else "year"
        operator = amount.operator if amount.operator != ".." else ">="
        unit, low, high = term.unit if term is not None and form == "number" else "", amount.low, amount.high
        if unit and amount.unit and (low_there := converted(low, amount.unit, unit)):  # 2000 kg of what is in t
            low, high = low_there, high and converted(high, amount.unit, unit)
        comparison = NodeComparison(leaf, operator, low, high, form)
        graph = replace(work.graph, comparisons=(*work.graph.comparisons, comparison))
        return replace(work, graph=graph, score=work.score + 0.6)

    def _having(self, work: OpenGraph, amount: Amount, reading: QuestionReading) -> OpenGraph | None:
        """“More than one prerequisite”: the number is of things, not of a measure."""
        if not amount.compared or amount.high is not None or not amount.low.isdigit():
            return None
        place = mention_place(reading, amount.first) - _is_of_what_precedes(amount, reading)
        # two words of one: 县级区划
        beside = 0 < place < len(reading.mentions) and reading.mentions[place - 1].last == reading.mentions[place].first
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

    def conventions(self, work: OpenGraph, reading: QuestionReading) -> OpenGraph:
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

    def _as_told(self, work: OpenGraph, index: int, found: Convention) -> OpenGraph:
        """The node restricted as a comment says, by the value that is there already if nothing else is said of it."""
        compared = {c.node for c in work.graph.comparisons}
        for link in work.graph.links:
            leaf = work.graph.nodes[link.object]
            same = link.subject == index and link.predicate == found.predicate and link.object not in compared
            if same and found.amount.operator == "=" and leaf.literal and not leaf.terms:
                return self._with_comparison(work, link.object, found.amount)
        grown = work.with_leaf(index, found.predicate, work.graph.nodes[index].place)
        return self._with_comparison(grown, len(grown.graph.nodes) - 1, found.amount)


def _is_of_what_precedes(amount: Amount, reading: QuestionReading) -> bool:
    """Whether a Chinese number with a counter counts what stands before it: 分店超过三家的, not 超过三家分店的."""
    if reading.language != "zh":
        return False
    return _COUNTED_BEFORE.match(reading.text, reading.tokens[amount.last - 1].end) is not None


def _denying(reading: QuestionReading, place: int) -> int:
    """How many tokens before a word deny it: 不是免费的, "not free"."""
    match = lexicon.pattern("measures.denied").search(reading.text[: reading.tokens[place].start])
    if match is None:
        return 0
    return sum(match.start() <= token.start for token in reading.tokens[:place])


def _only_thing(graph: QueryGraph, reading: QuestionReading) -> bool:
    """Whether a yes or no is wanted of the one thing that there is: 甲是免费的吗."""
    return reading.cues.boolean and sum(not node.literal for node in graph.nodes) == 1


def _is_known(graph: QueryGraph, leaf: int) -> bool:
    """Whether a value is that of a thing that the question names, while something else is asked for."""
    return any(link.object == leaf and graph.nodes[link.subject].terms for link in graph.links)


def _fits(term: SchemaProperty, amount: Amount) -> bool:
    """Whether values of the property compare with the amount: numbers, years with years and dates, days with dates."""
    if ISO.fullmatch(amount.low):
        return term.temporal and not _is_year(term)
    year = _ANY_YEAR if _is_year(term) else _YEAR
    return term.numeric or (term.temporal and year.fullmatch(amount.low) is not None)


def _is_year(term: SchemaProperty) -> bool:
    return all(datatype.value.endswith(("#gYear", "#gYearMonth", "#time")) for datatype in term.datatypes)


def _uncovered_words(reading: QuestionReading, covered: AbstractSet[int]) -> Iterator[tuple[int, int]]:
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


# Most and least in a query graph: by a measure, by a number of things, over all or within each group.

_OF_ANOTHER = 1.0
_MORE = lexicon.word_set("measures.more")
_CHOICE = lexicon.pattern("measures.choice")


"""Before a superlative: things are asked for, though they were named before: "of these hotels, which is the …"."""


class Rankings:
    """Restricts drafts over one graph by the superlatives of a question."""

    def __init__(self, schema: SchemaView, measures: Measures) -> None:
        self._schema = schema
        self._measures = measures

    def ranked(self, work: OpenGraph, target: int, cue: Superlative, reading: QuestionReading) -> OpenGraph:
        """The draft with what a superlative is about kept to the most or least; without its words if nothing fits."""
        graph = work.graph
        place = mention_place(reading, cue.last)
        before = place - 1
        if self._amount_follows(reading, place):
            return work
        if cue.adjective == "common":
            return self._most_common(work, target)
        if cue.open:
            measured = self._open_superlative(work, target, cue, place, before, reading)
            if measured is not None:
                return measured
        if not cue.senses:
            return work.without(cue.first, cue.last, 0.5)
        for index in superlative_order(graph, place, before, target, reading.language):
            node = graph.nodes[index]
            if node.literal or node.terms:
                continue
            predicate = self._measures.by_senses(sorted(node.types, key=str), cue.senses, adjective=cue.adjective)
            if predicate is not None:
                grown = work.with_leaf(index, predicate, place)
                turned = by_age(self._schema.properties.get(predicate), cue.adjective)
                direction = -cue.direction if turned else cue.direction
                best = Best(index, len(grown.graph.nodes) - 1, direction, rank=cue.rank)
                done = grown.with_best(self._within(best, grown.graph, reading))
                rated = cue.adjective in PARTICIPLES and graph.nodes[target].literal
                return replace(done, graph=replace(done.graph, targets=(index,))) if rated else done
        return self._through(work, cue, superlative_order(graph, place, before, target, reading.language), place)

    def _through(self, work: OpenGraph, cue: Superlative, order: list[int], place: int) -> OpenGraph:
        """The most or least of a measure that a thing in between holds; without the words if there is none."""
        graph = work.graph
        for index in order:
            steps = self._measures.through(sorted(graph.nodes[index].types, key=str), cue.senses)
            if steps is not None and not graph.nodes[index].literal and not graph.nodes[index].terms:
                between = Node(place, frozenset(self._schema.ranges(steps[0])))
                link = Link(index, steps[0], len(graph.nodes), place=place)
                wider = replace(graph, nodes=(*graph.nodes, between), links=(*graph.links, link))
                grown = replace(work, graph=wider).with_leaf(len(graph.nodes), steps[1], place)
                return grown.with_best(Best(index, len(grown.graph.nodes) - 1, cue.direction))
        if cue.adjective in PARTICIPLES:
            held = self._held(work, cue, order, place)
            if held is not None:
                return held
        return work.without(cue.first, cue.last, 0.8)

    def _held(self, work: OpenGraph, cue: Superlative, order: list[int], place: int) -> OpenGraph | None:
        """“The highest paid player”, where the pay is said of a contract: what is related to the player and has it."""
        graph = work.graph
        for index in order:
            node = graph.nodes[index]
            if node.literal or node.terms:
                continue
            for edge in (e for iri in sorted(node.types, key=str) for e in self._schema.incoming.get(iri, ())):
                predicate = self._measures.by_senses((edge.subject,), cue.senses)
                if predicate is not None:
                    between = Node(place, frozenset((edge.subject,)))
                    link = Link(len(graph.nodes), edge.predicate, index, place=place)
                    wider = replace(graph, nodes=(*graph.nodes, between), links=(*graph.links, link))
                    grown = replace(work, graph=wider).with_leaf(len(graph.nodes), predicate, place)
                    return grown.with_best(Best(len(graph.nodes), len(grown.graph.nodes) - 1, cue.direction))
        return None

    def chosen(self, work: OpenGraph, reading: QuestionReading) -> OpenGraph | None:
        """“Which is longer, A or B?”: of the things named the one with more; None if the question is no such choice."""
        match = None if lexicon.pattern("measures.than").search(reading.text) else _CHOICE.search(reading.text)
        joint = [i for i, n in enumerate(work.graph.nodes) if len(n.apart) > 1 and not n.literal]
        if match is None or len(joint) != 1 or reading.cues.boolean:
            return None
        index, word = joint[0], next(filter(None, match.groups())).casefold()
        less = COMPARATIVES[word].startswith("<") if match[2] else word in lexicon.word_set("measures.less")
        if match[1]:
            less = match.group().casefold().startswith("less") != (ADJECTIVES[word][1] < 0)
        counted = [i for i, n in enumerate(work.graph.nodes) if n.named is not None and not n.terms and i != index]
        if (
            word not in _MORE
            and len(counted) == len(work.graph.nodes) - 1 == 1
            and self._are(work.graph, index, counted[0])
        ):
            work = replace(work, graph=QueryGraph(nodes=(work.graph.nodes[index],), targets=(0,)))  # "which hotel"
            index, counted = 0, []
        if word in _MORE and counted and work.graph.around(index):
            work.used.update(i for i, t in enumerate(reading.tokens) if match.start() <= t.start < match.end())
            best = Best(index, counted[-1], -1 if less else 1, counted=True)
            return replace(work.with_best(best), graph=replace(work.graph, best=(best,), targets=(index,)))
        leaves = [x.object for x in work.graph.links if x.subject == index and work.graph.nodes[x.object].literal]
        if not leaves:
            types = sorted(work.graph.nodes[index].types, key=str)
            senses = COMPARISON_SENSES.get(word, ()) or (ADJECTIVES[word][0] if word in ADJECTIVES else ())
            predicate = self._measures.by_senses(types, senses)
            if predicate is None:
                return None
            work = work.with_leaf(index, predicate, work.graph.nodes[index].place)
            leaves = [len(work.graph.nodes) - 1]
        best = Best(index, leaves[-1], -1 if less else 1)
        work.used.update(i for i, t in enumerate(reading.tokens) if match.start() <= t.start < match.end())
        return replace(work.with_best(best), graph=replace(work.graph, best=(best,), targets=(index,)))

    def _are(self, graph: QueryGraph, index: int, kind: int) -> bool:
        """Whether the things named may be of the class that another node demands."""
        named = graph.nodes[kind].named
        return named is not None and bool(graph.nodes[index].types & self._schema.subclasses(named))

    @staticmethod
    def _most_common(work: OpenGraph, target: int) -> OpenGraph:
        """“The most common X”: the X that the most things have."""
        links = [link for link in work.graph.links if link.object == target]
        if not links:
            return work
        return work.with_best(Best(target, links[0].subject, 1, counted=True))

    @staticmethod
    def _amount_follows(reading: QuestionReading, place: int) -> bool:
        """“Lowest price 300-400”: a property that is called so, compared with a number."""
        if place >= len(reading.mentions):
            return False
        end = reading.mentions[place].last
        return any(0 <= amount.first - end <= 2 for amount in reading.cues.amounts)

    def _open_superlative(
        self, work: OpenGraph, target: int, cue: Superlative, place: int, before: int, reading: QuestionReading
    ) -> OpenGraph | None:
        """The most of what is named next: a measure, or a number of things."""
        graph = work.graph
        at_noun = noun_place(reading, place)
        last = place >= len(reading.mentions)  # "who earns the least": what comes before is meant
        bound = {compared.node for compared in graph.comparisons}
        order = sorted(range(len(graph.nodes)), key=lambda i: not graph.nodes[i].literal or i in bound)
        for at in (before, place) if reading.language == "zh" or last else (place, at_noun):
            for index in order:
                node = graph.nodes[index]
                if node.place != at or node.terms or (reading.language != "zh" and at != at_noun and not node.literal):
                    continue
                if node.literal and any(best.measure == index for best in graph.best):
                    continue  # what another superlative is about: 最高 of 最小的州的最高点 is not of the area
                if node.literal:
                    return self._most_of(work, target, index, cue, reading)
                if not cue.senses and index == target and reading.cues.time:
                    return self._busiest(work, index, cue)
                if not cue.senses and index != target and graph.around(index):
                    owner = most_numerous(graph, index, target, cue.first, reading)
                    return work.with_best(Best(owner, index, cue.direction, counted=True))
        return None

    def _busiest(self, work: OpenGraph, counted: int, cue: Superlative) -> OpenGraph | None:
        """“When were the most X made”: the time that the most X have."""
        node = work.graph.nodes[counted]
        predicate = self._measures.by_senses(sorted(node.types, key=str), ("year", "date", "time"))
        if predicate is None:
            return None
        grown = work.with_leaf(counted, predicate, node.place)
        leaf = len(grown.graph.nodes) - 1
        best = Best(leaf, counted, cue.direction, counted=True)
        return replace(grown.with_best(best), graph=replace(grown.graph, best=(best,), targets=(leaf,)))

    def _most_of(
        self, work: OpenGraph, target: int, index: int, cue: Superlative, reading: QuestionReading
    ) -> OpenGraph | None:
        graph = work.graph
        term = self._schema.properties.get(predicate_of(graph, index))
        if term is None or not (term.numeric or term.temporal):
            return None
        if index == target and self._of_things(graph, cue, reading):
            owner = graph.around(index)[0].subject
            best = Best(owner, index, cue.direction, rank=cue.rank)
            return replace(work.with_best(best), graph=replace(graph, best=(*graph.best, best), targets=(owner,)))
        if index == target and cue.rank == 1:
            form = "MAX" if cue.direction > 0 else "MIN"
            return replace(work, graph=replace(graph, form=form), score=work.score + 0.4)
        function = reading.cues.aggregate
        group = summed_for(graph, index) if function and not reading.columns.groups else None
        if group is not None:
            return work.with_best(Best(group, index, cue.direction, counted=True, function=function))
        best = Best(graph.around(index)[0].subject, index, cue.direction, rank=cue.rank)
        if self._of_another(graph, best.node, cue, reading):
            work = replace(work, score=work.score - _OF_ANOTHER)
        return work.with_best(self._within(best, graph, reading))

    @staticmethod
    def _of_another(graph: QueryGraph, owner: int, cue: Superlative, reading: QuestionReading) -> bool:
        """Whether things follow with 的 (面积最大的湖) that are not those whose values are ranked."""
        place = mention_place(reading, cue.last)
        if reading.language != "zh" or place >= len(reading.mentions):
            return False
        between = [t.text for t in reading.tokens[cue.last : reading.mentions[place].first]]
        named = [i for i, n in enumerate(graph.nodes) if n.place == place and n.named is not None and not n.terms]
        return between == ["的"] and bool(named) and owner not in named

    @staticmethod
    def _of_things(graph: QueryGraph, cue: Superlative, reading: QuestionReading) -> bool:
        """Whether things are wanted, not the value: "which is the highest"; 的 and a name follow, 评分最高的喜剧."""
        if lexicon.pattern("measures.which_is").search(reading.text[: reading.tokens[cue.first].start]):
            return True
        place = mention_place(reading, cue.last)
        if reading.language != "zh" or place != len(reading.mentions) - 1:
            return False
        between = reading.tokens[cue.last : reading.mentions[place].first]
        return [t.text for t in between] == ["的"] and any(n.place == place and not n.literal for n in graph.nodes)

    @staticmethod
    def _within(best: Best, graph: QueryGraph, reading: QuestionReading) -> Best:
        """The extreme of each group where the question says "in each"."""
        groups = (node_of(graph, number, reading.mentions) for number in reading.columns.groups)
        return replace(best, within=tuple(n for n in groups if n is not None and n not in (best.node, best.measure)))

    def _extreme_value(self, work: OpenGraph, link: Link) -> OpenGraph | None:
        """“The highest elevation in X”, where things in X have a highest elevation each: the highest of these."""
        words = words_of_iri(link.predicate.value).split()
        adjective = next((SUPERLATIVES[w] for w in words if w in SUPERLATIVES), "")
        term = self._schema.properties.get(link.predicate)
        if not adjective or term is None or not term.numeric or work.graph.form != "list" or work.graph.best:
            return None
        form = "MAX" if ADJECTIVES[adjective][1] > 0 else "MIN"
        return replace(work, graph=replace(work.graph, form=form))

    def extreme_properties(self, work: OpenGraph, target: int) -> OpenGraph:
        """“The highest point of” many states: the extreme that each has, so the extreme of them all is meant."""
        graph = work.graph
        for link in graph.links:
            subject, object_ = graph.nodes[link.subject], graph.nodes[link.object]
            if link.object == target and object_.literal and subject.named is None and not subject.terms:
                extreme = self._extreme_value(work, link)
                if extreme is not None:
                    return extreme
            if link.place < 0 or subject.terms or object_.terms or object_.literal or link.subject == target:
                continue
            words = words_of_iri(link.predicate.value).split()
            adjective = next((SUPERLATIVES[w] for w in words if w in SUPERLATIVES), "")
            if not adjective or any(best.node == link.object for best in graph.best):
                continue
            senses, direction = ADJECTIVES[adjective]
            predicate = self._measures.by_senses(sorted(object_.types, key=str), senses)
            if predicate is not None:
                grown = work.with_leaf(link.object, predicate, link.place)
                best = Best(link.object, len(grown.graph.nodes) - 1, direction)
                return replace(grown, graph=replace(grown.graph, best=(*graph.best, best)))
        return work


# Restrictions that follow from the words alone: searches in names, the first few, another than the one named.


def searched_names(work: OpenGraph, reading: QuestionReading) -> OpenGraph:
    """“Whose name contains …”: of the things named nearest."""
    wanted = reading.search
    if wanted is None or wanted.search is None:
        return work
    place = mention_place(reading, wanted.first)
    for index in by_distance(work.graph, place):
        node = work.graph.nodes[index]
        if not node.literal and not node.terms:
            search = replace(wanted.search, node=index)
            graph = replace(work.graph, searches=(*work.graph.searches, search))
            return replace(work, graph=graph, score=work.score + 0.6)
    return work.without(wanted.first, wanted.last, 1.0)


def distinct_pair(work: OpenGraph, target: int) -> OpenGraph:
    """“Who writes papers with X”: another than X is meant."""
    graph = work.graph
    for link in graph.links:
        for other in graph.links:
            known = graph.nodes[other.object].terms
            same = link.predicate == other.predicate and link.subject == other.subject
            if same and link.object == target and other.object != target and len(known) == 1:
                pair = (target, other.object)
                return replace(work, graph=replace(graph, unlike=(*graph.unlike, pair)))
    return work


def topped(work: OpenGraph, reading: QuestionReading) -> OpenGraph:
    """With as many of the ranking as the question says."""
    if reading.top == 1 or not work.graph.best:
        return work
    best = tuple(replace(item, top=reading.top) for item in work.graph.best)
    return replace(work, graph=replace(work.graph, best=best))
