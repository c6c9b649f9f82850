"""Joins the mentions of a question into query graphs, best first: a beam search over ways to attach each mention."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from pyoxigraph import Literal, NamedNode

from kgplatform.questions.graphs import Link, Node
from kgplatform.questions.joining import Mention, Option
from kgplatform.questions.mentions import Reading
from kgplatform.questions.names import NameIndex
from kgplatform.questions.paths import PathFinder, Step
from kgplatform.questions.schema import SchemaView
from kgplatform.vocab import LABEL

MOST_MENTIONS = 12
"""How many mentions of a question are read."""

_BEAM = 24
_UNSAID = 1.0
_PLACING = 0.45
_APART = 0.14
_AGAINST_THE_VERB = 1.6
_PASSIVE = re.compile(r"\b(?:by|of|from|in|at)$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Draft:
    """A partly built query graph and what its guesses cost so far."""

    nodes: tuple[Node, ...] = ()
    links: tuple[Link, ...] = ()
    cost: float = 0.0
    gain: float = 0.0
    skipped: frozenset[int] = frozenset()

    @property
    def score(self) -> float:
        """What the mentions explain less what had to be guessed."""
        return self.gain - self.cost

    def linked(self, reading: Reading) -> float:
        """How well the names used fit the words of the question, 0..1."""
        mentions = [m for n, m in enumerate(reading.mentions[:MOST_MENTIONS]) if n not in self.skipped]
        most = sum(_weight(mention, reading) + 0.15 for mention in mentions)
        return min(1.0, self.gain / most) if most else 0.0


class Assembler:
    """Builds drafts over one graph."""

    def __init__(self, names: NameIndex, finder: PathFinder) -> None:
        self._names = names
        self._finder = finder
        self._schema: SchemaView = names.schema

    def drafts(self, reading: Reading) -> list[Draft]:
        """The best ways to join all mentions."""
        beam = [Draft()]
        for place, mention in enumerate(reading.mentions[:MOST_MENTIONS]):
            grown: dict[tuple[object, ...], Draft] = {}
            for draft in beam:
                for option in mention.options:
                    for new in self._attached(draft, option, place, mention, reading):
                        key = (new.nodes, new.links)
                        if key not in grown or grown[key].score < new.score:
                            grown[key] = new
                cost = draft.cost + 0.9 * _weight(mention, reading)
                skipped = replace(draft, cost=cost, skipped=draft.skipped | {place})
                grown.setdefault((skipped.nodes, skipped.links), skipped)
            beam = sorted(grown.values(), key=lambda d: -d.score)[:_BEAM]
        return beam

    def _attached(
        self, draft: Draft, option: Option, place: int, mention: Mention, reading: Reading
    ) -> Iterator[Draft]:
        gain = _weight(mention, reading) * option.score + 0.15 * option.score
        base = replace(draft, gain=draft.gain + gain)
        if option.kind == "class":
            yield from self._class(base, option, place, reading)
        elif option.kind == "entity":
            yield from self._entity(base, option, place, reading)
        elif option.kind == "value":
            yield from self._value(base, option, place)
        else:
            yield from self._property(base, option, place, mention, reading)

    # classes and things

    def _class(self, draft: Draft, option: Option, place: int, reading: Reading) -> Iterator[Draft]:
        iri = option.names[0].term
        assert isinstance(iri, NamedNode)
        types = frozenset((iri,))
        for index, node in enumerate(draft.nodes):
            if node.literal or not self._finder.compatible(node.types, types):
                continue
            near = self._gap(node.place, place)
            if node.open:
                yield _with_node(draft, index, replace(node, types=types, named=iri, open=False, place=place), near)
            elif node.terms and near == 0.0 and _adjacent(reading, node.place, place):
                yield replace(draft, cost=draft.cost + 0.05)
            elif node.named is not None and node.named != iri and _adjacent(reading, node.place, place):
                narrower = iri if iri in self._schema.subclasses(node.named) else node.named
                yield _with_node(draft, index, replace(node, types=frozenset((narrower,)), named=narrower), 0.1)
        yield from self._joined(draft, Node(place, types, named=iri))

    def _entity(self, draft: Draft, option: Option, place: int, reading: Reading) -> Iterator[Draft]:
        terms = tuple(name.term for name in option.names)
        types = frozenset(t for term in terms[:1] for t in self._names.types(term))
        for index, node in enumerate(draft.nodes):
            if node.literal or node.terms or not self._finder.compatible(node.types, types):
                continue
            near = self._gap(node.place, place)
            if node.open:
                apart = tuple(tuple(name.term for name in names) for names in option.apart)
                bound = replace(node, types=types or node.types, terms=terms, open=False, place=place)
                bound = replace(bound, joint=option.joint, apart=apart)
                yield _with_node(draft, index, bound, near)
            elif node.named is not None and near == 0.0 and _adjacent(reading, node.place, place):
                bound = replace(node, types=types, terms=terms, named=None, place=place)
                yield _with_node(draft, index, bound, 0.05)
        yield from self._called(draft, terms, types, place)
        apart = tuple(tuple(name.term for name in names) for names in option.apart)
        yield from self._joined(draft, Node(place, types, terms=terms, joint=option.joint, apart=apart))

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
                bound = _with_node(replace(draft, nodes=nodes), link.object, replace(leaf, terms=labels), 0.3)
                yield replace(bound, links=links)

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
            for path in sorted(paths, key=self._path_cost)[:6]:
                cost = self._path_cost(path) + self._gap(other.place, node.place) + again
                yield self._along(draft, index, path, node, cost)

    def _path_cost(self, path: tuple[Step, ...]) -> float:
        cost = 0.35 * (len(path) - 1)
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
        apart = tuple(tuple(name.term for name in names) for names in option.apart)
        leaf = Node(place, frozenset(), terms=terms, literal=True, joint=option.joint, apart=apart)
        yield from self._literal(draft, predicate, leaf, place, cost=0.1)

    def _literal(self, draft: Draft, predicate: NamedNode, leaf: Node, place: int, cost: float) -> Iterator[Draft]:
        """The leaf at a node that has the property, or at a new one; an unsaid leaf of the same property is taken."""
        domains = frozenset(self._schema.domains(predicate))
        if leaf.terms:
            for link in draft.links:
                node = draft.nodes[link.object]
                if link.predicate == predicate and node.literal and not node.terms:
                    yield _with_node(draft, link.object, replace(leaf, place=place), self._gap(node.place, place))
        for index, node in enumerate(draft.nodes):
            if node.literal or (node.terms and leaf.terms):
                continue
            if self._finder.compatible(node.types, domains) and (node.types or not draft.links):
                yield self._leaf(draft, index, predicate, leaf, cost + self._gap(node.place, place))
        if not draft.nodes:
            start = replace(draft, nodes=(Node(place, domains, open=True),))
            yield self._leaf(start, 0, predicate, leaf, cost + 0.2)
            return
        for new in self._joined(draft, Node(place, domains, open=True)):
            yield self._leaf(new, len(new.nodes) - 1, predicate, leaf, cost + 0.2)

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
            yield from self._literal(draft, predicate, Node(place, frozenset(), literal=True), place, cost=0.0)
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
                subject, object_ = (len(draft.nodes), index) if back else (index, len(draft.nodes))
                cost = self._gap(node.place, place) + _direction(reading, mention, node.place, place, back=back)
                if back and node.place < place and self._active(reading, node.place, predicate):
                    cost += _AGAINST_THE_VERB
                link = Link(subject, predicate, object_, place=place, path=path)
                yield replace(draft, nodes=(*draft.nodes, far), links=(*draft.links, link), cost=draft.cost + cost)
        if not draft.nodes:
            nodes = (Node(place, ends[0], open=True), Node(place, ends[1], open=True))
            yield replace(draft, nodes=nodes, links=(Link(0, predicate, 1, place=place, path=path),))

    def _absorbed(
        self, draft: Draft, predicate: NamedNode, place: int, mention: Mention, reading: Reading
    ) -> Iterator[Draft]:
        """A property that an earlier guess already brought in: the guess was right."""
        for number, link in enumerate(draft.links):
            beside = link.place >= 0 and abs(link.place - place) == 1 and draft.nodes[link.object].terms
            if link.predicate != predicate or (link.place >= 0 and not beside):
                continue
            back = 0.0 if beside else _refund(link, self._finder)
            wrong = _order_cost(reading, mention, draft.nodes[link.subject], draft.nodes[link.object])
            path = "+" if link.path or (reading.cues.chain and self._loops(predicate)) else ""
            links = (*draft.links[:number], replace(link, place=place, path=path), *draft.links[number + 1 :])
            yield replace(draft, links=links, cost=draft.cost - back + wrong)

    def _active(self, reading: Reading, known: int, predicate: NamedNode) -> bool:
        """“What does X cite”: X certainly is what cites, unless the property is called the other way round."""
        mention = reading.mentions[known]
        before = _word(reading, mention.first - 1)
        if before in ("the", "a", "an"):
            before = _word(reading, mention.first - 2)
        term = self._schema.properties.get(predicate)
        passive = any(_PASSIVE.search(word.text) for word in term.words) if term else True
        return before in ("do", "does", "did") and not passive

    def _loops(self, predicate: NamedNode) -> bool:
        """Whether the property leads from a class to itself, so that following it on and on makes sense."""
        domains, ranges = self._schema.domains(predicate), self._schema.ranges(predicate)
        return self._finder.compatible(frozenset(domains), frozenset(ranges)) and bool(domains)


def _weight(mention: Mention, reading: Reading) -> float:
    return max(0.25, sum(reading.weights[mention.first : mention.last]))


def _with_node(draft: Draft, index: int, node: Node, cost: float) -> Draft:
    nodes = (*draft.nodes[:index], node, *draft.nodes[index + 1 :])
    return replace(draft, nodes=nodes, cost=draft.cost + cost)


def _adjacent(reading: Reading, first: int, second: int) -> bool:
    """Whether only "of", "the", 的 and the like stand between two mentions."""
    one, two = sorted((first, second))
    if two - one != 1:
        return False
    between = reading.tokens[reading.mentions[one].last : reading.mentions[two].first]
    return len(between) <= 2 and all(
        t.text.casefold() in ("of", "the", "is", "are", "named", "called", "a", "名", "为", "叫", "是") for t in between
    )


def _refund(link: Link, finder: PathFinder) -> float:
    return (_PLACING if link.predicate in finder.placing else _UNSAID) - 0.1


def _direction(reading: Reading, mention: Mention, node: int, place: int, *, back: bool) -> float:
    """What it costs to read the property from the node forwards, or back, at these places in the text."""
    if place == node:
        return 0.0
    cue = _word_order(reading, mention, after=node > place)
    if cue == 0:
        return 0.1 if back else 0.0
    wants_back = cue < 0
    return 0.0 if back == wants_back else 0.4


def _order_cost(reading: Reading, mention: Mention, subject: Node, object_: Node) -> float:
    place = reading.mentions.index(mention)
    if object_.place == place or subject.place == place or not (object_.terms or subject.terms):
        return 0.0
    known, other = (object_, subject) if object_.terms else (subject, object_)
    cue = _word_order(reading, mention, after=known.place > place)
    if cue == 0 or other is known:
        return 0.0
    wants_object = cue < 0
    return 0.0 if (known is object_) == wants_object else 0.4


def _word_order(reading: Reading, mention: Mention, *, after: bool) -> int:
    """1 if the known thing is what has the property, -1 if it is its value, 0 if the words do not say."""
    following = _word(reading, mention.last)
    before = _word(reading, mention.first - 1)
    phrase = reading.text[reading.tokens[mention.first].start : reading.tokens[mention.last - 1].end].casefold()
    if reading.language == "zh":
        if after:
            return -1
        return 1
    if after:
        if following == "of" or (before in ("the", "what", "which") and following in ("of", "for", "in")):
            return 1
        if following == "by" and not phrase.endswith("by"):
            return 1
        return -1
    if reading.text[reading.tokens[mention.first - 1].start :].lower().startswith("s "):
        return 1
    return 1


def _word(reading: Reading, place: int) -> str:
    return reading.tokens[place].text.casefold() if 0 <= place < len(reading.tokens) else ""


def constants(nodes: Iterable[Node]) -> int:
    """How many nodes are bound to things or values."""
    return sum(bool(node.terms) for node in nodes)
