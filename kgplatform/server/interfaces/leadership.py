"""Servers beside one another: who wrote reads what was written, and what a replica may not do the leader does.

A change is answered with the number of its patch, in the header `NUMBER` and in a cookie. A replica that is asked with
a number waits for it a little, and has the leader answer where it does not come.
"""

from __future__ import annotations

import http.client
import re
import select
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from flask import Flask, Response, g, request

from kgplatform.errors import KgPlatformError
from kgplatform.server.access import FOR_LEADER, ForLeaderError, Role, client
from kgplatform.server.http import problem
from kgplatform.sparql.protocol import ProtocolError

if TYPE_CHECKING:
    from kgplatform.cluster.replica import Replica
    from kgplatform.graph import KnowledgeGraph

NUMBER: Final = "Kgplatform-Patch"
"""The header of a response to a change, and of requests that are to see it."""
_COOKIE: Final = "kgplatform_patch"
MARKS: Final = (b"kgplatform-patch", b"kgplatform_patch")
"""What a request holds that is to see a change; such go to the application."""
_KEPT_SECONDS, _PIECE = 60, 1 << 16
_PATIENCE_SECONDS, _CONNECT_SECONDS, _LEADER_SECONDS, _LOOK_SECONDS = 2.0, 10.0, 120.0, 1.0
_UNKNOWN: Final = "the leader did not answer, and leads no more: whether it did what was asked is not known; look at it"
_READS: Final = frozenset(("GET", "HEAD", "OPTIONS"))
_HOP_BY_HOP: Final = frozenset(
    ("connection", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade", "host")
) | {"origin", "referer", "content-length", "server", "date"}


def add(app: Flask, kg: KnowledgeGraph, replica: Replica | None) -> None:
    """Has the application do so; to be called after it knows who asks."""

    @app.before_request
    def in_line() -> Response | None:
        if replica is None or replica.leads or request.path.startswith("/static/"):
            g.pop(FOR_LEADER, None)
            return None
        setattr(g, FOR_LEADER, True)
        if request.method not in _READS:
            request.get_data(cache=True, parse_form_data=False)  # as it came, should it be for the leader
        number = _wanted()
        if number and not replica.wait(number, _PATIENCE_SECONDS):
            return passed_on(replica)
        return None

    @app.errorhandler(ForLeaderError)
    def for_leader(_error: ForLeaderError) -> Response:
        assert replica is not None
        try:
            return passed_on(replica)
        except ProtocolError as refused:  # nobody else handles what is raised here
            return problem(refused.status, refused.title, refused.detail)

    @app.after_request
    def tell(response: Response) -> Response:
        recorder = kg.recorder
        is_change = request.method not in _READS and response.status_code < 300
        if recorder is not None and is_change and (replica is None or replica.leads):
            number = str(recorder.number)
            response.headers[NUMBER] = number
            response.set_cookie(_COOKIE, number, max_age=_KEPT_SECONDS, httponly=True, samesite="Lax")
        return response


def _wanted() -> int:
    given = request.headers.get(NUMBER) or request.cookies.get(_COOKIE) or ""
    return int(given) if re.fullmatch("[0-9]{1,15}", given) else 0


def passed_on(replica: Replica) -> Response:
    """The leader's response to this request.

    Raises:
        ProtocolError: 503, there is no leader that can be asked, or another leads before it answers.
    """
    try:
        where = urlsplit(address := replica.leader)
        if where.hostname is None:
            raise ProtocolError(503, "No leader", "nobody leads at the moment, or its address is not known; try again")
        kind = http.client.HTTPSConnection if where.scheme == "https" else http.client.HTTPConnection
        link = kind(where.hostname, where.port, timeout=_CONNECT_SECONDS)
        link.connect()
        link.sock.settimeout(_LEADER_SECONDS)
        headers = {name: value for name, value in request.headers if name.lower() not in _HOP_BY_HOP}
        if client().role is not Role.ADMIN or client().has_token:  # who is local there is not meant
            headers["X-Forwarded-For"] = request.remote_addr or ""
        body = None if request.method in _READS else request.get_data(cache=True, parse_form_data=False)
        link.request(request.method, request.full_path.removesuffix("?"), body, headers)
        answers = select.poll()
        answers.register(link.sock, select.POLLIN)
        for _ in range(int(_LEADER_SECONDS / _LOOK_SECONDS)):
            if answers.poll(_LOOK_SECONDS * 1000):
                break
            if replica.leader != address:
                link.close()
                raise ProtocolError(503, "No leader", _UNKNOWN)
        found = link.getresponse()
    except (KgPlatformError, OSError, http.client.HTTPException) as error:
        if isinstance(error, ProtocolError):
            raise
        raise ProtocolError(503, "No leader", f"the leader cannot be reached ({error}); try again") from error

    def pieces() -> Iterator[bytes]:
        with suppress(OSError, http.client.HTTPException):
            yield from iter(lambda: found.read1(_PIECE), b"")
        link.close()

    kept = [(name, value) for name, value in found.getheaders() if name.lower() not in _HOP_BY_HOP]
    return Response(pieces(), status=found.status, headers=kept, direct_passthrough=True)


def begin(kg: KnowledgeGraph, address: str, announce: Callable[[str], object]) -> None:
    """Lets those who follow know the address of the leader, or begins to follow."""
    recorder, replica = kg.recorder, kg.replica
    if recorder is None:
        return
    if replica is None or replica.leads:
        recorder.journal.announce(address)
    if replica is None:
        return

    def leads() -> None:
        recorder.journal.announce(address)
        announce("The leader is gone; this server leads now")

    replica.took_over = leads
    replica.start()
    if replica.trouble:
        announce(f"What is here is served, and no change is taken: {replica.trouble}")
    elif not replica.leads:
        announce(f"A replica, at patch {replica.number}")
