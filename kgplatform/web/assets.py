"""The built scripts, styles and fonts of the pages: what there is, where it is served, and one line if there is none.

They are made from ``frontend/`` by ``make web`` and shipped in wheels. Pages work without them as plain forms and
tables, styled by ``templates/static``.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from flask import Blueprint, send_from_directory

FOLDER = Path(__file__).resolve().parent / "static"
NOT_BUILT = "browser assets not built, the pages are plain forms and tables: run `make web` in a checkout (Node 20+)"
LICENCES = "THIRD-PARTY.txt"


@dataclass(frozen=True, slots=True)
class Built:
    """The names of the built entries by what they are called in templates: ``app.js``, ``app.css``."""

    entries: dict[str, str] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.entries)

    def address(self, name: str) -> str:
        """The address of an entry, whose name changes with its content; empty where nothing is built."""
        found = self.entries.get(name)
        return f"/static/built/{found}" if found else ""


def built(folder: Path = FOLDER) -> Built:
    """What is built in the folder, as its manifest says; read again when that has changed."""
    manifest = folder / "manifest.json"
    try:
        changed = manifest.stat().st_mtime_ns
    except OSError:
        return Built()
    return _read(manifest, changed)


@lru_cache(maxsize=4)
def _read(manifest: Path, _changed: int) -> Built:
    try:
        entries = json.loads(manifest.read_text(encoding="utf-8"))["entries"]
    except (OSError, ValueError, KeyError):
        return Built()
    return Built({str(key): str(value) for key, value in entries.items()})


def is_built() -> bool:
    """Whether the pages have their scripts."""
    return bool(built())


def blueprint() -> Blueprint:
    """The route of the built files; their names hold a mark of their content, so they may be kept for ever."""
    routes = Blueprint("assets", __name__)

    @routes.get("/static/built/<path:name>")
    def file(name: str) -> Any:
        response = send_from_directory(FOLDER, name, max_age=31_536_000)
        response.headers["Cache-Control"] = "public, max-age=31536000, immutable"
        return response

    return routes
