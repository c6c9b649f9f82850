"""The interface of the TEXT2SPARQL challenge: ``GET /?dataset=…&question=…`` is answered with the query, as JSON.

So the challenge's own client scores a running server; the query it gets is the one that the Ask page would run.
"""

from __future__ import annotations

from flask import Response, jsonify, request

from kgplatform.web.needs import Graph
from kgplatform.web.problems import problem

MAX_QUESTION_CHARACTERS = 1000


def wanted() -> bool:
    """Whether the request speaks the challenge's interface: it names a data set."""
    return "dataset" in request.args


def reply(kg: Graph) -> Response:
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
    response = jsonify({"dataset": dataset, "question": question, "query": answer.query.text})
    response.headers["Cache-Control"] = "no-cache"
    return response
