"""The vectors that all verifiers run: packages/verify/vectors/*.json."""

import json
import time
import unittest
from pathlib import Path
from urllib.parse import parse_qs

import httpx

from gatehouse_verify import Request, VerifyError, create_verifier

VECTORS = Path(__file__).parents[2] / "verify" / "vectors"


def transport(issuer, jwks, introspection):
    """The issuer of a vector; what it has no response for is not reachable."""

    def respond(request):
        if request.url.path == "/.well-known/oauth-authorization-server":
            endpoints = {"jwks_uri": f"{issuer}/jwks", "introspection_endpoint": f"{issuer}/introspect"}
            return httpx.Response(200, json={"issuer": issuer, **endpoints})
        if request.url.path == "/jwks":
            return httpx.Response(200, json=jwks)
        token = parse_qs(request.content.decode())["token"][0]
        response = {"active": False} if introspection is None else introspection.get(token, {"active": False})
        if introspection is None or response is None:
            raise httpx.ConnectError("it is not reachable")
        return httpx.Response(200, json=response)

    return httpx.MockTransport(respond)


def verifier_of(file, vector):
    options = vector["options"]
    credentials = {"client_id": "api", "client_secret": "secret"} if options["hasCredentials"] else {}
    stale = {"then": options["stale"]["then"]} if "stale" in options else {}
    common = {"stale": stale, "origins": options.get("origins", []), "log": lambda *_: None}
    verifier = create_verifier(issuer=file["issuer"], audience=options["audience"], **common, **credentials)
    verifier._clock = lambda: vector["clock"]
    verifier._transport = transport(file["issuer"], file["jwks"], vector.get("introspection"))
    process = verifier._process()
    if process.feed is not None:
        process.feed.start = lambda: None
        process.feed._loaded.set_result(None)
        if vector["feed"]["state"] == "fresh":
            process.feed._heard_at, process.feed._heard_time = time.monotonic(), time.time()
        for entry in vector["feed"]["revocations"]:
            process.revocations.add(entry)
    return verifier


def outcome_of(verifier, vector):
    needs = vector["needs"]
    request = Request(**vector["request"])
    try:
        caller = verifier.verify(
            request, scopes=needs.get("scopes", []), acr=needs.get("acr"), max_age=needs.get("maxAge")
        )
    except VerifyError as error:
        return {
            "status": error.status,
            "error": error.body["error"],
            "description": error.body["error_description"],
            "wwwAuthenticate": error.headers.get("www-authenticate"),
        }
    found = {
        "subject": caller.subject,
        "clientId": caller.client_id,
        "kind": caller.kind,
        "scopes": caller.scopes,
        "acr": caller.acr,
        "authTime": caller.auth_time,
        "actor": caller.actor,
    }
    return {"caller": {name: value for name, value in found.items() if value is not None}}


class VectorsTest(unittest.TestCase):
    def test_vectors(self):
        count = 0
        for path in sorted(VECTORS.glob("*.json")):
            file = json.loads(path.read_text())
            for vector in file["vectors"]:
                with self.subTest(f"{path.stem}: {vector['name']}"):
                    verifier = verifier_of(file, vector)
                    if vector.get("repeat"):
                        self.assertIn("caller", outcome_of(verifier, vector))
                    self.assertEqual(outcome_of(verifier, vector), vector["expected"])
                    verifier.close()
                count += 1
        self.assertGreaterEqual(count, 300)


if __name__ == "__main__":
    unittest.main()
