"""HTML pages: the main content as lines, without what surrounds it.

Headings come out as ``# …``, list items as ``- …``, table rows as ``cell | cell`` and definitions as
``term: definition``, blocks apart by an empty line. Nothing here recurses, so depth is no danger; beyond the depth
that libxml2 reads (2,048) the tags are left out and their text is kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, Final, TypeAlias

from lxml import etree  # type: ignore[import-untyped]

from kgplatform.documents.encoding import decode
from kgplatform.documents.parts import DocumentPart, clean, file_title, iso_date, one_line, with_title
from kgplatform.errors import ReadError

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


class TextBlocks:
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


"""An lxml element; lxml has no types."""

HTML_TYPE: Final = "text/html"
MAX_HTML_BYTES: Final = 32 * 1024 * 1024
"""The largest page that is read: as a tree it takes up to 25 times as much memory."""
_MAX_DEPTH = 200
_DROPPED_TAGS = """
script style noscript template nav footer aside iframe svg canvas object embed button select textarea input dialog
map audio video head
"""
_DROPPED = frozenset(_DROPPED_TAGS.split())
_HEAD_TAGS = frozenset(("title", "meta", "link", "script", "style", "base", "noscript", "template"))
_DROPPED_ROLES = frozenset(
    ("navigation", "banner", "contentinfo", "complementary", "search", "dialog", "menu", "alert")
)
_SURROUNDING_NAME = re.compile(
    r"(?:comments?|replies)(?:[-_]?(?:list|section|area|wrap|wrapper|box|container|form|thread))?|disqus(?:[-_]thread)?"
    r"|pinglun|breadcrumbs?|cookie[-_]?(?:bar|banner|notice|consent)|side[-_]?bar|nav[-_]?bar|share[-_]?(?:bar|buttons|links)"
    r"|social[-_]?(?:bar|buttons|links|share)|related[-_]?(?:posts|articles|links)|advert(?:isement)?s?|newsletter|pagination",
    re.IGNORECASE,
)
_NAMED_BLOCKS = frozenset(("div", "section", "ul", "ol", "p", "table", "form"))
_UNCLOSED = frozenset(("header", "button"))  # by the parser, where drawings stand in them
_KEPT_WHATEVER_CLASS = frozenset(("html", "body", "main", "article"))
_CONTAINERS = frozenset(("div", "section", "td", "table", "tbody", "tr", "center"))
_MARKUP = re.compile(r"<(?:p|div|br|h[1-6]|ul|ol|table|span|img|section|article)\b[^<>]*>", re.IGNORECASE)
_META_CHARSET = re.compile(rb"""<meta[^>]{0,200}?charset\s*=\s*["']?\s*([A-Za-z0-9_:.\-]{2,40})""", re.IGNORECASE)
_XML_ENCODING = re.compile(rb"""^\s*<\?xml[^>]{0,200}?encoding\s*=\s*["']([A-Za-z0-9_:.\-]{2,40})""")
_AUTHORS = ("author", "article:author", "dc.creator", "dcterms.creator", "og:article:author", "byl")
_DATES = (
    *("article:published_time", "og:published_time", "datepublished", "dc.date", "dcterms.created", "dcterms.date"),
    *("dc.date.issued", "date", "pubdate", "publishdate", "publish_date", "article:modified_time", "last-modified"),
)


def read_html(path: Path, data: bytes) -> list[DocumentPart]:
    """The one document of a page: its main content, title, author and date.

    Raises:
        ReadError: binary content, an encoding that cannot be told, too large, or no text.
    """
    if len(data) > MAX_HTML_BYTES:
        raise ReadError(
            f"is a page of {len(data) >> 20} MB; {MAX_HTML_BYTES >> 20} MB are the limit, split it", path=path
        )
    text = decode(data, path=path, declared=_declared(data))
    root = tree_of(text, path=path)
    meta = _meta(root)
    page_title, page_heading = _first_text(root, "//title"), _first_text(root, "//h1")
    _drop_surroundings(root)
    content = _main(root)
    body = clean(_rendered(content))
    if not body.strip():
        raise ReadError("holds no text outside navigation and scripts", path=path)
    heading = next((found for node in content for found in [_first_text(node, ".//h1")] if found), "")
    title = clean(heading or meta.get("og:title") or page_title or page_heading)
    text = with_title(body, title)
    return [DocumentPart(text, title or file_title(path), HTML_TYPE, _author(root, meta), _created(content, meta))]


def text_of(markup: str, *, path: Path) -> str:
    """The text of a fragment of HTML, laid out as a page is; for markup inside other formats."""
    root = tree_of(clean(markup), path=path)
    for element in root.xpath("//script|//style|//head"):
        _drop(element)
    return _rendered([root])


def looks_like_markup(text: str) -> bool:
    """Whether a text holds HTML tags."""
    return _MARKUP.search(text) is not None


def _declared(data: bytes) -> str | None:
    match = _XML_ENCODING.search(data[:1024]) or _META_CHARSET.search(data[:4096])
    return match[1].decode("ascii") if match else None


def content_of(root: Element) -> str:
    """The main content of a page that is parsed already, as lines; what surrounds it is taken out of the tree."""
    _drop_surroundings(root)
    return _rendered(_main(root))


def tree_of(text: str, *, path: Path) -> Element:
    """The root element of a page; what is nested too deeply for the parser is flattened first.

    Raises:
        ReadError: there is no text in it.
    """
    root, complete = _parse(text)
    if not complete:
        flattening = _Flattening()
        flattening.feed(text)
        flattening.close()
        root, complete = _parse("".join(flattening.pieces))
    if root is None or not complete:
        raise ReadError("holds no text" if root is None else "is too deeply nested to read", path=path)
    return root


def _parse(text: str) -> tuple[Element | None, bool]:
    parser = etree.HTMLParser(encoding="utf-8", huge_tree=True, remove_comments=True, remove_pis=True)
    try:
        root = etree.fromstring(text.encode(), parser)
    except (etree.XMLSyntaxError, ValueError):
        return None, not text.strip("\x00 \t\n")
    return root, all(error.level < etree.ErrorLevels.FATAL for error in parser.error_log)


class _Flattening(HTMLParser):
    """Writes a page again without the tags that are nested too deeply; their text stays."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.pieces: list[str] = []
        self._open: list[str] = []
        self._silent = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in ("script", "style"):
            self._silent = tag
        elif len(self._open) < _MAX_DEPTH and re.fullmatch(r"[a-z][a-z0-9]*", tag):
            plain = [(name, value or "") for name, value in attrs if re.fullmatch(r"[\w:.-]+", name)]
            written = "".join(f' {name}="{escape(value)}"' for name, value in plain)
            self.pieces.append(f"<{tag}{written}>")
            if tag not in ("br", "img", "hr", "meta", "link", "input"):
                self._open.append(tag)
        else:
            self.pieces.append(" ")

    def handle_endtag(self, tag: str) -> None:
        self._silent = "" if tag == self._silent else self._silent
        if tag in self._open:
            while self._open.pop() != tag:
                pass
            self.pieces.append(f"</{tag}>")
        else:
            self.pieces.append(" ")

    def handle_data(self, data: str) -> None:
        if not self._silent:
            self.pieces.append(escape(data))


def _meta(root: Element) -> dict[str, str]:
    found: dict[str, str] = {}
    for element in root.iter("meta"):
        name = element.get("property") or element.get("name") or element.get("itemprop") or ""
        content = one_line(element.get("content") or "")
        if name and content:
            found.setdefault(name.strip().lower(), content)
    return found


def _first_text(root: Element, path: str) -> str:
    return next((text for element in root.xpath(path) if (text := inline_text(element))), "")


def _author(root: Element, meta: dict[str, str]) -> str | None:
    named = next((meta[name] for name in _AUTHORS if name in meta and "://" not in meta[name]), "")
    return clean(named or _first_text(root, '//*[@rel="author" or @itemprop="author"]')) or None


def _created(content: list[Element], meta: dict[str, str]) -> str | None:
    named = [meta[name] for name in _DATES if name in meta]
    times = [element for node in content for element in node.iter("time")]
    written = [element.get("datetime") or inline_text(element) for element in times[:5]]
    return next((found for text in (*named, *written) if (found := iso_date(text))), None)


def _drop_surroundings(root: Element) -> None:
    for head in list(root.iter("head")):
        _free_content(head)
    for element in [element for element in root.iter() if isinstance(element.tag, str) and _is_surrounding(element)]:
        _drop(element)


def _free_content(head: Element) -> None:
    """Makes a head that swallowed content a block: the parser does not know that ``main`` and its like end a head."""
    if any(isinstance(child.tag, str) and child.tag not in _HEAD_TAGS for child in head):
        for child in head.findall("title"):
            _drop(child)
        head.tag = "div"


def _is_surrounding(element: Element) -> bool:
    tag = element.tag
    if tag in _KEPT_WHATEVER_CLASS or element.getparent() is None:
        return False
    if tag in _UNCLOSED and next(element.iterdescendants("main", "article"), None) is not None:
        return False
    if tag in _DROPPED or element.get("hidden") is not None or element.get("role") in _DROPPED_ROLES:
        return True
    if tag == "header":
        return next(element.iterancestors("article", "main"), None) is None
    if "display:none" in (element.get("style") or "").replace(" ", "").lower():
        return True
    names = f"{element.get('class') or ''} {element.get('id') or ''}".split()
    return tag in _NAMED_BLOCKS and any(_SURROUNDING_NAME.fullmatch(name) for name in names)


def _drop(element: Element) -> None:
    """Takes an element out of the tree; the text after it stays."""
    parent = element.getparent()
    if parent is None:
        return
    if element.tail:
        before = element.getprevious()
        if before is None:
            parent.text = (parent.text or "") + " " + element.tail
        else:
            before.tail = (before.tail or "") + " " + element.tail
    parent.remove(element)


def _main(root: Element) -> list[Element]:
    """What the page is about: ``main``, else its articles, else the innermost block with most of the text."""
    bodies = root.xpath("//body") or [root]
    whole = _weight(root)
    for path in ('//main|//*[@role="main"]', "//article[not(ancestor::article)]"):
        found = root.xpath(path)
        if found and sum(_weight(element) for element in found) * 4 >= whole:
            chosen = set(found)
            return [element for element in found if chosen.isdisjoint(element.iterancestors())]
    return [_densest(bodies[0])] if len(bodies) == 1 else list(bodies)


def _weight(element: Element) -> int:
    """How many letters an element holds outside links."""
    return len("".join(element.itertext())) - sum(len("".join(link.itertext())) for link in element.iter("a"))


def _densest(body: Element) -> Element:
    """The innermost element with at least nine tenths of the body's text; smaller ones would lose content."""
    weights = _weights(body)
    enough = 0.9 * weights[body]
    current = body
    while True:
        heavier = [child for child in current if child.tag in _CONTAINERS]
        heaviest = max(heavier, key=lambda child: weights.get(child, 0), default=None)
        if heaviest is None or weights.get(heaviest, 0) < max(enough, 1):
            return current if current.tag not in ("table", "tbody", "tr") else _table_around(current)
        current = heaviest


def _table_around(element: Element) -> Element:
    return element if element.tag == "table" else next(element.iterancestors("table"), element)


def _weights(body: Element) -> dict[Element, int]:
    """The weight of every element below, in one pass."""
    weights: dict[Element, int] = {}
    links = 0
    for event, element in etree.iterwalk(body, events=("start", "end")):
        links += (1 if event == "start" else -1) if element.tag == "a" else 0
        if event == "end":
            own = len((element.text or "").strip()) if not links and element.tag != "a" else 0
            tails = 0 if links else sum(len((child.tail or "").strip()) for child in element)
            weights[element] = own + tails + sum(weights[child] for child in element)
    return weights


def _rendered(nodes: list[Element]) -> str:
    blocks = TextBlocks()
    for node in nodes:
        for event, element in _walk(node):
            if event == "start":
                blocks.start(element)
            else:
                blocks.end(element, is_root=element is node)
    return blocks.text()


def _walk(node: Element) -> Iterator[tuple[str, Element]]:
    walker = etree.iterwalk(node, events=("start", "end"))
    for event, element in walker:
        if event == "start" and TextBlocks.is_leaf(element):
            walker.skip_subtree()
        yield event, element
