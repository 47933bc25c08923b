from __future__ import annotations

import asyncio
import concurrent.futures
import functools
import hashlib
import logging
import os
import re
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypedDict
from urllib.parse import urlsplit

import httpx

from ._cache import Cache
from ._dpop import REPLAY_TTL_SECONDS, MemoryReplayStore, ReplayStore, proof_error, verify_proof
from ._errors import DPOP_ALGORITHMS, VerifyError, invalid_token, unavailable
from ._feed import Feed
from ._issuer import Issuer, Keys, Steps
from ._request import header_values, normalised, origin_of, urls_of
from ._revocations import Revocations
from ._tokens import API_KEY_PREFIX, Caller, Credential, check_needs, is_well_formed_key, key_credential, verify_token

if TYPE_CHECKING:
    from typing_extensions import Unpack

METADATA_HEADERS = {"access-control-allow-origin": "*", "cache-control": "max-age=3600"}
_CREDENTIAL = re.compile(r"(Bearer|DPoP|ApiKey) +([\w.~+/-]+=*) *", re.ASCII | re.IGNORECASE)
_NONE = "This needs an access token or an API key in the Authorization header."
_MALFORMED = 'The Authorization header must be Bearer, DPoP or ApiKey, followed by an access token or an API key.'
_BOUND = "The access token is bound to a key: send it as DPoP, with a proof."
_UNBOUND = "The access token is not bound to a key: send it as Bearer."
_REVOKED = "The access token has been revoked."
_KEY_INVALID = "The API key is not valid."
_INVALID_KEY_SECONDS = 5

_logger = logging.getLogger("gatehouse_verify")


def _log(message: str, state: str) -> None:
    _logger.log(logging.INFO if state == "connected" else logging.WARNING, message)


class Stale(TypedDict, total=False):
    """The treatment of access tokens while there is no news of revocations, by default after 10 seconds."""

    after_seconds: float
    then: Literal["introspect", "refuse", "accept"]


class Needs(TypedDict, total=False):
    """The scopes that a request needs, its least acr, and the greatest age of its sign-in in seconds."""

    scopes: Sequence[str]
    acr: str | None
    max_age: float | None


@dataclass(kw_only=True, repr=False, eq=False)
class Verifier:
    """
    Verifies the access tokens and API keys of requests to one API. Threads, event loops and forks may share it; each
    process connects on first use. Without client_id and client_secret, revocation is not checked, and API keys are
    refused.
    """

    issuer: str
    audience: str
    client_id: str | None = None
    client_secret: str | None = None
    stale: Stale = field(default_factory=Stale)
    cache: int = 10_000
    clock_skew: float = 5
    # The origins by which clients call the API: DPoP proofs are accepted for these alone. By default for the origin of
    # the audience, and for a loopback address where the request names it as its host.
    origins: Sequence[str] = ()
    # Without origins: X-Forwarded-Proto and -Host count, too. Only for a proxy that sets both, and passes on requests
    # for the API's own hosts alone.
    trust_proxy: bool = False
    replay_store: ReplayStore | None = None
    log: Callable[[str, str], None] = _log
    metrics: Callable[[str, float, dict[str, str]], None] = lambda name, value, labels: None

    def __post_init__(self) -> None:
        self.then = self.stale.get("then", "introspect")
        resource = normalised(self.audience) or ""
        if not resource.startswith(("http://", "https://")):
            raise ValueError("audience must be the URL of the API, as it is registered.")
        if not all(map(_is_origin, self.origins)):
            raise ValueError("origins must have a scheme and a host alone, such as https://api.example.com.")
        if self.then not in ("introspect", "refuse", "accept"):
            raise ValueError('The "then" of stale must be "introspect", "refuse" or "accept".')
        if self.issuer.endswith("/"):
            raise ValueError("issuer has no slash at its end.")
        if (self.client_id is None) != (self.client_secret is None) or self.cache < 1:
            raise ValueError("client_id and client_secret are given together, and cache is at least 1.")
        # RFC 9728 §3.1
        path = urlsplit(resource).path
        self.metadata_path = f"/.well-known/oauth-protected-resource{path if path != '/' else ''}"
        self._metadata_url = resource.removesuffix(path) + self.metadata_path
        # Tests replace these two.
        self._clock: Callable[[], float] = time.time
        self._transport: httpx.BaseTransport | None = None
        self._processes: dict[int, _Process] = {}
        if self.client_id is None:
            self.report("unchecked", "Revocation is not checked, as there are no credentials of the API.")

    def verify(self, request: Any, **needs: Unpack[Needs]) -> Caller:
        """The caller of a request of Django, Flask, Starlette or FastAPI, or of a Request. Raises VerifyError."""
        verification = _Verification(self._steps(request, needs))
        for future, timeout in verification:
            concurrent.futures.wait([future], timeout)
        return verification.caller

    async def averify(self, request: Any, **needs: Unpack[Needs]) -> Caller:
        """verify() for asyncio: the event loop goes on while another thread asks the issuer."""
        verification = _Verification(self._steps(request, needs))
        for future, timeout in verification:
            # Unlike wait_for(), it cancels nothing that others wait for.
            await asyncio.wait([asyncio.wrap_future(future)], timeout=timeout)
        return verification.caller

    def metadata(
        self, name: str | None = None, scopes: Iterable[str] = (), owner: str | None = None, **extra: Any
    ) -> dict[str, Any]:
        """
        The metadata of the API as a protected resource (RFC 9728 §2), to serve at metadata_path. By `owner`, the ID
        of a person, Gatehouse verifies who manages the API.
        """
        optional = {"scopes_supported": list(scopes) or None, "resource_name": name, "gatehouse_owner": owner}
        return {
            "resource": self.audience,
            "authorization_servers": [self.issuer],
            "bearer_methods_supported": ["header"],
            "dpop_signing_alg_values_supported": DPOP_ALGORITHMS,
            **{key: value for key, value in optional.items() if value is not None},
            **extra,
        }

    def close(self) -> None:
        """Ends the connections of this process after the last report; the next request connects again."""
        if process := self._processes.pop(os.getpid(), None):
            if process.feed is not None:
                process.feed.close()
            process.issuer.close()

    async def aclose(self) -> None:
        await asyncio.to_thread(self.close)

    def _process(self) -> _Process:
        pid = os.getpid()
        return self._processes.get(pid) or self._processes.setdefault(pid, _Process(self))

    def _steps(self, request: Any, needs: Needs) -> Steps[Caller]:
        is_dpop = False
        process = self._process()
        try:
            scheme, value = _credential_in(request)
            is_dpop = scheme == "dpop"
            if process.feed is not None:
                process.feed.start()
            if scheme == "apikey" or (scheme == "bearer" and value.startswith(API_KEY_PREFIX)):
                credential = yield from process.resolve_key(value)
            else:
                credential = yield from process.verify_token(value)
                is_bound = credential.thumbprint is not None
                is_dpop = is_dpop or is_bound
                yield from process.check_revocation(credential, value)
                if is_bound != (scheme == "dpop"):
                    raise invalid_token(_BOUND if is_bound else _UNBOUND)
                if is_bound:
                    yield from process.check_proof(request, value, credential)
            check_needs(credential.caller, self._clock(), **needs)
        except VerifyError as error:
            error.add_challenge(self._metadata_url, is_dpop)
            process.count(f"{error.status} {error.body['error']}")
            self.measure("refused", 1, error=error.body["error"], status=str(error.status))
            raise
        process.count(credential.caller.kind)
        self.measure("verified", 1)
        return credential.caller.copy()

    def report(self, state: str, message: str) -> None:
        self._call(self.log, message, state)

    def measure(self, name: str, value: float, **labels: str) -> None:
        self._call(self.metrics, name, value, labels)

    def _call(self, function: Callable[..., None], *values: object) -> None:
        try:
            function(*values)
        except Exception:
            _logger.exception("The function for logs or metrics failed.")


create_verifier = Verifier


class _Verification:
    """The futures that a verification waits for, and its caller after the last."""

    def __init__(self, steps: Steps[Caller]) -> None:
        self._steps = steps

    def __iter__(self) -> Steps[None]:
        self.caller = yield from self._steps


class _Process:
    """All that changes. It belongs to one process, as a fork has neither the threads nor the locks of its parent."""

    def __init__(self, verifier: Verifier) -> None:
        it = self._verifier = verifier
        self.issuer = Issuer(it.issuer, it.client_id, it.client_secret, it._transport)
        self.revocations = Revocations(it._clock)
        self.feed: Feed | None = None
        if it.client_id is not None:
            self.feed = Feed(self.issuer, self.revocations, it)
        self._keys = Keys(self.issuer)
        self._replay_store = it.replay_store or MemoryReplayStore()
        self._tokens: Cache[Credential] = Cache(it.cache)
        self._valid_keys: Cache[Credential] = Cache(it.cache)
        self._invalid_keys: Cache[float] = Cache(it.cache)

    def count(self, outcome: str) -> None:
        if self.feed is not None:
            self.feed.reports.count(outcome)

    def verify_token(self, token: str) -> Steps[Credential]:
        it, digest = self._verifier, _digest(token)
        credential = self._tokens.get(digest)
        if credential is None:
            latest = it._clock() + it.clock_skew
            credential = yield from verify_token(token, self._keys, it.issuer, it.audience, latest)
            self._tokens.set(digest, credential)
        else:
            # Tokens of a withdrawn key end with it.
            yield from self._keys.find(*credential.signed_by)
        if credential.expires_at <= it._clock() - it.clock_skew:
            raise invalid_token("The access token has expired.")
        return credential

    def check_revocation(self, credential: Credential, token: str) -> Steps[None]:
        if self.feed is None:
            return
        yield from self.feed.wait_until_loaded()
        is_fresh = self.feed.is_fresh()
        # Revocations are for ever, so that those that are known count without news, too.
        if self.revocations.is_revoked(credential.ids, credential.issued_at):
            raise invalid_token(_REVOKED)
        then = self._verifier.then
        if is_fresh or then == "accept":
            return
        response = None
        if then == "introspect":
            response = yield from self.issuer.run(_digest(token), lambda: self._introspect(token))
        if response is None:
            raise unavailable("It is not known at the moment which tokens are revoked.")
        if response.get("active") is not True:
            raise invalid_token(_REVOKED)

    def check_proof(self, request: Any, token: str, credential: Credential) -> Steps[None]:
        it = self._verifier
        proofs = header_values(request, "dpop")
        urls = urls_of(request, it.audience, it.origins, it.trust_proxy)
        key = verify_proof(proofs, request.method, urls, token, credential.thumbprint, it._clock())
        # A store that processes share may take its time.
        use = functools.partial(self._replay_store.use, key, REPLAY_TTL_SECONDS)
        is_first = use() if it.replay_store is None else (yield from self.issuer.run(object(), use))
        if is_first is None:
            raise unavailable("The DPoP proof cannot be checked at the moment.")
        if not is_first:
            raise proof_error("The DPoP proof has been used before.")

    def resolve_key(self, key: str) -> Steps[Credential]:
        if self.feed is None:
            raise invalid_token("API keys are not accepted here.")
        digest, clock, is_outdated = _digest(key), self._verifier._clock, self.revocations.concern
        cached = self._valid_keys.get(digest) if self.feed.is_fresh() else None
        if cached is not None and clock() < cached.expires_at and not is_outdated(cached.ids, cached.position):
            return cached
        if not is_well_formed_key(key) or clock() < (self._invalid_keys.get(digest) or 0):
            raise invalid_token(_KEY_INVALID)

        def resolve() -> tuple[dict[str, Any], int]:
            position = self.revocations.position
            return self._introspect(key), position

        # The first response may have been on its way when a revocation came; a second one cannot have been.
        for _ in range(2):
            resolved = yield from self.issuer.run(digest, resolve)
            if resolved is None:
                raise unavailable("The API key cannot be checked at the moment.")
            response, position = resolved
            credential = key_credential(response, self._verifier.audience, clock(), position)
            if credential is None:
                self._invalid_keys.set(digest, clock() + _INVALID_KEY_SECONDS)
                break
            self._valid_keys.set(digest, credential)
            if not is_outdated(credential.ids, position):
                return credential
        raise invalid_token(_KEY_INVALID)

    def _introspect(self, token: str) -> dict[str, Any]:
        self._verifier.measure("introspections", 1)
        options = {"data": {"token": token}, "auth": self.issuer.credentials}
        return self.issuer.request_endpoint("introspection_endpoint", "POST", **options)


def _is_origin(text: str) -> bool:
    origin = origin_of(text)
    return origin.startswith(("http://", "https://")) and normalised(text) == f"{origin}/"


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()


def _credential_in(request: Any) -> tuple[str, str]:
    values = header_values(request, "authorization")
    if not values:
        raise VerifyError(401, "unauthorized", _NONE)
    found = _CREDENTIAL.fullmatch(values[0]) if len(values) == 1 else None
    if found is None:
        raise VerifyError(401, "invalid_request", _MALFORMED)
    return found[1].lower(), found[2]
