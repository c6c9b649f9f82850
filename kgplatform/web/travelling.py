"""``?at=``: earlier states of the graph over HTTP, and ``/api/versions``, which lists them.

Answers about an earlier state say when it held: ``Memento-Datetime`` and the links of RFC 7089.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from email.utils import format_datetime
from typing import Any

from flask import Blueprint, Response, jsonify, request

from kgplatform.dataset import EvidenceDataset
from kgplatform.versions import Version, VersionError
from kgplatform.web.needs import Graph
from kgplatform.web.problems import problem
from kgplatform.web.rights import Role, require


def blueprint(kg: Graph) -> Blueprint:
    """The route of the list of states that can be read."""
    routes = Blueprint("travelling", __name__)

    @routes.route("/api/versions")
    def listed() -> Any:
        require(Role.READ)
        kg.versions.prune()
        return jsonify({"versions": [_record(item) for item in kg.versions.listed()]})

    return routes


def _record(item: Version) -> dict[str, object]:
    return {
        "version": item.number,
        "since": _stamp(item.since),
        "until": _stamp(item.until) if item.until else None,
        "current": item.is_current,
    }


def _stamp(moment: datetime) -> str:
    return moment.isoformat(timespec="milliseconds")


def wanted(kg: Graph, at: str | None = None) -> Version | None:
    """The state that the request asks for; None: the present one, without asking.

    Raises:
        VersionError: there is none of that number or time.
        ConfigError: it is neither a number nor a time.
    """
    given = request.args.get("at", "") if at is None else at
    return kg.versions.find(given) if given else None


@contextmanager
def dataset_at(kg: Graph, version: Version | None) -> Iterator[EvidenceDataset]:
    """The dataset as it was then, until the end of the block."""
    if version is None or version.is_current:
        yield kg.dataset
    else:
        with kg.versions.store(version) as store:
            yield EvidenceDataset(store, kg.base)


def mark(response: Response, version: Version | None) -> Response:
    """The response, saying of which state it is, if a state was asked for."""
    if version is not None:
        response.headers["Memento-Datetime"] = format_datetime(version.since, usegmt=True)
        response.headers.add("Link", f'</api/versions>; rel="timemap", <{_original()}>; rel="original timegate"')
    return response


def _original() -> str:
    """The address of the request without ``at``, plain ASCII as header fields need it."""
    kept = [part for part in request.query_string.decode("ascii", "replace").split("&") if not part.startswith("at=")]
    path = request.full_path.partition("?")[0]
    ascii_path = path.encode("ascii", "ignore").decode() if path.isascii() else request.root_url
    return f"{ascii_path}?{'&'.join(kept)}" if any(kept) else ascii_path


def version_problem(error: VersionError) -> Response:
    """The answer where a state is asked for that cannot be read: 410 if there was one, else 404."""
    status, title = (410, "No longer kept") if error.gone else (404, "No such version")
    return problem(status, title, str(error), nearest=[_record(item) for item in error.nearest])
