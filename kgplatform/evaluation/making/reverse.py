"""Questions made backwards: a query graph drawn from the data, put into words, with its SPARQL and its answers.

Every question is about statements that there are, so all have an answer; what is drawn is decided by the seed. The
procedure is that of reverse querying (as PIPE-RDF and SPARQL benchmark generators have it), over any ontology.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from pyoxigraph import Literal, NamedNode

from kgplatform.errors import QueryError
from kgplatform.evaluation.making.made import Kind, MadeQuestion, Sifted, interleaved, sifted
from kgplatform.evaluation.making.wording import Relation, Wording, plural
from kgplatform.questions.facts import GraphFacts
from kgplatform.questions.schema import SchemaView
from kgplatform.types import Solutions, Term
from kgplatform.vocab import OWL, RDF, RDFS, SKOS

Statement: TypeAlias = tuple[object, NamedNode, object]
_STANDARD: Final = (RDF, RDFS, OWL, SKOS)
_MOST_ANSWERS: Final = 50
_TRIES: Final = 40
_MORE: Final = 3


@dataclass(frozen=True, slots=True)
class _Draft:
    """A question and its query; ``names`` are what the question has to say."""

    text: str
    query: str
    names: tuple[str, ...]


class ReverseQuestions:
    """Draws questions from a graph; the same seed draws the same ones."""

    def __init__(
        self,
        facts: GraphFacts,
        schema: SchemaView,
        *,
        run: Callable[[str], Solutions],
        label: Callable[[Term, str], str],
        language: str = "en",
        seed: int = 0,
    ) -> None:
        self._schema = schema
        self._run = run
        self._label = label
        self._words = Wording(facts, schema, language)
        self._facts = facts
        self._random = random.Random(f"{seed} {language}")
        self._statements = [
            item
            for item in facts.statements
            if not item[1].value.startswith(_STANDARD)
            and self._words.relation(item[1]).text
            and isinstance(item[0], NamedNode)
            and self._words.thing(item[0])
            and self._words.thing(item[2])
        ]
        self._by_subject: dict[object, list[Statement]] = defaultdict(list)
        for item in self._statements:
            self._by_subject[item[0]].append(item)

    def make(self, count: int) -> Sifted:
        """Up to ``count`` questions of all shapes in turn, without repetitions and leaks."""
        shapes: tuple[tuple[str, Callable[[], _Draft | None]], ...] = (
            ("lookup", self._lookup),
            ("inverse", self._inverse),
            ("count", self._count),
            ("two-hop", self._two_hop),
            ("both", self._both),
            ("superlative", self._superlative),
            ("comparison", self._comparison),
            ("boolean", self._boolean),
            ("per-group", self._per_group),
        )
        made = interleaved((self._of_shape(kind, draw) for kind, draw in shapes), count * _MORE)
        found = sifted(made)
        return Sifted(found.kept[:count], found.dropped)

    def _of_shape(self, kind: str, draw: Callable[[], _Draft | None]) -> Iterator[MadeQuestion]:
        """Questions of a shape until drawing fails a good many times in a row."""
        misses = 0
        while misses < _TRIES:
            draft = draw() if self._statements else None
            question = self._answered(kind, draft) if draft else None
            misses = 0 if question else misses + 1
            if question:
                yield question

    def _answered(self, kind: str, draft: _Draft) -> MadeQuestion | None:
        try:
            found = self._run(draft.query)
        except QueryError:
            return None
        language = self._words.language
        if found.boolean is not None:
            answers: tuple[str, ...] = ("yes" if found.boolean else "no",)
        else:
            rows = [[self._label(term, language) for term in row if term is not None] for row in found.rows]
            answers = tuple(dict.fromkeys(value for row in rows for value in row))
        if not 0 < len(answers) <= _MOST_ANSWERS:
            return None
        return MadeQuestion(draft.text, language, kind, answers, query=draft.query, names=draft.names)

    def _drawn(self) -> tuple[Statement, str, str, str]:
        """A statement with the words for its subject, property and object."""
        item = self._random.choice(self._statements)
        return item, self._words.thing(item[0]), self._words.relation(item[1]).text, self._words.thing(item[2])

    def _class_of(self, node: object) -> NamedNode | None:
        """A named class of a thing, the rarest first: it says most."""
        found = [iri for iri in self._facts.types.get(node, ()) if self._words.kind(iri)]
        return min(found, key=lambda iri: (self._schema.classes[iri].count, iri.value), default=None)

    def _lookup(self) -> _Draft:
        (subject, predicate, _), thing, relation, _ = self._drawn()
        text = f"{thing}的{relation}是什么？" if self._words.chinese else self._relation(predicate).asked_of(thing)
        return _Draft(text, f"SELECT DISTINCT ?value WHERE {{ {subject} {predicate} ?value }}", (thing, relation))

    def _relation(self, predicate: NamedNode) -> Relation:
        return self._words.relation(predicate)

    def _inverse(self) -> _Draft | None:
        (subject, predicate, object_), _, relation, value = self._drawn()
        class_ = self._class_of(subject)
        if class_ is None:
            return None
        kind = self._words.kind(class_)
        text = (
            f"哪些{kind}的{relation}是{value}？"
            if self._words.chinese
            else f"Which {plural(kind)} {self._relation(predicate).having(value, many=True)}?"
        )
        query = f"SELECT DISTINCT ?thing WHERE {{ ?thing {_typed(class_)} ; {predicate} {object_} }}"
        return _Draft(text, query, (kind, relation, value))

    def _count(self) -> _Draft | None:
        draft = self._inverse()
        if draft is None:
            return None
        kind = draft.names[0]
        if self._words.chinese:
            text = draft.text.replace("哪些", "有多少个", 1)
        else:
            text = draft.text.replace(f"Which {plural(kind)}", f"How many {plural(kind)}", 1)
        query = draft.query.replace("SELECT DISTINCT ?thing", "SELECT (COUNT(DISTINCT ?thing) AS ?count)", 1)
        return _Draft(text, query, draft.names)

    def _two_hop(self) -> _Draft | None:
        (subject, first, middle), thing, one, _ = self._drawn()
        onward = [item for item in self._by_subject.get(middle, ()) if item[2] != subject]
        if not onward or not isinstance(middle, NamedNode):
            return None
        _, second, _ = self._random.choice(onward)
        other = self._words.relation(second)
        if not self._words.chinese and not (other.is_noun and self._relation(first).is_noun):
            return None
        text = (
            f"{thing}的{one}的{other.text}是什么？"
            if self._words.chinese
            else f"What is the {other.noun} of the {self._relation(first).noun} of {thing}?"
        )
        query = f"SELECT DISTINCT ?value WHERE {{ {subject} {first} ?middle . ?middle {second} ?value }}"
        return _Draft(text, query, (thing, one, other.text))

    def _both(self) -> _Draft | None:
        (subject, first, one), _, relation, value = self._drawn()
        class_ = self._class_of(subject)
        others = [item for item in self._by_subject[subject] if item[1] != first]
        if class_ is None or not others:
            return None
        _, second, two = self._random.choice(others)
        kind, more, said = self._words.kind(class_), self._words.relation(second), self._words.thing(two)
        if self._words.chinese:
            text = f"哪些{kind}的{relation}是{value}，并且{more.text}是{said}？"
        else:
            held = self._relation(first).having(value, many=True)
            text = f"Which {plural(kind)} {held} and {more.having(said, many=True)}?"
        query = f"SELECT DISTINCT ?thing WHERE {{ ?thing {_typed(class_)} ; {first} {one} ; {second} {two} }}"
        return _Draft(text, query, (kind, relation, value, more.text, said))

    def _measured(self) -> tuple[NamedNode, NamedNode, list[float]] | None:
        """A class and a numeric property of it, with the values that its things have."""
        (subject, predicate, _), *_ = self._drawn()
        class_ = self._class_of(subject)
        term = self._schema.properties.get(predicate)
        if class_ is None or term is None or not term.numeric:
            return None
        values = [
            number
            for node, property_, object_ in self._statements
            if property_ == predicate and class_ in self._facts.types.get(node, ())
            if (number := _number(object_)) is not None
        ]
        return (class_, predicate, sorted(values)) if len(set(values)) >= _MORE else None

    def _superlative(self) -> _Draft | None:
        measured = self._measured()
        if measured is None:
            return None
        class_, predicate, _ = measured
        kind, relation = self._words.kind(class_), self._words.relation(predicate)
        most = self._random.random() < 0.5
        if self._words.chinese:
            text = f"{relation.text}{'最高' if most else '最低'}的{kind}是哪一个？"
        else:
            text = f"Which {kind} has the {'highest' if most else 'lowest'} {relation.noun}?"
        best = (
            f"{{ SELECT ({'MAX' if most else 'MIN'}(?other) AS ?best) WHERE {{ ?any {_typed(class_)} ; "
            f"{predicate} ?other }} }}"
        )
        query = f"SELECT DISTINCT ?thing WHERE {{ {best} ?thing {_typed(class_)} ; {predicate} ?best }}"
        return _Draft(text, query, (kind, relation.text))

    def _comparison(self) -> _Draft | None:
        measured = self._measured()
        if measured is None:
            return None
        class_, predicate, values = measured
        kind, relation = self._words.kind(class_), self._words.relation(predicate)
        limit = f"{values[self._random.randrange(len(values) // 4, 1 + 3 * len(values) // 4)]:g}"
        above = self._random.random() < 0.5
        if self._words.chinese:
            text = f"哪些{kind}的{relation.text}{'高于' if above else '低于'}{limit}？"
        else:
            text = f"Which {plural(kind)} have a {relation.noun} {'above' if above else 'below'} {limit}?"
        condition = f"FILTER(?value {'>' if above else '<'} {limit})"
        query = f"SELECT DISTINCT ?thing WHERE {{ ?thing {_typed(class_)} ; {predicate} ?value {condition} }}"
        return _Draft(text, query, (kind, relation.text, limit))

    def _boolean(self) -> _Draft | None:
        (subject, predicate, object_), thing, relation, value = self._drawn()
        same = [item[2] for item in self._statements if item[1] == predicate and item[2] != object_]
        if same and self._random.random() < 0.5:
            object_ = self._random.choice(same)
            value = self._words.thing(object_)
        named = self._relation(predicate)
        if self._words.chinese:
            text = f"{thing}的{relation}是{value}吗？"
        else:
            text = f"Is it true that {thing} {named.having(value, many=False)}?"
        return _Draft(text, f"ASK {{ {subject} {predicate} {object_} }}", (thing, relation, value))

    def _per_group(self) -> _Draft | None:
        (subject, predicate, object_), _, relation, _ = self._drawn()
        class_ = self._class_of(subject)
        sizes = Counter(item[2] for item in self._statements if item[1] == predicate)
        if class_ is None or not isinstance(object_, NamedNode) or not 2 <= len(sizes) <= _MOST_ANSWERS // 2:
            return None
        kind, named = self._words.kind(class_), self._words.relation(predicate)
        if not self._words.chinese and not named.is_noun:
            return None
        text = (
            f"按{relation}统计，各有多少个{kind}？"
            if self._words.chinese
            else f"How many {plural(kind)} are there for each {named.noun}?"
        )
        query = (
            f"SELECT ?group (COUNT(DISTINCT ?thing) AS ?count) WHERE {{ ?thing {_typed(class_)} ; "
            f"{predicate} ?group }} GROUP BY ?group"
        )
        return _Draft(text, query, (kind, relation))


_TYPES: Final = {
    "lookup": Kind.SIMPLE,
    "inverse": Kind.SIMPLE,
    "boolean": Kind.SIMPLE,
    "two-hop": Kind.MULTI_CONTEXT,
    "both": Kind.CONDITIONAL,
    "comparison": Kind.CONDITIONAL,
    "count": Kind.REASONING,
    "superlative": Kind.REASONING,
    "per-group": Kind.REASONING,
}


def kind_of(shape: str) -> Kind:
    """Which of the four types of question a shape belongs to."""
    return _TYPES[shape]


def _typed(class_: NamedNode) -> str:
    return f"a/<{RDFS}subClassOf>* {class_}"


def _number(node: object) -> float | None:
    if not isinstance(node, Literal):
        return None
    try:
        return float(node.value)
    except ValueError:
        return None


def shapes(questions: Sequence[MadeQuestion]) -> Counter[str]:
    """How many questions there are of each shape."""
    return Counter(question.kind for question in questions)
