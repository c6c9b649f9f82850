"""Other SPARQL engines that follow: the contract, the journal in order, cut lines, engines that lie, heavy queries."""

import json
import os
import re
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from statistics import median
from urllib.parse import parse_qsl, quote, unquote_plus, urlencode

import pytest
from pyoxigraph import Literal, NamedNode, Quad, Triple
from workspaces import new_workspace

from kgplatform.cli.main import main
from kgplatform.cluster.followers import (
    Analytics,
    Feeding,
    Follower,
    FollowerError,
    RemoteStore,
    _data,
    check,
    profile_of,
    profiles,
)
from kgplatform.errors import ConfigError
from kgplatform.graph import KnowledgeGraph
from kgplatform.settings import ClusterSettings
from kgplatform.store.oxigraph import Store
from tests.engines import OxigraphServer, RoughLine, VirtuosoServer, free_port, listens, waited_for
from tests.nodes import UPDATE, served, until


@pytest.fixture(scope="module")
def oxigraph(tmp_path_factory):
    server = OxigraphServer(tmp_path_factory.mktemp("oxigraph") / "data")
    yield server
    server.kill()


@pytest.fixture(scope="module")
def virtuoso(tmp_path_factory):
    server = VirtuosoServer(tmp_path_factory.mktemp("virtuoso") / "data")
    yield server.engine
    server.kill()


@pytest.fixture
def kg(tmp_path):
    folder = new_workspace(tmp_path / "kg")
    toml = folder / "kgplatform.toml"
    toml.write_text("journal = true\n" + toml.read_text())
    with KnowledgeGraph.open(folder) as made:
        yield made


def lived(kg, folder):
    """A graph with a history: documents added, replaced and removed, updates, blank nodes, awkward literals."""
    notes = folder / "notes"
    notes.mkdir(exist_ok=True)
    for number in range(3):
        (notes / f"{number}.txt").write_text(f"Inn number {number} is located in Wuzhen. 西栅的门票是150元。")
    list(kg.add(notes))
    yield
    (notes / "1.txt").write_text("The Heron is located in Xizha.")
    list(kg.add(notes))
    kg.remove(str(notes / "2.txt"))
    yield
    kg.update(
        'INSERT DATA { <urn:a> <urn:p> "a \\"quoted\\"\\nline", "西栅"@zh, 1.50, "P1D"^^<http://www.w3.org/2001/XMLSchema#'
        "duration>, 123456789012345678901234 . GRAPH <https://example.org/kg/own> { <urn:a> <urn:q> [ <urn:r> 1 ] } }"
    )
    yield
    kg.update("DELETE WHERE { GRAPH <https://example.org/kg/own> { ?s <urn:r> ?o } }")
    yield


def follows(engine, kg, folder):
    """Holds that a follower is in line with each state of a graph that lives."""
    follower, journal = Follower(engine, kg.base), kg.workspace.recorder.journal
    for _ in lived(kg, folder):
        assert follower.catch_up(journal, kg.store) == journal.newest
        assert follower.compare(kg.store) == []
        assert follower.state() == (journal.name, journal.newest)
    return follower


def test_a_triple_term_is_written_into_an_update_as_sparql_has_it():
    quads = [Quad(NamedNode("urn:a"), NamedNode("urn:p"), Triple(NamedNode("urn:b"), NamedNode("urn:p"), Literal(1)))]
    store = Store.open()
    store.update(_data("INSERT", quads))
    assert list(store.quads()) == quads
    store.update(_data("DELETE", quads))
    assert list(store.quads()) == []


def test_oxigraph_keeps_the_contract_and_a_profile_that_is_not_its_own_does_not_fit(oxigraph, capsys):
    assert main(["follower", "check", oxigraph.address, "--profile", "oxigraph"]) == 0
    said = capsys.readouterr().out.splitlines()
    assert len(said) == 10
    assert all(line.startswith("ok") for line in said)
    wrong = RemoteStore(oxigraph.address, profile_of("graphdb"))
    assert [part.problem.partition(" ")[0] for part in check(wrong)] == [oxigraph.address]
    assert main(["follower", "check", "http://127.0.0.1:9"]) == 1
    assert "cannot be reached: [Errno" in capsys.readouterr().out


@contextmanager
def warped(port, fault):
    """The address of a server in front of an engine's port that passes everything on, but for what the fault does."""

    def send(method, path, body):
        """What the engine answers: its status, the kind of its content, and that."""
        headers = {} if method != "PUT" else {"Content-Type": "application/n-triples"}
        headers["Accept"] = "application/sparql-results+json" if path.startswith("/query") else "application/n-triples"
        address = f"http://127.0.0.1:{port}{path}"
        asked = urllib.request.Request(address, data=body, method=method, headers=headers)
        try:
            with urllib.request.urlopen(asked, timeout=60) as answer:
                return answer.status, answer.headers.get("Content-Type", ""), answer.read()
        except urllib.error.HTTPError as error:
            return error.code, "text/plain", error.read()

    class Handler(BaseHTTPRequestHandler):
        def answer(self):
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0)) or None
            status, kind, data = fault(send, self.command, self.path, body)
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_POST = do_PUT = do_DELETE = answer  # noqa: N815 (as http.server calls them)

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


DONE, REFUSED = (204, "text/plain", b""), (400, "text/plain", b"not here")


def form(body, change):
    """A form with its values changed; those that become nothing are left out."""
    fields = [(name, change(name, value)) for name, value in parse_qsl(body.decode())]
    return urlencode([(name, value) for name, value in fields if value]).encode()


def asks_who_it_is(send, method, path, body):
    return 401, "text/plain", b"who are you?"


def test_a_wrong_password_is_one_line_that_says_where_the_right_one_is_put(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("KGPLATFORM_FOLLOWER_PASSWORD", "wrong")
    toml = new_workspace(tmp_path / "kg") / "kgplatform.toml"
    toml.write_text("journal = true\n" + toml.read_text())
    told = "refuses: 401 Unauthorized; name the user, the password is in KGPLATFORM_FOLLOWER_PASSWORD"
    with warped(9, asks_who_it_is) as address:
        for verb in ("sync", "compare"):
            assert main(["follower", verb, address, "--user", "ann", "-w", str(tmp_path / "kg")]) != 0
            assert capsys.readouterr().err == f"kgplatform: {address} {told}\n"
        assert main(["follower", "check", address, "--user", "ann"]) == 1
        assert capsys.readouterr().out.splitlines() == [f"FAULT  a query is answered as JSON: {address} {told}"]


def lies_about_counts(send, method, path, body):
    status, kind, data = send(method, path, body)
    if body and "COUNT(" in unquote_plus(body.decode()):
        data = re.sub(rb'"(\d+)"', lambda found: b'"%d"' % (int(found[1]) + 1), data)
    return status, kind, data


def refuses_updates(send, method, path, body):
    return REFUSED if path.startswith("/update") else send(method, path, body)


def leaves_updates_undone(send, method, path, body):
    return DONE if path.startswith("/update") else send(method, path, body)


def drops_a_graph(send, method, path, body):
    return DONE if method == "PUT" and quote(":a", safe="") in path else send(method, path, body)


def keeps_what_is_deleted(send, method, path, body):
    return DONE if method == "DELETE" else send(method, path, body)


def loses_languages(send, method, path, body):
    return send(method, path, body.replace(b"@zh", b"") if method == "PUT" else body)


def loses_blank_nodes(send, method, path, body):
    kept = [line for line in (body or b"").splitlines(keepends=True) if b"_:" not in line]
    return send(method, path, b"".join(kept) if method == "PUT" else body)


def names_blank_nodes(send, method, path, body):
    return send(method, path, re.sub(rb"_:(\w+)", rb"<urn:node:\1>", body) if method == "PUT" else body)


def takes_little(send, method, path, body):
    return REFUSED if path.startswith("/update") and len(body) > 200_000 else send(method, path, body)


def refuses_repeats(send, method, path, body, *, before=[None]):  # noqa: B006 (what it was asked last)
    before[:], (last,) = [body], before
    return REFUSED if path.startswith("/update") and body == last else send(method, path, body)


def shows_all_graphs(send, method, path, body):
    return send(method, path, body + b"&union-default-graph=true" if path.startswith("/query") else body)


def ignores_what_is_named(send, method, path, body):
    named = path.startswith("/query")
    return send(method, path, form(body, lambda name, value: "" if "graph" in name else value) if named else body)


def does_steps_apart(send, method, path, body):
    if not path.startswith("/update"):
        return send(method, path, body)
    for step in dict(parse_qsl(body.decode()))["update"].split(" ;\n"):
        answer = send(method, path, urlencode({"update": step}).encode())
        if answer[0] >= 300:
            break
    return answer


def answers_in_xml(send, method, path, body):
    answer = (200, "application/sparql-results+xml", b"<sparql/>")
    return answer if path.startswith("/query") else send(method, path, body)


WHOLE, UPDATES = "a graph is put, got and deleted whole", "an update inserts and deletes in named graphs"
TERMS = "literals and blank nodes come back as they went in"
FAULTS = [
    (refuses_updates, UPDATES, "refuses: 400"),
    (answers_in_xml, "a query is answered as JSON", "what is no result"),
    (leaves_updates_undone, UPDATES, "0 statements came back, 4 went in"),
    (drops_a_graph, WHOLE, "0 statements came back, 20 went in"),
    (keeps_what_is_deleted, WHOLE, "5 statements came back, 0 went in"),
    (loses_languages, TERMS, "changed or refused: langString"),
    (loses_blank_nodes, TERMS, "changed or refused: blank node"),
    (names_blank_nodes, TERMS, "changed or refused: blank node"),
    (takes_little, "an update of 20,000 statements is taken", "refuses: 400"),
    (refuses_repeats, "what is repeated changes nothing", "refuses: 400"),
    (shows_all_graphs, "the default graph is as the profile says", "shows what named graphs hold"),
    (ignores_what_is_named, "a query goes by the default graph that it names", "of 3 statements in it 0 were found"),
    (lies_about_counts, "a query goes by the default graph that it names", "of 3 statements in it 4 were found"),
    (does_steps_apart, "a request of several steps happens as a whole", "the first step stayed, the second failed"),
]


@pytest.mark.parametrize(
    ("fault", "part", "told"),
    [
        pytest.param(*row, marks=[pytest.mark.slow] if number > 1 else [], id=row[0].__name__)
        for number, row in enumerate(FAULTS)
    ],
)
def test_an_engine_that_breaks_a_part_of_the_contract_is_told_by_a_line_that_names_it(
    oxigraph, capsys, fault, part, told
):
    with warped(oxigraph.port, fault) as address:
        assert main(["follower", "check", address]) == 1
    oxigraph.engine.update("DROP ALL")
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == (1 if fault is answers_in_xml else 10)
    (line,) = [line for line in lines if line.partition(": ")[0].endswith(part)]
    assert line.startswith(f"FAULT  {part}: ")
    assert told in line


@pytest.mark.slow
def test_an_engine_follows_through_a_graph_s_history_and_one_that_lies_is_found_and_mended(oxigraph, kg, tmp_path):
    follower = follows(oxigraph.engine, kg, tmp_path)
    agrees_with_ours(Analytics(oxigraph.engine, kg.base), kg)
    graph = next(name for name in kg.store.graphs() if "/chunk/" in name.value)
    oxigraph.engine.delete(graph)
    oxigraph.engine.update(
        "INSERT DATA { GRAPH <https://example.org/kg/stray> { <urn:x> <urn:x> 1 } <urn:y> <urn:y> 2 }"
    )
    different = follower.compare(kg.store)
    assert {item.graph for item in different} == {graph.value, "default", "https://example.org/kg/stray"}
    follower.mend(kg.store, different)
    assert follower.compare(kg.store) == []


def test_a_first_copy_is_of_what_there_is_by_now_and_goes_on_where_it_was_broken_off(oxigraph, kg):
    def stated(place, told):
        return f"GRAPH <{kg.base}{place}> {{ {told} }} "

    engine = RemoteStore(oxigraph.address, replace(profile_of("oxigraph"), largest=10))
    follower, journal, asked = Follower(engine, kg.base), kg.workspace.recorder.journal, count()
    engine.update("DROP ALL")
    four = " . ".join(f'<urn:s> <urn:p> {number} , "西栅{number}"@zh' for number in range(2))
    kg.update(f"INSERT DATA {{ {' '.join(stated(f'g{number:02}', four) for number in range(30))} }}")
    kg.update(f"INSERT DATA {{ {stated('g04', '[ <urn:p> 1 ]')} {stated('g25', '[ <urn:p> 1 ]')} <urn:a> <urn:p> 1 }}")
    kg.update("INSERT DATA { <urn:passing> <urn:p> 1 }")
    kg.update("DELETE DATA { <urn:passing> <urn:p> 1 }")
    assert follower.catch_up(journal, kg.store, leads=lambda: next(asked) < 20) == 0
    assert follower.state() == ("", 0)
    held = {row["g"] for row in engine.rows("SELECT DISTINCT ?g { GRAPH ?g { ?s ?p ?o } }")}
    assert {f"{kg.base}g0{number}" for number in range(10)} < held
    assert f"{kg.base}g29" not in held
    engine.delete(NamedNode(f"{kg.base}g00"))  # nobody sends it again
    kg.update(f"DELETE WHERE {{ {stated('g01', '?s ?p ?o')} }}")
    kg.update(f"DELETE WHERE {{ {stated('g28', '?s ?p ?o')} }}")
    kg.update(f"INSERT DATA {{ {''.join(stated(name, '<urn:b> <urn:p> 2') for name in ('a', 'g02', 'g27', 'z'))} }}")
    again = Follower(engine, kg.base)
    assert again.catch_up(journal, kg.store) == journal.newest
    assert again.state() == (journal.name, journal.newest)
    assert [item.graph for item in again.compare(kg.store)] == [f"{kg.base}g00"]


@pytest.mark.parametrize("default", ["own", "union"])
def test_a_default_graph_that_should_be_empty_is_mended_too(oxigraph, default):
    engine = RemoteStore(oxigraph.address, replace(profile_of("oxigraph"), default_graph=default))
    follower, store = Follower(engine, "https://example.org/empty/"), Store.open()
    place = engine.knowledge("https://example.org/empty/")
    engine.update("DROP ALL")
    engine.put(place, [Triple(NamedNode("urn:a"), NamedNode("urn:p"), NamedNode("urn:b"))])
    different = follower.compare(store)
    assert [(item.graph, item.here, item.there) for item in different] == [("default", 0, 1)]
    follower.mend(store, different)
    assert follower.compare(store) == []
    assert engine.get(place) == []


SUMS = (
    "SELECT (COUNT(DISTINCT ?g) AS ?n) WHERE { GRAPH ?g { ?s ?p ?o } }",
    "SELECT ?p (COUNT(*) AS ?n) WHERE { ?s a ?t . ?s ?p ?o FILTER(isIRI(?o)) # GRAPH {\n } GROUP BY ?p ORDER BY ?p",
    "SELECT (COUNT(*) AS ?n) WHERE { ?s a ?t OPTIONAL { GRAPH $g { ?s a ?t } } FILTER NOT EXISTS { ?s <urn:q> ?o } }",
    "SELECT (MAX(?c) AS ?n) WHERE { { SELECT ?g (COUNT(?s) AS ?c) WHERE { GRAPH ?g { ?s a ?t } } GROUP BY ?g } }",
    "SELECT (COUNT(*) AS ?n) WHERE { { ?s a/<urn:q>? ?t } UNION { GRAPH ?g { ?s a ?t } } }",
)


def agrees_with_ours(heavy, kg):
    """Holds that what counts is the same there and here, whatever graphs it speaks of."""
    for query in SUMS:
        answer = heavy.answer(query, "application/sparql-results+json", kg.store.version)
        if answer is None:  # an engine with graphs of its own is not asked for any graph
            assert re.search(r"GRAPH [?$]", query)
            continue
        found = json.loads(answer)
        there = [[row[name]["value"] for name in found["head"]["vars"]] for row in found["results"]["bindings"]]
        assert there == [[term.value for term in row] for row in kg.query(query).rows], query


@pytest.mark.slow
def test_virtuoso_keeps_the_contract_and_follows(virtuoso, kg, tmp_path):
    assert [part for part in check(virtuoso) if part.problem and part.needed] == []
    large = NamedNode("urn:large")
    virtuoso.put(large, [Triple(large, large, Literal(f"西栅 {number}")) for number in range(20_000)])
    assert virtuoso.rows("SELECT (COUNT(*) AS ?n) { GRAPH <urn:large> { ?s ?p ?o } }") == [{"n": "20000"}]
    virtuoso.delete(large)
    follower = follows(virtuoso, kg, tmp_path)
    virtuoso.delete(next(name for name in kg.store.graphs() if "/chunk/" in name.value))
    assert len(follower.compare(kg.store)) == 1
    count = "SELECT (COUNT(*) AS ?n) WHERE { ?s ?p ?o }"
    heavy = Analytics(virtuoso, kg.base)
    assert heavy.answer("SELECT ?s WHERE { ?s ?p ?o } LIMIT 1", "application/sparql-results+json", 0) is None
    found = json.loads(heavy.answer(count, "application/sparql-results+json", kg.store.version))
    agrees_with_ours(heavy, kg)
    left_out = 2  # a duration, and an integer of 24 digits
    here = int(kg.query(count).rows[0][0].value) - left_out
    assert int(found["results"]["bindings"][0]["n"]["value"]) == here
    assert heavy.answer(count, "application/sparql-results+json", kg.store.version + 1) is None  # it is behind


@pytest.mark.slow
def test_a_line_that_delays_cuts_and_repeats_and_an_engine_that_is_killed_cost_time_only(kg, tmp_path):
    server = OxigraphServer(tmp_path / "data")
    line = RoughLine(server.port)
    journal = kg.workspace.recorder.journal
    follower = Follower(RemoteStore(line.address, profile_of("oxigraph"), seconds=3), kg.base)
    try:
        for step, _ in enumerate(lived(kg, tmp_path)):
            if step == 2:
                server.kill()
                threading.Timer(1.0, server.start).start()
            for attempt in range(200):
                try:
                    follower.catch_up(journal, kg.store)
                    if follower.state() == (journal.name, journal.newest):
                        break
                except FollowerError:
                    time.sleep(0.05)
                assert attempt < 199
        assert line.cut
        assert line.repeated
        assert Follower(server.engine, kg.base).compare(kg.store) == []
    finally:
        line.close()
        server.kill()


@pytest.mark.slow
def test_a_served_workspace_feeds_its_followers_and_sends_them_what_counts(oxigraph, tmp_path):
    folder = new_workspace(tmp_path / "kg")
    named = f"oxigraph {oxigraph.address}"
    toml = folder / "kgplatform.toml"
    toml.write_text(
        f'journal = true\n{toml.read_text()}\n[server]\nanalytics = "{named}"\n\n[cluster]\nfollowers = ["{named}"]\n'
    )
    port = free_port()
    command = [sys.executable, "-m", "kgplatform", "serve", "--port", str(port), "-w", str(folder)]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL, env=dict(os.environ))

    def asked(query):
        address = f"http://127.0.0.1:{port}/sparql?query={urllib.request.quote(query)}"
        with urllib.request.urlopen(urllib.request.Request(address, headers={"Accept": "text/csv"})) as answer:
            return answer.read().decode().split(), answer.headers.get("Via")

    try:
        waited_for(lambda: listens(port))
        count = "SELECT (COUNT(*) AS ?n) WHERE { ?s ?p ?o }"
        waited_for(lambda: asked(count)[1] == "1.1 analytics")
        there, _ = asked(count)
        here, via = asked("SELECT ?s WHERE { ?s ?p ?o }")
        assert int(there[1]) == len(here) - 1
        assert via is None
    finally:
        process.terminate()
        process.wait(30)


@pytest.mark.slow
def test_a_follower_of_a_workspace_that_is_written_to_is_compared_by_the_verb_and_mended(oxigraph, tmp_path):
    folder = new_workspace(tmp_path / "kg")
    toml = folder / "kgplatform.toml"
    toml.write_text(f'journal = true\n{toml.read_text()}\n[cluster]\nfollowers = ["oxigraph {oxigraph.address}"]\n')
    oxigraph.engine.update("DROP ALL")
    over, written = threading.Event(), []

    def compared(*words):
        command = [sys.executable, "-m", "kgplatform", "follower", "compare", oxigraph.address, "-w", str(folder)]
        done = subprocess.run([*command, *words], capture_output=True, text=True, check=False, timeout=600)
        return done.returncode, done.stdout.splitlines(), done.stderr.splitlines()

    with served(folder) as node:

        def write():
            for number in count():
                if over.wait(0.05):
                    return
                told = f"<urn:s{number}> <urn:p> {number} ."
                text = f"INSERT DATA {{ {told} GRAPH <urn:g{number % 3}> {{ {told} }} }}"
                written.append(node.ask("POST", "/sparql", text, UPDATE)[0])

        writer = threading.Thread(target=write)
        writer.start()
        try:
            until(lambda: len(written) > 5, 120)
            before = len(written)
            assert compared() == (0, [], ["0 graphs differ"])
            assert len(written) > before
            oxigraph.engine.delete(NamedNode("urn:g0"))
            oxigraph.engine.update("DELETE WHERE { <urn:s1> ?p ?o }")
            status, said, noted = compared()
            assert (status, noted) == (1, ["2 graphs differ"])
            assert [line.rpartition(": ")[0] for line in said] == ["default", "urn:g0"]
            assert compared("--mend")[::2] == (0, ["0 graphs differ"])
        finally:
            over.set()
            writer.join()
    assert set(written) <= {200, 204}


def test_a_follower_that_is_away_harms_no_one_and_what_is_set_wrongly_is_one_line(kg, tmp_path, capsys):
    away = Follower(RemoteStore("http://127.0.0.1:9", profile_of("oxigraph"), seconds=1), kg.base)
    fed = Feeding([away], kg.workspace.recorder.journal, kg.store)
    kg.update("INSERT DATA { <urn:a> <urn:p> 1 }")
    waited_for(lambda: "cannot be reached" in fed.troubles.get("http://127.0.0.1:9", ""), 10)
    fed.close()
    idle = Feeding([away], kg.workspace.recorder.journal, kg.store, lambda: False)  # as on a replica
    time.sleep(0.3)
    assert idle.troubles == {}
    idle.close()
    with (kg.folder / "kgplatform.toml").open("a") as file:
        file.write('\n[cluster]\nfollowers = ["oxigraph http://127.0.0.1:9"]\n')
    assert main(["doctor", "-w", str(kg.folder)]) == 1
    assert "http://127.0.0.1:9 cannot be reached" in capsys.readouterr().out
    with pytest.raises(ConfigError, match="no engine is called 'stardust'; there are oxigraph, virtuoso"):
        profile_of("stardust")
    with pytest.raises(ConfigError, match="is not the address of an engine"):
        RemoteStore("ftp://x", profile_of("oxigraph"))
    assert {name for name, item in profiles().items() if item.tested} == {"oxigraph", "virtuoso"}


def test_doctor_asks_where_heavy_queries_go_and_names_the_way_out(oxigraph, tmp_path, capsys):
    toml = new_workspace(tmp_path / "kg") / "kgplatform.toml"
    text = toml.read_text()

    def said(address):
        toml.write_text(f'{text}\n[server]\nanalytics = "oxigraph {address}"\n')
        status = main(["doctor", "-w", str(toml.parent)])
        (line,) = (line for line in capsys.readouterr().out.splitlines() if "heavy queries" in line)
        return status, line

    status, line = said(oxigraph.address)
    assert status == 0
    assert re.search(rf"^ok +heavy queries +oxigraph at {oxigraph.address}, (at commit|holds no whole copy)", line)
    status, line = said("http://127.0.0.1:9")
    assert status == 1
    assert re.search(r"^FAULT +heavy queries +.* cannot be reached: .*; see to it, or change server\.analytics$", line)


@pytest.mark.slow
def test_a_slow_follower_delays_neither_the_leader_nor_the_follower_beside_it(oxigraph, kg, tmp_path):
    journal, slow, seconds, taken = kg.workspace.recorder.journal, OxigraphServer(tmp_path / "slow"), 3.0, []
    line = RoughLine(slow.port, delay=seconds)
    oxigraph.engine.update("DROP ALL")
    engines = (line.engine, oxigraph.engine)

    def is_level(engine):
        return Follower(engine, kg.base).state() == (journal.name, journal.newest)

    fed = Feeding([Follower(engine, kg.base) for engine in engines], journal, kg.store)
    try:
        for number in range(50):
            began = time.perf_counter()
            kg.update(f"INSERT DATA {{ <urn:s{number}> <urn:p> '西栅{number}'@zh }}")
            taken.append(time.perf_counter() - began)
        until(lambda: is_level(oxigraph.engine), 120)
        assert not is_level(slow.engine)
        assert median(taken) < seconds / 3
        line.delay = 0.0
        until(lambda: is_level(slow.engine), 120)
        assert [Follower(item.engine, kg.base).compare(kg.store) for item in (oxigraph, slow)] == [[], []]
    finally:
        fed.close()
        line.close()
        slow.kill()


@pytest.mark.slow
def test_who_sees_a_part_of_a_workspace_is_answered_by_no_other_machine(tmp_path):
    folder = new_workspace(tmp_path / "kg")
    toml = folder / "kgplatform.toml"
    named = '"oxigraph http://127.0.0.1:9"'
    toml.write_text(
        f"journal = true\n{toml.read_text()}\n[server]\nanalytics = {named}\nworkers = 1\n\n"
        f'[cluster]\nfollowers = [\n  {named},\n  "virtuoso http://[::1]:9",\n]\ndask = "tcp://127.0.0.1:9"\n'
    )
    with KnowledgeGraph.open(folder) as kg, kg.without(lambda _iri: False, tmp_path / "seen") as seen:
        assert (len(kg.settings.cluster.followers), kg.settings.server.analytics != "") == (2, True)
        assert (seen.settings.cluster, seen.settings.server.analytics) == (ClusterSettings(), "")
        assert seen.settings.server.workers == 1
    text = toml.read_text()
    toml.write_text(text.replace("[cluster]\nfollowers = [", '[cluster]\n"followers" = ['))
    with KnowledgeGraph.open(folder) as kg, pytest.raises(ConfigError, match="cannot be left out"):
        kg.without(lambda _iri: False, tmp_path / "again")
