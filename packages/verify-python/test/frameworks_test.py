"""The adapters in apps of their frameworks, each as far as it is installed."""

import asyncio
import importlib.util
import unittest
import warnings
from typing import Annotated

from issuer import AUDIENCE, Issuer

from gatehouse_verify import create_verifier

METADATA_PATH = "/.well-known/oauth-protected-resource/notes"
METADATA = {
    **{"resource": AUDIENCE, "resource_name": "Notes", "scopes_supported": ["notes:read"]},
    **{"bearer_methods_supported": ["header"], "gatehouse_owner": "usr_1", "resource_policy_uri": "https://a.example"},
}
METADATA_OPTIONS = {
    **{"name": "Notes", "scopes": ["notes:read"], "owner": "usr_1"},
    "resource_policy_uri": "https://a.example",
}


def needs(module):
    return unittest.skipUnless(importlib.util.find_spec(module), f"{module} is not installed")


class FrameworksTest(unittest.TestCase):
    def setUp(self):
        self.issuer = Issuer()
        self.addCleanup(self.issuer.close)
        self.verifier = create_verifier(
            issuer=self.issuer.url, audience=AUDIENCE, origins=["http://testserver"], log=lambda *_: None
        )
        self.addCleanup(self.verifier.close)

    def check(self, request):
        """`request(path, headers)` gives status, headers and JSON of an app with the routes of each test below."""
        token = {"Authorization": f"Bearer {self.issuer.token()}"}
        self.assertEqual(request("/notes", token)[::2], (200, {"subject": "usr_1"}))
        status, headers, body = request("/notes", {})
        self.assertEqual((status, body["error"]), (401, "unauthorized"))
        self.assertTrue(headers["www-authenticate"].startswith("Bearer resource_metadata="))
        status, headers, body = request("/admin", token)
        self.assertEqual((status, body["error"]), (403, "insufficient_scope"))
        self.assertIn('scope="notes:admin"', headers["www-authenticate"])
        # The path as it was sent counts, not the decoded one.
        bound = self.issuer.dpop_headers("GET", "http://testserver/notes/a%2Fb")
        for path, expected in (("/notes/a/b", 401), ("/notes/a%2Fb?x=1", 200), ("/notes/a%2Fb", 401)):
            self.assertEqual(request(path, bound)[0], expected, path)
        status, headers, body = request(METADATA_PATH, {})
        self.assertEqual((status, {name: body[name] for name in METADATA}), (200, METADATA))
        self.assertEqual(body["authorization_servers"], [self.issuer.url])
        self.assertEqual(headers["access-control-allow-origin"], "*")
        self.assertEqual(headers["cache-control"], "max-age=3600")

    def check_asgi(self, app):
        import httpx

        async def get(path, headers):
            transport = httpx.ASGITransport(app)
            async with httpx.AsyncClient(transport=transport, base_url="http://testserver") as client:
                response = await client.get(path, headers=headers)
                return response.status_code, response.headers, response.json()

        self.check(lambda path, headers: asyncio.run(get(path, headers)))

    def check_wsgi(self, app):
        import httpx

        def with_target(environ, start_response):
            # As gunicorn and Werkzeug's server do; httpx does not.
            environ["RAW_URI"] = target[0]
            return app(environ, start_response)

        target = [""]

        def get(path, headers):
            target[0] = path
            transport = httpx.WSGITransport(with_target)
            with httpx.Client(transport=transport, base_url="http://testserver") as client:
                response = client.get(path, headers=headers)
                return response.status_code, response.headers, response.json()

        self.check(get)

    @needs("starlette")
    def test_starlette(self):
        from starlette.applications import Starlette
        from starlette.responses import JSONResponse
        from starlette.routing import Route

        from gatehouse_verify.starlette import install, protect

        @protect(self.verifier, scopes=["notes:read"])
        async def notes(request):
            return JSONResponse({"subject": request.state.caller.subject})

        @protect(self.verifier, scopes=["notes:read"])
        def note(request):
            return JSONResponse({"subject": request.state.caller.subject})

        @protect(self.verifier, scopes=["notes:admin"])
        def admin(request):
            return JSONResponse({})

        app = Starlette(routes=[Route("/notes", notes), Route("/notes/{id:path}", note), Route("/admin", admin)])
        install(app, self.verifier, **METADATA_OPTIONS)
        self.check_asgi(app)

    @needs("fastapi")
    def test_fastapi(self):
        from fastapi import Depends, FastAPI

        from gatehouse_verify import Caller
        from gatehouse_verify.fastapi import install, protect

        app = FastAPI()
        install(app, self.verifier, **METADATA_OPTIONS)

        @app.get("/notes")
        @app.get("/notes/{id:path}")
        async def notes(caller: Annotated[Caller, Depends(protect(self.verifier, scopes=["notes:read"]))]):
            return {"subject": caller.subject}

        @app.get("/admin", dependencies=[Depends(protect(self.verifier, scopes=["notes:admin"]))])
        def admin():
            return {}

        self.check_asgi(app)
        self.assertEqual(list(app.openapi()["paths"]), ["/notes/{id}", "/notes", "/admin"])

    @needs("flask")
    def test_flask(self):
        from flask import Flask, g

        from gatehouse_verify.flask import install, protect

        app = Flask(__name__)
        install(app, self.verifier, **METADATA_OPTIONS)

        @app.get("/notes")
        @app.get("/notes/<path:id>")
        @protect(self.verifier, scopes=["notes:read"])
        def notes(id=None):
            return {"subject": g.caller.subject}

        @app.get("/admin")
        @protect(self.verifier, scopes=["notes:admin"])
        def admin():
            return {}

        self.check_wsgi(app)

    @needs("django")
    def test_django(self):
        from django.conf import settings

        urls = type("urls", (), {"urlpatterns": []})
        settings.configure(
            ALLOWED_HOSTS=["testserver"],
            ROOT_URLCONF=urls,
            MIDDLEWARE=["gatehouse_verify.django.Middleware"],
            GATEHOUSE_VERIFIER=self.verifier,
            GATEHOUSE_METADATA=METADATA_OPTIONS,
        )
        import django
        from django.core.handlers.asgi import ASGIHandler
        from django.core.handlers.wsgi import WSGIHandler
        from django.http import JsonResponse
        from django.urls import path, re_path

        from gatehouse_verify.django import protect, public

        django.setup(set_prefix=False)

        def notes(request, **_):
            return JsonResponse({"subject": request.caller.subject})

        @protect(self.verifier, scopes=["notes:admin"])
        def admin(request):
            return JsonResponse({})

        @protect(self.verifier, scopes=["notes:read"])
        async def asynchronous(request, **_):
            return JsonResponse({"subject": request.caller.subject})

        @public
        def health(request):
            return JsonResponse({"caller": hasattr(request, "caller")})

        common = [path("admin", admin), path("health", health)]
        for handler, view in ((WSGIHandler, notes), (WSGIHandler, asynchronous)):
            urls.urlpatterns[:] = [path("notes", view), re_path("^notes/.*", view), *common]
            django.urls.clear_url_caches()
            self.check_wsgi(handler())
        for view in (notes, asynchronous):
            urls.urlpatterns[:] = [path("notes", view), re_path("^notes/.*", view), *common]
            django.urls.clear_url_caches()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self.check_asgi(ASGIHandler())

        import httpx

        with httpx.Client(transport=httpx.WSGITransport(WSGIHandler()), base_url="http://testserver") as client:
            self.assertEqual(client.get("/health").json(), {"caller": False})


if __name__ == "__main__":
    unittest.main()
