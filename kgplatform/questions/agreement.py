"""Whether what a query shows is of the kind that the question word asks for: who, where, when, how much."""

from __future__ import annotations

import re
from collections.abc import Iterable

from pyoxigraph import NamedNode

from kgplatform.ontology import Word
from kgplatform.questions.cues import Cues
from kgplatform.questions.graphs import QueryGraph
from kgplatform.questions.schema import THING, SchemaView
from kgplatform.questions.wording import PERSON_WORDS, PLACE_WORDS, keys
from kgplatform.text import normalise, singular
from kgplatform.vocab import words_of_iri

AGREES, UNKNOWN, DIFFERS = 1.0, 0.85, 0.5
"""How well an answer is of the kind asked for; also what its confidence is multiplied by."""

_GROUP_WORDS = frozenset(
    (
        *("organisation", "organization", "company", "team", "group", "airline", "institution", "agency", "firm"),
        *("operator", "handler", "band", "club", "party", "university", "college", "department", "office"),
        *("publisher", "supplier", "vendor", "manufacturer", "laboratory", "lab", "studio", "workshop", "institute"),
        *("foundation", "museum", "association", "committee", "ministry", "customer", "client"),
        *("组织", "机构", "公司", "团队", "乐队", "学校", "大学", "学院", "部门", "出版社", "航空公司"),
    )
)
_AGENT_EN = re.compile(r"\w{3,}(?:ist|ian|eer|wright|smith|man|woman|ee)$|\w{4,}(?<!ct)or$")
_AGENT_ZH = re.compile(r"[员师者](?:工)?$|(?<!国)家$")
_PUT = re.compile(r"\b(?:in|at|on)$", re.IGNORECASE)
_AGENTS = PERSON_WORDS | _GROUP_WORDS
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
