"""Several documents are put to a model at once; the graph, the order and what a stop leaves do not depend on it."""

import json
import random
import threading
import time
from pathlib import Path

import pytest
from workspaces import new_workspace

from kgplatform.documents.records import State
from kgplatform.errors import ModelUnavailableError
from kgplatform.graph import KnowledgeGraph
from kgplatform.models.chat import RequestRefusedError
from kgplatform.models.reply_cache import CachedModel
from kgplatform.models.stubs import HashEmbedder, ScriptedModel
from kgplatform.workspace.intake import Threads

NOTES = 8


def inn(messages):
    """The name of the inn that the prompt's passage tells of."""
    text = next(message.content for message in reversed(messages) if "Inn number" in message.content)
    return f"Inn number {text.rpartition('Inn number ')[2].partition(' ')[0]}"


def reads(messages):
    """What a model that reads well replies."""
    name = inn(messages)
    mentions = [
        {"text": name, "class": "Hotel", "name": name, "aliases": []},
        {"text": "Wuzhen", "class": "Town", "name": "Wuzhen", "aliases": []},
    ]
    quote = f"{name} is located in Wuzhen"
    said = {"subject": name, "property": "locatedIn", "object": "Wuzhen", "quote": quote, "confidence": 0.9}
    return json.dumps({"mentions": mentions, "statements": [said], "keywords": ["inn", name]})


class Watched(ScriptedModel):
    """A model that counts how many ask it at a time."""

    def __init__(self, otherwise):
        super().__init__(otherwise=self.counted)
        self.inside = self.most = 0
        self.answering = otherwise
        self.counting = threading.Lock()

    def counted(self, messages):
        with self.counting:
            self.inside += 1
            self.most = max(self.most, self.inside)
        try:
            return self.answering(messages)
        finally:
            with self.counting:
                self.inside -= 1


@pytest.fixture(scope="module")
def notes(tmp_path_factory):
    folder = tmp_path_factory.mktemp("notes")
    for number in range(NOTES):
        text = f"Inn number {number} is located in Wuzhen. It has a garden and a boat."
        if number % 3 == 1:
            page = f"<!doctype html><title>Inns</title><article><p>{text}</p></article>"
            (folder / f"note{number}.html").write_text(page, encoding="utf-8")
        else:
            (folder / f"note{number}.txt").write_text(text, encoding="utf-8")
    return folder


@pytest.fixture
def opened(tmp_path):
    made = []

    def workspace(model, *, workers):
        settings = f'[model]\nname = "scripted"\nworkers = {workers}\n\n[extraction]\ngleaning = 0'
        folder = new_workspace(tmp_path / f"kg{len(made)}", settings=settings)
        kg = KnowledgeGraph.open(folder)
        kg.workspace.__dict__["embedder"] = HashEmbedder()
        kg.workspace.__dict__["model"] = CachedModel(model, folder / "models.sqlite")
        made.append(kg)
        return kg

    yield workspace
    for kg in made:
        kg.close()


def knowledge(kg):
    """Every statement with its graph, but for the times at which documents were read."""
    return sorted(str(quad) for quad in kg.store.quads() if "dateTime" not in str(quad.object))


def test_documents_are_put_to_a_model_together_up_to_the_setting(opened, notes):
    meeting = threading.Barrier(3, timeout=60)

    def waits_for_company(messages):
        if inn(messages)[-1] in "012":
            meeting.wait()  # three documents are under way at once, or this fails
        return reads(messages)

    model = Watched(waits_for_company)
    kg = opened(model, workers=3)
    added = list(kg.add(notes, build=False))
    assert [Path(item.document.source).stem for item in added] == [f"note{number}" for number in range(NOTES)]
    assert {item.outcome for item in added} == {"added"}
    assert all(item.accepted and item.usage.calls == 1 for item in added)
    assert model.most == 3
    assert len(model.conversations) == NOTES


def test_the_graph_is_the_same_however_many_requests_run_at_a_time(opened, notes):
    chance = random.Random(7)

    def dawdles(messages):
        time.sleep(chance.uniform(0, 0.05))
        return reads(messages)

    graphs = []
    for workers in (1, 8):
        kg = opened(Watched(dawdles), workers=workers)
        list(kg.add(notes))
        graphs.append(knowledge(kg))
    assert graphs[0] == graphs[1]
    assert any("Inn number 7" in line for line in graphs[0])


def test_what_is_known_is_not_put_to_the_model_again_and_twins_once(opened, notes, tmp_path):
    model = Watched(reads)
    kg = opened(model, workers=4)
    list(kg.add(notes, build=False))
    twins = tmp_path / "twins"
    twins.mkdir()
    for name in ("a.txt", "b.txt"):
        (twins / name).write_text("Inn number 99 is located in Wuzhen.", encoding="utf-8")
    again = [item.outcome for item in kg.add(notes, twins, build=False)]
    assert again == ["unchanged"] * NOTES + ["added", "unchanged"]
    assert len(model.conversations) == NOTES + 1


def test_stopping_keeps_what_is_done_and_no_reply_is_paid_for_twice(opened, notes):
    model = Watched(reads)
    kg = opened(model, workers=2)
    adding = kg.add(notes, build=False)
    assert next(adding).outcome == "added"
    kg.registry.stop()
    assert list(adding) == []
    assert kg.registry.counts() == {State.PENDING: NOTES - 1, State.PROCESSED: 1}
    assert len(model.conversations) < NOTES
    assert model.inside == 0
    assert {item.outcome for item in kg.retry()} == {"added"}
    assert kg.registry.counts() == {State.PROCESSED: NOTES}
    assert len(model.conversations) == NOTES


def test_the_document_in_hand_is_finished_though_the_run_is_to_end_meanwhile(opened, notes):
    def asks_to_stop(messages):
        kg.registry.stop()
        return reads(messages)

    kg = opened(Watched(asks_to_stop), workers=1)
    assert [item.outcome for item in kg.add(notes, build=False)] == ["added"]
    assert kg.registry.counts() == {State.PENDING: NOTES - 1, State.PROCESSED: 1}


def test_a_reply_of_no_use_costs_one_document_and_a_refused_request_too(opened, notes):
    def stumbles(messages):
        if inn(messages).endswith("2"):
            return RequestRefusedError("the context is too long", model="scripted", reason="too long")
        return "no JSON at all" if inn(messages).endswith("4") else reads(messages)

    kg = opened(Watched(stumbles), workers=4)
    outcomes = {Path(item.document.source).stem: item.outcome for item in kg.add(notes, build=False)}
    assert {name for name, outcome in outcomes.items() if outcome == "failed"} == {"note2", "note4"}
    assert all(outcomes[f"note{number}"] == "added" for number in (0, 1, 3, 5, 6, 7))


def test_once_the_model_is_gone_the_rest_fails_at_once_and_is_read_later(opened, notes):
    gone = threading.Event()

    def goes_away(messages):
        if inn(messages).endswith("1"):
            gone.set()
        return ModelUnavailableError("the server is gone", model="scripted") if gone.is_set() else reads(messages)

    model = Watched(goes_away)
    kg = opened(model, workers=1)
    outcomes = {Path(item.document.source).stem[-1]: item.outcome for item in kg.add(notes, build=False)}
    asked = [inn(messages)[-1] for messages in model.conversations]  # files are read by several, so in nearly any order
    assert asked[-1] == "1"  # and nothing after that
    assert {name for name, outcome in outcomes.items() if outcome == "added"} == set(asked[:-1])
    assert len(outcomes) == NOTES
    model.answering = reads
    assert {item.outcome for item in kg.retry()} == {"added"}


def test_a_file_of_many_documents_is_put_to_the_model_a_few_at_a_time(opened, tmp_path):
    posts = [{"title": f"Post {n}", "content": f"Inn number {n} is located in Wuzhen."} for n in range(20)]
    (tmp_path / "posts.json").write_text(json.dumps(posts), encoding="utf-8")
    meeting = threading.Barrier(2, timeout=60)

    def waits_for_company(messages):
        if inn(messages).rpartition(" ")[2] in ("0", "1"):
            meeting.wait()
        return reads(messages)

    model = Watched(waits_for_company)
    kg = opened(model, workers=3)
    adding = kg.add(tmp_path / "posts.json", build=False)
    first = next(adding)
    assert len(model.conversations) <= 3 + 2 + 3
    assert [first.document.title, *(item.document.title for item in adding)] == [f"Post {n}" for n in range(20)]
    assert 1 < model.most <= 3


# --- the threads


def test_closed_threads_begin_nothing_more_and_errors_are_raised_where_the_result_is_wanted():
    threads = Threads(1, "test")
    may_end, begun = threading.Event(), threading.Event()
    first = threads.submit(lambda: (begun.set(), may_end.wait(30))[1])
    second = threads.submit(lambda: 2)
    assert begun.wait(30)
    threads.close(wait=False)
    may_end.set()
    assert first.result(30)
    assert second.cancelled()
    assert threads.submit(lambda: 3).cancelled()
    threads = Threads(2, "test")
    with pytest.raises(ZeroDivisionError):
        threads.submit(lambda: 1 // 0).result(30)
    assert threads.submit(lambda: 4).result(30) == 4
    threads.close(wait=True)
