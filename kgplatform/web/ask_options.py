"""What may be said beside a question on the Ask page and in the API: who answers, in which style, with how many drafts.

The names and values are those of ``kgplatform ask``. Over HTTP a question has fewer drafts at most, since each is a
request to the model for which the server pays.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from kgplatform.building.asking import AskOptions
from kgplatform.config import LEVELS, PROMPT_STYLES, SCHEMA_VIEWS, SOURCES, TRANSLATORS
from kgplatform.errors import ConfigError
from kgplatform.web.needs import Graph

MOST_DRAFTS: Final = 5
_PHRASED: Final = ("model", "builtin")
VALUES: Final[Mapping[str, tuple[str, ...]]] = {
    "using": (*TRANSLATORS, *SOURCES),
    "style": PROMPT_STYLES,
    "view": SCHEMA_VIEWS,
    "phrase": _PHRASED,
    "least_confidence": LEVELS,
}
"""The options that take one of a few words, with these."""
NAMES: Final = (*VALUES, "drafts")
"""All options."""


@dataclass(frozen=True, slots=True)
class Select:
    """An option as the page offers it: its values, and the one chosen; empty: as the settings say."""

    name: str
    values: tuple[str, ...]
    chosen: str


def beside(given: Callable[[str], str]) -> AskOptions:
    """The options of a request; ``given`` returns the text of one, empty where it is not there.

    Raises:
        ConfigError: one has a value that there is not, or there are too many drafts.
    """
    written = {name: text for name in NAMES if (text := given(name).strip())}
    for name, known in VALUES.items():
        if written.get(name, known[0]) not in known:
            raise ConfigError(f"{name} {written[name]!r} is none; there are {', '.join(known)}", setting=name)
    number = written.get("drafts", "0")
    if number not in map(str, range(MOST_DRAFTS + 1)):
        raise ConfigError(f"drafts must be a number up to {MOST_DRAFTS}, not {number[:20]!r}", setting="drafts")
    phrase = {"model": True, "builtin": False}.get(written.get("phrase", ""))
    return AskOptions(
        using=written.get("using", "auto"),
        style=written.get("style", ""),
        view=written.get("view", ""),
        drafts=int(number),
        phrase=phrase,
        least_confidence=written.get("least_confidence", ""),
    )


def selects(kg: Graph, written: Mapping[str, str]) -> tuple[Select, ...]:
    """The options that the page offers, those that the workspace can do: without a model none that needs one."""
    set_ = kg.settings.web
    model, web = kg.model is not None, bool(set_.folder or set_.searxng or set_.addresses)
    needs = {"model": model, "drafts": model, "web": web, "auto": False}
    using = tuple(name for name in VALUES["using"] if needs.get(name, True))
    offered = {"using": using, "least_confidence": LEVELS}
    if model:
        offered |= {"style": PROMPT_STYLES, "drafts": tuple(map(str, range(1, MOST_DRAFTS + 1)))}
    return tuple(Select(name, values, written.get(name, "")) for name, values in offered.items())
