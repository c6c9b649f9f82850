"""How long ``kgplatform --help`` takes, beside a Python that does nothing."""

from __future__ import annotations

import sys

from benchmarks.common import Peer, Result, kgplatform, process_seconds


def measure() -> list[Result]:
    """The time of ``--help``; it is promised to stay under 0.3 s, which no heavy import would allow."""
    nothing = process_seconds([sys.executable, "-c", "pass"], runs=11)
    return [
        Result(
            "kgplatform --help",
            process_seconds(kgplatform("--help"), runs=11),
            promise=0.3,
            peer=Peer("python -c pass", nothing),
        )
    ]
