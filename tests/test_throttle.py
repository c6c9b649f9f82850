"""What a server says of its limits counts for every thread that asks it."""

import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from kgplatform.errors import ModelUnavailableError
from kgplatform.models.chat import OpenAIModel, Throttle
from kgplatform.types import Message


class Limited(ThreadingHTTPServer):
    """Answers at most so many requests in each window of time, and 429 with Retry-After to the others."""

    daemon_threads = True

    def __init__(self, allowed, seconds, retry_after):
        super().__init__(("127.0.0.1", 0), Handler)
        self.allowed, self.seconds, self.retry_after = allowed, seconds, retry_after
        self.lock = threading.Lock()
        self.window, self.used, self.refused = time.monotonic(), 0, list[float]()
        self.asked: list[float] = []

    def admits(self):
        with self.lock:
            now = time.monotonic()
            self.asked.append(now)
            if now - self.window > self.seconds:
                self.window, self.used = now, 0
            self.used += 1
            if self.used > self.allowed:
                self.refused.append(now)
            return self.used <= self.allowed


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Limited

    def log_message(self, *_):
        pass

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        is_admitted = self.server.admits()
        said = {"choices": [{"index": 0, "message": {"role": "assistant", "content": "yes"}}]}
        body = json.dumps(said if is_admitted else {"error": {"message": "slow down"}}).encode()
        self.send_response(200 if is_admitted else 429)
        if not is_admitted and self.server.retry_after is not None:
            self.send_header("Retry-After", self.server.retry_after)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@contextmanager
def limited(allowed, seconds, retry_after, **options):
    with Limited(allowed, seconds, retry_after) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        yield server, OpenAIModel("m", url=f"http://127.0.0.1:{server.server_port}/v1", timeout_seconds=20.0, **options)
        server.shutdown()


@pytest.mark.parametrize("retry_after", ["1", pytest.param(None, marks=pytest.mark.slow)])
def test_many_threads_get_all_their_replies_from_a_server_that_limits_them(retry_after):
    with limited(4, 0.5, retry_after) as (server, model), ThreadPoolExecutor(8) as pool:
        replies = list(pool.map(model.complete, [[Message("user", f"question {n}")] for n in range(12)]))
    assert [reply.text for reply in replies] == ["yes"] * 12
    assert server.refused


def test_nobody_asks_while_the_server_wants_to_be_left_alone():
    with limited(1, 30.0, "1", retries=1) as (server, model):
        model.complete([Message("user", "first")])
        with ThreadPoolExecutor(1) as pool:
            told = pool.submit(model.complete, [Message("user", "second")])  # 429: come again in a second
            while not model._server._throttle._open_at:
                time.sleep(0.001)
            held_at = time.monotonic()
            with pytest.raises(ModelUnavailableError, match="asked too often"):
                model.complete([Message("user", "third")])
            with pytest.raises(ModelUnavailableError):
                told.result()
    assert all(moment - held_at > 0.8 for moment in server.asked[2:])


def test_a_limit_halves_what_is_under_way_once_and_answers_bring_it_back():
    throttle = Throttle()
    begun = [throttle.request(lambda _: None) for _ in range(8)]
    times = [one.__enter__() for one in begun]
    begun.pop().__exit__(None, None, None)
    until = throttle.hold(times[-1], 30.0)
    throttle.hold(times[0], 30.0)  # was under way by then: the same news
    assert throttle._allowed == 4
    assert until > time.monotonic() + 25
    throttle.reopen(until + 60)
    for one in begun:
        one.__exit__(None, None, None)
    for _ in range(20):
        throttle.answered()
    assert throttle._allowed > 6
    waited = []
    with throttle.request(waited.append):
        assert waited == []


def test_a_wait_that_the_server_prolongs_is_waited_out():
    throttle = Throttle()
    waited = []
    throttle.hold(time.monotonic(), 20.0)

    def sleep(seconds):
        waited.append(seconds)
        if len(waited) == 1:
            throttle.hold(0.0, 50.0)

    with throttle.request(sleep):
        assert [round(seconds, -1) for seconds in waited] == [20, 50]
