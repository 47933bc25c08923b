import django
from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.core.handlers.wsgi import WSGIHandler
from django.core.management import call_command
from django.http import HttpResponse
from django.urls import include, path

from harness import SECRET, serve

urlpatterns = []
CONTRIB = ['auth', 'contenttypes', 'sessions', 'messages']
MIDDLEWARE = ['sessions.middleware.SessionMiddleware', 'auth.middleware.AuthenticationMiddleware',
              'messages.middleware.MessageMiddleware']


def run(app, prefix, urls, begin, subject, middleware=(), login_url=None, **own):
    """A site with `app` that requires a sign-in, and then shows the subject(user)."""
    settings.configure(
        SECRET_KEY=SECRET, ALLOWED_HOSTS=['127.0.0.1'], ROOT_URLCONF=__name__,
        LOGIN_URL=login_url or begin, LOGIN_REDIRECT_URL='/', DEFAULT_AUTO_FIELD='django.db.models.BigAutoField',
        DATABASES={'default': {'ENGINE': 'django.db.backends.sqlite3', 'NAME': ':memory:'}},
        INSTALLED_APPS=[f'django.contrib.{name}' for name in CONTRIB] + app,
        MIDDLEWARE=[f'django.contrib.{name}' for name in MIDDLEWARE] + list(middleware),
        TEMPLATES=[{'BACKEND': 'django.template.backends.django.DjangoTemplates', 'APP_DIRS': True,
                    'OPTIONS': {'context_processors': ['django.template.context_processors.request']}}],
        **own)
    django.setup()
    call_command('migrate', verbosity=0)
    show = login_required(lambda request: HttpResponse(subject(request.user)))
    form = f'<form method="post" action="{begin}"></form>'
    begin_page = path('begin', lambda request: HttpResponse(form))
    urlpatterns.extend([path('', show), path(prefix, include(urls)), begin_page])
    serve(WSGIHandler())
