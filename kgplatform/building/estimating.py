"""What adding documents would cost, found out without asking the model: the prompts are made, and not sent.

Prompts are counted as they would be. Replies are predicted: as long, for each token of text, as those that the
workspace has had so far, else as those measured on the sample documents.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from kgplatform.building.intake import Intake
from kgplatform.building.tabular import TableParts
from kgplatform.documents.reading import Discovery, discover
from kgplatform.documents.registry import Registry, State
from kgplatform.errors import ConfigError, ReadError
from kgplatform.extraction.model import ModelExtractor
from kgplatform.protocols import Chunker
from kgplatform.text import count_tokens
from kgplatform.types import Document, Usage

REPLY_TOKENS: Final = 3.4
"""How many tokens of reply a token of text gave on seven sample documents, in two rounds."""

_LEAST_MEASURED: Final = 2000
"""Tokens of text that a workspace must have read before its own share counts."""


@dataclass(frozen=True, slots=True)
class DocumentEstimate:
    """What one document would cost."""

    source: str
    title: str
    chunks: int
    tokens: int
    usage: Usage


@dataclass(frozen=True, slots=True)
class Estimate:
    """What adding would cost: the documents a model would read, and how many it would not."""

    documents: tuple[DocumentEstimate, ...]
    unchanged: int
    tables: int
    unreadable: tuple[str, ...]
    model: str | None
    reply_tokens: float

    @property
    def usage(self) -> Usage:
        """The sum over the documents."""
        return sum((document.usage for document in self.documents), Usage())


@dataclass(frozen=True, slots=True)
class EstimateParts:
    """What an estimate draws on; no extractor: no model is set, and reading costs no tokens."""

    tables: TableParts
    intake: Intake
    chunker: Chunker
    extractor: ModelExtractor | None
    model: str | None


def estimate(parts: EstimateParts, given: Sequence[Path | str]) -> Estimate:
    """What adding the files and folders would cost; nothing is asked, written or fetched.

    Raises:
        ReadError: a path is missing, or nothing under the paths can be read.
        ConfigError: an address on the web is given, which would have to be fetched.
    """
    paths = [place for place in given if isinstance(place, Path)]
    if len(paths) < len(given):
        raise ConfigError("addresses on the web are not fetched for an estimate; give files", setting="estimate")
    apart = [path for path in paths if not path.is_dir() and parts.tables.is_apart(path)]
    rest = [path for path in paths if path not in apart]
    found = discover(rest) if rest else Discovery(())
    tables = {path for path in found.files if parts.tables.is_table(path)}
    share = _measured(parts.tables.registry)
    unreadable = [f"{skipped.path}: {skipped.reason}" for skipped in found.skipped if skipped.path in paths]
    documents: list[DocumentEstimate] = []
    unchanged = 0
    for path in found.files:
        if path in tables:
            continue
        try:
            if _is_known(path, parts):
                unchanged += 1
            else:
                documents.extend(_documents(path, parts, share))
        except ReadError as error:
            unreadable.append(str(error))
    count = len(tables) + len(apart)
    return Estimate(tuple(documents), unchanged, count, tuple(unreadable), parts.model, share)


def _is_known(path: Path, parts: EstimateParts) -> bool:
    records = parts.tables.registry.with_hash(parts.intake.digest(path))
    return bool(records) and all(record.state in (State.PROCESSED, State.QUARANTINED) for record in records)


def _documents(path: Path, parts: EstimateParts, share: float) -> Iterator[DocumentEstimate]:
    for document in parts.intake.documents(path):
        yield _document(document, parts, share)


def _document(document: Document, parts: EstimateParts, share: float) -> DocumentEstimate:
    chunks = parts.chunker(document)
    usage = parts.extractor.expected(chunks, document, reply_tokens=share) if parts.extractor else Usage()
    return DocumentEstimate(document.source, document.title, len(chunks), count_tokens(document.text), usage)


def _measured(registry: Registry) -> float:
    """How many tokens of reply a token of text gave so far in this workspace."""
    read, replied = 0, 0.0
    for record in registry.documents(State.PROCESSED):
        used = [extraction.usage for extraction in registry.extractions(record.document.iri)]
        tokens = sum(usage.completion_tokens for usage in used)
        if tokens:
            read += count_tokens(record.document.text)
            replied += tokens
    return replied / read if read >= _LEAST_MEASURED else REPLY_TOKENS
