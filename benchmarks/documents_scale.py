"""What one more document costs while the graph grows, and time and memory of building it, without a language model.

Documents are short notes in English and Chinese, made here: some names recur, some are new in each, so that linking
has work to do. At each size the time of adding one document, with linking, inference and indexing, is the median over
five, by the clock and of the processor: how it grows is measured by the latter, which other work on the machine does
not change. ``python -m benchmarks.documents_scale 10000`` goes up to that size; the default is small enough for every
day.
"""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from benchmarks.common import Result, new_workspace
from kgplatform.graph import KnowledgeGraph
from kgplatform.models.stubs import HashEmbedder

SIZES = (100, 300, 1000)
_GROWTH = 1.2
_MEMORY_MB = 2048.0
_PROBES = 5
_WAIT_SECONDS, _MOST_WAITS = 0.5, 120
_TOWNS = (("Wuzhen", "乌镇"), ("Xitang", "西塘"), ("Nanxun", "南浔"), ("Zhouzhuang", "周庄"), ("Tongli", "同里"))
_KINDS = (("Garden", "园"), ("Temple", "寺"), ("Museum", "博物馆"), ("Bridge", "桥"), ("Theatre", "剧院"))
_SYLLABLES = (
    *("Ming", "Hua", "Shan", "Bei", "Lan", "Qiu", "Feng", "Yue", "Song", "Zhu", "Dao", "Kuo"),
    *("Piao", "Rou", "Tian", "Xie", "Cai", "Zhen", "Kang", "Ruan", "Cheng", "Zhai", "Xun", "Sui"),
)
_CHARACTERS = "明华善贝兰秋枫月松竹道阔飘柔甜协彩珍康阮诚翟勋穗"
"""No two are a slip of the pen apart: names of ten thousand things made of them would come together by that.

None is the word for a kind of thing, such as a mountain, and there are so many that not all names of two occur:
otherwise a name has more neighbours the more there are, which says something of twelve syllables, not of linking.
"""


@dataclass(frozen=True, slots=True)
class _Measured:
    """At a size: what each of a batch takes of the processor, and one more document, by the clock and of it.

    ``rate`` is the documents a second of the batch, by the clock, linking, inference and indexing included.
    """

    size: int
    each: float
    rate: float
    clock: float
    processor: float


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
    found: list[_Measured] = []
    with TemporaryDirectory(prefix="kgplatform-") as scratch, new_workspace("travel") as folder:
        written = _written(Path(scratch))
        with KnowledgeGraph.open(folder) as kg:
            kg.workspace.__dict__["embedder"] = HashEmbedder()
            count = 0
            for size in sizes:
                batch = [next(written) for _ in range(max(size - _PROBES - count, 0))]
                each = _cost(kg, batch) if batch else (0.0, 0.0)
                _settle()
                probes = [_cost(kg, [next(written)]) for _ in range(_PROBES)]
                count += len(batch) + _PROBES
                clock, processor = (median(values) for values in zip(*probes, strict=True))
                rate = len(batch) / each[0] if batch else 0.0
                found.append(_Measured(size, each[1] / max(len(batch), 1), rate, clock, processor))
    return _results(found)


def _settle() -> None:
    """Waits until this process rests: what the store and the index tidy up after a batch is the batch's."""
    for _ in range(_MOST_WAITS):
        before = time.process_time()
        time.sleep(_WAIT_SECONDS)
        if time.process_time() - before < _WAIT_SECONDS / 50:
            return


def _written(folder: Path) -> Iterator[Path]:
    number = 0
    while True:
        path = folder / f"note{number:06}.txt"
        path.write_text(note(number), encoding="utf-8")
        yield path
        number += 1


def _cost(kg: KnowledgeGraph, paths: list[Path]) -> tuple[float, float]:
    """Seconds by the clock and of the processor for adding the documents."""
    clock, processor = time.perf_counter(), time.process_time()
    for _ in kg.add(*paths):
        pass
    return time.perf_counter() - clock, time.process_time() - processor


def _results(found: list[_Measured]) -> list[Result]:
    first, last = found[0], found[-1]
    between = f"{first.size:,} to {last.size:,}"
    results = [Result(f"each of a batch up to {at.size:,} documents (processor)", at.each) for at in found]
    results.append(Result(f"documents of the last batch, up to {last.size:,}", last.rate, unit="1/s"))
    results += [Result(f"one more document after {at.size:,}", at.clock) for at in found]
    results += [Result(f"one more document after {at.size:,} (processor)", at.processor) for at in found]
    results.append(Result(f"growth of a batch, {between}", last.each / first.each, unit="×", promise=_GROWTH))
    results.append(Result(f"growth of one, {between}", last.processor / first.processor, unit="×", promise=_GROWTH))
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    results.append(Result("most memory", used, unit="MB", promise=_MEMORY_MB))
    return results


if __name__ == "__main__":
    from benchmarks.common import as_table

    most = int(sys.argv[1]) if len(sys.argv) > 1 else SIZES[-1]
    print(as_table(measure((*(size for size in (100, 300, 1000, 3000) if size < most), most))))
