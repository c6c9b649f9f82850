"""Saved queries: ``/q/<slug>`` opens one, ``/api/saved`` lists, keeps and removes them.

They lie in the workspace, a file ``sparql/<slug>.rq`` each, in the form that `kgplatform.queries` reads: where the
question is known that a query answers, it is the summary, and the query an example of how such questions are put.
Saving needs the right to write.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from flask import Blueprint, Response, jsonify, request

from kgplatform.errors import NotFoundError
from kgplatform.lexing import read_only_issues
from kgplatform.text import normalise
from kgplatform.web.needs import Graph
from kgplatform.web.protocol import ProtocolError
from kgplatform.web.rights import Role, require

FOLDER = "sparql"
MAX_CHARACTERS = 100_000
_SLUG = re.compile(r"[^\W_](?:[\w-]{0,78}[^\W_])?")
_HEADER = re.compile(r"#\+\s*([\w-]+)\s*:\s*(.*?)\s*")


@dataclass(frozen=True, slots=True)
class SavedQuery:
    """A query of the workspace: ``question`` is empty where it was saved without one."""

    slug: str
    text: str
    question: str
    changed: datetime


class Saved:
    """The queries that lie in a workspace."""

    def __init__(self, workspace: Path) -> None:
        self._folder = workspace / FOLDER

    def listed(self) -> list[SavedQuery]:
        """All of them, the latest first."""
        found = [self._read(path) for path in self._folder.glob("*.rq")] if self._folder.is_dir() else []
        return sorted((item for item in found if item), key=lambda item: item.changed, reverse=True)

    def find(self, slug: str) -> SavedQuery:
        """The query of that name.

        Raises:
            NotFoundError: there is none.
        """
        found = self._read(self._folder / f"{slug}.rq") if _SLUG.fullmatch(slug) else None
        if found is None:
            raise NotFoundError(f"no query is saved as {slug!r}", name=slug)
        return found

    def keep(self, slug: str, text: str, question: str = "") -> SavedQuery:
        """Writes the query, whole or not at all; one of that name is replaced.

        Raises:
            ProtocolError: the name, the text or the question will not do.
        """
        if not _SLUG.fullmatch(slug):
            raise ProtocolError(400, "Bad request", "a name has letters, digits and hyphens, 80 at most")
        if not text.strip() or len(text) > MAX_CHARACTERS:
            raise ProtocolError(400, "Bad request", f"a query has 1 to {MAX_CHARACTERS:,} characters")
        if issues := read_only_issues(text):
            raise ProtocolError(400, "Query refused", "; ".join(issues))
        asked = " ".join(question.split())[:500]
        body = "\n".join(line for line in text.split("\n") if not _HEADER.fullmatch(line)).strip("\n")
        self._folder.mkdir(exist_ok=True)
        path = self._folder / f"{slug}.rq"
        part = path.with_suffix(f".{os.getpid()}.part")
        part.write_text(f"#+ summary: {asked or slug}\n\n{body}\n", encoding="utf-8")
        part.replace(path)
        return self.find(slug)

    def drop(self, slug: str) -> None:
        """Removes the query of that name.

        Raises:
            NotFoundError: there is none.
        """
        self.find(slug)
        (self._folder / f"{slug}.rq").unlink()

    def _read(self, path: Path) -> SavedQuery | None:
        try:
            text = path.read_text(encoding="utf-8")
            changed = datetime.fromtimestamp(path.stat().st_mtime, UTC)
        except (OSError, UnicodeDecodeError):
            return None
        summary = ""
        for line in text.split("\n"):
            match = _HEADER.fullmatch(line)
            if match and match[1] == "summary":
                summary = match[2]
        question = summary if summary != path.stem else ""
        return SavedQuery(path.stem, text, question, changed)


def slug_of(text: str) -> str:
    """A name for an address, from a question or any words.

    >>> slug_of("Which hotels are near Xizha?")
    'which-hotels-are-near-xizha'
    """
    return re.sub(r"[\W_]+", "-", normalise(text)).strip("-")[:60].strip("-")


def blueprint(kg: Graph, show: Callable[[SavedQuery], Any]) -> Blueprint:
    """The routes of saved queries; ``show`` makes the Query page with one of them."""
    routes = Blueprint("saving", __name__)
    saved = Saved(kg.folder)

    @routes.get("/q/<slug>")
    def opened(slug: str) -> Any:
        return show(saved.find(slug))

    @routes.get("/api/saved")
    def listed() -> Response:
        response = jsonify({"queries": [_record(item) for item in saved.listed()]})
        response.headers["Cache-Control"] = "no-cache"
        return response

    @routes.put("/api/saved/<slug>")
    def keep(slug: str) -> Any:
        require(Role.WRITE)
        record = request.get_json(silent=True)
        text, question = (record.get(key, "") if isinstance(record, dict) else "" for key in ("query", "question"))
        if not isinstance(text, str) or not isinstance(question, str):
            raise ProtocolError(400, "Bad request", 'send {"query": "…", "question": "…"} as JSON')
        return jsonify(_record(saved.keep(slug, text, question)))

    @routes.delete("/api/saved/<slug>")
    def drop(slug: str) -> Any:
        require(Role.WRITE)
        saved.drop(slug)
        return Response(status=204)

    return routes


def _record(item: SavedQuery) -> dict[str, str]:
    return {
        "slug": item.slug,
        "query": item.text,
        "question": item.question,
        "changed": item.changed.isoformat(timespec="seconds"),
        "page": f"/q/{item.slug}",
    }
