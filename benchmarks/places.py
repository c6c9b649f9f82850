"""How long a country's divisions take to become reference places: 31 provinces down to 41,352 townships.

The tables are made up, of the size of China's and with names of Chinese characters, since names have to be spelt in
pinyin. Measured is `kgplatform places add` as a process of its own, with its peak of memory; the peer only reads the
rows of the same files.
"""

from __future__ import annotations

import csv
import os
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.common import Peer, Result, kgplatform

_LEVELS = ((31, "省", 2), (342, "市", 4), (2_978, "县", 6), (41_352, "镇", 9))
_CHARACTERS = "安北长城大东福高广海和红湖华江金景林龙美南宁平青清泉山上石水太天万西新兴阳永玉云"
_MEMORY_MB = 1_500.0


def measure() -> list[Result]:
    """The seconds and the memory of adding all tables to a new workspace, beside reading their rows."""
    with TemporaryDirectory() as folder:
        tables = Path(folder) / "divisions"
        tables.mkdir()
        _write(tables)
        workspace = Path(folder) / "workspace"
        subprocess.run(kgplatform("create", workspace, "--ontology", "geo"), check=True, capture_output=True)
        started = time.perf_counter()
        command = kgplatform("places", "add", tables, "--country", "XX", "-w", workspace)
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        seconds = time.perf_counter() - started
        if process.returncode:
            sys.exit("places add failed")
        peer = Peer("reading the rows", _reading(tables))
    return [
        Result("places: add 44,703 divisions", seconds, promise=30.0, peer=peer),
        Result("places: peak memory", usage.ru_maxrss / 1024, unit="MB", promise=_MEMORY_MB),
    ]


def _write(folder: Path) -> None:
    above: list[str] = []
    for level, (count, suffix, width) in enumerate(_LEVELS):
        codes: list[str] = []
        children: dict[str, int] = {}
        with (folder / f"{level}.csv").open("w", encoding="utf-8", newline="") as file:
            rows = csv.writer(file)
            rows.writerow(["code", "name", "parentCode"] if above else ["code", "name"])
            for number in range(count):
                parent = above[number * len(above) // count] if above else ""
                children[parent] = children.get(parent, 0) + 1
                code = f"{parent}{children[parent]:0{width - len(parent)}}" if above else f"{number + 11}"
                name = "".join(_CHARACTERS[number // len(_CHARACTERS) ** n % len(_CHARACTERS)] for n in range(3))
                rows.writerow([code, f"{name}{suffix}", parent] if above else [code, f"{name}{suffix}"])
                codes.append(code)
        above = codes


def _reading(folder: Path) -> float:
    started = time.perf_counter()
    for path in sorted(folder.iterdir()):
        with path.open(encoding="utf-8", newline="") as file:
            for _ in csv.reader(file):
                pass
    return time.perf_counter() - started
