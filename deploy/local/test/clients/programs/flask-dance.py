import os

from flask import Flask, redirect
from flask_dance.consumer import OAuth2ConsumerBlueprint

from harness import AUTHORIZE, CLIENT_ID, CLIENT_SECRET, HOME_URL, ISSUER, SECRET, TOKEN, serve

os.environ['OAUTHLIB_INSECURE_TRANSPORT'] = '1'  # The redirect URI of this program is on http.
app = Flask(__name__)
app.secret_key = SECRET
gatehouse = OAuth2ConsumerBlueprint(
    'gatehouse', __name__, client_id=CLIENT_ID, client_secret=CLIENT_SECRET, base_url=ISSUER,
    authorization_url=AUTHORIZE, token_url=TOKEN, scope=['openid', 'email'], use_pkce=True,
    redirect_url=HOME_URL + '/me')
app.register_blueprint(gatehouse, url_prefix='/login')
app.add_url_rule('/me', 'me', lambda: gatehouse.session.get('/userinfo').json())
serve(app, '/login/gatehouse')
