"""Which file an imported IRI is in, by an OASIS XML catalogue beside the importing file (``catalog-v001.xml``).

Protégé writes one into the folder of an ontology. Read are ``uri``, ``rewriteURI``, ``group`` and ``nextCatalog``
with ``xml:base``; entries that lead to the network are left aside, since imports are not fetched by themselves.
Specification: https://www.oasis-open.org/committees/download.php/14809/xml-catalogs.html, §6.5 (URI entries).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import quote, unquote, urljoin, urlsplit

from lxml import etree  # type: ignore[import-untyped]

from kgplatform.errors import OntologyError

NAME = "catalog-v001.xml"
_NAMES = (NAME, "catalog.xml")
_SPACE = "urn:oasis:names:tc:entity:xmlns:xml:catalog"
_BASE = "{http://www.w3.org/XML/1998/namespace}base"
_LARGEST = 5_000_000
_DEEPEST = 20


class Catalogue:
    """The entries of the catalogue in a folder, and of those it refers to; empty where there is none."""

    def __init__(self, folder: Path) -> None:
        """Reads the catalogue.

        Raises:
            OntologyError: it is no XML, or has a document type.
        """
        self._files: dict[str, Path] = {}
        self._rewritten: dict[str, str] = {}
        seen: set[Path] = set()
        waiting = [path for name in _NAMES if (path := folder / name).is_file()]
        while waiting and len(seen) < _DEEPEST:
            path = waiting.pop(0).resolve()
            if path not in seen:
                seen.add(path)
                waiting += self._read(path)

    def _read(self, path: Path) -> Iterator[Path]:
        root = _parsed(path)
        yield from list(self._entries(root, path.as_uri()))

    def _entries(self, element: etree._Element, base: str) -> Iterator[Path]:
        here = urljoin(base, element.get(_BASE) or "")
        for item in element:
            name = etree.QName(item).localname if isinstance(item.tag, str) else ""
            if name == "group":
                yield from self._entries(item, here)
            elif name == "uri" and item.get("name") and item.get("uri"):
                self._add(item.get("name"), urljoin(urljoin(here, item.get(_BASE) or ""), item.get("uri")))
            elif name == "rewriteURI" and item.get("uriStartString") and item.get("rewritePrefix"):
                self._rewritten.setdefault(item.get("uriStartString"), urljoin(here, item.get("rewritePrefix")))
            elif name == "nextCatalog" and item.get("catalog"):
                following = _file(urljoin(here, item.get("catalog")))
                if following is not None and following.is_file():
                    yield following

    def _add(self, iri: str, target: str) -> None:
        path = _file(target)
        if path is not None:
            self._files.setdefault(iri, path)

    def find(self, iri: str) -> Path | None:
        """The file that the catalogue names for the IRI, if it is there."""
        for form in (iri, iri.rstrip("#/")):
            path = self._files.get(form)
            if path is not None and path.is_file():
                return path
        starts = [start for start in self._rewritten if iri.startswith(start)]
        if not starts:
            return None
        longest = max(starts, key=len)
        path = _file(self._rewritten[longest] + iri.removeprefix(longest))
        return path if path is not None and path.is_file() else None


def _parsed(path: Path) -> etree._Element:
    try:
        data = path.read_bytes() if path.stat().st_size <= _LARGEST else b"<"
        if b"<!ENTITY" in data:
            raise OntologyError("has entities, which are not read; take them out", source=str(path))
        return etree.fromstring(data, etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False))
    except etree.XMLSyntaxError as error:
        message = f"is no catalogue that can be read: line {error.position[0]}: {error.msg}"
        raise OntologyError(message, source=str(path)) from error
    except OSError as error:
        raise OntologyError(f"cannot be read: {error.strerror or error}", source=str(path)) from error


def _file(uri: str) -> Path | None:
    """The path of a ``file:`` IRI on this machine; None for any other."""
    parts = urlsplit(uri)
    if parts.scheme != "file" or parts.netloc not in ("", "localhost"):
        return None
    return Path(unquote(parts.path))


def as_catalogue(files: Mapping[str, str]) -> bytes:
    """A catalogue of the file names (beside it) for the IRIs."""
    root = etree.Element(f"{{{_SPACE}}}catalog", nsmap={None: _SPACE}, prefer="public")
    for iri, name in sorted(files.items()):
        etree.SubElement(root, f"{{{_SPACE}}}uri", name=iri, uri=quote(name))
    return bytes(etree.tostring(root, xml_declaration=True, encoding="UTF-8", pretty_print=True))
