"""The same API in three frameworks, as apps for processes_test.py; each response has the id of its process."""

import os
from typing import Annotated

from issuer import AUDIENCE, CLIENT

from gatehouse_verify import Caller, create_verifier

# Made before a server forks its workers.
verifier = create_verifier(issuer=os.environ["ISSUER"], audience=AUDIENCE, stale={"then": "refuse"}, **CLIENT)
framework = os.environ["FRAMEWORK"]

if framework == "fastapi":
    from fastapi import Depends, FastAPI

    from gatehouse_verify.fastapi import install, protect

    app = FastAPI()
    install(app, verifier)

    @app.get("/notes")
    async def fastapi_notes(caller: Annotated[Caller, Depends(protect(verifier, scopes=["notes:read"]))]):
        return {"process": os.getpid(), "subject": caller.subject}


if framework == "flask":
    from flask import Flask, g

    from gatehouse_verify.flask import install, protect

    app = Flask(__name__)
    install(app, verifier)

    @app.get("/notes")
    @protect(verifier, scopes=["notes:read"])
    def flask_notes():
        return {"process": os.getpid(), "subject": g.caller.subject}


if framework == "django":
    from django.conf import settings

    settings.configure(ALLOWED_HOSTS=["127.0.0.1"], ROOT_URLCONF="apps")
    from django.core.wsgi import get_wsgi_application
    from django.http import JsonResponse
    from django.urls import path

    from gatehouse_verify.django import protect

    @protect(verifier, scopes=["notes:read"])
    def django_notes(request):
        return JsonResponse({"process": os.getpid(), "subject": request.caller.subject})

    urlpatterns = [path("notes", django_notes)]
    app = get_wsgi_application()
