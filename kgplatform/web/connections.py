"""Connections that stay with their thread while requests keep coming, and that no slow client can hold for ever.

waitress reads every connection in one thread and answers in others. For a look-up, handing it over twice takes longer
than answering it. So a thread that has answered a plain query waits a moment for the next one on the same connection,
unless somebody else waits for a thread; then the connection goes back. What is not plain is served as waitress does.

A request that comes in drops is cut off: whoever is slower than `_SLOWEST` once `_PATIENCE_SECONDS` have passed does
not mean to be served.
"""

from __future__ import annotations

import re
import select
import time
from functools import lru_cache
from typing import Any, Final

from waitress.adjustments import Adjustments
from waitress.channel import ClientDisconnected, HTTPChannel
from waitress.parser import HTTPRequestParser
from waitress.server import create_server
from waitress.task import WSGITask
from waitress.utilities import Error

from kgplatform.web.shortcut import BEGUN, Answer, Begun, Shortcut

_WAIT_MS: Final = 10
"""So long a thread waits for the next request of the same client."""
_PATIENCE_SECONDS: Final = 20.0
_SLOWEST: Final = 1000
"""Bytes a second."""
_PLAIN: Final = re.compile(rb"GET (/sparql\?([!\"$-~]*)) HTTP/1\.1\r\n")
"""The first line of a plain query: visible letters of ASCII, without a fragment."""
_MOST_REMEMBERED: Final = 20_000


class _TooSlowError(Error):  # type: ignore[misc]
    code = 408
    reason = "Request Timeout"


class _Request(HTTPRequestParser):  # type: ignore[misc]
    """A request, when it began to come in, and what the short way has made of it so far."""

    def __init__(self, adj: Adjustments) -> None:
        super().__init__(adj)
        self.since = time.monotonic()
        self.begun: Begun | None = None

    def parse_header(self, header_plus: bytes) -> None:
        """Reads the header; that of a plain query only once for all that a client sends alike.

        Raises:
            ParsingError: it is none.
        """
        plain = _PLAIN.match(header_plus)
        fields = (
            _fields(header_plus[plain.end() :], self.adj) if plain and len(header_plus) < _MOST_REMEMBERED else None
        )
        if plain is None or fields is None:
            super().parse_header(header_plus)
            return
        self.first_line, self.headers = plain[0][:-2], dict(fields)
        self.request_uri, self.path, self.query = plain[1].decode("ascii"), "/sparql", plain[2].decode("ascii")
        self.command, self.version, self.url_scheme = "GET", "1.1", self.adj.url_scheme
        self.proxy_scheme = self.proxy_netloc = self.fragment = ""

    def is_dripping(self) -> bool:
        """Whether it comes in so slowly that it is of no use."""
        seconds = time.monotonic() - self.since
        received: int = self.header_bytes_received + self.body_bytes_received
        return seconds > _PATIENCE_SECONDS and received < _SLOWEST * seconds

    def is_plain(self) -> bool:
        """Whether it is a GET of the endpoint without anything about the connection."""
        if self.error is not None or self.command != "GET" or self.path != "/sparql" or self.version != "1.1":
            return False
        odd = "CONNECTION" in self.headers or "EXPECT" in self.headers
        return not odd and self.body_rcv is None and not self.proxy_netloc


class _Task(WSGITask):  # type: ignore[misc]
    """A request on its way to the application, with what is begun of its answer."""

    def get_environment(self) -> dict[str, Any]:
        """The environment, as WSGI has it."""
        environ: dict[str, Any] = super().get_environment()
        if self.request.begun is not None:
            environ[BEGUN] = self.request.begun
        return environ


@lru_cache(maxsize=256)
def _fields(header: bytes, adj: Adjustments) -> dict[str, str] | None:
    """The fields of a header, as waitress reads them; None where they say something about body or connection."""
    read = HTTPRequestParser(adj)
    read.parse_header(b"GET / HTTP/1.1\r\n" + header)
    is_plain = read.body_rcv is None and not read.connection_close and not read.expect_continue
    return None if "AUTHORIZATION" in read.headers or not is_plain else dict(read.headers)


class Connection(HTTPChannel):  # type: ignore[misc]
    """A connection with a client."""

    parser_class = _Request
    task_class = _Task
    request: _Request | None = None
    _keeper: object = None
    """Stands for the thread that reads from the connection, where that is not the one that watches all of them."""

    def readable(self) -> bool:
        """Whether the thread that watches all connections is to read from this one."""
        if self._keeper is not None:
            return False
        if self.request is not None and self.request.is_dripping():
            self._cut_off()
        return bool(super().readable())

    def _cut_off(self) -> None:
        with self.requests_lock:
            request, self.request = self.request, None
            if request is None:
                return
            request.error, request.completed = _TooSlowError("the request comes in too slowly"), True
            self.requests.append(request)
            if len(self.requests) == 1:
                self.server.add_task(self)

    def answer_in_turn(self) -> None:
        """Answers a request, and those that follow soon while they are plain queries."""
        keeper = object()
        while (found := self._answer()) is not None:
            with self.requests_lock:
                self._keeper = keeper
                self.requests.pop(0)
            self._send(found)
            if not self._is_followed():
                self._let_go(keeper)
                return
        with self.requests_lock:
            self._keeper = None
        begun = self.requests[0].begun
        try:
            super().service()
        finally:
            if begun is not None:
                begun.drop()

    service = answer_in_turn  # what waitress calls

    def _answer(self) -> Answer | None:
        """The answer to a plain query; None where the application has to see to it."""
        request = self.requests[0]
        if not request.is_plain() or not self.connected:
            return None
        door: Shortcut = self.server.door
        found = door.answer(request.query, request.headers, self.addr[0])
        if isinstance(found, Begun):
            request.begun = found
            return None
        return found

    def _send(self, answer: Answer) -> None:
        data = answer.as_http()
        try:
            with self.outbuf_lock:
                if not self.total_outbufs_len and self.connected:
                    data = data[self.socket.send(data) :]
        except BlockingIOError:
            pass
        except OSError:
            self.will_close, data = True, b""
        self.last_activity = time.time()
        if data:
            try:
                self.write_soon(data)
            except ClientDisconnected:
                self.will_close = True

    def _is_followed(self) -> bool:
        """Whether a whole request has come in meanwhile, which this thread is to answer too."""
        if self.requests:
            self.server.add_task(self)
            return False
        busy = self.request is not None or self.total_outbufs_len or self.server.task_dispatcher.queue
        if busy or self.will_close or not self.connected:
            return False
        waiting = select.poll()
        waiting.register(self.socket.fileno(), select.POLLIN)
        return bool(waiting.poll(_WAIT_MS)) and self._is_received()

    def _is_received(self) -> bool:
        try:
            data = self.socket.recv(self.adj.recv_bytes)
        except BlockingIOError:
            return False
        except OSError:
            data = b""
        if not data:
            self.will_close = True
            return False
        request = self.parser_class(self.adj)
        taken = request.received(data)
        if request.completed and not request.error and not request.empty and taken == len(data):
            with self.requests_lock:
                self.requests.append(request)
            return True
        self.received(data)
        return False

    def _let_go(self, keeper: object) -> None:
        """Gives the connection back to the thread that watches all of them."""
        with self.requests_lock:
            if self._keeper is keeper:
                self._keeper = None
        self.server.pull_trigger()


def listening(application: Shortcut, **settings: Any) -> Any:
    """A server over the application with these connections; ``settings`` are those of waitress."""
    server = create_server(application, **settings)
    server.door, server.channel_class = application, Connection
    return server
