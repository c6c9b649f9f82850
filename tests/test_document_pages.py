"""The pages of documents: adding, watching, judging statements; what is said holds, and outlives reading again."""

import io
import json
import re
import time
from copy import copy

import pytest
from pyoxigraph import NamedNode
from small_graph import small_graph

from kgplatform.documents.progress import RunState
from kgplatform.documents.records import State
from kgplatform.extraction import builtin
from kgplatform.extraction.sentence_network import Thresholds, carried_network
from kgplatform.graph import KnowledgeGraph
from kgplatform.server.access import Access
from kgplatform.server.app import JOBS, create_app
from kgplatform.server.jobs import Phase
from kgplatform.server.pages.documents import file_name
from kgplatform.settings import ServerSettings
from kgplatform.types import Document
from kgplatform.vocab import DCTERMS, RDF, graph_iri
from kgplatform.workspace.review import judged_examples

TEXT = "Wuzhen is a water town. The Lakeside Inn has 24 rooms. The Canal Hotel has 12 rooms.\n"
EVIL = '"><img src=x onerror=alert(1)>'


@pytest.fixture
def kg(tmp_path):
    with KnowledgeGraph.create(tmp_path / "kg", ontology="travel") as made:
        yield made


@pytest.fixture
def client(kg):
    return create_app(kg, access=Access.on("127.0.0.1")).test_client()


def sent(client, **files):
    data = {"files": [(io.BytesIO(text.encode()), name.replace("_", ".")) for name, text in files.items()]}
    return client.post("/documents", data=data, content_type="multipart/form-data")


def inns(count):
    return {f"note{number}_txt": f"The Inn {number} has {number} rooms.\n" for number in range(10, 10 + count)}


def settled(client):
    """The state of the work when it is over."""
    end = time.monotonic() + 60
    while (record := client.get("/api/jobs").get_json())["phase"] != Phase.IDLE.value:
        assert time.monotonic() < end, record
        time.sleep(0.02)
    return dict(record)


def added(client, kg, text=TEXT):
    assert sent(client, notes_txt=text).status_code == 303
    settled(client)
    return kg.registry.summaries()[0].iri.value.rpartition("/")[2]


def key_of(client, name, words):
    """The key of the first statement on the page whose line has the words."""
    page = client.get(f"/documents/{name}").get_data(as_text=True)
    for key, line in re.findall(r'id="statement-(\w+)"(.*?)</li>', page, re.DOTALL):
        if words in re.sub(r"<[^>]+>", "", line):
            return str(key)
    raise AssertionError(f"{words!r} is not on the page")


def judged(client, name, key, judgement, **fields):
    return client.post(f"/documents/{name}/statements/{key}", data={"judgement": judgement, **fields})


def rooms(kg):
    return {row[0].value for row in kg.query("SELECT ?n WHERE { ?h travel:roomCount ?n }").rows}


def test_files_that_are_sent_are_read_and_listed_with_their_states_and_replace_earlier_ones(client, kg):
    assert sent(client, notes_txt=TEXT, broken_pdf="this is no pdf").status_code == 303
    reply = client.get("/api/jobs/events", headers={"Accept-Encoding": "gzip"})
    assert "Content-Encoding" not in reply.headers
    events = reply.text
    told = [json.loads(line.removeprefix("data: ")) for line in events.splitlines() if line.startswith("data: ")]
    assert events.rstrip().rpartition("event: ")[2].startswith("end")
    assert told[-1]["done"] == told[-1]["total"] == 2
    assert [item["stage"] for item in told[-1]["stages"]] == ["read", "split", "extract", "link", "check", "load"]
    record = settled(client)
    assert record["state"] == RunState.DONE.value
    assert record["counts"] == {"failed": 1, "processed": 1}
    assert (kg.folder / "uploads" / "notes.txt").read_text() == TEXT
    page = client.get("/documents?state=failed").text
    assert [words in page for words in ("broken.pdf", "Failed: Read", "notes.txt")] == [True, True, False]
    assert client.get("/documents?format=csv").text.count("\r\n") == 3
    assert rooms(kg) == {"24", "12"}
    added(client, kg, "The Lakeside Inn has 30 rooms.\n")
    assert rooms(kg) == {"30"}


def test_the_button_that_retries_counts_what_failed_alone(client, kg, monkeypatch):
    added(client, kg, "The Lakeside Inn has 30 rooms.\n")
    monkeypatch.setattr(type(kg.registry), "counts", lambda _: {State.PENDING: 1, State.FAILED: 1})
    assert "Retry 1 failed" in client.get("/documents").text


def test_work_can_be_paused_resumed_and_cancelled_and_the_rest_read_later(client, kg):
    for action, status in (("pause", 409), ("burn", 400)):
        assert client.post(f"/api/jobs/{action}").status_code == status
    sent(client, **inns(12))
    assert client.post("/api/jobs/pause").status_code == 200
    end = time.monotonic() + 60
    while (record := client.get("/api/jobs").get_json())["state"] != "paused" or record["current"]:
        assert time.monotonic() < end
        time.sleep(0.02)
    assert record["done"] < 12
    assert "Resume" in client.get("/documents").text
    assert client.post("/documents/work", data={"action": "cancel"}).status_code == 303
    record = settled(client)
    assert record["state"] == RunState.STOPPED.value
    assert record["counts"]["pending"] > 0
    client.post("/documents/work", data={"action": "retry"})
    assert settled(client)["counts"] == {"processed": 12}


@pytest.mark.slow
def test_a_pause_survives_the_end_of_the_process(tmp_path):
    with KnowledgeGraph.create(tmp_path / "kg", ontology="travel") as kg:
        app = create_app(kg, access=Access.on("127.0.0.1"))
        client = app.test_client()
        sent(client, **inns(30))
        client.post("/api/jobs/pause")
        app.extensions[JOBS].stop()
    with KnowledgeGraph.open(tmp_path / "kg") as kg:
        client = create_app(kg, access=Access.on("127.0.0.1")).test_client()
        record = client.get("/api/jobs").get_json()
        assert record["state"] in ("paused", "stopped", "interrupted")
        assert record["phase"] == "idle"
        client.post("/api/jobs/resume")
        assert settled(client)["counts"] == {"processed": 30}


def test_too_much_nothing_readers_and_pages_of_another_origin_are_refused(tmp_path):
    kg = small_graph(tmp_path, server=ServerSettings(max_upload_mb=1))
    client = create_app(kg, access=Access.on("127.0.0.1")).test_client()
    body = b'--b\r\nContent-Disposition: form-data; name="files"; filename="a.txt"\r\n\r\n' + b"x" * 1_100_000
    reply = client.post("/documents", data=body + b"\r\n--b--", content_type="multipart/form-data; boundary=b")
    assert reply.status_code == 413
    assert client.post("/documents", data={}, content_type="multipart/form-data").status_code == 400
    foreign = {"Origin": "https://elsewhere.example", "Sec-Fetch-Site": "cross-site"}
    data = {"files": [(io.BytesIO(b"x"), "a.txt")]}
    assert client.post("/documents", data=data, headers=foreign).status_code == 403
    reader = create_app(kg).test_client()
    name = next(s.iri.value.rpartition("/")[2] for s in kg.registry.summaries() if s.statements)
    assert sent(reader, notes_txt=TEXT).status_code == 403
    assert judged(reader, name, "0" * 16, "rejected").status_code == 403
    assert reader.post("/api/jobs/pause").status_code == 403
    page = reader.get("/documents").text
    assert 'type="file"' not in page
    assert "but not add documents" in page
    assert "judging" not in reader.get(f"/documents/{name}").text
    kg.close()


def test_a_name_that_was_sent_stays_inside_its_folder():
    given = ("../../etc/passwd.txt", "C:\\notes\\西湖.md", ".hidden.csv", "a\x00b.txt", "")
    assert [file_name(name) for name in given] == ["passwd.txt", "西湖.md", "hidden.csv", "a_b.txt", "document"]
    long = file_name("西" * 300 + ".md")
    assert long.endswith("西.md")
    assert len(long.encode()) < 255


def test_a_rejected_statement_does_not_hold_until_that_is_undone_though_the_document_is_read_again(client, kg):
    name = added(client, kg)
    key = key_of(client, name, "24")
    assert judged(client, name, key, "rejected").status_code == 303
    assert rooms(kg) == {"12"}
    assert kg.dataset.violations() == (frozenset(), frozenset())
    assert "rejected by" in client.get(f"/documents/{name}").text
    kg.remove(kg.registry.summaries()[0].iri.value)
    assert rooms(kg) == set()
    added(client, kg)
    assert rooms(kg) == {"12"}
    assert "rejected by" in client.get(f"/documents/{name}").text
    assert judged(client, name, key, "undo").status_code == 303
    assert rooms(kg) == {"24", "12"}
    assert not kg.registry.reviews()
    assert next(iter(kg.store.quads(graph=graph_iri(kg.base, "reviews"))), None) is None
    assert judged(client, name, key_of(client, name, "24"), "accepted").status_code == 303
    assert "confirmed by a local user" in client.get(f"/documents/{name}").text
    assert rooms(kg) == {"24", "12"}
    reply = client.get(f"/documents/{name}?format=text")
    assert reply.text == kg.registry.documents()[0].document.text
    assert "attachment" in reply.headers["Content-Disposition"]
    assert 'id="line" class="asked"' in client.get(f"/documents/{name}?line=1").text


UNSURE = "The Canal Hotel is quiet. It rained.\n\nBooking: 12 rooms. There are few tables.\n"


def test_a_possible_statement_is_accepted_by_a_click_with_its_passage_undone_and_kept_when_read_again(
    client, kg, monkeypatch
):
    network = carried_network()
    surest = copy(network)  # of nothing is it as sure as that
    surest.thresholds = surest.taught = Thresholds(1.0, network.thresholds.candidate, 1.0, 1.0)
    monkeypatch.setattr(builtin, "carried_network", lambda: surest)
    name = added(client, kg, UNSURE)
    assert rooms(kg) == set()
    text = client.get(f"/documents/{name}").text
    assert "Possible statements" in text
    key = re.search(r'id="possible-([0-9a-f]{16})"', text)[1]
    assert judged(client, name, key, "accepted").status_code == 303
    assert rooms(kg) == {"12"}
    text = client.get(f"/documents/{name}").text
    assert "stated by a local user" in text
    assert "Possible statements" not in text
    evidence = kg.show("Canal Hotel")
    assert "Booking: 12 rooms." in str(evidence)
    assert kg.dataset.violations() == (frozenset(), frozenset())
    examples = judged_examples(kg.registry, kg.workspace.projection)
    assert [[s, v] for s, _, v in examples[0]["triples"]] == [["Canal Hotel", "12"]]
    kg.remove(kg.registry.summaries()[0].iri.value)
    assert rooms(kg) == set()
    added(client, kg, UNSURE)
    assert rooms(kg) == {"12"}
    assert judged(client, name, key, "undo").status_code == 303
    assert rooms(kg) == set()
    assert f'id="possible-{key}"' in client.get(f"/documents/{name}").text
    assert kg.dataset.violations() == (frozenset(), frozenset())


@pytest.mark.slow
def test_judgements_are_carried_out_again_in_a_store_that_lost_them(client, kg):
    name = added(client, kg)
    judged(client, name, key_of(client, name, "24"), "corrected", **correction(kg, "Lakeside Inn", "25"))
    kg.update(f"CLEAR GRAPH <{kg.base}graph/reviews> ; CLEAR GRAPH <{kg.dataset.rejected.value}>")
    kg.build("link")
    assert rooms(kg) == {"25", "12"}


def correction(kg, subject, value, name="roomCount"):
    property_ = next(iri.value for iri in kg.ontology.properties if iri.value.endswith(f"#{name}"))
    return {"subject": subject, "predicate": property_, "object": value}


def test_a_correction_is_stated_by_a_person_with_its_passage_kept(client, kg):
    name = added(client, kg)
    key = key_of(client, name, "24")
    for subject, value, told in (
        ("No Such Inn", "25", "nothing is named"),
        ("Lakeside Inn", "many", "not a value of this"),
    ):
        reply = judged(client, name, key, "corrected", **correction(kg, subject, value))
        assert reply.status_code == 400
        assert told in reply.text
        assert f'value="{value}"' in reply.text
    assert rooms(kg) == {"24", "12"}
    reply = judged(client, name, key, "corrected", **correction(kg, "Lakeside Inn", "25"))
    assert reply.headers["Location"].endswith(f"#statement-{key}")
    assert rooms(kg) == {"25", "12"}
    values = [v for fact in kg.show("Lakeside Inn").facts for v in fact.values if v.value.label == "25"]
    assert values[0].evidence[0].quote == "The Lakeside Inn has 24 rooms."
    graph = graph_iri(kg.base, "reviews")
    said = {quad.object.value for quad in kg.store.quads(None, NamedNode(f"{DCTERMS}type"), None, graph)}
    assert said == {"corrected"}
    assert len({quad.object for quad in kg.store.quads(None, NamedNode(f"{RDF}object"), None, graph)}) == 2
    judged(client, name, key, "undo")
    assert rooms(kg) == {"24", "12"}


@pytest.mark.slow
def test_a_correction_may_name_what_was_not_known(client, kg):
    name = added(client, kg)
    fields = correction(kg, "Lakeside Inn", "Xizha 西栅", "near")
    assert judged(client, name, key_of(client, name, "24"), "corrected", **fields).status_code == 303
    assert kg.show("Lakeside Inn").facts
    assert kg.show("Xizha 西栅").types


@pytest.mark.slow
def test_what_documents_and_files_are_called_stays_text(client, kg):
    name = f"{EVIL[2:]}.md"  # a browser sends a quotation mark as %22
    text = f"# <script>alert(2)</script>\n\nThe {EVIL} Hotel has 12 rooms. The Lakeside Inn has 24 rooms.\n"
    client.post("/documents", data={"files": [(io.BytesIO(text.encode()), name)]}, content_type="multipart/form-data")
    settled(client)
    pages = ["/documents", "/", "/about", "/api", "/export", "/evaluation"]
    pages += [f"/documents/{item.iri.value.rpartition('/')[2]}" for item in kg.registry.summaries()]
    for address in pages:
        page = client.get(address).get_data(as_text=True)
        assert "<script>alert" not in page, address
        assert "<img src=x" not in page, address
    assert "&lt;img src=x" in client.get("/documents").get_data(as_text=True)


@pytest.mark.slow
def test_documents_are_found_by_their_names_over_all_pages(tmp_path):
    with KnowledgeGraph.create(tmp_path / "kg", ontology="travel") as kg:
        for number in range(130):
            name = f"note {number:03}.txt"
            iri = NamedNode(f"{kg.base}document/{number:016x}")
            kg.registry.enter(Document(iri, "Nothing.", f"Note {number}", "text/plain", name, f"{number:064x}", "en"))
        client = create_app(kg).test_client()
        page = client.get("/documents?q=NOTE+12").text
        assert re.findall(r">Note (\d+)</a>", page) == ["12", *map(str, range(120, 130))]
        assert len(re.findall(r">Note \d+</a>", client.get("/documents?page=2").text)) == 30
        found = client.get("/documents?q=note&page=2").text
        assert len(re.findall(r">Note \d+</a>", found)) == 30
        assert "q=note&amp;page=1" in found


def test_the_sample_is_read_by_a_button_where_there_is_one(tmp_path, monkeypatch):
    (tmp_path / "examples" / "travel").mkdir(parents=True)
    (tmp_path / "examples" / "travel" / "notes.txt").write_text(TEXT, encoding="utf-8")
    with KnowledgeGraph.create(tmp_path / "kg", ontology="travel") as kg:
        client = create_app(kg, access=Access.on("127.0.0.1")).test_client()
        monkeypatch.setattr("kgplatform.server.pages.documents.resources.examples", lambda: None)
        assert "/documents/sample" not in client.get("/").text
        assert client.post("/documents/sample").status_code == 404
        monkeypatch.setattr("kgplatform.server.pages.documents.resources.examples", lambda: tmp_path / "examples")
        assert 'action="/documents/sample"' in client.get("/").text
        assert client.post("/documents/sample").status_code == 303
        settled(client)
        assert [item.title for item in kg.registry.summaries()]
        assert "/documents/sample" not in client.get("/").text
