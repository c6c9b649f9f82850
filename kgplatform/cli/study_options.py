"""The options of ``evaluate``: what is measured, on what, and where the results go.

Imports nothing that takes long: the parser is made for every call.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Final

STUDIES: Final = ("questions", "extraction", "travel", "airport", "academic", "adaptive", "traversal")
"""What can be measured: gold questions and texts, and the studies."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds the study, its file, and the options of studies and comparisons."""
    parser.add_argument("study", nargs="?", choices=STUDIES, metavar="STUDY", help=" or ".join(STUDIES))
    parser.add_argument(
        "file", nargs="?", type=Path, metavar="FILE", help="gold questions or texts, as JSON Lines; studies make theirs"
    )
    parser.add_argument(
        "--output",
        type=Path,
        metavar="PATH",
        help="also write: results to this file (x.jsonl), or all to a folder",
    )
    parser.add_argument("--compare", nargs=2, metavar=("RUN", "RUN"), help="compare two runs, or files of results")
    parser.add_argument("--examples", action="store_true", help="a study: first build its samples in the workspace")
    parser.add_argument("--count", type=int, metavar="N", help="a study: so many questions")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="a study: draw others (default: 0)")
    parser.add_argument("--language", action="append", metavar="CODE", help="a study: ask in this; repeat for more")
    parser.add_argument(
        "--model", action="append", default=[], metavar="NAME", help="travel: also answer by this model of the server"
    )
    parser.add_argument("--fresh", action="store_true", help="forget the results that are kept, begin anew")
    parser.add_argument("--no-keep", action="store_true", help="do not keep the run in the workspace")
