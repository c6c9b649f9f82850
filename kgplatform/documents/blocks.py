"""From the elements of a page to lines of text: headings, paragraphs, items, rows and definitions."""

from __future__ import annotations

from typing import Any, Final, TypeAlias

from lxml import etree  # type: ignore[import-untyped]

Element: TypeAlias = Any
"""An lxml element; lxml has no types."""

_HEADINGS: Final = {f"h{level}": "#" * level + " " for level in range(1, 7)}
_LISTS = frozenset(("ul", "ol", "menu"))
_BREAKING_TAGS = """
address article aside blockquote body br caption center dd details div dl dt fieldset figcaption figure footer form
h1 h2 h3 h4 h5 h6 header hgroup hr legend li main menu nav ol option p pre section summary table tbody td tfoot th
thead title tr ul
"""
_BREAKING = frozenset(_BREAKING_TAGS.split())
_INSIDE_LAYOUT_CELL = ("h1", "h2", "h3", "h4", "h5", "h6", "p", "div", "ul", "ol", "dl", "pre", "blockquote")
_MAX_INDENT = 3


def inline_text(element: Element) -> str:
    """All text of an element on one line, its blocks apart by a blank."""
    pieces: list[str] = []
    for event, inner in etree.iterwalk(element, events=("start", "end")):
        if inner.tag in _BREAKING:
            pieces.append(" ")
        if event == "start":
            pieces.append(inner.text or "")
        elif inner is not element:
            pieces.append(inner.tail or "")
    return " ".join("".join(pieces).split())


class Blocks:
    """Collects the text of elements, given in document order, as blocks; rows and items of one list stay together."""

    def __init__(self) -> None:
        self._done: list[tuple[int, str]] = []
        self._inline: list[str] = []
        self._prefix = ""
        self._lists = 0
        self._group = 0
        self._terms: list[str] = []

    @staticmethod
    def is_leaf(element: Element) -> bool:
        """Whether the element becomes one block whatever is inside it: a table row, a definition, preformatted text."""
        if element.tag in ("pre", "dt", "dd"):
            return True
        if element.tag != "tr" or next(element.iterdescendants("table"), None) is not None:
            return False
        cells = sum(child.tag in ("td", "th") for child in element)
        if cells < len(element) or not cells or any(text.strip() for text in _loose_texts(element)):
            return False  # a malformed row has text outside its cells
        return cells > 1 or next(element.iterdescendants(*_INSIDE_LAYOUT_CELL), None) is None

    def start(self, element: Element) -> None:
        """Takes the beginning of an element."""
        tag = element.tag
        if tag == "br":
            self._inline.append("\n")
        elif tag in _BREAKING:
            self._flush()
        if self.is_leaf(element):
            self._leaf(element)
            return
        if tag in _LISTS:
            self._lists += 1
        if (tag in _LISTS and self._lists == 1) or tag in ("table", "dl"):
            self._group += 1
        if tag == "li":
            self._prefix = "  " * min(max(self._lists - 1, 0), _MAX_INDENT) + "- "
        elif tag in _HEADINGS:
            self._prefix = _HEADINGS[tag]
        self._inline.append(_collapsed(element.text))

    def end(self, element: Element, *, is_root: bool) -> None:
        """Takes the end of an element and, unless it is the outermost, the text after it."""
        tag = element.tag
        if tag in _BREAKING and tag != "br":
            self._flush()
        if tag in _LISTS:
            self._lists -= 1
        if tag == "dl":
            self._end_terms()
        if tag == "li" or tag in _HEADINGS:
            self._prefix = ""
        if not is_root:
            self._inline.append(_collapsed(element.tail))

    def text(self) -> str:
        """The blocks so far, apart by an empty line; items, rows and definitions that belong together by a line end."""
        self._flush()
        self._end_terms()
        pieces: list[str] = []
        before = 0
        for group, block in self._done:
            pieces.append("" if not pieces else "\n" if group and group == before else "\n\n")
            pieces.append(block)
            before = group
        return "".join(pieces)

    def _leaf(self, element: Element) -> None:
        if element.tag == "pre":
            self._add("".join(element.itertext()).strip("\n").rstrip(), together=False)
        elif element.tag == "tr":
            cells = [inline_text(child) for child in element if child.tag in ("td", "th")]
            self._add(" | ".join(cells) if any(cells) else "", together=True)
        elif element.tag == "dt":
            self._terms.append(inline_text(element))
        else:
            term = " / ".join(term for term in self._terms if term)
            definition = inline_text(element)
            self._add(f"{term}: {definition}" if term and definition else term or definition, together=True)
            if next(element.itersiblings(), None) is None or next(element.itersiblings()).tag != "dd":
                self._terms = []

    def _end_terms(self) -> None:
        if self._terms:  # without a definition
            self._add(" / ".join(self._terms), together=True)
            self._terms = []

    def _flush(self) -> None:
        lines = [" ".join(line.split()) for line in "".join(self._inline).split("\n")]
        block = "\n".join(line for line in lines if line)
        self._inline = []
        if block:
            is_heading = self._prefix.startswith("#")
            block = block.replace("\n", " ") if is_heading else block
            self._add(self._prefix + block, together=self._lists > 0 and not is_heading)
            self._prefix = ""

    def _add(self, block: str, *, together: bool) -> None:
        if not block:
            return
        if not together:
            self._group += 1
        self._done.append((self._group, block))
        if not together:
            self._group += 1


def _loose_texts(element: Element) -> list[str]:
    return [element.text or "", *(child.tail or "" for child in element)]


def _collapsed(text: str | None) -> str:
    """The text with its line ends made blanks, as HTML shows it; only ``br`` breaks a line."""
    return text.replace("\n", " ") if text else ""
