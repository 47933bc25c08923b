from harness import AUTHORIZE, CLIENT_ID, CLIENT_SECRET, ISSUER, TOKEN, USERINFO
from harness_django import run

run(['mozilla_django_oidc'], 'oidc/', 'mozilla_django_oidc.urls', '/oidc/authenticate/',
    lambda user: user.username,
    AUTHENTICATION_BACKENDS=['mozilla_django_oidc.auth.OIDCAuthenticationBackend'],
    OIDC_RP_CLIENT_ID=CLIENT_ID, OIDC_RP_CLIENT_SECRET=CLIENT_SECRET, OIDC_RP_SIGN_ALGO='RS256',
    OIDC_OP_AUTHORIZATION_ENDPOINT=AUTHORIZE, OIDC_OP_TOKEN_ENDPOINT=TOKEN, OIDC_OP_USER_ENDPOINT=USERINFO,
    OIDC_OP_JWKS_ENDPOINT=ISSUER + '/.well-known/jwks.json',
    OIDC_USERNAME_ALGO=lambda email, claims: claims['sub'])
