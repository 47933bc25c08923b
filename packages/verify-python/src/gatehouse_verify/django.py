"""Django: a decorator of views, and a middleware with the verifier in the setting GATEHOUSE_VERIFIER."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.http import JsonResponse
from django.utils.deprecation import MiddlewareMixin

from ._errors import VerifyError
from ._verifier import METADATA_HEADERS, Needs, Verifier

if TYPE_CHECKING:
    from typing_extensions import Unpack


def protect(verifier: Verifier, **needs: Unpack[Needs]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator of a view, async or not, which gets the caller as request.caller."""

    def decorate(view: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(view)
        def protected(request: Any, *args: Any, **parameters: Any) -> Any:
            try:
                request.caller = verifier.verify(request, **needs)
            except VerifyError as error:
                return respond(error)
            return view(request, *args, **parameters)

        @functools.wraps(view)
        async def aprotected(request: Any, *args: Any, **parameters: Any) -> Any:
            try:
                request.caller = await verifier.averify(request, **needs)
            except VerifyError as error:
                return respond(error)
            return await view(request, *args, **parameters)

        return public(aprotected if inspect.iscoroutinefunction(view) else protected)

    return decorate


def public(view: Callable[..., Any]) -> Callable[..., Any]:
    """Exempts a view from the middleware."""
    view.gatehouse_public = True  # type: ignore[attr-defined]
    return view


def respond(error: VerifyError) -> Any:
    return JsonResponse(error.body, status=error.status, headers=error.headers)


class Middleware(MiddlewareMixin):  # type: ignore[misc]
    """Asks each view for a credential, except those with @protect and @public, and serves the metadata of the API."""

    def process_request(self, request: Any) -> Any:
        verifier = settings.GATEHOUSE_VERIFIER
        if request.path_info == verifier.metadata_path:
            metadata = verifier.metadata(**getattr(settings, "GATEHOUSE_METADATA", {}))
            return JsonResponse(metadata, headers=METADATA_HEADERS)
        return None

    def process_view(self, request: Any, view: Any, args: Any, parameters: Any) -> Any:
        if not getattr(view, "gatehouse_public", False):
            try:
                request.caller = settings.GATEHOUSE_VERIFIER.verify(request)
            except VerifyError as error:
                return respond(error)
        return None
