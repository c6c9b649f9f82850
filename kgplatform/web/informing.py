"""``/api``: how programs use the server, in lines to copy; ``/about``: what is here, and what it never does."""

from __future__ import annotations

import platform
import re
from dataclasses import dataclass
from functools import lru_cache
from importlib import metadata
from itertools import islice
from typing import Any

from flask import Blueprint, request
from pyoxigraph import Literal

from kgplatform import __version__
from kgplatform.vocab import LABEL
from kgplatform.web.assets import FOLDER, LICENCES
from kgplatform.web.frame import page, tongues
from kgplatform.web.needs import Graph
from kgplatform.web.openapi import described
from kgplatform.web.overview import Lately
from kgplatform.web.security import POLICY

_PACKAGES = ("pyoxigraph", "flask", "waitress", "pyshacl", "rdflib", "numpy", "scikit-learn", "matplotlib")
_MOST_NAMES = 5_000
_RULE = re.compile(r"^={20,}$", re.MULTILINE)
_QUERY = "SELECT ?class (COUNT(?thing) AS ?things) WHERE { ?thing a ?class } GROUP BY ?class ORDER BY DESC(?things)"


@dataclass(frozen=True, slots=True)
class Snippet:
    """Lines to copy: what they do (the key of a phrase), in which language, and the lines."""

    key: str
    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class Route:
    """An address for programs: how it is asked, and what it gives, in the words of the OpenAPI document."""

    methods: str
    path: str
    what: str


@dataclass(frozen=True, slots=True)
class Part:
    """A package that is built into the pages, with the text of its licence."""

    name: str
    licence: str


def blueprint(kg: Graph, lately: Lately) -> Blueprint:
    """The routes of both pages."""
    routes = Blueprint("informing", __name__)

    @routes.get("/api")
    def api() -> Any:
        host = request.host_url.rstrip("/")
        return page("api.html", kg.base, snippets=_snippets(host), routes=_routes(), host=host)

    @routes.get("/about")
    def about() -> Any:
        overview = lately.overview()
        return page(
            "about.html",
            kg.base,
            version=__version__,
            python=platform.python_version(),
            packages=_versions(),
            parts=_parts(),
            policy=[item.strip() for item in POLICY.split(";")],
            overview=overview,
            documents=sum(kg.registry.counts().values()),
            model=kg.model.name if kg.model else "",
            embedding=kg.settings.embedding,
            takes_addresses=kg.settings.documents.web,
            endpoints=kg.settings.federation.endpoints,
            named_in=_languages(kg),
            wanted=tongues()[0] if len(tongues()) > 1 else "",
        )

    return routes


def _languages(kg: Graph) -> list[str]:
    """The languages that things, classes and properties have names in, as far as the first names show."""
    names = (quad.object for quad in islice(kg.store.quads(predicate=LABEL), _MOST_NAMES))
    found = {word.language for class_ in kg.ontology.classes.values() for word in class_.words}
    found |= {word.language for property_ in kg.ontology.properties.values() for word in property_.words}
    found |= {name.language or "" for name in names if isinstance(name, Literal)}
    return sorted(tag for tag in found if tag)


def _snippets(host: str) -> list[Snippet]:
    """Ways to ask this server, each ready to be pasted."""
    return [
        Snippet(
            "api_curl_query",
            "sh",
            f"curl -sG {host}/sparql \\\n  -H 'Accept: application/sparql-results+json' \\\n"
            f"  --data-urlencode 'query={_QUERY}'",
        ),
        Snippet("api_curl_csv", "sh", f"curl -sG {host}/sparql -d format=csv --data-urlencode 'query={_QUERY}'"),
        Snippet(
            "api_curl_ask",
            "sh",
            f"curl -s {host}/api/ask -H 'Content-Type: application/json' \\\n"
            '  -d \'{"question": "How many documents are there?"}\'',
        ),
        Snippet("api_curl_add", "sh", f"curl -s {host}/documents -F files=@notes.md -F files=@hotels.csv"),
        Snippet("api_curl_jobs", "sh", f"curl -sN {host}/api/jobs/events"),
        Snippet(
            "api_python",
            "python",
            "import json, urllib.parse, urllib.request\n\n"
            f'query = "{_QUERY}"\n'
            f'address = "{host}/sparql?" + urllib.parse.urlencode({{"query": query, "format": "json"}})\n'
            "with urllib.request.urlopen(address) as reply:\n"
            '    for row in json.load(reply)["results"]["bindings"]:\n'
            '        print(row["class"]["value"], row["things"]["value"])',
        ),
        Snippet(
            "api_python_local",
            "python",
            "from kgplatform import KnowledgeGraph\n\n"
            'with KnowledgeGraph.open("workspace") as kg:\n'
            '    print(kg.ask("How many hotels are there?").text)',
        ),
    ]


def _routes() -> list[Route]:
    """The addresses in the OpenAPI document."""
    found = []
    for path, operations in described()["paths"].items():
        for method, operation in operations.items():
            found.append(Route(method.upper(), path, operation.get("summary", "")))
    return found


@lru_cache(maxsize=1)
def _versions() -> tuple[tuple[str, str, str], ...]:
    """The name, version and licence of the packages that the platform stands on, those that are installed."""
    found = []
    for name in _PACKAGES:
        try:
            about = metadata.metadata(name)
        except metadata.PackageNotFoundError:
            continue
        licence = next((about[key] for key in ("License-Expression", "License") if key in about), "")
        classified = [item.rpartition(" :: ")[2] for item in about.get_all("Classifier") or () if "License ::" in item]
        short = licence if licence and "\n" not in licence and len(licence) < 60 else ", ".join(classified)
        found.append((name, about["Version"], short))
    return tuple(found)


def _parts() -> list[Part]:
    """The packages that are built into the pages, from the list of licences beside them."""
    try:
        text = (FOLDER / LICENCES).read_text(encoding="utf-8")
    except OSError:
        return []
    return parts_of(text)


def parts_of(text: str) -> list[Part]:
    """The packages in a list of licences: a name on a line of its own between rules, and the text below it."""
    blocks = _RULE.split(text)
    return [Part(" ".join(head.split()), body.strip()) for head, body in zip(blocks[1::2], blocks[2::2], strict=False)]
