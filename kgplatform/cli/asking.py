"""``ask``, and what the options of all verbs that ask questions come to."""

from __future__ import annotations

import argparse

from kgplatform.building.asking import AskOptions, keep
from kgplatform.cli import output
from kgplatform.graph import KnowledgeGraph
from kgplatform.questions import rendering

_WORDING = {"": None, "model": True, "builtin": False}


def options(given: argparse.Namespace, *, measured: bool = False) -> AskOptions:
    """The options of a command line; ``measured``: answers are to be scored, so their wording is of no account."""
    phrase = False if measured else _WORDING[given.phrase]
    least = getattr(given, "least_confidence", "")
    return AskOptions(given.using, given.style, given.view, given.drafts, phrase, measured, least)


def run(given: argparse.Namespace) -> int:
    """Answers a question; 1 where there is no answer."""
    with KnowledgeGraph.open(given.workspace) as kg:
        answer = kg.ask(given.question, conversation=given.conversation, now=given.now, options=options(given))
        if given.format == "json":
            language = answer.question.language
            output.as_json(rendering.as_json(answer, lambda term: kg.label(term, language)))
        else:
            output.say(rendering.as_text(answer))
        answered = answer.verdict.value == "answered"
        if given.save:
            if answered and answer.query is not None:
                output.note(f"kept as {keep(given.question, answer.query.text, kg.folder)}")
            else:
                output.note("not kept: there is no answer")
    return 0 if answered else 1
