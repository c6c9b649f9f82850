"""Doors into other libraries, each loaded by that library's own name for it or by import."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kgplatform.types import Evidence


def passage_metadata(found: Evidence) -> dict[str, Any]:
    """Where a passage stands, as plain values: document, title, source, offsets, and its score."""
    return {
        "document": found.document.value,
        "title": found.title,
        "source": found.source,
        "start": found.start,
        "end": found.end,
        "score": found.score,
    }
