"""Most and least in a query graph: by a measure, by a number of things, over all or within each group."""

from __future__ import annotations

import re
from dataclasses import replace

from kgplatform.questions.columns import node_of
from kgplatform.questions.cues import Superlative
from kgplatform.questions.graphs import Best, Link, Node, QueryGraph
from kgplatform.questions.measures import Measures, by_age
from kgplatform.questions.mentions import Reading
from kgplatform.questions.schema import SchemaView
from kgplatform.questions.wording import ADJECTIVES, COMPARATIVES, COMPARISON_SENSES, PARTICIPLES, SUPERLATIVES
from kgplatform.questions.work import (
    Work,
    mention_place,
    most_numerous,
    noun_place,
    predicate_of,
    summed_for,
    superlative_order,
)
from kgplatform.vocab import words_of_iri

_OF_ANOTHER = 1.0
_THAN = re.compile(r"\bthan\b|比", re.IGNORECASE)
_MORE = frozenset(("more", "less", "fewer", "多", "少"))
_LESS = frozenset("少小低短早老") | {"便宜"}
_CHOICE = re.compile(
    r"\b(?:more|less)\s+(expensive|costly|affordable|populous|popular|recent|dense)\b|\b(more|less|fewer|larger|bigger|smaller|higher|lower|longer|shorter|older|younger|newer|heavier|lighter|colder|warmer|hotter|cheaper|taller|deeper)\b"
    r"|(?:哪[个家座条位所]|谁)[^，。？?]{0,8}?(便宜|多|少|大|小|高|低|长|短|贵|早|晚|新|老)",
    re.IGNORECASE,
)


_WHICH_IS = re.compile(
    r"\b(?:which|who)(?:\s+ones?|\s+of\s+(?:them|these|those))?\s+(?:is|are|was|were|takes?|gets?)\s+(?:by\s+far\s+)?(?:the\s+|its\s+|their\s+|(?:rat|pric|rank|pa)(?:ed|id)\s+)?$"
    r"|\b(?:which|who)(?:\s+[\w'’-]+){0,4}?\s+(?:has|have|had)\s+(?:by\s+far\s+)?(?:the\s+|its\s+|their\s+)?$",
    re.IGNORECASE,
)
"""Before a superlative: things are asked for, though they were named before: "of these hotels, which is the …"."""


class Rankings:
    """Restricts drafts over one graph by the superlatives of a question."""

    def __init__(self, schema: SchemaView, measures: Measures) -> None:
        self._schema = schema
        self._measures = measures

    def ranked(self, work: Work, target: int, cue: Superlative, reading: Reading) -> Work:
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

    def _through(self, work: Work, cue: Superlative, order: list[int], place: int) -> Work:
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

    def _held(self, work: Work, cue: Superlative, order: list[int], place: int) -> Work | None:
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

    def chosen(self, work: Work, reading: Reading) -> Work | None:
        """“Which is longer, A or B?”: of the things named the one with more; None if the question is no such choice."""
        match = None if _THAN.search(reading.text) else _CHOICE.search(reading.text)
        joint = [i for i, n in enumerate(work.graph.nodes) if len(n.apart) > 1 and not n.literal]
        if match is None or len(joint) != 1 or reading.cues.boolean:
            return None
        index, word = joint[0], next(filter(None, match.groups())).casefold()
        less = COMPARATIVES[word].startswith("<") if match[2] else word in _LESS
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
    def _most_common(work: Work, target: int) -> Work:
        """“The most common X”: the X that the most things have."""
        links = [link for link in work.graph.links if link.object == target]
        if not links:
            return work
        return work.with_best(Best(target, links[0].subject, 1, counted=True))

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

    def _busiest(self, work: Work, counted: int, cue: Superlative) -> Work | None:
        """“When were the most X made”: the time that the most X have."""
        node = work.graph.nodes[counted]
        predicate = self._measures.by_senses(sorted(node.types, key=str), ("year", "date", "time"))
        if predicate is None:
            return None
        grown = work.with_leaf(counted, predicate, node.place)
        leaf = len(grown.graph.nodes) - 1
        best = Best(leaf, counted, cue.direction, counted=True)
        return replace(grown.with_best(best), graph=replace(grown.graph, best=(best,), targets=(leaf,)))

    def _most_of(self, work: Work, target: int, index: int, cue: Superlative, reading: Reading) -> Work | None:
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
    def _of_another(graph: QueryGraph, owner: int, cue: Superlative, reading: Reading) -> bool:
        """Whether things follow with 的 (面积最大的湖) that are not those whose values are ranked."""
        place = mention_place(reading, cue.last)
        if reading.language != "zh" or place >= len(reading.mentions):
            return False
        between = [t.text for t in reading.tokens[cue.last : reading.mentions[place].first]]
        named = [i for i, n in enumerate(graph.nodes) if n.place == place and n.named is not None and not n.terms]
        return between == ["的"] and bool(named) and owner not in named

    @staticmethod
    def _of_things(graph: QueryGraph, cue: Superlative, reading: Reading) -> bool:
        """Whether things are wanted, not the value: "which is the highest"; 的 and a name follow, 评分最高的喜剧."""
        if _WHICH_IS.search(reading.text[: reading.tokens[cue.first].start]):
            return True
        place = mention_place(reading, cue.last)
        if reading.language != "zh" or place != len(reading.mentions) - 1:
            return False
        between = reading.tokens[cue.last : reading.mentions[place].first]
        return [t.text for t in between] == ["的"] and any(n.place == place and not n.literal for n in graph.nodes)

    @staticmethod
    def _within(best: Best, graph: QueryGraph, reading: Reading) -> Best:
        """The extreme of each group where the question says "in each"."""
        groups = (node_of(graph, number, reading.mentions) for number in reading.columns.groups)
        return replace(best, within=tuple(n for n in groups if n is not None and n not in (best.node, best.measure)))

    def _extreme_value(self, work: Work, link: Link) -> Work | None:
        """“The highest elevation in X”, where things in X have a highest elevation each: the highest of these."""
        words = words_of_iri(link.predicate.value).split()
        adjective = next((SUPERLATIVES[w] for w in words if w in SUPERLATIVES), "")
        term = self._schema.properties.get(link.predicate)
        if not adjective or term is None or not term.numeric or work.graph.form != "list" or work.graph.best:
            return None
        form = "MAX" if ADJECTIVES[adjective][1] > 0 else "MIN"
        return replace(work, graph=replace(work.graph, form=form))

    def extreme_properties(self, work: Work, target: int) -> Work:
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
