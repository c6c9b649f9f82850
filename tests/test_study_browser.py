"""The pages of courses, literature, communities and retrieval in a browser: pictures, access, no sideways scrolling."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from browser import Browsing, axe, browser, browsing, served  # noqa: F401
from studies import CHINESE, SPEAKERS, STREAM, field, university

from kgplatform.graph import KnowledgeGraph


@pytest.fixture(scope="module")
def studies(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeGraph]:
    folder = tmp_path_factory.mktemp("studies")
    papers = folder / "papers"
    papers.mkdir()
    for name, text in (("stream.txt", STREAM), ("speakers.txt", SPEAKERS), ("short.txt", CHINESE)):
        (papers / name).write_text(text, encoding="utf-8")
    with KnowledgeGraph.create(folder / "kg", ontology="academic") as kg:
        list(kg.add(papers, build=False))
        kg.dataset.state([*university(), *field()])
        kg.build("index")
        kg.find_communities()
        yield kg


@pytest.mark.parametrize(("width", "dark", "language"), [(390, True, "zh"), (1440, False, "en")])
@pytest.mark.parametrize(
    "address",
    [
        "/courses",
        "/courses/DD3001?known=AA1001",
        "/literature?topic=streaming",
        "/literature/compare?paper=Short+Memory&paper=Two+Speakers",
        "/communities",
        "/retrieval?question=two+speakers&retriever=lexical&against=dense",
    ],
)
def test_a_page_of_studies_is_drawn_and_open_to_everyone(
    browsing: Browsing,  # noqa: F811
    studies: KnowledgeGraph,
    address: str,
    width: int,
    dark: bool,
    language: str,
) -> None:
    where = browsing.serve(studies)
    page = browsing.page(address, address=where, width=width, dark=dark, language=language)
    axe(page)
    browsing.check()
