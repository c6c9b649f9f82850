"""What can be said of a query, as JSON: why it finds nothing, why it takes long, how it would ask for places.

``/api/why-empty``, ``/api/why-slow`` and ``/api/with-places``, for the query page and other clients.
"""

from __future__ import annotations

from flask import Blueprint, Response, jsonify, request

from kgplatform.errors import KgPlatformError
from kgplatform.questions.emptiness import Emptiness, Run, why_empty
from kgplatform.questions.slowness import Slowness, why_slow
from kgplatform.types import Solutions
from kgplatform.web.frame import language
from kgplatform.web.needs import Graph
from kgplatform.web.placing import asking_for_places
from kgplatform.web.problems import problem


def explained(kg: Graph, query: str) -> Emptiness:
    """Why the query finds nothing; each trial runs in a worker that is killed at its deadline."""
    return why_empty(query, _trials(kg))


def slowed(kg: Graph, query: str) -> Slowness:
    """What makes the query slow, tried in the same way; nothing outside is asked, whatever SERVICE it names."""
    return why_slow(query, _trials(kg))


def _trials(kg: Graph) -> Run:
    def run(text: str, limit: int, seconds: float) -> Solutions:
        return kg.workers.solutions(text, timeout_seconds=seconds, max_rows=limit)

    return run


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

    @routes.route("/api/why-slow", methods=["GET", "POST"])
    def slow() -> Response:
        text = request.values.get("query", "")
        if not text.strip():
            return problem(400, "Bad request", "send query=… with a query that takes long")
        found = slowed(kg, text)
        named = found.apart or next(iter(found.broad), None)
        return jsonify(
            words=found.words(language()),
            line=named.line if named else 0,
            patterns=found.patterns,
            broad=[{"text": item.text, "line": item.line} for item in found.broad],
        )

    @routes.route("/api/with-places", methods=["GET", "POST"])
    def with_places() -> Response:
        text, variable = request.values.get("query", ""), request.values.get("variable", "")
        return jsonify(query=asking_for_places(text, variable, kg.store))

    return routes
