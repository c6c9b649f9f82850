"""The pages of documents: adding, watching, judging statements; what is said holds, and outlives reading again."""

from __future__ import annotations

import io
import json
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient
from pyoxigraph import Literal, NamedNode
from small_graph import small_graph

from kgplatform.config import ServerSettings
from kgplatform.documents.running import RunState
from kgplatform.graph import KnowledgeGraph
from kgplatform.types import Document
from kgplatform.vocab import DCTERMS, RDF, graph_iri
from kgplatform.web.app import JOBS, create_app
from kgplatform.web.jobs import Phase
from kgplatform.web.security import Access
from kgplatform.web.shelf import file_name

TEXT = "Wuzhen is a water town. The Lakeside Inn has 24 rooms. The Canal Hotel has 12 rooms.\n"
EVIL = '"><img src=x onerror=alert(1)>'


@pytest.fixture
def kg(tmp_path: Path) -> Iterator[KnowledgeGraph]:
    with KnowledgeGraph.create(tmp_path / "kg", ontology="travel") as made:
        yield made


@pytest.fixture
def client(kg: KnowledgeGraph) -> FlaskClient:
    return create_app(kg, access=Access.on("127.0.0.1")).test_client()


def sent(client: FlaskClient, **files: str) -> Any:
    data = {"files": [(io.BytesIO(text.encode()), name.replace("_", ".")) for name, text in files.items()]}
    return client.post("/documents", data=data, content_type="multipart/form-data")


def settled(client: FlaskClient) -> dict[str, Any]:
    """The state of the work when it is over."""
    end = time.monotonic() + 60
    while (record := client.get("/api/jobs").get_json())["phase"] != Phase.IDLE.value:
        assert time.monotonic() < end, record
        time.sleep(0.05)
    return dict(record)


def added(client: FlaskClient, kg: KnowledgeGraph, text: str = TEXT) -> str:
    assert sent(client, notes_txt=text).status_code == 303
    settled(client)
    return kg.registry.summaries()[0].iri.value.rpartition("/")[2]


def key_of(client: FlaskClient, name: str, words: str) -> str:
    """The key of the first statement on the page whose line has the words."""
    page = client.get(f"/documents/{name}").get_data(as_text=True)
    for key, line in re.findall(r'id="statement-(\w+)"(.*?)</li>', page, re.DOTALL):
        if words in re.sub(r"<[^>]+>", "", line):
            return str(key)
    raise AssertionError(f"{words!r} is not on the page")


def judged(client: FlaskClient, name: str, key: str, judgement: str, **fields: str) -> Any:
    return client.post(f"/documents/{name}/statements/{key}", data={"judgement": judgement, **fields})


def rooms(kg: KnowledgeGraph) -> set[str]:
    found = kg.query("SELECT ?n WHERE { ?h travel:roomCount ?n }")
    return {row[0].value for row in found.rows if isinstance(row[0], Literal)}


def test_files_that_are_sent_are_read_and_listed_with_their_states(client: FlaskClient, kg: KnowledgeGraph) -> None:
    assert sent(client, notes_txt=TEXT, broken_pdf="this is no pdf").status_code == 303
    record = settled(client)
    assert record["state"] == RunState.DONE.value
    assert record["counts"] == {"failed": 1, "processed": 1}
    assert (kg.folder / "uploads" / "notes.txt").read_text() == TEXT
    page = client.get("/documents?state=failed").get_data(as_text=True)
    assert "broken.pdf" in page
    assert "notes.txt" not in page
    assert "Failed: Read" in page
    assert client.get("/documents?format=csv").get_data(as_text=True).count("\r\n") == 3


def test_a_file_of_the_same_name_takes_the_place_of_the_earlier_one(client: FlaskClient, kg: KnowledgeGraph) -> None:
    added(client, kg)
    assert rooms(kg) == {"24", "12"}
    added(client, kg, "The Lakeside Inn has 30 rooms.\n")
    assert rooms(kg) == {"30"}


def test_events_tell_the_progress_and_end_with_the_work(client: FlaskClient) -> None:
    sent(client, notes_txt=TEXT)
    reply = client.get("/api/jobs/events", headers={"Accept-Encoding": "gzip"})
    assert "Content-Encoding" not in reply.headers
    events = reply.get_data(as_text=True)
    told = [json.loads(line.removeprefix("data: ")) for line in events.splitlines() if line.startswith("data: ")]
    assert events.rstrip().rpartition("event: ")[2].startswith("end")
    assert told[-1]["done"] == told[-1]["total"] == 1
    assert [item["stage"] for item in told[-1]["stages"]] == ["read", "split", "extract", "link", "check", "load"]


def test_work_can_be_paused_resumed_and_cancelled_and_the_rest_read_later(
    client: FlaskClient, kg: KnowledgeGraph
) -> None:
    files = {f"note{number}_txt": f"The Inn {number} has {number} rooms.\n" for number in range(10, 40)}
    sent(client, **files)
    assert client.post("/api/jobs/pause").status_code == 200
    end = time.monotonic() + 20
    while (record := client.get("/api/jobs").get_json())["state"] != "paused" or record["current"]:
        assert time.monotonic() < end
        time.sleep(0.02)
    assert record["done"] < 30
    assert "Resume" in client.get("/documents").get_data(as_text=True)
    assert client.post("/documents/work", data={"action": "cancel"}).status_code == 303
    record = settled(client)
    assert record["state"] == RunState.STOPPED.value
    waiting = record["counts"]["pending"]
    assert waiting > 0
    assert "Read the rest" in client.get("/documents").get_data(as_text=True)
    client.post("/documents/work", data={"action": "retry"})
    assert settled(client)["counts"] == {"processed": 30}


def test_a_pause_survives_the_end_of_the_process(tmp_path: Path) -> None:
    with KnowledgeGraph.create(tmp_path / "kg", ontology="travel") as kg:
        app = create_app(kg, access=Access.on("127.0.0.1"))
        client = app.test_client()
        sent(client, **{f"note{n}_txt": f"The Inn {n} has {n} rooms.\n" for n in range(10, 40)})
        client.post("/api/jobs/pause")
        app.extensions[JOBS].stop()
    with KnowledgeGraph.open(tmp_path / "kg") as kg:
        client = create_app(kg, access=Access.on("127.0.0.1")).test_client()
        record = client.get("/api/jobs").get_json()
        assert record["state"] in ("paused", "stopped", "interrupted")
        assert record["phase"] == "idle"
        client.post("/api/jobs/resume")
        assert settled(client)["counts"] == {"processed": 30}


def test_nothing_to_pause_is_said_and_unknown_actions_are_refused(client: FlaskClient) -> None:
    assert client.post("/api/jobs/pause").status_code == 409
    assert client.post("/api/jobs/burn").status_code == 400


def test_too_much_and_nothing_are_refused(tmp_path: Path) -> None:
    kg = small_graph(tmp_path, server=ServerSettings(max_upload_mb=1))
    client = create_app(kg, access=Access.on("127.0.0.1")).test_client()  # type: ignore[arg-type]
    body = b'--b\r\nContent-Disposition: form-data; name="files"; filename="a.txt"\r\n\r\n' + b"x" * 1_100_000
    reply = client.post("/documents", data=body + b"\r\n--b--", content_type="multipart/form-data; boundary=b")
    assert reply.status_code == 413
    assert client.post("/documents", data={}, content_type="multipart/form-data").status_code == 400
    kg.close()


def test_readers_may_neither_add_nor_judge(tmp_path: Path) -> None:
    kg = small_graph(tmp_path)
    client = create_app(kg).test_client()  # type: ignore[arg-type]
    name = next(s.iri.value.rpartition("/")[2] for s in kg.registry.summaries() if s.statements)
    assert sent(client, notes_txt=TEXT).status_code == 403
    assert judged(client, name, "0" * 16, "rejected").status_code == 403
    assert client.post("/api/jobs/pause").status_code == 403
    page = client.get("/documents").get_data(as_text=True)
    assert 'type="file"' not in page
    assert "needs the right to write" in page
    assert "judging" not in client.get(f"/documents/{name}").get_data(as_text=True)
    kg.close()


def test_a_page_of_another_origin_cannot_send_files(client: FlaskClient) -> None:
    headers = {"Origin": "https://elsewhere.example", "Sec-Fetch-Site": "cross-site"}
    data = {"files": [(io.BytesIO(b"x"), "a.txt")]}
    reply = client.post("/documents", data=data, content_type="multipart/form-data", headers=headers)
    assert reply.status_code == 403


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("../../etc/passwd.txt", "passwd.txt"),
        ("C:\\notes\\西湖.md", "西湖.md"),
        (".hidden.csv", "hidden.csv"),
        ("a\x00b.txt", "a_b.txt"),
        ("", "document"),
    ],
)
def test_a_name_that_was_sent_stays_inside_its_folder(given: str, kept: str) -> None:
    assert file_name(given) == kept


def test_long_names_are_cut_with_their_suffix_kept() -> None:
    found = file_name("西" * 300 + ".md")
    assert found.endswith("西.md")
    assert len(found.encode()) < 255


def test_a_rejected_statement_does_not_hold_and_comes_back_when_that_is_undone(
    client: FlaskClient, kg: KnowledgeGraph
) -> None:
    name = added(client, kg)
    key = key_of(client, name, "24")
    assert judged(client, name, key, "rejected").status_code == 303
    assert rooms(kg) == {"12"}
    assert kg.dataset.violations() == (frozenset(), frozenset())
    page = client.get(f"/documents/{name}").get_data(as_text=True)
    assert "struck out by" in page
    assert judged(client, name, key, "undo").status_code == 303
    assert rooms(kg) == {"24", "12"}
    assert not kg.registry.reviews()
    assert next(iter(kg.store.quads(graph=graph_iri(kg.base, "reviews"))), None) is None


def test_a_judgement_outlives_reading_the_document_again(client: FlaskClient, kg: KnowledgeGraph) -> None:
    name = added(client, kg)
    judged(client, name, key_of(client, name, "24"), "rejected")
    kg.remove(kg.registry.summaries()[0].iri.value)
    assert rooms(kg) == set()
    added(client, kg)
    assert rooms(kg) == {"12"}
    assert "struck out by" in client.get(f"/documents/{name}").get_data(as_text=True)


def test_judgements_are_carried_out_again_in_a_store_that_lost_them(client: FlaskClient, kg: KnowledgeGraph) -> None:
    name = added(client, kg)
    judged(client, name, key_of(client, name, "24"), "corrected", **correction(kg, "Lakeside Inn", "25"))
    kg.update(f"CLEAR GRAPH <{kg.base}graph/reviews> ; CLEAR GRAPH <{kg.dataset.rejected.value}>")
    kg.build("link")
    assert rooms(kg) == {"25", "12"}


def correction(kg: KnowledgeGraph, subject: str, value: str, name: str = "roomCount") -> dict[str, str]:
    property_ = next(iri.value for iri in kg.ontology.properties if iri.value.endswith(f"#{name}"))
    return {"subject": subject, "predicate": property_, "object": value}


def test_a_correction_is_stated_by_a_person_with_its_passage_kept(client: FlaskClient, kg: KnowledgeGraph) -> None:
    name = added(client, kg)
    key = key_of(client, name, "24")
    reply = judged(client, name, key, "corrected", **correction(kg, "Lakeside Inn", "25"))
    assert reply.headers["Location"].endswith(f"#statement-{key}")
    assert rooms(kg) == {"25", "12"}
    inn = kg.show("Lakeside Inn")
    value = next(v for fact in inn.facts for v in fact.values if v.value.label == "25")
    assert value.evidence[0].quote == "The Lakeside Inn has 24 rooms."
    graph = graph_iri(kg.base, "reviews")
    said = {quad.object.value for quad in kg.store.quads(None, NamedNode(f"{DCTERMS}type"), None, graph)}
    assert said == {"corrected"}
    objects = {str(quad.object) for quad in kg.store.quads(None, NamedNode(f"{RDF}object"), None, graph)}
    assert len(objects) == 2
    judged(client, name, key, "undo")
    assert rooms(kg) == {"24", "12"}


def test_a_correction_may_name_what_was_not_known(client: FlaskClient, kg: KnowledgeGraph) -> None:
    name = added(client, kg)
    fields = correction(kg, "Lakeside Inn", "Xizha 西栅", "near")
    assert judged(client, name, key_of(client, name, "24"), "corrected", **fields).status_code == 303
    assert kg.show("Lakeside Inn").facts
    assert kg.show("Xizha 西栅").types


@pytest.mark.parametrize(
    ("subject", "value", "told"),
    [("No Such Inn", "25", "nothing is called"), ("Lakeside Inn", "many", "no value of this property")],
)
def test_a_correction_that_cannot_be_is_said_on_the_form(
    client: FlaskClient, kg: KnowledgeGraph, subject: str, value: str, told: str
) -> None:
    name = added(client, kg)
    reply = judged(client, name, key_of(client, name, "24"), "corrected", **correction(kg, subject, value))
    assert reply.status_code == 400
    page = reply.get_data(as_text=True)
    assert told in page
    assert f'value="{value}"' in page
    assert rooms(kg) == {"24", "12"}


def test_an_accepted_statement_says_who_accepted_it_and_holds(client: FlaskClient, kg: KnowledgeGraph) -> None:
    name = added(client, kg)
    assert judged(client, name, key_of(client, name, "24"), "accepted").status_code == 303
    assert "right, said someone at this machine" in client.get(f"/documents/{name}").get_data(as_text=True)
    assert rooms(kg) == {"24", "12"}
    kg.remove(kg.registry.summaries()[0].iri.value)
    assert rooms(kg) == set()


def test_the_text_comes_as_a_file_and_a_line_of_a_broken_one_is_shown(client: FlaskClient, kg: KnowledgeGraph) -> None:
    name = added(client, kg)
    reply = client.get(f"/documents/{name}?format=text")
    assert reply.get_data(as_text=True) == kg.registry.documents()[0].document.text
    assert "attachment" in reply.headers["Content-Disposition"]
    page = client.get(f"/documents/{name}?line=1").get_data(as_text=True)
    assert 'id="line" class="asked"' in page


def test_what_documents_and_files_are_called_stays_text(client: FlaskClient, kg: KnowledgeGraph) -> None:
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


def test_documents_are_found_by_their_names_over_all_pages(tmp_path: Path) -> None:
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


def test_the_sample_is_read_by_a_button_where_there_is_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "examples" / "travel").mkdir(parents=True)
    (tmp_path / "examples" / "travel" / "notes.txt").write_text(TEXT, encoding="utf-8")
    with KnowledgeGraph.create(tmp_path / "kg", ontology="travel") as kg:
        client = create_app(kg, access=Access.on("127.0.0.1")).test_client()
        monkeypatch.setattr("kgplatform.web.shelf.resources.examples", lambda: None)
        assert "/documents/sample" not in client.get("/").text
        assert client.post("/documents/sample").status_code == 404
        monkeypatch.setattr("kgplatform.web.shelf.resources.examples", lambda: tmp_path / "examples")
        assert 'action="/documents/sample"' in client.get("/").text
        assert client.post("/documents/sample").status_code == 303
        settled(client)
        assert [item.title for item in kg.registry.summaries()]
        assert "/documents/sample" not in client.get("/").text
