"""The sources that a mapping names: which of them is the file that is being added, and where the others lie."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

from kgplatform.errors import ReadError

GIVEN = ""
"""The name of the source of a triples map that names none: whichever file is added."""


class Sources:
    """The sources of one mapping; each has a key by which the engine knows it."""

    def __init__(self, mapping: Path) -> None:
        self._mapping = mapping
        self._names: dict[str, str] = {}

    def key(self, name: str) -> str:
        """The key of the source of that name."""
        found = next((key for key, known in self._names.items() if known == name), None)
        if found is None:
            found = f"{{s{len(self._names)}}}"
            self._names[found] = name
        return found

    def location(self, key: str) -> str:
        """Where the source lies; a file is sought beside the mapping."""
        name = self._names[key]
        if "://" in name:
            return name
        path, _, part = name.partition("#")
        beside = self._mapping.parent / path
        return f"{beside}#{part}" if part else str(beside)

    def given(self, location: str) -> frozenset[str]:
        """The keys of the sources that are the file that is being added.

        Raises:
            ReadError: the mapping is about other files.
        """
        unnamed = frozenset(key for key, name in self._names.items() if name == GIVEN)
        named = {key: name for key, name in self._names.items() if name != GIVEN}
        fitting = frozenset(key for key, name in named.items() if _table(name) == _table(location))
        if not fitting:
            fitting = frozenset(key for key, name in named.items() if _stem(name) == _stem(location))
        if unnamed or fitting:
            return unnamed | fitting
        if len(named) == 1:
            return frozenset(named)
        names = ", ".join(sorted(named.values()))
        raise ReadError(f"maps {names}, none of which is {_table(location)}", path=self._mapping)


def _table(location: str) -> str:
    path, _, part = location.partition("#")
    name = PurePosixPath(path).name
    return f"{name}#{part}" if part and "=" not in part else name


def _stem(location: str) -> str:
    path, _, part = location.partition("#")
    return part if part and "=" not in part else PurePosixPath(path).stem
