"""The command line: its verbs, each imported when it is called, those of plug-ins, and what errors look like."""

from __future__ import annotations

import difflib
import importlib
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Final

import click

from kgplatform.cli.delegation import carried_out
from kgplatform.cli.verb import DONE, MISUSED, SHORT, Place
from kgplatform.errors import ConfigError, KgPlatformError, QuerySyntaxError, WorkspaceError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

_MISUSES = (ConfigError, WorkspaceError)
PLUGINS: Final = "kgplatform.verbs"
"""The entry points of verbs that other packages bring: each names a click command or group."""

SUBJECTS: Final = {
    "Build a graph": {
        "create": ("document", "Make a new workspace."),
        "add": ("document", "Read documents and tables, extract, link and index them."),
        "documents": ("document", "List, show, retry, release or remove documents."),
        "mapping": ("document", "Draft the mapping of a table, without adding it."),
        "learn": ("document", "Teach the built-in reader and translator by examples."),
        "build": ("document", "Link names, draw conclusions and index passages."),
        "links": ("linking", "List the names that were linked, with score and reason."),
        "unlink": ("linking", "Keep two names apart."),
        "link": ("linking", "Calibrate linking, or import identities from elsewhere."),
        "places": ("linking", "List, add, find or remove reference places."),
    },
    "Ask it": {
        "ask": ("answer", "Answer a question in English or Chinese."),
        "search": ("answer", "Find passages."),
        "show": ("answer", "Show what the graph says about an entity."),
        "why": ("answer", "Explain a statement: its passages, or its premises."),
        "communities": ("answer", "List groups of closely connected entities."),
    },
    "RDF and SPARQL": {
        "query": ("graph", "Run a SPARQL query."),
        "update": ("graph", "Run a SPARQL update."),
        "load": ("graph", "Load RDF files."),
        "dump": ("graph", "Write the graph as RDF or as a network."),
        "versions": ("graph", "List the earlier states that can be read."),
        "digest": ("journal", "Print what two graphs can be compared by."),
        "follower": ("follower", "Check, feed or compare another SPARQL engine."),
        "backup": ("journal", "Back the workspace up into a folder or bucket."),
        "restore": ("journal", "Make a workspace from a backup."),
        "move": ("journal", "Take the journal into a database, or back into a file."),
        "check": ("graph", "Validate the graph against ontology, shapes and evidence."),
        "ontology": ("graph", "Show, check, compare, draft or update ontologies."),
    },
    "Measure": {
        "testset": ("evaluation", "Make gold questions."),
        "evaluate": ("evaluation", "Measure answers or extraction against gold, or repeat a study."),
        "benchmark": ("evaluation", "Compare retrievers on gold passages."),
        "conformance": ("evaluation", "Run the W3C conformance tests."),
    },
    "Serve": {
        "serve": ("server", "Serve the pages and the SPARQL endpoint."),
        "mcp": ("server", "Offer the graph to programs that call tools (MCP)."),
        "demo": ("server", "Build the sample workspaces, ask them and serve one."),
        "token": ("server", "Make an access token for the server."),
        "doctor": ("server", "Report what is installed, configured and missing."),
    },
}
_VERBS: Final = {name: found for verbs in SUBJECTS.values() for name, found in verbs.items()}


def plugins() -> dict[str, EntryPoint]:
    """The verbs of plug-ins by name; none of them is imported."""
    from importlib.metadata import entry_points

    return {item.name: item for item in entry_points(group=PLUGINS) if item.name not in _VERBS}


class Verbs(click.Group):
    """All verbs; the module of one is imported when it is called or asked for its help."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """The names of all verbs."""
        return [*_VERBS, *sorted(plugins())]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """The verb of that name; None if there is none.

        Raises:
            ConfigError: the plug-in that brings it cannot be imported.
        """
        if cmd_name in _VERBS:
            module = importlib.import_module(f"kgplatform.cli.{_VERBS[cmd_name][0]}_verbs")
            found: object = getattr(module, cmd_name)
        else:
            entry = plugins().get(cmd_name)
            if entry is None:
                return None
            try:
                found = entry.load()
            except (ImportError, AttributeError) as error:
                raise ConfigError(f"the plug-in verb {cmd_name} ({entry.value}) does not load: {error}") from error
        if not isinstance(found, click.Command):
            raise ConfigError(f"the plug-in verb {cmd_name} is not a click command")
        return found

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The verb that the first word names, with the nearest name if none is called so."""
        if not args[0].startswith("-") and self.get_command(ctx, args[0]) is None:
            near = difflib.get_close_matches(args[0], self.list_commands(ctx), n=1, cutoff=0.5)
            ctx.fail(f"{args[0]!r} is not a verb" + (f"; did you mean {near[0]}?" if near else ""))
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """Lists the verbs by subject, those of plug-ins by name only."""
        for subject, verbs in SUBJECTS.items():
            with formatter.section(subject):
                formatter.write_dl([(f"{name:<11}", text) for name, (_, text) in verbs.items()])
        if found := sorted(plugins()):
            with formatter.section("Plug-ins"):
                formatter.write_text(", ".join(found))


def _version(ctx: click.Context, _param: click.Parameter, value: bool) -> None:  # noqa: FBT001
    if value:
        from kgplatform import __version__

        click.echo(f"kgplatform {__version__}")
        ctx.exit()


COMMAND_LINE: Final = Verbs(
    "kgplatform",
    help="Turn documents and tables into a knowledge graph; ask it, query it, serve it.",
    epilog="Exit status: 0 done, 1 the data or the answer falls short, 2 used wrongly.",
    subcommand_metavar="VERB ...",
    options_metavar="",
    no_args_is_help=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    params=[
        click.Option(
            ["--version"],
            is_flag=True,
            expose_value=False,
            is_eager=True,
            callback=_version,
            help="Show the version.",
        )
    ],
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command; the exit status. Errors are one line on stderr."""
    _utf8()
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        return run(words, partial(carried_out, words, run))
    except KeyboardInterrupt:
        sys.stderr.write("\nkgplatform: stopped; what was finished is kept\n")
        return SHORT
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return SHORT


def run(words: Sequence[str], place: Place) -> int:
    """The exit status of a command that ``place`` has carried out; whatever is wrong is one line on stderr."""
    try:
        with COMMAND_LINE.make_context("kgplatform", list(words), obj=place) as context:
            return COMMAND_LINE.invoke(context) or DONE
    except click.exceptions.Exit as end:
        return end.exit_code
    except click.ClickException as error:
        sys.stderr.write(f"kgplatform: {_sentence(error)}\n")
        return error.exit_code
    except KgPlatformError as error:
        _complain(error)
        return MISUSED if isinstance(error, _MISUSES) else SHORT


def _sentence(error: click.ClickException) -> str:
    """What was typed wrong, with the nearest name or where to look."""
    said = " ".join(error.format_message().split()).replace("Missing command", "Missing VERB")
    if isinstance(error, click.NoSuchOption):
        known = [name for item in error.cmd.params for name in item.opts] if error.cmd else []
        near = difflib.get_close_matches(error.option_name, known, n=1, cutoff=0.5)
        said = f"there is no option {error.option_name}" + (f"; did you mean {near[0]}?" if near else "")
    elif isinstance(error, click.BadParameter) and error.param is not None and error.message:
        said = f"{error.param.opts[-1] if isinstance(error.param, click.Option) else error.param.name}: {error.message}"
    said = said[:1].lower() + said[1:].rstrip(".")
    return said if said.endswith("?") else f"{said}; see --help"


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
