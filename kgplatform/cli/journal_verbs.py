"""Verbs on what was written: ``digest``, ``backup`` and ``restore``, and ``move`` from one journal to another."""

from __future__ import annotations

from kgplatform.cli import output
from kgplatform.cli.graph_verbs import store_at
from kgplatform.cli.verb import DONE, Given, argument, at, opened, option, verb


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


@verb("backup", reads=True)
@argument("target", "DEST", help="A folder, or an address such as s3://bucket/name.")
def backup(given: Given) -> int:
    """Back the workspace up, while it is served too; into the same place only what is new.

    It needs the journal (`journal = true` in the settings).
    """
    from kgplatform.cluster.backup import back_up

    with opened(given.workspace) as kg:
        made = back_up(kg.workspace, given.target)
    output.say(f"{given.target}: up to patch {made.number}; {made.patches:,} patches new, {made.size:,} bytes written")
    return DONE


@verb("restore", here=True)
@argument("source", "SOURCE", help="Where the backup is.")
@option("--at", default="", metavar="NUMBER|TIME", help="As of that patch or time (default: the end).")
@option("--follow", is_flag=True, help="For a replica: go on with the journal in the database of the settings.")
@option("--no-build", is_flag=True, help="Make no indexes yet.")
def restore(given: Given) -> int:
    """Make a workspace from a backup, in the new folder that -w names."""
    from kgplatform.cluster.backup import restore as restored

    made = restored(given.source, given.workspace, at=given.at, follows=given.follow)
    output.say(f"{given.workspace}: as of patch {made.number}, {made.moment.isoformat(timespec='seconds')}")
    output.say(made.digest)
    if not given.no_build and not given.follow:
        with opened(given.workspace) as kg:
            kg.build("index", progress=output.Bar())
    return DONE


@verb("move")
@option("--to", "target", required=True, metavar="URL|file", help="postgresql://user@host/database, or file.")
def move(given: Given) -> int:
    """Take the journal into a PostgreSQL database, or back into a file; the workspace goes on with it.

    Prints the number of its last patch and the digest of all, which is the same in both.
    """
    from kgplatform.cluster.backup import move as moved

    target = "" if given.target == "file" else given.target
    with opened(given.workspace) as kg:
        if kg.workspace.recorder is not None and kg.settings.cluster.database == target:
            output.note("the journal is there already; nothing is to be done")
            return DONE
        number, digest = moved(kg.workspace, target)
    output.say(f"{number} patches\n{digest}")
    return DONE
