"""A browser on a real server over the small workspace, for the tests of pages; skips clearly where there is none.

``browsing`` serves the small workspace in a thread of this process and opens Playwright pages on it. Whatever a page
prints as an error, asks of another host, or shows beyond its width fails the test that opened it.
"""

import os
import shutil
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from small_graph import SmallGraph, small_graph
from werkzeug.serving import WSGIRequestHandler, make_server

from kgplatform.server.access import Access
from kgplatform.server.app import create_app
from kgplatform.server.frame import is_built

ROOT = Path(__file__).resolve().parents[1]
AXE = ROOT / "frontend" / "node_modules" / "axe-core" / "axe.min.js"
SHIFTS = """window.shifts = []; const seen = ({ node }) => node?.outerHTML?.slice(0, 120) ?? node?.textContent;
new PerformanceObserver((list) => list.getEntries().forEach((one) => one.hadRecentInput
  || window.shifts.push([one.value, one.sources.map(seen)])))
  .observe({ type: "layout-shift", buffered: true });"""
"""Notes what moves on a page without anybody's doing, and by how much."""
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
ARGUMENTS = (
    *("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"),
    *("--disable-sync", "--no-first-run"),
)
_PHONE = pytest.param(390, True, "zh", id="phone", marks=pytest.mark.slow)
LOOKS = pytest.mark.parametrize(("width", "dark", "language"), [pytest.param(1440, False, "en", id="wide"), _PHONE])


SLOW_LOOKS = pytest.mark.parametrize(
    ("width", "dark", "language"), [pytest.param(1440, False, "en", id="wide", marks=pytest.mark.slow), _PHONE]
)
"""A page in the quick tests, and in all of them on a phone, dark and in Chinese too."""
PATIENCE = 30_000
"""Milliseconds that a page may take on a machine that does other things too."""


def chromium():
    """The browser of this machine, if it has one that Playwright can drive; the one without windows is the lightest."""
    shells = ("chromium-headless-shell", "chrome-headless-shell")
    found = (shutil.which(name) for name in (*shells, "chromium", "chromium-browser", "google-chrome"))
    return next((path for path in found if path), None)


@dataclass
class Browsing:
    """Pages on a server of this process, and what went wrong on any of them."""

    browser: Any
    kg: SmallGraph
    address: str
    faults: list[str] = field(default_factory=list)
    pages: list[Any] = field(default_factory=list)
    stops: list[Any] = field(default_factory=list)
    zone: str | None = None

    def page(
        self, path="/", *, width=1440, height=900, dark=False, language="en", scripts=True, ready=True, address=""
    ):
        """A Playwright page at the path, its scripts done; each is a browser window of its own."""
        context = self.browser.new_context(
            viewport={"width": width, "height": height},
            color_scheme="dark" if dark else "light",
            timezone_id=self.zone,
            locale="zh-CN" if language == "zh" else "en-GB",
            java_script_enabled=scripts,
            reduced_motion="reduce",
            accept_downloads=True,
        )
        if scripts:
            context.add_init_script(SHIFTS)
        page = context.new_page()
        page.set_default_timeout(PATIENCE)
        page.on("console", lambda message: self._note(page, message))
        page.on("pageerror", lambda error: self.faults.append(f"{path}: {error}"))
        page.on("request", lambda request: self._asked(path, request.url))
        page.goto((address or self.address) + path)
        if scripts and ready:
            page.wait_for_selector("html[data-ready=yes]", state="attached")
        self.pages.append(page)
        return page

    def _note(self, page, message):
        expected = "the server responded with a status of 4"  # a page may ask for what is refused, and say so
        ended = any(f"status of {status}" in message.text for status in (503, 504))  # cancelled, or stopped in time
        if message.type == "error" and expected not in message.text and not ended:
            self.faults.append(f"{page.url}: {message.text}")

    def _asked(self, path, url):
        parts = urlsplit(url)
        if parts.scheme in ("http", "https", "ws", "wss") and parts.hostname != "127.0.0.1":
            self.faults.append(f"{path} asks another host: {url}")

    def check(self):
        """Fails for errors, requests to other hosts, and pages that scroll sideways."""
        for page in self.pages:
            with suppress(Exception):
                over = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
                if over > 0:
                    self.faults.append(f"{page.url} is {over} px too wide")
        assert not self.faults, "\n".join(self.faults)

    def serve(self, kg):
        """Serves another workspace in a thread; its address."""
        address, stop = serve_in_thread(kg)
        self.stops.append(stop)
        return address


def serve_in_thread(kg):
    """The address of a server over the workspace, and what ends it."""
    _ = kg.workers  # made here, not by the first requests at once
    app = create_app(kg, access=Access.on("127.0.0.1"))
    server = make_server("127.0.0.1", 0, app, threaded=True, request_handler=Quiet)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()

    def stop():
        server.shutdown()
        server.server_close()
        thread.join(timeout=5)

    return f"http://127.0.0.1:{server.server_port}", stop


class Quiet(WSGIRequestHandler):
    """Serves without a word on the terminal."""

    protocol_version = "HTTP/1.1"

    def log(self, *_):
        """Nothing."""


def missing():
    """What a machine lacks for these tests; empty if nothing."""
    if not is_built():
        return "the assets of the pages are not built: make web"
    if chromium() is None:
        return "there is no Chromium here"
    try:
        import playwright.sync_api  # noqa: F401
    except ImportError:
        return "playwright is not installed"
    return ""


@pytest.fixture(scope="module")
def browser():
    """The browser of the module."""
    if why := missing():
        pytest.skip(why)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=chromium(), args=list(ARGUMENTS))
        yield running
        running.close()


@pytest.fixture(scope="module")
def served(browser, tmp_path_factory):
    """The small workspace and its address."""
    kg = small_graph(tmp_path_factory.mktemp("served"), timeout_seconds=10)
    address, stop = serve_in_thread(kg)
    yield kg, address
    stop()
    kg.close()


@pytest.fixture
def browsing(browser, served):
    """Pages on the small workspace; their faults fail the test."""
    found = Browsing(browser, *served)
    try:
        yield found
        found.check()
    finally:
        for page in found.pages:
            page.context.close()
        for stop in found.stops:
            stop()


def until(page, expression):
    """Waits until the JavaScript expression holds; Playwright's own way needs `eval`, which the pages forbid."""
    end = time.monotonic() + PATIENCE / 1000
    while not page.evaluate(expression):
        assert time.monotonic() < end, f"it never came to {expression}"
        time.sleep(0.03)


def axe(page, *, without=()):
    """Fails unless the page meets WCAG 2.2 AA as far as axe-core can tell; skips where that is not installed."""
    if not AXE.is_file():
        pytest.skip("axe-core is not installed: make web")
    page.evaluate(AXE.read_text(encoding="utf-8"))
    options = {"runOnly": {"type": "tag", "values": RULES}, "rules": {rule: {"enabled": False} for rule in without}}
    found = page.evaluate("options => axe.run(document, options)", options)
    told = [_told(item) for item in found["violations"]]
    assert not told, "\n".join(told)


def steady(page, *, most=0.1):
    """Fails if what is shown moved by more than that in all, by the measure of Web Vitals (cumulative layout shift)."""
    page.wait_for_load_state("networkidle")
    moved = page.evaluate("window.shifts")
    assert sum(value for value, _ in moved) < most, f"{page.url} moves: {moved}"


def slowly(page, path="**/built/app-*.js", seconds=0.2):
    """Holds back the scripts of the pages that this window opens, so that a page is drawn before they come."""

    def wait(route):
        time.sleep(seconds)
        route.continue_()

    page.context.route(path, wait)


def _told(item):
    places = "; ".join(f"{node['html'][:160]} ({node['failureSummary'][:200]})" for node in item["nodes"][:3])
    return f"{item['id']}: {item['help']}: {places}"


def shot(page, name):
    """Keeps a picture of the page where ``SHOTS`` names a folder, for whoever wants to look."""
    folder = os.environ.get("SHOTS")
    if folder:
        Path(folder).mkdir(parents=True, exist_ok=True)
        page.screenshot(path=str(Path(folder) / f"{name}.png"))
