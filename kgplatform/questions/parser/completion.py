"""From joined mentions to complete query graphs: what is asked, filters, most and least, counts, negation."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from pyoxigraph import Literal, NamedNode

from kgplatform import lexicon
from kgplatform.questions.check import AGREES, DIFFERS, Agreement
from kgplatform.questions.name_index import NameIndex
from kgplatform.questions.parser.coordination import (
    by_name,
    demands_both,
    every,
    grouped,
    node_of,
    one_another,
    shown_nodes,
    without_another,
)
from kgplatform.questions.parser.cues import Cues
from kgplatform.questions.parser.draft import (
    MOST_MENTIONS,
    PART,
    GraphDraft,
    OpenGraph,
    asks,
    dangling,
    first_from,
    mention_place,
    predicate_of,
    reach,
)
from kgplatform.questions.parser.idioms import in_order
from kgplatform.questions.parser.measures import Amounts, Measures, Rankings, distinct_pair, searched_names, topped
from kgplatform.questions.parser.mentions import QuestionReading
from kgplatform.questions.parser.query_graph import Link, Node, QueryGraph
from kgplatform.questions.usage import PathFinder, SchemaView
from kgplatform.vocab import XSD

# What is asked for: which unknown of a query graph a question wants to see, and whether it wants yes or no.

_OF_THAT_SORT = 2.0
_PEOPLE = 0.3
"""How much rather "who" asks for people than for organisations."""
_NAMESAKES = 2.2
"""How much likelier it is that all of a name are counted where "called" stands before the name."""
_CALLED = lexicon.pattern("completion.called")
_WHICH_ONE = lexicon.pattern("completion.which_one")
_WHICH_AT_LAST = lexicon.pattern("completion.which_at_last")


class Wants:
    """Judges the unknowns of drafts over one graph."""

    def __init__(self, finder: PathFinder, agreement: Agreement) -> None:
        self._finder = finder
        self._agreement = agreement

    def targets(self, work: OpenGraph, reading: QuestionReading) -> Iterator[tuple[int, float]]:
        """The unknowns that the question may ask for, likeliest first, each with how likely."""
        graph, cues = work.graph, reading.cues
        bound = {c.node for c in graph.comparisons}
        free = [i for i, node in enumerate(graph.nodes) if not node.terms and i not in bound]
        if not free or is_boolean(graph, cues):
            called = not free and cues.counting is not None and _CALLED.search(reading.text) is not None
            yield (free[0] if free else 0), _NAMESAKES if called else 0.0
            return
        if (namesakes := _counted_by_name(graph, reading)) is not None:
            yield namesakes, _NAMESAKES
            return
        listed = () if reading.columns.extra else shown_nodes(graph, reading.columns, reading.mentions)
        if listed and listed[0] not in bound:
            yield listed[0], 1.5
            return
        scored = [(index, self._asked(index, graph, reading)) for index in free]
        scored.sort(key=lambda item: (-item[1], item[0]))
        yield from scored[:3]

    def _asked(self, index: int, graph: QueryGraph, reading: QuestionReading) -> float:
        node = graph.nodes[index]
        cues, mentions = reading.cues, reading.mentions
        if reading.columns.of is not None and node_of(graph, reading.columns.of, mentions) == index:
            return 2.5
        said = any(link.place == node.place for link in graph.around(index)) or node.named is not None or node.literal
        score = 0.0 if said else -0.8
        values = {link.object for link in graph.around(index) if link.subject == index and link.place == node.place}
        if node.open and any(not graph.nodes[i].terms and graph.nodes[i].place == node.place for i in values):
            score -= 0.3  # the words name the value, not what has it
        if any(link.object == index and asks(link.place, reading) for link in graph.around(index)):
            score += 1.0
        first = mentions[node.place].first if 0 <= node.place < len(mentions) else 99
        free_places = sorted({n.place for n in graph.nodes if not n.terms})
        firsts = sorted({mentions[n.place].first for n in graph.nodes if not n.terms and 0 <= n.place < len(mentions)})
        if any(
            first == first_from(firsts, asked) and first - asked <= reach(reading, asked, first) for asked in cues.asked
        ):
            score += 1.0
        if cues.counting is not None and first == first_from(firsts, cues.counting) and first - cues.counting <= 3:
            score += 1.5
        if reading.language == "zh":
            score += self._asked_zh(node, reading, free_places)
        elif free_places and node.place == free_places[0]:
            score += 0.7
        if cues.superlatives and (node.literal or values) and _wants_thing(node.place, reading):
            return -1.0
        if node.literal and len(graph.around(index)) == 1 and node.place != (free_places[0] if free_places else -1):
            score -= 0.1
        return score + self._of_kind_asked(index, graph, cues)

    def _of_kind_asked(self, index: int, graph: QueryGraph, cues: Cues) -> float:
        """More for what can be the answer to "who", "where" or "when", and for a number where an average is wanted."""
        node, score = graph.nodes[index], 0.0
        summed = {having.counted for having in graph.having}
        if node.literal and index not in summed and (cues.aggregate or cues.time):
            term = self._finder.schema.properties.get(predicate_of(graph, index))
            averaged = bool(cues.aggregate) and not cues.superlatives
            fits = term is not None and ((averaged and term.numeric) or (cues.time and term.temporal))
            score += _OF_THAT_SORT if fits else 0.0
        if cues.person and not node.literal and self._agreement.agent(node.types) == AGREES:
            score += 0.8 + (_PEOPLE if self._agreement.human(node.types) else 0.0)
        if cues.place and any(self._places(link, index) for link in graph.around(index)):
            score += 0.5
        return score

    def _places(self, link: Link, index: int) -> bool:
        """Whether a link says where something is, or the node is what something is put into."""
        return link.predicate in self._finder.placing or (link.object == index and self._agreement.put(link.predicate))

    @staticmethod
    def _asked_zh(node: Node, reading: QuestionReading, free_places: list[int]) -> float:
        if not 0 <= node.place < len(reading.mentions):
            return 0.0
        mention = reading.mentions[node.place]
        rest = reading.text[reading.tokens[mention.last - 1].end :]
        score = 0.9 if re.match(r"\s*(?:都|分别)?(?:是|为|有|在)?(?:什么|哪|多少|谁|几|啥|吗|呢|[??]|$)", rest) else 0.0
        before = reading.text[: reading.tokens[mention.first].start]
        if re.search(
            r"(?:哪些|什么|哪个|哪[一几]?[个家座条位名种类所间门部处]|几[个家座条位]|多少[个家座条位]?|啥|哪)\s*$",
            before,
        ):
            score += 1.2
        if free_places and node.place == free_places[-1]:
            score += 0.5
        if node.named is not None and lexicon.pattern("completion.among_which").match(rest):
            score += _OF_THAT_SORT
        if mention.options[0].score < PART:
            score -= 0.8  # a part of a name is no way to ask for something
        elif node.named is not None and _requested(node.named, reading):
            score += 0.9
        return score


def _counted_by_name(graph: QueryGraph, reading: QuestionReading) -> int | None:
    """The node of several things of one name that stands right behind "how many", as those of a chain do."""
    counting, mentions = reading.cues.counting, reading.mentions
    if counting is None:
        return None
    several = (i for i, node in enumerate(graph.nodes) if len(node.terms) > 1 and not node.literal and node.place >= 0)
    return next((i for i in several if mentions[graph.nodes[i].place].first == counting), None)


def is_boolean(graph: QueryGraph, cues: Cues) -> bool:
    """Whether yes or no is wanted; "有 … 吗" about things of a class wants the things."""
    offered = cues.exists is not None and any(n.named is not None and not n.terms for n in graph.nodes)
    return cues.boolean and not offered


def one_or_other(graph: QueryGraph) -> int | None:
    """Which node holds the choice of "is X in A or B", where all else is known; None if there is no such choice."""
    either = [i for i, node in enumerate(graph.nodes) if node.joint == "or" and not node.literal]
    known = all(node.terms for node in graph.nodes)
    return either[0] if len(either) == 1 and known and graph.links and not graph.comparisons else None


def says_something(graph: QueryGraph) -> bool:
    """Whether there is anything in the graph that may be so or not: a relation, or that a thing is of a kind."""
    return bool(graph.links) or any(node.terms and node.named is not None for node in graph.nodes)


def _wants_thing(place: int, reading: QuestionReading) -> bool:
    """Whether a question for the most wants what has it, not how much that is: 哪个面积最大, 面积最大的是哪家."""
    if not 0 <= place < len(reading.mentions):
        return False
    before = reading.text[: reading.tokens[reading.mentions[place].first].start]
    return _WHICH_ONE.search(before) is not None or _WHICH_AT_LAST.search(reading.text) is not None


def _requested(named: NamedNode, reading: QuestionReading) -> bool:
    """Whether a class is named, be it once more, after words such as 推荐 or 有没有."""
    starts = [place for place in (reading.cues.exists, reading.cues.request) if place is not None]
    later = (m for m in reading.mentions if starts and m.first >= min(starts))
    return any(option.kind == "class" and option.names[0].term == named for m in later for option in m.options)


def follows(index: int, graph: QueryGraph, reading: QuestionReading) -> bool:
    """Whether what is asked for comes after "how many": 多少 after the name of a value asks for the value."""
    place, counting = graph.nodes[index].place, reading.cues.counting
    return counting is not None and 0 <= place < len(reading.mentions) and reading.mentions[place].first >= counting


# Yes-or-no properties as conditions: "injured players", "who doesn't smoke", 不寄宿的学校.

_BOOLEAN = NamedNode(f"{XSD}boolean")
TRUE, FALSE = (Literal(value, datatype=_BOOLEAN) for value in ("true", "false"))


def decided(work: OpenGraph, reading: QuestionReading, schema: SchemaView) -> OpenGraph:
    """The draft with the value of each yes-or-no property that the question says things to have or not to have."""
    graph = work.graph
    for index, node in enumerate(graph.nodes):
        if not node.literal or node.terms or not is_truth(graph, index, schema):
            continue
        subject = graph.nodes[next(link.subject for link in graph.links if link.object == index)]
        if subject.terms and not reading.cues.boolean:
            continue  # "is it known whether": the value is what is asked for
        value = FALSE if _denied(reading, node.place) and not reading.cues.boolean else TRUE
        nodes = (*graph.nodes[:index], replace(node, terms=(value,)), *graph.nodes[index + 1 :])
        graph = replace(graph, nodes=nodes)
    return replace(work, graph=graph)


def is_truth(graph: QueryGraph, leaf: int, schema: SchemaView) -> bool:
    """Whether a literal node is a yes or no."""
    term = schema.properties.get(predicate_of(graph, leaf))
    return term is not None and bool(term.datatypes) and all(d == _BOOLEAN for d in term.datatypes)


def denies(graph: QueryGraph) -> bool:
    """Whether a condition says no already, so that the word for it denies nothing else."""
    return any(node.terms == (FALSE,) for node in graph.nodes)


def _denied(reading: QuestionReading, place: int) -> bool:
    if not 0 <= place < len(reading.mentions):
        return False
    start = reading.tokens[reading.mentions[place].first].start
    before = reading.mentions[place - 1].last - 1 if place else -1
    since = reading.tokens[before].end if before >= 0 else 0
    return lexicon.pattern("completion.denied").search(reading.text[since:start]) is not None


# What a question says not to be so: the relation to leave out, told by the words that "without" or 没有 governs.

_BUT_NOT = lexicon.pattern("completion.but_not")
_GAIN = 0.5


def negated(work: OpenGraph, reading: QuestionReading) -> OpenGraph:
    """The draft with what the question denies left out, once for each denial that no condition has taken up yet."""
    for token in reading.cues.negations:
        if work.graph.form != "list" or denies(work.graph) or token in work.used:
            continue
        place = mention_place(reading, token)
        graph = (without_another(work.graph, place) if _BUT_NOT.search(reading.text) else None) or _without(
            work.graph, place, reading
        )
        if graph is not None:
            work = replace(work, graph=graph, score=work.score + _GAIN)
    return work


def _without(graph: QueryGraph, place: int, reading: QuestionReading) -> QueryGraph | None:
    number = _nearest_to_target(graph, place)
    if number is None:
        number = _governed(graph, place, reading)
    if number is None:
        number = _named(graph, place)
    if number is None:
        return None
    links = list(graph.links)
    links[number] = replace(links[number], negated=True)
    return replace(graph, links=tuple(links))


def _nearest_to_target(graph: QueryGraph, place: int) -> int | None:
    """The relation to negate where what is said not to be is some steps away: the one that leads there first."""
    target = graph.targets[0]
    if graph.nodes[target].literal or graph.nodes[target].place >= place:
        return None
    for number, link in enumerate(graph.links):
        if target not in (link.subject, link.object) or link.negated:
            continue
        other = link.object if link.subject == target else link.subject
        side = graph.side_of(other, target)
        unsaid = link.place < 0 or link.place == graph.nodes[target].place
        if unsaid and all(graph.nodes[i].place >= place for i in side):
            return number
    return None


def _governed(graph: QueryGraph, place: int, reading: QuestionReading) -> int | None:
    """The relation from what is asked for to what stands between 没有 and the 的 before it: 没有[四星级酒店]的城市."""
    target, mentions = graph.targets[0], reading.mentions
    if reading.language != "zh" or not place <= graph.nodes[target].place < len(mentions):
        return None
    last = mentions[graph.nodes[target].place].first
    of = (i for i in range(mentions[place].first, last) if reading.tokens[i].text == "的")
    end = mention_place(reading, next(of, last))
    inside = frozenset(i for i, n in enumerate(graph.nodes) if place <= n.place < end and i != target)
    for number, link in enumerate(graph.links):
        for near, far in ((link.subject, link.object), (link.object, link.subject)):
            if link.negated or far not in inside or near in inside:
                continue
            if len(graph.way(near, target)) < len(graph.way(far, target)) or near == target:
                return number
    return None


def _named(graph: QueryGraph, place: int) -> int | None:
    """The relation that the denied words name or lead to, those at their very place first."""
    target = graph.targets[0]
    fitting = []
    for number, link in enumerate(graph.links):
        ends = {graph.nodes[link.subject].place, graph.nodes[link.object].place}
        value = graph.nodes[target].literal and target in (link.subject, link.object)
        if (link.place >= place or place in ends) and not value and not link.negated and len(graph.nodes) > 1:
            fitting.append((link.place != place and place not in ends, number))
    return min(fitting)[1] if fitting else None


_NAMED = lexicon.pattern("completion.named")
_WRONG_KIND = 0.8
_BY_NAME = 0.25
_WHOM = 1.05


@dataclass(frozen=True, slots=True)
class CompleteGraph:
    """A complete query graph with its score and the tokens of the question it explains."""

    graph: QueryGraph
    score: float
    explained: frozenset[int] = frozenset()
    linked: float = 1.0
    agreement: float = AGREES
    cues_lost: bool = False


def _counts_namesakes(graph: QueryGraph) -> bool:
    """Whether it is counted how many things go by a name: "how many towns are called X"."""
    node = graph.nodes[graph.targets[0]]
    return graph.form == "count" and len(node.terms) > 1 and not node.joint and not node.literal


class Finisher:
    """Completes drafts over one graph."""

    def __init__(self, names: NameIndex, finder: PathFinder, measures: Measures) -> None:
        self._names = names
        self._finder = finder
        self._measures = measures
        self._schema = names.schema
        self._agreement = Agreement(names.schema)
        self._amounts = Amounts(names.schema, measures)
        self._rankings = Rankings(names.schema, measures)
        self._wants = Wants(finder, self._agreement)

    def candidates(self, draft: GraphDraft, reading: QuestionReading) -> Iterator[CompleteGraph]:
        """The complete graphs that a draft may mean, with different things asked for."""
        if not draft.nodes:
            return
        work = OpenGraph(QueryGraph(draft.nodes, draft.links), draft.score, set())
        skipped = [m for n, m in enumerate(reading.mentions) if n in draft.skipped or n >= MOST_MENTIONS]
        work = replace(
            work, linked=draft.linked(reading), lost=frozenset(i for m in skipped for i in range(m.first, m.last))
        )
        work = decided(work, reading, self._schema)
        for amount in reading.cues.amounts:
            work = self._amounts.compared(work, amount, reading)
        work = self._amounts.conventions(searched_names(work, reading), reading)
        agreed = False
        for target, bonus in self._wants.targets(work, reading):
            done = self._finished(replace(work, score=work.score + bonus, used=set(work.used)), target, reading)
            known = bool(done.graph.nodes[done.graph.targets[0]].terms) and not done.graph.best
            chosen = done.graph.nodes[done.graph.targets[0]].joint == "or" or _counts_namesakes(done.graph)
            if says_something(done.graph) if done.graph.form == "ask" else chosen or not known:
                agreed = agreed or done.agreement == AGREES
                yield done
                if reading.columns.named and done.graph.form == "list":
                    yield from self._by_name(done)
        if reading.cues.person and not agreed and work.graph.links and not reading.cues.boolean:
            yield from self._by_whom(work, reading)

    def _by_whom(self, work: OpenGraph, reading: QuestionReading) -> Iterator[CompleteGraph]:
        """“Who was admitted to X”: whoever what the words are about belongs to, where it is nobody itself."""
        for index, node in enumerate(work.graph.nodes):
            if node.literal or node.terms or self._agreement.agent(node.types) == AGREES:
                continue
            for step in self._finder.steps(node.types):
                known = any(step.predicate == link.predicate for link in work.graph.around(index))
                if known or len(step.types) == 0 or self._agreement.agent(step.types) != AGREES:
                    continue
                last = len(work.graph.nodes)
                ends = (last, index) if step.back else (index, last)
                graph = replace(
                    work.graph,
                    nodes=(*work.graph.nodes, Node(node.place, step.types)),
                    links=(*work.graph.links, Link(ends[0], step.predicate, ends[1])),
                )
                wider = replace(work, graph=graph, score=work.score + _WHOM, used=set(work.used))
                yield self._finished(wider, last, reading)

    @staticmethod
    def _by_name(candidate: CompleteGraph) -> Iterator[CompleteGraph]:
        """“The title of what A and B both have”: one title is enough, where several things bear it."""
        graph = by_name(candidate.graph)
        if graph is not None:
            yield replace(candidate, graph=graph, score=candidate.score - _BY_NAME)

    def _finished(self, work: OpenGraph, target: int, reading: QuestionReading) -> CompleteGraph:
        cues = reading.cues
        choice = self._rankings.chosen(work, reading)
        if choice is not None:
            return CompleteGraph(
                choice.graph, choice.score, (reading.covered() | choice.used) - choice.lost, choice.linked
            )
        work = self._how(work, target, cues)
        target = work.target if work.target is not None else target
        work = replace(work, graph=replace(work.graph, targets=(target,)))
        for superlative in cues.superlatives:
            work = topped(self._rankings.ranked(work, target, superlative, reading), reading)
            target = work.graph.targets[0]
        work = negated(work, reading)
        work = replace(work, score=work.score - dangling(work.graph, target))
        work = replace(work, graph=every(work.graph, target, self._shared(work.graph, reading)))
        work = self._rankings.extreme_properties(work, target)
        work = distinct_pair(work, target)
        work = self._form(work, target, reading)
        work = replace(work, graph=in_order(work.graph, reading.order, self._schema))
        agreement = self._agreement.of(work.graph, cues)
        score = work.score - (_WRONG_KIND if agreement <= DIFFERS else 0.0)
        return CompleteGraph(
            work.graph,
            score,
            (reading.covered() | work.used) - work.lost,
            linked=work.linked,
            agreement=agreement,
            cues_lost=bool(work.lost & cues.used),
        )

    def _shared(self, graph: QueryGraph, reading: QuestionReading) -> frozenset[NamedNode]:
        """The relations of the graph that several things can have to one, if the question wants what is of each."""
        terms = (self._schema.properties.get(link.predicate) for link in graph.links)
        return frozenset(t.iri for t in terms if t is not None and demands_both(reading.text) and t.count > t.distinct)

    def _how(self, work: OpenGraph, target: int, cues: Cues) -> OpenGraph:
        """“How high is X”: the measured property of what is named."""
        if not cues.how_senses or (work.graph.nodes[target].literal and work.graph.around(target)):
            return work
        compared = {c.node for c in work.graph.comparisons}
        named = [x.object for x in work.graph.links if x.place >= 0 and x.object not in compared]
        measure = next((leaf for leaf in named if self._is_measure(work.graph, leaf)), None)
        if measure is not None:  # "how much does X earn": the verb names the measure
            return replace(work, target=measure)
        order = [target, *(i for i in range(len(work.graph.nodes)) if i != target)]
        for index in order:
            node = work.graph.nodes[index]
            if node.literal:
                continue
            predicate = self._measures.by_senses(sorted(node.types, key=str), cues.how_senses)
            if predicate is not None:
                grown = work.with_leaf(index, predicate, node.place)
                return replace(grown, target=len(grown.graph.nodes) - 1, score=grown.score + 0.6)
        return work

    def _form(self, work: OpenGraph, target: int, reading: QuestionReading) -> OpenGraph:
        cues = reading.cues
        work, target = self._with_its_number(work, target) if cues.aggregate else (work, target)
        graph = work.graph
        node = graph.nodes[target]
        if is_boolean(graph, cues) and graph.form == "list" and not graph.best:
            if (chosen := one_or_other(graph)) is not None:
                return replace(work, graph=replace(graph, targets=(chosen,)))
            return replace(work, graph=replace(one_another(graph) or graph, form="ask"))
        if cues.functions and node.literal:
            summed = replace(graph, form=cues.functions[0], also=cues.functions[1:])
            return replace(work, graph=grouped(summed, reading.columns, reading.mentions), score=work.score + 0.6)
        if graph.form in ("MAX", "MIN"):
            return replace(work, graph=grouped(graph, reading.columns, reading.mentions))
        if cues.aggregate and node.literal:
            graph = grouped(replace(graph, form=cues.aggregate), reading.columns, reading.mentions)
            return replace(work, graph=graph, score=work.score + 0.4)
        listed = self._with_number(graph, target, reading)
        if listed is not None:
            return replace(work, graph=listed, score=work.score + 0.5)
        counted = cues.counting is not None and not any(b.counted and b.node == target for b in graph.best)
        text = node.literal and not self._measured(graph, target) and not graph.best and follows(target, graph, reading)
        mean = self._mean(graph, target, reading) if counted and cues.aggregate == "AVG" and not node.literal else None
        if mean is not None:
            return replace(work, graph=mean, score=work.score + 0.6)
        if counted and (not node.literal or text) and not reading.columns.shown:
            graph = grouped(replace(graph, form="count"), reading.columns, reading.mentions)
            return replace(work, graph=graph, score=work.score + 0.3)
        return replace(work, graph=self._more_targets(graph, target, reading))

    def _with_its_number(self, work: OpenGraph, target: int) -> tuple[OpenGraph, int]:
        """“The average price”, where a price is a thing that holds an amount: the amount is summed up."""
        node = work.graph.nodes[target]
        reached = next((link.predicate for link in work.graph.around(target) if link.object == target), None)
        if node.literal or node.terms or reached is None or work.graph.best:
            return work, target
        number = self._measures.held_by(reached, sorted(node.types, key=str))
        if number is None or any(link.subject == target for link in work.graph.around(target)):
            return work, target
        grown = work.with_leaf(target, number, node.place)
        leaf = len(grown.graph.nodes) - 1
        return replace(grown, graph=replace(grown.graph, targets=(leaf,))), leaf

    @staticmethod
    def _mean(graph: QueryGraph, target: int, reading: QuestionReading) -> QueryGraph | None:
        """“How many X does a Y have on average”: over the Y that are named, or that "per" governs."""
        groups = grouped(graph, reading.columns, reading.mentions).group
        named = (i for i, n in enumerate(graph.nodes) if n.named is not None and not n.terms and i != target)
        near = sorted(named, key=lambda i: (len(graph.way(target, i)), graph.nodes[i].place))
        over = groups or tuple(near[:1])
        return replace(graph, form="mean", group=over) if over else None

    def _is_measure(self, graph: QueryGraph, leaf: int) -> bool:
        node = graph.nodes[leaf]
        return node.literal and not node.terms and self._measured(graph, leaf)

    def _measured(self, graph: QueryGraph, leaf: int) -> bool:
        """Whether "how many" of a value asks for the value, a number, not for how many different ones there are."""
        term = self._schema.properties.get(predicate_of(graph, leaf))
        return term is None or term.numeric or term.temporal

    @staticmethod
    def _with_number(graph: QueryGraph, target: int, reading: QuestionReading) -> QueryGraph | None:
        """“The name of each X and the number of Y”: what is listed, with how many of another there are."""
        columns = reading.columns
        counted = None if columns.counted is None else node_of(graph, columns.counted, reading.mentions)
        if counted is None or counted == target:
            return None
        group = shown_nodes(graph, columns, reading.mentions) or (target,)
        return replace(graph, form="count", targets=(counted,), group=tuple(n for n in group if n != counted))

    def _more_targets(self, graph: QueryGraph, target: int, reading: QuestionReading) -> QueryGraph:
        """“Name and city of …”: literal properties named side by side are shown together."""
        within = tuple(n for best in graph.best for n in best.within)
        if within:
            return replace(graph, targets=tuple(dict.fromkeys((*within, target))))
        listed = shown_nodes(graph, reading.columns, reading.mentions)
        if listed and (len(listed) > 1 or reading.columns.extra):
            front = (target,) if reading.columns.extra else ()
            return replace(graph, targets=tuple(dict.fromkeys((*front, *listed))))
        if not graph.nodes[target].literal:
            return graph
        subject = next((link.subject for link in graph.around(target)), None)
        others = [
            link.object
            for link in graph.links
            if link.subject == subject
            and link.object != target
            and graph.nodes[link.object].literal
            and not graph.nodes[link.object].terms
            and link.predicate != predicate_of(graph, target)
            and link.object not in {c.node for c in graph.comparisons} | {b.measure for b in graph.best}
        ]
        named = _NAMED.search(reading.text) is not None and subject is not None and not graph.nodes[subject].terms
        front = (subject,) if named and subject is not None else ()
        return replace(graph, targets=(*front, target, *others))
