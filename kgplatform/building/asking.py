"""How a question is asked of a workspace: who translates it, in which way, and with which solved questions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path

from pyoxigraph import Triple

from kgplatform.building.browsing import browsed, provider
from kgplatform.config import LEVELS, SOURCES, TRANSLATORS, Settings
from kgplatform.documents.registry import Registry
from kgplatform.errors import ConfigError, NotFoundError
from kgplatform.models.reranking import Reranker
from kgplatform.protocols import ChatModel, Embedder
from kgplatform.questions import solved
from kgplatform.questions.adaptive.deciding import Beside, Rules
from kgplatform.questions.adaptive.domains import read_domains
from kgplatform.questions.answer import QuestionSettings
from kgplatform.questions.solved import Solved
from kgplatform.questions.translate_model import TranslationOptions
from kgplatform.types import Evidence

_DRAFTS = 3


@dataclass(frozen=True, slots=True)
class AskOptions:
    """What is otherwise than the settings say; what is empty, 0 or None is as they say.

    ``using``: ``builtin`` leaves the model aside, ``model`` insists on one, ``drafts`` lets several of its drafts vote,
    all three on the graph alone; ``graph``, ``passages`` or ``web`` is the one source to ask. ``least_confidence``:
    that answers from passages need.
    ``measured``: a question is not shown its own solution.
    """

    using: str = "auto"
    style: str = ""
    view: str = ""
    drafts: int = 0
    phrase: bool | None = None
    measured: bool = False
    least_confidence: str = ""


def chosen_model(model: ChatModel | None, options: AskOptions) -> ChatModel | None:
    """The model that is to translate, if one is.

    Raises:
        ConfigError: there is no such way, or it needs a model and none is set.
    """
    ways = (*TRANSLATORS, *SOURCES)
    if options.using not in ways:
        raise ConfigError(f"{options.using!r} answers no questions; there are {', '.join(ways)}", setting="using")
    if options.using == "builtin":
        return None
    if model is None and (options.using in ("model", "drafts") or options.style or options.drafts):
        raise ConfigError("no model is set; name one in kgplatform.toml under [model]", setting="model.name")
    return model


def question_settings(settings: Settings, options: AskOptions) -> QuestionSettings:
    """The limits and ways of answering, from the settings and what is otherwise.

    Raises:
        ConfigError: a style, view or number cannot be used.
    """
    set_ = settings.questions
    drafts = options.drafts or (max(_DRAFTS, set_.drafts) if options.using == "drafts" else set_.drafts)
    translation = TranslationOptions(
        style=options.style or set_.style,
        view=options.view or set_.view,
        drafts=drafts,
        repairs=set_.repairs,
        examples=set_.examples,
        schema_tokens=set_.schema_tokens,
        leave_out_same=options.measured,
        workers=settings.model.workers,
    )
    return QuestionSettings(
        max_rows=set_.max_rows,
        phrased_by_model=set_.phrase if options.phrase is None else options.phrase,
        translation=translation.checked(),
    )


def examples(folder: Path) -> tuple[Solved, ...]:
    """The solved questions that ship with the platform and those in the workspace's folder ``sparql``."""
    own = folder / solved.FOLDER
    stamps = tuple(sorted((path.name, path.stat().st_mtime_ns) for path in own.glob("*.rq")))
    return (*solved.shipped_examples(), *_own(own, stamps))


@lru_cache(maxsize=16)
def _own(folder: Path, _stamps: tuple[tuple[str, int], ...]) -> tuple[Solved, ...]:
    """Read again when a file has changed."""
    return solved.solved_in(folder)[0]


def keep(question: str, query: str, folder: Path) -> Path:
    """Keeps a question with its query among the solved questions of a workspace."""
    return solved.save(question, query, folder / solved.FOLDER)


def answering_rules(settings: Settings, options: AskOptions, now: str = "") -> Rules | None:
    """How a source is chosen; None where the graph alone is asked: a translator was named, or answers are measured.

    Raises:
        ConfigError: there is no such level of confidence.
    """
    set_ = settings.questions
    least = options.least_confidence or set_.least_confidence
    if least not in LEVELS:
        raise ConfigError(
            f"least_confidence is {least!r}; it must be one of {', '.join(LEVELS)}",
            setting="questions.least_confidence",
        )
    if options.using not in ("auto", *SOURCES) or (options.measured and options.using == "auto"):
        return None
    forced = options.using if options.using in SOURCES else ""
    return Rules(least, set_.domain_certainty, set_.fresh_days, set_.first, set_.passages, forced, now)


@dataclass(frozen=True, slots=True)
class BesideParts:
    """What a workspace offers besides its graph: passages, the settings, the ontology's triples, the embedder."""

    settings: Settings
    folder: Path
    triples: Sequence[Triple]
    registry: Registry
    search: Callable[[str, int], list[Evidence]]
    embedder: Callable[[], Embedder]
    reranker: Reranker | None = None


def beside(parts: BesideParts, options: AskOptions, now: str = "") -> Beside | None:
    """What there is to ask besides the graph; None: the graph alone is asked.

    Raises:
        ConfigError: a setting of it cannot be used.
    """
    rules = answering_rules(parts.settings, options, now)
    if rules is None:
        return None
    web = provider(parts.settings.web, parts.folder)
    pages = parts.settings.web.pages
    return Beside(
        passages=parts.search,
        web=browsed(web, pages, embedder=parts.embedder, reranker=parts.reranker) if web else None,
        age_days=lambda item: _age_days(item, parts.registry, now),
        domains=read_domains(parts.triples, parts.settings.questions.changes),
        rules=rules,
    )


def _age_days(item: Evidence, registry: Registry, now: str) -> float | None:
    """How many days ago the document or table of a passage was last read."""
    try:
        read = datetime.fromisoformat(registry.document(item.document).updated)
        then = datetime.fromisoformat(now) if now else datetime.now(UTC)
    except (NotFoundError, ValueError):
        return None
    return (then.replace(tzinfo=None) - read.replace(tzinfo=None)).total_seconds() / 86_400
