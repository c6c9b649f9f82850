"""Adding what is named: Word files and books, places in JSON, web addresses, and posts without their noise."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from kgplatform import KnowledgeGraph
from kgplatform.building import intake
from kgplatform.cli.main import MISUSED, SHORT, main
from kgplatform.config import FILE
from kgplatform.documents.registry import State
from kgplatform.documents.web import fetch
from kgplatform.errors import ConfigError
from tests.test_book_readers import docx, epub, paragraph
from tests.test_web_pages import Site, here, page, site

__all__ = ["site"]

ENGLISH = "Xizha at night\n\nThe Blue Bridge Inn is located in Wuzhen. Wuzhen is located in Jiaxing.\n"
CHINESE = "西栅的住宿\n\n枕水度假酒店位于乌镇。乌镇位于嘉兴。\n"


def configure(folder: Path, *lines: str) -> None:
    file = folder / FILE
    file.write_text(file.read_text("utf-8") + "\n[documents]\n" + "\n".join(lines) + "\n", "utf-8")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    KnowledgeGraph.create(tmp_path / "kg", ontology=["travel"]).close()
    return tmp_path / "kg"


@pytest.fixture
def kg(folder: Path) -> Iterator[KnowledgeGraph]:
    with KnowledgeGraph.open(folder) as found:
        yield found


def test_a_word_file_and_a_book_say_what_a_note_says(kg: KnowledgeGraph, tmp_path: Path) -> None:
    title, text = CHINESE.strip().split("\n\n")
    files = [docx(tmp_path / "a.docx", "".join(paragraph(block) for block in ENGLISH.strip().split("\n\n")))]
    files.append(epub(tmp_path / "b.epub", {"one": f"<h1>{title}</h1><p>{text}</p>"}))
    added = list(kg.add(*files, build=False))
    assert [item.outcome for item in added] == ["added", "added"]
    assert all(item.accepted for item in added)
    assert [item.outcome for item in kg.add(*files, build=False)] == ["unchanged", "unchanged"]


def test_posts_at_a_place_in_json_are_documents_and_rows_are_a_table(kg: KnowledgeGraph, tmp_path: Path) -> None:
    posts = [{"title": "A", "content": ENGLISH}, {"title": "B", "content": CHINESE}]
    file = tmp_path / "a.json"
    file.write_text(json.dumps({"meta": {"of": "x"}, "data": {"posts": posts}}), "utf-8")
    place = f"{file}#/data/posts"
    added = list(kg.add(place, build=False))
    assert [(item.outcome, item.document.title, item.document.source) for item in added] == [
        ("added", "A", place),
        ("added", "B", place),
    ]
    assert [item.outcome for item in kg.add(place, build=False)] == ["unchanged", "unchanged"]
    file.write_text(json.dumps({"data": {"posts": posts[:1]}}), "utf-8")
    assert [item.outcome for item in kg.add(place, build=False)] == ["replaced"]
    assert [record.document.title for record in kg.documents(State.PROCESSED)] == ["A"]


def test_the_setting_says_where_documents_are_in_json(folder: Path, tmp_path: Path) -> None:
    configure(folder, 'json_path = "/data/*/posts"')
    file = tmp_path / "a.json"
    file.write_text(json.dumps({"meta": "x", "data": [{"posts": [{"text": ENGLISH}]}, {"posts": [{"正文": CHINESE}]}]}))
    with KnowledgeGraph.open(folder) as kg:
        added = list(kg.add(file, build=False))
        assert [item.document.text for item in added] == [ENGLISH, CHINESE]
        assert [item.outcome for item in kg.add(file, build=False)] == ["unchanged", "unchanged"]


def test_web_addresses_are_not_read_unless_the_settings_say_so(kg: KnowledgeGraph) -> None:
    with pytest.raises(ConfigError, match=r"https://example\.org/a: addresses on the web are not read; .* web = true"):
        list(kg.add("https://example.org/a"))
    assert kg.documents() == []


def test_the_command_line_takes_addresses_as_they_are(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["add", "https://example.org/a?b=//c", "-w", str(folder)]) == MISUSED
    said = capsys.readouterr().err
    assert "https://example.org/a?b=//c: addresses on the web are not read" in said
    assert said.count("\n") == 1
    configure(folder, "web = true")
    assert main(["add", "https://example.org/a?b=//c", "-w", str(folder), "--no-build"]) == SHORT
    assert "https://example.org/a?b=//c: example.org is not in documents.web_hosts" in capsys.readouterr().out


def test_a_page_is_added_kept_and_replaced_by_its_address(
    folder: Path, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    configure(folder, "web = true", f'web_hosts = ["site.test:{site.port}"]')
    monkeypatch.setattr(intake, "fetch", partial(fetch, resolve=here))
    site.pages["/a"] = page(f"<main><h1>西栅</h1><p>{CHINESE}</p></main>".encode())
    address = site.address("/a?b=//c")
    with KnowledgeGraph.open(folder) as kg:
        (added,) = kg.add(address, build=False)
        assert (added.outcome, added.document.source, added.document.title) == ("added", address, "西栅")
        assert added.accepted
        assert [item.outcome for item in kg.add(address, build=False)] == ["unchanged"]
        site.pages["/a"] = page(f"<main><h1>Xizha</h1><p>{ENGLISH}</p></main>".encode())
        assert [item.outcome for item in kg.add(address, build=False)] == ["replaced"]
        assert [record.document.title for record in kg.documents()] == ["Xizha"]
        kg.remove(address)
        assert kg.documents() == []


def test_a_page_that_cannot_be_had_fails_in_one_line_and_is_tried_again(
    folder: Path, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    configure(folder, "web = true", f'web_hosts = ["site.test:{site.port}"]')
    monkeypatch.setattr(intake, "fetch", partial(fetch, resolve=here))
    site.pages["/a"] = page(b"gone", status=503)
    other = site.address(host="other.test")
    with KnowledgeGraph.open(folder) as kg:
        failed = list(kg.add(site.address("/a"), other, build=False))
        assert [item.outcome for item in failed] == ["failed", "failed"]
        assert failed[0].error == "answers 503 Service Unavailable"
        assert "not in documents.web_hosts" in str(failed[1].error)
        assert site.asked == [(f"site.test:{site.port}", "/a")]
        site.pages["/a"] = page(ENGLISH.encode(), "text/plain")
        outcomes = {item.document.source: item.outcome for item in kg.retry()}
        assert outcomes == {site.address("/a"): "added", other: "failed"}


def test_this_machine_is_not_read_whatever_the_settings_say(folder: Path, site: Site) -> None:
    configure(folder, "web = true", f'web_hosts = ["*", "localhost:{site.port}"]')
    site.pages["/"] = page(ENGLISH.encode(), "text/plain")
    with KnowledgeGraph.open(folder) as kg:
        (failed,) = kg.add(site.address(host="localhost"), build=False)
        assert "is not a public address" in str(failed.error)
    assert site.asked == []


@pytest.mark.parametrize("text", [ENGLISH, CHINESE], ids=["en", "zh"])
@pytest.mark.parametrize("noise", ["keep", "skip"])
def test_a_post_says_the_same_with_and_without_its_noise(folder: Path, tmp_path: Path, text: str, noise: str) -> None:
    configure(folder, f'noise = "{noise}"')
    noisy = text.replace("\n\n", " 🔥🔥 yyds\n\nOMG!!! ") + "\n记得点赞收藏哦～ Follow me for more!\n"
    for name, content in (("a.txt", text), ("b.txt", noisy)):
        (tmp_path / name).write_text(content, "utf-8")
    with KnowledgeGraph.open(folder) as kg:
        plain, post = kg.add(tmp_path / "a.txt", tmp_path / "b.txt", build=False)
        assert post.document.text == noisy
        assert {t.predicate.value for t in plain.accepted} <= {t.predicate.value for t in post.accepted}
        for chunk in kg.registry.chunks(post.document.iri):
            extraction = kg.registry.extraction(chunk.iri)
            assert extraction is not None
            assert all(noisy[m.start : m.end] == m.text for m in extraction.mentions)


def test_a_misspelt_noise_setting_stops(folder: Path) -> None:
    configure(folder, 'noise = "off"')
    with pytest.raises(ConfigError, match=r"documents\.noise is 'off'; it must be keep or skip"):
        KnowledgeGraph.open(folder)
