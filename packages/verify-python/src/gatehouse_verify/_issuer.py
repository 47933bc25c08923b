"""Requests to the issuer: its metadata (RFC 8414), its keys, and introspection (RFC 7662)."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Generator, Hashable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar
from urllib.parse import quote_plus

import httpx
from joserfc.jwk import Key, import_key

from ._errors import invalid_token, unavailable
from ._jws import parse_object

T = TypeVar("T")
# A verification yields the futures that it waits for, each with its timeout: a thread or an event loop waits for them.
Steps = Generator[tuple["Future[Any]", float], None, T]

_TIMEOUT_SECONDS = 3.0
_KEYS_MAX_AGE_SECONDS = 600
_KEYS_COOLDOWN_SECONDS = 1
_MAX_PARALLEL = 16


class Issuer:
    def __init__(
        self, url: str, client_id: str | None, secret: str | None, transport: httpx.BaseTransport | None
    ) -> None:
        self.url = url
        headers = {"user-agent": "gatehouse-verify-python/0.1.0"}
        self.client = httpx.Client(headers=headers, timeout=_TIMEOUT_SECONDS, transport=transport)
        # RFC 6749 §2.3.1: both are form-encoded.
        self.credentials = httpx.BasicAuth(quote_plus(client_id or ""), quote_plus(secret or ""))
        self._pool = ThreadPoolExecutor(_MAX_PARALLEL, "gatehouse-verify")
        self._lock = threading.Lock()
        self._under_way: dict[Hashable, Future[Any]] = {}
        self._metadata: dict[str, Any] | None = None

    def run(self, key: Hashable, work: Callable[[], T]) -> Steps[T | None]:
        """Does work in another thread, unless it is under way for the same key; None if it fails or takes too long."""
        deadline = time.monotonic() + _TIMEOUT_SECONDS

        def attempt() -> T | None:
            try:
                # Nobody waits for it after the deadline.
                return work() if time.monotonic() < deadline else None
            except Exception:
                return None

        with self._lock:
            future = self._under_way.get(key)
            if future is None:
                future = self._under_way[key] = self._pool.submit(attempt)
                future.add_done_callback(lambda _: self._under_way.pop(key, None))
        yield future, _TIMEOUT_SECONDS
        return future.result() if future.done() else None

    def request(self, method: str, url: str, **options: Any) -> dict[str, Any]:
        response = self.client.request(method, url, **options)
        if response.status_code != 200:
            raise ValueError("the status is not 200")
        return parse_object(response.content)

    def request_endpoint(self, name: str, method: str, **options: Any) -> dict[str, Any]:
        """A request to an endpoint that the metadata names, which is read again after a failure."""
        metadata = self._metadata or self.request("GET", f"{self.url}/.well-known/oauth-authorization-server")
        # RFC 8414 §3.3
        if metadata.get("issuer") != self.url:
            raise ValueError("the metadata is that of another issuer")
        endpoint = str(metadata[name])
        if self.url.startswith("https:") and not endpoint.startswith("https:"):
            raise ValueError("the endpoint is not https")
        try:
            response = self.request(method, endpoint, **options)
        except Exception:
            self._metadata = None
            raise
        self._metadata = metadata
        return response

    def close(self) -> None:
        self._pool.shutdown(wait=False)
        self.client.close()


class Keys:
    """The keys of the issuer by kid. Those that are known go on while they cannot be fetched again."""

    def __init__(self, issuer: Issuer) -> None:
        self._issuer = issuer
        self._keys: dict[str, Key] = {}
        self._fetched_at = self._tried_at = float("-inf")
        self._has_failed = True

    def find(self, kid: str, alg: str) -> Steps[Key]:
        """The key that a token names. Raises if it is not published any more, or not for this algorithm."""
        key = self._keys.get(kid)
        now = time.monotonic()
        if key is None or now - self._fetched_at >= _KEYS_MAX_AGE_SECONDS:
            # The time of the last try is that of its end, so that all who come meanwhile wait for it.
            if now - self._tried_at >= _KEYS_COOLDOWN_SECONDS:
                fetching = self._issuer.run("keys", self._fetch)
                if key is None or not self._has_failed:
                    yield from fetching
                else:
                    # After a failure, requests whose key is known do not wait for the next try.
                    next(fetching)
            key = self._keys.get(kid)
            if key is None and self._has_failed:
                raise unavailable("The keys for verifying access tokens cannot be fetched at the moment.")
        if key is None or key.get("use", "sig") != "sig" or key.get("alg", alg) != alg:
            raise invalid_token()
        return key

    def _fetch(self) -> None:
        keys: dict[str, Key] = {}
        try:
            for jwk in self._issuer.request_endpoint("jwks_uri", "GET")["keys"]:
                # Keys of a kind that is not supported concern others.
                with contextlib.suppress(Exception):
                    keys[jwk["kid"]] = import_key(jwk)
            self._keys, self._fetched_at, self._has_failed = keys, time.monotonic(), False
        except Exception:
            self._has_failed = True
        self._tried_at = time.monotonic()
