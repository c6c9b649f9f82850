"""New workspaces at the price of a copy: each kind is made once for a process."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from functools import cache
from pathlib import Path

from kgplatform.graph import KnowledgeGraph


def new_workspace(folder: Path, ontology: str = "travel", *, settings: str = "") -> Path:
    """A folder with an empty workspace, like ``KnowledgeGraph.create``; ``settings`` are added to its own."""
    shutil.copytree(_made(ontology), folder)
    with (folder / "kgplatform.toml").open("a", encoding="utf-8") as file:
        file.write(f"\n{settings}\n")
    return folder


@cache
def _made(ontology: str) -> Path:
    place = Path(tempfile.mkdtemp())
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    KnowledgeGraph.create(place / "kg", ontology=ontology).close()
    return place / "kg"
