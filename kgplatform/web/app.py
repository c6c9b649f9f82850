"""The web application over a workspace."""

from __future__ import annotations

import logging
from typing import Any

from flask import Flask, Response, request
from werkzeug.exceptions import HTTPException

from kgplatform import resources
from kgplatform.errors import KgPlatformError, NotFoundError
from kgplatform.web import asking, endpoint, querying, reading, terms, things
from kgplatform.web.endpoint import problem
from kgplatform.web.frame import page, prepare
from kgplatform.web.needs import Graph
from kgplatform.web.overview import Lately
from kgplatform.web.protocol import MAX_BODY_BYTES
from kgplatform.web.security import Access, guard
from kgplatform.web.words import WORDS

_log = logging.getLogger("kgplatform.web")
_DATA_PATHS = ("/sparql", "/api/")


def create_app(kg: Graph, *, access: Access | None = None) -> Flask:
    """The application that serves the workspace; ``access`` says to whom (none given: to anyone who asks)."""
    files = resources.folder("templates")
    app = Flask(
        "kgplatform.web",
        template_folder=str(files / "html"),
        static_folder=str(files / "static"),
        static_url_path="/static",
    )
    app.config["MAX_CONTENT_LENGTH"] = MAX_BODY_BYTES
    app.config["MAX_FORM_MEMORY_SIZE"] = MAX_BODY_BYTES
    app.config["SEND_FILE_MAX_AGE_DEFAULT"] = 31_536_000
    app.json.ensure_ascii = False  # type: ignore[attr-defined]
    app.url_map.merge_slashes = False
    prepare(app)
    guard(app, access or Access(), lambda detail: problem(421, "Misdirected request", detail))
    lately = Lately(kg)
    for made in (
        endpoint.blueprint(kg),
        asking.blueprint(kg, lately),
        querying.blueprint(kg),
        things.blueprint(kg, lately),
        reading.blueprint(kg),
        terms.blueprint(kg, lately),
    ):
        app.register_blueprint(made)
    _add_error_pages(app, kg)
    return app


def _add_error_pages(app: Flask, kg: Graph) -> None:
    @app.errorhandler(HTTPException)
    def refused(error: HTTPException) -> Any:
        return _error(kg, error.code or 500, error.description or error.name, dict(error.get_headers()))

    @app.errorhandler(NotFoundError)
    def not_found(error: NotFoundError) -> Any:
        return _error(kg, 404, str(error))

    @app.errorhandler(KgPlatformError)
    def failed(error: KgPlatformError) -> Any:
        return _error(kg, 500, str(error))

    @app.errorhandler(Exception)
    def unexpected(error: Exception) -> Any:
        """The one place that catches everything: the client learns nothing of the inside, the log everything."""
        _log.error("%s %s failed", request.method, request.path, exc_info=error)
        return _error(kg, 500, "")


def _error(kg: Graph, status: int, detail: str, headers: dict[str, str] | None = None) -> Response:
    wants_data = request.path.startswith(_DATA_PATHS) or "html" not in request.headers.get("Accept", "*/*html")
    title = WORDS.get(f"error_{status}", WORDS["error_400" if status < 500 else "error_500"])[0]
    if wants_data:
        response = problem(status, title, detail or title)
    else:
        key = f"error_{status}" if f"error_{status}" in WORDS else "error_400" if status < 500 else "error_500"
        response = page("error.html", kg.base, status=status, key=key, detail=detail)
    allow = (headers or {}).get("Allow")
    if allow:
        response.headers["Allow"] = allow
    return response
