"""``/api/jobs``: how far the reading of documents is, as JSON and as events; and what pauses, resumes or ends it."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from typing import Any

from flask import Blueprint, Response, jsonify

from kgplatform.web.jobs import Jobs, Phase
from kgplatform.web.needs import Graph
from kgplatform.web.protocol import ProtocolError
from kgplatform.web.rights import Role, require

ACTIONS = ("pause", "resume", "cancel", "retry")
_STEP_SECONDS = 0.3
_QUIET_SECONDS = 15.0
_LONGEST_SECONDS = 300.0
_MOST_WATCHERS = 4
"""Each watcher holds a thread of the server; further ones ask for ``/api/jobs`` again and again."""


def act(kg: Graph, jobs: Jobs, action: str) -> None:
    """Pauses, resumes, cancels or takes up again the reading of documents.

    Raises:
        ProtocolError: 400, no such action; 409, there is nothing to act on.
    """
    require(Role.WRITE)
    if action not in ACTIONS:
        raise ProtocolError(400, "Bad request", f"there is {', '.join(ACTIONS)}, not {action[:40]!r}")
    reading = jobs.standing().phase is Phase.READING
    if action == "pause" or (action == "cancel" and reading):
        if not reading or not jobs.await_run():
            raise ProtocolError(409, "Nothing to pause", "no documents are being read now")
        if action == "pause":
            kg.registry.pause()
        else:
            kg.registry.cancel()
        return
    kg.registry.resume()
    if action == "cancel" or reading:
        return
    jobs.start(kg.retry)


def blueprint(kg: Graph, jobs: Jobs) -> Blueprint:
    """The routes of the jobs."""
    routes = Blueprint("progressing", __name__)
    watchers = threading.BoundedSemaphore(_MOST_WATCHERS)

    @routes.get("/api/jobs")
    def state() -> Response:
        response = jsonify(jobs.record())
        response.headers["Cache-Control"] = "no-cache"
        return response

    @routes.get("/api/jobs/events")
    def events() -> Any:
        if not watchers.acquire(blocking=False):
            raise ProtocolError(503, "Busy", "too many watch already; ask for /api/jobs instead")
        response = Response(_events(jobs), content_type="text/event-stream")
        response.headers["Cache-Control"] = "no-cache, no-transform"
        response.headers["X-Accel-Buffering"] = "no"
        response.call_on_close(watchers.release)
        return response

    @routes.post("/api/jobs/<action>")
    def acted(action: str) -> Response:
        act(kg, jobs, action)
        return jsonify(jobs.record())

    return routes


def _events(jobs: Jobs) -> Iterator[bytes]:
    """An event whenever something has changed, and ``end`` when nothing is being read any more."""
    began, told, at = time.monotonic(), "", 0.0
    while time.monotonic() - began < _LONGEST_SECONDS:
        is_open = jobs.is_open
        record = json.dumps(jobs.record(), ensure_ascii=False)
        if record != told:
            told, at = record, time.monotonic()
            yield f"event: progress\ndata: {record}\n\n".encode()
        elif time.monotonic() - at > _QUIET_SECONDS:
            at = time.monotonic()
            yield b": still here\n\n"
        if not is_open:
            yield f"event: end\ndata: {record}\n\n".encode()
            return
        time.sleep(_STEP_SECONDS)
