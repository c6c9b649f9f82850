"""The arguments of the verbs that bring RDF in and out; without their imports, so that ``--help`` is quick."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Final

_FORMATS: Final = "turtle, ntriples, nquads, trig, rdfxml, jsonld"


def declare(verb: Callable[[str, str], argparse.ArgumentParser]) -> None:
    """Declares ``load``, ``dump`` and ``versions``; ``verb`` makes the parser of one by name and what it does."""
    load = verb("load", "load RDF files")
    load.add_argument("files", nargs="+", type=Path, metavar="FILE")
    load.add_argument("--graph", metavar="IRI", help="put the statements into this graph instead of the knowledge")
    load.add_argument("--format", metavar="NAME", help=f"{_FORMATS} (default: by suffix)")

    dump = verb("dump", "write the graph as RDF")
    dump.add_argument("file", nargs="?", type=Path, metavar="FILE", help="default: stdout, as nquads")
    dump.add_argument("--graph", metavar="IRI", help="only this graph")
    dump.add_argument("--class", dest="of_class", metavar="IRI|NAME", help="only what is said of things of this class")
    dump.add_argument("--since", metavar="DAY", help="only what came with documents read since this day")
    dump.add_argument("--canonical", action="store_true", help="with canonical names for blank nodes (RDFC-1.0)")
    dump.add_argument("--header", action="store_true", help="say in comments at the top what the file holds")
    timed(dump)
    dump.add_argument("--format", metavar="NAME", help=f"{_FORMATS}, graphml or gexf (default: by suffix)")

    versions = verb("versions", "list the earlier states that can be read")
    versions.add_argument("--format", choices=("text", "json"), default="text", metavar="NAME", help="text or json")


def timed(parser: argparse.ArgumentParser) -> None:
    """Declares ``--at``."""
    parser.add_argument("--at", metavar="VERSION|TIME", help="as it was then; `versions` lists what is kept")
