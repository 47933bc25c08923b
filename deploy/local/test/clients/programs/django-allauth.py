from harness import CLIENT_ID, CLIENT_SECRET, ISSUER
from harness_django import run

gatehouse = {'provider_id': 'gatehouse', 'name': 'Gatehouse', 'client_id': CLIENT_ID, 'secret': CLIENT_SECRET,
             'settings': {'server_url': ISSUER, 'oauth_pkce_enabled': True}}
run(['allauth', 'allauth.account', 'allauth.socialaccount',
     'allauth.socialaccount.providers.openid_connect'],
    'accounts/', 'allauth.urls', '/accounts/oidc/gatehouse/login/',
    lambda user: user.socialaccount_set.get().uid,
    middleware=['allauth.account.middleware.AccountMiddleware'],
    AUTHENTICATION_BACKENDS=['allauth.account.auth_backends.AuthenticationBackend'],
    ACCOUNT_EMAIL_VERIFICATION='none',
    SOCIALACCOUNT_PROVIDERS={'openid_connect': {'APPS': [gatehouse]}})
