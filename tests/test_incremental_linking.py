"""Linking by what changed decides as linking everything does, in one process or many, and costs no more than that."""

import json
import re
import shutil
import sys
from collections import Counter
from contextlib import contextmanager
from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from laws import in_two_lengths
from pyoxigraph import Literal, NamedNode, Quad, Triple

from kgplatform.documents import registry as registries
from kgplatform.documents.records import Linking, PersistentMap
from kgplatform.documents.registry import Registry
from kgplatform.graph import KnowledgeGraph
from kgplatform.linking.candidates import Keys, Likeness
from kgplatform.linking.clusters import Gold, IncrementalLinking, link_entities
from kgplatform.linking.places.gazetteer import PlaceReference, read_world
from kgplatform.linking.places.hierarchy import KeptResolution
from kgplatform.linking.places.resolution import PlaceFinder, read_mentions, resolve
from kgplatform.models.stubs import HashEmbedder
from kgplatform.store.dataset import Change, EvidenceDataset, WrittenStatements
from kgplatform.store.oxigraph import DEFAULT_GRAPH, Store
from kgplatform.types import Claim, Extraction, Mention
from kgplatform.vocab import ACADEMIC, CORE, GEO, LABEL, TRAVEL, TYPE
from kgplatform.workspace import linking_state as kept_linking
from kgplatform.workspace.entity_linking import linked
from tests.turtle import shipped
from tests.workspaces import new_workspace

BASE = "https://example.org/kg/"
LOCATED_IN = NamedNode(f"{GEO}locatedIn")
TYPES = [
    NamedNode(f"{prefix}{name}")
    for prefix, name in (
        *((TRAVEL, name) for name in ("WaterTown", "Attraction", "Theatre", "Hotel", "Lake", "Pagoda", "Audience")),
        *((GEO, name) for name in ("City", "District", "Town")),
        *((ACADEMIC, name) for name in ("Course", "Paper")),
        (CORE, "Person"),
    )
]
PIECES_EN = ["Wuzhen", "Xizha", "West", "East", "Lake", "Scenic Area", "Theatre", "Grand", "Leifeng", "Pagoda", "City"]
PIECES_ZH = ["乌镇", "西栅", "东栅", "景区", "剧院", "大", "雷峰", "塔", "西湖", "区", "市"]
NAMES = re.split(
    r"\|",
    "Wuzhen|乌镇|Wuzhen Theatre|乌镇剧院|Xizha|西栅|西栅景区|乌镇西栅景区|Dongzha|东栅|West Lake|西湖|Xihu|西湖区|"
    "Leifeng Pagoda|雷峰塔|Leifeng Pagodas|families|SF1625|SF1625 Calculus in One Variable|Calculus in One Variable|"
    "SF1624 Algebra|Algebra|Moganshan Mountain|Mogashan Mountain|Moganshan|Mao Dun's Former Residence|东栅（乌镇）|"
    "Former Residence of Mao Dun|Xizha, Wuzhen|Graph Retrieval: A Survey of Methods and Data|Lake West|Hangzhou|杭州|"
    "A Survey of Methods and Data|Hangzhou City|杭州市|East Station|Hangzhou East Station",
)


def ontology():
    return shipped("core", "geo", "travel", "academic")


made_up = st.builds(
    lambda latin, parts: (" " if latin else "").join((PIECES_EN if latin else PIECES_ZH)[p] for p in parts),
    st.booleans(),
    st.lists(st.integers(0, 10), min_size=1, max_size=3),
)
names = st.one_of(st.sampled_from(NAMES), made_up)
mentions = st.builds(
    lambda name, type_, aliases: Mention(name, 0, len(name), type_, name, tuple(aliases)),
    names,
    st.sampled_from(TYPES),
    st.lists(names, max_size=1),
)
claims = st.builds(lambda a, b: Claim(a, LOCATED_IN, b, 0, 1), mentions, mentions)
extractions = st.builds(
    lambda found, said: Extraction(NamedNode(f"{BASE}document/d/chunk/0"), tuple(found), tuple(said)),
    st.lists(mentions, max_size=5),
    st.lists(claims, max_size=2),
)
known_names = st.dictionaries(
    st.tuples(st.sampled_from(TYPES), st.sampled_from([name.casefold() for name in NAMES])),
    st.sampled_from([NamedNode(f"{BASE}entity/k{number}") for number in range(3)]),
    max_size=2,
)
steps = st.lists(
    st.tuples(st.dictionaries(st.sampled_from("abcdef"), st.lists(extractions, max_size=2), max_size=2), known_names),
    min_size=1,
    max_size=7,
)


def from_scratch(documents, known):
    every = [extraction for found in documents.values() for extraction in found]
    return link_entities(every, ontology=ontology(), base=BASE, known=known)


def taken_up(names, documents):
    """The same as another process takes it up from what was packed."""
    made = IncrementalLinking(ontology(), BASE, Likeness())
    packed = {key: json.loads(json.dumps(names.packed(key))) for key in names.touched}
    said = {document: names.packed_document(document) for document in documents}
    listed = [(document, *json.loads(json.dumps(found))) for document, found in said.items() if found is not None]
    made.restore({key: name for key, name in packed.items() if name is not None}, listed)
    return made


@in_two_lengths(60, steps, st.booleans())
def test_what_is_linked_by_changes_is_what_is_linked_from_scratch(given_steps, is_taken_up):
    by_change = IncrementalLinking(ontology(), BASE, Likeness())
    linking, documents = Linking(), dict[str, list[Extraction]]()
    for changed, known in given_steps:
        linking = by_change.relink(changed, known).onto(linking)
        documents.update(changed)
        assert linking == from_scratch(documents, known)
        if is_taken_up:
            by_change, touched = taken_up(by_change, documents), by_change.touched
            by_change._moved |= touched  # nothing is saved here, so all that ever changed is packed again


def knowledge(kg):
    """What the graph holds, but for when and whence it was read."""
    return {str(item.triple) for item in kg.store.quads(graph=DEFAULT_GRAPH)}


def test_only_names_that_a_change_can_reach_are_linked_anew():
    by_change = IncrementalLinking(ontology(), BASE, Likeness())
    attraction = NamedNode(f"{TRAVEL}Attraction")

    def relinked(document, *names):
        mentions = tuple(Mention(name, 0, 5, attraction, name) for name in names)
        read = [Extraction(NamedNode(f"{BASE}document/{document}/chunk/0"), mentions)] if names else []
        return sorted(key[1] for key in by_change.relink({document: read}).keys)

    for number in range(30):
        assert f"place{number:02} garden" in relinked(str(number), f"Place{number:02} Garden")
    assert relinked("other", "Leifeng Pagoda") == relinked("other") == ["leifeng pagoda"]


@pytest.fixture(scope="module")
def finder():
    reference = PlaceReference(None)
    read_world(reference, ontology())
    yield PlaceFinder(reference, ontology())
    reference.close()


PLACE_TYPES = [NamedNode(f"{GEO}{name}") for name in ("Country", "Province", "City", "District")]
PLACE_TYPES += [NamedNode(f"{TRAVEL}Attraction"), NamedNode(f"{CORE}Person")]
PLACE_NAMES = [
    *("Suzhou", "苏州", "Georgia", "Jiangsu", "江苏", "Anhui"),
    *("China", "中国", "Paris", "France", "Jilin"),
]


def within(predicate):
    return True if predicate == LOCATED_IN else None


place_mentions = st.builds(
    lambda name, type_, start: Mention(name, start, start + len(name), type_, name, ()),
    st.sampled_from(PLACE_NAMES),
    st.sampled_from(PLACE_TYPES),
    st.integers(0, 30),
)
place_claims = st.builds(lambda a, b: Claim(a, LOCATED_IN, b, 0, 1), place_mentions, place_mentions)
place_documents = st.dictionaries(
    st.sampled_from(["a", "b", "c", "d"]),
    st.tuples(st.lists(place_mentions, max_size=4), st.lists(place_claims, max_size=2), st.booleans()),
    max_size=3,
)


@settings(max_examples=150, deadline=None)
@given(st.lists(place_documents, min_size=1, max_size=6), st.booleans())
def test_places_by_changes_are_the_places_of_everything(finder, steps, is_new):
    kept, held = KeptResolution(), dict[str, list[Extraction]]()
    for step in steps:
        changed = {
            name: [Extraction(NamedNode(f"https://example.org/document/{name}/chunk/0"), tuple(found), tuple(said))]
            if stays
            else []
            for name, (found, said, stays) in step.items()
        }
        kept.put(changed, finder, within)
        held.update(changed)
        every = [extraction for found in held.values() for extraction in found]
        mentioned = read_mentions(every, may_be_place=finder.may_be_place, within=within)
        whole = resolve(mentioned, finder)
        again = KeptResolution()
        packed = {name: json.loads(json.dumps(kept.packed(name))) for name in kept.documents}
        again.restore(packed)
        kept = again if is_new else kept
        now = again.resolution
        assert (dict(now.names), dict(now.scoped), dict(now.unclear)) == (whole.names, whole.scoped, whole.unclear)


WORDS = ("Amber", "Birch", "Cobalt", "Dunmore", "Elgin", "Foxglove", "Granite", "Harbour", "Iverness")
SMALL, LARGE = 12, 40
TEXTS = (
    "Wuzhen (乌镇) is a water town in Tongxiang, Jiaxing. The Wuzhen Theatre is in Wuzhen.\n",
    "乌镇西栅景区位于乌镇，门票150元。西栅景区早上九点开放。\n",
    "West Lake (西湖) is a lake in Hangzhou. Leifeng Pagoda is an attraction near West Lake in Hangzhou.\n",
    "雷峰塔位于杭州西湖区，门票40元。\n",
    "Suzhou is a city in Zhejiang. The Humble Garden is a garden in Suzhou. Suzhou is in Jiangsu.\n",
    "乌镇剧院（Wuzhen Theatre）位于乌镇。戏剧节十月开幕。\n",
)


@contextmanager
def counting():
    """Python's calls, quads read, rows fetched; names, passages and documents of places read to be linked."""
    found = Counter[str]()

    def called(_, event, __):
        found["calls"] += event in ("call", "c_call")

    def counted(owner, name, what):
        function = getattr(owner, name)

        def each(*given, **options):
            for item in function(*given, **options):
                found[what] += 1
                yield item

        def once(*given, **options):
            found[what] += 1
            return function(*given, **options)

        wrappers = {"quads": each, "rows": lambda *given: list(each(*given))}
        patch.setattr(owner, name, wrappers.get(what, once))

    with pytest.MonkeyPatch.context() as patch:
        counted(Store, "quads", "quads")
        counted(Registry, "_all", "rows")
        counted(Keys, "of", "names")
        counted(registries, "decode", "passages")
        counted(KeptResolution, "_choose", "documents")
        sys.setprofile(called)
        try:
            yield found
        finally:
            sys.setprofile(None)


@contextmanager
def reopened(folder):
    """The workspace as a new process has it, nothing remembered."""
    with KnowledgeGraph.open(folder) as kg:
        kg.workspace.__dict__["embedder"] = HashEmbedder()
        yield kg


def note(number):
    first, second = list(permutations(WORDS, 2))[number]
    return f"The {first} {second} Garden is an attraction in Wuzhen. Tickets cost {number + 10} CNY.\n"


def written(folder, name, text):
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(text, encoding="utf-8")
    return folder / name


def is_linked_as_from_scratch(kg):
    return kg.registry.linking() == linked(kg.workspace)


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """A workspace with many documents, left by a process that has ended."""
    return made(tmp_path_factory.mktemp("large"), LARGE)


def made(folder, count):
    with reopened(new_workspace(folder / "kg")) as kg:
        list(kg.add(*(written(folder / "notes", f"{number}.txt", note(number)) for number in range(count))))
    return folder / "kg"


def scanned(kg, path):
    """The tables that SQLite goes through from end to end while the document is added."""
    said: list[str] = []
    kg.registry._db.set_trace_callback(said.append)
    list(kg.add(path))
    kg.registry._db.set_trace_callback(None)
    found = set[str]()
    for sql in dict.fromkeys(said):
        if sql.startswith(("SELECT", "UPDATE", "DELETE", "INSERT")):
            plan = kg.registry._db.execute(f"EXPLAIN QUERY PLAN {sql}").fetchall()
            found.update(re.findall(r"SCAN (\w+)", " ".join(row[3] for row in plan)))
    return found


def added(kg, folder, number):
    """What one more document costs."""
    path = written(folder, f"more{number}.txt", note(number))
    with counting() as found:
        list(kg.add(path))
    return found


def test_a_process_that_adds_nothing_new_links_nothing_nor_does_calibrating(large):
    with reopened(large) as kg:
        with counting() as found:
            kg.build("link")
        assert not {"names", "passages", "documents"} & found.keys()
        kg.calibrate(Gold(()))
        kg.build("link")
        assert is_linked_as_from_scratch(kg)


def test_one_more_document_costs_no_more_in_a_large_graph_than_in_a_small_one(large, tmp_path):
    """Counted, not timed. All documents are of one town, so that what is done for everything in it shows."""
    costs = []
    for workspace in (made(tmp_path, SMALL), shutil.copytree(large, tmp_path / "large" / "kg")):
        with reopened(workspace) as kg:
            first = added(kg, workspace.parent, 68)
            every = [added(kg, workspace.parent, number) for number in (69, 70)]
            gone_through = scanned(kg, written(workspace.parent, "last.txt", note(71)))
        costs.append((first, {what: min(found[what] for found in every) for what in ("calls", "quads", "rows")}))
    (first_little, little), (first_much, much) = costs
    assert first_much["names"] <= first_little["names"]  # what linking remembers is taken up by the next process
    assert all(first_much[what] == first_little[what] for what in ("passages", "documents"))
    assert all(much[what] <= 1.1 * little[what] for what in much), costs
    growing = {"documents", "chunks", "sources", "occurrences", "names", "entities", "names_in", "table_rows"}
    assert not gone_through & growing


@pytest.mark.slow
def test_documents_added_by_one_process_each_give_the_graph_of_all_at_once(tmp_path):
    for name in ("kg", "whole"):
        new_workspace(tmp_path / name)
    paths = [written(tmp_path / "notes", f"{number}.txt", text) for number, text in enumerate(TEXTS)]
    for some in (paths[:3], paths[3:]):
        with reopened(tmp_path / "kg") as kg:
            for path in some:
                list(kg.add(path))
            assert is_linked_as_from_scratch(kg)
    with reopened(tmp_path / "kg") as kg:
        kg.unlink("西栅景区", "乌镇")
        kg.remove("0.txt")
        list(kg.add(written(tmp_path / "notes", "2.txt", "West Lake is a lake in Hangzhou, Zhejiang.\n")))
        assert is_linked_as_from_scratch(kg)
        assert kg.registry._read_linking() == kg.registry.linking()  # what is remembered is what is written
        assert kg.dataset.violations() == (frozenset(), frozenset())
        single, passages = knowledge(kg), len(kg.chunks)
    with reopened(tmp_path / "whole") as kg:
        list(kg.add(*paths[1:]))
        kg.unlink("西栅景区", "乌镇")
        assert (knowledge(kg), len(kg.chunks)) == (single, passages)


def test_what_tables_say_meanwhile_is_seen_and_a_file_that_cannot_be_written_stops_nothing(tmp_path):
    workspace = made(tmp_path, 4)
    with reopened(workspace) as kg:
        list(kg.add(written(tmp_path, "sights.csv", "name,type\nAmber Birch Garden,Garden\n"), build=False))
    with reopened(workspace) as kg:
        kg.build("link")
        assert is_linked_as_from_scratch(kg)
    (workspace / kept_linking.LINKING_FILE).unlink()
    (workspace / kept_linking.LINKING_FILE).mkdir()
    with reopened(workspace) as kg:
        list(kg.add(written(tmp_path, "last.txt", TEXTS[0])))
        assert is_linked_as_from_scratch(kg)


def flipped(held, _):
    place = held.rindex(b"garden")
    return held[:place] + b"gorden" + held[place + 6 :]


@pytest.mark.slow
@pytest.mark.parametrize(
    "spoilt",
    [
        flipped, lambda held, _: held[: len(held) // 2], lambda *_: b"nothing of the kind",
        lambda _, earlier: earlier, None,
    ],
    ids=["flipped", "cut", "no database", "old", "gone"],
)  # fmt: skip
def test_a_damaged_or_old_file_costs_time_and_nothing_else(spoilt, tmp_path, large):
    workspace = tmp_path / "kg"
    shutil.copytree(large, workspace)
    file = workspace / kept_linking.LINKING_FILE
    earlier = file.read_bytes()
    with reopened(workspace) as kg:
        list(kg.add(*(written(tmp_path, f"{number}.txt", note(number)) for number in (70, 71))))
        kg.remove("3.txt")
    file.write_bytes(spoilt(file.read_bytes(), earlier)) if spoilt else file.unlink()
    with reopened(workspace) as kg:
        list(kg.add(written(tmp_path, "last.txt", TEXTS[0])))
        assert is_linked_as_from_scratch(kg)
    with reopened(workspace) as kg:
        assert added(kg, tmp_path, 68)["passages"] <= 3


@pytest.mark.slow
def test_other_settings_and_rules_link_all_again(large, tmp_path, monkeypatch):
    workspace = tmp_path / "kg"
    shutil.copytree(large, workspace)
    settings = workspace / "kgplatform.toml"
    stricter = settings.read_text(encoding="utf-8") + "\n[linking]\nsimilarity = 0.95\n"
    for change in (
        lambda: monkeypatch.setattr(kept_linking, "_rules", lambda: "other rules"),
        lambda: settings.write_text(stricter, encoding="utf-8"),
    ):
        change()
        with reopened(workspace) as kg:
            with counting() as found:
                kg.build("link")
            assert found["names"] >= LARGE
            assert is_linked_as_from_scratch(kg)


changes = st.lists(st.tuples(st.dictionaries(st.integers(0, 40), st.integers()), st.sets(st.integers(0, 40))))


@given(changes)
def test_a_map_made_by_changes_is_the_dict_and_earlier_ones_stay(
    steps,
):
    held: dict[int, int] = {}
    layers, before = PersistentMap[int, int](), list[tuple[PersistentMap[int, int], dict[int, int]]]()
    for put, gone in steps:
        layers = layers.changed(put, gone)
        held = {key: value for key, value in held.items() if key not in gone} | put
        before.append((layers, held))
    for made, wanted in before:
        assert made == wanted
        assert len(made) == len(wanted)
        assert all((key in made, made.get(key)) == (key in wanted, wanted.get(key)) for key in range(41))


def test_who_follows_a_dataset_hears_what_was_written_unless_somebody_else_wrote_too():
    dataset = EvidenceDataset(Store.open(), BASE)
    following = dataset.follow(frozenset({TYPE}))
    thing, table = NamedNode(f"{BASE}entity/a"), NamedNode(f"{BASE}graph/table/t")
    typed, named = Triple(thing, TYPE, NamedNode(f"{BASE}Town")), Triple(thing, LABEL, Literal("A"))
    dataset.commit(Change(added={table: [typed, named]}))
    dataset.conclude([Triple(thing, TYPE, NamedNode(f"{BASE}Place"))], [])
    assert following.take() == WrittenStatements((typed,), frozenset({table}))
    assert following.take() == WrittenStatements((), frozenset())
    dataset.store.apply(added=[Quad(thing, LABEL, Literal("B"), table)])
    assert following.take() is None
    dataset.unfollow(following)
    dataset.commit(Change(removed={table: [typed]}))
    assert following.take() is None
