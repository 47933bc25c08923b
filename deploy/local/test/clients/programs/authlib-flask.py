from authlib.integrations.flask_client import OAuth
from flask import Flask

from harness import CLIENT_ID, CLIENT_SECRET, METADATA_URL, REDIRECT_URI, SECRET, serve

app = Flask(__name__)
app.secret_key = SECRET
gatehouse = OAuth(app).register(
    'gatehouse', client_id=CLIENT_ID, client_secret=CLIENT_SECRET, server_metadata_url=METADATA_URL,
    client_kwargs={'scope': 'openid email', 'code_challenge_method': 'S256'})
app.add_url_rule('/', 'login', lambda: gatehouse.authorize_redirect(REDIRECT_URI))
app.add_url_rule('/callback', 'callback', lambda: gatehouse.authorize_access_token()['userinfo'])
serve(app)
