"""Communities: what holds together, how it is named and told, and what happens when the graph changes."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyoxigraph import Literal, NamedNode, Triple

from kgplatform.cli.main import main
from kgplatform.models.stubs import ScriptedModel
from kgplatform.ontology.packs import load
from kgplatform.reasoning import community_detection as detection
from kgplatform.settings import CommunitySettings
from kgplatform.store.dataset import Change, EvidenceDataset
from kgplatform.store.oxigraph import Store
from kgplatform.vocab import LABEL, TYPE, local_name
from kgplatform.workspace.community_stage import CommunityParts, ReportWriter, communities, find_communities, names_in


def clique(*nodes, weight=1.0):
    return {(a, b): weight for n, a in enumerate(nodes) for b in nodes[n + 1 :]}


def groups(partition, level=0):
    return {frozenset(c.members) for c in partition.communities if c.level == level}


def test_two_cliques_with_a_thin_tie_between_are_two_communities():
    found = detection.detect(clique(*"abcd") | clique(*"wxyz") | {("d", "w"): 0.1})
    assert groups(found) == {frozenset("abcd"), frozenset("wxyz")}
    assert found.modularity == pytest.approx(0.5, abs=0.02)
    assert [c.weight for c in found.communities] == [6, 6]


def test_a_large_community_is_divided_again_one_level_down():
    # a long ring of triangles: seen as a whole, neighbours are better put together than kept apart
    edges = {}
    for number in range(60):
        edges |= clique(f"a{number:02}", f"b{number:02}", f"c{number:02}")
        edges[f"a{number:02}", f"b{(number + 1) % 60:02}"] = 1.0
    found = detection.detect(edges, largest=5)
    coarse, fine = groups(found), groups(found, 1)
    assert max(map(len, coarse)) > 5
    assert fine
    assert frozenset().union(*fine) <= frozenset().union(*coarse)
    assert all((c.parent is None) == (c.level == 0) for c in found.communities)


nodes = st.sampled_from([f"n{number}" for number in range(12)])


@settings(max_examples=40, deadline=None)
@given(st.dictionaries(st.tuples(nodes, nodes), st.floats(0.1, 5), max_size=40), st.integers(2, 12))
def test_each_level_puts_every_tied_node_into_at_most_one_community(edges, largest):
    found = detection.detect(edges, largest=largest)
    assert detection.detect(edges, largest=largest) == found
    tied = {node for pair in edges if pair[0] != pair[1] for node in pair}
    for level in {c.level for c in found.communities}:
        members = [m for c in found.communities if c.level == level for m in c.members]
        assert len(members) == len(set(members))
        assert level or set(members) == tied
    for community in found.communities:
        if community.parent is not None:
            assert set(community.members) <= set(found.communities[community.parent].members)
    assert -0.5 <= found.modularity <= 1


def test_a_report_names_the_best_tied_first_and_counts_the_rest():
    members = [detection.Member(f"Hotel {n}", "hotel", n) for n in range(10)] + [detection.Member("Wuzhen", "town", 20)]
    facts = [detection.TiedFact("Hotel 9 in Wuzhen", 29), detection.TiedFact("Hotel 1 in Wuzhen", 21)]
    written = detection.report(members, facts, "en")
    assert written.title == "Wuzhen, Hotel 9, Hotel 8"
    assert written.text.startswith("hotel (10): Hotel 9, Hotel 8")
    assert "and 2 more" in written.text
    assert written.text.endswith("Hotel 9 in Wuzhen. Hotel 1 in Wuzhen.")
    chinese = detection.report(
        [detection.Member("乌镇", "古镇", 2), detection.Member("西栅", "景区", 1)],
        [detection.TiedFact("西栅位于乌镇", 3)],
        "zh",
    )
    assert (chinese.title, chinese.text) == ("乌镇、西栅", "古镇（1）：乌镇。景区（1）：西栅。西栅位于乌镇。")


# the stage

BASE = "https://e.org/"
GEO, TRAVEL = "https://w3id.org/kgplatform/geo#", "https://w3id.org/kgplatform/travel#"


def thing(name):
    return NamedNode(f"{BASE}entity/{name}")


def described(name, class_):
    return [
        Triple(thing(name), TYPE, NamedNode(class_)),
        Triple(thing(name), LABEL, Literal(name.title(), language="en")),
    ]


def tied(*pairs):
    return [Triple(thing(a), NamedNode(f"{GEO}near"), thing(b)) for a, b in pairs]


@pytest.fixture
def parts():
    loaded = load(("travel",), folder=Path())
    dataset = EvidenceDataset(Store.open(), BASE)
    names = {}

    def label(term, language):
        found = names.setdefault(term, next((q.object.value for q in dataset.store.quads(term, LABEL)), ""))
        return found or local_name(term.value)

    return CommunityParts(dataset, loaded.ontology, CommunitySettings(), label)


def chunk(number):
    return NamedNode(f"{BASE}document/d/chunk/{number}")


TOWN = [("lake", "inn"), ("lake", "pier"), ("inn", "pier")]
HILL = [("peak", "hut"), ("peak", "path"), ("hut", "path")]


def filled(parts):
    things = [
        t for name in ("lake", "inn", "pier", "peak", "hut", "path") for t in described(name, f"{TRAVEL}Attraction")
    ]
    parts.dataset.commit(Change(added={chunk(0): [*things, *tied(*TOWN)], chunk(1): tied(*HILL, ("pier", "hut"))}))
    return find_communities(parts)


def members(views):
    return {frozenset(local_name(m.value) for m in view.members) for view in views}


def test_things_that_statements_tie_are_found_named_and_told(parts):
    found = filled(parts)
    assert (found.communities, found.levels, found.new, found.gone) == (2, 1, 2, 0)
    assert parts.dataset.violations() == (frozenset(), frozenset())
    assert not parts.dataset.store.query("SELECT ?c { ?c a <https://w3id.org/kgplatform/core#Community> }").rows
    views = communities(parts)
    assert members(views) == {frozenset({"lake", "inn", "pier"}), frozenset({"peak", "hut", "path"})}
    assert all(view.size == 3 and view.rank == 3 and view.title and not view.stale for view in views)
    assert "Lake" in " ".join(view.summary for view in views)
    assert communities(parts, language="zh")[0].summary != views[0].summary


def test_a_community_keeps_its_name_while_most_of_it_stays(parts):
    filled(parts)
    before = {view.iri: view for view in communities(parts)}
    extra = [*described("boat", f"{TRAVEL}Attraction"), *tied(("boat", "lake"), ("boat", "inn"), ("boat", "pier"))]
    parts.dataset.commit(Change(added={chunk(2): extra}))
    stale = {view.iri for view in communities(parts) if view.stale}
    assert not stale  # the newcomer is a member of none yet, and nothing between the members has changed
    found = find_communities(parts)
    assert (found.new, found.gone) == (0, 0)
    after = {view.iri: view for view in communities(parts)}
    assert after.keys() == before.keys()
    assert {len(view.members) for view in after.values()} == {3, 4}


def test_a_report_is_stale_once_a_statement_between_its_members_goes(parts):
    filled(parts)
    parts.dataset.commit(Change(dropped=(chunk(0),), added={chunk(0): tied(*TOWN[:2])}))
    stale = [view for view in communities(parts) if view.stale]
    assert members(stale) == {frozenset({"lake", "inn", "pier"})}
    find_communities(parts)
    assert not any(view.stale for view in communities(parts))


def test_when_nothing_ties_anything_the_old_communities_go(parts):
    filled(parts)
    parts.dataset.commit(Change(dropped=(chunk(0), chunk(1))))
    found = find_communities(parts)
    assert (found.communities, found.gone) == (0, 2)
    assert communities(parts) == []


def test_the_verb_lists_them_and_shows_those_of_a_thing(tmp_path, capsys):
    lines = [
        f'<https://e.org/{n}> a <{TRAVEL}Attraction> ; <http://www.w3.org/2000/01/rdf-schema#label> "Zorb {n}"@en .'
        for n in ("lake", "inn", "pier")
    ]
    lines += [f"<https://e.org/{a}> <{GEO}near> <https://e.org/{b}> ." for a, b in TOWN]
    (tmp_path / "data.ttl").write_text("\n".join(lines), "utf-8")
    folder = str(tmp_path / "kg")
    assert main(["create", folder, "--ontology", "travel"]) == 0
    assert main(["load", str(tmp_path / "data.ttl"), "-w", folder]) == 0
    assert main(["communities", "-w", folder]) == 1
    assert "--refresh" in capsys.readouterr().err
    assert main(["communities", "-w", folder, "--refresh", "--format", "json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert found["size"] == 3
    assert main(["communities", "Zorb lake", "-w", folder, "--language", "zh"]) == 0
    shown = capsys.readouterr().out
    assert all(part in shown for part in ("（3）", "Zorb pier"))
    assert main(["communities", "Nowhere", "-w", folder]) != 0
    assert main(["build", "-w", folder]) == 0
    assert "communities" not in "".join(capsys.readouterr())  # only when asked for
    assert main(["build", "--only", "communities", "-w", folder]) == 0
    assert "1 communities" in "".join(capsys.readouterr())


def _reply(**parts):
    return json.dumps({part: parts.get(part, "") for part in detection.PARTS}, ensure_ascii=False)


def test_a_model_writes_reports_and_only_of_what_changed(parts):
    model = ScriptedModel(otherwise=lambda messages: _reply(introduction="It is a group of places."))
    by_model = replace(parts, writer=ReportWriter(model, workers=2))
    filled(by_model)
    asked = len(model.conversations)
    assert asked == 2 * len(communities(by_model))
    assert {view.summary for view in communities(by_model)} == {"It is a group of places."}
    find_communities(by_model)
    assert len(model.conversations) == asked
    parts.dataset.commit(Change(dropped=(chunk(1),), added={chunk(1): tied(*HILL[:2], ("pier", "hut"))}))
    assert [view.stale for view in communities(by_model)].count(True) == 1
    find_communities(by_model)
    assert len(model.conversations) == asked + 2
    assert not any(view.stale for view in communities(by_model))


def test_sentences_with_names_or_numbers_of_their_own_are_left_out():
    members = (detection.Member("Lake Inn", "hotel", 2.0), detection.Member("West Lake", "lake", 3.0))
    facts = (detection.TiedFact("Lake Inn near West Lake", 5.0), detection.TiedFact("Lake Inn room count 24", 3.0))
    text = "The hotel Lake Inn is near West Lake. Guests also like Leifeng Pagoda. It has 24 rooms. It has 99 rooms."
    model = ScriptedModel(_reply(introduction=text, hotels="Stay at the Grand Hyatt."))
    written = detection.write(model, detection.CommunityMaterial(members, facts, "en"), names_in=names_in)
    assert written.report.text == "The hotel Lake Inn is near West Lake. It has 24 rooms."
    assert len(written.left_out) == 3
    members = (detection.Member("西湖", "湖泊", 3.0), detection.Member("湖畔客栈", "酒店", 2.0))
    model = ScriptedModel(_reply(introduction="湖畔客栈靠近西湖。杭州是好地方。", hotels="湖畔客栈。"))
    written = detection.write(
        model,
        detection.CommunityMaterial(members, (detection.TiedFact("湖畔客栈靠近西湖", 5.0),), "zh"),
        names_in=names_in,
    )
    assert written.report.text == "湖畔客栈靠近西湖。\n住宿：湖畔客栈。"


def test_where_nothing_of_a_model_can_be_used_the_built_in_report_stands(parts):
    model = ScriptedModel(otherwise=lambda messages: _reply(introduction="We saw Atlantis."))
    filled(replace(parts, writer=ReportWriter(model)))
    assert all("Atlantis" not in view.summary and view.summary for view in communities(parts))
