"""The rules of the house that neither ruff nor mypy holds: rooms, floors, names, sizes, errors, tidy text."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path
from statistics import quantiles

from tools import rooms

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "kgplatform"

FILE_LINES = 1_000
ROOM_FILES = 15
LOOSE_FILES = 12
NAMED_FOR_A_STAGE = frozenset({"chunking", "linking", "mapping", "reasoning"})
NOUNS_LIKE_IT = frozenset({"delimited", "embed", "encoding", "feed", "zipped"})  # kinds of files, a verb of the field

# Pages, interfaces, verbs, readers and kinds of tables are doors by where they lie; any other module that one module
# alone imports says here why it is apart.
DOORS = ("server.pages.", "server.interfaces.", "cli.", "packs.", "documents.readers.", "documents.tables.")
MOST_WITH_ONE_IMPORTER = 26
ONE_IMPORTER = {
    "cluster.backup": "a door: backup, restore, move",
    "evaluation.gold_reports": "a door: what `evaluate` prints and keeps",
    "evaluation.retrievers": "a door: `benchmark retrieval`",
    "extraction.key_values": "a stage of the built-in reader",
    "extraction.learnt.fit": "the teaching of the built-in reader, which alone needs PyTorch",
    "linking.places.hierarchy": "a stage: what documented places lie in",
    "mapping.schema_inference": "a door: `ontology draft`",
    "ontology.parse": "a stage: from a file to triples",
    "ontology.reasoner": "a process of its own",
    "questions.dialogue.follow_up": "a stage of a conversation",
    "questions.dialogue.lookups": "a stage of a conversation",
    "questions.name_forms": "a stage: other forms of names",
    "questions.parser.comparisons": "a stage of the parser",
    "questions.passages.source_choice": "a stage: which source answers",
    "questions.verification": "a stage: whether an answer is of what was asked",
    "reasoning.materialization": "a stage: conclusions by rules",
    "retrieval.picture": "a door: `search --plot`",
    "retrieval.web_search": "a door to the web",
    "server.app": "the door of the server",
    "server.graph_store": "a door: /graphs",
    "server.tenants": "a door: workspaces below their paths, and what roles see of them",
    "sparql.algebra": "a stage: whether two queries say the same; only `sparql` looks into queries",
    "sparql.service": "a stage: SERVICE blocks; only `sparql` looks into queries",
    "store.federation": "a door to other endpoints",
    "workspace.large_tables": "a stage: tables of millions of rows",
    "workspace.sparql_calls": "a stage: what SERVICE blocks ask for",
}
FUNCTION_LINES = 80
FUNCTION_LINES_P95 = 45
BYTES = 1_000_000

BANNED = frozenset(
    {
        *("manager", "service", "handler", "helper", "helpers", "util", "utils", "impl"),
        *("engine", "orchestrator", "advanced", "enhanced", "processor"),
    }
)
BANNED_IN_CLASSES = BANNED | {"base"}  # elsewhere "base" is the base IRI

BROAD = frozenset({"Exception", "BaseException"})
# Where a handler may catch everything, as "file:function"; one that ends by raising again needs no leave.
MAY_CATCH_ALL: frozenset[str] = frozenset()

# The doors to the terminal and to the environment.
MAY_PRINT = ("cli.py", "cli/")
MAY_READ_ENVIRONMENT = ("settings.py",)
ENVIRONMENT = frozenset({"environ", "environb", "getenv", "getenvb"})

# Each is written so that it does not match itself.
LEAKS = {
    "a path of the machine it was written on": r"(?<![\w./])/(?:wor[k]|hom[e]/\w+|roo[t])/",
    "the host of a package registry": r"\bpyp[i]\.org|files\.pythonhoste[d]|npmj[s]\.(?:com|org)",
    "who or what wrote it": r"(?i)\banthropi[c]\b|\bclaud[e]\b(?! shannon)|\bcopilo[t]\b",
    "how it was written": r"(?i)\b(?:AI|helper) (?:assistan[t]|agen[t])s?\b",
    "a conflict that was not resolved": r"(?m)^(?:<{7}|>{7}) ",
}
TEXT = {
    *(".cff", ".cfg", ".css", ".csv", ".digest", ".html", ".j2", ".js", ".json", ".md", ".mjs", ".py", ".rq", ".rst"),
    *(".sh", ".svg", ".toml", ".ts", ".tsx", ".ttl", ".txt", ".yaml", ".yml", ""),
}

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True)
class Module:
    """A module of the package: its path below the package, its lines, and its syntax tree."""

    name: str
    lines: int
    tree: ast.Module

    def functions(self) -> Iterator[Function]:
        return (node for node in ast.walk(self.tree) if isinstance(node, Function))

    def place(self, node: ast.AST) -> str:
        return f"kgplatform/{self.name}:{getattr(node, 'lineno', 0)}"


@cache
def modules() -> tuple[Module, ...]:
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        found.append(Module(path.relative_to(PACKAGE).as_posix(), text.count("\n"), ast.parse(text)))
    return tuple(found)


@cache
def kept_files() -> tuple[Path, ...]:
    """The files that git keeps or would keep; without a checkout all that are no by-product."""
    if (ROOT / ".git").exists():
        command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\0")
        found = [ROOT / name for name in listed if name]
    else:
        found = [path for path in ROOT.rglob("*") if not any(part.startswith((".", "__py")) for part in path.parts)]
        made = (ROOT / "kgplatform" / "server" / "static", ROOT / "frontend" / "node_modules")
        found = [path for path in found if not any(path.is_relative_to(folder) for folder in made)]
    return tuple(path for path in found if path.is_file())


def public(body: list[ast.stmt]) -> Iterator[Function | ast.ClassDef]:
    """The functions and classes in a body whose names do not begin with an underscore, and those in such classes."""
    for node in body:
        if isinstance(node, Function | ast.ClassDef) and not node.name.startswith("_"):
            yield node
            if isinstance(node, ast.ClassDef):
                yield from public(node.body)


def words(name: str) -> set[str]:
    """The words of a name in snake_case or CamelCase, in lower case."""
    return {word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)}


def length(function: Function) -> int:
    first = min([function.lineno, *(decorator.lineno for decorator in function.decorator_list)])
    return (function.end_lineno or function.lineno) - first + 1


def is_broad(handler: ast.ExceptHandler) -> bool:
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(kind is None or (isinstance(kind, ast.Name) and kind.id in BROAD) for kind in kinds)


def raises_again(handler: ast.ExceptHandler) -> bool:
    return isinstance(handler.body[-1], ast.Raise) and handler.body[-1].exc is None


def test_modules_import_only_from_the_floors_below() -> None:
    line = "from importlinter.cli import lint_imports_command; lint_imports_command()"
    done = subprocess.run(
        [sys.executable, "-c", line, "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr


def test_every_module_stands_on_a_floor() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = [item for item in settings["tool"]["importlinter"]["contracts"] if item["type"] == "layers"]
    floors = {
        name.strip() for contract in contracts for layer in contract["layers"] for name in re.split("[|:]", layer)
    }
    tops = {f"kgplatform.{module.name.removesuffix('.py').split('/')[0]}" for module in modules()}
    assert tops - {"kgplatform.__init__", "kgplatform.__main__"} - floors == set()


def test_imports_are_absolute() -> None:
    found = [
        module.place(node)
        for module in modules()
        for node in ast.walk(module.tree)
        if isinstance(node, ast.ImportFrom) and node.level
    ]
    assert found == []


def test_no_public_name_uses_a_word_that_says_nothing() -> None:
    found = []
    for module in modules():
        stem = Path(module.name).stem
        if words(stem) & BANNED and module.name != "sparql/service.py":  # SERVICE is a word of SPARQL
            found.append(f"kgplatform/{module.name}")
        for node in public(module.tree.body):
            banned = BANNED_IN_CLASSES if isinstance(node, ast.ClassDef) else BANNED
            if words(node.name) & banned:
                found.append(f"{module.place(node)} {node.name}")
    assert found == []


def test_public_functions_and_classes_say_what_they_are() -> None:
    found = [
        f"{module.place(node)} {node.name}"
        for module in modules()
        for node in public(module.tree.body)
        if ast.get_docstring(node) is None and not is_variant(node)
    ]
    assert found == []


def is_variant(node: Function | ast.ClassDef) -> bool:
    """Whether the documentation stands elsewhere: an overload, a setter, an override marked as one."""
    names = {name.attr if isinstance(name, ast.Attribute) else getattr(name, "id", "") for name in node.decorator_list}
    return bool(names & {"overload", "setter", "override"})


def test_modules_say_what_they_are_for() -> None:
    assert [module.name for module in modules() if module.tree.body and ast.get_docstring(module.tree) is None] == []


def test_files_are_short() -> None:
    found = [f"kgplatform/{module.name}: {module.lines}" for module in modules() if module.lines >= FILE_LINES]
    assert found == []


def test_rooms_hold_few_files() -> None:
    rooms = Counter(Path(module.name).parent.as_posix() for module in modules() if not module.name.endswith("__.py"))
    assert {room: count for room, count in rooms.items() if count > (LOOSE_FILES if room == "." else ROOM_FILES)} == {}


def test_rooms_keep_to_their_budgets() -> None:
    allowed = rooms.budgets()
    found = {room: lines for room, (lines, _) in rooms.sizes().items()}
    assert set(found) == set(allowed)
    assert {room: lines for room, lines in found.items() if lines > allowed[room]} == {}


def test_no_two_files_and_no_two_public_classes_share_a_name() -> None:
    files = Counter(Path(module.name).name for module in modules() if not module.name.endswith("__.py"))
    assert [name for name, count in files.items() if count > 1] == []
    classes: dict[str, list[str]] = {}
    for module in modules():
        for node in module.tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                classes.setdefault(node.name, []).append(module.name)
    assert {name: places for name, places in classes.items() if len(places) > 1} == {}


def test_files_are_called_by_nouns() -> None:
    found = []
    for module in modules():
        last = Path(module.name).stem.split("_")[-1]
        if last.endswith(("ing", "ed")) and last not in NAMED_FOR_A_STAGE | NOUNS_LIKE_IT:
            found.append(module.name)
    assert found == []


def test_a_module_with_one_importer_is_a_stage_or_a_door() -> None:
    every = rooms.sources()
    names = frozenset(source.name for source in every)
    importers: dict[str, set[str]] = {}
    for source in every:
        for other in rooms.imports(source, names):
            importers.setdefault(other, set()).add(source.name)
    packages = {source.name for source in every if source.path.name == "__init__.py"}
    alone = {name for name, by in importers.items() if len(by) == 1 and not name.startswith(DOORS)} - packages
    assert alone == ONE_IMPORTER.keys()
    assert len(ONE_IMPORTER) <= MOST_WITH_ONE_IMPORTER


def test_imports_form_no_circle() -> None:
    every = rooms.sources()
    names = frozenset(source.name for source in every)
    sorter = TopologicalSorter({source.name: set(rooms.imports(source, names, lazy=False)) for source in every})
    sorter.prepare()


def test_functions_are_short() -> None:
    found = [
        f"{module.place(function)} {function.name}: {length(function)}"
        for module in modules()
        for function in module.functions()
        if length(function) >= FUNCTION_LINES
    ]
    assert found == []


def test_functions_are_short_as_a_rule() -> None:
    lengths = [length(function) for module in modules() for function in module.functions()]
    assert quantiles(lengths, n=20)[-1] < FUNCTION_LINES_P95


def test_handlers_name_what_they_catch() -> None:
    found = []
    for module in modules():
        for function in module.functions():
            allowed = f"{module.name}:{function.name}" in MAY_CATCH_ALL
            handlers = (node for node in ast.walk(function) if isinstance(node, ast.ExceptHandler))
            found += [
                module.place(node) for node in handlers if is_broad(node) and not raises_again(node) and not allowed
            ]
    assert found == []


def test_only_the_command_line_prints() -> None:
    found = [
        module.place(node)
        for module in modules()
        if not module.name.startswith(MAY_PRINT)
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"
    ]
    assert found == []


def test_only_the_settings_read_the_environment() -> None:
    found = []
    for module in modules():
        nodes = [] if module.name.startswith(MAY_READ_ENVIRONMENT) else list(ast.walk(module.tree))
        written = {
            id(node.value) for node in nodes if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store)
        }
        found += [module.place(node) for node in nodes if reads_environment(node) and id(node) not in written]
    assert found == []


def reads_environment(node: ast.AST) -> bool:
    """Whether this is ``os.environ`` or one of its kin, or brings it in by name."""
    if isinstance(node, ast.ImportFrom):
        return node.module == "os" and bool({item.name for item in node.names} & ENVIRONMENT)
    return (
        isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == "os"
        and node.attr in ENVIRONMENT
    )


def test_no_kept_text_tells_of_the_workshop() -> None:
    found = []
    for path in kept_files():
        if path.suffix not in TEXT:
            continue
        text = path.read_text(encoding="utf-8", errors="replace")
        name = path.relative_to(ROOT).as_posix()
        for what, pattern in LEAKS.items():
            place = re.search(pattern, text)
            if place:
                found.append(f"{name}:{text.count(chr(10), 0, place.start()) + 1}: {what}: {place.group()!r}")
    assert found == []


def test_no_large_file_is_kept_but_as_an_example() -> None:
    found = [path.relative_to(ROOT).as_posix() for path in kept_files() if path.stat().st_size > BYTES]
    learnt = {  # some MB of weights each; the pages say what they are
        "kgplatform/extraction/learnt/sentence_network.safetensors",
        "kgplatform/questions/forms/intent.safetensors",
        "kgplatform/questions/passages/answering.safetensors",
    }
    assert [name for name in found if not name.startswith("examples/") and name not in learnt] == []
