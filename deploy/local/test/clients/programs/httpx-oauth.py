import asyncio
from urllib.parse import parse_qs, urlsplit

from httpx_oauth.clients.openid import OpenID

from harness import CLIENT_ID, CLIENT_SECRET, METADATA_URL, REDIRECT_URI, say, visit


async def main():
    client = OpenID(CLIENT_ID, CLIENT_SECRET, METADATA_URL)
    url = await client.get_authorization_url(REDIRECT_URI, state='the-state')
    query = parse_qs(urlsplit(visit(url)).query)
    token = await client.get_access_token(query['code'][0], REDIRECT_URI)
    say('sub', (await client.get_id_email(token['access_token']))[0])


asyncio.run(main())
