"""Pages from the web as a source of passages: a folder of saved pages, given addresses, or a SearXNG server.

Nothing is fetched that the settings do not name: the server's own address, and pages of the hosts in the allow-list.
Names that lead to private addresses are refused, unless the very host stands in the settings. What cannot be fetched
leaves its name and snippet, as the search gave them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final, Protocol, runtime_checkable
from urllib.parse import quote, urlencode, urlsplit

from kgplatform.documents.fetch import FetchedPage, WebRules, fetch, is_address
from kgplatform.documents.readers.html import MAX_HTML_BYTES, read_html
from kgplatform.errors import ReadError
from kgplatform.network import Resolve, named_addresses, public_addresses
from kgplatform.retrieval.fusion import FoundPage

_SUFFIXES: Final = (".html", ".htm", ".xhtml")
_MOST_PAGES: Final = 2_000
_AT_ONCE: Final = 4
_SETTINGS: Final = {
    "documents.web_hosts": "web.hosts",
    "documents.web_timeout_seconds": "web.timeout_seconds",
    "documents.max_bytes": "web.max_bytes",
}
_SAFE: Final = "/%:@!$&'()*+,;=~-._?#[]"


@runtime_checkable
class SearchProvider(Protocol):
    """Finds pages for a question."""

    @property
    def name(self) -> str:
        """What it is called."""
        ...

    def search(self, question: str, k: int) -> list[FoundPage]:
        """At most ``k`` pages, best first as far as the provider knows; a folder gives all that it has.

        Raises:
            ReadError: the provider cannot be reached or does not answer in its form.
        """
        ...


@dataclass(frozen=True, slots=True)
class Fetching:
    """What may be fetched: pages of ``hosts`` (as `WebRules` takes them), within size and time."""

    hosts: tuple[str, ...] = ()
    max_bytes: int = 5_000_000
    timeout_seconds: float = 10.0


class FolderPages:
    """Saved pages: HTML files, each with a JSON file of its name for page name, snippet and url, if there is one."""

    name = "folder"

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def search(self, question: str, k: int) -> list[FoundPage]:  # noqa: ARG002
        """All pages that can be read; which of them fit is for the retriever to say.

        Raises:
            ReadError: there is no such folder.
        """
        if not self._folder.is_dir():
            raise ReadError("is not a folder of saved pages; see web.folder", path=self._folder)
        files = sorted(path for path in self._folder.rglob("*") if path.suffix.lower() in _SUFFIXES)[:_MOST_PAGES]
        found = []
        for path in files:
            beside = path.with_suffix(".json")
            stamp = beside.stat().st_mtime_ns if beside.is_file() else 0
            page = _saved(path, path.stat().st_mtime_ns, stamp)
            if page is not None:
                found.append(page)
        return found


@lru_cache(maxsize=4_096)
def _saved(path: Path, _written: int, described: int) -> FoundPage | None:
    """A saved page, read again when it or its description has changed; None where there is no text in it."""
    try:
        if path.stat().st_size > MAX_HTML_BYTES:
            return None
        title, text = page_text(path, path.read_bytes())
    except (ReadError, OSError):
        return None
    told = _description(path.with_suffix(".json")) if described else {}
    name = _first(told, "page_name", "name", "title") or title
    url = checked_url(_first(told, "url", "page_url")) or path.absolute().as_uri()
    return FoundPage(url, name, text, _first(told, "snippet", "page_snippet"))


def _description(path: Path) -> Mapping[str, object]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _first(told: Mapping[str, object], *names: str) -> str:
    return next((value.strip() for name in names if isinstance(value := told.get(name), str) and value.strip()), "")


def page_text(path: Path, data: bytes) -> tuple[str, str]:
    """The title and text of a page.

    Raises:
        ReadError: it is no page, or there is no text in it.
    """
    part = read_html(path, data)[0]
    return part.title, part.text


def checked_url(text: str) -> str:
    """An address with what no IRI may hold escaped; empty where it is none of the web."""
    return quote(text.strip(), safe=_SAFE) if is_address(text.strip()) else ""


class GivenPages:
    """The pages at given addresses."""

    name = "addresses"

    def __init__(self, addresses: Sequence[str], fetching: Fetching) -> None:
        self._addresses = tuple(addresses)
        self._fetching = fetching

    def search(self, question: str, k: int) -> list[FoundPage]:  # noqa: ARG002
        """The first ``k`` of the pages.

        Raises:
            ReadError: none of them can be fetched; the message is that of the first.
        """
        tried = _in_turn(self._addresses[: max(k, 0)], self._fetching)
        found = [page for page in tried if isinstance(page, FoundPage)]
        if tried and not found:
            raise next(error for error in tried if isinstance(error, ReadError))
        return found


class SearxngPages:
    """What a SearXNG server finds; its pages are fetched where their hosts are allowed, else their snippets stand."""

    name = "searxng"

    def __init__(self, address: str, fetching: Fetching, *, language: str = "") -> None:
        self._address = address.rstrip("/")
        self._fetching = fetching
        self._language = language

    def search(self, question: str, k: int) -> list[FoundPage]:
        """At most ``k`` pages, in the server's order.

        Raises:
            ReadError: the server cannot be reached, or does not reply with results as JSON.
        """
        asked = {"q": question, "format": "json", **({"language": self._language} if self._language else {})}
        host = urlsplit(self._address).netloc
        reply = _fetched(f"{self._address}/search?{urlencode(asked)}", (host,), self._fetching)
        results = _results(reply.data, self._address)[: max(k, 0)]
        pages = _in_turn([checked_url(_first(item, "url")) for item in results], self._fetching)
        return [_page(item, page) for item, page in zip(results, pages, strict=True)]


def _page(item: Mapping[str, object], page: FoundPage | ReadError) -> FoundPage:
    """A result with the text of its page, if that could be fetched."""
    url = checked_url(_first(item, "url"))
    text = page.text if isinstance(page, FoundPage) else ""
    return FoundPage(url, _first(item, "title") or url, text, _first(item, "content"))


def _results(data: bytes, address: str) -> list[Mapping[str, object]]:
    """The results of a reply that lead to pages, each page once."""
    try:
        reply = json.loads(data.decode("utf-8-sig"))
        results = reply["results"]
    except (ValueError, KeyError, TypeError) as error:
        raise ReadError(
            "does not reply with results as JSON; allow the format json in its settings",
            path=Path(address),
            place=address,
        ) from error
    found = [item for item in results if isinstance(item, dict)] if isinstance(results, list) else []
    return list({url: item for item in found if (url := checked_url(_first(item, "url")))}.values())


def fetched(address: str, fetching: Fetching) -> FoundPage:
    """The page at an address.

    Raises:
        ReadError: its host is not allowed, it cannot be fetched, or there is no text in it.
    """
    page = _fetched(address, fetching.hosts, fetching)
    if page.path.suffix in (".txt", ".md"):
        return FoundPage(address, page.path.stem, page.data.decode("utf-8-sig", "replace"))
    title, text = page_text(page.path, page.data)
    return FoundPage(address, title, text)


def _fetched(address: str, hosts: Sequence[str], fetching: Fetching) -> FetchedPage:
    """What an address gives; its troubles speak of the settings of ``[web]``."""
    rules = WebRules(tuple(hosts), fetching.max_bytes, fetching.timeout_seconds)
    try:
        return fetch(address, rules, resolve=_resolver(hosts))
    except ReadError as error:
        message = error.reason
        for other, own in _SETTINGS.items():
            message = message.replace(other, own)
        raise ReadError(message, path=Path(address), place=address) from error


def _resolver(hosts: Sequence[str]) -> Resolve:
    """How a host may be reached: one that the settings name outright wherever it is, any other where it is public."""
    named = {host.lower() for host in hosts}

    def resolve(host: str, port: int) -> Sequence[str]:
        outright = {host.lower(), f"{host.lower()}:{port}"} & named
        return named_addresses(host, port) if outright else public_addresses(host, port)

    return resolve


def _in_turn(addresses: Sequence[str], fetching: Fetching) -> list[FoundPage | ReadError]:
    """What each address gives, a few at the same time."""

    def one(address: str) -> FoundPage | ReadError:
        try:
            return fetched(address, fetching)
        except ReadError as error:
            return error

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return list(pool.map(one, addresses))
