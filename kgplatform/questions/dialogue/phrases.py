"""What is said of things found by a scheme, in English and Chinese, and how moments and lengths of time are written."""

# ruff: noqa: E501
from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Final

_MONTHS: Final = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

_WORDS: Final[Mapping[str, Mapping[str, str]]] = {
    "en": {
        "data": "Now is taken as {now}, when the data was last changed.",
        "clock": "Now is {now} by the clock.",
        "given": "Now is taken as {now}, as set.",
        "many": "{count} found from {low} to {high}, the first of them {shown}.",
        "more": "Which one do you mean? You can add: {details}.",
        "more_options": "Which one do you mean?",
        "none": "None found from {low} to {high}.",
        "nearest": "The nearest: {shown}.",
        "nothing": "The graph has none that fits.",
        "ask_place": "I found no {places} in the question. Which one do you mean? You can also add: {details}.",
        "unknown_place": "The graph knows no {place}. The nearest: {near}.",
        "unknown_place_alone": "The graph knows no {place}.",
        "no_code": "No {code} has “{digits}” in it.",
        "which_code": "“{digits}” fits {count} of {code}. Which one do you mean?",
        "read_code": "“{digits}” was read as {code}, the only one that it fits.",
        "no_next": "The graph has nothing after {what}.",
        "no_span": "The graph does not give both times of {what}.",
        "span": "{length} ({begins}: {low}, {ends}: {high}).",
        "span_before": "{length} earlier ({begins}: {low}, {ends}: {high}).",
        "same": "At the same time.",
        "yes": "Yes",
        "no": "No",
        "by_later": "{length} later ({begins}: {low}, {ends}: {high}).",
        "by_earlier": "{length} earlier ({begins}: {low}, {ends}: {high}).",
        "by_nothing": "0 minutes ({begins}: {low}, {ends}: {high}).",
        "void": "{what} is {state}.",
        "lost": "I did not understand “{words}”: the graph says nothing of it, so this is neither a yes nor a no.",
        "change": "There are {length} from one to the other ({first}: {low}, {second}: {high}); how much is needed the graph does not say.",
        "no_change": "No: {second} is {length} too early ({first}: {low}, {second}: {high}).",
        "left": "All right.",
        "day": "{day}: {what}",
        "days": "Other days: {others}.",
        "nothing_said": "not given",
        "count": "{count} from {low} to {high}.",
        "state_many": "{count}, the first of them: {shown}.",
        "state_summed": "Late and early are not averaged, nor counted for each of many; ask which ones are, how many, or for the longest.",
        "later": ", {length} later",
        "earlier": ", {length} earlier",
    },
    "zh": {
        "data": "“现在”按数据最后更新的时间 {now} 计。",
        "clock": "现在时间为 {now}。",
        "given": "“现在”按设定的时间 {now} 计。",
        "many": "{low} 至 {high} 共有 {count} 个，最先的是：{shown}。",
        "more": "您指的是哪一个？可以补充：{details}。",
        "more_options": "您指的是哪一个？",
        "none": "{low} 至 {high} 没有找到。",
        "nearest": "最接近的：{shown}。",
        "nothing": "图谱中没有符合的内容。",
        "ask_place": "问题中没有提到{places}。您指的是哪一个？还可以补充：{details}。",
        "unknown_place": "图谱中没有 {place}。最接近的：{near}。",
        "unknown_place_alone": "图谱中没有 {place}。",
        "no_code": "没有包含“{digits}”的{code}。",
        "which_code": "“{digits}”可能是 {count} 个{code}之一，您指的是哪一个？",
        "read_code": "“{digits}”理解为 {code}，仅此一个符合。",
        "no_next": "图谱中没有 {what} 之后的内容。",
        "no_span": "图谱中没有给出 {what} 的两个时间。",
        "span": "{length}（{begins}：{low}，{ends}：{high}）。",
        "span_before": "提前{length}（{begins}：{low}，{ends}：{high}）。",
        "same": "同时。",
        "yes": "是",
        "no": "否",
        "by_later": "晚了{length}（{begins}：{low}，{ends}：{high}）。",
        "by_earlier": "早了{length}（{begins}：{low}，{ends}：{high}）。",
        "by_nothing": "0分钟（{begins}：{low}，{ends}：{high}）。",
        "void": "{what}：{state}。",
        "lost": "没有理解“{words}”：图谱中没有相关内容，无法回答是或否。",
        "change": "两者之间有{length}（{first}：{low}，{second}：{high}）；图谱没有说明需要多少时间。",
        "no_change": "否：{second} 早了{length}（{first}：{low}，{second}：{high}）。",
        "left": "好的。",
        "day": "{day}：{what}",
        "days": "其他日期：{others}。",
        "nothing_said": "没有给出",
        "count": "{low} 至 {high} 共 {count} 个。",
        "state_many": "共 {count} 个，最先的是：{shown}。",
        "state_summed": "早晚不作平均，也不按各类分别计数；可以问有哪些、有多少，或最长的是哪个。",
        "later": "，晚{length}",
        "earlier": "，早{length}",
    },
}


def phrase(name: str, language: str, **parts: object) -> str:
    """A sentence in the language, English where it has none."""
    return _WORDS.get(language, _WORDS["en"])[name].format(**parts)


def moment_text(moment: datetime, language: str, *, day: bool = True) -> str:
    """A moment as people write it: 15 Mar 2025 12:00, 2025年3月15日 12:00."""
    clock = f"{moment:%H:%M}" if not moment.second else f"{moment:%H:%M:%S}"
    if not day:
        return clock
    if language == "zh":
        return f"{moment.year}年{moment.month}月{moment.day}日 {clock}"
    return f"{moment.day} {_MONTHS[moment.month - 1]} {moment.year} {clock}"


def day_text(moment: datetime, language: str) -> str:
    """A day as people write it: 15 Mar 2025, 2025年3月15日."""
    if language == "zh":
        return f"{moment.year}年{moment.month}月{moment.day}日"
    return f"{moment.day} {_MONTHS[moment.month - 1]} {moment.year}"


def length_text(length: timedelta, language: str, unit: str = "") -> str:
    """A length of time in words, in one unit if that is asked for: 75 minutes, 1 hour 15 minutes, 1小时15分钟."""
    seconds = round(abs(length.total_seconds()))
    if unit:
        return (
            f"{amount_text(length, unit)} {_unit(unit, amount_text(length, unit))}"
            if language != "zh"
            else (
                f"{amount_text(length, unit)}{ {'minute': '分钟', 'hour': '小时', 'second': '秒', 'day': '天'}[unit] }"
            )
        )
    days, rest = divmod(seconds, 86_400)
    hours, rest = divmod(rest, 3_600)
    minutes, rest = divmod(rest, 60)
    parts = [(days, "day", "天"), (hours, "hour", "小时"), (minutes, "minute", "分钟"), (rest, "second", "秒")]
    said = [(n, en, zh) for n, en, zh in parts if n]
    if not said:
        return "0分钟" if language == "zh" else "0 minutes"
    if language == "zh":
        return "".join(f"{n}{zh}" for n, _, zh in said)
    return " ".join(f"{n} {_unit(en, str(n))}" for n, en, _ in said)


def amount_text(length: timedelta, unit: str) -> str:
    """A length of time as a number of a unit: minute, hour, second or day."""
    size = {"second": 1, "minute": 60, "hour": 3_600, "day": 86_400}[unit]
    return f"{abs(length.total_seconds()) / size:.2f}".rstrip("0").rstrip(".")


def _unit(unit: str, amount: str) -> str:
    return unit if amount == "1" else f"{unit}s"
