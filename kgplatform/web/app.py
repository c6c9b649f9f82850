"""The web application over a workspace."""

from __future__ import annotations

import logging
from typing import Any

from flask import Flask, Response, request
from werkzeug.exceptions import HTTPException

from kgplatform import resources
from kgplatform.errors import ConfigError, KgPlatformError, NotFoundError
from kgplatform.versions import VersionError
from kgplatform.web import (
    asking,
    assets,
    communities,
    conforming,
    courses,
    endpoint,
    explaining,
    exploring,
    exports,
    feedback,
    graph_store,
    informing,
    literature,
    openapi,
    progressing,
    quarantine,
    querying,
    reading,
    retrieval,
    runs,
    saving,
    self_description,
    shelf,
    statements,
    suggesting,
    term_pages,
    terms,
    things,
    travelling,
    watching,
    workbench,
    world_map,
)
from kgplatform.web.compressing import compress
from kgplatform.web.feedback import Recent
from kgplatform.web.frame import page, prepare
from kgplatform.web.jobs import Jobs
from kgplatform.web.messages import told
from kgplatform.web.needs import Graph
from kgplatform.web.overview import Lately
from kgplatform.web.problems import problem
from kgplatform.web.protocol import MAX_BODY_BYTES, ProtocolError
from kgplatform.web.rates import Rates
from kgplatform.web.rights import Rights, Role, Token, client, identify, require
from kgplatform.web.security import Access, guard
from kgplatform.web.shortcut import Shortcut
from kgplatform.web.words import WORDS

_log = logging.getLogger("kgplatform.web")
JOBS = "kgplatform-jobs"
"""Where the application keeps its `Jobs`, among its extensions."""
WARMING = "kgplatform-warming"
"""Where the application keeps what is to be worked out before the first page waits for it."""

_DATA_PATHS = ("/sparql", "/graphs", "/api/", "/.well-known/")


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
    app.jinja_env.filters["told"] = told
    access = access or Access()
    guard(app, access, lambda detail: problem(421, "Misdirected request", detail), tiles=kg.settings.map.tiles)
    app.config["MAP"] = {"boundaries": bool(kg.settings.map.boundaries), "tiles": kg.settings.map.tiles}
    _admit(app, kg, access)
    app.after_request(compress)
    lately = Lately(kg)
    known = term_pages.Terms(kg, lately)
    jobs, recent = Jobs(kg.registry), Recent()
    places = world_map.Places(kg)
    app.extensions[JOBS] = jobs
    app.extensions[WARMING] = (lately.prepare, lambda: places.prepare(lately))
    describes = self_description.SelfDescription(kg)
    for made in (
        endpoint.blueprint(kg, lambda: describes.of_endpoint(request.host_url)),
        graph_store.blueprint(kg),
        self_description.blueprint(describes),
        watching.blueprint(kg),
        travelling.blueprint(kg),
        exports.blueprint(kg),
        conforming.blueprint(kg),
        openapi.blueprint(),
        asking.blueprint(kg, lately, recent),
        feedback.blueprint(kg, recent),
        querying.blueprint(kg),
        explaining.blueprint(kg),
        workbench.blueprint(kg, lately),
        suggesting.blueprint(kg, lately),
        saving.blueprint(kg, lambda saved: querying.show(kg, saved)),
        assets.blueprint(),
        things.blueprint(kg, lately, known),
        term_pages.blueprint(kg, known),
        exploring.blueprint(kg, lately),
        world_map.blueprint(kg, lately, places),
        reading.blueprint(kg),
        runs.blueprint(kg),
        informing.blueprint(kg, lately),
        shelf.blueprint(kg, jobs),
        progressing.blueprint(kg, jobs),
        quarantine.blueprint(kg, jobs),
        statements.blueprint(kg, lambda record, form: reading.show(kg, record, form)),
        terms.blueprint(kg, lately),
        communities.blueprint(kg, lately),
        courses.blueprint(kg),
        literature.blueprint(kg),
        retrieval.blueprint(kg),
    ):
        app.register_blueprint(made)
    _add_error_pages(app, kg)
    return app


def _admit(app: Flask, kg: Graph, access: Access) -> None:
    """Has every request come from somebody who may read, and not too often."""
    settings = kg.settings.server
    tokens = tuple(Token.read(line) for line in settings.tokens)
    rights = Rights(tokens, public_reads=settings.public_reads, local=bool(access.hosts))
    rates = Rates(settings.requests_per_minute)

    @app.before_request
    def admit() -> None:
        identify(rights)
        if request.path.startswith("/static/") or request.method == "OPTIONS":
            return
        require(Role.READ)
        rates.take(client().name)

    app.wsgi_app = Shortcut(app, kg, access=access, rights=rights, rates=rates)  # type: ignore[method-assign]


def _add_error_pages(app: Flask, kg: Graph) -> None:
    @app.errorhandler(ProtocolError)
    def refused_by_protocol(error: ProtocolError) -> Any:
        return problem(error.status, error.title, error.detail, headers=dict(error.headers))

    @app.errorhandler(HTTPException)
    def refused(error: HTTPException) -> Any:
        return _error(kg, error.code or 500, error.description or error.name, dict(error.get_headers()))

    @app.errorhandler(VersionError)
    def not_kept(error: VersionError) -> Any:
        return travelling.version_problem(error)

    @app.errorhandler(ConfigError)
    def senseless(error: ConfigError) -> Any:
        return _error(kg, 400, str(error))

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
        response = page("error.html", kg.base, status=status, key=key, detail=told(detail))
    allow = (headers or {}).get("Allow")
    if allow:
        response.headers["Allow"] = allow
    return response
