"""People listed in a line: a byline, the value of "Authors". Told by the form of names, in any script and order.

"Ann Lee, José van den Berg, Jr. and Kim O’Hara", "Lee, Ann; van den Berg, José", "Lee, A., & O’Hara, K. B.",
"张伟、李娜" and "张伟 李娜". Marks of notes and affiliations ("Ann Lee¹*", "Ann Lee (Uppsala)") are overlooked.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

_PARTICLE_WORDS = (
    "de da di do du del dela della delle dello dal dalla dos das des la le lo los las van von vom zu zum zur der den "
    "dem ter ten te tot het 't op im am af av al el ul bin ben ibn bint abu ould y e i und och san st st."
)
_PARTICLES: Final = frozenset(_PARTICLE_WORDS.split())
_OPENING_WORDS = "the a this these in on at from of by for with and is are our how why what when"
_OPENING: Final = frozenset(_OPENING_WORDS.split())
_SUFFIX = re.compile(r"(?:Jr|Sr|II|III|IV|Ph\.?D|M\.?D|MSc|FRS)\.?", re.IGNORECASE)
_DEGREE = re.compile(r"(?:Ph\.?D|M\.?D|MSc|FRS)\.?", re.IGNORECASE)
_NOTE = r"(?:[*∗⋆★†‡§¶♯♠♣♥♦◦⁎✉∥#⁰¹²³⁴⁵⁶⁷⁸⁹]|(?<!\d)\d{1,2}(?!\d))"
_MARKS = re.compile(rf"(?<=[^\W\d_.])\.?\s?\^?{_NOTE}(?:\s?[,，]?\s?{_NOTE})*[a-z]?(?![^\W\d_])")
_EMPHASIS = re.compile(r"[*_`~]+|^\s*[#>•-]+\s")
_MAIL = re.compile(r"[<(]?(?:\{[^{}\n]{1,200}\}|[\w.+-]+)\s?@\s?[\w.-]+[>)]?|https?://\S+")
_ASIDE = re.compile(r"[（(\[][^()（）\[\]\n]{0,160}[)）\]]")
_NICKNAME = re.compile(r"[（(][A-Z][\w.-]*(?:\s[A-Z][\w.-]*)?[)）](?=\s[A-Z])")
_WORD = re.compile(r"[^\W\d_]+(?:[-‐‑'’ʼ`.·][^\W\d_]+)*(?:(?<![^\W\d_]{4})\.)?|[‘'’]t")
_INITIALS = re.compile(r"(?:[^\W\d_]\.?(?:\s?-\s?)?){1,4}(?:\s[^\W\d_]\.?)*")
_HAN_NAME = re.compile(r"[\u3400-\u9fff]{2,4}|[\u3400-\u9fff]{1,8}(?:[·・•‧.][\u3400-\u9fffA-Z.]{1,10}){1,3}")
_SYLLABIC = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]{2,8}")
_HAN = re.compile(r"[\u3400-\u9fff]")
_ORGANISATION = re.compile(
    r"\b(?:Universit\w+|Universidad\w*|Institut\w*|Laborator\w+|Labs?|Colleges?|Departments?|Dept|Schools?|Academy|Inc|Corp"
    r"|Ltd|LLC|GmbH|Cent(?:er|re)s?|Hospitals?|Facult\w+|Foundation|Research|Technologies|Group|Conference|Journal"
    r"|Proceedings|Transactions|Workshop|Association|Society|Abstract|Introduction|Keywords)\b"
    r"|大学|学院|学校|研究所|研究院|实验室|公司|医院|中心|学会|协会|会议|学报|期刊|杂志|出版社|摘要|关键词|引言"
)
_SURNAMES: Final = frozenset(
    "赵钱孙李周吴郑王冯陈褚卫蒋沈韩杨朱秦尤许何吕施张孔曹严华金魏陶姜戚谢邹喻柏水窦章云苏潘葛奚范彭郎鲁韦昌马苗凤花方"
    "俞任袁柳酆鲍史唐费廉岑薛雷贺倪汤滕殷罗毕郝邬安常乐于时傅皮卞齐康伍余元卜顾孟平黄和穆萧尹姚邵湛汪祁毛禹狄米贝明臧"
    "计伏成戴谈宋茅庞熊纪舒屈项祝董梁杜阮蓝闵席季麻强贾路娄危江童颜郭梅盛林刁钟徐邱骆高夏蔡田樊胡凌霍虞万支柯昝管卢莫"
    "经房裘缪干解应宗丁宣贲邓郁单杭洪包诸左石崔吉钮龚程嵇邢滑裴陆荣翁荀羊惠甄曲家封储靳汲邴糜松井段富巫乌焦巴弓牧隗山谷"
    "车侯宓蓬全郗班仰秋仲伊宫宁仇栾暴甘厉戎祖武符刘景詹束龙叶幸司韶郜黎蓟薄印宿白怀蒲邰从鄂索咸籍赖卓蔺屠蒙池乔阴胥能苍"
    "双闻莘党翟谭贡劳逄姬申扶堵冉宰郦雍璩桑桂濮牛寿通边扈燕冀浦尚农温别庄晏柴瞿阎充慕连茹习艾鱼容向古易慎戈廖庾终暨居衡步"
    "都耿满弘匡国文寇广禄阙东欧殳沃利蔚越夔隆师巩厍聂晁勾敖融冷辛阚那简饶空曾沙养鞠须丰巢关蒯相查后荆红游竺权逯盖益桓公"
    "肖闫付代涂覃佟苟岳冼仝战亓尉逄仉"
)
_DOUBLE_SURNAMES = (
    "欧阳",
    "司马",
    "上官",
    "诸葛",
    "东方",
    "皇甫",
    "尉迟",
    "公孙",
    "慕容",
    "令狐",
    "宇文",
    "长孙",
    "司徒",
)
_MOST_WORDS: Final = 7
_MOST_PEOPLE: Final = 300


@dataclass(frozen=True, slots=True)
class Person:
    """A person where the text names them; ``name`` has the given name first and no marks."""

    start: int
    end: int
    name: str


def people_in(text: str, start: int, end: int, *, told: bool = False) -> tuple[Person, ...]:
    """The people that the stretch lists, in order; () where it is anything but such a list.

    ``told``: the text says that they are people ("Authors: …"), so that one word will do for a name.
    """
    plain = _bare(text[start:end])
    if not plain.strip() or _ORGANISATION.search(plain):
        return ()
    found: list[Person] = []
    for first, last, name in _pieces(plain, told=told):
        if not _has_form(name, told=told) or len(found) == _MOST_PEOPLE:
            return ()
        found.append(Person(start + first, start + last, name))
    if not told and len(found) == 1 and found[0].name.split()[0].casefold() in _OPENING:
        return ()
    if not told and not any(" " in person.name or _SYLLABIC.match(person.name) for person in found):
        return () if len(found) != 1 or not _ONE_WORD.fullmatch(found[0].name) else tuple(found)
    return tuple(found)


_ONE_WORD = re.compile(r"[A-ZÀ-Þ][a-zß-ÿ]{2,}")


def _blank(match: re.Match[str]) -> str:
    return " " * len(match.group())


def _bare(text: str) -> str:
    """The text with what is no name made blanks, so that places stay: marks, addresses, asides."""
    text = _MAIL.sub(_blank, text)
    text = _ASIDE.sub(lambda match: match.group() if _NICKNAME.match(text, match.start()) else _blank(match), text)
    return _EMPHASIS.sub(_blank, _MARKS.sub(_blank, text))


def _pieces(text: str, *, told: bool) -> Iterator[tuple[int, int, str]]:
    """The names with their places: the list cut as its own marks say, inverted names turned."""
    if re.search(r"[;；]", text):
        separators, turned = r"\s*[;；]\s*(?:(?:and|&|和)\s+)?", True
    elif len(parts := re.split(r"\s+(?:and|&)\s+", text)) > 1 and all(_is_inverted(part) for part in parts):
        separators, turned = r"\s+(?:and|&)\s+", True
    elif _is_reference_list(text):
        yield from _with_initials(text)
        return
    elif _is_inverted(text) and (_is_one_name(text) if told else len(text.split()) <= 3 and "." in text):
        separators, turned = r"\n", True
    elif _HAN.search(text) and not re.search(r"[,，、]", text):
        separators, turned = r"\s*(?:和|与|及|以及)\s*|[\s|]+", False
    else:
        separators, turned = (
            r"\s*(?:[,，、|]|\s·\s)\s*(?:(?:and|&|和|与)\s+)?|\s+(?:and|och|und|&)\s+|(?<=[\u4e00-\u9fff])[和与及](?=[\u4e00-\u9fff])",
            False,
        )
    pending: tuple[int, int, str] | None = None
    for first, last in _cut(text, separators):
        name = _named(text[first:last], turned=turned)
        if pending is not None and _SUFFIX.fullmatch(name):
            written = pending[2] if _DEGREE.fullmatch(name) else f"{pending[2]} {name}"
            pending = (pending[0], last, written)
            continue
        if pending is not None:
            yield pending
        pending = (first, last, name)
    if pending is not None:
        yield pending


def _cut(text: str, separators: str) -> Iterator[tuple[int, int]]:
    """The stretches between the separators, without blanks at their ends; empty ones left out."""
    position = 0
    ends = [match.span() for match in re.finditer(separators, text)]
    for low, high in [*ends, (len(text), len(text))]:
        piece = text[position:low]
        trimmed = piece.strip(" \t\r\n\u3000,，:：")
        if trimmed.strip("."):
            first = position + piece.index(trimmed)
            yield first, first + len(trimmed)
        position = high


def _named(piece: str, *, turned: bool) -> str:
    """The piece as a name: one blank between words, the given name first."""
    name = " ".join(piece.split())
    if _HAN.search(name):
        return re.sub(r"(?<=[\u3400-\u9fff])\s(?=[\u3400-\u9fff])", "", name)
    family, comma, given = name.partition(",")
    if turned and comma:
        given, _, suffix = given.strip().partition(", ")
        return " ".join(part for part in (given, family.strip(), suffix) if part)
    if not re.search(r"\b[^\W\d_]\.$|\b(?:Jr|Sr)\.$", name):
        name = name.rstrip(".")
    return name


def _is_inverted(part: str) -> bool:
    """Whether the part is one name with the family name first: "van den Berg, José"."""
    family, comma, given = part.partition(",")
    return bool(comma and family.strip() and given.strip()) and "," not in given.strip().rstrip(",")


def _is_one_name(text: str) -> bool:
    """Whether what stands on both sides of the comma is too short to be two names: "Lee, Ann"."""
    family, _, given = text.partition(",")
    return len(given.split()) <= 2 and len([word for word in family.split() if word not in _PARTICLES]) == 1


def _is_reference_list(text: str) -> bool:
    """Whether family names and initials take turns: "Lee, A., & O’Hara, K. B."."""
    parts = [text[first:last] for first, last in _cut(text, r"\s*,\s*(?:(?:and|&)\s+)?|\s+(?:and|&)\s+")]
    given = parts[1::2]
    return (
        len(parts) >= 2
        and len(parts) % 2 == 0
        and all(_INITIALS.fullmatch(part) for part in given)
        and not any(_INITIALS.fullmatch(part) for part in parts[::2])
    )


def _with_initials(text: str) -> Iterator[tuple[int, int, str]]:
    spans = list(_cut(text, r"\s*,\s*(?:(?:and|&)\s+)?|\s+(?:and|&)\s+"))
    for (first, low), (high, last) in zip(spans[::2], spans[1::2], strict=True):
        yield first, last, f"{' '.join(text[high:last].split())} {' '.join(text[first:low].split())}"


def _has_form(name: str, *, told: bool) -> bool:
    """Whether the words have the form of a person's name."""
    if _HAN.search(name):
        familiar = name[0] in _SURNAMES or name.startswith(_DOUBLE_SURNAMES) or re.search(r"[·・•‧]", name)
        return bool(_HAN_NAME.fullmatch(name)) and bool(told or familiar)
    if _SYLLABIC.fullmatch(name.replace(" ", "")):
        return True
    words = re.sub(r"[()（）\"“”]", "", name).split()
    if not 1 <= len(words) <= _MOST_WORDS or not all(
        _WORD.fullmatch(word) or _SUFFIX.fullmatch(word) for word in words
    ):
        return False
    long = [word for word in words if len(word.rstrip(".")) > 1 and word.casefold() not in _PARTICLES]
    rightly = all(_is_capital(word) or word.casefold() in _PARTICLES for word in words)
    if not long or not (rightly or (told and _is_capital(long[-1]))):
        return False
    return len(words) > 1 or not words[0].isupper()


def _is_capital(word: str) -> bool:
    """Whether the word begins with a capital, here or after a prefix ("d’Arcy"), or its script has none."""
    first = unicodedata.normalize("NFD", word)[0]
    return (
        first.isupper()
        or first.istitle()
        or not first.islower()
        or bool(re.match(r"[a-z]{1,2}['’][A-Z]|[a-z]{1,2}[A-Z]", word))
    )
