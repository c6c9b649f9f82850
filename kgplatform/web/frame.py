"""What all pages share: language, templates, numbers and dates in words."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from flask import Flask, Response, current_app, make_response, render_template, request
from jinja2 import StrictUndefined
from pyoxigraph import NamedNode

from kgplatform import resources
from kgplatform.text import has_han
from kgplatform.types import Evidence
from kgplatform.web import addresses, words
from kgplatform.web.assets import built
from kgplatform.web.highlighting import highlight

COOKIE = "kgplatform_lang"
DATA = "data"
DATA_COOKIE = "kgplatform_data"
_TAG = re.compile(r"[A-Za-z]{1,8}(-[A-Za-z0-9]{1,8}){0,4}")
"""A language tag (BCP 47 §2.1, without its rarest parts)."""
_YEAR_SECONDS = 365 * 24 * 3600
_IN_BAR = (
    *(("ask", "/"), ("query", "/query"), ("explore", "/explore"), ("map", "/map"), ("ontology", "/ontology")),
    *(("documents", "/documents"), ("communities", "/communities")),
)
_MORE = (
    *(("courses", "/courses"), ("literature", "/literature"), ("retrieval", "/retrieval")),
    *(("evaluation", "/evaluation"), ("export", "/export"), ("api", "/api"), ("about", "/about")),
)
"""The pages of the bar and of its menu; each is shown once its address has a route."""


def pages() -> list[tuple[str, str]]:
    """The pages that there are: the key of their name, and their address."""
    return [*_there(_IN_BAR), *_there(_MORE)]


def _there(listed: tuple[tuple[str, str], ...]) -> list[tuple[str, str]]:
    known = {rule.rule.rstrip("/") for rule in current_app.url_map.iter_rules() if "GET" in (rule.methods or ())}
    return [(name, href) for name, href in listed if href.rstrip("/") in known]


def language() -> str:
    """The interface language of the request: ``?lang=``, else the cookie, else ``Accept-Language``, else English."""
    for given in (request.args.get("lang"), request.cookies.get(COOKIE)):
        if given in words.LANGUAGES:
            return given
    return request.accept_languages.best_match(words.LANGUAGES) or "en"


def tongues() -> tuple[str, ...]:
    """The languages in which things are named, the first first: ``?data=``, else the cookie; then the interface's."""
    for given in (request.args.get(DATA), request.cookies.get(DATA_COOKIE)):
        if given is not None and _TAG.fullmatch(given):
            return (given, language())
    return (language(),)


@dataclass(frozen=True, slots=True)
class Frame:
    """What templates call: words and addresses in the language and workspace of the request."""

    language: str
    base: str

    def t(self, key: str, **values: object) -> str:
        """The phrase in the language of the page."""
        return words.phrase(key, self.language, **values)

    def count(self, key: str, number: int) -> str:
        """The phrase with a number in it, in the singular where there is one."""
        singular = key.removesuffix("s")
        if number == 1 and singular in words.WORDS:
            return self.t(singular)
        return self.t(key, n=self.number(number))

    def number(self, value: float) -> str:
        """The number with its thousands apart."""
        return f"{value:,}"

    def things(self, label: str, number: int) -> str:
        """The label of a class, in the plural where English wants it."""
        return words.plural(label) if number != 1 and label.isascii() else label

    def seconds(self, value: float) -> str:
        """Seconds, to two digits."""
        return f"{value:.2g}" if value < 10 else f"{value:.0f}"

    def at(self, iri: NamedNode) -> str:
        """The page about an IRI."""
        return addresses.of_iri(iri, self.base)

    def passage(self, item: Evidence) -> str:
        """The page of a passage."""
        return addresses.of_passage(item, self.base)

    def tag(self, text: str) -> str:
        """The language tag for the element that holds a text of the data."""
        return "zh" if has_han(text) else "en"

    def when(self, stamp: str) -> str:
        """A time stamp, as far as it matters."""
        try:
            moment = datetime.fromisoformat(stamp)
        except ValueError:
            return stamp
        today = datetime.now(UTC).date()
        return moment.strftime("%H:%M UTC") if moment.date() == today else moment.strftime("%Y-%m-%d")

    def bar(self) -> list[tuple[str, str]]:
        """The pages of the bar: the key of the name, and the address."""
        return _there(_IN_BAR)

    def more(self) -> list[tuple[str, str]]:
        """The pages of the menu beside the bar."""
        return _there(_MORE)

    def scripted(self) -> dict[str, object]:
        """What scripts need to know: the language, their words, and the pages that there are."""
        named = [[name, href, self.t(name)] for name, href in pages()]
        return {
            "language": self.language,
            "words": words.scripted(self.language),
            "pages": named,
            "map": current_app.config.get("MAP", {}),
        }

    def built(self, name: str) -> str:
        """The address of a built script or style; empty where none are built."""
        return built().address(name)

    def other_language(self) -> str:
        """This page in the other language."""
        wanted = "en" if self.language == "zh" else "zh"
        kept = [(key, value) for key, value in request.args.items(multi=True) if key != "lang"]
        return f"?{urlencode([*kept, ('lang', wanted)])}"


def page(template: str, base: str, *, status: int = 200, **values: Any) -> Response:
    """The page made from the template of ``templates/html``."""
    frame = Frame(language(), base)
    response = make_response(render_template(template, f=frame, t=frame.t, status=status, **values), status)
    response.headers["Vary"] = "Accept, Accept-Language, Cookie"
    response.headers["Cache-Control"] = "no-cache"
    response.headers["Content-Language"] = frame.language
    wanted = request.args.get(DATA)
    if wanted is not None and _TAG.fullmatch(wanted):
        response.set_cookie(DATA_COOKIE, wanted, max_age=_YEAR_SECONDS, samesite="Lax", httponly=True)
    elif wanted == "":
        response.delete_cookie(DATA_COOKIE)
    if request.args.get("lang") in words.LANGUAGES:
        response.set_cookie(COOKIE, frame.language, max_age=_YEAR_SECONDS, samesite="Lax", httponly=True)
    return response


def prepare(app: Flask) -> None:
    """Sets up the templates of the app."""
    app.jinja_env.undefined = StrictUndefined
    app.jinja_env.trim_blocks = True
    app.jinja_env.lstrip_blocks = True
    app.jinja_env.filters["sparql"] = highlight
    app.jinja_env.globals["asset"] = asset
    app.jinja_env.globals["address"] = addresses


@lru_cache(maxsize=16)
def asset(name: str) -> str:
    """The address of a static file, with a mark of its content so that it may be cached for long."""
    path: Path = resources.folder("templates") / "static" / name
    return f"/static/{name}?v={hashlib.sha256(path.read_bytes()).hexdigest()[:10]}"
