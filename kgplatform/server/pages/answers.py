"""Answers as pages show and keep them: cited sentences, kept answers, what people say of them, steps as they come.

An answer that is kept lies in the workspace as ``answers/<id>.json`` and comes back at ``/ask/<id>`` as it was; the id
comes from the answer, so that keeping one twice keeps it once. One that people say is right joins the solved questions,
from which a model is shown the most similar ones; one that is wrong goes to ``feedback.jsonl``, with the reason.

``/api/ask/events`` sends an answer step by step, then its page. The question is answered in a thread of its own, which
ends at its next step once nobody listens any more, or the page asks for that: ``DELETE /api/ask/events/<name>``, with
the name that the page chose, as it does for queries.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import queue
import re
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flask import Blueprint, Response, copy_current_request_context, redirect, request
from pyoxigraph import BlankNode, Literal, NamedNode

from kgplatform.errors import KgPlatformError, NotFoundError, StoreError
from kgplatform.questions.answer import AnswerStage, AnswerStep, FollowedQuestion, QuestionGivenUpError
from kgplatform.server.access import Role, client, known_elsewhere, require
from kgplatform.server.http import event_stream
from kgplatform.sparql.protocol import ProtocolError
from kgplatform.sparql.rewrite import with_prefixed_names
from kgplatform.text import normalise
from kgplatform.types import (
    Answer,
    Attempt,
    Clarification,
    Evidence,
    Issue,
    IssueKind,
    Linked,
    Query,
    Question,
    QuestionKind,
    Solutions,
    Term,
    Usage,
    Verdict,
)
from kgplatform.workspace import question_settings

if TYPE_CHECKING:
    from kgplatform.graph import KnowledgeGraph


@dataclass(frozen=True, slots=True)
class Segment:
    """A piece of a sentence, the page it links to (empty: none), and the numbers of its sources (from 1)."""

    text: str
    href: str = ""
    marks: tuple[int, ...] = ()


MOST_MARKS = 3
_DIGITS = re.compile(r"[\d.,]+")
_NUMBERS, _NUMBER = re.compile(r"\s?(?:\[\d{1,3}\])+"), re.compile(r"\d+")
_EMPHASIS = re.compile(r"\*\*(?=\S)([^*\n]+)(?<=\S)\*\*")


def marks_of(name: str, evidence: Sequence[Evidence]) -> tuple[int, ...]:
    """The numbers of the passages that hold the name."""
    wanted = normalise(name)
    if not wanted:
        return ()
    digits = _DIGITS.fullmatch(wanted)
    token = re.compile(rf"(?<![\d.,]){re.escape(wanted)}(?![\d]|[.,]\d)") if digits else None
    return tuple(
        number
        for number, item in enumerate(evidence, start=1)
        if (token.search(item.quote) if token else wanted in normalise(item.quote))
    )[:MOST_MARKS]


def cited(text: str, pages: Mapping[str, str], marks: Callable[[str], tuple[int, ...]]) -> list[Segment]:
    """The sentence cut at the first place of each name in ``pages`` (name → address, may be empty) with its sources."""
    places: list[tuple[int, int, str]] = []
    for name in sorted((name for name in pages if name.strip()), key=lambda name: (-len(name), name)):
        start = _first_free(text, name, places)
        if start >= 0:
            places.append((start, start + len(name), name))
    segments: list[Segment] = []
    end = 0
    for start, stop, name in sorted(places):
        if start > end:
            segments.append(Segment(text[end:start]))
        segments.append(Segment(text[start:stop], pages[name], marks(name)))
        end = stop
    if end < len(text):
        segments.append(Segment(text[end:]))
    return segments


def numbered(text: str, sources: int) -> list[Segment]:
    """A text whose sentences end in the numbers of their sources, with these as marks; empty if it has none.

    The stars that emphasise a word in Markdown are left out.
    """
    segments, end = list[Segment](), 0
    for found in _NUMBERS.finditer(text):
        marks = tuple(number for part in _NUMBER.findall(found[0]) if 1 <= (number := int(part)) <= sources)
        if marks:
            segments.append(Segment(_EMPHASIS.sub(r"\1", text[end : found.start()]), "", marks))
            end = found.end()
    return [*segments, Segment(text[end:])] if segments and text[end:] else segments


def _first_free(text: str, name: str, taken: Sequence[tuple[int, int, str]]) -> int:
    """Where the name first stands as a word of its own, outside what is taken; -1 if nowhere."""
    start = text.find(name)
    while start >= 0:
        stop = start + len(name)
        overlaps = any(start < other_stop and other_start < stop for other_start, other_stop, _ in taken)
        if not overlaps and not (_joins(text[start - 1 : start], name[0]) or _joins(name[-1], text[stop : stop + 1])):
            return start
        start = text.find(name, start + 1)
    return -1


def _joins(left: str, right: str) -> bool:
    """Whether two letters are of one word; Chinese ones never are, for want of blanks."""
    return bool(left and right) and left.isascii() and right.isascii() and left.isalnum() and right.isalnum()


FOLDER, FEEDBACK = "answers", "feedback.jsonl"
_ID = re.compile(r"[0-9a-f]{16}")
_LONGEST_REASON = 2000


@dataclass(frozen=True, slots=True)
class KeptAnswer:
    """An answer with the moment at which it was given (ISO 8601)."""

    id: str
    answer: Answer
    moment: str


class KeptAnswers:
    """The answers that are kept in a workspace."""

    def __init__(self, workspace: Path) -> None:
        self._folder = workspace / FOLDER

    def keep(self, answer: Answer, moment: str) -> str:
        """Writes the answer, whole or not at all; its id.

        Raises:
            StoreError: the disk refuses.
        """
        record, name = recorded(answer), self.id_of(answer)
        path = self._folder / f"{name}.json"
        if path.exists():
            return name
        part = path.with_suffix(f".{os.getpid()}.part")
        try:
            self._folder.mkdir(exist_ok=True)
            part.write_text(json.dumps({"moment": moment, **record}, ensure_ascii=False), encoding="utf-8")
            part.replace(path)
        except OSError as error:
            raise StoreError(f"the answer cannot be saved: {error.strerror}") from error
        return name

    @staticmethod
    def id_of(answer: Answer) -> str:
        """The id of an answer: the same for the same answer, however long it took."""
        told = {key: value for key, value in recorded(answer).items() if key != "usage"}
        return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()[:16]

    def find(self, name: str) -> KeptAnswer:
        """The answer of that id.

        Raises:
            NotFoundError: there is none, or it cannot be read.
        """
        try:
            if not _ID.fullmatch(name):
                raise ValueError(name)
            record = json.loads((self._folder / f"{name}.json").read_text(encoding="utf-8"))
            return KeptAnswer(name, answer_of(record), str(record["moment"]))
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise NotFoundError(f"no answer is kept as {name[:40]!r}", name=name) from error


def recorded(answer: Answer) -> dict[str, Any]:
    """The answer as JSON values, from which `answer_of` makes it again."""
    question, query, found, back = answer.question, answer.query, answer.solutions, answer.clarification
    return {
        "question": [question.text, question.language, question.kind.value],
        "linked": [[o.text, o.iri.value, o.label, o.score, o.kind, o.start, o.end] for o in question.linked],
        "text": answer.text,
        "verdict": answer.verdict.value,
        "confidence": answer.confidence,
        "using": answer.using,
        "model": answer.model,
        "query": None if query is None else [query.text, query.reading, [_draft(item) for item in query.attempts]],
        "variables": list(found.variables),
        "rows": [[_written(term) for term in row] for row in found.rows],
        "boolean": found.boolean,
        "truncated": found.truncated,
        "values": list(answer.values),
        "evidence": [_passage(item) for item in answer.evidence],
        "row_evidence": [list(places) for places in answer.row_evidence],
        "clarification": None if back is None else [back.question, list(back.options)],
        "trace": list(answer.trace),
        "question_class": answer.question_class,
        "usage": [getattr(answer.usage, name) for name in ("calls", "prompt_tokens", "completion_tokens", "seconds")],
    }


def _draft(attempt: Attempt) -> list[object]:
    return [attempt.query, [[issue.kind.value, issue.message] for issue in attempt.issues]]


def answer_of(record: Mapping[str, Any]) -> Answer:
    """The answer that was recorded.

    Raises:
        KeyError, TypeError, ValueError: it is no such record.
    """
    text, language, kind = record["question"]
    linked = tuple(Linked(t, NamedNode(i), name, s, k, a, b) for t, i, name, s, k, a, b in record["linked"])
    back = record["clarification"]
    return Answer(
        text=record["text"],
        question=Question(text, language, QuestionKind(kind), linked),
        verdict=Verdict(record["verdict"]),
        confidence=float(record["confidence"]),
        using=record["using"],
        query=_query(record["query"]),
        solutions=Solutions(
            tuple(record["variables"]),
            tuple(tuple(_term(item) for item in row) for row in record["rows"]),
            record["boolean"],
            record["truncated"],
        ),
        values=tuple(record["values"]),
        evidence=tuple(
            Evidence(NamedNode(chunk), NamedNode(document), *rest) for chunk, document, *rest in record["evidence"]
        ),
        row_evidence=tuple(map(tuple, record.get("row_evidence", ()))),
        clarification=None if back is None else Clarification(back[0], tuple(back[1])),
        model=record["model"],
        usage=Usage(*record["usage"]),
        trace=tuple(record["trace"]),
        question_class=record["question_class"],
    )


def _query(record: Any) -> Query | None:
    if record is None:
        return None
    text, reading, attempts = record
    tried = (
        Attempt(draft, tuple(Issue(IssueKind(kind), message) for kind, message in issues)) for draft, issues in attempts
    )
    return Query(text, reading, tuple(tried))


def _passage(item: Evidence) -> list[object]:
    return [
        *(item.chunk.value, item.document.value, item.title, item.source, item.quote, item.start, item.end, item.score),
        *(item.before, item.after),
    ]


def _written(term: Term | None) -> list[str] | None:
    if term is None:
        return None
    if isinstance(term, NamedNode):
        return ["thing", term.value]
    if isinstance(term, Literal):
        return ["value", term.value, term.datatype.value, term.language or ""]
    return ["node", str(term).removeprefix("_:")]


def _term(record: list[str] | None) -> Term | None:
    if record is None:
        return None
    kind, text, *rest = record
    if kind == "thing":
        return NamedNode(text)
    if kind == "value":
        return Literal(text, language=rest[1]) if rest[1] else Literal(text, datatype=NamedNode(rest[0]))
    return BlankNode(text) if text.isalnum() else Literal(text)


def note_feedback(workspace: Path, record: Mapping[str, object]) -> None:
    """Adds what a person said of an answer to ``feedback.jsonl``; a reason is cut at 2,000 characters.

    Raises:
        StoreError: the disk refuses.
    """
    kept = {**record, "reason": str(record.get("reason", ""))[:_LONGEST_REASON]}
    try:
        with (workspace / FEEDBACK).open("a", encoding="utf-8") as file:
            file.write(json.dumps(kept, ensure_ascii=False) + "\n")
    except OSError as error:
        raise StoreError(f"the rating cannot be saved: {error.strerror}") from error


_MOST_RECENT = 200


class Recent:
    """The answers given lately, by the id under which each would be kept."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._held: OrderedDict[str, tuple[Answer, str]] = OrderedDict()

    def hold(self, answer: Answer) -> str:
        """Remembers the answer for a while; its id."""
        moment = now()
        with self._lock:
            name = KeptAnswers.id_of(answer)
            self._held[name] = (answer, moment)
            self._held.move_to_end(name)
            while len(self._held) > _MOST_RECENT:
                self._held.popitem(last=False)
        return name

    def find(self, name: str) -> tuple[Answer, str] | None:
        """The answer of that id with its moment; None where it was given long ago, or never."""
        with self._lock:
            return self._held.get(name)


def now() -> str:
    """This moment, as answers are dated."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def find(kg: KnowledgeGraph, recent: Recent, name: str) -> KeptAnswer:
    """An answer that was given lately or is kept.

    Raises:
        NotFoundError: it is neither.
    """
    held = recent.find(name)
    if held is not None:
        return KeptAnswer(name, *held)
    return KeptAnswers(kg.folder).find(name)


def blueprint(kg: KnowledgeGraph, recent: Recent) -> Blueprint:
    """The routes by which answers are kept and judged."""
    routes = Blueprint("feedback", __name__)

    @routes.post("/ask/<name>/keep")
    def keep(name: str) -> Any:
        require(Role.WRITE)
        found = _found(kg, recent, name)
        KeptAnswers(kg.folder).keep(found.answer, found.moment)
        return redirect(f"/ask/{name}", 303)

    @routes.post("/ask/<name>/right")
    def right(name: str) -> Any:
        require(Role.WRITE)
        found = _found(kg, recent, name)
        if found.answer.query is None:
            raise ProtocolError(400, "Bad request", "an answer without a query cannot become an example")
        question_settings.keep(found.answer.question.text, found.answer.query.text, kg.folder)
        return _told(kg, found, "right", "")

    @routes.post("/ask/<name>/wrong")
    def wrong(name: str) -> Any:
        require(Role.WRITE)
        return _told(kg, _found(kg, recent, name), "wrong", request.form.get("reason", "").strip())

    return routes


def _found(kg: KnowledgeGraph, recent: Recent, name: str) -> KeptAnswer:
    try:
        return find(kg, recent, name)
    except NotFoundError as error:
        raise ProtocolError(409, "Gone", "that answer has expired; ask again, then rate it") from error


def _told(kg: KnowledgeGraph, found: KeptAnswer, said: str, reason: str) -> Any:
    """Notes what was said, keeps the answer that it was said of, and shows that."""
    answer = found.answer
    record = {
        "moment": now(),
        "person": client().name,
        "said": said,
        "question": answer.question.text,
        "answer": answer.text,
        "query": answer.query.text if answer.query else "",
        "kept": found.id,
        "reason": reason,
    }
    note_feedback(kg.folder, record)
    KeptAnswers(kg.folder).keep(answer, found.moment)
    return redirect(f"/ask/{found.id}?said={said}#said", 303)


_log = logging.getLogger("kgplatform.server")
_NAME = re.compile(r"[0-9a-f]{16,64}")
_PREFIX = "ask-"
_BEAT_SECONDS = 1.0
"""So often something is sent even if nothing has happened: only writing tells that nobody listens any more."""
_MOST_FOLLOWED = 8
_LONGEST_DETAIL = 2_000

_Event = tuple[str, dict[str, object]]


class Asked:
    """The questions that are being answered, by the names that their pages gave them."""

    def __init__(self, kg: KnowledgeGraph) -> None:
        self._kg = kg
        self._lock = threading.Lock()
        self._open: dict[str, FollowedQuestion] = {}

    def enter(self, name: str, hear: Callable[[AnswerStep], object]) -> FollowedQuestion | None:
        """A question that begins; None where there are too many already, or one of that name."""
        with self._lock:
            if len(self._open) >= _MOST_FOLLOWED or name in self._open:
                return None
            self._open[name] = FollowedQuestion(hear, name=f"{_PREFIX}{name}")
            return self._open[name]

    def leave(self, name: str) -> None:
        """Forgets a question whose answering has ended."""
        with self._lock:
            self._open.pop(name, None)

    def give_up(self, name: str) -> bool:
        """Ends the answering, and the query that it waits for; whether there was any."""
        with self._lock:
            found = self._open.get(name)
        if found is None:
            return False
        found.give_up()
        self._kg.workers.running.cancel(found.name)
        return True


def add_routes(routes: Blueprint, kg: KnowledgeGraph, answer_page: Callable[[str], Response]) -> None:
    """Adds the routes; ``answer_page`` answers the question of the request and makes its page."""
    asked = Asked(kg)

    @routes.get("/api/ask/events")
    def events() -> Any:
        question, name = request.args.get("question", "").strip(), request.args.get("name", "")
        if not question or not _NAME.fullmatch(name):
            raise ProtocolError(400, "Bad request", "send ?question=…&name=… with 16 to 64 hexadecimal digits as name")
        heard: queue.SimpleQueue[_Event | None] = queue.SimpleQueue()
        followed = asked.enter(name, lambda step: heard.put(("step", _step(kg, step))))
        if followed is None:
            raise ProtocolError(503, "Busy", "too many questions in progress; use /ask?question=… instead")
        _begin(asked, name, followed, lambda: heard.put(_page(answer_page(question))), lambda: heard.put(None))
        return event_stream(_event_lines(heard, lambda: asked.give_up(name)))

    @routes.delete("/api/ask/events/<name>")
    def end(name: str) -> Response:
        if not asked.give_up(name):
            raise ProtocolError(404, "Not found", "no question of that name is being answered; it may have been")
        return Response(status=204)


def _begin(
    asked: Asked, name: str, followed: FollowedQuestion, answer: Callable[[], object], end: Callable[[], object]
) -> None:
    """Has the question answered in a thread of its own."""
    known = known_elsewhere()

    @copy_current_request_context
    def work() -> None:
        known()
        try:
            with followed.following():
                answer()
        except QuestionGivenUpError:
            _log.info("a question was cancelled")
        except KgPlatformError as error:
            _log.warning("a question could not be answered: %s", error)
        finally:
            asked.leave(name)
            end()

    threading.Thread(target=work, name="asking", daemon=True).start()


def _step(kg: KnowledgeGraph, step: AnswerStep) -> dict[str, object]:
    detail = step.detail
    if step.stage is AnswerStage.QUERY:
        lines = with_prefixed_names(step.detail, kg.store.prefixes).splitlines()
        detail = "\n".join(line for line in lines if not line.startswith("PREFIX "))
    return {"stage": step.stage.value, "detail": detail[:_LONGEST_DETAIL], "number": step.number}


def _page(response: Response) -> _Event | None:
    """The page of the answer; None where it is a refusal, which whoever asks plainly gets to see."""
    if response.status_code >= 400 or response.mimetype != "text/html":
        return None
    return "page", {"html": response.get_data(as_text=True)}


def _event_lines(heard: queue.SimpleQueue[_Event | None], give_up: Callable[[], object]) -> Iterator[bytes]:
    """The events as they come, and ``plain`` where it ends without a page; whoever stops listening gives up."""
    try:
        while True:
            try:
                event = heard.get(timeout=_BEAT_SECONDS)
            except queue.Empty:
                yield b": still at it\n\n"
                continue
            name, record = event or ("plain", {})
            yield f"event: {name}\ndata: {json.dumps(record, ensure_ascii=False)}\n\n".encode()
            if name != "step":
                return
    finally:
        give_up()
