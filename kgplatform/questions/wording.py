"""The general vocabulary of questions, English and Chinese: none of it belongs to a domain or a graph.

A *sense* groups words that ask for the same kind of thing, so that "how many inhabitants" and 人口 both reach a
property whose label says population. Words of an ontology come first; senses only bridge what it leaves out.
"""

# ruff: noqa: E501, SIM905
from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import product

from kgplatform.questions.synonyms import SYNONYMS
from kgplatform.text import has_han, language_of, normalise, singular

_ASKED_IN_CHINESE = re.compile(
    r"[谁哪啥吗呢]|什么|多少|几[个篇本家座位条门种]|怎[么样]|如何|何时|为何|是否|有没有|请问|列出|介绍|推荐"
)
_ASKED_IN_ENGLISH = re.compile(
    r"^\W*(?:and |so |but |please )?(?:what|which|who|whose|whom|where|when|why|how|is|are|was|were|do|does|did|has|have|can|could|would|list|show|tell|name|give|find|describe|count)\b[\s'’]",
    re.IGNORECASE,
)
_QUOTED = re.compile(r"《[^》]*》|「[^」]*」|“[^”]*”|\"[^\"]*\"")


def language_asked_in(question: str) -> str:
    """The language of a question, as `language_of` has it, but told by its own words rather than by the names in it.

    >>> [language_asked_in(text) for text in ("谁写了Attention Is All You Need？", "Where is 西湖?")]
    ['zh', 'en']
    """
    if not has_han(question):
        return language_of(question)
    own = _QUOTED.sub(" ", question)
    if _ASKED_IN_CHINESE.search(own):
        return "zh"
    return "en" if _ASKED_IN_ENGLISH.match(own) else language_of(question)


_SENSES = """
population: population, inhabitant, people, resident, citizen, people live, 人口, 居民, 公民, 人数, 多少人
area: area, square mile, surface, 面积, 占地
length: length, long, kilometre long, 长度, 多长, 全长
height: height, elevation, altitude, high, tall, 高度, 海拔, 多高
depth: depth, deep, 深度, 多深
weight: weight, weigh, heavy, mass, 重量, 体重, 多重
temperature: temperature, temp, hot, cold, warm, cool, 温度, 气温, 多热, 多冷
birth: birth date, date of birth, birthday, born, birth, 出生, 出生日期, 生日
death: death date, date of death, died, die, death, 去世, 逝世, 死亡
spouse: spouse, husband, wife, married to, marry, partner, 配偶, 丈夫, 妻子, 结婚
make: manufacturer, maker, make, made by, manufacture, produced by, producer, produce, 生产商, 制造商, 厂家, 生产
release: release, release year, release date, come out, premiere, 上映, 发行
act: act, actor, actress, star, starring, play in, 演员, 主演, 出演, 饰演
price: price, cost, fee, fare, charge, price per night, how much, expensive, cheap, rate per night, 价格, 价钱, 费用, 票价, 门票, 房价, 消费, 人均, 多少钱, 均价
rating: rating, score, rated, review score, stars, rate, 评分, 得分, 打分, 口碑, 评价
location: locate, location, lie, situate, in, where, place, 位于, 坐落, 所在, 在哪, 位置, 地处, 属于
address: address, street address, 地址, 在哪条街, 位置, 具体位置
phone: phone, telephone, phone number, tel, 电话, 联系方式, 联系电话
border: border, neighbor, neighbour, adjacent, adjoin, surround, next to, share border, surrounding, 接壤, 相邻, 毗邻, 邻接, 挨着, 紧挨, 紧挨着, 交界, 毗连, 环绕, 邻州, 周围的, 临近, 周边的, 围绕, 周边, 周围, 旁边
traverse: traverse, run through, flow through, cross, go through, pass through, flow, run, wash, course through, runs, 流经, 穿过, 贯穿, 流过, 经过, 横穿, 流淌
near: near, nearby, close to, around, next to, vicinity, 附近, 周边, 旁边, 靠近, 周围, 邻近, 挨着, 紧挨, 紧挨着, 紧邻, 不远
capital: capital, 首都, 首府, 省会
author: author, written by, write, wrote, authored by, by, publish, writer, 作者, 撰写, 写
publish: publish, published in, publication, appear, present, venue, 发表, 发表于, 出版
cite: cite, reference, 引用
about: about, topic, subject, keyphrase, keyword, concern, deal with, on, cover, 关于, 主题, 话题, 涉及, 有关
teach: teach, taught by, instructor, lecturer, teacher, 教授, 讲授, 授课, 任课, 教师, 老师
prerequisite: prerequisite, prereq, require, requirement, precondition, required before, 先修, 前置, 先修课程, 先修课
advise: advise, advisor, adviser, supervise, supervisor, 指导, 导师
work: work, employ, employer, belong to, employed by, 工作, 任职, 就职
offer: offer, provide, provided by, offered by, have, serve, available, list, 提供, 供应, 有
food: food, cuisine, dish, meal, kind of food, food type, eat, 菜, 菜系, 美食, 吃
date: date, when, day, 日期, 哪天, 什么时候, 何时
year: year, 年份, 哪年, 哪一年, 年
start: start, begin, open, opened, founded, establish, built, 开始, 开放, 成立, 建于, 创建
end: end, finish, close, closing, 结束, 关闭
time: time, hour, duration, how long, opening hour, 时间, 时长, 多久, 开放时间, 营业时间
part: part of, belong, below, divided into, contain, include, consist, has part, within, under, 属于, 下辖, 包含, 包括, 组成, 归, 管辖, 下属, 下面, 隶属
salary: salary, earn, wage, pay, income, 工资, 薪水, 收入
manage: manage, manager, head, lead, run by, direct report, boss, report to, 管理, 经理, 负责人, 主管
expertise: expertise, expert, speciality, specialise, area of expertise, skilled, 专长, 擅长
code: code, identifier, id, abbreviation, 代码, 编号, 编码, 代号
kind: category, kind, type, genre, sort, 类型, 种类, 类别, 分类
size: size, big, large, 大小, 规模, 多大
capacity: capacity, seat, hold, 容量, 座位, 容纳
operate: operate, operated by, fly, run by, operator, 运营, 执飞, 经营
source: source, from, depart, departure, origin, leave, start, 出发, 起飞, 始发
destination: destination, to, arrive, arrival, land, fly to, 到达, 目的地, 抵达, 飞往
country: country, nation, 国家, 国
city: city, town, 城市, 市
person: person, people, human, 人, 人物
age: age, old, 年龄
name: name, call, title, known as, 名称, 名字, 叫什么, 名叫
email: email, mail, e mail address, 邮箱, 邮件
color: color, colour, 颜色
suitable: suitable for, suit, good for, fit, 适合
facility: facility, amenity, service, equipment, 设施, 服务
gate: gate, boarding gate, 登机口
supplier: supplier, supply, supplied by, vendor, sourced from, 供应商
compatible: compatible, work with, 兼容
use: use, using, used by, 使用, 采用
propose: propose, introduce, present, 提出
activity: activity, thing to do, do, 活动, 玩
density: density, dense, densely populated, 密度
restaurant: restaurant, eatery, diner, bistro, joint, place to eat, somewhere to eat, eat, 餐馆, 饭店, 餐厅, 饭馆, 吃饭的地方, 吃饭, 用餐, 就餐, 吃的地方, 好吃的地方, 用餐的地方
hotel: hotel, place to stay, somewhere to stay, stay, lodging, 酒店, 宾馆, 旅馆, 住宿, 住的地方, 住宿的地方, 落脚的地方
attraction: attraction, sight, place to visit, visit, 景点, 景区, 玩的地方, 好玩的地方, 游玩的地方
paper: paper, article, publication, 论文, 文章
course: course, class, 课程, 课
student: student, 学生
state: state, 州
province: province, 省, 省份, 省级, 直辖市
county: county, district, 县, 区, 区县, 县区, 县级
township: township, 乡, 镇, 街道, 乡镇, 乡镇街道, 乡级, 街镇
village: village, 村, 村庄
room: room, classroom, 房间, 教室, 客房
building: building, 建筑, 楼
semester: semester, term, 学期
title: title, 标题
grade: grade, mark, 成绩
street: street, road, 街, 路
river: river, 河流, 河
lake: lake, 湖泊, 湖
mountain: mountain, peak, summit, mount, 山峰, 山脉, 山
point: point, spot, 点, 地点, 地方
highest point: highest point, 最高点
lowest point: lowest point, 最低点
highest elevation: highest elevation, 最高海拔
lowest elevation: lowest elevation, 最低海拔
department: department, 部门, 院系, 系
airport: airport, 机场
airline: airline, carrier, 航空公司
flight: flight, 航班
"""

FUNCTION_WORDS = frozenset(
    """a an the of is are was were be been do does did has have had in on at for to from by with and or that which what
    who whom whose where when how there it its this these those s me my i we you your our us they them their please tell
    show give list find name display return get can could would should want know i'd like all any some each every many much most more than
    than as up also about into please let's kind different one ones whose will such only not no if but so am being having
    anything something everything anyone someone everyone anybody somebody everybody look looking see need recommend suggest count number total distinct located happen exist exists called named
    identify provide tell define currently yes thanks just too via per other another good both either sort rank arrange sorted""".split()
)
HAN_FUNCTION = frozenset(
    "的了吗呢吧啊呀是在有和与及或个家位名条座所些那这哪什么请问我你他她它想找去要给帮推荐一下能可以不没都也还就多少几怎样如何谁"
    "里中上下从到对把被让为于而并且之其等该此各每只很最比列举出告诉查询知道哇嘛哦喔您们得着过会好种类所有全部间部门处儿啥但却虽而且求"
)

ADJECTIVES = {
    "cheap": (("price",), -1), "inexpensive": (("price",), -1), "affordable": (("price",), -1),
    "expensive": (("price",), 1), "costly": (("price",), 1), "dear": (("price",), 1),
    "big": (("area", "size", "population", "capacity", "length"), 1),
    "large": (("area", "size", "population", "capacity", "length"), 1),
    "small": (("area", "size", "population", "capacity", "length"), -1),
    "long": (("length", "time"), 1), "short": (("length", "time", "height"), -1),
    "high": (("height", "rating"), 1), "tall": (("height",), 1), "low": (("height", "price"), -1),
    "deep": (("depth",), 1), "heavy": (("weight",), 1), "light": (("weight",), -1),
    "old": (("start", "birth", "age", "year", "date"), -1), "new": (("start", "year", "date"), 1),
    "late": (("time", "date", "year"), 1), "recent": (("date", "year", "time"), 1), "early": (("time", "date", "year"), -1),
    "young": (("birth", "age", "start", "year"), 1), "good": (("rating",), 1), "bad": (("rating",), -1), "popular": (("rating",), 1),
    "populous": (("population",), 1), "populated": (("population",), 1), "crowded": (("population",), 1),
    "hot": (("temperature",), 1), "warm": (("temperature",), 1), "cold": (("temperature",), -1), "cool": (("temperature",), -1),
    "northern": (("latitude",), 1), "southern": (("latitude",), -1), "eastern": (("longitude",), 1), "western": (("longitude",), -1),
    "北": (("latitude",), 1), "南": (("latitude",), -1), "东": (("longitude",), 1), "西": (("longitude",), -1),
    "wide": (("width",), 1), "narrow": (("width",), -1), "shallow": (("depth",), -1), "slow": (("time",), 1), "quick": (("time",), -1), "recently": (("date", "year", "start", "time"), 1),
    "dense": (("density",), 1), "fast": (("time",), -1), "sparse": (("density",), -1), "highly": (("rating",), 1),
    "便宜": (("price",), -1), "贵": (("price",), 1), "昂贵": (("price",), 1), "实惠": (("price",), -1),
    "大": (("area", "size", "population", "capacity", "length"), 1), "小": (("area", "size", "population", "capacity"), -1),
    "长": (("length", "time"), 1), "短": (("length", "time"), -1), "高": (("height", "rating"), 1),
    "低": (("height", "price"), -1), "深": (("depth",), 1), "重": (("weight",), 1), "轻": (("weight",), -1),
    "老": (("start", "birth", "age", "year"), -1), "年轻": (("birth", "age"), 1), "年长": (("birth", "age"), -1), "悠久": (("start", "year"), -1), "古老": (("start", "year"), -1), "受欢迎": (("rating",), 1), "热门": (("rating",), 1), "早": (("start", "year", "time", "date"), -1), "晚": (("time", "date", "year"), 1),
    "新": (("start", "year", "date"), 1), "好": (("rating",), 1), "差": (("rating",), -1),
}  # fmt: skip
"""Adjectives: the senses they measure, most likely first, and whether their superlative is the most (1) or least."""

SAID_IN_ENGLISH = {
    "主要": "major",
    "重要": "major",
    "不错": "good",
    "优质": "good",
    "豪华": "luxurious",
    "大型": "large",
    "小型": "small",
    "便宜": "cheap",
    "热门": "popular",
    "著名": "famous",
    "免费": "free",
    "不要钱": "free",
    "不用钱": "free",
    "不花钱": "free",
    "不用花钱": "free",
    "不收钱": "free",
    "不收费": "free",
    "不要门票": "free",
    "不用门票": "free",
    "不用买票": "free",
    "不用购票": "free",
    "不需要买票": "free",
    "无需买票": "free",
    "无需购票": "free",
    "免票": "free",
    "高档": "expensive",
    "现役": "active",
}
"""Adjectives by which a Chinese question asks for what an English comment defines."""

DOING = frozenset(("吃饭", "用餐", "就餐"))
"""Verbs that stand for a kind of place where nothing else names it."""

SAID_OF_NOT = dict.fromkeys(("收费", "付费", "要钱", "花钱", "要买票", "买票", "购票", "收门票"), "free")
"""Words that say the opposite of what a comment defines."""

SUPERLATIVES = {
    "best": "good", "worst": "bad", "cheapest": "cheap", "largest": "large", "biggest": "big", "smallest": "small",
    "longest": "long", "shortest": "short", "highest": "high", "tallest": "tall", "lowest": "low", "deepest": "deep",
    "heaviest": "heavy", "lightest": "light", "oldest": "old", "newest": "new", "latest": "late", "earliest": "early",
    "youngest": "young", "fastest": "fast", "greatest": "large", "maximum": "large", "minimum": "small", "max": "large",
    "min": "small", "densest": "dense", "priciest": "expensive", "first": "early", "top": "good", "least": "small",
    "quickest": "fast", "slowest": "slow", "widest": "wide", "narrowest": "narrow", "costliest": "expensive", "shallowest": "shallow",
    "hottest": "hot", "warmest": "warm", "coldest": "cold", "coolest": "cool", "fewest": "small", "most": "large", "maximal": "large", "minimal": "small", "sparsest": "sparse",
    "northernmost": "northern", "southernmost": "southern", "easternmost": "eastern", "westernmost": "western",
}  # fmt: skip

COMPARATIVES = {
    "more": ">", "over": ">", "above": ">", "greater": ">", "higher": ">", "larger": ">", "longer": ">", "bigger": ">",
    "older": "<", "younger": ">", "newer": ">", "exceeds": ">", "exceeding": ">", "after": ">", "since": ">=", "later": ">", "beyond": ">",
    "less": "<", "under": "<", "below": "<", "lower": "<", "smaller": "<", "fewer": "<", "cheaper": "<", "shorter": "<",
    "before": "<", "until": "<=", "earlier": "<", "least": ">=", "most": "<=", "minimum": ">=", "maximum": "<=",
    "exactly": "=", "within": "<=", "expensive": ">", "better": ">", "taller": ">", "deeper": ">", "heavier": ">",
    "lighter": "<", "colder": "<", "warmer": ">", "hotter": ">", ">": ">", "<": "<", ">=": ">=", "<=": "<=", "≥": ">=", "≤": "<=",
}  # fmt: skip
COMPARISON_SENSES = {
    "cheaper": ("price",), "expensive": ("price",), "longer": ("length", "time"), "shorter": ("length", "time"),
    "higher": ("height", "rating"), "lower": ("height", "price"), "older": ("start", "birth", "age", "year"), "younger": ("birth", "age"),
    "newer": ("start", "year"), "before": ("year", "date", "time"), "after": ("year", "date", "time"),
    "since": ("year", "date"), "until": ("year", "date", "time"), "later": ("time", "date", "year"),
    "earlier": ("time", "date", "year"), "better": ("rating",), "taller": ("height",), "deeper": ("depth",),
    "heavier": ("weight",), "lighter": ("weight",), "colder": ("temperature",), "warmer": ("temperature",), "hotter": ("temperature",), "larger": ("area", "size", "population", "capacity"),
    "smaller": ("area", "size", "population", "capacity"), "bigger": ("area", "size", "population", "capacity"),
}  # fmt: skip
UNIT_SENSES = {
    "yuan": ("price",), "rmb": ("price",), "cny": ("price",), "dollar": ("price", "salary"), "usd": ("price",), "eur": ("price",), "euro": ("price",),
    "元": ("price",), "块": ("price",), "块钱": ("price",), "分": ("rating",), "km": ("length",), "kilometre": ("length",),
    "kilometer": ("length",), "公里": ("length",), "千米": ("length",), "m": ("height", "length"), "metre": ("height", "length"),
    "meter": ("height", "length"), "米": ("height", "length"), "年": ("year", "date", "start"), "人": ("population", "capacity"),
    "people": ("population", "capacity"), "inhabitant": ("population",), "kg": ("weight",), "公斤": ("weight",), "star": ("rating",),
    "feet": ("height", "length"), "foot": ("height", "length"), "ft": ("height", "length"), "mile": ("length",), "cm": ("height", "length", "width"),
    "centimetre": ("height", "length", "width"), "centimeter": ("height", "length", "width"), "mm": ("length", "width"), "厘米": ("height", "length"), "毫米": ("length", "width"),
    "gram": ("weight",), "kilo": ("weight",), "tonne": ("weight",), "ton": ("weight",), "克": ("weight",), "吨": ("weight",), "pound": ("price", "weight"), "欧元": ("price",), "美元": ("price", "salary"),
    "seat": ("capacity",), "square metre": ("area",), "square meter": ("area",), "平方米": ("area",), "平方公里": ("area",), "degree": ("temperature",), "day": ("time",), "天": ("time",),
    "星": ("rating",), "hour": ("time",), "小时": ("time",), "minute": ("time",), "分钟": ("time",), "credit": ("number",), "学分": ("number",),
}  # fmt: skip
"""Units and what they measure; an ontology's own units come first."""

PARTICIPLES = {"paid": "salary", "earning": "salary", "rated": "rating", "priced": "price"}
"""What a superlative is of where one of these follows it: "the highest paid", "the best rated"."""

LIGHT_VERBS = frozenset(
    "come comes came take takes took taken hold holds held carry carries keep keeps kept run runs ran occur occurs "
    "occurred happens happened got gets getting go goes went lie lies lay sit sits sat stand stands stood".split()
)
"""Verbs that say nothing of their own where they are no name: "which teams come from X"."""

GENERIC_NOUNS = frozenset(
    "place places spot spots thing things item items one ones stuff somewhere establishments".split()
)
"""Nouns that stand for things of whatever kind: "the French places"."""

WH_CLASSES = {"who": "person", "谁": "person", "whom": "person"}
PERSON_WORDS = frozenset(
    "person people patient nurse doctor surgeon coach captain referee driver customer client member guest chef pilot judge owner staff author agent employee instructor teacher student researcher scientist director actor player human "
    "人 人物 作者 员工 教师 学生 演员 导演".split()
)
PLACE_WORDS = frozenset(
    "place location city town country state county region province district area village address street gate "
    "ramp building room 地点 地方 城市 国家 省 市 县 区 镇 地址 位置".split()
)

_IRREGULAR = {
    "taught": "teach", "wrote": "write", "written": "write", "held": "hold", "ran": "run", "flew": "fly", "flown": "fly",
    "flies": "fly", "made": "make", "ids": "id", "earning": "earn", "built": "build", "sold": "sell", "ate": "eat", "led": "lead", "known": "know", "men": "man",
    "women": "woman", "children": "child", "began": "begin", "begun": "begin", "left": "leave", "lay": "lie", "lies": "lie",
    "given": "give", "gave": "give", "took": "take", "taken": "take", "cities": "city", "countries": "country",
    "lying": "lie", "located": "locate", "priced": "price", "pricing": "price", "species": "species", "series": "series",
}  # fmt: skip
_SUFFIX = re.compile(r"(?:ing|ed|es|e|s)$")
_PART = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]+|[^\W_]+", re.UNICODE)


@lru_cache(maxsize=16_384)
def stem(word: str) -> str:
    """A form that the inflections of a word share; good enough to compare with, not to show.

    >>> {stem(w) for w in ("borders", "bordering", "border", "bordered")}
    {'border'}
    """
    plain = word.casefold()
    plain = _IRREGULAR.get(plain, plain)
    if has_han(plain):
        return plain
    plain = singular(plain)
    cut = _SUFFIX.sub("", plain)
    if len(cut) > 3 and cut[-1] == cut[-2] and cut[-1] not in "ls":
        cut = cut[:-1]
    return cut if len(cut) >= 3 else plain


def parts(text: str) -> list[str]:
    """The comparable parts of a phrase: stems of Latin words, runs of Han characters as they are."""
    return [stem(match.group()) for match in _PART.finditer(normalise(text))]


@lru_cache(maxsize=1)
def senses() -> dict[tuple[str, ...], tuple[str, ...]]:
    """The senses of every word and phrase: ``{("run", "through"): ("traverse",)}``."""
    found: dict[tuple[str, ...], list[str]] = {}
    for line in (*_SENSES.strip().splitlines(), *SYNONYMS.strip().splitlines()):
        name, _, listed = line.partition(":")
        for phrase in listed.split(","):
            key = tuple(parts(phrase))
            if key and name not in found.setdefault(key, []):
                found[key].append(name)
    return {key: tuple(names) for key, names in found.items()}


@lru_cache(maxsize=16_384)
def keys(text: str) -> tuple[tuple[tuple[str, ...], bool], ...]:
    """The forms under which a phrase can be looked up: by its words, and by their senses (marked ``~``, True)."""
    all_parts = parts(text)
    kept = tuple(p for p in all_parts if p not in FUNCTION_STEMS)
    found: dict[tuple[str, ...], bool] = {}
    if kept:
        found[kept] = False
    whole = senses().get(tuple(all_parts), ()) or (senses().get(kept, ()) if kept else ())
    for name in whole:
        found.setdefault((f"~{name}",), True)
    if 1 < len(kept) <= 4:
        choices = [[part, *(f"~{name}" for name in senses().get((part,), ())[:3])] for part in kept]
        for combination in product(*choices):
            found.setdefault(combination, combination != kept)
    return tuple(found.items())


FUNCTION_STEMS = frozenset(stem(word) for word in FUNCTION_WORDS - {"name", "total", "good"})


def in_full(phrase: Sequence[str]) -> tuple[str, ...]:
    """The look-up form of a phrase with all its words, those too that `keys` leaves out."""
    return ("=", *phrase)


def sense_keys(names: Iterable[str]) -> list[tuple[str, ...]]:
    """The look-up forms of senses."""
    return [(f"~{name}",) for name in names]
