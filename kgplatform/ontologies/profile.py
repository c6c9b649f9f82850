"""What values look like: of which datatype all are, whether they tell things apart, whether they come from a list."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from pyoxigraph import Literal, NamedNode

from kgplatform.checking.literals import is_well_formed
from kgplatform.vocab import (
    RDF,
    XSD_BOOLEAN,
    XSD_DATE,
    XSD_DATETIME,
    XSD_DECIMAL,
    XSD_GYEAR,
    XSD_INTEGER,
    XSD_STRING,
)

_LANG_STRING = NamedNode(f"{RDF}langString")
_NUMBER = re.compile(r"[+-]?(?:\d+|\d{1,3}(?:,\d{3})+)", re.ASCII)
_FRACTION = re.compile(r"[+-]?(?:\d+|\d{1,3}(?:,\d{3})+)\.\d+(?:[eE][+-]?\d+)?", re.ASCII)
_YEAR_WORDS = re.compile(r"year|opened|founded|built|年", re.IGNORECASE)
_CODE_WORDS = re.compile(r"code|\bid\b|\buid\b|phone|zip|postal|number\b|编号|代码|电话|邮编|号$", re.IGNORECASE)
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_MOMENT = re.compile(r"\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:\d{2})?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Profile:
    """What is common to values: their datatype, whether no two are equal, and some of them as examples."""

    datatype: NamedNode
    count: int
    distinct: int
    examples: tuple[str, ...]

    @property
    def is_unique(self) -> bool:
        """Whether every value occurs once."""
        return self.count > 1 and self.count == self.distinct


def of_texts(texts: Sequence[str], name: str) -> Profile:
    """The profile of cells under a column name; blank ones do not count."""
    cells = [text.strip() for text in texts if text.strip()]
    return _profile(_datatype(cells, name), cells)


def _datatype(cells: Sequence[str], name: str) -> NamedNode:
    """The narrowest datatype that all cells are written in; codes stay text, for leading zeros tell."""
    if not cells:
        return XSD_STRING
    if all(_NUMBER.fullmatch(cell) for cell in cells):
        padded = any(len(cell) > 1 and cell[0] == "0" for cell in cells)
        if padded or _CODE_WORDS.search(name):
            return XSD_STRING
        is_year = _YEAR_WORDS.search(name) and all(re.fullmatch(r"1[0-9]{3}|20\d{2}", cell) for cell in cells)
        return XSD_GYEAR if is_year else XSD_INTEGER
    if all(_NUMBER.fullmatch(cell) or _FRACTION.fullmatch(cell) for cell in cells):
        return XSD_DECIMAL
    if all(cell.casefold() in ("true", "false", "yes", "no", "是", "否") for cell in cells):
        return XSD_BOOLEAN
    for datatype, form in ((XSD_DATE, _DATE), (XSD_DATETIME, _MOMENT)):
        if all(form.fullmatch(cell) and _is_written(cell, datatype) for cell in cells):
            return datatype
    return XSD_STRING


def _is_written(cell: str, datatype: NamedNode) -> bool:
    text = cell.replace(" ", "T")
    if datatype == XSD_DATETIME and re.search(r"T\d{2}:\d{2}(?!:)", text):
        text = re.sub(r"T(\d{2}:\d{2})(?!:)", r"T\1:00", text, count=1)
    return is_well_formed(Literal(text, datatype=datatype))


def of_literals(literals: Sequence[Literal], name: str) -> Profile:
    """The profile of literals: the datatype that most say; plain text is looked at as cells are."""
    texts = [item.value for item in literals]
    if any(item.language for item in literals):
        return _profile(_LANG_STRING, texts)
    said = Counter(item.datatype for item in literals)
    if len(said) == 1 and XSD_STRING in said:
        return of_texts(texts, name)
    if {XSD_INTEGER, XSD_DECIMAL} == said.keys():
        return _profile(XSD_DECIMAL, texts)
    return _profile(said.most_common(1)[0][0] if len(said) == 1 else XSD_STRING, texts)


def _profile(datatype: NamedNode, texts: Sequence[str]) -> Profile:
    distinct = list(dict.fromkeys(texts))
    examples = tuple(text for text in distinct if len(text) <= 80)[:2]
    return Profile(datatype, len(texts), len(distinct), examples)
