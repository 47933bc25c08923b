"""Proofs of possession (RFC 9449)."""

from __future__ import annotations

import base64
import hashlib
import time
from typing import Any, Protocol

from joserfc.jwk import import_key

from ._cache import Cache
from ._errors import DPOP_ALGORITHMS, VerifyError
from ._jws import Jws
from ._request import normalised
from ._revocations import is_number

_TOLERANCE_SECONDS = 60
_MAX_JTI_LENGTH = 256
_MAX_PROOFS = 100_000
REPLAY_TTL_SECONDS = 2 * _TOLERANCE_SECONDS


class ReplayStore(Protocol):
    """Remembers used proofs. Processes that share one accept each proof once among them."""

    def use(self, key: str, ttl_seconds: int) -> bool:
        """Returns whether this is the first use of the key within the time."""


class MemoryReplayStore(Cache[float]):
    """The used proofs of this process; when it is full, the oldest are dropped."""

    def __init__(self) -> None:
        super().__init__(_MAX_PROOFS)

    def use(self, key: str, ttl_seconds: int) -> bool:
        # The wall clock, as `iat` goes by it: otherwise setting it back would make a used proof acceptable again.
        now = time.time()
        with self._lock:
            is_first = (self.get(key) or 0) <= now
            if is_first:
                self.set(key, now + ttl_seconds)
            return is_first


def verify_proof(
    proofs: list[str], method: str, urls: list[str | None], token: str, thumbprint: str | None, now: float
) -> str:
    """Verifies all of RFC 9449 §4.3 but the first use; returns the key that a ReplayStore must not know."""
    if not proofs:
        raise proof_error("A DPoP proof is missing.")
    try:
        claims, used_thumbprint = _read(proofs)
    except Exception:
        # The libraries raise errors of many classes for keys and signatures that do not fit.
        raise proof_error("The DPoP proof is not a JWT signed with its own key.") from None
    htm, htu, ath, iat, jti = (claims.get(name) for name in ("htm", "htu", "ath", "iat", "jti"))
    is_own_url = isinstance(htu, str) and (url := normalised(htu)) is not None and url in urls
    is_recent = is_number(iat) and abs(now - iat) <= _TOLERANCE_SECONDS
    has_jti = isinstance(jti, str) and 0 < len(jti) <= _MAX_JTI_LENGTH
    for holds, fault in (
        (used_thumbprint == thumbprint, " was not made with the key that the access token is bound to."),
        (htm == method, "'s htm is not the request's method."),
        (is_own_url, "'s htu is not the request's URL."),
        (ath == base64url_hash(token), "'s ath is not the token's."),
        (is_recent, f" was not made within {_TOLERANCE_SECONDS} s of now."),
        (has_jti, f" needs a jti of at most {_MAX_JTI_LENGTH} characters."),
    ):
        if not holds:
            raise proof_error(f"The DPoP proof{fault}")
    return base64url_hash(f"{thumbprint} {jti}")


def _read(proofs: list[str]) -> tuple[dict[str, Any], str]:
    (proof,) = proofs
    jws = Jws(proof)
    jwk = jws.header["jwk"]
    if not jws.has_type("dpop+jwt") or jws.header["alg"] not in DPOP_ALGORITHMS or jwk.keys() & {"d", "k"}:
        raise ValueError("it is not a proof with a public key")
    key = import_key(jwk)
    return jws.claims_signed_by(key), key.thumbprint()


def base64url_hash(text: str) -> str:
    # JSON may hold half of a surrogate pair.
    digest = hashlib.sha256(text.encode(errors="surrogatepass")).digest()
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


def proof_error(description: str) -> VerifyError:
    return VerifyError(401, "invalid_dpop_proof", description)
