"""Backups of a workspace in a folder or a bucket, taken while it is in use, and workspaces made from them.

A backup is the patches of the journal in segments, each written once, and the files that no patch holds: settings,
ontologies, what people made by hand, replies of the model. A later backup into the same place adds what is new.
Whatever the patches make can be made as of any of them. Once they are many, a checkpoint is added: graph and registry
as they are then, from which a replica or a workspace begins, instead of from the first patch. Indexes are made again by
``kgplatform build``.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import chain, takewhile
from pathlib import Path, PurePosixPath
from typing import Any, Final

from kgplatform import settings as config
from kgplatform.cluster.replica import put_ontology
from kgplatform.documents.registry import Registry
from kgplatform.errors import ConfigError, NotFoundError, StoreError, WorkspaceError
from kgplatform.journal.patch import Journal, Patch, commits, digests, net, packed, packed_rows, whole_digest
from kgplatform.journal.recorder import write_mark
from kgplatform.journal.sqlite_journal import SqliteJournal
from kgplatform.store.oxigraph import Store, in_parts
from kgplatform.store.versions import moment_of
from kgplatform.vocab import prefixes_of
from kgplatform.workspace.workspace import JOURNAL, MARK, REGISTRY, STORE, Workspace, journal_of

_MANIFEST: Final = "backup.json"
_FORMAT: Final = 1
_SEGMENT: Final = 32 << 20
"""So many bytes of patches make a segment; and so many after a checkpoint, if they are more than it, make the next."""
_ROWS: Final = 1_000
_TRIES: Final = 5
_CHECKPOINT: Final = "checkpoint"
_LEFT_OUT: Final = {
    *(STORE, REGISTRY, JOURNAL, MARK, "versions", "chunks", "vectors", "workers", "draft", "linking.sqlite"),
    *(_CHECKPOINT, "holder.json", "inference.json", "update.pending", "ontology.next", "ontology.pending"),
}


@dataclass(frozen=True, slots=True)
class BackedUp:
    """A backup: the number of its last patch, and how many patches and bytes this one added."""

    number: int
    patches: int
    size: int


@dataclass(frozen=True, slots=True)
class Restored:
    """A workspace made from a backup: as of which patch and time, and the digest of its graph."""

    number: int
    moment: datetime
    digest: str


def back_up(workspace: Workspace, target: str) -> BackedUp:
    """Adds what is new to the backup in the folder or at the address, which is there after as a whole.

    Raises:
        ConfigError: the workspace keeps no journal, or the address needs a package that is missing.
        StoreError: the target cannot be written, or holds the backup of another workspace.
    """
    if workspace.recorder is None:
        raise ConfigError(
            "a backup is made from the journal: write journal = true in kgplatform.toml", setting="journal"
        )
    workspace.recorder.ship()
    journal = workspace.recorder.journal
    place = _Place(target)
    with place.failing("written"):
        manifest = place.manifest() or {"format": _FORMAT, "journal": journal.name, "segments": [], "files": {}}
        if manifest["journal"] != journal.name:
            raise StoreError(f"{target}: holds the backup of another workspace; choose another folder")
        before = _last(manifest)
        size = _add_patches(place, manifest, journal, journal.newest)
        if _is_due(manifest):
            size += _add_checkpoint(workspace, place, manifest)
        manifest["files"] = {}
        for name, data in _files(workspace.folder):
            place.write(f"files/{name}", data)
            manifest["files"][name] = hashlib.sha256(data).hexdigest()
            size += len(data)
        place.write(
            _MANIFEST, json.dumps(manifest, ensure_ascii=False, indent=1).encode()
        )  # last: only with it it counts
    return BackedUp(_last(manifest), _last(manifest) - before, size)


def _last(manifest: dict[str, Any]) -> int:
    """The number of the last patch that the backup holds."""
    return int(manifest["segments"][-1]["last"]) if manifest["segments"] else 0


def _add_patches(place: _Place, manifest: dict[str, Any], journal: Journal, newest: int) -> int:
    """Writes the patches up to that number which the backup lacks; how many bytes that is."""
    size, patches = 0, takewhile(lambda patch: patch.number <= newest, journal.patches(_last(manifest)))
    for first, last, data in _segments(patches):
        record = _kept(place, f"patches/{first:012d}-{last:012d}", data)
        manifest["segments"].append({**record, "first": first, "last": last})
        size += len(data)
    return size


def _kept(place: _Place, name: str, data: bytes) -> dict[str, Any]:
    place.write(name, data)
    return {"name": name, "size": len(data), "sha256": hashlib.sha256(data).hexdigest()}


def _is_due(manifest: dict[str, Any]) -> bool:
    """Whether to replay what came after the last checkpoint takes longer than to begin with a new one."""
    before = [(item["number"], sum(part["size"] for part in item["parts"])) for item in manifest.get("checkpoints", ())]
    number, size = before[-1] if before else (0, 0)
    since: int = sum(item.get("size", 0) for item in manifest["segments"] if item["first"] > number)
    return since > max(size, _SEGMENT)


def _add_checkpoint(workspace: Workspace, place: _Place, manifest: dict[str, Any]) -> int:
    """Writes graph and registry as of one patch, and the patches up to it; how many bytes that is."""
    assert workspace.recorder is not None
    folder, recorder = workspace.folder / _CHECKPOINT, workspace.recorder
    shutil.rmtree(folder, ignore_errors=True)
    with ExitStack() as stack:
        folder.mkdir()
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        for turn in range(_TRIES):
            with workspace.store.write_lock():
                recorder.ship()
                number = recorder.number
                registry = Registry(_copied(workspace.folder / REGISTRY, folder / f"{turn}.sqlite"))
                stack.callback(registry.close)
                if is_level := not registry.changed_rows.has_changes:  # no other thread has written there meanwhile
                    workspace.store.snapshot(folder / "store")
                    break
        if not is_level:
            return 0  # the next backup makes one
        store = stack.enter_context(closing(Store.open_snapshot(folder / "store")))
        size = _add_patches(place, manifest, recorder.journal, number)
        registry.changed_rows.keep_changes("", all_rows=True)
        (moment,) = (patch.moment for patch in recorder.journal.patches(number - 1, limit=1))
        parts = [
            _kept(place, f"checkpoints/{number:012d}-{part}", data)
            for part, (*_, data) in enumerate(_segments(_as_patches(store, registry, number, moment)))
        ]
        made = {"number": number, "moment": moment.isoformat(), "parts": parts}
        manifest.setdefault("checkpoints", []).append(made)
        return sum([size, *(part["size"] for part in parts)])


def _as_patches(store: Store, registry: Registry, number: int, moment: datetime) -> Iterator[Patch]:
    """All that there is, as though it came with one commit."""
    for _, added in in_parts((), store.quads()):
        yield Patch(number, 0, moment, more=True, gone=b"", new=packed(added), record=b"")
    rows = registry.changed_rows.noted()
    for start in range(0, len(rows), _ROWS):
        some = packed_rows(rows[start : start + _ROWS])
        yield Patch(number, 0, moment, more=True, gone=b"", new=b"", record=some)


def restore(source: str, folder: Path, *, at: str = "", follows: bool = False) -> Restored:
    """Makes a workspace from a backup, as of its end, or of a patch or time; or of a journal, a replica's start.

    ``follows``: it goes on with the journal that the backup was made from, instead of one of its own.

    Raises:
        WorkspaceError: the folder holds something.
        NotFoundError: there is no backup, or nothing as old as that.
        StoreError: the backup cannot be read, or was altered.
    """
    if folder.exists() and any(folder.iterdir()):
        raise WorkspaceError(f"{folder}: is not empty; restore into a new folder", path=folder)
    place, staging = _Place(source), folder.with_name(f"{folder.name}.part")
    with place.failing("read"):
        manifest = place.manifest()
        if manifest is None:
            raise NotFoundError(f"{source}: no backup is there (no {_MANIFEST})", name=source)
        begun = _checkpoint_at(manifest, at)
        number = _number_at(place, manifest, at, begun["number"])
        shutil.rmtree(staging, ignore_errors=True)
        staging.mkdir(parents=True)
        try:
            made = _made(place, manifest, staging, begun, number, follows=follows)
            if folder.exists():
                folder.rmdir()
            staging.rename(folder)
        finally:
            shutil.rmtree(staging, ignore_errors=True)
    return made


def _made(
    place: _Place, manifest: dict[str, Any], folder: Path, begun: dict[str, Any], number: int, *, follows: bool
) -> Restored:
    for name, sha256 in manifest["files"].items():
        path = folder / PurePosixPath(name)
        if ".." in path.parts or not path.is_relative_to(folder):
            raise StoreError(f"{place.target}: the name of a file leads out of the workspace: {name!r}")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(place.read(f"files/{name}", sha256))
    settings = folder / config.FILE
    if not follows:
        settings.write_text(config.with_journal(settings.read_text(encoding="utf-8"), ""), encoding="utf-8")
    base = config.load(folder).base
    with closing(Store.open(folder / STORE, prefixes=prefixes_of(base))) as store:
        with closing(Registry(folder / REGISTRY)) as registry:
            name, moment = manifest["journal"], datetime.fromisoformat(begun["moment"])
            if not follows:
                with closing(SqliteJournal(folder / JOURNAL)) as journal:
                    journal.fill(_patches(place, manifest, number))
                    name = journal.name
            registry.changed_rows.keep_changes(name, all_rows=False)
            parts = (_unwritten(place.read(part["name"], part["sha256"])) for part in begun["parts"])
            later = commits(_patches(place, manifest, number, after=begun["number"]))
            for group in chain(([patch] for patch in chain.from_iterable(parts)), later):
                store.replay(*net(group), version=group[-1].number)
                registry.changed_rows.apply_rows(name, group[-1].number, [row for p in group for row in p.rows])
                moment = group[-1].moment
            put_ontology(folder, registry)
        store.flush()
        write_mark(folder / MARK, name, number)
        return Restored(number, moment, whole_digest(digests(store)))


def _checkpoint_at(manifest: dict[str, Any], at: str) -> dict[str, Any]:
    """The newest checkpoint that is not after the number or time; an empty one, before the first patch, if none is."""
    found = {"number": 0, "moment": datetime.min.replace(tzinfo=UTC).isoformat(), "parts": []}
    by_number = not at or at.isdecimal()
    latest: Any = int(at or _last(manifest)) if by_number else moment_of(at)
    for item in manifest.get("checkpoints", ()):
        when = item["number"] if by_number else datetime.fromisoformat(item["moment"])
        found = found if when > latest else item
    return found


def _number_at(place: _Place, manifest: dict[str, Any], at: str, found: int) -> int:
    """The last whole commit that is not after the number or time, looked for after one that is not."""
    last = _last(manifest)
    moment = None if not at or at.isdecimal() else moment_of(at)
    if at.isdecimal():
        last = min(last, int(at))
    for patch in _patches(place, manifest, last, after=found):
        if moment is not None and patch.moment > moment:
            break
        found = found if patch.more else patch.number
    if not found:
        raise NotFoundError(f"{place.target}: nothing is kept of {at or 'any time'}; its last patch is {last}", name=at)
    return found


def _patches(place: _Place, manifest: dict[str, Any], last: int, *, after: int = 0) -> Iterator[Patch]:
    for segment in manifest["segments"]:
        if segment["first"] <= last and segment["last"] > after:
            data = place.read(segment["name"], segment["sha256"])
            yield from (patch for patch in _unwritten(data) if after < patch.number <= last)


def _segments(patches: Iterable[Patch]) -> Iterator[tuple[int, int, bytes]]:
    data, first, last = bytearray(), 0, 0
    for patch in patches:
        first, last = first or patch.number, patch.number
        data += _written(patch)
        if len(data) >= _SEGMENT:
            yield first, last, bytes(data)
            data, first = bytearray(), 0
    if data:
        yield first, last, bytes(data)


def _written(patch: Patch) -> bytes:
    """A line of JSON that says how long the three parts after it are."""
    parts = (patch.gone, patch.new, patch.record)
    head = [patch.number, patch.epoch, patch.moment.isoformat(), patch.more, *map(len, parts)]
    return b"".join((json.dumps(head).encode(), b"\n", *parts))


def _unwritten(data: bytes) -> Iterator[Patch]:
    place = 0
    while place < len(data):
        end = data.index(b"\n", place)
        number, epoch, moment, more, *lengths = json.loads(data[place:end])
        place, parts = end + 1, []
        for length in lengths:
            parts.append(data[place : place + length])
            place += length
        yield Patch(number, epoch, datetime.fromisoformat(moment), more, *parts)


def _files(folder: Path) -> Iterator[tuple[str, bytes]]:
    """The files of a workspace that no patch holds; databases as of one moment, although they are in use."""
    kept = [path for path in folder.iterdir() if path.name.removesuffix("-wal").removesuffix("-shm") not in _LEFT_OUT]
    walked = (Path(inside, name) for top in kept for inside, _, names in os.walk(top) for name in names)
    for path in sorted((*(path for path in kept if path.is_file()), *walked)):
        name = path.relative_to(folder)
        if path.name.endswith((".part", "-wal", "-shm", ".lock")):
            continue
        if path.suffix != ".sqlite":
            with suppress(FileNotFoundError):  # it went while others were read
                yield name.as_posix(), path.read_bytes()
            continue
        with tempfile.TemporaryDirectory(prefix="kgplatform-") as scratch:
            yield name.as_posix(), _copied(path, Path(scratch) / path.name).read_bytes()


def _copied(database: Path, copy: Path) -> Path:
    with closing(sqlite3.connect(database)) as live, closing(sqlite3.connect(copy)) as other:
        live.backup(other)
    return copy


class _Place:
    """A folder, or what fsspec knows by an address such as ``s3://bucket/name``."""

    def __init__(self, target: str) -> None:
        self.target = target
        try:
            import fsspec

            self._files, self._path = fsspec.core.url_to_fs(target)
            self._faults: tuple[type[Exception], ...] = (OSError, ValueError, KeyError, TypeError, sqlite3.Error)
            self._is_bucket = "s3" in self._files.protocol
            if self._is_bucket:
                from botocore.exceptions import BotoCoreError

                self._faults += (BotoCoreError,)
        except ImportError as error:
            raise ConfigError(
                f"{target}: {error}; `pip install 'kgplatform[cluster]'` brings what s3:// needs", setting="backup"
            ) from error
        except (ValueError, OSError) as error:
            raise ConfigError(f"{target}: is no folder and no address of a store: {error}", setting="backup") from error

    @contextmanager
    def failing(self, what: str) -> Iterator[None]:
        """Tells in one line that the place cannot be read or written."""
        try:
            yield
        except self._faults as error:
            said = " ".join(str(error).split()) or type(error).__name__
            raise StoreError(f"{self.target}: cannot be {what}: {said}") from error

    def manifest(self) -> dict[str, Any] | None:
        """What the backup holds; None: there is none."""
        try:
            found: dict[str, Any] = json.loads(self._files.cat_file(f"{self._path}/{_MANIFEST}"))
        except FileNotFoundError:
            return None
        if found.get("format") != _FORMAT:
            raise StoreError(f"{self.target}: a backup of format {found.get('format')}, not {_FORMAT}; use its version")
        return found

    def write(self, name: str, data: bytes) -> None:
        path = f"{self._path}/{name}"
        if self._is_bucket:
            self._files.pipe_file(path, data)  # an object is there as a whole or not at all
            return
        with suppress(NotImplementedError):
            self._files.makedirs(path.rpartition("/")[0], exist_ok=True)
        self._files.pipe_file(f"{path}.part", data)
        self._files.mv(f"{path}.part", path)

    def read(self, name: str, sha256: str) -> bytes:
        data: bytes = self._files.cat_file(f"{self._path}/{name}")
        if hashlib.sha256(data).hexdigest() != sha256:
            raise StoreError(f"{self.target}: {name} was altered or cut off; use an earlier backup")
        return data


# from one journal to another


def move(workspace: Workspace, database: str) -> tuple[int, str]:
    """Takes the journal into the PostgreSQL database of that address, or (none given) into a file; goes on with it.

    The number of its last patch and the digest of all patches, which is the same in both.

    Raises:
        ConfigError: the workspace keeps no journal, or the address is none.
        StoreError: the other cannot be reached, or holds patches already; nothing has changed.
    """
    if workspace.recorder is None:
        raise ConfigError("there is no journal to move: write journal = true in kgplatform.toml", setting="journal")
    with workspace.store.write_lock():
        recorder = workspace.recorder
        recorder.ship()
        path = workspace.folder / config.FILE
        text = config.with_journal(path.read_text(encoding="utf-8"), database)
        if not database and (workspace.folder / JOURNAL).exists():
            raise StoreError(f"{workspace.folder / JOURNAL}: is there already; move it away")
        other = journal_of(workspace.folder, database)
        try:
            other.fill(recorder.journal.patches(0))
            digest = _journal_digest(other)
            if digest != _journal_digest(recorder.journal):
                raise StoreError("the copy of the journal differs from it; nothing was changed")
            recorder.go_on_with(other)
        except BaseException:
            other.close()
            raise
        partial = path.with_suffix(".part")
        partial.write_text(text, encoding="utf-8")
        partial.replace(path)
        if database:
            (workspace.folder / JOURNAL).unlink(missing_ok=True)
    return other.newest, digest


def _journal_digest(journal: Journal) -> str:
    found = hashlib.sha256()
    for patch in journal.patches(0):
        for part in (f"{patch.number} {patch.more}".encode(), patch.gone, patch.new, patch.record):
            found.update(hashlib.sha256(part).digest())
    return found.hexdigest()
