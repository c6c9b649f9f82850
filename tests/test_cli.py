"""The command line: one clear line for whatever is wrong, the right exit status, never a traceback."""

from __future__ import annotations

import io
import json
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from pypdf import PdfWriter

from kgplatform import config
from kgplatform.cli.main import main
from kgplatform.graph import KnowledgeGraph
from kgplatform.testing import HashEmbedder

NOTE = "Xizha is an attraction in Wuzhen. Tickets for Xizha cost 150 CNY.\n"


class Ran:
    """What a command printed and its status."""

    def __init__(self, status: int, out: str, err: str) -> None:
        self.status, self.out, self.err = status, out, err
        assert "Traceback" not in out + err


Run = Callable[..., Ran]


@pytest.fixture
def run(capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setattr(KnowledgeGraph, "embedder", HashEmbedder())

    def command(*arguments: str | Path) -> Ran:
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
def workspace(tmp_path: Path) -> Path:
    KnowledgeGraph.create(tmp_path / "workspace", ontology="travel").close()
    return tmp_path / "workspace"


def process(*arguments: str | Path, **options: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "kgplatform", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, **options)  # type: ignore[call-overload,no-any-return]


def test_the_help_is_quick_and_imports_nothing_heavy() -> None:
    code = (
        "import sys\nfrom kgplatform.cli.main import build_parser\nbuild_parser().format_help()\n"
        "print(sorted({'torch', 'numpy', 'pyoxigraph', 'lxml', 'jinja2', 'flask'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30)
    assert done.stdout == "[]\n"


def test_the_installed_command_runs_and_passes_its_status_on(tmp_path: Path) -> None:
    assert process("--version").stdout.startswith("kgplatform ")
    done = process("documents", "-w", tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"kgplatform: {tmp_path} is not a workspace")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (["crate", "x"], "'crate' is not one of the choices; did you mean create?"),
        (["it's"], '"it\'s" is not one of the choices'),
        (["documents", "lst"], "did you mean list?"),
        (["add", "x", "--no-biuld"], "there is no option --no-biuld; did you mean --no-build?"),
        (["query", "--fromat=json", "-e", "ASK {}"], "did you mean --format?"),
        (["query", "-e", "ASK {}", "--format", "jason"], "did you mean json?"),
        (["demo", "travle"], "did you mean travel?"),
        (["build", "--only", "lnk"], "did you mean link?"),
        (["ask"], "the following arguments are required: QUESTION; see --help"),
        ([], "the following arguments are required: VERB; see --help"),
        (["ask", "a", "b"], "'b' is one argument too many"),
        (["search", "x", "-k", "many"], "invalid int value: 'many'"),
    ],
)
def test_a_mistyped_word_gets_the_nearest_name(run: Run, arguments: list[str], hint: str) -> None:
    done = run(*arguments)
    assert done.status == 2
    assert hint in done.err
    assert done.err.startswith("kgplatform: ")
    assert done.err.count("\n") == 1


def test_a_mistyped_setting_gets_the_nearest_name(run: Run, workspace: Path) -> None:
    with (workspace / config.FILE).open("a") as file:
        file.write("[documents]\nmax_byte = 3\n")
    done = run("documents", "-w", workspace)
    assert done.status == 2
    assert "documents.max_byte is not a setting; did you mean documents.max_bytes?" in done.err


def test_a_mistyped_ontology_gets_the_nearest_name(run: Run, tmp_path: Path) -> None:
    done = run("create", tmp_path / "new", "--ontology", "acadmic")
    assert done.status != 0
    assert "did you mean academic?" in done.err
    assert not (tmp_path / "new").exists()


def test_a_workspace_of_another_version_says_what_to_do(run: Run, workspace: Path) -> None:
    (workspace / config.FILE).write_text("version = 9\nnew_setting = 1\n")
    done = run("documents", "-w", workspace)
    assert done.status == 2
    assert "has format 9, this kgplatform reads format 1" in done.err


def test_a_workspace_open_in_another_process_says_so(run: Run, workspace: Path) -> None:
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


def test_a_tour_of_the_verbs(run: Run, workspace: Path, tmp_path: Path) -> None:
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
    found = json.loads(run("search", "Xizha tickets", "-w", workspace, "--format", "json").out)
    assert found[0]["quote"] in NOTE
    assert "150" in run("show", "Xizha", "-w", workspace).out
    assert json.loads(run("show", "Xizha", "-w", workspace, "--format", "json").out)["label"] == "Xizha"
    assert "Xizha" in run("show", "Xizha", "-w", workspace, "--format", "turtle").out
    assert run("dump", tmp_path / "out.nq", "-w", workspace).status == 0
    assert (tmp_path / "out.nq").stat().st_size > 1000
    assert run("documents", "remove", "西栅.txt", "-w", workspace).status == 0
    assert json.loads(run("documents", "-w", workspace, "--format", "json").out) == []


def test_sparql_is_run_in_every_form(run: Run, workspace: Path, tmp_path: Path) -> None:
    assert "1 statements asserted" in run("update", "-w", workspace, "-e", "INSERT DATA { kg:a kg:b '乌镇' }").out
    select = "SELECT ?z ?a { ?z kg:b ?a }"
    assert "乌镇" in run("query", "-w", workspace, "-e", select).out
    assert (
        run("query", "-w", workspace, "-e", select, "--format", "csv").out == "z,a\r\nhttps://example.org/kg/a,乌镇\r\n"
    )
    (tmp_path / "q.rq").write_text("ASK { kg:a kg:b ?x }")
    assert run("query", tmp_path / "q.rq", "-w", workspace).out == "yes\n"
    graph = run("query", "-w", workspace, "-e", "CONSTRUCT { ?s kg:c ?o } WHERE { ?s kg:b ?o }")
    assert "kg:c" in graph.out
    wrong = run("query", "-w", workspace, "-e", select, "--format", "turtle")
    assert (wrong.status, wrong.out) == (2, "")
    assert "--format can be table, json" in wrong.err


@pytest.mark.parametrize(
    ("verb", "text", "reason"),
    [
        (
            "query",
            "SELECT * {\n ?s nope:p ?o }",
            "line 2, column 5: the prefix nope: is not declared\n  2 |  ?s nope:p ?o }",
        ),
        ("query", "DROP ALL", "use `kgplatform update`"),
        ("update", "SELECT * { ?s ?p ?o }", "use `kgplatform query`"),
        ("query", "SELECT * " + "{" * 5000, "the query nests 5000 deep; 200 is allowed"),
        ("query", "SELECT * { SERVICE <http://127.0.0.1/> {} }", "switched off"),
        ("update", "LOAD <http://127.0.0.1/x>", "use `kgplatform load` for files"),
        ("query", "", "column"),
    ],
)
def test_sparql_that_is_not_run_says_why(run: Run, workspace: Path, verb: str, text: str, reason: str) -> None:
    done = run(verb, "-w", workspace, "-e", text)
    assert done.status == 1
    assert reason in done.err


def test_sparql_comes_from_one_place_and_as_text(
    run: Run, workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "latin.rq").write_bytes(b"ASK { ?s ?p '\xe9' }")
    for arguments in ([], ["-e", "ASK {}", "x.rq"], [tmp_path / "nowhere.rq"], [tmp_path], [tmp_path / "latin.rq"]):
        done = run("query", "-w", workspace, *arguments)
        assert (done.status, done.err.count("\n")) == (2, 1)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"\xff\xfe")))
    assert run("query", "-w", workspace, "-").status == 2
    assert "is not valid UTF-8" in run("ask", "-w", workspace, "what\udcff").err


def encrypted(path: Path) -> None:
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


def test_bad_files_are_reported_one_by_one_and_the_rest_goes_on(run: Run, workspace: Path, tmp_path: Path) -> None:
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


@pytest.mark.parametrize(("name", "reason"), [("nothing", "nothing to read here"), ("nowhere", "does not exist")])
def test_a_folder_without_documents_says_what_can_be_read(
    run: Run, workspace: Path, tmp_path: Path, name: str, reason: str
) -> None:
    (tmp_path / "nothing").mkdir()
    (tmp_path / "nothing" / "photo.jpg").write_bytes(b"x")
    done = run("add", "-w", workspace, tmp_path / name)
    assert done.status == 1
    assert reason in done.err
    assert ".pdf" in done.err


def test_rdf_that_does_not_load_is_named_and_the_rest_goes_on(run: Run, workspace: Path, tmp_path: Path) -> None:
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


def test_a_model_server_that_is_down_fails_the_documents_not_the_command(
    run: Run, workspace: Path, tmp_path: Path
) -> None:
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


def test_an_unanswerable_question_has_status_one_and_says_so(run: Run, workspace: Path) -> None:
    done = run("ask", "-w", workspace, "Which hotels are near the moon?", "--format", "json")
    answer = json.loads(done.out)
    assert (done.status, answer["verdict"]) == (1, "unanswerable")
    assert answer["values"] == []


def test_what_is_not_there_is_named(run: Run, workspace: Path) -> None:
    for arguments in (["show", "Atlantis"], ["documents", "show", "x.txt"], ["documents", "remove", "x.txt"]):
        done = run(*arguments, "-w", workspace)
        assert (done.status, done.out, done.err.count("\n")) == (1, "", 1)
    assert run("documents", "remove", "-w", workspace).status == 2
    assert run("search", "anything", "-w", workspace).status == 1


def test_doctor_reports_the_installation_and_the_workspace(run: Run, workspace: Path, tmp_path: Path) -> None:
    done = run("doctor", "-w", workspace)
    assert "pyoxigraph" in done.out
    assert str(workspace) in done.out
    assert "`kgplatform create DIR`" in run("doctor", "-w", tmp_path).out
    (workspace / config.FILE).write_text("nonsense = 1\n")
    broken = run("doctor", "-w", workspace)
    assert broken.status == 1
    assert "FAULT" in broken.out
