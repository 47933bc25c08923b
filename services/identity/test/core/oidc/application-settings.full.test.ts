import { createRemoteJWKSet, jwtVerify } from 'jose';
import t from 'tap';
import { authorizeUrl, build, PASSWORD, WEB } from '../../build.ts';
import { tokensFor } from '../../tokens.ts';

const built = await build(t);
const { base, call, form } = built;
const admin = await built.login('admin');
const set = async (settings: object) => {
  const { status } = await call('PATCH', `/api/v1/applications/${WEB.client_id}`, admin, settings);
  if (status !== 200) throw new Error(`not set: ${status}`);
};

t.test(
  'id_token_signed_response_alg (OpenID Connect Registration §2): what discovery names, applications get',
  async (t) => {
    const { body } = await call('GET', '/.well-known/openid-configuration');
    const keys = createRemoteJWKSet(new URL(`${base}/.well-known/jwks.json`));
    for (const alg of body.id_token_signing_alg_values_supported as string[]) {
      await set({ id_token_signed_response_alg: alg, post_logout_redirect_uris: [] });
      const browser = built.browser();
      const { id_token } = await tokensFor(built, { browser });
      const { protectedHeader } = await jwtVerify(id_token, keys, { issuer: base, audience: WEB.client_id });
      t.equal(protectedHeader.alg, alg);
      const page = await browser.get(`/oauth2/logout?id_token_hint=${id_token}`);
      t.match([page.status, page.html], [200, 'Web of Examples'], `${alg}, as a hint`);
    }
  },
);

t.test('require_pushed_authorization_requests (RFC 9126 §6)', async (t) => {
  await set({ require_pushed_authorization_requests: true });
  const { url } = await built.browser().get(authorizeUrl());
  t.equal(url.searchParams.get('error'), 'invalid_request');
  t.notOk(url.searchParams.has('code'));
  const pushed = await form({ response_type: 'code', scope: 'openid', ...WEB }, {}, '/oauth2/par');
  const query = new URLSearchParams({
    client_id: WEB.client_id,
    request_uri: String(pushed.body.request_uri),
  });
  const browser = built.browser();
  let page = await browser.get(`/oauth2/authorize?${query}`);
  page = await browser.submit(page, { username: 'ann', password: PASSWORD });
  t.notMatch(page.html, '/oauth2/authorize?', 'no link asks again without pushing the request');
  page = await browser.submit(page, { decision: 'allow' });
  t.ok(page.url.searchParams.has('code'));
  await set({ require_pushed_authorization_requests: false });
  t.match((await built.browser().get(authorizeUrl())).url.pathname, /^\/sign-in\//);
});
