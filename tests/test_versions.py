"""Earlier states: which are kept, how they are found, and that they stay readable while others go."""

import json
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyoxigraph import Literal, NamedNode, Quad
from workspaces import new_workspace

from kgplatform.cli.main import main
from kgplatform.errors import ConfigError
from kgplatform.store.oxigraph import Store
from kgplatform.store.versions import VersionError, Versions

THING, SAYS = NamedNode("https://example.org/thing"), NamedNode("https://example.org/says")
START = datetime(2026, 5, 1, 12, tzinfo=UTC)


class Clock:
    def __init__(self):
        self.now = START

    def __call__(self):
        return self.now

    def tick(self, **step):
        self.now += timedelta(**step)


def opened(folder, clock, **options):
    store = Store.open(folder / "store")
    versions = Versions(store, folder / "versions", now=clock, **{"every_seconds": 0, **options})
    versions.watch()
    return store, versions


def say(store, versions, text):
    store.apply(added=[Quad(THING, SAYS, Literal(text))])
    versions.rest()


def said(versions, version):
    with versions.store(version) as store:
        return {item.object.value for item in store.quads(THING)}


def test_a_state_is_found_by_its_number_and_by_any_time_at_which_it_held(tmp_path):
    clock = Clock()
    store, versions = opened(tmp_path, clock)
    for text in ("one", "two", "三"):
        clock.tick(hours=1)
        say(store, versions, text)
    assert [item.number for item in versions.listed()] == [4, 3, 2, 1]
    assert said(versions, versions.find("2")) == {"one"}
    assert said(versions, versions.find("2026-05-01T14:30Z")) == {"one", "two"}
    assert said(versions, versions.find("Fri, 01 May 2026 13:00:00 GMT")) == {"one"}
    assert said(versions, versions.find("2026-05-01T22:30+08:00")) == {"one", "two"}
    assert said(versions, versions.find("2026-05-01")) == {"one", "two", "三"}
    assert versions.find("4").is_current


def test_what_was_never_there_and_what_is_gone_are_told_apart_with_the_nearest(tmp_path):
    clock = Clock()
    store, versions = opened(tmp_path, clock, keep=2)
    for number in range(5):
        clock.tick(minutes=1)
        say(store, versions, str(number))
    with pytest.raises(VersionError, match=r"version 2 is not kept; the nearest that can be read: 4 .* and 5") as gone:
        versions.find("2")
    assert gone.value.gone
    with pytest.raises(VersionError, match="there is no version 9") as never:
        versions.find("9")
    assert not never.value.gone
    with pytest.raises(VersionError, match="nothing is kept of 2020-01-01"):
        versions.find("2020-01-01")
    with pytest.raises(ConfigError, match="'yesterday' is neither"):
        versions.find("yesterday")
    assert sorted(path.name for path in (tmp_path / "versions").iterdir() if path.is_dir()) == ["4", "5"]


def test_a_state_that_somebody_reads_stays_until_they_are_done(tmp_path):
    clock = Clock()
    store, versions = opened(tmp_path, clock, keep=1)
    say(store, versions, "one")
    say(store, versions, "two")
    read = versions.find("2")
    with versions.snapshot(read) as found:
        assert found is not None
        say(store, versions, "three")
        assert found.path.is_dir()
    say(store, versions, "four")
    assert not found.path.exists()
    with pytest.raises(VersionError), versions.snapshot(read):
        pass


def test_states_in_quick_succession_are_not_kept_apart_and_old_ones_go(tmp_path):
    clock = Clock()
    store, versions = opened(tmp_path, clock, every_seconds=60, days=1)
    for number in range(10):
        clock.tick(seconds=20)
        say(store, versions, str(number))
    assert [item.number for item in versions.listed()] == [11, 10, 7, 4, 1]
    clock.tick(days=2)
    versions.prune()
    assert [item.number for item in versions.listed()] == [11]


def test_one_operation_of_many_writes_makes_one_state(tmp_path):
    store, versions = opened(tmp_path, Clock())
    for number in range(5):
        store.apply(added=[Quad(THING, SAYS, Literal(str(number)))])
    assert versions.rest().number == 2
    assert said(versions, versions.find("1")) == set()


def test_a_process_that_died_leaves_no_half_made_state_and_no_number_twice(tmp_path):
    clock = Clock()
    store, versions = opened(tmp_path, clock)
    say(store, versions, "one")
    store.apply(added=[Quad(THING, SAYS, Literal("begun"))])  # and no more: as if killed here
    store.close()
    (tmp_path / "versions" / "77").mkdir()
    store, versions = opened(tmp_path, clock)
    assert [item.number for item in versions.listed()] == [3, 2, 1]
    assert not (tmp_path / "versions" / "77").exists()
    say(store, versions, "two")
    assert said(versions, versions.find("2")) == {"one"}
    assert said(versions, versions.find("3")) == {"one", "begun"}
    store.close()


@settings(max_examples=15, deadline=None)
@given(steps=st.lists(st.sampled_from(("write", "rest", "reopen")), max_size=25), keep=st.integers(0, 4))
def test_every_kept_state_reads_as_it_was(tmp_path_factory, steps, keep):
    folder, clock = tmp_path_factory.mktemp("law"), Clock()
    store, versions = opened(folder, clock, keep=keep)
    seen = {1: set()}
    for place, step in enumerate(steps):
        clock.tick(seconds=1)
        if step == "write":
            store.apply(added=[Quad(THING, SAYS, Literal(str(place)))])
        elif step == "rest":
            versions.rest()
        else:
            versions.rest()
            store.close()
            store, versions = opened(folder, clock, keep=keep)
        seen[versions.current.number] = {item.object.value for item in store.quads(THING)}
    listed = versions.listed()
    assert len(listed) <= keep + 1
    assert all(said(versions, version) == seen[version.number] for version in listed)
    store.close()


def test_the_command_line_lists_and_reads_earlier_states(tmp_path, capsys):
    workspace = ["-w", str(new_workspace(tmp_path / "kg", settings="[versions]\nevery_seconds = 0"))]
    for word in ("one", "貳"):
        assert main(["update", *workspace, "-e", f'INSERT DATA {{ kg:x rdfs:label "{word}" }}']) == 0
    capsys.readouterr()
    assert main(["versions", *workspace, "--format", "json"]) == 0
    numbers = [item["version"] for item in json.loads(capsys.readouterr().out)]
    assert len(numbers) == 3
    query = ["query", *workspace, "-e", "SELECT ?l { kg:x rdfs:label ?l } ORDER BY ?l", "--at"]
    for number, found in zip(reversed(numbers), ([], ["one"], ["one", "貳"]), strict=True):
        main([*query, str(number), "--format", "csv"])
        assert capsys.readouterr().out.split()[1:] == found
    for verb in (["dump", "--format", "ntriples"], ["show", "https://example.org/kg/x"]):
        assert main([*verb, *workspace, "--at", str(numbers[1])]) == 0
        shown = capsys.readouterr().out
        assert "one" in shown
        assert "貳" not in shown
    assert main([*query, "99"]) == 1
    assert "there is no version 99" in capsys.readouterr().err
