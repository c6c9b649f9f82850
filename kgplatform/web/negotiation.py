"""Which format a client gets: ``Accept`` with quality values (RFC 9110 §12.5.1), or a name given with ``?format=``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

_SHORT = 500


@dataclass(frozen=True, slots=True)
class Format:
    """A format on offer: its media type, the names it goes by in ``?format=`` and as an extension, and other types."""

    name: str
    media_type: str
    names: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    charset: bool = False

    def __hash__(self) -> int:
        return hash(self.name)

    @property
    def content_type(self) -> str:
        """The value of the ``Content-Type`` header."""
        return f"{self.media_type}; charset=utf-8" if self.charset else self.media_type


ROWS = (
    Format("json", "application/sparql-results+json", ("srj",), ("application/json",)),
    Format("xml", "application/sparql-results+xml", ("srx",), ("application/xml", "text/xml")),
    Format("csv", "text/csv", (), (), charset=True),
    Format("tsv", "text/tab-separated-values", (), (), charset=True),
)
"""How rows and booleans can be written."""

GRAPHS = (
    Format("turtle", "text/turtle", ("ttl",), ("application/x-turtle",), charset=True),
    Format("ntriples", "application/n-triples", ("nt",), ("text/plain",), charset=True),
    Format("rdfxml", "application/rdf+xml", ("rdf", "xml"), ("application/xml", "text/xml")),
    Format("jsonld", "application/ld+json", ("json", "json-ld"), ("application/json",)),
    Format("trig", "application/trig", (), ("application/x-trig",), charset=True),
    Format("nquads", "application/n-quads", ("nq",), ("text/x-nquads",), charset=True),
)
"""How graphs can be written."""

TRIPLES = GRAPHS[:4]
"""Those that hold one graph, which pages offer for what is about one thing."""

HTML = Format("html", "text/html", ("htm",), ("application/xhtml+xml",), charset=True)


@dataclass(frozen=True, slots=True)
class _Range:
    type: str
    subtype: str
    quality: float

    def fits(self, media_type: str) -> int:
        """How exactly the range names the media type: 0 not at all, 1 ``*/*``, 2 ``text/*``, 3 by name."""
        type_, _, subtype = media_type.partition("/")
        if self.type == "*":
            return 1
        if self.type != type_:
            return 0
        return 2 if self.subtype == "*" else 3 if self.subtype == subtype else 0


def _ranges(accept: str) -> list[_Range]:
    found = []
    for part in accept.split(","):
        name, *parameters = (item.strip() for item in part.split(";"))
        type_, slash, subtype = name.lower().partition("/")
        if not slash or not type_ or not subtype:
            continue
        quality = 1.0
        for parameter in parameters:
            key, _, value = parameter.partition("=")
            if key.strip().lower() == "q":
                quality = _quality(value.strip())
        found.append(_Range(type_, subtype, quality))
    return found


def _quality(text: str) -> float:
    try:
        return min(1.0, max(0.0, float(text)))
    except ValueError:
        return 0.0


def choose(accept: str | None, offers: Sequence[Format]) -> Format | None:
    """The offer that the client likes best, the first of equals; None where it accepts none of them.

    >>> choose("text/csv;q=0.5, application/json", ROWS).name
    'json'
    >>> choose("image/png", ROWS) is None
    True
    """
    if not accept or not accept.strip():
        return offers[0]
    return (_known if len(accept) < _SHORT else _chosen)(accept, tuple(offers))


def _chosen(accept: str, offers: tuple[Format, ...]) -> Format | None:
    ranges = _ranges(accept)
    best, chosen = 0.0, None
    for offer in offers:
        liked = max(_liking(offer.media_type, ranges), *(_by_name(alias, ranges) for alias in offer.aliases), (0.0, 0))
        if liked[0] > best:
            best, chosen = liked[0], offer
    return chosen


_known = lru_cache(maxsize=256)(_chosen)


def _by_name(media_type: str, ranges: Sequence[_Range]) -> tuple[float, int]:
    """As `_liking`, but only where the client names the media type itself."""
    liked = _liking(media_type, ranges)
    return liked if liked[1] == 3 else (0.0, 0)


def _liking(media_type: str, ranges: Sequence[_Range]) -> tuple[float, int]:
    """The quality of the range that names the media type most exactly, and how exactly it does."""
    fitting = [(item.fits(media_type), item.quality) for item in ranges if item.fits(media_type)]
    if not fitting:
        return (0.0, 0)
    exactness, quality = max(fitting)
    return (quality, exactness)


def named(name: str, offers: Sequence[Format]) -> Format | None:
    """The offer that goes by the name, short or media type."""
    wanted = name.strip().lower().replace(" ", "+")
    for offer in offers:
        if wanted in (offer.name, *offer.names, offer.media_type, *offer.aliases):
            return offer
    return None


def listing(offers: Sequence[Format]) -> str:
    """The offers in words, for a message."""
    return ", ".join(f"{offer.media_type} (format={offer.name})" for offer in offers)
