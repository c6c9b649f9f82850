"""What the command line says about tables: drafts of mappings, what a newer version of a table changed."""

from __future__ import annotations

import argparse
import sys
from dataclasses import asdict
from pathlib import Path

from kgplatform import config, packs
from kgplatform.building.ingest import Added
from kgplatform.building.mappings import Mappings
from kgplatform.cli import output
from kgplatform.errors import ConfigError, ReadError

_SHOWN = 20


def mapping(given: argparse.Namespace) -> int:
    """Prints or writes the mapping that is drafted for a table."""
    from kgplatform.documents.tabular.opening import open_table

    base = "https://example.org/kg/"
    if given.ontology:
        ontology = packs.load(tuple(given.ontology), folder=Path.cwd()).ontology
    else:
        settings = config.load(given.workspace)
        ontology, base = packs.load(settings.ontology, folder=given.workspace).ontology, settings.base
    location = given.file.as_posix()
    draft = Mappings(ontology, base).draft(location, open_table(location))
    if given.output is None:
        sys.stdout.write(draft.text)
        return 0
    if given.output.exists():
        raise ConfigError(f"{given.output} exists; name another file, or delete it first", setting="output")
    try:
        given.output.write_text(draft.text, encoding="utf-8")
    except OSError as error:
        raise ReadError(f"cannot be written: {error.strerror or error}", path=given.output) from error
    output.say(draft.described)
    output.note(f"written to {given.output}")
    return 0


def print_table(item: Added) -> None:
    """Prints by which mapping a table was read, what changed in it, and which cells were not accepted."""
    if item.mapping is None:
        return
    if item.rows is not None:
        rows = item.rows
        changes = f"{rows.added} added, {rows.removed} removed, {rows.changed} changed, {rows.unchanged} unchanged"
        output.say(f"  rows: {changes}")
    for line in item.mapping.described.splitlines():
        output.say(f"  {line}")
    if item.mapping.is_kept:
        output.say(f"  mapping: {item.mapping.path}")
    for problem in item.problems:
        output.say(f"  note: {problem}")
    for refusal in item.refused[:_SHOWN]:
        output.say(f"  refused: {refusal.reason}")
    if len(item.refused) > _SHOWN:
        output.say(f"  refused: {len(item.refused) - _SHOWN} more; --format json lists them all")


def table_json(item: Added) -> dict[str, object]:
    """What `print_table` prints, as values."""
    if item.mapping is None:
        return {}
    said = item.mapping
    return {
        "rows": asdict(item.rows) if item.rows is not None else None,
        "problems": list(item.problems),
        "mapping": {"file": str(said.path) if said.is_kept else None, "draft": said.is_draft, "text": said.described},
    }
