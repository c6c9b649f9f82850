"""Documents and tables in, a linked-data knowledge graph out, which people can ask, query, check and publish.

    from kgplatform import KnowledgeGraph

The names are imported when first used, so that ``import kgplatform`` costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kgplatform.errors import (
        ConfigError,
        KgPlatformError,
        ModelError,
        NotFoundError,
        OntologyError,
        QueryError,
        QueryRejectedError,
        QuerySyntaxError,
        QueryTimeoutError,
        ReadError,
        StoreError,
        WorkspaceError,
    )
    from kgplatform.graph import KnowledgeGraph
    from kgplatform.types import Answer, Chunk, Document, Entity, Evidence, Hit, Mention, Query, Question, Statement
    from kgplatform.workspace.ingest import Added

__version__ = "0.1.0"

_HOMES = {
    "kgplatform.workspace.ingest": ("Added",),
    "kgplatform.errors": (
        "ConfigError",
        "KgPlatformError",
        "ModelError",
        "NotFoundError",
        "OntologyError",
        "QueryError",
        "QueryRejectedError",
        "QuerySyntaxError",
        "QueryTimeoutError",
        "ReadError",
        "StoreError",
        "WorkspaceError",
    ),
    "kgplatform.graph": ("KnowledgeGraph",),
    "kgplatform.types": (
        "Answer",
        "Chunk",
        "Document",
        "Entity",
        "Evidence",
        "Hit",
        "Mention",
        "Query",
        "Question",
        "Statement",
    ),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "Added",
    "Answer",
    "Chunk",
    "ConfigError",
    "Document",
    "Entity",
    "Evidence",
    "Hit",
    "KgPlatformError",
    "KnowledgeGraph",
    "Mention",
    "ModelError",
    "NotFoundError",
    "OntologyError",
    "Query",
    "QueryError",
    "QueryRejectedError",
    "QuerySyntaxError",
    "QueryTimeoutError",
    "Question",
    "ReadError",
    "Statement",
    "StoreError",
    "WorkspaceError",
    "__version__",
]


def __getattr__(name: str) -> object:
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module 'kgplatform' has no attribute {name!r}")
    return getattr(import_module(home), name)
