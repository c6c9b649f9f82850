"""What a model costs: the estimate before documents are added, and the tokens that were used."""

from __future__ import annotations

import argparse

from kgplatform.building.estimating import Estimate
from kgplatform.cli import output
from kgplatform.graph import KnowledgeGraph
from kgplatform.types import Usage

_DONE, _SHORT = 0, 1


def run(given: argparse.Namespace) -> int:
    """Prints what adding the paths would cost, without asking the model."""
    with KnowledgeGraph.open(given.workspace) as kg:
        found = kg.estimate(*given.paths)
    if given.format == "json":
        output.as_json(_as_json(found))
    else:
        _print(found)
    return _SHORT if found.unreadable else _DONE


def usage_json(usage: Usage) -> dict[str, int]:
    """Calls and tokens, for a program."""
    return {
        "calls": usage.calls,
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
    }


def usage_text(usage: Usage) -> str:
    """Calls and tokens, for a reader; empty where no model was asked."""
    if usage == Usage():
        return ""
    calls = f"{usage.calls} call{'' if usage.calls == 1 else 's'}" if usage.calls else "from the cache"
    return f"{calls}, {usage.prompt_tokens:,} + {usage.completion_tokens:,} tokens"


def _print(found: Estimate) -> None:
    for line in found.unreadable:
        output.note(f"unreadable  {line}")
    if found.documents:
        rows = [
            (
                str(document.chunks),
                f"{document.tokens:,}",
                str(document.usage.calls),
                f"{document.usage.prompt_tokens:,}",
                f"{document.usage.completion_tokens:,}",
                document.source,
            )
            for document in found.documents
        ]
        output.table(("chunks", "tokens", "calls", "prompt", "completion", "source"), rows)
    total = found.usage
    chunks = sum(document.chunks for document in found.documents)
    output.say(f"{len(found.documents)} documents, {chunks} chunks")
    if found.model is None:
        output.say("no model is set: reading costs no tokens")
    else:
        output.say(
            f"model {found.model}: about {total.calls} calls, {total.prompt_tokens:,} prompt tokens and "
            f"{total.completion_tokens:,} completion tokens (at {found.reply_tokens:.1f} for each token of text); "
            "nothing was asked"
        )
    apart = [f"{found.tables} tables"] if found.tables else []
    apart += [f"{found.unchanged} files unchanged"] if found.unchanged else []
    if apart:
        output.note(f"{', '.join(apart)}: no model reads them")


def _as_json(found: Estimate) -> dict[str, object]:
    return {
        "model": found.model,
        "documents": [
            {
                "source": document.source,
                "title": document.title,
                "chunks": document.chunks,
                "tokens": document.tokens,
                **usage_json(document.usage),
            }
            for document in found.documents
        ],
        "chunks": sum(document.chunks for document in found.documents),
        "tokens": sum(document.tokens for document in found.documents),
        **usage_json(found.usage),
        "reply_tokens": round(found.reply_tokens, 2),
        "tables": found.tables,
        "unchanged": found.unchanged,
        "unreadable": list(found.unreadable),
    }
