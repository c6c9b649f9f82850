"""Asks a question of a graph: translated, checked, run, put into words, with the passages it rests on."""

from __future__ import annotations

import gc
import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import islice
from pathlib import Path
from typing import Any

from pyoxigraph import Literal, NamedNode

from kgplatform import lexicon
from kgplatform.errors import ModelError, QueryError
from kgplatform.lexicon.amounts import measure, unit
from kgplatform.models.embed import CARRIED
from kgplatform.ontology.schema import Ontology
from kgplatform.questions.answer_text import (
    ToldOfThing,
    frame_of,
    graph_of,
    kind_of,
    labelled,
    meaning,
    phrased,
    phrases,
    quoted,
    said,
    told,
    told_with,
    values_of,
)
from kgplatform.questions.check import (
    Explain,
    FindEvidence,
    RowSupport,
    is_near,
    is_one,
    is_unbound,
    is_unknown,
    partial_codes,
    shown,
    supporting,
    unknown_words,
    unsaid,
    what_empties,
)
from kgplatform.questions.dialogue.scheme import BoundScheme, Scheme
from kgplatform.questions.forms.form_reader import (
    FORM_RIGHT,
    LIKELIER_RIGHT,
    FormReader,
    Reading,
    Ruled,
    choice_signs,
    shipped_weights,
)
from kgplatform.questions.forms.question_language import language_of_question
from kgplatform.questions.model_translator import Briefer, TranslationOptions, TranslationTask
from kgplatform.questions.model_translator import query_by_model as drafted
from kgplatform.questions.name_index import NameIndex, name_index
from kgplatform.questions.parser.draft import PART
from kgplatform.questions.parser.idioms import plainly
from kgplatform.questions.parser.mentions import QuestionReading, read
from kgplatform.questions.parser.query_graph import Link, Node, QueryGraph, Verbaliser
from kgplatform.questions.parser.serialization import QueryWriter, with_limit
from kgplatform.questions.parser.translator import (
    BuiltinTranslator,
    Translation,
    asks_why,
    gives_reasons,
    guessed,
    is_empty,
    is_zero,
    locating,
    understanding,
)
from kgplatform.questions.solved_questions import Solved, retold, shipped_examples
from kgplatform.questions.usage import SchemaView, read_facts, schema_view
from kgplatform.questions.verification import (
    answering_query,
    denies,
    has_several,
    is_not_told,
    is_only_read,
    of_all,
    of_deed,
    other_currency,
    put_otherwise,
    turned,
)
from kgplatform.store.dataset import EvidenceDataset
from kgplatform.types import (
    Answer,
    Attempt,
    ChatModel,
    Clarification,
    Embedder,
    Evidence,
    Linked,
    NoAnswer,
    Query,
    Question,
    QuestionKind,
    RunQuery,
    Solutions,
    Term,
    Usage,
    Verdict,
)

# What answering needs to know of a graph, built in one go for one version of its store.


@dataclass(frozen=True, slots=True)
class GraphKnowledge:
    """What answering needs to know of a graph; good for one version of the store."""

    schema: SchemaView
    names: NameIndex
    translator: BuiltinTranslator
    briefer: Briefer
    frames: tuple[BoundScheme, ...] = ()
    forms: FormReader | None = None

    @property
    def idle(self) -> frozenset[str]:
        """Words that a yes or no can leave out, as the schemes of the graph say."""
        return frozenset().union(*(frame.scheme.idle for frame in self.frames))


def knowledge(
    dataset: EvidenceDataset, ontology: Ontology, schemes: Iterable[Scheme] = (), kept: Path | None = None
) -> GraphKnowledge:
    """What is stated, ready to be asked with the schemes bound; ``kept`` is the folder of its vectors."""
    with _no_collection():
        facts = read_facts(dataset, ontology)
        schema = schema_view(facts, ontology)
        names = name_index(facts, schema)
        frames = tuple(BoundScheme(scheme, names) for scheme in schemes if schema.count(scheme.about))
        small = len(facts.statements) <= _MOST_STATEMENTS
        return GraphKnowledge(
            schema,
            names,
            BuiltinTranslator(names),
            Briefer(dataset, names, ontology),
            frames,
            FormReader(facts, schema, names.label, kept) if small else None,
        )


_MOST_STATEMENTS = 400_000
"""With more, numbering all statements anew takes a question too long."""


@contextmanager
def _no_collection() -> Iterator[None]:
    """No cyclic garbage collection inside: half a million tuples are made here, all kept, none in a cycle."""
    running = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if running:
            gc.enable()


# The steps of answering a question, told while they are taken to whoever waits for the answer; and the way to end it.
#
# Whoever waits follows the question in the thread that answers it: ``with Followed(hear).following(): kg.ask(…)``. What
# answers says `tell` at each step, and `go_on` before work that takes a while; neither does anything where nobody
# follows.


class AnswerStage(StrEnum):
    """What is being done, in the order in which an answer usually comes about."""

    READING = "reading"
    LINKED = "linked"
    MODEL = "model"
    CANDIDATES = "candidates"
    QUERY = "query"
    ROWS = "rows"
    SOURCES = "sources"
    SOURCE = "source"
    WORDING = "wording"


@dataclass(frozen=True, slots=True)
class AnswerStep:
    """A step: what it is about in words or as a query, and its number (of readings, of rows), where it has these."""

    stage: AnswerStage
    detail: str = ""
    number: int | None = None


class QuestionGivenUpError(Exception):
    """Nobody waits for the answer any more. Not a `KgPlatformError`: whatever mends those must let it through."""


class FollowedQuestion:
    """A question that somebody follows: ``name`` is what its queries go by; who has left gives it up."""

    def __init__(
        self, hear: Callable[[AnswerStep], object], *, name: str = "", has_left: Callable[[], bool] = lambda: False
    ) -> None:
        self.name, self.has_left, self._hear = name, has_left, hear
        self._is_given_up = threading.Event()

    def give_up(self) -> None:
        """Ends the answering at its next step; from any thread."""
        self._is_given_up.set()

    def tell(self, step: AnswerStep | None) -> None:
        """Passes a step on; raises GivenUpError where nobody waits any more."""
        if self._is_given_up.is_set() or self.has_left():
            raise QuestionGivenUpError
        if step is not None:
            self._hear(step)

    @contextmanager
    def following(self) -> Iterator[None]:
        """Follows what this thread answers meanwhile."""
        token = _followed.set(self)
        try:
            yield
        finally:
            _followed.reset(token)


_followed: ContextVar[FollowedQuestion | None] = ContextVar("followed", default=None)


def tell(stage: AnswerStage, detail: str = "", *, number: int | None = None) -> None:
    """Tells of a step, if somebody follows; raises GivenUpError where they have left."""
    if (followed := _followed.get()) is not None:
        followed.tell(AnswerStep(stage, detail, number))


def go_on() -> dict[str, Any]:
    """How workers are asked the queries of this question, if somebody follows it; raises GivenUpError as `tell`."""
    if (followed := _followed.get()) is None:
        return {}
    followed.tell(None)
    return {"name": followed.name, "has_left": followed.has_left}


# A question back where one name stands for several things: what tells each of them from the others.

_SHOWN = 8
_IN_COMMON = 3
_MOST_APART, _SHORT, _NAMED = 40, 40, 200


def ambiguous(
    graph: QueryGraph,
    asking: Callable[[Sequence[NamedNode]], Clarification | None],
    label: Callable[[Term], str],
    text: str,
) -> Clarification | None:
    """A question back, where one name in the graph stands for several things equally well.

    None where any of them will do, by their names or by the ``text`` of the question.
    """
    several = [
        index
        for index, node in enumerate(graph.nodes)
        if len(node.terms) > 1 and not node.literal and not node.joint and not _any_will_do(graph, index, label, text)
    ]
    if not several or graph.form == "count":
        return None
    return asking([term for term in graph.nodes[several[0]].terms if isinstance(term, NamedNode)])


def _any_will_do(graph: QueryGraph, index: int, label: Callable[[Term], str], text: str) -> bool:
    """Whether something else is asked: what has one of that name, or parts of one thing, as the exits of a station.

    "Which towns have a street called X" means any, "where is the street called X" one.
    """
    values = (x.object for x in graph.around(index) if graph.nodes[x.object].literal)
    if {index, *values} & set(graph.targets):
        return False
    labels = [label(term) for term in graph.nodes[index].terms]
    if len(set(labels)) == len(labels):
        return len({called[:_IN_COMMON] for called in labels}) == 1
    return lexicon.pattern("answer.one_so_called").search(text) is not None


def which_of(
    namesakes: Sequence[NamedNode], names: NameIndex, dataset: EvidenceDataset, language: str
) -> Clarification | None:
    """A question back for one of several things, each with what only it has; None for fewer than two."""
    shown = tuple(namesakes[:_SHOWN])
    if len(shown) < 2:
        return None
    question = phrases(language)["which_of"].format(name=names.label(shown[0], language))
    return Clarification(question, _each_described(shown, names, dataset, language), shown)


def _each_described(
    things: Sequence[NamedNode], names: NameIndex, dataset: EvidenceDataset, language: str
) -> tuple[str, ...]:
    beside = [_beside(term, names, dataset, language) for term in things]
    common = set.intersection(*map(set, beside))
    return tuple(
        _described(term, [said for said in found if said not in common], names, language)
        for term, found in zip(things, beside, strict=True)
    )


def told_apart(
    rows: Iterable[Sequence[Term | None]], names: NameIndex, dataset: EvidenceDataset, language: str
) -> dict[Term, str]:
    """The things among the first rows that share a name with another one there, by a name that tells them apart."""
    shown = dict.fromkeys(term for row in islice(rows, _MOST_APART) for term in row if isinstance(term, NamedNode))
    called: dict[str, list[NamedNode]] = {}
    for term in shown:
        called.setdefault(names.full_label(term, language), []).append(term)
    found: dict[Term, str] = {}
    for alike in (alike for alike in called.values() if len(alike) > 1):
        found |= dict(zip(alike, _each_described(alike, names, dataset, language), strict=True))
    return found


def _described(term: NamedNode, beside: Sequence[str], names: NameIndex, language: str) -> str:
    """A thing's label with what tells it from its namesakes: its class and a neighbour that they do not have."""
    types = [names.schema.label(iri, language) for iri in names.types(term)[:1]]
    detail = ", ".join([*types, *beside[:1]])
    label = names.label(term, language)
    return f"{label} ({detail})" if detail else label


def _beside(term: NamedNode, names: NameIndex, dataset: EvidenceDataset, language: str) -> list[str]:
    """What is stated to lie around a thing, in words."""
    properties = names.schema.properties
    quads = [q for q in dataset.store.quads(term) if q.predicate in properties and dataset.is_stated(q.triple)]
    said = {
        (isinstance(quad.object, Literal), f"{names.schema.label(quad.predicate, language)} {label}")
        for quad in quads
        if len(label := names.label(quad.object, language)) <= _SHORT
    }
    return [text for _, text in sorted(said)]


# What a graph says of one thing, where a question asks to be told of it: "tell me about X", 介绍一下X, "what is X".
#
# And what a word of its ontology means: "what is a X", 什么是X.

_ARTICLE = lexicon.pattern("answer.article")
_SURE, _UNSURE = 0.9, 0.45


@dataclass(frozen=True, slots=True)
class Subject:
    """What a question asks to be told of: things that bear one name, or a term of the ontology (``meant``)."""

    terms: tuple[NamedNode, ...]
    meant: bool = False


def subject_of(text: str, names: NameIndex) -> Subject | None:
    """What the question asks to be told of, if it asks nothing else and the graph has it; else None."""
    meaning = lexicon.pattern("answer.meant").match(text)
    if meaning is not None and (terms := _whole(_name(meaning), names, ("class", "property"))):
        return Subject(terms[:1], meant=True)
    for match in (lexicon.pattern("answer.about").match(text), meaning):
        terms = _whole(_name(match), names, ("entity",)) if match is not None else ()
        if terms:
            return Subject(terms)
    return None


def _name(match: re.Match[str]) -> str:
    return (match["name"] or match["han"] or match["what"]).strip()


def _whole(name: str, names: NameIndex, kinds: Iterable[str]) -> tuple[NamedNode, ...]:
    """What the whole of a text is the name of."""
    reading = read(name, names)
    if len(reading.mentions) != 1 or reading.uncovered() or _says_more(reading):
        return ()
    first, last = reading.mentions[0].first, reading.mentions[0].last
    if _ARTICLE.sub("", reading.text[: reading.tokens[first].start]).strip("\"'“‘《「 ") or last != len(reading.tokens):
        return ()
    option = reading.mentions[0].options[0]
    if option.kind not in kinds or option.score < _SURE or option.apart:
        return ()
    return tuple(n.term for n in option.names if isinstance(n.term, NamedNode) and n.score >= option.score - 0.05)


def _says_more(reading: QuestionReading) -> bool:
    """Whether there is a most, a number or a comparison beside the name."""
    cues = reading.cues
    return bool(cues.superlatives or cues.amounts or cues.aggregate or cues.counting is not None)


UNHELPED = "the model did not help"
"""How a note begins that a model failed and others were asked in its place."""
_LONGEST_QUESTION, _SURE_ENOUGH = 2_000, 0.35
_SURELY_RIGHT, _AT_MOST = 0.93, 0.71
"""An answer is called sure from the first chance on; any other has the second at most, to which passages add .03."""
_RIGHT, _CHOSEN = 0.6, 0.9
"""What the confidence of a built-in reading is worth on graphs that it was not made for; that of a chosen one."""
_RESEMBLES, _TOLD = 0.55, 0.9
"""A word that resembles its name less is rather an unknown one, where nothing is found."""
_QUICK, _MOST_TOLD = 0.25, 12
"""A query that took longer is not followed by another for the sentence alone, nor one with more rows."""


def _sureness(chance: float, *, whole: bool) -> float:
    """The confidence of an answer with that chance to be right; ``whole``: nothing that counts is left out."""
    return chance if whole and chance >= _SURELY_RIGHT else min(chance, _AT_MOST)


@dataclass(frozen=True, slots=True)
class AnswerSettings:
    """Limits of answering; ``translation`` is how a model is asked for a query."""

    max_rows: int = 1_000
    passages: int = 5
    phrased_by_model: bool = True
    translation: TranslationOptions = field(default_factory=TranslationOptions)


@dataclass(frozen=True, slots=True)
class QuestionParts:
    """What `ask` works with.

    ``find`` gives the passage of a statement in a graph, ``why`` what a conclusion rests on, ``retrieve`` passages
    for a text; ``examples`` are solved questions (those shipped), ``embedder`` tells which are alike.
    """

    dataset: EvidenceDataset
    ontology: Ontology
    knowledge: GraphKnowledge
    run: RunQuery
    find: FindEvidence
    why: Explain | None = None
    model: ChatModel | None = None
    retrieve: Callable[[str, int], list[Evidence]] | None = None
    examples: Sequence[Solved] = field(default_factory=shipped_examples)
    embedder: Callable[[], Embedder | None] = lambda: None
    settings: AnswerSettings = field(default_factory=AnswerSettings)


def ask(text: str, *, parts: QuestionParts) -> Answer:
    """The answer to a question in natural language, whatever the text is; it never writes."""
    began = time.perf_counter()
    asking = _Asking(parts, text)
    answer = asking.verified(asking.answer())
    seconds = time.perf_counter() - began
    return replace(answer, usage=replace(answer.usage, seconds=seconds), trace=tuple(asking.trace))


def ask_query(text: str, query: str | Reading, *, parts: QuestionParts) -> Answer:
    """The answer that a query of an earlier turn gives, once what it left open is chosen; or that of a reading."""
    return _Asking(parts, text).answer_query(query)


@dataclass(frozen=True, slots=True)
class _Found:
    """A query that ran, with its rows."""

    query: Query
    solutions: Solutions
    confidence: float
    model: str | None = None
    kind: QuestionKind = QuestionKind.LIST
    graph: QueryGraph | None = None
    uncovered: tuple[str, ...] = ()
    unsure: str = ""
    seconds: float = 0.0


class _Asking:
    """One question on its way to an answer."""

    def __init__(self, parts: QuestionParts, text: str) -> None:
        self._parts = parts
        self._names = parts.knowledge.names
        self._text = text.strip()[:_LONGEST_QUESTION]
        self._language, forms = language_of_question(self._text), parts.knowledge.forms
        self._plain = forms.in_english(self._text, self._language) if forms else self._text
        self._usage = Usage()
        self._linked: tuple[Linked, ...] = ()
        self._original = text
        self._understood: dict[str, float] = {}
        self._first: Reading | None = None
        self._left: tuple[str, ...] = ()
        self._is_told = False  # what is read meanwhile need not look for passages
        self.trace: list[str] = []
        if len(text.strip()) > _LONGEST_QUESTION:
            self.trace.append(f"only the first {_LONGEST_QUESTION:,} characters of the question were read")

    def _label(self, term: Term) -> str:
        return self._names.label(term, self._language)

    def _full_label(self, term: Term) -> str:
        return self._names.full_label(term, self._language)

    def answer(self) -> Answer:
        if not any(character.isalnum() for character in self._text):
            return self._unanswerable(phrases(self._language)["empty"], None, ())
        self._linked = self._names.link(self._text)
        surest = {item.text.casefold(): item.label for item in sorted(self._linked, key=lambda item: item.score)}
        tell(AnswerStage.LINKED, " · ".join(dict.fromkeys(surest.values())))
        found = self._by_model()
        if found is None:
            return self._by_builtin()
        return found if isinstance(found, Answer) else self._answered(found)

    def verified(self, answer: Answer) -> Answer:
        """The answer, if it is of what was asked; else that of the question put the other way round, or none."""
        query, nothing = answering_query(answer), phrases(self._language)["nothing"]
        schema = self._names.schema
        if self._parts.model is not None:
            return answer
        if (otherwise := put_otherwise(self._text, self._language, query, schema)) is not None:
            text, denied = otherwise
            self.trace.append(f"asked for the opposite: {text}")
            again = _Asking(self._parts, text).answer() if text else answer
            found = answering_query(again) if text else ""
            if found and denied == denies(found):
                answer = replace(again, question=answer.question)
            elif query:
                return self._unanswerable(nothing, None, ())
        if (units := other_currency(answer, schema)) is not None:
            own, asked = (unit(code, self._language) for code in units)
            priced = phrases(self._language)["other_currency"].format(own=own, asked=asked)
            return self._unanswerable(priced, None, ())
        other_query, deed = turned(answer, schema) or of_all(answer), of_deed(answer, schema, self._parts.dataset)
        other_query = deed if other_query is None else other_query
        if other_query is not None:
            solutions = self._ran(other_query) if other_query else None
            if solutions is None or is_empty(solutions):
                return self._unanswerable(nothing, None, ())
            is_sure = solutions.boolean is not False and deed is None
            sure = answer.confidence if is_sure else min(answer.confidence, _AT_MOST)
            answer = self._answered(_Found(Query(other_query), solutions, sure, kind=kind_of(other_query)))
        if is_not_told(answer, schema, self._parts.dataset):
            return self._unanswerable(nothing, None, ())
        told = answer.solutions.boolean if answer.solutions is not None else None
        unsure = told is False and is_only_read(answer, self._parts.dataset)
        if unsure or has_several(answer, self._parts.dataset):
            return replace(answer, confidence=min(answer.confidence, _AT_MOST))
        return answer

    def answer_query(self, query: str | Reading) -> Answer:
        self._linked = self._names.link(self._text)
        if isinstance(query, Reading):
            nothing = phrases(self._language)["nothing_of"].format(reading=query.words)
            return self._of_form(query, query.probability) or self._unanswerable(nothing, Query(query.query), ())
        solutions = self._ran(query)
        if solutions is None or is_empty(solutions):
            return self._unanswerable(phrases(self._language)["nothing"], Query(query), ())
        return self._answered(_Found(Query(query), solutions, _CHOSEN, kind=kind_of(query)))

    # with a model

    def _by_model(self) -> _Found | Answer | None:
        model = self._parts.model
        if model is None:
            return None
        try:
            return self._from_model(model)
        except ModelError as error:
            self.trace.append(f"{UNHELPED} ({error}); the built-in translator was used")
            return None

    def _from_model(self, model: ChatModel) -> _Found | Answer | None:
        """What the model's query found; an answer of its own where it found nothing, None where there is no query."""
        tell(AnswerStage.MODEL, model.name)
        drafting = drafted(self._task(), model)
        tell(AnswerStage.CANDIDATES, number=len(drafting.attempts))
        self._usage += drafting.usage
        self.trace += [f"model {model.name}: {note}" for note in drafting.notes]
        words = phrases(self._language)
        if drafting.declined:
            self.trace.append(f"model {model.name}: the graph has no term for {drafting.declined}")
            return replace(self._unanswerable(words["nothing"], None, ()), model=model.name)
        said = "1 query" if len(drafting.attempts) == 1 else f"{len(drafting.attempts)} queries"
        self.trace.append(f"model {model.name}: {said}, {'valid' if drafting.sound else 'not valid'}")
        if not drafting.sound or drafting.solutions is None:
            self.trace.append("the model's query was not run; the built-in translator was used")
            return None
        tell(AnswerStage.QUERY, drafting.text)
        query = Query(drafting.text, "", drafting.attempts)
        if is_empty(drafting.solutions):
            return replace(self._unanswerable(words["nothing"], query, ()), model=model.name)
        kind = kind_of(drafting.text)
        return _Found(query, drafting.solutions, drafting.confidence, model.name, kind, unsure=drafting.unsure)

    def _task(self) -> TranslationTask:
        """The question as the translator with a model takes it, the built-in translator's readings included."""
        parts = self._parts
        return TranslationTask(
            question=self._text,
            linked=self._linked,
            names=self._names,
            briefer=parts.knowledge.briefer,
            run=parts.run,
            examples=parts.examples,
            readings=[
                *self._as_forms(),
                *(
                    Reading(item.reading, item.text, _RIGHT * item.confidence)
                    for item in parts.knowledge.translator.translate(self._plain, run=parts.run)
                    if not item.empty and not item.dropped
                ),
            ],
            prefixes=parts.dataset.store.prefixes,
            embedder=parts.embedder,
            options=parts.settings.translation,
        )

    def _ran(self, query: str) -> Solutions | None:
        tell(AnswerStage.QUERY, query)
        try:
            return self._parts.run(query)
        except QueryError as error:
            self.trace.append(f"not run: {error}")
            return None

    # without

    def _by_builtin(self) -> Answer:
        if asks_why(self._plain) and not gives_reasons(self._names):
            return self._unanswerable(phrases(self._language)["why"], None, ())
        if (told_of := self._as_solved() or self._told()) is not None:
            return told_of
        forms, readings = self._parts.knowledge.forms, self._as_forms()
        if forms is None or not readings:
            return self._by_rules()
        weights, language, self._first = shipped_weights(), self._language, readings[0]
        alone = weights.chances(choice_signs(language, readings, None)).get("form", 0.0)
        self._is_told = alone >= FORM_RIGHT
        ruled = self._by_rules()
        self._is_told = False
        found = Ruled.of(ruled, readings, forms.intent(self._text, language), self._ran, self._understood)
        chances = weights.chances(choice_signs(language, readings, found))
        by_rules, by_form = chances.get("rules", 0.0), chances.get("form", 0.0)
        likelier = by_rules >= (by_form if by_form >= FORM_RIGHT else LIKELIER_RIGHT)
        if found is not None and (found.asks or likelier):
            if self._left and readings[0].missing and any(found.same[:1]):
                return self._not_understood(self._read())
            return ruled if found.asks else replace(ruled, confidence=_sureness(by_rules, whole=not self._left))
        if by_form >= FORM_RIGHT and (answer := self._of_form(readings[0], by_form)) is not None:
            return answer
        if found is not None and readings[0].missing:
            return self._not_understood(self._read())
        if found is not None:
            return self._either(ruled, readings[0], by_rules, by_form)
        return ruled if alone < FORM_RIGHT else self._by_rules()

    def _either(self, ruled: Answer, reading: Reading, by_rules: float, by_form: float) -> Answer:
        """Which of two readings is meant; the answer, where both are likely enough together and say the same."""
        told = self._of_form(reading, by_form) if ruled.values and by_rules + by_form >= FORM_RIGHT else None
        if told is not None and told.values == ruled.values:
            return replace(ruled, confidence=_sureness(by_rules + by_form, whole=False))
        read = ruled.query.reading if ruled.query else ""
        text = phrases(self._language)["either"].format(one=read, other=reading.words)
        return self._unanswerable(text, None, (), confidence=by_form, reason=NoAnswer.TWO_READINGS)

    def _as_solved(self) -> Answer | None:
        """The answer of a solved question that says the same, with the names of this one; None without rows."""
        if self._parts.settings.translation.leave_out_same:
            return None
        found = retold(self._text, self._parts.examples, self._names)
        solutions = self._ran(found[1]) if found is not None else None
        if found is None or solutions is None or is_empty(solutions):
            return None
        self.trace.append("answered by the query of a solved question that says the same")  # whose names may be hidden
        return self._answered(_Found(Query(found[1]), solutions, _CHOSEN, kind=kind_of(found[1])))

    def _as_forms(self) -> list[Reading]:
        """The question as logical forms, best first; none where the carried sentence model is not the one in use."""
        forms, embedder = self._parts.knowledge.forms, self._parts.embedder()
        if forms is None or embedder is None or embedder.name != CARRIED:
            return []
        try:
            return forms.readings(self._text, self._language, embedder)
        except ModelError as error:
            self.trace.append(f"not read as logical forms: {error}")
            return []

    def _of_form(self, reading: Reading, chance: float) -> Answer | None:
        """The answer that a logical form gives; None where its query gives nothing, or it leaves out too much."""
        solutions = self._ran(reading.query) if not reading.leaves_out else None
        if solutions is None or is_empty(solutions):
            return None
        self.trace.append(f"Interpreted as: {reading.words}")
        forms, query = self._parts.knowledge.forms, Query(reading.query, reading.words)
        graph = graph_of(reading.form, forms.graph) if forms is not None else None
        sure = _sureness(chance, whole=True)
        found = _Found(query, solutions, sure, kind=kind_of(reading.query), graph=graph, uncovered=reading.unused)
        return self._answered(found)

    def _by_rules(self) -> Answer:
        if not (translations := self._parts.knowledge.translator.translate(self._plain, run=self._parts.run)):
            return self._left_out(None)
        best, known = translations[0], self._parts.knowledge
        lost = unsaid(best.uncovered, known.idle)
        self._understood = understanding(best, self._read())
        tell(AnswerStage.CANDIDATES, best.reading, number=len(translations))
        gone = (item for item in self._linked if item.kind == "value" and item.score >= _TOLD)
        if best.dropped or (best.graph.form == "ask" and (lost or any(item.label not in best.text for item in gone))):
            return self._left_out(best)
        self.trace.append(f"Interpreted as: {best.reading}")
        if best.uncovered:
            self.trace.append(f"not understood: {', '.join(best.uncovered[:8])}")
        query = Query(best.text, best.reading, tuple(Attempt(item.text) for item in translations[1:3]))
        unsure = best.confidence < _SURE_ENOUGH and (best.uncovered or not best.empty or best.graph.form == "ask")
        if unsure or (lost and (is_unbound(best.graph) or known.translator.unsaid(best.graph))):
            return self._not_understood(self._read(), best)
        if (asked := self._one_of_many(best)) is not None:
            return asked
        began = time.perf_counter()
        solutions, seconds = self._ran(best.text), time.perf_counter() - began
        if solutions is None or is_empty(solutions) or (solutions.boolean is False and self._is_open(best)):
            reading = self._read()
            if not best.uncovered and any(m.options[0].score < _RESEMBLES for m in reading.mentions):
                return self._not_understood(reading)
            return self._unanswerable(self._empty(best), query, best.uncovered, confidence=best.confidence)
        kind, left = kind_of(best.text), best.uncovered
        found = _Found(query, solutions, best.confidence, kind=kind, seconds=seconds, graph=best.graph, uncovered=left)
        return self._answered(found, ambiguous(best.graph, self._which, self._label, self._plain))

    def _is_open(self, best: Translation) -> bool:
        """Whether that something is not found says nothing: no "no" follows from it."""
        if best.graph.whole is not None:
            return False  # of two numbers one is the greater
        return guessed(best.graph) or is_unknown(best.graph, self._names, self._parts.run)

    def _told(self) -> Answer | None:
        """What the graph says of the one thing that the question asks to be told of; None if it asks something else."""
        subject = subject_of(self._plain, self._names)
        if subject is None:
            return None
        if subject.meant:
            text = meaning(subject.terms[0], self._names, self._language)
            found = ToldOfThing(text, (text,), "", Solutions()) if text else None
        else:
            found = told(subject.terms[0], self._names, self._language, self._parts.run)
        if found is None:
            return None
        tell(AnswerStage.QUERY, found.query)
        question = Question(self._original, self._language, QuestionKind.LIST, self._linked)
        support = self._support(found.query, found.solutions) if found.query else RowSupport()
        asks = self._which(subject.terms)
        return Answer(
            text=f"{asks.question} {found.text}" if asks else found.text,
            question=question,
            verdict=Verdict.UNCLEAR if asks else Verdict.ANSWERED,
            confidence=_UNSURE if asks else _SURE,
            using="sparql",
            query=Query(found.query, question.text) if found.query else None,
            solutions=found.solutions,
            values=found.values,
            evidence=support.passages,
            row_evidence=support.rows,
            clarification=asks,
            reason=NoAnswer.TWO_READINGS if asks else None,
        )

    def _one_of_many(self, best: Translation) -> Answer | None:
        """A question back where one thing is asked about as if there were no other of its kind: where the Bridge is."""
        graph, reading = best.graph, self._read()
        kind = next((i for i, node in enumerate(graph.nodes) if node.named is not None), -1)
        said = graph.best or graph.comparisons or graph.having or graph.searches or graph.whole or graph.order
        if graph.form != "list" or said or kind < 0 or len(graph.nodes) > 2 or any(n.terms for n in graph.nodes):
            return None
        alone = len(graph.nodes) == 1
        if (kind in graph.targets) is not alone or not is_one(reading, graph.nodes[kind].place, where=alone):
            return None
        class_ = graph.nodes[kind].named
        count = self._names.schema.count(class_) if class_ is not None else 0
        alike = QueryGraph(nodes=(replace(graph.nodes[kind], place=0),), targets=(0,))
        rows = self._ran(with_limit(self._query(alike), _NAMED)) if count > 1 else None
        found = [row[0] for row in rows.rows if isinstance(row[0], NamedNode)] if rows is not None else []
        things = list({self._full_label(thing): thing for thing in reversed(found)}.values())
        things = [*reversed(things), *(thing for thing in found if thing not in things)][:_SHOWN]
        told = self._which(things)
        if told is None or class_ is None:
            return None
        noun = self._names.schema.label(class_, self._language)
        text = phrases(self._language)["which_thing"].format(noun=noun, count=f"{count:,}", measure=measure(noun))
        nodes = list(graph.nodes)
        nodes[kind] = replace(nodes[kind], named=None, terms=tuple(things))
        of_them = replace(graph, nodes=tuple(nodes))
        if alone:
            places = locating(frozenset((class_,)), self._names.schema)[:1]
            of_them = QueryGraph((nodes[0], Node(0, frozenset())), tuple(Link(0, p, 1) for p in places), targets=(1,))
        return Answer(
            text=text,
            question=Question(self._original, self._language, QuestionKind.LIST, self._linked),
            verdict=Verdict.UNCLEAR,
            confidence=0.3,
            using="sparql",
            query=Query(self._query(of_them), best.reading) if of_them.links else None,
            clarification=replace(told, question=text),
            usage=self._usage,
            reason=NoAnswer.TWO_READINGS,
        )

    def _query(self, graph: QueryGraph) -> str:
        return QueryWriter(graph, wide=self._names.schema.has_subclasses).text()

    def _which(self, namesakes: Sequence[NamedNode]) -> Clarification | None:
        return which_of(namesakes, self._names, self._parts.dataset, self._language)

    # in words

    def _answered(self, found: _Found, clarification: Clarification | None = None) -> Answer:
        solutions = found.solutions
        limit = self._parts.settings.max_rows
        if len(solutions.rows) > limit:
            solutions = replace(solutions, rows=solutions.rows[:limit], truncated=True)
        tell(AnswerStage.ROWS, number=len(solutions.rows))
        tell(AnswerStage.SOURCES)
        support = self._support(found.query.text, solutions)
        first = self._first  # a form that gives the same may explain all words
        is_explained = first is not None and not first.left and first.gives(solutions)
        self._left = () if is_explained else unsaid(found.uncovered, self._parts.knowledge.idle)
        text = self._said(found, solutions, self._left)
        model = found.model
        if model is not None and self._parts.settings.phrased_by_model and self._parts.model is not None:
            text = self._phrased(self._parts.model, text, found.query.text, solutions)
        if found.unsure:
            text += phrases(self._language)["unsure"].format(doubt=found.unsure.rstrip(".。"))
        confidence = self._assessed(found, support.passages)
        verdict = Verdict.ANSWERED
        if clarification is not None:
            verdict, confidence = Verdict.UNCLEAR, min(confidence, 0.5)
            text = f"{clarification.question} {text}"
        return Answer(
            text=text,
            question=Question(self._original, self._language, found.kind, self._linked),
            verdict=verdict,
            confidence=confidence,
            using="sparql",
            query=found.query,
            solutions=solutions,
            values=values_of(solutions, self._label, self._language),
            evidence=support.passages,
            row_evidence=support.rows,
            clarification=clarification,
            model=model,
            usage=self._usage,
            reason=NoAnswer.TWO_READINGS if clarification is not None else None,
        )

    def _support(self, query: str, solutions: Solutions) -> RowSupport:
        parts = self._parts
        return supporting(query, parts.dataset, run=parts.run, find=parts.find, why=parts.why, solutions=solutions)

    def _assessed(self, found: _Found, evidence: tuple[Evidence, ...]) -> float:
        confidence = found.confidence
        if found.solutions.boolean is False or is_zero(found.solutions):
            confidence -= 0.15
        if evidence:
            confidence += 0.03
        return round(max(0.05, min(0.98, confidence)), 3)

    def _said(self, found: _Found, solutions: Solutions, left: Sequence[str]) -> str:
        """The rows as a sentence, with what tells more where it is quickly found, and namesakes told apart."""
        frame = frame_of(found.graph, self._names, self._language) if found.graph is not None else None
        more = told_with(found.graph) if found.graph is not None and found.seconds < _QUICK else None
        beside = None
        if more is not None and len(solutions.rows) <= _MOST_TOLD:
            try:
                beside = self._parts.run(with_limit(self._query(more), 4 * _MOST_TOLD))
            except QueryError:
                self.trace.append("what tells more of the answers took too long")
        apart = self._apart(beside or solutions)
        return said(
            solutions,
            lambda term: apart.get(term) or self._full_label(term),
            self._language,
            frame=frame,
            beside=beside,
            left=left,
        )

    def _apart(self, solutions: Solutions) -> dict[Term, str]:
        return told_apart(solutions.rows, self._names, self._parts.dataset, self._language)

    def _phrased(self, model: ChatModel, plain: str, query: str, solutions: Solutions) -> str:
        """The answer as the model words it, unless it says more than the rows do."""
        tell(AnswerStage.WORDING, model.name)
        rows = labelled(query, solutions, self._names, self._language, apart=self._apart(solutions))
        found = phrased(self._text, plain, rows, names=self._names, model=model, language=self._language)
        self._usage += found.usage
        if found.note:
            self.trace.append(found.note)
        return found.text

    # where there is no answer

    def _left_out(self, best: Translation | None) -> Answer:
        """What is said where a name or number of the question is in no reading: nothing is answered around it."""
        reading = self._read()
        unclear = self._partial(reading, best.explained if best is not None else frozenset())
        return unclear or self._not_understood(reading, best)

    def _partial(self, reading: QuestionReading, explained: frozenset[int]) -> Answer | None:
        """A question back where a code is only part of names of the graph."""
        code, found = partial_codes(reading, explained, self._names)
        if not found:
            return None
        options = tuple(dict.fromkeys(shown(name, self._names, self._language) for name in found))
        question = phrases(self._language)["which"].format(words=code)
        self.trace.append(f"part of names only: {code}")
        return Answer(
            text=question,
            question=Question(self._original, self._language, QuestionKind.LIST, self._linked),
            verdict=Verdict.UNCLEAR,
            confidence=0.3,
            using="sparql",
            clarification=Clarification(question, options),
            usage=self._usage,
            reason=NoAnswer.TWO_READINGS,
        )

    def _read(self) -> QuestionReading:
        return self._parts.knowledge.translator.read(plainly(self._plain))

    def _not_understood(self, reading: QuestionReading, best: Translation | None = None) -> Answer:
        """What is said of the one piece that nothing in the graph is called; all that is known is left unsaid."""
        words, confidence = phrases(self._language), best.confidence if best else 0.0
        explained, left = (best.explained, (*best.uncovered, *best.dropped)) if best else (None, ())
        missing = unknown_words(reading, explained, left)
        tokens, sure = reading.tokens, [m for m in reading.mentions if m.options[0].score > PART]
        if missing:
            reason = NoAnswer.UNKNOWN_WORD if sure else NoAnswer.OFF_TOPIC
            text = words["unknown" if sure else "foreign"].format(words=quoted(missing, self._language))
            return self._unanswerable(text + self._near(missing), None, missing, confidence=confidence, reason=reason)
        named = [reading.text[tokens[m.first].start : tokens[m.last - 1].end] for m in sure]
        if len(named) < 2:
            return self._unanswerable(words["nothing"], None, ())
        mark = words["quoted"].format(word=quoted(named, self._language))
        return self._unanswerable(words["unrelated"].format(words=mark), None, ())

    def _empty(self, best: Translation) -> str:
        """What the graph does not say: the condition that nothing fits, or the one value that was asked for."""
        graph, words = best.graph, phrases(self._language)
        if why := what_empties(graph, self._names, self._language, self._parts.run):
            return f"{words['nothing']}{words['blank']}{why}"
        if graph.form == "ask" and graph.comparisons:
            graph = replace(graph, form="list", targets=(graph.comparisons[0].node,), comparisons=())
        if graph.form != "list" or not frame_of(graph, self._names, self._language).grammar:
            return words["nothing"]
        named = Verbaliser(graph, self._names, self._language, plain=True, several=True)
        return words["nothing_of"].format(reading=named.reading())

    def _near(self, tokens: Sequence[str]) -> str:
        """Names that are spelt nearly as words are, none of them a word itself."""
        found = [(token, self._label(name.term)) for token in tokens[:4] for name in self._names.near(token, 2)]
        listed = [label for token, label in found if is_near(token, label)]
        words, comma = phrases(self._language), phrases(self._language)["and"]
        return words["nearest"].format(names=comma.join(list(dict.fromkeys(listed))[:4])) if listed else ""

    def _unanswerable(
        self,
        text: str,
        query: Query | None,
        uncovered: Sequence[str],
        *,
        confidence: float = 0.0,
        reason: NoAnswer = NoAnswer.NO_ROWS,
    ) -> Answer:
        passages: list[Evidence] = []
        if self._parts.retrieve is not None and self._text and not self._is_told:
            passages = self._parts.retrieve(self._text, self._parts.settings.passages)
        if uncovered:
            self.trace.append(f"no word of the graph for: {', '.join(uncovered[:8])}")
        return Answer(
            text=text,
            question=Question(
                self._original, self._language, QuestionKind.PASSAGE if passages else QuestionKind.LIST, self._linked
            ),
            verdict=Verdict.UNANSWERABLE,
            confidence=round(min(confidence, 0.3), 3),
            using="passages" if passages else "sparql",
            query=query,
            evidence=tuple(passages),
            usage=self._usage,
            reason=reason,
        )
