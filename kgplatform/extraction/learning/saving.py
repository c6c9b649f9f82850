"""What was learnt, in one file: plain arrays and a line of JSON, never half written, never trusted to be code."""

from __future__ import annotations

import json
import os
import zipfile
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np

from kgplatform.errors import WorkspaceError
from kgplatform.extraction.learning.features import Lore
from kgplatform.extraction.learning.judging import Court, Words
from kgplatform.extraction.learning.learnt import Learnt, Scores
from kgplatform.extraction.learning.linear import Vocabulary
from kgplatform.extraction.learning.naming import Namings
from kgplatform.ontology import Ontology

VERSION: Final = 1
_ABOUT: Final = "about"


def save(learnt: Learnt, path: Path) -> None:
    """Writes the file beside its place and moves it there.

    Raises:
        WorkspaceError: the disk refuses; the old file stays.
    """
    about = json.dumps(_about(learnt), ensure_ascii=False, sort_keys=True).encode("utf-8", "surrogatepass")
    arrays = {
        "stretch_weights": learnt.stretches.weights.astype(np.float32),
        "stretch_offsets": learnt.stretches.offsets,
        "pair_weights": learnt.pairs.weights.astype(np.float32),
        "pair_offsets": learnt.pairs.offsets,
        "judge": learnt.judge,
        "cuts": learnt.cuts,
    }
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        with part.open("wb") as file:
            held: dict[str, Any] = {_ABOUT: np.frombuffer(about, dtype=np.uint8), **arrays}
            np.savez_compressed(file, allow_pickle=False, **held)
        part.replace(path)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise WorkspaceError(f"{path}: cannot be written: {error.strerror or error}", path=path) from error


def _about(learnt: Learnt) -> dict[str, object]:
    lore = learnt.lore
    return {
        "version": VERSION,
        "properties": learnt.properties,
        "counts": learnt.counts,
        "stretch_features": learnt.stretches.vocabulary.names,
        "pair_features": learnt.pairs.vocabulary.names,
        "roles": {key: [[*role, count] for role, count in sorted(roles.items())] for key, roles in lore.roles.items()},
        "told": dict(lore.told),
        "seen": {key: count for key, count in lore.seen.items() if lore.told[key]},
        "small": {key: count for key, count in lore.small.items() if count > 1},
        "namings": learnt.namings.kept(),
        "classes": {iri: list(pair) for iri, pair in learnt.classes.items()},
        "sentences": learnt.sentences,
        "report": {iri: list(numbers) for iri, numbers in learnt.report.items()},
    }


def load(path: Path, ontology: Ontology) -> Learnt | None:
    """What the file holds; None: there is none.

    Raises:
        WorkspaceError: it is damaged, or another version wrote it.
    """
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as held:
            arrays = {name: held[name] for name in held.files}
        about = json.loads(arrays.pop(_ABOUT).tobytes().decode("utf-8", "surrogatepass"))
        if about["version"] != VERSION:
            raise _unusable(path, "was written by another version")
        return _learnt(arrays, about, ontology)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, AttributeError, zipfile.BadZipFile, EOFError) as error:
        raise _unusable(path, "is damaged") from error


def _unusable(path: Path, why: str) -> WorkspaceError:
    return WorkspaceError(f"{path} {why}; run `kgplatform learn` again, or delete it", path=path)


def _learnt(arrays: Mapping[str, Any], about: Mapping[str, Any], ontology: Ontology) -> Learnt:
    lore = Lore(told=Counter(about["told"]), seen=Counter(about["seen"]), small=Counter(about["small"]))
    for key, roles in about["roles"].items():
        lore.roles[key] = Counter({(role, iri): int(count) for role, iri, count in roles})
    properties, namings = tuple(about["properties"]), Namings.of(about["namings"])
    return Learnt(
        properties=properties,
        counts=tuple(about["counts"]),
        stretches=_scores(arrays, "stretch", about["stretch_features"]),
        pairs=_scores(arrays, "pair", about["pair_features"]),
        judge=arrays["judge"],
        cuts=arrays["cuts"],
        lore=lore,
        namings=namings,
        classes={iri: (first, second) for iri, (first, second) in about["classes"].items()},
        sentences=int(about["sentences"]),
        report={iri: (said, read, right) for iri, (said, read, right) in about["report"].items()},
        court=Court(properties, tuple(about["counts"]), Words(properties, ontology), namings),
    )


def _scores(arrays: Mapping[str, Any], name: str, features: list[str]) -> Scores:
    weights = arrays[f"{name}_weights"].astype(np.float64)
    if len(weights) != len(features):
        raise ValueError("weights and features differ in number")
    return Scores(Vocabulary(features), weights, arrays[f"{name}_offsets"])
