"""Access tokens (RFC 9068) and API keys, and what they say about their callers."""

from __future__ import annotations

import functools
import math
import re
import zlib
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

from ._errors import VerifyError, invalid_token
from ._issuer import Keys, Steps
from ._jws import Jws
from ._revocations import Ids, is_number

_ALGORITHMS = ("ES256", "RS256", "PS256", "EdDSA")
_REQUIRED = ("iss", "sub", "aud", "exp", "iat", "jti", "client_id")


@dataclass(slots=True)
class Caller:
    """The maker of a request, by its verified access token or API key."""

    subject: str
    client_id: str
    kind: Literal["person", "machine", "key"]
    scopes: list[str]
    acr: str | None
    auth_time: float | None
    actor: str | None
    # All claims of the token, or the introspection response (RFC 7662) of the API key.
    claims: dict[str, Any]

    def copy(self) -> Caller:
        """A caller that may be changed while this one is cached."""
        claims = {name: deepcopy(it) if isinstance(it, (dict, list)) else it for name, it in self.claims.items()}
        return replace(self, scopes=list(self.scopes), claims=claims)


class Credential(NamedTuple):
    """A verified token or key. Its expiry and its revocation are checked for each request."""

    caller: Caller
    ids: Ids
    issued_at: float
    expires_at: float
    # The key that a token is bound to, and the kid and the algorithm of its signature.
    thumbprint: str | None = None
    signed_by: tuple[str, str] = ("", "")
    # The position of the revocations when the issuer was asked about a key.
    position: int = 0


def verify_token(token: str, keys: Keys, issuer: str, audience: str, latest: float) -> Steps[Credential]:
    """RFC 9068 §4 but its expiry; `latest` is the latest time that is accepted for nbf."""
    try:
        jws = Jws(token)
    except (ValueError, RecursionError):
        raise invalid_token() from None
    kid, alg = jws.header.get("kid"), jws.header.get("alg")
    if alg not in _ALGORITHMS or not isinstance(kid, str):
        raise invalid_token()
    key = yield from keys.find(kid, alg)
    try:
        claims = jws.claims_signed_by(key)
    except Exception:
        # The libraries raise errors of many classes for keys and signatures that do not fit.
        raise invalid_token() from None
    if name := _fault(jws, claims, issuer, audience, latest):
        raise invalid_token(f"The access token's {name} is not accepted here.")
    # Ids of another type would never match a revocation.
    if any(not isinstance(claims.get(name, ""), str) for name in ("sub", "client_id", "jti", "gid", "owner")):
        raise invalid_token()
    epoch = claims["epoch"] if isinstance(claims.get("epoch"), dict) else {}
    epochs = {name: epoch.get(name, 0) for name in ("subject", "client")}
    if not all(map(is_number, epochs.values())):
        raise invalid_token()
    is_machine = claims["sub"] == claims["client_id"]
    ids = {"token": "jti", "grant": "gid", "client": "client_id", "subject": "owner" if is_machine else "sub"}
    return Credential(
        _caller(claims, "machine" if is_machine else "person"),
        {(kind, claims[name]): epochs.get(kind, 0) for kind, name in ids.items() if name in claims} | {("key", kid): 0},
        claims["iat"],
        claims["exp"],
        # A token that is bound to a key in an unknown way must not pass for an unbound one.
        _member(claims, "cnf", "jkt"),
        (kid, alg),
    )


def _fault(jws: Jws, claims: dict[str, Any], issuer: str, audience: str, latest: float) -> str | None:
    """The name of the first claim that is not accepted."""
    nbf = claims.get("nbf", 0)
    checks = (
        ("typ", jws.has_type("at+jwt")),
        *((name, name in claims) for name in _REQUIRED),
        ("iss", claims.get("iss") == issuer),
        ("aud", _has_audience(claims, audience)),
        ("nbf", is_number(nbf) and nbf <= latest),
        *((name, is_number(claims.get(name))) for name in ("exp", "iat")),
    )
    return next((name for name, holds in checks if not holds), None)


def _has_audience(claims: Mapping[str, Any], audience: str) -> bool:
    aud = claims.get("aud")
    return aud == audience or (isinstance(aud, list) and audience in aud)


def _caller(claims: dict[str, Any], kind: Literal["person", "machine", "key"]) -> Caller:
    sub, scope, acr, auth_time = (claims.get(name) for name in ("sub", "scope", "acr", "auth_time"))
    is_token = kind != "key"
    return Caller(
        subject=sub if isinstance(sub, str) else claims["client_id"],
        client_id=claims["client_id"],
        kind=kind,
        scopes=list(dict.fromkeys(filter(None, scope.split(" ")))) if isinstance(scope, str) else [],
        # The sign-in behind a key is not that of a caller who has the key.
        acr=acr if is_token and isinstance(acr, str) else None,
        auth_time=auth_time if is_token and is_number(auth_time) else None,
        actor=_member(claims, "act", "sub") if is_token else None,
        claims=claims,
    )


def _member(claims: dict[str, Any], claim: str, name: str) -> str | None:
    """The text in a claim that is an object, if there is the claim."""
    if claim not in claims:
        return None
    value = claims[claim].get(name) if isinstance(claims[claim], dict) else None
    if not isinstance(value, str):
        raise invalid_token()
    return value


_ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_CACHED_KEY_SECONDS = 60
API_KEY_PREFIX = "gatehouse_"


def is_well_formed_key(key: str) -> bool:
    """Returns whether the key ends with the CRC-32 of the rest, so that a mistyped one costs no request."""
    if not re.fullmatch(API_KEY_PREFIX + "[0-9A-Za-z]{60}", key):
        return False
    checksum = functools.reduce(lambda number, digit: number * 62 + _ALPHABET.index(digit), key[-6:], 0)
    return checksum == zlib.crc32(key[:-6].encode())


def key_credential(response: dict[str, Any], audience: str, now: float, position: int) -> Credential | None:
    """The credential by the introspection response of an API key; None if the key is not valid here."""
    expires_at = response.get("exp", math.inf)
    is_active = response.get("active") is True and isinstance(response.get("client_id"), str)
    is_current = isinstance(expires_at, (int, float)) and expires_at > now
    if not is_active or not is_current or not _has_audience(response, audience):
        return None
    names = {"token": "jti", "client": "client_id", "subject": "owner"}
    ids = {(kind, response[name]): 0.0 for kind, name in names.items() if isinstance(response.get(name), str)}
    until = min(expires_at, now + _CACHED_KEY_SECONDS)
    return Credential(_caller(response, "key"), ids, now, until, position=position)


_ACRS = ("urn:gatehouse:acr:single-factor", "urn:gatehouse:acr:multi-factor", "phr")


def check_needs(
    caller: Caller, now: float, scopes: Sequence[str] = (), acr: str | None = None, max_age: float | None = None
) -> None:
    """Raises insufficient_scope (RFC 6750 §3.1), or the challenge of RFC 9470 §3."""
    needed = scopes if isinstance(scopes, str) else " ".join(scopes)
    if not set(needed.split()) <= set(caller.scopes):
        raise VerifyError(403, "insufficient_scope", f"This needs the scope {needed}.", scope=needed)
    is_strong = acr is None or caller.acr == acr
    if acr in _ACRS and caller.acr in _ACRS:
        is_strong = _ACRS.index(caller.acr) >= _ACRS.index(acr)
    is_recent = max_age is None or (caller.auth_time is not None and now - caller.auth_time <= max_age)
    if not is_strong or not is_recent:
        description = f"This needs a {'more recent' if is_strong else 'stronger'} sign-in."
        error = "insufficient_user_authentication"
        raise VerifyError(401, error, description, acr_values=acr, max_age=max_age)
