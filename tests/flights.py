"""Two days of the airport example as a workspace, for tests of questions about flights."""

from __future__ import annotations

import csv
from pathlib import Path

from kgplatform import KnowledgeGraph

FOLDER = Path(__file__).resolve().parents[1] / "examples" / "airport"
DAYS = ("20250314", "20250315")


def rows() -> list[dict[str, str]]:
    """The rows of the two days."""
    with (FOLDER / "flights.csv").open(encoding="utf-8", newline="") as file:
        return [row for row in csv.DictReader(file) if row["flight_uid"].startswith(DAYS)]


def workspace(folder: Path) -> KnowledgeGraph:
    """A workspace with these flights, and all airlines and airports; made once for a folder."""
    if (folder / "kg").exists():
        return KnowledgeGraph.open(folder / "kg")
    folder.mkdir(exist_ok=True)
    table = folder / "tables" / "flights.csv"
    table.parent.mkdir()
    kept = rows()
    with table.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(kept[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(kept)
    kg = KnowledgeGraph.create(folder / "kg", ontology="airport", base="https://example.org/airport/")
    added = list(kg.add(FOLDER / "airlines.csv", FOLDER / "airports.csv", table, build=False))
    assert not [item.error for item in added if item.error]
    kg.build("link")
    return kg
