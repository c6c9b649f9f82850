"""``/api/why-empty``: why a query finds nothing, as JSON, for the query page and other clients."""

from __future__ import annotations

from flask import Blueprint, Response, jsonify, request

from kgplatform.errors import KgPlatformError
from kgplatform.questions.emptiness import Emptiness, why_empty
from kgplatform.types import Solutions
from kgplatform.web.frame import language
from kgplatform.web.needs import Graph
from kgplatform.web.problems import problem


def explained(kg: Graph, query: str) -> Emptiness:
    """Why the query finds nothing; each trial runs in a worker that is killed at its deadline."""

    def run(text: str, limit: int, seconds: float) -> Solutions:
        return kg.workers.solutions(text, timeout_seconds=seconds, max_rows=limit)

    return why_empty(query, run)


def blueprint(kg: Graph) -> Blueprint:
    """The route of the explanation."""
    routes = Blueprint("explaining", __name__)

    @routes.route("/api/why-empty", methods=["GET", "POST"])
    def why() -> Response:
        text = request.values.get("query", "")
        if not text.strip():
            return problem(400, "Bad request", "send query=… with a SELECT or ASK query that finds nothing")
        try:
            found = explained(kg, text)
        except KgPlatformError as error:
            return problem(400, "Bad request", str(error))
        culprit = found.culprit
        return jsonify(
            cause=found.cause.value,
            words=found.words(language()),
            line=culprit.line if culprit else 0,
            conditions=[{"text": c.text, "line": c.line, "without": c.without} for c in found.counts],
            near=list(found.near),
            relaxed=found.relaxed,
        )

    return routes
