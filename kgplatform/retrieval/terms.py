"""Text to index terms: English words by their stems, Chinese by pairs of characters.

Pairs need no dictionary, so that a name no dictionary knows (西栅) is found like any other, and question and passage
are always cut alike. A Chinese text is written to the index as its pairs with blanks between.
"""

from __future__ import annotations

import re
from functools import cache
from itertools import pairwise
from typing import Any, Final

_HAN_RUN = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]+")

_ISO_DATE = re.compile(r"(?<!\d)(\d{4})-(\d\d)-(\d\d)(?!\d)")

# words that ask or join: in a question they are not what is asked for
_QUESTION_WORDS: Final = frozenset(
    re.findall(
        r"\w+",
        """a about an and any are as at be been being by can could did do does for from give had has have how i if in
        into is it its list many me much must my name no not of on or our shall she should show so some tell than that
        the their them then there these they this those to us was we were what when where which who whom whose why
        will with would you your""",
    )
)
_CHINESE_QUESTION_WORDS = re.compile(
    "有没有|有哪些|哪一个|是什么|为什么|怎么样|什么时候|多少|哪些|哪个|哪里|哪儿|什么|怎么|如何|请问|告诉我|可以|列出|几个"
)


def latin(text: str) -> str:
    """The text without its Chinese, and with a date in ISO form as one word more, however it is written there.

    >>> latin("西栅 opens 2025-03-12T09:00")
    '  opens 2025-03-12 20250312 T09:00'
    """
    return _HAN_RUN.sub(" ", _ISO_DATE.sub(r"\g<0> \1\2\3 ", text))


def pairs(text: str) -> list[str]:
    """The pairs of neighbouring Chinese characters; a character that stands alone, by itself.

    >>> pairs("乌镇西栅 and 湖")
    ['乌镇', '镇西', '西栅', '湖']
    """
    found: list[str] = []
    for run in _HAN_RUN.findall(text):
        found.extend(a + b for a, b in pairwise(run))
        if len(run) == 1:
            found.append(run)
    return found


@cache
def analyzer() -> Any:
    """Cuts English into words, folds case and accents, stems."""
    from tantivy import Filter, TextAnalyzerBuilder, Tokenizer

    built = TextAnalyzerBuilder(Tokenizer.simple()).filter(Filter.remove_long(80)).filter(Filter.lowercase())
    return built.filter(Filter.ascii_fold()).filter(Filter.stemmer("english")).build()


def question_stems(question: str) -> list[str]:
    """The stems of the English words of a question, each once; question words only if there are no others."""
    text = latin(question)
    kept = [word for word in re.findall(r"[^\W_]+", text) if word.casefold() not in _QUESTION_WORDS]
    return list(dict.fromkeys(analyzer().analyze(" ".join(kept) or text)))


def question_pairs(question: str) -> list[str]:
    """The pairs of a Chinese question, each once; question words only if there is nothing else."""
    kept = pairs(_CHINESE_QUESTION_WORDS.sub(" ", question))
    return list(dict.fromkeys(kept or pairs(question)))


def content_words(question: str) -> list[str]:
    """The words of a question that are no question words, each once, as they stand; Chinese in its runs.

    >>> content_words("Which hotels are near 西栅？")
    ['hotels', 'near', '西栅']
    """
    words = [word for word in re.findall(r"[^\W_]+", latin(question)) if word.casefold() not in _QUESTION_WORDS]
    runs = _HAN_RUN.findall(_CHINESE_QUESTION_WORDS.sub(" ", question))
    return list(dict.fromkeys((*words, *runs)))
