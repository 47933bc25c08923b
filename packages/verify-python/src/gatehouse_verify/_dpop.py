"""Proofs of possession (RFC 9449)."""

from __future__ import annotations

import base64
import hashlib
import threading
import time
from typing import Any, Protocol

from joserfc.jwk import import_key

from ._errors import DPOP_ALGORITHMS, VerifyError
from ._jws import Jws
from ._request import normalised
from ._revocations import is_number

_TOLERANCE_SECONDS = 60
_MAX_JTI_LENGTH = 256
REPLAY_TTL_SECONDS = 2 * _TOLERANCE_SECONDS


class ReplayStore(Protocol):
    """Remembers used proofs. Processes that share one accept each proof once among them."""

    def use(self, key: str, ttl_seconds: int) -> bool:
        """Returns whether this is the first use of the key within the time."""


class MemoryReplayStore:
    """The used proofs of this process; when it is full, the oldest are dropped."""

    def __init__(self, size: int = 100_000) -> None:
        self._size = size
        self._until: dict[str, float] = {}
        self._lock = threading.Lock()

    def use(self, key: str, ttl_seconds: int) -> bool:
        # The wall clock, as `iat` goes by it: otherwise setting it back would make a used proof acceptable again.
        now = time.time()
        with self._lock:
            is_first = self._until.pop(key, 0) <= now
            self._until[key] = now + ttl_seconds
            if len(self._until) > self._size:
                del self._until[next(iter(self._until))]
            return is_first


def verify_proof(
    proofs: list[str], method: str, url: str | None, token: str, thumbprint: str | None, now: float
) -> str:
    """Verifies all of RFC 9449 §4.3 but the first use; returns the key that a ReplayStore must not know."""
    if not proofs:
        raise proof_error("A DPoP proof is missing.")
    try:
        claims, used_thumbprint = _read(proofs)
    except Exception:
        # The libraries raise errors of many classes for keys and signatures that do not fit.
        raise proof_error("The DPoP proof is not a JWT signed with its own key.") from None
    htu, iat, jti = (claims.get(name) for name in ("htu", "iat", "jti"))
    if used_thumbprint != thumbprint:
        raise proof_error("The DPoP proof was not made with the key that the access token is bound to.")
    if claims.get("htm") != method:
        raise proof_error("The DPoP proof's htm is not the request's method.")
    if not isinstance(htu, str) or url is None or normalised(htu) != url:
        raise proof_error("The DPoP proof's htu is not the request's URL.")
    if claims.get("ath") != base64url_hash(token):
        raise proof_error("The DPoP proof's ath is not the token's.")
    if not is_number(iat) or abs(now - iat) > _TOLERANCE_SECONDS:
        raise proof_error(f"The DPoP proof was not made within {_TOLERANCE_SECONDS} s of now.")
    if not isinstance(jti, str) or not 0 < len(jti) <= _MAX_JTI_LENGTH:
        raise proof_error(f"The DPoP proof needs a jti of at most {_MAX_JTI_LENGTH} characters.")
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
