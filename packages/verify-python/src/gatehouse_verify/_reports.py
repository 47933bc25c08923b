"""Reports of what this process has verified, for the owner of the API."""

from __future__ import annotations

import contextlib
import threading
from collections import Counter
from typing import Any

from ._issuer import Issuer

_INTERVAL_SECONDS = 30.0
_TIMEOUT_SECONDS = 1.5
# The bound of the issuer.
_MAX_ERRORS = 20


class Reports:
    """
    Counts requests, and reports the totals from a daemon thread, so that a report makes up for those that failed. One
    is sent at a time.
    """

    def __init__(self, issuer: Issuer, headers: dict[str, str], id_: str) -> None:
        self._issuer, self._headers, self._id = issuer, headers, id_
        self._url: str | None = None
        self._counts: Counter[str] = Counter()
        self._reported = 0
        self._applied: str | None = None
        self._is_closed = False
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._thread = threading.Thread(target=self._run, name="gatehouse-reports", daemon=True)

    def count(self, outcome: str) -> None:
        """Counts a request by the kind of its caller, or by status and error, such as `401 invalid_token`."""
        with self._lock:
            self._counts[outcome] += 1

    def begin(self, resource_url: str) -> None:
        """Begins to report as a verifier of this API, again if reports were refused."""
        self._url = f"{resource_url}/verifiers/{self._id}/report"
        if self._thread.ident is None:
            self._thread.start()

    def note_applied(self, revocation: str) -> None:
        """Reports a revocation that is in force here, if it is that of a test."""
        if revocation.startswith("revocation-test-"):
            with self._lock:
                self._applied = revocation
            self._wake.set()

    def close(self) -> None:
        """Sends the last counts, within 1.5 seconds or not at all."""
        self._is_closed = True
        self._wake.set()
        if self._thread.ident is not None:
            self._thread.join(_TIMEOUT_SECONDS)

    def _run(self) -> None:
        is_last = False
        while not is_last:
            self._wake.wait(_INTERVAL_SECONDS)
            self._wake.clear()
            is_last = self._is_closed
            with contextlib.suppress(Exception):
                self._send()

    def _send(self) -> None:
        with self._lock:
            counts, applied, self._applied = dict(self._counts), self._applied, None
        total = sum(counts.values())
        if self._url is None or (applied is None and total == self._reported):
            return
        requests: dict[str, Any] = {kind: counts.pop(kind, 0) for kind in ("person", "machine", "key")}
        refused = [(reason.split(" "), count) for reason, count in counts.items()][:_MAX_ERRORS]
        requests["refused"] = [{"status": int(it[0]), "error": it[1], "count": count} for it, count in refused]
        body = {"requests": requests, **({} if applied is None else {"applied": applied})}
        auth = self._issuer.credentials
        response = self._issuer.client.post(
            self._url, json=body, headers=self._headers, auth=auth, timeout=_TIMEOUT_SECONDS
        )
        if response.is_success:
            self._reported = total
        elif response.is_client_error:
            # An older issuer has no reports.
            self._url = None
