import os
from wsgiref.simple_server import make_server

ISSUER, HOME_URL, CLIENT_ID, CLIENT_SECRET = (
    os.environ[name] for name in ('ISSUER', 'HOME_URL', 'CLIENT_ID', 'CLIENT_SECRET'))
REDIRECT_URI = HOME_URL + '/callback'
METADATA_URL = ISSUER + '/.well-known/openid-configuration'
AUTHORIZE, TOKEN, USERINFO = (ISSUER + path for path in ('/oauth2/authorize', '/oauth2/token', '/userinfo'))
SECRET = 'a secret of the program, 32 characters'


def say(word, value):
    """Writes a line of the protocol in programs.nightly.test.ts."""
    print(word, value, flush=True)


def visit(url):
    """Where the browser comes back to after the authorization request."""
    say('visit', url)
    return input()


def serve(application, path='/'):
    """Listens with a web application, and says so."""
    server = make_server('127.0.0.1', int(HOME_URL.rsplit(':', 1)[1]), application)
    say('open', HOME_URL + path)
    server.serve_forever()
