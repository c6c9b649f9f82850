"""The Ask page, ``/ask/<id>`` and ``/api/ask``: a question in, an answer with its steps, query, rows, passages out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from flask import Blueprint, Response, jsonify, redirect, request, url_for

from kgplatform.describing import Labels
from kgplatform.errors import ConfigError, KgPlatformError, ReadError
from kgplatform.questions import rendering
from kgplatform.text import normalise
from kgplatform.types import Answer, Evidence, Linked, QuestionKind, Verdict
from kgplatform.web import addresses, following, results, text2sparql
from kgplatform.web.ask_options import NAMES, beside, selects
from kgplatform.web.citing import Segment, cited, marks_of
from kgplatform.web.endpoint import problem
from kgplatform.web.explaining import explained
from kgplatform.web.feedback import Recent
from kgplatform.web.frame import language, page, tongues
from kgplatform.web.highlighting import compact
from kgplatform.web.keeping import KeptAnswer, KeptAnswers
from kgplatform.web.needs import Graph
from kgplatform.web.overview import Lately
from kgplatform.web.placing import with_places
from kgplatform.web.querying import built_here
from kgplatform.web.rights import Role, client
from kgplatform.web.shelf import samples
from kgplatform.web.starters import Kept
from kgplatform.web.tables import Cell, Table, for_reading, table

MAX_QUESTION_CHARACTERS = 1000
_NEAREST = 3
_CLASSES_SHOWN = 6
_MOST_LOCATED = 300


@dataclass(frozen=True, slots=True)
class Understood:
    """Words of the question, and the label and page of what they were taken for."""

    words: str
    label: str
    href: str
    iri: str

    @property
    def renamed(self) -> bool:
        """Whether the thing is called otherwise than in the question."""
        return normalise(self.words) != normalise(self.label)


@dataclass(frozen=True, slots=True)
class Shown:
    """An answer, ready for its page: the sentence cut up, the rows as cells with the numbers of their sources.

    ``said``: the sentence says all that the rows do.
    """

    answer: Answer
    sentence: list[Segment]
    table: Table
    row_marks: list[tuple[int, ...]]
    sources: tuple[Evidence, ...]
    nearest: tuple[Evidence, ...]
    understood: list[Understood]
    query: str
    said: bool
    valid_drafts: int
    drafts: int
    sourced_rows: int
    why_empty: str
    picture: dict[str, object] | None

    @property
    def mapped(self) -> bool:
        """Whether the picture is a map of things that the sentence names."""
        return self.picture is not None and len(self.picture["columns"]) > len(self.answer.solutions.variables)  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class Asking:
    """What the page of an answer is made with."""

    kg: Graph
    lately: Lately
    starters: Kept
    recent: Recent


def blueprint(kg: Graph, lately: Lately, recent: Recent) -> Blueprint:
    """The routes of the Ask page."""
    routes = Blueprint("asking", __name__)
    asking = Asking(kg, lately, Kept(kg), recent)

    @routes.get("/")
    def home() -> Any:
        if text2sparql.wanted():
            return text2sparql.reply(kg)
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

    @routes.route("/api/ask", methods=["GET", "POST"])
    def api_ask() -> Response:
        answer = _asked_for(kg, _asked())
        if isinstance(answer, Response):
            return answer
        labels = Labels(kg.dataset, kg.ontology, answer.question.language)
        response = jsonify(rendering.as_json(answer, lambda term: labels.reference(term).label))
        response.headers["Cache-Control"] = "no-cache"
        return response

    following.add_routes(routes, kg, lambda question: _answer_page(asking, question))
    return routes


def _ask(asking: Asking) -> Any:
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


def _waiting_page(kg: Graph, question: str) -> Response:
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


def _home(asking: Asking) -> Any:
    overview = asking.lately.overview()
    kg = asking.kg
    labels = Labels(kg.dataset, kg.ontology, tongues())
    counts = [(labels.reference(iri), number) for iri, number in list(overview.classes.items())[:_CLASSES_SHOWN]]
    summaries = kg.registry.summaries()
    may_write = client().role >= Role.WRITE
    return page(
        "home.html",
        kg.base,
        overview=overview,
        may_write=may_write,
        has_samples=overview.empty and may_write and samples(kg) is not None,
        counts=counts,
        documents=len(summaries),
        updated=max((item.updated for item in summaries), default=""),
        starters=asking.starters.starters(overview, language()),
        selects=selects(kg, {}),
    )


def _asked_for(kg: Graph, question: object) -> Answer | Response:
    """The answer to what was sent; a response that says what is wrong with it."""
    if not isinstance(question, str) or not question.strip():
        return problem(400, "Bad request", 'send {"question": "…"} as JSON, or ?question=…')
    if len(question) > MAX_QUESTION_CHARACTERS:
        return problem(400, "Bad request", f"a question has at most {MAX_QUESTION_CHARACTERS} characters")
    return _answered(kg, question.strip())


def _asked() -> object:
    if request.method == "GET" or not request.is_json:
        return request.values.get("question")
    record = request.get_json(silent=True)
    return record.get("question") if isinstance(record, dict) else None


def _answer_page(asking: Asking, question: str) -> Any:
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


def _page(
    asking: Asking,
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
        has_model=kg.model is not None,
        may_write=client().role >= Role.WRITE,
        starters=asking.starters.starters(asking.lately.overview(), language())[:3] if stuck else [],
        given={} if kept else _beside(),
        selects=selects(kg, {} if kept else _beside()),
    )


def _answered(kg: Graph, question: str, conversation: str = "") -> Answer | Response:
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


def _shown(kg: Graph, lately: Lately, answer: Answer) -> Shown:
    labels = Labels(kg.dataset, kg.ontology, answer.question.language)
    rows = for_reading(table(answer.solutions, labels, kg.base))
    counted = answer.question.kind in (QuestionKind.COUNT, QuestionKind.BOOLEAN)
    pages = {} if counted else dict.fromkeys(answer.values, "")
    pages |= {cell.text: cell.href for row in rows.rows for cell in row if cell.href}
    answered = answer.verdict is Verdict.ANSWERED
    nearest = () if answered else tuple(kg.search(answer.question.text, _NEAREST))
    sources = answer.evidence if answered else ()
    attempts = answer.query.attempts if answer.query else ()
    row_marks = [_row_marks(row, sources) for row in rows.rows]
    said = len(rows.columns) <= 1 and all(cell.text in answer.text for row in rows.rows for cell in row)
    query = compact(answer.query.text, kg.store.prefixes) if answer.query else ""
    return Shown(
        answer=answer,
        sentence=cited(answer.text, pages, sources),
        table=rows,
        row_marks=row_marks,
        sources=sources,
        nearest=nearest,
        understood=_understood(kg, answer.question.linked),
        query=query,
        said=said,
        valid_drafts=sum(not any(issue.fatal for issue in attempt.issues) for attempt in attempts),
        drafts=len(attempts),
        sourced_rows=sum(map(bool, row_marks)),
        why_empty=_why_empty(kg, answer),
        picture=_picture(kg, lately, answer, query) if answered and len(rows.rows) > 1 else None,
    )


def _why_empty(kg: Graph, answer: Answer) -> str:
    """Why the query of an answer found nothing; empty where it found something, or that cannot be told."""
    if answer.query is None or answer.solutions.rows or answer.solutions.boolean is not None:
        return ""
    try:
        return explained(kg, answer.query.text).words(language())
    except KgPlatformError:
        return ""


def _picture(kg: Graph, lately: Lately, answer: Answer, query: str) -> dict[str, object]:
    """The rows as the scripts draw them; with the places of the things where these are known and not asked for."""
    found = answer.solutions
    located = with_places(found, kg.store) if len(found.rows) <= _MOST_LOCATED else found
    record = results.Shown(kg, lately, tongues()).rows(located)
    return {**record, "query": query, "form": "SELECT"}


def _understood(kg: Graph, linked: tuple[Linked, ...]) -> list[Understood]:
    """The words of the question and what each was taken for, in the language of the page: the best reading of each."""
    labels = Labels(kg.dataset, kg.ontology, tongues())
    best: dict[str, Linked] = {}
    for item in linked:
        key = item.text.casefold()
        if key not in best or item.score > best[key].score:
            best[key] = item
    return [
        Understood(item.text, labels.of(item.iri).text, addresses.of_iri(item.iri, kg.base), item.iri.value)
        for item in best.values()
    ]


def _row_marks(row: tuple[Cell, ...], sources: tuple[Evidence, ...]) -> tuple[int, ...]:
    """The passages that hold every value of the row, else those that hold its first name."""
    found = [set(marks_of(cell.text, sources)) for cell in row if cell.text]
    common = set.intersection(*found) if found else set()
    return tuple(sorted(common or (found[0] if found else set())))[:3]
