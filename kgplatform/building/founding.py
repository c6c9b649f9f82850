"""The first day of a workspace: its folder, its ontologies with what they import, its empty dataset, its settings."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from kgplatform import config, packs
from kgplatform.checking.run import refuse_unusable
from kgplatform.dataset import Change, EvidenceDataset
from kgplatform.errors import KgPlatformError, OntologyError, WorkspaceError
from kgplatform.packs import ImportRules, LoadedOntology
from kgplatform.store import Store

STORE = "store"


def found(
    path: Path,
    names: Sequence[str],
    *,
    base: str,
    imports: Mapping[str, Path | str] | None = None,
    fetch_imports: bool = False,
) -> LoadedOntology:
    """Makes a workspace in a folder that is empty or does not exist; what its ontologies are.

    Raises:
        WorkspaceError: the folder holds something, or cannot be made.
        OntologyError: an ontology is not known or cannot be read; nothing is left behind.
        ConfigError: no IRIs can begin with the base.
    """
    refuse_full(path)
    config.checked_base(base)
    with import_rules(imports or {}, fetch=fetch_imports) as rules:
        loaded = packs.load(names, folder=Path.cwd(), rules=rules)
        refuse_unusable(packs.own_files(loaded.files))
        was_there = path.exists()
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise WorkspaceError(f"{path}: cannot be made: {error.strerror or error}", path=path) from error
        try:
            _fill(path, names, loaded, base)
        except (KgPlatformError, OSError) as error:
            _empty(path, is_kept=was_there)
            if isinstance(error, OSError):
                raise WorkspaceError(f"{path}: cannot be made: {error.strerror or error}", path=path) from error
            raise
    return loaded


def refuse_full(path: Path) -> None:
    """Refuses a folder that something is in.

    Raises:
        WorkspaceError: it is a file, a workspace, or not empty.
    """
    if path.exists() and not path.is_dir():
        raise WorkspaceError(f"{path} is a file; choose another folder", path=path)
    if path.exists() and any(path.iterdir()):
        what = "is a workspace already" if (path / config.FILE).exists() else "is not empty"
        raise WorkspaceError(f"{path} {what}; choose another folder", path=path)


def _fill(path: Path, names: Sequence[str], loaded: LoadedOntology, base: str) -> None:
    kept = packs.keep(names, loaded, source=Path.cwd(), folder=path)
    store = Store.open(path / STORE)
    try:
        dataset = EvidenceDataset(store, base)
        dataset.commit(Change(added={dataset.ontology: loaded.triples}))
        store.flush()
    finally:
        store.close()
    config.write(path, base=base, ontology=kept)  # last: a folder without settings is no workspace


def _empty(path: Path, *, is_kept: bool) -> None:
    for item in path.iterdir():
        if item.is_dir():
            shutil.rmtree(item, ignore_errors=True)
        else:
            item.unlink(missing_ok=True)
    if not is_kept:
        path.rmdir()


@contextmanager
def import_rules(
    given: Mapping[str, Path | str], *, fetch: bool, otherwise: Mapping[str, Path] | None = None
) -> Iterator[ImportRules]:
    """Where imports are looked for, with a folder for fetched ones that is there as long as the context.

    Raises:
        OntologyError: a given file is not there.
    """
    files = {iri: Path(path).expanduser() for iri, path in given.items()}
    for iri, path in files.items():
        if not path.is_file():
            raise OntologyError(f"no such file, given for the import {iri}", source=str(path))
    with TemporaryDirectory(prefix="kgplatform-") as folder:
        yield ImportRules(files, Path(folder) if fetch else None, otherwise or {})
