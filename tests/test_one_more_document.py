"""What one more document costs is counted, not timed: the steps of Python, the quads and the rows that are looked at.

All documents are of one town, so that whatever is done for everything that lies in it, or for every document that names
it, shows.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import permutations
from pathlib import Path
from types import FrameType

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyoxigraph import Literal, NamedNode, Quad, Triple

from kgplatform.dataset import Change, EvidenceDataset, Written
from kgplatform.documents.layers import Layers
from kgplatform.documents.registry import Registry
from kgplatform.graph import KnowledgeGraph
from kgplatform.store import Store
from kgplatform.testing import HashEmbedder
from kgplatform.vocab import LABEL, TYPE

BASE = "https://example.org/kg/"

WORDS = ("Amber", "Birch", "Cobalt", "Dunmore", "Elgin", "Foxglove", "Granite", "Harbour", "Iverness")
SMALL, LARGE = 12, 60
MORE = 1.1


def note(number: int) -> str:
    first, second = list(permutations(WORDS, 2))[number]
    return f"The {first} {second} Garden is an attraction in Wuzhen. Tickets cost {number + 10} CNY.\n"


@dataclass
class Counted:
    """Calls of functions, quads read, and rows fetched, while documents were added."""

    calls: int = 0
    quads: int = 0
    rows: int = 0
    scanned: set[str] = field(default_factory=set)


@contextmanager
def counting(patch: pytest.MonkeyPatch) -> Iterator[Counted]:
    found, quads, rows = Counted(), Store.quads, Registry._all

    def count(_: FrameType, event: str, __: object) -> None:
        found.calls += event in ("call", "c_call")

    def counted_quads(store: Store, *pattern: object, **options: object) -> Iterator[object]:
        for item in quads(store, *pattern, **options):  # type: ignore[arg-type]
            found.quads += 1
            yield item

    def counted_rows(registry: Registry, sql: str, *values: object) -> list[object]:
        fetched = rows(registry, sql, *values)
        found.rows += len(fetched)
        return list(fetched)

    with patch.context() as patched:
        patched.setattr(Store, "quads", counted_quads)
        patched.setattr(Registry, "_all", counted_rows)
        sys.setprofile(count)
        try:
            yield found
        finally:
            sys.setprofile(None)


def one_more(kg: KnowledgeGraph, folder: Path, count: int) -> Counted:
    """What the least of three more documents costs, each alone, where there are so many."""
    numbers = iter(range(100))

    def written(text: str) -> Path:
        path = folder / f"{next(numbers)}.txt"
        path.write_text(text, encoding="utf-8")
        return path

    folder.mkdir()
    list(kg.add(*(written(note(number)) for number in range(count - 1))))
    list(kg.add(written(note(count - 1))))  # from now on only what changed is linked
    every = []
    for number in (69, 70, 71):
        path = written(note(number))
        with pytest.MonkeyPatch.context() as patch, counting(patch) as found:
            list(kg.add(path))
        every.append(found)
    return Counted(
        min(item.calls for item in every), min(item.quads for item in every), min(item.rows for item in every)
    )


def scanned(kg: KnowledgeGraph, path: Path) -> set[str]:
    """The tables that SQLite goes through from end to end while the document is added."""
    said: list[str] = []
    kg.registry._db.set_trace_callback(said.append)
    list(kg.add(path))
    kg.registry._db.set_trace_callback(None)
    found = set[str]()
    for sql in dict.fromkeys(said):
        if sql.startswith(("SELECT", "UPDATE", "DELETE", "INSERT")):
            plan = kg.registry._db.execute(f"EXPLAIN QUERY PLAN {sql}").fetchall()
            found.update(re.findall(r"SCAN (\w+)", " ".join(row[3] for row in plan)))
    return found


@pytest.fixture(scope="module")
def costs(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Counted]:
    found = {}
    for count in (SMALL, LARGE):
        folder = tmp_path_factory.mktemp("more")
        with KnowledgeGraph.create(folder / "kg", ontology=["travel"]) as kg:
            kg.__dict__["embedder"] = HashEmbedder()
            found[count] = one_more(kg, folder / "notes", count)
            last = folder / "last.txt"
            last.write_text(note(68), encoding="utf-8")
            found[count].scanned = scanned(kg, last)
    return found


def test_one_more_document_takes_as_many_steps_in_a_large_graph_as_in_a_small_one(costs: dict[int, Counted]) -> None:
    assert costs[LARGE].calls <= MORE * costs[SMALL].calls


def test_one_more_document_reads_no_more_of_a_large_graph(costs: dict[int, Counted]) -> None:
    assert costs[LARGE].quads <= MORE * costs[SMALL].quads


def test_one_more_document_reads_no_more_of_a_large_registry(costs: dict[int, Counted]) -> None:
    assert costs[LARGE].rows <= MORE * costs[SMALL].rows


def test_what_grows_with_documents_is_found_by_indexes(costs: dict[int, Counted]) -> None:
    growing = {"documents", "chunks", "sources", "occurrences", "names", "entities", "names_in", "table_rows"}
    assert not costs[LARGE].scanned & growing


changes = st.lists(st.tuples(st.dictionaries(st.integers(0, 40), st.integers()), st.sets(st.integers(0, 40))))


@given(changes)
def test_a_map_made_by_changes_is_the_dict_and_the_earlier_ones_stay(
    steps: list[tuple[dict[int, int], set[int]]],
) -> None:
    held: dict[int, int] = {}
    layers, before = Layers[int, int](), list[tuple[Layers[int, int], dict[int, int]]]()
    for put, gone in steps:
        layers = layers.changed(put, gone)
        held = {key: value for key, value in held.items() if key not in gone} | put
        before.append((layers, held))
    for made, wanted in before:
        assert made == wanted
        assert len(made) == len(wanted)
        assert all((key in made, made.get(key)) == (key in wanted, wanted.get(key)) for key in range(41))


def test_who_follows_a_dataset_hears_what_was_written_unless_somebody_else_wrote_too() -> None:
    dataset = EvidenceDataset(Store.open(), BASE)
    following = dataset.follow(frozenset({TYPE}))
    thing, table = NamedNode(f"{BASE}entity/a"), NamedNode(f"{BASE}graph/table/t")
    typed, named = Triple(thing, TYPE, NamedNode(f"{BASE}Town")), Triple(thing, LABEL, Literal("A"))
    dataset.commit(Change(added={table: [typed, named]}))
    dataset.conclude([Triple(thing, TYPE, NamedNode(f"{BASE}Place"))], [])
    assert following.take() == Written((typed,), frozenset({table}))
    assert following.take() == Written((), frozenset())
    dataset.store.apply(added=[Quad(thing, LABEL, Literal("B"), table)])
    assert following.take() is None
    dataset.unfollow(following)
    dataset.commit(Change(removed={table: [typed]}))
    assert following.take() is None
