"""Makes the pictures of ``docs/images``: serves the sample workspaces and photographs their pages with Chromium.

``python tools/screenshots.py [NAME ...]`` takes all pictures, or those named. The workspaces are built by ``kgplatform
demo`` in ``demo/`` first, if they are not there. It needs Playwright and a Chromium of the machine.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

ROOT = Path(__file__).resolve().parents[1]
DEMO = ROOT / "demo"
IMAGES = ROOT / "docs" / "images"
PORT = 8391
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync", "--no-first-run"]
_PLACES = (
    "SELECT ?hotel ?price ?lat ?long WHERE {\n  ?hotel a travel:Hotel ;\n         travel:pricePerNight ?price ;\n"
    "         geo:latitude ?lat ;\n         geo:longitude ?long .\n}\nORDER BY DESC(?price)\nLIMIT 40"
)


@dataclass(frozen=True, slots=True)
class Picture:
    """A page of a sample workspace, and how it is looked at."""

    name: str
    pack: str
    path: str
    width: int = 1280
    height: int = 860
    dark: bool = False
    language: str = "en"
    wait: float = 1.5


PICTURES = (
    Picture("ask", "travel", f"/ask?question={quote('Which hotels in Wuzhen cost less than 1000 yuan?')}"),
    Picture("ask-zh", "travel", f"/ask?question={quote('乌镇有哪些酒店？')}", 390, 844, language="zh"),
    Picture("query", "travel", f"/query?query={quote(_PLACES)}&view=chart", wait=4),
    Picture("entity", "travel", "/search?q=Xizha"),
    Picture("map", "travel", "/map", wait=3),
    Picture("documents", "travel", "/documents"),
    Picture("courses", "academic", f"/courses/{quote('DT2213')}", wait=3),
)


def main(names: list[str]) -> int:
    """Takes the pictures named, or all."""
    from playwright.sync_api import sync_playwright

    browser_path = shutil.which("chromium") or shutil.which("google-chrome")
    if browser_path is None:
        print("pictures are taken with Chromium, and there is none on this machine", file=sys.stderr)
        return 1
    wanted = [picture for picture in PICTURES if not names or picture.name in names]
    packs = sorted({picture.pack for picture in wanted})
    if not all((DEMO / pack / "kgplatform.toml").exists() for pack in packs):
        subprocess.run([_command(), "demo", "--no-serve", "--folder", str(DEMO)], check=True, cwd=ROOT)
    IMAGES.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_path, args=ARGUMENTS)
        for pack in packs:
            with _served(DEMO / pack) as address:
                for picture in (item for item in wanted if item.pack == pack):
                    _take(browser, picture, address)
        browser.close()
    return 0


def _take(browser: Any, picture: Picture, address: str) -> None:
    context = browser.new_context(
        viewport={"width": picture.width, "height": picture.height},
        color_scheme="dark" if picture.dark else "light",
        locale="zh-CN" if picture.language == "zh" else "en-GB",
        reduced_motion="reduce",
    )
    page = context.new_page()
    for _ in range(2 if picture.path.startswith("/ask") else 1):  # the first question of a process takes longer
        page.goto(f"{address}{picture.path}", wait_until="networkidle", timeout=60_000)
    if picture.path.startswith("/search"):
        page.locator("main a[href*='/id/']").first.click()
        page.wait_for_load_state("networkidle")
    time.sleep(picture.wait)
    page.screenshot(path=str(IMAGES / f"{picture.name}.png"))
    context.close()
    print(f"{picture.name}.png")


@contextmanager
def _served(workspace: Path) -> Iterator[str]:
    address = f"http://127.0.0.1:{PORT}"
    with subprocess.Popen([_command(), "serve", "-w", str(workspace), "--port", str(PORT)], cwd=ROOT) as server:
        try:
            _wait(address)
            yield address
        finally:
            server.terminate()


def _wait(address: str) -> None:
    for _ in range(120):
        try:
            urllib.request.urlopen(f"{address}/static/mark.svg", timeout=2).close()
        except OSError:
            time.sleep(0.5)
        else:
            return
    raise SystemExit(f"no server came up at {address}")


def _command() -> str:
    beside = Path(sys.executable).with_name("kgplatform")
    return str(beside) if beside.exists() else "kgplatform"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
