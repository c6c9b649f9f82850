"""Where on the server a thing, document, passage or query is found: addresses relative to the host, never with it."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from urllib.parse import quote, urlencode

from flask import request
from pyoxigraph import NamedNode

from kgplatform.errors import NotFoundError
from kgplatform.types import Evidence

_PATH_SAFE = "/:@!$&'()*+,;=-._~"


def of_iri(iri: NamedNode, base: str) -> str:
    """The page about an IRI: its document, its page below the workspace's base, or the page for foreign IRIs."""
    name = iri.value
    rest = name[len(base) :] if name.startswith(base) else ""
    if rest.startswith("document/") and rest != "document/":
        return _of_document(rest.removeprefix("document/"))
    if rest.startswith("edit/"):
        return f"/edits/{quote(rest.removeprefix('edit/'), safe='')}"
    segments = rest.split("/")
    if not rest or any(part in ("", ".", "..") for part in segments):  # what browsers and servers would tidy up
        return f"/resource?{urlencode({'iri': name})}"
    return f"/id/{quote(rest, safe=_PATH_SAFE)}"


def _of_document(rest: str) -> str:
    name, _, tail = rest.partition("/")
    place = f"#chunk-{tail.removeprefix('chunk/')}" if tail.startswith("chunk/") else ""
    return f"/documents/{quote(name, safe='')}{place}"


def of_passage(passage: Evidence, base: str) -> str:
    """The document's page, opened at the passage; a page of the web itself."""
    web = passage.source == passage.document.value and not passage.document.value.startswith(base)
    if web and passage.source.startswith(("http://", "https://")):
        return passage.source
    page = of_iri(passage.document, base).partition("#")[0]
    return f"{page}?at={passage.start}-{passage.end}#passage"


def of_question(text: str, conversation: str = "", given: Mapping[str, str] = MappingProxyType({})) -> str:
    """The permanent address of a question, or of a reply in a conversation, with the options ``given`` beside it."""
    turn = {"conversation": conversation} if conversation else {}
    return f"/ask?{urlencode({'question': text, **turn, **given})}"


def of_query(text: str) -> str:
    """The editor with the query in it."""
    return f"/query?{urlencode({'query': text})}"


def of_download(text: str, format_: str) -> str:
    """The result of the query as a file of that format."""
    return f"/sparql?{urlencode({'query': text, 'format': format_})}"


def of_data(iri: NamedNode, format_: str) -> str:
    """What the graph says about an IRI, in a format; plain ASCII, as header fields need it."""
    return f"/resource?{urlencode({'iri': iri.value, 'format': format_})}"


def outside(iri: str) -> str | None:
    """The IRI as a link that leaves the server, if it is one that browsers open safely."""
    return iri if iri.startswith(("https://", "http://")) else None


def iri(text: str) -> NamedNode:
    """The IRI that the text spells.

    Raises:
        NotFoundError: it is none.
    """
    try:
        return NamedNode(text)
    except ValueError as error:
        raise NotFoundError(f"{text[:200]!r} is not an IRI", name=text) from error


def given_iri(name: str) -> NamedNode | None:
    """The IRI in that word of the request; None where it is empty."""
    text = request.values.get(name, "").strip()
    return iri(text) if text else None


def again(*without: str, **changed: object) -> str:
    """This page once more with other values of some of its words, and not as a file."""
    left_out = {*without, *changed, "format", "table"}
    kept = [(key, one) for key, one in request.args.items(multi=True) if key not in left_out]
    return f"?{urlencode([*kept, *changed.items()])}"
