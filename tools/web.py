"""Builds the scripts, styles and fonts of the pages from ``frontend/`` into ``kgplatform/server/static``.

``python tools/web.py`` needs Node 20 or later with npm, and the network once for the packages of the lock. Without
them the pages work as plain forms and tables; ``KGPLATFORM_REQUIRE_WEB=1`` makes that an error, for releases.
``KGPLATFORM_WEB=keep`` takes what is there as it is.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCES, TARGET = ROOT / "frontend", ROOT / "kgplatform" / "server" / "static"
PLAIN = "the pages work as plain forms and tables; `make web` builds their scripts"
SECONDS = 300


def digest(*paths: Path) -> str:
    """The digest of files by name and content."""
    found = hashlib.sha256()
    for path in sorted(paths):
        found.update(path.relative_to(SOURCES).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return found.hexdigest()


def sources() -> list[Path]:
    """The files that the assets are made of."""
    kept = (path for path in SOURCES.rglob("*") if "node_modules" not in path.parts)
    return [path for path in kept if path.is_file()]


def build() -> str:
    """Builds what is out of date; what was done, in one line.

    Raises:
        RuntimeError: it cannot be built.
    """
    stamp, wanted = TARGET / ".stamp", digest(*sources())
    if stamp.is_file() and stamp.read_text() == wanted:
        return "the assets of the pages are up to date"
    npm, node = shutil.which("npm"), shutil.which("node")
    if not npm or not node:
        raise RuntimeError("Node.js 20+ with npm is needed to build the assets of the pages")
    locked, mark = digest(SOURCES / "package-lock.json"), SOURCES / "node_modules" / ".lock-digest"
    if not mark.is_file() or mark.read_text() != locked:
        _run(npm, "ci", "--no-audit", "--no-fund", "--loglevel=error")
        mark.write_text(locked)
    said = _run(node, "build.mjs")
    stamp.write_text(wanted)
    return said


def _run(*command: str) -> str:
    try:
        done = subprocess.run(command, cwd=SOURCES, capture_output=True, text=True, timeout=SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise RuntimeError(f"{Path(command[0]).name} did not end well: {error}") from error
    if done.returncode:
        last = (done.stderr.strip() or done.stdout.strip() or "no message").splitlines()[-1]
        raise RuntimeError(f"{Path(command[0]).name} {command[1]} failed: {last}")
    return done.stdout.strip()


def main() -> int:
    """Builds, or says why not; 1 only where the assets are required."""
    required = os.environ.get("KGPLATFORM_REQUIRE_WEB") == "1"
    if os.environ.get("KGPLATFORM_WEB") == "keep" and not required:
        return 0
    try:
        line, failed = build(), False
    except RuntimeError as error:
        line, failed = (str(error) if required else f"{error}; {PLAIN}"), True
    sys.stderr.write(f"{line}\n")
    return int(failed and required)


if __name__ == "__main__":
    sys.exit(main())
