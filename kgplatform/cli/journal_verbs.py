"""Verbs on what was written: ``digest``, by which copies of a graph are compared."""

from __future__ import annotations

from kgplatform.cli import output
from kgplatform.cli.graph_verbs import store_at
from kgplatform.cli.verb import DONE, Given, at, opened, verb


@verb("digest", reads=True)
@at
def digest(given: Given) -> int:
    """Print a line per graph: its name, its triples, and the XOR of the SHA-256 of their lines.

    The last line is the digest of the whole. Equal digests: equal graphs, on whatever store; blank nodes count, their
    names do not.
    """
    from kgplatform.journal.patch import digests, whole_digest

    with opened(given.workspace) as kg, store_at(kg, given.at) as store:
        found = digests(store)
    for name, item in found.items():
        output.say(f"{name} {item}")
    output.say(whole_digest(found))
    return DONE
