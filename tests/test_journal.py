"""The journal: every commit a patch, from which the same graph and registry can be made again anywhere."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from kgplatform.graph import KnowledgeGraph
from kgplatform.journal.patch import commits, digests
from kgplatform.journal.sqlite_journal import SqliteJournal
from kgplatform.store.oxigraph import Store

EX = "https://example.org/"


def journaled(folder: Path) -> KnowledgeGraph:
    KnowledgeGraph.create(folder, ontology=["travel"], base=EX).close()
    settings = folder / "kgplatform.toml"
    settings.write_text(settings.read_text(encoding="utf-8").replace("version = 1", "version = 1\njournal = true"))
    return KnowledgeGraph.open(folder)


def replayed(folder: Path) -> Store:
    """The graph that a consumer makes from the patches alone."""
    store = Store.open()
    journal = SqliteJournal(folder / "journal.sqlite")
    for group in commits(journal.patches(0)):
        store.replay(((patch.removed, patch.added) for patch in group), version=group[-1].number)
    journal.close()
    return store


def rows(path: Path) -> dict[str, list[tuple[object, ...]]]:
    """What the registry holds, runs and what belongs to the journal left out."""
    with sqlite3.connect(path) as db:
        names = [row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type='table'")]
        kept = [n for n in names if not n.startswith(("run", "sqlite_")) and n not in ("outgoing", "journaled")]
        return {name: sorted(db.execute(f"SELECT * FROM {name}").fetchall(), key=repr) for name in kept}


def notes(folder: Path, **texts: str) -> Path:
    folder.mkdir(exist_ok=True)
    for name, text in texts.items():
        (folder / f"{name}.txt").write_text(text, encoding="utf-8")
    return folder


def test_patches_alone_make_the_graph_and_the_registry_again(tmp_path: Path) -> None:
    texts = notes(
        tmp_path / "notes", one="Xizha is a scenic area in Wuzhen. 西栅位于乌镇。", two="Hotel Lotus is in Wuzhen."
    )
    with journaled(tmp_path / "w") as kg:
        assert all(added.outcome == "added" for added in kg.add(texts))
        (texts / "two.txt").write_text("Hotel Lotus is a hotel in Xizha.", encoding="utf-8")
        list(kg.add(texts))
        kg.remove("one.txt")
        kg.update(f"INSERT DATA {{ <{EX}a> <{EX}p> 01, 'x'@en . GRAPH <{EX}g> {{ <{EX}a> <{EX}p> [] }} }}")
        kg.update(f"DELETE {{ ?s ?p ?o }} INSERT {{ ?s <{EX}q> ?o }} WHERE {{ ?s ?p ?o FILTER(?p = <{EX}p>) }}")
        kg.update(f"CLEAR GRAPH <{EX}g>")
        found = digests(kg.store)
        assert kg.dataset.violations() == (frozenset(), frozenset())
    assert digests(replayed(tmp_path / "w")) == found
    copy = sqlite3.connect(tmp_path / "copy.sqlite")
    with sqlite3.connect(tmp_path / "w" / "documents.sqlite") as db:
        copy.executescript(
            "\n".join(
                row[0] + ";"
                for row in db.execute("SELECT sql FROM sqlite_master WHERE sql NOT NULL AND name NOT LIKE 'sqlite_%'")
            )
        )
    copy.close()
    from kgplatform.documents.registry import Registry

    registry = Registry(tmp_path / "copy.sqlite")
    journal = SqliteJournal(tmp_path / "w" / "journal.sqlite")
    registry.changed_rows.keep_changes("copy", all_rows=False)
    for patch in journal.patches(0):
        registry.changed_rows.apply_rows("copy", patch.number, patch.rows)
    registry.close()
    assert rows(tmp_path / "copy.sqlite") == rows(tmp_path / "w" / "documents.sqlite")
