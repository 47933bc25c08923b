"""The feed of an API's revocations: Server-Sent Events, heard in a daemon thread."""

from __future__ import annotations

import contextlib
import random
import secrets
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future
from datetime import datetime
from typing import TYPE_CHECKING

import httpx

from ._issuer import Issuer, Steps
from ._jws import parse_object
from ._reports import Reports
from ._revocations import Revocations

if TYPE_CHECKING:
    from ._verifier import Verifier

# The issuer sends a heartbeat every 2 s.
_TIMEOUT = httpx.Timeout(3.0, read=6.0)
_FIRST_PAUSE_SECONDS = 0.2
_MAX_PAUSE_SECONDS = 5.0
_REFUSED_PAUSE_SECONDS = 30.0
_MAX_RETRY_AFTER_SECONDS = 300.0
_MAX_BLOCK_BYTES = 65_536
# The first requests wait this long for the feed.
_LOADING_SECONDS = 1.0


class _StatusError(Exception):
    def __init__(self, status: int, retry_after: str = "") -> None:
        self.status = status
        self.retry_after = float(retry_after) if retry_after.isdecimal() else 0.0


class Feed:
    def __init__(self, issuer: Issuer, revocations: Revocations, options: Verifier) -> None:
        self._issuer, self._revocations, self._options = issuer, revocations, options
        id_ = secrets.token_hex(8)
        self._headers = {"x-gatehouse-verifier": f"id={id_}; stale={options.then}"}
        self.reports = Reports(issuer, self._headers, id_)
        self._id: str | None = None
        self._position: str | None = None
        self._failures = 0
        self._state = ""
        self._heard_at = self._heard_time = self._started_at = float("-inf")
        self._loaded: Future[None] = Future()
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="gatehouse-feed", daemon=True)
        self._socket: socket.socket | None = None
        self._stopped = threading.Event()

    def start(self) -> None:
        with self._lock:
            if self._thread.ident is None:
                self._started_at = time.monotonic()
                self._thread.start()

    def is_fresh(self) -> bool:
        # The monotonic clock stands still while the machine sleeps.
        seconds = max(time.monotonic() - self._heard_at, time.time() - self._heard_time)
        return seconds <= self._options.stale.get("after_seconds", 10)

    def wait_until_loaded(self) -> Steps[None]:
        seconds = self._started_at + _LOADING_SECONDS - time.monotonic()
        if seconds > 0 and not self._loaded.done():
            yield self._loaded, seconds

    def close(self) -> None:
        self._stopped.set()
        if self._socket is not None:
            # Wakes the thread. An SSLSocket's own method would change its state meanwhile.
            with contextlib.suppress(OSError):
                socket.socket.shutdown(self._socket, socket.SHUT_RDWR)
        if self._thread.ident is not None:
            self._thread.join(timeout=1)
        self.reports.close()

    def _run(self) -> None:
        while not self._stopped.is_set():
            pause = 0.0
            try:
                self._listen()
            except _StatusError as error:
                pause = self._handle_status(error)
            except Exception:
                # Failures of all other kinds have one remedy, which is another connection.
                pass
            self._socket = None
            self._notice_silence()
            backoff = min(_FIRST_PAUSE_SECONDS * 2 ** min(self._failures, 10), _MAX_PAUSE_SECONDS)
            self._failures += 1
            self._stopped.wait(max(pause, backoff * random.uniform(0.75, 1.25)))

    def _handle_status(self, error: _StatusError) -> float:
        was_connected = self._heard_at > float("-inf")
        if error.status < 500:
            # The API may be registered again, and the position may be too old.
            self._id = self._position = None
        if error.status not in (401, 403, 404):
            return min(error.retry_after, _MAX_RETRY_AFTER_SECONDS)
        self._heard_at = float("-inf")
        hint = f"with status {error.status}: check client_id, client_secret and audience."
        self._set_state("refused", f"The issuer refuses the feed of revocations of {self._options.audience} {hint}")
        return 0 if was_connected else _REFUSED_PAUSE_SECONDS

    def _listen(self) -> None:
        url = f"{self._issuer.url}/api/v1/resources"
        client, auth, audience = self._issuer.client, self._issuer.credentials, self._options.audience
        if self._id is None:
            response = client.get(url, params={"identifier": audience}, headers=self._headers, auth=auth)
            _require_ok(response)
            found = [it for it in parse_object(response.content)["data"] if it["identifier"] == audience]
            if not found:
                raise _StatusError(404)
            self._id = str(found[0]["id"])
            # Tokens for another registration of the URL are not for this one.
            created_at = str(found[0].get("created_at", "1970-01-01T00:00:00Z"))
            self._revocations.refuse_issued_before(datetime.fromisoformat(created_at.replace("Z", "+00:00")).timestamp())
        headers = {**self._headers, "accept": "text/event-stream", "accept-encoding": "identity"}
        if self._position is not None:
            headers["last-event-id"] = self._position
        url += f"/{self._id}"
        with client.stream("GET", f"{url}/revocations", headers=headers, auth=auth, timeout=_TIMEOUT) as response:
            stream = response.extensions.get("network_stream")
            self._socket = stream and stream.get_extra_info("socket")
            _require_ok(response)
            self.reports.begin(url)
            for block in _blocks(response.iter_bytes()):
                if self._stopped.is_set():
                    return
                self._receive(block)
                self._notice_silence()

    def _receive(self, block: dict[str, str]) -> None:
        if "data" in block:
            entry = parse_object(block["data"])
            self._revocations.add(entry)
            self.reports.note_applied(str(entry.get("id")))
            self._options.measure("revocations", 1)
        # The position changes after the entry was read: otherwise one that cannot be read would be missing.
        self._position = block.get("id") or self._position
        if "id" in block and "data" not in block:
            self._measure_lag()
            self._heard_at, self._heard_time = time.monotonic(), time.time()
            self._failures = 0
            if not self._loaded.done():
                self._loaded.set_result(None)
            self._set_state("connected", "The feed of revocations is connected.")

    def _notice_silence(self) -> None:
        is_loading = time.monotonic() - self._started_at < _LOADING_SECONDS
        if not self.is_fresh() and not is_loading and self._state != "refused":
            self._measure_lag()
            self._set_state("silent", f"There is no news of revocations, so that stale decides: {self._options.then}.")

    def _measure_lag(self) -> None:
        if self._heard_at > float("-inf"):
            self._options.measure("behind_seconds", time.monotonic() - self._heard_at)

    def _set_state(self, state: str, message: str) -> None:
        if state != self._state:
            self._state = state
            self._options.report(state, message)


def _require_ok(response: httpx.Response) -> None:
    if response.status_code != 200:
        raise _StatusError(response.status_code, response.headers.get("retry-after", ""))


def _blocks(chunks: Iterator[bytes]) -> Iterator[dict[str, str]]:
    """The id and the data of each block. Its lines end with LF or CRLF; those of httpx end at other characters, too."""
    rest, block, size = b"", dict[str, str](), 0
    for chunk in chunks:
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            size += len(line)
            name, _, value = line.removesuffix(b"\r").decode().partition(":")
            if name in ("id", "data"):
                block[name] = value.removeprefix(" ")
            if line in (b"", b"\r"):
                yield block
                block, size = {}, 0
        if size + len(rest) > _MAX_BLOCK_BYTES:
            raise ValueError("the block is too long")
