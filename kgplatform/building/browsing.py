"""Pages from the web for a question, as the settings of a workspace allow: nothing is asked unless something is set."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from urllib.parse import urldefrag

from pyoxigraph import NamedNode

from kgplatform.config import WebSettings
from kgplatform.documents.web import is_address
from kgplatform.errors import ConfigError
from kgplatform.models.reranking import Reranker
from kgplatform.protocols import Embedder
from kgplatform.retrieval.multistage import PAGE_TOKENS, WebPage, search_pages
from kgplatform.retrieval.web_search import Fetching, FolderPages, GivenPages, SearchProvider, SearxngPages
from kgplatform.types import Evidence, Hit


def provider(settings: WebSettings, folder: Path) -> SearchProvider | None:
    """Who finds pages: of the folder, else the server, else the addresses set; None where nothing is.

    Raises:
        ConfigError: the server's address, or one of the addresses, is none.
    """
    fetching = Fetching(settings.hosts, settings.max_bytes, settings.timeout_seconds)
    for setting, addresses in (("web.searxng", (settings.searxng,)), ("web.addresses", settings.addresses)):
        for address in filter(None, addresses):
            if not is_address(address):
                raise ConfigError(f"{setting} holds {address!r}, which is no http(s) address", setting=setting)
    if settings.folder:
        return FolderPages(folder / settings.folder)
    if settings.searxng:
        return SearxngPages(settings.searxng, fetching, language=settings.language)
    return GivenPages(settings.addresses, fetching) if settings.addresses else None


def browsed(
    found: SearchProvider,
    pages: int,
    *,
    embedder: Callable[[], Embedder | None] = lambda: None,
    reranker: Reranker | None = None,
    tokens: int = PAGE_TOKENS,
) -> Callable[[str, int], list[Evidence]]:
    """What gives the passages of pages for a question; it raises as the provider's search does."""

    def find(question: str, k: int) -> list[Evidence]:
        given = {page.url: page for page in found.search(question, pages)}
        model = embedder() if given else None
        hits = search_pages(question, given.values(), k, embedder=model, judge=reranker, tokens=tokens)
        return [_evidence(hit, given) for hit in hits]

    return find


def _evidence(hit: Hit, pages: dict[str, WebPage]) -> Evidence:
    """A passage of a page as evidence: its document is the page, its offsets are those in the page's text."""
    url, place = urldefrag(hit.iri.value)
    page = next(pages[name] for name in pages if hit.iri.value.rpartition("#")[0] == name or name == url)
    start = int(place.removeprefix("char=").partition(",")[0]) if place.startswith("char=") else 0
    return Evidence(
        hit.iri, NamedNode(page.url), page.name, page.url, hit.text, start, start + len(hit.text), hit.score
    )
