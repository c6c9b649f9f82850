"""Joins the mentions of a question into query graphs, best first: a beam search over ways to attach each mention."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from pyoxigraph import Literal, NamedNode

from kgplatform.questions.directions import Directions, heading, heading_of
from kgplatform.questions.draft import MOST_MENTIONS, Draft, apart_from, passed_over, weight_of, with_node
from kgplatform.questions.echoes import echoes
from kgplatform.questions.graphs import Link, Node
from kgplatform.questions.inside import inside_out, righted
from kgplatform.questions.joining import Mention, Option
from kgplatform.questions.mentions import Reading
from kgplatform.questions.names import NameIndex
from kgplatform.questions.paths import PathFinder, Step
from kgplatform.questions.schema import THING, SchemaView
from kgplatform.questions.wordorder import (
    adjacent,
    another,
    as_noun,
    asked_anew,
    binding_cost,
    clause_cost,
    direction_cost,
    holding_cost,
    joining_order,
    order_cost,
    said_to_be,
    those_who_are,
    undergoing_cost,
    word_at,
)
from kgplatform.vocab import LABEL

_BEAM = 24
_UNSAID = 1.0
_PLACING = 0.45
_APART = 0.14
_AGAINST_THE_VERB = 1.6
_AGAIN = 0.12
_AGAIN_OR_VERB = 0.6
_ASKED_ANEW = 0.4
"""What it costs that a class after a question word is the one said before: 最大的州与哪些州接壤 asks for others."""
_KIND = 0.05
_FELLOW = -0.6
_BELONGING = 0.3
_TWICE = 0.9
_THROUGH = 0.2
_APPOSED = 0.1
_WHOLE = 0.8
_SPREAD = 0.004
_LONGER = 0.01
_OF_THAT_KIND = -3.0
_FRAME = 3
"""Chinese verbs may stand on both sides of what they rule, so many mentions apart: 归哪个市管辖."""
_PASSIVE = re.compile(r"\b(?:by|of|from|in|at)$", re.IGNORECASE)


class Assembler:
    """Builds drafts over one graph."""

    def __init__(self, names: NameIndex, finder: PathFinder) -> None:
        self._names = names
        self._finder = finder
        self._schema: SchemaView = names.schema
        self._directions = Directions(names.schema)

    def drafts(self, reading: Reading) -> list[Draft]:
        """The best ways to join all mentions."""
        beam = [Draft()]
        columns = () if reading.columns.extra else reading.columns.shown
        headings = [heading(reading, place) for place in range(len(reading.mentions))]
        for place in joining_order(reading, columns, MOST_MENTIONS):
            mention = reading.mentions[place]
            grown: dict[tuple[object, ...], Draft] = {}
            for draft in beam:
                for option in mention.options:
                    for attached in self._attached(draft, option, place, mention, reading):
                        new = apart_from(draft, attached, columns) if place in columns else attached
                        new = self._headed(draft, new, headings, place)
                        spared = self._directions.led(new.links[len(draft.links) :], place, reading)
                        new = replace(new, cost=new.cost - spared) if spared else new
                        key = (new.nodes, new.links)
                        if key not in grown or grown[key].score < new.score:
                            grown[key] = new
                cost = draft.cost + passed_over(mention) * weight_of(mention, reading)
                skipped = replace(draft, cost=cost, skipped=draft.skipped | {place})
                grown.setdefault((skipped.nodes, skipped.links), skipped)
            beam = sorted(grown.values(), key=lambda d: -d.score)[:_BEAM]
        inward = self._finder.inward
        beam = [replace(d, links=righted(d.nodes, d.links, reading, inward)) for d in beam]
        held = []
        for d in beam:
            extra = inside_out(d.nodes, d.links, reading, inward) + echoes(d.nodes, d.links, self._schema)
            held.append(replace(d, cost=d.cost + extra))
        return sorted(held, key=lambda d: -d.score)

    def _attached(
        self, draft: Draft, option: Option, place: int, mention: Mention, reading: Reading
    ) -> Iterator[Draft]:
        gain = weight_of(mention, reading) * option.score + 0.15 * option.score
        base = replace(draft, gain=draft.gain + gain)
        if option.kind == "class":
            yield from self._class(base, option, place, mention, reading)
        elif option.kind == "entity":
            yield from self._entity(base, option, place, reading)
        elif option.kind == "value":
            yield from self._value(base, option, place)
        else:
            yield from self._property(base, option, place, mention, reading)

    def _headed(self, before: Draft, after: Draft, headings: list[str], place: int) -> Draft:
        """The draft that a mention was added to, dearer where "from" or "to" says that the way there is another one."""
        new = after.links[len(before.links) :]
        held = {end for link in new for end in (link.subject, link.object) if end < len(before.nodes)}
        there = (link for link in before.links if link.object in held)  # how what it hangs on was come to
        cost = sum(self._directions.cost(link.predicate, headings[place]) for link in (*new, *there))
        for link in new:
            cost += self._directions.cost(link.predicate, heading_of(before.nodes, before.links, link.object, headings))
        return replace(after, cost=after.cost + cost) if cost else after

    # classes and things

    def _class(self, draft: Draft, option: Option, place: int, mention: Mention, reading: Reading) -> Iterator[Draft]:
        iri = option.names[0].term
        assert isinstance(iri, NamedNode)
        types = frozenset((iri,))
        yield from self._fellow(draft, Node(place, types, named=iri)) if reading.cues.fellow else ()
        for index, node in enumerate(draft.nodes):
            if node.terms and not node.literal and said_to_be(reading, reading.mentions[node.place], mention):
                yield with_node(draft, index, replace(node, named=iri), _OF_THAT_KIND)
            if node.literal or not self._finder.compatible(node.types, types):
                continue
            near = self._gap(node.place, place)
            if node.open and not self._possible(draft, index, types):
                continue
            if node.open:
                near += undergoing_cost(reading, index, place, draft.links)
                yield with_node(draft, index, replace(node, types=types, named=iri, open=False, place=place), near)
            elif node.named is None and not node.terms and place > node.place and len(draft.links) > 1:
                yield with_node(draft, index, replace(node, types=types, named=iri, place=place), near + _AGAIN)
            elif node.named == iri and not another(reading, mention.first):
                verb = any(o.kind == "property" and o.score >= option.score for o in mention.options)
                anew = _ASKED_ANEW if asked_anew(reading, mention) else 0.0
                yield replace(draft, cost=draft.cost + anew + (_AGAIN_OR_VERB if verb else _AGAIN))
            elif node.terms and near == 0.0 and adjacent(reading, node.place, place):
                yield replace(draft, cost=draft.cost + 0.05)
            elif node.named is not None and node.named != iri and adjacent(reading, node.place, place):
                narrower = iri if iri in self._schema.subclasses(node.named) else node.named
                yield with_node(draft, index, replace(node, types=frozenset((narrower,)), named=narrower), 0.1)
        yield from self._joined(draft, Node(place, types, named=iri))

    def _possible(self, draft: Draft, index: int, types: frozenset[NamedNode]) -> bool:
        """Whether things of these classes can have the relations that a node has."""
        domains = [self._schema.domains(link.predicate) for link in draft.links if link.subject == index]
        ranges = [self._schema.ranges(link.predicate) for link in draft.links if link.object == index]
        return all(self._finder.compatible(frozenset(ends), types) for ends in (*domains, *ranges))

    def _entity(self, draft: Draft, option: Option, place: int, reading: Reading) -> Iterator[Draft]:
        terms = tuple(name.term for name in option.names)
        types = frozenset(t for term in terms[:1] for t in self._names.types(term))
        if reading.cues.fellow:
            yield from self._fellow(draft, Node(place, types, terms=terms))
            draft = replace(draft, cost=draft.cost - _FELLOW)
        for index, node in enumerate(draft.nodes):
            if node.literal or node.terms or not self._finder.compatible(node.types, types):
                continue
            near = self._gap(node.place, place)
            if node.open:
                near += binding_cost(reading, place, index, draft.nodes, draft.links)
                apart = tuple(tuple(name.term for name in names) for names in option.apart)
                bound = replace(node, types=types or node.types, terms=terms, named=None, open=False, place=place)
                bound = replace(bound, joint=option.joint, apart=apart)
                yield with_node(draft, index, bound, near)
            elif node.named is not None and near == 0.0 and adjacent(reading, node.place, place):
                bound = replace(node, types=types, terms=terms, named=None, place=place)
                yield with_node(draft, index, bound, 0.05)
        yield from self._called(draft, terms, types, place)
        if as_noun(reading, place):
            yield from self._of_kind(draft, terms, types, place)
        apart = tuple(tuple(name.term for name in names) for names in option.apart)
        yield from self._joined(draft, Node(place, types, terms=terms, joint=option.joint, apart=apart))

    def _of_kind(
        self, draft: Draft, terms: tuple[NamedNode | Literal, ...], types: frozenset[NamedNode], place: int
    ) -> Iterator[Draft]:
        """“The cheapest encoder”, where Encoder is a category: a thing of that kind is meant, not the category."""
        for predicate in self._finder.kinds(types):
            domains = frozenset(self._schema.domains(predicate))
            kind = Node(place, types, terms=terms)
            for index, node in enumerate(draft.nodes):
                if not node.literal and not node.terms and self._finder.compatible(node.types, domains):
                    link = Link(index, predicate, len(draft.nodes), place=place)
                    cost = draft.cost + _KIND + self._gap(node.place, place)
                    yield replace(draft, nodes=(*draft.nodes, kind), links=(*draft.links, link), cost=cost)
            for new in self._joined(draft, Node(place, domains)):
                link = Link(len(new.nodes) - 1, predicate, len(new.nodes), place=place)
                yield replace(new, nodes=(*new.nodes, kind), links=(*new.links, link), cost=new.cost + _KIND)

    def _called(
        self, draft: Draft, terms: tuple[NamedNode | Literal, ...], types: frozenset[NamedNode], place: int
    ) -> Iterator[Draft]:
        """“The course with the code X”, where X is the name of the course itself: asked for by its label."""
        labels = tuple(label for term in terms[:1] for label in self._names.facts.labels.get(term, ()))
        for number, link in enumerate(draft.links):
            leaf, subject = draft.nodes[link.object], draft.nodes[link.subject]
            if not leaf.literal or leaf.terms or subject.terms or not self._names.naming(link.predicate):
                continue
            if labels and place - leaf.place == 1 and self._finder.compatible(subject.types, types):
                named = replace(subject, types=types or subject.types, open=False)
                nodes = tuple(named if node is subject else node for node in draft.nodes)
                links = (*draft.links[:number], replace(link, predicate=LABEL), *draft.links[number + 1 :])
                bound = with_node(replace(draft, nodes=nodes), link.object, replace(leaf, terms=labels), 0.3)
                yield replace(bound, links=links)

    def _fellow(self, draft: Draft, node: Node) -> Iterator[Draft]:
        """“Co-authors of X”: whoever has to something what X has to it; rather to a work than to where both belong."""
        for index, other in enumerate(draft.nodes):
            if (
                other.literal
                or bool(other.terms) == bool(node.terms)
                or not self._finder.compatible(other.types, node.types)
            ):
                continue
            for step in self._finder.steps(other.types):
                path = (step, Step(step.predicate, not step.back, other.types, step.share))
                yield self._along(draft, index, path, node, _FELLOW + (0.0 if step.back else _BELONGING))

    def _joined(self, draft: Draft, node: Node) -> Iterator[Draft]:
        """The node on its own if it is the first, else at the end of a path from each node there is."""
        if not draft.nodes:
            yield replace(draft, nodes=(node,))
            return
        again = 0.4 if node.terms and any(n.named is not None and n.named in node.types for n in draft.nodes) else 0.0
        for index, other in enumerate(draft.nodes):
            if other.literal or (other.terms and node.terms and len(draft.nodes) > 2):
                continue
            paths = self._finder.paths(other.types, node.types)
            things = sum(self._schema.count(iri) for iri in other.types)
            for path in sorted(paths, key=lambda p: self._path_cost(p, things))[:6]:
                cost = self._path_cost(path, things) + self._gap(other.place, node.place) + again
                yield self._along(draft, index, path, node, cost)

    def _path_cost(self, path: tuple[Step, ...], things: int = 0) -> float:
        """What it costs to go a way that was not said; less where more of the ``things`` have it."""
        cost = 0.35 * (len(path) - 1)
        if len(path) == 1 and not path[0].back and things:
            cost -= _SPREAD * min(1.0, path[0].share / things)
        if len(path) == 2 and path[0].predicate == path[1].predicate and path[0].back != path[1].back:
            cost += 0.7
        for step in path:
            total = self._schema.properties[step.predicate].count if step.predicate in self._schema.properties else 1
            cost += _PLACING if step.predicate in self._finder.placing else _UNSAID
            cost -= 0.1 * min(1.0, step.share / max(1, total))
        return cost

    def _along(self, draft: Draft, index: int, path: tuple[Step, ...], node: Node, cost: float) -> Draft:
        nodes, links = list(draft.nodes), list(draft.links)
        here = index
        for step in path[:-1]:
            nodes.append(Node(node.place, step.types))
            links.append(self._link(here, len(nodes) - 1, step))
            here = len(nodes) - 1
        nodes.append(node)
        links.append(self._link(here, len(nodes) - 1, path[-1]))
        return replace(draft, nodes=tuple(nodes), links=tuple(links), cost=draft.cost + cost)

    def _link(self, here: int, there: int, step: Step) -> Link:
        term = self._schema.properties.get(step.predicate)
        path = "+" if term is not None and term.transitive else ""
        subject, object_ = (there, here) if step.back else (here, there)
        return Link(subject, step.predicate, object_, path=path)

    @staticmethod
    def _gap(first: int, second: int) -> float:
        return _APART * max(0, abs(first - second) - 1)

    # values and properties

    def _value(self, draft: Draft, option: Option, place: int) -> Iterator[Draft]:
        predicate = option.names[0].predicate
        assert predicate is not None
        terms = tuple(name.term for name in option.names)
        for node in draft.nodes:
            if len(node.terms) == 1 and self._names.known_by(node.terms[0], predicate) & set(terms):
                yield replace(draft, cost=draft.cost + _AGAIN)
        apart = tuple(tuple(name.term for name in names) for names in option.apart)
        leaf = Node(place, frozenset(), terms=terms, literal=True, joint=option.joint, apart=apart)
        further = self._schema.label(predicate).count(" ")  # a flight number rather than a connecting flight number
        yield from self._literal(draft, predicate, leaf, place, cost=0.1 + _LONGER * further)

    def _literal(
        self, draft: Draft, predicate: NamedNode, leaf: Node, place: int, cost: float, reading: Reading | None = None
    ) -> Iterator[Draft]:
        """The leaf at a node that has the property, or at a new one; an unsaid leaf of the same property is taken."""
        domains = self._names.holders(predicate, leaf.terms)
        for link in draft.links:
            node = draft.nodes[link.object]
            unsaid = link.predicate == predicate and node.literal and not node.terms
            if unsaid and (leaf.terms or place - node.place == 1):
                yield with_node(draft, link.object, replace(leaf, place=place), self._gap(node.place, place))
        for index, node in enumerate(draft.nodes):
            if node.literal or (node.terms and leaf.terms):
                continue
            if self._finder.compatible(node.types, domains) and (node.types or not draft.links):
                beside = _APPOSED if leaf.terms and node.named and abs(node.place - place) == 1 else 0.0
                twice = _TWICE if leaf.terms and self._has_one(draft, index, predicate) else 0.0
                held = holding_cost(reading, reading.mentions[place], node) if reading else 0.0
                here = cost + held + twice - beside + self._gap(node.place, place)
                yield self._leaf(draft, index, predicate, leaf, here)
        if not draft.nodes:
            start = replace(draft, nodes=(Node(place, domains, open=True),))
            yield self._leaf(start, 0, predicate, leaf, cost + 0.2)
            return
        for new in self._joined(draft, Node(place, domains, open=True)):
            yield self._leaf(new, len(new.nodes) - 1, predicate, leaf, cost + 0.2)

    def _has_one(self, draft: Draft, index: int, predicate: NamedNode) -> bool:
        """Whether a node has a value already of a property that things have one of at most."""
        there = any(
            x.subject == index and x.predicate == predicate and draft.nodes[x.object].terms for x in draft.links
        )
        term = self._schema.properties.get(predicate)
        things = sum(
            self._schema.classes[i].count for i in self._schema.domains(predicate) if i in self._schema.classes
        )
        return there and term is not None and term.count <= things

    @staticmethod
    def _leaf(draft: Draft, index: int, predicate: NamedNode, leaf: Node, cost: float) -> Draft:
        link = Link(index, predicate, len(draft.nodes), place=leaf.place)
        return replace(draft, nodes=(*draft.nodes, leaf), links=(*draft.links, link), cost=draft.cost + cost)

    def _property(
        self, draft: Draft, option: Option, place: int, mention: Mention, reading: Reading
    ) -> Iterator[Draft]:
        predicate = option.names[0].term
        assert isinstance(predicate, NamedNode)
        term = self._schema.properties.get(predicate)
        if term is None:
            return
        yield from self._absorbed(draft, predicate, place, mention, reading)
        if not term.is_object:
            unsaid = (x for x in draft.links if x.predicate == predicate and not draft.nodes[x.object].terms)
            if reading.language == "en" and option.score < _WHOLE and next(unsaid, None) is not None:
                yield draft  # "how many goals has X scored": both words are of one name
                return
            yield from self._literal(draft, predicate, Node(place, frozenset(), literal=True), place, 0.0, reading)
            return
        path = "+" if term.transitive or (reading.cues.chain and self._loops(predicate)) else ""
        ends = (frozenset(self._schema.domains(predicate)), frozenset(self._schema.ranges(predicate)))
        for index, node in enumerate(draft.nodes):
            if node.literal:
                continue
            for back in (False, True):
                if not self._finder.compatible(node.types, ends[1 if back else 0]):
                    continue
                far = Node(place, ends[0 if back else 1], open=True)
                far = far if back else self._of_class(far, predicate, mention)
                subject, object_ = (len(draft.nodes), index) if back else (index, len(draft.nodes))
                cost = self._gap(node.place, place) + clause_cost(reading, mention, node.place)
                said = (w.text.casefold() for w in term.words)
                cost += direction_cost(reading, mention, node.place, place, back=back, called=said)
                if back and node.place < place and self._active(reading, node.place, predicate):
                    cost += _AGAINST_THE_VERB
                link = Link(subject, predicate, object_, place=place, path=path)
                yield replace(draft, nodes=(*draft.nodes, far), links=(*draft.links, link), cost=draft.cost + cost)
        link = Link(0, predicate, 1, place=place, path=path)
        said_of = any(word.text.casefold().endswith(" of") for word in term.words)
        yield from self._property_apart(draft, link, ends, mention, of=said_of and those_who_are(reading, mention))

    def _of_class(self, far: Node, predicate: NamedNode, mention: Mention) -> Node:
        """The place that a word names which is also a class: "in which city" wants a city, not all that it lies in."""
        for option in mention.options if predicate in self._finder.placing else ():
            iri = option.names[0].term
            if option.kind != "class" or not isinstance(iri, NamedNode) or iri == THING:
                continue
            if self._finder.compatible(far.types, frozenset((iri,))):
                return replace(far, types=frozenset((iri,)), named=iri)
        return far

    def _property_apart(
        self,
        draft: Draft,
        link: Link,
        ends: tuple[frozenset[NamedNode], frozenset[NamedNode]],
        mention: Mention,
        *,
        of: bool,
    ) -> Iterator[Draft]:
        """A property of nothing that was named so far: the first of all, or some way from what was.

        ``of``: what has it is asked for, so that a name is its value.
        """
        subject, far = Node(link.place, ends[0], open=not of), Node(link.place, ends[1], open=True)
        far = self._of_class(far, link.predicate, mention)
        if not draft.nodes:
            yield replace(draft, nodes=(subject, far), links=(link,))
            return
        things = (node for node in draft.nodes if not node.literal)
        if any(self._finder.compatible(node.types, ends[0] | ends[1]) for node in things):
            return
        for new in self._joined(draft, subject):
            moved = replace(link, subject=len(new.nodes) - 1, object=len(new.nodes))
            yield replace(new, nodes=(*new.nodes, far), links=(*new.links, moved), cost=new.cost + _THROUGH)

    def _absorbed(
        self, draft: Draft, predicate: NamedNode, place: int, mention: Mention, reading: Reading
    ) -> Iterator[Draft]:
        """A property that an earlier guess already brought in: the guess was right."""
        for number, link in enumerate(draft.links):
            beside = link.place >= 0 and abs(link.place - place) == 1 and draft.nodes[link.object].terms
            if link.predicate == predicate and reading.language == "zh" and 0 < place - link.place <= _FRAME:
                yield draft
            if link.predicate != predicate or (link.place >= 0 and not beside):
                continue
            back = 0.0 if beside else _refund(link, self._finder)
            wrong = order_cost(reading, mention, draft.nodes[link.subject], draft.nodes[link.object])
            path = "+" if link.path or (reading.cues.chain and self._loops(predicate)) else ""
            links = (*draft.links[:number], replace(link, place=place, path=path), *draft.links[number + 1 :])
            yield replace(draft, links=links, cost=draft.cost - back + wrong)

    def _active(self, reading: Reading, known: int, predicate: NamedNode) -> bool:
        """“What does X cite”: X certainly is what cites, unless the property is called the other way round."""
        mention = reading.mentions[known]
        before = word_at(reading, mention.first - 1)
        if before in ("the", "a", "an"):
            before = word_at(reading, mention.first - 2)
        term = self._schema.properties.get(predicate)
        passive = any(_PASSIVE.search(word.text) for word in term.words) if term else True
        return before in ("do", "does", "did") and not passive

    def _loops(self, predicate: NamedNode) -> bool:
        """Whether the property leads from a class to itself, so that following it on and on makes sense."""
        domains, ranges = self._schema.domains(predicate), self._schema.ranges(predicate)
        return self._finder.compatible(frozenset(domains), frozenset(ranges)) and bool(domains)


def _refund(link: Link, finder: PathFinder) -> float:
    return (_PLACING if link.predicate in finder.placing else _UNSAID) - 0.1
