"""Entities created, changed and undone by the form that their class gives: stated by a person, held to the shapes."""

from pathlib import Path
from urllib.parse import quote

import pytest
from browser import LOOKS, axe, browser, browsing, serve_in_thread, served, until  # noqa: F401
from pyoxigraph import Literal, NamedNode, Triple

from kgplatform.entities import find_iri
from kgplatform.graph import KnowledgeGraph
from kgplatform.models.stubs import HashEmbedder
from kgplatform.server.access import Access
from kgplatform.server.app import create_app
from kgplatform.types import EDITED, Verdict
from kgplatform.vocab import LABEL, TRAVEL, TYPE
from kgplatform.workspace.review import EntityEdits

INNS = "name,town,price_per_night,star_rating\nInn Amber,Wuzhen,1500,4\nInn Birch,Wuzhen,900,3\n"
HOTEL = f"{TRAVEL}Hotel"
PRICE = NamedNode(f"{TRAVEL}pricePerNight")


@pytest.fixture(scope="module")
def inns(tmp_path_factory):
    """A workspace of two hotels, and its address."""
    folder = tmp_path_factory.mktemp("edited")
    (folder / "inns.csv").write_text(INNS, encoding="utf-8")
    with KnowledgeGraph.create(folder / "kg", ontology="travel") as kg:
        kg.workspace.__dict__["embedder"] = HashEmbedder()
        list(kg.add(folder / "inns.csv"))
        address, stop = serve_in_thread(kg)
        yield kg, address
        stop()


def whole(kg):
    """All that the workspace holds, conclusions aside."""
    return {quad for quad in kg.store.quads() if quad.graph_name != kg.dataset.inferred}


@LOOKS
def test_a_value_is_changed_in_a_persons_name_answers_cite_it_and_it_is_undone(browsing, inns, width, dark, language):
    kg, address = inns
    before, amber = whole(kg), find_iri(kg.store, "Inn Amber")
    looks = {"width": width, "dark": dark, "language": language, "address": address}
    page = browsing.page(f"/resource?iri={quote(amber.value, safe='')}", **looks)
    page.locator("a[href^='/edit']").first.click()
    page.wait_for_selector("form.edit[data-started]", state="attached")
    axe(page)
    price = page.locator(".edit input[value='1500']")
    price.fill("not a number")
    page.locator("[name=person]").fill("Ann Lee")
    page.locator(".edit button[type=submit]").click()
    page.wait_for_selector(".edit .wrong .bad")
    axe(page)
    assert whole(kg) == before, "what is no value of the property changes nothing"
    page.locator(".edit .wrong input").first.fill("1750")
    page.locator(".edit button[type=submit]").click()
    page.wait_for_selector("form[action$='/undo']")
    axe(page)
    assert [term.value for term in kg.store.objects(amber, PRICE)] == ["1750"]
    answer = kg.ask("How much does Inn Amber cost?")
    assert answer.verdict is Verdict.ANSWERED
    assert "1,750" in answer.text
    assert [item.title for item in answer.evidence if item.source == EDITED] == ["Ann Lee"]
    undoing = page.url
    page.goto(f"{address}/resource?iri={quote(amber.value, safe='')}")
    assert "Ann Lee" in page.locator("main").text_content()
    page.goto(undoing)
    page.locator("form[action$='/undo'] button").click()
    page.wait_for_selector(".entity")
    assert whole(kg) == before, "undoing is the exact inverse"
    assert kg.dataset.violations() == (frozenset(), frozenset())


def test_undoing_edits_one_after_the_other_leads_back_through_each_state(inns):
    kg, amber = inns[0], find_iri(inns[0].store, "Inn Amber")
    edits, states = EntityEdits(kg.dataset), [whole(kg)]
    made = []
    for price in ("1", "1500", "2"):  # away from what a document says, back to it, away again
        value = Literal(price, datatype=NamedNode("http://www.w3.org/2001/XMLSchema#decimal"))
        old = [quad.triple for quad in kg.store.quads(amber, PRICE, None)]
        new = Triple(amber, PRICE, value)
        same = [triple for triple in old if triple.object.value == price]
        made.append(edits.make(amber, same or [new], [triple for triple in old if triple not in same], "x"))
        states.append(whole(kg))
        assert kg.dataset.violations() == (frozenset(), frozenset())
    with pytest.raises(Exception, match="only the last edit"):
        edits.undo(made[0])
    for edit, state in zip(reversed(made), reversed(states[:-1]), strict=True):
        edits.undo(edit)
        assert whole(kg) == state


def test_the_last_of_many_quick_edits_is_the_one_that_is_undone(inns):
    kg, amber = inns[0], find_iri(inns[0].store, "Inn Amber")
    edits, before = EntityEdits(kg.dataset), whole(inns[0])
    made = [edits.make(amber, [Triple(amber, PRICE, Literal(f"x{n}"))], [], "x") for n in range(40)]
    assert [edit.iri for edit in edits.of(amber)] == [edit.iri for edit in reversed(made)]
    for edit in reversed(made):
        edits.undo(edit)
    assert whole(kg) == before


def test_shapes_the_ontology_and_rights_are_kept(inns):
    kg = inns[0]
    client = create_app(kg, access=Access.on("127.0.0.1")).test_client()
    before = whole(kg)
    form = client.get(f"/edit?class={quote(HOTEL)}").get_data(as_text=True)
    assert 'data-needed="yes"' in form
    answer = client.post("/edit", data={"class": HOTEL, LABEL.value: ""})
    assert (answer.status_code, whole(kg)) == (400, before), "a name is needed"
    answer = client.post("/edit", data={"class": HOTEL, LABEL.value: "Inn Cedar", f"{TRAVEL}starRating": "9"})
    assert (answer.status_code, whole(kg)) == (400, before), "a shape wants five stars at most"
    evil = '<script>alert(1)</script>" } } ; DROP ALL'
    answer = client.post("/edit", data={"class": HOTEL, LABEL.value: evil})
    assert answer.status_code == 303, answer.get_data(as_text=True)[-9000:]
    shown = client.get(answer.headers["Location"]).get_data(as_text=True)
    assert "<script>alert" not in shown
    assert client.post("/edit", data={"class": HOTEL, LABEL.value: evil}).status_code == 400, "it is there already"
    assert client.post(f"{answer.headers['Location']}/undo").status_code == 303
    assert whole(kg) == before
    assert client.get(f"/edit?iri={quote(HOTEL, safe='')}").status_code == 400, "terms are changed in their file"
    foreign = {"Origin": "http://evil.example", "Sec-Fetch-Site": "cross-site"}
    assert client.post("/edit", data={"class": HOTEL, LABEL.value: "x"}, headers=foreign).status_code == 403


def _filled(page):
    """Fills what the form needs, each by its kind."""
    for at in range(page.locator("fieldset[data-needed]").count()):
        group = page.locator("fieldset[data-needed]").nth(at)
        kind, field = group.get_attribute("data-kind"), group.locator("input, select, textarea").first
        if kind in ("choice", "truth"):
            field.select_option(index=1)
        elif not field.input_value():
            low = field.get_attribute("data-min") or "1"
            field.fill({"whole": low, "number": low, "year": "1999", "date": "1999-12-31"}.get(kind, "Trial One"))


def _classes(name):
    from kgplatform.ontology import packs

    return [term.iri for term in packs.load([name], folder=Path()).ontology.domain_classes]


@pytest.mark.parametrize(
    ("name", "some"),
    [
        pytest.param("travel", slice(0, 200, 24), id="travel-some"),
        *(
            pytest.param(name, slice(None), id=name, marks=pytest.mark.slow)
            for name in ("travel", "academic", "airport")
        ),
    ],
)
def test_every_shipped_class_is_created_changed_and_undone_in_a_browser(browsing, tmp_path, name, some):
    with KnowledgeGraph.create(tmp_path / "kg", ontology=name) as kg:
        kg.workspace.__dict__["embedder"] = HashEmbedder()
        before, address = whole(kg), browsing.serve(kg)
        page = browsing.page("/edit?class=" + quote(_classes(name)[0].value, safe=""), address=address, scripts=False)
        for class_ in _classes(name)[some]:
            page.goto(f"{address}/edit?class={quote(class_.value, safe='')}")
            _filled(page)
            page.locator(".edit button[type=submit]").click()
            page.wait_for_load_state("domcontentloaded")
            assert page.locator("form[action$='/undo']").count() == 1, (
                class_,
                page.locator(".bad, .trouble").all_inner_texts(),
            )
            created = page.url
            thing = next(
                quad.subject for quad in kg.store.quads(None, TYPE, class_) if "Trial" in str(_name(kg, quad.subject))
            )
            page.goto(f"{address}/edit?iri={quote(thing.value, safe='')}")
            page.locator("input[value='Trial One']").first.fill("Trial Two")
            page.locator(".edit button[type=submit]").click()
            assert _name(kg, thing) == "Trial Two", (class_, page.locator(".bad, .trouble").all_inner_texts())
            for place in (page.url, created):
                page.goto(place)
                page.locator("form[action$='/undo'] button").click()
            assert whole(kg) == before, class_


def _name(kg, thing):
    return next((term.value for term in kg.store.objects(thing, LABEL)), None)
