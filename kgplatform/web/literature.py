"""The Literature pages: a digest of all papers, and chosen ones compared; a model writes only when asked to."""

from __future__ import annotations

from typing import Any

from flask import Blueprint, redirect, request

from kgplatform.academic.literature import Digest, Review, digest, review
from kgplatform.academic.papers import Library
from kgplatform.protocols import ChatModel
from kgplatform.web.courses import parts_of
from kgplatform.web.frame import Frame, language, page
from kgplatform.web.literature_views import LiteratureViews
from kgplatform.web.literature_views import parts_of as told
from kgplatform.web.needs import Graph
from kgplatform.web.remembering import Remembered
from kgplatform.web.sheets import csv_of

_MOST_TOPIC = 300
_MOST_NAMES = 50


def blueprint(kg: Graph) -> Blueprint:
    """The routes of the literature."""
    routes = Blueprint("literature", __name__)
    kept = Remembered(kg)

    def library() -> Library:
        return kept.get(("library", language()), lambda: Library(parts_of(kg), language()))

    def digested(topic: str, model: ChatModel | None) -> Digest:
        if model is not None:  # it may take a minute, which nobody else is to wait for; its replies are kept elsewhere
            return digest(library(), topic=topic, model=model)
        key = ("digest", language(), topic)
        return kept.get(key, lambda: digest(library(), topic=topic))

    def reviewed(names: tuple[str, ...], model: ChatModel | None) -> Review:
        if model is not None:
            return review(library(), names, model=model)
        return kept.get(("review", language(), names), lambda: review(library(), names))

    @routes.get("/literature")
    def literature() -> Any:
        read = library()
        topic = " ".join(request.args.get("topic", "").split())[:_MOST_TOPIC]
        if not len(read):
            return page("literature.html", kg.base, empty=True)
        made = digested(topic, _model(kg))
        views = LiteratureViews(read, Frame(language(), kg.base))
        sheets = views.tables(made)
        wanted = csv_of(*sheets.values())
        if wanted:
            return wanted
        parts, sources = told(made.text)
        return page(
            "literature.html",
            kg.base,
            empty=False,
            topic=topic,
            made=made,
            sheets=sheets,
            parts=parts,
            sources=sources,
            text=made.text,
            trends=views.trend_picture(made),
            network=views.network(made),
            can_write=kg.model is not None,
        )

    @routes.get("/literature/compare")
    def compare() -> Any:
        names = _names()
        return _compared(kg, library(), reviewed(names, _model(kg))) if names else redirect("/literature#papers", 303)

    return routes


def _names() -> tuple[str, ...]:
    """The papers to compare, as the address names them."""
    return tuple(name.strip() for name in request.args.getlist("paper")[:_MOST_NAMES] if name.strip())


def _compared(kg: Graph, read: Library, made: Review) -> Any:
    """The page of chosen papers, or one of its tables."""
    views = LiteratureViews(read, Frame(language(), kg.base))
    beside, results = views.compared(made.comparison), views.results(made.comparison)
    wanted = csv_of(beside, results)
    if wanted:
        return wanted
    parts, sources = told(made.text)
    return page(
        "compare.html",
        kg.base,
        columns=made.comparison.columns,
        beside=beside,
        results=results,
        suggestions=views.suggestions(made.comparison),
        parts=parts,
        sources=sources,
        text=made.text,
        can_write=kg.model is not None,
    )


def _model(kg: Graph) -> ChatModel | None:
    """The model, if the reader asked for its words."""
    return kg.model if request.args.get("write") == "model" else None
