from __future__ import annotations

import threading
from typing import Generic, TypeVar

V = TypeVar("V")


class Cache(Generic[V]):
    """The values used last, at most `size`. The keys are hashes, so that no memory dump holds a credential."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._values: dict[bytes, V] = {}
        self._lock = threading.Lock()

    def get(self, key: bytes) -> V | None:
        with self._lock:
            value = self._values.pop(key, None)
            if value is not None:
                self._values[key] = value
            return value

    def set(self, key: bytes, value: V) -> None:
        with self._lock:
            self._values.pop(key, None)
            self._values[key] = value
            if len(self._values) > self._size:
                del self._values[next(iter(self._values))]
