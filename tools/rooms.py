"""The rooms of the package: their sizes against their budgets, and a picture of what imports what.

``python tools/rooms.py`` prints a line a room; ``python tools/rooms.py docs/images/rooms.svg`` draws the rooms on
their floors, with the imports between them as they are in the code.
"""

from __future__ import annotations

import ast
import sys
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from html import escape
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "kgplatform"
WIDTH, LABEL, ROW, BOX, GAP = 1120, 110, 100, 46, 22


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """A module: its dotted name below the package, its path, and its syntax tree."""

    name: str
    path: Path
    tree: ast.Module
    lines: int

    @property
    def room(self) -> str:
        """The top folder that it is in; the name of the file itself for those at the top."""
        return self.name.split(".")[0]


@cache
def sources() -> list[Source]:
    """All modules of the package, in the order of their paths."""
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        name = ".".join(path.relative_to(PACKAGE).with_suffix("").parts).removesuffix("__init__").strip(".")
        text = path.read_text(encoding="utf-8")
        found.append(Source(name, path, ast.parse(text), text.count("\n")))
    return found


@cache
def imports(module: Source, names: frozenset[str], *, lazy: bool = True) -> tuple[str, ...]:
    """Modules of the package that a module imports; without ``lazy`` only those imported when it is."""
    return tuple(_imported(ast.walk(module.tree) if lazy else _at_import(module.tree), module, names))


def _imported(nodes: Iterable[ast.AST], module: Source, names: frozenset[str]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == PACKAGE.name:
            base = (node.module or "")[len(PACKAGE.name) + 1 :]
            for item in node.names:
                inner = f"{base}.{item.name}".strip(".")
                found = inner if inner in names else base
                if found and found != module.name:
                    yield found


def _at_import(tree: ast.Module) -> Iterator[ast.AST]:
    waiting: list[ast.AST] = list(tree.body)
    while waiting:
        node = waiting.pop()
        yield node
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        waiting.extend(ast.iter_child_nodes(node))


def settings() -> dict[str, object]:
    """The project's settings file."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def rows() -> dict[str, list[str]]:
    """The rooms of each row of the picture, the highest first: the floors that import-linter holds, in fewer rows."""
    found = settings()["tool"]["rooms"]["rows"]  # type: ignore[index]
    return dict(found)


def budgets() -> dict[str, int]:
    """Lines of Python that each room may have; what stands loosely at the top is one room, called ``.``."""
    found = settings()["tool"]["rooms"]["lines"]  # type: ignore[index]
    return dict(found)


def sizes() -> dict[str, tuple[int, int]]:
    """Lines and files of each room."""
    lines: Counter[str] = Counter()
    files: Counter[str] = Counter()
    for module in sources():
        room = module.room if (PACKAGE / module.room).is_dir() and module.name else "."
        lines[room] += module.lines
        files[room] += 1
    return {room: (lines[room], files[room]) for room in sorted(lines)}


def table() -> str:
    """Sizes against budgets, a line a room."""
    allowed, found = budgets(), sizes()
    rows = [f"{'room':<14} {'lines':>7} {'budget':>7} {'files':>6}"]
    for room, (lines, files) in found.items():
        rows.append(f"{room:<14} {lines:>7,} {allowed.get(room, 0):>7,} {files:>6}")
    whole = sum(lines for lines, _ in found.values())
    rows.append(f"{'all':<14} {whole:>7,} {sum(allowed.values()):>7,} {sum(files for _, files in found.values()):>6}")
    return "\n".join(rows)


def picture() -> str:
    """The rooms in their rows as SVG: the thicker a line, the more modules import across.

    What all rooms use, the lowest row, is drawn without lines.
    """
    modules = sources()
    names = frozenset(module.name for module in modules)
    ties: Counter[tuple[str, str]] = Counter()
    for module in modules:
        for room in {other.split(".")[0] for other in imports(module, names)} - {module.room}:
            ties[module.room, room] += 1
    found, place = sizes(), {}
    parts: list[str] = []
    for number, (label, row) in enumerate(rows().items()):
        y = 50 + number * ROW
        parts.append(f'<text class="label" x="16" y="{y + 28}">{escape(label)}</text>')
        wide = min(170.0, (WIDTH - LABEL - 20) / len(row) - GAP)
        left = LABEL + (WIDTH - LABEL - len(row) * (wide + GAP) + GAP) / 2
        for at, room in enumerate(row):
            x = left + at * (wide + GAP)
            place[room] = (x + wide / 2, y, number)
            lines, files = found.get(room) or (sum(m.lines for m in modules if m.room == room), 1)
            parts.append(
                f'<rect x="{x:.0f}" y="{y}" width="{wide:.0f}" height="{BOX}" rx="6"/>'
                f'<text class="name" x="{x + wide / 2:.0f}" y="{y + 20}">{escape(room)}</text>'
                f'<text x="{x + wide / 2:.0f}" y="{y + 37}">{lines:,} lines, {files} file{"s" * (files != 1)}</text>'
            )
    drawn = [pair for pair in ties if pair[0] in place and pair[1] in place and place[pair[1]][2] < len(rows()) - 1]
    lines_ = [_line(place[a][:2], place[b][:2], ties[a, b]) for a, b in sorted(drawn)]
    height = 40 + len(rows()) * ROW
    style = (
        "rect{fill:#f4f6fa;stroke:#42526b}text{font:11px sans-serif;text-anchor:middle;fill:#42526b}"
        ".name{font-weight:600;font-size:14px;fill:#14213d}.label{text-anchor:start;font-size:13px}"
        "path{fill:none;stroke:#5b6f91;stroke-opacity:.4}"
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}">'
        f'<style>{style}</style><rect width="{WIDTH}" height="{height}" style="fill:#fff;stroke:none"/>'
        f"{''.join(lines_)}{''.join(parts)}</svg>\n"
    )


def _line(above: tuple[float, int], below: tuple[float, int], count: int) -> str:
    (x1, y1), (x2, y2) = above, below
    beside = y1 == y2
    start, end = (y1, y2) if beside else (y1 + BOX, y2)
    bend = -40 if beside else (end - start) / 2
    back = bend if beside else -bend
    path = f"M{x1:.0f} {start} C{x1:.0f} {start + bend:.0f} {x2:.0f} {end + back:.0f} {x2:.0f} {end}"
    return f'<path d="{path}" style="stroke-width:{min(7.0, 0.6 + count**0.5 / 2):.1f}"/>'


if __name__ == "__main__":
    if len(sys.argv) > 1:
        Path(sys.argv[1]).write_text(picture(), encoding="utf-8")
    else:
        print(table())
