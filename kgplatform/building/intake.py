"""What is read of the places that a user names: files, and pages on the web where the settings allow it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from kgplatform.building.unread import Location, digest_of
from kgplatform.config import DocumentSettings
from kgplatform.documents.parsing import Parsers
from kgplatform.documents.web import WebRules, fetch, is_address
from kgplatform.errors import ConfigError, ReadError
from kgplatform.types import Document


def location_of(given: Path | str) -> Location:
    """The place that a user named: an address on the web as it is, anything else as a path."""
    return given if isinstance(given, str) and is_address(given) else Path(given)


@dataclass(frozen=True, slots=True)
class Intake:
    """Reads documents by the settings of a workspace, those that need a parser in processes of their own."""

    base: str
    settings: DocumentSettings
    parsers: Parsers

    def allow(self, addresses: Iterable[str]) -> None:
        """Passes if there are no addresses, or the settings let any be read.

        Raises:
            ConfigError: there are, and they do not; the message says what to set.
        """
        first = next(iter(addresses), None)
        if first is not None and not self.settings.web:
            way = "set web = true below [documents] and name the host in web_hosts"
            raise ConfigError(
                f"{first}: addresses on the web are not read; to allow it, {way}", setting="documents.web"
            )

    def digest(self, path: Path) -> str:
        """The SHA-256 of a file, and of the place in it that is read; nothing for one that is too large.

        Raises:
            ReadError: it cannot be read.
        """
        return digest_of(path, self.settings.max_bytes)

    def documents(self, path: Path) -> list[Document]:
        """The documents in a file; raises ReadError as `Parsers.documents` does."""
        settings = self.settings
        return self.parsers.documents(path, base=self.base, max_bytes=settings.max_bytes, json_path=settings.json_path)

    def check_table(self, path: Path) -> None:
        """Passes if a table can be read here; raises ReadError as `Parsers.check_table` does."""
        self.parsers.check_table(path)

    def page(self, address: str) -> list[Document]:
        """The documents at an address on the web.

        Raises:
            ReadError: as `fetch`, or what is there is not a readable document.
        """
        settings = self.settings
        page = fetch(address, WebRules(settings.web_hosts, settings.max_bytes, settings.web_timeout_seconds))
        try:
            return self.parsers.content(page.path, page.data, base=self.base, source=address)
        except ReadError as error:
            raise ReadError(error.reason, path=error.path, place=address) from error
