"""Arguments and the way in; the verbs themselves are imported when one is called, so that ``--help`` is quick."""

from __future__ import annotations

import argparse
import ast
import difflib
import importlib
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

from kgplatform.cli import ask_options, rdf_arguments, study_options
from kgplatform.cli.delegating import carried_out
from kgplatform.errors import ConfigError, KgPlatformError, QuerySyntaxError, WorkspaceError, WorkspaceHeldError

if TYPE_CHECKING:
    _Verbs: TypeAlias = "argparse._SubParsersAction[_Parser]"

DONE, SHORT, MISUSED = 0, 1, 2
_MISUSES = (ConfigError, WorkspaceError)
_LONG = frozenset({"add", "benchmark", "build", "check", "demo", "documents", "evaluate", "load", "ontology", "serve"})
"""Verbs that may hold a workspace for long."""


_RDF_FORMATS = "turtle, ntriples, nquads, trig, rdfxml or jsonld (default: by suffix)"


def _path_or_address(text: str) -> Path | str:
    return text if text[:8].lower().startswith(("http://", "https://")) else Path(text)


class _Parser(argparse.ArgumentParser):
    """An argument parser that offers the nearest name for a mistyped verb, option or value."""

    def error(self, message: str) -> NoReturn:
        """Prints one line and exits with 2."""
        sys.stderr.write(f"kgplatform: {_with_hint(message, _known_words(self))}\n")
        raise SystemExit(MISUSED)


def _known_words(parser: argparse.ArgumentParser) -> list[str]:
    known: list[str] = []
    for action in parser._actions:
        known.extend(action.option_strings)
        if action.choices:
            known.extend(str(choice) for choice in action.choices)
            for sub in action.choices.values() if isinstance(action.choices, dict) else ():
                known.extend(option for item in sub._actions for option in item.option_strings)
    return known


def _with_hint(message: str, known: Sequence[str]) -> str:
    if "invalid choice:" in message:
        wrong = str(ast.literal_eval(message.partition("invalid choice: ")[2].partition(" (choose from ")[0]))
        message = f"{wrong!r} is not one of the choices"
    elif "unrecognized arguments:" in message:
        wrong = message.partition("unrecognized arguments: ")[2].split()[0]
        message = f"there is no option {wrong}" if wrong.startswith("-") else f"{wrong!r} is one argument too many"
    else:
        return f"{message}; see --help"
    near = difflib.get_close_matches(wrong.partition("=")[0], known, n=1, cutoff=0.5)
    return f"{message}; did you mean {near[0]}?" if near else f"{message}; see --help"


def build_parser() -> argparse.ArgumentParser:
    """The parser of the whole command line."""
    from kgplatform import __version__

    parser = _Parser(
        prog="kgplatform",
        description="Documents and tables in, a linked-data knowledge graph out: ask it, query it, serve it.",
        epilog="exit status: 0 done, 1 the data or the answer falls short, 2 used wrongly",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"kgplatform {__version__}")
    verbs: _Verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True, parser_class=_Parser)
    for declare in (_making, _linking, _reading, _asking, _placing, _measuring, _running):
        declare(verbs)
    return parser


def _verb(verbs: _Verbs, name: str, text: str, *, workspace: bool = True) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = verbs.add_parser(name, help=text, description=text, allow_abbrev=False)
    if workspace:
        default = Path()
        parser.add_argument(
            "-w", "--workspace", type=Path, default=default, metavar="DIR", help="the workspace (default: here)"
        )
    return parser


def _making(verbs: _Verbs) -> None:
    create = _verb(verbs, "create", "make a new workspace", workspace=False)
    create.add_argument("folder", type=Path, metavar="DIR")
    create.add_argument(
        "--ontology",
        action="append",
        default=[],
        metavar="NAME|FILE",
        help="travel, academic, airport, or a file; repeat for more",
    )
    _importing(create)
    create.add_argument(
        "--base", default="https://example.org/kg/", metavar="IRI", help="where the workspace's IRIs begin"
    )

    add = _verb(verbs, "add", "read documents and tables, extract, link and index them")
    add.add_argument("paths", nargs="+", type=_path_or_address, metavar="PATH")
    add.add_argument(
        "--policy",
        choices=("accept", "quarantine", "refuse"),
        help="what becomes of a document that violates shapes (default: as the settings say)",
    )
    add.add_argument(
        "--mapping", type=Path, metavar="FILE", help="read tables by this YARRRML (.yml) or RML (.ttl) mapping"
    )
    add.add_argument(
        "--estimate", action="store_true", help="only say what a model would be asked and cost, without asking it"
    )
    add.add_argument("--no-build", action="store_true", help="leave linking and indexing to a later `build`")
    _formatted(add, "text", "json")

    learn = _verb(verbs, "learn", "teach the built-in reader by annotated examples")
    learn.add_argument("file", type=Path, metavar="FILE", help="texts with their triples, as JSON Lines")
    _formatted(learn, "text", "json")

    mapping = _verb(verbs, "mapping", "draft the mapping of a table, without adding it")
    mapping.add_argument("file", type=Path, metavar="FILE")
    mapping.add_argument(
        "--ontology", action="append", default=[], metavar="NAME|FILE", help="instead of the workspace's; repeatable"
    )
    mapping.add_argument("--output", type=Path, metavar="FILE", help="write the mapping here (default: stdout)")

    documents = _verb(verbs, "documents", "list, show, retry, release or remove documents")
    documents.add_argument("action", nargs="?", default="list", choices=("list", "show", "retry", "release", "remove"))
    documents.add_argument("name", nargs="?", help="path, title, hash or IRI of a document")
    _formatted(documents, "text", "json")

    build = _verb(verbs, "build", "link names, draw conclusions and index passages from what was read")
    build.add_argument(
        "--only",
        choices=("link", "infer", "communities", "index"),
        metavar="STAGE",
        help="link, infer, communities or index",
    )


def _linking(verbs: _Verbs) -> None:
    links = _verb(verbs, "links", "the names that were taken for one thing, with score and reason")
    links.add_argument("name", nargs="?", metavar="NAME|IRI", help="only those of this name or thing")
    links.add_argument("--apart", action="store_true", help="instead the names that are kept apart by decision")
    links.add_argument("--language", default="en", metavar="CODE", help="of labels and reasons (default: en)")
    _formatted(links, "text", "json")

    unlink = _verb(verbs, "unlink", "keep two names apart, now and whenever names are linked")
    unlink.add_argument("first", metavar="NAME", help="a name, or the IRI that it had by itself")
    unlink.add_argument("second", metavar="NAME")
    unlink.add_argument("--undo", action="store_true", help="forget the decision")

    link = _verb(verbs, "link", "measure linking against gold, or take up identities from elsewhere")
    link.add_argument("action", choices=("calibrate", "external"))
    link.add_argument(
        "source", metavar="FILE|URL", help="calibrate: things with their names, as JSON Lines; external: CSV"
    )
    link.add_argument("--precision", type=float, default=0.97, metavar="P", help="calibrate: at least so precise")
    link.add_argument("--type", metavar="ID", help="external: only candidates of this type of the service")
    link.add_argument("--least", type=float, default=0.9, metavar="S", help="external: the least score (default: 0.9)")
    _formatted(link, "text", "json")


def _reading(verbs: _Verbs) -> None:
    rdf_arguments.declare(lambda name, text: _verb(verbs, name, text))


def _asking(verbs: _Verbs) -> None:
    ask = _verb(verbs, "ask", "answer a question in English or Chinese")
    ask.add_argument("question", metavar="QUESTION")
    ask_options.add_ask_options(ask)
    _formatted(ask, "text", "json")

    query = _verb(verbs, "query", "run a SPARQL query")
    _sparql(query)
    formats = ("table", "json", "xml", "csv", "tsv", "turtle", "ntriples", "rdfxml", "jsonld")
    query.add_argument("--format", choices=formats, metavar="NAME", help=", ".join(formats))
    rdf_arguments.timed(query)
    _sparql(_verb(verbs, "update", "run a SPARQL update"))

    search = _verb(verbs, "search", "find passages")
    search.add_argument("text", metavar="TEXT")
    search.add_argument("-k", type=int, default=10, metavar="N", help="how many (default: 10)")
    search.add_argument("--retriever", default="hybrid", metavar="NAME", help="how to find them (default: hybrid)")
    search.add_argument("--plot", type=Path, metavar="FILE", help="draw what was done: a .png, .svg or .pdf file")
    _formatted(search, "text", "json")

    why = _verb(verbs, "why", "why a statement holds: its passages, or the premises it follows from")
    for name in ("subject", "predicate", "object"):
        why.add_argument(name, metavar=name.upper(), help="a name, a name with prefix, or an IRI")
    _formatted(why, "text", "json")

    _studying(verbs)
    _checking(verbs)

    show = _verb(verbs, "show", "what the graph says about one thing")
    show.add_argument("name", metavar="IRI|NAME")
    rdf_arguments.timed(show)
    _formatted(show, "text", "json", "turtle")


def _studying(verbs: _Verbs) -> None:
    communities = _verb(verbs, "communities", "the groups of closely tied things, with a report on each")
    communities.add_argument("name", nargs="?", metavar="IRI|NAME", help="only this one, or those of this thing")
    communities.add_argument("--level", type=int, metavar="N", help="only this level; 0 is the coarsest")
    communities.add_argument("--refresh", action="store_true", help="find them anew first")
    communities.add_argument("--language", default="en", metavar="CODE", help="of titles and reports (default: en)")
    _formatted(communities, "text", "json")

    courses = _verb(verbs, "courses", "the courses with gaps and overlaps, or the way to one")
    courses.add_argument("course", nargs="?", metavar="COURSE", help="the goal: a course, or a concept to learn")
    courses.add_argument("--known", action="append", default=[], metavar="COURSE", help="a course taken; repeatable")
    courses.add_argument("--language", default="en", metavar="CODE", help="of names (default: en)")
    _formatted(courses, "text", "json")

    literature = _verb(verbs, "literature", "a digest of the papers, or chosen ones compared")
    literature.add_argument("topic", nargs="?", metavar="TOPIC", help="what to look for: lists the papers that fit")
    literature.add_argument(
        "--compare", action="append", default=[], metavar="PAPER", help="read this one in full; repeat for more"
    )
    literature.add_argument("--no-model", action="store_true", help="the papers' own sentences, without a model")
    literature.add_argument("--language", default="en", metavar="CODE", help="of names and texts (default: en)")
    _formatted(literature, "text", "json")


def _checking(verbs: _Verbs) -> None:
    check = _verb(verbs, "check", "hold the graph against its ontology, its shapes and its evidence")
    check.add_argument("--fix", action="store_true", help="repair what is safe first, and say what was done")
    check.add_argument(
        "--shapes", action="append", default=[], type=Path, metavar="FILE", help="SHACL shapes of one's own; repeatable"
    )
    check.add_argument("--document", metavar="NAME", help="only what this document speaks of")
    _formatted(check, "table", "json", "turtle")

    ontology = _verb(verbs, "ontology", "show, check, compare, draft or update ontologies")
    ontology.add_argument("action", nargs="?", default="tree", choices=_ONTOLOGY_ACTIONS)
    ontology.add_argument("files", nargs="*", metavar="FILE", help="ontologies; for draft RDF or a table")
    _importing(ontology)
    ontology.add_argument("--dry-run", action="store_true", help="update: only say what would change")
    ontology.add_argument(
        "--replace", action="append", default=[], metavar="OLD=NEW", help="update: NEW replaces OLD; repeatable"
    )
    ontology.add_argument(
        "--without", action="append", default=[], metavar="NAME", help="update: no longer use this one; repeatable"
    )
    ontology.add_argument(
        "--model", action="store_true", help="draft: let the language model of the settings propose names and comments"
    )
    ontology.add_argument("--iri", metavar="IRI", help="what a drafted ontology is called")
    _formatted(ontology, "text", "json")


def _measuring(verbs: _Verbs) -> None:
    testset = _verb(verbs, "testset", "make gold questions, to measure with `evaluate` and `benchmark`")
    testset.add_argument("of", choices=("graph", "documents", "table", "users", "airport"), help="made from")
    testset.add_argument("out", type=Path, metavar="FILE", help="where to write them, as JSON Lines")
    testset.add_argument("--count", type=int, default=100, metavar="N", help="at most so many (default: 100)")
    testset.add_argument("--seed", type=int, default=0, metavar="N", help="draw others (default: 0)")
    testset.add_argument(
        "--language", action="append", metavar="CODE", help="of the questions; repeatable (default: en)"
    )
    testset.add_argument(
        "--test", type=float, metavar="SHARE", help="divide: so much development, the rest for testing"
    )
    testset.add_argument("--table", type=Path, metavar="CSV", help="table: its rows")
    testset.add_argument(
        "--templates", type=Path, metavar="FILE", help="table: questions with {columns}, as JSON Lines"
    )
    testset.add_argument("--model", action="store_true", help="documents: have the model make them")
    testset.add_argument("--paraphrase", action="store_true", help="have the model say them as a person would")

    _evaluating(verbs)

    benchmark = _verb(verbs, "benchmark", "compare retrievers on gold passages")
    benchmark.add_argument("what", choices=("retrieval",), metavar="WHAT", help="retrieval")
    benchmark.add_argument("file", type=Path, metavar="FILE", help="questions with gold passages, as JSON Lines")
    benchmark.add_argument(
        "--retriever", action="append", default=[], metavar="NAME", help="only this one; repeat for more (default: all)"
    )
    benchmark.add_argument("-k", type=int, default=10, metavar="N", help="how many passages each (default: 10)")
    benchmark.add_argument("--pairs", action="store_true", help="also compare every retriever with every other")
    benchmark.add_argument("--plot", type=Path, metavar="FILE", help="also draw the comparison (.svg, .png or .pdf)")
    _formatted(benchmark, "text", "json")


def _evaluating(verbs: _Verbs) -> None:
    evaluate = _verb(verbs, "evaluate", "ask gold questions, read gold texts, or repeat a study, and measure it")
    study_options.add_options(evaluate)
    ask_options.add_options(evaluate)
    _formatted(evaluate, "text", "json")


_ONTOLOGY_ACTIONS = ("tree", "check", "diff", "draft", "update")


def _importing(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--import",
        dest="imports",
        action="append",
        default=[],
        metavar="IRI=FILE",
        help="the file of an import that no catalogue or neighbour has; repeatable",
    )
    parser.add_argument(
        "--fetch-imports", action="store_true", help="fetch imports that no file at hand has, over https"
    )


def _placing(verbs: _Verbs) -> None:
    places = _verb(verbs, "places", "list, add, find or remove reference places")
    places.add_argument("action", nargs="?", default="list", choices=("list", "add", "find", "remove"))
    places.add_argument("names", nargs="*", metavar="NAME|PATH", help="add: tables or RDF; find, remove: a name")
    places.add_argument("--country", metavar="CC", help="the ISO code of the country that they divide, such as CN")
    places.add_argument(
        "--levels", metavar="NAMES", help="classes from the highest level down (default: Province,City,County,Township)"
    )
    _formatted(places, "text", "json")


def _running(verbs: _Verbs) -> None:
    serve = _verb(verbs, "serve", "serve the pages and the SPARQL endpoint")
    serve.add_argument("--host", default="127.0.0.1")
    serve.add_argument("--port", type=int, default=8000)

    demo = _verb(verbs, "demo", "build the sample workspaces, ask them, and serve one", workspace=False)
    demo.add_argument("pack", nargs="?", choices=("travel", "academic", "airport"), help="only this one")
    demo.add_argument(
        "--folder", type=Path, default=Path("demo"), metavar="DIR", help="where the workspaces go (default: demo)"
    )
    demo.add_argument("--port", type=int, default=8000)
    demo.add_argument("--no-serve", action="store_true", help="stop after the questions")

    token = _verb(verbs, "token", "make a token for the server, and the line that lets it in", workspace=False)
    token.add_argument("name", metavar="NAME", help="whose it is, in one word")
    token.add_argument("role", choices=("read", "write", "admin"), metavar="ROLE", help="read, write or admin")

    conformance = _verb(verbs, "conformance", "run the W3C's tests of SPARQL and its protocols", workspace=False)
    conformance.add_argument(
        "folder", nargs="?", type=Path, default=Path("rdf-tests"), metavar="FOLDER", help="a checkout of w3c/rdf-tests"
    )
    conformance.add_argument(
        "--suite", action="append", default=[], metavar="NAME", help="only this suite; repeat for more"
    )
    conformance.add_argument(
        "-w", "--workspace", type=Path, metavar="DIR", help="keep the results there, to be seen at /conformance"
    )
    _formatted(conformance, "table", "json", "turtle")

    _verb(verbs, "doctor", "what is installed, configured and missing")


def _formatted(parser: argparse.ArgumentParser, *formats: str) -> None:
    parser.add_argument("--format", choices=formats, default=formats[0], metavar="NAME", help=" or ".join(formats))


def _sparql(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", nargs="?", metavar="FILE|-", help="a file, or - for stdin")
    parser.add_argument("-e", "--text", metavar="TEXT", help="the SPARQL itself")


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command; the exit status. Errors are one line on stderr."""
    _utf8()
    words = list(sys.argv[1:] if arguments is None else arguments)
    given = build_parser().parse_args(words)
    try:
        return carried_out(given, words, lambda: _hosted(given))
    except KgPlatformError as error:
        _complain(error)
        return MISUSED if isinstance(error, _MISUSES) else SHORT
    except KeyboardInterrupt:
        sys.stderr.write("\nkgplatform: stopped; what was finished is kept\n")
        return SHORT
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return SHORT


def _hosted(given: argparse.Namespace) -> int:
    """The exit status of a command that is run here; one that takes long carries out those of others meanwhile."""
    if given.verb not in _LONG:
        return _run(given)
    from kgplatform.building.lending import hosting
    from kgplatform.cli.holding import Holding

    takes_all = given.verb in ("serve", "demo")

    def hold(kg: Any) -> Callable[[], None]:
        return Holding(kg, verb=given.verb, command=_command, takes_all=takes_all).close

    with hosting(hold):
        return _run(given)


def _run(given: argparse.Namespace) -> int:
    """The exit status of a command; of errors only that another process holds the workspace is left to the caller."""
    verb: Callable[[argparse.Namespace], int] = getattr(importlib.import_module("kgplatform.cli.verbs"), given.verb)
    try:
        _check_words(given)
        return verb(given)
    except WorkspaceHeldError:
        raise
    except KgPlatformError as error:
        _complain(error)
        return MISUSED if isinstance(error, _MISUSES) else SHORT


def _command(words: Sequence[str]) -> tuple[argparse.Namespace, Callable[[], int]]:
    given = build_parser().parse_args(words)
    return given, lambda: _run(given)


def _check_words(given: argparse.Namespace) -> None:
    """Refuses words (not paths, whose names may be any bytes) that are not text in the terminal's encoding."""
    for name, value in vars(given).items():
        if isinstance(value, str) and any("\ud800" <= letter <= "\udfff" for letter in value):
            raise ConfigError(f"{name} is not valid UTF-8: {value.encode('ascii', 'backslashreplace').decode()}")


def _complain(error: KgPlatformError) -> None:
    sys.stderr.write(f"kgplatform: {' '.join(str(error).split())}\n")
    if isinstance(error, QuerySyntaxError) and error.line:
        lines = error.query.splitlines()
        if error.line <= len(lines):
            sys.stderr.write(f"  {error.line} | {lines[error.line - 1]}\n")


def _utf8() -> None:
    """Chinese text must come out whatever the terminal's locale says."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError, ValueError):
            stream.reconfigure(encoding="utf-8", errors="replace")  # type: ignore[union-attr]
