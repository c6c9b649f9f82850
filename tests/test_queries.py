"""The named queries: each shipped one, and the rules for their headers."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyoxigraph import NamedNode, QuerySolutions, Store, Variable

from kgplatform import queries
from kgplatform.errors import NotFoundError, QueryError

GOOD = """#+ summary: The names of an entity.
#+ parameters: entity, limit
#+ returns: name
# a remark about ?nothing
SELECT ?entity ?limit ?name WHERE { ?entity ?p ?name }
"""


def _shipped() -> list[str]:
    try:
        return queries.names()
    except FileNotFoundError:
        return []


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "examples").mkdir()
    (tmp_path / "entity-names.rq").write_text(GOOD, encoding="utf-8")
    (tmp_path / "examples" / "hotels.rq").write_text("#+ summary: 有哪些酒店？\nSELECT * {}", encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("name", _shipped())
def test_shipped_query_is_complete_and_takes_its_parameters(name: str) -> None:
    query = queries.load(name)
    assert query.summary
    # A parameter that a SELECT does not project is refused by pyoxigraph with a RuntimeError.
    bound = {Variable(parameter): NamedNode("urn:x") for parameter in query.parameters}
    result = Store().query(query.text, substitutions=bound)
    if isinstance(result, QuerySolutions) and query.parameters:
        projected = {variable.value for variable in result.variables}
        assert set(query.parameters) <= projected


def test_load_reads_the_header_and_keeps_the_text(folder: Path) -> None:
    query = queries.load("entity-names", folder=folder)
    assert query == queries.NamedQuery("entity-names", GOOD, "The names of an entity.", ("entity", "limit"), "name")


def test_names_include_subfolders_and_examples_need_only_a_question(folder: Path) -> None:
    assert queries.names(folder=folder) == ["entity-names", "examples/hotels"]
    query = queries.load("examples/hotels", folder=folder)
    assert (query.summary, query.parameters, query.returns) == ("有哪些酒店？", (), "")


def test_unknown_query_offers_the_nearest(folder: Path) -> None:
    with pytest.raises(NotFoundError, match="no query 'entity-name'; did you mean 'entity-names'") as caught:
        queries.load("entity-name", folder=folder)
    assert caught.value.name == "entity-name"


@pytest.mark.parametrize("name", ["", "../entity-names", "/etc/passwd", "entity-names/", "a//b"])
def test_name_cannot_leave_the_folder(folder: Path, name: str) -> None:
    with pytest.raises(NotFoundError, match="there is no query"):
        queries.load(name, folder=folder / "examples")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("SELECT * {}", "no line '#\\+ summary"),
        ("#+ summary: x\nSELECT * {}", "no line '#\\+ returns"),
        ("#+ summary: x\n#+ summary: y\n#+ returns: z\nSELECT * {}", "two lines '#\\+ summary"),
        ("#+ summary: x\n#+ paramters: y\n#+ returns: z\nSELECT * {}", "paramters: y' is none of summary, parameters"),
        ("#+ summary: x\n#+ parameters: y\n#+ returns: z\n# ?y\nSELECT * {}", "parameter 'y' but no variable \\?y"),
        ("#+ summary: x\n\nSELECT * {}\n#+ returns: too late", "no line '#\\+ returns"),
    ],
)
def test_faulty_header_is_told(text: str, message: str) -> None:
    with pytest.raises(QueryError, match=message) as caught:
        queries.parse("broken", text)
    assert caught.value.query == text


def test_query_that_is_not_utf8_is_told(tmp_path: Path) -> None:
    (tmp_path / "latin.rq").write_bytes("#+ summary: Café".encode("latin-1"))
    with pytest.raises(QueryError, match="not UTF-8"):
        queries.load("latin", folder=tmp_path)
