"""What every journal promises, whatever keeps it: a file (SQLite), or tables of a database (PostgreSQL)."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import pytest
from pyoxigraph import BlankNode, Literal, NamedNode, Quad

from kgplatform.documents.registry import Registry
from kgplatform.errors import KgPlatformError, StoreError
from kgplatform.journal import sqlite_journal
from kgplatform.journal.patch import Draft, FencedError, Journal, Patch, commits, net
from kgplatform.journal.postgres_journal import PostgresJournal
from kgplatform.journal.sqlite_journal import SqliteJournal
from kgplatform.store.dataset import Change
from kgplatform.store.oxigraph import Store
from kgplatform.store.pgvector import connected
from tests.nodes import EX, digest, replayed, until
from tests.postgres_server import PostgresServer, postgres_server
from tests.test_journal import OPENING, Node, P, act, chunk, rows, triple

GRAPH = NamedNode(f"{EX}g")


@pytest.fixture(scope="module")
def database() -> Iterator[PostgresServer]:
    with postgres_server() as server:
        yield server


def opened(where: str) -> Journal:
    """The journal at an address, or in a file."""
    return PostgresJournal(where) if "://" in where else SqliteJournal(Path(where))


@dataclass(frozen=True)
class Kept:
    """Where a journal is kept, beside others of its kind."""

    where: str

    def open(self) -> Journal:
        return opened(self.where)

    def node(self, folder: Path) -> Node:
        """A node that leads, as soon as the one before does not; a session whose process was killed ends by itself."""
        end = time.monotonic() + 60
        while True:
            try:
                return Node(folder, self.open())
            except FencedError:
                assert time.monotonic() < end
                time.sleep(0.1)

    def beside(self, name: str) -> Kept:
        return Kept(f"{self.where}{name}")

    def harm(self, text: str) -> None:
        """Carries out SQL on its table, behind its back; ``{altered}`` is bytes of another content."""
        if "://" not in self.where:
            with closing(sqlite3.connect(self.where)) as db, db:
                db.execute(text.format(altered="X'789c00'"))
            return
        with closing(connected(self.where, seconds=30)) as link:
            link.cursor().execute(f"SET search_path = {self.where.rpartition('=')[2]}")
            link.cursor().execute(text.format(altered="'\\x789c00'"))


@pytest.fixture(params=["sqlite", "postgresql"])
def kept(request: pytest.FixtureRequest, tmp_path: Path) -> Kept:
    """A place for a journal of each kind."""
    if request.param == "sqlite":
        return Kept(str(tmp_path / "journal.sqlite"))
    return Kept(f"{request.getfixturevalue('database').url}?schema=t{abs(hash(tmp_path))}")


def quad(number: int) -> Quad:
    return Quad(GRAPH, P, Literal(number), GRAPH)


def added(number: int) -> Change:
    return Change(added={chunk(f"d{number}"): [triple(number)]})


def test_patches_are_kept_as_they_went_in(kept: Kept) -> None:
    new = [Quad(BlankNode("b"), P, Literal('西栅 \x00 \n"x"', language="zh"), GRAPH), Quad(GRAPH, P, Literal(7))]
    row = ["documents", 3, {"text": "乌镇\ud800", "seconds": 0.1, "hashes": {"base64:": "AAE="}}]
    with closing(kept.open()) as journal:
        epoch = journal.lead()
        drafts = [Draft(added=new, more=True), Draft(removed=new[1:], rows=[row, ["chunks", 4, None]])]
        assert journal.append(drafts, epoch=epoch) == 2
        first, second = journal.patches(0)
    assert (first.number, first.epoch, first.more) == (1, epoch, True)
    assert (first.added, first.removed, first.rows) == (new, [], [])
    assert (second.number, second.epoch, second.more) == (2, epoch, False)
    assert (second.added, second.removed, second.rows) == ([], new[1:], [row, ["chunks", 4, None]])


def test_an_append_is_done_whole_or_not_at_all(kept: Kept) -> None:
    def failing() -> Iterator[Draft]:
        yield Draft(added=[quad(1)], more=True)
        raise SyntaxError("the text ends in the middle")

    with closing(kept.open()) as journal:
        epoch = journal.lead()
        for newest in range(2):
            with pytest.raises(SyntaxError):
                journal.append(failing(), epoch=epoch)
            assert (journal.newest, len(list(journal.patches(0)))) == (newest, newest)
            assert journal.append([Draft(added=[quad(2)])], epoch=epoch) == newest + 1


def test_it_is_read_from_any_number_and_moment_on(kept: Kept) -> None:
    with closing(kept.open()) as journal:
        assert (journal.newest, list(journal.patches(0)), journal.at(datetime.now(UTC))) == (0, [], 0)
        epoch = journal.lead()
        for number in range(36):  # several times what is read at once
            journal.append([Draft(added=[quad(number)])], epoch=epoch)
        for after in (0, 15, 16, 17, 35, 36, 40):
            numbers = list(range(after + 1, 37))
            assert [patch.number for patch in journal.patches(after)] == numbers
            assert [patch.number for patch in journal.patches(after, limit=20)] == numbers[:20]
        moments = [patch.moment for patch in journal.patches(0)]
        assert moments == sorted(moments)
        for number, moment in enumerate(moments, 1):
            assert number <= journal.at(moment) == sum(other <= moment for other in moments)
        assert journal.at(moments[0] - timedelta(days=1)) == 0
        assert (journal.wait(35, 60), journal.wait(36, 0.01)) == (36, 36)
        with ThreadPoolExecutor() as pool, closing(kept.open()) as other:  # who waits hears of what another appends
            waiting = pool.submit(other.wait, 36, 60)
            journal.append([Draft()], epoch=epoch)
            assert waiting.result() == 37


def test_writers_at_once_make_one_order_and_readers_see_beginnings_of_it(kept: Kept) -> None:
    writers, commits_each = 4, 6
    over, seen = threading.Event(), list[int]()
    with closing(kept.open()) as journal, closing(kept.open()) as other, ThreadPoolExecutor() as pool:
        epoch = journal.lead()

        def write(writer: int) -> list[int]:
            drafts = [[Draft(added=[quad(writer)], more=True), Draft(added=[quad(n)])] for n in range(commits_each)]
            return [journal.append(some, epoch=epoch) for some in drafts]

        def read() -> None:
            while not over.is_set():
                patches = list(other.patches(0))
                assert [patch.number for patch in patches] == list(range(1, len(patches) + 1))
                assert not any(patch.more for patch in patches[-1:])  # no commit is seen in part
                seen.append(len(patches))

        reading = pool.submit(read)
        appended = list(pool.map(write, range(writers)))
        until(lambda: (bool(seen) and seen[-1] == journal.newest) or reading.done(), 60)
        over.set()
        reading.result()
        assert seen == sorted(seen)
        assert sorted(number for numbers in appended for number in numbers) == list(range(2, journal.newest + 1, 2))
        patches = list(journal.patches(0))
        assert len(patches) == writers * commits_each * 2
        for writer, numbers in enumerate(appended):
            assert [patches[number - 2].added for number in numbers] == [[quad(writer)]] * commits_each
            assert [patches[number - 1].added for number in numbers] == [[quad(n)] for n in range(commits_each)]


def test_nobody_appends_in_the_name_of_an_epoch_that_is_over(kept: Kept) -> None:
    with closing(kept.open()) as before:
        epoch = before.lead()
        before.append([Draft(added=[quad(1)])], epoch=epoch)
    with closing(kept.open()) as journal:
        later = journal.lead()
        assert later > epoch
        for wrong in (epoch, later + 1):
            with pytest.raises(FencedError, match="another process leads by now"):
                journal.append([Draft(added=[quad(2)])], epoch=wrong)
        assert journal.append([Draft(added=[quad(3)])], epoch=later) == 2
        assert [(patch.epoch, patch.added) for patch in journal.patches(0)] == [(epoch, [quad(1)]), (later, [quad(3)])]


def test_what_was_kept_is_there_when_it_is_opened_again_and_numbers_go_on(kept: Kept) -> None:
    with closing(kept.open()) as before:
        before.append([Draft(added=[quad(1)], rows=[["chunks", 1, None]])], epoch=before.lead())
        name, patches = before.name, list(before.patches(0))
    with closing(kept.open()) as again, closing(kept.beside("x").open()) as another:
        assert (again.name, list(again.patches(0))) == (name, patches)
        assert again.append([Draft()], epoch=again.lead()) == 2
        assert another.name != name


def test_digests_agree_at_each_number_and_applying_commits_again_changes_nothing(kept: Kept, tmp_path: Path) -> None:
    with closing(kept.node(tmp_path / "n")) as node:
        seen = {node.journal.newest: digest(node.store)}
        for name, place, numbers in (
            *(("add", 1, [1, 2]), ("add", 2, [2, 3]), ("reject", 0, [1]), ("blank", 0, [3])),
            *(("update", 0, []), ("put", 1, [4]), ("add", 1, [5]), ("remove", 2, []), ("drop", 1, [])),
        ):
            act(node, name, place, numbers)
            seen[node.journal.newest] = digest(node.store)
        assert len(seen) == 10
        for number, wanted in seen.items():
            store = replayed(node.journal, number)
            assert digest(store) == wanted
            for group in commits(node.journal.patches(number)):
                store.replay(*net(group), version=group[-1].number)
            assert digest(store) == digest(node.store)
        for after in seen:  # from any number on, once more
            for group in commits(node.journal.patches(after)):
                store.replay(*net(group), version=group[-1].number)
            assert digest(store) == digest(node.store)


def as_moved(patches: Iterator[Patch]) -> list[Patch]:
    """The patches, with times as all journals keep them: to the millisecond."""
    return [replace(p, moment=p.moment.replace(microsecond=p.moment.microsecond // 1000 * 1000)) for p in patches]


def test_a_journal_is_taken_over_into_another_kind_and_back_with_all_that_it_says(kept: Kept, tmp_path: Path) -> None:
    with (
        closing(kept.open()) as journal,
        closing(SqliteJournal(tmp_path / "other.sqlite")) as other,
        closing(kept.beside("back").open()) as back,
    ):
        epoch = journal.lead()
        for number in range(20):
            drafts = [Draft(added=[quad(number)], more=True), Draft(removed=[quad(number - 1)])]
            journal.append(drafts, epoch=epoch)
        other.fill(journal.patches(0))
        back.fill(other.patches(0))
        assert as_moved(journal.patches(0)) == as_moved(other.patches(0)) == as_moved(back.patches(0))
        assert back.lead() > epoch
        with pytest.raises(StoreError, match="holds patches already"):
            back.fill(journal.patches(0))
        assert back.newest == 40


def test_a_clock_that_is_set_back_makes_no_earlier_patch(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    class Past(datetime):
        @classmethod
        def now(cls, tz: object = None) -> datetime:
            return datetime(1999, 1, 1, tzinfo=UTC)

    with closing(kept.open()) as journal:
        epoch = journal.lead()
        journal.append([Draft(added=[quad(1)])], epoch=epoch)
        monkeypatch.setattr(sqlite_journal, "datetime", Past)
        journal.append([Draft(removed=[quad(1)])], epoch=epoch)
        first, second = journal.patches(0)
        assert first.moment <= second.moment
        assert journal.at(second.moment) == 2


def test_a_commit_without_its_last_part_is_shown_by_nobody_and_ended_by_who_leads_next(
    kept: Kept, tmp_path: Path
) -> None:
    with closing(kept.node(tmp_path / "n")) as node:
        node.dataset.commit(added(1))
        newest, before = node.journal.newest, digest(node.store)
        node.recorder.record([((), [quad(2)])], more=True)  # and then the process is gone
        assert digest(replayed(node.journal)) == before
    with closing(kept.node(tmp_path / "n")) as node:
        assert [patch.more for patch in node.journal.patches(newest)] == [True, False]
        assert node.store.has(quad(2).triple, GRAPH)
        assert digest(replayed(node.journal)) == digest(node.store) != before


OTHER = "the journal is not the one that this workspace was written with"


@pytest.mark.parametrize(
    ("harm", "told"),
    [
        ("UPDATE patches SET added = {altered} WHERE number = 3", r"patch 3 of the journal was altered"),
        ("DELETE FROM patches WHERE number = 3", "patch 3 is not in the journal any more"),
        ("DELETE FROM patches WHERE number > 2", OTHER),
        ("DELETE FROM patches", OTHER),
        ("DROP TABLE patches", OTHER),
    ],
)
def test_a_journal_that_was_harmed_is_told_in_one_line_and_not_written_to(
    kept: Kept, tmp_path: Path, harm: str, told: str
) -> None:
    with closing(kept.node(tmp_path / "n")) as node:
        for number in range(4):
            node.dataset.commit(added(number))
        node.store.flush(all_of_it=True)
    kept.harm(harm)
    with closing(kept.open()) as journal:
        newest = journal.newest
        asked = partial(kept.node, tmp_path / "n") if told == OTHER else partial(replayed, journal)
        with pytest.raises(KgPlatformError, match=rf"^[^\n]*{told}[^\n]*; [^\n]+$"):
            asked()
        assert journal.newest == newest


def test_a_file_that_was_cut_off_is_told_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "journal.sqlite"
    with closing(SqliteJournal(path)) as journal:
        epoch = journal.lead()
        for number in range(40):
            journal.append([Draft(added=[quad(n) for n in range(number * 100, number * 100 + 100)])], epoch=epoch)
    for length in (path.stat().st_size // 2, 1_000):
        with path.open("r+b") as file:
            file.truncate(length)
        with (
            pytest.raises(KgPlatformError, match=rf"^{path}: the journal cannot be (read|opened): [^\n]+$"),
            closing(SqliteJournal(path)) as journal,
        ):
            replayed(journal)


# Processes that are killed


def dies(owner: type, name: str, is_before: bool, after: int) -> None:
    """Has the process kill itself before or after a method is carried out, once it was carried out so many times."""
    real, left = getattr(owner, name), [after]

    def made(*args: object, **named: object) -> object:
        left[0] -= 1
        if left[0] < 0 and is_before:
            os.kill(os.getpid(), signal.SIGKILL)
        found = real(*args, **named)
        if left[0] < 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return found

    setattr(owner, name, made)


CRASHING = (
    OPENING
    + """
from kgplatform.journal import recorder
from tests.test_journal_contract import dies, opened

node = Node(folder, opened(sys.argv[4]))
places = {"append": (type(node.journal), "append", True), "apply": (oxigraph.Store, "_perform", True),
          "acknowledge": (oxigraph.Store, "_perform", False), "ship": (recorder.Recorder, "ship", True)}
dies(*places[where], after)
for n in range(50):
    node.dataset.commit(Change(dropped=(chunk("a"),), added={chunk("a"): [triple(n)], chunk(f"d{n}"): [triple(n + 1)]}))
    with node.registry._transaction() as db:
        db.execute("INSERT OR REPLACE INTO failures VALUES (?, ?)", (f"d{n}", str(n)))
    node.recorder.ship()
    print(n, flush=True)
"""
)


def crashed(kept: Kept, folder: Path, where: str, after: int) -> int:
    """The last commit that was acknowledged before the process was killed there."""
    command = [sys.executable, "-c", CRASHING, str(folder), where, str(after), kept.where]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=Path(__file__).parents[1])
    assert done.returncode == -signal.SIGKILL, done.stderr
    return int(done.stdout.split()[-1]) if done.stdout.split() else -1


def agrees(kept: Kept, folder: Path, last: int) -> None:
    """Whether store, registry and journal agree and hold what was acknowledged."""
    with closing(kept.node(folder)) as node:
        assert digest(replayed(node.journal)) == digest(node.store)
        assert node.dataset.violations() == (frozenset(), frozenset())
        for n in range(last + 1):
            assert node.store.has(triple(n + 1), chunk(f"d{n}"))
        failures = {row[0] for row in node.registry._all("SELECT document FROM failures")}
        assert {f"d{n}" for n in range(last + 1)} <= failures
        node.recorder.ship()
        with closing(Registry(folder / "copy.sqlite")) as copy:
            copy.changed_rows.keep_changes("copy", all_rows=False)
            for patch in node.journal.patches(0):
                copy.changed_rows.apply_rows("copy", patch.number, patch.rows)
    assert rows(folder / "copy.sqlite") == rows(folder / "documents.sqlite")
    (folder / "copy.sqlite").unlink()


def test_a_kill_between_append_and_apply_loses_nothing(kept: Kept, tmp_path: Path) -> None:
    last = crashed(kept, tmp_path / "n", "apply", 7)
    with closing(kept.open()) as journal, closing(Store.open(tmp_path / "n" / "store")) as store:
        assert digest(replayed(journal)) != digest(store)  # it was appended, and not applied
    agrees(kept, tmp_path / "n", last)


@pytest.mark.slow
@pytest.mark.parametrize("where", ["append", "apply", "acknowledge", "ship"])
def test_kills_at_every_step_lose_nothing(kept: Kept, tmp_path: Path, where: str) -> None:
    for after in (0, 3, 11):
        agrees(kept, tmp_path / "n", crashed(kept, tmp_path / "n", where, after))
