"""How heavy the first page is, and how soon it can be used: a browser with an empty cache on a server over a workspace.

    kgplatform demo --folder demo --no-serve
    python -m benchmarks.first_page demo/travel

Printed for the first page and for the pages given by address: kilobytes sent (fonts apart), milliseconds until
something is drawn (first contentful paint) and until the scripts are done (``data-ready``), how far what is shown moved
by itself (cumulative layout shift), and what was asked of other hosts. Medians of five windows.
"""

from __future__ import annotations

import argparse
import logging
import shutil
import threading
from pathlib import Path
from statistics import median
from urllib.parse import urlsplit

from playwright.sync_api import Browser, sync_playwright
from werkzeug.serving import make_server

from kgplatform.graph import KnowledgeGraph
from kgplatform.server.access import Access
from kgplatform.server.app import create_app

WINDOWS = 5
NOTES = """window.moved = 0; window.ready = 0;
new PerformanceObserver((list) => list.getEntries().forEach((one) => { if (!one.hadRecentInput) moved += one.value; }))
  .observe({ type: "layout-shift", buffered: true });
new MutationObserver(() => { if (document.documentElement?.dataset.ready) window.ready ||= performance.now(); })
  .observe(document, { subtree: true, childList: true, attributes: true, attributeFilter: ["data-ready"] });"""
FOUND = """() => {
  const all = [...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")];
  const size = (list) => list.reduce((sum, one) => sum + one.encodedBodySize, 0) / 1000;
  const isFont = (one) => one.name.includes(".woff2");
  const drawn = performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? 0;
  return [size(all.filter((one) => !isFont(one))), size(all.filter(isFont)), drawn, window.ready, window.moved];
}"""


def opened(browser: Browser, address: str, outside: set[str]) -> list[float]:
    """What one window with an empty cache notes of a page; hosts other than this machine's go into ``outside``."""
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    context.add_init_script(NOTES)
    page = context.new_page()
    page.on("request", lambda sent: outside.add(urlsplit(sent.url).hostname or ""))
    page.goto(address)
    page.wait_for_selector("html[data-ready=yes]", state="attached", timeout=60_000)
    page.wait_for_load_state("networkidle")
    noted: list[float] = page.evaluate(FOUND)
    context.close()
    return noted


def main() -> int:
    """Prints a line for each page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("workspace", type=Path)
    parser.add_argument("pages", nargs="*", default=["/", "/query", "/explore", "/map", "/ontology", "/api"])
    given = parser.parse_args()
    names = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
    path = next((found for name in names if (found := shutil.which(name))), None)
    outside: set[str] = set()
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    with KnowledgeGraph.open(given.workspace) as kg, sync_playwright() as playwright:
        _ = kg.workers
        server = make_server("127.0.0.1", 0, create_app(kg, access=Access.on("127.0.0.1")), threaded=True)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        print("page  KB  KB of fonts  drawn, ms  ready, ms  moved")
        for name in given.pages:
            address = f"http://127.0.0.1:{server.server_port}{name}"
            opened(browser, address, outside)  # the server works out its numbers once
            noted = [opened(browser, address, outside) for _ in range(WINDOWS)]
            size, fonts, drawn, ready, moved = (median(column) for column in zip(*noted, strict=True))
            print(f"{name}  {size:.1f}  {fonts:.1f}  {drawn:.0f}  {ready:.0f}  {moved:.3f}", flush=True)
        browser.close()
        server.shutdown()
    print("asked of other hosts:", ", ".join(sorted(outside - {"127.0.0.1"})) or "nothing")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
