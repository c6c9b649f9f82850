"""``/api/queries``: what is running, for whom and since when, and the way to end it."""

from __future__ import annotations

from typing import Any

from flask import Blueprint, Response, jsonify

from kgplatform.running import Running
from kgplatform.web.needs import Graph
from kgplatform.web.protocol import ProtocolError
from kgplatform.web.rights import Role, client, require

_LONGEST_TEXT = 10_000


def blueprint(kg: Graph) -> Blueprint:
    """The routes of the running queries. Whoever may write sees all and ends their own; an admin ends any."""
    routes = Blueprint("watching", __name__)

    @routes.route("/api/queries")
    def listed() -> Any:
        require(Role.WRITE)
        return jsonify({"queries": [_record(item) for item in kg.workers.running.listed()]})

    @routes.route("/api/queries/<name>", methods=["DELETE"])
    def cancel(name: str) -> Any:
        require(Role.WRITE)
        found = kg.workers.running.find(name)
        if found is not None and found.client != client().name:
            require(Role.ADMIN)
        if found is None or not kg.workers.running.cancel(name):
            raise ProtocolError(404, "Not found", "no query of that name is running; it may have ended")
        return Response(status=204)

    return routes


def _record(item: Running) -> dict[str, object]:
    return {
        "id": item.name,
        "task": item.task,
        "client": item.client,
        "since": item.since.isoformat(timespec="milliseconds"),
        "seconds": round(item.seconds, 3),
        "timeout_seconds": item.timeout_seconds,
        "text": item.text[:_LONGEST_TEXT],
    }
