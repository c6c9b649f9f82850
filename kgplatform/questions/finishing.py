"""From joined mentions to complete query graphs: what is asked, filters, most and least, counts, negation."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from pyoxigraph import NamedNode

from kgplatform.questions.agreement import AGREES, DIFFERS, Agreement
from kgplatform.questions.amounts import Amounts
from kgplatform.questions.columns import grouped, node_of, shown_nodes
from kgplatform.questions.cues import Cues
from kgplatform.questions.denying import negated
from kgplatform.questions.draft import MOST_MENTIONS, Draft
from kgplatform.questions.graphs import Link, Node, QueryGraph
from kgplatform.questions.joining import by_name, demands_both, every
from kgplatform.questions.measures import Measures
from kgplatform.questions.mentions import Reading
from kgplatform.questions.names import NameIndex
from kgplatform.questions.ordering import in_order
from kgplatform.questions.paths import PathFinder
from kgplatform.questions.rankings import Rankings
from kgplatform.questions.restricting import distinct_pair, searched_names, topped
from kgplatform.questions.truths import decided
from kgplatform.questions.wanted import Wants, follows, is_boolean, one_or_other, says_something
from kgplatform.questions.work import Work, dangling, predicate_of

_NAMED = re.compile(r"\b(?:names?|titles?)\b|名称|名字", re.IGNORECASE)
_WRONG_KIND = 0.8
_BY_NAME = 0.25
_WHOM = 1.05


@dataclass(frozen=True, slots=True)
class Candidate:
    """A complete query graph with its score and the tokens of the question it explains."""

    graph: QueryGraph
    score: float
    explained: frozenset[int] = frozenset()
    linked: float = 1.0
    agreement: float = AGREES
    cues_lost: bool = False


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

    def candidates(self, draft: Draft, reading: Reading) -> Iterator[Candidate]:
        """The complete graphs that a draft may mean, with different things asked for."""
        if not draft.nodes:
            return
        work = Work(QueryGraph(draft.nodes, draft.links), draft.score, set())
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
            chosen = done.graph.nodes[done.graph.targets[0]].joint == "or"
            if says_something(done.graph) if done.graph.form == "ask" else chosen or not known:
                agreed = agreed or done.agreement == AGREES
                yield done
                if reading.columns.named and done.graph.form == "list":
                    yield from self._by_name(done)
        if reading.cues.person and not agreed and work.graph.links and not reading.cues.boolean:
            yield from self._by_whom(work, reading)

    def _by_whom(self, work: Work, reading: Reading) -> Iterator[Candidate]:
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
    def _by_name(candidate: Candidate) -> Iterator[Candidate]:
        """“The title of what A and B both have”: one title is enough, where several things bear it."""
        graph = by_name(candidate.graph)
        if graph is not None:
            yield replace(candidate, graph=graph, score=candidate.score - _BY_NAME)

    def _finished(self, work: Work, target: int, reading: Reading) -> Candidate:
        cues = reading.cues
        choice = self._rankings.chosen(work, reading)
        if choice is not None:
            return Candidate(choice.graph, choice.score, (reading.covered() | choice.used) - choice.lost, choice.linked)
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
        return Candidate(
            work.graph,
            score,
            (reading.covered() | work.used) - work.lost,
            linked=work.linked,
            agreement=agreement,
            cues_lost=bool(work.lost & cues.used),
        )

    def _shared(self, graph: QueryGraph, reading: Reading) -> frozenset[NamedNode]:
        """The relations of the graph that several things can have to one, if the question wants what is of each."""
        terms = (self._schema.properties.get(link.predicate) for link in graph.links)
        return frozenset(t.iri for t in terms if t is not None and demands_both(reading.text) and t.count > t.distinct)

    def _how(self, work: Work, target: int, cues: Cues) -> Work:
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

    def _form(self, work: Work, target: int, reading: Reading) -> Work:
        graph, cues = work.graph, reading.cues
        node = graph.nodes[target]
        if is_boolean(graph, cues) and graph.form == "list" and not graph.best:
            if (chosen := one_or_other(graph)) is not None:
                return replace(work, graph=replace(graph, targets=(chosen,)))
            return replace(work, graph=replace(graph, form="ask"))
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
        if counted and (not node.literal or text) and not reading.columns.shown:
            graph = grouped(replace(graph, form="count"), reading.columns, reading.mentions)
            mean = cues.aggregate == "AVG" and graph.group  # "how many Y has each X on average"
            return replace(work, graph=replace(graph, form="mean") if mean else graph, score=work.score + 0.3)
        return replace(work, graph=self._more_targets(graph, target, reading))

    def _is_measure(self, graph: QueryGraph, leaf: int) -> bool:
        node = graph.nodes[leaf]
        return node.literal and not node.terms and self._measured(graph, leaf)

    def _measured(self, graph: QueryGraph, leaf: int) -> bool:
        """Whether "how many" of a value asks for the value, a number, not for how many different ones there are."""
        term = self._schema.properties.get(predicate_of(graph, leaf))
        return term is None or term.numeric or term.temporal

    @staticmethod
    def _with_number(graph: QueryGraph, target: int, reading: Reading) -> QueryGraph | None:
        """“The name of each X and the number of Y”: what is listed, with how many of another there are."""
        columns = reading.columns
        counted = None if columns.counted is None else node_of(graph, columns.counted, reading.mentions)
        if counted is None or counted == target:
            return None
        group = shown_nodes(graph, columns, reading.mentions) or (target,)
        return replace(graph, form="count", targets=(counted,), group=tuple(n for n in group if n != counted))

    def _more_targets(self, graph: QueryGraph, target: int, reading: Reading) -> QueryGraph:
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
