"""From joined mentions to complete query graphs: what is asked, filters, most and least, counts, negation."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from pyoxigraph import NamedNode

from kgplatform.questions.agreement import AGREES, DIFFERS, Agreement
from kgplatform.questions.assembly import MOST_MENTIONS, Draft
from kgplatform.questions.cues import Amount, Cues, Superlative
from kgplatform.questions.graphs import Best, Comparison, Having, Node, QueryGraph
from kgplatform.questions.joining import every
from kgplatform.questions.measures import Measures
from kgplatform.questions.mentions import Reading
from kgplatform.questions.names import NameIndex
from kgplatform.questions.paths import PathFinder
from kgplatform.questions.restricting import distinct_pair, searched_names, topped
from kgplatform.questions.wording import ADJECTIVES, SUPERLATIVES
from kgplatform.questions.work import (
    Work,
    asks,
    by_distance,
    dangling,
    first_from,
    mention_place,
    predicate_of,
    reach,
    superlative_order,
)
from kgplatform.vocab import words_of_iri

_NAMED = re.compile(r"\b(?:names?|titles?)\b|名称|名字", re.IGNORECASE)
_WRONG_KIND = 0.8
_YEAR = re.compile(r"(?:1[0-9]|20)\d\d")


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

    def candidates(self, draft: Draft, reading: Reading) -> Iterator[Candidate]:
        """The complete graphs that a draft may mean, with different things asked for."""
        if not draft.nodes:
            return
        work = Work(QueryGraph(draft.nodes, draft.links), draft.score, set())
        skipped = [m for n, m in enumerate(reading.mentions) if n in draft.skipped or n >= MOST_MENTIONS]
        work = replace(
            work, linked=draft.linked(reading), lost=frozenset(i for m in skipped for i in range(m.first, m.last))
        )
        for amount in reading.cues.amounts:
            work = self._compared(work, amount, reading)
        work = self._conventions(searched_names(work, reading), reading)
        for target, bonus in self._targets(work, reading):
            done = self._finished(replace(work, score=work.score + bonus, used=set(work.used)), target, reading)
            known = bool(done.graph.nodes[done.graph.targets[0]].terms)
            if done.graph.links if done.graph.form == "ask" else not known:
                yield done

    # amounts

    def _compared(self, work: Work, amount: Amount, reading: Reading) -> Work:
        place = mention_place(reading, amount.first)
        leaf = self._leaf_near(work.graph, place, amount)
        if leaf is not None:
            return self._with_comparison(work, leaf, amount)
        having = self._having(work, amount, reading)
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

    def _leaf_near(self, graph: QueryGraph, place: int, amount: Amount) -> int | None:
        taken = {c.node for c in graph.comparisons}
        for index in by_distance(graph, place):
            node = graph.nodes[index]
            if not node.literal or node.terms or index in taken or abs(node.place - place) > 2:
                continue
            term = self._schema.properties.get(predicate_of(graph, index))
            year = _YEAR.fullmatch(amount.low) is not None
            if term is not None and (term.numeric or (term.temporal and year)):
                return index
        return None

    def _measured(self, node: Node, amount: Amount) -> NamedNode | None:
        types = sorted(node.types, key=str)
        found = self._measures.by_unit(types, amount.unit) if amount.unit else None
        if found is None and amount.senses:
            found = self._measures.by_senses(types, amount.senses)
        if found is None and _YEAR.fullmatch(amount.low) and not amount.unit:
            found = self._measures.by_senses(types, ("year", "date", "start"))
        return found

    def _with_comparison(self, work: Work, leaf: int, amount: Amount) -> Work:
        term = self._schema.properties.get(predicate_of(work.graph, leaf))
        form = "number"
        if term is not None and term.temporal:
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
        place = mention_place(reading, amount.first)
        for index, node in enumerate(work.graph.nodes):
            if node.place == place and not node.terms and not node.literal and work.graph.around(index):
                link = work.graph.around(index)[0]
                other = link.object if link.subject == index else link.subject
                having = Having(other, index, amount.operator, amount.low)
                graph = replace(work.graph, having=(*work.graph.having, having))
                return replace(work, graph=graph, score=work.score + 0.6)
        return None

    def _conventions(self, work: Work, reading: Reading) -> Work:
        """Adjectives that the comments of a class define by a number: "a good restaurant is rated above 2.5"."""
        covered = {i for m in reading.mentions for i in range(m.first, m.last)} | reading.cues.used
        for i, token in enumerate(reading.tokens):
            if i in covered or len(token.text) < 3:
                continue
            for index, node in enumerate(work.graph.nodes):
                if node.literal or node.terms:
                    continue
                found = self._measures.convention(sorted(node.types, key=str), token.text)
                if found is not None:
                    work = work.with_leaf(index, found.predicate, node.place)
                    work = self._with_comparison(work, len(work.graph.nodes) - 1, found.amount)
                    work.used.add(i)
                    break
        return work

    # what is asked

    def _targets(self, work: Work, reading: Reading) -> Iterator[tuple[int, float]]:
        graph, cues = work.graph, reading.cues
        bound = {c.node for c in graph.comparisons}
        free = [i for i, node in enumerate(graph.nodes) if not node.terms and i not in bound]
        if not free or cues.boolean:
            yield (free[0] if free else 0), 0.0
            return
        scored = [(index, self._asked(index, graph, reading)) for index in free]
        scored.sort(key=lambda item: (-item[1], item[0]))
        yield from scored[:3]

    def _asked(self, index: int, graph: QueryGraph, reading: Reading) -> float:
        node = graph.nodes[index]
        cues, mentions = reading.cues, reading.mentions
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
        if node.literal and len(graph.around(index)) == 1 and node.place != (free_places[0] if free_places else -1):
            score -= 0.1
        if cues.person and not node.literal and self._agreement.agent(node.types) == AGREES:
            score += 0.8
        if cues.place and any(link.predicate in self._finder.placing for link in graph.around(index)):
            score += 0.5
        return score

    @staticmethod
    def _asked_zh(node: Node, reading: Reading, free_places: list[int]) -> float:
        if not 0 <= node.place < len(reading.mentions):
            return 0.0
        mention = reading.mentions[node.place]
        rest = reading.text[reading.tokens[mention.last - 1].end :]
        score = 0.9 if re.match(r"\s*(?:都|分别)?(?:是|为|有|在)?(?:什么|哪|多少|谁|几|啥|吗|呢|[??]|$)", rest) else 0.0
        before = reading.text[: reading.tokens[mention.first].start]
        if re.search(
            r"(?:哪些|什么|哪个|哪几[个家座条位]|哪[家座条个位]|几[个家座条位]|多少[个家座条位]?|啥|哪)\s*$", before
        ):
            score += 1.2
        if free_places and node.place == free_places[-1]:
            score += 0.5
        return score

    # completing

    def _finished(self, work: Work, target: int, reading: Reading) -> Candidate:
        cues = reading.cues
        work = self._how(work, target, cues)
        target = work.target if work.target is not None else target
        work = replace(work, graph=replace(work.graph, targets=(target,)))
        for superlative in cues.superlatives:
            work = topped(self._superlative(work, target, superlative, reading), reading)
            target = work.graph.targets[0]
        work = replace(work, score=work.score - dangling(work.graph, target))
        work = replace(work, graph=every(work.graph, target))
        work = self._superlative_properties(work, target)
        work = distinct_pair(work, target)
        work = self._negated(work, reading)
        work = self._form(work, target, reading)
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

    def _how(self, work: Work, target: int, cues: Cues) -> Work:
        """“How high is X”: the measured property of what is named."""
        if not cues.how_senses or (work.graph.nodes[target].literal and work.graph.around(target)):
            return work
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

    def _superlative(self, work: Work, target: int, cue: Superlative, reading: Reading) -> Work:
        graph = work.graph
        place = mention_place(reading, cue.last)
        before = place - 1
        if self._amount_follows(reading, place):
            return work
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
                best = Best(index, len(grown.graph.nodes) - 1, cue.direction)
                return grown.with_best(best)
        return work.without(cue.first, cue.last, 0.8)

    @staticmethod
    def _amount_follows(reading: Reading, place: int) -> bool:
        """“Lowest price 300-400”: a property that is called so, compared with a number."""
        if place >= len(reading.mentions):
            return False
        end = reading.mentions[place].last
        return any(0 <= amount.first - end <= 2 for amount in reading.cues.amounts)

    def _open_superlative(
        self, work: Work, target: int, cue: Superlative, place: int, before: int, reading: Reading
    ) -> Work | None:
        """The most of what is named next: a measure, or a number of things."""
        graph = work.graph
        for at in (before, place) if reading.language == "zh" else (place,):
            for index, node in enumerate(graph.nodes):
                if node.place != at or node.terms:
                    continue
                if node.literal:
                    return self._most_of(work, target, index, cue)
                if not cue.senses and index != target and graph.around(index):
                    link = graph.around(index)[0]
                    return work.with_best(Best(target, index, cue.direction, counted=True)) if link else None
        return None

    def _most_of(self, work: Work, target: int, index: int, cue: Superlative) -> Work | None:
        graph = work.graph
        term = self._schema.properties.get(predicate_of(graph, index))
        if term is None or not (term.numeric or term.temporal):
            return None
        if index == target:
            form = "MAX" if cue.direction > 0 else "MIN"
            return replace(work, graph=replace(graph, form=form), score=work.score + 0.4)
        return work.with_best(Best(graph.around(index)[0].subject, index, cue.direction))

    def _superlative_properties(self, work: Work, target: int) -> Work:
        """“The highest point of” many states: the extreme that each has, so the extreme of them all is meant."""
        graph = work.graph
        for link in graph.links:
            subject, object_ = graph.nodes[link.subject], graph.nodes[link.object]
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

    def _negated(self, work: Work, reading: Reading) -> Work:
        if not reading.cues.negations or work.graph.form != "list":
            return work
        place = mention_place(reading, reading.cues.negations[0])
        links = list(work.graph.links)
        for number, link in enumerate(links):
            ends = {work.graph.nodes[link.subject].place, work.graph.nodes[link.object].place}
            target = work.graph.targets[0]
            if (link.place >= place or (place in ends)) and len(work.graph.nodes) > 1:
                if work.graph.nodes[target].literal and target in (link.subject, link.object):
                    continue
                links[number] = replace(link, negated=True)
                return replace(work, graph=replace(work.graph, links=tuple(links)), score=work.score + 0.5)
        return work

    def _form(self, work: Work, target: int, reading: Reading) -> Work:
        graph, cues = work.graph, reading.cues
        node = graph.nodes[target]
        if cues.boolean and graph.form == "list" and not graph.best:
            return replace(work, graph=replace(graph, form="ask"))
        if graph.form in ("MAX", "MIN"):
            return replace(work, graph=self._grouped(graph, reading))
        if cues.aggregate and node.literal:
            graph = self._grouped(replace(graph, form=cues.aggregate), reading)
            return replace(work, graph=graph, score=work.score + 0.4)
        counted = cues.counting is not None and not (graph.best and any(b.counted for b in graph.best))
        if counted and not node.literal:
            graph = self._grouped(replace(graph, form="count"), reading)
            return replace(work, graph=graph, score=work.score + 0.3)
        return replace(work, graph=self._more_targets(graph, target, reading))

    def _grouped(self, graph: QueryGraph, reading: Reading) -> QueryGraph:
        if reading.cues.each is None:
            return graph
        place = mention_place(reading, reading.cues.each)
        group = tuple(
            i for i, n in enumerate(graph.nodes) if n.place == place and not n.terms and i not in graph.targets
        )
        return replace(graph, group=group[:1])

    def _more_targets(self, graph: QueryGraph, target: int, reading: Reading) -> QueryGraph:
        """“Name and city of …”: literal properties named side by side are shown together."""
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
            and link.object not in {c.node for c in graph.comparisons} | {b.measure for b in graph.best}
        ]
        named = _NAMED.search(reading.text) is not None and subject is not None and not graph.nodes[subject].terms
        front = (subject,) if named and subject is not None else ()
        return replace(graph, targets=(*front, target, *others))
