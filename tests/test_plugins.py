"""Pages that a package of a stranger brings, because the ontology of the workspace asks for them."""

import logging

from kgplatform.graph import KnowledgeGraph
from kgplatform.server.app import create_app

ONTOLOGY = """@prefix owl: <http://www.w3.org/2002/07/owl#> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix core: <https://w3id.org/kgplatform/core#> .
<https://example.org/library> a owl:Ontology ; core:plugin "library" .
<https://example.org/library#Book> a owl:Class ; rdfs:label "book"@en ."""
PAGES = """
from pathlib import Path
from flask import Blueprint
from kgplatform.server.frame import PluginPages, page

def pages(kg):
    routes = Blueprint("library", __name__, template_folder="templates")
    @routes.get("/shelves")
    def shelves():
        found = kg.query("SELECT ?book { ?book a <https://example.org/library#Book> }")
        return page("shelves.html", kg.base, rows=found.rows)
    return PluginPages([routes], navigation=(("shelves", "/shelves"),), words=Path(__file__).with_name("words"))
"""
TEMPLATE = """{% extends "frame.html" %}{% set here = 'shelves' %}{% block title %}{{ t('shelves') }}{% endblock %}
{% block content %}<p>{{ rows|length }} books</p>{% endblock %}"""
FILES = {
    "library_pages/__init__.py": PAGES,
    "library_pages/templates/shelves.html": TEMPLATE,
    "library_pages/words/en.toml": '[library]\nshelves = "Shelves"\n',
    "library_pages/words/zh.toml": '[library]\nshelves = "书架"\n',
    "library-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: library\nVersion: 1.0\n",
    "library-1.0.dist-info/entry_points.txt": "[kgplatform.pages]\nlibrary = library_pages:pages\n",
}


def workspace(folder):
    file = folder / "library.ttl"
    file.write_text(ONTOLOGY, encoding="utf-8")
    return KnowledgeGraph.create(folder / "kg", ontology=[str(file)])


def test_an_installed_plug_in_brings_its_pages_where_the_ontology_asks(tmp_path, monkeypatch):
    for name, text in FILES.items():
        file = tmp_path / "site" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path / "site")
    with workspace(tmp_path) as kg:
        client = create_app(kg).test_client()
        shown = client.get("/shelves?lang=zh").get_data(as_text=True)
        assert "0 books" in shown
        assert '<a href="/shelves" aria-current="page">书架</a>' in shown
        assert client.get("/courses").status_code == 404
    with KnowledgeGraph.create(tmp_path / "travel", ontology="travel") as kg:
        client = create_app(kg).test_client()
        assert client.get("/shelves").status_code == 404
        assert "Shelves" not in client.get("/about").get_data(as_text=True)


def test_the_server_starts_without_a_plug_in_that_is_missing(tmp_path, caplog):
    with workspace(tmp_path) as kg, caplog.at_level(logging.WARNING):
        assert create_app(kg).test_client().get("/about").status_code == 200
    assert "library" in caplog.text
