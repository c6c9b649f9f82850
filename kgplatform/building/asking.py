"""How a question is asked of a workspace: who translates it, in which way, and with which solved questions."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from kgplatform.config import TRANSLATORS, Settings
from kgplatform.errors import ConfigError
from kgplatform.protocols import ChatModel
from kgplatform.questions import solved
from kgplatform.questions.answer import QuestionSettings
from kgplatform.questions.solved import Solved
from kgplatform.questions.translate_model import TranslationOptions

_DRAFTS = 3


@dataclass(frozen=True, slots=True)
class AskOptions:
    """What is otherwise than the settings say; what is empty, 0 or None is as they say.

    ``using``: ``builtin`` leaves the model aside, ``model`` insists on one, ``drafts`` lets several of its drafts vote.
    ``measured``: a question is not shown its own solution.
    """

    using: str = "auto"
    style: str = ""
    view: str = ""
    drafts: int = 0
    phrase: bool | None = None
    measured: bool = False


def chosen_model(model: ChatModel | None, options: AskOptions) -> ChatModel | None:
    """The model that is to translate, if one is.

    Raises:
        ConfigError: there is no such way, or it needs a model and none is set.
    """
    if options.using not in TRANSLATORS:
        raise ConfigError(
            f"{options.using!r} answers no questions; there are {', '.join(TRANSLATORS)}", setting="using"
        )
    if options.using == "builtin":
        return None
    if model is None and (options.using != "auto" or options.style or options.drafts):
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
