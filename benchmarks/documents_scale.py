"""What one more document costs while the graph grows, and the memory of building it, without a language model.

Documents are short notes in English and Chinese, made here: some names recur, some are new in each, so that linking
has work to do. At each size the time of adding one document, with linking, inference and indexing, is the median over
five. ``python -m benchmarks.documents_scale 10000`` goes up to that size; the default is small enough for every day.
"""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from benchmarks.common import Result, new_workspace
from kgplatform.graph import KnowledgeGraph
from kgplatform.testing import HashEmbedder

SIZES = (100, 300, 1000)
_GROWTH = 1.2
_MEMORY_MB = 2048.0
_PROBES = 5
_TOWNS = (("Wuzhen", "乌镇"), ("Xitang", "西塘"), ("Nanxun", "南浔"), ("Zhouzhuang", "周庄"), ("Tongli", "同里"))
_KINDS = (("Garden", "园"), ("Temple", "寺"), ("Museum", "博物馆"), ("Bridge", "桥"), ("Theatre", "剧院"))
_SYLLABLES = ("Ming", "Hua", "Shan", "Bei", "Lan", "Qiu", "Feng", "Yue", "Song", "He", "Jing", "An")
_CHARACTERS = "明华山北兰秋风月松荷静安"


def note(number: int) -> str:
    """The text of a note: a thing of its own, one that others name too, and the town both are in."""
    town, town_zh = _TOWNS[number % 5]
    kind, kind_zh = _KINDS[number // 5 % 5]
    shared, own = number // 7 % 200, number
    name, name_zh = _name(own, 4)
    other, other_zh = _name(shared, 2)
    if number % 2:
        return (
            f"{name_zh}{kind_zh}位于{town_zh}，门票{number % 90 + 10}元，早上八点开放。\n"
            f"{other_zh}{kind_zh}也在{town_zh}，从{name_zh}{kind_zh}步行{number % 20 + 3}分钟。\n"
        )
    return (
        f"The {name} {kind} is an attraction in {town}. Tickets cost {number % 90 + 10} CNY and it opens at 8 am.\n"
        f"The {other} {kind} is in {town} too, {number % 20 + 3} minutes on foot from the {name} {kind}.\n"
    )


def _name(number: int, length: int) -> tuple[str, str]:
    places = []
    for _ in range(length):
        number, place = divmod(number, len(_SYLLABLES))
        places.append(place)
    latin = "".join(_SYLLABLES[place] for place in places).capitalize()
    return latin, "".join(_CHARACTERS[place] for place in places)


def measure(sizes: tuple[int, ...] = SIZES) -> list[Result]:
    """Seconds for one more document at each size, how they grow, and the most memory that was used."""
    found: list[tuple[int, float, float]] = []
    with TemporaryDirectory(prefix="kgplatform-") as scratch, new_workspace("travel") as folder:
        written = _written(Path(scratch))
        with KnowledgeGraph.open(folder) as kg:
            kg.__dict__["embedder"] = HashEmbedder()
            count = 0
            for size in sizes:
                began = time.perf_counter()
                batch = [next(written) for _ in range(max(size - _PROBES - count, 0))]
                added = sum(1 for _ in kg.add(*batch)) if batch else 0
                each = (time.perf_counter() - began) / max(added, 1)
                probes = [_seconds(kg, next(written)) for _ in range(_PROBES)]
                count += added + _PROBES
                found.append((size, each, median(probes)))
    return _results(found)


def _written(folder: Path) -> Iterator[Path]:
    number = 0
    while True:
        path = folder / f"note{number:06}.txt"
        path.write_text(note(number), encoding="utf-8")
        yield path
        number += 1


def _seconds(kg: KnowledgeGraph, path: Path) -> float:
    began = time.perf_counter()
    for _ in kg.add(path):
        pass
    return time.perf_counter() - began


def _results(found: list[tuple[int, float, float]]) -> list[Result]:
    results = [Result(f"each of a batch up to {size:,} documents", each) for size, each, _ in found]
    results += [Result(f"one more document after {size:,}", one) for size, _, one in found]
    growth = found[-1][1] / found[0][1]
    results.append(Result(f"growth of a batch, {found[0][0]:,} to {found[-1][0]:,}", growth, unit="×", promise=_GROWTH))
    growth = found[-1][2] / found[0][2]
    results.append(Result(f"growth of one, {found[0][0]:,} to {found[-1][0]:,}", growth, unit="×", promise=_GROWTH))
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    results.append(Result("most memory", used, unit="MB", promise=_MEMORY_MB))
    return results


if __name__ == "__main__":
    from benchmarks.common import as_table

    most = int(sys.argv[1]) if len(sys.argv) > 1 else SIZES[-1]
    print(as_table(measure((*(size for size in (100, 300, 1000, 3000) if size < most), most))))
