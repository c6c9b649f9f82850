"""The paper that pictures are drawn on: a figure of matplotlib, its fonts, its file.

Labels may be Chinese. Where a font that has the characters is installed it is used; where none is, each Chinese
character is written as its reading in pinyin, and what no font has as ``?``, so that nothing is warned of or lost.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, Final

from kgplatform.errors import ConfigError, WorkspaceError
from kgplatform.text import has_han

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
        raise ConfigError(f"{path}: {named} is no picture format; take .png, .svg or .pdf", setting="plot")
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
