"""The verb ``follower``: other SPARQL engines checked, brought in line and compared."""

from __future__ import annotations

from kgplatform.cli import output
from kgplatform.cli.verb import DONE, SHORT, Given, argument, opened, option, verb
from kgplatform.errors import ConfigError
from kgplatform.settings import follower_password


@verb("follower", here=lambda given: given.what == "check")
@argument("what", "check|sync|compare", one_of=("check", "sync", "compare"))
@argument("address", "URL")
@option("--profile", default="oxigraph", metavar="NAME", help="What engine it is (default: oxigraph).")
@option("--user", default="", metavar="NAME", help="Sign in so; the password is in KGPLATFORM_FOLLOWER_PASSWORD.")
@option("--mend", is_flag=True, help="With compare: put whole graphs in the place of those that differ.")
def follower(given: Given) -> int:
    """Check whether a SPARQL engine can follow, bring it in line with the journal, or compare it by digests.

    URL is where the engine's paths begin. `check` needs no workspace; it writes below urn:kgplatform:contract: and
    takes that out again. Exit status 1: a part of the contract does not hold, or a graph differs.
    """
    from kgplatform.cluster import followers

    engine = followers.RemoteStore(
        given.address, followers.profile_of(given.profile), user=given.user, password=follower_password()
    )
    if given.what == "check":
        status = DONE
        for part in followers.check(engine):
            mark = "ok" if not part.problem else "FAULT" if part.needed else "note"
            status = SHORT if mark == "FAULT" else status
            output.say(f"{mark:<6} {part.name}{f': {part.problem}' if part.problem else ''}")
        return status
    with opened(given.workspace) as kg:
        following = followers.Follower(engine, kg.base)
        if given.what == "sync":
            recorder = kg.workspace.recorder
            if recorder is None:
                raise ConfigError("a follower follows the journal; set journal = true", setting="journal")
            output.say(f"at {following.catch_up(recorder.journal, kg.store)}")
            return DONE
        different = following.compare(kg.store)
        for item in different:
            output.say(f"{item.graph}: {item.there} there, {item.here} here")
        if given.mend and different:
            following.mend(kg.store, different)
            different = following.compare(kg.store)
        output.note(f"{len(different)} graphs differ")
        return SHORT if different else DONE
