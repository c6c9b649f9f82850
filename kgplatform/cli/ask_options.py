"""The options of all verbs that ask questions: who translates, in which style, with how many drafts.

Imports nothing that takes long: the parser is made for every call.
"""

from __future__ import annotations

import argparse

from kgplatform.config import LEVELS, PROMPT_STYLES, SCHEMA_VIEWS, SOURCES, TRANSLATORS


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options for who translates a question, and how."""
    ways = (*TRANSLATORS, *SOURCES)
    parser.add_argument("--using", choices=ways, default="auto", metavar="WHO", help=", ".join(ways))
    styles, views = ", ".join(PROMPT_STYLES), ", ".join(SCHEMA_VIEWS)
    parser.add_argument("--style", choices=PROMPT_STYLES, default="", metavar="NAME", help=f"form of prompt: {styles}")
    parser.add_argument("--view", choices=SCHEMA_VIEWS, default="", metavar="NAME", help=f"schema in it: {views}")
    parser.add_argument("--drafts", type=int, default=0, metavar="N", help="so many queries vote by their results")


def add_ask_options(parser: argparse.ArgumentParser) -> None:
    """Adds what only ``ask`` takes besides."""
    add_options(parser)
    parser.add_argument(
        "--phrase", choices=("model", "builtin"), default="", metavar="WHO", help="who words the answer"
    )
    least = "how sure an answer from passages must be: " + ", ".join(LEVELS)
    parser.add_argument("--least-confidence", choices=LEVELS, default="", metavar="LEVEL", help=least)
    parser.add_argument("--conversation", metavar="ID", help="keep the turns under this name; a reply may be short")
    parser.add_argument("--now", default="", metavar="TIME", help="as of this moment, such as 2025-03-15T12:00")
    parser.add_argument("--json", dest="format", action="store_const", const="json", help="the same as --format json")
    parser.add_argument("--save", action="store_true", help="keep question and query among the solved questions")
