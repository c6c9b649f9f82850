"""The noise of posts: what counts as such in Chinese and English, what does not, and that every offset stays."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyoxigraph import NamedNode

from kgplatform.documents.chunking import sliding_window
from kgplatform.documents.noise import noise_in, without_noise
from kgplatform.extraction.quiet import QuietExtractor
from kgplatform.text import language_of
from kgplatform.types import Chunk, Claim, Document, Extraction, Mention
from kgplatform.vocab import document_iri

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


def kept(text: str) -> str:
    return " ".join(without_noise(text).split())


def document(text: str, title: str = "Title") -> Document:
    sha256 = "0" * 64
    iri = document_iri("https://example.org/kg/", sha256)
    return Document(iri, text, title, "text/plain", "a.txt", sha256, language_of(text))


def test_noise_goes_and_what_is_said_stays_in_both_languages() -> None:
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
def test_kinds_of_noise_are_told(text: str, kind: str, noise: str) -> None:
    assert (kind, noise) in [(found.kind, text[found.start : found.end]) for found in noise_in(text)]


@pytest.mark.parametrize(
    "text",
    [
        "# A heading\n\n## 第二节\n\nIt costs 30 yuan; open 9:00 ~ 17:00, 3~5 days.",
        "浙江省博物馆收藏了三千件文物，评论家称它为宝库。",
        "He collects coins. So everyone followed us home, and they share a taxi and save money.",
        "The course covers C# and F#; see section #3 of [the page](https://example.org/#top).",
        "Write to info@example.org or read more books about the town.",
        "“Hello,” said Lo. Ms. Lol-Hansen replied.",
        "姐妹俩在乌镇开了一家民宿。",
        "鸭鸭餐厅在上品折扣1层，会员扣12元。",
        "مرحبا بكم في ووتشن. שלום לכולם.",
        "| a | b |\n|---|---|\n| 1 | 2 |",
    ],
)
def test_what_is_said_is_no_noise(text: str) -> None:
    assert [text[found.start : found.end] for found in noise_in(text)] == []


def test_a_long_clause_with_a_phrase_of_the_platform_loses_the_phrase_only() -> None:
    text = "The inn that stands by the second bridge behind the old theatre asks you to leave a comment "
    text += "in the book at the door"
    assert kept(text).startswith("The inn that stands by the second bridge")
    assert kept(text).endswith("in the book at the door")


pieces = st.sampled_from(
    ["西栅", "#tag", "😀", "\n", " ", "!!", "点赞", "收藏", "follow me", "lol", "~", "家人们", "。", "a", "[R]"]
)


@given(st.one_of(st.text(max_size=200), st.lists(pieces, max_size=40).map("".join)))
def test_a_text_without_noise_has_every_other_letter_in_its_place(text: str) -> None:
    quiet = without_noise(text)
    assert len(quiet) == len(text)
    assert all(new == old or new == " " for new, old in zip(quiet, text, strict=True))
    assert quiet.count("\n") == text.count("\n")
    places = [(found.start, found.end) for found in noise_in(text)]
    assert all(start < end for start, end in places)
    assert all(one[1] <= two[0] for one, two in pairwise(places))


@pytest.mark.parametrize("piece", ["#", "点赞", "哈", "!", "#a ", "😀", "~", "a,", "follow me ", "[笑", "like, "])
def test_long_monotonous_texts_take_no_longer(piece: str) -> None:
    began = time.perf_counter()
    without_noise(piece * (100_000 // len(piece)))
    assert time.perf_counter() - began < 20


@dataclass
class Reader:
    """An extractor that takes every name it is told of, and keeps what it saw."""

    names: tuple[str, ...]
    method: str = "built-in"
    seen: list[tuple[str, str]] = field(default_factory=list)

    def extract(self, chunk: Chunk, document: Document) -> Extraction:
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
def test_an_extractor_sees_no_noise_and_its_offsets_are_the_documents(text: str, names: tuple[str, ...]) -> None:
    reader = Reader(names)
    post = document(text, title="西栅攻略🔥🔥")
    found = [QuietExtractor(reader).extract(chunk, post) for chunk in sliding_window(post)]
    mentions = [mention for extraction in found for mention in extraction.mentions]
    assert [mention.name for mention in mentions] == list(names)
    assert all(post.text[mention.start : mention.end] == mention.text for mention in mentions)
    assert all(title == "西栅攻略" for title, _ in reader.seen)
    assert not any(sign in seen for _, seen in reader.seen for sign in ("🔥", "😍", "#", "点赞", "link in bio"))


def test_a_mention_around_noise_keeps_the_text_as_written() -> None:
    text = "We stayed at Blue 🌉 Inn."
    reader = Reader(("Blue   Inn",))
    post = document(text)
    (extraction,) = [QuietExtractor(reader).extract(chunk, post) for chunk in sliding_window(post)]
    assert extraction.mentions[0].text == "Blue 🌉 Inn"
    assert QuietExtractor(reader).method == "built-in"


def test_a_text_without_noise_is_passed_on_as_it_is() -> None:
    reader = Reader(("Xizha",))
    post = document("Xizha is a water town.")
    (chunk,) = sliding_window(post)
    assert QuietExtractor(reader).extract(chunk, post) == reader.extract(chunk, post)
