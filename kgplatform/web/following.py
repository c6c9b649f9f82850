"""``/api/ask/events``: an answer as it comes about, step by step, then its page; and the way to give it up.

The question is answered in a thread of its own, which ends at its next step once nobody listens any more, or the page
asks for that: ``DELETE /api/ask/events/<name>``, with the name that the page chose, as it does for queries.
"""

from __future__ import annotations

import json
import logging
import queue
import re
import threading
from collections.abc import Callable, Iterator
from typing import Any

from flask import Blueprint, Response, copy_current_request_context, request

from kgplatform.errors import KgPlatformError
from kgplatform.questions.steps import Followed, GivenUpError, Stage, Step
from kgplatform.web.highlighting import compact
from kgplatform.web.needs import Graph
from kgplatform.web.protocol import ProtocolError
from kgplatform.web.rights import known_elsewhere

_log = logging.getLogger("kgplatform.web")
_NAME = re.compile(r"[0-9a-f]{16,64}")
_PREFIX = "ask-"
_BEAT_SECONDS = 1.0
"""So often something is sent even if nothing has happened: only writing tells that nobody listens any more."""
_MOST_FOLLOWED = 8
_LONGEST_DETAIL = 2_000

_Event = tuple[str, dict[str, object]]


class Asked:
    """The questions that are being answered, by the names that their pages gave them."""

    def __init__(self, kg: Graph) -> None:
        self._kg = kg
        self._lock = threading.Lock()
        self._open: dict[str, Followed] = {}

    def enter(self, name: str, hear: Callable[[Step], object]) -> Followed | None:
        """A question that begins; None where there are too many already, or one of that name."""
        with self._lock:
            if len(self._open) >= _MOST_FOLLOWED or name in self._open:
                return None
            self._open[name] = Followed(hear, name=f"{_PREFIX}{name}")
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


def add_routes(routes: Blueprint, kg: Graph, answer_page: Callable[[str], Response]) -> None:
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
            raise ProtocolError(503, "Busy", "too many questions are followed already; ask /ask?question=… instead")
        _begin(asked, name, followed, lambda: heard.put(_page(answer_page(question))), lambda: heard.put(None))
        response = Response(_told(heard, lambda: asked.give_up(name)), content_type="text/event-stream")
        response.headers["Cache-Control"] = "no-cache, no-transform"
        response.headers["X-Accel-Buffering"] = "no"
        return response

    @routes.delete("/api/ask/events/<name>")
    def end(name: str) -> Response:
        if not asked.give_up(name):
            raise ProtocolError(404, "Not found", "no question of that name is being answered; it may have been")
        return Response(status=204)


def _begin(
    asked: Asked, name: str, followed: Followed, answer: Callable[[], object], end: Callable[[], object]
) -> None:
    """Has the question answered in a thread of its own."""
    known = known_elsewhere()

    @copy_current_request_context
    def work() -> None:
        known()
        try:
            with followed.following():
                answer()
        except GivenUpError:
            _log.info("a question was given up")
        except KgPlatformError as error:
            _log.warning("a question could not be answered: %s", error)
        finally:
            asked.leave(name)
            end()

    threading.Thread(target=work, name="asking", daemon=True).start()


def _step(kg: Graph, step: Step) -> dict[str, object]:
    detail = step.detail
    if step.stage is Stage.QUERY:
        lines = compact(step.detail, kg.store.prefixes).splitlines()
        detail = "\n".join(line for line in lines if not line.startswith("PREFIX "))
    return {"stage": step.stage.value, "detail": detail[:_LONGEST_DETAIL], "number": step.number}


def _page(response: Response) -> _Event | None:
    """The page of the answer; None where it is a refusal, which whoever asks plainly gets to see."""
    if response.status_code >= 400 or response.mimetype != "text/html":
        return None
    return "page", {"html": response.get_data(as_text=True)}


def _told(heard: queue.SimpleQueue[_Event | None], give_up: Callable[[], object]) -> Iterator[bytes]:
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
