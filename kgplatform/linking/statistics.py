"""What the rules of linking look at beyond the names in hand: how common words are, and which names translate others.

Kept in line name by name, so that one more name costs no more than it brings; what changes for other names by that is
told, for those to be looked at again.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import product
from typing import Final, TypeAlias

from kgplatform.documents.registry import NameKey
from kgplatform.linking.names import Name
from kgplatform.linking.wording import Wording, row
from kgplatform.text import has_han, normalise

LEAST_SHARE: Final = 1 / 3

Pairing: TypeAlias = tuple[str, str]
"""A Latin name and a Chinese one."""


@dataclass(slots=True)
class Shifted:
    """Texts that are names now and were none, or the other way round, and those for which something else changed."""

    texts: set[str] = field(default_factory=set)
    others: set[str] = field(default_factory=set)


class Statistics:
    """Over all names of a workspace: their texts, the words in these, and the translations of their beginnings."""

    def __init__(self, wording: Wording, names: Iterable[Name] = ()) -> None:
        self._wording = wording
        self._texts: Counter[str] = Counter()
        self._words: dict[str, set[str]] = defaultdict(set)
        self._beginning: dict[str, set[NameKey]] = defaultdict(set)
        self._crossing: dict[NameKey, Name] = {}
        self._brought: dict[NameKey, list[tuple[Pairing, str]]] = {}
        self._seen: dict[Pairing, Counter[str]] = {}
        self._partners: dict[str, set[str]] = defaultdict(set)
        self._translated: dict[str, set[Pairing]] = defaultdict(set)
        self.change((None, name) for name in names)

    def __contains__(self, text: object) -> bool:
        return text in self._texts

    def used(self, word: str) -> int:
        """In how many texts of names the word stands."""
        return len(self._words.get(word, ()))

    def translated(self, text: str) -> set[Pairing]:
        """The pairs of names with that text that other names begin with and are translations of one another."""
        return self._translated.get(text, set())

    def change(self, names: Iterable[tuple[Name | None, Name | None]]) -> Shifted:
        """Takes names in, each in the place of the one before it; tells what that changed for others."""
        shifted, counted = Shifted(), Counter[str]()
        crossing: set[NameKey] = set()
        for old, new in names:
            if old is not None:
                counted[old.text] -= 1
                self._begin(old, holds=False)
                crossing.add(old.key)
            if new is not None:
                counted[new.text] += 1
                self._begin(new, holds=True)
                crossing.add(new.key)
        for text, count in counted.items():
            was = text in self._texts
            self._texts[text] += count
            if not self._texts[text]:
                del self._texts[text]
            if was != (text in self._texts):
                shifted.texts.add(text)
                self._note_words(text, shifted)
                crossing |= self._beginning.get(text, set())
        self._translate(crossing, shifted)
        return shifted

    def restore(self, names: Iterable[Name]) -> None:
        """Takes in, where there are none yet, names of which nobody has to be told."""
        for name in names:
            self._texts[name.text] += 1
            self._begin(name, holds=True)
        for text in self._texts:
            for word in set(row(text)):
                self._words[word].add(text)
        self._translate(list(self._crossing), Shifted())

    def _note_words(self, text: str, shifted: Shifted) -> None:
        for word in set(row(text)):
            texts = self._words[word]
            was_alone = len(texts) == 1
            before = set(texts) if was_alone else set()
            (texts.add if text in self._texts else texts.discard)(text)
            if was_alone != (len(texts) == 1):
                shifted.others |= before | texts
            if not texts:
                del self._words[word]

    # translations of beginnings

    def _begin(self, name: Name, *, holds: bool) -> None:
        """Notes under what the name, or an alias of it in the other script, begins with."""
        crossing = [alias for alias in trusted(name) if has_han(alias) != name.is_chinese]
        if not crossing:
            return
        if holds:
            self._crossing[name.key] = name
        else:
            del self._crossing[name.key]
        for text in (name.text, *crossing):
            for part in self._beginnings(text):
                (self._beginning[part].add if holds else self._beginning[part].discard)(name.key)
                if not self._beginning[part]:
                    del self._beginning[part]

    def _beginnings(self, text: str) -> Iterator[str]:
        parts, glue = row(text), "" if has_han(text) else " "
        for cut in range(1, len(parts)):
            if self._wording.is_name(row(glue.join(parts[:cut]))):
                yield glue.join(parts[:cut])

    def _pairings(self, name: Name) -> Iterator[tuple[Pairing, str]]:
        """What the name and its aliases in the other script begin with, where that is a name, with the Latin one."""
        for alias in trusted(name):
            if name.is_chinese != has_han(alias):
                latin, chinese = (alias, name.text) if name.is_chinese else (name.text, alias)
                ours, theirs = ([p for p in self._beginnings(text) if p in self._texts] for text in (latin, chinese))
                yield from ((pair, latin) for pair in product(ours, theirs))

    def _translate(self, keys: Iterable[NameKey], shifted: Shifted) -> None:
        """Brings in line what the names of these keys say of translations."""
        touched: set[str] = set()
        for key in keys:
            for pair, latin in self._brought.pop(key, ()):
                self._see(pair, latin, -1)
                touched.update(pair)
            name = self._crossing.get(key)
            brought = list(self._pairings(name)) if name is not None else []
            for pair, latin in brought:
                self._see(pair, latin, 1)
                touched.update(pair)
            if brought:
                self._brought[key] = brought
        pairs = {pair for part in touched for pair in self._translated.get(part, ())}
        pairs |= {(p, o) if has_han(o) else (o, p) for p in touched for o in self._partners.get(p, ())}
        for pair in pairs:
            self._settle(pair, shifted)

    def _see(self, pair: Pairing, latin: str, count: int) -> None:
        support = self._seen.setdefault(pair, Counter())
        support[latin] += count
        if not support[latin]:
            del support[latin]
        for one, other in (pair, pair[::-1]):
            (self._partners[one].add if support else self._partners[one].discard)(other)
            if not self._partners[one]:
                del self._partners[one]
        if not support:
            del self._seen[pair]

    def _settle(self, pair: Pairing, shifted: Shifted) -> None:
        """Decides: each must go with the other only, and sound like it or come twice."""
        latin, chinese = pair
        support = self._seen.get(pair, Counter())
        alone = len(self._partners.get(latin, ())) == len(self._partners.get(chinese, ())) == 1
        holds = bool(support) and alone and (len(support) > 1 or reads_like(latin, [chinese]))
        if holds == (pair in self._translated.get(latin, ())):
            return
        shifted.others |= {latin, chinese}
        for text in pair:
            (self._translated[text].add if holds else self._translated[text].discard)(pair)
            if not self._translated[text]:
                del self._translated[text]


def trusted(name: Name) -> dict[str, int]:
    """The aliases of a name, normalised, those left out that are far rarer than another one in the same script."""
    counts: dict[str, int] = defaultdict(int)
    for alias, count in name.aliases.items():
        counts[normalise(alias)] += count
    counts.pop("", None)
    most = {
        script: max((count for alias, count in counts.items() if has_han(alias) == script), default=0)
        for script in (True, False)
    }
    return {alias: count for alias, count in counts.items() if count >= most[has_han(alias)] * LEAST_SHARE}


def reads_like(text: str, aliases: Iterable[str]) -> bool:
    """Whether a word has as many syllables as one of the Chinese names has characters: likely its reading.

    >>> reads_like("dongzha", ["东栅"]), reads_like("dongzha", ["百床馆"])
    (True, False)
    """
    syllables = len(re.findall("[aeiouü]+", text))
    return " " not in text and any(has_han(alias) and len(alias) == syllables for alias in aliases)
