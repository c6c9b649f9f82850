"""Test questions made: backwards from a graph, from the rows of a table, or by a model from passages."""

from __future__ import annotations

import csv
import hashlib
import random
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Final, TypeAlias

from pyoxigraph import Literal, NamedNode

from kgplatform.errors import ModelReplyError, QueryError, ReadError
from kgplatform.lexicon.amounts import plural
from kgplatform.models.json_replies import json_of, mismatch
from kgplatform.models.prompts import render_messages
from kgplatform.ontology.schema import Word
from kgplatform.questions.answer_text import unsupported
from kgplatform.questions.usage import GraphFacts, SchemaClass, SchemaProperty, SchemaView
from kgplatform.text import has_han, language_of, normalise, read_json_lines, words_of_identifier
from kgplatform.types import ChatModel, Evidence, Solutions, Term
from kgplatform.vocab import OWL, RDF, RDFS, SKOS, local_name

_SHORTEST_LEAK: Final = 2


class QuestionType(StrEnum):
    """The four types of question that the travel study tells apart."""

    SIMPLE = "simple"
    MULTI_CONTEXT = "multi-context"
    REASONING = "reasoning"
    CONDITIONAL = "conditional"


@dataclass(frozen=True, slots=True)
class Quote:
    """The words an answer rests on, and the document they stand in."""

    document: str
    quote: str


@dataclass(frozen=True, slots=True)
class MadeQuestion:
    """A question with its gold answers, and the query or the sources that they come from.

    ``kind`` is one of `QuestionType`, or the shape of the query; ``made_by`` is ``built-in`` or the model's name.
    """

    text: str
    language: str
    kind: str
    answers: tuple[str, ...]
    query: str = ""
    sources: tuple[Quote, ...] = ()
    made_by: str = "built-in"
    names: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        """The same for the same question, whatever else is made."""
        return hashlib.sha256(f"{self.language}\0{self.text}".encode()).hexdigest()[:12]

    def line(self) -> dict[str, object]:
        """The question as ``evaluate questions`` and ``benchmark retrieval`` read it."""
        found: dict[str, object] = {"id": self.id, "question": self.text, "lang": self.language, "type": self.kind}
        found["answers"] = list(self.answers)
        if self.query:
            found["gold_sparql"] = self.query
        if self.sources:
            found["quotes"] = [source.quote for source in self.sources]
            found["documents"] = list(dict.fromkeys(source.document for source in self.sources))
        found["made_by"] = self.made_by
        return found


@dataclass(frozen=True, slots=True)
class Sifted:
    """What is left of made questions, and how many were dropped for which reason."""

    kept: tuple[MadeQuestion, ...]
    dropped: dict[str, int]


def sifted(questions: Iterable[MadeQuestion]) -> Sifted:
    """The questions without those that give their answer away, say the same, or ask for nothing."""
    kept: dict[str, MadeQuestion] = {}
    asked: set[tuple[str, str]] = set()
    dropped: dict[str, int] = {}
    for question in questions:
        key = (question.language, question.query)
        reason = (
            "no answer"
            if not question.answers
            else "gives its answer away"
            if leaks(question)
            else "asked twice"
            if normalise(question.text) in kept or (question.query and key in asked)
            else ""
        )
        if reason:
            dropped[reason] = dropped.get(reason, 0) + 1
            continue
        kept[normalise(question.text)] = question
        asked.add(key)
    return Sifted(tuple(kept.values()), dropped)


def leaks(question: MadeQuestion) -> bool:
    """Whether an answer stands in the question, other than as a part of a name that the question must use."""
    text = normalise(question.text)
    for name in sorted(map(normalise, question.names), key=len, reverse=True):
        text = text.replace(name, " ")
    found = (normalise(answer) for answer in question.answers)
    return any(len(answer) >= _SHORTEST_LEAK and _stands_in(answer, text) for answer in found)


def _stands_in(answer: str, text: str) -> bool:
    """Whether the answer is there as words of its own; Chinese has no blanks to tell."""
    if has_han(answer):
        return answer in text
    return re.search(rf"(?<!\w){re.escape(answer)}(?!\w)", text) is not None


def divided(questions: Sequence[MadeQuestion], share: float) -> tuple[list[MadeQuestion], list[MadeQuestion]]:
    """A development and a test set; questions with the same query or sources stay on one side.

    Which side is decided by the content alone, so that a set made again, or made larger, divides alike.
    """
    sides: tuple[list[MadeQuestion], list[MadeQuestion]] = ([], [])
    for question in questions:
        sides[_fraction(question) >= share].append(question)
    return sides


def _fraction(question: MadeQuestion) -> float:
    content = question.query or "\0".join(source.quote for source in question.sources) or question.text
    return int(hashlib.sha256(content.encode()).hexdigest()[:8], 16) / 0x1_0000_0000


def interleaved(groups: Iterable[Iterator[MadeQuestion]], count: int) -> Iterator[MadeQuestion]:
    """Up to ``count`` questions, one of each group in turn."""
    waiting = list(groups)
    given = 0
    while waiting and given < count:
        for group in tuple(waiting):
            question = next(group, None)
            if question is None:
                waiting.remove(group)
                continue
            yield question
            given += 1
            if given >= count:
                return


_PREPOSITIONS: Final = frozenset(
    ("in", "of", "by", "at", "from", "to", "with", "for", "near", "on", "over", "through", "under", "before", "after")
)
_HISSING: Final = ("ches", "shes", "sses", "xes", "zes")


@dataclass(frozen=True, slots=True)
class PropertyName:
    """The name of a property; only one between things may be a verb ("cites", but "rooms" is a number of them)."""

    text: str
    between_things: bool

    @property
    def noun(self) -> str:
        """As what one has: without a leading "has"."""
        return self.text.removeprefix("has ").removeprefix("the ")

    @property
    def is_noun(self) -> bool:
        """Whether it can stand between "the" and "of"."""
        return not self._led_by_preposition and not self._verbal

    @property
    def _led_by_preposition(self) -> bool:
        return self.text.rpartition(" ")[2] in _PREPOSITIONS and not self._verbal

    @property
    def _verbal(self) -> bool:
        """Whether it is a verb in the third person: one word, or before a preposition ("written by" is none)."""
        first, _, rest = self.text.partition(" ")
        singular = first.endswith("s") and not first.endswith(("ss", "us", "is"))
        return self.between_things and singular and (not rest or rest in _PREPOSITIONS)

    @property
    def _stem(self) -> str:
        first, _, rest = self.text.partition(" ")
        if first.endswith("ies"):
            return f"{first[:-3]}y {rest}".strip()
        return f"{first[:-2] if first.endswith(_HISSING) else first[:-1]} {rest}".strip()

    def asked_of(self, thing: str) -> str:
        """A question for what a thing has, in English.

        >>> PropertyName("price per night", between_things=False).asked_of("Canal Inn")
        'What is the price per night of Canal Inn?'
        >>> PropertyName("located in", between_things=True).asked_of("Canal Inn")
        'What is Canal Inn located in?'
        >>> PropertyName("cites", between_things=True).asked_of("Paper A")
        'What does Paper A cite?'
        """
        if self._led_by_preposition:
            return f"What is {thing} {self.text}?"
        return f"What does {thing} {self._stem}?" if self._verbal else f"What is the {self.noun} of {thing}?"

    def having(self, value: str, *, many: bool) -> str:
        """What has a value, as the rest of a question after "which hotels".

        >>> PropertyName("located in", between_things=True).having("Wuzhen", many=True)
        'are located in Wuzhen'
        >>> PropertyName("cites", between_things=True).having("Paper A", many=True)
        'cite Paper A'
        >>> PropertyName("cuisine", between_things=False).having("stew", many=False)
        'has the cuisine stew'
        """
        if self._led_by_preposition:
            return f"{'are' if many else 'is'} {self.text} {value}"
        if self._verbal:
            return f"{self._stem if many else self.text} {value}"
        return f"{'have' if many else 'has'} the {self.noun} {value}"


class TermWords:
    """Names of the terms of a graph in one language; empty where there is none."""

    def __init__(self, facts: GraphFacts, schema: SchemaView, language: str) -> None:
        self._facts = facts
        self._schema = schema
        self.language = language
        called = ((normalise(label.value), node) for node, found in facts.labels.items() for label in found)
        self._called = Counter(name for name, _ in dict.fromkeys(called))

    @property
    def chinese(self) -> bool:
        """Whether the words are Chinese."""
        return self.language == "zh"

    def thing(self, node: object) -> str:
        """The label of a thing that no other thing has; of a literal, its text, if it is short and on one line."""
        if isinstance(node, Literal):
            return node.value if 0 < len(node.value) <= 60 and "\n" not in node.value else ""
        labels = self._facts.labels.get(node, ())
        own = [label.value for label in labels if self._fits(label) and self._called[normalise(label.value)] == 1]
        return min(own, key=lambda text: (len(text), text), default="")

    def kind(self, iri: NamedNode) -> str:
        """The name of a class, in English in the singular."""
        found = self._schema.classes.get(iri)
        name = self._name(found, iri) if found else ""
        return name if self.chinese or not name.istitle() else name.lower()

    def relation(self, iri: NamedNode) -> PropertyName:
        """The name of a property, with an empty text where it has none in this language."""
        found = self._schema.properties.get(iri)
        return (
            PropertyName(self._name(found, iri), found.is_object) if found else PropertyName("", between_things=False)
        )

    def _fits(self, label: Literal) -> bool:
        language = (label.language or "").partition("-")[0]
        if language:
            return language == self.language
        return has_han(label.value) == self.chinese

    def _name(self, term: SchemaClass | SchemaProperty, iri: NamedNode) -> str:
        named = [word.text for word in term.words if _of(word, self.language)]
        if named:
            return named[0]
        return "" if self.chinese or term.words else words_of_identifier(local_name(iri.value)).lower()


def _of(word: Word, language: str) -> bool:
    return (word.language or "").partition("-")[0] == language or (
        not word.language and has_han(word.text) == (language == "zh")
    )


# Every question is about statements that there are, so all have an answer; what is drawn is decided by the seed. The
# procedure is that of reverse querying (as PIPE-RDF and SPARQL benchmark generators have it), over any ontology.
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
        self._words = TermWords(facts, schema, language)
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
        shapes: dict[str, Callable[[], _Draft | None]] = {
            "lookup": self._lookup,
            "inverse": self._inverse,
            "count": self._count,
            "two-hop": self._two_hop,
            "both": self._both,
            "superlative": self._superlative,
            "comparison": self._comparison,
            "boolean": self._boolean,
            "per-group": self._per_group,
        }
        made = interleaved((self._of_shape(kind, draw) for kind, draw in shapes.items()), count * _MORE)
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
        text = (
            f"{thing}的{relation}是什么？" if self._words.chinese else self._words.relation(predicate).asked_of(thing)
        )
        return _Draft(text, f"SELECT DISTINCT ?value WHERE {{ {subject} {predicate} ?value }}", (thing, relation))

    def _inverse(self) -> _Draft | None:
        (subject, predicate, object_), _, relation, value = self._drawn()
        class_ = self._class_of(subject)
        if class_ is None:
            return None
        kind = self._words.kind(class_)
        text = (
            f"哪些{kind}的{relation}是{value}？"
            if self._words.chinese
            else f"Which {plural(kind)} {self._words.relation(predicate).having(value, many=True)}?"
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
        if not self._words.chinese and not (other.is_noun and self._words.relation(first).is_noun):
            return None
        text = (
            f"{thing}的{one}的{other.text}是什么？"
            if self._words.chinese
            else f"What is the {other.noun} of the {self._words.relation(first).noun} of {thing}?"
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
            held = self._words.relation(first).having(value, many=True)
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
        named = self._words.relation(predicate)
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


QUESTION_TYPES: Final = {
    "lookup": QuestionType.SIMPLE,
    "inverse": QuestionType.SIMPLE,
    "boolean": QuestionType.SIMPLE,
    "two-hop": QuestionType.MULTI_CONTEXT,
    "both": QuestionType.CONDITIONAL,
    "comparison": QuestionType.CONDITIONAL,
    "count": QuestionType.REASONING,
    "superlative": QuestionType.REASONING,
    "per-group": QuestionType.REASONING,
}
"""Which of the four types of question a shape belongs to."""


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


def with_sources(
    questions: Iterable[MadeQuestion], supporting: Callable[[str], Iterable[Evidence]]
) -> Iterator[MadeQuestion]:
    """The reverse-made questions that documents answer, as one of the four types, with their passages.

    ``supporting`` gives the passages of a query's rows. A question over two statements of different passages is
    multi-context; one whose two statements stand in one passage is as simple as any other.
    """
    for question in questions:
        found = tuple(dict.fromkeys(Quote(item.source, item.quote) for item in supporting(question.query)))
        if not found:
            continue
        kind = QUESTION_TYPES[question.kind]
        if kind is QuestionType.MULTI_CONTEXT and len(found) < 2:
            kind = QuestionType.SIMPLE
        yield replace(question, kind=kind.value, sources=found)


_PLACE = re.compile(r"\{([^{}]+)\}")
_TEMPLATES_TRIES: Final = 20


@dataclass(frozen=True, slots=True)
class Template:
    """A question with ``{columns}`` in braces, and the column that answers it; ``kind`` is for reports."""

    text: str
    answer: str
    kind: str

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that the question names."""
        return tuple(_PLACE.findall(self.text))


def read_templates(path: Path) -> tuple[list[Template], list[str]]:
    """The templates of a file of JSON Lines (``template``, ``answer``, optionally ``type``), and what was wrong.

    Raises:
        ReadError: the file cannot be read, or no line can be used.
    """
    return read_json_lines(path, _template, what='template ({"template": "… {column} …", "answer": "column"})')


def _template(item: Mapping[str, object], _number: int) -> Template:
    text, answer = item.get("template"), item.get("answer")
    if not isinstance(text, str) or not isinstance(answer, str):
        raise ValueError("template and answer are needed, both texts")
    made = Template(text, answer, str(item.get("type", "template")))
    if not made.columns:
        raise ValueError(f"the template names no column in braces: {text!r}")
    if answer in made.columns:
        raise ValueError(f"the template gives its answer away: {answer!r} is in the question")
    return made


def read_rows(path: Path) -> list[dict[str, str]]:
    """The rows of a CSV file with a header, as texts by column.

    Raises:
        ReadError: the file cannot be read, is no UTF-8, or has no rows.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = [{k: (v or "").strip() for k, v in row.items() if k is not None} for row in csv.DictReader(file)]
    except OSError as error:
        raise ReadError(f"cannot be read: {error.strerror or error}", path=path) from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise ReadError(f"cannot be read as a table: {error}", path=path) from error
    if not rows:
        raise ReadError("holds no rows below its header", path=path)
    return rows


def from_table(
    rows: Sequence[Mapping[str, str]], templates: Sequence[Template], *, count: int, source: str = "", seed: int = 0
) -> Iterator[MadeQuestion]:
    """Up to ``count`` questions, the templates in turn; the answers are those of all rows that fit the question.

    Raises:
        ReadError: a template names a column that the table does not have.
    """
    _check(rows, templates, source)
    chance = random.Random(seed)
    given = 0
    misses = 0
    while given < count and misses < _TEMPLATES_TRIES * len(templates):
        question = _filled(templates[(given + misses) % len(templates)], chance.choice(rows), rows, source)
        if question is None:
            misses += 1
            continue
        given += 1
        yield question


def _check(rows: Sequence[Mapping[str, str]], templates: Sequence[Template], source: str) -> None:
    known = rows[0].keys()
    for template in templates:
        unknown = [name for name in (*template.columns, template.answer) if name not in known]
        if unknown:
            has = ", ".join(known)
            raise ReadError(f"has no column {unknown[0]!r}, which a template names; it has {has}", path=Path(source))


def _filled(
    template: Template, row: Mapping[str, str], rows: Sequence[Mapping[str, str]], source: str
) -> MadeQuestion | None:
    wanted = {name: row[name] for name in template.columns}
    if not all(wanted.values()):
        return None
    fitting = [r for r in rows if all(r[name] == value for name, value in wanted.items())]
    answers = tuple(dict.fromkeys(r[template.answer] for r in fitting if r[template.answer]))
    if not answers:
        return None
    text = _PLACE.sub(lambda match: wanted[match.group(1)], template.text)
    quotes = tuple(Quote(source, ", ".join(value for value in r.values() if value)) for r in fitting[:1] if source)
    names = tuple(wanted.values())
    return MadeQuestion(text, language_of(text), template.kind, answers, sources=quotes, names=names)


_LANGUAGES: Final = {"en": "English", "zh": "Chinese"}
_BATCH: Final = 20
_RECKONED: Final = re.compile(r"[\d.,]+")
_MARK_PATTERN: Final = {letter: f"[{re.escape(marks)}]" for marks in ('"“”„«»', "'‘’ʼ", "-‐‑–—") for letter in marks}
"""Marks that a model writes for one another when it copies."""


def _object(**properties: object) -> dict[str, object]:
    return {"type": "object", "required": list(properties), "additionalProperties": False, "properties": properties}


def _array(items: object) -> dict[str, object]:
    return {"type": "array", "items": items}


_TEXT: Final = {"type": "string"}
_FROM_PASSAGES: Final = _object(
    questions=_array(
        _object(
            type={"type": "string", "enum": [kind.value for kind in QuestionType]},
            question=_TEXT,
            answer=_TEXT,
            quotes=_array(_object(passage={"type": "integer"}, quote=_TEXT)),
        )
    )
)
_FOR_USERS: Final = _object(
    users=_array(_object(user=_TEXT, tasks=_array(_object(task=_TEXT, questions=_array(_TEXT)))))
)
_PARAPHRASES: Final = _object(questions=_array(_TEXT))


@dataclass(frozen=True, slots=True)
class MadePassage:
    """A passage to ask about, and its document's title."""

    document: str
    text: str


@dataclass(frozen=True, slots=True)
class Refused:
    """A question of the model's that was not taken, and why."""

    text: str
    reason: str


def from_passages(
    passages: Sequence[MadePassage], model: ChatModel, *, language: str = "en", count: int = 2
) -> tuple[list[MadeQuestion], list[Refused]]:
    """Questions of the four types about the passages, those whose quotes are not there or not enough refused.

    Raises:
        ModelError: the model is away, or its reply cannot be used.
    """
    reply = _asked(
        model,
        "make-questions",
        _FROM_PASSAGES,
        language=_LANGUAGES.get(language, language),
        passages=list(passages),
        count=count,
    )
    taken: list[MadeQuestion] = []
    refused: list[Refused] = []
    for item in _objects(reply["questions"]):
        made = _made(item, passages, language, model.name)
        if isinstance(made, Refused):
            refused.append(made)
        else:
            taken.append(made)
    return taken, refused


def _made(
    item: Mapping[str, object], passages: Sequence[MadePassage], language: str, name: str
) -> MadeQuestion | Refused:
    text, answer = str(item["question"]).strip(), str(item["answer"]).strip()
    sources: list[Quote] = []
    for quoted in _objects(item["quotes"]):
        place = quoted["passage"]
        quote = str(quoted["quote"]).strip()
        passage = passages[place - 1] if isinstance(place, int) and 0 < place <= len(passages) else None
        found = _as_written(quote, passage.text) if passage else ""
        if passage is None or not found:
            return Refused(text, f"the quote {quote[:60]!r} is not in the passage")
        sources.append(Quote(passage.document, found))
    if not text or not answer or not sources:
        return Refused(text, "question, answer or quotes are missing")
    kind = QuestionType(str(item["type"]))
    invented = unsupported(answer, [*(f"{p.document} {p.text}" for p in passages), text])
    if kind is QuestionType.REASONING:  # what was counted or reckoned stands nowhere
        invented = tuple(name for name in invented if not _RECKONED.fullmatch(name))
    if invented:
        return Refused(text, f"the answer names what no passage does: {', '.join(invented)}")
    if kind is QuestionType.MULTI_CONTEXT and len({source.quote for source in sources}) < 2:
        return Refused(text, "said to need several passages, but quotes one")
    return MadeQuestion(text, language, kind.value, (answer,), sources=tuple(sources), made_by=name)


def _as_written(quote: str, text: str) -> str:
    """The stretch of the text that the quote is, line breaks and kinds of quotation marks aside; empty: it is none."""
    parts = [_MARK_PATTERN.get(letter) or re.escape(letter) for letter in " ".join(quote.split())]
    found = re.search("".join(r"\s+" if part == r"\ " else part for part in parts), text) if parts else None
    return found.group() if found else ""


@dataclass(frozen=True, slots=True)
class UserQuestion:
    """A question that an imagined user asks for a task; there is no gold answer, so it serves for comparisons."""

    user: str
    task: str
    text: str
    language: str
    made_by: str


def for_users(
    description: str, model: ChatModel, *, language: str = "en", users: int = 5, tasks: int = 5, questions: int = 5
) -> list[UserQuestion]:
    """Questions for ``users`` times ``tasks`` times ``questions``, each once; fewer where the model gives fewer.

    Source: the procedure of the GraphRAG evaluation (Edge et al. 2024, section 4.1) and of those that took it over.

    Raises:
        ModelError: the model is away, or its reply cannot be used.
    """
    reply = _asked(
        model,
        "make-tasks",
        _FOR_USERS,
        language=_LANGUAGES.get(language, language),
        description=description,
        users=users,
        tasks=tasks,
        questions=questions,
    )
    found: dict[str, UserQuestion] = {}
    for user in _objects(reply["users"])[:users]:
        for task in _objects(user["tasks"])[:tasks]:
            asked = task["questions"]
            for text in (asked if isinstance(asked, list) else [])[:questions]:
                made = UserQuestion(str(user["user"]), str(task["task"]), str(text).strip(), language, model.name)
                if made.text:
                    found.setdefault(normalise(made.text), made)
    return list(found.values())


def paraphrased(questions: Sequence[MadeQuestion], model: ChatModel) -> tuple[list[MadeQuestion], list[Refused]]:
    """The questions as a person would say them; one that loses or gains a name or number keeps its own words.

    Raises:
        ModelError: the model is away, or a reply cannot be used.
    """
    found: list[MadeQuestion] = []
    refused: list[Refused] = []
    for start in range(0, len(questions), _BATCH):
        batch = questions[start : start + _BATCH]
        reply = _asked(model, "paraphrase-questions", _PARAPHRASES, questions=[item.text for item in batch])
        texts = reply["questions"] if isinstance(reply["questions"], list) else []
        if len(texts) != len(batch):
            message = f"{model.name} paraphrased {len(texts)} of {len(batch)} questions"
            raise ModelReplyError(message, model=model.name, reply=str(reply))
        for item, said in zip(batch, texts, strict=True):
            reason = _changed(item, str(said).strip())
            if reason:
                refused.append(Refused(str(said), reason))
            found.append(item if reason else replace(item, text=str(said).strip(), made_by=model.name))
    return found, refused


def _changed(item: MadeQuestion, said: str) -> str:
    if not said:
        return "it is empty"
    added = unsupported(said, (item.text,))
    lost = unsupported(item.text, (said,))
    if added or lost:
        return f"names or numbers changed: {', '.join((*lost, *added))}"
    return ""


def _asked(model: ChatModel, prompt: str, schema: Mapping[str, object], **values: object) -> Mapping[str, object]:
    messages, _ = render_messages(prompt, folder=None, **values)
    reply = model.complete(messages, schema=schema).text
    found = json_of(reply, model=model.name)
    wrong = mismatch(found, schema)
    if wrong:
        raise ModelReplyError(f"{model.name} made no questions: {wrong}", model=model.name, reply=reply)
    return found


def _objects(value: object) -> list[Mapping[str, object]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
