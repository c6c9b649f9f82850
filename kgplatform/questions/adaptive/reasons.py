"""Why a source was asked first or chosen, in the language of the question."""

from __future__ import annotations

from typing import Final

from kgplatform.text import has_han

_RATES_ZH: Final = {"static": "不变", "slow": "缓慢变化", "fast": "快速变化", "real-time": "实时变化"}
_REASONS: Final = {
    "forced": ("--using {source}", "--using {source}"),
    "changes": ("the facts asked for are {rate}", "所问的事实{rate}"),
    "no-rate": ("nothing known of change", "不知道所问的事实变化有多快"),
    "live": ("a live source is asked first", "先查询实时来源"),
    "stale": ("what the graph rests on is old, so a live source is asked first", "图谱的依据较旧，先查询实时来源"),
    "age": ("the graph's evidence is {days:.0f} days old", "图谱的依据是{days:.0f}天前的"),
    "contradicted": ("the graph contradicts the premise", "图谱与问题的前提相矛盾"),
    "not-held": ("the premise is not held", "图谱中没有问题的前提"),
    "none": ("no source gives an answer of {least} confidence", "没有来源能以足够的把握（{least}）回答"),
    "both": ("graph and passages both have evidence", "图谱和段落都有依据"),
}


def reason(question: str, name: str, **values: object) -> str:
    """The reason of that name in the question's language, with its values put in."""
    english, chinese = _REASONS[name]
    if not has_han(question):
        return english.format(**values)
    told = {key: _RATES_ZH.get(str(value), value) if key == "rate" else value for key, value in values.items()}
    return chinese.format(**told)
