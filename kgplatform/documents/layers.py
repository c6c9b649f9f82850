"""A map that is not changed in place: a change makes another one, at the cost of the change and not of the map.

Whoever holds the earlier one, in whatever thread, goes on reading it as it was. The map is a pile of dicts, each at
most a part of the one below; what changes lies on top, and layers of like size are put together (as in a log-structured
merge tree: O'Neil, Cheng, Gawlick, O'Neil, Acta Informatica 33, 1996), so that a change costs O(log n) over time.
"""

from __future__ import annotations

from collections.abc import ItemsView, Iterable, Iterator, KeysView, Mapping, ValuesView
from typing import Any, Final, TypeVar

K = TypeVar("K")
V = TypeVar("V")

_GONE: Final = object()
_SMALLER: Final = 2
"""A layer is at most one in so many of the one below it."""


class Layers(Mapping[K, V]):
    """The map; `of` makes the first one, `changed` the next."""

    __slots__ = ("_layers", "_size", "_whole")

    def __init__(self, layers: tuple[dict[K, Any], ...] = ({},), size: int = 0) -> None:
        self._layers = layers
        self._size = size
        self._whole: dict[K, V] | None = layers[0] if len(layers) == 1 else None

    @classmethod
    def of(cls, mapping: Mapping[K, V]) -> Layers[K, V]:
        """The mapping as it is now; one that is such a map already, itself."""
        return mapping if isinstance(mapping, Layers) else cls((dict(mapping),), len(mapping))

    def changed(self, put: Mapping[K, V], gone: Iterable[K] = ()) -> Layers[K, V]:
        """The map with those entries put in or replaced, and those others taken out."""
        top: dict[K, Any] = {key: _GONE for key in gone if key in self}
        size = self._size - len(top)
        for key, value in put.items():
            if top.pop(key, None) is _GONE or key not in self:
                size += 1
            top[key] = value
        if not top:
            return self
        layers = [*self._layers, top]
        while len(layers) > 1 and _SMALLER * len(layers[-1]) >= len(layers[-2]):
            upper = layers.pop()
            layers[-1] = {**layers[-1], **upper}
        if len(layers) == 1:
            layers[0] = {key: value for key, value in layers[0].items() if value is not _GONE}
        return Layers(tuple(layers), size)

    def __getitem__(self, key: K) -> V:
        for layer in reversed(self._layers):
            value: Any = layer.get(key, self)  # itself: no value is that
            if value is _GONE:
                break
            if value is not self:
                return value  # type: ignore[no-any-return]
        raise KeyError(key)

    def __contains__(self, key: object) -> bool:
        for layer in reversed(self._layers):
            if key in layer:
                return layer[key] is not _GONE
        return False

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[K]:
        return iter(self._flat())

    def keys(self) -> KeysView[K]:
        """The keys, as those of a dict."""
        return self._flat().keys()

    def values(self) -> ValuesView[V]:
        """The values, as those of a dict."""
        return self._flat().values()

    def items(self) -> ItemsView[K, V]:
        """The entries, as those of a dict."""
        return self._flat().items()

    def _flat(self) -> dict[K, V]:
        """All of it in one dict, made when somebody wants to see all of it."""
        if self._whole is None:
            whole: dict[K, Any] = {}
            for layer in self._layers:
                whole.update(layer)
            self._whole = {key: value for key, value in whole.items() if value is not _GONE}
        return self._whole
