"""Signed JWTs (RFC 7515, RFC 7519), with the algorithms and keys of joserfc."""

from __future__ import annotations

import json
from typing import Any, cast

from joserfc.jwk import Key
from joserfc.jws import JWSRegistry
from joserfc.util import urlsafe_b64decode

_MIN_RSA_BITS = 2048


class Jws:
    """A compact JWS; raises ValueError if it is none. Critical extensions (RFC 7515 §4.1.11) are not supported."""

    def __init__(self, text: str) -> None:
        header, payload, signature = text.encode("ascii").split(b".")
        self.header = parse_object(urlsafe_b64decode(header))
        if "crit" in self.header:
            raise ValueError("there are critical extensions")
        self._payload = urlsafe_b64decode(payload)
        self._signature = urlsafe_b64decode(signature)
        self._signed = header + b"." + payload

    def claims_signed_by(self, key: Key) -> dict[str, Any]:
        """The claims, if the key made the signature; raises otherwise. The caller has checked the algorithm."""
        # Of all versions of joserfc, EdDSA alone has the curve of Ed25519, among others.
        name = self.header["alg"].replace("Ed25519", "EdDSA")
        algorithm = JWSRegistry.algorithms[name]
        algorithm.check_key(key)
        if name == "EdDSA" and getattr(key, "curve_name", None) != "Ed25519":
            raise ValueError("the key is on another curve")
        if key.key_type == "RSA" and cast(Any, key.public_key).key_size < _MIN_RSA_BITS:
            raise ValueError("the key is too short")
        if not algorithm.verify(self._signed, self._signature, key):
            raise ValueError("the signature is wrong")
        return parse_object(self._payload)

    def has_type(self, name: str) -> bool:
        typ = self.header.get("typ")
        return isinstance(typ, str) and typ.lower().removeprefix("application/") == name


def parse_object(data: bytes | str) -> dict[str, Any]:
    """A JSON object in UTF-8; raises ValueError for anything else, and RecursionError for a deep one."""
    value = json.loads(data if isinstance(data, str) else data.decode(), parse_constant=_no_constant)
    if not isinstance(value, dict):
        raise ValueError("the JSON is no object")
    return value


def _no_constant(name: str) -> None:
    # json reads NaN and Infinity, which RFC 8259 §6 does not allow.
    raise ValueError(f"{name} is no JSON")
