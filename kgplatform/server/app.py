"""The web application over a workspace, and how it is served: waitress, a few threads, a clean stop."""

from __future__ import annotations

import logging
import resource
import signal
import socket
import sqlite3
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from types import FrameType
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from flask import Flask, Response, g, redirect, request
from flask.json.provider import DefaultJSONProvider
from werkzeug.exceptions import HTTPException

from kgplatform import resources
from kgplatform.errors import AwayError, ConfigError, KgPlatformError, NotFoundError
from kgplatform.ontology.packs import plugins
from kgplatform.server import endpoint, frame, graph_store, self_description
from kgplatform.server.access import Access, Rates, Rights, Role, client, guard, identify, plain_fields, require
from kgplatform.server.connections import Handover, listening
from kgplatform.server.frame import NOT_BUILT, Lately, is_built, page, prepare
from kgplatform.server.http import below_root, compress, problem, told
from kgplatform.server.interfaces import (
    change_feed,
    chat_model,
    leadership,
    mcp_tools,
    operations,
    prometheus,
    reconciliation,
    sign_in,
    traces,
)
from kgplatform.server.jobs import Jobs
from kgplatform.server.jobs import blueprint as jobs_blueprint
from kgplatform.server.pages import (
    answers,
    ask,
    changes,
    communities,
    documents,
    entity,
    entity_form,
    evaluation,
    explore,
    export,
    query,
    retrieval,
    terms,
    workbench,
    world_map,
)
from kgplatform.server.pages.answers import Recent
from kgplatform.server.source_cards import SourceCards
from kgplatform.server.tenants import Tenant, Tenants, paths_of
from kgplatform.server.words import WORDS
from kgplatform.settings import Settings
from kgplatform.sparql.protocol import MAX_BODY_BYTES, PROCESS, SERVER, ProtocolError
from kgplatform.sparql.rewrite import prefixed_name
from kgplatform.store.handover import AnswerTerms
from kgplatform.store.versions import VersionError

if TYPE_CHECKING:
    from kgplatform.graph import KnowledgeGraph


_log = logging.getLogger("kgplatform.server")
JOBS = "kgplatform-jobs"
"""Where the application keeps its `Jobs`, among its extensions."""
NUMBERS = "kgplatform-numbers"
"""Where it keeps its `prometheus.ServerMetrics`."""
TRACES = "kgplatform-traces"
"""Where it keeps what sends traces, if the settings name a collector."""
WARMING = "kgplatform-warming"
"""Where the application keeps what is to be worked out before the first page waits for it."""

_DATA_PATHS = ("/sparql", "/graphs", "/reconcile", "/api/", "/v1/", "/mcp", "/.well-known/")


class _Json(DefaultJSONProvider):
    """JSON as people read it; what nests too deep to be read is no JSON, not a fault of ours."""

    ensure_ascii = False

    def loads(self, s: str | bytes, **options: Any) -> Any:
        """The value that the text stands for.

        Raises:
            ValueError: it is no JSON, or nests too deep.
        """
        try:
            return super().loads(s, **options)
        except RecursionError as error:
            raise ValueError("the JSON nests too deep") from error


def create_app(
    kg: KnowledgeGraph, *, access: Access | None = None, rights: Rights | None = None, view: str = ""
) -> Flask:
    """The application that serves the workspace; ``access`` says to whom (none given: to anyone who asks).

    ``rights`` are the rules, where not those of the settings; ``view`` is the role whose part of the graph this is.
    """
    files = resources.folder("templates")
    app = Flask(
        "kgplatform.server",
        template_folder=str(files / "html"),
        static_folder=str(files / "static"),
        static_url_path="/static",
    )
    app.config["MAX_CONTENT_LENGTH"] = MAX_BODY_BYTES
    app.config["MAX_FORM_MEMORY_SIZE"] = MAX_BODY_BYTES
    app.config["SEND_FILE_MAX_AGE_DEFAULT"] = 31_536_000
    app.json = _Json(app)
    app.url_map.merge_slashes = False
    lately, jobs, recent = Lately(kg), Jobs(kg.registry), Recent()
    numbers = prometheus.ServerMetrics(kg, jobs, lately)
    numbers.watch(app)
    if kg.settings.server.traces:
        app.extensions[TRACES] = provider = traces.collector(kg.settings.server.traces)
        heard = traces.watch(app, provider)
        if kg.model is not None:
            kg.model.tally.heard = heard
    prepare(app)
    app.jinja_env.filters["told"] = told
    app.jinja_env.globals["cards"] = SourceCards(kg)
    access = access or Access()
    guard(app, access, lambda detail: problem(421, "Misdirected request", detail), tiles=kg.settings.map.tiles)
    app.config["MAP"] = {"boundaries": bool(kg.settings.map.boundaries), "tiles": kg.settings.map.tiles}
    rights = rights or rights_of(kg.settings, access)
    _admit(app, kg, rights, view)
    if not view:
        leadership.add(app, kg, kg.replica)
    app.after_request(compress)
    app.after_request(below_root)
    operated = operations.Operations(kg, lately)
    known = terms.Terms(kg, lately)
    places = world_map.MapPlaces(kg)
    app.extensions[JOBS], app.extensions[NUMBERS] = jobs, numbers
    app.extensions[WARMING] = (lately.prepare, lambda: places.prepare(lately))
    describes = self_description.SelfDescription(kg)
    for made in (
        endpoint.blueprint(kg, lambda: describes.of_endpoint(request.url_root)),
        graph_store.blueprint(kg),
        self_description.blueprint(describes),
        operations.blueprint(operated),
        mcp_tools.blueprint(operated, access),
        chat_model.blueprint(kg),
        reconciliation.blueprint(kg, lately),
        prometheus.blueprint(kg, numbers),
        change_feed.blueprint(kg, is_whole=not view),
        export.blueprint(kg, lately),
        ask.blueprint(kg, lately, recent),
        answers.blueprint(kg, recent),
        query.blueprint(kg, known.examples),
        workbench.blueprint(kg, lately),
        frame.blueprint(),
        entity.blueprint(kg, lately, known),
        terms.blueprint(kg, lately, known),
        entity_form.blueprint(kg, known),
        explore.blueprint(kg, lately),
        changes.blueprint(kg, lately),
        world_map.blueprint(kg, lately, places),
        evaluation.blueprint(kg, lately, jobs),
        jobs_blueprint(kg, jobs),
        documents.blueprint(kg, jobs, lately),
        communities.blueprint(kg, lately, jobs),
        retrieval.blueprint(kg),
        sign_in.blueprint(kg.settings.sign_in, rights),
    ):
        app.register_blueprint(made)
    for pages in plugins(kg.ontology, "kgplatform.pages"):
        pages(kg).add_to(app)
    _add_error_pages(app, kg)
    return app


def rights_of(settings: Settings, access: Access) -> Rights:
    """The rules that the settings of the workspace state.

    Raises:
        ConfigError: a line of them cannot be read, or names a role that there is none of.
    """
    local = bool(access.hosts)
    return sign_in.enlisted(settings.sign_in, lambda made: Rights.of(settings.server, local=local, sessions=made))


_FOR_ANYBODY = prometheus.HEALTH | sign_in.ROUTES


def _admit(app: Flask, kg: KnowledgeGraph, rights: Rights, view: str) -> None:
    """Has every request come from somebody who may read what is here, and not too often."""
    rates = Rates(kg.settings.server.requests_per_minute)

    @app.before_request
    def admit() -> None:
        if request.endpoint in _FOR_ANYBODY:
            return
        identify(rights, view)
        if request.path.startswith("/static/") or request.method == "OPTIONS":
            return
        if request.endpoint != prometheus.METRICS:
            require(Role.READ)
        rates.take(client().name)


def handover(kg: KnowledgeGraph, access: Access, rights: Rights | None = None, *, is_alone: bool = True) -> Handover:
    """What has workers answer plain queries as the application would; none if it does not stand alone at the root."""
    rights = rights or rights_of(kg.settings, access)
    is_seen = kg.settings.server.requests_per_minute > 0 or not is_alone

    def may_read(address: str) -> bool:
        who = rights.client("", address, is_forwarded=False)
        return not is_seen and who.role >= Role.READ and not who.view

    limit = kg.settings.server.timeout_seconds
    if kg.settings.server.analytics:  # which heavy query goes where is decided by the application
        return Handover(kg.workers, AnswerTerms(kg.base, limit, (), {}, PROCESS), lambda _address: False)
    terms = AnswerTerms(kg.base, limit, tuple(access.hosts), plain_fields(access), PROCESS)
    return Handover(kg.workers, terms, may_read, left=leadership.MARKS if kg.replica is not None else ())


def _add_error_pages(app: Flask, kg: KnowledgeGraph) -> None:
    @app.errorhandler(ProtocolError)
    def refused_by_protocol(error: ProtocolError) -> Any:
        if error.status == 401 and request.method == "GET" and g.rights.sessions is not None and _wants_page():
            return redirect(f"{request.script_root}/sign-in?{urlencode({'next': request.full_path.rstrip('?')})}")
        if request.path.startswith("/v1/"):  # chat clients look for the reason there
            said = chat_model.error_record(error.detail, error.title)
            return problem(error.status, error.title, error.detail, headers=dict(error.headers), error=said)
        return problem(error.status, error.title, error.detail, headers=dict(error.headers))

    @app.errorhandler(HTTPException)
    def refused(error: HTTPException) -> Any:
        return _error(kg, error.code or 500, error.description or error.name, dict(error.get_headers()))

    @app.errorhandler(VersionError)
    def not_kept(error: VersionError) -> Any:
        return endpoint.version_problem(error)

    @app.errorhandler(ConfigError)
    def senseless(error: ConfigError) -> Any:
        return _error(kg, 400, str(error))

    @app.errorhandler(NotFoundError)
    def not_found(error: NotFoundError) -> Any:
        said, short = str(error), prefixed_name(error.name, kg.store.prefixes.items())
        return _error(kg, 404, said.replace(error.name, short) if short and _wants_page() else said)

    @app.errorhandler(KgPlatformError)
    def failed(error: KgPlatformError) -> Any:
        return _error(kg, 503 if isinstance(error, AwayError) else 500, str(error))

    @app.errorhandler(Exception)
    def unexpected(error: Exception) -> Any:
        """The one place that catches everything: the client learns nothing of the inside, the log everything."""
        _log.error("%s %s failed", request.method, request.path, exc_info=error)
        return _error(kg, 500, "")


def _wants_page() -> bool:
    return not request.path.startswith(_DATA_PATHS) and "html" in request.headers.get("Accept", "*/*html")


def _error(kg: KnowledgeGraph, status: int, detail: str, headers: dict[str, str] | None = None) -> Response:
    key = f"error_{status}" if f"error_{status}" in WORDS else "error_400" if status < 500 else "error_500"
    if not _wants_page():
        response = problem(status, WORDS[key][0], detail or WORDS[key][0])
    else:
        response = page("error.html", kg.base, status=status, key=key, detail=told(detail))
    if allow := (headers or {}).get("Allow"):
        response.headers["Allow"] = allow
    return response


_THREADS = 8
_FIRST_PARTS = frozenset(("static", "sparql", "graphs", "api", "v1", "mcp", "healthz", "readyz", "metrics"))
"""What no workspace below a path may be called: programs look for these at the root."""
_PORTS_TRIED = 50
_MOST_CONNECTIONS = 2000
_OTHER_FILES = 400
"""Descriptors that are left to the store, the workers and the documents."""


class PortTakenError(KgPlatformError):
    """The port cannot be listened on; ``free`` is the next one that can, None if none near it can."""

    def __init__(self, message: str, *, port: int, free: int | None) -> None:
        super().__init__(message)
        self.port = port
        self.free = free


def _to_stderr(line: str) -> None:
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


def serve(
    *kgs: KnowledgeGraph,
    host: str = "127.0.0.1",
    port: int = 8000,
    address: str = "",
    announce: Callable[[str], object] = _to_stderr,
) -> None:
    """Serves the workspaces until SIGINT or SIGTERM; ``announce`` gets the address once it can be asked.

    Several are found below the names of their folders.

    ``address`` is where replicas reach this server (default: by host and port).

    Raises:
        PortTakenError: the port is taken or may not be used; the message names one that is free.
        ConfigError: who may do what is not said clearly, or two workspaces have one name.
        KgPlatformError: the host is not one of this machine, or what a role sees cannot be made.
    """
    logging.getLogger("waitress").setLevel(logging.CRITICAL)
    access, first = Access.on(host), kgs[0]
    listener = _listener(host, port)
    with closing(listener), _tenants(kgs, access, announce) as tenants:
        server = listening(
            tenants[0] if len(kgs) == 1 else Tenants(tenants, access),
            handover(first, access, tenants[0].rights, is_alone=len(kgs) == 1),
            sockets=[listener],
            threads=sum(kg.workers.most_callers for kg in kgs) + _THREADS,  # some for pages while all workers are busy
            ident=SERVER,
            connection_limit=_connections_allowed(),
            asyncore_use_poll=True,  # select knows a thousand descriptors only
            max_request_body_size=max(MAX_BODY_BYTES, *(kg.settings.server.max_upload_mb * 1_000_000 for kg in kgs))
            + 1024,
            max_request_header_size=1 << 16,
            channel_timeout=60,
            outbuf_high_watermark=1 << 20,  # so far a result may run ahead of its reader
            log_socket_errors=False,
            clear_untrusted_proxy_headers=False,  # that they are there says that a proxy was, and nothing else is read
        )
        shown = f"[{host}]" if ":" in host else "localhost" if host in ("0.0.0.0", "") else host
        for tenant in tenants:
            tenant.app.extensions[NUMBERS].listener = server
            at = f"http://{shown}:{listener.getsockname()[1]}{tenant.path}"
            announce(f"Serving at {at}/ (SPARQL at {tenant.path}/sparql); stop with Ctrl-C")
            leadership.begin(tenant.kg, f"{address}{tenant.path}" if address else at, announce)
        if not is_built():
            announce(NOT_BUILT)
        over = threading.Event()
        try:
            with stopping(), ExitStack() as fed:
                for tenant in tenants:
                    if tenant.kg.settings.cluster.followers:
                        from kgplatform.cluster.followers import feeding

                        tenant.app.extensions[NUMBERS].fed = fed.enter_context(feeding(tenant.kg.workspace))
                    parts = (tenant.kg, tenant.app.extensions[WARMING], over)
                    threading.Thread(target=_warm_up, args=parts, daemon=True).start()
                server.run()
        except (KeyboardInterrupt, SystemExit):
            pass
        finally:
            over.set()
            server.close()


@contextmanager
def _tenants(
    kgs: Sequence[KnowledgeGraph], access: Access, announce: Callable[[str], object]
) -> Iterator[list[Tenant]]:
    """The workspaces as they are offered; what was made for that is taken away at the end."""
    rights = [rights_of(kg.settings, access) for kg in kgs]
    made: list[Tenant] = []

    def make(kg: KnowledgeGraph, rules: Rights, view: str) -> Flask:
        return create_app(kg, access=access, rights=rules, view=view)

    def stop(app: Flask) -> None:
        app.extensions[JOBS].stop()
        if TRACES in app.extensions:
            app.extensions[TRACES].shutdown()

    try:
        with stopping():
            for kg, rules, path in zip(kgs, rights, paths_of([kg.folder for kg in kgs], _FIRST_PARTS), strict=True):
                kg.workers  # noqa: B018 (made here, not by the first requests at once)
                for role in rules.hidden:
                    announce(f"Preparing what {role} sees of {kg.folder}")
                made.append(Tenant(kg, rules, make, stop, path=path))
        yield made
    finally:
        for tenant in made:
            tenant.close()
            tenant.kg.workers.close()


def _connections_allowed() -> int:
    """How many connections may be open, once the limit of open files is as high as this process may set it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _MOST_CONNECTIONS + _OTHER_FILES
    if hard == resource.RLIM_INFINITY or hard > soft:
        soft = max(soft, wanted if hard == resource.RLIM_INFINITY else min(wanted, hard))
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return max(100, min(_MOST_CONNECTIONS, soft - _OTHER_FILES))


def _warm_up(kg: KnowledgeGraph, parts: Iterable[Callable[[], None]], over: threading.Event) -> None:
    """Loads what the first question, query and pages would wait for."""
    try:
        kg.workers.solutions("ASK {}", timeout_seconds=30)
        kg.search("a", 1)
        for prepare in parts:
            prepare()
    except KgPlatformError:
        pass
    except (OSError, RuntimeError, ValueError, TypeError, AttributeError, sqlite3.Error):
        if not over.is_set():  # the server may end while this loads, from files and modules that close meanwhile
            raise


@contextmanager
def stopping() -> Iterator[None]:
    """Makes SIGTERM end what is done in the block as Ctrl-C does, where signals can be set."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(_signal: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _listener(host: str, port: int) -> socket.socket:
    if not 0 <= port <= 65535:
        raise PortTakenError(f"{port} is not a port; choose one from 1024 to 65535", port=port, free=None)
    try:
        return _bound(host, port)
    except socket.gaierror as error:
        raise KgPlatformError(f"{host!r} is not an address of this machine; try --host 127.0.0.1") from error
    except PermissionError as error:
        raise PortTakenError(f"port {port} needs more rights; try --port 8000", port=port, free=None) from error
    except OSError as error:
        free = _free_after(host, port)
        way_out = f"; port {free} is free: --port {free}" if free else "; try another --host or --port"
        reason = "is taken" if free else f"cannot be used ({error.strerror})"
        raise PortTakenError(f"port {port} on {host} {reason}{way_out}", port=port, free=free) from error


def _bound(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(128)
    except OSError:
        listener.close()
        raise
    return listener


def _free_after(host: str, port: int) -> int | None:
    for candidate in range(port + 1, min(port + 1 + _PORTS_TRIED, 65536)):
        try:
            _bound(host, candidate).close()
        except OSError:
            continue
        return candidate
    return None
