"""Runs the benchmarks named on the command line, or all of them, and prints one table."""

from __future__ import annotations

import argparse
import os
import sys
from importlib import import_module
from tempfile import TemporaryDirectory

from benchmarks.common import Result, as_table

BENCHMARKS = (
    *("startup", "ask", "ingest", "inference", "checking", "tables", "places", "retrieval_scale"),
    *(
        "endpoint",
        "loading",
        "hostile",
        "documents_scale",
        "reconciliation",
        "interfaces",
        "kills",
        "cluster_kills",
        "cluster",
        "journal",
        "replicas",
        "vectors",
    ),
)


def main() -> int:
    """Prints the table; 1 if a promise is not kept."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(BENCHMARKS))
    names = parser.parse_args().names or BENCHMARKS
    unknown = [name for name in names if name not in BENCHMARKS]
    if unknown:
        parser.error(f"no benchmark is called {unknown[0]}; there are {', '.join(BENCHMARKS)}")
    for name in [name for name in os.environ if name.startswith("KGPLATFORM_")]:
        del os.environ[name]  # the defaults are measured, here and in the processes
    results: list[Result] = []
    with TemporaryDirectory() as compiled:
        os.environ["PYTHONPYCACHEPREFIX"] = compiled  # as installed: nobody waits for Python to compile
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        for name in names:
            print(f"measuring {name} …", file=sys.stderr)
            results += import_module(f"benchmarks.{name}").measure()
    print(as_table(results))
    return 0 if all(result.kept for result in results) else 1


if __name__ == "__main__":
    sys.exit(main())
