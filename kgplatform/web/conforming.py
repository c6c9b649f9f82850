"""``/conformance``: how the W3C's tests went when they were last run for this workspace, and why some do not pass.

`kgplatform conformance FOLDER -w WORKSPACE` leaves its results in the workspace, as JSON for the page and as EARL.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from flask import Blueprint, Response, request

from kgplatform.web.frame import page
from kgplatform.web.needs import Graph
from kgplatform.web.negotiation import HTML, TRIPLES, choose
from kgplatform.web.problems import problem
from kgplatform.web.rights import Role, require

JSON_FILE, EARL_FILE = "conformance.json", "conformance.ttl"


def blueprint(kg: Graph) -> Blueprint:
    """The route of the results."""
    routes = Blueprint("conforming", __name__)

    @routes.route("/conformance")
    def results() -> Any:
        require(Role.READ)
        chosen = choose(request.headers.get("Accept"), (HTML, TRIPLES[0]))
        if chosen is not None and chosen is not HTML:
            return _earl(kg.folder / EARL_FILE)
        record = _read(kg.folder / JSON_FILE)
        reasons: dict[str, list[str]] = {}
        for test in record.get("tests", ()):
            if test["outcome"] == "failed":
                reasons.setdefault(test["reason"], []).append(test["test"])
        return page(
            "conformance.html",
            kg.base,
            at=record.get("at", ""),
            version=record.get("version", ""),
            suites=record.get("suites", ()),
            reasons=reasons,
        )

    return routes


def _read(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _earl(path: Path) -> Response:
    try:
        return Response(path.read_bytes(), headers={"Content-Type": TRIPLES[0].content_type, "Vary": "Accept"})
    except OSError:
        return problem(404, "Not found", "no tests were run yet: kgplatform conformance FOLDER -w WORKSPACE")
