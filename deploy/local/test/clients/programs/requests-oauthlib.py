import os

from requests_oauthlib import OAuth2Session

from harness import AUTHORIZE, CLIENT_ID, CLIENT_SECRET, REDIRECT_URI, TOKEN, USERINFO, say, visit

os.environ['OAUTHLIB_INSECURE_TRANSPORT'] = '1'  # The redirect URI of this program is on http.
session = OAuth2Session(CLIENT_ID, redirect_uri=REDIRECT_URI, scope=['openid', 'email'], pkce='S256')
url, state = session.authorization_url(AUTHORIZE)
session.fetch_token(TOKEN, authorization_response=visit(url), client_secret=CLIENT_SECRET)
session.refresh_token(TOKEN, auth=(CLIENT_ID, CLIENT_SECRET))
say('sub', session.get(USERINFO).json()['sub'])
