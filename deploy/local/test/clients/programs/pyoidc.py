from oic.oic import Client
from oic.oic.message import AuthorizationResponse, RegistrationResponse
from oic.utils.authn.client import CLIENT_AUTHN_METHOD

from harness import CLIENT_ID, CLIENT_SECRET, ISSUER, REDIRECT_URI, say, visit

client = Client(client_authn_method=CLIENT_AUTHN_METHOD)
client.provider_config(ISSUER)
client.store_registration_info(RegistrationResponse(
    client_id=CLIENT_ID, client_secret=CLIENT_SECRET, redirect_uris=[REDIRECT_URI]))
request = client.construct_AuthorizationRequest(request_args={
    'response_type': 'code', 'scope': ['openid', 'email'], 'redirect_uri': REDIRECT_URI,
    'state': 'the-state', 'nonce': 'the-nonce'})
callback = visit(request.request(client.authorization_endpoint))
response = client.parse_response(AuthorizationResponse, callback.split('?')[1], 'urlencoded')
tokens = client.do_access_token_request(state='the-state', request_args={
    'code': response['code'], 'redirect_uri': REDIRECT_URI}, authn_method='client_secret_basic')
assert tokens['id_token']['nonce'] == 'the-nonce'
say('sub', client.do_user_info_request(state='the-state')['sub'])
