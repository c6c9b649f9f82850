"""Every page in a browser: drawn, open to everyone, on a phone, dark and in Chinese too, and without scripts; journeys.

A small town with communities, a document kept apart and a saved query, a country, and a university serve all of them.
"""

import re
import shutil
import threading
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from urllib.request import urlopen

import pytest
from atlas_study import EVILS, country, thing
from browser import (  # noqa: F401
    LOOKS,
    SLOW_LOOKS,
    axe,
    browser,
    browsing,
    serve_in_thread,
    served,
    shot,
    slowly,
    steady,
    until,
)
from small_graph import EVIL
from studies import CHINESE, SPEAKERS, STREAM, field, university

from kgplatform.evaluation.runs import Headline, RunFacts, kept, runs
from kgplatform.graph import KnowledgeGraph
from kgplatform.models.stubs import HashEmbedder
from kgplatform.questions.answer import AnswerStage, QuestionGivenUpError, tell
from kgplatform.server.app import create_app
from kgplatform.settings import MapSettings
from tests.conformance.manifests import Outcome, Verdict
from tests.conformance.report import keep
from tests.conformance.suites import Result

NOTE = "Wuzhen is a water town. The Lakeside Inn stands near Xizha and has 24 rooms. Canal House has 12 rooms.\n"
BAD = "name,town,price_per_night,star_rating\nRiver Inn,Wuzhen,480,9\n"
QUERY = "SELECT ?hotel WHERE { ?hotel a travel:Hotel }"
ASKED = "/ask?question=Which+hotels+are+there%3F"
HOTEL = "https://w3id.org/kgplatform/travel%23Hotel"
WUZHEN = f"/explore?focus={thing('wuzhen').value}"
EXPLORED = f"{WUZHEN}&expand=in 25 geo:locatedIn kg:entity/wuzhen"
HOTELS_MAP = f"/map?class={HOTEL}"
SMALL = (
    *(ASKED, "/ask?question=Who+owns+Mars%3F", "/documents", "/evaluation", "/export", "/api", "/about", "/explore"),
    *("/map", "/ontology", "/retrieval", "ENTITY", "SOURCED", "NEXT", "PATH"),
)
TOWN = (
    *("/", "/search?q=inn", "/search?q=qqqqq", "/query", "/query?query=CONSTRUCT+WHERE+%7B+%3Fs+a+%3Fc+%7D"),
    *("/query?query=SELECT+%3Fx+WHERE+%7B+%3Fx", "/q/hotels", "COMMUNITY", "/communities", "DOCUMENT", "APART"),
    *("/conformance", "/evaluation", "/nothing-here", "/id/entity/nothing", f"/ask?question={'a' * 1200}"),
    *("/ask?question=How+many+rooms%3F", "BEFORE", "/embed?query=SELECT+%3Fh+%7B+%3Fh+a+travel%3AHotel+%7D"),
)
COUNTRY = (
    *("/id/entity/hotel-2", "/id/entity/tongxiang", "/explore", EXPLORED, HOTELS_MAP, "/ontology", "/ontology?q=hotel"),
    f"{WUZHEN}&path=kg:entity/hotel-2 kg:entity/asia",
    f"{HOTELS_MAP}&place={thing('zhejiang').value}&bbox=119,29,122,32",
    *(f"/resource?iri={HOTEL}", "/property/travel:roomCount"),
)
UNIVERSITY = (
    *("/courses", "/courses/DD3001?known=AA1001", "/literature?topic=streaming", "/communities"),
    "/literature/compare?paper=Short+Memory&paper=Two+Speakers",
    "/retrieval?question=two+speakers&retriever=lexical&against=dense",
)


@pytest.fixture(scope="module")
def town(tmp_path_factory):
    """The workspace, its address, and the addresses of its pages that have a name of their own."""
    folder = tmp_path_factory.mktemp("town")
    (folder / "inns.txt").write_text(NOTE * 3, encoding="utf-8")
    (folder / "客栈.txt").write_text("西栅位于乌镇。通安客栈在西栅附近，有80间客房。\n" * 3, encoding="utf-8")
    (folder / "hotels.csv").write_text(BAD, encoding="utf-8")
    with KnowledgeGraph.create(folder / "kg", ontology="travel") as kg:
        kg.workspace.__dict__["embedder"] = HashEmbedder()
        list(kg.add(folder / "inns.txt", folder / "客栈.txt"))
        list(kg.add(folder / "hotels.csv", policy="quarantine"))
        kg.find_communities()
        (kg.folder / "sparql").mkdir(exist_ok=True)
        (kg.folder / "sparql" / "hotels.rq").write_text(f"# Which hotels are there?\n{QUERY}\n", encoding="utf-8")
        keep([Result("query", Outcome("urn:t:1", "one", "query", Verdict.FAILED, "x"), "a known reason")], kg.folder)
        community = f"/communities/{name_of(kg.communities()[0].iri)}"
        apart = f"{page_of(kg, 'hotels.csv')}?why=1"
        kg.update("INSERT DATA { kg:newcomer rdfs:label 'Newcomer'@en }")
        before = f"/resource?iri={kg.base}newcomer&at={kg.versions.listed()[-1].number}"
        named = {"BEFORE": before, "DOCUMENT": page_of(kg, "inns.txt"), "APART": apart, "COMMUNITY": community}
        address, stop = serve_in_thread(kg)
        yield kg, address, named
        stop()


def of_an_answer(address):
    """The pages beside an answer: what may be asked next, and the path of its first row."""
    with urlopen(f"{address}{ASKED}") as page:
        name = re.search(r"/ask/(\w+)/next", page.read().decode())[1]
    return {"NEXT": f"/ask/{name}/next", "PATH": f"/ask/{name}/path?row=1"}


def name_of(iri):
    return iri.value.rpartition("/")[2]


def page_of(kg, name):
    return f"/documents/{name_of(kg.registry.find(name).document.iri)}"


@pytest.fixture(scope="module")
def land(tmp_path_factory):
    with country(tmp_path_factory.mktemp("country")) as kg:
        address, stop = serve_in_thread(kg)
        yield kg, address, {}
        stop()


@pytest.fixture(scope="module")
def studies(tmp_path_factory):
    folder = tmp_path_factory.mktemp("studies")
    papers = folder / "papers"
    papers.mkdir()
    for name, text in (("stream.txt", STREAM), ("speakers.txt", SPEAKERS), ("short.txt", CHINESE)):
        (papers / name).write_text(text, encoding="utf-8")
    with KnowledgeGraph.create(folder / "kg", ontology="academic") as kg:
        kg.workspace.__dict__["embedder"] = HashEmbedder()
        list(kg.add(papers, build=False))
        kg.dataset.state([*university(), *field()])
        kg.build("index")
        kg.find_communities()
        address, stop = serve_in_thread(kg)
        yield kg, address, {}
        stop()


QUICK = (
    (None, ASKED),
    (None, "/documents"),
    (None, "/api"),
    (None, "SOURCED"),
    ("land", EXPLORED),
    ("land", HOTELS_MAP),
    ("land", COUNTRY[0]),
)
ALL = [*((None, path) for path in SMALL), *(("town", path) for path in TOWN), *(("land", path) for path in COUNTRY)]
ALL += [("studies", path) for path in UNIVERSITY]


def seen(browsing, request, where, path, **looks):
    if where is None:
        small = {"ENTITY": f"/resource?iri={browsing.kg.entity('Lakeside Inn').value}"}
        small["SOURCED"] = page_of(browsing.kg, "Two days in Wuzhen")
        small |= of_an_answer(browsing.address) if path in ("NEXT", "PATH") else {}
    _, address, named = request.getfixturevalue(where) if where else (None, browsing.address, small)
    return browsing.page(named.get(path, path), address=address, **looks)


@LOOKS
@pytest.mark.parametrize(
    ("where", "path"), [pytest.param(*c, marks=() if c in QUICK else pytest.mark.slow) for c in ALL]
)
def test_a_page_is_drawn_and_open_to_everyone(browsing, request, where, path, width, dark, language):
    page = seen(browsing, request, where, path, width=width, dark=dark, language=language)
    steady(page)
    shot(page, f"{re.sub('[^a-z]+', '-', path)}-{width}-{language}")
    axe(page)
    page.emulate_media(color_scheme="light" if dark else "dark", reduced_motion="reduce")
    axe(page)
    browsing.check()
    assert page.locator("figure.failed").count() == 0
    assert page.locator("h1").count() == 1 or path.startswith(("/query", "/q/"))
    if width == 390:
        first = page.locator("main :is(h1, .chosen, .explore-bar, figure.view .stage)").first
        assert first.count() == 0 or "stage" not in (first.get_attribute("class") or "")


@LOOKS
@pytest.mark.parametrize(("where", "path"), [(None, ASKED), (None, "/api"), ("land", "/explore"), ("land", EXPLORED)])
def test_nothing_moves_when_the_scripts_come(browsing, request, where, path, width, dark, language):
    page = seen(browsing, request, where, path, width=width, dark=dark, language=language)
    slowly(page)
    page.reload()
    page.wait_for_selector("html[data-ready=yes]", state="attached")
    steady(page)


def test_on_a_phone_heading_and_controls_come_before_the_picture(browsing, land):
    for path, before in ((EXPLORED, (".chosen", ".relations", ".explore-bar")), (HOTELS_MAP, ("h1", "select"))):
        page = browsing.page(path, address=land[1], width=390, height=844)
        picture = page.locator("figure .stage").bounding_box()["y"]
        assert all(page.locator(f"main {one}").first.bounding_box()["y"] < picture for one in before)


def test_without_the_scripts_that_the_page_names_all_of_it_is_shown(browsing, land):
    page = browsing.page("/about", address=land[1])
    page.context.route("**/built/app-*.js", lambda route: route.abort())
    page.goto(f"{land[1]}{COUNTRY[0]}")
    page.wait_for_selector("figure[data-view=map] li a")
    page.goto(f"{land[1]}/query")
    page.wait_for_selector("textarea[name=query]")
    browsing.faults.clear()  # the browser reports the scripts that did not come


def test_the_first_page_is_small_and_asks_nothing_of_others(browsing, town):
    page = browsing.page("/", address=town[1])
    page.wait_for_load_state("networkidle")
    sent = page.evaluate("""[...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")]
        .filter((one) => !one.name.includes(".woff2")).map((one) => [one.name, one.encodedBodySize])""")
    assert 0 < sum(size for _, size in sent) < 60_000, sent


def test_what_stands_below_a_picture_is_whole_and_nothing_overlaps(browsing, land):
    page = browsing.page(HOTELS_MAP.replace("class=", "was="), address=land[1], width=390, height=844, language="zh")
    page.wait_for_selector("figure[data-view=map] .legend li")
    legend, under = page.locator("figure[data-view=map] .legend"), page.locator("figure[data-view=map] .under-figure")
    assert legend.bounding_box()["height"] > 34, "in several lines"
    assert legend.evaluate("node => node.scrollHeight - node.clientHeight") == 0
    assert under.bounding_box()["y"] >= legend.bounding_box()["y"] + legend.bounding_box()["height"]
    page = browsing.page("/property/travel:roomCount", address=land[1])
    page.wait_for_selector("figure[data-view=chart] svg text")
    ticks = page.locator("figure[data-view=chart] svg text").all_text_contents()
    assert not [text for text in ticks if re.fullmatch(r"\d+\.\d*", text)], "nothing is there half"
    query, embed = page.locator("figure[data-view=chart] .under-figure > *").all()
    figure = page.locator("figure[data-view=chart]").bounding_box()
    assert query.bounding_box()["x"] == figure["x"]
    assert embed.bounding_box()["x"] > figure["x"] + figure["width"] / 2
    page = browsing.page("/ask?question=Which+hotels+are+in+Wuzhen%3F", address=land[1], width=1280)
    page.wait_for_selector(".answer")
    assert page.locator("figure.rows .scroll").evaluate("node => node.scrollWidth - node.clientWidth") == 0


def test_inputs_of_forms_look_alike_and_buttons_stand_apart_from_what_follows(browsing, studies):
    page = browsing.page(f"/edit?iri={browsing.kg.entity('Lakeside Inn').value}")
    look = "node => [getComputedStyle(node).borderTopColor, getComputedStyle(node).height]"
    assert page.locator(".edit input[type=text]").first.evaluate(look) == page.locator(".edit select").first.evaluate(
        look
    )
    page = browsing.page("/evaluation", address=studies[1])
    button, shell = page.locator(".empty form button").bounding_box(), page.locator(".empty .shell").bounding_box()
    assert shell["y"] - button["y"] - button["height"] >= 12


def test_a_server_that_goes_away_before_it_answers_is_said_to_and_asked_again(browsing, town):
    page = browsing.page("/", address=town[1])
    page.context.route("**/ask?*", lambda route: route.abort() if route.request.method == "HEAD" else route.continue_())
    page.context.route("**/api/ask/events*", lambda route: route.abort())
    page.goto(f"{town[1]}{ASKED}")
    page.wait_for_selector("text=The server is not responding.")
    browsing.faults.clear()  # the browser reports what did not come
    assert page.locator("input[name=question]").first.input_value() == "Which hotels are there?"
    page.context.unroute("**/api/ask/events*")
    page.locator("text=Ask again").click()
    page.wait_for_selector(".answer")


@LOOKS
def test_the_ontology_page_draws_which_classes_lead_to_which(browsing, land, width, dark, language):
    kg, address, _ = land
    page = browsing.page("/ontology", address=address, width=width, dark=dark, language=language)
    until(page, "!!document.querySelector('figure[data-view=graph] canvas')")
    figure = page.locator("figure[data-view=graph]")
    figure.locator("summary", has_text="以列表显示" if language == "zh" else "Show as list").click()
    within = "SELECT (COUNT(*) AS ?n) WHERE { ?h a travel:Hotel ; geo:locatedIn ?t . ?t a geo:Township }"
    number = kg.query(within).rows[0][0].value
    hotel, town = ("酒店", "镇") if language == "zh" else ("hotel", "township")
    told = [re.sub(r"\s+", " ", text) for text in figure.locator(".twin li").all_inner_texts()]
    tie = next(text for text in told if text.startswith(f"{hotel} →") and text.endswith(f"→ {town}"))
    assert number in re.findall(r"\d+", tie), (number, told)
    axe(page)
    shot(page, f"ontology-{width}-{language}")
    figure.locator(".twin li a").first.click()
    page.wait_for_selector("article.term")
    plain = browsing.page("/ontology", address=address, scripts=False)
    assert plain.locator("figure[data-view=graph] li").count() == len(told), "without scripts it is a list"


def test_the_instances_of_a_class_come_before_its_properties_and_sources_begin_at_their_first_page(browsing, land):
    page = browsing.page(f"/resource?iri={HOTEL}", address=land[1])
    assert page.locator("#instances").bounding_box()["y"] < page.locator("#properties").bounding_box()["y"]
    page.evaluate("document.body.append(Object.assign(document.createElement('button'), {id: 'off', disabled: true}))")
    look = "getComputedStyle(document.querySelector('#off'))"
    assert page.evaluate(f"{look}.cursor") == "default"
    assert float(page.evaluate(f"{look}.opacity")) < 1


@pytest.mark.parametrize(
    ("where", "path"),
    [
        *((None, ASKED), (None, "/documents"), pytest.param("town", "/", marks=pytest.mark.slow)),
        *(pytest.param(None, path, marks=pytest.mark.slow) for path in ("/evaluation", "/api", "/about", "/export")),
        *(pytest.param("town", path, marks=pytest.mark.slow) for path in ("/search?q=inn", "DOCUMENT", "APART")),
        *(pytest.param("town", path, marks=pytest.mark.slow) for path in ("/communities", "COMMUNITY")),
    ],
)
def test_a_page_works_without_scripts(browsing, request, where, path):
    page = seen(browsing, request, where, path, scripts=False, width=390)
    assert page.locator("h1").count() == 1
    if path == "/documents":
        assert page.locator("input[type=file]").is_visible()
    if path == ASKED:
        assert page.locator("figure.rows table").is_visible()
    if path == "/":
        page.locator(".askbox input").fill("Which hotels are there?")
        page.locator(".askbox button").click()
        assert "Lakeside Inn" in page.locator(".answer").inner_text()
        page.goto(f"{request.getfixturevalue('town')[1]}/query")
        page.locator("textarea[name=query]").fill(QUERY)
        page.locator("button[type=submit]").first.click()
        assert "Lakeside Inn" in page.locator(".result table").inner_text()
        page.goto(f"{request.getfixturevalue('town')[1]}/export")
        assert page.locator("form button[type=submit]").count() >= 1


# answers and documents


def test_an_answer_opens_its_passages_and_is_kept_judged_and_asked_on(browsing):
    page = browsing.page(ASKED)
    assert page.locator("figure.rows svg").count() >= 1
    page.locator(".answer .mark").first.click()
    sources = page.locator("#source-1, #source-2, #source-3").all_inner_texts()
    assert page.locator(".cited blockquote").inner_text() in sources[0]
    axe(page)
    page.keyboard.press("Escape")
    assert page.locator(".cited").count() == 0
    page.get_by_role("button", name="Save a permanent link").click()
    page.wait_for_url(re.compile(r"/ask/[0-9a-f]{16}$"))
    assert "shown unchanged" in page.content()
    page.get_by_role("button", name="Yes").click()
    page.wait_for_url(re.compile(r"said=right"))
    page.wait_for_selector("html[data-ready=yes]", state="attached")  # what stands below a figure is hidden until then
    assert "worked example" in page.locator("#said").inner_text()
    page.locator(".follow input[type=text]").fill("How many are there?")
    page.locator(".follow button").click()
    page.wait_for_url(re.compile(r"after="))


@pytest.mark.slow
def test_files_are_added_watched_and_their_statements_judged(browsing, tmp_path):
    with KnowledgeGraph.create(tmp_path / "kg", ontology="travel") as kg:
        page = browsing.page("/documents", address=browsing.serve(kg))
        sent = tmp_path / "notes <img src=x onerror=alert(1)>.txt"
        hotels = "The Lakeside Inn has 24 rooms. The Canal Hotel has 12 rooms."
        sent.write_text(f"Wuzhen is a water town. {hotels}\nOur hotel {EVIL} has 3 rooms.\n", encoding="utf-8")
        page.locator("#files").set_input_files(str(sent))
        page.wait_for_selector("#shelf .state.processed", timeout=60_000)
        page.wait_for_selector("[data-open=no]", state="attached", timeout=60_000)  # linked and indexed
        axe(page)
        page.locator("#shelf tbody a").first.click()
        page.wait_for_selector("html[data-ready=yes]", state="attached")
        page.get_by_role("button", name=re.compile(r"^Reject: .* 24$")).click()
        page.wait_for_selector(".read > li.rejected")
        page.get_by_role("link", name=re.compile(r"^Edit: .* 12$")).click()  # by name: its hour is no room
        page.locator("#correcting input[name=object]").fill("13")
        page.get_by_role("button", name="Save", exact=True).click()
        page.wait_for_selector(".read > li.corrected")
        axe(page)
        assert {row[0].value for row in kg.query("SELECT ?n WHERE { ?h travel:roomCount ?n }").rows} >= {"13"}
        assert page.evaluate("document.querySelectorAll('main img, main script:not([type])').length") == 0


@pytest.mark.slow
def test_a_document_kept_apart_is_taken_in_by_its_button(browsing, tmp_path):
    (tmp_path / "hotels.csv").write_text(BAD, encoding="utf-8")
    with KnowledgeGraph.create(tmp_path / "kg", ontology="travel") as kg:
        kg.workspace.__dict__["embedder"] = HashEmbedder()
        list(kg.add(tmp_path / "hotels.csv", policy="quarantine"))
        page = browsing.page("/documents", address=browsing.serve(kg))
        page.locator("form[action$='/release'] button").first.click()
        page.wait_for_selector("#shelf .state.processed", timeout=60_000)
        page.wait_for_selector("[data-open=no]", state="attached", timeout=60_000)


@LOOKS
def test_a_question_being_answered_shows_its_steps_and_is_given_up(browsing, town, monkeypatch, width, dark, language):
    kg, address, _ = town
    ended = threading.Event()

    def slowly(*_, **__):
        with suppress(QuestionGivenUpError):
            while True:
                tell(AnswerStage.LINKED, "hotel · rooms", number=2)
                time.sleep(0.05)
        ended.set()
        raise QuestionGivenUpError

    monkeypatch.setattr(kg, "ask", slowly)
    page = browsing.page("/", address=address, width=width, dark=dark, language=language)
    page.locator(".askbox input").fill("Which hotels are there?")
    page.locator(".askbox button").click()
    page.wait_for_selector(".steps.live li")
    axe(page)
    page.keyboard.press("Escape")
    assert ended.wait(10)


@SLOW_LOOKS
def test_a_run_is_shown_beside_another(browsing, width, dark, language):
    names = []
    for number, exact in enumerate((0.5, 0.75)):
        estimate = {"value": exact, "low": exact - 0.2, "high": exact + 0.2, "n": 4}
        report = {"exact": estimate, "f1": estimate, "types": {"list": {"exact": estimate, "f1": estimate}}}
        first = {"id": "q", "question": f"{EVIL}?", "answers": [EVIL], "exact": float(number), "query": "SELECT ?x {}"}
        headline = Headline("exact", exact, exact - 0.2, exact + 0.2, 4)
        facts = RunFacts("questions", "built-in", "", 4, 1.0, headline=headline)
        names.append(kept(browsing.kg.folder, report=report, results=[first], facts=facts).name)
    page = browsing.page(f"/evaluation/{names[0]}?against={names[1]}", width=width, dark=dark, language=language)
    page.locator("details.failure summary").first.click()
    axe(page)
    shot(page, f"run-{width}")
    assert page.evaluate("document.querySelectorAll('main script:not([type])').length") == 0
    listed = browsing.page("/evaluation", width=width, dark=dark, language=language)
    until(listed, "document.querySelectorAll('figure svg').length > 0")
    axe(listed)


@pytest.mark.slow
def test_communities_lead_from_the_tree_to_a_report_and_its_members(browsing, town):
    page = browsing.page("/communities", address=town[1])
    page.locator(".branches a").first.click()
    page.wait_for_selector(".report")
    until(page, "document.querySelectorAll('figure canvas').length > 0")
    page.locator("table tbody a").first.click()
    page.wait_for_selector("article.entity")


def test_a_course_is_a_goal_by_its_name_and_what_may_be_meant_is_a_link_while_the_form_stays(browsing, studies):
    page = browsing.page("/courses", address=studies[1])
    page.locator("input[name=goal]").fill("Algebra")
    page.keyboard.press("Enter")
    page.wait_for_url("**/courses/AA1001**")
    page = browsing.page("/courses?goal=Sownd&known=AA1001", address=studies[1])
    assert page.locator("input[name=goal]").input_value() == "Sownd"
    assert page.locator("input[name=known][value=AA1001]").is_checked()
    page.locator("main a[href*='goal=Sound']").first.click()
    page.wait_for_url("**/courses/DD3001**")


def test_an_empty_page_of_communities_offers_the_button_that_fills_it(browsing, tmp_path):
    with KnowledgeGraph.create(tmp_path / "kg", ontology="academic") as kg:
        kg.workspace.__dict__["embedder"] = HashEmbedder()
        kg.dataset.state([*university(), *field()])
        page = browsing.page("/communities", address=browsing.serve(kg))
        axe(page)
        page.get_by_role("button", name="Find communities").click()
        page.wait_for_selector(".branches a", timeout=60_000)  # by itself, once they are found


def test_an_empty_page_of_courses_offers_the_samples_of_courses_whatever_else_the_workspace_is_of(
    browsing, tmp_path, monkeypatch
):
    samples = tmp_path / "examples"
    for name in ("travel", "academic"):
        (samples / name).mkdir(parents=True)
    (samples / "travel" / "inns.txt").write_text(NOTE, encoding="utf-8")
    for name in ("dd2421.html", "dd2424.html"):
        shutil.copy(Path(__file__).parents[1] / "examples" / "academic" / "courses" / name, samples / "academic")
    monkeypatch.setattr("kgplatform.server.pages.documents.resources.examples", lambda: samples)
    with KnowledgeGraph.create(tmp_path / "kg", ontology=["travel", "academic"]) as kg:
        kg.workspace.__dict__["embedder"] = HashEmbedder()
        address = browsing.serve(kg)
        page = browsing.page("/courses", address=address)
        axe(page)
        page.get_by_role("button", name="Load the sample").click()
        page.wait_for_selector(".job-line, .outcome", timeout=120_000)
        page.wait_for_selector(".outcome", timeout=120_000)
        assert "2 documents added" in page.locator(".outcome").inner_text()
        page.goto(f"{address}/courses")
        page.wait_for_selector("main a[href*='DD2424']", state="attached")


def test_an_empty_page_of_evaluation_offers_the_button_that_fills_it(browsing, tmp_path):
    with KnowledgeGraph.create(tmp_path / "kg", ontology="academic") as kg:
        kg.workspace.__dict__["embedder"] = HashEmbedder()
        kg.dataset.state([*university(), *field()])
        page = browsing.page("/evaluation", address=browsing.serve(kg))
        axe(page)
        page.get_by_role("button", name="Run a small evaluation").click()
        page.wait_for_selector("table tbody a", timeout=60_000)  # by itself, once it is done
        page.locator("table tbody a").first.click()
        page.wait_for_selector(".headline-number")
        assert len(runs(kg.folder)) == 1
        assert runs(kg.folder)[0].questions >= 4


def test_an_evaluation_of_a_graph_that_gives_no_questions_says_so(browsing, tmp_path):
    with KnowledgeGraph.create(tmp_path / "kg", ontology="academic") as kg:
        kg.workspace.__dict__["embedder"] = HashEmbedder()
        kg.update("INSERT DATA { <urn:x:a> <urn:x:b> <urn:x:c> }")
        page = browsing.page("/evaluation", address=browsing.serve(kg))
        page.get_by_role("button", name="Run a small evaluation").click()
        page.wait_for_selector(".trouble", timeout=60_000)
        assert not runs(kg.folder)


# Explore and the map


def drawn(page):
    return page.locator("[data-of]").count()


@pytest.mark.slow
def test_exploring_adds_pins_hides_and_undoes(browsing, land):
    page = browsing.page(f"{WUZHEN}&bare=1", address=land[1])
    assert drawn(page) == 1
    page.get_by_role("link", name="Add 25 by located in").first.click()
    until(page, "document.querySelectorAll('[data-of]').length === 26")
    assert "expand=" in page.url
    page.get_by_role("link", name="Add the next 25 by located in").first.click()
    until(page, "document.querySelectorAll('[data-of]').length === 51")
    page.get_by_role("link", name="Hide Hotel 00").click()
    until(page, "![...document.querySelectorAll('[data-of]')].some(a => a.dataset.of.endsWith('hotel-0'))")
    page.get_by_role("button", name="Undo").click()
    until(page, "[...document.querySelectorAll('[data-of]')].some(a => a.dataset.of.endsWith('hotel-0'))")
    axe(page)
    assert drawn(browsing.page(page.url.removeprefix(land[1]), address=land[1])) == drawn(page)
    page = browsing.page(f"/explore?focus={thing('hotel-2').value}", address=land[1])
    page.get_by_text("Find a path").click()
    page.locator("#to").fill("Zhejiang")
    page.get_by_role("button", name="Find", exact=True).click()
    until(page, "document.querySelectorAll('.way a').length === 5")
    assert "path=" in page.url
    axe(page)


def test_a_click_expands_and_the_address_holds_the_scene(browsing, land):
    context = browsing.browser.new_context(reduced_motion="no-preference", viewport={"width": 1200, "height": 800})
    page = context.new_page()
    try:
        page.goto(f"{land[1]}/explore?focus=kg:entity/hotel-2")
        page.wait_for_selector("html[data-ready=yes]", state="attached")
        first = drawn(page)
        assert first > 1  # what is next to it is there before anything is clicked
        assert page.locator(".legend li").count() >= 2
        page.evaluate(_WATCH)
        page.evaluate("window.tap('wuzhen')")
        until(page, f"document.querySelectorAll('[data-of]').length > {first}")
        until(page, "window.moved === true")
        until(page, "window.still()")
        scene, grown = page.url, drawn(page)
        assert "expand=in" in scene
        page.go_back()
        until(page, f"document.querySelectorAll('[data-of]').length === {first}")
        page.go_forward()
        until(page, f"document.querySelectorAll('[data-of]').length === {grown}")
        assert page.url == scene
    finally:
        context.close()
    again = browsing.page(scene.removeprefix(land[1]), address=land[1])
    assert drawn(again) == grown
    again.evaluate(_WATCH)
    again.get_by_role("link", name="Expand China").focus()  # the same by keyboard, and without motion where not wanted
    again.keyboard.press("Enter")
    until(again, "window.moved === false")
    assert drawn(again) > grown
    axe(again)


_WATCH = """() => {
  const figure = document.querySelector('#picture');
  figure.addEventListener('kgp:view', (event) => {
    window.cy = event.detail.api.cy;
    window.moved = window.cy.elements().some((one) => one.animated());
  });
  window.still = () => !window.cy.elements().some((one) => one.animated());
  window.tap = (name) => figure.dispatchEvent(new CustomEvent('kgp:pick', { cancelable: true, detail: {
    id: [...document.querySelectorAll('[data-of]')].find((one) => one.dataset.of.endsWith(name)).dataset.of } }));
}"""


MOVING = """async () => {
  const cy = document.querySelector(".canvas")._cyreg.cy, gaps = [], from = performance.now();
  let last = from;
  while (last - from < 1500) {
    cy.panBy({ x: 2, y: 1 });
    cy.zoom(cy.zoom() * (gaps.length % 20 < 10 ? 1.02 : 1 / 1.02));
    cy.nodes()[gaps.length % cy.nodes().length].shift({ x: 3, y: 3 });
    await new Promise(requestAnimationFrame);
    gaps.push(performance.now() - last);
    last = performance.now();
  }
  return [cy.nodes().length, gaps.sort((a, b) => a - b)];
}"""
"""Moves, enlarges and drags for a while: how many nodes, and the milliseconds from frame to frame."""


@pytest.mark.slow
def test_three_hundred_things_stay_fluid_while_they_are_moved(browsing, tmp_path):
    inns = " ".join(f"id:inn{n} a travel:Hotel ; rdfs:label 'Inn {n}' ; geo:locatedIn id:town ." for n in range(320))
    with KnowledgeGraph.create(tmp_path / "kg", ontology="travel") as kg:
        kg.workspace.__dict__["embedder"] = HashEmbedder()
        kg.update(f"INSERT DATA {{ id:town a geo:Township ; rdfs:label 'Wuzhen' . {inns} }}")
        address = browsing.serve(kg)
        page = browsing.page("/explore?focus=id:town&expand=in 300 geo:locatedIn id:town", address=address)
        page.wait_for_selector(".canvas canvas")
        told = [page.evaluate(MOVING) for _ in range(3)]
    assert {nodes for nodes, _ in told} == {300}
    assert min(gaps[len(gaps) // 2] for _, gaps in told) < 50
    assert min(gaps[-1] for _, gaps in told) < 300


@pytest.mark.slow
def test_the_picture_of_an_exploration_is_saved_as_svg_and_png(browsing, land):
    page = browsing.page(EXPLORED, address=land[1])
    for selector, beginning in (("[data-svg]", b"<svg"), ("[data-png]", b"\x89PNG")):
        page.locator(".explore-bar summary").click()
        with page.expect_download() as saved:
            page.locator(selector).click()
        content = saved.value.path().read_bytes()
        assert content.startswith(beginning)
        assert b"<script" not in content
        page.keyboard.press("Escape")


@pytest.mark.slow
def test_the_list_follows_the_frame_of_the_map(browsing, land):
    page = browsing.page(HOTELS_MAP, address=land[1])
    before = page.locator(".spots li[data-id]").count()
    for _ in range(3):
        page.locator(".leaflet-control-zoom-in").click()
    fewer = f"document.querySelectorAll('.spots li[data-id]').length < {before}"
    until(page, f"new URL(location.href).searchParams.get('bbox') && {fewer}")
    again = browsing.page(page.url.removeprefix(land[1]), address=land[1])
    assert again.locator(".spots li[data-id]").count() == page.locator(".spots li[data-id]").count()


def test_the_tree_shows_places_under_places_and_nothing_else(browsing, tmp_path):
    with country(tmp_path) as kg:
        bridge = "id:bridge a travel:Bridge ; rdfs:label 'Long Bridge'@en"
        kg.update(f"INSERT DATA {{ {bridge} . id:stall a travel:Hotel ; geo:locatedIn id:bridge }}")
        kg.build()
        page = browsing.page("/map", address=browsing.serve(kg))
        tree = page.locator(".levels:not(.beside)").all_inner_texts()
        assert "Asia" in tree[0]
        assert "Long Bridge" not in "".join(tree)
        assert "Long Bridge" in page.locator(".levels.beside").text_content()


def test_a_map_has_a_ground_by_region_with_names_and_a_scale(browsing, land):
    page = browsing.page("/map?bbox=-8,40,20,56", address=land[1])
    asked = (
        "performance.getEntriesByType('resource').map(one => one.name.match(/-?\\d+_-?\\d+(?=-)/)?.[0]).filter(Boolean)"
    )
    until(page, "document.querySelectorAll('path.coast').length >= 2")
    assert set(page.evaluate(asked)) == {"-30_30", "0_30"}  # what is in view, and nothing else
    for name in ("sea", "land", "lake", "river", "coast", "border"):
        assert page.evaluate(
            f"Math.max(...[...document.querySelectorAll('path.{name}')].map(p => p.getAttribute('d').length)) > 20"
        ), name
    assert "London" in page.locator(".map-name").all_inner_texts()
    assert re.fullmatch(r"\d+ km", page.locator(".leaflet-control-scale-line").inner_text())
    assert page.evaluate(_FILLED, "Madrid")
    assert not page.evaluate(_FILLED, "")  # at the left edge, in the Atlantic
    axe(page)
    far = browsing.page("/map?bbox=-150,-50,150,70", address=land[1])
    assert far.evaluate(asked) == []
    assert "Istanbul" in far.locator(".map-name").all_inner_texts()


_FILLED = """city => {
  const named = [...document.querySelectorAll('.map-name')].find((one) => one.textContent === city);
  const view = document.querySelector('.map-canvas').getBoundingClientRect(), at = named?.getBoundingClientRect();
  const point = at ? new DOMPoint(at.x - 6, at.y) : new DOMPoint(view.x + 4, view.y + view.height / 2);
  const land = [...document.querySelectorAll('path.land:not(.far)')];
  return land.some((path) => path.isPointInFill(point.matrixTransform(path.getScreenCTM().inverse())));
}"""


def test_what_is_at_one_spot_opens_as_a_list_on_click_and_by_keyboard(browsing, land):
    page = browsing.page("/map?bbox=120.3,30.6,120.8,30.9", address=land[1])
    names = ("Asia", "China", "Zhejiang")  # which are all in the middle of the same things
    page.locator(".cluster[aria-label*=Asia]").first.wait_for()
    for _ in range(8):
        if page.locator(".here").count():
            break
        page.locator(".cluster[aria-label*=Asia]").first.focus()
        page.keyboard.press("Enter")
    assert set(names) <= set(page.locator(".here a").all_inner_texts())
    assert "approximate position" in page.locator(".legend").inner_text()
    axe(page)


def test_the_passage_of_a_statement_opens_on_hover_and_by_keyboard(browsing):
    entity = browsing.kg.entity("Lakeside Inn").value
    page = browsing.page(f"/resource?iri={entity}")
    prov = page.locator("details.prov").first
    prov.hover()
    assert page.locator(".prov-card").first.is_visible()
    axe(page)
    page.keyboard.press("Tab")
    prov.locator("summary").focus()
    page.keyboard.press("Escape")
    plain = browsing.page(f"/resource?iri={entity}", scripts=False)
    plain.locator("details.prov > summary").first.click()
    assert plain.locator(".prov-card").first.is_visible()


@pytest.mark.slow
def test_without_scripts_explore_map_and_search_work_by_links_and_forms(browsing, land):
    page = browsing.page("/explore", address=land[1], scripts=False)
    page.locator(".askbox input").fill("Wuzhen")
    page.locator(".askbox button").click()
    page.get_by_role("link", name="by located in").first.click()
    assert drawn(page) > 26
    page = browsing.page(HOTELS_MAP, address=land[1], scripts=False)
    page.locator(".levels a").first.click()
    page.locator(".spots li").nth(10).wait_for()
    page = browsing.page("/ontology", address=land[1], scripts=False)
    page.locator("input.wide-filter").fill("旅馆酒店")
    page.locator("form[action='/ontology'] button").click()
    assert page.locator("[role=status]").count() == 1


@pytest.mark.slow
@pytest.mark.parametrize("number", range(len(EVILS)))
@pytest.mark.parametrize(
    "where", ["/id/entity/evil-{n}", "/explore?focus=kg:entity/evil-{n}&expand=out 25 geo:near kg:entity/evil-{n}"]
)
def test_a_hostile_name_stays_text(browsing, land, where, number):
    page = browsing.page(where.format(n=number), address=land[1], width=390)
    assert page.evaluate("document.querySelectorAll('img[onerror], main script:not([type])').length") == 0
    assert EVILS[number].strip()[:50] in page.locator("main").inner_text().replace("\u00a0", " ")
    axe(page)


@pytest.mark.slow
def test_tiles_and_outlines_come_only_where_the_settings_name_them(browsing, land):
    kg = land[0]
    line = '{"type": "LineString", "coordinates": [[118, 28], [122, 32]]}'
    feature = f'{{"type": "Feature", "properties": {{}}, "geometry": {line}}}'
    collection = f'{{"type": "FeatureCollection", "features": [{feature}]}}'
    (kg.folder / "own.geojson").write_text(collection, encoding="utf-8")
    before = kg.settings.map
    object.__setattr__(kg.settings, "map", MapSettings(boundaries="own.geojson"))
    try:
        page = browsing.page(HOTELS_MAP, address=browsing.serve(kg))
        assert page.locator("path.frontier").count() == 1
        tiled = replace(before, tiles="https://tiles.example.org/{z}/{x}/{y}.png")
        object.__setattr__(kg.settings, "map", tiled)
        policy = create_app(kg).test_client().get("/map").headers["Content-Security-Policy"]
        assert "https://tiles.example.org" in policy.split("img-src")[1].split(";")[0]
    finally:
        object.__setattr__(kg.settings, "map", before)
