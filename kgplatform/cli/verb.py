"""What a verb is: a click command that runs where its workspace is held, and the options that many verbs share."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import click

from kgplatform.errors import ConfigError
from kgplatform.settings import LEVELS, PROMPT_STYLES, SCHEMA_VIEWS, SOURCES, TRANSLATORS

if TYPE_CHECKING:
    from kgplatform.graph import KnowledgeGraph

DONE, SHORT, MISUSED = 0, 1, 2
"""Exit status: done, the data or the answer falls short, used wrongly."""


class Given(SimpleNamespace):
    """The arguments and options of a verb, by name."""


Option: TypeAlias = "Callable[[Callable[..., Any]], Callable[..., Any]]"
Reads: TypeAlias = "bool | Callable[[Given], bool]"


@dataclass(frozen=True, slots=True)
class Call:
    """A verb as it was called: on which workspace (None: it always runs in its own process), and whether it reads."""

    verb: str
    workspace: Path | None = None
    reads: bool = False
    takes_all: bool = False


Place: TypeAlias = "Callable[[Call, Callable[[], int]], int]"
"""What has a call carried out, here or elsewhere, and gives its exit status; it is the object of click's context."""


class Verb(click.Command):
    """A click command that goes to the process that holds its workspace, if there is one. `verb` makes them."""

    reads: Reads = False
    here: Reads = False
    takes_all = False

    def invoke(self, ctx: click.Context) -> int:
        """The exit status of the verb."""
        given = Given(**ctx.params)
        for name, value in ctx.params.items():  # paths may be any bytes, words may not
            if isinstance(value, str) and any("\ud800" <= letter <= "\udfff" for letter in value):
                raise ConfigError(f"{name} is not valid UTF-8: {value.encode('ascii', 'backslashreplace').decode()}")
        reads, here = (item(given) if callable(item) else item for item in (self.reads, self.here))
        call = Call(self.name or "", None if here else ctx.params.get("workspace"), reads, self.takes_all)
        place: Place = ctx.obj or (lambda _call, run: run())
        return place(call, lambda: int(click.Command.invoke(self, ctx)))


_workspace: Option = click.option(
    "-w", "--workspace", type=Path, default=Path(), metavar="DIR", help="The workspace (default: here)."
)


def verb(
    name: str, *, reads: Reads = False, here: Reads = False, takes_all: bool = False, workspace: bool = True
) -> Callable[[Callable[[Given], int]], Verb]:
    """A decorator that makes a function of what is `Given` a verb; its docstring is the help.

    ``reads``: it may run beside other commands; ``here``: it needs no hold of the workspace; ``takes_all``: while it
    runs, it carries out commands that write too; ``workspace``: it has the option ``--workspace``.
    """

    def made(function: Callable[[Given], int]) -> Verb:
        @wraps(function)
        def given(**options: Any) -> int:
            return function(Given(**options))

        run: Callable[..., Any] = _workspace(given) if workspace else given
        found = click.command(name, cls=Verb, context_settings={"help_option_names": ["-h", "--help"]})(run)
        found.reads, found.here, found.takes_all = reads, here, takes_all
        return found

    return made


class OneOf(click.Choice[str]):
    """A choice that offers the nearest value for a mistyped one."""

    name = "name"

    def get_invalid_choice_message(self, value: Any, ctx: click.Context | None) -> str:  # noqa: ARG002
        """What is wrong with the value."""
        known = [choice for choice in self.choices if choice]
        near = difflib.get_close_matches(str(value), known, n=1, cutoff=0.5)
        return f"{value!r} is not one of " + (f"the choices; did you mean {near[0]}?" if near else ", ".join(known))


def option(*names: str, **how: Any) -> Option:
    """An option; as `click.option`, with choices by ``one_of`` and a placeholder for values that need one."""
    if choices := how.pop("one_of", None):
        allowed = (*choices, "") if how.get("default") == "" else choices
        how = {"type": OneOf(allowed), "metavar": "NAME", "help": f"{', '.join(choices)}.", **how}
    return click.option(*names, **how)


def argument(name: str, metavar: str, **how: Any) -> Option:
    """An argument called ``metavar`` in the help; as `click.argument`."""
    if choices := how.pop("one_of", None):
        how["type"] = OneOf(choices)
    return click.argument(name, metavar=metavar, **how)


def formats(*names: str) -> Option:
    """The option ``--format``; the first is what is printed unless told otherwise."""
    return option("--format", one_of=names, default=names[0], help=f"{' or '.join(names)} (default: {names[0]}).")


def language(what: str) -> Option:
    """The option ``--language`` of what is printed."""
    return option("--language", default="en", metavar="CODE", help=f"Language of {what} (default: en).")


at: Final = option("--at", metavar="VERSION|TIME", help="Version or time; `versions` lists what is kept.")


def together(*options: Option) -> Option:
    """Several options as one decorator, in that order in the help."""

    def added(function: Callable[..., Any]) -> Callable[..., Any]:
        for item in reversed(options):
            function = item(function)
        return function

    return added


_WAYS: Final = (*TRANSLATORS, *SOURCES)
translation: Final = together(
    option("--using", one_of=_WAYS, default="auto", metavar="WHO"),
    option("--style", one_of=PROMPT_STYLES, default="", help=f"Form of the prompt: {', '.join(PROMPT_STYLES)}."),
    option("--view", one_of=SCHEMA_VIEWS, default="", help=f"Schema in the prompt: {', '.join(SCHEMA_VIEWS)}."),
    option("--drafts", type=int, default=0, metavar="N", help="Make N queries and take the majority's result."),
)
"""The options for who translates a question, and how."""

confidence: Final = option(
    "--least-confidence",
    one_of=LEVELS,
    default="",
    metavar="LEVEL",
    help=f"Minimum confidence of answers from passages: {', '.join(LEVELS)}.",
)

imports: Final = together(
    option("--import", "imports", multiple=True, metavar="IRI=FILE", help="The file of an owl:imports. Repeatable."),
    option("--fetch-imports", is_flag=True, help="Fetch missing imports over https."),
)


def ontologies(text: str) -> Option:
    """The option ``--ontology``."""
    return option("--ontology", multiple=True, metavar="NAME|FILE", help=f"{text} Repeatable.")


def pairs(given: Sequence[str], name: str, form: str) -> dict[str, str]:
    """The two sides of each ``A=B`` of an option; an IRI may hold ``=`` itself, so the last one parts them.

    Raises:
        ConfigError: there is none.
    """
    found = {}
    for item in given:
        left, sign, right = item.rpartition("=")
        if not sign or not left or not right:
            raise ConfigError(f"--{name} {item!r} is not of the form {form}", setting=name)
        found[left] = right
    return found


@contextmanager
def opened(folder: Path, *, follows: bool = False) -> Iterator[KnowledgeGraph]:
    """The workspace in the folder, or the one that is lent to this command; closed at the end unless lent."""
    from kgplatform.graph import KnowledgeGraph  # takes a second or two

    with KnowledgeGraph.open(folder, follows=follows) as kg:
        yield kg
