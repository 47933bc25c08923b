"""Flask: a decorator of views."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from flask import Flask, Response, current_app, g, jsonify, request

from ._errors import VerifyError
from ._verifier import METADATA_HEADERS, Needs, Verifier

if TYPE_CHECKING:
    from typing_extensions import Unpack


def install(app: Flask, verifier: Verifier, **metadata: Any) -> None:
    """Turns each VerifyError into its response, and serves the metadata of the API (name, scopes and more)."""

    def serve() -> Response:
        response = jsonify(verifier.metadata(**metadata))
        response.headers.update(METADATA_HEADERS)
        return response

    app.register_error_handler(VerifyError, respond)
    app.add_url_rule(verifier.metadata_path, "gatehouse_metadata", serve)


def respond(error: VerifyError) -> tuple[Response, int, dict[str, str]]:
    return jsonify(error.body), error.status, error.headers


def protect(verifier: Verifier, **needs: Unpack[Needs]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator of a view, which gets the caller as flask.g.caller."""

    def decorate(view: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(view)
        def protected(*args: Any, **parameters: Any) -> Any:
            try:
                g.caller = verifier.verify(request, **needs)
            except VerifyError as error:
                return respond(error)
            return current_app.ensure_sync(view)(*args, **parameters)

        return protected

    return decorate
