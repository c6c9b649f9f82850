"""Arrays kept in a folder, each a file that is mapped into memory, under the state of what they were made from.

``<name>-<state>`` holds one ``.npy`` file an array and ``texts.json``. It is written beside its place and moved there
whole; older ones of the name go. A folder that is damaged counts as not there.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgplatform.errors import WorkspaceError

_TEXTS = "texts.json"


@dataclass(frozen=True, slots=True)
class Arrays:
    """Arrays by name, and what JSON can say besides."""

    arrays: Mapping[str, NDArray[Any]]
    texts: Mapping[str, Any] = field(default_factory=dict)


def keep(folder: Path, name: str, state: str, made: Arrays) -> None:
    """Writes them, in place of those of any other state.

    Raises:
        WorkspaceError: the disk refuses.
    """
    place, part = folder / f"{name}-{state}", folder / f"{name}.{os.getpid()}.part"
    try:
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir(parents=True)
        for key, array in made.arrays.items():
            np.save(part / f"{key}.npy", array, allow_pickle=False)
        noted = {"sizes": {key: list(array.shape) for key, array in made.arrays.items()}, **made.texts}
        (part / _TEXTS).write_text(json.dumps(noted, ensure_ascii=False), encoding="utf-8", errors="surrogatepass")
        shutil.rmtree(place, ignore_errors=True)
        part.replace(place)
        for old in _kept(folder, name):
            if old != place:
                shutil.rmtree(old, ignore_errors=True)
    except OSError as error:
        raise WorkspaceError(f"{place}: cannot be written: {error.strerror or error}", path=place) from error


def held(folder: Path, name: str, state: str | None = None) -> Arrays | None:
    """Those of the state, or of whatever state there are; None: there are none that can be read."""
    places = [folder / f"{name}-{state}"] if state is not None else _kept(folder, name)
    return next((found for place in places if (found := _read(place)) is not None), None)


def _kept(folder: Path, name: str) -> list[Path]:
    return sorted(folder.glob(f"{name}-*")) if folder.is_dir() else []


def _read(place: Path) -> Arrays | None:
    try:
        texts = json.loads((place / _TEXTS).read_text(encoding="utf-8", errors="surrogatepass"))
        sizes = texts.pop("sizes")
        arrays = {key: _mapped(place / f"{key}.npy", tuple(shape)) for key, shape in sizes.items()}
    except (OSError, ValueError, KeyError, AttributeError, TypeError):
        return None
    return Arrays(arrays, texts)


def _mapped(path: Path, shape: tuple[int, ...]) -> NDArray[Any]:
    array = np.load(path, mmap_mode="r" if all(shape) else None, allow_pickle=False)
    if array.shape != shape:
        raise ValueError(f"{path} is not of the shape {shape}")
    return np.asarray(array) if not all(shape) else array
