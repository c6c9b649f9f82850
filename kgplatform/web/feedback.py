"""What people do with an answer: keep it at ``/ask/<id>``, say that it is right, or that it is wrong and why.

An answer that is right teaches: its question and query join the solved questions of the workspace, from which a model
is shown the most similar ones. One that is wrong is written to ``feedback.jsonl``, with the reason.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from datetime import UTC, datetime
from typing import Any

from flask import Blueprint, redirect, request

from kgplatform.building import asking
from kgplatform.errors import NotFoundError
from kgplatform.types import Answer
from kgplatform.web.keeping import KeptAnswer, KeptAnswers, note_feedback
from kgplatform.web.needs import Graph
from kgplatform.web.protocol import ProtocolError
from kgplatform.web.rights import Role, client, require

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


def find(kg: Graph, recent: Recent, name: str) -> KeptAnswer:
    """An answer that was given lately or is kept.

    Raises:
        NotFoundError: it is neither.
    """
    held = recent.find(name)
    if held is not None:
        return KeptAnswer(name, *held)
    return KeptAnswers(kg.folder).find(name)


def blueprint(kg: Graph, recent: Recent) -> Blueprint:
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
            raise ProtocolError(400, "Bad request", "an answer without a query teaches nothing")
        asking.keep(found.answer.question.text, found.answer.query.text, kg.folder)
        return _told(kg, found, "right", "")

    @routes.post("/ask/<name>/wrong")
    def wrong(name: str) -> Any:
        require(Role.WRITE)
        return _told(kg, _found(kg, recent, name), "wrong", request.form.get("reason", "").strip())

    return routes


def _found(kg: Graph, recent: Recent, name: str) -> KeptAnswer:
    try:
        return find(kg, recent, name)
    except NotFoundError as error:
        raise ProtocolError(409, "Gone", "that answer was given too long ago; ask again and judge it then") from error


def _told(kg: Graph, found: KeptAnswer, said: str, reason: str) -> Any:
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
