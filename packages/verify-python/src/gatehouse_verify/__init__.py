"""Verifies access tokens and API keys of Gatehouse, and refuses those that are revoked within a second."""

from ._dpop import ReplayStore
from ._errors import VerifyError
from ._request import Request
from ._tokens import Caller
from ._verifier import Stale, Verifier, create_verifier

__all__ = ["Caller", "ReplayStore", "Request", "Stale", "Verifier", "VerifyError", "create_verifier"]
