"""Arrays and texts of a retrieval graph in one file, never half written, never trusted to be code.

A file holds plain arrays (no pickled objects) and one line of JSON; what made it is noted in it, so that a graph made
from other passages, or by another version, is not taken for this one's.
"""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgplatform.errors import WorkspaceError

_TEXTS = "texts"


def save(path: Path, arrays: Mapping[str, NDArray[Any]], texts: Mapping[str, object]) -> None:
    """Writes the file beside its place and moves it there.

    Raises:
        WorkspaceError: the disk refuses; the old file stays.
    """
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    said = np.frombuffer(json.dumps(texts, ensure_ascii=False).encode("utf-8", "surrogatepass"), dtype=np.uint8)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with part.open("wb") as file:
            np.savez(file, allow_pickle=False, **{_TEXTS: said}, **arrays)
        part.replace(path)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise WorkspaceError(f"{path}: cannot be written: {error.strerror or error}", path=path) from error


def load(path: Path) -> tuple[dict[str, NDArray[Any]], dict[str, Any]] | None:
    """The arrays and texts of the file; None: there is none, or it is damaged."""
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as held:
            arrays = {name: held[name] for name in held.files}
        texts = json.loads(arrays.pop(_TEXTS).tobytes().decode("utf-8", "surrogatepass"))
    except (OSError, ValueError, KeyError, zipfile.BadZipFile, EOFError):
        return None
    return (arrays, texts) if isinstance(texts, dict) else None
