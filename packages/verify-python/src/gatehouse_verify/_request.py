"""Requests of any framework: WSGI by their environ, ASGI by their scope, others by method, url and headers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, urlsplit

_LOOPBACK = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True)
class Request:
    """A request of a framework that has neither environ nor scope."""

    method: str
    url: str
    headers: Mapping[str, str | list[str]] | Iterable[tuple[str, str]] = field(default_factory=dict)


def header_values(request: Any, name: str) -> list[str]:
    """The values of a header, whose name is in lower case."""
    if (environ := getattr(request, "environ", None)) is not None:
        # WSGI servers join headers of one name by commas.
        value = environ.get("HTTP_" + name.upper().replace("-", "_"))
        return [] if value is None else [value]
    if (scope := getattr(request, "scope", None)) is not None:
        wanted = name.encode()
        return [value.decode("latin-1") for key, value in scope["headers"] if key.lower() == wanted]
    found: list[str] = []
    for key, value in request.headers.items() if hasattr(request.headers, "items") else request.headers:
        if key.lower() == name:
            found += [value] if isinstance(value, str) else value
    return found


def urls_of(request: Any, audience: str, origins: Sequence[str], trust_proxy: bool) -> list[str | None]:
    """The URLs that a proof of the request may be for, normalised. Their path is not the decoded one."""
    if (environ := getattr(request, "environ", None)) is not None:
        scheme = environ["wsgi.url_scheme"]
        host = environ.get("HTTP_HOST") or f"{environ['SERVER_NAME']}:{environ['SERVER_PORT']}"
        decoded = environ.get("SCRIPT_NAME", "") + environ.get("PATH_INFO", "")
        target = environ.get("RAW_URI") or environ.get("REQUEST_URI") or quote(decoded.encode("latin-1"))
        path = re.sub(r"^https?://[^/?#]*", "", target, flags=re.IGNORECASE)
    elif (scope := getattr(request, "scope", None)) is not None:
        scheme, host = scope.get("scheme", "http"), _first(request, "host")
        path = (scope.get("raw_path") or quote(scope["path"]).encode()).decode("latin-1")
    else:
        scheme, host, path = urlsplit(str(request.url))[:3]
    if trust_proxy:
        scheme = _first(request, "x-forwarded-proto") or scheme
        host = _first(request, "x-forwarded-host") or host
    own = [origin_of(it) for it in origins or (audience,)]
    requested = origin_of(f"{scheme}://{host}")
    # A sender chooses the Host header: one who got a proof for another host could name that host here.
    if not origins and requested and (trust_proxy or urlsplit(requested).hostname in _LOOPBACK):
        own.append(requested)
    return [normalised(f"{origin}{path}") for origin in own]


def origin_of(url: str) -> str:
    """The scheme and host of a URL, normalised; empty if it has none."""
    return "/".join((normalised(url) or "").split("/")[:3])


def _first(request: Any, name: str) -> str:
    return "".join(header_values(request, name)[:1]).split(",")[0].strip()


def normalised(url: str) -> str | None:
    """The URL without query and fragment, normalised by syntax and scheme (RFC 3986 §6.2.2 and §6.2.3)."""
    try:
        parts = urlsplit(url)
        port, host = parts.port, parts.hostname
    except ValueError:
        return None
    if not host or "@" in parts.netloc:
        return None
    authority = f"[{host}]" if ":" in host else host
    if port not in (None, {"http": 80, "https": 443}.get(parts.scheme)):
        authority += f":{port}"
    segments: list[str] = []
    path = re.sub("%([0-9A-Fa-f]{2})", _unreserved, parts.path or "/")
    for segment in path.split("/")[1:]:
        if segment == "..":
            del segments[-1:]
        elif segment != ".":
            segments.append(segment)
    end = "/" if re.search(r"/\.\.?$", path) and segments else ""
    return f"{parts.scheme}://{authority}/{'/'.join(segments)}{end}"


def _unreserved(escaped: re.Match[str]) -> str:
    character = chr(int(escaped[1], 16))
    return character if re.match(r"[\w.~-]", character, re.ASCII) else escaped[0].upper()
