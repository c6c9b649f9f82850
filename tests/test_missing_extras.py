"""Without the packages of an extra, each command and class that needs one ends in a line that says what to install."""

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from workspaces import new_workspace

ROOT = Path(__file__).resolve().parents[1]
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
MODULES = {
    "cluster": ("distributed", "pg8000", "s3fs"),
    "langchain": ("langchain_core",),
    "llamaindex": ("llama_index",),
    "polars": ("polars",),
    "sign-in": ("authlib",),
    "traces": ("opentelemetry",),
}
"""What each extra brings, by the names that are imported."""
SIGN_IN = '[sign_in]\nissuer = "http://127.0.0.1:9"\nclient = "kg"\nroles = ["staff read"]'
COMMANDS = {
    "read on a cluster": ("cluster", "", ("add", "{file}", "--cluster", "local")),
    "back up into a bucket": ("cluster", "journal = true", ("backup", "s3://bucket/kg")),
    "move the journal into a database": ("cluster", "journal = true", ("move", "--to", "postgresql://a@127.0.0.1/b")),
    "sign in": ("sign-in", SIGN_IN, ("serve", "--port", "0")),
    "trace": ("traces", '[server]\ntraces = "http://127.0.0.1:9"', ("serve", "--port", "0")),
}
STATEMENTS = {
    "retrieve for LangChain": ("langchain", "from kgplatform.interop.langchain_retriever import LangChainRetriever"),
    "retrieve for LlamaIndex": (
        "llamaindex",
        "from kgplatform.interop.llama_index_retriever import LlamaIndexRetriever",
    ),
    "rows as a frame of polars": (
        "polars",
        "from kgplatform.types import Solutions; Solutions(('n',), ()).to_polars()",
    ),
}
WITHOUT = """
import contextlib, io, json, sys

asked = json.load(sys.stdin)
sys.modules.update(dict.fromkeys(asked["blocked"]))

from kgplatform.cli.main import main

found = {}
for name, words in asked["commands"].items():
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as err:
        status = main(words)
    found[name] = [status, out.getvalue(), err.getvalue()]
for name, statement in asked["statements"].items():
    try:
        exec(statement, {})
    except Exception as error:
        found[name] = [2, "", f"{error}\\n"]
json.dump(found, sys.stdout)
"""


@pytest.fixture(scope="module")
def doors(tmp_path_factory):
    """What each command and class says in a process that can import nothing of any extra."""
    folder = tmp_path_factory.mktemp("without")
    (folder / "note.txt").write_text("Lakeside Inn is a hotel in Wuzhen.", encoding="utf-8")
    commands = {}
    for number, (name, (_, settings, words)) in enumerate(COMMANDS.items()):
        workspace = new_workspace(folder / str(number), settings=settings)
        commands[name] = [*(word.format(file=folder / "note.txt") for word in words), "-w", str(workspace)]
    asked = {
        "blocked": [module for modules in MODULES.values() for module in modules],
        "commands": commands,
        "statements": {name: statement for name, (_, statement) in STATEMENTS.items()},
    }
    ran = subprocess.run(
        [sys.executable, "-c", WITHOUT],
        input=json.dumps(asked),
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


def test_every_extra_has_a_door():
    assert MODULES.keys() == EXTRAS.keys()
    assert {extra for extra, *_ in (*COMMANDS.values(), *STATEMENTS.values())} == EXTRAS.keys()


@pytest.mark.parametrize("name", [*COMMANDS, *STATEMENTS])
def test_one_line_names_the_extra_to_install(doors, name):
    extra, *_ = COMMANDS.get(name) or STATEMENTS[name]
    status, out, err = doors[name]
    assert (status, out) == (2, ""), err
    assert err.count("\n") == 1, err
    assert f"pip install 'kgplatform[{extra}]'" in err
