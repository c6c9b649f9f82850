"""A server on this machine that says what a test wants: a model, an embedder, a search engine, a web page."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from werkzeug.serving import WSGIRequestHandler, make_server


@contextmanager
def local_server(reply: Callable[[str, Any], object]) -> Iterator[str]:
    """The address of a server; ``reply`` gets path and JSON of a request and gives a page as text, else JSON."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            said = reply(self.path, json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or "null"))
            data = (said if isinstance(said, str) else json.dumps(said)).encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/html" if isinstance(said, str) else "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_POST = do_GET  # noqa: N815 (as the library calls it)

        def log_message(self, *_: object) -> None:
            """Nothing on the terminal."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@contextmanager
def running(app: Any) -> Iterator[str]:
    """The address of a WSGI application, served in threads."""
    server = make_server("127.0.0.1", 0, app, threaded=True, request_handler=_Quiet)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


class _Quiet(WSGIRequestHandler):
    def log(self, *_: object) -> None:
        """Nothing on the terminal."""
