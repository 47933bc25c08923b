from flask import Flask, session
from flask_oidc import OpenIDConnect

from harness import CLIENT_ID, CLIENT_SECRET, HOME_URL, ISSUER, SECRET, serve

app = Flask(__name__)
secrets = {'issuer': ISSUER, 'client_id': CLIENT_ID, 'client_secret': CLIENT_SECRET}
app.config.update(SECRET_KEY=SECRET, OIDC_CLIENT_SECRETS={'web': secrets}, OIDC_SCOPES='openid email')
oidc = OpenIDConnect(app)
app.add_url_rule('/', 'me', oidc.require_login(lambda: session['oidc_auth_profile']))
serve(app)
