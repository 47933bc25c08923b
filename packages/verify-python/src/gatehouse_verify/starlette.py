"""Starlette: a decorator of endpoints, and what FastAPI shares."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, cast

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from ._errors import VerifyError
from ._verifier import METADATA_HEADERS, Needs, Verifier

if TYPE_CHECKING:
    from typing_extensions import Unpack


def install(app: Starlette, verifier: Verifier, **metadata: Any) -> None:
    """Turns each VerifyError into its response, and serves the metadata of the API (name, scopes and more)."""

    async def serve(request: Request) -> Response:
        return JSONResponse(verifier.metadata(**metadata), headers=METADATA_HEADERS)

    app.add_exception_handler(VerifyError, respond)
    app.add_route(verifier.metadata_path, serve, methods=["GET"], include_in_schema=False)


async def respond(request: Request, error: Exception) -> Response:
    response = cast(VerifyError, error)
    return JSONResponse(response.body, response.status, response.headers)


def protect(
    verifier: Verifier, **needs: Unpack[Needs]
) -> Callable[[Callable[..., Any]], Callable[[Request], Awaitable[Any]]]:
    """A decorator of an endpoint, which gets the caller as request.state.caller."""

    def decorate(endpoint: Callable[..., Any]) -> Callable[[Request], Awaitable[Any]]:
        @functools.wraps(endpoint)
        async def protected(request: Request) -> Any:
            try:
                request.state.caller = await verifier.averify(request, **needs)
            except VerifyError as error:
                return await respond(request, error)
            if inspect.iscoroutinefunction(endpoint):
                return await endpoint(request)
            return await run_in_threadpool(endpoint, request)

        return protected

    return decorate
