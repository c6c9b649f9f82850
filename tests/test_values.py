"""Values in text and cells, and the noise of posts: what is found, what it becomes, what is left out."""

import time
from dataclasses import dataclass, field, replace
from decimal import Decimal
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyoxigraph import NamedNode

from kgplatform.documents.chunking import sliding_window
from kgplatform.extraction.builtin import QuietExtractor, noise_in, without_noise
from kgplatform.extraction.values import accepts, clock, converted, han_number, hours, is_bare, literal_of, values_in
from kgplatform.ontology.schema import OntologyProperty, Word
from kgplatform.text import language_of
from kgplatform.types import Claim, Document, Extraction, Mention
from kgplatform.vocab import XSD, document_iri


def prop(range_, *, unit=None, pattern=None):
    return OntologyProperty(
        iri=NamedNode("http://example.org/p"),
        is_object=False,
        ranges=(NamedNode(f"{XSD}{range_}"),),
        unit=unit,
        pattern=pattern,
    )


HOURS = r"\d{2}:\d{2}-\d{2}:\d{2}(, \d{2}:\d{2}-\d{2}:\d{2})*"


@pytest.mark.parametrize(
    ("text", "kind", "lexical", "unit"),
    [
        ("the ticket is ¥150 now", "money", "150", "CNY"), ("costs 1,200 yuan", "money", "1200", "CNY"),
        ("门票150元", "money", "150", "CNY"), ("about 40 RMB", "money", "40", "CNY"),
        ("€12.50 each", "money", "12.50", "EUR"), ("opens 8:00-17:30", "span", "08:00-17:30", ""),
        ("from 9am to 5pm", "span", "09:00-17:00", ""), ("开放时间是9:00到22:00", "span", "09:00-22:00", ""),
        ("It opens at 7:30 and closes at 17:30", "span", "07:30-17:30", ""),
        ("早上8点开门", "clock", "08:00", ""), ("建于1874年", "year", "1874", ""),
        ("founded in 326 by a monk", "year", "0326", ""), ("on 9 November 2023", "date", "2023-11-09", ""),
        ("am 25.12.2019 eröffnet", "date", "2019-12-25", ""), ("christened 3/16/2013", "date", "2013-03-16", ""),
        ("发布于2024年5月3日", "date", "2024-05-03", ""), ("worth 7.5 credits", "number", "7.5", "credits"),
        ("坐车十分钟", "number", "10", "分钟"), ("像素2410万", "number", "24100000", ""),
        ("a gust of 184 km/h", "number", "184", "km/h"),
        ("0.22 square kilometres", "number", "0.22", "square kilometres"),
        ("重42.8吨", "number", "42.8", "吨"), ("about 120 pesos", "money", "120", "MXN"),
        ("entry CHF 16 each", "money", "16", "CHF"), ("a meal at 45 CAD", "money", "45", "CAD"),
        ("Thirty-two rooms", "number", "32", "rooms"), ("half an hour away", "number", "0.5", "hour"),
        ("two hundred and ten volunteers", "number", "210", "volunteers"), ("走半小时", "number", "0.5", "小时"),
        ("学员两百一十人", "number", "210", "人"), ("三万五千人", "number", "35000", "人"),
        ("共24学时", "number", "24", "学时"),
        ("平时三百二", "number", "320", ""), ("单间四百八一晚", "number", "480", "一晚"),
        ("水温90℃", "number", "90", "℃"), ("does 14 knots", "number", "14", "knots"),
        ("见 https://example.org/a。", "url", "https://example.org/a", ""),
    ],
)  # fmt: skip
def test_values_in_finds_the_value_with_kind_and_unit(text, kind, lexical, unit):
    assert [(value.kind, value.lexical, value.unit) for value in values_in(text)] == [(kind, lexical, unit)]


def test_no_value_is_inside_another_and_each_goes_to_properties_of_its_unit():
    found = values_in("2024年5月3日 9:00-17:00, 150元, 7.5 credits")
    assert [value.kind for value in found] == ["date", "span", "money", "number"]
    assert all(first.end <= second.start for first, second in pairwise(found))
    properties = prop("decimal", unit="CNY"), prop("decimal", unit="min"), prop("gYear")
    values = [values_in(text)[0] for text in ("150元", "20 minutes", "1874年")]
    taken = [[accepts(term, value) for term in properties] for value in values]
    assert taken == [[True, False, False], [False, True, False], [False, False, True]]


@pytest.mark.parametrize("text", ["一百多人", "一千年", "二百五十多", "one of them", "Seven Stars Park"])
def test_what_is_no_exact_amount_is_no_value(text):
    assert values_in(text) == []


def test_a_number_is_bare_where_nothing_says_what_it_counts():
    texts = ("Tickets for 45.", "900 a head", "三百二一晚", "45 to try", "45 rooms", "12 metres", "三百六十行", "JD 3")
    assert [is_bare(values_in(text)[0]) for text in texts] == [True, True, True, True, False, False, False, False]
    assert [value.kind for text in ("for 45 try it", "Rs 500", "CS 482") for value in values_in(text)] == ["number"] * 3


def test_a_property_without_a_unit_takes_counts_and_what_its_label_names():
    ageing = replace(prop("integer"), words=(Word("ageing in months", "en"), Word("陈放月数（个月）", "zh")))
    amounts = [values_in(text)[0] for text in ("18 months", "18个月", "18 km", "18 barrels")]
    assert [accepts(ageing, amount) for amount in amounts] == [True, True, False, True]
    assert [accepts(prop("integer"), amount) for amount in amounts] == [False, False, False, True]


def test_scales_without_end_are_read_in_the_time_that_their_length_asks():
    assert len(values_in("1万" * 20_000)) == 20_000


@pytest.mark.parametrize(
    ("text", "term", "lexical"),
    [
        ("150元", prop("decimal", unit="CNY"), "150"),
        ("1.5 hours", prop("decimal", unit="min"), "90"),
        ("90分钟", prop("decimal", unit="h"), "1.5"),
        ("345", prop("integer", unit="room"), "345"),
        ("1,200", prop("integer"), "1200"),
        ("8:00 - 17:30", prop("string", pattern=HOURS), "08:00-17:30"),
        ("1848年", prop("gYear"), "1848"),
        ("founded in 326", prop("gYear"), "0326"),
        ("2024/5/3", prop("date"), "2024-05-03"),
        ("2025-03-10 02:50", prop("dateTime"), "2025-03-10T02:50:00"),
        ("是", prop("boolean"), "true"),
        ("No", prop("boolean"), "false"),
        ("sf1625", prop("string", pattern=r"[A-Z]{2}\d{4}"), "SF1625"),
        ("1e3", prop("double"), "1e3"),
    ],
)
def test_literal_of_writes_the_form_the_range_asks_for(text, term, lexical):
    literal = literal_of(text, term)
    assert literal.value == lexical
    assert literal.datatype == term.ranges[0]


@pytest.mark.parametrize(
    ("text", "term", "reason"),
    [
        ("many", prop("decimal"), "is not a number"),
        ("3 or 4", prop("integer"), "holds several numbers"),
        ("4.5", prop("integer"), "is not a whole number"),
        ("20 km", prop("decimal", unit="min"), "is not measured in min"),
        ("€12", prop("decimal", unit="CNY"), "is not measured in CNY"),
        ("maybe", prop("boolean"), "neither yes nor no"),
        ("soon", prop("date"), "is not a date"),
        ("25:00", prop("dateTime"), "is not a date with a time"),
        ("long ago", prop("gYear"), "is not a year"),
        ("hello", prop("string", pattern=r"\d+"), "does not have the form"),
        ("  ", prop("string"), "there is no value"),
    ],
)
def test_literal_of_says_why_a_text_is_no_value(text, term, reason):
    with pytest.raises(ValueError, match=reason):
        literal_of(text, term)


@given(st.integers(0, 23), st.integers(0, 59), st.integers(1, 99))
def test_clock_times_and_chinese_numerals_below_a_hundred_are_read(hour, minute, number):
    written = f"{hour:02d}:{minute:02d}"
    assert clock(written) == clock(f"{hour}:{minute:02d}") == written
    digits = "零一二三四五六七八九"
    tens, ones = divmod(number, 10)
    numeral = ("" if tens == 0 else "十" if tens == 1 else f"{digits[tens]}十") + (digits[ones] if ones else "")
    assert han_number(numeral) == number


@given(st.decimals(min_value=Decimal("0.5"), max_value=1000, places=1))
def test_conversion_there_and_back_is_the_same_number(number):
    minutes = converted(str(number), "hours", "min")
    assert float(converted(minutes, "min", "h") or 0) == pytest.approx(float(number), rel=1e-4)
    assert converted("5", "km", "min") is None


@pytest.mark.parametrize(
    ("text", "span"),
    [
        ("Open ten to four except Mondays.", "10:00-16:00"),
        ("Groups welcome, half past nine to a quarter to five.", "09:30-16:45"),
        ("Open daily from 10 to 7, and until dusk in winter.", "10:00-19:00"),
        ("Open noon to midnight.", "12:00-24:00"),
        ("十点到四点", "10:00-16:00"),
        ("九点开，五点半关", "09:00-17:30"),
        ("七点到晚十二点", "07:00-24:00"),
        ("9:00-5:00", "09:00-17:00"),
        ("22:00-6:00", "22:00-06:00"),
        ("11:00-02:00", "11:00-02:00"),
        ("晚上8点到2点", "20:00-02:00"),
        ("12:00-2:00", "12:00-02:00"),  # may be of the afternoon: as it is written
        ("9:00-2:00", "09:00-14:00"),
        ("Open noon to two.", None),
        ("It takes two to one hours.", None),
        ("Open five to six days a week.", None),
        ("Open six to ten.", None),  # of the morning or of the evening
        ("They won ten to four.", None),
        ("有三点建议", None),
    ],
)
def test_hours_in_words_have_the_half_of_the_day_that_they_can_only_mean(text, span):
    found = [value.lexical for value in values_in(text) if value.kind == "span"]
    assert found == [span] * (span is not None)


@pytest.mark.parametrize(
    ("text", "number"),
    [("4.5/5", "4.5"), ("CO2 400", "400"), ("45-60", None), ("1046-8188", None)],
)
def test_a_text_with_one_number_is_that_and_a_code_or_range_is_none(text, number):
    if number is None:
        with pytest.raises(ValueError, match="holds several numbers"):
            literal_of(text, prop("decimal"))
    else:
        assert literal_of(text, prop("decimal")).value == number


def test_hours_joins_several_spans():
    assert [hours(text) for text in ("9:00-11:30，13:00-17:00", "all day")] == ["09:00-11:30, 13:00-17:00", None]


CLASS = NamedNode("https://example.org/o#Place")
CHINESE = (
    "家人们谁懂啊！西栅保姆级攻略🔥🔥🔥\n\n我们住在枕水度假酒店[害羞R]，离入口步行五分钟！！！"
    "喜欢的话记得点赞收藏哦～\n#乌镇旅游 #西栅#\n"
)
ENGLISH = (
    "OMG guys, you won't believe this hotel 😍\n\nThe Blue Bridge Inn lies near Xizha!!! "
    "Follow me for more, and link in bio.\n"
    "#wuzhen #travel #watertown\n"
)


def kept(text):
    return " ".join(without_noise(text).split())


def document(text, title="Title"):
    sha256 = "0" * 64
    iri = document_iri("https://example.org/kg/", sha256)
    return Document(iri, text, title, "text/plain", "a.txt", sha256, language_of(text))


def test_noise_goes_and_what_is_said_stays_in_both_languages():
    assert kept(CHINESE) == "！西栅 攻略 我们住在枕水度假酒店 ，离入口步行五分钟！"
    assert kept(ENGLISH) == "guys, this hotel The Blue Bridge Inn lies near Xizha! , ."


@pytest.mark.parametrize(
    ("text", "kind", "noise"),
    [
        ("西湖真美yyds", "slang", "yyds"),
        ("好吃绝绝子，下次再来", "slang", "绝绝子"),
        ("太好玩了哈哈哈哈", "slang", "哈哈哈哈"),
        ("It was fun lol.", "slang", "lol"),
        ("吐血整理的路线", "headline", "吐血整理"),
        ("The ultimate guide you'll ever need: Xizha", "headline", "The ultimate guide you'll ever need"),
        ("很美，关注我不迷路！", "boilerplate", "关注我不迷路"),
        ("图片来自网络，侵删", "boilerplate", "图片来自网络"),
        ("Nice. Don't forget to like and subscribe!", "boilerplate", "Don't forget to like and subscribe"),
        ("Save this post for later! 🙌", "boilerplate", "Save this post for later"),
        ("住在西栅[笑哭R]很好", "emoji", "[笑哭R]"),
        ("family 👨‍👩‍👧‍👦👍🏽 trip 🇨🇳", "emoji", "👨‍👩‍👧‍👦👍🏽"),
        ("#西湖 #骑行#\n", "tag", "#西湖 #骑行#"),
        ("Really??!!", "marks", "?!!"),
    ],
)
def test_kinds_of_noise_are_told(text, kind, noise):
    assert (kind, noise) in [(found.kind, text[found.start : found.end]) for found in noise_in(text)]


@pytest.mark.parametrize(
    "text",
    [
        "# A heading\n\n## 第二节\n\nIt costs 30 yuan; open 9:00 ~ 17:00, 3~5 days.",
        "浙江省博物馆收藏了三千件文物，评论家称它为宝库。",
        "He collects coins. So everyone followed us home, and they share a taxi and save money.",
        "The course covers C# and F#; see section #3 of [the page](https://example.org/#top).",
        "Write to info@example.org or read more books about the town.",
        "“Hello,” said Lo. Ms. Lol-Hansen replied.", "姐妹俩在乌镇开了一家民宿。",
        "鸭鸭餐厅在上品折扣1层，会员扣12元。", "مرحبا بكم في ووتشن. שלום לכולם.", "| a | b |\n|---|---|\n| 1 | 2 |",
    ],
)  # fmt: skip
def test_what_is_said_is_no_noise(text):
    assert [text[found.start : found.end] for found in noise_in(text)] == []


pieces = st.sampled_from(
    ["西栅", "#tag", "😀", "\n", " ", "!!", "点赞", "收藏", "follow me", "lol", "~", "家人们", "。", "a", "[R]"]
)


@given(st.one_of(st.text(max_size=200), st.lists(pieces, max_size=40).map("".join)))
def test_a_text_without_noise_has_every_other_letter_in_its_place(text):
    quiet = without_noise(text)
    assert len(quiet) == len(text)
    assert all(new == old or new == " " for new, old in zip(quiet, text, strict=True))
    assert quiet.count("\n") == text.count("\n")
    places = [(found.start, found.end) for found in noise_in(text)]
    assert all(start < end for start, end in places)
    assert all(one[1] <= two[0] for one, two in pairwise(places))


@pytest.mark.slow
@pytest.mark.parametrize("piece", ["#", "点赞", "哈", "!", "#a ", "😀", "~", "a,", "follow me ", "[笑", "like, "])
def test_long_monotonous_texts_take_no_longer(piece):
    began = time.perf_counter()
    without_noise(piece * (100_000 // len(piece)))
    assert time.perf_counter() - began < 20


@dataclass
class Reader:
    """An extractor that takes every name it is told of, and keeps what it saw."""

    names: tuple[str, ...]
    method: str = "built-in"
    seen: list[tuple[str, str]] = field(default_factory=list)

    def extract(self, chunk, document):
        self.seen.append((document.title, chunk.text))
        assert document.text[chunk.start : chunk.end] == chunk.text
        mentions = [
            Mention(document.text[start : start + len(name)], start, start + len(name), CLASS, name)
            for name in self.names
            if (start := document.text.find(name, chunk.start, chunk.end)) >= 0
        ]
        claims = [Claim(mentions[0], CLASS, mention, mention.start, mention.end) for mention in mentions[1:]]
        return Extraction(chunk.iri, tuple(mentions), tuple(claims))


@pytest.mark.parametrize(
    ("text", "names"), [(CHINESE, ("西栅", "枕水度假酒店")), (ENGLISH, ("Blue Bridge Inn", "Xizha"))], ids=["zh", "en"]
)
def test_an_extractor_sees_no_noise_and_its_offsets_are_the_documents(text, names):
    reader = Reader(names)
    post = document(text, title="西栅攻略🔥🔥")
    found = [QuietExtractor(reader).extract(chunk, post) for chunk in sliding_window(post)]
    mentions = [mention for extraction in found for mention in extraction.mentions]
    assert [mention.name for mention in mentions] == list(names)
    assert all(post.text[mention.start : mention.end] == mention.text for mention in mentions)
    assert all(title == "西栅攻略" for title, _ in reader.seen)
    assert not any(sign in seen for _, seen in reader.seen for sign in ("🔥", "😍", "#", "点赞", "link in bio"))


def test_a_mention_around_noise_keeps_the_text_as_written_and_a_quiet_text_is_passed_on():
    reader, post = Reader(("Blue   Inn",)), document("We stayed at Blue 🌉 Inn.")
    (extraction,) = [QuietExtractor(reader).extract(chunk, post) for chunk in sliding_window(post)]
    assert extraction.mentions[0].text == "Blue 🌉 Inn"
    reader, post = Reader(("Xizha",)), document("Xizha is a water town.")
    (chunk,) = sliding_window(post)
    assert QuietExtractor(reader).extract(chunk, post) == reader.extract(chunk, post)
