"""The words of the pages and messages: the same terms everywhere, in both languages, none that was replaced."""

import ast
import re
import tomllib
from functools import cache
from pathlib import Path

from kgplatform.retrieval.methods import RETRIEVERS
from kgplatform.server.words import WORDS, in_chinese, phrase

ROOT = Path(__file__).resolve().parents[1]
SHIPPED = ROOT / "kgplatform" / "words"

OLD_WORDS = re.compile(
    r"closely tied|well tied|nothing .*is called|no passage is near|take the path away|what it would say|mend the file"
    r"|struck out|someone at this|permanent address|place of an earlier one|has not run; see|leaves nothing over"
    r"|could not link|plain wording|the graph does not say|no source could answer|reading\(s\)|^read as\b|draft\(s\)"
    r"|have no passage|nearest passages|free again|in the frame|other way round|way it took|^as it was|graph by itself"
    r"|who may do what|what it stands on|known not to|tells nothing of it|^asks for$|changed sides|no such page",
    re.IGNORECASE,
)
"""What pages, messages and the ontology once said, and say better now."""


@cache
def strings():
    """The strings of the package that are no docstrings."""
    found = []
    for module in (ROOT / "kgplatform").rglob("*.py"):
        tree = ast.parse(module.read_text(encoding="utf-8"))
        documented = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        constants = (node for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in documented)
        found += [node.value for node in constants if isinstance(node.value, str)]
    return found


def toml(path):
    return tomllib.loads(path.read_text(encoding="utf-8"))


def test_words_that_were_replaced_do_not_come_back():
    texts = [*strings(), *(text for pair in WORDS.values() for text in pair)]
    for path in (*ROOT.glob("ontology/*.ttl"), *ROOT.glob("templates/html/*.html")):
        texts += path.read_text(encoding="utf-8").splitlines()
    assert [text for text in texts if OLD_WORDS.search(text)] == []


def test_words_of_a_plugin_do_not_hide_behind_those_of_all_pages():
    shared = {key for section in toml(SHIPPED / "en.toml").values() for key in section}
    for path in ROOT.glob("kgplatform/packs/*/words/en.toml"):
        assert [key for section in toml(path).values() for key in section if key in shared] == []


def test_chinese_has_its_own_marks_and_one_word_for_a_thing():
    parts = [*toml(SHIPPED / "zh.toml").values(), *toml(SHIPPED / "messages_zh.toml").values()]
    parts.append(toml(ROOT / "kgplatform" / "lexicon" / "zh.toml")["request_words"])
    said = [text for part in parts for text in part.values()]
    assert [text for text in said if re.search("[“”]|社区|草稿|逐级", text)] == []


def test_a_number_of_one_is_followed_by_the_form_for_one():
    assert phrase("job_of", "en", n="0", m="1") == "0 of 1 document"
    assert phrase("ui_job_of", "en", n="1", m="2") == "1 of 2 documents"
    assert phrase("ui_filtered", "en", n="0", total="1") == "0 of 1 row"
    assert phrase("ui_plan_rows", "en", n="1") == "1 row after this line"
    assert phrase("path_none", "en", a="A", b="B", n=1, looked="1").endswith("within 1 step (1 statement searched).")


def test_every_retriever_has_a_name_in_both_languages():
    assert [name for name in RETRIEVERS if f"method_{name}" not in WORDS] == []


COMPOSED = re.compile(
    r"unexpected here|the graph has no (class|property)|is ever a value of|nothing binds it|requested URL"
)
"""Messages that are put together of parts, or come from the web framework."""


def test_each_message_in_chinese_is_one_that_the_code_gives():
    said = "\n".join(strings())
    known = [key for part in toml(SHIPPED / "messages_zh.toml").values() for key in part]
    found = [key for key in known if not all(piece in said for piece in key.split("{}"))]
    assert [key for key in found if not COMPOSED.search(key)] == []


def test_messages_of_the_pages_are_there_in_chinese():
    assert in_chinese("that answer has expired; ask again, then rate it") == "该回答已过期；请重新提问后再评价"
    assert in_chinese("id:x is referred to 3 times; there is no page 2") == "id:x 被引用 3 次；没有第 2 页"
