"""The errors of a request, as RFC 6750, RFC 9449 and RFC 9470 name them."""

from __future__ import annotations

DPOP_ALGORITHMS = ["ES256", "ES384", "ES512", "Ed25519", "EdDSA", "PS256", "RS256"]


class VerifyError(Exception):
    """The error of a request: status, headers and JSON body of the response."""

    def __init__(self, status: int, error: str, description: str, **parameters: object) -> None:
        super().__init__(description)
        self.status = status
        self.body = {"error": error, "error_description": description}
        self.headers: dict[str, str] = {"retry-after": "5"} if status == 503 else {}
        self._parameters = parameters

    def add_challenge(self, metadata_url: str, dpop: bool) -> None:
        """Adds WWW-Authenticate (RFC 9110 §11.6.1), with the address of the metadata (RFC 9728 §5.1)."""
        parameters = {
            **({} if self.body["error"] == "unauthorized" else self.body),
            **self._parameters,
            **({"algs": " ".join(DPOP_ALGORITHMS)} if dpop else {}),
            "resource_metadata": metadata_url,
        }
        texts = (f'{name}="{value}"' for name, value in parameters.items() if value is not None)
        if self.status != 503:
            self.headers["www-authenticate"] = f"{'DPoP' if dpop else 'Bearer'} {', '.join(texts)}"


def invalid_token(description: str = "The access token is not valid.") -> VerifyError:
    return VerifyError(401, "invalid_token", description)


def unavailable(description: str) -> VerifyError:
    return VerifyError(503, "temporarily_unavailable", description)
