"""Workspaces as one server offers them: each below a path of its own, each in the part that a client's role may see.

A role that does not see everything is served by an application of its own, over a workspace that was derived without
what is hidden (`KnowledgeGraph.without`). So no address, tool, count or index has to know of hidden graphs: they are
not there. A view follows its workspace within seconds, or a few times as long as making it takes; a request meanwhile
is answered from the one before.
"""

from __future__ import annotations

import logging
import re
import secrets
import shutil
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from flask import Flask
from werkzeug.urls import iri_to_uri
from werkzeug.wrappers import Response
from werkzeug.wsgi import ClosingIterator

from kgplatform.errors import ConfigError, KgPlatformError
from kgplatform.server.access import Access, HiddenParts, Rights, Role
from kgplatform.server.interfaces.prometheus import unready
from kgplatform.sparql.protocol import ProtocolError

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment

    from kgplatform.graph import KnowledgeGraph

_log = logging.getLogger("kgplatform.server")
FOLDER: Final = "views"
"""Where in a workspace what was derived for roles lies; it is made anew with each start."""
_LOOK_SECONDS: Final = 2.0
_LEAST_SECONDS: Final = 5.0
_SHARE: Final = 3.0
"""A view rests this many times as long as it took to make before it is made again."""
_GRACE_SECONDS: Final = 10.0

_PLAIN: Final = {"X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Cache-Control": "no-store"}

MadeApp: TypeAlias = "Callable[[KnowledgeGraph, Rights, str], Flask]"
"""Makes the application over a workspace for those whose view is the named one."""
StopApp: TypeAlias = "Callable[[Flask], None]"


@dataclass(slots=True)
class _Served:
    """A workspace with its application, how many requests it is answering, and when it was overtaken."""

    kg: KnowledgeGraph
    app: Flask
    users: int = 0
    overtaken: float = 0.0


class RoleView:
    """The part of a workspace that a role sees."""

    def __init__(self, kg: KnowledgeGraph, role: str, is_hidden: HiddenParts, make: Callable[..., Flask]) -> None:
        self._kg, self._role, self._is_hidden, self._make = kg, role, is_hidden, make
        self._lock = threading.Lock()
        self._number, self._version, self._due = 0, -1, 0.0
        self._old: list[_Served] = []
        self._served: _Served | None = None

    def follow(self) -> None:
        """Makes the view anew if the workspace has changed and the last one is old enough.

        Raises:
            KgPlatformError: it cannot be made; the one before stays.
        """
        version = self._kg.store.version
        if version == self._version or time.monotonic() < self._due:
            return
        began = time.monotonic()
        self._number += 1
        folder = self._kg.folder / FOLDER / self._role / str(self._number)
        try:
            made = self._kg.without(self._is_hidden, folder)
        except (KgPlatformError, OSError):
            shutil.rmtree(folder, ignore_errors=True)
            raise
        finally:
            took = time.monotonic() - began
            self._due = time.monotonic() + max(_LEAST_SECONDS, _SHARE * took)
        made.store.version = secrets.randbits(48)  # entity tags tell views apart by it
        served = _Served(made, self._make(made, self._role))
        with self._lock:
            if self._served is not None:
                self._served.overtaken = time.monotonic()
                self._old.append(self._served)
            self._served, self._version = served, version

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """The answer of the application over the view."""
        with self._lock:
            served = self._served
            assert served is not None
            served.users += 1
        try:
            return ClosingIterator(served.app.wsgi_app(environ, start_response), lambda: self._leave(served))
        except BaseException:
            self._leave(served)
            raise

    def _leave(self, served: _Served) -> None:
        with self._lock:
            served.users -= 1

    def clear_away(self, stop: StopApp, *, all_of_it: bool = False) -> None:
        """Closes the views that were overtaken and that nobody reads any more, or all."""
        with self._lock:
            latest = time.monotonic() - _GRACE_SECONDS
            done = [old for old in self._old if all_of_it or (not old.users and old.overtaken < latest)]
            self._old = [old for old in self._old if old not in done]
            if all_of_it and self._served is not None:
                done.append(self._served)
        for old in done:
            stop(old.app)
            old.kg.close()
            shutil.rmtree(old.kg.folder, ignore_errors=True)


class Tenant:
    """A workspace as it is offered: its application, those for roles that see a part, and who sees which."""

    def __init__(self, kg: KnowledgeGraph, rights: Rights, make: MadeApp, stop: StopApp, *, path: str = "") -> None:
        """``path`` is below which the workspace is found, such as ``/wuzhen``; empty: it is the only one.

        Raises:
            KgPlatformError: what a role sees cannot be made.
        """
        self.kg, self.rights, self.path, self._stop = kg, rights, path, stop
        self.app = make(kg, rights, "")
        self._over = threading.Event()
        self._views = {
            role: RoleView(kg, role, hidden, lambda made, view: make(made, rights, view))
            for role, hidden in rights.hidden.items()
        }
        shutil.rmtree(kg.folder / FOLDER, ignore_errors=True)
        for view in self._views.values():
            view.follow()
        self._thread = threading.Thread(target=self._follow, name="role views", daemon=True)
        if self._views:
            self._thread.start()

    def _follow(self) -> None:
        while not self._over.wait(_LOOK_SECONDS):
            for role, view in self._views.items():
                try:
                    view.follow()
                    view.clear_away(self._stop)
                except (KgPlatformError, OSError, sqlite3.Error) as error:
                    _log.warning("what %s sees of %s was not brought up to date: %s", role, self.kg.folder, error)

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """The answer to a request, by the application over what its sender sees."""
        try:
            view = self.rights.sender(environ).view
        except ProtocolError:  # an unknown token, which the application refuses in its own words
            view = ""
        answer = self._views[view] if view else self.app.wsgi_app
        if not self.rights.hidden and self.rights.sessions is None:
            return answer(environ, start_response)

        def start(status: str, headers: list[tuple[str, str]], *rest: Any) -> Callable[[bytes], object]:
            named = ", ".join(value for name, value in headers if name.lower() == "vary")
            others = [(name, value) for name, value in headers if name.lower() != "vary"]
            wanted = [name for name in ("Authorization", "Cookie") if name.lower() not in named.lower()]
            return start_response(status, [*others, ("Vary", ", ".join(filter(None, [named, *wanted])))], *rest)

        return answer(environ, start)

    def may_read(self, environ: WSGIEnvironment) -> bool:
        """True if the sender of a request may read anything here."""
        try:
            return self.rights.sender(environ).role >= Role.READ
        except ProtocolError:
            return False

    def close(self) -> None:
        """Ends what works for the applications, and closes the views; the workspace stays open."""
        self._over.set()
        if self._views:
            self._thread.join(timeout=60)
        self._stop(self.app)
        for view in self._views.values():
            view.clear_away(self._stop, all_of_it=True)
        shutil.rmtree(self.kg.folder / FOLDER, ignore_errors=True)


def paths_of(folders: Sequence[Path], taken: Iterable[str]) -> list[str]:
    """Below which path each of several workspaces is found, by its folder's name; empty for one that is alone.

    Raises:
        ConfigError: two are called the same, or one as an address of the server is.
    """
    if len(folders) == 1:
        return [""]
    names = [re.sub(r"[^\w.~-]+", "-", folder.resolve().name).strip("-.") for folder in folders]
    for name, folder in zip(names, folders, strict=True):
        if not name or names.count(name) > 1 or name in taken:
            raise ConfigError(
                f"{folder} cannot be served at /{name}: that is another workspace or a page; rename the folder",
                setting="--workspace",
            )
    return [f"/{name}" for name in names]


class Tenants:
    """Several workspaces below their paths; the address of the server itself lists those that a client may read."""

    def __init__(self, tenants: Sequence[Tenant], access: Access) -> None:
        self._tenants: Mapping[str, Tenant] = {tenant.path: tenant for tenant in tenants}
        self._access = access

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """The answer to a request, by the workspace that its path names."""
        whole = str(environ.get("PATH_INFO") or "/")
        first, _, rest = whole.removeprefix("/").partition("/")
        name = f"/{first}".encode("latin-1", "replace").decode("utf-8", "replace")
        tenant = self._tenants.get(name)
        if tenant is not None and (whole == "/" + first):
            return Response(status=308, headers={"Location": f"{iri_to_uri(name)}/"})(environ, start_response)
        if tenant is not None:
            below = {"SCRIPT_NAME": f"{environ.get('SCRIPT_NAME', '')}/{first}", "PATH_INFO": f"/{rest}"}
            return tenant({**environ, **below}, start_response)
        every = list(self._tenants.values())
        if whole in ("/healthz", "/readyz") or not self._access.admits_host(str(environ.get("HTTP_HOST") or "")):
            return next((one for one in every if unready(one.kg)), every[0])(environ, start_response)
        listed = "".join(self._listed(environ))
        status, body = (200, f"<ul>{listed}</ul>") if whole == "/" else (404, "<p>404</p>")
        page = (
            f'<!doctype html><html lang="en"><meta charset="utf-8"><title>kgplatform</title><h1>kgplatform</h1>{body}'
        )
        answer = Response(page, status=status, content_type="text/html; charset=utf-8", headers=_PLAIN)
        return answer(environ, start_response)

    def _listed(self, environ: WSGIEnvironment) -> Iterator[str]:
        for path, tenant in self._tenants.items():
            if tenant.may_read(environ):
                yield f'<li><a href="{iri_to_uri(path)}/">{path.removeprefix("/")}</a></li>'
