from harness import CLIENT_ID, CLIENT_SECRET, ISSUER
from harness_django import run

run(['social_django'], '', 'social_django.urls', '/login/oidc/',
    lambda user: user.social_auth.get().uid, login_url='/begin',
    AUTHENTICATION_BACKENDS=['social_core.backends.open_id_connect.OpenIdConnectAuth'],
    SOCIAL_AUTH_OIDC_OIDC_ENDPOINT=ISSUER, SOCIAL_AUTH_OIDC_KEY=CLIENT_ID,
    SOCIAL_AUTH_OIDC_SECRET=CLIENT_SECRET, SOCIAL_AUTH_OIDC_USE_PKCE=True)
