"""The Query page of a workspace offers the examples that speak of its ontology, and no others."""

from __future__ import annotations

from pathlib import Path

import pytest

from kgplatform import KnowledgeGraph
from kgplatform.web.app import create_app


@pytest.mark.parametrize(
    ("pack", "offered", "foreign"),
    [
        ("travel", "cheapest hotels", "KL1001"),
        ("airport", "KL1001", "DT2213"),
        ("academic", "DT2213", "cheapest hotels"),
    ],
)
def test_the_examples_fit_the_workspace(tmp_path: Path, pack: str, offered: str, foreign: str) -> None:
    with KnowledgeGraph.create(tmp_path / "kg", ontology=[pack]) as kg:
        page = create_app(kg).test_client().get("/query").get_data(as_text=True)
    assert offered in page
    assert foreign not in page
