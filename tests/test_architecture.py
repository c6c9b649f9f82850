"""What docs/architecture.md says of the three walks is what runs, in that order."""

import re
import sys
import threading
from contextlib import contextmanager
from importlib import import_module
from inspect import CO_OPTIMIZED
from pathlib import Path
from urllib.request import urlopen

import pytest
from browser import serve_in_thread

from kgplatform.graph import KnowledgeGraph

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
MOST = 12
ELSEWHERE = {"in a worker", "the owner's look"}
"""What a step says that does not run in this process or for this request."""


def walk(heading):
    """The steps below a heading: ``module:function`` each, as the page lists them."""
    section = re.search(rf"^### {re.escape(heading)}\n(.*?)(?=^##|\Z)", PAGE, re.MULTILINE | re.DOTALL)
    assert section, heading
    return re.findall(r"^\d+\. `([\w.]+:[\w.]+)`", section[1], re.MULTILINE)


@contextmanager
def calls():
    """The functions of the package in the order in which they are first called, in any thread."""
    seen = {}

    def note(frame, event, _):
        module = frame.f_globals.get("__name__", "")
        if event == "call" and frame.f_code.co_flags & CO_OPTIMIZED and module.startswith("kgplatform."):
            seen.setdefault(f"{module.removeprefix('kgplatform.')}:{frame.f_code.co_qualname}")

    threading.setprofile(note)
    sys.setprofile(note)
    found = []
    try:
        yield found
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
        found.extend(seen)


@pytest.fixture(scope="module")
def kg(tmp_path_factory):
    with KnowledgeGraph.create(tmp_path_factory.mktemp("walks") / "w", ontology="travel") as made:
        yield made


def test_a_document_walks_in_as_the_page_says(kg):
    follows("A document in", lambda: list(kg.add(ROOT / "examples" / "travel" / "xitang-after-dark.txt")))


def test_a_question_is_answered_as_the_page_says(kg):
    kg.update(
        'INSERT DATA { kg:inn a travel:Hotel ; rdfs:label "Reed Inn"@en ; geo:locatedIn kg:town . '
        'kg:town a geo:City ; rdfs:label "Reedham"@en }'
    )
    follows("A question answered", lambda: kg.ask("Which hotels are in Reedham?"))


def test_a_request_is_served_as_the_page_says(kg):
    address, stop = serve_in_thread(kg)
    try:
        query = f"{address}/sparql?query=ASK%20%7B%20%3Fs%20%3Fp%20%3Fo%20%7D"
        follows("A SPARQL request", lambda: urlopen(query, timeout=30).read())
    finally:
        stop()


def follows(heading, act):
    steps = walk(heading)
    assert 3 <= len(steps) <= MOST
    for step in steps:
        module, _, name = step.partition(":")
        found = import_module(f"kgplatform.{module}")
        for part in name.split("."):
            found = getattr(found, part)
    with calls() as seen:
        act()
    here = [step for step in steps if step in seen]
    not_here = [step for step in steps if step not in seen]
    assert [step for step in not_here if not any(words in line_of(step) for words in ELSEWHERE)] == []
    assert here == sorted(here, key=seen.index)


def line_of(step):
    (line,) = (line for line in PAGE.splitlines() if f"`{step}`" in line)
    return line
