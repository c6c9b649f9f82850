"""Where the shipped folders ``ontology/``, ``sparql/`` and ``templates/`` are.

In a wheel they lie in ``kgplatform/_files``; in a checkout (and in an editable install, which points
at the checkout) they lie beside the package.
"""

from __future__ import annotations

from pathlib import Path

_HERE = Path(__file__).resolve().parent
_ROOT = _HERE / "_files" if (_HERE / "_files").is_dir() else _HERE.parent


def folder(name: str) -> Path:
    """The path of a shipped folder: ``ontology``, ``sparql`` or ``templates``."""
    path = _ROOT / name
    if not path.is_dir():
        raise FileNotFoundError(f"{path}: the installation lacks its {name} folder; install kgplatform again")
    return path


def examples() -> Path | None:
    """The folder of sample inputs, which only a checkout has; None in an installed wheel."""
    path = _HERE.parent / "examples"
    return path if path.is_dir() else None
