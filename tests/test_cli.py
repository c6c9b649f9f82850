"""The command line: one clear line for whatever is wrong, the right exit status, never a traceback."""

import io
import json
import socket
import subprocess
import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
from pypdf import PdfWriter
from workspaces import new_workspace

from kgplatform import settings as config
from kgplatform.cli.main import PLUGINS, main
from kgplatform.models.stubs import HashEmbedder
from kgplatform.workspace.workspace import Workspace

NOTE = "Xizha is an attraction in Wuzhen. Tickets for Xizha cost 150 CNY.\n"


class Ran:
    """What a command printed and its status."""

    def __init__(self, status, out, err):
        self.status, self.out, self.err = status, out, err
        assert "Traceback" not in out + err


@pytest.fixture
def run(capfdbinary, monkeypatch):
    monkeypatch.setattr(Workspace, "embedder", HashEmbedder())

    def command(*arguments):
        try:
            status = main([str(argument) for argument in arguments])
        except SystemExit as error:
            status = int(str(error.code))
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        out, err = capfdbinary.readouterr()
        return Ran(status, out.decode(), err.decode())

    return command


@pytest.fixture
def workspace(tmp_path):
    return new_workspace(tmp_path / "workspace")


def process(*arguments, **options):
    command = [sys.executable, "-m", "kgplatform", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, **options)


def test_the_help_is_quick_and_imports_nothing_heavy():
    code = (
        "import sys\nfrom kgplatform.cli.main import main\n"
        "main(['--help'])\nmain(['ask', '--help'])\nmain(['check', '--help'])\nmain(['serve', '--help'])\n"
        "print(sorted({'torch', 'numpy', 'lxml', 'jinja2', 'flask', 'kgplatform.graph'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30)
    assert done.stdout.endswith("\n[]\n")


PLUGIN = """
import click
print("imported")
@click.command("greet")
@click.argument("name")
def greet(name):
    "Greet somebody."
    click.echo(f"hello {name}")
    return 1
number = 5
"""


def test_plug_ins_bring_verbs_that_are_imported_when_called(run, tmp_path, monkeypatch):
    (tmp_path / "greeting.py").write_text(PLUGIN)
    monkeypatch.syspath_prepend(tmp_path)
    found = {
        "greet": "greeting:greet",
        "number": "greeting:number",
        "absent": "greeting:nothing",
        "ask": "greeting:greet",
    }
    entries = tuple(EntryPoint(name, value, PLUGINS) for name, value in found.items())
    monkeypatch.setattr("importlib.metadata.entry_points", lambda *, group: entries if group == PLUGINS else ())
    shown = run("--help")
    assert "absent, greet, number" in shown.out
    assert "imported" not in shown.out
    assert "did you mean greet?" in run("gret", "you").err
    done = run("greet", "you")
    assert (done.status, done.out) == (1, "imported\nhello you\n")
    for name, reason in (("number", "is not a click command"), ("absent", "does not load")):
        done = run(name)
        assert (done.status, reason in done.err, done.err.count("\n")) == (2, True, 1)
    assert "QUESTION" in run("ask").err


def test_the_installed_command_runs_and_passes_its_status_on(tmp_path):
    assert process("--version").stdout.startswith("kgplatform ")
    done = process("documents", "-w", tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"kgplatform: {tmp_path} is not a workspace")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        *(("crate x", "'crate' is not a verb; did you mean create?"), ("it's", '"it\'s" is not a verb; see --help')),
        *(("documents lst", "did you mean list?"), ("demo travle", "did you mean travel?")),
        ("add x --no-biuld", "there is no option --no-biuld; did you mean --no-build?"),
        ("query --fromat=json -e ASK{}", "did you mean --format?"),
        *(("query -e ASK{} --format jason", "did you mean json?"), ("build --only lnk", "did you mean link?")),
        *(("ask", "missing argument 'QUESTION'; see --help"), ("", "missing VERB; see --help")),
        ("ask a b", "unexpected extra argument (b); see --help"),
        ("search x -k many", "-k: 'many' is not a valid integer"),
    ],
)
def test_a_mistyped_word_gets_the_nearest_name(run, words, hint):
    done = run(*words.split())
    assert done.status == 2
    assert hint in done.err
    assert done.err.startswith("kgplatform: ")
    assert done.err.count("\n") == 1


def test_wrong_settings_and_ontologies_and_verbs_of_a_checkout_say_what_to_do(run, workspace, tmp_path, monkeypatch):
    for settings, said in (
        ("[documents]\nmax_byte = 3\n", "documents.max_byte is not a setting; did you mean documents.max_bytes?"),
        ("version = 9\nnew_setting = 1\n", "has format 9, this kgplatform reads format 1"),
    ):
        (workspace / config.FILE).write_text(settings)
        done = run("documents", "-w", workspace)
        assert (done.status, said in done.err) == (2, True)
    done = run("create", tmp_path / "new", "--ontology", "acadmic")
    assert (done.status != 0, "did you mean academic?" in done.err) == (True, True)
    assert not (tmp_path / "new").exists()
    monkeypatch.setattr("kgplatform.resources._HERE", tmp_path / "site-packages" / "kgplatform")
    for words in (["conformance"], ["evaluate", "travel"]):
        done = run(*words)
        assert (done.status, done.out, done.err.count("\n")) == (1, "", 1)
        assert "checkout" in done.err


def test_a_workspace_open_in_another_process_says_so(run, workspace, monkeypatch):
    monkeypatch.setattr("kgplatform.cli.delegation._PATIENCE_SECONDS", 0.2)
    code = (
        "import sys\nfrom kgplatform.graph import KnowledgeGraph\n"
        "kg = KnowledgeGraph.open(sys.argv[1])\nprint('open', flush=True)\nsys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(workspace)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "open\n"
        done = run("documents", "-w", workspace)
        other.communicate("")
    assert done.status == 2
    assert f"{workspace}: the workspace is open in another process" in done.err
    assert run("documents", "-w", workspace).status == 0


def test_a_tour_of_the_verbs(run, workspace, tmp_path):
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "西栅.txt").write_text(NOTE, encoding="utf-8")
    added = run("add", "-w", workspace, tmp_path / "notes")
    assert (added.status, added.err) == (0, "1 added\n")
    assert added.out.startswith("added      ")
    again = run("add", "-w", workspace, tmp_path / "notes", "--format", "json")
    assert [item["outcome"] for item in json.loads(again.out)] == ["unchanged"]
    listed = json.loads(run("documents", "-w", workspace, "--format", "json").out)
    assert [(item["state"], Path(item["source"]).name) for item in listed] == [("processed", "西栅.txt")]
    assert "Xizha" in run("documents", "show", "西栅.txt", "-w", workspace).out
    assert run("build", "-w", workspace).status == 0
    assert "no communities" in run("communities", "-w", workspace).err  # only when asked for
    assert "communities on" in run("build", "-w", workspace, "--only", "communities").err
    found = json.loads(run("search", "Xizha tickets", "-w", workspace, "--format", "json").out)
    assert found[0]["quote"] in NOTE
    assert "150" in run("show", "Xizha", "-w", workspace).out
    assert json.loads(run("show", "Xizha", "-w", workspace, "--format", "json").out)["label"] == "Xizha"
    assert "Xizha" in run("show", "Xizha", "-w", workspace, "--format", "turtle").out
    assert run("dump", tmp_path / "out.nq", "-w", workspace).status == 0
    assert (tmp_path / "out.nq").stat().st_size > 1000
    assert run("documents", "remove", "西栅.txt", "-w", workspace).status == 0
    assert json.loads(run("documents", "-w", workspace, "--format", "json").out) == []


def test_sparql_is_run_in_every_form(run, workspace, tmp_path, monkeypatch):
    def query(*words):
        return run("query", "-w", workspace, *words)

    assert "1 statements asserted" in run("update", "-w", workspace, "-e", "INSERT DATA { kg:a kg:b '乌镇' }").out
    select = "SELECT ?z ?a { ?z kg:b ?a }"
    assert "乌镇" in query("-e", select).out
    assert query("-e", select, "--format", "csv").out == "z,a\r\nhttps://example.org/kg/a,乌镇\r\n"
    (tmp_path / "q.rq").write_text("ASK { kg:a kg:b ?x }")
    assert query(tmp_path / "q.rq").out == "yes\n"
    assert "kg:c" in query("-e", "CONSTRUCT { ?s kg:c ?o } WHERE { ?s kg:b ?o }").out
    wrong = query("-e", select, "--format", "turtle")
    assert (wrong.status, wrong.out) == (2, "")
    assert "--format can be table, json" in wrong.err
    (tmp_path / "latin.rq").write_bytes(b"ASK { ?s ?p '\xe9' }")
    for words in ([], ["-e", "ASK {}", "x.rq"], [tmp_path / "nowhere.rq"], [tmp_path], [tmp_path / "latin.rq"]):
        done = query(*words)
        assert (done.status, done.err.count("\n")) == (2, 1)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"\xff\xfe")))
    assert query("-").status == 2
    assert "is not valid UTF-8" in run("ask", "-w", workspace, "what\udcff").err
    place = "line 2, column 5: the prefix nope: is not declared\n  2 |  ?s nope:p ?o }"
    for verb, text, reason in (
        ("query", "SELECT * {\n ?s nope:p ?o }", place),
        *(("query", "DROP ALL", "use `kgplatform update`"), ("query", "", "column")),
        ("update", "SELECT * { ?s ?p ?o }", "use `kgplatform query`"),
        ("query", "SELECT * " + "{" * 5000, "the query nests 5000 deep; 200 is allowed"),
        ("query", "SELECT * { SERVICE <http://127.0.0.1/> {} }", "switched off"),
        ("update", "LOAD <http://127.0.0.1/x>", "use `kgplatform load` for files"),
    ):
        done = run(verb, "-w", workspace, "-e", text)
        assert (done.status, reason in done.err) == (1, True), text


def encrypted(path):
    writer = PdfWriter()
    writer.add_blank_page(100, 100)
    writer.encrypt("secret", algorithm="RC4-128")
    writer.write(path)


BAD_FILES: dict[str, bytes] = {
    "empty.txt": b"",
    "blank.md": b" \n\n ",
    "binary.txt": b"\x00\x01\x02\xff\xfe" * 40,
    "wrong.txt": "乌镇".encode() + b"\xff\xfe\x81" + "西栅很美".encode(),
    "large.txt": b"Wuzhen is large. " * 1000,
    "invalid.json": b'{"title": ',
    "invalid.csv": b'a,b\n"1,2\n',
    "truncated.pdf": b"%PDF-1.7\n1 0 obj",
    "page.pdf": b"no pdf at all",
}


def test_bad_files_are_reported_one_by_one_and_the_rest_goes_on(run, workspace, tmp_path):
    with (workspace / config.FILE).open("a") as file:
        file.write("[documents]\nmax_bytes = 10000\n")
    folder = tmp_path / "files"
    folder.mkdir()
    for name, data in BAD_FILES.items():
        (folder / name).write_bytes(data)
    encrypted(folder / "encrypted.pdf")
    (folder / "good.txt").write_text(NOTE)
    done = run("add", "-w", workspace, folder, "--format", "json")
    assert done.status == 1
    items = {Path(item["source"]).name: item for item in json.loads(done.out)}
    assert items.keys() == {*BAD_FILES, "encrypted.pdf", "good.txt"}
    assert items.pop("good.txt")["outcome"] == "added"
    for name, item in items.items():
        assert item["outcome"] == "failed", name
        assert item["error"], name
        assert "\n" not in item["error"], name
    assert "limit is 10,000 bytes" in items["large.txt"]["error"]
    assert "encrypted" in items["encrypted.pdf"]["error"] or "password" in items["encrypted.pdf"]["error"]
    listed = run("documents", "-w", workspace)
    assert f"{len(items)} failed" in listed.err
    assert run("documents", "retry", "-w", workspace).status == 1


def test_rdf_that_does_not_load_is_named_and_the_rest_goes_on(run, workspace, tmp_path):
    (tmp_path / "bad.ttl").write_text("<urn:a> <urn:b>\n <urn:c")
    (tmp_path / "good.ttl").write_text("<urn:a> <urn:b> <urn:c> .")
    done = run("load", "-w", workspace, tmp_path / "bad.ttl", tmp_path / "good.ttl", tmp_path / "nowhere.ttl")
    assert done.status == 1
    assert "1 statements read" in done.out
    assert "bad.ttl: line 2" in done.err
    assert "nowhere.ttl: cannot be read" in done.err
    assert run("load", "-w", workspace, tmp_path / "good.ttl", "--graph", "no iri").status != 0
    assert run("dump", "-w", workspace, "--graph", "urn:nothing").status == 1
    mistyped = run("dump", "-w", workspace, "--format", "turtel")
    assert (mistyped.status, "did you mean turtle?" in mistyped.err) == (2, True)


def test_a_model_server_that_is_down_fails_the_documents_not_the_command(run, workspace, tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    with (workspace / config.FILE).open("a") as file:
        file.write(f'[model]\nname = "m"\nurl = "http://127.0.0.1:{port}/v1"\nretries = 0\ntimeout_seconds = 2\n')
    for name in "ab":
        (tmp_path / f"{name}.txt").write_text(NOTE + name)
    done = run("add", "-w", workspace, tmp_path / "a.txt", tmp_path / "b.txt", "--format", "json")
    assert done.status == 1
    items = json.loads(done.out)
    assert [item["outcome"] for item in items] == ["failed", "failed"]
    assert all(f"127.0.0.1:{port}" in item["error"] for item in items)
    asked = run("ask", "-w", workspace, "Where is Xizha?", "--format", "json")
    assert json.loads(asked.out)["verdict"] in ("answered", "unanswerable", "unclear")


def test_what_is_not_there_is_named(run, workspace, tmp_path):
    done = run("ask", "-w", workspace, "Which hotels are near the moon?", "--format", "json")
    answer = json.loads(done.out)
    assert (done.status, answer["verdict"], answer["values"]) == (1, "unanswerable", [])
    for arguments in (["show", "Atlantis"], ["documents", "show", "x.txt"], ["documents", "remove", "x.txt"]):
        done = run(*arguments, "-w", workspace)
        assert (done.status, done.out, done.err.count("\n")) == (1, "", 1)
    assert run("documents", "remove", "-w", workspace).status == 2
    assert run("search", "anything", "-w", workspace).status == 1
    (tmp_path / "nothing").mkdir()
    (tmp_path / "nothing" / "photo.jpg").write_bytes(b"x")
    for name, reason in (("nothing", "nothing to read here"), ("nowhere", "does not exist")):
        done = run("add", "-w", workspace, tmp_path / name)
        assert done.status == 1
        assert reason in done.err
        assert ".pdf" in done.err


def test_doctor_reports_the_installation_and_the_workspace_and_token_the_line_that_lets_it_in(run, workspace, tmp_path):
    done = run("doctor", "-w", workspace)
    assert "pyoxigraph" in done.out
    assert str(workspace) in done.out
    assert "`kgplatform create DIR`" in run("doctor", "-w", tmp_path).out
    (workspace / config.FILE).write_text("nonsense = 1\n")
    broken = run("doctor", "-w", workspace)
    assert (broken.status, "FAULT" in broken.out) == (1, True)
    token = run("token", "ann", "read")
    assert token.out.startswith("kgp_")
    assert '"ann read sha256:' in token.err
    assert run("token", "two words", "read").status == 2


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ('[server]\ntokens = ["nonsense"]', "server.tokens: 'nonsense' is not 'NAME ROLE sha256:HASH'"),
        ('[server]\nhidden = ["guest"]', "server.hidden: 'guest' is not 'ROLE PATTERN'"),
        ('[server]\npublic_role = "guest"', "server.public_role: there is no role 'guest'"),
        ('[server]\ntraces = "localhost"', "server.traces"),
        ('[sign_in]\nissuer = "http://127.0.0.1:9"', "sign_in needs client, and roles such as 'staff read'"),
    ],
)
def test_doctor_tells_of_settings_that_serve_refuses(run, tmp_path, settings, said):
    folder = new_workspace(tmp_path / "kg", settings=settings)
    for words in (("doctor",), ("serve", "--port", "0")):
        done = run(*words, "-w", folder)
        assert done.status != 0
        assert said in done.out + done.err, words
    assert run("doctor", "-w", new_workspace(tmp_path / "right", settings="journal = true")).status == 0


@pytest.mark.slow
def test_the_demo_leaves_something_to_see_on_every_page(run, tmp_path):
    ran = run("demo", "academic", "--no-serve", "--folder", tmp_path / "demo")
    assert ran.status == 0
    assert "communities of closely connected entities" in ran.out
    assert "of 2 questions whose answers are known" in ran.out
    assert "published" not in ran.out
    workspace = tmp_path / "demo" / "academic"
    assert len(list((workspace / "evaluation").glob("*-questions"))) == 1
    assert json.loads(run("communities", "-w", workspace, "--format", "json").out)
