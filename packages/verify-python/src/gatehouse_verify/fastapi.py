"""FastAPI: a dependency, whose errors become responses after install(app, verifier)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from starlette.requests import Request

from ._tokens import Caller
from ._verifier import Needs, Verifier
from .starlette import install

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["install", "protect"]


def protect(verifier: Verifier, **needs: Unpack[Needs]) -> Callable[[Request], Awaitable[Caller]]:
    """A dependency that gives the caller. The handler that install() adds makes the response of its VerifyError."""

    async def dependency(request: Request) -> Caller:
        return await verifier.averify(request, **needs)

    return dependency
