"""What linking remembers is taken up by the next process: its first document costs what that says, no name differs."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import permutations
from pathlib import Path

import pytest

from kgplatform.building import kept_linking
from kgplatform.documents import registry as registries
from kgplatform.graph import KnowledgeGraph
from kgplatform.linking.blocking import Keys
from kgplatform.linking.calibration import Gold
from kgplatform.places.keeping import KeptResolution
from kgplatform.store import DEFAULT_GRAPH
from kgplatform.testing import HashEmbedder

WORDS = ("Amber", "Birch", "Cobalt", "Dunmore", "Elgin", "Foxglove", "Granite", "Harbour", "Iverness")
SMALL, LARGE = 12, 60
TEXTS = (
    "Wuzhen (乌镇) is a water town in Tongxiang, Jiaxing. The Wuzhen Theatre is in Wuzhen.\n",
    "乌镇西栅景区位于乌镇，门票150元。西栅景区早上九点开放。\n",
    "West Lake (西湖) is a lake in Hangzhou. Leifeng Pagoda is an attraction near West Lake in Hangzhou.\n",
    "雷峰塔位于杭州西湖区，门票40元。\n",
    "Suzhou is a city in Zhejiang. The Humble Garden is a garden in Suzhou. Suzhou is in Jiangsu.\n",
    "乌镇剧院（Wuzhen Theatre）位于乌镇。戏剧节十月开幕。\n",
)


@dataclass
class Work:
    """How often names were read for their keys, passages for what they say, and documents for their places."""

    names: int = 0
    passages: int = 0
    documents: int = 0


@contextmanager
def counting(patch: pytest.MonkeyPatch) -> Iterator[Work]:
    done = Work()

    def counted(owner: object, name: str, what: str) -> None:
        function: Callable[..., object] = getattr(owner, name)

        def wrapper(*given: object, **options: object) -> object:
            setattr(done, what, getattr(done, what) + 1)
            return function(*given, **options)

        patched.setattr(owner, name, wrapper)

    with patch.context() as patched:
        counted(Keys, "of", "names")
        counted(registries, "decode", "passages")
        counted(KeptResolution, "_choose", "documents")
        yield done


@contextmanager
def opened(folder: Path) -> Iterator[KnowledgeGraph]:
    """The workspace as a new process has it, nothing remembered."""
    with KnowledgeGraph.open(folder) as kg:
        kg.__dict__["embedder"] = HashEmbedder()
        yield kg


def note(number: int) -> str:
    first, second = list(permutations(WORDS, 2))[number]
    return f"The {first} {second} Garden is an attraction in Wuzhen. Tickets cost {number + 10} CNY.\n"


def written(folder: Path, name: str, text: str) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(text, encoding="utf-8")
    return folder / name


def knowledge(kg: KnowledgeGraph) -> set[str]:
    return {str(item.triple) for item in kg.store.quads(graph=DEFAULT_GRAPH)}


def is_linked_as_from_scratch(kg: KnowledgeGraph) -> bool:
    return kg.registry.linking() == replace(kg._linking_parts(), memory=None).linked()


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with many documents, left by a process that has ended."""
    return made(tmp_path_factory.mktemp("large"), LARGE)


def made(folder: Path, count: int) -> Path:
    KnowledgeGraph.create(folder / "kg", ontology=["travel"]).close()
    with opened(folder / "kg") as kg:
        list(kg.add(*(written(folder / "notes", f"{number}.txt", note(number)) for number in range(count))))
    return folder / "kg"


def first_add(workspace: Path, number: int) -> Work:
    """What the first document of a process costs."""
    with opened(workspace) as kg, pytest.MonkeyPatch.context() as patch, counting(patch) as work:
        list(kg.add(written(workspace.parent, f"more{number}.txt", note(number))))
    return work


def test_the_first_document_of_a_process_costs_no_more_in_a_large_graph(large: Path, tmp_path: Path) -> None:
    much, little = first_add(large, 69), first_add(made(tmp_path, SMALL), 69)
    assert much.names <= little.names
    assert (much.passages, much.documents) == (little.passages, little.documents)


def test_a_process_that_adds_nothing_new_links_nothing(large: Path) -> None:
    with opened(large) as kg, pytest.MonkeyPatch.context() as patch, counting(patch) as work:
        kg.build("link")
    assert work == Work()


def test_documents_added_by_one_process_each_give_the_graph_of_all_at_once(tmp_path: Path) -> None:
    KnowledgeGraph.create(tmp_path / "kg", ontology=["travel"]).close()
    paths = [written(tmp_path / "notes", f"{number}.txt", text) for number, text in enumerate(TEXTS)]
    for path in paths:
        with opened(tmp_path / "kg") as kg:
            list(kg.add(path))
            assert is_linked_as_from_scratch(kg)
    with opened(tmp_path / "kg") as kg:
        kg.unlink("西栅景区", "乌镇西栅景区")
    with opened(tmp_path / "kg") as kg:
        kg.remove("0.txt")
        assert is_linked_as_from_scratch(kg)
        single = knowledge(kg)
    KnowledgeGraph.create(tmp_path / "whole", ontology=["travel"]).close()
    with opened(tmp_path / "whole") as kg:
        list(kg.add(*paths[1:]))
        kg.unlink("西栅景区", "乌镇西栅景区")
        assert knowledge(kg) == single


def test_what_people_and_tables_say_meanwhile_is_seen(tmp_path: Path) -> None:
    workspace = made(tmp_path, 4)
    table = written(tmp_path, "sights.csv", "name,type\nAmber Birch Garden,Garden\n")
    with opened(workspace) as kg:
        list(kg.add(table, build=False))
    with opened(workspace) as kg:
        kg.build("link")
        assert is_linked_as_from_scratch(kg)


def flipped(file: Path, _: Path) -> None:
    held = bytearray(file.read_bytes())
    place = held.rindex(b"garden")
    held[place : place + 6] = b"gorden"
    file.write_bytes(held)


def cut_short(file: Path, _: Path) -> None:
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def no_database(file: Path, _: Path) -> None:
    file.write_text("nothing of the kind")


def of_an_earlier_time(file: Path, earlier: Path) -> None:
    shutil.copyfile(earlier, file)


def gone(file: Path, _: Path) -> None:
    file.unlink()


@pytest.mark.parametrize("spoil", [flipped, cut_short, no_database, of_an_earlier_time, gone])
def test_a_damaged_or_old_file_costs_time_and_nothing_else(
    spoil: Callable[[Path, Path], None], tmp_path: Path, large: Path
) -> None:
    workspace = tmp_path / "kg"
    shutil.copytree(large, workspace)
    file, earlier = workspace / kept_linking.FILE, tmp_path / "earlier"
    shutil.copyfile(file, earlier)
    with opened(workspace) as kg:
        list(kg.add(*(written(tmp_path, f"{number}.txt", note(number)) for number in (70, 71))))
        kg.remove("3.txt")
    spoil(file, earlier)
    with opened(workspace) as kg:
        list(kg.add(written(tmp_path, "last.txt", TEXTS[0])))
        assert is_linked_as_from_scratch(kg)
    assert first_add(workspace, 68).passages <= 3


def test_other_settings_and_other_rules_link_all_again(
    large: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = tmp_path / "kg"
    shutil.copytree(large, workspace)
    settings = workspace / "kgplatform.toml"
    stricter = settings.read_text(encoding="utf-8") + "\n[linking]\nsimilarity = 0.95\n"
    for change in (
        lambda: monkeypatch.setattr(kept_linking, "_rules", lambda: "other rules"),
        lambda: settings.write_text(stricter, encoding="utf-8"),
    ):
        change()
        with opened(workspace) as kg, counting(monkeypatch) as work:
            kg.build("link")
            assert work.names >= LARGE
            assert is_linked_as_from_scratch(kg)


def test_a_file_that_cannot_be_written_stops_nothing(tmp_path: Path) -> None:
    workspace = made(tmp_path, 2)
    (workspace / kept_linking.FILE).unlink()
    (workspace / kept_linking.FILE).mkdir()
    with opened(workspace) as kg:
        list(kg.add(written(tmp_path, "last.txt", TEXTS[0])))
        assert is_linked_as_from_scratch(kg)


def test_calibrating_leaves_what_is_remembered_alone(large: Path) -> None:
    with opened(large) as kg:
        kg.calibrate(Gold(()))
        kg.build("link")
        assert is_linked_as_from_scratch(kg)
