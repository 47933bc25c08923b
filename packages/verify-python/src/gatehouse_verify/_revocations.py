"""The revocations in force."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import Any, NamedTuple, TypeGuard

_KINDS = ("token", "grant", "subject", "client", "key")
# Longer than introspections of API keys are cached.
_MIN_RETENTION_SECONDS = 120
_SWEEP_INTERVAL_SECONDS = 30
_CLOCK_DIFFERENCE_SECONDS = 60

# The kinds and ids by which an entry can name a credential, each with the epoch of the credential.
Ids = dict[tuple[str, str], float]


class _Entry(NamedTuple):
    epoch: float
    until: float
    added_at: float
    position: int


class Revocations:
    """
    Written by one thread, read by all. Beyond `capacity` the oldest are dropped, and all that they may concern is
    refused.
    """

    def __init__(self, clock: Callable[[], float], capacity: int = 500_000) -> None:
        self._clock = clock
        self._capacity = capacity
        self._entries: dict[tuple[str, str], _Entry] = {}
        self._refused_until = -math.inf
        self._refused_before = -math.inf
        # API keys that were resolved before this position may be hit: by a dropped entry, or by another registration.
        self._outdated_position = 0
        self._swept_at = 0.0
        # Grows with each entry that says something new, and with each registration of the API.
        self.position = 0

    def add(self, entry: dict[str, Any]) -> None:
        """Adds an entry, in any order and any number of times. Malformed ones and unknown kinds are ignored."""
        kind, id_, until, epoch = (entry.get(name) for name in ("kind", "id", "until", "epoch"))
        if kind not in _KINDS or not isinstance(id_, str) or not is_number(until):
            return
        if epoch is None:
            epoch = math.inf
        elif not is_number(epoch):
            return
        now = self._clock()
        known = self._entries.get((kind, id_), _Entry(-math.inf, now + _MIN_RETENTION_SECONDS, now, 0))
        epoch, until = max(epoch, known.epoch), max(until, known.until)
        if (epoch, until) == known[:2]:
            return
        self.position += 1
        # A replaced entry is never away in between, as other threads read it.
        self._entries[kind, id_] = _Entry(epoch, until, now, self.position)
        if len(self._entries) > self._capacity:
            # Somebody who has a withdrawn signing key chooses the time of issue.
            dropped = self._entries.pop(next(key for key in self._entries if key[0] != "key"))
            self._refused_until = max(self._refused_until, dropped.added_at + _CLOCK_DIFFERENCE_SECONDS)
            self._outdated_position = self.position
        if now - self._swept_at >= _SWEEP_INTERVAL_SECONDS:
            self._swept_at = now
            for ended in [key for key, it in self._entries.items() if it.until <= now]:
                del self._entries[ended]

    def refuse_issued_before(self, time: float) -> None:
        """Refuses what was issued before this time. At another time than before, known API keys are outdated."""
        self._refused_until = max(self._refused_until, math.floor(time) - 1)
        if time != self._refused_before:
            self._refused_before = time
            self.position += 1
            self._outdated_position = self.position

    def is_revoked(self, ids: Ids, issued_at: float) -> bool:
        if issued_at <= self._refused_until:
            return True
        return any((entry := self._entries.get(key)) and epoch < entry.epoch for key, epoch in ids.items())

    def concern(self, ids: Ids, position: int) -> bool:
        """Returns whether something that came after this position may concern the credential."""
        if position < self._outdated_position:
            return True
        return any((entry := self._entries.get(key)) and entry.position > position for key in ids)


def is_number(value: object) -> TypeGuard[float]:
    # An int may be larger than every float.
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) <= sys.float_info.max
