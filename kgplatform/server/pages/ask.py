"""The Ask page and ``/ask/<id>``: a question in, an answer with its steps, query, rows, passages out.

The options beside a question are those of ``kgplatform ask``. ``GET /?dataset=…&question=…`` is the interface of the
TEXT2SPARQL challenge, so that the challenge's own client scores a running server: the query that it gets is the one
that the Ask page would run.
"""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice, zip_longest
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from uuid import uuid4

from flask import Blueprint, Response, jsonify, redirect, request, url_for
from pyoxigraph import Literal, NamedNode, Quad, Triple

from kgplatform.entities import NAMING, Labels
from kgplatform.errors import ConfigError, KgPlatformError, NotFoundError, ReadError
from kgplatform.lexicon import pattern
from kgplatform.lexicon.amounts import measure, plural
from kgplatform.ontology.schema import OntologyProperty, label_of
from kgplatform.questions import answer_text
from kgplatform.questions.check import statements_of_rows
from kgplatform.questions.dialogue.replies import Conversation, Turn
from kgplatform.questions.parser.query_graph import acts, plural_verb
from kgplatform.server import addresses, result_tables, source_cards
from kgplatform.server.access import Role, client
from kgplatform.server.frame import Lately, Overview, Remembered, language, page, tongues
from kgplatform.server.http import problem
from kgplatform.server.pages import answers as following
from kgplatform.server.pages.answers import (
    MOST_MARKS,
    KeptAnswer,
    KeptAnswers,
    Recent,
    Segment,
    cited,
    marks_of,
    numbered,
)
from kgplatform.server.pages.documents import filling
from kgplatform.server.pages.entity import row_picture
from kgplatform.server.pages.query import built_here, explained
from kgplatform.server.places import with_places
from kgplatform.server.result_tables import CellTable, for_reading, table
from kgplatform.server.words import PREPOSITIONS, UNCOUNTED, phrase
from kgplatform.settings import LEVELS, PROMPT_STYLES, SCHEMA_VIEWS, SOURCES, TRANSLATORS
from kgplatform.sparql.rewrite import with_prefixed_names
from kgplatform.store.oxigraph import DEFAULT_GRAPH
from kgplatform.text import has_han, normalise, singular, with_article
from kgplatform.types import Answer, Linked, QuestionKind, Solutions, Term, Verdict
from kgplatform.vocab import ALT_LABEL, GEO, TYPE, XSD
from kgplatform.workspace.question_settings import AskOptions

if TYPE_CHECKING:
    from kgplatform.graph import KnowledgeGraph


# Over HTTP a question has fewer drafts at most, since each is a request to the model for which the server pays.
MOST_DRAFTS: Final = 5
_PHRASED: Final = ("model", "builtin")
VALUES: Final[Mapping[str, tuple[str, ...]]] = {
    "using": (*TRANSLATORS, *SOURCES),
    "style": PROMPT_STYLES,
    "view": SCHEMA_VIEWS,
    "phrase": _PHRASED,
    "least_confidence": LEVELS,
}
"""The options that take one of a few words, with these."""
NAMES: Final = (*VALUES, "drafts")
"""All options."""


@dataclass(frozen=True, slots=True)
class Select:
    """An option as the page offers it: its values, and the one chosen; empty: as the settings say."""

    name: str
    values: tuple[str, ...]
    chosen: str


def beside(given: Callable[[str], str]) -> AskOptions:
    """The options of a request; ``given`` returns the text of one, empty where it is not there.

    Raises:
        ConfigError: one has a value that there is not, or there are too many drafts.
    """
    written = {name: text for name in NAMES if (text := given(name).strip())}
    for name, known in VALUES.items():
        if written.get(name, known[0]) not in known:
            raise ConfigError(f"{name} {written[name]!r} is none; there are {', '.join(known)}", setting=name)
    number = written.get("drafts", "0")
    if number not in map(str, range(MOST_DRAFTS + 1)):
        raise ConfigError(f"drafts must be a number up to {MOST_DRAFTS}, not {number[:20]!r}", setting="drafts")
    phrase = {"model": True, "builtin": False}.get(written.get("phrase", ""))
    chosen: dict[str, Any] = {name: text for name, text in written.items() if name not in ("drafts", "phrase")}
    return AskOptions(**chosen, drafts=int(number), phrase=phrase)


def selects(kg: KnowledgeGraph, written: Mapping[str, str]) -> tuple[Select, ...]:
    """The options that the page offers, those that the workspace can do: without a model none that needs one."""
    set_ = kg.settings.web
    model, web = kg.model is not None, bool(set_.folder or set_.searxng or set_.addresses)
    needs = {"model": model, "drafts": model, "web": web, "auto": False}
    using = tuple(name for name in VALUES["using"] if needs.get(name, True))
    offered = {"using": using, "least_confidence": LEVELS}
    if model:
        offered |= {"style": PROMPT_STYLES, "drafts": tuple(map(str, range(1, MOST_DRAFTS + 1)))}
    return tuple(Select(name, values, written.get(name, "")) for name, values in offered.items())


_LOOKED_AT = 500
_TIMES = frozenset(f"{XSD}{name}" for name in ("date", "dateTime", "gYear"))
_TELLING = _TIMES | {f"{XSD}{name}" for name in ("integer", "decimal", "double")}


@dataclass(frozen=True, slots=True)
class Starter:
    """A question and what kind it is: ``lookup``, ``count``, ``list``, or ``other`` for one in the other language."""

    kind: str
    text: str


def starters(kg: KnowledgeGraph, overview: Overview, language: str) -> list[Starter]:
    """Up to four questions, the last one in the other language."""
    other = "en" if language == "zh" else "zh"
    own, foreign = _Questions(kg, overview, language), _Questions(kg, overview, other)
    found = [
        *islice((Starter("lookup", text) for text in own.lookups()), 1),
        *islice((Starter("list", text) for text in own.lists()), 1),
        *islice((Starter("count", text) for text in own.counts()), 1),
    ]
    said = [*foreign.counts()] or [*foreign.lookups()]
    return [*found, *(Starter("other", text) for text in said[-1:])]


class _Questions:
    """The questions in one language."""

    def __init__(self, kg: KnowledgeGraph, overview: Overview, language: str) -> None:
        self._kg = kg
        self._overview = overview
        self._zh = language == "zh"
        self._language = language
        self._labels = Labels(kg.dataset, kg.ontology, language)

    def counts(self) -> Iterator[str]:
        for iri in list(self._overview.classes)[1:4] or list(self._overview.classes)[:1]:
            noun = self._labels.of(iri).text
            if has_han(noun) == self._zh:
                yield self._put("count", noun)

    def lookups(self) -> Iterator[str]:
        """One fact of one thing: the property with the most telling values first."""
        used = self._used(wants_things=False)
        for term in sorted(used, key=lambda item: not any(kind.value in _TELLING for kind in item.ranges)):
            values: dict[object, int] = Counter()
            for quad in self._stated(term.iri):
                values[quad.subject] += 1
            for subject in sorted((s for s, n in values.items() if n == 1 and isinstance(s, NamedNode)), key=str):
                name = self._named(subject)
                if 1 < len(name) < 30:
                    yield from filter(None, (self._fact(term, name),))
                    break

    def _put(self, form: str, noun: str = "", **words: str) -> str:
        several = noun if self._zh else plural(noun)
        return phrase(f"starter_{form}", self._language, noun=several, measure=measure(noun), **words)

    def _fact(self, term: OntologyProperty, name: str) -> str:
        """The question for a fact, by what the words for it are; empty where they fit into none."""
        counted = any(kind.value in _TELLING - _TIMES for kind in term.ranges)
        what, form = label_of(term.words, self._language, ""), "number" if counted else "fact"
        if term.unit and plural(term.unit) == what:
            form = "amount"
        elif pattern("usage.no_noun").search(what):
            done = self._zh or pattern("answer_text.participle").match(what) is not None
            done = done and any(kind.value in _TIMES for kind in term.ranges)
            what, form = what if self._zh else what.rpartition(" ")[0], "when" if done else ""
        elif not self._zh and singular(what) != what:
            form = "facts"
        return self._put(form, what=what, name=name) if form else ""

    def lists(self) -> Iterator[str]:
        """The things of a class that one thing is most referred to by."""
        for term in self._used(wants_things=True):
            subjects: dict[NamedNode, list[object]] = defaultdict(list)
            for quad in self._stated(term.iri):
                if isinstance(quad.object, NamedNode):
                    subjects[quad.object].append(quad.subject)
            for object_ in sorted(subjects, key=lambda iri: (abs(len(subjects[iri]) - 5), iri.value)):
                name, class_ = self._named(object_), self._class_of(subjects[object_])
                if name and class_ and len(subjects[object_]) > 1:
                    yield self._listing(class_, term, name)
                    break

    def about(self, thing: NamedNode, asked: str) -> Iterator[_Suggestion]:
        """Questions for what is stated of a thing, but not with the properties of the query ``asked``."""
        name = self._labels.of(thing).text  # in whatever language there is one
        listed = self._kg.store.quads(thing, None, None, DEFAULT_GRAPH) if name else ()
        values = {one.predicate: one for one in islice(listed, _LOOKED_AT) if f"<{one.predicate.value}>" not in asked}
        telling = sorted(values.values(), key=lambda quad: not self._is_telling(quad.object))
        yield from self._facts(name, telling)
        yield from self._referring(name, thing, asked)

    @staticmethod
    def _is_telling(value: Term) -> bool:
        return not isinstance(value, NamedNode) and getattr(value, "datatype", TYPE).value in _TELLING

    def _facts(self, name: str, quads: Sequence[Quad]) -> Iterator[_Suggestion]:
        for quad in quads:
            term = self._askable(quad.predicate)
            if term is None or not self._kg.dataset.is_stated(quad.triple):
                continue
            is_fact = not term.is_object or _form(label_of(term.words, "en", "")) == "noun"
            if is_fact and (text := self._fact(term, name)):
                yield _Suggestion(text, quad.object, quad.predicate)

    def _referring(self, name: str, thing: NamedNode, asked: str) -> Iterator[_Suggestion]:
        """Which things of a class have a relation to the thing."""
        listed = self._kg.store.quads(None, None, thing, DEFAULT_GRAPH) if name else ()
        subjects: dict[NamedNode, list[object]] = defaultdict(list)
        for quad in islice(listed, _LOOKED_AT):
            if f"<{quad.predicate.value}>" not in asked and self._kg.dataset.is_stated(quad.triple):
                subjects[quad.predicate].append(quad.subject)
        for predicate, found in subjects.items():
            term, class_, first = self._askable(predicate), self._class_of(found), found[0]
            if term is not None and class_ and isinstance(first, NamedNode):
                yield _Suggestion(self._listing(class_, term, name), first, predicate)

    def _askable(self, predicate: NamedNode) -> OntologyProperty | None:
        """The property, if the ontology has words for it in the language and it is not for bookkeeping."""
        term = self._kg.ontology.properties.get(predicate)
        if term is None or term.internal or predicate.value in _DULL:
            return None
        words = label_of(term.words, self._language, "")
        return term if words and has_han(words) == self._zh else None

    def _listing(self, class_: str, term: OntologyProperty, name: str) -> str:
        """The question for the things of a class with that value; the form goes by what the English label is."""
        relation, form = label_of(term.words, self._language, ""), _form(label_of(term.words, "en", ""))
        if form == "verb":
            relation, name = plural_verb(relation), _with_article(name)
        return self._put(f"list_{form}", class_, relation=relation.removeprefix("has "), name=name)

    def _stated(self, predicate: NamedNode) -> Iterator[Quad]:
        """Some of the statements with the property; conclusions would make dull questions."""
        quads = islice(self._kg.store.quads(None, predicate, None, DEFAULT_GRAPH), _LOOKED_AT)
        return (quad for quad in quads if self._kg.dataset.is_stated(quad.triple))

    def _used(self, *, wants_things: bool) -> Iterator[OntologyProperty]:
        for iri in self._overview.properties:
            term = self._kg.ontology.properties.get(iri)
            if term is not None and term.is_object == wants_things and not term.internal:
                words = label_of(term.words, self._language, "")
                if words and has_han(words) == self._zh and (term.is_object or term.domains):
                    yield term

    def _named(self, iri: NamedNode) -> str:
        """The name in the language, if nothing else is called so: a question with it would be asked back."""
        word, store = self._labels.of(iri), self._kg.store
        if not word.language or has_han(word.text) != self._zh:
            return ""
        said = Literal(word.text, language=word.language)
        called = {quad.subject for way in (*NAMING, ALT_LABEL) for quad in store.quads(None, way, said)}
        return word.text if called <= {iri} else ""

    def _class_of(self, subjects: list[object]) -> str:
        types: Counter[Term] = Counter()
        for subject in subjects:
            if isinstance(subject, NamedNode):
                known = (t for t in self._kg.store.objects(subject, TYPE) if isinstance(t, NamedNode))
                types.update(t for t in known if self._kg.dataset.is_stated(Triple(subject, TYPE, t)))
        usual = [t for t, _ in types.most_common() if isinstance(t, NamedNode) and t in self._overview.classes]
        return self._labels.of(usual[0]).text if usual else ""


_SUGGESTED = 3
_TRIED = 12
_SUGGESTING_SECONDS = 4.0
_SUGGESTED_FROM = 3
"""Suggestions come from so many things of the rows at most, and of the question."""
_DULL = frozenset((f"{GEO}latitude", f"{GEO}longitude"))
"""What nobody asks about in words: a map shows it."""


class _Suggestion(NamedTuple):
    """A question, a term of its answer, and the property that it asks about."""

    text: str
    value: Term
    property: NamedNode


def suggestions(kg: KnowledgeGraph, overview: Overview, answer: Answer) -> Iterator[str]:
    """Up to three questions on the things of an answer, in its language, which the built-in methods answer rightly.

    Each asks for what a statement says, and has been run: the answer holds the value of the statement.
    """
    end = time.monotonic() + _SUGGESTING_SECONDS
    asked, used = answer.query.text if answer.query else "", set[NamedNode]()
    own = _Questions(kg, overview, answer.question.language)
    in_turn = chain.from_iterable(zip_longest(*(own.about(thing, asked) for thing in _things_of(kg, answer))))
    for item in islice((item for item in in_turn if item and item.property not in used), _TRIED):
        if len(used) == _SUGGESTED or time.monotonic() > end:
            return
        if normalise(item.text) != normalise(answer.question.text) and _answers(kg, item):
            used.add(item.property)
            yield item.text


def _things_of(kg: KnowledgeGraph, answer: Answer) -> Iterator[NamedNode]:
    """The things of the rows, then those that the question names; no classes and no properties."""
    rows = (term for row in answer.solutions.rows[:_LOOKED_AT] for term in row if isinstance(term, NamedNode))
    named = (item.iri for item in answer.question.linked)
    for group in (rows, named):
        things = (term for term in dict.fromkeys(group) if kg.ontology.properties.get(term) is None)
        yield from islice((term for term in things if term not in kg.ontology.classes), _SUGGESTED_FROM)


def _answers(kg: KnowledgeGraph, item: _Suggestion) -> bool:
    """Whether the built-in methods answer the question, with the term that it is about among the rows."""
    try:
        answer = kg.ask(item.text, options=AskOptions(using="builtin"))
    except KgPlatformError:
        return False
    return answer.verdict is Verdict.ANSWERED and any(item.value in row for row in answer.solutions.rows)


def _form(relation: str) -> str:
    """Whether the words for a relation are a verb (offers), a state (located in, near) or a noun (airline)."""
    if acts(relation):
        return "verb"
    return "state" if relation.rpartition(" ")[2] in PREPOSITIONS and not relation.startswith("has ") else "noun"


def _with_article(name: str) -> str:
    """A common noun with its article (an in-house bar); names of their own, several things and stuff as they are."""
    if not name[:1].islower() or name.endswith(UNCOUNTED):
        return name
    return with_article(name)


MAX_QUESTION_CHARACTERS = 1000


def wanted() -> bool:
    """Whether the request speaks the challenge's interface: it names a data set."""
    return "dataset" in request.args


def reply(kg: KnowledgeGraph) -> Response:
    """``{"dataset", "question", "query"}``; problem details where no query can be given.

    A question that the graph cannot answer gets status 422 with the reason: the client counts it as unanswered.
    """
    dataset = request.args["dataset"].strip()
    question = request.args.get("question", "").strip()
    served = (*kg.settings.server.datasets, kg.base)
    if kg.settings.server.datasets and dataset not in served:
        return problem(404, "Unknown data set", f"this server answers for {', '.join(served)}")
    if not question:
        return problem(400, "Bad request", "send ?dataset=…&question=…")
    if len(question) > MAX_QUESTION_CHARACTERS:
        return problem(400, "Bad request", f"a question has at most {MAX_QUESTION_CHARACTERS} characters")
    answer = kg.ask(question)
    if answer.query is None:
        return problem(422, "No query", answer.text)
    return jsonify({"dataset": dataset, "question": question, "query": answer.query.text})


_NEAREST = 3
_CLASSES_SHOWN = 6
_MOST_LOCATED = 300


@dataclass(frozen=True, slots=True)
class AskPages:
    """What the page of an answer is made with."""

    kg: KnowledgeGraph
    lately: Lately
    kept: Remembered
    recent: Recent

    def starters(self) -> list[Starter]:
        """The starters for the language of the page."""
        own = language()
        return self.kept.get(("starters", own), lambda: starters(self.kg, self.lately.overview(), own))


def blueprint(kg: KnowledgeGraph, lately: Lately, recent: Recent) -> Blueprint:
    """The routes of the Ask page."""
    routes = Blueprint("asking", __name__)
    asking = AskPages(kg, lately, Remembered(kg), recent)

    @routes.get("/")
    def home() -> Any:
        if wanted():
            return reply(kg)
        question = request.args.get("question", "").strip()
        if question:
            return redirect(addresses.of_question(question, given=_beside()), 303)
        return _home(asking)

    @routes.get("/ask")
    def ask() -> Any:
        return _ask(asking)

    @routes.get("/ask/<name>")
    def kept_answer(name: str) -> Any:
        found = KeptAnswers(kg.folder).find(name)
        said = request.args.get("said", "")
        return _page(asking, found.answer, kept=found, said=said)

    @routes.get("/ask/<name>/path")
    def path(name: str) -> Any:
        answer = following.find(kg, recent, name).answer
        row = int(given) if (given := request.args.get("row", "1")).isdecimal() and len(given) < 7 else 0
        if answer.query is None or not 0 < row <= len(answer.solutions.rows):
            raise NotFoundError(f"the answer has no row {row}", name=name)
        terms = answer.solutions.rows[row - 1]
        picture = row_picture(kg, lately, next(islice(_paths(kg, answer), row - 1, None), ()), terms)
        cells = table(Solutions(answer.solutions.variables, (terms,)), _labels(kg), kg.base)
        return page("path.html", kg.base, question=answer.question.text, cells=cells, picture=picture)

    @routes.get("/ask/<name>/next")
    def suggested(name: str) -> Any:
        answer = following.find(kg, recent, name).answer
        options = {key: text for key in ("conversation", "after") if (text := _given(key)[:MAX_QUESTION_CHARACTERS])}
        texts = [*suggestions(kg, lately.overview(), answer)]
        return page("next.html", kg.base, question=answer.question.text, suggestions=texts, given=options)

    following.add_routes(routes, kg, lambda question: _answer_page(asking, question))
    return routes


def _ask(asking: AskPages) -> Any:
    question = request.args.get("question", "").strip()
    if not question:
        return redirect(url_for("asking.home"), 303)
    if len(question) > MAX_QUESTION_CHARACTERS:
        return page("too_long.html", asking.kg.base, status=400, question=question, limit=MAX_QUESTION_CHARACTERS)
    if any(request.args.get(name) == "" for name in NAMES):  # what a form sends of options that were left alone
        turn = {name: text for name in ("after", "now") if (text := _given(name).strip())}
        return redirect(addresses.of_question(question, _given("conversation").strip(), {**turn, **_beside()}), 303)
    if built_here() and "plain" not in request.args:
        return _waiting_page(asking.kg, question)
    return _answer_page(asking, question)


def _waiting_page(kg: KnowledgeGraph, question: str) -> Response:
    """The page that a browser with scripts follows the steps on, until the answer takes its place."""
    sent = request.query_string.decode("ascii", "replace")
    return page(
        "asking.html",
        kg.base,
        question=question,
        events=f"/api/ask/events?{sent}",
        plain=f"/ask?{sent}&plain=1",
        selects=selects(kg, _beside()),
    )


def _home(asking: AskPages) -> Any:
    overview = asking.lately.overview()
    kg = asking.kg
    labels = _labels(kg)
    numbers = {iri: asking.lately.number_of(iri) for iri in overview.classes}
    telling = [iri for iri, direct in overview.classes.items() if 2 * direct > numbers[iri]] or list(numbers)
    counts = [(labels.reference(iri), numbers[iri]) for iri in telling[:_CLASSES_SHOWN]]
    summaries = kg.registry.summaries()
    return page(
        "home.html",
        kg.base,
        overview=overview,
        **filling(kg),
        counts=counts,
        documents=len(summaries),
        updated=max((item.updated for item in summaries), default=""),
        starters=asking.starters(),
        selects=selects(kg, {}),
    )


def _answer_page(asking: AskPages, question: str) -> Any:
    """The page of an answer; one that asks back is kept as a turn, for the reply to it.

    A question that follows another (``after``) begins a conversation with that one.
    """
    conversation, after = _given("conversation").strip(), _given("after").strip()[:MAX_QUESTION_CHARACTERS]
    if after and not conversation:
        conversation = uuid4().hex[:16]
        _answered(asking.kg, after, conversation)
    answer = _answered(asking.kg, question, conversation)
    if isinstance(answer, Answer) and answer.clarification is not None and not conversation:
        conversation = uuid4().hex[:16]
        answer = _answered(asking.kg, question, conversation)
    if isinstance(answer, Response):
        return answer
    return _page(asking, answer, question=question, conversation=conversation)


def _labels(kg: KnowledgeGraph) -> Labels:
    return Labels(kg.dataset, kg.ontology, tongues())


_PATHS_LOOKED = 100
"""Of so many rows it is looked up whether they have a path before one is offered."""


def _paths(kg: KnowledgeGraph, answer: Answer) -> Iterator[tuple[Triple, ...]]:
    """The statements behind each row of an answer that hang together with what is in the row."""
    query = answer.query.text if answer.query else ""
    for bound, triples in statements_of_rows(query, kg.dataset, run=kg.query, solutions=answer.solutions):
        reached, waiting, kept = set(bound), list(triples), []
        while joined := [one for one in waiting if one.subject in reached or one.object in reached]:
            kept += joined
            reached |= {end for one in joined for end in (one.subject, one.object)}
            waiting = [one for one in waiting if one not in joined]
        yield tuple(kept)


def _page(
    asking: AskPages,
    answer: Answer,
    *,
    question: str = "",
    conversation: str = "",
    kept: KeptAnswer | None = None,
    said: str = "",
) -> Any:
    kg = asking.kg
    shown = _shown(kg, asking.lately, answer)
    stuck = answer.verdict is Verdict.UNANSWERABLE
    return page(
        "answer.html",
        kg.base,
        question=question or answer.question.text,
        shown=shown,
        conversation=conversation,
        kept=kept,
        said=said if said in ("right", "wrong") else "",
        id=kept.id if kept else asking.recent.hold(answer),
        turns=_turns(kg, conversation),
        has_model=kg.model is not None,
        may_write=client().role >= Role.WRITE,
        starters=asking.starters()[:3] if stuck else [],
        given={} if kept else _beside(),
        selects=selects(kg, {} if kept else _beside()),
    )


def _turns(kg: KnowledgeGraph, conversation: str) -> tuple[Turn, ...]:
    """The turns of a conversation before the one that is shown, oldest first."""
    return Conversation(kg.folder, conversation).turns()[:-1] if conversation else ()


def _answered(kg: KnowledgeGraph, question: str, conversation: str = "") -> Answer | Response:
    """The answer, by itself or in a conversation, as of a moment, with options; a response where one is wrong."""
    name, now = conversation or _given("conversation").strip(), _given("now").strip()
    try:
        return kg.ask(question, conversation=name or None, now=now, options=beside(_given))
    except (ConfigError, ReadError) as error:
        return problem(400, "Bad request", str(error))


def _given(name: str) -> str:
    """A text beside the question, from the query, the form or the JSON; empty where there is none."""
    if request.method == "GET" or not request.is_json:
        return request.values.get(name, "")
    record = request.get_json(silent=True)
    value = record.get(name) if isinstance(record, dict) else None
    return str(value) if isinstance(value, str | int) and not isinstance(value, bool) else ""


def _beside() -> dict[str, str]:
    """The options given with the question, as they were written."""
    return {name: text for name in NAMES if (text := _given(name).strip())}


def _shown(kg: KnowledgeGraph, lately: Lately, answer: Answer) -> dict[str, object]:
    """An answer, ready for its page: the sentence cut up, the rows as cells with the numbers of their sources.

    ``said``: the sentence says all that the rows do; ``mapped``: the picture is a map of things that it names.
    """
    labels = Labels(kg.dataset, kg.ontology, answer.question.language)
    rows = for_reading(table(answer.solutions, labels, kg.base))
    counted = answer.question.kind in (QuestionKind.COUNT, QuestionKind.BOOLEAN)
    pages = {} if counted else dict.fromkeys(answer.values, "")
    pages |= {form: cell.href for row in rows.rows for cell in row if not counted or cell.href for form in cell.forms}
    answered = answer.verdict is Verdict.ANSWERED
    quoted = answer_text.cites(answer) and not answered
    nearest = () if answered or quoted else answer.evidence or tuple(kg.search(answer.question.text, _NEAREST))
    sources = answer.evidence if answered or quoted else ()
    attempts = answer.query.attempts if answer.query else ()
    row_marks = [tuple(place + 1 for place in places) for places in answer.row_evidence] if sources else []
    said = len(rows.columns) <= 1 and all(cell.text in answer.text for row in rows.rows for cell in row)
    of_name = _marks_by_name(rows, row_marks)
    sentence = numbered(answer.text, len(sources)) if answer.using != "sparql" else []
    sentence = sentence or cited(answer.text, pages, lambda name: of_name.get(name) or marks_of(name, sources))
    if row_marks and not any(segment.marks for segment in sentence):
        sentence.append(Segment("", "", row_marks[0][:MOST_MARKS]))
    query = with_prefixed_names(answer.query.text, kg.store.prefixes) if answer.query else ""
    picture = _picture(kg, lately, answer, query) if answered and len(rows.rows) > 1 else None
    paths = [bool(one) for one in islice(_paths(kg, answer), _PATHS_LOOKED)] if answered and rows.rows else []
    return {
        **{"answer": answer, "sentence": sentence, "said": said, "query": query},
        "supported": source_cards.of_answer(answer, labels) if sources else {},
        **{"table": rows, "row_marks": [*row_marks, *([()] * len(rows.rows))], "looked": len(row_marks)},
        "sourced_rows": sum(map(bool, row_marks)),
        **{
            "sources": sources,
            "quoted": quoted,
            "nearest": nearest[:_NEAREST],
            "understood": _understood(kg, answer.question.linked),
        },
        "valid_drafts": sum(not any(issue.fatal for issue in attempt.issues) for attempt in attempts),
        "drafts": len(attempts),
        "why_empty": _why_empty(kg, answer),
        "picture": picture,
        "paths": [*paths, *([True] * (len(rows.rows) - len(paths)))] if any(paths) else [],
        "mapped": picture is not None and len(picture["columns"]) > len(answer.solutions.variables),
    }


def _why_empty(kg: KnowledgeGraph, answer: Answer) -> str:
    """Why the query of an answer found nothing; empty where it found something, or that cannot be told."""
    if answer.query is None or answer.solutions.rows or answer.solutions.boolean is not None:
        return ""
    try:
        words = explained(kg, answer.query.text).words(language())
        return result_tables.shortened(words, kg.store.prefixes.items())
    except KgPlatformError:
        return ""


def _picture(kg: KnowledgeGraph, lately: Lately, answer: Answer, query: str) -> dict[str, Any]:
    """The rows as the scripts draw them; with the places of the things where these are known and not asked for."""
    found = answer.solutions
    located = with_places(found, kg.store) if len(found.rows) <= _MOST_LOCATED else found
    record = result_tables.ResultTerms(kg, lately, tongues()).rows(located)
    return {**record, "query": query, "form": "SELECT"}


def _understood(kg: KnowledgeGraph, linked: tuple[Linked, ...]) -> list[dict[str, object]]:
    """The words of the question with label and page of what each was best taken for, in the language of the page."""
    labels = _labels(kg)
    best: dict[str, Linked] = {}
    for item in linked:
        key = item.text.casefold()
        if key not in best or item.score > best[key].score:
            best[key] = item
    found = ((item.text, labels.of(item.iri).text, item.iri) for item in best.values())
    return [
        {
            **{"words": words, "label": label, "renamed": normalise(words) != normalise(label)},
            **{"href": addresses.of_iri(iri, kg.base), "iri": iri.value},
        }
        for words, label, iri in found
    ]


def _marks_by_name(rows: CellTable, marks: Sequence[tuple[int, ...]]) -> dict[str, tuple[int, ...]]:
    """The first sources of the rows in which each text stands."""
    found: dict[str, dict[int, None]] = defaultdict(dict)
    for row, numbers in zip(rows.rows, marks, strict=False):
        for form in {form for cell in row for form in cell.forms}:
            found[form] |= dict.fromkeys(numbers)
    return {form: tuple(numbers)[:MOST_MARKS] for form, numbers in found.items()}
