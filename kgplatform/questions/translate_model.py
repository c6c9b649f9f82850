"""The translator with a model: a schema prompt, linked names and similar solved examples in, one query out.

The prompt comes in three styles (`STYLES`): rules with a block for each class, statements that would create the
graph, and the comments of a demonstration. Chinese questions get a Chinese prompt.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from kgplatform import prompts
from kgplatform.config import PROMPT_STYLES as STYLES
from kgplatform.config import SCHEMA_VIEWS as VIEWS
from kgplatform.errors import ConfigError, ModelReplyError
from kgplatform.protocols import ChatModel, Completion, Embedder
from kgplatform.questions.briefing import Brief, Briefer
from kgplatform.questions.names import NameIndex
from kgplatform.questions.solved import Solved, shipped_examples, similar
from kgplatform.questions.translate_builtin import Translation
from kgplatform.questions.wording import language_asked_in
from kgplatform.types import Attempt, Linked, Solutions, Usage
from kgplatform.vocab import PREFIXES

__all__ = [
    "STYLES",
    "Drafted",
    "Solved",
    "Task",
    "TranslationOptions",
    "draft",
    "query_in",
    "repaired",
    "shipped_examples",
    "similar",
]

_FENCE = re.compile(r"```[\w-]*[ \t]*\n(.*?)(?:```|\Z)", re.DOTALL)
_THINKING = re.compile(r"\A.*?</think(?:ing)?>", re.DOTALL | re.IGNORECASE)
_START = re.compile(
    r"(?:^|\n)[ \t]*((?:PREFIX|BASE|SELECT|ASK|INSERT|DELETE|LOAD|CLEAR|DROP|CREATE|CONSTRUCT|DESCRIBE|WITH)\b)",
    re.IGNORECASE,
)
_INLINE = re.compile(r"\b(?:SELECT|ASK)\b[^{]*\{", re.IGNORECASE)
_NONE = re.compile(r"(?:#[^\n]*\n\s*)*NONE\b[:：\s]*(?P<missing>[^\n]*)")
_UNSURE = re.compile(r"^\s*#\s*unsure\b[:：\s]*(?P<what>[^\n]*)", re.IGNORECASE | re.MULTILINE)
_REPLY_LIMIT = 20_000
_ROWS_SHOWN = 5
_OFFERED = 2
_PLAUSIBLE = 0.4
_PROMPTS: Mapping[str, str] = {
    "rules": "translate-question",
    "create": "translate-question-create",
    "demonstration": "translate-question-demonstration",
}


@dataclass(frozen=True, slots=True)
class TranslationOptions:
    """How a model is asked.

    ``style`` is one of `STYLES`, ``view`` one of `VIEWS`; ``drafts`` queries are made and vote by their results,
    ``repairs`` is how often each may be put right; ``examples`` solved questions are shown, and ``schema_tokens`` of
    the schema. ``leave_out_same``: a question is not shown its own solution.
    """

    style: str = "rules"
    view: str = "auto"
    drafts: int = 1
    repairs: int = 2
    examples: int = 3
    schema_tokens: int = 6_000
    leave_out_same: bool = False
    workers: int = 1

    def checked(self) -> TranslationOptions:
        """These options, if they can be used.

        Raises:
            ConfigError: a style or view is none, or a number is too small.
        """
        for name, value, known in (("style", self.style, STYLES), ("view", self.view, VIEWS)):
            if value not in known:
                raise ConfigError(
                    f"questions.{name} {value!r} is none; there are {', '.join(known)}", setting=f"questions.{name}"
                )
        least = {"drafts": 1, "repairs": 0, "examples": 0, "schema_tokens": 500}
        for name, low in least.items():
            value = getattr(self, name)
            if not low <= value <= (20 if name == "drafts" else 1_000_000):
                wanted = f"from {low} to 20" if name == "drafts" else f"at least {low}"
                raise ConfigError(f"questions.{name} must be {wanted}, not {value}", setting=f"questions.{name}")
        return self


@dataclass(frozen=True, slots=True)
class Task:
    """A question to be translated, with what is known about it; ``candidates`` are the built-in translator's."""

    question: str
    linked: Sequence[Linked]
    names: NameIndex
    briefer: Briefer
    run: Callable[[str], Solutions]
    examples: Sequence[Solved] = ()
    candidates: Sequence[Translation] = ()
    prefixes: Mapping[str, str] = field(default_factory=lambda: PREFIXES)
    embedder: Callable[[], Embedder | None] = lambda: None
    options: TranslationOptions = field(default_factory=TranslationOptions)

    @property
    def language(self) -> str:
        """The language of the prompt."""
        return "zh" if language_asked_in(self.question) == "zh" else "en"

    def brief(self, style: str) -> Brief:
        """What the model is told, in a style."""
        return self.briefer.brief(
            self.question,
            self.linked,
            style=style,
            view=self.options.view,
            language=self.language,
            budget_tokens=self.options.schema_tokens,
            embedder=self.embedder,
        )


@dataclass(frozen=True, slots=True)
class Drafted:
    """A query that a model wrote, and what it cost; ``declined`` says what it found missing, then there is no query.

    ``unsure`` is what the model itself says is doubtful.
    """

    text: str
    usage: Usage
    prompt_sha256: str
    declined: str = ""
    unsure: str = ""


def draft(task: Task, model: ChatModel, *, style: str = "rules") -> Drafted:
    """A query for the question, as the model writes it; not checked yet.

    Raises:
        ModelError: the model cannot be reached, or its reply holds no query.
    """
    brief = task.brief(style)
    options = task.options
    examples = similar(
        task.question,
        task.examples,
        task.names,
        options.examples,
        embedder=task.embedder,
        leave_out_same=options.leave_out_same,
    )
    offered = [c for c in task.candidates if c.confidence >= _PLAUSIBLE and not c.empty and not c.dropped]
    messages, sha256 = prompts.render_messages(
        _PROMPTS[style],
        question=task.question,
        language=task.language,
        schema=brief.schema,
        linked=list(brief.names),
        examples=list(reversed(examples)),
        candidates=[(item.reading, brief.prefixes.shortened(item.text)) for item in offered[:_OFFERED]],
    )
    return _drafted(model.complete(messages), model, sha256, brief)


def repaired(task: Task, attempt: Attempt, solutions: Solutions | None, model: ChatModel) -> Drafted:
    """Another query, after the issues with the last one, and the rows it found, were shown to the model.

    Raises:
        ModelError: the model cannot be reached, or its reply holds no query.
    """
    brief = task.brief("rules")
    messages, sha256 = prompts.render_messages(
        "repair-query",
        question=task.question,
        language=task.language,
        schema=brief.schema,
        linked=list(brief.names),
        query=attempt.query,
        issues=list(attempt.issues),
        found=_rows(solutions),
    )
    return _drafted(model.complete(messages), model, sha256, brief)


def _rows(solutions: Solutions | None) -> list[str]:
    if solutions is None or solutions.boolean is not None:
        return []
    return [
        " | ".join("(unbound)" if term is None else str(term)[:120] for term in row)
        for row in solutions.rows[:_ROWS_SHOWN]
    ]


def _drafted(completion: Completion, model: ChatModel, sha256: str, brief: Brief) -> Drafted:
    reply = _THINKING.sub("", completion.text[:_REPLY_LIMIT], count=1).strip()
    declined = _NONE.match(reply.strip("`").strip())
    if declined:
        return Drafted("", completion.usage, sha256, declined=declined["missing"].strip()[:300] or "what is asked")
    text = brief.prefixes.declared_in(query_in(completion.text, model=model.name))
    unsure = _UNSURE.search(reply)
    doubt = (unsure["what"].strip()[:200] or "it does not say what") if unsure else ""
    return Drafted(text, completion.usage, sha256, unsure=doubt)


def query_in(reply: str, *, model: str = "") -> str:
    r"""The SPARQL in a model's reply, whatever prose, thinking or fences stand around it.

    >>> query_in("Sure:\n```sparql\nASK { ?s ?p ?o }\n```\nThat is all.")
    'ASK { ?s ?p ?o }'

    Raises:
        ModelReplyError: there is none.
    """
    text = _THINKING.sub("", reply[:_REPLY_LIMIT], count=1)
    for fenced in sorted(_FENCE.findall(text), key=len, reverse=True):
        if (start := _START.search(fenced)) is not None:
            return str(fenced)[start.start(1) :].strip()
    match = _START.search(text) or _INLINE.search(text)
    if match is None:
        line = text.strip().partition("\n")[0][:80]
        raise ModelReplyError(f"model {model!r} did not reply with a query but with {line!r}", model=model, reply=reply)
    start_at = match.start(1) if match.re is _START else match.start()
    return _without_prose(text[start_at:])


def _without_prose(text: str) -> str:
    """The text up to where the braces close, with the solution modifiers after them."""
    depth = 0
    for place, character in enumerate(text):
        depth += (character == "{") - (character == "}")
        if character == "}" and depth == 0:
            rest = text[place + 1 :]
            kept = re.match(
                r"(?:\s*(?:(?:GROUP\s+BY|ORDER\s+BY|HAVING)[^\n]*|(?:LIMIT|OFFSET)\s+\d+|UNION\b.*))*",
                rest,
                re.IGNORECASE,
            )
            return (text[: place + 1] + (kept.group() if kept else "")).strip()
    return text.strip()
