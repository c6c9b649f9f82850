"""What a retrieval did, as a picture: a heat map of likeness, the path of a walk, the subgraph of an answer.

A walk is shown on the plane and in the space of the main directions (PCA) of its windows and their neighbours, the
question among them, with the steps numbered.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from kgplatform.errors import ConfigError, WorkspaceError
from kgplatform.retrieval.entity_graph import EntityGraph
from kgplatform.retrieval.entity_retrieval import DualLevelRetriever, DualTrace
from kgplatform.retrieval.similarity import SimilarityGraph
from kgplatform.retrieval.sources import Corpus, found_by
from kgplatform.retrieval.traversal import PlanningRetriever, TraversalRetriever, embedded
from kgplatform.text import has_han
from kgplatform.types import Hit, Retriever

# Labels may be Chinese. Where a font that has the characters is installed it is used; where none is, each Chinese
# character is written as its reading in pinyin, and what no font has as ``?``, so that nothing is warned of or lost.
FORMATS: Final = ("png", "svg", "pdf")
INK: Final = "#1f2937"
ACCENT: Final = "#b4451f"
QUIET: Final = "#9aa5b1"
LIKE: Final = "#2b6ca3"

_HAN_FONTS: Final = (
    "Noto Sans CJK SC",
    "Noto Sans CJK JP",
    "Source Han Sans SC",
    "Source Han Sans CN",
    "WenQuanYi Zen Hei",
    "WenQuanYi Micro Hei",
    "Microsoft YaHei",
    "PingFang SC",
    "Hiragino Sans GB",
    "SimHei",
    "Noto Serif CJK SC",
    "Noto Serif CJK JP",
)
_LATIN: Final = "DejaVu Sans"


def checked_file(path: Path) -> str:
    """The format of a picture file.

    Raises:
        ConfigError: the suffix is none of those that can be drawn, or the folder is not there.
    """
    kind = path.suffix.casefold().lstrip(".")
    if kind not in FORMATS:
        named = f"{path.suffix!r}" if path.suffix else "a name without a suffix"
        raise ConfigError(f"{path}: {named} is not a picture format; take .png, .svg or .pdf", setting="plot")
    if not path.absolute().parent.is_dir():
        raise ConfigError(f"{path}: there is no folder {path.parent}", setting="plot")
    return kind


@cache
def han_font() -> str | None:
    """The first installed font that has Chinese characters; None: there is none."""
    from matplotlib import font_manager

    installed = {entry.name for entry in font_manager.fontManager.ttflist}
    return next((name for name in _HAN_FONTS if name in installed), None)


@cache
def _glyphs(name: str) -> frozenset[int]:
    from matplotlib import font_manager

    return frozenset(font_manager.get_font(font_manager.findfont(name)).get_charmap())


def shown(text: str, most: int = 40) -> str:
    """The text as it can be drawn: in one line of at most so many letters, only what the fonts have."""
    line = " ".join(text.split())
    if has_han(line) and han_font() is None:
        line = _romanised(line)
    fonts = [_glyphs(_LATIN), *([_glyphs(font)] if (font := han_font()) else [])]
    line = "".join(c for c in line if c.isspace() or not _is_picture(c))
    line = "".join(c if any(ord(c) in glyphs for glyphs in fonts) or c == " " else "?" for c in line)
    return _cut(line, most).replace("$", r"\$")  # no formulas


def _cut(line: str, most: int) -> str:
    """The line cut to a width in Latin letters; a Chinese character is as wide as two."""
    width = 0
    for place, character in enumerate(line):
        width += 2 if has_han(character) else 1
        if width > most:
            return line[: max(place - 1, 0)].rstrip() + "…"
    return line


def _is_picture(character: str) -> bool:
    """Whether it is an emoji or a selector of its form."""
    code = ord(character)
    return code >= 0x1F000 or 0xFE00 <= code <= 0xFE0F or code == 0x200D


def _romanised(text: str) -> str:
    from pypinyin import lazy_pinyin

    return " ".join(part.strip() for part in lazy_pinyin(text) if part.strip())


def new_figure(width: float, height: float) -> Any:
    """An empty figure, in inches; nothing of a screen is used."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


@contextmanager
def pen() -> Iterator[None]:
    """The settings under which everything is drawn; they are the caller's again afterwards."""
    import matplotlib

    fonts = [_LATIN, *([font] if (font := han_font()) else [])]
    settings = {
        "font.family": fonts,
        "svg.fonttype": "path",
        "svg.hashsalt": "kgplatform",
        "axes.edgecolor": QUIET,
        "axes.labelcolor": INK,
        "text.color": INK,
        "xtick.color": INK,
        "ytick.color": INK,
        "font.size": 9,
        "axes.unicode_minus": False,
    }
    with matplotlib.rc_context(settings):
        yield


def write(figure: Any, path: Path) -> None:
    """Writes the figure to the file, whole or not at all; the same figure gives the same file.

    Raises:
        WorkspaceError: the file cannot be written.
    """
    kind = checked_file(path)
    whole = io.BytesIO()
    undated = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind, {"Software": None})
    figure.savefig(whole, format=kind, dpi=150, metadata=undated)
    try:
        path.write_bytes(whole.getvalue())
    except OSError as error:
        raise WorkspaceError(f"{path}: cannot be written: {error.strerror or error}", path=path) from error


_MOST_CELLS: Final = 24
_MOST_AROUND: Final = 60
_MOST_THINGS: Final = 40
_PAPER: Final = {"facecolor": "white", "edgecolor": "none", "pad": 0.5, "alpha": 0.8}


@dataclass(frozen=True, slots=True)
class Steps:
    """The windows that a walk read, in order, and the question's vector."""

    graph: SimilarityGraph
    question: NDArray[np.float32]
    windows: tuple[int, ...]


def draw(sources: Corpus, made: Retriever, question: str, k: int, path: Path, per_document: int = 0) -> list[Hit]:
    """Retrieves, draws what was done into the file (png, svg or pdf by its suffix), and gives the hits.

    A traversal or plan is drawn as heat map and path, a dual-level answer as its subgraph, anything else as a heat map
    of the question and the hits.

    Raises:
        ConfigError: the suffix is not a picture format, or there is no such folder.
        ModelUnavailableError: an embedding model is needed, and cannot be used.
        WorkspaceError: the file cannot be written.
    """
    checked_file(path)
    with pen():
        if isinstance(made, DualLevelRetriever):
            hits, trace = found_by(made, question, k, per_document)
            assert isinstance(trace, DualTrace)
            figure = subgraph(sources.entity_graph(), trace, question)
        elif isinstance(made, PlanningRetriever | TraversalRetriever):
            hits, steps = _walked(sources, made, question, k)
            figure = walk_path(steps, question)
        else:
            hits, _ = found_by(made, question, k, per_document)
            figure = heat_map(*_hit_likeness(sources, question, hits), title=f"{made.name}: {question}")
        write(figure, path)
    return hits


def _walked(
    sources: Corpus, made: PlanningRetriever | TraversalRetriever, question: str, k: int
) -> tuple[list[Hit], Steps]:
    hits = made.retrieve(question, k)
    if isinstance(made, PlanningRetriever):
        graph, windows = sources.similarity_graph(), made.explain(question, k)[1].chosen.windows
    else:
        graph, walked = made.walk(question, k)
        windows = tuple(step.window for step in walked.steps)
    return hits, Steps(graph, embedded(sources, question), windows)


def _hit_likeness(sources: Corpus, question: str, hits: Sequence[Hit]) -> tuple[NDArray[np.float32], list[str]]:
    """The likeness of the question and the first hits to each other, and what to call them."""
    shown_hits = list(hits)[: _MOST_CELLS - 1]
    labels = ["?", *(f"{hit.rank} {hit.text}" for hit in shown_hits)]
    if sources.embedder is None:
        return np.eye(len(labels), dtype=np.float32), labels
    vectors = sources.embedder.embed([question or "?", *(hit.text or "?" for hit in shown_hits)])
    return vectors @ vectors.T, labels


def heat_map(likeness: NDArray[np.float32], labels: Sequence[str], *, title: str = "") -> Any:
    """A figure of the matrix, dark where two are alike; labels stand left, their numbers below."""
    figure = new_figure(8.5, 2 + 0.28 * max(len(labels), 8))
    _heat(figure, figure.add_subplot(), likeness, labels)
    figure.suptitle(shown(title, 80), fontsize=11, color=INK)
    return figure


def _heat(figure: Any, axes: Any, likeness: NDArray[np.float32], labels: Sequence[str]) -> None:
    image = axes.imshow(likeness, cmap="Blues", vmin=0, vmax=1, aspect="auto")
    axes.set_yticks(range(len(labels)), [shown(label, 42) for label in labels], fontsize=7)
    axes.set_xticks(range(len(labels)), [label.split(" ", 1)[0] for label in labels], fontsize=7)
    if len(labels) <= 14:
        for row, values in enumerate(likeness):
            for column, value in enumerate(values):
                dark = value > 0.6
                axes.text(
                    column, row, f"{value:.2f}", ha="center", va="center", fontsize=6, color="white" if dark else INK
                )
    figure.colorbar(image, ax=axes, shrink=0.8, label="cosine")


def walk_path(steps: Steps, question: str) -> Any:
    """A figure of a walk: the likeness of the windows it read, and its path on the plane and in space."""
    figure = new_figure(13, 10)
    above, below = figure.subfigures(2, 1)
    read = list(steps.windows)[:_MOST_CELLS]
    vectors = np.vstack([steps.question[None, :], steps.graph.window_vectors[read]])
    labels = ["?", *(f"{place} {steps.graph.text_of(window)}" for place, window in enumerate(read, start=1))]
    heat = above.add_subplot()
    _heat(above, heat, vectors @ vectors.T, labels)
    heat.set_title("question and windows, in the order of the walk", fontsize=9)
    around = _around(steps)
    points = _main_directions(np.vstack([steps.question[None, :], steps.graph.window_vectors[[*read, *around]]]))
    for count in (2, 3):
        axes = below.add_subplot(1, 2, count - 1, projection="3d" if count == 3 else None)
        _path(axes, points[:, :count], len(read))
        axes.set_title(f"the path in {count} main directions", fontsize=9)
    figure.suptitle(shown(question, 80), fontsize=12, color=INK)
    return figure


def _around(steps: Steps) -> list[int]:
    """Neighbours of the windows read, for the picture's background."""
    read = set(steps.windows)
    near = (edge.target for window in steps.windows for edge in steps.graph.edges[window] if edge.target not in read)
    return list(dict.fromkeys(near))[:_MOST_AROUND]


def _main_directions(vectors: NDArray[np.float32]) -> NDArray[np.float64]:
    """The points in their three main directions; each direction has its sign from its greatest part, to stay put."""
    points = vectors.astype(np.float64) - vectors.mean(axis=0)
    _, _, directions = np.linalg.svd(points, full_matrices=False)
    kept = np.zeros((3, points.shape[1]))
    kept[: min(3, len(directions))] = directions[:3]
    for row in kept:
        if row[np.argmax(np.abs(row))] < 0:
            row *= -1
    projected: NDArray[np.float64] = points @ kept.T
    return projected


def _path(axes: Any, points: NDArray[np.float64], read: int) -> None:
    """The question as a star, the windows read numbered and joined, their neighbours as dots."""
    question, path, around = points[:1], points[1 : 1 + read], points[1 + read :]
    axes.scatter(*around.T, s=10, color=QUIET, alpha=0.5, label="neighbours")
    axes.plot(*path.T, color=LIKE, linewidth=1.2)
    axes.scatter(*path.T, s=60, color=LIKE, label="read", zorder=3)
    axes.scatter(*question.T, s=160, marker="*", color=ACCENT, label="question", zorder=4)
    for number, point in enumerate(path, start=1):
        axes.text(*point, f" {number}", fontsize=9, color=INK, zorder=5)
    axes.tick_params(labelsize=6)
    if points.shape[1] == 2:
        axes.legend(fontsize=7, loc="best", frameon=False)


def subgraph(graph: EntityGraph, trace: DualTrace, question: str) -> Any:
    """A figure of a dual-level answer: targets, what ties them, the relations kept and those pruned."""
    local = trace.local
    relations = list(dict.fromkeys((*local.kept, *local.pruned)))
    ends = (end for number in relations for end in graph.ends[number])
    things = list(dict.fromkeys((*local.targets, *ends)))[:_MOST_THINGS]
    places = {thing: place for place, thing in enumerate(things)}
    drawn = [n for n in relations if all(end in places for end in graph.ends[n])]
    spots = _spots(len(things), [(places[graph.ends[n][0]], places[graph.ends[n][1]]) for n in drawn])
    figure = new_figure(11, 8)
    axes = figure.add_subplot()
    kept = set(local.kept)
    for number in drawn:
        one, other = (spots[places[end]] for end in graph.ends[number])
        _edge(axes, one, other, _said(graph, number) if number in kept else "", kept=number in kept)
    targets = set(local.targets)
    for thing, spot in zip(things, spots, strict=True):
        named = thing in targets
        axes.scatter(*spot, s=160 if named else 70, color=ACCENT if named else LIKE, zorder=3)
        axes.annotate(
            shown(graph.thing(thing).label, 28),
            spot,
            xytext=(0, 9),
            textcoords="offset points",
            ha="center",
            fontsize=8,
            bbox=_PAPER,
        )
    _legend(axes)
    axes.margins(0.15)
    axes.set_axis_off()
    figure.suptitle(shown(question, 80), fontsize=12, color=INK)
    return figure


def _said(graph: EntityGraph, number: int) -> str:
    """What the relation says between the names of its ends."""
    subject, object_ = (graph.thing(end).label for end in graph.ends[number])
    text = graph.knowledge.relations[number].text
    return text.removeprefix(subject).removesuffix(object_).strip() or text


def _edge(axes: Any, one: NDArray[np.float64], other: NDArray[np.float64], text: str, *, kept: bool) -> None:
    style: dict[str, Any] = {"color": INK, "linewidth": 1.3} if kept else {"color": QUIET, "linewidth": 0.8}
    axes.plot(*zip(one, other, strict=True), linestyle="-" if kept else ":", zorder=1, **style)
    if text:
        middle = (one + other) / 2
        axes.text(*middle, shown(text, 34), fontsize=7, ha="center", va="center", color=INK, zorder=2, bbox=_PAPER)


def _legend(axes: Any) -> None:
    from matplotlib.lines import Line2D

    marks = [
        Line2D([], [], marker="o", linestyle="", color=ACCENT, label="looked up"),
        Line2D([], [], marker="o", linestyle="", color=LIKE, label="between"),
        Line2D([], [], color=INK, label="kept"),
        Line2D([], [], color=QUIET, linestyle=":", label="pruned"),
    ]
    axes.legend(handles=marks, fontsize=7, frameon=False)


def _spots(count: int, edges: Sequence[tuple[int, int]], rounds: int = 200) -> NDArray[np.float64]:
    """Places on the plane: joined ones attract, all repel (Fruchterman and Reingold 1991); always the same."""
    turns = np.arange(count) * 2 * np.pi / max(count, 1)
    spots = np.stack([np.cos(turns), np.sin(turns)], axis=1)
    ideal = 1.6 / max(count, 1) ** 0.5
    ends = np.array([pair for pair in edges if pair[0] != pair[1]], dtype=np.int64).reshape(-1, 2)
    for round_ in range(rounds):
        apart = spots[:, None, :] - spots[None, :, :]
        distance = np.maximum(np.linalg.norm(apart, axis=2), 1e-3)
        push = (apart * (ideal**2 / distance**2)[:, :, None]).sum(axis=1)
        pull = np.zeros_like(spots)
        along = spots[ends[:, 0]] - spots[ends[:, 1]]
        force = along * (np.linalg.norm(along, axis=1) / ideal)[:, None]
        np.add.at(pull, ends[:, 0], -force)
        np.add.at(pull, ends[:, 1], force)
        move = push + pull - 0.3 * spots
        length = np.maximum(np.linalg.norm(move, axis=1, keepdims=True), 1e-9)
        spots = spots + move / length * np.minimum(length, 0.15 * (1 - round_ / rounds))
    return spots
