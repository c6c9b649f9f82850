"""Runs the server: waitress, a few threads, a clean stop, and one clear line when the port is taken."""

from __future__ import annotations

import logging
import resource
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType

from kgplatform.errors import KgPlatformError
from kgplatform.web.app import JOBS, WARMING, create_app
from kgplatform.web.assets import NOT_BUILT, is_built
from kgplatform.web.connections import listening
from kgplatform.web.needs import Graph
from kgplatform.web.protocol import MAX_BODY_BYTES
from kgplatform.web.security import Access
from kgplatform.web.shortcut import SERVER, Shortcut

_THREADS = 8
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
    kg: Graph, *, host: str = "127.0.0.1", port: int = 8000, announce: Callable[[str], object] = _to_stderr
) -> None:
    """Serves the workspace until SIGINT or SIGTERM; ``announce`` gets the address once it can be asked.

    Raises:
        PortTakenError: the port is taken or may not be used; the message names one that is free.
        KgPlatformError: the host is not one of this machine.
    """
    logging.getLogger("waitress").setLevel(logging.CRITICAL)
    app = create_app(kg, access=Access.on(host))
    workers = kg.workers  # made here, not by the first requests at once
    listener = _listener(host, port)
    door = app.wsgi_app
    assert isinstance(door, Shortcut)
    server = listening(
        door,
        sockets=[listener],
        threads=workers.most_callers + _THREADS,  # some are left for pages while all workers are busy
        ident=SERVER,
        connection_limit=_connections_allowed(),
        asyncore_use_poll=True,  # select knows a thousand descriptors only
        max_request_body_size=max(MAX_BODY_BYTES, kg.settings.server.max_upload_mb * 1_000_000) + 1024,
        max_request_header_size=1 << 16,
        channel_timeout=60,
        outbuf_high_watermark=1 << 20,  # so far a result may run ahead of its reader
        log_socket_errors=False,
        clear_untrusted_proxy_headers=False,  # that they are there says that a proxy was, and nothing else is read
    )
    shown = f"[{host}]" if ":" in host else "localhost" if host in ("0.0.0.0", "") else host
    announce(f"Serving at http://{shown}:{listener.getsockname()[1]}/ (SPARQL at /sparql); stop with Ctrl-C")
    if not is_built():
        announce(NOT_BUILT)
    try:
        with _stopping():
            threading.Thread(target=_warm_up, args=(kg, app.extensions[WARMING]), daemon=True).start()
            server.run()
    except (KeyboardInterrupt, SystemExit):
        pass
    finally:
        server.close()
        app.extensions[JOBS].stop()
        workers.close()


def _connections_allowed() -> int:
    """How many connections may be open, once the limit of open files is as high as this process may set it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _MOST_CONNECTIONS + _OTHER_FILES
    if hard == resource.RLIM_INFINITY or hard > soft:
        soft = max(soft, wanted if hard == resource.RLIM_INFINITY else min(wanted, hard))
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return max(100, min(_MOST_CONNECTIONS, soft - _OTHER_FILES))


def _warm_up(kg: Graph, parts: Iterable[Callable[[], None]]) -> None:
    """Loads what the first question, query and pages would wait for."""
    with suppress(KgPlatformError):
        kg.workers.solutions("ASK {}", timeout_seconds=30)
        kg.search("a", 1)
        for prepare in parts:
            prepare()


@contextmanager
def _stopping() -> Iterator[None]:
    """Makes SIGTERM end the server as Ctrl-C does, where signals can be set."""
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
